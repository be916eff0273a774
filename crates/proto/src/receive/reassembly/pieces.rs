//! Partial delivery: the beginning of a message is delivered before the rest has arrived (RFC 9260 section 6.9, RFC
//! 6458 section 8.1.21).
//!
//! The message must be next in order. If it consists of DATA chunks, it is delivered alone: other messages wait for its
//! end, since the user could not distinguish the pieces of two. With I-DATA, one per stream and order of delivery may
//! be in progress.
//!
//! Because the others wait, a delivery point starts a message of DATA chunks only once everything before it has
//! arrived: the messages of a gap below it would fill the buffer when they are complete, and the rest of it would not
//! fit.

use polypath_wire::IData;

use super::{AbortedDelivery, Dropped, Reassembly};
use crate::Ssn;
use crate::receive::tsn_map::WideTsn;

impl Reassembly {
    /// Starts to deliver a message in pieces, so that reading makes space. Returns whether there is a suitable one.
    pub fn begin_partial_delivery(&mut self) -> bool {
        if let Some(interleaved) = &mut self.interleaved {
            return interleaved.begin_largest(&mut self.ready);
        }
        if self.ready.is_open() {
            return false;
        }
        let ordered = &self.ordered;
        let in_turn = |stream, ssn| ordered.is_next(stream, Ssn(ssn));
        let Some(first) = self.fragments.first_begun(in_turn) else { return false };
        self.begin(first);
        true
    }

    /// A fragment has joined the incomplete message whose first TSN here is `first`: delivers it if the beginning was delivered.
    pub(super) fn deliver_more_of(&mut self, first: WideTsn) {
        if self.ready.may_deliver_pieces() && self.fragments.is_under_way(first) {
            self.deliver_piece(first);
        }
    }

    /// Everything up to `cumulative` has arrived: starts to deliver the message that continues there, if it has reached
    /// the delivery point.
    #[inline]
    pub(super) fn begin_at_point(&mut self, cumulative: WideTsn) {
        if let Some(point) = self.ready.point() {
            self.begin_from(point as usize, cumulative);
        }
    }

    #[inline(never)]
    fn begin_from(&mut self, point: usize, cumulative: WideTsn) {
        if self.ready.is_open() {
            return;
        }
        let ordered = &self.ordered;
        let in_turn = |stream, ssn| ordered.is_next(stream, Ssn(ssn));
        let first = self.fragments.first().filter(|first| *first <= cumulative);
        if let Some(first) = first
            && self.fragments.has_begun(first, point, in_turn)
        {
            self.begin(first);
        }
    }

    /// Whether a DATA chunk with this TSN continues the message that is being delivered, so that it would not wait here.
    pub fn continues_delivery(&self, tsn: WideTsn) -> bool {
        self.ready.is_open() && self.fragments.is_under_way_up_to(tsn)
    }

    /// The same for an I-DATA chunk.
    pub fn continues_interleaved(&self, data: &IData<'_>) -> bool {
        self.interleaved.as_ref().is_some_and(|interleaved| interleaved.continues_delivery(data))
    }

    fn begin(&mut self, first: WideTsn) {
        if let Some(piece) = self.fragments.take_piece(first) {
            self.ready.open(piece.message.stream);
            self.ready.push(piece);
        }
    }

    fn deliver_piece(&mut self, first: WideTsn) {
        if let Some(piece) = self.fragments.take_piece(first) {
            self.ready.push(piece);
        }
    }

    /// How many bytes of a message make its delivery begin; `None`: only a full buffer does.
    pub fn set_partial_delivery_point(&mut self, point: Option<u32>) {
        self.ready.set_point(point);
    }

    /// Whether there are messages whose beginning was delivered and whose rest will not arrive.
    #[inline]
    pub fn has_aborted(&self) -> bool {
        self.ready.has_aborted()
    }

    /// Messages whose beginning was delivered and whose rest will not arrive, since the last call.
    pub fn take_aborted(&mut self) -> alloc::vec::Vec<AbortedDelivery> {
        self.ready.take_aborted()
    }

    /// Nothing more will arrive: partly delivered messages are aborted, and those that wait for them are delivered.
    /// Returns what is dropped.
    pub fn finish(&mut self) -> Dropped {
        match &mut self.interleaved {
            Some(interleaved) => interleaved.drop_under_way(&[], &mut self.ready),
            None => self.fragments.drop_begun(&[], &mut self.ready),
        }
    }
}

#[cfg(test)]
mod tests;
