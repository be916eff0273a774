//! The last packets of a transfer are lost on one path, and nothing later reports them missing.

mod common;

use common::{message, millis, secs};
use polypath_proto::config::{
    AssociationConfig, BufferSize, CongestionAlgorithm, DataCopies, Pacing, PartialReliability,
    Preset, SackPath, SackRequest, TailProbes, TailReinjection,
};
use polypath_proto::{Event, OutgoingMessage, PathId, PathStats, PathStatus, SendError};
use polypath_testkit::{Faults, Pair, PairConfig, PathModel, Side};

/// Bytes of each message: one packet.
const SIZE: u32 = 1400;
const LOST: Faults = Faults { loss: 1000, duplication: 0, reordering: 0, damage: 0 };
/// Messages before the last ones.
const BEFORE: u64 = 100;

fn config(tail_probe: TailProbes) -> AssociationConfig {
    let mut config = AssociationConfig::with_preset(Preset::Recommended);
    config.policies.tail_probe = tail_probe;
    config.policies.send_buffer = BufferSize::Bytes;
    // No window grows, which would be told at once.
    config.policies.receive_buffer = BufferSize::Bytes;
    // Else it would move the end away from a slow path before.
    config.policies.tail_reinjection = TailReinjection::Off;
    // Each message takes the path that it names, as soon as it is handed over, and no SACK is asked for.
    config.policies.data_copies = DataCopies::Off;
    config.policies.pacing = Pacing::Off;
    config.policies.sack_request = SackRequest::AtShutdown;
    let classic = Preset::Rfc9260.policies();
    config.policies.rto = classic.rto;
    // Packets of all paths count towards one SACK.
    config.policies.delayed_ack.scope = classic.delayed_ack.scope;
    config.policies.sack_path = SackPath::RoundRobin;
    config.policies.congestion = CongestionAlgorithm::Uncoupled;
    config
}

/// Associated hosts with a path of each of these delays in ms, whose round trips are known.
fn pair(config: AssociationConfig, delays: &[u64]) -> Pair {
    let mut setup = PairConfig::new(delays.len(), config);
    for (path, delay) in setup.paths.iter_mut().zip(delays) {
        *path = PathModel { delay: millis(*delay), ..PathModel::default() };
    }
    let mut pair = Pair::connected(setup);
    assert!(pair.run_until(secs(60), Pair::all_confirmed));
    for number in 0..BEFORE {
        send(&mut pair, number, (number % delays.len() as u64) as u8);
    }
    assert!(pair.run_until(secs(60), |pair| arrived(pair) == BEFORE));
    // Less than an RTO, so that the windows stay as they are.
    pair.run_for(millis(400));
    assert!(stats(&pair).iter().all(|path| path.srtt.is_some()));
    pair
}

fn send(pair: &mut Pair, number: u64, path: u8) {
    let message = OutgoingMessage { path: Some(PathId(path)), ..message(number, SIZE) };
    pair.send(Side::Client, message).unwrap();
}

fn stats(pair: &Pair) -> Vec<PathStats> {
    pair.slot(Side::Client).association.path_stats()
}

fn arrived(pair: &Pair) -> u64 {
    pair.slot(Side::Server).messages.len() as u64
}

fn is_acknowledged(pair: &Pair) -> bool {
    pair.slot(Side::Client).association.stats().send_buffer_bytes == 0
}

/// Five messages arrive over `path` and then so many are lost there.
fn lose_the_last(pair: &mut Pair, path: u8, count: u64) {
    let from = arrived(pair);
    lose_after(pair, from, path, count);
}

/// The same, with messages of these numbers on.
fn lose_after(pair: &mut Pair, from: u64, path: u8, count: u64) {
    for number in from..from + 5 {
        send(pair, number, path);
    }
    assert_eq!(pair.slot(Side::Client).association.stats().unsent_bytes, 0);
    let works = pair.paths[usize::from(path)].faults;
    pair.paths[usize::from(path)].faults = LOST;
    for number in from + 5..from + 5 + count {
        send(pair, number, path);
    }
    assert_eq!(pair.slot(Side::Client).association.stats().unsent_bytes, 0);
    pair.paths[usize::from(path)].faults = works;
}

/// Time until everything is acknowledged, in ms.
fn time_to_finish(pair: &mut Pair) -> u64 {
    let begin = pair.now;
    assert!(pair.run_until(secs(60), is_acknowledged));
    let numbers = pair.slot(Side::Server).messages.iter().map(|message| u64::from(message.ppid));
    assert!(numbers.eq(0..arrived(pair)), "each once, in order");
    pair.now.since(begin).as_nanos() / 1_000_000
}

