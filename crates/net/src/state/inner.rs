//! An association's protocol state, with what its handles and its driver keep beside it.

use std::collections::VecDeque;
use std::net::IpAddr;

use bytes::Bytes;
use polypath_proto::config::{PathPairing, PmtuDiscovery};
use polypath_proto::{
    Association as Protocol, Cx, Encapsulation, Event, EventKinds, Instant, PathError, PathStats,
    Transmit,
};
use tokio::sync::broadcast;

use crate::clock::Context;
use crate::error::{AssociationError, SendError, TryReceiveError};
use crate::message::Message;
use crate::route;
use crate::socket::{Meaning, SharedSockets};

/// Events that a slow reader may lag behind before the oldest are dropped.
const EVENTS_KEPT: usize = 256;
/// Packets taken from an association while it is locked; encoding them happens after, so that its users wait less.
const TRANSMIT_CHUNK: usize = 64;

/// The state that the lock of an association guards.
#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) protocol: Box<Protocol>,
    pub(crate) context: Context,
    /// How it ended, once its last packet is out.
    ended: Option<Result<(), AssociationError>>,
    /// Shutdown was requested, or its last handle was dropped: so it remains, even if the peer restarts.
    pub(crate) leaving: bool,
    /// A packet that a handle's call gave rise to; it goes out before what the association has to send next.
    ready: Option<Box<Transmit>>,
    /// Messages that are still to be read from before the peer's restart, until the user accepts that.
    restart: Option<usize>,
    /// A task waits until fewer bytes than this are unsent; 0 if none does.
    low_water_bytes: u64,
    /// The association's entry among the driver's timers.
    pub(crate) scheduled: Option<Instant>,
    events: Option<broadcast::Sender<Event>>,
    /// Kinds that somebody listens to.
    wanted: EventKinds,
    /// Events that the protocol had when a restart was looked for; they are to be reported before its others.
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

impl Inner {
    pub(crate) fn new(protocol: Box<Protocol>, context: Context) -> Self {
        Self {
            protocol,
            context,
            ended: None,
            leaving: false,
            ready: None,
            restart: None,
            low_water_bytes: 0,
            scheduled: None,
            events: None,
            wanted: EventKinds::empty(),
            early: VecDeque::new(),
        }
    }

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

    /// The next event that was not reported yet.
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

    /// Events of these kinds, and of others that somebody else wants.
    pub(crate) fn subscribe(&mut self, kinds: EventKinds) -> broadcast::Receiver<Event> {
        if self.ended.is_some() {
            return broadcast::channel(1).1;
        }
        self.wanted |= kinds;
        self.events.get_or_insert_with(|| broadcast::channel(EVENTS_KEPT).0).subscribe()
    }

    /// Passes an event on to the subscribers, if one wants it.
    pub(crate) fn publish(&mut self, event: Event) {
        if !self.wanted.contains(event.kind()) {
            return;
        }
        if let Some(events) = &self.events
            && events.send(event).is_err()
        {
            // Nobody listens any more.
            self.events = None;
            self.wanted = EventKinds::empty();
        }
    }

    /// Marks the association as ended unless it already is. Listeners see the end of their events, and the user's probe is
    /// dropped.
    pub(crate) fn end(&mut self, error: Option<AssociationError>) {
        self.ended.get_or_insert(error.map_or(Ok(()), Err));
        self.events = None;
        self.context.probes().replace_user(None);
    }

    /// Queues a message, if the association takes any.
    pub(crate) fn send(&mut self, now: Instant, message: Message) -> Result<(), SendError> {
        if let Phase::Ended(Some(error)) = self.phase() {
            return Err(error.clone().into());
        }
        if self.is_restarted() {
            return Err(AssociationError::PeerRestarted.into());
        }
        Ok(self.call(now, |protocol, cx| protocol.send(cx, message.into()))?)
    }

    /// Whether fewer than `bytes` wait to be sent; if not, [`has_drained`](Self::has_drained) will say when that is so.
    pub(crate) fn drains_below(&mut self, bytes: u64) -> bool {
        let is_below = self.protocol.unsent_bytes() < bytes;
        if !is_below {
            self.low_water_bytes = self.low_water_bytes.max(bytes);
        }
        is_below
    }

    /// Whether to wake a caller that waits until few bytes are unsent.
    pub(crate) fn has_drained(&mut self) -> bool {
        let has_drained = self.protocol.unsent_bytes() < self.low_water_bytes;
        if has_drained {
            self.low_water_bytes = 0;
        }
        has_drained
    }

