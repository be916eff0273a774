//! Paths that stop answering: potentially failed paths (`natarajan` section II-C; RFC 7829), what is sent on them and
//! what ends that state; primary path switchover.

mod common;

use common::{
    PEER_WINDOW, PMDCS, Victim, config, data, data_chunks, init_ack, ip, message, millis, sack,
    secs,
};
use polypath_proto::config::{
    AllPf, AssociationConfig, Burst, FailureDetection, PathOrder, Preset, SackPath,
};
use polypath_proto::{
    Duration, Event, Instant, OutgoingMessage, PathChange, PathError, PathId, PathStats,
    PathStatus, Transmit,
};
use polypath_testkit::{Pair, PairConfig, Side};
use polypath_wire::Chunk;

use PathStatus::{Active, Inactive, PotentiallyFailed};

const BOTH: [FailureDetection; 2] = [FailureDetection::Pf1, FailureDetection::Pf2];

fn with_detection(detection: FailureDetection) -> AssociationConfig {
    let mut config = config(Preset::CmtPf);
    config.policies.failover.detection = detection;
    config
}

/// A pair with all paths confirmed, some data behind it, and every RTO at its least, a second.
fn warm(paths: usize, config: AssociationConfig) -> Pair {
    let mut pair = Pair::connected(PairConfig::new(paths, config));
    assert!(pair.run_until(secs(60), Pair::all_confirmed));
    for number in 0..100 {
        let path = Some(PathId((number % paths as u64) as u8));
        pair.send(Side::Client, OutgoingMessage { path, ..message(number, 1400) }).unwrap();
    }
    pair.run_for(secs(2));
    assert_eq!(pair.slot(Side::Server).messages.len(), 100);
    for path in paths_of(&pair) {
        assert_eq!((path.rto, path.flight_bytes, path.status), (secs(1), 0, Active));
    }
    pair
}

fn paths_of(pair: &Pair) -> Vec<PathStats> {
    pair.slot(Side::Client).association.path_stats()
}

fn statuses(pair: &Pair) -> Vec<PathStatus> {
    paths_of(pair).iter().map(|path| path.status).collect()
}

/// Sends a message that goes to this path while it is active.
fn send_on(pair: &mut Pair, path: u8) {
    let message = OutgoingMessage { path: Some(PathId(path)), ..message(0, 1400) };
    pair.send(Side::Client, message).unwrap();
}

fn cut(pair: &mut Pair, path: usize) {
    pair.paths[path].faults.loss = 1000;
}

fn mend(pair: &mut Pair, path: usize) {
    pair.paths[path].faults.loss = 0;
}

/// Runs until a path of the client has this status; says how long after `since` that was.
fn until(pair: &mut Pair, since: Instant, path: usize, status: PathStatus) -> Duration {
    let there = pair.run_until(secs(300), |pair| paths_of(pair)[path].status == status);
    assert!(there, "{:?}", paths_of(pair)[path]);
    pair.now.since(since)
}

#[test]
fn a_failure_takes_the_times_of_the_paper() {
    // 1 + 2 + 4 + 8 + 16 + 32 s.
    for detection in [FailureDetection::Rfc9260, FailureDetection::Pf1, FailureDetection::Pf2] {
        let mut pair = warm(2, with_detection(detection));
        let since = pair.now;
        cut(&mut pair, 1);
        send_on(&mut pair, 1);
        if detection == FailureDetection::Rfc9260 {
            // Each timeout needs data that went out on the path, so somebody must insist.
            for _ in 0..2000 {
                pair.run_for(millis(50));
                if paths_of(&pair)[1].flight_bytes == 0 && statuses(&pair)[1] == Active {
                    send_on(&mut pair, 1);
                }
            }
            let timeouts = paths_of(&pair)[1].timeouts;
            assert_eq!((statuses(&pair)[1], timeouts), (Inactive, 6));
            assert!(pair.path_changes(Side::Client, PathChange::PotentiallyFailed).is_empty());
            continue;
        }
        assert_eq!(until(&mut pair, since, 1, PotentiallyFailed), secs(1));
        let heartbeats = paths_of(&pair)[1].heartbeats_sent;
        assert_eq!(until(&mut pair, since, 1, Inactive), secs(63));
        let path = &paths_of(&pair)[1];
        // At once, and after 2, 4, 8 and 16 s more; the last one is given up after 32 s.
        assert_eq!(path.heartbeats_sent - heartbeats, 4, "and one with the first timeout");
        assert_eq!((path.potentially_failed, path.timeouts), (1, 1));
        let times = pair.slot(Side::Client).association.potentially_failed(pair.now);
        assert_eq!(times.paths, [Duration::ZERO, secs(62)]);
        assert_eq!(times.all_paths, Duration::ZERO);
        // Slow heartbeats follow.
        pair.run_for(secs(300));
        let more = paths_of(&pair)[1].heartbeats_sent - heartbeats - 4;
        assert!((2..=4).contains(&more), "{more} heartbeats in 300 s");
        assert_eq!(pair.path_changes(Side::Client, PathChange::Unreachable), [1]);
        mend(&mut pair, 1);
        until(&mut pair, since, 1, Active);
        assert_eq!(pair.path_changes(Side::Client, PathChange::Available), [1]);
    }
}

