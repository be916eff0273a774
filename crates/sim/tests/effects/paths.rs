//! Which path carries new data, and which retransmissions.

use polypath_sim::RunResult;

use crate::scenarios::UNEQUAL;
use crate::{Covered, effect, run};

const fn order(
    value: &'static str,
    against: &'static str,
    effect: (&'static str, fn()),
) -> Covered {
    Covered { key: "path_order", value, against, scenario: UNEQUAL, set: SMALL_WINDOW, effect }
}

pub const COVERAGE: &[Covered] = &[
    order("primary", "fixed", effect!(primary_uses_one_path)),
    order("fixed", "rotating", effect!(fixed_prefers_the_first_path)),
    order("smallest-last-transmission", "fixed", effect!(turns_share_a_small_window_evenly)),
    order("rotating", "fixed", effect!(turns_share_a_small_window_evenly)),
    order("random", "rotating", effect!(turns_share_a_small_window_evenly)),
    order("largest-space", "rotating", effect!(space_prefers_the_larger_window)),
    order("largest-ssthresh", "rotating", effect!(thresholds_avoid_the_path_that_loses)),
    order(
        "largest-space-and-ssthresh",
        "largest-ssthresh",
        effect!(thresholds_avoid_the_path_that_loses),
    ),
    order("lowest-srtt", "rotating", effect!(a_small_window_goes_further_on_the_faster_path)),
    fill("packet-by-packet", "fill-window"),
    fill("fill-window", "packet-by-packet"),
    fast("same", "ssthresh", effect!(rtx_same_is_slowest)),
    fast("asap", "ssthresh", effect!(rtx_asap_lies_between)),
    fast("cwnd", "same", effect!(policies_that_look_at_losses_are_fastest)),
    fast("ssthresh", "same", effect!(policies_that_look_at_losses_are_fastest)),
    fast("lossrate", "same", effect!(policies_that_look_at_losses_are_fastest)),
    fast("alternate", "same", effect!(an_alternate_escapes_a_bad_path)),
    timer("same", "asap", effect!(rtx_same_is_slowest)),
    timer("asap", "ssthresh", effect!(rtx_asap_lies_between)),
    timer("cwnd", "asap", effect!(policies_that_look_at_losses_are_fastest)),
    timer("ssthresh", "asap", effect!(policies_that_look_at_losses_are_fastest)),
    timer("lossrate", "asap", effect!(policies_that_look_at_losses_are_fastest)),
    timer("alternate", "asap", effect!(an_alternate_escapes_a_bad_path)),
    no_window("wait", "next"),
    no_window("next", "wait"),
    loss_rate("measured", "oracle"),
    loss_rate("oracle", "measured"),
    repeated("as-chosen", "avoid-doubtful"),
    repeated("avoid-doubtful", "as-chosen"),
];

/// The peer's window holds less than the paths could carry, so the order decides. Ordered messages would wait for the slow
/// path, and what becomes free at once then is more than Max.Burst lets any one path have.
const SMALL_WINDOW: &[&str] = &[
    "sctp.receive_buffer=32 KiB",
    "traffic.bulk.delivery=unordered",
    "network.disjoint.paths.fast.bottleneck.loss.forward=0 %",
    "network.disjoint.paths.slow.bottleneck.loss.forward=0 %",
];

fn with_order(value: &str, set: &[&str]) -> RunResult {
    let edit = format!("sctp.policies.path_order={value}");
    run(UNEQUAL, &[set, &[&edit]].concat())
}

/// Part of the data packets that the first path carried.
fn first_share(result: &RunResult) -> f64 {
    let all: u64 = result.paths.iter().map(|path| path.data_packets_sent).sum();
    result.paths[0].data_packets_sent as f64 / all as f64
}

#[test]
fn primary_uses_one_path() {
    let primary = with_order("primary", SMALL_WINDOW);
    assert_eq!(first_share(&primary), 1.0);
    // The papers' complaint: with a small window a bad path costs more than it brings.
    let turns = with_order("rotating", SMALL_WINDOW);
    assert!(primary.goodput_bit_s > 1.1 * turns.goodput_bit_s);
}

#[test]
fn fixed_prefers_the_first_path() {
    let fixed = with_order("fixed", SMALL_WINDOW);
    let turns = with_order("rotating", SMALL_WINDOW);
    assert!(first_share(&fixed) > 1.1 * first_share(&turns));
}

#[test]
fn turns_share_a_small_window_evenly() {
    for value in ["smallest-last-transmission", "rotating", "random"] {
        let share = first_share(&with_order(value, SMALL_WINDOW));
        assert!((0.45..0.55).contains(&share), "{value}: {share}");
    }
    assert!(first_share(&with_order("fixed", SMALL_WINDOW)) > 0.6);
}

#[test]
fn space_prefers_the_larger_window() {
    let space = with_order("largest-space", SMALL_WINDOW);
    let turns = with_order("rotating", SMALL_WINDOW);
    assert!(first_share(&space) > 1.1 * first_share(&turns));
}

/// Two paths that differ in one thing only: the first loses.
const FIRST_LOSES: &[&str] = &[
    "sctp.receive_buffer=64 KiB",
    "network.disjoint.paths.fast.bottleneck.loss.forward=5 %",
    "network.disjoint.paths.slow.bottleneck.loss.forward=0 %",
    "network.disjoint.paths.slow.bottleneck.rate=10 Mbit/s",
    "network.disjoint.paths.slow.bottleneck.delay=10 ms",
];

#[test]
fn thresholds_avoid_the_path_that_loses() {
    // Losses push its threshold down.
    for seed in ["run.seed=1", "run.seed=2", "run.seed=3"] {
        let share = |value| first_share(&with_order(value, &[FIRST_LOSES, &[seed]].concat()));
        let turns = share("rotating");
        for value in ["largest-ssthresh", "largest-space-and-ssthresh"] {
            assert!(share(value) < 0.9 * turns, "{value}: {} against {turns}", share(value));
        }
    }
}

#[test]
fn a_small_window_goes_further_on_the_faster_path() {
    let fastest = with_order("lowest-srtt", SMALL_WINDOW).goodput_bit_s;
    let turns = with_order("rotating", SMALL_WINDOW).goodput_bit_s;
    assert!(fastest > 1.1 * turns, "{fastest} against {turns}");
}

const fn fill(value: &'static str, against: &'static str) -> Covered {
    let effect = effect!(a_path_that_is_filled_takes_all_that_its_window_holds);
    Covered { key: "path_fill", value, against, scenario: UNEQUAL, set: SMALL_WINDOW, effect }
}

/// A file that one window holds, when both paths have been confirmed: what is sent at once goes to one of them or to both.
#[test]
fn a_path_that_is_filled_takes_all_that_its_window_holds() {
    let largest_share = |value: &str, file: &str| {
        let edits = [
            format!("sctp.policies.path_fill={value}"),
            format!("traffic.bulk.source={{ file = {file:?} }}"),
        ];
        let set = [
            "traffic.bulk.start=2 s",
            "sctp.policies.window.initial_cwnd={ mtu = 30 }",
            "sctp.policies.burst=off",
            "network.disjoint.paths.fast.bottleneck.loss={}",
            "network.disjoint.paths.slow.bottleneck.loss={}",
        ];
        let first = first_share(&run(UNEQUAL, &[&set[..], &[&edits[0], &edits[1]]].concat()));
        first.max(1.0 - first)
    };
    for file in ["14520 B", "43560 B"] {
        assert_eq!(largest_share("fill-window", file), 1.0, "{file}");
        assert_eq!(largest_share("packet-by-packet", file), 0.5, "{file}");
    }
}

/// `iyengar` section V-A in small: two alike paths of which the second loses a tenth of all packets, a receive buffer of
/// 64 KiB, and a file.
const LOSSY: &[&str] = &[
    "traffic.bulk.source.file=500 kB",
    "run.duration=300 s",
    "run.measure_from=0 s",
    "network.disjoint.paths.fast.bottleneck.delay=45 ms",
    "network.disjoint.paths.slow.bottleneck.delay=45 ms",
    "network.disjoint.paths.slow.bottleneck.rate=10 Mbit/s",
    "network.disjoint.paths.slow.bottleneck.loss.forward=10 %",
    "network.disjoint.paths.slow.bottleneck.loss.backward=10 %",
    "sctp.receive_buffer=64 KiB",
    "sctp.policies.retransmission.no_window=wait",
];

const fn fast(value: &'static str, against: &'static str, effect: (&'static str, fn())) -> Covered {
    let key = "retransmission.fast";
    Covered { key, value, against, scenario: UNEQUAL, set: LOSSY, effect }
}

const fn timer(
    value: &'static str,
    against: &'static str,
    effect: (&'static str, fn()),
) -> Covered {
    let key = "retransmission.timer";
    Covered { key, value, against, scenario: UNEQUAL, set: CUT, effect }
}

/// Sum of the times of eight transfers with this policy for both kinds of retransmission.
fn lossy_transfers_s(policy: &str) -> f64 {
    let fast = format!("sctp.policies.retransmission.fast={policy}");
    let timer = format!("sctp.policies.retransmission.timer={policy}");
    let transfer_s = |seed: u32| {
        let seed = format!("run.seed={seed}");
        let result = run(UNEQUAL, &[LOSSY, &[&seed, &fast, &timer]].concat());
        result.completed_s.expect("a transfer that ends")
    };
    (1..=8).map(transfer_s).sum()
}

#[test]
fn rtx_same_is_slowest() {
    let same = lossy_transfers_s("same");
    for other in ["asap", "cwnd", "ssthresh", "lossrate"] {
        let time = lossy_transfers_s(other);
        assert!(same > 1.1 * time, "{same} s against {time} s of {other}");
    }
}

#[test]
fn rtx_asap_lies_between() {
    let (same, asap) = (lossy_transfers_s("same"), lossy_transfers_s("asap"));
    let rate = lossy_transfers_s("lossrate");
    assert!(same > 1.1 * asap && asap > 1.1 * rate, "{same} s, {asap} s, {rate} s");
}

#[test]
fn policies_that_look_at_losses_are_fastest() {
    let asap = lossy_transfers_s("asap");
    for policy in ["cwnd", "ssthresh", "lossrate"] {
        let time = lossy_transfers_s(policy);
        assert!(asap > 1.1 * time, "{policy}: {time} s against {asap} s");
    }
}

#[test]
fn an_alternate_escapes_a_bad_path() {
    let (same, alternate) = (lossy_transfers_s("same"), lossy_transfers_s("alternate"));
    assert!(same > 1.1 * alternate, "{same} s against {alternate} s");
}

/// The fast path breaks while the end of a file is on its way, and the slow one, with its small window, is to repeat all
/// of it.
const BROKEN: &[&str] = &[
    "traffic.bulk.source.file=700 kB",
    "run.duration=300 s",
    "run.measure_from=0 s",
    "network.disjoint.paths.fast.bottleneck.loss={}",
    "network.disjoint.paths.slow.bottleneck.loss={}",
    "network.disjoint.paths.fast.bottleneck.delay=20 ms",
    "network.disjoint.paths.slow.bottleneck.rate=0.2 Mbit/s",
    "sctp.receive_buffer=256 KiB",
    "sctp.policies.retransmission.timer=alternate",
    "faults=[{outage={path=\"fast\",from=\"600 ms\",until=\"1.5 s\"}}]",
];

const fn no_window(value: &'static str, against: &'static str) -> Covered {
    let effect = effect!(waiting_for_a_full_path_takes_longer);
    let key = "retransmission.no_window";
    Covered { key, value, against, scenario: UNEQUAL, set: BROKEN, effect }
}

#[test]
fn waiting_for_a_full_path_takes_longer() {
    let time_s = |value: &str, broken: u32| {
        let edit = format!("sctp.policies.retransmission.no_window={value}");
        let from = format!("faults.0.outage.from={broken} ms");
        let result = run(UNEQUAL, &[BROKEN, &[&edit, &from]].concat());
        result.completed_s.expect("a transfer that ends")
    };
    for broken in [500, 550, 600, 650, 700] {
        let (wait, next) = (time_s("wait", broken), time_s("next", broken));
        assert!(wait > 1.1 * next, "{broken} ms: {wait} s against {next} s");
    }
}

/// The slow path is cut for good while the end of a file is on its way.
const CUT: &[&str] = &[
    "traffic.bulk.source.file=700 kB",
    "run.duration=300 s",
    "run.measure_from=0 s",
    "sctp.policies.retransmission.timer=asap",
    "faults=[{outage={path=\"slow\",from=\"800 ms\"}}]",
];

/// Lots of this seed fall on the dead path again and again.
const CUT_ASAP: &[&str] = &[CUT[0], CUT[1], CUT[2], CUT[3], CUT[4], "run.seed=5"];

const fn repeated(value: &'static str, against: &'static str) -> Covered {
    let effect = effect!(what_timed_out_twice_leaves_a_path_that_is_cut);
    let key = "retransmission.repeated";
    Covered { key, value, against, scenario: UNEQUAL, set: CUT_ASAP, effect }
}

#[test]
fn what_timed_out_twice_leaves_a_path_that_is_cut() {
    let times_s = |value: &str| {
        let edit = format!("sctp.policies.retransmission.repeated={value}");
        let time_s = |seed: u32| {
            let seed = format!("run.seed={seed}");
            let result = run(UNEQUAL, &[CUT, &[&edit, &seed]].concat());
            result.completed_s.expect("a transfer that ends")
        };
        (1..=5).map(time_s).sum::<f64>()
    };
    let (chosen, avoided) = (times_s("as-chosen"), times_s("avoid-doubtful"));
    assert!(chosen > 1.1 * avoided, "{chosen} s against {avoided} s");
}

const fn loss_rate(value: &'static str, against: &'static str) -> Covered {
    let effect = effect!(an_oracle_knows_the_loss_rates_from_the_start);
    let key = "retransmission.loss_rate";
    Covered { key, value, against, scenario: UNEQUAL, set: ORACLE, effect }
}

/// Files so short that a sender hardly gets to know its paths.
const ORACLE: &[&str] = &[
    "traffic.bulk.source.file=200 kB",
    "run.duration=300 s",
    "run.measure_from=0 s",
    "network.disjoint.paths.fast.bottleneck.delay=45 ms",
    "network.disjoint.paths.slow.bottleneck.delay=45 ms",
    "network.disjoint.paths.slow.bottleneck.rate=10 Mbit/s",
    "network.disjoint.paths.slow.bottleneck.loss.forward=10 %",
    "network.disjoint.paths.slow.bottleneck.loss.backward=10 %",
    "sctp.receive_buffer=64 KiB",
    "sctp.policies.retransmission.no_window=wait",
    "sctp.policies.retransmission.fast=lossrate",
    "sctp.policies.retransmission.timer=lossrate",
];

#[test]
fn an_oracle_knows_the_loss_rates_from_the_start() {
    let times_s = |value: &str| {
        let edit = format!("sctp.policies.retransmission.loss_rate={value}");
        let time_s = |seed: u32| {
            let seed = format!("run.seed={seed}");
            let result = run(UNEQUAL, &[ORACLE, &[&seed, &edit]].concat());
            result.completed_s.expect("a transfer that ends")
        };
        (1..=20).map(time_s).sum::<f64>()
    };
    let (measured, oracle) = (times_s("measured"), times_s("oracle"));
    assert!(measured > 1.1 * oracle, "{measured} s against {oracle} s");
}
