//! From counters at two times to what happened in between.

use std::time::Duration;

use polypath::{Association, BlockedTime, PathStats, PathStatus};
use polypath_workload::DelayMeter;

use crate::document::{Blocked, Delay, Interval, PathReport, StreamReport, Sum, per_second};
use crate::payload::Role;
use crate::processor::{ProcessorShare, ProcessorTime};
use crate::proposal::Proposal;
use crate::tally::{SentCount, Tally};

/// Counters at a time.
#[derive(Clone, Debug)]
pub(crate) struct Snapshot {
    /// Since the start.
    pub at: Duration,
    pub sent: Vec<SentCount>,
    pub received: Vec<Received>,
    pub paths: Vec<PathStats>,
    pub blocked: BlockedTime,
    pub processor: Option<ProcessorTime>,
}

/// What was received of a flow.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Received {
    pub messages: u64,
    pub bytes: u64,
    pub out_of_order: u64,
}

impl Snapshot {
    /// The counters when nothing has happened.
    pub fn zero(plan: &Proposal) -> Self {
        Self {
            at: Duration::ZERO,
            sent: vec![SentCount::default(); plan.flows.len()],
            received: vec![Received::default(); plan.flows.len()],
            paths: Vec::new(),
            blocked: BlockedTime::default(),
            processor: None,
        }
    }

    /// The counters as they are.
    pub fn take(at: Duration, tally: &Tally, association: &Association) -> Self {
        let counts = tally.lock();
        let received = counts.received.iter().map(|count| Received {
            messages: count.messages,
            bytes: count.bytes,
            out_of_order: count.out_of_order,
        });
        Self {
            at,
            sent: tally.sent_counts(),
            received: received.collect(),
            paths: association.path_stats(),
            blocked: association.stats().blocked,
            processor: ProcessorTime::now(),
        }
    }
}

/// What happened between two snapshots.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span<'a> {
    pub plan: &'a Proposal,
    pub role: Role,
    pub before: &'a Snapshot,
    pub after: &'a Snapshot,
    /// Times are told since then.
    pub origin: Duration,
    /// Whether it counts.
    pub omitted: bool,
}

