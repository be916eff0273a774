//! Loss, silence and closed windows: what is lost comes again in time, what is not lost does not, and errors count
//! against whom they concern.

mod common;

use common::{
    PEER_WINDOW, PMDCS, Victim, config, data, data_chunks, init_ack, init_ack_with_streams, ip,
    message, millis, sack, secs,
};
use polypath_proto::config::{
    AssociationConfig, Burst, GapAck, InitialCwnd, InitialSsthresh, MissingReports, Preset,
    RetransmissionPath,
};
use polypath_proto::{
    AssociationEnd, Duration, Event, OutgoingMessage, PathError, PathId, PathStats, PathStatus,
    SendError, Transmit,
};
use polypath_testkit::{Faults, Pair, PairConfig, PathModel, Side};
use polypath_wire::Chunk;

/// A pair whose paths are all confirmed.
fn confirmed(config: PairConfig) -> Pair {
    let mut pair = Pair::connected(config);
    assert!(pair.run_until(secs(60), Pair::all_confirmed));
    pair
}

/// Sends messages of 1,420 bytes as fast as the buffers take them, `to_server` and `to_client`, until all arrived.
fn exchange(pair: &mut Pair, to_server: u64, to_client: u64, limit: Duration) {
    let end = pair.now + limit;
    let mut next = [0, 0];
    let arrived = |pair: &Pair| {
        pair.slot(Side::Server).messages.len() as u64 == to_server
            && pair.slot(Side::Client).messages.len() as u64 == to_client
    };
    while !arrived(pair) {
        for (side, count) in [(Side::Client, to_server), (Side::Server, to_client)] {
            let next = &mut next[side as usize];
            while *next < count && pair.send(side, message(*next, 1420)).is_ok() {
                *next += 1;
            }
        }
        assert!(pair.step(end), "stuck at {:?}", pair.now);
    }
}

fn client_path(pair: &Pair, path: usize) -> PathStats {
    pair.slot(Side::Client).association.path_stats().remove(path)
}

#[test]
fn lost_data_comes_again_after_one_rto_whichever_of_equal_paths_is_drawn() {
    for seed in 1..=20 {
        let mut pair = confirmed(PairConfig { seed, ..PairConfig::new(3, config(Preset::Cmt)) });
        pair.run_for(secs(1));
        pair.paths[0].faults.loss = 1000;
        let limit = client_path(&pair, 0).rto + millis(50);
        let lost = OutgoingMessage { path: Some(PathId(0)), ..message(0, 1000) };
        pair.send(Side::Client, lost).unwrap();
        let arrived = pair.run_until(limit, |pair| !pair.slot(Side::Server).messages.is_empty());
        assert!(arrived, "seed {seed}");
        assert_eq!(pair.slot(Side::Client).association.stats().timeout_retransmissions, 1);
    }
}

/// The first of eight packets is lost, and one SACK tells, after a round trip of 100 ms and this many more.
#[test]
fn what_is_overdue_is_lost_when_something_later_has_arrived() {
    use MissingReports::{Overdue, PerSack};
    for (reports, more_ms, gaps, lost) in [
        (PerSack, 30, &[(2, 8)][..], 0),
        (Overdue, 24, &[(2, 8)], 0),
        (Overdue, 30, &[(2, 8)], 1),
        (Overdue, 30, &[(2, 2)], 1),
        (Overdue, 30, &[(2, 2), (5, 5)], 3),
        (Overdue, 30, &[], 0),
    ] {
        let mut config = config(Preset::Cmt);
        config.policies.fast_retransmit.reports = reports;
        config.policies.window.initial_cwnd = InitialCwnd::Mtu(20);
        config.policies.burst = Burst::Off;
        let mut victim = Victim::established(config);
        let before = victim.first_tsn();
        victim.send(1, 1000);
        victim.now += millis(100);
        victim.receive(ip(2), vec![sack(before, PEER_WINDOW, &[])]);
        victim.send(8, 1000);
        victim.sent();
        victim.now += millis(100 + more_ms);
        victim.receive(ip(2), vec![sack(before, PEER_WINDOW, gaps)]);
        let what = format!("{reports:?}, {more_ms} ms, {gaps:?}");
        let again = if lost > 0 { 1 } else { 0 };
        assert_eq!(victim.path().fast_retransmissions.min(1), again, "{what}");
        let flight = (8 - lost - arrived(gaps) + data_chunks(&victim.sent())) * 1016;
        assert_eq!(victim.path().flight_bytes, flight as u64, "{what}");
    }
}

