//! Output: the next packet.

use alloc::collections::VecDeque;

use polypath_wire::{Checksum, Chunk, Packet};
use smallvec::SmallVec;

use super::Association;
use super::observe;
use super::state::{ConnectedPhase, State};
use crate::config::{ErrorDetection, SackPath};
use crate::mechanism::sack_path::{self, SackPathView};
use crate::paths::PathBook;
use crate::paths::newcomers::Location;
use crate::paths::reach::{Reach, Reason};
use crate::receive::Receiver;
use crate::transmit::PacketBuilder;
use crate::transmit::decide::Decision;
use crate::types::{Capabilities, PathSet};
use crate::{BlockedCause, Cx, Envelope, Fragmentation, Instant, PathId, Tsn};

/// Destination of a control chunk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum To {
    /// This path, whatever its state.
    Path(PathId),
    /// An address that is not proved to be the peer's, with its name, and the path that it is used with.
    Newcomer(PathId, u16),
    /// The path on which an answer is most likely.
    Best,
}

/// A control chunk that waits to be sent.
#[derive(Debug)]
pub(super) struct Control {
    pub(super) chunk: Chunk<'static>,
    pub(super) to: To,
    /// Tag for the packet when it is not the peer's.
    pub(super) tag: Tag,
}

impl Control {
    /// With the peer's tag, which is known as soon as anything but INIT is sent.
    pub(super) fn to_peer(chunk: Chunk<'static>, to: To) -> Self {
        Self { chunk, to, tag: Tag::Peer }
    }
}

/// Which verification tag a packet carries.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Tag {
    /// The peer's.
    Peer,
    /// Zero (INIT).
    Zero,
    /// What a packet announced that is answered without being accepted.
    Announced(u32),
}

/// A packet that was filled.
#[derive(Clone, Copy, Debug)]
pub(super) struct Built {
    pub(super) path: PathId,
    pub(super) tag: Tag,
    pub(super) fragmentation: Fragmentation,
    /// The first TSN, if there is data and all of it is sent for the first time.
    pub(super) new_data: Option<Tsn>,
    /// Its destination, if that is not the one of the path.
    pub(super) newcomer: Option<u16>,
}

impl Built {
    pub(super) fn of(packet: &PacketBuilder<'_>, tag: Tag) -> Self {
        let fragmentation = match packet.oversized {
            true => Fragmentation::Allowed,
            false => Fragmentation::Avoided,
        };
        let new_data = packet.new_data();
        Self { path: packet.path, tag, fragmentation, new_data, newcomer: None }
    }
}

/// Control chunks in the order of sending.
pub(super) type ControlQueue = VecDeque<Control>;

/// One flush: the packets between an input and the next `None` of `poll_transmit`.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct OutputFlush {
    is_open: bool,
    /// When the last one ended, as long as nothing has happened since that could give a packet.
    dry_at: Option<Instant>,
    /// The last one found nothing to send.
    only_listened: bool,
}

impl OutputFlush {
    /// Something may have output now.
    pub(super) fn stir(&mut self) {
        self.dry_at = None;
    }
}

impl Association {
    /// Marks the association as possibly having output.
    pub(super) fn stir(&mut self) {
        self.flush.stir();
    }

    /// Whether nothing has happened since the last flush ended, at this very instant.
    #[inline]
    pub(super) fn is_dry_at(&self, now: Instant) -> bool {
        self.flush.dry_at == Some(now)
    }

    pub(super) fn queue_control(&mut self, chunk: Chunk<'static>, to: To) {
        let tag = if matches!(chunk, Chunk::Init(_)) { Tag::Zero } else { Tag::Peer };
        self.control.push_back(Control { chunk, to, tag });
    }

    /// Queues a chunk that travels alone, with the tag that the packet announced which it answers.
    pub(super) fn queue_answer(&mut self, chunk: Chunk<'static>, to: To, announced: u32) {
        debug_assert!(travels_alone(&chunk), "others would go with the same tag");
        self.control.push_back(Control { chunk, to, tag: Tag::Announced(announced) });
    }

