//! Address translators between whole stacks, over UDP: a port for each address that a host talks to, mappings that are
//! forgotten, addresses that change, uplinks that each have a translator. What no mapping takes is rejected with ICMP.

mod common;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::net::IpAddr;

use common::{message, millis, secs};
use polypath_proto::config::{AddressJoin, AssociationConfig, EndpointConfig, Preset};
use polypath_proto::{
    Body, Duration, Ecn, Encapsulation, Event, Instant, LocalAddressChange, OutgoingMessage,
    PathId, PathStats, PathStatus, PeerAddress, Received, Transmit,
};
use polypath_testkit::Host;
use polypath_wire::{Chunk, Packet, Parameter, Parameters};

const CLIENT_PORT: u16 = 4000;
const SERVER_PORT: u16 = 5001;
const UDP_PORT: u16 = 9899;
const DELAY: Duration = Duration::from_millis(10);
/// Time that a packet takes on an uplink.
const PER_PACKET: Duration = Duration::from_micros(600);
const MESSAGE_BYTES: u32 = 1400;

fn server_address(number: usize) -> IpAddr {
    IpAddr::from([198, 51, 100, number as u8 + 1])
}

fn private(uplink: usize) -> IpAddr {
    IpAddr::from([10, 0, uplink as u8, 2])
}

fn public(uplink: usize) -> IpAddr {
    IpAddr::from([203, 0, 113, uplink as u8 + 1])
}

/// What stands between an uplink of the client and the world.
#[derive(Debug)]
struct Translator {
    public: IpAddr,
    /// Its port for a private address and port, and the address that these send to.
    ports: BTreeMap<(IpAddr, u16, IpAddr), u16>,
    next_port: u16,
    /// Whether it says by ICMP what it does not take.
    rejects: bool,
}

impl Translator {
    fn outwards(&mut self, from: (IpAddr, u16), to: IpAddr) -> u16 {
        let next = &mut self.next_port;
        *self.ports.entry((from.0, from.1, to)).or_insert_with(|| {
            *next += 1;
            *next
        })
    }

    fn inwards(&self, from: IpAddr, port: u16) -> Option<(IpAddr, u16)> {
        let known = self.ports.iter().find(|(key, known)| **known == port && key.2 == from);
        known.map(|((address, port, _), _)| (*address, *port))
    }
}

/// A packet on its way, with what it looks like where it arrives.
#[derive(Debug)]
struct Arrival {
    local: IpAddr,
    remote: IpAddr,
    encapsulation: Encapsulation,
    packet: Packet<'static>,
}

/// A client with uplinks, a translator at each, and a server.
struct World {
    now: Instant,
    hosts: [Host; 2],
    config: AssociationConfig,
    /// Messages of each side that have no room yet.
    waiting: [u64; 2],
    translators: Vec<Translator>,
    /// Translator of each uplink.
    of_uplink: Vec<usize>,
    free_at: Vec<[Instant; 2]>,
    heap: BinaryHeap<Reverse<(Instant, u64)>>,
    arrivals: BTreeMap<u64, (usize, Arrival)>,
    sequence: u64,
    /// What the server sent to addresses that no translator has: packets and bytes.
    strayed: (u64, usize),
}

fn recommended() -> AssociationConfig {
    AssociationConfig::with_preset(Preset::Recommended)
}

impl World {
    fn new(uplinks: usize, servers: usize, configs: [AssociationConfig; 2]) -> Self {
        let now = Instant::from_nanos(1_000_000);
        let client: Vec<IpAddr> = (0..uplinks).map(private).collect();
        let server: Vec<IpAddr> = (0..servers).map(server_address).collect();
        let [config, of_server] = configs;
        let endpoint = |listening, association| EndpointConfig {
            listening,
            association,
            ..EndpointConfig::default()
        };
        let hosts = [
            Host::new(1, endpoint(false, config.clone()), CLIENT_PORT, &client, now),
            Host::new(2, endpoint(true, of_server), SERVER_PORT, &server, now),
        ];
        let translator = |uplink| Translator {
            public: public(uplink),
            ports: BTreeMap::new(),
            next_port: 20_000 + 1000 * uplink as u16,
            rejects: true,
        };
        Self {
            now,
            hosts,
            config,
            waiting: [0; 2],
            translators: (0..uplinks).map(translator).collect(),
            of_uplink: (0..uplinks).collect(),
            free_at: vec![[now; 2]; uplinks],
            heap: BinaryHeap::new(),
            arrivals: BTreeMap::new(),
            sequence: 0,
            strayed: (0, 0),
        }
    }

