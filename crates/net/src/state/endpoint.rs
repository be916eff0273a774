//! The state of an endpoint that its handles and its driver share.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::sync::{Arc, Mutex, MutexGuard};

use bytes::Bytes;
use polypath_proto::{Association as Protocol, AssociationId, EarlyEvents};
use tokio::sync::Notify;

use super::association::{AssociationShared, Handle};
use super::mailbox::Mailbox;
use super::rebind::Rebind;
use super::shard::Shards;
use crate::accept::AcceptOptions;
use crate::carriers::Carriers;
use crate::clock::{Clock, Context};
use crate::lock::lock;
use crate::log::Log;
use crate::places::Places;
use crate::probe::{Initiator, ObservedAssociation, Observing, Probes};
use crate::socket::SharedSockets;
use crate::tap::Tap;

/// Reason in the ABORT to peers whose associations will not be accepted.
pub(crate) const NOT_ACCEPTING: Bytes =
    Bytes::from_static(b"no associations are accepted any more");

/// The state of an endpoint that its handles and its driver share.
#[derive(Debug)]
pub(crate) struct EndpointShared {
    pub(crate) clock: Clock,
    pub(crate) port: u16,
    pub(crate) encapsulation_port: u16,
    pub(crate) carriers: Carriers,
    pub(crate) backlog: usize,
    pub(crate) tap: Tap,
    pub(crate) observing: Observing,
    pub(crate) accept_options: AcceptOptions,
    pub(crate) state: Mutex<EndpointState>,
    /// Whether associations must be watched, because some may have to make way.
    pub(crate) places_are_scarce: AtomicBool,
    pub(crate) sockets: SharedSockets,
    /// The tasks that drive the associations; the first one has the sockets, too.
    pub(crate) shards: Shards,
    /// Requests to add and remove local addresses; for the first shard.
    pub(crate) rebinds: Mailbox<Vec<Rebind>>,
    /// An association waits to be accepted, or the endpoint is closed.
    pub(crate) incoming: Notify,
    /// An association was removed.
    pub(crate) removed: Notify,
    /// Public handles of the endpoint.
    pub(crate) handles: AtomicUsize,
}

/// The state that the lock of an endpoint guards.
#[derive(Debug)]
pub(crate) struct EndpointState {
    pub(crate) protocol: polypath_proto::Endpoint,
    pub(crate) context: Context,
    pub(crate) table: BTreeMap<AssociationId, Arc<AssociationShared>>,
    pub(crate) places: Places,
    pub(crate) accept_queue: VecDeque<Handle>,
    pub(crate) accepting: Accepting,
    /// Ports beside that of the endpoint.
    pub(crate) ports: BTreeMap<u16, PortQueue>,
    /// The driver has ended, or must end.
    pub(crate) closed: bool,
}

/// Whether associations of peers are accepted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Accepting {
    Yes,
    /// Never, or no longer.
    Stopped,
}

/// Associations that wait at a further port.
#[derive(Debug)]
pub(crate) struct PortQueue {
    pub(crate) waiting: VecDeque<Handle>,
    /// Maximum number of waiting associations.
    pub(crate) backlog: usize,
    /// Shared by the places of associations that were taken and count as waiting all the same.
    pub(crate) kept: Arc<()>,
}

impl PortQueue {
    pub(crate) fn new(backlog: usize) -> Self {
        Self { waiting: VecDeque::new(), backlog, kept: Arc::default() }
    }

    /// Whether no further association may wait.
    pub(crate) fn is_full(&self) -> bool {
        self.waiting.len() + Arc::strong_count(&self.kept) > self.backlog
    }
}

impl EndpointState {
    /// Refuses peers at a port while no further association may wait there.
    pub(crate) fn refuse_if_full(&mut self, port: u16) {
        if let Some(queue) = self.ports.get(&port) {
            self.protocol.set_port_full(port, queue.is_full());
        }
    }
}

impl EndpointShared {
    pub(crate) fn state(&self) -> MutexGuard<'_, EndpointState> {
        lock(&self.state)
    }

    /// Assigns a new association to a shard, and attaches the probes of the endpoint's observer and of the log, which
    /// receive the events so far.
    pub(crate) fn adopt(
        &self,
        id: AssociationId,
        initiator: Initiator,
        protocol: Box<Protocol>,
        mut context: Context,
        mut early: EarlyEvents,
    ) -> Arc<AssociationShared> {
        // Not the present time: its first events are older.
        let begins = context.last();
        let user =
            self.observing.probe(|| ObservedAssociation::of(id, initiator, &protocol, begins));
        let log = Log::begin(id, &protocol);
        *context.probes() = Probes::new(user, log.probe());
        early.hand_over(context.probes());
        let shard = self.shards.choose();
        AssociationShared::new((id, initiator), self.clock, log, shard, protocol, context)
    }
}
