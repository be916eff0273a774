//! Round robin per packet (RFC 8260 section 3.3; `SCTP_SS_RR_PKT`, usrsctp `SCTP_SS_ROUND_ROBIN_PACKET`): the streams in
//! turn, a packet each, so that a lost packet holds up one stream only.
//!
//! What is retransmitted fills packets as ever; the rule is for new messages.

use super::{StreamRank, StreamTurn};

/// Behind all others; asked only for the message that begins a packet.
pub(super) fn rank(turn: &StreamTurn) -> StreamRank {
    turn.count.into()
}

/// What may join a packet that has new messages of `stream`: more of it, if it has any.
pub(super) fn goes_on(stream: u16, has_more: bool) -> Option<u16> {
    has_more.then_some(stream)
}
