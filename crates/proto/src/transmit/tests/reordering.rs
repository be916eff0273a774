//! Chunks that are lost by a reordering window which adapts, and those that were not lost.

use crate::paths::rtt::RttEstimator;
use std::vec::Vec;

use super::*;
use crate::PathId;
use crate::config::{
    AssociationConfig, DataCopies, Pacing, Preset, Reduction, TailProbes, TailReinjection,
};
use crate::probe::TransmissionCause::FastRetransmission;
use crate::transmit::outstanding::History;
use crate::{LossDetection, ProbeEvent};

/// Two paths with windows of twelve packets and 40 ms, without what else repeats chunks.
fn tuned(tune: impl FnOnce(&mut AssociationConfig)) -> Bench {
    let mut bench = Bench::tuned(Preset::Recommended, 2, |config| {
        config.policies.tail_reinjection = TailReinjection::Off;
        config.policies.tail_probe = TailProbes::Off;
        config.policies.data_copies = DataCopies::Off;
        config.policies.pacing = Pacing::Off;
        config.policies.window.reduction = Reduction::AtOnce;
        tune(config);
    });
    (0..2).for_each(|id| bench.shape(id, 12, 12, 40));
    bench
}

/// Path 0 has sent chunks 0 to 4 a millisecond apart, and 40 ms after the last one a SACK for chunks 1 and 4 comes, which
/// makes one missing report.
fn bench() -> Bench {
    answered(&[(1, 1), (4, 4)])
}

/// The same with a SACK for these chunks.
fn answered(gaps: &[(u32, u32)]) -> Bench {
    let mut bench = tuned(|_| {});
    for _ in 0..5 {
        bench.place(&[0]);
        bench.wait(1);
    }
    bench.wait(39);
    bench.path(0).timed = None;
    bench.sack(&Answer::of(0).gaps(gaps));
    bench
}

/// The losses among the events so far.
fn losses(bench: &mut Bench) -> Vec<(u32, LossDetection)> {
    let lost = |event| match event {
        ProbeEvent::ChunkLost { tsn: lost, detection, .. } => {
            Some((lost.0.wrapping_sub(tsn(0).0), detection))
        }
        _ => None,
    };
    bench.trace().into_iter().filter_map(lost).collect()
}

#[test]
fn a_timer_finds_what_is_late_where_no_sack_comes() {
    let mut bench = bench();
    // 40 ms and a quarter after chunk 0, which was sent 44 ms ago.
    assert_eq!((bench.late_in(0), bench.late_in(1)), (Some(6), None));
    assert_eq!(losses(&mut bench), []);
    assert_eq!(bench.expire_late(), Some(0));
    assert_eq!(losses(&mut bench), [(0, LossDetection::Overdue)]);
    assert!(bench.path(0).recovery.is_active());
    assert_eq!(bench.late_in(0), Some(2), "chunk 2 is the next one");
    assert_eq!(bench.sends(), [(0, [0].into())]);
    bench.expire_late();
    bench.expire_late();
    assert_eq!(losses(&mut bench), [2, 3].map(|chunk| (chunk, LossDetection::Overdue)));
    assert_eq!(bench.late_in(0), None, "nothing that was sent later has passed the others");
    assert_eq!(bench.path(0).counters.repairs.fast_recoveries, 1);
}

/// Path 0 was answered in 40 ms. Copies of its last chunks over a quicker path are acknowledged one by one.
#[test]
fn copies_that_come_first_report_nothing_missing() {
    for (after_ms, lost) in [(39, &[][..]), (40, &[1, 2])] {
        let mut bench = tuned(|_| {});
        bench.place(&[0]);
        bench.wait(40);
        bench.sack(&Answer::of(1));
        bench.place(&[0, 0, 0, 0, 0]);
        for copied in 3..=5 {
            bench.tx.outstanding.get_mut(tsn(copied)).history.insert(History::COPIED);
        }
        bench.wait(after_ms);
        bench.trace();
        for first in [5, 4, 3] {
            bench.sack(&Answer::of(1).over(1).gaps(&[(first, 5)]));
        }
        let found: Vec<u32> = losses(&mut bench).iter().map(|(chunk, _)| *chunk).collect();
        assert_eq!(found, lost, "{after_ms} ms");
    }
}

