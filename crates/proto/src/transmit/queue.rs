//! Messages that wait for their first transmission, in the order of the stream scheduler, each cut into fragments as it
//! goes.

mod records;
mod underway;

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::cmp::Reverse;

use polypath_wire::{DataFlags, Payload};
use smallvec::SmallVec;

use self::records::Records;
use self::underway::MessagesUnderway;
use super::lanes::{self, Lanes, QueuedMessage, Slot};
use super::outstanding::OutstandingChunk;
use super::partial_reliability::index::{Index, Place};
use super::partial_reliability::{Reliability, Support};
use super::stream_scheduler::{Scheduler, Visit};
use crate::config::{BufferBounds, StreamScheduler};
use crate::types::{BufferBytes, Lazy, PathSet};
use crate::{Delivery, OutgoingMessage, PathId, Piece};

/// How far a path looks past messages that are meant for other paths.
const LOOK_AHEAD: usize = 64;

/// Bytes of the send buffer that a message takes at least: about what its record and its allocation take in memory, so
/// that a buffer full of tiny messages does not hold many times its size. Larger messages count their user bytes, which
/// is what the papers' buffer sizes mean.
pub(crate) const LEAST_COST: u64 = 128;

/// The send buffer: waiting messages, and the room that waiting and unacknowledged bytes take.
#[derive(Debug)]
pub(crate) struct SendQueue {
    messages: Lanes,
    scheduler: Scheduler,
    /// Message of which some fragments were sent.
    current: Option<Partial>,
    /// What takes the place of `current` and `next_ssn` where messages are interleaved.
    underway: Option<Box<MessagesUnderway>>,
    /// Waiting messages that name a path.
    named: usize,
    /// Messages that come in pieces.
    records: Lazy<Records>,
    /// Messages that may be abandoned.
    pub(crate) index: Lazy<Index>,
    support: Support,
    /// Next SSN of each stream that was used so far.
    next_ssn: Vec<u16>,
    limit: u64,
    /// User bytes waiting or unacknowledged.
    used: u64,
    /// What they count against the limit.
    used_cost: u64,
    /// User bytes waiting.
    waiting: u64,
    peak: u64,
}

#[derive(Clone, Copy, Debug)]
struct Partial {
    slot: Slot,
    /// SSN of DATA, MID of I-DATA.
    number: u32,
    /// Bytes of what is in the slot that were sent.
    sent: usize,
    /// Pieces before that were sent.
    has_begun: bool,
}

/// A chunk about to be sent for the first time.
#[derive(Debug)]
pub(crate) struct NextChunk {
    pub(crate) flags: DataFlags,
    pub(crate) stream: u16,
    /// SSN of DATA, MID of I-DATA.
    pub(crate) number: u32,
    /// Payload protocol identifier; FSN of I-DATA that does not begin a message.
    pub(crate) ppid: u32,
    pub(crate) context: u32,
    /// What it counts against the limit of the send buffer.
    pub(crate) cost: u32,
    pub(crate) payload: Payload<'static>,
    /// Its length.
    pub(crate) user_bytes: u32,
    pub(crate) reliability: Reliability,
}

/// Which paths can serve messages that name a path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Asking {
    /// The path that has room.
    pub(crate) path: PathId,
    /// Paths that can carry data: messages for other paths go anywhere.
    pub(crate) usable: PathSet,
    /// Stream of the new messages that the packet has already.
    pub(crate) bundled: Option<u16>,
}

impl SendQueue {
    pub(crate) fn new(limit: u64, policy: StreamScheduler) -> Self {
        Self {
            messages: Lanes::default(),
            scheduler: Scheduler::new(policy),
            current: None,
            underway: None,
            named: 0,
            records: Lazy::default(),
            index: Lazy::default(),
            support: Support::Unknown,
            next_ssn: Vec::new(),
            limit,
            used: 0,
            used_cost: 0,
            waiting: 0,
            peak: 0,
        }
    }

