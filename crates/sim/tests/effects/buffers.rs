//! How paths share the buffers, how large those are, and chunks that move.

use polypath_sim::RunResult;

use crate::run;

/// The unequal paths of `dreibholz-asymmetric` section VI-A, with large queues: what waits in the slow one's fills the
/// buffers.
const ASYMMETRIC: &str = r#"
title = "100 and 10 Mbit/s with large queues"

[run]
duration = "4 s"
measure_from = "2 s"

[[network.disjoint.paths]]
name = "fast"

[network.disjoint.paths.bottleneck]
rate = "100 Mbit/s"
delay = "1 ms"
framing = "7 B"
queue = { drop-tail = { packets = 200 } }

[[network.disjoint.paths]]
name = "slow"

[network.disjoint.paths.bottleneck]
rate = "10 Mbit/s"
delay = "1 ms"
framing = "7 B"
queue = { drop-tail = { packets = 200 } }

[[traffic]]
name = "bulk"
source = "saturated"
message_size = "1452 B"
delivery = "unordered"

[sctp]
preset = "cmt"
send_buffer = "250 kB"
receive_buffer = "125 kB"

[sctp.policies.retransmission]
fast = "same"
timer = "alternate"
"#;

#[test]
fn explore() {
    let show = |what: &str, r: &RunResult| {
        println!(
            "{what}: {:.1} Mbit/s paths {:?} rtx {:?} moved {:?} dup {} {:?}",
            r.goodput_bit_s / 1e6,
            r.paths.iter().map(|p| (p.goodput_bit_s / 1e6) as u32).collect::<Vec<_>>(),
            r.paths
                .iter()
                .map(|p| (p.fast_retransmissions, p.timeout_retransmissions))
                .collect::<Vec<_>>(),
            r.paths.iter().map(|p| p.rescheduled_chunks).collect::<Vec<_>>(),
            r.hosts[1].duplicate_chunks_received,
            r.hosts[0].blocked
        );
    };
    for (snd, rcv) in [("250 kB", "125 kB"), ("250 kB", "250 kB"), ("125 kB", "250 kB")] {
        for split in ["none", "sender", "receiver", "both"] {
            let r = run(
                ASYMMETRIC,
                &[
                    "run.duration=3 s",
                    "sctp.policies.nr_sack=all",
                    &format!("sctp.send_buffer={snd}"),
                    &format!("sctp.receive_buffer={rcv}"),
                    &format!("sctp.policies.buffer_split={split}"),
                ],
            );
            show(&format!("nr all {snd}/{rcv} {split}"), &r);
        }
    }
    for (split, by) in [
        ("none", "outstanding"),
        ("receiver", "buffered"),
        ("receiver", "outstanding"),
        ("both", "outstanding"),
    ] {
        let r = run(
            ASYMMETRIC,
            &[
                "run.duration=3 s",
                "sctp.send_buffer=2500 kB",
                "sctp.receive_buffer=125 kB",
                &format!("sctp.policies.buffer_split={split}"),
                &format!("sctp.policies.buffer_split_by={by}"),
            ],
        );
        show(&format!("no nr 2500/125 {split} {by}"), &r);
    }
    for (snd, rcv) in [
        ("bytes", "bytes"),
        ("auto-fast", "auto-fast"),
        ("auto-timeout", "auto-timeout"),
        ("bytes", "infinite"),
        ("auto-fast", "bytes"),
        ("bytes", "auto-fast"),
    ] {
        for max in ["64 KiB", "4 MiB"] {
            let r = run(
                ASYMMETRIC,
                &[
                    "run.duration=6 s",
                    "run.measure_from=3 s",
                    "traffic.bulk.delivery=ordered",
                    "network.disjoint.paths.fast.bottleneck.rate=20 Mbit/s",
                    "network.disjoint.paths.fast.bottleneck.delay=100 ms",
                    "network.disjoint.paths.slow.bottleneck.delay=100 ms",
                    &format!("sctp.send_buffer={max}"),
                    &format!("sctp.receive_buffer={max}"),
                    &format!("sctp.policies.send_buffer={snd}"),
                    &format!("sctp.policies.receive_buffer={rcv}"),
                ],
            );
            show(
                &format!(
                    "auto {snd} {rcv} max {max} peaks {} {}",
                    r.hosts[0].send_buffer_peak_bytes, r.hosts[1].receive_buffer_peak_bytes
                ),
                &r,
            );
        }
    }
    for delay in ["50 ms", "200 ms"] {
        for smart in ["off", "on"] {
            for rtx in ["alternate"] {
                let r = run(
                    ASYMMETRIC,
                    &[
                        "run.duration=10 s",
                        "network.disjoint.paths.fast.bottleneck.rate=20 Mbit/s",
                        "network.disjoint.paths.slow.bottleneck.rate=20 Mbit/s",
                        "network.disjoint.paths.slow.bottleneck.loss.forward=2 %",
                        "network.disjoint.paths.fast.bottleneck.queue={ drop-tail = { packets = 60 } }",
                        "network.disjoint.paths.slow.bottleneck.queue={ drop-tail = { packets = 60 } }",
                        "sctp.policies.rto.min=200 ms",
                        "sctp.send_buffer=2500 kB",
                        "sctp.receive_buffer=1250 kB",
                        &format!("network.disjoint.paths.slow.bottleneck.delay={delay}"),
                        &format!("sctp.policies.smart_fast_rtx={smart}"),
                        &format!("sctp.policies.retransmission.timer={rtx}"),
                    ],
                );
                show(&format!("delay {delay} smart {smart} {rtx}"), &r);
            }
        }
    }
}