    /// The same, connected to all addresses of the server.
    fn connected(uplinks: usize, servers: usize) -> Self {
        let mut world = Self::new(uplinks, servers, [recommended(), recommended()]);
        world.connect(servers);
        world
    }

    fn connect(&mut self, servers: usize) {
        let encapsulation = Encapsulation::Udp { local_port: UDP_PORT, remote_port: UDP_PORT };
        let peer: Vec<PeerAddress> = (0..servers)
            .map(|number| PeerAddress { address: server_address(number), encapsulation })
            .collect();
        let (now, config) = (self.now, self.config.clone());
        self.hosts[CLIENT].connect_over(now, config, SERVER_PORT, &peer).unwrap();
        self.collect();
        self.run_for(secs(2));
        assert!(self.hosts.iter().all(|host| host.slots[0].association.is_established()));
    }

    fn send(&mut self, side: usize, count: u64) {
        self.waiting[side] += count;
        self.hand_over();
        self.collect();
    }

    fn request_heartbeat(&mut self, side: usize, path: usize) {
        self.hosts[side].command(self.now, 0, |association, cx| {
            association.request_heartbeat(cx, PathId(path as u8)).unwrap();
        });
        self.hosts[side].settle(self.now, 0);
        self.collect();
    }

    /// Hands over what the send buffers take.
    fn hand_over(&mut self) {
        for side in [CLIENT, SERVER] {
            while self.waiting[side] > 0 {
                let message = message(self.waiting[side], MESSAGE_BYTES);
                if self.hosts[side].send(self.now, 0, message).is_err() {
                    break;
                }
                self.waiting[side] -= 1;
            }
        }
    }

    fn paths(&self, side: usize) -> Vec<PathStats> {
        self.hosts[side].slots[0].association.path_stats()
    }

    /// Paths that work, as a side sees them.
    fn working(&self, side: usize) -> Vec<PathStats> {
        let mut paths = self.paths(side);
        paths.retain(|path| path.status == PathStatus::Active);
        paths
    }

    fn arrived(&self, side: usize) -> usize {
        self.hosts[side].slots[0].messages.len()
    }

    /// Runs until so many messages have arrived in all. Says how long that took.
    fn run_until(&mut self, side: usize, count: usize, limit: Duration) -> Duration {
        let begin = self.now;
        while self.arrived(side) < count {
            let arrived = self.arrived(side);
            assert!(self.step(begin + limit), "{arrived} of {count}: {:?}", self.paths(1 - side));
            self.assert_alive();
        }
        self.now.since(begin)
    }

    fn run_for(&mut self, span: Duration) {
        let end = self.now + span;
        while self.step(end) {}
        self.now = end;
    }

    fn assert_alive(&self) {
        for host in &self.hosts {
            let ended = |event: &&Event| matches!(event, Event::Ended(_));
            let end = host.slots.first().and_then(|slot| slot.events.iter().find(ended));
            assert!(end.is_none(), "{end:?}");
        }
    }

    /// Handles the next event before `end`. Says whether there was one.
    fn step(&mut self, end: Instant) -> bool {
        let arrival = self.heap.peek().map(|Reverse((at, _))| *at);
        let timer = self.hosts.iter().filter_map(Host::next_timeout).min();
        let Some(next) = arrival.into_iter().chain(timer).min().filter(|next| *next <= end) else {
            return false;
        };
        self.now = self.now.max(next);
        if arrival == Some(next) {
            let Some(Reverse((_, id))) = self.heap.pop() else { return false };
            if let Some((side, arrival)) = self.arrivals.remove(&id) {
                self.arrive(side, &arrival);
            }
        } else {
            self.hosts.iter_mut().for_each(|host| host.handle_timeout(self.now));
        }
        self.hand_over();
        self.collect();
        true
    }

    fn arrive(&mut self, side: usize, arrival: &Arrival) {
        let Arrival { local, remote, encapsulation, ref packet } = *arrival;
        let body = Body::Structured(packet);
        let received = Received { local, remote, encapsulation, ecn: Ecn::NotEct, body };
        self.hosts[side].receive(self.now, &received);
    }

    fn collect(&mut self) {
        for side in [CLIENT, SERVER] {
            for transmit in self.hosts[side].take_output() {
                match side {
                    CLIENT => self.leave(transmit),
                    _ => self.return_to_client(transmit),
                }
            }
        }
    }

