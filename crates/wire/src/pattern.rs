//! The content of virtual payload.
//!
//! A message is a sequence of words of 8 bytes, least significant byte first. Word 0 is the message number, mixed so
//! that neighbouring numbers give unlike words; each further word adds an odd constant. So word 0 tells the message,
//! and every word where in the message it belongs.

use crate::VirtualPayload;

const WORD: usize = 8;

/// What a word adds to the one before; odd, so that no word of a message comes twice.
const STEP: u64 = 0x9E37_79B9_7F4A_7C15;

/// Factor of the mixing; odd, so that it can be undone.
const FACTOR: u64 = 0xD6E8_FEB8_6659_FD93;
const INVERSE_FACTOR: u64 = inverse(FACTOR);

impl VirtualPayload {
    /// Writes the data to the start of `out`, as far as it fits.
    pub fn fill(&self, out: &mut [u8]) {
        let len = out.len().min(self.len as usize);
        write(mix(self.message), u64::from(self.offset), &mut out[..len]);
    }

    /// Whether `bytes` are what message number `message` holds from byte `offset` on.
    // Apart: simulated receivers meet mostly virtual payload, and would pay for the number's mixing nevertheless.
    #[inline(never)]
    #[must_use]
    pub fn verify(message: u64, offset: u32, bytes: &[u8]) -> bool {
        let first_word = mix(message);
        let mut expected = [0; 256];
        let mut at = u64::from(offset);
        bytes.chunks(expected.len()).all(|part| {
            let expected = &mut expected[..part.len()];
            write(first_word, at, expected);
            at += part.len() as u64;
            part == expected
        })
    }

    /// The number of the message that starts with `first_bytes`.
    ///
    /// `None` for fewer than 8 bytes, and when the bytes behind the first 8 do not continue that message. Any 8 bytes
    /// name some message: give more to tell a virtual message from other data.
    #[must_use]
    pub fn identify(first_bytes: &[u8]) -> Option<u64> {
        let message = unmix(u64::from_le_bytes(*first_bytes.first_chunk()?));
        Self::verify(message, 0, first_bytes).then_some(message)
    }
}

/// Writes the content from byte `offset` on of the message that starts with `first_word`.
fn write(first_word: u64, offset: u64, out: &mut [u8]) {
    let mut word = first_word.wrapping_add((offset / WORD as u64).wrapping_mul(STEP));
    let skipped = (offset % WORD as u64) as usize;
    let head_len = if skipped == 0 { 0 } else { (WORD - skipped).min(out.len()) };
    let (head, rest) = out.split_at_mut(head_len);
    if !head.is_empty() {
        head.copy_from_slice(&word.to_le_bytes()[skipped..skipped + head_len]);
        word = word.wrapping_add(STEP);
    }
    let (words, tail) = rest.as_chunks_mut::<WORD>();
    for out in words {
        *out = word.to_le_bytes();
        word = word.wrapping_add(STEP);
    }
    tail.copy_from_slice(&word.to_le_bytes()[..tail.len()]);
}

/// A mixing of all bits that can be undone.
const fn mix(number: u64) -> u64 {
    let mut x = number ^ STEP;
    x ^= x >> 32;
    x = x.wrapping_mul(FACTOR);
    x ^= x >> 32;
    x = x.wrapping_mul(FACTOR);
    x ^ x >> 32
}

/// Undoes [`mix`]: folding the upper half onto the lower is its own inverse.
const fn unmix(mixed: u64) -> u64 {
    let mut x = mixed ^ mixed >> 32;
    x = x.wrapping_mul(INVERSE_FACTOR);
    x ^= x >> 32;
    x = x.wrapping_mul(INVERSE_FACTOR);
    x ^= x >> 32;
    x ^ STEP
}

/// The inverse of an odd number modulo 2^64, by Newton's method: each step doubles the right bits, from 3 to 96.
const fn inverse(odd: u64) -> u64 {
    // Further steps would change nothing.
    step(odd, step(odd, step(odd, step(odd, step(odd, odd)))))
}

/// Doubles the bits of `inverse` that are right.
const fn step(odd: u64, inverse: u64) -> u64 {
    inverse.wrapping_mul(2u64.wrapping_sub(odd.wrapping_mul(inverse)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    fn content(message: u64, offset: u32, len: u32) -> vec::Vec<u8> {
        let mut out = vec![0xAA; len as usize];
        VirtualPayload { message, offset, len }.fill(&mut out);
        out
    }

    #[test]
    fn mixing_can_be_undone() {
        for number in [0, 1, 2, 77, u64::from(u32::MAX), 1 << 63, u64::MAX] {
            assert_eq!(unmix(mix(number)), number);
        }
    }

    #[test]
    fn odd_numbers_have_an_inverse() {
        for odd in [1, 3, 5, 77, STEP, FACTOR, (1 << 63) + 1, u64::MAX] {
            assert_eq!(odd.wrapping_mul(inverse(odd)), 1);
        }
    }

    #[test]
    fn every_slice_is_part_of_the_same_message() {
        let whole = content(7, 0, 300);
        for start in 0..40 {
            for end in start..300 {
                let part = content(7, start as u32, (end - start) as u32);
                assert_eq!(part, whole[start..end]);
                assert!(VirtualPayload::verify(7, start as u32, &part));
            }
        }
    }

    #[test]
    fn other_message_other_place_and_damage_are_seen() {
        let part = content(7, 1400, 600);
        assert!(!VirtualPayload::verify(8, 1400, &part));
        for offset in 0..3000 {
            assert_eq!(VirtualPayload::verify(7, offset, &part), offset == 1400);
        }
        for bit in 0..part.len() * 8 {
            let mut damaged = part.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert!(!VirtualPayload::verify(7, 1400, &damaged));
        }
    }

    #[test]
    fn a_message_is_told_by_its_start() {
        for message in [0, 1, 255, 1 << 40, u64::MAX] {
            for len in 8..50 {
                let start = content(message, 0, len);
                assert_eq!(VirtualPayload::identify(&start), Some(message));
            }
            assert_eq!(VirtualPayload::identify(&content(message, 0, 7)), None);
        }
        assert_eq!(VirtualPayload::identify(b"plain text is not a pattern"), None);
        assert_eq!(VirtualPayload::identify(&[0; 64]), None);
    }

    #[test]
    fn an_end_beyond_the_largest_offset_is_no_panic() {
        let mut out = [0; 32];
        VirtualPayload { message: 1, offset: u32::MAX - 3, len: 32 }.fill(&mut out);
        assert!(VirtualPayload::verify(1, u32::MAX - 3, &out));
    }
}