    /// The path for the answer to a chunk that arrived on `came_on`: back to its source (RFC 9260 section 6.4).
    pub(super) fn answer_path(&self, came_on: PathId) -> PathId {
        if self.paths[came_on].reach().is_active() { came_on } else { self.paths.best() }
    }

    /// Builds the next packet in place.
    pub(super) fn poll_packet(
        &mut self,
        cx: &mut Cx<'_>,
        packet: &mut Packet<'static>,
    ) -> Option<Envelope> {
        if self.paths.len() == 0 || self.is_dry_at(cx.now) {
            return None;
        }
        if self.reconfig.is_some() {
            self.send_next_request(cx.now);
        }
        if self.has_address_changes_to_send() {
            self.send_address_changes(cx.now);
        }
        if self.only_listens() {
            self.go_on_listening(cx);
            return None;
        }
        self.open_flush(cx);
        self.settle_mtus(cx);
        if self.transmitter.is_peer_window_closed() {
            let (transmitter, send_cx) = self.sending(cx);
            transmitter.watch_peer_window(&send_cx);
        }
        self.advance_shutdown(cx);
        match self.build_packet(cx, packet) {
            Some(built) => {
                if self.auth.is_some() {
                    self.seal_if_demanded(&built, packet);
                }
                observe::packet_sent(cx, built.path, packet);
                Some(self.finish(built, packet))
            }
            None => {
                self.close_flush(cx);
                None
            }
        }
    }

    /// Whether this side has nothing to send, nothing to answer and nothing to find out: what most packets with DATA leave
    /// behind.
    #[inline]
    fn only_listens(&self) -> bool {
        let State::Connected(connected) = &self.state else { return false };
        matches!(connected.phase, ConnectedPhase::Established)
            && !connected.peer.receiver.sack_is_due()
            && self.control.is_empty()
            && self.transmitter.is_dry()
            && !self.transmitter.forward.is_due()
            && !self.transmitter.is_peer_window_closed()
            && self.mtu_work.is_settled()
            && self.paths.inactive().is_empty()
    }

    /// Fills a packet with what comes first. Each kind is checked only if it is possible.
    fn build_packet(&mut self, cx: &mut Cx<'_>, packet: &mut Packet<'static>) -> Option<Built> {
        if !self.control.is_empty()
            && let Some(built) = self.control_packet(packet)
        {
            return Some(built);
        }
        // The peer has left every address that was proved to be its.
        if self.address_changes.is_some() && !self.paths.has_usable() {
            return None;
        }
        // In a queue that is nearly full, a chunk that can be spared must not take the place of a retransmission.
        let repeats = self.transmitter.outstanding.lost_count() > 0;
        if !repeats && let Some(built) = self.mtu_probe_packet(cx, packet) {
            return Some(built);
        }
        if self.transmitter.forward.is_due()
            && let Some(built) = self.forward_tsn_packet(cx, packet)
        {
            return Some(built);
        }
        if self.acknowledgement_is_due()
            && let Some(built) = self.sack_packet(cx, packet)
        {
            return Some(built);
        }
        if !self.transmitter.is_dry()
            && let Some(built) = self.data_packet(cx, packet)
        {
            return Some(built);
        }
        if repeats && let Some(built) = self.mtu_probe_packet(cx, packet) {
            return Some(built);
        }
        if self.transmitter.is_dry() { None } else { self.tail_probe_packet(cx, packet) }
    }

    /// Nothing more can be sent now.
    fn close_flush(&mut self, cx: &mut Cx<'_>) {
        let is_sending = self.state.is_connected() && !self.transmitter.is_dry();
        let (transmitter, send_cx) = self.sending(cx);
        transmitter.watch_tail(&send_cx);
        let cause = match is_sending {
            true => transmitter.why_blocked(&send_cx),
            false if transmitter.wants_buffer_space() => BlockedCause::SendBuffer,
            false => BlockedCause::Application,
        };
        transmitter.end_flush(send_cx.now, send_cx.config);
        self.flush = OutputFlush { dry_at: Some(cx.now), ..OutputFlush::default() };
        self.report_blocked(cx, cause);
        self.blocked.enter(cx.now, cause);
        self.account_suspicion(cx.now);
    }

