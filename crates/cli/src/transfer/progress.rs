//! Progress of a transfer: a bar with the rate of each path on a terminal, otherwise a line now and then.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use polypath::{Association, PathStats};
use polypath_transfer::{Event, Side};
use tokio::task::AbortHandle;
use tokio::time::{MissedTickBehavior, interval};

use super::summary::ReceivedLine;
use super::{Verbosity, paths};
use crate::failure::Failure;
use crate::output::{self, PeerLines, tell};

/// Polling interval of the counters.
const TICK: Duration = Duration::from_millis(250);
/// Ticks between two lines without a terminal.
const TICKS_PER_LINE: u64 = 40;

/// The progress of all files on standard error. A stalled reader does not block transfers.
#[derive(Clone, Debug)]
pub(crate) struct Progress {
    /// Bars on a terminal; otherwise lines.
    bars: Option<MultiProgress>,
    verbosity: Verbosity,
    begin: tokio::time::Instant,
    peers: Arc<PeerLines>,
}

/// The association of a transfer, which may be another one after an outage.
#[derive(Clone, Debug)]
pub(crate) struct Line(Arc<Mutex<Association>>);

impl Line {
    pub(crate) fn new(association: &Association) -> Self {
        Self(Arc::new(Mutex::new(association.clone())))
    }

    pub(crate) fn get(&self) -> Association {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn set(&self, association: &Association) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = association.clone();
    }
}

/// The progress of one file; it vanishes when dropped.
#[derive(Debug)]
struct FileProgress {
    moved: Arc<AtomicU64>,
    task: AbortHandle,
    bar: Option<ProgressBar>,
}

impl Progress {
    /// Bars or lines, as suits standard error.
    ///
    /// # Errors
    ///
    /// The system cannot create the writing thread.
    pub(crate) fn new(verbosity: Verbosity) -> Result<Self, Failure> {
        output::never_block()?;
        let bars = || MultiProgress::with_draw_target(output::progress_target());
        let bars = (output::is_interactive() && verbosity > Verbosity::Quiet).then(bars);
        let begin = tokio::time::Instant::now();
        Ok(Self { bars, verbosity, begin, peers: Arc::new(PeerLines::new()) })
    }

    /// Prints a line unless output is quiet.
    pub(crate) fn remark(&self, line: &str) {
        if self.verbosity > Verbosity::Quiet {
            self.tell(line);
        }
    }

    /// Prints a line if output is verbose.
    pub(crate) fn detail(&self, line: &str) {
        if self.verbosity >= Verbosity::Verbose {
            self.tell(line);
        }
    }

    /// Prints lines about the paths of an association until it ends. Those of one among many are details.
    pub(crate) fn follow_paths(&self, side: Side, association: &Association) -> AbortHandle {
        let (progress, association) = (self.clone(), association.clone());
        // A sender may have one association after the other, a receiver has many at a time.
        let begin = match side {
            Side::Sender => self.begin,
            Side::Receiver => tokio::time::Instant::now(),
        };
        let peer = peer_of(&association);
        let watch = async move {
            match side {
                Side::Sender if progress.verbosity > Verbosity::Quiet => {
                    let tell = |line: &str| progress.tell(line);
                    paths::watch(association, begin, progress.verbosity, tell).await;
                }
                Side::Receiver if progress.verbosity >= Verbosity::Verbose => {
                    let tell = |line: &str| progress.tell_of(peer, &format!("from {peer}: {line}"));
                    paths::watch(association, begin, progress.verbosity, tell).await;
                }
                Side::Sender | Side::Receiver => {}
            }
        };
        tokio::spawn(watch).abort_handle()
    }

    /// Prints a line, even if output is quiet.
    pub(crate) fn tell(&self, line: &str) {
        match &self.bars {
            Some(bars) => bars.suspend(|| tell(format_args!("{line}"))),
            None => tell(format_args!("{line}")),
        }
    }

    /// Prints a line that a peer caused, within the limit of the peer.
    pub(crate) fn tell_of(&self, peer: IpAddr, line: &str) {
        self.peers.tell(peer, line, |line| self.tell(line));
    }

