//! The tasks that drive an endpoint: they move packets between sockets and protocol, run the timers and wake users.
//!
//! Associations are spread over shards, each a task that has their timers and sends their packets. The first shard also
//! receives. It passes packets to the shard of their association by verification tag, without parsing them further;
//! that shard verifies their checksum. The first shard handles packets without an association, and those that may
//! change the table of associations (INIT, COOKIE ECHO, unknown peers), itself.

mod inbound;
mod layer;
mod local_addresses;
mod network;
mod outbound;
mod reports;
mod router;
mod shard;
mod timers;
mod worker;

pub(crate) use self::layer::LayerDriver;

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll};
use std::time::Duration;

use polypath_proto::{Instant, LocalAddressChange, Received};
use tokio::sync::oneshot;
use tokio::time::{MissedTickBehavior, interval, sleep_until};

use self::inbound::{BUFFERS, Inbound};
use self::local_addresses::{LocalAddresses, Reason};
use self::network::NetworkWatch;
use self::router::Router;
use self::shard::Shard;
use self::worker::Worker;
use crate::error::AssociationError;
use crate::places::PAUSE_S;
use crate::socket::{Binding, Sockets};
use crate::state::{EndpointShared, EndpointState, Inbox, Rebind};
use crate::wildcard::Wildcard;

/// Maximum number of receive calls on one socket before the others and the associations run.
const RECEIVE_ROUNDS: usize = 4;

/// Interval at which endpoints poll for changes that no event reports: whether interfaces with addresses are still the same, which
/// buffers are unused, and which associations make way while few places are left.
const DEVICE_WATCH: Duration = Duration::from_secs(PAUSE_S);

/// Why the driver was woken.
enum Wake {
    Work,
    /// It is time to poll for changes that no event reports.
    Watch,
    /// Links, addresses or routes of this host have changed.
    Network,
    /// The runtime is shutting down.
    SocketsGone,
}

/// The first shard, which has the sockets. Dropping it ends every association.
#[derive(Debug)]
pub(crate) struct Driver {
    shard: Shard,
    addresses: LocalAddresses,
    network: NetworkWatch,
    inbound: Inbound,
    /// By shard: packets received for its associations.
    parcels: Vec<Inbox>,
}

impl Driver {
    pub(crate) fn new(shared: Arc<EndpointShared>, binding: Binding, wildcard: Wildcard) -> Self {
        let parcels = shared.shards.iter().map(|_| Inbox::default()).collect();
        let sockets = shared.sockets.get();
        let shard = Shard::new(shared, 0, sockets);
        Self {
            shard,
            addresses: LocalAddresses::new(binding, wildcard),
            network: NetworkWatch::new(),
            inbound: Inbound::new(),
            parcels,
        }
    }

    /// The other shards.
    pub(crate) fn workers(&self) -> impl Iterator<Item = Worker> + use<> {
        let (shared, sockets) = (Arc::clone(&self.shard.shared), self.shard.sockets.clone());
        (1..shared.shards.count())
            .map(move |index| Worker::new(Shard::new(Arc::clone(&shared), index, sockets.clone())))
    }

    /// Runs until no handle of the endpoint is left and every association has ended.
    pub(crate) async fn run(mut self) {
        let shared = Arc::clone(&self.shard.shared);
        let clock = shared.clock;
        let mut sleep = pin!(sleep_until(clock.to_system(Instant::FAR_FUTURE).into()));
        let mut armed = None;
        let mut watch = interval(DEVICE_WATCH);
        watch.set_missed_tick_behavior(MissedTickBehavior::Delay);
        while !self.is_finished() {
            let deadline = self.shard.timers.next();
            if armed != deadline {
                sleep
                    .as_mut()
                    .reset(clock.to_system(deadline.unwrap_or(Instant::FAR_FUTURE)).into());
                armed = deadline;
            }
            let wake = tokio::select! {
                biased;
                wake = poll_fn(|cx| self.poll_sockets(cx)) => wake,
                () = shared.shards.front().woken() => Wake::Work,
                // An elapsed sleep stays ready: without a new deadline it must not be polled.
                () = &mut sleep, if deadline.is_some() => {
                    armed = None;
                    Wake::Work
                }
                _ = watch.tick(), if self.is_watching() => Wake::Watch,
            };
            match wake {
                Wake::Work => self.step(),
                Wake::Watch => {
                    self.inbound.trim();
                    self.follow_devices();
                    self.look_at_places();
                }
                Wake::Network => {
                    self.follow_devices();
                    self.follow_host();
                    self.network_changed();
                    self.step();
                }
                Wake::SocketsGone => return,
            }
            // Lets users run on a runtime with a single thread.
            tokio::task::yield_now().await;
        }
    }

