//! Messages that wait, and those that may be abandoned.

use core::cmp::Reverse;
use std::vec;
use std::vec::Vec;

use polypath_wire::{Payload, VirtualPayload};

use super::*;
use crate::config::{Burst, PathOrder, Preset, SendRoomNotice, StreamScheduler};
use crate::transmit::Place;
use crate::transmit::partial_reliability::Reliability;
use crate::transmit::queue::{Asking, SendQueue};
use crate::types::{PathSet, UserDataChunk};
use crate::{Delivery, OutgoingMessage, PathId, SendError};

/// One path with a window of so many packets; streams have the scheduler.
fn bench(packets: u64, scheduler: StreamScheduler) -> Bench {
    let mut bench = Bench::tuned(Preset::Rfc9260, 1, |config| {
        config.policies.stream_scheduler = scheduler;
        config.policies.burst = Burst::Off;
    });
    bench.shape(0, packets, packets, 50);
    bench
}

fn message(stream: u16, bytes: u32) -> OutgoingMessage {
    let payload = VirtualPayload { message: 0, offset: 0, len: bytes };
    OutgoingMessage::from_payload(stream, Payload::Virtual(payload))
}

/// Messages in the index of those that may be abandoned.
fn entries(bench: &mut Bench) -> usize {
    let mut count = 0;
    bench.tx.queue.index.retain(|_| {
        count += 1;
        true
    });
    count
}

#[test]
fn messages_that_are_gone_leave_the_index_when_they_are_many() {
    let mut bench = bench(4, StreamScheduler::Fcfs);
    let unimportant = Reliability::Priority(9);
    // One that was sent, one that is abandoned, one that was partly sent, and one that waits.
    for packets in [1, 1, 3, 1] {
        bench.send_one(packets * FULL, unimportant).1.unwrap();
    }
    bench.flush();
    bench.tx.outstanding.abandon(tsn(1));
    assert_eq!(bench.tx.queue.len(), 2, "the rest of one and another one");
    let alive = 1 + 2 + 1;
    let serial = Reverse(u32::MAX);
    let slot = match bench.tx.queue.index.least_important() {
        Some((_, Place::Waiting { slot, .. })) => slot,
        other => panic!("{other:?}"),
    };
    // Two entries for each message that waits and for each outstanding chunk, and 64 beyond.
    let most = 2 * (2 + 1 + 4) + 64;
    while entries(&mut bench) < most {
        let gone = match entries(&mut bench) % 2 {
            0 => Place::sent(tsn(5000)),
            _ => Place::Waiting { serial, slot },
        };
        bench.tx.queue.index.add_priority(9, gone);
    }
    bench.send(1);
    assert_eq!(entries(&mut bench), most, "not yet");
    for _ in 0..3 {
        bench.tx.queue.index.add_priority(9, Place::sent(tsn(5000)));
    }
    bench.send(1);
    assert_eq!(entries(&mut bench), alive);
}

#[test]
fn who_waits_for_room_is_told_when_an_eighth_of_the_buffer_is_free() {
    for (bytes, room) in [(100, 1000), (1000, 1000), (3000, 3000)] {
        let mut bench = Bench::tuned(Preset::Rfc9260, 1, |config| {
            config.send_buffer_bytes = 8000;
        });
        bench.send_one(8000, Reliability::Full).1.unwrap();
        assert_eq!(bench.send_one(bytes, Reliability::Full).1, Err(SendError::WouldBlock));
        let free = |bytes| crate::types::BufferBytes { user_bytes: bytes, cost: bytes };
        bench.tx.queue.release(free(room - 1));
        assert!(!bench.tx.writable_again(SendRoomNotice::Batch, bench.now), "{bytes}");
        bench.tx.queue.release(free(1));
        assert!(
            bench.tx.writable_again(SendRoomNotice::Batch, bench.now)
                && !bench.tx.writable_again(SendRoomNotice::Batch, bench.now),
            "{bytes}: once"
        );
    }
}

