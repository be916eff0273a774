//! `polypath schema`.

mod keys;
mod pages;

use clap::ValueEnum;
use polypath_meter::document::{Document, StreamLine};

use crate::failure::Outcome;
use crate::output;

/// Arguments.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Editors with support for TOML complete and check files by their schema.

Examples:
  polypath schema scenario > scenario.schema.json
  polypath schema study > study.schema.json
  polypath schema scenario --markdown")]
pub(crate) struct Args {
    /// Kind of file, or of what the program prints
    #[arg(value_enum)]
    kind: Kind,
    /// Print the keys as tables in Markdown, with an anchor for each
    #[arg(long)]
    markdown: bool,
}

/// Kinds of files, and of what the program prints.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Kind {
    Scenario,
    Study,
    Statements,
    /// Where numbers of other tools belong (reference.toml)
    Comparisons,
    /// What `polypath meter --json` prints
    Measurement,
    /// A line of `polypath meter --json-stream`
    MeasurementLine,
}

/// Prints the schema.
pub(crate) fn run(args: &Args) -> Outcome {
    let schema = match args.kind {
        Kind::Scenario => polypath_sim::scenario::schema(),
        Kind::Study => polypath_lab::study::schema(),
        Kind::Statements => polypath_lab::verdict::schema(),
        Kind::Comparisons => polypath_lab::paper::schema(),
        Kind::Measurement => schemars::schema_for!(Document),
        Kind::MeasurementLine => schemars::schema_for!(StreamLine),
    };
    if args.markdown {
        let tables = keys::tables(schema.as_value());
        return output::print(pages::markdown(&tables).as_bytes());
    }
    output::print((serde_json::to_string_pretty(&schema)? + "\n").as_bytes())
}
