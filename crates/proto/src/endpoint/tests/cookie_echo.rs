//! COOKIE ECHO from strangers (RFC 9260 section 5.1.5).

use polypath_wire::{Abort, Cause, Causes, Raw};

use super::*;
use crate::association::handshake::view::Established;
use crate::types::PeerAddress;

/// Tag in packets to us, and cookie, as an INIT ACK told them.
#[derive(Clone)]
struct Ticket {
    tag: u32,
    cookie: Vec<u8>,
}

impl World {
    fn ticket(&mut self, init: &Arrival) -> Ticket {
        let (init_ack, cookie) = self.init_ack(init);
        Ticket { tag: init_ack.initiate_tag, cookie }
    }

    fn accepted(&mut self, echo: &Arrival) -> Box<Established> {
        match self.judge(echo) {
            Ok(echo::EchoVerdict::Accept(established, _)) => established,
            other => panic!("{other:?}"),
        }
    }
}

impl Ticket {
    fn packet(&self) -> Packet<'static> {
        packet(self.tag, [Chunk::CookieEcho(Raw::Borrowed(&self.cookie).into_owned())])
    }

    fn echo(&self) -> Arrival {
        arrival(self.packet())
    }
}

#[test]
fn a_good_cookie_makes_an_association() {
    let mut world = World::listening();
    let init = init_arrival(99, "198.51.100.2");
    let ticket = world.ticket(&Arrival { encapsulation: udp(1234), ..init });
    let established = world.accepted(&Arrival { encapsulation: udp(1234), ..ticket.echo() });
    let cookie = &established.cookie;
    assert_eq!((cookie.local_tag, cookie.peer_tag), (ticket.tag, 99));
    assert_eq!((cookie.local_port, cookie.remote_port), (PORT, PEER_PORT));
    assert_eq!((cookie.peer_initial_tsn, cookie.a_rwnd), (77, 100_000));
    assert_eq!((cookie.outbound_streams, cookie.inbound_streams), (5, 20));
    assert_eq!(cookie.tie_tags, crate::association::handshake::cookie::TieTags::default());
    assert_eq!(cookie.peer_addresses, ips("198.51.100.1 198.51.100.2"));
    let source = PeerAddress { address: ip("198.51.100.1"), encapsulation: udp(1234) };
    assert_eq!(cookie.source(), Some(source));
    assert_eq!((established.local, established.remote), (ip("192.0.2.1"), source));
    let identity = world.endpoint.identity_of(cookie);
    assert_eq!((identity.local_port, identity.remote_port), (PORT, PEER_PORT));
    assert_eq!((identity.local_tag, identity.initial_tsn), (ticket.tag, cookie.local_initial_tsn));
    assert_eq!(identity.local_addresses, ips("192.0.2.1 192.0.2.2"));
}

#[test]
fn the_address_that_was_tried_comes_first() {
    let mut world = World::listening();
    let init = Arrival { local: ip("192.0.2.2"), ..init_arrival(99, "") };
    let ticket = world.ticket(&init);
    let established = world.accepted(&ticket.echo());
    assert_eq!(established.cookie.local_address, ip("192.0.2.2"));
    let identity = world.endpoint.identity_of(&established.cookie);
    assert_eq!(identity.local_addresses, ips("192.0.2.2 192.0.2.1"));
}

#[test]
fn forged_and_cut_cookies_are_dropped() {
    let mut world = World::listening();
    let good = world.ticket(&init_arrival(99, "198.51.100.2"));
    for bit in 0..good.cookie.len() * 8 {
        let mut forged = good.clone();
        forged.cookie[bit / 8] ^= 1 << (bit % 8);
        assert_eq!(world.dropped(&forged.echo()), DropReason::InvalidCookie, "bit {bit}");
    }
    for len in 0..good.cookie.len() {
        let cut = Ticket { cookie: good.cookie[..len].to_vec(), ..good };
        assert_eq!(world.dropped(&cut.echo()), DropReason::InvalidCookie, "{len} bytes");
    }
    assert!(world.endpoint.table.is_empty());
    world.accepted(&good.echo());
}

