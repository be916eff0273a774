//! Standard output and standard error.

mod outlet;
mod ration;
mod terminal;

use std::fs::File;
use std::io::{self, ErrorKind, IsTerminal, Write};
use std::net::IpAddr;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use anyhow::Context;
use indicatif::ProgressDrawTarget;

use crate::failure::{Failure, Outcome};
use crate::table::{Width, fold};
use ration::{Ration, Verdict};
use terminal::Terminal;

pub(crate) use outlet::Outlet;

/// Size of the queue for standard error, in bytes.
const LOG_BYTES: usize = 256 << 10;
/// Size of the queue for standard output, in bytes.
const RESULT_BYTES: usize = 8 << 20;
/// How long the program waits at its end for a stalled reader of standard error.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// Standard error of a command that must not block.
static LOG: OnceLock<Outlet> = OnceLock::new();

/// Writes a line to standard error. If it has been closed, the line is dropped and the command continues.
///
/// After [`never_block`] this does not wait for a reader.
pub(crate) fn tell(line: std::fmt::Arguments<'_>) {
    draw(format!("{line}\n"));
}

/// Writes text to standard error, as [`tell`] does.
fn draw(text: String) {
    match LOG.get() {
        Some(log) => log.put(text.into_bytes()),
        None => drop(io::stderr().write_all(text.as_bytes())),
    }
}

/// From now on, a stalled reader of standard error does not block the program: what does not fit a queue is dropped, and a line says
/// how much that was.
pub(crate) fn never_block() -> Outcome {
    let remark = |lines| Some(format!("{lines} lines were left out: nobody read standard error\n"));
    let log = Outlet::start(io::stderr(), LOG_BYTES, remark);
    // If this was called before, that queue is used.
    let _ = LOG.set(log.context("cannot start a thread that writes to standard error")?);
    Ok(())
}

/// Waits at the end of the program until the lines of [`tell`] are written, but not long for a stalled reader.
pub(crate) fn finish() {
    if let Some(log) = LOG.get() {
        log.flush(LAST_WORDS);
    }
}

/// Where progress bars are drawn after [`never_block`].
pub(crate) fn progress_target() -> ProgressDrawTarget {
    ProgressDrawTarget::term_like_with_hz(Box::new(Terminal::stderr(draw)), 20)
}

/// Standard output for the results of a command that serves several peers: writing does not block.
pub(crate) fn results() -> Result<Outlet, Failure> {
    let remark = |results| {
        tell(format_args!("error: {results} results were left out: nobody read standard output"));
        None
    };
    let results = Outlet::start(io::stdout(), RESULT_BYTES, remark);
    Ok(results.context("cannot start a thread that writes to standard output")?)
}

/// The same for a file, which may be a pipe.
pub(crate) fn results_to(file: File) -> Result<Outlet, Failure> {
    let remark = |results| {
        tell(format_args!("error: {results} results were left out: nobody read the log file"));
        None
    };
    let results = Outlet::start(file, RESULT_BYTES, remark);
    Ok(results.context("cannot start a thread that writes to the log file")?)
}

/// The error of [`results`] since the last call.
pub(crate) fn failure_of(results: &Outlet) -> Outcome {
    results.take_failure().map_or(Ok(()), |error| Err(cannot_print(error)))
}

/// The error of [`results_to`] since the last call.
pub(crate) fn failure_of_log(results: &Outlet) -> Outcome {
    let failure = results.take_failure().map(anyhow::Error::from);
    failure.map_or(Ok(()), |error| Err(Failure::Failed(error.context("cannot write the log file"))))
}

/// Writes text to standard output, as [`print`] does; lines wider than the terminal are folded.
pub(crate) fn show(text: &str) -> Outcome {
    print(fold(text, Width::of_output()).as_bytes())
}

/// Writes a result to standard output: JSON as it is, text as [`show`] does.
pub(crate) fn answer(is_json: bool, text: &str) -> Outcome {
    if is_json { print(text.as_bytes()) } else { show(text) }
}

/// Writes to standard output. A closed pipe (`| head`) is not a failure.
pub(crate) fn print(bytes: &[u8]) -> Outcome {
    let mut out = io::stdout().lock();
    match out.write_all(bytes).and_then(|()| out.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        result => result.map_err(cannot_print),
    }
}

fn cannot_print(error: io::Error) -> Failure {
    Failure::Failed(anyhow::Error::from(error).context("cannot write to standard output"))
}

/// Whether standard error is a terminal.
pub(crate) fn is_interactive() -> bool {
    io::stderr().is_terminal()
}

/// Lines that peers cause, a limited number for each.
#[derive(Debug)]
pub(crate) struct PeerLines {
    begin: Instant,
    ration: Mutex<Ration>,
}

impl PeerLines {
    /// No lines so far.
    pub(crate) fn new() -> Self {
        Self { begin: Instant::now(), ration: Mutex::default() }
    }

    /// Passes `line` to `tell` if `peer` may cause another one, after a line about those that were dropped.
    pub(crate) fn tell(&self, peer: IpAddr, line: &str, tell: impl Fn(&str)) {
        let now = self.begin.elapsed();
        let verdict = self.ration.lock().unwrap_or_else(PoisonError::into_inner).admit(peer, now);
        if let Verdict::Write(left_out) = verdict {
            if left_out > 0 {
                tell(&gap(peer, left_out));
            }
            tell(line);
        }
    }

    /// Passes lines about what was dropped so far to `tell`.
    pub(crate) fn end(&self, tell: impl Fn(&str)) {
        let left_out = self.ration.lock().unwrap_or_else(PoisonError::into_inner).take_left_out();
        for (peer, count) in left_out {
            tell(&gap(peer, count));
        }
    }
}

fn gap(peer: IpAddr, lines: u64) -> String {
    format!("{lines} lines about {peer} were left out: it caused too many")
}
