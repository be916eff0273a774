//! Messages that are sent at the same time, their fragments in turn (I-DATA, RFC 8260 section 2.2.2).
//!
//! A message stays on its lane until its last fragment is taken, and keeps the others there from beginning: of each stream one
//! message is sent at a time. The scheduler has its say for each fragment.
//!
//! A receiver has to hold all messages of which a part has arrived. Several that fit its buffer one by one may not fit it together,
//! and then none would ever become complete. So a message that does not fit one chunk begins only while all that have begun fit
//! the peer's receive window together; one that is larger than that goes alone. While the first in the order waits for that,
//! others of several chunks do not begin before it.
//!
//! A closed window may be full of the beginning of a message, which makes no room until the rest is there. So what probes a closed
//! window goes on with a message that has begun, whatever the scheduler says.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use polypath_wire::DataFlags;

use super::{Asking, LOOK_AHEAD, NextChunk, Partial, SendQueue, flags_of, flags_of_whole, suits};
use crate::transmit::lanes::{QueuedMessage, Slot};
use crate::transmit::stream_scheduler::Visit;
use crate::types::UserDataChunk;
use crate::{Delivery, OutgoingMessage, Piece};

/// Messages of which some fragments were sent, and the next identifiers.
#[derive(Debug, Default)]
pub(super) struct MessagesUnderway {
    /// By lane.
    begun: BTreeMap<u16, Begun>,
    /// Their bytes, sent or not.
    bytes: u64,
    /// The largest receive window that the peer has announced, in bytes.
    window: u32,
    /// The last one it announced was 0.
    is_window_closed: bool,
    /// By stream: the next MID of ordered and of unordered messages.
    next_mid: Vec<[u32; 2]>,
}

#[derive(Clone, Copy, Debug)]
struct Begun {
    partial: Partial,
    /// Number of the next fragment.
    fsn: u32,
    /// Its bytes, sent or not.
    bytes: u64,
}

/// The message whose fragment is next.
#[derive(Clone, Copy, Debug)]
struct Pick {
    lane: u16,
    slot: Slot,
    /// A part of it was sent.
    has_begun: bool,
}

impl MessagesUnderway {
    /// Lets these streams begin anew with MID 0; all of them if none is listed.
    pub(super) fn reset_streams(&mut self, streams: &[u16]) {
        if streams.is_empty() {
            self.next_mid.clear();
        }
        for stream in streams {
            if let Some(next) = self.next_mid.get_mut(usize::from(*stream)) {
                *next = [0; 2];
            }
        }
    }

    pub(super) fn has_begun(&self) -> bool {
        !self.begun.is_empty()
    }

    /// Gives the memory of an empty map back: it keeps a node.
    pub(super) fn release_memory(&mut self) {
        if self.begun.is_empty() {
            self.begun = BTreeMap::new();
        }
    }

    /// A piece of so many bytes has joined the message in a slot, of which everything was sent.
    pub(super) fn note_piece(&mut self, slot: Slot, bytes: u64) {
        if let Some(begun) = self.begun.values_mut().find(|begun| begun.partial.slot == slot) {
            begun.bytes += bytes;
            self.bytes += bytes;
        }
    }

    /// What was sent of a message that was picked.
    #[inline]
    fn of(&self, pick: Pick) -> Option<Begun> {
        if pick.has_begun { self.begun.get(&pick.lane).copied() } else { None }
    }

    fn may_begin(&self, bytes: u64) -> bool {
        self.bytes == 0 || self.bytes + bytes <= u64::from(self.window)
    }

    fn take_mid(&mut self, message: &OutgoingMessage) -> u32 {
        let index = usize::from(message.stream);
        if self.next_mid.len() <= index {
            self.next_mid.resize(index + 1, [0; 2]);
        }
        let unordered = message.delivery == Delivery::Unordered;
        let next = &mut self.next_mid[index][usize::from(unordered)];
        let mid = *next;
        *next = mid.wrapping_add(1);
        mid
    }
}

