//! Associations as the streams and sinks of the `futures` crates.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures_util::future::BoxFuture;
use futures_util::stream::{FusedStream, try_unfold, unfold};
use futures_util::{Sink, StreamExt};
use polypath_proto::Event;

use crate::association::Association;
use crate::endpoint::Endpoint;
use crate::error::{AssociationError, SendError};
use crate::events::Events;
use crate::message::{Message, ReceivedMessage};

impl Association {
    /// Received messages as a stream: the results of [`receive`](Self::receive). It ends after the peer's shutdown, and
    /// after an error. Several streams of one association share its messages.
    ///
    /// ```
    /// # use polypath::{Association, AssociationError};
    /// use futures_util::TryStreamExt;
    ///
    /// async fn bytes_of_all(association: &Association) -> Result<usize, AssociationError> {
    ///     association.messages().try_fold(0, |sum, message| async move { Ok(sum + message.len()) }).await
    /// }
    /// ```
    pub fn messages(
        &self,
    ) -> impl FusedStream<Item = Result<ReceivedMessage, AssociationError>> + Send + Unpin + use<>
    {
        let receive = |association: Self| async move {
            Ok(association.receive().await?.map(|message| (message, association)))
        };
        Box::pin(try_unfold(self.clone(), receive).fuse())
    }

    /// A sink that sends messages like [`send`](Self::send), and waits while the send buffer is full. Flushing waits
    /// until the last message is in the send buffer, not until it is delivered; so does closing, which leaves the
    /// association open. For more, use [`sender_dry`](Self::sender_dry) and [`shutdown`](Self::shutdown).
    ///
    /// ```
    /// # use polypath::{Association, Message, SendError};
    /// use futures_util::{SinkExt, stream};
    ///
    /// async fn count_aloud(association: &Association) -> Result<(), SendError> {
    ///     let mut numbers = stream::iter((1..=3).map(|n: u8| Ok(Message::new(0, n.to_string()))));
    ///     association.sink().send_all(&mut numbers).await
    /// }
    /// ```
    pub fn sink(&self) -> MessageSink {
        MessageSink { association: self.clone(), waiting: None }
    }
}

impl Endpoint {
    /// Associations initiated by peers, as a stream: the results of [`accept`](Self::accept). It ends when the endpoint
    /// no longer listens.
    pub fn incoming(&self) -> impl FusedStream<Item = Association> + Send + Unpin + use<> {
        let accept = |endpoint: Self| async move {
            let association = endpoint.accept().await.ok()?;
            Some((association, endpoint))
        };
        Box::pin(unfold(self.clone(), accept).fuse())
    }
}

impl Events {
    /// The events as a stream, which ends with the association.
    pub fn into_stream(self) -> impl FusedStream<Item = Event> + Send + Unpin {
        let next = |mut events: Self| async move { Some((events.next().await?, events)) };
        Box::pin(unfold(self, next).fuse())
    }
}

/// Sends messages of an association; made by [`Association::sink`]. It remains usable after an error.
pub struct MessageSink {
    association: Association,
    /// A message for which the send buffer has no space yet.
    waiting: Option<BoxFuture<'static, Result<(), SendError>>>,
}

impl MessageSink {
    fn poll_waiting(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), SendError>> {
        let Some(waiting) = &mut self.waiting else {
            return Poll::Ready(Ok(()));
        };
        let sent = ready!(waiting.as_mut().poll(cx));
        self.waiting = None;
        Poll::Ready(sent)
    }
}

impl Sink<Message> for MessageSink {
    type Error = SendError;

    fn poll_ready(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<(), SendError>> {
        self.poll_waiting(cx)
    }

    fn start_send(mut self: Pin<&mut Self>, message: Message) -> Result<(), SendError> {
        let before = self.waiting.take();
        if before.is_none() {
            match self.association.try_send(message.clone()) {
                Err(error) if error.is_would_block() => {}
                done => return done,
            }
        }
        let association = self.association.clone();
        self.waiting = Some(Box::pin(async move {
            if let Some(before) = before {
                before.await?;
            }
            association.send(message).await
        }));
        Ok(())
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<(), SendError>> {
        self.poll_waiting(cx)
    }

    fn poll_close(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<(), SendError>> {
        self.poll_waiting(cx)
    }
}

impl fmt::Debug for MessageSink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let waiting = self.waiting.is_some();
        f.debug_struct("MessageSink").field("waiting", &waiting).finish_non_exhaustive()
    }
}
