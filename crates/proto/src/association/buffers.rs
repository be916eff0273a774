//! How paths share the buffers, chunks that move because they block them, and how large the send buffer is.

use polypath_wire::{Chunk, DataFlags};
use smallvec::SmallVec;

use super::Association;
use super::packet_builder::PacketBuilder;
use crate::config::{BufferSize, BufferSplit, BufferSplitShares, PathOrder, RescheduleSide};
use crate::mechanism::buffer_split::{self, Speed, SplitView};
use crate::mechanism::reschedule::{
    self, BlockingView, ChunkView, Kind, LastSent, Moves, Payment, Recovery,
};
use crate::paths::Path;
use crate::probe::TransmissionCause;
use crate::transmit::buffer_size::{self, Phase, SizedPath};
use crate::transmit::outstanding::{History, OutstandingChunk};
use crate::transmit::sack::AckDelta;
use crate::types::{Fate, PathSet};
use crate::{Cx, Duration, Instant, PathId, Tsn};

impl Association {
    /// Whether the peer's window and the path's share of the buffers admit a new chunk of `user_bytes` on `path`.
    pub(super) fn admits_new(&self, path: PathId, usable: PathSet, user_bytes: u32) -> bool {
        let policies = &self.config.policies;
        if !self.sender.peer_window_admits(user_bytes) {
            return false;
        }
        if self.waits_for_quicker(path, usable, user_bytes) {
            return false;
        }
        if policies.buffer_split == BufferSplit::None {
            return true;
        }
        let window = &self.sender.window;
        let paths = self.sharing_paths(usable);
        let view = SplitView {
            send_buffer: self.sender.queue.limit(),
            peer_window: self.sender.peer_window(),
            outstanding: window.in_flight_user_bytes(),
            paths,
            booked: window.booked_on(path),
            in_flight: window.in_flight_on(path),
            mtu: self.paths[path].mtu.into(),
            needs: match policies.buffer_split_shares {
                BufferSplitShares::ByNeed if paths > 1 => self.needs_beside(path, usable),
                _ => None,
            },
        };
        buffer_split::admits(policies.buffer_split, policies.buffer_split_by, &view)
    }

    /// What the other paths that carry new data could use of the buffers: a window, and a packet by which it grows; what
    /// they have, where new data stays away from them. `None` if this is not the fastest one.
    fn needs_beside(&self, path: PathId, usable: PathSet) -> Option<SmallVec<[u64; 4]>> {
        let speed = |path: &Path| Speed { cwnd: path.window.cwnd, srtt: path.rtt.srtt() };
        let own = speed(&self.paths[path]);
        let carries = |id: PathId| usable.contains(id);
        let others = self.paths.iter().filter(|other| other.id != path && carries(other.id));
        others
            .map(|other| {
                let is_slower = own.exceeds(&speed(other));
                is_slower.then(|| match self.waits_for_quicker(other.id, usable, other.mtu) {
                    true => self.sender.window.in_flight_on(other.id).user_bytes,
                    false => other.window.cwnd.saturating_add(other.mtu.into()),
                })
            })
            .collect()
    }

    /// Paths that carry new data, among which the buffers are split.
    fn sharing_paths(&self, usable: PathSet) -> u32 {
        match self.config.policies.path_order {
            PathOrder::Primary => 1,
            _ => usable.len(),
        }
    }

    /// The chunk that blocks the buffers and the path that has to take it now, if there are any: of several paths the one
    /// with the shortest round-trip time.
    #[inline]
    pub(super) fn chunk_to_move(&self, now: Instant, usable: PathSet) -> Option<(Tsn, PathId)> {
        // What blocks is always the lowest chunk of all; what is delivered lies above it.
        if self.config.policies.reschedule.side == RescheduleSide::None
            || self.sender.window.acked_count() == 0
        {
            return None;
        }
        self.blocking_chunk(now, usable)
    }

    fn blocking_chunk(&self, now: Instant, usable: PathSet) -> Option<(Tsn, PathId)> {
        let policies = &self.config.policies;
        let window = &self.sender.window;
        let tsn = window.base();
        let chunk = window.get(tsn);
        if chunk.fate != Fate::InFlight || !chunk.may_be_sent_again(now) {
            return None;
        }
        let takes = |path: &&Path| {
            usable.contains(path.id)
                && path.has_window()
                && reschedule::blocks(
                    &policies.reschedule,
                    policies.buffer_split,
                    &self.blocking_view(path.id, usable),
                )
                && reschedule::may_move(&policies.reschedule, &self.chunk_view(now, chunk, path))
        };
        let paths = self.paths.iter().filter(takes);
        let path = paths.min_by_key(|path| (path.rtt.srtt().unwrap_or(Duration::MAX), path.id))?;
        Some((tsn, path.id))
    }

    fn blocking_view(&self, path: PathId, usable: PathSet) -> BlockingView {
        let window = &self.sender.window;
        BlockingView {
            send_buffer: self.sender.queue.limit(),
            peer_window: self.sender.peer_window(),
            booked_on_all: self.paths.ids().map(|path| window.booked_on(path).user_bytes).sum(),
            paths: self.sharing_paths(usable),
            booked: window.booked_on(path),
            in_flight: window.in_flight_on(path),
            kept: window.kept_on(path),
            kept_on_all: self.paths.ids().map(|path| window.kept_on(path)).sum(),
        }
    }

