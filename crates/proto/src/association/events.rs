//! Events that wait for the user.

use alloc::collections::VecDeque;

use crate::Event;

/// Reports of the peer that may wait at a time.
const MAX_WAITING: usize = 64;

/// A queue in which a notification that the user has not yet taken is not repeated.
#[derive(Debug, Default)]
pub(super) struct Events(VecDeque<Event>);

impl Events {
    pub(super) fn push(&mut self, event: Event) {
        let repeats = matches!(event, Event::Readable | Event::Writable | Event::SenderDry);
        if repeats && !self.0.is_empty() && self.0.contains(&event) {
            return;
        }
        self.0.push_back(event);
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
