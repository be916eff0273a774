//! What all paths achieve together, compared with one of them alone.

use crate::{Covered, effect, run};

/// Small messages, small buffers, and a path whose round trip is eighty times that of the other.
const FAR: &str = r#"
title = "A quick path that a far one hurts"

[run]
duration = "10 s"

[[network.disjoint.paths]]
name = "quick"
bottleneck = { rate = "50 Mbit/s", delay = "0.6 ms", queue = { drop-tail = { packets = 30 } } }

[[network.disjoint.paths]]
name = "far"
bottleneck = { rate = "75 Mbit/s", delay = "50 ms", queue = { drop-tail = { packets = 700 } } }

[[traffic]]
name = "bulk"
source = "saturated"
message_size = "512 B"
delivery = "unordered"

[sctp]
preset = "recommended"
send_buffer = "128 KiB"
receive_buffer = "128 KiB"
# A program that hears of room early helps the quick path, too, and so does the estimate of what the buffers have room for.
policies = { blocking_estimation = "off", send_room_notice = "batch" }
"#;

const fn guard(value: &'static str, against: &'static str) -> Covered {
    let effect = effect!(the_far_path_rests_when_the_quick_one_delivers_more_alone);
    Covered { key: "goodput_guard", value, against, scenario: FAR, set: &[], effect }
}

pub const COVERAGE: &[Covered] = &[guard("on", "off"), guard("off", "on")];

#[test]
fn the_far_path_rests_when_the_quick_one_delivers_more_alone() {
    let goodput = |edit: &str| run(FAR, &[edit]).goodput_bit_s;
    let [on, off] = ["on", "off"].map(|it| goodput(&format!("sctp.policies.goodput_guard={it}")));
    let alone = goodput("faults=[{outage={path=\"far\",from=\"0 s\",until=\"100 s\"}}]");
    assert!(off < 0.85 * alone, "{off} against {alone} alone");
    assert!(on > 0.95 * alone, "{on} against {alone} alone");
}
