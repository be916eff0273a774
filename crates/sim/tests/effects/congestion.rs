//! Congestion control, its windows and bursts.

use polypath_sim::RunResult;

use crate::scenarios::UNEQUAL;
use crate::{Covered, effect, run};

const fn unequal(
    key: &'static str,
    value: &'static str,
    against: &'static str,
    set: &'static [&'static str],
    effect: (&'static str, fn()),
) -> Covered {
    Covered { key, value, against, scenario: UNEQUAL, set, effect }
}

const fn paused(
    key: &'static str,
    value: &'static str,
    against: &'static str,
    effect: (&'static str, fn()),
) -> Covered {
    Covered { key, value, against, scenario: PAUSE, set: AVOIDANCE, effect }
}

pub const COVERAGE: &[Covered] = &[
    unequal("congestion", "rfc9260", "lia", &[], effect!(uncoupled_paths_take_a_share_each)),
    unequal("congestion", "cmt", "lia", &[], effect!(uncoupled_paths_take_a_share_each)),
    unequal("congestion", "cmt-rp-v1", "cmt", &[], effect!(rp_v1_takes_one_share)),
    unequal("congestion", "cmt-rp-v2", "cmt", &[], effect!(rp_v2_takes_one_share)),
    unequal("congestion", "lia", "cmt", &[], effect!(lia_takes_one_share)),
    unequal("congestion", "olia", "cmt", &[], effect!(olia_takes_one_share)),
    unequal("congestion", "balia", "cmt", &[], effect!(balia_takes_one_share)),
    Covered {
        key: "congestion",
        value: "cubic",
        against: "cmt",
        scenario: LONG,
        set: &[],
        effect: effect!(cubic_comes_back_sooner_on_a_long_path),
    },
    Covered {
        key: "congestion",
        value: "bbr",
        against: "cmt",
        scenario: LONG,
        set: RANDOM_LOSS,
        effect: effect!(bbr_bears_random_loss),
    },
    unequal("path_groups", "all", "separate", LIA, effect!(groups_apart_grow_uncoupled)),
    unequal("path_groups", "separate", "all", LIA, effect!(groups_apart_grow_uncoupled)),
    unequal("path_groups", "{ listed = [3, 4] }", "all", LIA, effect!(groups_apart_grow_uncoupled)),
    paused("burst", "{ max-burst = 4 }", "off", effect!(max_burst_spares_queues)),
    paused("burst", "off", "{ max-burst = 4 }", effect!(max_burst_spares_queues)),
    paused(
        "burst",
        "{ max-burst-after-loss = 4 }",
        "{ max-burst = 4 }",
        effect!(the_limit_may_begin_with_the_first_loss),
    ),
    paused(
        "burst",
        "{ use-it-or-lose-it = 4 }",
        "{ max-burst = 4 }",
        effect!(use_it_or_lose_it_starts_small_after_a_pause),
    ),
    paused(
        "burst",
        "{ congestion-window-limiting = 4 }",
        "{ use-it-or-lose-it = 4 }",
        effect!(use_it_or_lose_it_starts_small_after_a_pause),
    ),
    paused("window.idle", "rfc9260", "keep", effect!(idle_windows_shrink)),
    paused("window.idle", "keep", "reset", effect!(idle_windows_shrink)),
    paused("window.idle", "reset", "rfc9260", effect!(idle_windows_shrink)),
    unequal(
        "window.initial_cwnd",
        "rfc9260",
        "{ mtu = 10 }",
        &[],
        effect!(small_files_gain_by_large_initial_windows),
    ),
    unequal(
        "window.initial_cwnd",
        "{ bytes = 60000 }",
        "rfc9260",
        &[],
        effect!(small_files_gain_by_large_initial_windows),
    ),
    unequal(
        "window.initial_cwnd",
        "{ mtu = 10 }",
        "rfc9260",
        &[],
        effect!(small_files_gain_by_large_initial_windows),
    ),
    unequal(
        "window.initial_ssthresh",
        "peer-window",
        "unlimited",
        &["sctp.policies.congestion=cmt-rp-v1"],
        effect!(rp_v1_trusts_the_peer_window_as_a_threshold),
    ),
    unequal(
        "window.initial_ssthresh",
        "{ bytes = 10000 }",
        "unlimited",
        &[],
        effect!(a_threshold_stops_slow_start_before_the_queue_is_full),
    ),
    unequal(
        "window.initial_ssthresh",
        "unlimited",
        "{ bytes = 10000 }",
        &[],
        effect!(slow_start_without_limit_fills_a_long_path),
    ),
    unequal("window.ssthresh_floor_mtu", "1", "4", HEAVY_LOSS, effect!(a_floor_bears_losses)),
    unequal("window.unit", "pmdcs", "path-mtu", &[], effect!(a_window_of_one_is_one_packet)),
    unequal("window.unit", "path-mtu", "pmdcs", &[], effect!(a_window_of_one_is_one_packet)),
    unequal(
        "window.bytes_counted",
        "with-header",
        "payload",
        &[],
        effect!(headers_count_in_small_messages),
    ),
    unequal(
        "window.bytes_counted",
        "payload",
        "with-header",
        &[],
        effect!(headers_count_in_small_messages),
    ),
];

const LIA: &[&str] = &["sctp.policies.congestion=lia"];
const HEAVY_LOSS: &[&str] = &[
    "network.disjoint.paths.fast.bottleneck.loss.forward=5 %",
    "network.disjoint.paths.slow.bottleneck.loss.forward=5 %",
];

/// One path; a file, four seconds of silence, and another file.
const PAUSE: &str = r#"
title = "Two files with a pause between them"

[run]
duration = "30 s"

[[network.disjoint.paths]]
name = "path"

[network.disjoint.paths.bottleneck]
rate = "10 Mbit/s"
delay = "20 ms"
queue = { drop-tail = { packets = 40 } }

[[traffic]]
name = "first"
source = { file = "1200 kB" }
message_size = "1452 B"

[[traffic]]
name = "second"
source = { file = "150 kB" }
message_size = "1452 B"
start = "6 s"

[sctp]
preset = "cmt"
"#;

/// The window grows in congestion avoidance, and the pause leaves it as it is unless a test says otherwise.
const AVOIDANCE: &[&str] =
    &["sctp.policies.window.initial_ssthresh={ bytes = 20000 }", "sctp.policies.window.idle=keep"];

/// Two paths and a single one of another association over one bottleneck. Jitter keeps flows from marching in step.
const SHARED: &str = r#"
title = "Two paths against one"

[run]
duration = "25 s"
measure_from = "5 s"

[[network.shared.routes]]
name = "core"

[network.shared.routes.bottleneck]
rate = "10 Mbit/s"
delay = "19 ms"
queue = { drop-tail = { packets = 50 } }
jitter = { extra = { uniform = { from = "0 ms", to = "2 ms" } } }

[[network.shared.pairs]]
name = "two"

[[network.shared.pairs.paths]]
name = "first"
route = "core"
access = { rate = "1 Gbit/s" }

[[network.shared.pairs.paths]]
name = "second"
route = "core"
access = { rate = "1 Gbit/s" }

[[network.shared.pairs]]
name = "one"

[[network.shared.pairs.paths]]
name = "only"
route = "core"
access = { rate = "1 Gbit/s" }

[[traffic]]
name = "two"
pair = "two"
source = "saturated"
message_size = "1452 B"
delivery = "unordered"

[[traffic]]
name = "one"
pair = "one"
source = "saturated"
message_size = "1452 B"
delivery = "unordered"

[sctp]
preset = "cmt"
"#;

/// One saturated path.
const ONE: &str = r#"
title = "One path"

[run]
duration = "5 s"

[[network.disjoint.paths]]
name = "path"

[network.disjoint.paths.bottleneck]
rate = "10 Mbit/s"
delay = "20 ms"
queue = { drop-tail = { packets = 50 } }

[[traffic]]
name = "bulk"
source = "saturated"
message_size = "1452 B"

[sctp]
preset = "cmt"
"#;

/// One path of 150 ms that loses few packets, with buffers beyond its bandwidth-delay product.
const LONG: &str = r#"
title = "One long path"

[run]
duration = "15 s"
measure_from = "3 s"

[[network.disjoint.paths]]
name = "path"

[network.disjoint.paths.bottleneck]
rate = "20 Mbit/s"
delay = "75 ms"
queue = { drop-tail = { packets = 200 } }
loss = { forward = "0.02 %" }

[[traffic]]
name = "bulk"
source = "saturated"
message_size = "1452 B"

[sctp]
preset = "cmt"
send_buffer = "8 MiB"
receive_buffer = "8 MiB"
"#;

/// A short path instead that loses one packet in a hundred.
const RANDOM_LOSS: &[&str] = &[
    "network.disjoint.paths.path.bottleneck.delay=10 ms",
    "network.disjoint.paths.path.bottleneck.loss.forward=1 %",
    "run.duration=8 s",
    "run.measure_from=2 s",
];

/// Mean share of the goodput that two paths take from a single one on their bottleneck, over two seeds or as many as
/// `POLYPATH_FAIRNESS_SEEDS` says; prints it with the interval of 95 % that a normal distribution would have.
fn share(preset: &str) -> f64 {
    share_with(preset, &[])
}

/// The same with further edits.
fn share_with(preset: &str, edits: &[&str]) -> f64 {
    let seeds = std::env::var("POLYPATH_FAIRNESS_SEEDS").ok().and_then(|n| n.parse().ok());
    let seeds: u64 = seeds.unwrap_or(2).max(2);
    let with = |seed: u64| {
        let own = [format!("sctp.preset={preset}"), format!("run.seed={seed}")];
        let result = run(SHARED, &[edits, &own.each_ref().map(String::as_str)].concat());
        result.flows[0].goodput_bit_s / result.goodput_bit_s
    };
    let shares: Vec<f64> = (1..=seeds).map(with).collect();
    let mean = shares.iter().sum::<f64>() / seeds as f64;
    let squares: f64 = shares.iter().map(|share| (share - mean).powi(2)).sum();
    let half = 1.96 * (squares / (seeds * (seeds - 1)) as f64).sqrt();
    println!("{preset}: {mean:.3} +- {half:.3}");
    mean
}

fn takes_one_share(preset: &str) {
    let share = share(preset);
    assert!((share - 0.5).abs() <= 0.1, "{preset}: {share}");
}

#[test]
fn uncoupled_paths_take_a_share_each() {
    let share = share("cmt");
    assert!((share - 2.0 / 3.0).abs() <= 0.07, "{share}");
}

/// RED instead of drop-tail and jitter: its drops meet each packet alike, so that flows do not march in step.
const RED: &[&str] = &[
    "run.duration=15 s",
    "run.measure_from=3 s",
    "network.shared.routes.core.bottleneck.jitter.extra.uniform={ from = '0 ms', to = '0 ms' }",
    "network.shared.routes.core.bottleneck.queue={ red = { min = { packets = 10 }, max = { packets = 40 }, \
     limit = { packets = 80 }, max_p = '10 %' } }",
];

#[test]
fn shares_are_the_same_with_random_early_detection() {
    let uncoupled = share_with("cmt", RED);
    assert!((uncoupled - 2.0 / 3.0).abs() <= 0.07, "{uncoupled}");
    for preset in ["cmt-rp-v1", "cmt-rp-v2", "lia", "olia", "balia"] {
        let share = share_with(preset, RED);
        assert!((share - 0.5).abs() <= 0.1, "{preset}: {share}");
    }
}

#[test]
fn rp_v1_takes_one_share() {
    takes_one_share("cmt-rp-v1");
}

#[test]
fn rp_v2_takes_one_share() {
    takes_one_share("cmt-rp-v2");
}

#[test]
fn lia_takes_one_share() {
    takes_one_share("lia");
}

#[test]
fn olia_takes_one_share() {
    takes_one_share("olia");
}

#[test]
fn balia_takes_one_share() {
    takes_one_share("balia");
}

/// After a loss, the window of RFC 9260 needs hundreds of round trips to come back.
#[test]
fn cubic_comes_back_sooner_on_a_long_path() {
    let mean = |congestion: &str| {
        let congestion = format!("sctp.policies.congestion={congestion}");
        let with = |seed| run(LONG, &[&congestion, seed]).goodput_bit_s;
        ["run.seed=1", "run.seed=2"].map(with).iter().sum::<f64>() / 2.0
    };
    let (cubic, cmt) = (mean("cubic"), mean("cmt"));
    assert!(cubic > 1.1 * cmt, "{cubic} against {cmt}");
}

/// Whether packets are spaced or not: the window is what bears the loss.
#[test]
fn bbr_bears_random_loss() {
    let with = |congestion: &str| {
        let congestion = format!("sctp.policies.congestion={congestion}");
        run(LONG, &[RANDOM_LOSS, &[&congestion]].concat())
    };
    let (bbr, cmt) = (with("bbr"), with("cmt"));
    assert!(bbr.goodput_bit_s > 1.5 * cmt.goodput_bit_s, "{}", cmt.goodput_bit_s);
    assert!(bbr.goodput_bit_s > 0.75 * 20e6, "{}", bbr.goodput_bit_s);
}

/// Paths that share nothing are no bottleneck together: coupled controls still use both.
#[test]
fn coupled_controls_use_disjoint_paths() {
    let set = &[
        "network.disjoint.paths.fast.bottleneck.rate=10 Mbit/s",
        "network.disjoint.paths.slow.bottleneck.rate=10 Mbit/s",
        "network.disjoint.paths.slow.bottleneck.delay=10 ms",
        "network.disjoint.paths.fast.bottleneck.loss.forward=0 %",
        "network.disjoint.paths.slow.bottleneck.loss.forward=0 %",
        "network.disjoint.paths.fast.bottleneck.loss.backward=0 %",
        "network.disjoint.paths.slow.bottleneck.loss.backward=0 %",
        "run.duration=8 s",
        "run.measure_from=3 s",
    ];
    for preset in ["cmt", "cmt-rp-v1", "cmt-rp-v2", "lia", "olia", "balia"] {
        let result = run(UNEQUAL, &[set, &[&*format!("sctp.preset={preset}")][..]].concat());
        let of_one_path = result.goodput_bit_s / 9.6e6;
        assert!(of_one_path > 1.6, "{preset}: {of_one_path}");
    }
}

#[test]
fn groups_apart_grow_uncoupled() {
    let with = |edits: &[&str]| run(UNEQUAL, &[edits, &["run.duration=8 s"]].concat());
    let groups = |value| format!("sctp.policies.path_groups={value}");
    let uncoupled = with(&["sctp.policies.congestion=cmt"]);
    for congestion in ["cmt-rp-v1", "cmt-rp-v2", "lia", "olia", "balia"] {
        let congestion = format!("sctp.policies.congestion={congestion}");
        let separate = with(&[&congestion, &groups("separate")]);
        let apart = with(&[&congestion, &groups("{ listed = [7, 0] }")]);
        let alone = with(&[&congestion, &groups("{ listed = [1] }")]);
        assert_eq!(separate.trace_hash, uncoupled.trace_hash, "{congestion}");
        assert_eq!(apart.trace_hash, uncoupled.trace_hash, "{congestion}");
        assert_eq!(alone.trace_hash, uncoupled.trace_hash, "{congestion}");
        let all = with(&[&congestion]);
        let together = with(&[&congestion, &groups("{ listed = [7, 7] }")]);
        assert_eq!(together.trace_hash, all.trace_hash, "{congestion}");
    }
    let lia = with(LIA);
    assert!(uncoupled.goodput_bit_s > 1.1 * lia.goodput_bit_s);
}

/// Seconds that the file after the pause takes.
fn second_file(edits: &[&str]) -> f64 {
    let result = run(PAUSE, &[AVOIDANCE, edits].concat());
    result.flows[1].last_delivery_s.expect("a delivered file") - 6.0
}

#[test]
fn use_it_or_lose_it_starts_small_after_a_pause() {
    let max_burst = second_file(&["sctp.policies.burst={ max-burst = 4 }"]);
    let limiting = second_file(&["sctp.policies.burst={ congestion-window-limiting = 4 }"]);
    let lose_it = second_file(&["sctp.policies.burst={ use-it-or-lose-it = 4 }"]);
    assert!(lose_it > 1.1 * limiting, "slow start leads back: {lose_it} {limiting}");
    assert!(limiting > 1.1 * max_burst, "the window is cut: {limiting} {max_burst}");
}

#[test]
fn max_burst_spares_queues() {
    let drops = |burst: &str| {
        let burst = format!("sctp.policies.burst={burst}");
        let queue = "network.disjoint.paths.path.bottleneck.queue={ drop-tail = { packets = 15 } }";
        let result = run(PAUSE, &[AVOIDANCE, &[&burst, queue]].concat());
        result.bottlenecks.iter().map(|b| b.dropped_queue_full).sum::<u64>()
    };
    let (off, limited) = (drops("off"), drops("{ max-burst = 4 }"));
    assert!(off as f64 > 1.1 * limited as f64, "{off} against {limited}");
}

/// As long as nothing is lost there is no limit; where something is lost before the pause, there is one after it.
#[test]
fn the_limit_may_begin_with_the_first_loss() {
    let traces = |also: &[&str]| {
        ["off", "{ max-burst-after-loss = 4 }", "{ max-burst = 4 }"].map(|burst| {
            let burst = format!("sctp.policies.burst={burst}");
            run(PAUSE, &[AVOIDANCE, also, &[&burst]].concat()).trace_hash
        })
    };
    let [off, waiting, limited] = traces(&[]);
    assert!(waiting == off && waiting != limited);
    let lost = "faults=[{ outage = { path = \"path\", from = \"500 ms\", until = \"510 ms\" } }]";
    let [off, waiting, limited] = traces(&[lost]);
    assert!(waiting == limited && waiting != off);
}

#[test]
fn idle_windows_shrink() {
    let with = |idle: &str| {
        let idle = format!("sctp.policies.window.idle={idle}");
        second_file(&[&idle, "sctp.policies.burst=off"])
    };
    let (keep, rfc9260, reset) = (with("keep"), with("rfc9260"), with("reset"));
    assert!(rfc9260 > 1.1 * keep, "{rfc9260} {keep}");
    // The threshold of RFC 9260 remembers the window, INET's does not.
    assert!(reset > 1.1 * rfc9260, "{reset} {rfc9260}");
}

#[test]
fn small_files_gain_by_large_initial_windows() {
    let completed = |initial: &str| {
        let initial = format!("sctp.policies.window.initial_cwnd={initial}");
        let set = ["traffic.bulk.source={ file = \"40 kB\" }", "sctp.policies.burst=off", &initial];
        run(ONE, &set).flows[0].last_delivery_s.expect("a delivered file")
    };
    let rfc9260 = completed("rfc9260");
    let (ten, bytes) = (completed("{ mtu = 10 }"), completed("{ bytes = 60000 }"));
    assert!(rfc9260 > 1.1 * ten && ten > 1.1 * bytes, "{rfc9260} {ten} {bytes}");
}

fn dropped(result: &RunResult) -> u64 {
    result.bottlenecks.iter().map(|bottleneck| bottleneck.dropped_queue_full).sum()
}

#[test]
fn a_threshold_stops_slow_start_before_the_queue_is_full() {
    let with = |threshold: &str| {
        let edit = format!("sctp.policies.window.initial_ssthresh={threshold}");
        dropped(&run(ONE, &[&edit, "run.duration=2 s"]))
    };
    let (limited, unlimited) = (with("{ bytes = 60000 }"), with("unlimited"));
    assert!(unlimited as f64 > 1.1 * limited as f64, "{unlimited} against {limited}");
}

#[test]
fn slow_start_without_limit_fills_a_long_path() {
    let with = |threshold: &str| {
        let edit = format!("sctp.policies.window.initial_ssthresh={threshold}");
        let set =
            ["network.disjoint.paths.path.bottleneck.delay=100 ms", "run.duration=4 s", &edit];
        run(ONE, &set).goodput_bit_s
    };
    let (limited, unlimited) = (with("{ bytes = 10000 }"), with("unlimited"));
    assert!(unlimited > 1.1 * limited, "{unlimited} against {limited}");
}

/// RPv1 shares by thresholds: that of a path that has lost counts little beside one that is the peer's whole window. The
/// send buffer is so small that the slow path's queue never overflows, and the threshold of that path stays what it was.
#[test]
fn rp_v1_trusts_the_peer_window_as_a_threshold() {
    for seed in ["run.seed=1", "run.seed=2", "run.seed=3"] {
        let with = |threshold: &str| {
            let edit = format!("sctp.policies.window.initial_ssthresh={threshold}");
            let set = [
                "sctp.preset=cmt-rp-v1",
                "sctp.policies.nr_sack=all",
                "traffic.bulk.delivery=unordered",
                "network.disjoint.paths.fast.bottleneck.loss.forward=0.5 %",
                "network.disjoint.paths.slow.bottleneck.loss.forward=0 %",
                "network.disjoint.paths.slow.bottleneck.loss.backward=0 %",
                "sctp.send_buffer=32 KiB",
                "sctp.receive_buffer=4 MiB",
                "run.duration=8 s",
                seed,
                &edit,
            ];
            let result = run(UNEQUAL, &set);
            assert!(result.paths[0].fast_recoveries > 0);
            assert_eq!((result.paths[1].fast_recoveries, result.paths[1].timeouts), (0, 0));
            result.paths[0].goodput_bit_s
        };
        let (peer_window, unlimited) = (with("peer-window"), with("unlimited"));
        assert!(unlimited > 1.25 * peer_window, "{seed}: {unlimited} against {peer_window}");
    }
}

/// With a loss in ten packets, windows would be smaller than the floor most of the time, and no three packets would follow
/// a lost one.
#[test]
fn a_floor_bears_losses() {
    for seed in ["run.seed=1", "run.seed=2", "run.seed=3"] {
        let with = |floor: &str| {
            let edit = format!("sctp.policies.window.ssthresh_floor_mtu={floor}");
            let loss = "network.disjoint.paths.path.bottleneck.loss.forward=10 %";
            run(ONE, &[&edit, loss, "run.duration=20 s", seed]).goodput_bit_s
        };
        let (one, four) = (with("1"), with("4"));
        assert!(four > 1.2 * one, "{seed}: {four} against {one}");
    }
}

/// Rounds of 1, 2, 4, 8 packets of 1452 bytes, with a unit of 1500 bytes of 2, 4, 8 and more.
#[test]
fn a_window_of_one_is_one_packet() {
    let completed = |unit: &str| {
        let unit = format!("sctp.policies.window.unit={unit}");
        let set = [
            "traffic.bulk.source={ file = \"20 kB\" }",
            "sctp.policies.window.initial_cwnd={ mtu = 1 }",
            "sctp.policies.delayed_ack.packets=1",
            "sctp.policies.delayed_ack.count=off",
            &unit,
        ];
        run(ONE, &set).flows[0].last_delivery_s.expect("a delivered file")
    };
    let (pmdcs, path_mtu) = (completed("pmdcs"), completed("path-mtu"));
    assert!(pmdcs > 1.1 * path_mtu, "{pmdcs} against {path_mtu}");
}

/// 20 bytes of user data have a chunk header of 16: fewer messages go into the same window.
#[test]
fn headers_count_in_small_messages() {
    let completed = |counted: &str| {
        let edit = format!("sctp.policies.window.bytes_counted={counted}");
        let file = "traffic.bulk.source={ file = \"20 kB\" }";
        let result = run(ONE, &[&edit, file, "traffic.bulk.message_size=20 B"]);
        result.flows[0].last_delivery_s.expect("a delivered file")
    };
    let (with_header, payload) = (completed("with-header"), completed("payload"));
    assert!(with_header > 1.1 * payload, "{with_header} against {payload}");
}
