#![allow(clippy::disallowed_types)] // prop_oneof! makes use of Arc

use std::collections::BTreeMap;
use std::vec;
use std::vec::Vec;

use polypath_wire::Payload;
use proptest::prelude::*;
use proptest::sample::Index;

use super::*;
use crate::Tsn;
use crate::receive::reassembly::Reassembly;
use crate::receive::tsn_map::{Arrival, TsnMap};
use crate::types::UserDataChunk;

const B: DataFlags = DataFlags::BEGIN;
const E: DataFlags = DataFlags::END;
const U: DataFlags = DataFlags::UNORDERED;
const M: DataFlags = DataFlags::empty();

/// A chunk whose content is its TSN. The payload protocol identifier of a message is 1000 and its MID.
fn chunk(tsn: u32, flags: DataFlags, stream: u16, mid: u32, fsn: u32) -> IData<'static> {
    let payload = Payload::Shared(tsn.to_be_bytes().to_vec().into());
    let ppid_or_fsn = if flags.contains(B) { 1000u32.wrapping_add(mid) } else { fsn };
    IData { flags, tsn, stream, mid, ppid_or_fsn, payload }
}

struct Rig {
    tsns: TsnMap,
    reassembly: Reassembly,
}

/// Stream, SSN, payload protocol identifier, and the TSNs that the content names.
type Delivered = (u16, u16, u32, Vec<u32>);

impl Rig {
    fn new(incomplete: Incomplete) -> Self {
        let reassembly = Reassembly::new(incomplete, UserDataChunk::IData);
        Self { tsns: TsnMap::new(Tsn(1), u32::MAX), reassembly }
    }

    fn take(&mut self, data: &IData<'_>) -> Result<Taken, Violation> {
        let Arrival::New(tsn) = self.tsns.classify(Tsn(data.tsn)) else { return Ok(Taken::Kept) };
        let taken = self.reassembly.on_i_data(tsn, data)?;
        self.tsns.record(tsn);
        self.reassembly.check_up_to(self.tsns.cumulative())?;
        Ok(taken)
    }

    fn delivered(&mut self) -> Vec<Delivered> {
        core::iter::from_fn(|| self.reassembly.receive())
            .map(|message| {
                let (stream, ssn, ppid) = (message.stream, message.ssn, message.ppid);
                let first = message.tsn.0;
                let bytes = message.into_bytes();
                let tsns = bytes.chunks(4).map(|it| u32::from_be_bytes(it.try_into().unwrap()));
                let tsns: Vec<u32> = tsns.collect();
                assert_eq!(tsns.first(), Some(&first));
                (stream, ssn, ppid, tsns)
            })
            .collect()
    }

    fn skip(&mut self, stream: u16, flags: u16, mid: u32) -> Dropped {
        self.reassembly.skip_messages(SkippedMessages { stream, flags, mid })
    }

    fn is_empty(&self) -> bool {
        let it = self.reassembly.interleaved.as_ref().unwrap();
        it.runs.highest().is_none() && it.order.highest().is_none()
    }
}

#[test]
fn fragments_of_many_messages_alternate() {
    let mut rig = Rig::new(Incomplete::Violation);
    for data in [
        chunk(1, B, 0, 0, 0),
        chunk(2, B, 1, 0, 0),
        chunk(3, B | U, 0, 0, 0),
        chunk(4, M, 0, 0, 1),
        chunk(5, M | U, 0, 0, 1),
        chunk(6, B | E, 2, 0, 0),
        chunk(7, E | U, 0, 0, 2),
        chunk(8, E, 1, 0, 1),
        chunk(9, E, 0, 0, 2),
    ] {
        assert_eq!(rig.take(&data), Ok(Taken::Kept));
    }
    let expected: Vec<Delivered> = vec![
        (2, 0, 1000, vec![6]),
        (0, 0, 1000, vec![3, 5, 7]),
        (1, 0, 1000, vec![2, 8]),
        (0, 0, 1000, vec![1, 4, 9]),
    ];
    assert_eq!(rig.delivered(), expected);
    assert!(rig.is_empty());
}

/// The receiver must not assume anything about the TSNs of fragments (RFC 8260 section 2.2.3).
#[test]
fn tsns_say_nothing_of_the_place_of_a_fragment() {
    let mut rig = Rig::new(Incomplete::Violation);
    for data in [chunk(1, E, 0, 0, 3), chunk(2, M, 0, 0, 1), chunk(3, M, 0, 0, 2)] {
        assert_eq!(rig.take(&data), Ok(Taken::Kept));
        assert!(rig.delivered().is_empty());
    }
    rig.take(&chunk(4, B, 0, 0, 0)).unwrap();
    assert_eq!(rig.delivered(), [(0, 0, 1000, vec![4, 2, 3, 1])]);
}