#[test]
fn a_sack_finds_what_is_late_already() {
    let mut bench = bench();
    bench.wait(7);
    bench.sack(&Answer::of(0).gaps(&[(1, 1), (3, 4)]));
    assert_eq!(bench.lost(), [(0, FastRetransmission)]);
}

#[test]
fn missing_reports_count_until_a_path_reorders() {
    for (what, late, lost) in [
        ("in order so far", None, &[(0, FastRetransmission)][..]),
        ("chunk 2 came after chunk 4", Some(2), &[]),
    ] {
        let mut bench = tuned(|config| config.policies.fast_retransmit.threshold = 2);
        bench.place(&[0; 8]);
        bench.wait(40);
        bench.path(0).timed = None;
        bench.sack(&Answer::of(0).gaps(&[(1, 1), (3, 4)]));
        let first = late.map_or(3, |late| late);
        bench.sack(&Answer::of(0).gaps(&[(1, 1), (first, 7)]));
        let found: Vec<_> = bench.lost().into_iter().filter(|(chunk, _)| *chunk == 0).collect();
        assert_eq!(found, lost, "{what}");
        assert_eq!(bench.path(0).counts_reports(), late.is_none(), "{what}");
    }
}

#[test]
fn only_what_was_sent_later_on_the_same_path_tells() {
    let mut bench = tuned(|_| {});
    bench.place(&[0, 1, 1]);
    bench.wait(60);
    bench.path(1).timed = None;
    bench.sack(&Answer::of(0).gaps(&[(1, 2)]).over(1));
    assert_eq!((bench.lost(), bench.late_in(0)), ([].into(), None));
}

/// A path that has carried no data yet begins with a retransmission, or with a tail probe: something sent later passes it, and
/// the reordering window runs out for it as for any other.
#[test]
fn the_first_packet_of_a_path_is_watched_though_it_repeats_a_chunk() {
    for what in ["a retransmission", "a tail probe"] {
        let mut bench = tuned(|config| config.policies.tail_probe = TailProbes::TwoRtts);
        if what == "a tail probe" {
            bench.shape(1, 12, 12, 20);
            bench.place(&[0, 0]);
            bench.wait(80);
        } else {
            bench.place(&[0, 0]);
            bench.mark_lost(tsn(1), FastRetransmission);
            bench.path(0).set_cwnd(0, None);
        }
        assert!(bench.path(1).arrivals().is_none());
        assert_eq!(bench.sends(), [(1, [1].into())], "{what}");
        bench.wait(1);
        bench.place(&[1]);
        bench.wait(20);
        bench.sack(&Answer::of(1).gaps(&[(2, 2)]).over(1));
        assert!(bench.late_in(1).is_some(), "{what}");
        bench.expire_late();
        assert_eq!(losses(&mut bench).last(), Some(&(1, LossDetection::Overdue)), "{what}");
    }
}

/// The window of the path before chunk 0 was declared lost and retransmitted.
fn lose_first(bench: &mut Bench) -> crate::congestion::window::CongestionWindow {
    let before = bench.path(0).congestion;
    bench.expire_late();
    assert!(bench.path(0).congestion.cwnd < before.cwnd);
    assert_eq!(bench.sends()[0].1, [0]);
    before
}

#[test]
fn a_chunk_that_was_only_late_restores_the_window_and_widens_the_other() {
    for (what, wait, over, is_spurious) in [
        ("acknowledged just after its retransmission", 1, 0, true),
        ("just before the answer to that can come", 39, 0, true),
        ("when it can", 40, 0, false),
        ("on another path", 39, 1, true),
    ] {
        let mut bench = answered(&[(1, 4)]);
        let before = bench.path(0).congestion;
        if over == 1 {
            let (now, sample) = (bench.now, crate::Duration::from_millis(41));
            bench.path(0).rtt = RttEstimator::new(&bench.config.clone().shared());
            bench.path(0).rtt.on_data_sample(now, sample, 1468);
            bench.place(&[1]);
            bench.wait(40);
            bench.path(1).timed = None;
            bench.sack(&Answer::of(0).gaps(&[(1, 5)]).over(1));
        }
        // Where that SACK has not found it lost.
        bench.expire_late();
        assert!(bench.path(0).congestion.cwnd < before.cwnd, "{what}");
        assert_eq!(bench.sends(), [(over, [0].into())], "{what}");
        let window = bench.path(0).reordering_window();
        bench.wait(wait);
        bench.sack(&Answer::of(if over == 1 { 6 } else { 5 }).over(over));
        assert_eq!(bench.path(0).congestion.cwnd >= before.cwnd, is_spurious, "{what}");
        assert_eq!(bench.path(0).reordering_window() > window, is_spurious, "{what}");
    }
}

