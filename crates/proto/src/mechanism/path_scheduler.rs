//! Which path carries new data next.
//!
//! `dreibholz-model` section 4.1, parameter `cmtSendAllVariant` (INET `cmtSendAllComparisonFunction`); ns-2 and usrsctp
//! rotate. A scheduler only orders; congestion windows decide.

use crate::config::PathOrder;
use crate::{Duration, PathId};

/// What the scheduler knows of a path that may carry data.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct SchedulerCandidate {
    /// Position in the path table.
    pub(crate) index: u8,
    /// When it last sent data, as a number that grows; 0: not yet.
    pub(crate) last_transmission: u64,
    /// Bytes of its congestion window that are free.
    pub(crate) free_cwnd: u64,
    /// Slow-start threshold in bytes.
    pub(crate) ssthresh: u64,
    /// Smoothed round-trip time, once measured.
    pub(crate) srtt: Option<Duration>,
    /// Random number, where the policy wants one.
    pub(crate) lot: u32,
}

/// What the scheduler remembers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct LastTurn {
    /// The primary path, or its replacement while it has failed.
    pub(crate) primary: u8,
    /// The path that was served last.
    pub(crate) last_served: u8,
    /// The path that carried new data last.
    pub(crate) last_new: u8,
}

/// Rank of a path in the order, lowest first; among equals, the first one of the path table.
type PathRank = (u64, u64);

/// The rank of a candidate; none if the policy leaves the path out.
#[inline]
fn rank(policy: PathOrder, c: &SchedulerCandidate, turn: LastTurn) -> Option<PathRank> {
    let largest = |value: u64| u64::MAX - value;
    let rank = match policy {
        PathOrder::Primary if c.index != turn.primary => return None,
        PathOrder::Primary | PathOrder::Fixed => (0, 0),
        PathOrder::SmallestLastTransmission => (c.last_transmission, 0),
        PathOrder::Rotating => (u64::from(c.index <= turn.last_served), 0),
        PathOrder::RotatingNewData => (u64::from(c.index <= turn.last_new), 0),
        PathOrder::Random => (c.lot.into(), 0),
        PathOrder::LargestSpace => (largest(c.free_cwnd), 0),
        PathOrder::LargestSsthresh => (largest(c.ssthresh), 0),
        PathOrder::LargestSpaceAndSsthresh => (largest(c.ssthresh), largest(c.free_cwnd)),
        PathOrder::LowestSrtt => (c.srtt.is_none().into(), c.srtt.map_or(0, Duration::as_nanos)),
    };
    Some(rank)
}

/// The first of the candidates, which are given in the order of the path table; none if the policy excludes all of
/// them.
#[inline]
pub(crate) fn first(
    policy: PathOrder,
    candidates: impl Iterator<Item = SchedulerCandidate>,
    turn: LastTurn,
) -> Option<PathId> {
    // A plain loop, since this runs for every packet.
    let mut first: Option<(PathRank, PathId)> = None;
    for candidate in candidates {
        let Some(rank) = rank(policy, &candidate, turn) else { continue };
        if first.is_none_or(|(lowest, _)| rank < lowest) {
            first = Some((rank, PathId(candidate.index)));
        }
    }
    first.map(|(_, path)| path)
}

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use super::*;

    fn order(policy: PathOrder, candidates: &[SchedulerCandidate], turn: LastTurn) -> Vec<u8> {
        let mut left = candidates.to_vec();
        let next = || {
            let path = first(policy, left.iter().copied(), turn)?.0;
            left.retain(|candidate| candidate.index != path);
            Some(path)
        };
        core::iter::from_fn(next).collect()
    }

    #[test]
    fn orders() {
        let candidate =
            |index, last_transmission, free_cwnd, ssthresh, srtt_ms, lot| SchedulerCandidate {
                index,
                last_transmission,
                free_cwnd,
                ssthresh,
                srtt: (srtt_ms > 0).then(|| Duration::from_millis(srtt_ms)),
                lot,
            };
        let candidates = [
            candidate(0, 9, 3000, 6000, 40, 77),
            candidate(1, 0, 4500, 9000, 0, 3),
            candidate(3, 5, 4500, 6000, 20, 12),
            candidate(4, 7, 0, 9000, 90, 80),
        ];
        let turn = LastTurn { primary: 3, last_served: 1, last_new: 0 };
        for (policy, expected) in [
            (PathOrder::Primary, &[3][..]),
            (PathOrder::Fixed, &[0, 1, 3, 4]),
            (PathOrder::SmallestLastTransmission, &[1, 3, 4, 0]),
            (PathOrder::Rotating, &[3, 4, 0, 1]),
            (PathOrder::RotatingNewData, &[1, 3, 4, 0]),
            (PathOrder::Random, &[1, 3, 0, 4]),
            (PathOrder::LargestSpace, &[1, 3, 0, 4]),
            (PathOrder::LargestSsthresh, &[1, 4, 0, 3]),
            (PathOrder::LargestSpaceAndSsthresh, &[1, 4, 3, 0]),
            (PathOrder::LowestSrtt, &[3, 0, 4, 1]),
        ] {
            assert_eq!(order(policy, &candidates, turn).as_slice(), expected, "{policy:?}");
        }
        let primary_failed = LastTurn { primary: 2, ..turn };
        assert!(order(PathOrder::Primary, &candidates, primary_failed).is_empty());
    }
}
