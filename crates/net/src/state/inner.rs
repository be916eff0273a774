//! An association's protocol state, with further state of its handles and its driver.

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
use crate::places::Seen;
use crate::route;
use crate::socket::{Meaning, SharedSockets};

/// Number of events by which a slow subscriber may lag before the oldest are dropped.
const EVENTS_KEPT: usize = 256;
/// Packets polled while an association is locked; they are encoded afterwards, so that its users wait less.
const TRANSMIT_CHUNK: usize = 64;

/// The state that the lock of an association guards.
#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) protocol: Box<Protocol>,
    pub(crate) context: Context,
    /// How it ended, once its last packet is out.
    ended: Option<Result<(), AssociationError>>,
    /// Shutdown was requested, or the last handle was dropped; a restart of the peer does not change that.
    pub(crate) leaving: bool,
    /// A packet caused by a handle's call; it is sent before any other.
    ready: Option<Box<Transmit>>,
    /// The peer has asked for shutdown, after its last restart if it has restarted.
    shut_by_peer: bool,
    /// Number of unread messages from before the peer's restart, until the user accepts the restart.
    restart: Option<usize>,
    /// A task waits until fewer bytes than this are unsent; 0 without one.
    low_water_bytes: u64,
    /// The association's entry among the driver's timers.
    pub(crate) scheduled: Option<Instant>,
    events: Option<broadcast::Sender<Event>>,
    /// Kinds that are subscribed to.
    wanted: EventKinds,
    /// Default parameters of messages, if they were set.
    pub(crate) template: Option<Box<Message>>,
    /// Events taken from the protocol that the driver has not handled yet.
    noted: VecDeque<Event>,
}

