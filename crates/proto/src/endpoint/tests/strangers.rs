//! What a peer may take from others: addresses that it only claims, associations, memory.

use polypath_wire::{Abort, Cause, Causes, Raw};

use super::*;
use crate::Association;
use crate::config::NetworkLimit;

/// An association of a peer at `source` that lists these addresses, from the peer's SCTP port `port`.
fn associated(
    world: &mut World,
    (source, port): (&str, u16),
    listed: &str,
) -> (AssociationId, Box<Association>) {
    let echo = echo_of(world, (source, port), listed);
    match world.handle(&echo) {
        Route::New(id, association) => (id, association),
        other => panic!("{other:?}"),
    }
}

fn init_of((source, port): (&str, u16), listed: &str) -> Arrival {
    let packet = packet(0, [Chunk::Init(init(99, listed))]);
    from(source, Packet { source_port: port, ..packet })
}

/// The COOKIE ECHO after an INIT that was answered.
fn echo_of(world: &mut World, from: (&str, u16), listed: &str) -> Arrival {
    let init = init_of(from, listed);
    let (init_ack, cookie) = world.init_ack(&init);
    echo(&init, &init_ack, &cookie)
}

fn echo(init: &Arrival, init_ack: &Init<'_>, cookie: &[u8]) -> Arrival {
    let chunk = Chunk::CookieEcho(Raw::Borrowed(cookie).into_owned());
    let packet = packet(init_ack.initiate_tag, [chunk]);
    let packet = Packet { source_port: init.packet.source_port, ..packet };
    Arrival { packet, ..init.clone() }
}

const ATTACKER: &str = "203.0.113.66";
const VICTIM: &str = "198.51.100.1";

#[test]
fn an_address_that_is_only_claimed_blocks_nobody() {
    let mut world = World::listening();
    let (camper, _) = associated(&mut world, (ATTACKER, PEER_PORT), VICTIM);
    // INIT and COOKIE ECHO of the victim are those of a stranger.
    let (id, _) = associated(&mut world, (VICTIM, PEER_PORT), "");
    assert_ne!(id, camper);
    assert_eq!(world.associations(), 2);
    // From now on the address is the victim's alone: its own next INIT meets its own association.
    let again = init_of((VICTIM, PEER_PORT), "");
    assert!(matches!(world.handle(&again), Route::Collision(found) if found == id));
    world.endpoint.on_notice(camper, Notice::Closed);
    assert!(matches!(world.handle(&again), Route::Collision(found) if found == id));
}

#[test]
fn an_address_that_never_was_confirmed_blocks_nobody_with_other_addresses_either() {
    let mut world = World::listening();
    let (camper, _) = associated(&mut world, (ATTACKER, PEER_PORT), "198.51.100.1 198.51.100.2");
    // The victim lists more addresses than the attacker has named, and comes from one that it has not.
    let (id, _) = associated(
        &mut world,
        ("198.51.100.3", PEER_PORT),
        "198.51.100.1 198.51.100.2 198.51.100.3",
    );
    assert_ne!(id, camper);
    // Before the victim's COOKIE ECHO came, its INIT had changed nothing.
    let mut world = World::listening();
    let (camper, _) = associated(&mut world, (ATTACKER, PEER_PORT), VICTIM);
    world.init_ack(&init_of((VICTIM, PEER_PORT), ""));
    let wrong_tag = packet(0xDEAD, [Chunk::CookieAck]);
    assert_eq!(world.dropped(&from(VICTIM, wrong_tag)), DropReason::WrongTag);
    assert_eq!(world.associations(), 1);
    world.endpoint.on_notice(camper, Notice::Closed);
    assert!(world.endpoint.table.is_empty());
}

#[test]
fn an_attacker_that_camps_at_every_port_keeps_nobody_away() {
    let mut world = World::listening();
    for port in 49_152..=u16::MAX {
        let ports = Ports { local: PORT, remote: port };
        let tag = 0x1000_0000 + u32::from(port);
        let claimed: &[IpAddr] = &[ip(VICTIM)];
        world.endpoint.table.insert(tag, ports, (&[ip(ATTACKER)], claimed), Encapsulation::None);
    }
    for port in [49_152, 50_000, u16::MAX] {
        associated(&mut world, (VICTIM, port), "");
    }
}

