//! BBR.extra_acked: the excess of acknowledged data over what the rate explains, because the receiver or a link
//! aggregates acknowledgements (section 5.5.9).

use super::bandwidth::{Rate, bytes_in};
use crate::Instant;

/// BBR.ExtraAckedFilterLen in rounds, once the path was full; one before.
const ROUNDS: u64 = 10;

/// Estimator of one path.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct ExtraAcked {
    since: Instant,
    delivered: u64,
    /// Largest excess of the present span of rounds and of the one before.
    present: u64,
    last: u64,
    /// The round with which the present span began.
    span: u64,
}

impl ExtraAcked {
    /// Bytes that the window should be larger by.
    pub(super) fn get(&self) -> u64 {
        self.present.max(self.last)
    }

    /// Starts a new interval.
    pub(super) fn restart(&mut self, now: Instant) {
        self.since = now;
        self.delivered = 0;
    }

    /// Notes an acknowledgement of this many bytes on a path with this rate and window.
    pub(super) fn on_acked(&mut self, now: Instant, bytes: u64, rate: Rate, cwnd: u64) {
        let mut expected = bytes_in(rate, now.since(self.since));
        if self.delivered <= expected {
            self.restart(now);
            expected = 0;
        }
        self.delivered = self.delivered.saturating_add(bytes);
        let extra = self.delivered.saturating_sub(expected).min(cwnd);
        self.present = self.present.max(extra);
    }

    /// A round begins. What is remembered is at least as old as the filter is long, and at most twice so.
    pub(super) fn on_round(&mut self, round: u64, was_full: bool) {
        let length = if was_full { ROUNDS / 2 } else { 1 };
        if round >= self.span + length {
            *self = Self { last: self.present, present: 0, span: round, ..*self };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Duration;

    fn ms(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    /// One byte in a microsecond.
    const RATE: Rate = 1_000_000;

    #[test]
    fn steady_acknowledgements_are_worth_one_of_them() {
        let mut extra = ExtraAcked::default();
        extra.restart(ms(0));
        for n in 1..10 {
            extra.on_acked(ms(n), 1000, RATE, 50_000);
        }
        assert_eq!(extra.get(), 1000);
    }

    #[test]
    fn a_lump_counts_for_as_long_as_the_filter() {
        let mut extra = ExtraAcked::default();
        extra.restart(ms(0));
        extra.on_acked(ms(10), 10_000, RATE, 50_000);
        assert_eq!(extra.get(), 10_000);
        extra.on_acked(ms(12), 5000, RATE, 50_000);
        assert_eq!(extra.get(), 13_000, "15,000 bytes in 2 ms");
        extra.on_acked(ms(12), 90_000, RATE, 50_000);
        assert_eq!(extra.get(), 50_000, "no more than the window");
        for round in 1..10 {
            extra.on_round(round, true);
            assert_eq!(extra.get(), 50_000, "{round}");
        }
        extra.on_round(10, true);
        assert_eq!(extra.get(), 0);
    }
}
