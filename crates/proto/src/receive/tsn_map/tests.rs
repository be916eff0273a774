#![allow(clippy::disallowed_types)] // prop_oneof! makes use of Arc

use std::collections::BTreeSet;
use std::vec::Vec;

use proptest::prelude::*;

use super::*;

/// Receives `tsn` as the receiver does.
fn receive(map: &mut TsnMap, tsn: u32) -> Arrival {
    let arrival = map.classify(Tsn(tsn));
    if let Arrival::New(wide) = arrival {
        map.record(wide);
    }
    arrival
}

fn blocks(map: &TsnMap) -> Vec<(u16, u16)> {
    map.gap_blocks(usize::MAX).iter().map(|block| (block.start, block.end)).collect()
}

#[test]
fn in_order_needs_no_bitmap() {
    let mut map = TsnMap::new(Tsn(u32::MAX - 1), MAX_GAP_OFFSET);
    for tsn in [u32::MAX - 1, u32::MAX, 0, 1] {
        assert!(matches!(receive(&mut map, tsn), Arrival::New(_)));
        assert_eq!(map.cumulative_tsn(), Tsn(tsn));
    }
    assert!(map.words.is_empty());
    assert!(!map.has_gaps());
    assert_eq!(receive(&mut map, u32::MAX), Arrival::Duplicate);
}

#[test]
fn gaps_open_and_close() {
    // RFC 9260 section 3.3.4: TSNs 10-12, 14, 15 and 17 have arrived.
    let mut map = TsnMap::new(Tsn(10), MAX_GAP_OFFSET);
    for tsn in [10, 11, 12, 15, 14, 17] {
        assert!(matches!(receive(&mut map, tsn), Arrival::New(_)));
    }
    assert_eq!(map.cumulative_tsn(), Tsn(12));
    assert_eq!(blocks(&map), [(2, 3), (5, 5)]);
    assert_eq!(receive(&mut map, 14), Arrival::Duplicate);
    receive(&mut map, 13);
    assert_eq!(map.cumulative_tsn(), Tsn(15));
    assert_eq!(blocks(&map), [(2, 2)]);
    receive(&mut map, 16);
    assert_eq!(map.cumulative_tsn(), Tsn(17));
    assert!(!map.has_gaps());
    assert_eq!(blocks(&map), []);
}

#[test]
fn what_a_gap_block_cannot_express_is_too_far() {
    for initial in [1, 0, 64, u32::MAX - 40_000] {
        let mut map = TsnMap::new(Tsn(initial), u32::MAX);
        let cumulative = initial.wrapping_sub(1);
        assert_eq!(map.classify(Tsn(cumulative.wrapping_add(65_536))), Arrival::TooFar);
        for offset in [65_535, 2] {
            assert!(matches!(receive(&mut map, cumulative.wrapping_add(offset)), Arrival::New(_)));
        }
        assert_eq!(blocks(&map), [(2, 2), (65_535, 65_535)]);
        for offset in (1..65_535).rev() {
            receive(&mut map, cumulative.wrapping_add(offset));
        }
        assert_eq!(map.cumulative_tsn(), Tsn(cumulative.wrapping_add(65_535)));
        assert!(map.words.iter().all(|word| *word == 0));
        assert!(map.words.len() * 8 <= 16 << 10);
    }
}

#[test]
fn a_tighter_limit_holds() {
    let map = TsnMap::new(Tsn(100), 50);
    assert!(matches!(map.classify(Tsn(149)), Arrival::New(_)));
    assert_eq!(map.classify(Tsn(150)), Arrival::TooFar);
    assert_eq!(map.classify(Tsn(99)), Arrival::Duplicate);
    assert_eq!(map.classify(Tsn(99u32.wrapping_add(1 << 31))), Arrival::Duplicate);
    // No limit can keep the next TSN out.
    assert!(matches!(TsnMap::new(Tsn(7), 0).classify(Tsn(7)), Arrival::New(_)));
}

