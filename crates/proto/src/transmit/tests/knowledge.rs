//! What is known of paths and chunks: round trips at the tail, the oldest transmission, what slower paths cost.

use std::vec::Vec;

use super::*;
use crate::config::{
    AssociationConfig, DataCopies, Pacing, Preset, SackRequest, T3Restart, TailProbes,
    TailReinjection,
};
use crate::paths::rtt::RttEstimator;
use crate::probe::TransmissionCause::FastRetransmission;
use crate::transmit::decide::What;
use crate::transmit::outstanding::History;
use crate::transmit::partial_reliability::Reliability;
use crate::{Duration, PathId};

/// Nothing but the rules for the last chunks; path 0 has 20 ms, path 1 400, path 2 40.
fn tail(paths: u8, tune: impl FnOnce(&mut AssociationConfig)) -> Bench {
    let mut bench = Bench::tuned(Preset::Recommended, paths, |config| {
        let policies = &mut config.policies;
        policies.data_copies = DataCopies::Off;
        policies.pacing = Pacing::Off;
        policies.tail_probe = TailProbes::Off;
        // Else no SACK of a last chunk is delayed.
        policies.sack_request = SackRequest::AtShutdown;
        policies.delayed_ack.delay = Duration::from_millis(200);
        tune(config);
    });
    for (id, ms) in (0..paths).zip([20, 400, 40]) {
        bench.shape(id, 9, 9, ms);
    }
    bench
}

/// Puts a chunk on each of these paths, as if each was the best one.
fn put(bench: &mut Bench, paths: &[u8]) {
    for &path in paths {
        let payload = polypath_wire::VirtualPayload { message: 0, offset: 0, len: FULL };
        let payload = polypath_wire::Payload::Virtual(payload);
        let message = crate::OutgoingMessage::from_payload(0, payload);
        let message = crate::OutgoingMessage { path: Some(PathId(path)), ..message };
        bench.send_message(message, Reliability::Full).1.unwrap();
        bench.begin();
        let decision = bench.decide().unwrap();
        assert_eq!(bench.fill(&decision).path, path);
        bench.tx.end_flush(bench.now, &bench.config);
    }
}

#[test]
fn a_chunk_is_overdue_a_quarter_of_a_round_trip_late_and_later_if_its_sack_is_delayed() {
    // 400 ms and a quarter; a packet alone waits for the delay of SACKs, too, unless it asked not to.
    for (what, paths, asks, ms) in [
        ("alone", &[1][..], false, 700),
        ("alone, and asked for its SACK", &[1], true, 500),
        ("with another one on its path", &[1, 1], false, 500),
        ("with one on another path", &[1, 0], false, 500),
        ("with one on another path, asked", &[1, 0], true, 500),
    ] {
        for (wait, is_late) in [(ms - 1, false), (ms, true)] {
            let mut bench = tail(2, |_| {});
            put(&mut bench, paths);
            for chunk in 0..paths.len() as u32 {
                let chunk = bench.tx.outstanding.get_mut(tsn(chunk));
                chunk.flags.set(polypath_wire::DataFlags::IMMEDIATE, asks);
            }
            bench.wait(wait);
            let late = is_late.then_some((0, What::Late(tsn(0))));
            assert_eq!(bench.choice(), late, "{what}: {wait} ms");
        }
    }
}

#[test]
fn the_search_returns_to_the_lowest_chunk_that_is_overdue() {
    let mut bench = tail(3, |_| {});
    put(&mut bench, &[2, 1, 1]);
    // 20 ms are clearly earlier than 400, but in 385 ms only nearly so.
    bench.wait(385);
    for (id, cwnd) in [(0, 0), (2, 9)] {
        bench.path(id).set_cwnd(cwnd * CHUNK, None);
    }
    // Path 2, with 40 ms, would be the next best: the only chunk of another path that it passes is too young.
    assert_eq!(bench.choice(), None, "the fastest path is full");
    bench.path(0).set_cwnd(9 * CHUNK, None);
    assert_eq!(bench.choice(), Some((0, What::Late(tsn(0)))), "of path 2, overdue for long");
    bench.tx.outstanding.get_mut(tsn(0)).history |= History::RESCHEDULED;
    assert_eq!(bench.choice(), None, "it has moved, and the others will soon be answered");
    bench.wait(115);
    assert_eq!(bench.choice(), Some((0, What::Late(tsn(1)))), "now they are overdue");
}