#[test]
fn a_cookie_is_bound_to_tag_and_ports() {
    let mut world = World::listening();
    let good = world.ticket(&init_arrival(99, ""));
    for bit in 0..32 {
        let other_tag = Ticket { tag: good.tag ^ 1 << bit, ..good.clone() };
        assert_eq!(world.dropped(&other_tag.echo()), DropReason::CookieMismatch);
    }
    let other_source = Packet { source_port: PEER_PORT + 1, ..good.packet() };
    assert_eq!(world.dropped(&arrival(other_source)), DropReason::CookieMismatch);

    // An endpoint with the same secret at another port.
    let mut cx =
        Cx { now: at(0), rng: &mut Xoshiro256PlusPlus::seed_from_u64(1), probe: &mut NoProbe };
    let config = EndpointConfig { listening: true, ..Default::default() };
    world.endpoint = Endpoint::new(config, PORT + 1, &ips("192.0.2.1"), &mut cx);
    let other_port = Packet { destination_port: PORT + 1, ..good.packet() };
    assert_eq!(world.dropped(&arrival(other_port)), DropReason::CookieMismatch);
}

#[test]
fn a_cookie_is_bound_to_addresses() {
    let mut world = World::listening();
    let init = Arrival { encapsulation: udp(1234), ..init_arrival(99, "198.51.100.2") };
    let ticket = world.ticket(&init);
    let from = |remote, local, encapsulation| Arrival {
        local: ip(local),
        encapsulation,
        ..from(remote, ticket.packet())
    };
    for stranger in [
        from("198.51.100.3", "192.0.2.1", udp(1234)),
        from("198.51.100.1", "192.0.2.9", udp(1234)),
        // Somebody else behind the same address translator.
        from("198.51.100.1", "192.0.2.1", udp(1235)),
        from("198.51.100.1", "192.0.2.1", Encapsulation::None),
    ] {
        assert_eq!(world.dropped(&stranger), DropReason::CookieMismatch, "{stranger:?}");
    }
    for peer in [
        from("198.51.100.1", "192.0.2.1", udp(1234)),
        from("198.51.100.1", "192.0.2.2", udp(1234)),
        from("198.51.100.2", "192.0.2.1", udp(7)),
        from("198.51.100.2", "192.0.2.1", Encapsulation::None),
    ] {
        world.accepted(&peer);
    }
}

#[test]
fn a_cookie_of_another_instance_is_dropped() {
    let ticket = World::listening().ticket(&init_arrival(99, ""));
    let config = EndpointConfig { listening: true, ..Default::default() };
    let mut other = World::seeded(config, 2);
    assert_eq!(other.dropped(&ticket.echo()), DropReason::InvalidCookie);
}

#[test]
fn an_expired_cookie_is_reported_with_its_staleness() {
    let mut world = World::listening();
    let ticket = world.ticket(&init_arrival(99, ""));
    let expiry = at(60);
    world.now = expiry;
    world.accepted(&ticket.echo());
    let table = [
        (Duration::from_nanos(1), 1),
        (Duration::from_nanos(1_000), 1),
        (Duration::from_nanos(1_001), 2),
        (Duration::from_millis(1_500), 1_500_000),
        (Duration::from_secs(4_294), 4_294_000_000),
        (Duration::from_secs(5_000), u32::MAX),
    ];
    for (late, staleness_us) in table {
        world.now = expiry + late;
        let (tag, chunk) = world.answer_chunk(&ticket.echo());
        let causes = Causes::build([Cause::StaleCookie { staleness_us }]);
        assert_eq!((tag, chunk), (99, Chunk::Error(causes)));
    }
    assert!(world.endpoint.table.is_empty());
}

#[test]
fn complaints_about_staleness_are_rationed() {
    let mut world = World::listening();
    let ticket = world.ticket(&init_arrival(99, ""));
    world.now = at(61);
    let answers = (0..500).filter(|_| matches!(world.handle(&ticket.echo()), Route::Reply(_)));
    assert_eq!(answers.count(), 100);
}

#[test]
fn a_longer_life_is_granted_up_to_twice_the_usual() {
    for (wish_ms, life) in [(0, 60), (5_000, 65), (60_000, 120), (61_000, 120), (u32::MAX, 120)] {
        let mut world = World::listening();
        let parameters = Parameters::build([Parameter::CookiePreservative(wish_ms)]);
        let wishing = packet(0, [Chunk::Init(Init { parameters, ..init(99, "") })]);
        let ticket = world.ticket(&arrival(wishing));
        world.now = at(life);
        world.accepted(&ticket.echo());
        world.now = at(life) + Duration::from_nanos(1);
        world.answer(&ticket.echo());
    }
}

#[test]
fn cookies_survive_one_change_of_the_secret() {
    let mut world = World::listening();
    world.now = at(3_599);
    let parameters = Parameters::build([Parameter::CookiePreservative(60_000)]);
    let wishing = packet(0, [Chunk::Init(Init { parameters, ..init(99, "") })]);
    let ticket = world.ticket(&arrival(wishing));
    world.now = at(3_600);
    world.ticket(&init_arrival(98, ""));
    world.now = at(3_599 + 120);
    world.accepted(&ticket.echo());
    world.now = at(3_600 + 121);
    assert_eq!(world.dropped(&ticket.echo()), DropReason::InvalidCookie);
}

