//! From I-DATA chunks to messages in the order of delivery (RFC 8260 section 2.2.3).
//!
//! Fragments belong together by stream, U bit and message identifier, and their place is the fragment sequence number; TSNs say
//! nothing of either. [`FragmentRuns`] makes messages complete, [`MessageOrder`] holds ordered ones back until it is their
//! turn. All of it counts in the receive window, so what never becomes complete is bounded by that.

mod order;
mod runs;

use alloc::boxed::Box;

use polypath_wire::{DataFlags, IData, SkippedMessages};
use smallvec::SmallVec;

use self::order::MessageOrder;
use self::runs::{FragmentRuns, Inserted, MessageKey};
use super::{Complete, Discarded, Dropped, ReadyMessages, Violation};
use crate::receive::Incomplete;
use crate::receive::tsn_map::WideTsn;
use crate::{Delivery, Mid, Piece, ReceivedMessage, Tsn};

/// What became of an I-DATA chunk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Taken {
    /// Its user data is kept.
    Kept,
    /// It is left over from a message that the peer has abandoned.
    Abandoned,
}

/// TSNs of a message.
#[derive(Debug)]
enum MessageTsns {
    One(WideTsn),
    Many(Box<[WideTsn]>),
}

impl MessageTsns {
    fn as_slice(&self) -> &[WideTsn] {
        match self {
            Self::One(tsn) => core::slice::from_ref(tsn),
            Self::Many(tsns) => tsns,
        }
    }
}

/// A message of which all fragments are there.
#[derive(Debug)]
struct Assembled {
    mid: Mid,
    tsns: MessageTsns,
    message: ReceivedMessage,
}

/// Everything received in I-DATA chunks that cannot be delivered yet.
#[derive(Debug, Default)]
pub struct InterleavedMessages {
    runs: FragmentRuns,
    order: MessageOrder,
}

impl InterleavedMessages {
    /// Takes in a chunk with a new TSN; copies its user data out of the datagram.
    #[inline(always)]
    pub fn on_data(
        &mut self,
        tsn: WideTsn,
        data: &IData<'_>,
        incomplete: Incomplete,
        ready: &mut ReadyMessages,
    ) -> Result<Taken, Violation> {
        let key = MessageKey::of(data);
        if self.order.is_over(key) {
            return match incomplete {
                Incomplete::MayBeAbandoned => Ok(Taken::Abandoned),
                Incomplete::Violation => Err(key.repeated()),
            };
        }
        if self.order.is_waiting(key) {
            return Err(key.repeated());
        }
        if data.flags.contains(DataFlags::BEGIN | DataFlags::END) {
            return self.take_whole(key, tsn, data, ready);
        }
        match self.runs.insert(key, tsn, data)? {
            Inserted::Complete(assembled) => self.order.accept(assembled, ready),
            Inserted::Run(0) if ready.may_deliver_pieces() => self.deliver_more_of(key, ready),
            Inserted::Run(_) => {}
        }
        Ok(Taken::Kept)
    }

    /// Takes in a message of one chunk, as most are. It is made where it waits: moving it about costs more than that.
    #[inline]
    fn take_whole(
        &mut self,
        key: MessageKey,
        tsn: WideTsn,
        data: &IData<'_>,
        ready: &mut ReadyMessages,
    ) -> Result<Taken, Violation> {
        if self.runs.has_any_of(key) {
            return Err(Violation::RepeatedFragment { tsn: tsn.narrow().0 });
        }
        if key.unordered || self.order.take_turn(key.stream, key.mid) {
            ready.push(Complete { first: tsn, message: whole_message(key, data) });
            if !key.unordered {
                self.order.follow(key.stream, ready);
            }
        } else {
            let (tsns, message) = (MessageTsns::One(tsn), whole_message(key, data));
            self.order.wait(Assembled { mid: key.mid, tsns, message });
        }
        Ok(Taken::Kept)
    }

    /// A fragment has joined the beginning of an incomplete message: delivers what can be.
    fn deliver_more_of(&mut self, key: MessageKey, ready: &mut ReadyMessages) {
        let begins = |point: u32| {
            self.runs.bytes_begun(key) >= point as usize && may_begin(&self.runs, &self.order, key)
        };
        if self.runs.is_under_way(key) || ready.point().is_some_and(begins) {
            self.deliver_piece(key, ready);
        }
    }

