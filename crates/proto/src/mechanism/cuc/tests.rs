//! CUC against the worked example of `dreibholz-model` fig. 4 and the formulation with explicit pseudo cumulative acks.

#![allow(clippy::disallowed_types)] // proptest's macros use Arc

use polypath_wire::GapAckBlock;
use proptest::prelude::*;
use std::vec;
use std::vec::Vec;

use super::*;
use crate::probe::TransmissionCause;
use crate::transmit::outstanding::OutstandingData;
use crate::transmit::sack::testing::{blocks, chunk, report};
use crate::{Instant, PathId, Tsn};

/// Applies a SACK and says for each of two paths whether CUCv2 lets its window grow.
fn grows(outstanding: &mut OutstandingData, cumulative: u32, gaps: &[(u16, u16)]) -> [bool; 2] {
    let paths = [PathId(0), PathId(1)];
    let before = paths.map(|path| outstanding.lowest_on(path));
    let delta = crate::transmit::sack::apply(
        outstanding,
        &report(Tsn(cumulative), &blocks(gaps)),
        &[None, None],
        |_, _| {},
    );
    let after = paths.map(|path| outstanding.lowest_on(path));
    [0, 1].map(|i| {
        let view = CucView {
            cumulative_ack_on_path: delta.paths[i].by_cumulative_ack,
            first: LowEnd { before: before[i].0, after: after[i].0 },
            again: LowEnd { before: before[i].1, after: after[i].1 },
        };
        advanced(CwndUpdate::PseudoCumAckV2, &view)
    })
}

/// Chunks from TSN `first` on, each on the path given.
fn outstanding(first: u32, paths: &[u8]) -> OutstandingData {
    let mut outstanding = OutstandingData::new(Tsn(first));
    for &path in paths {
        outstanding.push(chunk(path, 100));
    }
    outstanding
}

#[test]
fn figure_4() {
    for offset in [0, u32::MAX - 15] {
        let tsn = |n: u32| n.wrapping_add(offset);
        // Cumulative ack 12 stands; 13 and 14 went over path 1, 15 and 16 over path 2, 17 and 18 over path 2.
        let mut w = outstanding(tsn(13), &[0, 0, 1, 1, 1, 1]);
        // The SACK acknowledges 13, and 15, 16, 18 in gap blocks; 14 and 17 are missing.
        assert_eq!(grows(&mut w, tsn(13), &[(2, 3), (5, 5)]), [true, true]);
        assert_eq!(w.lowest_on(PathId(0)).0, Some(Tsn(tsn(14))), "pseudo cumulative ack of path 1");
        assert_eq!(w.lowest_on(PathId(1)).0, Some(Tsn(tsn(17))), "pseudo cumulative ack of path 2");
        // The same SACK again changes nothing.
        assert_eq!(grows(&mut w, tsn(13), &[(2, 3), (5, 5)]), [false, false]);
        // CUCv2: 14 is retransmitted on path 2. It no longer counts for path 1, and its ack advances path 2.
        w.mark_lost(Tsn(tsn(14)), TransmissionCause::FastRetransmission);
        w.retransmit(Tsn(tsn(14)), PathId(1), Instant::ZERO);
        assert_eq!(w.lowest_on(PathId(0)), (None, None));
        assert_eq!(w.lowest_on(PathId(1)), (Some(Tsn(tsn(17))), Some(Tsn(tsn(14)))));
        assert_eq!(
            grows(&mut w, tsn(13), &[(1, 3), (5, 5)]),
            [false, true],
            "14 is acknowledged, 17 still missing"
        );
    }
}

#[test]
fn policies_read_their_own_signal() {
    let base = CucView::default();
    let moved = |before, after| LowEnd { before: Some(Tsn(before)), after: Some(Tsn(after)) };
    let still = |tsn| moved(tsn, tsn);
    for (what, view, normal, cuc, cuc_v2) in [
        ("nothing", base, false, false, false),
        ("cumulative ack here", CucView { cumulative_ack_on_path: true, ..base }, true, true, true),
        (
            "lowest first transmission",
            CucView { first: moved(5, 7), again: still(6), ..base },
            false,
            true,
            true,
        ),
        (
            "lowest retransmission",
            CucView { first: still(9), again: moved(5, 7), ..base },
            false,
            true,
            true,
        ),
        (
            "a retransmission below it",
            CucView { first: moved(9, 10), again: still(3), ..base },
            false,
            false,
            true,
        ),
        (
            "a first transmission below it",
            CucView { first: still(3), again: moved(9, 10), ..base },
            false,
            false,
            true,
        ),
    ] {
        for (policy, expected) in [
            (CwndUpdate::Normal, normal),
            (CwndUpdate::PseudoCumAck, cuc),
            (CwndUpdate::PseudoCumAckV2, cuc_v2),
        ] {
            assert_eq!(advanced(policy, &view), expected, "{what}, {policy:?}");
        }
    }
}

/// The same decision with the state that the papers describe: `find` flags and stored pseudo cumulative acks.
#[derive(Default, Clone, Copy)]
struct Explicit {
    stored: Option<u32>,
}

impl Explicit {
    /// `candidates`: unacknowledged chunks of the path before the SACK, ascending, with whether the SACK acks them.
    fn on_sack(&mut self, candidates: &[(u32, bool)], by_cumulative_ack: bool) -> bool {
        let mut advanced = by_cumulative_ack;
        let mut find = by_cumulative_ack || self.stored.is_none();
        for &(tsn, acked) in candidates {
            if find {
                self.stored = Some(tsn);
                find = false;
            }
            if acked && self.stored == Some(tsn) {
                advanced = true;
                find = true;
                self.stored = None;
            }
        }
        advanced
    }
}

proptest! {
    /// Random SACKs of a receiver that never reneges: the stateless rule and the explicit one agree.
    #[test]
    fn agrees_with_explicit_pseudo_cumulative_acks(
        paths in prop::collection::vec(0u8..2, 1..40),
        arrivals in prop::collection::vec(any::<prop::sample::Index>(), 1..60),
        start in prop_oneof![Just(1u32), Just(u32::MAX - 5)],
    ) {
        let mut w = outstanding(start, &paths);
        let mut received = vec![false; paths.len()];
        let mut acked = vec![false; paths.len()];
        let mut explicit = [Explicit::default(); 2];
        for arrival in arrivals {
            received[arrival.index(paths.len())] = true;
            let in_sequence = received.iter().take_while(|r| **r).count();
            let gaps: Vec<GapAckBlock> = (in_sequence..paths.len())
                .filter(|&i| received[i])
                .map(|i| { let o = (i + 1 - in_sequence) as u16; GapAckBlock { start: o, end: o } })
                .collect();
            let expected = [0u8, 1].map(|path| {
                let by_cumulative = (0..in_sequence).any(|i| !acked[i] && paths[i] == path);
                let candidates: Vec<(u32, bool)> = (in_sequence..paths.len())
                    .filter(|&i| !acked[i] && paths[i] == path)
                    .map(|i| (i as u32, received[i]))
                    .collect();
                explicit[usize::from(path)].on_sack(&candidates, by_cumulative)
            });
            let pairs: Vec<(u16, u16)> = gaps.iter().map(|b| (b.start, b.end)).collect();
            let cumulative = start.wrapping_add(in_sequence as u32).wrapping_sub(1);
            prop_assert_eq!(grows(&mut w, cumulative, &pairs), expected);
            acked.copy_from_slice(&received);

        }
    }
}
