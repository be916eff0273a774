//! Copies of data on a second path.

use std::vec::Vec;

use polypath_wire::DataFlags;

use super::*;
use crate::config::{AssociationConfig, Burst, DataAhead, DataCopies, Pacing, PathOrder, Preset};
use crate::mechanism::copies::CopyAnswer;
use crate::transmit::outstanding::History;
use crate::transmit::partial_reliability::Reliability;
use crate::transmit::testing::Sent;
use crate::{Duration, Instant, PathId};

/// Two paths with windows of nine packets, of which data has measured the first: 40 ms.
fn bench(tune: impl FnOnce(&mut AssociationConfig)) -> Bench {
    let mut bench = Bench::tuned(Preset::Recommended, 2, tune);
    bench.shape(0, 9, 9, 40);
    bench
}

/// The same, with a second path that data has measured.
fn proven(other_ms: u64, tune: impl FnOnce(&mut AssociationConfig)) -> Bench {
    let mut bench = bench(tune);
    bench.shape(1, 9, 9, other_ms);
    bench
}

#[test]
fn an_unproven_path_gets_a_copy_and_no_data() {
    let mut bench = bench(|config| config.policies.data_ahead = DataAhead::Off);
    bench.send(20);
    let sent = bench.flush();
    let on = |path| sent.iter().filter(move |sent| sent.path == path);
    let first: Vec<u32> = on(0).flat_map(|sent| sent.chunks.iter().copied()).collect();
    let copies: Vec<_> = on(1).collect();
    assert_eq!(copies.len(), 1, "one at a time");
    assert!(copies[0].hurries(), "its answer is awaited");
    assert!(copies[0].data[0].flags.contains(DataFlags::BEGIN | DataFlags::END));
    let copy = copies[0].chunks[0];
    assert!(first.contains(&copy) && bench.history(copy).contains(History::COPIED));
    assert_eq!(bench.flights()[1], 0, "it counts in no window");
    assert_eq!(bench.path(1).counters.data_packets_sent, 1);
}

#[test]
fn what_names_an_unproven_path_takes_it() {
    let mut bench = bench(|config| config.policies.data_copies = DataCopies::On);
    let payload = polypath_wire::VirtualPayload { message: 0, offset: 0, len: 3 * FULL };
    let message = crate::OutgoingMessage::from_payload(0, polypath_wire::Payload::Virtual(payload));
    let message = crate::OutgoingMessage { path: Some(crate::PathId(1)), ..message };
    bench.send_message(message, Reliability::Full).1.unwrap();
    bench.flush();
    assert!(bench.tx.queue.is_empty());
}

#[test]
fn the_answer_to_a_copy_measures_its_path() {
    for (what, answer, sample) in [
        ("first", Answer::of(1).over(1), Some(70)),
        ("as a duplicate", Answer { twice: [0].into(), ..Answer::of(1).over(1) }, Some(70)),
        ("over the other path", Answer::of(1), None),
        ("of something else", Answer::of(0).over(1), None),
        ("a duplicate only", Answer { twice: [0].into(), ..Answer::of(0).over(1) }, Some(70)),
        (
            "a duplicate of something else",
            Answer { twice: [3].into(), ..Answer::of(0).over(1) },
            None,
        ),
    ] {
        let mut bench = bench(|_| {});
        bench.send(1);
        assert_eq!(bench.sends(), [(0, [0].into()), (1, [0].into())]);
        bench.wait(70);
        bench.sack(&answer);
        let measured = bench.path(1).rtt.of_data().map(|(srtt, _)| srtt.as_millis());
        assert_eq!(measured, sample, "{what}");
    }
}

#[test]
fn the_original_measures_no_path_that_a_copy_may_have_answered_for() {
    let mut bench = bench(|_| {});
    bench.send(1);
    bench.flush();
    bench.trace();
    bench.wait(25);
    bench.sack(&Answer::of(1).over(1));
    assert_eq!(bench.samples(), [(1, 25)]);
}

