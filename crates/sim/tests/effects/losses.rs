//! What losses cost where the buffers are short.

use crate::{Covered, effect, run};

/// Two paths alike. The one with the slightly lower RTT loses a packet in every other window that fits the buffers.
const LOSSY: &str = r#"
title = "A path that loses packets beside one that loses none"

[run]
duration = "40 s"

[[network.disjoint.paths]]
name = "lossy"
bottleneck = { rate = "100 Mbit/s", delay = "50 ms", queue = { drop-tail = { packets = 1000 } }, loss = { forward = "0.5 %" } }

[[network.disjoint.paths]]
name = "clean"
bottleneck = { rate = "100 Mbit/s", delay = "52 ms", queue = { drop-tail = { packets = 1000 } } }

[[traffic]]
name = "bulk"
source = "saturated"
message_size = "1452 B"
delivery = "ordered"

[sctp]
preset = "recommended"
send_buffer = "256 KiB"
receive_buffer = "256 KiB"
# A trial of each path alone finds the better one, too, but later.
policies = { goodput_guard = "off" }
"#;

const fn delay(value: &'static str, against: &'static str) -> Covered {
    let effect = effect!(data_takes_the_path_on_which_a_window_arrives_sooner);
    Covered { key: "loss_delay", value, against, scenario: LOSSY, set: &[], effect }
}

pub const COVERAGE: &[Covered] = &[delay("on", "off"), delay("off", "on")];

#[test]
fn data_takes_the_path_on_which_a_window_arrives_sooner() {
    let goodput = |edit: &str| run(LOSSY, &[edit]).goodput_bit_s;
    let [on, off] = ["on", "off"].map(|it| goodput(&format!("sctp.policies.loss_delay={it}")));
    let alone = goodput("faults=[{outage={path=\"lossy\",from=\"0 s\",until=\"100 s\"}}]");
    assert!(off < 0.8 * alone, "{off} against {alone} alone");
    assert!(on > 0.98 * alone, "{on} against {alone} alone");
}
