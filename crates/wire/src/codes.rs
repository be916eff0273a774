//! Code points: chunk types, parameter types, error cause codes, and what to do with unknown ones.

/// What to do with a chunk or parameter of unknown type, told by its two highest bits
/// (RFC 9260 sections 3.2 and 3.2.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum UnknownAction {
    /// 00: stop; discard this one and all that follow in the packet or chunk.
    Stop,
    /// 01: stop, and report the unknown one.
    StopAndReport,
    /// 10: skip this one and go on.
    Skip,
    /// 11: skip this one, go on, and report it.
    SkipAndReport,
}

impl UnknownAction {
    /// The action for a chunk type.
    pub const fn of_chunk(chunk_type: u8) -> Self {
        Self::of_bits(chunk_type >> 6)
    }

    /// The action for a parameter type.
    pub const fn of_parameter(parameter_type: u16) -> Self {
        Self::of_bits((parameter_type >> 14) as u8)
    }

    /// Whether the rest of the packet or chunk is still to be processed.
    pub const fn continues(self) -> bool {
        matches!(self, Self::Skip | Self::SkipAndReport)
    }

    /// Whether the peer is to be told.
    pub const fn reports(self) -> bool {
        matches!(self, Self::StopAndReport | Self::SkipAndReport)
    }

    const fn of_bits(bits: u8) -> Self {
        match bits & 3 {
            0 => Self::Stop,
            1 => Self::StopAndReport,
            2 => Self::Skip,
            _ => Self::SkipAndReport,
        }
    }
}

/// Chunk types.
pub mod chunk_type {
    /// DATA (RFC 9260).
    pub const DATA: u8 = 0;
    /// INIT (RFC 9260).
    pub const INIT: u8 = 1;
    /// INIT ACK (RFC 9260).
    pub const INIT_ACK: u8 = 2;
    /// SACK (RFC 9260).
    pub const SACK: u8 = 3;
    /// HEARTBEAT (RFC 9260).
    pub const HEARTBEAT: u8 = 4;
    /// HEARTBEAT ACK (RFC 9260).
    pub const HEARTBEAT_ACK: u8 = 5;
    /// ABORT (RFC 9260).
    pub const ABORT: u8 = 6;
    /// SHUTDOWN (RFC 9260).
    pub const SHUTDOWN: u8 = 7;
    /// SHUTDOWN ACK (RFC 9260).
    pub const SHUTDOWN_ACK: u8 = 8;
    /// ERROR (RFC 9260).
    pub const ERROR: u8 = 9;
    /// COOKIE ECHO (RFC 9260).
    pub const COOKIE_ECHO: u8 = 10;
    /// COOKIE ACK (RFC 9260).
    pub const COOKIE_ACK: u8 = 11;
    /// ECNE (reserved by RFC 9260, draft-stewart-tsvwg-sctpecn).
    pub const ECNE: u8 = 12;
    /// CWR (reserved by RFC 9260, draft-stewart-tsvwg-sctpecn).
    pub const CWR: u8 = 13;
    /// SHUTDOWN COMPLETE (RFC 9260).
    pub const SHUTDOWN_COMPLETE: u8 = 14;
    /// AUTH (RFC 4895).
    pub const AUTH: u8 = 15;
    /// NR-SACK (draft-tuexen-tsvwg-sctp-multipath, not registered at IANA).
    pub const NR_SACK: u8 = 16;
    /// I-DATA (RFC 8260).
    pub const I_DATA: u8 = 64;
    /// ASCONF-ACK (RFC 5061).
    pub const ASCONF_ACK: u8 = 128;
    /// PKTDROP (draft-stewart-sctp-pktdrprep, not registered at IANA).
    pub const PACKET_DROP: u8 = 129;
    /// RE-CONFIG (RFC 6525).
    pub const RE_CONFIG: u8 = 130;
    /// PAD (RFC 4820).
    pub const PAD: u8 = 132;
    /// FORWARD-TSN (RFC 3758).
    pub const FORWARD_TSN: u8 = 192;
    /// ASCONF (RFC 5061).
    pub const ASCONF: u8 = 193;
    /// I-FORWARD-TSN (RFC 8260).
    pub const I_FORWARD_TSN: u8 = 194;
}

