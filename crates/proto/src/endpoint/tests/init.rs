//! INIT from strangers (RFC 9260 section 5.1).

use std::collections::BTreeSet;

use polypath_wire::{Abort, Cause, Data, DataFlags, Payload};

use super::*;
use crate::Fragmentation;
use crate::types::AddressList;

#[test]
fn init_is_answered_with_init_ack() {
    let mut world = World::listening();
    let transmit = world.answer(&init_arrival(99, "198.51.100.1 198.51.100.2"));
    assert_eq!((transmit.local, transmit.remote), (ip("192.0.2.1"), ip("198.51.100.1")));
    assert_eq!((transmit.path, transmit.ecn), (None, Ecn::NotEct));
    assert_eq!(transmit.fragmentation, Fragmentation::Avoided);
    let packet = transmit.packet;
    assert_eq!((packet.source_port, packet.destination_port), (PORT, PEER_PORT));
    assert_eq!(packet.verification_tag, 99);
    let [Chunk::InitAck(init_ack)] = &packet.chunks[..] else { panic!("{packet:?}") };
    assert_ne!(init_ack.initiate_tag, 0);
    let config = AssociationConfig::with_preset(Preset::Rfc9260);
    assert_eq!(init_ack.a_rwnd, config.receive_buffer_bytes);
    // Not more than the peer takes.
    assert_eq!(init_ack.outbound_streams, 5);
    assert_eq!(init_ack.inbound_streams, config.max_inbound_streams);
    let told: AddressList = init_ack.parameters.addresses().collect();
    assert_eq!(told, ips("192.0.2.1 192.0.2.2"));
    assert!(init_ack.parameters.state_cookie().is_some());
}

#[test]
fn the_answer_takes_the_way_back() {
    let mut world = World::listening();
    let there = Arrival { encapsulation: udp(1234), ..init_arrival(99, "198.51.100.2") };
    let back = world.answer(&Arrival { local: ip("192.0.2.2"), ..there });
    assert_eq!((back.local, back.remote), (ip("192.0.2.2"), ip("198.51.100.1")));
    assert_eq!(back.encapsulation, udp(1234));
}

/// 10,000, unless `POLYPATH_FLOOD_PACKETS` says how many.
#[test]
fn ten_thousand_inits_leave_nothing_behind() {
    let count = flood_packets(10_000);
    let mut world = World::listening();
    let mut tags = BTreeSet::new();
    let (mut tag_bits, mut tsn_bits) = ([0; 32], [0; 32]);
    for n in 0..count {
        let [_, b, c, d] = n.to_be_bytes();
        let spoofed = std::format!("198.{b}.{c}.{d}");
        let (init_ack, _) =
            world.init_ack(&from(&spoofed, packet(0, [Chunk::Init(init(n + 1, ""))])));
        if tags.len() < 10_000 {
            assert!(tags.insert(init_ack.initiate_tag), "a tag came twice");
        }
        for bit in 0..32 {
            tag_bits[bit] += init_ack.initiate_tag >> bit & 1;
            tsn_bits[bit] += init_ack.initial_tsn >> bit & 1;
        }
    }
    assert_eq!(world.associations(), 0);
    assert!(world.endpoint.table.is_empty());
    // Tags and TSNs look random: no tag twice in ten thousand, and each bit set about as often as not (5 sigma).
    let sigma = f64::from(count).sqrt() / 2.0;
    let is_even = |set: &u32| f64::from(set.abs_diff(count / 2)) <= 5.0 * sigma;
    assert!(tag_bits.iter().chain(&tsn_bits).all(is_even));
    // An honest client is served as before.
    let (init_ack, cookie) = world.init_ack(&init_arrival(99, ""));
    let echo = packet(init_ack.initiate_tag, [Chunk::CookieEcho(cookie_bytes(&cookie))]);
    assert!(matches!(world.judge(&arrival(echo)), Ok(echo::EchoVerdict::Accept(..))));
}

fn cookie_bytes(cookie: &[u8]) -> polypath_wire::Raw<'static> {
    polypath_wire::Raw::Borrowed(cookie).into_owned()
}

#[test]
fn the_answer_to_a_small_init_is_small() {
    let mut world = World::listening();
    let answer = world.answer(&init_arrival(99, ""));
    assert!(answer.packet.encoded_len() <= 160, "{} bytes", answer.packet.encoded_len());
}

#[test]
fn impossible_inits_are_refused() {
    let mut world = World::listening();
    let good = init(99, "");
    let host_name = Parameters::build([Parameter::HostName(b"host\0")]);
    let cases = [
        (Init { a_rwnd: 1499, ..good.clone() }, Cause::InvalidParameter),
        (Init { outbound_streams: 0, ..good.clone() }, Cause::InvalidParameter),
        (Init { inbound_streams: 0, ..good.clone() }, Cause::InvalidParameter),
        (
            Init { parameters: host_name.clone(), ..good.clone() },
            Cause::UnresolvableAddress(host_name.as_slice()),
        ),
    ];
    for (init, cause) in cases {
        let (tag, chunk) = world.answer_chunk(&arrival(packet(0, [Chunk::Init(init)])));
        let expected =
            Abort { reflected_tag: false, causes: polypath_wire::Causes::build([cause]) };
        assert_eq!((tag, chunk), (99, Chunk::Abort(expected)));
    }
    let zero = init_arrival(0, "");
    assert_eq!(world.dropped(&zero), DropReason::InitiateTagZero);
}

