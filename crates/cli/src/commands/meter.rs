//! `polypath meter`.

use std::sync::Arc;
use std::time::Duration;

use anyhow::anyhow;
use clap::Subcommand;
use polypath::{Endpoint, EndpointConfig, Observer, default_addresses};
use polypath_meter::document::{Alone, End, Gain};
use polypath_meter::{Labels, MAX_FLOWS, Server, ServerSession};
use polypath_units::{BitRate, ByteCount};
use tokio::task::{JoinError, JoinSet};

use crate::counts;
use crate::crowding::CrowdingArgs;
use crate::failure::{Failure, Outcome};
use crate::hosts;
use crate::keys::Gate;
use crate::local_addresses;
use crate::meter::capture::Capture;
use crate::meter::client::{Target, measure};
use crate::meter::gain::Broken;
use crate::meter::options::{self, ClientOptions, FormatOptions, Transport};
use crate::meter::reporter::Reporter;
use crate::meter::{gain, numbers};
use crate::output::{self, PeerLines, tell};
use crate::qlog::QlogArgs;
use crate::runtime::{self, Interruption, Threads};
use crate::transfer::progress::peer_of;
use crate::zoned::{self, Zoned};

/// How long the reports of an interrupted server wait for their reader.
const LAST_REPORTS: Duration = Duration::from_secs(2);
/// What anybody can do if the server has no key.
const ANYBODY_MAY: &str = "measure with this server, which takes its processor and its links";

/// Arguments.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Options are compatible with iperf3's where the meaning is the same; flows use NetPerfMeter's syntax. See docs/meter.md.

Exit codes: 0 success, 1 the run failed, 2 wrong usage, 3 cannot connect, refused or busy, 4 a requirement was missed,
5 the system refuses (port in use, no such address), 130 interrupted.

Examples:
  polypath meter server -B 192.0.2.1,198.51.100.1
  polypath meter client 192.0.2.1 -t 30 -P 4 --json")]
pub(crate) struct Args {
    #[command(subcommand)]
    side: Side,
}

/// Subcommands.
#[derive(Debug, Subcommand)]
enum Side {
    /// Serve measurements to clients
    Server(Box<ServerArgs>),
    /// Measure against a server
    Client(Box<ClientArgs>),
}

/// Arguments of the client.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  polypath meter client 192.0.2.1
  polypath meter client 192.0.2.1,198.51.100.1 -B 10.0.0.2,10.1.0.2 -t 30 -R
  polypath meter client 192.0.2.1 -B 10.0.0.2%eth0,10.1.0.2%wwan0
  polypath meter client 192.0.2.1 --bidir -P 4 -b 5M --json-stream
  polypath meter client 192.0.2.1 --flow const0:const1400 --flow exp25:exp1000:const0:const0:unreliable=1:rtx_timeout=100
  polypath meter client 192.0.2.1 --key alice.key
  polypath meter client 192.0.2.1 --require-gain 1.0 --max-p99 '200 ms'")]
struct ClientArgs {
    #[command(flatten)]
    options: ClientOptions,
}

/// Arguments of the server.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Without --bind, the server uses the source addresses of the default routes, and loopback for clients on this host. List every address that clients are to use as a path.

Examples:
  polypath meter server -B 192.0.2.1,198.51.100.1
  polypath meter server -B 127.0.0.1 --one-off --json
  polypath meter server -B 192.0.2.1 --key server.keys
  polypath meter server --server-bitrate-limit 100M --server-max-duration 60")]
struct ServerArgs {
    #[command(flatten)]
    transport: Transport,
    #[command(flatten)]
    format: FormatOptions,
    #[command(flatten)]
    qlog: QlogArgs,
    /// End after one measurement
    #[arg(short = '1', long)]
    one_off: bool,
    /// Maximum number of clients at a time; further ones are refused
    #[arg(long, value_name = "N", default_value_t = 32, value_parser = counts::within(1..=1000_u32))]
    max_clients: u32,
    #[command(flatten)]
    crowding: CrowdingArgs,
    /// Maximum memory for received data of all clients that waits to be read; near this limit,
    /// receive windows shrink and further clients are refused
    #[arg(long, value_name = "SIZE", default_value = "256 MiB", value_parser = numbers::memory)]
    max_memory: ByteCount,
    /// Refuse, and stop, measurements of more bit/s in both directions together
    #[arg(long, value_name = "RATE", value_parser = numbers::rate)]
    server_bitrate_limit: Option<BitRate>,
    /// Refuse, and stop, measurements of more seconds
    #[arg(long, value_name = "SECONDS", value_parser = numbers::time)]
    server_max_duration: Option<Duration>,
    /// Abort a measurement when its client makes no progress for this many seconds
    #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = numbers::time)]
    idle_timeout: Duration,
}

