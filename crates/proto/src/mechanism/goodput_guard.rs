//! Goodput guard: while all paths together deliver less than one of them would alone, the others are suspended.
//!
//! The other mechanisms that keep a further path from reducing the goodput decide before data is sent, from estimates
//! that may be wrong. The guard uses the result. The rate of its bottleneck and the buffers limit what each path could
//! deliver alone. If all paths together deliver less than that for two periods and 0.6 s, the path that could deliver
//! most is tried alone, for some round trips. If it delivers more, the others carry no data of their own for some
//! periods, and are then tried again; that time doubles whenever they were worse. If not, the path that could deliver
//! second most is tried, and after all of them, the next trial is some periods away, twice as many each time. A trial
//! thus costs a bounded part of the capacity, and a harmful path reduces the goodput for a bounded time.
//!
//! No paper describes it. It is a bandit that compares its arms by playing them, because estimates of rates can be
//! wrong.

use crate::types::{NANOS_PER_SECOND, PathSet};
use crate::{Duration, Instant, PathId};

/// A period is this many round trips of the best path, and at least two of the longest one.
const ROUND_TRIPS: u64 = 8;
const LEAST_PERIOD: Duration = Duration::from_millis(100);
const MOST_PERIOD: Duration = Duration::from_secs(2);

/// Bad periods that call for a trial, and how long they have to last: a controller that looks for its round trip is slow for 200 ms.
const BAD_PERIODS: u32 = 2;
const BAD_TIME: Duration = Duration::from_millis(600);

/// All paths together should deliver this percentage of what the best one would alone: the rest is headers and chance.
const ENOUGH: u128 = 93;
/// A period that delivers this percentage of the one before belongs to a start-up, and is not judged.
const GROWS: u128 = 125;
/// A path alone must deliver this percentage of what all did.
const BETTER: u128 = 103;

/// Periods for which paths rest, and periods without a trial after one that brought nothing: at first, and at most.
const FIRST_REST: u32 = 16;
const FIRST_WAIT: u32 = 8;
const LONGEST: u32 = 256;

/// What is known at the end of a period.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct GuardView {
    pub(crate) now: Instant,
    /// The path that could deliver most alone among the untried ones, if known.
    pub(crate) best: Option<BestPath>,
    /// Longest smoothed round trip of a path.
    pub(crate) longest_rtt: Duration,
}

/// The path that could deliver most alone.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct BestPath {
    pub(crate) path: PathId,
    /// What it could deliver at most, in bytes per second.
    pub(crate) alone: u64,
    pub(crate) srtt: Duration,
}

/// What the guard found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Finding {
    /// One path delivers more than all did, in bytes per second: the others rest.
    Rest { kept: PathId, alone: u64, together: u64 },
    /// They carry data again.
    Return,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum GuardPhase {
    /// All paths carry data.
    Watch,
    /// One path is to be tried; first, the data in flight on the others arrives.
    Drain(PathId),
    /// It is tried.
    Trial(PathId),
    /// The others stay suspended for this many further periods.
    Rest(PathId, u32),
}

/// The guard of one association.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct GoodputGuard {
    phase: GuardPhase,
    /// The present period, which counts if there was always something to send.
    begin: Instant,
    end: Instant,
    delivered: u64,
    counts: bool,
    /// Bad periods in a row, and when the first of them began.
    bad: u32,
    bad_since: Instant,
    /// What was delivered in them, in bytes per second.
    together: u64,
    /// What was delivered in the period before.
    last: u64,
    /// Paths that were tried and delivered no more.
    tried: PathSet,
    /// Periods until the next trial may begin.
    wait: u32,
    /// How many there are after a trial that brings nothing, and how many periods the paths rest after one that does.
    next_wait: u32,
    next_rest: u32,
}

