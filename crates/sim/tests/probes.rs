//! Probes: what is observed, and that observing changes nothing.

mod common;

use polypath_sim::{Form, RunResult, Simulation};

fn run(scenario: &str, seed: u64, set: &[&str]) -> RunResult {
    let scenario = common::read(scenario, set);
    Simulation::with(&scenario, seed, Form::Structured).unwrap().run().unwrap()
}

const FILE: &str = "traffic.file.source.file=512 KiB";

#[test]
fn sampled_series_agree_with_the_counters_at_the_end() {
    let result = run("two-paths-loss", 1, &[FILE, "record.series=10 ms"]);
    let series = result.series.expect("a series that was asked for");
    for (path, at_end) in series.paths.iter().zip(&result.paths) {
        let lengths = [
            path.goodput_bit_s.len(),
            path.sent_bit_s.len(),
            path.ssthresh_bytes.len(),
            path.rto_s.len(),
            path.state.len(),
        ];
        assert_eq!(lengths, [series.time_s.len(); 5]);
        assert_eq!(path.rto_s.last(), Some(&Some(at_end.rto_s)));
        assert_eq!(path.state.last(), Some(&Some(3)));
        let sent: f64 = path.sent_bit_s.iter().sum::<f64>() * 0.01 / 8.0;
        let arrived: f64 = path.goodput_bit_s.iter().sum::<f64>() * 0.01 / 8.0;
        let lost = at_end.data_chunks_sent as f64 * 1452.0 - arrived;
        assert!(sent >= arrived && sent <= arrived + lost + 1.0, "{sent} {arrived}");
    }
    let [a, b] = [&series.hosts[0], &series.hosts[1]];
    assert!(a.send_buffer_bytes.iter().flatten().any(|bytes| *bytes > 0));
    assert!(b.receive_buffer_bytes.iter().flatten().any(|bytes| *bytes > 0));
    assert!(
        a.peer_window_bytes.iter().flatten().min() < a.peer_window_bytes.iter().flatten().max()
    );
}

const ALL: [&str; 5] = [
    "record.changes=on",
    "record.tsns=list",
    "record.blocking=list",
    "record.timeouts=list",
    "record.series=50 ms",
];

/// One ordered stream through a small window over two paths that lose packets.
const BLOCKED: [&str; 5] = [
    FILE,
    "traffic.file.streams=1",
    "sctp.receive_buffer=32 KiB",
    "sctp.policies.retransmission.fast=same",
    "sctp.policies.retransmission.timer=same",
];

fn observed(scenario: &str, seed: u64, set: &[&str]) -> RunResult {
    let set: Vec<&str> = set.iter().chain(&ALL).copied().collect();
    run(scenario, seed, &set)
}

#[test]
fn observing_changes_nothing() {
    for name in ["loss", "loss-fragments-unordered", "loss-small-messages-small-window", "failover"]
    {
        let plain = common::RUNS.iter().find(|run| run.name == name).expect("a run of that name");
        let blind = plain.run(Form::Structured);
        let seen = observed(plain.scenario, plain.seed, plain.set);
        assert_eq!(blind.trace_hash, seen.trace_hash, "{name}");
        assert_eq!(blind.events, seen.events, "{name}");
        assert_eq!((blind.paths, blind.hosts), (seen.paths, seen.hosts), "{name}");
        assert!(blind.probes.is_empty() && !seen.probes.is_empty());
    }
}

#[test]
fn packets_as_bytes_are_observed_like_structures() {
    // The last message of the second file is too short to be known by its bytes.
    for (name, unknown) in
        [("loss-fragments-unordered", 0), ("loss-small-messages-small-window", 1)]
    {
        let plain = common::RUNS.iter().find(|run| run.name == name).expect("a run of that name");
        let set: Vec<&str> = plain.set.iter().chain(&ALL).copied().collect();
        let scenario = common::read(plain.scenario, &set);
        let with = |form| Simulation::with(&scenario, plain.seed, form).unwrap().run().unwrap();
        let (structured, wire) = (with(Form::Structured), with(Form::Wire));
        assert_eq!(structured.probes, wire.probes, "{name}");
        assert_eq!(structured.series, wire.series, "{name}");
        let tsns = structured.probes[0].tsns.expect("TSNs that were asked for");
        assert_eq!(tsns.delivery.count + unknown, tsns.sent, "{name}");
    }
}

