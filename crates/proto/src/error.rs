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
    /// The stream is not among those agreed with the peer.
    #[error("stream {stream} does not exist: the association has {count} outbound streams")]
    InvalidStream {
        /// Stream asked for.
        stream: u16,
        /// Streams agreed.
        count: u16,
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
