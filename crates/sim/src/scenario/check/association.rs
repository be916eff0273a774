//! Checks of how associations begin.

use super::super::{Network, Scenario};
use super::{Problem, Result, problem};
use crate::document::{Document, Step, nearest};

use Step::Key;

pub(super) fn check(scenario: &Scenario, document: &Document) -> Result {
    match time_problem(scenario)
        .or_else(|| port_problem(scenario))
        .or_else(|| name_problem(scenario))
    {
        Some((key, message)) => Err(document.complain(&[Key("association"), Key(&key)], message)),
        None => Ok(()),
    }
}

fn time_problem(scenario: &Scenario) -> Problem {
    let (connect, duration) = (scenario.association.connect, scenario.run.duration);
    let message = || format!("lies at the end of the run or after it ({duration})");
    if connect < duration { None } else { problem("connect", message()) }
}

fn port_problem(scenario: &Scenario) -> Problem {
    let plan = &scenario.association;
    let ports = [("local_port", plan.local_port), ("remote_port", plan.remote_port)];
    let (key, _) = ports.into_iter().find(|(_, port)| *port == 0)?;
    problem(key, "must not be zero")
}

/// Only networks that consist of paths have path names.
fn name_problem(scenario: &Scenario) -> Problem {
    let plan = &scenario.association;
    let named = [
        ("local_address", &plan.local_address),
        ("remote_address", &plan.remote_address),
        ("primary_path", &plan.primary_path),
    ];
    let pairs = 0..scenario.pairs.len();
    let known: Vec<&str> =
        pairs.filter_map(|pair| scenario.paths_of_pair(pair)).flatten().collect();
    for (key, name) in named.into_iter().filter(|(_, name)| !name.is_empty()) {
        if matches!(scenario.network, Network::Star(_) | Network::Graph(_)) {
            return problem(key, "this network has no paths with names");
        }
        if !known.contains(&name.as_str()) {
            let mut message = format!("there is no path `{name}`");
            if let Some(near) = nearest(name, known.iter().copied()) {
                message += &format!("; did you mean `{near}`?");
            }
            return problem(key, message);
        }
    }
    None
}
