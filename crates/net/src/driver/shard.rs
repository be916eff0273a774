//! Drives the associations of one shard: their timers, their outgoing packets, and notifications of their users.

use std::sync::Arc;
use std::task::{Context, Poll};

use polypath_proto::{Association as Protocol, Event, Notice, Transmit};

use super::outbound::{Mark, Outbound};
use super::router::touch;
use super::timers::Timers;
use crate::error::AssociationError;
use crate::socket::{Fault, Sockets, kernel_has_sctp};
use crate::state::{AssociationShared, EndpointShared, Inner, ShardShared};
use crate::stats::EndpointStats;

/// The associations of one shard, and what sending for them needs.
#[derive(Debug)]
pub(super) struct Shard {
    pub(super) shared: Arc<EndpointShared>,
    pub(super) index: usize,
    pub(super) sockets: Sockets,
    pub(super) outbound: Outbound,
    pub(super) timers: Timers,
    /// Associations with changes in this step.
    pub(super) touched: Vec<Arc<AssociationShared>>,
    transmits: Vec<Transmit>,
    /// Associations that have ended, and the positions of their last packets among those that wait to be sent.
    ending: Vec<(Mark, Arc<AssociationShared>)>,
    pub(super) stats: EndpointStats,
}

impl Shard {
    pub(super) fn new(shared: Arc<EndpointShared>, index: usize, sockets: Sockets) -> Self {
        Self {
            shared,
            index,
            outbound: Outbound::new(sockets.places()),
            sockets,
            timers: Timers::default(),
            touched: Vec::new(),
            transmits: Vec::new(),
            ending: Vec::new(),
            stats: EndpointStats::default(),
        }
    }

    /// The only shard of an endpoint over a lower layer, which has no sockets.
    pub(super) fn over_layer(shared: Arc<EndpointShared>, sockets: Sockets) -> Self {
        Self { outbound: Outbound::for_layer(), ..Self::new(shared, 0, sockets) }
    }

    fn own(&self) -> &ShardShared {
        self.shared.shards.get(self.index)
    }

    /// Takes over associations that other tasks have changed; returns whether the endpoint still exists.
    pub(super) fn take_touched(&mut self) -> bool {
        match self.own().touched.take() {
            Some(mut touched) => self.touched.append(&mut touched),
            None => return false,
        }
        true
    }

    /// Becomes ready when a socket that packets wait for is writable.
    pub(super) fn poll_writable(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        self.outbound.poll_writable(&self.sockets, cx)
    }

    /// The second half of a round: sends output, then notifies users.
    pub(super) fn finish_round(&mut self) {
        self.outbound.resume(&self.sockets, &mut self.stats);
        let mut touched = std::mem::take(&mut self.touched);
        for association in &touched {
            association.dequeue();
            self.transmit(association);
        }
        self.outbound.flush(&self.sockets, &mut self.stats);
        self.own().set_stats(self.stats);
        self.follow_faults();
        // Tasks that wait are woken once the packets are sent, since they may end the process then. Subscribers to events may have
        // been told before: reading a message publishes what precedes it.
        for association in touched.drain(..) {
            self.report(&association);
        }
        for index in (0..self.ending.len()).rev() {
            if self.outbound.has_passed(&self.ending[index].0) {
                let (_, association) = self.ending.swap_remove(index);
                self.follow_up(&association);
            }
        }
        self.touched = touched;
    }

    /// Follows up a change of an association, or leaves that to its shard.
    pub(super) fn follow(&mut self, association: &Arc<AssociationShared>) {
        touch(self.index, &mut self.touched, association);
    }

    /// Wakes the first shard if sending met reports of ICMP.
    pub(super) fn tell_reports(&self) {
        if self.sockets.iter().any(|(_, socket)| socket.has_reports()) {
            self.shared.shards.front().wake();
        }
    }

    /// Takes over the present sockets of the first shard.
    pub(super) fn follow_sockets(&mut self) {
        if !self.sockets.are_current(&self.shared.sockets) {
            let now = self.shared.sockets.get();
            for place in 0..self.sockets.places().max(now.places()) {
                if !self.sockets.have_same(&now, place) {
                    self.outbound.close_place(place, &mut self.stats);
                    self.outbound.open_place(place);
                }
            }
            self.sockets = now;
            // A task may wait for a socket to be closed.
            self.shared.shards.front().wake();
        }
    }

    /// Passes reports of the system about paths to their associations. Resulting packets are sent in the next step.
    fn follow_faults(&mut self) {
        for report in self.outbound.take_faults() {
            let Some(association) =
                self.shared.state().table.get(&report.association).map(Arc::clone)
            else {
                continue;
            };
            association.log.fault(report.local, report.remote, report.fault.name());
            let mut inner = association.lock();
            let now = self.shared.clock.now();
            match report.fault {
                Fault::Refused => inner.refuse_path(now, report.local, report.remote),
                Fault::TooBig => inner.bound_mtus(&self.shared.sockets, now),
            }
            drop(inner);
            association.command();
        }
    }

