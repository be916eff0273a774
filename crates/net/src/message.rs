//! Messages as an application sends and receives them.

use bytes::{Bytes, BytesMut};
use polypath_proto::config::PartialReliability;
use polypath_proto::{Delivery, OutgoingMessage, PathId, Piece};
use polypath_wire::{JoinedPayload, Payload};
use smallvec::SmallVec;

/// A message to send, with what RFC 6458 section 5.3.4 calls its send information.
///
/// ```
/// use polypath::Message;
///
/// let message = Message::new(3, "hello").ppid(46).unordered();
/// assert_eq!(message.stream, 3);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Stream identifier (`snd_sid`).
    pub stream: u16,
    /// Payload protocol identifier, in host byte order, opaque to SCTP (`snd_ppid`).
    pub ppid: u32,
    /// Ordered within its stream, or delivered as soon as it is complete (`SCTP_UNORDERED`).
    pub delivery: Delivery,
    /// Path of first transmissions while it is usable (`SCTP_ADDR_OVER`); `None`: chosen by the path scheduler.
    pub path: Option<PathId>,
    /// Returned in events about this message (`snd_context`).
    pub context: u32,
    /// Its reliability (`sctp_prinfo`, RFC 6458 section 5.3.7 and RFC 7496); `None`: that of the policy
    /// `partial_reliability`. Fully reliable if the peer does not support FORWARD-TSN.
    pub reliability: Option<PartialReliability>,
    /// Whether this is the whole message, or a piece of one (`SCTP_EXPLICIT_EOR`); see [`piece`](Self::piece).
    pub piece: Piece,
    /// Whether its last chunk asks the peer for a SACK without delay (`SCTP_SACK_IMMEDIATELY`).
    pub sack_immediately: bool,
    /// Content, up to `tail`; one of them must not be empty.
    pub payload: Bytes,
    /// The rest of the content, usually empty. Messages can have a header of their own in `payload` and share their
    /// `tail`: neither is copied before the packet is built.
    pub tail: Bytes,
}

impl Message {
    /// An ordered message with PPID 0 and no path preference.
    pub fn new(stream: u16, payload: impl Into<Bytes>) -> Self {
        Self {
            stream,
            ppid: 0,
            delivery: Delivery::Ordered,
            path: None,
            context: 0,
            reliability: None,
            piece: Piece::Whole,
            sack_immediately: false,
            payload: payload.into(),
            tail: Bytes::new(),
        }
    }

    /// Appends `tail` to the content, like the second buffer of `writev` and `sendmsg`. The receiver sees one message.
    ///
    /// ```
    /// use bytes::Bytes;
    /// use polypath::Message;
    ///
    /// let picture = Bytes::from(vec![7; 1000]);
    /// let first = Message::new(0, "for you: ").tail(picture.clone());
    /// let second = Message::new(0, "for me: ").tail(picture);
    /// assert_eq!((first.len(), second.len()), (1009, 1008));
    /// ```
    #[must_use]
    pub fn tail(mut self, tail: impl Into<Bytes>) -> Self {
        self.tail = tail.into();
        self
    }

    /// Makes it a piece of a message with an explicit end (`SCTP_EXPLICIT_EOR`, RFC 6458 section 8.1.26). Such a
    /// message can be larger than the send buffer, or begin before it is complete. The receiver sees one message.
    ///
    /// The properties of the message are those of its first piece; of later pieces, only stream, content
    /// and [`sack_immediately`](Self::sack_immediately) count.
    /// Until the last piece, no other message is sent, unless messages are
    /// [interleaved](crate::Association::interleaves_messages), and none is accepted on the stream. The message is
    /// fully reliable. A shutdown before its end aborts the association.
    ///
    /// ```
    /// # use polypath::{Association, Message, Piece, SendError};
    /// # async fn upload(association: &Association) -> Result<(), SendError> {
    /// association.send(Message::new(1, "begun, ").ppid(46).piece(Piece::First)).await?;
    /// association.send(Message::new(1, "continued, ").piece(Piece::Middle)).await?;
    /// association.send(Message::new(1, "ended").piece(Piece::Last)).await
    /// # }
    /// ```
    #[must_use]
    pub fn piece(mut self, piece: Piece) -> Self {
        self.piece = piece;
        self
    }

