//! The peer's receive window, and probing while it is closed.

use super::*;
use crate::config::{BytesCounted, Preset};
use crate::probe::TransmissionCause::{TimerRetransmission, WindowProbe};
use crate::transmit::outstanding::History;
use crate::transmit::partial_reliability::Reliability;
use crate::transmit::zero_window::Expiry;
use crate::{Instant, PathId};

/// Two paths with windows of nine packets and 50 ms.
fn bench() -> Bench {
    let mut bench = Bench::new(Preset::Rfc9260, 2);
    (0..2).for_each(|id| bench.shape(id, 9, 9, 50));
    bench
}

/// When the next probe may go.
fn probe_at(bench: &mut Bench) -> Option<Instant> {
    bench.begin();
    bench.tx.end_flush(bench.now, &bench.config);
    bench.tx.zero_window.deadline()
}

/// Waits until then.
fn let_probe(bench: &mut Bench) {
    bench.now = probe_at(bench).unwrap();
    bench.tx.zero_window.expire(bench.now);
}

/// The peer has acknowledged a chunk and closed its window; three chunks wait, and chunk 1 probes the window.
fn probing() -> Bench {
    let mut bench = bench();
    bench.place(&[0]);
    bench.send(3);
    bench.tx.advertised_window = 0;
    bench.wait(50);
    bench.sack(&Answer::of(1).a_rwnd(0));
    let_probe(&mut bench);
    assert_eq!(bench.sends(), [(0, [1].into())], "one chunk");
    bench
}

#[test]
fn what_fits_into_the_window_goes() {
    // With something in flight, a window smaller than a chunk is as good as closed; with nothing, one chunk may go.
    let full = u64::from(FULL);
    for (advertised, in_flight, packets) in [
        (4 * full, 0, 4),
        (3 * full, 0, 3),
        (3 * full - 1, 0, 2),
        (3 * full, 1, 2),
        (full, 0, 1),
        (full - 1, 0, 1),
        (1, 0, 1),
        (1, 1, 0),
        (2 * full - 1, 1, 0),
        (2 * full, 1, 1),
        (0, 0, 0),
        (0, 1, 0),
    ] {
        let mut bench = bench();
        (0..in_flight).for_each(|_| bench.place(&[0]));
        bench.tx.advertised_window = advertised;
        bench.send(4);
        assert_eq!(bench.flush().len(), packets, "{advertised} bytes, {in_flight} in flight");
    }
}

/// A header takes 16 bytes.
#[test]
fn headers_fill_the_window_where_the_policy_counts_them() {
    let full = u64::from(FULL);
    for (counted, advertised, packets) in [
        (BytesCounted::Payload, 3 * full, 3),
        (BytesCounted::WithHeader, 3 * (full + 16), 3),
        (BytesCounted::WithHeader, 3 * (full + 16) - 1, 2),
    ] {
        let mut bench = Bench::tuned(Preset::Rfc9260, 1, |config| {
            config.policies.advertised_window.bytes_counted = counted;
        });
        bench.shape(0, 9, 9, 50);
        bench.tx.advertised_window = advertised;
        bench.send(4);
        assert_eq!(bench.flush().len(), packets, "{counted:?}: {advertised} bytes");
    }
}

#[test]
fn a_closed_window_is_probed_by_one_chunk_after_a_timeout() {
    let mut bench = bench();
    bench.place(&[0]);
    bench.send(2);
    bench.tx.advertised_window = 0;
    assert_eq!(probe_at(&mut bench), None, "what is outstanding probes already");
    bench.sack(&Answer::of(1).a_rwnd(0));
    assert_eq!(bench.sends(), []);
    let due = probe_at(&mut bench).unwrap();
    assert_eq!(due.since(bench.now).as_millis(), bench.rto(0));
    let_probe(&mut bench);
    assert_eq!(bench.sends(), [(0, [1].into())]);
    assert_eq!(bench.sends(), [], "the second chunk waits");
}

#[test]
fn probes_that_are_taken_follow_at_doubled_intervals() {
    let mut bench = bench();
    bench.place(&[0]);
    bench.send(9);
    bench.tx.advertised_window = 0;
    for (count, seconds) in (1..).zip([1, 2, 4, 8]) {
        bench.sack(&Answer::of(count).a_rwnd(0));
        let due = probe_at(&mut bench).unwrap();
        assert_eq!(due.since(bench.now).as_millis(), seconds * 1000);
        let_probe(&mut bench);
        assert_eq!(bench.sends(), [(0, [count].into())]);
        bench.wait(50);
    }
    bench.sack(&Answer::of(5));
    assert_eq!(probe_at(&mut bench), None, "it is open");
}

#[test]
fn the_answer_to_a_probe_speaks_for_the_peer_and_for_its_path() {
    let mut bench = probing();
    bench.wait(50);
    let answer = Answer::of(1).a_rwnd(0);
    assert_eq!(bench.sack(&answer), ["PeerAnswered", "WindowProbeAnswered(PathId(0))"]);
    bench.fail(0);
    assert_eq!(bench.sack(&answer), ["PeerAnswered"], "not for one that has failed");
}

