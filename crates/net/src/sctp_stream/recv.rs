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

/// What the peer sends on one stream; see [`SctpStream`](crate::SctpStream).
///
/// Messages are there as [`receive`](Self::receive) gives them, or as bytes by [`AsyncRead`], which crosses the bounds of messages. They come to their
/// end when the peer lets the stream begin anew ([`SendStream::finish`](crate::SendStream::finish) does that) or has shut the
/// association down.
///
/// When it is dropped, the stream belongs to the association again: messages that were not read come with
/// [`Association::receive`](crate::Association::receive) or [`Association::accept_stream`](crate::Association::accept_stream), and only the
/// rest of one that was read in part is lost. [`stop`](Self::stop) discards them.
#[derive(Debug)]
pub struct RecvStream {
    association: Association,
    stream: u16,
    claim: StreamClaim,
    reader: Arc<AtomicWaker>,
    /// The rest of the message that is being read as bytes.
    rest: VecDeque<Bytes>,
    /// Messages that bytes were missing of when they were last read.
    missed: u64,
    /// Kinds of delivery of messages that were read in part as bytes because their ends are still to come.
    begun: Vec<Delivery>,
    state: ClaimState,
}

/// Whether the claim is this object's to release.
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

    /// The next message of the stream, or a [piece](ReceivedMessage::piece) of a large one; `None` at its end, and when the peer has shut
    /// the association down.
    ///
    /// A message that was read in part as bytes is to be read so to its end: it does not come here.
    #[doc(alias = "recv")]
    pub async fn receive(&mut self) -> Result<Option<ReceivedMessage>, AssociationError> {
        // The driver has its turn, too, where it shares a thread with the receiver.
        tokio::task::consume_budget().await;
        poll_fn(|cx| self.poll_receive(cx)).await
    }

    /// The next message of the stream if there is one; `None` at its end.
    ///
    /// # Errors
    ///
    /// That there is none yet, or how the association ended.
    pub fn try_receive(&mut self) -> Result<Option<ReceivedMessage>, TryReceiveError> {
        let shared = &self.association.shared;
        let now = shared.clock.now();
        let mut inner = shared.lock();
        if inner.is_restarted() && inner.protocol.claimed_before_restart(self.claim) == 0 {
            return Err(AssociationError::PeerRestarted.into());
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

    /// As [`receive`](Self::receive), for those who write futures by hand: the task is woken when there is a message.
    pub fn poll_receive(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Option<ReceivedMessage>, AssociationError>> {
        for attempt in 0..2 {
            match self.try_receive() {
                Ok(message) => return Poll::Ready(Ok(message)),
                Err(TryReceiveError::Ended(error)) => return Poll::Ready(Err(error)),
                // Looked for once more, so that a signal in between is not missed.
                Err(TryReceiveError::Empty) if attempt == 0 => self.reader.register(cx.waker()),
                Err(TryReceiveError::Empty) => {}
            }
        }
        Poll::Pending
    }

    /// The messages as a stream of the `futures` crates, which ends with this one, and after an error.
    pub fn into_messages(
        self,
    ) -> impl FusedStream<Item = Result<ReceivedMessage, AssociationError>> + Send + Unpin + use<>
    {
        let receive = |mut stream: Self| async move {
            Ok(stream.receive().await?.map(|message| (message, stream)))
        };
        Box::pin(try_unfold(self, receive).fuse())
    }

    /// Bounds what the stream may hold of the receive window: while unread messages have more than so many bytes, the oldest is
    /// discarded, but for the newest one. [`missed`](Self::missed) counts them. `None`, which is the default, discards nothing.
    ///
    /// For news that is worth nothing once there is newer: with it no reader of one stream, however slow, can hold up another
    /// stream. Bytes that are read with [`AsyncRead`] fail once where some were discarded.
    pub fn keep_newest(&mut self, bytes: Option<usize>) {
        let claim = self.claim;
        let mut inner = self.association.shared.lock();
        inner.protocol.limit_claim(claim, bytes);
        drop(inner);
        self.association.shared.command();
    }

    /// Messages that were discarded because of [`keep_newest`](Self::keep_newest).
    pub fn missed(&self) -> u64 {
        self.association.shared.lock().protocol.claimed_discarded(self.claim)
    }

    /// Gives the stream up: messages that wait are discarded, and so are those to come, until the peer lets the stream begin anew.
    /// It is asked for that where both sides have the policy `stream_reconfiguration`.
    pub fn stop(mut self) {
        self.state = ClaimState::GivenUp;
        let mut inner = self.association.shared.lock();
        inner.protocol.discard_claim(self.claim);
        // Without it, the peer goes on, and what it sends is discarded.
        let _ = inner.protocol.reset_incoming_streams(&[self.stream]);
        drop(inner);
        self.association.shared.command();
    }

    /// Whether a message, or the end of the stream, comes where another message has not ended.
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
            // Somebody may wait for what was not read.
            self.association.shared.command();
        }
    }
}
