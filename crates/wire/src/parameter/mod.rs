//! Parameters (RFC 9260 section 3.2.1 and extensions).

mod build;
mod parse;

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::codes::parameter_type;
use crate::error::TlvError;
use crate::tlv::{Tlvs, U16List};
use crate::{Causes, Parameters, Raw};

/// One parameter.
///
/// Values without a fixed form stay byte slices of the list that they came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Parameter<'a> {
    /// Opaque information of the sender of a HEARTBEAT (RFC 9260 section 3.3.5).
    HeartbeatInfo(&'a [u8]),
    /// IPv4 address (RFC 9260 section 3.3.2.1.1).
    Ipv4(Ipv4Addr),
    /// IPv6 address (RFC 9260 section 3.3.2.1.2).
    Ipv6(Ipv6Addr),
    /// State cookie (RFC 9260 section 3.3.3.1.1).
    StateCookie(&'a [u8]),
    /// A parameter of the peer that was not understood, complete with its header (RFC 9260 section 3.3.3.1.2).
    Unrecognized(&'a [u8]),
    /// Cookie preservative: wanted increase of the cookie's life span in milliseconds (RFC 9260 section 3.3.2.1.3).
    CookiePreservative(u32),
    /// Host name address, deprecated; a receiver aborts (RFC 9260 section 3.3.2.1.4).
    HostName(&'a [u8]),
    /// Supported address types, each the type of an address parameter (RFC 9260 section 3.3.2.1.5).
    SupportedAddressTypes(U16List<'a>),
    /// Outgoing SSN reset request (RFC 6525 section 4.1).
    OutgoingSsnReset {
        /// Sequence number of this request.
        request_sequence: u32,
        /// Sequence number of the peer's request that this one answers.
        response_sequence: u32,
        /// Last TSN that the sender assigned.
        last_tsn: u32,
        /// Streams to reset; all when empty.
        streams: U16List<'a>,
    },
    /// Incoming SSN reset request (RFC 6525 section 4.2).
    IncomingSsnReset {
        /// Sequence number of this request.
        request_sequence: u32,
        /// Streams to reset; all when empty.
        streams: U16List<'a>,
    },
    /// SSN/TSN reset request (RFC 6525 section 4.3).
    SsnTsnReset {
        /// Sequence number of this request.
        request_sequence: u32,
    },
    /// Re-configuration response (RFC 6525 section 4.4).
    ReConfigResponse {
        /// Sequence number of the answered request.
        response_sequence: u32,
        /// 0 nothing to do, 1 performed, 2 denied, 3 wrong SSN, 4 another in progress, 5 bad sequence number,
        /// 6 in progress.
        result: u32,
        /// TSNs from which both sides go on, in answers to an SSN/TSN reset.
        next_tsns: Option<NextTsns>,
    },
    /// Add outgoing streams request (RFC 6525 section 4.5).
    AddOutgoingStreams {
        /// Sequence number of this request.
        request_sequence: u32,
        /// Count of additional streams.
        new_streams: u16,
    },
    /// Add incoming streams request (RFC 6525 section 4.6).
    AddIncomingStreams {
        /// Sequence number of this request.
        request_sequence: u32,
        /// Count of additional streams.
        new_streams: u16,
    },
    /// ECN capable (reserved by RFC 9260, draft-stewart-tsvwg-sctpecn section 4.1).
    EcnCapable,
    /// Zero checksum acceptable, with the identifier of the alternate error detection method (RFC 9653 section 4).
    ZeroChecksumAcceptable(u32),
    /// Random number for the key of AUTH (RFC 4895 section 3.1).
    Random(&'a [u8]),
    /// Chunk types to be authenticated (RFC 4895 section 3.2).
    Chunks(&'a [u8]),
    /// HMAC identifiers, the preferred one first (RFC 4895 section 3.3).
    HmacAlgorithms(U16List<'a>),
    /// Padding (RFC 4820 section 4).
    Padding(&'a [u8]),
    /// Supported extensions: chunk types (RFC 5061 section 4.2.7).
    SupportedExtensions(&'a [u8]),
    /// Forward-TSN supported (RFC 3758 section 3.1).
    ForwardTsnSupported,
    /// Add IP address (RFC 5061 section 4.2.1).
    AddIp {
        /// Identifier that the answer repeats.
        correlation_id: u32,
        /// The address; unspecified means the source of the packet.
        address: IpAddr,
    },
    /// Delete IP address (RFC 5061 section 4.2.2).
    DeleteIp {
        /// Identifier that the answer repeats.
        correlation_id: u32,
        /// The address; unspecified means all but the source of the packet.
        address: IpAddr,
    },
    /// Error cause indication (RFC 5061 section 4.2.3).
    ErrorCauseIndication {
        /// Identifier of the request.
        correlation_id: u32,
        /// What was wrong.
        causes: Causes<'a>,
    },
    /// Set primary address (RFC 5061 section 4.2.4). In INIT and INIT ACK the correlation identifier is 0.
    SetPrimary {
        /// Identifier that the answer repeats.
        correlation_id: u32,
        /// The address; unspecified means the source of the packet.
        address: IpAddr,
    },
    /// Success indication (RFC 5061 section 4.2.5).
    SuccessIndication {
        /// Identifier of the request.
        correlation_id: u32,
    },
    /// Adaptation layer indication (RFC 5061 section 4.2.6).
    AdaptationIndication(u32),
    /// A type not known here; see [`UnknownAction::of_parameter`](crate::UnknownAction::of_parameter).
    Unknown {
        /// Parameter type.
        parameter_type: u16,
        /// Parameter value.
        value: &'a [u8],
    },
}

/// TSNs from which the sides go on after an SSN/TSN reset (RFC 6525 section 4.4).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NextTsns {
    /// Next TSN that the sender of the response will use.
    pub sender: u32,
    /// Next TSN that the receiver of the response shall use.
    pub receiver: u32,
}

/// Iterator over the parameters of a [`Parameters`].
#[derive(Clone)]
pub struct ParameterIter<'a>(Tlvs<'a>);

impl<'a> Parameters<'a> {
    /// No parameters.
    pub const fn empty() -> Self {
        Self(Raw::Borrowed(&[]))
    }

    /// Reads a list as it stands on the wire. Padding after the last parameter may be there or not.
    pub fn parse(list: &'a [u8]) -> Result<Self, TlvError> {
        let mut tlvs = Tlvs::new(list);
        while let Some(parameter) = tlvs.next_as(Parameter::read) {
            parameter?;
        }
        Ok(Self(Raw::Borrowed(list)))
    }

    /// Writes a list. All parameters but the last one are padded.
    ///
    /// The value of a parameter longer than 65,528 bytes is cut there; no chunk can carry so much.
    pub fn build<'p>(parameters: impl IntoIterator<Item = Parameter<'p>>) -> Parameters<'static> {
        Parameters(build::list(parameters))
    }

    /// The parameters in order.
    pub fn iter(&self) -> ParameterIter<'_> {
        ParameterIter(Tlvs::new(self.0.as_slice()))
    }

    /// The addresses among the parameters, in order.
    pub fn addresses(&self) -> impl Iterator<Item = IpAddr> + '_ {
        self.iter().filter_map(|parameter| parameter.address())
    }

    /// The state cookie.
    pub fn state_cookie(&self) -> Option<&[u8]> {
        self.iter().find_map(|parameter| match parameter {
            Parameter::StateCookie(cookie) => Some(cookie),
            _ => None,
        })
    }

    /// The value of the first heartbeat info parameter.
    pub fn heartbeat_info(&self) -> Option<&[u8]> {
        self.iter().find_map(|parameter| match parameter {
            Parameter::HeartbeatInfo(info) => Some(info),
            _ => None,
        })
    }

    /// The list as it stands on the wire, without chunk padding.
    pub fn as_slice(&self) -> &[u8] {
        self.0.as_slice()
    }

    /// Whether there is no parameter.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Copies what is borrowed.
    pub fn into_owned(self) -> Parameters<'static> {
        Parameters(self.0.into_owned())
    }
}

impl Default for Parameters<'_> {
    fn default() -> Self {
        Self::empty()
    }
}

impl<'a> Iterator for ParameterIter<'a> {
    type Item = Parameter<'a>;

    fn next(&mut self) -> Option<Parameter<'a>> {
        // The list went through the same reader when it was parsed.
        self.0.next_as(Parameter::read)?.ok()
    }
}

