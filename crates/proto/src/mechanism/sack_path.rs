//! The path on which a SACK returns.
//!
//! RFC 9260 section 6.4: to the source of the DATA that it answers. INET: `cmtSackPath` = `standard`, `primary`,
//! `roundRobin`, `smallestSRTT`. With several paths, that rule sends nearly all SACKs over the path whose data arrives
//! last before they are due; with equal rates and unequal delays this is always the same one.
//!
//! A policy that names one path, whatever it brings, would lose every SACK once that path is broken: the side that only
//! receives notices nothing, and the peer gives the association up although other paths work. A duplicate tells, and
//! its SACK returns the way it came (RFC 9260 section 6.4).

use polypath_wire::DuplicateTsns;

use crate::Duration;
use crate::config::SackPath;

/// A path whose address is proved to be the peer's.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Candidate {
    /// Position in the path table.
    pub(crate) index: u8,
    /// What the path did since the last SACK.
    pub(crate) since_last_sack: SinceLastSack,
    /// Rank of the last SACK that it carried; 0: none yet.
    pub(crate) last_sack: u64,
    /// Smoothed round-trip time, or RTO.Initial before the first sample.
    pub(crate) srtt: Duration,
}

/// Whether DATA came over a path since the last SACK.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SinceLastSack {
    /// It did.
    BroughtData,
    /// It did not.
    Silent,
}

/// Whether a TSN arrived again since the last SACK.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Duplicates {
    /// One did: the peer may not receive the SACKs.
    Some,
    /// None did.
    None,
}

impl Duplicates {
    /// Whether a SACK reports any.
    pub(crate) fn among(tsns: &DuplicateTsns<'_>) -> Self {
        if tsns.is_empty() { Self::None } else { Self::Some }
    }
}

/// The choice.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct SackPathView<'a> {
    /// The path of the last DATA.
    pub(crate) last_data: Option<u8>,
    /// The primary path.
    pub(crate) primary: u8,
    /// What the SACK reports besides.
    pub(crate) duplicates: Duplicates,
    /// The active paths.
    pub(crate) candidates: &'a [Candidate],
}

/// The path for the next SACK; `None` where the policy names none that can be used.
pub(crate) fn choose(policy: SackPath, view: &SackPathView<'_>) -> Option<u8> {
    let candidates = view.candidates.iter();
    match policy {
        SackPath::LastData => view.last_data,
        SackPath::Primary | SackPath::SmallestSrtt
            if view.duplicates == Duplicates::Some && view.last_data.is_some() =>
        {
            view.last_data
        }
        SackPath::Primary => {
            candidates.map(|c| c.index).find(|index| *index == view.primary).or(view.last_data)
        }
        SackPath::RoundRobin => candidates
            .filter(|c| c.since_last_sack == SinceLastSack::BroughtData)
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

    fn candidate(index: u8, brought_data: bool, last_sack: u64, srtt_ms: u64) -> Candidate {
        let since_last_sack = match brought_data {
            true => SinceLastSack::BroughtData,
            false => SinceLastSack::Silent,
        };
        Candidate { index, since_last_sack, last_sack, srtt: Duration::from_millis(srtt_ms) }
    }

    fn choices(last_data: Option<u8>, candidates: &[Candidate]) -> [Option<u8>; 4] {
        choices_with(Duplicates::None, last_data, candidates)
    }

    fn choices_with(
        duplicates: Duplicates,
        last_data: Option<u8>,
        candidates: &[Candidate],
    ) -> [Option<u8>; 4] {
        let view = SackPathView { last_data, primary: 1, duplicates, candidates };
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
            let duplicates = Duplicates::None;
            let view =
                SackPathView { last_data: Some(1), primary: 0, duplicates, candidates: &paths };
            let chosen = choose(SackPath::RoundRobin, &view).unwrap();
            assert_eq!(u64::from(chosen), (rank - 1) % 2);
            paths[usize::from(chosen)].last_sack = rank;
        }
    }

    #[test]
    fn without_a_path_of_its_own_a_policy_follows_the_data() {
        // The primary path failed, and no DATA has come since the last SACK.
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
        let duplicates = |last| choices_with(Duplicates::Some, last, &paths);
        assert_eq!(choices(Some(2), &paths), [Some(2), Some(1), Some(0), Some(1)]);
        assert_eq!(duplicates(Some(2)), [Some(2), Some(2), Some(0), Some(2)]);
        assert_eq!(duplicates(None), [None, Some(1), Some(0), Some(1)]);
    }
}
