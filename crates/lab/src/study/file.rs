//! The format of study files.

use std::collections::BTreeMap;

use polypath_units::{Duration, Fraction};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toml::Value;

use super::FigurePlan;

/// Values for keys of the scenario. A key is written in quotes, with dots and names of list elements:
/// `"network.disjoint.paths.path 2.bottleneck.rate"`. The value replaces everything at that key.
pub type Settings = BTreeMap<String, Value>;

/// A study: a scenario, its variations, and the measures.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StudyFile {
    /// Title.
    pub title: String,
    /// The scenario: a file, named relative to this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scenario: Option<String>,
    /// Independent runs of each configuration.
    #[serde(default)]
    pub replications: Replications,
    /// Changes of the scenario for all runs.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, serde_json::Value>")]
    pub set: Settings,
    /// Axes. Their values form a grid, except those of axes with the same `zip`, which advance together.
    #[serde(default)]
    pub axes: Vec<Axis>,
    /// Variants: each is run at every point of the axes. Default: one without changes.
    #[serde(default)]
    pub variants: Vec<Variant>,
    /// Values taken from the result of each run.
    pub measures: Vec<Measure>,
    /// Time series to keep; default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub series: Option<SeriesPlan>,
    /// Figures of the results.
    #[serde(default)]
    pub figures: Vec<FigurePlan>,
    /// The reduced form for `--quick`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quick: Option<Quick>,
    /// The scenario itself, in place of a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<serde_json::Map<String, serde_json::Value>>")]
    pub inline: Option<Value>,
}

/// An axis: a varied quantity.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Axis {
    /// Name in results, figures and statements.
    pub name: String,
    /// Label in figures; default: the name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Unit of its numbers in results and figures; default: bit/s, s, B or a fraction of 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
    /// Keys of the scenario that get the value; may be omitted if `with` has all keys.
    #[serde(default)]
    pub keys: Vec<String>,
    /// The values.
    #[schemars(with = "Vec<serde_json::Value>")]
    pub values: Vec<Value>,
    /// Labels of the values in figures and tables; default: the values themselves.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<String>,
    /// Further keys, each with a value for each of `values`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(with = "BTreeMap<String, Vec<serde_json::Value>>")]
    pub with: BTreeMap<String, Vec<Value>>,
    /// Further keys that get the value times a number. The value must be a number, a rate, a time, a number of bytes or a
    /// fraction (`70 %`).
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub scaled: BTreeMap<String, f64>,
    /// Name of the group of axes that advance together; default: an axis of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zip: Option<String>,
}

/// A curve: named changes of the scenario.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Variant {
    /// Name in results and statements.
    pub name: String,
    /// The mechanism in words, for legends; default: the name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Changes of the scenario.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, serde_json::Value>")]
    pub set: Settings,
}

/// Independent runs of each configuration.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, expecting = "a table, for example { runs = 10 }")]
pub struct Replications {
    /// Number of runs; default: 1. `until` determines its own number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runs: Option<u32>,
    /// Seed from which the seeds of all runs are derived.
    pub seed: u64,
    /// Which runs have the same seed.
    pub common_random_numbers: CommonRandomNumbers,
    /// Confidence level of intervals.
    pub confidence: Fraction,
    /// Whether runs of a configuration do not depend on the seed, so that one suffices.
    pub deterministic: bool,
    /// Whether runs are added until statements are decided: points have different numbers of them, and intervals hold for
    /// all numbers together.
    #[serde(skip_serializing_if = "is_false")]
    pub sequential: bool,
    /// Adds runs until intervals are narrow enough.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<Until>,
}

fn is_false(flag: &bool) -> bool {
    !flag
}

impl Default for Replications {
    fn default() -> Self {
        Self {
            runs: None,
            seed: 1,
            common_random_numbers: CommonRandomNumbers::Variants,
            confidence: Fraction::from_percent(95),
            deterministic: false,
            sequential: false,
            until: None,
        }
    }
}

/// Which runs with the same number have the same seed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CommonRandomNumbers {
    /// Those of all variants at a point: curves can be compared run by run, points are independent.
    Variants,
    /// All: points can be compared run by run as well.
    All,
    /// None.
    None,
}

/// Adds runs until the interval of a measure is narrow enough for all variants of a point, which get equal numbers of runs.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(
    deny_unknown_fields,
    expecting = "a table, for example { measure = \"goodput\", half_width = \"5 %\", min = 5, max = 100 }"
)]
pub struct Until {
    /// Name of the measure.
    pub measure: String,
    /// Maximum half-width of its interval, relative to the mean.
    pub half_width: Fraction,
    /// Minimum number of runs.
    pub min: u32,
    /// Maximum number of runs.
    pub max: u32,
}

/// A measure: a value taken from the result of a run.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Measure {
    /// Name in results, figures and statements.
    pub name: String,
    /// Label in figures; default: the name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// The result, by its name in the table `runs`: `goodput_bit_s`, `paths.a.path 2.timeouts`, `flows.a.bulk.goodput_bit_s`.
    /// `*` stands for any name of an element.
    pub result: String,
    /// How to aggregate the results that a `*` stands for.
    #[serde(default)]
    pub aggregate: Aggregate,
    /// Another result to divide by, aggregated likewise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per: Option<String>,
    /// Factor of the number; default: 1.
    #[serde(default = "one")]
    pub scale: f64,
    /// Unit of the scaled number.
    #[serde(default)]
    pub unit: String,
    /// Whether larger or smaller numbers are better.
    #[serde(default)]
    pub better: Better,
}

fn one() -> f64 {
    1.0
}

/// Aggregation of several numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Aggregate {
    /// Their sum.
    #[default]
    Sum,
    /// Their mean.
    Mean,
    /// The smallest.
    Min,
    /// The largest.
    Max,
}

/// Whether larger or smaller numbers are better.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Better {
    /// Larger numbers.
    #[default]
    Higher,
    /// Smaller numbers.
    Lower,
}

/// Time series to keep.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table, for example { interval = \"100 ms\" }")]
pub struct SeriesPlan {
    /// Time between samples.
    pub interval: Duration,
    /// Runs of each configuration that are recorded, from the first one on; default: 1.
    #[serde(default = "one_run")]
    pub runs: u32,
    /// Series to keep, `*` standing for any name of an element; default: all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub only: Vec<String>,
}

fn one_run() -> u32 {
    1
}

/// The reduced form of a study for `--quick`.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, expecting = "a table, for example { runs = 3 }")]
pub struct Quick {
    /// Runs of each configuration, in place of `replications.runs` and `until`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runs: Option<u32>,
    /// Further changes of the scenario, such as a shorter time.
    #[schemars(with = "BTreeMap<String, serde_json::Value>")]
    pub set: Settings,
    /// The remaining values of axes; default: all. Values of axes that advance together belong together.
    #[schemars(with = "BTreeMap<String, Vec<serde_json::Value>>")]
    pub values: BTreeMap<String, Vec<Value>>,
}
