//! Joins the results of several processes.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use super::laboratory::Laboratory;
use super::study::{RunError, Summary};
use crate::journal::{Journal, Shard};
use crate::results::{self, ResultsError};
use crate::study::Study;

/// Joins the results of shards in `directory`.
///
/// # Errors
/// The shards belong to different studies, runs are missing, or as [`run_study`](super::run_study).
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

/// Joins the runs that several processes made in one directory, and writes the tables.
///
/// # Errors
/// There is no study, runs are missing, or as [`run_study`](super::run_study).
pub fn gather(directory: &Path) -> Result<Summary, RunError> {
    let start = Instant::now();
    let study = results::study_in(directory)?;
    let journal = Journal::open(directory)?;
    finish(&study, directory, &journal, 0, start)
}

/// Joins the journals of shards, and writes the tables.
fn merge_into(study: &Study, directory: &Path, shards: &[PathBuf]) -> Result<Summary, RunError> {
    let start = Instant::now();
    let made = !directory.exists();
    results::make_directory(directory)?;
    let journal = Journal::open(directory)?;
    let joined = joined(study, directory, &journal, shards, start);
    if joined.is_err() {
        // Keeps earlier content. An error of the cleanup would hide the cause.
        journal.discard();
        if made {
            let _ = fs::remove_dir(directory);
        }
    }
    joined
}

/// Joins the journals of shards into that of a directory, and writes the tables if nothing is missing.
fn joined(
    study: &Study,
    directory: &Path,
    journal: &Journal,
    shards: &[PathBuf],
    start: Instant,
) -> Result<Summary, RunError> {
    let mut taken = 0;
    for shard in shards {
        taken += journal.absorb(&Journal::open(shard)?)?;
    }
    journal.sync()?;
    finish(study, directory, journal, taken, start)
}

/// Writes the tables of a complete journal.
fn finish(
    study: &Study,
    directory: &Path,
    journal: &Journal,
    taken: usize,
    start: Instant,
) -> Result<Summary, RunError> {
    let laboratory = Laboratory::new(study, journal, None, Shard::WHOLE)?;
    let targets = laboratory.complete(None)?.unwrap_or_default();
    results::write_study(study, directory)?;
    laboratory.write(directory, &targets, (taken, start))
}
