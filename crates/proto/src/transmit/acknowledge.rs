//! The sender's side of a SACK, in the one order that everything else relies on.

use polypath_wire::{DuplicateTsns, GapAckBlocks, NrSack, Sack};
use smallvec::SmallVec;

use super::effects::{Delivered, Effect};
use super::peer_limit::SackSigns;
use super::recovery::Losses;
use super::send_path::{AckOrigin, SendPath};
use super::tail::Answered;
use super::{SendCx, Transmitter};
use crate::config::{CwndUpdate, DataCopies, LossDelays, StaleSack};
use crate::congestion::burst;
use crate::congestion::recovery::PseudoCumulative;
use crate::extension::nr_sack::{self, Disordered, Release};
use crate::mechanism::copies::{self, Copies};
use crate::mechanism::cuc::{self, CucView, LowEnd};
use crate::mechanism::slow_path_rtt::{self, Awaited, Awaiting, Measure, Return};
use crate::transmit::outstanding::{History, Newly};
use crate::transmit::sack::{self, AckDelta, Report, SackProblem, SackVerdict, Silence, Withdrawn};
use crate::types::{PathDelta, PathSet, Unambiguous};
use crate::{Duration, Event, Instant, PathId, ProbeEvent, Tsn};

/// A path as a SACK finds and leaves it, beside what it acknowledges there.
#[derive(Clone, Copy)]
pub(super) struct AckedPath {
    pub(super) before: Before,
    pub(super) order: PathProgress,
}

/// Low end and flight of a path before the SACK.
#[derive(Clone, Copy)]
pub(super) struct Before {
    first: Option<Tsn>,
    again: Option<Tsn>,
    pub(super) flight: u64,
}

/// What the SACK did to a path's order.
#[derive(Clone, Copy)]
pub(super) struct PathProgress {
    pub(super) advanced: bool,
    earliest_acked: bool,
    pub(super) pseudo_cumulative: PseudoCumulative,
}

/// What brings an acknowledgement: a SACK or NR-SACK, or the cumulative ack of a SHUTDOWN, which says nothing about gaps
/// and receive window.
#[derive(Clone, Copy)]
pub(super) enum Acknowledgement {
    Sack { flags: u8, a_rwnd: u32, has_duplicates: bool },
    Shutdown,
}

impl Acknowledgement {
    fn has_duplicates(self) -> bool {
        matches!(self, Self::Sack { has_duplicates: true, .. })
    }
}

/// What became of an acknowledgement.
#[derive(Debug)]
pub(crate) enum AckOutcome {
    /// It was applied.
    Applied,
    /// It is older than one that was applied.
    Stale,
    /// It cannot be right.
    Refused(SackProblem),
}

/// What a SACK acknowledges, for tail probes.
#[derive(Clone, Copy, Default)]
struct Heard {
    /// Paths of which something arrived that was no probe.
    of: PathSet,
    answered: Option<Answered>,
    /// A probe arrived, or a copy of its chunk: what else was lost stays unknown, and takes another probe.
    is_unclear: bool,
    /// A chunk of another path than that of the SACK, which also went over this one, maybe: its copy may have brought the SACK.
    may_answer_copy: bool,
}

impl Heard {
    #[inline]
    fn note(&mut self, newly: &Newly, arrival: PathId) {
        self.may_answer_copy |= newly.path != arrival && newly.history.contains(History::COPIED);
        if !newly.history.contains(History::PROBED) {
            self.of.insert(newly.path);
        } else if newly.history.contains(History::COPIED) {
            self.is_unclear = true;
        } else {
            self.answered = Some(Answered { path: newly.path, sent_at: newly.sent_at });
        }
    }
}

/// A path with copies on it of which none was answered. The peer may not use it yet, so that what it sends over another path may be the
/// answer to a copy.
struct SilentPath {
    id: PathId,
    copies: Copies,
    last_copy: Tsn,
    /// How long a copy takes at least until the present SACK answers it over another path, as far as control chunks tell.
    answer: Duration,
}

