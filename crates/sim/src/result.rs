//! The outcome of a run.

use polypath_netsim::topology::Disjoint;
use polypath_netsim::{Direction, DropCause, NoObserver, TraceHash, World};
use polypath_proto::{Association, AssociationEnd, BlockedTime, PathStats, PathStatus};
use polypath_units::{Duration, Instant};
use serde::Serialize;

use crate::app::Violations;
use crate::frame::{Form, SctpFrame};
use crate::host::{Host, Outcome};
use crate::meter::{Meter, PathKey, Series};
use crate::scenario::{HostName, Scenario};
use crate::simulation::Execution;
use crate::wiring::Wired;

/// What came out of a run. Counters are those of the whole run; goodput is that of the measured time.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct RunResult {
    /// Title of the scenario.
    pub title: String,
    /// Seed of the random numbers.
    pub seed: u64,
    /// Whether packets travelled as structures or as bytes.
    pub form: Form,
    /// User data delivered to applications per second of the measured time, all flows together.
    pub goodput_bit_s: f64,
    /// Simulated time.
    pub duration_s: f64,
    /// Beginning of the measured time.
    pub measured_from_s: f64,
    /// End of the measured time: the planned one, or earlier when every flow was delivered or the association was over.
    pub measured_until_s: f64,
    /// When every flow was delivered; nothing if that did not happen or a flow has no end.
    pub completed_s: Option<f64>,
    /// Hash over everything that happened on the links.
    pub trace_hash: TraceHash,
    /// Events of the simulator.
    pub events: u64,
    /// Packets with user data that were sent.
    pub data_packets: u64,
    /// How the association went; with several pairs, the first one that failed, or else that of the first pair.
    pub association: AssociationResult,
    /// What the applications should never have seen.
    pub violations: Violations,
    /// Per sending host and path.
    pub paths: Vec<PathResult>,
    /// Per flow.
    pub flows: Vec<FlowResult>,
    /// Per host.
    pub hosts: Vec<HostResult>,
    /// Per path and direction of its bottleneck.
    pub bottlenecks: Vec<BottleneckResult>,
    /// Time series, if the scenario asks for them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub series: Option<Series>,
    /// Wall-clock time of the run, for whoever has a clock.
    pub wall_s: Option<f64>,
}

/// How the association went.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct AssociationResult {
    /// When the client was established.
    pub established_s: Option<f64>,
    /// In one word or two.
    pub state: &'static str,
    /// Whether it ended otherwise than by a shutdown, or never began.
    pub failed: bool,
}

/// A path as its sending host sees it.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct PathResult {
    /// Name of the path; both names where local and remote address lie on different ones.
    pub name: String,
    /// The pair of hosts, where there are several.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub pair: String,
    /// The sending host.
    pub from: &'static str,
    /// Whether it can carry data at the end.
    pub status: &'static str,
    /// User data that arrived for the first time on this path, per second of the measured time.
    pub goodput_bit_s: f64,
    /// Packets sent, of any kind.
    pub packets_sent: u64,
    /// Packets sent with user data.
    pub data_packets_sent: u64,
    /// DATA chunks sent, retransmissions included.
    pub data_chunks_sent: u64,
    /// Chunks retransmitted after missing reports.
    pub fast_retransmissions: u64,
    /// Chunks retransmitted after a timeout.
    pub timeout_retransmissions: u64,
    /// Chunks retransmitted because a drop report named them.
    pub reported_retransmissions: u64,
    /// Chunks sent again on this path because they blocked the buffers (chunk rescheduling).
    pub rescheduled_chunks: u64,
    /// T3 expiries.
    pub timeouts: u64,
    /// Times fast recovery was entered.
    pub fast_recoveries: u64,
    /// Heartbeats sent.
    pub heartbeats_sent: u64,
    /// When timeouts made it inactive the last time.
    pub failed_s: Option<f64>,
    /// Times it became potentially failed.
    pub potentially_failed: u64,
    /// How long it was that.
    pub potentially_failed_s: f64,
    /// Smoothed round-trip time at the end.
    pub srtt_s: Option<f64>,
    /// Retransmission timeout at the end.
    pub rto_s: f64,
    /// Congestion window at the end.
    pub cwnd_bytes: u64,
    /// Slow-start threshold at the end.
    pub ssthresh_bytes: u64,
    /// Part of the packets of full length that the links of the path lose or damage in the long run, as configured for
    /// the end of the run: what the oracle of loss rates says.
    pub oracle_loss: Option<f64>,
}

