//! Consecutive timeouts (`iyengar` fig. 4d, `natarajan` table I).

use polypath_proto::PathId;
use polypath_units::{Duration, Instant};
use serde::Serialize;

/// Runs up to this length are counted by length, longer ones together.
const LENGTHS: usize = 6;
/// Timeouts whose distance from the previous one is measured: the second to the fourth of a run.
const WAITS: usize = 3;

/// Timeouts of paths, grouped into runs. A run consists of T3-rtx expiries of a path without a sign of life between
/// them: an acknowledged chunk whose last transmission used the path, an RTT sample, or the return of the path to the
/// state active.
#[derive(Debug, Default)]
pub(super) struct Streaks {
    paths: Vec<Streak>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Streak {
    current: u64,
    /// The latest timeout of the current run.
    latest: Option<Instant>,
    waits: Waits,
    over: Tally,
}

/// Intervals between the second and later timeouts of a run and their predecessors: number and sum.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Waits([(u64, Duration); WAITS]);

/// Completed runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Tally {
    timeouts: u64,
    runs: u64,
    longest: u64,
    by_length: [u64; LENGTHS],
    longer: u64,
    waits: Waits,
}

/// Timeouts and their runs: consecutive timeouts without a sign of life from the path between them.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub struct TimeoutResult {
    /// T3 expiries.
    pub count: u64,
    /// Runs.
    pub runs: u64,
    /// Mean length of a run: consecutive timeouts (`natarajan` table I).
    pub mean_run: Option<f64>,
    /// Length of the longest run.
    pub longest_run: u64,
    /// Single timeouts (`iyengar` fig. 4d, n = 1).
    pub runs_of_1: u64,
    /// Runs of two.
    pub runs_of_2: u64,
    /// Runs of three.
    pub runs_of_3: u64,
    /// Runs of four.
    pub runs_of_4: u64,
    /// Runs of five.
    pub runs_of_5: u64,
    /// Runs of six.
    pub runs_of_6: u64,
    /// Longer runs.
    pub runs_of_7_or_more: u64,
    /// Mean time from the first timeout of a run to the second, in seconds: the second timer (`iyengar` section V-A).
    pub wait_before_2_s: Option<f64>,
    /// From the second to the third.
    pub wait_before_3_s: Option<f64>,
    /// From the third to the fourth.
    pub wait_before_4_s: Option<f64>,
}

impl Streaks {
    /// Notes an expiry of a path's T3-rtx.
    pub fn on_timeout(&mut self, path: PathId, now: Instant) {
        if self.paths.len() <= path.index() {
            self.paths.resize_with(path.index() + 1, Streak::default);
        }
        self.paths[path.index()].on_timeout(now);
    }

    /// Notes a sign of life from a path.
    pub fn on_sign_of_life(&mut self, path: PathId) {
        if let Some(streak) = self.paths.get_mut(path.index()) {
            streak.over = streak.tally();
            streak.current = 0;
            streak.latest = None;
        }
    }

    /// Runs of a path, including the current one.
    pub fn of(&self, path: PathId) -> Tally {
        self.paths.get(path.index()).map(Streak::tally).unwrap_or_default()
    }

    /// Runs of all paths.
    pub fn all(&self) -> Tally {
        self.paths.iter().map(Streak::tally).fold(Tally::default(), Tally::plus)
    }
}

impl Streak {
    fn on_timeout(&mut self, now: Instant) {
        self.current += 1;
        let place = (self.current as usize).checked_sub(2);
        let wait = place.and_then(|place| self.waits.0.get_mut(place));
        if let Some(((count, sum), latest)) = wait.zip(self.latest) {
            *count += 1;
            *sum += now.since(latest);
        }
        self.latest = Some(now);
    }

    fn tally(&self) -> Tally {
        let tally = match self.current {
            0 => self.over,
            length => self.over.with(length),
        };
        Tally { waits: self.waits, ..tally }
    }
}

impl Waits {
    fn mean_s(&self) -> [Option<f64>; WAITS] {
        self.0.map(|(count, sum)| (count > 0).then(|| sum.as_secs_f64() / count as f64))
    }
}

impl Tally {
    fn with(mut self, length: u64) -> Self {
        self.timeouts += length;
        self.runs += 1;
        self.longest = self.longest.max(length);
        match self.by_length.get_mut(length as usize - 1) {
            Some(runs) => *runs += 1,
            None => self.longer += 1,
        }
        self
    }

