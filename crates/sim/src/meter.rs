//! What is measured while a scenario runs.

use std::net::IpAddr;

use polypath_netsim::topology::Disjoint;
use polypath_proto::{Association, PathStats};
use polypath_units::{Duration, Instant};
use serde::Serialize;

use crate::host::Host;
use crate::scenario::{HostName, Scenario};

/// Looks at the hosts at the right times.
#[derive(Debug)]
pub(crate) struct Meter {
    from: Instant,
    until: Instant,
    before: Option<Snapshot>,
    after: Option<Snapshot>,
    completed: Option<Instant>,
    occupancy: Occupancy,
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
    pub host: HostName,
    pub local: IpAddr,
    pub remote: IpAddr,
}

impl PathKey {
    pub fn of(host: HostName, stats: &PathStats) -> Self {
        Self { host, local: stats.local, remote: stats.remote }
    }

    /// The same path seen from the other host.
    pub fn reverse(self) -> Self {
        Self { host: self.host.peer(), local: self.remote, remote: self.local }
    }
}

impl Meter {
    pub fn new(scenario: &Scenario, network: &Disjoint) -> Self {
        let run = &scenario.run;
        Self {
            from: Instant::ZERO + run.measure_from,
            until: Instant::ZERO + run.measure_until.unwrap_or(run.duration),
            before: None,
            after: None,
            completed: None,
            occupancy: Occupancy::new(scenario.record.occupancy, run.measure_from),
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

    /// Does whatever is due at `now`.
    pub fn look(&mut self, now: Instant, hosts: &[Host; 2]) {
        if self.after.is_none() {
            if self.before.is_none() && now >= self.from {
                self.before = Some(Snapshot::take(now, hosts));
            }
            if now >= self.occupancy.next {
                self.occupancy.look(now, hosts);
            }
            if now >= self.until {
                self.after = Some(Snapshot::take(now, hosts));
            }
        }
        if let Some(series) = self.series.as_mut().filter(|series| now >= series.next) {
            series.look(now, hosts);
        }
    }

    /// Notes that every flow was delivered; nothing counts after that.
    pub fn complete(&mut self, now: Instant, hosts: &[Host; 2]) {
        self.completed = Some(now);
        if self.after.is_none() {
            self.after = Some(Snapshot::take(now, hosts));
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
    pub fn mean_occupancy(&self, host: HostName) -> [f64; 2] {
        self.occupancy.mean(host)
    }

    /// The time series, if one was asked for.
    pub fn series(&self) -> Option<&Series> {
        self.series.as_ref().map(|series| &series.series)
    }
}

impl Snapshot {
    fn take(at: Instant, hosts: &[Host; 2]) -> Self {
        let count = hosts[0].flows();
        let delivered = |flow| hosts.iter().map(|host| host.delivered(flow)).sum();
        let mut paths = Vec::new();
        for (host, name) in hosts.iter().zip(HostName::ALL) {
            let stats = host.association().map(Association::path_stats).unwrap_or_default();
            paths.extend(stats.iter().map(|p| (PathKey::of(name, p), p.data_bytes_received)));
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
    /// By host: send buffer, receive buffer.
    sums: [[u64; 2]; 2],
}

impl Occupancy {
    fn new(interval: Duration, from: Duration) -> Self {
        Self { interval, next: Instant::ZERO + from, looks: 0, sums: [[0; 2]; 2] }
    }

    fn look(&mut self, now: Instant, hosts: &[Host; 2]) {
        self.next = now + self.interval;
        self.looks += 1;
        for (host, sums) in hosts.iter().zip(&mut self.sums) {
            if let Some(stats) = host.association().map(Association::stats) {
                sums[0] += stats.send_buffer_bytes;
                sums[1] += stats.receive_buffer_bytes;
            }
        }
    }

    fn mean(&self, host: HostName) -> [f64; 2] {
        self.sums[host.index()].map(|sum| sum as f64 / self.looks.max(1) as f64)
    }
}

/// Values at equal intervals; each describes the interval that ends at its time.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct Series {
    /// Ends of the intervals, in seconds since the start of the run.
    pub time_s: Vec<f64>,
    /// User data delivered to applications, all flows together.
    pub goodput_bit_s: Vec<f64>,
    /// Per sending host and path.
    pub paths: Vec<PathSeries>,
}

/// Time series of a path.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct PathSeries {
    /// Name of the path.
    pub name: String,
    /// The sending host.
    pub from: &'static str,
    /// User data that arrived for the first time, on this path.
    pub goodput_bit_s: Vec<f64>,
    /// Congestion window at the end of the interval; nothing before the association begins.
    pub cwnd_bytes: Vec<Option<u64>>,
    /// Outstanding bytes at the end of the interval.
    pub flight_bytes: Vec<Option<u64>>,
    /// Smoothed round-trip time at the end of the interval.
    pub srtt_s: Vec<Option<f64>>,
}

#[derive(Debug)]
struct SeriesRecorder {
    interval: Duration,
    next: Instant,
    last: Option<Snapshot>,
    keys: Vec<PathKey>,
    series: Series,
}

impl SeriesRecorder {
    /// Records the paths of the network as the sending hosts see them.
    fn new(interval: Duration, scenario: &Scenario, network: &Disjoint) -> Self {
        let mut keys = Vec::new();
        let mut series = Series::default();
        for host in HostName::ALL {
            if scenario.traffic.iter().all(|flow| flow.from != host) {
                continue;
            }
            for path in &network.paths {
                let from_a =
                    PathKey { host: HostName::A, local: path.a_address, remote: path.b_address };
                keys.push(if host == HostName::A { from_a } else { from_a.reverse() });
                series.paths.push(PathSeries {
                    name: path.name.clone(),
                    from: host.name(),
                    goodput_bit_s: Vec::new(),
                    cwnd_bytes: Vec::new(),
                    flight_bytes: Vec::new(),
                    srtt_s: Vec::new(),
                });
            }
        }
        Self { interval, next: Instant::ZERO, last: None, keys, series }
    }

    fn look(&mut self, now: Instant, hosts: &[Host; 2]) {
        self.next = now + self.interval;
        let snapshot = Snapshot::take(now, hosts);
        if let Some(last) = &self.last {
            let seconds = now.since(last.at).as_secs_f64();
            let rate =
                |after: u64, before: u64| 8.0 * after.saturating_sub(before) as f64 / seconds;
            self.series.time_s.push(now.as_secs_f64());
            let total = rate(snapshot.flows.iter().sum(), last.flows.iter().sum());
            self.series.goodput_bit_s.push(total);
            for (key, series) in self.keys.iter().zip(&mut self.series.paths) {
                let arrival = key.reverse();
                series.goodput_bit_s.push(rate(snapshot.arrived(arrival), last.arrived(arrival)));
                let stats = hosts[key.host.index()].association().map(Association::path_stats);
                let mut stats = stats.into_iter().flatten();
                let path = stats.find(|path| PathKey::of(key.host, path) == *key);
                series.cwnd_bytes.push(path.as_ref().map(|path| path.cwnd_bytes));
                series.flight_bytes.push(path.as_ref().map(|path| path.flight_bytes));
                series.srtt_s.push(path.and_then(|path| path.srtt).map(Duration::as_secs_f64));
            }
        }
        self.last = Some(snapshot);
    }
}
