//! What is measured while a scenario runs.

use std::net::IpAddr;

use polypath_netsim::topology::Disjoint;
use polypath_netsim::{ChannelId, Direction, QueueLevel};
use polypath_proto::{Association, PathStats, PathStatus};
use polypath_units::{Duration, Instant};
use serde::Serialize;

use crate::host::Host;
use crate::probe::{BlockedSeries, ChangeSeries, TimeoutSeries, TsnSeries};
use crate::result::path_name;
use crate::scenario::{HostName, Pair, Scenario};
use crate::wiring::{Bottleneck, Wired};

/// Looks at the hosts at the right times.
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

/// Bytes delivered up to an instant.
#[derive(Clone, Debug)]
pub(crate) struct Snapshot {
    pub at: Instant,
    /// Per flow, to the application.
    pub flows: Vec<u64>,
    /// Per receiving host and path, arrived for the first time.
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

    /// The same path seen from the other host.
    pub fn reverse(self) -> Self {
        Self { host: self.host.peer(), local: self.remote, remote: self.local, ..self }
    }
}

impl Meter {
    /// Looks at the hosts of a network and at the queues of its bottlenecks.
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
                .map(|interval| SeriesRecorder::new(interval, scenario, networks)),
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

    /// Does whatever is due at `now`.
    pub fn look(&mut self, now: Instant, pairs: &[[Host; 2]], networks: &[Disjoint]) {
        if self.after.is_none() {
            if self.before.is_none() && now >= self.from {
                self.before = Some(Snapshot::take(now, pairs));
            }
            if now >= self.occupancy.next {
                self.occupancy.look(now, pairs);
            }
            if now >= self.until {
                self.after = Some(Snapshot::take(now, pairs));
            }
        }
        if let Some(series) = self.series.as_mut().filter(|series| now >= series.next) {
            series.look(now, pairs, networks);
        }
    }

    /// Looks at the queues, if that is due at `now`; to be called before [`look`](Self::look).
    pub fn look_at_queues(&mut self, now: Instant, level: impl FnMut(ChannelId) -> QueueLevel) {
        if self.after.is_none() && now >= self.occupancy.next {
            self.queues.look(level);
        }
    }

    /// Mean of what waited at a channel: packets and bytes.
    pub fn mean_queue(&self, channel: ChannelId) -> [f64; 2] {
        self.queues.mean(channel)
    }

    /// Notes that every flow was delivered; nothing counts after that.
    pub fn complete(&mut self, now: Instant, pairs: &[[Host; 2]]) {
        self.completed = Some(now);
        if self.after.is_none() {
            self.after = Some(Snapshot::take(now, pairs));
        }
    }

    /// Ends a measurement that is still going on: the run is over before its planned end.
    pub fn close(&mut self, now: Instant, pairs: &[[Host; 2]]) {
        if self.before.is_some() && self.after.is_none() {
            self.after = Some(Snapshot::take(now, pairs));
        }
    }

    /// When every flow was delivered.
    pub fn completed(&self) -> Option<Instant> {
        self.completed
    }

    /// The measured time and what was delivered by its beginning and by its end. A run that ended before the
    /// measurement began has none.
    pub fn window(&self) -> Option<(&Snapshot, &Snapshot)> {
        self.before.as_ref().zip(self.after.as_ref())
    }

    /// Mean fill of send and receive buffer of a host.
    pub fn mean_occupancy(&self, pair: usize, host: HostName) -> [f64; 2] {
        self.occupancy.mean(pair, host)
    }

    /// The time series, if one was asked for.
    pub fn series(&self) -> Option<&Series> {
        self.series.as_ref().map(|series| &series.series)
    }
}

