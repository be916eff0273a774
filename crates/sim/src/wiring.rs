//! Turns the paths of a scenario into those of the network simulator.

mod named;

use std::net::IpAddr;

use polypath_netsim::impair::{Outage, Step};
use polypath_netsim::topology::{
    Disjoint, DisjointPaths, Duplex, HostPair, PathConfig, SharedPath, SharedRoutes,
};
use polypath_netsim::{
    BuildError, ChannelConfig, Direction, LinkId, NetworkBuilder, NetworkId, NodeId, Routes,
};
use polypath_units::{Duration, Instant};

use crate::scenario::{
    Fault, Link, Network, PairPath, Scenario, SharedNetwork, Way, WirePath, with_drawn_traces,
};

/// A path with all its impairments.
pub(crate) fn path(path: &WirePath, scenario: &Scenario) -> PathConfig {
    let round_trip = path.round_trip();
    let plain = |links: &[Link]| links.iter().map(|link| duplex(link, round_trip)).collect();
    let access = path.access.map(|access| Duplex::from(access.channel(round_trip)));
    PathConfig {
        name: path.name.clone(),
        access,
        before: plain(&path.before),
        bottleneck: changing(&path.bottleneck, &path.name, round_trip, scenario),
        after: plain(&path.after),
    }
}

/// A network as built: its hosts, pairs and bottlenecks.
#[derive(Debug, Default)]
pub(crate) struct Wired {
    /// By position among the hosts of the scenario's network.
    pub hosts: Vec<WiredHost>,
    pub pairs: Vec<Disjoint>,
    pub bottlenecks: Vec<Bottleneck>,
    /// By pair.
    pub oracles: Vec<Oracle>,
    /// The routes, in networks with named hosts.
    pub routes: Option<Routes>,
}

/// A host in the network.
#[derive(Debug)]
pub(crate) struct WiredHost {
    pub node: NodeId,
    /// By interface.
    pub addresses: Vec<HostAddress>,
}

/// An address of a host.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct HostAddress {
    pub ip: IpAddr,
    /// Name of the path or network that it belongs to.
    pub network: String,
    /// Number of that network; 0 belongs to all.
    pub id: NetworkId,
    /// Name of the link, or of the path that uses it.
    pub link: String,
}

/// A link in results.
#[derive(Debug)]
pub(crate) struct Bottleneck {
    /// Name of the path or route that it stands for.
    pub name: String,
    pub link: LinkId,
    /// Names of the hosts or nodes on the sides where packets enter.
    pub ends: [String; 2],
}

impl Wired {
    /// The addresses of a host of the scenario, in the network of this name or in any.
    pub fn addresses_of<'a>(
        &'a self,
        host: usize,
        network: Option<&'a str>,
    ) -> impl Iterator<Item = &'a HostAddress> {
        let all = self.hosts.get(host).map_or(&[][..], |host| &host.addresses);
        all.iter().filter(move |address| network.is_none_or(|name| address.network == name))
    }

    /// Addresses for packets between two hosts: the first two of one network, which can be given.
    pub fn between(&self, [from, to]: [usize; 2], network: Option<&str>) -> Option<[IpAddr; 2]> {
        self.addresses_of(from, network).find_map(|local| {
            let mut theirs = self.addresses_of(to, network);
            let remote = theirs.find(|remote| self.is_way(local, remote));
            Some([local.ip, remote?.ip])
        })
    }

    /// Whether an address of the first host in this network, and any address of the second, can reach each other.
    pub fn has_way(&self, [from, to]: [usize; 2], network: &str) -> bool {
        let mut own = self.addresses_of(from, Some(network));
        own.any(|local| self.addresses_of(to, None).any(|remote| self.is_way(local, remote)))
    }

    /// Whether packets can go from one address to another over the interfaces of both.
    fn is_way(&self, local: &HostAddress, remote: &HostAddress) -> bool {
        let Some(routes) = &self.routes else { return local.id == remote.id };
        let is_way = |from, to| routes.way(from, to).is_some_and(|way| way.from_own_interface);
        is_way(local.ip, remote.ip) && is_way(remote.ip, local.ip)
    }
}

/// The hosts of pairs, a before b. Path numbers are per pair.
fn hosts_of_pairs(pairs: &[Disjoint]) -> Vec<WiredHost> {
    let mut network = 0;
    let mut hosts = Vec::with_capacity(2 * pairs.len());
    for pair in pairs {
        let (mut a, mut b) = (Vec::new(), Vec::new());
        for path in &pair.paths {
            network += 1;
            for (ip, all) in [(path.a_address, &mut a), (path.b_address, &mut b)] {
                let (name, id) = (path.name.clone(), NetworkId(network));
                all.push(HostAddress { ip, network: name.clone(), id, link: name });
            }
        }
        hosts.push(WiredHost { node: pair.a, addresses: a });
        hosts.push(WiredHost { node: pair.b, addresses: b });
    }
    hosts
}

