//! Choosing and filling packets with DATA: retransmissions first, then new chunks.

use polypath_wire::{Chunk, DataFlags};
use smallvec::SmallVec;

use super::Association;
use super::packet_builder::PacketBuilder;
use super::state::State;
use crate::config::{
    Coupling, DataBeforeConfirmation, LossRateSource, PathFill, PathOrder, PerTsn,
    RetransmissionPath, T3Restart,
};
use crate::congestion::coupled::group::GroupViews;
use crate::congestion::path_fill;
use crate::mechanism::path_scheduler::{self, Order, Turn};
use crate::mechanism::reschedule::Ban;
use crate::mechanism::rtx_policy::{self, Attempt};
use crate::paths::{Path, charge};
use crate::probe::TransmissionCause;
use crate::transmit::outstanding::{History, MAX_SPAN, OutstandingChunk};
use crate::transmit::queue::Asking;
use crate::types::{Fate, PathSet};
use crate::{Cx, PathId, PathStatus, ProbeEvent, Tsn};

/// Where lost chunks go: for each path, the path that takes what was lost on it.
type Targets = SmallVec<[Option<PathId>; 4]>;

/// What holds while one packet is chosen and filled.
#[derive(Debug)]
pub(super) struct Round {
    /// Paths that can carry data.
    usable: PathSet,
    targets: Targets,
    /// The chunk at the tail that arrives earlier on another path, and that path.
    late: Option<(Tsn, PathId)>,
}

impl Round {
    /// Paths that can carry data.
    pub(super) fn usable(&self) -> PathSet {
        self.usable
    }
}

impl Association {
    /// The path on which a packet with DATA can go now.
    pub(super) fn next_data_path(&self, cx: &mut Cx<'_>, round: &Round) -> Option<PathId> {
        if !self.state.may_send_data() {
            return None;
        }
        if let Some((_, path)) = self.chunk_to_move(cx.now, round.usable) {
            return Some(path);
        }
        let retransmission = self.lowest_lost(&round.targets, None).map(|(_, target)| target);
        let path = retransmission.or_else(|| self.new_data_path(cx, round.usable));
        path.or(round.late.map(|(_, path)| path))
    }

    /// Puts DATA chunks for `path` into the packet until it is full or nothing may be sent.
    pub(super) fn fill_with_data(
        &mut self,
        cx: &mut Cx<'_>,
        path: PathId,
        round: &Round,
        packet: &mut PacketBuilder<'_>,
    ) {
        self.fill_with_moved(cx, path, round.usable, packet);
        self.fill_with_retransmissions(cx, path, &round.targets, packet);
        if self.paths[path].has_window() || packet.has_data() {
            self.fill_with_new(cx, path, round.usable, packet);
        }
        if round.late.is_some() {
            self.fill_with_late(cx, path, round.usable, packet);
        }
        if packet.has_data() {
            self.note_data_packet(cx, path);
        }
    }

    /// A packet with DATA goes over the path.
    pub(super) fn note_data_packet(&mut self, cx: &Cx<'_>, path: PathId) {
        self.sender.transmissions += 1;
        self.sender.last_served = path.0;
        self.flush.serving = Some(path);
        let rank = self.sender.transmissions;
        let path = &mut self.paths[path];
        path.transmission_rank = rank;
        path.last_data_sent = Some(cx.now);
        path.tail_probe.rest();
        path.counters.data_packets_sent += 1;
    }

    /// Paths that can carry data: the active ones; with none of them the best of the potentially failed; with none
    /// of these the confirmed path with the fewest errors, so that a dormant association still probes (RFC 9260 section
    /// 8.2; RFC 7829 section 4.1).
    pub(super) fn usable_paths(&self) -> PathSet {
        let active = self
            .paths
            .iter()
            .filter(|path| path.reach.is_active())
            .map(|path| path.id)
            .collect::<PathSet>();
        if !active.is_empty() {
            return active;
        }
        if let Some(suspect) = self.least_suspect() {
            return PathSet::of(suspect);
        }
        let stand_in = self
            .paths
            .iter()
            .filter(|path| path.reach.is_confirmed())
            .min_by_key(|path| path.errors);
        stand_in.map_or(PathSet::EMPTY, |path| PathSet::of(path.id))
    }

    /// What a coupled congestion control knows of each path's group; empty where nothing is coupled.
    pub(super) fn group_views(&self) -> GroupViews {
        let policies = &self.config.policies;
        match policies.congestion.coupling() {
            Coupling::None => GroupViews::default(),
            _ => self.paths.group_views(&policies.path_groups, self.usable_paths()),
        }
    }

