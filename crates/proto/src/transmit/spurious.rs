//! Losses that were none, where the reordering window adapts: what proves them, and what is taken back then.

use polypath_wire::DuplicateTsns;

use super::sack::Report;
use super::send_path::{SendPath, SendPaths};
use super::{AckOutcome, SendCx, Transmitter};
use crate::congestion::coupled::group::GroupViews;
use crate::mechanism::reordering::Transmission;
use crate::transmit::outstanding::{History, Newly};
use crate::{Instant, ProbeEvent, Tsn};

/// Retransmissions of these chunks followed a loss.
const LOST_ONCE: History = History::FAST_RETRANSMITTED.union(History::TIMER_RETRANSMITTED);

/// Of these chunks it is unknown what they tell of the order of their path.
const UNCERTAIN: History = History::COPIED.union(History::CREDITED).union(History::RENEGED);

impl SendPaths {
    /// A chunk is acknowledged: what that tells of the order of its path, and of a loss.
    #[inline]
    pub(super) fn note_order(&mut self, now: Instant, tsn: Tsn, newly: &Newly) {
        let is_ordinary = newly.transmissions == 1 && newly.was_in_flight;
        let doubts = newly.history.intersection(UNCERTAIN);
        let is_certain =
            doubts.is_empty() || doubts == History::COPIED && self.is_no_copy(now, tsn, newly);
        if is_ordinary && is_certain {
            let sent = Transmission { at: newly.sent_at, tsn };
            self[newly.path].note_arrived(now, sent, newly.flight_bytes);
        } else {
            self.note_repeated(now, tsn, newly);
        }
    }

    /// Whether an acknowledged chunk came over its path, whatever path the SACK took: there is no copy, or none that can be what arrived.
    #[inline]
    pub(super) fn came_here(&self, now: Instant, tsn: Tsn, newly: &Newly) -> bool {
        !newly.history.contains(History::COPIED)
            || newly.transmissions == 1 && self.is_no_copy(now, tsn, newly)
    }

    /// Whether a copied chunk of this path was acknowledged too soon for that to answer its copy.
    #[inline(never)]
    fn is_no_copy(&self, now: Instant, tsn: Tsn, newly: &Newly) -> bool {
        let others = self.iter().filter(|it| it.id != newly.path);
        let mut copied = others.filter_map(|it| Some((it, it.copies().sent_at(tsn)?))).peekable();
        let least = |it: &SendPath| it.soonest_answer_of_copy(newly.flight_bytes);
        copied.peek().is_some()
            && copied.all(|(it, at)| least(it).is_some_and(|least| now.since(at) < least))
    }

    /// The same for a chunk that was lost, or sent more than once.
    #[inline(never)]
    fn note_repeated(&mut self, now: Instant, tsn: Tsn, newly: &Newly) {
        let sent = Transmission { at: newly.sent_at, tsn };
        let is_certain = !newly.history.intersects(UNCERTAIN);
        let is_repeated_once = newly.transmissions == 2 && newly.was_in_flight && is_certain;
        let (bytes, rtts) = (newly.flight_bytes, self[newly.path].round_trips());
        let order = &mut self[newly.path].arrivals_mut().order;
        let is_original = match newly.transmissions {
            1 => is_certain,
            _ => is_repeated_once && order.is_too_early(now, newly.sent_at, bytes, rtts),
        };
        // What came from another path may have arrived there.
        if is_repeated_once && !newly.history.contains(History::MOVED) {
            order.on_retransmission_arrived(now, sent, bytes, rtts);
        }
        if newly.transmissions > 1 && !newly.history.intersects(LOST_ONCE) {
            return;
        }
        for path in self.iter_mut() {
            match is_original {
                true => path.on_original_arrived(now, tsn),
                false => path.on_either_arrived(tsn, is_repeated_once),
            }
        }
    }
}

impl Transmitter {
    /// What the duplicate TSNs of a SACK tell.
    #[inline]
    pub(super) fn note_duplicates(
        &mut self,
        cx: &mut SendCx<'_>,
        acked: &AckOutcome,
        report: &Report<'_>,
        duplicates: &DuplicateTsns<'_>,
    ) {
        self.measure_by_copy(cx, acked, report, duplicates);
        let is_believed = !matches!(acked, AckOutcome::Refused(_));
        if is_believed && !duplicates.is_empty() && cx.config.adapts_to_reordering() {
            self.find_duplicates(cx, duplicates);
        }
    }

    #[inline(never)]
    fn find_duplicates(&mut self, cx: &mut SendCx<'_>, duplicates: &DuplicateTsns<'_>) {
        for path in self.paths.iter_mut() {
            duplicates.iter().for_each(|tsn| path.on_duplicate(cx.now, Tsn(tsn)));
        }
        let groups = self.group_views(cx);
        self.undo_spurious(cx, &groups);
    }

    /// Where all that was lost has arrived, the congestion controller takes its reaction back, and recovery is over.
    #[inline]
    pub(super) fn undo_spurious(&mut self, cx: &mut SendCx<'_>, groups: &GroupViews) {
        if cx.config.adapts_to_reordering() {
            self.undo_each(cx, groups);
        }
    }

    fn undo_each(&mut self, cx: &mut SendCx<'_>, groups: &GroupViews) {
        let association_recovers = self.recovery.is_active();
        for path in self.paths.iter_mut() {
            let recovers = association_recovers || path.recovery.is_active();
            if !path.undo_spurious(cx.now, groups.view(path.id), recovers) {
                continue;
            }
            if let Some(record) = path.record.if_used() {
                record.reduction.end();
            }
            if path.recovery.leave() {
                cx.probe.on(cx.now, ProbeEvent::FastRecoveryLeft { path: Some(path.id) });
            }
            cx.probe.on(cx.now, path.congestion_event());
        }
    }
}
