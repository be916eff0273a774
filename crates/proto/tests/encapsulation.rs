//! The UDP port of a peer is where its packets come from, also if that changes (RFC 6951 section 5.4): address translators
//! give each path a port of its own, and another one after a pause.

mod common;

use common::{PEER_WINDOW, Victim, config, data, init_ack, ip, message, millis, sack};
use polypath_proto::config::Preset;
use polypath_proto::{Encapsulation, OutgoingMessage, PathId};
use polypath_wire::{Abort, Causes, Chunk};

fn udp(remote_port: u16) -> Encapsulation {
    Encapsulation::Udp { local_port: 9899, remote_port }
}

#[test]
fn answers_go_to_the_port_that_the_peer_sends_from() {
    let mut victim = Victim::established(config(Preset::Cmt));
    for (tsn, carried) in (1..).zip([udp(1111), udp(2222), Encapsulation::None]) {
        victim.receive_carried(ip(2), carried, vec![data(tsn)]);
        while victim.sent().iter().all(|sack| sack.encapsulation != carried) {
            assert!(victim.wait_for_timer());
        }
        victim.send(1, 1000);
        let sent = victim.sent();
        assert!(!sent.is_empty() && sent.iter().all(|packet| packet.encapsulation == carried));
        let acked = victim.first_tsn() + tsn - 1;
        victim.receive_carried(ip(2), carried, vec![sack(acked, PEER_WINDOW, &[])]);
    }
}

/// Each address of the peer has its own port, and all paths to it have the same.
#[test]
fn each_address_has_a_port_of_its_own() {
    let mut victim = Victim::connecting(config(Preset::Cmt), &[ip(2), ip(3)]);
    victim.receive_carried(ip(2), udp(1111), vec![init_ack(&[ip(2), ip(3)])]);
    assert!(victim.sent().iter().all(|echo| echo.encapsulation == udp(1111)), "the cookie too");
    victim.receive_carried(ip(2), udp(1111), vec![Chunk::CookieAck]);
    victim.receive_carried(ip(3), udp(2222), vec![data(1)]);
    victim.now += millis(500);
    victim.sent();
    for (path, port) in [(0, 1111), (1, 2222)] {
        let message = OutgoingMessage { path: Some(PathId(path)), ..message(0, 1000) };
        victim.host.send(victim.now, 0, message).unwrap();
        let ports: Vec<_> = victim.sent().iter().map(|packet| packet.encapsulation).collect();
        assert_eq!(ports, [udp(port)]);
    }
}

#[test]
fn who_does_not_know_the_tag_moves_nothing() {
    let mut victim = Victim::established(config(Preset::Cmt));
    let blind = || Chunk::Abort(Abort { reflected_tag: true, causes: Causes::empty() });
    for (tag, chunk) in [(4711, data(1)), (4711, blind())] {
        victim.receive_carried_with_tag(tag, ip(2), udp(1111), vec![chunk]);
    }
    victim.receive_carried(ip(9), udp(1111), vec![data(1)]);
    victim.send(1, 1000);
    let sent = victim.sent();
    assert!(!sent.is_empty());
    assert!(sent.iter().all(|packet| packet.encapsulation == Encapsulation::None));
}

/// What concerns IP alone, as a stack of the system that answers in our place, concerns such an association.
#[test]
fn one_path_in_udp_is_not_over_ip_alone() {
    let mut victim = Victim::connecting(config(Preset::Cmt), &[ip(2), ip(3)]);
    victim.receive_carried(ip(2), Encapsulation::None, vec![init_ack(&[ip(2), ip(3)])]);
    victim.receive_carried(ip(2), Encapsulation::None, vec![Chunk::CookieAck]);
    assert!(victim.association().is_over_ip());
    victim.receive_carried(ip(3), udp(2222), vec![data(1)]);
    assert!(!victim.association().is_over_ip());
    victim.receive_carried(ip(3), Encapsulation::None, vec![data(2)]);
    assert!(victim.association().is_over_ip());
}

/// A header more in each packet leaves less for user data.
#[test]
fn a_packet_that_is_carried_has_less_room() {
    for (carried, room) in [(Encapsulation::None, 1500 - 20), (udp(1111), 1500 - 28)] {
        let mut victim = Victim::established(config(Preset::Cmt));
        victim.receive_carried(ip(2), carried, vec![data(1)]);
        victim.sent();
        victim.send(1, 4000);
        let largest = victim.sent().iter().map(|packet| packet.packet.encoded_len()).max();
        assert_eq!(largest, Some(room), "{carried:?}");
    }
}
