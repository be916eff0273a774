//! `polypath sim`.

use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, anyhow};
use polypath_lab::results::make_directory;
use polypath_sim::{Form, NetworkMap, RunResult, Scenario, Simulation};

use crate::failure::{Failure, Outcome};
use crate::figure_args::{FigureArgs, format};
use crate::kind::Kind;
use crate::place::Before;
use crate::qlog::QlogArgs;
use crate::seed;
use crate::table::Width;
use crate::{network_picture, output, place, report};

/// Arguments.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  polypath sim scenarios/two-100mbit.toml
  polypath sim scenarios/two-paths-loss.toml --seed 7 --json
  polypath sim scenarios/demo.toml --set sctp.policies.cwnd_update=normal
  polypath sim scenarios/failover.toml --set 'run.duration=20 s' --pcap out
  polypath sim scenarios/graph.toml --show-network graph.svg")]
#[command(mut_arg("figure_style", |style| style.requires("show_network")))]
pub(crate) struct Args {
    /// Scenario file
    #[arg(value_name = "SCENARIO.toml")]
    scenario: PathBuf,
    /// Seed of all random numbers, in place of the scenario's
    #[arg(long, value_name = "N", value_parser = seed::parse)]
    seed: Option<u64>,
    /// Change a value of the scenario, for example sctp.send_buffer='64 KiB'; repeatable
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
    /// Write the packets of host a, or of each of several hosts, to pcapng files in this directory, with an interface per
    /// path
    #[arg(long, value_name = "DIR")]
    pcap: Option<PathBuf>,
    #[command(flatten)]
    qlog: QlogArgs,
    /// Encode packets to bytes and read them back at every hop; slower, with the same outcome
    #[arg(long)]
    wire: bool,
    /// Draw the network and its routes, to a file whose ending (.svg, .pdf, .png) says the format, or as SVG to standard
    /// output, and run nothing
    #[arg(long, value_name = "FILE", num_args = 0..=1, conflicts_with_all = ["json", "pcap", "qlog", "wire"])]
    show_network: Option<Option<PathBuf>>,
    #[command(flatten)]
    figures: FigureArgs,
}

/// Runs the scenario.
pub(crate) fn run(args: &Args) -> Outcome {
    Kind::Scenario.expect(&args.scenario)?;
    let scenario = Scenario::read(&args.scenario, &args.set).map_err(Failure::usage)?;
    let seed = args.seed.unwrap_or(scenario.run.seed);
    if let Some(file) = &args.show_network {
        return show_network(scenario, seed, args.figures, file.as_deref());
    }
    if let Some(host) = scenario.external.first() {
        return Err(Failure::usage(anyhow!(
            "host `{}` is external: its programs are real ones, which `polypath emulate` runs",
            host.name
        )));
    }
    let form = if args.wire { Form::Wire } else { Form::Structured };
    let mut simulation = Simulation::with(&scenario, seed, form).map_err(Failure::usage)?;
    if let Some(directory) = &args.pcap {
        for (host, name) in simulation.capturable() {
            let file = capture_file(directory, &args.scenario, &name).map_err(Failure::usage)?;
            simulation.capture(host, Box::new(BufWriter::new(file)));
        }
    }
    let qlog = args.qlog.of_simulation()?;
    qlog.observe(&mut simulation, &args.scenario);
    qlog.end(run_and_report(args, simulation))
}

fn run_and_report(args: &Args, simulation: Simulation<'_>) -> Outcome {
    let result = timed(simulation)?;
    let text = if args.json {
        serde_json::to_string_pretty(&result)? + "\n"
    } else {
        report::table(&result, Width::of_output())
    };
    output::answer(args.json, &text)?;
    judge(&result)
}

/// Draws the network as a run with this seed has it.
fn show_network(
    mut scenario: Scenario,
    seed: u64,
    figures: FigureArgs,
    file: Option<&Path>,
) -> Outcome {
    scenario.run.seed = seed;
    let map = NetworkMap::of(&scenario).map_err(Failure::usage)?;
    let picture = network_picture::draw(&scenario.title, &map, figures.style());
    match file {
        None => output::print(picture.svg().as_bytes()),
        Some(file) => {
            format(file)?;
            place::check_file(file)?;
            figures.write(&picture, file)?;
            output::print(format!("{}\n", file.display()).as_bytes())
        }
    }
}

/// Runs a simulation against the clock on the wall.
pub(crate) fn timed(simulation: Simulation<'_>) -> anyhow::Result<RunResult> {
    let start = Instant::now();
    let mut result = simulation.run().context("cannot write the packet captures of --pcap")?;
    result.wall_s = Some(start.elapsed().as_secs_f64());
    Ok(result)
}

/// A run that lost the association or data is a failure.
fn judge(result: &RunResult) -> Outcome {
    if result.is_ok() {
        return Ok(());
    }
    let violations = result.violations;
    let refused = result.flows.iter().find_map(|flow| Some((&flow.name, flow.refused.as_ref()?)));
    Err(Failure::Failed(if result.association.failed {
        anyhow!("the association failed: {}", result.association.state)
    } else if let Some((flow, reason)) = refused {
        anyhow!("the association did not take the messages of flow `{flow}`: {reason}")
    } else {
        anyhow!(
            "what the applications received is not what was sent: {} messages damaged, {} never sent, {} duplicated, {} out of order",
            violations.damaged,
            violations.strange,
            violations.duplicated,
            violations.out_of_order
        )
    }))
}

/// The file for packets of a host, named after the scenario and, where it has a name, the host.
fn capture_file(directory: &Path, scenario: &Path, host: &str) -> anyhow::Result<File> {
    make_directory(directory)?;
    // Appended, not exchanged: a name may have dots of its own.
    let mut name = scenario.file_stem().unwrap_or_default().to_owned();
    if !host.is_empty() {
        // Hosts for cross traffic have the name of their path in theirs.
        name.push(format!("-{}", host.replace(['/', '\\'], "-")));
    }
    name.push(".pcapng");
    let path = directory.join(name);
    place::open_to_write(&path, Before::Discard)
}
