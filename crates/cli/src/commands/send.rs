//! `polypath send`.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::anyhow;
use polypath::{Association, AssociationConfig, Endpoint};
use polypath_transfer::{Report, Sender, Side, check_files};

use crate::connecting;
use crate::failure::{Failure, Outcome};
use crate::local_addresses;
use crate::output;
use crate::qlog::QlogArgs;
use crate::runtime::{self, Interruption, Threads};
use crate::sctp_args::SctpArgs;
use crate::settings::association_config;
use crate::transfer::progress::Progress;
use crate::transfer::summary::Summary;
use crate::unused::{Named, idle_paths, unused};
use crate::zoned::{self, Zoned};

/// Arguments.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The receiver verifies each file by its SHA-256 and says when it is on the disk; only then it counts as sent.

Examples:
  polypath send film.mkv --to 192.0.2.1
  polypath send a.iso b.iso --from 10.0.0.2,10.1.0.2 --to 192.0.2.1,198.51.100.1
  polypath send film.mkv --to 192.0.2.1 --from 10.0.0.2%eth0,10.1.0.2%wwan0
  polypath send film.mkv --to 192.0.2.1 --key alice.key
  polypath send film.mkv --to 192.0.2.1 --raw
  polypath send big.tar --to 192.0.2.1 --preset rfc9260 --set policies.rto.min='200 ms' --json")]
pub(crate) struct Args {
    /// Files to send
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Addresses of the receiver, separated by commas; it names those that are missing
    #[arg(long, value_name = "ADDR", value_delimiter = ',', required = true)]
    to: Vec<Zoned>,
    /// Local addresses, separated by commas; with %DEV, bound to that interface [default: those that the routes to the
    /// receiver begin at]
    #[arg(long, value_name = "ADDR[%DEV]", value_delimiter = ',')]
    from: Vec<Zoned>,
    /// Timeout for connecting, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..))]
    connect_timeout: u64,
    /// Abort a transfer without progress for this many seconds; the receiver must be able to write a file to its disk
    /// within them
    #[arg(long, value_name = "SECONDS", default_value_t = 300, value_parser = clap::value_parser!(u64).range(1..))]
    idle_timeout: u64,
    /// Print the summary as one line of JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    qlog: QlogArgs,
    #[command(flatten)]
    sctp: SctpArgs,
}

/// Sends the files.
pub(crate) fn run(args: &Args) -> Outcome {
    let mut config =
        association_config(args.sctp.preset, &args.sctp.set).map_err(Failure::usage)?;
    args.sctp.key.connect(&mut config)?;
    if args.sctp.encapsulation_port == 0 {
        return Err(Failure::usage(anyhow!(
            "--encapsulation-port 0: the receiver's UDP port must be known"
        )));
    }
    check_files(&args.files).map_err(Failure::usage)?;
    let send_buffer = config.send_buffer_bytes;
    local_addresses::check_peer(&args.to)?;
    let local =
        if args.from.is_empty() { local_addresses::towards(&args.to)? } else { args.from.clone() };
    let qlog = args.qlog.of_network()?;
    let outcome = runtime::run(Threads::One, async |interruption| {
        let builder = qlog.attach(zoned::builder(&local), "send").encapsulation_port(0);
        let endpoint = runtime::bind(builder.carriers(args.sctp.carriers()))?;
        let begin = Instant::now();
        let connected = tokio::select! {
            connected = connect(&endpoint, args, config) => connected,
            () = interruption.happened() => Err(Failure::Interrupted),
        };
        let result = match connected {
            Ok(association) => {
                let sender = Sender::new(association).send_buffer_bytes(send_buffer);
                transfer(sender, args, interruption).await
            }
            Err(failure) => {
                if args.json {
                    let report = Report::unconnected(failure.to_string(), begin.elapsed());
                    let summary = Summary::from(report);
                    output::print(summary.to_json()?.as_bytes())?;
                }
                Err(failure)
            }
        };
        runtime::drain(&endpoint, interruption).await;
        result
    });
    qlog.end(outcome)
}

async fn connect(
    endpoint: &Endpoint,
    args: &Args,
    config: AssociationConfig,
) -> Result<Association, Failure> {
    let whom =
        format!("{}, {}", zoned::list(&args.to), args.sctp.ports(args.sctp.encapsulation_port));
    let peer = args.sctp.peer(&zoned::addresses(&args.to));
    let patience = Duration::from_secs(args.connect_timeout);
    connecting::connect(endpoint, &peer, config, patience, &whom).await
}

async fn transfer(sender: Sender, args: &Args, interruption: &Interruption) -> Outcome {
    let association = sender.association().clone();
    let mut sender = sender
        .idle_timeout(Duration::from_secs(args.idle_timeout))
        .on_event(Progress::new()?.follow(Side::Sender, &association, None));
    let sent = tokio::select! {
        sent = sender.send(&args.files) => Some(sent),
        () = interruption.happened() => None,
    };
    let result = match sent {
        Some(sent) => sent.map_err(|error| Failure::Failed(error.into())),
        None => {
            sender.abort("the sender was interrupted");
            Err(Failure::Interrupted)
        }
    };
    let (to, from) = (zoned::addresses(&args.to), zoned::addresses(&args.from));
    let named = Named { to: &to, from: &from, options: ["--to", "--from"] };
    let (unused, idle_paths) = (unused(named, &association), idle_paths(&association));
    let summary = Summary { unused, idle_paths, ..Summary::from(sender.into_report()) };
    let text = if args.json { summary.to_json()? } else { summary.to_string() };
    output::print(text.as_bytes())?;
    result?;
    match summary.report.complete {
        true => Ok(()),
        false => Err(anyhow!("not every file was stored").into()),
    }
}
