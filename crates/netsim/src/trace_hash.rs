//! A run condensed to 64 bits.

use std::fmt;
use std::hash::Hasher;
use std::str::FromStr;

use polypath_units::Instant;
use twox_hash::XxHash64;

/// Gathers bytes and hashes them: the fields of a packet, or whatever else is to be told from others.
///
/// Hashing is fast in one piece and slow in many short ones, so numbers are gathered first.
#[derive(Clone)]
pub struct TraceHasher {
    /// What was fed, as far as `len`, if it fits; the rest is old. An array, so that where fields of known lengths are fed one after
    /// the other, their places need no check.
    short: [u8; ROOM],
    /// What was fed if it is longer than that.
    long: Vec<u8>,
    len: usize,
}

/// Bytes of a packet over IPv4 with one chunk of data, as most packets are.
const DATA: usize = 40;

/// Bytes of one with a SACK without gaps and duplicates, as most others are.
const SACK: usize = 36;

/// Room for the fields of nearly all packets.
const ROOM: usize = 512;

impl Default for TraceHasher {
    fn default() -> Self {
        Self { short: [0; ROOM], long: Vec::new(), len: 0 }
    }
}

impl TraceHasher {
    /// A hasher that has seen nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Forgets what it has seen, and keeps the memory for that.
    #[inline]
    pub(crate) fn begin(&mut self) {
        self.len = 0;
    }

    /// Feeds one byte.
    #[inline]
    pub fn u8(&mut self, value: u8) {
        self.array(value.to_le_bytes());
    }

    /// Feeds two bytes, least significant first.
    #[inline]
    pub fn u16(&mut self, value: u16) {
        self.array(value.to_le_bytes());
    }

    /// Feeds four bytes, least significant first.
    #[inline]
    pub fn u32(&mut self, value: u32) {
        self.array(value.to_le_bytes());
    }

    /// Feeds eight bytes, least significant first.
    #[inline]
    pub fn u64(&mut self, value: u64) {
        self.array(value.to_le_bytes());
    }

    /// Feeds as many bytes as always, at once: quicker than one number after the other.
    #[inline]
    pub fn array<const N: usize>(&mut self, bytes: [u8; N]) {
        match self.short.get_mut(self.len..).and_then(<[u8]>::first_chunk_mut) {
            Some(place) => {
                *place = bytes;
                self.len += N;
            }
            None => self.bytes(&bytes),
        }
    }

    /// Feeds bytes as they are; feed their number first where it varies.
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.place(bytes.len()).copy_from_slice(bytes);
    }

    /// Feeds `len` bytes that `write` makes of zeros.
    pub fn write_zeroed(&mut self, len: usize, write: impl FnOnce(&mut [u8])) {
        let place = self.place(len);
        place.fill(0);
        write(place);
    }

    /// Feeds `count` numbers of four bytes, least significant first: quicker than one after the other.
    pub fn u32s(&mut self, count: usize, values: impl Iterator<Item = u32>) {
        let mut places = self.place(4 * count).as_chunks_mut().0.iter_mut();
        // From inside, which is faster for values of several sources.
        values.for_each(|value| {
            if let Some(place) = places.next() {
                *place = value.to_le_bytes();
            }
        });
        debug_assert!(places.next().is_none(), "fewer than {count} numbers");
    }

    /// The place of the next so many bytes.
    #[inline]
    fn place(&mut self, len: usize) -> &mut [u8] {
        let start = self.len;
        self.len += len;
        if self.len > ROOM {
            return self.place_in_long(start);
        }
        &mut self.short[start..self.len]
    }

    #[cold]
    fn place_in_long(&mut self, start: usize) -> &mut [u8] {
        if let Some(short) = self.short.get(..start) {
            self.long.clear();
            self.long.extend_from_slice(short);
        }
        self.long.resize(self.len, 0);
        &mut self.long[start..]
    }

    /// The hash of all that was fed so far.
    #[inline(always)]
    pub fn hash(&self) -> TraceHash {
        let fed = self.fed();
        // The same; where the length is known when this is compiled, no loop is left.
        TraceHash(if let Ok(fed) = <&[u8; DATA]>::try_from(fed) {
            XxHash64::oneshot(0, fed)
        } else if let Ok(fed) = <&[u8; SACK]>::try_from(fed) {
            XxHash64::oneshot(0, fed)
        } else {
            hash_of_any(fed)
        })
    }

    #[inline]
    fn fed(&self) -> &[u8] {
        self.short.get(..self.len).unwrap_or(&self.long)
    }
}

