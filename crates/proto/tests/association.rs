//! Whole-stack tests: two associations over paths in virtual time.

use polypath_proto::config::{AssociationConfig, PathOrder, Preset};
use polypath_proto::{
    AssociationEnd, Delivery, Duration, Event, OutgoingMessage, PathChange, PathError, PathStatus,
    SendError,
};
use polypath_testkit::{Faults, Form, Pair, PairConfig, PathModel, Side};
use polypath_wire::{Payload, VirtualPayload};

fn config(preset: Preset) -> AssociationConfig {
    AssociationConfig::with_preset(preset)
}

fn message(number: u64, size: u32) -> OutgoingMessage {
    let payload = Payload::Virtual(VirtualPayload { message: number, offset: 0, len: size });
    OutgoingMessage { ppid: number as u32, ..OutgoingMessage::from_payload(0, payload) }
}

/// Sends `count` messages of `size` bytes as fast as the buffer takes them, until the server has them all.
fn transfer(pair: &mut Pair, count: u64, size: u32, limit: Duration) -> Duration {
    let start = pair.now;
    let mut next = 0;
    loop {
        while next < count && pair.send(Side::Client, message(next, size)).is_ok() {
            next += 1;
        }
        let got = pair.slot(Side::Server).messages.len() as u64;
        if got == count {
            return pair.now.since(start);
        }
        assert!(
            pair.step(start + limit),
            "stuck after {got} of {count} messages at {:?}",
            pair.now
        );
    }
}

#[test]
fn one_message_each_way() {
    for form in [Form::Structured, Form::Encoded] {
        let mut pair =
            Pair::connected(PairConfig { form, ..PairConfig::new(1, config(Preset::Rfc9260)) });
        pair.send(Side::Client, OutgoingMessage::new(3, &b"ping"[..])).unwrap();
        pair.send(Side::Server, OutgoingMessage::new(4, &b"pong"[..])).unwrap();
        assert!(pair.run_until(Duration::from_secs(1), |p| {
            !p.slot(Side::Server).messages.is_empty() && !p.slot(Side::Client).messages.is_empty()
        }));
        let message = pair.hosts[1].slots[0].messages.remove(0);
        assert_eq!((message.stream, &message.into_bytes()[..]), (3, &b"ping"[..]));
        let message = pair.hosts[0].slots[0].messages.remove(0);
        assert_eq!((message.stream, &message.into_bytes()[..]), (4, &b"pong"[..]));
        pair.shutdown(Side::Client);
        pair.run_for(Duration::from_secs(5));
        for side in [Side::Client, Side::Server] {
            assert!(pair.slot(side).association.is_closed());
            assert_eq!(
                pair.slot(side).events.last(),
                Some(&Event::Ended(AssociationEnd::ShutdownComplete))
            );
        }
        assert!(pair.slot(Side::Server).events.contains(&Event::PeerShutdown));
    }
}

#[test]
fn a_large_message_is_fragmented_and_reassembled() {
    let content: Vec<u8> = (0..300_000u32).map(|i| (i * 7 + i / 251) as u8).collect();
    let mut pair = Pair::connected(PairConfig {
        form: Form::Encoded,
        ..PairConfig::new(2, config(Preset::Cmt))
    });
    pair.send(Side::Client, OutgoingMessage::new(0, content.clone())).unwrap();
    assert!(pair.run_until(Duration::from_secs(20), |p| !p.slot(Side::Server).messages.is_empty()));
    assert_eq!(pair.hosts[1].slots[0].messages.remove(0).into_bytes(), content);
}

#[test]
fn new_data_stays_on_the_primary_path_without_cmt() {
    let mut pair = Pair::connected(PairConfig::new(2, config(Preset::Rfc9260)));
    transfer(&mut pair, 500, 1400, Duration::from_secs(60));
    let paths = pair.slot(Side::Client).association.path_stats();
    assert!(paths[0].data_packets_sent >= 500);
    assert_eq!(paths[1].data_packets_sent, 0);
}

