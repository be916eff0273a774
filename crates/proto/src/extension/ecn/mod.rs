//! Explicit congestion notification (draft-stewart-tsvwg-sctpecn-05, RFC 3168 on the side of IP): a queue marks a packet with new DATA
//! instead of dropping it, the receiver echoes the mark (ECNE), and the sender reduces the congestion window of the path and
//! confirms it (CWR).
//!
//! A mark belongs to the path of the DATA chunk whose TSN the echo names. Retransmissions, copies of data and packets
//! without DATA are never ECN-capable (sections 5.4 and 5.5), so that nothing marks them.

pub(crate) mod echo;
pub(crate) mod reaction;
