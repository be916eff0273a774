//! The UDP port of a peer is where its packets come from, also if that changes (RFC 6951 section 5.4): address translators
//! give each path a port of its own, and another one after a pause. A new one is believed when it has answered.

mod common;

use std::net::IpAddr;

use common::{PEER_WINDOW, Victim, config, data, init_ack, ip, message, millis, sack, secs};
use polypath_proto::config::{EndpointConfig, Preset};
use polypath_proto::{
    Encapsulation, Event, Instant, OutgoingMessage, PathId, PathStatus, PeerAddress, Transmit,
};
use polypath_testkit::Host;
use polypath_wire::{Abort, Causes, Chunk};

fn udp(remote_port: u16) -> Encapsulation {
    Encapsulation::Udp { local_port: 9899, remote_port }
}

/// The HEARTBEATs among packets, with how they were carried.
fn heartbeats(sent: &[Transmit]) -> Vec<(Encapsulation, Chunk<'static>)> {
    let all = sent.iter().flat_map(|packet| {
        packet.packet.chunks.iter().map(move |chunk| (packet.encapsulation, chunk.clone()))
    });
    all.filter(|(_, chunk)| matches!(chunk, Chunk::Heartbeat(_))).collect()
}

/// The peer answers what it was asked at `carried`, from there.
fn answer(victim: &mut Victim, from: IpAddr, carried: Encapsulation, sent: &[Transmit]) {
    for (to, chunk) in heartbeats(sent) {
        let Chunk::Heartbeat(info) = chunk else { continue };
        if to == carried {
            victim.receive_carried(from, carried, vec![Chunk::HeartbeatAck(info)]);
        }
    }
}

/// The peer moves to this port: a packet comes from there, and what is asked is answered.
fn move_to(victim: &mut Victim, from: IpAddr, carried: Encapsulation, chunk: Chunk<'static>) {
    victim.receive_carried(from, carried, vec![chunk]);
    let sent = victim.sent();
    answer(victim, from, carried, &sent);
}

