//! What a peer may do with its addresses (RFC 5061): requests of all kinds, repeated, reordered, forged and malicious ones.

mod common;

use std::net::IpAddr;

use common::{Victim, config, data, data_chunks, init_ack_offering, ip, millis, secs};
use polypath_proto::config::{
    AddressJoin, AddressReconfiguration, AssociationConfig, EndpointConfig, Preset,
};
use polypath_proto::{
    AddressChange, AssociationEnd, Encapsulation, Event, LocalAddressChange, PathStatus, Transmit,
};
use polypath_testkit::{Host, Pair, PairConfig, Side};
use polypath_wire::{
    Abort, Asconf, AsconfAck, Cause, Causes, Chunk, Packet, Parameter, Parameters, chunk_type,
};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

const WILDCARD: IpAddr = IpAddr::V4(std::net::Ipv4Addr::UNSPECIFIED);

fn with(policy: AddressReconfiguration) -> AssociationConfig {
    let mut config = config(Preset::Cmt);
    config.address_join = AddressJoin::Off;
    config.policies.address_reconfiguration = policy;
    config
}

/// A client at address 1 whose peer at address 2 offers ASCONF.
fn victim() -> Victim {
    victim_with(with(AddressReconfiguration::Unauthenticated))
}

fn victim_with(config: AssociationConfig) -> Victim {
    Victim::established_by(config, init_ack_offering(&[chunk_type::ASCONF, chunk_type::ASCONF_ACK]))
}

fn add(id: u32, address: IpAddr) -> Parameter<'static> {
    Parameter::AddIp { correlation_id: id, address }
}

fn delete(id: u32, address: IpAddr) -> Parameter<'static> {
    Parameter::DeleteIp { correlation_id: id, address }
}

fn prefer(id: u32, address: IpAddr) -> Parameter<'static> {
    Parameter::SetPrimary { correlation_id: id, address }
}

