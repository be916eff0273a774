//! What the receiver answers: SACK or NR-SACK, and how long it is.

use polypath_wire::{Chunk, Sack};

use super::Receiver;
use super::latest::SackTurn;
use super::nr_sack_build::{self, Cut, MIN_NR_SACK_BYTES, Promise};
use super::sack_build::{MIN_SACK_BYTES, build_sack};
use super::tsn_map::{MOST_NEWS, TsnMap};
use crate::PathId;
use crate::types::PathSet;

impl Receiver {
    /// Builds the SACK, of at most `max_bytes` and at least 16, and begins to wait for reasons for the
    /// next one.
    pub fn take_sack(&mut self, max_bytes: usize) -> Sack<'static> {
        let flags = self.acks.on_sack();
        let a_rwnd = self.window.advertise();
        let sack = build_sack(&self.tsns, &self.duplicates, a_rwnd, flags, max_bytes);
        self.duplicates.clear();
        self.sources = PathSet::EMPTY;
        sack
    }

    /// Builds the acknowledgement to send over `path`: the SACK, or the NR-SACK if it was negotiated.
    pub fn take_acknowledgement(
        &mut self,
        max_bytes: usize,
        path: PathId,
        turn: u16,
    ) -> Chunk<'static> {
        let Some(promise) = self.promise else { return Chunk::Sack(self.take_sack(max_bytes)) };
        let flags = self.acks.on_sack();
        let a_rwnd = self.window.advertise();
        let duplicates = &self.duplicates;
        let turn = SackTurn { number: turn, news: self.latest.news(path, self.sack_path) };
        let nr_sack =
            nr_sack_build::build(&self.tsns, promise, duplicates, a_rwnd, flags, max_bytes, &turn);
        self.duplicates.clear();
        self.sources = PathSet::EMPTY;
        Chunk::NrSack(nr_sack)
    }

    /// Size of a complete acknowledgement, or, if blocks may be omitted, of one with the latest arrivals.
    pub fn sack_bytes(&self) -> usize {
        sack_bytes(self.promise, &self.tsns, self.duplicates.len())
    }

    /// Whether acknowledgements may omit blocks, so that the latest arrivals matter.
    pub(super) fn leaves_blocks_out(&self) -> bool {
        self.promise == Some(Promise::Everything(Cut::InTurn))
    }
}

/// Size of a complete acknowledgement, or, if blocks may be omitted, of one with the latest arrivals.
pub(super) fn sack_bytes(promise: Option<Promise>, tsns: &TsnMap, duplicates: usize) -> usize {
    let (least, blocks) = match promise {
        None => (MIN_SACK_BYTES, tsns.gap_block_count()),
        Some(Promise::Everything(Cut::Lowest)) => (MIN_NR_SACK_BYTES, tsns.gap_block_count()),
        Some(Promise::Everything(Cut::InTurn)) => {
            (MIN_NR_SACK_BYTES, tsns.gap_block_count().min(MOST_NEWS))
        }
        Some(Promise::Delivered) => (MIN_NR_SACK_BYTES, tsns.split_block_count()),
    };
    least + 4 * (blocks + duplicates)
}
