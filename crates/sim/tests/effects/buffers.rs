//! How paths share the buffers, how large those are, and chunks that move.

use polypath_sim::RunResult;

use crate::{Covered, effect, run};

/// The unequal paths of `dreibholz-asymmetric` section VI-A, with large queues: what waits in the slow one's fills the
/// buffers.
const ASYMMETRIC: &str = r#"
title = "100 and 10 Mbit/s with large queues"

[run]
duration = "3 s"
measure_from = "2 s"

[[network.disjoint.paths]]
name = "fast"

[network.disjoint.paths.bottleneck]
rate = "100 Mbit/s"
delay = "1 ms"
framing = "7 B"
queue = { drop-tail = { packets = 200 } }

[[network.disjoint.paths]]
name = "slow"

[network.disjoint.paths.bottleneck]
rate = "10 Mbit/s"
delay = "1 ms"
framing = "7 B"
queue = { drop-tail = { packets = 200 } }

[[traffic]]
name = "bulk"
source = "saturated"
message_size = "1452 B"
delivery = "unordered"

[sctp]
preset = "cmt"
send_buffer = "250 kB"
receive_buffer = "125 kB"

[sctp.policies.retransmission]
fast = "same"
timer = "alternate"
"#;

/// Ordered traffic where the slow path is a hundredth of the fast one (section VI-C, fig. 7).
const ORDERED: &[&str] = &[
    "traffic.bulk.delivery=ordered",
    "network.disjoint.paths.slow.bottleneck.rate=1 Mbit/s",
    "sctp.send_buffer=1 MB",
    "sctp.receive_buffer=1 MB",
    "run.measure_from=1 s",
    "run.duration=2 s",
];

/// The peer's window is the scarce buffer, and what is delivered takes no room in it.
const SCARCE_WINDOW: &[&str] =
    &["sctp.send_buffer=2500 kB", "sctp.policies.buffer_split_by=outstanding"];

/// Both paths are long, so that they carry much more than a usual buffer holds.
const LONG: &[&str] = &[
    "traffic.bulk.delivery=ordered",
    "network.disjoint.paths.fast.bottleneck.rate=20 Mbit/s",
    "network.disjoint.paths.fast.bottleneck.delay=100 ms",
    "network.disjoint.paths.slow.bottleneck.delay=100 ms",
    "sctp.send_buffer=4 MiB",
    "sctp.receive_buffer=4 MiB",
    "run.measure_from=3 s",
    "run.duration=6 s",
];

const LONG_FILE: &[&str] = &[
    "traffic.bulk.delivery=ordered",
    "traffic.bulk.source={ file = \"4 MB\" }",
    "network.disjoint.paths.fast.bottleneck.delay=100 ms",
    "network.disjoint.paths.slow.bottleneck.delay=100 ms",
    "sctp.send_buffer=64 KiB",
    "sctp.receive_buffer=4 MiB",
    "run.measure_from=0 s",
    "run.duration=60 s",
];

/// What fig. 4 presumes: unordered messages leave both buffers as they arrive.
const FIGURE_4: &[&str] =
    &["sctp.policies.nr_sack=all", "sctp.send_buffer=125 kB", "sctp.receive_buffer=250 kB"];

const fn split(
    value: &'static str,
    against: &'static str,
    set: &'static [&'static str],
) -> Covered {
    let effect = effect!(each_split_helps_where_its_buffer_is_the_smaller_one);
    Covered { key: "buffer_split", value, against, scenario: ASYMMETRIC, set, effect }
}

const fn by(value: &'static str, against: &'static str) -> Covered {
    let set = &["sctp.send_buffer=2500 kB", "sctp.policies.buffer_split=receiver"];
    let effect = effect!(what_is_delivered_counts_only_where_bytes_are_buffered);
    Covered { key: "buffer_split_by", value, against, scenario: ASYMMETRIC, set, effect }
}

const fn shares(value: &'static str, against: &'static str) -> Covered {
    let set = &["sctp.policies.buffer_split=both"];
    let effect = effect!(a_fast_path_uses_what_a_slow_one_leaves);
    Covered { key: "buffer_split_shares", value, against, scenario: ASYMMETRIC, set, effect }
}

