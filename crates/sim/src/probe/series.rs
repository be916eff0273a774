//! Lists of single events as series.

use polypath_proto::TransmissionCause;
use polypath_units::{Duration, Instant};
use serde::Serialize;

use super::blocking::{Blocked, Full};
use super::chunks::Chunks;
use super::life::Life;
use super::seconds;
use super::stall::Stall;

/// Events of TSNs with their times. TSNs count from 1, the first that the sender used; those that were never sent,
/// because the rest of their message was abandoned, do not count.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct TsnPoints {
    /// Seconds since the start of the run.
    pub time_s: Vec<f64>,
    /// The TSN, counted from 1.
    pub tsn: Vec<u64>,
}

impl TsnPoints {
    fn of(points: impl Iterator<Item = (Instant, usize)>) -> Self {
        let mut points: Vec<(Instant, usize)> = points.collect();
        points.sort_unstable();
        Self {
            time_s: points.iter().map(|(at, _)| seconds(*at)).collect(),
            tsn: points.iter().map(|(_, number)| *number as u64 + 1).collect(),
        }
    }
}

/// Events of a sender's TSNs.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct TsnSeries {
    /// The pair of hosts, if there are several.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub pair: String,
    /// The sending host.
    pub from: String,
    /// Deliveries to the application.
    pub delivered: TsnPoints,
    /// First acknowledgements.
    pub acked: TsnPoints,
    /// A summary of each TSN.
    pub lives: LifeSeries,
    /// By path.
    pub paths: Vec<PathTsnSeries>,
    /// Stalls of the delivery.
    pub stalls: StallSeries,
}

/// Events of TSNs on a path.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct PathTsnSeries {
    /// Name of the path.
    pub name: String,
    /// First transmissions.
    pub first_sent: TsnPoints,
    /// Retransmissions after missing reports.
    pub fast_retransmitted: TsnPoints,
    /// Retransmissions after a timeout.
    pub timer_retransmitted: TsnPoints,
    /// Retransmissions after a packet drop report.
    pub report_retransmitted: TsnPoints,
    /// Chunks rescheduled because they blocked the buffers.
    pub rescheduled: TsnPoints,
    /// Tail probes: retransmissions because a path was silent when no new data waited.
    pub tail_probes: TsnPoints,
    /// Window probes: retransmissions into a closed window.
    pub window_probes: TsnPoints,
    /// First arrivals.
    pub received: TsnPoints,
}

/// A summary of each TSN; `time_s` is the time of its first transmission.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct LifeSeries {
    /// First transmission, in seconds since the start of the run.
    pub time_s: Vec<f64>,
    /// The TSN, counted from 1.
    pub tsn: Vec<u64>,
    /// Position of the path of the first transmission, from 1.
    pub path: Vec<usize>,
    /// Number of retransmissions.
    pub retransmissions: Vec<u32>,
    /// Time to the first arrival at the receiver.
    pub transfer_s: Vec<Option<f64>>,
    /// Time to the delivery to the application.
    pub delivery_s: Vec<Option<f64>>,
    /// Time to the first acknowledgement.
    pub acknowledgement_s: Vec<Option<f64>>,
}

/// Delivery stalls; `time_s` is when the first packet arrived that had to wait.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct StallSeries {
    /// Start, in seconds since the start of the run.
    pub time_s: Vec<f64>,
    /// Arrival of the TSN that ended the stall.
    pub until_s: Vec<f64>,
    /// That TSN, counted from 1.
    pub tsn: Vec<u64>,
    /// Position of the path on which it arrived, from 1.
    pub path: Vec<usize>,
    /// Longest waiting time of a packet.
    pub measured_s: Vec<f64>,
    /// The same by `sarwar` equation 3.
    pub from_trace_s: Vec<f64>,
}

/// Times for which full buffers blocked the sender; `time_s` is when they began. A new one begins when the sender waits
/// for another TSN.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct BlockedSeries {
    /// The pair of hosts, if there are several.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub pair: String,
    /// The sending host.
    pub from: String,
    /// Start, in seconds since the start of the run.
    pub time_s: Vec<f64>,
    /// End.
    pub until_s: Vec<f64>,
    /// What was full: 1 the peer's receive window, 2 the share of a path in a buffer, 3 the send buffer.
    pub full: Vec<u8>,
    /// The TSN that the sender waited for, counted from 1.
    pub tsn: Vec<Option<u64>>,
    /// Position of the path of its last transmission, from 1.
    pub path: Vec<Option<usize>>,
}

