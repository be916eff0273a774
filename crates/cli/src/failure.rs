//! Failures of commands, and their exit codes.

use std::fmt;
use std::process::ExitCode;

/// Why a command failed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The command failed: exit code 1.
    Failed(anyhow::Error),
    /// Wrong usage: exit code 2.
    Usage(anyhow::Error),
    /// The peer does not answer, or refuses: exit code 3.
    CannotConnect(anyhow::Error),
    /// The result misses a requirement: exit code 4.
    Missed(anyhow::Error),
    /// The machine lacks something or refuses it: exit code 5.
    Unfit(anyhow::Error),
    /// The user interrupted it: exit code 130.
    Interrupted,
}

/// Outcome of a command.
pub(crate) type Outcome = Result<(), Failure>;

impl Failure {
    /// Exit code after an interruption.
    pub const INTERRUPTED: i32 = 130;

    /// Wrong usage.
    pub fn usage(error: impl Into<anyhow::Error>) -> Self {
        Self::Usage(error.into())
    }

    /// The same, with what the user has named in front.
    pub fn about(self, named: &'static str) -> Self {
        match self {
            Self::Failed(error) => Self::Failed(error.context(named)),
            Self::Usage(error) => Self::Usage(error.context(named)),
            Self::CannotConnect(error) => Self::CannotConnect(error.context(named)),
            Self::Missed(error) => Self::Missed(error.context(named)),
            Self::Unfit(error) => Self::Unfit(error.context(named)),
            Self::Interrupted => Self::Interrupted,
        }
    }

    /// The exit code.
    pub fn exit_code(&self) -> ExitCode {
        match self {
            Self::Failed(_) => ExitCode::from(1),
            Self::Usage(_) => ExitCode::from(2),
            Self::CannotConnect(_) => ExitCode::from(3),
            Self::Missed(_) => ExitCode::from(4),
            Self::Unfit(_) => ExitCode::from(5),
            Self::Interrupted => ExitCode::from(Self::INTERRUPTED as u8),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed(error)
            | Self::Usage(error)
            | Self::CannotConnect(error)
            | Self::Missed(error)
            | Self::Unfit(error) => write!(f, "{error:#}"),
            Self::Interrupted => f.write_str("interrupted"),
        }
    }
}

impl<E: Into<anyhow::Error>> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::Failed(error.into())
    }
}
