//! From I-DATA chunks to messages in the order of delivery (RFC 8260 section 2.2.3).
//!
//! Fragments belong together by stream, U bit and message identifier, and their place is the fragment sequence number; TSNs say
//! nothing of either. [`FragmentRuns`] makes messages complete, [`MessageOrder`] holds ordered ones back until it is their
//! turn. All of it counts in the receive window, so what never becomes complete is bounded by that.

mod order;
mod runs;

use alloc::boxed::Box;

use polypath_wire::{DataFlags, IData, SkippedMessages};
use smallvec::{SmallVec, smallvec};

use self::order::MessageOrder;
use self::runs::{FragmentRuns, MessageKey};
use super::{Discarded, Dropped, ReadyMessages, Violation};
use crate::receive::Incomplete;
use crate::receive::tsn_map::WideTsn;
use crate::{Delivery, Mid, ReceivedMessage};

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
        let whole = data.flags.contains(DataFlags::BEGIN | DataFlags::END);
        let assembled = if whole {
            if self.runs.has_any_of(key) {
                return Err(Violation::RepeatedFragment { tsn: tsn.narrow().0 });
            }
            Some(assembled(key, data.ppid_or_fsn, tsn, data))
        } else {
            self.runs.insert(key, tsn, data)?
        };
        if let Some(assembled) = assembled {
            self.order.accept(assembled, ready);
        }
        Ok(Taken::Kept)
    }

    /// The peer abandoned the messages of a stream and kind up to an identifier: lets the order of the stream go on behind it,
    /// and drops what there is of them.
    pub fn skip(&mut self, skipped: SkippedMessages, ready: &mut ReadyMessages) -> Dropped {
        let unordered = skipped.flags & SkippedMessages::UNORDERED != 0;
        let key = MessageKey { stream: skipped.stream, unordered, mid: Mid(skipped.mid) };
        self.order.skip(key, ready);
        self.runs.drop_up_to(key)
    }

    /// Expects MID 0 next on these streams; on all of them if none is listed.
    pub fn reset(&mut self, streams: &[u16]) {
        self.order.reset(streams);
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

fn header(key: MessageKey, ppid: u32) -> ReceivedMessage {
    ReceivedMessage {
        stream: key.stream,
        ppid,
        delivery: if key.unordered { Delivery::Unordered } else { Delivery::Ordered },
        // RFC 8260 section 4.1.
        ssn: if key.unordered { 0 } else { key.mid.0 as u16 },
        fragments: SmallVec::new(),
    }
}

/// A message of one chunk.
fn assembled(key: MessageKey, ppid: u32, tsn: WideTsn, data: &IData<'_>) -> Assembled {
    let fragments = smallvec![data.payload.to_owned()];
    let message = ReceivedMessage { fragments, ..header(key, ppid) };
    Assembled { mid: key.mid, tsns: MessageTsns::One(tsn), message }
}

/// What a chunk takes at most beyond its user data, of which `receive/rwnd` has its own idea.
#[cfg(test)]
pub(crate) const WAITING_BYTES: usize = size_of::<Assembled>() + size_of::<(u16, u32)>();
#[cfg(test)]
pub(crate) const FRAGMENT_BYTES: usize = runs::FRAGMENT_BYTES;

#[cfg(test)]
mod tests;
