//! `polypath study merge`.

use std::path::PathBuf;

use polypath_lab::run;

use super::run::report;
use crate::failure::Outcome;
use crate::place::PlaceError;

/// Arguments.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  polypath study merge part1 part2 part3 --out results")]
pub(crate) struct Args {
    /// Directories with the results of all shards
    #[arg(value_name = "DIR", required = true)]
    shards: Vec<PathBuf>,
    /// Directory for the joined results
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Print a summary as JSON
    #[arg(long)]
    json: bool,
}

/// Joins them.
pub(crate) fn run(args: &Args) -> Outcome {
    let summary = run::merge(&args.shards, &args.out).map_err(PlaceError::into_failure)?;
    report(&summary, args.json)
}