/// Control chunks took 20 ms on path 0 and 40 on path 1, which tells little of data.
#[test]
fn the_search_begins_anew_once_data_has_measured_the_fastest_path() {
    let mut bench = Bench::tuned(Preset::Recommended, 2, |config| {
        config.policies.data_copies = DataCopies::Off;
        config.policies.tail_probe = TailProbes::Off;
    });
    let before = bench.now;
    for (id, ms) in [(0, 20), (1, 20)] {
        bench.wait(ms);
        let now = bench.now;
        bench.path(id).sample_control_rtt(now, &mut crate::NoProbe, before);
    }
    put(&mut bench, &[1]);
    assert_eq!(bench.choice(), None, "either may be the faster one");
    let sent_at = bench.now - Duration::from_millis(22);
    let now = bench.now;
    bench.path(0).sample_rtt(now, &mut crate::NoProbe, sent_at, FULL);
    assert_eq!(bench.choice(), Some((0, What::Late(tsn(0)))));
}

#[test]
fn what_may_not_be_sent_again_does_not_move_at_the_tail() {
    type Change = fn(&mut Bench);
    let cases: [(&str, Change, bool); 3] = [
        ("in flight", |_| {}, true),
        (
            "moved before",
            |bench| bench.tx.outstanding.get_mut(tsn(0)).history |= History::RESCHEDULED,
            false,
        ),
        (
            "its lifetime is over",
            |bench| {
                bench.tx.outstanding.get_mut(tsn(0)).reliability = Reliability::Until(bench.now);
            },
            false,
        ),
    ];
    for (what, change, moves) in cases {
        let mut bench = tail(2, |_| {});
        put(&mut bench, &[1, 1]);
        bench.wait(500);
        change(&mut bench);
        let late = bench.choice();
        assert_eq!(late == Some((0, What::Late(tsn(0)))), moves, "{what}");
    }
}

#[test]
fn several_late_chunks_move_in_one_flush() {
    let mut bench = tail(2, |_| {});
    put(&mut bench, &[1, 1, 1]);
    let moved: Vec<u32> = bench.sends().into_iter().flat_map(|(_, chunks)| chunks).collect();
    assert_eq!(moved, [0, 1, 2]);
    assert_eq!(bench.flights(), [3 * CHUNK, 0]);
}

#[test]
fn a_path_that_waits_at_the_tail_is_polled_when_its_lowest_chunk_is_overdue() {
    type Change = fn(&mut Bench);
    let never: Change = |_| {};
    let cases: [(&str, u8, Change, Option<u64>); 6] = [
        ("a quarter late, and the delay of SACKs", 1, never, Some(700)),
        ("the fastest path has nowhere to go", 0, never, None),
        ("the fastest path is full", 1, |bench| bench.path(0).set_cwnd(0, None), None),
        (
            "it has moved before",
            1,
            |bench| bench.tx.outstanding.get_mut(tsn(0)).history |= History::RESCHEDULED,
            None,
        ),
        ("that is now", 1, |bench| bench.wait(700), None),
        ("more waits", 1, |bench| bench.tx.queue.enlarge(1 << 20), Some(700)),
    ];
    for (what, id, change, expected) in cases {
        let mut bench = tail(2, |_| {});
        let sent_at = bench.now;
        put(&mut bench, &[1]);
        if id == 0 {
            put(&mut bench, &[0]);
        }
        change(&mut bench);
        bench.begin();
        bench.tx.end_flush(bench.now, &bench.config);
        let (tx, cx) = bench.lend();
        let at = tx.overdue_aside(&cx, PathId(id));
        assert_eq!(at.map(|at| at.since(sent_at).as_millis()), expected, "{what}");
    }
    let mut bench = tail(2, |_| {});
    put(&mut bench, &[1]);
    bench.send(1);
    let (tx, cx) = bench.lend();
    assert_eq!(tx.overdue_aside(&cx, PathId(1)), None, "more is to be sent");
}

