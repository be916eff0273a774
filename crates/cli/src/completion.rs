//! Shell completion of keys of `--set` and of values of policies.

use std::collections::BTreeSet;
use std::ffi::OsStr;

use clap::{Arg, Command};
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate};
use polypath::Preset;
use polypath::config::{POLICY_KEYS, PolicyValues};
use serde_json::Value;

use crate::settings;

/// Commands whose `--set` changes a scenario; in the others it changes an association.
const OF_SCENARIOS: [&str; 6] = ["demo", "sim", "emulate", "run", "submit", "random"];
/// Maximum depth in a schema, counting references, which may be cyclic.
const STEPS: usize = 12;

/// The command with completers.
pub(crate) fn with_completers(command: Command) -> Command {
    let of_scenario = OF_SCENARIOS.contains(&command.get_name());
    let complete = move |arg: Arg| match arg.get_id() == "set" {
        true => {
            arg.add(ArgValueCompleter::new(move |current: &OsStr| candidates(current, of_scenario)))
        }
        false => arg,
    };
    command.mut_args(complete).mut_subcommands(with_completers)
}

/// Candidates for `KEY=VALUE`.
fn candidates(current: &OsStr, of_scenario: bool) -> Vec<CompletionCandidate> {
    let current = current.to_string_lossy();
    let offered = match current.split_once('=') {
        Some((key, _)) => values(key),
        None => keys(of_scenario),
    };
    let candidate = |(text, help): &(String, &'static str)| {
        let help = (!help.is_empty()).then(|| (*help).into());
        CompletionCandidate::new(text).help(help)
    };
    let begins = |(text, _): &&(String, &'static str)| text.starts_with(&*current);
    offered.iter().filter(begins).map(candidate).collect()
}

/// Every key with an equals sign, and its meaning.
fn keys(of_scenario: bool) -> Vec<(String, &'static str)> {
    let keys: BTreeSet<String> = match of_scenario {
        true => {
            let policies = POLICY_KEYS.iter().map(|entry| format!("sctp.policies.{}", entry.key));
            scenario_keys().into_iter().chain(policies).collect()
        }
        false => settings::known_keys().into_iter().collect(),
    };
    let meaning = |key: &str| {
        let policy = key.split_once("policies.").map(|(_, policy)| policy);
        let entry = policy.and_then(|policy| POLICY_KEYS.iter().find(|entry| entry.key == policy));
        entry.map_or("", |entry| entry.meaning)
    };
    keys.into_iter().map(|key| (format!("{key}="), meaning(&key))).collect()
}

/// The key with each of its named values.
fn values(key: &str) -> Vec<(String, &'static str)> {
    if key == "sctp.preset" {
        return Preset::ALL.iter().map(|preset| (format!("{key}={}", preset.name()), "")).collect();
    }
    let policy = key.strip_prefix("sctp.").unwrap_or(key).strip_prefix("policies.");
    let entry = policy.and_then(|policy| POLICY_KEYS.iter().find(|entry| entry.key == policy));
    match entry.map(|entry| entry.values) {
        Some(PolicyValues::Choice(values)) => {
            values.iter().map(|value| (format!("{key}={}", value.name), value.meaning)).collect()
        }
        Some(PolicyValues::Parameterized(values)) => values
            .iter()
            .map(|value| {
                (format!("{key}={}", value.example.trim_matches('"')), value.value.meaning)
            })
            .collect(),
        Some(PolicyValues::Quantity { example, what }) => {
            vec![(format!("{key}={}", example.trim_matches('"')), what)]
        }
        None => Vec::new(),
    }
}

/// Keys of scenario files, from their schema. Elements of lists are left out: their names depend on the file.
fn scenario_keys() -> BTreeSet<String> {
    let schema = polypath_sim::scenario::schema().to_value();
    let mut found = BTreeSet::new();
    collect((&schema, &schema), "", STEPS, &mut found);
    found
}

/// Adds the keys below a part of a schema; whether there are any.
fn collect(
    (schema, part): (&Value, &Value),
    path: &str,
    steps: usize,
    found: &mut BTreeSet<String>,
) -> bool {
    let Some(steps) = steps.checked_sub(1) else { return false };
    let mut has_keys = false;
    let target =
        part["$ref"].as_str().and_then(|name| schema.pointer(name.trim_start_matches('#')));
    let alternatives = ["anyOf", "oneOf", "allOf"].iter().filter_map(|name| part[name].as_array());
    for part in target.into_iter().chain(alternatives.flatten()) {
        has_keys |= collect((schema, part), path, steps, found);
    }
    for (name, below) in part["properties"].as_object().into_iter().flatten() {
        let dot = if path.is_empty() { "" } else { "." };
        let path = format!("{path}{dot}{name}");
        if !collect((schema, below), &path, steps, found) && below["type"] != "array" {
            found.insert(path);
        }
        has_keys = true;
    }
    has_keys
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(current: &str, of_scenario: bool) -> Vec<String> {
        let candidates = candidates(OsStr::new(current), of_scenario);
        candidates.iter().map(|it| it.get_value().to_string_lossy().into_owned()).collect()
    }

    #[test]
    fn keys_of_associations_are_completed() {
        assert!(texts("send_bu", false).contains(&"send_buffer_bytes=".to_owned()));
        assert!(texts("policies.rto.", false).contains(&"policies.rto.min=".to_owned()));
        assert!(texts("sctp.", false).is_empty());
    }

    #[test]
    fn keys_of_scenarios_are_completed() {
        for (current, expected) in [
            ("sctp.send_bu", "sctp.send_buffer="),
            ("sctp.policies.congestion", "sctp.policies.congestion="),
            ("sctp.pre", "sctp.preset="),
            ("run.du", "run.duration="),
            ("run.s", "run.seed="),
        ] {
            assert!(texts(current, true).contains(&expected.to_owned()), "{current}");
        }
    }

    #[test]
    fn values_that_have_names_are_completed() {
        let values = texts("policies.congestion=", false);
        assert!(values.contains(&"policies.congestion=olia".to_owned()), "{values:?}");
        assert!(texts("sctp.preset=rec", true).contains(&"sctp.preset=recommended".to_owned()));
        assert!(texts("no.such.key=", false).is_empty());
        assert!(texts("=", false).is_empty() && texts("\u{fffd}", true).is_empty());
    }

    #[test]
    fn whatever_is_completed_is_a_key_that_there_is() {
        let config = |change: &str| {
            settings::association_config(Preset::Recommended, &[change.to_owned()]).map(drop)
        };
        for key in texts("policies.", false) {
            for value in texts(&key, false) {
                let outcome = config(&value).map_err(|error| format!("{error:#}"));
                let message = outcome.err().unwrap_or_default();
                assert!(!message.contains("no such key"), "{value}: {message}");
            }
        }
    }
}