    /// Nothing can be sent, according to [`only_listens`](Self::only_listens): usually as at the end of the last flush,
    /// and then there is nothing to account for.
    fn go_on_listening(&mut self, cx: &mut Cx<'_>) {
        let is_news = !self.flush.only_listened
            || self.transmitter.has_flushed()
            || self.transmitter.wants_buffer_space();
        if is_news {
            self.close_flush(cx);
            self.flush.only_listened = !self.transmitter.wants_buffer_space();
        } else {
            self.flush = OutputFlush { dry_at: Some(cx.now), is_open: false, only_listened: true };
            self.account_suspicion(cx.now);
        }
    }

    fn open_flush(&mut self, cx: &mut Cx<'_>) {
        if self.flush.is_open {
            return;
        }
        self.flush.is_open = true;
        // Otherwise this side only receives.
        if !self.transmitter.is_dry() {
            let (transmitter, mut send_cx) = self.sending(cx);
            transmitter.begin_flush(&mut send_cx);
            self.apply_effects(cx);
        }
        self.probe_failed_paths(cx);
    }

    pub(super) fn builder<'a>(
        &self,
        path: PathId,
        packet: &'a mut Packet<'static>,
    ) -> PacketBuilder<'a> {
        self.transmitter.builder(path, packet)
    }

    /// A packet with the control chunks that wait for the same path.
    #[inline(never)]
    fn control_packet(&mut self, packet: &mut Packet<'static>) -> Option<Built> {
        if self.address_changes.is_some() {
            self.drop_excess_probes();
        }
        let Control { chunk, to, tag } = self.control.pop_front()?;
        let best = self.paths.best();
        let paths = &self.paths;
        let resolve = |to: To, chunk: &Chunk<'_>| match to {
            To::Path(path) if may_carry(paths, path, chunk) => (path, None),
            To::Newcomer(path, serial) => (path, Some(serial)),
            _ => (best, None),
        };
        let place = resolve(to, &chunk);
        let (path, newcomer) = place;
        let mut packet = self.builder(path, packet);
        packet.reserve(self.auth_control_room());
        let alone = travels_alone(&chunk);
        packet.push(chunk);
        while !alone
            && let Some(next) = self.control.front()
            && resolve(next.to, &next.chunk) == place
            && !travels_alone(&next.chunk)
            && !matches!(next.chunk, Chunk::CookieEcho(_))
            && packet.fits(&next.chunk)
        {
            let next = self.control.pop_front()?;
            packet.push(next.chunk);
        }
        if matches!(self.state.phase(), Some(ConnectedPhase::ShutdownSent(_))) {
            self.bundle_due_sack(&mut packet);
        }
        if self.control.is_empty()
            && matches!(self.state.phase(), Some(ConnectedPhase::Established))
        {
            // Such chunks are rare once the handshake is over.
            self.control = ControlQueue::new();
        }
        Some(Built { newcomer, ..Built::of(&packet, tag) })
    }

    /// An address that the peer has added and that does not answer gets only a limited number of packets; further ones
    /// are dropped.
    #[cold]
    fn drop_excess_probes(&mut self) {
        while let Some(Control { chunk, to, .. }) = self.control.front() {
            let unless_confirmed = |path: PathId| {
                let path = &self.paths[path];
                (!path.reach().is_confirmed()).then_some(path.remote)
            };
            let doubtful = match *to {
                To::Path(path) if may_carry(&self.paths, path, chunk) => unless_confirmed(path),
                To::Newcomer(_, serial) => self.newcomers.place(serial).map(|place| place.remote),
                To::Path(_) | To::Best => unless_confirmed(self.paths.best()),
            };
            if doubtful.is_none_or(|address| self.takes_packet(address)) {
                break;
            }
            self.control.pop_front();
        }
    }

    /// The content of the next packet with DATA.
    fn next_data(&mut self, cx: &mut Cx<'_>) -> Option<Decision> {
        let (transmitter, mut send_cx) = self.sending(cx);
        transmitter.next(&mut send_cx)
    }

    /// Puts the DATA that was decided on into a packet.
    fn fill(&mut self, cx: &mut Cx<'_>, decision: &Decision, packet: &mut PacketBuilder<'_>) {
        let (transmitter, mut send_cx) = self.sending(cx);
        transmitter.fill(&mut send_cx, decision, packet);
        self.apply_effects(cx);
    }

    /// A packet that begins with the FORWARD-TSN that is due. DATA is bundled if there is any (RFC 3758 section 3.5,
    /// F2); the FORWARD-TSN does not wait for it, because the receiver may hold messages back.
    #[inline(never)]
    fn forward_tsn_packet(
        &mut self,
        cx: &mut Cx<'_>,
        packet: &mut Packet<'static>,
    ) -> Option<Built> {
        if !self.state.may_send_data() {
            return None;
        }
        let decision = self.next_data(cx);
        let path = decision.as_ref().map_or_else(|| self.paths.best(), |decision| decision.path);
        let mut packet = self.builder(path, packet);
        let (transmitter, send_cx) = self.sending(cx);
        transmitter.push_forward_tsn(&send_cx, &mut packet);
        if let Some(decision) = decision {
            self.fill(cx, &decision, &mut packet);
        }
        Some(Built::of(&packet, Tag::Peer))
    }

    /// A packet with the SACK that is due, and DATA if there is space.
    fn sack_packet(&mut self, cx: &mut Cx<'_>, packet: &mut Packet<'static>) -> Option<Built> {
        if !self.state.is_connected() {
            return None;
        }
        let path = self.sack_return_path();
        let mut packet = self.builder(path, packet);
        self.push_sack(&mut packet);
        if !self.transmitter.is_dry()
            && let Some(decision) = self.next_data(cx).filter(|decision| decision.path == path)
        {
            self.fill(cx, &decision, &mut packet);
        }
        Some(Built::of(&packet, Tag::Peer))
    }

    fn data_packet(&mut self, cx: &mut Cx<'_>, packet: &mut Packet<'static>) -> Option<Built> {
        let (transmitter, mut send_cx) = self.sending(cx);
        let Some(decision) = transmitter.next(&mut send_cx) else {
            transmitter.penalize_blocking_path(&mut send_cx);
            return None;
        };
        let path = decision.path;
        let mut packet = transmitter.builder(path, packet);
        transmitter.fill(&mut send_cx, &decision, &mut packet);
        self.apply_effects(cx);
        debug_assert!(!packet.is_empty(), "a path was chosen that carries nothing");
        if packet.is_empty() {
            return None;
        }
        let bundles_sack = self.state.receiver().is_some_and(Receiver::sack_is_pending)
            && self.sack_return_path() == path;
        if bundles_sack {
            self.bundle_sack(&mut packet);
        }
        Some(Built::of(&packet, Tag::Peer))
    }

    /// Nothing else can be sent: a packet that probes a path which is silent for too long.
    fn tail_probe_packet(
        &mut self,
        cx: &mut Cx<'_>,
        packet: &mut Packet<'static>,
    ) -> Option<Built> {
        let (transmitter, send_cx) = self.sending(cx);
        let probe = transmitter.next_probe(&send_cx)?;
        let mut packet = self.builder(probe.path, packet);
        let (transmitter, mut send_cx) = self.sending(cx);
        transmitter.fill_probe(&mut send_cx, probe, &mut packet);
        self.apply_effects(cx);
        Some(Built::of(&packet, Tag::Peer))
    }

    /// Adds a delayed SACK to a packet with DATA if all of it fits (RFC 9260 section 6.10); control chunks go first.
    fn bundle_sack(&mut self, packet: &mut PacketBuilder<'_>) {
        let needed = self.state.receiver().map_or(usize::MAX, Receiver::sack_bytes);
        if packet.left() as usize >= needed + self.echo_bytes() {
            let before = packet.packet.chunks.len();
            self.push_sack(packet);
            packet.packet.chunks.rotate_left(before);
        }
    }

    /// Adds a SACK that is due to a packet with control chunks: in SHUTDOWN-SENT, DATA is answered by both (RFC 9260 section
    /// 9.2), and the SHUTDOWN alone reports neither gaps nor the receive window.
    fn bundle_due_sack(&mut self, packet: &mut PacketBuilder<'_>) {
        let due = self.state.receiver().is_some_and(Receiver::sack_is_due);
        let last = packet.packet.chunks.last();
        if due
            && matches!(last, Some(Chunk::Shutdown { .. }))
            && self.sack_return_path() == packet.path
        {
            self.bundle_sack(packet);
        }
    }

    fn push_sack(&mut self, packet: &mut PacketBuilder<'_>) {
        self.push_echoes(packet);
        let Some(receiver) = self.state.receiver_mut() else { return };
        // Per path, or one that takes every second SACK would bring the same part each time.
        let turn = &mut self.paths[packet.path].sack_turn;
        *turn = turn.wrapping_add(1);
        let acknowledgement =
            receiver.take_acknowledgement(packet.left() as usize, packet.path, *turn);
        self.stats.sacks_sent += 1;
        self.stats.nr_sacks_sent += u64::from(matches!(acknowledgement, Chunk::NrSack(_)));
        self.paths[packet.path].sack_rank = self.stats.sacks_sent;
        packet.push(acknowledgement);
    }

    /// SACKs are sent to the source of the last DATA (RFC 9260 section 6.4), if that address is proved to be the peer's
    /// and packets to it are not in doubt, or to where the policy wants them. While no path is active, received DATA is
    /// the only sign of a path that works.
    fn sack_return_path(&self) -> PathId {
        let active =
            |path: &PathId| self.paths.get(*path).is_some_and(|path| path.reach().is_active());
        let last = self.state.receiver().and_then(Receiver::sack_path);
        let last = last.filter(active);
        let chosen = match self.config.policies.sack_path {
            SackPath::LastData => last,
            policy => self.chosen_sack_path(policy, last),
        };
        chosen.or_else(|| self.revived_path()).unwrap_or_else(|| self.paths.best())
    }

    /// While no path is active, the one of the last DATA.
    fn revived_path(&self) -> Option<PathId> {
        let last = self.state.receiver().and_then(Receiver::sack_path);
        let is_confirmed =
            |path: &PathId| self.paths.get(*path).is_some_and(|p| p.reach().is_confirmed());
        last.filter(|path| self.paths.active().is_empty() && is_confirmed(path))
    }

    #[inline(never)]
    fn chosen_sack_path(&self, policy: SackPath, last: Option<PathId>) -> Option<PathId> {
        let sources = self.state.receiver().map_or(PathSet::EMPTY, Receiver::sources);
        let active = self.paths.iter().filter(|path| path.reach().is_active());
        let candidates: SmallVec<[sack_path::SackCandidate; 8]> = active
            .map(|path| sack_path::SackCandidate {
                index: path.id.0,
                brought_data: sources.contains(path.id),
                last_sack: path.sack_rank,
                srtt: self.transmitter.paths[path.id]
                    .rtt
                    .srtt()
                    .unwrap_or(self.config.policies.rto.initial),
            })
            .collect();
        let view = SackPathView {
            last_data: last.map(|path| path.0),
            primary: self.paths.primary.0,
            has_duplicates: self.state.receiver().is_some_and(Receiver::has_duplicates),
            candidates: &candidates,
        };
        sack_path::choose(policy, &view).map(PathId)
    }

    /// Completes the header of a packet that was filled.
    fn finish(&mut self, built: Built, packet: &mut Packet<'static>) -> Envelope {
        self.stats.packets_sent += 1;
        packet.source_port = self.identity.local_port;
        packet.destination_port = self.identity.remote_port;
        packet.verification_tag = match built.tag {
            Tag::Peer => self.state.peer_tag().unwrap_or(0),
            Tag::Zero => 0,
            Tag::Announced(tag) => tag,
        };
        let path = &mut self.paths[built.path];
        path.counters.packets_sent += 1;
        let (mut local, mut remote, mut encapsulation) =
            (path.local, path.remote, path.encapsulation);
        let path = path.id;
        if let Some(serial) = built.newcomer
            && let Some(place) = self.newcomers.place(serial)
        {
            Location { local, remote, encapsulation } = place;
        }
        let checksum = match built.tag {
            Tag::Peer if self.omits_checksums() => Checksum::Zero,
            _ => Checksum::Crc32c,
        };
        if checksum == Checksum::Zero && !packet.carries_crc(checksum) {
            self.stats.seldom.zero_checksums_sent += 1;
        }
        Envelope {
            path,
            local,
            remote,
            encapsulation,
            ecn: self.transmitter.codepoint(path, built.new_data),
            traffic: self.traffic(path),
            fragmentation: built.fragmentation,
            checksum,
        }
    }

    /// Whether both sides have said that errors are detected below SCTP (RFC 9653).
    #[inline]
    pub(super) fn omits_checksums(&self) -> bool {
        self.config.error_detection != ErrorDetection::Crc32c
            && self
                .state
                .peer()
                .is_some_and(|peer| peer.extensions.contains(Capabilities::ZERO_CHECKSUM))
    }

    /// Moves the shutdown on when the last data was acknowledged.
    fn advance_shutdown(&mut self, cx: &mut Cx<'_>) {
        if !self.transmitter.is_dry() {
            return;
        }
        match self.state.phase() {
            // Data of before and after a reset of all can be acknowledged once its answer is here.
            Some(ConnectedPhase::ShutdownPending) if self.is_resetting_all() => {}
            Some(ConnectedPhase::ShutdownPending) => self.send_shutdown(cx, self.paths.best()),
            Some(ConnectedPhase::ShutdownReceived(came_on)) => {
                self.send_shutdown_ack(cx, self.answer_path(came_on));
            }
            _ => {}
        }
    }
}

