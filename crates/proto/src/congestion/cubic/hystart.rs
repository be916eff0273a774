//! The end of the first slow start (HyStart++, RFC 9406): if the round-trip times of a round exceed those of the round
//! before, a queue builds up, and the window grows more slowly for some rounds until that is certain.

use crate::Duration;
use crate::congestion::RateSample;

/// MIN_RTT_THRESH and MAX_RTT_THRESH: the rise of round trips that counts, at least and at most.
const LEAST_RISE: Duration = Duration::from_millis(4);
const MOST_RISE: Duration = Duration::from_millis(16);
/// MIN_RTT_DIVISOR: between them, this part of a round trip.
const RISE_DIVISOR: u64 = 8;
/// N_RTT_SAMPLE: samples that a round needs.
const SAMPLES: u32 = 8;
/// CSS_GROWTH_DIVISOR: conservative slow start grows by this part of slow start.
const GROWTH_DIVISOR: u64 = 4;
/// CSS_ROUNDS: rounds of conservative slow start.
const ROUNDS: u32 = 5;
/// L: units that one acknowledgement is worth at most while packets are not spaced.
const UNITS: u64 = 8;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum HystartPhase {
    /// Slow start.
    Fast,
    /// Conservative slow start (CSS).
    Conservative {
        /// Shortest round trip of the round that began it.
        baseline: Duration,
        /// Rounds so far, the one in which it began counts.
        rounds: u32,
    },
    /// Standard slow start, after the first one: the threshold ends it.
    Standard,
}

/// State of one path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct HyStart {
    phase: HystartPhase,
    /// Bytes delivered when the round began: data sent after that ends it.
    round_begin: u64,
    /// Shortest round trips of the round before and of this one.
    last: Option<Duration>,
    current: Option<Duration>,
    /// Samples of this round.
    samples: u32,
}

impl HyStart {
    pub(super) fn new() -> Self {
        Self { phase: HystartPhase::Fast, round_begin: 0, last: None, current: None, samples: 0 }
    }

    /// The first slow start is over.
    pub(super) fn end(&mut self) {
        self.phase = HystartPhase::Standard;
    }

    /// Bytes by which an acknowledgement of `bytes` lets the window grow.
    pub(super) fn growth(&self, bytes: u64, unit: u64) -> u64 {
        let bytes = bytes.min(unit.saturating_mul(UNITS));
        match self.phase {
            HystartPhase::Fast | HystartPhase::Standard => bytes,
            HystartPhase::Conservative { .. } => bytes / GROWTH_DIVISOR,
        }
    }

    /// An acknowledgement in slow start brings a sample. Returns whether slow start ends, because the path is full.
    pub(super) fn on_sample(&mut self, sample: &RateSample) -> bool {
        if self.phase == HystartPhase::Standard {
            return false;
        }
        if sample.delivered_before >= self.round_begin && self.begin_round(sample) {
            return true;
        }
        let Some(round_trip) = sample.round_trip else { return false };
        let current = self.current.map_or(round_trip, |known| known.min(round_trip));
        self.current = Some(current);
        self.samples += 1;
        if self.samples < SAMPLES {
            return false;
        }
        match self.phase {
            HystartPhase::Fast if self.last.is_some_and(|last| current >= last + rise(last)) => {
                self.phase = HystartPhase::Conservative { baseline: current, rounds: 0 };
            }
            // The rise was a false alarm.
            HystartPhase::Conservative { baseline, .. } if current < baseline => {
                self.phase = HystartPhase::Fast
            }
            _ => {}
        }
        false
    }

    /// The first sample of a round trip. Returns whether slow start ends.
    fn begin_round(&mut self, sample: &RateSample) -> bool {
        self.round_begin = sample.delivered_total;
        self.last = self.current.take();
        self.samples = 0;
        if let HystartPhase::Conservative { rounds, .. } = &mut self.phase {
            *rounds += 1;
            if *rounds >= ROUNDS {
                self.phase = HystartPhase::Standard;
                return true;
            }
        }
        false
    }
}

/// How much longer than `last` round trips are if a queue begins.
fn rise(last: Duration) -> Duration {
    (last / RISE_DIVISOR).clamp(LEAST_RISE, MOST_RISE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::RateLimit;

    /// A round of as many samples, each `bytes` further, with this round trip in milliseconds. Whether one of them
    /// ends slow start.
    fn round(start: &mut HyStart, delivered: &mut u64, samples: u32, ms: u64) -> bool {
        let before = *delivered;
        let mut ends = false;
        for _ in 0..samples {
            *delivered += 1000;
            let sample = RateSample {
                delivered: 1000,
                interval: Duration::from_millis(ms),
                round_trip: Some(Duration::from_millis(ms)),
                delivered_before: before,
                delivered_total: *delivered,
                flight_then: 1000,
                lost: 0,
                limit: RateLimit::Cwnd,
            };
            ends |= start.on_sample(&sample);
        }
        // What is sent from now on is sent after all of this was delivered.
        *delivered += 1;
        ends
    }

    fn is_conservative(start: &HyStart) -> bool {
        matches!(start.phase, HystartPhase::Conservative { .. })
    }

    #[test]
    fn thresholds() {
        for (ms, expected) in [(10, 4), (32, 4), (80, 10), (128, 16), (500, 16)] {
            let rise = rise(Duration::from_millis(ms));
            assert_eq!(rise, Duration::from_millis(expected), "{ms}");
        }
    }

    #[test]
    fn a_rise_of_the_round_trip_slows_down_and_five_rounds_end_it() {
        let (mut start, mut delivered) = (HyStart::new(), 0);
        round(&mut start, &mut delivered, 10, 80);
        round(&mut start, &mut delivered, 10, 89);
        assert!(!is_conservative(&start), "a rise of 9 ms, less than an eighth of 80");
        assert_eq!(start.growth(2000, 1000), 2000);
        round(&mut start, &mut delivered, 7, 101);
        assert!(!is_conservative(&start), "seven samples are too few");
        let mut start = HyStart::new();
        round(&mut start, &mut delivered, 10, 80);
        round(&mut start, &mut delivered, 10, 90);
        assert!(is_conservative(&start));
        assert_eq!((start.growth(2000, 1000), start.growth(100_000, 1000)), (500, 2000));
        for _ in 0..4 {
            assert!(!round(&mut start, &mut delivered, 10, 95));
        }
        assert!(round(&mut start, &mut delivered, 10, 95));
        assert_eq!(start.growth(100_000, 1000), 8000, "standard from now on");
        assert!(!round(&mut start, &mut delivered, 10, 500));
    }

    #[test]
    fn a_false_alarm_resumes_slow_start() {
        let (mut start, mut delivered) = (HyStart::new(), 0);
        round(&mut start, &mut delivered, 10, 80);
        round(&mut start, &mut delivered, 10, 100);
        round(&mut start, &mut delivered, 7, 81);
        assert!(is_conservative(&start), "seven samples are too few");
        round(&mut start, &mut delivered, 8, 99);
        assert!(!is_conservative(&start));
    }

    #[test]
    fn later_slow_starts_are_standard() {
        let (mut start, mut delivered) = (HyStart::new(), 0);
        start.end();
        round(&mut start, &mut delivered, 10, 80);
        round(&mut start, &mut delivered, 10, 200);
        assert_eq!(start.growth(4000, 1000), 4000);
    }
}
