//! A closed receive window (RFC 9260 sections 6.1 A, 8.1): probes that the peer answers are no errors, data that was lost
//! before is, and a path that died is found out although another one is busy probing.

mod common;

use common::{PEER_WINDOW, PMDCS, Victim, config, data_chunks, ip, message, millis, sack, secs};
use polypath_proto::config::{AssociationConfig, Preset};
use polypath_proto::{AssociationEnd, Event, PathId, PathStatus};
use polypath_testkit::{Pair, PairConfig, Side};

fn without_heartbeats() -> AssociationConfig {
    AssociationConfig { heartbeat_interval: None, ..config(Preset::Cmt) }
}

/// A victim whose peer has taken one message and closed its window; more wait. With the TSN that was acknowledged.
fn closed(config: AssociationConfig) -> (Victim, u32) {
    let mut victim = Victim::established(config);
    let acked = victim.first_tsn();
    victim.send(1, 1000);
    victim.now += millis(20);
    victim.receive(ip(2), vec![sack(acked, 0, &[])]);
    victim.send(20, 1000);
    victim.sent();
    (victim, acked)
}

#[test]
fn answered_probes_are_no_errors_however_few_are_allowed() {
    let config = AssociationConfig {
        association_max_retrans: 0,
        path_max_retrans: 0,
        ..without_heartbeats()
    };
    let (mut victim, acked) = closed(config);
    let before = victim.path();
    for _ in 0..30 {
        assert!(victim.wait_for_timer());
        assert_eq!(data_chunks(&victim.sent()), 1, "a probe");
        victim.now += millis(20);
        victim.receive(ip(2), vec![sack(acked, 0, &[])]);
        assert_eq!(victim.path().status, PathStatus::Active);
    }
    let after = victim.path();
    assert!(after.timeouts > 25, "each probe but the first repeats one");
    assert_eq!(
        (after.cwnd_bytes, after.ssthresh_bytes),
        (before.cwnd_bytes, before.ssthresh_bytes)
    );
    // The first one without an answer is one too many.
    assert!(victim.wait_for_timer());
    victim.sent();
    victim.wait_for_timer();
    assert_eq!(victim.events().last(), Some(&Event::Ended(AssociationEnd::Unreachable)));
}

#[test]
fn an_answer_to_an_earlier_probe_excuses_no_later_one() {
    let config = AssociationConfig { association_max_retrans: 3, ..without_heartbeats() };
    let (mut victim, acked) = closed(config);
    for _ in 0..5 {
        assert!(victim.wait_for_timer());
        victim.sent();
        victim.now += millis(20);
        victim.receive(ip(2), vec![sack(acked, 0, &[])]);
    }
    let timeouts = victim.path().timeouts;
    while victim.wait_for_timer() {}
    assert_eq!(victim.events().last(), Some(&Event::Ended(AssociationEnd::Unreachable)));
    // One that was answered, three silent ones, and the one too many.
    assert_eq!(victim.association().stats().timeouts, timeouts + 5);
}

#[test]
fn data_that_was_lost_before_the_window_closed_is_a_loss() {
    let config = AssociationConfig { association_max_retrans: 1, ..without_heartbeats() };
    let mut victim = Victim::established(config);
    let first = victim.first_tsn();
    victim.send(40, 1000);
    for n in 0..4 {
        victim.now += millis(20);
        victim.receive(ip(2), vec![sack(first.wrapping_add(2 * n + 1), PEER_WINDOW, &[])]);
    }
    victim.sent();
    let before = victim.path();
    assert!(before.flight_bytes > 4 * 1016);
    // The peer acknowledges two more and has no room left; what follows is lost.
    victim.now += millis(20);
    victim.receive(ip(2), vec![sack(first.wrapping_add(9), 0, &[])]);
    assert!(victim.wait_for_timer());
    let after = victim.path();
    assert_eq!(after.timeouts, 1);
    assert!(after.cwnd_bytes < before.cwnd_bytes, "{} bytes", after.cwnd_bytes);
    assert_eq!(after.cwnd_bytes, PMDCS);
    // What it retransmits probes the window: answered, it is no error, and the window is left alone.
    for _ in 0..5 {
        victim.sent();
        victim.now += millis(20);
        victim.receive(ip(2), vec![sack(first.wrapping_add(9), 0, &[])]);
        assert!(victim.wait_for_timer());
        assert!(victim.association().is_established());
        assert_eq!(victim.path().ssthresh_bytes, after.ssthresh_bytes);
    }
}

#[test]
fn a_path_that_dies_while_another_probes_is_found_out() {
    let config = AssociationConfig { receive_buffer_bytes: 20_000, ..config(Preset::Cmt) };
    let mut pair = Pair::connected(PairConfig::new(2, config));
    assert!(pair.run_until(secs(60), Pair::all_confirmed));
    pair.hosts[1].reads = false;
    let mut number = 0;
    while pair.send(Side::Client, message(number, 1000)).is_ok() {
        number += 1;
    }
    pair.run_for(secs(20));
    let stats = |pair: &Pair| pair.slot(Side::Client).association.path_stats();
    assert!(stats(&pair).iter().all(|path| path.status == PathStatus::Active));
    let probes = stats(&pair)[0].data_packets_sent;
    pair.paths[1].faults.loss = 1000;
    pair.run_for(secs(600));
    let paths = stats(&pair);
    assert_eq!(paths[0].status, PathStatus::Active);
    assert_eq!(paths[1].status, PathStatus::Inactive);
    assert!(pair.slot(Side::Client).association.is_established());
    assert!(paths[0].data_packets_sent > probes + 5, "the window stayed closed");
    // The user reads again: everything arrives over the path that is left.
    pair.hosts[1].reads = true;
    pair.read(Side::Server);
    assert!(
        pair.run_until(secs(120), |pair| {
            pair.slot(Side::Server).messages.len() as u64 == number
        })
    );
    assert_eq!(paths[1].path, PathId(1));
}
