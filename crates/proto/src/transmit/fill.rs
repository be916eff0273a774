//! Filling a packet with the DATA that was decided on.

use polypath_wire::{Chunk, Data, DataFlags, IData};

use super::decide::{self, Decision, Snapshot, Targets, What, train_bytes_beside};
use super::outstanding::{History, MAX_SPAN, OutstandingChunk};
use super::packet_builder::PacketBuilder;
use super::partial_reliability::Reliability;
use super::queue::{Asking, NextChunk};
use super::send_path::SendPath;
use super::send_path::flight_bytes;
use super::{Flush, SendCx, SendPhase, Transmitter};
use crate::config::{AssociationConfig, Burst, PerTsn, SackRequest, T3Restart};
use crate::congestion::burst;
use crate::mechanism::reordering::Transmission;
use crate::probe::TransmissionCause;
use crate::types::{Fate, PathSet, UserDataChunk};
use crate::{Instant, PathId, ProbeEvent, Tsn};

impl Transmitter {
    /// Begins a flush, the packets between an input and the time that nothing more can be sent: abandons what is due, and
    /// limits the bursts of each path.
    pub(crate) fn begin_flush(&mut self, cx: &mut SendCx<'_>) {
        self.settle_small_messages(cx);
        self.abandon_due(cx);
        self.watch_forward_tsn();
        if !self.ahead.is_empty() {
            self.forget_measured();
        }
        let sacks = self.flush.sacks;
        let limit = match cx.config.policies.burst {
            conditional @ (Burst::MaxBurstAfterLoss(_)
            | Burst::MaxBurstOnce(_)
            | Burst::MaxBurstFromRetransmission(_)) => {
                let repeated = self.paths.iter().map(|path| path.counters.retransmissions());
                burst::in_force(conditional, repeated.sum(), self.repaired)
            }
            always => always,
        };
        for path in self.paths.iter_mut() {
            let before = path.congestion;
            path.begin_flush(cx.now, cx.config.policies.pacing, limit, sacks.into());
            if path.congestion != before {
                cx.probe.on(cx.now, path.congestion_event());
            }
        }
    }

    /// Nothing more can be sent now.
    pub(crate) fn end_flush(&mut self, now: Instant, config: &AssociationConfig) {
        self.flush = Flush::default();
        let has_new = !self.queue.is_empty() && !self.gathers();
        let waits = has_new || self.outstanding.lost_count() > 0;
        if self.repaired.is_armed && waits && self.peer_window_admits(self.max_fragment) {
            let limited = self.paths.iter().any(SendPath::is_limited_in_flush);
            self.repaired.on_flush(config.policies.burst, limited);
        }
        let full = self.full_buffer(waits);
        for path in self.paths.iter_mut() {
            let train = train_bytes_beside(config, path);
            path.end_flush(now, waits, train, full);
        }
    }

    /// The size in bytes of a buffer that keeps more from being sent: that of the peer, or the own one, which is full of what is
    /// outstanding.
    fn full_buffer(&self, waits: bool) -> Option<u64> {
        if waits {
            (!self.peer_window_admits(self.max_fragment)).then_some(self.advertised_window)
        } else {
            self.demand.is_waiting().then_some(self.queue.limit())
        }
    }

    /// Whether anything has happened since the last flush that the next one looks at.
    #[inline]
    pub(crate) fn has_flushed(&self) -> bool {
        let Flush { sacks, serving, train } = self.flush;
        sacks > 0 || serving.is_some() || train.is_some()
    }

    /// The next packet with DATA, if one may go.
    pub(crate) fn next(&mut self, cx: &mut SendCx<'_>) -> Option<Decision> {
        if !cx.may_send() {
            return None;
        }
        let usable = cx.book.usable();
        let late = self.late_chunk(cx, usable);
        let (now, config, book) = (cx.now, cx.config, cx.book);
        decide::decide(&Snapshot { tx: self, now, config, book, usable }, late, cx.rng)
    }

    pub(super) fn snapshot<'a, 'c: 'a>(&'a self, cx: &SendCx<'c>, usable: PathSet) -> Snapshot<'a> {
        Snapshot { tx: self, now: cx.now, config: cx.config, book: cx.book, usable }
    }

