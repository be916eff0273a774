//! A peer that drops what lies too far above a gap: what it says of that, and what is sent to it.

use super::decide::Snapshot;
use super::flight::LossAccounting;
use super::outstanding::MAX_SPAN;
use super::send_path::SendPath;
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
    pub(super) gap_blocks: usize,
}

/// Gap ack blocks of a SACK that Linux builds at most.
const FEW_BLOCKS: usize = 16;

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
        let is_cut = signs.gap_blocks == FEW_BLOCKS || signs.gap_blocks >= self.blocks_in_packet();
        if !has_news && (delta.reported < u64::from(waiting) || is_cut) {
            // A later one arrived before it, or it has no room for all gap ack blocks: what it leaves out may be the news.
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

    /// How many gap ack blocks, of four bytes, nearly fill the smallest packet that the peer may send.
    fn blocks_in_packet(&self) -> usize {
        let smallest = self.paths.iter().map(SendPath::packet_capacity).min().unwrap_or(0);
        smallest.saturating_sub(64) as usize / 4
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

/// How many chunks from the lowest one outstanding on paths are planned with.
pub(super) const PLANNED_SPAN: u32 = MAX_SPAN / 5 * 4;

impl Snapshot<'_> {
    /// Whether more than half of the chunks wait above the gap that the peer is known to keep there: what fills the gap is as urgent as
    /// where a buffer is full.
    pub(super) fn nears_peer_limit(&self) -> bool {
        let limit = self.tx.peer_limit.get();
        limit.is_some_and(|limit| self.tx.outstanding.acked_count() > limit / 2)
    }

    /// The buffer that the limits on what lies above a gap are as good as, for chunks of this length: that of the peer, and
    /// that of gap ack blocks. That one is not planned to the last chunk: a chunk that comes later than expected stops every path.
    pub(super) fn span_bytes(&self, user_bytes: u32) -> u64 {
        let span = self.tx.peer_limit.get().map_or(PLANNED_SPAN, |limit| limit.min(PLANNED_SPAN));
        u64::from(span) * u64::from(user_bytes)
    }
}
