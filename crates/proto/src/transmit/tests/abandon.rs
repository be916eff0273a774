//! Messages that are not fully reliable (RFC 3758, RFC 7496).

use std::string::String;
use std::vec::Vec;

use super::*;
use crate::config::{Preset, RetransmissionPath};
use crate::probe::TransmissionCause::FastRetransmission;
use crate::transmit::SendPhase;
use crate::transmit::partial_reliability::{Reliability, Support};
use crate::{AbandonedMessages, Duration, SendError};

/// One path with a window of 20 packets and 50 ms, and a send buffer of eight packets.
fn bench() -> Bench {
    let mut bench = Bench::tuned(Preset::Rfc9260, 1, |config| {
        config.send_buffer_bytes = u64::from(8 * FULL);
        config.policies.retransmission.timer = RetransmissionPath::Same;
    });
    bench.shape(0, 20, 20, 50);
    bench
}

fn abandoned(context: u32, transmitted: bool) -> String {
    std::format!("Event(Abandoned {{ stream: 0, context: {context}, transmitted: {transmitted} }})")
}

fn until(bench: &Bench, ms: u64) -> Reliability {
    Reliability::Until(bench.now + Duration::from_millis(ms))
}

fn lose(bench: &mut Bench, chunks: &[u32]) {
    for chunk in chunks {
        bench.mark_lost(tsn(*chunk), FastRetransmission);
    }
}

#[test]
fn a_message_goes_again_as_often_as_its_limit_says() {
    for limit in 0..4 {
        let mut bench = bench();
        bench.send_one(FULL, Reliability::Retransmissions(limit)).1.unwrap();
        assert_eq!(bench.sends(), [(0, [0].into())]);
        for _ in 0..limit {
            lose(&mut bench, &[0]);
            assert_eq!(bench.sends(), [(0, [0].into())], "{limit}");
        }
        lose(&mut bench, &[0]);
        assert_eq!(bench.begin(), [abandoned(0, true)], "{limit}");
        assert_eq!(bench.tx.queue.used(), 0);
        let mut counts = AbandonedMessages::default();
        counts.limited_retransmissions.sent = 1;
        assert_eq!(bench.tx.stats.seldom.abandoned, counts);
        assert_eq!(bench.tx.abandoned_on(0), counts);
        assert_eq!(bench.tx.abandoned_on(1), AbandonedMessages::default());
        let sent = bench.flush();
        assert_eq!(sent.len(), 1);
        let point = sent[0].forward.as_ref().unwrap().new_cumulative_tsn;
        assert_eq!(point, tsn(0).0);
        assert_eq!(bench.sack(&Answer::of(1)).last().unwrap(), "Event(SenderDry)");
        assert_eq!(bench.sends(), []);
    }
}

#[test]
fn a_reliable_message_is_never_abandoned() {
    let mut bench = bench();
    bench.send(1);
    bench.flush();
    for _ in 0..100 {
        bench.wait(60_000);
        lose(&mut bench, &[0]);
        assert_eq!(bench.sends(), [(0, [0].into())]);
    }
}

#[test]
fn all_chunks_of_a_message_go_with_the_one_that_was_lost() {
    let mut bench = bench();
    bench.send(1);
    bench.send_one(3 * FULL, Reliability::Retransmissions(0)).1.unwrap();
    bench.send(1);
    assert_eq!(bench.flush().len(), 4);
    assert_eq!(bench.flush().len(), 1);
    lose(&mut bench, &[2]);
    bench.begin();
    assert_eq!(bench.flights(), [2 * CHUNK]);
    assert_eq!(bench.tx.stats.seldom.chunks_abandoned, 3);
    assert_eq!(bench.tx.queue.used(), u64::from(2 * FULL));
    assert!(!bench.tx.forward.is_due(), "chunk 0 is still to come");
    bench.sack(&Answer::of(1).gaps(&[(4, 4)]));
    let sent = bench.flush();
    assert_eq!(sent[0].forward.as_ref().unwrap().new_cumulative_tsn, tsn(3).0);
    assert_eq!(sent.len(), 1);
    let told = bench.sack(&Answer::of(5));
    assert_eq!(told.last().unwrap(), "Event(SenderDry)");
    assert_eq!((bench.flights(), bench.tx.queue.used()), ([0].into(), 0));
}

