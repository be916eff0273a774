//! `polypath receive`.

use std::future::pending;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Error, anyhow};
use polypath::Endpoint;
use polypath_transfer::{Existing, Inbox, Leftover, MinRate, PeerLimits, Receiver, Side};
use polypath_units::BitRate;
use tokio::task::{JoinError, JoinSet};
use tokio::time::{Instant, sleep_until};

use crate::failure::{Failure, Outcome};
use crate::keys::Gate;
use crate::meter::numbers;
use crate::output::{self, Outlet};
use crate::qlog::QlogArgs;
use crate::runtime::{self, Interruption, Threads};
use crate::sctp_args::SctpArgs;
use crate::settings::association_config;
use crate::transfer::VerbosityArgs;
use crate::transfer::progress::{Line, Progress, peer_of, size};
use crate::transfer::shares::SharesArgs;
use crate::transfer::summary::Summary;
use crate::zoned::{self, Zoned};

/// How long the summary of the only sender may wait for the reader of standard output.
const WITHOUT_END: Duration = Duration::MAX;
/// The same for the summaries of all after an interruption.
const INTERRUPTED: Duration = Duration::from_secs(2);
/// Reason for refusing other senders while the only sender is expected back.
const OTHERS_TURN: &str = "the receiver is waiting for another sender to reconnect";
/// What anybody can do if the receiver has no key.
const ANYBODY_MAY: &str = "send files here, and anybody on the path can read and change them";

/// Arguments.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
A file is written under a hidden name (.polypath-....part) and gets its own name when it is complete, verified and on disk. \
An incomplete file is kept, so that its sender can resume; see --keep-incomplete. Names are plain, or paths below the \
directory. An existing file is kept unless --overwrite is given, and a name that begins with a dot is refused unless \
--hidden is given. A file that exists with the same content is not sent again.

Examples:
  polypath receive --listen 192.0.2.1,198.51.100.1 --out downloads
  polypath receive --listen 2001:db8::1 --out . --once --json
  polypath receive --listen 192.0.2.1 --out inbox --key receiver.keys
  polypath receive --listen 192.0.2.1 --out - | tar x
  polypath receive --listen 192.0.2.1 --out inbox --max-senders 8 --max-per-address 1 --max-bytes '10 GB'")]
pub(crate) struct Args {
    /// Local addresses, separated by commas; senders may use every one of them. With %DEV, bound to that interface
    #[arg(long, value_name = "ADDR[%DEV]", value_delimiter = ',', required = true)]
    listen: Vec<Zoned>,
    /// Directory for the files, created if its parent exists. With -, the content of one file is
    /// written to standard output as it arrives; the exit code says whether it was verified
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Exit after the first sender. If its association is lost, it may reconnect (see --wait-for)
    #[arg(long)]
    once: bool,
    /// With --once: seconds that the sender has to reconnect after its association was lost; 0: it
    /// may not reconnect. The sender's --retry-for has the same default
    #[arg(long, value_name = "SECONDS", default_value = "600", value_parser = numbers::time)]
    wait_for: Duration,
    #[command(flatten)]
    taste: Taste,
    #[command(flatten)]
    limits: Limits,
    /// Print a summary of each sender as one line of JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    verbosity: VerbosityArgs,
    #[command(flatten)]
    qlog: QlogArgs,
    #[command(flatten)]
    sctp: SctpArgs,
    // Its heading goes for what follows.
    #[command(flatten)]
    shares: SharesArgs,
}

/// Files to accept.
#[derive(Debug, clap::Args)]
struct Taste {
    /// Replace files that exist and have other content
    #[arg(long)]
    overwrite: bool,
    /// Keep files that exist, whatever their content, and count them as done
    #[arg(long, conflicts_with = "overwrite")]
    skip_existing: bool,
    /// Accept names that begin with a dot
    #[arg(long)]
    hidden: bool,
}

