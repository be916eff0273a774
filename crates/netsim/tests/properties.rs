//! What holds in every network: conservation, order, repeatability, rates.

mod support;

use std::collections::BTreeMap;

use polypath_netsim::impair::Outage;
use polypath_netsim::queue_discipline::{CodelConfig, EcnMarking, FqCodelConfig, Limit, RedConfig};
use polypath_netsim::topology::{Disjoint, DisjointPaths, IpVersion, PathConfig};
use polypath_netsim::{
    ChannelConfig, ChannelId, Counters, Direction, DropCause, Event, LinkEvent, LinkEventKind,
    LinkObserver, NetworkBuilder, QueueConfig, QueueLevel, TraceHash, World,
};
use polypath_units::{BitRate, ByteCount, Duration, Fraction, Instant};
use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;
use support::Datagram;

/// A whole run: paths, and packets as (path, from A or B, time in us to the next, bytes).
#[derive(Clone, Debug)]
struct Scenario {
    paths: Vec<(ChannelConfig, Option<ChannelConfig>)>,
    packets: Vec<(usize, Direction, u64, u16)>,
    seed: u64,
}

fn channels() -> impl Strategy<Value = ChannelConfig> {
    let limits = prop_oneof![
        (0..12u64).prop_map(Limit::Packets),
        (0..12_000u64).prop_map(|n| Limit::Bytes(ByteCount::from_bytes(n))),
    ];
    let ecn = prop_oneof![Just(EcnMarking::Off), Just(EcnMarking::On)];
    let queue = prop_oneof![
        3 => limits.prop_map(QueueConfig::DropTail),
        1 => (1..12u64, 0..4u64, 1..5u64, 1..100u64, ecn.clone()).prop_map(|(limit, min, more, percent, ecn)| {
            QueueConfig::Red(RedConfig {
                min: Limit::Packets(min),
                max: Limit::Packets(min + more),
                limit: Limit::Packets(limit),
                weight: Fraction::from_percent(percent),
                max_p: Fraction::from_percent(100 - percent),
                ecn,
                ..RedConfig::default()
            })
        }),
        1 => (1..12u64, 1..2_000u64, 1..9u64, ecn.clone()).prop_map(|(limit, target, times, ecn)| {
            let target = Duration::from_micros(target);
            let interval = target * times;
            QueueConfig::Codel(CodelConfig { target, interval, limit: Limit::Packets(limit), ecn })
        }),
        1 => (1..12u64, 1..2_000u64, 1..9u32, ecn).prop_map(|(limit, target, flows, ecn)| {
            let target = Duration::from_micros(target);
            let interval = target * 4;
            let config = FqCodelConfig::default();
            QueueConfig::FqCodel(FqCodelConfig { target, interval, limit, flows, ecn, ..config })
        }),
    ];
    let outages = prop::collection::vec((1..20_000u64, 1..20_000u64), 0..3).prop_map(|turns| {
        let mut at = Instant::ZERO;
        let mut after = |us| {
            at += Duration::from_micros(us);
            at
        };
        turns
            .into_iter()
            .map(|(up, down)| Outage { from: after(up), until: Some(after(down)) })
            .collect()
    });
    (1..50u64, 0..5_000u64, 0..40u64, queue, 0..30u64, outages).prop_map(
        |(mbit, delay, framing, queue, loss, outages)| ChannelConfig {
            framing: ByteCount::from_bytes(framing),
            queue,
            uniform_loss: Fraction::from_percent(loss),
            outages,
            ..ChannelConfig::new(BitRate::from_mbit(mbit), Duration::from_micros(delay))
        },
    )
}

fn scenarios() -> impl Strategy<Value = Scenario> {
    let paths = prop::collection::vec((channels(), prop::option::of(channels())), 1..4);
    let direction = prop_oneof![Just(Direction::Forward), Just(Direction::Backward)];
    let packets = prop::collection::vec((0..3usize, direction, 0..1_500u64, 32..1_500u16), 1..150);
    (paths, packets, any::<u64>()).prop_map(|(paths, packets, seed)| Scenario {
        paths,
        packets,
        seed,
    })
}

fn within(limit: Limit, level: QueueLevel) -> bool {
    match limit {
        Limit::Packets(limit) => level.packets <= limit,
        Limit::Bytes(limit) => level.bytes <= limit.as_bytes(),
    }
}

/// Keeps everything that it sees.
#[derive(Default, Debug, PartialEq, Eq)]
struct Log(Vec<(Instant, LinkEvent)>);

impl LinkObserver for Log {
    fn on_link_event(&mut self, now: Instant, event: &LinkEvent) {
        self.0.push((now, *event));
    }
}

