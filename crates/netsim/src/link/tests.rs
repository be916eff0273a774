use std::collections::VecDeque;

use polypath_units::Fraction;
use proptest::prelude::*;

use super::*;
use crate::queue_discipline::Limit;
use crate::{PacketId, QueueConfig, Tally};

/// Eight bits per microsecond: a byte takes 1 us.
fn config(delay_us: u64, limit: Limit) -> ChannelConfig {
    ChannelConfig {
        queue: QueueConfig::DropTail(limit),
        ..ChannelConfig::new(BitRate::from_mbit(8), Duration::from_micros(delay_us))
    }
}

fn channel(config: &ChannelConfig) -> Channel {
    Channel::new(config, "test", &Streams::new(1))
}

fn us(n: u64) -> Instant {
    Instant::from_nanos(n * 1_000)
}

fn ticket(number: u32, bytes: u32) -> Ticket {
    Ticket { packet: PacketId(number), bytes, order: 0 }
}

/// Takes departures when they are due, as a driver does, up to `end`.
fn drain(channel: &mut Channel, end: Instant) -> Vec<(u64, u32)> {
    let mut all = Vec::new();
    while let Some(at) = channel.next_departure().filter(|at| *at <= end) {
        let departure = channel.take_departure(at).unwrap();
        assert_eq!(departure.lost, None);
        all.push((at.as_nanos() / 1_000, departure.ticket.packet.0));
    }
    all
}

#[test]
fn sends_one_after_the_other_and_propagates_side_by_side() {
    let mut channel = channel(&config(1_000, Limit::Packets(10)));
    for number in 0..3 {
        assert_eq!(channel.offer(us(0), ticket(number, 100)), Verdict::Accepted);
    }
    assert_eq!(channel.take_departure(us(1_099)), None);
    assert_eq!(drain(&mut channel, us(9_999)), [(1_100, 0), (1_200, 1), (1_300, 2)]);
    assert_eq!(channel.next_departure(), None);
}

#[test]
fn the_packet_being_sent_is_not_in_the_queue() {
    let mut channel = channel(&config(0, Limit::Packets(2)));
    let verdicts = [0, 1, 2, 3].map(|number| channel.offer(us(0), ticket(number, 100)));
    let full = Verdict::Dropped(DropCause::QueueFull);
    assert_eq!(verdicts, [Verdict::Accepted, Verdict::Accepted, Verdict::Accepted, full]);
    assert_eq!(channel.queue_level(us(0)), QueueLevel { packets: 2, bytes: 200 });
    // Its place is free from the instant on at which its transmission starts.
    assert_eq!(channel.offer(Instant::from_nanos(99_999), ticket(4, 100)), full);
    assert_eq!(channel.offer(us(100), ticket(5, 100)), Verdict::Accepted);
    assert_eq!(channel.queue_level(us(100)), QueueLevel { packets: 2, bytes: 200 });
    assert_eq!(drain(&mut channel, us(9_999)), [(100, 0), (200, 1), (300, 2), (400, 5)]);
}

#[test]
fn without_a_queue_only_an_idle_transmitter_accepts() {
    let mut channel = channel(&config(0, Limit::Packets(0)));
    assert_eq!(channel.offer(us(0), ticket(0, 100)), Verdict::Accepted);
    assert_eq!(channel.offer(us(50), ticket(1, 100)), Verdict::Dropped(DropCause::QueueFull));
    assert_eq!(channel.offer(us(100), ticket(2, 100)), Verdict::Accepted);
}

#[test]
fn counts_what_happens() {
    let mut channel = channel(&config(10, Limit::Bytes(ByteCount::from_bytes(150))));
    for (at, bytes) in [(0, 100), (0, 90), (0, 90), (0, 60)] {
        channel.offer(us(at), ticket(0, bytes));
    }
    let during = channel.counters(us(130));
    assert_eq!(
        (during.offered, during.busy),
        (Tally { packets: 4, bytes: 340 }, Duration::from_micros(130))
    );
    assert_eq!(during.dropped(DropCause::QueueFull), Tally { packets: 1, bytes: 90 });
    assert_eq!((during.peak_queue_packets, during.peak_queue_bytes), (2, 150));
    assert_eq!(during.on_the_way(), 3);
    drain(&mut channel, us(1_000));
    let after = channel.counters(us(1_000));
    assert_eq!((after.delivered, after.on_the_way()), (Tally { packets: 3, bytes: 250 }, 0));
    assert_eq!((after.busy, after.utilisation(us(1_000))), (Duration::from_micros(250), 0.25));
}

#[test]
fn framing_takes_time_but_no_room() {
    let framed = ChannelConfig {
        framing: ByteCount::from_bytes(50),
        ..config(0, Limit::Bytes(ByteCount::from_bytes(100)))
    };
    let mut channel = channel(&framed);
    for number in 0..2 {
        assert_eq!(channel.offer(us(0), ticket(number, 100)), Verdict::Accepted);
    }
    assert_eq!(drain(&mut channel, us(999)), [(150, 0), (300, 1)]);
}

