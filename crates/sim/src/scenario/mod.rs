//! Scenarios: one network, its hosts, what they send each other and what is measured.
//!
//! A scenario is a TOML file. Quantities are text with a unit (`"100 Mbit/s"`, `"45 ms"`, `"64 KiB"`); choices are
//! written by name, with parameters as a table of one key (`burst = { max-burst = 4 }`). Unknown keys are errors.

mod association;
mod check;
mod dumbbell;
mod external;
mod graph;
mod hosts;
mod link;
mod message_trace;
mod network;
mod rate_trace;
mod record;
#[cfg(feature = "schema")]
mod schema;
mod sctp;
mod star;
mod test_bed;
mod text_file;
mod traffic;
mod transport;

pub use association::{AssociationPlan, Reading};
pub use dumbbell::{CrossPlan, DumbbellNetwork, DumbbellPath};
pub use external::External;
pub use graph::{GraphLink, GraphNetwork};
pub use hosts::{FlowEnds, HostRef, Pair};
pub use link::{Access, Link, LinkDirection, Loss, Queue, QueueLimit};
pub use network::{
    DisjointNetwork, Fault, FlappingFault, Network, OutageFault, PairNetwork, PairPath,
    SharedNetwork, StepPlan, Way, WirePath,
};
pub use polypath_workload::{Delivery, Source};
pub(crate) use rate_trace::drawn as with_drawn_traces;
pub use rate_trace::{TraceBegin, TraceFile, TraceFormat};
pub use record::{Detail, Record, Switch};
#[cfg(feature = "schema")]
pub use schema::schema;
pub use sctp::{Heartbeat, SctpSettings};
pub use star::{StarLink, StarNetwork, StarPlan};
pub use test_bed::{Carrier, TestBed};
pub use traffic::{Flow, HostName};
pub use transport::{TcpCongestion, TcpSettings, Transport};

use std::collections::BTreeMap;

use polypath_proto::config::Preset;
use polypath_units::Duration;
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};

use crate::document::{Document, DocumentError, Layer, Step};

/// A complete, checked scenario. Serialized, it contains every default.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Scenario {
    /// What the scenario shows, in one line.
    pub title: String,
    /// Duration and interval of measurement.
    pub run: Run,
    /// The network between the hosts.
    pub network: Network,
    /// Hosts for real programs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub external: Vec<External>,
    /// How a test bed runs it in real time, if studies do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub test_bed: Option<TestBed>,
    /// Pairs of hosts, each with an association.
    #[serde(skip)]
    pub pairs: Vec<Pair>,
    /// SCTP of host a and of host b, or of all named hosts that have an association, in the order of the network.
    pub sctp: Vec<SctpSettings>,
    /// The associations between the hosts.
    pub association: AssociationPlan,
    /// What is sent: the flows of the file, then those that they cause in the other direction.
    pub traffic: Vec<Flow>,
    /// Failures and their times.
    pub faults: Vec<Fault>,
    /// Changes and their times.
    pub steps: Vec<StepPlan>,
    /// What is recorded.
    pub record: Record,
}

/// Duration of a scenario, and the interval of measurement.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// Simulated time. A run ends earlier when all flows, or the association, have ended.
    pub duration: Duration,
    /// Seed of all random numbers.
    #[serde(default = "first_seed")]
    pub seed: u64,
    /// Start of the interval in which goodput is measured, as time since the start of the run.
    #[serde(default)]
    pub measure_from: Duration,
    /// End of the interval in which goodput is measured. Default: the end of the run.
    #[serde(default)]
    pub measure_until: Option<Duration>,
}

fn first_seed() -> u64 {
    1
}

/// A scenario file. The text is decoded in layers, since SCTP settings have presets.
#[derive(Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
struct ScenarioFile {
    /// What the scenario shows, in one line.
    title: String,
    run: Run,
    network: Network,
    #[serde(default)]
    test_bed: Option<TestBed>,
    #[serde(default)]
    #[expect(dead_code, reason = "names the key; read in layers")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<SctpSettings>"))]
    sctp: Option<IgnoredAny>,
    /// Settings of single hosts, by name.
    #[serde(default)]
    hosts: BTreeMap<String, HostFile>,
    #[serde(default)]
    association: AssociationPlan,
    /// Flows; at least one, unless hosts are external.
    #[serde(default)]
    traffic: Vec<Flow>,
    #[serde(default)]
    faults: Vec<Fault>,
    #[serde(default)]
    steps: Vec<StepPlan>,
    #[serde(default)]
    record: Record,
}

/// Settings of one host.
#[derive(Default, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
struct HostFile {
    /// Whether real programs use this host; `polypath emulate` connects them to the network.
    external: bool,
    #[cfg_attr(feature = "schema", schemars(with = "Option<SctpSettings>"))]
    sctp: Option<IgnoredAny>,
}

