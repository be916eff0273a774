//! Results of a run as a flat list of names and values.

use std::fmt;
use std::sync::Arc;

use serde::de::{Deserializer, Error, Visitor};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A value in a table.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
#[serde(untagged)]
pub enum Cell {
    /// No value.
    #[default]
    Null,
    /// True or false.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// A number.
    Float(f64),
    /// Text.
    Text(String),
}

impl Cell {
    /// Value as a number; true is 1.
    pub fn number(&self) -> Option<f64> {
        match self {
            Self::Int(number) => Some(*number as f64),
            Self::Float(number) => Some(*number),
            Self::Bool(truth) => Some(f64::from(u8::from(*truth))),
            Self::Null | Self::Text(_) => None,
        }
    }

    fn of(value: &Value) -> Option<Self> {
        Some(match value {
            Value::Null => Self::Null,
            Value::Bool(truth) => Self::Bool(*truth),
            Value::Number(number) => match number.as_i64() {
                Some(number) => Self::Int(number),
                None => number.as_f64().map_or(Self::Null, Self::Float),
            },
            Value::String(text) => Self::Text(text.clone()),
            Value::Array(_) | Value::Object(_) => return None,
        })
    }
}

/// Written by hand: the derived implementation for untagged enums tries one variant after the other and formats an error for each,
/// and a row has hundreds of cells.
impl<'de> Deserialize<'de> for Cell {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct OfCell;

        impl Visitor<'_> for OfCell {
            type Value = Cell;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("nothing, true or false, a number or text")
            }

            fn visit_unit<E: Error>(self) -> Result<Cell, E> {
                Ok(Cell::Null)
            }

            fn visit_bool<E: Error>(self, truth: bool) -> Result<Cell, E> {
                Ok(Cell::Bool(truth))
            }

            fn visit_i64<E: Error>(self, number: i64) -> Result<Cell, E> {
                Ok(Cell::Int(number))
            }

            fn visit_u64<E: Error>(self, number: u64) -> Result<Cell, E> {
                Ok(i64::try_from(number).map_or(Cell::Float(number as f64), Cell::Int))
            }

            fn visit_f64<E: Error>(self, number: f64) -> Result<Cell, E> {
                Ok(Cell::Float(number))
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Cell, E> {
                Ok(Cell::Text(text.to_owned()))
            }

            fn visit_string<E: Error>(self, text: String) -> Result<Cell, E> {
                Ok(Cell::Text(text))
            }
        }

        deserializer.deserialize_any(OfCell)
    }
}

/// Names and values of a result, and its series.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct FlatResult {
    /// Names of the values; results of the same shape may share them.
    pub names: Arc<Vec<String>>,
    /// The values.
    pub values: Vec<Cell>,
    /// Series by name: times in seconds, and values.
    pub series: Vec<(String, Vec<f64>, Vec<Option<f64>>)>,
}

/// Fields that have columns of their own or are no results.
const ELSEWHERE: [&str; 5] = ["title", "seed", "form", "trace_hash", "wall_s"];
/// Fields by which elements of lists are named, in this order.
const NAMING: [&str; 4] = ["pair", "from", "path", "name"];

impl FlatResult {
    /// Flattens a result in JSON. Names of nested objects are joined by dots; elements of lists are named by their pair, sending
    /// host, path and name.
    pub fn of(result: &Value) -> Self {
        let mut flat = Self::default();
        let mut place = String::new();
        if let Value::Object(fields) = result {
            for (key, value) in fields.iter().filter(|(key, _)| !ELSEWHERE.contains(&key.as_str()))
            {
                match (key.as_str(), value) {
                    ("series", Value::Object(series)) => flat.add_series("", series, &[]),
                    (key, value) => {
                        place.replace_range(.., key);
                        flat.add(&mut place, value);
                    }
                }
            }
        }
        flat
    }

    /// Adds the value at `place`, which is restored afterwards.
    fn add(&mut self, place: &mut String, value: &Value) {
        let length = place.len();
        let mut within = |place: &mut String, key: &str, value| {
            let length = place.len();
            place.push('.');
            place.push_str(key);
            self.add(place, value);
            place.truncate(length);
        };
        match value {
            Value::Object(fields) => {
                for (key, value) in fields {
                    within(place, key, value);
                }
            }
            Value::Array(elements) => {
                for element in elements.iter().filter_map(Value::as_object) {
                    join(place, element);
                    let fields = element.iter().filter(|(key, _)| !NAMING.contains(&key.as_str()));
                    for (key, value) in fields {
                        within(place, key, value);
                    }
                    place.truncate(length);
                }
            }
            scalar => {
                if let Some(cell) = Cell::of(scalar) {
                    Arc::make_mut(&mut self.names).push(place.clone());
                    self.values.push(cell);
                }
            }
        }
    }

