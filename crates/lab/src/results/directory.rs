//! Directories with results, finished or not.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::{EXECUTION, FIGURES, RUNS, ResultsError, SERIES, STUDY};
use crate::journal::{Shard, advice, remaining};
use crate::study::{Reading, Study};

/// A directory for results cannot be created.
#[derive(Debug, thiserror::Error)]
#[error("cannot make the directory {}: {}{}", .path.display(), reason(.path, .error), advice(.error))]
pub struct DirectoryError {
    /// The directory.
    pub path: PathBuf,
    /// The error of the system.
    pub error: io::Error,
}

/// Creates a directory for results if it does not exist.
///
/// # Errors
/// It cannot be created, for example because a file has its name.
pub fn make_directory(path: &Path) -> Result<(), DirectoryError> {
    fs::create_dir_all(path).map_err(|error| DirectoryError { path: path.to_owned(), error })
}

fn reason(path: &Path, error: &io::Error) -> String {
    let file = path.ancestors().find(|path| path.is_file());
    match file {
        Some(file) => format!("{} is a file; name another directory", file.display()),
        None => error.to_string(),
    }
}

/// Files with results of the study of a directory: tables and pictures.
pub(super) fn outputs(directory: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> =
        [RUNS, SERIES, EXECUTION].iter().map(|name| directory.join(name)).collect();
    if let Ok(study) = study_in(directory) {
        let drawn = study.figures().iter();
        files.extend(drawn.flat_map(|plan| pictures_in(&directory.join(FIGURES), &plan.name)));
    }
    files
}

/// The files of the picture of a figure in a folder.
pub(crate) fn pictures_in(folder: &Path, name: &str) -> [PathBuf; 5] {
    ["svg", "pdf", "png", "csv", "py"].map(|ending| folder.join(format!("{name}.{ending}")))
}

/// The study of a directory with results, finished or not.
///
/// # Errors
/// There are no results, or the study is damaged.
pub(crate) fn study_in(directory: &Path) -> Result<Study, ResultsError> {
    let path = directory.join(STUDY);
    if !path.is_file() {
        return Err(ResultsError::Nowhere { directory: directory.to_owned() });
    }
    Ok(Study::read(&path, Reading::default())?)
}

/// The study of a directory with finished results: its tables exist.
///
/// # Errors
/// There are no results, or runs are missing.
pub(super) fn finished(directory: &Path) -> Result<Study, ResultsError> {
    let study = study_in(directory)?;
    if directory.join(RUNS).is_file() {
        return Ok(study);
    }
    let found = remaining(&study, directory, Shard::WHOLE)?;
    let missing = found.runs.saturating_sub(found.done);
    Err(ResultsError::Unfinished { directory: directory.to_owned(), missing, runs: found.runs })
}
