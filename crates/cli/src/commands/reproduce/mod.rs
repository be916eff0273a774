//! `polypath reproduce`.

mod list;
mod open;
mod papers;
mod table;
mod watch;

use std::num::{NonZeroU32, NonZeroUsize};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, anyhow};
use polypath_lab::paper::{Paper, Target};
use polypath_lab::report::Written;
use polypath_lab::reproduce::{Answer, Order, PaperReport, Report, UntilDecided, costs, reproduce};
use polypath_lab::run::{Budget, Shard, TestBed};
use polypath_lab::study::Extent;

use crate::commands::caps::CapArgs;
use crate::counts;
use crate::failure::{Failure, Outcome};
use crate::figure_args::FigureArgs;
use crate::place::PlaceError;
use crate::progress::{Bar, ProgressArgs};
use crate::runtime::Threads;
use crate::table::Width;
use crate::{output, program, runtime};
use watch::Watcher;

/// Arguments.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Finished runs are kept in the directory for results: the same command resumes, and no run is repeated.
A statement that differs is a result, not a failure; with --strict it is a failure unless its cause is documented.
Papers are read from --papers, else from `papers` in the current directory, else from the program's built-in copy.

Examples:
  polypath reproduce list
  polypath reproduce list --markdown
  polypath reproduce iyengar/4a
  sudo polypath reproduce dreibholz-model/8-right
  polypath reproduce dreibholz-asymmetric --json > verdicts.json
  polypath reproduce all --full --dry-run
  polypath reproduce natarajan/9 --until-decided --budget 0.5
  polypath reproduce natarajan --full --runs 8 --until-decided
  polypath reproduce all --full --out part1 --shard 1/2
  polypath reproduce all --full --out joined --merge part1 --merge part2")]
pub(crate) struct Args {
    /// `list`, `all`, PAPER, PAPER/FIGURE or PAPER/STATEMENT
    #[arg(value_name = "TARGET")]
    target: String,
    #[command(flatten)]
    form: Form,
    /// Runs of each configuration, in place of what the studies say; with --until-decided the first
    /// ones. A deterministic study keeps one run
    #[arg(long, value_name = "N", value_parser = counts::parse::<NonZeroU32>)]
    runs: Option<NonZeroU32>,
    #[command(flatten)]
    added: Added,
    /// Directory for results; default: `reproduction-quick` or `reproduction-full`
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    #[command(flatten)]
    figures: FigureArgs,
    /// Print everything as JSON
    #[arg(long)]
    json: bool,
    /// With `list`: print the recorded verdicts as a table in Markdown
    #[arg(long, conflicts_with = "json")]
    markdown: bool,
    /// Threads; default: the number of processors
    #[arg(long, value_name = "N", value_parser = counts::parse::<NonZeroUsize>)]
    jobs: Option<NonZeroUsize>,
    /// Only part i of n parts of the runs, for job arrays; --merge joins them and judges
    #[arg(long, value_name = "I/N", default_value = "1/1")]
    shard: Shard,
    /// Take over the runs of another directory with results; repeatable
    #[arg(long, value_name = "DIR")]
    merge: Vec<PathBuf>,
    /// Print how much there is to do, and exit
    #[arg(long)]
    dry_run: bool,
    /// Directory with papers
    #[arg(long, value_name = "DIR")]
    papers: Option<PathBuf>,
    #[command(flatten)]
    end: End,
}

/// Extent of each study.
#[derive(Debug, Clone, Copy, clap::Args)]
struct Form {
    /// Few runs, fewer points and short times, by the same rules (the default)
    #[arg(long, conflicts_with = "full")]
    quick: bool,
    /// As many runs as the confidence intervals need; takes hours
    #[arg(long)]
    full: bool,
    /// Also figures that are measured in real time, on links shaped by the kernel; needs root. Not
    /// needed for a figure given by name
    #[arg(long)]
    real: bool,
}

/// Runs in addition to those that the studies specify.
#[derive(Debug, Clone, Copy, clap::Args)]
struct Added {
    /// Add runs where a statement is undecided, until all are decided
    #[arg(long, conflicts_with_all = ["shard", "dry_run"])]
    until_decided: bool,
    #[command(flatten)]
    caps: CapArgs,
}

/// What to do with the verdicts.
#[derive(Debug, Clone, Copy, clap::Args)]
struct End {
    /// Open the report in a browser, if there is a display
    #[arg(long)]
    open: bool,
    /// Fail if a statement differs without a known cause
    #[arg(long)]
    strict: bool,
    /// Record the verdicts next to the statements of the papers, in `verdicts.csv`; verdicts from
    /// more runs are kept
    #[arg(long)]
    record: bool,
    #[command(flatten)]
    show: ProgressArgs,
}

/// Runs, judges and writes.
pub(crate) fn run(args: Args) -> Outcome {
    if let Some(other) = args.merge.iter().find(|other| !other.is_dir()) {
        return Err(Failure::usage(anyhow!(
            "--merge {}: there is no such directory with results",
            other.display()
        )));
    }
    let extent = if args.form.full { Extent::Full } else { Extent::Quick };
    let name = if args.form.full { "reproduction-full" } else { "reproduction-quick" };
    let out = args.out.clone().unwrap_or_else(|| PathBuf::from(name));
    // Commands that only read write nothing.
    let aside = tempfile::tempdir()?;
    let looks = args.dry_run || args.target == "list";
    let (mut papers, mut folder) = papers::read(args.papers.as_deref(), aside.path())?;
    if args.target == "list" {
        return if args.markdown { list::recorded(&papers) } else { list::run(&papers, args.json) };
    }
    let target: Target =
        args.target.parse().map_err(|error: String| Failure::usage(anyhow!(error)))?;
    target.among(&papers).map_err(|error| Failure::usage(anyhow!(error)))?;
    if !looks && folder.starts_with(aside.path()) {
        // Where everybody can read and change them, now that there is something to do.
        (papers, folder) = papers::read(None, &out)?;
    }
    if !args.form.full && !args.form.quick && !args.dry_run && !args.end.show.is_quiet() {
        output::tell(format_args!(
            "the quick form; --full makes enough runs for narrow confidence intervals"
        ));
    }
    if !args.end.show.is_quiet() {
        output::tell(format_args!("papers in {}, results in {}", folder.display(), out.display()));
    }
    if args.dry_run {
        return dry_run(&args, &papers, &target, extent, &out);
    }
    let (json, end) = (args.json, args.end);
    let (report, written) = work(args, papers, target, extent, out)?;
    tell(&report, &written, json)?;
    if end.open && report.complete && report.shard.is_none() {
        open::open(&written.first);
    }
    outcome(&report, end.strict)
}

