//! The client's half of the handshake (RFC 9260 section 5.1).

use alloc::boxed::Box;
use core::net::IpAddr;

use polypath_wire::{Abort, Cause, Causes, Chunk, Init, Raw};
use smallvec::SmallVec;

use super::agreed::Agreed;
use super::init_parameters::{self, Indications, InitKind, InitLimits, InitProblem, PeerInit};
use super::{Echoed, Handshake, HandshakeStep, T1};
use crate::association::Association;
use crate::association::input::MAX_WAITING_ANSWERS;
use crate::association::output::To;
use crate::association::state::{Peer, State};
use crate::config::{AuthDemand, HandshakePaths};
use crate::extension::auth::AuthPair;
use crate::paths::Path;
use crate::paths::first_contact::{self, Pair};
use crate::paths::reach::Reach;
use crate::types::{Capabilities, PathSet, PeerAddress};
use crate::{AssociationEnd, Cx, Duration, Encapsulation, Instant, Notice, PathId};

impl Association {
    /// Sends INIT over the paths of the policy that have not taken one since the timer was started.
    pub(in crate::association) fn send_init(&mut self, now: Instant) {
        let pair = |path: &Path| Pair { path: path.id, local: path.local, remote: path.remote };
        let suitable = self.paths.iter().filter(|path| self.suits_handshake(path.id)).map(pair);
        let mut suitable: SmallVec<[Pair; 4]> = suitable.collect();
        let Some(handshake) = self.state.handshake_mut() else { return };
        let mut turn = pair(&self.paths[handshake.path]);
        let policy = self.config.policies.handshake;
        if policy == HandshakePaths::AllPaths && handshake.timer.retransmissions == 0 {
            (turn, suitable) = first_contact::narrowest(turn, &suitable);
            handshake.path = turn.path;
        }
        let mut paths = first_contact::destinations(policy, turn, suitable.into_iter());
        let asked = &mut handshake.timer.tries.asked;
        paths.retain(|path| !asked.contains(*path));
        paths.iter().for_each(|path| asked.insert(*path));
        for path in paths {
            self.send_init_on(path);
            self.paths[path].init.on_sent(now);
        }
    }

    fn send_init_on(&mut self, path: PathId) {
        let Path { local, remote, encapsulation, .. } = self.paths[path];
        // Stacks of WebRTC reject what lists an address. Who does not answer gets every second INIT without.
        let timer = self.state.handshake().map(|handshake| handshake.timer.retransmissions);
        let is_bare = timer
            .is_some_and(|retransmissions| retransmissions >= 2 && retransmissions % 2 == 0)
            && encapsulation != Encapsulation::None;
        let own = [local];
        let parameters = init_parameters::init_parameters(
            if is_bare { &own } else { &self.identity.local_addresses },
            local,
            PeerAddress { address: remote, encapsulation },
            self.state.handshake().and_then(|handshake| handshake.life_extension),
            Capabilities::offered(&self.config),
            self.auth.as_ref().map(|auth| auth.own()),
        );
        let parameters = Indications::of(&self.config).added_to(parameters, local);
        let init = Init {
            initiate_tag: self.identity.local_tag,
            // A peer refuses less (RFC 9260 section 3.3.2).
            a_rwnd: self.config.first_window().max(init_parameters::MIN_INITIAL_WINDOW),
            outbound_streams: self.config.outbound_streams.max(1),
            inbound_streams: self.config.max_inbound_streams.max(1),
            initial_tsn: self.identity.initial_tsn,
            parameters,
        };
        self.queue_control(Chunk::Init(init), To::Path(path));
    }

    fn send_cookie_echo_to(&mut self, to: To) {
        let State::Handshake(handshake) = &self.state else { return };
        let HandshakeStep::CookieEchoed(echoed) = &handshake.step else { return };
        let (cookie, report) = (echoed.cookie.clone(), echoed.report.clone());
        self.queue_control(Chunk::CookieEcho(Raw::Shared(cookie)), to);
        if let Some(report) = report {
            self.queue_control(Chunk::Error(report), to);
        }
    }

    pub(in crate::association) fn send_cookie_echo(&mut self) {
        if let Some(path) = self.state.handshake().map(|handshake| handshake.path) {
            self.send_cookie_echo_to(To::Path(path));
        }
    }

