//! What is told when a transfer is over.

use std::fmt;

use polypath_transfer::{FileReport, FileStatus, Report};
use serde::Serialize;

use super::progress::{rate, size};
use crate::unused::{IdlePath, Unused};

/// The report of a transfer, and what only a user of the program wants to know.
#[derive(Debug, Serialize)]
pub(crate) struct Summary {
    #[serde(flatten)]
    pub(crate) report: Report,
    /// Name of the sender's key at the receiver.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) key: Option<String>,
    /// Addresses that were named and did nothing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) unused: Vec<Unused>,
    /// Paths that carried nothing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) idle_paths: Vec<IdlePath>,
}

/// A file in words.
pub(crate) struct FileLine<'a>(pub(crate) &'a FileReport);

impl From<Report> for Summary {
    fn from(report: Report) -> Self {
        Self { report, key: None, unused: Vec::new(), idle_paths: Vec::new() }
    }
}

impl Summary {
    /// One line of JSON.
    pub(crate) fn to_json(&self) -> anyhow::Result<String> {
        Ok(serde_json::to_string(self)? + "\n")
    }
}

impl fmt::Display for FileLine<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(file) = self;
        match (file.status, &file.sha256) {
            (FileStatus::Stored, Some(sha256)) => write!(
                f,
                "{}: {} in {:.2} s, {}, SHA-256 {sha256} verified",
                file.name,
                size(file.bytes),
                file.duration_s,
                rate(file.goodput_bit_s)
            ),
            _ => write!(f, "{}: FAILED: {}", file.name, file.error.as_deref().unwrap_or_default()),
        }
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for file in &self.report.files {
            writeln!(f, "{}", FileLine(file))?;
        }
        for path in &self.report.paths {
            writeln!(
                f,
                "  {} {} -> {}: {}, {}, {} + {} retransmissions, {}",
                path.name,
                path.local,
                path.remote,
                size(path.bytes),
                rate(path.goodput_bit_s),
                path.fast_retransmissions,
                path.timeout_retransmissions,
                path.status
            )?;
        }
        for unused in &self.unused {
            writeln!(f, "  {unused}")?;
        }
        for path in &self.idle_paths {
            writeln!(f, "  {path}")?;
        }
        Ok(())
    }
}
