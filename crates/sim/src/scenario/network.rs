//! The network of a scenario, and its faults and steps.

use std::borrow::Cow;

use polypath_netsim::impair::Outage;
use polypath_netsim::topology::IpVersion;
use polypath_units::{BitRate, ByteCount, Duration, Fraction, Instant};
use serde::{Deserialize, Serialize};

use super::dumbbell::DumbbellNetwork;
use super::graph::GraphNetwork;
use super::hosts::HostRef;
use super::link::{Access, Link};
use super::star::StarNetwork;
use crate::document::Step;

use Step::{Index, Key};

/// The network between the hosts.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Network {
    /// Hosts a and b, and disjoint paths between them.
    Disjoint(DisjointNetwork),
    /// Pairs of hosts whose paths share routes.
    Shared(SharedNetwork),
    /// Hosts around the routers of several networks.
    Star(StarNetwork),
    /// Dumbbells side by side, with hosts for cross traffic.
    Dumbbell(DumbbellNetwork),
    /// Any nodes and links.
    Graph(GraphNetwork),
}

impl Network {
    /// Its key in files.
    pub(super) fn key(&self) -> &'static str {
        match self {
            Self::Disjoint(_) => "disjoint",
            Self::Shared(_) => "shared",
            Self::Star(_) => "star",
            Self::Dumbbell(_) => "dumbbell",
            Self::Graph(_) => "graph",
        }
    }

    /// Its paths or shared routes, each a series of links; empty for other kinds of networks.
    pub fn paths(&self) -> &[WirePath] {
        match self {
            Self::Disjoint(network) => &network.paths,
            Self::Shared(network) => &network.routes,
            Self::Star(_) | Self::Dumbbell(_) | Self::Graph(_) => &[],
        }
    }

    /// The links that faults, steps and results name: bottlenecks of paths and routes, core links of dumbbells, and all
    /// links of stars and graphs.
    pub fn named_links(&self) -> Vec<(Cow<'_, str>, &Link)> {
        match self {
            Self::Disjoint(_) | Self::Shared(_) => {
                let paths = self.paths().iter();
                paths.map(|path| (Cow::Borrowed(&path.name[..]), &path.bottleneck)).collect()
            }
            Self::Star(network) => {
                network.links().map(|(name, link)| (Cow::Owned(name), link)).collect()
            }
            Self::Dumbbell(network) => {
                let paths = network.paths.iter();
                paths.map(|path| (Cow::Borrowed(&path.name[..]), &path.bottleneck)).collect()
            }
            Self::Graph(network) => {
                let links = network.links.iter();
                links.map(|link| (Cow::Borrowed(&link.name[..]), &link.link)).collect()
            }
        }
    }

    /// All links of the file except access links, with the keys that lead to them.
    pub(super) fn written_links(&mut self) -> Vec<(Vec<Step<'static>>, &mut Link)> {
        let to = [Key("network"), Key(self.key())];
        let below = match self {
            Self::Disjoint(network) => links_of_paths("paths", &mut network.paths),
            Self::Shared(network) => links_of_paths("routes", &mut network.routes),
            Self::Star(network) => network.written_links(),
            Self::Dumbbell(network) => network.written_links(),
            Self::Graph(network) => network.written_links(),
        };
        let with_prefix = |(keys, link)| (to.into_iter().chain::<Vec<_>>(keys).collect(), link);
        below.into_iter().map(with_prefix).collect()
    }

    /// Its hosts. Hosts without names are host a and host b of each pair.
    pub fn hosts(&self) -> Vec<HostRef<'_>> {
        let named = |name| HostRef { pair: "", name };
        let both = |pair| ["a", "b"].map(|name| HostRef { pair, name: Cow::Borrowed(name) });
        match self {
            Self::Disjoint(_) => both("").to_vec(),
            Self::Shared(network) => {
                network.pairs.iter().flat_map(|pair| both(&pair.name)).collect()
            }
            Self::Star(StarNetwork { hosts, .. }) | Self::Graph(GraphNetwork { hosts, .. }) => {
                hosts.iter().map(|name| named(name.into())).collect()
            }
            Self::Dumbbell(network) => {
                let cross = network.paths.iter().flat_map(|path| {
                    let pairs = 1..=path.cross.map_or(0, |cross| cross.pairs);
                    pairs.flat_map(|pair| path.cross_names(pair))
                });
                both("").into_iter().chain(cross.map(|name| named(name.into()))).collect()
            }
        }
    }

    /// Whether flows name their hosts. Otherwise hosts come in pairs, each with an association.
    pub fn has_named_hosts(&self) -> bool {
        match self {
            Self::Disjoint(_) | Self::Shared(_) => false,
            Self::Star(_) | Self::Dumbbell(_) | Self::Graph(_) => true,
        }
    }

    /// Bytes of the IP headers of its packets.
    pub(super) fn ip_header(&self) -> u64 {
        let ip = match self {
            Self::Disjoint(network) => network.ip,
            Self::Shared(network) => network.ip,
            Self::Star(network) => network.ip,
            Self::Dumbbell(network) => network.ip,
            Self::Graph(network) => network.ip,
        };
        match ip {
            IpVersion::V4 => 20,
            IpVersion::V6 => 40,
        }
    }

    /// Number of hosts that are not for cross traffic; they come first.
    pub(super) fn main_hosts(&self) -> usize {
        match self {
            Self::Dumbbell(_) => 2,
            _ => self.hosts().len(),
        }
    }
}

