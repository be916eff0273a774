//! When losses end Startup (section 5.3.1.3), and when they are doubted.
//!
//! What a path loses that is not full looks like what a full one loses, but does not keep the rate from growing, and makes no
//! queue. So losses of a round without a queue in which the rate grew by a quarter, or the program limited it, are tested: what is
//! sent from then on is only a quarter more than is delivered. If too much of that is lost, too, the path is full; if not, Startup goes
//! on. There are few tests: where what a filled gap releases overflows a queue each time, losses do end Startup.
//!
//! Losses without a queue end it at whatever the rate was then, which may be a tenth of what the path carries. So the first probe
//! does not wait for seconds, and neither does one after a probe that found more.

/// Rounds until the losses of what was sent with care are known: what was in flight before comes first.
const ROUNDS: u64 = 2;

/// Rounds before a probe where only losses have ended Startup.
const SOON: u64 = 4;
/// Tests of one Startup.
const MOST_TESTS: u32 = 3;

/// What the losses of one path mean in Startup.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct StartupLoss {
    /// The round in which sending with care began.
    since: Option<u64>,
    tests: u32,
    /// Startup ended without a queue, and no probe has failed since.
    is_unproven: bool,
}

impl StartupLoss {
    /// Whether the rate is limited for a test.
    #[inline]
    pub(super) fn tests(&self) -> bool {
        self.since.is_some()
    }

    /// Something was acknowledged in this round. Ends a test that found no more losses.
    pub(super) fn on_ack(&mut self, round: u64) {
        // Its last round is the next one's first acknowledgement.
        self.since = self.since.filter(|since| round <= since + ROUNDS);
    }

    /// Losses end Startup; `is_queued` if a queue was there, so that the path was full.
    pub(super) fn end(&mut self, is_queued: bool) {
        (self.since, self.is_unproven) = (None, !is_queued);
    }

    /// A probe found no more, or there is no doubt for another reason.
    pub(super) fn on_proof(&mut self) {
        self.is_unproven = false;
    }

    /// Whether so many rounds after the last probe another one is due, because the path may carry much more.
    pub(super) fn is_probe_due(&self, rounds: u64) -> bool {
        self.is_unproven && rounds >= SOON
    }

    /// Too much was lost in this round. Whether that ends Startup.
    pub(super) fn on_much_lost(&mut self, round: u64, is_doubtful: bool) -> bool {
        match self.since {
            Some(since) => round >= since + ROUNDS,
            None if is_doubtful && self.tests < MOST_TESTS => {
                self.since = Some(round);
                self.tests += 1;
                false
            }
            None => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;

    #[test]
    fn losses_that_are_doubted_end_startup_when_care_does_not_help() {
        for (what, is_doubtful, lossy_rounds, ends_in, tests_in) in [
            ("no doubt", false, &[5][..], Some(5), &[][..]),
            ("what was in flight", true, &[5, 6], None, &[5, 6, 7]),
            ("sent with care", true, &[5, 7], Some(7), &[5, 6]),
            ("a second burst later", true, &[5, 8], None, &[5, 6, 7, 8, 9, 10]),
            ("burst after burst", true, &[1, 4, 7, 10], Some(10), &[1, 2, 3, 4, 5, 6, 7, 8, 9]),
        ] {
            let (mut loss, mut ended, mut tests) = (StartupLoss::default(), None, vec![]);
            for round in 1..=12 {
                loss.on_ack(round);
                if lossy_rounds.contains(&round) && loss.on_much_lost(round, is_doubtful) {
                    ended = ended.or(Some(round));
                    break;
                }
                tests.extend(loss.tests().then_some(round));
            }
            assert_eq!((ended, &tests[..]), (ends_in, tests_in), "{what}");
        }
    }

    #[test]
    fn what_only_losses_have_ended_is_probed_soon() {
        for (is_queued, is_proved, due) in
            [(false, false, true), (true, false, false), (false, true, false)]
        {
            let mut loss = StartupLoss::default();
            assert!(!loss.is_probe_due(100), "Startup goes on");
            loss.end(is_queued);
            if is_proved {
                loss.on_proof();
            }
            assert_eq!(
                (loss.is_probe_due(3), loss.is_probe_due(4)),
                (false, due),
                "{is_queued} {is_proved}"
            );
        }
    }
}
