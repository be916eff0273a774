//! All runs of a study.

use std::collections::{BTreeMap, BTreeSet, btree_map};
use std::fs;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use polypath_sim::Scenario;
use polypath_sim::scenario::Record;
use rayon::{ThreadPool, ThreadPoolBuilder};
use serde::Serialize;

use super::job::timed;
use super::make_error::{MakeError, from_causes};
use super::pool::{Progress, make_runs};
use super::run_once;
use super::test_bed::TestBed;
use crate::journal::{
    Entry, Journal, JournalError, NoResult, Outcome, Plan, Program, RemainingError, RunId, Shard,
    Status, first_target, is_recorded, keys, record,
};
use crate::results::{self, DirectoryError, ResultsError, WriteError};
use crate::stats::mean;
use crate::study::{Measure, Study, Until, matches};

/// How a study is to be run.
pub struct Request<'a> {
    /// Threads; default: the number of processors.
    pub jobs: Option<NonZeroUsize>,
    /// The part of it.
    pub shard: Shard,
    /// Who runs it.
    pub program: Program,
    /// Who runs it in real time, if it is a study of that kind.
    pub test_bed: Option<&'a dyn TestBed>,
    /// When set, no more runs are begun.
    pub stop: &'a AtomicBool,
    /// Called with the progress of the runs.
    pub progress: &'a dyn Progress,
}

/// What became of a study.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Summary {
    /// Where the results are.
    pub directory: PathBuf,
    /// Rows of `runs`.
    pub rows: usize,
    /// Runs made now.
    pub new: usize,
    /// Runs that were there already.
    pub known: usize,
    /// Rows by how they ended.
    pub statuses: BTreeMap<Status, usize>,
    /// Some of the errors.
    pub errors: Vec<String>,
    /// Whether all is done.
    pub finish: Finish,
    /// Time that it took, in seconds.
    pub wall_s: f64,
}

/// Whether all is done.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Finish {
    /// Every run is there, and tables are written.
    Complete,
    /// It was stopped; what is done will not be repeated.
    Interrupted,
}

/// Why a study cannot be run.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// Runs cannot be made or written down.
    #[error(transparent)]
    Make(#[from] MakeError),
    /// Results of shards cannot be read, or do not belong together.
    #[error(transparent)]
    Results(#[from] ResultsError),
    /// There is no test bed for it, or the test bed could not run it.
    #[error("in real time it cannot be run: {0}")]
    TestBed(String),
    /// Runs are missing, and none may be made.
    #[error(
        "{missing} runs are missing: run the shards to their end, or the study itself with this directory as --out"
    )]
    Missing {
        /// How many.
        missing: usize,
    },
}

from_causes!(
    RunError: JournalError,
    NoResult,
    WriteError,
    DirectoryError,
    rayon::ThreadPoolBuildError,
    RemainingError,
);

/// The scenario of the last run of a thread: most often the next one has the same.
struct Cached {
    /// Point and variant.
    key: (usize, usize),
    scenario: Scenario,
    /// What the scenario asks to record, whatever was made of it for a single run.
    asked: Record,
}

/// What a study needs to run.
pub(crate) struct Laboratory<'a> {
    study: &'a Study,
    journal: &'a Journal,
    pool: ThreadPool,
    plan: Plan,
    shard: Shard,
    test_bed: Option<&'a dyn TestBed>,
}

/// Runs what is not done yet, and writes the tables.
///
/// # Errors
/// Files cannot be read or written, or a measure asks for what runs do not have. Runs that fail are no error but rows.
pub fn run_study(
    study: &Study,
    directory: &Path,
    request: &Request<'_>,
) -> Result<Summary, RunError> {
    let start = Instant::now();
    results::make_directory(directory)?;
    let journal = Journal::open(&directory.join(results::JOURNAL))?;
    journal.sign(&signature(study, request))?;
    results::write_study(study, directory)?;
    let laboratory = Laboratory {
        test_bed: request.test_bed,
        ..Laboratory::new(study, &journal, request.jobs, request.shard)?
    };
    let known = journal.len();
    let targets = laboratory.complete(Some((request.stop, request.progress)))?;
    journal.sync()?;
    let new = journal.len() - known;
    let Some(targets) = targets else {
        return Ok(Summary {
            directory: directory.to_owned(),
            rows: 0,
            new,
            known,
            statuses: BTreeMap::new(),
            errors: Vec::new(),
            finish: Finish::Interrupted,
            wall_s: start.elapsed().as_secs_f64(),
        });
    };
    laboratory.write(directory, &targets, new, start)
}

