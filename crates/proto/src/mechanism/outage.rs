//! Outages: how often paths are probed while none of them answers, and when that ends the association.
//!
//! RFC 9260 doubles a retransmission timeout up to RTO.Max with each expiry (section 6.3.3 rule E2) and probes a failed
//! path once per HB.interval (section 8.3), so that a link that returns after minutes is detected up to RTO.Max or
//! HB.interval later. While data waits and no path answers, heartbeats are therefore sent more often: no sooner than
//! the path's timeout before it fell silent, and no later than a quarter of the silence or a configured interval,
//! whichever is less. A heartbeat is a small packet; RFC 8085 section 3.1.1 allows one in 3 s without any feedback if
//! nothing is known of a path.
//!
//! NOTE(deviation): These probes must not end the association sooner than the timers of RFC 9260 would. An unanswered
//! packet therefore counts against Association.Max.Retrans (section 8.1) only when the timer of a single path that
//! backs off would have expired, too.

use crate::{Duration, Instant};

/// Heartbeats go out at least so often while the silence grows by its own length.
const PER_SILENCE: u64 = 4;

/// The present outage, if there is one.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Outage(Option<OngoingOutage>);

/// What is known of an outage.
#[derive(Clone, Copy, Debug)]
struct OngoingOutage {
    since: Instant,
    /// When an unanswered packet counted last against the association.
    counted: Instant,
    /// How long none counts from then on.
    wait: Duration,
}

impl Outage {
    /// Whether there is one.
    #[inline]
    pub(crate) fn is_on(&self) -> bool {
        self.0.is_some()
    }

    /// A packet on a path with this timeout, not backed off, was not answered, and no path works. Returns whether that counts
    /// against the association; `longest` is RTO.Max.
    pub(crate) fn on_unanswered(&mut self, now: Instant, rto: Duration, longest: Duration) -> bool {
        let silence =
            self.0.get_or_insert(OngoingOutage { since: now, counted: now, wait: Duration::ZERO });
        if now.since(silence.counted) < silence.wait {
            return false;
        }
        silence.counted = now;
        silence.wait = (silence.wait * 2).max(rto * 2).min(longest);
        true
    }

    /// The peer answered. Returns whether that ends an outage.
    #[inline]
    pub(crate) fn on_answer(&mut self) -> bool {
        self.0.take().is_some()
    }

    /// How long until the next heartbeat at most, on a path with this timeout, not backed off.
    pub(crate) fn pause(
        &self,
        now: Instant,
        rto: Duration,
        interval: Duration,
    ) -> Option<Duration> {
        let silence = now.since(self.0?.since);
        Some(rto.max(interval.min(silence / PER_SILENCE)))
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    const RTO: Duration = Duration::from_millis(200);
    const MAX: Duration = Duration::from_secs(60);

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    #[test]
    fn pauses_grow_with_the_silence_up_to_the_interval() {
        let mut outage = Outage::default();
        let pause = |outage: &Outage, ms| outage.pause(at(ms), RTO, Duration::from_secs(2));
        assert_eq!((pause(&outage, 0), outage.is_on()), (None, false));
        outage.on_unanswered(at(1000), RTO, MAX);
        assert!(outage.is_on());
        for (ms, expected) in [(1000, 200), (1800, 200), (3000, 500), (9000, 2000), (600_000, 2000)]
        {
            assert_eq!(pause(&outage, ms), Some(Duration::from_millis(expected)), "{ms} ms");
        }
        // No answer can be there sooner.
        let slow = outage.pause(at(9000), Duration::from_secs(5), Duration::from_secs(2));
        assert_eq!(slow, Some(Duration::from_secs(5)));
        assert!(outage.on_answer() && !outage.on_answer());
        assert_eq!(pause(&outage, 9000), None);
    }

    /// Of packets on three paths, ten times a second, as many count as one path that backs off would send.
    #[test]
    fn as_many_count_as_a_timer_that_backs_off_expires() {
        let mut outage = Outage::default();
        let mut counted = Vec::new();
        for ms in (0..300_000).step_by(100) {
            for _ in 0..3 {
                if outage.on_unanswered(at(ms), RTO, MAX) {
                    counted.push(ms);
                }
            }
        }
        let backed_off =
            [0, 400, 1200, 2800, 6000, 12_400, 25_200, 50_800, 102_000, 162_000, 222_000, 282_000];
        assert_eq!(counted, backed_off);
    }
}
