//! How an association begins as the server, and what handshake chunks do to one that exists (RFC 9260 section 5.2).

use alloc::boxed::Box;
use core::net::IpAddr;

use polypath_wire::{Cause, Causes, Chunk};
use smallvec::SmallVec;

use super::agreed::Agreed;
use super::init_parameters::Indications;
use super::view::{Established, HandshakePhase, HandshakeView, ShutdownAckTrigger};
use super::{HandshakeStep, TieTags};
use crate::association::output::{OutputFlush, To};
use crate::association::state::{Connected, ConnectedPhase, Peer, State};
use crate::association::{Association, Identity};
use crate::config::{AuthDemand, ControlRtt, SharedConfig};
use crate::paths::PathBook;
use crate::paths::reach::{Reach, Reason};
use crate::receive::budget::Share;
use crate::transmit::SendPaths;
use crate::types::{Capabilities, PeerAddress};
use crate::{Cx, Encapsulation, Event, Instant, Notice, PathId, Tsn};

impl Association {
    /// Begins an association as the server: its COOKIE ECHO was found good. Queues COOKIE ACK; other chunks of that
    /// packet follow through `handle`, which must pass over the COOKIE ECHO.
    pub(crate) fn accept(
        cx: &mut Cx<'_>,
        config: SharedConfig,
        identity: Identity,
        established: Established,
    ) -> Box<Self> {
        let agreed = Agreed::of(&established.cookie);
        let state = State::Connected(Connected::established(Peer::new(&config, &agreed)));
        let mut association = Box::new(Self::new(cx, config, identity, state));
        association.report_state(cx);
        association.take_over(cx, &agreed);
        association.begin_transfer(cx);
        association.answer_cookie(cx, &established);
        association
    }

    /// Counts what the peer sent in a budget, too, which several associations share.
    pub(crate) fn share_buffer(&mut self, share: Share) {
        if let Some(receiver) = self.state.receiver_mut() {
            receiver.share(share);
        }
    }

    /// What the rules for colliding handshakes need to know.
    pub(crate) fn handshake_view(&self) -> HandshakeView {
        let phase = match &self.state {
            State::Handshake(handshake) => match handshake.step {
                HandshakeStep::CookieWait => HandshakePhase::CookieWait,
                HandshakeStep::CookieEchoed(_) => HandshakePhase::CookieEchoed,
            },
            State::Connected(connected) => match connected.phase {
                ConnectedPhase::ShutdownAckSent(_) => HandshakePhase::ShutdownAckSent,
                ConnectedPhase::Established
                | ConnectedPhase::ShutdownPending
                | ConnectedPhase::ShutdownSent(_)
                | ConnectedPhase::ShutdownHeld(_)
                | ConnectedPhase::ShutdownReceived(_) => HandshakePhase::Established,
            },
            State::Closed(_) => HandshakePhase::Closed,
        };
        let mut peer_addresses = SmallVec::new();
        let deleted = Reach::Inactive(Reason::NoRemoteAddress);
        for path in self.paths.iter().filter(|path| path.reach() != deleted) {
            let address = PeerAddress { address: path.remote, encapsulation: path.encapsulation };
            if !peer_addresses.contains(&address) {
                peer_addresses.push(address);
            }
        }
        let named = self.newcomers.replaced.iter();
        peer_addresses.extend(
            named.map(|&address| PeerAddress { address, encapsulation: Encapsulation::None }),
        );
        HandshakeView {
            phase,
            local_tag: self.identity.local_tag,
            peer_tag: self.state.peer_tag(),
            tie_tags: self.tie_tags,
            initial_tsn: self.identity.initial_tsn,
            a_rwnd: self.config.first_window(),
            outbound_streams: self.config.outbound_streams,
            max_inbound_streams: self.config.max_inbound_streams,
            offered: Capabilities::offered(&self.config),
            authentication: AuthDemand::of(&self.config.policies),
            indications: Indications::of(&self.config),
            auth: self.auth.as_ref().map(|auth| auth.own().clone()),
            peer_addresses,
        }
    }

    /// The peer restarted (RFC 9260 section 5.2.4 action A): starts again with the tags, TSNs and addresses of the
    /// cookie, keeps the user's association and notifies the user. Queues COOKIE ACK.
    pub(crate) fn restart(&mut self, cx: &mut Cx<'_>, established: Established) {
        self.stir();
        let cookie = &established.cookie;
        self.report_undelivered();
        self.identity.local_tag = cookie.local_tag;
        self.identity.initial_tsn = cookie.local_initial_tsn;
        // They stood for the tags of before: other cookies that were made then mean nothing any more.
        self.tie_tags = TieTags::draw(cx.rng);
        self.transmitter.restart(Tsn(cookie.local_initial_tsn), &self.config);
        self.control.clear();
        self.paths.errors = 0;
        self.flush = OutputFlush::default();
        self.readable_told = false;
        let agreed = Agreed::of(cookie);
        self.take_over(cx, &agreed);
        let mut peer = Peer::new(&self.config, &agreed);
        // What the peer sent before it restarted was acknowledged and stays the user's.
        self.finish_receiving();
        let before = self.state.take_peer();
        let unread_messages =
            before.map_or(0, |mut before| peer.receiver.inherit(&mut before.receiver));
        self.state = State::Connected(Connected::established(peer));
        self.events.push(Event::Restarted {
            outbound_streams: self.streams.outbound,
            inbound_streams: self.streams.inbound,
            unread_messages,
        });
        self.events.push(Event::Writable);
        self.obey_preference();
        self.announce_messages();
        self.start_heartbeats(cx);
        self.answer_cookie(cx, &established);
    }