pub(super) struct SilentPaths(SmallVec<[SilentPath; 2]>);

impl SilentPaths {
    /// Whether a copy of a chunk of `path` may be what arrived, as far as copies are remembered.
    pub(super) fn may_have_copied(&self, path: PathId, tsn: Tsn, now: Instant) -> bool {
        self.0.iter().any(|it| {
            let copied_at = it.copies.sent_at(tsn).filter(|_| it.id != path);
            copied_at.is_some_and(|at| now.since(at) >= it.answer)
        })
    }

    /// Whether a chunk that is acknowledged over its own path may have come as a copy, if it was sent at `sent_at`.
    fn may_have_brought(&self, path: PathId, tsn: Tsn, now: Instant, sent_at: Instant) -> bool {
        self.0.iter().any(|it| {
            let is_copied = it.id != path && !it.last_copy.is_before(tsn);
            is_copied && now.since(it.copies.sent_at(tsn).unwrap_or(sent_at)) >= it.answer
        })
    }
}

/// What a SACK is the first to acknowledge.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum FirstAcked {
    /// Data of the path that it came over.
    OfItsPath,
    /// Data of other paths only.
    OfOthers,
    Nothing,
}

type PerPath<T> = SmallVec<[T; 4]>;

impl Transmitter {
    /// Handles a SACK.
    pub(crate) fn on_sack(
        &mut self,
        cx: &mut SendCx<'_>,
        sack: &Sack<'_>,
        arrival: PathId,
    ) -> AckOutcome {
        self.stats.sacks_received += 1;
        let report = Report {
            cumulative: Tsn(sack.cumulative_tsn_ack),
            blocks: &sack.gap_ack_blocks,
            release: Release::Nothing,
            arrival,
        };
        let has_duplicates = !sack.duplicate_tsns.is_empty();
        let (flags, a_rwnd) = (sack.flags, sack.a_rwnd);
        let source = Acknowledgement::Sack { flags, a_rwnd, has_duplicates };
        self.acknowledge_all(cx, &report, source, &sack.duplicate_tsns)
    }

    /// Handles an NR-SACK: a SACK with the blocks of both lists, part of which is final.
    pub(crate) fn on_nr_sack(
        &mut self,
        cx: &mut SendCx<'_>,
        sack: &NrSack<'_>,
        arrival: PathId,
    ) -> AckOutcome {
        self.stats.sacks_received += 1;
        self.stats.nr_sacks_received += 1;
        let (cumulative, release) = (Tsn(sack.cumulative_tsn_ack), Release::by(sack));
        let has_duplicates = !sack.duplicate_tsns.is_empty();
        let (flags, a_rwnd) = (sack.flags, sack.a_rwnd);
        let source = Acknowledgement::Sack { flags, a_rwnd, has_duplicates };
        let (renegable, non_renegable) = (&sack.renegable_blocks, &sack.non_renegable_blocks);
        if renegable.is_empty() || non_renegable.is_empty() {
            let blocks = if renegable.is_empty() { non_renegable } else { renegable };
            let report = Report { cumulative, blocks, release, arrival };
            return self.acknowledge_all(cx, &report, source, &sack.duplicate_tsns);
        }
        // Taken and put back, so that its memory serves the next one.
        let mut joined = core::mem::take(&mut **self.joined_blocks.get_or_insert_default());
        match nr_sack::union(renegable, non_renegable, &mut joined) {
            Ok(()) => {
                let blocks = GapAckBlocks::Owned(joined);
                let report = Report { cumulative, blocks: &blocks, release, arrival };
                let acked = self.acknowledge_all(cx, &report, source, &sack.duplicate_tsns);
                if let (GapAckBlocks::Owned(joined), Some(memory)) =
                    (blocks, &mut self.joined_blocks)
                {
                    **memory = joined;
                }
                acked
            }
            Err(Disordered) => AckOutcome::Refused(SackProblem::MalformedBlock),
        }
    }