#[test]
fn thresholds_govern_when_a_path_is_doubted_and_given_up() {
    for (pmr, pfmr, doubted, failed) in
        [(0, 0, None, 1), (1, 0, Some(1), 3), (3, 1, Some(3), 15), (2, 2, None, 7), (1, 9, None, 3)]
    {
        let mut config = with_detection(FailureDetection::Pf2);
        config.path_max_retrans = pmr;
        config.policies.failover.pf_threshold = pfmr;
        let mut pair = warm(2, config);
        let since = pair.now;
        cut(&mut pair, 1);
        let mut seen = None;
        for tenths in 1..=1600 {
            if statuses(&pair)[1] == Active && paths_of(&pair)[1].flight_bytes == 0 {
                send_on(&mut pair, 1);
            }
            pair.run_for(millis(10));
            if seen.is_none() && statuses(&pair)[1] == PotentiallyFailed {
                seen = Some(tenths / 100);
            }
            if statuses(&pair)[1] == Inactive {
                break;
            }
        }
        let case = format!("PMR {pmr}, PFMR {pfmr}");
        // What is sent anew follows a timeout within 10 ms, three times at the most.
        let took = pair.now.since(since);
        assert!(took >= secs(failed) && took < secs(failed) + millis(50), "{case}: {took:?}");
        assert_eq!(seen, doubted, "{case}");
    }
}

#[test]
fn a_doubtful_path_carries_heartbeats_and_no_data() {
    for detection in BOTH {
        let mut pair = warm(2, with_detection(detection));
        cut(&mut pair, 1);
        send_on(&mut pair, 1);
        let now = pair.now;
        until(&mut pair, now, 1, PotentiallyFailed);
        let before = paths_of(&pair)[1].clone();
        for number in 0..200 {
            let wish = Some(PathId((number % 2) as u8));
            let message = OutgoingMessage { path: wish, ..message(number, 1400) };
            pair.send(Side::Client, message).unwrap();
            pair.run_for(millis(100));
        }
        assert_eq!(pair.slot(Side::Server).messages.len(), 301);
        let path = paths_of(&pair)[1].clone();
        assert_eq!(path.status, PotentiallyFailed);
        assert_eq!(path.data_chunks_sent, before.data_chunks_sent);
        // After 2, 6 and 14 s.
        assert_eq!(path.heartbeats_sent, before.heartbeats_sent + 3);
        assert_eq!(path.packets_sent, before.packets_sent + 3);
    }
}

