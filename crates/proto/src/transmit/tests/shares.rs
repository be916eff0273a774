//! How the buffers are shared among paths, and how large they are.

use std::boxed::Box;

use polypath_wire::{DuplicateTsns, NrSack, Payload, VirtualPayload};

use super::*;
use crate::config::{
    AssociationConfig, BlockingEstimation, BufferSize, BufferSplit, BufferSplitBy,
    BufferSplitShares, Burst, PathOrder,
};
use crate::mechanism::goodput_guard::GoodputGuard;
use crate::transmit::buffer_size::DeliveryRate;
use crate::transmit::partial_reliability::Reliability;
use crate::transmit::sack::testing::blocks;
use crate::{Delivery, Duration, OutgoingMessage, PathId};

const BUFFER: u32 = 20;

/// A send buffer of 20 packets. Path 0 has 20 ms and a window of 40 packets, path 1 100 ms and three packets.
fn split(tune: impl FnOnce(&mut AssociationConfig)) -> Bench {
    let mut bench = Bench::tuned(preset("cmt"), 2, |config| {
        let policies = &mut config.policies;
        policies.burst = Burst::Off;
        policies.path_order = PathOrder::LowestSrtt;
        policies.buffer_split = BufferSplit::Sender;
        policies.buffer_split_by = BufferSplitBy::Buffered;
        policies.buffer_split_shares = BufferSplitShares::ByNeed;
        policies.send_buffer = BufferSize::Bytes;
        config.send_buffer_bytes = u64::from(BUFFER * FULL);
        tune(config);
    });
    bench.shape(0, 40, 40, 20);
    bench.shape(1, 3, 3, 100);
    bench
}

fn message(path: u8, delivery: Delivery) -> OutgoingMessage {
    let payload = Payload::Virtual(VirtualPayload { message: 0, offset: 0, len: FULL });
    let message = OutgoingMessage::from_payload(0, payload);
    OutgoingMessage { path: Some(PathId(path)), delivery, ..message }
}

#[test]
fn a_single_path_fills_the_buffers_to_the_last_byte() {
    let sent = |shares, usable| {
        let mut bench = Bench::tuned(preset("cmt"), usable, |config| {
            config.policies.buffer_split = BufferSplit::Both;
            config.policies.buffer_split_shares = shares;
            config.policies.send_buffer = BufferSize::Bytes;
            config.send_buffer_bytes = u64::from(2 * FULL);
        });
        bench.shape(0, 40, 40, 20);
        bench.send_one(2 * FULL, Reliability::Full).1.unwrap();
        bench.flush().iter().map(|sent| sent.chunks.len()).sum::<usize>()
    };
    assert_eq!(sent(BufferSplitShares::ByNeed, 1), 2);
    assert_eq!(sent(BufferSplitShares::Equal, 1), 1, "the formula leaves room for an MTU");
}

/// How many of as many packets as the buffer holds a path takes, all of which name it.
fn taken(bench: &mut Bench, path: u8) -> usize {
    for _ in 0..BUFFER {
        bench.send_message(message(path, Delivery::Ordered), Reliability::Full).1.unwrap();
    }
    bench.has_more();
    bench.flush().len()
}

#[test]
fn the_fastest_path_takes_what_the_others_do_not_need() {
    type Tune = fn(&mut AssociationConfig);
    let cases: [(&str, Tune, usize); 6] = [
        // 29,040 bytes, less three chunks of 1,468 and an MTU, and an MTU has to fit: 14.8 packets, so that the 15th still goes.
        ("by need", |_| {}, 15),
        (
            "equal shares",
            |config| config.policies.buffer_split_shares = BufferSplitShares::Equal,
            9,
        ),
        ("no shares", |config| config.policies.buffer_split = BufferSplit::None, 20),
        (
            "a primary path shares with no other",
            |config| config.policies.path_order = PathOrder::Primary,
            20,
        ),
        (
            "equal shares with a primary path",
            |config| {
                config.policies.path_order = PathOrder::Primary;
                config.policies.buffer_split_shares = BufferSplitShares::Equal;
            },
            19,
        ),
        (
            "new data stays away from the other path, which has nothing",
            |config| {
                config.policies.blocking_estimation = BlockingEstimation::On;
                config.policies.buffer_split = BufferSplit::Sender;
            },
            19,
        ),
    ];
    for (what, tune, packets) in cases {
        assert_eq!(taken(&mut split(tune), 0), packets, "{what}");
    }
    let mut alone = split(|_| {});
    alone.tx.guard = Some(Box::new(GoodputGuard::keeping(PathId(0))));
    assert_eq!(taken(&mut alone, 0), 19, "the other path rests");
    let mut slow = split(|_| {});
    slow.shape(1, 39, 39, 100);
    assert_eq!(taken(&mut slow, 1), 9, "a slower path has its equal share");
}

