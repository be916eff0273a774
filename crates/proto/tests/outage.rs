//! Outages of all paths: how often the paths are probed, and when the association ends.

mod common;

use common::{config, message, millis, secs};
use polypath_proto::config::{AssociationConfig, DataCopies, Preset};
use polypath_proto::{AssociationEnd, Duration, Event, PathStatus};
use polypath_testkit::{Pair, PairConfig, Side};

/// Two paths, on which data has flowed in both directions.
fn warm(config: AssociationConfig) -> Pair {
    warm_with(PairConfig::new(2, config))
}

fn warm_with(config: PairConfig) -> Pair {
    let mut pair = Pair::connected(config);
    assert!(pair.run_until(secs(60), Pair::all_confirmed));
    for number in 0..10 {
        pair.send(Side::Client, message(number, 1400)).unwrap();
    }
    pair.run_for(secs(1));
    pair
}

fn cut(pair: &mut Pair) {
    pair.paths.iter_mut().for_each(|path| path.faults.loss = 1000);
}

fn mend(pair: &mut Pair, path: usize) {
    pair.paths[path].faults.loss = 0;
}

fn heartbeats(pair: &Pair, side: Side) -> u64 {
    pair.slot(side).association.path_stats().iter().map(|path| path.heartbeats_sent).sum()
}

fn end(pair: &Pair) -> Option<AssociationEnd> {
    match pair.slot(Side::Client).events.last() {
        Some(Event::Ended(end)) => Some(end.clone()),
        _ => None,
    }
}

#[test]
fn while_data_waits_paths_are_probed_every_two_seconds() {
    let mut pair = warm(config(Preset::Recommended));
    cut(&mut pair);
    pair.send(Side::Client, message(10, 1400)).unwrap();
    pair.run_for(secs(20));
    let before = heartbeats(&pair, Side::Client);
    pair.run_for(secs(100));
    let sent = heartbeats(&pair, Side::Client) - before;
    assert!((98..=106).contains(&sent), "{sent} heartbeats in 100 s on two paths");

    mend(&mut pair, 1);
    let arrived = |pair: &Pair| pair.slot(Side::Server).messages.len() == 11;
    assert!(pair.run_until(secs(3), arrived), "{:?}", pair.slot(Side::Client).events);
}

#[test]
fn a_failed_path_is_probed_every_two_seconds_while_others_carry_data() {
    for (interval, expected) in [(Some(secs(2)), 48..=52), (None, 0..=10)] {
        let mut config = config(Preset::Recommended);
        config.policies.failover.outage_probe_interval = interval;
        // Copies over the other path would keep its timer from expiring.
        config.policies.data_copies = DataCopies::Off;
        let mut pair = warm(config);
        let stats = pair.slot(Side::Client).association.path_stats();
        let busy = usize::from(stats[1].data_chunks_sent > stats[0].data_chunks_sent);
        pair.paths[busy].faults.loss = 1000;
        let mut number = 10;
        let mut talk = |pair: &mut Pair, seconds: u64| {
            for _ in 0..seconds {
                pair.send(Side::Client, message(number, 1400)).unwrap();
                number += 1;
                pair.run_for(secs(1));
            }
        };
        talk(&mut pair, 60);
        let failed = |pair: &Pair| {
            let path = &pair.slot(Side::Client).association.path_stats()[busy];
            (path.heartbeats_sent, path.status)
        };
        let (before, status) = failed(&pair);
        assert_eq!(status, PathStatus::Inactive);
        talk(&mut pair, 100);
        let sent = failed(&pair).0 - before;
        assert!(expected.contains(&sent), "{interval:?}: {sent} heartbeats in 100 s");
        mend(&mut pair, busy);
        talk(&mut pair, 3);
        assert_eq!(failed(&pair).1 == PathStatus::Active, interval.is_some());
    }
}

/// Three seconds without a packet are no outage: the path is asked again and again, which counts no more than the timer would, and
/// carries data soon after.
#[test]
fn a_burst_of_losses_keeps_a_path_away_for_a_moment() {
    let mut config = config(Preset::Recommended);
    config.policies.data_copies = DataCopies::Off;
    let mut pair = warm(config);
    let stats = pair.slot(Side::Client).association.path_stats();
    let busy = usize::from(stats[1].data_chunks_sent > stats[0].data_chunks_sent);
    pair.paths[busy].faults.loss = 1000;
    let mut number = 10;
    let mut talk = |pair: &mut Pair, times: u64| {
        for _ in 0..times {
            pair.send(Side::Client, message(number, 1400)).unwrap();
            number += 1;
            pair.run_for(millis(100));
        }
    };
    let of = |pair: &Pair| {
        let path = &pair.slot(Side::Client).association.path_stats()[busy];
        (path.heartbeats_sent, path.status)
    };
    let before = of(&pair).0;
    talk(&mut pair, 30);
    let (sent, status) = of(&pair);
    assert_eq!(status, PathStatus::PotentiallyFailed, "too few errors count");
    assert!((6..=18).contains(&(sent - before)), "{} heartbeats in 3 s", sent - before);
    mend(&mut pair, busy);
    talk(&mut pair, 10);
    assert_eq!(of(&pair).1, PathStatus::Active);
}

