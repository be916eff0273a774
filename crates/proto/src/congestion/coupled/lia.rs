//! Linked increases (LIA) of RFC 6356, counted in bytes per round trip as SCTP does ("MPTCP-like" of
//! `dreibholz-asymmetric`; INET `like-mptcp`).
//!
//! With alpha = C max(c/r^2) / B^2, a window of c bytes grows by c alpha M / C per round trip, and not by more than M. The
//! same share holds in slow start, where RFC 6356 leaves it to each path.

use super::whole;
use crate::congestion::Parameters;
use crate::congestion::Rates;
use crate::congestion::reno::Growth;

/// Bytes by which the window grows.
pub(crate) fn growth(due: Growth, cwnd: u64, rates: &Rates) -> u64 {
    match due {
        Growth::None => 0,
        Growth::SlowStart(bytes) => linked(bytes, cwnd, rates),
        Growth::Avoidance(bytes) => linked(bytes, cwnd, rates),
    }
}

/// The threshold after a loss: uncoupled.
pub(crate) fn threshold(cwnd: u64, p: &Parameters) -> u64 {
    (cwnd / 2).max(p.ssthresh_floor)
}

/// c alpha / C of `bytes`, at most all of them.
fn linked(bytes: u64, cwnd: u64, rates: &Rates) -> u64 {
    let share = cwnd as f64 * rates.steepest / (rates.total * rates.total);
    whole(share * bytes as f64).min(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::PathGroups;
    use crate::congestion::coupled::group::{GroupViews, Member};
    use crate::{Duration, PathId};

    const P: Parameters = Parameters::plain(1500, 1500);

    fn rates(own: (u64, u64), other: (u64, u64)) -> Rates {
        let member = |(cwnd, rtt)| Member {
            is_active: true,
            cwnd,
            ssthresh: 0,
            srtt: Some(Duration::from_millis(rtt)),
            between_losses: 0,
        };
        let views = GroupViews::of(&PathGroups::All, &[member(own), member(other)]);
        views.view(PathId(0)).rates.unwrap()
    }

    #[test]
    fn linked_growth() {
        // (due, own path, other path, bytes), paths as (cwnd, round trip in ms).
        for (what, due, own, other, expected) in [
            ("nothing due", Growth::None, (30_000, 10), (30_000, 10), 0),
            // Equal paths: max(c/r^2) = 300, B = 6000, so 30,000 x 300 / 36e6 = 1/4.
            ("slow start: 1468 / 4", Growth::SlowStart(1468), (30_000, 10), (30_000, 10), 367),
            ("avoidance: 1500 / 4", Growth::Avoidance(1500), (30_000, 10), (30_000, 10), 375),
            // max(c/r^2) = 40,000/10^2 = 400 (the other: 40,000/40^2 = 25), B = 4000 + 1000, so 400/25e6 x 40,000 = 0.64.
            (
                "unequal round trips, own short: 960",
                Growth::Avoidance(1500),
                (40_000, 10),
                (40_000, 40),
                960,
            ),
            (
                "unequal round trips, own long: 960",
                Growth::Avoidance(1500),
                (40_000, 40),
                (40_000, 10),
                960,
            ),
            // max = 10,000/1 = 10,000, B = 10,000 + 4000: 10,000/196e6 x 400,000 = 20.4, more than one.
            (
                "never more than uncoupled",
                Growth::Avoidance(1500),
                (400_000, 100),
                (10_000, 1),
                1500,
            ),
            // Pitfall: eight fractional bits were nothing beyond 64 segments.
            (
                "large windows: 1500 / 4",
                Growth::Avoidance(1500),
                (1_500_000, 10),
                (1_500_000, 10),
                375,
            ),
            (
                "a tiny share still moves",
                Growth::Avoidance(1500),
                (1500, 9000),
                (60_000_000, 9000),
                1,
            ),
        ] {
            assert_eq!(growth(due, own.0, &rates(own, other)), expected, "{what}");
        }
    }

    #[test]
    fn loss_halves_the_own_window() {
        assert_eq!(threshold(40_001, &P), 20_000);
        assert_eq!(threshold(2000, &P), 1500);
    }
}
