//! Which path a retransmission takes.
//!
//! `iyengar` section IV: RTX-SAME, RTX-ASAP, RTX-CWND, RTX-SSTHRESH, RTX-LOSSRATE; RFC 9260 section 6.4.1: an alternate.
//! ns-2: `Agent/SCTP/CMT` `cmtRtxPolicy_`; INET: fast retransmissions stay, timer retransmissions go to the next path.
//!
//! `iyengar` and RFC 9260 choose among all active paths, and a path stays active for many timeouts after it was cut. So
//! that a chunk does not wait for all of them, `avoid-doubtful` puts the paths with timeouts that nothing has answered
//! last once a retransmission has timed out too; within both groups, and while no path has such timeouts, the order is
//! the policy's. RTX-SAME keeps its path by definition.

use core::cmp::Reverse;

use smallvec::SmallVec;

use crate::Duration;
use crate::config::{NoWindow, RepeatedTimeout, RetransmissionPath};

/// Indices of paths in the order of preference.
pub(crate) type PathOrdering = SmallVec<[u8; 8]>;

/// What the policy knows of a path that may carry data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct RetransmissionCandidate {
    /// Position in the path table.
    pub(crate) index: u8,
    /// Congestion window in bytes.
    pub(crate) cwnd: u64,
    /// Slow-start threshold in bytes.
    pub(crate) ssthresh: u64,
    /// Consecutive timeouts and unanswered heartbeats.
    pub(crate) errors: u32,
    /// Smoothed round-trip time, once measured.
    pub(crate) srtt: Option<Duration>,
    /// Expected time to the acknowledgement of a chunk that is sent next, if the policy needs it.
    pub(crate) answer: Option<Duration>,
    /// Whether its congestion window admits a packet now.
    pub(crate) cwnd_admits: bool,
    /// Lost chunks in parts per million of those sent.
    pub(crate) loss_ppm: u32,
    /// Random number that breaks ties.
    pub(crate) lot: u32,
}

impl RetransmissionCandidate {
    /// How long an answer is expected to take.
    fn expected(&self) -> Option<Duration> {
        self.answer.or(self.srtt)
    }
}

/// How often the chunk was lost.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Attempt {
    /// Its first transmission was lost, or missing reports detected the loss.
    First,
    /// It timed out again after a timeout.
    Repeated,
}

/// Paths in the order of preference for chunks lost on path `lost_on`. The candidates are given in the order of the
/// path table; `lost_on` need not be among them.
pub(crate) fn preference(
    policy: RetransmissionPath,
    repeated: RepeatedTimeout,
    attempt: Attempt,
    candidates: &[RetransmissionCandidate],
    lost_on: u8,
) -> PathOrdering {
    let mut order = order_of(policy, candidates, lost_on);
    if attempt == Attempt::Repeated
        && repeated == RepeatedTimeout::AvoidDoubtful
        && policy != RetransmissionPath::Same
    {
        let doubtful = |index: &u8| candidates.iter().any(|c| c.index == *index && c.errors > 0);
        order.sort_by_key(doubtful);
    }
    order
}

/// How many of the paths in `order` may be taken, the first one whose congestion window admits a packet, where `lost_bytes` wait.
pub(crate) fn eligible(
    no_window: NoWindow,
    order: &[u8],
    candidates: &[RetransmissionCandidate],
    lost_bytes: u64,
) -> usize {
    let of = |index: &u8| candidates.iter().find(|c| c.index == *index);
    match no_window {
        NoWindow::Wait => 1,
        NoWindow::Next => order.len(),
        NoWindow::Sooner => {
            let mut paths = order.iter().filter_map(of);
            let (chosen, next) = (paths.next(), paths.find(|c| c.cwnd_admits));
            match (chosen, next) {
                (Some(chosen), Some(next)) if brings_earlier(chosen, next, lost_bytes) => 1,
                _ => order.len(),
            }
        }
    }
}

/// Whether a path that first has to send this many bytes, a congestion window per round trip, delivers the last of them
/// before another one would whose congestion window admits them now.
fn brings_earlier(
    chosen: &RetransmissionCandidate,
    next: &RetransmissionCandidate,
    lost_bytes: u64,
) -> bool {
    let Some(chosen_rtt) = chosen.expected() else { return false };
    // What was never measured may be slow, or dead.
    let Some(next_rtt) = next.expected() else { return true };
    let [chosen_rtt, next_rtt] = [chosen_rtt, next_rtt].map(|rtt| u128::from(rtt.as_nanos()));
    let waits = chosen_rtt * u128::from(lost_bytes) / u128::from(chosen.cwnd.max(1));
    chosen_rtt + waits < next_rtt
}