    /// The same, unless output is quiet.
    fn remark_of(&self, peer: IpAddr, line: &str) {
        if self.verbosity > Verbosity::Quiet {
            self.tell_of(peer, line);
        }
    }

    /// Prints how many lines of peers were dropped.
    pub(crate) fn end(&self) {
        self.peers.end(|line| self.tell(line));
    }

    /// Follows the files of a transfer. `key` is the name of the sender's key, if it has one.
    pub(crate) fn follow(
        &self,
        side: Side,
        line: &Line,
        key: Option<&str>,
    ) -> impl FnMut(&Event) + Send + use<> {
        let key = key.map_or(String::new(), |key| format!(", key {key}"));
        let (progress, line) = (self.clone(), line.clone());
        let peer = peer_of(&line.get());
        let mut current: Option<FileProgress> = None;
        move |event| match event {
            Event::Begun { name, bytes } => {
                current = Some(progress.file(side, name, *bytes, &line));
            }
            Event::Resumed { name, bytes } => {
                current.iter().for_each(|file| file.advance(*bytes));
                let text = format!("{name}: resuming at {}", size(*bytes));
                match side {
                    Side::Sender => progress.remark(&text),
                    Side::Receiver => progress.remark_of(peer, &text),
                }
            }
            Event::Interrupted { error, patience } => {
                current = None;
                let seconds = patience.as_secs();
                progress.remark(&format!(
                    "the connection was lost ({error}); reconnecting for up to {seconds} s"
                ));
            }
            Event::Reconnected { after } => {
                progress.remark(&format!("reconnected after {:.0} s", after.as_secs_f64()));
            }
            Event::HiddenRefused { count, of, first } => {
                progress.remark(&hidden(*count, *of, first))
            }
            Event::Progress { bytes } => current.iter().for_each(|file| file.advance(*bytes)),
            Event::Ended { file, warning } => {
                current = None;
                // A sender has a summary at its end.
                if side == Side::Receiver {
                    progress.remark_of(peer, &format!("{}{key}", ReceivedLine(file)));
                    if let Some(warning) = warning {
                        progress.tell_of(peer, &format!("  warning: {warning}"));
                    }
                }
            }
            _ => {}
        }
    }

    /// Follows a file of `len` bytes until the result is dropped.
    fn file(&self, side: Side, name: &str, len: u64, line: &Line) -> FileProgress {
        let moved = Arc::new(AtomicU64::new(0));
        let bar = self.bars.as_ref().map(|bars| {
            bars.add(ProgressBar::new(len).with_style(style()).with_prefix(name.to_owned()))
        });
        let watch = Watch {
            side,
            name: name.to_owned(),
            len,
            line: line.clone(),
            is_quiet: self.verbosity == Verbosity::Quiet,
            moved: Arc::clone(&moved),
            bar: bar.clone(),
        };
        FileProgress { moved, task: tokio::spawn(watch.run()).abort_handle(), bar }
    }
}

impl FileProgress {
    /// Notes that the file is `bytes` further.
    fn advance(&self, bytes: u64) {
        self.moved.fetch_add(bytes, Ordering::Relaxed);
    }
}

