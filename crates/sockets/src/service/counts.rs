//! How many of the service's descriptors, or of other things, each process has. However many processes there are, each of them finds some.

use std::collections::BTreeMap;
use std::sync::Mutex;

use super::lock;

/// A process may have so many times as many as are left.
const SHARE: usize = 8;

/// What each process has of something, as far as it has some.
pub(super) struct Counts {
    /// Most that one process may have.
    most: usize,
    /// Most that all processes together may have.
    all: usize,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    taken: usize,
    by_process: BTreeMap<i32, usize>,
}

impl Counts {
    pub(super) fn new(most: usize, all: usize) -> Self {
        Self { most, all, state: Mutex::default() }
    }

    /// One more for a process, unless it has as many as it may have, or eight times as many as are left: one process gets eight ninths of
    /// all, each of two eight seventeenths, and however many there are, some are left for another.
    pub(super) fn take(&self, process: i32) -> bool {
        let mut state = lock(&self.state);
        let count = state.by_process.get(&process).copied().unwrap_or_default();
        let left = self.all.saturating_sub(state.taken).saturating_mul(SHARE);
        let may = count < self.most && count < left;
        if may {
            state.by_process.insert(process, count + 1);
            state.taken += 1;
        }
        may
    }

    pub(super) fn give_back(&self, process: i32) {
        let mut state = lock(&self.state);
        let Some(count) = state.by_process.get_mut(&process) else { return };
        *count -= 1;
        if *count == 0 {
            state.by_process.remove(&process);
        }
        state.taken -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn takes(counts: &Counts, process: i32) -> usize {
        (0..).take_while(|_| counts.take(process)).count()
    }

    #[test]
    fn a_process_has_no_more_than_it_may_have() {
        let counts = Counts::new(10, usize::MAX);
        assert_eq!((takes(&counts, 1), takes(&counts, 2)), (10, 10));
        counts.give_back(1);
        assert_eq!((takes(&counts, 1), takes(&counts, 2)), (1, 0));
        for _ in 0..10 {
            counts.give_back(1);
            counts.give_back(2);
        }
        counts.give_back(1);
        let state = lock(&counts.state);
        assert!(state.taken == 0 && state.by_process.is_empty());
    }

    #[test]
    fn processes_that_take_all_they_can_leave_some_to_the_next_one() {
        let counts = Counts::new(usize::MAX, 9000);
        assert_eq!(takes(&counts, 0), 8000);
        // A fork bomb: each process takes one after the other, as long as it gets one.
        let mut has_more = true;
        while has_more {
            has_more = false;
            for process in 0..100 {
                has_more |= counts.take(process);
            }
        }
        assert!(takes(&counts, 100) > 0, "{:?}", lock(&counts.state).by_process);
    }
}