#[test]
fn contradictions() {
    const REPEATED: Violation = Violation::RepeatedFragment { tsn: 9 };
    let again = |stream, mid| Violation::RepeatedMid { stream, mid };
    for (before, last, expected) in [
        (vec![chunk(1, B, 0, 0, 0)], chunk(9, B, 0, 0, 0), REPEATED),
        (vec![chunk(1, M, 0, 0, 4)], chunk(9, M, 0, 0, 4), REPEATED),
        (vec![chunk(1, M, 0, 0, 4), chunk(2, M, 0, 0, 5)], chunk(9, M, 0, 0, 5), REPEATED),
        (vec![chunk(1, M, 0, 0, 4)], chunk(9, E, 0, 0, 3), REPEATED),
        (vec![chunk(1, E, 0, 0, 4)], chunk(9, M, 0, 0, 5), REPEATED),
        (vec![chunk(1, E, 0, 0, 4)], chunk(9, E, 0, 0, u32::MAX), REPEATED),
        (vec![chunk(1, M, 0, 0, 4)], chunk(9, B | E, 0, 0, 0), REPEATED),
        (vec![], chunk(9, M, 0, 0, 0), Violation::MissingBegin { tsn: 9 }),
        (vec![chunk(1, B | E, 3, 0, 0)], chunk(9, B | E, 3, 0, 0), again(3, 0)),
        (vec![chunk(1, B | E, 3, 0, 0)], chunk(9, M, 3, 0, 1), again(3, 0)),
        (vec![chunk(1, B | E, 3, 7, 0)], chunk(9, B | E, 3, 7, 0), again(3, 7)),
        (vec![chunk(1, B | E, 3, 7, 0)], chunk(9, B, 3, 7, 0), again(3, 7)),
        (vec![], chunk(9, B | E, 3, u32::MAX, 0), again(3, u32::MAX)),
    ] {
        let mut rig = Rig::new(Incomplete::Violation);
        for data in &before {
            assert_eq!(rig.take(data), Ok(Taken::Kept), "{data:?}");
        }
        assert_eq!(rig.take(&last), Err(expected), "{before:?} {last:?}");
    }
}

#[test]
fn other_kinds_and_streams_are_other_messages() {
    let mut rig = Rig::new(Incomplete::Violation);
    for data in [
        chunk(1, B, 0, 0, 0),
        chunk(2, B | U, 0, 0, 0),
        chunk(3, B, 1, 0, 0),
        chunk(4, M, 0, 1, 2),
        chunk(5, M, 0, 0, u32::MAX),
        chunk(6, M, 0, 0, u32::MAX - 1),
    ] {
        assert_eq!(rig.take(&data), Ok(Taken::Kept), "{data:?}");
    }
    assert!(rig.delivered().is_empty());
}

#[test]
fn each_kind_of_chunk_is_refused_where_the_other_was_agreed_on() {
    let data = polypath_wire::Data {
        flags: B | E,
        tsn: 9,
        stream: 0,
        ssn: 0,
        ppid: 0,
        payload: Payload::Shared(b"data"[..].into()),
    };
    let i_data = chunk(9, B | E, 0, 0, 0);
    let Arrival::New(tsn) = TsnMap::new(Tsn(1), u32::MAX).classify(Tsn(9)) else { panic!() };
    let wrong = Violation::WrongKind { tsn: 9 };
    let with = |chunk| Reassembly::new(Incomplete::Violation, chunk);
    assert_eq!(with(UserDataChunk::IData).on_data(tsn, &data), Err(wrong));
    assert_eq!(with(UserDataChunk::Data).on_i_data(tsn, &i_data), Err(wrong));
    assert_eq!(with(UserDataChunk::Data).on_data(tsn, &data), Ok(()));
}