    /// Finds out which associations make way, while few places are left.
    fn look_at_places(&self) {
        let shared = &self.shard.shared;
        if !shared.places_are_scarce.load(Ordering::Relaxed) {
            return;
        }
        let mut state = shared.state();
        let are_scarce = state.places.are_scarce(state.table.len());
        shared.places_are_scarce.store(are_scarce, Ordering::Relaxed);
        let EndpointState { protocol, places, table, accept_queue, .. } = &mut *state;
        // No association is replaced while the accept queue is full.
        if are_scarce && accept_queue.len() < shared.backlog {
            places.look(shared.clock.now(), |id| table.get(&id).map(|it| it.lock().seen()));
            protocol.set_replaceable(places.replaceable());
        } else {
            protocol.set_replaceable([]);
        }
    }

    fn poll_sockets(&mut self, cx: &mut Context<'_>) -> Poll<Wake> {
        for (_, socket) in self.shard.sockets.iter() {
            match socket.poll_readable(cx) {
                Poll::Ready(Ok(())) => return Poll::Ready(Wake::Work),
                Poll::Ready(Err(_)) => return Poll::Ready(Wake::SocketsGone),
                Poll::Pending => {}
            }
            if socket.poll_reports(cx).is_ready() {
                return Poll::Ready(Wake::Work);
            }
        }
        if self.network.poll_changed(cx).is_ready() {
            return Poll::Ready(Wake::Network);
        }
        self.shard.poll_writable(cx).map(|()| Wake::Work)
    }

    /// Whether something must be checked every second.
    fn is_watching(&self) -> bool {
        self.inbound.has_spare()
            || local_addresses::has_devices(&self.shard.sockets)
            || self.shard.shared.places_are_scarce.load(Ordering::Relaxed)
    }

    fn is_finished(&self) -> bool {
        self.shard.shared.handles.load(Ordering::Acquire) == 0
            && self.shard.outbound.is_idle()
            && self.shard.shared.state().table.is_empty()
    }

    /// One round: handles input, sends output, then notifies users.
    fn step(&mut self) {
        self.receive();
        reports::follow(&mut self.shard);
        self.shard.expire();
        self.shard.take_touched();
        let wishes = self.shard.shared.rebinds.take();
        self.rebind_all(wishes.unwrap_or_default());
        self.shard.finish_round();
    }

    /// Carries out requests of handles, in order.
    fn rebind_all(&mut self, wishes: Vec<Rebind>) {
        for Rebind { change, device, done } in wishes {
            match self.addresses.change(&self.shard.sockets, change, device.as_deref()) {
                Ok((sockets, closing)) => {
                    self.addresses.note(change, Reason::Wanted);
                    self.use_sockets(sockets);
                    self.tell_associations(change);
                    self.addresses.settle(closing, done);
                }
                // The caller may have stopped waiting.
                Err(error) => drop(done.send(Err(error))),
            }
        }
        self.addresses.tell_done();
    }

    /// Reopens the sockets of interfaces that were removed and are back.
    fn follow_devices(&mut self) {
        if let Some(sockets) = self.addresses.reopen(&self.shard.sockets) {
            self.use_sockets(sockets);
            self.network_changed();
        }
    }

    /// Adds and removes the addresses that the host gained and lost, if the endpoint has all of them.
    fn follow_host(&mut self) {
        for change in self.addresses.to_follow(&self.shard.sockets) {
            // An address may not be ready yet or already be gone; that is another change.
            let Ok((sockets, closing)) = self.addresses.change(&self.shard.sockets, change, None)
            else {
                continue;
            };
            self.addresses.note(change, Reason::Followed);
            self.use_sockets(sockets);
            self.tell_associations(change);
            // No caller waits for the old sockets to be closed.
            self.addresses.settle(closing, oneshot::channel().0);
        }
    }

