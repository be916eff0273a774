//! What a SACK proves to be lost: by missing reports (RFC 9260 section 7.2.4), or by the time that has gone by (RFC 8985).

use smallvec::SmallVec;

use super::recovery::Losses;
use super::send_path::SendPath;
use super::{SendCx, Transmitter};
use crate::config::{DacCount, FastRecoveryScope, MissingReports, Policies, SplitFastRetransmit};
use crate::mechanism::dac::{self, DacView};
use crate::mechanism::multiple_fast_rtx::{self, RepeatView};
use crate::mechanism::reordering::{Reordering, RoundTrips, Transmission};
use crate::mechanism::sfr::{self, SfrView};
use crate::mechanism::smart_fast_rtx;
use crate::mechanism::tail_reinjection;
use crate::transmit::outstanding::{History, OutstandingChunk};
use crate::transmit::sack::{AckDelta, Silence, Unnamed};
use crate::types::{Fate, PathSet};
use crate::{Duration, Instant, LossDetection, PathId, ProbeEvent, Tsn};

/// As many missing reports as there can be: the chunk is overdue.
const OVERDUE: u8 = u8::MAX;

/// What a SACK that acknowledges something says about chunks that it does not name.
struct Evidence<'a> {
    policies: &'a Policies,
    delta: &'a AckDelta,
    dac: DacView,
    now: Instant,
    /// The round-trip time of each path where what is overdue is lost.
    srtt: SmallVec<[Option<Duration>; 4]>,
    /// The shortest time in which each path was answered, where its order is watched. What was sent later, and is acknowledged before
    /// that time is over, arrived as a copy on another path.
    soonest: SmallVec<[Option<Duration>; 4]>,
}

impl Evidence<'_> {
    /// How many missing reports it is for a chunk, if it is any.
    fn against(&self, tsn: Tsn, chunk: &OutstandingChunk, unnamed: Unnamed) -> Option<u8> {
        let policies = self.policies;
        let news = &self.delta.paths[chunk.path.index()];
        let repeat = RepeatView {
            transmissions: chunk.transmissions,
            sent_before: chunk.sent_before,
            highest_newly_acked_on_path: smart_fast_rtx::highest(policies.smart_fast_rtx, news),
        };
        if !multiple_fast_rtx::reports_missing(policies.fast_retransmit.per_tsn, &repeat) {
            return None;
        }
        let age = self.now.since(chunk.sent_at);
        if self.soonest[chunk.path.index()].is_some_and(|soonest| age < soonest) {
            return None;
        }
        if unnamed == Unnamed::Doubtful {
            return Some(1);
        }
        let overdue_at =
            |srtt| tail_reinjection::overdue_at(chunk.sent_at, srtt, None, Duration::ZERO);
        if self.srtt[chunk.path.index()].is_some_and(|srtt| overdue_at(srtt) <= self.now) {
            return Some(OVERDUE);
        }
        Some(dac::missing_report_weight(policies.delayed_ack.count, &self.dac, tsn))
    }
}

/// Chunks that a SACK does not name, and that may be missing: those of the path, or of all where their orders are not split.
struct Holes {
    path: PathId,
    first: Tsn,
    /// The first TSN beyond.
    end: Tsn,
}

/// What tells late chunks of a path from others.
struct LateJudge {
    order: Reordering,
    rtts: RoundTrips,
    now: Instant,
    /// When the first chunk is lost that has time left.
    due: Instant,
}

/// What it says of a chunk.
enum Verdict {
    /// It is lost.
    Late,
    /// It has time left, and so has all that was sent later.
    InTime,
}

impl LateJudge {
    fn verdict(&mut self, sent: Transmission) -> Verdict {
        if !self.order.has_passed(&sent) {
            return Verdict::InTime;
        }
        let lost_at = self.order.lost_at(sent.at, self.rtts);
        if lost_at > self.now {
            self.due = self.due.min(lost_at);
            return Verdict::InTime;
        }
        Verdict::Late
    }
}