    /// The primary path, or while it cannot carry data the next one that can.
    pub(super) fn primary_or_stand_in(&self, usable: PathSet) -> PathId {
        let is_usable = |path: &PathId| usable.contains(*path);
        if is_usable(&self.primary) {
            return self.primary;
        }
        let after = self.paths.ids().filter(|path| path.0 > self.primary.0).find(is_usable);
        after.or_else(|| self.paths.ids().find(is_usable)).unwrap_or(self.primary)
    }

    fn new_data_path(&self, cx: &mut Cx<'_>, usable: PathSet) -> Option<PathId> {
        if self.sender.queue.is_empty() || self.sender.window.span() >= MAX_SPAN {
            return None;
        }
        let policies = &self.config.policies;
        if policies.rto.data_before_confirmation == DataBeforeConfirmation::Off
            && self.paths.iter().any(|path| path.status() == PathStatus::Unconfirmed)
        {
            return None;
        }
        if !self.paths.iter().any(|path| usable.contains(path.id) && path.has_window()) {
            return None;
        }
        let now = cx.now;
        let sendable = |id: &PathId| {
            let path = &self.paths[*id];
            path.has_window() && path.ban_at(now) == Ban::Off && self.next_chunk_fits(*id, usable)
        };
        let order = self.path_order(cx, usable);
        let serving = match policies.path_fill {
            PathFill::PacketByPacket => None,
            PathFill::FillWindow => self.flush.serving,
            PathFill::Runs => self.flush.run,
        };
        if let Some(serving) = serving
            && order.contains(serving)
            && sendable(&serving)
        {
            return Some(serving);
        }
        let chosen = order.paths().find(|path| self.next_chunk_fits(*path, usable));
        // A message that names a path may use it even where the order does not.
        chosen.or_else(|| {
            let rest =
                self.paths.ids().filter(|path| usable.contains(*path) && !order.contains(*path));
            rest.filter(|path| self.sender.queue.names(*path)).find(sendable)
        })
    }

    /// The usable paths in order, without those that have no window: they need no place.
    fn path_order(&self, cx: &mut Cx<'_>, usable: PathSet) -> Order {
        let policy = self.config.policies.path_order;
        let turn = Turn {
            primary: self.primary_or_stand_in(usable).0,
            last_served: self.sender.last_served,
        };
        let mut order = Order::default();
        for path in self.paths.iter().filter(|path| usable.contains(path.id)) {
            let lot = if policy == PathOrder::Random { cx.rng.next_u32() } else { 0 };
            if !path.has_window()
                || path.ban_at(cx.now) == Ban::On
                || self.gathers_a_run(path, usable)
            {
                continue;
            }
            let candidate = path_scheduler::Candidate {
                index: path.id.0,
                last_transmission: path.last_transmission(self.config.policies.path_fill),
                free_window: path.window.cwnd.saturating_sub(path.flight),
                ssthresh: path.window.ssthresh,
                srtt: path.rtt.srtt(),
                lot,
            };
            if let Some(rank) = path_scheduler::rank(policy, &candidate, turn) {
                order.add(rank, path.id.0);
            }
        }
        order
    }

    /// Bytes beside those of one packet that make a run on the path; 0 where it makes none.
    fn gathered(&self, path: &Path) -> u64 {
        let policies = &self.config.policies;
        if policies.path_fill != PathFill::Runs || policies.path_order == PathOrder::Primary {
            return 0;
        }
        let unit = path.congestion_parameters(&self.config).unit;
        path_fill::gathered(policies.path_fill, path.flight, unit)
    }

    /// Whether the path waits until its window has room for a run. Where the window is being reduced, or the run has
    /// begun, it does not.
    pub(super) fn gathers_a_run(&self, path: &Path, usable: PathSet) -> bool {
        let gathered = self.gathered(path);
        if gathered == 0
            || path.flight.saturating_add(gathered) < path.window.cwnd
            || self.flush.run == Some(path.id)
            || path.reduction.is_under_way()
        {
            return false;
        }
        let Some(srtt) = path.rtt.srtt() else { return false };
        let mut others = self.paths.iter().filter(|other| usable.contains(other.id));
        others.any(|other| other.rtt.srtt().is_some_and(|it| path_fill::leaves_holes(srtt, it)))
    }

    fn next_chunk_fits(&self, path: PathId, usable: PathSet) -> bool {
        let asking = Asking { path, usable, bundled: None };
        let next = self.sender.queue.peek(asking, self.max_fragment);
        next.is_some_and(|user_bytes| self.admits_new(path, usable, user_bytes))
    }

