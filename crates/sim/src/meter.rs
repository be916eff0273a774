//! Measurements during a run.

mod series;

use std::net::IpAddr;

use polypath_netsim::topology::{Disjoint, DisjointPath};
use polypath_netsim::{ChannelId, Direction, QueueLevel};
use polypath_proto::{Association, PathStats};
use polypath_units::{Duration, Instant};

use crate::background::Background;
use crate::host::Host;
use crate::scenario::{HostName, Scenario};
use crate::wiring::{Bottleneck, Wired};

pub use series::{BottleneckSeries, FlowSeries, HostSeries, PathSeries, Series};

use series::SeriesRecorder;

/// Samples the hosts at the right times.
#[derive(Debug)]
pub(crate) struct Meter {
    from: Instant,
    until: Instant,
    before: Option<Snapshot>,
    after: Option<Snapshot>,
    completed: Option<Instant>,
    occupancy: Occupancy,
    queues: Queues,
    series: Option<SeriesRecorder>,
}

/// What is sampled.
#[derive(Clone, Copy)]
pub(crate) struct Seen<'a> {
    pub pairs: &'a [[Host; 2]],
    pub background: &'a Background,
}

/// Bytes delivered up to an instant.
#[derive(Clone, Debug)]
pub(crate) struct Snapshot {
    pub at: Instant,
    /// Per flow: bytes delivered to the application.
    pub flows: Vec<u64>,
    /// Per receiving host and path: bytes that arrived for the first time.
    pub paths: Vec<(PathKey, u64)>,
}

/// A path as seen from one host.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct PathKey {
    pub pair: usize,
    pub host: HostName,
    pub local: IpAddr,
    pub remote: IpAddr,
}

impl PathKey {
    pub fn of(pair: usize, host: HostName, stats: &PathStats) -> Self {
        Self { pair, host, local: stats.local, remote: stats.remote }
    }

    /// The same path, seen from the other host.
    pub fn reverse(self) -> Self {
        Self { host: self.host.peer(), local: self.remote, remote: self.local, ..self }
    }
}

impl Meter {
    /// Samples the hosts of a network, and the queues of its bottlenecks.
    pub fn new(scenario: &Scenario, network: &Wired) -> Self {
        let run = &scenario.run;
        let networks = &network.pairs[..];
        Self {
            from: Instant::ZERO + run.measure_from,
            until: Instant::ZERO + run.measure_until.unwrap_or(run.duration),
            before: None,
            after: None,
            completed: None,
            queues: Queues::new(&network.bottlenecks),
            occupancy: Occupancy::new(scenario.record.occupancy, run.measure_from, networks.len()),
            series: scenario
                .record
                .series
                .map(|interval| SeriesRecorder::new(interval, scenario, network)),
        }
    }

    /// When to call [`look`](Self::look) next.
    pub fn next_look(&self) -> Instant {
        let series = self.series.as_ref().map(|series| series.next);
        let measuring = self.after.is_none();
        let before = (measuring && self.before.is_none()).then_some(self.from);
        let after = measuring.then_some(self.until);
        let occupancy = measuring.then_some(self.occupancy.next);
        let all = [series, before, after, occupancy];
        all.into_iter().flatten().min().unwrap_or(Instant::FAR_FUTURE)
    }

    /// Takes the samples that are due at `now`.
    pub fn look(&mut self, now: Instant, seen: Seen<'_>, networks: &[Disjoint]) {
        if self.after.is_none() {
            if self.before.is_none() && now >= self.from {
                self.before = Some(Snapshot::take(now, seen));
            }
            if now >= self.occupancy.next {
                self.occupancy.look(now, seen.pairs);
            }
            if now >= self.until {
                self.after = Some(Snapshot::take(now, seen));
            }
        }
        if let Some(series) = self.series.as_mut().filter(|series| now >= series.next) {
            series.look(Snapshot::take(now, seen), seen.pairs, networks);
        }
    }

    /// Samples the queues, if that is due at `now`; must be called before [`look`](Self::look).
    pub fn look_at_queues(&mut self, now: Instant, mut level: impl FnMut(ChannelId) -> QueueLevel) {
        if self.after.is_none() && now >= self.occupancy.next {
            self.queues.look(&mut level);
        }
        if let Some(series) = self.series.as_mut().filter(|series| now >= series.next) {
            series.look_at_queues(level);
        }
    }

    /// Mean queue of a channel: packets and bytes.
    pub fn mean_queue(&self, channel: ChannelId) -> [f64; 2] {
        self.queues.mean(channel)
    }

    /// Notes that all flows are complete; nothing counts after that.
    pub fn complete(&mut self, now: Instant, seen: Seen<'_>) {
        self.completed = Some(now);
        if self.after.is_none() {
            self.after = Some(Snapshot::take(now, seen));
        }
    }

    /// Ends a measurement before its planned end, because the run has ended.
    pub fn close(&mut self, now: Instant, seen: Seen<'_>) {
        if self.before.is_some() && self.after.is_none() {
            self.after = Some(Snapshot::take(now, seen));
        }
    }