    /// From the client through the translator of its uplink.
    fn leave(&mut self, transmit: Transmit) {
        let Some(uplink) = (0..self.of_uplink.len()).find(|at| private(*at) == transmit.local)
        else {
            return;
        };
        let Encapsulation::Udp { local_port, remote_port } = transmit.encapsulation else {
            return;
        };
        let translator = &mut self.translators[self.of_uplink[uplink]];
        let port = translator.outwards((transmit.local, local_port), transmit.remote);
        let arrival = Arrival {
            local: transmit.remote,
            remote: translator.public,
            encapsulation: Encapsulation::Udp { local_port: remote_port, remote_port: port },
            packet: transmit.packet,
        };
        self.carry(uplink, SERVER, arrival);
    }

    /// From the server to a translator, which knows whose it is or rejects it.
    fn return_to_client(&mut self, transmit: Transmit) {
        let Encapsulation::Udp { local_port, remote_port } = transmit.encapsulation else {
            return;
        };
        let at = self.translators.iter().position(|it| it.public == transmit.remote);
        let Some(translator) = at.map(|at| &self.translators[at]) else {
            self.strayed.0 += 1;
            self.strayed.1 += transmit.packet.encoded_len();
            return;
        };
        let Some((address, port)) = translator.inwards(transmit.local, remote_port) else {
            if translator.rejects {
                self.reject(&transmit);
            }
            return;
        };
        let uplink = (0..self.of_uplink.len()).find(|at| private(*at) == address).unwrap();
        let arrival = Arrival {
            local: address,
            remote: transmit.local,
            encapsulation: Encapsulation::Udp { local_port: port, remote_port: local_port },
            packet: transmit.packet,
        };
        self.carry(uplink, CLIENT, arrival);
    }

    /// ICMP "port unreachable" for the server.
    fn reject(&mut self, transmit: &Transmit) {
        let packet = &transmit.packet;
        let ports = [packet.source_port.to_be_bytes(), packet.destination_port.to_be_bytes()];
        let quoted = [&ports.concat()[..], &packet.verification_tag.to_be_bytes()].concat();
        let Some(path) = transmit.path else { return };
        self.hosts[SERVER].command(self.now, 0, |association, cx| {
            association.handle_protocol_unreachable(cx, path, transmit.encapsulation, &quoted);
        });
        self.hosts[SERVER].settle(self.now, 0);
    }

    fn carry(&mut self, uplink: usize, to: usize, arrival: Arrival) {
        let free_at = &mut self.free_at[uplink][to];
        let begins = (*free_at).max(self.now);
        // The queue of an uplink.
        if begins.since(self.now) > millis(60) {
            return;
        }
        *free_at = begins + PER_PACKET;
        let at = *free_at + DELAY;
        self.sequence += 1;
        self.heap.push(Reverse((at, self.sequence)));
        self.arrivals.insert(self.sequence, (to, arrival));
    }

    /// The translators forget all they know.
    fn flush(&mut self) {
        for translator in &mut self.translators {
            translator.ports.clear();
            // As with random ports.
            translator.next_port += 100;
        }
    }
}

const CLIENT: usize = 0;
const SERVER: usize = 1;
/// Messages of a transfer: seconds on one uplink.
const MANY: u64 = 6000;

/// Bytes of user data that each path has sent.
fn sent_bytes(paths: &[PathStats]) -> Vec<u64> {
    paths.iter().map(|path| path.data_bytes_sent).collect()
}

#[test]
fn a_server_with_two_addresses_behind_one_translator() {
    for rejects in [true, false] {
        let mut world = World::new(1, 2, [recommended(), recommended()]);
        world.translators[0].rejects = rejects;
        world.connect(2);
        for (from, to) in [(CLIENT, SERVER), (SERVER, CLIENT)] {
            assert_eq!(world.working(from).len(), 2, "{:?}", world.paths(from));
            world.send(from, MANY);
            world.run_until(to, MANY as usize, secs(20));
            let sent = sent_bytes(&world.paths(from));
            assert!(sent.iter().all(|sent| *sent > 0), "{sent:?}");
        }
        let timeouts: u64 = world.paths(SERVER).iter().map(|path| path.timeouts).sum();
        assert_eq!(timeouts, 0);
    }
}