/// A flow.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct FlowResult {
    /// Its name.
    pub name: String,
    /// The pair of hosts, where there are several.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub pair: String,
    /// The sending host.
    pub from: &'static str,
    /// User data delivered per second of the measured time.
    pub goodput_bit_s: f64,
    /// Messages handed to the association.
    pub messages_sent: u64,
    /// Messages delivered.
    pub messages_delivered: u64,
    /// Messages that the sender gave up; some of them may have been delivered all the same.
    pub messages_abandoned: u64,
    /// User bytes delivered.
    pub bytes_delivered: u64,
    /// Whether all of it was delivered or given up: the whole file, or all that a flow with a stop sent. Never true without an end,
    /// or when nothing was sent.
    pub complete: bool,
    /// Why the association never took the next message, if that happened.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
    /// When the last message was delivered.
    pub last_delivery_s: Option<f64>,
}

/// One end of the association.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct HostResult {
    /// The pair of hosts, where there are several.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub pair: String,
    /// The host.
    pub name: &'static str,
    /// Packets sent.
    pub packets_sent: u64,
    /// Packets accepted.
    pub packets_received: u64,
    /// Packets dropped by the stack.
    pub packets_discarded: u64,
    /// Packets that arrived with a wrong checksum.
    pub checksum_failures: u64,
    /// Packets that the stack sent between addresses without a route; the network never saw them.
    pub packets_unroutable: u64,
    /// Packets that have no form as bytes; found only where packets travel as bytes.
    pub packets_unencodable: u64,
    /// DATA chunks received that were new.
    pub data_chunks_received: u64,
    /// DATA chunks received again.
    pub duplicate_chunks_received: u64,
    /// DATA chunks refused for want of buffer.
    pub data_chunks_refused: u64,
    /// SACKs and NR-SACKs sent.
    pub sacks_sent: u64,
    /// NR-SACKs among them.
    pub nr_sacks_sent: u64,
    /// SACKs received that others had overtaken and that counted for nothing.
    pub stale_sacks: u64,
    /// DATA chunks discarded after they had been acknowledged.
    pub chunks_reneged: u64,
    /// Acknowledged chunks that the peer withdrew.
    pub chunks_withdrawn: u64,
    /// User bytes that left the send buffer before the cumulative ack covered them.
    pub bytes_released_early: u64,
    /// Reports of damaged or refused packets sent.
    pub drop_reports_sent: u64,
    /// Most bytes that were in the send buffer.
    pub send_buffer_peak_bytes: u64,
    /// Mean of the send buffer over the measured time.
    pub send_buffer_mean_bytes: f64,
    /// Most bytes that were in the receive buffer.
    pub receive_buffer_peak_bytes: u64,
    /// Mean of the receive buffer over the measured time.
    pub receive_buffer_mean_bytes: f64,
    /// How long sending was blocked.
    pub blocked: BlockedResult,
    /// How long paths were potentially failed while none was active.
    pub all_potentially_failed_s: f64,
}

/// How long sending was blocked, by cause.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct BlockedResult {
    /// Nothing waited.
    pub application_s: f64,
    /// Nothing waited because what is not acknowledged fills the send buffer.
    pub send_buffer_s: f64,
    /// The congestion windows were full.
    pub congestion_window_s: f64,
    /// The peer's receive window was full.
    pub peer_window_s: f64,
    /// Paths with room in their congestion windows had used up their shares of the buffers.
    pub buffer_share_s: f64,
    /// No path could carry data.
    pub no_path_s: f64,
}

/// One direction of a bottleneck.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct BottleneckResult {
    /// Name of the path, or of the route that paths share.
    pub path: String,
    /// The host at whose side packets enter.
    pub from: &'static str,
    /// Packets that came out at the other end.
    pub packets_delivered: u64,
    /// Dropped because the queue was full.
    pub dropped_queue_full: u64,
    /// Dropped by a queue that had room: RED, CoDel.
    pub dropped_early: u64,
    /// Lost at random, each independently of the others.
    pub dropped_loss: u64,
    /// Lost in bursts.
    pub dropped_burst_loss: u64,
    /// Dropped for a bit error.
    pub dropped_bit_error: u64,
    /// Marked with "congestion experienced" by the queue.
    pub packets_marked: u64,
    /// Delivered with a bit error.
    pub packets_damaged: u64,
    /// Delivered twice; each counts as two delivered.
    pub packets_duplicated: u64,
    /// Dropped by an outage.
    pub dropped_outage: u64,
    /// Most packets that waited at once.
    pub queue_peak_packets: u64,
    /// Packets that waited in the mean over the measured time, from looks at equal intervals.
    pub queue_mean_packets: f64,
    /// The same in bytes.
    pub queue_mean_bytes: f64,
    /// Part of the time in which it was sending.
    pub utilisation: f64,
}

