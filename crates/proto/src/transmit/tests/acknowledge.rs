//! SACKs, and what they make of paths and buffers.

use std::vec::Vec;

use polypath_wire::{DuplicateTsns, NrSack};

use super::*;
use crate::config::{
    CwndUpdate, Preset, RetransmissionPath, RttSample, SplitFastRetransmit, StaleSack,
};
use crate::probe::TransmissionCause::FastRetransmission;
use crate::transmit::AckOutcome;
use crate::transmit::outstanding::History;
use crate::transmit::partial_reliability::Reliability;
use crate::transmit::sack::SackProblem;
use crate::transmit::sack::testing::blocks;
use crate::{PathId, ProbeEvent, SendError};

/// Paths with windows of nine packets and 50 ms.
fn bench(preset: Preset, paths: u8) -> Bench {
    let mut bench = Bench::plain(preset, paths);
    (0..paths).for_each(|id| bench.shape(id, 9, 9, 50));
    bench
}

/// What an acknowledgement must not change that says nothing.
fn state(bench: &Bench) -> impl PartialEq + core::fmt::Debug + use<> {
    let windows: Vec<_> = bench.tx.paths.iter().map(|path| (path.congestion, path.t3)).collect();
    let outstanding = &bench.tx.outstanding;
    let counts = (outstanding.base(), outstanding.acked_count(), outstanding.lost_count());
    (bench.flights(), windows, counts, bench.tx.advertised_window, bench.tx.queue.used())
}

#[test]
fn a_sack_that_cannot_be_right_is_refused_and_changes_nothing() {
    for preset in Preset::ALL {
        let mut bench = bench(*preset, 2);
        bench.place(&[0, 1, 0]);
        let before = state(&bench);
        let unsent = |chunk| SackProblem::AcknowledgesUnsent(tsn(chunk));
        for (answer, problem) in [
            (Answer::of(4), unsent(3)),
            (Answer::of(1).gaps(&[(2, 3)]), unsent(3)),
            (Answer::of(0).gaps(&[(2, 2), (1, 1)]), SackProblem::MalformedBlock),
            (Answer::of(0).gaps(&[(0, 1)]), SackProblem::MalformedBlock),
        ] {
            match bench.hear(&answer.clone().a_rwnd(7)) {
                AckOutcome::Refused(given) => assert_eq!(given, problem, "{answer:?}"),
                other => panic!("{answer:?} gave {other:?}"),
            }
            assert_eq!(state(&bench), before, "{preset:?}: {answer:?}");
        }
    }
}

#[test]
fn a_sack_from_before_the_cumulative_ack_is_stale_and_changes_nothing() {
    let mut bench = bench(preset("cmt"), 2);
    bench.place(&[0, 1, 0]);
    bench.sack(&Answer::of(2));
    let before = state(&bench);
    let stale = Answer::of(1).gaps(&[(2, 2)]).a_rwnd(7);
    assert!(matches!(bench.hear(&stale), AckOutcome::Stale));
    assert_eq!(state(&bench), before);
}

#[test]
fn a_sack_without_news_tells_the_window_and_allows_a_burst() {
    let mut bench = bench(preset("cmt"), 2);
    bench.place(&[0, 1, 0]);
    bench.sack(&Answer::of(1));
    let flights = bench.flights();
    assert_eq!(bench.sack(&Answer::of(1).a_rwnd(50_000)), [""; 0]);
    assert_eq!((bench.flights(), bench.tx.advertised_window), (flights, 50_000));
    assert_eq!(bench.tx.flush.sacks, 2);
    assert_eq!(bench.tx.stats.sacks_received, 2);
}

#[test]
fn packets_with_acknowledgements_each_allow_a_burst() {
    for (sacks, packets) in [(0, 4), (1, 4), (2, 8), (3, 12)] {
        let mut bench = bench(Preset::Rfc9260, 1);
        bench.shape(0, 100, 200, 50);
        (0..sacks).for_each(|_| drop(bench.sack(&Answer::of(0))));
        bench.send(50);
        assert_eq!(bench.flush().len(), packets, "{sacks} SACKs");
        assert_eq!(bench.flush().len(), 4, "the next flush");
    }
}

