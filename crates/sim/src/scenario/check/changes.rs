//! Checks of faults and steps.

use polypath_units::{BitRate, Instant};

use super::super::{Fault, OutageFault, Scenario, StepPlan};
use super::Result;
use crate::document::{Document, Step};

use Step::{Index, Key};

pub(super) fn check(scenario: &Scenario, document: &Document) -> Result {
    for (index, Fault::Outage(outage)) in scenario.faults.iter().enumerate() {
        let earlier = &scenario.faults[..index];
        if let Some((key, message)) = outage_problem(outage, earlier, scenario) {
            let steps = [Key("faults"), Index(index), Key("outage"), Key(key)];
            return Err(document.complain(&steps, message));
        }
    }
    for (index, step) in scenario.steps.iter().enumerate() {
        let earlier = &scenario.steps[..index];
        if let Some((key, message)) = step_problem(step, earlier, scenario) {
            return Err(document.complain(&[Key("steps"), Index(index), Key(key)], message));
        }
    }
    Ok(())
}

/// A key and what is wrong there.
type Found = Option<(&'static str, String)>;

fn outage_problem(outage: &OutageFault, earlier: &[Fault], scenario: &Scenario) -> Found {
    if let Some(message) = unknown_path(&outage.path, scenario) {
        return Some(("path", message));
    }
    if let Some(message) = too_late(outage.from, scenario) {
        return Some(("from", message));
    }
    if outage.until.is_some_and(|until| until <= outage.from) {
        return Some(("until", format!("must be later than {}", outage.from)));
    }
    let overlaps = earlier.iter().any(|Fault::Outage(other)| {
        let end = |until: Option<Instant>| until.unwrap_or(Instant::FAR_FUTURE);
        other.path == outage.path
            && other.way.meets(outage.way)
            && outage.from <= end(other.until)
            && other.from <= end(outage.until)
    });
    overlaps
        .then(|| ("from", format!("overlaps or touches another outage of path `{}`", outage.path)))
}

fn step_problem(step: &StepPlan, earlier: &[StepPlan], scenario: &Scenario) -> Found {
    if let Some(message) = unknown_path(&step.path, scenario) {
        return Some(("path", message));
    }
    if let Some(message) = too_late(step.at, scenario) {
        return Some(("at", message));
    }
    if step.rate.is_some_and(BitRate::is_zero) {
        return Some(("rate", "must not be zero: to stop a path, give it an outage".into()));
    }
    if step.rate.is_none() && step.delay.is_none() && step.loss.is_none() {
        return Some(("at", "the step changes nothing: give it rate, delay or loss".into()));
    }
    let twice = earlier
        .iter()
        .any(|other| other.path == step.path && other.at == step.at && other.way.meets(step.way));
    twice.then(|| ("at", format!("there is another step of path `{}` at that time", step.path)))
}

fn unknown_path(name: &str, scenario: &Scenario) -> Option<String> {
    let paths = scenario.network.paths();
    let names = || paths.iter().map(|path| format!("`{}`", path.name)).collect::<Vec<_>>();
    let known = paths.iter().any(|path| path.name == name);
    (!known).then(|| format!("there is no path `{name}`; paths: {}", names().join(", ")))
}

fn too_late(at: Instant, scenario: &Scenario) -> Option<String> {
    let duration = scenario.run.duration;
    (at >= Instant::ZERO + duration)
        .then(|| format!("lies at the end of the run or after it ({duration})"))
}