impl Snapshot {
    fn take(at: Instant, pairs: &[[Host; 2]]) -> Self {
        let count = pairs.first().map_or(0, |[a, _]| a.flows());
        let delivered = |flow| pairs.iter().flatten().map(|host| host.delivered(flow)).sum();
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

/// Mean fill of buffers, from looks at equal intervals.
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

/// Mean lengths of queues, from looks at equal intervals.
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

/// Values at equal intervals, each of the interval that ends at its time, and lists of single events.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct Series {
    /// Ends of the intervals, in seconds since the start of the run.
    pub time_s: Vec<f64>,
    /// User data delivered to applications, all flows together.
    pub goodput_bit_s: Vec<f64>,
    /// Per sending host and path.
    pub paths: Vec<PathSeries>,
    /// Per host.
    pub hosts: Vec<HostSeries>,
    /// Every change, if the scenario asks for it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<ChangeSeries>,
    /// What happened to TSNs, if the scenario asks for the list.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tsns: Vec<TsnSeries>,
    /// Times in which full buffers stopped senders, if the scenario asks for the list.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub blocking: Vec<BlockedSeries>,
    /// T3 expiries, if the scenario asks for the list.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub timeouts: Vec<TimeoutSeries>,
}

/// Time series of a path.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct PathSeries {
    /// Name of the path.
    pub name: String,
    /// The pair of hosts, where there are several.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub pair: String,
    /// The sending host.
    pub from: String,
    /// User data that arrived for the first time, on this path.
    pub goodput_bit_s: Vec<f64>,
    /// User data that was sent on this path, retransmissions included.
    pub sent_bit_s: Vec<f64>,
    /// Congestion window at the end of the interval; nothing before the association begins.
    pub cwnd_bytes: Vec<Option<u64>>,
    /// Slow-start threshold at the end of the interval; nothing while it has no limit.
    pub ssthresh_bytes: Vec<Option<u64>>,
    /// Outstanding bytes at the end of the interval.
    pub flight_bytes: Vec<Option<u64>>,
    /// Smoothed round-trip time at the end of the interval.
    pub srtt_s: Vec<Option<f64>>,
    /// Retransmission timeout at the end of the interval.
    pub rto_s: Vec<Option<f64>>,
    /// State at the end of the interval: 0 unconfirmed, 1 inactive, 2 potentially failed, 3 active.
    pub state: Vec<Option<u8>>,
}

/// Time series of one end of the association.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct HostSeries {
    /// The pair of hosts, where there are several.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub pair: String,
    /// The host.
    pub name: String,
    /// The peer's receive window as this host sees it at the end of the interval; nothing before the association begins.
    pub peer_window_bytes: Vec<Option<u64>>,
    /// Bytes in the send buffer at the end of the interval.
    pub send_buffer_bytes: Vec<Option<u64>>,
    /// Bytes in the receive buffer at the end of the interval.
    pub receive_buffer_bytes: Vec<Option<u64>>,
}

#[derive(Debug)]
struct SeriesRecorder {
    interval: Duration,
    next: Instant,
    last: Option<Snapshot>,
    /// Hosts with something to send, with their pairs.
    senders: Vec<(usize, HostName)>,
    pairs: Vec<Pair>,
    keys: Vec<PathKey>,
    /// User bytes sent on each path up to the last look.
    sent: Vec<u64>,
    series: Series,
}

impl SeriesRecorder {
    /// Records the paths of the network as the sending hosts see them, and those across it once there are any.
    fn new(interval: Duration, scenario: &Scenario, networks: &[Disjoint]) -> Self {
        let pairs = scenario.pairs.clone();
        let sends = |(pair, host): &(usize, HostName)| {
            scenario.traffic.iter().any(|flow| flow.is_from(*pair, *host))
        };
        let hosts = (0..pairs.len()).flat_map(|pair| HostName::ALL.map(|host| (pair, host)));
        let senders: Vec<(usize, HostName)> = hosts.filter(sends).collect();
        let mut recorder = Self {
            interval,
            next: Instant::ZERO,
            last: None,
            senders: senders.clone(),
            pairs,
            keys: Vec::new(),
            sent: Vec::new(),
            series: Series::default(),
        };
        recorder.add_hosts();
        for (pair, host) in senders {
            for path in &networks[pair].paths {
                let (local, remote) = (path.a_address, path.b_address);
                let from_a = PathKey { pair, host: HostName::A, local, remote };
                let key = if host == HostName::A { from_a } else { from_a.reverse() };
                recorder.add(key, path.name.clone());
            }
        }
        recorder
    }

    fn add_hosts(&mut self) {
        for pair in &self.pairs {
            self.series.hosts.extend(HostName::ALL.map(|host| HostSeries {
                pair: pair.name.clone(),
                name: pair.names[host.index()].clone(),
                peer_window_bytes: Vec::new(),
                send_buffer_bytes: Vec::new(),
                receive_buffer_bytes: Vec::new(),
            }));
        }
    }

