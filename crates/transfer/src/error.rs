//! Errors of both sides.
//!
//! An error says what happened in one sentence; what caused it is its [source](std::error::Error::source).

use std::fmt::Write as _;
use std::io;
use std::num::TryFromIntError;
use std::path::PathBuf;

use polypath::AssociationError;
use thiserror::Error;
use tokio::task::JoinError;

use crate::frame::VERSION;
use crate::name::NameError;
use crate::patience::Impatience;

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
    Impatience(#[from] Impatience),
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
}

/// Why a file cannot be sent.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SourceError {
    /// It cannot be opened, or looked at.
    #[error("cannot send {}", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// It is a directory, a pipe or the like.
    #[error("cannot send {}: it is not a regular file", .0.display())]
    NotRegular(PathBuf),
    /// Its path has no last part, as `/`.
    #[error("cannot send {}: its path has no name", .0.display())]
    NoName(PathBuf),
    /// No receiver would accept its name.
    #[error("cannot send {}", path.display())]
    Name {
        /// The file.
        path: PathBuf,
        /// What is wrong with its name.
        source: NameError,
    },
    /// Two files would have the same name at the receiver.
    #[error("{} and {} would both be named {name:?}", first.display(), second.display())]
    SameName {
        /// A file.
        first: PathBuf,
        /// Another one.
        second: PathBuf,
        /// The name of both.
        name: String,
    },
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
    /// A file could not be received or stored, and the sender knows.
    #[error(transparent)]
    File(#[from] FileError),
    /// The sender made no progress for too long, or too little.
    #[error(transparent)]
    Impatience(#[from] Impatience),
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
    /// It sent something that is no frame of the protocol.
    #[error(transparent)]
    Frame(#[from] FrameError),
}

/// Why a message is no frame of the protocol.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum FrameError {
    /// A digest of another length.
    #[error("a digest of {0} bytes instead of 32")]
    DigestLength(usize),
    /// Another payload protocol identifier.
    #[error("a message with the unknown payload protocol identifier {0:#010x}")]
    UnknownIdentifier(u32),
    /// Another version of the protocol.
    #[error("version {0} of the transfer protocol; this is version {VERSION}")]
    Version(u8),
    /// An offer that ends too early.
    #[error(transparent)]
    TooShort(#[from] bytes::TryGetError),
    /// A reply without its first byte, or with another one.
    #[error("a reply that is neither yes nor no")]
    Reply,
}

/// Why a file was not received.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum FileError {
    /// Its name is not acceptable.
    #[error(transparent)]
    Name(#[from] NameError),
    /// A directory has that name.
    #[error("{0:?} is a directory there")]
    IsDirectory(String),
    /// A file has that name and is to be kept.
    #[error("{0:?} exists there already")]
    Exists(String),
    /// The file system has too little room.
    #[error("{bytes} bytes do not fit: {free} bytes are free")]
    NoRoom {
        /// Size of the file.
        bytes: u64,
        /// Bytes that are free.
        free: u64,
    },
    /// The system gave no random number for the hidden name.
    #[error(transparent)]
    Random(#[from] getrandom::Error),
    /// The file under the hidden name could not be made.
    #[error("cannot create a file")]
    Create(#[source] io::Error),
    /// Its content could not be written.
    #[error("cannot write")]
    Write(#[source] io::Error),
    /// It could not get its final name.
    #[error("cannot rename the complete file")]
    Rename(#[source] io::Error),
    /// More content came than was offered.
    #[error("more than the {0} bytes that were offered")]
    TooLong(u64),
    /// Less content came than was offered.
    #[error("{received} bytes instead of the {offered} that were offered")]
    TooShort {
        /// Bytes that came.
        received: u64,
        /// Bytes that were offered.
        offered: u64,
    },
    /// The content is not what the sender read.
    #[error("SHA-256 differs: the content changed on the way or while it was read")]
    Digest,
    /// The transfer ended before the file was complete.
    #[error("the transfer ended")]
    Ended,
    /// The file was stored or given up before.
    #[error("the file was dealt with already")]
    Done,
    /// The thread that writes the file failed.
    #[error(transparent)]
    Thread(#[from] JoinError),
}

/// Why a directory cannot be an inbox. The texts begin with its name and tell what to do.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum InboxError {
    /// It is a file.
    #[error("{}: that is a file and not a directory; name a directory for the files", .0.display())]
    NotADirectory(PathBuf),
    /// The system does not tell what it is.
    #[error("{}", directory.display())]
    Unknown {
        /// The directory.
        directory: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The directory that it would be made in is missing.
    #[error("{}: there is no directory {}; make it first", directory.display(), parent.display())]
    NoParent {
        /// The directory.
        directory: PathBuf,
        /// What is missing.
        parent: PathBuf,
    },
    /// It is missing and cannot be made.
    #[error("{}: cannot make the directory", directory.display())]
    Make {
        /// The directory.
        directory: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// Nothing can be written into it.
    #[error(
        "{}: no file can be made there; name a directory that this user may write into",
        directory.display()
    )]
    Write {
        /// The directory.
        directory: PathBuf,
        /// Why not.
        source: FileError,
    },
    /// What was written to try it stays there.
    #[error("{}: a file there cannot be removed", directory.display())]
    Remove {
        /// The directory.
        directory: PathBuf,
        /// What the system says.
        source: io::Error,
    },
}

/// An error with its causes, as one line.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let _ = write!(text, ": {cause}");
        source = cause.source();
    }
    text
}