fn order_of(
    policy: RetransmissionPath,
    candidates: &[RetransmissionCandidate],
    lost_on: u8,
) -> PathOrdering {
    match policy {
        RetransmissionPath::Same => same_first(candidates, lost_on),
        RetransmissionPath::Alternate => {
            let mut order = same_first(candidates, lost_on);
            if order.first() == Some(&lost_on) {
                order.rotate_left(1);
            }
            order
        }
        RetransmissionPath::Asap => sorted(candidates, |c| !c.cwnd_admits),
        RetransmissionPath::Cwnd => sorted(candidates, |c| Reverse(c.cwnd)),
        RetransmissionPath::Ssthresh => sorted(candidates, |c| Reverse(c.ssthresh)),
        RetransmissionPath::LossRate => sorted(candidates, |c| c.loss_ppm),
        RetransmissionPath::LowestSrtt => quickest(candidates, lost_on, |c| c.srtt),
        RetransmissionPath::EarliestAnswer => {
            quickest(candidates, lost_on, RetransmissionCandidate::expected)
        }
    }
}

/// Whether the policy has ties to break.
pub(crate) fn wants_lots(policy: RetransmissionPath) -> bool {
    use RetransmissionPath::{Alternate, EarliestAnswer, LowestSrtt, Same};
    !matches!(policy, Same | Alternate | LowestSrtt | EarliestAnswer)
}

/// The path itself, then those after it in the table, then those before it.
fn same_first(candidates: &[RetransmissionCandidate], lost_on: u8) -> PathOrdering {
    let from_it_on = candidates.iter().filter(|c| c.index >= lost_on);
    let before = candidates.iter().filter(|c| c.index < lost_on);
    from_it_on.chain(before).map(|c| c.index).collect()
}

/// By time, unknown ones last; of equal ones the path itself first.
fn quickest(
    candidates: &[RetransmissionCandidate],
    lost_on: u8,
    time: impl Fn(&RetransmissionCandidate) -> Option<Duration>,
) -> PathOrdering {
    let mut order = same_first(candidates, lost_on);
    order.sort_by_key(|index| {
        let time = candidates.iter().find(|c| c.index == *index).and_then(&time);
        (time.is_none(), time)
    });
    order
}

