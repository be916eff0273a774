//! Round robin (RFC 8260 section 3.2; `SCTP_SS_RR`, Linux `SCTP_SS_RR`): the streams in turn, a message each.

use super::{StreamRank, StreamTurn};

/// Behind all others.
pub(super) fn rank(turn: &StreamTurn) -> StreamRank {
    turn.count.into()
}
