//! Networks with everything that can go wrong on a link.

mod support;

use std::collections::BTreeMap;
use std::sync::Arc;

use polypath_netsim::impair::{
    AfterEnd, BitErrorConfig, Damaged, Distribution, GilbertElliottConfig, JitterConfig,
    JitterOrder, Normal, Outage, RateTrace, ReorderingConfig, Step, Uniform, Within,
};
use polypath_netsim::topology::{Disjoint, PathConfig};
use polypath_netsim::{ChannelConfig, Direction, DropCause, Event, World};
use polypath_units::{BitRate, ByteCount, Duration, Fraction, Instant};
use proptest::prelude::*;
use support::{Datagram, arrivals, at, channel, disjoint};

fn send(world: &mut World<Datagram>, net: &Disjoint, number: u32) {
    let path = &net.paths[0];
    let packet = Datagram::in_packet_of(1_000, number);
    world.send(net.a, path.a_address, path.b_address, packet).unwrap();
}

#[test]
fn copies_travel_on_like_originals() {
    let twice = ChannelConfig { duplication: Fraction::ONE, ..channel(1_000, 1) };
    let path = PathConfig::routed("p", twice, channel(10, 10));
    let (mut world, net) = disjoint(vec![path], 1);
    send(&mut world, &net, 7);
    // Doubled on both access links.
    let seen = arrivals(&mut world);
    assert_eq!(seen.len(), 4);
    assert!(seen.iter().all(|(_, arrival)| arrival.frame == Datagram::in_packet_of(1_000, 7)));
    // The bottleneck sends one after the other: 0.8 ms apart.
    let times: Vec<u64> = seen.iter().map(|(at, _)| at.as_nanos() / 1_000).collect();
    assert_eq!(times, [12_816, 12_816, 13_616, 13_616]);
}

#[test]
fn damaged_packets_are_delivered_with_one_bit_wrong() {
    let mut damaging = channel(10, 1);
    damaging.bit_errors = Some(BitErrorConfig {
        rate: Fraction::ONE,
        damaged: Damaged::Delivered,
        within: Within::Anywhere,
    });
    let (mut world, net) = disjoint(vec![PathConfig::direct("p", damaging)], 1);
    for _ in 0..50 {
        send(&mut world, &net, 0);
    }
    let seen = arrivals(&mut world);
    assert_eq!(seen.len(), 50);
    assert!(seen.iter().all(|(_, arrival)| arrival.frame.number.count_ones() == 1));
    let first = world.links().next().unwrap().channel(Direction::Forward);
    assert_eq!(world.counters(first).damaged.packets, 50);
}

#[test]
fn links_that_check_drop_damaged_packets() {
    let mut damaging = channel(10, 1);
    damaging.bit_errors = Some(BitErrorConfig {
        rate: "1e-4".parse().unwrap(),
        damaged: Damaged::Dropped,
        within: Within::Checksum,
    });
    assert!((damaging.mean_loss(1_000) - (1.0 - (1.0f64 - 1e-4).powi(8_000))).abs() < 1e-9);
    let (mut world, net) = disjoint(vec![PathConfig::direct("p", damaging)], 1);
    for _ in 0..50 {
        send(&mut world, &net, 0);
    }
    let arrived = arrivals(&mut world).len() as u64;
    let first = world.links().next().unwrap().channel(Direction::Forward);
    let dropped = world.counters(first).dropped(DropCause::BitError).packets;
    // More than every second one is hit.
    assert!(dropped > 10 && arrived > 5 && arrived + dropped == 50, "{arrived} {dropped}");
}