    /// Timer T1 expired: the next attempt uses the peer's next address; with a cookie, the next confirmed one. An
    /// address that refused an INIT gets another attempt, since the others have had their time.
    pub(in crate::association) fn handshake_timeout(&mut self, cx: &mut Cx<'_>) {
        let rto = self.config.policies.rto;
        self.report_handshake_timeout(cx);
        let counts = self.counts_handshake_timeout(cx.now);
        let longest = self.longest_pause(rto.initial);
        let Some(handshake) = self.state.handshake_mut() else { return };
        let timer = &mut handshake.timer;
        if counts && timer.retransmissions >= self.config.max_init_retransmits {
            return self.end(cx, AssociationEnd::CannotConnect);
        }
        timer.retransmissions += u32::from(counts);
        // From the first timeout on it is no shorter than without a measurement.
        timer.timeout = (timer.timeout * 2).max(rto.initial).min(longest);
        let aborted = timer.tries.aborted;
        timer.restart(cx.now);
        self.go_on_with(aborted.or_else(|| self.next_handshake_path()));
        self.send_handshake_chunk(cx.now);
        self.repeat_cookie_where_answered();
    }

    /// With a cookie, the next path may have a long round trip, or may not have answered yet: lost chunks are also
    /// retransmitted on the paths that have answered INIT.
    fn repeat_cookie_where_answered(&mut self) {
        if self.config.policies.handshake != HandshakePaths::AllPaths || self.state.is_cookie_wait()
        {
            return;
        }
        let Some(next) = self.state.handshake().map(|handshake| handshake.path) else { return };
        let answered: SmallVec<[PathId; 4]> = self
            .transmitter
            .paths
            .iter()
            .filter(|path| path.rtt.srtt().is_some() && self.suits_handshake(path.id))
            .map(|path| path.id)
            .filter(|path| *path != next)
            .collect();
        for path in answered {
            self.send_cookie_echo_to(To::Path(path));
        }
    }

    /// The system refuses the path of the handshake: the next one is tried at once, if there is one that the system has
    /// not refused since the timer was started. Otherwise the timer tries again.
    pub(in crate::association) fn handshake_refused(&mut self, now: Instant, id: PathId) {
        let Some(handshake) = self.state.handshake_mut() else { return };
        handshake.timer.tries.refused.insert(id);
        if id != handshake.path {
            return;
        }
        if let Some(next) = self.next_handshake_path() {
            self.go_on_with(Some(next));
            self.send_handshake_chunk(now);
        }
    }

    /// An ABORT arrived: whether it refuses only one of several INITs, and the association continues. The address may
    /// belong to another host by now, so other addresses, and in particular the first one, have until T1-init expires
    /// to answer.
    ///
    /// After COOKIE-WAIT, the refusal of an INIT (RFC 9260 section 5.2.2) concerns one that arrived late: it took a
    /// slower path than the INIT of this association, or an address translator that made it look like another host's.
    pub(in crate::association) fn survives_abort(
        &mut self,
        now: Instant,
        causes: &Causes<'_>,
        id: PathId,
    ) -> bool {
        let is_late = |cause| matches!(cause, Cause::RestartWithNewAddresses(_));
        match self.state.handshake_mut() {
            Some(handshake) if matches!(handshake.step, HandshakeStep::CookieWait) => {
                let others_asked = self.config.policies.handshake == HandshakePaths::AllPaths
                    && id != handshake.path;
                if others_asked {
                    handshake.timer.tries.aborted = Some(id);
                    self.handshake_refused(now, id);
                }
                others_asked
            }
            _ => causes.iter().any(is_late),
        }
    }

    /// Whether the handshake can go on with a pair of addresses other than `id` that was not refused.
    pub(in crate::association) fn has_handshake_path_besides(&self, id: PathId) -> bool {
        self.paths.ids().any(|path| path != id && self.suits_handshake(path))
    }

    fn send_handshake_chunk(&mut self, now: Instant) {
        match self.state.is_cookie_wait() {
            true => self.send_init(now),
            false => self.send_cookie_echo(),
        }
    }

    /// Sends the next chunk of the handshake on this path, if there is one, else on the same path.
    fn go_on_with(&mut self, path: Option<PathId>) {
        if let (Some(handshake), Some(path)) = (self.state.handshake_mut(), path) {
            handshake.path = path;
        }
    }

