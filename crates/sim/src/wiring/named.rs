//! Networks with named hosts: how they are built, and the paths between their hosts.

use std::net::IpAddr;

use polypath_netsim::topology::{
    self, Disjoint, DisjointPath, DumbbellConfig, Dumbbells, Duplex, Graph, GraphAddress,
    PathConfig, Star,
};
use polypath_netsim::{
    BuildError, ChannelConfig, ChannelId, Direction, NetworkBuilder, NetworkId, Routes, Streams,
    Way,
};
use polypath_units::{BitRate, Duration};

use super::{Bottleneck, HostAddress, Oracle, Wired, WiredHost, changing};
use crate::scenario::{
    DumbbellNetwork, DumbbellPath, GraphNetwork, Pair, Scenario, StarNetwork, StarPlan,
};

/// The hosts of a network, and the links in results.
type Made = (Vec<WiredHost>, Vec<Bottleneck>);

pub(super) fn wire_star(
    plan: &StarNetwork,
    scenario: &Scenario,
    builder: &mut NetworkBuilder,
) -> Result<Wired, BuildError> {
    let networks = plan.networks.iter().map(|network| topology::StarNetwork {
        name: network.name.clone(),
        links: plan
            .hosts
            .iter()
            .map(|host| {
                let link = network.link_of(host);
                let name = format!("{}/{host}", network.name);
                changing(link, &name, StarPlan::round_trip(link), scenario)
            })
            .collect(),
    });
    let networks = networks.collect();
    let graph = Star { ip: plan.ip, hosts: plan.hosts.clone(), networks }.graph();
    let name = |own: &GraphAddress| plan.networks[own.network.0 as usize - 1].name.clone();
    let made = add_graph(&graph, |own| [name(own), name(own)], builder)?;
    finish(made, scenario, builder)
}

pub(super) fn wire_graph(
    plan: &GraphNetwork,
    scenario: &Scenario,
    builder: &mut NetworkBuilder,
) -> Result<Wired, BuildError> {
    builder.set_metric(plan.metric);
    let node = |name: &String| plan.nodes().position(|node| node == name).unwrap_or(usize::MAX);
    let link = |link: &crate::scenario::GraphLink| topology::GraphLink {
        name: link.name.clone(),
        ends: link.ends.each_ref().map(node),
        network: NetworkId(link.network),
        config: changing(&link.link, &link.name, link.link.round_trip(), scenario),
    };
    let graph = Graph {
        ip: plan.ip,
        hosts: plan.hosts.clone(),
        routers: plan.routers.clone(),
        links: plan.links.iter().map(link).collect(),
    };
    let names =
        |own: &GraphAddress| [own.network.0.to_string(), graph.links[own.link].name.clone()];
    let made = add_graph(&graph, names, builder)?;
    finish(made, scenario, builder)
}

/// Adds a graph. `names` returns the names of the network and of the link of an address.
fn add_graph(
    graph: &Graph,
    names: impl Fn(&GraphAddress) -> [String; 2],
    builder: &mut NetworkBuilder,
) -> Result<Made, BuildError> {
    let made = graph.add_to(builder)?;
    let address = |own: &GraphAddress| {
        let [network, link] = names(own);
        HostAddress { ip: own.ip, network, id: own.network, link }
    };
    let hosts = made
        .nodes
        .iter()
        .zip(&made.addresses)
        .map(|(node, own)| WiredHost { node: *node, addresses: own.iter().map(address).collect() });
    let names: Vec<&String> = graph.hosts.iter().chain(&graph.routers).collect();
    let bottlenecks = graph.links.iter().zip(&made.links).map(|(config, link)| Bottleneck {
        name: config.name.clone(),
        link: *link,
        ends: config.ends.map(|node| names[node].clone()),
    });
    Ok((hosts.collect(), bottlenecks.collect()))
}

