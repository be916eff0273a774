//! What the transmitter wants done, and the events that wait for the user.

use alloc::collections::VecDeque;
use core::mem::discriminant;

use super::Association;
use crate::paths::reach::Signal;
use crate::transmit::{Delivered, Effect};
use crate::{Cx, Event, PathId};

/// Reports of the peer that may wait at a time.
const MAX_WAITING: usize = 64;

/// A queue in which a notification that the user has not yet taken is not repeated.
#[derive(Debug, Default)]
pub(super) struct Events(VecDeque<Event>);

impl Events {
    #[inline]
    pub(super) fn push(&mut self, event: Event) {
        if !self.0.is_empty() && self.repeats(&event) {
            return;
        }
        self.0.push_back(event);
    }

    fn repeats(&self, event: &Event) -> bool {
        // Of these the kind is all there is, and quicker to compare than whole events.
        matches!(event, Event::Readable | Event::Writable | Event::SenderDry)
            && self.0.iter().any(|waiting| discriminant(waiting) == discriminant(event))
    }

    /// As [`push`](Self::push) for what the peer can cause at will: beyond a number that wait, nothing is added.
    pub(super) fn push_if_few(&mut self, event: Event) {
        if self.0.len() < MAX_WAITING {
            self.push(event);
        }
    }

    pub(super) fn release_memory(&mut self) {
        self.0.shrink_to_fit();
    }

    pub(super) fn pop(&mut self) -> Option<Event> {
        self.0.pop_front()
    }
}

impl Association {
    /// Applies what a call of the transmitter wants, in its order.
    #[inline]
    pub(super) fn apply_effects(&mut self, cx: &mut Cx<'_>) {
        if !self.effects.is_empty() {
            self.apply_each(cx);
        }
    }

    #[inline(never)]
    fn apply_each(&mut self, cx: &mut Cx<'_>) {
        // Taken and put back, so that its memory serves the next ones.
        let mut effects = core::mem::take(&mut self.effects);
        for effect in effects.drain(..) {
            match effect {
                Effect::PeerAnswered => self.peer_answered(cx.now),
                Effect::Delivered(path, delivered) => self.data_delivered(cx, path, delivered),
                Effect::WindowProbeAnswered(path) => self.paths[path].errors = 0,
                Effect::Emptied(path) => self.watch_emptied_path(cx, path),
                Effect::Event(event) => self.events.push(event),
            }
        }
        self.effects = effects;
    }

    /// Data was acknowledged that proves its path alive (RFC 9260 section 8.2). Doubt is stronger: a path that is
    /// potentially failed is cleared only by a chunk that was never retransmitted (`natarajan` section II-C).
    fn data_delivered(&mut self, cx: &mut Cx<'_>, id: PathId, delivered: Delivered) {
        let path = &mut self.paths[id];
        path.denied_since = None;
        if path.reach.is_active() && path.errors == 0 {
            // Nearly always: that it works is known.
            self.peer_answered(cx.now);
            return;
        }
        if delivered == Delivered::Once || !path.reach.is_potentially_failed() {
            self.path_works(cx, id, Signal::DataAck);
        }
    }

    /// Everything outstanding on `path` was rescheduled, so no timer would detect that the path is dead: a heartbeat
    /// probes it, which must be answered within an RTO.
    fn watch_emptied_path(&mut self, cx: &mut Cx<'_>, path: PathId) {
        if self.paths[path].heartbeat.outstanding.is_none() {
            self.send_heartbeat(cx, path);
        }
        let rto = self.transmitter.paths[path].rtt.rto();
        self.paths[path].heartbeat.not_after(cx.now + rto);
    }
}
