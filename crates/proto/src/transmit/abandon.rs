//! Giving up messages that are not fully reliable (RFC 3758, RFC 7496), and what the rest of the association sees of it.

use super::effects::Effect;
use super::lanes::Slot;
use super::outstanding::{Gone, History};
use super::{SendCx, SendPhase, Transmitter};
use crate::transmit::partial_reliability::index::Place;
use crate::transmit::partial_reliability::{Reliability, Support};
use crate::types::{BufferBytes, Fate};
use crate::{AbandonedMessages, Event, Instant, PathId, ProbeEvent, Tsn};

/// Stream, U bit and MID of a message.
type MessageId = (u16, bool, u32);

/// Where only one message is sent at a time, it needs no name.
const NO_MESSAGE: MessageId = (0, false, 0);

impl Transmitter {
    /// Learns from the handshake whether the peer understands FORWARD-TSN. If not, messages that wait become reliable.
    pub(crate) fn settle_partial_reliability(&mut self, support: Support) {
        let kept = self.queue.settle_support(support);
        if kept > 0 {
            self.stats.seldom.messages_kept_reliable += kept;
        }
    }

    /// The peer reports FORWARD-TSN as a chunk that it does not know, although it offered it: messages are reliable from now on,
    /// and what was abandoned is retransmitted.
    ///
    /// # Errors
    ///
    /// If that is gone: the peer waits for it for ever.
    pub(crate) fn withdraw_partial_reliability(&mut self, cx: &mut SendCx<'_>) -> Result<(), Gone> {
        if self.queue.support() != Support::Yes {
            return Ok(());
        }
        self.settle_partial_reliability(Support::No);
        let taken = self.outstanding.revive()?;
        self.queue.take_back(taken);
        self.forward.withdraw(&self.outstanding);
        self.after_acknowledgement(cx);
        Ok(())
    }

    /// The next time at which a message that waits is abandoned.
    pub(crate) fn abandon_deadline(&self, phase: SendPhase) -> Option<Instant> {
        self.queue.index.next_deadline().filter(|_| self.may_abandon(phase))
    }

    /// The rule that can be kept.
    pub(super) fn agreed_reliability(&mut self, wanted: Reliability) -> Reliability {
        if wanted == Reliability::Full || self.queue.support() != Support::No {
            return wanted;
        }
        self.stats.seldom.messages_kept_reliable += 1;
        Reliability::Full
    }

    fn may_abandon(&self, phase: SendPhase) -> bool {
        self.queue.support() == Support::Yes && phase != SendPhase::Closed && !self.keeps_gap()
    }

    /// Whether the TSN that was left out when TSNs began anew must stay a gap: a FORWARD-TSN would close it, and a peer without the
    /// answer take what follows for data of before.
    fn keeps_gap(&self) -> bool {
        self.peer.may_lack_answer && !self.outstanding.is_empty()
    }

    /// The lifetime of a message is over.
    pub(crate) fn on_lifetime_over(&mut self, cx: &mut SendCx<'_>) {
        self.abandon_due(cx);
    }

    /// Gives up what was lost too often or has lived too long.
    #[inline]
    pub(super) fn abandon_due(&mut self, cx: &mut SendCx<'_>) {
        let may_be_due = !self.queue.index.is_empty() || self.outstanding.has_lost_unreliable();
        if may_be_due && self.may_abandon(cx.phase) {
            self.abandon_what_is_due(cx);
        }
    }

    #[inline(never)]
    fn abandon_what_is_due(&mut self, cx: &mut SendCx<'_>) {
        let mut any = false;
        for tsn in self.outstanding.take_lost_unreliable() {
            any |= self.abandon_lost(cx, tsn);
        }
        while let Some(place) = self.queue.index.take_due(cx.now) {
            any |= match place {
                Place::Sent(tsn) => self.abandon_lost(cx, Tsn(tsn)),
                Place::Waiting { slot, serial } => {
                    self.queue.is_alive(slot, serial.0) && self.abandon_waiting(cx, place)
                }
            };
        }
        if any {
            self.forward.advance(&self.outstanding);
            self.after_acknowledgement(cx);
        }
    }

    /// Makes room for a message by giving up less important ones (RFC 7496 section 3.2): those that wait before those that
    /// were sent.
    pub(super) fn make_space(&mut self, cx: &mut SendCx<'_>, size: usize, rule: Reliability) {
        if !self.may_abandon(cx.phase) || size as u64 > self.queue.limit() {
            return;
        }
        let mut any = false;
        while !self.queue.has_room(size)
            && let Some((priority, place)) = self.queue.index.least_important()
        {
            let old = Reliability::Priority(priority);
            let alive = match place {
                Place::Sent(tsn) => self.is_undelivered(Tsn(tsn), old),
                Place::Waiting { slot, serial } => self.queue.is_alive(slot, serial.0),
            };
            if alive && !old.makes_space_for(rule) {
                break;
            }
            self.queue.index.take_least_important();
            any |= alive
                && match place {
                    Place::Sent(tsn) => self.abandon_sent(cx, Tsn(tsn)),
                    Place::Waiting { .. } => self.abandon_waiting(cx, place),
                };
        }
        if any {
            self.forward.advance(&self.outstanding);
        }
    }