#[test]
fn what_is_lost_at_the_end_is_sent_again_after_two_round_trips() {
    // A round trip of 20 ms: what came last is answered after it, two others follow, and one for the probe; with one packet
    // in flight the peer's delay of SACKs, and with several the rest takes another one. On the slow path the peer's delay is over
    // before the probe is due, and its SACK begins the wait anew.
    for (what, delays, path, count, expected) in [
        ("one packet", &[10, 10][..], 1, 1, 20 + 240 + 20),
        ("two", &[10, 10], 1, 2, 20 + 40 + 40),
        ("five", &[10, 10], 1, 5, 20 + 40 + 40),
        ("the first path", &[10, 10], 0, 5, 20 + 40 + 40),
        ("a single path, one packet", &[10], 0, 1, 20 + 240 + 20),
        ("a single path, five", &[10], 0, 5, 20 + 40 + 40),
        ("a slow path's on the quick one", &[10, 50], 1, 2, 100 + 200 + 200 + 40),
    ] {
        let mut pair = pair(config(TailProbes::TwoRtts), delays);
        let cwnd: Vec<u64> = stats(&pair).iter().map(|path| path.cwnd_bytes).collect();
        lose_the_last(&mut pair, path, count);
        let time = time_to_finish(&mut pair);
        assert!(time <= expected + 1, "{what}: {time} ms");
        let association = pair.slot(Side::Client).association.stats();
        assert_eq!((association.tail_probes, association.timeouts), (1, 0), "{what}");
        assert_eq!(association.fast_retransmissions, count - 1, "{what}");
        for (index, after) in stats(&pair).iter().enumerate() {
            let lost = index == usize::from(path);
            assert_eq!(after.fast_recoveries, u64::from(lost), "{what}: a loss counts once");
            assert!(lost || after.cwnd_bytes >= cwnd[index], "{what}: others pay nothing");
            assert_eq!(after.rto, secs(1), "{what}: no backoff");
        }
    }
}

/// The program drops a message that met a full send buffer, and sends nothing when there is room: the tail is one all the same,
/// once it could have come back.
#[test]
fn a_refused_message_that_is_dropped_does_not_end_tail_probes() {
    let config = config(TailProbes::TwoRtts);
    let large = config.send_buffer_bytes as u32 - 4 * SIZE;
    let mut pair = pair(config, &[10]);
    lose_the_last(&mut pair, 0, 3);
    let refused = pair.send(Side::Client, message(BEFORE + 8, large));
    assert_eq!(refused, Err(SendError::WouldBlock));
    let time = time_to_finish(&mut pair);
    assert!(pair.slot(Side::Client).events.contains(&Event::Writable));
    // What came last is answered after a round trip of 20 ms, another one passes, and then it is as above.
    assert!(time <= 20 + 20 + 40 + 40 + 1, "{time} ms");
    let association = pair.slot(Side::Client).association.stats();
    assert_eq!((association.tail_probes, association.timeouts), (1, 0));
}

/// The probe for the slow path takes the quick one, whose own probe is out.
#[test]
fn paths_that_are_silent_together_are_probed_each() {
    let mut pair = pair(config(TailProbes::TwoRtts), &[10, 11]);
    let from = arrived(&pair);
    lose_after(&mut pair, from, 0, 3);
    lose_after(&mut pair, from + 8, 1, 3);
    let time = time_to_finish(&mut pair);
    assert!(time < 200, "{time} ms");
    let association = pair.slot(Side::Client).association.stats();
    assert_eq!((association.tail_probes, association.timeouts), (2, 0));
    assert!(stats(&pair).iter().all(|path| path.fast_recoveries == 1));
}

/// A path that has nothing else to do takes what is overdue on another, without waiting for a second round trip.
#[test]
fn what_is_overdue_leaves_for_a_quicker_path() {
    let mut config = config(TailProbes::TwoRtts);
    config.policies.tail_reinjection = TailReinjection::On;
    // Too little between them for copies of what is on time.
    let mut pair = pair(config, &[10, 12]);
    let before = pair.slot(Side::Client).association.stats().rescheduled_chunks;
    // As many as may leave in one go, and one that arrived, but whose SACK the peer delays.
    lose_the_last(&mut pair, 1, 4);
    let time = time_to_finish(&mut pair);
    assert!(time <= 24 + 6 + 20 + 1, "{time} ms");
    let stats = pair.slot(Side::Client).association.stats();
    assert_eq!((stats.tail_probes, stats.timeouts, stats.rescheduled_chunks - before), (0, 0, 5));
}

/// What is answered on the other path after the lost packet should have arrived shows that no SACK is delayed.
#[test]
fn news_of_other_paths_shortens_the_wait_for_one_packet() {
    let mut pair = pair(config(TailProbes::TwoRtts), &[10, 10]);
    pair.paths[1].faults = LOST;
    send(&mut pair, BEFORE, 1);
    pair.paths[1].faults = Faults::default();
    pair.run_for(millis(35));
    for number in BEFORE + 1..BEFORE + 3 {
        send(&mut pair, number, 0);
    }
    // Their SACK comes after 20 ms, and that of the probe.
    let time = time_to_finish(&mut pair);
    assert!(time <= 41, "{time} ms");
    let association = pair.slot(Side::Client).association.stats();
    assert_eq!((association.tail_probes, association.timeouts), (1, 0));
}

