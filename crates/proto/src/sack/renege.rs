//! Reneging: the receiver discarded what a gap block had acknowledged (RFC 9260 section 6.2.1, D iii).

use polypath_wire::GapAckBlocks;

use super::AckDelta;
use crate::send::window::Window;
use crate::{PathId, Tsn};

/// Puts back into flight every chunk that an earlier SACK acknowledged and this one, below its highest block, does not;
/// that counts as one missing report. Tells path and charge of each. Returns their number.
///
/// A SACK with nothing new may have been overtaken by a later one, and blocks may have been cut for want of room: what
/// it does not mention then says nothing. Costs nothing while the reported and the remembered numbers of TSNs agree.
pub(crate) fn renege_missing(
    window: &mut Window,
    cumulative: Tsn,
    blocks: &GapAckBlocks<'_>,
    delta: &AckDelta,
    mut on_reneged: impl FnMut(PathId, u32),
) -> u32 {
    if !delta.anything_new() || u64::from(window.acked_count()) <= delta.reported {
        return 0;
    }
    let mut reneged = 0;
    let mut hole = cumulative.next();
    for block in blocks.iter() {
        let end = cumulative.plus(block.start.into());
        while let Some(tsn) = window.next_acked(hole, end) {
            let (path, charge) = window.renege(tsn);
            on_reneged(path, charge);
            reneged += 1;
            hole = tsn.next();
        }
        hole = cumulative.plus(u32::from(block.end) + 1);
    }
    reneged
}
