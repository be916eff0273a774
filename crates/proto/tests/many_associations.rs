//! Many associations between one pair of endpoints, and many clients behind one address translator.

use std::collections::BTreeSet;
use std::net::IpAddr;

use polypath_proto::config::{AssociationConfig, EndpointConfig, Preset};
use polypath_proto::{
    Body, ConnectError, DropReason, Ecn, Encapsulation, Event, Instant, OutgoingMessage,
    PeerAddress, Received, Transmit,
};
use polypath_testkit::Host;
use polypath_wire::Chunk;

const CLIENT_PORT: u16 = 4000;
const SERVER_PORT: u16 = 5001;
const NOW: Instant = Instant::from_nanos(1_000_000);

fn client() -> IpAddr {
    [192, 0, 2, 1].into()
}

fn server() -> IpAddr {
    [198, 51, 100, 1].into()
}

fn config() -> AssociationConfig {
    AssociationConfig::with_preset(Preset::Rfc9260)
}

fn host(seed: u64, port: u16, address: IpAddr) -> Host {
    let config = EndpointConfig { listening: true, association: config(), ..Default::default() };
    Host::new(seed, config, port, &[address], NOW)
}

fn udp(remote_port: u16) -> Encapsulation {
    Encapsulation::Udp { local_port: 9899, remote_port }
}

/// A packet arrives; `carried` is how the receiver sees it.
fn arrive(host: &mut Host, transmit: &Transmit, carried: Encapsulation) {
    let received = Received {
        local: transmit.remote,
        remote: transmit.local,
        encapsulation: carried,
        ecn: Ecn::NotEct,
        body: Body::Structured(&transmit.packet),
    };
    host.receive(NOW, &received);
}

/// Two hosts exchange packets until neither has one. The server sees the client at `client_port`.
fn settle(hosts: &mut [&mut Host; 2], client_port: u16) {
    let ports = [9899, client_port];
    loop {
        let mut is_silent = true;
        for side in [0, 1] {
            for transmit in hosts[side].take_output() {
                is_silent = false;
                if side == 1 {
                    assert_eq!(transmit.encapsulation, udp(client_port));
                }
                arrive(hosts[1 - side], &transmit, udp(ports[side ^ 1]));
            }
        }
        if is_silent {
            return;
        }
    }
}

fn peer() -> PeerAddress {
    PeerAddress { address: server(), encapsulation: udp(9899) }
}

/// One client with this many associations, and the server.
fn connected(count: usize) -> [Host; 2] {
    let [mut here, mut there] = [host(1, CLIENT_PORT, client()), host(2, SERVER_PORT, server())];
    here.connect_over(NOW, config(), SERVER_PORT, &[peer()]).unwrap();
    let again = here.connect_over(NOW, config(), SERVER_PORT, &[peer()]);
    assert_eq!(again.unwrap_err(), ConnectError::AlreadyConnected);
    for _ in 1..count {
        here.connect_from_another_port(NOW, config(), SERVER_PORT, &[peer()]).unwrap();
    }
    settle(&mut [&mut here, &mut there], 7777);
    [here, there]
}

fn local_ports(host: &Host) -> BTreeSet<u16> {
    host.slots.iter().map(|slot| slot.association.identity().local_port).collect()
}

#[test]
fn associations_with_one_peer_have_ports_of_their_own() {
    let [mut here, mut there] = connected(200);
    let ports = local_ports(&here);
    assert_eq!(ports.len(), 200);
    assert!(ports.contains(&CLIENT_PORT));
    assert!(ports.iter().all(|port| *port == CLIENT_PORT || *port >= 0xC000));
    assert_eq!(local_ports(&there), [SERVER_PORT].into());
    for host in [&here, &there] {
        assert_eq!(host.slots.len(), 200);
        assert!(host.slots.iter().all(|slot| slot.association.is_established()));
        assert!(host.drops.is_empty(), "{:?}", host.drops);
    }
    // Each gets what is its own.
    for slot in 0..200 {
        here.send(NOW, slot, OutgoingMessage::new(0, slot.to_string())).unwrap();
    }
    settle(&mut [&mut here, &mut there], 7777);
    for slot in &there.slots {
        let port = slot.association.identity().remote_port;
        let of = here.slots.iter().position(|own| own.association.identity().local_port == port);
        assert_eq!(slot.messages[0].clone().into_bytes(), of.unwrap().to_string());
    }
    // One ends, and the others stay.
    here.shutdown(NOW, 7);
    settle(&mut [&mut here, &mut there], 7777);
    assert_eq!(here.endpoint.association_count(), 199);
    assert_eq!(there.endpoint.association_count(), 199);
}

