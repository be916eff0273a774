//! What a path loses although it is not full: how much of each round, and how much that varies.
//!
//! A radio link loses in bursts. A burst is more than chance takes from a path on which each packet is lost by itself, so a probe
//! with a burst in it looks as if it had been too much, and the bound that it leaves never rises: each probe needs several rounds,
//! and bursts come in most of them. But such a path loses as much while nothing is probed and no queue makes round trips longer. What
//! it loses then is not what a probe costs.
//!
//! Mean and mean deviation are those of RFC 6298 for round trips, of shares instead of times.

use super::bandwidth::percent;
use crate::Duration;

/// Shares are counted in so many parts.
const WHOLE: u64 = 1 << 16;
/// No more than this is ever taken for what the path loses, in percent: a probe that is a quarter too fast for a path without a
/// queue loses a fifth.
const MOST: u64 = 15;
/// With fewer packets in flight, one that is lost is a large share.
const LEAST_PACKETS: u64 = 8;
/// Rounds before anything is known.
const LEAST_ROUNDS: u32 = 4;
/// A queue makes the shortest round trip of a round this much longer, in percent of the shortest of all.
const QUEUE: u64 = 12;

/// Estimator of one path.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct PathLoss {
    mean: u64,
    deviation: u64,
    rounds: u32,
    /// The shortest round trip of the present round.
    shortest: Option<Duration>,
    /// The shortest round trip of the last round was longer than it ever was.
    is_queued: Option<bool>,
}

impl PathLoss {
    /// Something was acknowledged, which measured a round trip or not.
    pub(super) fn on_round_trip(&mut self, round_trip: Option<Duration>) {
        self.shortest = self.shortest.into_iter().chain(round_trip).min();
    }

    /// A round ends; `ever` is the shortest round trip of the path.
    pub(super) fn end_round(&mut self, ever: Option<Duration>) {
        let queue = |now: Duration, ever: Duration| {
            now.as_nanos().saturating_sub(ever.as_nanos()) > percent(ever.as_nanos(), QUEUE)
        };
        self.is_queued = self.shortest.take().zip(ever).map(|(now, ever)| queue(now, ever));
    }

    /// Whether there was a queue in the last round, as far as that is known.
    pub(super) fn is_queued(&self) -> Option<bool> {
        self.is_queued
    }

    /// No probe was made in the last round, and of `flight` bytes in packets of `unit` so many were lost.
    pub(super) fn on_round(&mut self, lost: u64, flight: u64, unit: u64) {
        if self.is_queued != Some(false) || flight < LEAST_PACKETS * unit {
            return;
        }
        let share = lost.min(flight).saturating_mul(WHOLE) / flight;
        if self.rounds == 0 {
            (self.mean, self.deviation) = (share, share / 2);
        } else {
            self.deviation = (3 * self.deviation + share.abs_diff(self.mean)) / 4;
            self.mean = (7 * self.mean + share) / 8;
        }
        self.rounds = self.rounds.saturating_add(1);
    }

    /// How much of so many bytes in flight the path may lose by itself.
    pub(super) fn tolerated(&self, flight: u64) -> u64 {
        if self.rounds < LEAST_ROUNDS {
            return 0;
        }
        let share = (self.mean + 4 * self.deviation).min(percent(WHOLE, MOST));
        u64::try_from(u128::from(flight) * u128::from(share) / u128::from(WHOLE)).unwrap_or(flight)
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;

    const MS: Option<Duration> = Some(Duration::from_millis(100));

    fn after(rounds: &[(u64, u64, u64)]) -> PathLoss {
        let mut loss = PathLoss::default();
        for &(lost, flight, ms) in rounds {
            loss.on_round_trip(Some(Duration::from_millis(ms + 50)));
            loss.on_round_trip(Some(Duration::from_millis(ms)));
            loss.on_round_trip(None);
            loss.end_round(MS);
            loss.on_round(lost * 1000, flight * 1000, 1000);
        }
        loss
    }

    #[test]
    fn what_is_lost_without_a_queue_is_what_the_path_loses() {
        for (what, rounds, least, most) in [
            ("nothing is known", vec![], 0, 0),
            ("three rounds are too few", vec![(5, 100, 100); 3], 0, 0),
            ("5 % in each round", vec![(5, 100, 100); 40], 4900, 5100),
            (
                "a burst of 8 in every other",
                [(8, 100, 100), (0, 100, 100)].repeat(40),
                14_000,
                15_000,
            ),
            ("never more than 15 %", vec![(50, 100, 100); 40], 14_900, 15_000),
            ("a queue", vec![(5, 100, 113); 40], 0, 0),
            ("no queue yet", vec![(5, 100, 112); 40], 4900, 5100),
            ("few packets in flight", vec![(1, 7, 100); 40], 0, 0),
            ("no longer few", vec![(1, 8, 100); 40], 12_400, 12_600),
            // 5 %, and four times the deviation: half of that at first, of which three rounds leave 27/64.
            ("four rounds", vec![(5, 100, 100); 4], 9100, 9300),
            ("nothing is lost", vec![(0, 100, 100); 40], 0, 0),
        ] {
            let tolerated = after(&rounds).tolerated(100_000);
            assert!((least..=most).contains(&tolerated), "{what}: {tolerated}");
        }
    }

    #[test]
    fn rounds_without_a_round_trip_teach_nothing() {
        let mut loss = PathLoss::default();
        for shortest in [MS, None] {
            for _ in 0..10 {
                loss.end_round(shortest);
                loss.on_round(5000, 100_000, 1000);
            }
        }
        assert_eq!((loss, loss.is_queued()), (PathLoss::default(), None));
    }

    #[test]
    fn the_largest_numbers_do_no_harm() {
        let mut loss = after(&[(5, 100, 100); 10]);
        loss.on_round_trip(MS);
        loss.end_round(MS);
        loss.on_round(u64::MAX, u64::MAX, 1);
        assert!(loss.tolerated(u64::MAX) <= u64::MAX / 6);
    }
}
