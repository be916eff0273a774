//! Packets through small networks, against times worked out by hand.

mod support;

use polypath_netsim::impair::Outage;
use polypath_netsim::topology::{
    DisjointPath, HostPair, IpVersion, PathConfig, SharedPath, SharedRoutes,
};
use polypath_netsim::{Direction, Event, NetworkBuilder, NoObserver, SendError, World};
use polypath_units::{ByteCount, Instant};
use support::{Datagram, arrivals, at, channel, disjoint};

#[test]
fn a_direct_link_delays_by_transmission_and_propagation() {
    let (mut world, net) = disjoint(vec![PathConfig::direct("p", channel(100, 10))], 1);
    let path = &net.paths[0];
    world.send(net.a, path.a_address, path.b_address, Datagram::in_packet_of(1_500, 7)).unwrap();
    let [(time, arrival)] = &arrivals(&mut world)[..] else { panic!("one packet arrives") };
    assert_eq!(*time, Instant::from_nanos(10_120_000));
    assert_eq!((arrival.node, arrival.iface.index(), arrival.sent), (net.b, 0, Instant::ZERO));
    assert_eq!((arrival.from, arrival.to), (path.a_address, path.b_address));
    assert_eq!(arrival.frame, Datagram::in_packet_of(1_500, 7));
}

#[test]
fn framing_counts_on_the_wire() {
    let mut config = channel(100, 0);
    config.framing = ByteCount::from_bytes(7);
    let (mut world, net) = disjoint(vec![PathConfig::direct("p", config)], 1);
    for number in 0..3 {
        let path = &net.paths[0];
        world
            .send(net.a, path.a_address, path.b_address, Datagram::in_packet_of(1_500, number))
            .unwrap();
    }
    let times: Vec<u64> = arrivals(&mut world).iter().map(|(time, _)| time.as_nanos()).collect();
    assert_eq!(times, [120_560, 241_120, 361_680]);
}

#[test]
fn routers_store_and_forward() {
    let (mut world, net) =
        disjoint(vec![PathConfig::routed("p", channel(1_000, 10), channel(10, 25))], 1);
    let path = &net.paths[0];
    for number in 0..2 {
        world
            .send(net.a, path.a_address, path.b_address, Datagram::in_packet_of(1_500, number))
            .unwrap();
    }
    let times: Vec<u64> =
        arrivals(&mut world).iter().map(|(time, _)| time.as_nanos() / 1_000).collect();
    // 12 us on each access link, 1.2 ms on the bottleneck, 45 ms of propagation.
    assert_eq!(times, [46_224, 47_424]);
    assert_eq!(world.events(), 6);
}

#[test]
fn packets_take_the_path_of_their_addresses() {
    let paths = vec![
        PathConfig::direct("p", channel(100, 1)),
        PathConfig::routed("q", channel(100, 1), channel(100, 1)),
    ];
    let (mut world, net) = disjoint(paths, 1);
    let send_all = |world: &mut World<Datagram>| {
        for (source, destination) in [(0, 0), (1, 1), (0, 1), (1, 0)] {
            let (from, to) = (net.paths[source].a_address, net.paths[destination].b_address);
            world.send(net.a, from, to, Datagram::in_packet_of(100, 0)).unwrap();
            world.send(net.b, to, from, Datagram::in_packet_of(100, 0)).unwrap();
        }
    };
    send_all(&mut world);
    let seen = arrivals(&mut world);
    assert_eq!(seen.len(), 8);
    for (_, arrival) in seen {
        let address = |path: &DisjointPath| {
            if arrival.node == net.b { path.b_address } else { path.a_address }
        };
        // The destination decides: each packet comes in by the interface that it is addressed to.
        assert_eq!(address(&net.paths[arrival.iface.index()]), arrival.to);
    }
}

#[test]
fn what_cannot_be_sent_is_refused() {
    let (mut world, net) = disjoint(vec![PathConfig::direct("p", channel(100, 10))], 1);
    let path = &net.paths[0];
    let stranger = "192.0.2.1".parse().unwrap();
    let frame = Datagram::in_packet_of(100, 0);
    let mut send = |from, to| world.send(net.a, from, to, frame.clone()).unwrap_err();
    assert_eq!(send(path.b_address, path.a_address), SendError::NotMyAddress(path.b_address));
    assert_eq!(send(stranger, path.b_address), SendError::NotMyAddress(stranger));
    assert_eq!(
        send(path.a_address, stranger),
        SendError::NoRoute { from: path.a_address, to: stranger }
    );
    assert_eq!(
        send(path.a_address, path.a_address),
        SendError::NoRoute { from: path.a_address, to: path.a_address }
    );
    assert!(world.next_event(Instant::FAR_FUTURE).is_none());
}