#[inline(never)]
fn hash_of_any(bytes: &[u8]) -> u64 {
    XxHash64::oneshot(0, bytes)
}

impl fmt::Debug for TraceHasher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fed = self.len;
        f.debug_struct("TraceHasher").field("fed", &fed).field("hash", &self.hash()).finish()
    }
}

/// Bytes of a record.
const RECORD: usize = 24;

/// Records that are hashed at a time.
const GATHERED: usize = 256;

/// The trace of a run, hashed as it comes.
pub(crate) struct Trace {
    state: XxHash64,
    records: Box<[[u8; RECORD]; GATHERED]>,
    gathered: usize,
}

impl Trace {
    /// A trace without records.
    pub fn new() -> Self {
        let records = Box::new([[0; RECORD]; GATHERED]);
        Self { state: XxHash64::with_seed(0), records, gathered: 0 }
    }

    /// Adds a record: when, where and what, and the hash of the packet, or zero.
    #[inline]
    pub fn record(&mut self, time: Instant, what: u64, packet: TraceHash) {
        if self.gathered >= GATHERED {
            self.hash_gathered();
        }
        let record = &mut self.records[self.gathered];
        record[..8].copy_from_slice(&time.as_nanos().to_le_bytes());
        record[8..16].copy_from_slice(&what.to_le_bytes());
        record[16..].copy_from_slice(&packet.0.to_le_bytes());
        self.gathered += 1;
    }

    // Apart, so that the many calls without it do not pay for its registers.
    #[cold]
    #[inline(never)]
    fn hash_gathered(&mut self) {
        self.state.write(self.records.as_flattened());
        self.gathered = 0;
    }

    /// The hash of all records so far.
    pub fn hash(&self) -> TraceHash {
        let mut state = self.state.clone();
        state.write(self.records[..self.gathered].as_flattened());
        TraceHash(state.finish())
    }
}

impl fmt::Debug for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Trace").field("hash", &self.hash()).finish()
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
/// | 8 | hash of the packet, 0 where there is none |
///
/// and the hash of a packet is XXH64 with seed 0 over
///
/// | bytes | meaning |
/// | --- | --- |
/// | 8 or 32 | source and destination address: IPv4 as two numbers, IPv6 as on the wire |
/// | 4 | length of the IP packet |
/// | … | the fields that the [`Frame`](crate::Frame) feeds |
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
        let whole = TraceHash(XxHash64::oneshot(0, &bytes));
        let mut by_words = TraceHasher::new();
        for word in bytes.chunks_exact(8) {
            by_words.u64(u64::from_le_bytes(word.try_into().unwrap()));
        }
        assert_eq!(by_words.hash(), whole);
        let mut by_numbers = TraceHasher::new();
        let numbers = bytes.chunks_exact(4).map(|n| u32::from_le_bytes(n.try_into().unwrap()));
        by_numbers.u32s(bytes.len() / 4, numbers);
        assert_eq!(by_numbers.hash(), whole);
        let mut mixed = TraceHasher::new();
        mixed.bytes(b"of a packet before");
        mixed.begin();
        let (small, large) = bytes.split_at(5_000);
        small.iter().for_each(|byte| mixed.u8(*byte));
        mixed.bytes(large);
        assert_eq!(mixed.hash(), whole);
        mixed.begin();
        mixed.bytes(small);
        mixed.write_zeroed(large.len(), |place| {
            assert!(place.iter().all(|byte| *byte == 0));
            place.copy_from_slice(large);
        });
        assert_eq!(mixed.hash(), whole);
    }

    #[test]
    fn records_are_hashed_as_one_sequence_however_many_there_are() {
        let mut trace = Trace::new();
        let mut bytes = Vec::new();
        for number in 0..=3 * GATHERED as u64 {
            assert_eq!(trace.hash(), TraceHash(XxHash64::oneshot(0, &bytes)), "{number} records");
            trace.record(Instant::from_nanos(number), !number, TraceHash(number << 9));
            bytes.extend([number, !number, number << 9].map(u64::to_le_bytes).as_flattened());
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
