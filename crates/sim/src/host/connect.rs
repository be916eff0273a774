//! How a host initiates its association: addresses, ports and first path.

use std::net::IpAddr;

use polypath_proto::config::AssociationConfig;
use polypath_proto::{Association, Encapsulation, PeerAddress};
use polypath_units::Instant;

use crate::place::Place;
use crate::scenario::AssociationPlan;

/// An association to initiate.
#[derive(Clone, Debug)]
pub(crate) struct Connect {
    pub at: Instant,
    pub config: AssociationConfig,
    /// Port of the peer.
    pub port: u16,
    pub peer: Vec<PeerAddress>,
}

impl Connect {
    pub fn of(plan: &AssociationPlan, place: &Place, config: AssociationConfig) -> Self {
        let peer = |address| PeerAddress { address, encapsulation: Encapsulation::None };
        Self {
            at: Instant::ZERO + plan.connect,
            config,
            port: place.peer_port,
            peer: place.peer_addresses().into_iter().map(peer).collect(),
        }
    }
}

/// Makes the path with these addresses the primary path, if the association has it.
pub(crate) fn choose_primary(ends: Option<[IpAddr; 2]>, association: &mut Association) {
    let Some(ends) = ends else { return };
    let stats = association.path_stats();
    if let Some(path) = stats.iter().find(|path| [path.local, path.remote] == ends) {
        // It is a path of the association.
        let _ = association.set_primary(path.path);
    }
}
