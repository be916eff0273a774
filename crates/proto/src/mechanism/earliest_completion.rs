//! Earliest completion first: when all that remains to be sent is known, new data keeps off a path on which it would arrive after
//! the others had delivered everything.
//!
//! Lim, Nahum, Towsley, Gibbens 2017 ("ECF: An MPTCP path scheduler to manage heterogeneous paths"). A path that has no
//! congestion window left, or whose pace lets no packet go now, may still be the one to wait for: a path that is free but
//! long, or thin, would bring its chunk later than that one brings the whole rest. ECF compares two paths by round trips and congestion
//! windows; here any number of paths is compared, by when a chunk arrives and what arrives elsewhere until then.

use core::num::NonZeroU64;

use crate::Duration;
use crate::mechanism::blocking_estimation::{MeasuredPath, expected_rtt};
use crate::types::NANOS_PER_SECOND;

/// A path and its data in flight.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct LoadedPath {
    pub(crate) path: MeasuredPath,
    /// Bytes in flight.
    pub(crate) flight: u64,
    /// Time until its congestion window, or its pace, lets the next packet go.
    pub(crate) wait: Duration,
    /// Bytes per second at which it may send, if its packets are paced.
    pub(crate) pace: Option<NonZeroU64>,
}

impl LoadedPath {
    /// How long a chunk takes to arrive that is sent next.
    fn arrival(&self, chunk: u64) -> Duration {
        self.wait + expected_rtt(&self.path, self.flight, chunk) / 2
    }

    /// What arrives within so long after the first chunk did, and that chunk.
    fn delivers(&self, time: Duration, chunk: u64) -> u128 {
        match (self.path.final_rate(), self.path.bottleneck) {
            (Some(rate), _) => follows(rate, time, chunk),
            (None, Some(rate)) => follows(rate, time, chunk).min(self.window_delivers(time, chunk)),
            (None, None) => self.window_delivers(time, chunk),
        }
    }

    /// The same as far as the congestion window is the limit: what is free of it, no faster than its pace; what the answers to that in
    /// flight admit within a round trip; and a window in each round trip after that.
    fn window_delivers(&self, time: Duration, chunk: u64) -> u128 {
        let MeasuredPath { cwnd, srtt, .. } = self.path;
        let (nanos, srtt) = (u128::from(time.as_nanos()), u128::from(srtt.as_nanos().max(1)));
        let (round_trips, rest) = (nanos / srtt, nanos % srtt);
        let growth = if self.path.is_growing() { 2 } else { 1 };
        let flight = u128::from(self.flight);
        let free = u128::from(cwnd).saturating_sub(flight).max(chunk.into());
        let answered = flight.saturating_mul(growth);
        let within = |window: u128| window.saturating_mul(rest) / srtt;
        let paced = self.pace.map_or(u128::MAX, |pace| follows(pace.get(), time, chunk));
        if round_trips == 0 {
            return (free + within(answered)).min(paced);
        }
        let first = (free + answered).min(paced);
        let rounds = u32::try_from(round_trips - 1).unwrap_or(u32::MAX);
        let window = u128::from(cwnd).saturating_mul(growth);
        match growth {
            1 => first + window.saturating_mul(rounds.into()) + within(window),
            // A window that doubles in each round trip.
            _ => {
                let factor = 1u128 << rounds.min(40);
                let whole = window.saturating_mul(factor - 1);
                first + whole.saturating_add(within(window.saturating_mul(factor)))
            }
        }
    }
}

/// A chunk, and what follows it at a rate within so long.
fn follows(rate: u64, time: Duration, chunk: u64) -> u128 {
    u128::from(chunk) + u128::from(rate) * u128::from(time.as_nanos()) / NANOS_PER_SECOND
}

