//! Two hosts and the paths between them, in virtual time.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::net::IpAddr;

use polypath_proto::config::{AssociationConfig, EndpointConfig};
use polypath_proto::{
    Duration, Ecn, Event, Instant, OutgoingMessage, PathChange, SendError, Transmit,
};
use polypath_wire::{Chunk, Packet};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::host::{Arrival, ArrivalBody, Host, Slot};
use crate::network::{Direction, Form, PathModel, address, locate};

const PORT: u16 = 5001;

/// The side that connects, or the side that listens.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Side {
    /// Connects.
    Client,
    /// Listens.
    Server,
}

/// How a [`Pair`] is set up.
#[derive(Clone, Debug)]
pub struct PairConfig {
    /// One entry per path.
    pub paths: Vec<PathModel>,
    /// Configuration of the client's association.
    pub client: AssociationConfig,
    /// Configuration of the server's associations.
    pub server: AssociationConfig,
    /// Seed of everything random.
    pub seed: u64,
    /// Whether packets travel encoded.
    pub form: Form,
    /// Granularity of the clocks of both hosts; zero: as exact as the network's.
    pub tick: Duration,
}

impl PairConfig {
    /// `paths` paths of 10 ms and no rate limit, both sides with `config`.
    pub fn new(paths: usize, config: AssociationConfig) -> Self {
        Self {
            paths: vec![PathModel::default(); paths],
            client: config.clone(),
            server: config,
            seed: 1,
            form: Form::Structured,
            tick: Duration::ZERO,
        }
    }
}

/// Two hosts in virtual time.
#[derive(Debug)]
pub struct Pair {
    /// The present.
    pub now: Instant,
    /// Client and server.
    pub hosts: [Host; 2],
    /// The paths; may be changed while the pair runs.
    pub paths: Vec<PathModel>,
    /// Packets sent so far, per path, both directions.
    pub packets: Vec<u64>,
    /// Packets of handshakes that faults of the paths have lost or damaged, both directions.
    pub handshake_losses: u32,
    config: PairConfig,
    directions: Vec<[Direction; 2]>,
    heap: BinaryHeap<Reverse<(Instant, u64)>>,
    in_flight: BTreeMap<u64, (usize, Arrival)>,
    sequence: u64,
    rng: Xoshiro256PlusPlus,
}

impl Pair {
    /// Two hosts, not yet connected.
    pub fn new(config: PairConfig) -> Self {
        // A tick, so that the clocks of the hosts do not show less than when their endpoints were made.
        let now = Instant::from_nanos(config.tick.as_nanos().max(1_000_000));
        let addresses =
            |side| (0..config.paths.len()).map(|path| address(side, path)).collect::<Vec<_>>();
        let client =
            EndpointConfig { association: config.client.clone(), ..EndpointConfig::default() };
        let server = EndpointConfig {
            listening: true,
            association: config.server.clone(),
            ..EndpointConfig::default()
        };
        let mut hosts = [
            Host::new(config.seed.wrapping_mul(2), client, 4000, &addresses(0), now),
            Host::new(config.seed.wrapping_mul(2) + 1, server, PORT, &addresses(1), now),
        ];
        hosts.iter_mut().for_each(|host| host.tick = config.tick);
        Self {
            now,
            hosts,
            paths: config.paths.clone(),
            packets: vec![0; config.paths.len()],
            handshake_losses: 0,
            directions: vec![[Direction::default(); 2]; config.paths.len()],
            heap: BinaryHeap::new(),
            in_flight: BTreeMap::new(),
            sequence: 0,
            rng: Xoshiro256PlusPlus::seed_from_u64(config.seed ^ 0x5eed),
            config,
        }
    }

    /// Two hosts with an established association: the slot 0 of both.
    ///
    /// # Panics
    ///
    /// If the handshake takes longer than a virtual minute.
    pub fn connected(config: PairConfig) -> Self {
        let mut pair = Self::new(config);
        pair.connect();
        assert!(
            pair.run_until(Duration::from_secs(60), Self::is_connected),
            "the handshake failed: {:?}",
            pair.hosts[0].slots[0].events
        );
        pair
    }

    /// Begins an association to all addresses of the server.
    pub fn connect(&mut self) -> usize {
        let peer = self.addresses(Side::Server);
        let config = self.config.client.clone();
        let slot =
            self.hosts[0].connect(self.now, config, PORT, &peer).expect("the pair has paths");
        self.collect();
        slot
    }

    /// Addresses of a side.
    pub fn addresses(&self, side: Side) -> Vec<IpAddr> {
        (0..self.paths.len()).map(|path| address(side as usize, path)).collect()
    }

    /// Whether the latest association of both sides is established.
    pub fn is_connected(&self) -> bool {
        self.hosts
            .iter()
            .all(|host| host.slots.last().is_some_and(|slot| slot.association.is_established()))
    }

    /// The latest association of a side.
    ///
    /// # Panics
    ///
    /// If there is none.
    pub fn slot(&self, side: Side) -> &Slot {
        self.hosts[side as usize].slots.last().expect("an association")
    }

    /// Sends a message on the latest association of `side`.
    ///
    /// # Errors
    ///
    /// As [`polypath_proto::Association::send`].
    pub fn send(&mut self, side: Side, message: OutgoingMessage) -> Result<(), SendError> {
        let slot = self.hosts[side as usize].slots.len() - 1;
        let result = self.hosts[side as usize].send(self.now, slot, message);
        self.collect();
        result
    }

    /// Shuts down the latest association of `side`.
    pub fn shutdown(&mut self, side: Side) {
        let slot = self.hosts[side as usize].slots.len() - 1;
        self.hosts[side as usize].shutdown(self.now, slot);
        self.collect();
    }

