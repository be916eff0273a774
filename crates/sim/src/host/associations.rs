//! The associations of a host.

use polypath_proto::{Association, AssociationId};

/// Associations, ordered by id. There are few, usually one, so a linear search is fastest.
#[derive(Debug, Default)]
pub(crate) struct Associations(Vec<(AssociationId, Box<Association>)>);

impl Associations {
    /// Adds an association, or replaces the one with the same id.
    pub fn insert(&mut self, id: AssociationId, association: Box<Association>) {
        match self.0.binary_search_by_key(&id, |(known, _)| *known) {
            Ok(place) => self.0[place].1 = association,
            Err(place) => self.0.insert(place, (id, association)),
        }
    }

    #[inline]
    pub fn get(&self, id: AssociationId) -> Option<&Association> {
        self.0.iter().find(|(known, _)| *known == id).map(|(_, association)| &**association)
    }

    #[inline]
    pub fn get_mut(&mut self, id: AssociationId) -> Option<&mut Association> {
        self.0.iter_mut().find(|(known, _)| *known == id).map(|(_, association)| &mut **association)
    }

    #[inline]
    pub fn iter(&self) -> impl Iterator<Item = &Association> {
        self.0.iter().map(|(_, association)| &**association)
    }

    /// The association at this position, with its id.
    #[inline]
    pub fn at(&mut self, place: usize) -> Option<(AssociationId, &mut Association)> {
        self.0.get_mut(place).map(|(id, association)| (*id, &mut **association))
    }
}