    /// Expires the timers of all associations that are due.
    pub(super) fn expire(&mut self) {
        let now = self.shared.clock.now();
        while let Some((at, id)) = self.timers.pop_due(now) {
            let Some(association) = self.shared.state().table.get(&id).map(Arc::clone) else {
                continue;
            };
            let mut inner = association.lock();
            if inner.scheduled != Some(at) {
                continue;
            }
            inner.scheduled = None;
            if inner.protocol.poll_timeout().is_some_and(|deadline| deadline <= now) {
                inner.call(now, Protocol::handle_timeout);
            }
            drop(inner);
            self.follow(&association);
        }
    }

    /// Polls all packets of an association.
    fn transmit(&mut self, association: &AssociationShared) {
        loop {
            let more = association.lock().take_transmits(
                self.shared.clock.now(),
                association.handles(),
                &mut self.transmits,
            );
            // A packet may leave from a new address.
            self.follow_sockets();
            for transmit in self.transmits.drain(..) {
                self.shared.tap.sent(&transmit);
                self.outbound.push(&self.sockets, &transmit, Some(association.id), &mut self.stats);
            }
            if !more {
                return;
            }
        }
    }

    /// Reports events of an association to its users and the endpoint, and notes its next deadline.
    fn report(&mut self, association: &Arc<AssociationShared>) {
        let mut inner = association.lock();
        // A handle may have ended it since its packets were polled. The end is reported once the last packet is sent.
        if !inner.protocol.is_established() && inner.has_transmit(self.shared.clock.now()) {
            drop(inner);
            return association.command();
        }
        if inner.protocol.is_closed()
            && let Some(mark) = self.outbound.mark()
        {
            if self.ending.iter().all(|(_, other)| !Arc::ptr_eq(other, association)) {
                self.ending.push((mark, Arc::clone(association)));
            }
            return;
        }
        drop(inner);
        self.follow_up(association);
    }

    /// Like [`report`](Self::report), if nothing must be sent first.
    fn follow_up(&mut self, association: &Arc<AssociationShared>) {
        let mut inner = association.lock();
        while let Some(event) = inner.next_event() {
            self.act_on(association, &mut inner, &event);
        }
        let mut notices: smallvec::SmallVec<[Notice; 2]> = smallvec::SmallVec::new();
        while let Some(notice) = inner.protocol.poll_notice() {
            notices.push(notice);
        }
        let deadline = inner.protocol.poll_timeout();
        self.timers.schedule(association.id, deadline, &mut inner.scheduled);
        let closed = inner.protocol.is_closed();
        let has_drained = inner.has_drained();
        drop(inner);
        if has_drained {
            association.drained.notify_waiters();
        }
        if notices.is_empty() && !closed {
            return;
        }
        let mut state = self.shared.state();
        for notice in notices {
            state.protocol.on_notice(association.id, notice);
        }
        if closed {
            state.table.remove(&association.id);
            state.places.forget(association.id);
            drop(state);
            self.own().remove_association();
            self.shared.shards.front().wake();
            self.shared.removed.notify_waiters();
        }
    }

    /// Wakes the tasks that an event concerns, and acts on it.
    fn act_on(&self, association: &Arc<AssociationShared>, inner: &mut Inner, event: &Event) {
        let now = self.shared.clock.now();
        association.log.event(event);
        match event {
            Event::Readable => association.readable.notify_waiters(),
            Event::StreamReadable { claim, .. } => association.wake_reader(*claim),
            Event::Writable => association.writable.notify_waiters(),
            Event::Established { .. } => {
                inner.follow_routes(now);
                inner.bound_mtus(&self.shared.sockets, now);
                association.changed.notify_waiters();
            }
            Event::Restarted { .. } => {
                inner.follow_routes(now);
                inner.bound_mtus(&self.shared.sockets, now);
                if inner.leaving {
                    inner.leave(now);
                    association.command();
                }
                association.wake_all();
            }
            Event::SenderDry => association.changed.notify_waiters(),
            Event::PeerShutdown => association.wake_all(),
            Event::Ended(end) => {
                let error = AssociationError::from_end(end.clone());
                let error = error.map(|error| cause_of(error, &inner.protocol));
                association.log.ended(error.as_ref());
                inner.publish(event);
                inner.end(error);
                association.wake_all();
            }
            _ => {}
        }
    }
}

/// The cause of an error. Binding an endpoint checks for the kernel's own SCTP, but it may be loaded later; then it
/// aborts associations that it does not know. This side notices by the peer's ABORT, or, if the peer's program has
/// ended, by ICMP or silence.
fn cause_of(error: AssociationError, protocol: &Protocol) -> AssociationError {
    let fits = match &error {
        AssociationError::AbortedByPeer(causes) => causes.is_empty(),
        AssociationError::ProtocolUnreachable | AssociationError::Unreachable => true,
        _ => false,
    };
    if fits && protocol.is_over_ip() && kernel_has_sctp() {
        AssociationError::KernelSctp
    } else {
        error
    }
}
