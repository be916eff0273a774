//! From the paths of a scenario to those of the network simulator.

use polypath_netsim::impair::{Outage, Step};
use polypath_netsim::topology::{
    Disjoint, DisjointPaths, Duplex, HostPair, PathConfig, SharedPath, SharedRoutes,
};
use polypath_netsim::{BuildError, ChannelConfig, Direction, LinkId, NetworkBuilder};
use polypath_units::{Duration, Instant};

use crate::scenario::{
    Access, Fault, Link, Network, PairPath, Scenario, SharedNetwork, Way, WirePath,
};

/// A path with everything that happens to it.
pub(crate) fn path(path: &WirePath, scenario: &Scenario) -> PathConfig {
    let round_trip = round_trip(path);
    let plain = |links: &[Link]| links.iter().map(|link| duplex(link, round_trip)).collect();
    let access = path.access.map(|access| Duplex::from(access.channel(round_trip)));
    PathConfig {
        name: path.name.clone(),
        access,
        before: plain(&path.before),
        bottleneck: bottleneck(path, round_trip, scenario),
        after: plain(&path.after),
    }
}

/// A network that was made: pairs of hosts, and where the bottlenecks are.
#[derive(Debug)]
pub(crate) struct Wired {
    pub pairs: Vec<Disjoint>,
    /// By path, or by route where paths share them.
    pub bottlenecks: Vec<LinkId>,
    /// By pair.
    pub oracles: Vec<Oracle>,
}

/// Adds the network of a scenario.
pub(crate) fn wire(scenario: &Scenario, builder: &mut NetworkBuilder) -> Result<Wired, BuildError> {
    match &scenario.network {
        Network::Disjoint(plan) => {
            let paths: Vec<PathConfig> =
                plan.paths.iter().map(|path| self::path(path, scenario)).collect();
            let plan = DisjointPaths { ip: plan.ip, paths };
            let made = plan.add_to(builder)?;
            let bottlenecks = made.paths.iter().map(|path| path.bottleneck).collect();
            Ok(Wired { pairs: vec![made], bottlenecks, oracles: vec![Oracle::new(plan.paths)] })
        }
        Network::Shared(plan) => wire_shared(plan, scenario, builder),
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
                Some(self::path(&over(&plan.routes[route_of(path)?], path), scenario))
            })
            .collect();
        let paths = pair.paths.iter().zip(&whole).map(|(path, whole)| SharedPath {
            name: path.name.clone(),
            // A route that is not there is refused when the network is made.
            route: route_of(path).unwrap_or(usize::MAX),
            access: whole.access.clone().unwrap_or_else(|| whole.bottleneck.clone()),
        });
        pairs.push(HostPair { name: pair.name.clone(), paths: paths.collect() });
        oracles.push(Oracle::new(whole));
    }
    let routes = plan.routes.iter().map(|route| self::path(route, scenario)).collect();
    let made = SharedRoutes { ip: plan.ip, routes, pairs }.add_to(builder)?;
    Ok(Wired { pairs: made.pairs, bottlenecks: made.bottlenecks, oracles })
}

/// The whole of a path that leads over a route.
pub(crate) fn over(route: &WirePath, path: &PairPath) -> WirePath {
    WirePath { access: Some(path.access), ..route.clone() }
}

/// What the network loses on each path, as time goes by.
#[derive(Debug)]
pub(crate) struct Oracle {
    paths: Vec<PathConfig>,
    /// When losses change, in order of time.
    changes: Vec<Instant>,
    told: usize,
}

impl Oracle {
    pub fn new(paths: Vec<PathConfig>) -> Self {
        let both =
            paths.iter().flat_map(|path| [&path.bottleneck.forward, &path.bottleneck.backward]);
        let steps = both.flat_map(|channel| &channel.steps);
        let mut changes: Vec<Instant> =
            steps.filter(|step| step.uniform_loss.is_some()).map(|step| step.at).collect();
        changes.sort_unstable();
        Self { paths, changes, told: 0 }
    }

    /// The paths with all that they do to packets.
    pub fn paths(&self) -> &[PathConfig] {
        &self.paths
    }

    /// Loss on the paths at `now`, for packets of `bytes`.
    pub fn losses(
        &self,
        direction: Direction,
        bytes: u32,
        now: Instant,
    ) -> impl Iterator<Item = f64> + '_ {
        self.paths.iter().map(move |path| loss_rate(path, direction, bytes, now))
    }

    /// When to ask again.
    pub fn next_change(&self) -> Instant {
        self.changes.get(self.told).copied().unwrap_or(Instant::FAR_FUTURE)
    }

    /// Whether something has changed by `now` since the last time.
    pub fn has_changed(&mut self, now: Instant) -> bool {
        let told = self.changes.partition_point(|change| *change <= now);
        std::mem::replace(&mut self.told, told) < told
    }
}

/// Whether packets have to travel as bytes, because only bytes can be damaged as the scenario wants it.
pub(crate) fn needs_bytes(scenario: &Scenario) -> bool {
    scenario.network.paths().iter().flat_map(WirePath::links).any(Link::needs_bytes)
}

/// Part of the packets that a path loses in a direction in the long run, by all that its links do to packets of `bytes`
/// but queues and outages, with the steps up to `now`.
pub(crate) fn loss_rate(
    config: &PathConfig,
    direction: Direction,
    bytes: u32,
    now: Instant,
) -> f64 {
    let arrive = |links: &[Duplex]| -> f64 {
        links.iter().map(|link| 1.0 - side(link, direction).mean_loss(bytes)).product()
    };
    let mut bottleneck = side(&config.bottleneck, direction).clone();
    for step in bottleneck.steps.iter().filter(|step| step.at <= now) {
        bottleneck.uniform_loss = step.uniform_loss.unwrap_or(bottleneck.uniform_loss);
    }
    let bottleneck = 1.0 - bottleneck.mean_loss(bytes);
    1.0 - arrive(&config.before) * bottleneck * arrive(&config.after)
}

fn side(link: &Duplex, direction: Direction) -> &ChannelConfig {
    match direction {
        Direction::Forward => &link.forward,
        Direction::Backward => &link.backward,
    }
}

/// Propagation from host a to host b and back.
pub(crate) fn round_trip(path: &WirePath) -> Duration {
    let access = path.access.map_or(Duration::ZERO, |Access { delay, .. }| delay * 4);
    path.links().fold(access, |sum, link| sum + link.round_trip())
}

fn duplex(link: &Link, round_trip: Duration) -> Duplex {
    Duplex {
        forward: link.channel(Direction::Forward, round_trip),
        backward: link.channel(Direction::Backward, round_trip),
    }
}

fn bottleneck(path: &WirePath, round_trip: Duration, scenario: &Scenario) -> Duplex {
    let Duplex { forward, backward } = duplex(&path.bottleneck, round_trip);
    let with = |channel, way| ChannelConfig {
        outages: outages(&path.name, way, scenario),
        steps: steps(&path.name, way, scenario),
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
        })
        .collect();
    steps.sort_by_key(|step| step.at);
    steps
}