impl<'a> IntoIterator for &'a Parameters<'_> {
    type Item = Parameter<'a>;
    type IntoIter = ParameterIter<'a>;

    fn into_iter(self) -> ParameterIter<'a> {
        self.iter()
    }
}

impl Parameter<'_> {
    /// The address of an IPv4 or IPv6 address parameter.
    pub fn address(&self) -> Option<IpAddr> {
        match *self {
            Self::Ipv4(address) => Some(address.into()),
            Self::Ipv6(address) => Some(address.into()),
            _ => None,
        }
    }

    /// Parameter type.
    pub fn parameter_type(&self) -> u16 {
        use parameter_type as t;
        match self {
            Self::HeartbeatInfo(_) => t::HEARTBEAT_INFO,
            Self::Ipv4(_) => t::IPV4,
            Self::Ipv6(_) => t::IPV6,
            Self::StateCookie(_) => t::STATE_COOKIE,
            Self::Unrecognized(_) => t::UNRECOGNIZED,
            Self::CookiePreservative(_) => t::COOKIE_PRESERVATIVE,
            Self::HostName(_) => t::HOST_NAME,
            Self::SupportedAddressTypes(_) => t::SUPPORTED_ADDRESS_TYPES,
            Self::OutgoingSsnReset { .. } => t::OUTGOING_SSN_RESET,
            Self::IncomingSsnReset { .. } => t::INCOMING_SSN_RESET,
            Self::SsnTsnReset { .. } => t::SSN_TSN_RESET,
            Self::ReConfigResponse { .. } => t::RE_CONFIG_RESPONSE,
            Self::AddOutgoingStreams { .. } => t::ADD_OUTGOING_STREAMS,
            Self::AddIncomingStreams { .. } => t::ADD_INCOMING_STREAMS,
            Self::EcnCapable => t::ECN_CAPABLE,
            Self::ZeroChecksumAcceptable(_) => t::ZERO_CHECKSUM,
            Self::Random(_) => t::RANDOM,
            Self::Chunks(_) => t::CHUNKS,
            Self::HmacAlgorithms(_) => t::HMAC_ALGO,
            Self::Padding(_) => t::PADDING,
            Self::SupportedExtensions(_) => t::SUPPORTED_EXTENSIONS,
            Self::ForwardTsnSupported => t::FORWARD_TSN_SUPPORTED,
            Self::AddIp { .. } => t::ADD_IP,
            Self::DeleteIp { .. } => t::DELETE_IP,
            Self::ErrorCauseIndication { .. } => t::ERROR_CAUSE_INDICATION,
            Self::SetPrimary { .. } => t::SET_PRIMARY,
            Self::SuccessIndication { .. } => t::SUCCESS_INDICATION,
            Self::AdaptationIndication(_) => t::ADAPTATION_INDICATION,
            Self::Unknown { parameter_type, .. } => *parameter_type,
        }
    }
}

impl From<IpAddr> for Parameter<'_> {
    fn from(address: IpAddr) -> Self {
        match address {
            IpAddr::V4(address) => Self::Ipv4(address),
            IpAddr::V6(address) => Self::Ipv6(address),
        }
    }
}
