//! The task that drives an endpoint: it moves packets between sockets and protocol, runs the timers and wakes users.

mod bind;
mod fault;
mod icmp;
mod inbound;
mod options;
mod outbound;
mod port;
mod raw;
mod rebind;
mod router;
mod socket;
mod sockets;
mod timers;
mod udp;

use std::future::poll_fn;
use std::net::IpAddr;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll};

use polypath_proto::config::PathPairing;
use polypath_proto::{
    Association as Protocol, Event, Instant, Notice, PathError, Received, Transmit,
};
use tokio::time::sleep_until;

pub(crate) use bind::Binding;
pub(crate) use port::Port;
pub(crate) use raw::kernel_has_sctp;
pub(crate) use rebind::Rebind;
pub(crate) use socket::{SOCKET_BUFFER, wish_for_buffers};

use self::fault::Fault;
use self::inbound::{BUFFERS, Inbound};
use self::outbound::{Mark, Outbound};
use self::router::{Router, touch};
use self::sockets::Sockets;
use self::timers::Timers;
use crate::shared::{AssociationShared, EndpointShared, Inner, lock};
use crate::{AssociationError, EndpointStats, route};

/// Calls to receive from one socket before the others and the associations have their turn.
const RECEIVE_ROUNDS: usize = 4;
/// Packets taken from an association while it is locked; encoding them happens after, so that its users wait less.
const TRANSMIT_CHUNK: usize = 64;

/// Why the driver was woken.
enum Wake {
    Work,
    /// The runtime shuts down.
    SocketsGone,
}

/// Owner of the sockets. Dropping it ends every association.
#[derive(Debug)]
pub(crate) struct Driver {
    shared: Arc<EndpointShared>,
    binding: Binding,
    sockets: Sockets,
    inbound: Inbound,
    outbound: Outbound,
    timers: Timers,
    /// Associations that something happened to in this step.
    touched: Vec<Arc<AssociationShared>>,
    transmits: Vec<Transmit>,
    /// Associations that have ended, and where in what waits to be sent their last packets are.
    ending: Vec<(Mark, Arc<AssociationShared>)>,
    stats: EndpointStats,
}

impl Driver {
    pub(crate) fn new(shared: Arc<EndpointShared>, binding: Binding, sockets: Vec<Port>) -> Self {
        let outbound = Outbound::new(sockets.len());
        Self {
            shared,
            binding,
            sockets: Sockets::new(sockets),
            inbound: Inbound::new(),
            outbound,
            timers: Timers::default(),
            touched: Vec::new(),
            transmits: Vec::new(),
            ending: Vec::new(),
            stats: EndpointStats::default(),
        }
    }

    /// Runs until no handle of the endpoint is left and every association has ended.
    pub(crate) async fn run(mut self) {
        let clock = self.shared.clock;
        let mut sleep = pin!(sleep_until(clock.to_system(Instant::FAR_FUTURE).into()));
        let mut armed = None;
        while !self.is_finished() {
            let deadline = self.timers.next();
            if armed != deadline {
                sleep
                    .as_mut()
                    .reset(clock.to_system(deadline.unwrap_or(Instant::FAR_FUTURE)).into());
                armed = deadline;
            }
            let wake = tokio::select! {
                biased;
                wake = poll_fn(|cx| self.poll_sockets(cx)) => wake,
                () = self.shared.work.notified() => Wake::Work,
                // A sleep that is over stays so: without a deadline to set it to anew nobody must look at it.
                () = &mut sleep, if deadline.is_some() => {
                    armed = None;
                    Wake::Work
                }
            };
            match wake {
                Wake::Work => self.step(),
                Wake::SocketsGone => return,
            }
            // Users of a runtime with a single thread have their turn too.
            tokio::task::yield_now().await;
        }
    }

    fn poll_sockets(&self, cx: &mut Context<'_>) -> Poll<Wake> {
        for (_, socket) in self.sockets.iter() {
            match socket.poll_readable(cx) {
                Poll::Ready(Ok(())) => return Poll::Ready(Wake::Work),
                Poll::Ready(Err(_)) => return Poll::Ready(Wake::SocketsGone),
                Poll::Pending => {}
            }
            if socket.poll_reports(cx).is_ready() {
                return Poll::Ready(Wake::Work);
            }
        }
        self.outbound.poll_writable(&self.sockets, cx).map(|()| Wake::Work)
    }

