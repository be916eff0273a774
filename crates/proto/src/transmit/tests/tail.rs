//! Probes of paths that are silent at the tail of what there is to send.

use polypath_wire::{DuplicateTsns, NrSack};

use super::*;
use crate::Duration;
use crate::config::{
    AssociationConfig, DataCopies, Preset, SackRequest, SendRoomNotice, TailProbes, TailReinjection,
};
use crate::mechanism::tail_probe::TailPhase;
use crate::probe::TransmissionCause::FastRetransmission;
use crate::transmit::outstanding::History;
use crate::transmit::partial_reliability::Reliability;
use crate::transmit::sack::testing::blocks;
use crate::transmit::testing::told;

/// Two paths with windows of nine packets; path 0 takes 40 ms.
fn bench(other_ms: u64, tune: impl FnOnce(&mut AssociationConfig)) -> Bench {
    let mut bench = Bench::tuned(Preset::Recommended, 2, |config| {
        config.policies.tail_reinjection = TailReinjection::Off;
        config.policies.data_copies = DataCopies::Off;
        // Else the peer delays no SACK that a probe waits for.
        config.policies.sack_request = SackRequest::AtShutdown;
        // And T3-rtx expires later than that.
        config.policies.rto.min = Duration::from_secs(1);
        tune(config);
    });
    bench.shape(0, 9, 9, 40);
    bench.shape(1, 9, 9, other_ms);
    bench
}

#[test]
fn a_silent_path_is_probed_once_by_its_last_chunk() {
    // Two round trips; where only one packet is in flight, the delay of SACKs comes on top of that.
    for (chunks, ms) in [(3, 80), (2, 80), (1, 280)] {
        let mut bench = bench(400, |_| {});
        bench.place(&[0; 3][..chunks]);
        assert_eq!(bench.path(0).tail_probe.due().since(bench.now).as_millis(), ms);
        bench.wait(ms - 1);
        assert_eq!(bench.sends(), [], "{chunks} chunks");
        bench.wait(1);
        let sent = bench.flush();
        let last = chunks as u32 - 1;
        assert_eq!(sent.len(), 1, "{chunks} chunks");
        assert_eq!((sent[0].path, &sent[0].chunks[..]), (0, &[last][..]));
        assert!(sent[0].hurries() && sent[0].effects.is_empty());
        assert_eq!(bench.flights(), [chunks as u64 * CHUNK, 0]);
        assert!(bench.history(last).contains(History::PROBED));
        assert_eq!(bench.path(0).tail_probe.phase(), TailPhase::Sent);
        assert_eq!(bench.path(0).counters.repairs.tail_probes, 1);
        let restarted = chunks == 1;
        assert_eq!(bench.t3(0) == Some(bench.rto(0)), restarted, "of the lowest chunk only");
        bench.wait(ms);
        assert_eq!(bench.sends(), [], "the rest is for T3-rtx");
    }
}

/// A quarter of a round trip late, no answer to the probe makes the path doubtful: what is overdue there takes the other one.
#[test]
fn what_does_not_answer_its_probe_is_left() {
    for (tail_reinjection, left) in [(TailReinjection::On, true), (TailReinjection::Off, false)] {
        let mut bench = bench(200, |config| config.policies.tail_reinjection = tail_reinjection);
        bench.place(&[0; 3]);
        bench.wait(80);
        assert_eq!(bench.sends(), [(0, [2].into())], "the probe");
        bench.wait(49);
        assert_eq!(bench.sends(), []);
        bench.wait(1);
        let sent: alloc::vec::Vec<u32> = bench
            .sends()
            .into_iter()
            .filter(|(path, _)| *path == 1)
            .flat_map(|(_, chunks)| chunks)
            .collect();
        let expected: &[u32] = if left { &[0, 1, 2] } else { &[] };
        assert_eq!(sent, expected, "{tail_reinjection:?}");
    }
}

/// The peer was asked for the SACK of a packet on its own, and delays it no more than that of others.
#[test]
fn a_packet_that_asked_for_its_sack_is_probed_as_early_as_others() {
    let mut bench = bench(400, |config| config.policies.sack_request = SackRequest::WhenNeeded);
    bench.place(&[0]);
    assert_eq!(bench.path(0).tail_probe.due().since(bench.now).as_millis(), 80);
}

