//! Files and folders that the user names: where one does not work, that is wrong usage, and said before any work.

use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::path::Path;

use anyhow::anyhow;
use polypath_lab::random::SampleError;
use polypath_lab::reproduce::ReproduceError;
use polypath_lab::results::{ResultsError, TableError, WriteError};
use polypath_lab::run::{JournalError, MakeError, RunError};

use crate::failure::{Failure, Outcome};

/// Checks that a file can be written, and leaves it as it was.
pub(crate) fn check_file(file: &Path) -> Outcome {
    let refuse =
        |why: String| Err(Failure::usage(anyhow!("cannot write {}: {why}", file.display())));
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
    if let Some(folder) = folder.filter(|folder| !folder.is_dir()) {
        return refuse(format!("there is no folder {}; make it first", folder.display()));
    }
    if file.is_dir() {
        return refuse("it is a folder; name a file".into());
    }
    let is_new = !file.exists();
    match File::options().append(true).create(true).open(file) {
        Err(error) => refuse(format!("{error}; name a file where you may write")),
        Ok(opened) => {
            drop(opened);
            if is_new {
                let _ = fs::remove_file(file);
            }
            Ok(())
        }
    }
}

/// What went wrong while results were read or written.
pub(crate) trait PlaceError: Into<anyhow::Error> {
    /// Whether the place that the user named is the cause.
    fn is_usage(&self) -> bool;

    /// The failure of the command.
    fn into_failure(self) -> Failure {
        match self.is_usage() {
            true => Failure::usage(self),
            false => Failure::Failed(self.into()),
        }
    }
}

/// Whether another place would do.
fn is_place(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::PermissionDenied
            | ErrorKind::ReadOnlyFilesystem
            | ErrorKind::NotFound
            | ErrorKind::NotADirectory
            | ErrorKind::IsADirectory
    )
}

impl PlaceError for ResultsError {
    fn is_usage(&self) -> bool {
        match self {
            Self::Study(_)
            | Self::Different { .. }
            | Self::Directory(_)
            | Self::Nowhere { .. }
            | Self::Nothing => true,
            Self::Io { error, .. } | Self::Table(TableError::Io { error, .. }) => is_place(error),
            Self::Table(_) | Self::Unfinished { .. } | Self::Remaining(_) => false,
        }
    }
}

impl PlaceError for JournalError {
    fn is_usage(&self) -> bool {
        matches!(self, Self::Io { error, .. } if is_place(error))
    }
}

impl PlaceError for MakeError {
    fn is_usage(&self) -> bool {
        match self {
            Self::Directory(_) => true,
            Self::Journal(error) | Self::Write(WriteError::Journal(error)) => error.is_usage(),
            Self::Write(
                WriteError::Io { error, .. } | WriteError::Table(TableError::Io { error, .. }),
            ) => is_place(error),
            Self::Write(_) | Self::NoResult(_) | Self::Threads(_) => false,
        }
    }
}

impl PlaceError for RunError {
    fn is_usage(&self) -> bool {
        match self {
            Self::Make(error) => error.is_usage(),
            Self::Results(error) => error.is_usage(),
            Self::TestBed(_) | Self::Missing { .. } => false,
        }
    }
}

impl PlaceError for SampleError {
    fn is_usage(&self) -> bool {
        match self {
            Self::Make(error) => error.is_usage(),
            Self::Change(_) | Self::Occupied(_) => true,
        }
    }
}

impl PlaceError for ReproduceError {
    fn is_usage(&self) -> bool {
        match self {
            Self::Run(error) => error.is_usage(),
            Self::Journal(error) => error.is_usage(),
            Self::Results(error) => error.is_usage(),
            Self::Directory(_) => true,
            _ => false,
        }
    }
}
