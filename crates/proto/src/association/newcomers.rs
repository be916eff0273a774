//! Packets of the peer from a transport address without a path: what is sent there, and how they are handled.

use polypath_wire::{ChecksumPolicy, Chunk, PacketView, Parameter, Parameters, Raw};

use super::Association;
use super::output::To;
use crate::extension::address_join::JoinSecrets;
use crate::paths::heartbeat::{Info, Purpose};
use crate::paths::newcomers::{Admitted, Claim, Location, Proved};
use crate::paths::reach::{Reach, Reason, Signal};
use crate::types::address_scope::is_unicast;
use crate::types::{PathSet, PeerAddress};
use crate::{Body, Cx, Duration, Event, Notice, PathChange, PathId, Received};

/// Shortest time between two probes of a newcomer.
const LEAST_PAUSE: Duration = Duration::from_millis(100);

/// Value of the PAD sent with a proof: it makes a HEARTBEAT as long as its answer with the HEARTBEAT in return.
const PADDING: &[u8] = &[0; 16];

/// The source of a packet that is not the destination of its path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Stranger {
    /// From a newcomer of this name, which is sent a HEARTBEAT: an answer may go along.
    Asked(u16),
    /// Nothing is sent there at present.
    Ignored,
    /// It may be anybody's.
    Unproved,
    /// From an address that an ASCONF in the packet may add, if that is authentic.
    Adds,
}

impl Association {
    /// How the source of a packet is handled; `None`: it is the destination of its path.
    #[cold]
    pub(super) fn stranger(
        &mut self,
        cx: &mut Cx<'_>,
        received: &Received<'_>,
        came_on: PathId,
    ) -> Option<Stranger> {
        let path = &self.paths[came_on];
        let is_known =
            path.encapsulation == received.encapsulation && path.remote == received.remote;
        if is_known { None } else { self.meet_stranger(cx, received, came_on) }
    }

    #[cold]
    fn meet_stranger(
        &mut self,
        cx: &mut Cx<'_>,
        received: &Received<'_>,
        came_on: PathId,
    ) -> Option<Stranger> {
        let path = &self.paths[came_on];
        let is_of_path = path.remote == received.remote && path.local == received.local;
        let has_tag = received.body.verification_tag() == Some(self.identity.local_tag);
        let may_add = self.address_changes.is_some();
        if !has_tag || !is_of_path && self.join.is_none() && !may_add {
            return None;
        }
        if self.state.is_handshake() {
            // The INIT ACK; no other host has the tag yet (RFC 6951 section 5.4).
            if is_of_path {
                self.follow_in_handshake(received, came_on);
            }
            return None;
        }
        if !self.state.is_connected() || !has_chunks(&received.body) {
            return Some(Stranger::Ignored);
        }
        let Received { local, remote, encapsulation, .. } = *received;
        let place = Location { local, remote, encapsulation };
        if let Some(number) = self.proof_in(&received.body) {
            return Some(self.meet_guest(cx, place, number, came_on));
        }
        // An address that has several paths, of which none leads to this one of ours.
        let is_named = || self.paths.iter().any(|path| path.remote == remote);
        match () {
            () if self.newcomers.contains(place) && !is_of_path => Some(Stranger::Ignored),
            () if is_of_path => Some(self.ask_newcomer(cx, place, Claim::Moved(came_on), came_on)),
            () if is_named() => None,
            () if may_add && begins_with_asconf(&received.body) => Some(Stranger::Adds),
            () => Some(Stranger::Unproved),
        }
    }

    /// The peer has proved that it sends from `place`, on the path that has this number there.
    fn meet_guest(
        &mut self,
        cx: &mut Cx<'_>,
        place: Location,
        number: u8,
        stands_for: PathId,
    ) -> Stranger {
        let is_ours = self.identity.local_addresses.contains(&place.local);
        if !is_ours || !is_unicast(place.remote) {
            return Stranger::Ignored;
        }
        if !self.newcomers.contains(place) && !self.has_place_for(place, number) {
            self.stats.seldom.addresses_ignored += 1;
            return Stranger::Ignored;
        }
        // Data that follows at once is taken, too.
        self.notices.push_back(Notice::PeerAddress(place.remote));
        self.ask_newcomer(cx, place, Claim::Proved(number), stands_for)
    }

    /// Whether a guest can have a path: the one that it has, an unused one, or a new one.
    fn has_place_for(&self, place: Location, number: u8) -> bool {
        let limit = usize::from(self.config.max_paths).clamp(1, PathSet::CAPACITY);
        let never_used = Reach::Inactive(Reason::NeverConfirmed);
        let is_open = |reach: Reach| !reach.is_gone() && reach != never_used;
        let open = self.paths.iter().filter(|path| is_open(path.reach()));
        self.path_of_guest(place, number).is_some()
            || open.count() < limit && self.paths.len() < PathSet::CAPACITY
    }

