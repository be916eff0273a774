//! Selective acknowledgements: SACK x outstanding data -> [`AckDelta`], without other side effects.

mod apply;
mod delta;
mod renege;
mod silence;

mod validate;

pub(crate) use apply::apply_to;
pub(crate) use delta::AckDelta;
pub(crate) use renege::{Withdrawn, withdraw, withdraw_next};
pub(crate) use silence::{Silence, Unnamed};
pub(crate) use validate::{SackProblem, SackVerdict, validate, validate_blocks};

use polypath_wire::GapAckBlocks;

use crate::extension::nr_sack::{CERTAINLY_WHOLE, Release};
use crate::transmit::outstanding::OutstandingData;
use crate::{PathId, Tsn};

/// What an acknowledgement reports.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Report<'a> {
    /// Cumulative TSN ack.
    pub(crate) cumulative: Tsn,
    /// Gap ack blocks, ascending; those of both lists of an NR-SACK.
    pub(crate) blocks: &'a GapAckBlocks<'a>,
    /// What of it will not be withdrawn.
    pub(crate) release: Release<'a>,
    /// Path on which it came.
    pub(crate) arrival: PathId,
}

impl Report<'_> {
    /// The same of a receiver whose gap ack blocks are not believed.
    pub(crate) fn without_blocks(&self) -> Self {
        const NONE: &GapAckBlocks<'_> = &GapAckBlocks::Borrowed(&[]);
        Self { blocks: NONE, release: Release::Nothing, ..*self }
    }

    /// Whether its cumulative ack is below that of an earlier report. What it names has arrived nevertheless, and counts; it says
    /// nothing of what it does not name.
    fn is_late(&self, outstanding: &OutstandingData) -> bool {
        self.cumulative.next().is_before(outstanding.base())
    }

    /// Whether it acknowledges this TSN.
    pub(crate) fn covers(&self, tsn: Tsn) -> bool {
        let offset = tsn.distance_from(self.cumulative);
        tsn.is_at_or_before(self.cumulative)
            || self.blocks.iter().any(|b| (u32::from(b.start)..=u32::from(b.end)).contains(&offset))
    }

    /// Whether it may name some of what was received and leave out the rest: it is long and final in all that it names.
    pub(crate) fn may_be_partial(&self) -> bool {
        matches!(self.release, Release::Reported) && self.blocks.len() >= CERTAINLY_WHOLE
    }
}

#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
pub(crate) use testing::apply;
#[cfg(test)]
mod tests;
