//! Values of axes, as changes of a scenario, as numbers and as text.

use polypath_units::{BitRate, ByteCount, Duration, Fraction};
use toml::Value;

use super::file::Axis;

impl Axis {
    /// Keys and values that the axis sets at the value with this number.
    ///
    /// # Errors
    /// The value cannot be multiplied; the error says why.
    pub fn changes(&self, index: usize) -> Result<Vec<(String, Value)>, String> {
        let Some(value) = self.values.get(index) else { return Ok(Vec::new()) };
        let mut changes: Vec<(String, Value)> =
            self.keys.iter().map(|key| (key.clone(), value.clone())).collect();
        for (key, values) in &self.with {
            changes.extend(values.get(index).map(|value| (key.clone(), value.clone())));
        }
        for (key, factor) in &self.scaled {
            changes.push((key.clone(), times(value, *factor)?));
        }
        Ok(changes)
    }

    /// Label of the value with this number.
    pub fn label_of(&self, index: usize) -> String {
        match (self.labels.get(index), self.values.get(index)) {
            (Some(label), _) => label.clone(),
            (None, Some(value)) => text(value),
            (None, None) => String::new(),
        }
    }

    /// Position of the value with this number, in the unit of the axis; `None` if it is not a quantity.
    pub fn position(&self, index: usize) -> Option<f64> {
        self.number(self.values.get(index)?)
    }

    /// A value in the unit of the axis.
    pub fn number(&self, value: &Value) -> Option<f64> {
        number(value, self.unit.as_deref())
    }

    /// The error for a quantity that cannot be given in the unit of the axis, so that results would have no number for it. A
    /// unit that belongs to no quantity, such as `1e-6`, is only a text for pictures.
    pub(super) fn unit_problem(&self) -> Option<String> {
        let unit = self.unit.as_deref()?;
        number(&Value::String(format!("1 {unit}")), None)?;
        let is_lost =
            |value: &&Value| number(value, None).is_some() && self.number(value).is_none();
        let value = text(self.values.iter().find(is_lost)?);
        Some(format!("`{value}` cannot be given in `{unit}`"))
    }

    /// Label in figures, with the unit.
    pub fn title(&self) -> String {
        let label = self.label.as_ref().unwrap_or(&self.name);
        match &self.unit {
            Some(unit) => format!("{label} ({unit})"),
            None => label.clone(),
        }
    }
}

/// A value as text, without quotes.
pub fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// A number as it is, or a quantity as a multiple of `unit`.
fn number(value: &Value, unit: Option<&str>) -> Option<f64> {
    match value {
        Value::Integer(number) => Some(*number as f64),
        Value::Float(number) => Some(*number),
        Value::String(text) => {
            let unit = unit.map(|unit| format!("1 {unit}"));
            let readers: [fn(&str) -> Option<f64>; 4] = [bits_per_second, seconds, bytes, fraction];
            readers.into_iter().find_map(|read| {
                let number = read(text)?;
                let Some(unit) = &unit else { return Some(number) };
                // Decimal and binary prefixes are exact, and so are quotients of small multiples of them.
                Some(number / read(unit)?)
            })
        }
        _ => None,
    }
}

fn bits_per_second(text: &str) -> Option<f64> {
    text.parse().ok().map(|rate: BitRate| rate.as_bits_per_second() as f64)
}

fn seconds(text: &str) -> Option<f64> {
    text.parse().ok().map(Duration::as_secs_f64)
}

fn bytes(text: &str) -> Option<f64> {
    text.parse().ok().map(|bytes: ByteCount| bytes.as_bytes() as f64)
}

fn fraction(text: &str) -> Option<f64> {
    text.parse().ok().map(Fraction::as_f64)
}

/// Whether quantities can be multiplied by this number.
pub(super) fn is_factor(factor: f64) -> bool {
    factor.is_finite() && factor >= 0.0
}

/// A number or quantity times `factor`, rounded to the finest step of its kind.
fn times(value: &Value, factor: f64) -> Result<Value, String> {
    if !is_factor(factor) {
        return Err(format!("{factor} is not a factor"));
    }
    let scaled = |number: u64| (number as f64 * factor).round() as u64;
    let text = match value {
        Value::Integer(number) => {
            return Ok(Value::Integer((*number as f64 * factor).round() as i64));
        }
        Value::Float(number) => return Ok(Value::Float(number * factor)),
        Value::String(text) => text,
        other => return Err(format!("{other} cannot be multiplied")),
    };
    let product = if let Ok(rate) = text.parse::<BitRate>() {
        BitRate::from_bits_per_second(scaled(rate.as_bits_per_second())).to_string()
    } else if let Ok(time) = text.parse::<Duration>() {
        Duration::from_nanos(scaled(time.as_nanos())).to_string()
    } else if let Ok(bytes) = text.parse::<ByteCount>() {
        ByteCount::from_bytes(scaled(bytes.as_bytes())).to_string()
    } else if let Ok(part) = text.parse::<Fraction>() {
        let product = Fraction::from_f64(part.as_f64() * factor);
        product.map_err(|_| format!("`{text}` times {factor} is too large"))?.to_string()
    } else {
        return Err(match misread(text) {
            Some(problem) => problem,
            None => {
                format!(
                    "`{text}` cannot be multiplied: it is no rate, time, number of bytes or part"
                )
            }
        });
    };
    Ok(Value::String(product))
}

