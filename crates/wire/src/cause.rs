//! Error causes (RFC 9260 section 3.3.10 and extensions).

use alloc::vec::Vec;

use bytes::Bytes;

use crate::codes::cause_code as c;
use crate::error::TlvError;
use crate::tlv::{self, Tlv, Tlvs, U16List};
use crate::{Causes, Raw};

/// One error cause.
///
/// A cause of known code whose value does not have the form of that code is handed out as [`Cause::Unknown`]: what a
/// peer says when it gives up shall not be lost for its wording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cause<'a> {
    /// DATA for a stream that does not exist (RFC 9260 section 3.3.10.1).
    InvalidStream {
        /// The stream identifier.
        stream: u16,
    },
    /// Parameter types missing in INIT or INIT ACK (RFC 9260 section 3.3.10.2).
    MissingParameters(U16List<'a>),
    /// The cookie expired this many microseconds ago (RFC 9260 section 3.3.10.3).
    StaleCookie {
        /// Measure of staleness in microseconds.
        staleness_us: u32,
    },
    /// Out of resource (RFC 9260 section 3.3.10.4).
    OutOfResource,
    /// An address parameter that the receiver cannot use (RFC 9260 section 3.3.10.5).
    UnresolvableAddress(&'a [u8]),
    /// The chunk that was not understood, complete with its header (RFC 9260 section 3.3.10.6).
    UnrecognizedChunk(&'a [u8]),
    /// A mandatory parameter has an invalid value (RFC 9260 section 3.3.10.7).
    InvalidParameter,
    /// Parameters that were not understood, complete with their headers (RFC 9260 section 3.3.10.8).
    UnrecognizedParameters(&'a [u8]),
    /// DATA without user data (RFC 9260 section 3.3.10.9).
    NoUserData {
        /// TSN of the chunk.
        tsn: u32,
    },
    /// COOKIE ECHO received in SHUTDOWN-ACK-SENT (RFC 9260 section 3.3.10.10).
    CookieWhileShuttingDown,
    /// Address parameters that an INIT for an existing association added (RFC 9260 section 3.3.10.11).
    RestartWithNewAddresses(&'a [u8]),
    /// The user aborted, with the reason it gave (RFC 9260 section 3.3.10.12).
    UserInitiatedAbort(&'a [u8]),
    /// Protocol violation, with additional information (RFC 9260 section 3.3.10.13).
    ProtocolViolation(&'a [u8]),
    /// Request to delete the last remaining address: the parameter (RFC 5061 section 4.3.1).
    DeleteLastAddress(&'a [u8]),
    /// Operation refused due to resource shortage: the parameter (RFC 5061 section 4.3.2).
    ResourceShortage(&'a [u8]),
    /// Request to delete the source address: the parameter (RFC 5061 section 4.3.3).
    DeleteSourceAddress(&'a [u8]),
    /// Association aborted due to an illegal ASCONF-ACK (RFC 5061 section 4.3.4).
    IllegalAsconfAck,
    /// Request refused, no authorization: the parameter (RFC 5061 section 4.3.5).
    NoAuthorization(&'a [u8]),
    /// Unsupported HMAC identifier (RFC 4895 section 4.2).
    UnsupportedHmac {
        /// The identifier.
        hmac_id: u16,
    },
    /// A code not known here, or a value of unexpected form.
    Unknown {
        /// Cause code.
        code: u16,
        /// Cause-specific information.
        value: &'a [u8],
    },
}

/// Iterator over the causes of a [`Causes`].
#[derive(Clone)]
pub struct CauseIter<'a>(Tlvs<'a>);

impl<'a> Causes<'a> {
    /// No causes.
    pub const fn empty() -> Self {
        Self(Raw::Borrowed(&[]))
    }

    /// Reads a list as it stands on the wire. Padding after the last cause may be there or not.
    pub fn parse(list: &'a [u8]) -> Result<Self, TlvError> {
        let mut tlvs = Tlvs::new(list);
        while let Some(cause) = tlvs.next_as(Cause::read) {
            cause?;
        }
        Ok(Self(Raw::Borrowed(list)))
    }

    /// Writes a list. All causes but the last one are padded.
    ///
    /// The value of a cause longer than 65,528 bytes is cut there; no chunk can carry so much.
    pub fn build<'c>(causes: impl IntoIterator<Item = Cause<'c>>) -> Causes<'static> {
        let mut out = Vec::new();
        for cause in causes {
            tlv::append(&mut out, cause.code(), |out| cause.append_value(out));
        }
        Causes(Raw::Shared(Bytes::from(out)))
    }

    /// The causes in order.
    pub fn iter(&self) -> CauseIter<'_> {
        CauseIter(Tlvs::new(self.0.as_slice()))
    }

    /// The list as it stands on the wire, without chunk padding.
    pub fn as_slice(&self) -> &[u8] {
        self.0.as_slice()
    }

    /// Whether there is no cause.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Copies what is borrowed.
    pub fn into_owned(self) -> Causes<'static> {
        Causes(self.0.into_owned())
    }
}

impl Default for Causes<'_> {
    fn default() -> Self {
        Self::empty()
    }
}

impl<'a> Iterator for CauseIter<'a> {
    type Item = Cause<'a>;

    fn next(&mut self) -> Option<Cause<'a>> {
        // The list went through the same reader when it was parsed.
        self.0.next_as(Cause::read)?.ok()
    }
}

impl<'a> IntoIterator for &'a Causes<'_> {
    type Item = Cause<'a>;
    type IntoIter = CauseIter<'a>;

    fn into_iter(self) -> CauseIter<'a> {
        self.iter()
    }
}

impl<'a> Cause<'a> {
    /// Cause code.
    pub fn code(&self) -> u16 {
        match self {
            Self::InvalidStream { .. } => c::INVALID_STREAM,
            Self::MissingParameters(_) => c::MISSING_PARAMETER,
            Self::StaleCookie { .. } => c::STALE_COOKIE,
            Self::OutOfResource => c::OUT_OF_RESOURCE,
            Self::UnresolvableAddress(_) => c::UNRESOLVABLE_ADDRESS,
            Self::UnrecognizedChunk(_) => c::UNRECOGNIZED_CHUNK,
            Self::InvalidParameter => c::INVALID_PARAMETER,
            Self::UnrecognizedParameters(_) => c::UNRECOGNIZED_PARAMETERS,
            Self::NoUserData { .. } => c::NO_USER_DATA,
            Self::CookieWhileShuttingDown => c::COOKIE_WHILE_SHUTTING_DOWN,
            Self::RestartWithNewAddresses(_) => c::RESTART_WITH_NEW_ADDRESSES,
            Self::UserInitiatedAbort(_) => c::USER_INITIATED_ABORT,
            Self::ProtocolViolation(_) => c::PROTOCOL_VIOLATION,
            Self::DeleteLastAddress(_) => c::DELETE_LAST_ADDRESS,
            Self::ResourceShortage(_) => c::RESOURCE_SHORTAGE,
            Self::DeleteSourceAddress(_) => c::DELETE_SOURCE_ADDRESS,
            Self::IllegalAsconfAck => c::ILLEGAL_ASCONF_ACK,
            Self::NoAuthorization(_) => c::NO_AUTHORIZATION,
            Self::UnsupportedHmac { .. } => c::UNSUPPORTED_HMAC,
            Self::Unknown { code, .. } => *code,
        }
    }

    /// The cause in `tlv`. Every value is readable; see the type.
    fn read(tlv: Tlv<'a>) -> Option<Self> {
        let value = tlv.value;
        Some(match (tlv.code, value) {
            // The two bytes behind the stream are reserved.
            (c::INVALID_STREAM, &[high, low, _, _]) => {
                Self::InvalidStream { stream: u16::from_be_bytes([high, low]) }
            }
            (c::MISSING_PARAMETER, &[n0, n1, n2, n3, ref types @ ..])
                if types.len() as u64 == u64::from(u32::from_be_bytes([n0, n1, n2, n3])) * 2 =>
            {
                Self::MissingParameters(U16List::Wire(types))
            }
            (c::STALE_COOKIE, &[a, b, c, d]) => {
                Self::StaleCookie { staleness_us: u32::from_be_bytes([a, b, c, d]) }
            }
            (c::OUT_OF_RESOURCE, []) => Self::OutOfResource,
            (c::UNRESOLVABLE_ADDRESS, _) => Self::UnresolvableAddress(value),
            (c::UNRECOGNIZED_CHUNK, _) => Self::UnrecognizedChunk(value),
            (c::INVALID_PARAMETER, []) => Self::InvalidParameter,
            (c::UNRECOGNIZED_PARAMETERS, _) => Self::UnrecognizedParameters(value),
            (c::NO_USER_DATA, &[a, b, c, d]) => {
                Self::NoUserData { tsn: u32::from_be_bytes([a, b, c, d]) }
            }
            (c::COOKIE_WHILE_SHUTTING_DOWN, []) => Self::CookieWhileShuttingDown,
            (c::RESTART_WITH_NEW_ADDRESSES, _) => Self::RestartWithNewAddresses(value),
            (c::USER_INITIATED_ABORT, _) => Self::UserInitiatedAbort(value),
            (c::PROTOCOL_VIOLATION, _) => Self::ProtocolViolation(value),
            (c::DELETE_LAST_ADDRESS, _) => Self::DeleteLastAddress(value),
            (c::RESOURCE_SHORTAGE, _) => Self::ResourceShortage(value),
            (c::DELETE_SOURCE_ADDRESS, _) => Self::DeleteSourceAddress(value),
            (c::ILLEGAL_ASCONF_ACK, []) => Self::IllegalAsconfAck,
            (c::NO_AUTHORIZATION, _) => Self::NoAuthorization(value),
            (c::UNSUPPORTED_HMAC, &[high, low]) => {
                Self::UnsupportedHmac { hmac_id: u16::from_be_bytes([high, low]) }
            }
            (code, _) => Self::Unknown { code, value },
        })
    }

    fn append_value(&self, out: &mut Vec<u8>) {
        match self {
            Self::InvalidStream { stream } => {
                out.extend_from_slice(&stream.to_be_bytes());
                out.extend_from_slice(&[0, 0]);
            }
            Self::MissingParameters(types) => {
                out.extend_from_slice(&(types.len() as u32).to_be_bytes());
                types.append_to(out);
            }
            Self::StaleCookie { staleness_us: number } | Self::NoUserData { tsn: number } => {
                out.extend_from_slice(&number.to_be_bytes());
            }
            Self::OutOfResource
            | Self::InvalidParameter
            | Self::CookieWhileShuttingDown
            | Self::IllegalAsconfAck => {}
            Self::UnresolvableAddress(bytes)
            | Self::UnrecognizedChunk(bytes)
            | Self::UnrecognizedParameters(bytes)
            | Self::RestartWithNewAddresses(bytes)
            | Self::UserInitiatedAbort(bytes)
            | Self::ProtocolViolation(bytes)
            | Self::DeleteLastAddress(bytes)
            | Self::ResourceShortage(bytes)
            | Self::DeleteSourceAddress(bytes)
            | Self::NoAuthorization(bytes)
            | Self::Unknown { value: bytes, .. } => out.extend_from_slice(bytes),
            Self::UnsupportedHmac { hmac_id } => out.extend_from_slice(&hmac_id.to_be_bytes()),
        }
    }
}
