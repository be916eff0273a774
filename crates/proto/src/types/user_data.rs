//! The chunk type of user data.

use crate::config::BytesCounted;

/// The chunk that carries user data in an association (RFC 8260 section 2.2.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum UserDataChunk {
    /// DATA: fragments of a message have consecutive TSNs.
    #[default]
    Data,
    /// I-DATA: fragments of messages of different streams may alternate.
    IData,
}

impl UserDataChunk {
    /// Size of a chunk with `user_bytes` bytes of user data, expressed as user data of a DATA chunk of equal size.
    #[inline]
    pub(crate) const fn as_data(self, user_bytes: u32) -> u32 {
        user_bytes + self.header_bytes() - Self::Data.header_bytes()
    }

    /// Header size of the chunk in bytes, if headers count.
    pub(crate) const fn counted_header(self, counted: BytesCounted) -> u32 {
        match counted {
            BytesCounted::WithHeader => self.header_bytes(),
            BytesCounted::Payload => 0,
        }
    }

    /// Header size of the chunk in bytes.
    #[inline]
    pub(crate) const fn header_bytes(self) -> u32 {
        match self {
            Self::Data => 16,
            Self::IData => 20,
        }
    }
}
