//! Packets that are filled: flags, timers, counters, and what keeps more from following.

use polypath_wire::DataFlags;

use super::*;
use crate::config::{
    AssociationConfig, BlockingEstimation, BufferSplit, DataCopies, PathOrder, PerTsn, Preset,
    RescheduleSide, RetransmissionPath, SackRequest, SendRoomNotice, TailReinjection,
};
use crate::paths::reach::{Reach, Reason};
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
        bench.mark_lost(tsn(0), cause);
        bench.trace();
        assert_eq!(bench.sends(), [(0, [0].into())]);
        let sent = ProbeEvent::ChunkSent { path: PathId(0), tsn: tsn(0), cause };
        assert!(bench.trace().contains(&sent), "{cause:?}");
    }
    let stats = &bench.tx.stats;
    assert_eq!((stats.messages_sent, stats.data_chunks_sent), (3, 7));
    let repeated = [
        stats.seldom.fast_retransmissions,
        stats.seldom.reported_retransmissions,
        stats.seldom.timeout_retransmissions,
    ];
    assert_eq!(repeated, [1, 1, 1]);
    let now = bench.now;
    let path = bench.path(0);
    let counters = &path.counters;
    assert_eq!(path.last_data_sent, Some(now));
    assert_eq!((counters.data_packets_sent, counters.data_chunks_sent), (6, 6));
    assert_eq!(counters.data_bytes_sent, 6 * u64::from(FULL));
    let repeated = [
        counters.repairs.fast_retransmissions,
        counters.repairs.reported_retransmissions,
        counters.repairs.timeout_retransmissions,
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
        bench.mark_lost(tsn(0), FastRetransmission);
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
        bench.mark_lost(tsn(chunk), FastRetransmission);
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
    bench.mark_lost(tsn(0), DropReport);
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
    bench.mark_lost(tsn(0), FastRetransmission);
    assert!(bench.flush()[0].forward.is_some());
    bench.begin();
    assert!(!bench.tx.forward.is_due());
    bench.lose_path(0);
    bench.begin();
    assert!(bench.tx.forward.is_due());
}

/// The path that a FORWARD-TSN took before is guarded on, as long as something is in flight there.
#[test]
fn a_forward_tsn_over_another_path_leaves_no_timer() {
    for (what, in_flight, is_lost, runs) in [
        ("nothing is left on the path", false, true, false),
        ("a chunk is in flight there", true, true, true),
        ("the same path", false, false, true),
    ] {
        let mut bench = bench(Preset::Rfc9260, |_| {});
        bench.send_one(FULL, Reliability::Retransmissions(0)).1.unwrap();
        bench.flush();
        if in_flight {
            bench.send(1);
            bench.flush();
        }
        bench.mark_lost(tsn(0), FastRetransmission);
        assert!(bench.flush()[0].forward.is_some());
        assert!(bench.t3(0).is_some());
        // A SACK that does not answer it, after more than a round trip.
        bench.wait(900);
        bench.sack(&Answer::of(0));
        if is_lost {
            bench.fail(0);
        }
        let sent = bench.flush();
        assert_eq!((sent[0].path == 0, sent[0].forward.is_some()), (!is_lost, true), "{what}");
        assert_eq!(bench.t3(0).is_some(), runs, "{what}");
        assert_eq!(bench.t3(1).is_some(), is_lost, "{what}");
    }
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
            bench.mark_lost(tsn(0), FastRetransmission);
            (0..2).for_each(|id| full(bench, id));
        }),
        (BlockedCause::PeerWindow, |bench| {
            bench.send(1);
            bench.tx.advertised_window = 0;
        }),
        (BlockedCause::BufferShare, |bench| bench.send(1)),
        (BlockedCause::NoPath, |bench| {
            bench.send(1);
            let gone = Reach::Inactive(Reason::NoLocalAddress);
            bench.book.ids().for_each(|path| bench.book.set_reach(path, gone));
        }),
    ];
    let mut primary = bench(preset("cmt"), |config| {
        config.policies.path_order = PathOrder::Primary;
    });
    primary.send(1);
    full(&mut primary, 0);
    primary.begin();
    let (tx, cx) = primary.lend();
    assert_eq!(tx.why_blocked(&cx), BlockedCause::CongestionWindow, "path 1 takes nothing new");
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
    let mut full = slowed(BlockingEstimation::On, 400);
    full.path(0).set_cwnd(3 * CHUNK, None);
    let mut queued = slowed(BlockingEstimation::On, 400);
    for _ in 0..9 {
        queued.path(0).rtt.on_data_sample(crate::Instant::ZERO, Duration::from_millis(60), 1468);
    }
    for (what, mut bench) in [
        ("no estimation", slowed(BlockingEstimation::Off, 400)),
        ("it is not slower", slowed(BlockingEstimation::On, 20)),
        ("the faster path is full", full),
        ("the faster path has a queue", queued),
    ] {
        let before = bench.path(1).congestion.cwnd;
        bench.flush();
        assert_eq!(bench.path(1).congestion.cwnd, before, "{what}");
    }
}

