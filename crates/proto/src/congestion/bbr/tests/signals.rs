//! What samples, pauses and losses say, and what they do not.

use super::*;

/// In the look for the shortest round trip.
fn looking() -> Bench {
    let mut bench = Bench::cruising();
    bench.now += Duration::from_secs(6);
    bench.round_of(RATE, Duration::from_millis(25), 0);
    assert_eq!(bench.bbr.phase, Phase::ProbeRtt);
    bench
}

#[test]
fn nothing_is_known_of_the_rate_before_the_first_sample() {
    let mut bench = Bench::new();
    assert_eq!(bench.bbr.delivery_rate(), None);
    bench.round(RATE);
    let rate = BitRate::from_bits_per_second(8 * RATE);
    assert_eq!(bench.bbr.delivery_rate(), Some(MeasuredRate { rate, is_final: false }));
    let cruising = Bench::cruising();
    assert_eq!(cruising.bbr.delivery_rate(), Some(MeasuredRate { rate, is_final: true }));
}

#[test]
fn what_was_sent_before_a_look_ended_says_little_about_the_rate() {
    let mut bench = Bench::cruising();
    bench.bbr.probe_rtt.low_until = 5000;
    for (before, is_limited) in [(0, true), (4999, true), (5000, false), (5001, false)] {
        let sample = RateSample {
            delivered: UNIT,
            interval: RTT,
            round_trip: Some(RTT),
            delivered_before: before,
            delivered_total: 9000,
            flight_then: BDP,
            lost: 0,
            limit: RateLimit::Cwnd,
        };
        assert_eq!(bench.bbr.seen(&sample).is_limited, is_limited, "{before}");
    }
}

#[test]
fn what_the_application_limits_does_not_end_a_cycle_of_the_largest_rate() {
    for (limit, is_kept) in [(RateLimit::Application, true), (RateLimit::Cwnd, false)] {
        let mut bench = Bench::cruising().until(Phase::Down);
        assert_eq!(bench.bbr.probing.acks, AckPhase::ProbeStopping);
        let before = bench.bbr.max_bw;
        bench.limit = limit;
        bench.round(RATE / 2);
        assert_eq!(bench.bbr.max_bw == before, is_kept, "{limit:?}");
    }
}

/// With several paths the first answer after a pause may come over another one, which measures no round trip of this one.
#[test]
fn a_flow_with_pauses_is_not_looked_at_wherever_its_answers_come() {
    for own_answers in [true, false] {
        let mut bench = Bench::cruising();
        let begin = bench.now;
        while bench.now.since(begin) < Duration::from_secs(12) {
            bench.now += Duration::from_millis(300);
            bench.flight = UNIT;
            bench.send();
            if !own_answers {
                bench.now += RTT;
                bench.ack_elsewhere(UNIT);
            }
            bench.round_of(RATE, Duration::from_millis(25), 0);
            assert_ne!(bench.bbr.phase, Phase::ProbeRtt, "{own_answers}");
        }
    }
}

#[test]
fn after_a_pause_the_next_look_comes_in_five_seconds() {
    let mut bench = Bench::cruising();
    bench.now += Duration::from_secs(7);
    bench.flight = UNIT;
    bench.send();
    let begin = bench.now;
    while bench.bbr.phase != Phase::ProbeRtt {
        bench.round_of(RATE, Duration::from_millis(25), 0);
        assert!(bench.now.since(begin) < Duration::from_millis(5100));
    }
    assert!(bench.now.since(begin) > Duration::from_secs(5));
}

#[test]
fn a_pause_ends_a_look_that_has_lasted_long_enough() {
    for (ms, phase) in [(200, Phase::ProbeRtt), (201, Phase::Cruise)] {
        let mut bench = looking();
        // The 200 ms begin when little enough is in flight.
        bench.flight = BDP / 2;
        bench.round(RATE / 2);
        bench.now += Duration::from_millis(ms);
        bench.flight = UNIT;
        bench.send();
        assert_eq!(bench.bbr.phase, phase, "{ms}");
    }
}

#[test]
fn what_a_timeout_sends_follows_no_pause() {
    let mut bench = Bench::cruising().until(Phase::Up);
    bench.time_out();
    bench.flight = UNIT;
    bench.send();
    assert!((bench.mbit() - 61.875).abs() < 0.01, "{}", bench.mbit());
}

#[test]
fn losses_of_a_probe_are_none_of_the_short_term() {
    let starting = || {
        let mut bench = Bench::new();
        bench.round(RATE / 4);
        bench
    };
    let cases = [(starting(), false), (Bench::cruising().until(Phase::Refill), false)];
    for (mut bench, is_bounded) in cases.into_iter().chain([(Bench::cruising(), true)]) {
        let phase = bench.bbr.phase;
        bench.lose(20 * UNIT, 20 * UNIT);
        bench.round_of(RATE, RTT, 20 * UNIT);
        assert_eq!(bench.bbr.bounds.short != bounds::NONE, is_bounded, "{phase:?}");
    }
}