#[test]
fn the_quickest_path_with_window_carries_the_probe() {
    for (what, other_ms, is_full, path) in [
        ("the other one is quicker", 20, false, 1),
        ("the other one is slower", 60, false, 0),
        ("the quicker one is full", 20, true, 0),
    ] {
        let mut bench = bench(other_ms, |_| {});
        bench.place(&[0]);
        if is_full {
            bench.path(1).set_cwnd(0, None);
        }
        bench.wait(280);
        let sent = bench.flush();
        assert_eq!(sent.len(), 1, "{what}");
        assert_eq!((sent[0].path, &sent[0].chunks[..]), (path, &[0][..]), "{what}");
        let emptied: &[&str] = if path == 1 { &["Emptied(PathId(0))"] } else { &[] };
        assert_eq!(told(&sent[0].effects), emptied, "{what}");
        assert!(bench.t3(path).is_some(), "{what}");
    }
}

#[test]
fn what_was_overdue_before_an_answered_probe_is_lost() {
    let lost = [(0, FastRetransmission), (1, FastRetransmission)];
    for (what, wait, twice, lost) in [
        ("answered after a round trip", 40, &[][..], &lost[..]),
        ("the original has arrived, too", 40, &[2], &[]),
        ("too early: the original was answered", 5, &[], &[]),
    ] {
        let mut bench = bench(400, |_| {});
        bench.place(&[0, 0, 0]);
        bench.wait(80);
        assert_eq!(bench.sends(), [(0, [2].into())]);
        bench.wait(wait);
        let answer = Answer { twice: twice.into(), ..Answer::of(0).gaps(&[(2, 2)]) };
        // Missing reports would find them, too.
        bench.config.policies.fast_retransmit.threshold = u8::MAX;
        bench.config.policies.fast_retransmit.reports = crate::config::MissingReports::PerSack;
        bench.sack(&answer);
        assert_eq!(bench.lost(), lost, "{what}");
        assert_eq!(bench.path(0).recovery.is_active(), !lost.is_empty(), "{what}");
        assert_eq!(
            bench.path(0).tail_probe.phase(),
            TailPhase::Idle,
            "{what}: it is silent no more"
        );
    }
}

/// Which of the transmissions was answered is unknown: the rest takes another probe.
#[test]
fn a_probe_whose_chunk_was_copied_ends_the_silence_and_tells_no_loss() {
    let mut bench = bench(400, |_| {});
    bench.place(&[0, 0, 0]);
    bench.wait(80);
    assert_eq!(bench.sends(), [(0, [2].into())]);
    bench.tx.outstanding.get_mut(tsn(2)).history |= History::COPIED;
    bench.wait(40);
    bench.sack(&Answer::of(0).gaps(&[(2, 2)]));
    assert_eq!(bench.lost(), []);
    assert_eq!(bench.path(0).tail_probe.phase(), TailPhase::Idle);
    assert_eq!(bench.sends(), [], "the wait begins anew");
    bench.wait(80);
    assert_eq!(bench.sends(), [(0, [1].into())]);
}

#[test]
fn a_path_that_answers_is_not_silent() {
    let mut bench = bench(400, |_| {});
    bench.place(&[0, 0, 0]);
    bench.wait(79);
    // Its round trip is not measured anew.
    bench.path(0).timed = None;
    bench.sack(&Answer::of(1));
    bench.wait(1);
    assert_eq!(bench.sends(), [], "the wait begins anew");
    bench.wait(80);
    assert_eq!(bench.sends(), [(0, [2].into())]);
}

