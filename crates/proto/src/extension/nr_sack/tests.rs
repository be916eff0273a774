#![allow(clippy::disallowed_types)] // proptest's macros use Arc

use std::vec;
use std::vec::Vec;

use proptest::prelude::*;

use super::*;
use crate::Tsn;
use crate::receive::latest::SackTurn;
use crate::receive::nr_sack_build::{Cut, Promise, build};
use crate::receive::tsn_map::{Arrival, TsnMap};
use crate::transmit::outstanding::OutstandingData;
use crate::transmit::sack::testing::{blocks, chunk, report, take_back};
use crate::transmit::sack::{self, Report};

type Pairs = Vec<(u16, u16)>;

fn pairs(blocks: &GapAckBlocks<'_>) -> Pairs {
    blocks.iter().map(|block| (block.start, block.end)).collect()
}

/// What arrived in section 4.3 of the draft: TSNs 2, 3, 5-8, 11 and 13-16, the cumulative one being 3. Streams and SSNs
/// make 5-8, 13 and 16 deliverable.
fn example(initial: u32) -> TsnMap {
    let mut map = TsnMap::new(Tsn(initial), u32::MAX);
    let tsn = |n: u32| Tsn(initial.wrapping_add(n - 2));
    for n in [2, 3, 5, 6, 7, 8, 11, 13, 14, 15, 16] {
        let Arrival::New(wide) = map.classify(tsn(n)) else { panic!("{n} is new") };
        map.record(wide);
        match n {
            8 => map.make_firm(wide.previous().previous().previous(), 4),
            13 | 16 => map.make_firm(wide, 1),
            _ => {}
        }
    }
    map
}

#[test]
fn the_examples_of_the_draft() {
    for initial in [2, u32::MAX - 5] {
        let map = example(initial);
        let cumulative = initial.wrapping_add(1);
        let deliverable = build(&map, Promise::Delivered, &[], 4000, 0, 1400, &SackTurn::default());
        assert_eq!(deliverable.cumulative_tsn_ack, cumulative);
        assert_eq!(pairs(&deliverable.renegable_blocks), [(8, 8), (11, 12)]);
        assert_eq!(pairs(&deliverable.non_renegable_blocks), [(2, 5), (10, 10), (13, 13)]);
        let never_reneges =
            build(&map, Promise::Everything(Cut::Lowest), &[], 4000, 0, 1400, &SackTurn::default());
        assert_eq!(pairs(&never_reneges.renegable_blocks), []);
        assert_eq!(pairs(&never_reneges.non_renegable_blocks), [(2, 5), (8, 8), (10, 13)]);
        for (nr_sack, len) in [(deliverable, 40), (never_reneges, 32)] {
            assert_eq!(polypath_wire::Chunk::NrSack(nr_sack).padded_len(), len);
        }
    }
}

#[test]
fn both_lists_are_cut_at_the_same_tsn() {
    let map = example(2);
    for (room, renegable, non_renegable, duplicates) in [
        (0, vec![], vec![], 0),
        (20, vec![], vec![], 0),
        (24, vec![], vec![(2, 5)], 0),
        (28, vec![(8, 8)], vec![(2, 5)], 0),
        (32, vec![(8, 8)], vec![(2, 5), (10, 10)], 0),
        (36, vec![(8, 8), (11, 12)], vec![(2, 5), (10, 10)], 0),
        (47, vec![(8, 8), (11, 12)], vec![(2, 5), (10, 10), (13, 13)], 1),
    ] {
        let cut = build(&map, Promise::Delivered, &[1, 2], 0, 0, room, &SackTurn::default());
        assert_eq!(pairs(&cut.renegable_blocks), renegable, "{room}");
        assert_eq!(pairs(&cut.non_renegable_blocks), non_renegable, "{room}");
        assert_eq!(cut.duplicate_tsns.len(), duplicates, "{room}");
    }
}

#[test]
fn the_union_is_what_a_sack_would_say() {
    let join = |r: &[(u16, u16)], nr: &[(u16, u16)]| {
        let mut joined = SmallVec::new();
        union(&blocks(r), &blocks(nr), &mut joined)
            .map(|()| joined.iter().map(|block| (block.start, block.end)).collect::<Pairs>())
    };
    assert_eq!(
        join(&[(8, 8), (11, 12)], &[(2, 5), (10, 10), (13, 13)]),
        Ok(vec![(2, 5), (8, 8), (10, 13)])
    );
    assert_eq!(join(&[(2, 9)], &[(4, 5), (9, 11)]), Ok(vec![(2, 11)]), "overlapping");
    assert_eq!(join(&[(2, 65_535)], &[(65_535, 65_535)]), Ok(vec![(2, 65_535)]));
    assert_eq!(join(&[], &[]), Ok(vec![]));
    assert_eq!(join(&[(5, 6), (2, 3)], &[(9, 9)]), Err(Disordered));
    assert_eq!(join(&[(5, 6)], &[(9, 9), (9, 10)]), Err(Disordered));
    assert_eq!(join(&[(5, 4)], &[(9, 9)]), Err(Disordered));
    assert_eq!(join(&[(0, 4)], &[(9, 9)]), Err(Disordered));
}

