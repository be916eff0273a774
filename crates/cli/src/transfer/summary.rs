//! The summary of a transfer.

use std::fmt;

use polypath::text::printable;
use polypath_transfer::{FileReport, FileStatus, LeftOut, Report};
use serde::Serialize;

use super::progress::{rate, size};
use crate::interfaces;
use crate::unused::{IdlePath, Unused};

/// The report of a transfer, with details for users of the program.
#[derive(Debug, Serialize)]
pub(crate) struct Summary {
    #[serde(flatten)]
    pub(crate) report: Report,
    /// Name of the sender's key at the receiver.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) key: Option<String>,
    /// Addresses that were given and not used.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) unused: Vec<Unused>,
    /// Paths that carried nothing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) idle_paths: Vec<IdlePath>,
    /// Entries of directories that were not sent.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) left_out: Vec<Left>,
}

/// An entry of a directory that was not sent.
#[derive(Debug, Serialize)]
pub(crate) struct Left {
    path: String,
    what: &'static str,
}

impl From<&LeftOut> for Left {
    fn from(left: &LeftOut) -> Self {
        let path = left.path.to_string_lossy();
        Self { path: printable(&path, path.len()), what: left.what }
    }
}

/// A file in words.
pub(crate) struct FileLine<'a>(pub(crate) &'a FileReport);

impl From<Report> for Summary {
    fn from(report: Report) -> Self {
        Self { report, key: None, unused: Vec::new(), idle_paths: Vec::new(), left_out: Vec::new() }
    }
}

impl Summary {
    /// One line of JSON.
    pub(crate) fn to_json(&self) -> anyhow::Result<String> {
        Ok(serde_json::to_string(self)? + "\n")
    }
}

/// A file in words, as a receiver reports it: what happened comes first.
pub(crate) struct ReceivedLine<'a>(pub(crate) &'a FileReport);

impl fmt::Display for ReceivedLine<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(file) = self;
        let reason = file.error.as_deref().unwrap_or_default();
        match file.status {
            FileStatus::Stored => write!(f, "received {}", FileLine(file)),
            FileStatus::There => {
                write!(f, "skipped {}: {}", file.name, file.there.as_deref().unwrap_or_default())
            }
            FileStatus::Refused => write!(f, "refused {}: {reason}", file.name),
            _ => {
                write!(f, "FAILED {}: {reason}", file.name)?;
                write_kept(f, file)
            }
        }
    }
}

/// What another attempt need not send.
fn write_kept(f: &mut fmt::Formatter<'_>, file: &FileReport) -> fmt::Result {
    match file.resumed_bytes {
        0 => Ok(()),
        bytes => write!(f, "; {} are kept; another attempt resumes there", size(bytes)),
    }
}

impl fmt::Display for FileLine<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(file) = self;
        match (file.status, &file.sha256) {
            (FileStatus::Stored, Some(sha256)) => {
                let there = match file.resumed_bytes {
                    0 => String::new(),
                    bytes => format!(" ({} had arrived before)", size(bytes)),
                };
                write!(
                    f,
                    "{}: {}{there} in {:.2} s, {}, SHA-256 {sha256} verified",
                    file.name,
                    size(file.bytes),
                    file.duration_s,
                    rate(file.goodput_bit_s)
                )
            }
            (FileStatus::Stored, None) => write!(f, "{}: directory", file.name),
            (FileStatus::There, _) => {
                let there = file.there.as_deref().unwrap_or_default();
                write!(f, "{}: skipped: {there}", file.name)
            }
            _ => {
                write!(f, "{}: FAILED: {}", file.name, file.error.as_deref().unwrap_or_default())?;
                write_kept(f, file)
            }
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
                "  {}: {}, {}, {} + {} retransmissions, {}",
                interfaces::way(path.local, path.remote),
                size(path.bytes),
                rate(path.goodput_bit_s),
                path.fast_retransmissions,
                path.timeout_retransmissions,
                path.status
            )?;
        }
        if self.report.associations > 1 {
            writeln!(
                f,
                "  over {} associations, one after the other; the rates of paths leave out the time between them",
                self.report.associations
            )?;
        }
        for left in &self.left_out {
            writeln!(f, "  {} was left out: it is {}", left.path, left.what)?;
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