    /// Puts DATA chunks into the packet, what was decided on first, until it is full or nothing may be sent.
    pub(crate) fn fill(
        &mut self,
        cx: &mut SendCx<'_>,
        decision: &Decision,
        packet: &mut PacketBuilder<'_>,
    ) {
        let (path, usable) = (decision.path, decision.usable);
        debug_assert_eq!(path, packet.path);
        let mut next_new = None;
        match decision.what {
            What::Move(tsn) => self.push_blocking(cx, path, tsn, packet),
            What::TakeBack(tsn) => self.push_back(cx, (path, usable), tsn, packet),
            What::New(user_bytes) => next_new = Some(user_bytes),
            What::Copy(tsn) => return self.push_copy(cx, path, tsn, packet),
            What::Retransmit | What::Late(_) => {}
        }
        if !decision.targets.is_empty() {
            self.push_retransmissions(cx, path, &decision.targets, packet);
        }
        if self.paths[path].cwnd_admits() || packet.has_data() {
            self.push_new(cx, path, usable, next_new, packet);
        }
        if decision.has_late {
            self.push_late(cx, decision, packet);
        }
        if packet.has_data() {
            self.note_data_packet(cx, path);
        }
    }

    /// A packet with DATA goes over the path.
    #[inline(always)]
    pub(super) fn note_data_packet(&mut self, cx: &SendCx<'_>, path: PathId) {
        self.transmissions += 1;
        self.last_served = path.0;
        self.flush.serving = Some(path);
        let rank = self.transmissions;
        let path = &mut self.paths[path];
        path.transmission_rank = rank;
        path.last_data_sent = Some(cx.now);
        path.tail_probe.rest();
        if cx.config.adapts_to_reordering() {
            path.arrivals_mut();
        }
        path.counters.data_packets_sent += 1;
        path.packet_sent(cx.now);
        if let Some(scheduler) = &mut self.scheduler {
            scheduler.on_sent(path.id, cx.now);
        }
    }

    /// Adds new chunks. The first one was admitted if its length is given.
    fn push_new(
        &mut self,
        cx: &mut SendCx<'_>,
        path: PathId,
        usable: PathSet,
        mut admitted: Option<u32>,
        packet: &mut PacketBuilder<'_>,
    ) {
        let rests = admitted.is_none() && self.rests(path, usable);
        if !usable.contains(path) || rests || self.paths[path].new_data_ban.is_active(cx.now) {
            return;
        }
        if self.chunk == UserDataChunk::IData {
            return self.push_new_interleaved(cx, path, usable, admitted, packet);
        }
        let mut asking = Asking { path, usable, bundled: None };
        while packet.fits_data(1) && self.outstanding.span() < MAX_SPAN {
            let is_admitted = admitted.is_some();
            let next = admitted.take().or_else(|| self.queue.peek(asking, self.max_fragment));
            let Some(user_bytes) = next else { break };
            if !packet.fits_data(user_bytes) {
                break;
            }
            if !is_admitted && !self.snapshot(cx, usable).admits_new(path, user_bytes) {
                break;
            }
            // New data follows the congestion window at the packet's start, but a closed receive window never gets a second probe.
            let Some(next) = self.queue.take(asking, self.max_fragment) else { break };
            asking.bundled = Some(next.stream);
            self.push_next::<false>(cx, path, next, packet);
        }
    }

    /// The same where messages are interleaved. Apart, so that nothing of it is in the way of DATA.
    #[inline(never)]
    fn push_new_interleaved(
        &mut self,
        cx: &mut SendCx<'_>,
        path: PathId,
        usable: PathSet,
        mut admitted: Option<u32>,
        packet: &mut PacketBuilder<'_>,
    ) {
        let mut asking = Asking { path, usable, bundled: None };
        while packet.fits_data(self.chunk.as_data(1)) && self.outstanding.span() < MAX_SPAN {
            let is_admitted = admitted.is_some();
            let next = admitted.take().or_else(|| self.queue.peek(asking, self.max_fragment));
            let Some(user_bytes) =
                next.filter(|bytes| packet.fits_data(self.chunk.as_data(*bytes)))
            else {
                break;
            };
            if !is_admitted && !self.snapshot(cx, usable).admits_new(path, user_bytes) {
                break;
            }
            let Some(next) = self.queue.take_interleaved(asking, self.max_fragment) else { break };
            asking.bundled = Some(next.stream);
            self.push_next::<true>(cx, path, next, packet);
        }
    }

