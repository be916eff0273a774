//! The lines of a part of the journal.

use std::io;

use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};

use super::{Cell, Status, sealed};

/// Who made runs, and where.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Serialize, Deserialize)]
pub struct Program {
    /// Version of the program.
    pub version: String,
    /// Revision of its source.
    pub revision: String,
    /// Name of the machine.
    pub host: String,
}

/// How a run was executed; never a part of its result.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Execution {
    /// Time that it took, in seconds.
    pub wall_s: f64,
    /// Time of a processor that it used, in seconds; nothing where it was run elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub core_s: Option<f64>,
    /// When it began, in seconds since 1970.
    pub started_unix_s: f64,
}

/// A line.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Line {
    /// Who wrote the lines that follow.
    Program(Program),
    /// How many runs the writer makes at a time.
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

/// A line without what came out of its run; it is read many times as fast.
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
    /// The line with its checksum and its end.
    pub fn text(&self) -> io::Result<String> {
        Ok(sealed::seal(serde_json::to_string(self)?))
    }
}
