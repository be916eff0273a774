//! Events of an association on their way to a program, in their order among its messages.

use std::future::pending;

use polypath::{Association, Event, Events};

/// What a link has of the events of its association. They cost memory, so that they are there only where a program listens.
#[derive(Default, Debug)]
pub(super) enum Subscription {
    /// The program wants none, or the handshake is not over.
    #[default]
    None,
    /// The task that receives is to take them.
    Begun(Events),
    /// It has taken them.
    Taken,
}

impl Subscription {
    /// No event of the association is missed from now on.
    pub(super) fn begin(&mut self, association: &Association) {
        if let Self::None = self {
            *self = Self::Begun(association.events());
        }
    }

    /// The events since it has begun.
    fn take(&mut self) -> Option<Events> {
        match std::mem::replace(self, Self::Taken) {
            Self::Begun(events) => Some(events),
            other => {
                *self = other;
                None
            }
        }
    }
}

/// The events that a program is to hear of, except [`Event::PeerShutdown`]: that follows the last message, and whoever finds none any
/// more knows of it from the association.
#[derive(Default, Debug)]
pub(super) struct Reports {
    events: Option<Events>,
    /// No event comes any more.
    are_over: bool,
}

impl Reports {
    /// Takes the events if the program has asked for some.
    pub(super) fn follow(&mut self, subscription: &mut Subscription) {
        if self.events.is_none() {
            self.events = subscription.take();
        }
    }

    pub(super) fn are_wanted(&self) -> bool {
        self.events.is_some()
    }

    /// The next event; never comes where nobody listens, and behind the last one. Cancellation safe.
    pub(super) async fn next(&mut self) -> Event {
        while let Some(events) = self.events.as_mut().filter(|_| !self.are_over) {
            match events.next().await {
                Some(Event::PeerShutdown) => {}
                Some(event) => return event,
                None => self.are_over = true,
            }
        }
        pending().await
    }

    /// The next event of those that came before a message that was received just now.
    pub(super) fn earlier(&mut self) -> Option<Event> {
        let events = self.events.as_mut()?;
        loop {
            match events.try_next()? {
                Event::PeerShutdown => {}
                event => return Some(event),
            }
        }
    }

    /// The next one until the association has ended.
    pub(super) async fn last(&mut self) -> Option<Event> {
        let events = self.events.as_mut()?;
        loop {
            match events.next().await? {
                Event::PeerShutdown => {}
                event => return Some(event),
            }
        }
    }
}
