//! What gap acknowledgements prove: what may be forgotten, what is lost, and when windows grow.

use polypath_sim::{PathResult, RunResult};

use crate::scenarios::UNEQUAL;
use crate::{Covered, effect, run};

/// `dreibholz-asymmetric` fig. 5, smaller: buffers that a path of a twentieth of the rate blocks.
const SMALL_BUFFERS: &[&str] = &[
    "run.duration=20 s",
    "traffic.0.delivery=unordered",
    "sctp.send_buffer=60 KB",
    "sctp.receive_buffer=60 KB",
    "network.disjoint.paths.1.bottleneck.rate=500 kbit/s",
];

/// The same, but messages wait for others of ten streams, in a receive buffer with room for them.
const STREAMS: &[&str] = &[
    "run.duration=20 s",
    "traffic.0.streams=10",
    "sctp.send_buffer=60 KB",
    "network.disjoint.paths.1.bottleneck.rate=500 kbit/s",
];

/// Many more chunks in the receive buffer than its memory is meant for.
const TINY: &[&str] =
    &["run.duration=5 s", "traffic.0.message_size=40 B", "sctp.receive_buffer=20 KB"];

const LONG: &[&str] = &["run.duration=20 s"];

/// Retransmissions are lost too, and a timeout is worth many round trips of 300 ms. Windows large enough that three
/// packets and more follow each lost one.
const HEAVY_LOSS: &[&str] = &[
    "run.duration=60 s",
    "sctp.policies.window.ssthresh_floor_mtu=8",
    "network.disjoint.paths.0.bottleneck.delay=150 ms",
    "network.disjoint.paths.0.bottleneck.loss.forward=10 %",
    "network.disjoint.paths.1.bottleneck.rate=10 Mbit/s",
    "network.disjoint.paths.1.bottleneck.delay=150 ms",
    "network.disjoint.paths.1.bottleneck.loss.forward=10 %",
];

/// SACKs of one path take ten times as long as those of the other.
const LATE_SACKS: &[&str] = &[
    "run.duration=20 s",
    "sctp.receive_buffer=64 KiB",
    "network.disjoint.paths.1.bottleneck.delay=10 ms",
    "network.disjoint.paths.1.bottleneck.backward.delay=100 ms",
];

/// Packets overtake each other within the fast path, and none is lost at random.
const OVERTAKING: &[&str] = &[
    "run.duration=10 s",
    r#"network.disjoint.paths.0.bottleneck.loss={ forward = "0 %", backward = "0 %" }"#,
    r#"network.disjoint.paths.1.bottleneck.loss={ forward = "0 %", backward = "0 %" }"#,
    r#"network.disjoint.paths.0.bottleneck.reordering={ probability = "3 %", extra_delay = "4 ms" }"#,
];

/// What is lost on the slow path goes to the fast one.
const MOVES: &[&str] = &[
    "run.duration=10 s",
    "network.disjoint.paths.0.bottleneck.loss.forward=3 %",
    "network.disjoint.paths.1.bottleneck.delay=100 ms",
    "network.disjoint.paths.1.bottleneck.loss.forward=10 %",
];

/// The slow path needs long to recover, and has to often.
const SLOW_RECOVERY: &[&str] = &[
    "run.duration=10 s",
    "network.disjoint.paths.1.bottleneck.delay=100 ms",
    "network.disjoint.paths.1.bottleneck.loss.forward=3 %",
];

type Effect = (&'static str, fn());

const fn covered(
    key: &'static str,
    value: &'static str,
    against: &'static str,
    set: &'static [&'static str],
    effect: Effect,
) -> Covered {
    Covered { key, value, against, scenario: UNEQUAL, set, effect }
}

const FREED: Effect = effect!(a_slow_path_no_longer_fills_the_send_buffer);
const SPLIT: Effect = effect!(overtaking_between_paths_is_no_loss);
const CUC: Effect = effect!(windows_grow_while_the_cumulative_ack_waits);
const RECOVERY: Effect = effect!(a_path_that_recovers_does_not_hold_up_the_others);
const REPEATS: Effect = effect!(lost_retransmissions_need_no_timeout);
const STALE: Effect = effect!(overtaken_sacks_tell_no_window);

