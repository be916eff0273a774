//! Results of a study: tables in a directory.
//!
//! `runs.parquet` has a row per run, `series.parquet` a row per sample if the study keeps series; both depend only on the
//! study. `execution.parquet` records how long runs took, on which machine, and with which program. `study.toml` is the study
//! with everything resolved, and can be run without other files.

mod csv;
mod curve;
mod dataset;
mod directory;
mod replace;
mod samples;
mod table;
mod write;

pub use csv::export;
pub(crate) use csv::read_csv;
pub use dataset::{Dataset, Observation};
use directory::finished;
pub use directory::{DirectoryError, make_directory};
pub(crate) use directory::{pictures_in, study_in};
pub use samples::{Sample, samples};
pub use table::{Column, Table, TableError, TableWriter};
pub(crate) use write::{
    Places, RowKey, Tally, column, execution_columns, execution_row, float, result_columns, tally,
    write,
};

pub use crate::journal::Kind;

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use polypath_sim::document::DocumentError;

use crate::journal::{JournalError, RemainingError};
use crate::study::Study;

/// Directory with the finished runs, from which a study resumes: a file for each process that made runs.
pub const JOURNAL: &str = "journal";
/// File with a row per run.
pub const RUNS: &str = "runs.parquet";
/// File with a row per sample of a series.
pub const SERIES: &str = "series.parquet";
/// File with the execution of runs.
pub const EXECUTION: &str = "execution.parquet";
/// File with the resolved study.
pub const STUDY: &str = "study.toml";
/// File with the description of a random sample, in place of [`STUDY`].
pub const SAMPLE: &str = "sample.toml";
/// File with a row per network and measure of a random sample.
pub const NETWORKS: &str = "networks.parquet";
/// Directory of figures.
pub const FIGURES: &str = "figures";

/// Why results cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// A table cannot be written.
    #[error(transparent)]
    Table(#[from] TableError),
    /// The journal cannot be read.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// A file cannot be written.
    #[error("{}: {error}", .path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        error: io::Error,
    },
    /// The study cannot be written as TOML.
    #[error("cannot write the study as TOML: {0}")]
    Form(#[from] toml::ser::Error),
}

/// Why results cannot be read or joined.
#[derive(Debug, thiserror::Error)]
pub enum ResultsError {
    /// The resolved study is missing or invalid.
    #[error(transparent)]
    Study(#[from] DocumentError),
    /// A table cannot be read.
    #[error(transparent)]
    Table(#[from] TableError),
    /// A file cannot be written.
    #[error("{}: {error}", .path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        error: io::Error,
    },
    /// Shards of different studies.
    #[error("{} and {} are results of different studies", .one.display(), .other.display())]
    Different {
        /// The first directory.
        one: PathBuf,
        /// Another directory.
        other: PathBuf,
    },
    /// A directory cannot be made.
    #[error(transparent)]
    Directory(#[from] DirectoryError),
    /// There are no results.
    #[error(
        "there are no results in {}, which has no {STUDY}: `polypath study run` writes them, to the directory that --out names",
        .directory.display()
    )]
    Nowhere {
        /// The directory.
        directory: PathBuf,
    },
    /// Some results are missing.
    #[error(
        "{}: {missing} of {runs} runs are missing; the same `polypath study run` goes on with them, and writes the tables",
        .directory.display()
    )]
    Unfinished {
        /// The directory.
        directory: PathBuf,
        /// Number of missing runs.
        missing: usize,
        /// Number of runs of the study.
        runs: usize,
    },
    /// There is nothing to join.
    #[error("no directories with results")]
    Nothing,
    /// The missing runs cannot be determined.
    #[error(transparent)]
    Remaining(#[from] RemainingError),
}

/// Writes the resolved study. Removes tables and pictures of an earlier study in this directory, which would be taken for those
/// of this one; its runs stay.
pub(crate) fn write_study(study: &Study, directory: &Path) -> Result<(), WriteError> {
    let path = directory.join(STUDY);
    replace::remove_left(&path);
    let text = toml::to_string(&study.resolved())?;
    let before = fs::read_to_string(&path).ok();
    if before.as_ref() == Some(&text) {
        return Ok(());
    }
    if before.is_some() {
        for file in directory::outputs(directory) {
            match fs::remove_file(&file) {
                Err(error) if error.kind() != ErrorKind::NotFound => {
                    return Err(WriteError::Io { path: file, error });
                }
                _ => {}
            }
        }
    }
    replace::replace(&path, text.as_bytes()).map_err(|error| WriteError::Io { path, error })
}
