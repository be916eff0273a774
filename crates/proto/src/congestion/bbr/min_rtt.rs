//! The shortest round trip of ten seconds, BBR.min_rtt, and when it is time to look for it (sections 5.3.4.3 and 5.5.7).

use crate::{Duration, Instant};

/// BBR.MinRTTFilterLen.
const FILTER: Duration = Duration::from_secs(10);
/// BBR.ProbeRTTInterval.
const INTERVAL: Duration = Duration::from_secs(5);

/// Filter of one path.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct MinRtt {
    /// The shortest of ten seconds, and when it was seen.
    shortest: Option<(Duration, Instant)>,
    /// The shortest since the last look for it, probe_rtt_min_delay, and when it was seen.
    recent: Option<(Duration, Instant)>,
    /// The latter is old, so that the queue should be drained to see it again.
    pub(super) is_due: bool,
}

impl MinRtt {
    pub(super) fn get(&self) -> Option<Duration> {
        self.shortest.map(|(round_trip, _)| round_trip)
    }

    /// Data was acknowledged, which measured the path if there is a round trip.
    pub(super) fn on_sample(&mut self, now: Instant, round_trip: Option<Duration>) {
        let is_old = |stamp: Instant, age| now.since(stamp) > age;
        self.is_due = self.recent.is_some_and(|(_, stamp)| is_old(stamp, INTERVAL));
        let Some(round_trip) = round_trip else { return };
        let recent = match self.recent {
            Some(recent) if round_trip >= recent.0 && !self.is_due => recent,
            _ => (round_trip, now),
        };
        self.recent = Some(recent);
        let keeps = |(known, stamp)| known <= recent.0 && !is_old(stamp, FILTER);
        if !self.shortest.is_some_and(keeps) {
            self.shortest = Some(recent);
        }
    }

    /// The queue was drained: the next time is an interval away.
    pub(super) fn put_off(&mut self, now: Instant) {
        if let Some((_, stamp)) = &mut self.recent {
            *stamp = now;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shortest_of_ten_seconds() {
        let mut filter = MinRtt::default();
        for (at, ms, shortest, is_due) in [
            (0, 50, 50, false),
            (1000, 40, 40, false),
            (2000, 45, 40, false),
            (6000, 60, 40, false),
            // More than five seconds after the last 40 ms.
            (6001, 60, 40, true),
            (6002, 55, 40, false),
            // More than ten seconds after it.
            (11_001, 70, 55, false),
            (11_002, 30, 30, false),
        ] {
            let now = Instant::ZERO + Duration::from_millis(at);
            filter.on_sample(now, Some(Duration::from_millis(ms)));
            assert_eq!(filter.get(), Some(Duration::from_millis(shortest)), "{at}");
            assert_eq!(filter.is_due, is_due, "{at}");
        }
    }

    #[test]
    fn a_look_puts_the_next_one_off() {
        let at = |s| Instant::ZERO + Duration::from_secs(s);
        let mut filter = MinRtt::default();
        filter.on_sample(at(0), Some(Duration::from_millis(50)));
        filter.put_off(at(4));
        filter.on_sample(at(9), Some(Duration::from_millis(60)));
        assert!(!filter.is_due);
        filter.on_sample(at(10), Some(Duration::from_millis(60)));
        assert!(filter.is_due);
    }
}