#[test]
fn an_answered_heartbeat_starts_the_path_again() {
    for (detection, units) in [(FailureDetection::Pf1, 1), (FailureDetection::Pf2, 2)] {
        // With data lost, and with a heartbeat of an idle path lost, whose window is larger.
        for idle in [false, true] {
            let mut config = with_detection(detection);
            config.heartbeat_interval = Some(secs(2));
            let mut pair = warm(2, config);
            cut(&mut pair, 1);
            if !idle {
                send_on(&mut pair, 1);
            }
            let now = pair.now;
            until(&mut pair, now, 1, PotentiallyFailed);
            let doubted = paths_of(&pair)[1].clone();
            assert_eq!(doubted.timeouts, u64::from(!idle));
            mend(&mut pair, 1);
            until(&mut pair, now, 1, Active);
            let path = paths_of(&pair)[1].clone();
            assert_eq!(path.cwnd_bytes, units * PMDCS, "{detection:?}, idle: {idle}");
            assert_eq!(path.ssthresh_bytes, doubted.ssthresh_bytes);
            assert_eq!(path.rto, secs(1));
            assert_eq!(pair.path_changes(Side::Client, PathChange::PotentiallyFailed), [1]);
            assert_eq!(pair.path_changes(Side::Client, PathChange::Available), [1]);
            send_on(&mut pair, 1);
            assert!(paths_of(&pair)[1].flight_bytes > 0);
        }
    }
}

/// A client with paths to addresses 2 and 3, whose data to 3 timed out once.
fn one_timeout_on_the_second_path(config: AssociationConfig, messages: u64) -> Victim {
    let mut victim = Victim::connecting(config, &[ip(2), ip(3)]);
    victim.receive(ip(2), vec![init_ack(&[ip(2), ip(3)])]);
    victim.receive(ip(2), vec![Chunk::CookieAck]);
    assert_eq!(victim.peer_paths(), [(ip(2), Active), (ip(3), Active)]);
    victim.sent();
    for number in 0..messages {
        let on_second = OutgoingMessage { path: Some(PathId(1)), ..message(number, 1400) };
        victim.host.send(victim.now, 0, on_second).unwrap();
    }
    assert_eq!(destinations(&victim.sent()), vec![ip(3); data_chunks_of(messages)]);
    assert!(victim.wait_for_timer());
    assert_eq!(victim.path_at(1).timeouts, 1);
    victim
}

/// The first burst of the initial window.
fn data_chunks_of(messages: u64) -> usize {
    messages.min(4) as usize
}

/// Where packets with data went.
fn destinations(packets: &[Transmit]) -> Vec<std::net::IpAddr> {
    packets.iter().filter(|p| data_chunks(std::slice::from_ref(*p)) > 0).map(|p| p.remote).collect()
}

#[test]
fn what_went_over_two_paths_proves_nothing() {
    let mut victim = one_timeout_on_the_second_path(with_detection(FailureDetection::Pf2), 1);
    assert_eq!(destinations(&victim.sent()), [ip(2)]);
    assert_eq!(victim.path_at(1).status, PotentiallyFailed);
    let first = victim.first_tsn();
    victim.receive(ip(3), vec![sack(first, PEER_WINDOW, &[])]);
    assert_eq!(victim.path_at(1).status, PotentiallyFailed);
    // The counter stands where it was: five unanswered heartbeats more are the end.
    for errors in 2..=6 {
        assert_eq!(victim.path_at(1).status, PotentiallyFailed, "{errors}");
        while victim.path_at(1).rto < secs(1 << errors).min(secs(60)) {
            assert!(victim.wait_for_timer());
        }
    }
    assert_eq!(victim.path_at(1).status, Inactive);
}

#[test]
fn what_went_over_one_path_proves_that_it_works() {
    // More than the other path's burst takes: what is left has not been sent there when its ack comes late.
    let mut config = with_detection(FailureDetection::Pf2);
    config.policies.burst = Burst::MaxBurst(1);
    let mut victim = one_timeout_on_the_second_path(config, 4);
    let first = victim.first_tsn();
    let again = destinations(&victim.sent());
    assert!(!again.is_empty() && again.len() < 4 && again.iter().all(|to| *to == ip(2)));
    let window = victim.path_at(1).cwnd_bytes;
    victim.receive(ip(3), vec![sack(first.wrapping_add(3), PEER_WINDOW, &[])]);
    let path = victim.path_at(1);
    assert_eq!(path.status, Active);
    // Only a heartbeat ack sets the window.
    assert_eq!((window, path.cwnd_bytes), (PMDCS, PMDCS));
    assert!(
        victim.events().contains(&Event::Path { path: PathId(1), change: PathChange::Available })
    );
}

