//! What leaves the flight of a path, and what becomes of its timer then.

use super::*;
use crate::PathId;
use crate::config::{DataCopies, OldPathPays, Preset, RescheduleSide};
use crate::probe::TransmissionCause::{FastRetransmission, TimerRetransmission};
use crate::transmit::partial_reliability::Reliability;
use crate::transmit::testing::told;

const ONCE: Reliability = Reliability::Retransmissions(0);

/// Chunk 0 went over path 0 and may not be retransmitted.
fn unreliable(preset: Preset) -> Bench {
    let mut bench = Bench::new(preset, 2);
    (0..2).for_each(|id| bench.shape(id, 9, 9, 50));
    bench.send_one(FULL, ONCE).1.unwrap();
    assert_eq!(bench.sends(), [(0, [0].into())]);
    bench
}

#[test]
fn the_timer_runs_from_the_first_chunk_in_flight_to_the_last() {
    for preset in Preset::ALL {
        let mut bench = Bench::plain(*preset, 2);
        (0..2).for_each(|id| bench.shape(id, 9, 9, 50));
        assert_eq!((bench.t3(0), bench.t3(1)), (None, None));
        bench.place(&[0, 0]);
        let rto = bench.rto(0);
        assert_eq!((bench.t3(0), bench.t3(1)), (Some(rto), None), "{preset:?}");
        bench.wait(10);
        bench.place(&[0]);
        assert_eq!(bench.t3(0), Some(rto - 10), "{preset:?}: another chunk puts nothing off");
        bench.sack(&Answer::of(1));
        assert_eq!(bench.t3(0), Some(bench.rto(0)), "{preset:?}: it begins anew");
        let effects = bench.sack(&Answer::of(3));
        assert_eq!((bench.t3(0), bench.flights()), (None, [0, 0].into()), "{preset:?}");
        assert!(!effects.iter().any(|effect| effect.starts_with("Emptied")), "{effects:?}");
    }
}

#[test]
fn only_the_acknowledgement_of_its_lowest_chunk_starts_the_timer_anew() {
    let mut bench = Bench::new(preset("cmt"), 2);
    (0..2).for_each(|id| bench.shape(id, 9, 9, 50));
    bench.place(&[0, 1, 0, 1]);
    bench.wait(30);
    bench.sack(&Answer::of(0).gaps(&[(1, 2)]));
    let rest = bench.rto(0) - 30;
    assert_eq!((bench.t3(0), bench.t3(1)), (Some(rest), Some(bench.rto(1))));
}

#[test]
fn the_timer_ends_with_an_abandoned_chunk_and_guards_the_forward_tsn() {
    let mut bench = unreliable(Preset::Rfc9260);
    bench.mark_lost(tsn(0), FastRetransmission);
    assert!(bench.t3(0).is_some(), "it will be sent again, as far as is known");
    bench.begin();
    assert_eq!((bench.t3(0), bench.flights()), (None, [0, 0].into()));
    let sent = bench.packet().unwrap();
    assert!(sent.forward.is_some());
    assert_eq!(bench.t3(0), Some(bench.rto(0)));
}

#[test]
fn the_timer_does_not_end_with_the_last_chunk_while_it_guards_a_forward_tsn() {
    let mut bench = unreliable(Preset::Rfc9260);
    bench.mark_lost(tsn(0), FastRetransmission);
    bench.place(&[0]);
    assert_eq!(bench.flights(), [CHUNK, 0]);
    bench.wait(20);
    bench.sack(&Answer::of(0).gaps(&[(1, 1)]));
    assert_eq!(bench.flights(), [0, 0]);
    assert!(bench.t3(0).is_some(), "the FORWARD-TSN may be lost");
    let effects = bench.sack(&Answer::of(2));
    assert_eq!(bench.t3(0), None);
    assert_eq!(effects, ["PeerAnswered", "Delivered(PathId(0), Once)", "Event(SenderDry)"]);
}

