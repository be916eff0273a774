//! What is told when a transfer is over.

use std::fmt;
use std::net::IpAddr;
use std::time::Duration;

use anyhow::Error;
use polypath::{Association, PathStatus};
use serde::Serialize;

use super::frame::Digest;
use super::progress::{Side, rate, size};
use crate::failure::Failure;
use crate::unused::Unused;

/// Name and version of the JSON form.
const SCHEMA: &str = "polypath/transfer-1";

/// One association's transfer.
#[derive(Debug, Serialize)]
pub(crate) struct Summary {
    schema: &'static str,
    role: &'static str,
    /// Every file was stored.
    complete: bool,
    error: Option<String>,
    /// Bytes of the files that were stored.
    bytes: u64,
    duration_s: f64,
    goodput_bit_s: f64,
    /// How long sending was held up, by cause.
    blocked_s: BlockedSummary,
    files: Vec<FileSummary>,
    paths: Vec<PathSummary>,
    /// Addresses that were named and did nothing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    unused: Vec<Unused>,
}

/// Seconds in which nothing could be sent.
#[derive(Debug, Default, Serialize)]
struct BlockedSummary {
    /// There was nothing to send.
    application: f64,
    /// The congestion windows of all paths were full.
    congestion_window: f64,
    /// The receiver's window was full.
    peer_window: f64,
    /// No path worked.
    no_path: f64,
}

/// One file.
#[derive(Debug, Serialize)]
pub(crate) struct FileSummary {
    name: String,
    bytes: u64,
    sha256: Option<String>,
    duration_s: f64,
    goodput_bit_s: f64,
    error: Option<String>,
}

/// One path.
#[derive(Debug, Serialize)]
struct PathSummary {
    name: String,
    local: IpAddr,
    remote: IpAddr,
    status: &'static str,
    /// Bytes of user data that the path delivered.
    bytes: u64,
    goodput_bit_s: f64,
    data_packets_sent: u64,
    fast_retransmissions: u64,
    timeout_retransmissions: u64,
    timeouts: u64,
    srtt_s: Option<f64>,
    cwnd_bytes: u64,
}

impl Summary {
    /// Sums up what an association did in `elapsed`; `error` is what ended it early.
    pub(crate) fn new(
        side: Side,
        association: &Association,
        files: Vec<FileSummary>,
        elapsed: Duration,
        error: Option<&Error>,
    ) -> Self {
        let bytes = files.iter().filter(|file| file.error.is_none()).map(|file| file.bytes).sum();
        Self {
            schema: SCHEMA,
            role: side.role(),
            complete: error.is_none() && files.iter().all(|file| file.error.is_none()),
            error: error.map(|error| format!("{error:#}")),
            bytes,
            duration_s: elapsed.as_secs_f64(),
            goodput_bit_s: per_second(bytes, elapsed),
            blocked_s: blocked(association),
            files,
            paths: paths(side, association, elapsed),
            unused: Vec::new(),
        }
    }

    /// Of a sender that never had an association.
    pub(crate) fn unconnected(error: &Failure, elapsed: Duration) -> Self {
        Self {
            schema: SCHEMA,
            role: Side::Sender.role(),
            complete: false,
            error: Some(error.to_string()),
            bytes: 0,
            duration_s: elapsed.as_secs_f64(),
            goodput_bit_s: 0.0,
            blocked_s: BlockedSummary::default(),
            files: Vec::new(),
            paths: Vec::new(),
            unused: Vec::new(),
        }
    }

    /// With addresses that were named and did nothing.
    pub(crate) fn with_unused(self, unused: Vec<Unused>) -> Self {
        Self { unused, ..self }
    }

    /// Whether every file was stored.
    pub(crate) fn is_complete(&self) -> bool {
        self.complete
    }

    /// One line of JSON.
    pub(crate) fn to_json(&self) -> anyhow::Result<String> {
        Ok(serde_json::to_string(self)? + "\n")
    }
}

impl FileSummary {
    /// A file that is on the receiver's disk, verified.
    pub(crate) fn stored(name: String, bytes: u64, digest: &Digest, elapsed: Duration) -> Self {
        let sha256 = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        Self {
            name,
            bytes,
            sha256: Some(sha256),
            duration_s: elapsed.as_secs_f64(),
            goodput_bit_s: per_second(bytes, elapsed),
            error: None,
        }
    }

    /// A file that is not.
    pub(crate) fn failed(name: String, error: &Error) -> Self {
        let error = Some(format!("{error:#}"));
        Self { name, bytes: 0, sha256: None, duration_s: 0.0, goodput_bit_s: 0.0, error }
    }
}

impl fmt::Display for FileSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.error, &self.sha256) {
            (None, Some(sha256)) => write!(
                f,
                "{}: {} in {:.2} s, {}, SHA-256 {sha256} verified",
                self.name,
                size(self.bytes),
                self.duration_s,
                rate(self.goodput_bit_s)
            ),
            (error, _) => {
                write!(f, "{}: FAILED: {}", self.name, error.as_deref().unwrap_or_default())
            }
        }
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for file in &self.files {
            writeln!(f, "{file}")?;
        }
        for path in &self.paths {
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
        Ok(())
    }
}

fn blocked(association: &Association) -> BlockedSummary {
    let blocked = association.stats().blocked;
    BlockedSummary {
        application: blocked.application.as_secs_f64(),
        congestion_window: blocked.congestion_window.as_secs_f64(),
        peer_window: blocked.peer_window.as_secs_f64(),
        no_path: blocked.no_path.as_secs_f64(),
    }
}

fn paths(side: Side, association: &Association, elapsed: Duration) -> Vec<PathSummary> {
    let summary = |path: polypath::PathStats| {
        let bytes = side.bytes(&path);
        PathSummary {
            name: format!("path{}", path.path.0),
            local: path.local,
            remote: path.remote,
            status: status(path.status),
            bytes,
            goodput_bit_s: per_second(bytes, elapsed),
            data_packets_sent: path.data_packets_sent,
            fast_retransmissions: path.fast_retransmissions,
            timeout_retransmissions: path.timeout_retransmissions,
            timeouts: path.timeouts,
            srtt_s: path.srtt.map(polypath::Duration::as_secs_f64),
            cwnd_bytes: path.cwnd_bytes,
        }
    };
    association.path_stats().into_iter().map(summary).collect()
}

fn status(status: PathStatus) -> &'static str {
    match status {
        PathStatus::Unconfirmed => "unconfirmed",
        PathStatus::Active => "active",
        PathStatus::PotentiallyFailed => "potentially-failed",
        PathStatus::Inactive => "inactive",
    }
}

fn per_second(bytes: u64, elapsed: Duration) -> f64 {
    bytes as f64 * 8.0 / elapsed.as_secs_f64().max(1e-9)
}
