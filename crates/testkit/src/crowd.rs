//! One endpoint that has associations with many others, in one thread: real packets, encoded and with checksums, over no
//! network at all.
//!
//! For benchmarks of what an association costs, living, beginning and ending.

use std::collections::BTreeMap;
use std::net::IpAddr;

use bytes::Bytes;
use polypath_proto::config::{AssociationConfig, EndpointConfig};
use polypath_proto::{
    Association, AssociationId, Body, Cx, Duration, Ecn, Encapsulation, Endpoint, Instant, NoProbe,
    OutgoingMessage, PeerAddress, Received, Route, Transmit,
};
use polypath_wire::{Checksum, Packet};
use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::Side;

/// SCTP port of the server, and of every client.
const PORT: u16 = 5001;
/// Sizes of messages, as requests and answers have them: small, and larger than a packet.
const MESSAGES: [usize; 4] = [100, 1_400, 10_000, 50_000];
/// More clients than this have no addresses.
const MAX_CLIENTS: usize = 60_000;

/// An endpoint with its associations.
#[derive(Debug)]
struct End {
    endpoint: Endpoint,
    associations: BTreeMap<AssociationId, Box<Association>>,
    /// The association that had a packet last, which may have something to send.
    touched: Option<AssociationId>,
}

/// What all ends share, so that it is nobody's cost.
#[derive(Debug)]
struct Wire {
    rng: Xoshiro256PlusPlus,
    packet: Packet<'static>,
    bytes: Vec<u8>,
    received_messages: u64,
}

/// A server, and clients with one association each at most.
#[derive(Debug)]
pub struct Crowd {
    config: AssociationConfig,
    paths: u8,
    server: End,
    clients: Vec<End>,
    wire: Wire,
}

impl Crowd {
    /// A server without clients, with this many paths to each.
    pub fn new(config: &AssociationConfig, paths: u8) -> Self {
        let mut wire = Wire {
            rng: Xoshiro256PlusPlus::seed_from_u64(1),
            packet: Packet::default(),
            bytes: vec![0; 1 << 16],
            received_messages: 0,
        };
        let server = EndpointConfig {
            listening: true,
            association: config.clone(),
            ..EndpointConfig::default()
        };
        let server = End::new(server, &server_addresses(paths), &mut wire);
        Self { config: config.clone(), paths, server, clients: Vec::new(), wire }
    }

    /// A server with associations that have moved some data both ways and then had nothing to do for more than a minute,
    /// long enough for heartbeats on every path.
    ///
    /// # Panics
    ///
    /// If not everything arrives and is acknowledged.
    pub fn idle(config: &AssociationConfig, count: usize, paths: u8) -> Self {
        let mut crowd = Self::new(config, paths);
        let content = Bytes::from(vec![0x5a; 50_000]);
        for client in 0..count {
            let mut now = Instant::ZERO + Duration::from_millis(1);
            crowd.add_client();
            crowd.connect(now, client);
            for size in MESSAGES {
                for from in [Side::Client, Side::Server] {
                    now += Duration::from_millis(1);
                    crowd.send(now, from, client, OutgoingMessage::new(0, content.slice(..size)));
                }
            }
            for _ in 0..150 {
                now += Duration::from_millis(500);
                crowd.handle_timeouts(now, client);
            }
        }
        assert_eq!(crowd.received_messages(), (2 * MESSAGES.len() * count) as u64);
        let is_idle = |association: &Association| {
            association.is_established() && association.stats().send_buffer_bytes == 0
        };
        assert!(crowd.server_associations().all(is_idle), "everything was acknowledged");
        crowd
    }

    /// Adds a client, not connected yet. Returns its number.
    ///
    /// # Panics
    ///
    /// If there are no addresses left.
    pub fn add_client(&mut self) -> usize {
        let number = self.clients.len();
        assert!(number < MAX_CLIENTS, "as many clients as there are addresses");
        let [high, low] = (number as u16 + 1).to_be_bytes();
        let addresses: Vec<_> =
            (0..self.paths).map(|path| IpAddr::from([10, path, high, low])).collect();
        // Clients need no configuration for associations of others.
        self.clients.push(End::new(EndpointConfig::default(), &addresses, &mut self.wire));
        number
    }

