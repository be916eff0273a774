//! What a probe hears of an association: its states, paths, packets, heartbeats, timers, and what blocks it.

mod common;

use std::net::IpAddr;

use common::{PEER_WINDOW, Victim, config, data, init_ack, ip, message, millis, sack, secs};
use polypath_proto::config::{AllPf, AssociationConfig, FailureDetection, Preset};
use polypath_proto::{
    AssociationState, BlockedCause, ChunkKinds, EndReason, PathError, PathId, PathStatus,
    ProbeEvent, TimerKind, Tsn,
};
use polypath_testkit::{Faults, Form, Host, Pair, PairConfig, Side};
use polypath_wire::{Chunk, chunk_type};

use AssociationState::{
    Closed, CookieEchoed, CookieWait, Established, ShutdownAckSent, ShutdownPending,
    ShutdownReceived, ShutdownSent,
};

/// The events of a host so far.
fn trace(host: &mut Host) -> Vec<ProbeEvent> {
    host.take_trace().into_iter().map(|(_, event)| event).collect()
}

/// A pair whose hosts keep their events, not yet connected.
fn observed(config: PairConfig) -> Pair {
    let mut pair = Pair::new(config);
    pair.hosts.iter_mut().for_each(Host::keep_trace);
    pair
}

/// The same, with an association whose paths are all confirmed.
fn connected(config: PairConfig) -> Pair {
    let mut pair = observed(config);
    pair.connect();
    assert!(pair.run_until(secs(60), Pair::all_confirmed));
    pair
}

/// A victim that keeps its events, of which none are left.
fn established(config: AssociationConfig) -> Victim {
    let mut victim = Victim::established(config);
    victim.host.keep_trace();
    victim
}

fn states(events: &[ProbeEvent]) -> Vec<AssociationState> {
    let state = |event: &ProbeEvent| match event {
        ProbeEvent::State { state } => Some(*state),
        _ => None,
    };
    events.iter().filter_map(state).collect()
}

fn timers(events: &[ProbeEvent]) -> Vec<(TimerKind, Option<u8>)> {
    let timer = |event: &ProbeEvent| match event {
        ProbeEvent::TimerExpired { timer, path } => Some((*timer, path.map(|path| path.0))),
        _ => None,
    };
    events.iter().filter_map(timer).collect()
}

fn causes(events: &[ProbeEvent]) -> Vec<BlockedCause> {
    let cause = |event: &ProbeEvent| match event {
        ProbeEvent::Blocked { cause } => Some(*cause),
        _ => None,
    };
    events.iter().filter_map(cause).collect()
}

fn reachability(events: &[ProbeEvent]) -> Vec<(u8, PathStatus)> {
    let change = |event: &ProbeEvent| match event {
        ProbeEvent::Reachability { path, status } => Some((path.0, *status)),
        _ => None,
    };
    events.iter().filter_map(change).collect()
}

/// The last event but those of packets.
fn last(events: &[ProbeEvent]) -> ProbeEvent {
    let is_packet = |event: &&ProbeEvent| matches!(event, ProbeEvent::PacketSent { .. });
    *events.iter().rfind(|event| !is_packet(event)).expect("an event")
}

fn ended(reason: EndReason) -> ProbeEvent {
    ProbeEvent::Ended { reason, cause_code: None }
}

#[test]
fn both_sides_report_their_states_from_the_first_to_the_last() {
    let mut pair = observed(PairConfig::new(2, config(Preset::Rfc9260)));
    pair.connect();
    assert!(pair.run_until(secs(60), Pair::all_confirmed));
    pair.send(Side::Client, message(0, 100)).unwrap();
    pair.shutdown(Side::Client);
    pair.run_for(secs(5));
    let [client, server] = &mut pair.hosts;
    let (client, server) = (trace(client), trace(server));
    assert_eq!(
        states(&client),
        [CookieWait, CookieEchoed, Established, ShutdownPending, ShutdownSent, Closed]
    );
    assert_eq!(states(&server), [Established, ShutdownReceived, ShutdownAckSent, Closed]);
    for events in [client, server] {
        assert_eq!(last(&events), ended(EndReason::ShutdownComplete));
    }
}

