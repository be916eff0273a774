//! Scenarios that several groups use.

/// Two unequal paths with some loss, saturated for five seconds; plain CMT.
pub const UNEQUAL: &str = r#"
title = "Two unequal paths"

[run]
duration = "5 s"
measure_from = "1 s"

[[network.disjoint.paths]]
name = "fast"

[network.disjoint.paths.bottleneck]
rate = "10 Mbit/s"
delay = "10 ms"
queue = { drop-tail = { packets = 50 } }
loss = { forward = "1 %", backward = "1 %" }

[[network.disjoint.paths]]
name = "slow"

[network.disjoint.paths.bottleneck]
rate = "2 Mbit/s"
delay = "50 ms"
queue = { drop-tail = { packets = 50 } }
loss = { forward = "1 %", backward = "1 %" }

[[traffic]]
name = "bulk"
source = "saturated"
message_size = "1452 B"

[sctp]
preset = "cmt"
"#;