fn arrived(gaps: &[(u16, u16)]) -> usize {
    gaps.iter().map(|(start, end)| usize::from(end - start + 1)).sum()
}

#[test]
fn a_path_that_was_just_cut_is_not_chosen_for_ever() {
    // The window of the path that is cut is much the larger, so the papers' policies prefer it.
    for timer in
        [RetransmissionPath::Ssthresh, RetransmissionPath::Cwnd, RetransmissionPath::Alternate]
    {
        let mut config = config(Preset::Cmt);
        config.policies.retransmission.timer = timer;
        config.policies.window.ssthresh_floor_mtu = 2;
        let mut pair = confirmed(PairConfig::new(3, config));
        for number in 0..200 {
            let on_first = OutgoingMessage { path: Some(PathId(0)), ..message(number, 1400) };
            pair.send(Side::Client, on_first).unwrap();
        }
        pair.run_for(secs(1));
        assert_eq!(pair.slot(Side::Server).messages.len(), 200);
        let rto = client_path(&pair, 0).rto;
        pair.paths[0].faults.loss = 1000;
        let lost = OutgoingMessage { path: Some(PathId(0)), ..message(200, 1400) };
        pair.send(Side::Client, lost).unwrap();
        // One timeout of the chunk, one of its retransmission at the most.
        let arrived = |pair: &Pair| pair.slot(Side::Server).messages.len() == 201;
        assert!(pair.run_until(rto * 3 + millis(200), arrived), "{timer:?}");
    }
}

#[test]
fn the_end_of_an_association_leaves_a_path_that_was_just_cut() {
    for preset in [Preset::Cmt, Preset::Rfc9260] {
        let mut pair = confirmed(PairConfig::new(2, config(preset)));
        pair.paths[0].faults.loss = 1000;
        pair.shutdown(Side::Client);
        let rto = client_path(&pair, 0).rto;
        let ended = |side| {
            move |pair: &Pair| {
                let end = Event::Ended(AssociationEnd::ShutdownComplete);
                pair.slot(side).events.contains(&end)
            }
        };
        // The SHUTDOWN, then the SHUTDOWN ACK come again over the other path.
        assert!(pair.run_until(rto * 3, ended(Side::Client)), "{preset:?}");
        assert!(pair.run_until(secs(5), ended(Side::Server)), "{preset:?}");

        let mut pair = confirmed(PairConfig::new(2, config(preset)));
        pair.paths[0].faults.loss = 1000;
        pair.send(Side::Client, message(0, 100)).unwrap();
        let noticed = |pair: &Pair| pair.slot(Side::Client).association.stats().timeouts > 0;
        pair.paths[1].faults.loss = 1000;
        assert!(pair.run_until(secs(10), noticed));
        pair.paths[1].faults.loss = 0;
        pair.abort(Side::Client, "enough");
        pair.run_for(millis(100));
        let last = pair.slot(Side::Server).events.last();
        assert!(matches!(last, Some(Event::Ended(AssociationEnd::AbortedByPeer(_)))), "{last:?}");
    }
}

#[test]
fn a_failed_path_is_found_to_work_again_without_heartbeats() {
    for refused in [false, true] {
        let mut config = AssociationConfig { heartbeat_interval: None, ..config(Preset::Cmt) };
        config.path_max_retrans = 0;
        let mut pair = confirmed(PairConfig::new(2, config));
        pair.paths[1].faults.loss = 1000;
        let now = pair.now;
        if refused {
            pair.hosts[0].command(now, 0, |association, cx| {
                association.handle_path_error(cx, PathId(1), PathError::Refused);
            });
        }
        for number in 0..200 {
            pair.send(Side::Client, message(number, 1400)).unwrap();
        }
        pair.run_for(secs(60));
        assert_eq!(pair.slot(Side::Server).messages.len(), 200);
        let failed = client_path(&pair, 1);
        assert_eq!(failed.status, PathStatus::Inactive);
        // Not more often than the backed-off timeout allows.
        assert!((3..20).contains(&failed.heartbeats_sent), "{failed:?}");
        pair.paths[1].faults.loss = 0;
        let works = |pair: &Pair| client_path(pair, 1).status == PathStatus::Active;
        assert!(pair.run_until(secs(60), works), "refused: {refused}");
        let sent = client_path(&pair, 1).heartbeats_sent;
        pair.run_for(secs(600));
        assert_eq!(client_path(&pair, 1).heartbeats_sent, sent, "heartbeats are off");
    }
}

