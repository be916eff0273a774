//! Messages, and pieces of messages, that wait for the user: in one queue, or in that of their stream if it is claimed.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;

use super::claims::Claims;
use super::{Aside, Complete, Dropped};
use crate::receive::tsn_map::WideTsn;
use crate::{Delivery, Piece, ReceivedMessage, StreamClaim};

/// A message whose beginning was delivered and whose rest will not arrive.
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
    /// First TSN and number of chunks of the messages queued since the last query, if the receiver needs them.
    joined: Option<Vec<(WideTsn, u32)>>,
    /// Bytes of a message of which the delivery begins before it is complete.
    point: Option<u32>,
    /// The stream of a message of DATA chunks that is being delivered in pieces.
    open: Option<u16>,
    /// Messages that wait for its end: without interleaving, none may come between its pieces. Other claimed streams
    /// have none here.
    held: VecDeque<ReceivedMessage>,
    aborted: Vec<AbortedDelivery>,
    /// Queues of single streams, once there was one.
    claims: Option<Box<Claims>>,
    /// While it is unknown whether the streams were reset: what has arrived meanwhile.
    aside: Option<Vec<Aside>>,
}

/// Messages that wait for the user.
#[derive(Debug, Default)]
pub struct ReadyMessages {
    /// Messages of unclaimed streams, in the order in which they became deliverable.
    messages: VecDeque<ReceivedMessage>,
    seldom: Option<Box<Seldom>>,
}