/// Chunks 0 and perhaps 2 are on path 0; those between came over path 1 and block the buffers.
fn blocked(places: &[u8], pays: OldPathPays) -> Bench {
    let mut bench = Bench::tuned(Preset::DreibholzAsymmetric, 2, |config| {
        config.policies.reschedule.side = RescheduleSide::Both;
        config.policies.reschedule.old_path = pays;
        config.send_buffer_bytes = u64::from(10 * FULL);
    });
    bench.shape(0, 9, 9, 400);
    bench.shape(1, 9, 9, 20);
    bench.place(places);
    bench.wait(20);
    bench
}

/// What it left behind arrives after 500 ms and measures the path, which has become slower; without that, each of the next ones would
/// be late, too.
#[test]
fn a_chunk_that_moves_still_measures_the_path_that_it_leaves() {
    for (what, data_copies, returns, samples) in [
        ("a report", DataCopies::On, false, &[(0, 500)][..]),
        ("copies are not looked at", DataCopies::Off, false, &[]),
        ("which transmission is reported?", DataCopies::On, true, &[]),
    ] {
        let mut bench = blocked(&[0, 1, 1, 1], OldPathPays::ChunkSize);
        bench.config.policies.data_copies = data_copies;
        bench.sack(&Answer::of(0).gaps(&[(1, 3)]).over(1));
        let sent = bench.flush();
        assert_eq!((sent[0].path, &sent[0].chunks[..]), (1, &[0][..]));
        if returns {
            bench.path(0).note_returned(tsn(0));
        }
        bench.wait(20);
        bench.sack(&Answer::of(4).over(1));
        bench.trace();
        bench.wait(460);
        bench.sack(&Answer { twice: [0].into(), ..Answer::of(4).over(0) });
        assert_eq!(bench.samples(), samples, "{what}");
    }
}

/// A report of the probe as a duplicate tells nothing of when either was answered.
#[test]
fn a_chunk_that_probes_its_own_path_measures_nothing() {
    let mut bench = Bench::tuned(Preset::Recommended, 1, |_| {});
    bench.shape(0, 9, 9, 20);
    bench.send(1);
    bench.flush();
    bench.wait(40);
    let sent = bench.flush();
    assert_eq!(&sent[0].chunks[..], [0], "a tail probe");
    bench.trace();
    bench.wait(1);
    bench.sack(&Answer::of(1));
    bench.wait(19);
    bench.sack(&Answer { twice: [0].into(), ..Answer::of(1) });
    assert_eq!(bench.samples(), []);
}

#[test]
fn only_a_path_that_its_last_chunk_leaves_is_reported_as_emptied() {
    for (places, gaps, emptied) in
        [(&[0, 1, 1, 1][..], &[(1, 3)][..], true), (&[0, 1, 0, 1, 1], &[(1, 1), (3, 4)], false)]
    {
        for pays in [OldPathPays::ChunkSize, OldPathPays::Half] {
            let mut bench = blocked(places, pays);
            bench.sack(&Answer::of(0).gaps(gaps).over(1));
            let before = bench.t3(0);
            let sent = bench.flush();
            assert_eq!((sent[0].path, &sent[0].chunks[..]), (1, &[0][..]));
            let effects = told(&sent[0].effects);
            let expected: &[&str] = if emptied { &["Emptied(PathId(0))"] } else { &[] };
            assert_eq!(effects, expected);
            assert_eq!(bench.t3(0), before.filter(|_| !emptied), "what is left keeps its timer");
            assert!(!bench.path(0).free_retransmission, "no loss: the window holds");
        }
    }
}