    /// Adds a chunk that was taken from the queue.
    #[inline(always)]
    fn push_next<const INTERLEAVED: bool>(
        &mut self,
        cx: &mut SendCx<'_>,
        path: PathId,
        next: NextChunk,
        packet: &mut PacketBuilder<'_>,
    ) {
        let user_bytes = next.user_bytes;
        let mut flags = next.flags;
        if self.asks_for_sack(cx, path) {
            flags |= DataFlags::IMMEDIATE;
        }
        let counted = cx.config.policies.window.bytes_counted;
        let kind = if INTERLEAVED { UserDataChunk::IData } else { UserDataChunk::Data };
        let flight_bytes = flight_bytes(counted, kind, user_bytes);
        self.zero_window.on_sent();
        let (stream, number, ppid) = (next.stream, next.number, next.ppid);
        if self.outstanding.is_empty() && self.has_paused(cx.now) {
            self.busy_since = cx.now;
        }
        let tsn = self.outstanding.next_tsn();
        let payload = next.payload.clone();
        let chunk = match kind {
            UserDataChunk::Data => {
                Chunk::Data(Data { flags, tsn: tsn.0, stream, ssn: number as u16, ppid, payload })
            }
            UserDataChunk::IData => {
                let (mid, ppid_or_fsn) = (number, ppid);
                Chunk::IData(IData { flags, tsn: tsn.0, stream, mid, ppid_or_fsn, payload })
            }
        };
        packet.push_new(tsn, chunk, kind.as_data(user_bytes));
        // Built in its place in the call, since a chunk is large.
        self.outstanding.push(OutstandingChunk {
            payload: next.payload,
            flags,
            stream,
            number,
            ppid,
            path,
            fate: Fate::InFlight,
            history: History::empty(),
            transmissions: 1,
            missing_reports: 0,
            acked_over: path,
            sent_before: Tsn(0),
            flight_bytes,
            context: next.context,
            cost: next.cost,
            released_early: 0,
            sent_at: cx.now,
            reliability: next.reliability,
        });
        if matches!(next.reliability, Reliability::Priority(_)) {
            self.note_sent(tsn);
        }
        self.dependents.on_new(flags, user_bytes);
        self.note_chunk_sent(cx, path, tsn, user_bytes, TransmissionCause::New);
        let is_one_of_several = self.paths.is_several();
        let path = &mut self.paths[path];
        path.put_out(flight_bytes);
        path.last_asks_for_sack = flags.contains(DataFlags::IMMEDIATE);
        path.start_t3(cx.now, cx.config);
        if path.timed.is_none() {
            path.timed = Some(tsn);
        }
        let is_unmeasured = is_one_of_several && path.rtt.of_data().is_none();
        let makes_train = train_bytes_beside(cx.config, path) > 0;
        self.flush.train = makes_train.then_some(path.id);
        if is_unmeasured {
            let path = path.id;
            self.note_early(cx, path, tsn);
        }
    }

    /// Whether no path has sent data for longer than its retransmission timeout.
    fn has_paused(&self, now: Instant) -> bool {
        let last = |path: &SendPath| path.last_data_sent.map(|at| at + path.rtt.rto());
        self.paths.iter().filter_map(last).all(|end| end < now)
    }

    /// Whether the new chunk that was just taken from the queue asks for its SACK at once (RFC 7053).
    fn asks_for_sack(&self, cx: &SendCx<'_>, path: PathId) -> bool {
        let is_last = self.queue.is_empty() || self.gathers();
        match cx.config.policies.sack_request {
            SackRequest::AtShutdown => is_last && cx.phase == SendPhase::Draining,
            SackRequest::WhenNeeded => {
                is_last && !self.wants_buffer_space() || self.paths[path].timed.is_none()
            }
        }
    }