    /// Whether nothing waits that could be sent.
    pub(crate) fn is_empty(&self) -> bool {
        match self.starved() {
            0 => self.current.is_none() && self.messages.len() == 0,
            starved => self.underway.is_none() || self.messages.len() == starved,
        }
    }

    /// Gives the memory of an empty queue back.
    pub(crate) fn release_memory(&mut self) {
        if self.is_empty() && self.starved() == 0 {
            self.messages.release_memory();
            if let Some(underway) = &mut self.underway {
                underway.release_memory();
            }
        }
    }

    /// Size of the buffer in bytes of user data.
    pub(crate) fn limit(&self) -> u64 {
        self.limit
    }

    /// Makes the buffer at least this large.
    pub(crate) fn enlarge(&mut self, bytes: u64) {
        self.limit = self.limit.max(bytes);
    }

    /// Brings the size of the buffer within these bounds.
    pub(crate) fn resize(&mut self, bounds: BufferBounds) {
        self.limit = self.limit.clamp(bounds.first.min(bounds.most), bounds.most);
    }

    /// User bytes waiting or unacknowledged.
    pub(crate) fn used(&self) -> u64 {
        self.used
    }

    /// User bytes of which nothing was sent.
    pub(crate) fn waiting(&self) -> u64 {
        self.waiting
    }

    /// Most user bytes there ever were.
    pub(crate) fn peak(&self) -> u64 {
        self.peak
    }

    /// Free bytes.
    pub(crate) fn free(&self) -> u64 {
        self.limit.saturating_sub(self.used_cost)
    }

    /// What a message of `len` bytes counts against the limit; never more than an empty buffer has.
    pub(crate) fn cost(&self, len: usize) -> u64 {
        (len as u64).max(LEAST_COST.min(self.limit))
    }

    /// Takes a message; the caller has checked that there is room.
    pub(crate) fn push(&mut self, message: OutgoingMessage, reliability: Reliability) {
        let len = message.payload.len() as u64;
        self.used += len;
        self.used_cost += self.cost(message.payload.len());
        self.waiting += len;
        self.peak = self.peak.max(self.used);
        self.named += usize::from(message.path.is_some());
        let (stream, is_open) = (message.stream, !message.piece.ends());
        let lane = self.scheduler.lane(stream);
        let (slot, is_first) = self.messages.push(lane, message, reliability);
        if is_open {
            self.open_record(stream, slot);
        }
        if is_first {
            self.scheduler.on_waiting(lane);
        }
        let place = |messages: &Lanes| Place::Waiting {
            serial: Reverse(messages.serial(slot).unwrap_or(0)),
            slot,
        };
        match reliability {
            Reliability::Until(end) => self.index.add_deadline(end, place(&self.messages)),
            Reliability::Priority(priority) => {
                self.index.add_priority(priority, place(&self.messages));
            }
            Reliability::Full | Reliability::Retransmissions(_) => {}
        }
    }

    /// Whether the peer understands FORWARD-TSN.
    pub(crate) fn support(&self) -> Support {
        self.support
    }

    /// Learns whether the peer understands FORWARD-TSN. If not, what waits becomes reliable; returns how many messages
    /// that makes.
    pub(crate) fn settle_support(&mut self, support: Support) -> u64 {
        self.support = support;
        if support != Support::No {
            return 0;
        }
        self.index.forget();
        let rules = self.messages.rules_mut().filter(|rule| **rule != Reliability::Full);
        rules.map(|rule| *rule = Reliability::Full).count() as u64
    }

    /// Whether there is room for a message of `size` bytes.
    pub(crate) fn has_room(&self, size: usize) -> bool {
        self.cost(size) <= self.free()
    }

    /// Messages that wait.
    pub(crate) fn len(&self) -> usize {
        self.messages.len() + usize::from(self.current.is_some())
    }