pub(super) fn wire_dumbbell(
    plan: &DumbbellNetwork,
    scenario: &Scenario,
    seed: u64,
    builder: &mut NetworkBuilder,
) -> Result<Wired, BuildError> {
    let streams = Streams::new(seed);
    let dumbbells = plan.paths.iter().map(|path| dumbbell(path, scenario, &streams)).collect();
    let made = Dumbbells { ip: plan.ip, dumbbells }.add_to(builder)?;
    let address = |ip: IpAddr, path: usize, link: String| {
        let network = plan.paths[path].name.clone();
        HostAddress { ip, network, id: NetworkId(path as u32 + 1), link }
    };
    let main = made.multihomed;
    let of_main = |side: usize| {
        let paths = main.paths.iter().enumerate();
        paths.map(move |(index, path)| {
            let ip = [path.a_address, path.b_address][side];
            address(ip, index, path.name.clone())
        })
    };
    let mut hosts = vec![
        WiredHost { node: main.a, addresses: of_main(0).collect() },
        WiredHost { node: main.b, addresses: of_main(1).collect() },
    ];
    for (path, pairs) in made.cross.iter().enumerate() {
        for pair in pairs {
            hosts.extend(pair.hosts.iter().zip(pair.addresses).map(|(node, ip)| WiredHost {
                node: *node,
                addresses: vec![address(ip, path, plan.paths[path].name.clone())],
            }));
        }
    }
    let links = main.paths.iter().map(|path| path.bottleneck);
    let bottlenecks = plan.paths.iter().zip(links).map(|(path, link)| Bottleneck {
        name: path.name.clone(),
        link,
        ends: ["a", "b"].map(str::to_owned),
    });
    let bottlenecks = bottlenecks.collect();
    finish((hosts, bottlenecks), scenario, builder)
}

/// A dumbbell for one run.
fn dumbbell(path: &DumbbellPath, scenario: &Scenario, streams: &Streams) -> DumbbellConfig {
    let round_trip = path.round_trip();
    let access = Duplex::from(path.access.channel(round_trip));
    let pairs = 1..=path.cross.map_or(0, |cross| cross.pairs);
    let edge = |pair: u8, side: &str| {
        let cross = path.cross?;
        let delay = topology::draw_delay(&path.name, pair, side, cross.delays(), streams);
        Some(Duplex::from(cross.link(delay).channel(round_trip)))
    };
    DumbbellConfig {
        name: path.name.clone(),
        core: changing(&path.bottleneck, &path.name, round_trip, scenario),
        access: [access.clone(), access],
        cross: pairs.filter_map(|pair| Some([edge(pair, "a")?, edge(pair, "b")?])).collect(),
    }
}

/// Finds the paths of all pairs.
fn finish(
    (hosts, bottlenecks): Made,
    scenario: &Scenario,
    builder: &NetworkBuilder,
) -> Result<Wired, BuildError> {
    let routes = builder.routes()?;
    let (mut pairs, mut oracles) = (Vec::new(), Vec::new());
    for pair in &scenario.pairs {
        let (paths, configs) = paths(pair, &hosts, &routes, builder);
        pairs.push(paths);
        oracles.push(Oracle::new(configs));
    }
    Ok(Wired { hosts, pairs, bottlenecks, oracles, routes: Some(routes) })
}

/// The paths between the hosts of a pair, with their impairments.
fn paths(
    pair: &Pair,
    hosts: &[WiredHost],
    routes: &Routes,
    builder: &NetworkBuilder,
) -> (Disjoint, Vec<PathConfig>) {
    let [a, b] = pair.hosts.map(|host| &hosts[host]);
    let found = matching(&a.addresses, &b.addresses, routes);
    let names = names(&found);
    let (mut paths, mut configs) = (Vec::new(), Vec::new());
    for (Found { ends: [a, b], ways: [there, back] }, name) in found.iter().zip(names) {
        let links: Vec<_> = there.channels.iter().map(|channel| channel.link()).collect();
        let rate = |channel: &&ChannelId| channel_config(**channel, builder).map(|c| c.rate);
        let slowest = there.channels.iter().min_by_key(rate).map(|channel| channel.link());
        paths.push(DisjointPath {
            name: name.clone(),
            a_address: a.ip,
            b_address: b.ip,
            bottleneck: slowest.unwrap_or(links[0]),
            links,
        });
        configs.push(path_config(name, there, back, builder));
    }
    (Disjoint { a: a.node, b: b.node, paths }, configs)
}

