//! The trace hash, the observer and the counters against each other and against what is documented.

mod support;

use std::net::IpAddr;

use polypath_netsim::impair::Outage;
use polypath_netsim::topology::{DisjointPaths, IpVersion, PathConfig};
use polypath_netsim::{
    Direction, DropCause, LinkEvent, LinkEventKind, LinkObserver, NetworkBuilder, NoObserver,
    QueueConfig, TraceHash, World, queue_discipline::Limit,
};
use polypath_units::{Fraction, Instant};
use support::{Datagram, arrivals, at, channel, disjoint, disjoint_observed};
use twox_hash::XxHash64;

/// The records of a trace, built as documented and apart from the code that hashes.
#[derive(Default)]
struct Trace(Vec<u8>);

impl Trace {
    fn packet(&mut self, ns: u64, kind: [u8; 3], ends: (IpAddr, IpAddr), frame: &Datagram) {
        let [direction, kind, cause] = kind;
        let (version, header) = if ends.0.is_ipv4() { (4, 20) } else { (6, 40) };
        self.head(ns, [direction, kind, cause, version]);
        let mut fields = Vec::new();
        for ip in [ends.0, ends.1] {
            match ip {
                IpAddr::V4(ip) => fields.extend(ip.octets().iter().rev()),
                IpAddr::V6(ip) => fields.extend(ip.octets()),
            }
        }
        fields.extend((u32::from(frame.bytes) + header).to_le_bytes());
        fields.extend(frame.number.to_le_bytes());
        fields.extend(frame.bytes.to_le_bytes());
        self.0.extend(XxHash64::oneshot(0, &fields).to_le_bytes());
    }

    fn turn(&mut self, ns: u64, direction: u8, kind: u8) {
        self.head(ns, [direction, kind, 0, 0]);
        self.0.extend([0; 8]);
    }

    fn head(&mut self, ns: u64, codes: [u8; 4]) {
        self.0.extend(ns.to_le_bytes());
        self.0.extend([0; 4]);
        self.0.extend(codes);
    }

    fn hash(&self) -> TraceHash {
        TraceHash(XxHash64::oneshot(0, &self.0))
    }
}

#[test]
fn the_hash_is_over_what_is_documented() {
    let mut config = channel(10, 5);
    config.queue = QueueConfig::DropTail(Limit::Packets(0));
    config.outages = vec![Outage { from: at(20), until: Some(at(30)) }];
    let mut expected = Trace::default();
    let (mut world, net) = disjoint(vec![PathConfig::direct("p", config)], 1);
    let (a, b) = (net.paths[0].a_address, net.paths[0].b_address);
    let frames: Vec<_> = (0..4).map(|number| Datagram::in_packet_of(1_250, number)).collect();
    world.send(net.a, a, b, frames[0].clone()).unwrap();
    world.send(net.a, a, b, frames[1].clone()).unwrap();
    world.send(net.b, b, a, frames[2].clone()).unwrap();
    expected.packet(0, [0, 1, 0], (a, b), &frames[0]);
    expected.packet(0, [0, 3, 1], (a, b), &frames[1]);
    expected.packet(0, [1, 1, 0], (b, a), &frames[2]);
    assert_eq!(world.trace_hash(), expected.hash());
    while world.next_event(at(29)).is_some() {}
    world.send(net.a, a, b, frames[3].clone()).unwrap();
    arrivals(&mut world);
    expected.packet(6_000_000, [0, 2, 0], (a, b), &frames[0]);
    expected.packet(6_000_000, [1, 2, 0], (b, a), &frames[2]);
    expected.turn(20_000_000, 0, 4);
    expected.turn(20_000_000, 1, 4);
    expected.packet(29_000_000, [0, 3, 3], (a, b), &frames[3]);
    expected.turn(30_000_000, 0, 5);
    expected.turn(30_000_000, 1, 5);
    assert_eq!(world.trace_hash(), expected.hash());
}

