//! Weighted fair queueing (RFC 8260 section 3.6; `SCTP_SS_WFQ`; WebRTC data channels, RFC 8831): a stream with n times the
//! weight of another gets n times its bytes.
//!
//! As [`fair`](super::fair), where each message moves the virtual time on by its length divided by the weight. A stream
//! without weight has weight 1.

use super::{StreamRank, StreamTurn};

/// Units of virtual time that a byte takes at weight 1; the largest weight still costs some per byte.
const SCALE: StreamRank = 1 << 32;

/// Virtual start of the stream's next message.
pub(super) fn rank(turn: &StreamTurn) -> StreamRank {
    let weight = StreamRank::from(turn.value.max(1));
    turn.rank.max(turn.served) + StreamRank::from(turn.bytes) * SCALE / weight
}