    /// The path whose turn it is after the present one; with a cookie, only confirmed ones.
    fn next_handshake_path(&self) -> Option<PathId> {
        let present = self.state.handshake()?.path;
        let suits = |path: &PathId| self.suits_handshake(*path);
        let after = self.paths.ids().filter(|path| path.0 > present.0).find(suits);
        after.or_else(|| self.paths.ids().find(suits))
    }

    fn suits_handshake(&self, path: PathId) -> bool {
        let Some(handshake) = self.state.handshake() else { return false };
        !handshake.timer.tries.refused.contains(path)
            && match handshake.step {
                HandshakeStep::CookieWait => true,
                HandshakeStep::CookieEchoed(_) => self.paths[path].reach().is_active(),
            }
    }

    pub(in crate::association) fn handle_init_ack(
        &mut self,
        cx: &mut Cx<'_>,
        init: &Init<'_>,
        came_on: PathId,
    ) {
        let known = match self.state.handshake() {
            Some(Handshake { step: HandshakeStep::CookieWait, named, .. }) => named.clone(),
            // RFC 9260 section 5.2.3: discarded. But it measures the path all the same, and the first cookie may have been lost.
            _ => {
                if self.measure_by_init(cx, came_on) {
                    self.send_cookie_echo_to(To::Path(came_on));
                }
                return;
            }
        };
        let path = &self.paths[came_on];
        let source = PeerAddress { address: path.remote, encapsulation: path.encapsulation };
        let came_to = path.local;
        let limits = InitLimits {
            max_addresses: usize::from(self.config.max_paths),
            local_addresses: &self.identity.local_addresses,
            authentication: AuthDemand::of(&self.config.policies),
        };
        let peer = match PeerInit::parse(init, InitKind::InitAck, source.address, &limits) {
            Ok(peer) => peer,
            // RFC 9260 section 3.3.3: the sender is informed, and nothing changes here.
            Err(problem @ InitProblem::SmallWindow) => {
                if self.control.len() < MAX_WAITING_ANSWERS {
                    let abort = Abort { reflected_tag: false, causes: problem.causes() };
                    self.queue_answer(Chunk::Abort(abort), To::Path(came_on), init.initiate_tag);
                }
                return;
            }
            Err(problem) => return self.refuse_init_ack(cx, init.initiate_tag, problem.causes()),
        };
        let Some(cookie) = peer.cookie.clone() else { return };
        let addresses = self.in_our_order(&peer, &known, source);
        let own = self.auth.as_ref().map(|auth| auth.own().clone());
        let agreed = Agreed {
            tag: peer.tag,
            a_rwnd: peer.a_rwnd,
            initial_tsn: peer.initial_tsn,
            outbound_streams: peer.outbound_streams,
            inbound_streams: peer.inbound_streams,
            addresses,
            capabilities: peer.capabilities,
            adaptation: peer.adaptation,
            preferred: peer.preferred,
            auth: own.zip(peer.auth.clone()).map(|(own, peer)| AuthPair { own, peer }),
            handshake_pair: (came_to, source),
        };
        self.stats.ignore_addresses(peer.ignored_addresses.into());
        // What waits was meant for paths as they were.
        self.control.clear();
        self.settle(cx, &agreed);
        self.notice_addresses(agreed.addresses.iter().map(|peer| peer.address));
        // Addresses that the user named are confirmed (RFC 9260 section 5.4, rule 1).
        for path in self.paths.ids() {
            if known.iter().any(|address| address.address == self.paths[path].remote) {
                self.paths.set_reach(path, Reach::Active);
            }
        }
        self.paths.primary = self.confirm_handshake_pair(came_to, source.address);
        if known.iter().all(|address| address.address != source.address) {
            self.notices.push_back(Notice::PeerAddressConfirmed(source.address));
        }
        self.report_paths(cx);
        self.measure_by_init(cx, self.paths.primary);
        self.outage.on_answer();
        let timeout = self.cookie_timeout(self.paths.primary);
        let report = (!peer.unrecognized.is_empty()).then(|| peer.unrecognized.to_causes());
        let peer = Peer::new(&self.config, &agreed);
        if let Some(handshake) = self.state.handshake_mut() {
            handshake.path = self.paths.primary;
            handshake.timer = T1::first(cx.now, timeout);
            handshake.step = HandshakeStep::CookieEchoed(Box::new(Echoed { cookie, report, peer }));
        }
        self.report_state(cx);
        self.send_cookie_echo();
        self.send_cookie_where_unanswered();
    }

