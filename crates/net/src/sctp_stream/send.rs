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

/// Maximum length in bytes of a message from a write, unless set. Without message interleaving (policy
/// `message_interleaving`), other streams wait for each message; RFC 8831 section 6.6 recommends this limit.
const WRITE_BYTES: usize = 16_384;

/// The sending half of a stream; see [`SctpStream`](crate::SctpStream).
///
/// Messages are sent with [`send`](Self::send), and bytes with [`AsyncWrite`]: each write becomes an ordered message of
/// at most [`max_write_bytes`](Self::max_write_bytes). Small writes make small messages, which `BufWriter` of tokio
/// avoids. Accepted data is sent without flushing. Dropping the object does not end the stream;
/// [`finish`](Self::finish) and `shutdown` of `AsyncWriteExt` do.
pub struct SendStream {
    association: Association,
    stream: u16,
    ppid: u32,
    max_write_bytes: usize,
    /// State of a pending write.
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

    /// Sets the payload protocol identifier of messages from [`send`](Self::send) and writes. Default: 0.
    pub fn set_ppid(&mut self, ppid: u32) {
        self.ppid = ppid;
    }

    /// Sets the maximum number of bytes that a write puts into a message. Default: 16,384; at most the size of the send
    /// buffer. Other streams wait for a large message unless both sides have the policy `message_interleaving`.
    pub fn set_max_write_bytes(&mut self, bytes: usize) {
        self.max_write_bytes = bytes.max(1);
    }

    /// Maximum number of bytes that a write puts into a message.
    pub fn max_write_bytes(&self) -> usize {
        self.max_write_bytes
    }

    /// Sends an ordered message, and waits while the send buffer has no space for it.
    ///
    /// # Errors
    ///
    /// As [`Association::send`](crate::Association::send).
    pub async fn send(&self, payload: impl Into<Bytes>) -> Result<(), SendError> {
        self.send_message(Message::new(self.stream, payload).ppid(self.ppid)).await
    }

    /// Sends a message on this stream, whatever its `stream`.
    ///
    /// # Errors
    ///
    /// As [`Association::send`](crate::Association::send).
    pub async fn send_message(&self, message: Message) -> Result<(), SendError> {
        self.association.send(Message { stream: self.stream, ..message }).await
    }

    /// Sends an ordered message if the send buffer has space for it now.
    ///
    /// # Errors
    ///
    /// As [`Association::try_send`](crate::Association::try_send).
    pub fn try_send(&self, payload: impl Into<Bytes>) -> Result<(), SendError> {
        self.association.try_send(Message::new(self.stream, payload).ppid(self.ppid))
    }

    /// Sets the priority or weight of the stream, like
    /// [`Association::set_stream_value`](crate::Association::set_stream_value).
    ///
    /// # Errors
    ///
    /// The stream does not exist.
    pub fn set_value(&self, value: u16) -> Result<(), SendError> {
        self.association.set_stream_value(self.stream, value)
    }

    /// Ends the sending direction of the stream: once all data is acknowledged, the stream is reset (RFC 6525), and the
    /// peer's [`RecvStream`](crate::RecvStream) ends. Does not wait for that. Writes fail from now on, and messages on
    /// this stream wait until it is reset.
    ///
    /// # Errors
    ///
    /// [`Unsupported`](ReconfigurationError::Unsupported) if one side lacks the policy `stream_reconfiguration`: the
    /// peer sees no end before that of the association. Otherwise like
    /// [`Association::reset_outgoing_streams`](crate::Association::reset_outgoing_streams).
    pub fn finish(&mut self) -> Result<(), ReconfigurationError> {
        if !self.is_finished {
            self.association.reset_outgoing_streams(&[self.stream])?;
            self.is_finished = true;
        }
        Ok(())
    }

    /// Sends the first bytes as a message, if the send buffer has space for it; returns their number.
    fn try_write(&self, bytes: &[u8]) -> Result<usize, SendError> {
        let len = bytes.len().min(self.max_write_bytes).min(self.association.send_buffer_bytes());
        self.try_send(Bytes::copy_from_slice(&bytes[..len]))?;
        Ok(len)
    }

    /// Becomes ready when another attempt may succeed.
    fn poll_room(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if let Some(room) = &mut self.room {
            ready!(room.as_mut().poll(cx));
            self.room = None;
        }
        Poll::Ready(())
    }

    /// Wakes the task when there is space from now on.
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
            // Copied only if there is space.
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

    /// Like [`finish`](Self::finish), if possible; the association stays open in any case.
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