#[test]
fn only_at_the_tail_of_an_open_window_is_there_anything_to_probe() {
    type Change = fn(&mut Bench);
    let cases: [(&str, Change, usize); 6] = [
        ("at the tail", |_| {}, 1),
        ("no probes", |bench| bench.config.policies.tail_probe = TailProbes::Off, 0),
        (
            "more waits for the windows",
            |bench| {
                (0..2).for_each(|id| bench.path(id).set_cwnd(0, None));
                bench.send_one(FULL, Reliability::Full).1.unwrap();
            },
            1,
        ),
        ("the peer has closed its window", |bench| drop(bench.sack(&Answer::of(0).a_rwnd(0))), 0),
        (
            "T3-rtx found it lost before",
            |bench| {
                bench.tx.outstanding.get_mut(tsn(0)).history |= History::TIMER_RETRANSMITTED;
            },
            0,
        ),
        (
            "its message has lived too long",
            |bench| {
                bench.tx.outstanding.get_mut(tsn(0)).reliability = Reliability::Until(bench.now);
            },
            0,
        ),
    ];
    for (what, change, packets) in cases {
        let mut bench = bench(400, |_| {});
        bench.place(&[0]);
        change(&mut bench);
        bench.wait(280);
        assert_eq!(bench.flush().len(), packets, "{what}");
    }
}

#[test]
fn a_sack_that_should_have_covered_it_proves_that_no_delay_is_the_cause() {
    for (ms, probes) in [(79, 0), (80, 1)] {
        let mut bench = bench(40, |_| {});
        bench.place(&[0, 1]);
        let due = bench.path(0).tail_probe.due();
        assert_eq!(due.since(bench.now).as_millis(), 280);
        bench.wait(ms);
        // Its round trip is not measured anew.
        bench.path(1).timed = None;
        bench.sack(&Answer::of(0).gaps(&[(1, 1)]).over(1));
        assert_eq!(bench.flush().len(), probes, "{ms} ms: 40 there and 40 back");
    }
}

/// The send buffer grows no more. Returns its size, which no message finds free beside another one.
fn keep_buffer(bench: &mut Bench) -> usize {
    bench.tx.most_buffer = bench.tx.queue.limit();
    bench.tx.most_buffer as usize
}

/// The user met a full buffer, and more follows as soon as it has run: no chunk leaves its path, which would get nothing new
/// for a round trip then.
#[test]
fn a_user_that_was_told_of_room_is_expected_back() {
    let mut bench = bench(400, |config| {
        config.policies.tail_reinjection = TailReinjection::On;
        config.policies.tail_probe = TailProbes::Off;
    });
    let most = keep_buffer(&mut bench);
    bench.send(1);
    assert!(bench.tx.reserve(most).is_err(), "there is no room beside the message");
    bench.path(0).set_cwnd(0, None);
    assert_eq!(bench.sends(), [(1, [0].into())]);
    bench.path(0).set_cwnd(9 * CHUNK, None);
    assert_eq!(bench.sends(), [], "the user waits");
    bench.tx.queue.enlarge(u64::MAX);
    assert!(
        bench.tx.writable_again(SendRoomNotice::Batch, bench.now) && !bench.tx.wants_buffer_space()
    );
    assert_eq!(bench.sends(), [], "it was told, and has not run yet");
    bench.tx.end_input();
    assert_eq!(bench.sends(), [(0, [0].into())], "it hands over no more");
}

/// A program may drop the message that was refused, and then nothing more follows.
#[test]
fn a_user_that_was_told_of_room_is_expected_back_for_a_round_trip() {
    let mut bench = bench(400, |_| {});
    let most = keep_buffer(&mut bench);
    bench.place(&[0, 0, 0]);
    assert!(bench.tx.reserve(most).is_err(), "there is no room beside the messages");
    assert_eq!(bench.tx.demand_deadline(), None, "it waits for room");
    bench.tx.queue.enlarge(u64::MAX);
    assert!(bench.tx.writable_again(SendRoomNotice::Batch, bench.now));
    assert_eq!(bench.sends(), []);
    assert_eq!(bench.path(0).tail_probe.phase(), TailPhase::Waiting, "more follows");
    let until = bench.now + Duration::from_millis(40);
    assert_eq!(bench.tx.demand_deadline(), Some(until));
    bench.now = until;
    bench.tx.on_demand_over();
    assert!(bench.tx.is_all_sent());
    assert_eq!(bench.sends(), []);
    assert_eq!(bench.path(0).tail_probe.phase(), TailPhase::Waiting, "nothing came");
    bench.wait(80);
    assert_eq!(bench.sends(), [(0, [2].into())]);
}

