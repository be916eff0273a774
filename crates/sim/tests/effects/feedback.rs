//! What the receiver tells, when, and over which path; what the sender measures by it.

use polypath_sim::RunResult;

use crate::{Covered, effect, run};

const fn covered(
    key: &'static str,
    value: &'static str,
    against: &'static str,
    set: &'static [&'static str],
    effect: (&'static str, fn()),
) -> Covered {
    Covered { key, value, against, scenario: EQUAL, set, effect }
}

const fn sack_path(value: &'static str, effect: (&'static str, fn())) -> Covered {
    let against = if matches!(value.as_bytes(), b"last-data") { "primary" } else { "last-data" };
    covered("sack_path", value, against, FAST_AND_SLOW, effect)
}

const fn rtt_sample(value: &'static str, against: &'static str) -> Covered {
    let effect = effect!(a_round_trip_over_two_paths_is_that_of_neither);
    covered("rtt_sample", value, against, LOST_ON_THE_SLOW_PATH, effect)
}

pub const COVERAGE: &[Covered] = &[
    covered(
        "packet_drop_report",
        "off",
        "on",
        DAMAGED,
        effect!(damage_that_is_reported_costs_no_window),
    ),
    covered(
        "packet_drop_report",
        "on",
        "off",
        DAMAGED,
        effect!(damage_that_is_reported_costs_no_window),
    ),
    sack_path("last-data", effect!(the_last_data_leads_sacks_to_the_slow_path)),
    sack_path("primary", effect!(sacks_over_the_primary_path_are_fast_if_it_is)),
    sack_path("round-robin", effect!(sacks_go_round_the_sources)),
    sack_path("smallest-srtt", effect!(sacks_find_the_fast_path)),
    // A timeout or a sample less shows in the trace only where it moves a timer.
    rtt_sample("classic", "path-bound"),
    rtt_sample("path-bound", "slow-path-update"),
    rtt_sample("slow-path-update", "classic"),
    covered(
        "delayed_ack.packets",
        "1",
        "2",
        SMALL_BUFFER,
        effect!(prompt_sacks_help_unequal_paths),
    ),
    covered(
        "delayed_ack.delay",
        "20 ms",
        "200 ms",
        ONE_MESSAGE,
        effect!(the_delay_is_in_the_sample),
    ),
    covered(
        "delayed_ack.first_data",
        "immediate",
        "delayed",
        ONE_MESSAGE,
        effect!(the_first_data_is_not_delayed),
    ),
    covered(
        "delayed_ack.first_data",
        "delayed",
        "immediate",
        ONE_MESSAGE,
        effect!(the_first_data_is_not_delayed),
    ),
    covered(
        "delayed_ack.on_gap",
        "immediate",
        "delayed",
        FAST_AND_SLOW,
        effect!(delay_in_spite_of_gaps_halves_the_sacks),
    ),
    covered(
        "delayed_ack.on_gap",
        "delayed",
        "immediate",
        FAST_AND_SLOW,
        effect!(delay_in_spite_of_gaps_halves_the_sacks),
    ),
    covered(
        "delayed_ack.count",
        "off",
        "sack-flags",
        LOSSY,
        effect!(the_count_finds_losses_sooner),
    ),
    covered(
        "delayed_ack.count",
        "sack-flags",
        "off",
        LOSSY,
        effect!(the_count_finds_losses_sooner),
    ),
    covered(
        "delayed_ack.count",
        "count-zero-when-not-delayed",
        "off",
        NOT_DELAYED,
        effect!(a_count_of_zero_leaves_losses_to_timeouts),
    ),
];

/// Two equal paths, ordered data, as much as they carry.
const EQUAL: &str = r#"
title = "Two paths"

[run]
duration = "4 s"
measure_from = "1 s"

[[network.disjoint.paths]]
name = "first"

[network.disjoint.paths.bottleneck]
rate = "10 Mbit/s"
delay = "10 ms"
queue = { drop-tail = { packets = 50 } }

[[network.disjoint.paths]]
name = "second"

[network.disjoint.paths.bottleneck]
rate = "10 Mbit/s"
delay = "10 ms"
queue = { drop-tail = { packets = 50 } }

[[traffic]]
name = "bulk"
source = "saturated"
message_size = "1452 B"

[sctp]
preset = "cmt"
send_buffer = "1 MiB"
receive_buffer = "1 MiB"
"#;

const FAST_AND_SLOW: &[&str] = &["network.disjoint.paths.second.bottleneck.delay=100 ms"];

