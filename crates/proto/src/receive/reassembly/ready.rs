//! Messages, and pieces of messages, that wait for the user.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;

use super::Complete;
use crate::receive::tsn_map::WideTsn;
use crate::{Delivery, Piece, ReceivedMessage};

/// A message of which the beginning was delivered and the rest will not come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AbortedDelivery {
    /// Stream identifier.
    pub stream: u16,
    /// Ordered or unordered.
    pub delivery: Delivery,
    /// Stream sequence number (ordered messages).
    pub ssn: u16,
}

impl AbortedDelivery {
    pub(super) fn of(message: &ReceivedMessage) -> Self {
        let ReceivedMessage { stream, delivery, ssn, .. } = *message;
        Self { stream, delivery, ssn }
    }
}

/// What most associations never need.
#[derive(Debug, Default)]
struct Seldom {
    /// First TSN and number of chunks of those that joined since the receiver last asked, if it wants to know.
    joined: Option<Vec<(WideTsn, u32)>>,
    /// Bytes of a message of which the delivery begins before it is complete.
    point: Option<u32>,
    /// A message that came in DATA is being delivered in pieces.
    is_open: bool,
    /// Messages that wait for it to end: without interleaving none may come between its pieces.
    held: VecDeque<ReceivedMessage>,
    aborted: Vec<AbortedDelivery>,
}

/// Messages that wait for the user.
#[derive(Debug, Default)]
pub struct ReadyMessages {
    messages: VecDeque<ReceivedMessage>,
    seldom: Option<Box<Seldom>>,
}

impl ReadyMessages {
    #[inline(always)]
    pub(super) fn push(&mut self, complete: Complete) {
        if self.seldom.is_some() {
            let tsns = (complete.first, complete.message.fragments.len() as u32);
            return self.push_watched([tsns], complete.message);
        }
        self.messages.push_back(complete.message);
    }

    /// The same for a message whose chunks have these TSNs.
    pub(super) fn push_scattered(&mut self, tsns: &[WideTsn], message: ReceivedMessage) {
        self.push_watched(tsns.iter().map(|tsn| (*tsn, 1)), message);
    }

    #[inline(never)]
    fn push_watched(
        &mut self,
        tsns: impl IntoIterator<Item = (WideTsn, u32)>,
        message: ReceivedMessage,
    ) {
        let Some(seldom) = &mut self.seldom else { return self.messages.push_back(message) };
        if let Some(joined) = &mut seldom.joined {
            joined.extend(tsns);
        }
        if message.piece == Piece::Whole {
            let queue = if seldom.is_open { &mut seldom.held } else { &mut self.messages };
            return queue.push_back(message);
        }
        let ends = message.piece.ends();
        self.push_piece(message);
        if ends {
            self.close();
        }
    }

    /// Queues a piece, or adds it to the one before if that has not been read.
    fn push_piece(&mut self, piece: ReceivedMessage) {
        let follows = |last: &&mut ReceivedMessage| {
            !piece.piece.begins()
                && !last.piece.ends()
                && (last.stream, last.delivery) == (piece.stream, piece.delivery)
        };
        match self.messages.back_mut().filter(follows) {
            Some(last) => {
                last.piece = last.piece.and(piece.piece);
                last.fragments.extend(piece.fragments);
            }
            None => self.messages.push_back(piece),
        }
    }

    /// Expects pieces from now on.
    pub(super) fn watch(&mut self) {
        self.seldom_mut();
    }

    /// Holds back whole messages from now on.
    pub(super) fn open(&mut self) {
        self.seldom_mut().is_open = true;
    }

    /// Whether whole messages are held back.
    pub(super) fn is_open(&self) -> bool {
        self.seldom.as_ref().is_some_and(|seldom| seldom.is_open)
    }

    fn close(&mut self) {
        if let Some(seldom) = &mut self.seldom
            && seldom.is_open
        {
            seldom.is_open = false;
            self.messages.append(&mut seldom.held);
        }
    }

    /// The delivery of a message in pieces, if this is one, ends before the message does.
    pub(super) fn note_aborted(&mut self, aborted: Option<AbortedDelivery>) {
        if let Some(aborted) = aborted {
            self.seldom_mut().aborted.push(aborted);
            self.close();
        }
    }

    /// Whether there are deliveries that have ended so.
    #[inline]
    pub(super) fn has_aborted(&self) -> bool {
        self.seldom.as_ref().is_some_and(|seldom| !seldom.aborted.is_empty())
    }

    /// Deliveries that have ended so since the last call.
    pub(super) fn take_aborted(&mut self) -> Vec<AbortedDelivery> {
        self.seldom.as_mut().map_or_else(Vec::new, |seldom| core::mem::take(&mut seldom.aborted))
    }

    /// Bytes of a message of which the delivery begins before it is complete; `None` if only a full buffer makes it begin.
    pub(super) fn point(&self) -> Option<u32> {
        self.seldom.as_ref().and_then(|seldom| seldom.point)
    }

    pub(super) fn set_point(&mut self, point: Option<u32>) {
        if point != self.point() {
            self.seldom_mut().point = point;
        }
    }

    /// Whether incomplete messages may be delivered in pieces before the buffer is full.
    pub(super) fn may_deliver_pieces(&self) -> bool {
        self.seldom.is_some()
    }

    pub(super) fn follow_joined(&mut self) {
        self.seldom_mut().joined = Some(Vec::new());
    }

    #[inline]
    pub(super) fn follows_joined(&self) -> bool {
        self.seldom.as_ref().is_some_and(|seldom| seldom.joined.is_some())
    }

    pub(super) fn joined(&mut self) -> impl Iterator<Item = (WideTsn, u32)> + '_ {
        let joined = self.seldom.as_mut().and_then(|seldom| seldom.joined.as_mut());
        joined.into_iter().flat_map(|joined| joined.drain(..))
    }

    pub(super) fn keep(&mut self, message: ReceivedMessage) {
        self.messages.push_back(message);
    }

    #[inline]
    pub(super) fn first(&self) -> Option<&ReceivedMessage> {
        self.messages.front()
    }

    #[inline]
    pub(super) fn receive(&mut self) -> Option<ReceivedMessage> {
        self.messages.pop_front()
    }

    pub(super) fn release_memory(&mut self) {
        self.messages.shrink_to_fit();
        if let Some(seldom) = &mut self.seldom {
            seldom.held.shrink_to_fit();
            seldom.joined.iter_mut().for_each(Vec::shrink_to_fit);
        }
    }

    fn seldom_mut(&mut self) -> &mut Seldom {
        self.seldom.get_or_insert_with(Box::default)
    }
}