#[test]
fn steps_change_a_running_link() {
    let mut stepped = channel(8, 0);
    let step = |ms, mbit| Step {
        at: at(ms),
        rate: Some(BitRate::from_mbit(mbit)),
        delay: None,
        uniform_loss: None,
        mtu: None,
    };
    stepped.steps = vec![step(2, 4), step(6, 16)];
    let (mut world, net) = disjoint(vec![PathConfig::direct("p", stepped)], 1);
    for number in 0..6 {
        send(&mut world, &net, number);
    }
    let times: Vec<u64> =
        arrivals(&mut world).iter().map(|(at, _)| at.as_nanos() / 1_000).collect();
    // 1 ms each until 2 ms, then 2 ms each until 6 ms, then 0.5 ms each.
    assert_eq!(times, [1_000, 2_000, 4_000, 6_000, 6_500, 7_000]);
}

#[test]
fn what_never_arrives_never_arrives() {
    // 8 Mbit/s for 2 ms, and nothing any more.
    let table = "time [ms],rate [Mbit/s]\n0,8\n2,0\n";
    let trace = RateTrace::from_csv(table, AfterEnd::Hold).unwrap();
    let dying = ChannelConfig { rate_trace: Some(Arc::new(trace)), ..channel(8, 0) };
    let (mut world, net) = disjoint(vec![PathConfig::direct("p", dying)], 1);
    for number in 0..4 {
        send(&mut world, &net, number);
    }
    assert_eq!(arrivals(&mut world).len(), 2);
    assert_eq!(world.now(), at(2));
    let first = world.links().next().unwrap().channel(Direction::Forward);
    assert_eq!(world.counters(first).on_the_way(), 2);
    assert_eq!(world.queue_level(first).packets, 1);
}

fn percent(most: u64) -> impl Strategy<Value = Fraction> {
    (0..=most).prop_map(Fraction::from_percent)
}

fn micros(most: u64) -> impl Strategy<Value = Duration> {
    (0..=most).prop_map(Duration::from_micros)
}

fn jitters() -> impl Strategy<Value = JitterConfig> {
    let extra = prop_oneof![
        (micros(500), micros(3_000))
            .prop_map(|(from, more)| Distribution::Uniform(Uniform { from, to: from + more })),
        (micros(2_000), micros(2_000))
            .prop_map(|(mean, deviation)| Distribution::Normal(Normal { mean, deviation })),
    ];
    let order = prop_oneof![Just(JitterOrder::Keep), Just(JitterOrder::Overtake)];
    (extra, order).prop_map(|(extra, order)| JitterConfig { extra, order })
}

fn bit_errors() -> impl Strategy<Value = BitErrorConfig> {
    let damaged = prop_oneof![Just(Damaged::Dropped), Just(Damaged::Delivered)];
    let within = prop_oneof![Just(Within::Checksum), Just(Within::Anywhere)];
    (1..200u64, damaged, within).prop_map(|(millionths, damaged, within)| BitErrorConfig {
        rate: Fraction::from_f64(millionths as f64 * 1e-6).unwrap(),
        damaged,
        within,
    })
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = (
        1..20_000u64,
        prop::option::of(1..50u64),
        prop::option::of(micros(3_000)),
        prop::option::of(percent(30)),
    );
    prop::collection::vec(step, 0..3).prop_map(|steps| {
        let mut at = Instant::ZERO;
        let all = steps.into_iter().map(|(gap, mbit, delay, uniform_loss)| {
            at += Duration::from_micros(gap);
            Step { at, rate: mbit.map(BitRate::from_mbit), delay, uniform_loss, mtu: None }
        });
        all.filter(|s| s.rate.is_some() || s.delay.is_some() || s.uniform_loss.is_some()).collect()
    })
}