    /// Length of the content in bytes.
    pub fn len(&self) -> usize {
        self.payload.len() + self.tail.len()
    }

    /// Whether there is no content; such a message is rejected.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Sets the payload protocol identifier.
    #[must_use]
    pub fn ppid(mut self, ppid: u32) -> Self {
        self.ppid = ppid;
        self
    }

    /// Makes the message unordered.
    #[must_use]
    pub fn unordered(mut self) -> Self {
        self.delivery = Delivery::Unordered;
        self
    }

    /// Asks the peer for a SACK as soon as the message has arrived (RFC 7053), instead of after its delay: for a sender that waits
    /// until the message is acknowledged.
    #[must_use]
    pub fn sack_immediately(mut self) -> Self {
        self.sack_immediately = true;
        self
    }

    /// Prefers a path.
    #[must_use]
    pub fn on_path(mut self, path: PathId) -> Self {
        self.path = Some(path);
        self
    }

    /// Abandons the message after this time (`SCTP_PR_SCTP_TTL`).
    #[must_use]
    pub fn lifetime(self, lifetime: std::time::Duration) -> Self {
        let nanoseconds = u64::try_from(lifetime.as_nanos()).unwrap_or(u64::MAX);
        let lifetime = polypath_proto::Duration::from_nanos(nanoseconds);
        self.reliability(PartialReliability::Timed(lifetime))
    }

    /// Abandons the message instead of retransmitting a part of it more often (`SCTP_PR_SCTP_RTX`).
    #[must_use]
    pub fn max_retransmissions(self, limit: u16) -> Self {
        self.reliability(PartialReliability::LimitedRetransmissions(limit))
    }

    /// Abandons the message when one with a lower number, or a reliable one, needs its space in the send buffer
    /// (`SCTP_PR_SCTP_PRIO`).
    #[must_use]
    pub fn priority(self, priority: u32) -> Self {
        self.reliability(PartialReliability::Priority(priority))
    }

    /// Sets the reliability, whatever the policy says.
    #[must_use]
    pub fn reliability(mut self, reliability: PartialReliability) -> Self {
        self.reliability = Some(reliability);
        self
    }

    /// Sets the context.
    #[must_use]
    pub fn context(mut self, context: u32) -> Self {
        self.context = context;
        self
    }
}

impl From<Message> for OutgoingMessage {
    fn from(message: Message) -> Self {
        let payload = content(message.payload, message.tail);
        let mut outgoing = Self::from_payload(message.stream, payload);
        outgoing.ppid = message.ppid;
        outgoing.delivery = message.delivery;
        outgoing.path = message.path;
        outgoing.context = message.context;
        outgoing.piece = message.piece;
        outgoing.sack_immediately = message.sack_immediately;
        outgoing.reliability = message.reliability;
        outgoing
    }
}

fn content(first: Bytes, tail: Bytes) -> Payload<'static> {
    match (first.is_empty(), tail.is_empty()) {
        (_, true) => Payload::Shared(first),
        (true, false) => Payload::Shared(tail),
        (false, false) => Payload::Joined(JoinedPayload::new(first, tail)),
    }
}

/// A received message, or a [piece](Self::piece) of one that is too large to be delivered whole, with the receive
/// information of RFC 6458 section 5.3.5.
#[derive(Clone, Debug)]
pub struct ReceivedMessage(polypath_proto::ReceivedMessage);

impl ReceivedMessage {
    /// Stream identifier (`rcv_sid`).
    pub fn stream(&self) -> u16 {
        self.0.stream
    }

    /// Payload protocol identifier in host byte order (`rcv_ppid`).
    pub fn ppid(&self) -> u32 {
        self.0.ppid
    }

    /// Ordered or unordered.
    pub fn delivery(&self) -> Delivery {
        self.0.delivery
    }

    /// Stream sequence number of an ordered message (`rcv_ssn`).
    pub fn ssn(&self) -> u16 {
        self.0.ssn
    }

    /// TSN of its first fragment; of a piece, that of the piece (`rcv_tsn`).
    pub fn tsn(&self) -> u32 {
        self.0.tsn.0
    }

