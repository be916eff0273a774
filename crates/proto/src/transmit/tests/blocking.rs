//! New data keeps off a path on which it would block the buffers.

use std::boxed::Box;

use polypath_wire::{Payload, VirtualPayload};

use super::*;
use crate::config::{
    BlockingEstimation, BufferSize, BufferSplit, DataCopies, EarliestCompletion, Pacing, PathOrder,
    Preset, RescheduleSide, TailReinjection,
};
use crate::mechanism::blocking_estimation::MOST_TRIES;
use crate::mechanism::goodput_guard::GoodputGuard;
use crate::mechanism::loss_delay::LossDelay;
use crate::transmit::Reliability;
use crate::transmit::decide::What;
use crate::{Delivery, Duration, Instant, OutgoingMessage};

/// Path 0 has 20 ms, and its window is full; path 1 is free and has this round-trip time. The send buffer has room for
/// this many packets.
fn bench(estimation: BlockingEstimation, order: PathOrder, slow_ms: u64, packets: u32) -> Bench {
    let mut bench = with_nothing_to_send(estimation, order, packets);
    bench.shape(0, 20, 20, 20);
    bench.shape(1, 20, 20, slow_ms);
    bench.send(2);
    bench.has_more();
    let path = bench.path(0);
    path.flight = path.congestion.cwnd;
    bench
}

fn with_nothing_to_send(estimation: BlockingEstimation, order: PathOrder, packets: u32) -> Bench {
    Bench::tuned(Preset::Recommended, 2, |config| {
        config.policies.blocking_estimation = estimation;
        config.policies.earliest_completion = EarliestCompletion::Off;
        config.policies.path_order = order;
        config.policies.data_copies = DataCopies::Off;
        config.policies.tail_reinjection = TailReinjection::Off;
        config.policies.reschedule.side = RescheduleSide::None;
        config.policies.buffer_split = BufferSplit::None;
        config.policies.send_buffer = BufferSize::Bytes;
        config.send_buffer_bytes = u64::from(packets * FULL);
    })
}

#[test]
fn a_chunk_waits_for_the_faster_path_only_where_it_would_block_the_buffer() {
    use BlockingEstimation::{Off, On};
    let slow = Some((1, What::New(FULL)));
    for (what, estimation, order, slow_ms, packets, expected) in [
        (
            "40 ms, in which the faster path sends 40 packets",
            On,
            PathOrder::LowestSrtt,
            40,
            30,
            None,
        ),
        ("a buffer for all of them", On, PathOrder::LowestSrtt, 40, 300, slow),
        ("paths alike", On, PathOrder::LowestSrtt, 20, 30, slow),
        ("no estimation", Off, PathOrder::LowestSrtt, 40, 30, slow),
    ] {
        let mut bench = bench(estimation, order, slow_ms, packets);
        assert_eq!(bench.choice(), expected, "{what}");
    }
    // With a primary path there is no choice, and so no estimation.
    let mut primary = bench(On, PathOrder::Primary, 40, 30);
    primary.book.primary = crate::PathId(1);
    assert_eq!(primary.choice(), slow);
}

/// Path 0 can have 25 packets in flight, of 30 that the buffers hold; the others have a round trip twice as long.
#[test]
fn what_other_slow_paths_have_in_flight_leaves_less_room() {
    for (on_path_2, delivery, expected) in [
        (0, Delivery::Unordered, true),
        (3, Delivery::Unordered, true),
        (4, Delivery::Unordered, false),
        // The peer has room for all, and never takes an acknowledgement back: the send buffer is what fills.
        (3, Delivery::Ordered, true),
        (4, Delivery::Ordered, false),
    ] {
        let mut bench = Bench::tuned(Preset::Recommended, 3, |config| {
            config.policies.pacing = Pacing::Off;
            config.policies.data_copies = DataCopies::Off;
            config.policies.tail_reinjection = TailReinjection::Off;
            config.policies.reschedule.side = RescheduleSide::None;
            config.policies.send_buffer = BufferSize::Bytes;
            config.send_buffer_bytes = u64::from(30 * FULL);
        });
        (0..3).for_each(|id| bench.shape(id, 20, 20, 20 + 20 * u64::from(id.min(1))));
        bench.place(&std::vec![2; on_path_2]);
        let payload = Payload::Virtual(VirtualPayload { message: 0, offset: 0, len: FULL });
        let message = OutgoingMessage { delivery, ..OutgoingMessage::from_payload(0, payload) };
        bench.send_message(message, Reliability::Full).1.unwrap();
        bench.has_more();
        if delivery == Delivery::Ordered {
            bench.tx.peer.acks_are_final = true;
            bench.tx.advertised_window = 1 << 30;
        }
        let path = bench.path(0);
        path.flight = path.congestion.cwnd;
        let choice = expected.then_some((1, What::New(FULL)));
        assert_eq!(bench.choice(), choice, "{on_path_2} {delivery:?}");
    }
}

