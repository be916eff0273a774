//! Which packets reach an association (RFC 9260 sections 8.5 and 8.5.1).

use polypath_wire::{
    Abort, Cause, Causes, Cwr, Data, DataFlags, DuplicateTsns, GapAckBlocks, PacketDrop, Payload,
    Raw, Sack,
};
use rand_core::TryRng;
use smallvec::smallvec;

use super::*;

/// Our tag of the association in these tests, and the peer's.
const OURS: u32 = 0x1111_1111;
const THEIRS: u32 = 0x2222_2222;
const WRONG: u32 = 0x3333_3333;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fate {
    Association,
    Collision,
    Drop(DropReason),
}

use DropReason::{TagZero, TaggedInit, WrongTag};
use Fate::{Association as ToAssociation, Collision as ToCollision, Drop};

fn fate(world: &mut World, arrival: &Arrival, id: AssociationId) -> Fate {
    fate_of(world, &arrival.received(), id)
}

fn fate_of(world: &mut World, received: &Received<'_>, id: AssociationId) -> Fate {
    match world.handle_received(received) {
        Route::Association(found) if found == id => ToAssociation,
        Route::Collision(found) if found == id => ToCollision,
        Route::Drop(reason) => Drop(reason),
        other => panic!("{other:?}"),
    }
}

/// Every chunk as the first of a packet, and where the packet goes with our tag, with tag 0, and with any other.
fn matrix() -> Vec<(Chunk<'static>, [Fate; 3])> {
    let data = Chunk::Data(Data {
        flags: DataFlags::BEGIN | DataFlags::END,
        tsn: 1,
        stream: 0,
        ssn: 0,
        ppid: 0,
        payload: Payload::Shared((&b"x"[..]).into()),
    });
    let sack = Chunk::Sack(Sack {
        flags: 0,
        cumulative_tsn_ack: 1,
        a_rwnd: 1,
        gap_ack_blocks: GapAckBlocks::Owned(smallvec![]),
        duplicate_tsns: DuplicateTsns::Owned(smallvec![]),
    });
    let drop_report = |flags| {
        Chunk::PacketDrop(PacketDrop {
            flags,
            bandwidth_or_limit: 1,
            queued: 1,
            truncated_length: 0,
            reserved: 0,
            packet: Raw::Borrowed(b""),
        })
    };
    let abort = |reflected_tag| Chunk::Abort(Abort { reflected_tag, causes: Causes::empty() });
    let ordinary = [ToAssociation, Drop(TagZero), Drop(WrongTag)];
    let reflected = [ToAssociation, Drop(TagZero), ToAssociation];
    [
        data,
        sack,
        Chunk::InitAck(init(9, "")),
        Chunk::Heartbeat(Parameters::empty()),
        Chunk::HeartbeatAck(Parameters::empty()),
        abort(false),
        Chunk::Shutdown { cumulative_tsn_ack: 1 },
        Chunk::Error(Causes::build([Cause::OutOfResource])),
        Chunk::Error(Causes::build([Cause::StaleCookie { staleness_us: 1 }])),
        Chunk::CookieAck,
        Chunk::Cwr(Cwr { override_mark: false, tsn: 1 }),
        Chunk::ShutdownComplete { reflected_tag: false },
        Chunk::Pad(Raw::Borrowed(b"")),
        Chunk::ReConfig(Parameters::empty()),
        drop_report(0),
    ]
    .into_iter()
    .map(|chunk| (chunk, ordinary))
    .chain([
        (Chunk::Init(init(9, "")), [Drop(TaggedInit), ToCollision, Drop(WrongTag)]),
        (Chunk::CookieEcho(Raw::Borrowed(b"x")), [ToCollision, Drop(TagZero), ToCollision]),
        // With the wrong tag it matters only while the association is being set up.
        (Chunk::ShutdownAck, [ToAssociation, Drop(TagZero), ToCollision]),
        (abort(true), reflected),
        (Chunk::ShutdownComplete { reflected_tag: true }, reflected),
        (drop_report(1), reflected),
    ])
    .collect()
}

#[test]
fn tags_and_chunks() {
    let mut world = World::listening();
    let id = world.associate(OURS, "198.51.100.1 198.51.100.2");
    for (chunk, [right, zero, other]) in matrix() {
        for source in ["198.51.100.1", "198.51.100.2"] {
            for (tag, expected) in [(OURS, right), (0, zero), (THEIRS, other), (WRONG, other)] {
                let structured = from(source, packet(tag, [chunk.clone()]));
                assert_eq!(fate(&mut world, &structured, id), expected, "{tag:#x} {chunk:?}");
                let bytes = encode(&structured.packet);
                let datagram = structured.datagram(&bytes);
                assert_eq!(fate_of(&mut world, &datagram, id), expected, "{tag:#x} {chunk:?}");
            }
        }
    }
}

