//! Checks by short runs that the results and series that a study names exist.

use polypath_sim::Scenario;
use polypath_sim::document::{DocumentError, Step};
use polypath_sim::scenario::{Detail, Record, Switch};
use polypath_units::Duration;

use super::run_once;
use crate::journal::{Cell, FlatResult, record};
use crate::study::{Study, matches, no};

use Step::{Index, Key};

/// Duration of a trial after the association begins.
const TRIED: Duration = Duration::from_millis(20);
/// Maximum time between samples of series in a trial.
const SAMPLED: Duration = Duration::from_millis(5);

/// Makes a short run of each variant, and checks that it has the results and series that the study names. Without
/// this check, a misspelt name would show after the first long run, or never.
///
/// # Errors
/// A name matches nothing; the error says where it is written, and names the nearest.
pub fn check_names(study: &Study) -> Result<(), DocumentError> {
    let mut series: Vec<String> = Vec::new();
    // A series of events exists only after the first event, which may not happen in a short run.
    let mut has_events = false;
    for variant in 0..study.variants().len() {
        if study.points().is_empty() {
            break;
        }
        let point = &study.points().at(0);
        // An invalid configuration is reported elsewhere.
        let Ok(scenario) = study.scenario(point, variant) else { continue };
        let Record { changes, tsns, blocking, timeouts, .. } = scenario.record;
        has_events |= changes == Switch::On || [tsns, blocking, timeouts].contains(&Detail::List);
        let seed = study.seed(point, variant, 0);
        let outcome = run_once(&shortened(study, scenario), seed);
        if !outcome.status.has_results() {
            continue;
        }
        check_measures(study, &outcome.result)?;
        series.extend(outcome.result.series.into_iter().map(|(name, _, _)| name));
    }
    series.sort_unstable();
    series.dedup();
    match study.series().is_some() && !series.is_empty() && !has_events {
        true => check_series(study, series),
        false => Ok(()),
    }
}

/// The same scenario, for a short time.
fn shortened(study: &Study, mut scenario: Scenario) -> Scenario {
    let end = scenario.association.connect + TRIED;
    scenario.run.duration = scenario.run.duration.min(end);
    scenario.run.measure_from = Duration::ZERO;
    scenario.run.measure_until = None;
    scenario.record = record(study, scenario.record, study.series().is_some());
    scenario.record.series = scenario.record.series.map(|every| every.min(SAMPLED));
    scenario
}

fn check_measures(study: &Study, result: &FlatResult) -> Result<(), DocumentError> {
    for (index, measure) in study.measures().iter().enumerate() {
        let names = [("result", Some(&measure.result)), ("per", measure.per.as_ref())];
        for (key, pattern) in names.into_iter().filter_map(|(key, name)| Some((key, name?))) {
            if !is_result(pattern, result) {
                let known = result.names.iter().map(String::as_str);
                let path = [Key("measures"), Index(index), Key(key)];
                return Err(study.complain(&path, no("result", pattern, known)));
            }
        }
    }
    Ok(())
}

/// Whether a long run can have such a result. A value that is empty in a short run, such as the delay of messages if none
/// arrived, may have parts in a long one.
fn is_result(pattern: &str, result: &FlatResult) -> bool {
    let begins = |name: &str| {
        let depth = name.split('.').count();
        let head: Vec<&str> = pattern.split('.').take(depth).collect();
        matches(&head.join("."), name)
    };
    // Probes list events, of which there may be none yet.
    if pattern.starts_with("probes.") {
        return true;
    }
    let mut results = result.names.iter().zip(&result.values);
    results.any(|(name, value)| matches(pattern, name) || (*value == Cell::Null && begins(name)))
}

fn check_series(study: &Study, mut known: Vec<String>) -> Result<(), DocumentError> {
    let fits = |pattern: &String, known: &[String]| known.iter().any(|name| matches(pattern, name));
    let only = study.series().map_or(&[][..], |series| &series.only);
    for (index, pattern) in only.iter().enumerate() {
        if !fits(pattern, &known) {
            let path = [Key("series"), Key("only"), Index(index)];
            let message = no("series", pattern, known.iter().map(String::as_str));
            return Err(study.complain(&path, message));
        }
    }
    if !only.is_empty() {
        known.retain(|name| only.iter().any(|pattern| matches(pattern, name)));
    }
    for (number, figure) in study.figures().iter().enumerate() {
        for (index, pattern) in figure.series.iter().enumerate() {
            if !fits(pattern, &known) {
                let path = [Key("figures"), Index(number), Key("series"), Index(index)];
                let message = no("series", pattern, known.iter().map(String::as_str));
                return Err(study.complain(&path, message));
            }
        }
    }
    Ok(())
}