    /// Applies what a SACK or NR-SACK acknowledges, and then the duplicates that it reports.
    fn acknowledge_all(
        &mut self,
        cx: &mut SendCx<'_>,
        report: &Report<'_>,
        source: Acknowledgement,
        duplicates: &DuplicateTsns<'_>,
    ) -> AckOutcome {
        let acked = self.acknowledge(cx, report, source);
        self.note_duplicates(cx, &acked, report, duplicates);
        acked
    }

    /// Handles the cumulative ack of a SHUTDOWN.
    pub(crate) fn on_shutdown(
        &mut self,
        cx: &mut SendCx<'_>,
        cumulative: Tsn,
        arrival: PathId,
    ) -> AckOutcome {
        let blocks = &GapAckBlocks::Borrowed(&[]);
        let release = Release::Nothing;
        let report = Report { cumulative, blocks, release, arrival };
        self.acknowledge(cx, &report, Acknowledgement::Shutdown)
    }

    /// Applies an acknowledgement: validate, outstanding data, RTT, CUC, missing reports, recovery, growth, reduction, T3,
    /// reachability, peer window.
    fn acknowledge(
        &mut self,
        cx: &mut SendCx<'_>,
        report: &Report<'_>,
        source: Acknowledgement,
    ) -> AckOutcome {
        let Report { cumulative, blocks, arrival, .. } = *report;
        report_sack(cx, report, source);
        let outstanding = &self.outstanding;
        let next = outstanding.next_tsn();
        match sack::validate(cumulative, blocks, outstanding.base(), next) {
            Ok(SackVerdict::Apply) => {}
            // SACKs over several paths are reordered, and each may name what no other does. A peer that does not know yet that
            // TSNs have begun anew names what it holds above a gap that nobody fills: retransmissions have to go on until it knows.
            Ok(SackVerdict::Stale)
                if cx.config.policies.stale_sack == StaleSack::SamePath
                    && matches!(report.release, Release::Reported)
                    && !self.peer.may_lack_answer
                    && sack::validate_blocks(cumulative, blocks, next).is_ok() => {}
            Ok(SackVerdict::Stale) => {
                let elsewhere = self.silent_paths(cx, arrival);
                self.measure_awaited(cx, report, &elsewhere, FirstAcked::Nothing);
                if let Some(path) = self.paths.get_mut(arrival) {
                    path.note_dispersion(cx.now, 0, report, source.has_duplicates());
                }
                return AckOutcome::Stale;
            }
            Err(problem) => return AckOutcome::Refused(problem),
        }
        self.acknowledged = true;
        self.peer.may_lack_answer = false;
        // A SACK may take back all that it names, an NR-SACK may have promised not to.
        let is_believed = !self.stats.seldom.reneging.is_distrusted()
            || matches!(report.release, Release::Reported);
        let report = &if is_believed { *report } else { report.without_blocks() };
        let blocks = report.blocks;
        let mut changes = PerPath::new();
        self.note_low_ends(&mut changes);
        let mut delta = AckDelta::default();
        let elsewhere = self.silent_paths(cx, arrival);
        let heard = self.apply_sack(cx, report, &elsewhere, &mut delta);
        let (changes, news) = (changes.as_mut_slice(), delta.paths.as_slice());
        let silence = Silence::of(report, &self.outstanding);
        let withdrawn = self.take_back(cx, report, source, &delta, &silence);
        let may_answer_copy = source.has_duplicates() || heard.may_answer_copy;
        self.sample_rtt(cx, news, report, may_answer_copy, &elsewhere);
        let is_news_of = |news: &PathDelta| news.chunks > 0;
        let sack_news = match news.get(arrival.index()).is_some_and(is_news_of) {
            true => FirstAcked::OfItsPath,
            false if news.iter().any(is_news_of) => FirstAcked::OfOthers,
            false => FirstAcked::Nothing,
        };
        self.measure_awaited(cx, report, &elsewhere, sack_news);
        self.order_changes(cx, changes, news);
        let lost_on = match source {
            Acknowledgement::Sack { flags, .. } if !blocks.is_empty() && !withdrawn.is_stale => {
                self.count_missing(cx, cumulative, flags, &delta, &silence)
            }
            _ => PathSet::EMPTY,
        };
        if let Acknowledgement::Sack { a_rwnd, has_duplicates, .. } = source {
            let signs = SackSigns {
                a_rwnd,
                has_duplicates,
                is_stale: withdrawn.is_stale,
                gap_blocks: blocks.len(),
            };
            self.note_peer_limit(cx, &delta, signs);
        }
        // What the peer has dropped is not late.
        let lost_on = lost_on.union(self.late_after_sack(cx));
        let probed = self.hear_of_probe(cx, source, heard);
        let lost_on = Losses { reported: lost_on, probed, ..Losses::default() };
        self.leave_recovery(cx, cumulative, changes);
        self.reduce_rates(cx, changes, news, lost_on.all());
        let groups = self.group_views(cx);
        self.grow_cwnds(cx, changes, news, arrival, &groups);
        self.undo_spurious(cx, &groups);
        self.reduce_cwnds(cx, lost_on, &groups);
        let lowest_acked = changes.iter().map(|change| change.order.earliest_acked);
        self.adjust_t3(cx, lowest_acked, news, withdrawn.chunks);
        self.conclude(cx, source, &delta, &withdrawn);
        self.guard_goodput(cx, &delta);
        self.miss_at_tail(cx, arrival);
        self.after_acknowledgement(cx);
        AckOutcome::Applied
    }