#[test]
fn once_everything_is_acknowledged_nobody_is_expected_back() {
    let mut bench = bench(400, |_| {});
    bench.place(&[0, 0]);
    let most = keep_buffer(&mut bench);
    assert!(bench.tx.reserve(most).is_err());
    assert!(bench.sack(&Answer::of(2)).contains(&"Event(Writable)".into()));
    assert!(bench.tx.is_all_sent());
    assert_eq!(bench.tx.demand_deadline(), None);
}

/// Path 0 takes 40 ms: two round trips are 80, and a delayed SACK comes after 280.
#[test]
fn a_sack_over_another_path_tells_when_it_left_after_a_chunk_had_to_arrive() {
    for (other_ms, heard_ms, due_ms) in
        [(100, 139, 280), (100, 140, 140), (20, 59, 280), (20, 60, 80)]
    {
        let mut bench = bench(other_ms, |_| {});
        bench.place(&[0, 1]);
        let sent_at = bench.now;
        bench.wait(heard_ms);
        bench.path(1).timed = None;
        bench.sack(&Answer::of(0).gaps(&[(1, 1)]).over(1));
        let due = bench.path(0).tail_probe.due().since(sent_at).as_millis();
        assert_eq!(due, due_ms, "heard after {heard_ms} ms over {other_ms} ms");
    }
}

#[test]
fn an_answered_probe_proves_lost_what_was_overdue_when_it_was_sent() {
    let mut bench = bench(20, |_| {});
    bench.config.policies.fast_retransmit.threshold = u8::MAX;
    bench.config.policies.fast_retransmit.reports = crate::config::MissingReports::PerSack;
    bench.place(&[0]);
    bench.wait(30);
    bench.place(&[0, 0, 1]);
    bench.path(1).timed = None;
    bench.wait(30);
    // The SACK of path 1 shows that chunk 0, sent 60 ms ago, needs no longer than two round trips.
    bench.sack(&Answer::of(0).gaps(&[(3, 3)]).over(1));
    bench.wait(20);
    bench.path(1).set_cwnd(0, None);
    assert_eq!(bench.sends(), [(0, [2].into())], "80 ms after chunk 0");
    bench.wait(40);
    bench.sack(&Answer::of(0).gaps(&[(2, 3)]));
    assert_eq!(bench.lost(), [(0, FastRetransmission)], "chunk 1 was not overdue then");
}

#[test]
fn an_nr_sack_that_reports_a_duplicate_tells_that_the_original_has_arrived() {
    for (twice, lost) in [(&[2][..], 0), (&[], 2)] {
        for blocks_of in [0, 1] {
            let mut bench = bench(400, |_| {});
            bench.config.policies.fast_retransmit.threshold = u8::MAX;
            bench.config.policies.fast_retransmit.reports = crate::config::MissingReports::PerSack;
            bench.place(&[0, 0, 0]);
            bench.wait(80);
            assert_eq!(bench.sends(), [(0, [2].into())]);
            bench.wait(40);
            let named = [blocks(&[(3, 3)]), blocks(&[])];
            let [renegable_blocks, non_renegable_blocks] =
                if blocks_of == 0 { named } else { [blocks(&[]), blocks(&[(3, 3)])] };
            let nr_sack = NrSack {
                flags: 0,
                cumulative_tsn_ack: tsn(0).previous().0,
                a_rwnd: Bench::PEER_WINDOW,
                renegable_blocks,
                non_renegable_blocks,
                duplicate_tsns: DuplicateTsns::Owned(
                    twice.iter().map(|chunk| tsn(*chunk).0).collect(),
                ),
                reserved: 0,
            };
            let (tx, mut cx) = bench.lend();
            tx.on_nr_sack(&mut cx, &nr_sack, crate::PathId(0));
            assert_eq!(bench.lost().len(), lost, "{twice:?}");
        }
    }
}

