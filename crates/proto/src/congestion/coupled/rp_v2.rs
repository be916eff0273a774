//! CMT/RPv2: resource pooling by bandwidth (Becke, Dreibholz, Adhari, Rathgeb, ICC 2012; ConTEL 2011;
//! `dreibholz-asymmetric` section II; INET `cmtrpv2`).
//!
//! The rate of a path is c/r. Windows grow by the path's share of the sum B of rates; a loss takes half of B from the
//! path that lost, and at least half of its window.

use super::{share_of_rate, whole};
use crate::congestion::Parameters;
use crate::congestion::Rates;
use crate::congestion::reno::Growth;

/// Bytes by which the window grows.
pub(crate) fn growth(due: Growth, rates: &Rates) -> u64 {
    match due {
        Growth::None => 0,
        Growth::SlowStart(bytes) => whole(bytes as f64 * share_of_rate(rates)),
        Growth::Avoidance(bytes) => whole(bytes as f64 * share_of_rate(rates)),
    }
}

/// The threshold after a loss.
pub(crate) fn threshold(cwnd: u64, p: &Parameters, rates: &Rates) -> u64 {
    // Half of B, as a window on this path; it may exceed the window.
    let half_of_all = libm::ceil(rates.total * rates.own_rtt / 2.0) as u64;
    cwnd.saturating_sub(cwnd.div_ceil(2).max(half_of_all)).max(p.ssthresh_floor)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::PathGroups;
    use crate::congestion::coupled::group::{GroupViews, Member};
    use crate::{Duration, PathId};

    const P: Parameters = Parameters::plain(1500, 1500);

    /// The rates of the first of two paths, given as (cwnd, milliseconds).
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
    fn growth_by_the_share_of_rates() {
        // 20,000/10 ms = 2000 and 60,000/10 ms = 6000 bytes/ms: a quarter.
        let quarter = rates((20_000, 10), (60_000, 10));
        // 20,000/10 ms = 2000 and 60,000/30 ms = 2000 bytes/ms: a half, although the window is a quarter.
        let half = rates((20_000, 10), (60_000, 30));
        for (what, due, rates, expected) in [
            ("nothing due", Growth::None, quarter, 0),
            ("slow start: 1468 / 4", Growth::SlowStart(1468), quarter, 367),
            ("avoidance: 1500 / 4", Growth::Avoidance(1500), quarter, 375),
            ("avoidance: 1500 / 2", Growth::Avoidance(1500), half, 750),
            // Pitfall: 4380 bytes in 548 ms and more were no rate at all in integers of bytes per 1/8 ms.
            ("slow path: 1500 / 2", Growth::Avoidance(1500), rates((4380, 600), (4380, 600)), 750),
            // Pitfall: the square of 9 s in 32 bits.
            (
                "a very slow path: 1500 / 2",
                Growth::Avoidance(1500),
                rates((4380, 9000), (4380, 9000)),
                750,
            ),
            (
                "a tiny share still moves",
                Growth::Avoidance(1500),
                rates((1500, 9000), (60_000_000, 1)),
                1,
            ),
        ] {
            assert_eq!(growth(due, &rates), expected, "{what}");
        }
    }

    #[test]
    fn loss_takes_half_of_the_total_rate() {
        for (what, own, other, expected) in [
            // B = 5000 + 1000 bytes/ms, half of it over 10 ms: 30,000.
            ("50,000 - 30,000", (50_000, 10), (10_000, 10), 20_000),
            // Half of 60,001.
            ("50,000 - 30,000.5, rounded against it", (50_000, 10), (10_001, 10), 19_999),
            // B = 5000 + 500: 27,500.
            ("50,000 - 27,500", (50_000, 10), (10_000, 20), 22_500),
            // B = 2000 + 6000 bytes/ms: 40,000 and more than the window. Pitfall: negative.
            ("20,000 - 40,000 < 0", (20_000, 10), (60_000, 10), 1500),
        ] {
            assert_eq!(threshold(own.0, &P, &rates(own, other)), expected, "{what}");
        }
        // The window has grown since the view was made: half of it is more than half of B.
        assert_eq!(threshold(90_001, &P, &rates((50_000, 10), (10_000, 10))), 45_000);
    }
}
