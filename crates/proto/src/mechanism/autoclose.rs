//! Shutdown of an idle association (RFC 6458 section 8.1.8, `SCTP_AUTOCLOSE`).
//!
//! It has no cost per packet: the association is checked four times within the limit, and shut down after four
//! consecutive checks without a difference, which is at most a quarter of the limit late.

use crate::{Duration, Instant, Tsn};

/// Looks within the limit.
const LOOKS: u8 = 4;

/// What shows that user data moves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Activity {
    /// The TSN that is sent next.
    pub(crate) sent: Tsn,
    /// Chunks that have arrived.
    pub(crate) received: u64,
    /// Whether a message waits or was not acknowledged.
    pub(crate) is_busy: bool,
}

/// Watches for idle time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Autoclose {
    step: Duration,
    due: Instant,
    seen: Activity,
    /// Looks in succession that found nothing new.
    quiet: u8,
}

impl Autoclose {
    /// Begins now; an association ends that is idle for longer than `limit`.
    pub(crate) fn new(now: Instant, limit: Duration, seen: Activity) -> Self {
        let step = (limit / u64::from(LOOKS)).max(Duration::from_millis(1));
        Self { step, due: now + step, seen, quiet: 0 }
    }

    /// When to look.
    pub(crate) fn due(&self) -> Instant {
        self.due
    }

    /// Looks; whether the association has been idle for so long that it is to end.
    pub(crate) fn is_over(&mut self, now: Instant, activity: Activity) -> bool {
        self.due = now + self.step;
        if activity != self.seen || activity.is_busy {
            (self.seen, self.quiet) = (activity, 0);
            return false;
        }
        self.quiet += 1;
        self.quiet >= LOOKS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(millis)
    }

    fn end(limit: u64, activity: impl Fn(u64) -> (u64, bool)) -> u64 {
        let look = |millis| {
            let (received, is_busy) = activity(millis);
            Activity { sent: Tsn(0), received, is_busy }
        };
        let mut autoclose = Autoclose::new(at(0), Duration::from_millis(limit), look(0));
        loop {
            let now = autoclose.due().since(Instant::ZERO).as_nanos() / 1_000_000;
            if autoclose.is_over(at(now), look(now)) || now > 100 * limit {
                return now;
            }
        }
    }

    #[test]
    fn it_ends_once_nothing_has_moved_for_the_limit() {
        assert_eq!(end(1000, |_| (0, false)), 1000, "from the beginning");
        for last in [10, 240, 260, 5003] {
            let ended = end(1000, |now| (now.min(last), false));
            assert!((last + 1000..=last + 1250).contains(&ended), "{last}: {ended}");
        }
        assert_eq!(end(1000, |now| (0, now < 3000)), 4000, "what was not acknowledged is activity");
        assert!(end(1000, |now| (now / 900, false)) > 100_000, "not before the limit");
    }
}
