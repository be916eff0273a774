use std::vec;
use std::vec::Vec;

use super::*;

/// Streams that always have messages of one length each.
struct Saturated {
    scheduler: Scheduler,
    lengths: Vec<u64>,
}

impl Saturated {
    fn new(policy: StreamScheduler, lengths: &[u64], values: &[u16]) -> Self {
        let mut scheduler = Scheduler::new(policy);
        for (stream, value) in values.iter().enumerate() {
            scheduler.set_value(stream as u16, *value);
        }
        for stream in 0..lengths.len() {
            scheduler.on_waiting(stream as u16);
        }
        Self { scheduler, lengths: lengths.into() }
    }

    fn take(&mut self, bundled: Option<u16>) -> Option<u16> {
        let stream = self.scheduler.next(bundled)?;
        self.scheduler.on_taken(stream, self.lengths[usize::from(stream)], bundled);
        Some(stream)
    }

    fn order(&mut self, messages: usize) -> Vec<u16> {
        (0..messages).filter_map(|_| self.take(None)).collect()
    }

    /// Bytes per stream after `messages` messages.
    fn shares(&mut self, messages: usize) -> Vec<u64> {
        let mut bytes = vec![0; self.lengths.len()];
        for stream in self.order(messages) {
            bytes[usize::from(stream)] += self.lengths[usize::from(stream)];
        }
        bytes
    }
}

#[test]
fn round_robin_gives_each_stream_a_message() {
    let mut streams = Saturated::new(StreamScheduler::RoundRobin, &[1000, 10, 500], &[]);
    assert_eq!(streams.order(7), [0, 1, 2, 0, 1, 2, 0]);
    // A stream that pauses loses its place and returns behind the others.
    streams.scheduler.on_empty(1);
    assert_eq!(streams.order(3), [2, 0, 2]);
    streams.scheduler.on_waiting(1);
    assert_eq!(streams.order(4), [0, 2, 1, 0]);
}

#[test]
fn round_robin_per_packet_switches_with_packets() {
    let mut streams = Saturated::new(StreamScheduler::RoundRobinPerPacket, &[100, 100], &[]);
    assert_eq!(streams.take(None), Some(0));
    assert_eq!(streams.take(Some(0)), Some(0));
    assert_eq!(streams.take(Some(0)), Some(0));
    assert_eq!(streams.take(None), Some(1));
    assert_eq!(streams.take(None), Some(0));
    // Nothing of another stream joins the packet.
    streams.scheduler.on_empty(0);
    assert_eq!(streams.take(Some(0)), None);
    assert_eq!(streams.take(None), Some(1));
}

#[test]
fn priority_starves_and_takes_turns_among_equals() {
    let mut streams = Saturated::new(StreamScheduler::Priority, &[10, 10, 10, 10], &[7, 2, 7, 2]);
    assert_eq!(streams.order(5), [1, 3, 1, 3, 1]);
    streams.scheduler.on_empty(3);
    assert_eq!(streams.order(2), [1, 1]);
    streams.scheduler.on_empty(1);
    assert_eq!(streams.order(3), [0, 2, 0]);
    // A priority that changes counts at once.
    streams.scheduler.set_value(0, 8);
    assert_eq!(streams.order(2), [2, 2]);
}

#[test]
fn fair_shares_bytes_whatever_the_lengths() {
    let mut streams = Saturated::new(StreamScheduler::Fair, &[1500, 100, 700], &[9, 1, 5]);
    let shares = streams.shares(10_000);
    let (least, most) = (shares.iter().min().unwrap(), shares.iter().max().unwrap());
    assert!(most - least <= 3000, "{shares:?}");
}

#[test]
fn a_pause_saves_nothing_up() {
    for policy in [StreamScheduler::Fair, StreamScheduler::WeightedFair] {
        let mut streams = Saturated::new(policy, &[1000, 1000], &[]);
        streams.scheduler.on_empty(1);
        streams.order(1000);
        streams.scheduler.on_waiting(1);
        assert_eq!(streams.shares(100), [50_000, 50_000]);
    }
}

#[test]
fn weights_divide_the_bytes() {
    let mut streams = Saturated::new(StreamScheduler::WeightedFair, &[1000, 250, 400], &[6, 2, 0]);
    let shares = streams.shares(90_000);
    let unit = shares[2] as f64;
    assert!((shares[0] as f64 / unit - 6.0).abs() < 0.01, "{shares:?}");
    assert!((shares[1] as f64 / unit - 2.0).abs() < 0.01, "{shares:?}");
}

#[test]
fn one_queue_serves_all_that_come_first() {
    let scheduler = Scheduler::new(StreamScheduler::Fcfs);
    assert_eq!([0, 7, u16::MAX].map(|stream| scheduler.lane(stream)), [0, 0, 0]);
    assert_eq!(scheduler.next(Some(3)), Some(0));
}

#[test]
fn every_stream_there_can_be_has_its_turn() {
    let mut streams = Saturated::new(StreamScheduler::RoundRobin, &[1; 1 << 16], &[]);
    assert_eq!(streams.order(1 << 16), (0..=u16::MAX).collect::<Vec<_>>());
}
