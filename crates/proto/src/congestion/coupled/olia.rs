//! Opportunistic linked increases (OLIA; Khalili et al. 2012, draft-khalili-mptcp-congestion-control), counted in bytes
//! per round trip as SCTP does.
//!
//! In congestion avoidance a window grows by M (c/r)^2 / B^2 + a M, where a moves growth from the paths with the largest
//! windows to those that deliver most between losses. Slow start and losses are uncoupled.

use super::share_of_rate;
use crate::congestion::Parameters;
use crate::congestion::Rates;
use crate::congestion::reno::Growth;

/// Bytes that a path delivered between losses.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct LossIntervals {
    /// Between the last two losses, l1.
    between: u64,
    /// Since the last loss, l2.
    since: u64,
}

impl LossIntervals {
    /// `bytes` were acknowledged.
    pub(crate) fn on_acked(&mut self, bytes: u64) {
        self.since = self.since.saturating_add(bytes);
    }

    /// A loss or timeout. A repeated one, since which nothing arrived, is the same loss.
    pub(crate) fn on_loss(&mut self) {
        if self.since > 0 {
            *self = Self { between: self.since, since: 0 };
        }
    }

    /// The longer of both intervals, l.
    pub(crate) fn longest(&self) -> u64 {
        self.between.max(self.since)
    }
}

/// Bytes by which the window grows, or shrinks.
pub(crate) fn growth(due: Growth, rates: &Rates) -> i64 {
    match due {
        Growth::None => 0,
        Growth::SlowStart(bytes) => bytes as i64,
        Growth::Avoidance(bytes) => {
            let share = share_of_rate(rates);
            libm::ceil(bytes as f64 * (share * share + rates.bonus)) as i64
        }
    }
}

/// The threshold after a loss: uncoupled.
pub(crate) fn threshold(cwnd: u64, p: &Parameters) -> u64 {
    (cwnd / 2).max(p.ssthresh_floor)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rates(own: f64, total: f64, bonus: f64) -> Rates {
        Rates { own_rtt: 1.0, own, total, fastest: own, steepest: own, bonus }
    }

    #[test]
    fn growth_by_the_square_of_the_share_and_the_bonus() {
        for (what, due, rates, expected) in [
            ("nothing due", Growth::None, rates(1.0, 2.0, 0.0), 0),
            ("slow start is uncoupled", Growth::SlowStart(1468), rates(1.0, 2.0, -0.5), 1468),
            ("two equal paths: 1500 / 4", Growth::Avoidance(1500), rates(1.0, 2.0, 0.0), 375),
            // Pitfall: the bonus as an integer is never anything.
            (
                "collected, small: 1500 (1/16 + 1/2) = 843.75",
                Growth::Avoidance(1500),
                rates(1.0, 4.0, 0.5),
                844,
            ),
            // Pitfall: steps may be negative.
            ("largest: 1500 (1/4 - 1/2)", Growth::Avoidance(1500), rates(1.0, 2.0, -0.5), -375),
            (
                "largest of almost all: 1500 (9/16 - 1/2) = 93.75",
                Growth::Avoidance(1500),
                rates(3.0, 4.0, -0.5),
                94,
            ),
        ] {
            assert_eq!(growth(due, &rates), expected, "{what}");
        }
    }

    /// Pitfall: a counter that is only ever set to zero.
    #[test]
    fn intervals_between_losses() {
        let mut intervals = LossIntervals::default();
        assert_eq!(intervals.longest(), 0);
        intervals.on_acked(3000);
        intervals.on_acked(4000);
        assert_eq!(intervals.longest(), 7000, "before the first loss");
        intervals.on_loss();
        assert_eq!(intervals, LossIntervals { between: 7000, since: 0 });
        intervals.on_loss();
        assert_eq!(intervals.longest(), 7000, "a repeated timeout");
        intervals.on_acked(2000);
        assert_eq!(intervals.longest(), 7000);
        intervals.on_loss();
        intervals.on_acked(2500);
        assert_eq!(intervals, LossIntervals { between: 2000, since: 2500 });
        assert_eq!(intervals.longest(), 2500, "longer than the last one already");
        intervals.on_loss();
        intervals.on_acked(1);
        intervals.on_loss();
        assert_eq!(intervals, LossIntervals { between: 1, since: 0 }, "a byte is news");
    }
}