/// With short buffers, the rounds after a probe wait for its retransmissions and deliver little.
#[test]
fn what_a_probe_lost_does_not_slow_down_what_follows() {
    let after_startup = |is_lossy: bool| {
        let mut bench = Bench::new();
        bench.flight = 3 * BDP;
        for _ in 0..3 {
            bench.round(RATE);
        }
        if is_lossy {
            bench.lose(20 * UNIT, 20 * UNIT);
        }
        bench.until(Phase::Drain)
    };
    let after_probe = |_| {
        let mut bench = Bench::cruising().until(Phase::Up);
        bench.lose(20 * UNIT, 20 * UNIT);
        assert_eq!(bench.bbr.phase, Phase::Down);
        bench
    };
    for (what, probed) in [("Startup", after_startup as fn(bool) -> Bench), ("probe", after_probe)]
    {
        // Lost: in the probe, found now, and sent since then.
        for (lost, found, since, is_limited, is_bounded) in [
            (true, 20, 0, false, true),
            (true, 0, 0, true, false),
            (true, 20, 0, true, false),
            (true, 20, 1, true, false),
            (true, 20, 20, true, true),
            (false, 0, 20, true, true),
        ] {
            let mut bench = probed(lost);
            let (end, all) = (bench.delivered, (20 + found + since) * UNIT);
            bench.flight = 3 * BDP;
            for (before, bytes) in [(end - 1, found), (end, since)] {
                if bytes > 0 {
                    bench.lose_sent_after(before, bytes * UNIT, all);
                }
            }
            if is_limited {
                bench.limit = RateLimit::Application;
            }
            bench.round_of(RATE / 4, RTT, all);
            let is_rate_bounded = bench.bbr.bounds.rate != bounds::NONE;
            let what = (what, found, since, is_limited);
            assert_eq!(is_rate_bounded, is_bounded, "{what:?}");
        }
    }
}

/// What was in flight when a probe ended is answered at once, or never in these rounds.
#[test]
fn what_a_probe_lost_is_no_random_loss() {
    for (flight_bytes, learns) in [(0, true), (100 * BDP, false)] {
        let mut bench = Bench::cruising();
        bench.bbr.latest.end_probe(bench.delivered, flight_bytes);
        for _ in 0..6 {
            bench.round_of(RATE, RTT, 8 * UNIT);
        }
        let tolerated = bench.bbr.path_loss.tolerated(bench.flight);
        assert_eq!(tolerated > 0, learns, "{flight_bytes}: {tolerated}");
    }
}

#[test]
fn a_startup_that_goes_on_counts_its_losses() {
    let mut bench = Bench::new();
    bench.flight = 3 * BDP;
    bench = bench.until(Phase::Drain);
    assert_eq!(bench.bbr.latest.probed, bench.delivered);
    bench.bbr.resume(Some(Phase::Startup));
    assert_eq!((bench.bbr.phase, bench.bbr.latest.probed), (Phase::Startup, 0));
}

#[test]
fn what_a_second_loss_of_a_recovery_finds_is_not_what_a_spurious_one_restores() {
    let mut bench = Bench::cruising().until(Phase::Up);
    bench.lose(20 * UNIT, 20 * UNIT);
    assert_ne!(bench.bbr.bounds.long, bounds::NONE);
    bench.lose(UNIT, 21 * UNIT);
    bench.find_spurious();
    assert_eq!((bench.bbr.phase, bench.bbr.bounds.long), (Phase::Refill, bounds::NONE));
}

#[test]
fn a_spurious_loss_does_not_end_a_look() {
    let mut bench = Bench::cruising().until(Phase::Up);
    bench.lose(20 * UNIT, 20 * UNIT);
    bench.now += Duration::from_secs(6);
    bench.round_of(RATE, Duration::from_millis(25), 0);
    assert_eq!(bench.bbr.phase, Phase::ProbeRtt);
    bench.find_spurious();
    assert_eq!(bench.bbr.phase, Phase::ProbeRtt);
}

#[test]
fn a_look_is_no_occasion_for_another_probe() {
    let mut bench = looking();
    bench.bbr.probing.was_cautious = true;
    bench.round(RATE);
    assert_eq!(bench.bbr.phase, Phase::ProbeRtt);
}

#[test]
fn a_mark_ends_what_makes_the_rate_rise_and_bounds_it_otherwise() {
    let marks = EcnMarks { packets: 1, in_recovery: false };
    for (phase, after) in [
        (Phase::Startup, Phase::Drain),
        (Phase::Refill, Phase::Down),
        (Phase::Up, Phase::Down),
        (Phase::Cruise, Phase::Cruise),
    ] {
        let mut bench = match phase {
            Phase::Startup => Bench::new(),
            _ => Bench::cruising().until(phase),
        };
        let (before, cx) = (bench.bbr.clone(), bench.cx());
        for none in [EcnMarks { packets: 0, ..marks }, EcnMarks { in_recovery: true, ..marks }] {
            bench.bbr.on_ecn(&cx, &none);
            assert_eq!(bench.bbr, before, "{phase:?} {none:?}");
        }
        bench.bbr.on_ecn(&cx, &marks);
        let is_bounded = bench.bbr.bounds.rate != bounds::NONE;
        assert_eq!(is_bounded, phase == Phase::Cruise, "{phase:?}");
        // The next sample leads out of Startup.
        if phase == Phase::Startup {
            bench.round(RATE / 4);
        }
        assert_eq!(bench.bbr.phase, after, "{phase:?}");
    }
}
