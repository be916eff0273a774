//! From DATA chunks to messages in the order of delivery (RFC 9260 sections 6.6 and 6.9).
//!
//! Three steps: [`Fragments`] completes messages, [`OrderedStreams`] holds ordered ones back until it is their turn,
//! and the queue at the end waits for the user. A complete message that is next in its stream goes directly into the
//! queue. I-DATA chunks have separate first two steps ([`interleaved`]) and share the queue.

mod aside;
mod claims;
mod fragments;
pub(super) mod interleaved;
mod ordered;
mod pieces;
mod ready;

use alloc::boxed::Box;
use alloc::vec::Vec;

use polypath_wire::{Data, DataFlags, IData, SkippedMessages};
use smallvec::SmallVec;
use thiserror::Error;

pub use self::aside::Aside;
use self::claims::Claims;
use self::fragments::{Fragments, Placed};
use self::interleaved::{InterleavedMessages, Taken};
use self::ordered::OrderedStreams;
use self::ready::ReadyMessages;
use super::Incomplete;
use super::tsn_map::WideTsn;
use crate::types::UserDataChunk;
use crate::{Delivery, Piece, ReceivedMessage, Ssn, StreamClaim, Tsn};

pub use self::ready::AbortedDelivery;

/// Most streams with skipped messages that are set aside.
const MOST_SKIPPED_ASIDE: usize = 4096;

/// How the peer's DATA chunks contradict each other or the protocol; the association cannot go on.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum Violation {
    /// A message begins, or another one is complete, where the message before has not ended.
    #[error("the message before TSN {tsn} has no last fragment (E bit)")]
    MissingEnd {
        /// First TSN that is not part of the unfinished message.
        tsn: u32,
    },
    /// A fragment continues a message that was not begun.
    #[error("TSN {tsn} continues a message that has no first fragment (B bit)")]
    MissingBegin {
        /// The fragment's TSN.
        tsn: u32,
    },
    /// Consecutive fragments of one message name different streams, stream sequence numbers or kinds of delivery.
    #[error("TSN {tsn} continues a message with another stream, SSN or U bit")]
    MixedFragments {
        /// The later fragment's TSN.
        tsn: u32,
    },
    /// Two messages of a stream that wait to be delivered have the same stream sequence number.
    #[error("two messages of stream {stream} have SSN {ssn}")]
    RepeatedSsn {
        /// The stream.
        stream: u16,
        /// The stream sequence number.
        ssn: u16,
    },
    /// User data arrived in DATA although I-DATA was negotiated, or vice versa (RFC 8260 section 2.2.3).
    #[error("TSN {tsn} is not in the kind of chunk that was agreed on for user data")]
    WrongKind {
        /// The chunk's TSN.
        tsn: u32,
    },
    /// A fragment of an interleaved message arrived with another TSN, or after the last one.
    #[error("TSN {tsn} repeats a fragment, or follows the last one (E bit)")]
    RepeatedFragment {
        /// The later fragment's TSN.
        tsn: u32,
    },
    /// Two messages of a stream have the same message identifier.
    #[error("two messages of stream {stream} have MID {mid}")]
    RepeatedMid {
        /// The stream.
        stream: u16,
        /// The message identifier.
        mid: u32,
    },
}

/// A message of which all fragments are there; their TSNs are consecutive.
#[derive(Debug)]
pub struct Complete {
    first: WideTsn,
    message: ReceivedMessage,
}

/// What was discarded although it had been acknowledged: `chunks` chunks from TSN `first` on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Discarded {
    /// First TSN.
    pub first: WideTsn,
    /// Number of chunks.
    pub chunks: u32,
    /// Bytes of user data.
    pub bytes: usize,
}

/// Everything received that the user has not read.
#[derive(Debug, Default)]
pub struct Reassembly {
    incomplete: Incomplete,
    fragments: Fragments,
    ordered: OrderedStreams,
    ready: ReadyMessages,
    /// What takes the place of the first two steps where messages are interleaved.
    interleaved: Option<Box<InterleavedMessages>>,
}