    /// Establishes an association of this client with the server.
    ///
    /// # Panics
    ///
    /// If it has one, or the configuration makes a handshake impossible.
    pub fn connect(&mut self, now: Instant, client: usize) {
        let end = &mut self.clients[client];
        let peer: Vec<_> = server_addresses(self.paths)
            .into_iter()
            .map(|address| PeerAddress { address, encapsulation: Encapsulation::None })
            .collect();
        let config = self.config.clone();
        let (id, association) = self
            .wire
            .lend(now, |cx, _| end.endpoint.connect(cx, config, PORT, &peer))
            .expect("a client without an association");
        end.associations.insert(id, association);
        self.settle(now, client, None);
        assert!(self.association(client).is_established(), "nothing is lost in memory");
    }

    /// Sends a message between this client and the server, and reads it there.
    ///
    /// # Panics
    ///
    /// If there is no association, or no room for the message.
    pub fn send(&mut self, now: Instant, from: Side, client: usize, message: OutgoingMessage) {
        let id = self.server_id(client);
        let association = match from {
            Side::Client => self.clients[client].associations.values_mut().next(),
            Side::Server => id.and_then(|id| self.server.associations.get_mut(&id)),
        };
        let association = association.expect("an association");
        self.wire.lend(now, |cx, _| association.send(cx, message)).expect("room for a message");
        self.settle(now, client, id);
    }

    /// Shuts the association of this client down, gracefully.
    ///
    /// # Panics
    ///
    /// If there is none, or its end is not reached at both sides.
    pub fn shutdown(&mut self, now: Instant, client: usize) {
        let association = self.clients[client].associations.values_mut().next();
        let association = association.expect("an association");
        self.wire.lend(now, |cx, _| association.shutdown(cx));
        self.settle(now, client, None);
        assert!(self.clients[client].associations.is_empty() && self.server_id(client).is_none());
    }

    /// Handles the timers of this client's association, and of the server's with it, that are due.
    pub fn handle_timeouts(&mut self, now: Instant, client: usize) {
        let id = self.server_id(client);
        let far = id.and_then(|id| self.server.associations.get_mut(&id));
        for association in self.clients[client].associations.values_mut().chain(far) {
            if association.poll_timeout().is_some_and(|due| due <= now) {
                self.wire.lend(now, |cx, _| association.handle_timeout(cx));
            }
        }
        self.settle(now, client, id);
    }

    /// The association of this client.
    ///
    /// # Panics
    ///
    /// If it has none.
    pub fn association(&self, client: usize) -> &Association {
        self.clients[client].associations.values().next().expect("an association")
    }

    /// The server's associations.
    pub fn server_associations(&self) -> impl Iterator<Item = &Association> {
        self.server.associations.values().map(AsRef::as_ref)
    }

    /// Messages that either side has read.
    pub fn received_messages(&self) -> u64 {
        self.wire.received_messages
    }

    /// Forgets the associations of the clients, their endpoints or the server, without a word to their peers.
    pub fn forget(&mut self, part: Part) {
        match part {
            Part::ClientAssociations => {
                self.clients.iter_mut().for_each(|end| end.associations = BTreeMap::new());
            }
            Part::Clients => self.clients = Vec::new(),
            Part::Server => {
                let (config, addresses) = (EndpointConfig::default(), [IpAddr::from([10; 4])]);
                self.server = End::new(config, &addresses, &mut self.wire);
            }
        }
    }

    /// The server's name for the association with this client.
    fn server_id(&self, client: usize) -> Option<AssociationId> {
        let address = *self.clients[client].endpoint.local_addresses().first()?;
        let peer = PeerAddress { address, encapsulation: Encapsulation::None };
        self.server.endpoint.association_with([PORT; 2], peer)
    }