    /// The path of a guest: the one with its number, or one from the same address of ours to an address that never
    /// answered. A translator hides that the peer has listed that one and means it.
    fn path_of_guest(&self, place: Location, number: u8) -> Option<PathId> {
        let ours = || self.paths.iter().filter(|path| path.local == place.local);
        let own = ours().find(|path| path.peer_number == Some(number));
        let unused =
            |reach| matches!(reach, Reach::Unconfirmed | Reach::Inactive(Reason::NeverConfirmed));
        let free = || ours().find(|path| unused(path.reach()) && path.peer_number.is_none());
        own.or_else(free).map(|path| path.id)
    }

    /// Sends a newcomer its HEARTBEAT, if one is due.
    fn ask_newcomer(
        &mut self,
        cx: &mut Cx<'_>,
        place: Location,
        claim: Claim,
        stands_for: PathId,
    ) -> Stranger {
        let pause = self.transmitter.paths[stands_for].rtt.rto_without_backoff().max(LEAST_PAUSE);
        let nonce = cx.rng.next_u64();
        let admitted = self.newcomers.admit(cx.now, place, claim, pause, nonce);
        let Some(Admitted { serial, nonce }) = admitted else { return Stranger::Ignored };
        let info = Info { path: stands_for.0, nonce, purpose: Purpose::Reachability }.encode();
        let parameters = Parameters::build([Parameter::HeartbeatInfo(&info)]);
        self.queue_control(Chunk::Heartbeat(parameters), To::Newcomer(stands_for, serial));
        Stranger::Asked(serial)
    }

    /// A nonce that was sent to a newcomer was echoed from `place`.
    #[cold]
    pub(super) fn newcomer_answered(&mut self, cx: &mut Cx<'_>, place: Location, nonce: u64) {
        let Some(proved) = self.newcomers.answered(place, nonce) else { return };
        match proved.claim {
            Claim::Moved(path) => self.move_path(cx, path, &proved),
            Claim::Proved(number) => match self.path_of_guest(place, number) {
                Some(path) => {
                    self.paths[path].peer_number = Some(number);
                    self.move_path(cx, path, &proved);
                }
                None if self.has_place_for(place, number) => self.open_path(cx, number, &proved),
                None => self.stats.seldom.addresses_ignored += 1,
            },
        }
    }

    /// The peer's address on the path is another one.
    fn move_path(&mut self, cx: &mut Cx<'_>, id: PathId, proved: &Proved) {
        if self.paths.get(id).is_none() {
            return;
        }
        // What went to the old address is lost.
        let (transmitter, mut send_cx) = self.sending(cx);
        transmitter.on_path_lost(&mut send_cx, id);
        self.apply_effects(cx);
        let path = &mut self.paths[id];
        let was_confirmed = path.reach().is_confirmed();
        let left = core::mem::replace(&mut path.remote, proved.place.remote);
        path.encapsulation = proved.place.encapsulation;
        path.denied_since = None;
        path.heartbeat.outstanding = None;
        let headers = self.paths[id].headers() + self.auth_data_room();
        let sending = &mut self.transmitter.paths[id];
        sending.resize(sending.mtu(), headers, &self.config);
        if left != proved.place.remote {
            self.begin_anew(id);
            if !was_confirmed {
                // Should the peer restart, it names them again.
                self.newcomers.replaced.push(left);
            } else if self.paths.iter().all(|path| path.remote != left) {
                self.notices.push_back(Notice::PeerAddressGone(left));
            }
            self.report_path(cx, id);
        }
        self.newcomer_works(cx, id, proved);
    }

    /// The peer has another path.
    fn open_path(&mut self, cx: &mut Cx<'_>, number: u8, proved: &Proved) {
        let id = PathId(self.paths.len() as u8);
        let Location { local, remote, encapsulation } = proved.place;
        let remote = PeerAddress { address: remote, encapsulation };
        let (mut path, sending) = self.new_path(id, local, remote);
        path.peer_number = Some(number);
        self.paths.push(path);
        self.transmitter.paths.push(sending);
        self.begin_anew(id);
        self.report_path(cx, id);
        self.events.push(Event::Path { path: id, change: PathChange::Added });
        self.newcomer_works(cx, id, proved);
    }

    /// Nothing is known of what lies between the addresses of a path.
    pub(super) fn begin_anew(&mut self, id: PathId) {
        let path = &self.paths[id];
        let remote = PeerAddress { address: path.remote, encapsulation: path.encapsulation };
        let (new, mut sending) = self.new_path(id, path.local, remote);
        let sharers = self.paths.sharers(&self.config.policies, id);
        sending.reset_cwnd(&self.config, self.transmitter.advertised_window, sharers);
        let old = &mut self.transmitter.paths[id];
        sending.counters = core::mem::take(&mut old.counters);
        sending.transmission_rank = old.transmission_rank;
        self.transmitter.paths[id] = sending;
        self.paths[id].plpmtu = new.plpmtu;
    }

