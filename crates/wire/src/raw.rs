//! Variable-length content that is either borrowed from a datagram or owned.

use alloc::vec::Vec;

use bytes::Bytes;

/// Bytes borrowed from a received datagram, or shared with whoever built them.
#[derive(Clone, Debug)]
pub enum Raw<'a> {
    /// Part of the datagram being parsed.
    Borrowed(&'a [u8]),
    /// Reference-counted bytes.
    Shared(Bytes),
}

/// A sequence of parameters (type, length, value; RFC 9260 section 3.2.1), validated when it was parsed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameters<'a>(pub(crate) Raw<'a>);

/// A sequence of error causes (RFC 9260 section 3.3.10), validated when it was parsed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Causes<'a>(pub(crate) Raw<'a>);

impl Raw<'_> {
    /// The bytes.
    pub fn as_slice(&self) -> &[u8] {
        match self {
            Self::Borrowed(bytes) => bytes,
            Self::Shared(bytes) => bytes,
        }
    }

    /// Length in bytes.
    pub fn len(&self) -> usize {
        self.as_slice().len()
    }

    /// Whether there is nothing.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Copies what is borrowed.
    pub fn into_owned(self) -> Raw<'static> {
        match self {
            Self::Borrowed(bytes) => Raw::Shared(Bytes::copy_from_slice(bytes)),
            Self::Shared(bytes) => Raw::Shared(bytes),
        }
    }
}

impl Default for Raw<'_> {
    fn default() -> Self {
        Self::Borrowed(&[])
    }
}

impl<'a> From<&'a [u8]> for Raw<'a> {
    fn from(bytes: &'a [u8]) -> Self {
        Self::Borrowed(bytes)
    }
}

impl From<Bytes> for Raw<'_> {
    fn from(bytes: Bytes) -> Self {
        Self::Shared(bytes)
    }
}

impl From<Vec<u8>> for Raw<'_> {
    fn from(bytes: Vec<u8>) -> Self {
        Self::Shared(bytes.into())
    }
}

impl PartialEq for Raw<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.as_slice() == other.as_slice()
    }
}

impl Eq for Raw<'_> {}