#[test]
fn a_stretch_ack_allows_as_many_bursts_as_the_sacks_it_stands_for() {
    let flight_after = |per_sack: u32| {
        let mut config = config(Preset::Cmt);
        config.policies.window.initial_cwnd = InitialCwnd::Mtu(200);
        config.policies.window.initial_ssthresh = InitialSsthresh::Bytes(0);
        config.policies.burst = Burst::MaxBurst(4);
        let mut victim = Victim::established(config);
        let first = victim.first_tsn();
        let size = 1436;
        for number in 0..200 {
            let outgoing = message(number, size);
            let now = victim.now;
            victim.host.command(now, 0, |association, cx| association.send(cx, outgoing)).unwrap();
        }
        victim.host.settle(victim.now, 0);
        assert_eq!(data_chunks(&victim.sent()), 5, "4 MTUs, and the packet that crosses the limit");
        // Two SACKs for two packets each, or one for four.
        let mut sent = 0;
        for acked in (per_sack..=4).step_by(per_sack as usize) {
            victim.receive(ip(2), vec![sack(first.wrapping_add(acked - 1), PEER_WINDOW, &[])]);
            sent += data_chunks(&victim.sent());
        }
        sent
    };
    assert_eq!(flight_after(2), 5 + 5);
    assert_eq!(flight_after(4), 9, "8 MTUs, and the packet that crosses the limit");
}

#[test]
fn nothing_is_sent_twice_over_unequal_paths_without_loss() {
    const COUNT: u64 = 2000;
    for preset in [Preset::Cmt, Preset::Rfc9260] {
        for slow_rate in [50_000, 100_000, 400_000, 1_250_000] {
            for delay in [10, 20, 50, 100] {
                let fast = PathModel {
                    bytes_per_second: Some(1_250_000),
                    queue: secs(10),
                    ..PathModel::default()
                };
                let slow =
                    PathModel { delay: millis(delay), bytes_per_second: Some(slow_rate), ..fast };
                let mut setup = PairConfig::new(2, config(preset));
                setup.paths = vec![fast, slow];
                let mut pair = confirmed(setup);
                exchange(&mut pair, COUNT, 0, secs(100));
                let case = format!("{preset:?}, {slow_rate} bytes/s, {delay} ms");
                let received = pair.slot(Side::Server).association.stats();
                assert_eq!(received.duplicate_chunks_received, 0, "{case}");
                let sent = pair.slot(Side::Client).association.stats();
                assert_eq!(sent.data_chunks_sent, COUNT, "{case}");
            }
        }
    }
}

#[test]
fn a_reader_in_bursts_causes_no_retransmissions() {
    const COUNT: u64 = 500;
    let config = AssociationConfig { receive_buffer_bytes: 60_000, ..config(Preset::Cmt) };
    let mut setup = PairConfig::new(1, config);
    setup.paths[0].delay = millis(40);
    let mut pair = Pair::connected(setup);
    pair.hosts[1].reads = false;
    let mut next = 0;
    for _ in 0..1000 {
        while next < COUNT && pair.send(Side::Client, message(next, 1400)).is_ok() {
            next += 1;
        }
        pair.run_for(millis(20));
        pair.read(Side::Server);
    }
    assert_eq!(pair.slot(Side::Server).messages.len() as u64, COUNT);
    let received = pair.slot(Side::Server).association.stats();
    assert_eq!((received.duplicate_chunks_received, received.data_chunks_refused), (0, 0));
    assert_eq!(pair.slot(Side::Client).association.stats().data_chunks_sent, COUNT);
}

