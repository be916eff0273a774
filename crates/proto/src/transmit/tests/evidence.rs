//! What SACKs prove of paths and of the peer.

use super::*;
use crate::config::{Burst, LossDelays, Preset, RetransmissionPath, RttSample, StaleSack};
use crate::mechanism::loss_delay::LossDelay;
use crate::probe::TransmissionCause::FastRetransmission;
use crate::types::UserDataChunk;
use crate::{Duration, PathId};

/// A chunk that was retransmitted may have arrived over another path.
#[test]
fn a_path_has_delivered_what_went_once_or_what_it_answered() {
    for (what, goes_again, has_answered, has_delivered) in [
        ("sent once", false, false, true),
        ("sent twice, and the path never answered", true, false, false),
        ("sent twice", true, true, true),
    ] {
        let mut bench = Bench::plain(preset("cmt"), 2);
        bench.config.policies.retransmission.fast = RetransmissionPath::Same;
        bench.place(&[1]);
        if goes_again {
            bench.mark_lost(tsn(0), FastRetransmission);
            assert_eq!(bench.sends(), [(1, [0].into())]);
        }
        if has_answered {
            let now = bench.now;
            bench.path(1).rtt.on_control_sample(now, Duration::from_millis(50));
        }
        bench.sack(&Answer::of(1));
        assert_eq!(bench.path(1).has_delivered, has_delivered, "{what}");
        assert!(!bench.path(0).has_delivered, "{what}");
    }
}

#[test]
fn rounds_are_counted_where_the_policy_looks_at_what_waits_for_losses() {
    for (policy, is_counted) in [(LossDelays::On, true), (LossDelays::Off, false)] {
        let mut bench = Bench::plain(Preset::Recommended, 2);
        bench.config.policies.loss_delay = policy;
        bench.shape(0, 9, 9, 50);
        bench.place(&[0, 0]);
        bench.wait(50);
        bench.sack(&Answer::of(1));
        assert_eq!(bench.path(0).record.loss_delay != LossDelay::new(), is_counted, "{policy:?}");
    }
}

/// With nine chunks in flight, 64 and twice nine may be taken back: eleven times eight are too many.
#[test]
fn a_peer_that_takes_back_too_much_is_believed_no_gap() {
    let mut bench = Bench::plain(preset("cmt"), 1);
    bench.config.policies.stale_sack = StaleSack::SamePath;
    bench.config.policies.burst = Burst::Off;
    bench.shape(0, 9, 9, 50);
    bench.place(&[0; 9]);
    for time in 1..=20 {
        bench.sack(&Answer::of(0).gaps(&[(1, 8)]));
        assert_eq!(bench.chunk(8).is_acked(), time <= 11, "time {time}");
        bench.sack(&Answer::of(0));
        assert!(!bench.chunk(8).is_acked());
    }
    bench.sack(&Answer::of(9));
    assert_eq!(bench.flights(), [0], "the cumulative ack counts");
}

/// Chunks 0, 3 and 4 go over path 0. The second SACK comes after one that was sent later and acknowledges more.
#[test]
fn a_reordered_sack_reports_nothing_missing() {
    let mut bench = Bench::plain(preset("cmt"), 2);
    bench.config.policies.stale_sack = StaleSack::SamePath;
    (0..2).for_each(|id| bench.shape(id, 9, 9, 50));
    bench.place(&[0, 1, 1, 0, 0]);
    bench.sack(&Answer::of(0).gaps(&[(1, 1), (4, 4)]).over(1));
    assert_eq!(bench.chunk(0).missing_reports, 1);
    bench.sack(&Answer::of(0).gaps(&[(3, 3)]).over(0));
    assert_eq!(bench.tx.stats.seldom.stale_sacks, 1);
    assert_eq!(bench.chunk(0).missing_reports, 1);
}

#[test]
fn a_repaired_loss_limits_bursts_from_then_on_or_once() {
    for (policy, by_timer, limits) in [
        (Burst::MaxBurstFromRetransmission(2), false, [2, 2]),
        (Burst::MaxBurstFromRetransmission(2), true, [2, 2]),
        (Burst::MaxBurstOnce(2), false, [2, 8]),
        (Burst::MaxBurstOnce(2), true, [8, 8]),
        (Burst::Off, false, [8, 8]),
    ] {
        let mut bench = Bench::plain(Preset::Rfc9260, 1);
        bench.config.policies.burst = policy;
        bench.config.policies.retransmission.timer = RetransmissionPath::Same;
        bench.shape(0, 30, 9, 50);
        bench.place(&[0]);
        match by_timer {
            true => drop(bench.expire(0)),
            false => _ = bench.mark_lost(tsn(0), FastRetransmission),
        }
        assert_eq!(bench.sends(), [(0, [0].into())]);
        bench.sack(&Answer::of(1));
        let sent = limits.map(|_| {
            let flight = bench.path(0).flight;
            bench.path(0).set_cwnd(flight + 8 * CHUNK, None);
            bench.send(20);
            bench.flush().len()
        });
        assert_eq!(sent, limits, "{policy:?}, timer: {by_timer}");
    }
}

#[test]
fn an_answer_to_the_handshake_that_comes_after_data_changes_no_chunk() {
    let mut bench = Bench::plain(preset("cmt"), 1);
    bench.tx.settle_user_data(UserDataChunk::IData, Bench::PEER_WINDOW);
    assert_eq!(bench.tx.chunk, UserDataChunk::IData);
    bench.tx.settle_user_data(UserDataChunk::Data, Bench::PEER_WINDOW);
    assert_eq!(bench.tx.chunk, UserDataChunk::Data, "nothing was sent yet");
    bench.place(&[0]);
    bench.tx.settle_user_data(UserDataChunk::IData, Bench::PEER_WINDOW);
    assert_eq!(bench.tx.chunk, UserDataChunk::Data);
    assert_eq!(bench.tx.outstanding.get(tsn(0)).path, PathId(0));
}

/// Its SACK may have been lost, and a later one measures the outage.
#[test]
fn a_round_trip_that_waits_for_its_path_is_not_measured_after_a_timeout() {
    let mut bench = Bench::plain(preset("cmt"), 2);
    bench.config.policies.rtt_sample = RttSample::SlowPathUpdate;
    (0..2).for_each(|id| bench.shape(id, 9, 9, 50));
    bench.place(&[0, 1, 0]);
    bench.wait(20);
    bench.sack(&Answer::of(1).over(1));
    assert!(bench.path(0).record.awaited.is_some());
    bench.expire(0);
    assert_eq!(bench.path(0).record.awaited, None);
}
