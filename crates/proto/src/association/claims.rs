//! Streams that the user reads apart from the others.

use super::Association;
use crate::receive::Receiver;
use crate::{ClaimError, Cx, Event, ReceivedMessage, StreamClaim};

impl Association {
    /// Claims the data of a stream: its waiting and future messages are returned by
    /// [`receive_claimed`](Self::receive_claimed) instead of [`receive`](Self::receive). A slow reader of the stream
    /// then does not delay other streams. [`Event::StreamReadable`] announces messages.
    ///
    /// All streams share the receive window (RFC 9260 section 6.2); unread data of one reduces it for the others. See
    /// [`limit_claim`](Self::limit_claim).
    ///
    /// # Errors
    ///
    /// The association is not established yet, the stream does not exist, or it is claimed.
    pub fn claim_stream(&mut self, stream: u16) -> Result<StreamClaim, ClaimError> {
        let count = self.streams.inbound.max(self.streams.outbound);
        let receiver = self.state.receiver_mut().ok_or(ClaimError::NotEstablished)?;
        if stream >= count {
            return Err(ClaimError::InvalidStream { stream, count });
        }
        let claim = receiver.claim(stream).ok_or(ClaimError::InUse { stream })?;
        self.announce_messages();
        Ok(claim)
    }

    /// Claims the stream of the next message for [`receive`](Self::receive). If there is none, [`Event::Readable`]
    /// follows when there is.
    pub fn claim_next_stream(&mut self) -> Option<(u16, StreamClaim)> {
        let claimed = self.state.receiver_mut()?.claim_next();
        match claimed {
            Some(_) => self.announce_messages(),
            None => self.readable_told = false,
        }
        claimed
    }

    /// Ends a claim. Waiting messages are returned by [`receive`](Self::receive) again, after the present ones.
    pub fn release_claim(&mut self, claim: StreamClaim) {
        if let Some(receiver) = self.state.receiver_mut() {
            receiver.release_claim(claim);
            self.announce_messages();
        }
    }

    /// The next message of a claimed stream, or a [piece](crate::Piece) of one, freeing its part of the receive window. [`Event::StreamReadable`] is raised again
    /// only after this gave `None`.
    pub fn receive_claimed(
        &mut self,
        _cx: &mut Cx<'_>,
        claim: StreamClaim,
    ) -> Option<ReceivedMessage> {
        let receiver = self.state.receiver_mut()?;
        let message = receiver.receive_claimed(claim)?;
        self.stats.messages_received += u64::from(message.piece.ends());
        self.stats.bytes_received += message.len() as u64;
        if receiver.sack_is_due() {
            self.flush.stir();
        }
        Some(message)
    }

    /// Whether nothing follows the waiting messages: the peer has reset the stream (RFC 6525), and later data is not
    /// part of this claim.
    pub fn claim_has_ended(&self, claim: StreamClaim) -> bool {
        self.state.receiver().is_some_and(|receiver| receiver.claim_has_ended(claim))
    }

    /// Number of waiting messages of a claimed stream from before the peer's restart. They come first.
    pub fn claimed_before_restart(&self, claim: StreamClaim) -> usize {
        self.state.receiver().map_or(0, |receiver| receiver.claimed_from_before(claim))
    }

    /// Messages of a claimed stream that were discarded because of its limit.
    pub fn claimed_discarded(&self, claim: StreamClaim) -> u64 {
        self.state.receiver().map_or(0, |receiver| receiver.claimed_discarded(claim))
    }

    /// Limits the share of the receive window of a claimed stream: while its messages have more bytes than this, the
    /// oldest is discarded, except the newest one. 0: all are discarded; `None`: unlimited.
    pub fn limit_claim(&mut self, claim: StreamClaim, bytes: Option<usize>) {
        if let Some(receiver) = self.state.receiver_mut() {
            receiver.limit_claim(claim, bytes);
            if receiver.sack_is_due() {
                self.flush.stir();
            }
        }
    }

    /// Ends a claim and discards data of the stream until the peer resets the stream, or it is claimed again.
    pub fn discard_claim(&mut self, claim: StreamClaim) {
        if let Some(receiver) = self.state.receiver_mut() {
            receiver.discard_claim(claim);
            if receiver.sack_is_due() {
                self.flush.stir();
            }
        }
    }

    /// Tells of claimed streams that can be read, or have ended.
    #[inline(never)]
    pub(super) fn report_claims(&mut self) {
        while let Some((stream, claim)) =
            self.state.receiver_mut().and_then(Receiver::pop_claim_news)
        {
            self.events.push(Event::StreamReadable { stream, claim });
        }
    }
}
