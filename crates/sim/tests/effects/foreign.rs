//! Peers with limits of their own.

use crate::{Covered, effect, run};

/// A fast path and a slow one that is far, to a receiver that drops what lies above 512 chunks that wait for a gap.
const FAST_AND_FAR: &str = r#"
title = "A fast path and a far one"

[run]
duration = "10 s"
measure_from = "0 s"

[[network.disjoint.paths]]
name = "fast"

[network.disjoint.paths.bottleneck]
rate = "100 Mbit/s"
delay = "1 ms"
queue = { drop-tail = { packets = 100 } }

[[network.disjoint.paths]]
name = "far"

[network.disjoint.paths.bottleneck]
rate = "10 Mbit/s"
delay = "50 ms"
queue = { drop-tail = { packets = 100 } }

[[traffic]]
name = "bulk"
source = "saturated"
message_size = "1400 B"

[sctp]
preset = "recommended"
send_buffer = "8 MiB"
receive_buffer = "8 MiB"
policies.simulated_reorder_limit = 512
# BBR keeps less in flight here, so that a peer's limit shows less often.
policies.congestion = "cmt"
policies.sack_path = "round-robin"
# Such a peer answers every second packet.
policies.delayed_ack.volume = "any"
policies.fast_retransmit.reports = "overdue"
"#;

type Effect = (&'static str, fn());

const fn limit(value: &'static str, against: &'static str) -> Covered {
    let effect: Effect = effect!(a_limit_of_the_peer_costs_little);
    let key = "peer_reorder_limit";
    Covered { key, value, against, scenario: FAST_AND_FAR, set: &["run.duration=2 s"], effect }
}

pub const COVERAGE: &[Covered] = &[
    limit("off", "learned"),
    limit("learned", "off"),
    Covered {
        key: "simulated_reorder_limit",
        value: "512",
        against: "50000",
        scenario: FAST_AND_FAR,
        set: &["run.duration=2 s", "sctp.policies.peer_reorder_limit=off"],
        effect: effect!(a_limit_of_the_peer_costs_little),
    },
];

const FAST_ALONE: &str = "faults=[{outage={path=\"far\",from=\"0 s\",until=\"100 s\"}}]";

fn goodput(set: &[&str]) -> f64 {
    run(FAST_AND_FAR, set).goodput_bit_s
}

#[test]
fn a_limit_of_the_peer_costs_little() {
    let off = goodput(&["sctp.policies.peer_reorder_limit=off"]);
    let both = goodput(&[]);
    assert!(off < 0.9 * both, "{off} against {both}");
    let recommended = |set: &[&str]| {
        let policies = [
            "sctp.policies.congestion=bbr",
            "sctp.policies.sack_path=last-data",
            "sctp.policies.fast_retransmit.reports=adaptive",
        ];
        goodput(&[&policies[..], set].concat())
    };
    let (both, alone) = (recommended(&[]), recommended(&[FAST_ALONE]));
    assert!(both > 0.98 * alone, "{both} against {alone} alone");
}
