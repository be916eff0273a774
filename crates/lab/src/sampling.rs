//! Adds runs where a statement is undecided, until all are decided or the budget is used up.
//!
//! Stopping as soon as an interval gives an answer misleads more often than the interval promises. The intervals here are valid for
//! all numbers of runs together ([`Confidence::Always`]), whenever they are inspected and whatever ends the runs.
//!
//! [`Confidence::Always`]: crate::stats::Confidence::Always

use std::path::Path;
use std::sync::atomic::Ordering;

use crate::results::{Dataset, ResultsError};
use crate::run::{Finish, Request, RunError, Summary, run_study};
use crate::study::Study;
use crate::verdict::{Judgement, Statement, Verdict, judge};

/// Factor by which the runs of an undecided point grow each time.
const GROWTH: f64 = 1.5;

/// Limits if statements remain undecided.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Caps {
    /// Maximum number of runs of each configuration.
    pub max_runs: u32,
}

/// Why runs ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ended {
    /// Every statement is decided.
    Decided,
    /// Undecided statements have the maximum number of runs.
    MostRuns,
    /// The budget of processor time is used up.
    Budget,
    /// The study was interrupted.
    Stopped,
}

/// Results.
#[derive(Clone, PartialEq, Debug)]
pub struct Sampled {
    /// Summary of the last runs; `new` and `wall_s` cover all of them.
    pub summary: Summary,
    /// Why runs ended.
    pub ended: Ended,
    /// Statements that are undecided, by name.
    pub undecided: Vec<String>,
}

/// Why statements cannot be decided.
#[derive(Debug, thiserror::Error)]
pub enum SamplingError {
    /// Runs cannot be made.
    #[error(transparent)]
    Run(#[from] RunError),
    /// Results cannot be read.
    #[error(transparent)]
    Results(#[from] ResultsError),
}

/// Runs a study from [`Study::until_decided`] until statements about it are decided.
///
/// # Errors
/// As [`run_study`].
pub fn run_until_decided(
    study: &Study,
    statements: &[&Statement],
    directory: &Path,
    request: &Request<'_>,
    caps: Caps,
) -> Result<Sampled, SamplingError> {
    let mut wanted: Vec<u32> = Vec::new();
    let (mut new, mut wall_s) = (0, 0.0);
    loop {
        let mut summary =
            run_study(study, directory, &Request { at_least: &wanted, ..request.clone() })?;
        new += summary.new;
        wall_s += summary.wall_s;
        (summary.new, summary.wall_s) = (new, wall_s);
        summary.known = summary.known.saturating_sub(new);
        if request.stop.load(Ordering::Relaxed) {
            return Ok(Sampled { summary, ended: Ended::Stopped, undecided: Vec::new() });
        }
        if summary.finish != Finish::Complete {
            return Ok(Sampled { summary, ended: Ended::Budget, undecided: Vec::new() });
        }
        let data = Dataset::read(directory)?;
        let open = open(statements, &data);
        let undecided: Vec<String> = open.iter().map(|judged| judged.id.clone()).collect();
        let next = next(study, &data, &open, caps);
        let is_spent = request.limits.budget.is_some_and(|budget| budget.is_spent());
        let ended = match next {
            _ if open.is_empty() => Ended::Decided,
            _ if is_spent => Ended::Budget,
            Some(next) => {
                wanted = next;
                continue;
            }
            None => Ended::MostRuns,
        };
        return Ok(Sampled { summary, ended, undecided });
    }
}

/// Undecided statements that more runs may decide: not those about a deterministic study, nor those that name something that the
/// study does not have.
fn open(statements: &[&Statement], data: &Dataset) -> Vec<Judgement> {
    if data.study().replications().deterministic {
        return Vec::new();
    }
    let judged = statements.iter().filter_map(|statement| judge(statement, "", data).ok());
    judged.filter(|judged| judged.verdict == Verdict::Undecided).collect()
}

/// Number of runs that each point is to have next; `None` if no point may have more.
fn next(study: &Study, data: &Dataset, open: &[Judgement], caps: Caps) -> Option<Vec<u32>> {
    let mut wanted = vec![0; study.points().len()];
    let mut grows = false;
    let places = open.iter().flat_map(|judged| &judged.places);
    for place in places.filter(|place| place.verdict == Verdict::Undecided) {
        for point in &place.points {
            let now = runs_at(study, data, *point);
            let more = (f64::from(now) * GROWTH).ceil() as u32;
            let next = more.min(caps.max_runs);
            if next > now {
                wanted[*point] = next;
                grows = true;
            }
        }
    }
    grows.then_some(wanted)
}

/// Number of runs of each variant at a point.
fn runs_at(study: &Study, data: &Dataset, point: usize) -> u32 {
    let counts = (0..study.variants().len()).map(|variant| data.count(point, variant));
    counts.min().unwrap_or_default() as u32
}
