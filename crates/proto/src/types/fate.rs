//! What became of a chunk that was sent.

use crate::probe::TransmissionCause;

/// Life of an outstanding chunk.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Fate {
    /// Sent, nothing known.
    #[default]
    InFlight,
    /// To be retransmitted.
    Lost(TransmissionCause),
    /// Acknowledged in a gap block.
    Acked,
    /// Given up (RFC 3758); a gap block may acknowledge it all the same.
    Abandoned,
}
