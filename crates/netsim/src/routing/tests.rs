use crate::{
    Arrival, BuildError, ChannelConfig, End, Event, Frame, LinkConfig, LinkId, NetworkBuilder,
    NetworkId, NoObserver, NodeId, SendError, TraceHasher, World,
};
use polypath_units::{BitRate, Duration, Instant};
use std::net::IpAddr;

#[derive(Debug, Clone)]
struct Nothing;

impl Frame for Nothing {
    fn wire_len(&self) -> usize {
        0
    }
    fn protocol(&self) -> u8 {
        59
    }
    fn mark_ce(&mut self) {}
    fn damage(&mut self, _bit: u64) {}
    fn trace_fields(&self, _hasher: &mut TraceHasher) {}
    fn write_transport(&self, _from: IpAddr, _to: IpAddr, _out: &mut Vec<u8>) {}
}

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

fn link(name: &str, network: u32) -> LinkConfig {
    let channel = ChannelConfig::new(BitRate::from_mbit(100), Duration::from_millis(1));
    LinkConfig::new(name, channel.clone(), channel).in_network(NetworkId(network))
}

fn build(builder: NetworkBuilder) -> World<Nothing> {
    builder.build(1, NoObserver).unwrap()
}

/// Sends one packet and tells over which links it went and how it arrived.
fn trip(
    world: &mut World<Nothing>,
    from: (NodeId, &str),
    to: &str,
) -> (Vec<LinkId>, Option<Arrival<Nothing>>) {
    let before: Vec<u64> = loads(world);
    world.send(from.0, ip(from.1), ip(to), Nothing).unwrap();
    let arrival = match world.next_event(Instant::FAR_FUTURE) {
        Some(Event::Arrival(arrival)) => Some(arrival),
        _ => None,
    };
    let used = loads(world).into_iter().zip(before).zip(world.links());
    (used.filter(|((after, before), _)| after > before).map(|(_, link)| link).collect(), arrival)
}

fn loads(world: &mut World<Nothing>) -> Vec<u64> {
    use crate::Direction::{Backward, Forward};
    let links: Vec<LinkId> = world.links().collect();
    let mut both = |link: LinkId| {
        [Forward, Backward].map(|d| world.counters(link.channel(d)).offered.packets).iter().sum()
    };
    links.into_iter().map(&mut both).collect()
}

/// Two networks between A and B: a short one of two hops, and a long one of three, that share the router of A.
fn two_networks(core: u32) -> (World<Nothing>, [NodeId; 2], Vec<LinkId>) {
    let mut net = NetworkBuilder::new();
    let (a, b) = (net.add_host("a"), net.add_host("b"));
    let routers = ["shared", "long"].map(|name| net.add_router(name));
    let links = vec![
        net.connect(End::at(a).address(ip("10.1.0.1")), End::at(routers[0]), link("access", core)),
        net.connect(End::at(routers[0]), End::at(b).address(ip("10.1.0.2")), link("short", 1)),
        net.connect(End::at(routers[0]), End::at(routers[1]), link("detour", 2)),
        net.connect(End::at(routers[1]), End::at(b).address(ip("10.2.0.2")), link("long", 2)),
    ];
    (build(net), [a, b], links)
}

#[test]
fn networks_keep_to_their_links() {
    let (mut world, [a, b], links) = two_networks(0);
    let (used, arrival) = trip(&mut world, (a, "10.1.0.1"), "10.1.0.2");
    assert_eq!(used, [links[0], links[1]]);
    assert_eq!(arrival.unwrap().iface.index(), 0);
    // The longer way of its own network is used beside the shorter one of another.
    let (used, arrival) = trip(&mut world, (a, "10.1.0.1"), "10.2.0.2");
    assert_eq!(used, [links[0], links[2], links[3]]);
    assert_eq!(arrival.unwrap().iface.index(), 1);
    let (used, _) = trip(&mut world, (b, "10.2.0.2"), "10.1.0.1");
    assert_eq!(
        used,
        [links[0], links[2], links[3]],
        "A's address is of all networks: the source decides"
    );
}

#[test]
fn a_link_of_another_network_is_no_way() {
    let (mut world, [a, _], _) = two_networks(1);
    let (from, to) = (ip("10.1.0.1"), ip("10.2.0.2"));
    assert_eq!(world.route(a, from, to), None);
    assert_eq!(world.send(a, from, to, Nothing), Err(SendError::NoRoute { from, to }));
}