#[test]
fn a_replayed_cookie_makes_nothing_new() {
    let mut world = World::listening();
    let ticket = world.ticket(&init_arrival(99, "198.51.100.2"));
    let id = world.associate(ticket.tag, "198.51.100.1 198.51.100.2");
    for _ in 0..1_000 {
        for source in ["198.51.100.1", "198.51.100.2"] {
            let replay = from(source, ticket.packet());
            assert!(matches!(world.handle(&replay), Route::Collision(found) if found == id));
        }
    }
    assert_eq!(world.associations(), 1);
}

#[test]
fn a_cookie_makes_one_association_and_none_after_its_end() {
    for (seconds, spent) in [(0, DropReason::TagTaken), (59, DropReason::TagTaken)] {
        let mut world = World::listening();
        let ticket = world.ticket(&init_arrival(99, "198.51.100.2"));
        let Route::New(id, _) = world.handle(&ticket.echo()) else { panic!("no association") };
        world.endpoint.on_notice(id, crate::Notice::Closed);
        world.now += crate::Duration::from_secs(seconds);
        assert_eq!(world.dropped(&ticket.echo()), spent, "{seconds} s later");
        // The same peer may begin another one.
        let again = world.ticket(&init_arrival(98, "198.51.100.2"));
        assert!(matches!(world.handle(&again.echo()), Route::New(..)));
    }
}

#[test]
fn a_cookie_with_an_address_of_an_association_belongs_to_it() {
    let mut world = World::listening();
    let ticket = world.ticket(&init_arrival(99, "198.51.100.2"));
    // Came up after the INIT was answered.
    let id = world.associate(5, "198.51.100.2");
    let route = world.handle(&ticket.echo());
    assert!(matches!(route, Route::Collision(found) if found == id), "{route:?}");
}

#[test]
fn a_tag_is_given_once() {
    let mut world = World::listening();
    let ticket = world.ticket(&init_arrival(99, ""));
    world.associate(ticket.tag, "203.0.113.1");
    assert_eq!(world.dropped(&ticket.echo()), DropReason::TagTaken);
}

#[test]
fn room_and_willingness_are_asked_again() {
    let config = EndpointConfig { listening: true, max_associations: 1, ..Default::default() };
    let mut world = World::new(config.clone());
    let ticket = world.ticket(&init_arrival(99, ""));
    world.associate(5, "203.0.113.1");
    let (tag, chunk) = world.answer_chunk(&ticket.echo());
    let causes = Causes::build([Cause::OutOfResource]);
    assert_eq!((tag, chunk), (99, Chunk::Abort(Abort { reflected_tag: false, causes })));

    let mut deaf = World::new(EndpointConfig { listening: false, ..config });
    let (tag, chunk) = deaf.answer_chunk(&ticket.echo());
    let expected = Abort { reflected_tag: false, causes: Causes::empty() };
    assert_eq!((tag, chunk), (99, Chunk::Abort(expected)));
}

#[test]
fn the_whole_packet_must_be_readable() {
    let mut world = World::listening();
    let ticket = world.ticket(&init_arrival(99, ""));
    let mut bytes = encode(&ticket.packet());
    bytes.extend_from_slice(&[0, 3, 0, 40, 1, 2, 3, 4]);
    polypath_wire::write_checksum(&mut bytes);
    let damaged = ticket.echo().datagram(&bytes);
    assert_eq!(world.dropped_received(&damaged), DropReason::Malformed);
    let whole = encode(&ticket.packet());
    let verdict = world.judge_received(&ticket.echo().datagram(&whole));
    assert!(matches!(verdict, Ok(echo::EchoVerdict::Accept(..))));
}

#[test]
fn an_address_that_was_lost_since_the_init_is_not_used() {
    let mut world = World::listening();
    let ticket = world.ticket(&init_arrival(99, ""));
    world.endpoint.handle_local_address(LocalAddressChange::Removed(ip("192.0.2.1")));
    let echo = Arrival { local: ip("192.0.2.2"), ..ticket.echo() };
    let established = world.accepted(&echo);
    assert_eq!(established.local, ip("192.0.2.2"));
    assert_eq!(world.endpoint.identity_of(&established.cookie).local_addresses, ips("192.0.2.2"));
}
