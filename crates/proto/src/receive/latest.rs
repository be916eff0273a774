//! The latest TSNs received over each path, which its next acknowledgement reports.

use alloc::boxed::Box;

use super::ack_policy::COUNTED_PATHS;
use crate::{PathId, Tsn};

/// So many are remembered of each path: what three acknowledgements answer, so that two of them can be lost.
pub(crate) const REMEMBERED: usize = 24;

/// The latest TSNs received over a path, above a gap or as duplicates.
#[derive(Clone, Copy, Debug)]
struct Ring {
    tsns: [Tsn; REMEMBERED],
    /// How many were noted.
    noted: usize,
}

impl Ring {
    const EMPTY: Self = Self { tsns: [Tsn(0); REMEMBERED], noted: 0 };

    fn note(&mut self, tsn: Tsn) {
        self.tsns[self.noted % REMEMBERED] = tsn;
        self.noted = self.noted.wrapping_add(1);
    }

    /// The very last one, if there was one.
    fn last(&self) -> Option<Tsn> {
        let place = self.noted.checked_sub(1)?;
        self.tsns.get(place % REMEMBERED).copied()
    }

    /// All of them, in no order.
    fn all(&self) -> &[Tsn] {
        self.tsns.get(..self.noted).unwrap_or(&self.tsns)
    }
}

/// Those of all paths; paths beyond these share. Takes memory with the first TSN.
#[derive(Debug, Default)]
pub(super) struct LatestTsns(Option<Box<[Ring; COUNTED_PATHS]>>);

impl LatestTsns {
    /// Notes a TSN received over a path.
    pub(super) fn note(&mut self, path: PathId, tsn: Tsn) {
        let rings = self.0.get_or_insert_with(|| Box::new([Ring::EMPTY; COUNTED_PATHS]));
        rings[path.index() % COUNTED_PATHS].note(tsn);
    }

    /// What an acknowledgement over `path` reports first. If no data arrived over that path, it answers the path of the
    /// `last` DATA.
    pub(super) fn news(&self, path: PathId, last: Option<PathId>) -> SackNews<'_> {
        let rings: &[Ring] = self.0.as_ref().map_or(&[], |rings| &rings[..]);
        let of = |path: PathId| rings.get(path.index() % COUNTED_PATHS).and_then(Ring::last);
        SackNews { rings, last: of(path).or_else(|| last.and_then(of)) }
    }

    /// Gives the memory back.
    pub(super) fn forget(&mut self) {
        self.0 = None;
    }
}

/// Which blocks an acknowledgement names that leaves some out.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SackTurn<'a> {
    /// Which one of a path it is.
    pub(crate) number: u16,
    pub(crate) news: SackNews<'a>,
}

/// The latest arrivals.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SackNews<'a> {
    rings: &'a [Ring],
    last: Option<Tsn>,
}

impl SackNews<'_> {
    /// The very last TSN of the path that is answered, if there was one.
    pub(super) fn last(&self) -> Option<Tsn> {
        self.last
    }

    /// The last TSNs of all paths, in no order.
    pub(super) fn all(&self) -> impl Iterator<Item = Tsn> {
        self.rings.iter().flat_map(Ring::all).copied()
    }
}

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use super::*;

    #[test]
    fn each_path_remembers_its_last_ones() {
        let mut latest = LatestTsns::default();
        let (here, there, nowhere) = (PathId(0), PathId(1), PathId(2));
        let all = |latest: &LatestTsns| {
            let mut all: Vec<u32> = latest.news(here, None).all().map(|tsn| tsn.0).collect();
            all.sort_unstable();
            all
        };
        assert_eq!((latest.news(here, Some(there)).last(), all(&latest)), (None, Vec::new()));
        (1..=3).for_each(|n| latest.note(here, Tsn(n)));
        assert_eq!(all(&latest), [1, 2, 3]);
        let last = 100 + 3 * REMEMBERED as u32 / 2;
        (100..=last).for_each(|n| latest.note(there, Tsn(n)));
        let expected = (1..=3).chain(last + 1 - REMEMBERED as u32..=last);
        assert!(all(&latest).into_iter().eq(expected), "{latest:?}");
        for (path, of_data, expected) in [
            (here, Some(there), Some(3)),
            (there, Some(here), Some(last)),
            (nowhere, Some(there), Some(last)),
            (nowhere, Some(nowhere), None),
            (nowhere, None, None),
        ] {
            let found = latest.news(path, of_data).last();
            assert_eq!(found, expected.map(Tsn), "{path:?} {of_data:?}");
        }
        latest.forget();
        assert_eq!(latest.news(there, None).last(), None);
    }
}
