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
policies = { congestion = "cmt", pacing = "off", burst = { max-burst = 4 }, data_copies = "off", data_ahead = "off", control_rtt = "counts", sack_request = "at-shutdown", rtt_sample = "classic", delayed_ack = { scope = "association" }, rto = { min = "1 s" }, retransmission = { no_window = "next" }, fast_retransmit = { reports = "per-sack" } }
"#;

/// A quick path whose way back has a fifteenth of its rate, which SACKs with all those blocks fill.
const SLOW_BACK: &str = r#"
title = "Two paths with round trips of 10 and 200 ms, and a slow way back"

[run]
duration = "10 s"
measure_from = "4 s"

[[network.disjoint.paths]]
name = "quick"
bottleneck = { rate = "50 Mbit/s", delay = "5 ms", backward = { rate = "3.3 Mbit/s", delay = "5 ms" } }

[[network.disjoint.paths]]
name = "slow"
bottleneck = { rate = "10 Mbit/s", delay = "100 ms" }

[[traffic]]
name = "bulk"
source = "saturated"
message_size = "1452 B"

[sctp]
preset = "recommended"
send_buffer = "32 MiB"
receive_buffer = "32 MiB"
"#;

/// The same with a quicker path, beside one of which a thousand packets leave holes.
const THIN_BACK: &[&str] = &[
    "network.disjoint.paths.quick.bottleneck.rate=150 Mbit/s",
    "network.disjoint.paths.quick.bottleneck.backward.rate=9 Mbit/s",
    "network.disjoint.paths.slow.bottleneck.rate=50 Mbit/s",
    "network.disjoint.paths.slow.bottleneck.delay=250 ms",
];

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
    Covered {
        key: "delayed_ack.volume",
        value: "part-of-data",
        against: "any",
        scenario: SLOW_BACK,
        set: &[],
        effect: effect!(large_sacks_answer_more_packets),
    },
    Covered {
        key: "delayed_ack.volume",
        value: "any",
        against: "part-of-data",
        scenario: SLOW_BACK,
        set: &[],
        effect: effect!(large_sacks_answer_more_packets),
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

/// With what SACKs need, the quick path carries what its way back admits. They still come many times in a round trip.
#[test]
fn large_sacks_answer_more_packets() {
    let with = |volume| run(SLOW_BACK, &[&format!("sctp.policies.delayed_ack.volume={volume}")]);
    let (any, part) = (with("any"), with("part-of-data"));
    assert!(part.goodput_bit_s > 1.1 * any.goodput_bit_s, "{}", any.goodput_bit_s);
    assert!(part.goodput_bit_s > 55e6, "{}", part.goodput_bit_s);
    // 4,300 packets a second on the quick path, 43 in a round trip.
    let sacks = part.hosts[1].sacks_sent as f64 / 10.0;
    assert!((700.0..2200.0).contains(&sacks), "{sacks}");
}

/// Of several hundred blocks each SACK names those around what came in last: a third of its bytes.
#[test]
fn what_came_in_last_needs_no_long_sacks() {
    let with = |nr_sack: &str| {
        run(SLOW_BACK, &[THIN_BACK, &[&format!("sctp.policies.nr_sack={nr_sack}")]].concat())
    };
    let (all, news) = (with("all"), with("all-in-turn"));
    let goodput = [&all, &news].map(|result| result.goodput_bit_s / 1e6);
    assert!(goodput[1] > 1.2 * goodput[0], "{goodput:?} Mbit/s");
    assert!(goodput[1] > 175.0, "nearly all of both: {goodput:?} Mbit/s");
}
