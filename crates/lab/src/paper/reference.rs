//! Results of other tools for the same set-up, and the results of studies to which they correspond.

use std::collections::BTreeMap;
use std::path::Path;

use polypath_sim::document::{Document, DocumentError, Layer};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Deserialize;
use toml::Value;

use super::PaperError;
use crate::results::read_csv;
use crate::stats::Interval;
use crate::verdict::Operand;

/// File with the numbers: `figure,curve,x,unit,value,lower,upper,tool`.
const NUMBERS: &str = "reference.csv";
/// File that maps the numbers to studies.
const PLACES: &str = "reference.toml";

/// The numbers of other tools.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Reference {
    /// The numbers.
    pub claims: Vec<Claim>,
    /// The studies to which they correspond.
    pub comparisons: Vec<Comparison>,
}

/// A number of another tool.
#[derive(Clone, PartialEq, Debug)]
pub struct Claim {
    /// Figure and quantity.
    pub figure: String,
    /// Curve.
    pub curve: String,
    /// Place on the axes; empty if there is none.
    pub x: String,
    /// Unit of the number.
    pub unit: String,
    /// The number.
    pub value: f64,
    /// Its interval of 95 %; the number itself if the tool was run once.
    pub interval: Interval,
    /// The tool, with its version.
    pub tool: String,
}

/// The claims about a figure, and the study that measures the same here.
#[derive(Clone, PartialEq, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Comparison {
    /// The figure, as the claims name it.
    pub figure: String,
    /// File name of the study.
    pub study: String,
    /// Name of the measure; it must have the unit of the claims.
    pub measure: String,
    /// Axes whose values a claim has as `x`, in the order of the axes there, with `, ` between.
    #[serde(default)]
    pub x: Vec<String>,
    /// Values of other axes.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, serde_json::Value>")]
    pub at: BTreeMap<String, Value>,
    /// A curve by which each curve is divided, run by run. Omitted parts are those of the curve itself.
    #[serde(default)]
    pub divided_by: Option<Operand>,
    /// Our curves for those of the claims; default: variants of the same name.
    #[serde(default)]
    pub curves: BTreeMap<String, Operand>,
    /// Why numbers differ, if known, and which of the two is right.
    #[serde(default)]
    pub note: Option<String>,
}

/// The content of `reference.toml`.
#[derive(Clone, PartialEq, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Places {
    /// Where the claims of each figure belong.
    pub comparisons: Vec<Comparison>,
}

impl Places {
    /// Reads places.
    ///
    /// # Errors
    /// A key or value is unknown, missing or of the wrong kind; the error says which and where.
    pub fn from_document(document: &Document) -> Result<Self, DocumentError> {
        document.decode(&[Layer::At(&[])])
    }
}

/// JSON Schema of files of places.
pub fn schema() -> Schema {
    let mut schema = SchemaGenerator::default().into_root_schema_for::<Places>();
    schema.insert("title".into(), "Where numbers of other tools belong".into());
    schema
}

impl Reference {
    /// Reads the results of other tools of a paper; empty without a file.
    ///
    /// # Errors
    /// A file cannot be read or is invalid, or a number has no figure in `reference.toml`.
    pub fn read(folder: &Path) -> Result<Self, PaperError> {
        let path = folder.join(NUMBERS);
        if !path.exists() {
            return Ok(Self::default());
        }
        let text = std::fs::read_to_string(&path).map_err(PaperError::io(&path))?;
        let claims: Result<Vec<Claim>, PaperError> = read_csv(&text)
            .into_iter()
            .skip(1)
            .map(|(line, fields)| {
                let wrong = |message| PaperError::Reference { path: path.clone(), line, message };
                Claim::of(fields).map_err(wrong)
            })
            .collect();
        let places = Places::from_document(&Document::read(&folder.join(PLACES))?)?;
        let reference = Self { claims: claims?, comparisons: places.comparisons };
        for (index, claim) in reference.claims.iter().enumerate() {
            if reference.of(claim).is_none() {
                let message = format!("{PLACES} does not say where `{}` belongs", claim.figure);
                return Err(PaperError::Reference { path, line: index + 2, message });
            }
        }
        Ok(reference)
    }

    /// Where a claim belongs.
    pub fn of(&self, claim: &Claim) -> Option<&Comparison> {
        self.comparisons.iter().find(|comparison| comparison.figure == claim.figure)
    }
}

impl Claim {
    fn of(fields: Vec<String>) -> Result<Self, String> {
        let Ok([figure, curve, x, unit, value, lower, upper, tool]) =
            <[String; 8]>::try_from(fields)
        else {
            return Err("a line must have figure,curve,x,unit,value,lower,upper,tool".into());
        };
        let number =
            |text: &str| text.parse::<f64>().map_err(|_| format!("`{text}` is not a number"));
        let value = number(&value)?;
        let end = |text: &str| if text.is_empty() { Ok(value) } else { number(text) };
        let interval = Interval { low: end(&lower)?, high: end(&upper)? };
        Ok(Self { figure, curve, x, unit, value, interval, tool })
    }
}
