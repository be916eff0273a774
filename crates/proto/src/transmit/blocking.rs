//! What keeps a slow path from blocking the others: new data stays away from it, and it pays where that was not enough.

use smallvec::SmallVec;

use super::decide::Snapshot;
use super::queue::Asking;
use super::send_path::SendPath;
use super::{SendCx, Transmitter};
use crate::config::{BlockingEstimation, EarliestCompletion, PathOrder};
use crate::congestion::{CorrectionCause, MeasuredRate};
use crate::mechanism::arrival::ArrivalTime;
use crate::mechanism::blocking_estimation::{
    self, KnownRate, MOST_TRIES, MeasuredPath, SlowPath, Waits, expected_rtt, leads, would_block,
};
use crate::mechanism::earliest_completion::{self, LoadedPath};
use crate::mechanism::loss_delay::LossDelay;
use crate::types::PathSet;
use crate::{BlockedCause, Duration, Instant, PathId};

impl Snapshot<'_> {
    /// Whether new data has to wait for a faster path, because it would block the buffers on this one.
    #[inline]
    pub(super) fn waits_for_faster(&self, path: PathId, user_bytes: u32) -> bool {
        self.compares_paths() && self.is_better_elsewhere(path, user_bytes)
    }

    #[inline(never)]
    fn is_better_elsewhere(&self, path: PathId, user_bytes: u32) -> bool {
        let policies = &self.config.policies;
        !self.tx.queue.names(path)
            && (policies.earliest_completion == EarliestCompletion::On
                && self.completes_sooner_elsewhere(path, user_bytes)
                || policies.blocking_estimation == BlockingEstimation::On
                    && self.would_block_faster(path, user_bytes))
    }

    fn would_block_faster(&self, path: PathId, user_bytes: u32) -> bool {
        let tx = self.tx;
        let own = &tx.paths[path];
        let others = || tx.paths.among(self.usable).filter(|it| it.id != path);
        let Some(view) = tx.measured(own, self.now) else {
            return self.has_to_be_measured(own, others().any(|it| it.rtt.of_data().is_some()));
        };
        if tx.paths.iter().all(|path| path.flight == 0) {
            return self.arrives_sooner_elsewhere(own, &view, user_bytes);
        }
        let buffer = self.buffer_that_blocks();
        if tx.has_all() && tx.queue.waiting() + tx.outstanding.in_flight_user_bytes() <= buffer {
            // Whatever arrives first, all of it has room.
            return false;
        }
        let chunk = user_bytes.into();
        let is_negligible =
            blocking_estimation::is_negligible(&view, others().filter_map(proven_rate));
        let arrival = match is_negligible {
            true => ArrivalTime::lossless(own.rtt.rto().max(view.srtt)),
            false => self.arrival(path, &view, own.on_the_way(self.now), chunk),
        };
        let view = MeasuredPath { arrival, ..view };
        // Nearly always none has a lower RTT by far enough, and then no more has to be known.
        let is_lower = |it: &&SendPath| {
            let srtt = it.rtt.of_data().map(|(srtt, _)| srtt);
            let is_lossy = view.losses.is_known() || it.record.loss_delay.is_known();
            srtt.is_some_and(|srtt| is_lossy || leads(srtt, arrival.rtt))
        };
        let carries_data = |it: &&SendPath| !tx.rests(it.id, self.usable);
        let mut leading = others().filter(is_lower).filter(carries_data).peekable();
        if leading.peek().is_none() {
            return false;
        }
        let mut faster: SmallVec<[MeasuredPath; 3]> = SmallVec::new();
        let own_flight = tx.outstanding.in_flight_on(path).user_bytes;
        // All that is in flight on paths that are no faster takes space from the faster ones.
        let mut in_flight = tx.outstanding.in_flight_user_bytes();
        let slow_path =
            |waits, buffer, in_flight| SlowPath { path: &view, in_flight, chunk, buffer, waits };
        let slow = slow_path(Waits::Everything, buffer, own_flight);
        for it in leading {
            let Some(view) = tx.measured(it, self.now) else { continue };
            let arrival = self.arrival(path, &view, it.on_the_way(self.now), chunk);
            let view = MeasuredPath { arrival, ..view };
            if view.leads(&slow) {
                let own = tx.outstanding.in_flight_on(it.id).user_bytes;
                in_flight = in_flight.saturating_sub(own);
                faster.push(view);
            }
        }
        if faster.is_empty() {
            return false;
        }
        let dependents = self.dependents(path);
        if is_negligible && dependents == u64::MAX && self.delays_all_for_little(path, view.srtt) {
            return true;
        }
        let blocks =
            |waits, buffer, in_flight| would_block(&slow_path(waits, buffer, in_flight), &faster);
        let blocks_receiver = match dependents {
            0 => blocks(Waits::Nothing, buffer, in_flight),
            _ => would_block(&slow, &faster),
        };
        blocks_receiver
            // The TSNs above a gap are counted, whether their data waits for it or not.
            || blocks(Waits::Everything, self.span_bytes(user_bytes), own_flight)
            // What is in flight leaves the send buffer with its own answer, whatever waits for it at the receiver.
            || tx.peer.acks_are_final && blocks(Waits::Nothing, tx.queue.limit(), in_flight)
    }

    /// Whether more on a path without a measured round trip has to wait until it has one, if another path has.
    fn has_to_be_measured(&self, own: &SendPath, is_another_measured: bool) -> bool {
        // One packet, or an answer to come, tells how long its round trip is. If so many did not, for their
        // acknowledgements took another path, it has to be tried.
        let is_probed = own.flight > 0 || self.book[own.id].heartbeat.outstanding.is_some();
        let tries = own.counters.data_bytes_acked / u64::from(self.tx.max_fragment.max(1));
        is_probed && !self.runs_ahead(own.id) && tries < MOST_TRIES && is_another_measured
    }

    /// Whether all ordered data would be delivered later because of a path that adds next to nothing and has this round-trip time: none of
    /// the paths that add something is as slow, and the transfer has not lasted long.
    fn delays_all_for_little(&self, path: PathId, srtt: Duration) -> bool {
        let tx = self.tx;
        if blocking_estimation::repays(srtt, self.now.since(tx.busy_since)) {
            return false;
        }
        let others = || {
            tx.paths.among(self.usable).filter(|it| it.id != path && !tx.rests(it.id, self.usable))
        };
        let rates = || others().filter_map(|it| Some((it, proven_rate(it)?)));
        let most = rates().map(|(_, rate)| rate).max().unwrap_or(0);
        let mut adding =
            rates().filter(|(_, rate)| !blocking_estimation::is_small_part(*rate, most));
        adding.all(|(it, _)| it.rtt.of_data().is_some_and(|(other, _)| leads(other, srtt)))
    }

    /// Whether all that remains is delivered on other paths before the chunk would arrive on this one. Those are paths that data has measured;
    /// this one may be better known to be slow than how slow.
    fn completes_sooner_elsewhere(&self, path: PathId, chunk: u32) -> bool {
        if !self.tx.has_all() {
            return false;
        }
        let own = &self.tx.paths[path];
        let load = |path: &SendPath, view| {
            let flight = path.on_the_way(self.now);
            LoadedPath { path: view, flight, wait: self.wait_for(path), pace: path.present_pace() }
        };
        let Some(view) = self.tx.quickest(own, self.now).map(|view| load(own, view)) else {
            return false;
        };
        let others = self.tx.paths.among(self.usable).filter(|it| {
            // A SACK will tell when it may send again.
            let is_awake = it.cwnd_admits() || it.flight > 0;
            it.id != own.id && is_awake && !self.keeps_off(it) && !self.is_kept_from(it.id, chunk)
        });
        let others = others.filter_map(|it| Some(load(it, self.tx.measured(it, self.now)?)));
        let remains = self.tx.queue.waiting();
        earliest_completion::completes_sooner(&view, chunk.into(), remains, others)
    }

    /// Whether the chunk waits for other paths rather than go over this one, so that no path may wait for it.
    fn is_kept_from(&self, path: PathId, chunk: u32) -> bool {
        self.config.policies.blocking_estimation == BlockingEstimation::On
            && self.would_block_faster(path, chunk)
    }

    /// Time until the path lets the next packet go: when the pace does, or when the oldest packet in flight should be answered.
    fn wait_for(&self, path: &SendPath) -> Duration {
        if path.cwnd_admits() {
            return Duration::ZERO;
        }
        if path.flight < path.congestion.cwnd {
            let due = path.pace_due();
            return if due == Instant::FAR_FUTURE { Duration::ZERO } else { due.since(self.now) };
        }
        let oldest = self.tx.lowest_outstanding(path.id);
        let answered = oldest.map(|tsn| self.tx.outstanding.get(tsn).sent_at + path.rtt.expected());
        answered.map_or(Duration::ZERO, |at| at.since(self.now))
    }

    /// Nothing is in flight, so that no answer will change anything: the chunk waits only for a path that would take it now and on
    /// which it arrives sooner. The best path never waits.
    fn arrives_sooner_elsewhere(&self, own: &SendPath, view: &MeasuredPath, chunk: u32) -> bool {
        let arrival = |view: &MeasuredPath| expected_rtt(view, 0, chunk.into());
        let own_arrival = arrival(view);
        self.tx
            .paths
            .among(self.usable)
            .filter(|it| it.id != own.id && it.cwnd_admits() && !self.keeps_off(it))
            .filter_map(|it| self.tx.measured(it, self.now))
            .any(|other| arrival(&other) < own_arrival)
    }

    /// Whether the paths for new data are compared by when it would arrive.
    fn compares_paths(&self) -> bool {
        let policies = &self.config.policies;
        (policies.blocking_estimation == BlockingEstimation::On
            || policies.earliest_completion == EarliestCompletion::On)
            && policies.path_order != PathOrder::Primary
            && self.usable.is_several()
    }

    /// The path whose congestion window is to be reduced: if buffers are what stops the path that would carry most alone, and a slower
    /// one has filled them, that one.
    fn path_that_blocks(&self) -> Option<PathId> {
        let tx = self.tx;
        if !self.compares_paths() || tx.outstanding.is_empty() {
            return None;
        }
        // What is known at once comes first: nearly always nobody pays.
        let lowest = tx.outstanding.get(tx.outstanding.base());
        let slow = &tx.paths[lowest.path];
        let mut others = tx.paths.among(self.usable).filter(|it| it.id != slow.id);
        if !slow.record.penalty_interval.is_over(self.now) || !others.any(SendPath::cwnd_admits) {
            return None;
        }
        let rtt = slow.rtt.srtt()?;
        let limit = self.span_bytes(tx.max_fragment);
        let buffer = tx.queue.limit().min(tx.receive_buffer()).min(limit);
        let views =
            tx.paths.among(self.usable).filter_map(|it| Some((it, tx.measured(it, self.now)?)));
        let (best, view) = views.max_by_key(|(_, view)| view.alone(buffer))?;
        let pays = slow.id != best.id
            && best.cwnd_admits()
            && !view.is_full()
            && view.has_lower_rtt_than(rtt)
            && self.is_held_up(best.id);
        pays.then_some(slow.id)
    }

    /// Whether a full buffer keeps the path from sending.
    fn is_held_up(&self, path: PathId) -> bool {
        if self.tx.queue.is_empty() {
            return self.tx.wants_buffer_space();
        }
        let asking = Asking { path, usable: self.usable, bundled: None };
        let next = self.tx.queue.peek(asking, self.tx.max_fragment);
        next.is_some_and(|user_bytes| !self.admits_new(path, user_bytes))
    }

    /// When a chunk would be there on a path with so much in flight, if all that would wait for the next chunk on `path` waits for it.
    fn arrival(&self, path: PathId, view: &MeasuredPath, flight: u64, chunk: u64) -> ArrivalTime {
        let rtt = expected_rtt(view, flight, chunk);
        if !view.losses.is_known() {
            return ArrivalTime::lossless(rtt);
        }
        // A lost chunk is found after a round trip of its path, and half a round trip of the fastest path later it is there, instead of after half a
        // round trip of its own.
        let repair = (view.smallest_rtt + self.fastest_repair()) / 2;
        let losses = view.losses.of(repair, self.chunks_that_wait(path, view.cwnd));
        ArrivalTime { rtt, losses, repair }
    }

    /// What losses add to the round trip of a path with this congestion window. A retransmission goes over the path with the lowest RTT, and
    /// the data that waits for the next chunk on `path`, as far as the buffers have room for it, would wait for that.
    #[inline]
    pub(super) fn loss_delay(&self, path: PathId, losses: &LossDelay, cwnd: u64) -> Duration {
        match losses.is_known() {
            true => losses.of(self.fastest_repair(), self.chunks_that_wait(path, cwnd)),
            false => Duration::ZERO,
        }
    }

    /// Chunks of a congestion window that would wait for the next chunk on `path`.
    fn chunks_that_wait(&self, path: PathId, cwnd: u64) -> u64 {
        let tx = self.tx;
        let dependents = self.dependents(path);
        let wanted = tx.queue.waiting() + tx.outstanding.in_flight_user_bytes();
        let window = wanted.min(self.buffer_that_blocks()).min(cwnd).min(dependents);
        window / u64::from(tx.max_fragment.max(1))
    }

    /// The round trip of a retransmission, which goes over the path with the lowest RTT.
    fn fastest_repair(&self) -> Duration {
        let srtts = self.tx.paths.among(self.usable).filter_map(|path| path.rtt.srtt());
        srtts.min().unwrap_or_default()
    }

    /// Size of the buffer that a chunk on a slow path fills.
    fn buffer_that_blocks(&self) -> u64 {
        // Non-renegable acknowledgements empty the send buffer.
        let receiver = self.tx.receive_buffer();
        match self.tx.peer.acks_are_final {
            true => receiver,
            false => receiver.min(self.tx.queue.limit()),
        }
    }

    /// Bytes that would wait for the next chunk on the path.
    fn dependents(&self, path: PathId) -> u64 {
        let asking = Asking { path, usable: self.usable, bundled: None };
        self.tx.queue.dependents(asking, self.tx.max_fragment)
    }
}