/// The probe of path 1 goes over path 0, whose own probe is out.
#[test]
fn where_several_paths_were_probed_only_those_pay_that_lost_something_for_certain() {
    let mut bench = bench(60, |_| {});
    bench.place(&[0, 1]);
    bench.wait(280);
    assert_eq!(bench.sends(), [(0, [0].into())]);
    bench.wait(40);
    assert_eq!(bench.sends(), [(0, [1].into())]);
    let phases = [0, 1].map(|id| bench.path(id).tail_probe.phase());
    assert_eq!(phases, [TailPhase::Sent; 2], "both wait for their answers");
    bench.wait(40);
    bench.config.policies.fast_retransmit.threshold = u8::MAX;
    bench.config.policies.fast_retransmit.reports = crate::config::MissingReports::PerSack;
    bench.sack(&Answer::of(0).gaps(&[(1, 1)]));
    assert_eq!([0, 1].map(|id| bench.path(id).counters.repairs.fast_recoveries), [0, 0]);
    let mut alone = self::bench(400, |_| {});
    alone.place(&[0]);
    alone.wait(280);
    assert_eq!(alone.sends(), [(0, [0].into())]);
    alone.wait(40);
    alone.sack(&Answer::of(1));
    assert_eq!(alone.path(0).counters.repairs.fast_recoveries, 1, "its original was lost");
}

/// A later packet, or a copy, follows on the path of the only packet in flight: the peer answers the second packet at once.
#[test]
fn the_sack_of_a_packet_is_not_delayed_where_another_one_followed() {
    for (follows, due_ms) in [(false, 280), (true, 80)] {
        let mut bench = bench(400, |_| {});
        bench.place(&[0]);
        bench.wait(1);
        let now = bench.now;
        let path = bench.path(0);
        path.tail_probe.rest();
        if follows {
            path.last_data_sent = Some(now);
        }
        assert_eq!(bench.sends(), []);
        assert_eq!(bench.path(0).tail_probe.due().since(now).as_millis(), due_ms);
    }
    // Of three that left together the first and the last have arrived.
    let mut together = bench(400, |_| {});
    together.config.policies.fast_retransmit.threshold = u8::MAX;
    together.place(&[0, 0, 0]);
    together.tx.outstanding.get_mut(tsn(2)).history |= History::COPIED;
    together.wait(40);
    together.sack(&Answer::of(1).gaps(&[(2, 2)]));
    together.path(0).tail_probe.rest();
    assert_eq!(together.sends(), []);
    assert!(together.path(0).tail_probe.due().since(together.now).as_millis() <= 80);
}

/// The handshake has measured the first path as the shorter one, but only what went over the second has arrived, and its SACK
/// comes over the first.
#[test]
fn the_end_of_a_first_flight_goes_where_data_has_arrived() {
    let mut bench = Bench::new(Preset::Recommended, 2);
    for (id, ms) in [(0, 10), (1, 20)] {
        let now = bench.now;
        bench.path(id).rtt.on_control_sample(now, Duration::from_millis(ms));
    }
    bench.send(6);
    let first = bench.sends();
    assert!(first.iter().map(|(path, _)| *path).eq([0, 0, 0, 1, 1, 1]), "{first:?}");
    bench.wait(22);
    bench.sack(&Answer::of(0).gaps(&[(3, 5)]));
    assert_eq!(bench.sends(), [(1, [0].into()), (1, [1].into()), (1, [2].into())]);
}

/// Four packets on two paths, of which all but the first have arrived: the peer has a gap, and the SACK for what fills it is not
/// delayed.
#[test]
fn the_sack_for_what_fills_a_gap_is_not_delayed() {
    for (gaps, expected) in [(&[][..], false), (&[(1, 1)], true), (&[(3, 3)], true)] {
        let mut bench = Bench::tuned(Preset::Recommended, 2, |config| {
            config.policies.tail_reinjection = TailReinjection::Off;
            config.policies.tail_probe = TailProbes::Off;
            config.policies.data_copies = DataCopies::Off;
            config.policies.path_fill = crate::config::PathFill::PacketByPacket;
        });
        bench.shape(0, 1, 9, 40);
        bench.shape(1, 9, 9, 40);
        bench.place(&[0, 1, 1, 1]);
        bench.wait(45);
        bench.sack(&Answer::of(0).gaps(gaps));
        assert_eq!(bench.tx.needs_no_delay(tsn(0)), expected, "{gaps:?}");
    }
}