/// What dropped fragments took of the receive window.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Dropped {
    /// Bytes of user data.
    pub bytes: usize,
    /// Chunks.
    pub chunks: usize,
    /// A message among them of which the beginning was delivered.
    aborted: Option<AbortedDelivery>,
}

impl Dropped {
    /// Adds what else was dropped.
    pub fn add(&mut self, other: Self) {
        self.bytes += other.bytes;
        self.chunks += other.chunks;
    }
}

impl Reassembly {
    pub fn new(incomplete: Incomplete, chunk: UserDataChunk) -> Self {
        let interleaved = (chunk == UserDataChunk::IData).then(Box::default);
        Self { incomplete, interleaved, ..Self::default() }
    }

    /// Gives memory back that nothing is in.
    pub fn release_memory(&mut self) {
        self.fragments.release_memory();
        self.ordered.release_memory();
        if let Some(interleaved) = &mut self.interleaved {
            interleaved.release_memory();
        }
        self.ready.release_memory();
    }

    /// Takes in a chunk with a new TSN; copies its user data out of the datagram.
    #[inline(always)]
    pub fn on_data(&mut self, tsn: WideTsn, data: &Data<'_>) -> Result<(), Violation> {
        if self.interleaved.is_some() {
            return Err(Violation::WrongKind { tsn: data.tsn });
        }
        if let Some(aside) = self.ready.aside_mut() {
            aside.push(Aside::of_data(data));
            return Ok(());
        }
        if data.flags.contains(DataFlags::BEGIN | DataFlags::END) {
            return self.take_whole(tsn, data);
        }
        match self.fragments.insert(tsn, data, self.incomplete)? {
            Placed::Complete(complete) => self.deliver(complete),
            Placed::Run(first) => {
                self.deliver_more_of(first);
                Ok(())
            }
        }
    }

    /// The same for an I-DATA chunk.
    #[inline(always)]
    pub fn on_i_data(&mut self, tsn: WideTsn, data: &IData<'_>) -> Result<Taken, Violation> {
        if let Some(aside) = self.ready.aside_mut().filter(|_| self.interleaved.is_some()) {
            aside.push(Aside::of_i_data(data));
            return Ok(Taken::Kept);
        }
        match &mut self.interleaved {
            Some(it) => it.on_data(tsn, data, self.incomplete, &mut self.ready),
            None => Err(Violation::WrongKind { tsn: data.tsn }),
        }
    }

    /// Processes a message of one chunk, the usual case. It is built in place: moving it costs more.
    #[inline]
    fn take_whole(&mut self, first: WideTsn, data: &Data<'_>) -> Result<(), Violation> {
        let whole = || {
            let fragments = SmallVec::from_buf([data.payload.to_owned()]);
            Complete { first, message: ReceivedMessage { fragments, ..message_header(data) } }
        };
        if data.flags.contains(DataFlags::UNORDERED) {
            self.ready.push(whole());
            return Ok(());
        }
        if !self.ordered.take_turn(data.stream, data.ssn) {
            return self.ordered.wait(whole());
        }
        self.ready.push(whole());
        self.ordered.follow(data.stream, &mut self.ready);
        Ok(())
    }

    /// Whether there are fragments of messages that are not complete.
    #[inline]
    pub fn has_fragments(&self) -> bool {
        !self.fragments.is_empty() && self.ready.aside().is_none()
    }

    /// Whether it is wanted to be known which chunks became deliverable.
    #[inline]
    pub fn follows_joined(&self) -> bool {
        self.ready.follows_joined()
    }

    /// Checks what can be known once every TSN up to `cumulative` has been taken in. Messages that can no longer become
    /// complete are dropped if the peer may have given them up.
    pub fn check_up_to(&mut self, cumulative: WideTsn) -> Result<Dropped, Violation> {
        let mut dropped = Dropped::default();
        while !self.fragments.is_empty()
            && let Err(violation) = self.fragments.check_up_to(cumulative)
        {
            if self.incomplete == Incomplete::Violation {
                return Err(violation);
            }
            self.fragments.drop_first(&mut dropped);
        }
        self.ready.note_aborted(dropped.aborted);
        self.begin_at_point(cumulative);
        Ok(dropped)
    }

