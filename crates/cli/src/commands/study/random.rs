//! `polypath study random`.

use std::num::{NonZeroU32, NonZeroUsize};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use anyhow::{Context, anyhow};
use clap::ValueEnum;
use polypath_lab::figure;
use polypath_lab::random::{
    Case, Found, Kind, Network, Numbers, PICTURE, Request, Sample, Way, hurt, picture, run_sample,
    summaries,
};
use polypath_units::ByteCount;
use serde_json::json;

use super::random_text;
use crate::counts;
use crate::failure::{Failure, Outcome};
use crate::figure_args::FigureArgs;
use crate::place::PlaceError;
use crate::progress::{Bar, ProgressArgs};
use crate::runtime::Threads;
use crate::seed;
use crate::table::Width;
use crate::{output, program, runtime};

/// The smallest and the largest file, in bytes.
const SIZES: std::ops::RangeInclusive<u64> = 1..=1_000_000_000;

/// Arguments.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Each network is run with all paths and with each path alone. The ratio is the result of all paths, divided by that of the
best single path, chosen with hindsight; for times, the ratio is inverted. Below 1, more paths hurt. With random losses, the
best of several single runs is partly the luckiest one: `--runs 10` compares means.

Network I of a seed does not depend on the other options. Finished runs in the directory are not repeated: an interrupted
sample resumes, and a larger one adds only its new networks and runs. docs/studies.md has the distributions of the networks.

Examples:
  polypath study random bulk --networks 100 --seed 1 --out sample
  polypath study random file --size '100 kB' --size '1 MB' --networks 50
  polypath study random requests voice --set sctp.policies.data_copies=off --out without-copies
  polypath study random bulk --seed 1 --network 7
  polypath study random bulk --seed 1 --network 7 --write-scenario > network-7.toml")]
pub(crate) struct Args {
    /// What is sent; several kinds make one sample
    #[arg(value_name = "KIND", required = true)]
    kinds: Vec<KindName>,
    /// Networks of each kind
    #[arg(long, value_name = "N", default_value = "100", value_parser = counts::parse::<NonZeroU32>)]
    networks: NonZeroU32,
    /// Runs of each network with all paths and with each alone, whose means are compared
    #[arg(long, value_name = "N", default_value = "1", value_parser = counts::parse::<NonZeroU32>)]
    runs: NonZeroU32,
    /// Seed that all networks are drawn from
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = seed::parse)]
    seed: u64,
    /// Length of files, for the kind `file`; repeatable; default: 10 kB, 100 kB, 1 MB and 10 MB
    #[arg(long, value_name = "SIZE", value_parser = file_size)]
    size: Vec<ByteCount>,
    /// Directory for results
    #[arg(long, value_name = "DIR", default_value = "random-results")]
    out: PathBuf,
    /// Change a value of every scenario, for all paths and for each alone; repeatable
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Threads; default: the number of processors
    #[arg(long, value_name = "N", value_parser = counts::parse::<NonZeroUsize>)]
    jobs: Option<NonZeroUsize>,
    /// Only the network of this number, from 1, with what each run measured
    #[arg(long, value_name = "I", conflicts_with = "networks", value_parser = counts::parse::<NonZeroU32>)]
    network: Option<NonZeroU32>,
    /// Print the scenario file of that network, with the commands for all paths and for each alone, and run nothing
    #[arg(long, requires = "network")]
    write_scenario: bool,
    #[command(flatten)]
    figures: FigureArgs,
    /// Print the summary as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    show: ProgressArgs,
}

/// Kinds on the command line. `help` cannot join the numbers and units of these texts, so they do it themselves.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum KindName {
    #[value(
        help = "As much as the paths carry: 0.2 to 1000\u{a0}Mbit/s, 0.1 to 400\u{a0}ms, two to four paths"
    )]
    Bulk,
    #[value(
        help = "The same in the range of docs/promise.md: two paths, 10 to 100\u{a0}Mbit/s, 0.1 to 200\u{a0}ms, loss up to 2\u{a0}%"
    )]
    Range,
    /// A file over networks like those of `bulk`
    File,
    /// Requests and responses, one after the other
    Requests,
    #[value(help = "64\u{a0}kbit/s in messages of 160\u{a0}B")]
    Voice,
    /// As much as two paths carry, one of which flaps, leaves, changes or is shared
    Changing,
}

fn file_size(text: &str) -> Result<ByteCount, String> {
    let size: ByteCount = text.parse().map_err(|error| format!("{error}"))?;
    match SIZES.contains(&size.as_bytes()) {
        true => Ok(size),
        false => Err("files have 1 B to 1 GB".into()),
    }
}

