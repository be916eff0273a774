//! When a phase ends, and how far a probe goes.

use super::*;

/// In Startup, a round after what was lost.
fn startup_with(lose: impl FnOnce(&mut Bench)) -> Bench {
    let mut bench = Bench::new();
    bench.round(RATE / 4);
    bench.round(RATE / 2);
    lose(&mut bench);
    bench
}

fn lose_often(bench: &mut Bench, times: u32) {
    (0..times).for_each(|_| bench.lose(2 * UNIT, 12 * UNIT));
}

#[test]
fn startup_ends_after_six_losses_of_a_round_that_are_too_much() {
    for (what, times, lost, phase) in [
        ("six", 6, 12 * UNIT, Phase::Drain),
        ("five", 5, 12 * UNIT, Phase::Startup),
        ("chance", 6, UNIT, Phase::Startup),
    ] {
        let mut bench = startup_with(|bench| lose_often(bench, times));
        bench.round_of(RATE / 2, RTT, lost);
        assert_eq!(bench.bbr.phase, phase, "{what}");
    }
    let mut timeouts = startup_with(|bench| (0..6).for_each(|_| bench.time_out()));
    timeouts.round_of(RATE, RTT, 12 * UNIT);
    assert_eq!(timeouts.bbr.phase, Phase::Startup, "timeouts are no fast recovery");
    let mut early = startup_with(|bench| lose_often(bench, 6));
    early.ack(0, BDP, RTT, 12 * UNIT);
    assert_eq!(early.bbr.phase, Phase::Startup, "the round of the losses is not over");
}

/// What was lost is repaired before the round is over. A queue leaves no doubt.
#[test]
fn startup_that_nothing_else_can_end_ends_with_losses_without_a_recovery() {
    for (limit, round_trip, seen, phase, tests) in [
        (RateLimit::Application, RTT * 6 / 5, 12 * UNIT, Phase::Drain, false),
        // All of it was found lost before the packet that ends the round was sent.
        (RateLimit::Application, RTT * 6 / 5, 0, Phase::Drain, false),
        (RateLimit::Application, RTT, 12 * UNIT, Phase::Startup, true),
        (RateLimit::Cwnd, RTT, 12 * UNIT, Phase::Startup, false),
        (RateLimit::Cwnd, RTT * 6 / 5, 0, Phase::Startup, false),
    ] {
        let mut bench = startup_with(|bench| lose_often(bench, 6));
        bench.in_recovery = false;
        bench.ack(0, UNIT, round_trip, 12 * UNIT);
        bench.limit = limit;
        bench.round_of(RATE / 2, round_trip, seen);
        let found = (bench.bbr.phase, bench.bbr.startup_loss.tests());
        assert_eq!(found, (phase, tests), "{limit:?} {seen}");
    }
}

/// Without a queue, the path may carry much more than Startup found.
#[test]
fn a_probe_comes_soon_where_only_losses_ended_startup() {
    for (what, round_trip, is_soon) in [("no queue", RTT, true), ("a queue", RTT * 6 / 5, false)] {
        let mut bench = startup_with(|bench| lose_often(bench, 6));
        bench.round_of(RATE / 2, round_trip, 12 * UNIT);
        assert_eq!(bench.bbr.phase, Phase::Drain, "{what}");
        bench.in_recovery = false;
        let rounds = (1..1000).find(|_| {
            bench.round(RATE / 2);
            bench.bbr.phase == Phase::Refill
        });
        assert_eq!(rounds.unwrap() < 10, is_soon, "{what}: {rounds:?}");
    }
}

#[test]
fn the_path_fills_for_a_round_before_a_probe() {
    let mut bench = Bench::cruising().until(Phase::Refill);
    bench.ack(0, UNIT, RTT, 0);
    assert_eq!(bench.bbr.phase, Phase::Refill, "what was sent before");
    bench.round(RATE);
    assert_eq!(bench.bbr.phase, Phase::Up);
}

/// Reno would grow by a packet in each round, and halve its window after as many rounds as that has packets.
#[test]
fn a_path_of_twenty_packets_is_probed_after_twenty_rounds() {
    let mut bench = Bench::new();
    bench.flight = 20 * UNIT;
    (0..8).for_each(|_| bench.round(1_000_000));
    assert_eq!(bench.bbr.phase, Phase::Cruise);
    let begin = bench.now;
    while bench.bbr.phase == Phase::Cruise {
        bench.round(1_000_000);
    }
    let rounds = bench.now.since(begin).as_millis() / RTT.as_millis();
    assert_eq!(bench.bbr.phase, Phase::Refill);
    assert!((15..=20).contains(&rounds), "{rounds}");
}

#[test]
fn what_arrives_without_much_loss_raises_the_long_term_bound() {
    for (lost, long) in [(0, BDP), (20 * UNIT, 100 * UNIT)] {
        let mut bench = Bench::cruising();
        bench.bbr.bounds.long = 100 * UNIT;
        bench.round_of(RATE, RTT, lost);
        assert_eq!(bench.bbr.bounds.long, long, "{lost} lost");
    }
}

#[test]
fn a_probe_raises_the_bound_where_that_is_what_limits_it() {
    for (fills_window, grows) in [(true, true), (false, false)] {
        let mut bench = Bench::cruising().until(Phase::Up);
        bench.flight = 100 * UNIT;
        bench.bbr.bounds.long = 110 * UNIT;
        bench.bbr.cwnd = 110 * UNIT;
        bench.fills_window = fills_window;
        // Longer than a round trip after the window was last full.
        (0..2).for_each(|_| bench.round_of(RATE, Duration::from_millis(25), 0));
        assert_eq!(bench.bbr.bounds.long > 110 * UNIT, grows, "{fills_window}");
    }
}

#[test]
fn a_probe_goes_on_below_where_the_last_one_lost_too_much() {
    for (flight, is_cautious) in [(100, false), (115, true), (130, true)] {
        let mut bench = Bench::cruising().until(Phase::Up);
        bench.bbr.probing.was_too_high = true;
        bench.bbr.bounds.long = 115 * UNIT;
        bench.flight = flight * UNIT;
        bench.fills_window = false;
        bench.round_of(RATE, Duration::from_millis(25), 4 * UNIT);
        let ended = bench.bbr.phase != Phase::Up;
        assert_eq!((bench.bbr.probing.was_cautious, ended), (is_cautious, is_cautious), "{flight}");
    }
    let mut bench = Bench::cruising().until(Phase::Up);
    bench.flight = 130 * UNIT;
    bench.bbr.bounds.long = 115 * UNIT;
    bench.round(RATE);
    assert!(!bench.bbr.probing.was_cautious, "the last one did not lose too much");
}