#[test]
fn cmt_uses_all_paths_at_once() {
    let path = PathModel { bytes_per_second: Some(1_250_000), ..PathModel::default() };
    let run = |paths: usize, preset| {
        let mut pair = Pair::connected(PairConfig {
            paths: vec![path; paths],
            ..PairConfig::new(paths, config(preset))
        });
        assert!(pair.run_until(Duration::from_secs(5), Pair::all_confirmed));
        let time = transfer(&mut pair, 20_000, 1400, Duration::from_secs(120));
        (time, pair)
    };
    let (one, _) = run(1, Preset::Cmt);
    let (two, _) = run(2, Preset::Cmt);
    let ratio = one.as_secs_f64() / two.as_secs_f64();
    assert!(ratio > 1.8, "two equal paths are {ratio} times as fast as one");
    let (rfc, _) = run(2, Preset::Rfc9260);
    let same = rfc.as_secs_f64() / one.as_secs_f64();
    assert!((0.9..1.1).contains(&same), "without CMT two paths are as fast as one, not {same}");
}

#[test]
fn unconfirmed_paths_carry_no_data() {
    let mut pair = Pair::new(PairConfig::new(2, config(Preset::Cmt)));
    pair.paths[1].faults.loss = 1000;
    pair.connect();
    assert!(pair.run_until(Duration::from_secs(5), Pair::is_connected));
    for number in 0..50 {
        pair.send(Side::Server, message(number, 1000)).unwrap();
    }
    assert!(pair.run_until(Duration::from_secs(10), |p| p.slot(Side::Client).messages.len() == 50));
    let paths = pair.slot(Side::Server).association.path_stats();
    assert_eq!(paths[1].status, PathStatus::Unconfirmed);
    assert_eq!(paths[1].data_packets_sent, 0);
    pair.paths[1].faults.loss = 0;
    pair.run_for(Duration::from_secs(20));
    assert_eq!(pair.slot(Side::Server).association.path_stats()[1].status, PathStatus::Active);
    assert_eq!(pair.path_changes(Side::Server, PathChange::Confirmed), [1]);
}

#[test]
fn failover_to_the_alternate_and_back() {
    for preset in [Preset::Rfc9260, Preset::Cmt] {
        let mut pair = Pair::connected(PairConfig::new(2, config(preset)));
        assert!(pair.run_until(Duration::from_secs(5), Pair::all_confirmed));
        pair.paths[0].faults.loss = 1000;
        transfer(&mut pair, 200, 1400, Duration::from_secs(200));
        // 1 + 2 + 4 + 8 + 16 + 32 s: the sixth timeout exceeds Path.Max.Retrans.
        for number in 0..400 {
            let _ = pair.send(Side::Client, message(1000 + number, 1400));
            pair.run_for(Duration::from_millis(500));
        }
        assert_eq!(pair.path_changes(Side::Client, PathChange::Unreachable), [0], "{preset:?}");
        assert_eq!(
            pair.slot(Side::Client).association.path_stats()[0].status,
            PathStatus::Inactive
        );
        pair.paths[0].faults.loss = 0;
        pair.run_for(Duration::from_secs(150));
        assert_eq!(pair.path_changes(Side::Client, PathChange::Available), [0], "{preset:?}");
        assert!(pair.slot(Side::Client).association.is_established());
    }
}

/// Paths that are alike after both lost everything: whichever takes a retransmission, one is sent whenever it can be,
/// and nothing has to wait for a heartbeat to come by.
#[test]
fn retransmissions_do_not_wait_where_paths_are_alike() {
    for seed in 0..20 {
        let mut pair =
            Pair::connected(PairConfig { seed, ..PairConfig::new(2, config(Preset::Cmt)) });
        assert!(pair.run_until(Duration::from_secs(5), Pair::all_confirmed));
        pair.paths.iter_mut().for_each(|path| path.faults.loss = 1000);
        for number in 0..6 {
            pair.send(Side::Client, message(number, 1400)).unwrap();
        }
        pair.run_for(Duration::from_millis(500));
        pair.paths.iter_mut().for_each(|path| path.faults.loss = 0);
        let delivered = |pair: &Pair| pair.slot(Side::Server).messages.len() == 6;
        assert!(pair.run_until(Duration::from_secs(10), delivered), "seed {seed}");
    }
}

#[test]
fn the_association_fails_when_the_peer_is_gone() {
    let mut pair = Pair::connected(PairConfig::new(1, config(Preset::Rfc9260)));
    pair.paths[0].faults.loss = 1000;
    pair.send(Side::Client, message(0, 100)).unwrap();
    pair.run_for(Duration::from_secs(3600));
    let events = &pair.slot(Side::Client).events;
    assert_eq!(events.last(), Some(&Event::Ended(AssociationEnd::Unreachable)));
    assert!(events.contains(&Event::SendFailed { stream: 0, context: 0, transmitted: true }));
    assert_eq!(
        pair.slot(Side::Client).association.poll_timeout(),
        None,
        "no timer outlives the association"
    );
}