#[test]
fn what_an_acknowledgement_wants_done_comes_in_one_order() {
    let mut bench = bench(Preset::Rfc9260, 3);
    bench.place(&[0, 1, 2, 1]);
    // Path 1 sends its two chunks twice, path 2 leaves its one to path 1.
    let retransmission = &mut bench.config.policies.retransmission;
    retransmission.fast = RetransmissionPath::Same;
    for chunk in [1, 3] {
        bench.mark_lost(tsn(chunk), FastRetransmission);
    }
    assert_eq!(bench.sends(), [(1, [1].into()), (1, [3].into())]);
    bench.config.policies.retransmission.fast = RetransmissionPath::Alternate;
    bench.mark_lost(tsn(2), FastRetransmission);
    assert_eq!(bench.sends(), [(0, [2].into())]);
    // More than one message does not have room.
    let limit = bench.tx.queue.limit() as u32;
    assert_eq!(bench.send_one(limit, Reliability::Full).1, Err(SendError::WouldBlock));
    bench.doubt_all();
    let effects = bench.sack(&Answer::of(4));
    let expected = [
        "PeerAnswered",
        "Delivered(PathId(0), Once)",
        "Delivered(PathId(1), Sometime)",
        "Event(Writable)",
        "Event(SenderDry)",
    ];
    assert_eq!(effects, expected, "and nothing of path 2");
    assert_eq!(bench.sack(&Answer::of(4)), [""; 0], "the user is told once");
}

#[test]
fn a_chunk_that_moved_proves_neither_path_alive() {
    let mut bench = bench(Preset::Rfc9260, 2);
    bench.config.policies.retransmission.fast = RetransmissionPath::Alternate;
    bench.place(&[0, 0]);
    bench.mark_lost(tsn(0), FastRetransmission);
    assert_eq!(bench.sends(), [(1, [0].into())]);
    bench.doubt_all();
    assert_eq!(bench.sack(&Answer::of(1)), ["PeerAnswered"]);
    assert_eq!(bench.flights(), [CHUNK, 0]);
}

#[test]
fn a_chunk_that_the_peer_discarded_is_in_flight_again() {
    for policy in [StaleSack::Classic, StaleSack::SamePath] {
        let mut bench = bench(preset("cmt"), 2);
        bench.config.policies.stale_sack = policy;
        bench.place(&[0, 1, 1, 0]);
        bench.sack(&Answer::of(0).gaps(&[(2, 3)]).over(1));
        assert_eq!(bench.flights(), [CHUNK, CHUNK]);
        bench.sack(&Answer::of(1).gaps(&[(3, 3)]).over(1));
        assert_eq!(bench.tx.stats.seldom.chunks_withdrawn, 1, "{policy:?}");
        assert_eq!(bench.flights(), [0, 2 * CHUNK]);
        assert_eq!(bench.history(2), History::CREDITED | History::RENEGED);
        assert_eq!(bench.chunk(2).missing_reports, 1);
        assert!(bench.t3(1).is_some());
        bench.sack(&Answer::of(4));
        assert_eq!((bench.flights(), bench.tx.queue.used()), ([0, 0].into(), 0));
    }
}

#[test]
fn an_overtaken_sack_withdraws_nothing_where_the_policy_knows_them() {
    for (policy, withdrawn, stale) in [(StaleSack::Classic, 0, 0), (StaleSack::SamePath, 0, 1)] {
        let mut bench = bench(preset("cmt"), 2);
        bench.config.policies.stale_sack = policy;
        bench.place(&[0, 1, 1, 0]);
        bench.sack(&Answer::of(0).gaps(&[(1, 3)]).over(1));
        // Sent before that one, and slower on path 0.
        bench.sack(&Answer::of(0).gaps(&[(1, 1)]).over(0).a_rwnd(9));
        let counted = (bench.tx.stats.seldom.chunks_withdrawn, bench.tx.stats.seldom.stale_sacks);
        assert_eq!(counted, (withdrawn, stale), "{policy:?}");
        let advertised = if stale > 0 { Bench::PEER_WINDOW } else { 9 };
        assert_eq!(bench.tx.advertised_window, u64::from(advertised), "{policy:?}");
        assert_eq!(bench.flights(), [CHUNK, 0]);
    }
}

