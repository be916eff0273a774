//! A run depends on its scenario and seed, and on nothing else.

mod common;

use common::{RUNS, Run};
use polypath_sim::{Form, RunResult, Scenario, Simulation};

fn lossy() -> impl Iterator<Item = &'static Run> {
    RUNS.iter().filter(|run| run.name.starts_with("loss"))
}

/// The result without what tells the forms of packets apart.
fn comparable(mut result: RunResult) -> RunResult {
    result.form = Form::Structured;
    result
}

#[test]
fn the_same_run_twice_is_the_same() {
    for run in lossy() {
        assert_eq!(run.run(Form::Structured), run.run(Form::Structured), "{}", run.name);
    }
}

#[test]
fn packets_as_bytes_give_the_same_run_as_structures() {
    for run in &RUNS {
        let structured = comparable(run.run(Form::Structured));
        let wire = comparable(run.run(Form::Wire));
        assert_eq!(structured, wire, "{}", run.name);
    }
}

#[test]
fn seeds_of_a_lossy_scenario_differ() {
    for run in lossy() {
        let other = Run { seed: run.seed + 100, ..*run };
        let [one, other] = [run, &other].map(|run| run.run(Form::Structured));
        assert_ne!(one.trace_hash, other.trace_hash, "{}", run.name);
        assert_ne!(one.bottlenecks, other.bottlenecks, "{}", run.name);
    }
}

#[test]
fn looking_more_often_changes_nothing() {
    let run = RUNS.iter().find(|run| run.name == "loss").expect("a run of that name");
    let with = |set: &[&'static str]| -> RunResult {
        let set: Vec<&str> = run.set.iter().chain(set).copied().collect();
        let scenario: Scenario = common::read(run.scenario, &set);
        Simulation::with(&scenario, run.seed, Form::Structured).unwrap().run().unwrap()
    };
    let plain = with(&[]);
    let watched = with(&["record.series=7 ms", "record.occupancy=1 ms", "run.measure_from=333 ms"]);
    assert_eq!(plain.trace_hash, watched.trace_hash);
    assert!(plain.series.is_none());
    let series = watched.series.expect("a series that was asked for");
    assert_eq!(series.time_s.len(), series.paths[0].cwnd_bytes.len());
    let bits: f64 = series.goodput_bit_s.iter().map(|rate| rate * 0.007).sum();
    let delivered = 8.0 * watched.flows[0].bytes_delivered as f64;
    assert!((bits - delivered).abs() < 0.05 * delivered, "{bits} of {delivered}");
}
