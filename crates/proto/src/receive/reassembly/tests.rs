#![allow(clippy::disallowed_types)] // prop_oneof! makes use of Arc

use std::collections::{BTreeMap, BTreeSet};
use std::vec;
use std::vec::Vec;

use polypath_wire::Payload;
use proptest::prelude::*;
use proptest::sample::Index;

use super::*;
use crate::receive::tsn_map::{Arrival, TsnMap};

/// Reassembly behind a TSN map, as in the receiver.
struct Rig {
    tsns: TsnMap,
    reassembly: Reassembly,
}

impl Rig {
    fn new(initial: u32) -> Self {
        Self { tsns: TsnMap::new(Tsn(initial), u32::MAX), reassembly: Reassembly::default() }
    }

    /// Takes in a chunk; gives the messages that can be delivered then.
    fn receive(&mut self, data: &Data<'_>) -> Result<Vec<Delivered>, Violation> {
        let Arrival::New(tsn) = self.tsns.classify(Tsn(data.tsn)) else { return Ok(vec![]) };
        self.reassembly.on_data(tsn, data)?;
        self.tsns.record(tsn);
        self.reassembly.check_up_to(self.tsns.cumulative())?;
        Ok(core::iter::from_fn(|| self.reassembly.receive()).map(Delivered::from).collect())
    }
}

/// A message in a form that compares: the content holds TSNs.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Delivered {
    stream: u16,
    ssn: u16,
    delivery: Delivery,
    ppid: u32,
    content: Vec<u8>,
}

impl From<ReceivedMessage> for Delivered {
    fn from(message: ReceivedMessage) -> Self {
        let ReceivedMessage { stream, ssn, delivery, ppid, tsn, piece, .. } = message;
        assert!(piece != Piece::Whole || tsn == Tsn(ppid), "PPID {ppid}: {tsn:?}");
        Self { stream, ssn, delivery, ppid, content: message.into_bytes().to_vec() }
    }
}

const B: DataFlags = DataFlags::BEGIN;
const E: DataFlags = DataFlags::END;
const U: DataFlags = DataFlags::UNORDERED;
const M: DataFlags = DataFlags::empty();

/// A chunk whose content and PPID tell its TSN.
fn chunk(tsn: u32, flags: DataFlags, stream: u16, ssn: u16) -> Data<'static> {
    let content = tsn.to_be_bytes();
    Data { flags, tsn, stream, ssn, ppid: tsn, payload: Payload::Shared(content.to_vec().into()) }
}

fn content(tsns: impl IntoIterator<Item = u32>) -> Vec<u8> {
    tsns.into_iter().flat_map(u32::to_be_bytes).collect()
}

