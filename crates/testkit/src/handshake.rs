//! Handshakes whose packets are damaged on their way, as a string of bytes says.
//!
//! The same driver serves the fuzz target `handshake` and a test with a small corpus and random strings.

use std::net::IpAddr;

use polypath_proto::config::{AssociationConfig, EndpointConfig};
use polypath_proto::{Body, Ecn, Encapsulation, Instant, Received};
use polypath_wire::{Checksum, chunk_type, write_checksum};

use crate::Host;

const PORT: u16 = 5001;
const CLIENT: [u8; 4] = [10, 0, 0, 1];
const SERVER: [u8; 4] = [10, 0, 0, 2];
/// Bytes before the first chunk.
const HEADER: usize = 12;
/// Bytes of the head of a chunk.
const CHUNK_HEADER: usize = 4;
/// Most packets that the two sides exchange.
const MOST_ROUNDS: usize = 20;

/// Does a handshake in which the packet that the first byte of `input` names is damaged as the others say; then the undamaged one
/// arrives, and the handshake goes on.
///
/// # Panics
///
/// If a cookie that was changed makes an association, a packet is answered by more than one, the genuine packets make no association, or the
/// stack panics.
pub fn run_handshake(input: &[u8]) {
    let Some((first, input)) = input.split_first() else { return };
    let now = Instant::from_nanos(1);
    let mut server = host(1, PORT, SERVER, now);
    let mut client = host(2, 4000, CLIENT, now);
    let connected =
        client.connect(now, AssociationConfig::default(), PORT, &[IpAddr::from(SERVER)]);
    assert!(connected.is_ok(), "a client that may connect");
    let mut sender_is_client = true;
    for round in 0..MOST_ROUNDS {
        let (from, to, addresses) = match sender_is_client {
            true => (&mut client, &mut server, [SERVER, CLIENT]),
            false => (&mut server, &mut client, [CLIENT, SERVER]),
        };
        let packets = from.take_output();
        if packets.is_empty() {
            break;
        }
        for packet in packets {
            let mut whole = Vec::new();
            let encoded = packet.packet.append_to(&mut whole, Checksum::Crc32c);
            assert!(encoded.is_ok(), "our packets can be encoded");
            if usize::from(first % 4) == round {
                let damaged = damaged(&whole, input);
                receive_damaged(to, now, addresses, (&whole, &damaged));
            }
            receive(to, now, addresses, &whole);
        }
        sender_is_client = !sender_is_client;
    }
    // A damaged INIT ACK may end the client's attempt. Others leave the genuine packets as good as before.
    assert!(first % 4 == 1 || server.slots.len() == 1, "{} associations", server.slots.len());
}

/// A damaged packet arrives. It may make an association only if its cookie is as it was.
fn receive_damaged(
    host: &mut Host,
    now: Instant,
    addresses: [[u8; 4]; 2],
    (whole, damaged): (&[u8], &[u8]),
) {
    let (before, sent) = (host.slots.len(), host.take_output());
    assert!(sent.is_empty(), "the host has answered what came before");
    receive(host, now, addresses, damaged);
    if host.slots.len() > before {
        assert_eq!(cookie(damaged), cookie(whole), "a changed cookie made an association");
    }
    // What it answers is lost. A stranger never gets more than one packet.
    let answers = host.take_output().len();
    assert!(answers <= 1 || host.slots.len() > before || before > 0, "{answers} answers");
}

/// The cookie of a COOKIE ECHO at the beginning of a packet, and to what tag and ports it was sent.
fn cookie(packet: &[u8]) -> Option<(&[u8], &[u8])> {
    let chunk = packet.get(HEADER..)?;
    let length = usize::from(u16::from_be_bytes([*chunk.get(2)?, *chunk.get(3)?]));
    let is_cookie = chunk[0] == chunk_type::COOKIE_ECHO;
    is_cookie.then(|| (packet[..8].as_ref(), chunk.get(CHUNK_HEADER..length).unwrap_or_default()))
}

fn host(seed: u64, port: u16, address: [u8; 4], now: Instant) -> Host {
    let config = EndpointConfig { listening: port == PORT, ..EndpointConfig::default() };
    Host::new(seed, config, port, &[IpAddr::from(address)], now)
}

/// Bytes of `packet` changed, left out, doubled or cut off, with a checksum that is right.
fn damaged(packet: &[u8], input: &[u8]) -> Vec<u8> {
    let mut bytes = packet.to_vec();
    for change in input.chunks(4) {
        let &[kind, high, low, value] = change else { break };
        let at = usize::from(u16::from_be_bytes([high, low])) % bytes.len().max(1);
        match kind % 5 {
            0 => bytes.iter_mut().skip(at).take(1).for_each(|byte| *byte ^= value),
            1 => bytes.iter_mut().skip(at).take(1).for_each(|byte| *byte = value),
            2 => bytes.truncate(at),
            3 => {
                let end = bytes.len().min(at + usize::from(value));
                bytes.drain(at..end);
            }
            _ => {
                let end = bytes.len().min(at + usize::from(value));
                bytes.extend_from_within(at..end);
            }
        }
    }
    if bytes.len() >= HEADER {
        write_checksum(&mut bytes);
    }
    bytes
}

fn receive(host: &mut Host, now: Instant, [local, remote]: [[u8; 4]; 2], bytes: &[u8]) {
    let (local, remote) = (IpAddr::from(local), IpAddr::from(remote));
    let (encapsulation, ecn) = (Encapsulation::None, Ecn::NotEct);
    let received = Received { local, remote, encapsulation, ecn, body: Body::Datagram(bytes) };
    host.receive(now, &received);
}
