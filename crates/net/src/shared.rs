//! What the public handles share with the driver.
//!
//! Locks are held for single calls into the protocol, never across an await. Whoever holds the endpoint's lock may
//! take an association's, not the other way round.

use std::collections::{BTreeMap, VecDeque};
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use polypath_proto::{Association as Protocol, AssociationId, Cx, Event, Instant, Transmit};
use tokio::sync::{Notify, broadcast};

use crate::clock::{Clock, Context};
use crate::driver::{Inbox, Rebind, SharedSockets};
use crate::tap::Tap;
use crate::{Association, AssociationError, Carriers, EndpointStats, route};

/// Events that a slow reader may lag behind before the oldest are dropped.
const EVENTS_KEPT: usize = 256;

/// An endpoint as its handles and its driver see it.
#[derive(Debug)]
pub(crate) struct EndpointShared {
    pub(crate) clock: Clock,
    pub(crate) port: u16,
    pub(crate) encapsulation_port: u16,
    pub(crate) carriers: Carriers,
    pub(crate) backlog: usize,
    pub(crate) tap: Tap,
    pub(crate) state: Mutex<EndpointState>,
    pub(crate) sockets: SharedSockets,
    /// The tasks that drive the associations; the first one has the sockets, too.
    pub(crate) shards: Box<[ShardShared]>,
    /// An association waits to be accepted, or the endpoint is closed.
    pub(crate) incoming: Notify,
    /// An association was removed.
    pub(crate) removed: Notify,
    /// Public handles of the endpoint.
    pub(crate) handles: AtomicUsize,
}

/// A task that drives associations, as the others see it.
#[derive(Debug)]
pub(crate) struct ShardShared {
    /// What others leave for the task; `None` when it runs no more. Without one nothing may be put in here or into the
    /// state of the endpoint: it would keep itself alive.
    pub(crate) commands: Mutex<Option<Commands>>,
    /// Wakes the task.
    pub(crate) work: Notify,
    /// What it has counted.
    pub(crate) stats: Mutex<EndpointStats>,
    /// Associations that it drives.
    pub(crate) associations: AtomicUsize,
}

/// What handles and other shards leave for a shard.
#[derive(Debug, Default)]
pub(crate) struct Commands {
    /// Associations that something was done to.
    pub(crate) associations: Vec<Arc<AssociationShared>>,
    /// Local addresses to add and to remove; for the first shard.
    pub(crate) rebinds: Vec<Rebind>,
    /// Packets that the first shard received for associations of another.
    pub(crate) parcels: Inbox,
}

impl ShardShared {
    pub(crate) fn new() -> Self {
        Self {
            commands: Mutex::new(Some(Commands::default())),
            work: Notify::new(),
            stats: Mutex::new(EndpointStats::default()),
            associations: AtomicUsize::new(0),
        }
    }

    /// Leaves something for the task and wakes it; gives whether it runs.
    pub(crate) fn leave(&self, what: impl FnOnce(&mut Commands)) -> bool {
        let mut commands = lock(&self.commands);
        let Some(commands) = &mut *commands else { return false };
        what(commands);
        self.work.notify_one();
        true
    }
}

#[derive(Debug)]
pub(crate) struct EndpointState {
    pub(crate) protocol: polypath_proto::Endpoint,
    pub(crate) context: Context,
    pub(crate) table: BTreeMap<AssociationId, Arc<AssociationShared>>,
    pub(crate) accept_queue: VecDeque<Association>,
    pub(crate) accepting: Accepting,
    /// No driver runs any more, or none shall.
    pub(crate) closed: bool,
}

/// Whether associations of peers are accepted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Accepting {
    Yes,
    /// Never, or no longer.
    Stopped,
}

/// What peers are told whose associations nobody will accept.
pub(crate) const NOT_ACCEPTING: Bytes =
    Bytes::from_static(b"no associations are accepted any more");

impl EndpointShared {
    pub(crate) fn state(&self) -> MutexGuard<'_, EndpointState> {
        lock(&self.state)
    }

    /// MTU in bytes of the route between two addresses, if there is one and the system tells.
    pub(crate) fn route_mtu(&self, from: IpAddr, to: IpAddr) -> Option<u32> {
        route::mtu(from, self.sockets.device_of(from).as_deref(), to)
    }

    /// The shard that has the sockets.
    pub(crate) fn front(&self) -> &ShardShared {
        &self.shards[0]
    }

    /// The shard that gets the next association: the one with the fewest, the first among equals, since packets for
    /// others take one step more. Counts the association.
    fn choose_shard(&self) -> usize {
        let load = |shard: &ShardShared| shard.associations.load(Ordering::Relaxed);
        let least =
            self.shards.iter().enumerate().min_by_key(|(index, shard)| (load(shard), *index));
        let index = least.map_or(0, |(index, _)| index);
        self.shards[index].associations.fetch_add(1, Ordering::Relaxed);
        index
    }
}