    /// Continues the order of a stream after `ssn`: missing messages up to it will never arrive.
    pub fn skip(&mut self, stream: u16, ssn: Ssn) {
        self.ordered.skip(stream, ssn, &mut self.ready);
    }

    /// The same for I-DATA, ordered or not. Gives what that drops.
    pub fn skip_messages(&mut self, skipped: SkippedMessages) -> Dropped {
        match &mut self.interleaved {
            Some(interleaved) => interleaved.skip(skipped, &mut self.ready),
            None => Dropped::default(),
        }
    }

    /// Resets these streams to SSN and MID 0; all of them if none is listed.
    pub fn reset_streams(&mut self, streams: &[u16]) -> Dropped {
        self.ordered.reset(streams);
        let dropped = match &mut self.interleaved {
            Some(interleaved) => interleaved.reset(streams, &mut self.ready),
            None => self.fragments.drop_begun(streams, &mut self.ready),
        };
        self.ready.end(streams);
        dropped
    }

    /// Sets aside what arrives from now on.
    pub fn set_aside(&mut self) {
        self.ready.set_aside();
    }

    /// Sets aside the skipping of messages, which `entry` describes, if arrivals are set aside and there is space.
    /// Chunks with user data are limited by the receive window, these are not.
    pub fn set_skip_aside(&mut self, entry: impl FnOnce() -> Aside) -> bool {
        let Some(aside) = self.ready.aside_mut() else { return false };
        let entry = entry();
        let held: usize = aside.iter().map(Aside::skipped).sum();
        let fits = held + entry.skipped() <= MOST_SKIPPED_ASIDE;
        if fits {
            aside.push(entry);
        }
        fits
    }

    /// Whether something is set aside.
    pub fn has_aside(&self) -> bool {
        self.ready.aside().is_some_and(|aside| !aside.is_empty())
    }

    /// Sets aside again what may belong to either side of the reset, and what arrives from now on.
    pub fn put_aside(&mut self, chunks: Vec<Aside>) {
        self.ready.set_aside();
        if let Some(aside) = self.ready.aside_mut() {
            *aside = chunks;
        }
    }

    /// What was set aside, in order of arrival; nothing is any more from now on.
    pub fn take_aside(&mut self) -> Vec<Aside> {
        self.ready.take_aside()
    }

    /// Resets all streams and drops incomplete and waiting messages; returns bytes and chunks of the rest, which waits
    /// for the user.
    pub fn begin_anew(&mut self) -> (usize, usize) {
        self.finish();
        self.fragments = Fragments::default();
        self.ordered = OrderedStreams::default();
        if let Some(interleaved) = &mut self.interleaved {
            **interleaved = InterleavedMessages::default();
        }
        self.ready.end(&[]);
        self.ready.size()
    }

    /// Drops messages of which a TSN up to `point` is missing, or whose turn is over. Everything up to `cumulative` has
    /// arrived or was skipped.
    pub fn drop_incomplete(&mut self, point: WideTsn, cumulative: WideTsn) -> Dropped {
        let mut dropped = Dropped::default();
        let ordered = &self.ordered;
        let is_over = |message: &ReceivedMessage| {
            message.delivery == Delivery::Ordered
                && ordered.is_past(message.stream, Ssn(message.ssn))
        };
        self.fragments.drop_abandoned(point, cumulative, is_over, &mut dropped);
        self.ready.note_aborted(dropped.aborted);
        self.begin_at_point(cumulative);
        dropped
    }

    /// Queues a message for the user that arrived before everything else.
    pub fn keep(&mut self, message: ReceivedMessage) {
        self.ready.keep(message);
    }

    /// The message that [`receive`](Self::receive) gives next.
    pub fn first(&self) -> Option<&ReceivedMessage> {
        self.ready.first()
    }