/// Who runs a study, and on what: in real time the machine matters.
fn signature(study: &Study, request: &Request<'_>) -> Program {
    let mut program = request.program.clone();
    if let Some(bed) = request.test_bed.filter(|_| study.is_in_real_time()) {
        program.host = format!("{} ({})", program.host, bed.machine());
    }
    program
}

/// Joins the results of shards in `directory`.
///
/// # Errors
/// They belong to different studies, runs are missing, or as [`run_study`].
pub fn merge(shards: &[PathBuf], directory: &Path) -> Result<Summary, RunError> {
    let [first, others @ ..] = shards else { return Err(ResultsError::Nothing.into()) };
    let study = results::study_in(first)?;
    for other in others {
        let theirs = results::study_in(other)?;
        if !theirs.is_same(&study) {
            let (one, other) = (first.clone(), other.clone());
            return Err(ResultsError::Different { one, other }.into());
        }
    }
    merge_into(&study, directory, shards)
}

/// Joins the journals of shards, and writes the tables.
fn merge_into(study: &Study, directory: &Path, shards: &[PathBuf]) -> Result<Summary, RunError> {
    let start = Instant::now();
    let (made, path) = (!directory.exists(), directory.join(results::JOURNAL));
    let begun = !path.exists();
    results::make_directory(directory)?;
    let journal = Journal::open(&path)?;
    let joined = joined(study, directory, &journal, shards, start);
    drop(journal);
    if joined.is_err() {
        // What was there before stays; why it failed is worth more than what a file system says now.
        if begun {
            let _ = fs::remove_file(&path);
        }
        if made {
            let _ = fs::remove_dir(directory);
        }
    }
    joined
}

/// Joins the journals of shards in one of a directory, and writes the tables if nothing is missing.
fn joined(
    study: &Study,
    directory: &Path,
    journal: &Journal,
    shards: &[PathBuf],
    start: Instant,
) -> Result<Summary, RunError> {
    let mut taken = 0;
    for shard in shards {
        taken += journal.absorb(&Journal::open(&shard.join(results::JOURNAL))?)?;
    }
    journal.sync()?;
    let laboratory = Laboratory::new(study, journal, None, Shard::WHOLE)?;
    let targets = laboratory.complete(None)?.unwrap_or_default();
    results::write_study(study, directory)?;
    laboratory.write(directory, &targets, taken, start)
}

/// Runs a scenario in the time that it is for.
fn run_anywhere(
    scenario: &Scenario,
    seed: u64,
    test_bed: Option<&dyn TestBed>,
) -> Result<Outcome, RunError> {
    match (scenario.test_bed, test_bed) {
        (None, _) => Ok(run_once(scenario, seed)),
        (Some(_), Some(bed)) => bed.run(scenario, seed).map_err(RunError::TestBed),
        (Some(_), None) => Err(RunError::TestBed("there is no test bed".into())),
    }
}

/// What two runs of a study that says that nothing is random measured differently, in words.
fn differing(
    measures: &[Measure],
    one: &Outcome,
    other: &Outcome,
) -> Result<Option<String>, NoResult> {
    for measure in measures {
        let of = |outcome: &Outcome| measure.of(&outcome.result.names, &outcome.result.values);
        let (one, other) = (of(one)?, of(other)?);
        if one != other {
            let text = |value: Option<f64>| value.map_or("nothing".into(), |x| x.to_string());
            return Ok(Some(format!(
                "the study says that nothing is random (replications.deterministic), but `{}` is {} with one seed and {} \
                 with another",
                measure.name,
                text(one),
                text(other)
            )));
        }
    }
    Ok(None)
}