#[test]
fn a_cut_spares_what_has_been_sent() {
    let mut channel = channel(&config(1_000, Limit::Packets(10)));
    for number in 0..4 {
        channel.offer(us(0), ticket(number, 100));
    }
    // Packet 0 was sent, packet 1 is halfway, 2 and 3 wait.
    let mut dropped = Vec::new();
    channel.cut(us(150), |ticket| dropped.push(ticket.packet.0));
    assert_eq!(dropped, [1, 2, 3]);
    assert_eq!(channel.offer(us(160), ticket(4, 100)), Verdict::Dropped(DropCause::Outage));
    channel.restore();
    assert_eq!(channel.offer(us(170), ticket(5, 100)), Verdict::Accepted);
    assert_eq!(drain(&mut channel, us(9_999)), [(1_100, 0), (1_270, 5)]);
    let counters = channel.counters(us(9_999));
    assert_eq!(counters.dropped(DropCause::Outage), Tally { packets: 4, bytes: 400 });
    assert_eq!(counters.busy, Duration::from_micros(250));
}

#[test]
fn a_cut_between_two_packets_drops_only_what_waits() {
    let mut channel = channel(&config(0, Limit::Packets(10)));
    channel.offer(us(0), ticket(0, 100));
    let mut dropped = Vec::new();
    channel.cut(us(100), |ticket| dropped.push(ticket.packet.0));
    assert!(dropped.is_empty(), "{dropped:?}");
    assert_eq!(drain(&mut channel, us(999)), [(100, 0)]);
}

#[test]
fn losses_take_their_time_on_the_wire() {
    let lossy = ChannelConfig { uniform_loss: Fraction::ONE, ..config(1_000, Limit::Packets(10)) };
    let mut channel = channel(&lossy);
    channel.offer(us(0), ticket(0, 100));
    channel.offer(us(0), ticket(1, 100));
    for at in [1_100, 1_200] {
        assert_eq!(channel.next_departure(), Some(us(at)));
        assert_eq!(channel.take_departure(us(at)).unwrap().lost, Some(DropCause::UniformLoss));
    }
    let counters = channel.counters(us(1_200));
    assert_eq!(counters.dropped(DropCause::UniformLoss).packets, 2);
    assert_eq!((counters.delivered.packets, counters.busy), (0, Duration::from_micros(200)));
}

/// Takes everything that leaves, calling whenever the channel asks for it.
fn drain_overtaking(channel: &mut Channel) -> Vec<(u64, u32)> {
    let mut all = Vec::new();
    while let Some(at) = channel.next_departure() {
        if let Some(departure) = channel.take_departure(at) {
            all.push((at.as_nanos() / 1_000, departure.ticket.packet.0));
        }
    }
    all
}

fn step(at: Instant) -> Step {
    Step { at, rate: None, delay: None, uniform_loss: None, mtu: None }
}

#[test]
fn packets_overtake_those_that_a_longer_delay_holds() {
    let shorter = Step { delay: Some(Duration::from_micros(10)), ..step(us(150)) };
    let stepped = ChannelConfig { steps: vec![shorter], ..config(1_000, Limit::Packets(10)) };
    let mut channel = channel(&stepped);
    for number in 0..3 {
        channel.offer(us(0), ticket(number, 100));
    }
    channel.step(us(150), &shorter);
    // The third one starts at 200 us, before any has arrived.
    assert_eq!(channel.next_departure(), Some(us(200)));
    assert_eq!(drain_overtaking(&mut channel), [(310, 2), (1_100, 0), (1_200, 1)]);
}

#[test]
fn a_cut_finds_the_packet_being_sent_among_those_it_overtakes() {
    let shorter = Step { delay: Some(Duration::from_micros(10)), ..step(us(150)) };
    let stepped = ChannelConfig { steps: vec![shorter], ..config(1_000, Limit::Packets(10)) };
    let mut channel = channel(&stepped);
    for number in 0..3 {
        channel.offer(us(0), ticket(number, 100));
    }
    channel.step(us(150), &shorter);
    let mut dropped = Vec::new();
    channel.cut(us(250), |ticket| dropped.push(ticket.packet.0));
    assert_eq!(dropped, [2]);
    assert_eq!(drain_overtaking(&mut channel), [(1_100, 0), (1_200, 1)]);
}

#[test]
fn a_new_rate_holds_for_what_starts_later() {
    let mut channel = channel(&config(0, Limit::Packets(10)));
    for number in 0..3 {
        channel.offer(us(0), ticket(number, 100));
    }
    channel.step(us(50), &Step { rate: Some(BitRate::from_mbit(4)), ..step(us(50)) });
    assert_eq!(drain(&mut channel, us(9_999)), [(100, 0), (300, 1), (500, 2)]);
    assert_eq!(channel.counters(us(500)).busy, Duration::from_micros(500));
}

