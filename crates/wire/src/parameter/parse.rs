//! Reading one parameter.

use core::net::IpAddr;

use super::{NextTsns, Parameter};
use crate::codes::parameter_type as t;
use crate::tlv::{Tlv, Tlvs, U16List};
use crate::{Causes, Raw};

impl<'a> Parameter<'a> {
    /// The parameter in `tlv`; `None` when the value does not have the form of its type.
    pub(crate) fn read(tlv: Tlv<'a>) -> Option<Self> {
        let value = tlv.value;
        Some(match tlv.code {
            t::HEARTBEAT_INFO => Self::HeartbeatInfo(value),
            t::IPV4 => Self::Ipv4(<[u8; 4]>::try_from(value).ok()?.into()),
            t::IPV6 => Self::Ipv6(<[u8; 16]>::try_from(value).ok()?.into()),
            t::STATE_COOKIE => Self::StateCookie(value),
            t::UNRECOGNIZED => Self::Unrecognized(value),
            t::COOKIE_PRESERVATIVE => Self::CookiePreservative(number(value)?),
            t::HOST_NAME => Self::HostName(value),
            t::SUPPORTED_ADDRESS_TYPES => Self::SupportedAddressTypes(U16List::from_wire(value)?),
            t::OUTGOING_SSN_RESET..=t::ADD_INCOMING_STREAMS => re_config(tlv)?,
            t::ECN_CAPABLE if value.is_empty() => Self::EcnCapable,
            t::ZERO_CHECKSUM => Self::ZeroChecksumAcceptable(number(value)?),
            t::RANDOM => Self::Random(value),
            t::CHUNKS => Self::Chunks(value),
            t::HMAC_ALGO => Self::HmacAlgorithms(U16List::from_wire(value)?),
            t::PADDING => Self::Padding(value),
            t::SUPPORTED_EXTENSIONS => Self::SupportedExtensions(value),
            t::FORWARD_TSN_SUPPORTED if value.is_empty() => Self::ForwardTsnSupported,
            t::ADD_IP..=t::SUCCESS_INDICATION => asconf(tlv)?,
            t::ADAPTATION_INDICATION => Self::AdaptationIndication(number(value)?),
            t::ECN_CAPABLE | t::FORWARD_TSN_SUPPORTED => return None,
            parameter_type => Self::Unknown { parameter_type, value },
        })
    }
}

/// Parameters of RE-CONFIG chunks.
fn re_config(tlv: Tlv<'_>) -> Option<Parameter<'_>> {
    let (request_sequence, rest) = split_number(tlv.value)?;
    Some(match tlv.code {
        t::OUTGOING_SSN_RESET => {
            let (response_sequence, rest) = split_number(rest)?;
            let (last_tsn, rest) = split_number(rest)?;
            let streams = U16List::from_wire(rest)?;
            Parameter::OutgoingSsnReset { request_sequence, response_sequence, last_tsn, streams }
        }
        t::INCOMING_SSN_RESET => {
            let streams = U16List::from_wire(rest)?;
            Parameter::IncomingSsnReset { request_sequence, streams }
        }
        t::SSN_TSN_RESET if rest.is_empty() => Parameter::SsnTsnReset { request_sequence },
        t::RE_CONFIG_RESPONSE => {
            let (result, rest) = split_number(rest)?;
            let next_tsns = match rest {
                [] => None,
                _ => {
                    let (sender, rest) = split_number(rest)?;
                    Some(NextTsns { sender, receiver: number(rest)? })
                }
            };
            Parameter::ReConfigResponse { response_sequence: request_sequence, result, next_tsns }
        }
        t::ADD_OUTGOING_STREAMS => {
            Parameter::AddOutgoingStreams { request_sequence, new_streams: stream_count(rest)? }
        }
        t::ADD_INCOMING_STREAMS => {
            Parameter::AddIncomingStreams { request_sequence, new_streams: stream_count(rest)? }
        }
        _ => return None,
    })
}

/// Parameters of ASCONF and ASCONF-ACK chunks.
fn asconf(tlv: Tlv<'_>) -> Option<Parameter<'_>> {
    let (correlation_id, rest) = split_number(tlv.value)?;
    Some(match tlv.code {
        t::ADD_IP => Parameter::AddIp { correlation_id, address: only_address(rest)? },
        t::DELETE_IP => Parameter::DeleteIp { correlation_id, address: only_address(rest)? },
        t::SET_PRIMARY => Parameter::SetPrimary { correlation_id, address: only_address(rest)? },
        t::ERROR_CAUSE_INDICATION => {
            Causes::parse(rest).ok()?;
            Parameter::ErrorCauseIndication { correlation_id, causes: Causes(Raw::Borrowed(rest)) }
        }
        t::SUCCESS_INDICATION if rest.is_empty() => Parameter::SuccessIndication { correlation_id },
        _ => return None,
    })
}

/// A nested address parameter and nothing else. Only addresses are read, so that nesting ends here.
fn only_address(list: &[u8]) -> Option<IpAddr> {
    let mut tlvs = Tlvs::new(list);
    let address = tlvs.next_as(|tlv| match tlv.code {
        t::IPV4 | t::IPV6 => Parameter::read(tlv)?.address(),
        _ => None,
    })?;
    match tlvs.next_as(Some) {
        None => address.ok(),
        Some(_) => None,
    }
}

/// A count of streams and the reserved field behind it.
fn stream_count(value: &[u8]) -> Option<u16> {
    let &[high, low, _, _] = value else { return None };
    Some(u16::from_be_bytes([high, low]))
}

fn number(value: &[u8]) -> Option<u32> {
    Some(u32::from_be_bytes(value.try_into().ok()?))
}

fn split_number(value: &[u8]) -> Option<(u32, &[u8])> {
    let (number, rest) = value.split_first_chunk()?;
    Some((u32::from_be_bytes(*number), rest))
}
