//! Round trips counted by packets: one is over when something is acknowledged that was sent after it began (section 5.5.1).

/// Counter of one path.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Rounds {
    /// What had been delivered when the round began.
    begin: u64,
    /// Rounds so far.
    pub(super) count: u64,
    /// The present acknowledgement begins one.
    pub(super) starts: bool,
}

impl Rounds {
    /// Notes an acknowledgement of data sent when this much had been delivered.
    pub(super) fn on_sample(&mut self, delivered_before: u64, delivered: u64) {
        self.starts = delivered_before >= self.begin;
        if self.starts {
            self.begin = delivered;
            self.count += 1;
        }
    }

    /// Starts a round with the next data.
    pub(super) fn restart(&mut self, delivered: u64) {
        self.begin = delivered;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_ends_with_what_was_sent_after_it_began() {
        let mut rounds = Rounds::default();
        for (before, delivered, starts, count) in [
            (0, 1000, true, 1),
            (0, 2000, false, 1),
            (999, 3000, false, 1),
            (1000, 4000, true, 2),
            (3999, 5000, false, 2),
        ] {
            rounds.on_sample(before, delivered);
            assert_eq!((rounds.starts, rounds.count), (starts, count), "{before}");
        }
        rounds.restart(6000);
        rounds.on_sample(5999, 7000);
        assert!(!rounds.starts);
        rounds.on_sample(6000, 8000);
        assert!(rounds.starts);
    }
}