impl Transmitter {
    /// Counts missing reports and marks what is lost. Returns the paths that lost something.
    #[inline(never)]
    pub(super) fn count_missing(
        &mut self,
        cx: &mut SendCx<'_>,
        cumulative: Tsn,
        flags: u8,
        delta: &AckDelta,
        silence: &Silence,
    ) -> PathSet {
        let mut lost_on = PathSet::EMPTY;
        let Some(lowest_newly_acked) = delta.lowest_newly_acked else { return lost_on };
        let config = cx.config;
        let policies = &config.policies;
        let packets = dac::count_in_flags(flags);
        let (paths_with_news, lowest_newly_acked) = match policies.delayed_ack.count {
            DacCount::SackFlagsInGaps => delta.gap_news().unwrap_or((0, lowest_newly_acked)),
            _ => (delta.paths_with_news(), lowest_newly_acked),
        };
        let dac = DacView { paths_with_news, lowest_newly_acked, packets };
        let srtt = self.round_trips_that_count(cx);
        let soonest = self.paths.iter().map(SendPath::soonest_answer).collect();
        let evidence = Evidence { policies, delta, dac, now: cx.now, srtt, soonest };
        let split = policies.fast_retransmit.split;
        let mut view = self.holes_that_count(cx, delta);
        for path in self.paths.ids() {
            view.highest_newly_acked_on_path =
                smart_fast_rtx::highest(policies.smart_fast_rtx, &delta.paths[path.index()]);
            if let Some(highest) = view.highest_newly_acked_on_path {
                self.paths[path].count_repaired_again(&mut self.outstanding, highest);
            }
            if split == SplitFastRetransmit::Sfr && !self.paths[path].counts_reports() {
                continue;
            }
            let Some(end) = sfr::missing_before(split, &view) else { continue };
            let holes = Holes { path, first: cumulative.next(), end };
            lost_on = lost_on.union(self.count_in(cx, &evidence, silence, holes));
            if split == SplitFastRetransmit::Off {
                break;
            }
        }
        lost_on
    }

    /// Counts missing reports among these holes, and marks what is lost.
    fn count_in(
        &mut self,
        cx: &mut SendCx<'_>,
        evidence: &Evidence<'_>,
        silence: &Silence,
        holes: Holes,
    ) -> PathSet {
        let fast_retransmit = &evidence.policies.fast_retransmit;
        let Holes { path, first: mut from, end } = holes;
        let mut lost_on = PathSet::EMPTY;
        while let Some(tsn) = match fast_retransmit.split {
            SplitFastRetransmit::Sfr => self.outstanding.next_countable_on(path, from, end),
            SplitFastRetransmit::Off => self.outstanding.next_countable(from, end),
        } {
            let unnamed = silence.around(tsn);
            if let Unnamed::Silent(end) = unnamed {
                from = end;
                continue;
            }
            from = tsn.next();
            let chunk = self.outstanding.get_mut(tsn);
            let Some(reports) = evidence.against(tsn, chunk, unnamed) else { continue };
            chunk.missing_reports = chunk.missing_reports.saturating_add(reports);
            if chunk.missing_reports < fast_retransmit.threshold {
                continue;
            }
            let detection = match reports {
                OVERDUE => LossDetection::Overdue,
                _ => LossDetection::MissingReports,
            };
            if let Some(path) = self.mark_lost(cx.now, tsn, detection.cause()) {
                cx.probe.on(cx.now, ProbeEvent::ChunkLost { path, tsn, detection });
                self.paths[path].record.on_lost();
                lost_on.insert(path);
            }
        }
        lost_on
    }

    /// Marks what is late, by a reordering window that adapts. Returns the paths that lost something.
    #[inline]
    pub(super) fn late_after_sack(&mut self, cx: &mut SendCx<'_>) -> PathSet {
        match cx.config.adapts_to_reordering() {
            true => self.find_late(cx),
            false => PathSet::EMPTY,
        }
    }

    #[inline(never)]
    fn find_late(&mut self, cx: &mut SendCx<'_>) -> PathSet {
        let mut lost_on = PathSet::EMPTY;
        for id in self.paths.ids() {
            if self.paths[id].end_sack() && self.mark_late(cx, id) {
                lost_on.insert(id);
            }
        }
        lost_on
    }