#[test]
fn a_confirmed_address_is_not_given_away() {
    let mut world = World::listening();
    let (id, _) = associated(&mut world, (ATTACKER, PEER_PORT), VICTIM);
    // It answered a HEARTBEAT, so it is this peer's.
    world.endpoint.on_notice(id, Notice::PeerAddressConfirmed(ip(VICTIM)));
    let init = init_of((VICTIM, PEER_PORT), "");
    assert!(matches!(world.handle(&init), Route::Collision(found) if found == id));
    // Who claims it does not get it.
    let claims = ("203.0.113.67", PEER_PORT + 1);
    let (other, _) = associated(&mut world, claims, VICTIM);
    assert_ne!(other, id);
    assert!(matches!(world.handle(&init), Route::Collision(found) if found == id));
}

#[test]
fn a_forged_source_of_a_cookie_echo_confirms_nothing() {
    let mut world = World::listening();
    let cookie_echo = echo_of(&mut world, (ATTACKER, PEER_PORT), VICTIM);
    // The attacker got the cookie at its own address, and sends it as the victim.
    let forged = Arrival { remote: ip(VICTIM), ..cookie_echo };
    let Route::New(camper, _) = world.handle(&forged) else { panic!() };
    let (id, _) = associated(&mut world, (VICTIM, PEER_PORT), "");
    assert_ne!(id, camper);
}

#[test]
fn a_peer_at_one_address_gets_so_many_associations() {
    let config = EndpointConfig {
        listening: true,
        max_associations_per_address: Some(2),
        ..Default::default()
    };
    let mut world = World::new(config);
    // This one had its INIT answered in time.
    let late = echo_of(&mut world, (ATTACKER, 3), "");
    let ids = [1, 2].map(|port| associated(&mut world, (ATTACKER, port), "").0);
    let causes = Causes::build([Cause::UserInitiatedAbort(
        b"at most 2 associations at a time from one address",
    )]);
    let refusal = (99, Chunk::Abort(Abort { reflected_tag: false, causes }));
    assert_eq!(world.answer_chunk(&init_of((ATTACKER, 4), "")), refusal);
    assert_eq!(world.answer_chunk(&late), refusal);
    // Others are served, also those whose addresses it claims to have.
    associated(&mut world, (VICTIM, 5), "");
    world.endpoint.on_notice(ids[0], Notice::Closed);
    associated(&mut world, (ATTACKER, 6), "");
}

#[test]
fn peers_of_one_network_get_so_many_associations() {
    let config = EndpointConfig {
        listening: true,
        max_associations_per_network: Some(NetworkLimit::new(3)),
        ..Default::default()
    };
    let mut world = World::new(config);
    let late = echo_of(&mut world, ("203.0.113.99", 1), "");
    let ids = [1, 2, 3]
        .map(|host| associated(&mut world, (&std::format!("203.0.113.{host}"), PEER_PORT), "").0);
    let causes = Causes::build([Cause::UserInitiatedAbort(
        b"at most 3 associations at a time from one network",
    )]);
    let refusal = (99, Chunk::Abort(Abort { reflected_tag: false, causes }));
    assert_eq!(world.answer_chunk(&init_of(("203.0.113.4", PEER_PORT), "")), refusal);
    assert_eq!(world.answer_chunk(&late), refusal);
    // Neighbours are served, and so is the network when it has a place again.
    associated(&mut world, ("203.0.112.1", PEER_PORT), "");
    world.endpoint.on_notice(ids[1], Notice::Closed);
    associated(&mut world, ("203.0.113.5", PEER_PORT), "");
}