#[test]
fn answers_go_to_the_port_that_the_peer_sends_from() {
    let mut victim = Victim::established(config(Preset::Cmt));
    for (tsn, carried) in (1..).zip([udp(1111), udp(2222), Encapsulation::None]) {
        move_to(&mut victim, ip(2), carried, data(tsn));
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

/// Whoever has seen a verification tag, or guessed it, moves nothing by a packet with a forged source.
#[test]
fn a_port_that_does_not_answer_gets_three_small_packets() {
    let mut victim = Victim::established(config(Preset::Recommended));
    victim.receive_carried(ip(2), udp(1111), vec![]);
    assert!(victim.sent().is_empty(), "a header alone");
    let mut to_stranger = 0;
    for tsn in 1..40 {
        victim.receive_carried(ip(2), udp(1111), vec![data(tsn)]);
        victim.send(1, 1000);
        let sent = victim.sent();
        let (strange, known): (Vec<_>, Vec<_>) =
            sent.iter().partition(|packet| packet.encapsulation == udp(1111));
        assert!(known.iter().any(|packet| packet.encapsulation == Encapsulation::None));
        assert!(strange.iter().all(|packet| packet.packet.encoded_len() <= 32));
        assert!(strange.len() <= 1);
        to_stranger += strange.len();
        // An answer from elsewhere proves nothing.
        for (_, chunk) in heartbeats(&sent) {
            let Chunk::Heartbeat(info) = chunk else { continue };
            victim.receive_carried(ip(2), udp(3333), vec![Chunk::HeartbeatAck(info.clone())]);
            victim.receive(ip(2), vec![Chunk::HeartbeatAck(info)]);
        }
        victim.receive(ip(2), vec![sack(victim.first_tsn() + tsn - 1, PEER_WINDOW, &[])]);
        victim.now += secs(1);
    }
    assert_eq!(to_stranger, 3);
}

/// Each path has its own port, also of two to the same address.
#[test]
fn each_path_has_a_port_of_its_own() {
    let mut victim = Victim::connecting(config(Preset::Cmt), &[ip(2), ip(3)]);
    victim.receive_carried(ip(2), udp(1111), vec![init_ack(&[ip(2), ip(3)])]);
    assert!(victim.sent().iter().all(|echo| echo.encapsulation == udp(1111)), "the cookie too");
    victim.receive_carried(ip(2), udp(1111), vec![Chunk::CookieAck]);
    victim.sent();
    move_to(&mut victim, ip(3), udp(2222), data(1));
    victim.now += millis(500);
    victim.sent();
    for (path, port) in [(0, 1111), (1, 2222)] {
        let message = OutgoingMessage { path: Some(PathId(path)), ..message(0, 1000) };
        victim.host.send(victim.now, 0, message).unwrap();
        let ports: Vec<_> = victim.sent().iter().map(|packet| packet.encapsulation).collect();
        assert_eq!(ports, [udp(port)]);
    }
}

/// Two addresses of ours, and a translator that gives the peer one address and two ports: as it must, since it keeps a port for
/// each address that the peer talks to.
#[test]
fn a_translator_gives_each_of_our_addresses_another_port() {
    let local = [ip(1), ip(11)];
    let mut victim = Victim::accepting(config(Preset::Recommended), &local, ip(2), &[]);
    let paths = victim.peer_paths();
    assert_eq!(paths.len(), 2, "{paths:?}");
    victim.sent();
    for (to, port, tsn) in [(ip(11), 1111, 1), (ip(1), 2222, 2)] {
        victim.local = to;
        move_to(&mut victim, ip(2), udp(port), data(tsn));
    }
    assert!(victim.peer_paths().iter().all(|(_, status)| *status == PathStatus::Active));
    victim.sent();
    for (path, port) in [(0, 1111), (1, 2222)] {
        let message = OutgoingMessage { path: Some(PathId(path)), ..message(0, 1000) };
        victim.host.send(victim.now, 0, message).unwrap();
        let sent = victim.sent();
        assert!(sent.iter().any(|packet| packet.encapsulation == udp(port)), "{sent:?}");
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
    victim.sent();
    move_to(&mut victim, ip(3), udp(2222), data(1));
    assert!(!victim.association().is_over_ip());
    move_to(&mut victim, ip(3), Encapsulation::None, data(2));
    assert!(victim.association().is_over_ip());
}

/// A header more in each packet leaves less for user data.
#[test]
fn a_packet_that_is_carried_has_less_room() {
    for (carried, room) in [(Encapsulation::None, 1500 - 20), (udp(1111), 1500 - 28)] {
        let mut victim = Victim::established(config(Preset::Cmt));
        move_to(&mut victim, ip(2), carried, data(1));
        victim.sent();
        victim.send(1, 4000);
        let largest = victim.sent().iter().map(|packet| packet.packet.encoded_len()).max();
        assert_eq!(largest, Some(room), "{carried:?}");
    }
}

/// A translator that has forgotten a port says that nobody has it, and the host behind it is there all the same.
#[test]
fn a_port_that_nobody_has_is_believed_after_five_seconds_of_silence() {
    let mut victim = Victim::established(config(Preset::Recommended));
    move_to(&mut victim, ip(2), udp(1111), data(1));
    let identity = victim.association().identity().clone();
    let ports = [identity.local_port.to_be_bytes(), identity.remote_port.to_be_bytes()].concat();
    let quoted = [&ports[..], &7_u32.to_be_bytes()].concat();
    let deny = |victim: &mut Victim| {
        victim.host.command(victim.now, 0, |association, cx| {
            association.handle_protocol_unreachable(cx, PathId(0), udp(1111), &quoted);
        });
        victim.host.settle(victim.now, 0);
    };
    let has_ended = |victim: &Victim| matches!(victim.events().last(), Some(Event::Ended(_)));
    deny(&mut victim);
    victim.now += millis(4999);
    deny(&mut victim);
    // What comes from a new port counts as much as from the old one.
    victim.receive_carried(ip(2), udp(2222), vec![data(2)]);
    for wait in [0, 4999] {
        victim.now += millis(wait);
        deny(&mut victim);
        assert!(!has_ended(&victim), "{wait}");
    }
    victim.now += millis(1);
    deny(&mut victim);
    assert!(has_ended(&victim));
}

/// Stacks of WebRTC reject an INIT that lists addresses, without a word.
#[test]
fn who_does_not_answer_gets_every_second_init_without_addresses() {
    let now = Instant::from_nanos(1_000_000);
    for (encapsulation, expected) in
        [(udp(9899), [2, 2, 0, 2, 0]), (Encapsulation::None, [2, 2, 2, 2, 2])]
    {
        let mut host = Host::new(1, EndpointConfig::default(), 4000, &[ip(1), ip(11)], now);
        let peer = [PeerAddress { address: ip(2), encapsulation }];
        host.connect_over(now, config(Preset::Rfc9260), 5001, &peer).unwrap();
        let mut listed = Vec::new();
        while listed.len() < expected.len() {
            for transmit in host.take_output() {
                if let Chunk::Init(init) = &transmit.packet.chunks[0] {
                    listed.push(init.parameters.addresses().count());
                }
            }
            host.handle_timeout(host.next_timeout().unwrap());
        }
        assert_eq!(listed, expected, "{encapsulation:?}");
    }
}