/// Whether the other paths have delivered all that `remains`, this chunk included, before it would arrive on this path. A path on
/// which a chunk arrives no sooner does not count, so that the best one never waits.
pub(crate) fn completes_sooner(
    own: &LoadedPath,
    chunk: u64,
    remains: u64,
    others: impl Iterator<Item = LoadedPath>,
) -> bool {
    let arrival = own.arrival(chunk);
    let mut delivered = 0u128;
    for other in others {
        let first = other.arrival(chunk);
        if first < arrival {
            delivered = delivered.saturating_add(other.delivers(arrival - first, chunk));
        }
    }
    delivered > 0 && delivered >= u128::from(remains)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mechanism::arrival::ArrivalTime;
    use crate::mechanism::blocking_estimation::KnownRate;
    use crate::mechanism::loss_delay::LossDelay;

    const CHUNK: u64 = 1000;

    /// 8 Mbit/s: a chunk takes 1 ms, and half a round trip 5 ms.
    const QUICK: MeasuredPath = MeasuredPath {
        cwnd: 20_000,
        ssthresh: u64::MAX,
        srtt: Duration::from_millis(10),
        smallest_rtt: Duration::from_millis(10),
        serialisation: Duration::ZERO,
        rate: Some(KnownRate { bytes_per_second: 1_000_000, is_final: true }),
        bottleneck: None,
        backlog: Duration::ZERO,
        arrival: ArrivalTime::lossless(Duration::ZERO),
        losses: LossDelay::new(),
        dependents: u64::MAX,
        chunk: 1000,
    };

    const fn idle(path: MeasuredPath) -> LoadedPath {
        LoadedPath { path, flight: 0, wait: Duration::ZERO, pace: None }
    }

    const fn with_rtt(path: MeasuredPath, ms: u64) -> MeasuredPath {
        let rtt = Duration::from_millis(ms);
        MeasuredPath { srtt: rtt, smallest_rtt: rtt, ..path }
    }

    /// A chunk arrives after 5.5 ms on the lower-RTT path, and after 20.5 ms on the other one: 15 ms later, in which 15 more arrive.
    #[test]
    fn a_long_path_gets_what_the_quick_one_does_not_deliver_meanwhile() {
        let long = idle(with_rtt(QUICK, 40));
        let quick = idle(QUICK);
        let grows = MeasuredPath { rate: None, ..QUICK };
        let thin = MeasuredPath { bottleneck: Some(100_000), ..grows };
        let stays = MeasuredPath { ssthresh: 0, ..grows };
        for (what, others, remains, waits) in [
            ("no other path", &[][..], CHUNK, false),
            ("nor anything that remains", &[], 0, false),
            ("one chunk", &[quick], CHUNK, true),
            ("as much as arrives meanwhile", &[quick], 16_000, true),
            ("more than that", &[quick], 16_001, false),
            ("two quick paths", &[quick, quick], 32_000, true),
            ("not even they", &[quick, quick], 32_001, false),
            ("paths alike", &[long], CHUNK, false),
            // 15.5 ms: 20 chunks, and 22 of 40 in half of the next round trip.
            ("a window that doubles", &[idle(grows)], 42_000, true),
            ("and no more", &[idle(grows)], 42_001, false),
            // A window, and 11 chunks in the rest of the time.
            ("a window that stays", &[idle(stays)], 31_000, true),
            ("and no more", &[idle(stays)], 31_001, false),
            // The first chunk arrives after 10 ms, and 1,050 bytes until the long path's.
            ("a bottleneck that is known", &[idle(thin)], 2050, true),
            ("no window passes it", &[idle(thin)], 2051, false),
        ] {
            let waiting = completes_sooner(&long, CHUNK, remains, others.iter().copied());
            assert_eq!(waiting, waits, "{what}");
        }
    }

    /// 15.5 ms at 100 bytes each: with the first chunk 2,550 bytes instead of a window, and then 22 chunks of the larger one.
    #[test]
    fn the_first_window_leaves_no_faster_than_its_pace() {
        let grows = MeasuredPath { rate: None, ..QUICK };
        let paced = LoadedPath { pace: NonZeroU64::new(100_000), ..idle(grows) };
        let long = idle(with_rtt(QUICK, 40));
        for (remains, waits) in [(24_550, true), (24_551, false)] {
            assert_eq!(completes_sooner(&long, CHUNK, remains, [paced].into_iter()), waits);
        }
    }

    /// In a tenth of a round trip: 6 of the window of 20 are free, and the answers to 14 admit 1,400 bytes, or twice that if the window grows.
    #[test]
    fn answers_admit_what_is_in_flight_within_a_round_trip() {
        let stays = with_rtt(MeasuredPath { rate: None, ssthresh: 0, ..QUICK }, 20);
        let grows = MeasuredPath { ssthresh: u64::MAX, ..stays };
        for (what, path, pace, delivered) in [
            ("a window that stays", stays, None, 7400),
            ("a window that doubles", grows, None, 8800),
            ("at a pace", grows, NonZeroU64::new(1_000_000), 3000),
        ] {
            let loaded = LoadedPath { flight: 14_000, pace, ..idle(path) };
            let time = Duration::from_millis(2);
            assert_eq!(loaded.delivers(time, CHUNK), delivered, "{what}");
        }
    }

    /// Forty chunks in flight leave the loaded path in 40 ms, and 10 of them are in a round trip.
    #[test]
    fn what_is_in_flight_comes_first() {
        let loaded = LoadedPath { path: QUICK, flight: 40_000, wait: Duration::ZERO, pace: None };
        for (long_ms, waits) in [(60, false), (90, true)] {
            let long = idle(with_rtt(QUICK, long_ms));
            assert_eq!(completes_sooner(&long, CHUNK, CHUNK, [loaded].into_iter()), waits);
        }
    }

    #[test]
    fn of_paths_that_wait_for_each_other_there_are_none() {
        let paths = [10, 11, 30, 300].map(|ms| idle(with_rtt(QUICK, ms)));
        for remains in [CHUNK, 10_000, u64::MAX] {
            let waits = |at: usize| {
                let others = paths.iter().enumerate().filter(|(other, _)| *other != at);
                completes_sooner(&paths[at], CHUNK, remains, others.map(|(_, path)| *path))
            };
            assert!(!waits(0), "the best path never waits");
        }
    }

    #[test]
    fn the_largest_numbers_do_no_harm() {
        let most = MeasuredPath {
            cwnd: u64::MAX,
            rate: None,
            srtt: Duration::from_nanos(1),
            smallest_rtt: Duration::from_nanos(0),
            serialisation: Duration::ZERO,
            ..QUICK
        };
        let never = MeasuredPath { smallest_rtt: Duration::MAX, ..most };
        assert!(completes_sooner(&idle(never), u64::MAX, u64::MAX, [idle(most)].into_iter()));
    }
}
