//! Streams of an association as objects, each read and written independently.

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

/// A stream of an association, in both directions: the data that both sides send with one stream identifier.
///
/// It carries messages ([`send`](Self::send), [`receive`](Self::receive)) and bytes ([`AsyncRead`], [`AsyncWrite`]).
/// Each write becomes a message of at most 16,384 bytes, unless [set](SendStream::set_max_write_bytes) otherwise;
/// reading ignores message boundaries.
///
/// # Slow readers
///
/// Messages for a stream with an object wait in a queue of their own, so a slow reader does not delay readers of other
/// streams, with objects or with [`Association::receive`]. In the network, messages of different streams are
/// interleaved if both sides have the policy `message_interleaving`; otherwise each message is sent as a whole.
///
/// SCTP has one receive window for all streams (RFC 9260 section 6.2), and no flow control per stream: unread data of a
/// stream occupies `receive_buffer_bytes`, and once it fills the buffer, the peer must stop. If a reader may fall
/// behind by that much, let it request data by messages, [keep only the newest messages](RecvStream::keep_newest), or
/// [stop the stream](RecvStream::stop).
///
/// # The end of a stream
///
/// [`finish`](Self::finish) resets a stream (RFC 6525) once all sent data is acknowledged, as data channels of WebRTC
/// do: the peer's object ends, and later data with the identifier belongs to a new one. Both sides need the policy
/// `stream_reconfiguration`; otherwise streams end with the association.
///
/// # Restart of the peer
///
/// After a restart ([`AssociationError::PeerRestarted`]) an object returns the earlier messages, then that error until
/// [`Association::accept_restart`], and then the messages of the restarted peer.
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
    /// The stream with this identifier as an object, which receives its messages from now on.
    ///
    /// # Errors
    ///
    /// The stream does not exist or has another object, or the peer has restarted.
    pub fn stream(&self, id: u16) -> Result<SctpStream, StreamError> {
        Ok(SctpStream { send: SendStream::new(self.clone(), id), recv: self.recv_stream(id)? })
    }

    /// The sending half of a stream; a stream may have several.
    pub fn send_stream(&self, id: u16) -> SendStream {
        SendStream::new(self.clone(), id)
    }

    /// The receiving half of a stream.
    ///
    /// # Errors
    ///
    /// Like [`stream`](Self::stream).
    pub fn recv_stream(&self, id: u16) -> Result<RecvStream, StreamError> {
        let mut inner = self.shared.lock();
        if inner.is_restarted() {
            return Err(AssociationError::PeerRestarted.into());
        }
        let claim = inner.protocol.claim_stream(id)?;
        drop(inner);
        Ok(RecvStream::new(self.clone(), id, claim))
    }

    /// The next stream with data from the peer that has no object yet; `None` once the peer has shut down the
    /// association and everything was read. Streams are returned in the order of their first messages, which the
    /// objects receive.
    ///
    /// It competes with [`receive`](Self::receive), which returns messages of streams without an object: use one of the
    /// two. Cancellation safe.
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

    /// The results of [`accept_stream`](Self::accept_stream) as a stream of the `futures` crates.
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

    /// Splits both directions, for use from two tasks.
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

    /// Sends a message on this stream, whatever its `stream`.
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
    /// There is no message yet, or the association has ended.
    pub fn try_receive(&mut self) -> Result<Option<ReceivedMessage>, TryReceiveError> {
        self.recv.try_receive()
    }

    /// Ends the sending direction of the stream; see [`SendStream::finish`].
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
