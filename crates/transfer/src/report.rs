//! What became of a transfer.

use std::net::IpAddr;
use std::time::Duration;

use polypath::{Association, PathStats};
use serde::Serialize;

use crate::frame::Digest;

mod files;

pub(crate) use files::Files;

/// Name and version of the form of [`Report`].
pub const SCHEMA: &str = "polypath/transfer-1";

/// Which end of a transfer this is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub enum Side {
    /// It sends files.
    #[serde(rename = "send")]
    Sender,
    /// It receives files.
    #[serde(rename = "receive")]
    Receiver,
}

impl Side {
    /// Bytes of user data that a path has delivered.
    pub fn bytes(self, path: &PathStats) -> u64 {
        match self {
            Self::Sender => path.data_bytes_acked,
            Self::Receiver => path.data_bytes_received,
        }
    }
}

/// One association's transfer, as one end sees it. Serialised, it is the document that `polypath send --json` and `polypath
/// receive --json` print.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[non_exhaustive]
pub struct Report {
    /// Name and version of this form.
    pub schema: &'static str,
    /// This end.
    pub role: Side,
    /// Whether every file was stored, and nothing went wrong.
    pub complete: bool,
    /// What ended the transfer early.
    pub error: Option<String>,
    /// Bytes of the files that were stored.
    pub bytes: u64,
    /// Seconds that it took.
    pub duration_s: f64,
    /// Bits of stored files per second.
    pub goodput_bit_s: f64,
    /// How long sending was blocked, by cause.
    pub blocked_s: BlockedReport,
    /// The files that were tried: of a sender in the order in which they were named, of a receiver as they were complete.
    pub files: Vec<FileReport>,
    /// Files that were tried after those. A receiver keeps the summaries of a limited number ([`Quota`](crate::Quota)).
    pub files_omitted: u64,
    /// Associations that carried them: more than one if some failed.
    pub associations: u32,
    /// The paths of all associations; one between the same addresses counts once.
    pub paths: Vec<PathReport>,
}

/// What was sent over associations that have ended.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Past {
    associations: u32,
    paths: Vec<PathReport>,
    blocked: BlockedReport,
}

impl Past {
    /// Takes note of one more, which existed for `lived`.
    pub(crate) fn add(&mut self, side: Side, association: &Association, lived: Duration) {
        self.associations += 1;
        self.blocked = self.blocked.plus(blocked(association));
        merge(&mut self.paths, paths(side, association, lived));
    }
}

impl BlockedReport {
    fn plus(self, other: Self) -> Self {
        Self {
            application: self.application + other.application,
            congestion_window: self.congestion_window + other.congestion_window,
            peer_window: self.peer_window + other.peer_window,
            no_path: self.no_path + other.no_path,
        }
    }
}

/// Adds what later paths did to earlier ones between the same addresses.
fn merge(paths: &mut Vec<PathReport>, later: Vec<PathReport>) {
    for path in later {
        match paths
            .iter_mut()
            .find(|other| (other.local, other.remote) == (path.local, path.remote))
        {
            None => paths.push(path),
            Some(other) => {
                let (bytes, duration_s) =
                    (path.bytes + other.bytes, path.duration_s + other.duration_s);
                *other = PathReport {
                    bytes,
                    duration_s,
                    goodput_bit_s: bytes as f64 * 8.0 / duration_s.max(1e-9),
                    data_packets_sent: path.data_packets_sent + other.data_packets_sent,
                    fast_retransmissions: path.fast_retransmissions + other.fast_retransmissions,
                    timeout_retransmissions: path.timeout_retransmissions
                        + other.timeout_retransmissions,
                    timeouts: path.timeouts + other.timeouts,
                    ..path
                }
            }
        }
    }
}

/// Seconds in which no data could be sent, by cause.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
#[non_exhaustive]
pub struct BlockedReport {
    /// There was nothing to send.
    pub application: f64,
    /// The congestion windows of all paths were full.
    pub congestion_window: f64,
    /// The peer's receive window (a_rwnd) was full.
    pub peer_window: f64,
    /// No path was usable.
    pub no_path: f64,
}

/// What became of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum FileStatus {
    /// It is on the receiver's disk under its name, and verified.
    Stored,
    /// The same is there already, or it need not be sent.
    There,
    /// The receiver does not want it. Others may follow.
    Refused,
    /// It could not be read, sent, received or stored.
    Failed,
}

/// One file.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[non_exhaustive]
pub struct FileReport {
    /// Its name, without any characters that could steer a terminal.
    pub name: String,
    /// What became of it.
    pub status: FileStatus,
    /// Its size if it was stored, otherwise 0.
    pub bytes: u64,
    /// Bytes that were at the receiver before: of a file that was stored, those that were not sent again; of one that was not, those
    /// that another attempt need not send.
    pub resumed_bytes: u64,
    /// SHA-256 of its content in hexadecimal digits, if it was stored.
    pub sha256: Option<String>,
    /// Seconds that it took, if it was stored.
    pub duration_s: f64,
    /// Bits per second, if it was stored.
    pub goodput_bit_s: f64,
    /// Why it was not stored.
    pub error: Option<String>,
    /// What is there instead, if it need not be sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub there: Option<String>,
}