    /// What an acknowledgement means for reachability, the peer's window and the send buffer.
    fn conclude(
        &mut self,
        cx: &mut SendCx<'_>,
        source: Acknowledgement,
        delta: &AckDelta,
        withdrawn: &Withdrawn,
    ) {
        note_reachability(cx, delta);
        if let Acknowledgement::Sack { a_rwnd, .. } = source
            && !withdrawn.is_stale
        {
            self.update_peer_window(cx, a_rwnd, delta);
        }
        self.queue.release(delta.released);
        self.stats.bytes_released_early += delta.released_early;
        self.adapt_send_buffer(cx, delta);
        self.advance_peer_ack_point(cx);
    }

    /// The paths before the SACK; their order has not changed yet.
    fn note_low_ends(&mut self, changes: &mut PerPath<AckedPath>) {
        let order = PathProgress {
            advanced: false,
            earliest_acked: false,
            pseudo_cumulative: PseudoCumulative::Unused,
        };
        for id in self.paths.ids() {
            let (first, again) = self.outstanding.lowest_on(id);
            let before = Before { first, again, flight: self.paths[id].flight };
            changes.push(AckedPath { before, order });
        }
    }

    fn apply_sack(
        &mut self,
        cx: &mut SendCx<'_>,
        report: &Report<'_>,
        elsewhere: &SilentPaths,
        delta: &mut AckDelta,
    ) -> Heard {
        let mut heard = Heard::default();
        for path in self.paths.iter() {
            delta.paths.push(PathDelta { timed: path.timed, ..PathDelta::default() });
        }
        let arrival = report.arrival;
        let (now, probe, paths) = (cx.now, &mut *cx.probe, &mut self.paths);
        let samples_rates = cx.config.samples_rates();
        let adapts = cx.config.adapts_to_reordering();
        sack::apply_to(&mut self.outstanding, report, delta, |tsn, newly| {
            heard.note(newly, arrival);
            if samples_rates {
                let is_own = newly.path == arrival
                    && !elsewhere.may_have_brought(newly.path, tsn, now, newly.sent_at);
                let origin = match is_own {
                    true => AckOrigin::AnsweredHere,
                    false if paths.came_here(now, tsn, newly) => AckOrigin::CameHere,
                    false => AckOrigin::Unknown,
                };
                paths[newly.path].note_acked(now, tsn, newly, arrival, origin);
            }
            if adapts {
                paths.note_order(now, tsn, newly);
            }
            probe.on(now, ProbeEvent::ChunkAcked { path: newly.path, tsn });
        });
        let repaired = delta.freed_history;
        if repaired.intersects(History::FAST_RETRANSMITTED | History::TIMER_RETRANSMITTED) {
            let fast = repaired.contains(History::FAST_RETRANSMITTED);
            self.repaired.on_repaired(cx.config.policies.burst, fast);
        }
        for (path, news) in self.paths.iter_mut().zip(&delta.paths) {
            path.flight = path.flight.saturating_sub(news.flight_bytes);
            path.counters.data_bytes_acked += news.user_bytes;
            // Of a chunk that also went over another path, this one may have delivered it only if it ever answered.
            let answers = news.chunks > 0 && path.rtt.srtt().is_some();
            path.has_delivered |= news.sent_once || answers;
            let unit = path.parameters().unit;
            let bursts = burst::extra_bursts(news.flight_bytes, unit);
            path.extra_bursts = path.extra_bursts.saturating_add(bursts as u32);
            if let Some(record) = path.record.if_used() {
                record.loss_rate.on_delivered(news.chunks);
                record.loss_share.on_delivered(news.chunks);
                if cx.config.policies.loss_delay == LossDelays::On {
                    let srtt = path.rtt.srtt().unwrap_or_default();
                    record.loss_delay.on_delivered(now, srtt, news.chunks);
                }
            }
        }
        heard
    }

