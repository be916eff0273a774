//! The associations of a socket, found by identifier and by the addresses of their peers.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::Arc;

use crate::service::link::Link;

/// Associations by identifier.
#[derive(Debug, Default)]
pub(in crate::service) struct Links {
    by_id: BTreeMap<i32, Arc<Link>>,
    /// How many were removed.
    removed: u32,
    /// Only where there may be several.
    index: Option<Box<Index>>,
}

/// Finds one of thousands of associations by an address.
#[derive(Debug, Default)]
struct Index {
    /// The addresses that a peer had in the beginning. An association may have gained and lost some since.
    by_address: BTreeMap<SocketAddr, i32>,
    /// What was entered for an association.
    entered: BTreeMap<i32, Vec<SocketAddr>>,
    /// Associations whose peers have this port.
    by_port: BTreeMap<u16, BTreeSet<i32>>,
}

impl Links {
    /// None yet; they are found by address fast if there may be `several`.
    pub(super) fn new(may_be_several: bool) -> Self {
        Self { by_id: BTreeMap::new(), removed: 0, index: may_be_several.then(Box::default) }
    }

    pub(super) fn insert(&mut self, link: &Arc<Link>) {
        self.by_id.insert(link.id, Arc::clone(link));
        self.learn_addresses(link);
    }

    /// Learns the addresses of the peer, of which the handshake may have brought more.
    pub(super) fn learn_addresses(&mut self, link: &Link) {
        if let Some(index) = &mut self.index
            && self.by_id.contains_key(&link.id)
        {
            index.enter(link.id, link.peer_addresses());
        }
    }

    pub(super) fn remove(&mut self, id: i32) -> Option<Arc<Link>> {
        if let Some(index) = &mut self.index {
            index.leave(id);
        }
        let removed = self.by_id.remove(&id);
        self.removed = self.removed.wrapping_add(removed.is_some().into());
        removed
    }

    /// How many were removed so far.
    pub(super) fn removed(&self) -> u32 {
        self.removed
    }

    pub(super) fn get(&self, id: i32) -> Option<&Arc<Link>> {
        self.by_id.get(&id)
    }

    /// In the order of their identifiers.
    pub(super) fn values(&self) -> impl Iterator<Item = &Arc<Link>> {
        self.by_id.values()
    }

    pub(super) fn first(&self) -> Option<&Arc<Link>> {
        self.by_id.values().next()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.by_id.is_empty()
    }

    /// The association with the peer that has this address.
    pub(super) fn with_peer(&self, peer: SocketAddr) -> Option<&Arc<Link>> {
        let has_peer = |link: &&Arc<Link>| link.has_peer(peer);
        let Some(index) = &self.index else { return self.values().find(has_peer) };
        let known = index.by_address.get(&peer).and_then(|id| self.get(*id)).filter(has_peer);
        known.or_else(|| {
            let mut others = index.by_port.get(&peer.port())?.iter();
            others.find_map(|id| self.get(*id).filter(has_peer))
        })
    }
}

impl Index {
    fn enter(&mut self, id: i32, addresses: Vec<SocketAddr>) {
        self.leave(id);
        for address in &addresses {
            self.by_address.entry(*address).or_insert(id);
            self.by_port.entry(address.port()).or_default().insert(id);
        }
        self.entered.insert(id, addresses);
    }

    fn leave(&mut self, id: i32) {
        for address in self.entered.remove(&id).unwrap_or_default() {
            if self.by_address.get(&address) == Some(&id) {
                self.by_address.remove(&address);
            }
            if let Some(ids) = self.by_port.get_mut(&address.port()) {
                ids.remove(&id);
                if ids.is_empty() {
                    self.by_port.remove(&address.port());
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::service::options::Each;

    fn address(last: u8, port: u16) -> SocketAddr {
        SocketAddr::from(([192, 0, 2, last], port))
    }

    fn link(id: i32, peers: &[SocketAddr]) -> Arc<Link> {
        Arc::new(Link::new(id, peers, Each::default()).0)
    }

    #[test]
    fn associations_are_found_by_every_address_of_their_peer() {
        for may_be_several in [false, true] {
            let mut links = Links::new(may_be_several);
            for id in 3..9 {
                let last = u8::try_from(id).unwrap();
                links.insert(&link(id, &[address(last, 5000), address(last + 100, 5000)]));
            }
            let found = |links: &Links, peer| links.with_peer(peer).map(|link| link.id);
            for (last, id) in [(3, Some(3)), (8, Some(8)), (105, Some(5)), (2, None)] {
                assert_eq!(found(&links, address(last, 5000)), id, "{last}");
            }
            assert_eq!(found(&links, address(3, 5001)), None, "another port");
            assert_eq!(links.remove(5).map(|link| link.id), Some(5));
            assert_eq!(found(&links, address(105, 5000)), None);
            assert_eq!(links.values().map(|link| link.id).collect::<Vec<_>>(), [3, 4, 6, 7, 8]);
        }
    }

    #[test]
    fn of_two_with_an_address_the_older_one_is_found_until_it_is_gone() {
        let mut links = Links::new(true);
        let peers = [address(1, 7)];
        links.insert(&link(3, &peers));
        links.insert(&link(4, &peers));
        assert_eq!(links.with_peer(peers[0]).map(|link| link.id), Some(3));
        links.remove(3);
        assert_eq!(links.with_peer(peers[0]).map(|link| link.id), Some(4));
        links.remove(4);
        assert!(links.with_peer(peers[0]).is_none() && links.is_empty());
        let index = links.index.unwrap();
        assert!(index.by_address.is_empty() && index.by_port.is_empty());
        assert!(index.entered.is_empty(), "{index:?}");
    }
}