#[test]
fn what_was_on_a_lost_path_waits_for_another_one() {
    let mut bench = Bench::new(preset("cmt"), 2);
    (0..2).for_each(|id| bench.shape(id, 9, 9, 50));
    bench.place(&[0, 1, 0]);
    let cwnd = bench.path(0).congestion.cwnd;
    (0..9).for_each(|_| bench.path(0).record.loss_rate.on_delivered(1));
    bench.lose_path(0);
    bench.fail(0);
    assert_eq!(bench.lost(), [(0, TimerRetransmission), (2, TimerRetransmission)]);
    assert_eq!((bench.t3(0), bench.flights()), (None, [0, CHUNK].into()));
    assert_eq!(bench.path(0).timed, None, "what goes elsewhere measures nothing here");
    assert_eq!(bench.path(0).record.loss_rate.measured_ppm(), 0, "the network has lost nothing");
    bench.path(0).record.loss_rate.on_delivered(1);
    assert_eq!(bench.path(0).record.loss_rate.measured_ppm(), 0);
    assert_eq!(bench.path(0).congestion.cwnd, cwnd);
    assert_eq!(bench.sends(), [(1, [0].into()), (1, [2].into())]);
}

#[test]
fn losses_count_in_the_loss_rate_where_the_network_lost_something() {
    let mut bench = Bench::new(preset("cmt"), 2);
    (0..2).for_each(|id| bench.shape(id, 9, 9, 50));
    bench.path(0).record.loss_rate.on_delivered(7);
    bench.place(&[0, 0, 0]);
    bench.expire(0);
    assert_eq!(bench.path(0).record.loss_rate.measured_ppm(), 300_000);
    assert_eq!(bench.path(1).record.loss_rate.measured_ppm(), 0);
}

#[test]
fn what_was_marked_lost_is_counted_once() {
    let mut bench = Bench::new(preset("cmt"), 2);
    (0..2).for_each(|id| bench.shape(id, 9, 9, 50));
    bench.place(&[0, 0]);
    assert_eq!(bench.mark_lost(tsn(0), FastRetransmission), Some(PathId(0)));
    assert_eq!(bench.mark_lost(tsn(0), FastRetransmission), None);
    assert_eq!(bench.flights(), [CHUNK, 0]);
    assert_eq!(bench.path(0).timed, None, "its round trip cannot be measured");
    bench.sack(&Answer::of(2));
    assert_eq!(bench.flights(), [0, 0]);
    assert_eq!(bench.tx.outstanding.lost_count(), 0, "it had arrived after all");
}

#[test]
fn a_path_settles_without_a_word_where_nothing_moved_away() {
    let mut bench = Bench::new(preset("cmt"), 2);
    (0..2).for_each(|id| bench.shape(id, 9, 9, 50));
    bench.place(&[0]);
    assert!(!bench.tx.settle(PathId(0)));
    assert!(bench.t3(0).is_some());
    let (tx, mut cx) = bench.lend();
    tx.settle_left(&mut cx, PathId(0));
    assert!(bench.told().is_empty() && bench.t3(0).is_some(), "a chunk is still there");
    bench.mark_lost(tsn(0), FastRetransmission);
    assert!(bench.tx.settle(PathId(0)));
    assert_eq!(bench.t3(0), None);
    let (tx, mut cx) = bench.lend();
    tx.settle_left(&mut cx, PathId(0));
    assert_eq!(bench.told(), ["Emptied(PathId(0))"]);
}

/// Chunk 0 was abandoned, and the FORWARD-TSN that says so went over path 0.
#[test]
fn a_forward_tsn_that_takes_another_path_leaves_no_timer_behind() {
    for (in_flight, runs) in [(0, false), (1, true)] {
        let mut bench = unreliable(Preset::Rfc9260);
        bench.tx.mark_lost(bench.now, tsn(0), FastRetransmission);
        bench.begin();
        assert!(bench.packet().unwrap().forward.is_some());
        bench.tx.end_flush(bench.now, &bench.config);
        assert!(bench.t3(0).is_some());
        bench.place(&[0, 0][..in_flight]);
        bench.tx.forward.on_timeout(PathId(0));
        bench.book.primary = PathId(1);
        bench.fail(0);
        bench.begin();
        let again = bench.packet().unwrap();
        assert_eq!((again.path, again.forward.is_some()), (1, true));
        assert_eq!((bench.t3(0).is_some(), bench.t3(1).is_some()), (runs, true), "{in_flight}");
    }
}
