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
    /// When a round trip was last measured that began on the empty path.
    empty: Option<Instant>,
    /// The shortest recent one is old, so that the queue should be drained to see it again.
    pub(super) is_due: bool,
}

impl MinRtt {
    pub(super) fn get(&self) -> Option<Duration> {
        self.shortest.map(|(round_trip, _)| round_trip)
    }

    /// Notes acknowledged data, which measured the path if there is a round-trip time; its measurement began on the
    /// empty path if `was_empty`. A flow with pauses drains the queue by itself, and needs no ProbeRTT.
    pub(super) fn on_sample(
        &mut self,
        now: Instant,
        round_trip: Option<Duration>,
        was_empty: bool,
    ) {
        let is_old = |stamp: Instant, age| now.since(stamp) > age;
        if was_empty && round_trip.is_some() {
            self.empty = Some(now);
        }
        let is_recent_old = self.recent.is_some_and(|(_, stamp)| is_old(stamp, INTERVAL));
        let pauses = self.empty.is_some_and(|stamp| !is_old(stamp, INTERVAL));
        self.is_due = is_recent_old && !pauses;
        let Some(round_trip) = round_trip else { return };
        let begins_anew = is_recent_old && (was_empty || !pauses);
        let recent = match self.recent {
            Some(recent) if round_trip >= recent.0 && !begins_anew => recent,
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
            filter.on_sample(now, Some(Duration::from_millis(ms)), false);
            assert_eq!(filter.get(), Some(Duration::from_millis(shortest)), "{at}");
            assert_eq!(filter.is_due, is_due, "{at}");
        }
    }

    #[test]
    fn a_look_puts_the_next_one_off() {
        let at = |s| Instant::ZERO + Duration::from_secs(s);
        let mut filter = MinRtt::default();
        filter.on_sample(at(0), Some(Duration::from_millis(50)), false);
        filter.put_off(at(4));
        filter.on_sample(at(9), Some(Duration::from_millis(60)), false);
        assert!(!filter.is_due);
        filter.on_sample(at(10), Some(Duration::from_millis(60)), false);
        assert!(filter.is_due);
    }

    #[test]
    fn a_flow_with_pauses_need_not_look() {
        let mut filter = MinRtt::default();
        for (at, ms, was_empty, shortest, is_due) in [
            (0, 50, true, 50, false),
            (3000, 60, true, 50, false),
            // The path was empty three seconds ago.
            (6000, 70, false, 50, false),
            // It is longer now.
            (7000, 65, true, 50, false),
            (11_000, 65, true, 65, false),
            (16_500, 90, false, 65, true),
        ] {
            let now = Instant::ZERO + Duration::from_millis(at);
            filter.on_sample(now, Some(Duration::from_millis(ms)), was_empty);
            assert_eq!(filter.get(), Some(Duration::from_millis(shortest)), "{at}");
            assert_eq!(filter.is_due, is_due, "{at}");
        }
    }
}
