//! The format of files of statements.

use std::path::Path;

use polypath_sim::document::{Document, DocumentError, Layer, Step};
use polypath_units::Fraction;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};
use toml::Value;

use super::{Calculated, Defaults, Operand};
use crate::study::{Where, unknown};

/// A file of statements about studies, for example of a paper.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Expectations {
    /// Key of the paper.
    pub paper: String,
    /// Statements.
    #[serde(default)]
    pub statements: Vec<Statement>,
    /// Statements that are not judged, with reasons.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_run: Vec<NotRun>,
    /// Calculations.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calculations: Vec<Calculated>,
    /// Default values.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub defaults: Vec<Defaults>,
    /// Conclusions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conclusions: Vec<Conclusion>,
}

/// A conclusion from other statements: it holds if all of them hold.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Conclusion {
    /// Its identifier, which never changes.
    pub id: String,
    /// Figure, table or section of the paper.
    pub figure: String,
    /// The statement as text.
    pub statement: String,
    /// Names of the statements that it rests on.
    pub from: Vec<String>,
    /// Why it differs here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<String>,
    /// Experiments that show the cause: names of statements, or of studies beside this file.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shown_by: Vec<String>,
}

/// A statement that is not judged.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NotRun {
    /// Its identifier, which never changes.
    pub id: String,
    /// Figure, table or section that it is about.
    pub figure: String,
    /// The statement as text.
    pub statement: String,
    /// Why it is not judged.
    pub reason: String,
}

/// One statement.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Statement {
    /// Its identifier, which never changes.
    pub id: String,
    /// Figure, table or section that it is about.
    pub figure: String,
    /// The study by which it is judged: a file name, relative to this file.
    pub study: String,
    /// The statement as text.
    pub statement: String,
    /// How it is judged.
    pub rule: Rule,
    /// The points that it is about; default: all.
    #[serde(default, rename = "where", skip_serializing_if = "Where::is_empty")]
    pub selection: Where,
    /// At which of them it must hold.
    #[serde(default)]
    pub over: Over,
    /// Whether it is ours and not the paper's: an experiment that shows a cause, or another view.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ours: bool,
    /// Why it differs here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<String>,
    /// Experiments that show the cause: names of statements, or of studies beside this file.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shown_by: Vec<String>,
}

/// At which of the selected points a statement must hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Over {
    /// It must hold at each point.
    #[default]
    Each,
    /// It must hold at one point.
    Any,
    /// It must hold for the mean over all points, run by run.
    Mean,
}

/// How a statement is judged. In comparisons, the measure determines whether larger or smaller is better.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(
    rename_all = "kebab-case",
    expecting = "a rule, for example { about = { of = { variant = \"cmt\" }, value = 10 } }"
)]
pub enum Rule {
    /// The mean is about a number.
    About(About),
    /// The mean lies between two numbers.
    Between(Between),
    /// Every two curves differ by little.
    Alike(Alike),
    /// A curve is better than each of others.
    Better(Comparison),
    /// A curve is worse than each of others.
    Worse(Comparison),
    /// Each curve is better than the next one.
    Ranking(Ranking),
    /// A curve is almost zero compared with the best of others.
    AlmostNothing(AlmostNothing),
    /// A curve rises along an axis: its slope by least squares is positive.
    Rises(Along),
    /// A curve falls along an axis.
    Falls(Along),
    /// A curve is proportional to the axis: at each point its number per unit of the axis is about that of the last point.
    Proportional(Proportional),
    /// A curve bends at a point of an axis, more than at any other.
    Knee(Knee),
}

/// About a number.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct About {
    /// The curve.
    pub of: Operand,
    /// The number, in the unit of the measure; or a list with one for each of the selected points, in the order of the study.
    pub value: Wanted,
    /// Maximum deviation of the mean, relative to the number; default: 5 %.
    #[serde(default = "about")]
    pub within: Fraction,
}

/// One number for all points, or one per point.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "a number, or a list of numbers, one for each selected point")]
pub enum Wanted {
    /// The same for all points.
    One(f64),
    /// One for each selected point.
    Each(Vec<f64>),
}

impl Wanted {
    /// The number at the point with this place among the selected ones; NaN if there is none.
    pub(super) fn at(&self, place: usize) -> f64 {
        match self {
            Self::One(value) => *value,
            Self::Each(values) => values.get(place).copied().unwrap_or(f64::NAN),
        }
    }
}

impl std::fmt::Display for Wanted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::One(value) => write!(f, "{value}"),
            Self::Each(values) => {
                let values: Vec<String> = values.iter().map(ToString::to_string).collect();
                f.write_str(&values.join(" and "))
            }
        }
    }
}