#[test]
fn data_from_before_the_window_closed_is_no_probe() {
    let mut bench = bench();
    bench.place(&[0, 0]);
    bench.wait(1);
    bench.sack(&Answer::of(1).a_rwnd(0));
    assert_eq!(bench.sack(&Answer::of(1).a_rwnd(0)), ["PeerAnswered"]);
    bench.wait(1000);
    let cwnd = bench.path(0).congestion.cwnd;
    assert_eq!(bench.expire(0), Expiry::Loss);
    assert!(bench.path(0).congestion.cwnd < cwnd);
}

#[test]
fn a_probe_that_times_out_is_no_loss_of_the_path() {
    for (what, is_answered, expected) in
        [("answered", true, Expiry::AnsweredProbe), ("silence", false, Expiry::SilentProbe)]
    {
        let mut bench = probing();
        let before = bench.path(0).congestion;
        bench.path(0).record.loss_rate.on_delivered(20);
        bench.wait(50);
        if is_answered {
            bench.sack(&Answer::of(1).a_rwnd(0));
        }
        assert_eq!(bench.expire_next(), Some((0, expected)), "{what}");
        assert_eq!(bench.path(0).congestion, before, "{what}");
        assert_eq!(bench.lost(), [(1, TimerRetransmission)], "{what}: the probe goes again");
        assert_eq!(bench.rto(0), 2000, "{what}");
        let counts = bench.path(0).record.loss_rate.measured_ppm() > 0;
        assert_eq!(counts, !is_answered, "{what}");
        let sent = bench.sends();
        assert_eq!(sent.len(), 1, "{what}: {sent:?}");
    }
}

#[test]
fn when_the_window_opens_what_it_refused_goes_again_at_once_and_once() {
    let mut bench = probing();
    bench.wait(50);
    bench.sack(&Answer::of(1).a_rwnd(0));
    bench.sack(&Answer::of(1));
    assert_eq!(bench.lost(), [(1, WindowProbe)]);
    assert_eq!(bench.t3(0), None, "nothing is in flight");
    let cwnd = bench.path(0).congestion.cwnd;
    let sent: std::vec::Vec<_> = bench.sends().into_iter().flat_map(|(_, chunks)| chunks).collect();
    assert_eq!(sent, [1, 2, 3]);
    assert!(bench.history(1).contains(History::REPEATED));
    assert!(bench.t3(0).is_some());
    assert_eq!(bench.path(0).congestion.cwnd, cwnd);
    assert_eq!(bench.path(0).record.loss_rate.measured_ppm(), 0);
    // It closes and opens again: what was repeated waits for its timer, what was not is repeated.
    bench.wait(50);
    bench.sack(&Answer::of(1).a_rwnd(0));
    bench.sack(&Answer::of(1));
    assert_eq!(bench.lost(), [(2, WindowProbe), (3, WindowProbe)]);
}

#[test]
fn what_had_no_time_to_arrive_was_not_refused() {
    for (ms, lost) in [(49, &[][..]), (50, &[(1, WindowProbe)])] {
        let mut bench = probing();
        bench.wait(ms);
        bench.sack(&Answer::of(1));
        assert_eq!(bench.lost(), lost, "{ms} ms after the probe, which takes 50");
        assert_eq!(bench.t3(0).is_some(), lost.is_empty());
    }
}

#[test]
fn a_window_that_was_open_refuses_nothing_when_it_grows() {
    let mut bench = bench();
    bench.place(&[0, 0]);
    bench.wait(500);
    bench.sack(&Answer::of(1).a_rwnd(9));
    bench.sack(&Answer::of(1));
    assert_eq!(bench.lost(), []);
}

#[test]
fn the_window_is_what_the_peer_announced_less_what_is_in_flight() {
    let mut bench = bench();
    bench.place(&[0, 1, 0]);
    let full = u64::from(FULL);
    assert_eq!(bench.tx.peer_window(), u64::from(Bench::PEER_WINDOW) - 3 * full);
    bench.sack(&Answer::of(0).gaps(&[(1, 1)]).a_rwnd(4000));
    assert_eq!(bench.tx.peer_window(), 4000 - 2 * full);
    bench.mark_lost(tsn(2), TimerRetransmission);
    assert_eq!(bench.tx.peer_window(), 4000 - full);
    bench.sack(&Answer::of(0).gaps(&[(1, 1)]).a_rwnd(100));
    assert_eq!(bench.tx.peer_window(), 0, "the peer took back what it had announced");
}

#[test]
fn a_retransmission_does_not_ask_for_a_window() {
    let mut bench = bench();
    bench.place(&[0]);
    bench.send_one(FULL, Reliability::Full).1.unwrap();
    bench.tx.advertised_window = 0;
    bench.mark_lost(tsn(0), TimerRetransmission);
    bench.book.primary = PathId(0);
    assert_eq!(bench.sends(), [(1, [0].into())], "it has room there, or probes; new data waits");
}