impl GoodputGuard {
    pub(crate) fn new(now: Instant) -> Self {
        Self {
            phase: GuardPhase::Watch,
            begin: now,
            end: now,
            delivered: 0,
            counts: false,
            bad: 0,
            bad_since: now,
            together: 0,
            last: 0,
            tried: PathSet::EMPTY,
            wait: 0,
            next_wait: FIRST_WAIT,
            next_rest: FIRST_REST,
        }
    }

    /// For tests of other parts: all paths but this one rest.
    #[cfg(test)]
    pub(crate) fn keeping(path: PathId) -> Self {
        Self { phase: GuardPhase::Rest(path, FIRST_REST), ..Self::new(Instant::ZERO) }
    }

    /// The only path that carries data, if the others rest.
    pub(crate) fn kept(&self) -> Option<PathId> {
        match self.phase {
            GuardPhase::Watch => None,
            GuardPhase::Drain(path) | GuardPhase::Trial(path) | GuardPhase::Rest(path, _) => {
                Some(path)
            }
        }
    }

    /// Paths that a trial has shown to deliver no more than all.
    pub(crate) fn tried(&self) -> PathSet {
        self.tried
    }

    /// Bytes were delivered, or `idle`: there was nothing to send. Returns whether the period is over.
    pub(crate) fn on_delivered(&mut self, now: Instant, bytes: u64, idle: bool) -> bool {
        self.delivered = self.delivered.saturating_add(bytes);
        self.counts &= !idle;
        now >= self.end
    }

    /// A period is over.
    pub(crate) fn on_period(&mut self, view: &GuardView) -> Option<Finding> {
        let rate = rate_of(self.delivered, view.now.since(self.begin));
        let finding = self.judge(view, self.counts.then_some(rate));
        (self.begin, self.delivered, self.counts) = (view.now, 0, true);
        self.end = view.now + self.length(view);
        finding
    }

    /// All paths carry data again, because there is nothing more to send, or the kept path no longer works.
    pub(crate) fn give_up(&mut self) -> Option<Finding> {
        let rested = matches!(self.phase, GuardPhase::Rest(..));
        (self.phase, self.bad) = (GuardPhase::Watch, 0);
        rested.then_some(Finding::Return)
    }

    fn judge(&mut self, view: &GuardView, rate: Option<u64>) -> Option<Finding> {
        let Some(rate) = rate else { return self.give_up() };
        match self.phase {
            GuardPhase::Watch => {
                self.watch(view, rate);
                None
            }
            GuardPhase::Drain(path) => {
                self.phase = GuardPhase::Trial(path);
                None
            }
            GuardPhase::Trial(path) => self.decide(path, rate),
            GuardPhase::Rest(path, periods) => {
                // The path has become worse.
                let is_worse = u128::from(rate) * 100 < u128::from(self.together) * 90;
                if periods <= 1 || is_worse {
                    return self.give_up();
                }
                self.phase = GuardPhase::Rest(path, periods - 1);
                None
            }
        }
    }

    fn watch(&mut self, view: &GuardView, rate: u64) {
        self.wait = self.wait.saturating_sub(1);
        let before = core::mem::replace(&mut self.last, rate);
        let grows = u128::from(rate) * 100 >= u128::from(before) * GROWS;
        let is_bad = |best: BestPath| u128::from(rate) * 100 < u128::from(best.alone) * ENOUGH;
        let Some(best) = view.best.filter(|best| is_bad(*best) && !grows) else {
            self.bad = 0;
            if !self.tried.is_empty() {
                self.end_round();
            }
            return;
        };
        if self.bad == 0 {
            (self.together, self.bad_since) = (0, self.begin);
        }
        self.together = self.together.max(rate);
        self.bad = self.bad.saturating_add(1);
        let lasts = view.now.since(self.bad_since) >= BAD_TIME;
        if self.bad >= BAD_PERIODS && lasts && self.wait == 0 {
            (self.phase, self.bad) = (GuardPhase::Drain(best.path), 0);
        }
    }

