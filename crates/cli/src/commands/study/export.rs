//! `polypath study export`.

use std::path::PathBuf;

use polypath_lab::results;

use crate::failure::Outcome;
use crate::output;
use crate::place::PlaceError;

/// Arguments.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  polypath study export results --csv tables")]
pub(crate) struct Args {
    /// Directory with results
    #[arg(value_name = "RESULTS")]
    results: PathBuf,
    /// Directory for runs.csv, series.csv and execution.csv
    #[arg(long, value_name = "DIR")]
    csv: PathBuf,
}

/// Writes the files, and says which.
pub(crate) fn run(args: &Args) -> Outcome {
    let files = results::export(&args.results, &args.csv).map_err(PlaceError::into_failure)?;
    let lines: Vec<String> = files.iter().map(|file| format!("{}\n", file.display())).collect();
    output::print(lines.concat().as_bytes())
}
