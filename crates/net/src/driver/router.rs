//! Passes received packets to their destination.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use bytes::Bytes;
use polypath_proto::{
    Association as Protocol, AssociationId, Collision, EarlyEvents, Instant, Received, Route,
    Transmit,
};

use crate::probe::Initiator;
use crate::state::{
    Accepting, AssociationShared, EndpointShared, EndpointState, Handle, Inner, NOT_ACCEPTING,
};
use crate::stats::EndpointStats;

/// Reason in the ABORT to peers whose places others have taken.
const MADE_WAY: Bytes = Bytes::from_static(
    b"all places are taken, and another peer needs this one, which was idle or slow",
);

/// The data needed to pass a packet to its association.
pub(super) struct Router<'a> {
    pub(super) shared: &'a EndpointShared,
    pub(super) now: Instant,
    pub(super) state: &'a mut EndpointState,
    pub(super) touched: &'a mut Vec<Arc<AssociationShared>>,
    pub(super) stats: &'a mut EndpointStats,
}

impl Router<'_> {
    /// The association of another shard that the packet belongs to according to its header; that shard verifies the
    /// checksum.
    pub(super) fn owner_elsewhere(
        &self,
        received: &Received<'_>,
    ) -> Option<Arc<AssociationShared>> {
        if self.shared.shards.count() == 1 {
            return None;
        }
        let id = self.state.protocol.owner_of(received)?;
        let association = self.state.table.get(&id)?;
        (association.shard != 0).then(|| Arc::clone(association))
    }

    /// Returns the answer to a packet without an association, if it gets one.
    pub(super) fn route(&mut self, received: &Received<'_>) -> Option<Box<Transmit>> {
        let now = self.now;
        let EndpointState { protocol, context, table, .. } = &mut *self.state;
        let wanted = self.shared.observing.is_possible();
        let (route, early) = context.lend_early(now, wanted, |cx| protocol.handle(cx, received));
        match route {
            Route::Association(id) => {
                if let Some(association) = table.get(&id) {
                    association.lock().call(now, |protocol, cx| protocol.handle(cx, received));
                    touch(0, self.touched, association);
                }
            }
            Route::Damaged(id) => {
                self.stats.packets_dropped += 1;
                if let Some(association) = table.get(&id) {
                    association
                        .lock()
                        .call(now, |protocol, cx| protocol.handle_damaged(cx, received));
                    touch(0, self.touched, association);
                }
            }
            Route::Collision(id) => {
                let association = table.get(&id)?;
                let mut inner = association.lock();
                let Inner { protocol: other, context: theirs, .. } = &mut *inner;
                match context
                    .lend_both(theirs, now, |cx| protocol.handle_collision(cx, received, other))
                {
                    Collision::Handled => {
                        inner.note_events();
                        touch(0, self.touched, association);
                    }
                    Collision::Reply(transmit) => return Some(transmit),
                    Collision::Drop(_) => self.stats.packets_dropped += 1,
                }
            }
            Route::New(id, association) => {
                self.admit(id, association, early);
                self.end_replaced();
            }
            Route::Reply(transmit) => return Some(transmit),
            Route::Drop(_) => self.stats.packets_dropped += 1,
        }
        None
    }

    /// Queues an association initiated by a peer, if there is space.
    fn admit(&mut self, id: AssociationId, mut protocol: Box<Protocol>, early: EarlyEvents) {
        let mut context = self.state.context.fork();
        let port = protocol.identity().local_port;
        let chosen = self.shared.accept_options.apply(id, &mut protocol, &mut context);
        let association = self.shared.adopt(id, Initiator::Peer, protocol, context, early);
        self.state.table.insert(id, Arc::clone(&association));
        self.note_place(&association);
        touch(0, self.touched, &association);
        let is_closed = self.state.closed;
        let is_stopped = self.state.accepting == Accepting::Stopped;
        let (is_full, queue, is_stopped) = match self.state.ports.get_mut(&port) {
            Some(queue) => (queue.is_full(), &mut queue.waiting, false),
            None => {
                let queue = &mut self.state.accept_queue;
                (queue.len() >= self.shared.backlog, queue, is_stopped)
            }
        };
        let reason = if is_closed || is_stopped {
            NOT_ACCEPTING
        } else if chosen.is_err() {
            Bytes::from_static(b"the parameters of the association cannot be used")
        } else if is_full {
            Bytes::from_static(b"too many associations wait to be accepted")
        } else {
            queue.push_back(Handle::new(association));
            self.state.refuse_if_full(port);
            return self.shared.incoming.notify_waiters();
        };
        self.stats.associations_refused += 1;
        association.lock().call(self.now, |protocol, cx| protocol.abort(cx, &reason));
    }

    /// Takes note of an association that may have to make way one day.
    fn note_place(&mut self, association: &AssociationShared) {
        let EndpointState { places, table, .. } = &mut *self.state;
        if !places.have_rule() {
            return;
        }
        // The first path is that of the handshake.
        if let Some(path) = association.lock().protocol.path_stats().first() {
            places.add(association.id, path.remote, self.now);
        }
        if places.are_scarce(table.len()) {
            self.shared.places_are_scarce.store(true, Ordering::Relaxed);
        }
    }

    /// Ends the associations whose places others have taken.
    fn end_replaced(&mut self) {
        while let Some(id) = self.state.protocol.take_replaced() {
            let Some(association) = self.state.table.get(&id) else { continue };
            self.stats.associations_replaced += 1;
            association.lock().call(self.now, |protocol, cx| protocol.abort(cx, &MADE_WAY));
            touch(0, self.touched, association);
        }
    }
}

/// Adds an association to the list that the step must follow up, or to that of its shard if it is not `own`.
pub(super) fn touch(
    own: usize,
    touched: &mut Vec<Arc<AssociationShared>>,
    association: &Arc<AssociationShared>,
) {
    if association.shard != own {
        association.command();
    } else if association.enqueue() {
        touched.push(Arc::clone(association));
    }
}