    /// Why there is no message to read: `Ok` with none if nothing will come.
    pub(crate) fn nothing_to_read(&self) -> Result<usize, TryReceiveError> {
        match (self.phase(), self.restart) {
            (Phase::Ended(Some(error)), _) => Err(error.clone().into()),
            (_, Some(0)) => Err(AssociationError::PeerRestarted.into()),
            (Phase::Ended(None) | Phase::PeerShutdown, _) => Ok(0),
            (Phase::Pending | Phase::Open, _) => Err(TryReceiveError::Empty),
        }
    }

    /// The last handle of the association was dropped.
    pub(crate) fn abandon(&mut self, now: Instant) {
        match self.phase() {
            Phase::Pending => self.call(now, |protocol, cx| protocol.abort(cx, &Bytes::new())),
            Phase::Open | Phase::PeerShutdown => self.leave(now),
            Phase::Ended(_) => {}
        }
    }

    /// Moves packets to `transmits`; gives whether there may be more. What arrives for an association without
    /// `handles` is discarded, so that its shutdown is not held up.
    pub(crate) fn take_transmits(
        &mut self,
        now: Instant,
        handles: usize,
        transmits: &mut Vec<Transmit>,
    ) -> bool {
        if handles == 0 {
            while self.call(now, Protocol::receive).is_some() {}
        }
        transmits.extend(self.ready.take().map(|ready| *ready));
        while transmits.len() < TRANSMIT_CHUNK {
            match self.call(now, Protocol::poll_transmit) {
                Some(transmit) => transmits.push(transmit),
                None => return false,
            }
        }
        true
    }

    /// The system refuses to send from `local` to `remote`.
    pub(crate) fn refuse_path(&mut self, now: Instant, local: IpAddr, remote: IpAddr) {
        let paths = self.protocol.path_stats();
        if let Some(path) = paths.iter().find(|path| path.local == local && path.remote == remote) {
            let id = path.path;
            self.call(now, |protocol, cx| protocol.handle_path_error(cx, id, PathError::Refused));
        }
    }

    /// Opens the paths that the system's routes ask for, where that is how addresses are paired.
    pub(crate) fn follow_routes(&mut self, now: Instant) {
        if self.protocol.config().path_pairing == PathPairing::ByRoute {
            let mut remotes: Vec<_> = self.protocol.path_stats().iter().map(|p| p.remote).collect();
            remotes.sort_unstable();
            remotes.dedup();
            let routes = route::sources(&remotes);
            self.call(now, |protocol, cx| protocol.handle_routes(cx, &routes));
        }
    }

    /// Whether the association can learn from a message that packets of `path` were larger than `mtu_bytes`. Where MTUs
    /// are probed, the packet may have been a probe, and the association judges.
    fn may_be_too_big(&self, path: &PathStats, mtu_bytes: u32) -> bool {
        let probes = self.protocol.config().pmtu_discovery == Some(PmtuDiscovery::Probe);
        probes || mtu_bytes < path.mtu_bytes
    }

    /// Bounds the MTU of every path by that of its route.
    pub(crate) fn bound_mtus(&mut self, sockets: &SharedSockets, now: Instant) {
        for path in self.protocol.path_stats() {
            if let Some(mtu_bytes) = sockets.route_mtu(path.local, path.remote)
                && self.may_be_too_big(&path, mtu_bytes)
            {
                let error = PathError::PacketTooBig { mtu_bytes };
                self.call(now, |protocol, cx| protocol.handle_path_error(cx, path.path, error));
            }
        }
    }

    /// Reports to the association what ICMP said about a packet on the path of this `pair` of addresses, local and remote;
    /// returns whether the association can use it.
    pub(crate) fn follow_report(
        &mut self,
        now: Instant,
        pair: (IpAddr, IpAddr),
        carried: Encapsulation,
        meaning: Meaning,
        packet: &[u8],
    ) -> bool {
        let paths = self.protocol.path_stats();
        let Some(path) = paths.iter().find(|path| (path.local, path.remote) == pair) else {
            return false;
        };
        let id = path.path;
        match meaning {
            Meaning::TooBig { mtu_bytes } if self.may_be_too_big(path, mtu_bytes) => {
                let error = PathError::PacketTooBig { mtu_bytes };
                self.call(now, |protocol, cx| protocol.handle_path_error(cx, id, error));
                true
            }
            Meaning::TooBig { .. } => false,
            Meaning::SctpUnreachable => {
                self.call(now, |protocol, cx| {
                    protocol.handle_protocol_unreachable(cx, id, carried, packet);
                });
                true
            }
        }
    }
}
