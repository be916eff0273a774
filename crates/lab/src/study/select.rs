//! Selections of points: which values of which axes.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toml::Value;

use super::{Axis, Study};

/// Points where each named axis has one of these values; all values of axes that are not named.
pub type Where = BTreeMap<String, AxisRange>;

/// Values of an axis. All given conditions must hold; default: all values.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(
    default,
    deny_unknown_fields,
    expecting = "a range, for example { from = 1, to = 4 } or { at = [\"10 ms\"] }"
)]
pub struct AxisRange {
    /// These values, as written in the axis.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Vec<serde_json::Value>")]
    pub at: Vec<Value>,
    /// This value and larger ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<serde_json::Value>")]
    pub from: Option<Value>,
    /// This value and smaller ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<serde_json::Value>")]
    pub to: Option<Value>,
}

impl AxisRange {
    /// The error in it: a value that is not a quantity, on an axis of quantities, would silently select nothing. Other
    /// values may be missing on the axis: the quick form of a study keeps only some.
    pub(crate) fn problem(&self, axis: &Axis) -> Option<String> {
        let is_number = |value: &Value| axis.number(value).is_some();
        if !axis.values.iter().all(is_number) {
            return None;
        }
        let all = self.at.iter().chain(&self.from).chain(&self.to);
        let wrong = super::text(all.into_iter().find(|value| !is_number(value))?);
        let like = axis.values.first().map(super::text).unwrap_or_default();
        Some(format!(
            "`{wrong}` is not a quantity like those of the axis `{}`, such as `{like}`",
            axis.name
        ))
    }

    /// The error for a value of `at` that the axis does not have. Only a whole study has all values: its quick form keeps
    /// some.
    pub(crate) fn missing(&self, axis: &Axis) -> Option<String> {
        let is_there = |wanted: &&Value| axis.values.iter().any(|value| same(axis, value, wanted));
        let missing = super::text(self.at.iter().find(|wanted| !is_there(wanted))?);
        let values: Vec<String> = axis.values.iter().map(super::text).collect();
        Some(format!(
            "the axis `{}` has no value `{missing}`; it has {}",
            axis.name,
            values.join(", ")
        ))
    }

    /// Whether the value with this number is one of them.
    fn has(&self, axis: &Axis, index: usize) -> bool {
        let Some(value) = axis.values.get(index) else { return false };
        let same = |other: &Value| same(axis, value, other);
        let beyond = |limit: &Option<Value>, ok: fn(f64, f64) -> bool| {
            let Some(limit) = limit else { return false };
            let numbers = axis.number(value).zip(axis.number(limit));
            !numbers.is_some_and(|(value, limit)| ok(value, limit))
        };
        (self.at.is_empty() || self.at.iter().any(same))
            && !beyond(&self.from, |value, limit| value >= limit)
            && !beyond(&self.to, |value, limit| value <= limit)
    }
}

/// Whether another text means this value of an axis.
fn same(axis: &Axis, value: &Value, other: &Value) -> bool {
    other == value || axis.number(other).is_some_and(|n| Some(n) == axis.number(value))
}

impl Study {
    /// The error in a selection: an axis or a value that the study does not have.
    pub(crate) fn selection_problem(&self, selection: &Where) -> Option<String> {
        let axes = self.axes().iter().map(|axis| axis.name.as_str());
        selection.iter().find_map(|(name, range)| match self.axis(name) {
            None => Some(super::unknown("axis", name, axes.clone())),
            Some(number) => {
                let axis = &self.axes()[number];
                range.problem(axis).or_else(|| range.missing(axis))
            }
        })
    }

    /// The numbers of the points in a selection, in order.
    ///
    /// # Errors
    /// There is no such axis; the error names the nearest.
    pub fn select(&self, selection: &Where) -> Result<Vec<usize>, String> {
        let mut ranges = Vec::new();
        for (name, range) in selection {
            let number = self.axis(name).ok_or_else(|| {
                super::unknown("axis", name, self.axes().iter().map(|axis| axis.name.as_str()))
            })?;
            ranges.push((number, range));
        }
        let selected = |point: &super::Point| {
            ranges.iter().all(|(axis, range)| range.has(&self.axes()[*axis], point.values[*axis]))
        };
        Ok(self.points().iter().filter(selected).map(|point| point.index).collect())
    }
}