pub const COVERAGE: &[Covered] = &[
    covered("nr_sack", "off", "all", SMALL_BUFFERS, FREED),
    covered("nr_sack", "deliverable", "off", SMALL_BUFFERS, FREED),
    covered(
        "nr_sack",
        "all",
        "deliverable",
        STREAMS,
        effect!(a_receiver_that_keeps_everything_frees_what_waits_for_its_turn),
    ),
    covered("reneging", "never", "under-pressure", TINY, effect!(room_for_lower_tsns_ends_stalls)),
    covered("reneging", "under-pressure", "never", TINY, effect!(room_for_lower_tsns_ends_stalls)),
    covered(
        "reneging",
        r#"{ simulated = "5 %" }"#,
        "never",
        LONG,
        effect!(what_a_reneging_receiver_discards_is_sent_again),
    ),
    covered("stale_sack", "classic", "same-path", LATE_SACKS, STALE),
    covered("stale_sack", "same-path", "classic", LATE_SACKS, STALE),
    covered("fast_retransmit.per_tsn", "once", "multiple", HEAVY_LOSS, REPEATS),
    covered("fast_retransmit.per_tsn", "multiple", "once", HEAVY_LOSS, REPEATS),
    covered(
        "fast_retransmit.threshold",
        "8",
        "3",
        OVERTAKING,
        effect!(a_high_threshold_tolerates_overtaking),
    ),
    covered("fast_retransmit.split", "off", "sfr", LONG, SPLIT),
    covered("fast_retransmit.split", "sfr", "off", LONG, SPLIT),
    covered("cwnd_update", "normal", "pseudo-cum-ack", LONG, CUC),
    covered("cwnd_update", "pseudo-cum-ack", "normal", LONG, CUC),
    covered(
        "cwnd_update",
        "pseudo-cum-ack-v2",
        "pseudo-cum-ack",
        MOVES,
        effect!(retransmissions_on_other_paths_do_not_stop_growth),
    ),
    covered("fast_recovery", "association-wide", "per-path", SLOW_RECOVERY, RECOVERY),
    covered("fast_recovery", "per-path", "association-wide", SLOW_RECOVERY, RECOVERY),
];

fn with(key: &str, value: &str, set: &[&str]) -> RunResult {
    let edit = format!("sctp.policies.{key}={value}");
    run(UNEQUAL, &set.iter().copied().chain([edit.as_str()]).collect::<Vec<_>>())
}

/// Mean goodput of five runs: what single losses do evens out.
fn mean_goodput(key: &str, value: &str, set: &[&str]) -> f64 {
    let goodput = |seed: u32| {
        let seed = format!("run.seed={seed}");
        let set: Vec<&str> = set.iter().copied().chain([seed.as_str()]).collect();
        with(key, value, &set).goodput_bit_s
    };
    (1..=5).map(goodput).sum::<f64>() / 5.0
}

fn sum(result: &RunResult, of: fn(&PathResult) -> u64) -> u64 {
    result.paths.iter().map(of).sum()
}

/// `dreibholz-asymmetric` section VI-B: with unordered delivery NR-SACK is much better on unequal paths.
#[test]
fn a_slow_path_no_longer_fills_the_send_buffer() {
    let off = with("nr_sack", "off", SMALL_BUFFERS);
    assert_eq!((off.hosts[1].nr_sacks_sent, off.hosts[0].bytes_released_early), (0, 0));
    for value in ["deliverable", "all"] {
        let on = with("nr_sack", value, SMALL_BUFFERS);
        let gain = on.goodput_bit_s / off.goodput_bit_s;
        assert!(gain > 3.0, "{value}: {gain}");
        assert_eq!(on.hosts[1].nr_sacks_sent, on.hosts[1].sacks_sent);
        assert!(on.hosts[0].bytes_released_early > 1_000_000);
        assert!(on.hosts[0].blocked.send_buffer_s < off.hosts[0].blocked.send_buffer_s / 2.0);
    }
}

#[test]
fn a_receiver_that_keeps_everything_frees_what_waits_for_its_turn() {
    let [off, deliverable, all] =
        ["off", "deliverable", "all"].map(|value| with("nr_sack", value, STREAMS).goodput_bit_s);
    assert!(deliverable > 1.3 * off, "other streams are delivered: {off} {deliverable}");
    assert!(all > 2.0 * deliverable, "{deliverable} {all}");
}

#[test]
fn room_for_lower_tsns_ends_stalls() {
    let never = with("reneging", "never", TINY);
    let under_pressure = with("reneging", "under-pressure", TINY);
    assert!(under_pressure.goodput_bit_s > 2.0 * never.goodput_bit_s);
    assert!(under_pressure.hosts[1].chunks_reneged > 0);
    assert_eq!((never.hosts[1].chunks_reneged, never.hosts[0].chunks_withdrawn), (0, 0));
}

