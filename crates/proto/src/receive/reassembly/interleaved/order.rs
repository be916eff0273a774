//! Order within streams by message identifiers, and which identifiers are over.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use super::runs::{MessageKey, serial_ranges};
use super::{Assembled, Discarded, MessageTsns, ReadyMessages};
use crate::receive::tsn_map::WideTsn;
use crate::{Delivery, Mid};

/// Most streams that 16 bits can name.
const MAX_STREAMS: usize = 1 << 16;

/// Distance behind the latest unordered message within which messages count as abandoned: more are never in transit.
const REMEMBERED: u32 = 1 << 30;

/// Holds complete ordered messages back until it is their turn.
#[derive(Debug, Default)]
pub(super) struct MessageOrder {
    /// The MID to deliver next, by stream; streams beyond its end have delivered nothing.
    next: Vec<Mid>,
    /// Messages that wait for earlier ones, by stream and MID. Only looked up, so the wrap of MIDs does not matter.
    waiting: BTreeMap<(u16, u32), Assembled>,
    /// By stream: unordered messages up to this one that have not arrived were abandoned.
    abandoned: BTreeMap<u16, Mid>,
}

impl MessageOrder {
    /// Whether messages with this identifier are delivered or abandoned. Of unordered ones only that is known which were abandoned.
    pub(super) fn is_over(&mut self, key: MessageKey) -> bool {
        if !key.unordered {
            return key.mid.is_before(self.next(key.stream));
        }
        if self.abandoned.is_empty() {
            return false;
        }
        let Some(abandoned) = self.abandoned.get_mut(&key.stream) else { return false };
        let is_over = key.mid.is_at_or_before(*abandoned);
        if !is_over && key.mid.distance_from(*abandoned) > REMEMBERED {
            *abandoned = Mid(key.mid.0.wrapping_sub(REMEMBERED));
        }
        is_over
    }

    /// Whether it is the turn of a message.
    pub(super) fn is_next(&self, stream: u16, mid: Mid) -> bool {
        self.next(stream) == mid
    }

    /// Whether the message waits for its turn.
    pub(super) fn is_waiting(&self, key: MessageKey) -> bool {
        !key.unordered
            && !self.waiting.is_empty()
            && self.waiting.contains_key(&(key.stream, key.mid.0))
    }

    /// Puts a message, and those that waited for it, at the end of `ready`; or lets it wait.
    pub(super) fn accept(&mut self, assembled: Assembled, ready: &mut ReadyMessages) {
        if assembled.message.delivery == Delivery::Unordered {
            return deliver(assembled, ready);
        }
        let stream = assembled.message.stream;
        if !self.take_turn(stream, assembled.mid) {
            return self.wait(assembled);
        }
        deliver(assembled, ready);
        self.follow(stream, ready);
    }

    /// Whether it is the turn of a message, which is then over.
    #[inline]
    pub(super) fn take_turn(&mut self, stream: u16, mid: Mid) -> bool {
        let next = self.next_mut(stream);
        let is_next = *next == mid;
        if is_next {
            *next = next.next();
        }
        is_next
    }

    /// Lets a message wait for its turn.
    pub(super) fn wait(&mut self, assembled: Assembled) {
        self.waiting.insert((assembled.message.stream, assembled.mid.0), assembled);
    }

    /// Delivers the messages of a stream that waited for the one before them.
    #[inline]
    pub(super) fn follow(&mut self, stream: u16, ready: &mut ReadyMessages) {
        if !self.waiting.is_empty() {
            self.deliver_waiting(stream, ready);
        }
    }

    /// Messages of a stream and kind up to this one will not arrive any more: delivers those that wait, and those that
    /// follow.
    pub(super) fn skip(&mut self, key: MessageKey, ready: &mut ReadyMessages) {
        let MessageKey { stream, unordered, mid } = key;
        if unordered {
            let abandoned = self.abandoned.entry(stream).or_insert(mid);
            if mid.is_after(*abandoned) {
                *abandoned = mid;
            }
            return;
        }
        let next = self.next(stream);
        if mid.is_before(next) {
            return;
        }
        for mids in serial_ranges(next, mid).into_iter().flatten() {
            let (low, high) = ((stream, *mids.start()), (stream, *mids.end()));
            while let Some((&place, _)) = self.waiting.range(low..=high).next()
                && let Some(assembled) = self.waiting.remove(&place)
            {
                deliver(assembled, ready);
            }
        }
        *self.next_mut(stream) = mid.next();
        self.follow(stream, ready);
    }

    /// Expects MID 0 next on these streams; on all of them if none is listed.
    pub(super) fn reset(&mut self, streams: &[u16]) {
        if streams.is_empty() {
            self.next.clear();
            self.abandoned.clear();
        }
        for stream in streams {
            if let Some(next) = self.next.get_mut(usize::from(*stream)) {
                *next = Mid(0);
            }
            self.abandoned.remove(stream);
        }
    }

    /// Gives the memory of empty maps back: each keeps a node.
    pub(super) fn release_memory(&mut self) {
        if self.waiting.is_empty() {
            self.waiting = BTreeMap::new();
        }
    }

    /// The highest TSN of a message of one chunk that waits, and its place.
    pub(super) fn highest(&self) -> Option<(WideTsn, (u16, u32))> {
        let single = |assembled: &Assembled| match assembled.tsns {
            MessageTsns::One(tsn) => Some(tsn),
            MessageTsns::Many(_) => None,
        };
        self.waiting.iter().filter_map(|(place, it)| Some((single(it)?, *place))).max()
    }

    /// Discards the message of a place.
    pub(super) fn discard(&mut self, place: (u16, u32)) -> Option<Discarded> {
        let Assembled { tsns, message, .. } = self.waiting.remove(&place)?;
        let first = *tsns.as_slice().first()?;
        Some(Discarded { first, chunks: 1, bytes: message.len() })
    }

    fn deliver_waiting(&mut self, stream: u16, ready: &mut ReadyMessages) {
        let mut next = self.next(stream);
        while let Some(assembled) = self.waiting.remove(&(stream, next.0)) {
            deliver(assembled, ready);
            next = next.next();
        }
        *self.next_mut(stream) = next;
    }

    fn next(&self, stream: u16) -> Mid {
        self.next.get(usize::from(stream)).copied().unwrap_or(Mid(0))
    }

    fn next_mut(&mut self, stream: u16) -> &mut Mid {
        let index = usize::from(stream);
        if index >= self.next.len() {
            let len = (index + 1).next_power_of_two().min(MAX_STREAMS);
            self.next.resize(len, Mid(0));
        }
        &mut self.next[index]
    }
}

fn deliver(assembled: Assembled, ready: &mut ReadyMessages) {
    ready.push_scattered(assembled.tsns.as_slice(), assembled.message);
}