/// Two addresses, and the routes in both directions.
struct Found<'a> {
    ends: [&'a HostAddress; 2],
    ways: [Way; 2],
}

/// Pairs addresses of two hosts into paths. Each address is paired with one that it can reach, and be reached from,
/// over its own interface. Unused addresses are paired first, so that pairing by index finds the same paths; the
/// remaining addresses are then paired with any.
fn matching<'a>(a: &'a [HostAddress], b: &'a [HostAddress], routes: &Routes) -> Vec<Found<'a>> {
    let [a, b] = [a, b].map(|own| {
        let mut own: Vec<&HostAddress> = own.iter().collect();
        own.sort_by_key(|address| address.id);
        own
    });
    let between = |local: &'a HostAddress, remote: &'a HostAddress| {
        let there = routes.way(local.ip, remote.ip).filter(|way| way.from_own_interface)?;
        let back = routes.way(remote.ip, local.ip).filter(|way| way.from_own_interface)?;
        Some(Found { ends: [local, remote], ways: [there, back] })
    };
    let mut found: Vec<Found<'a>> = Vec::new();
    let is_free = |found: &[Found<'_>], address: &HostAddress| {
        !found.iter().any(|path| path.ends.iter().any(|end| end.ip == address.ip))
    };
    for local in &a {
        let mut free = b.iter().filter(|remote| is_free(&found, remote));
        let path = free.find_map(|remote| between(local, remote));
        found.extend(path);
    }
    for local in a.iter().filter(|local| is_free(&found, local)).copied().collect::<Vec<_>>() {
        found.extend(b.iter().rev().find_map(|remote| between(local, remote)));
    }
    for remote in b.iter().filter(|remote| is_free(&found, remote)).copied().collect::<Vec<_>>() {
        found.extend(a.iter().rev().find_map(|local| between(local, remote)));
    }
    found
}

/// Names of paths: those of their networks if these differ, else of the links at one or both ends.
fn names(paths: &[Found<'_>]) -> Vec<String> {
    let link = |end: usize| move |path: &Found<'_>| path.ends[end].link.clone();
    let both = |path: &Found<'_>| match path.ends.map(|end| end.link.as_str()) {
        [one, other] if one == other => one.to_owned(),
        [one, other] => format!("{one} to {other}"),
    };
    let choices = [paths.iter().map(link(0)).collect(), paths.iter().map(link(1)).collect()];
    let differ = |names: &Vec<String>| {
        names.iter().enumerate().all(|(index, name)| !names[..index].contains(name))
    };
    let named = choices.into_iter().find(differ);
    named.unwrap_or_else(|| paths.iter().map(both).collect())
}

fn channel_config(channel: ChannelId, builder: &NetworkBuilder) -> Option<&ChannelConfig> {
    let config = builder.link(channel.link())?;
    Some(match channel.direction() {
        Direction::Forward => &config.forward,
        Direction::Backward => &config.backward,
    })
}

/// The impairments of the links of a path. If the return route differs, a link that only one direction uses affects
/// only that direction.
fn path_config(name: String, there: &Way, back: &Way, builder: &NetworkBuilder) -> PathConfig {
    let nothing = || ChannelConfig::new(BitRate::from_gbit(1_000_000), Duration::ZERO);
    let config = |channel: &ChannelId| channel_config(*channel, builder).cloned();
    let there = || there.channels.iter().filter_map(config);
    let back: Vec<ChannelConfig> = back.channels.iter().rev().filter_map(config).collect();
    let count = there().count().max(back.len());
    let mut there = there();
    let mut links: Vec<Duplex> = (0..count)
        .map(|index| Duplex {
            forward: there.next().unwrap_or_else(nothing),
            backward: back.get(index).cloned().unwrap_or_else(nothing),
        })
        .collect();
    let slowest = (0..count).min_by_key(|index| links[*index].forward.rate).unwrap_or(0);
    let after = links.split_off((slowest + 1).min(links.len()));
    let bottleneck = links.pop().unwrap_or_else(|| nothing().into());
    PathConfig { name, bottleneck, access: None, before: links, after }
}
