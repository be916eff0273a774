//! Dynamic address reconfiguration (ASCONF, RFC 5061): either side adds and deletes addresses of its own, and names its preferred
//! one.
//!
//! One chunk of each side is in flight at a time ([`requests`]). The peer's chunks are answered once; a repeated one gets the
//! same answer ([`answers`]). [`judge()`] decides about requests of the peer. An address that the peer has added gets
//! three packets until it has answered ([`trial`]).

pub(crate) mod answers;
pub(crate) mod judge;
pub(crate) mod requests;
pub(crate) mod trial;

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use polypath_wire::Parameter;

pub(crate) use answers::{AsconfAnswers, AsconfResponses, AsconfTurn};
pub(crate) use judge::{AddressVerdict, Refusal, Situation, judge};
pub(crate) use requests::{AddressRequest, AsconfAcked, ChangeOutcome, ChangeRequests};
pub(crate) use trial::Trials;

use crate::AddressChange;

/// The parameter that requests a change.
pub(crate) fn parameter(
    change: AddressChange,
    correlation_id: u32,
    address: IpAddr,
) -> Parameter<'static> {
    match change {
        AddressChange::Added => Parameter::AddIp { correlation_id, address },
        AddressChange::Removed => Parameter::DeleteIp { correlation_id, address },
        AddressChange::MadePrimary => Parameter::SetPrimary { correlation_id, address },
    }
}

/// Content of a parameter: its correlation identifier, the change, and the address.
pub(crate) fn request_in(parameter: &Parameter<'_>) -> Option<(u32, AddressChange, IpAddr)> {
    match *parameter {
        Parameter::AddIp { correlation_id, address } => {
            Some((correlation_id, AddressChange::Added, address))
        }
        Parameter::DeleteIp { correlation_id, address } => {
            Some((correlation_id, AddressChange::Removed, address))
        }
        Parameter::SetPrimary { correlation_id, address } => {
            Some((correlation_id, AddressChange::MadePrimary, address))
        }
        _ => None,
    }
}

/// 0.0.0.0 or `::`, which stands for the source of the packet.
pub(crate) fn wildcard(like: IpAddr) -> IpAddr {
    match like {
        IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    }
}
