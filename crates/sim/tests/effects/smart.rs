//! Chunks that change their path: what their acknowledgements prove there, and which of them may.

use polypath_sim::RunResult;

use crate::scenarios::{UNEQUAL, bulk};
use crate::{Covered, effect, run};

/// `dreibholz-asymmetric` section III-C: now and then everything on the near path is late by more than its timeout. What
/// it holds goes out again on the far path, where lower TSNs are in flight for a second.
const LATE: &str = r#"
title = "A near path whose packets are late now and then"

[run]
duration = "10 s"

[[network.disjoint.paths]]
name = "near"

[network.disjoint.paths.bottleneck]
rate = "10 Mbit/s"
delay = "5 ms"
queue = { drop-tail = { packets = 20 } }

[[network.disjoint.paths]]
name = "far"

[network.disjoint.paths.bottleneck]
rate = "2 Mbit/s"
delay = "500 ms"
queue = { drop-tail = { packets = 100 } }

[[traffic]]
name = "bulk"
source = "saturated"
message_size = "1452 B"
delivery = "unordered"

[sctp]
preset = "cmt"
send_buffer = "4 MiB"
receive_buffer = "4 MiB"

[sctp.policies.delayed_ack]
delay = "20 ms"

[sctp.policies.rto]
min = "50 ms"

[sctp.policies.retransmission]
timer = "alternate"

[[steps]]
path = "near"
at = "3 s"
way = "forward"
delay = "250 ms"

[[steps]]
path = "near"
at = "3300 ms"
way = "forward"
delay = "5 ms"
"#;

/// What the fast path loses it often loses twice, and the slow one delivers too little to ask for it.
const LOST_TWICE: &[&str] = &[
    "run.duration=10 s",
    r#"network.disjoint.paths.fast.bottleneck.loss={ forward = "4 %", backward = "0 %" }"#,
    r#"network.disjoint.paths.slow.bottleneck.loss={ forward = "0 %", backward = "0 %" }"#,
    "network.disjoint.paths.slow.bottleneck.rate=300 kbit/s",
    "network.disjoint.paths.slow.bottleneck.delay=20 ms",
    "sctp.send_buffer=200 kB",
    "sctp.receive_buffer=200 kB",
    "sctp.policies.reschedule.side=both",
    "sctp.policies.retransmission.fast=same",
];

/// A chunk on the far path arrives before the near one fills the buffers, though it fills half of them.
const FAR: &str = bulk!(
    r#"
title = "A near path, and a quick one with a long round trip"

[run]
duration = "10 s"
measure_from = "3 s"

[[network.disjoint.paths]]
name = "near"
bottleneck = { rate = "10 Mbit/s", delay = "3 ms", queue = { drop-tail = { packets = 20 } } }

[[network.disjoint.paths]]
name = "far"
bottleneck = { rate = "100 Mbit/s", delay = "200 ms", queue = { drop-tail = { packets = 1000 } } }

"#,
    r#"
send_buffer = "800 KiB"
receive_buffer = "800 KiB"
"#
);

const fn smart(value: &'static str, against: &'static str) -> Covered {
    let effect = effect!(late_originals_cause_no_bursts_of_fast_retransmissions);
    Covered { key: "smart_fast_rtx", value, against, scenario: LATE, set: &[], effect }
}

const fn conditions(value: &'static str, against: &'static str) -> Covered {
    let effect = effect!(a_chunk_sent_again_on_its_own_path_waits_for_no_timeout);
    Covered {
        key: "reschedule.conditions",
        value,
        against,
        scenario: UNEQUAL,
        set: LOST_TWICE,
        effect,
    }
}

pub const COVERAGE: &[Covered] = &[
    smart("off", "on"),
    smart("on", "off"),
    conditions("paper", "inet"),
    conditions("inet", "paper"),
    Covered {
        key: "reschedule.conditions",
        value: "stall",
        against: "paper",
        scenario: FAR,
        set: &[],
        effect: effect!(what_arrives_in_time_stays_on_its_path),
    },
];

