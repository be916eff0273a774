//! Two established endpoints that get damaged, repeated, reordered and forged packets with the right tags, as a string of bytes says.
//!
//! The same driver serves the fuzz target `association` and a test with a small corpus and random strings. It knows what packets look
//! like, so that few of its forgeries are dropped at first sight: chunks of all extensions with numbers near those in use.

use std::collections::VecDeque;
use std::net::IpAddr;

use polypath_proto::config::{
    AddressReconfiguration, AssociationConfig, AssociationOptions, AuthenticatedChunks,
    CongestionAlgorithm, EndpointConfig, ExplicitCongestionNotification, MessageInterleaving,
    NrSack, PacketDropReport, Policies, Preset, StreamReconfiguration,
};
use polypath_proto::{
    Body, Duration, Ecn, Encapsulation, Instant, LocalAddressChange, OutgoingMessage, Received,
    Transmit,
};
use polypath_wire::{Checksum, Chunk, chunk_type, parameter_type, write_checksum};

use crate::Host;

const PORTS: [u16; 2] = [4000, 5001];
/// Buffers of both sides in bytes.
const BUFFER: u32 = 64 << 10;
/// Most packets that one step may cause: what the send buffer holds in the smallest messages, and answers.
const MOST_PACKETS: usize = 1200;
/// Most events that one step may cause.
const MOST_EVENTS: usize = 2000;
/// Most packets under way to a side; the network drops what is beyond.
const MOST_WAITING: usize = 256;
/// Most steps of a run.
const MOST_STEPS: usize = 400;

const CHUNKS: [u8; 18] = [
    chunk_type::DATA,
    chunk_type::I_DATA,
    chunk_type::SACK,
    chunk_type::NR_SACK,
    chunk_type::FORWARD_TSN,
    chunk_type::I_FORWARD_TSN,
    chunk_type::RE_CONFIG,
    chunk_type::ASCONF,
    chunk_type::ASCONF_ACK,
    chunk_type::AUTH,
    chunk_type::ECNE,
    chunk_type::CWR,
    chunk_type::PACKET_DROP,
    chunk_type::HEARTBEAT,
    chunk_type::HEARTBEAT_ACK,
    chunk_type::ERROR,
    chunk_type::SHUTDOWN,
    chunk_type::PAD,
];

const PARAMETERS: [u16; 10] = [
    parameter_type::IPV4,
    parameter_type::ADD_IP,
    parameter_type::DELETE_IP,
    parameter_type::SET_PRIMARY,
    parameter_type::SUCCESS_INDICATION,
    parameter_type::OUTGOING_SSN_RESET,
    parameter_type::INCOMING_SSN_RESET,
    parameter_type::SSN_TSN_RESET,
    parameter_type::RE_CONFIG_RESPONSE,
    parameter_type::ADD_OUTGOING_STREAMS,
];

/// The bytes that are left; zeros behind their end.
struct Input<'a>(&'a [u8]);

impl Input<'_> {
    fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }

    fn word(&mut self) -> u32 {
        u32::from_be_bytes([self.byte(), self.byte(), self.byte(), self.byte()])
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[usize::from(self.byte()) % from.len()]
    }
}

/// Numbers that the last packets of a side had.
#[derive(Clone, Copy, Default)]
struct Seen {
    tag: u32,
    tsn: u32,
    acked: u32,
    request: u32,
    serial: u32,
}

struct World {
    hosts: [Host; 2],
    /// Packets on their way to each side.
    waiting: [VecDeque<Transmit>; 2],
    /// What was seen of each side.
    seen: [Seen; 2],
    now: Instant,
}

/// Does what `input` says with two endpoints that are established; the first two bytes choose what was negotiated.
///
/// # Panics
///
/// If a step causes more packets or events, or keeps more bytes, than it may; or if the stack panics.
pub fn run_mutations(input: &[u8]) {
    let mut input = Input(input);
    let mut world = World::new(&mut input);
    for _ in 0..MOST_STEPS {
        if input.0.is_empty() {
            break;
        }
        world.step(&mut input);
        world.collect();
    }
}

fn address(side: usize, path: u8) -> IpAddr {
    IpAddr::from([10, 0, path, side as u8 + 1])
}

fn policies(p: &mut Policies, input: &mut Input<'_>) {
    let bits = [input.byte(), input.byte()];
    let has = |bit: u8| bits[usize::from(bit / 8)] >> (bit % 8) & 1 == 0;
    // Without keys nobody can forge what is authenticated, so mostly it is not.
    let is_open = has(0) || has(8);
    p.authenticated_chunks =
        if is_open { AuthenticatedChunks::Off } else { AuthenticatedChunks::All };
    p.address_reconfiguration = match is_open {
        true => AddressReconfiguration::Unauthenticated,
        false => AddressReconfiguration::Authenticated,
    };
    if has(1) {
        p.message_interleaving = MessageInterleaving::On;
    }
    if has(2) {
        p.nr_sack = if has(9) { NrSack::Deliverable } else { NrSack::AllInTurn };
    }
    if has(3) {
        p.stream_reconfiguration = StreamReconfiguration::On;
    }
    if has(4) {
        p.explicit_congestion_notification = ExplicitCongestionNotification::On;
    }
    if has(5) {
        p.packet_drop_report = PacketDropReport::On;
    }
}

