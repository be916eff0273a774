//! Packets that belong to no association (RFC 9260 section 8.4).

use std::vec;

use polypath_wire::{Abort, Cause, Causes, Data, DataFlags, Payload, Raw};

use super::*;

const TAG: u32 = 0xABCD;

fn data() -> Chunk<'static> {
    Chunk::Data(Data {
        flags: DataFlags::BEGIN | DataFlags::END,
        tsn: 1,
        stream: 0,
        ssn: 0,
        ppid: 0,
        payload: Payload::Shared((&b"x"[..]).into()),
    })
}

fn abort(reflected_tag: bool) -> Chunk<'static> {
    Chunk::Abort(Abort { reflected_tag, causes: Causes::empty() })
}

fn error(cause: Cause<'_>) -> Chunk<'static> {
    Chunk::Error(Causes::build([cause]))
}

/// What a packet of these chunks is answered with.
fn answer_to(chunks: &[Chunk<'static>]) -> Option<Chunk<'static>> {
    let mut world = World::listening();
    let packet = arrival(packet(TAG, chunks.to_vec()));
    match world.handle(&packet) {
        Route::Reply(answer) => {
            assert_eq!(answer.packet.verification_tag, TAG);
            assert_eq!((answer.local, answer.remote), (packet.local, packet.remote));
            let [chunk] = &answer.packet.chunks[..] else { panic!("{answer:?}") };
            Some(chunk.clone())
        }
        Route::Drop(DropReason::OutOfTheBlue) => None,
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_rules_in_their_order() {
    let stale = error(Cause::StaleCookie { staleness_us: 1 });
    let complete = Chunk::ShutdownComplete { reflected_tag: false };
    let answered_complete = Some(Chunk::ShutdownComplete { reflected_tag: true });
    let answered_abort = Some(abort(true));
    let echo = Chunk::CookieEcho(Raw::Borrowed(b"no cookie at all"));
    let table = [
        // Rule 2 before all others.
        (vec![abort(false)], None),
        (vec![abort(true)], None),
        (vec![data(), abort(false)], None),
        (vec![Chunk::ShutdownAck, abort(false)], None),
        (vec![echo.clone(), abort(false)], None),
        // Rule 5, before 6 and 7.
        (vec![Chunk::ShutdownAck], answered_complete.clone()),
        (vec![data(), Chunk::ShutdownAck], answered_complete.clone()),
        (vec![Chunk::ShutdownAck, complete.clone()], answered_complete.clone()),
        (vec![Chunk::CookieAck, Chunk::ShutdownAck], answered_complete),
        // Rule 6.
        (vec![complete.clone()], None),
        (vec![Chunk::ShutdownComplete { reflected_tag: true }], None),
        // Rule 7.
        (vec![stale.clone()], None),
        (vec![Chunk::CookieAck], None),
        (vec![Chunk::CookieAck, data()], None),
        // Rule 8.
        (vec![data()], answered_abort.clone()),
        (vec![data(), echo], answered_abort.clone()),
        (vec![error(Cause::OutOfResource)], answered_abort.clone()),
        (vec![Chunk::Shutdown { cumulative_tsn_ack: 1 }], answered_abort.clone()),
        (vec![Chunk::Heartbeat(Parameters::empty())], answered_abort.clone()),
        (vec![Chunk::HeartbeatAck(Parameters::empty())], answered_abort.clone()),
        (vec![Chunk::Init(init(1, ""))], answered_abort.clone()),
        (vec![Chunk::InitAck(init(1, ""))], answered_abort),
    ];
    for (chunks, expected) in table {
        assert_eq!(answer_to(&chunks), expected, "{chunks:?}");
    }
}

#[test]
fn answers_do_not_lead_to_answers() {
    for chunks in [[data()].to_vec(), [Chunk::ShutdownAck].to_vec()] {
        let answer = answer_to(&chunks).unwrap();
        assert_eq!(answer_to(&[answer]), None);
    }
}

#[test]
fn answers_are_not_longer_than_questions() {
    for chunks in [[data()].to_vec(), [Chunk::ShutdownAck].to_vec()] {
        let question: usize = chunks.iter().map(Chunk::padded_len).sum();
        assert!(answer_to(&chunks).unwrap().padded_len() <= question);
    }
}

#[test]
fn nobody_who_is_not_unicast_is_answered() {
    let mut world = World::listening();
    for source in ["224.0.0.1", "255.255.255.255", "0.0.0.0", "::", "ff02::1", "240.0.0.9"] {
        for tag in [0, TAG] {
            let chunk = if tag == 0 { Chunk::Init(init(9, "")) } else { data() };
            let stray = from(source, packet(tag, [chunk]));
            assert_eq!(world.dropped(&stray), DropReason::NotUnicast, "{source}");
        }
    }
    for tag in [0, TAG] {
        let chunk = if tag == 0 { Chunk::Init(init(9, "")) } else { data() };
        let stray = Arrival { local: ip("224.0.1.1"), ..arrival(packet(tag, [chunk])) };
        assert_eq!(world.dropped(&stray), DropReason::NotUnicast);
    }
}

#[test]
fn a_packet_from_ourselves_is_not_answered() {
    let mut world = World::listening();
    let own = |encapsulation| {
        let init = Packet { source_port: PORT, ..packet(0, [Chunk::Init(init(9, ""))]) };
        Arrival { encapsulation, ..from("192.0.2.2", init) }
    };
    assert_eq!(world.dropped(&own(Encapsulation::None)), DropReason::OwnAddress);
    assert_eq!(world.dropped(&own(udp(9899))), DropReason::OwnAddress);
    // Another UDP port on this host is somebody else.
    world.init_ack(&own(udp(9900)));
}

#[test]
fn ports_that_cannot_be_are_not_answered() {
    let mut world = World::listening();
    let zero = Packet { source_port: 0, ..packet(TAG, [data()]) };
    assert_eq!(world.dropped(&arrival(zero)), DropReason::PortZero);
    let other = Packet { destination_port: PORT + 1, ..packet(TAG, [data()]) };
    assert_eq!(world.dropped(&arrival(other)), DropReason::OtherPort);
}

#[test]
fn over_udp_nobody_else_has_another_port() {
    let mut world = World::listening();
    let other = |tag, chunk: Chunk<'static>| Arrival {
        encapsulation: udp(40_001),
        ..arrival(Packet { destination_port: PORT + 1, ..packet(tag, [chunk]) })
    };
    let refused = world.answer(&other(0, Chunk::Init(init(9, ""))));
    assert_eq!(
        (refused.packet.source_port, refused.packet.destination_port),
        (PORT + 1, PEER_PORT),
        "from the port that was asked for"
    );
    assert_eq!(
        (refused.packet.verification_tag, &refused.packet.chunks[..]),
        (9, &[abort(false)][..])
    );
    assert_eq!(refused.encapsulation, udp(40_001));
    assert_eq!(world.answer_chunk(&other(TAG, data())), (TAG, abort(true)));
    let complete = Chunk::ShutdownComplete { reflected_tag: true };
    assert_eq!(world.answer_chunk(&other(TAG, Chunk::ShutdownAck)), (TAG, complete));
    for (tag, chunk, reason) in [
        (TAG, abort(true), DropReason::OutOfTheBlue),
        (0, abort(true), DropReason::TagZero),
        (0, Chunk::Init(init(0, "")), DropReason::InitiateTagZero),
    ] {
        assert_eq!(world.dropped(&other(tag, chunk)), reason);
    }
    let mut zero = other(TAG, data());
    zero.packet.destination_port = 0;
    assert_eq!(world.dropped(&zero), DropReason::OtherPort);
}

#[test]
fn packets_for_another_port_are_answered_as_seldom_as_any() {
    let config = EndpointConfig { max_out_of_the_blue_answers_per_s: 20, ..Default::default() };
    let mut world = World::new(config);
    let other = Packet { destination_port: PORT + 1, ..packet(0, [Chunk::Init(init(9, ""))]) };
    let stray = Arrival { encapsulation: udp(40_001), ..arrival(other) };
    let answers = (0..100).filter(|_| matches!(world.handle(&stray), Route::Reply(_))).count();
    assert_eq!(answers, 20);
    assert_eq!(world.endpoint.dropped(DropReason::AnswerLimit), 80);
}

#[test]
fn answers_are_rationed() {
    let config = EndpointConfig { max_out_of_the_blue_answers_per_s: 20, ..Default::default() };
    let mut world = World::new(config);
    let stray = arrival(packet(TAG, [data()]));
    let answers = |world: &mut World| {
        (0..100).filter(|_| matches!(world.handle(&stray), Route::Reply(_))).count()
    };
    assert_eq!(answers(&mut world), 20);
    world.now = at(0) + Duration::from_millis(250);
    assert_eq!(answers(&mut world), 5);
    world.now = at(100);
    assert_eq!(answers(&mut world), 20);
    assert_eq!(world.endpoint.dropped(DropReason::AnswerLimit), 255);
}

#[test]
fn damaged_datagrams_are_not_answered() {
    let mut world = World::listening();
    let stray = arrival(packet(TAG, [data()]));
    let good = encode(&packet(TAG, [data()]));
    for bit in 0..good.len() * 8 {
        let mut bytes = good.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        let damaged = stray.datagram(&bytes);
        assert_eq!(world.dropped_received(&damaged), DropReason::WrongChecksum, "bit {bit}");
    }
    for len in 0..good.len() {
        let cut = stray.datagram(&good[..len]);
        let expected = if len < 12 { DropReason::Malformed } else { DropReason::WrongChecksum };
        assert_eq!(world.dropped_received(&cut), expected, "{len} bytes");
    }
    let mut zero = good.clone();
    zero[8..12].fill(0);
    let zero = stray.datagram(&zero);
    assert_eq!(world.dropped_received(&zero), DropReason::WrongChecksum);
    let good = stray.datagram(&good);
    assert!(matches!(world.handle_received(&good), Route::Reply(_)));
}

#[test]
fn damaged_packets_of_a_peer_go_to_its_association() {
    let mut world = World::listening();
    let id = world.associate(TAG, "198.51.100.1");
    let known = arrival(packet(TAG, [data()]));
    assert!(matches!(world.handle(&known), Route::Association(_)));
    let mut bytes = encode(&known.packet);
    bytes[8] ^= 1;
    let marked = Body::Damaged { packet: &known.packet, checksum_flips: 1 };
    for (count, received) in (1..).zip([known.carrying(marked), known.datagram(&bytes)]) {
        let route = world.handle_received(&received);
        assert!(matches!(route, Route::Damaged(to) if to == id), "{route:?}");
        assert_eq!(world.endpoint.dropped(DropReason::WrongChecksum), count);
    }
    // Damage that hit a port, or the packet of a stranger.
    for at in 0..4 {
        let mut bytes = bytes.clone();
        bytes[at] ^= 1;
        assert_eq!(world.dropped_received(&known.datagram(&bytes)), DropReason::WrongChecksum);
    }
    let stranger = Received { remote: ip("198.51.100.77"), ..known.datagram(&bytes) };
    assert_eq!(world.dropped_received(&stranger), DropReason::WrongChecksum);
}

#[test]
fn malformed_chunks_are_not_answered() {
    let mut world = World::listening();
    let stray = arrival(packet(TAG, []));
    assert_eq!(world.dropped(&stray), DropReason::Malformed);
    for tag in [0, TAG] {
        let whole = encode(&packet(tag, [data(), Chunk::CookieAck]));
        for len in 12..whole.len() {
            // The checksum is right, but the last chunk is cut.
            let mut bytes = whole[..len].to_vec();
            polypath_wire::write_checksum(&mut bytes);
            let cut = stray.datagram(&bytes);
            match (tag, world.handle_received(&cut)) {
                // Cut between chunks, or only padding is gone.
                (TAG, Route::Reply(_)) => assert!((29..=32).contains(&len), "{len} bytes"),
                (TAG, Route::Drop(DropReason::Malformed)) => {}
                (0, Route::Drop(DropReason::TagZero | DropReason::Malformed)) => {}
                (_, other) => panic!("{len} bytes: {other:?}"),
            }
        }
    }
}
