//! Output: the next packet.

use alloc::collections::VecDeque;

use polypath_wire::{Chunk, Packet};
use smallvec::SmallVec;

use super::Association;
use super::packet_builder::PacketBuilder;
use super::state::State;
use crate::config::{Burst, PathOrder, SackPath};
use crate::congestion::burst;
use crate::mechanism::sack_path::{self, Duplicates, SackPathView, SinceLastSack};
use crate::paths::reach::{Reach, Reason};
use crate::paths::{Path, Paths};
use crate::receive::Receiver;
use crate::transmit::zero_window::{self, ZeroWindow, ZeroWindowView};
use crate::types::PathSet;
use crate::{BlockedCause, Cx, Ecn, Envelope, Fragmentation, Instant, PathId};

/// Where a control chunk goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum To {
    /// This path, whatever its state.
    Path(PathId),
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

/// Control chunks in the order of sending.
pub(super) type ControlQueue = VecDeque<Control>;

/// One flush: the packets between an input and the next `None` of `poll_transmit`.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Flush {
    pub(super) open: bool,
    /// Packets with acknowledgements since the last flush; each allows a burst.
    pub(super) sacks: u64,
    /// The packet being handled has one.
    pub(super) acknowledged: bool,
    /// Path that carried the last data packet of this flush.
    pub(super) serving: Option<PathId>,
    /// Path that carried the last new data of this flush and makes a run.
    pub(super) run: Option<PathId>,
    /// When the last one ended, as long as nothing has happened since that could give a packet.
    pub(super) dry_at: Option<Instant>,
}

