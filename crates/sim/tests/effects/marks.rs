//! Congestion marks (ECN): queues that mark instead of dropping.

use polypath_sim::RunResult;

use crate::{Covered, effect, run};

const fn marks(value: &'static str, against: &'static str) -> Covered {
    let effect = effect!(what_is_marked_is_not_lost_and_the_window_falls_all_the_same);
    Covered {
        key: "explicit_congestion_notification",
        value,
        against,
        scenario: MARKING,
        set: &[],
        effect,
    }
}

pub const COVERAGE: &[Covered] = &[marks("on", "off"), marks("off", "on")];

/// Two paths, each with a queue that marks what it can.
const MARKING: &str = r#"
title = "Queues that mark"

[run]
duration = "25 s"
measure_from = "5 s"

[[network.disjoint.paths]]
name = "first"
access = { rate = "1 Gbit/s" }

[network.disjoint.paths.bottleneck]
rate = "10 Mbit/s"
delay = "20 ms"
queue = { codel = { ecn = "on" } }

[[network.disjoint.paths]]
name = "second"
access = { rate = "1 Gbit/s" }

[network.disjoint.paths.bottleneck]
rate = "10 Mbit/s"
delay = "20 ms"
queue = { codel = { ecn = "on" } }

[[traffic]]
name = "bulk"
source = "saturated"
message_size = "1452 B"

[sctp]
preset = "cmt"
send_buffer = "4 MiB"
receive_buffer = "4 MiB"
"#;

const RED: &str = "{ red = { min = { packets = 20 }, max = { packets = 80 }, \
     limit = { packets = 300 }, max_p = '5 %', above_max = 'gentle', ecn = 'on' } }";

/// What happened at both bottlenecks in the direction of data, and on the paths.
#[derive(Debug, Default)]
struct Seen {
    marked: u64,
    reductions: u64,
    dropped: u64,
    repeated: u64,
    /// Packets that waited in the mean.
    queue: f64,
    goodput: f64,
}

fn seen(edits: &[&str], policy: &str) -> Seen {
    let policy = format!("sctp.policies.explicit_congestion_notification={policy}");
    let edits: Vec<&str> = edits.iter().copied().chain([policy.as_str()]).collect();
    let RunResult { bottlenecks, hosts, paths, flows, .. } = run(MARKING, &edits);
    let mut seen = Seen { goodput: flows[0].goodput_bit_s, ..Seen::default() };
    seen.reductions = hosts[0].ecn_reductions;
    for bottleneck in &bottlenecks[..2] {
        seen.marked += bottleneck.packets_marked;
        seen.dropped += bottleneck.dropped_early + bottleneck.dropped_queue_full;
        seen.queue += bottleneck.queue_mean_packets / 2.0;
    }
    for path in &paths {
        seen.repeated += path.fast_retransmissions + path.timeout_retransmissions;
    }
    seen
}

fn queues(queue: &str) -> [String; 2] {
    ["first", "second"]
        .map(|path| format!("network.disjoint.paths.{path}.bottleneck.queue={queue}"))
}

/// In equal conditions a queue drops what it cannot mark.
#[test]
pub fn what_is_marked_is_not_lost_and_the_window_falls_all_the_same() {
    for (preset, congestion) in
        [("cmt", "cmt"), ("cmt", "olia"), ("cmt", "cubic"), ("cmt", "bbr"), ("recommended", "bbr")]
    {
        let what = format!("{preset} {congestion}");
        let congestion = format!("sctp.policies.congestion={congestion}");
        let preset = format!("sctp.preset={preset}");
        let edits = [preset.as_str(), congestion.as_str()];
        let (on, off) = (seen(&edits, "on"), seen(&edits, "off"));
        assert!(off.repeated > 20 && off.dropped > 20 && off.marked == 0, "{what} {off:?}");
        assert!(on.repeated == 0 && on.marked > 20, "{what} {on:?}");
        // At most once in a round trip, whatever is marked.
        assert!(on.reductions > 10 && on.reductions <= on.marked, "{what} {on:?}");
        // A packet with nothing but control chunks cannot be marked.
        assert!(on.dropped * 10 < on.marked, "{what} {on:?}");
        // If the window did not fall, the queue would grow until something is dropped.
        assert!(on.queue < 1.2 * off.queue, "{what} {on:?} {off:?}");
        assert!(on.goodput > 0.9 * off.goodput, "{what} {on:?} {off:?}");
    }
}

/// RED drops nothing at random; what overflows in slow start is lost.
#[test]
fn random_early_detection_marks() {
    let queues = queues(RED);
    let edits = queues.each_ref().map(String::as_str);
    let (on, off) = (seen(&edits, "on"), seen(&edits, "off"));
    assert!(on.marked > off.dropped && off.marked == 0, "{on:?} {off:?}");
    assert!(on.repeated * 10 < off.repeated, "{on:?} {off:?}");
    assert!(on.queue < 1.2 * off.queue && on.goodput > 0.9 * off.goodput, "{on:?} {off:?}");
}

/// A queue that does not mark, and flows that are not capable, are as they were.
#[test]
fn nothing_is_marked_where_one_of_both_does_not_have_it() {
    assert_eq!(seen(&[], "off").marked, 0);
    let plain = queues("{ codel = {} }");
    let edits = plain.each_ref().map(String::as_str);
    let capable = seen(&edits, "on");
    assert!(capable.marked == 0 && capable.dropped > 20, "{capable:?}");
}