#[test]
fn while_all_places_are_taken_those_that_may_be_replaced_make_way() {
    let config = EndpointConfig { listening: true, max_associations: 3, ..Default::default() };
    let mut world = World::new(config);
    let out_of_resource = || {
        let causes = Causes::build([Cause::OutOfResource]);
        (99, Chunk::Abort(Abort { reflected_tag: false, causes }))
    };
    let [first, second, third] =
        [1, 2, 3].map(|port| associated(&mut world, (ATTACKER, port), "").0);
    assert_eq!(world.answer_chunk(&init_of((VICTIM, 1), "")), out_of_resource());
    world.endpoint.set_replaceable([second, first]);
    // An INIT, whose source may be forged, ends nothing.
    let echoes = [1, 2, 3].map(|port| echo_of(&mut world, (VICTIM, port), ""));
    assert_eq!(world.endpoint.take_replaced(), None);
    for (echo, replaced) in echoes.iter().zip([second, first]) {
        let Route::New(id, _) = world.handle(echo) else { panic!("refused") };
        assert_eq!(world.endpoint.take_replaced(), Some(replaced));
        assert_eq!(world.endpoint.take_replaced(), None);
        assert_ne!(id, replaced);
    }
    // Nobody else may be replaced, and those that are leaving are so only once.
    assert_eq!(world.associations(), 5);
    assert_eq!(world.answer_chunk(&echoes[2]), out_of_resource());
    world.endpoint.set_replaceable([first, second]);
    assert_eq!(world.answer_chunk(&echoes[2]), out_of_resource());
    // An association that was replaced frees no second place when it ends.
    for gone in [first, second] {
        world.endpoint.on_notice(gone, Notice::Closed);
        assert_eq!(world.answer_chunk(&echoes[2]), out_of_resource());
    }
    // Who has ended by itself makes no way, and its place is taken first.
    world.endpoint.set_replaceable([third]);
    world.endpoint.on_notice(third, Notice::Closed);
    assert!(matches!(world.handle(&echoes[2]), Route::New(..)));
    assert_eq!(world.endpoint.take_replaced(), None);
    assert_eq!(world.answer_chunk(&init_of((VICTIM, 9), "")), out_of_resource());
}

#[test]
fn near_the_limit_of_memory_associations_are_refused() {
    let config = |bytes| EndpointConfig {
        listening: true,
        max_buffered_bytes: Some(bytes),
        ..Default::default()
    };
    let mut world = World::new(config(64 << 10));
    // The floor of one association fits.
    let (id, association) = associated(&mut world, (ATTACKER, 1), "");
    let causes = Causes::build([Cause::OutOfResource]);
    let refusal = (99, Chunk::Abort(Abort { reflected_tag: false, causes }));
    assert_eq!(world.answer_chunk(&init_of((VICTIM, 2), "")), refusal);
    drop(association);
    world.endpoint.on_notice(id, Notice::Closed);
    associated(&mut world, (VICTIM, 2), "");
}

/// Bytes of an IP packet with this packet in it.
fn ip_bytes(packet: &Packet<'_>, remote: IpAddr, carried: Encapsulation) -> usize {
    let ip = if remote.is_ipv4() { 20 } else { 40 };
    let udp = if carried == Encapsulation::None { 0 } else { 8 };
    ip + udp + packet.encoded_len()
}

#[test]
fn an_init_ack_is_at_most_three_times_as_large_as_its_init() {
    for count in [1, 2, 4, 16, 32] {
        for carried in [udp(1234), Encapsulation::None] {
            for (net, peer) in [("192.0.2.", "198.51.100.1"), ("2001:db8:1::", "2001:db8:2::1")] {
                for preset in [Preset::Rfc9260, Preset::Recommended] {
                    let local: Vec<_> =
                        (1..=count).map(|n| ip(&std::format!("{net}{n}"))).collect();
                    let association = AssociationConfig::with_preset(preset);
                    let config =
                        EndpointConfig { listening: true, association, ..Default::default() };
                    let mut world = World::new(config.clone());
                    let mut cx = Cx { now: at(0), rng: &mut world.rng, probe: &mut NoProbe };
                    world.endpoint = Endpoint::new(config, PORT, &local, &mut cx);
                    let small = packet(0, [Chunk::Init(init(99, ""))]);
                    let arrival = Arrival {
                        local: local[0],
                        encapsulation: carried,
                        ..from(peer, small.clone())
                    };
                    let asked = ip_bytes(&small, ip(peer), carried);
                    let answers: Vec<_> =
                        (0..1000).map(|_| world.handle(&arrival)).filter_map(reply).collect();
                    let answer = ip_bytes(&answers[0].packet, ip(peer), carried);
                    let what =
                        std::format!("{count} {carried:?} {peer} {preset:?}: {asked} -> {answer}");
                    std::println!("{what}");
                    assert!(answer <= 3 * asked, "{what}");
                    // Clients that are honest are not shut out by a ration.
                    assert_eq!(answers.len(), 1000, "{what}");
                }
            }
        }
    }
}

fn reply(route: Route) -> Option<Box<Transmit>> {
    match route {
        Route::Reply(transmit) => Some(transmit),
        _ => None,
    }
}