#[test]
fn long_runs_cross_words() {
    let mut map = TsnMap::new(Tsn(0), MAX_GAP_OFFSET);
    for tsn in (1..500).filter(|tsn| *tsn != 300) {
        receive(&mut map, tsn);
    }
    assert_eq!(blocks(&map), [(2, 300), (302, 500)]);
    receive(&mut map, 0);
    assert_eq!(map.cumulative_tsn(), Tsn(299));
    assert_eq!(blocks(&map), [(2, 200)]);
}

/// The same in the plainest way: offsets from the initial TSN.
struct Model {
    cumulative: i64,
    above: BTreeSet<i64>,
}

impl Model {
    fn settle(&mut self) {
        while self.above.remove(&(self.cumulative + 1)) {
            self.cumulative += 1;
        }
    }

    fn receive(&mut self, offset: i64, limit: i64) -> &'static str {
        if offset <= self.cumulative || self.above.contains(&offset) {
            return "duplicate";
        }
        if offset - self.cumulative > limit {
            return "too far";
        }
        self.above.insert(offset);
        self.settle();
        "new"
    }

    fn advance_to(&mut self, offset: i64) {
        self.cumulative = self.cumulative.max(offset);
        self.above = self.above.split_off(&(self.cumulative + 1));
        self.settle();
    }

    fn blocks(&self) -> Vec<(u16, u16)> {
        let mut blocks: Vec<(u16, u16)> = Vec::new();
        for offset in &self.above {
            let offset = (offset - self.cumulative) as u16;
            match blocks.last_mut() {
                Some((_, end)) if *end + 1 == offset => *end = offset,
                _ => blocks.push((offset, offset)),
            }
        }
        blocks
    }
}

#[derive(Clone, Debug)]
enum Step {
    /// Receive the TSN this far from the cumulative one.
    Receive(i64),
    /// Receive this many from there on, ascending.
    Burst(i64, i64),
    AdvanceTo(i64),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => (-3i64..12).prop_map(Step::Receive),
        4 => (-100i64..400).prop_map(Step::Receive),
        1 => (-100i64..70_000).prop_map(Step::Receive),
        3 => (1i64..300, 1i64..200).prop_map(|(from, count)| Step::Burst(from, count)),
        1 => (-5i64..300).prop_map(Step::AdvanceTo),
    ]
}

fn check(map: &TsnMap, model: &Model, initial: u32) {
    let expected = initial.wrapping_add(model.cumulative as u32);
    assert_eq!(map.cumulative_tsn(), Tsn(expected));
    assert_eq!(map.has_gaps(), !model.above.is_empty());
    assert_eq!(blocks(map), model.blocks());
}

proptest! {
    #[test]
    fn agrees_with_a_set(
        initial in prop_oneof![any::<u32>(), (u32::MAX - 600)..=u32::MAX],
        limit in prop_oneof![Just(65_535u32), 1u32..500],
        steps in prop::collection::vec(step(), 1..80),
    ) {
        let mut map = TsnMap::new(Tsn(initial), limit);
        let mut model = Model { cumulative: -1, above: BTreeSet::new() };
        for step in steps {
            let from = model.cumulative;
            let received = match step {
                Step::Receive(offset) => from + offset..from + offset + 1,
                Step::Burst(offset, count) => from + offset..from + offset + count,
                Step::AdvanceTo(offset) => {
                    map.advance_to(Tsn(initial.wrapping_add((from + offset) as u32)));
                    model.advance_to(from + offset);
                    0..0
                }
            };
            for offset in received {
                let got = receive(&mut map, initial.wrapping_add(offset as u32));
                let got = match got {
                    Arrival::New(_) => "new",
                    Arrival::Duplicate => "duplicate",
                    Arrival::TooFar => "too far",
                };
                prop_assert_eq!(got, model.receive(offset, i64::from(limit)));
            }
            check(&map, &model, initial);
        }
    }
}
