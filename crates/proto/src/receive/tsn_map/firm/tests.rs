#![allow(clippy::disallowed_types)] // proptest's macros use Arc

use std::collections::BTreeSet;
use std::vec::Vec;

use proptest::prelude::*;

use super::*;
use crate::Tsn;
use crate::receive::tsn_map::Arrival;

const FIRST: u64 = (1 << 32) - 70;

/// Received and firm TSNs as sets, counted from the first.
#[derive(Default)]
struct Model {
    cumulative: i64,
    above: BTreeSet<i64>,
    firm: BTreeSet<i64>,
}

impl Model {
    fn settle(&mut self) {
        while self.above.remove(&(self.cumulative + 1)) {
            self.cumulative += 1;
        }
        let cumulative = self.cumulative;
        self.firm.retain(|tsn| *tsn > cumulative);
    }

    /// Runs in TSN order, with the list that they belong to.
    fn runs(&self) -> std::vec::Vec<(usize, i64, i64)> {
        let mut runs: std::vec::Vec<(usize, i64, i64)> = Vec::new();
        for &tsn in &self.above {
            let (list, offset) = (usize::from(self.firm.contains(&tsn)), tsn - self.cumulative);
            match runs.last_mut() {
                Some((last, _, end)) if *last == list && *end + 1 == offset => *end = offset,
                _ => runs.push((list, offset, offset)),
            }
        }
        runs
    }
}

fn wide(tsn: i64) -> WideTsn {
    WideTsn((1 << 32) + (FIRST as i64 + tsn) as u64)
}

fn lists(split: &Split) -> [std::vec::Vec<(i64, i64)>; 2] {
    let plain = |blocks: &[GapAckBlock]| {
        blocks.iter().map(|block| (block.start.into(), block.end.into())).collect()
    };
    [plain(&split.0), plain(&split.1)]
}

proptest! {
    /// Random arrivals, promises and discards: map and sets agree, and cut lists say the same up to where they are cut.
    #[test]
    fn agrees_with_sets(
        steps in prop::collection::vec((0u8..6, 1i64..400, 1u32..90), 1..80),
        room in 0usize..12,
    ) {
        let mut map = TsnMap::new(Tsn(FIRST as u32), u32::MAX);
        let mut model = Model { cumulative: -1, ..Model::default() };
        for (op, offset, count) in steps {
            let from = model.cumulative + offset;
            match op {
                0..=2 => for tsn in (from..from + i64::from(count)).step_by(1 + usize::from(op)) {
                    if let Arrival::New(new) = map.classify(wide(tsn).narrow()) {
                        map.record(new);
                        model.above.insert(tsn);
                    }
                },
                3 => if let Arrival::New(new) = map.classify(wide(model.cumulative + 1).narrow()) {
                    map.record(new);
                    model.above.insert(model.cumulative + 1);
                },
                4 => {
                    let received = (0..i64::from(count)).take_while(|n| model.above.contains(&(from + n))).count();
                    map.make_firm(wide(from), received as u32);
                    model.firm.extend(from..from + received as i64);
                }
                _ => if let Some(&victim) = model.above.difference(&model.firm).last() {
                    map.forget(wide(victim), 1);
                    model.above.remove(&victim);
                },
            }
            model.settle();
            prop_assert_eq!(map.cumulative(), wide(model.cumulative));
            prop_assert_eq!(map.has_gaps(), !model.above.is_empty());
            let highest = model.above.last().map_or(0, |last| last - model.cumulative);
            prop_assert_eq!(i64::from(map.gap_span()), highest);
            let runs = model.runs();
            prop_assert_eq!(map.split_block_count(), runs.len());
            for room in [usize::MAX, room] {
                let mut expected = [Vec::new(), Vec::new()];
                for (list, start, end) in runs.iter().take(room) {
                    expected[*list].push((*start, *end));
                }
                prop_assert_eq!(lists(&map.split_gap_blocks(room)), expected);
            }
        }
    }
}
