//! Fragments of messages that take turns, as I-DATA.

use std::vec::Vec;

use polypath_wire::{DataFlags, Payload, VirtualPayload};

use super::*;
use crate::config::{Preset, StreamScheduler};
use crate::transmit::partial_reliability::Reliability;
use crate::transmit::queue::{Asking, NextChunk};
use crate::types::{PathSet, UserDataChunk};
use crate::{Delivery, OutgoingMessage, PathId};

/// Fragments have at most 1,000 bytes.
const MOST: u32 = 1000;

/// Streams take turns; the peer announces a window of so many bytes.
fn bench(window: u32) -> Bench {
    let mut bench = Bench::tuned(Preset::Rfc9260, 2, |config| {
        config.policies.stream_scheduler = StreamScheduler::RoundRobin;
    });
    bench.tx.queue.settle_chunk(UserDataChunk::IData, window);
    bench
}

fn message(stream: u16, bytes: u32) -> OutgoingMessage {
    let payload = VirtualPayload { message: 0, offset: 0, len: bytes };
    let message = OutgoingMessage::from_payload(stream, Payload::Virtual(payload));
    OutgoingMessage { ppid: 77, ..message }
}

fn push(bench: &mut Bench, message: OutgoingMessage) {
    bench.tx.queue.push(message, Reliability::Full);
}

/// A path asks, and both are usable.
fn asking(path: u8) -> Asking {
    let usable: PathSet = [0, 1].map(PathId).into_iter().collect();
    Asking { path: PathId(path), usable, bundled: None }
}

/// The next fragment for the path.
fn take(bench: &mut Bench, path: u8) -> Option<NextChunk> {
    bench.tx.queue.take_interleaved(asking(path), MOST)
}

fn take_all(bench: &mut Bench) -> Vec<NextChunk> {
    core::iter::from_fn(|| take(bench, 0)).collect()
}

/// MIDs are those of a stream, of ordered and of unordered messages; the first fragment has the protocol identifier, the others FSNs.
#[test]
fn fragments_say_which_message_they_are_of_and_where() {
    let mut bench = bench(9000);
    push(&mut bench, message(0, 2500));
    push(&mut bench, message(1, 2500));
    push(&mut bench, message(0, 10));
    push(&mut bench, OutgoingMessage { delivery: Delivery::Unordered, ..message(0, 10) });
    let [begin, end, unordered] = [DataFlags::BEGIN, DataFlags::END, DataFlags::UNORDERED];
    let middle = DataFlags::empty();
    let mut waiting = 5020;
    assert!(!bench.tx.queue.has_begun());
    for (stream, mid, ppid, flags, bytes) in [
        (0, 0, 77, begin, 1000),
        (1, 0, 77, begin, 1000),
        (0, 0, 1, middle, 1000),
        (1, 0, 1, middle, 1000),
        (0, 0, 2, end, 500),
        (1, 0, 2, end, 500),
        (0, 1, 77, begin | end, 10),
        (0, 0, 77, begin | end | unordered, 10),
    ] {
        let is_fragment = bytes > 10;
        let next = take(&mut bench, 0).unwrap();
        let found = (next.stream, next.number, next.ppid, next.flags, next.user_bytes);
        assert_eq!(found, (stream, mid, ppid, flags, bytes));
        waiting -= u64::from(bytes);
        assert_eq!(bench.tx.queue.waiting(), waiting);
        assert!(is_fragment || !bench.tx.queue.has_begun());
        assert_eq!(bench.tx.queue.is_empty(), waiting == 0);
    }
    assert!(take(&mut bench, 0).is_none());
}

/// Whether the message takes one chunk or several, as DATA or as I-DATA.
#[test]
fn the_last_chunk_of_a_message_asks_for_a_sack_if_the_program_does() {
    for (sack_immediately, bytes, interleaves, expected) in [
        (true, 2500, false, &[false, false, true][..]),
        (true, 2500, true, &[false, false, true]),
        (true, 10, false, &[true]),
        (true, 10, true, &[true]),
        (false, 2500, false, &[false; 3]),
        (false, 10, true, &[false]),
    ] {
        let mut bench = match interleaves {
            true => bench(9000),
            false => Bench::tuned(Preset::Rfc9260, 2, |_| {}),
        };
        push(&mut bench, OutgoingMessage { sack_immediately, ..message(0, bytes) });
        let taken = core::iter::from_fn(|| match interleaves {
            true => take(&mut bench, 0),
            false => bench.tx.queue.take(asking(0), MOST),
        });
        let asks: Vec<bool> = taken.map(|next| next.flags.contains(DataFlags::IMMEDIATE)).collect();
        assert_eq!(asks, expected, "{sack_immediately}, {bytes} bytes, {interleaves}");
    }
}

/// Otherwise the peer may have no room for the end of any of them.
#[test]
fn messages_are_begun_as_far_as_the_peer_has_room_for_all_of_them() {
    for (window, order) in [(5000, [0, 1, 0, 1, 0, 1]), (4999, [0, 0, 0, 1, 1, 1])] {
        let mut bench = bench(window);
        push(&mut bench, message(0, 2500));
        push(&mut bench, message(1, 2500));
        let streams: Vec<u16> = take_all(&mut bench).iter().map(|next| next.stream).collect();
        assert_eq!(streams, order, "{window} bytes");
        // What has ended takes none of it.
        push(&mut bench, message(0, 2500));
        push(&mut bench, message(1, 2500));
        let streams: Vec<u16> = take_all(&mut bench).iter().map(|next| next.stream).collect();
        assert_eq!(streams, order, "{window} bytes, again");
    }
}

#[test]
fn a_message_that_names_a_path_waits_for_it() {
    for bytes in [10, 2500] {
        let mut bench = bench(9000);
        push(&mut bench, OutgoingMessage { path: Some(PathId(1)), ..message(0, bytes) });
        assert!(take(&mut bench, 0).is_none(), "{bytes}");
        assert!(bench.tx.queue.names_paths(), "{bytes}");
        for _ in 0..bytes.div_ceil(MOST) {
            assert!(take(&mut bench, 0).is_none(), "{bytes}");
            assert_eq!(take(&mut bench, 1).unwrap().stream, 0, "{bytes}");
        }
        assert!(!bench.tx.queue.names_paths() && bench.tx.queue.is_empty(), "{bytes}");
    }
}
