//! A run condensed to 64 bits.

use std::fmt;
use std::hash::Hasher;
use std::str::FromStr;

use twox_hash::XxHash64;

/// Collects the bytes of a trace and hashes them.
///
/// Numbers are gathered in a buffer and hashed in large pieces: hashing is fast in long runs and slow in short ones.
pub struct TraceHasher {
    state: XxHash64,
    buffer: Box<[u8; BUFFER]>,
    filled: usize,
    flushed: u64,
}

const BUFFER: usize = 8_192;

impl TraceHasher {
    /// A hasher that has seen nothing.
    pub fn new() -> Self {
        Self { state: XxHash64::with_seed(0), buffer: Box::new([0; BUFFER]), filled: 0, flushed: 0 }
    }

    /// Feeds one byte.
    #[inline]
    pub fn u8(&mut self, value: u8) {
        self.put(value.to_le_bytes());
    }

    /// Feeds two bytes, least significant first.
    #[inline]
    pub fn u16(&mut self, value: u16) {
        self.put(value.to_le_bytes());
    }

    /// Feeds four bytes, least significant first.
    #[inline]
    pub fn u32(&mut self, value: u32) {
        self.put(value.to_le_bytes());
    }

    /// Feeds eight bytes, least significant first.
    #[inline]
    pub fn u64(&mut self, value: u64) {
        self.put(value.to_le_bytes());
    }

    /// Feeds bytes as they are; feed their number first where it varies.
    pub fn bytes(&mut self, bytes: &[u8]) {
        if bytes.len() > BUFFER - self.filled {
            self.flush();
        }
        match self.buffer.get_mut(self.filled..self.filled + bytes.len()) {
            Some(free) => {
                free.copy_from_slice(bytes);
                self.filled += bytes.len();
            }
            None => {
                self.state.write(bytes);
                self.flushed += bytes.len() as u64;
            }
        }
    }

    /// The hash of all that was fed so far.
    pub fn hash(&self) -> TraceHash {
        let mut state = self.state.clone();
        state.write(&self.buffer[..self.filled]);
        TraceHash(state.finish())
    }

    /// Number of bytes fed so far.
    #[inline]
    pub fn fed(&self) -> u64 {
        self.flushed + self.filled as u64
    }

    #[inline]
    fn put<const N: usize>(&mut self, bytes: [u8; N]) {
        if self.filled > BUFFER - N {
            self.flush();
        }
        self.buffer[self.filled..self.filled + N].copy_from_slice(&bytes);
        self.filled += N;
    }

    #[cold]
    fn flush(&mut self) {
        self.state.write(&self.buffer[..self.filled]);
        self.flushed += self.filled as u64;
        self.filled = 0;
    }
}

impl Default for TraceHasher {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for TraceHasher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TraceHasher").field("fed", &self.fed()).field("hash", &self.hash()).finish()
    }
}

/// The hash of a trace; prints as `xxh64:` and 16 hexadecimal digits.
///
/// The hash is XXH64 with seed 0 over a sequence of records, all numbers least significant byte first. A record is
///
/// | bytes | meaning |
/// | --- | --- |
/// | 8 | time in nanoseconds |
/// | 4 | link, in the order of creation |
/// | 1 | direction: 0 forward, 1 backward |
/// | 1 | kind: 1 accepted by the link, 2 delivered at its other end, 3 dropped, 4 link went down, 5 link came up, 6 rate, delay or loss changed |
/// | 1 | cause of a drop, counted as in [`DropCause`](crate::DropCause) from 1, else 0 |
/// | 1 | IP version of the packet, 0 where there is none |
/// | 8 or 32 | source and destination address: IPv4 as two numbers, IPv6 as on the wire |
/// | 4 | length of the IP packet |
/// | … | the fields that the [`Frame`](crate::Frame) feeds |
/// | 4 | length of the record up to here |
///
/// with the rows from the addresses to the fields only where there is a packet.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct TraceHash(pub u64);

/// A text that is no [`TraceHash`].
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("`{0}` is not a trace hash: it has to be `xxh64:` and 16 hexadecimal digits")]
pub struct NotATraceHash(String);

impl fmt::Display for TraceHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("xxh64:{:016x}", self.0))
    }
}

impl FromStr for TraceHash {
    type Err = NotATraceHash;
    fn from_str(text: &str) -> Result<Self, NotATraceHash> {
        text.strip_prefix("xxh64:")
            .filter(|digits| digits.len() == 16 && digits.bytes().all(|b| b.is_ascii_hexdigit()))
            .and_then(|digits| u64::from_str_radix(digits, 16).ok())
            .map(Self)
            .ok_or_else(|| NotATraceHash(text.to_owned()))
    }
}

#[cfg(feature = "serde")]
impl serde::Serialize for TraceHash {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(feature = "serde")]
impl<'de> serde::Deserialize<'de> for TraceHash {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_xxh64() {
        // Published values of XXH64 with seed 0.
        assert_eq!(TraceHasher::new().hash().to_string(), "xxh64:ef46db3751d8e999");
        let mut hasher = TraceHasher::new();
        hasher.bytes(b"abc");
        assert_eq!(hasher.hash().to_string(), "xxh64:44bc2cf5ad770999");
    }

    #[test]
    fn pieces_do_not_matter() {
        let bytes: Vec<u8> = (0..40_000u32).map(|i| (i * 7 + i / 256) as u8).collect();
        let whole = XxHash64::oneshot(0, &bytes);
        let mut by_words = TraceHasher::new();
        for word in bytes.chunks_exact(8) {
            by_words.u64(u64::from_le_bytes(word.try_into().unwrap()));
        }
        let mut mixed = TraceHasher::new();
        let (small, rest) = bytes.split_at(5_000);
        for byte in small {
            mixed.u8(*byte);
        }
        let (large, rest) = rest.split_at(20_000);
        mixed.bytes(large);
        for piece in rest.chunks(600) {
            mixed.bytes(piece);
        }
        assert_eq!(by_words.hash(), TraceHash(whole));
        assert_eq!(mixed.hash(), TraceHash(whole));
        assert_eq!(mixed.fed(), 40_000);
    }

    #[test]
    fn text_form_reads_back() {
        let hash = TraceHash(0x12ab);
        assert_eq!(hash.to_string().parse(), Ok(hash));
        for wrong in ["", "12ab", "xxh64:12ab", "xxh64:+2345678901234567", "fnv:0123456789abcdef"] {
            assert!(wrong.parse::<TraceHash>().is_err(), "{wrong}");
        }
    }
}
