//! Decisions about requests of the peer (RFC 5061 sections 4.2 and 5.3).

use core::net::IpAddr;

use polypath_wire::{Cause, Causes, Parameters};

use crate::AddressChange;
use crate::types::AddressList;
use crate::types::address_scope::{is_meaningful, is_this_host};

/// State that the decision depends on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Situation<'a> {
    /// Source of the packet.
    pub(crate) source: IpAddr,
    /// Addresses of the peer.
    pub(crate) peer: &'a [IpAddr],
    /// Addresses of this side.
    pub(crate) local: &'a [IpAddr],
    /// Whether another address can get a path.
    pub(crate) has_room: bool,
}

/// A decision.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum AddressVerdict {
    /// Nothing: the request is already fulfilled.
    Nothing,
    /// Add the address to the peer's.
    Add(IpAddr),
    /// Remove these addresses.
    Delete(AddressList),
    /// Make the address the primary one.
    Prefer(IpAddr),
    /// Refuse.
    Refuse(Refusal),
}

/// Why a request is refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Refusal {
    /// It would delete the last address (rule F7).
    LastAddress,
    /// It would delete the source of the packet (rule F8).
    SourceAddress,
    /// The number of paths is at its maximum (rule F9), or an earlier request was refused (rule F11).
    Shortage,
    /// The address is unusable.
    Unresolvable,
    /// The address is one of ours.
    NotAuthorized,
}

/// Decides about a request. An unspecified address stands for the source of the packet.
pub(crate) fn judge(change: AddressChange, address: IpAddr, it: &Situation<'_>) -> AddressVerdict {
    let named = if address.is_unspecified() { it.source } else { address };
    match change {
        AddressChange::Added => add(named, it),
        AddressChange::Removed if address.is_unspecified() => delete_all_others(it),
        AddressChange::Removed => delete(named, it),
        AddressChange::MadePrimary if it.peer.contains(&named) => AddressVerdict::Prefer(named),
        AddressChange::MadePrimary => AddressVerdict::Refuse(Refusal::Unresolvable),
    }
}

fn add(address: IpAddr, it: &Situation<'_>) -> AddressVerdict {
    let mut families = it.local.iter().map(IpAddr::is_ipv4);
    if it.peer.contains(&address) {
        AddressVerdict::Nothing
    } else if it.local.contains(&address) && !is_this_host(it.source, it.local) {
        // This side would send to itself.
        AddressVerdict::Refuse(Refusal::NotAuthorized)
    } else if !is_meaningful(address, it.source)
        || !families.any(|is_ipv4| is_ipv4 == address.is_ipv4())
    {
        AddressVerdict::Refuse(Refusal::Unresolvable)
    } else if !it.has_room {
        AddressVerdict::Refuse(Refusal::Shortage)
    } else {
        AddressVerdict::Add(address)
    }
}

fn delete(address: IpAddr, it: &Situation<'_>) -> AddressVerdict {
    match it.peer {
        // A peer behind an address translator may name an address that was never seen here.
        peer if !peer.contains(&address) => AddressVerdict::Nothing,
        [_] => AddressVerdict::Refuse(Refusal::LastAddress),
        _ if address == it.source => AddressVerdict::Refuse(Refusal::SourceAddress),
        _ => AddressVerdict::Delete(AddressList::from_slice(&[address])),
    }
}

fn delete_all_others(it: &Situation<'_>) -> AddressVerdict {
    if !it.peer.contains(&it.source) {
        return AddressVerdict::Refuse(Refusal::LastAddress);
    }
    let others: AddressList = it.peer.iter().copied().filter(|peer| *peer != it.source).collect();
    if others.is_empty() { AddressVerdict::Nothing } else { AddressVerdict::Delete(others) }
}

impl Refusal {
    /// The error cause in the answer to a request (RFC 5061 section 4.3).
    pub(crate) fn causes(
        self,
        change: AddressChange,
        correlation_id: u32,
        address: IpAddr,
    ) -> Causes<'static> {
        let request = Parameters::build([super::parameter(change, correlation_id, address)]);
        let request = request.as_slice();
        Causes::build([match self {
            Self::LastAddress => Cause::DeleteLastAddress(request),
            Self::SourceAddress => Cause::DeleteSourceAddress(request),
            Self::Shortage => Cause::ResourceShortage(request),
            // The address parameter alone.
            Self::Unresolvable => Cause::UnresolvableAddress(request.get(8..).unwrap_or_default()),
            Self::NotAuthorized => Cause::NoAuthorization(request),
        }])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use AddressChange::{Added, MadePrimary, Removed};
    use std::vec::Vec;

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    fn ips(list: &str) -> Vec<IpAddr> {
        list.split_whitespace().map(ip).collect()
    }