impl World {
    fn new(input: &mut Input<'_>) -> Self {
        let preset = if input.byte() & 1 == 0 { Preset::Recommended } else { Preset::Cmt };
        let mut config = AssociationConfig {
            send_buffer_bytes: BUFFER.into(),
            receive_buffer_bytes: BUFFER,
            ..AssociationConfig::with_preset(preset)
        };
        policies(&mut config.policies, input);
        let now = Instant::ZERO;
        let host = |side: usize| {
            let addresses = [address(side, 0), address(side, 1)];
            let config = EndpointConfig {
                listening: true,
                association: config.clone(),
                ..EndpointConfig::default()
            };
            Host::new(side as u64 + 1, config, PORTS[side], &addresses, now)
        };
        let mut world = Self {
            hosts: [host(0), host(1)],
            waiting: Default::default(),
            seen: Default::default(),
            now,
        };
        let peer = [address(1, 0), address(1, 1)];
        world.hosts[0].connect(now, config, PORTS[1], &peer).expect("there are paths");
        world.collect();
        for _ in 0..20 {
            for side in [1, 0] {
                for _ in 0..world.waiting[side].len() {
                    world.deliver(side);
                    world.collect();
                }
            }
        }
        let is_there =
            |it: &Host| it.slots.first().is_some_and(|it| it.association.is_established());
        assert!(world.hosts.iter().all(is_there), "the handshake of two sound hosts");
        world
    }

    fn step(&mut self, input: &mut Input<'_>) {
        let choice = input.byte();
        let side = usize::from(choice >> 7);
        match choice & 15 {
            0..=2 => self.deliver(side),
            3 => drop(self.waiting[side].pop_front()),
            4 => {
                if let Some(bytes) = self.first(side) {
                    self.receive(side, choice >> 6 & 1, &bytes);
                }
            }
            5 => self.waiting[side].rotate_left(usize::from(self.waiting[side].len() > 1)),
            6..=8 => self.deliver_mutated(side, input),
            9..=11 => self.forge(side, input),
            12 | 13 => self.user(side, input),
            14 => {
                let due = self.hosts.iter().filter_map(Host::next_timeout).min();
                self.now = self.now.max(due.unwrap_or(self.now));
                self.hosts.iter_mut().for_each(|host| host.handle_timeout(self.now));
            }
            _ => self.now += Duration::from_millis(input.byte().into()),
        }
    }

    /// The first packet on its way to a side, encoded.
    fn first(&self, side: usize) -> Option<Vec<u8>> {
        let mut bytes = Vec::new();
        let packet = &self.waiting[side].front()?.packet;
        packet.append_to(&mut bytes, Checksum::Crc32c).expect("our packets can be encoded");
        Some(bytes)
    }

    fn deliver(&mut self, side: usize) {
        let Some(bytes) = self.first(side) else { return };
        if let Some(sent) = self.waiting[side].pop_front() {
            let places = (sent.remote, sent.local);
            self.receive_between(side, places, sent.ecn, &bytes);
        }
    }

    fn deliver_mutated(&mut self, side: usize, input: &mut Input<'_>) {
        let Some(mut bytes) = self.first(side) else { return };
        self.waiting[side].pop_front();
        for _ in 0..=input.byte() % 3 {
            let at = 12 + usize::from(input.byte()) % (bytes.len() - 12).max(1);
            let Some(byte) = bytes.get_mut(at) else { continue };
            *byte = match input.byte() {
                0..=84 => byte.wrapping_add(1),
                85..=169 => *byte ^ input.byte(),
                _ => input.byte(),
            };
        }
        self.receive(side, input.byte() & 1, &bytes);
    }

    /// A packet with the right ports and tag, and up to three chunks.
    fn forge(&mut self, side: usize, input: &mut Input<'_>) {
        let mut bytes = Vec::new();
        bytes.extend_from_slice(&PORTS[1 - side].to_be_bytes());
        bytes.extend_from_slice(&PORTS[side].to_be_bytes());
        bytes.extend_from_slice(&self.seen[1 - side].tag.to_be_bytes());
        bytes.extend_from_slice(&[0; 4]);
        for _ in 0..=input.byte() % 3 {
            self.append_chunk(side, &mut bytes, input);
        }
        self.receive(side, input.byte() & 1, &bytes);
    }

