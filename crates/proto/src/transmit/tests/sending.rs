//! Packets that are filled: flags, timers, counters, and what keeps more from following.

use polypath_wire::DataFlags;

use super::*;
use crate::config::{
    AssociationConfig, BlockingEstimation, BufferSplit, DataCopies, PerTsn, Preset, RescheduleSide,
    RetransmissionPath, SackRequest, TailReinjection,
};
use crate::probe::TransmissionCause::{
    DropReport, FastRetransmission, New, TimerRetransmission, WindowProbe,
};
use crate::transmit::SendPhase;
use crate::transmit::partial_reliability::Reliability;
use crate::{BlockedCause, Duration, PathId, ProbeEvent, SendError};

/// Two paths with windows of nine packets and 50 ms; what is lost keeps its path.
fn bench(preset: Preset, tune: impl FnOnce(&mut AssociationConfig)) -> Bench {
    let mut bench = Bench::tuned(preset, 2, |config| {
        let policy = &mut config.policies.retransmission;
        (policy.fast, policy.timer) = (RetransmissionPath::Same, RetransmissionPath::Same);
        config.policies.data_copies = DataCopies::Off;
        tune(config);
    });
    (0..2).for_each(|id| bench.shape(id, 9, 9, 50));
    bench
}

#[test]
fn each_transmission_is_counted_by_its_cause_and_told_to_the_probe() {
    let mut bench = bench(preset("cmt"), |_| {});
    bench.place(&[0, 1, 0]);
    for cause in [FastRetransmission, DropReport, TimerRetransmission, WindowProbe] {
        bench.tx.mark_lost(tsn(0), cause);
        bench.trace();
        assert_eq!(bench.sends(), [(0, [0].into())]);
        let sent = ProbeEvent::ChunkSent { path: PathId(0), tsn: tsn(0), cause };
        assert!(bench.trace().contains(&sent), "{cause:?}");
    }
    let stats = &bench.tx.stats;
    assert_eq!((stats.messages_sent, stats.data_chunks_sent), (3, 7));
    let repeated =
        [stats.fast_retransmissions, stats.reported_retransmissions, stats.timeout_retransmissions];
    assert_eq!(repeated, [1, 1, 1]);
    let now = bench.now;
    let path = bench.path(0);
    let counters = path.counters;
    assert_eq!(path.last_data_sent, Some(now));
    assert_eq!((counters.data_packets_sent, counters.data_chunks_sent), (6, 6));
    assert_eq!(counters.data_bytes_sent, 6 * u64::from(FULL));
    let repeated = [
        counters.fast_retransmissions,
        counters.reported_retransmissions,
        counters.timeout_retransmissions,
        counters.retransmissions(),
    ];
    assert_eq!(repeated, [1, 1, 1, 3]);
    assert_eq!(bench.path(1).counters.data_packets_sent, 1);
    assert_eq!(bench.tx.last_served, 0);
    bench.trace();
    bench.place(&[1]);
    assert_eq!(bench.tx.last_served, 1);
    let sent = ProbeEvent::ChunkSent { path: PathId(1), tsn: tsn(3), cause: New };
    assert!(bench.trace().contains(&sent));
}

#[test]
fn the_last_chunk_of_a_shutdown_asks_for_its_sack_at_once() {
    for (phase, expected) in
        [(SendPhase::Open, [false, false]), (SendPhase::Draining, [false, true])]
    {
        let mut bench = bench(Preset::Rfc9260, |_| {});
        bench.send(2);
        bench.phase = phase;
        let sent = bench.flush();
        let hurries = [0, 1].map(|packet: usize| sent[packet].hurries());
        assert_eq!(hurries, expected, "{phase:?}");
    }
}