    /// The peer's COOKIE ECHO belongs to this association (RFC 9260 section 5.2.4 actions B and D): takes over the
    /// peer's tag, enters ESTABLISHED if it is not there yet, and queues COOKIE ACK.
    pub(crate) fn complete_handshake(&mut self, cx: &mut Cx<'_>, established: Established) {
        self.stir();
        let cookie = &established.cookie;
        if self.state.is_handshake() {
            let agreed = Agreed::of(cookie);
            self.control.clear();
            self.take_over(cx, &agreed);
            self.notice_addresses(cookie.peer_addresses.iter().copied());
            let proved = cookie.source().map(|source| source.address);
            self.notices.extend(proved.map(Notice::PeerAddressConfirmed));
            self.become_established(cx, Peer::new(&self.config, &agreed));
        } else if let Some(peer) = self.state.peer_mut() {
            peer.tag = cookie.peer_tag;
        }
        self.answer_cookie(cx, &established);
    }

    /// Queues SHUTDOWN ACK again, on a path of its own choice.
    pub(crate) fn resend_shutdown_ack(&mut self, _cx: &mut Cx<'_>, trigger: ShutdownAckTrigger) {
        self.stir();
        if !matches!(self.state.phase(), Some(ConnectedPhase::ShutdownAckSent(_))) {
            return;
        }
        // The timer continues: repeated chunks of a peer must not postpone it.
        self.queue_control(Chunk::ShutdownAck, To::Best);
        if trigger == ShutdownAckTrigger::CookieEcho {
            let causes = Causes::build([Cause::CookieWhileShuttingDown]);
            self.queue_control(Chunk::Error(causes), To::Best);
        }
    }

    /// Takes over what a cookie says. The only confirmed path is the one on which INIT and INIT ACK went.
    fn take_over(&mut self, cx: &mut Cx<'_>, agreed: &Agreed) {
        let (local, remote) = agreed.handshake_pair;
        self.paths = PathBook::default();
        self.transmitter.paths = SendPaths::default();
        self.identity.local_addresses = first(&self.identity.local_addresses, local);
        self.settle(cx, agreed);
        self.paths.primary = self.confirm_handshake_pair(local, remote.address);
        self.report_paths(cx);
    }

    /// Sends COOKIE ACK to the source of the COOKIE ECHO.
    fn answer_cookie(&mut self, cx: &mut Cx<'_>, established: &Established) {
        let path = self.paths.find(established.local, established.remote.address);
        if let Some(path) = path.filter(|_| established.came_back()) {
            self.measure_by_cookie(cx, path, established.cookie.created);
        }
        // An unconfirmed address gets a heartbeat as well (RFC 9260 section 5.4).
        if let Some(path) = path.filter(|path| self.paths[*path].reach() == Reach::Unconfirmed)
            && self.paths[path].heartbeat.outstanding.is_none()
        {
            self.send_heartbeat(cx, path);
        }
        self.queue_control(Chunk::CookieAck, path.map_or(To::Best, To::Path));
        // COOKIE ACK must be the first chunk of its packet.
        self.control.rotate_right(1);
    }

    /// An INIT ACK that went over the path at `created` was answered. A COOKIE ECHO that is as old as the timeout may have been
    /// sent before, and measures nothing.
    fn measure_by_cookie(&mut self, cx: &mut Cx<'_>, id: PathId, created: Instant) {
        let policies = &self.config.policies;
        let path = &mut self.transmitter.paths[id];
        if policies.control_rtt == ControlRtt::Provisional
            && path.rtt.srtt().is_none()
            && cx.now.since(created) < policies.rto.initial
        {
            path.sample_control_rtt(cx.now, cx.probe, created);
        }
    }
}

/// The same addresses with `address` at the front, so that the pair that worked is the first one.
fn first(addresses: &[IpAddr], address: IpAddr) -> SmallVec<[IpAddr; 2]> {
    let mut ordered: SmallVec<[IpAddr; 2]> = SmallVec::new();
    ordered.push(address);
    ordered.extend(addresses.iter().copied().filter(|other| *other != address));
    ordered
}