    fn is_finished(&self) -> bool {
        self.shared.handles.load(Ordering::Acquire) == 0
            && self.outbound.is_idle()
            && self.shared.state().table.is_empty()
    }

    /// One round: everything that came in, then everything that goes out, then word to the users.
    fn step(&mut self) {
        self.receive();
        self.follow_icmp();
        self.expire();
        let mut wishes = Vec::new();
        if let Some(commands) = &mut *lock(&self.shared.commands) {
            self.touched.append(&mut commands.associations);
            wishes.append(&mut commands.rebinds);
        }
        self.rebind_all(wishes);
        self.outbound.resume(&self.sockets, &mut self.stats);
        let mut touched = std::mem::take(&mut self.touched);
        for association in &touched {
            association.queued.swap(false, Ordering::AcqRel);
            self.transmit(association);
        }
        self.outbound.flush(&self.sockets, &mut self.stats);
        *lock(&self.shared.stats) = self.stats;
        self.follow_faults();
        // Users hear of it when the packets are out: whoever is told of the end may end the process.
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

    /// Tells associations what the system said of their paths. What they send then goes out in the next step.
    fn follow_faults(&mut self) {
        for report in self.outbound.take_faults() {
            let Some(association) =
                self.shared.state().table.get(&report.association).map(Arc::clone)
            else {
                continue;
            };
            let mut inner = association.lock();
            let now = self.shared.clock.now();
            match report.fault {
                Fault::Refused => inner.refuse_path(now, report.local, report.remote),
                Fault::TooBig => inner.bound_mtus(now),
            }
            drop(inner);
            association.command();
        }
    }

    fn receive(&mut self) {
        for place in 0..self.sockets.places() {
            for _ in 0..RECEIVE_ROUNDS {
                let Some(socket) = self.sockets.get(place) else { break };
                // Nothing there, or an error that says nothing about SCTP.
                let Ok(filled) = self.inbound.fill(socket) else {
                    break;
                };
                self.stats.receive_calls += 1;
                self.handle_batch(place, filled);
                if filled < BUFFERS {
                    break;
                }
            }
        }
    }

    fn handle_batch(&mut self, place: usize, filled: usize) {
        let Self { shared, sockets, inbound, outbound, touched, stats, .. } = self;
        let Some(socket) = sockets.get(place) else { return };
        let mut router =
            Router { shared, now: shared.clock.now(), state: &mut shared.state(), touched, stats };
        for datagram in inbound.datagrams(filled, socket) {
            let received = Received {
                local: socket.address(),
                remote: datagram.remote.ip(),
                encapsulation: socket.encapsulation(datagram.remote),
                ecn: datagram.ecn,
                body: datagram.body(),
            };
            router.stats.packets_received += 1;
            router.stats.bytes_received += datagram.contents.len() as u64;
            shared.tap.received(&received);
            if let Some(reply) = router.route(&received) {
                shared.tap.sent(&reply);
                outbound.push(sockets, &reply, None, router.stats);
            }
        }
    }

    /// Lets every association whose deadline has come handle its timers.
    fn expire(&mut self) {
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
            touch(&mut self.touched, &association);
        }
    }

    /// Takes every packet that an association has to send.
    fn transmit(&mut self, association: &AssociationShared) {
        loop {
            let more = association.lock().take_transmits(
                self.shared.clock.now(),
                association.handles.load(Ordering::Acquire),
                &mut self.transmits,
            );
            for transmit in self.transmits.drain(..) {
                self.shared.tap.sent(&transmit);
                self.outbound.push(&self.sockets, &transmit, Some(association.id), &mut self.stats);
            }
            if !more {
                return;
            }
        }
    }