#[test]
fn lives_of_tsns_agree_with_the_counters() {
    let result = observed("two-paths-loss", 1, &BLOCKED);
    let probes = &result.probes[0];
    let (tsns, series) = (probes.tsns.unwrap(), &result.series.as_ref().unwrap().tsns[0]);
    let chunks: u64 = result.paths.iter().map(|path| path.data_chunks_sent).sum();
    let receiver = &result.hosts[1];
    assert_eq!(tsns.sent, receiver.data_chunks_received);
    assert_eq!([tsns.transfer.count, tsns.delivery.count], [tsns.sent; 2]);
    let again: u64 = series.lives.retransmissions.iter().map(|n| u64::from(*n)).sum();
    assert_eq!(tsns.sent + again, chunks);
    for ((path, counters), probe) in series.paths.iter().zip(&result.paths).zip(&probes.paths) {
        let fast = path.fast_retransmitted.tsn.len() as u64;
        let timer = path.timer_retransmitted.tsn.len() as u64;
        assert_eq!(fast, counters.fast_retransmissions, "{}", path.name);
        assert_eq!(timer, counters.timeout_retransmissions, "{}", path.name);
        let (sent, received) = (path.first_sent.tsn.len() as u64, path.received.tsn.len() as u64);
        let summary = probe.tsns.expect("TSNs that were asked for");
        assert_eq!([sent, received], [summary.sent, summary.arrived], "{}", path.name);
    }
    let sent_first: u64 = probes.paths.iter().map(|path| path.tsns.unwrap().sent).sum();
    let arrived: u64 = probes.paths.iter().map(|path| path.tsns.unwrap().arrived).sum();
    assert_eq!([sent_first, arrived], [tsns.sent; 2]);
    // 45 ms one way, and what was lost takes at least a round trip more.
    let seconds = |value: Option<f64>| value.expect("a value");
    assert!((0.045..0.06).contains(&seconds(tsns.transfer.p50_s)), "{tsns:?}");
    assert!(seconds(tsns.transfer.max_s) > 0.135, "{tsns:?}");
    assert!(seconds(tsns.delivery.mean_s) >= seconds(tsns.transfer.mean_s));
    let sum = seconds(tsns.transfer.mean_s) + seconds(tsns.waiting.mean_s);
    assert!((sum - seconds(tsns.delivery.mean_s)).abs() < 1e-9, "{tsns:?}");
}

#[test]
fn every_chunk_is_seen_where_messages_are_given_up() {
    // Messages longer than the windows: many are given up before all of their chunks were sent, and the rest has a TSN
    // that never is.
    let set = [
        "traffic.file.source.file=4 MiB",
        "traffic.file.message_size=100000 B",
        "traffic.file.reliability={ limited-retransmissions = 0 }",
        "record.series=1 s",
    ];
    let result = observed("two-paths-loss", 1, &set);
    assert!(result.hosts[0].messages_abandoned.limited_retransmissions_sent > 10);
    let chunks: u64 = result.paths.iter().map(|path| path.data_chunks_sent).sum();
    let lives = &result.series.as_ref().expect("series").tsns[0].lives;
    let again: u64 = lives.retransmissions.iter().map(|n| u64::from(*n)).sum();
    let tsns = result.probes[0].tsns.expect("TSNs that were asked for");
    assert_eq!(tsns.sent + again, chunks);
    assert_eq!(tsns.transfer.count, result.hosts[1].data_chunks_received);
}

