//! The window that follows from the model.

use super::*;

#[test]
fn startup_grows_by_what_is_acknowledged() {
    let mut bench = Bench::new();
    // The path does not count as full.
    bench.limit = RateLimit::Application;
    // 2,500 bytes a round explain no window of ten packets, but it grows until these are delivered.
    for cwnd in [12_500, 15_000, 17_500, 17_500] {
        bench.round(RATE / 50);
        assert_eq!(bench.bbr.cwnd(), cwnd, "{}", bench.delivered);
    }
    bench.round(RATE);
    assert_eq!(bench.bbr.cwnd(), 142_500, "a faster path bears more");
    bench.round(RATE);
    // Twice the product and an acknowledgement of a whole round.
    bench.bbr.cwnd = 3 * BDP;
    bench.round(RATE);
    assert_eq!(bench.bbr.cwnd(), 3 * BDP, "that is enough");
}

/// All SACKs come over another path, and measure no round trip of this one.
#[test]
fn startup_grows_before_a_round_trip_is_measured() {
    let mut bench = Bench::new();
    let mut window = bench.bbr.cwnd();
    for round in 0..5 {
        bench.now += RTT;
        bench.ack_elsewhere(window);
        assert_eq!(bench.bbr.cwnd(), 2 * window, "round {round}");
        window = bench.bbr.cwnd();
    }
    bench.round(RATE);
    assert_eq!(bench.bbr.min_rtt.get(), Some(RTT));
}

#[test]
fn the_window_is_two_products_and_a_quarter_more_in_a_probe() {
    for (phase, expected) in [
        (Phase::Cruise, 2 * BDP),
        (Phase::Refill, 2 * BDP),
        // And two packets.
        (Phase::Up, 2 * BDP + BDP / 4 + 2 * UNIT),
    ] {
        let bench = Bench::cruising().until(phase);
        assert_eq!(bench.bbr.cwnd() - bench.bbr.extra.get(), expected, "{phase:?}");
    }
}

#[test]
fn four_packets_are_the_smallest_window() {
    let mut bench = Bench::new();
    bench.flight = 0;
    // A packet in a round trip.
    let cwnd = |_| {
        bench.round(UNIT * 50);
        bench.bbr.cwnd()
    };
    assert_eq!((0..20).map(cwnd).min(), Some(4 * UNIT));
    bench.now += Duration::from_secs(6);
    bench.round_of(UNIT * 50, Duration::from_millis(25), 0);
    assert_eq!((bench.bbr.phase, bench.bbr.cwnd()), (Phase::ProbeRtt, 4 * UNIT));
}