#[test]
fn a_message_is_cut_into_fragments_that_fill_packets() {
    let mut bench = bench(Preset::Rfc9260, |_| {});
    bench.send_one(2 * FULL + 10, Reliability::Full).1.unwrap();
    bench.send_one(20, Reliability::Full).1.unwrap();
    let sent = bench.flush();
    let chunks: std::vec::Vec<_> = sent.iter().flat_map(|sent| &sent.data).collect();
    let (begin, end) = (DataFlags::BEGIN, DataFlags::END);
    let expected =
        [(FULL, begin, 0), (FULL, DataFlags::empty(), 0), (10, end, 0), (20, begin | end, 1)];
    for (data, (len, flags, ssn)) in chunks.iter().zip(expected) {
        assert_eq!((data.payload.len(), data.flags, data.ssn), (len as usize, flags, ssn));
    }
    assert_eq!((sent.len(), chunks.len()), (3, 4), "the last two share a packet");
}

#[test]
fn at_the_tail_what_goes_again_asks_for_its_sack_at_once() {
    for (what, more, hurries) in [("nothing waits", 0, true), ("more waits", 1, false)] {
        // Else what measures the round trip asks for it, too.
        let mut bench = bench(Preset::Recommended, |config| {
            config.policies.sack_request = SackRequest::AtShutdown;
        });
        bench.place(&[0, 0, 0]);
        bench.tx.mark_lost(tsn(0), FastRetransmission);
        (0..2).for_each(|id| bench.path(id).set_cwnd(3 * CHUNK, None));
        bench.path(1).flight = 3 * CHUNK;
        bench.send(more);
        let sent = bench.flush();
        assert_eq!(sent[0].chunks, [0]);
        assert_eq!(sent[0].hurries(), hurries, "{what}");
    }
}

#[test]
fn the_timer_begins_anew_with_the_retransmission_of_the_lowest_chunk() {
    for (chunk, restarts) in [(0, true), (1, false)] {
        let mut bench = bench(preset("cmt"), |_| {});
        bench.place(&[0, 0, 0]);
        bench.wait(10);
        bench.tx.mark_lost(tsn(chunk), FastRetransmission);
        assert_eq!(bench.sends(), [(0, [chunk].into())]);
        let expected = bench.rto(0) - if restarts { 0 } else { 10 };
        assert_eq!(bench.t3(0), Some(expected), "chunk {chunk}");
    }
}

/// Chunk 0 was lost, retransmitted after chunk 3 and lost again; chunks 4 to 6 follow it.
#[test]
fn missing_reports_find_a_lost_retransmission_where_the_policy_counts_them() {
    let lost = [(0, FastRetransmission)];
    for (policy, lost) in [(PerTsn::Once, &[][..]), (PerTsn::Multiple, &lost[..])] {
        let mut bench = bench(preset("cmt"), |config| {
            config.policies.fast_retransmit.per_tsn = policy;
        });
        bench.place(&[0, 0, 0, 0]);
        (1..=3).for_each(|last| drop(bench.sack(&Answer::of(0).gaps(&[(1, last)]))));
        assert_eq!(bench.sends(), [(0, [0].into())], "{policy:?}");
        bench.place(&[0, 0, 0]);
        (4..=6).for_each(|last| drop(bench.sack(&Answer::of(0).gaps(&[(1, last)]))));
        assert_eq!(bench.lost(), lost, "{policy:?}");
    }
}

/// What a report repaired was not found missing by those sent before it.
#[test]
fn a_repaired_chunk_is_missing_once_what_was_sent_after_it_has_arrived() {
    let mut bench = bench(preset("cmt"), |_| {});
    bench.place(&[0, 0, 0, 0]);
    bench.tx.mark_lost(tsn(0), DropReport);
    assert_eq!(bench.sends(), [(0, [0].into())]);
    (1..=3).for_each(|last| drop(bench.sack(&Answer::of(0).gaps(&[(1, last)]))));
    assert_eq!(bench.lost(), []);
    bench.place(&[0, 0, 0]);
    (4..=6).for_each(|last| drop(bench.sack(&Answer::of(0).gaps(&[(1, last)]))));
    assert_eq!(bench.lost(), [(0, FastRetransmission)]);
}

#[test]
fn a_forward_tsn_whose_path_was_lost_is_due_again() {
    let mut bench = bench(Preset::Rfc9260, |_| {});
    bench.send_one(FULL, Reliability::Retransmissions(0)).1.unwrap();
    bench.flush();
    bench.tx.mark_lost(tsn(0), FastRetransmission);
    assert!(bench.flush()[0].forward.is_some());
    bench.begin();
    assert!(!bench.tx.forward.is_due());
    bench.lose_path(0);
    bench.begin();
    assert!(bench.tx.forward.is_due());
}

