//! Keeps what waits in front of the transport short.
//!
//! A send buffer has to be as large as what is under way. A sender that fills it with what was never sent would measure the
//! buffer: messages would be as old as the queue is long, and a measurement would end long after its time. So a message may
//! pass when no more waits than what goes in about one round trip (after the idea of `TCP_NOTSENT_LOWAT`).

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use polypath::{Association, PathStatus};
use tokio::time::sleep;

/// Pause between two looks at a queue that is long enough.
const PAUSE: Duration = Duration::from_millis(1);
/// What waits must last for a few pauses, or the transport would run dry.
const PAUSES_AHEAD: f64 = 4.0;
/// Most bytes that wait.
const MOST: u64 = 8 << 20;

/// The gate of an association.
#[derive(Debug)]
pub(crate) struct Gate {
    association: Association,
    /// Fewest bytes that may wait.
    least: u64,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// Bytes that may pass before the next look.
    allowance: u64,
    /// Bytes that passed so far.
    passed: u64,
    /// The last look: when, and how many bytes had left the queue.
    last: (Instant, u64),
}

impl Gate {
    /// A gate for messages of at most `longest` bytes.
    pub fn new(association: Association, longest: u64) -> Self {
        let state = State { allowance: 0, passed: 0, last: (Instant::now(), 0) };
        Self { association, least: 2 * longest, state: Mutex::new(state) }
    }

    /// Waits until a message of so many bytes may pass.
    pub async fn pass(&self, bytes: usize) {
        while !self.try_pass(bytes as u64) {
            sleep(PAUSE).await;
        }
    }

    fn try_pass(&self, bytes: u64) -> bool {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.allowance == 0 {
            state.look(
                Instant::now(),
                self.association.stats().unsent_bytes,
                self.windows(),
                self.least,
            );
        }
        if state.allowance == 0 {
            return false;
        }
        state.allowance = state.allowance.saturating_sub(bytes);
        state.passed += bytes;
        true
    }

    /// Congestion windows of all paths that carry data.
    fn windows(&self) -> u64 {
        let paths = self.association.path_stats();
        let active = paths.iter().filter(|path| path.status == PathStatus::Active);
        active.map(|path| path.cwnd_bytes).sum()
    }
}

impl State {
    fn look(&mut self, now: Instant, unsent: u64, windows: u64, least: u64) {
        let gone = self.passed.saturating_sub(unsent);
        let (then, gone_then) = self.last;
        let time = now.duration_since(then).max(PAUSE).as_secs_f64();
        let speed = gone.saturating_sub(gone_then) as f64 / time;
        let ahead = (speed * PAUSE.as_secs_f64() * PAUSES_AHEAD) as u64;
        self.last = (now, gone);
        self.allowance = windows.max(ahead).min(MOST).max(least).saturating_sub(unsent);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_waits_follows_windows_and_speed() {
        let begin = Instant::now();
        let mut state = State { allowance: 0, passed: 0, last: (begin, 0) };
        state.look(begin, 0, 4_000, 3_000);
        assert_eq!(state.allowance, 4_000);
        state.passed = 4_000;
        state.look(begin + PAUSE, 4_000, 4_000, 3_000);
        assert_eq!(state.allowance, 0, "nothing has left");
        state.look(begin + 2 * PAUSE, 1_000, 3_500, 3_000);
        // 3,000 bytes left in one pause.
        assert_eq!(state.allowance, 12_000 - 1_000);
        state.passed = 1 << 40;
        state.look(begin + 3 * PAUSE, 0, 0, 3_000);
        assert_eq!(state.allowance, MOST);
        state.look(begin + 4 * PAUSE, 0, 0, 3_000);
        assert_eq!(state.allowance, 3_000, "at least a message");
    }
}
