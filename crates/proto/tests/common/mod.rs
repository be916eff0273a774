//! What the whole-stack tests share: messages, chunks, and an association whose peer is played by the test.
#![allow(dead_code)] // every test file uses its share

use std::net::IpAddr;

use polypath_proto::config::{AssociationConfig, EndpointConfig, Preset};
use polypath_proto::{
    Association, Body, Duration, Ecn, Encapsulation, Event, Instant, OutgoingMessage, PathStats,
    PathStatus, Received, Transmit,
};
use polypath_testkit::Host;
use polypath_wire::{
    Checksum, Chunk, Data, DataFlags, DuplicateTsns, GapAckBlock, GapAckBlocks, Init, Packet,
    Parameter, Parameters, Payload, Raw, Sack, VirtualPayload, write_checksum,
};

const OUR_PORT: u16 = 4000;
const PEER_PORT: u16 = 5001;

/// The window that the played peer offers.
pub const PEER_WINDOW: u32 = 100_000;

/// Largest DATA chunk (PMDCS) of a path with an MTU of 1500 bytes over IPv4.
pub const PMDCS: u64 = 1500 - 20 - 12;

/// The defaults with a preset's policies.
pub fn config(preset: Preset) -> AssociationConfig {
    AssociationConfig::with_preset(preset)
}

/// A message on stream 0 whose content and PPID tell its number.
pub fn message(number: u64, size: u32) -> OutgoingMessage {
    let payload = Payload::Virtual(VirtualPayload { message: number, offset: 0, len: size });
    OutgoingMessage { ppid: number as u32, ..OutgoingMessage::from_payload(0, payload) }
}

/// Seconds.
pub fn secs(count: u64) -> Duration {
    Duration::from_secs(count)
}

/// Milliseconds.
pub fn millis(count: u64) -> Duration {
    Duration::from_millis(count)
}

/// Address number `last` of a network.
pub fn ip(last: u8) -> IpAddr {
    IpAddr::from([10, 0, 0, last])
}

/// INIT or INIT ACK of a peer with these parameters.
fn peer_init<'a>(inbound_streams: u16, parameters: Vec<Parameter<'a>>) -> Init<'static> {
    Init {
        initiate_tag: 7,
        a_rwnd: PEER_WINDOW,
        outbound_streams: 10,
        inbound_streams,
        initial_tsn: 1,
        parameters: Parameters::build(parameters),
    }
}

/// INIT ACK of a peer that lists these addresses and takes ten streams.
pub fn init_ack(addresses: &[IpAddr]) -> Chunk<'static> {
    init_ack_with_streams(addresses, 10)
}

/// INIT ACK of a peer that offers extensions.
pub fn init_ack_offering(chunk_types: &[u8]) -> Chunk<'static> {
    let parameters =
        vec![Parameter::StateCookie(b"a cookie"), Parameter::SupportedExtensions(chunk_types)];
    Chunk::InitAck(peer_init(10, parameters))
}

/// INIT ACK of a peer at one address with these parameters beside the cookie.
pub fn init_ack_with(parameters: &[Parameter<'static>]) -> Chunk<'static> {
    let cookie = [Parameter::StateCookie(b"a cookie")];
    Chunk::InitAck(peer_init(10, cookie.into_iter().chain(parameters.iter().cloned()).collect()))
}

/// INIT ACK of a peer that takes so many streams.
pub fn init_ack_with_streams(addresses: &[IpAddr], streams: u16) -> Chunk<'static> {
    let mut parameters = vec![Parameter::StateCookie(b"a cookie")];
    parameters.extend(addresses.iter().map(|address| Parameter::from(*address)));
    Chunk::InitAck(peer_init(streams, parameters))
}

/// A whole message of 100 bytes, one per TSN from 1 on.
pub fn data(tsn: u32) -> Chunk<'static> {
    Chunk::Data(Data {
        flags: DataFlags::BEGIN | DataFlags::END,
        tsn,
        stream: 0,
        ssn: tsn.wrapping_sub(1) as u16,
        ppid: 0,
        payload: Payload::Virtual(VirtualPayload { message: 0, offset: 0, len: 100 }),
    })
}

