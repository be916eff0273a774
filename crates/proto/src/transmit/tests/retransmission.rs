//! Which path takes what was lost.

use super::*;
use crate::PathId;
use crate::config::{Burst, NoWindow, RepeatedTimeout, RetransmissionPath as Via};
use crate::probe::TransmissionCause::{self, DropReport, FastRetransmission, TimerRetransmission};
use crate::transmit::decide::What;
use crate::transmit::outstanding::History;

const AGAIN: What = What::Retransmit;

/// Three paths of which each is the best in something; chunk 0 was sent over path 0.
fn bench(fast: Via, timer: Via, no_window: NoWindow) -> Bench {
    let mut bench = Bench::tuned(preset("cmt"), 3, |config| {
        config.policies.burst = Burst::Off;
        let policy = &mut config.policies.retransmission;
        (policy.fast, policy.timer, policy.no_window) = (fast, timer, no_window);
    });
    for (id, (cwnd, ssthresh, rtt)) in (0..).zip([(10, 20, 50), (30, 10, 90), (20, 40, 30)]) {
        bench.shape(id, cwnd, ssthresh, rtt);
        bench.path(id).record.loss_rate.on_delivered(20);
    }
    [0, 2].iter().for_each(|id| bench.path(*id).record.loss_rate.on_lost());
    bench.place(&[0]);
    bench
}

fn lose(bench: &mut Bench, cause: TransmissionCause) {
    assert_eq!(bench.mark_lost(tsn(0), cause), Some(PathId(0)));
}

fn full(bench: &mut Bench, id: u8) {
    let path = bench.path(id);
    path.flight = path.congestion.cwnd;
}

#[test]
fn the_policy_for_its_cause_chooses_the_path() {
    for (policy, path) in [
        (Via::Same, 0),
        (Via::Alternate, 1),
        (Via::Cwnd, 1),
        (Via::Ssthresh, 2),
        (Via::LossRate, 1),
        (Via::LowestSrtt, 2),
    ] {
        let mut fast = bench(policy, Via::Same, NoWindow::Wait);
        lose(&mut fast, FastRetransmission);
        assert_eq!(fast.choice(), Some((path, AGAIN)), "{policy:?} after missing reports");
        let mut timer = bench(Via::Same, policy, NoWindow::Wait);
        lose(&mut timer, TimerRetransmission);
        assert_eq!(timer.choice(), Some((path, AGAIN)), "{policy:?} after a timeout");
        let mut damaged = bench(policy, policy, NoWindow::Wait);
        lose(&mut damaged, DropReport);
        assert_eq!(damaged.choice(), Some((0, AGAIN)), "what was damaged keeps its path");
    }
}

#[test]
fn as_soon_as_possible_is_where_there_is_window() {
    for free in 0..3 {
        let mut bench = bench(Via::Asap, Via::Asap, NoWindow::Wait);
        lose(&mut bench, FastRetransmission);
        (0..3).filter(|id| *id != free).for_each(|id| full(&mut bench, id));
        assert_eq!(bench.choice(), Some((free, AGAIN)));
    }
}

#[test]
fn a_chosen_path_without_window_is_waited_for_or_not_as_the_policy_says() {
    // RTX-CWND chooses path 1, then 2, then 0; path 2 has a third of the round-trip time.
    for (what, no_window, is_full, expected) in [
        ("waits", NoWindow::Wait, &[1][..], None),
        ("the next one takes it", NoWindow::Next, &[1], Some((2, AGAIN))),
        ("and the one after that", NoWindow::Next, &[1, 2], Some((0, AGAIN))),
        ("the next one is sooner", NoWindow::Sooner, &[1], Some((2, AGAIN))),
        ("every cwnd is full", NoWindow::Next, &[0, 1, 2], None),
    ] {
        let mut bench = bench(Via::Cwnd, Via::Cwnd, no_window);
        lose(&mut bench, FastRetransmission);
        is_full.iter().for_each(|id| full(&mut bench, *id));
        assert_eq!(bench.choice(), expected, "{what}");
    }
    // RTX-SSTHRESH chooses path 2 with its 30 ms before path 0 with 50 ms.
    let mut bench = bench(Via::Ssthresh, Via::Ssthresh, NoWindow::Sooner);
    lose(&mut bench, FastRetransmission);
    full(&mut bench, 2);
    assert_eq!(bench.choice(), None, "its window comes sooner than path 0 brings the chunk");
    // 14 more need two thirds of its window, and so 20 ms more.
    bench.place(&[1; 14]);
    (1..=14).for_each(|chunk| _ = bench.tx.mark_lost(bench.now, tsn(chunk), FastRetransmission));
    assert_eq!(bench.choice(), Some((0, AGAIN)), "others are lost, too");
}

