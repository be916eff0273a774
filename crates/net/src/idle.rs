//! Detects a peer without progress.

use std::time::Duration;

/// Longest time between two looks.
const LONGEST_LOOK: Duration = Duration::from_secs(1);
/// Minimum number of looks within the limit.
const LOOKS: u32 = 10;

/// Detects that a peer has made no progress for a while: it has neither sent nor acknowledged user data.
///
/// Heartbeats keep an association with a peer alive that reads and sends nothing; an application may want to stop
/// waiting for such a peer. The watch has no clock and no task: its owner waits for the time that
/// [`next_look`](Self::next_look) returns, and then passes the waiting time and
/// [`Association::progress_bytes`](crate::Association::progress_bytes) to [`look`](Self::look).
///
/// ```
/// use std::time::Duration;
///
/// use polypath::IdleWatch;
///
/// let mut watch = IdleWatch::new(Duration::from_secs(5), 0);
/// assert_eq!(watch.next_look(), Duration::from_millis(500));
/// assert!(!watch.look(Duration::from_secs(4), 0));
/// assert!(!watch.look(Duration::from_secs(4), 1000), "it has made progress");
/// assert!(watch.look(Duration::from_secs(5), 1000));
/// ```
#[derive(Clone, Debug)]
pub struct IdleWatch {
    limit: Duration,
    /// Bytes at the last look.
    bytes: u64,
    /// Time since the last progress.
    idle: Duration,
}

impl IdleWatch {
    /// Watches a peer that may be idle for `limit` and has transferred `bytes` of user data so far.
    pub fn new(limit: Duration, bytes: u64) -> Self {
        Self { limit, bytes, idle: Duration::ZERO }
    }

    /// The limit.
    pub fn limit(&self) -> Duration {
        self.limit
    }

    /// Time to wait before the next look: the shortest of the remaining time, a tenth of the limit, and a second. Idle
    /// time starts at a look that saw progress, so the limit may be detected late by this time.
    pub fn next_look(&self) -> Duration {
        let left = self.limit.saturating_sub(self.idle);
        left.min(self.limit / LOOKS).min(LONGEST_LOOK)
    }

    /// Looks at the peer after a further `waited`, with `bytes` transferred in total. Returns whether it has been idle
    /// for the limit.
    pub fn look(&mut self, waited: Duration, bytes: u64) -> bool {
        self.idle =
            if bytes == self.bytes { self.idle.saturating_add(waited) } else { Duration::ZERO };
        self.bytes = bytes;
        self.idle >= self.limit
    }

    /// Notes progress that `bytes` does not show, such as a message that had arrived before.
    pub fn progressed(&mut self) {
        self.idle = Duration::ZERO;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn any_progress_ends_idle_time() {
        let mut watch = IdleWatch::new(5 * SECOND, 7);
        assert!(!watch.look(4 * SECOND, 7));
        assert!(!watch.look(SECOND, 8));
        assert!(!watch.look(5 * SECOND - SECOND / 10, 8));
        assert_eq!(watch.next_look(), SECOND / 10, "what is left");
        let mut other = watch.clone();
        other.progressed();
        assert!(!other.look(SECOND, 8));
        assert!(watch.look(SECOND / 10, 8));
    }

    #[test]
    fn a_limit_that_is_reached_is_noticed_soon() {
        assert_eq!(IdleWatch::new(60 * SECOND, 0).next_look(), SECOND);
        let mut watch = IdleWatch::new(5 * SECOND, 0);
        let (mut waited, mut bytes) = (Duration::ZERO, 0);
        loop {
            let look = watch.next_look();
            waited += look;
            // Progress in the first second only.
            bytes += u64::from(waited <= SECOND);
            if watch.look(look, bytes) {
                break;
            }
        }
        assert_eq!(waited, 6 * SECOND);
    }
}
