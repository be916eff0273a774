//! Operands of statements: curves, and their differences and ratios.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toml::Value;

use super::{AxisRange, Better, Study, Where, unknown};

/// A curve: a measure of a variant at each of the points that a statement is about.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, expecting = "a curve, for example { variant = \"cmt\" }")]
pub struct Operand {
    /// Name of the variant; default: the first one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub variant: Option<String>,
    /// Name of the measure; default: the first one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub measure: Option<String>,
    /// Values of axes that are not those of the point: `{ loss = "0 %" }` looks at the point without loss instead.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(with = "BTreeMap<String, serde_json::Value>")]
    pub at: BTreeMap<String, Value>,
    /// Another curve that is subtracted, run by run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub minus: Option<Box<Operand>>,
    /// Another curve that it is divided by, run by run; runs that would be divided by zero do not count.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub divided_by: Option<Box<Operand>>,
}

impl Operand {
    /// Checks that a study has everything it names, from each of these points.
    ///
    /// # Errors
    /// There is no such variant, measure, axis or value.
    pub fn check(&self, study: &Study, points: &[usize]) -> Result<(), String> {
        self.variant_in(study)?;
        self.measure_in(study)?;
        for point in points {
            self.point_in(study, *point)?;
        }
        let others = self.minus.iter().chain(&self.divided_by);
        others.into_iter().try_for_each(|other| other.check(study, points))
    }

    /// Unit of its numbers; empty for the quotient of two of the same unit.
    pub fn unit(&self, study: &Study) -> String {
        let measure = self.measure_in(study).ok().and_then(|number| study.measures().get(number));
        let unit = measure.map_or("", |measure| measure.unit.as_str());
        match self.divided_by.as_ref().map(|other| other.unit(study)) {
            None => unit.to_owned(),
            Some(other) if other == unit => String::new(),
            Some(other) if other.is_empty() => unit.to_owned(),
            Some(other) => format!("{unit}/({other})"),
        }
    }

    /// Whether larger or smaller numbers are better.
    ///
    /// # Errors
    /// There is no such measure.
    pub fn better(&self, study: &Study) -> Result<Better, String> {
        Ok(study.measures()[self.measure_in(study)?].better)
    }

    /// Description.
    pub fn describe(&self, study: &Study) -> String {
        let variant = self.variant_in(study).ok().map(|number| &study.variants()[number]);
        let label = variant.map_or("?", |v| v.label.as_ref().unwrap_or(&v.name).as_str());
        let mut text = label.to_owned();
        for (axis, value) in &self.at {
            text += &format!(" at {axis} {}", super::text(value));
        }
        if let Some(other) = &self.minus {
            text += &format!(" - {}", other.describe(study));
        }
        if let Some(other) = &self.divided_by {
            text += &format!(" / {}", other.describe(study));
        }
        text
    }

    /// Number of its variant.
    pub(crate) fn variant_in(&self, study: &Study) -> Result<usize, String> {
        let Some(name) = &self.variant else { return Ok(0) };
        let names = study.variants().iter().map(|variant| variant.name.as_str());
        study.variant(name).ok_or_else(|| unknown("variant", name, names))
    }

    /// Number of its measure.
    pub(crate) fn measure_in(&self, study: &Study) -> Result<usize, String> {
        let Some(name) = &self.measure else { return Ok(0) };
        let names = study.measures().iter().map(|measure| measure.name.as_str());
        study.measure(name).ok_or_else(|| unknown("measure", name, names))
    }

    /// The points from whose runs its value at a point is calculated.
    pub(crate) fn points(&self, study: &Study, point: usize) -> Vec<usize> {
        let mut points: Vec<usize> = self.point_in(study, point).into_iter().collect();
        for other in self.minus.iter().chain(&self.divided_by) {
            points.extend(other.points(study, point));
        }
        points
    }

    /// The point with the values of `at`. Axes that advance together with one of these change with it.
    pub(crate) fn point_in(&self, study: &Study, point: usize) -> Result<usize, String> {
        if self.at.is_empty() {
            return Ok(point);
        }
        let here = &study.points().at(point);
        let mut wanted = Where::new();
        for (axis, value) in &self.at {
            let range = AxisRange { at: vec![value.clone()], ..AxisRange::default() };
            wanted.insert(axis.clone(), range);
        }
        let moves = |number: usize| {
            let axis = &study.axes()[number];
            let together = |name: &String| {
                let other = study.axis(name).map(|number| &study.axes()[number]);
                other.is_some_and(|other| {
                    other.name == axis.name || (axis.zip.is_some() && other.zip == axis.zip)
                })
            };
            self.at.keys().any(together)
        };
        let found = study.select(&wanted)?.into_iter().find(|other| {
            let other = &study.points().at(*other).values;
            (0..here.values.len())
                .all(|number| moves(number) || other[number] == here.values[number])
        });
        found.ok_or_else(|| {
            let values: Vec<String> =
                self.at.iter().map(|(axis, value)| format!("{axis} = {value}")).collect();
            format!("the study has no point with {}", values.join(", "))
        })
    }
}
