//! What happens during a measurement.

use crate::document::{Document, Interval};
use crate::proposal::ServerOutput;

/// Something that happened.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Event<'a> {
    /// Both ends agreed, and the measurement begins.
    Started {
        /// What is known before: its start is filled in.
        document: &'a Document,
        /// At a server, whether the client wants to see what it shows: [`Observer::output`] is asked at the end.
        output: ServerOutput,
    },
    /// An interval is over.
    Interval(&'a Interval),
}

/// Receives events, in the task that measures: it must not block. Closures are observers, and `()` is one that ignores
/// all events.
pub trait Observer {
    /// Called for each event.
    fn event(&mut self, event: Event<'_>);

    /// The output of a server, for a client that asked for it; at most 64 KiB. Default: none.
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