#[test]
fn a_duplicate_proves_it_too_but_once() {
    let mut bench = bench();
    let before = lose_first(&mut bench);
    bench.wait(40);
    bench.sack(&Answer::of(5));
    assert!(bench.path(0).congestion.cwnd < before.cwnd, "it may have been the retransmission");
    let twice = |chunk: u32| Answer { twice: [chunk].into(), ..Answer::of(5) };
    bench.sack(&twice(1));
    assert!(bench.path(0).congestion.cwnd < before.cwnd, "another chunk");
    bench.sack(&twice(0));
    assert_eq!(bench.path(0).congestion, before);
    bench.path(0).set_cwnd(CHUNK, None);
    bench.sack(&twice(0));
    assert_eq!(bench.path(0).congestion.cwnd, CHUNK);
}

#[test]
fn what_was_lost_beside_it_was_lost() {
    let mut bench = bench();
    let before = lose_first(&mut bench);
    bench.expire_late();
    assert_eq!(bench.sends()[0].1, [2], "lost as well");
    bench.wait(10);
    bench.sack(&Answer::of(2).gaps(&[(4, 4)]));
    assert!(bench.path(0).congestion.cwnd < before.cwnd);
    bench.wait(40);
    bench.sack(&Answer::of(5));
    assert!(bench.path(0).congestion.cwnd < before.cwnd);
}

#[test]
fn a_timeout_that_was_only_a_pause_restores_the_window() {
    let mut bench = bench();
    let before = bench.path(0).congestion;
    bench.expire(0);
    assert_eq!(bench.path(0).congestion.cwnd, CHUNK);
    let window = bench.path(0).reordering_window();
    bench.wait(1);
    bench.sack(&Answer::of(5));
    assert_eq!(bench.path(0).congestion.cwnd, before.cwnd);
    assert_eq!(bench.path(0).reordering_window(), window, "it was no reordering");
}

/// What follows the retransmission of a chunk on its path tells that this one is lost, too.
#[test]
fn a_lost_retransmission_is_found_by_time() {
    let mut bench = bench();
    lose_first(&mut bench);
    bench.wait(1);
    bench.place(&[0]);
    bench.wait(40);
    bench.path(0).timed = None;
    bench.sack(&Answer::of(0).gaps(&[(1, 5)]));
    // Chunks 2 and 3 were late, so that the window is a round trip. 41 ms have passed.
    assert_eq!((bench.late_in(0), bench.lost()), (Some(39), [].into()));
    bench.expire_late();
    assert_eq!(bench.lost(), [(0, FastRetransmission)]);
}

#[test]
fn what_the_peer_takes_back_is_watched() {
    let mut bench = bench();
    bench.wait(10);
    bench.place(&[0]);
    bench.wait(10);
    bench.path(0).timed = None;
    // Chunk 4 was acknowledged, and chunk 1 is not any more.
    bench.sack(&Answer::of(1).gaps(&[(4, 5)]));
    assert_eq!(bench.late_in(0), Some(7), "as late as chunk 0 was, and a quarter more");
    bench.expire_late();
    assert_eq!(bench.lost(), [(1, FastRetransmission)]);
}

#[test]
fn an_idle_path_has_no_state_of_it() {
    let mut bench = bench();
    bench.sack(&Answer::of(5));
    assert!(bench.path(0).arrivals().is_some());
    bench.tx.release_memory();
    assert!(bench.path(0).arrivals().is_none());
    assert_eq!(bench.tx.paths[PathId(0)].reordering_window(), None);
}