    /// Aborts the latest association of `side`.
    pub fn abort(&mut self, side: Side, reason: &'static str) {
        let slot = self.hosts[side as usize].slots.len() - 1;
        self.hosts[side as usize].abort(self.now, slot, reason);
        self.collect();
    }

    /// Reads everything that waits at `side`.
    pub fn read(&mut self, side: Side) {
        let slot = self.hosts[side as usize].slots.len() - 1;
        self.hosts[side as usize].read(self.now, slot);
        self.collect();
    }

    /// Injects a packet as if it had arrived at `side` now.
    pub fn inject(&mut self, side: Side, local: IpAddr, remote: IpAddr, packet: &Packet<'_>) {
        let body = ArrivalBody::Structured(Box::new(packet.to_owned()));
        self.arrive(side as usize, Arrival { local, remote, ecn: Ecn::NotEct, body });
    }

    /// Whether all paths beyond the first are confirmed on both sides.
    pub fn all_confirmed(&self) -> bool {
        let confirmed = |slot: &Slot| {
            slot.association
                .path_stats()
                .iter()
                .all(|path| path.status == polypath_proto::PathStatus::Active)
        };
        self.is_connected()
            && self.hosts.iter().all(|host| host.slots.last().is_some_and(confirmed))
    }

    /// Runs until `done` or until nothing happens any more, at most `limit` of virtual time. Says whether `done`.
    pub fn run_until(&mut self, limit: Duration, done: impl Fn(&Self) -> bool) -> bool {
        let end = self.now + limit;
        while !done(self) {
            if !self.step(end) {
                return done(self);
            }
        }
        true
    }

    /// Runs for `span` of virtual time.
    pub fn run_for(&mut self, span: Duration) {
        let end = self.now + span;
        while self.step(end) {}
        self.now = end;
    }

    /// Handles the next event before `end`. Says whether there was one.
    pub fn step(&mut self, end: Instant) -> bool {
        let arrival = self.heap.peek().map(|Reverse((at, _))| *at);
        let timer = self.hosts.iter().filter_map(Host::next_timeout).min();
        let next = match (arrival, timer) {
            (Some(a), Some(t)) => a.min(t),
            (Some(at), None) | (None, Some(at)) => at,
            (None, None) => return false,
        };
        if next > end {
            return false;
        }
        self.now = self.now.max(next);
        if arrival == Some(next) {
            let Some(Reverse((_, id))) = self.heap.pop() else { return false };
            if let Some((side, arrival)) = self.in_flight.remove(&id) {
                self.arrive(side, arrival);
            }
        } else {
            for host in &mut self.hosts {
                host.handle_timeout(self.now);
            }
            self.collect();
        }
        true
    }

    fn arrive(&mut self, side: usize, arrival: Arrival) {
        let (host, now) = (&mut self.hosts[side], self.now);
        arrival.with(|received| host.receive(now, received));
        self.collect();
    }

    fn collect(&mut self) {
        for side in 0..2 {
            for transmit in self.hosts[side].take_output() {
                self.launch(side, transmit);
            }
        }
    }

    fn launch(&mut self, side: usize, transmit: Transmit) {
        // A packet reaches the peer if both addresses belong to the same network.
        let (Some((_, from)), Some((to_side, to))) =
            (locate(transmit.local), locate(transmit.remote))
        else {
            return;
        };
        if from != to || to_side == side || to >= self.paths.len() {
            return;
        }
        self.packets[to] += 1;
        let len = transmit.packet.encoded_len() + 20;
        if !self.paths[to].carries(len, transmit.fragmentation) {
            return;
        }
        let Some(ecn) = self.paths[to].capable.pass(transmit.ecn, &mut self.rng) else { return };
        let fate =
            self.directions[to][side].send(&self.paths[to], side, self.now, len, &mut self.rng);
        let is_lost = fate.damaged || fate.arrivals[0].is_none();
        self.handshake_losses += u32::from(is_lost && is_of_handshake(&transmit.packet));
        let body = match self.config.form {
            Form::Structured if fate.damaged => ArrivalBody::Damaged(Box::new(transmit.packet)),
            Form::Structured => ArrivalBody::Structured(Box::new(transmit.packet)),
            Form::Encoded => {
                let mut bytes = Vec::new();
                transmit
                    .packet
                    .append_to(&mut bytes, transmit.checksum)
                    .expect("our packets can be encoded");
                if fate.damaged {
                    let bit = self.rng.next_u32() as usize % (bytes.len() * 8);
                    bytes[bit / 8] ^= 1 << (bit % 8);
                }
                ArrivalBody::Encoded(bytes)
            }
        };
        for at in fate.arrivals.into_iter().flatten() {
            let (local, remote) = (transmit.remote, transmit.local);
            let arrival = Arrival { local, remote, ecn, body: body.clone() };
            self.sequence += 1;
            self.heap.push(Reverse((at, self.sequence)));
            self.in_flight.insert(self.sequence, (1 - side, arrival));
        }
    }

    /// Paths whose state changed to `change`, in order, as the user of `side` saw it.
    pub fn path_changes(&self, side: Side, change: PathChange) -> Vec<u8> {
        self.slot(side)
            .events
            .iter()
            .filter_map(|event| match event {
                Event::Path { path, change: c } if *c == change => Some(path.0),
                _ => None,
            })
            .collect()
    }
}

fn is_of_handshake(packet: &Packet<'_>) -> bool {
    let is_part = |chunk: &Chunk<'_>| {
        matches!(
            chunk,
            Chunk::Init(_) | Chunk::InitAck(_) | Chunk::CookieEcho(_) | Chunk::CookieAck
        )
    };
    packet.chunks.iter().any(is_part)
}
