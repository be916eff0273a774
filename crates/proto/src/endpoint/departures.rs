//! Associations that make way for new ones while all places are taken.

use alloc::collections::{BTreeSet, VecDeque};

use crate::AssociationId;

/// Associations that may be replaced, and those that are being replaced.
#[derive(Debug, Default)]
pub(super) struct Departures {
    /// May be ended, the first one first. Some may have ended by themselves.
    replaceable: VecDeque<AssociationId>,
    /// Chosen; the driver does not know yet.
    untold: VecDeque<AssociationId>,
    /// Chosen and still there. Their places count as free.
    leaving: BTreeSet<AssociationId>,
}

impl Departures {
    /// Replaces the list of those that may be ended.
    pub(super) fn set(&mut self, ids: impl IntoIterator<Item = AssociationId>) {
        self.replaceable = ids.into_iter().filter(|id| !self.leaving.contains(id)).collect();
    }

    /// Whether one of them can leave.
    pub(super) fn is_possible(&self) -> bool {
        !self.replaceable.is_empty()
    }

    /// Chooses the next one that leaves.
    pub(super) fn choose(&mut self) {
        if let Some(id) = self.replaceable.pop_front() {
            self.leaving.insert(id);
            self.untold.push_back(id);
        }
    }

    /// Number of associations that still exist and do not count.
    pub(super) fn count(&self) -> usize {
        self.leaving.len()
    }

    /// The next one that was chosen.
    pub(super) fn next(&mut self) -> Option<AssociationId> {
        self.untold.pop_front()
    }

    /// An association has ended.
    pub(super) fn remove(&mut self, id: AssociationId) {
        self.replaceable.retain(|known| *known != id);
        self.leaving.remove(&id);
    }
}