/// First TSN of each message delivered, in the order of delivery.
fn deliveries(chunks: &[Data<'_>]) -> Result<Vec<u32>, Violation> {
    let mut rig = Rig::new(1);
    let mut all = vec![];
    for data in chunks {
        all.extend(rig.receive(data)?.into_iter().map(|message| message.ppid));
    }
    Ok(all)
}

#[test]
fn whole_messages_in_order_are_delivered_at_once() {
    let mut rig = Rig::new(u32::MAX);
    for ssn in 0..3 {
        let tsn = u32::MAX.wrapping_add(u32::from(ssn));
        let got = rig.receive(&chunk(tsn, B | E, 5, ssn)).unwrap();
        assert_eq!(got.len(), 1);
        assert_eq!((got[0].ssn, &got[0].content), (ssn, &content([tsn])));
    }
    assert!(rig.reassembly.fragments.is_empty());
}

#[test]
fn a_stream_waits_only_for_itself() {
    let chunks = [
        chunk(2, B | E, 0, 1),
        chunk(3, B | E, 1, 0),
        chunk(5, B | E, 0, 2),
        chunk(6, B | E | U, 0, 9),
        chunk(1, B | E, 0, 0),
        chunk(4, B | E, 1, 1),
    ];
    assert_eq!(deliveries(&chunks), Ok(vec![3, 6, 1, 2, 5, 4]));
}

#[test]
fn fragments_of_ordered_and_unordered_messages_may_arrive_interleaved() {
    let chunks = [
        chunk(6, E | U, 3, 77),
        chunk(2, M, 3, 0),
        chunk(5, M | U, 3, 76),
        chunk(1, B, 3, 0),
        chunk(4, B | U, 3, 75),
        chunk(7, B | E, 3, 1),
        chunk(3, E, 3, 0),
    ];
    assert_eq!(deliveries(&chunks), Ok(vec![4, 1, 7]));
}

#[test]
fn the_payload_protocol_identifier_is_that_of_the_first_fragment() {
    for order in [[0, 1, 2], [2, 1, 0], [1, 0, 2], [0, 2, 1], [2, 0, 1], [1, 2, 0]] {
        let fragments = [chunk(1, B, 0, 0), chunk(2, M, 0, 0), chunk(3, E, 0, 0)];
        let mut rig = Rig::new(1);
        let got: Vec<_> = order.iter().flat_map(|i| rig.receive(&fragments[*i]).unwrap()).collect();
        assert_eq!(got.len(), 1);
        assert_eq!((got[0].ppid, &got[0].content), (1, &content(1..=3)));
    }
}

#[test]
fn ssns_wrap() {
    let mut rig = Rig::new(1);
    // Pairs arrive swapped, so that every second message waits.
    for pair in 0..40_000u32 {
        let (early, late) = (2 * pair + 1, 2 * pair + 2);
        let data = |tsn: u32| chunk(tsn, B | E, 0, (tsn - 1) as u16);
        assert_eq!(rig.receive(&data(late)), Ok(vec![]));
        let got: Vec<_> =
            rig.receive(&data(early)).unwrap().iter().map(|message| message.ppid).collect();
        assert_eq!(got, [early, late]);
    }
}

#[test]
fn every_stream_number_works() {
    let mut rig = Rig::new(0);
    for tsn in 0..=u32::from(u16::MAX) {
        assert_eq!(rig.receive(&chunk(tsn, B | E, tsn as u16, 0)).unwrap().len(), 1);
    }
}

#[test]
fn contradictions_are_violations() {
    let begin = |tsn| Err(Violation::MissingBegin { tsn });
    let end = |tsn| Err(Violation::MissingEnd { tsn });
    let mixed = |tsn| Err(Violation::MixedFragments { tsn });
    let c = |tsn, flags| chunk(tsn, flags, 0, 0);
    for (name, chunks, expected) in [
        ("E without B", vec![c(1, E)], begin(1)),
        ("middle without B", vec![c(1, M)], begin(1)),
        ("E without B behind a gap", vec![c(2, E), c(1, B | E)], begin(2)),
        ("E after the end", vec![c(1, B), c(2, E), c(3, E)], begin(3)),
        ("E after the end, unordered arrival", vec![c(3, E), c(1, B), c(2, E)], begin(3)),
        ("E after the end, that one last", vec![c(2, E), c(3, E)], begin(3)),
        ("two B", vec![c(1, B), c(2, B)], end(2)),
        ("two B, the later one first", vec![c(2, B), c(1, B)], end(2)),
        ("whole inside a message", vec![c(1, B), c(2, B | E)], end(2)),
        ("whole inside, known before", vec![c(3, B | E), c(2, B), c(1, B | E)], end(3)),
        ("whole before the end", vec![c(2, M), c(1, B | E)], begin(2)),
        ("other stream", vec![c(1, B), chunk(2, E, 1, 0)], mixed(2)),
        ("other SSN", vec![chunk(2, E, 0, 1), c(1, B)], mixed(2)),
        ("other kind", vec![c(1, B), c(2, E | U)], mixed(2)),
        ("joining two", vec![c(1, B), chunk(3, E, 1, 0), c(2, M)], mixed(3)),
        (
            "one SSN twice",
            vec![chunk(2, B | E, 0, 1), chunk(3, B | E, 0, 1)],
            Err(Violation::RepeatedSsn { stream: 0, ssn: 1 }),
        ),
    ] {
        assert_eq!(deliveries(&chunks), expected, "{name}");
    }
}

#[test]
fn what_looks_odd_but_is_allowed() {
    let c = |tsn, flags| chunk(tsn, flags, 0, 0);
    // The SSN of unordered chunks means nothing, not even within a message.
    assert_eq!(deliveries(&[chunk(1, B | U, 0, 3), chunk(2, E | U, 0, 4)]), Ok(vec![1]));
    // Flags that are not ours.
    let odd = DataFlags::IMMEDIATE | DataFlags::from_bits_retain(0xf0);
    assert_eq!(deliveries(&[c(1, B | odd), c(2, E)]), Ok(vec![1]));
}

#[test]
fn a_message_of_many_fragments_in_reverse() {
    const LAST: u32 = 20_000;
    let mut rig = Rig::new(1);
    for tsn in (1..=LAST).rev() {
        let flags = if tsn == LAST { E } else { M } | if tsn == 1 { B } else { M };
        let got = rig.receive(&chunk(tsn, flags, 0, 0)).unwrap();
        assert_eq!(got.len(), usize::from(tsn == 1));
        if let [message] = &got[..] {
            assert_eq!(message.content, content(1..=LAST));
        }
    }
}

/// The same in the plainest way: keeps every chunk and looks through all of them each time.
#[derive(Default)]
struct Model<'a> {
    chunks: BTreeMap<u32, &'a Data<'static>>,
    complete: BTreeSet<u32>,
    waiting: Vec<Delivered>,
    next: BTreeMap<u16, u16>,
}

impl<'a> Model<'a> {
    fn receive(&mut self, offset: u32, data: &'a Data<'static>) -> Vec<Delivered> {
        self.chunks.insert(offset, data);
        let mut ready = vec![];
        for (first, message) in messages(&self.chunks) {
            if self.complete.insert(first) {
                match message.delivery {
                    Delivery::Unordered => ready.push(message),
                    Delivery::Ordered => self.waiting.push(message),
                }
            }
        }
        while let Some(place) = self
            .waiting
            .iter()
            .position(|m| self.next.get(&m.stream).copied().unwrap_or(0) == m.ssn)
        {
            let message = self.waiting.swap_remove(place);
            self.next.insert(message.stream, message.ssn.wrapping_add(1));
            ready.push(message);
        }
        ready
    }
}

