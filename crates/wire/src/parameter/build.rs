//! Writing parameters.

use alloc::vec::Vec;
use core::net::IpAddr;

use bytes::Bytes;

use super::Parameter;
use crate::Raw;
use crate::tlv;

/// What the parameters of INIT and INIT ACK take together in bytes, nearly always.
const USUAL_LEN: usize = 256;

/// The list of `parameters` as it stands on the wire.
pub(super) fn list<'p>(parameters: impl IntoIterator<Item = Parameter<'p>>) -> Raw<'static> {
    let mut out = Vec::with_capacity(USUAL_LEN);
    for parameter in parameters {
        tlv::append(&mut out, parameter.parameter_type(), |out| append_value(&parameter, out));
    }
    Raw::Shared(Bytes::from(out))
}

fn append_value(parameter: &Parameter<'_>, out: &mut Vec<u8>) {
    use Parameter as P;
    match parameter {
        P::HeartbeatInfo(bytes)
        | P::StateCookie(bytes)
        | P::Unrecognized(bytes)
        | P::HostName(bytes)
        | P::Random(bytes)
        | P::Chunks(bytes)
        | P::Padding(bytes)
        | P::SupportedExtensions(bytes)
        | P::Unknown { value: bytes, .. } => out.extend_from_slice(bytes),
        P::Ipv4(address) => out.extend_from_slice(&address.octets()),
        P::Ipv6(address) => out.extend_from_slice(&address.octets()),
        P::SupportedAddressTypes(list) | P::HmacAlgorithms(list) => list.append_to(out),
        P::CookiePreservative(n) | P::ZeroChecksumAcceptable(n) | P::AdaptationIndication(n) => {
            numbers(out, &[*n]);
        }
        P::OutgoingSsnReset { request_sequence, response_sequence, last_tsn, streams } => {
            numbers(out, &[*request_sequence, *response_sequence, *last_tsn]);
            streams.append_to(out);
        }
        P::IncomingSsnReset { request_sequence, streams } => {
            numbers(out, &[*request_sequence]);
            streams.append_to(out);
        }
        P::SsnTsnReset { request_sequence } => numbers(out, &[*request_sequence]),
        P::ReConfigResponse { response_sequence, result, next_tsns } => {
            numbers(out, &[*response_sequence, *result]);
            if let Some(next) = next_tsns {
                numbers(out, &[next.sender, next.receiver]);
            }
        }
        P::AddOutgoingStreams { request_sequence, new_streams }
        | P::AddIncomingStreams { request_sequence, new_streams } => {
            numbers(out, &[*request_sequence, u32::from(*new_streams) << 16]);
        }
        P::EcnCapable | P::ForwardTsnSupported => {}
        P::AddIp { correlation_id, address }
        | P::DeleteIp { correlation_id, address }
        | P::SetPrimary { correlation_id, address } => {
            nested_address(out, *correlation_id, *address)
        }
        P::ErrorCauseIndication { correlation_id, causes } => {
            numbers(out, &[*correlation_id]);
            out.extend_from_slice(causes.as_slice());
        }
        P::SuccessIndication { correlation_id } => numbers(out, &[*correlation_id]),
    }
}

fn nested_address(out: &mut Vec<u8>, correlation_id: u32, address: IpAddr) {
    numbers(out, &[correlation_id]);
    let address = Parameter::from(address);
    tlv::append(out, address.parameter_type(), |out| append_value(&address, out));
}

fn numbers(out: &mut Vec<u8>, numbers: &[u32]) {
    numbers.iter().for_each(|number| out.extend_from_slice(&number.to_be_bytes()));
}
