//! SCTP ports that an endpoint has beside its own, each with addresses and a configuration (RFC 6458: a socket that is bound).

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::net::IpAddr;

use crate::config::{AssociationConfig, SharedConfig};
use crate::types::AddressList;

/// A further SCTP port of an endpoint, as one socket of a program binds it.
#[derive(Clone, PartialEq, Debug)]
pub struct PortConfig {
    /// Addresses of the endpoint that belong to this port; none means all, also those that it gets later.
    pub local_addresses: Vec<IpAddr>,
    /// Whether peers may begin associations at it.
    pub listening: bool,
    /// Configuration of the associations that they begin.
    pub association: AssociationConfig,
}

/// A port as the endpoint keeps it.
#[derive(Debug)]
pub(super) struct BoundPort {
    pub(super) addresses: AddressList,
    pub(super) listening: bool,
    pub(super) accepted: SharedConfig,
}

/// The ports that are bound, by number.
#[derive(Debug, Default)]
pub(super) struct BoundPorts(BTreeMap<u16, BoundPort>);

impl BoundPorts {
    /// Binds a port, or changes what it is bound to.
    pub(super) fn set(&mut self, port: u16, config: PortConfig) {
        let bound = BoundPort {
            addresses: config.local_addresses.into_iter().collect(),
            listening: config.listening,
            accepted: config.association.shared(),
        };
        self.0.insert(port, bound);
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