/// The peer may not use the path of the copy yet, on which control chunks take 10 ms, and answer it over the other one, in 20 ms.
#[test]
fn a_copy_on_a_silent_path_leaves_open_what_was_answered() {
    for (after_ms, samples) in [(29, &[(0, 29)][..]), (30, &[]), (40, &[])] {
        let mut bench = bench(|_| {});
        let sent_at = bench.now;
        bench.wait(20);
        let now = bench.now;
        bench.path(1).sample_control_rtt(now, &mut crate::NoProbe, sent_at);
        bench.send(1);
        assert_eq!(bench.sends(), [(0, [0].into()), (1, [0].into())]);
        bench.trace();
        bench.wait(after_ms);
        bench.sack(&Answer::of(1));
        assert_eq!(bench.samples(), samples, "{after_ms} ms");
    }
}

/// Control chunks take 40 ms there. What comes three quarters of that after the copy, or later, may be its answer.
#[test]
fn what_comes_over_the_path_too_soon_answers_no_copy() {
    for (after_ms, measured) in [(29, None), (30, Some(30))] {
        let mut bench = bench(|_| {});
        let sent_at = bench.now;
        bench.wait(40);
        let now = bench.now;
        bench.path(1).sample_control_rtt(now, &mut crate::NoProbe, sent_at);
        bench.send(1);
        assert_eq!(bench.sends(), [(0, [0].into()), (1, [0].into())]);
        bench.wait(after_ms);
        bench.sack(&Answer::of(1).over(1));
        let srtt = bench.path(1).rtt.of_data().map(|(srtt, _)| srtt.as_millis());
        assert_eq!(srtt, measured, "{after_ms} ms");
    }
}

/// The chunk is acknowledged over the other path.
#[test]
fn a_path_that_answers_may_have_delivered_a_copy_after_half_a_round_trip() {
    for (control_ms, after_ms, has_delivered) in
        [(Some(10), 4, false), (Some(10), 5, true), (None, 5000, false)]
    {
        let mut bench = bench(|_| {});
        let sent_at = bench.now;
        if let Some(ms) = control_ms {
            bench.wait(ms);
            let now = bench.now;
            bench.path(1).sample_control_rtt(now, &mut crate::NoProbe, sent_at);
        }
        bench.send(1);
        assert_eq!(bench.sends(), [(0, [0].into()), (1, [0].into())]);
        bench.wait(after_ms);
        bench.sack(&Answer::of(1));
        assert_eq!(bench.path(1).has_delivered, has_delivered, "{control_ms:?}, {after_ms} ms");
    }
}

/// What went there before may be answered for four round trips of control chunks, of 20 ms.
#[test]
fn data_that_went_over_an_unmeasured_path_is_answered_before_the_copy() {
    for (ago_ms, measured) in [(79, None), (80, Some(30))] {
        let mut bench = bench(|_| {});
        let sent_at = bench.now;
        bench.wait(20);
        let now = bench.now;
        let path = bench.path(1);
        path.sample_control_rtt(now, &mut crate::NoProbe, sent_at);
        (path.transmission_rank, path.last_data_sent) = (1, Some(now));
        bench.wait(ago_ms);
        bench.send(1);
        bench.flush();
        bench.wait(30);
        bench.sack(&Answer::of(1).over(1));
        let srtt = bench.path(1).rtt.of_data().map(|(srtt, _)| srtt.as_millis());
        assert_eq!(srtt, measured, "{ago_ms} ms");
    }
}

/// Two round trips of the quickest path have passed by the end of the handshake: a path that has not answered is slower than that.
#[test]
fn a_path_that_has_not_answered_the_handshake_gets_no_data() {
    for (answered, sent) in [(&[][..], [3, 3]), (&[0], [3, 0]), (&[0, 1], [3, 3])] {
        let mut bench = Bench::tuned(Preset::Recommended, 2, |config| {
            config.policies.data_ahead = DataAhead::Off;
        });
        let sent_at = bench.now;
        bench.wait(20);
        let now = bench.now;
        for path in answered {
            bench.path(*path).sample_control_rtt(now, &mut crate::NoProbe, sent_at);
        }
        bench.send(20);
        bench.flush();
        let packets: Vec<u64> = bench.flights().iter().map(|bytes| bytes.div_ceil(CHUNK)).collect();
        assert_eq!(packets, sent, "{answered:?}");
    }
}

