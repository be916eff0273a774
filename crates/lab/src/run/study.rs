//! Runs a study.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use serde::Serialize;

use super::laboratory::Laboratory;
use super::limits::Limits;
use super::make_error::{MakeError, from_causes};
use super::pool::Progress;
use super::test_bed::TestBed;
use crate::journal::{Journal, JournalError, NoResult, Program, RemainingError, Shard, Status};
use crate::results::{self, DirectoryError, ResultsError, WriteError};
use crate::study::Study;

/// Request to run a study.
#[derive(Clone)]
pub struct Request<'a> {
    /// Threads; default: the number of processors.
    pub jobs: Option<NonZeroUsize>,
    /// The part to run.
    pub shard: Shard,
    /// Whether other processes run other parts in the same directory.
    pub sharing: Sharing,
    /// Limits of the time and the attempts of runs.
    pub limits: Limits<'a>,
    /// For a study that is run until statements are decided: minimum number of runs of each point; default: as in the
    /// study.
    pub at_least: &'a [u32],
    /// The program that runs it.
    pub program: Program,
    /// The test bed, for studies in real time.
    pub test_bed: Option<&'a dyn TestBed>,
    /// When set, no more runs are started.
    pub stop: &'a AtomicBool,
    /// Called with the progress of the runs.
    pub progress: &'a dyn Progress,
}

/// Whether a directory is for one process at a time.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Sharing {
    /// One process; it writes the tables when all runs are done.
    #[default]
    Alone,
    /// Many processes, possibly on several machines, each with a part of the study. [`gather`](super::gather) writes the
    /// tables.
    Shared,
}

/// Summary of running a study.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Summary {
    /// Directory with the results.
    pub directory: PathBuf,
    /// Number of rows of `runs`.
    pub rows: usize,
    /// Number of runs made now.
    pub new: usize,
    /// Number of runs that existed before.
    pub known: usize,
    /// Number of rows by status.
    pub statuses: BTreeMap<Status, usize>,
    /// Some of the errors.
    pub errors: Vec<String>,
    /// Versions and revisions of the program that made the rows.
    pub programs: Vec<String>,
    /// How the work ended.
    pub finish: Finish,
    /// Duration in seconds.
    pub wall_s: f64,
}

/// How the work ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Finish {
    /// All runs are complete, and tables are written.
    Complete,
    /// The study was interrupted; finished runs will not be repeated.
    Interrupted,
    /// The budget of processor time was used up before the first runs of all configurations were done.
    Exhausted,
}

/// Why a study cannot be run.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// Runs cannot be made or recorded.
    #[error(transparent)]
    Make(#[from] MakeError),
    /// Results of shards cannot be read, or do not belong together.
    #[error(transparent)]
    Results(#[from] ResultsError),
    /// There is no test bed, or it could not run the study.
    #[error("the study cannot be run in real time: {0}")]
    TestBed(String),
    /// Runs are missing, and the request does not allow making them.
    #[error(
        "{missing} runs are missing: run the shards or units to their end, or the study itself with this directory as --out"
    )]
    Missing {
        /// Number of missing runs.
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

/// Makes the missing runs, and writes the tables.
///
/// # Errors
/// Files cannot be read or written, or a measure names a result that does not exist. Failed runs are rows, not errors.
pub fn run_study(
    study: &Study,
    directory: &Path,
    request: &Request<'_>,
) -> Result<Summary, RunError> {
    let start = Instant::now();
    results::make_directory(directory)?;
    let journal = match request.sharing {
        Sharing::Alone => Journal::open(directory)?,
        Sharing::Shared => Journal::of_share(directory, request.shard)?,
    };
    let mut laboratory = Laboratory::new(study, &journal, request.jobs, request.shard)?;
    laboratory.test_bed = request.test_bed;
    laboratory.limits = request.limits;
    journal.sign(&signature(study, request), laboratory.threads())?;
    results::write_study(study, directory)?;
    let known = journal.len();
    laboratory.at_least = request.at_least;
    let targets = laboratory.complete(Some((request.stop, request.progress)))?;
    journal.sync()?;
    let new = laboratory.made();
    match (targets, request.sharing) {
        (Some(targets), Sharing::Alone) => laboratory.write(directory, &targets, (new, start)),
        (Some(targets), Sharing::Shared) => laboratory.tell(directory, &targets, (new, start)),
        (None, _) => Ok(Summary {
            directory: directory.to_owned(),
            rows: 0,
            new,
            known,
            statuses: BTreeMap::new(),
            errors: Vec::new(),
            programs: laboratory.programs(&[]),
            finish: match request.stop.load(Ordering::Relaxed) {
                true => Finish::Interrupted,
                false => Finish::Exhausted,
            },
            wall_s: start.elapsed().as_secs_f64(),
        }),
    }
}

/// The program that runs a study and the machine, which matters in real time.
fn signature(study: &Study, request: &Request<'_>) -> Program {
    let mut program = request.program.clone();
    if let Some(bed) = request.test_bed.filter(|_| study.is_in_real_time()) {
        program.host = format!("{} ({})", program.host, bed.machine());
    }
    program
}
