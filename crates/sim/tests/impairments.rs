//! Whole runs over links on which everything goes wrong.

mod common;

use common::read;
use polypath_sim::{Form, RunResult, Simulation};

const BOTTLENECK: &str = "network.disjoint.paths.path 1.bottleneck";
const SHORT: [&str; 2] = ["traffic.file.source.file=256 KiB", "run.duration=100 s"];

fn run(edits: &[&str], form: Form) -> RunResult {
    let edits: Vec<String> =
        SHORT.iter().chain(edits).map(|edit| edit.replace("BN", BOTTLENECK)).collect();
    let edits: Vec<&str> = edits.iter().map(String::as_str).collect();
    let scenario = read("two-paths-loss", &edits);
    Simulation::with(&scenario, 1, form).unwrap().run().unwrap()
}

/// The same run in both forms; it has to be whole in both.
fn in_both_forms(edits: &[&str]) -> RunResult {
    let [structured, mut wire] = [Form::Structured, Form::Wire].map(|form| run(edits, form));
    assert!(structured.is_ok() && structured.flows[0].complete, "{structured:?}");
    assert_eq!(wire.form, Form::Wire);
    wire.form = structured.form;
    assert_eq!(structured, wire);
    structured
}

#[test]
fn bit_errors_in_the_checksum_are_found_in_both_forms() {
    let result = in_both_forms(&["BN.bit_errors.rate='1e-5'", "BN.bit_errors.damaged=delivered"]);
    let of = |host: usize| result.hosts[host].checksum_failures;
    let damaged = |from| {
        let mut bottlenecks = result.bottlenecks.iter();
        bottlenecks.find(|b| b.path == "path 1" && b.from == from).unwrap().packets_damaged
    };
    assert!(damaged("a") > 2);
    // Nothing is lost behind the bottleneck.
    assert_eq!((of(1), of(0)), (damaged("a"), damaged("b")));
    let oracle = result.paths[0].oracle_loss.unwrap();
    assert!((oracle - (1.0 - 0.99 * (1.0 - 1e-5f64).powi(12_000))).abs() < 1e-6, "{oracle}");
}

#[test]
fn drop_reports_are_the_same_in_both_forms() {
    let result = in_both_forms(&[
        "BN.bit_errors.rate='1e-5'",
        "BN.bit_errors.damaged=delivered",
        "sctp.policies.packet_drop_report=on",
    ]);
    assert!(result.hosts[1].drop_reports_sent > 2);
    assert!(result.paths[0].reported_retransmissions > 2);
}

#[test]
fn bit_errors_anywhere_make_packets_bytes_and_are_found() {
    let edits = [
        "BN.bit_errors.rate='1e-5'",
        "BN.bit_errors.damaged=delivered",
        "BN.bit_errors.within=anywhere",
    ];
    let result = run(&edits, Form::Structured);
    assert_eq!(result.form, Form::Wire);
    assert!(result.is_ok() && result.flows[0].complete);
    assert!(result.hosts[1].checksum_failures > 2);
}

#[test]
fn links_that_check_lose_what_is_damaged() {
    let result = in_both_forms(&["BN.bit_errors.rate='1e-5'"]);
    assert!(result.bottlenecks[0].dropped_bit_error > 2);
    assert_eq!(result.hosts[1].checksum_failures, 0);
}

#[test]
fn bursts_copies_and_late_packets_do_no_harm_to_the_data() {
    let result = in_both_forms(&[
        "BN.gilbert_elliott.to_bad=1 %",
        "BN.gilbert_elliott.to_good=40 %",
        "BN.duplication=3 %",
        "BN.reordering.probability=5 %",
        "BN.reordering.extra_delay=20 ms",
        "BN.jitter.extra.normal.mean=3 ms",
        "BN.jitter.extra.normal.deviation=2 ms",
        "BN.jitter.order=overtake",
    ]);
    let bottleneck = &result.bottlenecks[0];
    assert!(bottleneck.dropped_burst_loss > 0 && bottleneck.packets_duplicated > 0);
    assert!(result.hosts[1].duplicate_chunks_received > 0);
}

#[test]
fn steps_are_seen_in_the_goodput() {
    let set = [
        "run.duration=12 s",
        "run.measure_from=0 s",
        "record.series=1 s",
        "sctp.preset=rfc9260",
        "network.disjoint.paths.path 1.bottleneck.queue={ drop-tail = { bdp = 1 } }",
        "steps=[{ path = 'path 1', at = '4 s', rate = '4 Mbit/s' }, { path = 'path 1', at = '8 s', rate = '12 Mbit/s', way = 'forward' }]",
        "faults=[]",
    ];
    let scenario = read("failover", &set);
    let result = Simulation::new(&scenario).unwrap().run().unwrap();
    let series = result.series.unwrap().goodput_bit_s;
    let mbit = |second: usize| series[second] / 1e6;
    assert!((17.0..20.0).contains(&mbit(2)), "{series:?}");
    assert!((3.0..4.1).contains(&mbit(6)), "{series:?}");
    assert!((9.0..12.0).contains(&mbit(11)), "{series:?}");
}

#[test]
fn a_path_may_have_any_number_of_routers() {
    let link = "{ rate = '20 Mbit/s', delay = '3 ms' }";
    let before = format!("network.disjoint.paths.path 1.before=[{link}, {link}]");
    let after = format!("network.disjoint.paths.path 1.after=[{link}, {link}, {link}]");
    let result = in_both_forms(&[&before, &after]);
    // 2 (25 + 4 (access, both sides, half of it each) + 5 links of 3 ms) and more.
    let srtt = |path: usize| result.paths[path].srtt_s.unwrap();
    assert!(srtt(0) > 0.120 && srtt(1) < srtt(0), "{} {}", srtt(0), srtt(1));
}

#[test]
fn the_oracle_tells_the_stack_which_path_loses_less() {
    // Equal paths but for their loss: with the oracle, retransmissions go to the one that loses less, whichever it is.
    let retransmitted = |loss_1: &str, loss_2: &str, source: &str| {
        let edits = [
            format!("BN.loss={{ forward = '{loss_1} %' }}"),
            format!("network.disjoint.paths.path 2.bottleneck.loss={{ forward = '{loss_2} %' }}"),
            "sctp.policies.retransmission.fast=lossrate".to_owned(),
            "sctp.policies.retransmission.timer=lossrate".to_owned(),
            format!("sctp.policies.retransmission.loss_rate={source}"),
        ];
        let edits: Vec<&str> = edits.iter().map(String::as_str).collect();
        let result = in_both_forms(&edits);
        let of = |path: usize| {
            let path = &result.paths[path];
            path.fast_retransmissions + path.timeout_retransmissions
        };
        [of(0), of(1)]
    };
    let [first, second] = retransmitted("1", "8", "oracle");
    assert!(first > 3 * second, "{first} {second}");
    let [first, second] = retransmitted("8", "1", "oracle");
    assert!(second > 3 * first, "{first} {second}");
}
