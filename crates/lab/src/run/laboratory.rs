//! Makes the runs of a study.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Instant;

use polypath_sim::Scenario;
use polypath_sim::scenario::Record;
use rayon::{ThreadPool, ThreadPoolBuilder};

use super::job::{run_within, timed};
use super::limits::Limits;
use super::pool::{Progress, make_runs};
use super::study::{Finish, RunError, Summary};
use super::test_bed::TestBed;
use crate::journal::{
    Journal, NoResult, Outcome, Plan, Shard, Status, first_target, is_recorded, keys, points_of,
    record,
};
use crate::results::{self, WriteError};
use crate::study::{Measure, Study, matches};

/// The scenario of the last run of a thread: the next run usually has the same.
struct Cached {
    /// Point and variant.
    key: (usize, usize),
    scenario: Scenario,
    /// The recording that the scenario requests; single runs may have another one.
    asked: Record,
}

/// What a study needs to run.
pub(crate) struct Laboratory<'a> {
    pub(super) study: &'a Study,
    pub(super) journal: &'a Journal,
    pool: ThreadPool,
    pub(super) plan: Plan,
    pub(super) shard: Shard,
    /// Number of runs that it made.
    made: AtomicUsize,
    pub test_bed: Option<&'a dyn TestBed>,
    pub limits: Limits<'a>,
    pub at_least: &'a [u32],
}