impl Transmitter {
    /// Nothing more can be sent: a path that blocks a faster one pays, once per round trip.
    #[inline]
    pub(crate) fn penalize_blocking_path(&mut self, cx: &mut SendCx<'_>) {
        if cx.config.policies.blocking_estimation == BlockingEstimation::On {
            self.search_blocking_path(cx);
        }
    }

    #[inline(never)]
    fn search_blocking_path(&mut self, cx: &mut SendCx<'_>) {
        let Some(slow) = self.snapshot(cx, cx.book.usable()).path_that_blocks() else { return };
        let slow = &mut self.paths[slow];
        slow.record.penalty_interval.begin(cx.now, slow.rtt.srtt().unwrap_or_default());
        let unit = slow.parameters().unit;
        let cwnd = blocking_estimation::penalized(slow.congestion.cwnd, unit);
        slow.correct(cx.now, CorrectionCause::Blocking, cwnd, None);
        cx.probe.on(cx.now, slow.congestion_event());
    }

    /// Why nothing can be sent now, in an association that is established.
    pub(crate) fn why_blocked(&self, cx: &SendCx<'_>) -> BlockedCause {
        let has_new = !self.queue.is_empty() && !self.gathers();
        if !has_new && self.outstanding.lost_count() == 0 {
            return match self.wants_buffer_space() {
                true => BlockedCause::SendBuffer,
                false => BlockedCause::Application,
            };
        }
        let usable = cx.book.usable();
        if usable.is_empty() {
            return BlockedCause::NoPath;
        }
        let eligible = match cx.config.policies.path_order {
            PathOrder::Primary => PathSet::of(cx.book.primary_or_stand_in(usable)),
            _ => usable,
        };
        let snapshot = self.snapshot(cx, usable);
        let cwnd_admits = self
            .paths
            .among(eligible)
            .any(|path| path.cwnd_admits() && !snapshot.waits_for_train(path));
        match cwnd_admits {
            true if self.peer_window_admits(self.max_fragment) => BlockedCause::BufferShare,
            true => BlockedCause::PeerWindow,
            false => BlockedCause::CongestionWindow,
        }
    }
}