#[test]
fn why_nothing_can_be_sent() {
    type Change = fn(&mut Bench);
    fn full(bench: &mut Bench, id: u8) {
        let path = bench.path(id);
        path.flight = path.congestion.cwnd;
    }
    let cases: [(BlockedCause, Change); 7] = [
        (BlockedCause::Application, |_| {}),
        (BlockedCause::SendBuffer, |bench| {
            bench.place(&[0]);
            let limit = bench.tx.queue.limit() as u32;
            let (_, result) = bench.send_one(limit, Reliability::Full);
            assert_eq!(result, Err(SendError::WouldBlock));
        }),
        (BlockedCause::CongestionWindow, |bench| {
            bench.send(1);
            (0..2).for_each(|id| full(bench, id));
        }),
        (BlockedCause::CongestionWindow, |bench| {
            bench.place(&[0]);
            bench.tx.mark_lost(tsn(0), FastRetransmission);
            (0..2).for_each(|id| full(bench, id));
        }),
        (BlockedCause::PeerWindow, |bench| {
            bench.send(1);
            bench.tx.advertised_window = 0;
        }),
        (BlockedCause::BufferShare, |bench| bench.send(1)),
        (BlockedCause::NoPath, |bench| {
            bench.send(1);
            let gone = crate::paths::reach::Reason::NoLocalAddress;
            for path in bench.book.iter_mut() {
                path.reach = crate::paths::reach::Reach::Inactive(gone);
            }
        }),
    ];
    for (expected, change) in cases {
        let mut bench = bench(preset("cmt"), |config| {
            config.policies.buffer_split = BufferSplit::Both;
        });
        change(&mut bench);
        bench.begin();
        let (tx, cx) = bench.lend();
        assert_eq!(tx.why_blocked(&cx), expected);
    }
}

/// Path 1 is slow and has the lowest chunk; the send buffer is full, and path 0 could send more.
fn slowed(estimation: BlockingEstimation, slow_ms: u64) -> Bench {
    let mut bench = Bench::tuned(Preset::Recommended, 2, |config| {
        config.policies.blocking_estimation = estimation;
        config.policies.data_copies = DataCopies::Off;
        config.policies.tail_reinjection = TailReinjection::Off;
        config.policies.reschedule.side = RescheduleSide::None;
        config.policies.buffer_split = BufferSplit::None;
        config.policies.send_buffer = crate::config::BufferSize::Bytes;
        config.send_buffer_bytes = u64::from(4 * FULL);
    });
    bench.shape(0, 40, 20, 20);
    bench.shape(1, 8, 8, slow_ms);
    bench.place(&[1, 0, 0, 0]);
    assert_eq!(bench.send_one(FULL, Reliability::Full).1, Err(SendError::WouldBlock));
    bench
}

#[test]
fn a_path_that_blocks_a_faster_one_pays_once_per_round_trip() {
    let mut bench = slowed(BlockingEstimation::On, 400);
    let before = bench.path(1).congestion.cwnd;
    bench.flush();
    let paid = bench.path(1).congestion.cwnd;
    assert!(paid < before, "{paid}");
    let round_trip = Duration::from_millis(400);
    let until = bench.now + round_trip;
    bench.now = until - Duration::from_nanos(1);
    bench.flush();
    assert_eq!(bench.path(1).congestion.cwnd, paid);
    bench.now = until;
    bench.flush();
    assert!(bench.path(1).congestion.cwnd < paid);
    assert_eq!(bench.path(0).congestion.cwnd, 40 * CHUNK);
    for (what, mut bench) in [
        ("no estimation", slowed(BlockingEstimation::Off, 400)),
        ("it is not slower", slowed(BlockingEstimation::On, 20)),
    ] {
        let before = bench.path(1).congestion.cwnd;
        bench.flush();
        assert_eq!(bench.path(1).congestion.cwnd, before, "{what}");
    }
}
