//! How far runs have come.

use std::io::{self, IsTerminal};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use polypath_lab::run::{Progress, Status};

/// A line on the terminal: runs done, runs left, time left.
pub(crate) struct Bar(ProgressBar);

impl Bar {
    /// Nothing is drawn where standard error is no terminal.
    pub fn new() -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(4));
        let style = ProgressStyle::with_template(
            "{prefix}{bar:30} {human_pos} of {human_len} runs, {elapsed} gone, {eta} left{msg}",
        );
        if let Ok(style) = style {
            bar.set_style(style);
        }
        if io::stderr().is_terminal() {
            bar.enable_steady_tick(Duration::from_millis(250));
        }
        Self(bar)
    }

    /// Begins anew, for a part of the work.
    pub fn begin(&self, name: &str) {
        self.0.unset_length();
        self.0.reset();
        self.0.set_prefix(format!("{name}: "));
    }

    /// Lets something else be written.
    pub fn suspend(&self, write: impl FnOnce()) {
        self.0.suspend(write);
    }

    /// Takes the line away.
    pub fn clear(&self) {
        self.0.finish_and_clear();
    }
}

impl Progress for Bar {
    fn expect(&self, runs: usize) {
        // Without a length there is no bar yet, instead of a full one.
        let known = self.0.length().unwrap_or(0);
        self.0.set_length(known + runs as u64);
    }

    fn done(&self, status: Status) {
        self.0.inc(1);
        if !status.has_results() {
            self.0.set_message(", with errors");
        }
    }
}