/// Four times, so many milliseconds apart, the near path is late for 300 ms.
fn late_every(period: u32) -> String {
    let step = |at: u32, delay: &str| {
        format!(r#"{{ path = "near", at = "{at} ms", way = "forward", delay = "{delay}" }}"#)
    };
    let times = (0..4).map(|n| 3000 + n * period);
    let steps: Vec<String> =
        times.flat_map(|at| [step(at, "250 ms"), step(at + 300, "5 ms")]).collect();
    format!("steps=[{}]", steps.join(", "))
}

fn fast_retransmissions(result: &RunResult) -> u64 {
    result.paths.iter().map(|path| path.fast_retransmissions).sum()
}

fn duplicates(result: &RunResult) -> u64 {
    result.hosts.iter().map(|host| host.duplicate_chunks_received).sum()
}

#[test]
fn late_originals_cause_no_bursts_of_fast_retransmissions() {
    for period in [1000, 1300, 1700] {
        let late = late_every(period);
        let with =
            |policy: &str| run(LATE, &[&late, &format!("sctp.policies.smart_fast_rtx={policy}")]);
        let (off, on) = (with("off"), with("on"));
        let counts = [&off, &on].map(fast_retransmissions);
        assert!(2 * counts[1] < counts[0], "{period}: {counts:?} fast retransmissions");
        let counts = [&off, &on].map(duplicates);
        assert!(1.1 * counts[1] as f64 <= counts[0] as f64, "{period}: {counts:?} duplicates");
        let far = [&off, &on].map(|result| result.paths[1].goodput_bit_s / 1e6);
        assert!(far[1] > 1.15 * far[0], "{period}: {far:?} Mbit/s on the far path");
    }
}

/// Chunks that were retransmitted already may be reported missing too, if something sent later on their path arrives. A
/// late original was not.
#[test]
fn late_originals_prove_no_retransmission_lost() {
    for period in [700, 1000, 1300, 1700] {
        let late = late_every(period);
        let with = |policy: &str| {
            let policy = format!("sctp.policies.smart_fast_rtx={policy}");
            run(LATE, &[&late, "sctp.policies.fast_retransmit.per_tsn=multiple", &policy])
        };
        let (off, on) = (with("off"), with("on"));
        assert!(off.paths[1].fast_recoveries > 1, "{period}: the situation that the test needs");
        assert_eq!(on.paths[1].fast_recoveries, 1, "{period}: only the overflow at the start");
        let counts = [&off, &on].map(fast_retransmissions);
        assert!(2 * counts[1] < counts[0], "{period}: {counts:?} fast retransmissions");
        let counts = [&off, &on].map(duplicates);
        assert!(1.1 * counts[1] as f64 <= counts[0] as f64, "{period}: {counts:?} duplicates");
    }
}

#[test]
fn a_chunk_sent_again_on_its_own_path_waits_for_no_timeout() {
    for seed in ["run.seed=1", "run.seed=2", "run.seed=3"] {
        let with = |conditions: &str| {
            let conditions = format!("sctp.policies.reschedule.conditions={conditions}");
            run(UNEQUAL, &[LOST_TWICE, &[seed, &conditions]].concat())
        };
        let (paper, inet) = (with("paper"), with("inet"));
        let timeouts = [&paper, &inet]
            .map(|result| result.paths.iter().map(|path| path.timeouts).sum::<u64>());
        assert!(2 * timeouts[1] < timeouts[0], "{seed}: {timeouts:?} timeouts");
        let goodput = [&paper, &inet].map(|result| result.goodput_bit_s / 1e6);
        assert!(goodput[1] > 1.15 * goodput[0], "{seed}: {goodput:?} Mbit/s");
    }
}

#[test]
fn what_arrives_in_time_stays_on_its_path() {
    for buffer in ["700 KiB", "800 KiB"] {
        let with = |conditions: &str| {
            let conditions = format!("sctp.policies.reschedule.conditions={conditions}");
            let buffers = ["send", "receive"].map(|side| format!("sctp.{side}_buffer={buffer}"));
            run(FAR, &[&conditions, &buffers[0], &buffers[1]])
        };
        let (paper, stall) = (with("paper"), with("stall"));
        let goodput = [&paper, &stall].map(|result| result.goodput_bit_s / 1e6);
        assert!(goodput[1] > 1.5 * goodput[0], "{buffer}: {goodput:?} Mbit/s");
    }
}
