//! Strict priorities (RFC 8260 section 3.4; `SCTP_SS_PRIO`, usrsctp `SCTP_SS_PRIORITY`): the stream with the lowest number
//! goes first; those with equal numbers go in turn, a message each.

use super::{StreamRank, StreamTurn};

/// Behind all others of the same priority.
pub(super) fn rank(turn: &StreamTurn) -> StreamRank {
    StreamRank::from(turn.value) << 64 | StreamRank::from(turn.count)
}