#[test]
fn an_overtaken_sack_takes_nothing_back() {
    let mut config = config(Preset::Cmt);
    config.policies.window.initial_cwnd = InitialCwnd::Mtu(20);
    config.policies.burst = Burst::Off;
    let mut victim = Victim::established(config);
    let before_first = victim.first_tsn().wrapping_sub(1);
    victim.send(16, 1400);
    assert_eq!(data_chunks(&victim.sent()), 16);
    victim.receive(ip(2), vec![sack(before_first, PEER_WINDOW, &[(2, 16)])]);
    victim.sent();
    let flight = victim.path().flight_bytes;
    victim.receive(ip(2), vec![sack(before_first, PEER_WINDOW, &[(2, 4)])]);
    assert_eq!(data_chunks(&victim.sent()), 0);
    assert_eq!(victim.path().flight_bytes, flight);
}

#[test]
fn after_a_timeout_one_packet_is_in_flight_even_if_it_leaves_room_in_the_window() {
    let mut victim = Victim::established(config(Preset::Rfc9260));
    let before_first = victim.first_tsn().wrapping_sub(1);
    victim.send(6, 700);
    assert_eq!(data_chunks(&victim.sent()), 6);
    assert!(victim.wait_for_timer());
    let again = victim.sent();
    assert_eq!((again.len(), data_chunks(&again)), (1, 2));
    let path = victim.path();
    assert!(path.flight_bytes < path.cwnd_bytes, "{} bytes", path.flight_bytes);
    assert_eq!(path.cwnd_bytes, PMDCS);
    victim.now += millis(20);
    victim.receive(ip(2), vec![sack(before_first.wrapping_add(2), PEER_WINDOW, &[])]);
    // A window of one packet was full.
    assert_eq!(victim.path().cwnd_bytes, PMDCS + 2 * 716);
    assert_eq!(data_chunks(&victim.sent()), 4);
}

#[test]
fn a_sack_goes_beside_data_only_if_all_its_blocks_have_room() {
    const BLOCKS: u32 = 20;
    for (size, fits) in [(100, true), (1300, true), (1400, false), (1420, false), (1440, false)] {
        let mut config = config(Preset::Cmt);
        config.policies.delayed_ack.on_gap = GapAck::Delayed;
        let mut victim = Victim::established(config);
        victim.receive(ip(2), vec![data(1)]);
        victim.sent();
        victim.receive(ip(2), (1..=BLOCKS).map(|n| data(2 * n + 1)).collect());
        let at_once = victim.sent();
        assert!(at_once.is_empty(), "the SACK is delayed: {at_once:?}");
        victim.send(1, size);
        let beside = victim.sent();
        assert_eq!(data_chunks(&beside), 1);
        let sacks = |packets: &[Transmit]| {
            let chunks = packets.iter().flat_map(|transmit| transmit.packet.chunks.clone());
            let sacks = chunks.filter_map(|chunk| match chunk {
                Chunk::Sack(sack) => Some(sack.gap_ack_blocks.iter().count()),
                _ => None,
            });
            sacks.collect::<Vec<_>>()
        };
        let whole = [BLOCKS as usize];
        if fits {
            assert_eq!(sacks(&beside), whole, "{size} bytes");
        } else {
            assert!(sacks(&beside).is_empty(), "{size} bytes");
            assert!(victim.wait_for_timer());
            assert_eq!(sacks(&victim.sent()), whole, "{size} bytes");
        }
    }
}

#[test]
fn data_both_ways_over_a_lossy_path_is_hardly_ever_sent_in_vain() {
    const COUNT: u64 = 3000;
    let mut config = config(Preset::Cmt);
    config.policies.window.initial_cwnd = InitialCwnd::Mtu(100);
    config.policies.window.ssthresh_floor_mtu = 100;
    config.policies.burst = Burst::Off;
    let mut setup = PairConfig::new(1, config);
    setup.paths = vec![PathModel {
        delay: millis(40),
        bytes_per_second: Some(2_500_000),
        queue: secs(10),
        faults: Faults { loss: 30, ..Faults::default() },
        ..PathModel::default()
    }];
    let mut pair = Pair::connected(setup);
    exchange(&mut pair, COUNT, COUNT, secs(300));
    for side in [Side::Client, Side::Server] {
        let stats = pair.slot(side).association.stats();
        assert!(stats.duplicate_chunks_received < COUNT / 200, "{side:?}: {stats:?}");
    }
}

