//! Packets through dumbbells side by side.

mod support;

use polypath_netsim::topology::{
    CrossPair, DumbbellConfig, DumbbellNetwork, Dumbbells, Duplex, IpVersion,
};
use polypath_netsim::{Direction, NetworkBuilder, NoObserver, World};
use support::{Datagram, arrivals, channel};

/// Two dumbbells with a core of 10 Mbit/s and 25 ms; last hops of 100 Mbit/s, 10 ms for A and B and others for pairs.
fn network() -> (World<Datagram>, DumbbellNetwork) {
    let edge = |ms: u64| Duplex::from(channel(100, ms));
    let dumbbell = |name: &str, cross| DumbbellConfig {
        name: name.into(),
        core: channel(10, 25).into(),
        access: [edge(10), edge(10)],
        cross,
    };
    let dumbbells = vec![
        dumbbell("one", vec![[edge(5), edge(7)], [edge(20), edge(6)]]),
        dumbbell("other", vec![[edge(8), edge(9)]]),
    ];
    let mut builder = NetworkBuilder::new();
    let made = Dumbbells { ip: IpVersion::V4, dumbbells }.add_to(&mut builder).unwrap();
    (builder.build(1, NoObserver).unwrap(), made)
}

/// Sends a packet of 1500 bytes; when it arrives, in microseconds, 120 us on each last hop and 1200 us on the core are
/// transmission.
fn arrival_us(send: impl Fn(&mut World<Datagram>, &DumbbellNetwork)) -> u64 {
    let (mut world, made) = network();
    send(&mut world, &made);
    let [(time, _)] = &arrivals(&mut world)[..] else { panic!("one packet arrives") };
    time.as_nanos() / 1_000
}

#[test]
fn paths_and_pairs_lead_through_their_core() {
    let through = |way: usize| {
        move |world: &mut World<Datagram>, pair: CrossPair| {
            let (from, to) = (way, 1 - way);
            let packet = Datagram::in_packet_of(1_500, 1);
            world.send(pair.hosts[from], pair.addresses[from], pair.addresses[to], packet).unwrap();
        }
    };
    for way in [0, 1] {
        assert_eq!(arrival_us(|world, made| through(way)(world, made.cross[0][0])), 38_440);
        assert_eq!(arrival_us(|world, made| through(way)(world, made.cross[0][1])), 52_440);
        assert_eq!(arrival_us(|world, made| through(way)(world, made.cross[1][0])), 43_440);
        let path = |number: usize| {
            arrival_us(|world, made| {
                let path = &made.multihomed.paths[number];
                let hosts = [made.multihomed.a, made.multihomed.b];
                let addresses = [path.a_address, path.b_address];
                through(way)(world, CrossPair { hosts, addresses });
            })
        };
        assert_eq!([path(0), path(1)], [46_440, 46_440]);
    }
}

#[test]
fn cross_traffic_shares_the_core_of_its_dumbbell_only() {
    let (mut world, made) = network();
    for number in 0..10 {
        for pair in &made.cross[0] {
            let packet = Datagram::in_packet_of(1_500, number);
            world.send(pair.hosts[0], pair.addresses[0], pair.addresses[1], packet).unwrap();
        }
    }
    assert_eq!(arrivals(&mut world).len(), 20);
    let mut sent = |path: usize, direction| {
        let core = made.multihomed.paths[path].bottleneck.channel(direction);
        world.counters(core).delivered.packets
    };
    assert_eq!([sent(0, Direction::Forward), sent(1, Direction::Forward)], [20, 0]);
    assert_eq!(sent(0, Direction::Backward), 0);
}
