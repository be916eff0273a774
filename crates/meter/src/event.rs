//! What happens during a measurement.

use crate::document::{Document, Interval};

/// Progress of a measurement.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Event<'a> {
    /// Both ends agreed, and the measurement begins.
    Started {
        /// The document so far: its `start` is complete.
        document: &'a Document,
        /// At a server, whether the client wants to see what it shows: [`Observer::output`] is called at the end. Never at a
        /// client.
        wants_output: bool,
    },
    /// An interval is over.
    Interval(&'a Interval),
}

/// Receives events, in the task that measures: it must not block. Closures are observers, and `()` is one that ignores
/// all events.
pub trait Observer {
    /// Called for each event.
    fn event(&mut self, event: Event<'_>);

    /// What a server showed to its user, for a client that requested it; at most 64 KiB. Called once, at the end. Default:
    /// none.
    fn output(&mut self) -> Option<String> {
        None
    }
}

impl<F: FnMut(Event<'_>)> Observer for F {
    fn event(&mut self, event: Event<'_>) {
        self(event);
    }
}

impl Observer for () {
    fn event(&mut self, _event: Event<'_>) {}
}
