//! SCTP ports that an endpoint has beside its own, each with addresses and a configuration (RFC 6458: a socket that is bound).

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::net::IpAddr;

use crate::config::{AssociationConfig, SharedConfig};

/// Local addresses of a port. Those that the endpoint gets and loses later count.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum PortAddresses {
    /// All of the endpoint.
    All,
    /// All of IPv4.
    Ipv4,
    /// All of IPv6.
    Ipv6,
    /// These, as far as the endpoint has them.
    Listed(Vec<IpAddr>),
}

impl PortAddresses {
    /// Whether an address of the endpoint belongs to the port.
    pub fn has(&self, address: IpAddr) -> bool {
        match self {
            Self::All => true,
            Self::Ipv4 => address.is_ipv4(),
            Self::Ipv6 => address.is_ipv6(),
            Self::Listed(listed) => listed.contains(&address),
        }
    }
}

/// A further SCTP port of an endpoint, as one socket of a program binds it.
#[derive(Clone, PartialEq, Debug)]
pub struct PortConfig {
    /// Which addresses of the endpoint belong to it.
    pub local_addresses: PortAddresses,
    /// Whether peers may begin associations at it.
    pub listening: bool,
    /// Configuration of the associations that they begin.
    pub association: AssociationConfig,
}

/// A port as the endpoint keeps it.
#[derive(Debug)]
pub(super) struct BoundPort {
    pub(super) addresses: PortAddresses,
    pub(super) listening: bool,
    /// No further association may wait to be accepted.
    pub(super) full: bool,
    pub(super) accepted: SharedConfig,
}

/// The ports that are bound, by number.
#[derive(Debug, Default)]
pub(super) struct BoundPorts(BTreeMap<u16, BoundPort>);

impl BoundPorts {
    /// Binds a port, or changes its configuration.
    pub(super) fn set(&mut self, port: u16, config: PortConfig) {
        let bound = BoundPort {
            addresses: config.local_addresses,
            listening: config.listening,
            full: self.get(port).is_some_and(|bound| bound.full),
            accepted: config.association.shared(),
        };
        self.0.insert(port, bound);
    }

    /// Says whether further associations may wait to be accepted.
    pub(super) fn set_full(&mut self, port: u16, full: bool) {
        if let Some(bound) = self.0.get_mut(&port) {
            bound.full = full;
        }
    }

    pub(super) fn remove(&mut self, port: u16) {
        self.0.remove(&port);
    }

    pub(super) fn get(&self, port: u16) -> Option<&BoundPort> {
        self.0.get(&port)
    }

    pub(super) fn contains(&self, port: u16) -> bool {
        self.0.contains_key(&port)
    }
}
