//! `polypath check`.

use std::path::{Path, PathBuf};

use polypath_lab::figure::check_selections;
use polypath_lab::paper::Places;
use polypath_lab::run::check_names;
use polypath_lab::study::{Extent, Reading, Study};
use polypath_lab::verdict::Expectations;
use polypath_sim::Scenario;
use polypath_sim::document::{Document, DocumentError};

use crate::failure::{Failure, Outcome};
use crate::kind::Kind;
use crate::output;

/// Arguments.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  polypath check scenarios/demo.toml
  polypath check studies/asymmetry.toml
  polypath check studies/asymmetry-expected.toml")]
pub(crate) struct Args {
    /// Scenario, study, statements or comparisons
    #[arg(value_name = "FILE.toml")]
    file: PathBuf,
}

/// Reads the file as a run would, and prints what it is.
pub(crate) fn run(args: &Args) -> Outcome {
    let text = check(&args.file).map_err(Failure::usage)?;
    output::print(format!("{}: {text}\n", args.file.display()).as_bytes())
}

fn check(path: &Path) -> Result<String, DocumentError> {
    let document = Document::read(path)?;
    match Kind::of(&document) {
        Kind::Statements => statements(path, &document),
        Kind::Comparisons => {
            let comparisons = Places::from_document(&document)?.comparisons;
            Ok(number(comparisons.len(), "comparison"))
        }
        Kind::Study => study(path),
        Kind::Scenario => scenario(&document),
    }
}

fn statements(path: &Path, document: &Document) -> Result<String, DocumentError> {
    let expectations = Expectations::from_document(document)?;
    expectations.check_studies(document, path.parent().unwrap_or(Path::new("")))?;
    Ok(number(expectations.ids().len(), "statement"))
}

fn study(path: &Path) -> Result<String, DocumentError> {
    let mut sentences = Vec::new();
    for (extent, what) in [(Extent::Full, "study"), (Extent::Quick, "with --quick")] {
        let study = Study::read(path, Reading { extent, edits: &[] })?;
        for (point, variant) in study.sample() {
            study.scenario(&study.points().at(point), variant)?;
        }
        if extent == Extent::Full {
            check_selections(&study)?;
        }
        check_names(&study)?;
        let points = number(study.points().len(), "point");
        let variants = number(study.variants().len(), "variant");
        sentences.push(format!("{what} of {points} and {variants}"));
    }
    Ok(sentences.join("; "))
}

fn scenario(document: &Document) -> Result<String, DocumentError> {
    let scenario = Scenario::from_document(document)?;
    let flows = number(scenario.traffic.len(), "flow");
    Ok(match scenario.network.paths().len() {
        0 => {
            let pairs = 0..scenario.pairs.len();
            let associations = pairs.filter(|pair| scenario.has_association(*pair)).count();
            let hosts = number(scenario.network.hosts().len(), "host");
            format!("scenario with {hosts}, {} and {flows}", number(associations, "association"))
        }
        paths => format!("scenario with {} and {flows}", number(paths, "path")),
    })
}

/// A number with its noun.
fn number(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}