/// Whether a control chunk may go on `path`: to addresses that are not proved to be the peer's only what proves them
/// (RFC 9260 section 5.4) and makes that as long as its answer, the handshake, COOKIE ACK with its heartbeat, ASCONF-ACK likewise (RFC 5061
/// section 5.3, rule F1), and ABORT, which ends it all.
fn may_carry(paths: &PathBook, path: PathId, chunk: &Chunk<'_>) -> bool {
    let proves = matches!(
        chunk,
        Chunk::Heartbeat(_)
            | Chunk::HeartbeatAck(_)
            | Chunk::Pad(_)
            | Chunk::Init(_)
            | Chunk::CookieEcho(_)
            | Chunk::CookieAck
            | Chunk::Abort(_)
            | Chunk::AsconfAck(_)
    );
    paths.get(path).is_some_and(|path| match path.reach() {
        // It announces the address to the peer, and answers a peer that knows it already.
        Reach::Inactive(Reason::Unannounced) => {
            matches!(chunk, Chunk::Asconf(_) | Chunk::HeartbeatAck(_))
        }
        reach => !reach.is_gone() && (proves || reach.is_confirmed()),
    })
}

/// Chunks that must not be bundled (RFC 9260 section 6.10), and ABORT, after which nothing follows.
fn travels_alone(chunk: &Chunk<'_>) -> bool {
    matches!(
        chunk,
        Chunk::Init(_) | Chunk::InitAck(_) | Chunk::ShutdownComplete { .. } | Chunk::Abort(_)
    )
}
