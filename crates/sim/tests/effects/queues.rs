//! Queue disciplines: not policies of SCTP, but each has the effect for which it exists on a flow of it.

use polypath_sim::{BottleneckResult, RunResult};

use crate::run;

/// One saturated path; its bottleneck's product of rate and round-trip time is 34 packets.
const ONE: &str = r#"
title = "One path"

[run]
duration = "25 s"
measure_from = "5 s"

[[network.disjoint.paths]]
name = "path"
access = { rate = "1 Gbit/s" }

[network.disjoint.paths.bottleneck]
rate = "10 Mbit/s"
delay = "20 ms"

[[traffic]]
name = "bulk"
source = "saturated"
message_size = "1452 B"

[sctp]
preset = "cmt"
"#;

/// A saturated flow, and a file of another association, over one bottleneck.
const SPARSE: &str = r#"
title = "A file beside a saturated flow"

[run]
duration = "12 s"

[[network.shared.routes]]
name = "core"

[network.shared.routes.bottleneck]
rate = "10 Mbit/s"
delay = "10 ms"

[[network.shared.pairs]]
name = "bulk"
paths = [{ name = "only", route = "core", access = { rate = "1 Gbit/s" } }]

[[network.shared.pairs]]
name = "sparse"
paths = [{ name = "only", route = "core", access = { rate = "1 Gbit/s" } }]

[[traffic]]
name = "bulk"
pair = "bulk"
source = "saturated"
message_size = "1452 B"

[[traffic]]
name = "file"
pair = "sparse"
source = { file = "20 kB" }
message_size = "1000 B"
start = "8 s"

[sctp]
preset = "cmt"
"#;

const DROP_TAIL: &str = "{ drop-tail = { packets = 100 } }";
const RED: &str = "{ red = { min = { packets = 20 }, max = { packets = 80 }, limit = { packets = 100 }, max_p = '5 %' } }";
const CODEL: &str = "{ codel = {} }";
const FQ_CODEL: &str = "{ fq-codel = {} }";

fn one(queue: &str) -> RunResult {
    run(ONE, &[&format!("network.disjoint.paths.path.bottleneck.queue={queue}")])
}

/// The bottleneck's direction of data.
fn forward(result: &RunResult) -> &BottleneckResult {
    &result.bottlenecks[0]
}

/// Mean waiting time at 10 Mbit/s, in ms.
fn mean_wait_ms(result: &RunResult) -> f64 {
    8.0 * forward(result).queue_mean_bytes / 10e6 * 1e3
}

#[test]
fn random_early_detection_keeps_queues_short_at_full_use() {
    let (drop_tail, red) = (one(DROP_TAIL), one(RED));
    let waits = [mean_wait_ms(&red), mean_wait_ms(&drop_tail)];
    assert!(waits[0] < 0.5 * waits[1], "{waits:?}");
    let goodputs = [red.goodput_bit_s, drop_tail.goodput_bit_s];
    assert!(goodputs[0] > 0.95 * goodputs[1], "{goodputs:?}");
    assert_eq!(forward(&drop_tail).dropped_early, 0);
    assert!(forward(&red).dropped_early > 10);
}

#[test]
fn controlled_delay_keeps_waiting_near_its_target() {
    let drop_tail = one(DROP_TAIL);
    let codel = one(CODEL);
    assert!((1.0..8.0).contains(&mean_wait_ms(&codel)), "{}", mean_wait_ms(&codel));
    assert!(mean_wait_ms(&drop_tail) > 4.0 * mean_wait_ms(&codel));
    assert!(codel.goodput_bit_s > 0.85 * drop_tail.goodput_bit_s);
    assert!(forward(&codel).dropped_early > 5);
    // Another target, another queue.
    let patient = one("{ codel = { target = '20 ms' } }");
    assert!(mean_wait_ms(&patient) > 1.5 * mean_wait_ms(&codel), "{}", mean_wait_ms(&patient));
}

#[test]
fn fair_queues_let_a_sparse_flow_pass() {
    let seconds = |queue: &str| {
        let result =
            run(SPARSE, &[&format!("network.shared.routes.core.bottleneck.queue={queue}")]);
        result.flows[1].last_delivery_s.expect("a delivered file") - 8.0
    };
    let (drop_tail, fair) = (seconds(DROP_TAIL), seconds(FQ_CODEL));
    assert!(fair < 0.3 * drop_tail, "{drop_tail} {fair}");
}

#[test]
fn fair_queues_give_equal_shares_whatever_the_flows_do() {
    // One has three times the round-trip time of the other.
    let edits = |queue: &str| {
        [
            format!("network.shared.routes.core.bottleneck.queue={queue}"),
            "traffic.file.source=saturated".to_owned(),
            "traffic.file.start=0 s".to_owned(),
            "network.shared.pairs.sparse.paths.0.access.delay=10 ms".to_owned(),
        ]
    };
    let share = |queue: &str| {
        let edits = edits(queue);
        let result = run(SPARSE, &edits.each_ref().map(String::as_str));
        result.flows[1].goodput_bit_s / result.goodput_bit_s
    };
    let (drop_tail, fair) = (share(DROP_TAIL), share(FQ_CODEL));
    assert!((fair - 0.5).abs() < 0.1 && drop_tail < 0.4, "{drop_tail} {fair}");
}
