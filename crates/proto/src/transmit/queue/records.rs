//! Messages that the user hands over in pieces (explicit end of record, RFC 6458 section 8.1.26).
//!
//! The message stays in its slot with the piece that is next; further ones wait here. Once all pieces were sent and the end is not
//! there, it keeps its place: without interleaving nothing else is sent, since the fragments of a message have consecutive TSNs.

use alloc::collections::{BTreeMap, VecDeque};

use polypath_wire::Payload;

use super::SendQueue;
use crate::transmit::lanes::Slot;
use crate::types::Vacant;
use crate::{OutgoingMessage, Piece, SendError};

/// A message that has not ended, or of which pieces wait.
#[derive(Debug, Default)]
struct Record {
    pieces: VecDeque<Payload<'static>>,
    /// The last piece is among them.
    has_end: bool,
    /// Everything that was handed over of it was sent.
    is_starved: bool,
}

/// All of these.
#[derive(Debug, Default)]
pub(super) struct Records {
    by_slot: BTreeMap<Slot, Record>,
    /// By stream: the message of which the end was not handed over.
    open: BTreeMap<u16, Slot>,
    starved: usize,
}

impl Vacant for Records {
    const VACANT: &'static Self =
        &Self { by_slot: BTreeMap::new(), open: BTreeMap::new(), starved: 0 };
}

impl SendQueue {
    /// Whether a piece of a message may follow on what was handed over before on its stream.
    pub(crate) fn admits_piece(&self, stream: u16, piece: Piece) -> Result<(), SendError> {
        let is_open = self.records.used().is_some_and(|records| records.open.contains_key(&stream));
        match (is_open, piece.begins()) {
            (true, true) => Err(SendError::MessageNotEnded { stream }),
            (false, false) => Err(SendError::NoMessageBegun { stream }),
            (true, false) | (false, true) => Ok(()),
        }
    }

    /// Whether a message has begun of which the end was not handed over.
    pub(crate) fn has_open_message(&self) -> bool {
        !self.records.open.is_empty()
    }

    /// Whether nothing waits, and every message has ended.
    pub(crate) fn is_drained(&self) -> bool {
        self.is_empty() && !self.has_open_message()
    }

    /// The message in this slot goes on.
    pub(super) fn open_record(&mut self, stream: u16, slot: Slot) {
        self.records.by_slot.insert(slot, Record::default());
        self.records.open.insert(stream, slot);
    }

    /// Takes a further piece of the message of a stream; the caller has checked that there is one, and room.
    pub(crate) fn append(&mut self, message: OutgoingMessage) {
        let OutgoingMessage { stream, payload, sack_immediately, piece, .. } = message;
        let (len, cost) = (payload.len() as u64, self.cost(payload.len()));
        let Some(records) = self.records.if_used() else { return };
        let Some(&slot) = records.open.get(&stream) else { return };
        let Some(record) = records.by_slot.get_mut(&slot) else { return };
        self.used += len;
        self.used_cost += cost;
        self.waiting += len;
        self.peak = self.peak.max(self.used);
        record.has_end = piece.ends();
        if record.has_end {
            records.open.remove(&stream);
        }
        if let Some(waiting) = self.messages.get_mut(slot) {
            waiting.message.sack_immediately |= sack_immediately;
        }
        if !record.is_starved {
            record.pieces.push_back(payload);
            return;
        }
        record.is_starved = false;
        records.starved -= 1;
        if record.has_end {
            records.by_slot.remove(&slot);
        }
        if let Some(waiting) = self.messages.get_mut(slot) {
            waiting.message.payload = payload;
        }
        if let Some(underway) = &mut self.underway {
            underway.note_piece(slot, len);
        }
    }

    /// Whether more of the message in a slot follows on what is there.
    #[inline]
    pub(super) fn goes_on_behind(&self, slot: Slot) -> bool {
        self.records.used().is_some_and(|records| records.by_slot.contains_key(&slot))
    }

    /// What is in the slot was sent: the next piece takes its place. Gives its length; 0 while there is none.
    pub(super) fn next_piece(&mut self, slot: Slot) -> u64 {
        let Some(records) = self.records.if_used() else { return 0 };
        let Some(record) = records.by_slot.get_mut(&slot) else { return 0 };
        let next = record.pieces.pop_front();
        if next.is_none() {
            record.is_starved = true;
            records.starved += 1;
        } else if record.has_end && record.pieces.is_empty() {
            records.by_slot.remove(&slot);
        }
        let payload = next.unwrap_or_default();
        let len = payload.len() as u64;
        if let Some(waiting) = self.messages.get_mut(slot) {
            waiting.message.payload = payload;
        }
        len
    }

    /// Messages of which everything was sent and the end is not there.
    #[inline]
    pub(super) fn starved(&self) -> usize {
        self.records.used().map_or(0, |records| records.starved)
    }

    /// The message in a slot, of which nothing was sent, is taken out: its pieces go, too.
    pub(super) fn drop_record(&mut self, stream: u16, slot: Slot) {
        let Some(records) = self.records.if_used() else { return };
        let Some(record) = records.by_slot.remove(&slot) else { return };
        if records.open.get(&stream) == Some(&slot) {
            records.open.remove(&stream);
        }
        for piece in record.pieces {
            self.used = self.used.saturating_sub(piece.len() as u64);
            self.used_cost = self.used_cost.saturating_sub(self.cost(piece.len()));
            self.waiting = self.waiting.saturating_sub(piece.len() as u64);
        }
    }
}