/// The bottlenecks of paths or routes.
fn bottlenecks(paths: &[WirePath], links: impl Iterator<Item = LinkId>) -> Vec<Bottleneck> {
    let named = |(path, link): (&WirePath, LinkId)| Bottleneck {
        name: path.name.clone(),
        link,
        ends: ["a", "b"].map(str::to_owned),
    };
    paths.iter().zip(links).map(named).collect()
}

/// Adds the network of a scenario. Random properties depend on the seed.
pub(crate) fn wire(
    scenario: &Scenario,
    seed: u64,
    builder: &mut NetworkBuilder,
) -> Result<Wired, BuildError> {
    let drawn = with_drawn_traces(scenario, seed);
    let scenario = drawn.as_ref().unwrap_or(scenario);
    match &scenario.network {
        Network::Disjoint(plan) => {
            let paths: Vec<PathConfig> =
                plan.paths.iter().map(|path| self::path(path, scenario)).collect();
            let plan = DisjointPaths { ip: plan.ip, paths };
            let made = plan.add_to(builder)?;
            let links = made.paths.iter().map(|path| path.bottleneck);
            Ok(Wired {
                bottlenecks: bottlenecks(scenario.network.paths(), links),
                hosts: hosts_of_pairs(std::slice::from_ref(&made)),
                pairs: vec![made],
                oracles: vec![Oracle::new(plan.paths)],
                routes: None,
            })
        }
        Network::Shared(plan) => wire_shared(plan, scenario, builder),
        Network::Star(plan) => named::wire_star(plan, scenario, builder),
        Network::Dumbbell(plan) => named::wire_dumbbell(plan, scenario, seed, builder),
        Network::Graph(plan) => named::wire_graph(plan, scenario, builder),
    }
}

fn wire_shared(
    plan: &SharedNetwork,
    scenario: &Scenario,
    builder: &mut NetworkBuilder,
) -> Result<Wired, BuildError> {
    let route_of = |path: &PairPath| plan.routes.iter().position(|route| route.name == path.route);
    let mut oracles = Vec::new();
    let mut pairs = Vec::new();
    for pair in &plan.pairs {
        let whole: Vec<PathConfig> = pair
            .paths
            .iter()
            .filter_map(|path| {
                Some(self::path(&path.over(&plan.routes[route_of(path)?]), scenario))
            })
            .collect();
        let paths = pair.paths.iter().zip(&whole).map(|(path, whole)| SharedPath {
            name: path.name.clone(),
            // Building the network fails for a missing route.
            route: route_of(path).unwrap_or(usize::MAX),
            access: whole.access.clone().unwrap_or_else(|| whole.bottleneck.clone()),
        });
        pairs.push(HostPair { name: pair.name.clone(), paths: paths.collect() });
        oracles.push(Oracle::new(whole));
    }
    let routes = plan.routes.iter().map(|route| self::path(route, scenario)).collect();
    let made = SharedRoutes { ip: plan.ip, routes, pairs }.add_to(builder)?;
    Ok(Wired {
        bottlenecks: bottlenecks(&plan.routes, made.bottlenecks.into_iter()),
        hosts: hosts_of_pairs(&made.pairs),
        pairs: made.pairs,
        oracles,
        routes: None,
    })
}

/// The loss rates of the network on each path over time.
#[derive(Debug)]
pub(crate) struct Oracle {
    paths: Vec<PathConfig>,
    /// Times at which loss rates change, in order.
    changes: Vec<Instant>,
    told: usize,
}

impl Oracle {
    pub fn new(paths: Vec<PathConfig>) -> Self {
        let links = paths.iter().flat_map(links);
        let both = links.flat_map(|link| [&link.forward, &link.backward]);
        let steps = both.flat_map(|channel| &channel.steps);
        let mut changes: Vec<Instant> =
            steps.filter(|step| step.uniform_loss.is_some()).map(|step| step.at).collect();
        changes.sort_unstable();
        Self { paths, changes, told: 0 }
    }

    /// The paths with all their impairments.
    pub fn paths(&self) -> &[PathConfig] {
        &self.paths
    }

    /// Loss rates of the paths at `now`, for packets of `bytes`.
    pub fn losses(
        &self,
        direction: Direction,
        bytes: u32,
        now: Instant,
    ) -> impl Iterator<Item = f64> + '_ {
        self.paths.iter().map(move |path| loss_rate(path, direction, bytes, now))
    }

    /// When the loss rates change next.
    pub fn next_change(&self) -> Instant {
        self.changes.get(self.told).copied().unwrap_or(Instant::FAR_FUTURE)
    }

    /// Whether loss rates have changed since the last call.
    pub fn has_changed(&mut self, now: Instant) -> bool {
        let told = self.changes.partition_point(|change| *change <= now);
        std::mem::replace(&mut self.told, told) < told
    }
}