/// SACK with gap ack blocks as (start, end).
pub fn sack(cumulative_tsn_ack: u32, a_rwnd: u32, gaps: &[(u16, u16)]) -> Chunk<'static> {
    let blocks = gaps.iter().map(|&(start, end)| GapAckBlock { start, end }).collect();
    Chunk::Sack(Sack {
        flags: 0,
        cumulative_tsn_ack,
        a_rwnd,
        gap_ack_blocks: GapAckBlocks::Owned(blocks),
        duplicate_tsns: DuplicateTsns::Owned(Default::default()),
    })
}

/// A host with one association, whose peer is played by the test.
#[derive(Debug)]
pub struct Victim {
    /// The host; the association is its slot 0.
    pub host: Host,
    /// The present.
    pub now: Instant,
    tag: u32,
    ports: [u16; 2],
    /// Its address that packets go to.
    pub local: IpAddr,
}

impl Victim {
    /// A client at address 1 that has sent its INIT to `peer`.
    pub fn connecting(config: AssociationConfig, peer: &[IpAddr]) -> Self {
        let now = Instant::from_nanos(1_000_000);
        let mut host = Host::new(1, EndpointConfig::default(), OUR_PORT, &[ip(1)], now);
        host.connect(now, config, PEER_PORT, peer).unwrap();
        host.take_output();
        let tag = host.slots[0].association.identity().local_tag;
        Self { host, now, tag, ports: [PEER_PORT, OUR_PORT], local: ip(1) }
    }

    /// A client at address 1 with an association to address 2.
    pub fn established(config: AssociationConfig) -> Self {
        Self::established_by(config, init_ack(&[]))
    }

    /// The same with a peer that answered with this INIT ACK.
    pub fn established_by(config: AssociationConfig, init_ack: Chunk<'static>) -> Self {
        let mut victim = Self::connecting(config, &[ip(2)]);
        victim.receive(ip(2), vec![init_ack]);
        victim.receive(ip(2), vec![Chunk::CookieAck]);
        assert!(victim.association().is_established());
        victim.sent();
        victim
    }

    /// A client at address 1 with an association to address 2, which offers these extensions.
    pub fn established_offering(config: AssociationConfig, chunk_types: &[u8]) -> Self {
        let mut victim = Self::connecting(config, &[ip(2)]);
        victim.receive(ip(2), vec![init_ack_offering(chunk_types)]);
        victim.receive(ip(2), vec![Chunk::CookieAck]);
        assert!(victim.association().is_established());
        victim.sent();
        victim
    }

    /// A server with these addresses; a peer at `from` made an association to the last of them and listed `listed`.
    pub fn accepting(
        config: AssociationConfig,
        local: &[IpAddr],
        from: IpAddr,
        listed: &[IpAddr],
    ) -> Self {
        let now = Instant::from_nanos(1_000_000);
        let endpoint =
            EndpointConfig { listening: true, association: config, ..Default::default() };
        let host = Host::new(2, endpoint, PEER_PORT, local, now);
        let local = *local.last().unwrap();
        let mut victim = Self { host, now, tag: 0, ports: [OUR_PORT, PEER_PORT], local };
        let parameters = listed.iter().map(|address| Parameter::from(*address)).collect();
        victim.receive(from, vec![Chunk::Init(peer_init(10, parameters))]);
        let answer = victim.sent().remove(0);
        let Chunk::InitAck(ack) = &answer.packet.chunks[0] else { panic!("{answer:?}") };
        victim.tag = ack.initiate_tag;
        let cookie = ack.parameters.state_cookie().unwrap().to_vec();
        victim.receive(from, vec![Chunk::CookieEcho(Raw::Shared(cookie.into()))]);
        assert!(victim.association().is_established());
        victim
    }

    /// Takes a packet from the peer's address `from`.
    pub fn receive(&mut self, from: IpAddr, chunks: Vec<Chunk<'static>>) {
        let packet = self.packet(chunks);
        self.host.receive(self.now, &self.received(from, &packet));
    }

    /// Takes a packet from the peer's address 2 that arrives with this codepoint.
    pub fn receive_as(&mut self, ecn: Ecn, chunks: Vec<Chunk<'static>>) {
        let packet = self.packet(chunks);
        let received = Received { ecn, ..self.received(ip(2), &packet) };
        self.host.receive(self.now, &received);
    }

    /// Takes a packet from the peer's address `from` that was carried like this.
    pub fn receive_carried(
        &mut self,
        from: IpAddr,
        encapsulation: Encapsulation,
        chunks: Vec<Chunk<'static>>,
    ) {
        self.receive_carried_with_tag(self.tag, from, encapsulation, chunks);
    }

