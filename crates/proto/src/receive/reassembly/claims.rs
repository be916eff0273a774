//! Streams that have a queue of their own, so that each of them can be read apart from the others.

use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;

use super::Dropped;
use super::ready::push_or_join;
use crate::{Delivery, Piece, ReceivedMessage, StreamClaim};

/// Queues of the streams that are claimed.
#[derive(Debug, Default)]
pub struct Claims {
    next: u32,
    /// Where new messages of a stream go; not for a claim that ended with its stream.
    open: BTreeMap<u16, StreamClaim>,
    queues: BTreeMap<StreamClaim, StreamQueue>,
    /// Claims whose owners must be notified of news.
    news: Vec<StreamClaim>,
    /// Data discarded since the last query.
    excess: Dropped,
    /// Bytes of user data ever discarded.
    discarded_bytes: u64,
    /// Messages in all queues.
    waiting: usize,
    /// For streams that were reset before they were claimed: the number of unclaimed messages of each earlier stream.
    ends: BTreeMap<u16, VecDeque<usize>>,
}

/// What waits in a stream.
#[derive(Debug)]
struct StreamQueue {
    stream: u16,
    messages: VecDeque<ReceivedMessage>,
    /// Their user data.
    bytes: usize,
    /// Bytes beyond which the oldest messages are discarded.
    limit: Option<usize>,
    /// Messages ever discarded for that reason.
    discarded: u64,
    /// Messages that the peer sent before it restarted: the first ones.
    from_before: usize,
    /// Parts of the message that is being delivered in pieces were discarded: so is its rest.
    cut: KindsCut,
    told: OwnerTold,
    owner: Owner,
    is_open: bool,
}

/// Whether a stream is claimed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Owner {
    Reads,
    /// It has gone, and wants the stream to be discarded to its end.
    Left,
}

/// The same for both kinds of delivery, of which one message each may be under way.
#[derive(Debug, Default)]
struct KindsCut {
    ordered: bool,
    unordered: bool,
}

/// Whether the owner has heard of what waits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum OwnerTold {
    /// It has found the queue empty: the next message is news.
    Wanted,
    Given,
}

impl Claims {
    /// Claims a stream; `None` if somebody reads it.
    pub(super) fn open(&mut self, stream: u16) -> Option<StreamClaim> {
        if let Some(&before) = self.open.get(&stream) {
            let is_read = |queue: &StreamQueue| queue.owner == Owner::Reads;
            if self.queues.get(&before).is_some_and(is_read) {
                return None;
            }
            self.close(before);
        }
        let claim = StreamClaim(self.next);
        self.next = self.next.wrapping_add(1);
        self.open.insert(stream, claim);
        self.queues.insert(claim, StreamQueue::new(stream));
        Some(claim)
    }

    /// Ends a claim; gives what waits.
    pub(super) fn close(&mut self, claim: StreamClaim) -> VecDeque<ReceivedMessage> {
        let Some(queue) = self.queues.remove(&claim) else { return VecDeque::new() };
        if queue.is_open {
            self.open.remove(&queue.stream);
        }
        self.waiting -= queue.messages.len();
        queue.messages
    }

    /// Whether messages of a stream wait apart from those of others.
    pub(super) fn has(&self, stream: u16) -> bool {
        self.open.contains_key(&stream)
    }

    /// Takes in a message, unless nobody has claimed its stream.
    pub(super) fn push(&mut self, message: ReceivedMessage) -> Option<ReceivedMessage> {
        let claim = self.open.get(&message.stream);
        let Some((claim, queue)) = claim.and_then(|it| Some((*it, self.queues.get_mut(it)?)))
        else {
            return Some(message);
        };
        let before = queue.messages.len();
        let dropped = queue.push(message);
        self.waiting = self.waiting + queue.messages.len() - before;
        self.excess.add(dropped);
        self.discarded_bytes += dropped.bytes as u64;
        if !queue.messages.is_empty() && queue.told == OwnerTold::Wanted {
            queue.told = OwnerTold::Given;
            self.news.push(claim);
        }
        None
    }