/// A timer that begins anew when the oldest transmission is another one; two paths with 50 ms.
fn smart() -> Bench {
    let mut bench = Bench::plain(preset("cmt"), 2);
    bench.config.policies.t3_restart = T3Restart::Smart;
    bench.config.policies.retransmission.fast = crate::config::RetransmissionPath::Same;
    bench.config.policies.fast_retransmit.threshold = u8::MAX;
    (0..2).for_each(|id| bench.shape(id, 9, 9, 50));
    bench
}

#[test]
fn the_oldest_transmission_of_a_path_is_found_whatever_became_of_others() {
    let mut bench = smart();
    let begin = bench.now;
    bench.place(&[0, 0, 0, 1]);
    bench.wait(10);
    bench.place(&[0]);
    bench.wait(10);
    // Chunk 0 is retransmitted, and once more.
    for _ in 0..2 {
        bench.tx.mark_lost(bench.now, tsn(0), FastRetransmission);
        assert_eq!(bench.sends(), [(0, [0].into())]);
        bench.wait(10);
    }
    let oldest = |bench: &mut Bench, id| {
        let at = bench.tx.oldest_transmission(PathId(id));
        at.map(|at| at.since(begin).as_millis())
    };
    assert_eq!(oldest(&mut bench, 0), Some(0), "chunk 1");
    bench.sack(&Answer::of(0).gaps(&[(1, 2)]));
    assert_eq!(oldest(&mut bench, 0), Some(10), "chunk 4");
    bench.sack(&Answer::of(0).gaps(&[(1, 2), (4, 4)]));
    assert_eq!(oldest(&mut bench, 0), Some(30), "chunk 0, the last time");
    bench.sack(&Answer::of(0).gaps(&[(1, 4)]));
    assert_eq!(oldest(&mut bench, 0), Some(30));
    assert_eq!(oldest(&mut bench, 1), None);
    bench.sack(&Answer::of(5));
    assert_eq!(oldest(&mut bench, 0), None);
}

#[test]
fn a_retransmission_that_left_the_path_or_was_answered_is_not_waited_for_there() {
    for (what, leave) in [
        ("answered", (|bench| drop(bench.sack(&Answer::of(0).gaps(&[(1, 1)])))) as fn(&mut Bench)),
        ("moved to path 1", |bench| {
            bench.config.policies.retransmission.fast =
                crate::config::RetransmissionPath::Alternate;
            bench.tx.mark_lost(bench.now, tsn(1), FastRetransmission);
            assert_eq!(bench.sends(), [(1, [1].into())]);
        }),
    ] {
        let mut bench = smart();
        bench.place(&[1, 0]);
        bench.tx.mark_lost(bench.now, tsn(1), FastRetransmission);
        assert_eq!(bench.sends(), [(0, [1].into())]);
        bench.wait(10);
        leave(&mut bench);
        assert_eq!(bench.tx.oldest_transmission(PathId(0)), None, "{what}");
    }
}