/// How slow a sender may be.
#[derive(Debug, clap::Args)]
struct Limits {
    /// Consider the association lost after this many seconds without progress, or after 60 if
    /// the sender offers nothing at all; it may reconnect. The sender has the same option and default
    #[arg(long, value_name = "SECONDS", default_value = "300", value_parser = numbers::patience)]
    idle_timeout: Duration,
    /// Abort a transfer that is slower than this for --min-rate-span; 0 bit/s accepts any rate
    #[arg(long, value_name = "RATE", default_value = "8 kbit/s")]
    min_rate: BitRate,
    /// Seconds over which the rate of a sender is measured; only time spent waiting for it counts
    #[arg(long, value_name = "SECONDS", default_value = "300", value_parser = numbers::patience)]
    min_rate_span: Duration,
}

impl Limits {
    fn of_peers(&self) -> PeerLimits {
        let span = self.min_rate_span;
        let min_rate = (!self.min_rate.is_zero()).then_some(MinRate { rate: self.min_rate, span });
        PeerLimits { idle_timeout: self.idle_timeout, min_rate }
    }
}

impl Taste {
    fn existing(&self) -> Existing {
        match (self.overwrite, self.skip_existing) {
            (true, _) => Existing::Replace,
            (false, true) => Existing::Skip,
            (false, false) => Existing::Keep,
        }
    }
}

impl Args {
    /// Whether content goes to standard output.
    fn is_to_output(&self) -> bool {
        self.out.as_os_str() == "-"
    }
}

/// Receives files until interrupted, or from one sender.
pub(crate) fn run(args: &Args) -> Outcome {
    let mut association =
        association_config(args.sctp.preset, &args.sctp.set).map_err(Failure::usage)?;
    let gate = args.sctp.key.accept(&mut association)?;
    let inbox =
        if args.is_to_output() { Inbox::into_writer(io::stdout()) } else { Inbox::new(&args.out) };
    if args.is_to_output() && args.json {
        return Err(Failure::usage(anyhow!(
            "--out -: the content goes to standard output, and leaves no place there for --json"
        )));
    }
    let warning = gate.warning(&args.listen, ANYBODY_MAY);
    let shares = match (args.is_to_output(), &warning) {
        (true, _) => args.shares.of_one_file(),
        (false, None) => args.shares.of_known(),
        (false, Some(_)) => args.shares.of_anybody(),
    };
    let inbox = shares.limit(inbox);
    let inbox = inbox
        .existing(args.taste.existing())
        .incomplete(args.shares.incomplete())
        .accept_hidden(args.taste.hidden)
        .limits(args.limits.of_peers());
    let progress = Progress::new(args.verbosity.verbosity())?;
    let qlog = args.qlog.of_server()?;
    let outcome = runtime::run(Threads::All, async |interruption| {
        let config = args.shares.endpoint(association, warning.is_some());
        // Whoever has a place is accepted, however many come at once.
        let backlog = config.max_associations as usize;
        let builder = qlog
            .attach(zoned::builder(&args.listen), "receive")
            .port(args.sctp.port)
            .encapsulation_port(args.sctp.encapsulation_port)
            .carriers(args.sctp.carriers())
            .config(config)
            .make_way(args.shares.crowding.make_way())
            .listen(backlog);
        let unusable = |error| Failure::Usage(anyhow!("--out {:#}", Error::from(error)));
        inbox.check().map_err(unusable)?;
        let endpoint = runtime::bind(builder).map_err(|failure| failure.about("--listen"))?;
        inbox.prepare().map_err(unusable)?;
        let leftovers = inbox.leftovers();
        progress.remark(&format!(
            "listening on {}, {}",
            zoned::list(&args.listen),
            args.sctp.ports(endpoint.encapsulation_port())
        ));
        if let Some(warning) = &warning {
            progress.tell(warning);
            progress.tell(&shares.told());
        }
        if !leftovers.is_empty() {
            progress.remark(&tell_leftovers(args, &leftovers));
        }
        let result = serve((&endpoint, gate), &inbox, &progress, args, interruption).await;
        progress.end();
        runtime::drain(&endpoint, interruption).await;
        result
    });
    qlog.end(outcome)
}

