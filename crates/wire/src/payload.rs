//! User data of DATA and I-DATA chunks.

use bytes::Bytes;

use crate::JoinedPayload;

/// User data: borrowed from a datagram, shared with the sending application in one part or two, or virtual.
#[derive(Clone, Debug)]
pub enum Payload<'a> {
    /// Part of the datagram being parsed.
    Borrowed(&'a [u8]),
    /// Reference-counted bytes of the message.
    Shared(Bytes),
    /// Reference-counted bytes of a message that has two parts.
    Joined(JoinedPayload),
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
    #[inline]
    pub fn len(&self) -> usize {
        // Two comparisons, where an arm for each kind would be a jump through a table; every chunk is asked several times.
        match self {
            Self::Virtual(v) => v.len as usize,
            Self::Shared(bytes) => bytes.len(),
            other => other.len_in_slices(),
        }
    }

    #[inline(never)]
    fn len_in_slices(&self) -> usize {
        self.slices().iter().map(|part| part.len()).sum()
    }

    /// Whether there is no data.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// A copy that borrows nothing; shared and virtual data stay as they are.
    #[inline]
    pub fn to_owned(&self) -> Payload<'static> {
        match self {
            Self::Borrowed(bytes) => Payload::Shared(Bytes::copy_from_slice(bytes)),
            Self::Shared(bytes) => Payload::Shared(bytes.clone()),
            Self::Joined(parts) => Payload::Joined(parts.clone()),
            Self::Virtual(v) => Payload::Virtual(*v),
        }
    }

    /// Copies what is borrowed; shared and virtual data stay as they are.
    pub fn into_owned(self) -> Payload<'static> {
        match self {
            Self::Borrowed(bytes) => Payload::Shared(Bytes::copy_from_slice(bytes)),
            Self::Shared(bytes) => Payload::Shared(bytes),
            Self::Joined(parts) => Payload::Joined(parts),
            Self::Virtual(v) => Payload::Virtual(v),
        }
    }

    /// Keeps what is borrowed from `whole` by sharing its memory; other data stay as they are.
    #[must_use]
    pub fn shared_with(self, whole: &Bytes) -> Self {
        match self {
            Self::Borrowed(bytes) => {
                let start = (bytes.as_ptr() as usize).checked_sub(whole.as_ptr() as usize);
                let range = start.and_then(|start| Some(start..start.checked_add(bytes.len())?));
                match range.filter(|range| range.end <= whole.len()) {
                    Some(range) => Self::Shared(whole.slice(range)),
                    None => Self::Borrowed(bytes),
                }
            }
            other => other,
        }
    }

    /// The bytes in their order, as they lie in memory: all but [`Joined`](Self::Joined) data have only the first slice, and
    /// virtual data neither.
    #[inline]
    pub fn slices(&self) -> [&[u8]; 2] {
        match self {
            Self::Borrowed(bytes) => [bytes, &[]],
            Self::Shared(bytes) => [bytes, &[]],
            Self::Joined(parts) => parts.slices(),
            Self::Virtual(_) => [&[], &[]],
        }
    }

    /// Writes the data to the start of `out`, as far as it fits.
    #[inline]
    pub fn copy_to(&self, out: &mut [u8]) {
        let len = self.len().min(out.len());
        let out = &mut out[..len];
        match self {
            Self::Borrowed(bytes) => out.copy_from_slice(&bytes[..len]),
            Self::Shared(bytes) => out.copy_from_slice(&bytes[..len]),
            Self::Joined(parts) => parts.copy_to(out),
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
            Self::Joined(parts) => Self::Joined(parts.slice(start, end)),
            Self::Virtual(v) => Self::Virtual(VirtualPayload {
                message: v.message,
                offset: v.offset.wrapping_add(start as u32),
                len: (end - start) as u32,
            }),
        }
    }
}

impl Default for Payload<'_> {
    /// No data.
    fn default() -> Self {
        Self::Borrowed(&[])
    }
}

impl PartialEq for Payload<'_> {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Virtual(a), Self::Virtual(b)) => a == b,
            (Self::Virtual(_), _) | (_, Self::Virtual(_)) => false,
            (Self::Joined(_), _) | (_, Self::Joined(_)) => {
                self.slices().into_iter().flatten().eq(other.slices().into_iter().flatten())
            }
            (a, b) => a.slices() == b.slices(),
        }
    }
}

impl Eq for Payload<'_> {}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    #[test]
    fn parts_of_memory_are_shared_with_it() {
        let memory = Bytes::from((0..100).collect::<Vec<u8>>());
        let other: Vec<u8> = (0..100).collect();
        for (start, end) in [(0, 0), (0, 100), (7, 9), (99, 100), (100, 100)] {
            let part = Payload::Borrowed(&memory[start..end]).shared_with(&memory);
            let Payload::Shared(bytes) = part else { panic!("{start}..{end} is part of it") };
            assert_eq!(bytes, memory.slice(start..end));
            assert!(end == start || bytes.as_ptr() == memory[start..].as_ptr());
        }
        let apart = Payload::Borrowed(&other[3..5]).shared_with(&memory);
        assert!(matches!(apart, Payload::Borrowed([3, 4])));
        // Longer than the memory, or across its end.
        let part = memory.slice(10..20);
        for (start, end) in [(0, 100), (9, 12), (15, 21), (20, 21)] {
            let beyond = Payload::Borrowed(&memory[start..end]).shared_with(&part);
            assert!(matches!(beyond, Payload::Borrowed(_)), "{start}..{end}");
        }
        let own = Payload::Shared(Bytes::from_static(b"own")).shared_with(&memory);
        assert!(matches!(own, Payload::Shared(bytes) if bytes == "own"));
    }

    #[test]
    fn a_part_of_virtual_data_says_which() {
        let whole = Payload::Virtual(VirtualPayload { message: 7, offset: 100, len: 60 });
        for (start, len, expected) in
            [(0, 60, 60), (10, 20, 20), (50, 20, 10), (60, 1, 0), (99, 1, 0), (1, usize::MAX, 59)]
        {
            let offset = 100 + start.min(60) as u32;
            let part = VirtualPayload { message: 7, offset, len: expected };
            assert_eq!(whole.slice(start, len), Payload::Virtual(part));
        }
    }
}
