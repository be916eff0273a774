//! Runs the networks of a sample.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use polypath_sim::document::DocumentError;
use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

use super::case::Case;
use super::measure::{measures, value};
use super::network::Network;
use super::ratio::{Values, mean};
use super::sample::{Numbers, Sample};
use super::scenario::Way;
use super::tables;
use crate::journal::{Identity, Journal, JournalError, NoResult, Outcome, Program, RunId, Status};
use crate::results::{self, DirectoryError, Tally, WriteError};
use crate::run::{MakeError, Progress, from_causes, make_runs, run_once, timed};

/// Request to run a sample.
pub struct Request<'a> {
    /// Threads; if omitted, as many as there are processors.
    pub jobs: Option<NonZeroUsize>,
    /// The program that runs it.
    pub program: Program,
    /// When set, no more runs are started.
    pub stop: &'a AtomicBool,
    /// Called with the progress of the runs.
    pub progress: &'a dyn Progress,
}

/// Outcome of a sample.
#[derive(Clone, PartialEq, Debug)]
pub struct Found {
    /// Measured values, by kind and number; `None` if the sample was stopped.
    pub cases: Option<Vec<Case>>,
    /// Runs of the sample.
    pub runs: usize,
    /// Runs made now.
    pub new: usize,
    /// Runs in the directory, of this and other samples.
    pub kept: usize,
    /// Runs without a result.
    pub without_result: usize,
    /// Runs in which the association failed, or the applications received wrong data.
    pub failed: usize,
    /// Some of the errors.
    pub errors: Vec<String>,
}

/// Why a sample cannot be run.
#[derive(Debug, thiserror::Error)]
pub enum SampleError {
    /// Runs cannot be made or recorded.
    #[error(transparent)]
    Make(#[from] MakeError),
    /// The changes of the user are invalid.
    #[error(transparent)]
    Change(#[from] DocumentError),
    /// The directory belongs to a study.
    #[error("{} has the results of a study; name another directory", .0.display())]
    Occupied(PathBuf),
}

from_causes!(
    SampleError: JournalError,
    NoResult,
    WriteError,
    DirectoryError,
    rayon::ThreadPoolBuildError,
);

/// A run of a network.
pub(super) struct Job {
    /// Index of the network.
    pub network: usize,
    /// The paths that it uses.
    pub way: Way,
    /// Number among the runs with these paths, from 0. It is added to the network's seed.
    pub run: u32,
    /// Its name, or why there is no scenario.
    pub id: Result<RunId, String>,
}

/// A sample that is being run.
struct Runner<'a> {
    sample: &'a Sample,
    networks: Vec<Network>,
    jobs: Vec<Job>,
    journal: Journal,
    pool: ThreadPool,
}

/// Makes the runs of a sample that are not in the directory yet. Tables are written for samples of [`Numbers::First`].
///
/// # Errors
/// The changes of the sample are invalid, or files cannot be read or written. Failed runs are rows, not errors.
pub fn run_sample(
    sample: &Sample,
    directory: &Path,
    request: &Request<'_>,
) -> Result<Found, SampleError> {
    check_changes(sample)?;
    if directory.join(results::STUDY).exists() {
        return Err(SampleError::Occupied(directory.to_owned()));
    }
    results::make_directory(directory)?;
    let journal = Journal::open(directory)?;
    let threads = request.jobs.map_or(0, NonZeroUsize::get);
    let pool = ThreadPoolBuilder::new().num_threads(threads).build()?;
    journal.sign(&request.program, pool.current_num_threads())?;
    let networks = sample.networks();
    let jobs = pool.install(|| jobs_of(&networks, sample));
    let runner = Runner { sample, networks, jobs, journal, pool };
    runner.run(directory, request)
}

/// Checks the changes with the first network of each kind, before anything is written.
fn check_changes(sample: &Sample) -> Result<(), SampleError> {
    for kind in &sample.kinds {
        let number = match sample.numbers {
            Numbers::First(_) => 1,
            Numbers::One(number) => number,
        };
        Network::draw(*kind, sample.seed, number).scenario(Way::All, &sample.edits)?;
    }
    Ok(())
}

/// All runs, in the order of tables.
fn jobs_of(networks: &[Network], sample: &Sample) -> Vec<Job> {
    let ways = |(place, network)| Way::of(network).map(move |way| (place, way));
    let all: Vec<(usize, Way)> = networks.iter().enumerate().flat_map(ways).collect();
    all.into_par_iter()
        .flat_map_iter(|(network, way)| {
            let names = names(&networks[network], way, sample);
            names.zip(0..).map(move |(id, run)| Job { network, way, run, id })
        })
        .collect()
}

/// The names of the runs of a network with all paths or with one of them, or why there is no scenario.
fn names(
    network: &Network,
    way: Way,
    sample: &Sample,
) -> impl Iterator<Item = Result<RunId, String>> + use<> {
    let scenario = network.scenario(way, &sample.edits).map_err(|error| error.to_string());
    let identity = scenario.and_then(|scenario| {
        let identity = Identity::of(&scenario).map_err(|error| error.to_string())?;
        Ok((identity, scenario.run.seed))
    });
    (0..sample.runs.get()).map(move |run| match &identity {
        Ok((identity, seed)) => Ok(identity.run(seed_of(*seed, run))),
        Err(error) => Err(error.clone()),
    })
}

/// The seed of a run of a network.
pub(super) fn seed_of(network_seed: u64, run: u32) -> u64 {
    network_seed.wrapping_add(run.into())
}

impl Runner<'_> {
    fn run(&self, directory: &Path, request: &Request<'_>) -> Result<Found, SampleError> {
        let known = self.journal.len();
        let missing = self.missing();
        request.progress.expect(missing.len());
        make_runs(
            &self.pool,
            missing.len(),
            (request.stop, request.progress),
            || (),
            |(), number| self.make(missing[number]),
        )?;
        self.journal.sync()?;
        let stopped = request.stop.load(Ordering::Relaxed);
        let mut tally = Tally::default();
        let cases = if stopped { None } else { Some(self.finish(directory, &mut tally)?) };
        let results = |status: &Status| status.has_results();
        let without = tally.statuses.iter().filter(|(status, _)| !results(status));
        Ok(Found {
            cases,
            runs: self.jobs.len(),
            new: self.journal.len() - known,
            kept: self.journal.len(),
            without_result: without.map(|(_, count)| count).sum(),
            failed: tally.statuses.get(&Status::Failed).copied().unwrap_or_default(),
            errors: tally.errors,
        })
    }