impl Span<'_> {
    /// All of it. `delays` are those of the flows that were received.
    pub fn interval(&self, delays: &[Option<Delay>]) -> Interval {
        let sent = self.sent();
        let received = self.received(delays);
        let sum = self.sum(if sent.is_empty() { &received } else { &sent });
        let sum_bidir_reverse =
            (!sent.is_empty() && !received.is_empty()).then(|| self.sum(&received));
        Interval {
            sum,
            sum_bidir_reverse,
            streams: sent.into_iter().chain(received).collect(),
            paths: self.paths(),
            blocked: self.blocked(),
        }
    }

    /// Flows that this side sends.
    pub fn sent(&self) -> Vec<StreamReport> {
        let flows = self.plan.flows.iter().zip(0..);
        let sends = flows.filter(|(flow, _)| flow.sent_by(self.role).is_some());
        let single = self.plan.flows.len() == 1;
        let report = |place: usize| {
            let (before, after) = (&self.before.sent[place], &self.after.sent[place]);
            let bytes = after.bytes - before.bytes;
            StreamReport {
                messages: after.messages - before.messages,
                retransmits: single.then(|| self.retransmits()),
                snd_cwnd: Some(
                    self.after.paths.iter().filter(carries).map(|path| path.cwnd_bytes).sum(),
                ),
                rtt: self
                    .after
                    .paths
                    .iter()
                    .filter(carries)
                    .filter_map(|path| path.srtt)
                    .min()
                    .map(polypath::Duration::as_micros),
                pmtu: self.after.paths.iter().filter(carries).map(|path| path.mtu_bytes).min(),
                dropped_messages: Some(after.dropped - before.dropped),
                ..self.stream(place, bytes, true)
            }
        };
        sends.map(|(_, place)| report(place)).collect()
    }

    /// Flows that this side receives.
    pub fn received(&self, delays: &[Option<Delay>]) -> Vec<StreamReport> {
        let peer = match self.role {
            Role::Client => Role::Server,
            Role::Server => Role::Client,
        };
        let flows = self.plan.flows.iter().zip(0..);
        let receives = flows.filter(|(flow, _)| flow.sent_by(peer).is_some());
        let report = |place: usize| {
            let (before, after) = (&self.before.received[place], &self.after.received[place]);
            let bytes = after.bytes - before.bytes;
            StreamReport {
                messages: after.messages - before.messages,
                out_of_order: Some(after.out_of_order - before.out_of_order),
                delay: delays.get(place).copied().flatten(),
                ..self.stream(place, bytes, false)
            }
        };
        receives.map(|(_, place)| report(place)).collect()
    }

    /// Every path.
    pub fn paths(&self) -> Vec<PathReport> {
        self.after.paths.iter().map(|path| self.path(path)).collect()
    }

    /// How long this side could not send.
    pub fn blocked(&self) -> Blocked {
        let (before, after) = (&self.before.blocked, &self.after.blocked);
        let seconds = |of: fn(&BlockedTime) -> polypath::Duration| {
            (of(after).as_secs_f64() - of(before).as_secs_f64()).max(0.0)
        };
        Blocked {
            application: seconds(|blocked| blocked.application),
            send_buffer: seconds(|blocked| blocked.send_buffer),
            congestion_window: seconds(|blocked| blocked.congestion_window),
            peer_window: seconds(|blocked| blocked.peer_window),
            buffer_share: seconds(|blocked| blocked.buffer_share),
            no_path: seconds(|blocked| blocked.no_path),
        }
    }

    /// How much of a processor this side took.
    pub fn processor(&self) -> Option<ProcessorShare> {
        let wall = self.after.at.saturating_sub(self.before.at);
        self.after.processor?.share_since(self.before.processor?, wall)
    }

    /// All flows in one direction.
    fn sum(&self, streams: &[StreamReport]) -> Sum {
        Sum::of(streams, self.retransmits())
    }

    fn stream(&self, place: usize, bytes: u64, sender: bool) -> StreamReport {
        StreamReport {
            socket: self.plan.flows[place].id,
            start: self.start(),
            end: self.end(),
            seconds: self.seconds(),
            bytes,
            bits_per_second: per_second(bytes, self.seconds()),
            messages: 0,
            retransmits: None,
            snd_cwnd: None,
            rtt: None,
            pmtu: None,
            dropped_messages: None,
            lost_messages: None,
            out_of_order: None,
            delay: None,
            omitted: self.omitted,
            sender,
        }
    }

    fn path(&self, after: &PathStats) -> PathReport {
        let before = self.before.paths.iter().find(|before| before.path == after.path);
        let since = |of: fn(&PathStats) -> u64| of(after).saturating_sub(before.map_or(0, of));
        let sent_bytes = since(|path| path.data_bytes_acked);
        let received_bytes = since(|path| path.data_bytes_received);
        let retransmits = since(retransmissions);
        let failed = |path: &PathStats| path.potentially_failed_time.as_secs_f64();
        PathReport {
            path: after.path.to_string(),
            local_host: after.local,
            remote_host: after.remote,
            status: after.status.name().to_owned(),
            primary: after.primary,
            start: self.start(),
            end: self.end(),
            seconds: self.seconds(),
            sent_bytes,
            sent_bits_per_second: per_second(sent_bytes, self.seconds()),
            received_bytes,
            received_bits_per_second: per_second(received_bytes, self.seconds()),
            retransmits,
            fast_retransmits: since(|path| path.fast_retransmissions),
            timeout_retransmits: since(|path| path.timeout_retransmissions),
            reported_retransmits: since(|path| path.reported_retransmissions),
            rescheduled: since(|path| path.rescheduled_chunks),
            tail_probes: since(|path| path.tail_probes),
            timeouts: since(|path| path.timeouts),
            snd_cwnd: after.cwnd_bytes,
            ssthresh: Some(after.ssthresh_bytes).filter(|bytes| *bytes < u64::MAX),
            in_flight: after.flight_bytes,
            rtt: after.srtt.map(polypath::Duration::as_micros),
            rto: after.rto.as_micros(),
            pmtu: after.mtu_bytes,
            potentially_failed_seconds: (failed(after) - before.map_or(0.0, failed)).max(0.0),
        }
    }

    fn retransmits(&self) -> u64 {
        let all = |paths: &[PathStats]| paths.iter().map(retransmissions).sum::<u64>();
        all(&self.after.paths).saturating_sub(all(&self.before.paths))
    }

    fn start(&self) -> f64 {
        self.before.at.saturating_sub(self.origin).as_secs_f64()
    }

    fn end(&self) -> f64 {
        self.after.at.saturating_sub(self.origin).as_secs_f64()
    }

    fn seconds(&self) -> f64 {
        self.after.at.saturating_sub(self.before.at).as_secs_f64()
    }
}

/// Percentiles of delays; nothing without messages.
pub(crate) fn delay(meter: &DelayMeter) -> Option<Delay> {
    let micros = |of: Option<polypath_units::Duration>| of.map(polypath_units::Duration::as_micros);
    let percentile = |percent| micros(meter.percentile(percent));
    Some(Delay {
        mean_us: micros(meter.mean())?,
        p50_us: percentile(50)?,
        p90_us: percentile(90)?,
        p95_us: percentile(95)?,
        p99_us: percentile(99)?,
        max_us: micros(meter.max())?,
        jitter_us: micros(meter.jitter()).unwrap_or(0),
    })
}

fn carries(path: &&PathStats) -> bool {
    path.status == PathStatus::Active
}

fn retransmissions(path: &PathStats) -> u64 {
    path.fast_retransmissions
        + path.timeout_retransmissions
        + path.reported_retransmissions
        + path.rescheduled_chunks
        + path.tail_probes
}
