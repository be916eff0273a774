//! Our numbers beside those of other tools.

use std::collections::BTreeMap;

use serde::Serialize;
use toml::Value;

use crate::paper::{Claim, Comparison, Reference};
use crate::results::Dataset;
use crate::stats::{Estimate, Interval, mean};
use crate::study::{Axis, text};
use crate::verdict::Operand;

/// Relative difference that rounding of printed digits explains.
const DIGITS: f64 = 1e-3;

/// A number of another tool, and ours.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Beside {
    /// Figure and quantity.
    pub figure: String,
    /// File name of the study.
    pub study: String,
    /// Curve.
    pub curve: String,
    /// Place on the axes; empty if there is none.
    pub x: String,
    /// Unit of both.
    pub unit: String,
    /// Our number; `None` if the study does not have it.
    pub ours: Option<Estimate>,
    /// Their number.
    pub theirs: f64,
    /// Interval of their number.
    pub their_interval: Interval,
    /// The tool.
    pub tool: String,
    /// Whether they agree.
    pub agreement: Agreement,
    /// Why ours is missing, or why they differ.
    pub note: Option<String>,
}

/// Whether two numbers agree.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Agreement {
    /// Their difference lies within the joint interval.
    Agrees,
    /// Their difference lies outside.
    Differs,
    /// One of them is missing, or has no interval.
    Unknown,
}

/// Every number of other tools about a study, beside ours.
pub(super) fn beside(reference: &Reference, study: &str, data: &Dataset) -> Vec<Beside> {
    let claims = reference.claims.iter().filter_map(|claim| Some((claim, reference.of(claim)?)));
    claims
        .filter(|(_, comparison)| comparison.study == study)
        .map(|(claim, comparison)| {
            let ours = ours(claim, comparison, data);
            let agreement = match &ours {
                Ok(ours) => agreement(ours, claim),
                Err(_) => Agreement::Unknown,
            };
            let note = match &ours {
                Ok(_) => comparison.note.clone().filter(|_| agreement == Agreement::Differs),
                Err(why) => Some(why.clone()),
            };
            Beside {
                figure: claim.figure.clone(),
                study: study.to_owned(),
                curve: claim.curve.clone(),
                x: claim.x.clone(),
                unit: claim.unit.clone(),
                ours: ours.ok(),
                theirs: claim.value,
                their_interval: claim.interval,
                tool: claim.tool.clone(),
                agreement,
                note,
            }
        })
        .collect()
}

/// Our number for a claim.
fn ours(claim: &Claim, comparison: &Comparison, data: &Dataset) -> Result<Estimate, String> {
    let study = data.study();
    let mut curve = comparison.curves.get(&claim.curve).cloned().unwrap_or_default();
    curve.variant.get_or_insert_with(|| claim.curve.clone());
    curve.measure.get_or_insert_with(|| comparison.measure.clone());
    let mut at: BTreeMap<String, Value> = comparison.at.clone();
    let places = claim.x.split(", ").filter(|place| !place.is_empty());
    // A curve without a place, such as that of one path, has the same number everywhere.
    for (name, place) in comparison.x.iter().zip(places) {
        let axis = study.axis(name).map(|number| &study.axes()[number]);
        let axis = axis.ok_or_else(|| format!("the study has no axis `{name}`"))?;
        let value = value_of(axis, place);
        at.insert(
            name.clone(),
            value.ok_or_else(|| format!("there are no runs with {name} {place}"))?,
        );
    }
    at.append(&mut curve.at);
    if let Some(by) = &comparison.divided_by {
        let mut by = by.clone();
        by.variant = by.variant.or(curve.variant.clone());
        by.measure = by.measure.or(curve.measure.clone());
        let mut there = at.clone();
        there.append(&mut by.at);
        curve.divided_by = Some(Box::new(Operand { at: there, ..by }));
    }
    curve.at = at;
    let measure = study.measure(&comparison.measure).map(|number| &study.measures()[number]);
    if let Some(measure) = measure.filter(|m| m.unit != claim.unit && curve.divided_by.is_none()) {
        return Err(format!("our number has the unit {}", measure.unit));
    }
    let values: Vec<f64> = curve.values(data, 0)?.into_iter().flatten().collect();
    mean(&values, study.confidence()).ok_or_else(|| "no run has a value".into())
}

/// The value of an axis that a claim names, as text or as a number in the unit of the axis.
fn value_of(axis: &Axis, place: &str) -> Option<Value> {
    let number = axis.number(&Value::from(place)).or_else(|| place.parse().ok());
    let index = (0..axis.values.len()).find(|index| {
        axis.label_of(*index) == place
            || axis.values.get(*index).map(text).as_deref() == Some(place)
            || (number.is_some() && axis.position(*index) == number)
    })?;
    axis.values.get(index).cloned()
}

/// Two means agree if their difference lies within the joint interval: the root of the sum of the squared half-widths.
fn agreement(ours: &Estimate, theirs: &Claim) -> Agreement {
    let half_widths = [ours.interval.half_width(), theirs.interval.half_width()];
    let joint = half_widths.iter().map(|half_width| half_width.powi(2)).sum::<f64>().sqrt();
    if !joint.is_finite() {
        return Agreement::Unknown;
    }
    let allowed = joint.max(DIGITS * theirs.value.abs());
    match (ours.value - theirs.value).abs() <= allowed {
        true => Agreement::Agrees,
        false => Agreement::Differs,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_agree_within_their_joint_interval() {
        let claim = |value: f64, half_width: f64| Claim {
            figure: String::new(),
            curve: String::new(),
            x: String::new(),
            unit: String::new(),
            value,
            interval: Interval::around(value, half_width),
            tool: String::new(),
        };
        let ours = |half_width| Estimate {
            value: 10.0,
            interval: Interval::around(10.0, half_width),
            n: 3,
        };
        for (half_width, theirs, expected) in [
            (3.0, claim(14.9, 4.0), Agreement::Agrees),
            (3.0, claim(15.1, 4.0), Agreement::Differs),
            (0.0, claim(10.009, 0.0), Agreement::Agrees),
            (0.0, claim(10.02, 0.0), Agreement::Differs),
            (f64::INFINITY, claim(10.0, 0.0), Agreement::Unknown),
        ] {
            assert_eq!(agreement(&ours(half_width), &theirs), expected, "{half_width} {theirs:?}");
        }
    }

    #[test]
    fn places_are_found_by_words_and_numbers() {
        let axis: Axis = toml::from_str(
            "name = \"delay\"\nunit = \"ms\"\nvalues = [\"45 ms\", \"0.36 s\"]\nlabels = [\"short\", \"long\"]",
        )
        .expect("an axis");
        for (place, expected) in [
            ("45 ms", Some("45 ms")),
            ("45", Some("45 ms")),
            ("360 ms", Some("0.36 s")),
            ("long", Some("0.36 s")),
            ("9 ms", None),
        ] {
            assert_eq!(value_of(&axis, place), expected.map(Value::from), "{place}");
        }
    }
}
