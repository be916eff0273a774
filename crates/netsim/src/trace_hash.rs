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

/// Longest excerpt that is kept. DATA needs 40 bytes over IPv4 and 64 over IPv6, a SACK four more per gap block than that.
const EXCERPT: usize = 80;

/// What the records of a packet have in common, so that it need not be made again at every hop.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Excerpt {
    /// Bytes that count; none where it is not known, or too long.
    len: usize,
    bytes: [u8; EXCERPT],
}

impl Excerpt {
    /// Nothing is known.
    pub const UNKNOWN: Self = Self { len: 0, bytes: [0; EXCERPT] };

    /// Makes it unknown.
    #[inline]
    pub fn forget(&mut self) {
        self.len = 0;
    }
}

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

    /// Feeds as many bytes as always, at once: quicker than one number after the other.
    #[inline]
    pub fn array<const N: usize>(&mut self, bytes: [u8; N]) {
        self.put(bytes);
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

    /// Feeds two numbers, what records of a packet have in common, and the length of all that; says whether it could,
    /// which takes an excerpt that is known.
    #[inline]
    pub(crate) fn repeat(&mut self, begin: [u64; 2], excerpt: &Excerpt) -> bool {
        if self.filled > BUFFER - (16 + EXCERPT + 4) {
            self.flush();
        }
        let free = self.buffer.get_mut(self.filled..).and_then(<[u8]>::first_chunk_mut);
        let Some::<&mut [u8; 16 + EXCERPT + 4]>(free) = free else { return false };
        if excerpt.len == 0 {
            return false;
        }
        free[..8].copy_from_slice(&begin[0].to_le_bytes());
        free[8..16].copy_from_slice(&begin[1].to_le_bytes());
        // All of it, because a copy of known length is the fastest.
        free[16..16 + EXCERPT].copy_from_slice(&excerpt.bytes);
        let len = 16 + excerpt.len.min(EXCERPT);
        free[len..len + 4].copy_from_slice(&(len as u32).to_le_bytes());
        self.filled += len + 4;
        true
    }

    /// What was fed since `start` bytes had been fed, as far as it is still at hand.
    pub(crate) fn excerpt(&self, start: u64) -> Excerpt {
        let len = (self.fed() - start) as usize;
        let begin = start.checked_sub(self.flushed).map(|begin| begin as usize);
        let bytes = begin.and_then(|begin| self.buffer.get(begin..)?.first_chunk().copied());
        match bytes {
            Some(bytes) if len <= EXCERPT => Excerpt { len, bytes },
            _ => Excerpt::UNKNOWN,
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
    fn excerpts_repeat_what_was_fed() {
        let fields: Vec<u8> = (0..81).collect();
        // Whether the buffer has room or not, and however long they are.
        for (before, len) in [(0, 40), (8_140, 64), (8_090, 80), (8_150, 40), (0, 80), (0, 81)] {
            let mut long = TraceHasher::new();
            long.bytes(&vec![7; before]);
            let mut short = TraceHasher::new();
            short.bytes(&vec![7; before]);
            let mut excerpt = Excerpt::UNKNOWN;
            let mut repeated = 0;
            for record in 0..300 {
                long.u64(record);
                long.u64(2);
                long.bytes(&fields[..len]);
                long.u32(16 + len as u32);
                if short.repeat([record, 2], &excerpt) {
                    repeated += 1;
                    continue;
                }
                short.u64(record);
                short.u64(2);
                let start = short.fed();
                short.bytes(&fields[..len]);
                excerpt = short.excerpt(start);
                short.u32(16 + len as u32);
            }
            assert_eq!((short.hash(), short.fed()), (long.hash(), long.fed()), "{before} {len}");
            assert_eq!(repeated > 290, len <= EXCERPT, "{before} {len}");
        }
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
