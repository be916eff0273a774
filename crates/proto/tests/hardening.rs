//! A peer that means harm and plays it by hand: what it claims without proof changes nothing, and what it costs is
//! bounded.

mod common;

use std::net::IpAddr;

use common::{PEER_WINDOW, Victim, config, data, data_chunks, init_ack, ip, message, millis, sack};
use polypath_proto::config::{AssociationConfig, Burst, InitialCwnd, PathPairing, Preset};
use polypath_proto::{AssociationEnd, Event, PathStatus, Transmit};
use polypath_wire::{Abort, Cause, Causes, Chunk, Parameter, Parameters};

use PathStatus::{Active, Unconfirmed};

fn stale_cookie() -> Chunk<'static> {
    Chunk::Error(Causes::build([Cause::StaleCookie { staleness_us: 1 }]))
}

fn heartbeat() -> Chunk<'static> {
    Chunk::Heartbeat(Parameters::build([Parameter::HeartbeatInfo(b"info")])).into_owned()
}

/// Demands that to `address` goes nothing but HEARTBEAT and HEARTBEAT ACK.
fn assert_only_heartbeats_to(address: IpAddr, packets: &[Transmit]) {
    for transmit in packets.iter().filter(|transmit| transmit.remote == address) {
        let only = transmit
            .packet
            .chunks
            .iter()
            .all(|chunk| matches!(chunk, Chunk::Heartbeat(_) | Chunk::HeartbeatAck(_)));
        assert!(only, "{transmit:?}");
    }
}

/// Lets every timer run until the association ends, and demands that it does.
fn run_out(victim: &mut Victim) -> AssociationEnd {
    for _ in 0..10_000 {
        if victim.association().is_closed() || !victim.wait_for_timer() {
            break;
        }
    }
    match victim.events().last() {
        Some(Event::Ended(end)) => end.clone(),
        other => panic!("no end, but {other:?}"),
    }
}

