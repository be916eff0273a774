//! What an acknowledgement says nothing about.
//!
//! A receiver that never reneges may leave gap ack blocks out where there is no room for all of them. Of a hole in which
//! something is known to have arrived, such a chunk tells nothing: neither is anything missing there.

use super::Report;
use crate::Tsn;
use crate::transmit::outstanding::OutstandingData;

/// A hole of which an acknowledgement may say nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Hole {
    from: Tsn,
    end: Tsn,
    is_silent: bool,
}

/// What is to be thought of the chunks that an acknowledgement does not name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Unnamed {
    /// They have not arrived.
    Missing,
    /// Probably not, but they may have been left out.
    Doubtful,
    /// Nothing, up to this TSN.
    Silent(Tsn),
}

/// The holes of which an acknowledgement may say nothing: those below its first block and below its last.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Silence([Option<Hole>; 2]);

impl Silence {
    /// Examines a report that was applied to the outstanding data.
    #[inline]
    pub(crate) fn of(report: &Report<'_>, outstanding: &OutstandingData) -> Self {
        // A receiver with something left that it could discard names all blocks, or the lowest.
        match report.may_be_partial() && !outstanding.has_renegable() {
            true => Self::of_partial(report, outstanding),
            false => Self::default(),
        }
    }

    #[inline(never)]
    fn of_partial(report: &Report<'_>, outstanding: &OutstandingData) -> Self {
        let last = report.blocks.len() - 1;
        Self([0, last].map(|place| {
            let below = match place {
                0 => 0,
                _ => report.blocks.get(place - 1)?.end,
            };
            let from = report.cumulative.plus(u32::from(below) + 1);
            let end = report.cumulative.plus(report.blocks.get(place)?.start.into());
            Some(Hole { from, end, is_silent: outstanding.next_acked(from, end).is_some() })
        }))
    }

    /// What a chunk means that the acknowledgement does not name.
    pub(crate) fn around(&self, tsn: Tsn) -> Unnamed {
        let around = |hole: &Hole| hole.from.is_at_or_before(tsn) && tsn.is_before(hole.end);
        match self.0.into_iter().flatten().find(around) {
            None => Unnamed::Missing,
            Some(hole) if hole.is_silent => Unnamed::Silent(hole.end),
            Some(_) => Unnamed::Doubtful,
        }
    }

    /// Whether the acknowledgement may leave something out.
    pub(crate) fn is_partial(&self) -> bool {
        self.0.iter().any(Option::is_some)
    }
}

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use super::*;
    use crate::extension::nr_sack::Release;
    use crate::transmit::sack::testing::{apply, blocks, chunk, report};

    /// What an acknowledgement of these runs says after one of those; offsets are from the cumulative TSN ack, 9.
    fn silence(before: &[(u16, u16)], named: &[(u16, u16)], release: Release<'_>) -> Silence {
        let mut outstanding = OutstandingData::new(Tsn(10));
        (0..1000).for_each(|_| {
            outstanding.push(chunk(0, 100));
        });
        let (before, named) = (blocks(before), blocks(named));
        let before = Report { release: Release::Reported, ..report(Tsn(9), &before) };
        apply(&mut outstanding, &before, &[None], |_, _| {});
        let named = Report { release, ..report(Tsn(9), &named) };
        apply(&mut outstanding, &named, &[None], |_, _| {});
        Silence::of(&named, &outstanding)
    }

    fn offsets(silence: &Silence, wanted: impl Fn(Unnamed) -> bool) -> Vec<u16> {
        (1..=1000).filter(|offset| wanted(silence.around(Tsn(9 + u32::from(*offset))))).collect()
    }

    #[test]
    fn a_partial_report_says_nothing_of_two_holes() {
        // Every second one from 201 on, and a last block.
        let mut named: Vec<(u16, u16)> = (0..120).map(|i| (201 + 2 * i, 201 + 2 * i)).collect();
        named.push((900, 999));
        let (below, above) = ((1..=200).collect::<Vec<_>>(), (440..=899).collect::<Vec<_>>());
        let both = [below.clone(), above.clone()].concat();
        for (what, before, silent, doubtful) in [
            ("nothing is known there: it may be missing", &[][..], &[][..], &both[..]),
            ("something arrived below", &[(50, 60)], &below, &above),
            ("and above", &[(500, 500)], &above, &below),
            ("in both", &[(50, 60), (500, 500)], &both, &[]),
            ("in a hole between its blocks: it is old", &[(204, 204)], &[], &both),
        ] {
            let silence = silence(before, &named, Release::Reported);
            assert_eq!(offsets(&silence, |it| matches!(it, Unnamed::Silent(_))), silent, "{what}");
            assert_eq!(offsets(&silence, |it| it == Unnamed::Doubtful), doubtful, "{what}");
            assert!(silence.is_partial(), "{what}");
        }
        let before = [(50, 60), (500, 500)];
        for (what, named, release) in [
            ("a SACK names all or the lowest", &named[..], Release::Nothing),
            ("so few are all", &named[..99], Release::Reported),
            ("none", &[], Release::Reported),
        ] {
            assert_eq!(silence(&before, named, release), Silence::default(), "{what}");
        }
    }

    /// What was acknowledged and not promised shows that the receiver may discard.
    #[test]
    fn a_receiver_that_may_renege_leaves_nothing_out() {
        let mut outstanding = OutstandingData::new(Tsn(10));
        (0..400).for_each(|_| {
            outstanding.push(chunk(0, 100));
        });
        let kept = blocks(&[(350, 360)]);
        apply(&mut outstanding, &report(Tsn(9), &kept), &[None], |_, _| {});
        let every_second: Vec<(u16, u16)> = (0..120).map(|i| (2 + 2 * i, 2 + 2 * i)).collect();
        let promised = blocks(&every_second);
        let promised = Report { release: Release::Reported, ..report(Tsn(9), &promised) };
        apply(&mut outstanding, &promised, &[None], |_, _| {});
        assert_eq!(Silence::of(&promised, &outstanding), Silence::default());
    }
}
