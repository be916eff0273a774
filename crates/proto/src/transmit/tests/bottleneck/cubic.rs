//! CUBIC over a bottleneck.

use std::boxed::Box;

use super::flow::{P, PACKET};
use super::{Link, Model};
use crate::Duration;
use crate::config::CongestionAlgorithm;
use crate::congestion::{BuiltIn, Controller, NewPath};

fn controller(algorithm: CongestionAlgorithm) -> Box<dyn Controller> {
    Box::new(BuiltIn::new(algorithm, &NewPath::new(P, 10 * PACKET, u64::MAX)))
}

fn cubic() -> Box<dyn Controller> {
    controller(CongestionAlgorithm::Cubic)
}

const NOW: Duration = Duration::ZERO;

fn secs(n: u64) -> Duration {
    Duration::from_secs(n)
}

#[test]
fn a_long_fast_path_is_full() {
    let mut model = Model::new(Link::new(100, 50, 10));
    model.add(cubic(), NOW);
    model.run(secs(5));
    let seen = model.run(secs(20))[0];
    assert!(seen.mbit >= 90.0, "{seen:?}");
    assert!(seen.dropped > 0, "the buffer is what ends the growth: {seen:?}");
}

/// One packet in 10,000 is lost: windows of 1.22 / sqrt(p) = 122 packets for RFC 9260, and of 187 for CUBIC (RFC 9438 table 1).
#[test]
fn it_comes_back_sooner_than_the_window_of_rfc_9260() {
    let carried = |algorithm| {
        let mut model = Model::new(Link { loss: 1, ..Link::new(100, 100, 10) });
        model.add(controller(algorithm), NOW);
        model.run(secs(5));
        model.run(secs(30))[0].mbit
    };
    let [rfc9260, cubic] = [CongestionAlgorithm::Rfc9260, CongestionAlgorithm::Cubic].map(carried);
    assert!(cubic > 1.2 * rfc9260, "{cubic} against {rfc9260}");
}

/// What was dropped in three seconds, and the threshold after them.
fn slow_start(algorithm: CongestionAlgorithm, buffer_tenths: u64) -> (u64, u64) {
    let mut model = Model::new(Link::new(100, 50, buffer_tenths));
    model.add(controller(algorithm), NOW);
    let dropped = model.run(secs(3))[0].dropped;
    (dropped, model.controller(0).ssthresh().unwrap())
}

/// The rise of round trips is seen a round after it began, and the conservative rounds go on growing by a quarter each: a
/// buffer that holds this overflows no more, and a smaller one less.
#[test]
fn slow_start_ends_before_the_queue_overflows() {
    use CongestionAlgorithm::{Cubic, Rfc9260};
    let (dropped, threshold) = slow_start(Cubic, 90);
    assert!(dropped == 0 && threshold < u64::MAX, "{dropped} {threshold}");
    assert!(threshold > Link::new(100, 50, 10).buffer, "the path was full: {threshold}");
    assert!(slow_start(Rfc9260, 90).0 > 0);
    let [few, many] = [Cubic, Rfc9260].map(|algorithm| slow_start(algorithm, 20).0);
    assert!(few < many * 3 / 4, "{few} against {many}");
}

#[test]
fn two_flows_come_to_the_same_rate() {
    let mut model = Model::new(Link::new(50, 40, 10));
    model.add(cubic(), NOW);
    model.add(cubic(), secs(10));
    model.run(secs(40));
    let seen = model.run(secs(60));
    let (sum, lower) = (seen[0].mbit + seen[1].mbit, seen[0].mbit.min(seen[1].mbit));
    assert!(sum > 45.0 && lower > 0.35 * sum, "{seen:?}");
}

#[test]
fn beside_the_window_of_rfc_9260_on_a_short_path_both_have_a_share() {
    let mut model = Model::new(Link::new(20, 20, 20));
    model.add(cubic(), NOW);
    model.add(controller(CongestionAlgorithm::Rfc9260), secs(1));
    model.run(secs(20));
    let seen = model.run(secs(60));
    let sum = seen[0].mbit + seen[1].mbit;
    let lower = seen[0].mbit.min(seen[1].mbit);
    assert!(sum > 18.0 && lower > 0.25 * sum, "{seen:?}");
}

#[test]
fn an_application_that_sends_little_grows_no_window() {
    let mut model = Model::new(Link::new(100, 50, 10));
    model.add(cubic(), NOW);
    // 8 of 100 Mbit/s: 50,000 bytes in a round trip.
    model.limit(0, Some(1000));
    model.run(secs(30));
    let cwnd = model.controller(0).cwnd();
    assert!(cwnd < 4 * 50_000, "{cwnd}");
}
