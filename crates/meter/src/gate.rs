//! Keeps what waits in front of the transport short.
//!
//! A send buffer has to be as large as what is under way. A sender that fills it with what was never sent would measure the
//! buffer: messages would be as old as the queue is long, and a measurement would end long after its time. So a message may
//! pass when no more waits than what goes in about one round trip (after the idea of `TCP_NOTSENT_LOWAT`).

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use polypath::{Association, PathStatus};

/// Pause between two looks at a queue that is long enough.
pub(crate) const PAUSE: Duration = Duration::from_millis(1);
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
    /// Bytes that may pass before the next look.
    allowance: AtomicU64,
    /// Bytes that passed so far.
    passed: AtomicU64,
    speed: Mutex<Speed>,
}

/// How fast the queue empties.
#[derive(Debug)]
struct Speed {
    /// The last look: when, and how many bytes had left the queue.
    last: (Instant, u64),
}

impl Gate {
    /// A gate for messages of at most `longest` bytes.
    pub fn new(association: Association, longest: u64) -> Self {
        Self {
            association,
            least: 2 * longest,
            allowance: AtomicU64::new(0),
            passed: AtomicU64::new(0),
            speed: Mutex::new(Speed { last: (Instant::now(), 0) }),
        }
    }

    /// Lets a message of so many bytes pass, or not yet: then it is worth asking again after [`PAUSE`].
    pub fn try_pass(&self, bytes: u64) -> bool {
        let mut allowance = self.allowance.load(Ordering::Relaxed);
        if allowance == 0 {
            allowance = self.look();
            if allowance == 0 {
                return false;
            }
        }
        // Flows that ask at the same time may let one message more pass each.
        self.allowance.store(allowance.saturating_sub(bytes), Ordering::Relaxed);
        self.passed.fetch_add(bytes, Ordering::Relaxed);
        true
    }

    fn look(&self) -> u64 {
        let mut speed = self.speed.lock().unwrap_or_else(PoisonError::into_inner);
        let unsent = self.association.stats().unsent_bytes;
        let passed = self.passed.load(Ordering::Relaxed);
        let (now, windows) = (Instant::now(), self.windows());
        speed.look(now, passed, unsent, windows, self.least)
    }

    /// Congestion windows of all paths that carry data.
    fn windows(&self) -> u64 {
        let paths = self.association.path_stats();
        let active = paths.iter().filter(|path| path.status == PathStatus::Active);
        active.map(|path| path.cwnd_bytes).sum()
    }
}

impl Speed {
    /// Bytes that may pass now.
    fn look(&mut self, now: Instant, passed: u64, unsent: u64, windows: u64, least: u64) -> u64 {
        let gone = passed.saturating_sub(unsent);
        let (then, gone_then) = self.last;
        let time = now.duration_since(then).max(PAUSE).as_secs_f64();
        let speed = gone.saturating_sub(gone_then) as f64 / time;
        let ahead = (speed * PAUSE.as_secs_f64() * PAUSES_AHEAD) as u64;
        self.last = (now, gone);
        windows.max(ahead).min(MOST).max(least).saturating_sub(unsent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_waits_follows_windows_and_speed() {
        let begin = Instant::now();
        let mut speed = Speed { last: (begin, 0) };
        let mut look = |pauses, passed, unsent, windows| {
            speed.look(begin + pauses * PAUSE, passed, unsent, windows, 3_000)
        };
        assert_eq!(look(0, 0, 0, 4_000), 4_000);
        assert_eq!(look(1, 4_000, 4_000, 4_000), 0, "nothing has left");
        // 3,000 bytes left in one pause.
        assert_eq!(look(2, 4_000, 1_000, 3_500), 12_000 - 1_000);
        assert_eq!(look(3, 1 << 40, 0, 0), MOST);
        assert_eq!(look(4, 1 << 40, 0, 0), 3_000, "at least a message");
    }
}
