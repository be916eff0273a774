//! Fair capacity (RFC 8260 section 3.5; `SCTP_SS_FC`, usrsctp `SCTP_SS_FAIR_BANDWITH`): equal bytes for each stream that has
//! messages, however long they are.
//!
//! Start-time fair queueing: Goyal, Vin and Cheng, "Start-Time Fair Queueing: A Scheduling Algorithm for Integrated
//! Services Packet Switching Networks", IEEE/ACM ToN 5(5), 1997. The rank of a stream is the virtual time at which its
//! next message starts; each message moves it on by its length. A stream that paused starts at the present virtual time,
//! so that it cannot save up.

use super::{StreamRank, StreamTurn};

/// Virtual start of the stream's next message.
pub(super) fn rank(turn: &StreamTurn) -> StreamRank {
    turn.rank.max(turn.served) + StreamRank::from(turn.bytes)
}
