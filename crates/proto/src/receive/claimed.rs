//! Streams that are read separately.
//!
//! Messages of a claimed stream wait in a queue of its own. They still occupy the receive window, which all streams
//! share (RFC 9260 section 6.2): an unread stream delays no received message of another one, but reduces the window of
//! all. A limit on the queue bounds that by discarding.

use super::Receiver;
use super::partial_delivery::Released;
use crate::{ReceivedMessage, StreamClaim};

impl Receiver {
    /// Gives a stream a queue of its own, with what waits of it; `None` if it has one.
    pub fn claim(&mut self, stream: u16) -> Option<StreamClaim> {
        self.reassembly.claim(stream)
    }

    /// The same for the stream of the next message among those of unclaimed streams.
    pub fn claim_next(&mut self) -> Option<(u16, StreamClaim)> {
        let stream = self.reassembly.first()?.stream;
        Some((stream, self.reassembly.claim(stream)?))
    }

    /// Ends a claim; its waiting messages follow those of unclaimed streams.
    pub fn release_claim(&mut self, claim: StreamClaim) {
        self.reassembly.release_claim(claim);
    }

    /// The next message of a claim, which frees its part of the window.
    pub fn receive_claimed(&mut self, claim: StreamClaim) -> Option<ReceivedMessage> {
        let claims = self.reassembly.claims_mut()?;
        let message = claims.take_first(claim)?;
        let released = Released { bytes: message.len(), ends: message.piece.ends() };
        self.release(released, message.fragments.len());
        Some(message)
    }

    /// Whether nothing follows the waiting messages, since the peer has reset the stream.
    pub fn claim_has_ended(&self, claim: StreamClaim) -> bool {
        self.reassembly.claims().is_some_and(|claims| claims.has_ended(claim))
    }

    /// Messages of a claim that wait from before the peer's restart.
    pub fn claimed_from_before(&self, claim: StreamClaim) -> usize {
        self.reassembly.claims().map_or(0, |claims| claims.before_restart(claim))
    }

    /// Messages of a claim that were discarded because of its limit.
    pub fn claimed_discarded(&self, claim: StreamClaim) -> u64 {
        self.reassembly.claims().map_or(0, |claims| claims.discarded(claim))
    }

    /// Limits a claim to this many bytes beyond its newest message; with 0, nothing is kept. Older messages are
    /// discarded.
    pub fn limit_claim(&mut self, claim: StreamClaim, bytes: Option<usize>) {
        if let Some(claims) = self.reassembly.claims_mut() {
            claims.limit(claim, bytes);
            self.release_excess();
        }
    }

    /// Ends a claim of a stream whose messages are discarded until it is reset.
    pub fn discard_claim(&mut self, claim: StreamClaim) {
        if let Some(claims) = self.reassembly.claims_mut() {
            claims.discard(claim);
            self.release_excess();
        }
    }

    /// Whether owners of claims are to hear of something.
    #[inline]
    pub fn has_claim_news(&self) -> bool {
        self.reassembly.claims().is_some_and(|claims| claims.has_news())
    }

    /// A stream and its claim, whose owner must be notified of news.
    pub fn pop_claim_news(&mut self) -> Option<(u16, StreamClaim)> {
        self.reassembly.claims_mut()?.pop_news()
    }

    /// Frees what the discarded messages took of the window.
    pub(super) fn release_excess(&mut self) {
        let gone = self.reassembly.take_excess();
        if gone.chunks > 0 {
            self.window.release(gone.bytes, gone.chunks);
            if self.window.update_is_due() {
                self.acks.request();
            }
        }
    }

    /// Bytes of user data that were discarded, ever.
    pub(super) fn discarded_bytes(&self) -> u64 {
        self.reassembly.claims().map_or(0, |claims| claims.discarded_bytes())
    }
}
