//! Packet drop reports (PKTDROP): the receiver of a packet with a wrong checksum returns it, and its sender repairs
//! the loss at once, without reducing its congestion window, since damage is not congestion.
//!
//! draft-stewart-sctp-pktdrprep-16; `dreibholz-asymmetric` section II and figs. 5 to 8. usrsctp: `pktdrop_enable`; INET:
//! `packetDropReport`. Where draft and usrsctp differ, this follows usrsctp, the only implementation in use: the report carries the
//! packet from its common header on, and Supported Extensions announces support.

pub(crate) mod bottleneck;
pub(crate) mod carried;
pub(crate) mod repair;
pub(crate) mod report;

/// Flags of the chunk (draft-stewart-sctp-pktdrprep-16 section 3).
pub(crate) mod flags {
    /// M: a middlebox dropped the packet and made the report; it may carry the tag of the other direction.
    pub(crate) const MIDDLEBOX: u8 = 0x01;
    /// B: the checksum was wrong.
    pub(crate) const BAD_CHECKSUM: u8 = 0x02;
    /// T: the packet was truncated to fit the report.
    pub(crate) const TRUNCATED: u8 = 0x04;
    /// C: the numbers of a middlebox are in packets, not bytes.
    pub(crate) const PACKET_COUNTS: u8 = 0x08;
}

/// Bytes of the chunk before the carried packet.
const HEADER_BYTES: usize = 16;