#[test]
fn a_copy_is_awaited_and_then_repeated_until_data_has_to_try() {
    let mut bench = bench(|_| {});
    let mut copies = 0;
    for round in 0..8 {
        bench.send(1);
        copies += bench.flush().iter().filter(|sent| sent.path == 1).count();
        bench.sack(&Answer::of(round + 1));
        let rto = bench.rto(1);
        bench.wait(rto + 1);
    }
    assert!(bench.path(1).copies().is_given_up());
    assert!(copies >= 4, "{copies}");
    bench.send(20);
    bench.flush();
    assert!(bench.flights()[1] > 0, "then it gets data of its own");
}

#[test]
fn messages_of_thin_flows_take_two_paths() {
    for (what, other_ms, order, policy, copied) in [
        ("thin", 60, PathOrder::LowestSrtt, DataCopies::On, true),
        ("it would come too late", 201, PathOrder::LowestSrtt, DataCopies::On, false),
        ("the primary path is named", 60, PathOrder::Primary, DataCopies::On, false),
        ("off", 60, PathOrder::LowestSrtt, DataCopies::Off, false),
    ] {
        let mut bench = proven(other_ms, |config| {
            config.policies.path_order = order;
            config.policies.data_copies = policy;
        });
        bench.send_one(200, Reliability::Full).1.unwrap();
        let expected: &[(u8, Vec<u32>)] = &[(0, [0].into()), (1, [0].into())];
        assert_eq!(bench.sends(), expected[..1 + usize::from(copied)], "{what}");
        assert_eq!(bench.sends(), [], "{what}: once");
    }
}

#[test]
fn a_budget_limits_the_copies_of_a_flow() {
    let mut bench = proven(60, |_| {});
    let mut copies = 0;
    // Four full packets each 20 ms, more than the budget pays.
    for round in 0..100_u32 {
        bench.send(4);
        copies += bench.flush().iter().filter(|sent| sent.path == 1).count();
        bench.wait(20);
        bench.sack(&Answer::of(4 * (round + 1)));
    }
    // 2 s at nine packets in 60 ms, and what may leave in one go.
    assert!((300..=306).contains(&copies), "{copies}");
}

/// Path 0 takes one packet of data in a flush, and late chunks of path 1 later: a copy before that would be one transmission too many.
#[test]
fn what_will_move_gets_no_copy() {
    for (other_ms, copied) in [(400, false), (45, true)] {
        let mut bench = proven(other_ms, |config| {
            config.policies.pacing = Pacing::Off;
            config.policies.burst = Burst::MaxBurst(1);
        });
        for path in [1, 0] {
            let payload = polypath_wire::VirtualPayload { message: 0, offset: 0, len: FULL };
            let payload = polypath_wire::Payload::Virtual(payload);
            let message = crate::OutgoingMessage::from_payload(0, payload);
            let message = crate::OutgoingMessage { path: Some(PathId(path)), ..message };
            bench.send_message(message, Reliability::Full).1.unwrap();
        }
        let sent = bench.flush();
        let on_first: Vec<u32> = sent
            .iter()
            .filter(|sent| sent.path == 0)
            .flat_map(|sent| sent.chunks.clone())
            .collect();
        let expected: &[u32] = if copied { &[1, 0] } else { &[1] };
        assert_eq!(on_first, expected, "{other_ms} ms");
    }
}