    fn chunk_view(&self, now: Instant, chunk: &OutstandingChunk, path: &Path) -> ChunkView {
        let rtt = |path: &Path| path.rtt.srtt().unwrap_or_else(|| path.rtt.rto());
        ChunkView {
            kind: match chunk.flags.contains(DataFlags::UNORDERED) {
                true => Kind::Unordered,
                false => Kind::Ordered,
            },
            last_sent: if chunk.path == path.id { LastSent::Here } else { LastSent::Elsewhere },
            moves: match chunk.history.contains(History::RESCHEDULED) {
                true => Moves::Some,
                false => Moves::None,
            },
            age: now.since(chunk.sent_at),
            its_rtt: rtt(&self.paths[chunk.path]),
            new_rtt: rtt(path),
            recovery: self.recovery_of(path),
            ban: path.ban_at(now),
        }
    }

    fn recovery_of(&self, path: &Path) -> Recovery {
        match path.recovery.is_active() || self.sender.recovery.is_active() {
            true => Recovery::On,
            false => Recovery::Off,
        }
    }

    /// Lets the send buffer grow to what the paths deliver, where its size is not configured.
    pub(super) fn adapt_send_buffer(&mut self, now: Instant, delta: &AckDelta) {
        let policy = self.config.policies.send_buffer;
        if !matches!(policy, BufferSize::AutoFast | BufferSize::AutoTimeout) {
            return;
        }
        let mut measured = false;
        for (path, news) in self.paths.iter_mut().zip(&delta.paths) {
            if let Some(rtt) = path.rtt.srtt().filter(|_| news.user_bytes > 0) {
                measured |= path.delivery.on_acked(now, news.user_bytes, rtt);
            }
        }
        if !measured {
            return;
        }
        let paths = self.paths.iter().filter_map(|path| {
            let phase = match path.window.cwnd <= path.window.ssthresh {
                true => Phase::SlowStart,
                false => Phase::Avoidance,
            };
            let (rtt, rto) = (path.rtt.srtt()?, path.rtt.rto());
            Some(SizedPath { rtt, rto, rate: path.delivery.rate(), phase })
        });
        self.sender.enlarge_buffer(buffer_size::needed(policy, paths));
    }

    /// Puts the chunk that has to move to `path` into the packet.
    pub(super) fn fill_with_moved(
        &mut self,
        cx: &mut Cx<'_>,
        path: PathId,
        usable: PathSet,
        packet: &mut PacketBuilder<'_>,
    ) {
        let moved = self.chunk_to_move(cx.now, usable).filter(|(_, to)| *to == path);
        let Some((tsn, _)) = moved else { return };
        let chunk = self.sender.window.get(tsn);
        let (user_bytes, charge, old) = (chunk.user_bytes(), chunk.charge, chunk.path);
        if !packet.fits_data(user_bytes) {
            return;
        }
        self.leave_path(cx, old, tsn, charge);
        self.push_moved(cx, path, tsn, TransmissionCause::Rescheduled, packet);
        // It is the lowest TSN of all, and so of its path.
        self.paths[path].restart_t3(cx.now);
    }

    /// Puts a chunk that has left its path into the packet, which goes over `path`.
    pub(super) fn push_moved(
        &mut self,
        cx: &mut Cx<'_>,
        path: PathId,
        tsn: Tsn,
        cause: TransmissionCause,
        packet: &mut PacketBuilder<'_>,
    ) {
        let chunk = self.sender.window.get(tsn);
        let (user_bytes, charge) = (chunk.user_bytes(), chunk.charge);
        let mut data = chunk.to_data(tsn);
        // The sooner its SACK comes, the sooner the buffers are free (RFC 7053).
        data.flags |= DataFlags::IMMEDIATE;
        self.sender.window.reschedule(tsn, path, cx.now);
        packet.push_data(Chunk::Data(data), user_bytes);
        self.note_chunk_sent(cx, path, tsn, user_bytes, cause);
        self.remember_repair(tsn, path);
        self.paths[path].put_out(charge);
    }

    /// Takes a chunk out of what is outstanding on `old`, which pays for the transmission that may still be on its way.
    fn leave_path(&mut self, cx: &mut Cx<'_>, old: PathId, tsn: Tsn, charge: u32) {
        let recovery = self.recovery_of(&self.paths[old]);
        let path = &mut self.paths[old];
        path.take_out(tsn, charge);
        let ban = path.ban_at(cx.now);
        match reschedule::payment(&self.config.policies.reschedule, recovery, ban) {
            Payment::Size => {
                let unit = path.congestion_parameters(&self.config).unit;
                path.window.cwnd = reschedule::window_without(path.window.cwnd, charge, unit);
                cx.probe.on(cx.now, path.window_event());
            }
            Payment::Half => {
                // As after a fast retransmission, which however would have a packet to send on this path.
                let free = path.free_retransmission;
                let groups = self.group_views();
                self.reduce_windows(cx, PathSet::of(old), &groups);
                self.paths[old].free_retransmission = free;
            }
            Payment::Block => {
                let round_trip = path.rtt.srtt().unwrap_or_else(|| path.rtt.rto());
                path.banned_until = Some(cx.now + round_trip);
            }
            Payment::Nothing => {}
        }
        if self.paths[old].flight == 0 {
            self.paths[old].t3 = None;
            self.watch_emptied_path(cx, old);
        }
    }

    /// Everything that was outstanding on `path` has moved away, so no timer would ever find out that the path is dead:
    /// a heartbeat asks, and has an RTO to come back.
    pub(super) fn watch_emptied_path(&mut self, cx: &mut Cx<'_>, path: PathId) {
        if self.paths[path].heartbeat.outstanding.is_none() {
            self.send_heartbeat(cx, path);
        }
        let path = &mut self.paths[path];
        path.heartbeat.not_after(cx.now + path.rtt.rto());
    }
}