/// The difference between two runs of a study that claims to be deterministic, as text.
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
    /// Plans the part of a study.
    pub fn new(
        study: &'a Study,
        journal: &'a Journal,
        jobs: Option<NonZeroUsize>,
        shard: Shard,
    ) -> Result<Self, RunError> {
        let threads = match study.is_in_real_time() {
            // Concurrent runs would disturb each other's measurements.
            true => 1,
            false => jobs.map_or(0, NonZeroUsize::get),
        };
        let pool = ThreadPoolBuilder::new().num_threads(threads).build()?;
        let plan = pool.install(|| Plan::of(study, shard));
        let (made, limits) = (AtomicUsize::new(0), Limits::default());
        let at_least = &[];
        Ok(Self { study, journal, pool, plan, shard, made, test_bed: None, limits, at_least })
    }

    /// Makes the missing runs, if any; returns the number of runs of each point, or `None` if it was stopped.
    pub fn complete(
        &self,
        worker: Option<(&AtomicBool, &dyn Progress)>,
    ) -> Result<Option<Vec<u32>>, RunError> {
        let mut targets = self.first_targets();
        let mut seen = BTreeMap::new();
        let mut again = worker.map(|_| self.limits);
        loop {
            let missing = self.missing(&targets, again.take());
            match worker {
                Some((stop, progress)) => {
                    progress.expect(missing.len());
                    self.make(&missing, stop, progress)?;
                    if stop.load(Ordering::Relaxed) {
                        return Ok(None);
                    }
                    if self.is_spent() && !self.missing(&targets, None).is_empty() {
                        return Ok(self.done_targets());
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

    fn is_spent(&self) -> bool {
        self.limits.budget.is_some_and(|budget| budget.is_spent())
    }

    /// Initial number of runs of each point. If runs are added until statements are decided, existing ones count.
    fn first_targets(&self) -> Vec<u32> {
        let first = first_target(self.study);
        let mut targets = vec![first; self.study.points().len()];
        if self.study.replications().sequential {
            for point in points_of(self.study, self.shard) {
                let wanted = self.at_least.get(point).copied().unwrap_or_default();
                targets[point] = self.done_at(point).max(wanted).max(first);
            }
        }
        targets
    }

    /// Number of runs that all variants of each point have; `None` if some have fewer than the initial number.
    fn done_targets(&self) -> Option<Vec<u32>> {
        let first = first_target(self.study);
        let mut targets = vec![first; self.study.points().len()];
        for point in points_of(self.study, self.shard) {
            targets[point] = Some(self.done_at(point)).filter(|done| *done >= first)?;
        }
        Some(targets)
    }

    /// Number of runs that all variants of a point have.
    fn done_at(&self, point: usize) -> u32 {
        let possible = |variant: &usize| self.plan.refused(point, *variant).is_none();
        let variants: Vec<usize> = (0..self.study.variants().len()).filter(possible).collect();
        if variants.is_empty() {
            return first_target(self.study);
        }
        let is_done = |replication: &u32| {
            variants.iter().all(|variant| {
                self.journal.has(self.plan.id(self.study, point, *variant, *replication))
            })
        };
        (0..).take_while(is_done).count() as u32
    }

    /// Runs that are neither done nor impossible, each once, and those that are to be repeated.
    fn missing(&self, targets: &[u32], again: Option<Limits<'_>>) -> Vec<(usize, usize, u32)> {
        let is_due = |id| match self.journal.note(id) {
            Some(note) => again.is_some_and(|limits| limits.wants_again(note)),
            None => true,
        };
        let mut ids = BTreeSet::new();
        keys(self.study, targets, self.shard)
            .filter(|(point, variant, _)| self.plan.refused(*point, *variant).is_none())
            .filter(|(point, variant, replication)| {
                let id = self.plan.id(self.study, *point, *variant, *replication);
                is_due(id) && ids.insert(id)
            })
            .collect()
    }

    /// Makes and records runs.
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
    ) -> Result<Option<Status>, RunError> {
        if self.is_spent() {
            return Ok(None);
        }
        let place = &self.study.points().at(point);
        if cache.as_ref().is_none_or(|cached| cached.key != (point, variant)) {
            let scenario = self.study.scenario(place, variant).ok();
            *cache = scenario.map(|scenario| Cached {
                key: (point, variant),
                asked: scenario.record,
                scenario,
            });
        }
        let Some(Cached { asked, scenario, .. }) = cache else { return Ok(Some(Status::Refused)) };
        scenario.record = record(self.study, *asked, is_recorded(self.study, replication));
        let seed = self.study.seed(place, variant, replication);
        let is_simulated = scenario.test_bed.is_none();
        let (outcome, execution) = timed(is_simulated, || self.make_outcome(scenario, seed));
        if let Some(budget) = self.limits.budget {
            budget.spend(execution.core_s.unwrap_or(execution.wall_s));
        }
        let Some(outcome) = outcome? else { return Ok(None) };
        let status = outcome.status;
        if status.has_results() {
            for measure in self.study.measures() {
                measure.of(&outcome.result.names, &outcome.result.values)?;
            }
        }
        let outcome = self.kept(outcome);
        let id = self.plan.id(self.study, point, variant, replication);
        self.journal.add(id, outcome, execution)?;
        self.made.fetch_add(1, Ordering::Relaxed);
        Ok(Some(status))
    }

    /// Runs a scenario, and once more with a second seed if the study claims to be deterministic. `None` for an abandoned
    /// run.
    fn make_outcome(&self, scenario: &Scenario, seed: u64) -> Result<Option<Outcome>, RunError> {
        let Some(outcome) = self.run_anywhere(scenario, seed)? else { return Ok(None) };
        // The claim that one run suffices is verified.
        if self.study.replications().deterministic && outcome.status.has_results() {
            let other = run_within(scenario, seed.wrapping_add(1), self.limits);
            let Some(other) = other else { return Ok(None) };
            if other.status == Status::TimedOut {
                return Ok(Some(other));
            }
            if let Some(error) = differing(self.study.measures(), &outcome, &other)? {
                return Ok(Some(Outcome::without_result(Status::Refused, error)));
            }
        }
        Ok(Some(outcome))
    }

    /// Runs a scenario in simulated or real time.
    fn run_anywhere(&self, scenario: &Scenario, seed: u64) -> Result<Option<Outcome>, RunError> {
        match (scenario.test_bed, self.test_bed) {
            (None, _) => Ok(run_within(scenario, seed, self.limits)),
            (Some(_), Some(bed)) => bed.run(scenario, seed).map(Some).map_err(RunError::TestBed),
            (Some(_), None) => Err(RunError::TestBed("there is no test bed".into())),
        }
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

    /// Number of threads that make runs.
    pub fn threads(&self) -> usize {
        self.pool.current_num_threads()
    }

    /// Number of runs that it made.
    pub fn made(&self) -> usize {
        self.made.load(Ordering::Relaxed)
    }

    /// Writes the tables.
    pub fn write(
        &self,
        directory: &Path,
        targets: &[u32],
        (new, start): (usize, Instant),
    ) -> Result<Summary, RunError> {
        let rows = self.rows(targets);
        let write = || results::write(self.study, directory, (self.journal, &self.plan), &rows);
        let tally = self.pool.install(write)?;
        Ok(self.summary(directory, &rows, tally, (new, start)))
    }

    /// Summarises its part, without writing tables.
    pub fn tell(
        &self,
        directory: &Path,
        targets: &[u32],
        (new, start): (usize, Instant),
    ) -> Result<Summary, RunError> {
        let rows = self.rows(targets);
        let tally = results::tally((self.journal, &self.plan), &rows).map_err(WriteError::from)?;
        Ok(self.summary(directory, &rows, tally, (new, start)))
    }

    /// The rows of its part, in the order of the tables.
    fn rows(&self, targets: &[u32]) -> Vec<results::RowKey> {
        let row = |(point, variant, replication)| {
            let id = self.plan.id(self.study, point, variant, replication);
            results::RowKey { point: point as u32, variant: variant as u32, replication, id }
        };
        keys(self.study, targets, self.shard).map(row).collect()
    }

    fn summary(
        &self,
        directory: &Path,
        rows: &[results::RowKey],
        tally: results::Tally,
        (new, start): (usize, Instant),
    ) -> Summary {
        Summary {
            directory: directory.to_owned(),
            rows: rows.len(),
            new,
            known: self.journal.len().saturating_sub(new),
            statuses: tally.statuses,
            errors: tally.errors,
            programs: self.programs(rows),
            finish: Finish::Complete,
            wall_s: start.elapsed().as_secs_f64(),
        }
    }

    /// Versions and revisions that made these rows, as text.
    pub fn programs(&self, rows: &[results::RowKey]) -> Vec<String> {
        let made = rows.iter().filter_map(|row| self.journal.program_of(row.id));
        let programs: BTreeSet<_> = made.map(|p| (p.version.clone(), p.revision.clone())).collect();
        programs.into_iter().map(|(version, revision)| format!("{version} ({revision})")).collect()
    }
}
