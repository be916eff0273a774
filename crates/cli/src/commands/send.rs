//! `polypath send`.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::anyhow;
use polypath::{Association, AssociationConfig, Endpoint};
use polypath_transfer::{Batch, Report, Sender, Side};
use polypath_units::BitRate;

use crate::connecting;
use crate::failure::{Failure, Outcome};
use crate::hosts::{self, Host};
use crate::local_addresses;
use crate::meter::numbers;
use crate::output;
use crate::qlog::{Qlog, QlogArgs};
use crate::runtime::{self, Interruption, Threads};
use crate::sctp_args::SctpArgs;
use crate::settings::association_config;
use crate::transfer::progress::{Line, Progress};
use crate::transfer::summary::{Left, Summary};
use crate::transfer::{Verbosity, VerbosityArgs};
use crate::unused::{Named, idle_paths, unused};
use crate::zoned::{self, Zoned};

/// Arguments.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The receiver verifies each file by its SHA-256 and reports when it is on disk; only then does it count as sent. If a \
transfer ends early, the receiver keeps what has arrived, and the same command resumes; files that arrived whole are not \
sent again. A directory is sent recursively; symbolic links in it are left out. Names that begin with a dot are sent, too, but a \
receiver refuses them, and the exit code is 1, unless it was started with --hidden; --skip-hidden leaves them out.

Examples:
  polypath send film.mkv --to 192.0.2.1
  polypath send film.mkv --to server.example.net
  polypath send a.iso b.iso --from 10.0.0.2,10.1.0.2 --to 192.0.2.1,198.51.100.1
  polypath send film.mkv --to 192.0.2.1 --from 10.0.0.2%eth0,10.1.0.2%wwan0
  polypath send film.mkv --to 192.0.2.1 --key alice.key
  polypath send photos --to 192.0.2.1 --limit-rate '20 Mbit/s'
  tar c photos | polypath send - --name photos.tar --to 192.0.2.1
  polypath send film.mkv --to 192.0.2.1 --raw
  polypath send big.tar --to 192.0.2.1 --preset rfc9260 --set policies.rto.min='200 ms' --json")]
pub(crate) struct Args {
    /// Files and directories to send; - is standard input, which needs --name
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Name of standard input at the receiver
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Addresses or names of the receiver, separated by commas; the receiver lists its other addresses in the handshake
    #[arg(long, value_name = "HOST", value_delimiter = ',', required = true)]
    to: Vec<Host>,
    /// Local addresses, separated by commas; with %DEV, bound to that interface [default: source
    /// addresses of the routes to the receiver]
    #[arg(long, value_name = "ADDR[%DEV]", value_delimiter = ',')]
    from: Vec<Zoned>,
    /// Leave out files and directories in a directory whose names begin with a dot: a receiver refuses them unless it has --hidden
    #[arg(long)]
    skip_hidden: bool,
    /// Timeout for connecting, in seconds
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = numbers::patience)]
    connect_timeout: Duration,
    /// Consider the association lost after this many seconds without progress. The receiver has the
    /// same option and default
    #[arg(long, value_name = "SECONDS", default_value = "300", value_parser = numbers::patience)]
    idle_timeout: Duration,
    /// Reconnect for up to this many seconds after the association was lost, and resume; 0: do not
    /// reconnect
    #[arg(long, value_name = "SECONDS", default_value = "600", value_parser = numbers::time)]
    retry_for: Duration,
    /// Send no faster than this, for example '20 Mbit/s'
    #[arg(long, value_name = "RATE", value_parser = rate)]
    limit_rate: Option<BitRate>,
    /// Print the summary as one line of JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    verbosity: VerbosityArgs,
    #[command(flatten)]
    qlog: QlogArgs,
    #[command(flatten)]
    sctp: SctpArgs,
}

/// Least rate that can be asked for: receivers end a transfer that is slower than 8 kbit/s.
const MIN_RATE: u64 = 16_000;

fn rate(text: &str) -> Result<BitRate, String> {
    let rate: BitRate = text.parse().map_err(|error| format!("{error}"))?;
    match rate.as_bits_per_second() >= MIN_RATE {
        true => Ok(rate),
        false => {
            Err("receivers end a transfer of less than 8 kbit/s: name at least 16 kbit/s"
                .to_owned())
        }
    }
}