#[test]
fn nobody_answers() {
    let mut pair = Pair::new(PairConfig::new(2, config(Preset::Cmt)));
    pair.paths[0].faults.loss = 1000;
    pair.paths[1].faults.loss = 1000;
    pair.connect();
    pair.run_for(Duration::from_secs(400));
    assert_eq!(
        pair.slot(Side::Client).events.last(),
        Some(&Event::Ended(AssociationEnd::CannotConnect))
    );
    // INIT and eight retransmissions, on both paths in turn.
    assert_eq!(pair.packets, [5, 4]);
}

#[test]
fn the_handshake_survives_the_loss_of_each_packet() {
    for seed in 0..40 {
        let mut pair = Pair::new(PairConfig { seed, ..PairConfig::new(2, config(Preset::Cmt)) });
        for path in &mut pair.paths {
            path.faults = Faults { loss: 400, ..Faults::default() };
        }
        pair.connect();
        assert!(pair.run_until(Duration::from_secs(600), |p| {
            p.is_connected() || p.hosts[0].slots[0].association.is_closed()
        }));
    }
}

#[test]
fn a_closed_window_is_probed_and_opens_again() {
    let small = AssociationConfig { receive_buffer_bytes: 20_000, ..config(Preset::Cmt) };
    let mut pair = Pair::connected(PairConfig::new(2, small));
    pair.hosts[1].reads = false;
    for number in 0..100 {
        pair.send(Side::Client, message(number, 1000)).unwrap();
    }
    pair.run_for(Duration::from_secs(300));
    assert!(
        pair.slot(Side::Client).association.is_established(),
        "{:?}",
        pair.slot(Side::Client).events
    );
    assert!(pair.slot(Side::Server).association.stats().receive_buffer_bytes <= 21_000);
    for _ in 0..30 {
        pair.read(Side::Server);
        pair.run_for(Duration::from_secs(5));
    }
    pair.hosts[1].reads = true;
    pair.read(Side::Server);
    assert!(
        pair.run_until(Duration::from_secs(120), |p| p.slot(Side::Server).messages.len() == 100)
    );
    let numbers: Vec<u32> = pair.slot(Side::Server).messages.iter().map(|m| m.ppid).collect();
    assert_eq!(numbers, (0..100).collect::<Vec<u32>>());
}

#[test]
fn an_opening_window_repeats_the_probe_at_once() {
    let small = AssociationConfig { receive_buffer_bytes: 20_000, ..config(Preset::Cmt) };
    let mut pair = Pair::connected(PairConfig::new(2, small));
    pair.hosts[1].reads = false;
    for number in 0..100 {
        pair.send(Side::Client, message(number, 1000)).unwrap();
    }
    // Probes have backed off to the longest timeout by now.
    pair.run_for(Duration::from_secs(300));
    pair.hosts[1].reads = true;
    let opened = pair.now;
    pair.read(Side::Server);
    assert!(
        pair.run_until(Duration::from_secs(120), |p| p.slot(Side::Server).messages.len() == 100)
    );
    let took = pair.now.since(opened);
    assert!(took < Duration::from_secs(1), "{took:?} of virtual time until everything was there");
}

#[test]
fn unordered_messages_overtake_a_lost_ordered_one() {
    let mut pair = Pair::connected(PairConfig::new(1, config(Preset::Rfc9260)));
    pair.paths[0].faults.loss = 1000;
    pair.send(Side::Client, message(0, 100)).unwrap();
    pair.paths[0].faults.loss = 0;
    pair.send(Side::Client, message(1, 100)).unwrap();
    pair.send(Side::Client, OutgoingMessage { delivery: Delivery::Unordered, ..message(2, 100) })
        .unwrap();
    pair.run_for(Duration::from_secs(5));
    let order: Vec<u32> = pair.slot(Side::Server).messages.iter().map(|m| m.ppid).collect();
    assert_eq!(order, [2, 0, 1]);
}

