//! What keeps a slow path from holding up a quick one, from the first packet on.

use polypath_sim::RunResult;

use crate::scenarios::loss_based;
use crate::{Covered, effect, run};

/// Paths that differ in their round trips, and buffers that the quick one can fill alone.
const QUICK_AND_SLOW: &str = loss_based!(
    r#"
title = "50 and 200 ms with buffers of a round trip"

[run]
duration = "5 s"
measure_from = "2 s"

[[network.disjoint.paths]]
name = "quick"
bottleneck = { rate = "100 Mbit/s", delay = "25 ms" }

[[network.disjoint.paths]]
name = "slow"
bottleneck = { rate = "100 Mbit/s", delay = "100 ms" }

"#,
    "1 MiB"
);

/// A transfer that is short beside the round trip of the slow path, of which nothing else leaves that path.
const SHORT_FILE: &[&str] = &[
    "traffic.bulk.source={ file = \"400 kB\" }",
    "network.disjoint.paths.quick.bottleneck.rate=20 Mbit/s",
    "network.disjoint.paths.quick.bottleneck.delay=10 ms",
    "network.disjoint.paths.slow.bottleneck.rate=20 Mbit/s",
    "network.disjoint.paths.slow.bottleneck.delay=200 ms",
    "sctp.policies.blocking_estimation=off",
    "sctp.policies.earliest_completion=off",
    "sctp.policies.reschedule.side=none",
    "sctp.policies.data_ahead=off",
    "run.measure_from=0 s",
    "run.duration=60 s",
];

/// A file whose end a thin path takes long to carry, and nothing else takes it from there.
const THIN: &[&str] = &[
    "traffic.bulk.source={ file = \"1 MB\" }",
    "network.disjoint.paths.quick.bottleneck.rate=20 Mbit/s",
    "network.disjoint.paths.quick.bottleneck.delay=20 ms",
    "network.disjoint.paths.slow.bottleneck.rate=0.5 Mbit/s",
    "network.disjoint.paths.slow.bottleneck.delay=10 ms",
    "sctp.policies.congestion=bbr",
    "sctp.policies.pacing=on",
    "sctp.policies.burst=off",
    "sctp.policies.blocking_estimation=off",
    "sctp.policies.reschedule.side=none",
    "sctp.policies.tail_reinjection=off",
    "sctp.policies.tail_probe=off",
    "sctp.send_buffer=4 MiB",
    "sctp.receive_buffer=4 MiB",
    "run.measure_from=0 s",
    "run.duration=60 s",
];

/// The slow path loses, and nothing else repairs what it lost.
const SLOW_LOSES: &[&str] = &[
    "sctp.preset=cmt",
    "sctp.policies.sack_path=last-data",
    "sctp.send_buffer=512 KiB",
    "sctp.receive_buffer=512 KiB",
    "network.disjoint.paths.quick.bottleneck.rate=20 Mbit/s",
    "network.disjoint.paths.quick.bottleneck.delay=10 ms",
    "network.disjoint.paths.slow.bottleneck.rate=20 Mbit/s",
    "network.disjoint.paths.slow.bottleneck.delay=50 ms",
    "network.disjoint.paths.slow.bottleneck.loss.forward=5 %",
    "run.duration=8 s",
];

/// A short transfer to a peer whose first address is on the slow path.
const SLOW_FIRST: &[&str] = &[
    "traffic.bulk.source={ file = \"200 kB\" }",
    "network.disjoint.paths.quick.bottleneck.delay=200 ms",
    "network.disjoint.paths.slow.bottleneck.delay=10 ms",
    "run.measure_from=0 s",
    "run.duration=60 s",
];

/// A transfer that ends when the slow start of the second path has filled its queue.
const FULL_QUEUE: &[&str] = &[
    "traffic.bulk.source={ file = \"1000 kB\" }",
    "network.disjoint.paths.quick.bottleneck.rate=10 Mbit/s",
    "network.disjoint.paths.quick.bottleneck.delay=0.1 ms",
    "network.disjoint.paths.slow.bottleneck.rate=100 Mbit/s",
    "network.disjoint.paths.slow.bottleneck.delay=0.1 ms",
    "sctp.policies.earliest_completion=off",
    "sctp.policies.tail_reinjection=off",
    "sctp.policies.fast_retransmit.reports=per-sack",
    "sctp.policies.sack_path=last-data",
    "sctp.policies.rtt_sample=path-bound",
    "sctp.policies.window.slow_start=per-sack",
    "sctp.send_buffer=32 MiB",
    "sctp.receive_buffer=32 MiB",
    "run.measure_from=0 s",
    "run.duration=60 s",
];

