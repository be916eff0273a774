//! What a probe hears of SACKs, losses and the end of fast recovery.

use std::vec::Vec;

use super::*;
use crate::config::{
    AssociationConfig, DataCopies, FastRecoveryScope, MissingReports, Pacing, SackRequest,
    TailReinjection,
};
use crate::extension::packet_drop::flags;
use crate::extension::packet_drop::repair::COMPARED_BYTES;
use crate::{LossDetection, PathId, ProbeEvent};

use FastRecoveryScope::{AssociationWide, PerPath};

/// Two paths with windows of nine packets and 40 ms, and more missing reports needed than any test has.
fn bench(tune: impl FnOnce(&mut AssociationConfig)) -> Bench {
    let mut bench = Bench::tuned(preset("cmt"), 2, |config| {
        config.policies.fast_retransmit.threshold = u8::MAX;
        tune(config);
    });
    (0..2).for_each(|id| bench.shape(id, 9, 9, 40));
    bench
}

/// The losses among the events so far: path, chunk, how it was found.
fn losses(bench: &mut Bench) -> Vec<(u8, u32, LossDetection)> {
    let lost = |event| match event {
        ProbeEvent::ChunkLost { path, tsn: lost, detection } => {
            Some((path.0, lost.0.wrapping_sub(tsn(0).0), detection))
        }
        _ => None,
    };
    bench.trace().into_iter().filter_map(lost).collect()
}

/// The ends of fast recovery among the events so far.
fn recoveries_left(bench: &mut Bench) -> Vec<Option<u8>> {
    let left = |event| match event {
        ProbeEvent::FastRecoveryLeft { path } => Some(path.map(|path| path.0)),
        _ => None,
    };
    bench.trace().into_iter().filter_map(left).collect()
}

#[test]
fn missing_reports_find_a_loss() {
    let mut bench = bench(|config| config.policies.fast_retransmit.threshold = 3);
    bench.place(&[0, 1, 0, 0, 0]);
    for (last, expected) in
        [(2, &[][..]), (3, &[]), (4, &[(0, 0, LossDetection::MissingReports)]), (4, &[])]
    {
        bench.sack(&Answer::of(0).gaps(&[(1, last)]));
        assert_eq!(losses(&mut bench), expected, "the first {last} have arrived");
    }
}

#[test]
fn what_is_overdue_is_lost() {
    let mut bench = bench(|config| {
        config.policies.fast_retransmit.reports = MissingReports::Overdue;
    });
    bench.place(&[0, 0]);
    bench.wait(39);
    bench.place(&[0]);
    bench.sack(&Answer::of(0).gaps(&[(1, 1)]));
    assert_eq!(losses(&mut bench), []);
    bench.wait(40);
    bench.sack(&Answer::of(0).gaps(&[(1, 2)]));
    assert_eq!(losses(&mut bench), [(0, 0, LossDetection::Overdue)]);
}

#[test]
fn an_answered_tail_probe_finds_losses() {
    let mut bench = bench(|config| {
        let mut policies = AssociationConfig::with_preset(preset("recommended")).policies;
        policies.tail_reinjection = TailReinjection::Off;
        policies.data_copies = DataCopies::Off;
        policies.pacing = Pacing::Off;
        policies.sack_request = SackRequest::AtShutdown;
        policies.rto = config.policies.rto;
        policies.fast_retransmit = config.policies.fast_retransmit;
        config.policies = policies;
    });
    bench.place(&[0, 0, 0]);
    bench.wait(80);
    assert_eq!(bench.sends(), [(0, [2].into())]);
    bench.wait(40);
    bench.trace();
    bench.sack(&Answer::of(0).gaps(&[(2, 2)]));
    let found = LossDetection::TailProbe;
    assert_eq!(losses(&mut bench), [(0, 0, found), (0, 1, found)]);
}