impl<'a> Laboratory<'a> {
    fn new(
        study: &'a Study,
        journal: &'a Journal,
        jobs: Option<NonZeroUsize>,
        shard: Shard,
    ) -> Result<Self, RunError> {
        let threads = match study.is_in_real_time() {
            // They would measure each other.
            true => 1,
            false => jobs.map_or(0, NonZeroUsize::get),
        };
        let pool = ThreadPoolBuilder::new().num_threads(threads).build()?;
        let plan = pool.install(|| Plan::of(study));
        Ok(Self { study, journal, pool, plan, shard, test_bed: None })
    }

    /// Makes the runs that are missing, or finds out that none are; returns the number of runs of each point, or nothing
    /// if it was stopped.
    fn complete(
        &self,
        worker: Option<(&AtomicBool, &dyn Progress)>,
    ) -> Result<Option<Vec<u32>>, RunError> {
        let mut targets = vec![first_target(self.study); self.study.points().len()];
        let mut seen = BTreeMap::new();
        loop {
            let missing = self.missing(&targets);
            match worker {
                Some((stop, progress)) => {
                    progress.expect(missing.len());
                    self.make(&missing, stop, progress)?;
                    if stop.load(Ordering::Relaxed) {
                        return Ok(None);
                    }
                }
                None if missing.is_empty() => {}
                None => return Err(RunError::Missing { missing: missing.len() }),
            }
            let Some(until) = &self.study.replications().until else { break };
            if !self.extend(until, &mut targets, &mut seen)? {
                break;
            }
        }
        Ok(Some(targets))
    }

    /// Runs that are neither done nor refused, each once.
    fn missing(&self, targets: &[u32]) -> Vec<(usize, usize, u32)> {
        let mut ids = BTreeSet::new();
        keys(self.study, targets, self.shard)
            .filter(|(point, variant, _)| self.plan.at(*point, *variant).refused.is_none())
            .filter(|(point, variant, replication)| {
                let id = self.plan.id(self.study, *point, *variant, *replication);
                !self.journal.has(id) && ids.insert(id)
            })
            .collect()
    }

    /// Makes runs and writes them down.
    fn make(
        &self,
        missing: &[(usize, usize, u32)],
        stop: &AtomicBool,
        progress: &dyn Progress,
    ) -> Result<(), RunError> {
        make_runs(
            &self.pool,
            missing.len(),
            (stop, progress),
            || None::<Cached>,
            |cache, number| self.make_one(cache, missing[number]),
        )
    }

    fn make_one(
        &self,
        cache: &mut Option<Cached>,
        (point, variant, replication): (usize, usize, u32),
    ) -> Result<Status, RunError> {
        let place = &self.study.points()[point];
        if cache.as_ref().is_none_or(|cached| cached.key != (point, variant)) {
            let scenario = self.study.scenario(place, variant).ok();
            *cache = scenario.map(|scenario| Cached {
                key: (point, variant),
                asked: scenario.record,
                scenario,
            });
        }
        let Some(Cached { asked, scenario, .. }) = cache else { return Ok(Status::Refused) };
        scenario.record = record(self.study, *asked, is_recorded(self.study, replication));
        let seed = self.study.seed(place, variant, replication);
        let is_simulated = scenario.test_bed.is_none();
        let (outcome, execution) = timed(is_simulated, || self.make_outcome(scenario, seed));
        let outcome = outcome?;
        let status = outcome.status;
        if status.has_results() {
            for measure in self.study.measures() {
                measure.of(&outcome.result.names, &outcome.result.values)?;
            }
        }
        let outcome = self.kept(outcome);
        let id = self.plan.id(self.study, point, variant, replication);
        self.journal.add(id, outcome, execution)?;
        Ok(status)
    }

    /// Runs a scenario; with a second seed, too, where the study says that nothing is random.
    fn make_outcome(&self, scenario: &Scenario, seed: u64) -> Result<Outcome, RunError> {
        let outcome = run_anywhere(scenario, seed, self.test_bed)?;
        // That one run is the truth is not to be taken on trust.
        if self.study.replications().deterministic && outcome.status.has_results() {
            let other = run_once(scenario, seed.wrapping_add(1));
            if let Some(error) = differing(self.study.measures(), &outcome, &other)? {
                return Ok(Outcome::without_result(Status::Refused, error));
            }
        }
        Ok(outcome)
    }