/// What a path that data has measured carried at least.
pub(super) fn proven_rate(path: &SendPath) -> Option<u128> {
    let (srtt, _) = path.rtt.of_data()?;
    let rate = path.delivery_rate().map(known_rate);
    Some(blocking_estimation::proven(rate, path.congestion.cwnd, srtt))
}

fn known_rate(known: MeasuredRate) -> KnownRate {
    let bytes_per_second = known.rate.as_bits_per_second() / 8;
    KnownRate { bytes_per_second, is_final: known.is_final }
}

impl Transmitter {
    /// What is known of a path, once data has measured it: what small control chunks meet says little.
    pub(super) fn measured(&self, path: &SendPath, now: Instant) -> Option<MeasuredPath> {
        Some(self.with_rtt(path, path.rtt.of_data()?, now))
    }

    /// The same of a path that data has not measured, as far as control chunks tell: data takes at least as long.
    fn quickest(&self, path: &SendPath, now: Instant) -> Option<MeasuredPath> {
        let control = path.rtt.srtt().zip(path.rtt.smallest())?;
        Some(self.with_rtt(path, path.rtt.of_data().unwrap_or(control), now))
    }

    /// With this round-trip time, smoothed and the smallest.
    fn with_rtt(
        &self,
        path: &SendPath,
        (srtt, smallest_rtt): (Duration, Duration),
        now: Instant,
    ) -> MeasuredPath {
        let (cwnd, ssthresh) = (path.congestion.cwnd, path.congestion.ssthresh);
        let (rate, bottleneck) = (path.delivery_rate().map(known_rate), path.links_pass_on());
        let carries =
            rate.filter(|rate| rate.is_final).map(|rate| rate.bytes_per_second).or(bottleneck);
        MeasuredPath {
            cwnd,
            ssthresh,
            srtt,
            smallest_rtt,
            serialisation: path.rtt.serialisation(),
            rate,
            bottleneck,
            backlog: path.backlog_behind(now, carries),
            arrival: ArrivalTime::lossless(Duration::ZERO),
            losses: path.record.loss_delay,
            dependents: self.dependents.bytes(),
            chunk: path.max_chunk_payload().into(),
        }
    }
}
