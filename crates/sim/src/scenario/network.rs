//! The network of a scenario and what goes wrong in it.

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
    /// Paths that share nothing.
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

    /// Its paths of one link or several in a row, or the routes that paths of several pairs share; other networks have
    /// none of these.
    pub fn paths(&self) -> &[WirePath] {
        match self {
            Self::Disjoint(network) => &network.paths,
            Self::Shared(network) => &network.routes,
            Self::Star(_) | Self::Dumbbell(_) | Self::Graph(_) => &[],
        }
    }

    /// The links that faults and steps name, and that results tell of: bottlenecks of paths and routes, core links of
    /// dumbbells, and all links of stars and graphs.
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

    /// All links that are written down, but those of access, with the keys that lead to them.
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

    /// Its hosts. Where they have no names of their own they are host a and host b of each pair.
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

    /// Whether flows say between which hosts they are; else hosts come in pairs, each with an association.
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

    /// Number of the hosts that are not for cross traffic; they are the first ones.
    pub(super) fn main_hosts(&self) -> usize {
        match self {
            Self::Dumbbell(_) => 2,
            _ => self.hosts().len(),
        }
    }
}

/// The links of paths beside access, with the keys that lead to them.
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

/// Pairs of hosts, each with an association of its own, whose paths lead over common routes.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct SharedNetwork {
    /// Version of the addresses.
    #[serde(default)]
    pub ip: IpVersion,
    /// The routes, from the side of all hosts a to the side of all hosts b; they have no access links.
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
    /// The paths; their number is that of the addresses of each host.
    pub paths: Vec<PairPath>,
    /// Whether the programs of both are real ones, as with `external` of a host.
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
    /// Links from each host to the route.
    pub access: Access,
}

/// Hosts a and b joined by paths that share nothing: each has its own interface at both hosts.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct DisjointNetwork {
    /// Version of the addresses.
    #[serde(default)]
    pub ip: IpVersion,
    /// The paths; their number is that of the addresses of each host.
    pub paths: Vec<WirePath>,
}

/// One path through the network.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct WirePath {
    /// Name in results and captures.
    pub name: String,
    /// Links from each host to a router of its own; without them the bottleneck joins the hosts directly.
    #[serde(default)]
    pub access: Option<Access>,
    /// Further links between host a's side and the bottleneck, with a router at either end of each.
    #[serde(default)]
    pub before: Vec<Link>,
    /// The link that faults and steps are about, and that results tell of.
    pub bottleneck: Link,
    /// Further links between the bottleneck and host b's side.
    #[serde(default)]
    pub after: Vec<Link>,
}

impl PairPath {
    /// The whole of a path that leads over a route.
    pub(crate) fn over(&self, route: &WirePath) -> WirePath {
        WirePath { access: Some(self.access), ..route.clone() }
    }
}

impl WirePath {
    /// Propagation from host a to host b and back.
    pub(crate) fn round_trip(&self) -> Duration {
        let access = self.access.map_or(Duration::ZERO, |Access { delay, .. }| delay * 4);
        self.links().fold(access, |sum, link| sum + link.round_trip())
    }

    /// Its links beside those of access, from host a to host b.
    pub fn links(&self) -> impl Iterator<Item = &Link> {
        self.before.iter().chain([&self.bottleneck]).chain(&self.after)
    }
}

/// Something that goes wrong.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(
    rename_all = "kebab-case",
    expecting = "a fault, for example { outage = { path = \"path 1\", from = \"5 s\" } }"
)]
pub enum Fault {
    /// The bottleneck of a path carries nothing for a time.
    Outage(OutageFault),
    /// The bottleneck of a path goes down and comes up again and again.
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

    /// Which way nothing passes.
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

/// Periodic outages of the bottleneck of a path.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(
    deny_unknown_fields,
    expecting = "a table, for example { path = \"path 1\", from = \"5 s\", down = \"1 s\", up = \"4 s\" }"
)]
pub struct FlappingFault {
    /// Name of the path.
    pub path: String,
    /// When the first outage begins.
    pub from: Instant,
    /// How long each lasts.
    pub down: Duration,
    /// How long the path works between two of them.
    pub up: Duration,
    /// No outage begins from here on; missing where they go on to the end of the run.
    #[serde(default)]
    pub until: Option<Instant>,
    /// Which way nothing passes.
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

/// A time in which the bottleneck of a path carries nothing.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(
    deny_unknown_fields,
    expecting = "a table, for example { path = \"path 1\", from = \"5 s\" }"
)]
pub struct OutageFault {
    /// Name of the path.
    pub path: String,
    /// When it begins.
    pub from: Instant,
    /// When it ends; missing where it does not.
    #[serde(default)]
    pub until: Option<Instant>,
    /// Which way nothing passes.
    #[serde(default)]
    pub way: Way,
}

/// Ways along a path.
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
    /// Whether both mean a common direction.
    pub(crate) fn meets(self, other: Self) -> bool {
        self == other || self == Self::Both || other == Self::Both
    }
}

/// A change of the bottleneck of a path at a set time. What it does not name stays as it is.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(
    deny_unknown_fields,
    expecting = "a table, for example { path = \"path 1\", at = \"5 s\", rate = \"2 Mbit/s\" }"
)]
pub struct StepPlan {
    /// Name of the path.
    pub path: String,
    /// When.
    pub at: Instant,
    /// Which way it changes.
    #[serde(default)]
    pub way: Way,
    /// The new rate.
    #[serde(default)]
    pub rate: Option<BitRate>,
    /// The new propagation delay, one way.
    #[serde(default)]
    pub delay: Option<Duration>,
    /// The new probability with which a packet is lost.
    #[serde(default)]
    pub loss: Option<Fraction>,
    /// The new MTU, IP header included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mtu: Option<ByteCount>,
}