/// Parameter types.
pub mod parameter_type {
    /// Heartbeat info (RFC 9260).
    pub const HEARTBEAT_INFO: u16 = 1;
    /// IPv4 address (RFC 9260).
    pub const IPV4: u16 = 5;
    /// IPv6 address (RFC 9260).
    pub const IPV6: u16 = 6;
    /// State cookie (RFC 9260).
    pub const STATE_COOKIE: u16 = 7;
    /// Unrecognized parameter (RFC 9260).
    pub const UNRECOGNIZED: u16 = 8;
    /// Cookie preservative (RFC 9260).
    pub const COOKIE_PRESERVATIVE: u16 = 9;
    /// Host name address (deprecated by RFC 9260).
    pub const HOST_NAME: u16 = 11;
    /// Supported address types (RFC 9260).
    pub const SUPPORTED_ADDRESS_TYPES: u16 = 12;
    /// Outgoing SSN reset request (RFC 6525).
    pub const OUTGOING_SSN_RESET: u16 = 13;
    /// Incoming SSN reset request (RFC 6525).
    pub const INCOMING_SSN_RESET: u16 = 14;
    /// SSN/TSN reset request (RFC 6525).
    pub const SSN_TSN_RESET: u16 = 15;
    /// Re-configuration response (RFC 6525).
    pub const RE_CONFIG_RESPONSE: u16 = 16;
    /// Add outgoing streams request (RFC 6525).
    pub const ADD_OUTGOING_STREAMS: u16 = 17;
    /// Add incoming streams request (RFC 6525).
    pub const ADD_INCOMING_STREAMS: u16 = 18;
    /// ECN capable (reserved by RFC 9260).
    pub const ECN_CAPABLE: u16 = 0x8000;
    /// Zero checksum acceptable (RFC 9653).
    pub const ZERO_CHECKSUM: u16 = 0x8001;
    /// RANDOM (RFC 4895).
    pub const RANDOM: u16 = 0x8002;
    /// CHUNKS (RFC 4895).
    pub const CHUNKS: u16 = 0x8003;
    /// HMAC-ALGO (RFC 4895).
    pub const HMAC_ALGO: u16 = 0x8004;
    /// Padding (RFC 4820).
    pub const PADDING: u16 = 0x8005;
    /// Supported extensions (RFC 5061).
    pub const SUPPORTED_EXTENSIONS: u16 = 0x8008;
    /// Forward-TSN supported (RFC 3758).
    pub const FORWARD_TSN_SUPPORTED: u16 = 0xC000;
    /// Add IP address (RFC 5061).
    pub const ADD_IP: u16 = 0xC001;
    /// Delete IP address (RFC 5061).
    pub const DELETE_IP: u16 = 0xC002;
    /// Error cause indication (RFC 5061).
    pub const ERROR_CAUSE_INDICATION: u16 = 0xC003;
    /// Set primary address (RFC 5061).
    pub const SET_PRIMARY: u16 = 0xC004;
    /// Success indication (RFC 5061).
    pub const SUCCESS_INDICATION: u16 = 0xC005;
    /// Adaptation layer indication (RFC 5061).
    pub const ADAPTATION_INDICATION: u16 = 0xC006;
}

/// Methods of error detection other than the CRC32c (EDMID, RFC 9653 section 8).
pub mod error_detection {
    /// SCTP over DTLS (RFC 9653 section 6).
    pub const SCTP_OVER_DTLS: u32 = 1;
}

/// Error cause codes.
pub mod cause_code {
    /// Invalid stream identifier (RFC 9260).
    pub const INVALID_STREAM: u16 = 1;
    /// Missing mandatory parameter (RFC 9260).
    pub const MISSING_PARAMETER: u16 = 2;
    /// Stale cookie (RFC 9260).
    pub const STALE_COOKIE: u16 = 3;
    /// Out of resource (RFC 9260).
    pub const OUT_OF_RESOURCE: u16 = 4;
    /// Unresolvable address (RFC 9260).
    pub const UNRESOLVABLE_ADDRESS: u16 = 5;
    /// Unrecognized chunk type (RFC 9260).
    pub const UNRECOGNIZED_CHUNK: u16 = 6;
    /// Invalid mandatory parameter (RFC 9260).
    pub const INVALID_PARAMETER: u16 = 7;
    /// Unrecognized parameters (RFC 9260).
    pub const UNRECOGNIZED_PARAMETERS: u16 = 8;
    /// No user data (RFC 9260).
    pub const NO_USER_DATA: u16 = 9;
    /// Cookie received while shutting down (RFC 9260).
    pub const COOKIE_WHILE_SHUTTING_DOWN: u16 = 10;
    /// Restart of an association with new addresses (RFC 9260).
    pub const RESTART_WITH_NEW_ADDRESSES: u16 = 11;
    /// User-initiated abort (RFC 9260).
    pub const USER_INITIATED_ABORT: u16 = 12;
    /// Protocol violation (RFC 9260).
    pub const PROTOCOL_VIOLATION: u16 = 13;
    /// Request to delete the last remaining IP address (RFC 5061).
    pub const DELETE_LAST_ADDRESS: u16 = 0xA0;
    /// Operation refused due to resource shortage (RFC 5061).
    pub const RESOURCE_SHORTAGE: u16 = 0xA1;
    /// Request to delete the source IP address (RFC 5061).
    pub const DELETE_SOURCE_ADDRESS: u16 = 0xA2;
    /// Association aborted due to illegal ASCONF-ACK (RFC 5061).
    pub const ILLEGAL_ASCONF_ACK: u16 = 0xA3;
    /// Request refused, no authorization (RFC 5061).
    pub const NO_AUTHORIZATION: u16 = 0xA4;
    /// Unsupported HMAC identifier (RFC 4895).
    pub const UNSUPPORTED_HMAC: u16 = 0x105;
}