#[test]
fn ports_of_associations_that_were_begun_here_take_no_others() {
    let [mut here, mut there] = connected(2);
    let port = here.slots[1].association.identity().local_port;
    // A peer that has no association with it.
    let peer = PeerAddress { address: client(), encapsulation: udp(7777) };
    let mut third = host(3, 6000, [203, 0, 113, 9].into());
    third.connect_over(NOW, config(), port, &[peer]).unwrap();
    let init = third.take_output().remove(0);
    arrive(&mut here, &init, udp(8888));
    let refused = here.take_output().remove(0);
    assert!(matches!(refused.packet.chunks[0], Chunk::Abort(_)), "{refused:?}");
    // The main port takes them.
    third.connect_over(NOW, config(), CLIENT_PORT, &[peer]).unwrap();
    let init = third.take_output().remove(0);
    arrive(&mut here, &init, udp(8888));
    let answer = here.take_output().remove(0);
    assert!(matches!(answer.packet.chunks[0], Chunk::InitAck(_)));
    // When the association has ended, the port is nobody's.
    here.shutdown(NOW, 1);
    settle(&mut [&mut here, &mut there], 7777);
    assert_eq!(here.endpoint.association_count(), 1);
    let mut late = host(4, 6001, [203, 0, 113, 9].into());
    late.connect_over(NOW, config(), port, &[peer]).unwrap();
    let init = late.take_output().remove(0);
    arrive(&mut here, &init, udp(8888));
    assert!(matches!(here.take_output()[0].packet.chunks[0], Chunk::Abort(_)));
}

/// A peer that opens to the port of an association at the same time makes one of both.
#[test]
fn further_associations_can_be_opened_by_both_sides() {
    let [mut here, mut there] = connected(1);
    here.connect_from_another_port(NOW, config(), SERVER_PORT, &[peer()]).unwrap();
    let port = here.slots[1].association.identity().local_port;
    let back = PeerAddress { address: client(), encapsulation: udp(7777) };
    there.connect_over(NOW, config(), port, &[back]).unwrap();
    settle(&mut [&mut here, &mut there], 7777);
    assert_eq!([here.slots.len(), there.slots.len()], [2, 2]);
    for host in [&here, &there] {
        let slot = &host.slots[1];
        assert!(slot.association.is_established());
        let begun = |event: &&Event| matches!(event, Event::Established { .. });
        assert_eq!(slot.events.iter().filter(begun).count(), 1);
    }
}

/// All with the same address and the same SCTP port: only their UDP ports differ.
#[test]
fn thousands_of_clients_behind_one_translator_are_told_apart() {
    let mut there = host(2, SERVER_PORT, server());
    let mut clients: Vec<Host> = (0..3000).map(|n| host(100 + n, CLIENT_PORT, client())).collect();
    for (port, here) in (10_000..).zip(&mut clients) {
        here.connect_over(NOW, config(), SERVER_PORT, &[peer()]).unwrap();
        settle(&mut [here, &mut there], port);
    }
    assert_eq!(there.endpoint.association_count(), 3000);
    for (port, here) in (10_000..).zip(&mut clients) {
        assert!(here.slots[0].association.is_established());
        here.send(NOW, 0, OutgoingMessage::new(0, port.to_string())).unwrap();
        settle(&mut [here, &mut there], port);
    }
    for (port, slot) in (10_000..).zip(&there.slots) {
        assert_eq!(slot.messages[0].clone().into_bytes(), port.to_string());
    }
    assert!(there.drops.is_empty());
    // One comes back from where it was: that is a restart. Another one has a new UDP port, and is new.
    for (number, port, associations) in [(5, 10_005, 3000), (6, 9999, 3001)] {
        clients[number] = host(9000 + number as u64, CLIENT_PORT, client());
        let here = &mut clients[number];
        here.connect_over(NOW, config(), SERVER_PORT, &[peer()]).unwrap();
        settle(&mut [here, &mut there], port);
        assert!(here.slots[0].association.is_established());
        assert_eq!(there.endpoint.association_count(), associations);
    }
    let restarts = |slot: &polypath_testkit::Slot| {
        slot.events.iter().any(|event| matches!(event, Event::Restarted { .. }))
    };
    let restarted: Vec<_> = (0..there.slots.len()).filter(|n| restarts(&there.slots[*n])).collect();
    assert_eq!(restarted, [5]);
    assert_eq!(there.endpoint.dropped(DropReason::WrongTag), 0);
}
