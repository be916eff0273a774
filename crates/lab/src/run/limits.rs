//! Limits of the time and the attempts of runs.

use std::num::NonZeroU32;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::journal::{Note, Status};

/// Budget of processor time for one or several studies.
#[derive(Debug)]
pub struct Budget {
    limit_s: f64,
    used_us: AtomicU64,
}

impl Budget {
    /// A budget in seconds.
    pub fn of_seconds(limit_s: f64) -> Self {
        Self { limit_s, used_us: AtomicU64::new(0) }
    }

    /// Used time in seconds.
    pub fn used_s(&self) -> f64 {
        self.used_us.load(Ordering::Relaxed) as f64 * 1e-6
    }

    /// Whether the budget is used up.
    pub fn is_spent(&self) -> bool {
        self.used_s() >= self.limit_s
    }

    /// Adds the time of a run.
    pub(super) fn spend(&self, seconds: f64) {
        self.used_us.fetch_add((seconds * 1e6) as u64, Ordering::Relaxed);
    }
}

/// Limits of the time and the attempts of runs. They do not change the result of a run within them.
#[derive(Clone, Copy, Debug)]
pub struct Limits<'a> {
    /// Maximum time of a run; default: no limit.
    pub run_timeout: Option<Duration>,
    /// Maximum number of attempts for a run that crashes.
    pub attempts: NonZeroU32,
    /// When set, runs in progress are abandoned and not recorded.
    pub abandon: Option<&'a AtomicBool>,
    /// Budget after which no run is started; default: no limit.
    pub budget: Option<&'a Budget>,
}

impl Default for Limits<'_> {
    fn default() -> Self {
        let attempts = NonZeroU32::MIN.saturating_add(2);
        Self { run_timeout: None, attempts, abandon: None, budget: None }
    }
}

/// Why a run did not complete.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Cut {
    /// The run took too long.
    TimedOut,
    /// The run was abandoned.
    Abandoned,
}

/// A run under supervision.
#[derive(Clone, Copy, Debug)]
pub(super) struct Watched<'a> {
    limits: Limits<'a>,
    start: Instant,
}

impl<'a> Limits<'a> {
    /// Starts the supervision of a run.
    pub(super) fn watch(self) -> Watched<'a> {
        Watched { limits: self, start: Instant::now() }
    }

    /// Whether an earlier run must be repeated.
    pub(super) fn wants_again(self, note: Note) -> bool {
        match note.status {
            Status::Ok | Status::Failed | Status::Refused => false,
            Status::Crashed => note.failures < self.attempts.get(),
            // Only if it may now take longer than it did then.
            Status::TimedOut => {
                self.run_timeout.is_none_or(|limit| limit.as_secs_f64() > note.execution.wall_s)
            }
        }
    }
}

impl Watched<'_> {
    /// Why the run must stop.
    pub fn cut(self) -> Option<Cut> {
        if self.limits.abandon.is_some_and(|abandon| abandon.load(Ordering::Relaxed)) {
            return Some(Cut::Abandoned);
        }
        let is_over = self.limits.run_timeout.is_some_and(|limit| self.start.elapsed() >= limit);
        is_over.then_some(Cut::TimedOut)
    }

    /// The recorded outcome of a run that took too long.
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
    fn a_budget_is_spent_by_runs() {
        let budget = Budget::of_seconds(2.5);
        budget.spend(2.0);
        assert!(!budget.is_spent());
        budget.spend(0.5);
        assert!(budget.is_spent());
        assert_eq!(budget.used_s(), 2.5);
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