/// Between two numbers.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Between {
    /// The curve.
    pub of: Operand,
    /// The smaller number; default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<f64>,
    /// The larger number; default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<f64>,
}

/// Curves that differ by little.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Alike {
    /// The curves, at least two.
    pub of: Vec<Operand>,
    /// Maximum difference of two, relative to the second; default: 5 %.
    #[serde(default = "about")]
    pub within: Fraction,
}

/// A curve and others.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Comparison {
    /// The curve.
    pub of: Operand,
    /// The others.
    pub than: Vec<Operand>,
    /// Required advantage.
    #[serde(default)]
    pub by: Degree,
}

/// Advantage of one over another, relative to the other.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(
    rename_all = "kebab-case",
    expecting = "\"slightly\", \"clearly\" or a number, for example { at-least = 0.5 }"
)]
pub enum Degree {
    /// Any advantage above zero.
    #[default]
    Any,
    /// Less than 20 %: slightly, somewhat.
    Slightly,
    /// At least 20 %: clearly, much, vastly.
    Clearly,
    /// At least this: 1 is 100 %.
    AtLeast(f64),
}

/// Curves from the best to the worst.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Ranking {
    /// The curves, best first.
    pub of: Vec<Operand>,
}

/// A curve beside the best of others.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AlmostNothing {
    /// The curve.
    pub of: Operand,
    /// The others: at each point, the one with the largest mean counts.
    pub beside: Vec<Operand>,
    /// Maximum fraction of it; default: 5 %.
    #[serde(default = "about")]
    pub below: Fraction,
}

/// A curve along an axis.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Along {
    /// The curve.
    pub of: Operand,
    /// The axis.
    pub along: String,
}

/// A curve that is proportional to an axis.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Proportional {
    /// The curve.
    pub of: Operand,
    /// The axis.
    pub along: String,
    /// Maximum deviation of a point; default: 5 %.
    #[serde(default = "about")]
    pub within: Fraction,
}

/// A curve that bends: of the points between the first and the last, one lies furthest from the straight line between those.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Knee {
    /// The curve.
    pub of: Operand,
    /// The axis.
    pub along: String,
    /// The value of the axis at which it bends most.
    #[schemars(with = "serde_json::Value")]
    pub at: Value,
}

fn about() -> Fraction {
    Fraction::from_percent(5)
}

/// The cause of a difference, and the experiments that show it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cause<'a> {
    /// The list that the statement is in.
    pub list: &'static str,
    /// Its place in the list.
    pub index: usize,
    /// Its name.
    pub id: &'a str,
    /// The cause as text.
    pub words: Option<&'a str>,
    /// Names of statements and studies.
    pub shown_by: &'a [String],
}

impl<'a> Cause<'a> {
    fn of(
        list: &'static str,
        rows: impl Iterator<Item = (&'a String, &'a Option<String>, &'a Vec<String>)>,
    ) -> Vec<Self> {
        rows.enumerate()
            .filter(|(_, (_, words, shown_by))| words.is_some() || !shown_by.is_empty())
            .map(|(index, (id, words, shown_by))| Self {
                list,
                index,
                id,
                words: words.as_deref(),
                shown_by,
            })
            .collect()
    }

    /// Names of the studies among the experiments.
    pub fn studies(self) -> impl Iterator<Item = &'a str> {
        self.shown_by.iter().map(String::as_str).filter(|name| is_study(name))
    }
}

/// Whether an experiment is a whole study, not a statement about one.
fn is_study(name: &str) -> bool {
    name.ends_with(".toml")
}

impl Rule {
    /// The name in results.
    pub fn name(&self) -> &'static str {
        match self {
            Self::About(_) => "about",
            Self::Between(_) => "between",
            Self::Alike(_) => "alike",
            Self::Better(_) => "better",
            Self::Worse(_) => "worse",
            Self::Ranking(_) => "ranking",
            Self::AlmostNothing(_) => "almost-nothing",
            Self::Rises(_) => "rises",
            Self::Falls(_) => "falls",
            Self::Proportional(_) => "proportional",
            Self::Knee(_) => "knee",
        }
    }
}

impl Expectations {
    /// Reads a file of statements.
    ///
    /// # Errors
    /// A key or value is unknown, missing or of the wrong kind; the error says which and where.
    pub fn read(path: &Path) -> Result<Self, DocumentError> {
        Self::from_document(&Document::read(path)?)
    }

