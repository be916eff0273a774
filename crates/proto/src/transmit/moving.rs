//! Chunks that leave their path for another one because they block the buffers.

use polypath_wire::DataFlags;

use super::blocking::proven_rate;
use super::decide::Snapshot;
use super::outstanding::{History, OutstandingChunk};
use super::packet_builder::PacketBuilder;
use super::recovery::Losses;
use super::send_path::SendPath;
use super::{SendCx, Transmitter};
use crate::config::{RescheduleConditions, RescheduleSide};
use crate::congestion::CorrectionCause;
use crate::mechanism::reschedule::{self, BlockingView, ChunkView, LastSent, PathState, Payment};
use crate::probe::TransmissionCause;
use crate::types::{Fate, NANOS_PER_SECOND, PathSet};
use crate::{Delivery, Duration, Instant, PathId, Tsn};

impl Snapshot<'_> {
    /// The chunk that blocks the buffers and the path that has to take it now, if there are any: of several paths the one
    /// with the shortest round-trip time.
    #[inline]
    pub(super) fn chunk_to_move(&self) -> Option<(Tsn, PathId)> {
        // What blocks is always the lowest chunk of all; what is delivered lies above it.
        if self.config.policies.reschedule.side == RescheduleSide::None
            || self.tx.outstanding.acked_count() == 0
        {
            return None;
        }
        self.blocking_chunk()
    }

    #[inline(never)]
    fn blocking_chunk(&self) -> Option<(Tsn, PathId)> {
        let (policies, outstanding) = (&self.config.policies, &self.tx.outstanding);
        let tsn = outstanding.base();
        let chunk = outstanding.get(tsn);
        if chunk.fate != Fate::InFlight || !chunk.may_be_retransmitted(self.now) {
            return None;
        }
        let takes = |path: &&SendPath| {
            path.cwnd_admits()
                && (self.nears_peer_limit()
                    || reschedule::blocks(
                        &policies.reschedule,
                        policies.buffer_split,
                        &self.blocking_view(path.id),
                    ))
                && reschedule::may_move(&policies.reschedule, &self.chunk_view(chunk, path))
        };
        let paths = self.tx.paths.among(self.usable).filter(takes);
        let path = paths.min_by_key(|path| (path.rtt.srtt().unwrap_or(Duration::MAX), path.id))?;
        Some((tsn, path.id))
    }

    fn blocking_view(&self, path: PathId) -> BlockingView {
        let (tx, outstanding) = (self.tx, &self.tx.outstanding);
        BlockingView {
            send_buffer: tx.queue.limit(),
            peer_window: tx.peer_window(),
            unreleased_on_all: tx
                .paths
                .ids()
                .map(|path| outstanding.unreleased_on(path).user_bytes)
                .sum(),
            paths: self.sharing_paths(),
            unreleased: outstanding.unreleased_on(path),
            in_flight: outstanding.in_flight_on(path),
            released_early: outstanding.released_early_on(path),
            released_early_on_all: tx
                .paths
                .ids()
                .map(|path| outstanding.released_early_on(path))
                .sum(),
        }
    }

    /// Time until the other paths have filled the buffers with what waits for a chunk on `path`, at
    /// what they carry now. Zero while their rates are unknown, or if the peer limits the chunks
    /// above a gap.
    fn until_full(&self, path: PathId) -> Duration {
        if self.config.policies.reschedule.conditions != RescheduleConditions::Stall
            || self.nears_peer_limit()
        {
            return Duration::ZERO;
        }
        let tx = self.tx;
        let unreleased: u64 = tx.paths.ids().map(|id| tx.outstanding.unreleased_on(id).cost).sum();
        let room = tx.peer_window().min(tx.queue.limit().saturating_sub(unreleased));
        let others = tx.paths.among(self.usable).filter(|it| it.id != path);
        let rate: u128 = others.filter_map(proven_rate).sum();
        let nanos = (u128::from(room) * NANOS_PER_SECOND).checked_div(rate).unwrap_or(0);
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    fn chunk_view(&self, chunk: &OutstandingChunk, path: &SendPath) -> ChunkView {
        ChunkView {
            delivery: match chunk.flags.contains(DataFlags::UNORDERED) {
                true => Delivery::Unordered,
                false => Delivery::Ordered,
            },
            last_sent: if chunk.path == path.id { LastSent::Here } else { LastSent::Elsewhere },
            was_rescheduled: chunk.history.contains(History::RESCHEDULED),
            transmissions: chunk.transmissions,
            age: self.now.since(chunk.sent_at),
            its_rtt: self.tx.paths[chunk.path].rtt.expected(),
            allowed: self.tx.paths[chunk.path].lateness_allowed(),
            new_rtt: path.rtt.expected(),
            until_full: self.until_full(chunk.path),
            new_path: self.tx.state_of(path, self.now),
        }
    }
}

