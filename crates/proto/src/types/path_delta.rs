//! Changes by a SACK on one path.

use crate::{Instant, Tsn};

/// Whether chunks were acknowledged that took only one path.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub(crate) enum Unambiguous {
    /// None.
    #[default]
    None,
    /// Some that had been declared lost.
    TakenForLost,
    /// One or more that were in flight until now.
    InFlight,
}

/// What one SACK acknowledged for the first time among the chunks last sent on one path.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct PathDelta {
    /// Chunk whose round trip is being measured; known before.
    pub(crate) timed: Option<Tsn>,
    /// Counted bytes that grow the path's window; each chunk counts once.
    pub(crate) credited_bytes: u64,
    /// Those of them that gap blocks report.
    pub(crate) credited_in_gaps: u64,
    /// Counted bytes that leave the path's flight.
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
    pub(crate) unambiguous: Unambiguous,
    /// Whether one of them was never retransmitted, so that it is known which transmission arrived.
    pub(crate) sent_once: bool,
    /// That chunk, if it is one of them.
    pub(crate) timed_chunk: Option<TimedChunk>,
}

/// A chunk that was sent once and whose round trip is measured.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct TimedChunk {
    pub(crate) sent_at: Instant,
    /// Its bytes in flight.
    pub(crate) flight_bytes: u32,
    /// A copy of it went over another path.
    pub(crate) was_copied: bool,
}
