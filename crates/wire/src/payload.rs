//! User data of DATA and I-DATA chunks.

use bytes::Bytes;

/// User data: borrowed from a datagram, shared with the sending application, or virtual.
#[derive(Clone, Debug)]
pub enum Payload<'a> {
    /// Part of the datagram being parsed.
    Borrowed(&'a [u8]),
    /// Reference-counted bytes of the message.
    Shared(Bytes),
    /// Data that exists only as a description (simulations).
    Virtual(VirtualPayload),
}

/// `len` bytes starting at `offset` of the virtual message number `message`.
///
/// Encoded as a pattern of message and offset, so that a receiver can tell that each byte arrived once and intact.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct VirtualPayload {
    /// Number of the message, unique within its association and direction.
    pub message: u64,
    /// First byte, counted from the start of the message.
    pub offset: u32,
    /// Length in bytes.
    pub len: u32,
}

impl Payload<'_> {
    /// Length in bytes.
    pub fn len(&self) -> usize {
        match self {
            Self::Borrowed(bytes) => bytes.len(),
            Self::Shared(bytes) => bytes.len(),
            Self::Virtual(v) => v.len as usize,
        }
    }

    /// Whether there is no data.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// A copy that borrows nothing; shared and virtual data stay as they are.
    pub fn to_owned(&self) -> Payload<'static> {
        self.clone().into_owned()
    }

    /// Copies what is borrowed; shared and virtual data stay as they are.
    pub fn into_owned(self) -> Payload<'static> {
        match self {
            Self::Borrowed(bytes) => Payload::Shared(Bytes::copy_from_slice(bytes)),
            Self::Shared(bytes) => Payload::Shared(bytes),
            Self::Virtual(v) => Payload::Virtual(v),
        }
    }

    /// Writes the data to the start of `out`, as far as it fits.
    pub fn copy_to(&self, out: &mut [u8]) {
        let len = self.len().min(out.len());
        let out = &mut out[..len];
        match self {
            Self::Borrowed(bytes) => out.copy_from_slice(&bytes[..len]),
            Self::Shared(bytes) => out.copy_from_slice(&bytes[..len]),
            Self::Virtual(v) => v.fill(out),
        }
    }
}

impl Payload<'static> {
    /// The part `offset..offset + len`, clamped to what is there, without copying.
    #[must_use]
    pub fn slice(&self, offset: usize, len: usize) -> Self {
        let start = offset.min(self.len());
        let end = start.saturating_add(len).min(self.len());
        match self {
            Self::Borrowed(bytes) => Self::Borrowed(&bytes[start..end]),
            Self::Shared(bytes) => Self::Shared(bytes.slice(start..end)),
            Self::Virtual(v) => Self::Virtual(VirtualPayload {
                message: v.message,
                offset: v.offset.wrapping_add(start as u32),
                len: (end - start) as u32,
            }),
        }
    }
}

impl PartialEq for Payload<'_> {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Virtual(a), Self::Virtual(b)) => a == b,
            (Self::Virtual(_), _) | (_, Self::Virtual(_)) => false,
            (a, b) => a.real_bytes() == b.real_bytes(),
        }
    }
}

impl Eq for Payload<'_> {}

impl Payload<'_> {
    fn real_bytes(&self) -> Option<&[u8]> {
        match self {
            Self::Borrowed(bytes) => Some(bytes),
            Self::Shared(bytes) => Some(bytes),
            Self::Virtual(_) => None,
        }
    }
}
