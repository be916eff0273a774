//! Notifications of an association (RFC 6458 section 6).

use polypath_proto::{Event, EventKinds};
use tokio::sync::broadcast;

use crate::association::Association;

impl Association {
    /// Subscribes to the association's notifications from now on (RFC 6458 section 6.1). Earlier changes are visible in
    /// the state of the paths and of the association.
    pub fn events(&self) -> Events {
        self.events_of(EventKinds::all())
    }

    /// Subscribes to notifications of these kinds (`SCTP_EVENT`, RFC 6458 section 6.2.2). Kinds without a subscriber
    /// cost nothing, and do not count among the events by which a slow subscriber may lag.
    ///
    /// ```
    /// # use polypath::{Association, Event, EventKinds};
    /// async fn watch_paths(association: &Association) {
    ///     let mut events = association.events_of(EventKinds::PATH | EventKinds::SEND_FAILED);
    ///     while let Some(event) = events.next().await {
    ///         match event {
    ///             Event::Path { path, change } => println!("{path}: {change:?}"),
    ///             other => println!("not delivered: {other:?}"),
    ///         }
    ///     }
    /// }
    /// ```
    pub fn events_of(&self, kinds: EventKinds) -> Events {
        Events { receiver: self.shared.lock().subscribe(kinds), kinds, missed: 0 }
    }
}

/// Notifications of an association.
#[derive(Debug)]
pub struct Events {
    receiver: broadcast::Receiver<Event>,
    kinds: EventKinds,
    missed: u64,
}

impl Events {
    /// The next event; `None` after the association has ended. Cancellation safe.
    pub async fn next(&mut self) -> Option<Event> {
        loop {
            match self.receiver.recv().await {
                Ok(event) if self.kinds.contains(event.kind()) => return Some(event),
                // For another subscriber.
                Ok(_) => {}
                Err(broadcast::error::RecvError::Lagged(missed)) => self.missed += missed,
                Err(broadcast::error::RecvError::Closed) => return None,
            }
        }
    }

    /// The next event if there is one. After a message was received, that includes everything that happened before the message
    /// arrived.
    pub fn try_next(&mut self) -> Option<Event> {
        loop {
            match self.receiver.try_recv() {
                Ok(event) if self.kinds.contains(event.kind()) => return Some(event),
                Ok(_) => {}
                Err(broadcast::error::TryRecvError::Lagged(missed)) => self.missed += missed,
                Err(_) => return None,
            }
        }
    }

    /// The kinds of events that are subscribed to.
    pub fn kinds(&self) -> EventKinds {
        self.kinds
    }

    /// Number of events of subscribed kinds that were dropped because they were not read in time.
    pub fn missed(&self) -> u64 {
        self.missed
    }
}
