//! The number of associations per address and per network.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use core::net::IpAddr;

use crate::AssociationId;
use crate::config::{EndpointConfig, NetworkLimit};

/// Bits of an IPv6 address that count as its host's: a host has all addresses of its network.
const HOST_PREFIX: u8 = 64;

/// Counts the associations that peers began, by the address that the INIT ACK with their cookie went to. That one is proved;
/// others that the peer names are not.
///
/// Without a limit nothing is kept.
#[derive(Debug)]
pub(super) struct Origins {
    by_address: Option<Tally>,
    by_network: Option<Tally>,
    of: BTreeMap<AssociationId, IpAddr>,
}

/// The associations of each network, and how many there may be.
#[derive(Debug)]
struct Tally {
    limit: NetworkLimit,
    counts: BTreeMap<IpAddr, u32>,
}

impl Origins {
    /// With the limits of the configuration.
    pub(super) fn new(config: &EndpointConfig) -> Self {
        let host = |associations| NetworkLimit {
            associations,
            ipv4_prefix: u8::MAX,
            ipv6_prefix: HOST_PREFIX,
        };
        Self {
            by_address: config.max_associations_per_address.map(host).map(Tally::new),
            by_network: config.max_associations_per_network.map(Tally::new),
            of: BTreeMap::new(),
        }
    }

    /// Why an association more from this address would exceed a limit.
    pub(super) fn exhausted(&self, address: IpAddr) -> Option<String> {
        let by = |tally: &Option<Tally>, whose| {
            let limit = tally.as_ref()?.exhausted(address)?;
            Some(format!("at most {limit} associations at a time from one {whose}"))
        };
        by(&self.by_address, "address").or_else(|| by(&self.by_network, "network"))
    }

    /// Counts an association from this address.
    pub(super) fn add(&mut self, id: AssociationId, address: IpAddr) {
        let mut is_counted = false;
        for tally in self.tallies() {
            tally.add(address);
            is_counted = true;
        }
        if is_counted {
            self.of.insert(id, address);
        }
    }

    /// An association has ended, which may be one that this side began.
    pub(super) fn remove(&mut self, id: AssociationId) {
        let Some(address) = self.of.remove(&id) else { return };
        self.tallies().for_each(|tally| tally.remove(address));
    }

    fn tallies(&mut self) -> impl Iterator<Item = &mut Tally> {
        self.by_address.iter_mut().chain(&mut self.by_network)
    }
}

impl Tally {
    fn new(limit: NetworkLimit) -> Self {
        Self { limit, counts: BTreeMap::new() }
    }

    /// The limit, if an association more from this address would exceed it.
    fn exhausted(&self, address: IpAddr) -> Option<u32> {
        let limit = self.limit.associations;
        let count = self.counts.get(&self.limit.network(address)).copied().unwrap_or(0);
        (count >= limit).then_some(limit)
    }

    fn add(&mut self, address: IpAddr) {
        *self.counts.entry(self.limit.network(address)).or_default() += 1;
    }

    fn remove(&mut self, address: IpAddr) {
        let network = self.limit.network(address);
        if let Some(count) = self.counts.get_mut(&network) {
            *count -= 1;
            if *count == 0 {
                self.counts.remove(&network);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    fn origins(per_address: Option<u32>, per_network: Option<u32>) -> Origins {
        Origins::new(&EndpointConfig {
            max_associations_per_address: per_address,
            max_associations_per_network: per_network.map(NetworkLimit::new),
            ..EndpointConfig::default()
        })
    }

    #[test]
    fn an_address_has_its_number_and_gets_it_back() {
        let mut origins = origins(Some(2), None);
        for id in [1, 2] {
            assert_eq!(origins.exhausted(ip("192.0.2.1")), None);
            origins.add(AssociationId(id), ip("192.0.2.1"));
        }
        let told = origins.exhausted(ip("192.0.2.1")).unwrap();
        assert_eq!(told, "at most 2 associations at a time from one address");
        assert_eq!(origins.exhausted(ip("192.0.2.2")), None);
        origins.remove(AssociationId(1));
        origins.remove(AssociationId(1));
        origins.remove(AssociationId(7));
        assert_eq!(origins.exhausted(ip("192.0.2.1")), None);
        origins.remove(AssociationId(2));
        assert!(origins.tallies().all(|tally| tally.counts.is_empty()) && origins.of.is_empty());
    }

    #[test]
    fn a_network_has_its_number_beside_those_of_its_addresses() {
        let mut origins = origins(Some(2), Some(3));
        for (id, address) in [(1, "192.0.2.1"), (2, "192.0.2.1"), (3, "192.0.2.9")] {
            assert_eq!(origins.exhausted(ip(address)), None);
            origins.add(AssociationId(id), ip(address));
        }
        // If both limits are reached, the reason names that of the address.
        assert!(
            origins
                .exhausted(ip("192.0.2.1"))
                .unwrap()
                .ends_with("2 associations at a time from one address")
        );
        let told = origins.exhausted(ip("192.0.2.200")).unwrap();
        assert_eq!(told, "at most 3 associations at a time from one network");
        assert_eq!(origins.exhausted(ip("192.0.3.1")), None);
        origins.remove(AssociationId(1));
        assert_eq!(origins.exhausted(ip("192.0.2.200")), None);
        origins.remove(AssociationId(2));
        origins.remove(AssociationId(3));
        assert!(origins.tallies().all(|tally| tally.counts.is_empty()) && origins.of.is_empty());
    }

    #[test]
    fn a_network_of_ipv6_is_one_host() {
        let mut origins = origins(Some(1), None);
        origins.add(AssociationId(1), ip("2001:db8:0:1::1"));
        assert!(origins.exhausted(ip("2001:db8:0:1:ffff::2")).is_some());
        assert_eq!(origins.exhausted(ip("2001:db8:0:2::1")), None);
    }

    #[test]
    fn without_a_limit_nothing_is_kept() {
        let mut origins = origins(None, None);
        origins.add(AssociationId(1), ip("192.0.2.1"));
        assert_eq!(origins.exhausted(ip("192.0.2.1")), None);
        assert!(origins.of.is_empty());
    }
}