impl ReadyMessages {
    #[inline(always)]
    pub(super) fn push(&mut self, complete: Complete) {
        if let Some(seldom) = &mut self.seldom {
            let tsns = (complete.first, complete.message.fragments.len() as u32);
            let is_plain = complete.message.piece == Piece::Whole;
            if !is_plain || seldom.open.is_some() || seldom.claims.is_some() {
                return self.push_watched([tsns], complete.message);
            }
            if let Some(joined) = &mut seldom.joined {
                joined.push(tsns);
            }
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
        let Some(seldom) = &mut self.seldom else { return self.sort(message) };
        if let Some(joined) = &mut seldom.joined {
            joined.extend(tsns);
        }
        let claims = seldom.claims.as_deref();
        let is_apart = |stream| claims.is_some_and(|claims| claims.has(stream));
        if message.piece == Piece::Whole
            && let Some(open) = seldom.open
            && (message.stream == open || !is_apart(message.stream))
        {
            return seldom.held.push_back(message);
        }
        let ends = message.piece == Piece::Last;
        self.sort(message);
        if ends {
            self.close();
        }
    }

    /// Puts a message into the queue of its stream, if it has one of its own. A piece is added to the one before if that has not
    /// been read.
    #[inline(never)]
    fn sort(&mut self, message: ReceivedMessage) {
        let rest = match self.claims_mut() {
            Some(claims) => claims.push(message),
            None => Some(message),
        };
        if let Some(message) = rest {
            push_or_join(&mut self.messages, message);
        }
    }

    /// Expects pieces from now on.
    pub(super) fn watch(&mut self) {
        self.seldom_mut();
    }

    /// Holds back whole messages from now on, until the one of this stream has ended.
    pub(super) fn open(&mut self, stream: u16) {
        self.seldom_mut().open = Some(stream);
    }

    /// Whether whole messages are held back.
    pub(super) fn is_open(&self) -> bool {
        self.open_stream().is_some()
    }

    fn open_stream(&self) -> Option<u16> {
        self.seldom.as_ref().and_then(|seldom| seldom.open)
    }

    fn close(&mut self) {
        if let Some(seldom) = &mut self.seldom
            && seldom.open.take().is_some()
        {
            for message in core::mem::take(&mut seldom.held) {
                self.sort(message);
            }
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

    #[inline]
    pub(super) fn forget_joined(&mut self) {
        if let Some(joined) = self.seldom.as_mut().and_then(|seldom| seldom.joined.as_mut()) {
            joined.clear();
        }
    }

    /// Queues a message that arrived before everything else.
    pub(super) fn keep(&mut self, message: ReceivedMessage) {
        self.messages.push_back(message);
    }

    /// The first message of unclaimed streams.
    #[inline]
    pub(super) fn first(&self) -> Option<&ReceivedMessage> {
        self.messages.front()
    }

    /// Takes that message out.
    #[inline(always)]
    pub(super) fn take_first(&mut self) -> Option<ReceivedMessage> {
        // Noted before, so that the message moves once.
        if self.claims().is_some() {
            self.note_first_taken();
        }
        self.messages.pop_front()
    }

    /// The first message leaves for the user.
    #[cold]
    fn note_first_taken(&mut self) {
        let stream = self.messages.front().map(|message| message.stream);
        if let (Some(stream), Some(claims)) = (stream, self.claims_mut()) {
            claims.on_taken(stream);
        }
    }

    /// Whether there is such a message.
    #[inline]
    pub(super) fn has_unclaimed(&self) -> bool {
        !self.messages.is_empty()
    }

    /// Whether there is any message.
    pub(super) fn has_any(&self) -> bool {
        self.has_unclaimed() || self.claims().is_some_and(Claims::have_messages)
    }

    /// The queues of claimed streams, if there ever was one.
    #[inline]
    pub(super) fn claims(&self) -> Option<&Claims> {
        self.seldom.as_ref().and_then(|seldom| seldom.claims.as_deref())
    }

    /// The same, to change them.
    #[inline]
    pub(super) fn claims_mut(&mut self) -> Option<&mut Claims> {
        self.seldom.as_mut().and_then(|seldom| seldom.claims.as_deref_mut())
    }

    /// Gives the stream a queue of its own, with what waits of it; `None` if it has one.
    pub(super) fn claim(&mut self, stream: u16) -> Option<StreamClaim> {
        let is_open = self.open_stream() == Some(stream);
        let seldom = self.seldom.get_or_insert_default();
        let claims = seldom.claims.get_or_insert_default();
        let claim = claims.open(stream)?;
        let end = claims.take_end(stream);
        let mut left = end.unwrap_or(usize::MAX);
        let held = Some(&mut seldom.held).filter(|_| !is_open);
        for queue in [Some(&mut self.messages), held].into_iter().flatten() {
            if !queue.iter().any(|message| message.stream == stream) {
                continue;
            }
            for message in core::mem::take(queue) {
                if message.stream == stream && left > 0 {
                    left -= 1;
                    queue.extend(claims.push(message));
                } else {
                    queue.push_back(message);
                }
            }
        }
        if end.is_some() {
            claims.end(&[stream]);
        }
        Some(claim)
    }

    /// Resets these streams, given in order; all of them if none is listed. Present and future claims end with what
    /// waits now.
    pub(super) fn end(&mut self, streams: &[u16]) {
        let ends = |stream: &u16| streams.is_empty() || streams.binary_search(stream).is_ok();
        let held = self.seldom.as_ref().map(|seldom| &seldom.held);
        let all = || self.messages.iter().chain(held.into_iter().flatten());
        let waiting = || all().map(|message| message.stream).filter(ends);
        let waiting: Vec<_> = waiting().collect();
        if !waiting.is_empty() {
            let claims = &mut self.seldom_mut().claims;
            claims.get_or_insert_default().bound(waiting.into_iter());
        }
        if let Some(claims) = self.claims_mut() {
            claims.end(streams);
        }
    }

    /// Ends a claim; its messages follow those of unclaimed streams.
    pub(super) fn release(&mut self, claim: StreamClaim) {
        let Some(seldom) = &mut self.seldom else { return };
        let Some(claims) = &mut seldom.claims else { return };
        let waiting = claims.close(claim);
        // Not between the pieces of a message of an unclaimed stream.
        let stream = waiting.front().map(|message| message.stream);
        let is_held = |open| Some(open) != stream && !claims.has(open);
        match seldom.open.is_some_and(is_held) {
            true => seldom.held.extend(waiting),
            false => self.messages.extend(waiting),
        }
    }

    /// Takes over the claims of another receiver, and what waits there for their owners. `hold` is called with each message.
    pub(super) fn inherit_claims(&mut self, before: &mut Self, hold: impl FnMut(&ReceivedMessage)) {
        let claims = before.seldom.as_mut().and_then(|seldom| seldom.claims.take());
        if let Some(mut claims) = claims {
            claims.begin_anew(hold);
            self.seldom_mut().claims = Some(claims);
        }
    }

    /// Bytes of user data, and chunks, of all that waits.
    pub(super) fn size(&self) -> (usize, usize) {
        let mut all = (0, 0);
        let mut add = |message: &ReceivedMessage| {
            all = (all.0 + message.len(), all.1 + message.fragments.len());
        };
        self.messages.iter().for_each(&mut add);
        if let Some(claims) = self.claims() {
            claims.each(add);
        }
        all
    }

    /// Sets aside what arrives from now on.
    pub(super) fn set_aside(&mut self) {
        self.seldom_mut().aside.get_or_insert_default();
    }

    /// What is set aside, if anything is to be.
    #[inline]
    pub(super) fn aside(&self) -> Option<&Vec<Aside>> {
        self.seldom.as_ref().and_then(|seldom| seldom.aside.as_ref())
    }

    /// The same, to add to it.
    #[inline]
    pub(super) fn aside_mut(&mut self) -> Option<&mut Vec<Aside>> {
        self.seldom.as_mut().and_then(|seldom| seldom.aside.as_mut())
    }

    /// What was set aside, in order of arrival; nothing is any more from now on.
    pub(super) fn take_aside(&mut self) -> Vec<Aside> {
        self.seldom.as_mut().and_then(|seldom| seldom.aside.take()).unwrap_or_default()
    }

    /// What was discarded because its stream may hold no more.
    pub(super) fn take_excess(&mut self) -> Dropped {
        self.claims_mut().map(Claims::take_excess).unwrap_or_default()
    }

    pub(super) fn release_memory(&mut self) {
        self.messages.shrink_to_fit();
        if let Some(seldom) = &mut self.seldom {
            seldom.held.shrink_to_fit();
            seldom.joined.iter_mut().for_each(Vec::shrink_to_fit);
        }
        if let Some(claims) = self.claims_mut() {
            claims.release_memory();
        }
    }

    fn seldom_mut(&mut self) -> &mut Seldom {
        self.seldom.get_or_insert_with(Box::default)
    }
}

/// Queues a message, or adds a piece to the one before if that has not been read; says whether it was added.
pub(super) fn push_or_join(
    queue: &mut VecDeque<ReceivedMessage>,
    message: ReceivedMessage,
) -> bool {
    let follows = |last: &&mut ReceivedMessage| {
        !message.piece.begins()
            && !last.piece.ends()
            && (last.stream, last.delivery) == (message.stream, message.delivery)
    };
    if let Some(last) = queue.back_mut().filter(follows) {
        last.piece = last.piece.and(message.piece);
        last.fragments.extend(message.fragments);
        return true;
    }
    queue.push_back(message);
    false
}
