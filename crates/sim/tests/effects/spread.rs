//! Packets spread over time and over paths, and what a sender believes of a path.

use polypath_sim::RunResult;

use crate::{Covered, effect, run};

const BURSTS: &str = r#"
title = "SACKs that return over the shorter path arrive first"

[run]
duration = "5 s"

[[network.disjoint.paths]]
name = "thick"
bottleneck = { rate = "100 Mbit/s", delay = "15 ms", queue = { drop-tail = { packets = 60 } } }

[[network.disjoint.paths]]
name = "thin"
bottleneck = { rate = "2 Mbit/s", delay = "1 ms", queue = { drop-tail = { packets = 50 } } }

[[traffic]]
name = "flow"
source = "saturated"
message_size = "1452 B"
delivery = "unordered"

[sctp]
preset = "recommended"
send_buffer = "1 MiB"
receive_buffer = "1 MiB"
"#;

const VOICE: &str = r#"
title = "Voice over two paths, one of which loses"

[run]
duration = "20 s"

[[network.disjoint.paths]]
name = "thick"
bottleneck = { rate = "16 Mbit/s", delay = "15 ms", loss = { forward = "3 %" } }

[[network.disjoint.paths]]
name = "thin"
bottleneck = { rate = "16 Mbit/s", delay = "20 ms" }

[[traffic]]
name = "flow"
source = { constant = { rate = "64 kbit/s" } }
message_size = "160 B"
delivery = "unordered"

[sctp]
preset = "recommended"
send_buffer = "1 MiB"
receive_buffer = "1 MiB"
"#;

const AHEAD: &str = r#"
title = "A file over a quick thin path and a slow thick one"

[run]
duration = "5 s"
measure_from = "0 s"

[[network.disjoint.paths]]
name = "thin"
bottleneck = { rate = "250 kbit/s", delay = "1 ms", queue = { drop-tail = { packets = 100 } } }

[[network.disjoint.paths]]
name = "thick"
bottleneck = { rate = "20 Mbit/s", delay = "60 ms", queue = { drop-tail = { packets = 400 } } }

[[traffic]]
name = "flow"
source = { file = "100 kB" }
message_size = "1452 B"
delivery = "ordered"

[sctp]
preset = "recommended"
send_buffer = "1 MiB"
receive_buffer = "1 MiB"
"#;

/// The thin path needs 48 ms for a packet; what a small INIT meets is 6 ms.
const SMALL_BUFFERS: &str = r#"
title = "Small buffers, and a path of 250 kbit/s beside one of 140 Mbit/s"

[run]
duration = "5 s"

[[network.disjoint.paths]]
name = "thick"
bottleneck = { rate = "140 Mbit/s", delay = "14 ms" }

[[network.disjoint.paths]]
name = "thin"
bottleneck = { rate = "250 kbit/s", delay = "3 ms", queue = { drop-tail = { packets = 5 } } }

[[traffic]]
name = "flow"
source = "saturated"
message_size = "1452 B"
delivery = "ordered"

[sctp]
preset = "recommended"
send_buffer = "64 KiB"
receive_buffer = "64 KiB"
"#;