/// The error for a text that begins like a quantity: usually its unit is wrong. An error that names a near unit comes first.
fn misread(text: &str) -> Option<String> {
    if !text.trim_start().starts_with(|first: char| first.is_ascii_digit()) {
        return None;
    }
    let problems = [
        text.parse::<BitRate>().map(|_| ()).err().map(|error| error.to_string()),
        text.parse::<Duration>().map(|_| ()).err().map(|error| error.to_string()),
        text.parse::<ByteCount>().map(|_| ()).err().map(|error| error.to_string()),
    ];
    let mut near = problems.iter().flatten().filter(|problem| problem.contains("did you mean"));
    Some(near.next().cloned().unwrap_or_else(|| {
        format!("`{text}` has no unit of a rate, time, number of bytes or part: write for example \"40 ms\"")
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axis(unit: Option<&str>, values: &[&str]) -> Axis {
        let values = values.iter().map(|text| Value::String((*text).into())).collect();
        let none = std::collections::BTreeMap::new();
        Axis {
            name: "x".into(),
            label: None,
            unit: unit.map(str::to_owned),
            keys: vec!["a.b".into()],
            values,
            labels: Vec::new(),
            with: std::collections::BTreeMap::new(),
            scaled: none,
            zip: None,
        }
    }

    #[test]
    fn positions_are_in_the_unit_of_the_axis() {
        for (unit, text, expected) in [
            (Some("Mbit/s"), "100 kbit/s", Some(0.1)),
            (Some("ms"), "0.36 s", Some(360.0)),
            (Some("KiB"), "64 KiB", Some(64.0)),
            (Some("%"), "3 %", Some(3.0)),
            (None, "2 Mbit/s", Some(2e6)),
            (None, "1e-6", Some(1e-6)),
            (Some("ms"), "1 Mbit/s", None),
            (None, "cmt", None),
        ] {
            assert_eq!(axis(unit, &[text]).position(0), expected, "{text} in {unit:?}");
        }
        assert_eq!(axis(None, &[]).position(0), None);
    }

    #[test]
    fn a_value_goes_to_its_keys_and_multiples_of_it_to_others() {
        let mut axis = axis(None, &["45 ms", "90 ms"]);
        axis.scaled.insert("edge".into(), 10.0 / 45.0);
        axis.with.insert("other".into(), vec![Value::Integer(1), Value::Integer(2)]);
        let string = |text: &str| Value::String(text.into());
        let changes = axis.changes(1).expect("a delay can be multiplied");
        let expected =
            [("a.b", string("90 ms")), ("other", Value::Integer(2)), ("edge", string("20 ms"))];
        assert_eq!(changes, expected.map(|(key, value)| (key.to_owned(), value)));
        axis.values = vec![string("70 %"), string("60 %")];
        axis.scaled = [("each of four".to_owned(), 0.25)].into();
        let changes = axis.changes(0).expect("a part can be multiplied");
        assert_eq!(changes.last(), Some(&("each of four".to_owned(), string("17.5 %"))));
        axis.scaled = [("too much".to_owned(), 2.0)].into();
        assert!(axis.changes(1).expect_err("120 %").contains("is too large"));
        axis.values = vec![string("cmt")];
        assert!(axis.changes(0).expect_err("a word").contains("`cmt` cannot be multiplied"));
        for (wrong, expected) in [
            ("40 q", "has no unit of a rate, time"),
            ("40 m", "did you mean `min`?"),
            ("40 mbit/s", "did you mean `Mbit/s`?"),
        ] {
            axis.values = vec![string(wrong)];
            let error = axis.changes(0).expect_err("no such unit");
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn values_are_called_by_their_labels_or_as_written() {
        let mut axis = axis(Some("s"), &["1 s", "2 s"]);
        assert_eq!(axis.label_of(1), "2 s");
        axis.labels = vec!["short".into(), "long".into()];
        assert_eq!(axis.label_of(1), "long");
        assert_eq!(axis.title(), "x (s)");
    }
}
