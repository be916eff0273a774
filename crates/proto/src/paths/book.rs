//! The paths of an association.

use alloc::boxed::Box;
use core::net::IpAddr;
use core::ops::{Index, IndexMut};

use super::Path;
use super::failover::{self, Suspect};
use super::reach::{Reach, Signal, Thresholds, Transition};
use crate::config::Policies;
use crate::congestion::window;
use crate::types::PathSet;
use crate::{Encapsulation, PathId};

/// All paths, by id. The handshake fills the table; after that no path is removed, so that ids keep their meaning and
/// counters remain.
#[derive(Debug)]
pub(crate) struct PathBook {
    /// Not a vector, which takes more memory: few associations ever get another path.
    paths: Box<[Path]>,
    /// The active ones. `note_reach` keeps both sets.
    active: PathSet,
    /// The inactive ones.
    inactive: PathSet,
    /// The primary path (RFC 9260 section 6.4).
    pub(crate) primary: PathId,
    /// Consecutive timeouts over all paths.
    pub(crate) errors: u32,
}

impl Default for PathBook {
    fn default() -> Self {
        Self {
            paths: Box::default(),
            active: PathSet::EMPTY,
            inactive: PathSet::EMPTY,
            primary: PathId(0),
            errors: 0,
        }
    }
}

impl PathBook {
    pub(crate) fn len(&self) -> usize {
        self.paths.len()
    }

    /// Adds a path.
    pub(crate) fn push(&mut self, path: Path) {
        debug_assert_eq!(path.id.index(), self.paths.len());
        let id = path.id;
        let mut paths = core::mem::take(&mut self.paths).into_vec();
        paths.reserve_exact(1);
        paths.push(path);
        self.paths = paths.into_boxed_slice();
        self.note_reach(id);
    }

    /// Replaces a path.
    pub(crate) fn replace(&mut self, path: Path) {
        let id = path.id;
        self.paths[id.index()] = path;
        self.note_reach(id);
    }

    /// Sets the reachability of a path.
    pub(crate) fn set_reach(&mut self, id: PathId, reach: Reach) {
        self.paths[id.index()].reach = reach;
        self.note_reach(id);
    }

    /// Applies a signal to a path's reachability.
    pub(crate) fn signal(
        &mut self,
        id: PathId,
        signal: Signal,
        thresholds: Thresholds,
    ) -> Transition {
        let transition = self.paths[id.index()].reach.on(signal, thresholds);
        self.note_reach(id);
        transition
    }

    fn note_reach(&mut self, id: PathId) {
        let (path, reach) = (PathSet::of(id), self.paths[id.index()].reach);
        self.active = self.active.without(path);
        self.active.insert_if(id, reach.is_active());
        self.inactive = self.inactive.without(path);
        self.inactive.insert_if(id, matches!(reach, Reach::Inactive(_)));
    }

    /// The active paths.
    #[inline]
    pub(crate) fn active(&self) -> PathSet {
        let is_active = |path: &&Path| path.reach.is_active();
        debug_assert_eq!(self.active, self.iter().filter(is_active).map(|it| it.id).collect());
        self.active
    }

    /// The inactive paths.
    #[inline]
    pub(crate) fn inactive(&self) -> PathSet {
        let is_inactive = |path: &&Path| matches!(path.reach, Reach::Inactive(_));
        debug_assert_eq!(self.inactive, self.iter().filter(is_inactive).map(|it| it.id).collect());
        self.inactive
    }

    /// Empties the table.
    pub(crate) fn clear(&mut self) {
        self.paths = Box::default();
        (self.active, self.inactive) = (PathSet::EMPTY, PathSet::EMPTY);
    }

    pub(crate) fn get(&self, id: PathId) -> Option<&Path> {
        self.paths.get(id.index())
    }