    /// Reads statements.
    ///
    /// # Errors
    /// As [`Expectations::read`].
    pub fn from_document(document: &Document) -> Result<Self, DocumentError> {
        let expectations: Self = document.decode(&[Layer::At(&[])])?;
        expectations.check(document)?;
        Ok(expectations)
    }
}

impl Expectations {
    /// Checks that names are unique, that conclusions rest on existing statements, and that every cause names experiments.
    fn check(&self, document: &Document) -> Result<(), DocumentError> {
        let names = self.names();
        for (number, (list, index, id)) in names.iter().enumerate() {
            if names[..number].iter().any(|(_, _, other)| other == id) {
                let path = [Step::Key(list), Step::Index(*index), Step::Key("id")];
                return Err(document.complain(&path, format!("there is another `{id}`")));
            }
        }
        let known = || names.iter().map(|(_, _, name)| *name);
        let missing = |id: &&String| !known().any(|name| name == id.as_str());
        for (index, conclusion) in self.conclusions.iter().enumerate() {
            if let Some(id) = conclusion.from.iter().find(missing) {
                let path = [Step::Key("conclusions"), Step::Index(index), Step::Key("from")];
                return Err(document.complain(&path, unknown("statement", id, known())));
            }
        }
        for cause in self.causes() {
            let path = [Step::Key(cause.list), Step::Index(cause.index), Step::Key("shown_by")];
            let mut ids = cause.shown_by.iter().filter(|name| !is_study(name));
            if let Some(id) = ids.find(missing) {
                return Err(document.complain(&path, unknown("statement", id, known())));
            }
            if cause.shown_by.iter().any(|id| id == cause.id) {
                let message = "a statement cannot be the experiment that shows its own cause";
                return Err(document.complain(&path, message));
            }
        }
        Ok(())
    }

    /// Names of all statements, in the order of the lists.
    pub fn ids(&self) -> Vec<&str> {
        self.names().into_iter().map(|(_, _, name)| name).collect()
    }

    /// Figures, tables and sections that statements are about, each once.
    pub fn figures(&self) -> Vec<&str> {
        let statements = self.statements.iter().map(|row| &row.figure);
        let calculations = self.calculations.iter().map(|row| &row.figure);
        let defaults = self.defaults.iter().map(|row| &row.figure);
        let not_run = self.not_run.iter().map(|row| &row.figure);
        let conclusions = self.conclusions.iter().map(|row| &row.figure);
        let all = statements.chain(calculations).chain(defaults).chain(not_run).chain(conclusions);
        let mut figures: Vec<&str> = Vec::new();
        for figure in all {
            if !figures.contains(&figure.as_str()) {
                figures.push(figure);
            }
        }
        figures
    }

    /// Every statement that has a cause or names experiments.
    pub fn causes(&self) -> Vec<Cause<'_>> {
        let rows = self.statements.iter().map(|row| (&row.id, &row.cause, &row.shown_by));
        let mut causes = Cause::of("statements", rows);
        let rows = self.calculations.iter().map(|row| (&row.id, &row.cause, &row.shown_by));
        causes.extend(Cause::of("calculations", rows));
        let rows = self.defaults.iter().map(|row| (&row.id, &row.cause, &row.shown_by));
        causes.extend(Cause::of("defaults", rows));
        let rows = self.conclusions.iter().map(|row| (&row.id, &row.cause, &row.shown_by));
        causes.extend(Cause::of("conclusions", rows));
        causes
    }

    /// List, place in it and name of every statement.
    fn names(&self) -> Vec<(&'static str, usize, &str)> {
        let statements = self.statements.iter().map(|row| row.id.as_str());
        let calculations = self.calculations.iter().map(|row| row.id.as_str());
        let defaults = self.defaults.iter().map(|row| row.id.as_str());
        let not_run = self.not_run.iter().map(|row| row.id.as_str());
        let conclusions = self.conclusions.iter().map(|row| row.id.as_str());
        let mut names: Vec<(&'static str, usize, &str)> = Vec::new();
        names.extend(statements.enumerate().map(|(index, id)| ("statements", index, id)));
        names.extend(calculations.enumerate().map(|(index, id)| ("calculations", index, id)));
        names.extend(defaults.enumerate().map(|(index, id)| ("defaults", index, id)));
        names.extend(not_run.enumerate().map(|(index, id)| ("not_run", index, id)));
        names.extend(conclusions.enumerate().map(|(index, id)| ("conclusions", index, id)));
        names
    }
}

/// JSON Schema of files of statements.
pub fn schema() -> Schema {
    let mut schema = SchemaGenerator::default().into_root_schema_for::<Expectations>();
    schema.insert("title".into(), "Statements about studies of Polypath".into());
    schema
}