    fn fill_with_new(
        &mut self,
        cx: &mut Cx<'_>,
        path: PathId,
        usable: PathSet,
        packet: &mut PacketBuilder<'_>,
    ) {
        if !usable.contains(path) || self.paths[path].ban_at(cx.now) == Ban::On {
            return;
        }
        let mut asking = Asking { path, usable, bundled: None };
        while packet.fits_data(1) && self.sender.window.span() < MAX_SPAN {
            let Some(user_bytes) = self.sender.queue.peek(asking, self.max_fragment) else { break };
            if !packet.fits_data(user_bytes) || !self.admits_new(path, usable, user_bytes) {
                break;
            }
            // The rule for new data is the window of the packet's start, but never a second probe of a closed window.
            let Some(next) = self.sender.queue.take(asking, self.max_fragment) else { break };
            asking.bundled = Some(next.stream);
            let mut flags = next.flags;
            if matches!(self.state, State::ShutdownPending) && self.sender.queue.is_empty() {
                flags |= DataFlags::IMMEDIATE;
            }
            let charge = charge(self.config.policies.window.bytes_counted, user_bytes);
            let chunk = OutstandingChunk {
                payload: next.payload,
                flags,
                stream: next.stream,
                ssn: next.ssn,
                ppid: next.ppid,
                path,
                fate: Fate::InFlight,
                history: History::empty(),
                transmissions: 1,
                missing_reports: 0,
                acked_over: path,
                sent_before: Tsn(0),
                charge,
                context: next.context,
                held: next.held,
                kept: 0,
                sent_at: cx.now,
                reliability: next.reliability,
            };
            self.sender.zero_window.on_sent();
            let data = chunk.to_data(self.sender.window.next_tsn());
            let tsn = self.sender.window.push(chunk);
            self.sender.note_sent(tsn);
            packet.push_data(Chunk::Data(data), user_bytes);
            self.note_chunk_sent(cx, path, tsn, user_bytes, TransmissionCause::New);
            let path = &mut self.paths[path];
            path.put_out(charge);
            path.start_t3(cx.now);
            if path.timed.is_none() {
                path.timed = Some(tsn);
            }
            self.flush.run = Some(path.id).filter(|path| self.gathered(&self.paths[*path]) > 0);
        }
    }

    fn fill_with_retransmissions(
        &mut self,
        cx: &mut Cx<'_>,
        path: PathId,
        targets: &Targets,
        packet: &mut PacketBuilder<'_>,
    ) {
        let mut began = Began::No;
        while let Some((tsn, _)) = self.lowest_lost(targets, Some(path)) {
            let chunk = self.sender.window.get(tsn);
            let (user_bytes, charge, lost_on) = (chunk.user_bytes(), chunk.charge, chunk.path);
            let Fate::Lost(cause) = chunk.fate else { break };
            if !packet.fits_data(user_bytes) {
                break;
            }
            let mut data = chunk.to_data(tsn);
            if self.hurries_at_tail() {
                data.flags |= DataFlags::IMMEDIATE;
            }
            if began == Began::No {
                // One packet may ignore the window (RFC 9260 sections 6.3.3 E3 and 7.2.4).
                self.paths[lost_on].free_retransmission = false;
                began = Began::Yes;
            }
            let (first, again) = self.sender.window.lowest_on(path);
            let is_earliest =
                [first, again].into_iter().flatten().all(|earliest| tsn.is_at_or_before(earliest));
            self.sender.window.retransmit(tsn, path, cx.now);
            if self.config.policies.fast_retransmit.per_tsn == PerTsn::Multiple {
                self.sender.window.count_from_now(tsn);
            } else if cause == TransmissionCause::DropReport {
                self.remember_repair(tsn, path);
            }
            packet.push_data(Chunk::Data(data), user_bytes);
            self.note_chunk_sent(cx, path, tsn, user_bytes, cause);
            let path = &mut self.paths[path];
            path.put_out(charge);
            if is_earliest {
                path.restart_t3(cx.now);
            } else {
                path.start_t3(cx.now);
            }
        }
    }

    /// Looks at the paths before a packet is chosen.
    pub(super) fn begin_round(&mut self, cx: &mut Cx<'_>) -> Round {
        let usable = self.usable_paths();
        let targets = match self.sender.window.lost_count() {
            0 => Targets::new(),
            _ => self.retransmission_targets(cx, usable),
        };
        let late = self.late_chunk(cx.now, usable);
        Round { usable, targets, late }
    }