    /// Makes associations probe their paths that do not answer.
    fn network_changed(&mut self) {
        let shared = Arc::clone(&self.shard.shared);
        let table: Vec<_> = shared.state().table.values().map(Arc::clone).collect();
        let now = shared.clock.now();
        for association in table {
            association.lock().call(now, |protocol, cx| protocol.handle_network_change(cx));
            self.shard.follow(&association);
        }
    }

    /// Replaces the sockets of every shard.
    fn use_sockets(&mut self, mut sockets: Sockets) {
        self.shard.shared.sockets.set(&mut sockets);
        drop(sockets);
        self.shard.follow_sockets();
        for shard in self.shard.shared.shards.iter() {
            shard.wake();
        }
    }

    fn tell_associations(&mut self, change: LocalAddressChange) {
        let shared = Arc::clone(&self.shard.shared);
        let table: Vec<_> = {
            let mut state = shared.state();
            state.protocol.handle_local_address(change);
            // Ports that are bound to other addresses do not get this one.
            let takes = |port| match change {
                LocalAddressChange::Added(address) => state.protocol.takes_address(port, address),
                LocalAddressChange::Removed(_) => true,
            };
            let all = state.table.values();
            all.filter(|one| takes(one.lock().protocol.identity().local_port))
                .map(Arc::clone)
                .collect()
        };
        let now = shared.clock.now();
        for association in table {
            let mut inner = association.lock();
            inner.call(now, |protocol, cx| protocol.handle_local_address(cx, change));
            if inner.protocol.is_established() {
                inner.follow_routes(now);
                inner.bound_mtus(&shared.sockets, now);
            }
            drop(inner);
            self.shard.follow(&association);
        }
    }

    fn receive(&mut self) {
        for place in 0..self.shard.sockets.places() {
            for _ in 0..RECEIVE_ROUNDS {
                let Some(socket) = self.shard.sockets.get(place) else { break };
                // No datagrams, or an error that does not concern SCTP.
                let Ok(filled) = self.inbound.fill(socket) else {
                    break;
                };
                self.shard.stats.receive_calls += 1;
                self.handle_batch(place, filled);
                if filled < BUFFERS {
                    break;
                }
            }
        }
    }

    fn handle_batch(&mut self, place: usize, filled: usize) {
        let Self { shard, inbound, parcels, .. } = self;
        let Shard { shared, sockets, outbound, touched, stats, .. } = shard;
        let Some(socket) = sockets.get(place) else { return };
        // Sent after the batch and without the lock: handles must not wait for system calls.
        let mut replies = Vec::new();
        let mut state = shared.state();
        let mut router =
            Router { shared, now: shared.clock.now(), state: &mut state, touched, stats };
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
            if let Some(association) = router.owner_elsewhere(&received) {
                parcels[association.shard].add(association, &received, datagram.stride);
            } else {
                replies.extend(router.route(&received));
            }
        }
        drop(state);
        inbound.release();
        for reply in replies {
            shared.tap.sent(&reply);
            outbound.push(sockets, &reply, None, stats);
        }
        for (inbox, to) in
            parcels.iter_mut().zip(shared.shards.iter()).filter(|(inbox, _)| !inbox.is_empty())
        {
            let mut dropped = 0;
            to.parcels.leave(|waiting| dropped = waiting.append(inbox));
            inbox.clear();
            stats.packets_overrun += dropped;
        }
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        close(&self.shard.shared);
    }
}

/// Ends every association of an endpoint whose driver has ended.
fn close(shared: &EndpointShared) {
    let (table, waiting) = {
        let mut state = shared.state();
        state.closed = true;
        let at_ports = std::mem::take(&mut state.ports);
        let waiting = (std::mem::take(&mut state.accept_queue), at_ports);
        (std::mem::take(&mut state.table), waiting)
    };
    drop(waiting);
    for association in table.into_values() {
        association.lock().end(Some(AssociationError::EndpointClosed));
        association.wake_all();
    }
    shared.sockets.clear();
    shared.rebinds.close();
    for shard in shared.shards.iter() {
        shard.close();
    }
    shared.incoming.notify_waiters();
    shared.removed.notify_waiters();
}