    /// Begins the series of one more path; there was nothing on it before.
    fn add(&mut self, key: PathKey, name: String) {
        let missed = self.series.time_s.len();
        self.keys.push(key);
        self.sent.push(0);
        self.series.paths.push(PathSeries {
            name,
            pair: self.pairs[key.pair].name.clone(),
            from: self.pairs[key.pair].names[key.host.index()].clone(),
            goodput_bit_s: vec![0.0; missed],
            sent_bit_s: vec![0.0; missed],
            cwnd_bytes: vec![None; missed],
            ssthresh_bytes: vec![None; missed],
            flight_bytes: vec![None; missed],
            srtt_s: vec![None; missed],
            rto_s: vec![None; missed],
            state: vec![None; missed],
        });
    }

    fn look(&mut self, now: Instant, pairs: &[[Host; 2]], networks: &[Disjoint]) {
        self.next = now + self.interval;
        let snapshot = Snapshot::take(now, pairs);
        let stats: Vec<(PathKey, PathStats)> = self
            .senders
            .iter()
            .flat_map(|(pair, host)| {
                let sender = &pairs[*pair][host.index()];
                let stats = sender.association().map(Association::path_stats);
                let stats = stats.into_iter().flatten();
                stats.map(|path| (PathKey::of(*pair, *host, &path), path))
            })
            .collect();
        for (key, path) in &stats {
            if !self.keys.contains(key) {
                self.add(*key, path_name(&networks[key.pair], path));
            }
        }
        if let Some(last) = self.last.replace(snapshot.clone()) {
            self.record(&last, &snapshot, &stats);
            self.record_hosts(pairs);
        }
    }

    /// Records the interval between two looks.
    fn record(&mut self, last: &Snapshot, snapshot: &Snapshot, stats: &[(PathKey, PathStats)]) {
        let seconds = snapshot.at.since(last.at).as_secs_f64();
        let rate = |after: u64, before: u64| 8.0 * after.saturating_sub(before) as f64 / seconds;
        self.series.time_s.push(snapshot.at.as_secs_f64());
        let total = rate(snapshot.flows.iter().sum(), last.flows.iter().sum());
        self.series.goodput_bit_s.push(total);
        let paths = self.keys.iter().zip(&mut self.sent).zip(&mut self.series.paths);
        for ((key, sent), series) in paths {
            let arrival = key.reverse();
            series.goodput_bit_s.push(rate(snapshot.arrived(arrival), last.arrived(arrival)));
            let path = stats.iter().find(|(known, _)| known == key).map(|(_, path)| path);
            let before = *sent;
            *sent = path.map_or(before, |path| path.data_bytes_sent);
            series.sent_bit_s.push(rate(*sent, before));
            series.cwnd_bytes.push(path.map(|path| path.cwnd_bytes));
            series.ssthresh_bytes.push(path.and_then(|path| limited(path.ssthresh_bytes)));
            series.flight_bytes.push(path.map(|path| path.flight_bytes));
            series.srtt_s.push(path.and_then(|path| path.srtt).map(Duration::as_secs_f64));
            series.rto_s.push(path.map(|path| path.rto.as_secs_f64()));
            series.state.push(path.map(|path| state_number(path.status)));
        }
    }

    fn record_hosts(&mut self, pairs: &[[Host; 2]]) {
        for (host, series) in pairs.iter().flatten().zip(&mut self.series.hosts) {
            let stats = host.association().map(Association::stats);
            let stats = stats.as_ref();
            series.peer_window_bytes.push(stats.map(|stats| stats.peer_window_bytes));
            series.send_buffer_bytes.push(stats.map(|stats| stats.send_buffer_bytes));
            series.receive_buffer_bytes.push(stats.map(|stats| stats.receive_buffer_bytes));
        }
    }
}

/// A threshold that is one.
pub(crate) fn limited(threshold: u64) -> Option<u64> {
    (threshold < u64::from(u32::MAX)).then_some(threshold)
}

/// States of paths as numbers, for series: the higher, the better is it to send on.
pub(crate) fn state_number(status: PathStatus) -> u8 {
    match status {
        PathStatus::Unconfirmed => 0,
        PathStatus::Inactive => 1,
        PathStatus::PotentiallyFailed => 2,
        PathStatus::Active => 3,
    }
}
