//! The client's half of the handshake (RFC 9260 section 5.1).

use core::net::IpAddr;

use polypath_wire::{Abort, Cause, Causes, Chunk, Init, Raw};
use smallvec::SmallVec;

use super::cookie::Cookie;
use super::init_parameters::{self, InitKind, InitLimits, InitProblem, PeerInit};
use super::input::MAX_WAITING_ANSWERS;
use super::output::To;
use super::state::{Connected, Echoed, Handshake, Peer, State, Step, T1};
use super::{Association, Streams};
use crate::config::{AssociationConfig, HandshakePaths, NrSack};
use crate::congestion::Family;
use crate::paths::first_contact::{self, InitTry, Pair};
use crate::paths::reach::Reach;
use crate::paths::{self, Path, pairing};
use crate::receive::{Incomplete, Receiver, ReceiverConfig};
use crate::transmit::partial_reliability::Support;
use crate::transmit::{Effects, SendPath};
use crate::types::{Capabilities, PeerAddress};
use crate::{AssociationEnd, Cx, Duration, Event, Instant, Notice, PathChange, PathId, Tsn};

/// What the peer asked for and offered in the handshake.
#[derive(Clone, Debug)]
pub(super) struct Agreed {
    pub(super) tag: u32,
    pub(super) a_rwnd: u32,
    pub(super) initial_tsn: u32,
    /// Streams that the peer wants to send on.
    pub(super) outbound_streams: u16,
    /// Most streams that the peer accepts.
    pub(super) inbound_streams: u16,
    pub(super) addresses: SmallVec<[PeerAddress; 4]>,
    /// Extensions that the peer offers.
    pub(super) capabilities: Capabilities,
    /// The pair of addresses on which the handshake went.
    pub(super) handshake_pair: (IpAddr, PeerAddress),
}

impl Agreed {
    /// What a cookie says; the handshake went to its first address.
    pub(super) fn of(cookie: &Cookie) -> Self {
        let encapsulation = cookie.encapsulation;
        let addresses: SmallVec<[PeerAddress; 4]> = cookie
            .peer_addresses
            .iter()
            .map(|&address| PeerAddress { address, encapsulation })
            .collect();
        Self {
            tag: cookie.peer_tag,
            a_rwnd: cookie.a_rwnd,
            initial_tsn: cookie.peer_initial_tsn,
            outbound_streams: cookie.inbound_streams,
            inbound_streams: cookie.outbound_streams,
            capabilities: cookie.capabilities,
            handshake_pair: (cookie.local_address, addresses[0]),
            addresses,
        }
    }

    fn extensions(&self, config: &AssociationConfig) -> Capabilities {
        self.capabilities & Capabilities::offered(&config.policies)
    }

    fn streams(&self, config: &AssociationConfig) -> Streams {
        Streams {
            outbound: config.outbound_streams.max(1).min(self.inbound_streams),
            inbound: config.max_inbound_streams.max(1).min(self.outbound_streams),
        }
    }
}

impl Peer {
    pub(super) fn new(config: &AssociationConfig, agreed: &Agreed) -> Self {
        let extensions = agreed.extensions(config);
        let receiver = Receiver::new(ReceiverConfig {
            initial_peer_tsn: Tsn(agreed.initial_tsn),
            buffer: config.receive_buffer(),
            sizing: config.policies.receive_buffer,
            incomplete: match extensions.contains(Capabilities::FORWARD_TSN) {
                true => Incomplete::MayBeAbandoned,
                false => Incomplete::Violation,
            },
            inbound_streams: agreed.streams(config).inbound,
            mtu: config.mtu_bytes,
            policy: config.policies.delayed_ack,
            nr_sack: match extensions.contains(Capabilities::NR_SACK) {
                true => config.policies.nr_sack,
                false => NrSack::Off,
            },
            reneging: config.policies.reneging,
        });
        Self { tag: agreed.tag, extensions, receiver }
    }
}