    /// Adds lost chunks whose target is this path.
    #[inline(never)]
    fn push_retransmissions(
        &mut self,
        cx: &mut SendCx<'_>,
        path: PathId,
        targets: &Targets,
        packet: &mut PacketBuilder<'_>,
    ) {
        let mut has_begun = false;
        while let Some((tsn, _)) = self.lowest_lost(targets, Some(path)) {
            let chunk = self.outstanding.get(tsn);
            let (user_bytes, flight_bytes, lost_on) =
                (chunk.user_bytes(), chunk.flight_bytes, chunk.path);
            let Fate::Lost(cause) = chunk.fate else { break };
            let taken = self.chunk.as_data(user_bytes);
            if !packet.fits_data(taken) {
                break;
            }
            let hurries = self.hurries_at_tail(cx);
            let also = if hurries { DataFlags::IMMEDIATE } else { DataFlags::empty() };
            let asks_for_sack = (chunk.flags | also).contains(DataFlags::IMMEDIATE);
            let data = chunk.to_chunk(self.chunk, tsn, also);
            if !has_begun {
                // One packet may ignore the congestion window (RFC 9260 sections 6.3.3 E3 and 7.2.4).
                self.paths[lost_on].free_retransmission = false;
                has_begun = true;
            }
            let (first, again) = self.outstanding.lowest_on(path);
            let is_earliest =
                [first, again].into_iter().flatten().all(|earliest| tsn.is_at_or_before(earliest));
            self.outstanding.retransmit(tsn, path, cx.now);
            if cx.config.policies.fast_retransmit.per_tsn == PerTsn::Multiple {
                self.outstanding.count_from_now(tsn);
            } else if cause == TransmissionCause::DropReport {
                self.remember_repair(tsn, path);
            }
            packet.push_data(data, taken);
            self.note_chunk_sent(cx, path, tsn, user_bytes, cause);
            let path = &mut self.paths[path];
            path.put_out(flight_bytes);
            path.last_asks_for_sack = asks_for_sack;
            if is_earliest {
                path.restart_t3(cx.now, cx.config);
            } else {
                path.start_t3(cx.now, cx.config);
            }
        }
    }

    /// The lowest lost chunk that has a target, or that has the target `only`.
    pub(super) fn lowest_lost(
        &self,
        targets: &Targets,
        only: Option<PathId>,
    ) -> Option<(Tsn, PathId)> {
        let mut lowest: Option<(Tsn, PathId)> = None;
        for (lost_on, target) in self.paths.ids().zip(targets) {
            let Some(target) = *target else { continue };
            if only.is_some_and(|only| only != target) {
                continue;
            }
            let Some(tsn) = self.outstanding.lowest_lost_on(lost_on) else { continue };
            if lowest.is_none_or(|(low, _)| tsn.is_before(low)) {
                lowest = Some((tsn, target));
            }
        }
        lowest.filter(|(tsn, _)| self.peer_keeps(*tsn))
    }

    /// Counts a chunk that was put into a packet.
    pub(super) fn note_chunk_sent(
        &mut self,
        cx: &mut SendCx<'_>,
        path: PathId,
        tsn: Tsn,
        user_bytes: u32,
        cause: TransmissionCause,
    ) {
        self.stats.data_chunks_sent += 1;
        if cause == TransmissionCause::New {
            self.last_new = path.0;
        }
        let counters = &mut self.paths[path].counters;
        counters.data_chunks_sent += 1;
        counters.data_bytes_sent += u64::from(user_bytes);
        match cause {
            TransmissionCause::New => self.dry_told = false,
            TransmissionCause::WindowProbe | TransmissionCause::Copy => {}
            TransmissionCause::Rescheduled => {
                counters.repairs.rescheduled_chunks += 1;
                self.stats.seldom.rescheduled_chunks += 1;
            }
            TransmissionCause::TailProbe => counters.repairs.tail_probes += 1,
            TransmissionCause::FastRetransmission => {
                counters.repairs.fast_retransmissions += 1;
                self.stats.seldom.fast_retransmissions += 1;
            }
            TransmissionCause::DropReport => {
                counters.repairs.reported_retransmissions += 1;
                self.stats.seldom.reported_retransmissions += 1;
            }
            TransmissionCause::TimerRetransmission => {
                counters.repairs.timeout_retransmissions += 1;
                self.stats.seldom.timeout_retransmissions += 1;
            }
        }
        if cause != TransmissionCause::New {
            self.paths[path].note_early_again(cx.now, tsn);
        }
        let is_repeated = !matches!(cause, TransmissionCause::New | TransmissionCause::Copy);
        if is_repeated {
            self.paths[path].note_returned(tsn);
        }
        if is_repeated && cx.config.policies.t3_restart == T3Restart::Smart {
            self.paths[path].record.retransmissions.push(tsn, cx.now);
        }
        if is_repeated
            && cx.config.policies.fast_retransmit.per_tsn == PerTsn::Multiple
            && cx.config.adapts_to_reordering()
        {
            self.paths[path].note_retransmitted(Transmission { at: cx.now, tsn });
        }
        cx.probe.on(cx.now, ProbeEvent::ChunkSent { path, tsn, cause });
    }
}