#[test]
fn nobody_waits_and_nothing_is_hurried() {
    let mut pair = warm(config(Preset::Recommended));
    cut(&mut pair);
    pair.run_for(secs(120));
    let before = heartbeats(&pair, Side::Client);
    pair.run_for(secs(120));
    let sent = heartbeats(&pair, Side::Client) - before;
    assert!(sent <= 8, "{sent} heartbeats in 120 s on two paths");

    // Data that comes to wait later changes that.
    pair.send(Side::Client, message(10, 1400)).unwrap();
    pair.run_for(secs(2));
    mend(&mut pair, 0);
    let arrived = |pair: &Pair| pair.slot(Side::Server).messages.len() == 11;
    assert!(pair.run_until(secs(4), arrived), "{:?}", pair.slot(Side::Client).events);
}

/// How long an association lives whose paths are all silent.
fn lives(config: AssociationConfig, waits: bool) -> Duration {
    let mut pair = warm(config);
    cut(&mut pair);
    let began = pair.now;
    if waits {
        pair.send(Side::Client, message(10, 1400)).unwrap();
    }
    assert!(pair.run_until(secs(3600), |pair| end(pair).is_some()));
    assert_eq!(end(&pair), Some(AssociationEnd::Unreachable));
    pair.now.since(began)
}

#[test]
fn probes_do_not_hasten_the_end() {
    for waits in [true, false] {
        let lived = lives(config(Preset::Recommended), waits);
        assert!((secs(660)..secs(1800)).contains(&lived), "{waits}: {lived:?}");
    }
}

#[test]
fn few_retransmissions_end_it_as_soon_as_without_probes() {
    let mut impatient =
        AssociationConfig { association_max_retrans: 3, ..config(Preset::Recommended) };
    let with_probes = lives(impatient.clone(), true);
    impatient.policies.failover.outage_probe_interval = None;
    assert_eq!(with_probes, lives(impatient, true));
    assert!(with_probes < secs(2), "{with_probes:?}");
}

#[test]
fn a_change_of_the_network_is_a_reason_to_probe() {
    let mut pair = warm(config(Preset::Recommended));
    cut(&mut pair);
    pair.send(Side::Client, message(10, 1400)).unwrap();
    pair.run_for(secs(300));
    pair.paths.iter_mut().for_each(|path| path.faults.loss = 0);
    let now = pair.now;
    pair.hosts[0].command(now, 0, |association, cx| association.handle_network_change(cx));
    // What follows is polled with the next message.
    pair.send(Side::Client, message(11, 1400)).unwrap();
    pair.run_for(millis(300));
    let paths = pair.slot(Side::Client).association.path_stats();
    assert!(paths.iter().all(|path| path.status == PathStatus::Active), "{paths:?}");
}

/// Silences, in minutes; for the longer one the limits of the user have to be wide enough.
const OUTAGES: [u64; 2] = [1, 10];

fn patient() -> PairConfig {
    let config = AssociationConfig {
        max_init_retransmits: 20,
        shutdown_guard: Some(secs(3600)),
        ..config(Preset::Recommended)
    };
    PairConfig::new(2, config)
}

fn is_established(pair: &Pair) -> bool {
    let events = &pair.slot(Side::Client).events;
    events.iter().any(|event| matches!(event, Event::Established { .. }))
}

/// All links are silent for so long, and then one of them is back.
fn outage(pair: &mut Pair, minutes: u64) {
    cut(pair);
    pair.run_for(secs(60 * minutes));
    assert_eq!(end(pair), None, "{minutes} min");
    mend(pair, 0);
}

#[test]
fn a_handshake_goes_on_when_a_link_is_back() {
    for minutes in OUTAGES {
        for (state, packets) in [("COOKIE-WAIT", 0), ("COOKIE-ECHOED", 1)] {
            let mut pair = Pair::new(patient());
            pair.connect();
            let has_heard = |pair: &Pair| {
                pair.slot(Side::Client).association.stats().packets_received == packets
            };
            assert!(pair.run_until(secs(3), has_heard), "{state}");
            outage(&mut pair, minutes);
            assert!(pair.run_until(secs(3), is_established), "{state} {minutes} min");
        }
    }
}

#[test]
fn a_shutdown_goes_on_when_a_link_is_back() {
    for minutes in OUTAGES {
        let mut pair = warm_with(patient());
        pair.shutdown(Side::Client);
        outage(&mut pair, minutes);
        let ended = |pair: &Pair| end(pair) == Some(AssociationEnd::ShutdownComplete);
        assert!(pair.run_until(secs(3), ended), "{minutes} min");
    }
}

#[test]
fn a_handshake_without_answer_ends_as_late_as_without_probes() {
    let lives = |interval| {
        let mut config = config(Preset::Recommended);
        config.policies.failover.outage_probe_interval = interval;
        // Copies over the other path would keep its timer from expiring.
        config.policies.data_copies = DataCopies::Off;
        let mut pair = Pair::new(PairConfig::new(2, config));
        cut(&mut pair);
        pair.connect();
        let began = pair.now;
        assert!(pair.run_until(secs(3600), |pair| end(pair).is_some()));
        assert_eq!(end(&pair), Some(AssociationEnd::CannotConnect));
        pair.now.since(began)
    };
    let (probed, backed_off) = (lives(Some(secs(2))), lives(None));
    assert!((backed_off..backed_off + secs(2)).contains(&probed), "{probed:?} {backed_off:?}");
}
