//! What the clocks of both ends have to do with each other.
//!
//! A one-way delay is the difference of two clocks. Ends on one machine share a clock; others do not, and the difference
//! is estimated from a few questions and answers as NTP does (RFC 5905 section 8): it is wrong by half of the shortest
//! round-trip time at most.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

/// Microseconds since 1970 by the system's clock.
pub(crate) fn now_us() -> u64 {
    let elapsed = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(elapsed.as_micros()).unwrap_or(u64::MAX)
}

/// How long a reading of the system's clock is good for: it may be set meanwhile, or run at another speed.
const FRESH: Duration = Duration::from_millis(10);

/// The system's clock, derived from readings of the monotonic one: where that is read for each message anyway, a second
/// reading is saved.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WallClock {
    read_at: Instant,
    read_us: u64,
}

impl WallClock {
    /// As it is now.
    pub fn new() -> Self {
        Self { read_at: Instant::now(), read_us: now_us() }
    }

    /// Microseconds since 1970 at `now`, a moment ago at most.
    pub fn us_at(&mut self, now: Instant) -> u64 {
        if now.saturating_duration_since(self.read_at) > FRESH {
            *self = Self::new();
        }
        // The clock was read after `now` if at all.
        match now.checked_duration_since(self.read_at) {
            Some(since) => self.read_us.saturating_add(since.as_micros() as u64),
            None => self.read_us,
        }
    }
}

/// A name of this start of this machine; nothing where the system has none.
pub(crate) fn boot_id() -> Option<String> {
    let id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    Some(id.trim().to_owned())
}

/// How the server's clock relates to the client's.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct ClockRelation {
    /// How it is known.
    pub source: ClockSource,
    /// The server's time minus the client's, in microseconds.
    pub offset_us: i64,
    /// Largest error of the offset, in microseconds.
    pub uncertainty_us: u64,
}

/// How the relation of two clocks is known.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum ClockSource {
    /// Both ends run on one machine.
    Shared,
    /// The user says that both clocks are synchronised.
    Synchronized,
    /// Estimated from round trips.
    Estimated,
}

impl ClockRelation {
    /// Clocks that say the same.
    pub(crate) const fn equal(source: ClockSource) -> Self {
        Self { source, offset_us: 0, uncertainty_us: 0 }
    }

    /// The best that follows from `samples`; equal clocks, of unknown quality, without any.
    pub(crate) fn estimate(samples: &[Sample]) -> Self {
        let best = samples.iter().min_by_key(|sample| sample.round_trip_us());
        let Some(best) = best else {
            return Self { uncertainty_us: u64::MAX, ..Self::equal(ClockSource::Estimated) };
        };
        Self {
            source: ClockSource::Estimated,
            offset_us: best.offset_us(),
            uncertainty_us: best.round_trip_us().div_ceil(2),
        }
    }
}

/// A question and its answer, in microseconds of the clock of who saw it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Sample {
    /// When the client asked.
    pub asked: u64,
    /// When the server answered.
    pub answered: u64,
    /// When the client heard it.
    pub heard: u64,
}

impl Sample {
    fn round_trip_us(self) -> u64 {
        self.heard.saturating_sub(self.asked)
    }

    fn offset_us(self) -> i64 {
        let middle = self.asked + self.round_trip_us() / 2;
        i64::try_from(i128::from(self.answered) - i128::from(middle)).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shortest_round_trip_counts() {
        let sample = |asked, answered, heard| Sample { asked, answered, heard };
        let samples =
            [sample(0, 5_000, 9_000), sample(10_000, 11_500, 11_001), sample(20, 99, 9_000)];
        let relation = ClockRelation::estimate(&samples);
        assert_eq!((relation.offset_us, relation.uncertainty_us), (1_000, 501));
        assert_eq!(ClockRelation::estimate(&[sample(9_000, 1_000, 9_100)]).offset_us, -8_050);
        assert_eq!(ClockRelation::estimate(&[]).uncertainty_us, u64::MAX);
    }

    #[test]
    fn the_wall_clock_follows_the_monotonic_one() {
        let begin = Instant::now();
        let mut clock = WallClock { read_at: begin, read_us: 1000 };
        assert_eq!(clock.us_at(begin), 1000);
        assert_eq!(clock.us_at(begin + FRESH), 1000 + 10_000);
        // It is read again, for a moment that is in the future here.
        let read = clock.us_at(begin + Duration::from_secs(1));
        assert!(read > 1_000_000_000, "{read}");
    }

    #[test]
    fn nonsense_does_no_harm() {
        let wild = Sample { asked: u64::MAX, answered: 0, heard: 0 };
        assert_eq!(ClockRelation::estimate(&[wild]).offset_us, 0);
    }
}