    /// Leaves out series that the study does not keep.
    fn kept(&self, mut outcome: Outcome) -> Outcome {
        let only = self.study.series().map_or(&[][..], |series| &series.only);
        if !only.is_empty() {
            let kept = |name: &str| only.iter().any(|pattern| matches(pattern, name));
            outcome.result.series.retain(|(name, _, _)| kept(name));
        }
        outcome
    }

    /// Raises the number of runs of points where an interval is too wide; returns whether there are any.
    fn extend(
        &self,
        until: &Until,
        targets: &mut [u32],
        seen: &mut BTreeMap<RunId, Option<f64>>,
    ) -> Result<bool, RunError> {
        let mut extended = false;
        for (point, target) in
            targets.iter_mut().enumerate().filter(|(point, _)| self.shard.has(*point))
        {
            let mut wanted = *target;
            for variant in 0..self.study.variants().len() {
                if self.plan.at(point, variant).refused.is_none() {
                    let values = self.values(until, point, variant, *target, seen)?;
                    wanted = wanted.max(self.wanted(until, &values, *target));
                }
            }
            extended |= wanted > *target;
            *target = wanted;
        }
        Ok(extended)
    }

    /// What the runs of a configuration measured.
    fn values(
        &self,
        until: &Until,
        point: usize,
        variant: usize,
        target: u32,
        seen: &mut BTreeMap<RunId, Option<f64>>,
    ) -> Result<Vec<f64>, RunError> {
        let measure =
            self.study.measure(&until.measure).map(|number| &self.study.measures()[number]);
        let Some(measure) = measure else { return Ok(Vec::new()) };
        let mut values = Vec::new();
        for replication in 0..target {
            let id = self.plan.id(self.study, point, variant, replication);
            let value = match seen.entry(id) {
                btree_map::Entry::Occupied(known) => *known.get(),
                btree_map::Entry::Vacant(place) => {
                    *place.insert(self.value(measure, self.journal.read(id)?)?)
                }
            };
            values.extend(value);
        }
        Ok(values)
    }

    /// What a run measured; nothing where it has no results.
    fn value(&self, measure: &Measure, entry: Option<Entry>) -> Result<Option<f64>, NoResult> {
        let outcome = entry.map(|entry| entry.outcome);
        match outcome.filter(|outcome| outcome.status.has_results()) {
            Some(outcome) => measure.of(&outcome.result.names, &outcome.result.values),
            None => Ok(None),
        }
    }

    /// The number of runs after which the interval is probably narrow enough: what its width now suggests, but at most
    /// twice as many as now. Depends on nothing but the runs so far.
    fn wanted(&self, until: &Until, values: &[f64], now: u32) -> u32 {
        let Some(estimate) = mean(values, self.study.confidence()) else { return now };
        let half_width = estimate.interval.half_width();
        let allowed = until.half_width.as_f64() * estimate.value.abs();
        if half_width <= allowed || now >= until.max {
            return now;
        }
        let factor = if allowed > 0.0 { (half_width / allowed).powi(2) } else { 2.0 };
        let suggested = (f64::from(now) * factor.min(2.0)).ceil() as u32;
        suggested.clamp(now + 1, until.max)
    }

    /// Writes the tables.
    fn write(
        &self,
        directory: &Path,
        targets: &[u32],
        new: usize,
        start: Instant,
    ) -> Result<Summary, RunError> {
        let rows = keys(self.study, targets, self.shard).map(|(point, variant, replication)| {
            let id = self.plan.id(self.study, point, variant, replication);
            let refused = self.plan.at(point, variant).refused.clone();
            results::RowKey { point, variant, replication, id, refused }
        });
        let rows: Vec<_> = rows.collect();
        let write = || results::write(self.study, directory, self.journal, &rows);
        let tally = self.pool.install(write)?;
        Ok(Summary {
            directory: directory.to_owned(),
            rows: rows.len(),
            new,
            known: self.journal.len() - new,
            statuses: tally.statuses,
            errors: tally.errors,
            finish: Finish::Complete,
            wall_s: start.elapsed().as_secs_f64(),
        })
    }
}