#[test]
fn an_idle_path_is_watched_by_heartbeats_while_another_is_busy() {
    for used_before in [false, true] {
        let mut pair = confirmed(PairConfig::new(2, config(Preset::Rfc9260)));
        if used_before {
            for number in 0..50 {
                let on_second = OutgoingMessage { path: Some(PathId(1)), ..message(number, 1000) };
                pair.send(Side::Client, on_second).unwrap();
            }
        }
        pair.run_for(secs(5));
        let before = client_path(&pair, 1);
        assert_eq!(before.data_packets_sent > 0, used_before);
        for alive in [true, false] {
            pair.paths[1].faults.loss = if alive { 0 } else { 1000 };
            for number in 0..1200 {
                pair.send(Side::Client, message(number, 100)).unwrap();
                pair.run_for(millis(500));
            }
            let path = client_path(&pair, 1);
            let expected = if alive { PathStatus::Active } else { PathStatus::Inactive };
            assert_eq!(path.status, expected);
        }
        let path = client_path(&pair, 1);
        assert_eq!(path.data_packets_sent, before.data_packets_sent);
        assert!(path.heartbeats_sent - before.heartbeats_sent >= 20);
    }
}

#[test]
fn idling_shrinks_the_window_but_remembers_where_it_was() {
    let mut pair = confirmed(PairConfig::new(2, config(Preset::Rfc9260)));
    for number in 0..400 {
        let on_second = OutgoingMessage { path: Some(PathId(1)), ..message(number, 1000) };
        pair.send(Side::Client, on_second).unwrap();
    }
    pair.run_for(millis(800));
    let reached = client_path(&pair, 1).cwnd_bytes;
    assert!(reached > 20_000);
    for number in 0..20 {
        pair.send(Side::Client, message(number, 100)).unwrap();
        pair.run_for(millis(500));
    }
    let path = client_path(&pair, 1);
    assert!(path.cwnd_bytes < reached / 4, "{path:?}");
    assert!(path.ssthresh_bytes >= reached, "{path:?}");
}

#[test]
fn acknowledged_retransmissions_clear_the_error_count() {
    let mut config = config(Preset::Rfc9260);
    config.policies.rto.max = secs(1);
    assert!(config.association_max_retrans < 20);
    let mut pair = Pair::connected(PairConfig::new(1, config));
    for number in 0..20 {
        pair.paths[0].faults.loss = 1000;
        pair.send(Side::Client, message(number, 100)).unwrap();
        pair.run_for(millis(500));
        pair.paths[0].faults.loss = 0;
        let arrived = |pair: &Pair| pair.slot(Side::Server).messages.len() as u64 == number + 1;
        assert!(pair.run_until(secs(100), arrived), "message {number}");
        pair.run_for(millis(500));
    }
    let client = pair.slot(Side::Client);
    assert!(client.association.is_established());
    assert!(client.association.stats().timeouts >= 20);
}

#[test]
fn dead_alternates_do_not_end_an_association_whose_primary_works() {
    let config =
        AssociationConfig { association_max_retrans: 5, max_paths: 8, ..config(Preset::Rfc9260) };
    let mut pair = confirmed(PairConfig::new(8, config));
    pair.paths[1..].iter_mut().for_each(|path| path.faults.loss = 1000);
    pair.run_for(secs(1200));
    let client = pair.slot(Side::Client);
    assert!(client.association.is_established(), "{:?}", client.events);
    let status: Vec<_> = client.association.path_stats().iter().map(|path| path.status).collect();
    assert_eq!(status[0], PathStatus::Active);
    assert!(status[1..].iter().all(|status| *status == PathStatus::Inactive), "{status:?}");
    pair.send(Side::Client, message(0, 100)).unwrap();
    assert!(pair.run_until(secs(1), |pair| !pair.slot(Side::Server).messages.is_empty()));
}

