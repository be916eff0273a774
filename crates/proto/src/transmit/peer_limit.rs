//! A peer that drops what lies too far above a gap: what it says of that, and what is sent to it.

use super::decide::Snapshot;
use super::flight::LossAccounting;
use super::outstanding::MAX_SPAN;
use super::{SendCx, Transmitter};
use crate::config::PeerReorderLimit;
use crate::mechanism::peer_limit::{News, PeerLimitView};
use crate::transmit::sack::AckDelta;
use crate::{LossDetection, Tsn};

/// What of a SACK matters here beside what it changed.
#[derive(Clone, Copy)]
pub(super) struct SackSigns {
    pub(super) a_rwnd: u32,
    pub(super) has_duplicates: bool,
    pub(super) is_stale: bool,
}

impl Transmitter {
    /// Learns from a SACK how many chunks may wait at the peer, and takes for lost what it dropped.
    #[inline]
    pub(super) fn note_peer_limit(
        &mut self,
        cx: &mut SendCx<'_>,
        delta: &AckDelta,
        signs: SackSigns,
    ) {
        if cx.config.policies.peer_reorder_limit == PeerReorderLimit::Learned
            && (delta.highest_gap_acked.is_some() || self.peer_limit.get().is_some())
        {
            self.learn_peer_limit(cx, delta, signs);
        }
    }

    fn learn_peer_limit(&mut self, cx: &mut SendCx<'_>, delta: &AckDelta, signs: SackSigns) {
        let outstanding = &self.outstanding;
        let waiting = outstanding.acked_count();
        let in_flight = outstanding.in_flight_user_bytes();
        let has_news = delta.anything_new()
            || delta.cumulative_ack_advanced
            || signs.has_duplicates
            || signs.is_stale
            // A window update needs no DATA.
            || u64::from(signs.a_rwnd) > self.advertised_window
            || u64::from(signs.a_rwnd) < in_flight + u64::from(self.max_fragment)
            || delta.highest_gap_acked.is_none_or(|tsn| tsn.next() == outstanding.next_tsn());
        if !has_news && delta.reported < u64::from(waiting) {
            // A later one arrived before it, or it has no room for all gap ack blocks.
            return;
        }
        let news = if has_news { News::Some } else { News::None };
        let highest = delta.highest_gap_acked;
        let view = PeerLimitView { waiting, highest, news };
        if self.peer_limit.on_sack(cx.now, &view)
            && let Some(highest) = highest
        {
            self.take_for_dropped(cx, highest.next());
        }
    }

    /// The peer has dropped all from this TSN on that had the time to arrive. That is no sign of congestion.
    fn take_for_dropped(&mut self, cx: &mut SendCx<'_>, from: Tsn) {
        for id in self.paths.ids() {
            let Some(srtt) = self.paths[id].rtt.srtt() else { continue };
            let (detection, rate) = (LossDetection::MissingReports, LossAccounting::Unchanged);
            let now = cx.now;
            self.mark_lost_from(cx, id, from, detection, rate, |chunk| {
                now.since(chunk.sent_at) >= srtt
            });
            self.settle(id);
        }
    }

    /// Whether the peer keeps a chunk with this TSN, as far as its limit is known.
    #[inline]
    pub(super) fn peer_keeps(&self, tsn: Tsn) -> bool {
        let outstanding = &self.outstanding;
        self.peer_limit.get().is_none()
            || !self.peer_limit.is_above(tsn)
            || self.peer_limit.admits(outstanding.acked_count(), outstanding.in_flight_count())
    }
}

impl Snapshot<'_> {
    /// The buffer that the limits on what lies above a gap are as good as, for chunks of this length: that of the peer, and
    /// that of gap ack blocks.
    pub(super) fn span_bytes(&self, user_bytes: u32) -> u64 {
        let span = self.tx.peer_limit.get().map_or(MAX_SPAN, |limit| limit.min(MAX_SPAN));
        u64::from(span) * u64::from(user_bytes)
    }
}