    /// Whether a chunk continues a message that is being delivered, so that it would not wait here.
    pub fn continues_delivery(&self, data: &IData<'_>) -> bool {
        let is_first = data.flags.contains(DataFlags::BEGIN);
        !is_first && self.runs.is_under_way_up_to(MessageKey::of(data), data.ppid_or_fsn)
    }

    fn deliver_piece(&mut self, key: MessageKey, ready: &mut ReadyMessages) {
        if let Some(Assembled { tsns, message, .. }) = self.runs.take_piece(key) {
            ready.watch();
            ready.push_scattered(tsns.as_slice(), message);
        }
    }

    /// Begins to deliver the largest incomplete message for which that can be done; says whether there is one.
    pub fn begin_largest(&mut self, ready: &mut ReadyMessages) -> bool {
        let largest = self.runs.largest_begun(|key| may_begin(&self.runs, &self.order, key));
        if let Some(key) = largest {
            self.deliver_piece(key, ready);
        }
        largest.is_some()
    }

    /// Drops messages of these streams, or of all if none is listed, whose beginning was delivered.
    pub fn drop_under_way(&mut self, streams: &[u16], ready: &mut ReadyMessages) -> Dropped {
        self.runs.drop_under_way(streams, |aborted| ready.note_aborted(Some(aborted)))
    }

    /// The peer abandoned the messages of a stream and kind up to an identifier: lets the order of the stream go on behind it,
    /// and drops what there is of them.
    pub fn skip(&mut self, skipped: SkippedMessages, ready: &mut ReadyMessages) -> Dropped {
        let unordered = skipped.flags & SkippedMessages::UNORDERED != 0;
        let key = MessageKey { stream: skipped.stream, unordered, mid: Mid(skipped.mid) };
        self.order.skip(key, ready);
        let dropped = self.runs.drop_up_to(key);
        ready.note_aborted(dropped.aborted);
        dropped
    }

    /// Expects MID 0 next on these streams; on all of them if none is listed. Gives what that drops.
    pub fn reset(&mut self, streams: &[u16], ready: &mut ReadyMessages) -> Dropped {
        self.order.reset(streams);
        self.drop_under_way(streams, ready)
    }

    /// Gives memory back that nothing is in.
    pub fn release_memory(&mut self) {
        self.runs.release_memory();
        self.order.release_memory();
    }

    /// Discards the chunk with the highest TSN above `floor` that cannot be delivered yet. Goes over all of them: only for
    /// reneging. Messages of several chunks that wait for their turn are kept.
    pub fn discard_highest(&mut self, floor: WideTsn) -> Option<Discarded> {
        let fragment = self.runs.highest().filter(|(tsn, _)| *tsn > floor);
        match self.order.highest().filter(|(tsn, _)| *tsn > floor) {
            Some((tsn, key)) if fragment.as_ref().is_none_or(|(highest, _)| tsn > *highest) => {
                self.order.discard(key)
            }
            _ => fragment.and_then(|(_, place)| self.runs.discard(place)),
        }
    }
}

/// Whether a message is in turn, and the only one of its stream and kind of which the beginning is delivered.
fn may_begin(runs: &FragmentRuns, order: &MessageOrder, key: MessageKey) -> bool {
    let in_turn = key.unordered || order.is_next(key.stream, key.mid);
    in_turn && !runs.is_occupied(key)
}

#[inline]
fn header(key: MessageKey, ppid: u32, tsn: Tsn) -> ReceivedMessage {
    ReceivedMessage {
        stream: key.stream,
        ppid,
        delivery: if key.unordered { Delivery::Unordered } else { Delivery::Ordered },
        // RFC 8260 section 4.1.
        ssn: if key.unordered { 0 } else { key.mid.0 as u16 },
        tsn,
        piece: Piece::Whole,
        fragments: SmallVec::new(),
    }
}

/// A message of one chunk.
#[inline]
fn whole_message(key: MessageKey, data: &IData<'_>) -> ReceivedMessage {
    let fragments = SmallVec::from_buf([data.payload.to_owned()]);
    ReceivedMessage { fragments, ..header(key, data.ppid_or_fsn, Tsn(data.tsn)) }
}

/// What a chunk takes at most beyond its user data, of which `receive/rwnd` has its own idea.
#[cfg(test)]
pub(crate) const WAITING_BYTES: usize = size_of::<Assembled>() + size_of::<(u16, u32)>();
#[cfg(test)]
pub(crate) const FRAGMENT_BYTES: usize = runs::FRAGMENT_BYTES;

#[cfg(test)]
mod tests;
