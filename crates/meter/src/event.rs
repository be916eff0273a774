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

/// Who hears of events, in the task that measures: it must not wait for anything. Closures are observers, and `()` is one
/// that ignores all.
pub trait Observer {
    /// Something happened.
    fn event(&mut self, event: Event<'_>);

    /// What a server shows, for a client that asked for it; of no more than 64 KiB.
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