#[test]
fn the_smart_timer_begins_anew_when_the_oldest_transmission_was_answered() {
    for (policy, expected) in [(T3Restart::Rfc, 960), (T3Restart::Smart, 1000)] {
        let mut bench = smart();
        bench.config.policies.t3_restart = policy;
        bench.place(&[1]);
        bench.wait(10);
        bench.place(&[0]);
        bench.wait(5);
        bench.place(&[0]);
        // The lowest one of path 0 comes from path 1, and was sent last.
        bench.config.policies.retransmission.fast = crate::config::RetransmissionPath::Alternate;
        bench.wait(5);
        bench.tx.mark_lost(bench.now, tsn(0), FastRetransmission);
        assert_eq!(bench.sends(), [(0, [0].into())]);
        let rto = bench.rto(0);
        bench.wait(40);
        bench.path(0).timed = None;
        bench.sack(&Answer::of(0).gaps(&[(1, 1)]));
        assert_eq!(bench.t3(0), Some(rto - 1000 + expected), "{policy:?}");
    }
}

/// On a lossy path the oldest transmission is a lost chunk, which is retransmitted between two SACKs.
#[test]
fn the_smart_timer_begins_anew_if_the_oldest_was_repeated_and_another_is_answered() {
    let mut bench = smart();
    bench.place(&[1, 0]);
    bench.wait(5);
    bench.place(&[0, 0, 0]);
    bench.path(0).timed = None;
    bench.wait(10);
    // The lowest chunk comes from path 1, and is the newest.
    bench.config.policies.retransmission.fast = crate::config::RetransmissionPath::Alternate;
    bench.tx.mark_lost(bench.now, tsn(0), FastRetransmission);
    assert_eq!(bench.sends(), [(0, [0].into())]);
    bench.config.policies.retransmission.fast = crate::config::RetransmissionPath::Same;
    bench.wait(10);
    bench.sack(&Answer::of(0).gaps(&[(3, 3)]));
    bench.wait(10);
    let before = bench.t3(0);
    bench.tx.mark_lost(bench.now, tsn(1), FastRetransmission);
    assert_eq!(bench.sends(), [(0, [1].into())]);
    assert_eq!(bench.t3(0), before, "no SACK came");
    bench.wait(10);
    // The oldest is chunk 2, before and after this SACK.
    bench.sack(&Answer::of(0).gaps(&[(3, 4)]));
    assert_eq!(bench.t3(0), Some(bench.rto(0)), "progress");
    bench.wait(10);
    let left = bench.t3(0);
    bench.sack(&Answer::of(0).gaps(&[(3, 4)]));
    assert_eq!(bench.t3(0), left, "nothing new");
    bench.sack(&Answer::of(0).gaps(&[(1, 1), (3, 4)]));
    assert_eq!(bench.t3(0), left, "chunk 2 is the oldest still");
    // The lowest chunk was sent after it.
    bench.sack(&Answer::of(1).gaps(&[(2, 3)]));
    assert_eq!(bench.t3(0), Some(bench.rto(0)), "the cumulative ack");
}

#[test]
fn the_smart_timer_goes_on_where_only_what_left_later_is_answered() {
    let mut bench = smart();
    for chunk in [0u32, 3] {
        bench.place(&[0]);
        bench.wait(5);
        bench.place(&[0, 0]);
        bench.path(0).timed = None;
        bench.wait(10);
        let left = bench.t3(0);
        bench.sack(&Answer::of(chunk).gaps(&[(chunk + 2, chunk + 2)]));
        assert_eq!(bench.t3(0), left, "chunk {chunk} is waited for");
        bench.wait(10);
        // All has arrived, and what follows is a new beginning.
        bench.sack(&Answer::of(chunk + 3));
        assert_eq!(bench.t3(0), None);
    }
}

