//! Balanced linked adaptation (BALIA; Peng, Walid, Hwang, Low 2016, draft-walid-mptcp-congestion-control), counted in
//! bytes per round trip as SCTP does.
//!
//! With x = c/r and a = max(x)/x, a window grows in congestion avoidance by M x^2 / (sum of x)^2 x (1 + a)/2 x (4 + a)/5;
//! a loss takes min(a, 1.5) halves of it. Slow start is uncoupled.

use super::{share_of_rate, whole};
use crate::congestion::Parameters;
use crate::congestion::Rates;
use crate::congestion::reno::Growth;

/// Bytes by which the window grows.
pub(crate) fn growth(due: Growth, rates: &Rates) -> u64 {
    match due {
        Growth::None => 0,
        Growth::SlowStart(bytes) => bytes,
        Growth::Avoidance(bytes) => {
            let (share, lag) = (share_of_rate(rates), lag(rates));
            whole(bytes as f64 * share * share * (1.0 + lag) / 2.0 * (4.0 + lag) / 5.0)
        }
    }
}

/// The threshold after a loss.
pub(crate) fn threshold(cwnd: u64, p: &Parameters, rates: &Rates) -> u64 {
    let taken = libm::ceil(cwnd as f64 / 2.0 * lag(rates).min(1.5)) as u64;
    cwnd.saturating_sub(taken).max(p.ssthresh_floor)
}

/// How far the path stays behind the fastest one, a.
fn lag(rates: &Rates) -> f64 {
    rates.fastest / rates.own
}

#[cfg(test)]
mod tests {
    use super::*;

    const P: Parameters = Parameters::plain(1500, 1500);

    /// Two paths with these rates.
    fn rates(own: f64, other: f64) -> Rates {
        Rates {
            own_rtt: 1.0,
            own,
            total: own + other,
            fastest: own.max(other),
            steepest: own.max(other),
            bonus: 0.0,
        }
    }

    #[test]
    fn balanced_growth() {
        for (what, due, rates, expected) in [
            ("nothing due", Growth::None, rates(1.0, 1.0), 0),
            ("slow start is uncoupled", Growth::SlowStart(1468), rates(1.0, 3.0), 1468),
            ("equal, a = 1: 1500 / 4", Growth::Avoidance(1500), rates(1.0, 1.0), 375),
            // a = 3: 1500 x 1/16 x 4/2 x 7/5 = 262.5.
            ("the slower of 1 : 3", Growth::Avoidance(1500), rates(1.0, 3.0), 263),
            // a = 1: 1500 x 9/16 = 843.75.
            ("the faster of 1 : 3", Growth::Avoidance(1500), rates(3.0, 1.0), 844),
            // a = 1e9, share 1e-9: 1500 x (1e-9)^2 x 1e9/2 x 1e9/5 = 150.
            (
                "never beyond a segment, however slow",
                Growth::Avoidance(1500),
                rates(1e-9, 1.0),
                151,
            ),
        ] {
            assert_eq!(growth(due, &rates), expected, "{what}");
        }
    }

    #[test]
    fn loss_takes_more_from_the_slower() {
        for (what, cwnd, rates, expected) in [
            ("fastest: half", 40_000, rates(3.0, 1.0), 20_000),
            ("half of an odd one, rounded against it", 40_001, rates(3.0, 1.0), 20_000),
            // a = 1.25: 40,000 x 0.625 = 25,000 go.
            ("a little slower", 40_000, rates(4.0, 5.0), 15_000),
            ("much slower: three quarters", 40_000, rates(1.0, 3.0), 10_000),
            ("floor", 4000, rates(1.0, 3.0), 1500),
        ] {
            assert_eq!(threshold(cwnd, &P, &rates), expected, "{what}");
        }
    }
}
