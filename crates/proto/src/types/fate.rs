//! State of a sent chunk.

use crate::probe::TransmissionCause;

/// State of an outstanding chunk.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Fate {
    /// In flight.
    #[default]
    InFlight,
    /// To be retransmitted.
    Lost(TransmissionCause),
    /// Acknowledged in a gap block.
    Acked,
    /// Abandoned (RFC 3758); a gap ack block may still acknowledge it.
    Abandoned,
}
