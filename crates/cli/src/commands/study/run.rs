//! `polypath study run`.

use std::num::{NonZeroU32, NonZeroUsize};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, anyhow};
use polypath_lab::figure::draw_all;
use polypath_lab::results::Dataset;
use polypath_lab::run::{
    Budget, Cost, Finish, Limits, Request, Shard, Sharing, Summary, check_names, cost, run_study,
};
use polypath_lab::study::{Extent, Reading, Study};
use polypath_units::Duration;

use super::{table, until};
use crate::commands::caps::CapArgs;
use crate::counts;
use crate::failure::{Failure, Outcome};
use crate::figure_args::FigureArgs;
use crate::kind::Kind;
use crate::place::PlaceError;
use crate::progress::{Bar, ProgressArgs};
use crate::runtime::Threads;
use crate::table::Width;
use crate::time::{duration, threads};
use crate::{output, program, runtime};

/// Arguments.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Finished runs in the directory are not repeated: an interrupted study resumes, and a study with more values or more runs
adds only the new ones.

Examples:
  polypath study run studies/asymmetry.toml --quick
  polypath study run studies/asymmetry.toml --out results --set 'sctp.receive_buffer=64 KiB'
  polypath study run studies/asymmetry.toml --out results --until-decided studies/asymmetry-expected.toml
  polypath study run studies/asymmetry.toml --out results --unit 3/100 --run-timeout '10 min'
  polypath study run studies/asymmetry.toml --out part1 --shard 1/2")]
pub(crate) struct Args {
    /// Study file
    #[arg(value_name = "STUDY.toml")]
    study: PathBuf,
    /// Directory for results; default: the name of the study
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Threads; default: the number of processors
    #[arg(long, value_name = "N", value_parser = counts::parse::<NonZeroUsize>)]
    jobs: Option<NonZeroUsize>,
    /// Fewer points and runs and shorter times, as set in the study
    #[arg(long)]
    quick: bool,
    /// Only part i of n parts, in a directory of its own; `polypath study merge` joins them
    #[arg(long, value_name = "I/N", default_value = "1/1")]
    shard: Shard,
    /// Only part i of n parts, in one directory for all: what each task of a job array calls. Any number of them may run at
    /// a time, on any machines; `polypath study merge DIR` writes the tables
    #[arg(long, value_name = "I/N", requires = "out", conflicts_with = "shard")]
    unit: Option<Shard>,
    #[command(flatten)]
    patience: Patience,
    /// Add runs where a statement about the study in this file is undecided, until all are decided
    #[arg(long, value_name = "STATEMENTS.toml", conflicts_with_all = ["unit", "shard", "dry_run"])]
    until_decided: Option<PathBuf>,
    #[command(flatten)]
    caps: CapArgs,
    /// Print how much there is to do, and exit
    #[arg(long)]
    dry_run: bool,
    /// Change a value of the scenario; repeatable
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
    #[command(flatten)]
    figures: FigureArgs,
    /// Print a summary as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    show: ProgressArgs,
}

/// How long runs may take, and how often they are tried.
#[derive(Debug, Clone, Copy, clap::Args)]
struct Patience {
    /// Longest time of a run, such as "10 min"; a longer one becomes a row without a result. Default: no limit
    #[arg(long, value_name = "TIME")]
    run_timeout: Option<Duration>,
    /// Maximum number of attempts for a run that crashes; each command attempts it once
    #[arg(long, value_name = "N", default_value = "3", value_parser = counts::parse::<NonZeroU32>)]
    attempts: NonZeroU32,
    /// How long runs in progress may continue after an interruption (SIGINT or SIGTERM) before they
    /// are aborted
    #[arg(long, value_name = "TIME", default_value = "20 s")]
    grace: Duration,
}