/// A message that comes next must not wait behind copies.
#[test]
fn a_low_rate_path_takes_no_copies_behind_others() {
    for (what, control_ms, copied) in
        [("a packet needs little time", 58, 4), ("15 ms", 45, 2), ("40 ms", 20, 1)]
    {
        let mut bench = proven(60, |_| {});
        let now = bench.now;
        bench.path(1).rtt = crate::paths::rtt::RttEstimator::with_rules(
            bench.config.policies.rto,
            bench.config.policies.control_rtt,
        );
        bench.path(1).rtt.on_control_sample(now, Duration::from_millis(control_ms));
        bench.path(1).rtt.on_data_sample(now, Duration::from_millis(60), 1468);
        bench.send(4);
        let copies = bench.flush().iter().filter(|sent| sent.path == 1).count();
        assert_eq!(copies, copied, "{what}");
    }
}

#[test]
fn more_that_waits_is_no_thin_flow() {
    let mut bench = proven(60, |_| {});
    bench.send(40);
    let sent = bench.flush();
    assert!(!sent.is_empty() && !bench.tx.queue.is_empty());
    let is_copied = |chunk: &u32| bench.history(*chunk).contains(History::COPIED);
    assert!(!sent.iter().flat_map(|sent| sent.chunks.iter()).any(is_copied));
}

#[test]
fn what_measures_and_what_comes_last_asks_for_its_sack() {
    let mut bench = Bench::tuned(Preset::Recommended, 1, |_| {});
    bench.path(0).rtt.on_data_sample(Instant::ZERO, Duration::from_millis(40), 1468);
    bench.path(0).set_cwnd(9 * CHUNK, Some(9 * CHUNK));
    bench.send(4);
    let hurries: Vec<bool> = bench.flush().iter().map(Sent::hurries).collect();
    assert_eq!(hurries, [true, false, false, true], "the timed chunk, and the last");
}

#[test]
fn a_sack_that_cannot_be_right_answers_no_copy() {
    let mut bench = bench(|_| {});
    bench.send(1);
    bench.flush();
    bench.wait(70);
    bench.hear(&Answer { twice: [0].into(), ..Answer::of(5).over(1) });
    assert_eq!(bench.path(1).rtt.of_data(), None);
}

#[test]
fn each_transmission_in_flight_is_copied_once_to_a_path_with_window() {
    type Change = fn(&mut Bench);
    let cases: [(&str, Change, bool); 6] = [
        ("in flight", |_| {}, true),
        ("sent twice", |bench| bench.tx.outstanding.get_mut(tsn(1)).transmissions = 2, true),
        (
            "sent twice, and the second time over two paths",
            |bench| {
                let chunk = bench.tx.outstanding.get_mut(tsn(1));
                (chunk.transmissions, chunk.history) = (2, History::COPIED_AGAIN);
            },
            false,
        ),
        (
            "moved, so that what it left is on its way",
            |bench| {
                let chunk = bench.tx.outstanding.get_mut(tsn(1));
                (chunk.transmissions, chunk.history) = (2, History::RESCHEDULED);
            },
            false,
        ),
        ("acknowledged", |bench| drop(bench.sack(&Answer::of(0).gaps(&[(1, 1)]))), false),
        (
            "no window",
            |bench| {
                let path = bench.path(1);
                path.flight = path.congestion.cwnd;
            },
            false,
        ),
    ];
    for (what, change, copied) in cases {
        let mut bench = proven(60, |config| config.policies.data_copies = DataCopies::Off);
        for _ in 0..2 {
            bench.send_one(200, Reliability::Full).1.unwrap();
            bench.flush();
        }
        bench.config.policies.data_copies = DataCopies::On;
        bench.tx.outstanding.get_mut(tsn(0)).history |= History::COPIED;
        change(&mut bench);
        let sent: Vec<u8> = bench.flush().iter().map(|sent| sent.path).collect();
        assert_eq!(sent.contains(&1), copied, "{what}");
    }
}