#[test]
fn each_path_measures_its_own_round_trip() {
    let mut bench = bench(preset("cmt"), 2);
    bench.place(&[0, 1, 0, 1]);
    bench.trace();
    bench.wait(20);
    bench.sack(&Answer::of(0).gaps(&[(1, 1)]));
    assert_eq!(bench.samples(), [(1, 20)]);
    bench.wait(40);
    bench.sack(&Answer::of(2).gaps(&[(3, 3)]));
    assert_eq!(bench.samples(), [(0, 60)], "chunk 3 was not timed");
    bench.wait(7);
    bench.place(&[1]);
    bench.trace();
    bench.wait(30);
    bench.sack(&Answer::of(5));
    assert_eq!(bench.samples(), [(1, 30)], "chunk 4 is");
}

#[test]
fn a_retransmitted_chunk_measures_nothing() {
    let mut bench = bench(Preset::Rfc9260, 2);
    bench.place(&[0]);
    bench.mark_lost(tsn(0), FastRetransmission);
    bench.wait(30);
    assert_eq!(bench.sends(), [(0, [0].into())]);
    bench.trace();
    bench.wait(30);
    bench.sack(&Answer::of(1));
    assert_eq!(bench.samples(), []);
}

#[test]
fn a_sack_over_another_path_measures_what_the_policy_says() {
    // Samples after a SACK over path 1 at 20 ms, and after the same one, stale by then, over path 0 at 60 ms.
    for (policy, at_once, later) in [
        (RttSample::Classic, &[(0, 20)][..], &[][..]),
        (RttSample::PathBound, &[], &[]),
        (RttSample::SlowPathUpdate, &[], &[(0, 60)]),
    ] {
        let mut bench = bench(preset("cmt"), 2);
        bench.config.policies.rtt_sample = policy;
        bench.place(&[0, 1]);
        bench.trace();
        bench.wait(20);
        bench.sack(&Answer::of(1).over(1));
        assert_eq!(bench.samples(), at_once, "{policy:?}");
        bench.wait(1);
        bench.sack(&Answer::of(2).over(1));
        bench.trace();
        bench.wait(39);
        assert!(matches!(bench.hear(&Answer::of(1).over(0)), AckOutcome::Stale));
        assert_eq!(bench.samples(), later, "{policy:?}");
        assert_eq!(bench.path(0).record.awaited, None);
    }
}

#[test]
fn a_round_trip_that_waits_for_its_path_is_measured_by_a_sack_with_news_too() {
    let mut bench = bench(preset("cmt"), 2);
    bench.config.policies.rtt_sample = RttSample::SlowPathUpdate;
    bench.place(&[0, 1]);
    bench.wait(20);
    bench.sack(&Answer::of(1).over(1));
    bench.trace();
    bench.wait(40);
    bench.sack(&Answer::of(2).over(0));
    assert_eq!(bench.samples(), [(0, 60)], "chunk 1 waits for path 1");
}

#[test]
fn a_sack_for_many_packets_is_worth_the_bursts_of_those_that_were_left_out() {
    for (acked, packets) in [(1, 4), (2, 4), (4, 8)] {
        let mut bench = bench(Preset::Rfc9260, 1);
        bench.shape(0, 100, 20, 50);
        bench.send(50);
        assert_eq!(bench.flush().len(), 4);
        bench.sack(&Answer::of(acked));
        assert_eq!(bench.flush().len(), packets, "a SACK for {acked} packets");
    }
}

#[test]
fn what_arrived_is_counted_and_told_to_the_probe() {
    let mut bench = bench(preset("cmt"), 2);
    bench.place(&[0, 1, 1]);
    bench.trace();
    bench.sack(&Answer::of(1).gaps(&[(2, 2)]));
    let acked = |path, chunk| ProbeEvent::ChunkAcked { path: PathId(path), tsn: tsn(chunk) };
    let trace = bench.trace();
    let told: Vec<_> =
        trace.iter().filter(|event| matches!(event, ProbeEvent::ChunkAcked { .. })).collect();
    assert_eq!(told, [&acked(0, 0), &acked(1, 2)]);
    let bytes = [0, 1].map(|id| bench.path(id).counters.data_bytes_acked);
    assert_eq!(bytes, [u64::from(FULL), u64::from(FULL)]);
}

#[test]
fn proportional_reduction_lasts_as_long_as_fast_recovery() {
    let mut bench = bench(Preset::Recommended, 1);
    bench.place(&[0, 0, 0, 0]);
    bench.place(&[0]);
    bench.wait(50);
    (1..=3).for_each(|last| drop(bench.sack(&Answer::of(0).gaps(&[(1, last)]))));
    assert!(bench.path(0).recovery.is_active() && bench.path(0).record.reduction.is_under_way());
    bench.sends();
    bench.sack(&Answer::of(5));
    assert!(!bench.path(0).recovery.is_active() && !bench.path(0).record.reduction.is_under_way());
}