#[test]
fn what_was_skipped_makes_room_and_does_not_come_back() {
    let mut rig = Rig::new(Incomplete::MayBeAbandoned);
    for data in [
        chunk(1, B, 0, 0, 0),
        chunk(2, M, 0, 1, 5),
        chunk(3, B | E, 0, 2, 0),
        chunk(4, B | E, 0, 4, 0),
        chunk(5, M | U, 0, 0, 1),
        chunk(6, M | U, 0, 1, 1),
        chunk(7, B, 1, 0, 0),
    ] {
        assert_eq!(rig.take(&data), Ok(Taken::Kept));
    }
    assert_eq!(rig.skip(0, 0, 1), Dropped { bytes: 8, chunks: 2, aborted: None });
    assert_eq!(rig.delivered(), [(0, 2, 1002, vec![3])], "what waited for the skipped ones");
    assert_eq!(rig.skip(0, 0, 1), Dropped::default(), "told again");
    let dropped = Dropped { bytes: 4, chunks: 1, aborted: None };
    assert_eq!(rig.skip(0, SkippedMessages::UNORDERED, 0), dropped);
    for (data, taken) in [
        (chunk(8, M, 0, 1, 6), Taken::Abandoned),
        (chunk(9, E, 0, 0, 1), Taken::Abandoned),
        (chunk(10, E | U, 0, 0, 2), Taken::Abandoned),
        (chunk(11, B | U, 0, 1, 0), Taken::Kept),
        (chunk(12, E | U, 0, 1, 2), Taken::Kept),
        (chunk(13, B | E, 0, 3, 0), Taken::Kept),
        (chunk(14, E, 1, 0, 1), Taken::Kept),
    ] {
        assert_eq!(rig.take(&data), Ok(taken), "{data:?}");
    }
    let expected: Vec<Delivered> = vec![
        (0, 0, 1001, vec![11, 6, 12]),
        (0, 3, 1003, vec![13]),
        (0, 4, 1004, vec![4]),
        (1, 0, 1000, vec![7, 14]),
    ];
    assert_eq!(rig.delivered(), expected);
    assert!(rig.is_empty());
}

#[test]
fn identifiers_wrap_and_begin_anew() {
    let mut rig = Rig::new(Incomplete::MayBeAbandoned);
    // In two steps, since one half of all numbers lies ahead.
    rig.skip(0, 0, i32::MAX as u32);
    rig.skip(0, 0, u32::MAX - 2);
    rig.skip(0, SkippedMessages::UNORDERED, u32::MAX);
    assert_eq!(rig.take(&chunk(1, B | E, 0, 0, 0)), Ok(Taken::Kept));
    assert_eq!(rig.take(&chunk(2, B | E, 0, u32::MAX, 0)), Ok(Taken::Kept));
    assert_eq!(rig.take(&chunk(3, B | E, 0, u32::MAX - 2, 0)), Ok(Taken::Abandoned));
    assert_eq!(rig.take(&chunk(4, B | E | U, 0, u32::MAX, 0)), Ok(Taken::Abandoned));
    assert_eq!(rig.take(&chunk(5, B | E | U, 0, 0, 0)), Ok(Taken::Kept));
    assert_eq!(rig.take(&chunk(6, B | E, 0, 2, 0)), Ok(Taken::Kept));
    let tsns = |delivered: Vec<Delivered>| delivered.into_iter().flat_map(|it| it.3);
    assert!(tsns(rig.delivered()).eq([5]));
    rig.skip(0, 0, 1);
    assert!(tsns(rig.delivered()).eq([2, 1, 6]), "in the order of serial numbers");
    rig.reassembly.reset_streams(&[1]);
    assert_eq!(rig.take(&chunk(7, B | E, 0, 0, 0)), Ok(Taken::Abandoned), "another stream");
    rig.reassembly.reset_streams(&[0]);
    for (tsn, flags) in [(8, B | E), (9, B | E | U)] {
        assert_eq!(rig.take(&chunk(tsn, flags, 0, 0, 0)), Ok(Taken::Kept));
    }
    assert!(tsns(rig.delivered()).eq([8, 9]));
    rig.skip(0, SkippedMessages::UNORDERED, 5);
    rig.reassembly.reset_streams(&[]);
    for (tsn, flags) in [(10, B | E), (11, B | E | U)] {
        assert_eq!(rig.take(&chunk(tsn, flags, 0, 0, 0)), Ok(Taken::Kept));
    }
}

/// What was abandoned long ago does not make messages of the next round of identifiers old.
#[test]
fn abandoned_unordered_messages_are_forgotten_in_time() {
    let mut rig = Rig::new(Incomplete::MayBeAbandoned);
    rig.skip(0, SkippedMessages::UNORDERED, 5);
    let mut mid = 6u32;
    for tsn in 1..20 {
        assert_eq!(rig.take(&chunk(tsn, B | E | U, 0, mid, 0)), Ok(Taken::Kept), "{mid}");
        mid = mid.wrapping_add(1 << 29);
    }
}

