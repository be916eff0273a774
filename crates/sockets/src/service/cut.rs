//! Divides a message between its frame and the annex of the frame.

use crate::frame::MAX_PIECE_BYTES;

/// Most parts of one frame; the system allows 1024 with the head.
const MAX_PARTS: usize = 1000;

/// The parts of a message that go into the frame, and those that do not fit.
pub(super) fn cut<'a>(fragments: &[&'a [u8]]) -> (Vec<&'a [u8]>, Vec<&'a [u8]>) {
    let mut fit = Vec::with_capacity(fragments.len().min(MAX_PARTS));
    let mut room = MAX_PIECE_BYTES;
    let mut left = fragments.iter();
    let mut rest = Vec::new();
    while room > 0
        && fit.len() < MAX_PARTS
        && let Some(fragment) = left.next()
    {
        let (first, second) = fragment.split_at(fragment.len().min(room));
        room -= first.len();
        fit.push(first);
        if !second.is_empty() {
            rest.push(second);
        }
    }
    rest.extend(left);
    (fit, rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frame_and_annex_hold_the_whole_message_in_order() {
        let bytes: Vec<u8> = (0..3 * MAX_PIECE_BYTES + 5).map(|n| n as u8).collect();
        for (fragment_bytes, in_frame) in [
            (bytes.len(), MAX_PIECE_BYTES),
            (MAX_PIECE_BYTES, MAX_PIECE_BYTES),
            (MAX_PIECE_BYTES - 1, MAX_PIECE_BYTES),
            (1400, MAX_PIECE_BYTES),
            // Here the number of parts is the limit.
            (100, 100 * MAX_PARTS),
        ] {
            let fragments: Vec<&[u8]> = bytes.chunks(fragment_bytes).collect();
            let (fit, rest) = cut(&fragments);
            let [fit, rest] = [fit, rest].map(|parts| (parts.len(), parts.concat()));
            assert_eq!(fit.1.len(), in_frame, "fragments of {fragment_bytes} bytes");
            assert!(fit.0 <= MAX_PARTS && fit.1.len() <= MAX_PIECE_BYTES);
            assert!([fit.1, rest.1].concat() == bytes, "fragments of {fragment_bytes} bytes");
        }
    }

    #[test]
    fn what_fits_has_no_annex() {
        assert_eq!(cut(&[]), (Vec::new(), Vec::new()));
        assert_eq!(cut(&[b"whole"]), (vec![&b"whole"[..]], Vec::new()));
        let full = vec![7; MAX_PIECE_BYTES];
        assert_eq!(cut(&[&full]).1, Vec::<&[u8]>::new());
    }
}
