//! Results of a run.

mod association;
mod bottleneck;
mod flow;
mod host;
mod path;
mod probes;

use polypath_netsim::topology::Disjoint;
use polypath_netsim::{NoObserver, TraceHash, World};
use polypath_proto::Association;
use serde::Serialize;

use crate::app::{Ledger, Violations};
use crate::background::Background;
use crate::frame::{Form, SimFrame};
use crate::host::Host;
use crate::meter::{Meter, Series};
use crate::probe::ProbeResult;
use crate::scenario::{HostName, Scenario};
use crate::wiring::Wired;

pub use association::AssociationResult;
pub use bottleneck::BottleneckResult;
use flow::total_goodput;
pub use flow::{DelayResult, FlowResult};
pub use host::{AbandonedResult, BlockedResult, HostResult};
pub use path::PathResult;

/// Results of a run. Counters cover the whole run, goodput the measured interval.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct RunResult {
    /// Title of the scenario.
    pub title: String,
    /// Seed of the random numbers.
    pub seed: u64,
    /// Whether packets were structures or bytes.
    pub form: Form,
    /// User data delivered to applications per second of the measured interval: the sum of all flows of associations,
    /// or of all flows if there is no association.
    pub goodput_bit_s: f64,
    /// Simulated time.
    pub duration_s: f64,
    /// Start of the measured interval.
    pub measured_from_s: f64,
    /// End of the measured interval: the planned one, or earlier if all flows were complete or the association had
    /// ended.
    pub measured_until_s: f64,
    /// When all flows were complete; none if that did not happen or a flow is infinite.
    pub completed_s: Option<f64>,
    /// Hash over all events on the links.
    pub trace_hash: TraceHash,
    /// Events of the simulator.
    pub events: u64,
    /// Packets with user data that were sent.
    pub data_packets: u64,
    /// Results of the association; with several pairs, of the first one that failed, or else of the first pair.
    pub association: AssociationResult,
    /// Errors that the applications must never see.
    pub violations: Violations,
    /// Per sending host and path.
    pub paths: Vec<PathResult>,
    /// Per flow.
    pub flows: Vec<FlowResult>,
    /// Per host.
    pub hosts: Vec<HostResult>,
    /// Per path and direction of its bottleneck.
    pub bottlenecks: Vec<BottleneckResult>,
    /// Records of probes, per sending host, if the scenario has any.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub probes: Vec<ProbeResult>,
    /// Time series, if recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub series: Option<Series>,
    /// Wall-clock time of the run, set by callers with a clock.
    pub wall_s: Option<f64>,
}

impl RunResult {
    /// Whether the run was free of errors: the association did not fail and accepted all messages, and the applications
    /// received what was sent, once each.
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
        world: &mut World<SimFrame, NoObserver>,
        network: &Wired,
        pairs: &[[Host; 2]],
        measured: Measured<'_>,
    ) -> Self {
        let meter = measured.meter;
        let window = Window::of(meter);
        let flows = flow::flow_results(scenario, world.now(), pairs, measured, &window);
        let (mut paths, mut host_results, mut associations) = (Vec::new(), Vec::new(), Vec::new());
        for (index, (hosts, plan)) in pairs.iter().zip(&scenario.pairs).enumerate() {
            let pair = PairView { index, name: &plan.name, hosts, network: &network.pairs[index] };
            if !scenario.has_association(index) {
                continue;
            }
            paths.extend(path::path_results(scenario, &pair, &window, world.now()));
            host_results.extend(HostName::ALL.map(|name| {
                let host_name = scenario.host_name(index, name);
                HostResult::gather(name, host_name, &pair, meter, world.now())
            }));
            associations.push(AssociationResult::gather(hosts, plan.client));
        }
        let failed = associations.iter().position(|association| association.failed);
        let hosts = || pairs.iter().flatten();
        let violations =
            hosts().map(Host::violations).fold(Violations::default(), Violations::plus);
        let mut series = meter.series().cloned();
        probes::add_lists(&mut series, scenario, network, pairs, world.now());
        let all_data_packets = hosts().filter_map(Host::association);
        Self {
            title: scenario.title.clone(),
            seed: execution.seed,
            form: execution.form,
            goodput_bit_s: total_goodput(&flows),
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
            association: match failed {
                _ if associations.is_empty() => AssociationResult::none(),
                failed => associations.swap_remove(failed.unwrap_or(0)),
            },
            violations,
            paths,
            flows,
            hosts: host_results,
            bottlenecks: bottleneck::bottleneck_results(world, network, meter),
            probes: probes::gather(scenario, network, pairs, world.now()),
            series,
            wall_s: None,
        }
    }
}

/// What distinguishes runs of a scenario.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Execution {
    pub seed: u64,
    pub form: Form,
}

/// Measurements.
#[derive(Clone, Copy)]
pub(crate) struct Measured<'a> {
    pub meter: &'a Meter,
    pub ledger: &'a Ledger,
    pub background: &'a Background,
}

/// One pair of hosts.
struct PairView<'a> {
    index: usize,
    name: &'a str,
    hosts: &'a [Host; 2],
    network: &'a Disjoint,
}

/// The measured interval.
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

    /// Bits per second of a counter that both snapshots have.
    fn rate(&self, count: impl Fn(&crate::meter::Snapshot) -> u64) -> f64 {
        let Some((before, after)) = self.meter.window() else { return 0.0 };
        let seconds = after.at.since(before.at).as_secs_f64();
        let bytes = count(after).saturating_sub(count(before));
        if seconds > 0.0 { 8.0 * bytes as f64 / seconds } else { 0.0 }
    }
}
