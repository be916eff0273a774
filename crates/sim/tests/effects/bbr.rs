//! What BBR and the pace make of paths that lose packets although they are not full.

use crate::run;

/// A queue of 1.5 ms before a path of 90 ms: each probe loses a fifth, whatever is in flight.
const SHORT_QUEUE: &str = r#"
title = "A long path with a short queue"

[run]
duration = "20 s"
measure_from = "5 s"

[[network.disjoint.paths]]
name = "long"
bottleneck = { rate = "100 Mbit/s", delay = "45 ms", queue = { drop-tail = { packets = 13 } } }

[[traffic]]
name = "bulk"
from = "a"
source = "saturated"
message_size = "1452 B"

[sctp]
preset = "recommended"
send_buffer = "8 MiB"
receive_buffer = "8 MiB"
"#;

/// What a full path bears is no sign of congestion, and the next probe is not needed to come back to it.
#[test]
fn bbr_fills_a_path_with_a_short_queue() {
    let alone = run(SHORT_QUEUE, &[]).goodput_bit_s;
    assert!(alone > 88e6, "{alone}");
}

/// SACKs that return over a thin path with a short way back do not halve the round trip, and with it what may be in flight.
#[test]
fn bbr_measures_a_path_by_the_sacks_that_return_over_it() {
    let beside = r#"
[[network.disjoint.paths]]
name = "thin"
bottleneck = { rate = "1 Mbit/s", delay = "1 ms" }

[[traffic]]"#;
    let both = run(&SHORT_QUEUE.replace("[[traffic]]", beside), &[]).goodput_bit_s;
    assert!(both > 80e6, "{both}");
}

/// 3.1 % of the packets are lost, in bursts of eight, and 96.9 Mbit/s are left. A probe with a burst in it is no failure where bursts
/// come without probes, too.
#[test]
fn bbr_bears_bursts_of_loss() {
    let bursts = [
        r#"network.disjoint.paths.long.bottleneck={ rate = "100 Mbit/s", delay = "40 ms", queue = { drop-tail = { packets = 300 } }, gilbert_elliott = { to_bad = "0.4 %", to_good = "12.5 %" } }"#,
        "sctp.send_buffer=32 MiB",
        "sctp.receive_buffer=32 MiB",
        "run.duration=15 s",
    ];
    let goodput = |seed: u32| {
        let seed = format!("run.seed={seed}");
        run(SHORT_QUEUE, &[&bursts[..], &[&seed]].concat()).goodput_bit_s
    };
    let goodputs: Vec<f64> = (1..=6).map(goodput).collect();
    assert!(goodputs.iter().all(|goodput| *goodput > 80e6), "{goodputs:?}");
    assert!(goodputs.iter().sum::<f64>() > 6.0 * 87e6, "{goodputs:?}");
}

/// A buffer full per round trip is 83.9 Mbit/s. At the rate that the path bears, what a gap has held up overflows the queue when it is
/// released, and there is another gap.
#[test]
fn a_small_buffer_sets_the_pace() {
    let small = [
        r#"network.disjoint.paths.long.bottleneck={ rate = "500 Mbit/s", delay = "50 ms", queue = { drop-tail = { packets = 10 } } }"#,
        "sctp.send_buffer=1 MiB",
        "sctp.receive_buffer=1 MiB",
        "run.duration=10 s",
        "run.measure_from=3 s",
    ];
    let goodput = run(SHORT_QUEUE, &small).goodput_bit_s;
    assert!(goodput > 65e6, "{goodput}");
}
