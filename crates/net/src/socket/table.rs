//! The sockets of an endpoint, one per local address and carrier.

use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Weak};

use smallvec::SmallVec;

use super::port::Port;
use crate::lock::lock;
use crate::route;

/// A socket in use.
#[derive(Debug)]
struct Open {
    port: Port,
    /// Dropped after the socket: fields are dropped in their order. A weak pointer to the socket itself would be
    /// dangling just before the socket is closed.
    sign: Arc<()>,
}

/// Shows when a socket that was removed from a table is closed.
#[derive(Debug)]
pub(crate) struct Closing(Weak<()>);

impl Closing {
    /// Whether the socket is closed: no table refers to it any more.
    pub(crate) fn is_over(&self) -> bool {
        self.0.strong_count() == 0
    }
}

/// Sockets by place. A place keeps its number when other sockets are added and removed, and is reused after its socket
/// was removed.
///
/// Each shard has a copy of the table.
#[derive(Clone, Debug)]
pub(crate) struct Sockets {
    places: Vec<Option<Arc<Open>>>,
    /// Number of changes so far.
    version: u64,
}

/// The present sockets, for the shards to copy.
#[derive(Debug)]
pub(crate) struct SharedSockets {
    now: Mutex<Sockets>,
    version: AtomicU64,
}

impl SharedSockets {
    pub(crate) fn new(sockets: Sockets) -> Self {
        Self { version: AtomicU64::new(sockets.version), now: Mutex::new(sockets) }
    }

    pub(crate) fn get(&self) -> Sockets {
        lock(&self.now).clone()
    }

    /// Replaces the table, before associations learn of the change.
    pub(crate) fn set(&self, sockets: &mut Sockets) {
        sockets.version += 1;
        *lock(&self.now) = sockets.clone();
        self.version.store(sockets.version, Ordering::Release);
    }

    /// MTU in bytes of the route between two addresses, if there is one and the system reports it.
    pub(crate) fn route_mtu(&self, from: IpAddr, to: IpAddr) -> Option<u32> {
        if lock(&self.now).count() == 0 {
            return None;
        }
        route::mtu(from, self.device_of(from).as_deref(), to)
    }

    /// The interface that the sockets of an address are bound to.
    fn device_of(&self, address: IpAddr) -> Option<Arc<str>> {
        let sockets = lock(&self.now);
        let (_, socket) = sockets.iter().find(|(_, socket)| socket.address() == address)?;
        socket.device().cloned()
    }

    /// Releases all sockets.
    pub(crate) fn clear(&self) {
        lock(&self.now).places.clear();
    }
}

impl Sockets {
    pub(crate) fn new(sockets: Vec<Port>) -> Self {
        Self { places: sockets.into_iter().map(open).collect(), version: 0 }
    }

    /// Whether nothing has changed since.
    pub(crate) fn are_current(&self, shared: &SharedSockets) -> bool {
        self.version == shared.version.load(Ordering::Acquire)
    }

    /// Whether both have the same socket at a place.
    pub(crate) fn have_same(&self, other: &Self, place: usize) -> bool {
        let at =
            |sockets: &Self| sockets.places.get(place).and_then(Option::as_ref).map(Arc::as_ptr);
        at(self) == at(other)
    }

    /// Adds a socket; returns its place.
    pub(crate) fn insert(&mut self, socket: Port) -> usize {
        let socket = open(socket);
        match self.places.iter().position(Option::is_none) {
            Some(place) => {
                self.places[place] = socket;
                place
            }
            None => {
                self.places.push(socket);
                self.places.len() - 1
            }
        }
    }

    /// Removes the socket from a place. Other tables may still have it.
    pub(crate) fn remove(&mut self, place: usize) -> Option<Closing> {
        let socket = self.places.get_mut(place)?.take()?;
        Some(Closing(Arc::downgrade(&socket.sign)))
    }

    /// The socket at a place.
    pub(crate) fn get(&self, place: usize) -> Option<&Port> {
        Some(&self.places.get(place)?.as_deref()?.port)
    }

    /// The places of the sockets that are bound to `address`.
    pub(crate) fn places_of(&self, address: IpAddr) -> SmallVec<[usize; 2]> {
        let own = self.iter().filter(|(_, socket)| socket.address() == address);
        own.map(|(place, _)| place).collect()
    }

    /// Sockets and their places.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (usize, &Port)> {
        let places = self.places.iter().enumerate();
        places.filter_map(|(place, socket)| Some((place, &socket.as_deref()?.port)))
    }

    /// Number of sockets.
    pub(crate) fn count(&self) -> usize {
        self.iter().count()
    }

    /// Number of places, including empty ones.
    pub(crate) fn places(&self) -> usize {
        self.places.len()
    }
}

fn open(port: Port) -> Option<Arc<Open>> {
    Some(Arc::new(Open { port, sign: Arc::new(()) }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::socket::udp::UdpPort;

    #[tokio::test]
    async fn places_stay_and_are_used_again() {
        let bind = |n: u8| Port::Udp(UdpPort::bind(IpAddr::from([127, 0, 0, n]), None, 0).unwrap());
        let mut sockets = Sockets::new(vec![bind(61), bind(62), bind(63)]);
        assert!(sockets.remove(1).is_some());
        assert!(sockets.remove(1).is_none() && sockets.remove(9).is_none());
        assert_eq!((sockets.count(), sockets.places()), (2, 3));
        assert_eq!(sockets.places_of(IpAddr::from([127, 0, 0, 63])).as_slice(), [2]);
        assert!(sockets.places_of(IpAddr::from([127, 0, 0, 62])).is_empty());
        assert_eq!(sockets.insert(bind(64)), 1);
        assert_eq!(sockets.insert(bind(65)), 3);
        assert!(sockets.iter().map(|(place, _)| place).eq(0..4));
    }

    #[tokio::test]
    async fn a_socket_is_closed_when_the_last_table_lets_it_go() {
        let address = IpAddr::from([127, 0, 0, 66]);
        let mut sockets = Sockets::new(vec![Port::Udp(UdpPort::bind(address, None, 0).unwrap())]);
        let copy = sockets.clone();
        let closing = sockets.remove(0).unwrap();
        assert!(!closing.is_over());
        drop(copy);
        assert!(closing.is_over());
    }
}