#[test]
fn with_one_path_data_goes_on_and_its_ack_ends_the_doubt() {
    for all_pf in [AllPf::Send, AllPf::MakeActive] {
        let mut config = with_detection(FailureDetection::Pf2);
        config.policies.failover.all_pf = all_pf;
        let mut victim = Victim::established(config);
        victim.send(1, 1000);
        victim.sent();
        for (n, interval) in [(1, 1), (2, 2), (3, 4)] {
            let since = victim.now;
            assert!(victim.wait_for_timer());
            assert_eq!(victim.now.since(since), secs(interval));
            assert_eq!(data_chunks(&victim.sent()), 1, "timeout {n}");
            let expected = if all_pf == AllPf::Send { PotentiallyFailed } else { Active };
            assert_eq!(victim.path().status, expected);
        }
        let first = victim.first_tsn();
        victim.receive(ip(2), vec![sack(first, PEER_WINDOW, &[])]);
        let expected = if all_pf == AllPf::Send { PotentiallyFailed } else { Active };
        assert_eq!(victim.path().status, expected, "which transmission arrived, nobody can tell");
        victim.send(1, 1000);
        assert_eq!(data_chunks(&victim.sent()), 1);
        victim.receive(ip(2), vec![sack(first.wrapping_add(1), PEER_WINDOW, &[])]);
        assert_eq!(victim.path().status, Active);
        let association = victim.association();
        let times = association.potentially_failed(victim.now + secs(99));
        let doubted = if all_pf == AllPf::Send { secs(6) } else { Duration::ZERO };
        assert_eq!((times.all_paths, &times.paths[..]), (doubted, &[doubted][..]));
        assert_eq!(association.stats().all_potentially_failed_time, doubted);
    }
}

/// Two paths that are cut with data outstanding on both; what the first one lost went to the second, whose timer began
/// anew then and is the next to expire.
fn both_cut(all_pf: AllPf) -> Pair {
    let mut config = with_detection(FailureDetection::Pf2);
    config.policies.failover.all_pf = all_pf;
    let mut pair = warm(2, config);
    cut(&mut pair, 0);
    cut(&mut pair, 1);
    send_on(&mut pair, 0);
    pair.run_for(millis(300));
    send_on(&mut pair, 1);
    pair.run_for(millis(900));
    pair
}

#[test]
fn while_all_are_doubtful_the_best_one_carries_data_as_it_is() {
    let mut pair = both_cut(AllPf::Send);
    assert_eq!(statuses(&pair), [PotentiallyFailed, Active]);
    pair.run_for(millis(900));
    assert_eq!(statuses(&pair), [PotentiallyFailed; 2]);
    let sent = |pair: &Pair| [0, 1].map(|path| paths_of(pair)[path].data_chunks_sent);
    // One timeout each: the second was active last and gets what is lost. Its next timeout comes 2 s later, but the
    // heartbeat of the first fails before.
    let before = sent(&pair);
    pair.run_for(millis(1600));
    assert_eq!(sent(&pair), before, "what was sent waits for its timer");
    // A window of one packet after the timeout: the other chunk waits for its turn.
    assert_eq!((paths_of(&pair)[1].flight_bytes, paths_of(&pair)[1].cwnd_bytes), (1416, PMDCS));
    mend(&mut pair, 0);
    let now = pair.now;
    until(&mut pair, now, 0, Active);
    assert_eq!(paths_of(&pair)[0].cwnd_bytes, 2 * PMDCS);
    assert_eq!(statuses(&pair)[1], PotentiallyFailed);
    let arrived = |pair: &Pair| pair.slot(Side::Server).messages.len() == 102;
    assert!(pair.run_until(secs(10), arrived));
    let times = pair.slot(Side::Client).association.potentially_failed(pair.now);
    assert!(times.all_paths > secs(1) && times.all_paths < times.paths[0], "{times:?}");
    assert!(pair.path_changes(Side::Client, PathChange::Unreachable).is_empty());
}