    /// Takes out the message of a claim that is next. From `None` on the owner waits to hear of the next one.
    pub(crate) fn take_first(&mut self, claim: StreamClaim) -> Option<ReceivedMessage> {
        let queue = self.queues.get_mut(&claim)?;
        let Some(message) = queue.messages.pop_front() else {
            queue.told = OwnerTold::Wanted;
            return None;
        };
        queue.bytes -= message.len();
        queue.from_before = queue.from_before.saturating_sub(1);
        self.waiting -= 1;
        Some(message)
    }

    /// Whether nothing will come behind what waits: the stream began anew, or there is no such claim.
    pub(crate) fn has_ended(&self, claim: StreamClaim) -> bool {
        self.queues.get(&claim).is_none_or(|queue| !queue.is_open)
    }

    /// How many of the messages that wait are from before the peer's restart.
    pub(crate) fn before_restart(&self, claim: StreamClaim) -> usize {
        self.queues.get(&claim).map_or(0, |queue| queue.from_before)
    }

    /// Lets the queue of a claim hold at most so many bytes, beyond its newest message; none at all with 0.
    pub(crate) fn limit(&mut self, claim: StreamClaim, bytes: Option<usize>) {
        let Some(queue) = self.queues.get_mut(&claim) else { return };
        queue.limit = bytes;
        let before = queue.messages.len();
        let dropped = queue.discard_excess();
        self.waiting = self.waiting + queue.messages.len() - before;
        self.excess.add(dropped);
        self.discarded_bytes += dropped.bytes as u64;
    }

    /// Nobody will read what comes before the stream begins anew: it is discarded, and its claim ends then.
    pub(crate) fn discard(&mut self, claim: StreamClaim) {
        self.limit(claim, Some(0));
        match self.queues.get_mut(&claim) {
            Some(queue) if queue.is_open => queue.owner = Owner::Left,
            _ => drop(self.close(claim)),
        }
    }

    /// Messages of a claim that were discarded.
    pub(crate) fn discarded(&self, claim: StreamClaim) -> u64 {
        self.queues.get(&claim).map_or(0, |queue| queue.discarded)
    }

    /// Bytes of user data discarded, of all streams.
    pub(crate) fn discarded_bytes(&self) -> u64 {
        self.discarded_bytes
    }

    /// What was discarded since the last call.
    pub(super) fn take_excess(&mut self) -> Dropped {
        core::mem::take(&mut self.excess)
    }

    /// These streams begin anew; all of them if none is listed. Their claims end with what waits now.
    pub(super) fn end(&mut self, streams: &[u16]) {
        let ending: Vec<_> = match streams {
            [] => core::mem::take(&mut self.open).into_values().collect(),
            _ => streams.iter().filter_map(|stream| self.open.remove(stream)).collect(),
        };
        for claim in ending {
            let Some(queue) = self.queues.get_mut(&claim) else { continue };
            queue.is_open = false;
            if queue.owner == Owner::Left {
                self.close(claim);
                continue;
            }
            if queue.told == OwnerTold::Wanted {
                queue.told = OwnerTold::Given;
                self.news.push(claim);
            }
        }
    }

    /// Streams begin anew of which there is a message that is nobody's: one item for each.
    pub(super) fn bound(&mut self, messages: impl Iterator<Item = u16>) {
        let mut counts = BTreeMap::<u16, usize>::new();
        messages.for_each(|stream| *counts.entry(stream).or_default() += 1);
        for (stream, count) in counts {
            let ends = self.ends.entry(stream).or_default();
            let before = ends.iter().sum();
            if count > before {
                ends.push_back(count - before);
            }
        }
    }

    /// How many of the messages that are nobody's belong to the first of the streams with this number, if it has begun anew.
    pub(super) fn take_end(&mut self, stream: u16) -> Option<usize> {
        let ends = self.ends.get_mut(&stream)?;
        let first = ends.pop_front();
        if ends.is_empty() {
            self.ends.remove(&stream);
        }
        first
    }

    /// A message that was nobody's was read.
    pub(super) fn on_taken(&mut self, stream: u16) {
        let Some(left) = self.ends.get_mut(&stream).and_then(|ends| ends.front_mut()) else {
            return;
        };
        *left -= 1;
        if *left == 0 {
            self.take_end(stream);
        }
    }

    /// The peer has restarted: what waits is from before. `hold` is called with each message.
    pub(super) fn begin_anew(&mut self, mut hold: impl FnMut(&ReceivedMessage)) {
        self.excess = Dropped::default();
        self.ends.clear();
        for queue in self.queues.values_mut() {
            queue.from_before = queue.messages.len();
            queue.messages.iter().for_each(&mut hold);
        }
    }