/// A file that the slow path, which has most of the capacity, should carry: its SACKs are overtaken on the quick one.
const OVERTAKEN: &[&str] = &[
    "traffic.bulk.source={ file = \"5 MB\" }",
    "network.disjoint.paths.quick.bottleneck.rate=10 Mbit/s",
    "network.disjoint.paths.quick.bottleneck.delay=25 ms",
    "network.disjoint.paths.slow.bottleneck.rate=50 Mbit/s",
    "network.disjoint.paths.slow.bottleneck.delay=50 ms",
    "sctp.send_buffer=32 MiB",
    "sctp.receive_buffer=32 MiB",
    "run.measure_from=0 s",
    "run.duration=60 s",
];

/// A file over paths that bring as many packets, on the slow one much later.
const ALIKE: &[&str] = &[
    "traffic.bulk.source={ file = \"20 MB\" }",
    "network.disjoint.paths.quick.bottleneck.rate=50 Mbit/s",
    "network.disjoint.paths.quick.bottleneck.delay=0.1 ms",
    "network.disjoint.paths.slow.bottleneck.rate=50 Mbit/s",
    "network.disjoint.paths.slow.bottleneck.delay=100 ms",
    "sctp.send_buffer=32 MiB",
    "sctp.receive_buffer=32 MiB",
    "run.measure_from=0 s",
    "run.duration=60 s",
];

/// A file that the quick path carries as well alone, beside one of half a second.
const QUICK_ALONE: &[&str] = &[
    "traffic.bulk.source={ file = \"10 MB\" }",
    "network.disjoint.paths.quick.bottleneck.rate=100 Mbit/s",
    "network.disjoint.paths.quick.bottleneck.delay=0.1 ms",
    "network.disjoint.paths.slow.bottleneck.rate=10 Mbit/s",
    "network.disjoint.paths.slow.bottleneck.delay=200 ms",
    "sctp.send_buffer=32 MiB",
    "sctp.receive_buffer=32 MiB",
    "run.measure_from=0 s",
    "run.duration=60 s",
];

const fn handshake(value: &'static str, against: &'static str) -> Covered {
    let effect = effect!(the_quickest_path_brings_the_association_about);
    Covered { key: "handshake", value, against, scenario: QUICK_AND_SLOW, set: SLOW_FIRST, effect }
}

const fn estimation(value: &'static str, against: &'static str) -> Covered {
    let effect = effect!(new_data_that_would_block_waits_for_the_quick_path);
    let (key, set) = ("blocking_estimation", &[]);
    Covered { key, value, against, scenario: QUICK_AND_SLOW, set, effect }
}

const fn reinjection(value: &'static str, against: &'static str) -> Covered {
    let effect = effect!(the_last_chunks_leave_the_slow_path);
    let (key, set) = ("tail_reinjection", SHORT_FILE);
    Covered { key, value, against, scenario: QUICK_AND_SLOW, set, effect }
}

const fn completion(value: &'static str, against: &'static str) -> Covered {
    let effect = effect!(the_end_of_a_file_keeps_off_a_thin_path);
    let (key, set) = ("earliest_completion", THIN);
    Covered { key, value, against, scenario: QUICK_AND_SLOW, set, effect }
}

const fn probe(value: &'static str, against: &'static str) -> Covered {
    let effect = effect!(what_is_lost_at_the_end_does_not_wait_for_the_timer);
    let (key, set) = ("tail_probe", FULL_QUEUE);
    Covered { key, value, against, scenario: QUICK_AND_SLOW, set, effect }
}

const fn slow_start(value: &'static str, against: &'static str) -> Covered {
    let effect = effect!(sacks_that_were_overtaken_count_in_slow_start);
    let key = "window.slow_start";
    Covered { key, value, against, scenario: QUICK_AND_SLOW, set: OVERTAKEN, effect }
}

const fn quickest(key: &'static str, value: &'static str) -> Covered {
    let effect = effect!(retransmissions_on_the_quickest_path_arrive_first);
    let against = "same";
    Covered { key, value, against, scenario: QUICK_AND_SLOW, set: SLOW_LOSES, effect }
}