    /// Whether a part of a message was sent, and not all of it.
    pub(crate) fn has_begun(&self) -> bool {
        self.current.is_some() || self.underway.as_ref().is_some_and(|it| it.has_begun())
    }

    /// Whether the message that had this serial number is still there.
    pub(crate) fn is_alive(&self, slot: Slot, serial: u32) -> bool {
        self.messages.serial(slot) == Some(serial)
    }

    /// Whether a part of the message was sent.
    pub(crate) fn is_current(&self, slot: Slot) -> bool {
        self.current.is_some_and(|partial| partial.slot == slot)
            || self.begun_message(slot).is_some()
    }

    /// Takes out a message of which nothing was sent.
    pub(crate) fn abandon(&mut self, slot: Slot) -> Option<QueuedMessage> {
        let stream = self.messages.get(slot)?.message.stream;
        self.remove(self.scheduler.lane(stream), slot)
    }

    /// Takes out the rest of the message of which a part was sent, as a chunk of `path` without content. Where several messages
    /// are sent at a time, it is that of `message`.
    pub(crate) fn abandon_rest(
        &mut self,
        path: PathId,
        message: (u16, bool, u32),
    ) -> Option<OutstandingChunk> {
        let partial = match &self.underway {
            Some(_) => self.end_message(message)?,
            None => self.current.take()?,
        };
        let QueuedMessage { message, reliability } = self.messages.remove(partial.slot)?;
        let rest = (message.payload.len() - partial.sent) as u64;
        self.used -= rest;
        self.used_cost = self.used_cost.saturating_sub(rest);
        self.waiting -= rest;
        Some(OutstandingChunk {
            flags: flags_of(&message),
            stream: message.stream,
            number: partial.number,
            context: message.context,
            path,
            reliability,
            ..OutstandingChunk::vacant()
        })
    }

    /// Gives a stream the value that its scheduler asks for.
    pub(crate) fn set_stream_value(&mut self, stream: u16, value: u16) {
        self.scheduler.set_value(stream, value);
    }

    /// Forgets the values of the streams, which are returned.
    pub(crate) fn take_stream_values(&mut self) -> Vec<u16> {
        self.scheduler.take_values()
    }

    /// Frees the room of acknowledged chunks.
    pub(crate) fn release(&mut self, released: BufferBytes) {
        self.used = self.used.saturating_sub(released.user_bytes);
        self.used_cost = self.used_cost.saturating_sub(released.cost);
    }

    /// Chunks whose room was freed are to be sent after all.
    pub(crate) fn take_back(&mut self, taken: BufferBytes) {
        self.used += taken.user_bytes;
        self.used_cost += taken.cost;
    }

    /// Length of the fragment that `asking` would get, at most `max_payload` bytes.
    pub(crate) fn peek(&self, asking: Asking, max_payload: u32) -> Option<u32> {
        if let Some(underway) = &self.underway {
            return self.peek_interleaved(underway, asking, max_payload);
        }
        let (message, sent) = self.next(asking)?;
        let left = message.payload.len() - sent;
        if left == 0 {
            return None;
        }
        Some((left as u64).min(u64::from(max_payload)) as u32)
    }

    /// How many bytes wait for what `asking` would get: none for a whole message that is delivered as it comes, those of its message
    /// where that is unordered, otherwise all that follow (`u64::MAX`).
    pub(crate) fn dependents(&self, asking: Asking, max_payload: u32) -> u64 {
        let message = match &self.underway {
            Some(underway) => self.next_interleaved(underway, asking, max_payload),
            None => self.next(asking).map(|(message, _)| message),
        };
        match message {
            Some(message) if message.delivery == Delivery::Unordered => match message.piece {
                Piece::Whole if message.payload.len() <= max_payload as usize => 0,
                Piece::Whole => message.payload.len() as u64,
                _ => u64::MAX,
            },
            _ => u64::MAX,
        }
    }