/// What an NR-SACK acknowledges, of four chunks on two paths.
fn non_renegable(bench: &mut Bench, renegable: &[(u16, u16)], kept: &[(u16, u16)]) -> AckOutcome {
    let nr_sack = NrSack {
        flags: 0,
        cumulative_tsn_ack: tsn(0).previous().0,
        a_rwnd: Bench::PEER_WINDOW,
        renegable_blocks: blocks(renegable),
        non_renegable_blocks: blocks(kept),
        duplicate_tsns: DuplicateTsns::Borrowed(&[]),
        reserved: 0,
    };
    let (tx, mut cx) = bench.lend();
    tx.on_nr_sack(&mut cx, &nr_sack, PathId(0))
}

#[test]
fn what_the_peer_promises_to_keep_leaves_the_send_buffer_at_once() {
    // (renegable, non-renegable, flights in packets, packets that left the send buffer)
    for (renegable, kept, flights, released) in [
        (&[(2, 2)][..], &[][..], [2, 1], 0),
        (&[], &[(2, 2)], [2, 1], 1),
        (&[(2, 2)], &[(4, 4)], [2, 0], 1),
        (&[(3, 4)], &[(2, 2)], [1, 0], 1),
    ] {
        let mut bench = bench(preset("cmt"), 2);
        bench.place(&[0, 1, 0, 1]);
        let acked = non_renegable(&mut bench, renegable, kept);
        assert!(matches!(acked, AckOutcome::Applied), "{acked:?}");
        assert_eq!(
            bench.flights(),
            flights.map(|packets| packets * CHUNK),
            "{renegable:?} {kept:?}"
        );
        let used = u64::from(FULL) * (4 - released);
        assert_eq!(bench.tx.queue.used(), used, "{renegable:?} {kept:?}");
        let stats = &bench.tx.stats;
        assert_eq!(stats.bytes_released_early, released * u64::from(FULL));
        assert_eq!((stats.sacks_received, stats.nr_sacks_received), (1, 1));
        bench.sack(&Answer::of(4));
        assert_eq!(bench.tx.queue.used(), 0, "each byte leaves once");
    }
    let mut bench = bench(preset("cmt"), 2);
    bench.place(&[0, 1, 0, 1]);
    let acked = non_renegable(&mut bench, &[(3, 2)], &[(4, 4)]);
    assert!(matches!(acked, AckOutcome::Refused(SackProblem::MalformedBlock)), "{acked:?}");
}

/// Six chunks, the first three of which a later SACK has acknowledged cumulatively. Then comes an NR-SACK from before.
#[test]
fn an_older_nr_sack_acknowledges_what_it_names_for_good_and_changes_nothing_else() {
    use StaleSack::{Classic, SamePath};
    // (policy, renegable, non-renegable above chunk 0, chunks in flight behind it)
    for (policy, renegable, kept, in_flight) in [
        (SamePath, &[][..], &[(4, 4)][..], 2),
        (SamePath, &[], &[(2, 2), (4, 5)], 1),
        (SamePath, &[], &[(2, 4)], 1),
        (SamePath, &[], &[(2, 2)], 3),
        (SamePath, &[], &[], 3),
        (SamePath, &[(4, 4)], &[], 3),
        (SamePath, &[(4, 4)], &[(5, 5)], 3),
        (Classic, &[], &[(4, 4)], 3),
        // Chunk 6 was never sent.
        (SamePath, &[], &[(4, 4), (6, 6)], 3),
    ] {
        let mut bench = bench(preset("cmt"), 2);
        bench.config.policies.stale_sack = policy;
        bench.place(&[0, 1, 0, 1, 0, 1]);
        bench.sack(&Answer::of(3).a_rwnd(50_000).over(1));
        let nr_sack = NrSack {
            flags: 0,
            cumulative_tsn_ack: tsn(0).0,
            a_rwnd: 7,
            renegable_blocks: blocks(renegable),
            non_renegable_blocks: blocks(kept),
            duplicate_tsns: DuplicateTsns::Borrowed(&[]),
            reserved: 0,
        };
        for time in 0..5 {
            let (tx, mut cx) = bench.lend();
            let acked = tx.on_nr_sack(&mut cx, &nr_sack, PathId(0));
            assert!(!matches!(acked, AckOutcome::Refused(_)), "{acked:?}");
            let outstanding = &bench.tx.outstanding;
            let counts = (outstanding.in_flight_count(), outstanding.lost_count());
            assert_eq!(counts, (in_flight, 0), "{policy:?} {renegable:?} {kept:?}, time {time}");
            assert_eq!(bench.tx.queue.used(), u64::from(FULL * in_flight));
            assert_eq!((outstanding.base(), bench.tx.advertised_window), (tsn(3), 50_000));
        }
    }
}

