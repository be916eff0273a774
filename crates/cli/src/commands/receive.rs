//! `polypath receive`.

use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, anyhow};
use polypath::{Association, Endpoint, EndpointConfig};
use tokio::task::JoinSet;

use crate::failure::{Failure, Outcome};
use crate::output;
use crate::runtime::{self, Interruption};
use crate::sctp_args::SctpArgs;
use crate::settings::association_config;
use crate::transfer::destination::Existing;
use crate::transfer::progress::{Progress, Side};
use crate::transfer::receive::{Settings, receive_files};
use crate::transfer::summary::Summary;

/// Associations that wait to be served.
const BACKLOG: usize = 16;
/// Senders at a time: each may fill a receive buffer.
const MAX_SENDERS: u32 = 32;

/// Arguments.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Files are written under a hidden name and get their own when they are complete, verified and on the disk. Only plain
names are accepted; a file that exists is kept unless --overwrite is given.

Examples:
  polypath receive --listen 192.0.2.1,198.51.100.1 --out downloads
  polypath receive --listen 2001:db8::1 --out . --once --json")]
pub(crate) struct Args {
    /// Local addresses, separated by commas; senders may use every one of them
    #[arg(long, value_name = "ADDR", value_delimiter = ',', required = true)]
    listen: Vec<IpAddr>,
    /// Directory for the files
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// End after the first sender
    #[arg(long)]
    once: bool,
    /// Replace files that exist
    #[arg(long)]
    overwrite: bool,
    /// Print a summary of each sender as one line of JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    sctp: SctpArgs,
}

/// Receives files until interrupted, or from one sender.
pub(crate) fn run(args: &Args) -> Outcome {
    let association =
        association_config(args.sctp.preset, &args.sctp.set).map_err(Failure::usage)?;
    if !args.out.is_dir() {
        return Err(Failure::usage(anyhow!("{} is not a directory", args.out.display())));
    }
    let existing = if args.overwrite { Existing::Replace } else { Existing::Keep };
    let settings = Settings { directory: args.out.clone(), existing, progress: Progress::new() };
    runtime::run(async |interruption| {
        let builder = Endpoint::builder(args.listen.iter().copied())
            .port(args.sctp.port)
            .encapsulation_port(args.sctp.encapsulation_port)
            .config(EndpointConfig {
                association,
                max_associations: MAX_SENDERS,
                ..EndpointConfig::default()
            })
            .listen(BACKLOG);
        let endpoint = runtime::bind(builder)?;
        let addresses: Vec<_> = args.listen.iter().map(ToString::to_string).collect();
        settings.progress.tell(&format!(
            "listening on {}, SCTP port {}, UDP port {}",
            addresses.join(", "),
            endpoint.port(),
            endpoint.encapsulation_port()
        ));
        let result = serve(&endpoint, Arc::new(settings), args, interruption).await;
        // What is left to say goes out: peers learn of the end.
        endpoint.idle().await;
        result
    })
}

async fn serve(
    endpoint: &Endpoint,
    settings: Arc<Settings>,
    args: &Args,
    interruption: &Interruption,
) -> Outcome {
    let mut sessions = JoinSet::new();
    loop {
        tokio::select! {
            accepted = endpoint.accept(), if !args.once || sessions.is_empty() => {
                sessions.spawn(session(accepted?, Arc::clone(&settings), interruption.clone()));
            }
            Some(ended) = sessions.join_next() => {
                let summary = ended.context("a session failed")?;
                report(&summary, args)?;
                if args.once {
                    return if summary.is_complete() { Ok(()) } else { Err(anyhow!("the transfer is not complete").into()) };
                }
            }
            () = interruption.happened() => break,
        }
    }
    while let Some(ended) = sessions.join_next().await {
        report(&ended.context("a session failed")?, args)?;
    }
    Err(Failure::Interrupted)
}

fn report(summary: &Summary, args: &Args) -> Outcome {
    if args.json { output::print(summary.to_json()?.as_bytes()) } else { Ok(()) }
}

/// Serves one sender.
async fn session(
    association: Association,
    settings: Arc<Settings>,
    interruption: Interruption,
) -> Summary {
    let (begin, mut files) = (Instant::now(), Vec::new());
    let result = tokio::select! {
        result = receive_files(&association, &settings, &mut files) => result,
        () = interruption.happened() => {
            association.abort("the receiver was interrupted");
            Err(anyhow!("interrupted"))
        }
    };
    if let Err(error) = &result {
        let peer: Vec<_> = association.remote_addresses().iter().map(ToString::to_string).collect();
        settings.progress.tell(&format!("from {}: {error:#}", peer.join(", ")));
    }
    Summary::new(Side::Receiver, &association, files, begin.elapsed(), result.err().as_ref())
}