#[test]
fn probes_of_a_closed_window_leave_the_congestion_window_alone() {
    let mut victim = Victim::established(config(Preset::Cmt));
    let first = victim.first_tsn();
    victim.send(400, 1000);
    let last_sent = |victim: &Victim| {
        first.wrapping_add(victim.association().stats().data_chunks_sent as u32 - 1)
    };
    for _ in 0..5 {
        victim.now += millis(20);
        let acked = last_sent(&victim);
        victim.receive(ip(2), vec![sack(acked, PEER_WINDOW, &[])]);
    }
    victim.sent();
    let acked = last_sent(&victim);
    victim.receive(ip(2), vec![sack(acked, 0, &[])]);
    let before = victim.path();
    assert!(before.cwnd_bytes > 1500);
    // One chunk probes the window after an RTO (RFC 9260 section 6.1 A), and again whenever its timer expires.
    assert_eq!(data_chunks(&victim.sent()), 0);
    let closed = victim.now;
    assert!(victim.wait_for_timer());
    assert_eq!(victim.now.since(closed), before.rto);
    assert_eq!(data_chunks(&victim.sent()), 1);
    // The wait counts as idle time (section 7.2.1); the probing itself changes nothing.
    let before = victim.path();
    for probes in 1..=4 {
        assert!(victim.wait_for_timer());
        assert_eq!(data_chunks(&victim.sent()), 1);
        assert_eq!(victim.path().timeouts, before.timeouts + probes);
        victim.receive(ip(2), vec![sack(acked, 0, &[])]);
    }
    let after = victim.path();
    assert_eq!(
        (after.cwnd_bytes, after.ssthresh_bytes),
        (before.cwnd_bytes, before.ssthresh_bytes)
    );
}

#[test]
fn probes_that_a_closed_window_swallows_come_at_growing_intervals() {
    let config = AssociationConfig { heartbeat_interval: None, ..config(Preset::Cmt) };
    let mut victim = Victim::established(config);
    let mut acked = victim.first_tsn();
    victim.send(1, 1000);
    victim.receive(ip(2), vec![sack(acked, 0, &[])]);
    victim.send(20, 1000);
    for interval in [1, 2, 4, 8] {
        let since = victim.now;
        assert_eq!(data_chunks(&victim.sent()), u64::from(interval == 1) as usize);
        assert!(victim.wait_for_timer());
        assert_eq!(victim.now.since(since), secs(interval));
        assert_eq!(data_chunks(&victim.host.take_output()), 1);
        acked = acked.wrapping_add(1);
        victim.receive(ip(2), vec![sack(acked, 0, &[])]);
    }
    // An open window ends it.
    victim.receive(ip(2), vec![sack(acked, PEER_WINDOW, &[])]);
    assert!(data_chunks(&victim.sent()) > 1);
}

#[test]
fn a_peer_that_dies_with_its_window_closed_ends_the_association() {
    for heartbeat_interval in [Some(secs(30)), None] {
        let config = AssociationConfig { heartbeat_interval, ..config(Preset::Cmt) };
        let limit = u64::from(config.association_max_retrans) + 1;
        let mut victim = Victim::established(config);
        let first = victim.first_tsn();
        victim.send(1, 1000);
        victim.receive(ip(2), vec![sack(first, 0, &[])]);
        victim.send(20, 1000);
        for _ in 0..1000 {
            if !victim.wait_for_timer() {
                break;
            }
        }
        assert_eq!(victim.events().last(), Some(&Event::Ended(AssociationEnd::Unreachable)));
        assert!(victim.association().stats().timeouts <= limit);
    }
}

#[test]
fn data_both_ways_stays_on_each_sides_primary() {
    const COUNT: u64 = 300;
    let mut pair = confirmed(PairConfig::new(2, config(Preset::Rfc9260)));
    pair.hosts[1].slots[0].association.set_primary(PathId(1)).unwrap();
    exchange(&mut pair, COUNT, COUNT, secs(60));
    for (side, primary) in [(Side::Client, 0), (Side::Server, 1)] {
        let paths = pair.slot(side).association.path_stats();
        assert!(paths[primary].primary);
        assert!(paths[primary].data_packets_sent > 0);
        assert_eq!(paths[1 - primary].data_packets_sent, 0, "{side:?}");
    }
}