#[test]
fn an_abort_is_reported_with_its_cause() {
    let mut pair = connected(PairConfig::new(1, config(Preset::Rfc9260)));
    pair.abort(Side::Client, "enough");
    pair.run_for(secs(1));
    let [client, server] = &mut pair.hosts;
    assert_eq!(last(&trace(client)), ended(EndReason::Aborted));
    let (reason, cause_code) = (EndReason::AbortedByPeer, Some(12));
    assert_eq!(last(&trace(server)), ProbeEvent::Ended { reason, cause_code });
}

#[test]
fn paths_are_reported_with_both_addresses() {
    let mut pair = connected(PairConfig::new(2, config(Preset::Rfc9260)));
    let [near, far] = [Side::Client, Side::Server].map(|side| pair.addresses(side));
    let opened = |events: &[ProbeEvent]| -> Vec<(u8, IpAddr, IpAddr, PathStatus)> {
        let open = |event: &ProbeEvent| match event {
            ProbeEvent::PathOpened { path, local, remote, status } => {
                Some((path.0, *local, *remote, *status))
            }
            _ => None,
        };
        events.iter().filter_map(open).collect()
    };
    let [client, server] = &mut pair.hosts;
    let path = |id: u8, ends: [&Vec<IpAddr>; 2], status| {
        let [local, remote] = ends.map(|addresses| addresses[usize::from(id)]);
        (id, local, remote, status)
    };
    use PathStatus::{Active, Unconfirmed};
    // First the pairs that INITs may take, then those of the association. The user named the addresses.
    let ends = [&near, &far];
    let tried = [path(0, ends, Unconfirmed), path(1, ends, Unconfirmed)];
    let settled = [path(0, ends, Active), path(1, ends, Active)];
    assert_eq!(opened(&trace(client)), [tried, settled].concat());
    let (events, ends) = (trace(server), [&far, &near]);
    assert_eq!(opened(&events), [path(0, ends, Active), path(1, ends, Unconfirmed)]);
    assert_eq!(reachability(&events), [(1, Active)]);
}

#[test]
fn every_packet_and_sack_is_reported_at_both_ends() {
    for form in [Form::Structured, Form::Encoded] {
        let pair = PairConfig { form, ..PairConfig::new(2, config(Preset::Cmt)) };
        let mut pair = connected(pair);
        for number in 0..50 {
            pair.send(Side::Client, message(number, 1000)).unwrap();
        }
        pair.run_for(secs(5));
        let stats = [Side::Client, Side::Server].map(|side| pair.slot(side).association.stats());
        let [client, server] = &mut pair.hosts;
        let traces = [trace(client), trace(server)];
        // (packets, bytes), of packets with an association at both ends
        let (mut sent, mut received) = ([(0, 0); 2], [(0, 0); 2]);
        for (side, (events, stats)) in traces.iter().zip(&stats).enumerate() {
            let count = |is: fn(&ProbeEvent) -> bool| {
                events.iter().filter(|event| is(event)).count() as u64
            };
            let is_sack = |event: &ProbeEvent| matches!(event, ProbeEvent::SackSent { .. });
            assert_eq!(count(is_sack), stats.sacks_sent, "{form:?}");
            let is_sack = |event: &ProbeEvent| matches!(event, ProbeEvent::SackReceived { .. });
            assert_eq!(count(is_sack), stats.sacks_received, "{form:?}");
            for event in events {
                match event {
                    ProbeEvent::PacketSent { bytes, .. } => {
                        sent[side] = (sent[side].0 + 1, sent[side].1 + bytes);
                    }
                    ProbeEvent::PacketReceived { bytes, .. } => {
                        received[side] = (received[side].0 + 1, received[side].1 + bytes);
                    }
                    _ => {}
                }
            }
            assert_eq!(sent[side].0, stats.packets_sent);
            assert_eq!(received[side].0, stats.packets_received);
        }
        // The listening endpoint answers INIT on its own.
        let is_init = |event: &&ProbeEvent| match event {
            ProbeEvent::PacketSent { chunks, .. } => chunks.contains(chunk_type::INIT),
            _ => false,
        };
        let is_init_ack = |event: &&ProbeEvent| match event {
            ProbeEvent::PacketReceived { chunks, .. } => chunks.contains(chunk_type::INIT_ACK),
            _ => false,
        };
        assert_eq!(traces[0].iter().filter(is_init).count(), 1);
        assert_eq!(traces[0].iter().filter(is_init_ack).count(), 1);
        assert_eq!(sent[0].0 - 1, received[1].0);
        assert_eq!(received[0].0 - 1, sent[1].0);
        let told = |events: &[ProbeEvent]| -> Vec<(Tsn, u32, u32)> {
            let sack = |event: &ProbeEvent| match *event {
                ProbeEvent::SackSent { cumulative, gap_blocks, a_rwnd, .. }
                | ProbeEvent::SackReceived { cumulative, gap_blocks, a_rwnd, .. } => {
                    Some((cumulative, gap_blocks, a_rwnd))
                }
                _ => None,
            };
            events.iter().filter_map(sack).collect()
        };
        assert!(stats[1].sacks_sent > 10);
        assert_eq!(told(&traces[0]), told(&traces[1]), "{form:?}: SACKs arrive as they were sent");
    }
}