pub const COVERAGE: &[Covered] = &[
    handshake("primary", "all-paths"),
    handshake("all-paths", "primary"),
    estimation("off", "on"),
    estimation("on", "off"),
    completion("off", "on"),
    completion("on", "off"),
    reinjection("off", "on"),
    reinjection("on", "off"),
    probe("off", "two-rtts"),
    probe("two-rtts", "off"),
    slow_start("per-sack", "per-second-packet"),
    slow_start("per-second-packet", "per-sack"),
    quickest("retransmission.fast", "lowest-srtt"),
    quickest("retransmission.timer", "lowest-srtt"),
    quickest("retransmission.timer", "earliest-answer"),
    Covered {
        key: "retransmission.fast",
        value: "earliest-answer",
        against: "lowest-srtt",
        scenario: BESIDE_A_THIN_PATH,
        set: &[],
        effect: effect!(many_retransmissions_do_not_queue_up_on_a_thin_path),
    },
];

fn with(set: &[&str], key: &str, value: &str) -> RunResult {
    let edit = format!("sctp.policies.{key}={value}");
    run(QUICK_AND_SLOW, &[set, &[&edit]].concat())
}

#[test]
fn the_quickest_path_brings_the_association_about() {
    let of = |value| {
        let result = with(SLOW_FIRST, "handshake", value);
        (result.association.established_s.expect("established"), result.flows[0].last_delivery_s)
    };
    let (in_turn, at_once) = (of("primary"), of("all-paths"));
    // Two round trips of 400 ms against two of 20 ms.
    assert!(in_turn.0 > 0.8 && at_once.0 < 0.05, "{in_turn:?} against {at_once:?}");
    assert!(at_once.1.expect("delivered") < 0.5 * in_turn.1.expect("delivered"));
}

#[test]
fn new_data_that_would_block_waits_for_the_quick_path() {
    let one_path = run(QUICK_AND_SLOW, &["sctp.max_paths=1"]).goodput_bit_s;
    // By itself: a handshake that measures the slow path keeps its first packets off, too.
    let in_turn = &["sctp.policies.handshake=primary"];
    let of = |value| with(in_turn, "blocking_estimation", value).goodput_bit_s;
    let (off, on) = (of("off"), of("on"));
    assert!(on > 1.1 * off, "{on} against {off} bit/s where the slow path blocks");
    assert!(on > one_path, "{on} against {one_path} bit/s alone");
}

#[test]
fn the_end_of_a_file_keeps_off_a_thin_path() {
    let finish = |value| {
        let result = with(THIN, "earliest_completion", value);
        assert!(result.flows[0].complete);
        result.flows[0].last_delivery_s.expect("delivered")
    };
    let (off, on) = (finish("off"), finish("on"));
    assert!(on < 0.95 * off, "{on} s against {off} s");
}

#[test]
fn the_last_chunks_leave_the_slow_path() {
    let finish = |value| {
        let result = with(SHORT_FILE, "tail_reinjection", value);
        assert!(result.flows[0].complete);
        result.flows[0].last_delivery_s.expect("delivered")
    };
    let (off, on) = (finish("off"), finish("on"));
    assert!(on < 0.9 * off, "{on} s against {off} s");
}

#[test]
fn what_is_lost_at_the_end_does_not_wait_for_the_timer() {
    let of = |value| {
        let result = with(FULL_QUEUE, "tail_probe", value);
        assert!(result.flows[0].complete);
        let probes: u64 = result.paths.iter().map(|path| path.tail_probes).sum();
        (result.flows[0].last_delivery_s.expect("delivered"), probes)
    };
    let (off, on) = (of("off"), of("two-rtts"));
    assert!(off.0 > 1.0 && off.1 == 0, "{off:?}: T3-rtx ends it");
    assert!(on.0 < 0.12 && on.1 > 0, "{on:?}");
}

#[test]
fn sacks_that_were_overtaken_count_in_slow_start() {
    let of = |value| {
        let result = with(OVERTAKEN, "window.slow_start", value);
        assert!(result.flows[0].complete);
        result.flows[0].last_delivery_s.expect("delivered")
    };
    let (each, second) = (of("per-sack"), of("per-second-packet"));
    assert!(second < 0.95 * each, "{second} s against {each} s");
}

/// SACKs for both paths that return in turn tell the quick one soon enough; those that follow the last DATA return on the
/// slow one while both bring as many packets.
#[test]
fn sacks_of_the_quick_path_do_not_all_take_the_slow_one() {
    let of = |value| {
        let result = with(ALIKE, "sack_path", value);
        result.flows[0].last_delivery_s.expect("delivered")
    };
    let (last, turns) = (of("last-data"), of("round-robin"));
    assert!(turns < 0.95 * last, "{turns} s against {last} s");
}