    fn append_chunk(&self, side: usize, bytes: &mut Vec<u8>, input: &mut Input<'_>) {
        let (peer, own) = (self.seen[1 - side], self.seen[side]);
        let begin = bytes.len();
        bytes.extend_from_slice(&[input.pick(&CHUNKS), input.byte(), 0, 0]);
        for _ in 0..input.byte() % 10 {
            let little = u32::from(input.byte() % 8);
            let word = match input.byte() % 10 {
                0 => input.word(),
                1 => little,
                2 => peer.tsn.wrapping_add(little),
                3 => own.tsn.wrapping_sub(little),
                4 => own.acked.wrapping_add(little),
                5 => peer.request.wrapping_add(little),
                6 => peer.serial.wrapping_add(little),
                7 => own.request.wrapping_sub(little),
                8 => u32::from(input.pick(&PARAMETERS)) << 16 | (4 + 4 * little),
                _ => u32::from_be_bytes([10, 0, little as u8, 2 - side as u8]),
            };
            bytes.extend_from_slice(&word.to_be_bytes());
        }
        let length = (bytes.len() - begin) as u16;
        bytes[begin + 2..begin + 4].copy_from_slice(&length.to_be_bytes());
    }

    fn user(&mut self, side: usize, input: &mut Input<'_>) {
        let now = self.now;
        let (what, detail) = (input.byte() % 10, input.byte());
        let stream = u16::from(detail % 4);
        let host = &mut self.hosts[side];
        host.command(now, 0, |it, cx| match what {
            0..=3 => {
                let size = usize::from(detail) * 40 + 1;
                let _ = it.send(cx, OutgoingMessage::new(stream, vec![detail; size]));
            }
            4 => drop(it.reset_outgoing_streams(&[stream])),
            5 => drop(it.reset_incoming_streams(&[stream])),
            6 => drop(it.reset_association(cx)),
            7 => drop(it.set_peer_primary(address(side, detail % 3))),
            8 => {
                let all = CongestionAlgorithm::ALL;
                let congestion = Some(all[usize::from(detail) % all.len()]);
                drop(it.set_options(cx, &AssociationOptions { congestion, ..Default::default() }));
            }
            _ => {
                let address = address(side, detail % 4);
                it.handle_local_address(
                    cx,
                    match detail & 4 {
                        0 => LocalAddressChange::Added(address),
                        _ => LocalAddressChange::Removed(address),
                    },
                );
            }
        });
        host.settle(now, 0);
    }

    fn receive(&mut self, side: usize, path: u8, bytes: &[u8]) {
        let mut bytes = bytes.to_vec();
        write_checksum(&mut bytes);
        let places = (address(side, path), address(1 - side, path));
        self.receive_between(side, places, Ecn::Ect0, &bytes);
    }

    fn receive_between(
        &mut self,
        side: usize,
        (local, remote): (IpAddr, IpAddr),
        ecn: Ecn,
        bytes: &[u8],
    ) {
        let encapsulation = Encapsulation::None;
        let received = Received { local, remote, encapsulation, ecn, body: Body::Datagram(bytes) };
        self.hosts[side].receive(self.now, &received);
    }

    /// Takes what both sides have sent, and looks whether that, and what they keep, is within bounds.
    fn collect(&mut self) {
        for side in 0..2 {
            let sent = self.hosts[side].take_output();
            assert!(sent.len() <= MOST_PACKETS, "{} packets for one", sent.len());
            for transmit in sent {
                self.seen[side].note(&transmit);
                if self.waiting[1 - side].len() < MOST_WAITING {
                    self.waiting[1 - side].push_back(transmit);
                }
            }
            for slot in &mut self.hosts[side].slots {
                assert!(slot.events.len() <= MOST_EVENTS, "{} events for one", slot.events.len());
                slot.events.clear();
                slot.messages.clear();
                let stats = slot.association.stats();
                assert!(stats.receive_buffer_bytes <= 2 * u64::from(BUFFER), "{stats:?}");
                assert!(stats.send_buffer_bytes <= 2 * u64::from(BUFFER), "{stats:?}");
                assert!(slot.association.path_stats().len() <= 32);
            }
        }
    }
}

impl Seen {
    fn note(&mut self, transmit: &Transmit) {
        if transmit.packet.verification_tag != 0 {
            self.tag = transmit.packet.verification_tag;
        }
        for chunk in &transmit.packet.chunks {
            match chunk {
                Chunk::Data(data) => self.tsn = data.tsn,
                Chunk::IData(data) => self.tsn = data.tsn,
                Chunk::Init(init) | Chunk::InitAck(init) => {
                    self.tsn = init.initial_tsn.wrapping_sub(1);
                    (self.request, self.serial) = (init.initial_tsn, init.initial_tsn);
                }
                Chunk::Sack(sack) => self.acked = sack.cumulative_tsn_ack,
                Chunk::NrSack(sack) => self.acked = sack.cumulative_tsn_ack,
                Chunk::Asconf(asconf) => self.serial = asconf.serial.wrapping_add(1),
                _ => {}
            }
        }
    }
}
