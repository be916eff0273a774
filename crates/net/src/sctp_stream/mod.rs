//! Streams of an association as objects: each is read and written apart from the others.

mod recv;
mod send;

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::stream::{FusedStream, try_unfold};
use polypath_proto::ReconfigurationError;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

pub use self::recv::RecvStream;
pub use self::send::SendStream;
use crate::association::Association;
use crate::error::{AssociationError, SendError, StreamError, TryReceiveError};
use crate::message::{Message, ReceivedMessage};

/// A stream of an association, in both directions: what this side and the peer send under one stream identifier.
///
/// It carries messages ([`send`](Self::send), [`receive`](Self::receive)) and, in their place or beside them, bytes
/// ([`AsyncRead`], [`AsyncWrite`]): each write becomes a message of at most 16,384 bytes, unless
/// [set](SendStream::set_max_write_bytes) otherwise, and reading crosses the bounds of messages.
///
/// # Slow readers
///
/// What arrives on a stream with an object waits in a queue of its own, so a task that is slow to read it does not delay those that
/// read other streams, with objects or with [`Association::receive`]. On the way, messages of different streams alternate
/// where both sides have the policy `message_interleaving`; otherwise each message is sent as a whole.
///
/// SCTP has one receive window for all streams (RFC 9260 section 6.2), and no flow control for each: what an unread stream
/// holds of `receive_buffer_bytes` is not there for the others, and once it holds all of it, the peer must stop. So a program
/// whose reader may fall behind by more than that lets the reader say in messages how much it takes, lets a queue
/// [keep the newest messages](RecvStream::keep_newest) only, or [gives the stream up](RecvStream::stop).
///
/// # The end of a stream
///
/// [`finish`](Self::finish) lets a stream begin anew (RFC 6525) when all that was sent is acknowledged, which is how data
/// channels of WebRTC end, too: the peer's object comes to its end, and what is sent under the identifier afterwards belongs to
/// another one. That needs the policy `stream_reconfiguration` on both sides; otherwise streams end with the association.
///
/// # Restart of the peer
///
/// After a restart ([`AssociationError::PeerRestarted`]) an object gives the messages from before, then that error until
/// [`Association::accept_restart`], and then the messages of the new peer.
///
/// # Example
///
/// ```
/// use polypath::{AssociationConfig, Endpoint, EndpointConfig, Peer};
/// use polypath::config::StreamReconfiguration;
/// use tokio::io::{AsyncReadExt, AsyncWriteExt};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let mut config = AssociationConfig::default();
/// config.policies.stream_reconfiguration = StreamReconfiguration::On;
/// let server = Endpoint::builder(["127.0.0.33".parse()?])
///     .encapsulation_port(0)
///     .config(EndpointConfig { association: config.clone(), ..EndpointConfig::default() })
///     .listen(16)
///     .bind()?;
/// let client = Endpoint::builder(["127.0.0.34".parse()?]).encapsulation_port(0).bind()?;
/// let peer = Peer::new(["127.0.0.33".parse()?], server.port()).encapsulation_port(server.encapsulation_port());
/// let near = client.connect(&peer, config).await?;
///
/// let mut upload = near.stream(3)?;
/// upload.write_all(&[7; 100_000]).await?;
/// upload.shutdown().await?;
/// near.stream(4)?.send("beside it").await?;
///
/// let far = server.accept().await?;
/// while let Some(mut stream) = far.accept_stream().await? {
///     if stream.id() == 3 {
///         let mut whole = Vec::new();
///         stream.read_to_end(&mut whole).await?;
///         assert_eq!(whole, [7; 100_000]);
///         break;
///     }
///     assert_eq!(stream.receive().await?.ok_or("no message")?.into_bytes(), "beside it");
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct SctpStream {
    send: SendStream,
    recv: RecvStream,
}

impl Association {
    /// The stream with this identifier as an object, which from now on gets what the peer sends there.
    ///
    /// # Errors
    ///
    /// If the stream does not exist, something else has it, or the peer has restarted.
    pub fn stream(&self, id: u16) -> Result<SctpStream, StreamError> {
        Ok(SctpStream { send: SendStream::new(self.clone(), id), recv: self.recv_stream(id)? })
    }

    /// The sending half of a stream; there may be several of one.
    pub fn send_stream(&self, id: u16) -> SendStream {
        SendStream::new(self.clone(), id)
    }

    /// The receiving half of a stream.
    ///
    /// # Errors
    ///
    /// As [`stream`](Self::stream).
    pub fn recv_stream(&self, id: u16) -> Result<RecvStream, StreamError> {
        let mut inner = self.shared.lock();
        if inner.is_restarted() {
            return Err(AssociationError::PeerRestarted.into());
        }
        let claim = inner.protocol.claim_stream(id)?;
        drop(inner);
        Ok(RecvStream::new(self.clone(), id, claim))
    }