impl SendQueue {
    /// Learns from the handshake what carries user data, before anything was sent, and the peer's receive window in bytes.
    pub(crate) fn settle_chunk(&mut self, chunk: UserDataChunk, window: u32) {
        self.underway = (chunk == UserDataChunk::IData).then(Default::default);
        self.note_peer_window(window);
    }

    /// The peer announces this receive window, in bytes.
    #[inline]
    pub(crate) fn note_peer_window(&mut self, window: u32) {
        if let Some(underway) = &mut self.underway {
            underway.window = underway.window.max(window);
            underway.is_window_closed = window == 0;
        }
    }

    /// Stream, U bit and MID of a message of which a part was sent.
    pub(crate) fn begun_message(&self, slot: Slot) -> Option<(u16, bool, u32)> {
        let mut begun = self.underway.as_ref()?.begun.values();
        let Begun { partial, .. } = begun.find(|begun| begun.partial.slot == slot)?;
        let message = &self.messages.get(slot)?.message;
        Some((message.stream, message.delivery == Delivery::Unordered, partial.number))
    }

    /// The message of a lane of which a part was sent.
    pub(super) fn begun_in(&self, lane: u16) -> Option<&OutgoingMessage> {
        let begun = self.underway.as_ref()?.begun.get(&lane)?;
        Some(&self.messages.get(begun.partial.slot)?.message)
    }

    /// Length of the fragment that `asking` would get.
    #[inline(never)]
    pub(super) fn peek_interleaved(
        &self,
        underway: &MessagesUnderway,
        asking: Asking,
        max_payload: u32,
    ) -> Option<u32> {
        let pick = self.pick(underway, asking, max_payload)?;
        let sent = underway.of(pick).map_or(0, |begun| begun.partial.sent);
        let left = self.messages.get(pick.slot)?.message.payload.len() - sent;
        Some((left as u64).min(u64::from(max_payload)) as u32)
    }

    /// The message of which `asking` would get a fragment.
    #[inline(never)]
    pub(super) fn next_interleaved(
        &self,
        underway: &MessagesUnderway,
        asking: Asking,
        max_payload: u32,
    ) -> Option<&OutgoingMessage> {
        let pick = self.pick(underway, asking, max_payload)?;
        Some(&self.messages.get(pick.slot)?.message)
    }

    /// Takes the fragment that [`peek`](Self::peek) measured, where messages are interleaved.
    // Part of its caller, so that what it takes is built in its place.
    #[inline(always)]
    pub(crate) fn take_interleaved(
        &mut self,
        asking: Asking,
        max_payload: u32,
    ) -> Option<NextChunk> {
        let pick = self.pick(self.underway.as_ref()?, asking, max_payload)?;
        let Pick { lane, slot, has_begun } = pick;
        match self.messages.get(slot)?.message {
            OutgoingMessage { piece: Piece::Whole, ref payload, .. }
                if !has_begun && payload.len() <= max_payload as usize =>
            {
                self.take_in_one(lane, slot, asking)
            }
            _ => self.take_part(pick, asking, max_payload),
        }
    }

