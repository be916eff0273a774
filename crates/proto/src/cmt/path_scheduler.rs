//! Which path carries new data next.
//!
//! `dreibholz-model` section 4.1 (least recently used path first: INET `cmtSendAllComparisonFunction` =
//! `smallestLastTransmission`); usrsctp rotates. A scheduler only orders; windows decide.

use smallvec::SmallVec;

use crate::config::PathOrder;

/// What the scheduler knows of a path that may carry data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Candidate {
    /// Position in the path table.
    pub(crate) index: u8,
    /// When it last sent data, as a number that grows; 0: not yet.
    pub(crate) last_transmission: u64,
}

/// What the scheduler remembers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Turn {
    /// The primary path, or its stand-in while it has failed.
    pub(crate) primary: u8,
    /// The path that was served last.
    pub(crate) last_served: u8,
}

/// Indices of paths in the order in which they are asked.
pub(crate) type Order = SmallVec<[u8; 8]>;

/// Orders the candidates, which come in the order of the path table.
pub(crate) fn order(policy: PathOrder, candidates: &[Candidate], turn: Turn) -> Order {
    match policy {
        PathOrder::Primary => {
            candidates.iter().map(|c| c.index).filter(|&index| index == turn.primary).collect()
        }
        PathOrder::Fixed
        | PathOrder::Random
        | PathOrder::LargestSpace
        | PathOrder::LargestSsthresh
        | PathOrder::LargestSpaceAndSsthresh
        | PathOrder::LowestSrtt => candidates.iter().map(|c| c.index).collect(),
        PathOrder::SmallestLastTransmission => {
            let mut sorted: SmallVec<[Candidate; 8]> = candidates.into();
            sorted.sort_by_key(|c| c.last_transmission);
            sorted.iter().map(|c| c.index).collect()
        }
        PathOrder::Rotating => {
            let after = candidates.iter().filter(|c| c.index > turn.last_served);
            let before = candidates.iter().filter(|c| c.index <= turn.last_served);
            after.chain(before).map(|c| c.index).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders() {
        let candidates = [(0, 9), (1, 0), (3, 5)]
            .map(|(index, last)| Candidate { index, last_transmission: last });
        let turn = Turn { primary: 3, last_served: 1 };
        for (policy, expected) in [
            (PathOrder::Primary, &[3][..]),
            (PathOrder::Fixed, &[0, 1, 3]),
            (PathOrder::SmallestLastTransmission, &[1, 3, 0]),
            (PathOrder::Rotating, &[3, 0, 1]),
        ] {
            assert_eq!(order(policy, &candidates, turn).as_slice(), expected, "{policy:?}");
        }
        let primary_failed = Turn { primary: 2, last_served: 1 };
        assert!(order(PathOrder::Primary, &candidates, primary_failed).is_empty());
    }
}