    fn plus(mut self, other: Self) -> Self {
        self.timeouts += other.timeouts;
        self.runs += other.runs;
        self.longest = self.longest.max(other.longest);
        self.by_length.iter_mut().zip(other.by_length).for_each(|(runs, more)| *runs += more);
        self.longer += other.longer;
        for ((count, sum), (more, longer)) in self.waits.0.iter_mut().zip(other.waits.0) {
            *count += more;
            *sum += longer;
        }
        self
    }
}

impl From<Tally> for TimeoutResult {
    fn from(tally: Tally) -> Self {
        let [runs_of_1, runs_of_2, runs_of_3, runs_of_4, runs_of_5, runs_of_6] = tally.by_length;
        let [wait_before_2_s, wait_before_3_s, wait_before_4_s] = tally.waits.mean_s();
        Self {
            count: tally.timeouts,
            runs: tally.runs,
            mean_run: (tally.runs > 0).then(|| tally.timeouts as f64 / tally.runs as f64),
            longest_run: tally.longest,
            runs_of_1,
            runs_of_2,
            runs_of_3,
            runs_of_4,
            runs_of_5,
            runs_of_6,
            runs_of_7_or_more: tally.longer,
            wait_before_2_s,
            wait_before_3_s,
            wait_before_4_s,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `T` is a timeout, `+` a sign of life.
    fn streaks(of_paths: &[&str]) -> Streaks {
        let mut streaks = Streaks::default();
        for (path, events) in of_paths.iter().enumerate() {
            for event in events.chars() {
                match event {
                    'T' => streaks.on_timeout(PathId(path as u8), Instant::ZERO),
                    _ => streaks.on_sign_of_life(PathId(path as u8)),
                }
            }
        }
        streaks
    }

    #[test]
    fn runs_end_with_signs_of_life_of_their_path() {
        type Case = (&'static [&'static str], u64, [u64; 4], u64, Option<f64>);
        let cases: [Case; 7] = [
            (&["+++"], 0, [0, 0, 0, 0], 0, None),
            (&["T"], 1, [1, 0, 0, 0], 0, Some(1.0)),
            (&["T+T+"], 2, [2, 0, 0, 0], 0, Some(1.0)),
            (&["TT+T"], 3, [1, 1, 0, 0], 0, Some(1.5)),
            (&["TTT++TTTT"], 7, [0, 0, 1, 1], 0, Some(3.5)),
            (&["TTTTTTT+TTTTTTTTT"], 16, [0, 0, 0, 0], 2, Some(8.0)),
            (&["T+T", "", "TT"], 4, [2, 1, 0, 0], 0, Some(4.0 / 3.0)),
        ];
        for (events, count, by_length, longer, mean) in cases {
            let all = TimeoutResult::from(streaks(events).all());
            let found = [all.runs_of_1, all.runs_of_2, all.runs_of_3, all.runs_of_4];
            assert_eq!(found, by_length, "{events:?}");
            assert_eq!((all.count, all.runs_of_7_or_more), (count, longer), "{events:?}");
            assert_eq!(all.mean_run, mean, "{events:?}");
        }
        let of_third = TimeoutResult::from(streaks(&["T+T", "", "TT"]).of(PathId(2)));
        assert_eq!((of_third.runs_of_2, of_third.longest_run), (1, 2));
        assert_eq!(streaks(&[]).of(PathId(5)), Tally::default());
    }

    #[test]
    fn each_timeout_of_a_run_is_waited_for_from_the_one_before_on() {
        let mut streaks = Streaks::default();
        let at = |s: u64| Instant::ZERO + Duration::from_secs(s);
        let [one, other] = [PathId(0), PathId(1)];
        // Two runs of one path, the second of which is the current one, and one of the other.
        [1, 3, 7].into_iter().for_each(|s| streaks.on_timeout(one, at(s)));
        streaks.on_sign_of_life(one);
        [20, 23, 29, 41, 99].into_iter().for_each(|s| streaks.on_timeout(one, at(s)));
        [20, 24].into_iter().for_each(|s| streaks.on_timeout(other, at(s)));
        let waits = |tally: Tally| tally.waits.mean_s();
        assert_eq!(waits(streaks.of(one)), [Some(2.5), Some(5.0), Some(12.0)]);
        assert_eq!(waits(streaks.of(other)), [Some(4.0), None, None]);
        assert_eq!(waits(streaks.all()), [Some(3.0), Some(5.0), Some(12.0)]);
    }
}