#[test]
fn init_must_be_alone_and_without_tag() {
    let mut world = World::listening();
    let data = Chunk::Data(Data {
        flags: DataFlags::BEGIN | DataFlags::END,
        tsn: 1,
        stream: 0,
        ssn: 0,
        ppid: 0,
        payload: Payload::Shared((&b"x"[..]).into()),
    });
    let one = Chunk::Init(init(99, ""));
    let init_ack = Chunk::InitAck(init(99, ""));
    for chunks in [
        [one.clone(), data.clone()].to_vec(),
        [data.clone(), one.clone()].to_vec(),
        [one.clone(), one.clone()].to_vec(),
        [data].to_vec(),
        [init_ack].to_vec(),
        [Chunk::CookieAck].to_vec(),
    ] {
        assert_eq!(world.dropped(&arrival(packet(0, chunks))), DropReason::TagZero);
    }
    // With a tag it is like any other packet that belongs to nobody.
    let (tag, chunk) = world.answer_chunk(&arrival(packet(7, [one])));
    assert_eq!(tag, 7);
    assert!(matches!(chunk, Chunk::Abort(Abort { reflected_tag: true, .. })));
}

#[test]
fn who_does_not_listen_or_has_no_room_refuses() {
    let mut deaf = World::new(EndpointConfig::default());
    let (tag, chunk) = deaf.answer_chunk(&init_arrival(99, ""));
    let expected = Abort { reflected_tag: false, causes: polypath_wire::Causes::empty() };
    assert_eq!((tag, chunk), (99, Chunk::Abort(expected)));

    let mut full =
        World::new(EndpointConfig { listening: true, max_associations: 1, ..Default::default() });
    full.associate(5, "203.0.113.1");
    let (tag, chunk) = full.answer_chunk(&init_arrival(99, ""));
    let causes = polypath_wire::Causes::build([Cause::OutOfResource]);
    assert_eq!((tag, chunk), (99, Chunk::Abort(Abort { reflected_tag: false, causes })));
}

#[test]
fn refusals_are_rationed_but_init_acks_are_not() {
    let config = EndpointConfig { max_out_of_the_blue_answers_per_s: 10, ..Default::default() };
    let mut deaf = World::new(config.clone());
    let refused = (0..50).filter(|_| matches!(deaf.handle(&init_arrival(9, "")), Route::Reply(_)));
    assert_eq!(refused.count(), 10);
    assert_eq!(deaf.endpoint.dropped(DropReason::AnswerLimit), 40);
    let mut open = World::new(EndpointConfig { listening: true, ..config });
    for _ in 0..50 {
        open.init_ack(&init_arrival(9, ""));
    }
}

#[test]
fn an_init_of_an_association_is_told_by_any_address() {
    let mut world = World::listening();
    let id = world.associate(5, "198.51.100.1 198.51.100.2");
    let collides = |world: &mut World, init: Arrival| match world.handle(&init) {
        Route::Collision(found) => found == id,
        _ => false,
    };
    assert!(collides(&mut world, init_arrival(99, "")));
    let with = |listed| packet(0, [Chunk::Init(init(99, listed))]);
    assert!(collides(&mut world, from("198.51.100.2", with(""))));
    assert!(collides(&mut world, from("198.51.100.9", with("198.51.100.2"))));
    assert!(!collides(&mut world, from("198.51.100.9", with("198.51.100.8"))));
    // Another port is another peer.
    let other_port = Packet { source_port: PEER_PORT + 1, ..with("198.51.100.2") };
    assert!(!collides(&mut world, arrival(other_port)));
}

#[test]
fn addresses_of_a_peer_are_limited_by_the_paths() {
    let mut world = World::listening();
    let listed: Vec<_> = (1..=100).map(|n| std::format!("203.0.113.{n}")).collect();
    let (init_ack, cookie) = world.init_ack(&init_arrival(99, &listed.join(" ")));
    let echo = packet(init_ack.initiate_tag, [Chunk::CookieEcho(cookie_bytes(&cookie))]);
    let Ok(echo::EchoVerdict::Accept(established, _)) = world.judge(&arrival(echo)) else {
        panic!()
    };
    assert_eq!(established.cookie.peer_addresses.len(), 8);
    assert_eq!(established.cookie.peer_addresses[0], ip("198.51.100.1"));
}

#[test]
fn an_answer_too_long_for_some_path_may_be_fragmented() {
    let addresses = |prefix: &str| {
        let all: Vec<_> = (1..=31).map(|n| std::format!("{prefix}::{n}")).collect();
        all.join(" ")
    };
    let association = AssociationConfig { max_paths: 32, ..Default::default() };
    let config = EndpointConfig { listening: true, association, ..Default::default() };
    let mut world = World::listening();
    let mut cx = Cx { now: at(0), rng: &mut world.rng, probe: &mut NoProbe };
    world.endpoint = Endpoint::new(config, PORT, &ips(&addresses("2001:db8:1")), &mut cx);
    let init = packet(0, [Chunk::Init(init(99, &addresses("2001:db8:2")))]);
    let from_there = from("2001:db8:2::1", init);
    let answer = world.answer(&Arrival { local: ip("2001:db8:1::1"), ..from_there });
    assert_eq!(answer.fragmentation, Fragmentation::Allowed);
    assert!(answer.packet.encoded_len() < 1500, "{} bytes", answer.packet.encoded_len());
}