/// Of several paths one may be idle while the others hold the buffer: room for one message is told once nothing waits.
#[test]
fn an_idle_path_is_told_of_room_for_one_message() {
    use SendRoomNotice::{Batch, WhenIdle};
    for (what, paths, notice, messages, expected) in [
        ("all was sent", 2, WhenIdle, 2, true),
        ("some waits", 2, WhenIdle, 30, false),
        ("over one path nothing else holds the buffer", 1, WhenIdle, 2, false),
        ("in batches", 2, Batch, 2, false),
    ] {
        let size = messages * FULL;
        let mut bench = Bench::tuned(Preset::Rfc9260, paths, |config| {
            config.send_buffer_bytes = size.into();
        });
        bench.send(messages);
        bench.sends();
        assert_eq!(bench.send_one(200, Reliability::Full).1, Err(SendError::WouldBlock));
        let free = crate::types::BufferBytes { user_bytes: 200, cost: 200 };
        bench.tx.queue.release(free);
        assert_eq!(bench.tx.writable_again(notice, bench.now), expected, "{what}");
    }
}

#[test]
fn a_message_makes_room_for_others_until_the_peer_has_all_of_it() {
    let mut bench = bench(4, StreamScheduler::Fcfs);
    let rule = Reliability::Priority(9);
    bench.send(1);
    // Chunk 1 is one message, chunks 2 and 3 begin another one of three.
    bench.send_one(FULL, rule).1.unwrap();
    bench.send_one(3 * FULL, rule).1.unwrap();
    bench.flush();
    let is_undelivered =
        |bench: &Bench, chunk: u32, rule| bench.tx.is_undelivered(tsn(chunk), rule);
    for (what, chunk, its_rule, expected) in [
        ("in flight", 1, rule, true),
        ("not all of it was sent", 2, rule, true),
        ("not the beginning", 3, rule, false),
        ("another rule: another message has that TSN", 1, Reliability::Priority(8), false),
        ("was never sent", 4, rule, false),
    ] {
        assert_eq!(is_undelivered(&bench, chunk, its_rule), expected, "{what}");
    }
    bench.path(0).set_cwnd(5 * CHUNK, None);
    bench.sack(&Answer::of(0).gaps(&[(1, 3)]));
    bench.flush();
    assert!(!is_undelivered(&bench, 1, rule), "it has arrived");
    assert!(is_undelivered(&bench, 2, rule), "its end has not");
    bench.tx.outstanding.abandon(tsn(2));
    assert!(!is_undelivered(&bench, 2, rule), "it was abandoned");
}

/// A path that asks, of those that can carry data.
fn asks(path: u8, usable: &[u8]) -> Asking {
    let usable: PathSet = usable.iter().map(|id| PathId(*id)).collect();
    Asking { path: PathId(path), usable, bundled: None }
}

#[test]
fn what_waits_for_the_next_chunk() {
    for (delivery, bytes, waits) in [
        (Delivery::Unordered, FULL, 0),
        (Delivery::Unordered, FULL + 1, u64::from(FULL + 1)),
        (Delivery::Ordered, FULL, u64::MAX),
    ] {
        let mut bench = bench(9, StreamScheduler::Fcfs);
        let message = OutgoingMessage { delivery, ..message(0, bytes) };
        bench.send_message(message, Reliability::Full).1.unwrap();
        let dependents = bench.tx.queue.dependents(asks(0, &[0]), FULL);
        assert_eq!(dependents, waits, "{delivery:?} {bytes}");
    }
    let nothing = bench(9, StreamScheduler::Fcfs);
    assert_eq!(nothing.tx.queue.dependents(asks(0, &[0]), FULL), u64::MAX);
}

/// Messages for path 1 wait, and nothing else but one at the end, of this stream.
fn named(count: u32, stream: u16, scheduler: StreamScheduler) -> Bench {
    let mut bench = Bench::tuned(Preset::Rfc9260, 2, |config| {
        config.policies.stream_scheduler = scheduler;
        config.send_buffer_bytes = 1 << 30;
    });
    for _ in 0..count {
        let message = OutgoingMessage { path: Some(PathId(1)), ..message(0, 100) };
        bench.send_message(message, Reliability::Full).1.unwrap();
    }
    bench.send_message(message(stream, 200), Reliability::Full).1.unwrap();
    bench
}

