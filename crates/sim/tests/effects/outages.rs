//! Outages of all paths.

use polypath_sim::RunResult;

use crate::{Covered, effect, run};

/// A file over two paths of an access network each.
const FILE: &str = r#"
title = "A file over two uplinks"

[run]
duration = "800 s"
measure_from = "0 s"

[[network.disjoint.paths]]
name = "one"

[network.disjoint.paths.bottleneck]
rate = "40 Mbit/s"
delay = "10 ms"
queue = { drop-tail = { packets = 70 } }

[[network.disjoint.paths]]
name = "two"

[network.disjoint.paths.bottleneck]
rate = "20 Mbit/s"
delay = "25 ms"
queue = { drop-tail = { packets = 70 } }

[[traffic]]
name = "bulk"
source = { file = "20 MB" }
message_size = "1452 B"

[sctp]
preset = "recommended"
"#;

pub const COVERAGE: &[Covered] = &[Covered {
    key: "failover.outage_probe_interval",
    value: "2 s",
    against: "20 s",
    scenario: FILE,
    set: &["faults=[{outage={path=\"one\",from=\"1 s\",until=\"61 s\"}},\
         {outage={path=\"two\",from=\"1 s\",until=\"61 s\"}}]"],
    effect: effect!(a_transfer_goes_on_soon_after_the_first_link_is_back),
}];

/// Both paths are silent from 1 s on; until when each is, in seconds.
fn silent_until(one: u32, two: u32, set: &[&str]) -> RunResult {
    let faults = format!(
        "faults=[{{outage={{path=\"one\",from=\"1 s\",until=\"{one} s\"}}}},\
         {{outage={{path=\"two\",from=\"1 s\",until=\"{two} s\"}}}}]"
    );
    run(FILE, &[&[faults.as_str()], set].concat())
}

/// When a transfer is complete that has an outage of both paths from 1 s on.
fn completed_with_silence_until(one: u32, two: u32, set: &[&str]) -> f64 {
    silent_until(one, two, set).completed_s.expect("a transfer that survives")
}

/// What was sent before the outage does not count: so long the file takes over each of the paths alone, and over both.
const ALONE_AT_MOST_S: [f64; 3] =
    [20.0 * 8.0 / 40.0 * 1.1, 20.0 * 8.0 / 20.0 * 1.1, 20.0 * 8.0 / 60.0 * 1.2];

#[test]
fn a_transfer_goes_on_soon_after_the_first_link_is_back() {
    let [alone_one, alone_two, both] = ALONE_AT_MOST_S;
    for (one, two, takes) in [
        (21, 21, both),
        (61, 61, both),
        (601, 601, both),
        (61, 31, alone_two),
        (31, 61, alone_one),
        (601, 561, alone_two),
    ] {
        let completed = completed_with_silence_until(one, two, &[]);
        let first = f64::from(one.min(two));
        assert!(completed < first + 3.0 + takes, "{one} s, {two} s: complete after {completed} s");
    }
}

#[test]
fn rare_probes_find_a_link_late() {
    let rare = "sctp.policies.failover.outage_probe_interval=60 s";
    // Without a model of the path it takes longer to be as fast again, so that it matters when that begins.
    let cmt = "sctp.policies.congestion=cmt";
    let [often, rare] =
        [&[cmt][..], &[cmt, rare]].map(|set| completed_with_silence_until(601, 601, set));
    assert!(often < rare, "{often} s against {rare} s");
    let off = "sctp.policies.failover.outage_probe_interval=off";
    let [often, off] =
        [&[cmt][..], &[cmt, off]].map(|set| completed_with_silence_until(61, 61, set));
    assert!(often < off, "{often} s against {off} s");
}

/// Both paths work for 200 ms and are silent for 200 ms, over and over.
#[test]
fn a_file_gets_through_short_windows() {
    let outage = |path, n| {
        let (from, until) = (200 + 400 * n, 400 + 400 * n);
        format!("{{outage={{path=\"{path}\",from=\"{from} ms\",until=\"{until} ms\"}}}}")
    };
    let faults: Vec<_> =
        (0..250).flat_map(|n| ["one", "two"].map(|path| outage(path, n))).collect();
    let faults = format!("faults=[{}]", faults.join(","));
    let result = run(FILE, &[&faults, "traffic.bulk.source.file=5 MB"]);
    let completed = result.completed_s.expect("a transfer that survives");
    assert!(completed < 40.0, "{completed} s");
}
