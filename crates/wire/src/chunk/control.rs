//! Control chunks.

use core::net::IpAddr;

use crate::{Causes, Parameters, Raw, UnknownAction};

/// INIT and INIT ACK (RFC 9260 sections 3.3.2, 3.3.3).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Init<'a> {
    /// Verification tag that the sender wants in packets to it; never 0 in a valid chunk.
    pub initiate_tag: u32,
    /// Advertised receiver window in bytes.
    pub a_rwnd: u32,
    /// Outbound streams wanted.
    pub outbound_streams: u16,
    /// Most inbound streams accepted.
    pub inbound_streams: u16,
    /// First TSN that the sender will use.
    pub initial_tsn: u32,
    /// Parameters.
    pub parameters: Parameters<'a>,
}

/// ABORT (RFC 9260 section 3.3.7).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Abort<'a> {
    /// T bit: the verification tag is reflected.
    pub reflected_tag: bool,
    /// Error causes.
    pub causes: Causes<'a>,
}

/// ECNE (draft-stewart-tsvwg-sctpecn section 4.1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ecne {
    /// Lowest TSN that arrived marked.
    pub lowest_tsn: u32,
    /// Number of marked packets, absent in the form of RFC 2960.
    pub marked_packets: Option<u32>,
}

/// CWR (draft-stewart-tsvwg-sctpecn section 4.2).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cwr {
    /// Override flag (0x01).
    pub override_mark: bool,
    /// TSN that the reduction answers.
    pub tsn: u32,
}

/// AUTH (RFC 4895 section 4.1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Auth<'a> {
    /// Shared key identifier.
    pub shared_key_id: u16,
    /// HMAC identifier (1 SHA-1, 3 SHA-256).
    pub hmac_id: u16,
    /// The message authentication code.
    pub hmac: Raw<'a>,
}

/// ASCONF (RFC 5061 section 4.1.1): the address parameter first, then the requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asconf<'a> {
    /// Serial number.
    pub serial: u32,
    /// Address parameter followed by ASCONF parameters.
    pub parameters: Parameters<'a>,
}

/// ASCONF-ACK (RFC 5061 section 4.1.2).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AsconfAck<'a> {
    /// Serial number of the answered request.
    pub serial: u32,
    /// Responses.
    pub parameters: Parameters<'a>,
}

/// PKTDROP (draft-stewart-sctp-pktdrprep).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PacketDrop<'a> {
    /// M 0x01, B 0x02, T 0x04, C 0x08.
    pub flags: u8,
    /// Bottleneck bandwidth (bytes per second) or receive buffer limit (bytes).
    pub bandwidth_or_limit: u32,
    /// Bytes in the queue or in the receive buffer.
    pub queued: u32,
    /// Original length of a truncated packet, else 0.
    pub truncated_length: u16,
    /// Reserved field, carried along.
    pub reserved: u16,
    /// The dropped packet from its common header on.
    pub packet: Raw<'a>,
}

/// A chunk of unknown type; its two highest type bits say what to do with it (RFC 9260 section 3.2).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownChunk<'a> {
    /// Chunk type.
    pub chunk_type: u8,
    /// Chunk flags.
    pub flags: u8,
    /// Chunk value.
    pub value: Raw<'a>,
}

impl Asconf<'_> {
    /// The address parameter that the list begins with; `None` when it begins with something else.
    pub fn address(&self) -> Option<IpAddr> {
        self.parameters.iter().next()?.address()
    }
}

impl UnknownChunk<'_> {
    /// What to do with the chunk.
    pub fn action(&self) -> UnknownAction {
        UnknownAction::of_chunk(self.chunk_type)
    }
}