#[test]
fn with_nothing_in_flight_a_chunk_waits_only_for_a_path_that_takes_it_now() {
    let slow = Some((1, What::New(FULL)));
    type Change = fn(&mut Bench);
    type Choice = Option<(u8, What)>;
    let cases: [(&str, Change, Choice); 4] = [
        ("the faster path takes it", |_| {}, Some((0, What::New(FULL)))),
        ("it is full", |bench| bench.path(0).set_cwnd(0, None), slow),
        (
            "it takes nothing new",
            |bench| {
                let now = bench.now;
                bench.path(0).new_data_ban.begin(now, Duration::from_millis(5));
            },
            slow,
        ),
        ("both are alike", |bench| bench.shape(1, 9, 9, 20), Some((0, What::New(FULL)))),
    ];
    for (what, change, expected) in cases {
        let mut bench = tail(2, |_| {});
        change(&mut bench);
        bench.send(1);
        assert_eq!(bench.choice(), expected, "{what}");
    }
    // A path on which it arrives at the same time does not wait for the other one.
    for id in 0..2 {
        let mut bench = tail(2, |_| {});
        bench.shape(0, 9, 9, 50);
        let rto = bench.config.policies.rto;
        bench.path(1).rtt = RttEstimator::with_rules(rto, bench.config.policies.control_rtt);
        bench.shape(1, 9, 9, 50);
        bench.path(0).rtt = RttEstimator::with_rules(rto, bench.config.policies.control_rtt);
        bench.shape(0, 9, 9, 50);
        bench.send(1);
        bench.begin();
        let (tx, cx) = bench.lend();
        let snapshot = tx.snapshot(&cx, cx.book.usable());
        assert!(!snapshot.waits_for_faster(PathId(id), FULL), "{id}");
    }
    let mut bench = tail(2, |_| {});
    bench.send(1);
    bench.begin();
    let (tx, cx) = bench.lend();
    let snapshot = tx.snapshot(&cx, cx.book.usable());
    assert!(snapshot.waits_for_faster(PathId(1), FULL));
    assert!(!snapshot.waits_for_faster(PathId(0), FULL));
}

#[test]
fn what_was_sent_twice_is_answered_at_once() {
    for (wait, is_late) in [(499, false), (500, true)] {
        let mut bench = tail(2, |_| {});
        put(&mut bench, &[1]);
        bench.tx.outstanding.get_mut(tsn(0)).transmissions = 2;
        bench.wait(wait);
        let late = is_late.then_some((0, What::Late(tsn(0))));
        assert_eq!(bench.choice(), late, "{wait} ms");
    }
}

#[test]
fn a_path_is_polled_when_its_lowest_chunk_is_overdue_without_probes_too() {
    for (policy, ms) in [(TailReinjection::On, Some(700)), (TailReinjection::Off, None)] {
        let mut bench = tail(2, |config| config.policies.tail_reinjection = policy);
        put(&mut bench, &[1]);
        bench.path(0).set_cwnd(9 * CHUNK, None);
        // Half way, so that a copy would not arrive earlier.
        let sent_at = bench.now - Duration::from_millis(390);
        bench.tx.outstanding.get_mut(tsn(0)).sent_at = sent_at;
        bench.path(1).last_data_sent = Some(sent_at);
        bench.flush();
        let at = bench.path(1).tail_probe.overdue_at();
        let expected =
            ms.map_or(crate::Instant::FAR_FUTURE, |ms| bench.now + Duration::from_millis(ms - 390));
        assert_eq!(at, expected, "{policy:?}");
    }
}

#[test]
fn a_chunk_that_was_passed_by_another_is_probed_for_after_a_quarter_of_a_round_trip() {
    for (reports, ms) in [(0, 80), (1, 10)] {
        let mut bench = tail(1, |config| {
            config.policies.tail_probe = TailProbes::TwoRtts;
            config.policies.rto.min = Duration::from_secs(1);
        });
        bench.shape(0, 9, 9, 20);
        bench.path(0).rtt =
            RttEstimator::with_rules(bench.config.policies.rto, bench.config.policies.control_rtt);
        bench.shape(0, 9, 9, 40);
        put(&mut bench, &[0, 0, 0]);
        bench.tx.outstanding.get_mut(tsn(0)).missing_reports = reports;
        bench.flush();
        assert_eq!(bench.path(0).tail_probe.due().since(bench.now).as_millis(), ms, "{reports}");
    }
}