    /// The part of its message. Messages are delivered whole, unless they are larger than the receive buffer or, if one
    /// is set, the [partial delivery point](crate::AssociationConfig::partial_delivery_point): their pieces are
    /// delivered in order, and the last one [ends](Piece::ends) the record (`MSG_EOR`). No other piece of the same
    /// stream and order of delivery comes in between, and without message interleaving nothing else. If a
    /// [first](Piece::First) piece follows a message without an end, the rest of that message will not arrive;
    /// [`Event::PartialDeliveryAborted`](crate::Event::PartialDeliveryAborted) precedes it.
    ///
    /// A program whose messages are smaller than its receive buffer can ignore it if it trusts its peer; others can
    /// always send larger ones.
    pub fn piece(&self) -> Piece {
        self.0.piece
    }

    /// Length in bytes.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is no content; never true for a received message.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The content in the parts in which it arrived, without copying.
    pub fn fragments(&self) -> impl Iterator<Item = &[u8]> {
        self.0.fragments.iter().flat_map(Payload::slices).filter(|slice| !slice.is_empty())
    }

    /// The content in the parts in which it arrived; a part is copied only if it has no buffer of its own.
    pub(crate) fn into_pieces(self) -> impl Iterator<Item = Bytes> {
        self.0.fragments.into_iter().flat_map(|fragment| match fragment {
            Payload::Shared(bytes) => SmallVec::from_buf([bytes]),
            other => {
                let slices = other.slices().into_iter().filter(|slice| !slice.is_empty());
                slices.map(Bytes::copy_from_slice).collect::<SmallVec<[Bytes; 1]>>()
            }
        })
    }

    /// The whole content; copied if it arrived in several parts.
    pub fn into_bytes(self) -> Bytes {
        if let [Payload::Shared(bytes)] = self.0.fragments.as_slice() {
            return bytes.clone();
        }
        let mut whole = BytesMut::with_capacity(self.len());
        for fragment in self.fragments() {
            whole.extend_from_slice(fragment);
        }
        whole.freeze()
    }
}

impl From<polypath_proto::ReceivedMessage> for ReceivedMessage {
    fn from(message: polypath_proto::ReceivedMessage) -> Self {
        Self(message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn received(parts: &[&'static str]) -> ReceivedMessage {
        ReceivedMessage(polypath_proto::ReceivedMessage {
            stream: 1,
            ppid: 2,
            delivery: Delivery::Ordered,
            ssn: 3,
            tsn: polypath_proto::Tsn(4),
            piece: Piece::Whole,
            fragments: parts
                .iter()
                .map(|p| Payload::Shared(Bytes::from_static(p.as_bytes())))
                .collect(),
        })
    }

    #[test]
    fn fragments_are_joined_in_order() {
        let message = received(&["multi", "", "path"]);
        assert_eq!(message.len(), 9);
        assert_eq!(message.into_bytes(), "multipath");
    }

    #[test]
    fn both_parts_of_a_message_are_its_content() {
        for (first, tail, expected) in
            [("head", "tail", "headtail"), ("", "tail", "tail"), ("head", "", "head"), ("", "", "")]
        {
            let message = Message::new(0, first).tail(tail);
            assert_eq!((message.len(), message.is_empty()), (expected.len(), expected.is_empty()));
            let outgoing = OutgoingMessage::from(message);
            assert_eq!(outgoing.payload, Payload::Borrowed(expected.as_bytes()));
        }
    }

    #[test]
    fn parts_of_a_message_are_not_copied() {
        let [first, tail] = ["head", "tail"].map(|part| Bytes::from(part.as_bytes().to_vec()));
        let places = [first.as_ptr(), tail.as_ptr()];
        let outgoing = OutgoingMessage::from(Message::new(0, first).tail(tail));
        assert_eq!(outgoing.payload.slices().map(<[u8]>::as_ptr), places);
    }

    #[test]
    fn a_single_fragment_is_not_copied() {
        let message = received(&["whole"]);
        let start = message.fragments().next().map(<[u8]>::as_ptr);
        assert_eq!(Some(message.into_bytes().as_ptr()), start);
    }
}