#[test]
fn the_highest_tsn_is_discarded_first() {
    let mut rig = Rig::new(Incomplete::Violation);
    for data in [
        chunk(2, B, 0, 0, 0),
        chunk(9, M, 0, 0, 1),
        chunk(4, M, 0, 0, 2),
        chunk(5, E, 0, 0, 3),
        chunk(7, B | E, 0, 3, 0),
        chunk(8, B, 0, 2, 0),
        chunk(10, E, 0, 2, 1),
    ] {
        // Without the fragment between them, so that a run is cut in its middle below.
        let is_last = data.tsn == 5;
        rig.take(&data).unwrap_or_else(|violation| panic!("{violation} {is_last}"));
    }
    // MID 0 is complete and was delivered; begin anew with one that is not.
    assert_eq!(rig.delivered().len(), 1);
    for data in [chunk(12, M, 1, 0, 1), chunk(20, M, 1, 0, 2), chunk(13, E, 1, 0, 3)] {
        rig.take(&data).unwrap();
    }
    let floor = rig.tsns.wide(Tsn(2));
    let mut discarded = vec![];
    while let Some(it) = rig.reassembly.discard_highest(floor) {
        assert_eq!((it.chunks, it.bytes), (1, 4));
        rig.tsns.forget(it.first, 1);
        discarded.push(it.first.narrow().0);
    }
    // The message of TSNs 8 and 10 waits in two chunks, and is kept.
    assert_eq!(discarded, [20, 13, 12, 7]);
    for data in [chunk(12, M, 1, 0, 1), chunk(13, E, 1, 0, 3), chunk(20, M, 1, 0, 2)] {
        rig.take(&data).unwrap();
    }
    rig.take(&chunk(21, B, 1, 0, 0)).unwrap();
    assert_eq!(rig.delivered(), [(1, 0, 1000, vec![21, 12, 20, 13])]);
}

/// Messages of three streams, a few of each at a time under way, as a sender may interleave them.
fn interleaved() -> impl Strategy<Value = Vec<IData<'static>>> {
    let message = (0u16..3, any::<bool>(), prop_oneof![2 => Just(1u32), 3 => 2u32..9]);
    let messages = prop::collection::vec(message, 1..30);
    (messages, prop::collection::vec(any::<Index>(), 300)).prop_map(|(messages, picks)| {
        let mut lanes = [const { Vec::new() }; 3];
        let mut next = BTreeMap::new();
        for (stream, unordered, fragments) in messages {
            let mid = next.entry((stream, unordered)).or_insert(0u32);
            for fsn in 0..fragments {
                let mut flags = if unordered { U } else { M };
                flags.set(B, fsn == 0);
                flags.set(E, fsn + 1 == fragments);
                lanes[usize::from(stream)].push((flags, stream, *mid, fsn));
            }
            *mid += 1;
        }
        lanes.iter_mut().for_each(|lane| lane.reverse());
        let mut chunks: Vec<IData<'static>> = vec![];
        for pick in picks.iter().cycle() {
            let left: Vec<usize> = (0..3).filter(|lane| !lanes[*lane].is_empty()).collect();
            let Some(lane) = (!left.is_empty()).then(|| left[pick.index(left.len())]) else {
                break;
            };
            let (flags, stream, mid, fsn) = lanes[lane].pop().unwrap();
            chunks.push(chunk(1 + chunks.len() as u32, flags, stream, mid, fsn));
        }
        chunks
    })
}

proptest! {
    #[test]
    fn each_message_comes_once_whole_and_in_order(
        chunks in interleaved(),
        moves in prop::collection::vec(any::<Index>(), 300),
        reach in 1usize..300,
    ) {
        let mut order: Vec<usize> = (0..chunks.len()).collect();
        for (i, to) in moves.iter().enumerate().take(chunks.len()) {
            order.swap(i, (i + to.index(reach)).min(chunks.len() - 1));
        }
        let mut rig = Rig::new(Incomplete::Violation);
        let mut got = vec![];
        for i in order {
            prop_assert_eq!(rig.take(&chunks[i]), Ok(Taken::Kept));
            got.extend(rig.delivered());
        }
        let mut expected: BTreeMap<(u16, bool, u32), Vec<u32>> = BTreeMap::new();
        for data in &chunks {
            let key = (data.stream, data.flags.contains(U), data.mid);
            expected.entry(key).or_default().push(data.tsn);
        }
        let mut in_order = [0u32; 3];
        let count = got.len();
        for (stream, _, ppid, tsns) in got {
            let key = [false, true].map(|unordered| (stream, unordered, ppid - 1000));
            let key = key.into_iter().find(|key| expected.get(key) == Some(&tsns));
            prop_assert!(key.is_some(), "{:?}", tsns);
            if key.unwrap().1 {
                continue;
            }
            prop_assert_eq!(ppid - 1000, in_order[usize::from(stream)]);
            in_order[usize::from(stream)] += 1;
        }
        prop_assert_eq!(count, expected.len());
        prop_assert!(rig.is_empty());
    }
}