    /// The next stream on which the peer sends and that has no object yet; `None` when the peer has shut the association down and
    /// everything was read. Streams come in the order of their first messages, which are theirs to read.
    ///
    /// It takes messages from [`receive`](Self::receive), which gives those of streams without an object: use one of both.
    /// Cancellation safe.
    ///
    /// # Errors
    ///
    /// How the association ended, or [`PeerRestarted`](AssociationError::PeerRestarted) until
    /// [`accept_restart`](Self::accept_restart).
    pub async fn accept_stream(&self) -> Result<Option<SctpStream>, AssociationError> {
        tokio::task::consume_budget().await;
        self.wait(&self.shared.readable, |association| match association.try_accept_stream() {
            Ok(stream) => Some(Ok(stream)),
            Err(TryReceiveError::Empty) => None,
            Err(TryReceiveError::Ended(error)) => Some(Err(error)),
        })
        .await
    }

    fn try_accept_stream(&self) -> Result<Option<SctpStream>, TryReceiveError> {
        let mut inner = self.shared.lock();
        if inner.is_restarted() {
            return Err(AssociationError::PeerRestarted.into());
        }
        let Some((id, claim)) = inner.protocol.claim_next_stream() else {
            return inner.nothing_to_read().map(|_| None);
        };
        drop(inner);
        let recv = RecvStream::new(self.clone(), id, claim);
        Ok(Some(SctpStream { send: SendStream::new(self.clone(), id), recv }))
    }

    /// Streams on which the peer sends, as a stream of the `futures` crates: what [`accept_stream`](Self::accept_stream) gives.
    ///
    /// ```
    /// # use polypath::{Association, AssociationError};
    /// use futures_util::TryStreamExt;
    ///
    /// async fn echo(association: &Association) -> Result<(), AssociationError> {
    ///     association.incoming_streams().try_for_each_concurrent(100, |stream| async move {
    ///         let (mut recv, mut send) = tokio::io::split(stream);
    ///         let _ = tokio::io::copy(&mut recv, &mut send).await;
    ///         Ok(())
    ///     }).await
    /// }
    /// ```
    pub fn incoming_streams(
        &self,
    ) -> impl FusedStream<Item = Result<SctpStream, AssociationError>> + Send + Unpin + use<> {
        let accept = |association: Self| async move {
            Ok(association.accept_stream().await?.map(|stream| (stream, association)))
        };
        Box::pin(try_unfold(self.clone(), accept).fuse())
    }
}

impl SctpStream {
    /// Stream identifier.
    pub fn id(&self) -> u16 {
        self.recv.id()
    }

    /// The association that the stream belongs to.
    pub fn association(&self) -> &Association {
        self.recv.association()
    }

    /// Both directions apart, for use from two tasks.
    pub fn into_split(self) -> (SendStream, RecvStream) {
        (self.send, self.recv)
    }

    /// The sending half, for its settings.
    pub fn send_half(&mut self) -> &mut SendStream {
        &mut self.send
    }

    /// The receiving half, for its settings.
    pub fn recv_half(&mut self) -> &mut RecvStream {
        &mut self.recv
    }

    /// Sends an ordered message; see [`SendStream::send`].
    ///
    /// # Errors
    ///
    /// As [`Association::send`].
    pub async fn send(&self, payload: impl Into<Bytes>) -> Result<(), SendError> {
        self.send.send(payload).await
    }

    /// Sends a message as it is, but on this stream.
    ///
    /// # Errors
    ///
    /// As [`Association::send`].
    pub async fn send_message(&self, message: Message) -> Result<(), SendError> {
        self.send.send_message(message).await
    }

    /// The next message of the stream; see [`RecvStream::receive`].
    ///
    /// # Errors
    ///
    /// How the association ended.
    #[doc(alias = "recv")]
    pub async fn receive(&mut self) -> Result<Option<ReceivedMessage>, AssociationError> {
        self.recv.receive().await
    }

    /// The next message of the stream if there is one; `None` at its end.
    ///
    /// # Errors
    ///
    /// That there is none yet, or how the association ended.
    pub fn try_receive(&mut self) -> Result<Option<ReceivedMessage>, TryReceiveError> {
        self.recv.try_receive()
    }

    /// Ends what is sent on the stream; see [`SendStream::finish`].
    ///
    /// # Errors
    ///
    /// As [`SendStream::finish`].
    pub fn finish(&mut self) -> Result<(), ReconfigurationError> {
        self.send.finish()
    }
}

impl AsyncRead for SctpStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.recv).poll_read(cx, buffer)
    }
}

impl AsyncWrite for SctpStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.send).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.send).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.send).poll_shutdown(cx)
    }
}
