//! Whole runs over links on which everything goes wrong.

mod common;

use std::fs;
use std::path::{Path, PathBuf};

use common::read;
use polypath_netsim::impair::{AfterEnd, RateTrace};
use polypath_sim::{Form, RunResult, Scenario, Simulation};

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
        "traffic.file.source.file=1 MiB",
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

/// A file with this text in a folder of its own.
fn trace_file(folder: &str, name: &str, text: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(folder);
    fs::create_dir_all(&folder).expect("a folder");
    let file = folder.join(name);
    fs::write(&file, text).expect("a file");
    file
}

#[test]
fn a_path_carries_what_its_trace_says() {
    // Two opportunities in 3 ms: 8 Mbit/s.
    let mahimahi = trace_file("carries", "trace.up", "1\n3\n");
    let table = "time [ms],rate [Mbit/s]\n0,4\n200,12\n";
    let table = trace_file("carries", "trace.csv", table);
    for (file, edit) in [(mahimahi, ""), (table, ".after_end=repeat")] {
        let trace = "network.disjoint.paths.path 1.bottleneck.forward.rate_trace";
        let mut edits = vec![
            "sctp.preset=rfc9260".to_owned(),
            "faults=[]".to_owned(),
            "run.duration=12 s".to_owned(),
            "run.measure_from=4 s".to_owned(),
            "network.disjoint.paths.path 1.bottleneck.queue={ drop-tail = { packets = 100 } }"
                .to_owned(),
            format!("{trace}.file={}", file.display()),
        ];
        if !edit.is_empty() {
            edits.push(format!("{trace}{edit}"));
        }
        let edits: Vec<&str> = edits.iter().map(String::as_str).collect();
        let result = Simulation::new(&read("failover", &edits)).unwrap().run().unwrap();
        // 1452 of 1500 bytes are user data.
        let share = result.goodput_bit_s / (8e6 * 1452.0 / 1500.0);
        assert!((0.93..1.001).contains(&share), "{}: {share}", file.display());
    }
}

#[test]
fn traces_are_found_beside_the_scenario_and_are_the_same_in_both_forms() {
    let scenario = read("lte-and-dsl", &["run.duration=4 s", "run.measure_from=1 s"]);
    let trace = scenario.network.paths()[1].bottleneck.forward.rate_trace.clone().unwrap();
    assert!(trace.digest.as_ref().unwrap().starts_with("xxh64:"));
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/traces/lte.csv");
    let read = RateTrace::from_csv(&fs::read_to_string(file).unwrap(), AfterEnd::Repeat).unwrap();
    assert_eq!(*trace.content().unwrap(), read);
    let [structured, wire] = [Form::Structured, Form::Wire]
        .map(|form| Simulation::with(&scenario, 1, form).unwrap().run().unwrap());
    assert!(structured.is_ok());
    assert_eq!(structured.trace_hash, wire.trace_hash);
    assert!(structured.paths.iter().all(|path| path.goodput_bit_s > 1e6));
}

#[test]
fn runs_begin_in_a_trace_where_they_are_told() {
    let table = "time [s],rate [Mbit/s]\n0,0.2\n5,2\n";
    let file = trace_file("begin", "trace.csv", table).display().to_string();
    let run = |begin: &str, seed: u64| {
        let trace = format!("{{ file = '{file}', after_end = 'repeat'{begin} }}");
        let trace = format!("network.disjoint.paths.path 1.bottleneck.forward.rate_trace={trace}");
        let edits = ["sctp.preset=rfc9260", "faults=[]", "run.duration=5 s", &trace];
        let scenario = read("failover", &edits);
        Simulation::with(&scenario, seed, Form::Structured).unwrap().run().unwrap()
    };
    let goodput = |begin| run(begin, 1).goodput_bit_s / 1e6;
    let [start, later] = [goodput(""), goodput(", begin = { at = '5 s' }")];
    assert!((0.1..0.2).contains(&start) && (1.5..2.0).contains(&later), "{start} {later}");
    // Anywhere: elsewhere in other runs, and in the same place when a run is repeated.
    let anywhere = |seed| run(", begin = 'anywhere'", seed);
    let mut all: Vec<f64> = (1..=4).map(|seed| anywhere(seed).goodput_bit_s / 1e6).collect();
    all.sort_by(f64::total_cmp);
    assert!(all[0] >= 0.1 && all[3] < 2.0 && all[3] - all[0] > 0.3, "{all:?}");
    assert_eq!(anywhere(2).trace_hash, anywhere(2).trace_hash);
}

