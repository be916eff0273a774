//! A checksum of zero, where the program says that DTLS carries the packets (RFC 9653).

use std::net::IpAddr;

use polypath_proto::config::{AssociationConfig, EndpointConfig, ErrorDetection, Preset};
use polypath_proto::{
    AssociationStats, Body, DropReason, Ecn, Encapsulation, Instant, OutgoingMessage, PeerAddress,
    Received, Transmit,
};
use polypath_testkit::Host;
use polypath_wire::{ChecksumPolicy, Chunk, PacketView, chunk_type};

const PORTS: [u16; 2] = [4000, 5001];
const NOW: Instant = Instant::from_nanos(1_000_000);

fn ip(side: usize) -> IpAddr {
    IpAddr::from([192, 0, 2, 1 + side as u8])
}

fn config(error_detection: ErrorDetection) -> AssociationConfig {
    AssociationConfig { error_detection, ..AssociationConfig::with_preset(Preset::Rfc9260) }
}

/// Client and server, and every packet that went between them: the side that sent it, and its bytes.
struct Net {
    hosts: [Host; 2],
    sent: Vec<(usize, Vec<u8>)>,
}

fn encode(transmit: &Transmit) -> Vec<u8> {
    let mut bytes = Vec::new();
    transmit.packet.append_to(&mut bytes, transmit.checksum).unwrap();
    bytes
}

impl Net {
    fn new(detection: [ErrorDetection; 2]) -> Self {
        let host = |side: usize| {
            let association = config(detection[side]);
            let config = EndpointConfig { listening: side == 1, association, ..Default::default() };
            Host::new(side as u64, config, PORTS[side], &[ip(side)], NOW)
        };
        Self { hosts: [host(0), host(1)], sent: Vec::new() }
    }

    /// The same with an association that has carried messages in both directions.
    fn used(detection: [ErrorDetection; 2]) -> Self {
        let mut net = Self::new(detection);
        let peer = PeerAddress { address: ip(1), encapsulation: Encapsulation::None };
        net.hosts[0].connect_over(NOW, config(detection[0]), PORTS[1], &[peer]).unwrap();
        net.run();
        for side in [0, 1] {
            for text in ["one", "two", "three"] {
                net.hosts[side].send(NOW, 0, OutgoingMessage::new(0, text)).unwrap();
                net.run();
            }
        }
        net.hosts[0].shutdown(NOW, 0);
        net.run();
        net
    }

    fn arrive(&mut self, side: usize, bytes: &[u8]) {
        let (local, remote, encapsulation) = (ip(side), ip(1 - side), Encapsulation::None);
        let body = Body::Datagram(bytes);
        let received = Received { local, remote, encapsulation, ecn: Ecn::NotEct, body };
        self.hosts[side].receive(NOW, &received);
    }

    /// Carries packets until none is left.
    fn run(&mut self) {
        loop {
            let waiting: Vec<_> = (0..2)
                .flat_map(|side| self.hosts[side].take_output().into_iter().map(move |t| (side, t)))
                .collect();
            if waiting.is_empty() {
                return;
            }
            for (side, transmit) in waiting {
                let bytes = encode(&transmit);
                self.arrive(1 - side, &bytes);
                self.sent.push((side, bytes));
            }
        }
    }

    /// Types of the first chunks of what `side` sent with a checksum of zero; every other checksum is right.
    fn zeros(&self, side: usize) -> Vec<u8> {
        let mut zeros = Vec::new();
        for (_, bytes) in self.sent.iter().filter(|(sender, _)| *sender == side) {
            match PacketView::parse(bytes, ChecksumPolicy::Verify) {
                Ok(view) => assert_ne!(view.checksum(), 0),
                Err(_) => zeros.push(bytes[12]),
            }
        }
        zeros
    }

    fn stats(&self, side: usize) -> AssociationStats {
        self.hosts[side].slots[0].association.stats()
    }
}

#[test]
fn zero_is_sent_where_both_sides_have_said_so_and_never_in_what_must_have_a_checksum() {
    use ErrorDetection::{Crc32c, LowerLayerDtls};
    for (detection, agreed) in [
        ([Crc32c, Crc32c], false),
        ([LowerLayerDtls, Crc32c], false),
        ([Crc32c, LowerLayerDtls], false),
        ([LowerLayerDtls, LowerLayerDtls], true),
    ] {
        let net = Net::used(detection);
        for side in [0, 1] {
            let zeros = net.zeros(side);
            let all = net.sent.iter().filter(|(sender, _)| *sender == side).count();
            let with_crc = if agreed { 2 * (1 - side) } else { all };
            assert_eq!(all - zeros.len(), with_crc, "{detection:?} {side}: {zeros:?}");
            assert!(
                !zeros.contains(&chunk_type::INIT) && !zeros.contains(&chunk_type::COOKIE_ECHO)
            );
            assert_eq!(zeros.contains(&chunk_type::INIT_ACK), agreed && side == 1);
            assert_eq!(net.hosts[side].slots[0].messages.len(), 3);
            // INIT ACK is the endpoint's.
            let from_endpoint = u64::from(agreed && side == 1);
            assert_eq!(net.stats(side).zero_checksums_sent + from_endpoint, zeros.len() as u64);
            assert_eq!(net.stats(1 - side).zero_checksums_received, zeros.len() as u64);
        }
    }
}