fn outstanding(count: u32) -> OutstandingData {
    let mut outstanding = OutstandingData::new(Tsn(1));
    (0..count).for_each(|_| {
        outstanding.push(chunk(0, 100));
    });
    outstanding
}

#[test]
fn released_once_and_never_withdrawn() {
    let mut w = outstanding(9);
    let acknowledge = |w: &mut OutstandingData,
                       cumulative,
                       all: &[(u16, u16)],
                       release: Release<'_>| {
        let all = blocks(all);
        let report = Report { release, ..report(Tsn(cumulative), &all) };
        let delta = sack::apply(w, &report, &[None], |_, _| {});
        let withdrawn = take_back(w, &report, &delta, crate::config::StaleSack::Classic, |_, _| {});
        (delta.released.user_bytes, delta.released_early, delta.paths[0].chunks, withdrawn.chunks)
    };
    assert_eq!(acknowledge(&mut w, 0, &[(2, 4)], Release::Nothing), (0, 0, 3, 0));
    // 3 was acknowledged before: it is released, and its bytes do not count again.
    let some = blocks(&[(3, 3), (6, 6)]);
    assert_eq!(acknowledge(&mut w, 0, &[(2, 4), (6, 6)], Release::Blocks(&some)), (200, 200, 1, 0));
    assert_eq!(acknowledge(&mut w, 0, &[(2, 4), (6, 6)], Release::Blocks(&some)), (0, 0, 0, 0));
    assert_eq!(w.get(Tsn(3)).user_bytes(), 0);
    // 2 and 4 are withdrawn; 3 and 6 were promised, whatever a later report says.
    assert_eq!(acknowledge(&mut w, 0, &[(8, 8)], Release::Nothing), (0, 0, 1, 2));
    assert_eq!(w.mark_lost(Tsn(3), crate::probe::TransmissionCause::TimerRetransmission), None);
    // Everything reported is final, what an earlier report had acknowledged included.
    assert_eq!(
        acknowledge(&mut w, 0, &[(2, 4), (6, 6), (8, 9)], Release::Reported),
        (400, 400, 1, 0)
    );
    assert_eq!(acknowledge(&mut w, 9, &[], Release::Nothing), (300, 0, 3, 0), "1, 5 and 7");
    assert!(w.is_empty() && !w.has_renegable());
    assert_eq!(w.in_flight_user_bytes(), 0);
}

proptest! {
    /// Whatever is reported in whichever list and order: every byte leaves the buffer once, and nothing stays.
    #[test]
    fn every_byte_is_released_once(
        reports in prop::collection::vec((0u32..4, prop::collection::vec((1u16..6, 0u16..4, any::<bool>()), 0..8)), 1..30),
    ) {
        let count = 400u32;
        let mut w = outstanding(count);
        let (mut released, mut cumulative) = (0, 0);
        for (advance, runs) in reports {
            cumulative = (cumulative + advance).min(count);
            let (mut r, mut nr, mut at) = (Vec::new(), Vec::new(), 1u16);
            for (gap, extra, is_final) in runs {
                let start = at + gap;
                let end = start + extra;
                if cumulative + u32::from(end) > count { break }
                if is_final { nr.push((start, end)) } else { r.push((start, end)) }
                at = end;
            }
            let mut joined = SmallVec::new();
            let (r, nr) = (blocks(&r), blocks(&nr));
            prop_assert_eq!(union(&r, &nr, &mut joined), Ok(()));
            let all = GapAckBlocks::Owned(joined);
            let release = match (r.is_empty(), nr.is_empty()) {
                (_, true) => Release::Nothing,
                (true, false) => Release::Reported,
                (false, false) => Release::Blocks(&nr),
            };
            let report = Report { release, ..report(Tsn(cumulative), &all) };
            let delta = sack::apply(&mut w, &report, &[None], |_, _| {});
            released += delta.released.user_bytes;
            for block in nr.iter() {
                for offset in block.start..=block.end {
                    let tsn = Tsn(cumulative + u32::from(offset));
                    prop_assert!(w.is_released(tsn) && w.get(tsn).user_bytes() == 0);
                }
            }
            take_back(&mut w, &report, &delta, crate::config::StaleSack::Classic, |_, _| {});
        }
        let nothing = blocks(&[]);
        released += sack::apply(&mut w, &report(Tsn(count), &nothing), &[None], |_, _| {}).released.user_bytes;
        prop_assert_eq!(released, u64::from(count) * 100);
        prop_assert!(w.is_empty() && !w.has_renegable());
    }
}
