//! Probes of associations: typed events of the protocol, as they happen.
//!
//! Every call into the protocol takes a probe. Users can attach one to an association; a second one emits the crate's
//! `tracing` events.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

use polypath_proto::{Association as Protocol, AssociationId, Instant, NoProbe, Probe, ProbeEvent};

use crate::log::LogProbe;

/// A probe that can move between threads.
pub type BoxedProbe = Box<dyn Probe + Send>;

/// The side that initiated an association.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Initiator {
    /// This endpoint, by [`connect`](crate::Endpoint::connect).
    Local,
    /// The peer.
    Peer,
}

/// Describes a new association to an [`Observer`].
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct ObservedAssociation {
    /// Number of the association within its endpoint.
    pub id: u32,
    /// The side that initiated it.
    pub initiator: Initiator,
    /// SCTP port of this side.
    pub local_port: u16,
    /// SCTP port of the peer.
    pub remote_port: u16,
    /// Addresses of the peer known so far.
    pub remote_addresses: Vec<IpAddr>,
    /// When it begins. Like the times of its events, this is the time since the endpoint was bound.
    pub begins: Instant,
}

impl ObservedAssociation {
    pub(crate) fn of(
        id: AssociationId,
        initiator: Initiator,
        protocol: &Protocol,
        begins: Instant,
    ) -> Self {
        let identity = protocol.identity();
        let mut remotes: Vec<_> = protocol.path_stats().iter().map(|p| p.remote).collect();
        remotes.sort_unstable();
        remotes.dedup();
        Self {
            id: id.0,
            initiator,
            local_port: identity.local_port,
            remote_port: identity.remote_port,
            remote_addresses: remotes,
            begins,
        }
    }
}

/// Decides which associations of an endpoint are observed, and by which probe.
///
/// Set by [`EndpointBuilder::observer`](crate::EndpointBuilder::observer). Closures that take an
/// [`ObservedAssociation`] are observers, too.
///
/// The observer and its probes are called under a lock, by the task that drives the endpoint or by the task that calls
/// a method of the association. They must not block, and must not call methods of the endpoint or the association.
pub trait Observer: Send + Sync {
    /// Called when an association begins. Returns the probe that receives all of its events, or `None` to leave it unobserved.
    fn observe(&self, association: &ObservedAssociation) -> Option<BoxedProbe>;
}

impl<F> Observer for F
where
    F: Fn(&ObservedAssociation) -> Option<BoxedProbe> + Send + Sync,
{
    fn observe(&self, association: &ObservedAssociation) -> Option<BoxedProbe> {
        self(association)
    }
}

impl fmt::Debug for dyn Observer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Observer")
    }
}

/// The observer of an endpoint, if there is one.
#[derive(Clone, Default, Debug)]
pub(crate) struct Observing(pub(crate) Option<Arc<dyn Observer>>);

impl Observing {
    /// Whether associations may be observed: by the user, or by a subscriber of the log.
    pub(crate) fn is_possible(&self) -> bool {
        self.0.is_some() || cfg!(feature = "tracing")
    }

    /// The probe of a new association.
    pub(crate) fn probe(
        &self,
        describe: impl FnOnce() -> ObservedAssociation,
    ) -> Option<BoxedProbe> {
        self.0.as_ref()?.observe(&describe())
    }
}

/// The probes of one association.
#[derive(Default)]
pub(crate) struct Probes {
    user: Option<BoxedProbe>,
    log: Option<LogProbe>,
    nobody: NoProbe,
}

impl Probes {
    pub(crate) fn new(user: Option<BoxedProbe>, log: Option<LogProbe>) -> Self {
        Self { user, log, nobody: NoProbe }
    }

    /// Replaces the user's probe; returns the previous one.
    pub(crate) fn replace_user(&mut self, user: Option<BoxedProbe>) -> Option<BoxedProbe> {
        std::mem::replace(&mut self.user, user)
    }

    /// The probe for a call into the protocol.
    pub(crate) fn lend(&mut self) -> &mut dyn Probe {
        if self.log.is_some() {
            return self;
        }
        match &mut self.user {
            Some(user) => user.as_mut(),
            None => &mut self.nobody,
        }
    }
}

impl Probe for Probes {
    fn on(&mut self, now: Instant, event: ProbeEvent) {
        if let Some(log) = &mut self.log {
            log.on(now, event);
        }
        if let Some(user) = &mut self.user {
            user.on(now, event);
        }
    }

    fn wants_packets(&self) -> bool {
        self.log.as_ref().is_some_and(Probe::wants_packets)
            || self.user.as_ref().is_some_and(|user| user.wants_packets())
    }
}

impl fmt::Debug for Probes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (user, log) = (self.user.is_some(), self.log.is_some());
        f.debug_struct("Probes").field("user", &user).field("log", &log).finish_non_exhaustive()
    }
}