    fn newcomer_works(&mut self, cx: &mut Cx<'_>, id: PathId, proved: &Proved) {
        // UDP takes its part of each packet.
        self.fit_fragments();
        self.transmitter.paths[id].sample_control_rtt(cx.now, cx.probe, proved.sent_at);
        self.path_works(cx, id, Signal::HeartbeatAck);
        self.follow_reachability(id);
        self.schedule_heartbeat(cx, id);
    }

    /// During the handshake, the peer's address is the source of its answer.
    fn follow_in_handshake(&mut self, received: &Received<'_>, came_on: PathId) {
        let auth = self.auth_data_room();
        let path = &mut self.paths[came_on];
        path.encapsulation = received.encapsulation;
        let headers = path.headers() + auth;
        let sending = &mut self.transmitter.paths[came_on];
        sending.resize(sending.mtu(), headers, &self.config);
        let named = self.state.handshake_mut().map(|handshake| handshake.named.iter_mut());
        for named in named.into_iter().flatten() {
            if named.address == received.remote {
                named.encapsulation = received.encapsulation;
            }
        }
        self.fit_fragments();
    }
}

/// What HEARTBEATs say where both sides take part.
impl Association {
    /// Queues a HEARTBEAT with the invitation, while the peer does not have it, and with a proof, if the peer has invited.
    #[cold]
    pub(super) fn queue_join_heartbeat(&mut self, id: PathId, info: &[u8]) {
        let is_confirmed = self.paths[id].reach().is_confirmed();
        let tag = self.state.peer_tag().unwrap_or(0);
        let Some(join) = &mut self.join else { return };
        let proof = join.prove(id.0, tag);
        let invitation = join.invitation().filter(|_| is_confirmed);
        let info = JoinSecrets::heartbeat_info(info, invitation, proof.as_ref());
        let parameters = Parameters::build([Parameter::HeartbeatInfo(&info)]);
        self.queue_control(Chunk::Heartbeat(parameters), To::Path(id));
        if proof.is_some() {
            self.queue_control(Chunk::Pad(Raw::Borrowed(PADDING)), To::Path(id));
        }
    }

    /// Reads an invitation, and the peer's number of a path, from a HEARTBEAT whose source is the destination of the
    /// path.
    pub(super) fn learn_from_heartbeat(
        &mut self,
        cx: &mut Cx<'_>,
        info: &Parameters<'_>,
        came_on: PathId,
    ) {
        let tag = self.identity.local_tag;
        let Some(join) = &mut self.join else { return };
        let path = &mut self.paths[came_on];
        if let Some(number) = join.check(info, tag) {
            path.peer_number = Some(number);
        }
        if !path.reach().is_confirmed() || !join.accept_invitation(info) {
            return;
        }
        // The peer may not know where other paths begin, and data may be about to take them; and it learns their numbers.
        for id in self.paths.ids() {
            if !self.paths[id].reach().is_closed() {
                self.paths[id].heartbeat.expire();
                self.send_heartbeat(cx, id);
            }
        }
    }

    /// The peer's number of its path, if a HEARTBEAT in the packet proves that it is the peer's.
    fn proof_in(&mut self, body: &Body<'_>) -> Option<u8> {
        let tag = self.identity.local_tag;
        let join = self.join.as_mut()?;
        let mut check = |chunk: &Chunk<'_>| match chunk {
            Chunk::Heartbeat(parameters) => join.check(parameters, tag),
            _ => None,
        };
        match body {
            Body::Structured(packet) => packet.chunks.iter().find_map(check),
            Body::Datagram(bytes) | Body::Part { datagram: bytes, .. } => {
                // The endpoint verified the checksum.
                let view = PacketView::parse(bytes, ChecksumPolicy::Ignore).ok()?;
                view.chunks().map_while(Result::ok).find_map(|chunk| check(&chunk))
            }
            Body::Damaged { .. } => None,
        }
    }
}

/// Whether the first chunk of a packet, besides AUTH, is an ASCONF.
fn begins_with_asconf(body: &Body<'_>) -> bool {
    let is_asconf = |chunk: &Chunk<'_>| matches!(chunk, Chunk::Asconf(_));
    let is_behind_auth = |chunk: &&Chunk<'_>| !matches!(chunk, Chunk::Auth(_));
    match body {
        Body::Structured(packet) => {
            packet.chunks.iter().find(is_behind_auth).is_some_and(is_asconf)
        }
        Body::Datagram(bytes) | Body::Part { datagram: bytes, .. } => {
            let Ok(view) = PacketView::parse(bytes, ChecksumPolicy::Ignore) else { return false };
            let mut chunks = view.chunks().map_while(Result::ok);
            chunks.find(|chunk| is_behind_auth(&chunk)).is_some_and(|chunk| is_asconf(&chunk))
        }
        Body::Damaged { .. } => false,
    }
}

/// Whether a packet has chunks.
fn has_chunks(body: &Body<'_>) -> bool {
    match body {
        Body::Structured(packet) => !packet.chunks.is_empty(),
        Body::Datagram(bytes) | Body::Part { datagram: bytes, .. } => {
            bytes.len() > polypath_wire::COMMON_HEADER_LEN
        }
        Body::Damaged { .. } => false,
    }
}
