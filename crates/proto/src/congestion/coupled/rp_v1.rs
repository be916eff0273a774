//! CMT/RPv1: resource pooling by slow-start thresholds (Dreibholz, Becke, Pulinthanath, Rathgeb, AINA 2010;
//! `dreibholz-asymmetric` section II; INET `cmtrpv1`).
//!
//! Windows grow by the path's share of the sum of thresholds; a loss takes half of the *total* window from the path that
//! lost.

use crate::congestion::GroupView;
use crate::congestion::Parameters;
use crate::congestion::reno::Growth;

/// Bytes by which the window grows.
pub(crate) fn growth(due: Growth, group: &GroupView) -> u64 {
    match due {
        Growth::None => 0,
        Growth::SlowStart(bytes) => share(bytes, group),
        Growth::Avoidance(bytes) => share(bytes, group),
    }
}

/// The threshold after a loss.
pub(crate) fn threshold(cwnd: u64, p: &Parameters, group: &GroupView) -> u64 {
    // Mostly less than nothing is left of a window after half of all windows; then the floor holds.
    let left = cwnd.saturating_sub(group.cwnd / 2);
    left.max(p.unit).max(share(p.ssthresh_floor, group))
}

/// The path's share of `bytes`, rounded up.
fn share(bytes: u64, group: &GroupView) -> u64 {
    let (part, whole) = match group.ssthresh {
        // Thresholds of nothing say nothing: equal shares.
        0 => (1, u128::from(group.members.max(1))),
        sum => (u128::from(group.own_ssthresh.max(1)), sum),
    };
    // The product of two 64-bit numbers fits.
    (u128::from(bytes) * part).div_ceil(whole).min(u128::from(bytes)) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    const P: Parameters = Parameters::plain(1500, 1500);

    fn group(cwnd: u64, own_ssthresh: u64, ssthresh: u128) -> GroupView {
        GroupView { members: 2, cwnd, ssthresh, own_ssthresh, rates: None }
    }

    #[test]
    fn growth_by_the_share_of_thresholds() {
        // s = 10,000 of S = 40,000: a quarter.
        let quarter = group(0, 10_000, 40_000);
        for (what, due, view, expected) in [
            ("nothing due", Growth::None, quarter, 0),
            ("slow start: 1468 / 4 = 367", Growth::SlowStart(1468), quarter, 367),
            ("rounded up: 1465 / 4 = 366.25", Growth::SlowStart(1465), quarter, 367),
            ("avoidance: 1500 / 4", Growth::Avoidance(1500), quarter, 375),
            ("a tiny share still moves", Growth::Avoidance(1500), group(0, 1, u128::MAX), 1),
            ("a threshold of nothing counts a byte", Growth::Avoidance(1500), group(0, 0, 1500), 1),
            // Pitfall: the sum is zero where the peer's window was zero at the start.
            ("no thresholds: 1500 / 2", Growth::Avoidance(1500), group(0, 0, 0), 750),
        ] {
            assert_eq!(growth(due, &view), expected, "{what}");
        }
    }

    #[test]
    fn loss_takes_half_of_the_total() {
        for (what, cwnd, view, floor, expected) in [
            ("50,000 - 60,000 / 2", 50_000, group(60_000, 10_000, 40_000), 1500, 20_000),
            // Pitfall: the difference is negative.
            ("20,000 - 100,000 / 2 < 0", 20_000, group(100_000, 10_000, 40_000), 1500, 1500),
            // A floor of 4 MTU for the group: 3/4 x 6000 = 4500.
            ("share of the floor", 20_000, group(100_000, 30_000, 40_000), 6000, 4500),
            ("small share of the floor", 20_000, group(100_000, 1000, 40_000), 6000, 1500),
        ] {
            let p = Parameters { ssthresh_floor: floor, ..P };
            assert_eq!(threshold(cwnd, &p, &view), expected, "{what}");
        }
    }
}