    /// The message of which `asking` would get a fragment, and how much of it was sent.
    fn next(&self, asking: Asking) -> Option<(&OutgoingMessage, usize)> {
        match &self.current {
            Some(partial) => {
                let message = &self.messages.get(partial.slot)?.message;
                suits(message, asking).then_some((message, partial.sent))
            }
            None => Some((&self.messages.get(self.choose(asking)?)?.message, 0)),
        }
    }

    /// Takes the fragment that [`peek`](Self::peek) measured, where messages are not interleaved.
    pub(crate) fn take(&mut self, asking: Asking, max_payload: u32) -> Option<NextChunk> {
        debug_assert!(self.underway.is_none());
        let mut partial = match self.current {
            Some(partial) => partial,
            None => {
                let slot = self.choose(asking)?;
                let fits = {
                    let message = &self.messages.get(slot)?.message;
                    message.piece == Piece::Whole && message.payload.len() <= max_payload as usize
                };
                if fits {
                    return self.take_whole(slot, asking);
                }
                self.start(slot, asking)?
            }
        };
        if self.starved() > 0 {
            return None;
        }
        let least = self.cost(0);
        let QueuedMessage { message, reliability } = self.messages.get_mut(partial.slot)?;
        let reliability = *reliability;
        let total = message.payload.len();
        let len = (total - partial.sent).min(max_payload as usize);
        let (is_first, is_last) = (partial.sent == 0, partial.sent + len == total);
        let mut flags = flags_of(message);
        flags.set(DataFlags::BEGIN, is_first && !partial.has_begun);
        // The first fragment has what a tiny message counts beyond its bytes.
        let beyond = if is_first { least.saturating_sub(total as u64) } else { 0 };
        let (stream, ppid, context) = (message.stream, message.ppid, message.context);
        let asks_for_sack = message.sack_immediately;
        let payload = match is_first && is_last {
            true => core::mem::take(&mut message.payload),
            false => message.payload.slice(partial.sent, len),
        };
        self.waiting -= len as u64;
        partial.sent += len;
        let ends = is_last && !self.goes_on_behind(partial.slot);
        flags.set(DataFlags::END, ends);
        flags.set(DataFlags::IMMEDIATE, ends && asks_for_sack);
        if ends {
            self.messages.empty(partial.slot);
        } else if is_last {
            self.next_piece(partial.slot);
            (partial.sent, partial.has_begun) = (0, true);
        }
        self.current = (!ends).then_some(partial);
        let cost = (len as u64 + beyond) as u32;
        let (number, user_bytes) = (partial.number, len as u32);
        Some(NextChunk {
            flags,
            stream,
            number,
            ppid,
            context,
            cost,
            payload,
            user_bytes,
            reliability,
        })
    }

    /// Takes a whole message that fits one chunk, as most do: it is never `current`.
    #[inline]
    fn take_whole(&mut self, slot: Slot, asking: Asking) -> Option<NextChunk> {
        let least = self.cost(0);
        let QueuedMessage { message, reliability } = self.messages.get_mut(slot)?;
        let (stream, delivery, ppid, context) =
            (message.stream, message.delivery, message.ppid, message.context);
        let flags = flags_of_whole(message);
        let (payload, reliability) = (core::mem::take(&mut message.payload), *reliability);
        self.named -= usize::from(message.path.is_some());
        let len = payload.len() as u64;
        self.waiting -= len;
        let number = take_number(&mut self.next_ssn, stream, delivery);
        self.take_off(self.scheduler.lane(stream), slot, len, asking);
        self.messages.empty(slot);
        let (cost, user_bytes) = (len.max(least) as u32, len as u32);
        Some(NextChunk {
            flags,
            stream,
            number,
            ppid,
            context,
            cost,
            payload,
            user_bytes,
            reliability,
        })
    }