#[test]
fn a_message_that_waits_is_abandoned_when_its_lifetime_is_over() {
    let mut bench = bench();
    let rule = until(&bench, 50);
    bench.send_one(FULL, rule).1.unwrap();
    let due = bench.tx.abandon_deadline(bench.phase);
    assert_eq!(due, Some(bench.now + Duration::from_millis(50)));
    let over = |bench: &mut Bench| {
        let (tx, mut cx) = bench.lend();
        tx.on_lifetime_over(&mut cx);
        bench.told()
    };
    bench.wait(49);
    assert_eq!(over(&mut bench), [""; 0]);
    bench.wait(1);
    assert_eq!(over(&mut bench), [abandoned(0, false), "Event(SenderDry)".into()]);
    assert_eq!(bench.tx.abandon_deadline(bench.phase), None);
    assert_eq!((bench.tx.queue.used(), bench.tx.stats.seldom.abandoned.timed.unsent), (0, 1));
    assert_eq!(bench.sends(), []);
    assert!(!bench.tx.forward.is_due(), "the peer has heard nothing of it");
}

#[test]
fn a_chunk_in_flight_outlives_its_message_until_it_is_lost() {
    for (what, lost_after, arrives) in [("lost in time", 49, true), ("lost too late", 50, false)] {
        let mut bench = bench();
        let rule = until(&bench, 50);
        bench.send_one(FULL, rule).1.unwrap();
        bench.flush();
        bench.wait(lost_after);
        assert_eq!(bench.begin(), [""; 0], "{what}: it may have arrived");
        bench.tx.end_flush(bench.now, &bench.config);
        lose(&mut bench, &[0]);
        let sent = bench.flush();
        assert_eq!(sent[0].forward.is_none(), arrives, "{what}");
        bench.wait(10);
        assert_eq!(bench.begin(), [""; 0], "{what}: it is in flight again, or gone");
    }
}

#[test]
fn a_lost_message_that_waits_for_a_window_is_abandoned_in_time() {
    let mut bench = bench();
    let rule = until(&bench, 50);
    bench.send_one(FULL, rule).1.unwrap();
    bench.flush();
    bench.place(&[0]);
    lose(&mut bench, &[0]);
    bench.path(0).set_cwnd(CHUNK, None);
    assert_eq!(bench.sends(), [], "no window");
    assert_eq!(bench.tx.abandon_deadline(bench.phase), Some(bench.now + Duration::from_millis(50)));
    bench.wait(50);
    assert_eq!(bench.begin(), [abandoned(0, true)]);
    assert_eq!(bench.lost(), []);
}

#[test]
fn the_rest_of_a_message_is_abandoned_with_what_was_sent_of_it() {
    let mut bench = bench();
    bench.path(0).set_cwnd(2 * CHUNK, None);
    let rule = until(&bench, 50);
    bench.send_one(4 * FULL, rule).1.unwrap();
    bench.send(1);
    assert_eq!(bench.sends(), [(0, [0].into()), (0, [1].into())]);
    bench.wait(50);
    assert_eq!(bench.begin(), [abandoned(0, true)]);
    assert_eq!(bench.tx.queue.used(), u64::from(FULL), "the next message");
    assert_eq!(bench.flights(), [0]);
    // One more TSN stands for the end of the message.
    let sent = bench.flush();
    assert_eq!(sent[0].forward.as_ref().unwrap().new_cumulative_tsn, tsn(2).0);
    assert_eq!(sent[1].chunks, [3]);
    bench.sack(&Answer::of(4));
    assert!(bench.tx.is_dry());
}

