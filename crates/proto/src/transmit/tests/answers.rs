//! What a SACK makes of recoveries, windows and doubts.

use std::vec::Vec;

use polypath_wire::{DuplicateTsns, NrSack};

use super::*;
use crate::config::{
    AssociationConfig, BeyondWindow, CwndUpdate, FastRecoveryScope, Reduction, RetransmissionPath,
    SplitFastRetransmit,
};
use crate::paths::heartbeat::SentHeartbeat;
use crate::probe::TransmissionCause::FastRetransmission;
use crate::transmit::AckOutcome;
use crate::transmit::outstanding::History;
use crate::transmit::sack::testing::blocks;
use crate::{Duration, PathId, ProbeEvent};

/// Two paths with windows of nine packets and 50 ms; one missing report is enough.
fn bench(tune: impl FnOnce(&mut AssociationConfig)) -> Bench {
    let mut bench = Bench::tuned(preset("cmt"), 2, |config| {
        let policies = &mut config.policies;
        policies.burst = crate::config::Burst::Off;
        policies.fast_retransmit.threshold = 1;
        policies.retransmission.fast = RetransmissionPath::Same;
        tune(config);
    });
    (0..2).for_each(|id| bench.shape(id, 9, 9, 50));
    bench
}

/// Windows of a path that the probe was told of since the last look.
fn windows(bench: &mut Bench, id: u8) -> usize {
    let of = |event: &ProbeEvent| matches!(event, ProbeEvent::Window { path, .. } if path.0 == id);
    bench.trace().iter().filter(|event| of(event)).count()
}

#[test]
fn a_path_leaves_fast_recovery_with_its_own_chunks_where_the_policy_follows_them() {
    for (policy, leaves) in [
        (CwndUpdate::Normal, false),
        (CwndUpdate::PseudoCumAck, true),
        (CwndUpdate::PseudoCumAckV2, true),
    ] {
        let mut bench = bench(|config| config.policies.cwnd_update = policy);
        // Chunk 0 is under way on path 1 all the time.
        bench.place(&[1, 0, 0, 0]);
        bench.sack(&Answer::of(0).gaps(&[(2, 2)]));
        assert_eq!(bench.sends(), [(0, [1].into())]);
        bench.sack(&Answer::of(0).gaps(&[(1, 2)]));
        assert!(bench.path(0).recovery.is_active(), "{policy:?}: chunk 3 was sent before it began");
        bench.sack(&Answer::of(0).gaps(&[(1, 3)]));
        assert_eq!(bench.path(0).recovery.is_active(), !leaves, "{policy:?}");
        bench.sack(&Answer::of(4));
        assert!(!bench.path(0).recovery.is_active(), "{policy:?}");
    }
}

#[test]
fn news_are_told_only_where_something_was_in_doubt() {
    for (what, errors, path_errors, told) in
        [("nothing", 0, 0, false), ("the peer", 1, 0, true), ("a path", 0, 1, true)]
    {
        let mut bench = bench(|_| {});
        bench.place(&[0, 0]);
        bench.book.errors = errors;
        bench.book[PathId(1)].errors = path_errors;
        let peer_answered = |told: Vec<_>| told.contains(&"PeerAnswered".into());
        assert_eq!(peer_answered(bench.sack(&Answer::of(1))), told, "{what}");
        assert!(!peer_answered(bench.sack(&Answer::of(1))), "{what}: nothing new");
    }
}

#[test]
fn what_arrived_before_an_outage_proves_no_path_alive() {
    for (what, probes, expired, was_lost, proves) in [
        ("before the outage", true, true, true, false),
        ("no heartbeat was lost since", true, false, true, true),
        ("in flight until now", true, true, false, true),
        ("outages are not probed for", false, true, true, true),
    ] {
        let mut bench = bench(|config| {
            let interval = probes.then_some(Duration::from_millis(100));
            config.policies.failover.outage_probe_interval = interval;
        });
        bench.place(&[0, 1]);
        bench.book[PathId(1)].errors = 1;
        let sent_at = bench.now;
        let heartbeat = SentHeartbeat { nonce: 1, at: sent_at };
        bench.book[PathId(1)].heartbeat.expired = expired.then_some(heartbeat);
        if was_lost {
            bench.tx.mark_lost(bench.now, tsn(1), FastRetransmission);
        }
        let told = bench.sack(&Answer::of(2));
        let delivered = told.iter().any(|told| told.starts_with("Delivered(PathId(1)"));
        assert_eq!(delivered, proves, "{what}");
    }
}

#[test]
fn what_the_peer_has_discarded_may_be_kept_by_a_later_promise() {
    let nr_sack = |kept: &[(u16, u16)], twice: &[u32]| NrSack {
        flags: 0,
        cumulative_tsn_ack: tsn(0).previous().0,
        a_rwnd: Bench::PEER_WINDOW,
        renegable_blocks: blocks(&[]),
        non_renegable_blocks: blocks(kept),
        duplicate_tsns: DuplicateTsns::Owned(twice.into()),
        reserved: 0,
    };
    let mut bench = bench(|config| config.policies.fast_retransmit.threshold = u8::MAX);
    bench.place(&[0, 1, 0, 1]);
    // A plain SACK first, and then a promise for the same chunks.
    bench.sack(&Answer::of(0).gaps(&[(1, 2)]));
    assert_eq!(bench.tx.queue.used(), u64::from(4 * FULL));
    for (kept, used) in [(&[(2, 2)][..], 3), (&[(2, 4)], 1)] {
        let (tx, mut cx) = bench.lend();
        assert!(matches!(
            tx.on_nr_sack(&mut cx, &nr_sack(kept, &[]), PathId(0)),
            AckOutcome::Applied
        ));
        assert_eq!(bench.tx.queue.used(), u64::from(used * FULL), "{kept:?}");
    }
}