/// Runs the sample.
pub(crate) fn run(args: Args) -> Outcome {
    let kinds = kinds(&args.kinds, &args.size)?;
    let numbers = match args.network {
        Some(number) => Numbers::One(number.get()),
        None => Numbers::First(args.networks.get()),
    };
    let sample = Sample { kinds, numbers, runs: args.runs, seed: args.seed, edits: args.set };
    if args.write_scenario {
        return write_scenario(&sample);
    }
    let (out, json, jobs, show) = (args.out, args.json, args.jobs, args.show);
    let figures = args.figures;
    runtime::run(Threads::All, async |interruption| {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let start = Instant::now();
        let mut work = tokio::task::spawn_blocking(move || {
            let bar = Bar::new(show);
            let program = program::program();
            let request = Request { jobs, program, stop: &stopped, progress: &bar };
            let found = run_sample(&sample, &out, &request);
            bar.clear();
            (sample, out, found)
        });
        let ended = tokio::select! {
            result = &mut work => result,
            () = interruption.happened() => {
                stop.store(true, Ordering::Relaxed);
                output::tell(format_args!("finishing the runs in progress; interrupt again to discard them"));
                work.await
            }
        };
        let (sample, out, found) = ended.context("the work came to an unforeseen end")?;
        let found = found.map_err(PlaceError::into_failure)?;
        let Some(cases) = &found.cases else {
            output::tell(format_args!(
                "{} runs are kept in {}; the same command resumes",
                found.kept,
                out.display()
            ));
            return Err(Failure::Interrupted);
        };
        let took_s = start.elapsed().as_secs_f64();
        report(
            &Report { sample: &sample, out: &out, found: &found, cases, took_s },
            figures,
            json,
        )?;
        judge(&found)
    })
}

/// The kinds of the sample, each once.
fn kinds(names: &[KindName], sizes: &[ByteCount]) -> Result<Vec<Kind>, Failure> {
    if !sizes.is_empty() && !names.contains(&KindName::File) {
        return Err(Failure::usage(anyhow!("--size is for the kind `file`")));
    }
    let default = [10_000, 100_000, 1_000_000, 10_000_000].map(ByteCount::from_bytes);
    let sizes = if sizes.is_empty() { &default } else { sizes };
    let mut kinds = Vec::new();
    for name in names {
        let of_name = match name {
            KindName::Bulk => vec![Kind::Bulk],
            KindName::Range => vec![Kind::Range],
            KindName::File => sizes.iter().copied().map(Kind::File).collect(),
            KindName::Requests => vec![Kind::Requests],
            KindName::Voice => vec![Kind::Voice],
            KindName::Changing => vec![Kind::Changing],
        };
        for kind in of_name {
            if !kinds.contains(&kind) {
                kinds.push(kind);
            }
        }
    }
    Ok(kinds)
}

/// Prints the file of the only network.
fn write_scenario(sample: &Sample) -> Outcome {
    let networks = sample.networks();
    let [network] = networks.as_slice() else {
        let message = "one file has one network: name one kind, and one --size for files";
        return Err(Failure::usage(anyhow!(message)));
    };
    // Changes that make no scenario are found before anybody runs the file.
    network.scenario(Way::All, &sample.edits).map_err(Failure::usage)?;
    output::print(network.file(&file_name(network), &sample.edits).as_bytes())
}

fn file_name(network: &Network) -> String {
    let size = network.kind.size().map(|size| format!("-{}", size.as_bytes()));
    format!("{}{}-{}.toml", network.kind.name(), size.unwrap_or_default(), network.number)
}

/// What is reported.
struct Report<'a> {
    sample: &'a Sample,
    out: &'a Path,
    found: &'a Found,
    cases: &'a [Case],
    took_s: f64,
}

/// Prints what came out; draws it, if it is a whole sample.
fn report(report: &Report<'_>, figures: FigureArgs, json: bool) -> Outcome {
    let Report { sample, out, found, cases, took_s } = *report;
    let is_whole = matches!(sample.numbers, Numbers::First(_));
    let (lines, worst) = (summaries(&sample.kinds, cases), hurt(&sample.kinds, cases));
    let text = match (json, is_whole) {
        (true, _) => {
            let document = json!({
                "directory": out,
                "runs": found.runs,
                "new": found.new,
                "without_result": found.without_result,
                "failed": found.failed,
                "errors": found.errors,
                "summary": lines,
                "hurt": worst,
            });
            serde_json::to_string_pretty(&document)? + "\n"
        }
        (false, true) => {
            random_text::summary(found, &lines, &worst, (out, took_s), Width::of_output())?
        }
        (false, false) => random_text::networks(cases, Width::of_output())?,
    };
    output::answer(json, &text)?;
    if is_whole {
        let title = format!("Random networks, seed {}", sample.seed);
        let folder = out.join(figure::FOLDER);
        let written = figure::write(&picture(&title, &lines), &folder, PICTURE, figures.style())?;
        output::tell(format_args!("figure: {written}"));
    }
    Ok(())
}

/// Fails if something is without a result.
fn judge(found: &Found) -> Outcome {
    match (found.without_result, found.errors.first()) {
        (0, _) | (_, None) => Ok(()),
        (without, Some(error)) => Err(Failure::Failed(anyhow!(
            "{without} of {} runs have no result (column error), for example: {error}",
            found.runs
        ))),
    }
}