/// The same with a send buffer that never fills.
const ORDERED_INTO_A_SMALL_BUFFER: &[&str] =
    &[ORDERED[0], ORDERED[1], "sctp.send_buffer=2 MB", ORDERED[3], ORDERED[4], ORDERED[5]];

const fn side(value: &'static str, against: &'static str, set: &'static [&'static str]) -> Covered {
    let effect = effect!(each_side_looks_after_its_own_buffer);
    Covered { key: "reschedule.side", value, against, scenario: ASYMMETRIC, set, effect }
}

/// Ordered traffic of which chunks move.
const MOVES: &[&str] = &[
    "traffic.bulk.delivery=ordered",
    "sctp.send_buffer=500 kB",
    "sctp.receive_buffer=500 kB",
    "sctp.policies.reschedule.side=sender",
    "run.measure_from=1 s",
    "run.duration=2 s",
];

/// Unordered traffic that could move.
const UNORDERED_MOVES: &[&str] =
    &["sctp.policies.reschedule.side=sender", "run.measure_from=1 s", "run.duration=2 s"];

const fn moving(
    key: &'static str,
    value: &'static str,
    against: &'static str,
    set: &'static [&'static str],
    effect: (&'static str, fn()),
) -> Covered {
    Covered { key, value, against, scenario: ASYMMETRIC, set, effect }
}

const fn size(
    key: &'static str,
    value: &'static str,
    against: &'static str,
    set: &'static [&'static str],
) -> Covered {
    let effect = effect!(buffers_that_size_themselves_fill_long_paths);
    Covered { key, value, against, scenario: ASYMMETRIC, set, effect }
}