/// Chunk 0 of six on path 0 was lost and retransmitted.
fn recovering(tune: impl FnOnce(&mut AssociationConfig)) -> Bench {
    let mut bench = bench(tune);
    bench.place(&[0; 6]);
    bench.sack(&Answer::of(0).gaps(&[(1, 1)]));
    assert_eq!(bench.sends(), [(0, [0].into())]);
    bench.trace();
    bench
}

#[test]
fn a_sack_that_repairs_allows_a_packet_more_than_it_delivers() {
    for (what, threshold, gaps, packets) in [
        ("the next in order", 1, &[(1, 2)][..], 2),
        ("out of order", 2, &[(1, 1), (3, 3)], 1),
        ("in order, but more is lost", 1, &[(1, 2), (4, 4)], 2),
        ("more is lost", 1, &[(1, 1), (3, 3)], 1),
    ] {
        let mut bench = recovering(|config| {
            config.policies.window.reduction = Reduction::Proportional;
        });
        bench.config.policies.fast_retransmit.threshold = threshold;
        bench.sack(&Answer::of(0).gaps(gaps));
        let path = bench.path(0);
        assert!(path.record.reduction.is_under_way(), "{what}");
        let flight = path.flight;
        let limit = path.record.reduction.limit(flight, 1 << 40, CHUNK).unwrap();
        assert_eq!(limit - flight, packets * CHUNK, "{what}");
    }
}

#[test]
fn a_reduction_at_once_is_one() {
    for (policy, gradual) in [(Reduction::AtOnce, false), (Reduction::Proportional, true)] {
        let mut bench = recovering(|config| config.policies.window.reduction = policy);
        assert_eq!(bench.path(0).record.reduction.is_under_way(), gradual);
        let window = bench.path(0).congestion;
        assert_eq!(window.cwnd, 9 * CHUNK / 2, "{policy:?}");
        bench.begin();
        assert_eq!(bench.path(0).congestion, window, "what a flush may send is no window");
    }
}

#[test]
fn the_probe_is_told_of_windows_that_change() {
    let mut bench = recovering(|_| {});
    bench.sack(&Answer::of(0).gaps(&[(1, 2)]));
    assert_eq!(windows(&mut bench, 0), 0, "in recovery it does not grow");
    bench.sack(&Answer::of(0).gaps(&[(1, 2), (4, 4)]));
    assert_eq!(bench.lost(), [(3, FastRetransmission)]);
    assert_eq!(windows(&mut bench, 0), 0, "nor does another loss reduce it");
    let mut grows = bench_with_moved_chunk();
    grows.sack(&Answer::of(1));
    assert_eq!(windows(&mut grows, 0), 0, "a chunk that was moved is credited to none");
    grows.sack(&Answer::of(2));
    assert_eq!(windows(&mut grows, 0), 1);
}

fn bench_with_moved_chunk() -> Bench {
    let mut bench = bench(|_| {});
    bench.place(&[0, 0]);
    bench.tx.outstanding.get_mut(tsn(0)).history |= History::RESCHEDULED;
    bench.trace();
    bench
}

#[test]
fn one_packet_in_a_recovery_ignores_the_window_or_one_after_each_loss() {
    for (policy, again) in [(BeyondWindow::OncePerRecovery, false), (BeyondWindow::EveryLoss, true)]
    {
        for scope in [FastRecoveryScope::PerPath, FastRecoveryScope::AssociationWide] {
            let mut bench = bench(|config| {
                config.policies.fast_retransmit.beyond_window = policy;
                config.policies.fast_recovery = scope;
            });
            bench.place(&[0; 6]);
            bench.sack(&Answer::of(0).gaps(&[(1, 1)]));
            assert!(bench.path(0).free_retransmission, "{policy:?}");
            bench.sends();
            assert!(!bench.path(0).free_retransmission);
            bench.sack(&Answer::of(0).gaps(&[(1, 1), (3, 3)]));
            assert_eq!(bench.path(0).free_retransmission, again, "{policy:?} {scope:?}");
        }
    }
}

/// Chunk 0 was lost and retransmitted; chunks 3 to 5 are missing once.
#[test]
fn in_recovery_all_holes_are_missing_where_the_cumulative_ack_advances() {
    for (what, answer, lost) in [
        ("chunk 3 has arrived", Answer::of(0).gaps(&[(1, 3), (6, 6)]), &[][..]),
        ("chunk 0 has arrived", Answer::of(3).gaps(&[(6, 6)]), &[3, 4, 5]),
    ] {
        let mut bench = bench(|config| {
            config.policies.fast_recovery = FastRecoveryScope::AssociationWide;
            config.policies.fast_retransmit.split = SplitFastRetransmit::Off;
            config.policies.fast_retransmit.threshold = 2;
        });
        bench.place(&[0; 8]);
        bench.sack(&Answer::of(0).gaps(&[(1, 1)]));
        bench.sack(&Answer::of(0).gaps(&[(1, 2)]));
        assert_eq!(bench.sends(), [(0, [0].into())]);
        bench.sack(&Answer::of(0).gaps(&[(1, 2), (6, 6)]));
        bench.sack(&answer);
        let found: Vec<u32> = bench.lost().into_iter().map(|(chunk, _)| chunk).collect();
        assert_eq!(found, lost, "{what}");
    }
}