    /// Hands packets back and forth between a client and the server, whose association with it is `far`, if it has something
    /// to say, until both are silent.
    fn settle(&mut self, now: Instant, client: usize, mut far: Option<AssociationId>) {
        let Self { server, clients, wire, .. } = self;
        let client = &mut clients[client];
        let Some(&id) = client.associations.keys().next() else { return };
        loop {
            client.deliver(now, id, server, wire);
            let Some(far) = server.touched.take().or(far.take()) else { return };
            server.deliver(now, far, client, wire);
            if client.touched.take().is_none() {
                return;
            }
        }
    }
}

/// What a [`Crowd`] can forget.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Part {
    /// The clients' associations.
    ClientAssociations,
    /// The clients.
    Clients,
    /// The server's endpoint and associations.
    Server,
}

impl End {
    fn new(config: EndpointConfig, addresses: &[IpAddr], wire: &mut Wire) -> Self {
        let endpoint = wire.lend(Instant::ZERO, |cx, _| Endpoint::new(config, PORT, addresses, cx));
        Self { endpoint, associations: BTreeMap::new(), touched: None }
    }

    /// Hands everything that association `id` has for `to` over.
    fn deliver(&mut self, now: Instant, id: AssociationId, to: &mut Self, wire: &mut Wire) {
        while let Some(association) = self.associations.get_mut(&id)
            && let Some(envelope) =
                wire.lend(now, |cx, packet| association.poll_transmit_into(cx, packet))
        {
            if let Some(answer) = to.receive(now, envelope.local, envelope.remote, wire) {
                wire.packet = answer.packet;
                self.receive(now, answer.local, answer.remote, wire);
            }
        }
        self.follow_up(id);
    }

    /// Handles the packet in `wire`; gives the answer to one that belongs to no association.
    fn receive(
        &mut self,
        now: Instant,
        from: IpAddr,
        to: IpAddr,
        wire: &mut Wire,
    ) -> Option<Box<Transmit>> {
        let Wire { rng, packet, bytes, received_messages } = wire;
        let len = packet.encode_into(bytes, Checksum::Crc32c).expect("it fits");
        let received = Received {
            local: to,
            remote: from,
            encapsulation: Encapsulation::None,
            ecn: Ecn::NotEct,
            body: Body::Datagram(&bytes[..len]),
        };
        let mut cx = Cx { now, rng, probe: &mut NoProbe };
        match self.endpoint.handle(&mut cx, &received) {
            Route::Association(id) => {
                let association = self.associations.get_mut(&id)?;
                self.touched = Some(id);
                association.handle(&mut cx, &received);
                while association.receive(&mut cx).is_some() {
                    *received_messages += 1;
                }
            }
            Route::New(id, association) => {
                self.touched = Some(id);
                self.associations.insert(id, association);
            }
            Route::Reply(transmit) => return Some(transmit),
            _ => {}
        }
        None
    }

    /// Hears what happened to an association, and forgets it if it has ended.
    fn follow_up(&mut self, id: AssociationId) {
        let Some(association) = self.associations.get_mut(&id) else { return };
        while association.poll_event().is_some() {}
        while let Some(notice) = association.poll_notice() {
            self.endpoint.on_notice(id, notice);
        }
        if association.is_closed() {
            self.associations.remove(&id);
        }
    }
}

impl Wire {
    /// Lends a call what it needs, and memory for a packet.
    fn lend<R>(
        &mut self,
        now: Instant,
        call: impl FnOnce(&mut Cx<'_>, &mut Packet<'static>) -> R,
    ) -> R {
        let Self { rng, packet, .. } = self;
        call(&mut Cx { now, rng, probe: &mut NoProbe }, packet)
    }
}

fn server_addresses(paths: u8) -> Vec<IpAddr> {
    (0..paths).map(|path| IpAddr::from([10, 128 + path, 0, 1])).collect()
}