    /// Takes another message off its lane.
    fn start(&mut self, slot: Slot, asking: Asking) -> Option<Partial> {
        let message = &self.messages.get(slot)?.message;
        let (stream, bytes) = (message.stream, message.payload.len() as u64);
        self.named -= usize::from(message.path.is_some());
        let number = take_number(&mut self.next_ssn, stream, message.delivery);
        self.take_off(self.scheduler.lane(stream), slot, bytes, asking);
        Some(Partial { slot, number, sent: 0, has_begun: false })
    }

    /// Takes the next message, of so many bytes, off its lane.
    #[inline]
    fn take_off(&mut self, lane: u16, slot: Slot, bytes: u64, asking: Asking) {
        let is_empty = self.messages.unlink(lane, slot);
        self.scheduler.on_taken(lane, bytes, asking.bundled);
        if is_empty {
            self.scheduler.on_empty(lane);
        }
    }

    /// The message that is next for the asking path.
    #[inline(always)]
    fn choose(&self, asking: Asking) -> Option<Slot> {
        match self.named {
            0 => self.messages.first(self.scheduler.next(asking.bundled)?),
            _ => self.choose_suitable(asking),
        }
    }

    /// The same, where messages name paths.
    fn choose_suitable(&self, asking: Asking) -> Option<Slot> {
        let mut looks = LOOK_AHEAD;
        self.scheduler.find(asking.bundled, |lane| match self.find(lane, asking, &mut looks) {
            Some(slot) => Visit::Found(slot),
            None if looks == 0 => Visit::Stop,
            None => Visit::GoOn,
        })
    }

    /// The first message of a lane that may go on the asking path without reordering its own stream.
    fn find(&self, lane: u16, asking: Asking, looks: &mut usize) -> Option<Slot> {
        let mut passed: SmallVec<[u16; 8]> = SmallVec::new();
        for (slot, message) in self.messages.iter(lane).take(*looks) {
            *looks -= 1;
            let ordered = message.delivery == Delivery::Ordered;
            if suits(message, asking) && !(ordered && passed.contains(&message.stream)) {
                return Some(slot);
            }
            if ordered {
                passed.push(message.stream);
            }
        }
        None
    }

    /// Whether a message that waits asks for a path.
    pub(crate) fn names_paths(&self) -> bool {
        self.named > 0
    }

    /// Whether one of the messages that are next asks for `path`.
    pub(crate) fn names(&self, path: PathId) -> bool {
        let named = |message: &OutgoingMessage| message.path == Some(path);
        if let Some(partial) = &self.current {
            return self.messages.get(partial.slot).is_some_and(|waiting| named(&waiting.message));
        }
        if self.named == 0 {
            return false;
        }
        let mut looks = LOOK_AHEAD;
        let found = self.scheduler.find(None, |lane| {
            if let Some(message) = self.begun_in(lane) {
                return if named(message) { Visit::Found(()) } else { Visit::GoOn };
            }
            let mut next = self.messages.iter(lane).take(looks).inspect(|_| looks -= 1);
            match next.any(|(_, message)| named(message)) {
                true => Visit::Found(()),
                false if looks == 0 => Visit::Stop,
                false => Visit::GoOn,
            }
        });
        found.is_some()
    }

    /// Whether a message of one of these streams waits, or was sent in part.
    pub(crate) fn has_any_of(&self, is_one: impl Fn(u16) -> bool) -> bool {
        let current = self.current.and_then(|partial| self.messages.get(partial.slot));
        current.is_some_and(|waiting| is_one(waiting.message.stream))
            || self
                .messages
                .used()
                .any(|lane| self.messages.iter(lane).any(|(_, message)| is_one(message.stream)))
    }

    /// Lets these streams begin anew with SSN and MID 0; all of them if none is listed.
    pub(crate) fn reset_streams(&mut self, streams: &[u16]) {
        if let Some(underway) = &mut self.underway {
            underway.reset_streams(streams);
        }
        if streams.is_empty() {
            self.next_ssn.clear();
        }
        for stream in streams {
            if let Some(next) = self.next_ssn.get_mut(usize::from(*stream)) {
                *next = 0;
            }
        }
    }