/// What came out of a run.
struct Outcome {
    world: World<Datagram, Log>,
    /// Number, path and direction of the packets in the order of arrival.
    arrived: Vec<(u32, usize, Direction)>,
    hash: TraceHash,
}

fn network(scenario: &Scenario) -> (World<Datagram, Log>, Disjoint) {
    let paths = scenario.paths.iter().enumerate().map(|(i, (bottleneck, access))| match access {
        None => PathConfig::direct(format!("p{i}"), bottleneck.clone()),
        Some(access) => PathConfig::routed(format!("p{i}"), access.clone(), bottleneck.clone()),
    });
    let mut builder = NetworkBuilder::new();
    let net =
        DisjointPaths { ip: IpVersion::V4, paths: paths.collect() }.add_to(&mut builder).unwrap();
    (builder.build(scenario.seed, Log::default()).unwrap(), net)
}

fn run(scenario: &Scenario) -> Outcome {
    let (mut world, net) = network(scenario);
    let mut arrived = Vec::new();
    let mut now = Instant::ZERO;
    let mut take = |world: &mut World<Datagram, Log>, until| {
        while let Some(event) = world.next_event(until) {
            let Event::Arrival(arrival) = event else { panic!("no timer was set") };
            let direction =
                if arrival.node == net.b { Direction::Forward } else { Direction::Backward };
            arrived.push((arrival.frame.number, arrival.iface.index(), direction));
        }
    };
    for (number, &(path, direction, gap, bytes)) in (0..).zip(&scenario.packets) {
        let path = &net.paths[path % net.paths.len()];
        let frame = Datagram::in_packet_of(bytes, number);
        let sent = match direction {
            Direction::Forward => world.send(net.a, path.a_address, path.b_address, frame),
            Direction::Backward => world.send(net.b, path.b_address, path.a_address, frame),
        };
        sent.unwrap();
        now += Duration::from_micros(gap);
        take(&mut world, now);
    }
    take(&mut world, Instant::FAR_FUTURE);
    let hash = world.trace_hash();
    Outcome { world, arrived, hash }
}

fn all_channels<O: LinkObserver>(world: &World<Datagram, O>) -> Vec<ChannelId> {
    world
        .links()
        .flat_map(|link| [link.channel(Direction::Forward), link.channel(Direction::Backward)])
        .collect()
}

/// Every channel with its parameters.
fn configured<'a>(
    scenario: &'a Scenario,
    world: &World<Datagram, Log>,
) -> Vec<(ChannelId, &'a ChannelConfig)> {
    let links = scenario.paths.iter().flat_map(|(bottleneck, access)| match access {
        None => vec![bottleneck],
        Some(access) => vec![access, bottleneck, access],
    });
    all_channels(world).into_iter().zip(links.flat_map(|config| [config, config])).collect()
}

/// What the observer saw on a channel, counted as the channel counts.
fn tally(log: &Log, channel: ChannelId) -> (u64, u64, BTreeMap<DropCause, u64>) {
    let (mut accepted, mut delivered, mut dropped) = (0, 0, BTreeMap::new());
    for (_, event) in log.0.iter().filter(|(_, event)| event.channel == channel) {
        match event.kind {
            LinkEventKind::Accepted { .. } => accepted += 1,
            LinkEventKind::Delivered { .. } => delivered += 1,
            LinkEventKind::Dropped { cause, .. } => *dropped.entry(cause).or_default() += 1,
            LinkEventKind::WentDown | LinkEventKind::CameUp | LinkEventKind::Changed => {}
        }
    }
    (accepted, delivered, dropped)
}