/// What path 0 was sent is acknowledged in gap blocks that the peer will keep.
fn keep(bench: &mut Bench, kept: &[(u16, u16)]) {
    let nr_sack = NrSack {
        flags: 0,
        cumulative_tsn_ack: tsn(0).previous().0,
        a_rwnd: Bench::PEER_WINDOW - kept.len() as u32 * FULL,
        renegable_blocks: blocks(&[]),
        non_renegable_blocks: blocks(kept),
        duplicate_tsns: DuplicateTsns::Borrowed(&[]),
        reserved: 0,
    };
    let (tx, mut cx) = bench.lend();
    tx.on_nr_sack(&mut cx, &nr_sack, PathId(0));
}

#[test]
fn the_receive_buffer_holds_what_waits_for_its_order_though_the_sender_has_forgotten_it() {
    let whole = u64::from(Bench::PEER_WINDOW);
    let mut bench = split(|config| config.policies.buffer_split = BufferSplit::None);
    assert_eq!(bench.tx.receive_buffer(), whole);
    bench.place(&[0, 1, 0, 1]);
    assert_eq!(bench.tx.receive_buffer(), whole, "it is in flight");
    keep(&mut bench, &[(2, 2), (4, 4)]);
    assert_eq!(bench.tx.queue.used(), u64::from(2 * FULL));
    assert_eq!(bench.tx.receive_buffer(), whole, "the peer keeps chunks 1 and 3");
    let kept = |bench: &Bench| {
        [0, 1].map(|id| bench.tx.outstanding.released_early_on(PathId(id)) / u64::from(FULL))
    };
    assert_eq!(kept(&bench), [0, 2]);
    bench.tx.outstanding.abandon(tsn(1));
    assert_eq!(kept(&bench), [0, 1], "a FORWARD-TSN abandons it");
    bench.sack(&Answer::of(4));
    assert_eq!((kept(&bench), bench.tx.receive_buffer()), ([0, 0], whole));
    // What a later SACK says without a promise may be withdrawn.
    bench.place(&[0, 0]);
    bench.sack(&Answer::of(4).gaps(&[(5, 5)]));
    assert!(bench.tx.outstanding.has_renegable());
    // What is delivered in any order does not wait.
    let mut unordered = split(|config| config.policies.buffer_split = BufferSplit::None);
    for path in [0, 1] {
        let message = message(path, Delivery::Unordered);
        unordered.send_message(message, Reliability::Full).1.unwrap();
    }
    unordered.flush();
    keep(&mut unordered, &[(2, 2)]);
    assert_eq!(kept(&unordered), [0, 0]);
}

/// Both paths are measured; nothing is in flight.
fn idle(policy: BufferSize, ssthresh: u64) -> Bench {
    let mut bench = Bench::tuned(preset("cmt"), 2, |config| {
        config.policies.burst = Burst::Off;
        config.policies.send_buffer = policy;
        config.send_buffer_bytes = 1 << 26;
    });
    bench.shape(0, 20, ssthresh, 100);
    bench.shape(1, 20, ssthresh, 50);
    bench
}

/// Path 0 has delivered so many packets since a round trip began.
fn deliver(bench: &mut Bench, packets: u32) {
    let (now, round_trip) = (bench.now, Duration::from_millis(100));
    let delivery = &mut bench.path(0).record.delivery;
    *delivery = DeliveryRate::new();
    for packets in [0, packets] {
        assert!(!delivery.on_acked(now, u64::from(packets * FULL), round_trip));
    }
}

#[test]
fn the_send_buffer_follows_what_a_path_delivers_in_a_round_trip() {
    for (what, policy, ssthresh, round_trips) in [
        ("congestion avoidance", BufferSize::AutoFast, 1, Some(2.0)),
        ("slow start, whose rate may double", BufferSize::AutoFast, 1000, Some(4.0)),
        ("a fixed size", BufferSize::Bytes, 1, None),
    ] {
        let mut bench = idle(policy, ssthresh);
        let before = bench.tx.queue.limit();
        deliver(&mut bench, 2999);
        bench.place(&[0]);
        bench.wait(100);
        bench.path(0).timed = None;
        bench.sack(&Answer::of(1));
        let expected = round_trips.map_or(before as f64, |number| number * f64::from(3000 * FULL));
        let limit = bench.tx.queue.limit() as f64;
        assert!((limit / expected - 1.0).abs() < 0.01, "{what}: {limit}, not {expected}");
    }
}

#[test]
fn a_path_of_which_nothing_arrived_ends_no_measurement() {
    let mut bench = idle(BufferSize::AutoFast, 1);
    let before = bench.tx.queue.limit();
    deliver(&mut bench, 2999);
    bench.place(&[1, 0]);
    bench.wait(100);
    bench.sack(&Answer::of(1).over(1));
    assert_eq!(bench.tx.queue.limit(), before, "of path 0 nothing arrived");
    bench.sack(&Answer::of(2));
    assert!(bench.tx.queue.limit() > before);
}