    /// Takes a fragment of a message of several chunks.
    #[inline(never)]
    fn take_part(&mut self, pick: Pick, asking: Asking, max_payload: u32) -> Option<NextChunk> {
        let Pick { lane, slot, .. } = pick;
        let least = self.cost(0);
        let underway = self.underway.as_mut()?;
        let QueuedMessage { message, reliability } = self.messages.get_mut(slot)?;
        let reliability = *reliability;
        let mut begun = underway.of(pick).unwrap_or_else(|| {
            let (number, bytes) = (underway.take_mid(message), message.payload.len() as u64);
            underway.bytes += bytes;
            let partial = Partial { slot, number, sent: 0, has_begun: false };
            Begun { partial, fsn: 0, bytes }
        });
        let Begun { partial, fsn, .. } = begun;
        let total = message.payload.len();
        let len = (total - partial.sent).min(max_payload as usize);
        let (is_first, is_last) = (partial.sent == 0, partial.sent + len == total);
        let begins = is_first && !partial.has_begun;
        let mut flags = flags_of(message);
        flags.set(DataFlags::BEGIN, begins);
        let beyond = if is_first { least.saturating_sub(total as u64) } else { 0 };
        let (stream, context) = (message.stream, message.context);
        let ppid = if begins { message.ppid } else { fsn };
        let payload = match is_first && is_last {
            true => core::mem::take(&mut message.payload),
            false => message.payload.slice(partial.sent, len),
        };
        let names_path = message.path.is_some();
        let asks_for_sack = message.sack_immediately;
        begun.partial.sent += len;
        begun.fsn = fsn.wrapping_add(1);
        self.scheduler.on_taken(lane, len as u64, asking.bundled);
        let ends = is_last && !self.goes_on_behind(slot);
        flags.set(DataFlags::END, ends);
        flags.set(DataFlags::IMMEDIATE, ends && asks_for_sack);
        if is_last && !ends {
            (begun.partial.sent, begun.partial.has_begun) = (0, true);
            let bytes = self.next_piece(slot);
            begun.bytes += bytes;
            if let Some(underway) = &mut self.underway {
                underway.bytes += bytes;
            }
        }
        let underway = self.underway.as_mut()?;
        if ends {
            underway.bytes -= begun.bytes;
            underway.begun.remove(&lane);
            self.named -= usize::from(names_path);
            self.leave_lane(lane, slot);
            self.messages.empty(slot);
        } else {
            underway.begun.insert(lane, begun);
        }
        self.waiting -= len as u64;
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

    /// Takes a message that fits one chunk, as most do: it is never under way.
    #[inline(always)]
    fn take_in_one(&mut self, lane: u16, slot: Slot, asking: Asking) -> Option<NextChunk> {
        let least = self.cost(0);
        let underway = self.underway.as_mut()?;
        let QueuedMessage { message, reliability } = self.messages.get_mut(slot)?;
        let len = message.payload.len();
        let number = underway.take_mid(message);
        let flags = flags_of_whole(message);
        self.named -= usize::from(message.path.is_some());
        self.waiting -= len as u64;
        let next = NextChunk {
            flags,
            stream: message.stream,
            number,
            ppid: message.ppid,
            context: message.context,
            cost: (len as u64).max(least) as u32,
            payload: core::mem::take(&mut message.payload),
            user_bytes: len as u32,
            reliability: *reliability,
        };
        self.scheduler.on_taken(lane, len as u64, asking.bundled);
        self.leave_lane(lane, slot);
        self.messages.empty(slot);
        Some(next)
    }

    /// Takes a message off its lane of which the rest is not sent; its content stays in its slot.
    pub(super) fn end_message(&mut self, message: (u16, bool, u32)) -> Option<Partial> {
        let lane = self.scheduler.lane(message.0);
        let slot = self.underway.as_ref()?.begun.get(&lane)?.partial.slot;
        if self.begun_message(slot) != Some(message) {
            return None;
        }
        self.end_in(lane)
    }

    /// Takes out the messages of which a part was sent: stream and context of each, for reporting when the association ends.
    pub(super) fn drain_begun(&mut self, unsent: &mut Vec<(u16, u32, bool)>) {
        while let Some(lane) = self.first_begun()
            && let Some(partial) = self.end_in(lane)
        {
            if let Some(QueuedMessage { message, .. }) = self.messages.remove(partial.slot) {
                unsent.push((message.stream, message.context, true));
            }
        }
    }

    fn first_begun(&self) -> Option<u16> {
        self.underway.as_ref()?.begun.keys().next().copied()
    }

    fn end_in(&mut self, lane: u16) -> Option<Partial> {
        let underway = self.underway.as_mut()?;
        let Begun { partial, bytes, .. } = underway.begun.remove(&lane)?;
        let message = &self.messages.get(partial.slot)?.message;
        underway.bytes -= bytes;
        self.named -= usize::from(message.path.is_some());
        self.leave_lane(lane, partial.slot);
        Some(partial)
    }

    fn leave_lane(&mut self, lane: u16, slot: Slot) {
        if self.messages.unlink(lane, slot) {
            self.scheduler.on_empty(lane);
        }
    }

    #[inline(always)]
    fn pick(&self, underway: &MessagesUnderway, asking: Asking, most: u32) -> Option<Pick> {
        if underway.is_window_closed
            && let Some(begun) = self.pick_begun(underway, asking)
        {
            return Some(begun);
        }
        match self.pick_first(underway, asking, most) {
            None => self.pick_in_order(underway, asking, most),
            first => first,
        }
    }

    /// The message of the lane that is first in the order, if nothing is to be asked of others: it goes on, or fits one chunk.
    #[inline(always)]
    fn pick_first(&self, underway: &MessagesUnderway, asking: Asking, most: u32) -> Option<Pick> {
        if self.named > 0 {
            return None;
        }
        let lane = self.scheduler.next(asking.bundled)?;
        if !underway.begun.is_empty()
            && let Some(begun) = underway.begun.get(&lane)
        {
            return self.goes_on(*begun, asking).then(|| Pick::going_on(lane, *begun));
        }
        let slot = self.messages.first(lane)?;
        let fits = self.messages.get(slot)?.message.payload.len() <= most as usize;
        fits.then_some(Pick { lane, slot, has_begun: false })
    }

    #[inline(never)]
    fn pick_in_order(
        &self,
        underway: &MessagesUnderway,
        asking: Asking,
        most: u32,
    ) -> Option<Pick> {
        let (mut looks, mut one_waits) = (LOOK_AHEAD, false);
        let found = self.scheduler.find(asking.bundled, |lane| {
            if let Some(begun) = underway.begun.get(&lane) {
                return match self.goes_on(*begun, asking) {
                    true => Visit::Found(Pick::going_on(lane, *begun)),
                    false => Visit::GoOn,
                };
            }
            let slot = match self.named {
                0 => self.messages.first(lane),
                _ => self.find(lane, asking, &mut looks),
            };
            if let Some(slot) = slot
                && let Some(QueuedMessage { message, .. }) = self.messages.get(slot)
            {
                let bytes = message.payload.len() as u64;
                if bytes <= u64::from(most) || !one_waits && underway.may_begin(bytes) {
                    return Visit::Found(Pick { lane, slot, has_begun: false });
                }
                one_waits = true;
                looks = looks.saturating_sub(1);
            }
            if looks == 0 { Visit::Stop } else { Visit::GoOn }
        });
        if found.is_some() || looks > 0 {
            return found;
        }
        // What has begun is never far: otherwise what waits for it would wait for ever.
        self.pick_begun(underway, asking)
    }

    /// The first message that goes on.
    #[cold]
    fn pick_begun(&self, underway: &MessagesUnderway, asking: Asking) -> Option<Pick> {
        let mut begun = underway.begun.iter();
        let (lane, begun) = begun.find(|(_, begun)| self.goes_on(**begun, asking))?;
        Some(Pick::going_on(*lane, *begun))
    }

    fn goes_on(&self, begun: Begun, asking: Asking) -> bool {
        let waiting = self.messages.get(begun.partial.slot);
        waiting.is_some_and(|waiting| {
            suits(&waiting.message, asking) && waiting.message.payload.len() > begun.partial.sent
        })
    }
}

impl Pick {
    fn going_on(lane: u16, begun: Begun) -> Self {
        Self { lane, slot: begun.partial.slot, has_begun: true }
    }
}
