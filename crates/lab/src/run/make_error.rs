//! Errors of making and recording runs.

use crate::journal::{JournalError, NoResult, RemainingError};
use crate::results::{DirectoryError, WriteError};

/// Why the runs of a study or sample cannot be made or recorded.
#[derive(Debug, thiserror::Error)]
pub enum MakeError {
    /// The journal cannot be read or written.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// A measure does not exist.
    #[error(transparent)]
    NoResult(#[from] NoResult),
    /// Tables cannot be written.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// The directory cannot be made.
    #[error(transparent)]
    Directory(#[from] DirectoryError),
    /// The threads cannot be started.
    #[error("cannot start threads: {0}")]
    Threads(#[from] rayon::ThreadPoolBuildError),
}

impl From<RemainingError> for MakeError {
    fn from(error: RemainingError) -> Self {
        match error {
            RemainingError::Journal(error) => Self::Journal(error),
            RemainingError::Threads(error) => Self::Threads(error),
        }
    }
}

/// Lets `?` turn the causes of a [`MakeError`] into an error that has a variant `Make` for it.
macro_rules! from_causes {
    ($error:ident: $($cause:ty),+ $(,)?) => {
        $(impl From<$cause> for $error {
            fn from(cause: $cause) -> Self {
                Self::Make(cause.into())
            }
        })+
    };
}

pub(crate) use from_causes;