#[test]
fn what_a_reneging_receiver_discards_is_sent_again() {
    let again = |result: &RunResult| {
        sum(result, |path| path.fast_retransmissions + path.timeout_retransmissions)
    };
    let (mut all_discarded, mut all_withdrawn) = (0, 0);
    for seed in ["run.seed=1", "run.seed=2", "run.seed=3"] {
        let set = [LONG, &[seed]].concat();
        let never = with("reneging", "never", &set);
        let simulated = with("reneging", r#"{ simulated = "5 %" }"#, &set);
        let discarded = simulated.hosts[1].chunks_reneged;
        assert!(discarded > 100, "{seed}: {discarded}");
        assert!(again(&simulated) >= discarded, "{seed}: {} of {discarded}", again(&simulated));
        assert!(again(&simulated) as f64 > 1.25 * again(&never) as f64, "{seed}");
        assert!(simulated.goodput_bit_s < 0.75 * never.goodput_bit_s, "{seed}");
        all_discarded += discarded;
        all_withdrawn += simulated.hosts[0].chunks_withdrawn;
    }
    // What no SACK had acknowledged yet, or was back before one missed it, was never withdrawn.
    assert!(all_withdrawn <= all_discarded, "{all_discarded} {all_withdrawn}");
    assert!(2 * all_withdrawn > all_discarded, "{all_discarded} {all_withdrawn}");
}

/// `sarwar` section IV, fig. 6. A SACK that was overtaken tells of a window that others have used since; what does not
/// fit is refused and sent again.
#[test]
fn overtaken_sacks_tell_no_window() {
    let (mut duplicates, mut timeouts, mut goodput) = (0, [0, 0], [0.0, 0.0]);
    for seed in ["run.seed=1", "run.seed=2", "run.seed=3", "run.seed=4"] {
        let set = [LATE_SACKS, &[seed]].concat();
        let classic = with("stale_sack", "classic", &set);
        let same_path = with("stale_sack", "same-path", &set);
        assert!(classic.hosts[1].data_chunks_refused > 50, "{seed}");
        assert_eq!(same_path.hosts[1].data_chunks_refused, 0, "{seed}");
        assert_eq!(same_path.hosts[1].duplicate_chunks_received, 0, "{seed}");
        assert!(same_path.hosts[0].stale_sacks > 50, "{seed}");
        duplicates += classic.hosts[1].duplicate_chunks_received;
        for (index, result) in [classic, same_path].iter().enumerate() {
            timeouts[index] += sum(result, |path| path.timeout_retransmissions);
            goodput[index] += result.goodput_bit_s;
        }
    }
    assert!(duplicates > 10, "{duplicates} spurious retransmissions");
    assert!(timeouts[1] * 2 < timeouts[0], "{timeouts:?}");
    assert!(goodput[1] > 1.1 * goodput[0], "{goodput:?}");
}

/// Caro, Amer, Stewart 2004.
#[test]
fn lost_retransmissions_need_no_timeout() {
    for seed in ["run.seed=1", "run.seed=2", "run.seed=3"] {
        let set = [HEAVY_LOSS, &[seed]].concat();
        let once = with("fast_retransmit.per_tsn", "once", &set);
        let multiple = with("fast_retransmit.per_tsn", "multiple", &set);
        let timeouts = |result: &RunResult| sum(result, |path| path.timeouts);
        assert!(timeouts(&multiple) * 4 < timeouts(&once), "{seed}");
        // None was spurious.
        assert_eq!(multiple.hosts[1].duplicate_chunks_received, 0, "{seed}");
        let goodput = [&once, &multiple].map(|result| result.goodput_bit_s / 1e6);
        assert!(goodput[1] > 1.1 * goodput[0], "{seed}: {goodput:?} Mbit/s");
    }
}

#[test]
fn a_high_threshold_tolerates_overtaking() {
    let [three, eight] =
        ["3", "8"].map(|value| with("fast_retransmit.threshold", value, OVERTAKING));
    assert!(eight.goodput_bit_s > 1.1 * three.goodput_bit_s);
    let spurious = |result: &RunResult| result.hosts[1].duplicate_chunks_received;
    assert!(spurious(&eight) * 4 < spurious(&three));
}

/// `dreibholz-model` section 3.1.
#[test]
fn overtaking_between_paths_is_no_loss() {
    let off = with("fast_retransmit.split", "off", LONG);
    let sfr = with("fast_retransmit.split", "sfr", LONG);
    let repeated = |result: &RunResult| sum(result, |path| path.fast_retransmissions);
    assert!(repeated(&sfr) * 4 < repeated(&off));
    assert!(sfr.goodput_bit_s > 1.1 * off.goodput_bit_s);
}

/// `dreibholz-model` section 3.2.
#[test]
fn windows_grow_while_the_cumulative_ack_waits() {
    let normal = with("cwnd_update", "normal", LONG).goodput_bit_s;
    for value in ["pseudo-cum-ack", "pseudo-cum-ack-v2"] {
        assert!(with("cwnd_update", value, LONG).goodput_bit_s > 1.5 * normal, "{value}");
    }
}

#[test]
fn retransmissions_on_other_paths_do_not_stop_growth() {
    let [first, second] =
        ["pseudo-cum-ack", "pseudo-cum-ack-v2"].map(|v| mean_goodput("cwnd_update", v, MOVES));
    assert!(second > 1.1 * first, "{first} {second}");
}

#[test]
fn a_path_that_recovers_does_not_hold_up_the_others() {
    let [association, path] = ["association-wide", "per-path"]
        .map(|value| mean_goodput("fast_recovery", value, SLOW_RECOVERY));
    assert!(path > 1.1 * association, "{association} {path}");
}