#[test]
fn a_path_that_fills_the_peers_window_pays_too() {
    for (window, pays) in [(4, true), (9, false)] {
        let mut bench = slowed(BlockingEstimation::On, 400);
        bench.tx.writable_again(SendRoomNotice::Batch, bench.now);
        bench.tx.queue.enlarge(u64::from(20 * FULL));
        assert!(bench.tx.writable_again(SendRoomNotice::Batch, bench.now));
        bench.tx.advertised_window = u64::from(window * FULL);
        let before = bench.path(1).congestion.cwnd;
        bench.send(1);
        // What waits fits into the window, or does not.
        bench.begin();
        let (tx, mut cx) = bench.lend();
        tx.penalize_blocking_path(&mut cx);
        assert_eq!(bench.path(1).congestion.cwnd < before, pays, "{window} packets");
    }
}

/// The next message does not wait for the last chunk of the one before.
#[test]
fn a_buffer_that_adapts_itself_holds_two_of_each_message() {
    let mut bench = Bench::plain(Preset::Recommended, 1);
    let size = bench.tx.queue.limit();
    let whole = bench.tx.most_buffer as usize;
    assert!(2 * size < bench.tx.most_buffer, "it can grow");
    for (message, limit) in
        [(size as usize / 2, size), (size as usize, 2 * size), (whole, bench.tx.most_buffer)]
    {
        assert_eq!(bench.tx.reserve(message), Ok(()));
        assert_eq!(bench.tx.queue.limit(), limit, "{message}");
    }
}

/// A second small message has no room in the peer's window, though it has in the packet.
#[test]
fn what_follows_in_a_packet_must_fit_into_the_peers_window() {
    for (window, chunks) in [(200, 2), (199, 1)] {
        let mut bench = bench(preset("cmt"), |_| {});
        bench.tx.advertised_window = window;
        for _ in 0..2 {
            bench.send_one(100, Reliability::Full).1.unwrap();
        }
        assert_eq!(bench.flush()[0].chunks.len(), chunks, "{window} bytes");
    }
}

#[test]
fn new_data_does_not_follow_a_retransmission_to_a_path_that_takes_none() {
    for (banned, chunks) in [(false, &[0, 1][..]), (true, &[0])] {
        let mut bench = bench(preset("cmt"), |_| {});
        (0..2).for_each(|id| bench.path(id).set_cwnd(2 * CHUNK, None));
        bench.path(1).flight = 2 * CHUNK;
        bench.send_one(1000, Reliability::Full).1.unwrap();
        assert_eq!(bench.sends(), [(0, [0].into())]);
        bench.tx.mark_lost(bench.now, tsn(0), FastRetransmission);
        let now = bench.now;
        if banned {
            bench.path(0).new_data_ban.begin(now, Duration::from_millis(10));
        }
        bench.send_one(10, Reliability::Full).1.unwrap();
        assert_eq!(bench.flush()[0].chunks, chunks, "{banned}");
    }
}