#[test]
fn the_rest_is_abandoned_too_when_all_that_was_sent_of_it_has_arrived() {
    let mut bench = bench();
    bench.path(0).set_cwnd(2 * CHUNK, None);
    let rule = until(&bench, 50);
    bench.send_one(4 * FULL, rule).1.unwrap();
    bench.flush();
    bench.sack(&Answer::of(2).a_rwnd(0));
    bench.wait(50);
    assert_eq!(bench.begin(), [abandoned(0, true)]);
    assert_eq!(bench.tx.queue.used(), 0);
    let sent = bench.flush();
    assert_eq!(sent[0].forward.as_ref().unwrap().new_cumulative_tsn, tsn(2).0);
}

/// Priority 1 is high, 9 low. The buffer is full: four messages of two packets.
#[test]
fn important_messages_take_the_place_of_less_important_ones() {
    let priority = Reliability::Priority;
    for (what, new, gone) in [
        ("the least important one goes, of equal ones the oldest", priority(1), Some(1)),
        ("a reliable message is more important than any", Reliability::Full, Some(1)),
        ("equal ones do not make room", priority(9), None),
        ("nor more important ones", priority(10), None),
    ] {
        let mut bench = bench();
        for rule in [5, 9, 7, 9] {
            bench.send_one(2 * FULL, priority(rule)).1.unwrap();
        }
        let (effects, result) = bench.send_one(2 * FULL, new);
        let expected: Vec<_> = gone.iter().map(|context| abandoned(*context, false)).collect();
        assert_eq!(effects, expected, "{what}");
        let expected = if gone.is_some() { Ok(()) } else { Err(SendError::WouldBlock) };
        assert_eq!(result, expected, "{what}");
        assert_eq!(bench.tx.queue.used(), u64::from(8 * FULL), "{what}");
    }
}

#[test]
fn waiting_messages_make_room_before_those_that_were_sent() {
    let low = Reliability::Priority(9);
    let mut bench = bench();
    bench.path(0).set_cwnd(4 * CHUNK, None);
    (0..4).for_each(|_| bench.send_one(2 * FULL, low).1.unwrap());
    assert_eq!(bench.flush().len(), 4, "the first two messages");
    for gone in [abandoned(2, false), abandoned(3, false), abandoned(1, true), abandoned(0, true)] {
        let (effects, result) = bench.send_one(2 * FULL, Reliability::Priority(1));
        assert_eq!((effects, result), ([gone].into(), Ok(())));
    }
    assert_eq!(bench.flights(), [0]);
    assert!(bench.tx.forward.is_due(), "the peer waits for what was sent");
    let counts = bench.tx.stats.seldom.abandoned.priority;
    assert_eq!((counts.sent, counts.unsent), (2, 2));
    let (effects, result) = bench.send_one(2 * FULL, Reliability::Priority(1));
    assert_eq!((effects, result), (Vec::new(), Err(SendError::WouldBlock)));
}

#[test]
fn what_has_arrived_makes_no_room() {
    let mut bench = bench();
    bench.send(1);
    bench.send_one(7 * FULL, Reliability::Priority(9)).1.unwrap();
    while !bench.flush().is_empty() {}
    bench.sack(&Answer::of(0).gaps(&[(1, 7)]));
    let (effects, result) = bench.send_one(2 * FULL, Reliability::Priority(1));
    assert_eq!((effects, result), (Vec::new(), Err(SendError::WouldBlock)));
}

#[test]
fn a_peer_without_forward_tsn_makes_every_message_reliable() {
    let mut bench = bench();
    let rule = until(&bench, 50);
    bench.tx.settle_partial_reliability(Support::Unknown);
    bench.send_one(FULL, rule).1.unwrap();
    bench.tx.settle_partial_reliability(Support::No);
    assert_eq!(bench.tx.stats.seldom.messages_kept_reliable, 1);
    bench.send_one(FULL, Reliability::Retransmissions(0)).1.unwrap();
    assert_eq!(bench.tx.stats.seldom.messages_kept_reliable, 2);
    bench.wait(60);
    assert_eq!(bench.tx.abandon_deadline(bench.phase), None);
    assert_eq!(bench.sends(), [(0, [0].into()), (0, [1].into())]);
    lose(&mut bench, &[0, 1]);
    assert_eq!(bench.begin(), [""; 0]);
    assert_eq!(bench.sends(), [(0, [0].into()), (0, [1].into())]);
}

