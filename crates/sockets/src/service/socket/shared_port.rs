//! One port for several one-to-one sockets (`SCTP_REUSE_PORT`, RFC 6458 section 8.1.27): each connects to a peer of its own, and one of them
//! may listen.

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};

use polypath::BoundPort;
use rustix::io::Errno;

use super::{Socket, State};
use crate::service::lock;

/// A port that several sockets may have.
#[derive(Debug)]
struct SharedPort {
    port: Weak<BoundPort>,
    /// The addresses that they all have.
    addresses: polypath::PortAddresses,
    /// The socket that listens.
    listener: Option<u64>,
}

/// Such ports by their numbers.
#[derive(Debug, Default)]
pub(in crate::service) struct SharedPorts(BTreeMap<u16, SharedPort>);

impl SharedPorts {
    fn of(&mut self, port: &BoundPort) -> Option<&mut SharedPort> {
        let shared = self.0.get_mut(&port.port())?;
        // The number may be another socket's by now.
        std::ptr::eq(shared.port.as_ptr(), port).then_some(shared)
    }
}

impl Socket {
    /// Lets others have the port of this socket, if the program wants that.
    pub(super) fn offer_port(&self, state: &State, port: &Arc<BoundPort>) {
        if !self.is_one_to_one() || !state.options.shares_port() {
            return;
        }
        let mut ports = lock(&self.service.shared_ports);
        ports.0.retain(|_, shared| shared.port.strong_count() > 0);
        let shared = SharedPort {
            port: Arc::downgrade(port),
            addresses: self.port_addresses(state),
            listener: None,
        };
        ports.0.insert(port.port(), shared);
    }

    /// A port that another socket has bound.
    pub(super) fn join_port(&self, state: &State, port: u16) -> Result<Arc<BoundPort>, Errno> {
        let ports = lock(&self.service.shared_ports);
        let shared = ports.0.get(&port).filter(|shared| {
            let may = self.is_one_to_one() && state.options.shares_port();
            may && shared.addresses == self.port_addresses(state)
        });
        shared.and_then(|shared| shared.port.upgrade()).ok_or(Errno::ADDRINUSE)
    }

    /// Whether the options of this socket are those of associations that peers begin at its port.
    pub(super) fn configures(&self, state: &State, port: &BoundPort) -> bool {
        let mut ports = lock(&self.service.shared_ports);
        let Some(shared) = ports.of(port) else { return true };
        if shared.listener != Some(self.name.id) {
            return false;
        }
        shared.addresses = self.port_addresses(state);
        true
    }

    /// Becomes the socket that listens, unless another one does.
    pub(super) fn begin_listening(&self, state: &State) -> Result<(), Errno> {
        let mut ports = lock(&self.service.shared_ports);
        let Some(shared) = state.port.as_ref().and_then(|port| ports.of(port)) else {
            return Ok(());
        };
        match *shared.listener.get_or_insert(self.name.id) {
            listener if listener == self.name.id => Ok(()),
            _ => Err(Errno::ADDRINUSE),
        }
    }

    /// The socket is closed: its port stays with the others, and nobody listens.
    pub(super) fn stop_listening(&self, state: &mut State) {
        state.backlog = None;
        let mut ports = lock(&self.service.shared_ports);
        let Some(port) = &state.port else { return };
        let Some(shared) = ports.of(port) else { return };
        if shared.listener == Some(self.name.id) {
            shared.listener = None;
            port.set(state.port_config(self), 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::{IPPROTO_SCTP, option};
    use crate::init::InitMessage;
    use crate::names::Style;
    use crate::service::options;
    use crate::service::tests::{at, frame, open, service};

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn sockets_of_one_port_connect_to_their_peers_and_one_listens() {
        let (service, udp) = service("127.0.0.80");
        let on = 1_i32.to_ne_bytes();
        let sharing = || {
            let (socket, fd) = open(&service, Style::OneToOne, udp);
            options::set(&socket, IPPROTO_SCTP, option::REUSE_PORT, &on).unwrap();
            socket.bind(&[at("127.0.0.80:7000")]).map(|()| (socket, fd))
        };
        let mut peers = Vec::new();
        for port in [7001, 7002] {
            let peer = open(&service, Style::OneToOne, udp);
            peer.0.bind(&[at(&format!("127.0.0.80:{port}"))]).unwrap();
            peer.0.listen(1).unwrap();
            peers.push(peer);
        }
        let [first, second, third] = [(); 3].map(|()| sharing().unwrap());
        for ((socket, _), port) in [(&first, 7001), (&second, 7002)] {
            let peer = at(&format!("127.0.0.80:{port}"));
            socket.connect(&[peer], InitMessage::default()).unwrap();
            socket.connected().await.unwrap();
            assert_eq!(Socket::local_port(&socket.state()), 7000);
        }
        third.0.listen(1).unwrap();
        let (fourth, _fd) = sharing().unwrap();
        assert_eq!(fourth.listen(1), Err(Errno::ADDRINUSE), "one of them listens");
        let (client, _client_fd) = open(&service, Style::OneToOne, udp);
        client.connect(&[at("127.0.0.80:7000")], InitMessage::default()).unwrap();
        client.connected().await.unwrap();
        assert_eq!(frame(&third.1).await.0.kind, crate::frame::Kind::Accepted);

        let (alone, _fd) = open(&service, Style::OneToOne, udp);
        assert_eq!(
            alone.bind(&[at("127.0.0.80:7000")]),
            Err(Errno::ADDRINUSE),
            "it does not share"
        );
        let (other, _fd) = open(&service, Style::OneToOne, udp);
        options::set(&other, IPPROTO_SCTP, option::REUSE_PORT, &on).unwrap();
        assert_eq!(other.bind(&[at("0.0.0.0:7000")]), Err(Errno::ADDRINUSE), "other addresses");

        // The one that listens is closed, and another one takes its place.
        drop(third.1);
        while fourth.listen(1).is_err() {
            tokio::task::yield_now().await;
        }
    }
}