#[test]
fn uplinks_follow_the_source_address() {
    // A client with two uplinks to a server with one address has two paths, the second a hop longer.
    let mut net = NetworkBuilder::new();
    let (client, server) = (net.add_host("client"), net.add_host("server"));
    let routers = ["near", "middle"].map(|name| net.add_router(name));
    let links = [
        net.connect(End::at(client).address(ip("10.1.0.1")), End::at(routers[0]), link("dsl", 0)),
        net.connect(End::at(client).address(ip("10.2.0.1")), End::at(routers[1]), link("lte", 0)),
        net.connect(End::at(routers[1]), End::at(routers[0]), link("lte core", 0)),
        net.connect(
            End::at(routers[0]),
            End::at(server).address(ip("10.9.0.1")),
            link("server", 0),
        ),
    ];
    let mut world = build(net);
    assert_eq!(trip(&mut world, (client, "10.1.0.1"), "10.9.0.1").0, [links[0], links[3]]);
    assert_eq!(
        trip(&mut world, (client, "10.2.0.1"), "10.9.0.1").0,
        [links[1], links[2], links[3]]
    );
    assert_eq!(
        trip(&mut world, (server, "10.9.0.1"), "10.2.0.1").0,
        [links[1], links[2], links[3]]
    );
}

#[test]
fn parallel_links_of_one_network_stay_apart() {
    let mut net = NetworkBuilder::new();
    let (a, b) = (net.add_host("a"), net.add_host("b"));
    let links = [1, 2].map(|i| {
        let end = |node, host| End::at(node).address(ip(&format!("10.{i}.0.{host}")));
        net.connect(end(a, 1), end(b, 2), link(&format!("link {i}"), 0))
    });
    let mut world = build(net);
    assert_eq!(trip(&mut world, (a, "10.1.0.1"), "10.1.0.2").0, [links[0]]);
    assert_eq!(trip(&mut world, (a, "10.2.0.1"), "10.2.0.2").0, [links[1]]);
    // Where the addresses disagree, the destination decides.
    assert_eq!(trip(&mut world, (a, "10.1.0.1"), "10.2.0.2").0, [links[1]]);
}

#[test]
fn tables_grow_with_the_addresses_of_each_network() {
    // A star of pairs, each a network of its own, beside one address of all networks.
    let mut net = NetworkBuilder::new();
    let hub = net.add_router("hub");
    for pair in 1..=20 {
        for host in [1, 2] {
            let name = format!("{pair}/{host}");
            let end =
                End::at(net.add_host(name.clone())).address(ip(&format!("10.{pair}.0.{host}")));
            net.connect(end, End::at(hub), link(&name, pair));
        }
    }
    let server = End::at(net.add_host("server")).address(ip("10.0.0.1"));
    net.connect(server, End::at(hub), link("server", 0));
    let mut world = build(net);
    let (nodes, networks) = (42, 21);
    assert_eq!(world.routing.next_hop.len(), (40 + networks) * nodes);
    let host = NodeId(7);
    assert_eq!(world.node_name(host), "4/1");
    assert_eq!(trip(&mut world, (host, "10.4.0.1"), "10.4.0.2").0.len(), 2);
    assert_eq!(trip(&mut world, (host, "10.4.0.1"), "10.0.0.1").0.len(), 2);
    assert_eq!(trip(&mut world, (NodeId(41), "10.0.0.1"), "10.4.0.1").0.len(), 2);
    assert_eq!(world.route(host, ip("10.4.0.1"), ip("10.5.0.1")), None);
}

#[test]
fn hosts_do_not_forward() {
    let mut net = NetworkBuilder::new();
    let [a, b, c] = ["a", "b", "c"].map(|name| net.add_host(name));
    net.connect(
        End::at(a).address(ip("10.1.0.1")),
        End::at(b).address(ip("10.1.0.2")),
        link("ab", 0),
    );
    net.connect(
        End::at(b).address(ip("10.2.0.1")),
        End::at(c).address(ip("10.2.0.2")),
        link("bc", 0),
    );
    let world = build(net);
    assert_eq!(world.route(a, ip("10.1.0.1"), ip("10.2.0.2")), None);
    assert!(world.route(a, ip("10.1.0.1"), ip("10.1.0.2")).is_some());
    // B's other address is on a link that only C reaches.
    assert_eq!(world.route(a, ip("10.1.0.1"), ip("10.2.0.1")), None);
}