/// Path 1 carries an eightieth of path 0, and the buffer has room for all that would wait for it.
#[test]
fn ordered_data_does_not_wait_for_a_path_that_brings_next_to_nothing() {
    let slow = Some((1, What::New(FULL)));
    for (what, packets, slow_ms, busy, delivery, expected) in [
        ("at the beginning", 5, 40, Duration::ZERO, Delivery::Ordered, None),
        ("much later", 5, 40, Duration::from_secs(4), Delivery::Ordered, slow),
        ("nothing waits", 5, 40, Duration::ZERO, Delivery::Unordered, slow),
        ("it brings something", 20, 40, Duration::ZERO, Delivery::Ordered, slow),
        ("it is no slower", 3, 20, Duration::ZERO, Delivery::Ordered, slow),
    ] {
        let mut bench = with_nothing_to_send(BlockingEstimation::On, PathOrder::LowestSrtt, 60_000);
        bench.shape(0, 200, 200, 20);
        bench.shape(1, packets, packets, slow_ms);
        let path = bench.path(0);
        path.flight = path.congestion.cwnd;
        let payload = Payload::Virtual(VirtualPayload { message: 0, offset: 0, len: FULL });
        let message = OutgoingMessage { delivery, ..OutgoingMessage::from_payload(0, payload) };
        bench.send_message(message, Reliability::Full).1.unwrap();
        bench.has_more();
        bench.tx.advertised_window = 1 << 30;
        bench.tx.busy_since = bench.now;
        bench.wait(busy.as_millis());
        assert_eq!(bench.choice(), expected, "{what}");
    }
}

/// Path 0 carries a hundred times as much as the others, which are as slow as each other, or of which path 2 was never measured.
#[test]
fn paths_that_add_next_to_nothing_do_not_excuse_each_other() {
    for is_measured in [true, false] {
        let mut bench = Bench::tuned(Preset::Recommended, 3, |config| {
            config.policies.data_copies = DataCopies::Off;
            config.policies.send_buffer = BufferSize::Bytes;
            config.send_buffer_bytes = u64::from(60_000 * FULL);
        });
        bench.shape(0, 200, 200, 20);
        bench.shape(1, 5, 5, 40);
        if is_measured {
            bench.shape(2, 5, 5, 40);
        }
        let path = bench.path(0);
        path.flight = path.congestion.cwnd;
        bench.send(2);
        bench.has_more();
        bench.tx.advertised_window = 1 << 30;
        bench.tx.busy_since = bench.now;
        bench.path(2).flight = 100 * CHUNK;
        assert_eq!(bench.choice(), None, "{is_measured}");
    }
}

#[test]
fn a_transfer_lasts_until_nothing_was_sent_for_a_timeout() {
    let mut bench = with_nothing_to_send(BlockingEstimation::On, PathOrder::LowestSrtt, 100);
    bench.shape(0, 20, 20, 20);
    bench.shape(1, 20, 20, 20);
    let mut begun = bench.now;
    for (chunk, (beyond_rto, is_new)) in (1..).zip([(false, true), (false, false), (true, true)]) {
        let rto = bench.rto(0);
        bench.wait(if beyond_rto { rto + 1 } else { rto - 1 });
        if is_new {
            begun = bench.now;
        }
        bench.send(1);
        bench.flush();
        bench.sack(&Answer::of(chunk));
        assert_eq!(bench.tx.busy_since, begun, "chunk {chunk}");
    }
}

