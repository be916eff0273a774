//! What BBR and the pace make of paths that lose packets although they are not full.

use crate::run;

const BURSTS: &str = r#"
title = "A path that loses in bursts of eight"

[run]
duration = "15 s"
measure_from = "5 s"

[[network.disjoint.paths]]
name = "radio"

[network.disjoint.paths.bottleneck]
rate = "100 Mbit/s"
delay = "40 ms"
queue = { drop-tail = { packets = 300 } }
gilbert_elliott = { to_bad = "0.4 %", to_good = "12.5 %" }

[[traffic]]
name = "bulk"
from = "a"
source = "saturated"
message_size = "1452 B"

[sctp]
preset = "recommended"
"#;

const SMALL_BUFFER: &str = r#"
title = "A buffer for a sixth of the path, and a queue of ten packets"

[run]
duration = "10 s"
measure_from = "3 s"

[[network.disjoint.paths]]
name = "long"
bottleneck = { rate = "500 Mbit/s", delay = "50 ms", queue = { drop-tail = { packets = 10 } } }

[[traffic]]
name = "bulk"
from = "a"
source = "saturated"
message_size = "1452 B"

[sctp]
preset = "recommended"
send_buffer = "1 MiB"
receive_buffer = "1 MiB"
"#;

/// 3.1 % of the packets are lost, in bursts, and 96.9 Mbit/s are left. A probe with a burst in it is no failure where bursts come without
/// probes, too.
#[test]
fn bbr_bears_bursts_of_loss() {
    for seed in ["run.seed=1", "run.seed=2", "run.seed=3"] {
        let goodput = run(BURSTS, &[seed]).goodput_bit_s;
        assert!(goodput > 85e6, "{seed}: {goodput}");
    }
}

/// A buffer full per round trip is 83.9 Mbit/s. At the rate that the path bears, what a gap has held up overflows the queue when it is
/// released, and there is another gap.
#[test]
fn a_small_buffer_sets_the_pace() {
    let goodput = run(SMALL_BUFFER, &[]).goodput_bit_s;
    assert!(goodput > 65e6, "{goodput}");
}