    /// Whether there is something to tell owners.
    #[inline]
    pub(crate) fn has_news(&self) -> bool {
        !self.news.is_empty()
    }

    /// A claim, and its stream, of which its owner is to hear that there is something new.
    pub(crate) fn pop_news(&mut self) -> Option<(u16, StreamClaim)> {
        while let Some(claim) = self.news.pop() {
            if let Some(queue) = self.queues.get(&claim) {
                return Some((queue.stream, claim));
            }
        }
        None
    }

    /// Calls `f` with each message.
    pub(super) fn each(&self, mut f: impl FnMut(&ReceivedMessage)) {
        self.queues.values().flat_map(|queue| &queue.messages).for_each(&mut f);
    }

    /// Whether somebody has found the queue of a claim empty, and it still is.
    pub(super) fn have_reader_waiting(&self) -> bool {
        let waits = |queue: &StreamQueue| queue.told == OwnerTold::Wanted && queue.is_open;
        self.queues.values().any(|queue| waits(queue) && queue.owner == Owner::Reads)
    }

    /// Whether a message waits.
    pub(super) fn have_messages(&self) -> bool {
        self.waiting > 0
    }

    /// Gives memory back that nothing is in.
    pub(super) fn release_memory(&mut self) {
        self.news.shrink_to_fit();
        self.queues.values_mut().for_each(|queue| queue.messages.shrink_to_fit());
    }
}

impl StreamQueue {
    fn new(stream: u16) -> Self {
        Self {
            stream,
            messages: VecDeque::new(),
            bytes: 0,
            limit: None,
            discarded: 0,
            from_before: 0,
            cut: KindsCut::default(),
            told: OwnerTold::Wanted,
            owner: Owner::Reads,
            is_open: true,
        }
    }

    /// Takes in a message or piece; gives what that discards.
    fn push(&mut self, message: ReceivedMessage) -> Dropped {
        let is_cut = self.cut.of(message.delivery);
        let goes = *is_cut && !message.piece.begins();
        *is_cut &= !matches!(message.piece, Piece::First | Piece::Last);
        if goes {
            return size(&message);
        }
        self.bytes += message.len();
        push_or_join(&mut self.messages, message);
        self.discard_excess()
    }

    /// Discards the oldest messages while there is more than there may be; the newest one stays unless nothing may.
    fn discard_excess(&mut self) -> Dropped {
        let mut dropped = Dropped::default();
        let Some(limit) = self.limit else { return dropped };
        let least = usize::from(limit > 0);
        while self.bytes > limit
            && self.messages.len() > least
            && let Some(message) = self.messages.pop_front()
        {
            self.from_before = self.from_before.saturating_sub(1);
            self.discarded += 1;
            self.account(&message, &mut dropped);
            if !message.piece.ends() {
                self.discard_rest(message.delivery, &mut dropped);
            }
        }
        dropped
    }

    /// Discards what follows on a piece that was discarded, up to the end of its message; also what is still to come of it.
    fn discard_rest(&mut self, delivery: Delivery, dropped: &mut Dropped) {
        let of_kind = |message: &ReceivedMessage| {
            message.delivery == delivery && message.piece != Piece::Whole
        };
        while let Some(at) = self.messages.iter().position(of_kind) {
            if self.messages.get(at).is_none_or(|next| next.piece.begins()) {
                return;
            }
            let Some(piece) = self.messages.remove(at) else { return };
            self.account(&piece, dropped);
            if piece.piece.ends() {
                return;
            }
        }
        *self.cut.of(delivery) = true;
    }

    fn account(&mut self, message: &ReceivedMessage, dropped: &mut Dropped) {
        let size = size(message);
        self.bytes -= size.bytes;
        dropped.add(size);
    }
}

impl KindsCut {
    fn of(&mut self, delivery: Delivery) -> &mut bool {
        match delivery {
            Delivery::Ordered => &mut self.ordered,
            Delivery::Unordered => &mut self.unordered,
        }
    }
}

fn size(message: &ReceivedMessage) -> Dropped {
    let (bytes, chunks) = (message.len(), message.fragments.len());
    Dropped { bytes, chunks, ..Dropped::default() }
}

#[cfg(test)]
mod tests;
