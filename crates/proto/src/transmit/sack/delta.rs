//! What one SACK changed.

use smallvec::SmallVec;

use crate::Tsn;
use crate::transmit::outstanding::History;
use crate::types::{BufferBytes, PathDelta};

/// What one SACK changed.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct AckDelta {
    /// One entry per path of the association.
    pub(crate) paths: SmallVec<[PathDelta; 4]>,
    /// Whether the cumulative TSN ack advanced.
    pub(crate) cumulative_ack_advanced: bool,
    /// What happened to the chunks that it covers, whenever they were acknowledged.
    pub(crate) freed_history: History,
    /// Lowest TSN acknowledged for the first time.
    pub(crate) lowest_newly_acked: Option<Tsn>,
    /// Highest TSN acknowledged for the first time.
    pub(crate) highest_newly_acked: Option<Tsn>,
    /// Highest TSN in a gap block.
    pub(crate) highest_gap_acked: Option<Tsn>,
    /// What became free in the send buffer.
    pub(crate) released: BufferBytes,
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
    pub(crate) fn release_early(&mut self, released: BufferBytes) {
        self.released += released;
        self.released_early += released.user_bytes;
    }

    /// Number of paths with something new.
    pub(crate) fn paths_with_news(&self) -> usize {
        self.paths.iter().filter(|path| path.chunks > 0).count()
    }

    /// How many paths have news in gap ack blocks, and the lowest TSN with news on these paths; `None` without such news.
    pub(crate) fn gap_news(&self) -> Option<(usize, Tsn)> {
        let with_gaps = || self.paths.iter().filter(|path| path.credited_in_gaps > 0);
        let lowest = with_gaps()
            .filter_map(|path| path.lowest)
            .reduce(|a, b| if b.is_before(a) { b } else { a })?;
        Some((with_gaps().count(), lowest))
    }
}
