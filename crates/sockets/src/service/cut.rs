//! Cuts a message into frames.

use crate::frame::MAX_PIECE_BYTES;

/// Most parts of one frame; the system allows 1024 with the head.
const MAX_PARTS: usize = 1000;

/// The frames of a message: the parts of each, and whether it is the last one. There is at least one.
#[derive(Debug)]
pub(super) struct Cut<'a> {
    fragments: &'a [&'a [u8]],
    /// What did not fit of the fragment before.
    rest: &'a [u8],
    is_over: bool,
}

impl<'a> Cut<'a> {
    pub(super) fn new(fragments: &'a [&'a [u8]]) -> Self {
        Self { fragments, rest: &[], is_over: false }
    }

    fn next_part(&mut self) -> Option<&'a [u8]> {
        if !self.rest.is_empty() {
            return Some(std::mem::take(&mut self.rest));
        }
        let (first, others) = self.fragments.split_first()?;
        self.fragments = others;
        Some(first)
    }
}

impl<'a> Iterator for Cut<'a> {
    type Item = (Vec<&'a [u8]>, bool);

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_over {
            return None;
        }
        let mut parts = Vec::with_capacity(self.fragments.len().min(MAX_PARTS) + 1);
        let mut bytes = 0;
        while bytes < MAX_PIECE_BYTES && parts.len() < MAX_PARTS {
            let Some(part) = self.next_part() else { break };
            let (fits, rest) = part.split_at(part.len().min(MAX_PIECE_BYTES - bytes));
            self.rest = rest;
            bytes += fits.len();
            parts.push(fits);
        }
        self.is_over = self.rest.is_empty() && self.fragments.is_empty();
        Some((parts, self.is_over))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_hold_the_whole_message_in_order() {
        let bytes: Vec<u8> = (0..3 * MAX_PIECE_BYTES + 5).map(|n| n as u8).collect();
        for (fragment_bytes, frames) in [
            (bytes.len(), 4),
            (MAX_PIECE_BYTES, 4),
            (MAX_PIECE_BYTES - 1, 4),
            (1400, 4),
            // Here the number of parts is the limit.
            (100, 4),
            (50, 8),
        ] {
            let fragments: Vec<&[u8]> = bytes.chunks(fragment_bytes).collect();
            let cut: Vec<_> = Cut::new(&fragments).collect();
            assert_eq!(cut.len(), frames, "fragments of {fragment_bytes} bytes");
            let lasts = cut.iter().filter(|(_, is_last)| *is_last).count();
            assert!(lasts == 1 && cut.last().is_some_and(|(_, is_last)| *is_last));
            for (parts, _) in &cut {
                let size: usize = parts.iter().map(|part| part.len()).sum();
                assert!(size <= MAX_PIECE_BYTES && parts.len() <= MAX_PARTS);
            }
            let whole: Vec<u8> = cut.into_iter().flat_map(|(parts, _)| parts.concat()).collect();
            assert!(whole == bytes, "fragments of {fragment_bytes} bytes");
        }
    }

    #[test]
    fn a_message_without_fragments_is_one_frame() {
        assert_eq!(Cut::new(&[]).collect::<Vec<_>>(), [(Vec::new(), true)]);
    }
}