/// Chunk 0 is lost. Of chunks 1 and 2, which are acknowledged after 41 ms, copies arrive after half a round trip of the other path.
#[test]
fn what_arrives_before_its_copy_can_tells_of_the_order_of_its_path() {
    for (other_ms, known) in [(60, false), (82, false), (84, true)] {
        let mut bench = proven(other_ms, |_| {});
        for _ in 0..3 {
            bench.send_one(200, Reliability::Full).1.unwrap();
            assert_eq!(bench.flush().len(), 2, "a message and its copy");
        }
        bench.wait(41);
        bench.sack(&Answer::of(0).gaps(&[(1, 2)]));
        assert_eq!(bench.late_in(0).is_some(), known, "{other_ms} ms");
    }
}

/// The lowest chunk is on a long path, and below thirty others.
#[test]
fn what_a_transfer_waits_for_in_the_end_is_copied() {
    for (what, messages_wait, copied) in [("at the tail", 0, true), ("before", 10, false)] {
        let mut bench = Bench::tuned(Preset::Recommended, 2, |config| {
            config.policies.tail_reinjection = crate::config::TailReinjection::Off;
            config.policies.data_copies = DataCopies::Off;
            config.policies.pacing = crate::config::Pacing::Off;
        });
        bench.shape(0, 31, 31, 40);
        bench.shape(1, 9, 9, 400);
        let mut paths = [0; 31];
        paths[0] = 1;
        bench.place(&paths);
        bench.config.policies.data_copies = DataCopies::On;
        bench.send(messages_wait);
        let sent = bench.sends();
        assert_eq!(sent.contains(&(0, [0].into())), copied, "{what}: {sent:?}");
        assert!(!bench.history(20).contains(History::COPIED), "{what}: the other path is too long");
    }
}

/// Five chunks on each of two paths, and copies of five go over the third one.
#[test]
fn of_many_chunks_those_are_copied_whose_path_loses_most() {
    for (what, lost, expected) in [
        ("the last ones", [0, 0], [9, 8, 7, 6, 5]),
        ("those of path 0", [1, 0], [4, 3, 2, 1, 0]),
        ("it loses more", [2, 1], [4, 3, 2, 1, 0]),
        ("those of path 1", [1, 2], [9, 8, 7, 6, 5]),
    ] {
        let mut bench = Bench::tuned(Preset::Recommended, 3, |config| {
            config.policies.tail_reinjection = crate::config::TailReinjection::Off;
            config.policies.data_copies = DataCopies::Off;
            config.policies.pacing = crate::config::Pacing::Off;
        });
        (0..3).for_each(|id| bench.shape(id, 9, 9, 40));
        bench.place(&[0, 0, 0, 0, 0, 1, 1, 1, 1, 1]);
        for (id, lost) in (0..).zip(lost) {
            let losses = &mut bench.path(id).record.loss_share;
            (0..lost).for_each(|_| losses.on_lost());
            losses.on_delivered(100);
        }
        // Neither of the two takes any.
        for id in 0..2 {
            let path = bench.path(id);
            path.flight = path.congestion.cwnd;
        }
        bench.config.policies.data_copies = DataCopies::On;
        let copies: Vec<u32> = bench.sends().into_iter().flat_map(|(_, chunks)| chunks).collect();
        assert_eq!(copies, expected, "{what}");
    }
}

/// The path that loses chunks carried the first four of 19; the last sixteen are looked at first.
#[test]
fn the_lowest_chunks_of_a_lossy_path_are_copied_before_the_last_ones_of_another() {
    let mut bench = Bench::tuned(Preset::Recommended, 3, |config| {
        config.policies.tail_reinjection = crate::config::TailReinjection::Off;
        config.policies.data_copies = DataCopies::Off;
        config.policies.pacing = crate::config::Pacing::Off;
    });
    (0..3).for_each(|id| bench.shape(id, 20, 20, 40));
    bench.place(&[0; 4]);
    bench.place(&[1; 15]);
    bench.path(0).record.loss_share.on_lost();
    for id in 0..2 {
        let path = bench.path(id);
        path.flight = path.congestion.cwnd;
    }
    bench.config.policies.data_copies = DataCopies::On;
    let copies: Vec<u32> = bench.sends().into_iter().flat_map(|(_, chunks)| chunks).collect();
    assert_eq!(copies, [3, 0, 1, 2, 18]);
}

