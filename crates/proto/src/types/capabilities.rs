//! Extensions that are negotiated in the handshake.

use bitflags::bitflags;

bitflags! {
    /// Extensions of SCTP that a side supports.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash)]
    pub(crate) struct Capabilities: u32 {
        /// AUTH (RFC 4895).
        const AUTH = 1;
        /// ASCONF (RFC 5061).
        const ASCONF = 1 << 1;
        /// RE-CONFIG (RFC 6525).
        const RE_CONFIG = 1 << 2;
        /// FORWARD-TSN (RFC 3758).
        const FORWARD_TSN = 1 << 3;
        /// I-DATA (RFC 8260).
        const I_DATA = 1 << 4;
        /// I-FORWARD-TSN (RFC 8260).
        const I_FORWARD_TSN = 1 << 5;
        /// NR-SACK (draft-tuexen-tsvwg-sctp-multipath section 4).
        const NR_SACK = 1 << 6;
        /// PKTDROP (draft-stewart-sctp-pktdrprep).
        const PACKET_DROP = 1 << 7;
        /// ASCONF-ACK (RFC 5061).
        const ASCONF_ACK = 1 << 8;
        /// Paths from addresses that INIT did not list (private).
        const ADDRESS_JOIN = 1 << 16;
        /// A checksum of zero, where DTLS detects errors (RFC 9653).
        const ZERO_CHECKSUM = 1 << 17;
        /// Explicit congestion notification (draft-stewart-tsvwg-sctpecn).
        const ECN = 1 << 18;
    }
}