fn channels() -> impl Strategy<Value = ChannelConfig> {
    let bursts = (percent(20), percent(80), percent(5), percent(100)).prop_map(
        |(to_bad, to_good, loss_good, loss_bad)| GilbertElliottConfig {
            to_bad,
            to_good,
            loss_good,
            loss_bad,
        },
    );
    let reordering = (percent(50), micros(5_000))
        .prop_map(|(probability, extra_delay)| ReorderingConfig { probability, extra_delay });
    let option = prop::option::of::<BoxedStrategy<ReorderingConfig>>;
    (
        (1..50u64, micros(5_000), percent(20)),
        (prop::option::of(bursts), prop::option::of(bit_errors()), prop::option::of(jitters())),
        (option(reordering.boxed()), percent(30), steps(), any::<bool>()),
    )
        .prop_map(
            |((mbit, delay, loss), (bursts, errors, jitter), (reordering, copies, steps, cut))| {
                let outage = Outage { from: at(7), until: Some(at(15)) };
                ChannelConfig {
                    uniform_loss: loss,
                    gilbert_elliott: bursts,
                    bit_errors: errors,
                    jitter,
                    reordering,
                    duplication: copies,
                    outages: if cut { vec![outage] } else { Vec::new() },
                    steps,
                    ..ChannelConfig::new(BitRate::from_mbit(mbit), delay)
                }
            },
        )
}

/// Runs packets in both directions; looks at every channel whenever `look` comes up, which must not matter.
fn run(path: &PathConfig, gaps: &[u64], look: u64) -> (World<Datagram>, Vec<(Instant, u32)>) {
    let (mut world, net) = disjoint(vec![path.clone()], 5);
    let links: Vec<_> = world.links().collect();
    let mut seen = Vec::new();
    let mut now = Instant::ZERO;
    let mut take = |world: &mut World<Datagram>, until| {
        while let Some(event) = world.next_event(until) {
            if let Event::Arrival(arrival) = event {
                seen.push((world.now(), arrival.frame.number));
            }
        }
    };
    for (number, gap) in (0..).zip(gaps) {
        let path = &net.paths[0];
        let packet = Datagram::in_packet_of(1_000, number);
        let sent = match number % 3 {
            0 => world.send(net.b, path.b_address, path.a_address, packet),
            _ => world.send(net.a, path.a_address, path.b_address, packet),
        };
        sent.unwrap();
        now += Duration::from_micros(*gap);
        take(&mut world, now);
        if u64::from(number) % look == 0 {
            for link in &links {
                world.counters(link.channel(Direction::Forward));
                world.queue_level(link.channel(Direction::Backward));
            }
        }
    }
    take(&mut world, Instant::FAR_FUTURE);
    (world, seen)
}

proptest! {
    /// Every packet and every copy is delivered or dropped with a cause; runs repeat, however often one looks.
    #[test]
    fn packets_are_conserved_and_runs_repeat(
        bottleneck in channels(),
        access in prop::option::of(channels()),
        gaps in prop::collection::vec(0..1_500u64, 1..120),
    ) {
        let path = match access {
            None => PathConfig::direct("p", bottleneck),
            Some(access) => PathConfig::routed("p", access, bottleneck),
        };
        let (mut world, seen) = run(&path, &gaps, 1_000);
        let (mut copies, mut dropped) = (0, 0);
        let links: Vec<_> = world.links().collect();
        for link in links {
            for direction in [Direction::Forward, Direction::Backward] {
                let counters = world.counters(link.channel(direction));
                prop_assert_eq!(counters.on_the_way(), 0);
                copies += counters.duplicated.packets;
                dropped += counters.dropped_total().packets;
            }
        }
        prop_assert_eq!(gaps.len() as u64 + copies, seen.len() as u64 + dropped);
        prop_assert!(seen.iter().map(|(at, _)| at).is_sorted());

        let (again, seen_again) = run(&path, &gaps, 3);
        prop_assert_eq!(&seen, &seen_again);
        prop_assert_eq!(world.trace_hash(), again.trace_hash());
        prop_assert_eq!(world.events(), again.events());
    }
}

