//! What one SACK changed.

use smallvec::SmallVec;

use crate::send::queue::Room;
use crate::{Instant, Tsn};

/// What one SACK acknowledged for the first time among the chunks last sent on one path.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct PathDelta {
    /// Chunk whose round trip is being measured; known before.
    pub(crate) timed: Option<Tsn>,
    /// Charged bytes that grow the path's window; each chunk counts once in its life.
    pub(crate) credited_bytes: u64,
    /// Charged bytes that leave the path's flight.
    pub(crate) flight_bytes: u64,
    /// Bytes of user data.
    pub(crate) user_bytes: u64,
    /// Chunks.
    pub(crate) chunks: u32,
    /// Lowest TSN.
    pub(crate) lowest: Option<Tsn>,
    /// Highest TSN.
    pub(crate) highest: Option<Tsn>,
    /// Highest TSN among those that never took another path.
    pub(crate) highest_of_its_own: Option<Tsn>,
    /// Whether the cumulative ack covers one of them.
    pub(crate) by_cumulative_ack: bool,
    /// Whether one of them never took another path, so that it proves this one alive.
    pub(crate) unambiguous: bool,
    /// Whether one of them was never retransmitted, so that it tells which transmission arrived.
    pub(crate) sent_once: bool,
    /// When that chunk had been sent, if it is one of them.
    pub(crate) timed_chunk_sent_at: Option<Instant>,
}

/// What one SACK changed.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct AckDelta {
    /// One entry per path of the association.
    pub(crate) paths: SmallVec<[PathDelta; 4]>,
    /// Whether the cumulative TSN ack advanced.
    pub(crate) cumulative_ack_advanced: bool,
    /// Lowest TSN acknowledged for the first time.
    pub(crate) lowest_newly_acked: Option<Tsn>,
    /// Highest TSN acknowledged for the first time.
    pub(crate) highest_newly_acked: Option<Tsn>,
    /// Highest TSN in a gap block.
    pub(crate) highest_gap_acked: Option<Tsn>,
    /// What became free in the send buffer.
    pub(crate) released: Room,
    /// Bytes of it that the cumulative ack does not cover yet.
    pub(crate) released_early: u64,
    /// TSNs that the gap blocks report.
    pub(crate) reported: u64,
}

impl AckDelta {
    /// Whether anything was acknowledged for the first time.
    pub(crate) fn anything_new(&self) -> bool {
        self.lowest_newly_acked.is_some()
    }

    /// Adds what became free before the cumulative ack covers it.
    pub(crate) fn release_early(&mut self, released: Room) {
        self.released += released;
        self.released_early += released.user_bytes;
    }

    /// Number of paths with something new.
    pub(crate) fn paths_with_news(&self) -> usize {
        self.paths.iter().filter(|path| path.chunks > 0).count()
    }
}