#[test]
fn a_flush_has_begun_when_something_was_heard_or_sent() {
    let mut bench = bench(preset("cmt"), |_| {});
    assert!(!bench.tx.has_flushed());
    bench.begin();
    bench.send(1);
    let decision = bench.decide().unwrap();
    bench.fill(&decision);
    assert!(bench.tx.has_flushed(), "data was sent");
    bench.tx.end_flush(bench.now, &bench.config);
    assert!(!bench.tx.has_flushed(), "it is over");
    bench.sack(&Answer::of(1));
    assert!(bench.tx.has_flushed(), "a SACK came");
    let mut trains = crate::transmit::testing::Bench::tuned(preset("cmt"), 1, |config| {
        config.policies.path_fill = crate::config::PathFill::Runs;
    });
    trains.shape(0, 9, 9, 50);
    trains.place(&[0]);
    assert!(!trains.tx.has_flushed());
}

#[test]
fn a_window_that_is_closed_or_was_is_watched() {
    let mut bench = bench(preset("cmt"), |_| {});
    assert!(!bench.tx.is_peer_window_closed());
    bench.place(&[0]);
    bench.sack(&Answer::of(1).a_rwnd(0));
    assert!(bench.tx.is_peer_window_closed());
    bench.begin();
    bench.sack(&Answer::of(1));
    assert!(bench.tx.is_peer_window_closed(), "nothing was polled since");
    bench.begin();
    assert!(!bench.tx.is_peer_window_closed());
}

#[test]
fn a_flush_tells_the_probe_of_windows_that_it_changes_only() {
    let windows = |bench: &mut Bench| {
        let is_window = |event: &ProbeEvent| matches!(event, ProbeEvent::Window { .. });
        bench.trace().iter().filter(|event| is_window(event)).count()
    };
    let mut bench = bench(preset("cmt"), |config| {
        config.policies.burst = crate::config::Burst::UseItOrLoseIt(4);
    });
    windows(&mut bench);
    bench.begin();
    assert_eq!(windows(&mut bench), 2);
    assert_eq!(bench.path(0).congestion.cwnd, 4 * CHUNK, "what a burst does not use is lost");
    bench.begin();
    assert_eq!(windows(&mut bench), 0);
}

#[test]
fn a_path_knows_its_new_size_at_once() {
    let mut bench = bench(preset("cmt"), |_| {});
    let Bench { tx, config, .. } = &mut bench;
    let path = &mut tx.paths[PathId(0)];
    path.resize(1280, 40, config);
    assert_eq!((path.mtu(), path.packet_capacity(), path.max_chunk_payload()), (1280, 1240, 1212));
    assert_eq!(path.parameters().largest_chunk, 1228);
}

#[test]
fn initial_windows_follow_what_the_handshake_has_settled() {
    let mut bench = bench(preset("cmt"), |_| {});
    let initial = Bench::tuned(preset("cmt"), 2, |_| {}).path(0).congestion;
    assert_ne!(bench.path(0).congestion.cwnd, initial.cwnd);
    let Bench { tx, config, book, .. } = &mut bench;
    tx.paths.reset_cwnds(config, book, Bench::PEER_WINDOW.into());
    assert_eq!([0, 1].map(|id| bench.path(id).congestion), [initial; 2]);
}

#[test]
fn times_are_those_of_paths_that_are_confirmed() {
    let mut bench = bench(preset("cmt"), |_| {});
    bench.shape(1, 9, 9, 3000);
    let times = |bench: &Bench| {
        let times = bench.tx.paths.times(&bench.book);
        let rtts = [times.shortest_rtt, times.longest_rtt];
        (rtts.map(|rtt| rtt.map(Duration::as_millis)), times.longest_rto.as_millis())
    };
    let [quick, slow] = [0, 1].map(|id| bench.path(id).rtt.srtt().map(Duration::as_millis));
    assert!(quick < slow);
    assert_eq!(times(&bench), ([quick, slow], bench.rto(1)));
    bench.book.set_reach(PathId(1), Reach::Unconfirmed);
    assert_eq!(times(&bench), ([quick; 2], bench.rto(0)));
}

/// IPv6, UDP and what IP guarantees for any path: 40, 8 and 64 bytes.
#[test]
fn no_path_is_so_small_that_nothing_fits() {
    for (mtu_bytes, mtu) in [(0, 112), (112, 112), (113, 113), (1500, 1500)] {
        let mut bench = bench(preset("cmt"), |config| config.mtu_bytes = mtu_bytes);
        assert_eq!(bench.path(0).mtu(), mtu, "{mtu_bytes}");
        assert!(bench.path(0).max_chunk_payload() > 0);
    }
}
