//! Hosts for real programs, which are connected to the network through interfaces of a system.

use std::collections::BTreeMap;

use polypath_units::ByteCount;
use serde::Serialize;

use super::{HostFile, Network, Scenario, sctp_of};
use crate::document::{Document, DocumentError};

/// A host for real programs.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct External {
    /// Position among the hosts of the network.
    pub host: usize,
    /// Its name; in a network of pairs, after the name of its pair: `pair/a`.
    pub name: String,
    /// Longest IP packet of its interfaces: `mtu` of its SCTP settings.
    pub mtu: ByteCount,
}

/// The external hosts, in the order of the network.
pub(super) fn resolve(
    network: &Network,
    written: &BTreeMap<String, HostFile>,
    document: &Document,
) -> Result<Vec<External>, DocumentError> {
    let mut found = Vec::new();
    for (index, host) in network.hosts().iter().enumerate() {
        let by_pair = match network {
            Network::Shared(plan) => {
                plan.pairs.iter().any(|pair| pair.name == host.pair && pair.external)
            }
            _ => false,
        };
        if !by_pair && !written.get(&*host.name).is_some_and(|host| host.external) {
            continue;
        }
        let name = match host.pair {
            "" => host.name.to_string(),
            pair => format!("{pair}/{}", host.name),
        };
        let mtu = sctp_of(document, &host.name)?.mtu;
        found.push(External { host: index, name, mtu });
    }
    Ok(found)
}

impl Scenario {
    /// Whether the host at this position among those of the network is external.
    pub fn is_external(&self, host: usize) -> bool {
        self.external.iter().any(|external| external.host == host)
    }
}