#[test]
fn one_packet_after_a_loss_ignores_the_window() {
    let mut bench = bench(Via::Same, Via::Same, NoWindow::Wait);
    bench.place(&[0, 0]);
    for chunk in 0..3 {
        bench.mark_lost(tsn(chunk), FastRetransmission);
    }
    full(&mut bench, 0);
    assert_eq!(bench.choice(), None);
    bench.path(0).free_retransmission = true;
    assert_eq!(bench.sends(), [(0, [0].into())]);
    assert!(!bench.path(0).free_retransmission);
}

#[test]
fn after_a_repeated_timeout_paths_with_unanswered_timeouts_come_last() {
    use RepeatedTimeout::{AsChosen, AvoidDoubtful};
    let repeated = History::TIMER_RETRANSMITTED;
    for (what, policy, history, errors, expected) in [
        ("the first timeout", AvoidDoubtful, History::empty(), [0, 1, 0], 1),
        ("a repeated one", AvoidDoubtful, repeated, [0, 1, 0], 2),
        ("the policy does not ask", AsChosen, repeated, [0, 1, 0], 1),
        ("all answer", AvoidDoubtful, repeated, [0, 0, 0], 1),
        ("none answers", AvoidDoubtful, repeated, [1, 1, 1], 1),
        ("only its own does", AvoidDoubtful, repeated, [0, 1, 1], 0),
    ] {
        let mut bench = bench(Via::Cwnd, Via::Cwnd, NoWindow::Wait);
        bench.config.policies.retransmission.repeated = policy;
        bench.tx.outstanding.get_mut(tsn(0)).history = history;
        for (id, errors) in (0..).map(PathId).zip(errors) {
            bench.book[id].errors = errors;
        }
        lose(&mut bench, TimerRetransmission);
        assert_eq!(bench.choice(), Some((expected, AGAIN)), "{what}");
    }
}

#[test]
fn paths_that_are_not_active_take_no_retransmission() {
    let mut bench = bench(Via::Same, Via::Same, NoWindow::Wait);
    lose(&mut bench, FastRetransmission);
    bench.fail(0);
    assert_eq!(bench.choice(), Some((1, AGAIN)));
    bench.fail(1);
    assert_eq!(bench.choice(), Some((2, AGAIN)));
}

#[test]
fn a_retransmission_takes_its_bytes_along_to_its_new_path() {
    let mut bench = bench(Via::Alternate, Via::Alternate, NoWindow::Wait);
    lose(&mut bench, FastRetransmission);
    assert_eq!(bench.flights(), [0, 0, 0]);
    bench.wait(5);
    assert_eq!(bench.sends(), [(1, [0].into())]);
    assert_eq!(bench.flights(), [0, CHUNK, 0]);
    let chunk = bench.chunk(0);
    assert_eq!((chunk.path, chunk.transmissions, chunk.sent_at), (PathId(1), 2, bench.now));
    assert_eq!(bench.history(0), History::FAST_RETRANSMITTED | History::MOVED);
    assert_eq!(bench.t3(1), Some(bench.rto(1)));
    assert_eq!(bench.path(1).counters.repairs.fast_retransmissions, 1);
}

#[test]
fn of_paths_alike_each_has_its_turn_at_random() {
    for (fast, timer, cause) in
        [(Via::Cwnd, Via::Same, FastRetransmission), (Via::Same, Via::Cwnd, TimerRetransmission)]
    {
        let mut bench = bench(fast, timer, NoWindow::Wait);
        (0..3).for_each(|id| bench.shape(id, 20, 20, 50));
        lose(&mut bench, cause);
        for path in 0..3 {
            let mut choices = (0..100).map(|_| bench.choice());
            assert!(choices.any(|choice| choice == Some((path, AGAIN))), "{cause:?} {path}");
        }
    }
}