#[test]
fn room_that_refused_streams_leave_is_told() {
    let config = AssociationConfig { send_buffer_bytes: 10_000, ..config(Preset::Cmt) };
    let mut victim = Victim::connecting(config, &[ip(2)]);
    for number in 0..10 {
        let on_last = OutgoingMessage { stream: 9, ..message(number, 1000) };
        victim.host.send(victim.now, 0, on_last).unwrap();
    }
    let refused = victim.host.send(victim.now, 0, message(10, 1000));
    assert!(matches!(refused, Err(SendError::WouldBlock)), "{refused:?}");
    victim.receive(ip(2), vec![init_ack_with_streams(&[], 1)]);
    victim.receive(ip(2), vec![Chunk::CookieAck]);
    let failed = Event::SendFailed { stream: 9, context: 0, transmitted: false };
    assert_eq!(victim.events().iter().filter(|event| **event == failed).count(), 10);
    assert!(victim.events().contains(&Event::Writable));
    assert_eq!(victim.association().send_capacity(), 10_000);
    victim.send(1, 1000);
    assert_eq!(data_chunks(&victim.sent()), 1);
}

#[test]
fn a_message_of_which_a_part_was_not_acknowledged_failed() {
    for gaps in [&[][..], &[(3, 3)], &[(2, 3)]] {
        let mut victim = Victim::established(config(Preset::Cmt));
        let before_first = victim.first_tsn().wrapping_sub(1);
        victim.send(1, 3000);
        assert_eq!(data_chunks(&victim.sent()), 3);
        victim.receive(ip(2), vec![sack(before_first, PEER_WINDOW, gaps)]);
        victim.host.abort(victim.now, 0, "enough");
        let failed = Event::SendFailed { stream: 0, context: 0, transmitted: true };
        let count = victim.events().iter().filter(|event| **event == failed).count();
        assert_eq!(count, 1, "{gaps:?}");
        assert_eq!(victim.events().last(), Some(&Event::Ended(AssociationEnd::Aborted)));
    }
}

#[test]
fn the_guard_of_a_shutdown_asked_for_early_runs_from_the_start() {
    let guard = secs(3);
    let config = AssociationConfig { shutdown_guard: Some(guard), ..config(Preset::Cmt) };
    let mut victim = Victim::connecting(config, &[ip(2)]);
    victim.send(1, 100);
    victim.host.shutdown(victim.now, 0);
    victim.receive(ip(2), vec![init_ack(&[])]);
    victim.receive(ip(2), vec![Chunk::CookieAck]);
    let established = victim.now;
    for _ in 0..1000 {
        if !victim.wait_for_timer() {
            break;
        }
    }
    assert!(matches!(victim.events().last(), Some(Event::Ended(AssociationEnd::ShutdownTimeout))));
    assert_eq!(victim.now.since(established), guard);
}

#[test]
fn an_init_that_waits_is_not_sent_once_it_was_answered() {
    let mut victim = Victim::connecting(config(Preset::Cmt), &[ip(2), ip(3), ip(4)]);
    victim.now = victim.host.next_timeout().unwrap();
    victim.host.command(victim.now, 0, |association, cx| association.handle_timeout(cx));
    victim.receive(ip(2), vec![init_ack(&[])]);
    let sent = victim.sent();
    assert_eq!(sent.len(), 1, "{sent:?}");
    assert!(matches!(sent[0].packet.chunks[..], [Chunk::CookieEcho(_)]), "{sent:?}");
}

#[test]
fn senseless_configurations_are_bounded() {
    type Change = fn(&mut AssociationConfig);
    let changes: [(&str, Change); 6] = [
        ("MTU of 10 bytes", |config| config.mtu_bytes = 10),
        ("no burst", |config| config.policies.burst = Burst::MaxBurst(0)),
        ("a gain that is no number", |config| config.policies.rto.alpha = f64::NAN),
        ("no threshold", |config| config.policies.window.ssthresh_floor_mtu = 0),
        ("no path", |config| config.max_paths = 0),
        ("no stream", |config| config.outbound_streams = 0),
    ];
    for (name, change) in changes {
        let mut config = config(Preset::Cmt);
        change(&mut config);
        let mut pair = Pair::connected(PairConfig::new(1, config));
        for number in 0..50 {
            pair.send(Side::Client, message(number, 1000)).unwrap();
        }
        pair.paths[0].faults.loss = 300;
        pair.run_for(secs(2));
        pair.paths[0].faults.loss = 0;
        let done = |pair: &Pair| pair.slot(Side::Server).messages.len() == 50;
        assert!(pair.run_until(secs(1000), done), "{name}");
    }
}