/// Packets dropped after they had been accepted: everything but a full queue, and outages only in part.
fn check_channel(
    counters: &Counters,
    seen: &(u64, u64, BTreeMap<DropCause, u64>),
    queue: QueueConfig,
) {
    let (accepted, delivered, dropped) = seen;
    assert_eq!(counters.on_the_way(), 0, "nothing is left when no event is");
    assert_eq!(
        counters.offered.packets,
        counters.delivered.packets + counters.dropped_total().packets
    );
    assert_eq!(counters.offered.bytes, counters.delivered.bytes + counters.dropped_total().bytes);
    assert_eq!(counters.delivered.packets, *delivered);
    for cause in DropCause::ALL {
        assert_eq!(
            counters.dropped(cause).packets,
            dropped.get(&cause).copied().unwrap_or_default(),
            "{cause}"
        );
    }
    let refused = counters.offered.packets - accepted;
    let of = |cause| counters.dropped(cause).packets;
    let (full, early) = (of(DropCause::QueueFull), of(DropCause::EarlyDrop));
    // Dropped on arrival for sure, and those that may have been dropped later.
    let (at_once, perhaps) = match queue {
        QueueConfig::DropTail(_) => (full, 0),
        QueueConfig::Red(_) => (full + early, 0),
        QueueConfig::Codel(_) => (full, early),
        QueueConfig::FqCodel(_) => (0, full + early),
    };
    assert!(early == 0 || !matches!(queue, QueueConfig::DropTail(_)));
    assert!((at_once..=at_once + perhaps + of(DropCause::Outage)).contains(&refused));
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 200,
        failure_persistence: Some(Box::new(FileFailurePersistence::Direct("tests/properties.proptest-regressions"))),
        ..ProptestConfig::default()
    })]

    /// Every packet is delivered or dropped with a cause, exactly once, on every link and from end to end.
    #[test]
    fn packets_are_conserved(scenario in scenarios()) {
        let mut outcome = run(&scenario);
        let mut dropped = 0;
        for (channel, config) in configured(&scenario, &outcome.world) {
            let counters = outcome.world.counters(channel);
            check_channel(&counters, &tally(outcome.world.observer(), channel), config.queue);
            dropped += counters.dropped_total().packets;
        }
        let mut numbers: Vec<u32> = outcome.arrived.iter().map(|(number, ..)| *number).collect();
        numbers.sort_unstable();
        numbers.dedup();
        prop_assert_eq!(numbers.len(), outcome.arrived.len(), "no packet arrives twice");
        prop_assert_eq!((numbers.len() as u64) + dropped, scenario.packets.len() as u64);
    }

    /// Packets of one path and direction never overtake each other.
    #[test]
    fn packets_stay_in_order(scenario in scenarios()) {
        let mut last: BTreeMap<(usize, Direction), u32> = BTreeMap::new();
        for (number, path, direction) in run(&scenario).arrived {
            let earlier = last.insert((path, direction), number);
            prop_assert!(earlier.is_none_or(|earlier| earlier < number));
        }
    }

    /// No transmitter is busy for longer than time has passed, and what it delivers fits its rate.
    #[test]
    fn links_are_no_faster_than_their_rate(scenario in scenarios()) {
        let mut outcome = run(&scenario);
        let now = outcome.world.now();
        for (channel, config) in configured(&scenario, &outcome.world) {
            let counters = outcome.world.counters(channel);
            prop_assert!(counters.busy <= now.since(Instant::ZERO));
            prop_assert!(counters.utilisation(now) <= 1.0);
            let framing = config.framing * counters.delivered.packets;
            let sent = ByteCount::from_bytes(counters.delivered.bytes) + framing;
            prop_assert!(config.rate.transmission_time(sent) <= counters.busy);
        }
    }

    /// The queue that the observer sees never exceeds its limit, and time never runs backwards.
    #[test]
    fn observers_see_queues_within_their_limits(scenario in scenarios()) {
        let outcome = run(&scenario);
        let limits: BTreeMap<_, _> =
            configured(&scenario, &outcome.world).into_iter().map(|(channel, config)| (channel, config.queue)).collect();
        let mut last = Instant::ZERO;
        for (now, event) in &outcome.world.observer().0 {
            prop_assert!(last <= *now);
            last = *now;
            let QueueLevel { packets, bytes } = event.queue;
            prop_assert_eq!(packets == 0, bytes == 0);
            match limits[&event.channel] {
                QueueConfig::DropTail(limit) => prop_assert!(within(limit, event.queue)),
                QueueConfig::Red(config) => prop_assert!(within(config.limit, event.queue)),
                QueueConfig::Codel(config) => prop_assert!(within(config.limit, event.queue)),
                QueueConfig::FqCodel(config) => prop_assert!(packets <= config.limit),
            }
        }
    }

    /// Equal runs have equal traces.
    #[test]
    fn runs_repeat(scenario in scenarios()) {
        let (first, second) = (run(&scenario), run(&scenario));
        prop_assert_eq!(first.hash, second.hash);
        prop_assert_eq!(first.arrived, second.arrived);
        prop_assert_eq!(first.world.observer(), second.world.observer());
        prop_assert_eq!(first.world.events(), second.world.events());
    }

    /// Another packet length, time or order makes another trace.
    #[test]
    fn different_runs_have_different_traces(scenario in scenarios(), which: prop::sample::Index, more in 1..5u16) {
        let mut changed = scenario.clone();
        changed.packets[which.index(scenario.packets.len())].3 += more;
        prop_assert_ne!(run(&scenario).hash, run(&changed).hash);
    }
}
