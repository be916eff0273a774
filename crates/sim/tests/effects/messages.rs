//! What messages may ask for, and the order of streams.

use polypath_sim::RunResult;

use crate::{Covered, effect, run};

const fn scheduler(
    value: &'static str,
    against: &'static str,
    effect: (&'static str, fn()),
) -> Covered {
    Covered { key: "stream_scheduler", value, against, scenario: STREAMS, set: LATE, effect }
}

const fn reliability(
    value: &'static str,
    against: &'static str,
    scenario: &'static str,
    effect: (&'static str, fn()),
) -> Covered {
    Covered { key: "partial_reliability", value, against, scenario, set: &[], effect }
}

const fn interleaving(value: &'static str, against: &'static str) -> Covered {
    let effect = effect!(short_messages_do_not_wait_for_long_ones);
    Covered { key: "message_interleaving", value, against, scenario: LONG, set: &[], effect }
}

pub const COVERAGE: &[Covered] = &[
    reliability("none", RTX_0, LOSSY, effect!(without_retransmissions_a_lossy_path_is_fast)),
    reliability("{ timed = \"500 ms\" }", "none", LOSSY, effect!(nothing_stale_is_delivered)),
    reliability(RTX_0, "none", LOSSY, effect!(without_retransmissions_a_lossy_path_is_fast)),
    reliability("{ priority = 5 }", "none", CROWDED, effect!(priority_makes_room)),
    scheduler("fcfs", "fair", effect!(first_come_first_served_keeps_the_order_of_sending)),
    scheduler("round-robin", "fcfs", effect!(round_robin_gives_each_stream_as_many_messages)),
    scheduler("round-robin-per-packet", "round-robin", effect!(a_packet_has_one_stream)),
    scheduler("priority", "round-robin", effect!(priority_starves_what_is_less_urgent)),
    scheduler("fair", "round-robin", effect!(fair_gives_each_stream_as_many_bytes)),
    scheduler("weighted-fair", "fair", effect!(weights_divide_the_capacity)),
    interleaving("on", "off"),
    interleaving("off", "on"),
];

/// The first stream begins later than the second.
const LATE: &[&str] = &["traffic.small.start=500 ms"];

/// Two streams that have everything to send in the send buffer from the beginning on, and more than the path carries in
/// the time. The first has small messages and three times the weight, or the lower priority.
const STREAMS: &str = r#"
title = "Two streams with messages of different sizes"

[run]
duration = "3 s"

[[network.disjoint.paths]]
name = "only"

[network.disjoint.paths.bottleneck]
rate = "4 Mbit/s"
delay = "10 ms"
queue = { drop-tail = { packets = 50 } }

[[traffic]]
name = "small"
source = { file = "4 MB" }
message_size = "300 B"
stream_values = [3]

[[traffic]]
name = "large"
source = { file = "4 MB" }
message_size = "1400 B"
first_stream = 1
stream_values = [1]

[sctp]
preset = "cmt"
send_buffer = "16 MiB"
"#;

fn with_scheduler(value: &str) -> RunResult {
    let result = run(STREAMS, &[&format!("sctp.policies.stream_scheduler={value}")]);
    assert!(result.flows.iter().all(|flow| !flow.complete), "the streams are no longer saturated");
    result
}

/// How many messages, and how many bytes, of the first stream were delivered for one of the second.
fn shares(result: &RunResult) -> (f64, f64) {
    let [first, second] = &result.flows[..] else { panic!("two flows") };
    let of = |first: u64, second: u64| first as f64 / (second as f64).max(1.0);
    let messages = of(first.messages_delivered, second.messages_delivered);
    (messages, of(first.bytes_delivered, second.bytes_delivered))
}

#[track_caller]
fn near(value: f64, expected: f64) {
    assert!((value / expected - 1.0).abs() < 0.02, "{value} is not near {expected}");
}

#[test]
fn first_come_first_served_keeps_the_order_of_sending() {
    // The host hands over a message of each in turn; what comes later waits until all of that is sent.
    near(shares(&with_scheduler("fcfs")).0, 1.0);
    let small = |scheduler: &str| {
        let policy = format!("sctp.policies.stream_scheduler={scheduler}");
        run(STREAMS, &[LATE, &[&policy]].concat()).flows[0].messages_delivered
    };
    assert_eq!(small("fcfs"), 0);
    assert!(small("round-robin") > 300);
}

#[test]
fn round_robin_gives_each_stream_as_many_messages() {
    let (messages, bytes) = shares(&with_scheduler("round-robin"));
    near(messages, 1.0);
    assert!(bytes < 0.25);
}

#[test]
fn a_packet_has_one_stream() {
    // Four small messages fill a packet, or one large one.
    near(shares(&with_scheduler("round-robin-per-packet")).0, 4.0);
}

#[test]
fn priority_starves_what_is_less_urgent() {
    let result = with_scheduler("priority");
    assert_eq!(result.flows[0].messages_delivered, 0);
    assert!(result.flows[1].goodput_bit_s > 3e6);
}

#[test]
fn fair_gives_each_stream_as_many_bytes() {
    near(shares(&with_scheduler("fair")).1, 1.0);
}

#[test]
fn weights_divide_the_capacity() {
    near(shares(&with_scheduler("weighted-fair")).1, 3.0);
}

/// Long messages, and later many short ones on another stream.
const LONG: &str = r#"
title = "Short messages beside long ones"

[run]
duration = "4 s"

[[network.disjoint.paths]]
name = "only"

[network.disjoint.paths.bottleneck]
rate = "4 Mbit/s"
delay = "10 ms"
queue = { drop-tail = { packets = 50 } }

[[traffic]]
name = "long"
source = { file = "8 MB" }
message_size = "200 kB"

[[traffic]]
name = "short"
start = "500 ms"
source = { file = "60 kB" }
message_size = "300 B"
first_stream = 1

[sctp]
preset = "cmt"
send_buffer = "16 MiB"
policies.stream_scheduler = "round-robin"
"#;

#[test]
fn short_messages_do_not_wait_for_long_ones() {
    let with = |value: &str| run(LONG, &[&format!("sctp.policies.message_interleaving={value}")]);
    let (off, on) = (with("off"), with("on"));
    // A short one for each long one, or a short one for each chunk of a long one.
    let short = |result: &RunResult| result.flows[1].messages_delivered;
    assert!((3..15).contains(&short(&off)), "{}", short(&off));
    assert_eq!(short(&on), 200);
    let all = |result: &RunResult| result.flows.iter().map(|it| it.bytes_delivered).sum::<u64>();
    let part = all(&on) as f64 / all(&off) as f64;
    assert!((0.85..1.05).contains(&part), "{part}");
}

const RTX_0: &str = "{ limited-retransmissions = 0 }";

/// A file over a path that loses every tenth packet.
const LOSSY: &str = r#"
title = "A file over a lossy path"

[run]
duration = "60 s"

[[network.disjoint.paths]]
name = "only"

[network.disjoint.paths.bottleneck]
rate = "4 Mbit/s"
delay = "20 ms"
queue = { drop-tail = { packets = 50 } }
loss = { forward = "10 %" }

[[traffic]]
name = "file"
source = { file = "300 kB" }
message_size = "1000 B"

[sctp]
preset = "cmt"
send_buffer = "1 MiB"
"#;

fn with_reliability(scenario: &str, value: &str) -> RunResult {
    run(scenario, &[&format!("sctp.policies.partial_reliability={value}")])
}

#[test]
fn without_retransmissions_a_lossy_path_is_fast() {
    let all = with_reliability(LOSSY, "none");
    let some = with_reliability(LOSSY, RTX_0);
    assert_eq!((all.flows[0].messages_delivered, all.flows[0].messages_abandoned), (300, 0));
    let flow = &some.flows[0];
    assert!(flow.complete);
    assert_eq!(flow.messages_delivered + flow.messages_abandoned, 300);
    assert!((15..60).contains(&flow.messages_abandoned), "{}", flow.messages_abandoned);
    let [all, some] = [all, some].map(|result| result.completed_s.unwrap());
    assert!(some < 0.9 * all, "{some} s against {all} s");
}

#[test]
fn nothing_stale_is_delivered() {
    // In order, what is fresh may have to wait until the loss of something stale is detected.
    let run = |reliability: &str| {
        let policy = format!("sctp.policies.partial_reliability={reliability}");
        run(LOSSY, &["traffic.file.delivery=unordered", &policy])
    };
    let all = run("none");
    let fresh = run("{ timed = \"500 ms\" }");
    // All messages were handed over when the association was established.
    let oldest = |result: &RunResult| {
        result.flows[0].last_delivery_s.unwrap() - result.association.established_s.unwrap()
    };
    assert!(oldest(&all) > 3.0);
    assert!(oldest(&fresh) < 0.7, "{}", oldest(&fresh));
    assert!(fresh.flows[0].messages_abandoned > 100);
    assert!(fresh.flows[0].messages_delivered > 20);
}

/// A flow that fills the send buffer, and later a file that is more important.
const CROWDED: &str = r#"
title = "Something important comes late"

[run]
duration = "6 s"

[[network.disjoint.paths]]
name = "only"

[network.disjoint.paths.bottleneck]
rate = "2 Mbit/s"
delay = "10 ms"
queue = { drop-tail = { packets = 50 } }

[[traffic]]
name = "bulk"
source = "saturated"
message_size = "1000 B"

[[traffic]]
name = "important"
start = "1 s"
source = { file = "400 kB" }
message_size = "1000 B"
first_stream = 1
reliability = { priority = 1 }

[sctp]
preset = "cmt"
send_buffer = "128 KiB"
"#;

#[test]
fn priority_makes_room() {
    let equal = with_reliability(CROWDED, "none");
    let less = with_reliability(CROWDED, "{ priority = 5 }");
    let last = |result: &RunResult| result.flows[1].last_delivery_s.unwrap();
    assert!(less.flows[1].complete && less.flows[1].messages_abandoned == 0);
    assert!(less.flows[0].messages_abandoned > 50);
    assert!(last(&less) < 0.9 * last(&equal), "{} against {}", last(&less), last(&equal));
}