/// The links of paths except access links, with the keys that lead to them.
fn links_of_paths<'a>(
    to: &'static str,
    paths: &'a mut [WirePath],
) -> Vec<(Vec<Step<'static>>, &'a mut Link)> {
    let mut all = Vec::new();
    for (index, WirePath { before, bottleneck, after, .. }) in paths.iter_mut().enumerate() {
        let further =
            [("before", before), ("after", after)].into_iter().flat_map(|(key, links)| {
                let links = links.iter_mut().enumerate();
                links.map(move |(place, link)| {
                    (vec![Key(to), Index(index), Key(key), Index(place)], link)
                })
            });
        all.extend(further);
        all.push((vec![Key(to), Index(index), Key("bottleneck")], bottleneck));
    }
    all
}

/// Pairs of hosts, each with an association of its own, whose paths share routes.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct SharedNetwork {
    /// Version of the addresses.
    #[serde(default)]
    pub ip: IpVersion,
    /// The routes, from the hosts a to the hosts b; they have no access links.
    pub routes: Vec<WirePath>,
    /// The pairs.
    pub pairs: Vec<PairNetwork>,
}

/// Two hosts, a and b, and the paths between them.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct PairNetwork {
    /// Name in traffic and results.
    pub name: String,
    /// The paths. Each gives both hosts an address.
    pub paths: Vec<PairPath>,
    /// Whether real programs use both hosts, as with `external` of a host. Default: `false`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub external: bool,
}

/// A path of a pair: access, route, access.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct PairPath {
    /// Name in results and captures.
    pub name: String,
    /// Name of the route.
    pub route: String,
    /// Links between each host and the route.
    pub access: Access,
}

/// Hosts a and b, and disjoint paths between them. Each path is a network interface of both hosts.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct DisjointNetwork {
    /// Version of the addresses.
    #[serde(default)]
    pub ip: IpVersion,
    /// The paths. Each gives both hosts an address.
    pub paths: Vec<WirePath>,
}

/// One path through the network.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct WirePath {
    /// Name in results and captures.
    pub name: String,
    /// Links between the hosts and a router at either side. Default: none, the bottleneck connects the hosts directly.
    #[serde(default)]
    pub access: Option<Access>,
    /// Further links in series between host a and the bottleneck, each followed by a router. Default: none.
    #[serde(default)]
    pub before: Vec<Link>,
    /// The link that faults, steps and results refer to.
    pub bottleneck: Link,
    /// Further links in series between the bottleneck and host b. Default: none.
    #[serde(default)]
    pub after: Vec<Link>,
}

impl PairPath {
    /// This path with the links of its route.
    pub(crate) fn over(&self, route: &WirePath) -> WirePath {
        WirePath { access: Some(self.access), ..route.clone() }
    }
}

impl WirePath {
    /// Round-trip propagation delay.
    pub(crate) fn round_trip(&self) -> Duration {
        let access = self.access.map_or(Duration::ZERO, |Access { delay, .. }| delay * 4);
        self.links().fold(access, |sum, link| sum + link.round_trip())
    }