    /// Missing runs, without duplicates.
    fn missing(&self) -> Vec<&Job> {
        let mut ids = BTreeSet::new();
        let is_missing =
            |job: &&Job| job.id.as_ref().is_ok_and(|id| !self.journal.has(*id) && ids.insert(*id));
        self.jobs.iter().filter(is_missing).collect()
    }

    fn make(&self, job: &Job) -> Result<Option<Status>, SampleError> {
        let network = &self.networks[job.network];
        let scenario = network.scenario(job.way, &self.sample.edits)?;
        let (outcome, execution) =
            timed(true, || run_once(&scenario, seed_of(scenario.run.seed, job.run)));
        let status = outcome.status;
        if let Ok(id) = job.id {
            self.journal.add(id, outcome, execution)?;
        }
        Ok(Some(status))
    }

    /// Measured values of all runs; writes the tables of a whole sample.
    fn finish(&self, directory: &Path, tally: &mut Tally) -> Result<Vec<Case>, SampleError> {
        let outcomes: Result<Vec<_>, JournalError> =
            self.pool.install(|| self.jobs.par_iter().map(|job| self.outcome(job)).collect());
        let outcomes = outcomes?;
        outcomes.iter().for_each(|outcome| tally.count(outcome));
        let cases = self.cases(&outcomes)?;
        if let Numbers::First(_) = self.sample.numbers {
            let path = directory.join(results::SAMPLE);
            let text = self.sample.file().map_err(WriteError::Form)?;
            let io = |error: io::Error| WriteError::Io { path: path.clone(), error };
            fs::write(&path, text).map_err(io)?;
            tables::write_runs(directory, &self.networks, &self.jobs, &self.journal)?;
            tables::write_networks(&directory.join(results::NETWORKS), &cases)?;
        }
        Ok(cases)
    }

    fn outcome(&self, job: &Job) -> Result<Outcome, JournalError> {
        let refused = |error: &str| Outcome::without_result(Status::Refused, error.to_owned());
        Ok(match &job.id {
            Ok(id) => match self.journal.read(*id)? {
                Some(entry) => entry.outcome,
                None => refused("the run was not made"),
            },
            Err(error) => refused(error),
        })
    }

    /// The means of all runs, by network. Runs of the same paths follow each other.
    fn cases(&self, outcomes: &[Outcome]) -> Result<Vec<Case>, SampleError> {
        let mut cases: Vec<Case> = self.networks.iter().map(empty).collect();
        let runs = self.sample.runs.get() as usize;
        for (jobs, outcomes) in self.jobs.chunks(runs).zip(outcomes.chunks(runs)) {
            let Some(job) = jobs.first() else { continue };
            let case = &mut cases[job.network];
            let kind = case.network.kind;
            for (values, measure) in case.values.iter_mut().zip(measures(kind)) {
                let of_runs: Result<Vec<_>, NoResult> =
                    outcomes.iter().map(|outcome| value(kind, &measure, outcome)).collect();
                let value = mean(&of_runs?);
                match job.way {
                    Way::All => values.all = value,
                    Way::Alone(_) => values.alone.push(value),
                }
            }
        }
        Ok(cases)
    }
}

/// A case without measured values.
fn empty(network: &Network) -> Case {
    let measures = measures(network.kind);
    let none = |better| Values { all: None, alone: Vec::new(), better };
    let values = measures.iter().map(|measure| none(measure.better)).collect();
    Case { network: network.clone(), values }
}
