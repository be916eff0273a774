//! Whole transfers through a receiver, with everything between sender and receiver going wrong.
#![allow(clippy::disallowed_types)] // prop_oneof! makes use of Arc

use std::collections::BTreeSet;

use polypath_wire::Sack;
use proptest::prelude::*;
use proptest::sample::Index;

use super::*;

/// A message to send.
#[derive(Clone, Debug)]
struct Message {
    stream: u16,
    unordered: bool,
    fragments: Vec<usize>,
}

fn message() -> impl Strategy<Value = Message> {
    let fragments = prop::collection::vec(1usize..400, 1..6);
    (0u16..4, any::<bool>(), fragments).prop_map(|(stream, unordered, fragments)| Message {
        stream,
        unordered,
        fragments,
    })
}

/// The chunks of the messages; the PPID of a chunk is the number of its message, each byte its TSN.
fn chunks(initial: u32, messages: &[Message]) -> Vec<Data<'static>> {
    let mut all = vec![];
    let mut ssns = [0u16; 4];
    for (number, message) in messages.iter().enumerate() {
        let ssn = &mut ssns[usize::from(message.stream)];
        for (i, len) in message.fragments.iter().enumerate() {
            let mut flags = DataFlags::empty();
            flags.set(DataFlags::UNORDERED, message.unordered);
            flags.set(DataFlags::BEGIN, i == 0);
            flags.set(DataFlags::END, i + 1 == message.fragments.len());
            let tsn = initial.wrapping_add(all.len() as u32);
            all.push(Data {
                flags,
                tsn,
                stream: message.stream,
                ssn: *ssn,
                ppid: number as u32,
                payload: Payload::Shared(vec![tsn as u8; *len].into()),
            });
        }
        *ssn += u16::from(!message.unordered);
    }
    all
}

/// Everything that a SACK reports, as offsets from the initial TSN.
fn reported(sack: &Sack<'_>, initial: u32) -> BTreeSet<u32> {
    let cumulative = sack.cumulative_tsn_ack.wrapping_sub(initial).wrapping_add(1);
    let above = sack.gap_ack_blocks.iter().flat_map(|b| u32::from(b.start)..=u32::from(b.end));
    (0..cumulative).chain(above.map(|offset| cumulative + offset - 1)).collect()
}

/// What the user got, checked message by message.
struct User<'a> {
    messages: &'a [Message],
    chunks: &'a [Data<'static>],
    got: BTreeSet<u32>,
    last: [Option<u32>; 4],
}

impl User<'_> {
    fn read(&mut self, receiver: &mut Receiver, most: usize) {
        for _ in 0..most {
            let Some(message) = receiver.receive() else { return };
            let number = message.ppid;
            assert!(self.got.insert(number), "message {number} came twice");
            if !self.messages[number as usize].unordered {
                let last = &mut self.last[usize::from(message.stream)];
                assert!(*last < Some(number), "message {number} came after {last:?}");
                *last = Some(number);
            }
            let parts = self.chunks.iter().filter(|data| data.ppid == number);
            let expected: Vec<_> = parts.map(|data| data.payload.clone()).collect();
            assert_eq!(message.fragments[..], expected);
        }
    }
}

proptest! {
    #[test]
    fn every_message_arrives_once_and_intact(
        messages in prop::collection::vec(message(), 1..40),
        initial in prop_oneof![Just(1u32), (u32::MAX - 60)..=u32::MAX],
        buffer_bytes in 2500u32..20_000,
        picks in prop::collection::vec((any::<Index>(), 0usize..4), 400),
    ) {
        let chunks = chunks(initial, &messages);
        let mut receiver =
            Receiver::new(ReceiverConfig { initial_peer_tsn: Tsn(initial), buffer: fixed(buffer_bytes), ..config() });
        let mut user =
            User { messages: &messages, chunks: &chunks, got: BTreeSet::new(), last: [None; 4] };
        let mut accepted = BTreeSet::new();
        // First any chunk at any time, then whatever is still missing until all is there.
        let random = picks.iter().map(|(pick, reads)| (pick.index(chunks.len()), *reads));
        let orderly = (0..chunks.len()).map(|i| (i, 2));
        let rounds = core::iter::repeat_n(orderly, 2).flatten();
        for (i, reads) in random.chain(rounds) {
            receiver.begin_packet(PathId(0));
            let outcome = receiver.on_data(&chunks[i]).unwrap();
            receiver.end_packet(at(0), PATH, None);
            let is_new = !accepted.contains(&(i as u32));
            prop_assert_eq!(outcome == DataOutcome::Duplicate, !is_new);
            if outcome == DataOutcome::New {
                accepted.insert(i as u32);
            }
            let sack = receiver.take_sack(10_000);
            prop_assert_eq!(&reported(&sack, initial), &accepted);
            prop_assert!(receiver.buffered_bytes() <= u64::from(4 * buffer_bytes));
            user.read(&mut receiver, reads);
        }
        user.read(&mut receiver, usize::MAX);
        prop_assert_eq!(user.got.len(), messages.len());
        prop_assert_eq!(receiver.buffered_bytes(), 0);
        prop_assert_eq!(receiver.a_rwnd(), buffer_bytes);
        prop_assert_eq!(receiver.counters().new_chunks, chunks.len() as u64);
    }
}
