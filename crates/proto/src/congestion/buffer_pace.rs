//! The pace of a transfer that a buffer limits, not the path.
//!
//! Where a buffer, the sender's or the receiver's, holds less than the path does, a buffer full per round trip is all that can be
//! delivered. What a gap has held up is then released at once, as a buffer full; at the rate that the path showed in such a burst,
//! it overflows a short queue, the next gap is there, and more than every second round trip is lost. At a little more than a buffer
//! full per round trip nothing is late, and nothing is lost.
//!
//! Buffers grow while a transfer begins, from round trip to round trip, and what makes them grow must not wait; and where another path
//! has held the buffer up, this one makes good for that as fast as it can. So this holds only for a buffer that has limited the
//! transfer for some round trips and has not grown meanwhile, and only on a path that loses packets.

use crate::types::mul_div;
use crate::{Duration, Instant};

/// Round trips in which the buffer did not grow.
const STEADY: u64 = 3;
/// Round trips after which a buffer that was not met is no limit any more.
const RECENT: u64 = 2;

/// Round trips after which a path that has lost nothing more loses nothing.
const LOSSES: u64 = 64;

/// What a buffer admits on the way of one path.
///
/// A round trip is the time from a packet until its acknowledgement, over whatever path that comes: it frees the buffer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct BufferPace {
    /// Bytes that it admits in a round trip.
    bytes: u64,
    /// Since when it admits no more than that.
    since: Instant,
    /// When it was met last.
    met: Option<Instant>,
    /// When the path lost something last.
    lost: Option<Instant>,
    /// Smoothed round trip.
    round_trip: Option<Duration>,
}

impl BufferPace {
    /// Nothing more could be sent at `now`, because a buffer was full that admits so many bytes in a round trip.
    pub(crate) fn on_full(&mut self, now: Instant, bytes: u64) {
        let Some(round_trip) = self.round_trip else { return };
        let is_new = self.met.is_none_or(|met| now.since(met) > round_trip * RECENT);
        if is_new || bytes > self.bytes.saturating_add(self.bytes / 8) {
            (self.bytes, self.since) = (bytes, now);
        }
        self.met = Some(now);
    }

    /// A packet that was sent so long ago is acknowledged.
    pub(crate) fn on_answer(&mut self, after: Duration) {
        self.round_trip =
            Some(self.round_trip.map_or(after, |known| known - known / 8 + after / 8));
    }

    /// The path has lost something.
    pub(crate) fn on_loss(&mut self, now: Instant) {
        self.lost = Some(now);
    }

    /// The pace in bytes per second, where the path admits `pace`.
    pub(crate) fn bound(&self, now: Instant, pace: u64) -> u64 {
        let (Some(met), Some(round_trip)) = (self.met, self.round_trip) else { return pace };
        let is_steady = now.since(met) <= round_trip * RECENT
            && met.since(self.since) >= round_trip * STEADY
            && self.lost.is_some_and(|lost| now.since(lost) <= round_trip * LOSSES)
            && !round_trip.is_zero();
        if !is_steady {
            return pace;
        }
        let most = mul_div(
            self.bytes.saturating_add(self.bytes / 4),
            1_000_000_000,
            round_trip.as_nanos(),
        );
        pace.min(u64::try_from(most).unwrap_or(u64::MAX).max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Duration = Duration::from_millis(100);
    /// Bytes per second that the path admits.
    const PACE: u64 = 100_000_000;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_secs(1) + Duration::from_millis(ms)
    }

    /// A buffer that was full at these milliseconds, and held so many bytes.
    fn met(times: &[(u64, u64)]) -> BufferPace {
        let mut pace = BufferPace::default();
        pace.on_loss(at(0));
        pace.on_answer(RTT);
        times.iter().for_each(|&(ms, bytes)| pace.on_full(at(ms), bytes));
        pace
    }

    #[test]
    fn a_buffer_that_limits_for_three_round_trips_sets_the_pace() {
        let steady = [(0, 1_000_000), (150, 990_000), (300, 1_000_000)];
        let large = 1 << 40;
        for (what, times, now, expected) in [
            ("never met", &[][..], 0, PACE),
            ("1.25 MB per 100 ms", &steady, 300, 12_500_000),
            ("until two round trips later", &steady, 500, 12_500_000),
            ("and no longer", &steady, 501, PACE),
            ("less than three round trips", &steady[..2], 150, PACE),
            ("it grows", &[(0, 500_000), (150, 750_000), (300, 1_000_000)], 300, PACE),
            ("so little", &[(0, 1_000_000), (150, 1_125_000), (300, 1_000_000)], 300, 12_500_000),
            ("no pause", &[(0, 1_000_000), (200, 1_000_000), (400, 1_000_000)], 400, 12_500_000),
            ("a pause", &[(0, 1_000_000), (150, 1_000_000), (400, 1_000_000)], 400, PACE),
            ("it holds more than the path", &[(0, large), (150, large), (300, large)], 300, PACE),
        ] {
            assert_eq!(met(times).bound(at(now), PACE), expected, "{what}");
        }
        let steady = met(&steady);
        assert_eq!(steady.bound(at(300), 1000), 1000, "the path is slower");
        for round_trip in [None, Some(Duration::ZERO)] {
            let unknown = BufferPace { round_trip, ..steady };
            assert_eq!(unknown.bound(at(300), PACE), PACE, "{round_trip:?}");
        }
    }

    #[test]
    fn only_a_path_that_loses_packets_waits() {
        let steady = met(&[(0, 1_000_000), (150, 1_000_000), (300, 1_000_000)]);
        let never = BufferPace { lost: None, ..steady };
        assert_eq!(never.bound(at(300), PACE), PACE);
        let later = BufferPace { met: Some(at(6399)), ..steady };
        assert_eq!(later.bound(at(6400), PACE), 12_500_000);
        assert_eq!(later.bound(at(6401), PACE), PACE, "64 round trips are over");
    }

    #[test]
    fn answers_over_a_shorter_path_free_the_buffer_sooner() {
        let mut steady = met(&[(0, 1_000_000), (150, 1_000_000), (300, 1_000_000)]);
        steady.on_answer(RTT / 5);
        assert_eq!(steady.round_trip, Some(RTT * 9 / 10));
        (0..100).for_each(|_| steady.on_answer(RTT / 2));
        let pace = steady.bound(at(300), PACE);
        assert!((24_900_000..=25_000_000).contains(&pace), "{pace}");
    }

    #[test]
    fn the_largest_numbers_do_no_harm() {
        let pace = met(&[(0, u64::MAX), (150, u64::MAX), (300, u64::MAX)]);
        assert_eq!(pace.bound(at(300), u64::MAX), u64::MAX);
        assert_eq!(met(&[(0, 0), (150, 0), (300, 0)]).bound(at(300), PACE), 1);
    }
}
