//! Giving up messages that are not fully reliable (RFC 3758, RFC 7496), and what the rest of the association sees of it.

use super::Association;
use crate::transmit::partial_reliability::index::Place;
use crate::transmit::partial_reliability::{Reliability, Support};
use crate::types::{BufferBytes, Fate};
use crate::{Cx, Event, Instant, OutgoingMessage, ProbeEvent, Tsn};

impl Association {
    /// Learns from the handshake whether the peer understands FORWARD-TSN. If not, messages that wait become reliable.
    pub(super) fn settle_partial_reliability(&mut self, support: Support) {
        self.stats.messages_kept_reliable += self.sender.queue.settle_support(support);
    }

    /// The next time at which a message that waits is given up.
    pub(super) fn abandon_deadline(&self) -> Option<Instant> {
        self.sender.queue.index.next_deadline().filter(|_| self.may_abandon())
    }

    /// The rule for a message that is handed over now.
    pub(super) fn reliability_of(&self, cx: &Cx<'_>, message: &OutgoingMessage) -> Reliability {
        let policy = message.reliability.unwrap_or(self.config.policies.partial_reliability);
        Reliability::of(policy, cx.now)
    }

    /// The rule that can be kept.
    pub(super) fn agreed_reliability(&mut self, wanted: Reliability) -> Reliability {
        if wanted == Reliability::Full || self.sender.queue.support() != Support::No {
            return wanted;
        }
        self.stats.messages_kept_reliable += 1;
        Reliability::Full
    }

    fn may_abandon(&self) -> bool {
        self.sender.queue.support() == Support::Yes && self.state.may_send_data()
    }

    /// Gives up what was lost too often or has lived too long.
    pub(super) fn abandon_due(&mut self, cx: &mut Cx<'_>) {
        if !self.may_abandon() {
            return;
        }
        let mut any = false;
        for tsn in self.sender.window.take_lost_unreliable() {
            any |= self.abandon_lost(cx, tsn);
        }
        while let Some(place) = self.sender.queue.index.take_due(cx.now) {
            any |= match place {
                Place::Sent(tsn) => self.abandon_lost(cx, Tsn(tsn)),
                Place::Waiting { slot, serial } => {
                    self.sender.queue.is_alive(slot, serial.0) && self.abandon_waiting(cx, place)
                }
            };
        }
        if any {
            self.sender.forward.advance(&self.sender.window);
            self.after_acknowledgement();
        }
    }

    /// Makes room for a message by giving up less important ones (RFC 7496 section 3.2): those that wait before those that
    /// were sent.
    pub(super) fn make_room(&mut self, cx: &mut Cx<'_>, size: usize, rule: Reliability) {
        if !self.may_abandon() || size as u64 > self.sender.queue.limit() {
            return;
        }
        let mut any = false;
        while !self.sender.queue.has_room(size)
            && let Some((priority, place)) = self.sender.queue.index.least_important()
        {
            let old = Reliability::Priority(priority);
            let alive = match place {
                Place::Sent(tsn) => self.sender.is_undelivered(Tsn(tsn), old),
                Place::Waiting { slot, serial } => self.sender.queue.is_alive(slot, serial.0),
            };
            if alive && !old.makes_room_for(rule) {
                break;
            }
            self.sender.queue.index.take_least_important();
            any |= alive
                && match place {
                    Place::Sent(tsn) => self.abandon_sent(cx, Tsn(tsn)),
                    Place::Waiting { .. } => self.abandon_waiting(cx, place),
                };
        }
        if any {
            self.sender.forward.advance(&self.sender.window);
        }
    }

    /// Gives up the message of a chunk that is lost, if its rule says so now.
    fn abandon_lost(&mut self, cx: &mut Cx<'_>, tsn: Tsn) -> bool {
        let window = &self.sender.window;
        if !window.contains(tsn) {
            return false;
        }
        let chunk = window.get(tsn);
        if !matches!(chunk.fate, Fate::Lost(_)) {
            return false;
        }
        if !chunk.may_be_sent_again(cx.now) {
            return self.abandon_sent(cx, tsn);
        }
        if let Reliability::Until(deadline) = chunk.reliability {
            self.sender.queue.index.add_deadline(deadline, Place::sent(tsn));
            self.sender.tidy_index();
        }
        false
    }

    /// Gives up a message that waits, or of which the rest does.
    fn abandon_waiting(&mut self, cx: &mut Cx<'_>, place: Place) -> bool {
        let Place::Waiting { slot, .. } = place else { return false };
        let queue = &mut self.sender.queue;
        if queue.is_current(slot) {
            // Its last chunk was the last one of all, if it was not acknowledged already.
            return self.abandon_current(cx);
        }
        let Some(waiting) = queue.abandon(slot) else { return false };
        waiting.reliability.count(&mut self.stats.abandoned, false);
        let (stream, context) = (waiting.message.stream, waiting.message.context);
        self.events.push(Event::Abandoned { stream, context, transmitted: false });
        true
    }

    /// Gives up a message of which the last chunks were not yet sent.
    fn abandon_current(&mut self, cx: &mut Cx<'_>) -> bool {
        let window = &self.sender.window;
        let last = window.next_tsn().previous();
        if window.contains(last) && !window.get(last).flags.contains(polypath_wire::DataFlags::END)
        {
            return self.abandon_sent(cx, last);
        }
        // All that was sent of it was acknowledged.
        self.abandon_rest_of_current()
    }

    /// Gives up the message of a chunk: all its chunks, and what was not sent of it.
    fn abandon_sent(&mut self, cx: &mut Cx<'_>, tsn: Tsn) -> bool {
        let extent = self.sender.window.message_around(tsn);
        let chunk = self.sender.window.get(tsn);
        let (stream, context, reliability) = (chunk.stream, chunk.context, chunk.reliability);
        let mut released = BufferBytes::default();
        let mut next = extent.first;
        while !next.is_after(extent.last) {
            if let Some(gone) = self.sender.window.abandon(next) {
                released += gone.room;
                self.stats.chunks_abandoned += 1;
                let path = &mut self.paths[gone.path];
                path.take_out(next, gone.flight);
                self.settle_path(gone.path);
                cx.probe.on(cx.now, ProbeEvent::ChunkAbandoned { path: gone.path, tsn: next });
            }
            next = next.next();
        }
        self.sender.queue.release(released);
        if extent.ends {
            reliability.count(&mut self.stats.abandoned, true);
            self.events.push(Event::Abandoned { stream, context, transmitted: true });
            return true;
        }
        self.abandon_rest_of_current()
    }

    /// Gives up what was not sent of the message that is being sent.
    fn abandon_rest_of_current(&mut self) -> bool {
        let Some(rest) = self.sender.queue.abandon_current(self.primary) else { return false };
        let (stream, context) = (rest.stream, rest.context);
        rest.reliability.count(&mut self.stats.abandoned, true);
        self.sender.window.abandon_rest(rest);
        self.events.push(Event::Abandoned { stream, context, transmitted: true });
        true
    }

    /// A path from which chunks were taken: without anything in flight its timer ends, unless it guards a FORWARD-TSN;
    /// without losses nothing may ignore its window.
    fn settle_path(&mut self, id: crate::PathId) {
        let guards = self.sender.forward.guarded_by() == Some(id);
        let has_lost = self.sender.window.lowest_lost_on(id).is_some();
        let path = &mut self.paths[id];
        if path.flight == 0 && !guards {
            path.t3 = None;
        }
        path.free_retransmission &= has_lost;
    }
}
