//! The sending half of a stream.

use std::fmt;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use polypath_proto::ReconfigurationError;
use tokio::io::AsyncWrite;

use crate::association::Association;
use crate::error::SendError;
use crate::message::Message;

/// Most bytes of a message that is made of written bytes, unless set. Where fragments of messages do not alternate
/// (policy `message_interleaving`), other streams wait for each message: RFC 8831 section 6.6 advises this.
const WRITE_BYTES: usize = 16_384;

/// What this side sends on one stream; see [`SctpStream`](crate::SctpStream).
///
/// Messages are sent with [`send`](Self::send), and bytes with [`AsyncWrite`]: each write becomes an ordered message of at most
/// [`max_write_bytes`](Self::max_write_bytes). Small writes make small messages, which
/// `BufWriter` of tokio avoids. What was accepted is sent without flushing. Dropping it ends nothing:
/// [`finish`](Self::finish) and `shutdown` of `AsyncWriteExt` do.
pub struct SendStream {
    association: Association,
    stream: u16,
    ppid: u32,
    max_write_bytes: usize,
    /// What a write waits for.
    room: Option<Pin<Box<dyn Future<Output = ()> + Send + Sync>>>,
    is_finished: bool,
}

impl SendStream {
    pub(super) fn new(association: Association, stream: u16) -> Self {
        let max_write_bytes = WRITE_BYTES;
        Self { association, stream, ppid: 0, max_write_bytes, room: None, is_finished: false }
    }

    /// Stream identifier.
    pub fn id(&self) -> u16 {
        self.stream
    }

    /// The association that the stream belongs to.
    pub fn association(&self) -> &Association {
        &self.association
    }

    /// Sets the payload protocol identifier of what is sent with [`send`](Self::send) and written; 0, if unset.
    pub fn set_ppid(&mut self, ppid: u32) {
        self.ppid = ppid;
    }

    /// Sets how many bytes a write puts into a message at most: 16,384, if unset, and never more than the send buffer holds. Other
    /// streams wait for a large message where both sides do not have the policy `message_interleaving`.
    pub fn set_max_write_bytes(&mut self, bytes: usize) {
        self.max_write_bytes = bytes.max(1);
    }

    /// Most bytes that a write puts into a message.
    pub fn max_write_bytes(&self) -> usize {
        self.max_write_bytes
    }

    /// Sends an ordered message, waiting until the send buffer has room for it.
    ///
    /// # Errors
    ///
    /// As [`Association::send`](crate::Association::send).
    pub async fn send(&self, payload: impl Into<Bytes>) -> Result<(), SendError> {
        self.send_message(Message::new(self.stream, payload).ppid(self.ppid)).await
    }

    /// Sends a message as it is, but on this stream.
    ///
    /// # Errors
    ///
    /// As [`Association::send`](crate::Association::send).
    pub async fn send_message(&self, message: Message) -> Result<(), SendError> {
        self.association.send(Message { stream: self.stream, ..message }).await
    }

    /// Sends an ordered message if the send buffer has room for it now.
    ///
    /// # Errors
    ///
    /// As [`Association::try_send`](crate::Association::try_send).
    pub fn try_send(&self, payload: impl Into<Bytes>) -> Result<(), SendError> {
        self.association.try_send(Message::new(self.stream, payload).ppid(self.ppid))
    }

    /// Gives the stream its priority or weight, as [`Association::set_stream_value`](crate::Association::set_stream_value).
    ///
    /// # Errors
    ///
    /// If there is no such stream of this side.
    pub fn set_value(&self, value: u16) -> Result<(), SendError> {
        self.association.set_stream_value(self.stream, value)
    }

    /// Ends what is sent on the stream: when all of it was acknowledged, the stream begins anew (RFC 6525), and the peer's
    /// [`RecvStream`](crate::RecvStream) comes to its end. Does not wait for that. Writes fail from now on, and a program that sends
    /// messages on this stream waits until it has begun anew.
    ///
    /// # Errors
    ///
    /// [`Unsupported`](ReconfigurationError::Unsupported) where one of both sides does not have the policy
    /// `stream_reconfiguration`: the peer sees no end before that of the association. Otherwise as
    /// [`Association::reset_outgoing_streams`](crate::Association::reset_outgoing_streams).
    pub fn finish(&mut self) -> Result<(), ReconfigurationError> {
        if !self.is_finished {
            self.association.reset_outgoing_streams(&[self.stream])?;
            self.is_finished = true;
        }
        Ok(())
    }

    /// A message of the first bytes, if the send buffer has room for it; gives their number.
    fn try_write(&self, bytes: &[u8]) -> Result<usize, SendError> {
        let len = bytes.len().min(self.max_write_bytes).min(self.association.send_buffer_bytes());
        self.try_send(Bytes::copy_from_slice(&bytes[..len]))?;
        Ok(len)
    }

    /// Becomes ready when it is worth another try.
    fn poll_room(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if let Some(room) = &mut self.room {
            ready!(room.as_mut().poll(cx));
            self.room = None;
        }
        Poll::Ready(())
    }

    /// Lets the task be woken when there is room from now on.
    fn await_room(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let association = self.association.clone();
        self.room = Some(Box::pin(async move { association.shared.writable.notified().await }));
        self.poll_room(cx)
    }
}

impl AsyncWrite for SendStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let budget = ready!(tokio::task::coop::poll_proceed(cx));
        if bytes.is_empty() {
            return Poll::Ready(Ok(0));
        }
        if self.is_finished {
            return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
        }
        ready!(self.poll_room(cx));
        loop {
            // Copied only where there is room.
            match self.try_write(bytes) {
                Err(error) if error.is_would_block() => {}
                done => {
                    self.room = None;
                    budget.made_progress();
                    return Poll::Ready(done.map_err(io::Error::from));
                }
            }
            // Tried once more after that, so that a signal in between is not missed.
            if self.room.is_some() {
                return Poll::Pending;
            }
            let _ = self.await_room(cx);
        }
    }

    fn poll_flush(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    /// As [`finish`](Self::finish), where that is possible; the association stays open in any case.
    fn poll_shutdown(mut self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let done = match self.finish() {
            Ok(())
            | Err(ReconfigurationError::Unsupported | ReconfigurationError::NotEstablished) => {
                self.is_finished = true;
                Ok(())
            }
            Err(error) => Err(io::Error::other(error)),
        };
        Poll::Ready(done)
    }
}

impl fmt::Debug for SendStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SendStream").field("stream", &self.stream).finish_non_exhaustive()
    }
}
