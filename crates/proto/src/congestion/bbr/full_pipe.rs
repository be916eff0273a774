//! Whether sending faster delivers more: three rounds in a row without a quarter more mean that the path is full (section
//! 5.3.1.2).
//!
//! NOTE(deviation): the draft looks at the sample with which a round begins. That one is low where a window leaves in a burst, at the
//! pace of the bottleneck and not over a round trip: few packets had arrived when it was sent, and few since. As in BBRv3 for Linux, every sample
//! shows growth. A round counts if the sample with which it begins shows none since the last growth: so the path is full two to three
//! rounds after that.

use super::bandwidth::{Rate, percent};

/// Growth of the rate that counts, in percent.
const GROWTH: u64 = 125;
/// Rounds without it.
const ROUNDS: u32 = 3;

/// Estimator of one path.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct FullPipe {
    /// The rate to compare with, full_bw.
    baseline: Rate,
    rounds: u32,
    /// Growth that samples behind the first one of a round showed.
    late_growth: LateGrowth,
    /// The path has been full since the estimator was restarted, full_bw_now.
    pub(super) is_full: bool,
    /// It was full once, full_bw_reached.
    pub(super) was_full: bool,
}

/// Where a sample behind the first one of its round showed growth.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct LateGrowth {
    in_this_round: bool,
    in_the_last_one: bool,
}

impl FullPipe {
    /// Restarts with this rate as the baseline.
    pub(super) fn restart(&mut self, baseline: Rate) {
        *self = Self { baseline, rounds: 0, is_full: false, ..*self };
    }

    /// The rate grew within a round trip.
    pub(super) fn grows(&self) -> bool {
        self.rounds == 0 || self.late_growth.in_the_last_one
    }

    /// A sample that the application did not limit; a round `starts` with it.
    pub(super) fn on_sample(&mut self, rate: Rate, starts: bool) {
        if self.is_full {
            return;
        }
        if starts {
            let LateGrowth { in_this_round, .. } = self.late_growth;
            self.late_growth = LateGrowth { in_this_round: false, in_the_last_one: in_this_round };
        }
        if rate >= percent(self.baseline, GROWTH) {
            self.restart(rate);
            self.late_growth.in_this_round = !starts;
            return;
        }
        if !starts {
            return;
        }
        self.rounds += 1;
        if self.rounds >= ROUNDS {
            (self.is_full, self.was_full) = (true, true);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_rounds_without_growth() {
        let mut pipe = FullPipe::default();
        for (rate, is_full) in [
            (100, false),
            (200, false),
            (249, false),
            (250, false),
            (260, false),
            (300, false),
            (311, true),
            (1000, true),
        ] {
            pipe.on_sample(rate, true);
            assert_eq!(pipe.is_full, is_full, "{rate}");
        }
        pipe.restart(0);
        assert!(!pipe.is_full && pipe.was_full);
    }

    #[test]
    fn any_sample_of_a_round_shows_growth() {
        let mut pipe = FullPipe::default();
        for (rate, starts, is_full) in [
            (100, true, false),
            (50, true, false),
            (50, true, false),
            (124, false, false),
            (125, false, false),
            (50, true, false),
            (60, false, false),
            (50, true, false),
            (155, false, false),
            (50, true, true),
        ] {
            pipe.on_sample(rate, starts);
            assert_eq!(pipe.is_full, is_full, "{rate}");
        }
    }

    #[test]
    fn growth_within_a_round_is_known_at_the_end_of_it() {
        let mut pipe = FullPipe::default();
        for (rate, starts, grows) in [
            (100, true, true),
            (60, true, false),
            (60, false, false),
            (200, false, true),
            (210, true, true),
            (220, false, true),
            (220, true, false),
        ] {
            pipe.on_sample(rate, starts);
            assert_eq!(pipe.grows(), grows, "{rate}");
        }
    }
}
