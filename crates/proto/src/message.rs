//! User messages.

use alloc::vec;

use bytes::Bytes;
use polypath_wire::Payload;
use smallvec::SmallVec;

use crate::config::PartialReliability;
use crate::{PathId, Tsn};

/// Whether a message waits for its predecessors on its stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash)]
pub enum Delivery {
    /// In the order of sending within the stream.
    #[default]
    Ordered,
    /// As soon as it is complete (U bit).
    Unordered,
}

/// A message handed to [`Association::send`](crate::Association::send).
#[derive(Clone, Debug)]
pub struct OutgoingMessage {
    /// Stream identifier.
    pub stream: u16,
    /// Payload protocol identifier, opaque to SCTP.
    pub ppid: u32,
    /// Ordered or unordered.
    pub delivery: Delivery,
    /// Send first transmissions on this path if it is usable; `None` leaves the choice to the path order. Ids are
    /// settled when the association is established.
    pub path: Option<PathId>,
    /// Whether this is the whole message, or a piece of one: the end of the record is explicit (`SCTP_EXPLICIT_EOR`, RFC 6458
    /// section 8.1.26). Pieces after the first continue the message of their stream; only stream, piece and content of them count.
    /// A message in pieces is always reliable.
    pub piece: Piece,
    /// Content; must not be empty.
    pub payload: Payload<'static>,
    /// Echoed in events about this message.
    pub context: u32,
    /// How long the sender tries to deliver it (RFC 3758, RFC 7496); `None` for what the policy `partial_reliability`
    /// says. Without effect where the peer does not understand FORWARD-TSN.
    pub reliability: Option<PartialReliability>,
    /// Whether its last chunk asks the peer for a SACK without delay (RFC 7053, `SCTP_SACK_IMMEDIATELY`), whatever the policy
    /// `sack_request` says. A message in pieces asks if one of them does.
    pub sack_immediately: bool,
}

impl OutgoingMessage {
    /// An ordered message with PPID 0 and no path preference.
    pub fn new(stream: u16, payload: impl Into<Bytes>) -> Self {
        Self::from_payload(stream, Payload::Shared(payload.into()))
    }

    /// As [`new`](Self::new), from any payload.
    pub fn from_payload(stream: u16, payload: Payload<'static>) -> Self {
        Self {
            stream,
            ppid: 0,
            delivery: Delivery::Ordered,
            path: None,
            piece: Piece::Whole,
            payload,
            context: 0,
            reliability: None,
            sack_immediately: false,
        }
    }
}

/// The part of a message.
///
/// For messages to send, the user sets it. Received messages are delivered whole, except those larger than the receive
/// buffer and, with [`partial_delivery_point`](crate::config::AssociationConfig::partial_delivery_point), other large
/// ones: the beginning of these is delivered before the rest has arrived (partial delivery, RFC 9260 section 6.9).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash)]
pub enum Piece {
    /// All of it.
    #[default]
    Whole,
    /// Its beginning. If another message of the same stream and order of delivery has not ended, the rest of that one
    /// will not arrive.
    First,
    /// What follows on the piece before, but not the end.
    Middle,
    /// What follows on the piece before, up to the end of the record (`MSG_EOR`).
    Last,
}

impl Piece {
    /// Whether a message begins with it.
    pub fn begins(self) -> bool {
        matches!(self, Self::Whole | Self::First)
    }

    /// Whether it ends the message (`MSG_EOR`).
    pub fn ends(self) -> bool {
        matches!(self, Self::Whole | Self::Last)
    }

    /// What it becomes with the piece behind it.
    pub(crate) fn and(self, behind: Self) -> Self {
        match (self.begins(), behind.ends()) {
            (true, true) => Self::Whole,
            (true, false) => Self::First,
            (false, false) => Self::Middle,
            (false, true) => Self::Last,
        }
    }
}

/// A message delivered to the user, or a piece of one.
#[derive(Clone, Debug)]
pub struct ReceivedMessage {
    /// Stream identifier.
    pub stream: u16,
    /// Payload protocol identifier.
    pub ppid: u32,
    /// Ordered or unordered.
    pub delivery: Delivery,
    /// Stream sequence number (ordered messages).
    pub ssn: u16,
    /// TSN of its first fragment; of a piece, that of the piece.
    pub tsn: Tsn,
    /// Whether this is all of it.
    pub piece: Piece,
    /// The fragments in order.
    pub fragments: SmallVec<[Payload<'static>; 1]>,
}

impl ReceivedMessage {
    /// Length in bytes.
    pub fn len(&self) -> usize {
        self.fragments.iter().map(Payload::len).sum()
    }

    /// Whether the message has no content; never true for a delivered message.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The content in one piece. An unfragmented message is not copied; virtual content is written out.
    pub fn into_bytes(mut self) -> Bytes {
        if let [Payload::Shared(bytes)] = &mut self.fragments[..] {
            return core::mem::take(bytes);
        }
        let mut content = vec![0; self.len()];
        let mut rest = &mut content[..];
        for fragment in &self.fragments {
            fragment.copy_to(rest);
            rest = &mut rest[fragment.len()..];
        }
        content.into()
    }
}

#[cfg(test)]
mod tests {
    use polypath_wire::VirtualPayload;
    use smallvec::smallvec;

    use super::*;

    fn message(fragments: SmallVec<[Payload<'static>; 1]>) -> ReceivedMessage {
        let (delivery, piece) = (Delivery::Ordered, Piece::Whole);
        ReceivedMessage { stream: 0, ppid: 0, delivery, ssn: 0, tsn: Tsn(0), piece, fragments }
    }

    #[test]
    fn one_shared_fragment_is_not_copied() {
        let bytes = Bytes::from(vec![1, 2, 3]);
        let whole = message(smallvec![Payload::Shared(bytes.clone())]).into_bytes();
        assert_eq!(whole.as_ptr(), bytes.as_ptr());
        assert_eq!(whole, bytes);
    }

    #[test]
    fn fragments_are_joined_and_virtual_content_is_written_out() {
        let joined = message(smallvec![
            Payload::Shared(Bytes::from_static(b"ab")),
            Payload::Shared(Bytes::from_static(b"c")),
        ]);
        assert_eq!(joined.into_bytes(), &b"abc"[..]);

        let part = |offset, len| Payload::Virtual(VirtualPayload { message: 9, offset, len });
        let in_two = message(smallvec![part(0, 5), part(5, 8)]).into_bytes();
        let mut expected = [0; 13];
        part(0, 13).copy_to(&mut expected);
        assert_eq!(in_two, &expected[..]);
        assert_eq!(message(smallvec![part(0, 13)]).into_bytes(), &expected[..]);
    }
}