#[test]
fn a_packet_crosses_64_links_at_most() {
    for (routers, arrives) in [(62, true), (63, true), (64, false)] {
        let mut net = NetworkBuilder::new();
        let (a, b) = (net.add_host("a"), net.add_host("b"));
        let mut end = End::at(a).address(ip("10.0.0.1"));
        for number in 0..routers {
            let router = net.add_router(format!("r{number}"));
            net.connect(end, End::at(router), link(&format!("l{number}"), 0));
            end = End::at(router);
        }
        let last = net.connect(end, End::at(b).address(ip("10.0.0.2")), link("last", 0));
        let mut world = build(net);
        let (used, arrival) = trip(&mut world, (a, "10.0.0.1"), "10.0.0.2");
        assert_eq!(
            (arrival.is_some(), used.contains(&last)),
            (arrives, arrives),
            "{routers} routers"
        );
        let dropped: u64 = world
            .links()
            .collect::<Vec<_>>()
            .into_iter()
            .map(|link| {
                let channel = link.channel(crate::Direction::Forward);
                let counters = world.counters(channel);
                assert_eq!(counters.on_the_way(), 0);
                counters.dropped(crate::DropCause::HopLimit).packets
            })
            .sum();
        assert_eq!(dropped, u64::from(!arrives));
    }
}

#[test]
fn versions_do_not_mix() {
    let mut net = NetworkBuilder::new();
    let (a, b) = (net.add_host("a"), net.add_host("b"));
    let end = |node, host: u8| {
        End::at(node).address(ip(&format!("10.0.0.{host}"))).address(ip(&format!("fd00::{host}")))
    };
    net.connect(end(a, 1), end(b, 2), link("both", 0));
    let mut world = build(net);
    assert!(trip(&mut world, (a, "10.0.0.1"), "10.0.0.2").1.is_some());
    assert_eq!(
        trip(&mut world, (a, "fd00::1"), "fd00::2").1.map(|arrival| arrival.to),
        Some(ip("fd00::2"))
    );
    assert_eq!(world.route(a, ip("10.0.0.1"), ip("fd00::2")), None);
}

#[test]
fn impossible_networks_are_refused() {
    let error = |make: &dyn Fn(&mut NetworkBuilder, [NodeId; 2])| {
        let mut net = NetworkBuilder::new();
        let nodes = ["a", "b"].map(|name| net.add_host(name));
        make(&mut net, nodes);
        net.build::<Nothing, _>(1, NoObserver).unwrap_err().to_string()
    };
    let ends = |[a, b]: [NodeId; 2]| (End::at(a), End::at(b));
    assert_eq!(
        error(&|net, _| {
            net.add_router("a");
        }),
        "two nodes are called `a`: give each its own name"
    );
    let twice = error(&|net, nodes| {
        for _ in 0..2 {
            let (a, b) = ends(nodes);
            net.connect(a, b, link("x", 0));
        }
    });
    assert_eq!(twice, "two links are called `x`: give each its own name");
    let looped = error(&|net, [a, _]| {
        net.connect(End::at(a), End::at(a), link("x", 0));
    });
    assert_eq!(looped, "both ends of link `x` are at node `a`: a link joins two nodes");
    let stranger = error(&|net, [a, _]| {
        net.connect(End::at(a), End::at(NodeId(9)), link("x", 0));
    });
    assert_eq!(stranger, "link `x` ends at a node that is not in this network");
    let address = error(&|net, [a, b]| {
        net.connect(
            End::at(a).address(ip("10.0.0.1")),
            End::at(b).address(ip("10.0.0.1")),
            link("x", 0),
        );
    });
    assert_eq!(
        address,
        "address 10.0.0.1 is given to two interfaces: every interface needs its own"
    );
    let mapped = error(&|net, [a, b]| {
        net.connect(End::at(a).address(ip("::ffff:10.0.0.1")), End::at(b), link("x", 0));
    });
    assert_eq!(mapped, "address ::ffff:10.0.0.1 is an IPv4-mapped one: give it as an IPv4 address");
    let dead = error(&|net, nodes| {
        let (a, b) = ends(nodes);
        let mut config = link("x", 0);
        config.backward.rate = BitRate::ZERO;
        net.connect(a, b, config);
    });
    assert_eq!(dead, "link `x` has a direction with rate zero: to keep it down, give it an outage");
    let outage = error(&|net, nodes| {
        let (a, b) = ends(nodes);
        let mut config = link("x", 0);
        config.forward.outages = vec![crate::impair::Outage {
            from: Instant::from_nanos(5),
            until: Some(Instant::ZERO),
        }];
        net.connect(a, b, config);
    });
    assert_eq!(
        outage,
        "link `x`: the outage from 5 ns ends at 0 s: it has to end later than it starts"
    );
    let none = crate::topology::DisjointPaths { ip: Default::default(), paths: Vec::new() };
    let none = none.add_to(&mut NetworkBuilder::new()).unwrap_err();
    assert_eq!(none, BuildError::Topology("disjoint paths: give 1 to 254 paths, not 0".to_owned()));
}