#[test]
fn copies_leave_nothing_in_the_log_of_retransmissions() {
    let mut bench = proven(60, |config| {
        config.policies.t3_restart = crate::config::T3Restart::Smart;
    });
    for chunk in 1..=20 {
        bench.send_one(200, Reliability::Full).1.unwrap();
        assert_eq!(bench.flush().len(), 2, "a message and its copy");
        bench.wait(50);
        bench.sack(&Answer::of(chunk));
    }
    assert!(bench.path(1).record.retransmissions.is_empty());
}

#[test]
fn a_peer_that_answers_over_another_path_measures_none() {
    for (late, over, given_up) in [(1, 0, true), (0, 0, false), (1, 1, false)] {
        let mut bench = bench(|_| {});
        bench.send(1);
        bench.flush();
        let rto = bench.rto(1);
        bench.wait(4 * rto + late);
        bench.sack(&Answer::of(1).over(over));
        assert_eq!(bench.path(1).copies().is_given_up(), given_up, "{late} ms over path {over}");
    }
    // One that was measured is not abandoned.
    let mut bench = proven(60, |_| {});
    bench.send_one(200, Reliability::Full).1.unwrap();
    assert_eq!(bench.flush().len(), 2);
    bench.wait(1000);
    bench.sack(&Answer::of(1));
    assert!(!bench.path(1).copies().is_given_up());
}

/// Four chunks on a long path beside a short one.
fn on_the_long_path() -> Bench {
    let mut bench = proven(100, |config| {
        config.policies.congestion = crate::config::CongestionAlgorithm::Cubic;
        config.policies.tail_reinjection = crate::config::TailReinjection::Off;
        config.policies.data_copies = DataCopies::Off;
        config.policies.pacing = crate::config::Pacing::Off;
    });
    bench.place(&[1; 4]);
    bench
}

/// Copies of them go over the short one and come first.
fn with_copies_first() -> Bench {
    let mut bench = on_the_long_path();
    bench.config.policies.data_copies = DataCopies::On;
    let copies = bench.sends();
    assert_eq!(copies.iter().filter(|(path, _)| *path == 0).count(), 4, "{copies:?}");
    bench.wait(40);
    bench
}

#[test]
fn originals_whose_copies_came_first_tell_how_fast_their_path_delivers() {
    let mut bench = with_copies_first();
    bench.sack(&Answer::of(4));
    assert_eq!(bench.path(1).bottleneck_rate(), None);
    for (chunk, ms) in [(0, 60), (1, 12), (2, 12), (3, 12)] {
        bench.wait(ms);
        bench.hear(&Answer { twice: [chunk].into(), ..Answer::of(4).over(1) });
    }
    let rate = bench.path(1).bottleneck_rate();
    assert_eq!(rate, Some(CHUNK * 1000 / 12), "a chunk in 12 ms");
}

/// The same where the reports do not tell of all that arrived.
#[test]
fn reports_that_leave_something_out_measure_no_rate() {
    type Change = fn(&mut Bench);
    let cases: [(&str, Change); 2] = [
        ("the report of chunk 1 is lost", |_| {}),
        ("TSNs begin anew", |bench| bench.path(1).forget_tsns()),
    ];
    for (what, change) in cases {
        let mut bench = with_copies_first();
        bench.sack(&Answer::of(4));
        for (chunk, ms) in [(0, 60), (2, 24)] {
            bench.wait(ms);
            bench.hear(&Answer { twice: [chunk].into(), ..Answer::of(4).over(1) });
            change(&mut bench);
        }
        assert_eq!(bench.path(1).bottleneck_rate(), None, "{what}");
    }
}

