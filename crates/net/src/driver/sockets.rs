//! The sockets of an endpoint, one per local address and way to carry packets.

use std::net::IpAddr;

use smallvec::SmallVec;

use super::port::Port;

/// Sockets by place. A place keeps its number while other sockets come and go, and is used again when its socket is gone.
#[derive(Debug)]
pub(crate) struct Sockets(Vec<Option<Port>>);

impl Sockets {
    pub(crate) fn new(sockets: Vec<Port>) -> Self {
        Self(sockets.into_iter().map(Some).collect())
    }

    /// Adds a socket; gives its place.
    pub(crate) fn insert(&mut self, socket: Port) -> usize {
        match self.0.iter().position(Option::is_none) {
            Some(place) => {
                self.0[place] = Some(socket);
                place
            }
            None => {
                self.0.push(Some(socket));
                self.0.len() - 1
            }
        }
    }

    /// Takes the socket out of a place.
    pub(crate) fn remove(&mut self, place: usize) -> Option<Port> {
        self.0.get_mut(place)?.take()
    }

    /// The socket at a place.
    pub(crate) fn get(&self, place: usize) -> Option<&Port> {
        self.0.get(place)?.as_ref()
    }

    /// The places of the sockets that are bound to `address`.
    pub(crate) fn places_of(&self, address: IpAddr) -> SmallVec<[usize; 2]> {
        let own = self.iter().filter(|(_, socket)| socket.address() == address);
        own.map(|(place, _)| place).collect()
    }

    /// Sockets and their places.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (usize, &Port)> {
        self.0.iter().enumerate().filter_map(|(place, socket)| Some((place, socket.as_ref()?)))
    }

    /// Number of sockets.
    pub(crate) fn count(&self) -> usize {
        self.iter().count()
    }

    /// Number of places, empty ones among them.
    pub(crate) fn places(&self) -> usize {
        self.0.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::driver::udp::UdpPort;

    #[tokio::test]
    async fn places_stay_and_are_used_again() {
        let bind = |n: u8| Port::Udp(UdpPort::bind(IpAddr::from([127, 0, 0, n]), 0).unwrap());
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
}