    /// Adds lists of numbers as series, with the times of their object or of the enclosing one.
    fn add_series(&mut self, name: &str, fields: &Map<String, Value>, times: &[f64]) {
        let own = fields.get("time_s").and_then(Value::as_array);
        let own: Option<Vec<f64>> =
            own.map(|times| times.iter().filter_map(Value::as_f64).collect());
        let times = own.as_deref().unwrap_or(times);
        let within =
            |key: &str| if name.is_empty() { key.to_owned() } else { format!("{name}.{key}") };
        for (key, value) in fields.iter().filter(|(key, _)| *key != "time_s") {
            match value {
                Value::Object(fields) => self.add_series(&within(key), fields, times),
                Value::Array(elements) if elements.iter().any(Value::is_object) => {
                    for element in elements.iter().filter_map(Value::as_object) {
                        let mut place = within(key);
                        join(&mut place, element);
                        self.add_series(&place, element, times);
                    }
                }
                Value::Array(values) if values.len() == times.len() => {
                    let values = values.iter().map(Value::as_f64).collect();
                    self.series.push((within(key), times.to_vec(), values));
                }
                _ => {}
            }
        }
    }
}

/// Appends the name of an element to that of its list.
fn join(list: &mut String, element: &Map<String, Value>) {
    let names = NAMING.iter().filter_map(|key| element.get(*key).and_then(Value::as_str));
    for name in names.filter(|name| !name.is_empty()) {
        list.push('.');
        list.push_str(name);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn elements_are_named_by_what_names_them() {
        let flat = FlatResult::of(&json!({
            "title": "elsewhere",
            "goodput_bit_s": 1.5,
            "completed_s": null,
            "association": { "failed": false },
            "paths": [
                { "name": "path 1", "from": "a", "timeouts": 3, "status": "active" },
                { "name": "path 2", "from": "a", "pair": "left", "timeouts": 4, "status": "active" },
            ],
        }));
        let found: Vec<_> = flat.names.iter().map(String::as_str).zip(flat.values).collect();
        let text = || Cell::Text("active".into());
        let expected = [
            ("association.failed", Cell::Bool(false)),
            ("completed_s", Cell::Null),
            ("goodput_bit_s", Cell::Float(1.5)),
            ("paths.a.path 1.status", text()),
            ("paths.a.path 1.timeouts", Cell::Int(3)),
            ("paths.left.a.path 2.status", text()),
            ("paths.left.a.path 2.timeouts", Cell::Int(4)),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn a_cell_reads_back_from_json() {
        for (text, cell) in [
            ("null", Cell::Null),
            ("true", Cell::Bool(true)),
            ("-3", Cell::Int(-3)),
            ("9223372036854775807", Cell::Int(i64::MAX)),
            ("9223372036854775808", Cell::Float(9_223_372_036_854_775_808.0)),
            ("3.0", Cell::Float(3.0)),
            ("\"3\\n\"", Cell::Text("3\n".into())),
        ] {
            assert_eq!(serde_json::from_str::<Cell>(text).expect("a cell"), cell);
            assert_eq!(
                serde_json::from_value::<Cell>(serde_json::from_str(text).expect("JSON"))
                    .expect("a cell"),
                cell
            );
        }
        assert!(serde_json::from_str::<Cell>("[1]").is_err());
    }

    #[test]
    fn series_have_the_nearest_times_above_them() {
        let flat = FlatResult::of(&json!({ "series": {
            "time_s": [0.5, 1.0],
            "goodput_bit_s": [1.0, 2.0],
            "paths": [{ "name": "p", "from": "a", "cwnd_bytes": [null, 9] }],
            "tsns": { "time_s": [0.1], "tsn": [7] },
        }}));
        let both = vec![0.5, 1.0];
        let expected = [
            ("goodput_bit_s", both.clone(), vec![Some(1.0), Some(2.0)]),
            ("paths.a.p.cwnd_bytes", both, vec![None, Some(9.0)]),
            ("tsns.tsn", vec![0.1], vec![Some(7.0)]),
        ];
        let expected = expected.map(|(name, times, values)| (name.to_owned(), times, values));
        assert_eq!(flat.series, expected);
        assert!(flat.names.is_empty());
    }
}
