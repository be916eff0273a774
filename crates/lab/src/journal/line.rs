//! The lines of a part of the journal.

use std::io;

use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};

use super::{Cell, Status, sealed};

/// Program and machine that made runs.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Serialize, Deserialize)]
pub struct Program {
    /// Version of the program.
    pub version: String,
    /// Revision of its source.
    pub revision: String,
    /// Name of the machine.
    pub host: String,
}

/// Execution of a run; never part of its result.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Execution {
    /// Wall time, in seconds.
    pub wall_s: f64,
    /// Processor time, in seconds; `None` if it ran elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub core_s: Option<f64>,
    /// Time of its start, in seconds since 1970.
    pub started_unix_s: f64,
}

/// A line.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Line {
    /// Writer of the following lines.
    Program(Program),
    /// Number of concurrent runs of the writer.
    Threads(usize),
    /// Names of results, numbered from 0 within the part.
    Shape(Vec<String>),
    /// A run.
    Run(RunLine),
}

#[derive(Serialize, Deserialize)]
pub(super) struct RunLine {
    pub run: String,
    pub status: Status,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace_hash: Option<String>,
    pub program: usize,
    pub shape: usize,
    pub values: Vec<Cell>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub series: Vec<(String, Vec<f64>, Vec<Option<f64>>)>,
    pub execution: Execution,
}

/// A line without the results of its run, which is much faster to read.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Head {
    Program(Program),
    Threads(usize),
    Shape(IgnoredAny),
    Run(RunHead),
}

#[derive(Deserialize)]
pub(super) struct RunHead {
    pub run: String,
    pub status: Status,
    pub program: usize,
    pub execution: Execution,
}

impl Line {
    /// The line with its checksum and line end.
    pub fn text(&self) -> io::Result<String> {
        Ok(sealed::seal(serde_json::to_string(self)?))
    }
}
