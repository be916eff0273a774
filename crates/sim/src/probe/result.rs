//! Turns the records of hosts into results.

use polypath_netsim::topology::{Disjoint, PathConfig};
use polypath_proto::{PathId, PathStats, PathStatus};
use polypath_units::{ByteCount, Instant};
use serde::Serialize;

use super::blocking::Blocked;
use super::failure::{self, PathEvents};
use super::life::{self, Life};
use super::model::PathModel;
use super::recorder::Recorder;
use super::series::{BlockedSeries, TimeoutSeries, TsnSeries};
use super::stall::{self, Stall, StallResult};
use super::{
    BlockingResult, Delivered, FailureResult, PathBlockingResult, PathTsnResult, TimeoutResult,
    TsnResult,
};
use crate::scenario::{Detail, HostName, Record, Scenario};
use crate::wiring;

/// SCTP common header and DATA chunk header (RFC 9260 sections 3 and 3.3.1).
const SCTP_HEADERS: u64 = 12 + 16;

/// Records of a sending host and its peer.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct ProbeResult {
    /// The pair of hosts, if there are several.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub pair: String,
    /// The sending host.
    pub from: String,
    /// The lives of its TSNs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tsns: Option<TsnResult>,
    /// Delivery stalls.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stalls: Option<StallResult>,
    /// Times for which full buffers blocked it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blocking: Option<BlockingResult>,
    /// Timeouts of all its paths.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeouts: Option<TimeoutResult>,
    /// Detection of outages of its paths; the first 16 of each path.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub failures: Vec<FailureResult>,
    /// The same by path.
    pub paths: Vec<PathProbeResult>,
}

/// Records of a path.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct PathProbeResult {
    /// Name of the path.
    pub name: String,
    /// TSNs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tsns: Option<PathTsnResult>,
    /// Stalls that an arrival on this path ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stalls_ended: Option<u64>,
    /// Times for which full buffers blocked the sender while it waited for a TSN of this path.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blocking: Option<PathBlockingResult>,
    /// Timeouts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeouts: Option<TimeoutResult>,
    /// Number of times it became inactive.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failures_detected: Option<u64>,
}

/// The state of a sending host and its peer after a run.
pub(crate) struct View<'a> {
    pub record: &'a Record,
    pub pair: &'a str,
    /// Position of the pair.
    pub index: usize,
    pub name: HostName,
    /// Name of the host in results.
    pub host_name: &'a str,
    pub seen: &'a Recorder,
    pub seen_by_peer: &'a Recorder,
    /// All messages delivered to the peer, in order of time, if recorded.
    pub delivered: Vec<Delivered>,
    /// The sender's paths, by path id, and their names.
    pub paths: Vec<PathStats>,
    pub names: Vec<String>,
    /// The peer's paths.
    pub peer_paths: Vec<PathStats>,
    pub network: &'a Disjoint,
    pub configs: &'a [PathConfig],
    pub ends_at: Instant,
}

/// TSNs and stalls of a sender.
struct Course {
    lives: Vec<Life>,
    stalls: (Vec<Stall>, Vec<polypath_units::Duration>),
}

