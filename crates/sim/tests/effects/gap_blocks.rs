//! More gap ack blocks than a SACK has room for.

use polypath_sim::RunResult;

use crate::{Covered, effect, run};

/// What is in flight on the slow path leaves a thousand holes. What is lost is found and repaired in the plain way.
const LONG_PIPE: &str = r#"
title = "Two paths with round trips of 20 and 400 ms"

[run]
duration = "16 s"
measure_from = "8 s"

[[network.disjoint.paths]]
name = "quick"
bottleneck = { rate = "50 Mbit/s", delay = "10 ms" }

[[network.disjoint.paths]]
name = "slow"
bottleneck = { rate = "50 Mbit/s", delay = "200 ms", queue = { drop-tail = { packets = 1600 } } }

[[traffic]]
name = "bulk"
source = "saturated"
message_size = "1452 B"

[sctp]
preset = "recommended"
send_buffer = "32 MiB"
receive_buffer = "32 MiB"
policies = { congestion = "cmt", pacing = "off", burst = { max-burst = 4 }, data_copies = "off", control_rtt = "counts", sack_request = "at-shutdown", rtt_sample = "classic", delayed_ack = { scope = "association" }, rto = { min = "1 s" }, retransmission = { no_window = "next" }, fast_retransmit = { reports = "per-sack" } }
"#;

/// A receiver that gives no promise.
const WITHOUT_PROMISE: &[&str] = &["sctp.policies.nr_sack=off"];
const PACKET_BY_PACKET: &[&str] = &["sctp.policies.path_fill=packet-by-packet"];

pub const COVERAGE: &[Covered] = &[
    Covered {
        key: "path_fill",
        value: "runs",
        against: "packet-by-packet",
        scenario: LONG_PIPE,
        set: WITHOUT_PROMISE,
        effect: effect!(runs_leave_fewer_holes),
    },
    Covered {
        key: "nr_sack",
        value: "all-in-turn",
        against: "all",
        scenario: LONG_PIPE,
        set: PACKET_BY_PACKET,
        effect: effect!(blocks_in_turn_report_what_the_quick_path_brings),
    },
];

fn with(policy: &str, set: &[&str]) -> RunResult {
    let edit = format!("sctp.policies.{policy}");
    run(LONG_PIPE, &[set, &[&edit]].concat())
}

/// The quick path waits for the slow one's round trips while the lowest holes fill every SACK.
#[test]
fn runs_leave_fewer_holes() {
    let runs = with("path_fill=runs", WITHOUT_PROMISE);
    let single = with("path_fill=packet-by-packet", WITHOUT_PROMISE);
    let gain = runs.goodput_bit_s / single.goodput_bit_s;
    assert!(gain > 1.1, "{gain}");
}

#[test]
fn blocks_in_turn_report_what_the_quick_path_brings() {
    let in_turn = with("nr_sack=all-in-turn", PACKET_BY_PACKET);
    let lowest = with("nr_sack=all", PACKET_BY_PACKET);
    let gain = in_turn.goodput_bit_s / lowest.goodput_bit_s;
    assert!(gain > 1.3, "{gain}");
    assert!(in_turn.goodput_bit_s > 90e6, "nearly all of both: {}", in_turn.goodput_bit_s);
    let repeated: u64 = in_turn.paths.iter().map(|path| path.fast_retransmissions).sum();
    let dropped: u64 = in_turn.bottlenecks.iter().map(|queue| queue.dropped_queue_full).sum();
    assert!(repeated <= dropped, "what is left out is not missing: {repeated} of {dropped}");
}