/// The request to the library.
fn order<'a>(
    args: &'a Args,
    papers: &'a [Paper],
    target: &'a Target,
    (extent, out): (Extent, &'a Path),
    (stop, budget): (&'a AtomicBool, Option<&'a Budget>),
    watcher: &'a Watcher,
) -> Order<'a> {
    Order {
        papers,
        target,
        extent,
        runs: args.runs,
        until_decided: args
            .added
            .until_decided
            .then(|| UntilDecided { caps: args.added.caps.caps(), budget }),
        out,
        figure_style: args.figures.style(),
        merge: &args.merge,
        shard: args.shard,
        jobs: args.jobs,
        program: program::program(),
        test_bed: test_bed(args, target),
        stop,
        progress: watcher,
    }
}

/// What runs studies in real time, if requested.
fn test_bed(args: &Args, target: &Target) -> Option<&'static dyn TestBed> {
    let is_named = matches!(target, Target::Figure { .. });
    (args.form.real || is_named).then(program::test_bed)
}

fn dry_run(args: &Args, papers: &[Paper], target: &Target, extent: Extent, out: &Path) -> Outcome {
    let (stop, watcher) = (AtomicBool::new(false), Watcher(Bar::new(args.end.show)));
    let costs = costs(&order(args, papers, target, (extent, out), (&stop, None), &watcher))?;
    let jobs = args.jobs.or_else(|| std::thread::available_parallelism().ok());
    let text = if args.json {
        serde_json::to_string_pretty(&costs)? + "\n"
    } else {
        table::costs(&costs, jobs, Width::of_output())?
    };
    output::answer(args.json, &text)
}

/// Runs on separate threads until it is done or interrupted.
fn work(
    args: Args,
    papers: Vec<Paper>,
    target: Target,
    extent: Extent,
    out: PathBuf,
) -> Result<(Report, Written), Failure> {
    runtime::run(Threads::All, async move |interruption| {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let mut work = tokio::task::spawn_blocking(move || {
            let watcher = Watcher(Bar::new(args.end.show));
            let budget = args.added.caps.budget();
            let stop = (&*stopped, budget.as_ref());
            let order = order(&args, &papers, &target, (extent, &out), stop, &watcher);
            let report = reproduce(&order);
            watcher.0.clear();
            let report = report.map_err(PlaceError::into_failure)?;
            // A part has no verdicts, and what is unfinished will be written when it is done.
            let whole = report.complete && report.shard.is_none();
            let written = if whole {
                report.write(&target, &papers, &out).map_err(PlaceError::into_failure)?
            } else {
                Written::default()
            };
            if whole && args.end.record {
                report.record(&papers)?;
            }
            Ok((report, written))
        });
        let result = tokio::select! {
            result = &mut work => result,
            () = interruption.happened() => {
                stop.store(true, Ordering::Relaxed);
                output::tell(format_args!("finishing the runs in progress; interrupt again to discard them"));
                work.await
            }
        };
        result.context("the work came to an unforeseen end")?
    })
}

/// Prints the results, and where the report is.
fn tell(report: &Report, written: &Written, json: bool) -> Outcome {
    if json {
        output::print((serde_json::to_string_pretty(report)? + "\n").as_bytes())?;
    } else if report.shard.is_none() && report.complete {
        output::show(&table::verdicts(report, Width::of_output())?)?;
    }
    if let Some(shard) = &report.shard {
        output::tell(format_args!("part {shard} is done; --merge with the others gives verdicts"));
    } else if report.complete {
        output::tell(format_args!("report: {}", written.first.display()));
    }
    Ok(())
}

/// How the command ends: runs without a result are a failure, with `--strict` surprises are one, and where all that was
/// asked for takes what the machine lacks, that is said with the exit code, too.
fn outcome(report: &Report, strict: bool) -> Outcome {
    if let [PaperReport { left_out, studies, .. }] = &report.papers[..]
        && let ([left], []) = (&left_out[..], &studies[..])
    {
        return Err(Failure::Unfit(anyhow!("{}: {}", left.study, left.error)));
    }
    if !report.complete {
        output::tell(format_args!("finished runs are kept; the same command resumes"));
        return Err(Failure::Interrupted);
    }
    let errors = report.errors();
    if !errors.is_empty() {
        return Err(Failure::Failed(anyhow!(errors.join("\n"))));
    }
    let rows = report.papers.iter().flat_map(|paper| &paper.statements);
    let surprises: Vec<&str> = rows
        .filter(|row| row.verdict == Answer::Differs && row.cause.is_none())
        .map(|row| row.id.as_str())
        .collect();
    if strict && !surprises.is_empty() {
        let message = format!("without a known cause differ: {}", surprises.join(", "));
        return Err(Failure::Failed(anyhow!(message)));
    }
    Ok(())
}
