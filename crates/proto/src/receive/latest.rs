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
pub(super) struct LatestTsns(Option<Box<Rings>>);

#[derive(Debug)]
struct Rings {
    rings: [Ring; COUNTED_PATHS],
    /// By the path that acknowledgements take: how many TSNs of each path had been noted when the last one was built.
    reported: [[usize; COUNTED_PATHS]; COUNTED_PATHS],
}

impl Rings {
    const EMPTY: Self =
        Self { rings: [Ring::EMPTY; COUNTED_PATHS], reported: [[0; COUNTED_PATHS]; COUNTED_PATHS] };

    /// The path that brought most since the last acknowledgement over `way`: that path itself if it brought as much as any other, or
    /// if nothing has come in.
    fn busiest(&self, way: usize) -> usize {
        let new = |place: &usize| {
            let noted = self.rings[*place].noted;
            (noted.wrapping_sub(self.reported[way][*place]), *place == way)
        };
        (0..COUNTED_PATHS).max_by_key(new).unwrap_or(way)
    }

    fn note_reported(&mut self, way: usize) {
        self.reported[way] = self.rings.map(|ring| ring.noted);
    }
}

impl LatestTsns {
    /// Notes a TSN received over a path.
    pub(super) fn note(&mut self, path: PathId, tsn: Tsn) {
        let all = self.0.get_or_insert_with(|| Box::new(Rings::EMPTY));
        all.rings[path.index() % COUNTED_PATHS].note(tsn);
    }

    /// What an acknowledgement over `path` reports first, which is built now. It answers the path of which most has come in since the
    /// last one over `path`: over a short path, most acknowledgements are about data of other paths. If nothing has, it
    /// answers its own path, or that of the `last` DATA.
    pub(super) fn news(&mut self, path: PathId, last: Option<PathId>) -> SackNews<'_> {
        let Some(all) = &mut self.0 else { return SackNews::default() };
        let way = path.index() % COUNTED_PATHS;
        let busiest = all.busiest(way);
        all.note_reported(way);
        let of = |place: usize| all.rings[place].last();
        let last = of(busiest).or_else(|| of(last?.index() % COUNTED_PATHS));
        SackNews { rings: &all.rings, last }
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
        let all = |latest: &mut LatestTsns| {
            let mut all: Vec<u32> = latest.news(here, None).all().map(|tsn| tsn.0).collect();
            all.sort_unstable();
            all
        };
        assert_eq!(latest.news(here, Some(there)).last(), None);
        assert!(all(&mut latest).is_empty());
        (1..=3).for_each(|n| latest.note(here, Tsn(n)));
        assert_eq!(all(&mut latest), [1, 2, 3]);
        let last = 100 + 3 * REMEMBERED as u32 / 2;
        (100..=last).for_each(|n| latest.note(there, Tsn(n)));
        let expected = (1..=3).chain(last + 1 - REMEMBERED as u32..=last);
        assert!(all(&mut latest).into_iter().eq(expected), "{latest:?}");
        // All of that was reported over the first path, and nothing has come in since.
        for (path, of_data, expected) in [
            (here, Some(there), Some(3)),
            (there, Some(here), Some(last)),
            (nowhere, Some(there), Some(last)),
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

    #[test]
    fn the_path_of_which_most_came_in_is_answered_over_each_way_back() {
        let mut latest = LatestTsns::default();
        let (short, long) = (PathId(0), PathId(1));
        let mut answered = |new: &[(PathId, u32)], way| {
            new.iter().for_each(|(path, tsn)| latest.note(*path, Tsn(*tsn)));
            latest.news(way, None).last().map(|tsn| tsn.0)
        };
        assert_eq!(answered(&[(short, 1), (long, 10), (long, 11)], short), Some(11));
        assert_eq!(answered(&[(short, 2), (short, 3), (long, 12)], short), Some(3));
        assert_eq!(answered(&[], long), Some(12), "three of each, since none was over this way");
        assert_eq!(answered(&[(short, 4), (long, 13)], short), Some(4), "as many of each");
        assert_eq!(answered(&[], short), Some(4), "nothing");
    }
}