#[test]
fn a_packet_is_reported_before_and_after_what_is_in_it() {
    let mut victim = established(config(Preset::Rfc9260));
    victim.receive(ip(2), vec![data(1), Chunk::Pad(Default::default())]);
    let events = trace(&mut victim.host);
    let [received, chunk, sack, sent] = events[..] else { panic!("{events:?}") };
    let (path, first) = (PathId(0), Tsn(1));
    let chunks = ChunkKinds::from_iter([chunk_type::DATA, chunk_type::PAD]);
    assert_eq!(received, ProbeEvent::PacketReceived { path, bytes: 12 + 116 + 4, chunks });
    assert_eq!(chunk, ProbeEvent::ChunkReceived { path, tsn: first });
    let ProbeEvent::SackSent { path: PathId(0), cumulative, gap_blocks: 0, .. } = sack else {
        panic!("{sack:?}")
    };
    assert_eq!(cumulative, first);
    let chunks = ChunkKinds::from_iter([chunk_type::SACK]);
    assert_eq!(sent, ProbeEvent::PacketSent { path, bytes: 12 + 16, chunks });
}

#[test]
fn heartbeats_and_their_answers_are_reported() {
    let heartbeats =
        AssociationConfig { heartbeat_interval: Some(secs(1)), ..config(Preset::Rfc9260) };
    let mut pair = connected(PairConfig::new(2, heartbeats));
    pair.run_for(secs(30));
    for side in [Side::Client, Side::Server] {
        let events = trace(&mut pair.hosts[side as usize]);
        for path in pair.slot(side).association.path_stats() {
            let of = |id: PathId| id == path.path;
            let sent = events
                .iter()
                .filter(|event| matches!(event, ProbeEvent::HeartbeatSent { path } if of(*path)));
            assert_eq!(sent.count() as u64, path.heartbeats_sent);
            let acked = events.iter().filter(|event| {
                matches!(event, ProbeEvent::HeartbeatAcked { path, rtt } if of(*path) && *rtt == millis(20))
            });
            assert!(path.heartbeat_acks_received > 10);
            assert_eq!(acked.count() as u64, path.heartbeat_acks_received);
        }
        assert_eq!(timers(&events), [], "each was answered");
    }
}

#[test]
fn a_heartbeat_without_an_answer_is_reported() {
    let heartbeats =
        AssociationConfig { heartbeat_interval: Some(secs(1)), ..config(Preset::Rfc9260) };
    let mut pair = connected(PairConfig::new(2, heartbeats));
    trace(&mut pair.hosts[0]);
    pair.paths[1] = pair.paths[1].with_faults(Faults { loss: 1000, ..Faults::default() });
    assert!(pair.run_until(secs(300), |pair| {
        pair.slot(Side::Client).association.path_stats()[1].status == PathStatus::Inactive
    }));
    let events = trace(&mut pair.hosts[0]);
    let limit = config(Preset::Rfc9260).path_max_retrans as usize;
    assert_eq!(timers(&events), vec![(TimerKind::Heartbeat, Some(1)); limit + 1]);
    assert_eq!(reachability(&events), [(1, PathStatus::Inactive)]);
}

