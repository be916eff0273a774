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

/// Paths, and a saturated flow over them with the recommended policies; what follows goes to the end of `[sctp]`.
macro_rules! bulk {
    ($paths:literal $(, $sctp:expr)* $(,)?) => {
        concat!(
            $paths,
            r#"[[traffic]]
name = "bulk"
source = "saturated"
message_size = "1452 B"

[sctp]
preset = "recommended"
"#,
            $($sctp,)*
        )
    };
}

/// The same with loss-based congestion control without pacing, and buffers of this size on both sides.
macro_rules! loss_based {
    ($paths:literal, $buffer:literal) => {
        $crate::scenarios::bulk!(
            $paths,
            concat!("send_buffer = \"", $buffer, "\"\nreceive_buffer = \"", $buffer, "\"\n"),
            r#"policies = { congestion = "cmt", sack_path = "round-robin", pacing = "off", burst = { max-burst = 4 }, data_copies = "off", data_ahead = "off", control_rtt = "counts", sack_request = "at-shutdown", rtt_sample = "classic", delayed_ack = { scope = "association" }, rto = { min = "1 s" } }
"#,
        )
    };
}

pub(crate) use {bulk, loss_based};
