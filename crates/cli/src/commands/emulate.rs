//! `polypath emulate`.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, anyhow};
use polypath_emulate::{
    Error, HostOutcome, Lateness, Options, Outcome as Emulated, Program, Stream, Watcher,
};
use polypath_lab::results::make_directory;
use polypath_sim::{LinkCounts, Scenario};
use polypath_units::{Duration, Fraction};
use tokio::signal::unix::{SignalKind, signal};

use crate::failure::{Failure, Outcome};
use crate::kind::Kind;
use crate::place::{self, Before};
use crate::{output, seed};

/// Arguments.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Each host of the scenario with `external = true` becomes a network namespace, with a TUN device for each of its
interfaces. Packets of programs in it cross the links of the scenario in real time. Needs root, and `ip` (iproute2).

Examples:
  sudo polypath emulate scenarios/emulated-two-paths.toml
  sudo polypath emulate scenarios/emulated-two-paths.toml --exec 'a=ping -c 5 10.1.1.2'
  sudo polypath emulate scenarios/emulated-two-paths.toml --exec 'b=iperf3 -s &' --exec 'a=sleep 1; iperf3 -c 10.1.1.2'
  sudo polypath emulate scenarios/emulated-two-paths.toml --duration '1 min' --pcap out --json")]
pub(crate) struct Args {
    /// Scenario file
    #[arg(value_name = "SCENARIO.toml")]
    scenario: PathBuf,
    /// Run a shell command on an external host; repeatable. A command that ends with & runs until the
    /// others have ended
    #[arg(long, value_name = "HOST=COMMAND")]
    exec: Vec<Program>,
    /// End after this time at the latest
    #[arg(long, value_name = "TIME")]
    duration: Option<Duration>,
    /// Fraction of the time for which the emulation may lag behind the clock by more than 1 ms before its
    /// result is rejected
    #[arg(long, value_name = "PART", default_value = "1 %")]
    allow_behind: Fraction,
    /// Seed of the random numbers of links and simulated flows, in place of the scenario's
    #[arg(long, value_name = "N", value_parser = seed::parse)]
    seed: Option<u64>,
    /// Change a value of the scenario; repeatable
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Print the result as JSON; the output of programs then goes to standard error
    #[arg(long)]
    json: bool,
    /// Write the packets of each external host to a pcapng file in this directory, with the fate of
    /// each packet
    #[arg(long, value_name = "DIR")]
    pcap: Option<PathBuf>,
}

/// Emulates the scenario.
pub(crate) fn run(args: &Args) -> Outcome {
    Kind::Scenario.expect(&args.scenario)?;
    let scenario = Scenario::read(&args.scenario, &args.set).map_err(Failure::usage)?;
    let captures = match &args.pcap {
        Some(directory) => {
            capture_files(directory, &args.scenario, &scenario).map_err(Failure::usage)?
        }
        None => Vec::new(),
    };
    let options = Options {
        scenario: &scenario,
        seed: args.seed.unwrap_or(scenario.run.seed),
        duration: args.duration.map(|time| std::time::Duration::from_nanos(time.as_nanos())),
        programs: args.exec.clone(),
        allowed_behind: args.allow_behind.as_f64(),
        captures,
    };
    let screen = Screen { json: args.json, waits: args.exec.is_empty() };
    let interrupted = interruption()?;
    let outcome = polypath_emulate::run(options, &screen, interrupted).map_err(failure)?;
    let text = match args.json {
        true => serde_json::to_string_pretty(&outcome)? + "\n",
        false => table(&outcome),
    };
    output::answer(args.json, &text)?;
    judge(&outcome, interrupted.load(Ordering::Relaxed) && !args.exec.is_empty())
}

/// Reasons why the result is invalid or a program failed.
fn judge(outcome: &Emulated, was_interrupted: bool) -> Outcome {
    if let Some(objection) = outcome.verdict.objection() {
        return Err(Failure::Failed(anyhow!("invalid: {objection}")));
    }
    if was_interrupted {
        return Err(Failure::Interrupted);
    }
    match outcome.failed_program() {
        Some(program) => {
            let code =
                program.exit_code.map_or("no exit code".into(), |code| format!("exit code {code}"));
            Err(Failure::Failed(anyhow!("`{}` on {}: {code}", program.command, program.host)))
        }
        None => Ok(()),
    }
}

fn failure(error: Error) -> Failure {
    match error {
        Error::NoExternalHost | Error::NoSuchHost { .. } | Error::Setup(_) => Failure::usage(error),
        Error::NotPermitted(_)
        | Error::NoIpCommand
        | Error::NoTokenBucket(_)
        | Error::Device(_) => Failure::Unfit(error.into()),
        other => Failure::Failed(other.into()),
    }
}