#[test]
fn the_right_tag_from_elsewhere_is_neither_taken_nor_answered() {
    let mut world = World::listening();
    let id = world.associate(OURS, "198.51.100.1");
    for (chunk, _) in matrix() {
        let stranger = from("198.51.100.77", packet(OURS, [chunk.clone()]));
        let fate = fate(&mut world, &stranger, id);
        let expected = match chunk {
            // Authenticated by its cookie instead.
            Chunk::CookieEcho(_) => DropReason::InvalidCookie,
            _ => DropReason::ForeignAddress,
        };
        assert_eq!(fate, Drop(expected), "{chunk:?}");
    }
}

#[test]
fn the_right_tag_from_another_port_belongs_to_nobody() {
    let mut world = World::listening();
    world.associate(OURS, "198.51.100.1");
    let heartbeat = [Chunk::Heartbeat(Parameters::empty())];
    let other_port = Packet { source_port: PEER_PORT + 1, ..packet(OURS, heartbeat) };
    let (tag, chunk) = world.answer_chunk(&arrival(other_port));
    assert_eq!(tag, OURS);
    assert!(matches!(chunk, Chunk::Abort(Abort { reflected_tag: true, .. })));
}

#[test]
fn init_ack_may_come_from_another_address_if_it_names_a_known_one() {
    let mut world = World::listening();
    let id = world.associate(OURS, "198.51.100.1");
    let init_ack = |listed| packet(OURS, [Chunk::InitAck(init(9, listed))]);
    let other = "198.51.100.2";
    assert_eq!(fate(&mut world, &from(other, init_ack("198.51.100.1")), id), ToAssociation);
    let unrelated = from(other, init_ack("198.51.100.2"));
    assert_eq!(fate(&mut world, &unrelated, id), Drop(DropReason::ForeignAddress));
}

#[test]
fn the_tag_of_another_association_does_not_help() {
    let mut world = World::listening();
    world.associate(OURS, "198.51.100.1");
    world.associate(WRONG, "198.51.100.2");
    let crossed = from("198.51.100.1", packet(WRONG, [Chunk::CookieAck]));
    assert_eq!(world.dropped(&crossed), DropReason::WrongTag);
}

/// 20,000, unless `POLYPATH_FLOOD_PACKETS` says how many.
#[test]
fn blind_packets_reach_nobody() {
    // Known addresses and ports, tags guessed.
    let mut world = World::listening();
    let id = world.associate(OURS, "198.51.100.1");
    let chunks: Vec<_> = matrix().into_iter().map(|(chunk, _)| chunk).collect();
    let mut tag = 1_u32;
    for n in 0..flood_packets(20_000) as usize {
        tag = tag.wrapping_mul(0x9E37_79B1).wrapping_add(1);
        if tag == OURS || tag == 0 {
            continue;
        }
        let chunk = chunks[n % chunks.len()].clone();
        let guess = arrival(packet(tag, [chunk.clone()]));
        // Only the association can tell a reflected tag, only the cookie a COOKIE ECHO.
        let expected = match chunk {
            Chunk::Abort(Abort { reflected_tag: true, .. })
            | Chunk::ShutdownComplete { reflected_tag: true }
            | Chunk::PacketDrop(PacketDrop { flags: 1, .. }) => ToAssociation,
            Chunk::CookieEcho(_) | Chunk::ShutdownAck => ToCollision,
            _ => Drop(WrongTag),
        };
        assert_eq!(fate(&mut world, &guess, id), expected);
    }
    assert_eq!(world.associations(), 1);
}

#[test]
fn notices_change_where_packets_go() {
    let mut world = World::listening();
    let id = world.associate(OURS, "198.51.100.1");
    let packet_from = |source| from(source, packet(OURS, [Chunk::CookieAck]));
    let new = packet_from("198.51.100.2");
    assert_eq!(fate(&mut world, &new, id), Drop(DropReason::ForeignAddress));
    world.endpoint.on_notice(id, Notice::PeerAddress(ip("198.51.100.2")));
    assert_eq!(fate(&mut world, &new, id), ToAssociation);

    // Peers behind one translator share an address: the tag tells whose a packet is.
    let other = world.associate(WRONG, "203.0.113.1");
    world.endpoint.on_notice(other, Notice::PeerAddress(ip("198.51.100.1")));
    assert_eq!(fate(&mut world, &packet_from("198.51.100.1"), id), ToAssociation);
    let claimed = from("198.51.100.1", packet(WRONG, [Chunk::CookieAck]));
    assert_eq!(fate(&mut world, &claimed, other), ToAssociation);
    world.endpoint.on_notice(other, Notice::PeerAddressGone(ip("198.51.100.1")));
    assert_eq!(fate(&mut world, &claimed, id), Drop(WrongTag));

    // Its peer may come from anywhere, and proves itself.
    let guest = || from("192.0.2.77", packet(OURS, [Chunk::Heartbeat(Parameters::empty())]));
    assert_eq!(fate(&mut world, &guest(), id), Drop(DropReason::ForeignAddress));
    world.endpoint.on_notice(id, Notice::TakesNewcomers);
    assert_eq!(fate(&mut world, &guest(), id), ToAssociation);
    let data = from("192.0.2.77", packet(OURS, [Chunk::CookieAck]));
    assert_eq!(fate(&mut world, &data, id), Drop(DropReason::ForeignAddress));

    world.endpoint.on_notice(id, Notice::Closed);
    world.endpoint.on_notice(id, Notice::Closed);
    world.endpoint.on_notice(id, Notice::PeerAddress(ip("198.51.100.1")));
    assert_eq!(world.associations(), 1);
    assert_eq!(world.dropped(&new), DropReason::OutOfTheBlue);
    world.endpoint.on_notice(other, Notice::Closed);
    assert!(world.endpoint.table.is_empty());
}

