//! The tasks that drive an endpoint: they move packets between sockets and protocol, run the timers and wake users.
//!
//! Associations are spread over shards, each a task that has their timers and sends their packets. The first shard also
//! receives. It hands packets over to the shard of their association by the verification tag, without looking further into
//! them; the other shard verifies their checksum. What belongs to no association yet, and what may change the table of
//! associations (INIT, COOKIE ECHO, strangers), it handles itself.

mod bind;
mod fault;
mod fragment;
mod icmp;
mod inbound;
mod options;
mod outbound;
mod parcel;
mod port;
mod raw;
mod rebind;
mod router;
mod shard;
mod socket;
mod sockets;
mod timers;
mod udp;
mod wait;
mod worker;

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll};
use std::time::Duration;

use polypath_proto::{Instant, Received};
use tokio::time::{MissedTickBehavior, interval, sleep_until};

pub(crate) use bind::Binding;
pub(crate) use parcel::Inbox;
pub(crate) use raw::kernel_has_sctp;
pub(crate) use rebind::Rebind;
pub(crate) use socket::{SOCKET_BUFFER, wish_for_buffers};
pub(crate) use sockets::{SharedSockets, Sockets};

use self::inbound::{BUFFERS, Inbound};
use self::rebind::Leaving;
use self::router::Router;
use self::shard::Shard;
use self::worker::Worker;
use crate::AssociationError;
use crate::shared::{EndpointShared, lock};

/// Calls to receive from one socket before the others and the associations have their turn.
const RECEIVE_ROUNDS: usize = 4;

/// How often endpoints whose addresses are bound to interfaces see whether these are still the same.
const DEVICE_WATCH: Duration = Duration::from_secs(1);

/// Why the driver was woken.
enum Wake {
    Work,
    /// It is time to see whether interfaces are still the same.
    Watch,
    /// The runtime shuts down.
    SocketsGone,
}

/// The first shard, which has the sockets. Dropping it ends every association.
#[derive(Debug)]
pub(crate) struct Driver {
    shard: Shard,
    binding: Binding,
    inbound: Inbound,
    /// By shard: what was received for its associations.
    parcels: Vec<Inbox>,
    /// Addresses that are being removed.
    leaving: Vec<Leaving>,
}

impl Driver {
    pub(crate) fn new(shared: Arc<EndpointShared>, binding: Binding) -> Self {
        let parcels = shared.shards.iter().map(|_| Inbox::default()).collect();
        let sockets = shared.sockets.get();
        let shard = Shard::new(shared, 0, sockets);
        Self { shard, binding, inbound: Inbound::new(), parcels, leaving: Vec::new() }
    }

    /// The other shards.
    pub(crate) fn workers(&self) -> impl Iterator<Item = Worker> + use<> {
        let (shared, sockets) = (Arc::clone(&self.shard.shared), self.shard.sockets.clone());
        (1..shared.shards.len())
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
                () = shared.front().work.notified() => Wake::Work,
                // A sleep that is over stays so: without a deadline to set it to anew nobody must look at it.
                () = &mut sleep, if deadline.is_some() => {
                    armed = None;
                    Wake::Work
                }
                _ = watch.tick(), if self.has_devices() => Wake::Watch,
            };
            match wake {
                Wake::Work => self.step(),
                Wake::Watch => self.follow_devices(),
                Wake::SocketsGone => return,
            }
            // Users of a runtime with a single thread have their turn too.
            tokio::task::yield_now().await;
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
        self.shard.poll_writable(cx).map(|()| Wake::Work)
    }

    fn is_finished(&self) -> bool {
        self.shard.shared.handles.load(Ordering::Acquire) == 0
            && self.shard.outbound.is_idle()
            && self.shard.shared.state().table.is_empty()
    }

    /// One round: everything that came in, then everything that goes out, then word to the users.
    fn step(&mut self) {
        self.receive();
        self.follow_icmp();
        self.shard.expire();
        let commands = self.shard.take_commands();
        self.rebind_all(commands.map(|commands| commands.rebinds).unwrap_or_default());
        self.shard.finish_round();
    }

    fn receive(&mut self) {
        for place in 0..self.shard.sockets.places() {
            for _ in 0..RECEIVE_ROUNDS {
                let Some(socket) = self.shard.sockets.get(place) else { break };
                // Nothing there, or an error that says nothing about SCTP.
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
            if let Some(association) = router.owner_elsewhere(&received) {
                parcels[association.shard].add(association, &received, datagram.stride);
            } else if let Some(reply) = router.route(&received) {
                shared.tap.sent(&reply);
                outbound.push(sockets, &reply, None, router.stats);
            }
        }
        for (inbox, to) in
            parcels.iter_mut().zip(&shared.shards).filter(|(inbox, _)| !inbox.is_empty())
        {
            let mut dropped = 0;
            to.leave(|commands| dropped = commands.parcels.append(inbox));
            inbox.clear();
            stats.packets_overrun += dropped;
        }
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        let shared = &self.shard.shared;
        let (table, waiting) = {
            let mut state = shared.state();
            state.closed = true;
            (std::mem::take(&mut state.table), std::mem::take(&mut state.accept_queue))
        };
        drop(waiting);
        for association in table.into_values() {
            association.lock().end(Some(AssociationError::EndpointClosed));
            association.wake_all();
        }
        shared.sockets.clear();
        for shard in &shared.shards {
            let commands = lock(&shard.commands).take();
            drop(commands);
            shard.work.notify_one();
        }
        shared.incoming.notify_waiters();
        shared.removed.notify_waiters();
    }
}