    /// The reordering window of a path has run out for a chunk, and no SACK came.
    pub(crate) fn on_late(&mut self, cx: &mut SendCx<'_>, id: PathId) {
        if self.mark_late(cx, id) {
            let groups = self.group_views(cx);
            let lost_on = Losses { reported: PathSet::of(id), ..Losses::default() };
            self.reduce_cwnds(cx, lost_on, &groups);
            self.settle(id);
        }
    }

    /// The peer took acknowledgements back: what is in flight again is watched as retransmissions are. Goes over all that is
    /// outstanding, so it is only for rare events.
    #[cold]
    pub(super) fn watch_reneged(&mut self) {
        let mut from = self.outstanding.base();
        while let Some(tsn) = self.outstanding.next_unacked(from, self.outstanding.next_tsn()) {
            let chunk = self.outstanding.get(tsn);
            if chunk.history.contains(History::RENEGED) && chunk.fate == Fate::InFlight {
                self.paths[chunk.path].watch_again(Transmission { at: chunk.sent_at, tsn });
            }
            from = tsn.next();
        }
    }

    /// Marks those chunks of a path lost that something sent later has passed, and whose time is over; notes when that of the
    /// next one is. Returns whether there were any.
    ///
    /// Chunks that were sent once and retransmissions are both looked at in the order of sending, up to the first that has
    /// time left.
    fn mark_late(&mut self, cx: &mut SendCx<'_>, id: PathId) -> bool {
        let path = &mut self.paths[id];
        let rtts = path.round_trips();
        let arrivals = path.arrivals_mut();
        let mut retransmitted = core::mem::take(&mut arrivals.retransmitted);
        let mut judge =
            LateJudge { order: arrivals.order, rtts, now: cx.now, due: Instant::FAR_FUTURE };
        let mut is_any = false;
        let mut from = self.outstanding.base();
        while let Some(tsn) = self.outstanding.next_sent_once_on(id, from) {
            let sent = Transmission { at: self.outstanding.get(tsn).sent_at, tsn };
            match judge.verdict(sent) {
                Verdict::Late => is_any |= self.lose_late(cx, id, tsn),
                Verdict::InTime => break,
            }
            from = tsn.next();
        }
        while let Some(&sent) = retransmitted.front() {
            if !self.outstanding.is_in_flight(sent, id) {
                retransmitted.pop_front();
                continue;
            }
            match judge.verdict(sent) {
                Verdict::Late => {
                    is_any |= self.lose_late(cx, id, sent.tsn);
                    retransmitted.pop_front();
                }
                Verdict::InTime => break,
            }
        }
        let due = judge.due;
        let arrivals = self.paths[id].arrivals_mut();
        (arrivals.retransmitted, arrivals.due) = (retransmitted, due);
        is_any
    }

    fn lose_late(&mut self, cx: &mut SendCx<'_>, path: PathId, tsn: Tsn) -> bool {
        let detection = LossDetection::Overdue;
        let is_lost = self.mark_lost(cx.now, tsn, detection.cause()).is_some();
        if is_lost {
            cx.probe.on(cx.now, ProbeEvent::ChunkLost { path, tsn, detection });
            self.paths[path].record.on_lost();
        }
        is_lost
    }

    /// The round-trip time of each path, where what is overdue is lost.
    fn round_trips_that_count(&self, cx: &SendCx<'_>) -> SmallVec<[Option<Duration>; 4]> {
        let srtt = |path: &SendPath| match cx.config.policies.fast_retransmit.reports {
            MissingReports::PerSack | MissingReports::Adaptive => None,
            MissingReports::Overdue => path.rtt.srtt(),
        };
        self.paths.iter().map(srtt).collect()
    }

    fn holes_that_count(&self, cx: &SendCx<'_>, delta: &AckDelta) -> SfrView {
        let in_recovery = match cx.config.policies.fast_recovery {
            FastRecoveryScope::AssociationWide => self.recovery.is_active(),
            FastRecoveryScope::PerPath => false,
        };
        SfrView {
            highest_newly_acked_on_path: None,
            highest_newly_acked: delta.highest_newly_acked,
            highest_gap_acked: delta.highest_gap_acked,
            every_hole: in_recovery && delta.cumulative_ack_advanced,
        }
    }
}
