//! Statements of a paper about default values, which need no runs.

use std::collections::BTreeMap;
use std::path::Path;

use polypath_sim::Scenario;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Judgement, PlaceJudgement, Verdict};

/// Default values of a paper.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Defaults {
    /// Its identifier, which never changes.
    pub id: String,
    /// Figure, table or section that it is about.
    pub figure: String,
    /// The statement as text.
    pub statement: String,
    /// A scenario that does not set them: a file, named relative to this one.
    pub scenario: String,
    /// Keys of the scenario with all defaults filled in, and their expected values. `sctp` is a list:
    /// `sctp.0.policies.path_order`.
    #[schemars(with = "BTreeMap<String, Value>")]
    pub values: BTreeMap<String, toml::Value>,
    /// Why they differ here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<String>,
    /// Experiments that show the cause: names of statements, or of studies beside this file.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shown_by: Vec<String>,
}

impl Defaults {
    /// Whether the scenario, which is in `folder`, has these values. A scenario that cannot be read has none.
    pub fn judge(&self, paper: &str, folder: &Path) -> Judgement {
        let scenario = Scenario::read::<&str>(&folder.join(&self.scenario), &[]);
        self.compare(paper, &scenario.map_err(|error| error.to_string()).and_then(complete))
    }

    fn compare(&self, paper: &str, complete: &Result<Value, String>) -> Judgement {
        let place = |(key, expected): (&String, &toml::Value)| {
            let found = complete.as_ref().map(|complete| find(complete, key));
            let (verdict, found) = match found {
                Ok(Some(found)) if serde_json::to_value(expected).is_ok_and(|e| e == *found) => {
                    (Verdict::Holds, found.to_string())
                }
                Ok(found) => {
                    (Verdict::Differs, found.map_or("nothing".into(), ToString::to_string))
                }
                Err(error) => (Verdict::Differs, error.clone()),
            };
            {
                let what = format!("{key} is {found}");
                PlaceJudgement {
                    what,
                    verdict,
                    estimate: None,
                    runs_needed: None,
                    claimed: None,
                    points: Vec::new(),
                }
            }
        };
        let places: Vec<PlaceJudgement> = self.values.iter().map(place).collect();
        let others = places.iter().filter(|place| place.verdict != Verdict::Holds);
        let others: Vec<&str> = others.map(|place| place.what.as_str()).collect();
        let verdict = if others.is_empty() { Verdict::Holds } else { Verdict::Differs };
        let found = (!others.is_empty()).then(|| format!("Here {}.", others.join(", ")));
        let cause = self.cause.clone().filter(|_| verdict == Verdict::Differs);
        let cause: Vec<String> = cause.into_iter().chain(found).collect();
        Judgement {
            id: self.id.clone(),
            paper: paper.to_owned(),
            figure: self.figure.clone(),
            statement: self.statement.clone(),
            rule: "defaults",
            n: 0,
            verdict,
            measured: Some((places.len() - others.len()) as f64),
            interval: None,
            place: None,
            unit: String::new(),
            expected: format!("all {} values", places.len()),
            cause: (!cause.is_empty()).then(|| cause.join(" ")),
            shown_by: if verdict == Verdict::Holds { Vec::new() } else { self.shown_by.clone() },
            places,
        }
    }
}

fn complete(scenario: Scenario) -> Result<Value, String> {
    serde_json::to_value(&scenario).map_err(|error| error.to_string())
}

/// The value at a key with dots. Elements of lists are given by name or number, and names may contain dots.
fn find<'a>(value: &'a Value, key: &str) -> Option<&'a Value> {
    let ends = key.match_indices('.').map(|(end, _)| end).chain([key.len()]);
    ends.filter_map(|end| {
        let inner = child(value, &key[..end])?;
        if end == key.len() { Some(inner) } else { find(inner, &key[end + 1..]) }
    })
    .next()
}

fn child<'a>(value: &'a Value, step: &str) -> Option<&'a Value> {
    match value {
        Value::Object(table) => table.get(step),
        Value::Array(list) => {
            let named = |value: &&Value| value.get("name").is_some_and(|name| name == step);
            list.iter().find(named).or_else(|| list.get(step.parse::<usize>().ok()?))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use polypath_sim::document::Document;

    use super::*;

    const SCENARIO: &str = r#"
title = "silent"
run = { duration = "40 s" }
traffic = [{ name = "v1.0", source = { netperfmeter = {} } }]
sctp = { preset = "inet" }
[[network.disjoint.paths]]
name = "path 1"
bottleneck = { rate = "1 Mbit/s", delay = "1 ms" }
"#;

    /// What becomes of a value, and why.
    fn judged(key: &str, value: &str) -> (Verdict, Option<String>) {
        let document = Document::parse("s", SCENARIO).expect("TOML");
        let scenario = Scenario::from_document(&document).expect("a scenario");
        let text = format!(
            "id = \"x\"\nfigure = \"1\"\nstatement = \"words\"\nscenario = \"s\"\n\
             [values]\n\"traffic.0.queue\" = 1000\n\"{key}\" = {value}\n"
        );
        let defaults: Defaults = toml::from_str(&text).expect("defaults");
        let judgement = defaults.compare("p", &complete(scenario));
        (judgement.verdict, judgement.cause)
    }

    #[test]
    fn defaults_can_hold_and_differ() {
        for (key, value) in [
            ("sctp.0.policies.cwnd_update", "\"pseudo-cum-ack-v2\""),
            ("traffic.v1.0.source.netperfmeter.frame_rate", "\"10 Hz\""),
            ("traffic.0.source.netperfmeter.on_off", "[]"),
        ] {
            assert_eq!(judged(key, value), (Verdict::Holds, None), "{key}");
            let (verdict, cause) = judged(key, "\"other\"");
            assert_eq!(verdict, Verdict::Differs, "{key}");
            assert!(cause.is_some_and(|cause| cause.starts_with(&format!("Here {key} is "))));
        }
        let (verdict, cause) = judged("sctp.0.no_such_key", "1");
        assert_eq!(verdict, Verdict::Differs);
        assert_eq!(cause.as_deref(), Some("Here sctp.0.no_such_key is nothing."));
    }

    #[test]
    fn a_scenario_that_cannot_be_read_has_no_defaults() {
        let defaults = Defaults {
            id: "x".into(),
            figure: "1".into(),
            statement: "words".into(),
            scenario: "no-such.toml".into(),
            values: [("run.seed".to_owned(), toml::Value::Integer(1))].into(),
            cause: Some("known".into()),
            shown_by: Vec::new(),
        };
        let judgement = defaults.judge("p", Path::new("no/such/folder"));
        assert_eq!(judgement.verdict, Verdict::Differs);
        assert!(judgement.cause.is_some_and(|cause| cause.starts_with("known Here run.seed is ")));
    }
}