/// The quick path has lost all that its window admits, and waits for SACKs that the slow one brings late.
#[test]
fn a_silent_path_is_probed_while_there_is_more_to_send() {
    let of = |value| {
        let probes = format!("sctp.policies.tail_probe={value}");
        let quick = "network.disjoint.paths.quick.bottleneck.delay=1 ms";
        // The quick path must be silent for more than want of data.
        let (sacks, notice) =
            ("sctp.policies.sack_path=last-data", "sctp.policies.send_room_notice=batch");
        let set = [ALIKE, &[sacks, notice, quick, &probes]].concat();
        let result = run(QUICK_AND_SLOW, &set);
        result.flows[0].last_delivery_s.expect("delivered")
    };
    let (off, on) = (of("off"), of("two-rtts"));
    assert!(on < 0.95 * off, "{on} s against {off} s");
}

#[test]
fn a_chunk_on_the_slow_path_waits_for_room_on_the_quick_one() {
    let file_over = |set: &[&str]| {
        let result = run(QUICK_AND_SLOW, set);
        assert!(result.flows[0].complete);
        result.flows[0].last_delivery_s.expect("delivered")
    };
    let both = file_over(QUICK_ALONE);
    let mut alone = QUICK_ALONE.to_vec();
    alone.push("sctp.policies.path_order=primary");
    let quick = file_over(&alone);
    assert!(both < 1.02 * quick, "{both} s against {quick} s");
}

#[test]
fn retransmissions_on_the_quickest_path_arrive_first() {
    let of = |value| with(SLOW_LOSES, "retransmission.fast", value).goodput_bit_s;
    let same = of("same");
    for value in ["lowest-srtt", "earliest-answer"] {
        let quickest = of(value);
        assert!(quickest > 1.02 * same, "{value}: {quickest} against {same} bit/s");
    }
}

/// The quick path loses many packets: at random, and at a time when its queue is full. The thin one has the lower RTT for one packet, of
/// 50 ms, but needs 48 ms more for each further one.
const BESIDE_A_THIN_PATH: &str = r#"
title = "A fast path with a small queue beside a thin one"

[run]
duration = "5 s"

[[network.disjoint.paths]]
name = "quick"
bottleneck = { rate = "300 Mbit/s", delay = "30 ms", queue = { drop-tail = { packets = 160 } }, loss = { forward = "0.5 %" } }

[[network.disjoint.paths]]
name = "thin"
bottleneck = { rate = "250 kbit/s", delay = "500 us", queue = { drop-tail = { packets = 5 } } }

[[traffic]]
name = "bulk"
source = "saturated"
message_size = "1452 B"

[sctp]
preset = "recommended"
send_buffer = "2400 KiB"
receive_buffer = "2400 KiB"
policies = { data_ahead = "off" }
"#;

#[test]
fn many_retransmissions_do_not_queue_up_on_a_thin_path() {
    let of = |value| {
        let edit = format!("sctp.policies.retransmission.fast={value}");
        run(BESIDE_A_THIN_PATH, &[&edit]).goodput_bit_s
    };
    let (lowest, earliest) = (of("lowest-srtt"), of("earliest-answer"));
    assert!(earliest > 1.05 * lowest, "{earliest} against {lowest} bit/s");
}

/// Gap ack blocks reach 65,535 TSNs, of which the quick path brings 200,000 a second; the thin one needs 90 ms for a packet, and
/// 40 ms for each more in its queue.
const SMALL_MESSAGES: &str = r#"
title = "Small messages over a fast path and a thin one"

[run]
duration = "2 s"
measure_from = "0.5 s"

[[network.disjoint.paths]]
name = "quick"
bottleneck = { rate = "400 Mbit/s", delay = "10 ms", queue = { drop-tail = { packets = 700 } } }

[[network.disjoint.paths]]
name = "thin"
bottleneck = { rate = "0.3 Mbit/s", delay = "50 ms" }

[[traffic]]
name = "bulk"
source = "saturated"
message_size = "200 B"
delivery = "unordered"

[sctp]
preset = "recommended"
send_buffer = "32 MiB"
receive_buffer = "32 MiB"
"#;

#[test]
fn a_thin_path_leaves_the_quick_one_the_range_of_gap_ack_blocks() {
    let alone = "faults=[{outage={path=\"thin\",from=\"0 s\",until=\"100 s\"}}]";
    let goodput = |set: &[&str]| run(SMALL_MESSAGES, set).goodput_bit_s;
    let (both, alone) = (goodput(&[]), goodput(&[alone]));
    assert!(both > 0.95 * alone, "{both} against {alone} bit/s");
}
