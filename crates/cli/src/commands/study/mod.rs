//! `polypath study`.

mod export;
mod judge;
mod merge;
mod random;
mod random_text;
mod run;
mod status;
mod submit;
mod table;
mod until;

use clap::Subcommand;

use crate::failure::Outcome;

/// Arguments.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  polypath study run studies/asymmetry.toml --quick
  polypath study run studies/asymmetry.toml --out results --jobs 2
  polypath study run studies/asymmetry.toml --dry-run
  polypath study run studies/asymmetry.toml --out part1 --shard 1/2
  polypath study run studies/asymmetry.toml --out results --unit 3/100
  polypath study submit studies/asymmetry.toml --out results --slurm --tasks 100 --time 2:00:00
  polypath study status results
  polypath study merge results
  polypath study merge part1 part2 --out results
  polypath study export results --csv tables
  polypath study judge studies/asymmetry-expected.toml results
  polypath study random bulk voice --networks 100 --seed 1 --out sample")]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
enum Command {
    /// Run what a study still lacks
    Run(run::Args),
    /// Submit a study to a batch system: a job array, and a job that joins its results
    Submit(submit::Args),
    /// Show the progress of a study: runs done and failed, rate, machines, time left
    Status(status::Args),
    /// Join the results of units or shards, and write the tables
    Merge(merge::Args),
    /// Write results as CSV
    Export(export::Args),
    /// Judge statements by the results of a study
    Judge(judge::Args),
    /// Run random networks with all paths and with each path alone, and compare
    Random(random::Args),
}

/// Does it.
pub(crate) fn run(args: Args) -> Outcome {
    match args.command {
        Command::Run(args) => run::run(args),
        Command::Submit(args) => submit::run(&args),
        Command::Status(args) => status::run(&args),
        Command::Merge(args) => merge::run(&args),
        Command::Export(args) => export::run(&args),
        Command::Judge(args) => judge::run(&args),
        Command::Random(args) => random::run(args),
    }
}