#[test]
fn a_message_takes_the_path_that_it_names() {
    let mut pair = Pair::connected(PairConfig::new(2, config(Preset::Rfc9260)));
    assert!(pair.run_until(Duration::from_secs(5), Pair::all_confirmed));
    let second = pair.slot(Side::Client).association.path_stats()[1].path;
    for number in 0..10 {
        pair.send(Side::Client, OutgoingMessage { path: Some(second), ..message(number, 1000) })
            .unwrap();
    }
    pair.run_for(Duration::from_secs(2));
    let paths = pair.slot(Side::Client).association.path_stats();
    assert_eq!((paths[0].data_chunks_sent, paths[1].data_chunks_sent), (0, 10));
    pair.paths[1].faults.loss = 1000;
    pair.send(Side::Client, OutgoingMessage { path: Some(second), ..message(10, 1000) }).unwrap();
    assert!(pair.run_until(Duration::from_secs(60), |p| p.slot(Side::Server).messages.len() == 11));
}

#[test]
fn abort_reaches_the_peer() {
    let mut pair = Pair::connected(PairConfig::new(1, config(Preset::Rfc9260)));
    pair.abort(Side::Server, "enough");
    pair.run_for(Duration::from_secs(1));
    let Some(Event::Ended(AssociationEnd::AbortedByPeer(causes))) =
        pair.slot(Side::Client).events.last()
    else {
        panic!("{:?}", pair.slot(Side::Client).events)
    };
    assert!(causes.windows(6).any(|w| w == b"enough"));
    assert_eq!(pair.slot(Side::Server).events.last(), Some(&Event::Ended(AssociationEnd::Aborted)));
}

#[test]
fn commands_refuse_what_cannot_be_done() {
    let tiny = AssociationConfig { send_buffer_bytes: 3000, ..config(Preset::Cmt) };
    let mut pair = Pair::connected(PairConfig::new(1, tiny));
    pair.paths[0].faults.loss = 1000;
    assert_eq!(
        pair.send(Side::Client, message(0, 3001)),
        Err(SendError::MessageTooLarge { size: 3001, limit: 3000 })
    );
    assert_eq!(pair.send(Side::Client, OutgoingMessage::new(0, &b""[..])), Err(SendError::Empty));
    let wrong = OutgoingMessage { stream: 10, ..message(0, 1) };
    assert_eq!(
        pair.send(Side::Client, wrong),
        Err(SendError::InvalidStream { stream: 10, count: 10 })
    );
    pair.send(Side::Client, message(0, 2000)).unwrap();
    assert_eq!(pair.send(Side::Client, message(1, 2000)), Err(SendError::WouldBlock));
    assert!(!pair.slot(Side::Client).events.contains(&Event::Writable));
    pair.paths[0].faults.loss = 0;
    pair.run_for(Duration::from_secs(10));
    assert!(pair.slot(Side::Client).events.contains(&Event::Writable));
    assert!(pair.slot(Side::Client).events.contains(&Event::SenderDry));
    pair.shutdown(Side::Client);
    assert_eq!(pair.send(Side::Client, message(1, 10)), Err(SendError::Closed));
}

#[test]
fn simultaneous_shutdown_completes_on_both_sides() {
    let mut pair = Pair::connected(PairConfig::new(2, config(Preset::Cmt)));
    for number in 0..20 {
        pair.send(Side::Client, message(number, 1400)).unwrap();
        pair.send(Side::Server, message(number, 1400)).unwrap();
    }
    pair.shutdown(Side::Client);
    pair.shutdown(Side::Server);
    pair.run_for(Duration::from_secs(30));
    for side in [Side::Client, Side::Server] {
        assert_eq!(pair.slot(side).messages.len(), 20);
        assert_eq!(
            pair.slot(side).events.last(),
            Some(&Event::Ended(AssociationEnd::ShutdownComplete))
        );
    }
}

#[test]
fn the_peer_restarts() {
    let mut pair = Pair::connected(PairConfig::new(2, config(Preset::Cmt)));
    assert!(pair.run_until(Duration::from_secs(5), Pair::all_confirmed));
    transfer(&mut pair, 20, 1400, Duration::from_secs(10));
    // The client loses its memory: a new endpoint with the same port and addresses connects again.
    let addresses = pair.addresses(Side::Client);
    let fresh = polypath_testkit::Host::new(99, Default::default(), 4000, &addresses, pair.now);
    pair.hosts[0] = fresh;
    pair.connect();
    assert!(
        pair.run_until(Duration::from_secs(20), |p| p.hosts[0].slots[0]
            .association
            .is_established())
    );
    pair.run_for(Duration::from_secs(1));
    assert_eq!(pair.hosts[1].slots.len(), 1, "the server's user keeps its association");
    let restarted = |event: &Event| matches!(event, Event::Restarted { unread_messages: 0, .. });
    assert!(pair.slot(Side::Server).events.iter().any(restarted));
    pair.hosts[1].slots[0].messages.clear();
    transfer(&mut pair, 20, 1400, Duration::from_secs(10));
}

