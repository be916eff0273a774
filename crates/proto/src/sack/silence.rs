//! What an acknowledgement says nothing about.
//!
//! A receiver that never reneges may leave gap ack blocks out where there is no room for all of them. Of a hole in which
//! something is known to have arrived, such a chunk tells nothing: neither is anything missing there.

use super::Report;
use crate::Tsn;
use crate::send::window::Window;

/// The holes of which an acknowledgement says nothing: there are two at most, below its first block and below its last.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Silence([Option<(Tsn, Tsn)>; 2]);

impl Silence {
    /// Looks at a report that was applied to the window.
    pub(crate) fn of(report: &Report<'_>, window: &Window) -> Self {
        if !report.may_be_partial() {
            return Self::default();
        }
        let last = report.blocks.len() - 1;
        Self([0, last].map(|place| {
            let below = match place {
                0 => 0,
                _ => report.blocks.get(place - 1)?.end,
            };
            let from = report.cumulative.plus(u32::from(below) + 1);
            let end = report.cumulative.plus(report.blocks.get(place)?.start.into());
            window.next_acked(from, end).map(|_| (from, end))
        }))
    }

    /// The first TSN from `tsn` on of which the acknowledgement does say something.
    pub(crate) fn end_after(&self, tsn: Tsn) -> Tsn {
        let around = |(from, end): &(Tsn, Tsn)| from.is_at_or_before(tsn) && tsn.is_before(*end);
        self.0.into_iter().flatten().find(around).map_or(tsn, |(_, end)| end)
    }
}

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use super::*;
    use crate::extension::nr_sack::Release;
    use crate::sack::testing::{apply, blocks, chunk, report};

    /// Offsets from the cumulative TSN ack, 9, of which an acknowledgement of these runs says nothing, after one of those.
    fn silent(before: &[(u16, u16)], named: &[(u16, u16)], release: Release<'_>) -> Vec<u16> {
        let mut window = Window::new(Tsn(10));
        (0..1000).for_each(|_| {
            window.push(chunk(0, 100));
        });
        let (before, named) = (blocks(before), blocks(named));
        apply(
            &mut window,
            &Report { release: Release::Reported, ..report(Tsn(9), &before) },
            &[None],
            |_, _| {},
        );
        let named = Report { release, ..report(Tsn(9), &named) };
        apply(&mut window, &named, &[None], |_, _| {});
        let silence = Silence::of(&named, &window);
        let tsn = |offset: &u16| Tsn(9 + u32::from(*offset));
        (1..=1000).filter(|offset| silence.end_after(tsn(offset)) != tsn(offset)).collect()
    }

    #[test]
    fn a_partial_report_says_nothing_of_two_holes() {
        // Every second one from 201 on, and a last block.
        let mut named: Vec<(u16, u16)> = (0..120).map(|i| (201 + 2 * i, 201 + 2 * i)).collect();
        named.push((900, 999));
        let (below, above) = ((1..=200).collect::<Vec<_>>(), (440..=899).collect::<Vec<_>>());
        let both = [below.clone(), above.clone()].concat();
        for (what, before, expected) in [
            ("nothing is known there: it may be missing", &[][..], &[][..]),
            ("something arrived below", &[(50, 60)], &below),
            ("and above", &[(500, 500)], &above),
            ("in both", &[(50, 60), (500, 500)], &both),
            ("in a hole between its blocks: it is old", &[(204, 204)], &[]),
        ] {
            assert_eq!(silent(before, &named, Release::Reported), expected, "{what}");
        }
        let before = [(50, 60), (500, 500)];
        assert_eq!(silent(&before, &named, Release::Nothing), [], "a SACK names all or the lowest");
        assert_eq!(silent(&before, &named[..99], Release::Reported), [], "so few are all");
        assert_eq!(silent(&before, &[], Release::Reported), []);
    }
}
