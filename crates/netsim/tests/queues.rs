//! Queues that manage themselves, in a network.

mod support;

use std::net::IpAddr;

use polypath_netsim::queue_discipline::{CodelConfig, EcnMarking, FqCodelConfig, Limit, RedConfig};
use polypath_netsim::topology::{Disjoint, DisjointPaths, IpVersion, PathConfig};
use polypath_netsim::{
    BuildError, ChannelConfig, Counters, Direction, DropCause, Event, Frame, NetworkBuilder,
    NoObserver, QueueConfig, TraceHash, TraceHasher, World,
};
use polypath_units::{ByteCount, Duration, Fraction, Instant};
use support::{at, channel};

/// A datagram with an ECN codepoint and a flow.
#[derive(Clone, Debug)]
struct Marked {
    flow: u16,
    ecn: u8,
}

impl Frame for Marked {
    fn wire_len(&self) -> usize {
        980
    }

    fn protocol(&self) -> u8 {
        17
    }

    fn traffic_class(&self) -> u8 {
        self.ecn
    }

    fn ports(&self) -> [u16; 2] {
        [self.flow, 1]
    }

    fn mark_ce(&mut self) {
        self.ecn |= 3;
    }

    fn damage(&mut self, _bit: u64) {}

    fn trace_fields(&self, hasher: &mut TraceHasher) {
        hasher.u16(self.flow);
        hasher.u8(self.ecn);
    }

    fn write_transport(&self, _from: IpAddr, _to: IpAddr, _out: &mut Vec<u8>) {}
}

fn network(queue: QueueConfig, seed: u64) -> (World<Marked>, Disjoint) {
    // 1000 bytes take 1 ms.
    let config = ChannelConfig { queue, ..channel(8, 20) };
    let paths = vec![PathConfig::direct("path", config)];
    let mut builder = NetworkBuilder::new();
    let net = DisjointPaths { ip: IpVersion::V4, paths }.add_to(&mut builder).unwrap();
    (builder.build(seed, NoObserver).unwrap(), net)
}

/// How often an outsider looks at the queue while a run goes on.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Looks {
    None,
    EverySend,
}

struct Outcome {
    hash: TraceHash,
    counters: Counters,
    /// Time of arrival, flow and codepoint.
    arrived: Vec<(Instant, u16, u8)>,
}

/// Sends packets at times in ms, with flow and codepoint.
fn run(queue: QueueConfig, packets: &[(u64, u16, u8)], looks: Looks) -> Outcome {
    let (mut world, net) = network(queue, 1);
    let [path] = &net.paths[..] else { panic!("one path") };
    let channel = path.bottleneck.channel(Direction::Forward);
    let mut arrived = Vec::new();
    let mut take = |world: &mut World<Marked>, until| {
        while let Some(event) = world.next_event(until) {
            let Event::Arrival(arrival) = event else { panic!("no timer was set") };
            arrived.push((world.now(), arrival.frame.flow, arrival.frame.ecn));
        }
    };
    for &(time, flow, ecn) in packets {
        take(&mut world, at(time));
        if looks == Looks::EverySend {
            world.queue_level(channel);
            world.counters(channel);
        }
        world.send(net.a, path.a_address, path.b_address, Marked { flow, ecn }).unwrap();
    }
    take(&mut world, Instant::FAR_FUTURE);
    let counters = world.counters(channel);
    Outcome { hash: world.trace_hash(), counters, arrived }
}

/// Three packets in two milliseconds, so that the queue grows by one each.
fn overload(count: u64, ecn: u8) -> Vec<(u64, u16, u8)> {
    (0..count).map(|n| (2 * n / 3, 5, ecn)).collect()
}

fn red(ecn: EcnMarking) -> QueueConfig {
    let weight = Fraction::from_percent(10);
    QueueConfig::Red(RedConfig {
        weight,
        max_p: Fraction::from_percent(50),
        ecn,
        ..RedConfig::default()
    })
}

fn codel(ecn: EcnMarking) -> QueueConfig {
    QueueConfig::Codel(CodelConfig { ecn, ..CodelConfig::default() })
}

fn fq_codel(ecn: EcnMarking) -> QueueConfig {
    QueueConfig::FqCodel(FqCodelConfig { ecn, ..FqCodelConfig::default() })
}

const ALL: [fn(EcnMarking) -> QueueConfig; 3] = [red, codel, fq_codel];

#[test]
fn early_drops_are_counted_and_nothing_is_lost_from_sight() {
    for queue in ALL {
        let Counters { offered, delivered, .. } =
            run(queue(EcnMarking::Off), &overload(900, 2), Looks::None).counters;
        let outcome = run(queue(EcnMarking::On), &overload(900, 0), Looks::None);
        let counters = outcome.counters;
        assert_eq!((counters.offered, counters.delivered), (offered, delivered));
        let early = counters.dropped(DropCause::EarlyDrop).packets;
        assert!(early > 5, "{queue:?}: {early}");
        assert_eq!(outcome.arrived.len() as u64 + early, 900);
        assert_eq!((counters.on_the_way(), counters.marked.packets), (0, 0));
    }
}