/// One path.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[non_exhaustive]
pub struct PathReport {
    /// `path` and its number.
    pub name: String,
    /// Address of this end.
    pub local: IpAddr,
    /// Address of the peer.
    pub remote: IpAddr,
    /// `unconfirmed`, `active`, `potentially-failed` or `inactive`, at the end.
    pub status: &'static str,
    /// Bytes of user data that the path delivered.
    pub bytes: u64,
    /// Seconds in which an association with the path existed: not the time between two associations.
    pub duration_s: f64,
    /// Bits of user data per second of that time.
    pub goodput_bit_s: f64,
    /// Packets with data that this end sent on it.
    pub data_packets_sent: u64,
    /// Chunks that were retransmitted after missing reports.
    pub fast_retransmissions: u64,
    /// Chunks that were retransmitted after a timeout.
    pub timeout_retransmissions: u64,
    /// Expiries of the retransmission timer.
    pub timeouts: u64,
    /// Smoothed round-trip time in seconds, if the path has carried data.
    pub srtt_s: Option<f64>,
    /// Congestion window in bytes, at the end.
    pub cwnd_bytes: u64,
}

impl Report {
    /// Sums up what an association did, which existed for `lived`, in a transfer of `elapsed`; `error` is what ended it early.
    pub(crate) fn new(
        side: Side,
        association: &Association,
        files: Files,
        [elapsed, lived]: [Duration; 2],
        error: Option<String>,
    ) -> Self {
        let (all_stored, bytes) = (files.all_stored(), files.stored_bytes());
        let (files, files_omitted) = files.into_parts();
        Self {
            schema: SCHEMA,
            role: side,
            complete: error.is_none() && all_stored,
            error,
            bytes,
            duration_s: elapsed.as_secs_f64(),
            goodput_bit_s: per_second(bytes, elapsed),
            blocked_s: blocked(association),
            files,
            files_omitted,
            associations: 1,
            paths: paths(side, association, lived),
        }
    }

    /// The same with what earlier associations did.
    pub(crate) fn after(mut self, past: Past) -> Self {
        self.associations += past.associations;
        self.blocked_s = self.blocked_s.plus(past.blocked);
        let own = std::mem::replace(&mut self.paths, past.paths);
        merge(&mut self.paths, own);
        self
    }

    /// The report of a sender that tried to connect for `elapsed` and failed, which [`Sender`](crate::Sender) has no part in.
    pub fn unconnected(error: impl Into<String>, elapsed: Duration) -> Self {
        Self {
            schema: SCHEMA,
            role: Side::Sender,
            complete: false,
            error: Some(error.into()),
            bytes: 0,
            duration_s: elapsed.as_secs_f64(),
            goodput_bit_s: 0.0,
            blocked_s: BlockedReport::default(),
            files: Vec::new(),
            files_omitted: 0,
            associations: 0,
            paths: Vec::new(),
        }
    }
}

impl FileReport {
    /// A file that is on the receiver's disk, verified. The first `resumed` bytes were there before.
    pub(crate) fn stored(
        name: String,
        bytes: u64,
        resumed: u64,
        digest: &Digest,
        elapsed: Duration,
    ) -> Self {
        let sha256 = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        Self {
            bytes,
            resumed_bytes: resumed,
            sha256: Some(sha256),
            duration_s: elapsed.as_secs_f64(),
            goodput_bit_s: per_second(bytes.saturating_sub(resumed), elapsed),
            ..Self::new(name, FileStatus::Stored)
        }
    }

    /// A directory that is on the receiver's disk.
    pub(crate) fn directory(name: String) -> Self {
        Self::new(name + "/", FileStatus::Stored)
    }

    /// Whether it is one.
    pub(crate) fn is_directory(&self) -> bool {
        self.name.ends_with('/')
    }

    /// A file that need not be sent.
    pub(crate) fn there(name: String, what: String) -> Self {
        Self { there: Some(what), ..Self::new(name, FileStatus::There) }
    }

    /// A file that is not.
    pub(crate) fn failed(name: String, error: String) -> Self {
        Self::not_stored(name, FileStatus::Failed, error)
    }

    /// A file that the receiver does not want.
    pub(crate) fn refused(name: String, error: String) -> Self {
        Self::not_stored(name, FileStatus::Refused, error)
    }

    /// The same, with so many bytes that were kept.
    pub(crate) fn keeping(mut self, bytes: u64) -> Self {
        self.resumed_bytes = bytes;
        self
    }

    fn not_stored(name: String, status: FileStatus, error: String) -> Self {
        Self { error: Some(error), ..Self::new(name, status) }
    }

    fn new(name: String, status: FileStatus) -> Self {
        Self {
            name,
            status,
            bytes: 0,
            resumed_bytes: 0,
            sha256: None,
            duration_s: 0.0,
            goodput_bit_s: 0.0,
            error: None,
            there: None,
        }
    }
}

fn blocked(association: &Association) -> BlockedReport {
    let blocked = association.stats().blocked;
    BlockedReport {
        application: blocked.application.as_secs_f64(),
        congestion_window: blocked.congestion_window.as_secs_f64(),
        peer_window: blocked.peer_window.as_secs_f64(),
        no_path: blocked.no_path.as_secs_f64(),
    }
}

fn paths(side: Side, association: &Association, lived: Duration) -> Vec<PathReport> {
    let report = |path: PathStats| {
        let bytes = side.bytes(&path);
        PathReport {
            name: path.path.to_string(),
            local: path.local,
            remote: path.remote,
            status: path.status.name(),
            bytes,
            duration_s: lived.as_secs_f64(),
            goodput_bit_s: per_second(bytes, lived),
            data_packets_sent: path.data_packets_sent,
            fast_retransmissions: path.fast_retransmissions,
            timeout_retransmissions: path.timeout_retransmissions,
            timeouts: path.timeouts,
            srtt_s: path.srtt.map(polypath::Duration::as_secs_f64),
            cwnd_bytes: path.cwnd_bytes,
        }
    };
    association.path_stats().into_iter().map(report).collect()
}

fn per_second(bytes: u64, elapsed: Duration) -> f64 {
    bytes as f64 * 8.0 / elapsed.as_secs_f64().max(1e-9)
}