impl Drop for FileProgress {
    fn drop(&mut self) {
        self.task.abort();
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// Polls the counters of an association.
struct Watch {
    side: Side,
    name: String,
    len: u64,
    line: Line,
    is_quiet: bool,
    moved: Arc<AtomicU64>,
    bar: Option<ProgressBar>,
}

impl Watch {
    async fn run(self) {
        let mut ticks = interval(TICK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
        if self.is_quiet {
            return;
        }
        let (mut before, mut then) = (self.line.get().path_stats(), Instant::now());
        ticks.tick().await;
        for tick in 1_u64.. {
            ticks.tick().await;
            if self.bar.is_none() && !tick.is_multiple_of(TICKS_PER_LINE) {
                continue;
            }
            let (paths, now) = (self.line.get().path_stats(), Instant::now());
            let rates = path_rates(self.side, &before, &paths, now - then);
            (before, then) = (paths, now);
            self.show(&rates);
        }
    }

    fn show(&self, rates: &str) {
        let moved = self.moved.load(Ordering::Relaxed);
        let position = match self.side {
            Side::Sender => moved.saturating_sub(self.line.get().stats().send_buffer_bytes),
            Side::Receiver => moved,
        };
        match &self.bar {
            Some(bar) => {
                bar.set_position(position);
                bar.set_message(rates.to_owned());
            }
            None if self.len == 0 => {
                tell(format_args!("{}: {}, {rates}", self.name, size(position)))
            }
            None => tell(format_args!(
                "{}: {} of {}, {rates}",
                self.name,
                size(position),
                size(self.len)
            )),
        }
    }
}

/// The address that stands for the peer of an association.
pub(crate) fn peer_of(association: &Association) -> IpAddr {
    association.remote_addresses().first().copied().unwrap_or(Ipv4Addr::UNSPECIFIED.into())
}

/// Hidden files that the receiver does not take, in one sentence before anything is sent.
fn hidden(count: usize, of: usize, first: &str) -> String {
    let what = match (count, of) {
        (1, _) => format!("{first} is hidden"),
        _ => format!("{count} of {of} files and directories are hidden ({first} is the first)"),
    };
    format!(
        "{what}, and the receiver refuses names that begin with a dot: start it with --hidden, or send without them \
         (--skip-hidden)"
    )
}

/// The rate of each path between two polls.
fn path_rates(side: Side, before: &[PathStats], now: &[PathStats], elapsed: Duration) -> String {
    let rates = paths::labels(now).into_iter().zip(now).map(|(label, path)| {
        let earlier = before
            .iter()
            .find(|other| other.path == path.path)
            .map_or(0, |other| side.bytes(other));
        let bits = side.bytes(path).saturating_sub(earlier) as f64 * 8.0;
        format!("{label} {}", rate(bits / elapsed.as_secs_f64().max(1e-3)))
    });
    rates.collect::<Vec<_>>().join(", ")
}

fn style() -> ProgressStyle {
    let plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let template = template(if plain { PLAIN_BAR } else { COLOURED_BAR });
    ProgressStyle::with_template(&template).unwrap_or_else(|_| ProgressStyle::default_bar())
}

const PLAIN_BAR: &str = "{bar:24}";
const COLOURED_BAR: &str = "{bar:24.cyan/blue}";

fn template(bar: &str) -> String {
    format!("{{prefix}} {bar} {{decimal_bytes}} of {{decimal_total_bytes}}, {{eta}}, {{msg}}")
}

/// A rate in decimal units.
pub(crate) fn rate(bits_per_second: f64) -> String {
    scaled(bits_per_second, ["bit/s", "kbit/s", "Mbit/s", "Gbit/s"])
}

/// A size in decimal units.
pub(crate) fn size(bytes: u64) -> String {
    if bytes < 1000 { format!("{bytes} B") } else { scaled(bytes as f64, ["B", "kB", "MB", "GB"]) }
}

fn scaled(mut value: f64, units: [&str; 4]) -> String {
    let mut unit = 0;
    while value >= 999.95 && unit + 1 < units.len() {
        value /= 1000.0;
        unit += 1;
    }
    format!("{value:.1} {}", units[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_for_people() {
        assert_eq!(size(0), "0 B");
        assert_eq!(size(999), "999 B");
        assert_eq!(size(1000), "1.0 kB");
        assert_eq!(size(200_000_000), "200.0 MB");
        assert_eq!(size(999_999), "1.0 MB");
        assert_eq!(size(u64::MAX), "18446744073.7 GB");
        assert_eq!(rate(142_857_142.9), "142.9 Mbit/s");
        assert_eq!(rate(0.0), "0.0 bit/s");
    }

    #[test]
    fn the_template_of_the_bar_is_valid() {
        for bar in [PLAIN_BAR, COLOURED_BAR] {
            assert!(ProgressStyle::with_template(&template(bar)).is_ok());
        }
    }
}