/// TSNs began anew above one that is left out, and the peer has the data but not the answer: it names what it holds above a gap
/// that nobody fills. If that counted, nothing would be sent any more that makes the peer tell when it has the answer.
#[test]
fn what_a_peer_names_above_the_gap_of_a_reset_is_outstanding_until_it_has_the_answer() {
    let mut bench = bench(preset("cmt"), 2);
    bench.config.policies.stale_sack = StaleSack::SamePath;
    bench.tx.renumber(tsn(1));
    bench.tx.peer.may_lack_answer = true;
    bench.place(&[0, 1]);
    // (cumulative, kept above it, chunks in flight behind it)
    for (cumulative, kept, in_flight) in
        [(tsn(0).previous(), &[(2, 3)][..], 2), (tsn(0), &[(2, 2)], 1), (tsn(2), &[], 0)]
    {
        let nr_sack = NrSack {
            flags: 0,
            cumulative_tsn_ack: cumulative.0,
            a_rwnd: 50_000,
            renegable_blocks: blocks(&[]),
            non_renegable_blocks: blocks(kept),
            duplicate_tsns: DuplicateTsns::Borrowed(&[]),
            reserved: 0,
        };
        let (tx, mut cx) = bench.lend();
        let acked = tx.on_nr_sack(&mut cx, &nr_sack, PathId(0));
        assert!(!matches!(acked, AckOutcome::Refused(_)), "{acked:?}");
        assert_eq!(bench.tx.outstanding.in_flight_count(), in_flight, "{cumulative:?}");
    }
}

#[test]
fn a_shutdown_acknowledges_and_says_nothing_of_gaps_and_window() {
    let mut bench = bench(preset("cmt"), 2);
    bench.place(&[0, 1, 0, 1]);
    bench.sack(&Answer::of(0).gaps(&[(2, 3)]).a_rwnd(5000));
    let (tx, mut cx) = bench.lend();
    let acked = tx.on_shutdown(&mut cx, tsn(0), PathId(0));
    assert!(matches!(acked, AckOutcome::Applied));
    assert_eq!(bench.flights(), [0, CHUNK], "chunk 2 is still acknowledged");
    assert_eq!(bench.tx.advertised_window, 5000);
    let (tx, mut cx) = bench.lend();
    let acked = tx.on_shutdown(&mut cx, tsn(1), PathId(0));
    assert!(matches!(acked, AckOutcome::Applied));
    assert_eq!(bench.flights(), [CHUNK, 0], "had the peer kept chunk 2, it would say so");
}

/// `dreibholz-model` fig. 3: chunk 0 goes over path 0, the next three over path 1 and arrive first, each with a SACK.
#[test]
fn split_fast_retransmit_sees_no_loss_in_reordering_between_paths() {
    for (split, lost) in [
        (SplitFastRetransmit::Off, &[(0, FastRetransmission)][..]),
        (SplitFastRetransmit::Sfr, &[]),
    ] {
        let mut bench = bench(preset("cmt"), 2);
        bench.config.policies.fast_retransmit.split = split;
        bench.place(&[0, 1, 1, 1, 0]);
        let cwnd = bench.path(0).congestion.cwnd;
        for last in 1..=3 {
            assert_eq!(bench.lost(), []);
            bench.sack(&Answer::of(0).gaps(&[(1, last)]).over(1));
        }
        assert_eq!(bench.lost(), lost, "{split:?}");
        let halved = if lost.is_empty() { cwnd } else { cwnd / 2 };
        assert_eq!(bench.path(0).congestion.cwnd, halved, "{split:?}");
        assert_eq!(bench.path(0).recovery.is_active(), !lost.is_empty(), "{split:?}");
        assert!(!bench.path(1).recovery.is_active(), "path 1 has lost nothing");
    }
}