/// One packet in 17 arrives damaged; queues that hold the first burst.
const DAMAGED: &[&str] = &[
    "network.disjoint.paths.first.bottleneck.bit_errors={ rate = \"5e-6\", damaged = \"delivered\" }",
    "network.disjoint.paths.second.bottleneck.bit_errors={ rate = \"5e-6\", damaged = \"delivered\" }",
    "network.disjoint.paths.first.bottleneck.queue={ drop-tail = { packets = 200 } }",
    "network.disjoint.paths.second.bottleneck.queue={ drop-tail = { packets = 200 } }",
];

/// The set-up of `sarwar` fig. 7, with room enough that both paths always send.
const SATURATED_IN_TURNS: &[&str] = &[
    "run.duration=8 s",
    "network.disjoint.paths.first.bottleneck.rate=1 Mbit/s",
    "network.disjoint.paths.second.bottleneck.rate=1 Mbit/s",
    "network.disjoint.paths.second.bottleneck.delay=250 ms",
    "network.disjoint.paths.first.bottleneck.queue={ drop-tail = { packets = 5 } }",
    "network.disjoint.paths.second.bottleneck.queue={ drop-tail = { packets = 5 } }",
];

/// The same with a SACK per packet, losses on the slow path, and timeouts that follow the estimates.
const LOST_ON_THE_SLOW_PATH: &[&str] = &[
    "run.duration=8 s",
    "network.disjoint.paths.second.bottleneck.delay=250 ms",
    "network.disjoint.paths.first.bottleneck.rate=1 Mbit/s",
    "network.disjoint.paths.second.bottleneck.rate=1 Mbit/s",
    "network.disjoint.paths.second.bottleneck.loss.forward=20 %",
    "sctp.policies.delayed_ack.packets=1",
    "sctp.policies.rto.min=20 ms",
];

const SMALL_BUFFER: &[&str] =
    &["network.disjoint.paths.second.bottleneck.delay=50 ms", "sctp.receive_buffer=64 KiB"];

const ONE_MESSAGE: &[&str] = &[
    "run.duration=600 ms",
    "run.measure_from=0 s",
    "traffic.bulk.source={ file = \"100 B\" }",
    "traffic.bulk.message_size=100 B",
    "sctp.policies.delayed_ack.first_data=delayed",
];

/// A path that loses some packets, and a window of so few that no three pairs of them follow a lost one.
const LOSSY: &[&str] = &[
    "network.disjoint.paths.first.bottleneck.loss.forward=2 %",
    "sctp.policies.path_order=primary",
    "sctp.receive_buffer=8 KiB",
];

/// Equal paths that lose, and a SACK for every packet.
const NOT_DELAYED: &[&str] = &[
    "network.disjoint.paths.first.bottleneck.loss.forward=3 %",
    "network.disjoint.paths.second.bottleneck.loss.forward=3 %",
    "sctp.receive_buffer=64 KiB",
    "sctp.policies.delayed_ack.packets=1",
];

fn with(key: &str, value: &str, set: &[&str]) -> RunResult {
    let edit = format!("sctp.policies.{key}={value}");
    run(EQUAL, &[set, &[&edit]].concat())
}

/// SACKs and whatever else came back over the second path, as a part of all.
fn second_returns(result: &RunResult) -> f64 {
    let back = |path: &str| {
        let mut directions = result.bottlenecks.iter();
        let direction = directions.find(|b| b.from == "b" && b.path == path);
        direction.expect("both directions of both paths").packets_delivered as f64
    };
    back("second") / (back("first") + back("second"))
}

fn srtt_s(result: &RunResult, path: usize) -> Option<f64> {
    result.paths[path].srtt_s
}

fn fast_retransmissions(result: &RunResult) -> u64 {
    result.paths.iter().map(|path| path.fast_retransmissions).sum()
}

fn timeouts(result: &RunResult) -> u64 {
    result.paths.iter().map(|path| path.timeouts).sum()
}

/// Per data packet.
fn timeouts_per_packet(result: &RunResult) -> f64 {
    let packets: u64 = result.paths.iter().map(|path| path.data_packets_sent).sum();
    timeouts(result) as f64 / packets as f64
}