#[test]
fn without_probes_the_timer_finds_it() {
    for (delays, count) in [(&[10, 10][..], 1), (&[10, 10], 5), (&[10], 2)] {
        let mut pair = pair(config(TailProbes::Off), delays);
        lose_the_last(&mut pair, 0, count);
        assert!(time_to_finish(&mut pair) > 1000);
        let association = pair.slot(Side::Client).association.stats();
        assert_eq!((association.tail_probes, association.timeouts), (0, 1));
    }
}

#[test]
fn a_probe_that_is_lost_is_left_to_the_timer() {
    for delays in [&[10, 10][..], &[10]] {
        let mut pair = pair(config(TailProbes::TwoRtts), delays);
        lose_the_last(&mut pair, 0, 2);
        pair.run_for(millis(30));
        for path in &mut pair.paths {
            path.faults = LOST;
        }
        pair.run_for(millis(60));
        assert_eq!(pair.slot(Side::Client).association.stats().tail_probes, 1);
        for path in &mut pair.paths {
            path.faults = Faults::default();
        }
        let time = time_to_finish(&mut pair);
        assert!((900..1200).contains(&time), "{time} ms");
        assert_eq!(pair.slot(Side::Client).association.stats().tail_probes, 1, "one for them all");
    }
}

/// What was sent late has arrived, but its SACKs are lost: the peer reports a duplicate, and nobody pays for a loss.
#[test]
fn a_probe_for_nothing_is_no_loss() {
    for delays in [&[10, 10][..], &[10]] {
        let mut pair = pair(config(TailProbes::TwoRtts), delays);
        let from = arrived(&pair);
        for path in &mut pair.paths {
            path.faults_back = Some(LOST);
        }
        for number in from..from + 3 {
            send(&mut pair, number, 0);
        }
        pair.run_for(millis(35));
        for path in &mut pair.paths {
            path.faults_back = None;
        }
        let time = time_to_finish(&mut pair);
        assert!(time <= 30, "{time} ms");
        let association = pair.slot(Side::Client).association.stats();
        assert_eq!((association.tail_probes, association.timeouts), (1, 0));
        assert!(stats(&pair).iter().all(|path| path.fast_recoveries == 0));
        assert_eq!(pair.slot(Side::Server).association.stats().duplicate_chunks_received, 1);
    }
}

/// A SACK that comes in time is awaited, also when it is delayed.
#[test]
fn nothing_is_probed_that_is_answered() {
    for delays in [&[10, 10][..], &[10], &[10, 100]] {
        let mut pair = pair(config(TailProbes::TwoRtts), delays);
        for round in 0..20 {
            let from = arrived(&pair);
            for number in from..from + 1 + round % 5 {
                send(&mut pair, number, (number % delays.len() as u64) as u8);
            }
            pair.run_for(secs(1));
        }
        assert!(is_acknowledged(&pair));
        assert_eq!(pair.slot(Side::Client).association.stats().tail_probes, 0);
        let timer = pair.slot(Side::Client).association.poll_timeout().expect("heartbeats");
        assert!(timer > pair.now + secs(1), "no timer runs for it");
    }
}

/// A message that may not be sent again is not, and the peer is told to go on without it.
#[test]
fn messages_that_may_be_lost_are_not_sent_again() {
    let mut config = config(TailProbes::TwoRtts);
    config.policies.partial_reliability = PartialReliability::LimitedRetransmissions(0);
    for delays in [&[10, 10][..], &[10]] {
        let mut pair = pair(config.clone(), delays);
        let before = stats(&pair)[0].data_packets_sent;
        pair.paths[0].faults = LOST;
        for number in BEFORE..BEFORE + 2 {
            send(&mut pair, number, 0);
        }
        pair.paths[0].faults = Faults::default();
        assert!(pair.run_until(secs(60), is_acknowledged));
        let association = pair.slot(Side::Client).association.stats();
        assert_eq!((association.tail_probes, association.chunks_abandoned), (0, 2));
        assert!(association.forward_tsns_sent > 0);
        assert_eq!(stats(&pair)[0].data_packets_sent, before + 2);
        assert_eq!(arrived(&pair), BEFORE);
    }
}

/// When a path dies, the probe brings its only chunk over the other one, and heartbeats find out that it is dead.
#[test]
fn a_path_that_dies_at_the_tail_is_found_out() {
    let mut config = config(TailProbes::TwoRtts);
    config.path_max_retrans = 2;
    let mut pair = pair(config, &[10, 10]);
    pair.paths[1].faults = LOST;
    send(&mut pair, BEFORE, 1);
    assert!(time_to_finish(&mut pair) < 300);
    pair.run_for(secs(30));
    assert_eq!(stats(&pair)[1].status, PathStatus::Inactive);
    assert_eq!(stats(&pair)[0].status, PathStatus::Active);
    pair.shutdown(Side::Client);
    pair.run_for(secs(10));
    assert!(pair.slot(Side::Client).association.is_closed());
    assert!(matches!(pair.slot(Side::Client).events.last(), Some(Event::Ended(_))));
}