#[test]
fn a_drop_report_names_a_loss() {
    let mut bench = bench(|_| {});
    bench.place(&[0, 1]);
    bench.wait(20);
    let mut start = [0; COMPARED_BYTES];
    bench.chunk(1).payload.copy_to(&mut start);
    let (tx, mut cx) = bench.lend();
    tx.on_drop_report(&mut cx, tsn(1), &start, flags::MIDDLEBOX);
    assert_eq!(losses(&mut bench), [(1, 1, LossDetection::DropReport)]);
}

#[test]
fn a_timeout_and_a_lost_path_lose_what_is_in_flight() {
    for (lose, detection) in [
        ((|bench| _ = bench.expire(1)) as fn(&mut Bench), LossDetection::Timeout),
        (|bench| bench.lose_path(1), LossDetection::PathLost),
    ] {
        let mut bench = bench(|_| {});
        bench.place(&[0, 1, 1]);
        bench.wait(1000);
        bench.trace();
        lose(&mut bench);
        assert_eq!(losses(&mut bench), [(1, 1, detection), (1, 2, detection)]);
        lose(&mut bench);
        assert_eq!(losses(&mut bench), [], "nothing is in flight there any more");
    }
}

#[test]
fn what_a_closed_window_refused_is_lost_when_it_opens() {
    let mut bench = bench(|_| {});
    bench.place(&[0, 0]);
    bench.sack(&Answer::of(1).a_rwnd(0));
    bench.wait(500);
    bench.trace();
    bench.sack(&Answer::of(1));
    assert_eq!(losses(&mut bench), [(0, 1, LossDetection::WindowClosed)]);
}

#[test]
fn each_sack_is_reported_before_what_it_means() {
    let mut bench = bench(|_| {});
    bench.place(&[0, 1, 0, 1]);
    bench.trace();
    bench.sack(&Answer::of(1).gaps(&[(3, 3)]).a_rwnd(5000).over(1));
    let (path, cumulative) = (PathId(1), tsn(0));
    let expected = ProbeEvent::SackReceived { path, cumulative, gap_blocks: 1, a_rwnd: 5000 };
    let trace = bench.trace();
    assert_eq!(trace[0], expected);
    assert!(matches!(trace[1], ProbeEvent::ChunkAcked { .. }));
    // An old one is reported, too.
    bench.hear(&Answer::of(0));
    assert!(matches!(bench.trace()[..], [ProbeEvent::SackReceived { gap_blocks: 0, .. }]));
    // The cumulative ack of a SHUTDOWN is none.
    let (tx, mut cx) = bench.lend();
    tx.on_shutdown(&mut cx, tsn(1), PathId(0));
    let is_sack = |event: &ProbeEvent| matches!(event, ProbeEvent::SackReceived { .. });
    assert!(!bench.trace().iter().any(is_sack));
}

#[test]
fn fast_recovery_ends_where_it_began() {
    for (scope, left) in [(PerPath, Some(0)), (AssociationWide, None)] {
        let mut bench = bench(|config| {
            config.policies.fast_retransmit.threshold = 1;
            config.policies.fast_recovery = scope;
        });
        bench.place(&[0, 0, 1]);
        bench.sack(&Answer::of(0).gaps(&[(1, 1)]));
        assert_eq!(recoveries_left(&mut bench), []);
        bench.sack(&Answer::of(3));
        assert_eq!(recoveries_left(&mut bench), [left], "{scope:?}");
        bench.place(&[0]);
        bench.sack(&Answer::of(4));
        assert_eq!(recoveries_left(&mut bench), [], "it is over");
    }
}

#[test]
fn a_timeout_ends_fast_recovery() {
    for (scope, left) in [(PerPath, Some(0)), (AssociationWide, None)] {
        let mut bench = bench(|config| {
            config.policies.fast_retransmit.threshold = 1;
            config.policies.fast_recovery = scope;
        });
        bench.place(&[0, 0, 0, 1]);
        bench.sack(&Answer::of(0).gaps(&[(1, 1)]));
        bench.wait(1000);
        bench.trace();
        bench.expire(0);
        assert_eq!(recoveries_left(&mut bench), [left], "{scope:?}");
        bench.expire(0);
        assert_eq!(recoveries_left(&mut bench), [], "it was over");
    }
}
