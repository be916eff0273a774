//! Errors of both sides.
//!
//! An error says what happened in one sentence; what caused it is its [source](std::error::Error::source).

use std::io;
use std::num::TryFromIntError;
use std::time::Duration;

use polypath::AssociationError;
use thiserror::Error;
use tokio::task::JoinError;

use crate::destination::FileError;
use crate::frame::FrameError;
use crate::limits::Stalled;

/// Why sending ended early. The association is aborted.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SendError {
    /// An offer counts those that follow it in 32 bits.
    #[error("too many files")]
    TooManyFiles(#[source] TryFromIntError),
    /// The receiver could not store a file; the text is its reason.
    #[error("the receiver failed: {0}")]
    ReceiverFailed(String),
    /// The receiver sent a frame that has no place there.
    #[error("the receiver sent {found} {place}")]
    OutOfTurn {
        /// What it sent.
        found: &'static str,
        /// Instead of what, or when.
        place: &'static str,
    },
    /// The receiver sent something that is no frame of the protocol.
    #[error("the receiver broke the transfer protocol")]
    Protocol(#[source] FrameError),
    /// The receiver shut the association down before it had all files.
    #[error("the receiver ended the association")]
    ReceiverLeft,
    /// The receiver made no progress for too long.
    #[error(transparent)]
    Stalled(#[from] Stalled),
    /// A file could not be read to its end.
    #[error("cannot read {name}: it had {bytes} bytes at the beginning")]
    Read {
        /// Name of the file.
        name: String,
        /// Its size when it was opened.
        bytes: u64,
        /// What the system says.
        source: io::Error,
    },
    /// A file that was offered has gone or changed before its content was sent.
    #[error("cannot send {name}, which has changed since it was offered: {error}")]
    Changed {
        /// Name of the file.
        name: String,
        /// What is wrong with it.
        error: String,
    },
    /// The association failed.
    #[error(transparent)]
    Association(#[from] AssociationError),
    /// The association did not take a message.
    #[error(transparent)]
    Transport(#[from] polypath::SendError),
    /// A thread that reads files failed.
    #[error(transparent)]
    Thread(#[from] JoinError),
    /// The transfer ended while a file was read.
    #[error("the transfer ended")]
    Ended,
    /// The receiver named a byte to go on from at which nothing was compared.
    #[error("the receiver wants to resume at byte {0}, which was not agreed on")]
    WrongOffset(u64),
    /// The system gives no thread to read a file.
    #[error("cannot start a thread that reads")]
    NoThread(#[source] std::io::Error),
    /// The association ended while standard input was sent, which cannot be read again.
    #[error("{0}; standard input cannot be sent again")]
    InputLost(String),
    /// No association came about again in the time that was allowed for it.
    #[error("{error}; could not reconnect within {} s: {last}", .patience.as_secs())]
    NotBack {
        /// Why the association ended.
        error: String,
        /// Why there is no other one.
        last: String,
        /// How long it was tried.
        patience: Duration,
    },
}

impl SendError {
    /// Whether another association to the same receiver may help: nothing is wrong with the files or with what either side says.
    pub fn is_outage(&self) -> bool {
        match self {
            Self::Stalled(_) | Self::ReceiverLeft => true,
            Self::Association(error) | Self::Transport(polypath::SendError::Ended(error)) => {
                is_outage(error)
            }
            _ => false,
        }
    }
}

fn is_outage(error: &AssociationError) -> bool {
    use AssociationError::{
        AbortedByPeer, CannotConnect, PeerRestarted, ProtocolUnreachable, ShutdownTimeout,
        Unreachable,
    };

    matches!(
        error,
        AbortedByPeer(_)
            | CannotConnect
            | PeerRestarted
            | ProtocolUnreachable
            | ShutdownTimeout
            | Unreachable
    )
}

/// Ends the reason of an abort after which the sender connects again.
pub(crate) const CONNECTING_AGAIN: &str = "; connecting again";

impl ReceiveError {
    /// Whether the association was lost, and its sender may connect again and go on: nothing is wrong with the files or with what either
    /// side says, and the sender has not given up.
    pub fn is_outage(&self) -> bool {
        match self {
            Self::Stalled(_) => true,
            Self::Association(error) | Self::Transport(polypath::SendError::Ended(error)) => {
                match error {
                    // A host that knows nothing of the association gives no reason.
                    AssociationError::AbortedByPeer(causes) => {
                        let marker = CONNECTING_AGAIN.as_bytes();
                        causes.is_empty() || causes.windows(marker.len()).any(|part| part == marker)
                    }
                    error => is_outage(error),
                }
            }
            _ => false,
        }
    }
}

/// Why receiving ended early. The association is aborted, and nothing incomplete is left.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ReceiveError {
    /// The sender shut the association down before it had offered all files.
    #[error("the peer left before it was done")]
    SenderLeft,
    /// The sender shut the association down within a file.
    #[error("the peer stopped in the middle of the file")]
    SenderStopped,
    /// The sender does not keep to the protocol.
    #[error("the peer broke the transfer protocol")]
    Protocol(#[source] Violation),
    /// The sender offered more files that are refused than its [`Quota`](crate::Quota) allows, which is given.
    #[error("more than {0} offers were refused; send what this receiver accepts")]
    Refused(u32),
    /// A file could not be received or stored, and the sender knows.
    #[error(transparent)]
    File(#[from] FileError),
    /// The sender, or one that has the same file, has connected again and goes on with it.
    #[error("another association has taken over the file")]
    TakenOver,
    /// The sender made no progress for too long, or too little.
    #[error(transparent)]
    Stalled(#[from] Stalled),
    /// The association failed.
    #[error(transparent)]
    Association(#[from] AssociationError),
    /// The association did not take a message.
    #[error(transparent)]
    Transport(#[from] polypath::SendError),
}

/// How a sender broke the protocol.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Violation {
    /// It sent a frame of this kind where an offer has its place.
    #[error("{0} without an offer")]
    NoOffer(&'static str),
    /// The number of offers that follow did not get smaller.
    #[error("{0} files to follow, which is no fewer than before")]
    EndlessOffers(u32),
    /// It sent so many bytes of content in one message.
    #[error("content of {0} bytes in one message")]
    LongMessage(usize),
    /// It sent a frame of this kind before the end of a file.
    #[error("{0} in the middle of a file")]
    WithinFile(&'static str),
    /// It sent content along with an offer of so many bytes.
    #[error("content of {0} bytes that was not waited for")]
    EagerSize(u64),
    /// It sent more digests than it was asked for.
    #[error("{0} digests, more than it was asked for")]
    Proofs(usize),
    /// It sent something that is no frame of the protocol.
    #[error(transparent)]
    Frame(#[from] FrameError),
}
