//! Peers and associations to which this process has sent through one-to-many sockets. The first message to a peer may have to begin an association,
//! and then the call fails or waits as `connect` would, and one to an association that there is not fails; later ones need not ask.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};

use libc::c_int;

/// Most peers, and most associations, of a socket that are remembered.
const MAX_PEERS: usize = 65_536;

/// What is known of a socket.
#[derive(Default)]
pub(crate) struct Known {
    peers: BTreeSet<SocketAddr>,
    associations: BTreeSet<c_int>,
}

/// By socket.
pub(crate) type Peers = BTreeMap<u64, Known>;

static PEERS: Mutex<Peers> = Mutex::new(BTreeMap::new());

pub(crate) fn peers() -> MutexGuard<'static, Peers> {
    PEERS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether a message has gone to the peer before.
pub(crate) fn knows(socket: u64, peer: SocketAddr) -> bool {
    peers().get(&socket).is_some_and(|known| known.peers.contains(&peer))
}

/// Whether a message has gone to the association before, and it has not ended as far as this process knows.
pub(crate) fn knows_association(socket: u64, association: c_int) -> bool {
    peers().get(&socket).is_some_and(|known| known.associations.contains(&association))
}

/// The socket has the association.
pub(crate) fn note_association(socket: u64, association: c_int) {
    let mut all = peers();
    let known = &mut all.entry(socket).or_default().associations;
    if known.len() >= MAX_PEERS {
        known.clear();
    }
    known.insert(association);
}

/// The association has ended, or is about to.
pub(crate) fn forget_association(socket: u64, association: c_int) {
    if let Some(known) = peers().get_mut(&socket) {
        known.associations.remove(&association);
    }
}

/// Whether something is known of this socket.
pub(crate) fn has(socket: u64) -> bool {
    peers().contains_key(&socket)
}

/// A message goes to the peer.
pub(crate) fn note(socket: u64, peer: SocketAddr) {
    let mut all = peers();
    let known = &mut all.entry(socket).or_default().peers;
    if known.len() >= MAX_PEERS {
        known.clear();
    }
    known.insert(peer);
}

/// The socket is closed.
pub(crate) fn forget(socket: u64) {
    peers().remove(&socket);
}
