//! What the sockets of a service are over: the addresses of the host, or lower layers of a program.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Mutex;

use polypath::Endpoint;

use super::lock;

/// Endpoints by local address.
#[derive(Debug)]
pub(super) enum Network {
    /// One endpoint with all addresses of the host.
    Host(Endpoint),
    /// An endpoint for each lower layer of the program, by the address that names it.
    Carried(Mutex<BTreeMap<IpAddr, Endpoint>>),
}

impl Network {
    /// Whether the program carries the packets.
    pub(super) fn is_carried(&self) -> bool {
        matches!(self, Self::Carried(_))
    }

    /// Addresses that sockets may bind.
    pub(super) fn local_addresses(&self) -> Vec<IpAddr> {
        match self {
            Self::Host(endpoint) => endpoint.local_addresses(),
            Self::Carried(endpoints) => lock(endpoints).keys().copied().collect(),
        }
    }

    /// The endpoint of a socket that is bound to these addresses; none means all.
    pub(super) fn endpoint(&self, bound: &[IpAddr]) -> Option<Endpoint> {
        match self {
            Self::Host(endpoint) => Some(endpoint.clone()),
            Self::Carried(endpoints) => match bound {
                [address] => lock(endpoints).get(address).cloned(),
                _ => None,
            },
        }
    }

    /// Waits until the host has no association left.
    pub(super) async fn idle(&self) {
        if let Self::Host(endpoint) = self {
            endpoint.idle().await;
        }
    }
}
