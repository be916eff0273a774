//! `polypath study run`.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, anyhow};
use polypath_lab::figure::draw_all;
use polypath_lab::results::Dataset;
use polypath_lab::run::{Cost, Finish, Request, Shard, Summary, check_names, cost, run_study};
use polypath_lab::study::{Extent, Reading, Study};

use super::table;
use crate::failure::{Failure, Outcome};
use crate::kind::Kind;
use crate::place::PlaceError;
use crate::progress::Bar;
use crate::runtime::Threads;
use crate::time::{duration, threads};
use crate::{output, program, runtime};

/// Arguments.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Runs that are in the directory already are not repeated: an interrupted study resumes, and a study with more values or
more runs makes what is new.

Examples:
  polypath study run studies/asymmetry.toml --quick
  polypath study run studies/asymmetry.toml --out results --set 'sctp.receive_buffer=64 KiB'
  polypath study run studies/asymmetry.toml --out part1 --shard 1/2")]
pub(crate) struct Args {
    /// Study file
    #[arg(value_name = "STUDY.toml")]
    study: PathBuf,
    /// Directory for results; default: the name of the study
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Threads; default: the number of processors
    #[arg(long, value_name = "N")]
    jobs: Option<NonZeroUsize>,
    /// Fewer points and runs and a shorter time, as the study says
    #[arg(long)]
    quick: bool,
    /// Only part i of n parts, for job arrays; `polypath study merge` joins them
    #[arg(long, value_name = "I/N", default_value = "1/1")]
    shard: Shard,
    /// Say how much there is to do, and do nothing
    #[arg(long)]
    dry_run: bool,
    /// Change a value of the scenario; can be given again
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Print a summary as JSON
    #[arg(long)]
    json: bool,
}

/// Runs the study.
pub(crate) fn run(args: Args) -> Outcome {
    let extent = if args.quick { Extent::Quick } else { Extent::Full };
    let reading = Reading { extent, edits: &args.set };
    Kind::Study.expect(&args.study)?;
    let study = Study::read(&args.study, reading).map_err(Failure::usage)?;
    for (point, variant) in study.sample() {
        study.scenario(&study.points()[point], variant).map_err(Failure::usage)?;
    }
    check_names(&study).map_err(Failure::usage)?;
    let out = match &args.out {
        Some(out) => out.clone(),
        None => default_out(&args.study, args.quick)?,
    };
    if args.dry_run {
        let cost = cost(&study, &out, args.shard)?;
        let jobs = args.jobs.or_else(|| std::thread::available_parallelism().ok());
        return output::print(cost_text(&cost, jobs, args.json)?.as_bytes());
    }
    let (json, shard) = (args.json, args.shard);
    runtime::run(Threads::All, async |interruption| {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let mut work = tokio::task::spawn_blocking(move || {
            let bar = Bar::new();
            let request = Request {
                jobs: args.jobs,
                shard: args.shard,
                program: program::program(),
                test_bed: Some(program::test_bed()),
                stop: &stopped,
                progress: &bar,
            };
            let summary = run_study(&study, &out, &request);
            bar.clear();
            summary
        });
        let summary = tokio::select! {
            result = &mut work => result,
            () = interruption.happened() => {
                stop.store(true, Ordering::Relaxed);
                output::tell(format_args!("finishing the runs in progress; interrupt again to discard them"));
                work.await
            }
        };
        let summary = summary
            .context("the work came to an unforeseen end")?
            .map_err(PlaceError::into_failure)?;
        match summary.finish {
            Finish::Complete if shard.is_whole() => report(&summary, json),
            Finish::Complete => report_part(&summary, json),
            Finish::Interrupted => {
                let kept = summary.known + summary.new;
                output::tell(format_args!(
                    "{kept} runs are kept in {}; the same command resumes",
                    summary.directory.display()
                ));
                Err(Failure::Interrupted)
            }
        }
    })
}

/// Prints what came out, draws it, and fails if something is without a result.
pub(super) fn report(summary: &Summary, json: bool) -> Outcome {
    print(summary, &Dataset::read(&summary.directory)?, json)?;
    for file in draw_all(&summary.directory)? {
        output::tell(format_args!("picture: {}", file.display()));
    }
    judge(summary)
}

/// The same for a part of a study: it may lack what a picture needs, so that pictures wait for the other parts.
fn report_part(summary: &Summary, json: bool) -> Outcome {
    let data = Dataset::read(&summary.directory)?;
    print(summary, &data, json)?;
    if !data.study().figures().is_empty() {
        output::tell(format_args!("pictures are drawn by `polypath study merge`, from all parts"));
    }
    judge(summary)
}

fn print(summary: &Summary, data: &Dataset, json: bool) -> Outcome {
    let text = match json {
        true => serde_json::to_string_pretty(summary)? + "\n",
        false => table::summary(data, summary)?,
    };
    output::print(text.as_bytes())
}

/// Fails if something is without a result.
fn judge(summary: &Summary) -> Outcome {
    let without: usize = summary
        .statuses
        .iter()
        .filter(|(status, _)| !status.has_results())
        .map(|(_, count)| count)
        .sum();
    match (without, summary.errors.first()) {
        (0, _) | (_, None) => Ok(()),
        (without, Some(error)) => Err(Failure::Failed(anyhow!(
            "{without} of {} runs have no result (column error), for example: {error}",
            summary.rows
        ))),
    }
}

/// The name of the study, here.
fn default_out(study: &Path, quick: bool) -> Result<PathBuf, Failure> {
    let stem = study.file_stem().ok_or_else(|| Failure::usage(anyhow!("a study is a file")))?;
    let mut name = stem.to_owned();
    name.push(if quick { "-quick" } else { "-results" });
    Ok(PathBuf::from(name))
}

fn cost_text(cost: &Cost, jobs: Option<NonZeroUsize>, json: bool) -> anyhow::Result<String> {
    if json {
        return Ok(serde_json::to_string_pretty(cost)? + "\n");
    }
    let jobs = jobs.map_or(1, NonZeroUsize::get);
    let (most, most_time) = match cost.most_runs > cost.runs {
        true => (
            format!(" at least, {} at most", cost.most_runs),
            format!(", {} at most,", duration(cost.most_time_s(jobs))),
        ),
        false => (String::new(), String::new()),
    };
    Ok(format!(
        "runs            {}{most}; {} are done\n\
         simulated time  {:.0} s\n\
         data packets    about {:.3} million\n\
         time            about {}{most_time} on {}\n",
        cost.runs,
        cost.done,
        cost.simulated_s,
        cost.packets / 1e6,
        duration(cost.time_s(jobs)),
        threads(cost, jobs),
    ))
}