impl Association {
    /// Sends INIT over the paths of the policy that have not taken one since the timer was started.
    pub(super) fn send_init(&mut self, now: Instant) {
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
        let Path { local, remote, .. } = self.paths[path];
        let parameters = init_parameters::init_parameters(
            &self.identity.local_addresses,
            local,
            remote,
            self.state.handshake().and_then(|handshake| handshake.life_extension),
            Capabilities::offered(&self.config.policies),
        );
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

    pub(super) fn send_cookie_echo(&mut self) {
        let State::Handshake(handshake) = &self.state else { return };
        let Step::CookieEchoed(Echoed { cookie, report, .. }) = &handshake.step else { return };
        let (cookie, report) = (cookie.clone(), report.clone());
        let to = To::Path(handshake.path);
        self.queue_control(Chunk::CookieEcho(Raw::Shared(cookie)), to);
        if let Some(report) = report {
            self.queue_control(Chunk::Error(report), to);
        }
    }

    /// Timer T1 expired: the next try goes to the peer's next address; with a cookie, to the next confirmed one. If an INIT
    /// was refused there, its turn comes: the others had their time.
    pub(super) fn handshake_timeout(&mut self, cx: &mut Cx<'_>) {
        let rto = self.config.policies.rto;
        let Some(handshake) = self.state.handshake_mut() else { return };
        let timer = &mut handshake.timer;
        if timer.retransmissions >= self.config.max_init_retransmits {
            return self.end(AssociationEnd::CannotConnect);
        }
        timer.retransmissions += 1;
        timer.timeout = (timer.timeout * 2).min(rto.max);
        let aborted = timer.tries.aborted;
        timer.restart(cx.now);
        self.go_on_with(aborted.or_else(|| self.next_handshake_path()));
        self.send_handshake_chunk(cx.now);
    }

    /// The system refuses the path of the handshake: the next one is tried at once, if there is one that it has not
    /// refused since the timer was started. Otherwise the timer tries again.
    pub(super) fn handshake_refused(&mut self, now: Instant, id: PathId) {
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

    /// An ABORT came: whether it refuses just one of several INITs, and the association goes on. The address behind it may
    /// be somebody else's by now, so that another one, and above all the first, has until T1-init expires to answer.
    ///
    /// Once COOKIE-WAIT is over, a refusal of an INIT (RFC 9260 section 5.2.2) is about one that came late: it took a slower
    /// path than the INIT of this association, or an address translator that made it look like somebody else's.
    pub(super) fn survives_abort(&mut self, now: Instant, causes: &Causes<'_>, id: PathId) -> bool {
        let is_late = |cause| matches!(cause, Cause::RestartWithNewAddresses(_));
        match self.state.handshake_mut() {
            Some(handshake) if matches!(handshake.step, Step::CookieWait) => {
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
    pub(super) fn has_handshake_path_besides(&self, id: PathId) -> bool {
        self.paths.ids().any(|path| path != id && self.suits_handshake(path))
    }

    fn send_handshake_chunk(&mut self, now: Instant) {
        match self.state.is_cookie_wait() {
            true => self.send_init(now),
            false => self.send_cookie_echo(),
        }
    }

    /// The next chunk of the handshake takes this path, if there is one, else the same again.
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
                Step::CookieWait => true,
                Step::CookieEchoed(_) => self.paths[path].reach.is_active(),
            }
    }

    pub(super) fn handle_init_ack(&mut self, cx: &mut Cx<'_>, init: &Init<'_>, came_on: PathId) {
        let known = match self.state.handshake() {
            Some(Handshake { step: Step::CookieWait, named, .. }) => named.clone(),
            // RFC 9260 section 5.2.3: discarded. But the path is as quick as it came.
            _ => return self.measure_by_init(cx, came_on),
        };
        let path = &self.paths[came_on];
        let source = PeerAddress { address: path.remote, encapsulation: path.encapsulation };
        let came_to = path.local;
        let limits = InitLimits {
            max_addresses: usize::from(self.config.max_paths),
            local_addresses: &self.identity.local_addresses,
        };
        let peer = match PeerInit::parse(init, InitKind::InitAck, source.address, &limits) {
            Ok(peer) => peer,
            // RFC 9260 section 3.3.3: its sender is told, and nothing changes here.
            Err(problem @ InitProblem::SmallWindow) => {
                if self.control.len() < MAX_WAITING_ANSWERS {
                    let abort = Abort { reflected_tag: false, causes: problem.causes() };
                    self.queue_answer(Chunk::Abort(abort), To::Path(came_on), init.initiate_tag);
                }
                return;
            }
            Err(problem) => return self.refuse_init_ack(init.initiate_tag, problem.causes()),
        };
        let Some(cookie) = peer.cookie.clone() else { return };
        let addresses = self.in_our_order(&peer, &known, source);
        let agreed = Agreed {
            tag: peer.tag,
            a_rwnd: peer.a_rwnd,
            initial_tsn: peer.initial_tsn,
            outbound_streams: peer.outbound_streams,
            inbound_streams: peer.inbound_streams,
            addresses,
            capabilities: peer.capabilities,
            handshake_pair: (came_to, source),
        };
        self.stats.addresses_ignored += u64::from(peer.ignored_addresses);
        // What waits was meant for paths as they were.
        self.control.clear();
        self.settle(&agreed);
        self.notice_addresses(agreed.addresses.iter().map(|peer| peer.address));
        // Addresses that the user named are confirmed (RFC 9260 section 5.4, rule 1).
        for path in self.paths.iter_mut() {
            if known.iter().any(|address| address.address == path.remote) {
                path.reach = Reach::Active;
            }
        }
        self.paths.primary = self.confirm_handshake_pair(came_to, source.address);
        self.measure_by_init(cx, self.paths.primary);
        let report = (!peer.unrecognized.is_empty()).then(|| peer.unrecognized.to_causes());
        let echoed = Echoed { cookie, report, peer: Peer::new(&self.config, &agreed) };
        if let Some(handshake) = self.state.handshake_mut() {
            handshake.path = self.paths.primary;
            handshake.timer = T1::first(cx.now, self.config.policies.rto.initial);
            handshake.step = Step::CookieEchoed(echoed);
        }
        self.send_cookie_echo();
    }

    /// An INIT ACK came over the path.
    fn measure_by_init(&mut self, cx: &mut Cx<'_>, id: PathId) {
        let path = &mut self.paths[id];
        let sent = path.init.on_answer();
        if self.config.policies.handshake == HandshakePaths::AllPaths
            && self.transmitter.paths[id].rtt.srtt().is_none()
            && let Some(at) = sent
        {
            self.transmitter.paths[id].sample_rtt(cx.now, cx.probe, at);
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

    /// Takes over what the peer wants and this side allows: streams, window, extensions, addresses.
    pub(super) fn settle(&mut self, agreed: &Agreed) {
        let extensions = agreed.extensions(&self.config);
        let forward_tsn = extensions.contains(Capabilities::FORWARD_TSN);
        let support = if forward_tsn { Support::Yes } else { Support::No };
        self.transmitter.settle_partial_reliability(support);
        self.transmitter.acks_are_final = extensions.contains(Capabilities::NR_SACK);
        self.transmitter.advertised_window = u64::from(agreed.a_rwnd);
        self.streams = agreed.streams(&self.config);
        self.build_paths(&agreed.addresses, Some(agreed.handshake_pair));
        self.transmitter.paths.reset_windows(&self.config, &self.paths, u64::from(agreed.a_rwnd));
    }

    /// Tells the endpoint of addresses of the peer, but those that it had from the user.
    pub(super) fn notice_addresses(&mut self, addresses: impl Iterator<Item = IpAddr>) {
        let named = self.state.handshake().map_or(&[][..], |handshake| &handshake.named);
        let others = addresses.filter(|a| named.iter().all(|named| named.address != *a));
        self.notices.extend(others.map(Notice::PeerAddress));
    }

    /// Both halves of a path that nothing is known of yet.
    pub(super) fn new_path(
        &self,
        id: PathId,
        local: IpAddr,
        remote: PeerAddress,
    ) -> (Path, SendPath) {
        let family = if remote.address.is_ipv4() { Family::V4 } else { Family::V6 };
        let headers = paths::headers(remote.address, remote.encapsulation);
        let sending = SendPath::new(id, family, headers, &self.config);
        let PeerAddress { address, encapsulation } = remote;
        let path = Path::new(id, local, address, encapsulation, sending.mtu(), &self.config);
        (path, sending)
    }

    /// Makes the path table from this side's and the peer's addresses; all paths begin unconfirmed. The pair on which
    /// the handshake went is always among them.
    pub(super) fn build_paths(
        &mut self,
        peer: &[PeerAddress],
        handshake_pair: Option<(IpAddr, PeerAddress)>,
    ) {
        let AssociationConfig { path_pairing, routes, .. } = &*self.config;
        let mut pairs = pairing::pairs(*path_pairing, routes, &self.identity.local_addresses, peer);
        let limit = usize::from(self.config.max_paths.clamp(1, 32));
        if let Some(pair) = handshake_pair {
            let place = pairs.iter().position(|(l, r)| *l == pair.0 && r.address == pair.1.address);
            match place {
                Some(place) if place < limit => {}
                Some(place) => pairs[..=place].rotate_right(1),
                None => pairs.insert(0, pair),
            }
        }
        self.stats.addresses_ignored += pairs.len().saturating_sub(limit) as u64;
        // What INITs told of a path, and what they count, stays.
        let asked: SmallVec<[_; 2]> = self
            .paths
            .iter()
            .filter(|path| path.init != InitTry::None)
            .map(|path| ((path.local, path.remote), path.init, path.counters))
            .collect();
        let count = pairs.len().min(limit);
        self.paths.clear(count);
        self.transmitter.paths.clear(count);
        for (local, remote) in pairs.into_iter().take(limit) {
            let id = PathId(self.paths.len() as u8);
            let (path, sending) = self.new_path(id, local, remote);
            self.paths.push(path);
            self.transmitter.paths.push(sending);
            let known = asked.iter().find(|(pair, ..)| *pair == (local, remote.address));
            if let Some((_, init, counters)) = known {
                let path = &mut self.paths[id];
                (path.init, path.counters) = (*init, *counters);
            }
        }
        self.fit_fragments();
    }

    /// Marks the path on which the handshake went as confirmed.
    pub(super) fn confirm_handshake_pair(&mut self, local: IpAddr, remote: IpAddr) -> PathId {
        let Some(path) = self.paths.find(local, remote) else { return PathId(0) };
        self.paths[path].reach = Reach::Active;
        path
    }

    pub(super) fn handle_cookie_ack(&mut self, cx: &mut Cx<'_>) {
        if let Some(echoed) = self.state.handshake_mut().and_then(Handshake::take_echoed) {
            self.become_established(cx, echoed.peer);
        }
    }

    /// Enters ESTABLISHED from a state of the handshake.
    pub(super) fn become_established(&mut self, cx: &mut Cx<'_>, peer: Peer) {
        let shutdown_wanted = self.state.handshake().is_some_and(|it| it.shutdown_wanted);
        self.state = State::Connected(Connected::established(peer));
        self.begin_transfer(cx);
        if shutdown_wanted {
            self.begin_shutdown(cx);
        }
    }

    /// The association has just been established: the user is told, and data and heartbeats begin.
    pub(super) fn begin_transfer(&mut self, cx: &mut Cx<'_>) {
        self.events.push(Event::Established {
            outbound_streams: self.streams.outbound,
            inbound_streams: self.streams.inbound,
        });
        for path in self.paths.iter().skip(1) {
            self.events.push(Event::Path { path: path.id, change: PathChange::Added });
        }
        for (stream, context) in self.transmitter.queue.remove_streams_from(self.streams.outbound) {
            self.events.push(Event::SendFailed { stream, context, transmitted: false });
        }
        let mut effects = Effects::new();
        self.transmitter.after_acknowledgement(&mut effects);
        self.apply(cx, effects);
        self.start_heartbeats(cx);
    }

    /// The cookie arrived too late: begin again with a new INIT (RFC 9260 section 5.2.6), within the same limit.
    pub(super) fn handle_stale_cookie(&mut self, cx: &mut Cx<'_>, staleness: Duration) {
        let Some(handshake) = self.state.handshake_mut() else { return };
        handshake.stale_cookies += 1;
        if handshake.stale_cookies > self.config.max_init_retransmits {
            return self.end(AssociationEnd::CannotConnect);
        }
        self.control.clear();
        handshake.step = Step::CookieWait;
        handshake.timer.restart(cx.now);
        handshake.life_extension = Some(staleness + handshake.timer.timeout);
        self.send_init(cx.now);
    }
}