impl Transmitter {
    fn state_of(&self, path: &SendPath, now: Instant) -> PathState {
        PathState {
            in_fast_recovery: path.recovery.is_active() || self.recovery.is_active(),
            is_banned: path.new_data_ban.is_active(now),
        }
    }

    /// Adds the chunk that has to move to `path`.
    #[inline(never)]
    pub(super) fn push_blocking(
        &mut self,
        cx: &mut SendCx<'_>,
        path: PathId,
        tsn: Tsn,
        packet: &mut PacketBuilder<'_>,
    ) {
        let chunk = self.outstanding.get(tsn);
        if !packet.fits_data(self.chunk.as_data(chunk.user_bytes())) {
            return;
        }
        self.leave_path(cx, tsn, path);
        self.push_moved(cx, path, tsn, TransmissionCause::Rescheduled, packet);
        // It is the lowest TSN of all, and so of its path.
        self.paths[path].restart_t3(cx.now, cx.config);
    }

    /// Adds a chunk that has left its path to the packet, which goes over `path`.
    pub(super) fn push_moved(
        &mut self,
        cx: &mut SendCx<'_>,
        path: PathId,
        tsn: Tsn,
        cause: TransmissionCause,
        packet: &mut PacketBuilder<'_>,
    ) {
        let chunk = self.outstanding.get(tsn);
        let (user_bytes, flight_bytes) = (chunk.user_bytes(), chunk.flight_bytes);
        // The sooner its SACK comes, the sooner the buffers are free (RFC 7053).
        let data = chunk.to_chunk(self.chunk, tsn, DataFlags::IMMEDIATE);
        self.outstanding.reschedule(tsn, path, cx.now);
        packet.push_data(data, self.chunk.as_data(user_bytes));
        self.note_chunk_sent(cx, path, tsn, user_bytes, cause);
        self.remember_repair(tsn, path);
        let path = &mut self.paths[path];
        path.put_out(flight_bytes);
        path.last_asks_for_sack = true;
    }

    /// Takes a chunk out of what is outstanding on its path, which pays for the transmission that may still be on its way.
    fn leave_path(&mut self, cx: &mut SendCx<'_>, tsn: Tsn, new: PathId) {
        let chunk = self.outstanding.get(tsn);
        let (old, flight_bytes) = (chunk.path, chunk.flight_bytes);
        let state = self.state_of(&self.paths[old], cx.now);
        self.leave_behind(cx, old, tsn, new);
        let path = &mut self.paths[old];
        path.take_out(tsn, flight_bytes);
        match reschedule::payment(&cx.config.policies.reschedule, state) {
            Payment::Size => {
                let unit = path.parameters().unit;
                let cwnd = reschedule::cwnd_without(path.congestion.cwnd, flight_bytes, unit);
                path.correct(cx.now, CorrectionCause::Rescheduling, cwnd, None);
                cx.probe.on(cx.now, path.congestion_event());
            }
            Payment::Half => {
                // As after a fast retransmission, which however would have a packet to send on this path.
                let free = path.free_retransmission;
                let groups = self.group_views(cx);
                let lost_on = Losses { rescheduled: PathSet::of(old), ..Losses::default() };
                self.reduce_cwnds(cx, lost_on, &groups);
                self.paths[old].free_retransmission = free;
            }
            Payment::Block => {
                let round_trip = path.rtt.expected();
                path.new_data_ban.begin(cx.now, round_trip);
            }
            Payment::Nothing => {}
        }
        self.settle_left(cx, old);
    }
}
