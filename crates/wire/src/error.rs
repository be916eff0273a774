//! What can be wrong with packets and with requests to encode them.

use thiserror::Error;

/// A packet could not be encoded.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum EncodeError {
    /// The caller's buffer is too short.
    #[error("the packet needs {needed} bytes, the buffer has {available}: use Packet::encoded_len")]
    BufferTooSmall {
        /// Length of the packet.
        needed: usize,
        /// Length of the buffer.
        available: usize,
    },
    /// A chunk does not fit its 16-bit length field.
    #[error(
        "a chunk of type {chunk_type} has {len} bytes, more than the 65535 that a chunk can have"
    )]
    ChunkTooLong {
        /// Chunk type.
        chunk_type: u8,
        /// Its length without padding.
        len: usize,
    },
}

/// A datagram is no SCTP packet, or a damaged one.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum ParseError {
    /// Shorter than the common header.
    #[error("{len} bytes are too few for the SCTP common header of 12 bytes")]
    TooShort {
        /// Length of the datagram.
        len: usize,
    },
    /// The checksum is wrong.
    #[error("wrong checksum {found:#010x}, the CRC32c is {computed:#010x}")]
    WrongChecksum {
        /// Content of the checksum field.
        found: u32,
        /// The CRC32c of the packet.
        computed: u32,
    },
}

/// A chunk is malformed; nothing after it in its packet can be trusted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[error("malformed chunk of type {chunk_type} at byte {offset}: {reason}")]
pub struct ChunkError {
    /// Chunk type.
    pub chunk_type: u8,
    /// Where the chunk starts, in bytes from the start of what was parsed (the packet, or the chunk itself).
    pub offset: usize,
    /// What is wrong.
    pub reason: ChunkErrorReason,
}

/// What is wrong with a chunk.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum ChunkErrorReason {
    /// Fewer bytes left than a chunk header has.
    #[error("only {available} bytes where a chunk header of 4 bytes should be")]
    HeaderCutOff {
        /// Bytes left.
        available: usize,
    },
    /// The length field is below the least length of such a chunk.
    #[error("length {length} is below the {least} bytes that such a chunk has at least")]
    TooShort {
        /// The length field.
        length: u16,
        /// The least length, chunk header included.
        least: u16,
    },
    /// The length field points beyond the end of the packet.
    #[error("length {length} goes beyond the {available} bytes left in the packet")]
    BeyondPacket {
        /// The length field.
        length: u16,
        /// Bytes left, from the start of the chunk.
        available: usize,
    },
    /// The length field contradicts the counts inside the chunk, or the size of its elements.
    #[error("length {length} does not fit the content")]
    LengthMismatch {
        /// The length field.
        length: u16,
    },
    /// A parameter is malformed.
    #[error("malformed parameter: {0}")]
    Parameter(TlvError),
    /// An error cause is malformed.
    #[error("malformed error cause: {0}")]
    Cause(TlvError),
}

/// A parameter or an error cause is malformed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[error("type or code {code:#06x} at byte {offset} of the list: {reason}")]
pub struct TlvError {
    /// Parameter type or cause code (0 when not even that is there).
    pub code: u16,
    /// Where it starts, in bytes from the start of the list.
    pub offset: usize,
    /// What is wrong.
    pub reason: TlvErrorReason,
}

/// What is wrong with a parameter or an error cause.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum TlvErrorReason {
    /// Fewer than the 4 bytes of type and length.
    #[error("only {available} bytes where type and length should be")]
    HeaderCutOff {
        /// Bytes left.
        available: usize,
    },
    /// The length field is below 4.
    #[error("length {length} is below 4")]
    TooShort {
        /// The length field.
        length: u16,
    },
    /// The length field points beyond the end of the chunk.
    #[error("length {length} goes beyond the {available} bytes left in the chunk")]
    BeyondChunk {
        /// The length field.
        length: u16,
        /// Bytes left, from the start of this parameter or cause.
        available: usize,
    },
    /// The value cannot have this length, or holds something malformed.
    #[error("its value of {len} bytes does not have the form of its type")]
    BadValue {
        /// Length of the value.
        len: usize,
    },
}