#[test]
fn nothing_is_abandoned_before_or_after_the_association_sends() {
    let mut bench = bench();
    let rule = until(&bench, 50);
    bench.phase = SendPhase::Closed;
    bench.send_one(FULL, rule).1.unwrap();
    bench.wait(60);
    assert_eq!(bench.tx.abandon_deadline(bench.phase), None);
    assert_eq!(bench.begin(), [""; 0]);
    bench.phase = SendPhase::Open;
    assert_eq!(bench.begin(), [abandoned(0, false), "Event(SenderDry)".into()]);
}

/// TSNs began anew above one that is left out, which a FORWARD-TSN would close.
#[test]
fn nothing_is_abandoned_while_the_peer_may_lack_the_answer_to_its_reset() {
    let mut bench = bench();
    let rule = until(&bench, 50);
    bench.tx.peer.may_lack_answer = true;
    bench.send_one(FULL, rule).1.unwrap();
    bench.wait(60);
    assert_eq!(bench.begin(), [abandoned(0, false), "Event(SenderDry)".into()], "before any TSN");
    bench.send_one(FULL, Reliability::Retransmissions(0)).1.unwrap();
    assert_eq!(bench.sends(), [(0, [0].into())]);
    lose(&mut bench, &[0]);
    assert_eq!(bench.begin(), [""; 0]);
    bench.tx.peer.may_lack_answer = false;
    assert_eq!(bench.begin()[0], abandoned(1, true));
}

#[test]
fn the_acknowledgement_of_an_abandoned_chunk_is_no_news() {
    let mut bench = bench();
    bench.send_one(FULL, Reliability::Retransmissions(0)).1.unwrap();
    bench.send(1);
    bench.flush();
    lose(&mut bench, &[0]);
    bench.flush();
    let cwnd = bench.path(0).congestion.cwnd;
    // The original has arrived, the FORWARD-TSN not yet, and chunk 1 is on its way.
    assert_eq!(bench.sack(&Answer::of(1)), ["PeerAnswered", "Delivered(PathId(0), Once)"]);
    assert_eq!((bench.flights(), bench.path(0).congestion.cwnd), ([CHUNK].into(), cwnd));
    assert!(bench.t3(0).is_some());
}

#[test]
fn without_losses_on_its_path_nothing_ignores_the_window() {
    let mut bench = bench();
    bench.send_one(FULL, Reliability::Retransmissions(0)).1.unwrap();
    bench.send_one(FULL, Reliability::Retransmissions(1)).1.unwrap();
    bench.flush();
    bench.expire(0);
    bench.begin();
    assert!(bench.path(0).free_retransmission, "the second message goes again");
    bench.tx.end_flush(bench.now, &bench.config);
    bench.flush();
    bench.expire(0);
    bench.begin();
    assert!(!bench.path(0).free_retransmission);
}
#[test]
fn a_message_that_is_lost_again_and_again_is_remembered_no_more_often_than_it_takes() {
    let mut bench = bench();
    let rule = until(&bench, 1 << 40);
    bench.send_one(FULL, rule).1.unwrap();
    bench.flush();
    for _ in 0..300 {
        lose(&mut bench, &[0]);
        assert_eq!(bench.sends(), [(0, [0].into())]);
    }
    assert!(!bench.tx.queue.index.is_crowded(1));
}

#[test]
fn a_message_as_large_as_the_buffer_takes_the_place_of_all_and_a_larger_one_of_none() {
    for (packets, phase, gone) in [
        (8, SendPhase::Open, 4),
        (9, SendPhase::Open, 0),
        (8, SendPhase::Closed, 0),
        (1, SendPhase::Closed, 0),
    ] {
        let mut bench = bench();
        for _ in 0..4 {
            bench.send_one(2 * FULL, Reliability::Priority(9)).1.unwrap();
        }
        bench.phase = phase;
        let (effects, result) = bench.send_one(packets * FULL, Reliability::Priority(1));
        assert_eq!((effects.len(), result.is_ok()), (gone, gone > 0), "{packets} {phase:?}");
    }
}