/// Without copies. A SACK over the short path acknowledges what arrived; those over the own path come later, and say nothing new.
#[test]
fn sacks_that_say_nothing_new_tell_how_fast_their_path_delivers() {
    for (what, first) in [("all is known already", 4), ("nothing is", 0), ("only the first two", 2)]
    {
        let mut bench = on_the_long_path();
        bench.wait(90);
        bench.sack(&Answer::of(first));
        assert_eq!(bench.path(1).bottleneck_rate(), None, "{what}");
        for chunks in 1..=4 {
            bench.wait(12);
            bench.hear(&Answer::of(chunks).over(1));
        }
        assert_eq!(bench.path(1).bottleneck_rate(), Some(CHUNK * 1000 / 12), "{what}");
    }
}

/// The same, but something that came twice brought each of them: what else they tell of may have come before.
#[test]
fn sacks_that_copies_brought_tell_nothing_of_other_arrivals() {
    for (twice, rate) in [(&[][..], Some(CHUNK * 1000 / 12)), (&[9], None)] {
        let mut bench = on_the_long_path();
        bench.wait(90);
        bench.sack(&Answer::of(4));
        for chunks in 1..=4 {
            bench.wait(12);
            bench.hear(&Answer { twice: twice.into(), ..Answer::of(chunks).over(1) });
        }
        assert_eq!(bench.path(1).bottleneck_rate(), rate, "{twice:?}");
    }
}

/// A heartbeat took 100 ms over the path, and copies take much longer: what follows them waits until they are answered or count as lost, so that
/// the answers are known.
#[test]
fn no_more_copies_follow_those_that_are_overdue() {
    for (what, sent, bytes, waited_ms, copies) in [
        ("a few", 3, 1200, 250, 1),
        ("as many as are remembered, just now", 4, 1200, 150, 1),
        ("and long ago", 4, 1200, 250, 0),
        ("small ones", 4, 1000, 250, 1),
        ("so long ago that they are lost", 4, 1200, 60_000, 1),
    ] {
        let mut bench = bench(|_| {});
        bench.path(1).rtt.on_control_sample(Instant::ZERO, Duration::from_millis(100));
        let now = bench.now;
        for chunk in 0..sent {
            let copies = &mut bench.path(1).spread_mut().copies;
            copies.on_sent(now, tsn(100 + chunk), bytes, 1_000_000, CopyAnswer::Nothing);
        }
        bench.wait(waited_ms);
        bench.send_one(100, Reliability::Full).1.unwrap();
        let sends = bench.sends();
        assert_eq!(
            sends.iter().filter(|(path, _)| *path == 1).count(),
            copies,
            "{what}: {sends:?}"
        );
    }
}

/// Copies leave together like the packets of a train, and their answers are as far apart as the bottleneck made them.
#[test]
fn copies_tell_how_fast_their_path_delivers() {
    for (what, answered, rate) in
        [("all", &[3, 2, 1, 0][..], Some(CHUNK * 1000 / 12)), ("not the second", &[3, 1], None)]
    {
        let mut bench = proven(100, |config| {
            config.policies.congestion = crate::config::CongestionAlgorithm::Cubic;
            config.policies.pacing = Pacing::Off;
            config.policies.data_copies = DataCopies::Off;
        });
        bench.place(&[0; 4]);
        bench.config.policies.data_copies = DataCopies::On;
        bench.wait(1);
        let now = bench.now;
        for chunk in [3, 2, 1, 0] {
            bench.tx.outstanding.get_mut(tsn(chunk)).history |= History::COPIED;
            let copies = &mut bench.path(1).spread_mut().copies;
            copies.on_sent(now, tsn(chunk), CHUNK as u32, 1_000_000, CopyAnswer::Nothing);
        }
        bench.wait(30);
        bench.sack(&Answer::of(4));
        bench.wait(60);
        for &chunk in answered {
            bench.wait(12);
            bench.hear(&Answer { twice: [chunk].into(), ..Answer::of(4).over(1) });
        }
        assert_eq!(bench.path(1).bottleneck_rate(), rate, "{what}");
    }
}