    /// Tells users and endpoint what happened to an association, and notes its next deadline.
    fn report(&mut self, association: &Arc<AssociationShared>) {
        let mut inner = association.lock();
        // A handle may have ended it since its packets were taken. Its end is told when the last packet is out.
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

    /// As [`report`](Self::report), when nothing speaks against telling it now.
    fn follow_up(&mut self, association: &Arc<AssociationShared>) {
        let mut inner = association.lock();
        while let Some(event) = inner.next_event() {
            tell(association, &mut inner, self.shared.clock.now(), event);
        }
        let mut notices: smallvec::SmallVec<[Notice; 2]> = smallvec::SmallVec::new();
        while let Some(notice) = inner.protocol.poll_notice() {
            notices.push(notice);
        }
        let deadline = inner.protocol.poll_timeout();
        self.timers.schedule(association.id, deadline, &mut inner.scheduled);
        let closed = inner.protocol.is_closed();
        drop(inner);
        if notices.is_empty() && !closed {
            return;
        }
        let mut state = self.shared.state();
        for notice in notices {
            state.protocol.on_notice(association.id, notice);
        }
        if closed {
            state.table.remove(&association.id);
            drop(state);
            self.shared.removed.notify_waiters();
        }
    }
}

impl Inner {
    /// Moves packets to `transmits`; gives whether there may be more. What arrives for an association without
    /// `handles` is discarded, so that its shutdown is not held up.
    fn take_transmits(
        &mut self,
        now: Instant,
        handles: usize,
        transmits: &mut Vec<Transmit>,
    ) -> bool {
        if handles == 0 {
            while self.call(now, Protocol::receive).is_some() {}
        }
        transmits.extend(self.ready.take());
        while transmits.len() < TRANSMIT_CHUNK {
            match self.call(now, Protocol::poll_transmit) {
                Some(transmit) => transmits.push(transmit),
                None => return false,
            }
        }
        true
    }

    /// The system refuses to send from `local` to `remote`.
    fn refuse_path(&mut self, now: Instant, local: IpAddr, remote: IpAddr) {
        let paths = self.protocol.path_stats();
        if let Some(path) = paths.iter().find(|path| path.local == local && path.remote == remote) {
            let id = path.path;
            self.call(now, |protocol, cx| protocol.handle_path_error(cx, id, PathError::Refused));
        }
    }

    /// Opens the paths that the system's routes ask for, where that is how addresses are paired.
    fn follow_routes(&mut self, now: Instant) {
        if self.protocol.config().path_pairing == PathPairing::ByRoute {
            let mut remotes: Vec<_> = self.protocol.path_stats().iter().map(|p| p.remote).collect();
            remotes.sort_unstable();
            remotes.dedup();
            let routes = route::sources(&remotes);
            self.call(now, |protocol, cx| protocol.handle_routes(cx, &routes));
        }
    }

    /// Bounds the MTU of every path by that of its route.
    fn bound_mtus(&mut self, now: Instant) {
        for path in self.protocol.path_stats() {
            if let Some(mtu_bytes) = route::mtu(path.local, path.remote)
                && mtu_bytes < path.mtu_bytes
            {
                let error = PathError::PacketTooBig { mtu_bytes };
                self.call(now, |protocol, cx| protocol.handle_path_error(cx, path.path, error));
            }
        }
    }
}

/// Wakes those whom an event concerns and passes it on to listeners.
fn tell(association: &Arc<AssociationShared>, inner: &mut Inner, now: Instant, event: Event) {
    match &event {
        Event::Readable => return association.readable.notify_waiters(),
        Event::Writable => return association.writable.notify_waiters(),
        Event::Established { .. } => {
            inner.follow_routes(now);
            inner.bound_mtus(now);
            association.changed.notify_waiters();
        }
        Event::Restarted { .. } => {
            inner.follow_routes(now);
            inner.bound_mtus(now);
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
            inner.publish(event);
            inner.end(error);
            return association.wake_all();
        }
        _ => {}
    }
    inner.publish(event);
}

impl Drop for Driver {
    fn drop(&mut self) {
        let (table, waiting) = {
            let mut state = self.shared.state();
            state.closed = true;
            (std::mem::take(&mut state.table), std::mem::take(&mut state.accept_queue))
        };
        drop(waiting);
        for association in table.into_values() {
            association.lock().end(Some(AssociationError::EndpointClosed));
            association.wake_all();
        }
        let commands = lock(&self.shared.commands).take();
        drop(commands);
        self.shared.incoming.notify_waiters();
        self.shared.removed.notify_waiters();
    }
}
