//! Whether sending faster delivers more: three rounds in a row without a quarter more mean that the path is full (section
//! 5.3.1.2).

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
    /// The path has been full since the estimator was restarted, full_bw_now.
    pub(super) is_full: bool,
    /// It was full once, full_bw_reached.
    pub(super) was_full: bool,
}

impl FullPipe {
    /// Restarts with this rate as the baseline.
    pub(super) fn restart(&mut self, baseline: Rate) {
        *self = Self { baseline, rounds: 0, is_full: false, ..*self };
    }

    /// The rate grew in the last round.
    pub(super) fn grows(&self) -> bool {
        self.rounds == 0
    }

    /// A round begins with this rate, which the application did not limit.
    pub(super) fn on_round(&mut self, rate: Rate) {
        if self.is_full {
            return;
        }
        if rate >= percent(self.baseline, GROWTH) {
            self.restart(rate);
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
            pipe.on_round(rate);
            assert_eq!(pipe.is_full, is_full, "{rate}");
        }
        pipe.restart(0);
        assert!(!pipe.is_full && pipe.was_full);
    }
}