/// A line about incomplete files.
fn tell_leftovers(args: &Args, leftovers: &[Leftover]) -> String {
    const MOST: usize = 10;
    let name = |leftover: &Leftover| format!("{} ({})", leftover.name, size(leftover.bytes));
    let mut shown: Vec<_> = leftovers.iter().take(MOST).map(name).collect();
    if leftovers.len() > MOST {
        shown.push(format!("and {} more", leftovers.len() - MOST));
    }
    format!(
        "incomplete files in {}: {}; sending one again resumes it; they are removed after {}",
        args.out.display(),
        shown.join(", "),
        args.shares.days()
    )
}

async fn serve(
    (endpoint, mut gate): (&Endpoint, Gate),
    inbox: &Inbox,
    progress: &Progress,
    args: &Args,
    interruption: &Interruption,
) -> Outcome {
    let mut sessions = JoinSet::new();
    let json = args.json.then(output::results).transpose()?;
    let mut reports = Reports { json, incomplete: 0, failure: None };
    let mut only = (args.once || args.is_to_output()).then(|| Only::new(args.wait_for));
    loop {
        tokio::select! {
            accepted = inbox.accept(endpoint), if only.is_none() || sessions.is_empty() => {
                if only.is_some() {
                    // Others learn that they come too late before the first one is answered.
                    endpoint.stop_listening();
                }
                let receiver = accepted?;
                let key = gate.admit(receiver.association());
                if let Some(only) = &mut only {
                    if !only.is_expected(&key) {
                        receiver.association().abort(OTHERS_TURN);
                        endpoint.resume_listening();
                        continue;
                    }
                    // What it did not get through before, it may now.
                    reports.incomplete = 0;
                }
                sessions.spawn(session((receiver, key), progress.clone(), interruption.clone()));
            }
            line = gate.changed(endpoint) => progress.tell(&line),
            Some(ended) = sessions.join_next() => {
                let may_return = reports.add(ended, progress);
                match &mut only {
                    Some(only) if may_return && !only.patience.is_zero() => {
                        only.wait();
                        endpoint.resume_listening();
                        progress.tell(&only.told());
                    }
                    Some(_) => return reports.outcome(progress, WITHOUT_END),
                    None => {}
                }
            }
            () = Only::is_late(only.as_ref()) => {
                progress.tell(&format!("no sender came back within {} s", args.wait_for.as_secs_f64()));
                return reports.outcome(progress, WITHOUT_END);
            }
            () = interruption.happened() => break,
        }
    }
    while let Some(ended) = sessions.join_next().await {
        let _ = reports.add(ended, progress);
    }
    let _ = reports.outcome(progress, INTERRUPTED);
    Err(Failure::Interrupted)
}

/// The only sender that is served; it may reconnect after it has lost its association.
#[derive(Debug)]
struct Only {
    patience: Duration,
    /// Time until which it may reconnect.
    until: Option<Instant>,
    /// Its key, if senders have keys, once it has connected.
    key: Option<Option<String>>,
}

impl Only {
    fn new(patience: Duration) -> Self {
        Self { patience, until: None, key: None }
    }

    /// Whether a new association is that of the expected sender; if so, the wait ends.
    fn is_expected(&mut self, key: &Result<Option<String>, &'static str>) -> bool {
        match (&self.key, key) {
            (Some(expected), Ok(key)) if expected != key => return false,
            (Some(_), Err(_)) => return false,
            (Some(_), Ok(_)) | (None, Err(_)) => {}
            (None, Ok(key)) => self.key = Some(key.clone()),
        }
        self.until = None;
        true
    }

    /// Begins to wait for it to reconnect.
    fn wait(&mut self) {
        // A time beyond the range of the clock means no limit.
        self.until = Instant::now().checked_add(self.patience);
    }

    fn told(&self) -> String {
        format!("waiting {} s for the sender to connect again", self.patience.as_secs())
    }