#[test]
fn impairments_do_not_disturb_each_other() {
    // Which packets uniform loss takes depends on its own stream only.
    let lost_of = |change: fn(&mut ChannelConfig)| {
        let mut config =
            ChannelConfig { uniform_loss: Fraction::from_percent(20), ..channel(10, 1) };
        change(&mut config);
        let (mut world, net) = disjoint(vec![PathConfig::direct("p", config)], 3);
        let mut seen = BTreeMap::new();
        for number in 0..60 {
            send(&mut world, &net, number << 8);
        }
        for (_, arrival) in arrivals(&mut world) {
            *seen.entry(arrival.frame.number >> 8).or_insert(0) += 1;
        }
        seen.into_keys().collect::<Vec<u32>>()
    };
    let plain = lost_of(|_| ());
    assert!(plain.len() > 30 && plain.len() < 60);
    assert_eq!(plain, lost_of(|config| config.duplication = Fraction::from_percent(40)));
    let keeping = |config: &mut ChannelConfig| {
        let extra =
            Distribution::Uniform(Uniform { from: Duration::ZERO, to: Duration::from_millis(9) });
        config.jitter = Some(JitterConfig { extra, order: JitterOrder::Keep });
    };
    assert_eq!(plain, lost_of(keeping));
}

/// Arrivals in us of packets of 1000 bytes that are sent at these times in ms, over a path with a trace and 10 ms of delay.
fn over_trace(trace: RateTrace, sent: &[u64]) -> Vec<u64> {
    let config = ChannelConfig { rate_trace: Some(Arc::new(trace)), ..channel(8, 10) };
    let (mut world, net) = disjoint(vec![PathConfig::direct("path", config)], 1);
    let path = &net.paths[0];
    let mut arrived = Vec::new();
    for (number, time) in (0..).zip(sent) {
        while let Some(event) = world.next_event(at(*time)) {
            assert!(matches!(event, Event::Arrival(_)));
            arrived.push(world.now().as_nanos() / 1_000);
        }
        let frame = Datagram::in_packet_of(1_000, number);
        world.send(net.a, path.a_address, path.b_address, frame).unwrap();
    }
    let rest = arrivals(&mut world);
    arrived.extend(rest.iter().map(|(time, _)| time.as_nanos() / 1_000));
    arrived
}

#[test]
fn opportunities_of_a_trace_carry_packets() {
    let size = ByteCount::from_bytes(1_000);
    let trace = RateTrace::from_mahimahi("3\n4\n4\n20\n", size).unwrap();
    let arrived = over_trace(trace, &[0, 0, 0, 0, 0, 100]);
    assert_eq!(arrived, [13_000, 14_000, 14_000, 30_000, 33_000, 110_000]);
}

#[test]
fn rates_delays_and_losses_of_a_trace_hold_in_their_time() {
    let table =
        "time [ms],rate [Mbit/s],delay [ms],loss [%]\n0,4,10,0\n3,16,1,0\n20,8,1,100\n40,8,10,0\n";
    let trace = RateTrace::from_csv(table, AfterEnd::Hold).unwrap();
    // 2 ms each at first; the second ends in the faster time, after a byte per us is two: 2 + 1 + 0.25; the third starts
    // at 3.25 ms and overtakes with its delay of 1 ms. What arrives from 20 ms on is lost, from 40 ms on not.
    let arrived = over_trace(trace, &[0, 0, 0, 25, 50]);
    assert_eq!(arrived, [4_750, 12_000, 13_250, 61_000]);
}

#[test]
fn a_trace_survives_a_cut() {
    let trace = RateTrace::from_mahimahi("50\n51\n", ByteCount::from_bytes(1_000)).unwrap();
    let config = ChannelConfig {
        rate_trace: Some(Arc::new(trace)),
        outages: vec![Outage { from: at(10), until: Some(at(20)) }],
        ..channel(8, 10)
    };
    let (mut world, net) = disjoint(vec![PathConfig::direct("path", config)], 1);
    let path = &net.paths[0];
    let send = |world: &mut World<Datagram>| {
        let frame = Datagram::in_packet_of(1_000, 1);
        world.send(net.a, path.a_address, path.b_address, frame).unwrap();
    };
    send(&mut world);
    assert!(world.next_event(at(30)).is_none());
    // The one before was to go at 50 ms; its opportunity is free again.
    send(&mut world);
    assert_eq!(arrivals(&mut world)[0].0, at(60));
}
