//! Deadlines of many associations.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use polypath_proto::{AssociationId, Instant};

/// A heap with one live entry per association. A deadline that moves back costs nothing: the entry stays at its earlier
/// time, and when it is due, the association's deadline is read again.
#[derive(Debug, Default)]
pub(crate) struct Timers {
    heap: BinaryHeap<Reverse<(Instant, AssociationId)>>,
}

impl Timers {
    /// Notes the deadline of an association. `scheduled` is its entry in the heap, if it has one.
    pub(crate) fn schedule(
        &mut self,
        id: AssociationId,
        deadline: Option<Instant>,
        scheduled: &mut Option<Instant>,
    ) {
        let Some(deadline) = deadline else {
            return;
        };
        if scheduled.is_none_or(|earlier| deadline < earlier) {
            *scheduled = Some(deadline);
            self.heap.push(Reverse((deadline, id)));
        }
    }

    /// The earliest entry.
    pub(crate) fn next(&self) -> Option<Instant> {
        self.heap.peek().map(|Reverse((deadline, _))| *deadline)
    }

    /// Takes an entry that is due.
    pub(crate) fn pop_due(&mut self, now: Instant) -> Option<(Instant, AssociationId)> {
        if self.next()? > now {
            return None;
        }
        self.heap.pop().map(|Reverse(entry)| entry)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: AssociationId = AssociationId(1);
    const B: AssociationId = AssociationId(2);

    fn at(nanos: u64) -> Instant {
        Instant::from_nanos(nanos)
    }

    #[test]
    fn entries_come_out_in_order_of_time() {
        let mut timers = Timers::default();
        timers.schedule(A, Some(at(20)), &mut None);
        timers.schedule(B, Some(at(10)), &mut None);
        assert_eq!(timers.next(), Some(at(10)));
        assert_eq!(timers.pop_due(at(9)), None);
        assert_eq!(timers.pop_due(at(15)), Some((at(10), B)));
        assert_eq!(timers.pop_due(at(15)), None);
        assert_eq!(timers.pop_due(at(20)), Some((at(20), A)));
    }

    #[test]
    fn only_an_earlier_deadline_makes_an_entry() {
        let mut timers = Timers::default();
        let mut scheduled = None;
        timers.schedule(A, Some(at(20)), &mut scheduled);
        timers.schedule(A, Some(at(30)), &mut scheduled);
        timers.schedule(A, None, &mut scheduled);
        assert_eq!(scheduled, Some(at(20)));
        timers.schedule(A, Some(at(5)), &mut scheduled);
        assert_eq!(scheduled, Some(at(5)));
        assert_eq!(timers.heap.len(), 2);
    }
}