    #[test]
    fn requests_are_judged_by_what_is_known() {
        let deleted = |list: &str| AddressVerdict::Delete(ips(list).into_iter().collect());
        let refused = AddressVerdict::Refuse;
        for (change, address, source, peer, expected) in [
            (Added, "10.0.0.9", "10.0.0.1", "10.0.0.1", AddressVerdict::Add(ip("10.0.0.9"))),
            (Added, "10.0.0.1", "10.0.0.1", "10.0.0.1", AddressVerdict::Nothing),
            (Added, "0.0.0.0", "10.0.0.9", "10.0.0.1", AddressVerdict::Add(ip("10.0.0.9"))),
            (Added, "::", "10.0.0.9", "10.0.0.1", AddressVerdict::Add(ip("10.0.0.9"))),
            (Added, "0.0.0.0", "10.0.0.1", "10.0.0.1", AddressVerdict::Nothing),
            (Added, "10.0.0.100", "10.0.0.1", "10.0.0.1", refused(Refusal::NotAuthorized)),
            (Added, "224.0.0.1", "10.0.0.1", "10.0.0.1", refused(Refusal::Unresolvable)),
            (Added, "255.255.255.255", "10.0.0.1", "10.0.0.1", refused(Refusal::Unresolvable)),
            (Added, "127.0.0.1", "10.0.0.1", "10.0.0.1", refused(Refusal::Unresolvable)),
            (Added, "169.254.0.1", "10.0.0.1", "10.0.0.1", refused(Refusal::Unresolvable)),
            (Added, "2001:db8::1", "10.0.0.1", "10.0.0.1", refused(Refusal::Unresolvable)),
            (Removed, "10.0.0.2", "10.0.0.1", "10.0.0.1 10.0.0.2", deleted("10.0.0.2")),
            (Removed, "10.0.0.3", "10.0.0.1", "10.0.0.1 10.0.0.2", AddressVerdict::Nothing),
            (Removed, "10.0.0.1", "10.0.0.1", "10.0.0.1", refused(Refusal::LastAddress)),
            (Removed, "10.0.0.2", "10.0.0.1", "10.0.0.2", refused(Refusal::LastAddress)),
            (Removed, "10.0.0.1", "10.0.0.1", "10.0.0.1 10.0.0.2", refused(Refusal::SourceAddress)),
            (
                Removed,
                "0.0.0.0",
                "10.0.0.2",
                "10.0.0.1 10.0.0.2 10.0.0.3",
                deleted("10.0.0.1 10.0.0.3"),
            ),
            (Removed, "0.0.0.0", "10.0.0.1", "10.0.0.1", AddressVerdict::Nothing),
            (Removed, "::", "10.0.0.9", "10.0.0.1", refused(Refusal::LastAddress)),
            (
                MadePrimary,
                "10.0.0.2",
                "10.0.0.1",
                "10.0.0.1 10.0.0.2",
                AddressVerdict::Prefer(ip("10.0.0.2")),
            ),
            (
                MadePrimary,
                "0.0.0.0",
                "10.0.0.1",
                "10.0.0.1",
                AddressVerdict::Prefer(ip("10.0.0.1")),
            ),
            (MadePrimary, "10.0.0.3", "10.0.0.1", "10.0.0.1", refused(Refusal::Unresolvable)),
        ] {
            let (local, peer) = (ips("10.0.0.100"), ips(peer));
            let situation =
                Situation { source: ip(source), peer: &peer, local: &local, has_room: true };
            let context = (change, address, source);
            assert_eq!(judge(change, ip(address), &situation), expected, "{context:?}");
        }
    }

    #[test]
    fn an_address_without_room_is_refused_unless_it_is_known() {
        let (local, peer) = (ips("10.0.0.100"), ips("10.0.0.1"));
        let situation = Situation { source: peer[0], peer: &peer, local: &local, has_room: false };
        let add = |address| judge(Added, ip(address), &situation);
        assert_eq!(add("10.0.0.2"), AddressVerdict::Refuse(Refusal::Shortage));
        assert_eq!(add("10.0.0.1"), AddressVerdict::Nothing);
    }

    #[test]
    fn causes_have_the_request() {
        let (v4, v6) = (ip("10.0.0.1"), ip("2001:db8::1"));
        for (refusal, address, code, len) in [
            (Refusal::LastAddress, v4, 0xA0, 20),
            (Refusal::Shortage, v6, 0xA1, 32),
            (Refusal::SourceAddress, v4, 0xA2, 20),
            (Refusal::NotAuthorized, v4, 0xA4, 20),
            (Refusal::Unresolvable, v4, 5, 12),
            (Refusal::Unresolvable, v6, 5, 24),
        ] {
            let causes = refusal.causes(Removed, 7, address);
            let codes: Vec<u16> = causes.iter().map(|cause| cause.code()).collect();
            assert_eq!((&codes[..], causes.as_slice().len()), (&[code][..], len), "{refusal:?}");
        }
    }
}