#[test]
fn while_all_are_doubtful_the_best_one_may_become_active() {
    let mut pair = both_cut(AllPf::MakeActive);
    pair.run_for(millis(900));
    assert_eq!(statuses(&pair), [PotentiallyFailed, Active]);
    assert_eq!(pair.path_changes(Side::Client, PathChange::PotentiallyFailed), [0, 1]);
    assert_eq!(pair.path_changes(Side::Client, PathChange::Available), [1]);
    // Its counter begins anew, so that it is the best one again after each timeout, and the other one fails.
    let now = pair.now;
    until(&mut pair, now, 0, Inactive);
    assert_eq!(statuses(&pair)[1], Active);
    assert!(paths_of(&pair)[1].timeouts >= 5);
    let times = pair.slot(Side::Client).association.potentially_failed(pair.now);
    assert_eq!((times.all_paths, times.paths[1]), (Duration::ZERO, Duration::ZERO));
}

#[test]
fn two_dead_paths_end_the_association_whatever_the_policy() {
    for all_pf in [AllPf::Send, AllPf::MakeActive] {
        let mut pair = both_cut(all_pf);
        let ended =
            |pair: &Pair| matches!(pair.slot(Side::Client).events.last(), Some(Event::Ended(_)));
        assert!(pair.run_until(secs(700), ended), "{all_pf:?}");
        // Probes at the pace of the RTO do not hasten the end.
        assert!(pair.slot(Side::Client).association.stats().timeouts >= 10);
    }
}

#[test]
fn doubtful_paths_are_probed_without_heartbeats_too() {
    let mut config = with_detection(FailureDetection::Pf2);
    config.heartbeat_interval = None;
    let mut pair = warm(2, config);
    cut(&mut pair, 1);
    send_on(&mut pair, 1);
    let now = pair.now;
    until(&mut pair, now, 1, PotentiallyFailed);
    mend(&mut pair, 1);
    assert_eq!(until(&mut pair, now, 1, Active), secs(3) + millis(20));
    let sent = paths_of(&pair)[1].heartbeats_sent;
    pair.run_for(secs(600));
    assert_eq!(paths_of(&pair)[1].heartbeats_sent, sent);
}

/// Timeouts of data that goes there for lack of any other path do not put its heartbeats off.
#[test]
fn a_failed_path_that_carries_data_is_probed_all_the_same() {
    let mut config = with_detection(FailureDetection::Pf2);
    config.heartbeat_interval = Some(secs(5));
    config.path_max_retrans = 0;
    config.association_max_retrans = 100;
    let mut victim = Victim::established(config);
    victim.send(1, 1000);
    while victim.path().status == Active {
        assert!(victim.wait_for_timer());
    }
    let (since, latest) = (victim.now, secs(5) + victim.path().rto * 2);
    let timeouts = victim.path().timeouts;
    victim.sent();
    let is_heartbeat = |chunk: &Chunk<'_>| matches!(chunk, Chunk::Heartbeat(_));
    loop {
        assert!(victim.wait_for_timer());
        assert!(victim.now.since(since) <= latest, "no heartbeat until {:?}", victim.now);
        if victim.sent().iter().any(|packet| packet.packet.chunks.iter().any(is_heartbeat)) {
            break;
        }
    }
    assert!(victim.path().timeouts > timeouts, "data went there meanwhile");
}

#[test]
fn a_refused_path_is_not_doubtful_but_failed() {
    let mut pair = warm(2, with_detection(FailureDetection::Pf2));
    cut(&mut pair, 1);
    send_on(&mut pair, 1);
    let now = pair.now;
    until(&mut pair, now, 1, PotentiallyFailed);
    let now = pair.now;
    pair.hosts[0].command(now, 0, |association, cx| {
        association.handle_path_error(cx, PathId(1), PathError::Refused);
    });
    assert_eq!(statuses(&pair), [Active, Inactive]);
}

#[test]
fn a_closed_window_is_no_reason_for_doubt() {
    let mut victim = Victim::established(with_detection(FailureDetection::Pf2));
    let acked = victim.first_tsn();
    victim.send(1, 1000);
    victim.receive(ip(2), vec![sack(acked, 0, &[])]);
    victim.send(20, 1000);
    let window = victim.path().cwnd_bytes;
    for _ in 0..6 {
        assert!(victim.wait_for_timer());
        if data_chunks(&victim.sent()) > 0 {
            victim.receive(ip(2), vec![sack(acked, 0, &[])]);
        }
        assert_eq!((victim.path().status, victim.path().cwnd_bytes), (Active, window));
    }
    assert!(victim.path().timeouts >= 3);
    // When the probes are no longer answered, there is.
    while victim.path().status == Active {
        assert!(victim.wait_for_timer());
        victim.sent();
    }
    assert_eq!(victim.path().status, PotentiallyFailed);
}

