//! What whole runs have to come to.

mod common;

use std::fs;
use std::path::Path;

use common::{RUNS, read};
use polypath_sim::scenario::{Fault, Flow, OutageFault};
use polypath_sim::{Form, RunResult, Scenario, Simulation};

fn run(scenario: &str, set: &[&str]) -> RunResult {
    let scenario = read(scenario, set);
    Simulation::new(&scenario).unwrap().run().unwrap()
}

#[test]
fn every_file_arrives_whole_and_once() {
    for run in RUNS.iter().filter(|run| run.name.starts_with("loss")) {
        let result = run.run(Form::Structured);
        assert!(result.is_ok(), "{}: {:?}", run.name, result.association);
        let [flow] = &result.flows[..] else { panic!("one flow") };
        assert!(flow.complete, "{}: {flow:?}", run.name);
        assert_eq!(result.association.state, "shut down", "{}", run.name);
        let lost: u64 = result.bottlenecks.iter().map(|bottleneck| bottleneck.dropped_loss).sum();
        assert!(lost > 0, "{}: nothing was lost", run.name);
    }
}

#[test]
fn saturated_paths_are_filled() {
    // 1,452 of the 1,507 bytes of a packet on the wire are user data.
    let most = 100e6 * 1452.0 / 1507.0;
    let set = ["run.duration=4 s", "run.measure_from=3 s"];
    for (scenario, paths) in [("drop-tail-one-path", 1.0), ("drop-tail-cmt", 2.0)] {
        let goodput = run(scenario, &set).goodput_bit_s;
        // A packet more or less at either end of the measured second.
        assert!((0.99..=1.001).contains(&(goodput / most / paths)), "{scenario}: {goodput}");
    }
}

#[test]
fn without_split_fast_retransmit_reordering_is_taken_for_loss() {
    let set = ["run.duration=6 s", "run.measure_from=2 s"];
    let with = run("drop-tail-cmt", &set);
    let without = run("drop-tail-sfr-off", &set);
    assert_eq!(with.hosts[1].duplicate_chunks_received, 0);
    assert!(without.hosts[1].duplicate_chunks_received > 1_000);
    assert!(without.goodput_bit_s < 0.95 * with.goodput_bit_s);
}

#[test]
fn without_window_growth_per_path_the_second_one_hardly_grows() {
    let set = ["run.duration=3 s", "run.measure_from=2 s"];
    let second = |scenario| run(scenario, &set).paths[1].goodput_bit_s;
    assert!(second("drop-tail-cuc-normal") < 0.6 * second("drop-tail-cmt"));
}

#[test]
fn a_cut_path_costs_no_data_and_comes_back() {
    let run = RUNS.iter().find(|run| run.name == "failover").expect("a run of that name");
    let result = run.run(Form::Structured);
    assert!(result.is_ok());
    let series = result.series.expect("the scenario records one");
    let [first, second] = &series.paths[..] else { panic!("two paths") };
    let during = |path: &polypath_sim::PathSeries| path.goodput_bit_s[3..7].iter().sum::<f64>();
    assert_eq!(during(second), 0.0);
    assert!(during(first) > 0.0);
    let last = second.goodput_bit_s.last().copied();
    assert!(last > Some(1e6), "the second path carries {last:?} bit/s at the end");
    assert!(result.paths[1].timeouts > 0);
}

#[test]
fn a_peer_that_is_not_there_is_a_failure() {
    let cut = [
        "faults.0.outage.from=0 s",
        "faults.0.outage.until=79 s",
        "faults.0.outage.path=path 1",
        "network.disjoint.paths.path 2.bottleneck.loss.forward=100 %",
        "sctp.max_init_retransmits=2",
    ];
    let result = run("failover", &cut);
    assert!(!result.is_ok());
    assert_eq!(result.association.state, "no answer");
    assert_eq!(result.association.established_s, None);
    assert_eq!(result.goodput_bit_s, 0.0);
}

#[test]
fn both_hosts_can_send() {
    let scenario = r#"
        title = "Both ways"
        run = { duration = "20 s" }
        [[network.disjoint.paths]]
        name = "one"
        bottleneck = { rate = "10 Mbit/s", delay = "5 ms", loss = { forward = "1 %", backward = "2 %" } }
        [[network.disjoint.paths]]
        name = "two"
        bottleneck = { rate = "5 Mbit/s", delay = "20 ms" }
        [association]
        client = "b"
        connect = "100 ms"
        [[traffic]]
        name = "there"
        source = { file = "300000 B" }
        message_size = "1000 B"
        streams = 3
        [[traffic]]
        name = "there, later"
        source = { file = "50003 B" }
        message_size = "2000 B"
        start = "700 ms"
        first_stream = 3
        delivery = "unordered"
        [[traffic]]
        name = "back"
        from = "b"
        source = { file = "200001 B" }
        message_size = "1000 B"
        stop = "10 s"
    "#;
    let document = polypath_sim::document::Document::parse("both ways", scenario).unwrap();
    let scenario =
        polypath_sim::Scenario::from_document(&document).unwrap_or_else(|error| panic!("{error}"));
    for form in [Form::Structured, Form::Wire] {
        let result = Simulation::with(&scenario, 5, form).unwrap().run().unwrap();
        assert!(result.is_ok(), "{result:?}");
        let delivered: Vec<u64> = result.flows.iter().map(|flow| flow.bytes_delivered).collect();
        assert_eq!(delivered, [300_000, 50_003, 200_001]);
        assert!(result.flows.iter().all(|flow| flow.complete));
        let paths: Vec<_> =
            result.paths.iter().map(|path| (path.from.as_str(), path.name.as_str())).collect();
        assert_eq!(paths, [("a", "one"), ("a", "two"), ("b", "one"), ("b", "two")]);
        assert!(result.association.established_s > Some(0.1));
    }
}