#[test]
fn timers_of_the_handshake_are_reported() {
    let limit = config(Preset::Rfc9260).max_init_retransmits as usize;
    for (answers, timer) in [(false, TimerKind::T1Init), (true, TimerKind::T1Cookie)] {
        let mut victim = Victim::connecting(config(Preset::Rfc9260), &[ip(2)]);
        if answers {
            victim.receive(ip(2), vec![init_ack(&[])]);
        }
        victim.host.keep_trace();
        while victim.wait_for_timer() {}
        let events = trace(&mut victim.host);
        assert_eq!(timers(&events), vec![(timer, Some(0)); limit + 1]);
        assert_eq!(states(&events), [Closed]);
        assert_eq!(last(&events), ended(EndReason::CannotConnect));
    }
}

#[test]
fn timers_of_the_shutdown_are_reported() {
    let shut = AssociationConfig { association_max_retrans: 3, ..config(Preset::Rfc9260) };
    let mut victim = established(shut);
    victim.host.shutdown(victim.now, 0);
    while victim.wait_for_timer() {}
    let events = trace(&mut victim.host);
    assert_eq!(timers(&events), [(TimerKind::T2Shutdown, Some(0)); 4]);
    assert_eq!(last(&events), ended(EndReason::Unreachable));

    let guarded = AssociationConfig { shutdown_guard: Some(secs(2)), ..config(Preset::Rfc9260) };
    let mut victim = established(guarded);
    victim.host.shutdown(victim.now, 0);
    while victim.wait_for_timer() {}
    let events = trace(&mut victim.host);
    assert_eq!(timers(&events).last(), Some(&(TimerKind::T5ShutdownGuard, None)));
    assert_eq!(last(&events), ended(EndReason::ShutdownTimeout));
}

#[test]
fn what_blocks_the_sender_is_reported_when_it_changes() {
    let quiet = AssociationConfig { heartbeat_interval: None, ..config(Preset::Cmt) };
    let mut victim = established(quiet);
    let acked = victim.first_tsn();
    victim.send(1, 1000);
    victim.now += millis(20);
    victim.receive(ip(2), vec![sack(acked, 0, &[])]);
    assert_eq!(causes(&trace(&mut victim.host)), [], "there is nothing to send, as before");
    victim.send(20, 1000);
    let events = trace(&mut victim.host);
    assert_eq!(causes(&events), [BlockedCause::PeerWindow], "for all twenty");
    assert_eq!(timers(&events), []);
    assert!(victim.wait_for_timer());
    assert_eq!(timers(&trace(&mut victim.host)), [(TimerKind::ZeroWindow, None)]);
    victim.receive(ip(2), vec![sack(acked + 1, PEER_WINDOW, &[])]);
    assert_eq!(causes(&trace(&mut victim.host)), [BlockedCause::CongestionWindow]);
    for last in 2..=21 {
        victim.receive(ip(2), vec![sack(acked + last, PEER_WINDOW, &[])]);
    }
    assert_eq!(causes(&trace(&mut victim.host)), [BlockedCause::Application]);
}

#[test]
fn a_path_that_the_system_refuses_is_reported() {
    let mut pair = connected(PairConfig::new(2, config(Preset::Cmt)));
    pair.hosts[0].take_trace();
    let now = pair.now;
    pair.hosts[0].command(now, 0, |association, cx| {
        association.handle_path_error(cx, PathId(1), PathError::Refused);
    });
    let events = trace(&mut pair.hosts[0]);
    assert_eq!(reachability(&events), [(1, PathStatus::Inactive)]);
}

#[test]
fn the_path_that_is_made_active_for_want_of_another_is_reported() {
    let mut pf = config(Preset::Cmt);
    pf.policies.failover.detection = FailureDetection::Pf2;
    pf.policies.failover.all_pf = AllPf::MakeActive;
    let mut pair = connected(PairConfig::new(1, pf));
    pair.hosts[0].take_trace();
    pair.paths[0] = pair.paths[0].with_faults(Faults { loss: 1000, ..Faults::default() });
    pair.send(Side::Client, message(0, 100)).unwrap();
    assert!(pair.run_until(secs(60), |pair| {
        pair.slot(Side::Client).association.path_stats()[0].potentially_failed > 0
    }));
    let events = trace(&mut pair.hosts[0]);
    assert_eq!(
        reachability(&events),
        [(0, PathStatus::PotentiallyFailed), (0, PathStatus::Active)]
    );
}
