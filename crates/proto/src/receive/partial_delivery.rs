//! Delivery in pieces, and the accounting of read messages and pieces.
//!
//! If a message can never be complete because it fills the buffer, its beginning is delivered: reading makes space for
//! the rest. Smaller ones are delivered whole, unless there is a delivery point.

use alloc::vec::Vec;

use super::{AbortedDelivery, Receiver};

/// What the user is about to get.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Released {
    /// Bytes of user data.
    pub bytes: usize,
    /// Whether a message ends with it.
    pub ends: bool,
}

impl Receiver {
    /// Frees the window space of the next message or piece, which may make a SACK due, and describes it;
    /// [`take_first`](Self::take_first) then returns it. Two steps, because inspecting a message in passing would copy
    /// it once more.
    #[inline]
    pub fn release_first(&mut self) -> Option<Released> {
        let message = self.reassembly.first()?;
        let released = Released { bytes: message.len(), ends: message.piece.ends() };
        let chunks = message.fragments.len();
        self.release(released, chunks);
        Some(released)
    }

    /// Frees the space of a message or piece with this many chunks.
    #[inline]
    pub(super) fn release(&mut self, Released { bytes, ends }: Released, chunks: usize) {
        self.window.release(bytes, chunks);
        self.counters.messages += u64::from(ends);
        self.counters.message_bytes += bytes as u64;
        if self.window.update_is_due() {
            self.acks.request();
        }
    }

    /// How many bytes of a message make its delivery begin before it is complete; `None`: only a full buffer does.
    pub fn set_partial_delivery_point(&mut self, point: Option<u32>) {
        self.reassembly.set_partial_delivery_point(point);
    }

    /// Whether there are messages whose beginning was delivered and whose rest will not arrive.
    #[inline]
    pub fn has_aborted(&self) -> bool {
        self.reassembly.has_aborted()
    }

    /// Messages whose beginning was delivered and whose rest will not arrive, since the last call.
    pub fn take_aborted(&mut self) -> Vec<AbortedDelivery> {
        self.reassembly.take_aborted()
    }

    /// Nothing more will arrive: partly delivered messages are aborted, and those that wait for them become readable.
    pub fn finish(&mut self) {
        // Nor will the answer that says on which side of a reset it is. What was acknowledged is delivered.
        let _ = self.take_back();
        let dropped = self.reassembly.finish();
        self.window.release(dropped.bytes, dropped.chunks);
    }

    /// The buffer is full. If it can neither grow nor be read, and nothing below the highest TSN is missing, the next
    /// chunk would not fit, and the peer need not try.
    #[inline(never)]
    pub(super) fn deliver_from_full_buffer(&mut self) {
        let may_grow = self.sizing.as_ref().is_some_and(|it| self.window.buffer() < it.most());
        if !may_grow && !self.tsns.has_gaps() && !self.reassembly.has_messages() {
            self.begin_partial_delivery();
        }
    }

    /// Starts to deliver a message in pieces; returns whether there is a suitable one.
    pub(super) fn begin_partial_delivery(&mut self) -> bool {
        let begins = self.reassembly.begin_partial_delivery();
        if begins && self.reassembly.follows_joined() {
            self.make_joined_firm();
        }
        begins
    }

    /// What became deliverable is not discarded any more.
    #[inline]
    pub(super) fn make_joined_firm(&mut self) {
        // What is acknowledged cumulatively is firm anyway.
        match self.tsns.has_gaps() {
            false => self.reassembly.forget_joined(),
            true => self.make_firm_above_a_gap(),
        }
    }

    #[inline(never)]
    fn make_firm_above_a_gap(&mut self) {
        for (first, count) in self.reassembly.joined() {
            self.tsns.make_firm(first, count);
        }
    }
}