#[test]
fn an_association_may_take_its_peer_along_when_it_restarts() {
    let mut world = World::listening();
    let id = world.associate(OURS, "198.51.100.1 198.51.100.2");
    world.endpoint.table.renew(id, WRONG, (&ips("198.51.100.2"), &[]), Encapsulation::None);
    let new = from("198.51.100.2", packet(WRONG, [Chunk::Shutdown { cumulative_tsn_ack: 1 }]));
    assert_eq!(fate(&mut world, &new, id), ToAssociation);
    let old = from("198.51.100.2", packet(OURS, [Chunk::Shutdown { cumulative_tsn_ack: 1 }]));
    assert_eq!(fate(&mut world, &old, id), Drop(WrongTag));
    let (ports, old) = (Ports { local: PORT, remote: PEER_PORT }, ip("198.51.100.1"));
    assert!(world.endpoint.table.by_peer(ports, old, Encapsulation::None).is_none());
    world.endpoint.on_notice(id, Notice::Closed);
    assert!(world.endpoint.table.is_empty());
}

/// Gives the same number for ever.
struct Stuck(u32);

impl TryRng for Stuck {
    type Error = core::convert::Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Self::Error> {
        Ok(self.0)
    }

    fn try_next_u64(&mut self) -> Result<u64, Self::Error> {
        Ok(self.0.into())
    }

    fn try_fill_bytes(&mut self, out: &mut [u8]) -> Result<(), Self::Error> {
        out.fill(self.0 as u8);
        Ok(())
    }
}

#[test]
fn a_tag_is_neither_zero_nor_taken() {
    let mut world = World::listening();
    for (drawn, expected) in [(0, 1), (OURS, OURS), (u32::MAX, u32::MAX)] {
        assert_eq!(world.endpoint.table.draw_tag(&mut Stuck(drawn)), expected);
    }
    for (n, tag) in [1, OURS, OURS + 1, u32::MAX].into_iter().enumerate() {
        world.associate(tag, &std::format!("203.0.113.{n}"));
    }
    for (drawn, expected) in [(0, 2), (OURS, OURS + 2), (u32::MAX, 2)] {
        assert_eq!(world.endpoint.table.draw_tag(&mut Stuck(drawn)), expected);
    }
}

#[test]
fn the_headers_alone_tell_the_same_association() {
    let mut world = World::listening();
    let id = world.associate(OURS, "198.51.100.1");
    let encoded = |chunk: &Chunk<'static>, tag: u32, ports: (u16, u16)| {
        let mut packet = packet(tag, [chunk.clone()]);
        (packet.source_port, packet.destination_port) = ports;
        let mut bytes = Vec::new();
        packet.append_to(&mut bytes, Checksum::Crc32c).unwrap();
        bytes
    };
    let own = arrival(packet(OURS, []));
    let foreign = Arrival { remote: ip("198.51.100.9"), ..own.clone() };
    for (chunk, fates) in matrix() {
        let ports = (PEER_PORT, PORT);
        for (tag, fate) in [OURS, 0, WRONG].into_iter().zip(fates) {
            let bytes = encoded(&chunk, tag, ports);
            let expected = (tag == OURS && fate == ToAssociation).then_some(id);
            assert_eq!(
                world.endpoint.owner_of(&own.datagram(&bytes)),
                expected,
                "{chunk:?} {tag:x}"
            );
            assert_eq!(world.endpoint.owner_of(&foreign.datagram(&bytes)), None);
        }
        for ports in [(PEER_PORT, PORT + 1), (PEER_PORT + 1, PORT)] {
            let bytes = encoded(&chunk, OURS, ports);
            assert_eq!(world.endpoint.owner_of(&own.datagram(&bytes)), None, "{ports:?}");
        }
        let bytes = encoded(&chunk, OURS, ports);
        for len in 0..=12 {
            assert_eq!(world.endpoint.owner_of(&own.datagram(&bytes[..len])), None, "{len} bytes");
        }
        // Whoever gets it verifies the checksum.
        let damaged = &mut bytes.clone()[..];
        damaged[8] ^= 1;
        let is_told = world.endpoint.owner_of(&own.datagram(damaged)).is_some();
        assert_eq!(is_told, fates[0] == ToAssociation);
    }
}
