//! The receiving half of a stream.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes};
use futures_util::StreamExt;
use futures_util::stream::{FusedStream, try_unfold};
use futures_util::task::AtomicWaker;
use polypath_proto::{Delivery, Piece, StreamClaim};
use tokio::io::{AsyncRead, ReadBuf};

use crate::association::Association;
use crate::error::{AssociationError, TryReceiveError};
use crate::message::ReceivedMessage;

/// The receiving half of a stream; see [`SctpStream`](crate::SctpStream).
///
/// Data is read as messages ([`receive`](Self::receive)), or as bytes ([`AsyncRead`]), regardless of message
/// boundaries. It ends when the peer resets the stream (as by [`SendStream::finish`](crate::SendStream::finish)) or has
/// shut down the association.
///
/// When it is dropped, the stream belongs to the association again: unread messages are returned by
/// [`Association::receive`](crate::Association::receive) or
/// [`Association::accept_stream`](crate::Association::accept_stream), and only the rest of a partly read message is
/// lost. [`stop`](Self::stop) discards them.
#[derive(Debug)]
pub struct RecvStream {
    association: Association,
    stream: u16,
    claim: StreamClaim,
    reader: Arc<AtomicWaker>,
    /// The rest of the message that is being read as bytes.
    rest: VecDeque<Bytes>,
    /// Number of discarded messages at the last read of bytes.
    missed: u64,
    /// Orders of delivery of messages that were partly read as bytes and whose ends have not arrived.
    begun: Vec<Delivery>,
    state: ClaimState,
}

/// Whether this object must release the claim.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum ClaimState {
    Held,
    GivenUp,
}

impl RecvStream {
    pub(super) fn new(association: Association, stream: u16, claim: StreamClaim) -> Self {
        let reader = association.shared.add_reader(claim);
        let (rest, missed, begun, state) = (VecDeque::new(), 0, Vec::new(), ClaimState::Held);
        Self { association, stream, claim, reader, rest, missed, begun, state }
    }

    /// Stream identifier.
    pub fn id(&self) -> u16 {
        self.stream
    }

    /// The association that the stream belongs to.
    pub fn association(&self) -> &Association {
        &self.association
    }

    /// The next message of the stream, or a [piece](ReceivedMessage::piece) of a large one; `None` at its end, and once
    /// the peer has shut down the association.
    ///
    /// A message that was partly read as bytes must be read as bytes to its end; it is not returned here.
    #[doc(alias = "recv")]
    pub async fn receive(&mut self) -> Result<Option<ReceivedMessage>, AssociationError> {
        // Lets the driver run if it shares a thread with the receiver.
        tokio::task::consume_budget().await;
        poll_fn(|cx| self.poll_receive(cx)).await
    }

    /// The next message of the stream if there is one; `None` at its end.
    ///
    /// # Errors
    ///
    /// There is no message yet, or the association has ended.
    pub fn try_receive(&mut self) -> Result<Option<ReceivedMessage>, TryReceiveError> {
        let shared = &self.association.shared;
        let now = shared.clock.now();
        let mut inner = shared.lock();
        if inner.is_restarted() && inner.protocol.claimed_before_restart(self.claim) == 0 {
            return Err(AssociationError::PeerRestarted.into());
        }
        if inner.has_subscribers() {
            inner.note_events();
        }
        let claim = self.claim;
        let Some(message) = inner.call(now, |protocol, cx| protocol.receive_claimed(cx, claim))
        else {
            return match inner.protocol.claim_has_ended(claim) {
                true => Ok(None),
                false => inner.nothing_to_read().map(|_| None),
            };
        };
        // Reading may have made a window update due.
        let update_due = inner.protocol.acknowledgement_is_due();
        drop(inner);
        if update_due {
            shared.command();
        }
        Ok(Some(message.into()))
    }