impl View<'_> {
    /// All recorded results.
    pub fn result(&self, scenario: &Scenario) -> ProbeResult {
        let record = self.record;
        let course = (record.tsns != Detail::Off).then(|| self.course());
        let blocked = (record.blocking != Detail::Off).then(|| self.blocked());
        let timeouts = record.timeouts != Detail::Off;
        let result = |path: usize| PathProbeResult {
            name: self.names[path].clone(),
            tsns: course.as_ref().map(|course| PathTsnResult::of(&course.lives, path)),
            stalls_ended: course.as_ref().map(|course| {
                course.stalls.0.iter().filter(|stall| stall.path == path).count() as u64
            }),
            blocking: blocked.as_ref().map(|blocked| PathBlockingResult::of(blocked, path)),
            timeouts: timeouts.then(|| self.seen.streaks.of(PathId(path as u8)).into()),
            failures_detected: timeouts.then(|| self.failures_detected(path)),
        };
        ProbeResult {
            pair: self.pair.to_owned(),
            from: self.host_name.to_owned(),
            tsns: course.as_ref().map(|course| TsnResult::of(&course.lives)),
            stalls: course.as_ref().map(|course| self.stall_result(scenario, course)),
            blocking: blocked
                .as_ref()
                .map(|_| BlockingResult::of(&self.seen.blocked, &self.seen.chunks, self.ends_at)),
            timeouts: timeouts.then(|| self.seen.streaks.all().into()),
            failures: if timeouts { self.failures() } else { Vec::new() },
            paths: (0..self.paths.len()).map(result).collect(),
        }
    }

    fn course(&self) -> Course {
        let same = |theirs: &PathStats, ours: &PathStats| {
            (theirs.local, theirs.remote) == (ours.remote, ours.local)
        };
        let path_of = |path: PathId| {
            let theirs = self.peer_paths.get(path.index());
            let ours = theirs.and_then(|path| self.paths.iter().position(|own| same(path, own)));
            ours.unwrap_or(usize::MAX)
        };
        let arrivals = &self.seen_by_peer.arrivals;
        let lives = life::lives(&self.seen.chunks, arrivals, &self.delivered, path_of);
        let stalls = stall::stalls(&lives);
        Course { lives, stalls }
    }

    fn stall_result(&self, scenario: &Scenario, course: &Course) -> StallResult {
        let bytes = self.chunk_bytes();
        let window =
            scenario.sctp_of(self.index, self.name.peer()).receive_buffer.as_bytes() / bytes.max(1);
        let window = usize::try_from(window).unwrap_or(usize::MAX);
        let models: Option<Vec<PathModel>> =
            self.paths.iter().map(|path| self.model(path, bytes)).collect();
        StallResult::of(&course.lives, &course.stalls, &models.unwrap_or_default(), window)
    }

    /// Mean size of the user data of a chunk.
    fn chunk_bytes(&self) -> u64 {
        let bytes: u64 = self.paths.iter().map(|path| path.data_bytes_sent).sum();
        let chunks: u64 = self.paths.iter().map(|path| path.data_chunks_sent).sum();
        bytes.checked_div(chunks).unwrap_or(0)
    }

    /// The path in the model of blocking times, with this much user data per packet; none for a path between different
    /// networks.
    fn model(&self, path: &PathStats, user_bytes: u64) -> Option<PathModel> {
        let config = self.config(path)?;
        let ip = if path.local.is_ipv4() { 20 } else { 40 };
        let bytes = ByteCount::from_bytes(user_bytes + SCTP_HEADERS + ip);
        Some(PathModel::of(config, self.name.way(), bytes))
    }

    /// The network of a path, unless its ends belong to different ones.
    fn config(&self, path: &PathStats) -> Option<&PathConfig> {
        let ends = [path.local, path.remote];
        let mut paths = self.network.paths.iter().map(|path| [path.a_address, path.b_address]);
        self.configs.get(paths.position(|[a, b]| ends == [a, b] || ends == [b, a])?)
    }

    fn blocked(&self) -> Vec<Blocked> {
        self.seen.blocked.until(self.ends_at)
    }

    fn states(&self, path: usize) -> Vec<(Instant, PathStatus)> {
        let states = self.seen.states.iter().filter(|(_, of, _)| of.index() == path);
        states.map(|(at, _, status)| (*at, *status)).collect()
    }

    fn failures_detected(&self, path: usize) -> u64 {
        let states = self.states(path);
        states.iter().filter(|(_, status)| *status == PathStatus::Inactive).count() as u64
    }

    fn failures(&self) -> Vec<FailureResult> {
        let mut failures = Vec::new();
        for (index, (path, name)) in self.paths.iter().zip(&self.names).enumerate() {
            let Some(config) = self.config(path) else { continue };
            let channels = wiring::links(config).flat_map(|link| [&link.forward, &link.backward]);
            let outages = channels.flat_map(|channel| &channel.outages);
            let mut outages: Vec<Instant> =
                outages.map(|outage| outage.from).filter(|from| *from < self.ends_at).collect();
            outages.sort_unstable();
            outages.dedup();
            let timeouts = self.seen.timeouts.iter().filter(|(_, of)| of.index() == index);
            let timeouts: Vec<Instant> = timeouts.map(|(at, _)| *at).collect();
            let states = self.states(index);
            let events =
                PathEvents { name, outages: &outages, timeouts: &timeouts, states: &states };
            failures.extend(failure::failures(&events, &self.delivered));
        }
        failures
    }

    pub fn tsn_series(&self) -> TsnSeries {
        let Course { lives, stalls } = self.course();
        TsnSeries {
            pair: self.pair.to_owned(),
            from: self.host_name.to_owned(),
            ..TsnSeries::of(&self.seen.chunks, &lives, &stalls.0, &self.names)
        }
    }

    pub fn blocked_series(&self) -> BlockedSeries {
        BlockedSeries::of(self.pair, self.host_name, &self.blocked())
    }

    pub fn timeout_series(&self) -> TimeoutSeries {
        let timeouts = &self.seen.timeouts;
        TimeoutSeries {
            pair: self.pair.to_owned(),
            from: self.host_name.to_owned(),
            time_s: timeouts.iter().map(|(at, _)| at.as_secs_f64()).collect(),
            path: timeouts.iter().map(|(_, path)| path.index() + 1).collect(),
        }
    }
}