/// `dreibholz-asymmetric` fig. 5: with bit errors, drop reports are better still.
#[test]
fn damage_that_is_reported_costs_no_window() {
    for (rate, factor) in [("1e-6", 1.1), ("5e-6", 2.0)] {
        let errors = |path: &str| {
            let key = format!("network.disjoint.paths.{path}.bottleneck.bit_errors");
            format!("{key}={{ rate = \"{rate}\", damaged = \"delivered\" }}")
        };
        let (first, second) = (errors("first"), errors("second"));
        let set = [DAMAGED, &[&first, &second]].concat();
        let off = with("packet_drop_report", "off", &set);
        let on = with("packet_drop_report", "on", &set);
        let (gain, reports) = (on.goodput_bit_s / off.goodput_bit_s, on.hosts[1].drop_reports_sent);
        assert!(gain > factor, "{rate}: {gain}");
        assert!(off.hosts.iter().all(|host| host.drop_reports_sent == 0));
        assert!(off.hosts[1].checksum_failures > 0);
        assert!(reports > on.hosts[1].checksum_failures * 9 / 10, "{reports}");
        assert!(on.paths.iter().all(|path| path.reported_retransmissions > 0));
    }
}

/// Damage anywhere in a packet: what the report carries may be wrong, and is not believed then.
#[test]
fn reports_of_any_damage_are_harmless_and_help() {
    let anywhere = |path: &str| {
        let key = format!("network.disjoint.paths.{path}.bottleneck.bit_errors");
        format!("{key}={{ rate = \"5e-6\", damaged = \"delivered\", within = \"anywhere\" }}")
    };
    let (first, second) = (anywhere("first"), anywhere("second"));
    let set = [DAMAGED, &[&first, &second]].concat();
    let off = with("packet_drop_report", "off", &set).goodput_bit_s;
    let on = with("packet_drop_report", "on", &set).goodput_bit_s;
    assert!(on > 1.5 * off, "{on} against {off}");
}

#[test]
fn the_last_data_leads_sacks_to_the_slow_path() {
    let last = with("sack_path", "last-data", FAST_AND_SLOW);
    assert!(second_returns(&last) > 0.2, "{}", second_returns(&last));
    // SACKs that overtake each other withdraw what others have acknowledged.
    let primary = with("sack_path", "primary", FAST_AND_SLOW);
    assert!(primary.goodput_bit_s > 1.1 * last.goodput_bit_s);
}

#[test]
fn sacks_over_the_primary_path_are_fast_if_it_is() {
    // So little in flight that no queue is part of the round trip.
    for window in ["sctp.receive_buffer=16 KiB", "sctp.receive_buffer=32 KiB"] {
        let set = [FAST_AND_SLOW, &[window]].concat();
        let (primary, last) =
            (with("sack_path", "primary", &set), with("sack_path", "last-data", &set));
        assert!(second_returns(&primary) < 0.01, "{}", second_returns(&primary));
        let (there, both_ways) = (srtt_s(&primary, 1), srtt_s(&last, 1));
        assert!(there.is_some_and(|srtt| (srtt - 0.11).abs() < 0.01), "{there:?}");
        assert!(both_ways.is_some_and(|srtt| srtt > 0.17 && srtt < 0.21), "{both_ways:?}");
    }
}

/// Equal rates and unequal delays: the rule of RFC 9260 sends most SACKs over one path.
#[test]
fn sacks_go_round_the_sources() {
    let uneven = |value| (second_returns(&with("sack_path", value, FAST_AND_SLOW)) - 0.5).abs();
    assert!(uneven("round-robin") < 0.1, "{}", uneven("round-robin"));
    assert!(uneven("last-data") > 1.1 * uneven("round-robin"));
}

#[test]
fn sacks_find_the_fast_path() {
    // Whichever it is.
    let slow_first = ["network.disjoint.paths.first.bottleneck.delay=100 ms"];
    for (set, part) in [(FAST_AND_SLOW, 0.0), (&slow_first[..], 1.0)] {
        let found = second_returns(&with("sack_path", "smallest-srtt", set));
        assert!((found - part).abs() < 0.02, "{found}");
    }
    let smallest = with("sack_path", "smallest-srtt", &slow_first).goodput_bit_s;
    let last = with("sack_path", "last-data", &slow_first).goodput_bit_s;
    assert!(smallest > 1.1 * last, "{smallest} against {last}");
}