#[test]
fn a_new_loss_holds_for_what_arrives_later() {
    let all = Step { uniform_loss: Some(Fraction::ONE), ..step(us(150)) };
    let none = Step { uniform_loss: Some(Fraction::ZERO), ..step(us(250)) };
    let stepped = ChannelConfig { steps: vec![all, none], ..config(0, Limit::Packets(10)) };
    let mut channel = channel(&stepped);
    for number in 0..3 {
        channel.offer(us(0), ticket(number, 100));
    }
    let mut lost = |at| channel.take_departure(us(at)).unwrap().lost;
    assert_eq!(lost(100), None);
    channel.step(us(150), &all);
    let mut lost = |at| channel.take_departure(us(at)).unwrap().lost;
    assert_eq!(lost(200), Some(DropCause::UniformLoss));
    channel.step(us(250), &none);
    assert_eq!(channel.take_departure(us(300)).unwrap().lost, None);
}

#[test]
fn a_copy_arrives_right_behind_and_nothing_happens_to_it() {
    let duplicating = ChannelConfig {
        duplication: Fraction::ONE,
        uniform_loss: Fraction::from_percent(50),
        ..config(0, Limit::Packets(100))
    };
    let mut channel = channel(&duplicating);
    for number in 0..64 {
        channel.offer(us(0), Ticket { order: number.into(), ..ticket(number, 100) });
    }
    let (mut lost, mut copies) = (0, 0);
    while let Some(at) = channel.next_departure() {
        let departure = channel.take_departure(at).unwrap();
        lost += u64::from(departure.lost.is_some());
        assert_eq!(departure.duplicated, departure.lost.is_none());
        if departure.duplicated {
            channel.repeat(at, Ticket { order: 1_000 + copies, ..departure.ticket });
            // It stands behind what arrives at the same time, and before what comes later.
            let copy = channel.take_departure(at).unwrap();
            assert_eq!(copy.ticket.packet, departure.ticket.packet);
            assert_eq!((copy.lost, copy.duplicated), (None, false));
            copies += 1;
        }
    }
    assert!(lost > 10 && copies > 10, "{lost} {copies}");
    let counters = channel.counters(us(99_999));
    assert_eq!((counters.duplicated.packets, counters.on_the_way()), (copies, 0));
    assert_eq!(counters.delivered.packets, 2 * copies);
}

/// What a channel does, step by step: one event per end of a transmission, nothing worked out ahead.
#[derive(Default)]
struct StepByStep {
    sending: Option<(Instant, u32)>,
    waiting: VecDeque<(u32, u32)>,
    departures: Vec<(Instant, u32)>,
}

impl StepByStep {
    const DELAY: Duration = Duration::from_micros(37);

    fn time(bytes: u32) -> Duration {
        Duration::from_micros(bytes.into())
    }

    fn run_to(&mut self, now: Instant) {
        while let Some((end, number)) = self.sending.take_if(|(end, _)| *end <= now) {
            self.departures.push((end + Self::DELAY, number));
            self.sending =
                self.waiting.pop_front().map(|(number, bytes)| (end + Self::time(bytes), number));
        }
    }

    fn offer(&mut self, now: Instant, number: u32, bytes: u32, limit: Limit) -> bool {
        self.run_to(now);
        let waiting: u64 = self.waiting.iter().map(|(_, bytes)| u64::from(*bytes)).sum();
        let fits = match limit {
            Limit::Packets(limit) => (self.waiting.len() as u64) < limit,
            Limit::Bytes(limit) => waiting + u64::from(bytes) <= limit.as_bytes(),
        };
        if self.sending.is_none() {
            self.sending = Some((now + Self::time(bytes), number));
        } else if fits {
            self.waiting.push_back((number, bytes));
        }
        fits || self.sending.is_some_and(|(_, sending)| sending == number)
    }
}

proptest! {
    /// Working departures out ahead gives exactly what going step by step gives, however rarely the channel is called.
    #[test]
    fn equals_the_channel_step_by_step(
        offers in prop::collection::vec((0..300u64, 1..200u32), 1..200),
        limit in prop_oneof![(0..8u64).prop_map(Limit::Packets), (0..900u64).prop_map(|n| Limit::Bytes(ByteCount::from_bytes(n)))],
        eager: bool,
    ) {
        let mut channel = channel(&config(37, limit));
        let mut model = StepByStep::default();
        let mut now = us(0);
        let mut departures = Vec::new();
        let mut take = |channel: &mut Channel, until: Instant| {
            while let Some(at) = channel.next_departure().filter(|at| *at <= until) {
                let departure = channel.take_departure(at).unwrap();
                departures.push((at, departure.ticket.packet.0));
            }
        };
        for (number, (gap, bytes)) in (0..).zip(offers) {
            now += Duration::from_micros(gap);
            if eager {
                take(&mut channel, now);
            }
            let accepted = channel.offer(now, ticket(number, bytes)) == Verdict::Accepted;
            prop_assert_eq!(accepted, model.offer(now, number, bytes, limit), "packet {}", number);
            prop_assert_eq!(channel.queue_level(now).packets, model.waiting.len() as u64);
        }
        take(&mut channel, Instant::FAR_FUTURE);
        model.run_to(Instant::FAR_FUTURE);
        prop_assert_eq!(departures, model.departures);
    }
}
