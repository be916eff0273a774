//! What leaves the flight of a path without being acknowledged, and what it means that a path is empty. Every such loss
//! of flight goes through here.

use super::effects::Effect;
use super::outstanding::OutstandingChunk;
use super::{SendCx, Transmitter};
use crate::probe::TransmissionCause;
use crate::{Instant, LossDetection, PathId, ProbeEvent, Tsn};

/// Whether chunks that are marked lost count in the loss rate of their path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum LossAccounting {
    Counts,
    /// The network has not lost them: the peer had no room, or the path is gone.
    Unchanged,
}

impl Transmitter {
    /// Marks a chunk lost, if it is in flight. Returns its path then.
    pub(super) fn mark_lost(
        &mut self,
        now: Instant,
        tsn: Tsn,
        cause: TransmissionCause,
    ) -> Option<PathId> {
        let (id, flight_bytes) = self.outstanding.mark_lost(tsn, cause)?;
        let path = &mut self.paths[id];
        path.take_out(tsn, flight_bytes);
        path.note_lost(now, tsn, self.outstanding.get(tsn), cause);
        Some(id)
    }

    /// Marks those unacknowledged chunks of a path lost that `which` chooses. Returns whether any were in flight.
    pub(super) fn mark_lost_on(
        &mut self,
        cx: &mut SendCx<'_>,
        id: PathId,
        detection: LossDetection,
        rate: LossAccounting,
        which: impl FnMut(&mut OutstandingChunk) -> bool,
    ) -> bool {
        self.mark_lost_from(cx, id, self.outstanding.base(), detection, rate, which)
    }

    /// The same for those from `from` on.
    pub(super) fn mark_lost_from(
        &mut self,
        cx: &mut SendCx<'_>,
        id: PathId,
        mut from: Tsn,
        detection: LossDetection,
        rate: LossAccounting,
        mut which: impl FnMut(&mut OutstandingChunk) -> bool,
    ) -> bool {
        let (outstanding, path) = (&mut self.outstanding, &mut self.paths[id]);
        let mut any = false;
        let cause = detection.cause();
        while let Some(tsn) = outstanding.next_unacked_on(id, from) {
            from = tsn.next();
            if !which(outstanding.get_mut(tsn)) {
                continue;
            }
            if let Some((_, flight_bytes)) = outstanding.mark_lost(tsn, cause) {
                any = true;
                cx.probe.on(cx.now, ProbeEvent::ChunkLost { path: id, tsn, detection });
                path.take_out(tsn, flight_bytes);
                if rate == LossAccounting::Counts {
                    path.record.on_lost();
                    path.note_lost(cx.now, tsn, outstanding.get(tsn), cause);
                }
            }
        }
        any
    }

    /// The rule for a path that nothing is in flight on any more: its timer ends (RFC 9260 section 6.3.2, R2), unless it
    /// guards a FORWARD-TSN (RFC 3758 section 3.5, C5). Returns whether nothing is.
    pub(super) fn settle(&mut self, id: PathId) -> bool {
        let is_empty = self.paths[id].flight == 0;
        if is_empty && self.forward.guarded_by() != Some(id) {
            self.paths[id].t3 = None;
        }
        is_empty
    }

    /// The same for a path that chunks have left for another one, where no timer would notice that the path is dead. A path
    /// whose lost chunks were retransmitted elsewhere is not one of these: missing reports or a timeout have judged it.
    pub(super) fn settle_left(&mut self, cx: &mut SendCx<'_>, id: PathId) {
        if self.settle(id) {
            cx.effects.push(Effect::Emptied(id));
        }
    }

    /// Nothing more comes back on the path: what is in flight there goes elsewhere.
    pub(crate) fn on_path_lost(&mut self, cx: &mut SendCx<'_>, id: PathId) {
        let path = &mut self.paths[id];
        path.t3 = None;
        path.timed = None;
        path.await_no_sample();
        let detection = LossDetection::PathLost;
        self.mark_lost_on(cx, id, detection, LossAccounting::Unchanged, |_| true);
    }
}
