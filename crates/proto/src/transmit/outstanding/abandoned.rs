//! Abandoned chunks: they stay among the outstanding data until the peer has moved its cumulative
//! TSN ack over them, but are not in flight and are never retransmitted (RFC 3758 section 3.5, A2).

use core::mem::take;

use alloc::vec::Vec;
use polypath_wire::{DataFlags, Payload, VirtualPayload};

use super::{OutstandingChunk, OutstandingData};
use crate::probe::TransmissionCause;
use crate::transmit::partial_reliability::Reliability;
use crate::types::{BufferBytes, Fate};
use crate::{Instant, PathId, Tsn};

/// Chunks whose user data is kept at a time; whoever has not answered a FORWARD-TSN by then will hardly reject it.
const MOST_KEPT: usize = 4096;

/// What giving up a chunk changes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Abandoned {
    /// Path of its last transmission.
    pub(crate) path: PathId,
    /// Counted bytes that leave the path's flight.
    pub(crate) flight: u32,
    /// What it took in the send buffer.
    pub(crate) buffer_bytes: BufferBytes,
}

/// The outstanding chunks of a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Extent {
    /// The lowest one; those before it may have been acknowledged.
    pub(crate) first: Tsn,
    /// The highest one. Between them may be chunks of other messages, where messages are interleaved.
    pub(crate) last: Tsn,
    /// Whether that ends the message.
    pub(crate) ends: bool,
}

/// User data of an abandoned chunk.
#[derive(Debug)]
struct Kept {
    tsn: Tsn,
    payload: Payload<'static>,
    cost: u32,
}

/// User data that was abandoned is gone.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Gone;

/// User data of abandoned chunks, until the peer has followed a FORWARD-TSN: some stacks that offer it reject it all the same.
#[derive(Debug, Default)]
pub(crate) struct KeptAbandoned {
    chunks: Vec<Kept>,
    has_stopped: bool,
}

impl KeptAbandoned {
    fn keep(&mut self, tsn: Tsn, payload: Payload<'static>, cost: u32) {
        if self.chunks.len() >= MOST_KEPT {
            self.stop();
        }
        if !self.has_stopped {
            self.chunks.push(Kept { tsn, payload, cost });
        }
    }

    fn stop(&mut self) {
        *self = Self { chunks: Vec::new(), has_stopped: true };
    }

    fn take(&mut self) -> Vec<Kept> {
        take(&mut self.chunks)
    }
}

impl OutstandingChunk {
    /// Whether the rule of its message allows another transmission.
    pub(crate) fn may_be_retransmitted(&self, now: Instant) -> bool {
        let retransmissions = self.transmissions.saturating_sub(1);
        !self.reliability.ends_with_loss(now, retransmissions)
    }
}

impl OutstandingData {
    /// Abandoned chunks that the peer has not passed yet.
    pub(crate) fn abandoned_count(&self) -> u32 {
        self.abandoned_count
    }

    /// Whether `tsn`, which is outstanding, was abandoned.
    pub(crate) fn is_abandoned(&self, tsn: Tsn) -> bool {
        self.get(tsn).fate == Fate::Abandoned
    }

    /// Whether the peer may be told to pass `tsn`: it was abandoned, or the peer has it and promised to keep it.
    pub(crate) fn may_be_passed(&self, tsn: Tsn) -> bool {
        self.is_abandoned(tsn) || self.is_released(tsn)
    }

    /// Whether there are any for [`take_lost_unreliable`](Self::take_lost_unreliable).
    #[inline]
    pub(crate) fn has_lost_unreliable(&self) -> bool {
        !self.lost_unreliable.is_empty()
    }

    /// Chunks of messages that may be abandoned, which were lost since the last call.
    pub(crate) fn take_lost_unreliable(&mut self) -> Vec<Tsn> {
        take(&mut self.lost_unreliable)
    }

    /// The chunks of the message that `tsn` belongs to.
    pub(crate) fn message_around(&self, tsn: Tsn) -> Extent {
        let (mut first, mut last) = (tsn, tsn);
        let begins = |tsn: Tsn| self.get(tsn).flags.contains(DataFlags::BEGIN);
        let mut at = tsn;
        while at != self.base && !begins(first) {
            at = at.previous();
            if self.is_same_message(at, tsn) {
                first = at;
            }
        }
        let ends = |tsn: Tsn| self.get(tsn).flags.contains(DataFlags::END);
        at = tsn;
        while !ends(last) && at.next() != self.next {
            at = at.next();
            if self.is_same_message(at, tsn) {
                last = at;
            }
        }
        Extent { first, last, ends: ends(last) }
    }

