//! `polypath demo`.

use std::fmt::Write;
use std::path::PathBuf;

use polypath_sim::document::{Document, DocumentError};
use polypath_sim::{Form, RunResult, Scenario, Simulation};

use crate::commands::sim::timed;
use crate::failure::{Failure, Outcome};
use crate::figure_args::{FigureArgs, format};
use crate::picture::DemoPicture;
use crate::report::{count, rate};
use crate::seed;
use crate::table::{Table, Width};
use crate::{output, place};

/// Arguments.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  polypath demo
  polypath demo --out /tmp/picture.svg
  polypath demo --set 'sctp.receive_buffer=128 KiB'")]
pub(crate) struct Args {
    /// Where to write the picture; the ending (.svg, .pdf, .png) says the format
    #[arg(long, value_name = "FILE", default_value = "demo.svg")]
    out: PathBuf,
    #[command(flatten)]
    figures: FigureArgs,
    /// Seed of all random numbers
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = seed::parse)]
    seed: u64,
    /// Change a value of the scenario (scenarios/demo.toml); repeatable
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
}

/// One way to use the paths.
struct Variant {
    /// Name in table and picture.
    name: &'static str,
    /// What it does, in a few words.
    about: &'static str,
    /// Its difference from the scenario.
    edits: &'static [&'static str],
}

/// The ways that are compared.
const VARIANTS: [Variant; 3] = [
    Variant {
        name: "one path",
        about: "SCTP as in RFC 9260: data takes the primary path; the other path is a backup",
        edits: &["sctp.preset=rfc9260"],
    },
    Variant {
        name: "naive multipath",
        about: "data takes both paths; acknowledgements are interpreted as on one path",
        edits: &[
            "sctp.policies.fast_retransmit.split=off",
            "sctp.policies.cwnd_update=normal",
            "sctp.policies.delayed_ack.on_gap=immediate",
            "sctp.policies.delayed_ack.count=off",
        ],
    },
    Variant {
        name: "CMT",
        about: "both paths, with split fast retransmit, cwnd growth per path and delayed acks for CMT",
        edits: &[],
    },
];

const SCENARIO: &str = include_str!(env!("POLYPATH_DEMO"));

/// Runs all variants, prints a table and draws the picture.
pub(crate) fn run(args: &Args) -> Outcome {
    let scenario = read(&[], &args.set).map_err(Failure::usage)?;
    format(&args.out)?;
    place::check_file(&args.out)?;
    let mut results = Vec::new();
    for variant in &VARIANTS {
        let varied = read(variant.edits, &args.set).map_err(Failure::usage)?;
        let simulation =
            Simulation::with(&varied, args.seed, Form::Structured).map_err(Failure::usage)?;
        results.push(timed(simulation)?);
    }
    output::show(&table(&scenario, &results, Width::of_output())?)?;
    let drawing = picture(&scenario, &results).draw(args.figures.style());
    args.figures.write(&drawing, &args.out)?;
    output::print(format!("\nPicture: {}\n", args.out.display()).as_bytes())
}

/// The scenario with the edits of a variant and, on top, those of the user.
fn read(variant: &[&str], user: &[String]) -> Result<Scenario, DocumentError> {
    let mut document = Document::parse("scenarios/demo.toml", SCENARIO)?;
    for edit in variant.iter().copied().chain(user.iter().map(String::as_str)) {
        document.set(edit)?;
    }
    Scenario::from_document(&document)
}

fn table(
    scenario: &Scenario,
    results: &[RunResult],
    width: Width,
) -> Result<String, std::fmt::Error> {
    let mut out = String::new();
    writeln!(out, "{}: {}\n", scenario.title, path_names(scenario).join(", "))?;
    for variant in &VARIANTS {
        writeln!(out, "  {:<16} {}", variant.name, variant.about)?;
    }
    let paths = scenario.network.paths();
    let header: Vec<&str> = ["", "goodput"]
        .into_iter()
        .chain(paths.iter().map(|path| path.name.as_str()))
        .chain(["utilisation", "retransmitted", "spurious"])
        .collect();
    let rows = VARIANTS.iter().zip(results).map(|(variant, result)| {
        let by_path = paths.iter().map(|path| rate(goodput_on(result, &path.name)));
        let share = 100.0 * result.goodput_bit_s / ceiling_bit_s(scenario);
        let retransmitted = result
            .paths
            .iter()
            .map(|path| path.fast_retransmissions + path.timeout_retransmissions);
        let spurious = result.hosts.iter().map(|host| host.duplicate_chunks_received);
        [variant.name.to_owned(), rate(result.goodput_bit_s)]
            .into_iter()
            .chain(by_path)
            .chain([format!("{share:.1} %"), count(retransmitted.sum()), count(spurious.sum())])
            .collect()
    });
    out += &Table::new(&header, rows).text(width);
    Ok(out)
}

fn picture<'a>(scenario: &Scenario, results: &'a [RunResult]) -> DemoPicture<'a> {
    let paths = scenario.network.paths();
    let variant = |(variant, result): (&Variant, &'a RunResult)| {
        let by_path = paths.iter().map(|path| goodput_on(result, &path.name)).collect();
        (variant.name, result, by_path)
    };
    DemoPicture {
        title: "One path, naive multipath and concurrent multipath transfer (CMT)".to_owned(),
        paths: path_names(scenario),
        ceiling_bit_s: ceiling_bit_s(scenario),
        variants: VARIANTS.iter().zip(results).map(variant).collect(),
    }
}

/// Names of the paths with their rates and delays.
fn path_names(scenario: &Scenario) -> Vec<String> {
    let paths = scenario.network.paths().iter();
    paths
        .map(|path| format!("{} ({}, {})", path.name, path.bottleneck.rate, path.bottleneck.delay))
        .collect()
}

/// Goodput of a path in bit/s.
fn goodput_on(result: &RunResult, path: &str) -> f64 {
    result.paths.iter().filter(|p| p.name == path).map(|p| p.goodput_bit_s).sum()
}

/// User data that all bottlenecks together can carry, in bit/s, after the headers of each packet.
fn ceiling_bit_s(scenario: &Scenario) -> f64 {
    /// Headers of IPv4, SCTP and a DATA chunk.
    const HEADERS: u64 = 20 + 12 + 16;
    let message =
        scenario.traffic.iter().map(|flow| flow.sizes().mean_steps() as u64).max().unwrap_or(1);
    let mtu = scenario.sctp.iter().map(|sctp| sctp.mtu.as_bytes()).min().unwrap_or(1_500);
    let packets = message.div_ceil(mtu.saturating_sub(HEADERS).max(1));
    let paths = scenario.network.paths().iter();
    paths
        .map(|path| {
            let on_the_wire = message + packets * (HEADERS + path.bottleneck.framing.as_bytes());
            path.bottleneck.rate.as_bits_per_second() as f64 * message as f64 / on_the_wire as f64
        })
        .sum()
}