    /// The next message for the user.
    #[inline(always)]
    pub fn receive(&mut self) -> Option<ReceivedMessage> {
        self.ready.take_first()
    }

    /// Whether there is a message for the user.
    pub fn has_messages(&self) -> bool {
        self.ready.has_any()
    }

    /// Whether a reader has nothing to read: in its stream, or in the unclaimed ones.
    pub fn is_read_dry(&self) -> bool {
        !self.ready.has_unclaimed() || self.claims().is_some_and(Claims::have_reader_waiting)
    }

    /// Whether [`receive`](Self::receive) gives one.
    #[inline]
    pub fn has_unclaimed(&self) -> bool {
        self.ready.has_unclaimed()
    }

    /// Gives a stream a queue of its own; `None` if it has one.
    pub fn claim(&mut self, stream: u16) -> Option<StreamClaim> {
        self.ready.claim(stream)
    }

    /// Ends a claim; what waits there can be read as the messages of other streams are.
    pub fn release_claim(&mut self, claim: StreamClaim) {
        self.ready.release(claim);
    }

    /// The queues of claimed streams, if there ever was one.
    #[inline]
    pub fn claims(&self) -> Option<&Claims> {
        self.ready.claims()
    }

    /// The same, to change them.
    pub fn claims_mut(&mut self) -> Option<&mut Claims> {
        self.ready.claims_mut()
    }

    /// Takes over the claims of the receiver before, with what waits; `hold` is called with each message.
    pub fn inherit_claims(&mut self, before: &mut Self, hold: impl FnMut(&ReceivedMessage)) {
        self.ready.inherit_claims(&mut before.ready, hold);
    }

    /// What was discarded because its stream may hold no more.
    pub fn take_excess(&mut self) -> Dropped {
        self.ready.take_excess()
    }

    /// From now on, [`joined`](Self::joined) returns the chunks that became deliverable.
    pub fn follow_joined(&mut self) {
        self.ready.follow_joined();
    }

    /// First TSN and number of chunks of each message that began to wait for the user since the last call.
    pub fn joined(&mut self) -> impl Iterator<Item = (WideTsn, u32)> + '_ {
        self.ready.joined()
    }

    /// Nobody wants to know which these are.
    #[inline]
    pub fn forget_joined(&mut self) {
        self.ready.forget_joined();
    }

    /// Discards the fragment or message with the highest TSN that cannot be delivered yet, if that is above `floor`.
    pub fn discard_highest(&mut self, floor: WideTsn) -> Option<Discarded> {
        if let Some(interleaved) = &mut self.interleaved {
            return interleaved.discard_highest(floor);
        }
        let fragment = self.fragments.highest().filter(|highest| *highest > floor);
        match self.ordered.highest().filter(|(first, _)| *first > floor) {
            Some((first, place)) if fragment.is_none_or(|highest| first > highest) => {
                self.ordered.discard(place)
            }
            _ => fragment.and_then(|_| self.fragments.discard_highest()),
        }
    }

    fn deliver(&mut self, complete: Complete) -> Result<(), Violation> {
        match complete.message.delivery {
            Delivery::Unordered => self.ready.push(complete),
            Delivery::Ordered => self.ordered.accept(complete, &mut self.ready)?,
        }
        Ok(())
    }
}

/// A message as its first fragment describes it, without content. The SSN of an unordered one means nothing and is
/// ignored (RFC 9260 section 6.6).
#[inline]
fn message_header(data: &Data<'_>) -> ReceivedMessage {
    let unordered = data.flags.contains(DataFlags::UNORDERED);
    let (delivery, ssn) =
        if unordered { (Delivery::Unordered, 0) } else { (Delivery::Ordered, data.ssn) };
    ReceivedMessage {
        stream: data.stream,
        ppid: data.ppid,
        delivery,
        ssn,
        tsn: Tsn(data.tsn),
        piece: Piece::Whole,
        fragments: SmallVec::new(),
    }
}

#[cfg(test)]
mod tests;