    /// Waits until the time to reconnect is over.
    async fn is_late(only: Option<&Self>) {
        match only.and_then(|only| only.until) {
            Some(until) => sleep_until(until).await,
            None => pending().await,
        }
    }
}

/// Outcomes of the sessions. A failure of one, or of writing its summary, does not affect the others.
struct Reports {
    /// Standard output, if summaries go there.
    json: Option<Outlet>,
    incomplete: usize,
    /// The first failure.
    failure: Option<Failure>,
}

impl Reports {
    /// Whether the sender may return is what comes of it.
    fn add(&mut self, ended: Result<Ended, JoinError>, progress: &Progress) -> bool {
        let (told, may_return) = match ended {
            Ok(Ended { summary, may_return }) => {
                self.incomplete += usize::from(!summary.report.complete);
                (self.json.as_ref().map_or(Ok(()), |json| print(&summary, json)), may_return)
            }
            Err(error) => {
                (Err(Failure::Failed(Error::from(error).context("a session failed"))), false)
            }
        };
        self.note(told, progress);
        may_return
    }

    fn note(&mut self, told: Outcome, progress: &Progress) {
        if let Err(failure) = told {
            progress.tell(&format!("error: {failure}"));
            self.failure.get_or_insert(failure);
        }
    }

    /// The outcome, once the summaries are written or their reader has read nothing for `patience`.
    fn outcome(mut self, progress: &Progress, patience: Duration) -> Outcome {
        if let Some(json) = self.json.take() {
            json.flush(patience);
            self.note(output::failure_of(&json), progress);
        }
        match self.failure {
            Some(failure) => Err(failure),
            None if self.incomplete > 0 => Err(anyhow!("the transfer is not complete").into()),
            None => Ok(()),
        }
    }
}

/// Queues a summary. The error may be that of an earlier one.
fn print(summary: &Summary, json: &Outlet) -> Outcome {
    json.put(summary.to_json()?.into_bytes());
    output::failure_of(json)
}

/// The end of a session.
struct Ended {
    summary: Summary,
    /// Whether the association was lost, so that the sender may connect again.
    may_return: bool,
}

/// Serves one sender, whose key has a name if there are keys.
async fn session(
    (receiver, key): (Receiver, Result<Option<String>, &'static str>),
    progress: Progress,
    interruption: Interruption,
) -> Ended {
    let association = receiver.association().clone();
    let (key, refused) = match key {
        Ok(key) => (key, None),
        Err(reason) => (None, Some(reason)),
    };
    let events = progress.follow(Side::Receiver, &Line::new(&association), key.as_deref());
    let paths = progress.follow_paths(Side::Receiver, &association);
    let receiver = match &key {
        Some(key) => receiver.owner(key),
        None => receiver,
    };
    let mut receiver = receiver.on_event(events);
    let mut may_return = false;
    let failed = tokio::select! {
        received = receiver.run(), if refused.is_none() => match received {
            Ok(()) => None,
            Err(error) => {
                may_return = receiver.may_be_resumed(&error);
                Some(Error::from(error))
            }
        },
        reason = broken_off(refused, &interruption) => {
            receiver.abort(reason).await;
            Some(anyhow!(reason))
        }
    };
    paths.abort();
    if let Some(error) = failed {
        let peer: Vec<_> = association.remote_addresses().iter().map(ToString::to_string).collect();
        let key = key.as_ref().map_or(String::new(), |key| format!(", key {key}"));
        let line = format!("from {}{key}: {error:#}", peer.join(", "));
        progress.tell_of(peer_of(&association), &line);
    }
    let summary = Summary { key, ..Summary::from(receiver.into_report()) };
    Ended { summary, may_return }
}

/// Why a session ends early.
async fn broken_off(refused: Option<&'static str>, interruption: &Interruption) -> &'static str {
    match refused {
        Some(reason) => reason,
        None => {
            interruption.happened().await;
            "the receiver was interrupted"
        }
    }
}
