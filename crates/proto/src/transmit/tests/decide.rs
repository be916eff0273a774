//! Which packet is next.

use std::collections::BTreeSet;
use std::vec::Vec;

use polypath_wire::{Payload, VirtualPayload};

use super::*;
use crate::config::{
    DataBeforeConfirmation, DataCopies, Pacing, PathFill, PathOrder, Preset, RescheduleSide,
    TailReinjection,
};
use crate::paths::reach::{Reach, Reason};
use crate::probe::TransmissionCause;
use crate::transmit::SendPhase;
use crate::transmit::decide::What;
use crate::transmit::partial_reliability::Reliability;
use crate::{Duration, OutgoingMessage, PathId};

/// What keeps new data off a path.
type Obstacle = (&'static str, fn(&mut Bench, u8));

const NEW: What = What::New(FULL);

/// What is done to a sender, and what it chooses then.
type Case = (&'static str, fn(&mut Bench), Option<(u8, What)>);

fn full(bench: &mut Bench, id: u8) {
    let path = bench.path(id);
    path.flight = path.congestion.cwnd;
}

fn to(path: u8) -> OutgoingMessage {
    let payload = VirtualPayload { message: 0, offset: 0, len: FULL };
    let message = OutgoingMessage::from_payload(0, Payload::Virtual(payload));
    OutgoingMessage { path: Some(PathId(path)), ..message }
}

#[test]
fn without_data_window_or_path_nothing_goes() {
    let cases: [Case; 10] = [
        ("one message waits", |bench| bench.send(1), Some((0, NEW))),
        ("nothing waits", |_| {}, None),
        (
            "the association does not send",
            |bench| {
                bench.send(1);
                bench.phase = SendPhase::Closed;
            },
            None,
        ),
        (
            "it sends what it has",
            |bench| {
                bench.send(1);
                bench.phase = SendPhase::Draining;
            },
            Some((0, NEW)),
        ),
        (
            "both congestion windows are full",
            |bench| {
                bench.send(1);
                full(bench, 0);
                full(bench, 1);
            },
            None,
        ),
        (
            "one congestion window is full",
            |bench| {
                bench.send(1);
                full(bench, 0);
            },
            Some((1, NEW)),
        ),
        (
            "one path has failed",
            |bench| {
                bench.send(1);
                bench.fail(0);
            },
            Some((1, NEW)),
        ),
        (
            "all paths have failed: the one with the fewest errors carries data",
            |bench| {
                bench.send(1);
                bench.fail(0);
                bench.fail(1);
                bench.book[PathId(0)].errors = 7;
                bench.book[PathId(1)].errors = 6;
            },
            Some((1, NEW)),
        ),
        (
            "this host has lost its addresses",
            |bench| {
                bench.send(1);
                let gone = Reach::Inactive(Reason::NoLocalAddress);
                bench.book.ids().for_each(|path| bench.book.set_reach(path, gone));
            },
            None,
        ),
        (
            "the peer has closed its window",
            |bench| {
                bench.send(1);
                bench.tx.advertised_window = 0;
            },
            None,
        ),
    ];
    for (what, change, expected) in cases {
        let mut bench = Bench::new(preset("cmt"), 2);
        change(&mut bench);
        assert_eq!(bench.choice(), expected, "{what}");
    }
}

/// Three paths, so that each order begins with another one than the order before. Sizes in packets.
fn unequal(order: PathOrder) -> Bench {
    let mut bench = Bench::tuned(preset("cmt"), 3, |config| config.policies.path_order = order);
    // (cwnd, ssthresh, RTT in ms, flight, rank of the last packet)
    let paths = [(20, 30, 50, 10, 5), (40, 20, 20, 20, 9), (40, 30, 90, 25, 3)];
    for (id, (cwnd, ssthresh, rtt, flight, rank)) in (0..).zip(paths) {
        bench.shape(id, cwnd, ssthresh, rtt);
        bench.path(id).flight = flight * CHUNK;
        bench.path(id).transmission_rank = rank;
    }
    bench.tx.last_served = 1;
    bench.book.primary = PathId(1);
    bench.send(1);
    bench
}

#[test]
fn new_data_takes_the_first_path_of_the_order_that_may_carry_it() {
    // (order, its first path, the one that follows where that has a full cwnd, is banned or has failed)
    for (order, first, second) in [
        (PathOrder::Fixed, 0, 1),
        (PathOrder::SmallestLastTransmission, 2, 0),
        (PathOrder::Rotating, 2, 0),
        (PathOrder::LargestSpace, 1, 2),
        (PathOrder::LargestSsthresh, 0, 2),
        (PathOrder::LargestSpaceAndSsthresh, 2, 0),
        (PathOrder::LowestSrtt, 1, 0),
    ] {
        assert_eq!(unequal(order).choice(), Some((first, NEW)), "{order:?}");
        let changes: [Obstacle; 3] = [
            ("full cwnd", full),
            ("banned", |bench, id| {
                let now = bench.now;
                bench.path(id).new_data_ban.begin(now, Duration::from_nanos(1));
            }),
            ("failed", |bench, id| bench.fail(id)),
        ];
        for (what, change) in changes {
            let mut bench = unequal(order);
            change(&mut bench, first);
            assert_eq!(bench.choice(), Some((second, NEW)), "{order:?}, {what}");
        }
    }
}

#[test]
fn with_a_primary_path_others_carry_new_data_only_once_it_has_failed() {
    let bench = || unequal(PathOrder::Primary);
    assert_eq!(bench().choice(), Some((1, NEW)));
    let mut no_window = bench();
    full(&mut no_window, 1);
    assert_eq!(no_window.choice(), None);
    let mut failed = bench();
    failed.fail(1);
    assert_eq!(failed.choice(), Some((2, NEW)), "the next one in the table");
}

#[test]
fn in_random_order_every_path_with_window_has_its_turn() {
    let mut bench = unequal(PathOrder::Random);
    full(&mut bench, 0);
    let chosen: BTreeSet<_> = (0..64).filter_map(|_| Some(bench.choice()?.0)).collect();
    assert_eq!(chosen, BTreeSet::from([1, 2]));
}

#[test]
fn a_ban_ends_at_its_time() {
    let mut bench = unequal(PathOrder::Fixed);
    let now = bench.now;
    bench.path(0).new_data_ban.begin(now, Duration::from_millis(1));
    assert_eq!(bench.choice(), Some((1, NEW)));
    bench.wait(1);
    assert_eq!(bench.choice(), Some((0, NEW)));
}

#[test]
fn how_much_a_path_takes_at_a_time() {
    for (fill, expected) in [
        (PathFill::PacketByPacket, [0, 1, 0, 1, 0, 1]),
        (PathFill::FillWindow, [0, 0, 0, 1, 1, 1]),
        (PathFill::Runs, [0, 1, 0, 1, 0, 1]),
    ] {
        let mut bench = Bench::tuned(preset("cmt"), 2, |config| {
            config.policies.path_fill = fill;
            config.policies.path_order = PathOrder::SmallestLastTransmission;
        });
        (0..2).for_each(|id| bench.shape(id, 3, 100, 50));
        bench.send(9);
        let paths: Vec<u8> = bench.flush().iter().map(|sent| sent.path).collect();
        assert_eq!(paths, expected, "{fill:?}");
    }
}

/// Path 1 is slow and has 128 packets in flight, which makes trains of two; path 0 is fast and full.
#[test]
fn a_slow_path_waits_for_room_for_a_train_and_then_sends_all_of_it() {
    let slow = Duration::from_millis(100);
    for (what, fill, cwnd, fast_ms, expected) in [
        ("room for one packet", PathFill::Runs, 129, 20, 0),
        ("room for two", PathFill::Runs, 130, 20, 2),
        ("no trains", PathFill::PacketByPacket, 129, 20, 1),
        ("as fast as the other path", PathFill::Runs, 129, 100, 1),
    ] {
        let mut bench = Bench::tuned(preset("cmt"), 2, |config| {
            config.policies.path_fill = fill;
        });
        bench.shape(0, 10, 10, fast_ms);
        bench.shape(1, cwnd, 10, slow.as_millis());
        full(&mut bench, 0);
        bench.path(1).flight = 128 * CHUNK;
        bench.send(9);
        let sent = bench.sends();
        assert_eq!(sent.len(), expected, "{what}");
        assert!(sent.iter().all(|(path, _)| *path == 1), "{what}");
    }
}

#[test]
fn a_message_takes_the_path_that_it_names_while_that_works() {
    for order in [PathOrder::Primary, PathOrder::Fixed, PathOrder::LowestSrtt] {
        let bench = || {
            let mut bench = unequal(order);
            while bench.choice().is_some() {
                let packets = bench.flush();
                assert!(!packets.is_empty());
            }
            bench.send_message(to(2), Reliability::Full).1.unwrap();
            bench
        };
        assert_eq!(bench().choice(), Some((2, NEW)), "{order:?}");
        let mut only = bench();
        (0..2).for_each(|id| full(&mut only, id));
        assert_eq!(only.choice(), Some((2, NEW)), "{order:?}: no other one has window");
        let mut no_window = bench();
        full(&mut no_window, 2);
        assert_eq!(no_window.choice(), None, "{order:?}: it waits for its window");
        let mut failed = bench();
        failed.fail(2);
        assert!(failed.choice().is_some_and(|(path, _)| path != 2), "{order:?}: another takes it");
    }
}

#[test]
fn before_all_addresses_are_confirmed_data_waits_where_the_policy_says_so() {
    for (policy, expected) in
        [(DataBeforeConfirmation::On, Some((0, NEW))), (DataBeforeConfirmation::Off, None)]
    {
        let mut bench = Bench::tuned(preset("cmt"), 2, |config| {
            config.policies.rto.data_before_confirmation = policy;
        });
        bench.send(1);
        bench.book.set_reach(PathId(1), Reach::Unconfirmed);
        assert_eq!(bench.choice(), expected, "{policy:?}");
        bench.book.set_reach(PathId(1), Reach::Active);
        assert_eq!(bench.choice(), Some((0, NEW)), "{policy:?}, confirmed");
    }
}

#[test]
fn lost_chunks_go_before_new_ones_and_fill_the_packet() {
    let mut bench = Bench::new(Preset::Rfc9260, 1);
    bench.shape(0, 9, 9, 50);
    for _ in 0..3 {
        bench.send_one(100, Reliability::Full).1.unwrap();
    }
    assert_eq!(bench.sends(), [(0, [0, 1, 2].into())]);
    for chunk in [0, 2] {
        bench.mark_lost(tsn(chunk), TransmissionCause::FastRetransmission);
    }
    bench.send_one(100, Reliability::Full).1.unwrap();
    assert_eq!(bench.choice(), Some((0, What::Retransmit)));
    assert_eq!(bench.sends(), [(0, [0, 2, 3].into())], "new data has the rest of the packet");
}

/// Chunk 0 is missing on path 0; path 1 has delivered what came after it. A path's share of the send buffer is five
/// packets.
fn blocked(side: RescheduleSide, delivered: u32) -> Bench {
    let mut bench = Bench::tuned(Preset::DreibholzAsymmetric, 2, |config| {
        config.policies.reschedule.side = side;
        config.send_buffer_bytes = u64::from(10 * FULL);
    });
    bench.shape(0, 9, 9, 400);
    bench.shape(1, 9, 9, 20);
    bench.place(&[0, 1, 1, 1]);
    bench.wait(20);
    bench.sack(&Answer::of(0).gaps(&[(1, delivered)]).over(1));
    bench
}

#[test]
fn the_chunk_that_blocks_the_buffers_moves_to_the_path_that_waits_for_it() {
    use RescheduleSide::{Both, None as Never, Receiver, Sender};
    for (what, side, delivered, moves) in [
        ("more than half of the share is delivered", Both, 3, true),
        ("less than half is", Both, 2, false),
        ("the sender's buffer blocks", Sender, 3, true),
        ("the receiver's does not", Receiver, 3, false),
        ("no rescheduling", Never, 3, false),
    ] {
        let expected = moves.then_some((1, What::Move(tsn(0))));
        assert_eq!(blocked(side, delivered).choice(), expected, "{what}");
    }
}

/// Its answer is due after 400 ms. The other path has filled what is left of the buffer, six packets, within 13 ms.
#[test]
fn a_blocking_chunk_that_arrives_before_the_buffers_are_full_does_not_move() {
    for (waited_ms, moves) in [(0, true), (180, true), (372, false)] {
        let mut bench = blocked(RescheduleSide::Both, 3);
        bench.config.policies.reschedule.conditions = crate::config::RescheduleConditions::Stall;
        bench.wait(waited_ms);
        let expected = moves.then_some((1, What::Move(tsn(0))));
        assert_eq!(bench.choice(), expected, "{waited_ms} ms");
    }
}

#[test]
fn the_path_that_a_blocking_chunk_leaves_pays_and_is_watched() {
    let mut bench = blocked(RescheduleSide::Both, 3);
    bench.begin();
    let decision = bench.decide().unwrap();
    let sent = bench.fill(&decision);
    assert_eq!((sent.path, &sent.chunks[..]), (1, &[0][..]));
    assert!(sent.hurries(), "its SACK is to come at once");
    assert_eq!(crate::transmit::testing::told(&sent.effects), ["Emptied(PathId(0))"]);
    assert_eq!(bench.flights(), [0, CHUNK]);
    assert_eq!(bench.path(0).congestion.cwnd, 8 * CHUNK, "what may still be on its way");
    assert_eq!(bench.t3(0), None);
    assert_eq!(bench.t3(1), Some(bench.rto(1)));
    assert_eq!(bench.decide(), None, "it does not move back at the same instant");
}

/// At the tail: chunk 0 was sent over path 1 with its 400 ms; path 0 takes 20 ms or more.
fn tail(rtt_ms: u64, policy: TailReinjection) -> Bench {
    let mut bench = Bench::tuned(Preset::Recommended, 2, |config| {
        config.policies.tail_reinjection = policy;
        config.policies.data_copies = DataCopies::Off;
    });
    bench.shape(0, 9, 9, rtt_ms);
    bench.shape(1, 9, 9, 400);
    bench.send_message(to(1), Reliability::Full).1.unwrap();
    bench.begin();
    let decision = bench.decide().unwrap();
    assert_eq!(bench.fill(&decision).path, 1);
    bench
}

#[test]
fn the_last_chunks_leave_a_path_where_they_are_late() {
    let late = Some((0, What::Late(tsn(0))));
    let cases: [Case; 6] = [
        ("just sent", |_| {}, late),
        ("half way", |bench| bench.wait(200), late),
        ("nearly there", |bench| bench.wait(390), None),
        ("overdue, a quarter and the delay of SACKs late", |bench| bench.wait(700), late),
        ("the fast path is full", |bench| full(bench, 0), None),
        ("more waits: new data goes first", |bench| bench.send(1), Some((0, NEW))),
    ];
    for (what, change, expected) in cases {
        let mut bench = tail(20, TailReinjection::On);
        change(&mut bench);
        assert_eq!(bench.choice(), expected, "{what}");
    }
    assert_eq!(tail(380, TailReinjection::On).choice(), None, "the paths are nearly alike");
    assert_eq!(tail(20, TailReinjection::Off).choice(), None);
}

#[test]
fn a_path_that_a_late_chunk_leaves_takes_no_new_data_for_a_round_trip() {
    for (what, waits_ms, pacing, is_banned) in [
        ("only another path is faster", 0, Pacing::On, false),
        ("it is overdue, and may be lost", 700, Pacing::On, true),
        ("nothing keeps a burst from what is on its way", 0, Pacing::Off, true),
    ] {
        let mut bench = tail(20, TailReinjection::On);
        bench.config.policies.pacing = pacing;
        bench.wait(waits_ms);
        let cwnd = bench.path(1).congestion.cwnd;
        let decision = bench.decide().unwrap();
        let sent = bench.fill(&decision);
        assert_eq!((sent.path, &sent.chunks[..]), (0, &[0][..]), "{what}");
        assert_eq!(crate::transmit::testing::told(&sent.effects), ["Emptied(PathId(1))"], "{what}");
        assert_eq!(bench.flights(), [CHUNK, 0], "{what}");
        let until = bench.now + Duration::from_millis(400);
        let expected = is_banned.then_some(until);
        assert_eq!(bench.path(1).new_data_ban.ends_at(), expected, "{what}");
        assert_eq!(bench.path(1).congestion.cwnd, cwnd, "{what}");
        assert_eq!(bench.t3(1), None, "{what}");
        assert!(bench.t3(0).is_some(), "{what}");
        assert_eq!(bench.decide(), None, "it does not move twice: {what}");
    }
}

#[test]
fn a_chunk_does_not_move_to_a_path_that_recovers_or_takes_nothing_new() {
    type Change = fn(&mut Bench);
    let cases: [(&str, Change, bool); 4] = [
        ("nothing", |_| {}, true),
        ("the path recovers", |bench| bench.path(1).recovery.enter(tsn(3)), false),
        ("the association does", |bench| bench.tx.recovery.enter(tsn(3)), false),
        (
            "the path is banned",
            |bench| {
                let now = bench.now;
                bench.path(1).new_data_ban.begin(now, Duration::from_millis(5));
            },
            false,
        ),
    ];
    for (what, change, moves) in cases {
        let mut bench = blocked(RescheduleSide::Both, 3);
        bench.config.policies.reschedule.conditions = crate::config::RescheduleConditions::Inet;
        change(&mut bench);
        assert_eq!(bench.choice(), moves.then_some((1, What::Move(tsn(0)))), "{what}");
    }
}

#[test]
fn a_path_that_a_blocking_chunk_leaves_pays_half_where_the_policy_says_so() {
    let mut bench = blocked(RescheduleSide::Both, 3);
    bench.config.policies.reschedule.old_path = crate::config::OldPathPays::Half;
    assert_eq!(bench.sends()[0], (1, [0].into()));
    assert_eq!(bench.path(0).congestion.cwnd, 9 * CHUNK / 2);
    assert_eq!(bench.path(1).counters.repairs.rescheduled_chunks, 1);
    assert_eq!(bench.tx.stats.seldom.rescheduled_chunks, 1);
}

/// As slow as above, but the only path that takes new data.
#[test]
fn a_primary_path_makes_no_trains() {
    let mut bench = Bench::tuned(preset("cmt"), 2, |config| {
        config.policies.path_fill = PathFill::Runs;
        config.policies.path_order = PathOrder::Primary;
    });
    bench.book.primary = PathId(1);
    bench.shape(0, 10, 10, 20);
    bench.shape(1, 129, 10, 100);
    bench.path(1).flight = 128 * CHUNK;
    bench.send(9);
    assert_eq!(bench.sends().len(), 1);
}