/// An association as its handles and the driver see it.
#[derive(Debug)]
pub(crate) struct AssociationShared {
    pub(crate) id: AssociationId,
    pub(crate) endpoint: Arc<EndpointShared>,
    /// Index of the shard that drives it.
    pub(crate) shard: usize,
    pub(crate) inner: Mutex<Inner>,
    /// Whether its shard has it on its list.
    pub(crate) queued: AtomicBool,
    /// Public handles; the association is ended when the last one goes.
    pub(crate) handles: AtomicUsize,
    /// Messages wait, or none will come.
    pub(crate) readable: Notify,
    /// The send buffer has room, or will never have.
    pub(crate) writable: Notify,
    /// The association was established or has ended.
    pub(crate) changed: Notify,
    /// Senders take turns, so that a large message is not overtaken for ever by small ones.
    pub(crate) turn: tokio::sync::Mutex<()>,
}

#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) protocol: Box<Protocol>,
    pub(crate) context: Context,
    /// How it ended, once its last packet is out.
    ended: Option<Result<(), AssociationError>>,
    /// Somebody asked for shutdown, or nobody holds it any more: so it remains, even if the peer restarts.
    pub(crate) leaving: bool,
    /// A packet that a handle's call gave rise to; it goes out before what the association has to send next.
    pub(crate) ready: Option<Box<Transmit>>,
    /// Messages that are still to be read from before the peer's restart, until the user accepts that.
    restart: Option<usize>,
    /// The association's entry among the driver's timers.
    pub(crate) scheduled: Option<Instant>,
    events: Option<broadcast::Sender<Event>>,
    /// Events that the protocol had when a restart was looked for; they are to be told before its others.
    early: VecDeque<Event>,
}

/// How far an association is, as its user sees it. The protocol knows: there is no second copy that could lag behind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Phase<'a> {
    /// The handshake goes on, or it has ended and its last packet is not out.
    Pending,
    /// Established.
    Open,
    /// The peer sends no more.
    PeerShutdown,
    /// Gone; `None` after a graceful end.
    Ended(Option<&'a AssociationError>),
}

impl AssociationShared {
    pub(crate) fn new(
        id: AssociationId,
        endpoint: Arc<EndpointShared>,
        protocol: Box<Protocol>,
        context: Context,
    ) -> Arc<Self> {
        let inner = Inner {
            protocol,
            context,
            ended: None,
            leaving: false,
            ready: None,
            restart: None,
            scheduled: None,
            events: None,
            early: VecDeque::new(),
        };
        let shard = endpoint.choose_shard();
        Arc::new(Self {
            id,
            endpoint,
            shard,
            inner: Mutex::new(inner),
            queued: AtomicBool::new(false),
            handles: AtomicUsize::new(0),
            readable: Notify::new(),
            writable: Notify::new(),
            changed: Notify::new(),
            turn: tokio::sync::Mutex::new(()),
        })
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Inner> {
        lock(&self.inner)
    }

    /// Ends the association at once.
    pub(crate) fn abort(self: &Arc<Self>, reason: &Bytes) {
        let now = self.endpoint.clock.now();
        self.lock().call(now, |protocol, cx| protocol.abort(cx, reason));
        self.command();
    }

    /// Puts the association on the list of its shard.
    pub(crate) fn command(self: &Arc<Self>) {
        if !self.queued.swap(true, Ordering::AcqRel) {
            let shard = &self.endpoint.shards[self.shard];
            shard.leave(|commands| commands.associations.push(Arc::clone(self)));
        }
    }

    /// Wakes everyone who waits for something of this association.
    pub(crate) fn wake_all(&self) {
        self.readable.notify_waiters();
        self.writable.notify_waiters();
        self.changed.notify_waiters();
    }
}

impl Inner {
    /// Calls into the protocol at `now`.
    pub(crate) fn call<R>(
        &mut self,
        now: Instant,
        call: impl FnOnce(&mut Protocol, &mut Cx<'_>) -> R,
    ) -> R {
        let Self { protocol, context, .. } = self;
        context.lend(now, |cx| call(protocol, cx))
    }

    /// How far it is.
    pub(crate) fn phase(&self) -> Phase<'_> {
        match &self.ended {
            Some(end) => Phase::Ended(end.as_ref().err()),
            None if self.protocol.is_shut_by_peer() => Phase::PeerShutdown,
            None if self.protocol.is_established() => Phase::Open,
            None => Phase::Pending,
        }
    }