/// The phase of an association, as seen by its user. The protocol knows it: there is no second copy that could differ.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Phase<'a> {
    /// In the handshake, or ended while its last packet is unsent.
    Pending,
    /// Established.
    Open,
    /// The peer has shut down.
    PeerShutdown,
    /// Ended; `None` after a graceful end.
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
            shut_by_peer: false,
            restart: None,
            low_water_bytes: 0,
            scheduled: None,
            events: None,
            wanted: EventKinds::empty(),
            template: None,
            noted: VecDeque::new(),
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

    /// The present phase.
    pub(crate) fn phase(&self) -> Phase<'_> {
        match &self.ended {
            Some(end) => Phase::Ended(end.as_ref().err()),
            None if self.protocol.is_shut_by_peer() => Phase::PeerShutdown,
            None if self.protocol.is_established() => Phase::Open,
            None => Phase::Pending,
        }
    }

    /// The association as the rule sees it by which some make way for others.
    pub(crate) fn seen(&self) -> Seen {
        let stays = self.protocol.peer_has_key() || self.protocol.has_unread();
        Seen { bytes: self.progress_bytes(), stays }
    }

    /// Bytes of user data that the peer has acknowledged or sent.
    pub(crate) fn progress_bytes(&self) -> u64 {
        let paths = self.protocol.path_stats();
        paths.iter().map(|path| path.data_bytes_acked + path.data_bytes_received).sum()
    }

    /// Passes what has happened to the subscribers, and keeps it for the driver. Must be called under the same lock as a
    /// call by which the peer may have restarted, so that no message is sent to the restarted peer unnoticed, and before
    /// a message is read, so that subscribers know of everything that preceded it. Further restarts do not change which
    /// messages the user trusts.
    pub(crate) fn note_events(&mut self) {
        while let Some(event) = self.protocol.poll_event() {
            match &event {
                Event::Restarted { unread_messages, .. } => {
                    self.restart.get_or_insert(*unread_messages);
                    self.shut_by_peer = false;
                }
                Event::PeerShutdown => self.shut_by_peer = true,
                _ => {}
            }
            // The end is reported once the last packet is sent.
            if !matches!(event, Event::Ended(_)) {
                self.publish(&event);
            }
            self.noted.push_back(event);
        }
    }

    /// The next event for the driver; except for the end, its subscribers have it.
    pub(crate) fn next_event(&mut self) -> Option<Event> {
        if self.noted.is_empty() {
            self.note_events();
        }
        self.noted.pop_front()
    }

    /// Notes that the user accepts the restart.
    pub(crate) fn accept_restart(&mut self) {
        self.restart = None;
    }

    /// Whether the peer has restarted and the user has not accepted it.
    pub(crate) fn is_restarted(&self) -> bool {
        self.restart.is_some()
    }

    /// Whether the next message may be read: after a restart, only earlier ones.
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

    /// Whether there is a packet to send; if so, it is kept.
    pub(crate) fn has_transmit(&mut self, now: Instant) -> bool {
        if self.ready.is_none() {
            self.ready = self.call(now, Protocol::poll_transmit).map(Box::new);
        }
        self.ready.is_some()
    }

    /// Whether the peer has asked for shutdown; also once the association has ended.
    pub(crate) fn is_shut_by_peer(&mut self) -> bool {
        self.note_events();
        self.shut_by_peer
    }

    /// Subscribes to events of these kinds from now on; the channel also has kinds of other subscribers.
    pub(crate) fn subscribe(&mut self, kinds: EventKinds) -> broadcast::Receiver<Event> {
        if self.ended.is_some() {
            return broadcast::channel(1).1;
        }
        // What has happened before is not for this subscriber, whether or not the driver has handled it.
        self.note_events();
        // Readiness is for the driver.
        self.wanted |= kinds - EventKinds::READINESS;
        self.events.get_or_insert_with(|| broadcast::channel(EVENTS_KEPT).0).subscribe()
    }

    /// Whether someone may listen to events.
    pub(crate) fn has_subscribers(&self) -> bool {
        self.events.is_some()
    }

    /// Passes an event to the subscribers, if one wants it.
    pub(crate) fn publish(&mut self, event: &Event) {
        if !self.wanted.contains(event.kind()) {
            return;
        }
        if let Some(events) = &self.events
            && events.send(event.clone()).is_err()
        {
            // There is no subscriber any more.
            self.events = None;
            self.wanted = EventKinds::empty();
        }
    }

    /// Marks the association as ended unless it already is. Subscribers see the end of their events, and the user's
    /// probe is dropped.
    pub(crate) fn end(&mut self, error: Option<AssociationError>) {
        self.ended.get_or_insert(error.map_or(Ok(()), Err));
        self.events = None;
        self.context.probes().replace_user(None);
    }

    /// Queues a message, if the association accepts any.
    pub(crate) fn send(&mut self, now: Instant, message: Message) -> Result<(), SendError> {
        if let Phase::Ended(Some(error)) = self.phase() {
            return Err(error.clone().into());
        }
        if self.is_restarted() {
            return Err(AssociationError::PeerRestarted.into());
        }
        Ok(self.call(now, |protocol, cx| protocol.send(cx, message.into()))?)
    }

    /// Whether fewer than `bytes` are unsent; if not, [`has_drained`](Self::has_drained) reports when they are.
    pub(crate) fn drains_below(&mut self, bytes: u64) -> bool {
        let is_below = self.protocol.unsent_bytes() < bytes;
        if !is_below {
            self.low_water_bytes = self.low_water_bytes.max(bytes);
        }
        is_below
    }

    /// Whether to wake a task that waits until few bytes are unsent.
    pub(crate) fn has_drained(&mut self) -> bool {
        let has_drained = self.protocol.unsent_bytes() < self.low_water_bytes;
        if has_drained {
            self.low_water_bytes = 0;
        }
        has_drained
    }

    /// Why there is no message to read: `Ok` with 0 if none will arrive.
    pub(crate) fn nothing_to_read(&self) -> Result<usize, TryReceiveError> {
        match (self.phase(), self.restart) {
            (Phase::Ended(Some(error)), _) => Err(error.clone().into()),
            (_, Some(0)) => Err(AssociationError::PeerRestarted.into()),
            (Phase::Ended(None) | Phase::PeerShutdown, _) => Ok(0),
            (Phase::Pending | Phase::Open, _) => Err(TryReceiveError::Empty),
        }
    }

    /// Notes that the last handle of the association was dropped.
    pub(crate) fn abandon(&mut self, now: Instant) {
        match self.phase() {
            Phase::Pending => self.call(now, |protocol, cx| protocol.abort(cx, &Bytes::new())),
            Phase::Open | Phase::PeerShutdown => self.leave(now),
            Phase::Ended(_) => {}
        }
    }

    /// Moves packets to `transmits`; returns whether there may be more. Data for an association without `handles` is
    /// discarded, so that it does not delay its shutdown.
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

    /// Notes that the system refuses to send from `local` to `remote`.
    pub(crate) fn refuse_path(&mut self, now: Instant, local: IpAddr, remote: IpAddr) {
        let paths = self.protocol.path_stats();
        if let Some(path) = paths.iter().find(|path| path.local == local && path.remote == remote) {
            let id = path.path;
            self.call(now, |protocol, cx| protocol.handle_path_error(cx, id, PathError::Refused));
        }
    }

    /// Opens the paths of the system's routes, if addresses are paired by route.
    pub(crate) fn follow_routes(&mut self, now: Instant) {
        if self.protocol.config().path_pairing == PathPairing::ByRoute {
            let mut remotes: Vec<_> = self.protocol.path_stats().iter().map(|p| p.remote).collect();
            remotes.sort_unstable();
            remotes.dedup();
            let routes = route::sources(&remotes);
            self.call(now, |protocol, cx| protocol.handle_routes(cx, &routes));
        }
    }

    /// Whether a report that packets of `path` were larger than `mtu_bytes` is useful to the association. If MTUs are
    /// probed, the packet may have been a probe, which the association decides.
    fn may_be_too_big(&self, path: &PathStats, mtu_bytes: u32) -> bool {
        let probes = self.protocol.config().pmtu_discovery == Some(PmtuDiscovery::Probe);
        probes || mtu_bytes < path.mtu_bytes
    }

    /// Limits the MTU of every path to that of its route.
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

    /// Passes a report of ICMP about a packet on the path of this `pair` of addresses, local and remote; returns
    /// whether the association used it.
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