    /// Ends the silence of paths at the tail. Returns those on which a probe has shown a loss.
    fn hear_of_probe(
        &mut self,
        cx: &mut SendCx<'_>,
        source: Acknowledgement,
        heard: Heard,
    ) -> PathSet {
        let Some(answered) = heard.answered else {
            let ends_on = if heard.is_unclear { PathSet::ALL } else { heard.of };
            self.end_silence(cx, ends_on);
            return PathSet::EMPTY;
        };
        let lost_on = match source {
            // The original has arrived, too.
            Acknowledgement::Sack { has_duplicates: true, .. } => PathSet::EMPTY,
            _ => self.lost_before_probe(cx, answered),
        };
        self.end_silence(cx, PathSet::ALL);
        lost_on
    }

    /// Puts back into flight what the receiver has discarded.
    fn take_back(
        &mut self,
        cx: &SendCx<'_>,
        report: &Report<'_>,
        source: Acknowledgement,
        delta: &AckDelta,
        silence: &Silence,
    ) -> Withdrawn {
        let (paths, policy) = (&mut self.paths, cx.config.policies.stale_sack);
        let outstanding = &mut self.outstanding;
        let on_reneged = |path: PathId, flight_bytes| paths[path].flight += u64::from(flight_bytes);
        let withdrawn = match source {
            Acknowledgement::Sack { .. } => {
                sack::withdraw(outstanding, report, delta, silence, policy, on_reneged)
            }
            Acknowledgement::Shutdown => {
                sack::withdraw_next(outstanding, report.cumulative, on_reneged)
            }
        };
        if withdrawn.chunks > 0 && cx.config.adapts_to_reordering() {
            self.watch_reneged();
        }
        if withdrawn.chunks > 0 || withdrawn.is_stale {
            let stats = &mut *self.stats.seldom;
            stats.chunks_withdrawn += u64::from(withdrawn.chunks);
            if withdrawn.chunks > 0 {
                let (base, next) = (self.outstanding.base(), self.outstanding.next_tsn());
                stats.reneging.note(withdrawn.chunks, base, next);
            }
            stats.stale_sacks += u64::from(withdrawn.is_stale);
        }
        withdrawn
    }

