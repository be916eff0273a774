//! The number of associations per address.

use alloc::collections::BTreeMap;
use core::net::{IpAddr, Ipv6Addr};

use crate::AssociationId;

/// Counts the associations that peers began, by the address that the INIT ACK with their cookie went to. That one is proved;
/// others that the peer names are not. Of IPv6 addresses the first 64 bits count, since a host has all addresses of its network.
///
/// Without a limit nothing is kept.
#[derive(Debug)]
pub(super) struct Origins {
    limit: Option<u32>,
    counts: BTreeMap<IpAddr, u32>,
    of: BTreeMap<AssociationId, IpAddr>,
}

impl Origins {
    /// At most `limit` associations from each.
    pub(super) fn new(limit: Option<u32>) -> Self {
        Self { limit, counts: BTreeMap::new(), of: BTreeMap::new() }
    }

    /// The limit, if an association more from this address would exceed it.
    pub(super) fn exhausted(&self, address: IpAddr) -> Option<u32> {
        let limit = self.limit?;
        let count = self.counts.get(&network(address)).copied().unwrap_or(0);
        (count >= limit).then_some(limit)
    }

    /// Counts an association from this address.
    pub(super) fn add(&mut self, id: AssociationId, address: IpAddr) {
        if self.limit.is_some() {
            *self.counts.entry(network(address)).or_default() += 1;
            self.of.insert(id, network(address));
        }
    }

    /// An association has ended, which may be one that this side began.
    pub(super) fn remove(&mut self, id: AssociationId) {
        let Some(network) = self.of.remove(&id) else { return };
        if let Some(count) = self.counts.get_mut(&network) {
            *count -= 1;
            if *count == 0 {
                self.counts.remove(&network);
            }
        }
    }
}

/// The representative of all addresses that one host may have.
fn network(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(_) => address,
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() >> 64 << 64).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn an_address_has_its_number_and_gets_it_back() {
        let mut origins = Origins::new(Some(2));
        for id in [1, 2] {
            assert_eq!(origins.exhausted(ip("192.0.2.1")), None);
            origins.add(AssociationId(id), ip("192.0.2.1"));
        }
        assert_eq!(origins.exhausted(ip("192.0.2.1")), Some(2));
        assert_eq!(origins.exhausted(ip("192.0.2.2")), None);
        origins.remove(AssociationId(1));
        origins.remove(AssociationId(1));
        origins.remove(AssociationId(7));
        assert_eq!(origins.exhausted(ip("192.0.2.1")), None);
        origins.remove(AssociationId(2));
        assert!(origins.counts.is_empty() && origins.of.is_empty());
    }

    #[test]
    fn a_network_of_ipv6_is_one_host() {
        let mut origins = Origins::new(Some(1));
        origins.add(AssociationId(1), ip("2001:db8:0:1::1"));
        assert_eq!(origins.exhausted(ip("2001:db8:0:1:ffff::2")), Some(1));
        assert_eq!(origins.exhausted(ip("2001:db8:0:2::1")), None);
    }

    #[test]
    fn without_a_limit_nothing_is_kept() {
        let mut origins = Origins::new(None);
        origins.add(AssociationId(1), ip("192.0.2.1"));
        assert_eq!(origins.exhausted(ip("192.0.2.1")), None);
        assert!(origins.of.is_empty());
    }
}