#[test]
fn a_failure_that_only_the_server_sees_is_a_failure() {
    // What b sends is lost from 1 s on; a only listens and sees nothing wrong until the run ends.
    let text = r#"
        title = "One way"
        [run]
        duration = "20 s"
        [[network.disjoint.paths]]
        name = "path 1"
        bottleneck = { rate = "10 Mbit/s", delay = "10 ms" }
        [[faults]]
        outage = { path = "path 1", way = "backward", from = "1 s", until = "20 s" }
        [[traffic]]
        name = "bulk"
        from = "b"
        source = "saturated"
        message_size = "1000 B"
        [sctp]
        preset = "cmt"
        association_max_retrans = 1
        path_max_retrans = 1
    "#;
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("one-way.toml");
    fs::write(&file, text).unwrap();
    let scenario = Scenario::read::<&str>(&file, &[]).unwrap();
    let result = Simulation::new(&scenario).unwrap().run().unwrap();
    assert_eq!(result.association.state, "peer unreachable");
    assert!(!result.is_ok());
}

#[test]
fn what_was_delivered_before_the_association_broke_counts() {
    let set = [
        "run.measure_from=1 s",
        "faults.0.outage.from=5 s",
        "faults.0.outage.until=79 s",
        "network.disjoint.paths.path 1.bottleneck.rate=1 Mbit/s",
        "network.disjoint.paths.path 2.bottleneck.rate=1 Mbit/s",
        "sctp.heartbeat.interval=1 s",
        "sctp.association_max_retrans=3",
        "sctp.path_max_retrans=1",
        "sctp.policies.rto.max=2 s",
        "traffic.bulk.delivery=unordered",
    ];
    let mut scenario = read("failover", &set);
    let Fault::Outage(first) = scenario.faults[0].clone() else { panic!("an outage") };
    scenario.faults.push(Fault::Outage(OutageFault { path: "path 1".into(), ..first }));
    let result = Simulation::new(&scenario).unwrap().run().unwrap();
    assert!(result.association.failed, "{:?}", result.association);
    assert!(result.duration_s < 79.0, "both hosts have given up at {} s", result.duration_s);
    assert_eq!((result.measured_from_s, result.measured_until_s), (1.0, result.duration_s));
    let bits = result.goodput_bit_s * (result.measured_until_s - result.measured_from_s);
    // Two paths of 1 Mbit/s for four seconds, less headers.
    assert!((6e6..8e6).contains(&bits), "{bits} bits");
}

#[test]
fn flows_of_a_host_share_alike() {
    let mut scenario = read("two-100mbit", &["run.duration=2 s", "run.measure_from=500 ms"]);
    for name in ["second", "third"] {
        scenario.traffic.push(Flow { name: name.into(), ..scenario.traffic[0].clone() });
    }
    let result = Simulation::new(&scenario).unwrap().run().unwrap();
    assert!(result.is_ok());
    for flow in &result.flows {
        let share = flow.goodput_bit_s / result.goodput_bit_s;
        assert!((0.32..0.35).contains(&share), "{}: {share}", flow.name);
    }
}

#[test]
fn a_flow_that_stopped_before_it_began_is_not_complete() {
    let set = [
        "association.connect=1 s",
        "traffic.bulk.stop=1010 ms",
        "run.duration=5 s",
        "run.measure_from=0 s",
    ];
    let result = run("failover", &[&set[..], &["faults.0.outage.from=4 s"]].concat());
    assert!(result.association.established_s > Some(1.01));
    let [flow] = &result.flows[..] else { panic!("one flow") };
    assert_eq!((flow.messages_sent, flow.complete, result.completed_s), (0, false, None));
}

#[test]
fn a_message_that_the_association_never_takes_is_a_failure() {
    let mut scenario = read("two-paths-loss", &["run.duration=2 s"]);
    scenario.traffic[0].first_stream = 100;
    let result = Simulation::new(&scenario).unwrap().run().unwrap();
    assert!(!result.is_ok() && !result.association.failed);
    let refused = result.flows[0].refused.as_deref();
    assert_eq!(refused, Some("stream 100 does not exist: the association has 10 outbound streams"));
}

#[test]
fn series_have_the_paths_across_a_full_mesh() {
    let set = [
        "run.duration=2 s",
        "run.measure_from=0 s",
        "record.series=500 ms",
        "sctp.path_pairing=full-mesh",
    ];
    let result = run("two-100mbit", &set);
    let series = result.series.expect("a series that was asked for");
    let names: Vec<&str> = series.paths.iter().map(|path| path.name.as_str()).collect();
    assert_eq!(names, ["path 1", "path 2", "path 1 to path 2", "path 2 to path 1"]);
    for path in &series.paths {
        assert_eq!(path.goodput_bit_s.len(), series.time_s.len(), "{}", path.name);
        assert!(path.goodput_bit_s.iter().any(|rate| *rate > 0.0), "{}", path.name);
    }
    let total: f64 = series.paths.iter().map(|path| path.goodput_bit_s[3]).sum();
    assert!((total / series.goodput_bit_s[3] - 1.0).abs() < 0.02, "{total}");
}