#[test]
fn stalls_after_the_equations_are_those_that_are_measured() {
    for set in [&BLOCKED[..], &["sctp.policies.delayed_ack.packets=1"]] {
        let longer = ["traffic.file.source.file=1 MiB"];
        let set: Vec<&str> = BLOCKED.iter().chain(set).chain(&longer).copied().collect();
        let result = observed("two-paths-loss", 3, &set);
        let stalls = result.probes[0].stalls.expect("stalls that were asked for");
        assert!(stalls.count > 20, "{stalls:?}");
        // A packet takes 1.2 ms on these links.
        assert!(stalls.difference_max_s.unwrap() < 0.0012, "{stalls:?}");
        assert!(stalls.from_trace_max_s.unwrap() > 0.1, "{stalls:?}");
        assert!(stalls.model_mean_s.is_some() && stalls.window_mean_s.is_some());
        let ended: u64 = result.probes[0].paths.iter().filter_map(|path| path.stalls_ended).sum();
        assert_eq!(ended, stalls.count);
    }
}

#[test]
fn blocked_time_is_that_of_the_stack() {
    let set = [&BLOCKED[..], &["network.disjoint.paths.path 2.bottleneck.loss.forward=10 %"]];
    let result = observed("two-paths-loss", 1, &set.concat());
    let (probes, host) = (&result.probes[0], &result.hosts[0]);
    let blocking = probes.blocking.expect("blocking that was asked for");
    assert!(blocking.peer_window_s > 0.1, "{blocking:?}");
    assert!((blocking.peer_window_s - host.blocked.peer_window_s).abs() < 1e-6, "{blocking:?}");
    assert!((blocking.send_buffer_s - host.blocked.send_buffer_s).abs() < 1e-6, "{blocking:?}");
    let by_path = |of: fn(&polypath_sim::PathBlockingResult) -> f64| -> f64 {
        probes.paths.iter().map(|path| of(&path.blocking.unwrap())).sum()
    };
    assert!((by_path(|path| path.peer_window_s) - blocking.peer_window_s).abs() < 1e-6);
    assert!((by_path(|path| path.peer_window_sent_first_s) - blocking.peer_window_s).abs() < 1e-6);
    // Path 2 loses ten times as much as path 1.
    let [one, two] = [0, 1].map(|path: usize| probes.paths[path].blocking.unwrap().peer_window_s);
    assert!(two > one, "{one} {two}");
    let in_recovery = blocking.peer_window_in_timeout_recovery_s;
    assert!(in_recovery > 0.0 && in_recovery < blocking.peer_window_s, "{blocking:?}");
}

#[test]
fn an_outage_is_told_with_its_timeouts_and_what_was_delivered_meanwhile() {
    // Three consecutive timeouts, of 1, 2 and 4 s at least, make the path inactive.
    let set = ["run.duration=25 s", "faults.0.outage.from=5 s", "record.series=1 s"];
    let result = observed("failover", 1, &set);
    let probes = &result.probes[0];
    let [failure] = &probes.failures[..] else { panic!("{:?}", probes.failures) };
    let path = &result.paths[1];
    assert_eq!((failure.path.as_str(), failure.began_s), ("path 2", 5.0));
    assert_eq!(failure.detected_s, path.failed_s);
    let detection = failure.detection_s.expect("a failure that was noticed");
    assert!((7.0..9.5).contains(&detection), "{failure:?}");
    let first = failure.first_timeout_s.expect("timeouts");
    assert!((5.9..7.0).contains(&first), "{failure:?}");
    let delivered = failure.delivered_since_bytes.expect("what was delivered meanwhile") as f64;
    let goodput = failure.goodput_bit_s.expect("a rate");
    assert!((goodput - 8.0 * delivered / detection).abs() < 1.0, "{failure:?}");
    assert!(failure.delivered_bytes > failure.delivered_since_bytes);
    let timeouts = probes.paths[1].timeouts.expect("timeouts that were asked for");
    assert_eq!(timeouts.count, path.timeouts);
    assert_eq!(timeouts.longest_run, 3, "{timeouts:?}");
    assert_eq!(probes.paths[1].failures_detected, Some(1));
    assert_eq!(
        probes.timeouts.unwrap().count,
        result.paths.iter().map(|p| p.timeouts).sum::<u64>()
    );
    let changes = &result.series.as_ref().unwrap().changes[0].paths[1];
    let rto = changes.rtt.rto_s.iter().copied().fold(0.0, f64::max);
    assert!(rto >= 8.0, "{rto}");
    assert!(changes.state.state.contains(&1) && changes.state.state.contains(&3));
}
