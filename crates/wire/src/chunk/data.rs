//! DATA and I-DATA.

use bitflags::bitflags;

use crate::Payload;

bitflags! {
    /// Flags of DATA and I-DATA chunks.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash)]
    pub struct DataFlags: u8 {
        /// E: last fragment of a message.
        const END = 0x01;
        /// B: first fragment of a message.
        const BEGIN = 0x02;
        /// U: deliver without regard to order.
        const UNORDERED = 0x04;
        /// I: acknowledge at once (RFC 7053, RFC 9260).
        const IMMEDIATE = 0x08;
        /// Reserved bits are carried along.
        const _ = !0;
    }
}

/// DATA chunk (RFC 9260 section 3.3.1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Data<'a> {
    /// U, B, E and I bits.
    pub flags: DataFlags,
    /// Transmission sequence number.
    pub tsn: u32,
    /// Stream identifier.
    pub stream: u16,
    /// Stream sequence number; meaningless with the U bit.
    pub ssn: u16,
    /// Payload protocol identifier, opaque to SCTP.
    pub ppid: u32,
    /// User data. Empty data is readable, but a violation (RFC 9260 section 6.2 tells how to answer it).
    pub payload: Payload<'a>,
}

/// I-DATA chunk (RFC 8260 section 2.1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IData<'a> {
    /// U, B, E and I bits.
    pub flags: DataFlags,
    /// Transmission sequence number.
    pub tsn: u32,
    /// Stream identifier.
    pub stream: u16,
    /// Message identifier.
    pub mid: u32,
    /// Payload protocol identifier in the first fragment (B), else the fragment sequence number.
    pub ppid_or_fsn: u32,
    /// User data. Empty data is readable, but a violation (RFC 9260 section 6.2 tells how to answer it).
    pub payload: Payload<'a>,
}