    /// The trial is over.
    fn decide(&mut self, kept: PathId, alone: u64) -> Option<Finding> {
        if u128::from(alone) * 100 >= u128::from(self.together) * BETTER {
            self.phase = GuardPhase::Rest(kept, self.next_rest);
            self.next_rest = (self.next_rest * 2).min(LONGEST);
            self.tried = PathSet::EMPTY;
            return Some(Finding::Rest { kept, alone, together: self.together });
        }
        // The next best one is tried then.
        self.phase = GuardPhase::Watch;
        self.tried.insert(kept);
        None
    }

    /// All paths that might be better were tried.
    fn end_round(&mut self) {
        self.tried = PathSet::EMPTY;
        self.wait = self.next_wait;
        self.next_wait = (self.next_wait * 2).min(LONGEST);
    }

    fn length(&self, view: &GuardView) -> Duration {
        if matches!(self.phase, GuardPhase::Drain(_)) {
            return view.longest_rtt.min(MOST_PERIOD);
        }
        let best = view.best.map_or(Duration::ZERO, |best| best.srtt * ROUND_TRIPS);
        best.max(view.longest_rtt * 2).clamp(LEAST_PERIOD, MOST_PERIOD)
    }
}

fn rate_of(bytes: u64, time: Duration) -> u64 {
    let rate = u128::from(bytes) * NANOS_PER_SECOND / u128::from(time.as_nanos().max(1));
    u64::try_from(rate).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use super::*;

    /// Periods of 400 ms.
    const RTT: Duration = Duration::from_millis(50);
    const GOOD: PathId = PathId(0);
    const OTHER: PathId = PathId(1);
    /// 10 MB/s could be delivered.
    const ALONE: u64 = 10_000_000;

    struct Bench {
        guard: GoodputGuard,
        now: Instant,
    }

    impl Bench {
        /// In the first period that counts.
        fn new() -> Self {
            let mut bench = Self { guard: GoodputGuard::new(Instant::ZERO), now: Instant::ZERO };
            assert!(bench.guard.on_delivered(Instant::ZERO, 0, false));
            bench.end();
            bench
        }

        fn end(&mut self) -> Option<Finding> {
            let tried = self.guard.tried();
            let arms = [(GOOD, ALONE), (OTHER, ALONE - 1)];
            let best = arms.into_iter().find(|(path, _)| !tried.contains(*path));
            let best = best.map(|(path, alone)| BestPath { path, alone, srtt: RTT });
            self.guard.on_period(&GuardView { now: self.now, best, longest_rtt: RTT })
        }

        /// A period in which `percent` of what could be is delivered.
        fn period(&mut self, percent: u64) -> Option<Finding> {
            let length = self.guard.end.since(self.now);
            let bytes = ALONE * percent / 100 * length.as_millis() / 1000;
            self.now += length;
            assert!(self.guard.on_delivered(self.now, bytes, false), "the period is over");
            self.end()
        }

        fn periods(&mut self, percent: &[u64]) -> Vec<Option<PathId>> {
            let kept = |percent: &u64| {
                self.period(*percent);
                self.guard.kept()
            };
            percent.iter().map(kept).collect()
        }
    }

    #[test]
    fn a_path_that_delivers_more_alone_is_left_alone_for_longer_each_time() {
        let mut bench = Bench::new();
        let good = Some(GOOD);
        assert_eq!(bench.periods(&[95, 50, 50]), [None, None, good], "twice too little");
        assert_eq!(bench.period(30), None, "what was in flight drains, which tells nothing");
        let found = bench.period(90);
        let (alone, together) = (ALONE / 10 * 9, ALONE / 2);
        assert_eq!(found, Some(Finding::Rest { kept: GOOD, alone, together }));
        for rest in [16, 32, 64, 128, 256, 256] {
            for period in 1..rest {
                assert_eq!(bench.period(90), None, "{period} of {rest}");
            }
            assert_eq!(bench.period(90), Some(Finding::Return));
            assert_eq!(bench.guard.kept(), None);
            bench.periods(&[50, 50, 50]);
            assert!(matches!(bench.period(90), Some(Finding::Rest { .. })));
        }
    }

    #[test]
    fn each_path_is_tried_once_and_then_none_for_longer_each_time() {
        let mut bench = Bench::new();
        let (good, other) = (Some(GOOD), Some(OTHER));
        assert_eq!(bench.periods(&[50]), [None], "it may be a start-up");
        for periods in [2, 8, 16, 32, 64, 128, 256, 256] {
            for period in 1..periods {
                assert_eq!(bench.periods(&[50]), [None], "{period} of {periods}");
            }
            // The drain, the trial, and the same for the next path.
            let kept = bench.periods(&[50, 50, 50, 50, 50, 50, 51]);
            assert_eq!(kept, [good, good, None, None, other, other, None], "{periods}");
            // Nothing is left to try.
            assert_eq!(bench.periods(&[50]), [None]);
        }
    }

    #[test]
    fn what_delivers_enough_or_grows_or_had_nothing_to_send_is_no_reason() {
        for percent in [&[93; 9][..], &[10, 13, 17, 22, 28, 36, 46, 58, 73], &[50, 93, 50, 93, 50]]
        {
            let mut bench = Bench::new();
            bench.periods(&[8]);
            assert!(bench.periods(percent).iter().all(Option::is_none), "{percent:?}");
        }
        let mut bench = Bench::new();
        for _ in 0..9 {
            bench.guard.on_delivered(bench.now, 0, true);
            assert_eq!(bench.periods(&[50]), [None]);
        }
    }

    #[test]
    fn two_short_periods_are_not_enough() {
        let mut guard = GoodputGuard::new(Instant::ZERO);
        let best = Some(BestPath { path: GOOD, alone: ALONE, srtt: Duration::from_millis(1) });
        // The first period does not count, and the second may be a start-up. After six bad ones of 100 ms the trial begins.
        let kept = (0..=8).map(|n| {
            let now = Instant::ZERO + Duration::from_millis(100 * n);
            assert!(guard.on_delivered(now, ALONE / 20, false));
            guard.on_period(&GuardView { now, best, longest_rtt: Duration::from_millis(1) });
            guard.kept()
        });
        let kept: Vec<_> = kept.collect();
        assert_eq!(kept.iter().position(Option::is_some), Some(7), "{kept:?}");
    }

    #[test]
    fn the_paths_return_when_the_kept_one_gets_worse_or_there_is_nothing_to_send() {
        let resting = || {
            let mut bench = Bench::new();
            bench.periods(&[50, 50, 50, 50]);
            assert!(matches!(bench.period(90), Some(Finding::Rest { .. })));
            bench
        };
        assert_eq!(resting().period(45), None, "nine tenths of what all delivered");
        assert_eq!(resting().period(44), Some(Finding::Return));
        assert_eq!(resting().guard.give_up(), Some(Finding::Return));
        let mut idle = resting();
        idle.guard.on_delivered(idle.now, 0, true);
        assert_eq!(idle.period(90), Some(Finding::Return));
    }

    #[test]
    fn periods_follow_round_trips_within_bounds() {
        let ms = Duration::from_millis;
        for (best, longest, expected) in
            [(1, 1, 100), (20, 20, 160), (20, 200, 400), (500, 500, 2000), (10, 5000, 2000)]
        {
            let mut guard = GoodputGuard::new(Instant::ZERO);
            let best = Some(BestPath { path: GOOD, alone: ALONE, srtt: ms(best) });
            guard.on_period(&GuardView { now: Instant::ZERO, best, longest_rtt: ms(longest) });
            assert_eq!(guard.end, Instant::ZERO + ms(expected), "{longest}");
        }
    }
}