const fn infinite(key: &'static str, set: &'static [&'static str]) -> Covered {
    let effect = effect!(a_buffer_without_limit_holds_no_path_back);
    let (value, against) = ("infinite", "bytes");
    Covered { key, value, against, scenario: ASYMMETRIC, set, effect }
}

/// A path of 0.4 ms beside one of 20 ms, which alone could hold four times the send buffer.
const SHORT_AND_LONG: &[&str] = &[
    "network.disjoint.paths.fast.bottleneck.rate=50 Mbit/s",
    "network.disjoint.paths.fast.bottleneck.delay=200 us",
    "network.disjoint.paths.slow.bottleneck.rate=200 Mbit/s",
    "network.disjoint.paths.slow.bottleneck.delay=10 ms",
    "sctp.preset=recommended",
    "sctp.send_buffer=128 KiB",
    "sctp.receive_buffer=1 MiB",
    "run.duration=5 s",
];

const fn notice(value: &'static str, against: &'static str) -> Covered {
    let effect = effect!(a_short_path_does_not_wait_for_an_eighth_of_the_buffer);
    Covered {
        key: "send_room_notice",
        value,
        against,
        scenario: ASYMMETRIC,
        set: SHORT_AND_LONG,
        effect,
    }
}

pub const COVERAGE: &[Covered] = &[
    notice("batch", "when-idle"),
    notice("when-idle", "batch"),
    split("none", "receiver", SCARCE_WINDOW),
    split("receiver", "none", SCARCE_WINDOW),
    split("both", "none", SCARCE_WINDOW),
    split("sender", "none", FIGURE_4),
    by("buffered", "outstanding"),
    by("outstanding", "buffered"),
    shares("equal", "by-need"),
    shares("by-need", "equal"),
    side("none", "sender", ORDERED),
    side("sender", "none", ORDERED),
    side("receiver", "sender", ORDERED_INTO_A_SMALL_BUFFER),
    side("both", "none", ORDERED),
    moving(
        "reschedule.traffic",
        "all",
        "ordered",
        UNORDERED_MOVES,
        effect!(unordered_chunks_move_only_if_asked),
    ),
    moving(
        "reschedule.traffic",
        "ordered",
        "all",
        UNORDERED_MOVES,
        effect!(unordered_chunks_move_only_if_asked),
    ),
    moving(
        "reschedule.threshold",
        "0.1",
        "0.5",
        MOVES,
        effect!(a_lower_threshold_moves_more_chunks),
    ),
    moving(
        "reschedule.old_path",
        "half",
        "chunk-size",
        MOVES,
        effect!(half_a_window_costs_the_old_path_more),
    ),
    moving(
        "reschedule.old_path",
        "chunk-size",
        "half",
        MOVES,
        effect!(half_a_window_costs_the_old_path_more),
    ),
    size("send_buffer", "bytes", "auto-fast", LONG),
    size("send_buffer", "auto-fast", "bytes", LONG),
    size("send_buffer", "auto-timeout", "auto-fast", LONG),
    infinite("send_buffer", LONG_FILE),
    size("receive_buffer", "bytes", "auto-fast", LONG),
    size("receive_buffer", "auto-fast", "bytes", LONG),
    size("receive_buffer", "auto-timeout", "auto-fast", LONG),
    infinite("receive_buffer", LONG),
];

fn goodput(sets: &[&[&str]]) -> f64 {
    run(ASYMMETRIC, &sets.concat()).goodput_bit_s / 1e6
}

#[test]
fn each_split_helps_where_its_buffer_is_the_smaller_one() {
    let with = |send: &str, receive: &str, split: &str| {
        let edits = [
            format!("sctp.send_buffer={send}"),
            format!("sctp.receive_buffer={receive}"),
            format!("sctp.policies.buffer_split={split}"),
        ];
        goodput(&[FIGURE_4, &[&edits[0], &edits[1], &edits[2]]])
    };
    // Fig. 4: which of none, sender, receiver and both fill the paths.
    for (send, receive, expected) in [
        ("250 kB", "125 kB", [false, false, true, true]),
        ("250 kB", "250 kB", [false, true, true, true]),
        ("125 kB", "250 kB", [false, true, false, true]),
    ] {
        for (split, full) in ["none", "sender", "receiver", "both"].into_iter().zip(expected) {
            let goodput = with(send, receive, split);
            let what = format!("{send}, {receive}, {split}: {goodput} Mbit/s");
            assert_eq!(goodput > 100.0, full, "{what}");
            assert!(full || goodput < 50.0, "{what}");
        }
    }
}

#[test]
fn a_share_of_the_window_keeps_the_fast_path_going() {
    let with =
        |split: &str| goodput(&[SCARCE_WINDOW, &[&format!("sctp.policies.buffer_split={split}")]]);
    let (none, receiver) = (with("none"), with("receiver"));
    assert!(none < 25.0, "the slow path fills the window: {none} Mbit/s");
    assert!(receiver > 100.0, "both paths are full: {receiver} Mbit/s");
    assert!(with("both") > 100.0);
}

#[test]
fn what_is_delivered_counts_only_where_bytes_are_buffered() {
    let with = |by: &str| {
        let by = format!("sctp.policies.buffer_split_by={by}");
        goodput(&[&["sctp.send_buffer=2500 kB", "sctp.policies.buffer_split=receiver", &by]])
    };
    let (buffered, outstanding) = (with("buffered"), with("outstanding"));
    assert!(buffered < 25.0, "what waits for the slow path fills the fast one's share: {buffered}");
    assert!(outstanding > 100.0, "{outstanding}");
}

/// Half of a buffer is less than the fast path needs to be full: 100 kB per round trip.
#[test]
fn a_fast_path_uses_what_a_slow_one_leaves() {
    let with = |shares: &str| {
        let shares = format!("sctp.policies.buffer_split_shares={shares}");
        let set: &[&str] = &[
            "sctp.preset=recommended",
            "traffic.bulk.delivery=ordered",
            "sctp.send_buffer=128 KiB",
            "sctp.receive_buffer=128 KiB",
            "sctp.policies.send_buffer=bytes",
            "sctp.policies.receive_buffer=bytes",
            "network.disjoint.paths.fast.bottleneck.rate=10 Mbit/s",
            "network.disjoint.paths.fast.bottleneck.delay=40 ms",
            "network.disjoint.paths.slow.bottleneck.rate=0.5 Mbit/s",
            "network.disjoint.paths.slow.bottleneck.delay=20 ms",
            "run.measure_from=3 s",
            "run.duration=8 s",
        ];
        goodput(&[set, &[&shares]])
    };
    let (equal, by_need) = (with("equal"), with("by-need"));
    assert!(by_need > 1.1 * equal, "{by_need} against {equal} Mbit/s");
}

#[test]
fn rescheduling_keeps_ordered_traffic_going_over_a_slow_path() {
    let with = |side: &str| -> RunResult {
        run(ASYMMETRIC, &[ORDERED, &[&format!("sctp.policies.reschedule.side={side}")]].concat())
    };
    let moved = |result: &RunResult| -> u64 {
        result.paths.iter().map(|path| path.rescheduled_chunks).sum()
    };
    let none = with("none");
    assert_eq!(moved(&none), 0);
    for side in ["sender", "receiver", "both"] {
        let result = with(side);
        assert!(moved(&result) > 0, "{side}");
        let (before, after) = (none.goodput_bit_s / 1e6, result.goodput_bit_s / 1e6);
        assert!(after > 1.5 * before, "{side}: {before} before, {after} Mbit/s after");
    }
}

/// The smaller buffer is what the slow path blocks; chunks move if its side is asked.
#[test]
fn each_side_looks_after_its_own_buffer() {
    for (send, receive, smaller, larger) in [
        ("1 MB", "500 kB", "receiver", "sender"),
        ("2 MB", "1 MB", "receiver", "sender"),
        ("500 kB", "1 MB", "sender", "receiver"),
        ("1 MB", "2 MB", "sender", "receiver"),
    ] {
        let with = |side: &str| {
            let edits = [
                format!("sctp.send_buffer={send}"),
                format!("sctp.receive_buffer={receive}"),
                format!("sctp.policies.reschedule.side={side}"),
            ];
            run(ASYMMETRIC, &[ORDERED, &edits.each_ref().map(String::as_str)].concat())
        };
        let (none, in_vain) = (with("none"), with(larger));
        assert_eq!(none.trace_hash, in_vain.trace_hash, "{send}, {receive}: nothing moves");
        for side in [smaller, "both"] {
            let (before, after) = (none.goodput_bit_s / 1e6, with(side).goodput_bit_s / 1e6);
            assert!(after > 3.0 * before, "{send}, {receive}, {side}: {before}, {after} Mbit/s");
        }
    }
}

/// NR-SACK frees the send buffer of ordered chunks, but the receiver still holds them back (`dreibholz-asymmetric` section
/// VI-C). The presets that have both keep the paths going.
#[test]
fn rescheduling_goes_on_where_nr_sack_frees_the_send_buffer() {
    // Blocking estimation leaves nothing to reschedule here: it does not send what would block. What else `recommended` has
    // for slow paths leaves less to win.
    for (preset, factor) in [("dreibholz-asymmetric", 3.0), ("recommended", 1.2)] {
        let preset_edit = format!("sctp.preset={preset}");
        let alone = [
            preset_edit.as_str(),
            "sctp.policies.blocking_estimation=off",
            "sctp.policies.congestion=cmt",
            "sctp.policies.sack_path=last-data",
        ];
        let with = |side: &str| {
            let side = format!("sctp.policies.reschedule.side={side}");
            let edits = [side.as_str(), "sctp.policies.nr_sack=all"];
            run(ASYMMETRIC, &[ORDERED, &alone, &edits].concat())
        };
        let (none, both) = (with("none"), with("both"));
        assert!(both.hosts[0].bytes_released_early > 1_000_000, "{preset}");
        assert!(both.paths.iter().any(|path| path.rescheduled_chunks > 0), "{preset}");
        let goodput = [&none, &both].map(|result| result.goodput_bit_s / 1e6);
        assert!(goodput[1] > 90.0, "{preset}: {goodput:?} Mbit/s");
        assert!(goodput[1] > factor * goodput[0], "{preset}: {goodput:?} Mbit/s");
        let alone = run(ASYMMETRIC, &[ORDERED, &alone].concat());
        assert_eq!(alone.trace_hash, both.trace_hash, "the preset {preset} is set so");
    }
}

#[test]
fn buffers_that_size_themselves_fill_long_paths() {
    let fixed = goodput(&[LONG, &["sctp.send_buffer=64 KiB", "sctp.receive_buffer=64 KiB"]]);
    for size in ["auto-fast", "auto-timeout"] {
        let both = [
            format!("sctp.policies.send_buffer={size}"),
            format!("sctp.policies.receive_buffer={size}"),
        ];
        let adapted = goodput(&[LONG, &[&both[0], &both[1]]]);
        assert!(adapted > 4.0 * fixed, "{size}: {fixed} fixed, {adapted} Mbit/s");
    }
}

#[test]
fn a_buffer_without_limit_holds_no_path_back() {
    let file = |size: &str| {
        let result =
            run(ASYMMETRIC, &[LONG_FILE, &[&format!("sctp.policies.send_buffer={size}")]].concat());
        result.completed_s.expect("the file arrives")
    };
    let (bytes, infinite) = (file("bytes"), file("infinite"));
    assert!(infinite < bytes / 2.0, "{bytes} s with 64 KiB, {infinite} s without limit");
    let window = |size: &str| {
        let size = format!("sctp.policies.receive_buffer={size}");
        run(ASYMMETRIC, &[LONG, &["sctp.receive_buffer=64 KiB", &size]].concat())
    };
    let (bytes, infinite) = (window("bytes"), window("infinite"));
    let goodput = [&bytes, &infinite].map(|result| result.goodput_bit_s / 1e6);
    assert!(goodput[1] > 4.0 * goodput[0], "{goodput:?} Mbit/s");
    assert!(infinite.hosts[1].receive_buffer_peak_bytes > 10 * 65_536, "it holds what it must");
    assert_eq!(infinite.hosts[0].blocked.peer_window_s, 0.0);
}

fn moves(set: &[&str], edit: &str) -> (u64, RunResult) {
    let result = run(ASYMMETRIC, &[set, &[edit]].concat());
    (result.paths.iter().map(|path| path.rescheduled_chunks).sum(), result)
}

#[test]
fn unordered_chunks_move_only_if_asked() {
    let (ordered, without) = moves(UNORDERED_MOVES, "sctp.policies.reschedule.traffic=ordered");
    let (all, with) = moves(UNORDERED_MOVES, "sctp.policies.reschedule.traffic=all");
    assert_eq!(ordered, 0);
    assert!(all > 0);
    assert!(with.goodput_bit_s > 1.5 * without.goodput_bit_s, "the send buffer is freed");
}

/// How many chunks move depends on what the slow path sends more than on when they move: thresholds far apart tell.
#[test]
fn a_lower_threshold_moves_more_chunks() {
    for rate in ["10 Mbit/s", "20 Mbit/s"] {
        let rate = format!("network.disjoint.paths.slow.bottleneck.rate={rate}");
        let set = [MOVES, &[&rate]].concat();
        let (late, blocked) = moves(&set, "sctp.policies.reschedule.threshold=0.7");
        let (soon, going) = moves(&set, "sctp.policies.reschedule.threshold=0.1");
        assert!(soon as f64 > 1.1 * late as f64, "{rate}: {late} and {soon} chunks");
        let goodput = [blocked, going].map(|result| result.goodput_bit_s / 1e6);
        assert!(goodput[1] > 1.25 * goodput[0], "{rate}: {goodput:?} Mbit/s");
    }
}

#[test]
fn half_a_window_costs_the_old_path_more() {
    let (_, size) = moves(MOVES, "sctp.policies.reschedule.old_path=chunk-size");
    let (_, half) = moves(MOVES, "sctp.policies.reschedule.old_path=half");
    let recoveries = |result: &RunResult| result.paths[1].fast_recoveries;
    assert!(
        recoveries(&half) > recoveries(&size),
        "{} and {}",
        recoveries(&size),
        recoveries(&half)
    );
}

#[test]
fn a_short_path_does_not_wait_for_an_eighth_of_the_buffer() {
    let rates = |notice: &str| {
        let notice = format!("sctp.policies.send_room_notice={notice}");
        let result = run(ASYMMETRIC, &[SHORT_AND_LONG, &[&notice]].concat());
        [result.goodput_bit_s / 1e6, result.paths[0].goodput_bit_s / 1e6]
    };
    let ([batch, idle_path], [when_idle, full_path]) = (rates("batch"), rates("when-idle"));
    assert!(idle_path < 25.0, "it waits for the long path: {idle_path} Mbit/s");
    assert!(full_path > 45.0, "{full_path} of 50 Mbit/s");
    assert!(when_idle > 1.5 * batch, "{batch} and {when_idle} Mbit/s");
}