/// Both directions, one path and two, a host behind its translator that sends, and one that only receives.
#[test]
fn a_translator_forgets_its_ports_in_mid_transfer() {
    for (uplinks, servers) in [(1, 1), (1, 2), (2, 2), (2, 1)] {
        for (from, to) in [(CLIENT, SERVER), (SERVER, CLIENT)] {
            let mut world = World::connected(uplinks, servers);
            let works = world.working(from).len();
            assert_eq!(works, uplinks.max(servers));
            world.send(from, MANY);
            for round in 1..4 {
                world.run_until(to, 1000 * round, secs(20));
                world.flush();
            }
            let took = world.run_until(to, MANY as usize, secs(20));
            assert!(took < secs(6), "{uplinks} uplinks: {took:?}");
            world.run_for(secs(5));
            assert_eq!(world.working(from).len(), works, "{:?}", world.paths(from));
        }
    }
}

/// Who only receives probes the silent path in vain at first: the port of the probe is forgotten before its answer comes.
#[test]
fn a_translator_forgets_the_port_of_the_probe_as_well() {
    for preset in [Preset::Recommended, Preset::Rfc9260] {
        for (servers, asks) in [(1, false), (2, false), (1, true), (2, true)] {
            let config = AssociationConfig::with_preset(preset);
            let mut world = World::new(1, servers, [config.clone(), config]);
            world.connect(servers);
            world.send(SERVER, MANY);
            world.run_until(CLIENT, 800, secs(20));
            // Whatever else is sent and asked meanwhile.
            if asks {
                world.send(CLIENT, 1);
                world.run_until(SERVER, 1, secs(1));
            }
            for path in (0..servers).filter(|_| asks) {
                world.request_heartbeat(CLIENT, path);
            }
            world.run_until(CLIENT, 1000, secs(20));
            let heartbeats = |world: &World| -> u64 {
                world.paths(CLIENT).iter().map(|path| path.heartbeats_sent).sum()
            };
            let (before, end) = (heartbeats(&world), world.now + millis(1200));
            while world.step(end) {
                world.flush();
            }
            world.assert_alive();
            assert!(heartbeats(&world) > before, "{preset:?}");
            world.run_until(CLIENT, MANY as usize, secs(20));
        }
    }
}

#[test]
fn uplinks_with_a_translator_each_carry_together() {
    for servers in [2, 1] {
        for (from, to) in [(CLIENT, SERVER), (SERVER, CLIENT)] {
            let mut alone = World::connected(1, 1);
            alone.send(from, MANY);
            let alone = alone.run_until(to, MANY as usize, secs(20));
            let mut world = World::connected(2, servers);
            assert_eq!(world.working(from).len(), 2, "{:?}", world.paths(from));
            world.send(from, MANY);
            let both = world.run_until(to, MANY as usize, secs(20));
            assert!(both * 5 < alone * 3, "{servers} addresses: {both:?} of {alone:?}");
            let remote: Vec<_> = world.working(SERVER).iter().map(|path| path.remote).collect();
            assert_eq!(remote, [public(0), public(1)]);
        }
    }
}

/// Two interfaces in one network, behind a router with one public address: the ports alone differ.
#[test]
fn two_addresses_behind_one_public_address() {
    for (from, to) in [(CLIENT, SERVER), (SERVER, CLIENT)] {
        let mut world = World::new(2, 1, [recommended(), recommended()]);
        world.of_uplink = vec![0, 0];
        world.connect(1);
        world.send(from, MANY);
        world.run_until(to, MANY as usize, secs(20));
        let sent = sent_bytes(&world.working(from));
        let total: u64 = sent.iter().sum();
        assert!(sent.len() == 2 && sent.iter().all(|sent| *sent * 4 > total), "{sent:?}");
    }
}

#[test]
fn a_public_address_changes_in_mid_transfer() {
    for uplinks in [1, 2] {
        for (from, to) in [(CLIENT, SERVER), (SERVER, CLIENT)] {
            let mut world = World::connected(uplinks, 1);
            world.send(from, MANY);
            world.run_until(to, 1500, secs(20));
            world.translators[0].public = public(7);
            world.flush();
            let took = world.run_until(to, MANY as usize, secs(20));
            assert!(took < secs(8), "{uplinks} uplinks: {took:?}");
            world.run_for(secs(5));
            let working = world.working(SERVER);
            assert_eq!(working.len(), uplinks, "{:?}", world.paths(SERVER));
            assert!(working.iter().any(|path| path.remote == public(7)));
            assert!(world.strayed.0 > 0, "the old address is nobody's");
            // And what was left is no longer the peer's: another client may be there.
            assert!(working.iter().all(|path| path.remote != public(0)));
        }
    }
}