    /// Abandons the message of a chunk that is lost, if its rule says so now.
    fn abandon_lost(&mut self, cx: &mut SendCx<'_>, tsn: Tsn) -> bool {
        let outstanding = &self.outstanding;
        if !outstanding.contains(tsn) {
            return false;
        }
        let chunk = outstanding.get(tsn);
        if !matches!(chunk.fate, Fate::Lost(_)) {
            return false;
        }
        if !chunk.may_be_retransmitted(cx.now) {
            return self.abandon_sent(cx, tsn);
        }
        // At its first loss: the entry stays until it is due.
        let sent_again = History::FAST_RETRANSMITTED | History::TIMER_RETRANSMITTED;
        if let Reliability::Until(deadline) = chunk.reliability
            && !chunk.history.intersects(sent_again)
        {
            self.queue.index.add_deadline(deadline, Place::sent(tsn));
            self.tidy_index();
        }
        false
    }

    /// Gives up a message that waits, or of which the rest does.
    fn abandon_waiting(&mut self, cx: &mut SendCx<'_>, place: Place) -> bool {
        let Place::Waiting { slot, .. } = place else { return false };
        let queue = &mut self.queue;
        if queue.is_current(slot) {
            // Its last chunk was the last one of all, if it was not acknowledged already.
            return self.abandon_begun(cx, slot);
        }
        let Some(waiting) = queue.abandon(slot) else { return false };
        let (stream, context) = (waiting.message.stream, waiting.message.context);
        self.count_abandoned(stream, waiting.reliability, false);
        cx.effects.push(Effect::Event(Event::Abandoned { stream, context, transmitted: false }));
        true
    }

    /// Gives up a message of which the last chunks were not yet sent.
    fn abandon_begun(&mut self, cx: &mut SendCx<'_>, slot: Slot) -> bool {
        if let Some(message) = self.queue.begun_message(slot) {
            return match self.outstanding.last_of(message) {
                Some(tsn) => self.abandon_sent(cx, tsn),
                None => self.abandon_rest(cx, message),
            };
        }
        let outstanding = &self.outstanding;
        let last = outstanding.next_tsn().previous();
        if outstanding.contains(last)
            && !outstanding.get(last).flags.contains(polypath_wire::DataFlags::END)
        {
            return self.abandon_sent(cx, last);
        }
        // All that was sent of it was acknowledged.
        self.abandon_rest(cx, NO_MESSAGE)
    }

    /// Abandons the message of a chunk: all its chunks, and what was not sent of it.
    fn abandon_sent(&mut self, cx: &mut SendCx<'_>, tsn: Tsn) -> bool {
        let extent = self.outstanding.message_around(tsn);
        let chunk = self.outstanding.get(tsn);
        let (stream, context, reliability) = (chunk.stream, chunk.context, chunk.reliability);
        let message = chunk.message();
        let mut released = BufferBytes::default();
        let mut next = extent.first;
        while !next.is_after(extent.last) {
            if self.outstanding.is_same_message(next, tsn)
                && let Some(gone) = self.outstanding.abandon(next)
            {
                released += gone.buffer_bytes;
                self.stats.seldom.chunks_abandoned += 1;
                let path = &mut self.paths[gone.path];
                path.take_out(next, gone.flight);
                self.settle_abandoned(gone.path);
                cx.probe.on(cx.now, ProbeEvent::ChunkAbandoned { path: gone.path, tsn: next });
            }
            next = next.next();
        }
        self.queue.release(released);
        if extent.ends {
            self.count_abandoned(stream, reliability, true);
            cx.effects.push(Effect::Event(Event::Abandoned { stream, context, transmitted: true }));
            return true;
        }
        self.abandon_rest(cx, message)
    }

    /// Gives up what was not sent of the message that is being sent; of `message`, where several are.
    fn abandon_rest(&mut self, cx: &mut SendCx<'_>, message: MessageId) -> bool {
        let Some(rest) = self.queue.abandon_rest(cx.book.primary, message) else { return false };
        let (stream, context) = (rest.stream, rest.context);
        self.count_abandoned(stream, rest.reliability, true);
        self.outstanding.abandon_rest(rest);
        cx.effects.push(Effect::Event(Event::Abandoned { stream, context, transmitted: true }));
        true
    }

    fn count_abandoned(&mut self, stream: u16, reliability: Reliability, transmitted: bool) {
        let counts = &mut self.stats.seldom;
        reliability.count(&mut counts.abandoned, transmitted);
        let streams = &mut counts.abandoned_by_stream;
        let place = match streams.binary_search_by_key(&stream, |(stream, _)| *stream) {
            Ok(place) => place,
            Err(place) => {
                streams.insert(place, (stream, AbandonedMessages::NONE));
                place
            }
        };
        reliability.count(&mut streams[place].1, transmitted);
    }

    /// Messages of a stream that were abandoned.
    pub(crate) fn abandoned_on(&self, stream: u16) -> AbandonedMessages {
        let streams = &self.stats.seldom.abandoned_by_stream;
        let found = streams.binary_search_by_key(&stream, |(stream, _)| *stream);
        found.map_or(AbandonedMessages::NONE, |place| streams[place].1)
    }

    /// A path whose chunks were abandoned: without losses nothing may ignore its congestion window.
    fn settle_abandoned(&mut self, id: PathId) {
        self.settle(id);
        self.paths[id].free_retransmission &= self.outstanding.lowest_lost_on(id).is_some();
    }
}