/// Whether packets must travel as bytes, because the scenario damages parts that structures cannot represent.
pub(crate) fn needs_bytes(scenario: &Scenario) -> bool {
    let paths = scenario.network.paths().iter().flat_map(WirePath::links);
    let named = scenario.network.named_links();
    paths.chain(named.into_iter().map(|(_, link)| link)).any(Link::needs_bytes)
}

/// The long-run loss rate of a path in one direction, for packets of `bytes`: all impairments of its links except
/// queues and outages, with the steps up to `now`.
pub(crate) fn loss_rate(
    config: &PathConfig,
    direction: Direction,
    bytes: u32,
    now: Instant,
) -> f64 {
    let arrive = |link: &Duplex| {
        let channel = side(link, direction);
        let steps = channel.steps.iter().filter(|step| step.at <= now);
        let stepped = steps.filter_map(|step| step.uniform_loss).next_back();
        let uniform_loss = stepped.unwrap_or(channel.uniform_loss);
        1.0 - ChannelConfig { uniform_loss, ..channel.clone() }.mean_loss(bytes)
    };
    1.0 - links(config).map(arrive).product::<f64>()
}

/// The links of a path except access links, from host a to host b.
pub(crate) fn links(config: &PathConfig) -> impl Iterator<Item = &Duplex> {
    config.before.iter().chain([&config.bottleneck]).chain(&config.after)
}

fn side(link: &Duplex, direction: Direction) -> &ChannelConfig {
    match direction {
        Direction::Forward => &link.forward,
        Direction::Backward => &link.backward,
    }
}

fn duplex(link: &Link, round_trip: Duration) -> Duplex {
    Duplex {
        forward: link.channel(Direction::Forward, round_trip),
        backward: link.channel(Direction::Backward, round_trip),
    }
}

/// A link with its faults and steps.
fn changing(link: &Link, name: &str, round_trip: Duration, scenario: &Scenario) -> Duplex {
    let Duplex { forward, backward } = duplex(link, round_trip);
    let with = |channel, way| ChannelConfig {
        outages: outages(name, way, scenario),
        steps: steps(name, way, scenario),
        ..channel
    };
    Duplex { forward: with(forward, Way::Forward), backward: with(backward, Way::Backward) }
}

/// The outages of one direction of a path, in order of time.
fn outages(path: &str, direction: Way, scenario: &Scenario) -> Vec<Outage> {
    let end = Instant::ZERO + scenario.run.duration;
    let of_this = |fault: &&Fault| fault.path() == path && fault.way().meets(direction);
    let faults = scenario.faults.iter().filter(of_this);
    let mut outages: Vec<Outage> = faults.flat_map(|fault| fault.outages(end)).collect();
    outages.sort_by_key(|outage| outage.from);
    outages
}

/// The steps of one direction of a path, in order of time.
fn steps(path: &str, direction: Way, scenario: &Scenario) -> Vec<Step> {
    let mut steps: Vec<Step> = scenario
        .steps
        .iter()
        .filter(|step| step.path == path && step.way.meets(direction))
        .map(|step| Step {
            at: step.at,
            rate: step.rate,
            delay: step.delay,
            uniform_loss: step.loss,
            mtu: step.mtu,
        })
        .collect();
    steps.sort_by_key(|step| step.at);
    steps
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn addresses_of_hosts_are_found_by_name_of_network() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/shared-bottleneck.toml");
        let scenario = Scenario::read(Path::new(file), &[""; 0]).unwrap();
        let network = wire(&scenario, 1, &mut NetworkBuilder::new()).unwrap();
        let ends = scenario.traffic.iter().map(|flow| flow.ends.hosts).collect::<Vec<_>>();
        assert_eq!(ends, [[0, 1], [2, 3]]);
        let ip = |text: &str| -> IpAddr { text.parse().unwrap() };
        let found = |hosts, name| network.between(hosts, name);
        assert_eq!(found([0, 1], None), Some([ip("10.0.1.1"), ip("10.0.1.2")]));
        assert_eq!(found([1, 0], Some("path 2")), Some([ip("10.0.2.2"), ip("10.0.2.1")]));
        assert_eq!(found([2, 3], Some("path 1")), Some([ip("10.0.3.1"), ip("10.0.3.2")]));
        assert_eq!(found([2, 3], Some("path 2")), None);
        assert_eq!(found([0, 3], None), None, "they share no network");
        let nodes: Vec<NodeId> = network.hosts.iter().map(|host| host.node).collect();
        assert_eq!(nodes[..2], [network.pairs[0].a, network.pairs[0].b]);
    }
}