/// The chunks of path 0 after the lost one report it missing, whatever path 1 delivers.
#[test]
fn split_fast_retransmit_finds_a_loss_from_its_own_path() {
    let mut bench = bench(preset("cmt"), 2);
    bench.place(&[0, 1, 0, 1, 0, 1, 0]);
    bench.trace();
    let mut gaps = Vec::new();
    for (chunk, reports) in [(1, 0), (2, 1), (3, 1), (4, 2), (5, 2)] {
        gaps.push((1, chunk));
        bench.sack(&Answer::of(0).gaps(&gaps[gaps.len() - 1..]));
        assert_eq!(bench.chunk(0).missing_reports, reports, "after chunk {chunk}");
    }
    bench.sack(&Answer::of(0).gaps(&[(1, 6)]));
    assert_eq!(bench.lost(), [(0, FastRetransmission)]);
    let entered = ProbeEvent::FastRecoveryEntered { path: PathId(0) };
    assert_eq!(bench.trace().iter().filter(|event| **event == entered).count(), 1);
    assert!(bench.path(0).free_retransmission);
    assert_eq!(bench.path(0).counters.repairs.fast_recoveries, 1);
}

/// `dreibholz-model` fig. 4: the cumulative ack stands still because of path 0; path 1 delivers in order.
#[test]
fn cwnd_update_lets_the_window_of_a_path_grow_that_delivers_in_order() {
    for (policy, grows) in [
        (CwndUpdate::Normal, false),
        (CwndUpdate::PseudoCumAck, true),
        (CwndUpdate::PseudoCumAckV2, true),
    ] {
        let mut bench = Bench::new(preset("cmt"), 2);
        bench.config.policies.cwnd_update = policy;
        (0..2).for_each(|id| bench.shape(id, 3, 100, 50));
        bench.place(&[0, 1, 1, 1]);
        bench.sack(&Answer::of(0).gaps(&[(1, 1)]).over(1));
        let expected = if grows { 4 } else { 3 } * CHUNK;
        assert_eq!(bench.path(1).congestion.cwnd, expected, "{policy:?}");
        assert_eq!(bench.path(0).congestion.cwnd, 3 * CHUNK);
        // Out of order: no congestion window grows.
        let before = bench.path(1).congestion.cwnd;
        bench.send(1);
        bench.sack(&Answer::of(0).gaps(&[(1, 1), (3, 3)]).over(1));
        assert_eq!(bench.path(1).congestion.cwnd, before, "{policy:?}");
    }
}

#[test]
fn each_path_leaves_its_fast_recovery_by_its_own_chunks() {
    let mut bench = bench(preset("cmt"), 2);
    bench.place(&[0, 1, 0, 0, 0]);
    bench.sack(&Answer::of(0).gaps(&[(2, 2)]));
    bench.sack(&Answer::of(0).gaps(&[(2, 3)]));
    bench.sack(&Answer::of(0).gaps(&[(2, 4)]));
    assert!(bench.path(0).recovery.is_active());
    let sent = bench.sends();
    assert_eq!(sent.len(), 1, "the lost chunk goes again: {sent:?}");
    bench.place(&[0]);
    bench.sack(&Answer::of(0).gaps(&[(1, 4)]));
    assert!(bench.path(0).recovery.is_active(), "what path 1 delivers does not matter");
    bench.sack(&Answer::of(5));
    assert!(!bench.path(0).recovery.is_active());
}

#[test]
fn waiting_for_room_ends_with_enough_of_it() {
    let mut bench = Bench::tuned(Preset::Rfc9260, 1, |config| {
        config.send_buffer_bytes = u64::from(8 * FULL);
    });
    bench.shape(0, 20, 20, 50);
    bench.place(&[0; 4]);
    bench.place(&[0; 4]);
    assert_eq!(bench.send_one(2 * FULL, Reliability::Full).1, Err(SendError::WouldBlock));
    let told = |bench: &mut Bench, count| {
        let effects = bench.sack(&Answer::of(count));
        effects.contains(&"Event(Writable)".into())
    };
    assert!(!told(&mut bench, 1), "room for half of it");
    assert!(told(&mut bench, 2));
    assert!(!told(&mut bench, 3), "once");
    assert_eq!(bench.send_one(2 * FULL, Reliability::Full).1, Ok(()));
    let size = 9 * FULL as usize;
    let too_large = SendError::MessageTooLarge { size, limit: 8 * FULL as usize };
    assert_eq!(bench.send_one(9 * FULL, Reliability::Full).1, Err(too_large));
}