/// Runs the study.
pub(crate) fn run(args: Args) -> Outcome {
    let extent = if args.quick { Extent::Quick } else { Extent::Full };
    let reading = Reading { extent, edits: &args.set };
    Kind::Study.expect(&args.study)?;
    let study = Study::read(&args.study, reading).map_err(Failure::usage)?;
    for (point, variant) in study.sample() {
        study.scenario(&study.points().at(point), variant).map_err(Failure::usage)?;
    }
    check_names(&study).map_err(Failure::usage)?;
    let out = match &args.out {
        Some(out) => out.clone(),
        None => default_out(&args.study, args.quick)?,
    };
    let (shard, sharing) = match args.unit {
        Some(unit) => (unit, Sharing::Shared),
        None => (args.shard, Sharing::Alone),
    };
    if args.dry_run {
        let cost = cost(&study, &out, shard)?;
        let jobs = args.jobs.or_else(|| std::thread::available_parallelism().ok());
        return output::answer(args.json, &cost_text(&cost, jobs, args.json)?);
    }
    let (study, statements) = match &args.until_decided {
        None => (study, None),
        Some(file) => {
            let statements = until::statements(file, &args.study, &study)?;
            (study.until_decided(), Some(statements))
        }
    };
    tell_replaced(&study, &out);
    let (json, grace, figures) = (args.json, args.patience.grace, args.figures);
    runtime::run(Threads::All, async |interruption| {
        let flags = Arc::new([AtomicBool::new(false), AtomicBool::new(false)]);
        let seen = Arc::clone(&flags);
        let mut work = tokio::task::spawn_blocking(move || {
            let bar = Bar::new(args.show);
            let [stop, abandon] = &*seen;
            let budget = args.caps.budget();
            let request = Request {
                jobs: args.jobs,
                shard,
                sharing,
                limits: args.patience.limits(abandon, budget.as_ref()),
                at_least: &[],
                program: program::program(),
                test_bed: Some(program::test_bed()),
                stop,
                progress: &bar,
            };
            let summary = match &statements {
                None => run_study(&study, &out, &request).map_err(PlaceError::into_failure),
                Some(statements) => until::run(&study, statements, &out, &request, args.caps),
            };
            bar.clear();
            summary
        });
        let summary = tokio::select! {
            result = &mut work => result,
            () = interruption.happened() => {
                let [stop, abandon] = &*flags;
                stop.store(true, Ordering::Relaxed);
                output::tell(format_args!(
                    "finishing the runs in progress, for {grace} at most; interrupt again to discard them"
                ));
                tokio::select! {
                    result = &mut work => result,
                    () = tokio::time::sleep(grace.into()) => {
                        abandon.store(true, Ordering::Relaxed);
                        work.await
                    }
                }
            }
        };
        let summary = summary.context("the work came to an unforeseen end")??;
        tell_programs(&summary);
        match summary.finish {
            Finish::Complete if sharing == Sharing::Shared => report_unit(&summary, shard, json),
            Finish::Complete if shard.is_whole() => report(&summary, figures, json),
            Finish::Complete => report_part(&summary, json),
            Finish::Exhausted => Err(Failure::Failed(anyhow!(
                "the budget was used up before the first runs of all configurations were done; the same command resumes"
            ))),
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

/// Says it if the directory has the tables of another study.
fn tell_replaced(study: &Study, directory: &Path) {
    let of_before = Study::read(&directory.join("study.toml"), Reading::default());
    if let Ok(before) = of_before.as_ref().map(Study::title)
        && before != study.title()
    {
        output::tell(format_args!(
            "{} has tables of the study `{before}`: they will be replaced; its runs stay in the journal",
            directory.display()
        ));
    }
}

/// Prints what came out, draws it, and fails if something is without a result.
pub(super) fn report(summary: &Summary, figures: FigureArgs, json: bool) -> Outcome {
    print(summary, &Dataset::read(&summary.directory)?, json)?;
    for figure in draw_all(&summary.directory, figures.style())? {
        output::tell(format_args!("figure: {figure}"));
    }
    judge(summary)
}

/// The same for a unit, which has no tables.
fn report_unit(summary: &Summary, unit: Shard, json: bool) -> Outcome {
    if json {
        output::print((serde_json::to_string_pretty(summary)? + "\n").as_bytes())?;
    } else {
        output::tell(format_args!(
            "unit {unit} is done: {} runs, {} of them new; `polypath study merge {}` writes the tables",
            summary.rows,
            summary.new,
            summary.directory.display()
        ));
    }
    judge(summary)
}

/// Says it if revisions of the program are mixed.
pub(super) fn tell_programs(summary: &Summary) {
    if summary.programs.len() > 1 {
        output::tell(format_args!(
            "runs are of {} revisions of the program: {}; results are comparable only if nothing that matters changed between them",
            summary.programs.len(),
            summary.programs.join(", ")
        ));
    }
}

impl Patience {
    fn limits<'a>(self, abandon: &'a AtomicBool, budget: Option<&'a Budget>) -> Limits<'a> {
        Limits {
            run_timeout: self.run_timeout.map(Into::into),
            attempts: self.attempts,
            abandon: Some(abandon),
            budget,
        }
    }
}

/// The same for a part of a study: it may lack what a picture needs, so that pictures wait for the other parts.
fn report_part(summary: &Summary, json: bool) -> Outcome {
    let data = Dataset::read(&summary.directory)?;
    print(summary, &data, json)?;
    if !data.study().figures().is_empty() {
        output::tell(format_args!("`polypath study merge` draws the figures, from all parts"));
    }
    judge(summary)
}

fn print(summary: &Summary, data: &Dataset, json: bool) -> Outcome {
    let text = match json {
        true => serde_json::to_string_pretty(summary)? + "\n",
        false => table::summary(data, summary, Width::of_output())?,
    };
    output::answer(json, &text)
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