    /// Whether two chunks are of one message, if one is in the extent of the other's. (Unordered messages in DATA chunks have no
    /// numbers.)
    pub(crate) fn is_same_message(&self, a: Tsn, b: Tsn) -> bool {
        self.get(a).message() == self.get(b).message()
    }

    /// Whether a chunk of the message is not acknowledged.
    pub(crate) fn has_unacked(&self, message: &Extent) -> bool {
        let mut from = message.first;
        while let Some(tsn) = self.next_unacked(from, message.last.next()) {
            if self.is_same_message(tsn, message.first) {
                return true;
            }
            from = tsn.next();
        }
        false
    }

    /// The highest chunk of a message, if one is outstanding.
    pub(crate) fn last_of(&self, message: (u16, bool, u32)) -> Option<Tsn> {
        let mut tsn = self.next;
        while tsn != self.base {
            tsn = tsn.previous();
            if self.get(tsn).message() == message {
                return Some(tsn);
            }
        }
        None
    }

    /// Gives up a chunk, unless it was already.
    pub(crate) fn abandon(&mut self, tsn: Tsn) -> Option<Abandoned> {
        let acked = self.acked.get(tsn);
        if self.released.get(tsn) {
            self.stop_keeping(tsn);
        }
        let index = self.slot_index(tsn);
        let chunk = &mut self.slots[index];
        let (path, mut flight) = (chunk.path, 0);
        let buffer_bytes = chunk.buffer_bytes();
        let bits = &mut self.paths[path.index()];
        match chunk.fate {
            Fate::Abandoned => return None,
            Fate::Acked => {}
            Fate::InFlight => {
                flight = chunk.flight_bytes;
                self.in_flight_user_bytes -= buffer_bytes.user_bytes;
                bits.in_flight -= buffer_bytes;
            }
            Fate::Lost(_) => {
                self.lost.clear(tsn);
                self.lost_count -= 1;
            }
        }
        chunk.fate = Fate::Abandoned;
        let nothing = Payload::Virtual(VirtualPayload { message: 0, offset: 0, len: 0 });
        let payload = core::mem::replace(&mut chunk.payload, nothing);
        let cost = core::mem::take(&mut chunk.cost);
        if !payload.is_empty() {
            self.kept.keep(tsn, payload, cost);
        }
        bits.unreleased -= buffer_bytes;
        if !acked {
            self.countable.clear(tsn);
            bits.first.clear(tsn);
            bits.again.clear(tsn);
        }
        self.abandoned_count += 1;
        Some(Abandoned { path, flight, buffer_bytes })
    }

    /// The peer has followed a FORWARD-TSN: what was abandoned is needed no more.
    pub(crate) fn stop_keeping_abandoned(&mut self) {
        self.kept.stop();
    }

    /// The peer does not follow FORWARD-TSN after all: what was abandoned is to be retransmitted, and nothing else is abandoned.
    /// Gives what that takes in the send buffer.
    ///
    /// # Errors
    ///
    /// If something of it is gone.
    pub(crate) fn revive(&mut self) -> Result<BufferBytes, Gone> {
        let mut taken = BufferBytes::default();
        for Kept { tsn, payload, cost } in self.kept.take() {
            if !self.contains(tsn) || !self.is_abandoned(tsn) {
                continue;
            }
            let was_acked = self.acked.get(tsn);
            let index = self.slot_index(tsn);
            let chunk = &mut self.slots[index];
            (chunk.payload, chunk.cost, chunk.reliability) = (payload, cost, Reliability::Full);
            chunk.fate = match was_acked {
                true => Fate::Acked,
                false => Fate::Lost(TransmissionCause::FastRetransmission),
            };
            let (path, buffer_bytes) = (chunk.path, chunk.buffer_bytes());
            taken += buffer_bytes;
            let bits = &mut self.paths[path.index()];
            bits.unreleased += buffer_bytes;
            self.abandoned_count -= 1;
            if !was_acked {
                bits.set_again(tsn);
                self.lost.set(tsn);
                self.lost_count += 1;
                if tsn.is_before(self.lost_low) || self.lost_count == 1 {
                    self.lost_low = tsn;
                }
            }
        }
        let mut tsn = self.base;
        while tsn != self.next {
            self.get_mut(tsn).reliability = Reliability::Full;
            tsn = tsn.next();
        }
        if self.abandoned_count > 0 { Err(Gone) } else { Ok(taken) }
    }

    /// Abandons the rest of a message whose other chunks were abandoned: its place is a TSN that is never sent. Without it the
    /// message after it would follow without gap, and a receiver would find that one beginning inside the other.
    pub(crate) fn abandon_rest(&mut self, last: OutstandingChunk) {
        let flags = (last.flags - DataFlags::BEGIN) | DataFlags::END;
        let tsn = self.push(OutstandingChunk { flags, ..last });
        self.abandon(tsn);
    }
}
