//! Losses that were none, and a controller that takes its reduction back.

use super::{Answer, Bench, CHUNK, preset};
use crate::config::CongestionAlgorithm;

/// A path with a window of ten packets, all of them outstanding, and a round trip of 100 ms.
fn bench() -> Bench {
    let mut bench = Bench::tuned(preset("cmt"), 1, |config| {
        config.policies.congestion = CongestionAlgorithm::Cubic;
    });
    bench.shape(0, 10, 10, 100);
    bench.send(11);
    assert_eq!(bench.flush().len(), 4, "a burst");
    bench.wait(100);
    bench.sack(&Answer::of(2));
    bench.flush();
    bench
}

#[test]
fn a_chunk_that_was_only_late_restores_the_window() {
    let mut bench = bench();
    let before = bench.path(0).congestion;
    bench.wait(50);
    for last in 3..=5 {
        bench.sack(&Answer::of(2).gaps(&[(3, last)]));
    }
    assert_eq!(bench.path(0).congestion.cwnd, before.cwnd * 7 / 10);
    assert!(!bench.flush().is_empty(), "the chunk is sent again");
    // The original arrives 20 ms later, and not what was sent just now.
    bench.wait(20);
    bench.sack(&Answer::of(6));
    assert!(bench.path(0).congestion.cwnd >= before.cwnd);
    assert_eq!(bench.path(0).congestion.ssthresh, before.ssthresh);
}

#[test]
fn a_chunk_that_was_lost_does_not() {
    let mut bench = bench();
    let before = bench.path(0).congestion;
    bench.wait(50);
    for last in 3..=5 {
        bench.sack(&Answer::of(2).gaps(&[(3, last)]));
    }
    bench.flush();
    bench.wait(100);
    bench.sack(&Answer::of(6));
    assert!(bench.path(0).congestion.cwnd < before.cwnd * 7 / 10 + CHUNK);
}

#[test]
fn a_timeout_that_was_only_a_pause_restores_the_window() {
    let mut bench = bench();
    let before = bench.path(0).congestion;
    bench.expire_next().unwrap();
    assert_eq!(bench.path(0).congestion.cwnd, CHUNK);
    // Nothing was retransmitted yet when all of it is acknowledged.
    bench.wait(1);
    bench.sack(&Answer::of(8));
    assert!(bench.path(0).congestion.cwnd >= before.cwnd);
}
