//! A send buffer that grows to what its paths need (`dreibholz-asymmetric` section IV-A).
//!
//! How much each path delivers is measured per round trip; the sum and the slowest path's times give the size. It only
//! grows: a buffer that is too large costs nothing while it is empty.

use polypath_units::{BitRate, ByteCount};

use crate::config::BufferSize;
use crate::{Duration, Instant};

/// How much a path delivers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct DeliveryRate {
    since: Option<Instant>,
    acked: u64,
    rate: BitRate,
}

impl DeliveryRate {
    /// Nothing is known.
    pub(crate) const fn new() -> Self {
        Self { since: None, acked: 0, rate: BitRate::ZERO }
    }

    /// Takes in acknowledged bytes of user data. Says whether a round trip is over and there is a new rate.
    pub(crate) fn on_acked(&mut self, now: Instant, bytes: u64, rtt: Duration) -> bool {
        let Some(since) = self.since else {
            self.since = Some(now);
            return false;
        };
        self.acked += bytes;
        let elapsed = now.since(since);
        if elapsed < rtt || elapsed.is_zero() {
            return false;
        }
        let rate = BitRate::of(ByteCount::from_bytes(self.acked), elapsed);
        *self = Self { since: Some(now), acked: 0, rate };
        true
    }

    /// Bytes per second of user data in the last round trip.
    pub(crate) fn rate(&self) -> BitRate {
        self.rate
    }
}

/// A path whose data the buffer holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct SizedPath {
    pub(crate) rtt: Duration,
    pub(crate) rto: Duration,
    pub(crate) rate: BitRate,
    /// Whether its rate may double every round trip.
    pub(crate) in_slow_start: bool,
}

/// The size in bytes that the paths need; 0 where the policy follows no formula.
pub(crate) fn needed(policy: BufferSize, paths: impl Iterator<Item = SizedPath>) -> u64 {
    let (mut rtt, mut rto, mut bits) = (Duration::ZERO, Duration::ZERO, 0u64);
    for path in paths {
        rtt = rtt.max(path.rtt);
        rto = rto.max(path.rto);
        // What a path in slow start sends in the next round trip must find room already.
        let growth = if path.in_slow_start { 2 } else { 1 };
        bits = bits.saturating_add(path.rate.as_bits_per_second().saturating_mul(growth));
    }
    policy.least(rtt, rto, BitRate::from_bits_per_second(bits)).map_or(0, ByteCount::as_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_needs_a_round_trip() {
        let at = |ms| Instant::ZERO + Duration::from_millis(ms);
        let rtt = Duration::from_millis(100);
        let mut delivery = DeliveryRate::new();
        assert!(!delivery.on_acked(at(50), 5000, rtt), "the beginning");
        assert!(!delivery.on_acked(at(149), 60_000, rtt));
        assert!(delivery.on_acked(at(150), 40_000, rtt));
        assert_eq!(delivery.rate(), BitRate::from_mbit(8), "100,000 bytes in 100 ms");
        assert!(delivery.on_acked(at(350), 100_000, rtt));
        assert_eq!(delivery.rate(), BitRate::from_mbit(4));
    }

    #[test]
    fn the_size_follows_the_slowest_path_and_the_sum() {
        let path = |ms, mbit, in_slow_start| SizedPath {
            rtt: Duration::from_millis(ms),
            rto: Duration::from_secs(1),
            rate: BitRate::from_mbit(mbit),
            in_slow_start,
        };
        let paths = [path(10, 100, false), path(110, 100, false)];
        assert_eq!(needed(BufferSize::AutoFast, paths.into_iter()), 5_500_000);
        assert_eq!(needed(BufferSize::AutoTimeout, paths.into_iter()), 33_250_000);
        assert_eq!(needed(BufferSize::Bytes, paths.into_iter()), 0);
        let growing = [path(100, 8, true)];
        assert_eq!(needed(BufferSize::AutoFast, growing.into_iter()), 400_000);
    }
}