#[test]
fn without_the_other_side_there_is_no_join() {
    let off = AssociationConfig { address_join: AddressJoin::Off, ..recommended() };
    for configs in [[off.clone(), recommended()], [recommended(), off]] {
        let mut world = World::new(2, 2, configs);
        world.connect(2);
        world.send(CLIENT, MANY);
        world.run_until(SERVER, MANY as usize, secs(30));
        assert!(world.paths(SERVER).iter().all(|path| path.remote != public(1)));
    }
}

/// A client behind translators, and the packets that it sends from its second uplink.
fn copy_of_second_uplink() -> (World, Vec<Packet<'static>>) {
    let mut world = World::new(2, 1, [recommended(), recommended()]);
    // What it sends there is seen and goes astray.
    world.of_uplink = vec![0];
    world.connect(1);
    assert_eq!(world.working(SERVER).len(), 1);
    let mut copies = Vec::new();
    world.run_for(millis(1));
    while copies.is_empty() {
        let due = world.hosts[CLIENT].next_timeout().unwrap();
        world.now = world.now.max(due);
        world.hosts[CLIENT].handle_timeout(world.now);
        for transmit in world.hosts[CLIENT].take_output() {
            if transmit.local == private(1) {
                copies.push(transmit.packet);
            } else {
                world.leave(transmit);
            }
        }
    }
    (world, copies)
}

fn from_nowhere(packet: &Packet<'static>, last: u8) -> Arrival {
    Arrival {
        local: server_address(0),
        remote: IpAddr::from([192, 0, 2, last]),
        encapsulation: Encapsulation::Udp { local_port: UDP_PORT, remote_port: 1 },
        packet: packet.clone(),
    }
}

/// What goes to an address that has not answered is no more than came from there, and at most three packets.
#[test]
fn an_address_that_does_not_answer_gets_little() {
    let (mut world, copies) = copy_of_second_uplink();
    let proof = copies
        .iter()
        .find(|packet| packet.chunks.iter().any(|chunk| matches!(chunk, Chunk::Heartbeat(_))));
    let proof = proof.unwrap().clone();
    let before = world.strayed;
    world.arrive(SERVER, &from_nowhere(&proof, 1));
    world.collect();
    let (packets, bytes) = (world.strayed.0 - before.0, world.strayed.1 - before.1);
    assert_eq!(packets, 1);
    assert!(bytes <= proof.encoded_len(), "{bytes} for {}", proof.encoded_len());
    // The proof counts once, so that whoever has seen it gains nothing.
    world.arrive(SERVER, &from_nowhere(&proof, 2));
    world.collect();
    assert_eq!(world.strayed.0, before.0 + 1);
    // Nor does anything else that comes from there afterwards.
    let tag = proof.verification_tag;
    for _ in 0..100 {
        world.now += secs(1);
        let info = Parameters::build([Parameter::HeartbeatInfo(b"who is there?")]);
        let chunks = [Chunk::Heartbeat(info)].into_iter().collect();
        let packet = Packet { verification_tag: tag, chunks, ..proof.clone() };
        for last in [1, 2] {
            world.arrive(SERVER, &from_nowhere(&packet, last));
        }
        world.collect();
    }
    assert_eq!(world.strayed.0, before.0 + 1);
    assert_eq!(world.working(SERVER).len(), 1);
}

/// Data that is sent right after the proof need not wait for the answer.
#[test]
fn data_may_follow_a_proof_at_once() {
    let (mut world, copies) = copy_of_second_uplink();
    let proof = &copies[0];
    world.hosts[CLIENT].send(world.now, 0, OutgoingMessage::new(0, vec![7; 100])).unwrap();
    let data = world.hosts[CLIENT].take_output().remove(0).packet;
    world.arrive(SERVER, &from_nowhere(&data, 1));
    assert_eq!(world.arrived(SERVER), 0);
    world.arrive(SERVER, &from_nowhere(proof, 1));
    world.arrive(SERVER, &from_nowhere(&data, 1));
    assert_eq!(world.arrived(SERVER), 1);
}