#[test]
fn what_is_marked_arrives_marked() {
    for queue in ALL {
        let outcome = run(queue(EcnMarking::On), &overload(300, 2), Looks::None);
        let marked = outcome.arrived.iter().filter(|(.., ecn)| *ecn == 3).count();
        assert!(marked > 2, "{queue:?}: {marked}");
        assert_eq!(outcome.counters.marked.packets, marked as u64);
        assert!(outcome.arrived.iter().all(|(.., ecn)| [2, 3].contains(ecn)));
    }
}

#[test]
fn looking_changes_nothing() {
    for queue in ALL {
        let packets = overload(900, 0);
        let [alone, watched] =
            [Looks::None, Looks::EverySend].map(|l| run(queue(EcnMarking::Off), &packets, l));
        assert_eq!((alone.hash, alone.arrived), (watched.hash, watched.arrived));
        assert_eq!(alone.counters, watched.counters);
    }
}

#[test]
fn a_sparse_flow_passes_a_full_queue_if_queues_are_fair() {
    // Flow 5 sends 300 packets at once, flow 6 one every 20 ms.
    let mut packets = vec![(0, 5, 0); 300];
    packets.extend((1..10).map(|n| (20 * n, 6, 0)));
    let most_delay = |queue| {
        let outcome = run(queue, &packets, Looks::None);
        let sparse = outcome.arrived.iter().filter(|(_, flow, _)| *flow == 6);
        let delays = (1..).zip(sparse).map(|(n, (arrived, ..))| *arrived - at(20 * n));
        delays.max().unwrap()
    };
    // Behind one packet at most that is being sent, 1 ms of its own, and propagation.
    assert!(most_delay(fq_codel(EcnMarking::Off)) <= Duration::from_millis(22));
    assert!(most_delay(codel(EcnMarking::Off)) > Duration::from_millis(100));
}

#[test]
fn an_outage_empties_every_queue() {
    for queue in ALL {
        let config = ChannelConfig {
            queue: queue(EcnMarking::Off),
            outages: vec![polypath_netsim::impair::Outage { from: at(10), until: Some(at(50)) }],
            ..channel(8, 20)
        };
        let mut builder = NetworkBuilder::new();
        let paths = vec![PathConfig::direct("path", config)];
        let net = DisjointPaths { ip: IpVersion::V4, paths }.add_to(&mut builder).unwrap();
        let mut world: World<Marked> = builder.build(1, NoObserver).unwrap();
        let path = &net.paths[0];
        let send = |world: &mut World<Marked>| {
            world.send(net.a, path.a_address, path.b_address, Marked { flow: 1, ecn: 0 }).unwrap();
        };
        (0..15).for_each(|_| send(&mut world));
        while world.next_event(at(60)).is_some() {}
        send(&mut world);
        while world.next_event(Instant::FAR_FUTURE).is_some() {}
        let counters = world.counters(path.bottleneck.channel(Direction::Forward));
        assert_eq!(counters.dropped(DropCause::Outage).packets, 5);
        assert_eq!((counters.delivered.packets, counters.on_the_way()), (11, 0));
    }
}

#[test]
fn a_packet_that_need_not_wait_counts_towards_no_limit() {
    // Packets are of 1000 bytes: none may wait, and each that finds the transmitter idle passes.
    let bytes = |count| Limit::Bytes(ByteCount::from_bytes(count));
    let (limit, plain) = (bytes(999), RedConfig::default());
    let red = RedConfig { min: bytes(900), max: bytes(950), limit, ..plain };
    let codel = CodelConfig { limit, ..CodelConfig::default() };
    for queue in [QueueConfig::DropTail(limit), QueueConfig::Red(red), QueueConfig::Codel(codel)] {
        let packets = [(0, 5, 0), (0, 5, 0), (1, 5, 0), (7, 5, 0)];
        let outcome = run(queue, &packets, Looks::None);
        let arrived: Vec<Instant> = outcome.arrived.iter().map(|(time, ..)| *time).collect();
        assert_eq!(arrived, [21, 22, 28].map(at), "{queue:?}");
        assert_eq!(outcome.counters.dropped(DropCause::QueueFull).packets, 1, "{queue:?}");
    }
}

#[test]
fn senseless_queues_are_refused() {
    let config = ChannelConfig {
        queue: QueueConfig::Codel(CodelConfig { target: Duration::ZERO, ..CodelConfig::default() }),
        ..channel(8, 20)
    };
    let mut builder = NetworkBuilder::new();
    let paths = vec![PathConfig::direct("path", config)];
    DisjointPaths { ip: IpVersion::V4, paths }.add_to(&mut builder).unwrap();
    let error = builder.build::<Marked, _>(1, NoObserver).unwrap_err();
    assert!(matches!(error, BuildError::Queue { key: "target", .. }), "{error}");
}
