//! The paths of an association.

use alloc::boxed::Box;
use core::net::IpAddr;
use core::ops::{Index, IndexMut};

use smallvec::SmallVec;

use super::Path;
use crate::PathId;

/// All paths, by id. The handshake fills the table; after that no path is removed, so that ids keep their meaning and
/// counters remain.
#[derive(Debug, Default)]
pub(crate) struct Paths(SmallVec<[Box<Path>; 2]>);

impl Paths {
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn push(&mut self, path: Path) {
        debug_assert_eq!(path.id.index(), self.0.len());
        self.0.push(Box::new(path));
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    pub(crate) fn get(&self, id: PathId) -> Option<&Path> {
        self.0.get(id.index()).map(|path| &**path)
    }

    pub(crate) fn get_mut(&mut self, id: PathId) -> Option<&mut Path> {
        self.0.get_mut(id.index()).map(|path| &mut **path)
    }

    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = &Path> {
        self.0.iter().map(|path| &**path)
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Path> {
        self.0.iter_mut().map(|path| &mut **path)
    }

    pub(crate) fn ids(&self) -> impl Iterator<Item = PathId> + use<> {
        (0..self.0.len()).map(|index| PathId(index as u8))
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