#[test]
fn what_waits_for_chunks_is_known_from_those_that_were_sent() {
    for (delivery, bytes) in [(Delivery::Ordered, u64::MAX), (Delivery::Unordered, 0)] {
        let mut bench = with_nothing_to_send(BlockingEstimation::On, PathOrder::LowestSrtt, 100);
        let payload = Payload::Virtual(VirtualPayload { message: 0, offset: 0, len: FULL });
        let message = OutgoingMessage { delivery, ..OutgoingMessage::from_payload(0, payload) };
        bench.send_message(message, Reliability::Full).1.unwrap();
        bench.flush();
        assert_eq!(bench.tx.dependents.bytes(), bytes, "{delivery:?}");
    }
}

/// The faster path would fill the buffer meanwhile; but it carries no data of its own.
#[test]
fn nobody_waits_for_a_path_that_rests() {
    let mut bench = bench(BlockingEstimation::On, PathOrder::LowestSrtt, 40, 30);
    assert_eq!(bench.choice(), None);
    bench.tx.guard = Some(Box::new(GoodputGuard::keeping(crate::PathId(1))));
    assert_eq!(bench.choice(), Some((1, What::New(FULL))));
}

#[test]
fn what_is_left_of_a_transfer_blocks_nothing_where_all_of_it_has_room() {
    let mut bench = bench(BlockingEstimation::On, PathOrder::LowestSrtt, 40, 30);
    assert_eq!(bench.choice(), None, "more follows");
    bench.tx.demand.on_room(u64::MAX, 0);
    bench.tx.demand.cease();
    assert_eq!(bench.choice(), Some((1, What::New(FULL))));
}

#[test]
fn a_path_without_a_round_trip_gets_one_packet_at_a_time_until_it_was_tried_often() {
    let slow = Some((1, What::New(FULL)));
    let mut bench = bench(BlockingEstimation::On, PathOrder::LargestSpace, 40, 30);
    bench.path(1).rtt = crate::paths::rtt::RttEstimator::with_rules(
        bench.config.policies.rto,
        bench.config.policies.control_rtt,
    );
    assert_eq!(bench.choice(), slow, "nothing is in flight there");
    bench.path(1).flight = CHUNK;
    assert_eq!(bench.choice(), None, "its answer will tell");
    bench.path(1).counters.data_bytes_acked = u64::from(FULL) * MOST_TRIES - 1;
    assert_eq!(bench.choice(), None, "the last try may tell");
    bench.path(1).counters.data_bytes_acked = u64::from(FULL) * MOST_TRIES;
    assert_eq!(bench.choice(), slow, "answers do not tell");
}

/// All that remains is two packets. The lower-RTT path, whose congestion window is full, has delivered them long before the slow path brings
/// its first.
#[test]
fn the_end_of_what_there_is_waits_for_the_path_that_has_delivered_it_first() {
    let slow = Some((1, What::New(FULL)));
    for (what, slow_ms, has_more, expected) in [
        ("the slow path would bring its packet when all has arrived", 400, false, None),
        ("it brings it as soon", 20, false, slow),
        ("more follows", 400, true, slow),
    ] {
        let mut bench = bench(BlockingEstimation::Off, PathOrder::LowestSrtt, slow_ms, 300);
        bench.config.policies.earliest_completion = EarliestCompletion::On;
        if !has_more {
            bench.tx.demand.on_room(u64::MAX, 0);
            bench.tx.demand.cease();
        }
        assert_eq!(bench.choice(), expected, "{what}");
    }
}

/// A path that data has not measured is at least as slow as control chunks say.
#[test]
fn the_end_of_what_there_is_keeps_off_a_path_that_answers_late_to_control_chunks() {
    let slow = Some((1, What::New(FULL)));
    for (what, control_ms, expected) in [
        ("late", Some(400), None),
        ("as soon as the other path", Some(20), slow),
        ("not at all", None, slow),
    ] {
        let mut bench = Bench::tuned(Preset::Recommended, 2, |config| {
            config.policies.pacing = Pacing::Off;
            config.policies.blocking_estimation = BlockingEstimation::Off;
            config.policies.data_copies = DataCopies::Off;
        });
        bench.shape(0, 3, 9, 20);
        let now = bench.now;
        if let Some(ms) = control_ms {
            bench.path(1).rtt.on_control_sample(now, Duration::from_millis(ms));
        }
        bench.place(&[0; 3]);
        bench.send(2);
        bench.tx.demand.on_room(u64::MAX, 0);
        bench.tx.demand.cease();
        assert_eq!(bench.choice(), expected, "{what}");
    }
}

