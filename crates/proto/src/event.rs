//! Notifications of an association to its user (RFC 6458 section 6.1).

use alloc::vec::Vec;
use core::net::IpAddr;

use crate::{PathId, StreamClaim};

/// A notification.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Event {
    /// The association is established (SCTP_COMM_UP).
    Established {
        /// Streams on which this side may send.
        outbound_streams: u16,
        /// Streams on which the peer may send.
        inbound_streams: u16,
    },
    /// The peer restarted (SCTP_RESTART): unacknowledged messages are lost, streams restart at SSN 0, and the peer must
    /// be authenticated again (RFC 5062 section 4).
    Restarted {
        /// Streams on which this side may send from now on.
        outbound_streams: u16,
        /// Streams on which the peer may send from now on.
        inbound_streams: u16,
        /// Number of unread messages from before the restart, which are received first. Those of claimed streams do not
        /// count ([`claimed_before_restart`](crate::Association::claimed_before_restart)).
        unread_messages: usize,
    },
    /// Messages can be received; raised again only after [`receive`](crate::Association::receive) gave `None`.
    Readable,
    /// A [claimed](crate::Association::claim_stream) stream can be read, or has ended; raised again only after
    /// [`receive_claimed`](crate::Association::receive_claimed) has returned `None`.
    StreamReadable {
        /// The stream.
        stream: u16,
        /// Its claim.
        claim: StreamClaim,
    },
    /// The send buffer has space again after [`SendError::WouldBlock`](crate::SendError::WouldBlock).
    Writable,
    /// Every message handed over so far was acknowledged (SCTP_SENDER_DRY_EVENT).
    SenderDry,
    /// A path changed (SCTP_PEER_ADDR_CHANGE).
    Path {
        /// The path.
        path: PathId,
        /// What happened.
        change: PathChange,
    },
    /// A message was not delivered (SCTP_SEND_FAILED_EVENT).
    SendFailed {
        /// Stream of the message.
        stream: u16,
        /// Context given when it was sent.
        context: u32,
        /// Whether any part of it was ever transmitted.
        transmitted: bool,
    },
    /// A message that was not sent as fully reliable was abandoned (SCTP_SEND_FAILED_EVENT; RFC 3758, RFC 7496). The peer may
    /// have got it nevertheless if it was transmitted.
    Abandoned {
        /// Stream of the message.
        stream: u16,
        /// Context given when it was sent.
        context: u32,
        /// Whether any part of it was ever transmitted.
        transmitted: bool,
    },
    /// The beginning of a message was delivered, and the rest will not arrive (SCTP_PARTIAL_DELIVERY_EVENT with
    /// SCTP_PARTIAL_DELIVERY_ABORTED): the peer has abandoned it, has reset the stream, has restarted, or the
    /// association has ended. Later data of the stream belongs to another message.
    PartialDeliveryAborted {
        /// Stream of the message.
        stream: u16,
        /// Stream sequence number; `None` of an unordered message.
        ssn: Option<u16>,
    },
    /// Streams of this side were reset to SSN 0 (SCTP_STREAM_RESET_EVENT), with the peer's consent.
    OutgoingStreamsReset {
        /// The streams; all of them if none is listed.
        streams: Vec<u16>,
    },
    /// Streams of the peer were reset to SSN 0 (SCTP_STREAM_RESET_EVENT).
    IncomingStreamsReset {
        /// The streams; all of them if none is listed.
        streams: Vec<u16>,
    },
    /// TSNs and all streams of both sides were reset (SCTP_ASSOC_RESET_EVENT), at the request of one of them.
    AssociationReset {
        /// TSN of this side's next chunk.
        local_tsn: u32,
        /// TSN of the peer's next chunk.
        remote_tsn: u32,
    },
    /// There are more streams (SCTP_STREAM_CHANGE_EVENT).
    StreamsAdded {
        /// Streams on which this side may send now.
        outbound_streams: u16,
        /// Streams on which the peer may send now.
        inbound_streams: u16,
    },
    /// The peer refused a request (SCTP_STREAM_RESET_DENIED, SCTP_STREAM_CHANGE_DENIED): nothing has changed.
    ReconfigurationRefused {
        /// The result in its response (RFC 6525 section 4.4).
        result: u32,
    },
    /// The peer has changed its addresses (RFC 5061; SCTP_PEER_ADDR_CHANGE with SCTP_ADDR_ADDED, SCTP_ADDR_REMOVED or
    /// SCTP_ADDR_MADE_PRIM). [`Path`](Self::Path) events report the resulting states of paths.
    PeerAddress {
        /// Address of the peer.
        address: IpAddr,
        /// What happened.
        change: AddressChange,
    },
    /// The peer has taken note of a change of this side's addresses (RFC 5061).
    LocalAddress {
        /// Address of this side.
        address: IpAddr,
        /// What happened.
        change: AddressChange,
    },
    /// The peer did not take note of a change of this side's addresses. An address that it refuses to add is not used.
    AddressChangeRefused {
        /// Address of this side.
        address: IpAddr,
        /// The requested change.
        change: AddressChange,
        /// Code of the error cause, if the peer gave one (RFC 5061 section 4.3, RFC 9260 section 3.3.10).
        cause: Option<u16>,
    },
    /// The adaptation code point of the peer's program (SCTP_ADAPTATION_INDICATION, RFC 5061 section 4.2.6).
    AdaptationIndication(u32),
    /// Authentication of packets has changed (SCTP_AUTHENTICATION_EVENT, RFC 4895), where this side offers it.
    Authentication(AuthenticationChange),
    /// The peer reported an error (SCTP_REMOTE_ERROR): encoded error causes.
    RemoteError(Vec<u8>),
    /// The peer has shut down (SCTP_SHUTDOWN_EVENT): nothing more can be sent.
    PeerShutdown,
    /// The association ended; the last event.
    Ended(AssociationEnd),
}

