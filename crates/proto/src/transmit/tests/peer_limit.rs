//! A peer that keeps only so many chunks above a gap, and says nothing of it.

use std::vec::Vec;

use polypath_wire::{DuplicateTsns, NrSack};

use super::*;
use crate::PathId;
use crate::config::{
    AssociationConfig, BufferSize, Burst, DataCopies, Pacing, PeerReorderLimit, RetransmissionPath,
};
use crate::probe::TransmissionCause::FastRetransmission;
use crate::transmit::peer_limit::PLANNED_SPAN;
use crate::transmit::sack::testing::blocks;

/// Chunks that wait at the peer above a gap, as many as prove a limit, and SACKs without news that prove it.
const WAIT: u32 = 300;
const PROOF: u32 = 3;

/// Chunk 0 is missing, the next 300 have arrived, and ten more were sent 50 ms ago, a round trip.
fn bench(tune: impl FnOnce(&mut AssociationConfig)) -> Bench {
    let mut bench = unanswered(tune);
    bench.place(&[0; 1]);
    bench.place(&[1; WAIT as usize]);
    bench.place(&[0; 10]);
    bench.wait(50);
    bench.sack(&full());
    bench
}

/// Two paths of 50 ms on which nothing was sent.
fn unanswered(tune: impl FnOnce(&mut AssociationConfig)) -> Bench {
    let mut bench = Bench::tuned(preset("cmt"), 2, |config| {
        let policies = &mut config.policies;
        policies.data_copies = DataCopies::Off;
        policies.pacing = Pacing::Off;
        policies.burst = Burst::Off;
        policies.peer_reorder_limit = PeerReorderLimit::Learned;
        policies.fast_retransmit.threshold = u8::MAX;
        policies.retransmission.fast = RetransmissionPath::Same;
        policies.send_buffer = BufferSize::Infinite;
        tune(config);
    });
    (0..2).for_each(|id| bench.shape(id, 400, 400, 50));
    bench
}

fn full() -> Answer {
    Answer::of(0).gaps(&[(1, WAIT)])
}

/// The limit that the transmitter knows of, in chunks.
fn limit(bench: &mut Bench) -> Option<u64> {
    let (tx, cx) = bench.lend();
    let bytes = tx.snapshot(&cx, cx.book.usable()).span_bytes(1000);
    (bytes < u64::from(PLANNED_SPAN) * 1000).then_some(bytes / 1000)
}

fn prove(bench: &mut Bench, answer: &Answer) {
    (0..PROOF).for_each(|_| drop(bench.sack(answer)));
}

#[test]
fn sacks_without_any_news_give_the_limit_away() {
    let mut learned = bench(|_| {});
    for sack in 1..=PROOF {
        assert_eq!(limit(&mut learned), None);
        learned.sack(&full());
        assert_eq!(limit(&mut learned).is_some(), sack == PROOF, "{sack}");
    }
    assert_eq!(limit(&mut learned), Some(u64::from(WAIT)));
    let mut off = bench(|config| config.policies.peer_reorder_limit = PeerReorderLimit::Off);
    prove(&mut off, &full());
    assert_eq!(limit(&mut off), None);
}

#[test]
fn a_sack_with_another_reason_says_nothing_of_a_limit() {
    let in_flight = 11 * FULL;
    for (what, answer, proves) in [
        ("none", full(), true),
        ("a duplicate", Answer { twice: [5].into(), ..full() }, false),
        ("the window is larger", full().a_rwnd(Bench::PEER_WINDOW + 1), false),
        ("the window has no more room than for what is in flight", full().a_rwnd(in_flight), false),
        ("nor for a packet more", full().a_rwnd(in_flight + FULL - 1), false),
        ("it has that much", full().a_rwnd(in_flight + FULL), true),
    ] {
        let mut bench = bench(|_| {});
        prove(&mut bench, &answer);
        // A window that has once been smaller is no news when it is as large again.
        assert_eq!(limit(&mut bench).is_some(), proves, "{what}");
    }
    let mut progress = bench(|_| {});
    for last in 1..=PROOF {
        progress.sack(&Answer::of(0).gaps(&[(1, WAIT), (WAIT + 2, WAIT + 1 + last)]));
    }
    assert_eq!(limit(&mut progress), None, "more arrives");
    let mut all = bench(|_| {});
    prove(&mut all, &Answer::of(0).gaps(&[(1, WAIT + 10)]));
    assert_eq!(limit(&mut all), None, "nothing can have been dropped");
    let mut forward = bench(|_| {});
    prove(&mut forward, &Answer::of(WAIT + 1));
    assert_eq!(limit(&mut forward), None, "there is no gap");
}