impl RunResult {
    /// Whether nothing went wrong: the association was not lost, it took every message, and the applications saw what
    /// was sent, once each.
    pub fn is_ok(&self) -> bool {
        !self.association.failed
            && self.violations.is_empty()
            && self.flows.iter().all(|flow| flow.refused.is_none())
    }

    /// Packets with user data per second of wall-clock time.
    pub fn data_packets_per_wall_s(&self) -> Option<f64> {
        self.wall_s.filter(|wall| *wall > 0.0).map(|wall| self.data_packets as f64 / wall)
    }

    pub(crate) fn gather(
        scenario: &Scenario,
        execution: Execution,
        world: &mut World<SctpFrame, NoObserver>,
        network: &Wired,
        pairs: &[[Host; 2]],
        meter: &Meter,
    ) -> Self {
        let window = Window::of(meter);
        let names = scenario.network.pairs();
        let flows = flow_results(scenario, world.now(), pairs, &window);
        let (mut paths, mut host_results, mut associations) = (Vec::new(), Vec::new(), Vec::new());
        for (index, (hosts, name)) in pairs.iter().zip(names).enumerate() {
            let pair = PairView { index, name, hosts, network: &network.pairs[index] };
            paths.extend(path_results(scenario, &pair, &window, world.now()));
            host_results.extend(
                HostName::ALL.map(|name| HostResult::gather(name, &pair, meter, world.now())),
            );
            associations.push(AssociationResult::gather(hosts, scenario.association.client));
        }
        let failed = associations.iter().position(|association| association.failed);
        let hosts = || pairs.iter().flatten();
        let violations =
            hosts().map(Host::violations).fold(Violations::default(), Violations::plus);
        let all_data_packets = hosts().filter_map(Host::association);
        Self {
            title: scenario.title.clone(),
            seed: execution.seed,
            form: execution.form,
            goodput_bit_s: flows.iter().map(|flow| flow.goodput_bit_s).sum(),
            duration_s: world.now().as_secs_f64(),
            measured_from_s: window.from_s,
            measured_until_s: window.until_s,
            completed_s: meter.completed().map(|at| at.as_secs_f64()),
            trace_hash: world.trace_hash(),
            events: world.events(),
            data_packets: all_data_packets
                .flat_map(Association::path_stats)
                .map(|path| path.data_packets_sent)
                .sum(),
            association: associations.swap_remove(failed.unwrap_or(0)),
            violations,
            paths,
            flows,
            hosts: host_results,
            bottlenecks: bottleneck_results(scenario, world, network, meter),
            series: meter.series().cloned(),
            wall_s: None,
        }
    }
}

/// One pair of hosts.
struct PairView<'a> {
    index: usize,
    name: &'a str,
    hosts: &'a [Host; 2],
    network: &'a Disjoint,
}

/// The measured time.
struct Window<'a> {
    from_s: f64,
    until_s: f64,
    meter: &'a Meter,
}

impl<'a> Window<'a> {
    fn of(meter: &'a Meter) -> Self {
        let (from_s, until_s) = match meter.window() {
            Some((before, after)) => (before.at.as_secs_f64(), after.at.as_secs_f64()),
            None => (0.0, 0.0),
        };
        Self { from_s, until_s, meter }
    }

    /// Bits per second of a count of bytes that both snapshots have.
    fn rate(&self, count: impl Fn(&crate::meter::Snapshot) -> u64) -> f64 {
        let Some((before, after)) = self.meter.window() else { return 0.0 };
        let seconds = after.at.since(before.at).as_secs_f64();
        let bytes = count(after).saturating_sub(count(before));
        if seconds > 0.0 { 8.0 * bytes as f64 / seconds } else { 0.0 }
    }
}