/// What happened to a path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum PathChange {
    /// The pair of addresses is known, but unconfirmed (RFC 9260 section 5.4).
    Added,
    /// A heartbeat was answered: data may use it (SCTP_ADDR_CONFIRMED).
    Confirmed,
    /// It works again (SCTP_ADDR_AVAILABLE).
    Available,
    /// It failed (SCTP_ADDR_UNREACHABLE).
    Unreachable,
    /// Timeouts make it doubtful (SCTP_ADDR_POTENTIALLY_FAILED; RFC 7829 section 7.1). It is probed, and
    /// [`Available`](Self::Available) or [`Unreachable`](Self::Unreachable) follows.
    PotentiallyFailed,
    /// Its MTU has changed to [`PathStats::mtu_bytes`](crate::PathStats::mtu_bytes).
    MtuChanged,
    /// It took over from a primary path with too many timeouts (SCTP_ADDR_MADE_PRIM; RFC 7829 section 5).
    MadePrimary,
}

/// What happened to an address (RFC 5061).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum AddressChange {
    /// It belongs to the association, too.
    Added,
    /// It does so no longer.
    Removed,
    /// It is the one that is to be preferred.
    MadePrimary,
}

/// What has changed of the authentication of packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum AuthenticationChange {
    /// The peer has authenticated a packet with this key for the first time (SCTP_AUTH_NEW_KEY).
    PeerUsesKey(u16),
    /// This side no longer authenticates packets with this key (SCTP_AUTH_FREE_KEY): another one is active. Packets of
    /// the peer may still use it.
    KeyUnused(u16),
    /// The peer does not have authentication (SCTP_AUTH_NO_AUTH).
    Unsupported,
}

/// How an association ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum AssociationEnd {
    /// Gracefully, all data acknowledged (SCTP_SHUTDOWN_COMP).
    ShutdownComplete,
    /// This side aborted it.
    Aborted,
    /// The peer aborted it: encoded error causes.
    AbortedByPeer(Vec<u8>),
    /// The peer did not answer the handshake (SCTP_CANT_STR_ASSOC).
    CannotConnect,
    /// The peer's answer to the handshake cannot be accepted: encoded error causes.
    HandshakeRefused(Vec<u8>),
    /// The peer did not let it end gracefully within the time for that (T5-shutdown-guard), and it was aborted.
    ShutdownTimeout,
    /// The peer became unreachable: too many retransmissions (SCTP_COMM_LOST).
    Unreachable,
    /// A chunk is too large for every path: it timed out again and again, while smaller packets were answered.
    ChunkTooLarge {
        /// Its user data, in bytes.
        user_bytes: u32,
    },
    /// The peer broke the protocol: encoded error causes that were sent to it.
    ProtocolViolation(Vec<u8>),
    /// The peer's host reports that it does not accept SCTP (RFC 9260 section 10, ICMP8).
    ProtocolUnreachable,
}