    fn sample_rtt(
        &mut self,
        cx: &mut SendCx<'_>,
        news: &[PathDelta],
        report: &Report<'_>,
        may_answer_copy: bool,
        elsewhere: &SilentPaths,
    ) {
        let policy = cx.config.policies.rtt_sample;
        let arrival = report.arrival;
        let took = self.way_back(arrival);
        for (path, news) in self.paths.iter_mut().zip(news) {
            if arrival == path.id {
                path.note_dispersion(cx.now, news.flight_bytes, report, may_answer_copy);
            } else if news.chunks > 0 {
                path.hear_elsewhere(cx.now);
            }
            let Some(chunk) = news.timed_chunk else { continue };
            let Some(tsn) = path.timed.take() else { continue };
            if chunk.was_copied && elsewhere.may_have_brought(path.id, tsn, cx.now, chunk.sent_at) {
                continue;
            }
            let returned = if arrival == path.id { Return::OwnPath } else { Return::OtherPath };
            match slow_path_rtt::on_acked(policy, returned, Awaited { tsn, chunk }) {
                Measure::Sample => {
                    path.sample_rtt(cx.now, cx.probe, chunk.sent_at, chunk.flight_bytes)
                }
                // The one that waits already is measured sooner.
                Measure::Await(awaited) => {
                    path.measure_across(cx, &awaited.chunk, took.unwrap_or_default());
                    let first = &mut path.record.awaited;
                    *first = first.or(Some(awaited));
                }
                Measure::Nothing => {}
            }
        }
    }

    /// About how long a SACK takes over the path, if known.
    pub(super) fn way_back(&self, path: PathId) -> Option<Duration> {
        self.paths.get(path)?.rtt.way_back()
    }

    /// Paths with copies on them of which none was answered, for a SACK over `arrival`.
    #[inline]
    fn silent_paths(&self, cx: &SendCx<'_>, arrival: PathId) -> SilentPaths {
        match cx.config.policies.data_copies {
            DataCopies::Off => SilentPaths(SmallVec::new()),
            DataCopies::On => self.search_silent_paths(arrival),
        }
    }

    fn search_silent_paths(&self, arrival: PathId) -> SilentPaths {
        let way = |path: &SendPath| path.rtt.way_back().unwrap_or_default();
        let back = self.way_back(arrival).unwrap_or_default();
        let silent = |path: &SendPath| {
            let copies = path.rtt.of_data().is_none().then(|| path.copies())?;
            let (last_copy, answer) = (copies.awaits()?, way(path) + back);
            Some(SilentPath { id: path.id, copies, last_copy, answer })
        };
        SilentPaths(self.paths.iter().filter_map(silent).collect())
    }

    /// A SACK over the path of a chunk that was acknowledged over another one measures its round trip, even if the SACK
    /// says nothing new.
    fn measure_awaited(
        &mut self,
        cx: &mut SendCx<'_>,
        report: &Report<'_>,
        elsewhere: &SilentPaths,
        news: FirstAcked,
    ) {
        let Some(path) = self.paths.get_mut(report.arrival) else { return };
        if let Some(early) = path.record.early.take()
            && path.rtt.of_data().is_none()
        {
            return path.measure_early(cx, early, report, elsewhere, news);
        }
        let Some(awaited) = path.record.awaited else { return };
        let patience = match awaited.chunk.was_copied {
            // The answer may never come; then a later one must not pass for it.
            true => (path.rtt.expected() * copies::LONGEST_ANSWER).min(path.rtt.rto()),
            false => path.rtt.rto(),
        };
        let later = match news {
            FirstAcked::OfItsPath => path.newest_acked().or(Some(cx.now)),
            FirstAcked::OfOthers => path.copies().awaits_since(),
            FirstAcked::Nothing => None,
        };
        // The chunk had arrived when it was acknowledged: what comes over the path more than a round trip later answers another one.
        match awaited.on_sack(report.cumulative, report.blocks, cx.now, patience, later) {
            Awaiting::GoesOn => return,
            Awaiting::Over => {}
            Awaiting::Sample => {
                let chunk = awaited.chunk;
                path.sample_rtt(cx.now, cx.probe, chunk.sent_at, chunk.flight_bytes);
            }
        }
        path.record.awaited = None;
    }