/// By rank, lowest first; ties at random.
fn sorted<K: Ord>(
    candidates: &[RetransmissionCandidate],
    rank: impl Fn(&RetransmissionCandidate) -> K,
) -> PathOrdering {
    let mut sorted: SmallVec<[RetransmissionCandidate; 4]> = candidates.into();
    sorted.sort_by_key(|c| (rank(c), c.lot));
    sorted.iter().map(|c| c.index).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use RepeatedTimeout::{AsChosen, AvoidDoubtful};

    #[test]
    fn the_chosen_path_is_waited_for_where_it_is_sooner() {
        // Windows of 3,000 and 6,000 bytes; 40 and 20 ms, and one that was never measured.
        let candidates = candidates();
        for (what, no_window, order, lost, expected) in [
            ("waits whatever it takes", NoWindow::Wait, &[1, 0][..], 1 << 30, 1),
            ("never waits", NoWindow::Next, &[1, 0], 0, 2),
            ("what was never measured may be slow", NoWindow::Sooner, &[1, 2], u64::MAX, 1),
            ("nor is that waited for", NoWindow::Sooner, &[2, 1], 0, 2),
            ("no other path has space", NoWindow::Sooner, &[1, 0], 3000, 2),
            ("the next one is quicker", NoWindow::Sooner, &[0, 1], 0, 2),
        ] {
            assert_eq!(eligible(no_window, order, &candidates, lost), expected, "{what}");
        }
        let mut both = candidates;
        both[0].cwnd_admits = true;
        for (lost, expected) in [(0, 1), (5999, 1), (6000, 2), (u64::MAX, 2)] {
            assert_eq!(eligible(NoWindow::Sooner, &[1, 0], &both, lost), expected, "{lost} bytes");
        }
    }

    fn candidates() -> [RetransmissionCandidate; 3] {
        [
            (0, 3000, 9000, false, 10_000, 5),
            (1, 6000, 9000, true, 20_000, 2),
            (2, 4500, 1000, true, 10_000, 1),
        ]
        .map(|(index, cwnd, ssthresh, cwnd_admits, loss_ppm, lot)| {
            RetransmissionCandidate {
                index,
                cwnd,
                ssthresh,
                errors: 0,
                // The third path was never measured; of the others, the second one has the lower RTT.
                srtt: [Some(40), Some(20), None][usize::from(index).min(2)]
                    .map(Duration::from_millis),
                answer: None,
                cwnd_admits,
                loss_ppm,
                lot,
            }
        })
    }

    fn first(
        policy: RetransmissionPath,
        candidates: &[RetransmissionCandidate],
        lost_on: u8,
    ) -> PathOrdering {
        preference(policy, AsChosen, Attempt::First, candidates, lost_on)
    }

    const ALL: [RetransmissionPath; 8] = [
        RetransmissionPath::Same,
        RetransmissionPath::Asap,
        RetransmissionPath::Cwnd,
        RetransmissionPath::Ssthresh,
        RetransmissionPath::LossRate,
        RetransmissionPath::LowestSrtt,
        RetransmissionPath::EarliestAnswer,
        RetransmissionPath::Alternate,
    ];

    #[test]
    fn preferences() {
        for (policy, lost_on, expected) in [
            (RetransmissionPath::Same, 1, [1, 2, 0]),
            (RetransmissionPath::Alternate, 1, [2, 0, 1]),
            (RetransmissionPath::Alternate, 2, [0, 1, 2]),
            (RetransmissionPath::Asap, 0, [2, 1, 0]),
            (RetransmissionPath::Cwnd, 0, [1, 2, 0]),
            (RetransmissionPath::Ssthresh, 0, [1, 0, 2]),
            (RetransmissionPath::LossRate, 1, [2, 0, 1]),
            (RetransmissionPath::LowestSrtt, 0, [1, 0, 2]),
        ] {
            let order = first(policy, &candidates(), lost_on);
            assert_eq!(order.as_slice(), expected, "{policy:?} {lost_on}");
        }
    }

    /// The path with the lower RTT has so much in flight that the other one answers sooner.
    #[test]
    fn what_is_on_its_way_delays_an_answer() {
        let mut candidates = candidates();
        for (answers, expected) in [
            ([Some(45), Some(50), None], [0, 1, 2]),
            ([Some(45), None, None], [1, 0, 2]),
            ([None, None, Some(30)], [1, 2, 0]),
        ] {
            for (candidate, answer) in candidates.iter_mut().zip(answers) {
                candidate.answer = answer.map(Duration::from_millis);
            }
            let order = first(RetransmissionPath::EarliestAnswer, &candidates, 0);
            assert_eq!(order.as_slice(), expected, "{answers:?}");
            let order = first(RetransmissionPath::LowestSrtt, &candidates, 0);
            assert_eq!(order.as_slice(), [1, 0, 2], "round trips alone");
        }
    }

    #[test]
    fn of_equally_quick_paths_the_one_that_lost_comes_first() {
        let mut candidates = candidates();
        candidates.iter_mut().for_each(|c| c.srtt = Some(Duration::from_millis(20)));
        for (lost_on, expected) in [(0, [0, 1, 2]), (1, [1, 2, 0]), (2, [2, 0, 1])] {
            let order = first(RetransmissionPath::LowestSrtt, &candidates, lost_on);
            assert_eq!(order.as_slice(), expected, "{lost_on}");
        }
    }

    #[test]
    fn whoever_ranks_paths_has_ties() {
        let wanted = ALL.map(|policy| (policy, wants_lots(policy)));
        use RetransmissionPath::{
            Alternate, Asap, Cwnd, EarliestAnswer, LossRate, LowestSrtt, Same, Ssthresh,
        };
        let ranked = [Asap, Cwnd, Ssthresh, LossRate].map(|policy| (policy, true));
        let certain = [LowestSrtt, EarliestAnswer, Alternate].map(|policy| (policy, false));
        let expected = [&[(Same, false)][..], &ranked, &certain].concat();
        assert_eq!(wanted.as_slice(), expected);
    }

    #[test]
    fn a_failed_path_is_never_preferred() {
        let active = &candidates()[..2];
        for policy in ALL {
            let order = first(policy, active, 2);
            assert!(!order.contains(&2), "{policy:?}");
            assert_eq!(order.len(), 2);
        }
        assert_eq!(first(RetransmissionPath::Alternate, active, 2).as_slice(), [0, 1]);
        assert_eq!(first(RetransmissionPath::Alternate, &candidates()[..1], 0).as_slice(), [0]);
    }

    #[test]
    fn a_repeated_timeout_puts_paths_with_errors_last() {
        use RetransmissionPath::{Alternate, Cwnd, Same, Ssthresh};
        for (policy, errors, expected) in [
            (Cwnd, [0, 0, 0], [1, 2, 0]),
            (Cwnd, [0, 3, 0], [2, 0, 1]),
            (Cwnd, [0, 3, 1], [0, 1, 2]),
            (Cwnd, [2, 3, 1], [1, 2, 0]),
            (Ssthresh, [0, 1, 0], [0, 2, 1]),
            (Alternate, [0, 1, 1], [0, 2, 1]),
            (Same, [0, 9, 0], [1, 2, 0]),
        ] {
            let mut candidates = candidates();
            for (candidate, errors) in candidates.iter_mut().zip(errors) {
                candidate.errors = errors;
            }
            let order = |repeated, attempt| preference(policy, repeated, attempt, &candidates, 1);
            let doubtful_last = order(AvoidDoubtful, Attempt::Repeated);
            assert_eq!(doubtful_last.as_slice(), expected, "{policy:?} {errors:?}");
            let papers = order_of(policy, &candidates, 1);
            assert_eq!(order(AvoidDoubtful, Attempt::First), papers, "{policy:?} {errors:?}");
            assert_eq!(order(AsChosen, Attempt::Repeated), papers, "{policy:?} {errors:?}");
        }
    }
}