    /// When all flows were complete.
    pub fn completed(&self) -> Option<Instant> {
        self.completed
    }

    /// The measured interval: what was delivered by its start and by its end. None if the run ended before it began.
    pub fn window(&self) -> Option<(&Snapshot, &Snapshot)> {
        self.before.as_ref().zip(self.after.as_ref())
    }

    /// Mean occupancy of the send and the receive buffer of a host.
    pub fn mean_occupancy(&self, pair: usize, host: HostName) -> [f64; 2] {
        self.occupancy.mean(pair, host)
    }

    /// The time series, if recorded.
    pub fn series(&self) -> Option<&Series> {
        self.series.as_ref().map(|series| &series.series)
    }
}

impl Snapshot {
    fn take(at: Instant, Seen { pairs, background }: Seen<'_>) -> Self {
        let count = pairs.first().map_or(0, |[a, _]| a.flows());
        let delivered = |flow| {
            let of_associations: u64 =
                pairs.iter().flatten().map(|host| host.delivered(flow)).sum();
            of_associations + background.delivered(flow)
        };
        let mut paths = Vec::new();
        for (pair, hosts) in pairs.iter().enumerate() {
            for (host, name) in hosts.iter().zip(HostName::ALL) {
                let stats = host.association().map(Association::path_stats).unwrap_or_default();
                let counts =
                    stats.iter().map(|p| (PathKey::of(pair, name, p), p.data_bytes_received));
                paths.extend(counts);
            }
        }
        Self { at, flows: (0..count).map(delivered).collect(), paths }
    }

    /// Bytes that arrived on a path.
    pub fn arrived(&self, key: PathKey) -> u64 {
        self.paths.iter().find(|(known, _)| *known == key).map_or(0, |(_, bytes)| *bytes)
    }
}

/// Mean occupancy of buffers, sampled at equal intervals.
#[derive(Debug)]
struct Occupancy {
    interval: Duration,
    next: Instant,
    looks: u64,
    /// By pair and host: send buffer, receive buffer.
    sums: Vec<[[u64; 2]; 2]>,
}

impl Occupancy {
    fn new(interval: Duration, from: Duration, pairs: usize) -> Self {
        Self { interval, next: Instant::ZERO + from, looks: 0, sums: vec![[[0; 2]; 2]; pairs] }
    }

    fn look(&mut self, now: Instant, pairs: &[[Host; 2]]) {
        self.next = now + self.interval;
        self.looks += 1;
        for (host, sums) in pairs.iter().flatten().zip(self.sums.iter_mut().flatten()) {
            if let Some(stats) = host.association().map(Association::stats) {
                sums[0] += stats.send_buffer_bytes;
                sums[1] += stats.receive_buffer_bytes;
            }
        }
    }

    fn mean(&self, pair: usize, host: HostName) -> [f64; 2] {
        self.sums[pair][host.index()].map(|sum| sum as f64 / self.looks.max(1) as f64)
    }
}

/// Mean lengths of queues, sampled at equal intervals.
#[derive(Debug)]
struct Queues {
    looks: u64,
    /// Sums of packets and bytes.
    sums: Vec<(ChannelId, [u64; 2])>,
}

impl Queues {
    fn new(links: &[Bottleneck]) -> Self {
        let channels = links
            .iter()
            .map(|bottleneck| bottleneck.link)
            .flat_map(|link| [Direction::Forward, Direction::Backward].map(|d| link.channel(d)));
        Self { looks: 0, sums: channels.map(|channel| (channel, [0; 2])).collect() }
    }

    fn look(&mut self, mut level: impl FnMut(ChannelId) -> QueueLevel) {
        self.looks += 1;
        for (channel, sums) in &mut self.sums {
            let QueueLevel { packets, bytes } = level(*channel);
            sums[0] += packets;
            sums[1] += bytes;
        }
    }

    fn mean(&self, channel: ChannelId) -> [f64; 2] {
        let sums = self.sums.iter().find(|(known, _)| *known == channel);
        sums.map_or([0.0; 2], |(_, sums)| sums.map(|sum| sum as f64 / self.looks.max(1) as f64))
    }
}

/// The name of a path; both names if its local and remote address belong to different ones.
pub(crate) fn path_name(network: &Disjoint, path: &PathStats) -> String {
    let ends = [path.local, path.remote];
    let same = |known: &&DisjointPath| {
        let (a, b) = (known.a_address, known.b_address);
        ends == [a, b] || ends == [b, a]
    };
    if let Some(known) = network.paths.iter().find(same) {
        return known.name.clone();
    }
    let name_of = |address| {
        let mut paths = network.paths.iter();
        let path = paths.find(|path| path.a_address == address || path.b_address == address);
        path.map_or("?", |path| path.name.as_str())
    };
    let (local, remote) = (name_of(path.local), name_of(path.remote));
    if local == remote { local.to_owned() } else { format!("{local} to {remote}") }
}
