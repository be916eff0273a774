//! The path on which a SACK returns.
//!
//! RFC 9260 section 6.4: to the source of the DATA that it answers. INET: `cmtSackPath` = `standard`, `primary`,
//! `roundRobin`, `smallestSRTT`. With several paths, that rule sends nearly all SACKs over the path whose data arrives
//! last before they are due; with equal rates and unequal delays this is always the same one.
//!
//! A policy with a fixed path would lose every SACK once that path is broken: the side that only receives does not
//! notice, and the peer's association fails although other paths work. A duplicate shows that, and its SACK returns on
//! the path of the duplicate (RFC 9260 section 6.4).

use crate::Duration;
use crate::config::SackPath;

/// A path whose address is proved to be the peer's.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct SackCandidate {
    /// Position in the path table.
    pub(crate) index: u8,
    /// Whether DATA arrived over the path since the last SACK.
    pub(crate) brought_data: bool,
    /// Rank of the last SACK that it carried; 0: none yet.
    pub(crate) last_sack: u64,
    /// Smoothed round-trip time, or RTO.Initial before the first sample.
    pub(crate) srtt: Duration,
}

/// The choice.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct SackPathView<'a> {
    /// The path of the last DATA.
    pub(crate) last_data: Option<u8>,
    /// The primary path.
    pub(crate) primary: u8,
    /// Whether a TSN arrived again since the last SACK: then the peer may not receive the SACKs.
    pub(crate) has_duplicates: bool,
    /// The active paths.
    pub(crate) candidates: &'a [SackCandidate],
}

/// The path for the next SACK; `None` where the policy names none that can be used.
pub(crate) fn choose(policy: SackPath, view: &SackPathView<'_>) -> Option<u8> {
    let candidates = view.candidates.iter();
    match policy {
        SackPath::LastData => view.last_data,
        SackPath::Primary | SackPath::SmallestSrtt
            if view.has_duplicates && view.last_data.is_some() =>
        {
            view.last_data
        }
        SackPath::Primary => {
            candidates.map(|c| c.index).find(|index| *index == view.primary).or(view.last_data)
        }
        SackPath::RoundRobin => candidates
            .filter(|c| c.brought_data)
            .min_by_key(|c| c.last_sack)
            .map(|c| c.index)
            .or(view.last_data),
        SackPath::SmallestSrtt => {
            candidates.min_by_key(|c| c.srtt).map(|c| c.index).or(view.last_data)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const POLICIES: [SackPath; 4] =
        [SackPath::LastData, SackPath::Primary, SackPath::RoundRobin, SackPath::SmallestSrtt];

    fn candidate(index: u8, brought_data: bool, last_sack: u64, srtt_ms: u64) -> SackCandidate {
        SackCandidate { index, brought_data, last_sack, srtt: Duration::from_millis(srtt_ms) }
    }

    fn choices(last_data: Option<u8>, candidates: &[SackCandidate]) -> [Option<u8>; 4] {
        choices_with(false, last_data, candidates)
    }

    fn choices_with(
        has_duplicates: bool,
        last_data: Option<u8>,
        candidates: &[SackCandidate],
    ) -> [Option<u8>; 4] {
        let view = SackPathView { last_data, primary: 1, has_duplicates, candidates };
        POLICIES.map(|policy| choose(policy, &view))
    }

    #[test]
    fn each_policy_names_its_path() {
        let paths = [
            candidate(0, true, 9, 40),
            candidate(1, true, 7, 30),
            candidate(2, true, 8, 20),
            candidate(3, false, 1, 20),
        ];
        assert_eq!(choices(Some(0), &paths), [Some(0), Some(1), Some(1), Some(2)]);
        let ties = [candidate(0, true, 0, 20), candidate(1, true, 0, 20)];
        assert_eq!(choices(Some(1), &ties), [Some(1), Some(1), Some(0), Some(0)]);
    }

    #[test]
    fn sacks_alternate_between_the_sources() {
        let mut paths = [candidate(0, true, 0, 1), candidate(1, true, 0, 1)];
        for rank in 1..=6 {
            let view = SackPathView {
                last_data: Some(1),
                primary: 0,
                has_duplicates: false,
                candidates: &paths,
            };
            let chosen = choose(SackPath::RoundRobin, &view).unwrap();
            assert_eq!(u64::from(chosen), (rank - 1) % 2);
            paths[usize::from(chosen)].last_sack = rank;
        }
    }

    #[test]
    fn without_a_path_of_its_own_a_policy_follows_the_data() {
        // The primary path has failed, and no DATA has arrived since the last SACK.
        let paths = [candidate(0, false, 3, 40), candidate(2, false, 4, 50)];
        assert_eq!(choices(Some(2), &paths), [Some(2), Some(2), Some(2), Some(0)]);
        assert_eq!(choices(None, &paths), [None, None, None, Some(0)]);
        assert_eq!(choices(None, &[]), [None; 4]);
    }

    /// Section 6.4 of RFC 9260: the path of before may be broken. Round robin leaves it by itself.
    #[test]
    fn a_duplicate_is_answered_the_way_it_came() {
        let paths =
            [candidate(0, true, 7, 40), candidate(1, true, 8, 20), candidate(2, true, 9, 30)];
        let duplicates = |last| choices_with(true, last, &paths);
        assert_eq!(choices(Some(2), &paths), [Some(2), Some(1), Some(0), Some(1)]);
        assert_eq!(duplicates(Some(2)), [Some(2), Some(2), Some(0), Some(2)]);
        assert_eq!(duplicates(None), [None, Some(1), Some(0), Some(1)]);
    }
}