#[test]
fn ipv6_addresses_are_hashed_as_they_are() {
    let mut builder = NetworkBuilder::new();
    let paths = vec![PathConfig::direct("p", channel(10, 5))];
    let net = DisjointPaths { ip: IpVersion::V6, paths }.add_to(&mut builder).unwrap();
    let mut world: World<Datagram> = builder.build(1, NoObserver).unwrap();
    let (a, b) = (net.paths[0].a_address, net.paths[0].b_address);
    let frame = Datagram { number: 5, bytes: 1_210 };
    world.send(net.a, a, b, frame.clone()).unwrap();
    arrivals(&mut world);
    let mut expected = Trace::default();
    expected.packet(0, [0, 1, 0], (a, b), &frame);
    expected.packet(6_000_000, [0, 2, 0], (a, b), &frame);
    assert_eq!(world.trace_hash(), expected.hash());
}

fn lossy_run(seed: u64, name: &str) -> (TraceHash, u64) {
    let mut config = channel(100, 5);
    config.uniform_loss = Fraction::from_percent(10);
    config.queue = QueueConfig::DropTail(Limit::Packets(5_000));
    let (mut world, net) = disjoint(vec![PathConfig::direct(name, config)], seed);
    for number in 0..5_000 {
        let (from, to) = (net.paths[0].a_address, net.paths[0].b_address);
        world.send(net.a, from, to, Datagram::in_packet_of(500, number)).unwrap();
    }
    let arrived = arrivals(&mut world).len() as u64;
    let counters = world.counters(net.paths[0].bottleneck.channel(Direction::Forward));
    assert_eq!(counters.dropped(DropCause::UniformLoss).packets, 5_000 - arrived);
    (world.trace_hash(), 5_000 - arrived)
}

#[test]
fn seeds_and_names_decide_what_is_lost() {
    let (hash, lost) = lossy_run(1, "p");
    assert_eq!((hash, lost), lossy_run(1, "p"));
    assert_ne!(hash, lossy_run(2, "p").0);
    assert_ne!(hash, lossy_run(1, "q").0, "the streams of a link follow its name");
    // Four standard deviations of the binomial distribution are 85.
    assert!(lost.abs_diff(500) < 85, "{lost}");
}

/// Keeps kinds and queue lengths.
#[derive(Default)]
struct Log(Vec<(u64, LinkEventKind, u64)>);

impl LinkObserver for Log {
    fn on_link_event(&mut self, now: Instant, event: &LinkEvent) {
        self.0.push((now.as_nanos() / 1_000, event.kind, event.queue.packets));
    }
}

#[test]
fn an_outage_takes_what_waits_and_spares_what_flies() {
    let mut config = channel(10, 5);
    config.outages = vec![Outage { from: at(2), until: Some(at(4)) }];
    let (mut world, net) = disjoint_observed(
        vec![PathConfig::direct(
            "p",
            polypath_netsim::topology::Duplex { forward: config, backward: channel(10, 5) },
        )],
        1,
        Log::default(),
    );
    let (from, to) = (net.paths[0].a_address, net.paths[0].b_address);
    let send = |world: &mut World<Datagram, Log>, number| {
        world.send(net.a, from, to, Datagram::in_packet_of(1_250, number)).unwrap();
    };
    // Packets 0 and 1 are sent by the time of the cut, 2 would be next.
    (0..4).for_each(|number| send(&mut world, number));
    assert!(world.next_event(at(3)).is_none());
    send(&mut world, 4);
    assert!(world.next_event(at(4)).is_none());
    send(&mut world, 5);
    let numbers: Vec<_> = arrivals(&mut world)
        .iter()
        .map(|(at, a)| (at.as_nanos() / 1_000, a.frame.number))
        .collect();
    assert_eq!(numbers, [(6_000, 0), (7_000, 1), (10_000, 5)]);
    let (bytes, cause) = (1_250, DropCause::Outage);
    let dropped = LinkEventKind::Dropped { bytes, cause };
    let accepted = LinkEventKind::Accepted { bytes };
    let delivered = LinkEventKind::Delivered { bytes };
    assert_eq!(
        world.observer().0,
        [
            (0, accepted, 0),
            (0, accepted, 1),
            (0, accepted, 2),
            (0, accepted, 3),
            (2_000, LinkEventKind::WentDown, 0),
            (2_000, dropped, 0),
            (2_000, dropped, 0),
            (3_000, dropped, 0),
            (4_000, LinkEventKind::CameUp, 0),
            (4_000, accepted, 0),
            (6_000, delivered, 0),
            (7_000, delivered, 0),
            (10_000, delivered, 0),
        ]
    );
}