impl Association {
    /// Something happened that a packet may come of.
    pub(super) fn stir(&mut self) {
        self.flush.dry_at = None;
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

    /// The path for control chunks that name none: among those that can carry data the one with the fewest timeouts
    /// that nothing has answered since, the primary before others.
    ///
    /// RFC 9260 section 9.2 leaves the choice open and section 8.2 gives up a path only after many timeouts; until then
    /// a path that was just cut must not hold up the end of the association.
    pub(super) fn best_path(&self) -> PathId {
        let usable = self.usable_paths();
        let usable = self.paths.iter().filter(|path| usable.contains(path.id));
        let best = usable.min_by_key(|path| (path.errors, path.id != self.primary, path.id));
        best.map_or(self.primary, |path| path.id)
    }

    /// The path for the answer to a chunk that came on `came_on`: back to where it came from (RFC 9260 section 6.4).
    pub(super) fn answer_path(&self, came_on: PathId) -> PathId {
        if self.paths[came_on].reach.is_active() { came_on } else { self.best_path() }
    }

    /// Builds the next packet in place.
    pub(super) fn poll_packet(
        &mut self,
        cx: &mut Cx<'_>,
        packet: &mut Packet<'static>,
    ) -> Option<Envelope> {
        if self.paths.len() == 0 || self.flush.dry_at == Some(cx.now) {
            return None;
        }
        self.open_flush(cx);
        self.settle_mtus(cx);
        self.watch_peer_window(cx);
        self.advance_shutdown(cx);
        // In a queue that is nearly full, what nobody would miss must not take the place of a retransmission.
        let repeats = self.sender.window.lost_count() > 0;
        let envelope = self
            .control_packet(packet)
            .or_else(|| if repeats { None } else { self.mtu_probe_packet(cx, packet) })
            .or_else(|| self.forward_tsn_packet(cx, packet))
            .or_else(|| self.sack_packet(cx, packet))
            .or_else(|| self.data_packet(cx, packet))
            .or_else(|| self.mtu_probe_packet(cx, packet))
            .or_else(|| self.tail_probe_packet(cx, packet));
        if envelope.is_none() {
            self.watch_tail(cx.now);
            self.flush = Flush { dry_at: Some(cx.now), ..Flush::default() };
            let cause = self.why_blocked();
            self.blocked.enter(cx.now, cause);
            self.account_suspicion(cx.now);
        }
        envelope
    }

    fn open_flush(&mut self, cx: &mut Cx<'_>) {
        if self.flush.open {
            return;
        }
        self.flush.open = true;
        self.abandon_due(cx);
        self.watch_forward_tsn();
        self.probe_failed_paths(cx);
        let sacks = self.flush.sacks;
        let burst = self.burst_in_force();
        for path in self.paths.iter_mut() {
            let before = (path.window.cwnd, path.window.ssthresh);
            path.begin_flush(cx.now, &self.config, burst, sacks);
            if (path.window.cwnd, path.window.ssthresh) != before {
                cx.probe.on(cx.now, path.window_event());
            }
        }
    }

    fn burst_in_force(&self) -> Burst {
        let repeated = |path: &Path| {
            let counters = &path.counters;
            counters.fast_retransmissions
                + counters.timeout_retransmissions
                + counters.reported_retransmissions
        };
        burst::in_force(self.config.policies.burst, self.paths.iter().map(repeated).sum())
    }

    /// Begins to wait for a probe of the peer's window when it is closed and everything sent is acknowledged.
    fn watch_peer_window(&mut self, cx: &Cx<'_>) {
        if !self.state.may_send_data() {
            return;
        }
        if self.sender.advertised_window > 0 {
            self.sender.zero_window = ZeroWindow::Idle;
            return;
        }
        let outstanding = match self.sender.window.is_empty() {
            true => zero_window::Outstanding::None,
            false => zero_window::Outstanding::Some,
        };
        let view = ZeroWindowView {
            advertised: self.sender.advertised_window,
            outstanding,
            rto: self.paths[self.best_path()].rtt.rto(),
            longest: self.config.policies.rto.max,
        };
        self.sender.zero_window.observe(cx.now, &view);
    }

    fn why_blocked(&self) -> BlockedCause {
        if !self.state.is_synchronized()
            || (self.sender.queue.is_empty() && self.sender.window.lost_count() == 0)
        {
            return match self.sender.room_is_wanted() {
                true => BlockedCause::SendBuffer,
                false => BlockedCause::Application,
            };
        }
        let usable = self.usable_paths();
        if usable.is_empty() {
            return BlockedCause::NoPath;
        }
        let asked = match self.config.policies.path_order {
            PathOrder::Primary => PathSet::of(self.primary_or_stand_in(usable)),
            _ => usable,
        };
        let has_window = self
            .paths
            .iter()
            .filter(|path| asked.contains(path.id))
            .any(|path| path.has_window() && !self.gathers_a_run(path, usable));
        match has_window {
            true if self.sender.peer_window_admits(self.max_fragment) => BlockedCause::BufferShare,
            true => BlockedCause::PeerWindow,
            false => BlockedCause::CongestionWindow,
        }
    }

    pub(super) fn builder<'a>(
        &self,
        path: PathId,
        packet: &'a mut Packet<'static>,
    ) -> PacketBuilder<'a> {
        PacketBuilder::new(path, self.paths[path].packet_capacity(), packet)
    }

    /// A packet with the control chunks that wait for the same path.
    fn control_packet(&mut self, packet: &mut Packet<'static>) -> Option<Envelope> {
        let Control { chunk, to, tag } = self.control.pop_front()?;
        let best = self.best_path();
        let paths = &self.paths;
        let resolve = |to: To, chunk: &Chunk<'_>| match to {
            To::Path(path) if may_carry(paths, path, chunk) => path,
            _ => best,
        };
        let path = resolve(to, &chunk);
        let mut packet = self.builder(path, packet);
        let alone = travels_alone(&chunk);
        packet.push(chunk);
        while !alone
            && let Some(next) = self.control.front()
            && resolve(next.to, &next.chunk) == path
            && !travels_alone(&next.chunk)
            && !matches!(next.chunk, Chunk::CookieEcho(_))
            && packet.fits(&next.chunk)
        {
            let next = self.control.pop_front()?;
            packet.push(next.chunk);
        }
        if matches!(self.state, State::ShutdownSent(_)) {
            self.bundle_due_sack(&mut packet);
        }
        if self.control.is_empty() && matches!(self.state, State::Established) {
            // Such chunks are rare once the handshake is over.
            self.control = ControlQueue::new();
        }
        Some(self.finish(packet, tag))
    }

    /// A packet with the SACK that is due, and DATA if there is room.
    fn sack_packet(&mut self, cx: &mut Cx<'_>, packet: &mut Packet<'static>) -> Option<Envelope> {
        if !self.receiver.as_ref()?.sack_is_due() || !self.state.is_synchronized() {
            return None;
        }
        let path = self.sack_return_path();
        let mut packet = self.builder(path, packet);
        self.push_sack(&mut packet);
        if !self.sender.is_dry() {
            let round = self.begin_round(cx);
            if self.next_data_path(cx, &round) == Some(path) {
                self.fill_with_data(cx, path, &round, &mut packet);
            }
        }
        Some(self.finish(packet, Tag::Peer))
    }

    fn data_packet(&mut self, cx: &mut Cx<'_>, packet: &mut Packet<'static>) -> Option<Envelope> {
        if self.sender.is_dry() {
            return None;
        }
        let round = self.begin_round(cx);
        let Some(path) = self.next_data_path(cx, &round) else {
            self.penalize_what_blocks(cx, round.usable());
            return None;
        };
        let mut packet = self.builder(path, packet);
        self.fill_with_data(cx, path, &round, &mut packet);
        debug_assert!(!packet.is_empty(), "a path was chosen that carries nothing");
        if packet.is_empty() {
            return None;
        }
        let bundles_sack =
            self.receiver.as_ref().is_some_and(|receiver| receiver.sack_is_pending())
                && self.sack_return_path() == path;
        if bundles_sack {
            self.bundle_sack(&mut packet);
        }
        Some(self.finish(packet, Tag::Peer))
    }

    /// Adds a delayed SACK to a packet with DATA if all of it has room (RFC 9260 section 6.10); control chunks go
    /// first.
    fn bundle_sack(&mut self, packet: &mut PacketBuilder<'_>) {
        let needed = self.receiver.as_ref().map_or(usize::MAX, Receiver::sack_bytes);
        if packet.left() as usize >= needed {
            self.push_sack(packet);
            packet.packet.chunks.rotate_right(1);
        }
    }

    /// Adds a SACK that is due to a packet with control chunks: in SHUTDOWN-SENT, DATA is answered by both (RFC 9260 section
    /// 9.2), and the SHUTDOWN alone tells neither gaps nor the window.
    fn bundle_due_sack(&mut self, packet: &mut PacketBuilder<'_>) {
        let due = self.receiver.as_ref().is_some_and(Receiver::sack_is_due);
        let last = packet.packet.chunks.last();
        if due
            && matches!(last, Some(Chunk::Shutdown { .. }))
            && self.sack_return_path() == packet.path
        {
            self.bundle_sack(packet);
        }
    }

    fn push_sack(&mut self, packet: &mut PacketBuilder<'_>) {
        let Some(receiver) = &mut self.receiver else { return };
        // Per path, or one that takes every second SACK would bring the same part each time.
        let turn = &mut self.paths[packet.path].sack_turn;
        *turn = turn.wrapping_add(1);
        let acknowledgement = receiver.take_acknowledgement(packet.left() as usize, *turn);
        self.stats.sacks_sent += 1;
        self.stats.nr_sacks_sent += u64::from(matches!(acknowledgement, Chunk::NrSack(_)));
        self.paths[packet.path].sack_rank = self.stats.sacks_sent;
        packet.push(acknowledgement);
    }

    /// SACKs return to the source of the last DATA (RFC 9260 section 6.4), if that address is proved to be the peer's and
    /// there is no doubt that what is sent there arrives, or where the policy wants them.
    fn sack_return_path(&self) -> PathId {
        let active =
            |path: &PathId| self.paths.get(*path).is_some_and(|path| path.reach.is_active());
        let last = self.receiver.as_ref().and_then(|receiver| receiver.sack_path());
        let last = last.filter(active);
        let chosen = match self.config.policies.sack_path {
            SackPath::LastData => last,
            policy => self.chosen_sack_path(policy, last),
        };
        chosen.unwrap_or_else(|| self.best_path())
    }

    fn chosen_sack_path(&self, policy: SackPath, last: Option<PathId>) -> Option<PathId> {
        let sources = self.receiver.as_ref().map_or(PathSet::EMPTY, Receiver::sources);
        let active = self.paths.iter().filter(|path| path.reach.is_active());
        let candidates: SmallVec<[sack_path::Candidate; 8]> = active
            .map(|path| sack_path::Candidate {
                index: path.id.0,
                since_last_sack: match sources.contains(path.id) {
                    true => SinceLastSack::BroughtData,
                    false => SinceLastSack::Silent,
                },
                last_sack: path.sack_rank,
                srtt: path.rtt.srtt().unwrap_or(self.config.policies.rto.initial),
            })
            .collect();
        let view = SackPathView {
            last_data: last.map(|path| path.0),
            primary: self.primary.0,
            duplicates: match self.receiver.as_ref().is_some_and(Receiver::has_duplicates) {
                true => Duplicates::Some,
                false => Duplicates::None,
            },
            candidates: &candidates,
        };
        sack_path::choose(policy, &view).map(PathId)
    }

    pub(super) fn finish(&mut self, builder: PacketBuilder<'_>, tag: Tag) -> Envelope {
        self.stats.packets_sent += 1;
        let PacketBuilder { packet, path, oversized, .. } = builder;
        packet.source_port = self.identity.local_port;
        packet.destination_port = self.identity.remote_port;
        packet.verification_tag = match tag {
            Tag::Peer => self.peer_tag,
            Tag::Zero => 0,
            Tag::Announced(tag) => tag,
        };
        let path = &mut self.paths[path];
        path.counters.packets_sent += 1;
        Envelope {
            path: path.id,
            local: path.local,
            remote: path.remote,
            encapsulation: path.encapsulation,
            ecn: Ecn::NotEct,
            fragmentation: match oversized {
                true => Fragmentation::Allowed,
                false => Fragmentation::Avoided,
            },
        }
    }

    /// Moves the shutdown on when the last data was acknowledged.
    fn advance_shutdown(&mut self, cx: &mut Cx<'_>) {
        if !self.sender.is_dry() {
            return;
        }
        match self.state {
            State::ShutdownPending => self.send_shutdown(cx, self.best_path()),
            State::ShutdownReceived(came_on) => {
                self.send_shutdown_ack(cx, self.answer_path(came_on));
            }
            _ => {}
        }
    }
}

/// Whether a control chunk may go on `path`: to addresses that are not proved to be the peer's only what proves them
/// (RFC 9260 section 5.4), the handshake, COOKIE ACK with its heartbeat, and ABORT, which ends it all.
fn may_carry(paths: &Paths, path: PathId, chunk: &Chunk<'_>) -> bool {
    let proves = matches!(
        chunk,
        Chunk::Heartbeat(_)
            | Chunk::HeartbeatAck(_)
            | Chunk::Init(_)
            | Chunk::CookieEcho(_)
            | Chunk::CookieAck
            | Chunk::Abort(_)
    );
    let gone = Reach::Inactive(Reason::NoLocalAddress);
    paths.get(path).is_some_and(|path| path.reach != gone && (proves || path.reach.is_confirmed()))
}

/// Chunks that must not be bundled (RFC 9260 section 6.10), and ABORT, after which nothing follows.
fn travels_alone(chunk: &Chunk<'_>) -> bool {
    matches!(
        chunk,
        Chunk::Init(_) | Chunk::InitAck(_) | Chunk::ShutdownComplete { .. } | Chunk::Abort(_)
    )
}