    /// Its links except access links, from host a to host b.
    pub fn links(&self) -> impl Iterator<Item = &Link> {
        self.before.iter().chain([&self.bottleneck]).chain(&self.after)
    }
}

/// A fault.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(
    rename_all = "kebab-case",
    expecting = "a fault, for example { outage = { path = \"path 1\", from = \"5 s\" } }"
)]
pub enum Fault {
    /// An outage of the bottleneck of a path.
    Outage(OutageFault),
    /// Repeated outages of the bottleneck of a path, at equal intervals.
    Flapping(FlappingFault),
}

impl Fault {
    /// Name of the path.
    pub fn path(&self) -> &str {
        match self {
            Self::Outage(fault) => &fault.path,
            Self::Flapping(fault) => &fault.path,
        }
    }

    /// Direction of the outages.
    pub fn way(&self) -> Way {
        match self {
            Self::Outage(fault) => fault.way,
            Self::Flapping(fault) => fault.way,
        }
    }

    /// The outages of a run that ends at `end`, in order of time.
    pub fn outages(&self, end: Instant) -> Vec<Outage> {
        match self {
            Self::Outage(OutageFault { from, until, .. }) => {
                vec![Outage { from: *from, until: *until }]
            }
            Self::Flapping(fault) => fault.outages(end),
        }
    }
}

/// Outages of equal length at equal intervals, at the bottleneck of a path.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(
    deny_unknown_fields,
    expecting = "a table, for example { path = \"path 1\", from = \"5 s\", down = \"1 s\", up = \"4 s\" }"
)]
pub struct FlappingFault {
    /// Name of the path.
    pub path: String,
    /// Start of the first outage.
    pub from: Instant,
    /// Length of each outage.
    pub down: Duration,
    /// Time between two outages.
    pub up: Duration,
    /// No outage begins from here on. Default: the end of the run.
    #[serde(default)]
    pub until: Option<Instant>,
    /// Direction of the outages.
    #[serde(default)]
    pub way: Way,
}

impl FlappingFault {
    /// How many outages there are in a run that ends at `end`.
    pub(crate) fn count(&self, end: Instant) -> u64 {
        let time = self.until.unwrap_or(end).min(end).since(self.from).as_nanos();
        time.div_ceil((self.down + self.up).as_nanos().max(1))
    }

    fn outages(&self, end: Instant) -> Vec<Outage> {
        let outage = |number: u64| {
            let from = self.from + (self.down + self.up) * number;
            Outage { from, until: Some(from + self.down) }
        };
        (0..self.count(end)).map(outage).collect()
    }
}

/// An outage of the bottleneck of a path.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(
    deny_unknown_fields,
    expecting = "a table, for example { path = \"path 1\", from = \"5 s\" }"
)]
pub struct OutageFault {
    /// Name of the path.
    pub path: String,
    /// Start.
    pub from: Instant,
    /// End. Default: never.
    #[serde(default)]
    pub until: Option<Instant>,
    /// Direction of the outage.
    #[serde(default)]
    pub way: Way,
}

/// Directions of a path.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Way {
    /// From host a to host b.
    Forward,
    /// From host b to host a.
    Backward,
    /// Both.
    #[default]
    Both,
}

impl Way {
    /// Whether both have a direction in common.
    pub(crate) fn meets(self, other: Self) -> bool {
        self == other || self == Self::Both || other == Self::Both
    }
}

/// A change of the bottleneck of a path at a given time. Omitted values stay as they are.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(
    deny_unknown_fields,
    expecting = "a table, for example { path = \"path 1\", at = \"5 s\", rate = \"2 Mbit/s\" }"
)]
pub struct StepPlan {
    /// Name of the path.
    pub path: String,
    /// Time of the change.
    pub at: Instant,
    /// Direction of the change.
    #[serde(default)]
    pub way: Way,
    /// New rate.
    #[serde(default)]
    pub rate: Option<BitRate>,
    /// New propagation delay, one way.
    #[serde(default)]
    pub delay: Option<Duration>,
    /// New probability of random loss.
    #[serde(default)]
    pub loss: Option<Fraction>,
    /// New MTU, including the IP header.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mtu: Option<ByteCount>,
}