#[test]
fn both_sides_connect_at_once() {
    let mut pair = Pair::new(PairConfig::new(2, config(Preset::Cmt)));
    pair.connect();
    let peer = pair.addresses(Side::Client);
    pair.hosts[1].connect(pair.now, config(Preset::Cmt), 4000, &peer).unwrap();
    // The server's own INIT leaves with the next event.
    assert!(pair.run_until(Duration::from_secs(30), |p| {
        p.hosts.iter().all(|h| h.slots.len() == 1 && h.slots[0].association.is_established())
    }));
    pair.run_for(Duration::from_secs(2));
    transfer(&mut pair, 50, 1000, Duration::from_secs(10));
    pair.send(Side::Server, message(0, 1000)).unwrap();
    assert!(pair.run_until(Duration::from_secs(5), |p| p.slot(Side::Client).messages.len() == 1));
}

#[test]
fn every_policy_of_path_order_uses_the_paths_it_says() {
    for order in [
        PathOrder::Fixed,
        PathOrder::Rotating,
        PathOrder::SmallestLastTransmission,
        PathOrder::Primary,
    ] {
        let mut config = config(Preset::Cmt);
        config.policies.path_order = order;
        let mut pair = Pair::connected(PairConfig::new(3, config));
        assert!(pair.run_until(Duration::from_secs(10), Pair::all_confirmed));
        transfer(&mut pair, 600, 1400, Duration::from_secs(20));
        let used = pair
            .slot(Side::Client)
            .association
            .path_stats()
            .iter()
            .filter(|p| p.data_packets_sent > 0)
            .count();
        assert_eq!(used, if order == PathOrder::Primary { 1 } else { 3 }, "{order:?}");
    }
}

#[test]
fn a_smaller_path_mtu_is_believed_within_reason() {
    let mut pair = Pair::connected(PairConfig::new(2, config(Preset::Cmt)));
    assert!(pair.run_until(Duration::from_secs(5), Pair::all_confirmed));
    let path = pair.slot(Side::Client).association.path_stats()[1].path;
    for (told, believed) in [(9000, 1500), (1280, 1280), (68, 576)] {
        pair.hosts[0].command(pair.now, 0, |association, cx| {
            association.handle_path_error(cx, path, PathError::PacketTooBig { mtu_bytes: told });
        });
        assert_eq!(pair.slot(Side::Client).association.path_stats()[1].mtu_bytes, believed);
    }
    // New fragments fit the smallest path: 576 bytes less IP, common and DATA header.
    transfer(&mut pair, 20, 1400, Duration::from_secs(20));
    let received = &pair.slot(Side::Server).messages[0];
    assert_eq!(received.fragments.len(), 3);
    assert_eq!(received.fragments[0].len(), 576 - 20 - 12 - 16);
}

#[test]
fn a_path_that_the_system_refuses_is_no_error() {
    let mut pair = Pair::connected(PairConfig::new(2, config(Preset::Cmt)));
    assert!(pair.run_until(Duration::from_secs(5), Pair::all_confirmed));
    pair.paths[1].faults.loss = 1000;
    for number in 0..40 {
        pair.send(Side::Client, message(number, 1400)).unwrap();
    }
    let path = pair.slot(Side::Client).association.path_stats()[1].path;
    pair.hosts[0].command(pair.now, 0, |association, cx| {
        association.handle_path_error(cx, path, PathError::Refused)
    });
    pair.hosts[0].settle(pair.now, 0);
    assert!(pair.run_until(Duration::from_secs(10), |p| p.slot(Side::Server).messages.len() == 40));
    assert_eq!(pair.slot(Side::Client).association.stats().timeouts, 0, "its data moved at once");
    assert_eq!(pair.path_changes(Side::Client, PathChange::Unreachable), [1]);
    pair.paths[1].faults.loss = 0;
    // Well before HB.interval: it is tried again after an RTO.
    pair.run_for(Duration::from_secs(8));
    assert_eq!(pair.path_changes(Side::Client, PathChange::Available), [1]);
}