    /// CUC, and what else follows from the low ends of the paths.
    fn order_changes(&mut self, cx: &SendCx<'_>, changes: &mut [AckedPath], news: &[PathDelta]) {
        let policy = cx.config.policies.cwnd_update;
        for ((id, change), news) in self.paths.ids().zip(changes).zip(news) {
            let before = change.before;
            let (first, again) = self.outstanding.lowest_on(id);
            let first = LowEnd { before: before.first, after: first };
            let again = LowEnd { before: before.again, after: again };
            let view = CucView { cumulative_ack_on_path: news.by_cumulative_ack, first, again };
            change.order.pseudo_cumulative = match policy {
                CwndUpdate::Normal => PseudoCumulative::Unused,
                _ if first.advanced() => PseudoCumulative::Advanced(first.after),
                _ => PseudoCumulative::Unchanged,
            };
            change.order.advanced = cuc::advanced(policy, &view);
            change.order.earliest_acked = first.joined(&again).advanced();
        }
    }

    /// What the user is to know of the send buffer.
    pub(crate) fn after_acknowledgement(&mut self, cx: &mut SendCx<'_>) {
        if self.writable_again(cx.config.policies.send_room_notice, cx.now) {
            cx.effects.push(Effect::Event(Event::Writable));
        }
        if self.is_dry() && !self.dry_told {
            self.dry_told = true;
            cx.effects.push(Effect::Event(Event::SenderDry));
        }
    }
}

/// Reports a SACK to the probe.
fn report_sack(cx: &mut SendCx<'_>, report: &Report<'_>, source: Acknowledgement) {
    if let Acknowledgement::Sack { a_rwnd, .. } = source
        && cx.probe.wants_packets()
    {
        let (path, cumulative) = (report.arrival, report.cumulative);
        let gap_blocks = report.blocks.len() as u32;
        cx.probe.on(cx.now, ProbeEvent::SackReceived { path, cumulative, gap_blocks, a_rwnd });
    }
}

/// An acknowledged chunk that took no other path proves its path alive (RFC 9260 section 8.2).
fn note_reachability(cx: &mut SendCx<'_>, delta: &AckDelta) {
    // Nearly always it is known that all paths work.
    if cx.book.errors > 0 || cx.book.iter().any(|path| !path.is_beyond_doubt()) {
        remove_doubt(cx, delta);
    }
}

/// The same where something is in doubt.
#[inline(never)]
fn remove_doubt(cx: &mut SendCx<'_>, delta: &AckDelta) {
    // Whatever path the acknowledged chunk took, the peer is there (section 8.1).
    if delta.anything_new() {
        cx.effects.push(Effect::PeerAnswered);
    }
    for (path, news) in cx.book.iter().zip(&delta.paths) {
        if path.is_beyond_doubt() {
            continue;
        }
        let doubts = cx.config.policies.failover.outage_probe_interval.is_some();
        if doubts && news.unambiguous != Unambiguous::InFlight && path.heartbeat.expired.is_some() {
            // It arrived before the outage that a later heartbeat did not pass; its SACK did not.
            continue;
        }
        let path = path.id;
        if news.sent_once {
            cx.effects.push(Effect::Delivered(path, Delivered::Once));
        } else if news.unambiguous != Unambiguous::None {
            cx.effects.push(Effect::Delivered(path, Delivered::Sometime));
        }
    }
}
