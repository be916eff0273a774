//! Errors of the commands.

use thiserror::Error;

/// Why a message was not accepted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum SendError {
    /// The send buffer is full; wait for [`Event::Writable`](crate::Event::Writable).
    #[error("the send buffer is full")]
    WouldBlock,
    /// A message larger than the whole send buffer can never be sent.
    #[error("the message of {size} bytes is larger than the send buffer of {limit} bytes")]
    MessageTooLarge {
        /// Size of the message.
        size: usize,
        /// Size of the send buffer.
        limit: usize,
    },
    /// A message that does not fit one chunk, where the configuration has
    /// [`LongMessages::Refuse`](crate::config::LongMessages::Refuse).
    #[error(
        "the message of {size} bytes does not fit a chunk of {limit} bytes, and is not to be fragmented"
    )]
    NeedsFragments {
        /// Size of the message.
        size: usize,
        /// Bytes that fit.
        limit: usize,
    },
    /// The stream is not among those agreed with the peer.
    #[error("stream {stream} does not exist: the association has {count} outbound streams")]
    InvalidStream {
        /// The requested stream.
        stream: u16,
        /// Streams agreed.
        count: u16,
    },
    /// A message begins on a stream where another one that was handed over in pieces has not ended.
    #[error("the message before on stream {stream} has not ended")]
    MessageNotEnded {
        /// The stream.
        stream: u16,
    },
    /// A piece continues a message that was not begun.
    #[error("no message has begun on stream {stream} that the piece could continue")]
    NoMessageBegun {
        /// The stream.
        stream: u16,
    },
    /// SCTP cannot carry a message without content.
    #[error("a message must have at least one byte")]
    Empty,
    /// The named path does not exist.
    #[error("the association has no such path")]
    NoSuchPath,
    /// The association is shutting down or has ended.
    #[error("the association is shutting down or has ended")]
    Closed,
}

/// Why streams cannot be reset or added (RFC 6525).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum ReconfigurationError {
    /// One of both sides does not have it (policy `stream_reconfiguration`).
    #[error("one of both sides does not have stream reconfiguration")]
    Unsupported,
    /// The association is not established, is shutting down or has ended.
    #[error("the association is not established, or is shutting down")]
    NotEstablished,
    /// The stream does not exist.
    #[error("stream {stream} does not exist: there are {count} streams")]
    InvalidStream {
        /// Stream named.
        stream: u16,
        /// Streams in that direction.
        count: u16,
    },
    /// There would be more than 65535 streams, or none would be added.
    #[error("{added} streams cannot be added to {count}: at least one, and at most 65535 in all")]
    InvalidCount {
        /// Streams to add.
        added: u16,
        /// Streams in that direction.
        count: u16,
    },
    /// The last reset of all TSNs and streams was requested less than 30 s ago (RFC 6525 section 5.1.4).
    #[error("the last reset of the association is less than 30 s ago")]
    TooSoon,
    /// Too many requests wait for the peer.
    #[error("too many requests wait for the peer's answer")]
    Busy,
}

/// Why a stream cannot be read apart from the others.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum ClaimError {
    /// The association is not established.
    #[error("the association is not established")]
    NotEstablished,
    /// The stream does not exist.
    #[error("stream {stream} does not exist: there are {count} streams")]
    InvalidStream {
        /// Stream named.
        stream: u16,
        /// Streams of the direction that has more of them.
        count: u16,
    },
    /// Another claim has it.
    #[error("stream {stream} is read by another part of the program")]
    InUse {
        /// Stream named.
        stream: u16,
    },
}

/// Why the peer cannot be requested to change addresses (RFC 5061).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum AddressChangeError {
    /// One of both sides does not have it (policy `address_reconfiguration`), they have no authentication, or the peer has refused
    /// such a request before because it does not know it.
    #[error("one of both sides does not have address reconfiguration")]
    Unsupported,
    /// The association is not established, is shutting down or has ended.
    #[error("the association is not established, or is shutting down")]
    NotEstablished,
    /// It is not an address of this side that the peer knows.
    #[error("this is not a local address of the association that the peer knows")]
    UnknownAddress,
    /// Too many requests wait for the peer.
    #[error("too many requests wait for the peer's answer")]
    Busy,
}

/// Why a change of the shared keys was refused (RFC 4895).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum KeyError {
    /// No key has this identifier.
    #[error("there is no shared key {id}: set it first")]
    Unknown {
        /// The identifier.
        id: u16,
    },
    /// The key authenticates what is sent: activate another one first.
    #[error("shared key {id} is the active one: activate another first")]
    Active {
        /// The identifier.
        id: u16,
    },
    /// The key was deactivated: set it again first.
    #[error("shared key {id} was deactivated: set it again first")]
    Deactivated {
        /// The identifier.
        id: u16,
    },
    /// The key is longer than 1024 bytes.
    #[error("a shared key of {bytes} bytes is too long: at most 1024")]
    TooLong {
        /// Its length.
        bytes: usize,
    },
    /// There are 32 keys already.
    #[error("there are 32 shared keys already: delete one first")]
    TooMany,
    /// Authentication is off for this association (`authenticated_chunks = "off"`).
    #[error("authentication is off for this association")]
    Off,
}

/// Why an association could not be begun.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// No local address can reach any of the peer's (none, or of the other address family).
    #[error("no local address can be paired with any address of the peer")]
    NoUsablePath,
    /// An association between these ports and addresses exists already.
    #[error("an association with this peer exists already")]
    AlreadyConnected,
    /// The endpoint holds as many associations as it may.
    #[error("the endpoint has reached its limit of associations")]
    TooManyAssociations,
    /// Ports must not be 0.
    #[error("port 0 is not a valid SCTP port")]
    InvalidPort,
}
