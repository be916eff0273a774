//! Peers to which this process has sent through one-to-many sockets. The first message to a peer may have to begin an association, and then the
//! call fails or waits as `connect` would; later ones need not ask.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Most peers of a socket that are remembered.
const MAX_PEERS: usize = 65_536;

/// Peers by socket.
pub(crate) type Peers = BTreeMap<u64, BTreeSet<SocketAddr>>;

static PEERS: Mutex<Peers> = Mutex::new(BTreeMap::new());

pub(crate) fn peers() -> MutexGuard<'static, Peers> {
    PEERS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether a message has gone to the peer before.
pub(crate) fn knows(socket: u64, peer: SocketAddr) -> bool {
    peers().get(&socket).is_some_and(|known| known.contains(&peer))
}

/// Whether a message has gone through this socket to any peer.
pub(crate) fn has(socket: u64) -> bool {
    peers().contains_key(&socket)
}

/// A message goes to the peer.
pub(crate) fn note(socket: u64, peer: SocketAddr) {
    let mut all = peers();
    let known = all.entry(socket).or_default();
    if known.len() >= MAX_PEERS {
        known.clear();
    }
    known.insert(peer);
}

/// The socket is closed.
pub(crate) fn forget(socket: u64) {
    peers().remove(&socket);
}