/// T3 expiries.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct TimeoutSeries {
    /// The pair of hosts, if there are several.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub pair: String,
    /// The sending host.
    pub from: String,
    /// Seconds since the start of the run.
    pub time_s: Vec<f64>,
    /// Position of the path, from 1.
    pub path: Vec<usize>,
}

impl TsnSeries {
    pub(super) fn of(chunks: &Chunks, lives: &[Life], stalls: &[Stall], names: &[String]) -> Self {
        let numbered = || lives.iter().enumerate();
        let paths = names.iter().enumerate();
        Self {
            delivered: TsnPoints::of(numbered().filter_map(|(n, life)| Some((life.delivered?, n)))),
            acked: TsnPoints::of(numbered().filter_map(|(n, life)| Some((life.acked?, n)))),
            lives: LifeSeries::of(lives),
            paths: paths.map(|(path, name)| PathTsnSeries::of(chunks, lives, path, name)).collect(),
            stalls: StallSeries::of(stalls),
            ..Self::default()
        }
    }
}

impl PathTsnSeries {
    fn of(chunks: &Chunks, lives: &[Life], path: usize, name: &str) -> Self {
        let again = |cause: TransmissionCause| {
            let found = chunks
                .retransmissions()
                .iter()
                .filter(move |again| again.path.index() == path && again.cause == cause);
            TsnPoints::of(found.map(|again| (again.at, again.chunk)))
        };
        let first = lives.iter().enumerate().filter(|(_, life)| life.path == path);
        let received = lives.iter().enumerate().filter_map(|(number, life)| {
            let (at, on) = life.received?;
            (on == path).then_some((at, number))
        });
        Self {
            name: name.to_owned(),
            first_sent: TsnPoints::of(first.map(|(number, life)| (life.sent, number))),
            fast_retransmitted: again(TransmissionCause::FastRetransmission),
            timer_retransmitted: again(TransmissionCause::TimerRetransmission),
            report_retransmitted: again(TransmissionCause::DropReport),
            rescheduled: again(TransmissionCause::Rescheduled),
            tail_probes: again(TransmissionCause::TailProbe),
            window_probes: again(TransmissionCause::WindowProbe),
            received: TsnPoints::of(received),
        }
    }
}

impl LifeSeries {
    fn of(lives: &[Life]) -> Self {
        let in_seconds = |of: fn(&Life) -> Option<Duration>| {
            lives.iter().map(|life| of(life).map(Duration::as_secs_f64)).collect()
        };
        Self {
            time_s: lives.iter().map(|life| seconds(life.sent)).collect(),
            tsn: (1..=lives.len() as u64).collect(),
            path: lives.iter().map(|life| life.path + 1).collect(),
            retransmissions: lives.iter().map(|life| life.again).collect(),
            transfer_s: in_seconds(Life::transfer),
            delivery_s: in_seconds(Life::delivery),
            acknowledgement_s: in_seconds(Life::acknowledgement),
        }
    }
}

impl StallSeries {
    fn of(stalls: &[Stall]) -> Self {
        Self {
            time_s: stalls.iter().map(|stall| seconds(stall.from)).collect(),
            until_s: stalls.iter().map(|stall| seconds(stall.until)).collect(),
            tsn: stalls.iter().map(|stall| stall.released_by as u64 + 1).collect(),
            path: stalls.iter().map(|stall| stall.path + 1).collect(),
            measured_s: stalls.iter().map(|stall| stall.measured.as_secs_f64()).collect(),
            from_trace_s: stalls.iter().map(|stall| stall.from_trace.as_secs_f64()).collect(),
        }
    }
}

impl BlockedSeries {
    pub(super) fn of(pair: &str, from: &str, blocked: &[Blocked]) -> Self {
        let full = |full| match full {
            Full::PeerWindow => 1,
            Full::BufferShare => 2,
            Full::SendBuffer => 3,
        };
        let waits_for = || blocked.iter().map(|blocked| blocked.hold.waits_for);
        Self {
            pair: pair.to_owned(),
            from: from.to_owned(),
            time_s: blocked.iter().map(|blocked| seconds(blocked.from)).collect(),
            until_s: blocked.iter().map(|blocked| seconds(blocked.until)).collect(),
            full: blocked.iter().map(|blocked| full(blocked.hold.full)).collect(),
            tsn: waits_for().map(|tsn| tsn.map(|(chunk, ..)| chunk as u64 + 1)).collect(),
            path: waits_for().map(|tsn| tsn.map(|(_, path, _)| path.index() + 1)).collect(),
        }
    }
}
