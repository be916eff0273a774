//! One run.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use polypath_sim::{Form, RunResult, Scenario, Simulation};

use super::clock::Clock;
use super::limits::{Cut, Limits};
use crate::journal::{Execution, FlatResult, Outcome, Status};

/// Runs a scenario with a seed. A panic is an outcome, too.
pub fn run_once(scenario: &Scenario, seed: u64) -> Outcome {
    let unfinished = || Outcome::without_result(Status::Crashed, "it was left".into());
    run_within(scenario, seed, Limits::default()).unwrap_or_else(unfinished)
}

/// The same within limits; `None` for an abandoned run.
pub(super) fn run_within(scenario: &Scenario, seed: u64, limits: Limits<'_>) -> Option<Outcome> {
    let refused = |error: String| Some(Outcome::without_result(Status::Refused, error));
    let watched = limits.watch();
    let run = || {
        let simulation = match Simulation::with(scenario, seed, Form::default()) {
            Ok(simulation) => simulation,
            Err(error) => return refused(error.to_string()),
        };
        let mut cut = None;
        let goes_on = || {
            cut = watched.cut();
            cut.is_none()
        };
        match (simulation.run_while(goes_on), cut) {
            (Ok(Some(result)), _) => Some(outcome_of(&result)),
            (Ok(None), Some(Cut::Abandoned) | None) => None,
            (Ok(None), Some(Cut::TimedOut)) => {
                Some(Outcome::without_result(Status::TimedOut, watched.reason()))
            }
            (Err(error), _) => refused(error.to_string()),
        }
    };
    catch_unwind(AssertUnwindSafe(run))
        .unwrap_or_else(|panic| Some(Outcome::without_result(Status::Crashed, message_of(&*panic))))
}

/// Makes a run and measures how long it took; in real time, processor time says nothing.
pub(crate) fn timed<T>(is_simulated: bool, run: impl FnOnce() -> T) -> (T, Execution) {
    let started = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let (start, clock) = (Instant::now(), Clock::start());
    let outcome = run();
    let execution = Execution {
        wall_s: start.elapsed().as_secs_f64(),
        core_s: is_simulated.then(|| clock.elapsed_s()),
        started_unix_s: started.as_secs_f64(),
    };
    (outcome, execution)
}

/// The outcome of a run that was possible.
pub(super) fn outcome_of(result: &RunResult) -> Outcome {
    let value = match serde_json::to_value(result) {
        Ok(value) => value,
        Err(error) => return Outcome::without_result(Status::Crashed, error.to_string()),
    };
    let status = if result.is_ok() { Status::Ok } else { Status::Failed };
    Outcome {
        status,
        error: problem(result),
        trace_hash: Some(result.trace_hash.to_string()),
        result: FlatResult::of(&value),
    }
}

/// Why a result counts as failed.
fn problem(result: &RunResult) -> Option<String> {
    if result.is_ok() {
        return None;
    }
    let refused = result.flows.iter().find_map(|flow| flow.refused.clone());
    Some(if result.association.failed {
        format!("the association failed: {}", result.association.state)
    } else if let Some(reason) = refused {
        format!("the association did not take the messages: {reason}")
    } else {
        let found = result.violations;
        format!(
            "the applications got {} messages damaged, {} never sent, {} duplicated, {} out of order",
            found.damaged, found.strange, found.duplicated, found.out_of_order
        )
    })
}

/// The message of a panic.
fn message_of(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "a panic without a message".to_owned())
}