fn flow_results(
    scenario: &Scenario,
    now: Instant,
    pairs: &[[Host; 2]],
    window: &Window<'_>,
) -> Vec<FlowResult> {
    let mut results = Vec::new();
    let names = scenario.network.pairs();
    for (index, flow) in scenario.traffic.iter().enumerate() {
        let pair = scenario.pair_of(flow);
        let hosts = &pairs[pair];
        let from = &hosts[flow.from.index()];
        let Some(receiver) = hosts[flow.from.peer().index()].receiver(index) else { continue };
        let Some(sender) = from.senders().iter().find(|sender| sender.flow() == index) else {
            continue;
        };
        let meter = receiver.meter();
        results.push(FlowResult {
            name: flow.name.clone(),
            pair: names[pair].to_owned(),
            from: flow.from.name(),
            goodput_bit_s: window.rate(|snapshot| snapshot.flows.get(index).copied().unwrap_or(0)),
            messages_sent: sender.messages(),
            messages_delivered: meter.messages(),
            messages_abandoned: sender.abandoned(),
            bytes_delivered: meter.total().as_bytes(),
            complete: sender.is_exhausted(now) && from.is_settled(sender, meter.messages()),
            refused: sender.refused().map(|error| error.to_string()),
            last_delivery_s: meter.last().map(|at| at.as_secs_f64()),
        });
    }
    results
}

fn path_results(
    scenario: &Scenario,
    pair: &PairView<'_>,
    window: &Window<'_>,
    now: Instant,
) -> Vec<PathResult> {
    let PairView { index, hosts, network, .. } = *pair;
    let mut results = Vec::new();
    for name in HostName::ALL {
        let mut flows = scenario.traffic.iter();
        if !flows.any(|flow| (scenario.pair_of(flow), flow.from) == (index, name)) {
            continue;
        }
        let Some(association) = hosts[name.index()].association() else { continue };
        let doubted = association.potentially_failed(now).paths;
        results.extend(association.path_stats().into_iter().map(|path| {
            let doubted = doubted.get(path.path.index()).copied();
            let arrival = PathKey::of(index, name, &path).reverse();
            PathResult {
                name: path_name(network, &path),
                pair: pair.name.to_owned(),
                from: name.name(),
                status: status_name(path.status),
                goodput_bit_s: window.rate(|snapshot| snapshot.arrived(arrival)),
                packets_sent: path.packets_sent,
                data_packets_sent: path.data_packets_sent,
                data_chunks_sent: path.data_chunks_sent,
                fast_retransmissions: path.fast_retransmissions,
                timeout_retransmissions: path.timeout_retransmissions,
                reported_retransmissions: path.reported_retransmissions,
                rescheduled_chunks: path.rescheduled_chunks,
                timeouts: path.timeouts,
                fast_recoveries: path.fast_recoveries,
                heartbeats_sent: path.heartbeats_sent,
                failed_s: path.failed_at.map(Instant::as_secs_f64),
                potentially_failed: path.potentially_failed,
                potentially_failed_s: doubted.map_or(0.0, Duration::as_secs_f64),
                srtt_s: path.srtt.map(Duration::as_secs_f64),
                rto_s: path.rto.as_secs_f64(),
                cwnd_bytes: path.cwnd_bytes,
                ssthresh_bytes: path.ssthresh_bytes,
                oracle_loss: hosts[name.index()].oracle_loss(path.remote),
            }
        }));
    }
    results
}

/// The name of a path; both names where local and remote address lie on different ones.
pub(crate) fn path_name(network: &Disjoint, path: &PathStats) -> String {
    let name_of = |address| {
        let mut paths = network.paths.iter();
        let path = paths.find(|path| path.a_address == address || path.b_address == address);
        path.map_or("?", |path| path.name.as_str())
    };
    let (local, remote) = (name_of(path.local), name_of(path.remote));
    if local == remote { local.to_owned() } else { format!("{local} to {remote}") }
}

fn status_name(status: PathStatus) -> &'static str {
    match status {
        PathStatus::Unconfirmed => "unconfirmed",
        PathStatus::Active => "active",
        PathStatus::PotentiallyFailed => "potentially failed",
        PathStatus::Inactive => "inactive",
    }
}

impl AssociationResult {
    /// What became of the association: as the client saw it, or, if only the server saw it fail, as the server did.
    fn gather(hosts: &[Host; 2], client: HostName) -> Self {
        let client = client.index();
        let (mut state, mut failed) = outcome_name(&hosts[client]);
        if !failed && let Outcome::Ended(_) = hosts[1 - client].outcome() {
            let (server_state, server_failed) = outcome_name(&hosts[1 - client]);
            if server_failed {
                (state, failed) = (server_state, true);
            }
        }
        let established_s = hosts[client].established().map(|at| at.as_secs_f64());
        Self { established_s, state, failed }
    }
}