/// A message of the client, with this checksum.
fn data(net: &mut Net, checksum: u32) -> Vec<u8> {
    net.hosts[0].send(NOW, 0, OutgoingMessage::new(0, "data")).unwrap();
    let transmit = net.hosts[0].take_output().remove(0);
    assert!(matches!(transmit.packet.chunks[0], Chunk::Data(_)));
    let mut bytes = encode(&transmit);
    bytes[8..12].copy_from_slice(&checksum.to_le_bytes());
    bytes
}

fn connected(detection: ErrorDetection) -> Net {
    let mut net = Net::new([detection; 2]);
    let peer = PeerAddress { address: ip(1), encapsulation: Encapsulation::None };
    net.hosts[0].connect_over(NOW, config(detection), PORTS[1], &[peer]).unwrap();
    net.run();
    net
}

#[test]
fn a_wrong_checksum_other_than_zero_is_dropped() {
    for (detection, checksum, delivered) in [
        (ErrorDetection::Crc32c, 0, false),
        (ErrorDetection::Crc32c, 1, false),
        (ErrorDetection::LowerLayerDtls, 0, true),
        (ErrorDetection::LowerLayerDtls, 1, false),
    ] {
        let mut net = connected(detection);
        let bytes = data(&mut net, checksum);
        net.arrive(1, &bytes);
        assert_eq!(net.hosts[1].slots[0].messages.len(), usize::from(delivered), "{detection:?}");
        let dropped = net.hosts[1].endpoint.dropped(DropReason::WrongChecksum);
        assert_eq!(dropped, u64::from(!delivered), "{detection:?} {checksum}");
        assert_eq!(net.stats(1).packets_damaged, u64::from(!delivered));
    }
}

#[test]
fn what_begins_an_association_must_have_its_checksum() {
    let mut net = Net::new([ErrorDetection::LowerLayerDtls; 2]);
    let peer = PeerAddress { address: ip(1), encapsulation: Encapsulation::None };
    let config = config(ErrorDetection::LowerLayerDtls);
    net.hosts[0].connect_over(NOW, config, PORTS[1], &[peer]).unwrap();
    let zeroed = |bytes: &[u8]| {
        let mut bytes = bytes.to_vec();
        bytes[8..12].fill(0);
        bytes
    };
    let init = encode(&net.hosts[0].take_output().remove(0));
    net.arrive(1, &zeroed(&init));
    assert!(net.hosts[1].take_output().is_empty());
    net.arrive(1, &init);
    let init_ack = encode(&net.hosts[1].take_output().remove(0));
    net.arrive(0, &init_ack);
    let cookie_echo = encode(&net.hosts[0].take_output().remove(0));
    net.arrive(1, &zeroed(&cookie_echo));
    assert!(net.hosts[1].slots.is_empty());
    assert_eq!(net.hosts[1].endpoint.dropped(DropReason::WrongChecksum), 2);
    net.arrive(1, &cookie_echo);
    // Of an association that exists, too.
    net.arrive(1, &zeroed(&cookie_echo));
    assert_eq!(net.hosts[1].endpoint.dropped(DropReason::WrongChecksum), 3);
    net.run();
    assert!(net.hosts[0].slots[0].association.is_established());
}

#[test]
fn answers_to_strangers_have_a_checksum() {
    let mut net = connected(ErrorDetection::LowerLayerDtls);
    let bytes = data(&mut net, 0);
    let mut stranger = Net::new([ErrorDetection::LowerLayerDtls; 2]);
    // With a checksum of zero it is nobody's.
    stranger.arrive(1, &bytes);
    assert!(stranger.hosts[1].take_output().is_empty());
    let mut bytes = bytes;
    polypath_wire::write_checksum(&mut bytes);
    stranger.arrive(1, &bytes);
    let abort = encode(&stranger.hosts[1].take_output().remove(0));
    assert_eq!(abort[12], chunk_type::ABORT);
    assert!(PacketView::parse(&abort, ChecksumPolicy::Verify).is_ok());
}
