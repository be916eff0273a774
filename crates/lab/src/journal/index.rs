//! Positions of the runs of a journal. A study can have a million runs, so a position takes little memory.

use std::collections::BTreeMap;

use super::{Execution, RunId, Status};

/// Position of a run, and its summary.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub start: u64,
    wall_s: f64,
    /// NaN if unknown.
    core_s: f64,
    started_unix_s: f64,
    pub length: u32,
    pub part: u32,
    pub kinds: u32,
    pub program: u32,
    failures: u16,
    status: Status,
}

/// Summary of a run, without its results.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Note {
    /// Status at its end.
    pub status: Status,
    /// Execution.
    pub execution: Execution,
    /// Number of attempts without a result.
    pub failures: u32,
}

/// Runs of a journal. If a run has several lines, the first with a result counts, otherwise the last.
#[derive(Debug, Default)]
pub(super) struct Index {
    /// Runs that were read, ordered by name once they are [sorted](Self::sort).
    read: Vec<(RunId, Place)>,
    /// Runs added since, which take precedence.
    added: BTreeMap<RunId, Place>,
    /// Runs of `added` that are not in `read`.
    new: usize,
}

/// Position of a line: part, offset and length.
pub(super) type Lines = (usize, u64, usize);

impl Place {
    /// Position of a line, with the numbers of its kinds of values and of its program.
    pub fn new(
        (part, start, length): Lines,
        (kinds, program): (usize, usize),
        status: Status,
        execution: Execution,
    ) -> Self {
        let Execution { wall_s, core_s, started_unix_s } = execution;
        Self {
            start,
            wall_s,
            core_s: core_s.unwrap_or(f64::NAN),
            started_unix_s,
            length: length as u32,
            part: part as u32,
            kinds: kinds as u32,
            program: program as u32,
            failures: u16::from(!status.has_results()),
            status,
        }
    }

    /// The summary.
    pub fn note(&self) -> Note {
        let Self { wall_s, core_s, started_unix_s, status, .. } = *self;
        let core_s = Some(core_s).filter(|core_s| !core_s.is_nan());
        let execution = Execution { wall_s, core_s, started_unix_s };
        Note { status, execution, failures: self.failures.into() }
    }

    /// The position that counts, of this one and a later one of the same run.
    fn joined(self, later: Self) -> Self {
        if self.status.has_results() {
            return self;
        }
        Self { failures: self.failures.saturating_add(later.failures), ..later }
    }
}

impl Index {
    /// Adds a run that was read. Nothing is found before the index is [sorted](Self::sort).
    pub fn push(&mut self, id: RunId, place: Place) {
        self.read.push((id, place));
    }

    /// Sorts the runs that were read.
    pub fn sort(&mut self) {
        self.read.sort_unstable_by_key(|(id, place)| (*id, place.part, place.start));
        self.read.dedup_by(|(later_id, later), (id, kept)| {
            let is_same = later_id == id;
            if is_same {
                *kept = kept.joined(*later);
            }
            is_same
        });
    }

    /// Adds a run that was recorded.
    pub fn add(&mut self, id: RunId, place: Place) {
        let known = self.get(id);
        self.new += usize::from(known.is_none());
        self.added.insert(id, known.map_or(place, |known| known.joined(place)));
    }

    /// A run.
    pub fn get(&self, id: RunId) -> Option<Place> {
        let read = || {
            let found = self.read.binary_search_by_key(&id, |(id, _)| *id);
            found.ok().map(|number| self.read[number].1)
        };
        self.added.get(&id).copied().or_else(read)
    }

    /// Number of runs.
    pub fn len(&self) -> usize {
        self.read.len() + self.new
    }

    /// Names of all runs, in order.
    pub fn ids(&self) -> Vec<RunId> {
        let mut ids: Vec<RunId> = self.read.iter().map(|(id, _)| *id).collect();
        ids.extend(self.added.keys());
        ids.sort_unstable();
        ids.dedup();
        ids
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(number: u8) -> RunId {
        format!("{number:032x}").parse().expect("a name")
    }

    fn place(part: usize, start: u64, status: Status) -> Place {
        let execution = Execution { wall_s: 1.0, core_s: None, started_unix_s: start as f64 };
        Place::new((part, start, 10), (2, 3), status, execution)
    }

    fn found(index: &Index, number: u8) -> Option<(u32, u64, u32)> {
        index.get(id(number)).map(|place| (place.part, place.start, place.note().failures))
    }

    #[test]
    fn of_several_lines_the_first_with_a_result_counts_or_else_the_last() {
        use Status::{Crashed, Ok};
        let mut index = Index::default();
        for (number, part, start, status) in [
            (7, 1, 30, Ok),
            (7, 0, 20, Ok),
            (3, 0, 0, Crashed),
            (3, 1, 10, Crashed),
            (5, 0, 40, Crashed),
            (5, 1, 40, Ok),
        ] {
            index.push(id(number), place(part, start, status));
        }
        index.sort();
        assert_eq!(found(&index, 7), Some((0, 20, 0)));
        assert_eq!(found(&index, 3), Some((1, 10, 2)));
        assert_eq!(found(&index, 5), Some((1, 40, 1)));
        assert_eq!((found(&index, 4), index.len()), (None, 3));
        index.add(id(3), place(2, 0, Crashed));
        index.add(id(3), place(2, 50, Ok));
        index.add(id(7), place(2, 60, Crashed));
        index.add(id(4), place(2, 70, Ok));
        assert_eq!(found(&index, 3), Some((2, 50, 3)));
        assert_eq!(found(&index, 7), Some((0, 20, 0)), "a result stays");
        assert_eq!(index.len(), 4);
        assert_eq!(index.ids(), [3, 4, 5, 7].map(id));
    }

    #[test]
    fn a_place_keeps_its_summary_and_is_small() {
        let execution = Execution { wall_s: 2.0, core_s: Some(1.5), started_unix_s: 1e9 };
        let note = Place::new((1, 2, 3), (4, 5), Status::Ok, execution).note();
        assert_eq!(note, Note { status: Status::Ok, execution, failures: 0 });
        assert_eq!(place(0, 1, Status::Ok).note().execution.core_s, None);
        // A million of them, with their names, leave more than half of 200 MB.
        assert!(size_of::<(RunId, Place)>() <= 80);
    }
}
