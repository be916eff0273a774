//! Which path carries new data next.
//!
//! `dreibholz-model` section 4.1, parameter `cmtSendAllVariant` (INET `cmtSendAllComparisonFunction`); ns-2 and usrsctp
//! rotate. A scheduler only orders; windows decide.

use smallvec::SmallVec;

use crate::Duration;
use crate::config::PathOrder;

/// What the scheduler knows of a path that may carry data.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Candidate {
    /// Position in the path table.
    pub(crate) index: u8,
    /// When it last sent data, as a number that grows; 0: not yet.
    pub(crate) last_transmission: u64,
    /// Bytes of its congestion window that are free.
    pub(crate) free_window: u64,
    /// Slow-start threshold in bytes.
    pub(crate) ssthresh: u64,
    /// Smoothed round-trip time, once measured.
    pub(crate) srtt: Option<Duration>,
    /// Random number, where the policy wants one.
    pub(crate) lot: u32,
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
    let largest = |value: u64| u64::MAX - value;
    match policy {
        PathOrder::Primary => {
            candidates.iter().map(|c| c.index).filter(|&index| index == turn.primary).collect()
        }
        PathOrder::Fixed => candidates.iter().map(|c| c.index).collect(),
        PathOrder::SmallestLastTransmission => sorted(candidates, |c| c.last_transmission),
        PathOrder::Rotating => {
            let after = candidates.iter().filter(|c| c.index > turn.last_served);
            let before = candidates.iter().filter(|c| c.index <= turn.last_served);
            after.chain(before).map(|c| c.index).collect()
        }
        PathOrder::Random => sorted(candidates, |c| c.lot),
        PathOrder::LargestSpace => sorted(candidates, |c| largest(c.free_window)),
        PathOrder::LargestSsthresh => sorted(candidates, |c| largest(c.ssthresh)),
        PathOrder::LargestSpaceAndSsthresh => {
            sorted(candidates, |c| (largest(c.ssthresh), largest(c.free_window)))
        }
        PathOrder::LowestSrtt => sorted(candidates, |c| (c.srtt.is_none(), c.srtt)),
    }
}

/// By rank, lowest first; equal ones in the order of the path table.
fn sorted<K: Ord>(candidates: &[Candidate], rank: impl Fn(&Candidate) -> K) -> Order {
    let mut places = Order::new();
    for (place, candidate) in candidates.iter().enumerate() {
        // Insertion, from the back: there are few, and most come in order.
        let after =
            places.iter().rposition(|&p| rank(&candidates[usize::from(p)]) <= rank(candidate));
        places.insert(after.map_or(0, |after| after + 1), place as u8);
    }
    places.iter_mut().for_each(|place| *place = candidates[usize::from(*place)].index);
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders() {
        let candidate = |index, last_transmission, free_window, ssthresh, srtt_ms, lot| Candidate {
            index,
            last_transmission,
            free_window,
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
        let turn = Turn { primary: 3, last_served: 1 };
        for (policy, expected) in [
            (PathOrder::Primary, &[3][..]),
            (PathOrder::Fixed, &[0, 1, 3, 4]),
            (PathOrder::SmallestLastTransmission, &[1, 3, 4, 0]),
            (PathOrder::Rotating, &[3, 4, 0, 1]),
            (PathOrder::Random, &[1, 3, 0, 4]),
            (PathOrder::LargestSpace, &[1, 3, 0, 4]),
            (PathOrder::LargestSsthresh, &[1, 4, 0, 3]),
            (PathOrder::LargestSpaceAndSsthresh, &[1, 4, 3, 0]),
            (PathOrder::LowestSrtt, &[3, 0, 4, 1]),
        ] {
            assert_eq!(order(policy, &candidates, turn).as_slice(), expected, "{policy:?}");
        }
        let primary_failed = Turn { primary: 2, last_served: 1 };
        assert!(order(PathOrder::Primary, &candidates, primary_failed).is_empty());
    }
}
