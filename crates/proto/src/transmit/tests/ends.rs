//! What is left when an association ends, when its peer restarts, and when it has long been idle.

use std::vec::Vec;

use super::*;
use crate::config::{
    Burst, CongestionAlgorithm, DataCopies, Pacing, Preset, StreamScheduler, TailReinjection,
};
use crate::probe::TransmissionCause::FastRetransmission;
use crate::transmit::partial_reliability::Reliability;
use crate::{Event, PathId};

#[test]
fn what_the_peer_does_not_have_at_the_end_is_reported_in_the_order_of_sending() {
    let mut bench = Bench::tuned(Preset::Rfc9260, 1, |config| {
        config.policies.burst = Burst::Off;
    });
    bench.shape(0, 6, 6, 50);
    // Chunk 0; chunks 1 and 2; chunk 3; chunk 4, which is abandoned; chunk 5 of a message of three; nothing of the last.
    for (packets, rule) in [
        (1, Reliability::Full),
        (2, Reliability::Full),
        (1, Reliability::Full),
        (1, Reliability::Retransmissions(0)),
        (3, Reliability::Full),
        (1, Reliability::Full),
    ] {
        bench.send_one(packets * FULL, rule).1.unwrap();
    }
    assert_eq!(bench.flush().len(), 6);
    bench.tx.mark_lost(bench.now, tsn(4), FastRetransmission);
    bench.begin();
    bench.path(0).set_cwnd(0, None);
    bench.sack(&Answer::of(0).gaps(&[(2, 3)]));
    let failed = |context, transmitted| Event::SendFailed { stream: 0, context, transmitted };
    let expected = [failed(0, true), failed(1, true), failed(4, true), failed(5, false)];
    assert_eq!(bench.tx.take_undelivered(), expected);
    assert!(bench.tx.queue.is_empty());
}

#[test]
fn a_peer_that_restarts_finds_what_the_user_gave_the_streams_and_nothing_else() {
    let mut bench = Bench::tuned(Preset::Rfc9260, 1, |config| {
        config.policies.stream_scheduler = StreamScheduler::Priority;
    });
    bench.shape(0, 9, 9, 50);
    bench.tx.queue.set_stream_value(1, 7);
    bench.tx.queue.set_stream_value(3, 5);
    bench.place(&[0, 0]);
    bench.sack(&Answer::of(1));
    bench.send(1);
    let Bench { tx, config, .. } = &mut bench;
    tx.restart(tsn(1000), config);
    assert_eq!((tx.outstanding.base(), tx.outstanding.next_tsn()), (tsn(1000), tsn(1000)));
    assert!(tx.is_dry() && tx.queue.used() == 0);
    assert_eq!((tx.stats.messages_sent, tx.stats.sacks_received), (3, 1), "counters go on");
    assert_eq!(tx.packet, 1, "and so do the numbers of packets");
    assert_eq!(tx.queue.take_stream_values(), [0, 7, 0, 5]);
}

#[test]
fn a_path_that_has_long_been_idle_begins_with_its_initial_window() {
    let mut bench = Bench::tuned(Preset::Recommended, 1, |config| {
        config.policies.congestion = CongestionAlgorithm::Bbr;
        config.policies.pacing = Pacing::Off;
        config.policies.data_copies = DataCopies::Off;
    });
    let initial = bench.path(0).congestion.cwnd;
    bench.send(3);
    bench.flush();
    bench.wait(50);
    bench.sack(&Answer::of(2));
    let grown = bench.path(0).congestion.cwnd;
    assert!(grown > initial);
    bench.tx.release_memory();
    assert_eq!(bench.path(0).congestion.cwnd, grown, "something is outstanding");
    bench.sack(&Answer::of(3));
    bench.tx.release_memory();
    assert_eq!(bench.path(0).congestion.cwnd, initial);
}

#[test]
fn an_idle_path_gives_back_what_spread_its_packets() {
    let mut bench = Bench::tuned(Preset::Recommended, 2, |config| {
        config.policies.tail_reinjection = TailReinjection::Off;
    });
    bench.shape(0, 9, 9, 40);
    bench.send(1);
    assert_eq!(bench.sends(), [(0, [0].into()), (1, [0].into())]);
    let copies = bench.path(1).copies();
    bench.tx.release_memory();
    assert_ne!(bench.path(1).copies(), copies, "a copy counts in no flight");
    let pacer = bench.path(0).pacer();
    bench.tx.release_memory();
    assert_eq!(bench.path(0).pacer(), pacer, "something is outstanding");
    bench.sack(&Answer::of(1));
    bench.tx.release_memory();
    assert_eq!(bench.path(0).pacer(), crate::congestion::pacing::Pacer::default());
}

#[test]
fn the_table_of_paths_begins_empty_with_another_peer() {
    let mut bench = Bench::new(Preset::Rfc9260, 3);
    bench.tx.paths.clear(2);
    assert_eq!(bench.tx.paths.ids().collect::<Vec<PathId>>(), []);
}