    /// Removes the messages for streams from `count` on, which the peer did not grant: stream and context of each.
    pub(crate) fn remove_streams_from(&mut self, count: u16) -> Vec<(u16, u32)> {
        let mut removed = Vec::new();
        for lane in self.messages.used() {
            let refused = self.messages.iter(lane).filter(|(_, message)| message.stream >= count);
            for slot in refused.map(|(slot, _)| slot).collect::<Vec<_>>() {
                if let Some(QueuedMessage { message, .. }) = self.remove(lane, slot) {
                    removed.push((message.stream, message.context));
                }
            }
        }
        removed
    }

    /// Takes a message that waits wholly out of the queue, and frees its room.
    fn remove(&mut self, lane: u16, slot: Slot) -> Option<QueuedMessage> {
        if self.messages.unlink(lane, slot) {
            self.scheduler.on_empty(lane);
        }
        let waiting = self.messages.remove(slot)?;
        let len = waiting.message.payload.len();
        self.drop_record(waiting.message.stream, slot);
        self.named -= usize::from(waiting.message.path.is_some());
        self.used -= len as u64;
        // The least cost of a message depends on the size of the buffer, which may have changed.
        self.used_cost = self.used_cost.saturating_sub(self.cost(len));
        self.waiting -= len as u64;
        Some(waiting)
    }

    /// Takes out the messages of which nothing or not everything was sent, for reporting when the association ends:
    /// stream, context and whether anything was sent.
    pub(crate) fn drain_unsent(&mut self) -> Vec<(u16, u32, bool)> {
        let mut unsent = Vec::new();
        self.records.forget();
        if let Some(QueuedMessage { message, .. }) =
            self.current.take().and_then(|p| self.messages.remove(p.slot))
        {
            unsent.push((message.stream, message.context, true));
        }
        self.drain_begun(&mut unsent);
        for lane in self.messages.used() {
            while let Some(slot) = self.messages.first(lane) {
                if let Some(QueuedMessage { message, .. }) = self.remove(lane, slot) {
                    unsent.push((message.stream, message.context, false));
                }
            }
        }
        unsent
    }
}

/// Flags of each chunk of a message.
#[inline]
fn flags_of(message: &OutgoingMessage) -> DataFlags {
    match message.delivery {
        Delivery::Unordered => DataFlags::UNORDERED,
        Delivery::Ordered => DataFlags::empty(),
    }
}

/// Flags of a message in one chunk.
#[inline]
fn flags_of_whole(message: &OutgoingMessage) -> DataFlags {
    let mut flags = flags_of(message) | DataFlags::BEGIN | DataFlags::END;
    flags.set(DataFlags::IMMEDIATE, message.sack_immediately);
    flags
}

/// The number of the next message on a stream, which is taken: its SSN, or 0 if it is unordered.
#[inline]
fn take_number(next_ssn: &mut Vec<u16>, stream: u16, delivery: Delivery) -> u32 {
    if delivery == Delivery::Unordered {
        return 0;
    }
    let index = usize::from(stream);
    if next_ssn.len() <= index {
        next_ssn.resize(index + 1, 0);
    }
    let ssn = next_ssn[index];
    next_ssn[index] = ssn.wrapping_add(1);
    ssn.into()
}

fn suits(message: &OutgoingMessage, asking: Asking) -> bool {
    match message.path {
        None => true,
        Some(path) => path == asking.path || !asking.usable.contains(path),
    }
}

const _: () = assert!(lanes::ENTRY_BYTES as u64 <= LEAST_COST);
const _: () = assert!(size_of::<super::outstanding::OutstandingChunk>() as u64 <= LEAST_COST);
