//! The format of figures in study files.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Operand, StudyFile, Where, unknown};

/// A figure of the results of a study.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FigurePlan {
    /// Name of its files, without extension.
    pub name: String,
    /// Title; default: the title of the study.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Kind of figure.
    #[serde(default)]
    pub kind: FigureKind,
    /// Axis of the study along which lines and groups of bars lie; default: the first one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub x: Option<String>,
    /// Measure on the other axis; default: the first one. Not for time lines and sequences.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub y: Option<String>,
    /// Lines and bars: a curve by which each curve is divided, run by run. Omitted parts (variant, measure, values of axes) are
    /// those of the curve itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub divided_by: Option<Operand>,
    /// For time lines and sequences: names of series, `*` standing for any name of an element.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub series: Vec<String>,
    /// Labels of series in legends, by the names in `series`: `"paths.a.*.cwnd_bytes" = "cwnd of *"`, where each `*` becomes the
    /// name of the element; default: a description of the series.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub names: BTreeMap<String, String>,
    /// Factor of the numbers of series; default: 1.
    #[serde(default = "one")]
    pub scale: f64,
    /// Label of the axis of numbers; default: the measure or series, with its unit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub y_label: Option<String>,
    /// Points that are drawn; default: all.
    #[serde(default, rename = "where", skip_serializing_if = "Where::is_empty")]
    pub selection: Where,
    /// Variants that are drawn; default: all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub variants: Vec<String>,
    /// Scale of the horizontal axis.
    #[serde(default)]
    pub x_scale: Scale,
    /// Scale of the axis of numbers; a linear one begins at 0.
    #[serde(default)]
    pub y_scale: Scale,
    /// Horizontal lines for comparison.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub references: Vec<Reference>,
}

fn one() -> f64 {
    1.0
}

/// Kind of figure.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FigureKind {
    /// A line for each curve, with the band of its intervals.
    #[default]
    Lines,
    /// A group of bars for each value of the axis, a bar for each curve, with its interval.
    Bars,
    /// Series over time.
    TimeLines,
    /// A dot for each sample of a series over time, such as TSNs.
    Sequence,
}

/// Scale of an axis.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Scale {
    /// Equal steps.
    #[default]
    Linear,
    /// Equal ratios.
    Log,
}

/// A horizontal line for comparison.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table, for example { value = 5, label = \"half\" }")]
pub struct Reference {
    /// Value, in the unit of the figure.
    pub value: f64,
    /// Label.
    pub label: String,
}

impl FigurePlan {
    /// The error in it, and its key.
    pub(crate) fn check(&self, file: &StudyFile) -> Result<(), (&'static str, String)> {
        let axes = file.axes.iter().map(|axis| axis.name.as_str());
        let measures = file.measures.iter().map(|measure| measure.name.as_str());
        let variants = file.variants.iter().map(|variant| variant.name.as_str());
        if let Some(x) = self.x.as_deref().filter(|x| !axes.clone().any(|name| name == *x)) {
            return Err(("x", unknown("axis", x, axes)));
        }
        if let Some(y) = self.y.as_deref().filter(|y| !measures.clone().any(|name| name == *y)) {
            return Err(("y", unknown("measure", y, measures)));
        }
        if let Some(name) = self.selection.keys().find(|name| !axes.clone().any(|n| n == **name)) {
            return Err(("where", unknown("axis", name, axes)));
        }
        let mut selected = self.selection.iter().filter_map(|(name, range)| {
            range.problem(file.axes.iter().find(|axis| axis.name == *name)?)
        });
        if let Some(message) = selected.next() {
            return Err(("where", message));
        }
        if let Some(name) = self.variants.iter().find(|name| !variants.clone().any(|n| n == **name))
        {
            return Err(("variants", unknown("variant", name, variants)));
        }
        let by = self.divided_by.as_ref();
        for (name, what, known) in [
            (by.and_then(|by| by.variant.as_deref()), "variant", variants.collect::<Vec<_>>()),
            (by.and_then(|by| by.measure.as_deref()), "measure", measures.collect()),
        ] {
            if let Some(name) = name.filter(|name| !known.contains(name)) {
                return Err(("divided_by", unknown(what, name, known.into_iter())));
            }
        }
        if let Some(name) = self.names.keys().find(|name| !self.series.contains(name)) {
            return Err(("names", unknown("series", name, self.series.iter().map(String::as_str))));
        }
        match self.kind {
            FigureKind::Lines | FigureKind::Bars if !self.series.is_empty() => {
                Err(("series", "is for time lines and sequences; lines and bars have `y`".into()))
            }
            FigureKind::Lines | FigureKind::Bars if file.axes.is_empty() => {
                Err(("kind", "the study has no axis for this figure".into()))
            }
            FigureKind::TimeLines | FigureKind::Sequence if self.divided_by.is_some() => {
                Err(("divided_by", "is for lines and bars".into()))
            }
            FigureKind::TimeLines | FigureKind::Sequence if self.series.is_empty() => {
                Err(("series", "is required: the series that are drawn over time".into()))
            }
            FigureKind::TimeLines | FigureKind::Sequence if file.series.is_none() => {
                Err(("kind", "the study keeps no series: it needs a table `series`".into()))
            }
            _ => Ok(()),
        }
    }
}
