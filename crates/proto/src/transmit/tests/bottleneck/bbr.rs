//! BBR over a bottleneck.

use std::boxed::Box;

use super::flow::{P, PACKET};
use super::{Link, Model, Seen};
use crate::Duration;
use crate::config::CongestionAlgorithm;
use crate::congestion::{BuiltIn, Controller, NewPath};

fn controller(algorithm: CongestionAlgorithm) -> Box<dyn Controller> {
    Box::new(BuiltIn::new(algorithm, &NewPath::new(P, 10 * PACKET, u64::MAX)))
}

fn bbr() -> Box<dyn Controller> {
    controller(CongestionAlgorithm::Bbr)
}

fn secs(n: u64) -> Duration {
    Duration::from_secs(n)
}

/// 50 Mbit/s and 20 ms: 125,000 bytes.
const BDP: u64 = 125_000;

/// What a flow does from its second to its twelfth second, with so many lost of ten thousand.
fn alone(loss: u64) -> Seen {
    let mut model = Model::new(Link { loss, ..Link::new(50, 20, 30) });
    model.add(bbr(), Duration::ZERO);
    model.run(secs(1));
    model.run(secs(11))[0]
}

#[test]
fn random_loss_costs_little_and_the_queue_is_short() {
    for loss in [0, 50, 200] {
        let seen = alone(loss);
        assert!(seen.mbit >= 0.85 * 50.0, "{loss}: {seen:?}");
        assert!(seen.queue < BDP / 4 && seen.dropped == 0, "{loss}: {seen:?}");
        // A probe raises what is in flight by a quarter, for a few rounds.
        assert!(seen.longest_queue < BDP * 3 / 2, "{loss}: {seen:?}");
    }
}

#[test]
fn the_window_of_rfc_9260_does_not_bear_that() {
    let mut model = Model::new(Link { loss: 200, ..Link::new(50, 20, 30) });
    model.add(controller(CongestionAlgorithm::Rfc9260), Duration::ZERO);
    assert!(model.run(secs(5))[0].mbit < 10.0);
}

#[test]
fn two_flows_come_to_the_same_rate() {
    for tenths in [10, 30] {
        let mut model = Model::new(Link::new(50, 20, tenths));
        model.add(bbr(), Duration::ZERO);
        model.add(bbr(), secs(3));
        model.run(secs(25));
        let seen = model.run(secs(15));
        let (sum, lower) = (seen[0].mbit + seen[1].mbit, seen[0].mbit.min(seen[1].mbit));
        assert!(sum > 45.0 && lower > 0.3 * sum, "{tenths}: {seen:?}");
    }
}

#[test]
fn beside_cubic_both_have_a_share() {
    for tenths in [10, 40] {
        let mut model = Model::new(Link::new(50, 20, tenths));
        model.add(bbr(), Duration::ZERO);
        model.add(controller(CongestionAlgorithm::Cubic), secs(1));
        model.run(secs(10));
        let seen = model.run(secs(15));
        let (sum, lower) = (seen[0].mbit + seen[1].mbit, seen[0].mbit.min(seen[1].mbit));
        assert!(sum > 45.0 && lower > 0.15 * sum, "{tenths}: {seen:?}");
    }
}

#[test]
fn it_follows_a_rate_that_changes() {
    let mut model = Model::new(Link::new(10, 20, 100));
    model.add(bbr(), Duration::ZERO);
    model.run(secs(3));
    model.set_rate(100);
    model.run(secs(8));
    let seen = model.run(secs(3))[0];
    assert!(seen.mbit >= 85.0, "ten times as fast: {seen:?}");
    model.set_rate(10);
    model.run(secs(8));
    let seen = model.run(secs(5))[0];
    assert!(seen.mbit >= 8.5 && seen.mbit <= 10.1, "a tenth: {seen:?}");
    assert!(seen.queue < 3 * 25_000, "the queue is gone: {seen:?}");
}

/// 1 Mbit/s and 2 ms are a sixth of a packet.
#[test]
fn a_path_of_less_than_a_packet() {
    let mut model = Model::new(Link { buffer: 30_000, ..Link::new(1, 2, 10) });
    model.add(bbr(), Duration::ZERO);
    model.run(secs(5));
    let seen = model.run(secs(20))[0];
    assert!(seen.mbit >= 0.85, "{seen:?}");
    assert!(model.controller(0).cwnd() >= 4 * PACKET);
}

#[test]
fn an_application_that_sends_little_is_not_slowed_down() {
    let mut model = Model::new(Link::new(50, 20, 30));
    model.add(bbr(), Duration::ZERO);
    model.run(secs(2));
    // 8 Mbit/s, and then as much as there is.
    model.limit(0, Some(1000));
    let seen = model.run(secs(8))[0];
    assert!(seen.mbit >= 7.8, "{seen:?}");
    model.limit(0, None);
    model.run(secs(1));
    let seen = model.run(secs(4))[0];
    assert!(seen.mbit >= 40.0, "the path is still known: {seen:?}");
}