/// A final SACK that names chunks 1 to `last`.
fn final_sack(last: u32) -> NrSack<'static> {
    NrSack {
        flags: 0,
        cumulative_tsn_ack: tsn(0).previous().0,
        a_rwnd: Bench::PEER_WINDOW,
        renegable_blocks: blocks(&[]),
        non_renegable_blocks: blocks(&[(2, last as u16 + 1)]),
        duplicate_tsns: DuplicateTsns::Borrowed(&[]),
        reserved: 0,
    }
}

/// What arrives above the last block that there is room for is left out.
#[test]
fn a_sack_full_of_blocks_proves_no_limit() {
    for (blocks, proves) in [(15, true), (16, false), (17, true), (345, true), (356, false)] {
        let mut bench = unanswered(|_| {});
        (0..2).for_each(|id| bench.shape(id, 800, 800, 50));
        bench.place(&[0; 1]);
        bench.place(&[1; 2 * 356]);
        bench.place(&[0; 8]);
        bench.wait(50);
        // Every second chunk, and many at the end.
        let mut gaps: Vec<(u32, u32)> = (1..blocks).map(|n| (2 * n - 1, 2 * n - 1)).collect();
        gaps.push((2 * blocks - 1, 2 * blocks.max(WAIT - 100) - 1));
        let answer = Answer::of(0).gaps(&gaps);
        bench.sack(&answer);
        prove(&mut bench, &answer);
        assert_eq!(limit(&mut bench).is_some(), proves, "{blocks}");
    }
}

/// A SACK that takes a longer path back, or has no room for all gap ack blocks, names less than is known by then.
#[test]
fn a_reordered_or_truncated_sack_proves_no_limit() {
    for (named, proves) in [(WAIT, true), (WAIT - 1, false), (WAIT / 2, false)] {
        let mut bench = bench(|_| {});
        for _ in 0..PROOF {
            let (tx, mut cx) = bench.lend();
            tx.on_nr_sack(&mut cx, &final_sack(named), PathId(1));
        }
        assert_eq!(limit(&mut bench).is_some(), proves, "{named}");
    }
}

#[test]
fn what_was_dropped_goes_again_and_is_no_sign_of_congestion() {
    let mut bench = bench(|_| {});
    let windows = [0, 1].map(|id| bench.path(id).congestion);
    // Too young to have been dropped.
    bench.place(&[0]);
    bench.wait(49);
    prove(&mut bench, &full());
    let lost: Vec<_> = (WAIT + 1..=WAIT + 10).map(|chunk| (chunk, FastRetransmission)).collect();
    assert_eq!(bench.lost(), lost);
    assert_eq!([0, 1].map(|id| bench.path(id).congestion), windows);
    assert_eq!(bench.path(0).record.loss_rate.measured_ppm(), 0);
    assert!(!bench.path(0).recovery.is_active());
    assert_eq!(bench.flights(), [2 * CHUNK, 0], "chunk 0, and the young one");
}

#[test]
fn a_path_that_lost_all_it_had_in_flight_has_no_timer() {
    let mut bench = bench(|_| {});
    bench.place(&[1]);
    bench.wait(50);
    prove(&mut bench, &full());
    assert_eq!(bench.flights(), [CHUNK, 0]);
    assert_eq!(bench.t3(1), None);
    assert!(bench.t3(0).is_some());
}

#[test]
fn no_more_is_sent_above_the_gap_than_the_peer_keeps() {
    let mut bench = bench(|_| {});
    prove(&mut bench, &full());
    bench.send(20);
    assert_eq!(bench.sends(), [], "the peer keeps 300, and these wait");
    // Chunk 0 is below all of them.
    bench.tx.mark_lost(bench.now, tsn(0), FastRetransmission);
    assert_eq!(bench.sends(), [(0, [0].into())]);
    bench.wait(50);
    bench.sack(&Answer::of(WAIT + 1));
    assert!(bench.sends().len() >= 10, "without a gap nothing waits");
}

#[test]
fn what_is_in_flight_above_a_gap_counts_as_if_it_had_arrived() {
    let mut bench = bench(|_| {});
    prove(&mut bench, &full());
    bench.sack(&Answer::of(WAIT + 11));
    assert_eq!(bench.flights(), [0, 0]);
    // Another gap.
    bench.place(&[0]);
    bench.place(&[1]);
    bench.sack(&Answer::of(WAIT + 11).gaps(&[(WAIT + 12, WAIT + 12)]));
    bench.send(2 * WAIT);
    bench.flush();
    let in_flight: u64 = bench.flights().iter().sum();
    // One waits, and one more would make it as many as the limit.
    assert_eq!(in_flight, u64::from(WAIT - 1) * CHUNK);
}