impl Args {
    /// What is to be sent.
    fn batch(&self) -> Result<Batch, Failure> {
        let is_input = |file: &&PathBuf| file.as_os_str() == "-";
        let files: Vec<_> = self.files.iter().filter(|file| !is_input(file)).collect();
        let inputs = self.files.len() - files.len();
        let batch = Batch::of(&files).map_err(Failure::usage)?;
        let batch = if self.skip_hidden { batch.without_hidden() } else { batch };
        match (&self.name, inputs) {
            (None, 0) => Ok(batch),
            (Some(name), 1) if files.is_empty() => batch.input(name).map_err(Failure::usage),
            (None, 1) => Err(Failure::usage(anyhow!(
                "-: standard input has no name; give it one with --name"
            ))),
            (Some(_), 0) => Err(Failure::usage(anyhow!(
                "--name is for standard input (-): files have names of their own"
            ))),
            _ => Err(Failure::usage(anyhow!(
                "standard input (-) cannot be sent together with files, nor twice: run the command again for the others"
            ))),
        }
    }
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
    let batch = args.batch()?;
    let send_buffer = config.send_buffer_bytes;
    let qlog = args.qlog.of_network()?;
    let outcome = runtime::run(Threads::One, async |interruption| {
        let to = tokio::select! {
            to = hosts::resolve(&args.to, |_| true) => to?,
            () = interruption.happened() => return Err(Failure::Interrupted),
        };
        let home = Home::new(&qlog, args, to)?;
        let endpoint = home.endpoint();
        let begin = Instant::now();
        let connected = tokio::select! {
            connected = home.connect(&endpoint, config.clone()) => connected,
            () = interruption.happened() => Err(Failure::Interrupted),
        };
        let result = match connected {
            Ok(association) => {
                let sender = Sender::new(association).send_buffer_bytes(send_buffer);
                transfer((sender, batch), (&home, config), args, interruption).await
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
        runtime::drain(&home.endpoint(), interruption).await;
        result
    });
    qlog.end(outcome)
}

/// This host and the receiver: an endpoint at local addresses that may change, and where it connects to.
struct Home<'a> {
    qlog: &'a Qlog,
    args: &'a Args,
    to: Vec<Zoned>,
    state: Mutex<(Vec<Zoned>, Endpoint)>,
}

impl<'a> Home<'a> {
    fn new(qlog: &'a Qlog, args: &'a Args, to: Vec<Zoned>) -> Result<Self, Failure> {
        local_addresses::check_peer(&to)?;
        let local = match args.from.as_slice() {
            [] => local_addresses::towards(&to)?,
            named => named.to_vec(),
        };
        let endpoint = bind(qlog, args, &local)?;
        Ok(Self { qlog, args, to, state: Mutex::new((local, endpoint)) })
    }

    fn endpoint(&self) -> Endpoint {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).1.clone()
    }

    /// Moves where the routes to the receiver begin now, unless the user has said where to be.
    fn look(&self) -> Result<(), Failure> {
        if !self.args.from.is_empty() {
            return Ok(());
        }
        let local = local_addresses::towards(&self.to)?;
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.0 != local {
            let endpoint = bind(self.qlog, self.args, &local)?;
            *state = (local, endpoint);
        }
        Ok(())
    }

    async fn connect(
        &self,
        endpoint: &Endpoint,
        config: AssociationConfig,
    ) -> Result<Association, Failure> {
        let sctp = &self.args.sctp;
        let whom = format!("{}, {}", zoned::list(&self.to), sctp.ports(sctp.encapsulation_port));
        let peer = sctp.peer(&zoned::addresses(&self.to));
        let patience = self.args.connect_timeout;
        connecting::connect(endpoint, &peer, config, patience, &whom).await
    }
}

fn bind(qlog: &Qlog, args: &Args, local: &[Zoned]) -> Result<Endpoint, Failure> {
    let builder = qlog.attach(zoned::builder(local), "send").encapsulation_port(0);
    runtime::bind(builder.carriers(args.sctp.carriers())).map_err(|failure| {
        match args.from.is_empty() {
            true => failure,
            false => failure.about("--from"),
        }
    })
}

async fn transfer(
    (sender, batch): (Sender, Batch),
    (home, config): (&Home<'_>, AssociationConfig),
    args: &Args,
    interruption: &Interruption,
) -> Outcome {
    let verbosity = args.verbosity.verbosity();
    let progress = Progress::new(verbosity)?;
    let line = Line::new(sender.association());
    progress.follow_paths(Side::Sender, sender.association());
    if verbosity >= Verbosity::Verbose {
        progress.detail(&format!("connected to {}", zoned::list(&home.to)));
    }
    let left_out = batch.left_out().iter().map(Left::from).collect();
    let mut sender = sender
        .idle_timeout(args.idle_timeout)
        .limit_rate(args.limit_rate)
        .on_event(progress.follow(Side::Sender, &line, None));
    let again = || async {
        home.look()?;
        let association = home.connect(&home.endpoint(), config.clone()).await?;
        line.set(&association);
        progress.follow_paths(Side::Sender, &association);
        Ok::<_, Failure>(association)
    };
    let sent = tokio::select! {
        sent = sender.send_with_retries(batch, args.retry_for, again) => Some(sent),
        () = interruption.happened() => None,
    };
    let result = match sent {
        Some(sent) => sent.map_err(|error| Failure::Failed(error.into())),
        None => {
            sender.abort("the sender was interrupted");
            Err(Failure::Interrupted)
        }
    };
    let association = line.get();
    // Of the addresses of a name, some are often not used.
    let to: Vec<_> = args.to.iter().filter_map(Host::address).collect();
    let from = zoned::addresses(&args.from);
    let named = Named { to: &to, from: &from, options: ["--to", "--from"] };
    let (unused, idle_paths) = (unused(named, &association), idle_paths(&association));
    let summary = Summary { unused, idle_paths, left_out, ..Summary::from(sender.into_report()) };
    match (args.json, verbosity) {
        (true, _) => output::print(summary.to_json()?.as_bytes())?,
        (false, Verbosity::Quiet) => {}
        (false, _) => output::show(&summary.to_string())?,
    }
    result?;
    match summary.report.complete {
        true => Ok(()),
        false => Err(anyhow!("not every file was stored").into()),
    }
}
