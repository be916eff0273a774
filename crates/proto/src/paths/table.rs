//! The paths of an association.

use alloc::vec::Vec;
use core::net::IpAddr;
use core::ops::{Index, IndexMut};

use smallvec::SmallVec;

use super::reach::Reach;
use super::{Path, Usable};
use crate::config::{AssociationConfig, PathGroups, Policies};
use crate::congestion::{self, coupled::group::GroupViews};
use crate::types::PathSet;
use crate::{Duration, PathId};

/// All paths, by id. The handshake fills the table; after that no path is removed, so that ids keep their meaning and
/// counters remain.
///
/// A plain vector: nearly every step looks up a path, and asking each time where the list is costs more than the place
/// apart saves.
#[derive(Debug, Default)]
pub(crate) struct Paths(Vec<Path>);

impl Paths {
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Adds a path. Takes memory for no more than that: few associations ever get another.
    pub(crate) fn push(&mut self, path: Path) {
        debug_assert_eq!(path.id.index(), self.0.len());
        self.0.reserve_exact(1);
        self.0.push(path);
    }

    /// Empties the table, for `count` paths.
    pub(crate) fn clear(&mut self, count: usize) {
        self.0.clear();
        self.0.reserve_exact(count);
    }

    pub(crate) fn get(&self, id: PathId) -> Option<&Path> {
        self.0.get(id.index())
    }

    pub(crate) fn get_mut(&mut self, id: PathId) -> Option<&mut Path> {
        self.0.get_mut(id.index())
    }

    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = &Path> {
        self.0.iter()
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Path> {
        self.0.iter_mut()
    }

    pub(crate) fn ids(&self) -> impl Iterator<Item = PathId> + use<> {
        (0..self.0.len()).map(|index| PathId(index as u8))
    }

    /// How many paths share the initial window of `path`, which may be a new one.
    pub(crate) fn sharers(&self, policies: &Policies, path: PathId) -> u64 {
        let group = |id: PathId| policies.path_groups.group_of(id.index());
        let others = self.iter().filter(|other| {
            let lives = !matches!(other.reach, Reach::Inactive(_));
            other.id != path && lives && group(other.id) == group(path)
        });
        congestion::sharers(policies.congestion.coupling(), 1 + others.count() as u64)
    }

    /// Puts all windows back to their initial size, once the peer's receive window is known.
    pub(crate) fn reset_windows(&mut self, config: &AssociationConfig, peer_window: u64) {
        for id in self.ids() {
            let sharers = self.sharers(&config.policies, id);
            self[id].reset_window(config, peer_window, sharers);
        }
    }

    /// Largest round-trip time, as far as measured, and largest timeout of any path that is confirmed.
    pub(crate) fn slowest(&self) -> (Option<Duration>, Duration) {
        let confirmed = || self.iter().filter(|path| path.reach.is_confirmed());
        let rtt = confirmed().filter_map(|path| path.rtt.srtt()).max();
        (rtt, confirmed().map(|path| path.rtt.rto()).max().unwrap_or(Duration::ZERO))
    }

    /// What a coupled congestion control knows of each path's group; `usable` are the paths that can carry data.
    pub(crate) fn group_views(&self, groups: &PathGroups, usable: PathSet) -> GroupViews {
        let usable = |path: &Path| match usable.contains(path.id) {
            true => Usable::Yes,
            false => Usable::No,
        };
        let members: SmallVec<[_; 4]> =
            self.iter().map(|path| path.as_member(usable(path))).collect();
        GroupViews::of(groups, &members)
    }

    /// The path between two addresses; if only the peer's address is known, the first path to it.
    pub(crate) fn find(&self, local: IpAddr, remote: IpAddr) -> Option<PathId> {
        self.iter()
            .find(|path| path.local == local && path.remote == remote)
            .or_else(|| self.iter().find(|path| path.remote == remote))
            .map(|path| path.id)
    }
}

impl Index<PathId> for Paths {
    type Output = Path;
    fn index(&self, id: PathId) -> &Path {
        &self.0[id.index()]
    }
}

impl IndexMut<PathId> for Paths {
    fn index_mut(&mut self, id: PathId) -> &mut Path {
        &mut self.0[id.index()]
    }
}

#[cfg(test)]
mod tests {
    use core::net::Ipv4Addr;

    use super::*;
    use crate::config::Preset;
    use crate::congestion::coupled::group::GroupView;
    use crate::{Encapsulation, Instant};

    /// A doubtful path that carries data because no other can belongs to its group, and so does one on which something is
    /// still outstanding; one that carries nothing does not.
    #[test]
    fn what_carries_data_is_a_member_whatever_its_state() {
        let config = AssociationConfig::with_preset(Preset::Lia);
        let address = IpAddr::V4(Ipv4Addr::LOCALHOST);
        let mut paths = Paths::default();
        for (id, ms) in [(0, 10), (1, 20)] {
            let mut path = Path::new(PathId(id), address, address, Encapsulation::None, &config);
            path.reach = Reach::PotentiallyFailed;
            path.window.cwnd = 30_000;
            path.rtt.on_sample(Duration::from_millis(ms));
            path.t3 = Some(Instant::ZERO);
            paths.push(path);
        }
        let groups = config.policies.path_groups;
        let views = |paths: &Paths, usable: &[u8]| {
            let usable = usable.iter().map(|id| PathId(*id)).collect();
            let views = paths.group_views(&groups, usable);
            [0, 1].map(|id| views.view(PathId(id)))
        };
        let [first, second] = views(&paths, &[1]);
        assert_eq!(first, GroupView::ALONE);
        assert_eq!((second.members, second.cwnd), (1, 30_000));
        assert!(second.rates.is_some());
        paths[PathId(0)].flight = 1500;
        for view in views(&paths, &[1]) {
            assert_eq!((view.members, view.cwnd), (2, 60_000), "what is outstanding counts");
        }
        assert_eq!(views(&paths, &[])[1], GroupView::ALONE);
    }
}
