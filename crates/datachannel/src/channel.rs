//! A channel, as its user and as the driver see it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use polypath::config::PartialReliability;
use polypath::{Association, Duration, Message, SendError};
use thiserror::Error;
use tokio::sync::{Notify, OwnedSemaphorePermit, mpsc, watch};

use crate::channels::{ChannelClosed, Channels, OpenError, Outgoing};
use crate::content::Content;
use crate::dcep::{ChannelParameters, Reliability};

/// Why a channel cannot be opened, or a message not be sent.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum ChannelError {
    /// The channel cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The channel is closed.
    #[error(transparent)]
    Closed(#[from] ChannelClosed),
    /// The association takes no message.
    #[error(transparent)]
    Send(#[from] SendError),
}

/// A message on its way to its reader, with its share of the memory for such.
pub(crate) type Unread = (Content, OwnedSemaphorePermit);

/// A channel that waits to be accepted, the same.
pub(crate) type Waiting = (DataChannel, OwnedSemaphorePermit);

/// How far a channel is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Phase {
    /// The peer may not know of it yet.
    Opening,
    Open,
    Closed,
}

/// The side of a channel that its driver has.
#[derive(Debug)]
pub(crate) struct Port {
    pub(crate) phase: watch::Sender<Phase>,
    pub(crate) unread: mpsc::UnboundedSender<Unread>,
}

#[derive(Debug)]
pub(crate) struct State {
    pub(crate) channels: Channels,
    pub(crate) ports: BTreeMap<u16, Port>,
}

#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) association: Association,
    pub(crate) state: Mutex<State>,
    /// Something is to be done.
    pub(crate) work: Notify,
}

impl Shared {
    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Streams on which both sides may send.
    pub(crate) fn streams(&self) -> u16 {
        self.association.streams().map_or(0, |both| both.outbound.min(both.inbound))
    }

    /// A handle of a channel that the table has, and the driver's side of it in place.
    pub(crate) fn handle(
        self: &Arc<Self>,
        state: &mut State,
        id: u16,
        phase: Phase,
        parameters: ChannelParameters,
    ) -> DataChannel {
        // The weight of a stream; without the scheduler that knows weights it means nothing.
        let _ = self.association.set_stream_value(id, parameters.priority.max(1));
        let (unread, messages) = mpsc::unbounded_channel();
        let (phase, watched) = watch::channel(phase);
        state.ports.insert(id, Port { phase, unread });
        DataChannel {
            id,
            parameters,
            shared: Arc::clone(self),
            phase: watched,
            messages: tokio::sync::Mutex::new(messages),
        }
    }
}

/// A data channel. Dropping it closes it.
#[derive(Debug)]
pub struct DataChannel {
    id: u16,
    parameters: ChannelParameters,
    shared: Arc<Shared>,
    phase: watch::Receiver<Phase>,
    messages: tokio::sync::Mutex<mpsc::UnboundedReceiver<Unread>>,
}

impl DataChannel {
    /// Sends a message, waiting until the association has room for it.
    ///
    /// # Errors
    ///
    /// If the channel is closed, or the association takes no message.
    pub async fn send(&self, content: impl Into<Content>) -> Result<(), ChannelError> {
        let message = self.shared.state().channels.outgoing(self.id, content.into())?;
        let mut phase = self.phase.clone();
        tokio::select! {
            // First: a message that waits must not go to the next channel on the stream.
            biased;
            _ = phase.wait_for(|phase| *phase == Phase::Closed) => Err(ChannelClosed.into()),
            sent = self.shared.association.send(to_message(message)) => Ok(sent?),
        }
    }

    /// The next message; `None` when the channel is closed and everything was read. Cancellation safe.
    pub async fn receive(&self) -> Option<Content> {
        self.messages.lock().await.recv().await.map(|(content, _)| content)
    }

    /// Waits until the peer knows of the channel; `false` if it is closed before.
    pub async fn confirmed(&self) -> bool {
        let mut phase = self.phase.clone();
        let known = phase.wait_for(|phase| *phase != Phase::Opening).await;
        known.is_ok_and(|phase| *phase == Phase::Open)
    }

    /// Closes the channel: what was sent is delivered, and nothing more is read.
    pub fn close(self) {
        drop(self);
    }

    /// Whether it is closed.
    pub fn is_closed(&self) -> bool {
        *self.phase.borrow() == Phase::Closed
    }

    /// Its identifier, which is the number of its stream.
    pub fn id(&self) -> u16 {
        self.id
    }

    /// What it was opened with.
    pub fn parameters(&self) -> &ChannelParameters {
        &self.parameters
    }
}

impl Drop for DataChannel {
    fn drop(&mut self) {
        // Another channel may have the stream by now.
        if !self.is_closed() {
            let mut state = self.shared.state();
            state.channels.close(self.id);
            state.ports.remove(&self.id);
            drop(state);
            self.shared.work.notify_one();
        }
    }
}

/// A message as the association takes it.
pub(crate) fn to_message(outgoing: Outgoing) -> Message {
    let Outgoing { stream, ppid, payload, ordered, reliability } = outgoing;
    let message = Message::new(stream, payload).ppid(ppid);
    let message = if ordered { message } else { message.unordered() };
    message.reliability(match reliability {
        Reliability::Reliable => PartialReliability::None,
        Reliability::MaxRetransmissions(limit) => {
            PartialReliability::LimitedRetransmissions(u16::try_from(limit).unwrap_or(u16::MAX))
        }
        // A message with no time at all has the least that there is.
        Reliability::MaxLifetimeMs(limit) => {
            PartialReliability::Timed(Duration::from_millis(u64::from(limit.max(1))))
        }
    })
}
