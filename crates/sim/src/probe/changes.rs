//! Time series of every change.

use polypath_proto::{Association, AssociationStats, PathId, PathStats, PathStatus};
use polypath_units::{Duration, Instant};
use serde::Serialize;

use super::seconds;

/// Every change at one end of an association.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct ChangeSeries {
    /// The pair of hosts, if there are several.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub pair: String,
    /// The host.
    pub from: String,
    /// The peer's receive window as known to this host.
    pub peer_window: ValueSeries,
    /// Bytes in its send buffer.
    pub send_buffer: ValueSeries,
    /// Bytes in its receive buffer.
    pub receive_buffer: ValueSeries,
    /// Its paths.
    pub paths: Vec<PathChangeSeries>,
}

/// Values, each with the time from which it holds.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct ValueSeries {
    /// Seconds since the start of the run.
    pub time_s: Vec<f64>,
    /// Bytes.
    pub bytes: Vec<u64>,
}

/// Every change of a path.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct PathChangeSeries {
    /// Name of the path.
    pub name: String,
    /// Congestion window, slow-start threshold and flight size.
    pub window: WindowSeries,
    /// RTT samples and their results.
    pub rtt: RttSeries,
    /// States.
    pub state: StateSeries,
}

/// Congestion windows, each with the time from which it holds.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct WindowSeries {
    /// Seconds since the start of the run.
    pub time_s: Vec<f64>,
    /// Congestion window.
    pub cwnd_bytes: Vec<u64>,
    /// Slow-start threshold; none while it is unlimited.
    pub ssthresh_bytes: Vec<Option<u64>>,
    /// Outstanding bytes.
    pub flight_bytes: Vec<u64>,
}

/// Round-trip times. Timeouts double the RTO, which adds entries without a sample.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct RttSeries {
    /// Seconds since the start of the run.
    pub time_s: Vec<f64>,
    /// The sample, if any.
    pub sample_s: Vec<Option<f64>>,
    /// Smoothed round-trip time.
    pub srtt_s: Vec<Option<f64>>,
    /// Retransmission timeout.
    pub rto_s: Vec<f64>,
}

/// Path states, each with the time from which it holds.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct StateSeries {
    /// Seconds since the start of the run.
    pub time_s: Vec<f64>,
    /// 0 unconfirmed, 1 inactive, 2 potentially failed, 3 active.
    pub state: Vec<u8>,
}

/// Records changes.
#[derive(Debug, Default)]
pub(super) struct Changes {
    series: ChangeSeries,
    /// The state of each path at the last look.
    last: Vec<PathStats>,
    /// Samples since the last look.
    samples: Vec<(PathId, Duration)>,
}

impl Changes {
    /// Notes an RTT sample.
    pub fn on_sample(&mut self, path: PathId, sample: Duration) {
        self.samples.push((path, sample));
    }

    /// Records what has changed since the last look.
    pub fn look(&mut self, now: Instant, association: &Association) {
        self.note_buffers(now, &association.stats());
        let paths = association.path_stats();
        self.series.paths.resize_with(paths.len(), PathChangeSeries::default);
        for (index, path) in paths.iter().enumerate() {
            let before = self.last.get(index);
            let sample = self.samples.iter().rev().find(|(id, _)| *id == path.path);
            self.series.paths[index].note(now, before, path, sample.map(|(_, sample)| *sample));
        }
        self.samples.clear();
        self.last = paths;
    }

    /// The series so far; `name` returns the name of a path.
    pub fn series(&self, name: impl Fn(usize) -> String) -> ChangeSeries {
        let mut series = self.series.clone();
        series.paths.iter_mut().enumerate().for_each(|(index, path)| path.name = name(index));
        series
    }

    fn note_buffers(&mut self, now: Instant, stats: &AssociationStats) {
        let ChangeSeries { peer_window, send_buffer, receive_buffer, .. } = &mut self.series;
        peer_window.note(now, stats.peer_window_bytes);
        send_buffer.note(now, stats.send_buffer_bytes);
        receive_buffer.note(now, stats.receive_buffer_bytes);
    }
}

impl ValueSeries {
    fn note(&mut self, now: Instant, bytes: u64) {
        if self.bytes.last() != Some(&bytes) {
            self.time_s.push(seconds(now));
            self.bytes.push(bytes);
        }
    }
}

impl PathChangeSeries {
    fn note(
        &mut self,
        now: Instant,
        before: Option<&PathStats>,
        path: &PathStats,
        sample: Option<Duration>,
    ) {
        let window = |path: &PathStats| (path.cwnd_bytes, path.ssthresh_bytes, path.flight_bytes);
        if before.map(window) != Some(window(path)) {
            self.window.time_s.push(seconds(now));
            self.window.cwnd_bytes.push(path.cwnd_bytes);
            self.window.ssthresh_bytes.push(limited(path.ssthresh_bytes));
            self.window.flight_bytes.push(path.flight_bytes);
        }
        let rtt = |path: &PathStats| (path.srtt, path.rto);
        if sample.is_some() || before.map(rtt) != Some(rtt(path)) {
            self.rtt.time_s.push(seconds(now));
            self.rtt.sample_s.push(sample.map(Duration::as_secs_f64));
            self.rtt.srtt_s.push(path.srtt.map(Duration::as_secs_f64));
            self.rtt.rto_s.push(path.rto.as_secs_f64());
        }
        if before.map(|path| path.status) != Some(path.status) {
            self.state.time_s.push(seconds(now));
            self.state.state.push(state_number(path.status));
        }
    }
}

/// A threshold, unless it is unlimited.
pub(crate) fn limited(threshold: u64) -> Option<u64> {
    (threshold < u64::from(u32::MAX)).then_some(threshold)
}

/// Path states as numbers for series; higher means better to send on.
pub(crate) fn state_number(status: PathStatus) -> u8 {
    match status {
        PathStatus::Unconfirmed => 0,
        PathStatus::PotentiallyFailed => 2,
        PathStatus::Active => 3,
        // Nothing is sent.
        _ => 1,
    }
}