/// Measures.
pub(crate) fn run(args: &Args) -> Outcome {
    match &args.side {
        Side::Server(args) => serve_all(args),
        Side::Client(args) => measure_once(&args.options),
    }
}

fn measure_once(options: &ClientOptions) -> Outcome {
    options.check().map_err(Failure::Usage)?;
    let plan = options.plan();
    let mut reporter =
        Reporter::of_client(&options.report, plan.shown_title()).map_err(Failure::Usage)?;
    let qlog = options.qlog.of_network()?;
    let observer = qlog.observer("meter client");
    let outcome = runtime::run(Threads::One, async |interruption| {
        measure_all(options, observer, &mut reporter, interruption).await
    });
    qlog.end(outcome)
}

async fn measure_all(
    options: &ClientOptions,
    observer: Option<Arc<dyn Observer>>,
    reporter: &mut Reporter,
    interruption: &Interruption,
) -> Outcome {
    let capture = options.pcap.as_deref().map(Capture::create).transpose();
    let capture = capture.map_err(Failure::usage)?.map(Arc::new);
    let prepared = prepare(options, (capture.clone(), observer), reporter, interruption).await;
    let (document, outcome) = match prepared {
        Ok((target, alone)) => {
            let (mut document, outcome) = measure(&target, options, reporter, interruption).await;
            document.end.gain = Gain::of(&document, alone);
            document.end.thresholds = options.requirements.required().judge(&document.end);
            (document, outcome)
        }
        Err(Broken { failure, document }) => {
            let mut document = match document {
                Some(document) => *document,
                None => options.unconnected(&failure),
            };
            // The result of a single path does not count for all paths.
            document.end.thresholds = options.requirements.required().judge(&End::default());
            (document, Err(failure))
        }
    };
    if document.end.streams.is_empty() {
        reporter.failed(&document);
    } else {
        reporter.end(&document);
    }
    let captured = capture.map_or(Ok(()), |capture| capture.finish());
    outcome?;
    reporter.outcome()?;
    captured?;
    let missed: Vec<_> = document.end.missed().map(|threshold| threshold.name.as_str()).collect();
    match missed.is_empty() {
        true => Ok(()),
        false => Err(Failure::Missed(anyhow!("missed what was required: {}", missed.join(", ")))),
    }
}

/// The server to measure with, and the results of each path alone if they are required.
async fn prepare(
    options: &ClientOptions,
    (capture, observer): (Option<Arc<Capture>>, Option<Arc<dyn Observer>>),
    reporter: &Reporter,
    interruption: &Interruption,
) -> Result<(Target, Vec<Alone>), Broken> {
    let to = hosts::resolve(&options.hosts, |address| options.family.includes(address)).await?;
    local_addresses::check_peer(&to)?;
    let bind = &options.transport.bind;
    let from = if bind.is_empty() { local_addresses::towards(&to)? } else { bind.clone() };
    let to = zoned::addresses(&to);
    let mut config =
        options.transport.config(options.plan().flow_count()).map_err(Failure::Usage)?;
    options.transport.key.connect(&mut config)?;
    let carriers = options.transport.carriers();
    let target = Target { from, to, config, carriers, capture, observer };
    let alone = match options.requirements.require_gain {
        Some(_) => gain::alone(&target, options, &mut reporter.aside()?, interruption).await?,
        None => Vec::new(),
    };
    Ok((target, alone))
}

fn serve_all(args: &ServerArgs) -> Outcome {
    let mut association = args.transport.config(MAX_FLOWS).map_err(Failure::Usage)?;
    let gate = args.transport.key.accept(&mut association)?;
    let reporter = Reporter::of_server(&args.format)?;
    output::never_block()?;
    let addresses: Vec<Zoned> = match args.transport.bind.as_slice() {
        [] => default_addresses().into_iter().map(Zoned::from).collect(),
        named => named.to_vec(),
    };
    let qlog = args.qlog.of_server()?;
    let outcome = runtime::run(Threads::All, async |interruption| {
        let warning = gate.warning(&addresses, ANYBODY_MAY);
        let config = EndpointConfig {
            association,
            max_associations: args.max_clients,
            max_buffered_bytes: Some(args.max_memory.as_bytes()),
            ..EndpointConfig::default()
        };
        let builder = qlog
            .attach(zoned::builder(&addresses), "meter server")
            .port(args.transport.port)
            .carriers(args.transport.carriers())
            .encapsulation_port(args.transport.encapsulation_port)
            .config(args.crowding.limit(config, warning.is_some()))
            .make_way(args.crowding.make_way())
            // Whoever has a place is accepted, however many come at once.
            .listen(args.max_clients as usize);
        let endpoint = runtime::bind(builder)?;
        tell(format_args!(
            "listening on {}, {}",
            zoned::list(&addresses),
            args.transport.ports(endpoint.encapsulation_port())
        ));
        if let Some(warning) = warning {
            tell(format_args!("{warning}"));
        }
        let result = serve((&endpoint, gate), args, &reporter, interruption).await;
        let patience = if args.one_off { Duration::MAX } else { LAST_REPORTS };
        let written = reporter.flush(patience);
        runtime::drain(&endpoint, interruption).await;
        result.and(written)
    });
    qlog.end(outcome)
}

