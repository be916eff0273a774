//! The network of a scenario for drawings: nodes, links and the routes of its paths.

use polypath_netsim::queue_discipline::Limit;
use polypath_netsim::{BuildError, ChannelConfig, LinkId, NetworkBuilder, NodeId, QueueConfig};

use polypath_units::{ByteCount, Duration};

use crate::scenario::{HostRef, Network, Scenario};
use crate::wiring::{self, Wired};

/// Nodes, links and routes of a network, as in a run with the scenario's own seed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NetworkMap {
    /// The nodes.
    pub nodes: Vec<MapNode>,
    /// The links between them.
    pub links: Vec<MapLink>,
    /// The routes of all paths of all associations.
    pub routes: Vec<MapRoute>,
}

/// A node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MapNode {
    /// Its name.
    pub name: String,
    /// Whether it is a host; else it is a router.
    pub is_host: bool,
    /// Its side of the picture, if it has one.
    pub side: Option<MapSide>,
    /// Its addresses.
    pub addresses: Vec<String>,
}

/// A side of the picture.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MapSide {
    /// Where routes begin.
    Left,
    /// Where they end.
    Right,
}

/// A link.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MapLink {
    /// Its name.
    pub name: String,
    /// Positions of its ends among the nodes.
    pub ends: [usize; 2],
    /// Number of the network that it belongs to; 0 belongs to all.
    pub network: u32,
    /// Description: one line if both directions are equal, else one per direction, from the first end to the second and
    /// back.
    pub directions: Vec<String>,
}

/// The route of a path of an association, in one direction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MapRoute {
    /// Name of the path, and of its pair where there are several.
    pub name: String,
    /// The addresses that it connects.
    pub addresses: [String; 2],
    /// Its nodes.
    pub nodes: Vec<usize>,
    /// Its links.
    pub links: Vec<usize>,
    /// Whether it is a return route over other links than the forward route.
    pub is_way_back: bool,
}

impl NetworkMap {
    /// The network of a scenario.
    ///
    /// # Errors
    /// It cannot be built; that of a scenario read from a document can.
    pub fn of(scenario: &Scenario) -> Result<Self, BuildError> {
        let mut builder = NetworkBuilder::new();
        let wired = wiring::wire(scenario, scenario.run.seed, &mut builder)?;
        let sides = sides(scenario, &wired);
        let addresses = |node: usize| {
            let mut hosts = wired.hosts.iter();
            let host = hosts.find(|host| host.node.index() == node);
            let own = host.map_or(&[][..], |host| &host.addresses);
            own.iter().map(|address| address.ip.to_string()).collect()
        };
        let hosts = scenario.network.hosts();
        let own_name = |node: usize| {
            let host = wired.hosts.iter().position(|host| host.node.index() == node)?;
            let HostRef { pair, name } = hosts.get(host)?;
            Some(if pair.is_empty() { name.to_string() } else { format!("{pair}/{name}") })
        };
        let nodes = builder.nodes().enumerate().map(|(index, (name, is_host))| MapNode {
            name: own_name(index).unwrap_or_else(|| name.to_owned()),
            is_host,
            side: sides.iter().find(|(node, _)| node.index() == index).map(|(_, side)| *side),
            addresses: addresses(index),
        });
        let links = builder.links().map(|(config, ends)| MapLink {
            name: config.name.clone(),
            ends: ends.map(NodeId::index),
            network: config.network.0,
            directions: directions(&config.forward, &config.backward),
        });
        let mut map = Self { nodes: nodes.collect(), links: links.collect(), routes: Vec::new() };
        map.add_routes(scenario, &wired);
        Ok(map)
    }

    fn add_routes(&mut self, scenario: &Scenario, wired: &Wired) {
        for (plan, pair) in scenario.pairs.iter().zip(&wired.pairs) {
            for path in &pair.paths {
                let name = match &plan.name[..] {
                    "" => path.name.clone(),
                    pair => format!("{pair}: {}", path.name),
                };
                let ends = [path.a_address, path.b_address].map(|address| address.to_string());
                let links: Vec<usize> = path.links.iter().map(|link| link.index()).collect();
                self.add_route(name.clone(), ends.clone(), pair.a, &links, false);
                let back = wired.routes.as_ref();
                let back = back.and_then(|routes| routes.way(path.b_address, path.a_address));
                let back = back.map(|way| -> Vec<usize> {
                    let links = way.channels.iter().map(|channel| channel.link());
                    links.map(LinkId::index).collect()
                });
                if let Some(back) = back.filter(|back| !back.iter().rev().eq(&links)) {
                    let [a, b] = ends;
                    self.add_route(format!("{name}, back"), [b, a], pair.b, &back, true);
                }
            }
        }
    }