/// A flag that the first interruption sets. Further ones have no effect, since namespaces have to be removed.
fn interruption() -> anyhow::Result<&'static AtomicBool> {
    static INTERRUPTED: AtomicBool = AtomicBool::new(false);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.context("cannot start the asynchronous runtime")?;
    let _context = runtime.enter();
    let kinds = [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()];
    let mut signals = Vec::new();
    for kind in kinds {
        signals.push(signal(kind).context("cannot listen to signals")?);
    }
    drop(_context);
    std::thread::spawn(move || {
        runtime.block_on(async {
            let [interrupt, terminate, hangup] = &mut signals[..] else { return };
            loop {
                tokio::select! {
                    _ = interrupt.recv() => {}
                    _ = terminate.recv() => {}
                    _ = hangup.recv() => {}
                }
                INTERRUPTED.store(true, Ordering::Relaxed);
            }
        });
    });
    Ok(&INTERRUPTED)
}

/// Reports progress.
struct Screen {
    json: bool,
    waits: bool,
}

impl Watcher for Screen {
    fn ready(&self, hosts: &[HostOutcome]) {
        if !self.waits {
            return;
        }
        let mut text = String::new();
        for host in hosts {
            let _ = writeln!(text, "{}: ip netns exec {} COMMAND", host.name, host.namespace);
            for port in &host.ports {
                let peers: Vec<String> = port.peers.iter().map(ToString::to_string).collect();
                let (device, network) = (&port.device, &port.network);
                let _ = writeln!(
                    text,
                    "    {device} {} ({network}) to {}",
                    port.address,
                    peers.join(", ")
                );
            }
        }
        output::tell(format_args!("{text}Ctrl-C ends it."));
    }

    fn said(&self, host: &str, stream: Stream, line: &str) {
        // The reader may be gone; the emulation continues.
        let _ = match stream {
            Stream::Out if !self.json => writeln!(io::stdout().lock(), "{host}: {line}"),
            _ => writeln!(io::stderr().lock(), "{host}: {line}"),
        };
    }
}

/// The files for packets, named after the scenario and its external hosts.
fn capture_files(directory: &Path, file: &Path, scenario: &Scenario) -> anyhow::Result<Vec<File>> {
    make_directory(directory)?;
    let stem = file.file_stem().unwrap_or_default().to_string_lossy();
    let hosts = scenario.external.iter().map(|host| {
        let path = directory.join(format!("{stem}-{}.pcapng", host.name.replace('/', "-")));
        place::open_to_write(&path, Before::Discard)
    });
    hosts.collect()
}

/// The result as text.
fn table(outcome: &Emulated) -> String {
    let mut text = format!("{}: {:.2} s\n", outcome.title, outcome.duration_s);
    let links = outcome.links.iter().filter(|link| link.offered_packets > 0);
    for link in links {
        let _ = writeln!(text, "{}", link_line(link, outcome.duration_s));
    }
    for port in
        outcome.hosts.iter().flat_map(|host| host.ports.iter().map(move |port| (host, port)))
    {
        let (host, port) = port;
        if port.refused + port.failed > 0 {
            let _ = writeln!(
                text,
                "  {} {}: {} packets had no route, {} were not accepted",
                host.name, port.device, port.refused, port.failed
            );
        }
    }
    for flow in &outcome.flows {
        let rate = flow.goodput_bit_s / 1e6;
        let _ = writeln!(text, "  flow {}: {rate:.2} Mbit/s", flow.name);
    }
    let timing = &outcome.timing;
    let _ = writeln!(text, "  deliveries: {}", lateness(&timing.deliveries));
    let _ = writeln!(text, "  wake-ups:   {}", lateness(&timing.wakeups));
    let _ = writeln!(text, "  intake:     {}", lateness(&timing.intake));
    let _ = writeln!(text, "  busy for {:.1} % of the time", 100.0 * timing.busy_share);
    let _ = writeln!(
        text,
        "  behind by more than 1 ms for {:.4} s, {:.3} % of the time",
        timing.behind_s,
        100.0 * timing.behind_share
    );
    text
}

fn link_line(link: &LinkCounts, seconds: f64) -> String {
    let rate = link.delivered_bytes as f64 * 8.0 / seconds / 1e6;
    let mut line = format!(
        "  {} {} to {}: {} packets, {:.3} MB, {rate:.2} Mbit/s",
        link.link,
        link.from,
        link.to,
        link.delivered_packets,
        link.delivered_bytes as f64 / 1e6
    );
    for drops in &link.dropped {
        let _ = write!(line, ", {} {}", drops.packets, drops.cause);
    }
    let _ = write!(line, ", queue up to {}", link.queue_max_packets);
    line
}

fn lateness(late: &Lateness) -> String {
    let us = |seconds: Option<f64>| seconds.map_or("-".into(), |s| format!("{:.0} us", s * 1e6));
    format!(
        "{}, late by {} (median), {} (99 %), {} (longest)",
        late.count,
        us(late.p50_s),
        us(late.p99_s),
        us(late.max_s)
    )
}
