//! Messages of the test and what is counted of them; `tests/interop/peer/peer.c` describes them.

use std::collections::BTreeMap;

use anyhow::{Context, bail, ensure};
use polypath::{Piece, ReceivedMessage};

use crate::options::Options;

/// Bytes at the beginning of a message that hold its number.
const HEADER: usize = 8;

/// What both sides must agree on.
#[derive(Default)]
pub struct Tally {
    /// Messages.
    pub messages: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Sum of their FNV-1a hashes.
    pub hash_sum: u64,
}

impl Tally {
    /// Counts a message.
    pub fn count(&mut self, message: &[u8]) {
        let hash = message.iter().fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
            (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
        });
        self.messages += 1;
        self.bytes += message.len() as u64;
        self.hash_sum = self.hash_sum.wrapping_add(hash);
    }
}

/// The finaliser of SplitMix64: spreads every bit of its argument over the result.
fn mix(x: u64) -> u64 {
    let x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// The message of that number.
pub fn message(number: u64, options: &Options) -> Vec<u8> {
    let length = match options.first_size {
        Some(length) if number == 0 => HEADER + length as usize,
        _ => HEADER + (mix(number) % (2 * options.mean_size)) as usize,
    };
    let mut bytes = Vec::with_capacity(length + HEADER);
    bytes.extend_from_slice(&number.to_be_bytes());
    while bytes.len() < length {
        let word = bytes.len() as u64 / 8;
        bytes.extend_from_slice(&mix(number << 20 | word).to_be_bytes());
    }
    bytes.truncate(length);
    bytes
}

/// The messages that have come, and which may come next.
pub struct Arrivals<'a> {
    options: &'a Options,
    /// Number of the next message, by stream.
    expected: Vec<u64>,
    /// Messages that have come.
    seen: Vec<bool>,
    /// What has come of messages that come in pieces, by stream.
    begun: BTreeMap<u16, Vec<u8>>,
    /// Messages that came in pieces.
    in_pieces: u64,
    /// Messages that came before the first one was complete.
    before_first: u64,
    /// What has come since the beginning, or since the peer restarted.
    pub tally: Tally,
}

impl<'a> Arrivals<'a> {
    /// Nothing has come yet.
    pub fn new(options: &'a Options) -> Self {
        Self {
            options,
            expected: (0..options.streams).map(|stream| options.first_on(stream)).collect(),
            seen: vec![false; options.messages as usize],
            begun: BTreeMap::new(),
            in_pieces: 0,
            before_first: 0,
            tally: Tally::default(),
        }
    }

    /// Whether every message has come.
    pub fn complete(&self) -> bool {
        self.tally.messages == self.options.messages
    }

    /// Whether half of the messages have come, and no more.
    pub fn are_half(&self) -> bool {
        self.tally.messages == self.options.messages / 2
    }

    /// Messages that came in pieces.
    pub fn in_pieces(&self) -> u64 {
        self.in_pieces
    }

    /// Messages that came before the first one was complete.
    pub fn before_first(&self) -> u64 {
        self.before_first
    }

    /// Checks every byte of a message, and that it may come now.
    pub fn check(&mut self, received: ReceivedMessage) -> anyhow::Result<()> {
        let Self { options, expected, seen, begun, in_pieces, before_first, tally } = self;
        let (stream, piece) = (received.stream(), received.piece());
        let mut bytes = received.into_bytes();
        if piece != Piece::Whole {
            ensure!(piece.begins() != begun.contains_key(&stream), "{piece:?} on stream {stream}");
            begun.entry(stream).or_default().extend_from_slice(&bytes);
            if !piece.ends() {
                return Ok(());
            }
            *in_pieces += 1;
            bytes = begun.remove(&stream).unwrap_or_default().into();
        }
        let Some((header, _)) = bytes.split_first_chunk::<HEADER>() else {
            bail!("a message of {} bytes", bytes.len());
        };
        let number = u64::from_be_bytes(*header);
        let next =
            expected.get_mut(usize::from(stream)).with_context(|| format!("stream {stream}"))?;
        let streams = u64::from(options.streams_at(number));
        ensure!(number % streams == u64::from(stream), "message {number} on stream {stream}");
        *before_first += u64::from(number != 0 && !seen.first().is_some_and(|seen| *seen));
        let seen = seen.get_mut(number as usize).with_context(|| format!("message {number}"))?;
        // What was given up is missing, the rest is in order, unless it has none.
        let fits = match (options.unordered, options.gives_up()) {
            (true, _) => !*seen,
            (false, true) => number >= *next,
            (false, false) => number == *next,
        };
        ensure!(fits, "message {number} on stream {stream}, expected {next}");
        *seen = true;
        *next = number + streams;
        ensure!(*bytes == *message(number, options), "message {number} was damaged");
        tally.count(&bytes);
        Ok(())
    }
}