#[test]
fn an_init_ack_that_leaves_fewer_paths_does_not_upset_the_chunks_around_it() {
    let around: [&[Chunk<'static>]; 4] = [
        &[data(1)],
        &[heartbeat()],
        &[Chunk::CookieAck, data(1)],
        &[Chunk::CookieAck, heartbeat()],
    ];
    for others in around {
        for init_ack_first in [true, false] {
            // The table has three paths, the packet comes on the last, and one is left.
            let mut victim = Victim::connecting(config(Preset::Cmt), &[ip(2), ip(3), ip(4)]);
            let mut chunks = others.to_vec();
            chunks.insert(if init_ack_first { 0 } else { others.len() }, init_ack(&[]));
            victim.receive(ip(4), chunks);
            let paths = victim.peer_paths();
            let sent = victim.sent();
            // INIT ACK travels alone (RFC 9260 section 6.10): behind others it is nothing, and nothing follows it.
            if init_ack_first {
                assert_eq!(paths, [(ip(4), Active)]);
                assert_eq!(sent.len(), 1, "{sent:?}");
                assert!(matches!(sent[0].packet.chunks[..], [Chunk::CookieEcho(_)]), "{sent:?}");
            } else {
                assert_eq!(paths, [2, 3, 4].map(|last| (ip(last), Unconfirmed)));
                assert!(sent.is_empty(), "{sent:?}");
            }
            assert!(!victim.association().is_established());
            assert!(victim.host.slots[0].messages.is_empty());
            assert_eq!(run_out(&mut victim), AssociationEnd::CannotConnect);
        }
    }
}

#[test]
fn a_stale_cookie_and_an_init_ack_in_one_packet_do_not_upset_the_path_table() {
    let named = [ip(2), ip(3), ip(4)];
    let mut victim = Victim::connecting(config(Preset::Cmt), &named);
    victim.receive(ip(4), vec![init_ack(&named)]);
    victim.sent();
    victim.receive(ip(4), vec![stale_cookie(), init_ack(&[])]);
    assert_eq!(victim.peer_paths(), named.map(|address| (address, Active)));
    let sent = victim.sent();
    assert_eq!(sent.len(), 1, "{sent:?}");
    assert!(matches!(sent[0].packet.chunks[..], [Chunk::Init(_)]), "{sent:?}");
    // On its own the next INIT ACK counts.
    victim.receive(ip(4), vec![init_ack(&[])]);
    assert_eq!(victim.peer_paths(), [(ip(4), Active)]);
    victim.receive(ip(4), vec![Chunk::CookieAck]);
    assert!(victim.association().is_established());
}

#[test]
fn stale_cookies_for_ever_end_the_attempt() {
    let config = config(Preset::Cmt);
    let limit = config.max_init_retransmits as usize;
    let mut victim = Victim::connecting(config, &[ip(2)]);
    let mut echoes = 0;
    for _ in 0..1000 {
        victim.receive(ip(2), vec![init_ack(&[])]);
        victim.receive(ip(2), vec![stale_cookie()]);
        let sent = victim.sent();
        let is_echo = |chunk: &Chunk<'_>| matches!(chunk, Chunk::CookieEcho(_));
        echoes += sent.iter().filter(|transmit| is_echo(&transmit.packet.chunks[0])).count();
    }
    assert_eq!(victim.events().last(), Some(&Event::Ended(AssociationEnd::CannotConnect)));
    assert_eq!(echoes, limit + 1);
}

#[test]
fn a_stale_cookie_does_not_confirm_foreign_addresses() {
    let mut victim = Victim::connecting(config(Preset::Cmt), &[ip(2)]);
    let foreign = ip(99);
    let paths = [(ip(2), Active), (foreign, Unconfirmed)];
    for _ in 0..3 {
        victim.receive(ip(2), vec![init_ack(&[ip(2), foreign])]);
        assert_eq!(victim.peer_paths(), paths);
        assert_only_heartbeats_to(foreign, &victim.sent());
        victim.receive(ip(2), vec![stale_cookie()]);
    }
    victim.receive(ip(2), vec![init_ack(&[ip(2), foreign])]);
    victim.receive(ip(2), vec![Chunk::CookieAck]);
    assert_eq!(victim.peer_paths(), paths);
    victim.send(20, 1000);
    let sent = victim.sent();
    assert!(data_chunks(&sent) > 0);
    assert_only_heartbeats_to(foreign, &sent);
}

#[test]
fn a_window_that_opens_and_closes_draws_no_packets() {
    let mut victim = Victim::established(config(Preset::Rfc9260));
    let before_first = victim.first_tsn().wrapping_sub(1);
    victim.send(50, 1400);
    let flight = data_chunks(&victim.sent());
    assert!(flight > 0);
    for _ in 0..1000 {
        for window in [0, PEER_WINDOW] {
            // Nothing is acknowledged, so the congestion window stays full.
            victim.receive(ip(2), vec![sack(before_first, window, &[])]);
            assert_eq!(data_chunks(&victim.sent()), 0);
        }
    }
    assert_eq!(victim.association().stats().data_chunks_sent, flight as u64);
    // It is not stuck either: an acknowledgement brings the next data.
    let acked = before_first.wrapping_add(flight as u32);
    victim.receive(ip(2), vec![sack(acked, PEER_WINDOW, &[])]);
    assert!(data_chunks(&victim.sent()) > 0);
}

#[test]
fn addresses_that_a_client_lists_get_only_heartbeats_until_they_answer() {
    let v6 = |last| IpAddr::from([0x2001, 0xdb8, 0, 0, 0, 0, 0, last]);
    let foreign: Vec<IpAddr> = (10..17).map(ip).collect();
    for path_pairing in [PathPairing::FullMesh, PathPairing::ByIndex, PathPairing::Rfc9260] {
        let config = AssociationConfig { path_pairing, ..config(Preset::Cmt) };
        let local = [ip(1), ip(2), v6(2)];
        let mut victim = Victim::accepting(config, &local, v6(1), &foreign);
        let active: Vec<_> =
            victim.peer_paths().into_iter().filter(|(_, status)| *status == Active).collect();
        assert_eq!(active, [(v6(1), Active)], "{path_pairing:?}");
        victim.send(20, 1000);
        let mut sent = victim.sent();
        assert!(data_chunks(&sent) > 0);
        assert_eq!(run_out(&mut victim), AssociationEnd::Unreachable);
        sent.extend(victim.sent());
        foreign.iter().for_each(|&address| assert_only_heartbeats_to(address, &sent));
    }
}

#[test]
fn data_from_an_unconfirmed_address_is_acknowledged_to_a_confirmed_one() {
    let mut victim = Victim::accepting(config(Preset::Cmt), &[ip(1)], ip(20), &[ip(20), ip(99)]);
    assert_eq!(victim.peer_paths(), [(ip(20), Active), (ip(99), Unconfirmed)]);
    victim.sent();
    victim.receive(ip(99), vec![data(1)]);
    let sent = victim.sent();
    assert_only_heartbeats_to(ip(99), &sent);
    let to_confirmed = sent.iter().filter(|transmit| transmit.remote == ip(20));
    let mut chunks = to_confirmed.flat_map(|transmit| transmit.packet.chunks.iter());
    assert!(chunks.any(|chunk| matches!(chunk, Chunk::Sack(sack) if sack.cumulative_tsn_ack == 1)));
}

#[test]
fn a_cookie_goes_to_no_unconfirmed_address() {
    let mut victim = Victim::connecting(config(Preset::Cmt), &[ip(2)]);
    victim.receive(ip(2), vec![init_ack(&[ip(2), ip(99)])]);
    let mut sent = victim.sent();
    assert_eq!(run_out(&mut victim), AssociationEnd::CannotConnect);
    sent.extend(victim.sent());
    assert!(sent.iter().all(|transmit| transmit.remote == ip(2)), "{sent:?}");
    assert!(sent.len() > 1);
}

#[test]
fn error_reports_that_nobody_reads_do_not_pile_up() {
    let mut victim = Victim::established(config(Preset::Cmt));
    let reports: Vec<_> = (0..360).map(|_| Chunk::Error(Causes::empty())).collect();
    for _ in 0..100 {
        victim.receive_unpolled(reports.clone());
    }
    // What matters still gets through.
    victim.receive(
        ip(2),
        vec![Chunk::Abort(Abort { reflected_tag: false, causes: Causes::empty() })],
    );
    let is_report = |event: &&Event| matches!(event, Event::RemoteError(_));
    assert!((1..=64).contains(&victim.events().iter().filter(is_report).count()));
    assert!(matches!(victim.events().last(), Some(Event::Ended(AssociationEnd::AbortedByPeer(_)))));
}

/// RFC 9260 sections 3.3.7 and 9.2: who has ended an association has nothing to say to its other side any more.
#[test]
fn nothing_is_sent_after_the_peer_has_ended_the_association() {
    let abort = || Chunk::Abort(Abort { reflected_tag: false, causes: Causes::empty() });
    let mut victim = Victim::established(config(Preset::Cmt));
    victim.receive(ip(2), vec![heartbeat(), abort()]);
    assert!(victim.association().is_closed());
    assert_eq!(victim.sent().len(), 0);

    let mut victim = Victim::established(config(Preset::Cmt));
    victim.receive(ip(2), vec![Chunk::Shutdown { cumulative_tsn_ack: victim.first_tsn() - 1 }]);
    assert_eq!(victim.sent().len(), 1);
    let complete = Chunk::ShutdownComplete { reflected_tag: false };
    victim.receive(ip(2), vec![heartbeat(), complete]);
    assert_eq!(victim.events().last(), Some(&Event::Ended(AssociationEnd::ShutdownComplete)));
    assert!(victim.association().is_closed());
    assert_eq!(victim.sent().len(), 0);
}

#[test]
fn a_gap_block_right_behind_the_cumulative_ack_acknowledges_nothing() {
    let config = AssociationConfig { heartbeat_interval: None, ..config(Preset::Cmt) };
    let mut victim = Victim::established(config);
    let first = victim.first_tsn();
    victim.send(1, 100);
    assert_eq!(data_chunks(&victim.sent()), 1);
    victim.receive(ip(2), vec![sack(first.wrapping_sub(1), PEER_WINDOW, &[(1, 1)])]);
    victim.host.shutdown(victim.now, 0);
    assert_eq!(victim.association().stats().send_buffer_bytes, 100);
    // The chunk is still outstanding, so its timer runs and it is sent again.
    assert!(victim.wait_for_timer());
    assert_eq!(data_chunks(&victim.sent()), 1);
    victim.receive(ip(2), vec![sack(first, PEER_WINDOW, &[])]);
    let sent = victim.sent();
    assert!(matches!(sent[0].packet.chunks[0], Chunk::Shutdown { .. }), "{sent:?}");
}

#[test]
fn a_sack_whose_blocks_do_not_ascend_changes_nothing() {
    const COUNT: u64 = 60_000;
    let mut config = config(Preset::Cmt);
    config.send_buffer_bytes = 8 << 20;
    config.policies.window.initial_cwnd = InitialCwnd::Bytes(100_000_000);
    config.policies.burst = Burst::Off;
    let mut victim = Victim::established(config);
    let first = victim.first_tsn();
    let before_first = first.wrapping_sub(1);
    for number in 0..COUNT {
        let outgoing = message(number, 1);
        let send =
            victim.host.command(victim.now, 0, |association, cx| association.send(cx, outgoing));
        send.unwrap();
    }
    victim.host.settle(victim.now, 0);
    assert_eq!(data_chunks(&victim.sent()) as u64, COUNT);
    let flight = victim.path().flight_bytes;
    let discarded = victim.association().stats().packets_discarded;
    for (round, repeats) in (1..).zip([362, 362, 16_000]) {
        let mut gaps = vec![(3, 3); repeats];
        gaps.push((2, 59_990));
        victim.receive(ip(2), vec![sack(before_first, PEER_WINDOW, &gaps)]);
        assert!(victim.sent().is_empty());
        assert_eq!(victim.path().flight_bytes, flight);
        assert_eq!(victim.association().stats().packets_discarded, discarded + round);
    }
    // Every second TSN, told twice: half of the flight is acknowledged, once.
    let gaps: Vec<_> = (1..COUNT as u16 / 2).map(|n| (2 * n, 2 * n)).collect();
    for _ in 0..2 {
        victim.receive(ip(2), vec![sack(before_first, PEER_WINDOW, &gaps)]);
        let left = flight - flight / COUNT * gaps.len() as u64;
        assert_eq!(victim.path().flight_bytes, left);
    }
    victim.receive(ip(2), vec![sack(first.wrapping_add(COUNT as u32 - 1), PEER_WINDOW, &[])]);
    assert_eq!(victim.path().flight_bytes, 0);
    assert_eq!(victim.association().stats().send_buffer_bytes, 0);
}

#[test]
fn tiny_messages_fill_the_send_buffer_with_what_they_take_in_memory() {
    const BUFFER: usize = 128 << 10;
    // The least MTU cuts messages of 100 bytes into fragments.
    for (size, mtu_bytes, expected) in
        [(1, 1500, 1024), (127, 1500, 1024), (100, 0, 1024), (256, 1500, 512), (256, 0, 512)]
    {
        let config = AssociationConfig {
            send_buffer_bytes: BUFFER as u64,
            mtu_bytes,
            ..config(Preset::Cmt)
        };
        let mut victim = Victim::established(config);
        let first = victim.first_tsn();
        let mut count = 0;
        while victim.host.send(victim.now, 0, message(count, size)).is_ok() {
            count += 1;
            assert!(count <= expected, "{size} bytes");
        }
        assert_eq!(count, expected, "{size} bytes");
        let stats = victim.association().stats();
        assert_eq!(stats.send_buffer_bytes, expected * u64::from(size), "user bytes");
        for _ in 0..10_000 {
            if victim.association().send_capacity() == BUFFER {
                break;
            }
            victim.now += millis(10);
            let sent = victim.association().stats().data_chunks_sent as u32;
            let acked = first.wrapping_add(sent).wrapping_sub(1);
            victim.receive(ip(2), vec![sack(acked, PEER_WINDOW, &[])]);
        }
        assert_eq!(victim.association().send_capacity(), BUFFER, "{size} bytes");
        assert_eq!(victim.association().stats().send_buffer_bytes, 0);
        assert!(victim.events().contains(&Event::Writable));
    }
}