/// An ASCONF; the first serial number is 1.
fn asconf(serial: u32, requests: &[Parameter<'static>]) -> Chunk<'static> {
    let list = std::iter::once(Parameter::from(ip(2))).chain(requests.iter().cloned());
    Chunk::Asconf(Asconf { serial, parameters: Parameters::build(list) })
}

fn ack(serial: u32, answers: &[Parameter<'static>]) -> Chunk<'static> {
    Chunk::AsconfAck(AsconfAck { serial, parameters: Parameters::build(answers.iter().cloned()) })
}

/// The answers in packets: where they go, to which chunk, and identifiers with cause codes.
type Answer = (IpAddr, u32, Vec<(u32, Option<u16>)>);

fn answers(packets: &[Transmit]) -> Vec<Answer> {
    let mut list = vec![];
    for transmit in packets {
        for chunk in &transmit.packet.chunks[..] {
            let Chunk::AsconfAck(ack) = chunk else { continue };
            let of = |parameter: Parameter<'_>| match parameter {
                Parameter::SuccessIndication { correlation_id } => (correlation_id, None),
                Parameter::ErrorCauseIndication { correlation_id, causes } => {
                    (correlation_id, causes.iter().next().map(|cause| cause.code()))
                }
                other => panic!("{other:?}"),
            };
            list.push((transmit.remote, ack.serial, ack.parameters.iter().map(of).collect()));
        }
    }
    list
}

fn to(packets: &[Transmit], address: IpAddr) -> usize {
    packets.iter().filter(|transmit| transmit.remote == address).count()
}

/// Addresses of the peer that are not deleted.
fn known(victim: &Victim) -> Vec<IpAddr> {
    let open = |(_, status): &(IpAddr, PathStatus)| *status != PathStatus::Inactive;
    victim.peer_paths().into_iter().filter(open).map(|(address, _)| address).collect()
}

#[test]
fn requests_are_answered_by_their_kind() {
    const LAST: Option<u16> = Some(0xA0);
    const SHORTAGE: Option<u16> = Some(0xA1);
    const SOURCE: Option<u16> = Some(0xA2);
    let v6: IpAddr = "2001:db8::1".parse().unwrap();
    let unknown = Parameter::Unknown { parameter_type: 0xC0FF, value: &[0, 0, 0, 9] };
    let silent = Parameter::Unknown { parameter_type: 0x80FF, value: &[0, 0, 0, 9] };
    let stops = Parameter::Unknown { parameter_type: 0x00FF, value: &[0, 0, 0, 9] };
    for (requests, expected, remain) in [
        (vec![add(1, ip(3))], vec![], vec![2, 3]),
        (vec![add(1, ip(2))], vec![], vec![2]),
        (vec![add(1, WILDCARD)], vec![], vec![2]),
        (vec![add(1, ip(1))], vec![(1, Some(0xA4))], vec![2]),
        (vec![add(1, v6)], vec![(1, Some(5))], vec![2]),
        (vec![add(1, "224.0.0.1".parse().unwrap())], vec![(1, Some(5))], vec![2]),
        (vec![delete(1, ip(2))], vec![(1, LAST)], vec![2]),
        (vec![delete(1, ip(9))], vec![], vec![2]),
        (vec![delete(1, WILDCARD)], vec![], vec![2]),
        (vec![add(1, ip(3)), delete(2, ip(2))], vec![(2, SOURCE)], vec![2, 3]),
        (vec![add(1, ip(3)), delete(2, ip(3))], vec![], vec![2]),
        (vec![add(1, ip(3)), add(2, ip(4)), delete(3, WILDCARD)], vec![], vec![2]),
        // What follows a refusal is refused, too, but not a preference (rule F11).
        (
            vec![add(1, v6), add(2, ip(3)), prefer(3, ip(2)), delete(4, ip(9))],
            vec![(1, Some(5)), (2, SHORTAGE), (3, None), (4, SHORTAGE)],
            vec![2],
        ),
        (vec![prefer(1, ip(3))], vec![(1, Some(5))], vec![2]),
        (vec![prefer(1, ip(3)), add(2, ip(3))], vec![(1, Some(5)), (2, None)], vec![2, 3]),
        (vec![add(1, ip(3)), prefer(2, ip(3))], vec![], vec![2, 3]),
        (vec![unknown.clone(), add(1, ip(3))], vec![(9, Some(8)), (1, None)], vec![2, 3]),
        (vec![silent, add(1, ip(3))], vec![], vec![2, 3]),
        (vec![stops, add(1, ip(3))], vec![], vec![2]),
        (vec![], vec![], vec![2]),
    ] {
        let mut victim = victim();
        victim.receive(ip(2), vec![asconf(1, &requests)]);
        let answered = answers(&victim.sent());
        assert_eq!(answered, [(ip(2), 1, expected)], "{requests:?}");
        let remain: Vec<IpAddr> = remain.into_iter().map(ip).collect();
        assert_eq!(known(&victim), remain, "{requests:?}");
        let stats = victim.association().stats();
        assert_eq!((stats.asconf_received, stats.asconf_discarded), (1, 0));
    }
}

#[test]
fn there_is_room_for_so_many_addresses() {
    let mut few = with(AddressReconfiguration::Unauthenticated);
    few.max_paths = 3;
    let mut victim = victim_with(few);
    let requests = [add(1, ip(3)), add(2, ip(4)), add(3, ip(5)), delete(4, ip(3))];
    victim.receive(ip(2), vec![asconf(1, &requests)]);
    let shortage = Some(0xA1);
    assert_eq!(answers(&victim.sent()), [(ip(2), 1, vec![(3, shortage), (4, shortage)])]);
    assert_eq!(known(&victim), [ip(2), ip(3), ip(4)]);
    victim.receive(ip(2), vec![asconf(2, &[delete(1, ip(3)), add(2, ip(5))])]);
    assert_eq!(answers(&victim.sent()), [(ip(2), 2, vec![])]);
    assert_eq!(known(&victim), [ip(2), ip(4), ip(5)]);
}

#[test]
fn a_chunk_is_worked_off_once_and_answered_as_often_as_it_comes() {
    let mut victim = victim();
    let adds = asconf(1, &[add(1, ip(3)), delete(2, ip(2))]);
    let deletes = asconf(2, &[delete(1, ip(3))]);
    let first = (ip(2), 1, vec![(2, Some(0xA2))]);
    let second = (ip(2), 2, vec![]);
    for (chunks, answered) in [
        (vec![deletes.clone()], vec![]),
        (vec![adds.clone()], vec![first.clone()]),
        (vec![adds.clone()], vec![first.clone()]),
        // What was not sent before, with a number that was answered.
        (vec![asconf(1, &[add(1, ip(4))])], vec![first.clone()]),
        // A packet that is repeated with another chunk (RFC 5061 section 5.5).
        (vec![adds.clone(), deletes.clone()], vec![first.clone(), second.clone()]),
        (vec![adds.clone(), deletes.clone()], vec![first.clone(), second.clone()]),
        (vec![adds.clone()], vec![first]),
        (vec![deletes], vec![second]),
        (vec![asconf(0, &[add(1, ip(4))])], vec![]),
        (vec![asconf(4, &[add(1, ip(4))])], vec![]),
        (vec![asconf(1 << 31, &[add(1, ip(4))])], vec![]),
    ] {
        victim.receive(ip(2), chunks.clone());
        assert_eq!(answers(&victim.sent()), answered, "{chunks:?}");
    }
    let changes: Vec<_> = victim.events().iter().filter(|event| is_change(event)).collect();
    let change = |change| Event::PeerAddress { address: ip(3), change };
    assert_eq!(changes, [&change(AddressChange::Added), &change(AddressChange::Removed)]);
    assert_eq!(victim.association().stats().asconf_received, 2);
}

fn is_change(event: &Event) -> bool {
    matches!(event, Event::PeerAddress { .. })
}

/// RFC 5062 section 4: nobody makes us send to a third party.
#[test]
fn the_address_of_a_third_party_gets_three_packets() {
    let mut victim = victim();
    let target = ip(66);
    victim.receive(ip(2), vec![asconf(1, &[add(1, target), prefer(2, target)])]);
    let mut packets = victim.sent();
    victim.send(20, 1400);
    let mut serial = 2;
    let until = victim.now + secs(55);
    while victim.now < until {
        // The attacker forges packets from there, and names the address again and again.
        victim.receive(target, vec![heartbeat()]);
        victim.receive_carried(target, udp(serial as u16), vec![heartbeat()]);
        victim.receive(ip(2), vec![asconf(serial, &[delete(1, target), add(2, target)])]);
        serial += 1;
        victim.now += millis(300);
        victim.host.handle_timeout(victim.now);
        packets.extend(victim.sent());
    }
    assert_eq!(to(&packets, target), 3);
    let there: Vec<Transmit> = packets.into_iter().filter(|it| it.remote == target).collect();
    assert_eq!(data_chunks(&there), 0);
    assert!(victim.association().is_established());
}

/// The same with a peer that leaves all its addresses for that of somebody else, in the middle of a transfer.
#[test]
fn data_waits_until_the_only_address_is_proved() {
    let mut victim = victim();
    victim.send(20, 1400);
    victim.sent();
    victim.receive(ip(66), vec![asconf(1, &[add(1, WILDCARD), delete(2, WILDCARD)]), data(1)]);
    let mut packets = victim.sent();
    victim.receive(ip(66), vec![data(1), data(3)]);
    let until = victim.now + secs(55);
    while victim.host.next_timeout().is_some_and(|due| due <= until) {
        victim.wait_for_timer();
        packets.extend(victim.sent());
    }
    assert_eq!((to(&packets, ip(66)), packets.len()), (3, 3));
    assert_eq!(data_chunks(&packets), 0);
    // It is the peer after all.
    let heartbeats = packets.iter().filter_map(|transmit| match &transmit.packet.chunks[0] {
        Chunk::Heartbeat(info) => Some(info.clone()),
        _ => None,
    });
    victim.receive(ip(66), vec![heartbeat()]);
    victim.receive(ip(66), vec![Chunk::HeartbeatAck(heartbeats.last().unwrap())]);
    let packets = victim.sent();
    assert!(data_chunks(&packets) > 0 && to(&packets, ip(66)) == packets.len());
}

/// A peer that does not come back ends the association.
#[test]
fn an_association_whose_peer_moved_to_nowhere_ends() {
    let mut victim = victim();
    victim.receive(ip(66), vec![asconf(1, &[add(1, WILDCARD), delete(2, WILDCARD)])]);
    victim.send(1, 1400);
    let (began, mut packets) = (victim.now, 0);
    while victim.now < began + secs(7200) && victim.wait_for_timer() {
        packets += victim.sent().len();
    }
    assert_eq!(victim.events().last(), Some(&Event::Ended(AssociationEnd::Unreachable)));
    assert!(victim.now.since(began) < secs(3600) && packets < 60, "{packets}");
}

fn udp(remote_port: u16) -> Encapsulation {
    Encapsulation::Udp { local_port: 9899, remote_port }
}

fn heartbeat() -> Chunk<'static> {
    Chunk::Heartbeat(Parameters::build([Parameter::HeartbeatInfo(b"who is there")]))
}

/// Left alone, it is tried less and less.
#[test]
fn an_address_that_does_not_answer_is_hardly_tried() {
    let mut victim = victim();
    let target = ip(66);
    victim.receive(ip(2), vec![asconf(1, &[add(1, target)])]);
    let mut packets = to(&victim.sent(), target);
    let until = victim.now + secs(3600);
    while victim.now < until && victim.wait_for_timer() {
        for transmit in victim.sent() {
            packets += usize::from(transmit.remote == target);
            // Its real address answers.
            for chunk in &transmit.packet.chunks[..] {
                if let (Chunk::Heartbeat(info), true) = (chunk, transmit.remote == ip(2)) {
                    victim.receive(ip(2), vec![Chunk::HeartbeatAck(info.clone())]);
                }
            }
        }
    }
    assert!((15..=24).contains(&packets), "{packets}");
    let unreachable = |event: &&Event| matches!(event, Event::Path { path, .. } if path.0 == 1);
    assert!(victim.events().iter().filter(unreachable).count() >= 2, "{:?}", victim.events());
}

#[test]
fn an_address_that_answers_carries_data() {
    let mut victim = victim();
    victim.receive(ip(2), vec![asconf(1, &[add(1, ip(3)), prefer(2, ip(3))])]);
    victim.send(4, 1400);
    let packets = victim.sent();
    let asked = packets.iter().find(|it| it.remote == ip(3)).unwrap();
    let Chunk::Heartbeat(info) = &asked.packet.chunks[0] else { panic!("{asked:?}") };
    let (asked_on_2, answer) = (to(&packets, ip(2)), Chunk::HeartbeatAck(info.clone()));
    assert!(asked_on_2 > 1);
    // The nonce counts only from where it was sent.
    victim.receive(ip(3), vec![answer]);
    assert_eq!(victim.path_at(1).status, PathStatus::Active);
    assert!(victim.path_at(1).primary);
    victim.send(4, 1400);
    assert!(data_chunks(&victim.sent()) > 0);
    assert!(victim.path_at(1).data_packets_sent > 0);
}

/// A host with a new address, behind a translator or not: the tag finds the association (RFC 5061 section 5.3.2).
#[test]
fn a_peer_moves_by_a_packet_from_its_new_address() {
    for requests in [
        vec![add(1, ip(9)), delete(2, ip(2))],
        vec![add(1, WILDCARD), delete(2, WILDCARD)],
        vec![add(1, WILDCARD), delete(2, ip(2)), prefer(3, WILDCARD)],
    ] {
        let mut victim = victim();
        // What stands beside it does not count before the address is the peer's.
        victim.receive(ip(9), vec![asconf(1, &requests), data(1)]);
        let packets = victim.sent();
        assert_eq!(answers(&packets), [(ip(9), 1, vec![])], "{requests:?}");
        assert_eq!(known(&victim), [ip(9)], "{requests:?}");
        assert!(victim.path_at(1).primary);
        assert_eq!(victim.association().stats().data_chunks_received, 0);
        victim.receive(ip(2), vec![data(1)]);
        assert_eq!(victim.association().stats().data_chunks_received, 0, "out of the blue");
        victim.receive(ip(9), vec![data(1)]);
        assert_eq!(victim.association().stats().data_chunks_received, 1);
    }
}

#[test]
fn a_chunk_from_an_address_that_it_does_not_add_is_answered_on_a_known_path() {
    let mut victim = victim();
    victim.receive(ip(9), vec![asconf(1, &[add(1, ip(3))])]);
    let sent = victim.sent();
    assert_eq!((answers(&sent), to(&sent, ip(9))), (vec![(ip(2), 1, vec![])], 0));
}

#[test]
fn nothing_but_asconf_comes_in_from_a_foreign_address() {
    for chunks in [
        vec![heartbeat()],
        vec![data(1), asconf(1, &[add(1, WILDCARD)])],
        vec![asconf(2, &[add(1, WILDCARD)])],
        vec![asconf(1, &[delete(1, ip(2))])],
        vec![
            asconf(1, &[add(1, ip(3))]),
            Chunk::Abort(Abort { reflected_tag: false, causes: Causes::empty() }),
        ],
    ] {
        let mut victim = victim();
        victim.receive(ip(9), chunks.clone());
        assert_eq!(to(&victim.sent(), ip(9)), 0, "{chunks:?}");
        assert!(victim.association().is_established() && !known(&victim).contains(&ip(9)));
    }
}

/// A peer that lists ASCONF and has no authentication.
#[test]
fn without_authentication_nothing_is_agreed_on_unless_the_policy_allows_it() {
    let mut victim = victim_with(with(AddressReconfiguration::Authenticated));
    victim.receive(ip(2), vec![asconf(1, &[add(1, ip(3))])]);
    assert_eq!(answers(&victim.sent()), []);
    assert!(!victim.association().can_change_addresses());
    assert_eq!(known(&victim), [ip(2)]);
}

#[test]
fn what_is_forged_changes_nothing() {
    let mut pair = Pair::connected(PairConfig::new(2, with(AddressReconfiguration::Authenticated)));
    assert!(pair.run_until(secs(60), Pair::all_confirmed));
    let [client, server] = [Side::Client, Side::Server].map(|side| pair.addresses(side));
    let serial = pair.slot(Side::Client).association.identity().initial_tsn;
    let tag = pair.slot(Side::Server).association.identity().local_tag;
    let list = |request| Parameters::build([Parameter::from(client[0]), request]);
    for request in [add(1, ip(66)), add(1, WILDCARD), delete(1, client[0]), prefer(1, client[1])] {
        let forged = Chunk::Asconf(Asconf { serial, parameters: list(request) });
        let illegal = ack(pair.slot(Side::Server).association.identity().initial_tsn + 5, &[]);
        for chunk in [forged, illegal] {
            for from in [client[1], ip(99)] {
                let packet = Packet {
                    source_port: 4000,
                    destination_port: 5001,
                    verification_tag: tag,
                    chunks: [chunk.clone()].into_iter().collect(),
                };
                pair.inject(Side::Server, server[1], from, &packet);
            }
        }
    }
    pair.run_for(secs(1));
    assert!(pair.is_connected() && pair.all_confirmed());
    let stats = pair.slot(Side::Server).association.stats();
    assert_eq!((stats.asconf_received, stats.asconf_discarded), (0, 0));
    assert!(stats.unauthenticated_chunks >= 8, "{}", stats.unauthenticated_chunks);
}

/// Whatever a peer asks for, it is answered, has an address, and nobody else hears more than three packets in a minute.
#[test]
fn no_requests_whatever_break_anything() {
    let v6: IpAddr = "2001:db8::1".parse().unwrap();
    let group: IpAddr = "224.0.0.1".parse().unwrap();
    let named = [ip(1), ip(2), ip(3), ip(4), ip(5), WILDCARD, v6, group];
    for seed in 0..300 {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut pick = |count: usize| rng.next_u32() as usize % count;
        let mut victim = victim();
        let (mut serial, began) = (1_u32, victim.now);
        let mut to_strangers = 0;
        victim.send(5, 1000);
        for _ in 0..60 {
            let requests: Vec<_> = (0..pick(5) as u32)
                .map(|id| [add, delete, prefer][pick(3)](id, named[pick(8)]))
                .collect();
            let number = [serial, serial, serial, serial.wrapping_sub(1), serial + 1][pick(5)];
            let from = [2, 2, 3, 9][pick(4)];
            let before = victim.association().stats().asconf_received;
            victim.receive(ip(from), vec![asconf(number, &requests)]);
            let worked = victim.association().stats().asconf_received - before;
            assert!(worked == 0 || number == serial);
            serial += worked as u32;
            if pick(4) == 0 {
                victim.receive(ip([2, 3, 9][pick(3)]), vec![heartbeat()]);
            }
            let until = victim.now + millis(pick(900) as u64);
            while victim.host.next_timeout().is_some_and(|due| due <= until) {
                victim.wait_for_timer();
            }
            victim.now = until;
            let packets = victim.sent();
            assert!(answers(&packets).len() <= 1);
            // Those that have never answered.
            to_strangers += [3, 4, 5].iter().map(|host| to(&packets, ip(*host))).sum::<usize>();
            let paths = victim.peer_paths();
            assert!(paths.len() <= 32 && !paths.is_empty());
            let stats = victim.association().path_stats();
            assert_eq!(stats.iter().filter(|path| path.primary).count(), 1);
            if !victim.association().is_established() {
                break;
            }
        }
        let minutes = victim.now.since(began).as_secs_f64() / 60.0;
        assert!(to_strangers as f64 <= 9.0 * (minutes + 1.0), "{seed}: {to_strangers}");
    }
}

/// A host with addresses 1 and 11 that has deleted the first.
fn deleting() -> (Victim, Asconf<'static>) {
    let mut victim = victim();
    change(&mut victim, LocalAddressChange::Added(ip(11)));
    let chunk = asconf_in(&victim.sent()).unwrap();
    victim.receive(ip(2), vec![ack(chunk.serial, &[])]);
    let asked = victim.sent().into_iter().find(|transmit| transmit.local == ip(11)).unwrap();
    let Chunk::Heartbeat(info) = &asked.packet.chunks[0] else { panic!("{asked:?}") };
    victim.receive(ip(2), vec![Chunk::HeartbeatAck(info.clone())]);
    change(&mut victim, LocalAddressChange::Removed(ip(1)));
    let chunk = asconf_in(&victim.sent()).unwrap();
    (victim, chunk)
}

fn change(victim: &mut Victim, change: LocalAddressChange) {
    let now = victim.now;
    victim.host.endpoint.handle_local_address(change);
    victim.host.command(now, 0, |association, cx| association.handle_local_address(cx, change));
    victim.host.settle(now, 0);
}

fn asconf_in(packets: &[Transmit]) -> Option<Asconf<'static>> {
    packets.iter().flat_map(|it| it.packet.chunks.iter()).find_map(|chunk| match chunk {
        Chunk::Asconf(chunk) => Some(chunk.clone()),
        _ => None,
    })
}

#[test]
fn an_abort_to_an_address_that_is_being_deleted_is_ignored() {
    let (mut victim, chunk) = deleting();
    let abort = || vec![Chunk::Abort(Abort { reflected_tag: false, causes: Causes::empty() })];
    victim.receive(ip(2), abort());
    assert!(victim.association().is_established());
    victim.receive(ip(2), vec![ack(chunk.serial, &[])]);
    victim.receive(ip(2), abort());
    assert!(!victim.association().is_established(), "the peer has deleted it");
}

#[test]
fn an_address_that_is_being_deleted_is_no_source() {
    let (mut victim, chunk) = deleting();
    let parameters: Vec<_> = chunk.parameters.iter().collect();
    assert_eq!(parameters, [Parameter::from(ip(11)), delete(2, ip(1))]);
    victim.send(10, 1400);
    let until = victim.now + secs(20);
    while victim.now < until && victim.wait_for_timer() {
        for transmit in victim.sent() {
            assert_eq!(transmit.local, ip(11));
        }
    }
}

#[test]
fn an_answer_to_what_was_not_asked_ends_the_association() {
    for (ahead, ends) in [(0, true), (1, true), (0u32.wrapping_sub(1), false)] {
        let mut victim = victim();
        let serial = victim.first_tsn().wrapping_add(ahead);
        victim.receive(ip(2), vec![ack(serial, &[])]);
        assert_eq!(!victim.association().is_established(), ends, "{ahead}");
        let causes = Causes::build([Cause::IllegalAsconfAck]);
        let end = Event::Ended(AssociationEnd::ProtocolViolation(causes.as_slice().into()));
        assert_eq!(victim.events().contains(&end), ends);
    }
}

#[test]
fn a_chunk_without_answer_is_repeated_until_the_association_ends() {
    let mut victim = victim();
    change(&mut victim, LocalAddressChange::Added(ip(11)));
    let first = asconf_in(&victim.sent()).unwrap();
    // What is asked for meanwhile waits.
    change(&mut victim, LocalAddressChange::Added(ip(12)));
    let (mut repeated, mut sources) = (vec![], vec![]);
    while victim.wait_for_timer() {
        for transmit in victim.sent() {
            if let Some(chunk) = asconf_in(std::slice::from_ref(&transmit)) {
                assert_eq!(chunk, first, "unchanged");
                repeated.push(victim.now);
                sources.push(transmit.local);
            }
        }
    }
    assert!(repeated.len() > 5, "{repeated:?}");
    assert!(sources.contains(&ip(1)) && sources.contains(&ip(11)), "{sources:?}");
    assert_eq!(victim.events().last(), Some(&Event::Ended(AssociationEnd::Unreachable)));
}

#[test]
fn a_peer_that_rejects_the_chunk_is_not_asked_again() {
    let mut victim = victim();
    change(&mut victim, LocalAddressChange::Added(ip(11)));
    assert!(asconf_in(&victim.sent()).is_some());
    let causes = Causes::build([Cause::UnrecognizedChunk(&[chunk_type::ASCONF, 0, 0, 8])]);
    victim.receive(ip(2), vec![Chunk::Error(causes)]);
    let refused = Event::AddressChangeRefused {
        address: ip(11),
        change: AddressChange::Added,
        cause: Some(6),
    };
    assert!(victim.events().contains(&refused));
    assert!(!victim.association().can_change_addresses());
    let until = victim.now + secs(10);
    while victim.now < until && victim.wait_for_timer() {
        let packets = victim.sent();
        assert!(asconf_in(&packets).is_none());
        assert!(packets.iter().all(|transmit| transmit.local == ip(1)));
    }
}

#[test]
fn an_address_that_the_peer_refuses_is_not_used() {
    let mut victim = victim();
    change(&mut victim, LocalAddressChange::Added(ip(11)));
    let chunk = asconf_in(&victim.sent()).unwrap();
    let causes = Causes::build([Cause::ResourceShortage(&[])]);
    let refusal = Parameter::ErrorCauseIndication { correlation_id: 1, causes };
    victim.receive(ip(2), vec![ack(chunk.serial, &[refusal])]);
    let refused = Event::AddressChangeRefused {
        address: ip(11),
        change: AddressChange::Added,
        cause: Some(0xA1),
    };
    assert!(victim.events().contains(&refused));
    victim.send(10, 1400);
    let until = victim.now + secs(20);
    while victim.now < until && victim.wait_for_timer() {
        assert!(victim.sent().iter().all(|transmit| transmit.local == ip(1)));
    }
    // It may be added again later.
    change(&mut victim, LocalAddressChange::Removed(ip(11)));
    change(&mut victim, LocalAddressChange::Added(ip(11)));
    assert!(asconf_in(&victim.sent()).is_some());
}

/// Behind a translator the peer sees another address than the host has: the wildcard stands for it.
#[test]
fn a_private_address_is_told_by_the_source_of_the_packet() {
    let now = polypath_proto::Instant::from_nanos(1_000_000);
    let server: IpAddr = "192.0.2.1".parse().unwrap();
    let config = with(AddressReconfiguration::Unauthenticated);
    let listening = EndpointConfig {
        listening: true,
        association: config.clone(),
        ..EndpointConfig::default()
    };
    let mut hosts = [
        Host::new(1, EndpointConfig::default(), 4000, &[ip(1)], now),
        Host::new(2, listening, 5001, &[server], now),
    ];
    let remote = polypath_proto::PeerAddress { address: server, encapsulation: udp(9899) };
    hosts[0].connect_over(now, config, 5001, &[remote]).unwrap();
    let outside = |host: IpAddr| -> IpAddr {
        let IpAddr::V4(host) = host else { panic!("{host}") };
        [203, 0, 113, host.octets()[3]].into()
    };
    let translate = |hosts: &mut [Host; 2]| {
        for _ in 0..20 {
            for transmit in hosts[0].take_output() {
                let mut received = received(&transmit.packet);
                (received.local, received.remote) = (server, outside(transmit.local));
                hosts[1].receive(now, &received);
            }
            for transmit in hosts[1].take_output() {
                let IpAddr::V4(to) = transmit.remote else { continue };
                let mut received = received(&transmit.packet);
                (received.local, received.remote) = (ip(to.octets()[3]), server);
                hosts[0].receive(now, &received);
            }
        }
    };
    translate(&mut hosts);
    let change = |hosts: &mut [Host; 2], change| {
        hosts[0].endpoint.handle_local_address(change);
        hosts[0].command(now, 0, |association, cx| association.handle_local_address(cx, change));
        hosts[0].settle(now, 0);
    };
    change(&mut hosts, LocalAddressChange::Added(ip(11)));
    translate(&mut hosts);
    let paths = |host: &Host| -> Vec<(IpAddr, IpAddr, PathStatus)> {
        let paths = host.slots[0].association.path_stats();
        paths.iter().map(|path| (path.local, path.remote, path.status)).collect()
    };
    let active = |local, remote| (local, remote, PathStatus::Active);
    assert_eq!(paths(&hosts[0]), [active(ip(1), server), active(ip(11), server)]);
    let expected = [active(server, outside(ip(1))), active(server, outside(ip(11)))];
    assert_eq!(paths(&hosts[1]), expected);
    change(&mut hosts, LocalAddressChange::Removed(ip(1)));
    translate(&mut hosts);
    let inactive = (server, outside(ip(1)), PathStatus::Inactive);
    assert_eq!(paths(&hosts[1]), [inactive, active(server, outside(ip(11)))]);
}

fn received<'a>(packet: &'a Packet<'static>) -> polypath_proto::Received<'a> {
    polypath_proto::Received {
        local: ip(1),
        remote: ip(2),
        encapsulation: udp(9899),
        ecn: polypath_proto::Ecn::NotEct,
        body: polypath_proto::Body::Structured(packet),
    }
}
