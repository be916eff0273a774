//! Checks of faults and steps.

use polypath_netsim::impair::Outage;
use polypath_units::{BitRate, Instant};

use super::super::hosts::unknown;
use super::super::{Fault, FlappingFault, Network, OutageFault, Scenario, StepPlan, Way};
use super::Result;
use super::network::mtu_problem;
use crate::document::{Document, Step};

use Step::{Index, Key};

/// Maximum number of outages of one fault.
const MOST_OUTAGES: u64 = 1_000_000;

pub(super) fn check(scenario: &Scenario, document: &Document) -> Result {
    for (index, fault) in scenario.faults.iter().enumerate() {
        let earlier = &scenario.faults[..index];
        let (kind, problem) = match fault {
            Fault::Outage(outage) => ("outage", outage_problem(outage, scenario)),
            Fault::Flapping(flapping) => ("flapping", flapping_problem(flapping, scenario)),
        };
        let problem = problem.or_else(|| overlap_problem(fault, earlier, scenario));
        if let Some((key, message)) = problem {
            let steps = [Key("faults"), Index(index), Key(kind), Key(key)];
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

fn outage_problem(outage: &OutageFault, scenario: &Scenario) -> Found {
    if let Some(message) = unknown_path(&outage.path, scenario) {
        return Some(("path", message));
    }
    if let Some(message) = too_late(outage.from, scenario) {
        return Some(("from", message));
    }
    if outage.until.is_some_and(|until| until <= outage.from) {
        return Some(("until", format!("must be later than {}", outage.from)));
    }
    None
}

fn flapping_problem(flapping: &FlappingFault, scenario: &Scenario) -> Found {
    if let Some(message) = unknown_path(&flapping.path, scenario) {
        return Some(("path", message));
    }
    if let Some(message) = too_late(flapping.from, scenario) {
        return Some(("from", message));
    }
    if flapping.until.is_some_and(|until| until <= flapping.from) {
        return Some(("until", format!("must be later than {}", flapping.from)));
    }
    for (key, time) in [("down", flapping.down), ("up", flapping.up)] {
        if time.is_zero() {
            return Some((key, "must not be zero".into()));
        }
    }
    let count = flapping.count(Instant::ZERO + scenario.run.duration);
    (count > MOST_OUTAGES)
        .then(|| ("down", format!("that makes {count} outages, more than {MOST_OUTAGES}")))
}

/// Outages that overlap those of an earlier fault.
fn overlap_problem(fault: &Fault, earlier: &[Fault], scenario: &Scenario) -> Found {
    let run_end = Instant::ZERO + scenario.run.duration;
    let own = fault.outages(run_end);
    // Checked per direction, in which earlier outages do not overlap.
    let overlaps = [Way::Forward, Way::Backward].into_iter().any(|way| {
        let others =
            earlier.iter().filter(|other| other.path() == fault.path() && other.way().meets(way));
        let theirs = others.flat_map(|other| other.outages(run_end)).collect();
        fault.way().meets(way) && meet(&own, theirs)
    });
    overlaps
        .then(|| ("from", format!("overlaps or touches another outage of path `{}`", fault.path())))
}

/// Whether any of `own` overlaps any of `theirs`, which do not overlap each other.
fn meet(own: &[Outage], mut theirs: Vec<Outage>) -> bool {
    theirs.sort_by_key(|outage| outage.from);
    let end = |outage: &Outage| outage.until.unwrap_or(Instant::FAR_FUTURE);
    own.iter().any(|own| {
        // Only the last one that begins by its end can.
        let begun = theirs.partition_point(|other| other.from <= end(own));
        begun.checked_sub(1).is_some_and(|last| end(&theirs[last]) >= own.from)
    })
}

fn step_problem(step: &StepPlan, earlier: &[StepPlan], scenario: &Scenario) -> Found {
    if let Some(message) = unknown_path(&step.path, scenario) {
        return Some(("path", message));
    }
    if let Some(message) = too_late(step.at, scenario) {
        return Some(("at", message));
    }
    let of_trace = [step.rate.is_some(), step.delay.is_some(), step.loss.is_some()];
    if of_trace.contains(&true) && has_trace(step, scenario) {
        let message =
            format!("path `{}` has a rate trace, which takes the place of steps", step.path);
        return Some(("path", message));
    }
    if step.rate.is_some_and(BitRate::is_zero) {
        return Some(("rate", "must not be zero: to stop a path, give it an outage".into()));
    }
    if let Some(message) = step.mtu.and_then(mtu_problem) {
        return Some(("mtu", message));
    }
    if !of_trace.contains(&true) && step.mtu.is_none() {
        return Some(("at", "the step changes nothing: give it rate, delay, loss or mtu".into()));
    }
    let twice = earlier
        .iter()
        .any(|other| other.path == step.path && other.at == step.at && other.way.meets(step.way));
    twice.then(|| ("at", format!("there is another step of path `{}` at that time", step.path)))
}

/// Whether a trace defines what a step would change.
fn has_trace(step: &StepPlan, scenario: &Scenario) -> bool {
    let links = scenario.network.named_links();
    links.into_iter().find(|(name, _)| *name == step.path).is_some_and(|(_, link)| {
        let ways = [(Way::Forward, &link.forward), (Way::Backward, &link.backward)];
        ways.into_iter().any(|(way, side)| {
            way.meets(step.way) && side.rate_trace.as_ref().or(link.rate_trace.as_ref()).is_some()
        })
    })
}

fn unknown_path(name: &str, scenario: &Scenario) -> Option<String> {
    let links = scenario.network.named_links();
    let names = links.iter().map(|(name, _)| &name[..]);
    let is_known = names.clone().any(|known| known == name);
    let what = match scenario.network {
        Network::Star(_) | Network::Graph(_) => "link",
        _ => "path",
    };
    (!is_known).then(|| unknown(what, name, names))
}

fn too_late(at: Instant, scenario: &Scenario) -> Option<String> {
    let duration = scenario.run.duration;
    (at >= Instant::ZERO + duration)
        .then(|| format!("lies at the end of the run or after it ({duration})"))
}
