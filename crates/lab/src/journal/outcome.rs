//! Outcomes of runs.

use serde::{Deserialize, Serialize};

use super::FlatResult;

/// How a run ended.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// Successfully.
    Ok,
    /// The association failed, or applications received wrong data; there are results.
    Failed,
    /// The configuration was refused; there are no results.
    Refused,
    /// The program has a bug; there are no results.
    Crashed,
    /// It exceeded its time limit; there are no results.
    TimedOut,
}

impl Status {
    /// The name in results.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Failed => "failed",
            Self::Refused => "refused",
            Self::Crashed => "crashed",
            Self::TimedOut => "timed-out",
        }
    }

    /// Whether there are results.
    pub fn has_results(self) -> bool {
        matches!(self, Self::Ok | Self::Failed)
    }
}

/// Outcome of a run.
#[derive(Clone, PartialEq, Debug)]
pub struct Outcome {
    /// How it ended.
    pub status: Status,
    /// The error.
    pub error: Option<String>,
    /// Hash over everything that happened on the links.
    pub trace_hash: Option<String>,
    /// Results; empty if there are none.
    pub result: FlatResult,
}

impl Outcome {
    /// Outcome of a run that was not possible.
    pub fn without_result(status: Status, error: String) -> Self {
        Self { status, error: Some(error), trace_hash: None, result: FlatResult::default() }
    }
}