/// `sarwar` fig. 7: the estimate of the fast path is too high, and that of the slow one too low.
#[test]
fn a_round_trip_over_two_paths_is_that_of_neither() {
    let sample =
        |value, set: &[&str]| with("rtt_sample", value, &[SATURATED_IN_TURNS, set].concat());
    // A queue of five packets at 1 Mbit/s adds up to 60 ms to the 20 ms and 500 ms of the paths.
    let (classic, bound) = (sample("classic", &[]), sample("path-bound", &[]));
    let close = |srtt: Option<f64>, rtt: f64| srtt.is_some_and(|s| (rtt..rtt + 0.075).contains(&s));
    assert!(close(srtt_s(&bound, 0), 0.02) && close(srtt_s(&bound, 1), 0.5), "{:?}", bound.paths);
    assert!(srtt_s(&classic, 1) < srtt_s(&bound, 1).map(|srtt| 0.9 * srtt));
    // A window that the slow path holds back: few SACKs return over the fast path and overtake those for it.
    let small = ["sctp.receive_buffer=16 KiB"];
    let (classic, bound) = (sample("classic", &small), sample("path-bound", &small));
    assert!(close(srtt_s(&bound, 0), 0.02) && close(srtt_s(&bound, 1), 0.5), "{:?}", bound.paths);
    assert!(srtt_s(&classic, 0) > srtt_s(&bound, 0).map(|srtt| 1.5 * srtt), "{:?}", classic.paths);
    // With a SACK per packet, every chunk of the slow path is first acknowledged over the fast one.
    let prompt = ["sctp.policies.delayed_ack.packets=1"];
    assert!(srtt_s(&sample("classic", &prompt), 1) < Some(0.4));
    assert_eq!(srtt_s(&sample("path-bound", &prompt), 1), None);
    assert!(close(srtt_s(&sample("slow-path-update", &prompt), 1), 0.5));
}

/// `sarwar` section III: non-delayed SACKs against delay asymmetry.
#[test]
fn prompt_sacks_help_unequal_paths() {
    let delayed = with("delayed_ack.packets", "2", SMALL_BUFFER).goodput_bit_s;
    let prompt = with("delayed_ack.packets", "1", SMALL_BUFFER).goodput_bit_s;
    assert!(prompt > 1.1 * delayed, "{prompt} against {delayed}");
}

#[test]
fn the_delay_is_in_the_sample() {
    for (delay, srtt) in [("20 ms", 0.04), ("200 ms", 0.22)] {
        let measured = srtt_s(&with("delayed_ack.delay", delay, ONE_MESSAGE), 0);
        assert!(measured.is_some_and(|s| (s - srtt).abs() < 0.002), "{measured:?}");
    }
}

#[test]
fn the_first_data_is_not_delayed() {
    for (value, srtt) in [("immediate", 0.02), ("delayed", 0.22)] {
        let measured = srtt_s(&with("delayed_ack.first_data", value, ONE_MESSAGE), 0);
        assert!(measured.is_some_and(|s| (s - srtt).abs() < 0.002), "{measured:?}");
    }
}

/// `dreibholz-model` section 3.3: the traffic of SACKs is what delayed acknowledgement for CMT is for.
#[test]
fn delay_in_spite_of_gaps_halves_the_sacks() {
    let per_packet = |value| {
        let result = with("delayed_ack.on_gap", value, FAST_AND_SLOW);
        let packets: u64 = result.paths.iter().map(|path| path.data_packets_sent).sum();
        result.hosts[1].sacks_sent as f64 / packets as f64
    };
    let (immediate, delayed) = (per_packet("immediate"), per_packet("delayed"));
    assert!(delayed < 0.6 && immediate > 0.8, "{delayed} and {immediate}");
}

/// `dreibholz-model` fig. 5. With windows of few packets, three SACKs for as many pairs of packets do not come.
#[test]
fn the_count_finds_losses_sooner() {
    let off = with("delayed_ack.count", "off", LOSSY);
    let counted = with("delayed_ack.count", "sack-flags", LOSSY);
    assert!(
        counted.goodput_bit_s > 1.1 * off.goodput_bit_s,
        "{} {}, {} {}",
        counted.goodput_bit_s,
        timeouts(&counted),
        off.goodput_bit_s,
        timeouts(&off)
    );
}

/// `sarwar` fig. 4, as ns-2 shows it: no fast retransmissions, only timeouts.
#[test]
fn a_count_of_zero_leaves_losses_to_timeouts() {
    for seed in ["run.seed=1", "run.seed=2", "run.seed=3"] {
        let set = [NOT_DELAYED, &["run.duration=20 s", seed]].concat();
        let zero = with("delayed_ack.count", "count-zero-when-not-delayed", &set);
        let off = with("delayed_ack.count", "off", &set);
        assert_eq!(fast_retransmissions(&zero), 0);
        assert!(fast_retransmissions(&off) > 100);
        let per_packet = [&zero, &off].map(timeouts_per_packet);
        assert!(per_packet[0] > 4.0 * per_packet[1], "{seed}: {per_packet:?} timeouts per packet");
        assert!(off.goodput_bit_s > 2.0 * zero.goodput_bit_s);
    }
}
