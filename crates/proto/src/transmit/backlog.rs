//! What was sent on a path and waits in front of its bottleneck.
//!
//! What is in flight says little of the next chunk when packets leave in a burst: they fit into a round trip, but the last of them
//! leaves the bottleneck long after the first. Sent at one instant, each waits for those before it; sent at the pace of the bottleneck,
//! none waits. So each packet is added with the time that the bottleneck needs for it, and time takes it away again.

use crate::{Duration, Instant};

/// State of one path.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Backlog {
    /// When the bottleneck has passed on everything, as if there were no way to it.
    passed_by: Instant,
}

impl Backlog {
    /// A packet is sent on a path that passes on so many bytes per second.
    pub(crate) fn on_sent(&mut self, now: Instant, bytes: u64, rate: u64) {
        self.passed_by = self.passed_by.max(now) + time_for(bytes, rate);
    }

    /// How long a packet waits that is sent now. No more can wait than so many bytes that have not been answered: where the rate was
    /// taken for too low, what is left of it ends here.
    pub(crate) fn wait(&self, now: Instant, unanswered: u64, rate: u64) -> Duration {
        self.passed_by.since(now).min(time_for(unanswered, rate))
    }
}

fn time_for(bytes: u64, rate: u64) -> Duration {
    Duration::from_nanos(bytes.saturating_mul(1_000_000_000) / rate.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    /// Packets of 1,000 bytes over a bottleneck that takes 10 ms for each.
    #[test]
    fn what_leaves_together_waits_and_what_is_spaced_does_not() {
        for (what, sent_at, asked_at, unanswered, waits) in [
            ("nothing was sent", &[][..], 0, 9000, 0),
            ("a burst", &[0, 0, 0], 0, 9000, 30),
            ("a while later", &[0, 0, 0], 12, 9000, 18),
            ("at the pace of the bottleneck", &[0, 10, 20], 30, 9000, 0),
            ("faster", &[0, 5, 10], 15, 9000, 15),
            ("no more than is unanswered", &[0, 0, 0], 0, 2000, 20),
            ("all was answered", &[0, 0, 0], 0, 0, 0),
        ] {
            let mut backlog = Backlog::default();
            sent_at.iter().for_each(|sent| backlog.on_sent(at(*sent), 1000, 100_000));
            let wait = backlog.wait(at(asked_at), unanswered, 100_000);
            assert_eq!(wait, Duration::from_millis(waits), "{what}");
        }
        let mut none = Backlog::default();
        none.on_sent(at(0), u64::MAX, 0);
        assert!(none.wait(at(0), u64::MAX, 0) > Duration::from_secs(1), "no overflow");
    }
}