#[test]
fn answers_avoid_a_doubtful_path() {
    let mut victim = one_timeout_on_the_second_path(with_detection(FailureDetection::Pf2), 1);
    victim.sent();
    victim.receive(ip(3), vec![data(1)]);
    let answers = victim.sent();
    let sacks: Vec<_> = answers
        .iter()
        .filter(|packet| packet.packet.chunks.iter().any(|c| matches!(c, Chunk::Sack(_))))
        .map(|packet| packet.remote)
        .collect();
    assert_eq!(sacks, [ip(2)]);
}

/// It was doubtful before, and nothing has come back over it since.
#[test]
fn acknowledgements_avoid_a_failed_path() {
    for detection in [FailureDetection::Rfc9260, FailureDetection::Pf2] {
        let mut config = with_detection(detection);
        config.path_max_retrans = 0;
        let mut victim = one_timeout_on_the_second_path(config, 1);
        assert_eq!(victim.path_at(1).status, Inactive);
        victim.sent();
        victim.receive(ip(3), vec![data(1)]);
        let sent = victim.sent();
        let is_sack = |chunk: &Chunk<'_>| matches!(chunk, Chunk::Sack(_));
        let sacks = sent.iter().filter(|transmit| transmit.packet.chunks.iter().any(is_sack));
        assert_eq!(sacks.map(|sack| sack.remote).collect::<Vec<_>>(), [ip(2)], "{detection:?}");
    }
}

#[test]
fn a_primary_path_with_too_many_timeouts_hands_over() {
    for (detection, limit) in [
        (FailureDetection::Rfc9260, None),
        (FailureDetection::Rfc9260, Some(1)),
        (FailureDetection::Pf2, None),
        (FailureDetection::Pf2, Some(0)),
        (FailureDetection::Pf2, Some(1)),
    ] {
        let mut config = with_detection(detection);
        config.policies.path_order = PathOrder::Primary;
        config.path_max_retrans = 1;
        config.heartbeat_interval = Some(secs(1));
        config.policies.failover.primary_switchover = limit;
        config.check().unwrap();
        let mut pair = warm(2, config);
        assert!(paths_of(&pair)[0].primary);
        cut(&mut pair, 0);
        for number in 0..30 {
            pair.send(Side::Client, message(number, 1000)).unwrap();
            pair.run_for(millis(500));
        }
        let is_other = |pair: &Pair| paths_of(pair)[1].primary;
        assert_eq!(is_other(&pair), limit.is_some(), "{detection:?} {limit:?}");
        mend(&mut pair, 0);
        assert!(pair.run_until(secs(100), |pair| statuses(pair)[0] == Active));
        // Without switchover data goes back to where it was (RFC 7829 section 5).
        let before = paths_of(&pair);
        for number in 0..10 {
            pair.send(Side::Client, message(number, 1000)).unwrap();
            pair.run_for(millis(100));
        }
        let after = paths_of(&pair);
        let carried =
            [0, 1].map(|path| after[path].data_chunks_sent > before[path].data_chunks_sent);
        assert_eq!(carried, [limit.is_none(), limit.is_some()], "{detection:?} {limit:?}");
        let made = pair.path_changes(Side::Client, PathChange::MadePrimary);
        assert_eq!(made.is_empty(), limit.is_none());
    }
}

/// A side that only receives does not notice that the path of its SACKs is broken; the duplicates tell it, before the
/// peer gives up an association of which another path works.
#[test]
fn a_broken_path_of_sacks_does_not_end_the_association() {
    for sack_path in SackPath::ALL {
        let mut config = config(Preset::Cmt);
        config.policies.sack_path = *sack_path;
        let mut pair = warm(2, config);
        cut(&mut pair, 0);
        for _ in 0..3 {
            send_on(&mut pair, 1);
        }
        pair.run_for(secs(5));
        let client = &pair.slot(Side::Client).association;
        let left = client.stats().send_buffer_bytes;
        assert!(!client.is_closed() && left == 0, "{sack_path:?}: {left}");
    }
}