    /// Notes whether the peer restarted. To be called under the lock under which that may have happened, so that nobody
    /// sends to the new peer unawares. The next restarts change nothing about which messages the user trusts.
    pub(crate) fn note_restart(&mut self) {
        while let Some(event) = self.protocol.poll_event() {
            if let Event::Restarted { unread_messages, .. } = &event {
                self.restart.get_or_insert(*unread_messages);
            }
            self.early.push_back(event);
        }
    }

    /// What happened next and was not told yet.
    pub(crate) fn next_event(&mut self) -> Option<Event> {
        self.early.pop_front().or_else(|| self.protocol.poll_event())
    }

    /// The user knows that the peer restarted.
    pub(crate) fn accept_restart(&mut self) {
        self.restart = None;
    }

    /// Whether the peer restarted and the user has not accepted that.
    pub(crate) fn is_restarted(&self) -> bool {
        self.restart.is_some()
    }

    /// Whether the next message may be read: after a restart only those from before.
    pub(crate) fn admits_receive(&mut self) -> bool {
        match &mut self.restart {
            None => true,
            Some(0) => false,
            Some(left) => {
                *left -= 1;
                true
            }
        }
    }

    /// Shuts down gracefully.
    pub(crate) fn leave(&mut self, now: Instant) {
        self.leaving = true;
        self.call(now, Protocol::shutdown);
    }

    /// Whether there is a packet to send; if so, it is kept ready.
    pub(crate) fn has_transmit(&mut self, now: Instant) -> bool {
        if self.ready.is_none() {
            self.ready = self.call(now, Protocol::poll_transmit).map(Box::new);
        }
        self.ready.is_some()
    }

    pub(crate) fn subscribe(&mut self) -> broadcast::Receiver<Event> {
        if self.ended.is_some() {
            return broadcast::channel(1).1;
        }
        self.events.get_or_insert_with(|| broadcast::channel(EVENTS_KEPT).0).subscribe()
    }

    /// Passes an event on to whoever listens.
    pub(crate) fn publish(&self, event: Event) {
        if let Some(events) = &self.events {
            // Nobody listens any more: nothing to do.
            let _ = events.send(event);
        }
    }

    /// Marks the association as ended unless it already is. Listeners see the end of their events.
    pub(crate) fn end(&mut self, error: Option<AssociationError>) {
        self.ended.get_or_insert(error.map_or(Ok(()), Err));
        self.events = None;
    }
}

/// Locks; a panic elsewhere while the lock was held does not spread.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::sync::Weak;

    use super::*;
    use crate::{AssociationConfig, Endpoint, Peer};

    /// An endpoint with one association that was accepted and one that waits, and the other ends of both.
    fn associations() -> (Vec<Weak<EndpointShared>>, Endpoint, Vec<Association>) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let bind = |address: &str, backlog| {
                let builder = Endpoint::builder([address.parse().unwrap()]).encapsulation_port(0);
                builder.listen(backlog).bind().unwrap()
            };
            let (server, client) = (bind("127.0.0.43", 2), bind("127.0.0.44", 0));
            let peer = Peer::new(server.local_addresses(), server.port())
                .encapsulation_port(server.encapsulation_port());
            let near = client.connect(&peer, AssociationConfig::default()).await.unwrap();
            let far = server.accept().await.unwrap();
            let other = bind("127.0.0.45", 0);
            let waiting = other.connect(&peer, AssociationConfig::default()).await.unwrap();
            let weak = |endpoint: &Endpoint| Arc::downgrade(endpoint.shared());
            (vec![weak(&server), weak(&client), weak(&other)], server, vec![near, far, waiting])
        })
    }

    #[tokio::test]
    async fn the_shard_with_the_fewest_associations_gets_the_next() {
        let builder = Endpoint::builder(["127.0.0.48".parse().unwrap()]);
        let endpoint = builder.encapsulation_port(0).shards(3).bind().unwrap();
        let shared = endpoint.shared();
        let choose = |times: usize| (0..times).map(|_| shared.choose_shard()).collect::<Vec<_>>();
        assert_eq!(choose(7), [0, 1, 2, 0, 1, 2, 0]);
        // Two of the second one have ended.
        shared.shards[1].associations.fetch_sub(2, Ordering::Relaxed);
        assert_eq!(choose(5), [1, 1, 1, 2, 0]);
    }

    #[test]
    fn nothing_keeps_itself_alive_when_the_runtime_is_gone() {
        let (weak, server, held) = associations();
        held[0].abort("nobody is there to do it");
        held[1].abort("nobody is there to do it");
        server.close("neither here");
        drop((server, held));
        for endpoint in weak {
            assert_eq!(endpoint.strong_count(), 0);
        }
    }
}