    /// The INIT on another path may be lost, and that path may be the faster one: the cookie is sent there, too,
    /// instead of waiting for the round trip of the path that has answered. The user listed these addresses, and they
    /// have been sent an INIT.
    fn send_cookie_where_unanswered(&mut self) {
        if self.config.policies.handshake != HandshakePaths::AllPaths {
            return;
        }
        let unanswered = |id: &PathId| self.paths[*id].init.is_unanswered();
        let paths: PathSet = self.paths.ids().filter(unanswered).collect();
        for path in paths.iter() {
            self.send_cookie_echo_to(To::Path(path));
        }
    }

    /// An INIT ACK arrived over the path. Whether it is the first one there, and all paths take part in the handshake.
    fn measure_by_init(&mut self, cx: &mut Cx<'_>, id: PathId) -> bool {
        let path = &mut self.paths[id];
        let sent = path.init.on_answer();
        if self.config.policies.handshake != HandshakePaths::AllPaths {
            return false;
        }
        if self.transmitter.paths[id].rtt.srtt().is_none()
            && let Some(at) = sent
        {
            self.transmitter.paths[id].sample_control_rtt(cx.now, cx.probe, at);
        }
        sent.is_some()
    }

    /// How long COOKIE ACK may take on the path: the timeout of the path where the INIT ACK measured it.
    fn cookie_timeout(&self, path: PathId) -> Duration {
        let initial = self.config.policies.rto.initial;
        match self.config.policies.handshake {
            HandshakePaths::AllPaths => self.transmitter.paths[path].rtt.rto().min(initial),
            HandshakePaths::Primary => initial,
        }
    }

    /// The peer's addresses: those that the user named first, in the user's order.
    fn in_our_order(
        &self,
        peer: &PeerInit,
        known: &[PeerAddress],
        source: PeerAddress,
    ) -> SmallVec<[PeerAddress; 4]> {
        let mut ordered: SmallVec<[PeerAddress; 4]> = SmallVec::new();
        for address in known {
            if peer.addresses.contains(&address.address)
                && !ordered.iter().any(|o| o.address == address.address)
            {
                ordered.push(*address);
            }
        }
        for &address in &peer.addresses {
            if !ordered.iter().any(|o| o.address == address) {
                ordered.push(PeerAddress { address, encapsulation: source.encapsulation });
            }
        }
        ordered
    }

    /// Tells the endpoint of addresses of the peer, but those that it had from the user.
    pub(super) fn notice_addresses(&mut self, addresses: impl Iterator<Item = IpAddr>) {
        let named = self.state.handshake().map_or(&[][..], |handshake| &handshake.named);
        let others = addresses.filter(|a| named.iter().all(|named| named.address != *a));
        self.notices.extend(others.map(Notice::PeerAddress));
    }

    pub(in crate::association) fn handle_cookie_ack(&mut self, cx: &mut Cx<'_>) {
        if let Some(echoed) = self.state.handshake_mut().and_then(Handshake::take_echoed) {
            self.become_established(cx, echoed.peer);
        }
    }

    /// The cookie arrived too late: begin again with a new INIT (RFC 9260 section 5.2.6), within the same limit.
    pub(in crate::association) fn handle_stale_cookie(
        &mut self,
        cx: &mut Cx<'_>,
        staleness: Duration,
    ) {
        let Some(handshake) = self.state.handshake_mut() else { return };
        self.outage.on_answer();
        handshake.stale_cookies += 1;
        if handshake.stale_cookies > self.config.max_init_retransmits {
            return self.end(cx, AssociationEnd::CannotConnect);
        }
        self.control.clear();
        handshake.step = HandshakeStep::CookieWait;
        handshake.timer.restart(cx.now);
        handshake.life_extension = Some(staleness + handshake.timer.timeout);
        self.report_state(cx);
        self.send_init(cx.now);
    }
}
