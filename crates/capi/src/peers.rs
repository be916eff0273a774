//! Peers and associations to which this process has sent through one-to-many sockets. The first message to a peer may have to begin an association,
//! and then the call fails or waits as `connect` would, and one to an association that there is not fails; later ones need not ask, until the socket loses
//! an association.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};

use libc::c_int;

/// Most peers, and most associations, of a socket that are remembered.
const MAX_PEERS: usize = 65_536;

/// What is known of a socket.
#[derive(Default)]
pub(crate) struct Known {
    /// How many associations the socket had lost then.
    ended: u32,
    peers: BTreeSet<SocketAddr>,
    associations: BTreeSet<c_int>,
}

/// By socket.
pub(crate) type Peers = BTreeMap<u64, Known>;

static PEERS: Mutex<Peers> = Mutex::new(BTreeMap::new());

pub(crate) fn peers() -> MutexGuard<'static, Peers> {
    PEERS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What is known of a socket that has lost so many associations; what was known before one of them is forgotten.
fn known(all: &mut Peers, socket: u64, ended: u32) -> &mut Known {
    let known = all.entry(socket).or_default();
    if known.ended != ended {
        *known = Known { ended, ..Known::default() };
    }
    known
}

/// Whether a message has gone to the peer before, and no association has ended since.
pub(crate) fn knows(socket: u64, ended: u32, peer: SocketAddr) -> bool {
    let mut all = peers();
    all.contains_key(&socket) && known(&mut all, socket, ended).peers.contains(&peer)
}

/// Whether a message has gone to the association before, and none has ended since.
pub(crate) fn knows_association(socket: u64, ended: u32, association: c_int) -> bool {
    let mut all = peers();
    all.contains_key(&socket) && known(&mut all, socket, ended).associations.contains(&association)
}

/// The socket had the association when it had lost so many.
pub(crate) fn note_association(socket: u64, ended: u32, association: c_int) {
    let mut all = peers();
    let known = &mut known(&mut all, socket, ended).associations;
    if known.len() >= MAX_PEERS {
        known.clear();
    }
    known.insert(association);
}

/// The association is about to end.
pub(crate) fn forget_association(socket: u64, association: c_int) {
    if let Some(known) = peers().get_mut(&socket) {
        known.associations.remove(&association);
    }
}

/// Whether something is known of this socket.
pub(crate) fn has(socket: u64) -> bool {
    peers().contains_key(&socket)
}

/// The socket had an association with the peer when it had lost so many.
pub(crate) fn note(socket: u64, ended: u32, peer: SocketAddr) {
    let mut all = peers();
    let known = &mut known(&mut all, socket, ended).peers;
    if known.len() >= MAX_PEERS {
        known.clear();
    }
    known.insert(peer);
}

/// The socket is closed.
pub(crate) fn forget(socket: u64) {
    peers().remove(&socket);
}