    pub(crate) fn get_mut(&mut self, id: PathId) -> Option<&mut Path> {
        self.paths.get_mut(id.index())
    }

    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = &Path> {
        self.paths.iter()
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Path> {
        self.paths.iter_mut()
    }

    pub(crate) fn ids(&self) -> impl Iterator<Item = PathId> + use<> {
        (0..self.paths.len()).map(|index| PathId(index as u8))
    }

    /// How many paths share the initial window of `path`, which may be a new one.
    pub(crate) fn sharers(&self, policies: &Policies, path: PathId) -> u64 {
        let group = |id: PathId| policies.path_groups.group_of(id.index());
        let others = self.iter().filter(|other| {
            let lives = !matches!(other.reach, Reach::Inactive(_));
            other.id != path && lives && group(other.id) == group(path)
        });
        window::sharers(policies.congestion, 1 + others.count() as u64)
    }

    /// The path between two addresses; if only the peer's address is known, the first path to it.
    pub(crate) fn find(&self, local: IpAddr, remote: IpAddr) -> Option<PathId> {
        self.iter()
            .find(|path| path.local == local && path.remote == remote)
            .or_else(|| self.iter().find(|path| path.remote == remote))
            .map(|path| path.id)
    }

    /// The path between two addresses, with these UDP ports, if any.
    #[inline]
    pub(crate) fn find_place(
        &self,
        local: &IpAddr,
        remote: &IpAddr,
        encapsulation: Encapsulation,
    ) -> Option<PathId> {
        // By index: an iterator counts the paths, which are large, by a division.
        let mut index = 0;
        while let Some(path) = self.paths.get(index) {
            if path.local == *local && path.remote == *remote && path.encapsulation == encapsulation
            {
                return Some(path.id);
            }
            index += 1;
        }
        None
    }

    /// Paths that can carry data: the active ones; with none of them the best of the potentially failed; with none
    /// of these the confirmed path with the fewest errors, so that a dormant association still probes (RFC 9260 section
    /// 8.2; RFC 7829 section 4.1).
    #[inline]
    pub(crate) fn usable(&self) -> PathSet {
        let active = self.active();
        if active.is_empty() { self.stand_ins() } else { active }
    }

    /// Whether any path can carry data.
    #[inline]
    pub(crate) fn has_usable(&self) -> bool {
        !self.active().is_empty() || !self.stand_ins().is_empty()
    }

    /// Paths that can carry data while none is active.
    #[cold]
    fn stand_ins(&self) -> PathSet {
        if let Some(suspect) = self.least_suspect() {
            return PathSet::of(suspect);
        }
        let stand_in =
            self.iter().filter(|path| path.reach.is_confirmed()).min_by_key(|path| path.errors);
        stand_in.map_or(PathSet::EMPTY, |path| PathSet::of(path.id))
    }

    /// The potentially failed path that carries data while none is active.
    pub(crate) fn least_suspect(&self) -> Option<PathId> {
        let suspects = self.iter().filter(|path| path.reach.is_potentially_failed());
        failover::stand_in(suspects.map(|path| Suspect {
            index: path.id.0,
            errors: path.errors,
            rank: path.suspicion.rank,
        }))
        .map(PathId)
    }

    /// The primary path, or while it cannot carry data the next one that can.
    pub(crate) fn primary_or_stand_in(&self, usable: PathSet) -> PathId {
        let is_usable = |path: &PathId| usable.contains(*path);
        if is_usable(&self.primary) {
            return self.primary;
        }
        let after = self.ids().filter(|path| path.0 > self.primary.0).find(is_usable);
        after.or_else(|| self.ids().find(is_usable)).unwrap_or(self.primary)
    }

    /// The path for control chunks without a path of their own: among those that can carry data, the one with the
    /// fewest unanswered timeouts, preferring the primary path.
    ///
    /// RFC 9260 section 9.2 leaves the choice open, and by section 8.2 a path fails only after many timeouts; until
    /// then, a path that has just been cut must not delay the end of the association.
    pub(crate) fn best(&self) -> PathId {
        let usable = self.usable();
        let usable = self.iter().filter(|path| usable.contains(path.id));
        let best = usable.min_by_key(|path| (path.errors, path.id != self.primary, path.id));
        best.map_or(self.primary, |path| path.id)
    }
}

impl Index<PathId> for PathBook {
    type Output = Path;
    fn index(&self, id: PathId) -> &Path {
        &self.paths[id.index()]
    }
}

/// For fields of a path: a whole one is put in with [`replace`](PathBook::replace), which keeps the sets.
impl IndexMut<PathId> for PathBook {
    fn index_mut(&mut self, id: PathId) -> &mut Path {
        &mut self.paths[id.index()]
    }
}

#[cfg(test)]
mod tests {
    use core::net::Ipv4Addr;

    use super::super::reach::Reason;
    use super::*;
    use crate::config::AssociationConfig;

    fn path(id: u8) -> Path {
        let [local, remote] = [1, 2].map(|host| IpAddr::V4(Ipv4Addr::new(10, 0, id, host)));
        Path::new(
            PathId(id),
            local,
            remote,
            Encapsulation::None,
            1500,
            &AssociationConfig::default(),
        )
    }

    /// The active and the inactive paths.
    fn sets(book: &PathBook) -> [u32; 2] {
        [book.active(), book.inactive()].map(|set| set.iter().map(|path| 1 << path.0).sum())
    }

    #[test]
    fn sets_of_paths_follow_whatever_changes_their_reachability() {
        let mut book = PathBook::default();
        (0..3).for_each(|id| book.push(path(id)));
        assert_eq!(sets(&book), [0, 0]);
        book.set_reach(PathId(0), Reach::Active);
        book.set_reach(PathId(2), Reach::Active);
        assert_eq!(sets(&book), [0b101, 0]);
        let thresholds = Thresholds { potentially_failed: Some(0), failed: 1 };
        assert_eq!(book.signal(PathId(2), Signal::Timeout(1), thresholds), Transition::Suspected);
        assert_eq!(sets(&book), [0b001, 0]);
        assert_eq!(book.signal(PathId(2), Signal::Timeout(2), thresholds), Transition::Failed);
        assert_eq!(sets(&book), [0b001, 0b100]);
        book.replace(path(0).unannounced());
        assert_eq!(book[PathId(0)].reach(), Reach::Inactive(Reason::Unannounced));
        assert_eq!(sets(&book), [0, 0b101]);
        book.replace(path(2));
        assert_eq!(sets(&book), [0, 0b001]);
        book.clear();
        assert_eq!(sets(&book), [0, 0]);
    }
}
