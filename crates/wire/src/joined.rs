//! User data in two parts that lie apart in memory.

use alloc::sync::Arc;

use bytes::Bytes;

/// A stretch of two parts, the second right behind the first, without a copy of either.
///
/// Meant for a short header that each message has of its own in front of data that many messages share: what is shared stays
/// in the processor's caches, and nothing is copied until a packet is built. Clones and slices share both parts.
#[derive(Clone, Debug)]
pub struct JoinedPayload {
    parts: Arc<[Bytes; 2]>,
    /// First byte, counted from the start of the first part.
    start: usize,
    len: usize,
}

impl JoinedPayload {
    /// Both parts.
    pub fn new(first: Bytes, second: Bytes) -> Self {
        // No slice is longer than half of what a `usize` can tell.
        let len = first.len() + second.len();
        Self { parts: Arc::new([first, second]), start: 0, len }
    }

    /// Length in bytes.
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is no data.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// What there is of the first part and of the second.
    pub fn slices(&self) -> [&[u8]; 2] {
        let [first, second] = &*self.parts;
        let (start, end) = (self.start, self.start + self.len);
        let of = |part: &Bytes, before: usize| {
            let [start, end] = [start, end].map(|at| at.saturating_sub(before).min(part.len()));
            start..end
        };
        [&first[of(first, 0)], &second[of(second, first.len())]]
    }

    /// The part `start..end`, which must lie within.
    pub(crate) fn slice(&self, start: usize, end: usize) -> Self {
        let parts = Arc::clone(&self.parts);
        Self { parts, start: self.start + start, len: end - start }
    }

    /// Writes the data to the start of `out`, as far as it fits.
    pub(crate) fn copy_to(&self, out: &mut [u8]) {
        let mut rest = out;
        for part in self.slices() {
            let len = part.len().min(rest.len());
            let (here, behind) = rest.split_at_mut(len);
            here.copy_from_slice(&part[..len]);
            rest = behind;
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;
    use alloc::vec::Vec;

    use super::*;
    use crate::Payload;

    fn joined(first: usize) -> JoinedPayload {
        let whole = Bytes::from((0..20).collect::<Vec<u8>>());
        JoinedPayload::new(whole.slice(..first), whole.slice(first..))
    }

    #[test]
    fn slices_and_copies_are_those_of_the_whole() {
        let whole: Vec<u8> = (0..20).collect();
        for first in [0, 1, 7, 19, 20] {
            let payload = Payload::Joined(joined(first));
            for (offset, len) in
                [(0, 20), (0, 7), (0, 8), (3, 10), (7, 13), (8, 5), (20, 0), (15, 99)]
            {
                let expected = &whole[offset..(offset + len).min(20)];
                let part = payload.slice(offset, len);
                assert_eq!(part.len(), expected.len());
                assert_eq!(part.slices().concat(), expected, "{first} {offset} {len}");
                let mut copy = vec![0; expected.len()];
                part.copy_to(&mut copy);
                assert_eq!(copy, expected);
                assert_eq!(part, Payload::Borrowed(expected));
                // A part of a part.
                let inner = expected.get(1..).unwrap_or_default();
                assert_eq!(part.slice(1, 4), Payload::Borrowed(&inner[..inner.len().min(4)]));
            }
        }
    }

    #[test]
    fn a_short_buffer_gets_the_beginning() {
        for room in 0..20 {
            let mut copy = vec![0; room];
            Payload::Joined(joined(7)).copy_to(&mut copy);
            assert_eq!(copy, (0..room as u8).collect::<Vec<u8>>());
        }
    }

    #[test]
    fn payloads_differ_by_their_bytes_only() {
        let (a, b) = (Payload::Joined(joined(3)), Payload::Joined(joined(11)));
        assert_eq!(a, b);
        assert_ne!(a, b.slice(0, 19));
        assert_ne!(a.slice(0, 19), b.slice(1, 19));
        assert_eq!(a.into_owned().len(), 20);
    }
}