    /// Which path takes what was lost on each path; `None` where it has to wait. Ties are broken at random, so one
    /// packet is chosen and filled with one answer.
    fn retransmission_targets(&self, cx: &mut Cx<'_>, usable: PathSet) -> Targets {
        let policy = &self.config.policies.retransmission;
        let candidates = self.retransmission_candidates(cx, usable);
        let lost = u64::from(self.sender.window.lost_count());
        let lost_bytes = lost * u64::from(self.max_fragment);
        self.paths
            .ids()
            .map(|lost_on| {
                let tsn = self.sender.window.lowest_lost_on(lost_on)?;
                let chunk = self.sender.window.get(tsn);
                let (chosen, attempt) = match chunk.fate {
                    Fate::Lost(TransmissionCause::TimerRetransmission) => {
                        let again = chunk.history.contains(History::TIMER_RETRANSMITTED);
                        (policy.timer, if again { Attempt::Repeated } else { Attempt::First })
                    }
                    // What was merely damaged does not leave its path.
                    Fate::Lost(TransmissionCause::DropReport) => {
                        (RetransmissionPath::Same, Attempt::First)
                    }
                    _ => (policy.fast, Attempt::First),
                };
                let order = rtx_policy::preference(
                    chosen,
                    policy.repeated,
                    attempt,
                    &candidates,
                    lost_on.0,
                );
                let damaged = chunk.fate == Fate::Lost(TransmissionCause::DropReport);
                let tried = match damaged {
                    true => 1,
                    false => rtx_policy::asked(policy.no_window, &order, &candidates, lost_bytes),
                };
                if self.paths[lost_on].free_retransmission {
                    return order.first().map(|&index| PathId(index));
                }
                order
                    .iter()
                    .take(tried)
                    .map(|&index| PathId(index))
                    .find(|path| self.paths[*path].has_window())
            })
            .collect()
    }

    fn retransmission_candidates(
        &self,
        cx: &mut Cx<'_>,
        usable: PathSet,
    ) -> SmallVec<[rtx_policy::Candidate; 4]> {
        let policy = &self.config.policies.retransmission;
        let candidate = |path: &Path| rtx_policy::Candidate {
            index: path.id.0,
            cwnd: path.window.cwnd,
            ssthresh: path.window.ssthresh,
            errors: path.errors,
            has_window: path.has_window(),
            srtt: path.rtt.srtt(),
            loss_ppm: match policy.loss_rate {
                LossRateSource::Measured => path.loss_rate.measured_ppm(),
                LossRateSource::Oracle => path.loss_rate.oracle_ppm(),
            },
            lot: 0,
        };
        let usable = self.paths.iter().filter(|path| usable.contains(path.id));
        let mut candidates: SmallVec<[_; 4]> = usable.map(candidate).collect();
        let wants_lots =
            rtx_policy::wants_lots(policy.fast) || rtx_policy::wants_lots(policy.timer);
        if candidates.len() > 1 && wants_lots {
            candidates.iter_mut().for_each(|candidate| candidate.lot = cx.rng.next_u32());
        }
        candidates
    }

    /// The lowest lost chunk that has a target, or that has the target `only`.
    fn lowest_lost(&self, targets: &Targets, only: Option<PathId>) -> Option<(Tsn, PathId)> {
        let mut lowest: Option<(Tsn, PathId)> = None;
        for (lost_on, target) in self.paths.ids().zip(targets) {
            let Some(target) = *target else { continue };
            if only.is_some_and(|only| only != target) {
                continue;
            }
            let Some(tsn) = self.sender.window.lowest_lost_on(lost_on) else { continue };
            if lowest.is_none_or(|(low, _)| tsn.is_before(low)) {
                lowest = Some((tsn, target));
            }
        }
        lowest
    }

    pub(super) fn note_chunk_sent(
        &mut self,
        cx: &mut Cx<'_>,
        path: PathId,
        tsn: Tsn,
        user_bytes: u32,
        cause: TransmissionCause,
    ) {
        self.stats.data_chunks_sent += 1;
        let counters = &mut self.paths[path].counters;
        counters.data_chunks_sent += 1;
        counters.data_bytes_sent += u64::from(user_bytes);
        match cause {
            TransmissionCause::New => self.sender.dry_told = false,
            TransmissionCause::WindowProbe => {}
            TransmissionCause::Rescheduled => {
                counters.rescheduled_chunks += 1;
                self.stats.rescheduled_chunks += 1;
            }
            TransmissionCause::TailProbe => counters.tail_probes += 1,
            TransmissionCause::FastRetransmission => {
                counters.fast_retransmissions += 1;
                self.stats.fast_retransmissions += 1;
            }
            TransmissionCause::DropReport => {
                counters.reported_retransmissions += 1;
                self.stats.reported_retransmissions += 1;
            }
            TransmissionCause::TimerRetransmission => {
                counters.timeout_retransmissions += 1;
                self.stats.timeout_retransmissions += 1;
            }
        }
        if cause != TransmissionCause::New && self.config.policies.t3_restart == T3Restart::Smart {
            self.paths[path].retransmissions.push(tsn, cx.now);
        }
        cx.probe.on(cx.now, ProbeEvent::ChunkSent { path, tsn, cause });
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Began {
    Yes,
    No,
}