#[test]
fn a_path_looks_over_a_bounded_number_of_messages_for_others() {
    use StreamScheduler::{Fcfs, RoundRobin};
    // The last look is at the 64th message, in whatever stream that is.
    for (scheduler, count, found) in
        [(Fcfs, 63, true), (Fcfs, 64, false), (RoundRobin, 63, true), (RoundRobin, 64, false)]
    {
        let mut bench = named(count, 1, scheduler);
        let peeked = bench.tx.queue.peek(asks(0, &[0, 1]), FULL);
        assert_eq!(peeked, found.then_some(200), "{scheduler:?} {count}");
        assert_eq!(bench.tx.queue.peek(asks(1, &[0, 1]), FULL), Some(100));
        assert!(bench.tx.queue.names(PathId(1)) && !bench.tx.queue.names(PathId(0)));
        // A path that cannot carry data is no reason to wait.
        assert_eq!(bench.tx.queue.peek(asks(0, &[0]), FULL), Some(100));
        bench.tx.queue.drain_unsent();
        assert!(!bench.tx.queue.names(PathId(1)));
    }
    let ordered = named(1, 0, Fcfs);
    assert_eq!(ordered.tx.queue.peek(asks(0, &[0, 1]), FULL), None, "none of the same stream");
}

#[test]
fn the_path_that_a_message_names_is_found_among_the_next_messages_only() {
    use StreamScheduler::{Fcfs, RoundRobin};
    for (scheduler, before, names) in
        [(Fcfs, 63, true), (Fcfs, 64, false), (RoundRobin, 63, true), (RoundRobin, 64, false)]
    {
        let mut bench = Bench::tuned(Preset::Rfc9260, 2, |config| {
            config.policies.stream_scheduler = scheduler;
            config.send_buffer_bytes = 1 << 30;
        });
        for _ in 0..before {
            bench.send_message(message(0, 100), Reliability::Full).1.unwrap();
        }
        let last = OutgoingMessage { path: Some(PathId(1)), ..message(1, 100) };
        bench.send_message(last, Reliability::Full).1.unwrap();
        assert_eq!(bench.tx.queue.names(PathId(1)), names, "{scheduler:?} {before}");
    }
}

#[test]
fn once_no_message_names_a_path_the_first_one_is_next_for_all() {
    let mut bench = Bench::tuned(preset("cmt"), 2, |config| {
        config.policies.path_order = PathOrder::LargestSpace;
    });
    (0..2).for_each(|id| bench.shape(id, 9, 9, 50));
    bench.place(&[1]);
    let slots = [300, 400].map(|bytes| bench.send_message(message(0, bytes), Reliability::Full).1);
    assert_eq!(slots, [Ok(()), Ok(())]);
    // Two messages of one stream: for a path that is not named, too.
    assert_eq!(bench.tx.queue.peek(asks(0, &[0, 1]), FULL), Some(300));
    let before = bench.tx.outstanding.span();
    bench.flush();
    assert_eq!(bench.tx.outstanding.span(), before + 2);
}

#[test]
fn the_rest_of_a_message_is_as_long_as_what_was_not_sent() {
    let mut bench = bench(1, StreamScheduler::Fcfs);
    bench.send_one(FULL + 100, Reliability::Full).1.unwrap();
    bench.flush();
    assert_eq!(bench.tx.queue.peek(asks(0, &[0]), FULL), Some(100));
}

/// Streams of the chunks that a flush sends.
fn streams(bench: &mut Bench) -> Vec<u16> {
    let sent = bench.flush();
    sent.iter().flat_map(|sent| sent.data.iter().map(|data| data.stream)).collect()
}

#[test]
fn each_stream_has_its_own_queue_where_streams_take_turns() {
    for (scheduler, order) in [
        (StreamScheduler::Fcfs, [1, 1, 2, 2]),
        (StreamScheduler::RoundRobin, [1, 2, 1, 2]),
        (StreamScheduler::Fair, [1, 2, 1, 2]),
    ] {
        // In packets of their own, and all in one.
        for bytes in [FULL, 100] {
            let mut bench = bench(9, scheduler);
            for stream in [1, 1, 2, 2] {
                bench.send_message(message(stream, bytes), Reliability::Full).1.unwrap();
            }
            assert_eq!(streams(&mut bench), order, "{scheduler:?} {bytes}");
        }
    }
}

