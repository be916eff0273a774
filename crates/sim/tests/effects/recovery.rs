//! What is sent while a path recovers from a queue that slow start has overfilled.

use polypath_sim::RunResult;

use crate::scenarios::loss_based;
use crate::{Covered, effect, run};

/// Two long paths whose queues hold a fraction of what is on its way.
const OVERFILLED: &str = loss_based!(
    r#"
title = "Two paths of 150 ms with short queues"

[run]
duration = "15 s"
measure_from = "5 s"

[[network.disjoint.paths]]
name = "one"
bottleneck = { rate = "8 Mbit/s", delay = "150 ms" }

[[network.disjoint.paths]]
name = "other"
bottleneck = { rate = "8 Mbit/s", delay = "150 ms" }

"#,
    "32 MiB"
);

/// Windows go out at a time and are acknowledged by one SACK, which overtakes those of the longer path.
const BURSTS: &str = loss_based!(
    r#"
title = "A long path beside one of half its round trip"

[run]
duration = "20 s"
measure_from = "10 s"

[[network.disjoint.paths]]
name = "long"
bottleneck = { rate = "25 Mbit/s", delay = "200 ms" }

[[network.disjoint.paths]]
name = "other"
bottleneck = { rate = "100 Mbit/s", delay = "100 ms" }

"#,
    "32 MiB"
);

const fn reports(value: &'static str, against: &'static str) -> Covered {
    let effect = effect!(one_sack_per_round_trip_tells_what_is_lost);
    Covered { key: "fast_retransmit.reports", value, against, scenario: BURSTS, set: &[], effect }
}

/// What is lost, three SACKs tell, and of many gaps they name the lowest.
const THREE_REPORTS: &[&str] =
    &["sctp.policies.fast_retransmit.reports=per-sack", "sctp.policies.nr_sack=off"];

const fn recovery(key: &'static str, value: &'static str, against: &'static str) -> Covered {
    let effect = effect!(one_overfilled_queue_halves_a_window_once);
    Covered { key, value, against, scenario: OVERFILLED, set: THREE_REPORTS, effect }
}

/// A retransmission that takes the long path fills the buffer meanwhile.
const SMALLER_BUFFERS: &[&str] = &[
    "sctp.send_buffer=768 KiB",
    "sctp.receive_buffer=768 KiB",
    "network.disjoint.paths.long.bottleneck.rate=50 Mbit/s",
    "sctp.policies.blocking_estimation=off",
    "sctp.policies.delayed_ack.volume=any",
    // Or a program that hears of room early keeps the other path busy meanwhile.
    "sctp.policies.send_room_notice=batch",
    // Or what waits would move in time.
    "sctp.policies.reschedule.conditions=paper",
];

pub const COVERAGE: &[Covered] = &[
    Covered {
        key: "retransmission.no_window",
        value: "sooner",
        against: "next",
        scenario: BURSTS,
        set: SMALLER_BUFFERS,
        effect: effect!(a_retransmission_waits_for_the_path_that_brings_it_sooner),
    },
    reports("overdue", "per-sack"),
    reports("per-sack", "overdue"),
    recovery("window.reduction", "at-once", "proportional"),
    recovery("window.reduction", "proportional", "at-once"),
    recovery("fast_retransmit.beyond_window", "once-per-recovery", "every-loss"),
    recovery("fast_retransmit.beyond_window", "every-loss", "once-per-recovery"),
];

/// A recovery that sends two packets for each that arrives overfills the queue a second time.
#[test]
fn one_overfilled_queue_halves_a_window_once() {
    let with = |reduction: &str, beyond: &str| {
        let reduction = format!("sctp.policies.window.reduction={reduction}");
        let beyond = format!("sctp.policies.fast_retransmit.beyond_window={beyond}");
        run(OVERFILLED, &[THREE_REPORTS, &[&reduction, &beyond]].concat())
    };
    let most = |result: &RunResult| result.paths.iter().map(|path| path.fast_recoveries).max();
    let gentle = with("proportional", "once-per-recovery");
    assert_eq!(most(&gentle), Some(1));
    for (reduction, beyond) in [("at-once", "once-per-recovery"), ("proportional", "every-loss")] {
        let rough = with(reduction, beyond);
        let what = format!("{reduction}, {beyond}");
        assert!(most(&rough) > Some(1), "{what}");
        assert!(gentle.goodput_bit_s > 1.1 * rough.goodput_bit_s, "{what}");
    }
}

/// Few packets per round trip of 400 ms.
const FEW_PACKETS: &[&str] = &[
    "network.disjoint.paths.long.bottleneck.loss.forward=8 %",
    "network.disjoint.paths.long.bottleneck.rate=1 Mbit/s",
];

/// With one report per round trip the timer expires before there are three.
#[test]
fn one_sack_per_round_trip_tells_what_is_lost() {
    let with = |reports: &str, seed: u32| {
        let seed = format!("run.seed={seed}");
        let reports = format!("sctp.policies.fast_retransmit.reports={reports}");
        run(BURSTS, &[FEW_PACKETS, &[&seed, &reports]].concat())
    };
    let sum = |reports: &str, of: fn(&RunResult) -> u64| -> u64 {
        (1..=10).map(|seed| of(&with(reports, seed))).sum()
    };
    let timeouts =
        |result: &RunResult| -> u64 { result.paths.iter().map(|path| path.timeouts).sum() };
    let (by_age, by_sacks) = (sum("overdue", timeouts), sum("per-sack", timeouts));
    assert!(2 * by_age < by_sacks, "{by_age} and {by_sacks} timeouts");
}

#[test]
fn a_retransmission_waits_for_the_path_that_brings_it_sooner() {
    let goodput = |value: &str| {
        let edit = format!("sctp.policies.retransmission.no_window={value}");
        run(BURSTS, &[SMALLER_BUFFERS, &[&edit]].concat()).goodput_bit_s
    };
    let (sooner, next) = (goodput("sooner"), goodput("next"));
    assert!(sooner > 1.2 * next, "{sooner} against {next} bit/s");
}
