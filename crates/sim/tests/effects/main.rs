//! Every value of every policy changes what happens, and has the effect for which it exists.
//!
//! A module per group of policies has two things: tests, each a paired comparison in the situation that the mechanism's
//! paper names; and `COVERAGE`, which says for each value of the group's keys in which scenario it changes the trace
//! and which test shows its effect. The walk below goes over the reference of policies and misses nothing.

use std::collections::{BTreeMap, BTreeSet};

use polypath_proto::config::{POLICY_KEYS, PolicyKey, PolicyValues, Preset};
use polypath_sim::document::Document;
use polypath_sim::{RunResult, Scenario, Simulation};

mod authentication;
mod bbr;
mod buffers;
mod congestion;
mod failover;
mod feedback;
mod foreign;
mod gap_blocks;
mod guard;
mod losses;
mod marks;
mod messages;
mod nr_sack;
mod ns2;
mod outages;
mod paths;
mod queues;
mod recovery;
mod reordering;
mod scenarios;
mod slow_paths;
mod smart;
mod spread;

use scenarios::UNEQUAL;

/// One value of one key.
struct Covered {
    /// The key below `sctp.policies`.
    key: &'static str,
    /// The value as `--set` takes it; for a quantity, any that differs from `against`.
    value: &'static str,
    /// Another value, with which the trace differs.
    against: &'static str,
    /// The scenario.
    scenario: &'static str,
    /// Edits of the scenario for both.
    set: &'static [&'static str],
    /// The effect test: its name, and the test itself, so that it exists.
    effect: (&'static str, fn()),
}

/// The name of an effect test and the test.
#[macro_export]
macro_rules! effect {
    ($test:path) => {
        (stringify!($test), $test as fn())
    };
}

/// What the modules cover.
const COVERAGE: &[&[Covered]] = &[
    authentication::COVERAGE,
    buffers::COVERAGE,
    congestion::COVERAGE,
    failover::COVERAGE,
    feedback::COVERAGE,
    foreign::COVERAGE,
    gap_blocks::COVERAGE,
    guard::COVERAGE,
    losses::COVERAGE,
    marks::COVERAGE,
    messages::COVERAGE,
    nr_sack::COVERAGE,
    ns2::COVERAGE,
    outages::COVERAGE,
    paths::COVERAGE,
    recovery::COVERAGE,
    reordering::COVERAGE,
    slow_paths::COVERAGE,
    smart::COVERAGE,
    spread::COVERAGE,
];

/// Runs a scenario after these edits.
fn run(scenario: &str, edits: &[&str]) -> RunResult {
    run_with(scenario, edits.iter().copied())
}

fn run_with<'a>(scenario: &str, edits: impl Iterator<Item = &'a str>) -> RunResult {
    let mut document = Document::parse("effect.toml", scenario).expect("a TOML document");
    for edit in edits {
        document.set(edit).unwrap_or_else(|error| panic!("{edit}: {error}"));
    }
    let scenario = Scenario::from_document(&document).unwrap_or_else(|error| panic!("{error}"));
    let result = Simulation::new(&scenario).expect("a scenario that fits").run();
    let result = result.expect("no capture that could fail");
    assert_eq!(result.violations, Default::default(), "messages were lost, damaged or disordered");
    result
}

/// Trace hashes of runs that were made before: most values are compared both ways round.
type Traces = BTreeMap<String, String>;

fn trace_with(covered: &Covered, value: &str, known: &mut Traces) -> String {
    let edit = format!("sctp.policies.{}={value}", covered.key);
    let run_key = format!("{:?}", (covered.scenario, covered.set, &edit));
    let run = || {
        let edits = covered.set.iter().copied().chain([edit.as_str()]);
        run_with(covered.scenario, edits).trace_hash.to_string()
    };
    known.entry(run_key).or_insert_with(run).clone()
}

/// The names of a key's values; a quantity has one without a name.
fn value_names(key: &PolicyKey) -> Vec<&'static str> {
    match key.values {
        PolicyValues::Choice(values) => values.iter().map(|value| value.name).collect(),
        PolicyValues::Parameterized(values) => values.iter().map(|v| v.value.name).collect(),
        PolicyValues::Quantity { .. } => vec![""],
    }
}

fn covered_values(key: &PolicyKey) -> BTreeSet<String> {
    let of_key = COVERAGE.iter().copied().flatten().filter(|covered| covered.key == key.key);
    let is_quantity = matches!(key.values, PolicyValues::Quantity { .. });
    of_key
        .map(|covered| match covered.value.trim_start_matches("{ ").split(" =").next() {
            Some(name) if !is_quantity => name.trim_matches('"').to_owned(),
            _ => String::new(),
        })
        .collect()
}

#[test]
fn every_value_of_every_policy_has_an_effect() {
    let mut missing = Vec::new();
    for key in POLICY_KEYS {
        let covered = covered_values(key);
        let uncovered = value_names(key).into_iter().filter(|name| !covered.contains(*name));
        missing.extend(uncovered.map(|name| format!("{} = {name}", key.key)));
    }
    assert!(missing.is_empty(), "no scenario and no effect test for {missing:#?}");
}

#[test]
fn every_covered_value_changes_the_trace() {
    let mut known = Traces::new();
    for covered in COVERAGE.iter().copied().flatten() {
        let (value, against) = (covered.value, covered.against);
        let what = format!("{} = {value} against {against} ({})", covered.key, covered.effect.0);
        let (one, other) =
            (trace_with(covered, value, &mut known), trace_with(covered, against, &mut known));
        assert_ne!(one, other, "{what}");
    }
}

#[test]
fn the_reference_has_every_key() {
    fn keys(prefix: &str, value: &serde_json::Value, found: &mut BTreeSet<String>) {
        for (name, value) in value.as_object().expect("a table of policies") {
            let key = format!("{prefix}{name}");
            let listed = POLICY_KEYS.iter().any(|known| known.key == key);
            match value.is_object() && !listed {
                true => keys(&format!("{key}."), value, found),
                false => {
                    found.insert(key);
                }
            }
        }
    }
    let mut found = BTreeSet::new();
    for preset in Preset::ALL {
        let policies = serde_json::to_value(preset.policies()).expect("JSON");
        keys("", &policies, &mut found);
    }
    let listed: BTreeSet<String> = POLICY_KEYS.iter().map(|key| key.key.to_owned()).collect();
    assert_eq!(found, listed);
}

#[test]
fn the_common_scenario_moves_data_over_both_paths() {
    let result = run(UNEQUAL, &[]);
    assert!(result.paths.iter().all(|path| path.data_packets_sent > 0));
}