/// With NR-SACK the receive buffer alone is what ordered data fills, but what is in flight is in the send buffer, too: with 20 packets of
/// it the other path, which can have 20 in flight, needs all.
#[test]
fn what_is_in_flight_takes_room_in_a_short_send_buffer() {
    let slow = Some((1, What::New(FULL)));
    for (packets, acks_are_final, expected) in [(20, true, None), (300, true, slow)] {
        let mut bench = bench(BlockingEstimation::On, PathOrder::LowestSrtt, 40, packets);
        bench.tx.peer.acks_are_final = acks_are_final;
        assert_eq!(bench.choice(), expected, "{packets} packets");
    }
}

/// The lower-RTT path has a full window that was sent at once and is answered after 20 ms; half a round trip later the rest arrives. The
/// slow path brings it after 25 ms.
#[test]
fn the_end_of_what_there_is_does_not_wait_for_an_answer_that_comes_too_late() {
    for (waited_ms, expected) in [(0, Some((1, What::New(FULL)))), (15, None)] {
        let mut bench = with_nothing_to_send(BlockingEstimation::Off, PathOrder::LowestSrtt, 300);
        bench.config.policies.earliest_completion = EarliestCompletion::On;
        bench.config.policies.pacing = Pacing::Off;
        bench.shape(0, 3, 3, 20);
        bench.shape(1, 20, 20, 50);
        bench.place(&[0; 3]);
        bench.send(2);
        bench.tx.demand.on_room(u64::MAX, 0);
        bench.tx.demand.cease();
        bench.wait(waited_ms);
        assert_eq!(bench.choice(), expected, "{waited_ms} ms");
    }
}

fn one_of_forty_lost() -> LossDelay {
    let mut losses = LossDelay::new();
    for round in 1..=64 {
        if round % 2 == 0 {
            losses.on_lost();
        }
        losses.on_delivered(Instant::ZERO + Duration::from_millis(50 * round), Duration::ZERO, 20);
    }
    losses
}

/// Path 0 has 20 ms and loses one of 40 chunks, so that a window of 24 waits for a round trip nearly every other time; path 1 has 30 ms.
#[test]
fn a_slower_path_blocks_one_whose_window_waits_for_losses_in_any_case() {
    let losses = one_of_forty_lost();
    for lossy in [&[][..], &[0], &[1], &[0, 1]] {
        let mut bench = bench(BlockingEstimation::On, PathOrder::LowestSrtt, 30, 24);
        bench.send(20);
        for id in lossy {
            bench.path(*id).record.loss_delay = losses;
        }
        assert_eq!(bench.choice(), None, "{lossy:?}");
    }
    // Of two paths alike neither waits for the other, whatever they lose.
    let mut alike = bench(BlockingEstimation::On, PathOrder::LowestSrtt, 20, 24);
    (0..2).for_each(|id| alike.path(id).record.loss_delay = losses);
    assert_eq!(alike.choice(), Some((1, What::New(FULL))));
}

/// Path 0 has 50 ms and loses one of 40 chunks, path 1 has 55 ms. What is lost delays a whole window by a round trip.
#[test]
fn of_paths_nearly_alike_a_window_of_ordered_data_takes_the_one_that_loses_nothing() {
    let losses = one_of_forty_lost();
    for (messages, is_lossy, path) in [(30, false, 0), (30, true, 1), (1, true, 0)] {
        let mut bench = with_nothing_to_send(BlockingEstimation::Off, PathOrder::LowestSrtt, 300);
        bench.config.policies.pacing = Pacing::Off;
        bench.shape(0, 20, 20, 50);
        bench.shape(1, 20, 20, 55);
        if is_lossy {
            bench.path(0).record.loss_delay = losses;
        }
        bench.send(messages);
        bench.has_more();
        assert_eq!(bench.choice(), Some((path, What::New(FULL))), "{messages} {is_lossy}");
    }
}