#[test]
fn the_value_of_a_stream_takes_no_turn_from_others() {
    // Stream 1 has nothing to send; streams 2 and 3 have messages, and the value of 2 is set again.
    for (scheduler, order) in
        [(StreamScheduler::Priority, [3, 3, 2, 2]), (StreamScheduler::RoundRobin, [2, 3, 2, 3])]
    {
        let mut bench = bench(9, scheduler);
        for stream in [2, 2, 3, 3] {
            bench.send_message(message(stream, FULL), Reliability::Full).1.unwrap();
        }
        bench.tx.queue.set_stream_value(1, 0);
        bench.tx.queue.set_stream_value(2, 5);
        assert_eq!(streams(&mut bench), order, "{scheduler:?}");
    }
}

#[test]
fn a_packet_carries_one_stream_where_streams_take_turns_by_packets() {
    let mut bench = bench(9, StreamScheduler::RoundRobinPerPacket);
    for stream in [1, 2, 1, 2] {
        // One message names a path that is not there, so that all are looked at.
        let path = (stream == 2).then_some(PathId(0));
        let message = OutgoingMessage { path, ..message(stream, 100) };
        bench.send_message(message, Reliability::Full).1.unwrap();
    }
    let sent = bench.flush();
    let streams: Vec<Vec<u16>> =
        sent.iter().map(|sent| sent.data.iter().map(|data| data.stream).collect()).collect();
    assert_eq!(streams, [[1, 1], [2, 2]]);
}

#[test]
fn messages_for_streams_that_the_peer_refused_are_taken_out() {
    for scheduler in [StreamScheduler::Fcfs, StreamScheduler::RoundRobin] {
        let mut bench = bench(9, scheduler);
        for stream in [2, 0, 3, 1] {
            bench.send_message(message(stream, 100), Reliability::Full).1.unwrap();
        }
        let mut removed = bench.tx.queue.remove_streams_from(2);
        removed.sort_unstable();
        assert_eq!(removed, [(2, 0), (3, 2)], "{scheduler:?}");
        assert_eq!((bench.tx.queue.len(), bench.tx.queue.waiting()), (2, 200));
        assert_eq!(bench.tx.queue.peak(), 400);
    }
}

#[test]
fn the_end_of_an_abandoned_message_is_told_by_its_stream() {
    for (delivery, streams) in [(Delivery::Ordered, &[(5, 1)][..]), (Delivery::Unordered, &[])] {
        let mut bench = bench(1, StreamScheduler::RoundRobin);
        bench.send_message(message(5, 100), Reliability::Full).1.unwrap();
        bench.flush();
        bench.sack(&Answer::of(1));
        let until = Reliability::Until(bench.now + crate::Duration::from_millis(50));
        let long = OutgoingMessage { delivery, ..message(5, 4 * FULL) };
        bench.send_message(long, until).1.unwrap();
        bench.path(0).set_cwnd(CHUNK, None);
        assert_eq!(bench.flush().len(), 1);
        // All that was sent of it has arrived, and its lifetime ends before more may go.
        bench.path(0).set_cwnd(0, None);
        bench.sack(&Answer::of(2).a_rwnd(0));
        bench.wait(50);
        let told = std::format!("{:?}", bench.begin());
        assert!(told.contains("Abandoned { stream: 5, context: 1, transmitted: true }"), "{told}");
        let forward = bench.packet().unwrap().forward.unwrap();
        assert_eq!(forward.new_cumulative_tsn, tsn(2).0);
        let skipped: Vec<_> = forward.streams().map(|it| (it.stream, it.ssn)).collect();
        assert_eq!(skipped, streams, "{delivery:?}");
        assert_eq!(bench.tx.stats.seldom.abandoned.timed.sent, 1, "it counts by its rule");
    }
}

#[test]
fn a_closed_window_gets_the_rest_of_what_has_begun() {
    for (window, streams) in [(9000, [0, 1, 0, 1]), (0, [0, 0, 1, 1])] {
        let mut bench = bench(4, StreamScheduler::RoundRobin);
        let queue = &mut bench.tx.queue;
        queue.settle_chunk(UserDataChunk::IData, 9000);
        queue.push(message(0, 2000), Reliability::Full);
        (0..2).for_each(|_| queue.push(message(1, 10), Reliability::Full));
        let asking = asks(0, &[0]);
        let next = |queue: &mut SendQueue| queue.take_interleaved(asking, 1000).unwrap().stream;
        let mut taken = vec![next(queue)];
        queue.note_peer_window(window);
        taken.extend((0..3).map(|_| next(queue)));
        assert_eq!(taken, streams, "a window of {window} bytes");
    }
}