    fn add_route(
        &mut self,
        name: String,
        addresses: [String; 2],
        from: NodeId,
        links: &[usize],
        is_way_back: bool,
    ) {
        let mut nodes = vec![from.index()];
        for link in links {
            let [first, second] = self.links[*link].ends;
            let here = nodes[nodes.len() - 1];
            nodes.push(if here == first { second } else { first });
        }
        self.routes.push(MapRoute { name, addresses, nodes, links: links.to_vec(), is_way_back });
    }
}

/// Hosts with a side: host a of a pair is on the left, host b on the right.
fn sides(scenario: &Scenario, wired: &Wired) -> Vec<(NodeId, MapSide)> {
    let side = |is_left: bool| if is_left { MapSide::Left } else { MapSide::Right };
    let nodes = wired.hosts.iter().map(|host| host.node);
    match &scenario.network {
        Network::Disjoint(_) | Network::Shared(_) | Network::Dumbbell(_) => {
            nodes.enumerate().map(|(index, node)| (node, side(index % 2 == 0))).collect()
        }
        Network::Star(star) => {
            let left = star.hosts.len().div_ceil(2);
            nodes.enumerate().map(|(index, node)| (node, side(index < left))).collect()
        }
        Network::Graph(_) => {
            let is_a = |node| wired.pairs.iter().any(|pair| pair.a == node);
            let is_b = |node| wired.pairs.iter().any(|pair| pair.b == node);
            let ends = nodes.filter(|node| is_a(*node) || is_b(*node));
            ends.map(|node| (node, side(is_a(node)))).collect()
        }
    }
}

fn directions(forward: &ChannelConfig, backward: &ChannelConfig) -> Vec<String> {
    let (there, back) = (describe(forward), describe(backward));
    if there == back { vec![there] } else { vec![there, back] }
}

/// A time, rounded to a hundredth of a millisecond.
fn about_time(time: Duration) -> String {
    const UNIT: u64 = 10_000;
    match time.as_nanos() {
        0 => "no delay".into(),
        nanos if nanos % UNIT != 0 && nanos > 10 * UNIT => {
            Duration::from_nanos((nanos + UNIT / 2) / UNIT * UNIT).to_string()
        }
        _ => time.to_string(),
    }
}

/// A size, rounded to a kilobyte.
fn about_bytes(bytes: ByteCount) -> String {
    const KILO: u64 = 1_000;
    match bytes.as_bytes() {
        count if count > 10 * KILO => {
            ByteCount::from_bytes((count + KILO / 2) / KILO * KILO).to_string()
        }
        _ => bytes.to_string(),
    }
}

/// Rate, delay, queue and impairments.
fn describe(channel: &ChannelConfig) -> String {
    let mut words = vec![
        channel.rate.to_string(),
        about_time(channel.delay),
        match channel.queue {
            QueueConfig::DropTail(Limit::Packets(packets)) => format!("{packets} pkts"),
            QueueConfig::DropTail(Limit::Bytes(bytes)) => about_bytes(bytes),
            QueueConfig::Red(_) => "RED".into(),
            QueueConfig::Codel(_) => "CoDel".into(),
            QueueConfig::FqCodel(_) => "FQ-CoDel".into(),
        },
    ];
    if !channel.uniform_loss.is_zero() {
        words.push(format!("loss {}", channel.uniform_loss));
    }
    let further = [
        (channel.gilbert_elliott.is_some(), "burst loss"),
        (channel.bit_errors.is_some(), "bit errors"),
        (channel.jitter.is_some(), "jitter"),
        (channel.reordering.is_some(), "reordering"),
        (!channel.duplication.is_zero(), "duplication"),
        (channel.rate_trace.is_some(), "trace"),
        (!channel.outages.is_empty(), "outages"),
        (!channel.steps.is_empty(), "steps"),
    ];
    words.extend(further.into_iter().filter(|(there, _)| *there).map(|(_, word)| word.into()));
    words.join(", ")
}