/// Every complete message among the chunks, by its first offset.
fn messages(chunks: &BTreeMap<u32, &Data<'static>>) -> Vec<(u32, Delivered)> {
    let mut found = vec![];
    for (first, head) in chunks.iter().filter(|(_, data)| data.flags.contains(B)) {
        let mut bytes = vec![];
        for offset in *first.. {
            let Some(data) = chunks.get(&offset) else { break };
            bytes.extend(data.tsn.to_be_bytes());
            if data.flags.contains(E) {
                let mut header = message_header(head);
                header.fragments.push(Payload::Shared(bytes.into()));
                found.push((*first, header.into()));
                break;
            }
        }
    }
    found
}

/// Whether chunks without gaps form messages one after the other; the last one may be unfinished.
fn is_well_formed(chunks: &[Data<'static>]) -> bool {
    let mut open: Option<&Data<'static>> = None;
    chunks.iter().all(|data| {
        let fits = match open {
            None => data.flags.contains(B),
            Some(first) => {
                let kind = |d: &Data<'_>| {
                    let unordered = d.flags.contains(U);
                    (d.stream, unordered, if unordered { 0 } else { d.ssn })
                };
                !data.flags.contains(B) && kind(first) == kind(data)
            }
        };
        open = if data.flags.contains(E) { None } else { open.or(Some(data)) };
        fits
    })
}

/// Chunks of well-formed messages with consecutive TSNs.
fn message_chunks(initial: u32) -> impl Strategy<Value = Vec<Data<'static>>> {
    let message = (0u16..3, any::<bool>(), prop_oneof![3 => Just(1usize), 2 => 2usize..9]);
    prop::collection::vec(message, 1..30).prop_map(move |messages| {
        let mut chunks: Vec<Data<'static>> = vec![];
        let mut next = [0u16; 3];
        for (stream, unordered, fragments) in messages {
            let ssn = &mut next[usize::from(stream)];
            for i in 0..fragments {
                let mut flags = if unordered { U } else { M };
                flags.set(B, i == 0);
                flags.set(E, i + 1 == fragments);
                let tsn = initial.wrapping_add(chunks.len() as u32);
                chunks.push(chunk(tsn, flags, stream, *ssn));
            }
            *ssn += u16::from(!unordered);
        }
        chunks
    })
}

/// Chunks that mostly make no sense together.
fn any_chunks() -> impl Strategy<Value = Vec<Data<'static>>> {
    let one = (0u8..8, prop::bool::weighted(0.1), prop::bool::weighted(0.1));
    prop::collection::vec(one, 1..9).prop_map(|chunks| {
        let data = |(i, (flags, stream, ssn)): (usize, (u8, bool, bool))| {
            let flags = DataFlags::from_bits_retain(flags);
            chunk(1 + i as u32, flags, u16::from(stream), u16::from(ssn))
        };
        chunks.into_iter().enumerate().map(data).collect()
    })
}

/// A permutation of `0..len` from random numbers; small ones leave things near their place.
fn shuffled(len: usize, moves: &[Index], reach: usize) -> Vec<usize> {
    let mut order: Vec<_> = (0..len).collect();
    for (i, to) in moves.iter().enumerate().take(len) {
        order.swap(i, (i + to.index(reach)).min(len - 1));
    }
    order
}

proptest! {
    #[test]
    fn agrees_with_the_model(
        chunks in prop_oneof![message_chunks(1), message_chunks(u32::MAX - 20)],
        moves in prop::collection::vec(any::<Index>(), 300),
        reach in 1usize..300,
    ) {
        let initial = chunks[0].tsn;
        let mut rig = Rig::new(initial);
        let mut model = Model::default();
        for i in shuffled(chunks.len(), &moves, reach) {
            let expected = model.receive(i as u32, &chunks[i]);
            prop_assert_eq!(rig.receive(&chunks[i]), Ok(expected));
        }
        prop_assert_eq!(model.chunks.len(), chunks.len());
        prop_assert!(model.waiting.is_empty());
        prop_assert!(rig.reassembly.fragments.is_empty());
    }

    #[test]
    fn contradictions_are_always_found_and_only_those(
        chunks in any_chunks(),
        moves in prop::collection::vec(any::<Index>(), 9),
    ) {
        let mut rig = Rig::new(1);
        let result = shuffled(chunks.len(), &moves, 9)
            .into_iter()
            .try_for_each(|i| rig.receive(&chunks[i]).map(drop));
        match result {
            Err(Violation::RepeatedSsn { stream, ssn }) => {
                let with_it = chunks.iter().filter(|data| {
                    !data.flags.contains(U) && (data.stream, data.ssn) == (stream, ssn)
                });
                prop_assert!(with_it.count() >= 2);
            }
            other => prop_assert_eq!(other.is_ok(), is_well_formed(&chunks)),
        }
    }
}
