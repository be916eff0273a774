//! Progress of runs.

use std::io::{self, IsTerminal};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use polypath_lab::run::{Progress, Status};

use crate::output;

/// How much progress is printed.
#[derive(Debug, Clone, Copy, clap::Args)]
pub(crate) struct ProgressArgs {
    /// Print no progress, only results, warnings and errors
    #[arg(short, long)]
    quiet: bool,
    /// Print progress as lines too, one for each tenth of the runs, for logs
    #[arg(short, long, conflicts_with = "quiet")]
    verbose: bool,
}

impl ProgressArgs {
    /// Whether only results, warnings and errors are printed.
    pub fn is_quiet(self) -> bool {
        self.quiet
    }
}

/// The line before the number of runs is known.
const COUNTING: &str = "{prefix}{spinner} counting runs, {elapsed} gone";
/// The line after that.
const RUNNING: &str =
    "{prefix}{bar:30} {human_pos} of {human_len} runs, {elapsed} gone, {eta} left{msg}";

/// A line on the terminal: runs done, runs left, time left.
pub(crate) struct Bar {
    line: ProgressBar,
    args: ProgressArgs,
    counts: Mutex<Counts>,
}

/// State of the lines for a log.
#[derive(Default)]
struct Counts {
    name: String,
    done: usize,
    expected: usize,
}

impl Counts {
    /// Counts a run; returns a line if it completes a tenth.
    fn count(&mut self) -> Option<String> {
        let tenth = |done: usize| done * 10 / self.expected.max(1);
        let (before, now) = (tenth(self.done), tenth(self.done + 1));
        self.done += 1;
        (now > before).then(|| format!("{}{} of {} runs", self.name, self.done, self.expected))
    }
}

impl Bar {
    /// Nothing is drawn unless standard error is a terminal.
    pub fn new(args: ProgressArgs) -> Self {
        let target = match args.quiet {
            true => ProgressDrawTarget::hidden(),
            false => ProgressDrawTarget::stderr_with_hz(4),
        };
        let bar = ProgressBar::with_draw_target(None, target);
        set_style(&bar, COUNTING);
        if io::stderr().is_terminal() && !args.quiet {
            bar.enable_steady_tick(Duration::from_millis(250));
        }
        Self { line: bar, args, counts: Mutex::default() }
    }

    /// Restarts, for a part of the work.
    pub fn begin(&self, name: &str) {
        self.line.unset_length();
        self.line.reset();
        set_style(&self.line, COUNTING);
        self.line.set_prefix(format!("{name}: "));
        *self.counts() = Counts { name: format!("{name}: "), ..Counts::default() };
    }

    /// Hides the line while something else is written.
    pub fn suspend(&self, write: impl FnOnce()) {
        self.line.suspend(write);
    }

    /// Removes the line.
    pub fn clear(&self) {
        self.line.finish_and_clear();
    }

    /// Whether only results, warnings and errors are printed.
    pub fn is_quiet(&self) -> bool {
        self.args.is_quiet()
    }

    fn counts(&self) -> MutexGuard<'_, Counts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Progress for Bar {
    fn expect(&self, runs: usize) {
        let known = self.line.length();
        self.line.set_length(known.unwrap_or(0) + runs as u64);
        if known.is_none() {
            set_style(&self.line, RUNNING);
        }
        self.counts().expected += runs;
    }

    fn done(&self, status: Status) {
        self.line.inc(1);
        let line = self.counts().count();
        if let Some(line) = line.filter(|_| self.args.verbose) {
            self.line.suspend(|| output::tell(format_args!("{line}")));
        }
        if !status.has_results() {
            self.line.set_message(", with errors");
        }
    }
}

fn set_style(line: &ProgressBar, template: &str) {
    if let Ok(style) = ProgressStyle::with_template(template) {
        line.set_style(style);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_lines_can_be_drawn() {
        for template in [COUNTING, RUNNING] {
            assert!(ProgressStyle::with_template(template).is_ok(), "{template}");
        }
    }

    #[test]
    fn each_tenth_of_the_runs_has_a_line() {
        let lines = |expected: usize, runs: usize| {
            let mut counts = Counts { expected, ..Counts::default() };
            (0..runs).filter_map(|_| counts.count()).collect::<Vec<_>>()
        };
        assert_eq!(lines(20, 20).len(), 10);
        assert_eq!(lines(20, 4), ["2 of 20 runs", "4 of 20 runs"]);
        assert_eq!(lines(2, 2), ["1 of 2 runs", "2 of 2 runs"]);
        assert_eq!(lines(0, 1).len(), 1);
    }
}