#[test]
fn mistakes_in_traces_name_file_and_line() {
    let bad = trace_file("mistakes", "bad.csv", "time [s],rate [Mbit/s]\n0,1\n0.5,fast\n");
    let path = common::scenarios().join("lte-and-dsl.toml");
    let key = "network.disjoint.paths.1.bottleneck.forward.rate_trace";
    let trace = "network.disjoint.paths.lte.bottleneck.forward.rate_trace";
    let error =
        |edits: &[String]| Scenario::read(&path, edits).map(|_| ()).unwrap_err().to_string();
    let set = |key: &str, value: &str| format!("{trace}{key}={value}");
    let text = error(&[set(".file", &bad.display().to_string())]);
    assert_eq!(
        text,
        format!("{}:3:1: {key}.file: `fast` is no number from zero on", bad.display())
    );
    let text = error(&[set(".file", "traces/nothing.csv")]);
    assert!(text.starts_with(&format!("--set {trace}.file: {key}.file: cannot read `")), "{text}");
    assert!(text.contains("scenarios/traces/nothing.csv`: "), "{text}");
    let text = error(&[set(".opportunity", "1500 B")]);
    assert!(text.contains("rate_trace.opportunity: a table of rates has none"), "{text}");
    let text = error(&[set(".after_end", "hold"), set(".begin", "anywhere")]);
    assert!(
        text.contains("rate_trace.begin: a trace that does not repeat has one begin"),
        "{text}"
    );
    let text = error(&[format!("{trace}.begin={{ at = '60 s' }}")]);
    assert!(
        text.contains("rate_trace.begin: the trace is 1 min long") || text.contains("60 s long"),
        "{text}"
    );
    let text = error(&[set(".digest", "xxh64:0")]);
    assert!(text.contains("traces/lte.csv` has another content: xxh64:"), "{text}");
    let text = error(&[set(".fiel", "x")]);
    assert!(text.contains("did you mean `file`?"), "{text}");
    let text = error(&[
        "steps=[{ path = 'lte', at = '1 s', rate = '1 Mbit/s', way = 'forward' }]".to_owned()
    ]);
    assert!(text.contains("steps.0.path: path `lte` has a rate trace"), "{text}");
    let backward = "steps=[{ path = 'lte', at = '1 s', rate = '1 Mbit/s', way = 'backward' }]";
    assert!(Scenario::read(&path, &[backward]).is_ok());
}

#[test]
fn a_path_that_flaps_is_down_part_of_the_time() {
    let flapping =
        "{ flapping = { path = 'path 1', from = '2 s', down = '100 ms', up = '1900 ms' } }";
    let run = |faults: &str| {
        let set = ["run.duration=12 s", "run.measure_from=0 s", "sctp.preset=rfc9260", faults];
        Simulation::new(&read("failover", &set)).unwrap().run().unwrap()
    };
    let (steady, flaps) = (run("faults=[]"), run(&format!("faults=[{flapping}]")));
    let outage = |result: &RunResult| result.bottlenecks[0].dropped_outage;
    assert_eq!(outage(&steady), 0);
    assert!(outage(&flaps) > 5 && flaps.goodput_bit_s < 0.9 * steady.goodput_bit_s);
    let path = common::scenarios().join("failover.toml");
    let error =
        |faults: &str| Scenario::read(&path, &[faults]).map(|_| ()).unwrap_err().to_string();
    let inside = "{ outage = { path = 'path 1', from = '4050 ms', until = '4060 ms' } }";
    let text = error(&format!("faults=[{flapping}, {inside}]"));
    assert!(text.contains("faults.1.outage.from: overlaps or touches another"), "{text}");
    let between = inside.replace("4050", "4150").replace("4060", "4160");
    assert!(Scenario::read(&path, &[format!("faults=[{between}, {flapping}]")]).is_ok());
    // Two outages may meet in time where each is of one direction; a third that is of both must meet neither.
    let outage = |way: &str, from: &str, until: &str| {
        format!(
            "{{ outage = {{ path = 'path 1', way = '{way}', from = '{from}', until = '{until}' }} }}"
        )
    };
    let (long, short) = (outage("forward", "1 s", "9 s"), outage("backward", "2 s", "3 s"));
    let both = outage("both", "5 s", "6 s");
    let text = error(&format!("faults=[{long}, {short}, {both}]"));
    assert!(text.contains("faults.2.outage.from: overlaps or touches another"), "{text}");
    assert!(Scenario::read(&path, &[format!("faults=[{long}, {short}]")]).is_ok());
    let text = error(&format!("faults=[{}]", flapping.replace("1900 ms", "0 s")));
    assert!(text.contains("faults.0.flapping.up: must not be zero"), "{text}");
    let fast = flapping.replace("1900 ms", "1 us").replace("100 ms", "1 us");
    let text = error(&format!("faults=[{fast}]"));
    assert!(text.contains("outages, more than 1000000"), "{text}");
}