/// Name of what became of a host's association, and whether it is a failure.
fn outcome_name(host: &Host) -> (&'static str, bool) {
    match host.outcome() {
        Outcome::None => ("not established", true),
        Outcome::NotConnected(_) => ("could not be begun", true),
        Outcome::Established => ("established", false),
        Outcome::Ended(end) => match end {
            AssociationEnd::ShutdownComplete => ("shut down", false),
            AssociationEnd::Aborted => ("aborted", true),
            AssociationEnd::AbortedByPeer(_) => ("aborted by the peer", true),
            AssociationEnd::CannotConnect => ("no answer", true),
            AssociationEnd::HandshakeRefused(_) => ("handshake refused", true),
            AssociationEnd::Unreachable => ("peer unreachable", true),
            AssociationEnd::ProtocolViolation(_) => ("protocol violation", true),
        },
    }
}

impl HostResult {
    fn gather(name: HostName, pair: &PairView<'_>, meter: &Meter, now: Instant) -> Self {
        let host = &pair.hosts[name.index()];
        let association = host.association();
        let stats = association.map(Association::stats).unwrap_or_default();
        let blocked = association.map(|association| association.blocked(now)).unwrap_or_default();
        let [send_buffer_mean_bytes, receive_buffer_mean_bytes] =
            meter.mean_occupancy(pair.index, name);
        let all_doubted =
            association.map(|association| association.potentially_failed(now).all_paths);
        Self {
            pair: pair.name.to_owned(),
            name: name.name(),
            packets_sent: stats.packets_sent,
            packets_received: stats.packets_received,
            packets_discarded: stats.packets_discarded,
            checksum_failures: host.checksum_failures(),
            packets_unroutable: host.unsent().unroutable,
            packets_unencodable: host.unsent().unencodable,
            data_chunks_received: stats.data_chunks_received,
            duplicate_chunks_received: stats.duplicate_chunks_received,
            data_chunks_refused: stats.data_chunks_refused,
            sacks_sent: stats.sacks_sent,
            nr_sacks_sent: stats.nr_sacks_sent,
            stale_sacks: stats.stale_sacks,
            chunks_reneged: stats.chunks_reneged,
            chunks_withdrawn: stats.chunks_withdrawn,
            bytes_released_early: stats.bytes_released_early,
            drop_reports_sent: stats.drop_reports_sent,
            send_buffer_peak_bytes: stats.send_buffer_peak_bytes,
            send_buffer_mean_bytes,
            receive_buffer_peak_bytes: stats.receive_buffer_peak_bytes,
            receive_buffer_mean_bytes,
            blocked: BlockedResult::from(blocked),
            all_potentially_failed_s: all_doubted.map_or(0.0, Duration::as_secs_f64),
        }
    }
}

impl From<BlockedTime> for BlockedResult {
    fn from(blocked: BlockedTime) -> Self {
        Self {
            application_s: blocked.application.as_secs_f64(),
            send_buffer_s: blocked.send_buffer.as_secs_f64(),
            congestion_window_s: blocked.congestion_window.as_secs_f64(),
            peer_window_s: blocked.peer_window.as_secs_f64(),
            buffer_share_s: blocked.buffer_share.as_secs_f64(),
            no_path_s: blocked.no_path.as_secs_f64(),
        }
    }
}

fn bottleneck_results(
    scenario: &Scenario,
    world: &mut World<SctpFrame, NoObserver>,
    network: &Wired,
    meter: &Meter,
) -> Vec<BottleneckResult> {
    let now = world.now();
    let mut results = Vec::new();
    for (host, direction) in
        HostName::ALL.into_iter().zip([Direction::Forward, Direction::Backward])
    {
        for (path, link) in scenario.network.paths().iter().zip(&network.bottlenecks) {
            let counters = world.counters(link.channel(direction));
            let [queue_mean_packets, queue_mean_bytes] = meter.mean_queue(link.channel(direction));
            results.push(BottleneckResult {
                path: path.name.clone(),
                from: host.name(),
                packets_delivered: counters.delivered.packets,
                dropped_queue_full: counters.dropped(DropCause::QueueFull).packets,
                dropped_early: counters.dropped(DropCause::EarlyDrop).packets,
                dropped_loss: counters.dropped(DropCause::UniformLoss).packets,
                dropped_burst_loss: counters.dropped(DropCause::BurstLoss).packets,
                dropped_bit_error: counters.dropped(DropCause::BitError).packets,
                packets_marked: counters.marked.packets,
                packets_damaged: counters.damaged.packets,
                packets_duplicated: counters.duplicated.packets,
                dropped_outage: counters.dropped(DropCause::Outage).packets,
                queue_peak_packets: counters.peak_queue_packets,
                queue_mean_packets,
                queue_mean_bytes,
                utilisation: counters.utilisation(now),
            });
        }
    }
    results
}
