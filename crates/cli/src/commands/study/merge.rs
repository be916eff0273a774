//! `polypath study merge`.

use std::path::PathBuf;

use anyhow::anyhow;
use polypath_lab::run;

use super::run::{report, tell_programs};
use crate::failure::{Failure, Outcome};
use crate::figure_args::FigureArgs;
use crate::place::PlaceError;

/// Arguments.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  polypath study merge results                      what units made in one directory
  polypath study merge part1 part2 --out results    shards with directories of their own")]
pub(crate) struct Args {
    /// The directory in which units were made, or the directories of all shards
    #[arg(value_name = "DIR", required = true)]
    shards: Vec<PathBuf>,
    /// Directory for the joined results; default: the directory itself, if there is only one
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    #[command(flatten)]
    figures: FigureArgs,
    /// Print a summary as JSON
    #[arg(long)]
    json: bool,
}

/// Joins them.
pub(crate) fn run(args: &Args) -> Outcome {
    let summary = match (&args.shards[..], &args.out) {
        ([only], None) => run::gather(only),
        ([only], Some(out)) if only == out => run::gather(only),
        (_, None) => {
            return Err(Failure::usage(anyhow!(
                "of several directories, --out says where the joined results go"
            )));
        }
        (shards, Some(out)) => run::merge(shards, out),
    };
    let summary = summary.map_err(PlaceError::into_failure)?;
    tell_programs(&summary);
    report(&summary, args.figures, args.json)
}