    /// The same with another verification tag.
    pub fn receive_carried_with_tag(
        &mut self,
        tag: u32,
        from: IpAddr,
        encapsulation: Encapsulation,
        chunks: Vec<Chunk<'static>>,
    ) {
        let packet = Packet { verification_tag: tag, ..self.packet(chunks) };
        let received = Received { encapsulation, ..self.received(from, &packet) };
        self.host.receive(self.now, &received);
    }

    /// Takes a packet with another verification tag from the peer's address 2.
    pub fn receive_with_tag(&mut self, tag: u32, chunks: Vec<Chunk<'static>>) {
        let packet = Packet { verification_tag: tag, ..self.packet(chunks) };
        self.host.receive(self.now, &self.received(ip(2), &packet));
    }

    /// Takes a packet from the peer's address 2 without polling what follows of it.
    pub fn receive_unpolled(&mut self, chunks: Vec<Chunk<'static>>) {
        let packet = self.packet(chunks);
        let received = self.received(ip(2), &packet);
        self.host.command(self.now, 0, |association, cx| association.handle(cx, &received));
    }

    /// A packet from the peer as bytes.
    pub fn encoded(&self, chunks: Vec<Chunk<'static>>) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.packet(chunks).append_to(&mut bytes, Checksum::Crc32c).unwrap();
        bytes
    }

    /// Takes bytes from the peer's address 2, whose checksum is made right.
    pub fn receive_bytes(&mut self, bytes: &[u8]) {
        let mut bytes = bytes.to_vec();
        write_checksum(&mut bytes);
        let body = Body::Datagram(&bytes);
        let (local, remote, encapsulation) = (self.local, ip(2), Encapsulation::None);
        let received = Received { local, remote, encapsulation, ecn: Ecn::NotEct, body };
        self.host.receive(self.now, &received);
    }

    fn packet(&self, chunks: Vec<Chunk<'static>>) -> Packet<'static> {
        let [source_port, destination_port] = self.ports;
        let chunks = chunks.into_iter().collect();
        Packet { source_port, destination_port, verification_tag: self.tag, chunks }
    }

    fn received<'a>(&self, remote: IpAddr, packet: &'a Packet<'static>) -> Received<'a> {
        let body = Body::Structured(packet);
        let encapsulation = Encapsulation::None;
        Received { local: self.local, remote, encapsulation, ecn: Ecn::NotEct, body }
    }

    /// Sends `count` messages of `size` bytes.
    pub fn send(&mut self, count: u64, size: u32) {
        for number in 0..count {
            self.host.send(self.now, 0, message(number, size)).unwrap();
        }
    }

    /// Goes to the next deadline and handles it. Says whether there was one.
    pub fn wait_for_timer(&mut self) -> bool {
        let Some(due) = self.host.next_timeout() else { return false };
        self.now = self.now.max(due);
        self.host.handle_timeout(self.now);
        true
    }

    /// Takes what was sent.
    pub fn sent(&mut self) -> Vec<Transmit> {
        self.host.take_output()
    }

    /// The association.
    pub fn association(&self) -> &Association {
        &self.host.slots[0].association
    }

    /// What its user was told.
    pub fn events(&self) -> &[Event] {
        &self.host.slots[0].events
    }

    /// State of its only path, or the first.
    pub fn path(&self) -> PathStats {
        self.association().path_stats().remove(0)
    }

    /// State of a path.
    pub fn path_at(&self, path: usize) -> PathStats {
        self.association().path_stats().remove(path)
    }

    /// The peer's addresses with the state of their paths.
    pub fn peer_paths(&self) -> Vec<(IpAddr, PathStatus)> {
        self.association().path_stats().iter().map(|path| (path.remote, path.status)).collect()
    }

    /// TSN of the first chunk that it sends.
    pub fn first_tsn(&self) -> u32 {
        self.association().identity().initial_tsn
    }
}

/// Number of DATA chunks in packets.
pub fn data_chunks(packets: &[Transmit]) -> usize {
    let chunks = packets.iter().flat_map(|transmit| transmit.packet.chunks.iter());
    chunks.filter(|chunk| matches!(chunk, Chunk::Data(_))).count()
}
