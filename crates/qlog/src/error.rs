//! Errors of traces.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use thiserror::Error;

/// A folder cannot hold traces.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum OpenError {
    /// There is a file in the way.
    #[error("{0} is a file; name a folder for the traces")]
    File(PathBuf),
    /// Nothing can be written there.
    #[error("cannot write into {folder}: {error}{}", advice(.error))]
    Unwritable {
        /// The folder.
        folder: PathBuf,
        /// The error of the system.
        error: io::Error,
    },
    /// The system starts no thread.
    #[error("cannot start the thread that writes traces: {0}")]
    Thread(io::Error),
}

impl OpenError {
    pub(crate) fn new(folder: &Path, error: io::Error) -> Self {
        match folder.ancestors().find(|ancestor| ancestor.is_file()) {
            Some(file) => Self::File(file.to_owned()),
            None => Self::Unwritable { folder: folder.to_owned(), error },
        }
    }
}

/// Traces are incomplete. The associations that they observe are not affected.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum WriteError {
    /// A file could not be written.
    #[error("cannot write the trace {file}: {error}{}", advice(.error))]
    File {
        /// The first file with an error.
        file: PathBuf,
        /// The error of the system.
        error: io::Error,
    },
    /// Events came faster than they could be written.
    #[error(
        "{count} events are missing in the traces, because they came faster than they could be written \
         (sctp:events_missed marks the gaps)"
    )]
    Missed {
        /// Events that are in no trace.
        count: u64,
    },
    /// There were more associations, or more events, than the [limits](crate::Limits) allow.
    #[error(
        "{count} associations have no trace, or not all of it: the folder has as much as it may take"
    )]
    Beyond {
        /// Associations.
        count: u64,
    },
    /// The thread that writes has ended early.
    #[error("the thread that writes traces has failed")]
    Thread,
}

/// What to do, where that is known.
fn advice(error: &io::Error) -> &'static str {
    match error.kind() {
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
            "; name a folder where you may write"
        }
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => "; make room there",
        _ => "",
    }
}
