//! Time series: values at equal intervals.

use polypath_netsim::topology::Disjoint;
use polypath_netsim::{ChannelId, Direction, QueueLevel};
use polypath_proto::{Association, PathStats};
use polypath_units::{Duration, Instant};
use serde::Serialize;

use super::{PathKey, Snapshot, path_name};
use crate::host::Host;
use crate::probe::{BlockedSeries, ChangeSeries, TimeoutSeries, TsnSeries, limited, state_number};
use crate::scenario::{Flow, HostName, Pair, Scenario, Switch, Transport};
use crate::wiring::Wired;

/// Values at equal intervals, each for the interval that ends at its time, and lists of single events.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct Series {
    /// Ends of the intervals, in seconds since the start of the run.
    pub time_s: Vec<f64>,
    /// User data delivered to applications: the sum of all flows of associations, or of all flows if there is no
    /// association.
    pub goodput_bit_s: Vec<f64>,
    /// Per flow.
    pub flows: Vec<FlowSeries>,
    /// Per sending host and path.
    pub paths: Vec<PathSeries>,
    /// Per host.
    pub hosts: Vec<HostSeries>,
    /// Per path and direction of its bottleneck, if recorded.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub bottlenecks: Vec<BottleneckSeries>,
    /// Every change, if recorded.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<ChangeSeries>,
    /// Events of TSNs, if the list is recorded.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tsns: Vec<TsnSeries>,
    /// Times for which full buffers blocked senders, if the list is recorded.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub blocking: Vec<BlockedSeries>,
    /// T3 expiries, if the list is recorded.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub timeouts: Vec<TimeoutSeries>,
}

/// Time series of a flow.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct FlowSeries {
    /// Name of the flow.
    pub name: String,
    /// The pair of hosts, if there are several.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub pair: String,
    /// The sending host.
    pub from: String,
    /// User data delivered to the application.
    pub goodput_bit_s: Vec<f64>,
}

/// Time series of one direction of a bottleneck.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct BottleneckSeries {
    /// Name of the path that it belongs to, or of the link.
    pub path: String,
    /// The host or node from whose side packets enter.
    pub from: String,
    /// Packets in the queue at the end of the interval.
    pub queue_packets: Vec<u64>,
    /// Bytes of IP packets in the queue at the end of the interval.
    pub queue_bytes: Vec<u64>,
}

/// Time series of a path.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct PathSeries {
    /// Name of the path.
    pub name: String,
    /// The pair of hosts, if there are several.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub pair: String,
    /// The sending host.
    pub from: String,
    /// User data that arrived on this path for the first time.
    pub goodput_bit_s: Vec<f64>,
    /// User data sent on this path, including retransmissions.
    pub sent_bit_s: Vec<f64>,
    /// Congestion window at the end of the interval; none before the association begins.
    pub cwnd_bytes: Vec<Option<u64>>,
    /// Slow-start threshold at the end of the interval; none while it is unlimited.
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
    /// The pair of hosts, if there are several.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub pair: String,
    /// The host.
    pub name: String,
    /// The peer's receive window as known to this host at the end of the interval; none before the association begins.
    pub peer_window_bytes: Vec<Option<u64>>,
    /// Bytes in the send buffer at the end of the interval.
    pub send_buffer_bytes: Vec<Option<u64>>,
    /// Bytes in the receive buffer at the end of the interval.
    pub receive_buffer_bytes: Vec<Option<u64>>,
}

#[derive(Debug)]
pub(super) struct SeriesRecorder {
    interval: Duration,
    pub(super) next: Instant,
    last: Option<Snapshot>,
    /// Hosts with something to send, with their pairs.
    senders: Vec<(usize, HostName)>,
    pairs: Vec<Pair>,
    keys: Vec<PathKey>,
    /// User bytes sent on each path up to the last look.
    sent: Vec<u64>,
    /// Indices of the flows in the total goodput.
    counted: Vec<usize>,
    /// Channels whose queues are recorded, in the order of their series.
    channels: Vec<ChannelId>,
    pub(super) series: Series,
}

impl SeriesRecorder {
    /// Records the paths of the network as the sending hosts see them, and crossed paths once they exist.
    pub(super) fn new(interval: Duration, scenario: &Scenario, network: &Wired) -> Self {
        let networks = &network.pairs[..];
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
            counted: counted(scenario),
            channels: Vec::new(),
            series: Series::default(),
        };
        recorder.add_hosts();
        recorder.add_flows(scenario);
        if scenario.record.queues == Switch::On {
            recorder.add_bottlenecks(network);
        }
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

    fn add_flows(&mut self, scenario: &Scenario) {
        self.series.flows.extend(scenario.traffic.iter().map(|flow| FlowSeries {
            name: flow.name.clone(),
            pair: scenario.pairs[flow.ends.pair].name.clone(),
            from: scenario.host_name(flow.ends.pair, flow.ends.from).to_owned(),
            goodput_bit_s: Vec::new(),
        }));
    }

    fn add_bottlenecks(&mut self, network: &Wired) {
        for bottleneck in &network.bottlenecks {
            let directions = [Direction::Forward, Direction::Backward];
            for (direction, from) in directions.into_iter().zip(&bottleneck.ends) {
                self.channels.push(bottleneck.link.channel(direction));
                self.series.bottlenecks.push(BottleneckSeries {
                    path: bottleneck.name.clone(),
                    from: from.clone(),
                    queue_packets: Vec::new(),
                    queue_bytes: Vec::new(),
                });
            }
        }
    }

    /// Samples queues, if they are recorded; must be called before [`look`](Self::look).
    pub(super) fn look_at_queues(&mut self, mut level: impl FnMut(ChannelId) -> QueueLevel) {
        // The first sample only begins the first interval.
        if self.last.is_none() {
            return;
        }
        for (channel, series) in self.channels.iter().zip(&mut self.series.bottlenecks) {
            let QueueLevel { packets, bytes } = level(*channel);
            series.queue_packets.push(packets);
            series.queue_bytes.push(bytes);
        }
    }

    /// Begins the series of another path, which was unused before.
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

    pub(super) fn look(&mut self, snapshot: Snapshot, pairs: &[[Host; 2]], networks: &[Disjoint]) {
        self.next = snapshot.at + self.interval;
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

    /// Records the interval between two samples.
    fn record(&mut self, last: &Snapshot, snapshot: &Snapshot, stats: &[(PathKey, PathStats)]) {
        let seconds = snapshot.at.since(last.at).as_secs_f64();
        let rate = |after: u64, before: u64| 8.0 * after.saturating_sub(before) as f64 / seconds;
        self.series.time_s.push(snapshot.at.as_secs_f64());
        let total = |snapshot: &Snapshot| {
            self.counted.iter().filter_map(|flow| snapshot.flows.get(*flow)).sum()
        };
        self.series.goodput_bit_s.push(rate(total(snapshot), total(last)));
        let flows = snapshot.flows.iter().zip(&last.flows).zip(&mut self.series.flows);
        for ((after, before), series) in flows {
            series.goodput_bit_s.push(rate(*after, *before));
        }
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

/// Flows in the total goodput: those of associations, or all if there are none.
fn counted(scenario: &Scenario) -> Vec<usize> {
    let flows = || scenario.traffic.iter().enumerate();
    let is_sctp = |flow: &Flow| flow.transport == Transport::Sctp;
    let any = scenario.traffic.iter().any(is_sctp);
    flows().filter(|(_, flow)| !any || is_sctp(flow)).map(|(index, _)| index).collect()
}
