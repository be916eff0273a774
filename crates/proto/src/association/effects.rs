//! What the transmitter wants done, and the events that wait for the user.

use alloc::collections::VecDeque;

use super::Association;
use crate::paths::reach::Signal;
use crate::transmit::{Delivered, Effect};
use crate::{Cx, Event, PathId};

/// Reports of the peer that may wait at a time.
const MAX_WAITING: usize = 64;

/// A notification that has no content.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Plain {
    Readable,
    Writable,
    SenderDry,
}

impl Plain {
    #[inline]
    fn of(event: &Event) -> Option<Self> {
        match event {
            Event::Readable => Some(Self::Readable),
            Event::Writable => Some(Self::Writable),
            Event::SenderDry => Some(Self::SenderDry),
            _ => None,
        }
    }

    #[inline]
    fn event(self) -> Event {
        match self {
            Self::Readable => Event::Readable,
            Self::Writable => Event::Writable,
            Self::SenderDry => Event::SenderDry,
        }
    }
}

/// A queue in which a notification that the user has not yet taken is not repeated.
#[derive(Debug, Default)]
pub(super) struct Events {
    /// What comes before all others. Nearly every packet causes such a notification while nothing else waits, and it needs no
    /// place in the list.
    first: Option<Plain>,
    others: VecDeque<Event>,
}

impl Events {
    #[inline]
    pub(super) fn push(&mut self, event: Event) {
        match Plain::of(&event) {
            Some(plain) if self.len() == 0 => self.first = Some(plain),
            Some(plain) if self.has(plain) => {}
            _ => self.others.push_back(event),
        }
    }

    fn len(&self) -> usize {
        self.others.len() + usize::from(self.first.is_some())
    }

    #[cold]
    fn has(&self, plain: Plain) -> bool {
        let others = || self.others.iter().any(|waiting| Plain::of(waiting) == Some(plain));
        self.first == Some(plain) || others()
    }

    /// As [`push`](Self::push) for what the peer can cause at will: beyond a number that wait, nothing is added.
    pub(super) fn push_if_few(&mut self, event: Event) {
        if self.len() < MAX_WAITING {
            self.push(event);
        }
    }

    pub(super) fn release_memory(&mut self) {
        self.others.shrink_to_fit();
    }

    #[inline]
    pub(super) fn pop(&mut self) -> Option<Event> {
        match self.first.take() {
            Some(first) => Some(first.event()),
            None => self.others.pop_front(),
        }
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
        if path.reach().is_active() && path.errors == 0 {
            // Nearly always: that it works is known.
            self.peer_answered(cx.now);
            return;
        }
        if delivered == Delivered::Once || !path.reach().is_potentially_failed() {
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

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use super::*;

    #[test]
    fn notifications_wait_in_order_and_once() {
        use Event::{Readable, SenderDry, Writable};
        let failed = |context| Event::SendFailed { stream: 0, context, transmitted: false };
        for (pushed, left) in [
            (&[Readable, Readable, Writable, Readable][..], &[Readable, Writable][..]),
            (&[failed(1), Readable, failed(1), Readable], &[failed(1), Readable, failed(1)]),
            (&[SenderDry, failed(1), SenderDry, Writable], &[SenderDry, failed(1), Writable]),
        ] {
            let mut events = Events::default();
            pushed.iter().cloned().for_each(|event| events.push(event));
            let popped: Vec<Event> = core::iter::from_fn(|| events.pop()).collect();
            assert_eq!(popped, left);
            // One that was taken comes again.
            events.push(Readable);
            assert_eq!((events.pop(), events.pop()), (Some(Readable), None));
        }
    }
}