#[test]
fn timers_and_limits_of_a_run() {
    let (mut world, net) = disjoint(vec![PathConfig::direct("p", channel(100, 10))], 1);
    world.set_timer(net.a, at(50));
    world.set_timer(net.b, at(30));
    world.set_timer(net.b, at(70));
    assert!(world.next_event(at(49)).is_none());
    assert_eq!(world.now(), at(49));
    assert!(matches!(world.next_event(at(50)), Some(Event::Timer { node }) if node == net.a));
    world.set_timer(net.a, Instant::ZERO);
    assert!(matches!(world.next_event(at(50)), Some(Event::Timer { node }) if node == net.a));
    assert_eq!(world.now(), at(50));
    world.set_timer(net.a, at(60));
    world.clear_timer(net.a);
    assert!(matches!(world.next_event(at(100)), Some(Event::Timer { node }) if node == net.b));
    assert_eq!(world.now(), at(70));
    world.set_timer(net.a, at(80));
    world.set_timer(net.a, Instant::FAR_FUTURE);
    assert!(world.next_event(Instant::FAR_FUTURE).is_none());
    assert_eq!(world.now(), at(70), "what was called off does not happen");
}

#[test]
fn a_world_may_run_on_any_thread() {
    fn check<T: Send>(_: &T) {}
    check(&disjoint(vec![PathConfig::direct("p", channel(100, 10))], 1).0);
}

#[test]
fn an_outage_turns_before_all_else_at_its_instant() {
    // The packet is at the first router at 10.012 ms, on its way since before the turns were due.
    let then = Instant::from_nanos(10_012_000);
    for (outages, arrives) in [
        (vec![Outage { from: at(5), until: Some(then) }], true),
        (
            vec![Outage { from: at(2), until: Some(at(3)) }, Outage { from: then, until: None }],
            false,
        ),
    ] {
        let mut bottleneck = channel(10, 25);
        bottleneck.outages = outages;
        let (mut world, net) =
            disjoint(vec![PathConfig::routed("p", channel(1_000, 10), bottleneck)], 1);
        let path = &net.paths[0];
        let packet = Datagram::in_packet_of(1_500, 0);
        world.send(net.a, path.a_address, path.b_address, packet).unwrap();
        assert_eq!(arrivals(&mut world).len(), usize::from(arrives));
    }
}

#[test]
fn pairs_share_a_route_and_keep_their_other_paths_to_themselves() {
    let path = |name: &str, route| SharedPath {
        name: name.into(),
        route,
        access: channel(1_000, 0).into(),
    };
    let pair = |name: &str, paths| HostPair { name: name.into(), paths };
    let plan = SharedRoutes {
        ip: IpVersion::V6,
        routes: vec![
            PathConfig::direct("core", channel(10, 5)),
            PathConfig::direct("side", channel(10, 1)),
        ],
        pairs: vec![
            pair("two", vec![path("one", 0), path("other", 1)]),
            pair("single", vec![path("only", 0)]),
        ],
    };
    let mut builder = NetworkBuilder::new();
    let net = plan.add_to(&mut builder).unwrap();
    let mut world: World<Datagram> = builder.build(1, NoObserver).unwrap();
    let [two, single] = &net.pairs[..] else { panic!("two pairs") };
    // Every path, and from each address of the first pair to the other path's.
    let sends = [(two, 0, 0), (two, 1, 1), (two, 0, 1), (two, 1, 0), (single, 0, 0)];
    for (pair, from, to) in sends {
        let (from, to) = (pair.paths[from].a_address, pair.paths[to].b_address);
        world.send(pair.a, from, to, Datagram::in_packet_of(1_000, 0)).unwrap();
    }
    // Pairs do not reach each other.
    let (from, to) = (two.paths[0].a_address, single.paths[0].b_address);
    let stranger = world.send(two.a, from, to, Datagram::in_packet_of(1_000, 0));
    assert_eq!(stranger, Err(SendError::NoRoute { from, to }));
    assert_eq!(arrivals(&mut world).len(), 5);
    let carried = |world: &mut World<Datagram>, route: usize| {
        world.counters(net.bottlenecks[route].channel(Direction::Forward)).delivered.packets
    };
    // The destination decides on the way.
    assert_eq!((carried(&mut world, 0), carried(&mut world, 1)), (3, 2));
}
