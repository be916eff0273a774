//! How long runs may take, and how often one is tried.

use std::num::NonZeroU32;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::journal::{Note, Status};

/// How long runs may take, and how often one is tried. No run that keeps to them is any different.
#[derive(Clone, Copy, Debug)]
pub struct Limits<'a> {
    /// Longest time of a run; default: none.
    pub run_timeout: Option<Duration>,
    /// How often a run is made that crashes each time.
    pub attempts: NonZeroU32,
    /// When set, runs in progress are left, and nothing is written down of them.
    pub abandon: Option<&'a AtomicBool>,
}

impl Default for Limits<'_> {
    fn default() -> Self {
        Self { run_timeout: None, attempts: NonZeroU32::MIN.saturating_add(2), abandon: None }
    }
}

/// Why a run did not come to its end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Cut {
    /// It took too long.
    TimedOut,
    /// It was left.
    Abandoned,
}

/// A run that is looked after.
#[derive(Clone, Copy, Debug)]
pub(super) struct Watched<'a> {
    limits: Limits<'a>,
    start: Instant,
}

impl<'a> Limits<'a> {
    /// Begins to look after a run.
    pub(super) fn watch(self) -> Watched<'a> {
        Watched { limits: self, start: Instant::now() }
    }

    /// Whether a run that was made before is to be made once more.
    pub(super) fn wants_again(self, note: Note) -> bool {
        match note.status {
            Status::Ok | Status::Failed | Status::Refused => false,
            Status::Crashed => note.failures < self.attempts.get(),
            // Only if it may take longer than it did.
            Status::TimedOut => {
                self.run_timeout.is_none_or(|limit| limit.as_secs_f64() > note.execution.wall_s)
            }
        }
    }
}

impl Watched<'_> {
    /// Why the run must not go on.
    pub fn cut(self) -> Option<Cut> {
        if self.limits.abandon.is_some_and(|abandon| abandon.load(Ordering::Relaxed)) {
            return Some(Cut::Abandoned);
        }
        let is_over = self.limits.run_timeout.is_some_and(|limit| self.start.elapsed() >= limit);
        is_over.then_some(Cut::TimedOut)
    }

    /// What is written down of a run that took too long.
    pub fn reason(self) -> String {
        let limit = self.limits.run_timeout.unwrap_or_default();
        format!(
            "it took longer than {} s, the limit for a run (--run-timeout)",
            limit.as_secs_f64()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::Execution;

    fn note(status: Status, wall_s: f64, failures: u32) -> Note {
        Note { status, execution: Execution { wall_s, ..Execution::default() }, failures }
    }

    #[test]
    fn results_are_final_and_crashes_are_tried_again_for_a_while() {
        let limits = Limits::default();
        for status in [Status::Ok, Status::Failed, Status::Refused] {
            assert!(!limits.wants_again(note(status, 1.0, 0)), "{status:?}");
        }
        assert!(limits.wants_again(note(Status::Crashed, 1.0, 2)));
        assert!(!limits.wants_again(note(Status::Crashed, 1.0, 3)));
    }

    #[test]
    fn what_took_too_long_is_tried_again_with_more_time() {
        let with = |seconds: Option<u64>| Limits {
            run_timeout: seconds.map(Duration::from_secs),
            ..Limits::default()
        };
        let note = note(Status::TimedOut, 10.2, 1);
        assert!(!with(Some(10)).wants_again(note));
        assert!(with(Some(20)).wants_again(note) && with(None).wants_again(note));
    }
}