impl Scenario {
    /// Reads a document and checks all that can be checked before the network is built.
    pub(crate) fn without_network(document: &Document) -> Result<Self, DocumentError> {
        let file: ScenarioFile = document.decode(&[Layer::At(&[])])?;
        let ScenarioFile { mut network, mut association, mut traffic, .. } = file;
        rate_trace::load(&mut network, document)?;
        message_trace::load(&mut traffic, document)?;
        check::check_network(&network, document)?;
        let pairs = hosts::resolve(&network, &association, &mut traffic, document)?;
        let brought = traffic.iter().enumerate().filter_map(|(index, flow)| flow.reverse(index));
        let brought: Vec<Flow> = brought.collect();
        traffic.extend(brought);
        if !network.has_named_hosts() {
            association.client.get_or_insert_with(|| "a".into());
        }
        let sctp = settings(&network, &pairs, &file.hosts, document)?;
        let external = external::resolve(&network, &file.hosts, document)?;
        let scenario = Self {
            title: file.title,
            run: file.run,
            network,
            external,
            test_bed: file.test_bed,
            pairs,
            sctp,
            association,
            traffic,
            faults: file.faults,
            steps: file.steps,
            record: file.record,
        };
        check::check(&scenario, document)?;
        Ok(scenario)
    }

    /// The settings of a host of a pair.
    pub fn sctp_of(&self, pair: usize, host: HostName) -> &SctpSettings {
        &self.sctp[self.pairs[pair].sctp[host.index()]]
    }

    /// The settings of the host that sends a flow, and of the one that receives it.
    pub fn sctp_of_flow(&self, flow: &Flow) -> [&SctpSettings; 2] {
        let FlowEnds { pair, from, .. } = flow.ends;
        [from, from.peer()].map(|host| self.sctp_of(pair, host))
    }

    /// The flow in the other direction that belongs to this one: request and response, or both directions of a meter.
    pub fn partner_of(&self, flow: usize) -> Option<usize> {
        let brings = |other: &Flow| other.brought_by == Some(flow);
        self.traffic.get(flow)?.brought_by.or_else(|| self.traffic.iter().position(brings))
    }

    /// Name of a host of a pair in results.
    pub fn host_name(&self, pair: usize, host: HostName) -> &str {
        &self.pairs[pair].names[host.index()]
    }
}

/// The settings of all hosts that have an association.
fn settings(
    network: &Network,
    pairs: &[Pair],
    written: &BTreeMap<String, HostFile>,
    document: &Document,
) -> Result<Vec<SctpSettings>, DocumentError> {
    let hosts = network.hosts();
    for name in written.keys() {
        if !hosts.iter().any(|host| host.name == **name) {
            let message = hosts::unknown_host(name, hosts::distinct(network, &hosts));
            return Err(document.complain(&[Step::Key("hosts"), Step::Key(name)], message));
        }
        sctp_of(document, name)?;
    }
    let ends = pairs.iter().flat_map(|pair| pair.sctp.into_iter().zip(&pair.names));
    let by_place: BTreeMap<usize, &String> = ends.collect();
    let mut of_both: Option<SctpSettings> = None;
    let settings = by_place.into_values().map(|name| {
        if document.has(&own_settings(name)) {
            return sctp_of(document, name);
        }
        match &of_both {
            Some(settings) => Ok(settings.clone()),
            None => Ok(of_both.insert(sctp_of(document, name)?).clone()),
        }
    });
    settings.collect()
}

/// The path of the SCTP settings of one host.
fn own_settings(host: &str) -> [Step<'_>; 3] {
    [Step::Key("hosts"), Step::Key(host), Step::Key("sctp")]
}

/// The settings of one host. Precedence: its own keys, the keys of both hosts, its own preset, the preset of both. A
/// preset therefore never overrides a key of the file.
fn sctp_of(document: &Document, host: &str) -> Result<SctpSettings, DocumentError> {
    let both = [Step::Key("sctp")];
    let own = own_settings(host);
    let preset_of_both = preset_at(document, &both)?;
    let preset_of_own = preset_at(document, &own)?;
    let defaults = sctp::defaults(preset_of_own.or(preset_of_both).unwrap_or(Preset::Cmt))?;
    // The settings of both hosts are decoded first, so that an error in them is reported under their key.
    let settings = document.decode(&[Layer::At(&both), Layer::Defaults(defaults)])?;
    if !document.has(&own) {
        return Ok(settings);
    }
    document.decode(&[Layer::At(&own), Layer::At(&both), Layer::Defaults(defaults)])
}

/// Reads only the preset of SCTP settings.
fn preset_at(document: &Document, path: &[Step<'_>]) -> Result<Option<Preset>, DocumentError> {
    #[derive(Deserialize)]
    struct Named {
        preset: Option<Preset>,
    }
    if !document.has(path) {
        return Ok(None);
    }
    document.decode(&[Layer::At(path)]).map(|named: Named| named.preset)
}

#[cfg(test)]
mod tests;