const fn covered(
    key: &'static str,
    [value, against]: [&'static str; 2],
    scenario: &'static str,
    effect: (&'static str, fn()),
) -> Covered {
    Covered { key, value, against, scenario, set: &[], effect }
}

pub const COVERAGE: &[Covered] = &[
    covered("pacing", ["on", "off"], BURSTS, effect!(a_pace_keeps_bursts_out_of_queues)),
    covered("pacing", ["off", "on"], BURSTS, effect!(a_pace_keeps_bursts_out_of_queues)),
    covered("data_copies", ["on", "off"], VOICE, effect!(a_copy_arrives_when_the_first_is_lost)),
    covered("data_copies", ["off", "on"], VOICE, effect!(a_copy_arrives_when_the_first_is_lost)),
    covered("data_ahead", ["on", "off"], AHEAD, effect!(data_ahead_saves_round_trips)),
    covered("data_ahead", ["off", "on"], AHEAD, effect!(data_ahead_saves_round_trips)),
    covered(
        "control_rtt",
        ["provisional", "counts"],
        SMALL_BUFFERS,
        effect!(small_packets_say_little_of_a_thin_path),
    ),
    covered(
        "control_rtt",
        ["counts", "provisional"],
        SMALL_BUFFERS,
        effect!(small_packets_say_little_of_a_thin_path),
    ),
    covered(
        "sack_request",
        ["when-needed", "at-shutdown"],
        VOICE,
        effect!(the_last_message_that_waits_is_answered_at_once),
    ),
    covered(
        "sack_request",
        ["at-shutdown", "when-needed"],
        VOICE,
        effect!(the_last_message_that_waits_is_answered_at_once),
    ),
    covered(
        "delayed_ack.scope",
        ["path", "association"],
        BURSTS,
        effect!(each_path_counts_its_own_packets),
    ),
    covered(
        "delayed_ack.scope",
        ["association", "path"],
        BURSTS,
        effect!(each_path_counts_its_own_packets),
    ),
];

fn with(scenario: &str, edits: &[&str]) -> RunResult {
    let edits: Vec<String> = edits.iter().map(|edit| format!("sctp.policies.{edit}")).collect();
    run(scenario, &edits.iter().map(String::as_str).collect::<Vec<_>>())
}

fn p99_s(result: &RunResult) -> f64 {
    result.flows[0].delay.p99_s.expect("messages arrived")
}

#[test]
fn a_pace_keeps_bursts_out_of_queues() {
    let burst = "burst={ max-burst = 4 }";
    let [on, off] = ["pacing=on", "pacing=off"].map(|pacing| with(BURSTS, &[pacing, burst]));
    assert!(
        on.goodput_bit_s > 1.1 * off.goodput_bit_s,
        "{} against {}",
        on.goodput_bit_s,
        off.goodput_bit_s
    );
}

#[test]
fn a_copy_arrives_when_the_first_is_lost() {
    let [on, off] =
        ["on", "off"].map(|value| p99_s(&with(VOICE, &[&format!("data_copies={value}")])));
    assert!(on < 0.025 && off > 0.04, "{on} s against {off} s");
}

/// The first windows of the thick path are on their way while the thin one carries a packet or two.
#[test]
fn data_ahead_saves_round_trips() {
    let finish = |value: &str| {
        let result = with(AHEAD, &[&format!("data_ahead={value}")]);
        result.flows[0].last_delivery_s.expect("delivered")
    };
    let [on, off] = ["on", "off"].map(finish);
    assert!(off - on > 0.12, "{on} s against {off} s: a round trip of the thick path");
}

/// The thin path would carry what the file begins with. Over a longer time data measures it, whatever came first, and so does a SACK for
/// the data that comes over another path, which counts in neither run.
#[test]
fn small_packets_say_little_of_a_thin_path() {
    let file = "traffic.flow.source={ file = \"100 kB\" }";
    let thin = "network.disjoint.paths.thin.bottleneck.delay=6 ms";
    let finish = |control: &str| {
        let control = format!("sctp.policies.control_rtt={control}");
        let own_sacks = "sctp.policies.rtt_sample=path-bound";
        let result = run(SMALL_BUFFERS, &[file, thin, &control, own_sacks, "run.measure_from=0 s"]);
        result.flows[0].last_delivery_s.expect("delivered")
    };
    let (provisional, counts) = (finish("provisional"), finish("counts"));
    assert!(provisional < 0.95 * counts, "{provisional} s against {counts} s");
}

#[test]
fn the_last_message_that_waits_is_answered_at_once() {
    let sacks = |value| {
        let result = with(VOICE, &[&format!("sack_request={value}"), "data_copies=off"]);
        result.hosts[1].sacks_sent as f64 / result.flows[0].messages_sent as f64
    };
    let [needed, never] = ["when-needed", "at-shutdown"].map(sacks);
    assert!(needed > 0.9 && never < 0.7, "{needed} and {never} SACKs for each message");
}

#[test]
fn each_path_counts_its_own_packets() {
    let sacks = |value| {
        let result = with(BURSTS, &[&format!("delayed_ack.scope={value}")]);
        let data: u64 = result.paths.iter().map(|path| path.data_packets_sent).sum();
        result.hosts[1].sacks_sent as f64 / data as f64
    };
    // One for each second packet either way; but what another path brought does not make up for one of its own.
    let [path, association] = ["path", "association"].map(sacks);
    assert!(
        (0.45..0.6).contains(&path) && (0.45..0.6).contains(&association),
        "{path} {association}"
    );
    assert!(path != association);
}