/// Outcome of a client.
struct Ended {
    /// Whether a measurement started.
    started: bool,
    error: Option<Failure>,
}

async fn serve(
    (endpoint, mut gate): (&Endpoint, Gate),
    args: &ServerArgs,
    reporter: &Reporter,
    interruption: &Interruption,
) -> Outcome {
    let server = Server::new()
        .max_duration(args.server_max_duration)
        .max_rate(args.server_bitrate_limit)
        .idle_timeout(args.idle_timeout)
        .labels(Labels::new().program(options::version()))
        // Only a document at the end has intervals.
        .keep_intervals(reporter.tells_intervals_at_the_end());
    let mut sessions: JoinSet<Ended> = JoinSet::new();
    let lines = Arc::new(PeerLines::new());
    for number in 1_u64.. {
        let accepted = loop {
            tokio::select! {
                accepted = server.accept(endpoint), if !args.one_off || sessions.is_empty() => break accepted?,
                Some(ended) = sessions.join_next() => {
                    if let Some(outcome) = conclude(ended).filter(|_| args.one_off) {
                        return outcome;
                    }
                }
                line = gate.changed(endpoint) => tell(format_args!("{line}")),
                () = interruption.happened() => {
                    while sessions.join_next().await.is_some() {}
                    lines.end(|line| tell(format_args!("{line}")));
                    return Err(Failure::Interrupted);
                }
            }
        };
        let prefix = if args.one_off { String::new() } else { format!("#{number} ") };
        let reporter = reporter.sibling(prefix)?;
        let key = gate.admit(accepted.association());
        sessions.spawn(serve_one(
            number,
            (accepted, key),
            (reporter, Arc::clone(&lines)),
            interruption.clone(),
        ));
    }
    Ok(())
}

/// The outcome of a measurement; `None` if none started.
fn conclude(ended: Result<Ended, JoinError>) -> Option<Outcome> {
    match ended {
        Ok(Ended { started: false, .. }) => None,
        Ok(Ended { error: None, .. }) => Some(Ok(())),
        Ok(Ended { error: Some(failure), .. }) => Some(Err(failure)),
        Err(error) => {
            tell(format_args!("error: a measurement failed: {error}"));
            Some(Err(error.into()))
        }
    }
}

/// Serves one client, whose key has a name if there are keys. Its errors do not affect other clients.
async fn serve_one(
    number: u64,
    (mut session, key): (ServerSession, Result<Option<String>, &'static str>),
    (mut reporter, lines): (Reporter, Arc<PeerLines>),
    interruption: Interruption,
) -> Ended {
    let association = session.association();
    let from: Vec<_> = association.remote_addresses().iter().map(ToString::to_string).collect();
    let peer = peer_of(association);
    let tell = |line: &str| lines.tell(peer, line, |line| tell(format_args!("{line}")));
    let whom = format!("{}, SCTP port {}", from.join(", "), association.remote_port());
    match key {
        Ok(None) => tell(&format!("#{number} accepted {whom}")),
        Ok(Some(key)) => tell(&format!("#{number} accepted {whom}, key {key}")),
        Err(reason) => {
            tell(&format!("#{number} refused {whom}: {reason}"));
            session.abort(reason);
            return Ended { started: false, error: None };
        }
    }
    let served = tokio::select! {
        served = session.run(&mut reporter) => Some(served),
        () = interruption.happened() => None,
    };
    let result = match served {
        Some(served) => served.map_err(anyhow::Error::from),
        None => {
            let reason = "the server was interrupted";
            session.abort(reason);
            Err(anyhow!(reason))
        }
    };
    if let Err(error) = &result {
        tell(&format!("#{number} {error:#}"));
    }
    let started = session.started();
    if started {
        reporter.end_on_one_line(&session.into_document());
    }
    let told = reporter.outcome();
    if let Err(failure) = &told {
        tell(&format!("error: {failure}"));
    }
    Ended { started, error: result.map_err(Failure::Failed).and(told).err() }
}