    /// Like [`receive`](Self::receive), for hand-written futures: the task is woken when there is a message.
    pub fn poll_receive(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Option<ReceivedMessage>, AssociationError>> {
        for attempt in 0..2 {
            match self.try_receive() {
                Ok(message) => return Poll::Ready(Ok(message)),
                Err(TryReceiveError::Ended(error)) => return Poll::Ready(Err(error)),
                // Tried once more, so that a signal in between is not missed.
                Err(TryReceiveError::Empty) if attempt == 0 => self.reader.register(cx.waker()),
                Err(TryReceiveError::Empty) => {}
            }
        }
        Poll::Pending
    }

    /// The messages as a stream of the `futures` crates, which ends with this stream, and after an error.
    pub fn into_messages(
        self,
    ) -> impl FusedStream<Item = Result<ReceivedMessage, AssociationError>> + Send + Unpin + use<>
    {
        let receive = |mut stream: Self| async move {
            Ok(stream.receive().await?.map(|message| (message, stream)))
        };
        Box::pin(try_unfold(self, receive).fuse())
    }

    /// Limits the share of the receive window that the stream may occupy: while unread messages have more bytes than
    /// this, the oldest is discarded, except the newest one. [`missed`](Self::missed) counts discarded messages. `None`
    /// (default): nothing is discarded.
    ///
    /// For data that newer data replaces: a slow reader of one stream then cannot delay another stream. [`AsyncRead`]
    /// fails once where bytes were discarded.
    pub fn keep_newest(&mut self, bytes: Option<usize>) {
        let claim = self.claim;
        let mut inner = self.association.shared.lock();
        inner.protocol.limit_claim(claim, bytes);
        drop(inner);
        self.association.shared.command();
    }

    /// Number of messages discarded because of [`keep_newest`](Self::keep_newest).
    pub fn missed(&self) -> u64 {
        self.association.shared.lock().protocol.claimed_discarded(self.claim)
    }

    /// Stops reading the stream: waiting and future messages are discarded, until the peer resets the stream. If both
    /// sides have the policy `stream_reconfiguration`, the peer is requested to do so.
    pub fn stop(mut self) {
        self.state = ClaimState::GivenUp;
        let mut inner = self.association.shared.lock();
        inner.protocol.discard_claim(self.claim);
        // If that fails, the peer continues, and its data is discarded.
        let _ = inner.protocol.reset_incoming_streams(&[self.stream]);
        drop(inner);
        self.association.shared.command();
    }

    /// Whether a message, or the end of the stream, follows a message without an end.
    fn cuts_another(&mut self, message: Option<&ReceivedMessage>) -> bool {
        let Some(message) = message else { return !std::mem::take(&mut self.begun).is_empty() };
        if message.piece() == Piece::Whole {
            return false;
        }
        let (piece, delivery) = (message.piece(), message.delivery());
        let before = self.begun.len();
        self.begun.retain(|begun| *begun != delivery);
        let was_begun = self.begun.len() < before;
        if !piece.ends() {
            self.begun.push(delivery);
        }
        piece.begins() && was_begun
    }

    /// Bytes to read, unless the stream has ended.
    fn poll_rest(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while self.rest.is_empty() {
            let message = ready!(self.poll_receive(cx))?;
            let missed = self.missed();
            let text = if missed > self.missed {
                self.missed = missed;
                self.begun.clear();
                Some("messages were discarded that were not read in time")
            } else {
                None
            };
            let is_cut = self.cuts_another(message.as_ref());
            let text = text.or(is_cut.then_some("the rest of a message will not come"));
            if let Some(text) = text {
                self.rest.extend(message.into_iter().flat_map(ReceivedMessage::into_pieces));
                return Poll::Ready(Err(io::Error::new(io::ErrorKind::InvalidData, text)));
            }
            let Some(message) = message else { break };
            self.rest.extend(message.into_pieces());
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncRead for RecvStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let budget = ready!(tokio::task::coop::poll_proceed(cx));
        if buffer.remaining() == 0 {
            return Poll::Ready(Ok(()));
        }
        ready!(self.poll_rest(cx))?;
        budget.made_progress();
        while let Some(piece) = self.rest.front_mut()
            && buffer.remaining() > 0
        {
            let len = piece.len().min(buffer.remaining());
            buffer.put_slice(&piece[..len]);
            piece.advance(len);
            if piece.is_empty() {
                self.rest.pop_front();
            }
        }
        Poll::Ready(Ok(()))
    }
}

impl Drop for RecvStream {
    fn drop(&mut self) {
        self.association.shared.remove_reader(self.claim);
        if self.state == ClaimState::Held {
            self.association.shared.lock().protocol.release_claim(self.claim);
            // A task may wait for the unread messages.
            self.association.shared.command();
        }
    }
}
