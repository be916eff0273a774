//! Probes of programs: they observe the associations of a simulation like those of real networks.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

use polypath_proto::{Association, Probe};

/// Describes a new association of a simulated host to an [`Observer`].
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct ObservedAssociation {
    /// Name of the host: `a` or `b` if there are only two.
    pub host: String,
    /// Name of the pair of hosts; empty if there is only one.
    pub pair: String,
    /// Whether the host initiates associations.
    pub is_client: bool,
    /// SCTP port of the host.
    pub local_port: u16,
    /// SCTP port of its peer.
    pub remote_port: u16,
    /// Addresses of the peer known so far.
    pub remote_addresses: Vec<IpAddr>,
}

/// Decides which associations of a simulation are observed, and by which probe; see
/// [`Simulation::observe`](crate::Simulation::observe).
pub trait Observer: Send + Sync {
    /// Called when an association begins. Returns the probe that receives all of its events, or `None` to leave it unobserved.
    fn observe(&self, association: &ObservedAssociation) -> Option<Box<dyn Probe + Send>>;
}

impl<F> Observer for F
where
    F: Fn(&ObservedAssociation) -> Option<Box<dyn Probe + Send>> + Send + Sync,
{
    fn observe(&self, association: &ObservedAssociation) -> Option<Box<dyn Probe + Send>> {
        self(association)
    }
}

impl fmt::Debug for dyn Observer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Observer")
    }
}

/// The observer of a host, and the host's names.
#[derive(Clone, Debug)]
pub(crate) struct Observing {
    pub observer: Arc<dyn Observer>,
    pub host: String,
    pub pair: String,
    pub is_client: bool,
}

impl Observing {
    /// The probe of a new association.
    pub fn begin(&self, association: &Association) -> Option<Box<dyn Probe + Send>> {
        let identity = association.identity();
        let mut remotes: Vec<_> = association.path_stats().iter().map(|p| p.remote).collect();
        remotes.sort_unstable();
        remotes.dedup();
        self.observer.observe(&ObservedAssociation {
            host: self.host.clone(),
            pair: self.pair.clone(),
            is_client: self.is_client,
            local_port: identity.local_port,
            remote_port: identity.remote_port,
            remote_addresses: remotes,
        })
    }
}