/// The addresses that INIT lists from behind translators lead nowhere: they are asked some times, and then no more.
#[test]
fn private_addresses_are_given_up() {
    let off = AssociationConfig { address_join: AddressJoin::Off, ..recommended() };
    let mut world = World::new(3, 1, [off, recommended()]);
    world.connect(1);
    let asked = |world: &World| -> Vec<u64> {
        let paths = world.paths(SERVER);
        let private = paths.iter().filter(|path| path.status == PathStatus::Inactive);
        private.map(|path| path.heartbeats_sent).collect()
    };
    world.run_for(secs(300));
    let before = asked(&world);
    assert!(before.len() >= 2 && before.iter().all(|sent| *sent <= 7), "{before:?}");
    world.send(CLIENT, 100);
    world.run_for(secs(3000));
    assert_eq!((asked(&world), world.arrived(SERVER)), (before, 100));
    world.assert_alive();
}

/// With join, no more paths are there than uplinks: what INIT listed becomes what is seen of it.
#[test]
fn what_init_listed_becomes_what_is_seen_of_it() {
    let world = World::connected(3, 1);
    let paths: Vec<_> = world.working(SERVER).iter().map(|path| path.remote).collect();
    assert_eq!(paths.len(), 3, "{paths:?}");
    assert!(world.paths(SERVER).len() <= 4, "{:?}", world.paths(SERVER));
}

/// A modem that is plugged in later, behind a translator as well.
#[test]
fn an_uplink_that_comes_later_is_used() {
    let mut world = World::new(2, 1, [recommended(), recommended()]);
    let later = LocalAddressChange::Removed(private(1));
    world.hosts[CLIENT].endpoint.handle_local_address(later);
    world.connect(1);
    assert_eq!(world.working(SERVER).len(), 1);
    let added = LocalAddressChange::Added(private(1));
    world.hosts[CLIENT].endpoint.handle_local_address(added);
    world.hosts[CLIENT].command(world.now, 0, |association, cx| {
        association.handle_local_address(cx, added);
    });
    world.hosts[CLIENT].settle(world.now, 0);
    world.collect();
    world.run_for(secs(1));
    let remote: Vec<_> = world.working(SERVER).iter().map(|path| path.remote).collect();
    assert_eq!(remote, [public(0), public(1)]);
    for (from, to) in [(CLIENT, SERVER), (SERVER, CLIENT)] {
        world.send(from, MANY);
        world.run_until(to, MANY as usize, secs(20));
        let sent = sent_bytes(&world.working(from));
        assert!(sent.iter().all(|sent| *sent > 1_000_000), "{sent:?}");
    }
}

/// Nothing of the invitation of before holds.
#[test]
fn a_peer_that_restarts_is_invited_again() {
    let mut world = World::connected(2, 1);
    // Another process of the client with the same ports and addresses, behind the same translators.
    let client: Vec<IpAddr> = (0..2).map(private).collect();
    let config = world.config.clone();
    let endpoint = EndpointConfig { association: config, ..EndpointConfig::default() };
    world.hosts[CLIENT] = Host::new(77, endpoint, CLIENT_PORT, &client, world.now);
    world.connect(1);
    let restarted = |event: &Event| matches!(event, Event::Restarted { .. });
    assert!(world.hosts[SERVER].slots[0].events.iter().any(restarted));
    world.run_for(secs(5));
    assert_eq!(world.working(SERVER).len(), 2, "{:?}", world.paths(SERVER));
    world.send(CLIENT, 100);
    world.run_until(SERVER, 100, secs(5));
}

/// Home networks number their hosts alike.
#[test]
fn clients_of_two_networks_may_have_the_same_private_addresses() {
    let mut world = World::connected(2, 1);
    let client: Vec<IpAddr> = (0..2).map(private).collect();
    let config = world.config.clone();
    let endpoint = EndpointConfig { association: config, ..EndpointConfig::default() };
    world.hosts[CLIENT] = Host::new(77, endpoint, CLIENT_PORT, &client, world.now);
    for (translator, last) in world.translators.iter_mut().zip([50, 51]) {
        translator.public = public(last);
        translator.ports.clear();
    }
    world.connect(1);
    world.run_for(secs(5));
    let server = &world.hosts[SERVER].slots;
    assert_eq!(server.len(), 2);
    for (slot, expected) in server.iter().zip([[0, 1], [50, 51]]) {
        let restarted = |event: &Event| matches!(event, Event::Restarted { .. });
        assert!(!slot.events.iter().any(restarted));
        let remote: Vec<_> = slot.association.path_stats().iter().map(|it| it.remote).collect();
        assert!(expected.iter().all(|last| remote.contains(&public(*last))), "{remote:?}");
    }
}
