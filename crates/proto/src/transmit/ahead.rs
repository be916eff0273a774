//! Data that runs ahead on a path which data has not measured yet.
//!
//! What such a path gets may arrive late or never. So it gets what would otherwise wait: data that no other path can take before the
//! next SACK. The other paths take it back before anything has to wait for it.

use alloc::boxed::Box;

use super::acknowledge::{FirstAcked, SilentPaths};
use super::decide::Snapshot;
use super::packet_builder::PacketBuilder;
use super::sack::Report;
use super::send_path::SendPath;
use super::{SendCx, Transmitter};
use crate::config::{DataAhead, RttSample};
use crate::mechanism::copies;
use crate::mechanism::early_answers::{EarlyAnswers, EarlyChunk};
use crate::probe::ProbeEvent;
use crate::types::{Fate, PathSet, TimedChunk};
use crate::{Duration, Instant, PathId, Tsn};

impl Snapshot<'_> {
    /// Whether the path may take new data although data has not measured it: no better known path can take any, and there is more than all
    /// windows hold, in buffers where that and the next windows have room. What waits for its answer longer than a control chunk shows that
    /// the path is thin, or loses.
    pub(super) fn runs_ahead(&self, path: PathId) -> bool {
        let own = &self.tx.paths[path];
        if self.config.policies.data_ahead == DataAhead::Off || own.rtt.of_data().is_some() {
            return false;
        }
        let oldest =
            self.tx.lowest_outstanding(path).map(|tsn| self.tx.outstanding.get(tsn).sent_at);
        let expected = own.rtt.expected();
        if oldest.is_some_and(|sent_at| self.now > sent_at + expected + expected / 4) {
            return false;
        }
        let mut windows = own.congestion.cwnd;
        for it in self.tx.paths.among(self.usable).filter(|it| it.id != path) {
            if is_better_known(it, own) && it.cwnd_admits() && !self.keeps_off(it) {
                return false;
            }
            windows += it.congestion.cwnd;
        }
        let [send_room, receive_room] = self.room();
        self.tx.queue.waiting() > windows && 2 * windows <= send_room.min(receive_room)
    }

    /// Bytes of user data that the send buffer and the peer's receive buffer have room for. What the peer has and will not renege on has left
    /// the former only.
    fn room(&self) -> [u64; 2] {
        let unreleased = |id| self.tx.outstanding.unreleased_on(id).user_bytes;
        let unreleased: u64 = self.tx.paths.ids().map(unreleased).sum();
        [self.tx.queue.limit().saturating_sub(unreleased), self.tx.peer_window()]
    }

    /// The lowest chunk that runs ahead, and the path that takes it back, once a buffer is half full or has no room for the next two windows
    /// of the other paths.
    #[inline]
    pub(super) fn chunk_to_take_back(&self) -> Option<(Tsn, PathId)> {
        match self.tx.ahead.is_empty() {
            true => None,
            false => self.search_ahead(),
        }
    }

    #[inline(never)]
    fn search_ahead(&self) -> Option<(Tsn, PathId)> {
        if self.has_room_ahead() {
            return None;
        }
        let (tx, outstanding) = (self.tx, &self.tx.outstanding);
        let is_ahead = |path: &&SendPath| path.rtt.of_data().is_none() && path.flight > 0;
        let runs = tx.paths.among(tx.ahead).filter(is_ahead);
        let lowest = runs.filter_map(|path| tx.lowest_outstanding(path.id));
        let tsn = lowest.reduce(|low, tsn| if tsn.is_before(low) { tsn } else { low })?;
        let chunk = outstanding.get(tsn);
        if chunk.fate != Fate::InFlight || !chunk.may_be_retransmitted(self.now) {
            return None;
        }
        let own = &tx.paths[chunk.path];
        let others = tx.paths.among(self.usable);
        let known = others.filter(|path| is_better_known(path, own) && !self.keeps_off(path));
        let path = known.min_by_key(|path| (tx.latest_answer(path, self.now), path.id))?;
        let arrives_earlier = arrives_earlier(self.now.since(chunk.sent_at), own, path);
        (arrives_earlier && path.cwnd_admits()).then_some((tsn, path.id))
    }

    fn has_room_ahead(&self) -> bool {
        let tx = self.tx;
        let [send_room, receive_room] = self.room();
        let measured = tx.paths.among(self.usable).filter(|path| path.rtt.of_data().is_some());
        let windows: u64 = measured.map(|path| path.congestion.cwnd).sum();
        2 * windows <= send_room.min(receive_room)
            && 2 * send_room >= tx.queue.limit()
            && 2 * receive_room >= tx.receive_buffer()
    }
}

/// Whether what was sent `waited` ago on `own`, which data has not measured, is earlier over `other` now. A path that has not answered
/// anything has no expected arrival; on one that has, an overdue chunk may be lost.
pub(super) fn arrives_earlier(waited: Duration, own: &SendPath, other: &SendPath) -> bool {
    let other = other.rtt.expected();
    if own.rtt.srtt().is_none() {
        return waited >= other;
    }
    let expected = own.rtt.expected();
    waited + other < expected || waited > expected + expected / 4
}

/// Whether data has measured the path, or it has answered at least the handshake where the other one has not answered anything.
pub(super) fn is_better_known(path: &SendPath, other: &SendPath) -> bool {
    path.rtt.of_data().is_some() || other.rtt.srtt().is_none() && path.rtt.srtt().is_some()
}

impl SendPath {
    /// A chunk that was sent before, or its copy, leaves on a path on which other data may wait for the first SACK over it.
    #[inline]
    pub(super) fn note_early_again(&mut self, now: Instant, tsn: Tsn) {
        if let Some(early) = self.record.if_used().and_then(|record| record.early.as_mut()) {
            early.on_sent(EarlyChunk { tsn, sent_at: now, flight_bytes: 0, is_again: true });
        }
    }

    /// A SACK came over a path of which it may be the first to tell how long a round trip takes.
    #[cold]
    #[inline(never)]
    pub(super) fn measure_early(
        &mut self,
        cx: &mut SendCx<'_>,
        mut early: Box<EarlyAnswers>,
        report: &Report<'_>,
        elsewhere: &SilentPaths,
        news: FirstAcked,
    ) {
        self.record.awaited = None;
        let within = (self.rtt.smallest().unwrap_or_default(), self.rtt.rto());
        match early.on_sack(cx.now, within, |tsn| report.covers(tsn)) {
            Some(chunk) if self.may_answer_copy(cx.now, &chunk, elsewhere, news) => {
                let least = cx.now.since(chunk.sent_at);
                match news {
                    FirstAcked::OfItsPath if self.rtt.on_data_bound(least) => {
                        let (srtt, rto) = (self.rtt.expected(), self.rtt.rto());
                        let event = ProbeEvent::Rtt { path: self.id, sample: least, srtt, rto };
                        cx.probe.on(cx.now, event);
                    }
                    FirstAcked::Nothing => early.forget(chunk.tsn),
                    FirstAcked::OfItsPath | FirstAcked::OfOthers => {}
                }
                self.record.early = Some(early);
            }
            Some(EarlyChunk { sent_at, flight_bytes, .. }) => {
                self.sample_rtt(cx.now, cx.probe, sent_at, flight_bytes);
            }
            None => self.record.early = Some(early),
        }
    }

    /// A SACK that took about so long over another path acknowledges a chunk of this one, which no copy can have brought. That is enough to
    /// know the path a little: a SACK over the path itself may come a round trip later, since the peer sends none there before more data arrives.
    pub(super) fn measure_across(
        &mut self,
        cx: &mut SendCx<'_>,
        chunk: &TimedChunk,
        took: Duration,
    ) {
        if chunk.was_copied || self.rtt.of_data().is_some() {
            return;
        }
        let answered = cx.now.since(chunk.sent_at);
        self.estimate_rtt(cx.now, cx.probe, (answered, took), chunk.flight_bytes);
    }

    /// Whether the SACK may answer a copy of the chunk on another path, and not the chunk: there is one, and the answer comes later than
    /// control chunks tell. Of two SACKs that cover the chunk and are about nothing else, the first may be the answer to either, and the
    /// second is that to the other one, if it comes soon.
    fn may_answer_copy(
        &self,
        now: Instant,
        chunk: &EarlyChunk,
        elsewhere: &SilentPaths,
        news: FirstAcked,
    ) -> bool {
        let Some(srtt) = self.rtt.srtt() else { return false };
        let expected = match news {
            FirstAcked::Nothing => srtt * copies::LONGEST_ANSWER,
            FirstAcked::OfItsPath | FirstAcked::OfOthers => srtt + srtt / 4,
        };
        now.since(chunk.sent_at) > expected && elsewhere.may_have_copied(self.id, chunk.tsn, now)
    }
}

impl Transmitter {
    /// A new chunk was sent before data has measured the path.
    #[cold]
    #[inline(never)]
    pub(super) fn note_early(&mut self, cx: &SendCx<'_>, path: PathId, tsn: Tsn) {
        let policies = &cx.config.policies;
        if policies.data_ahead == DataAhead::On {
            self.ahead.insert(path);
        }
        if policies.rtt_sample == RttSample::SlowPathUpdate {
            let flight_bytes = self.outstanding.get(tsn).flight_bytes;
            let chunk = EarlyChunk { tsn, sent_at: cx.now, flight_bytes, is_again: false };
            self.paths[path].record.early.get_or_insert_with(Box::default).on_sent(chunk);
        }
    }

    /// Paths that data has measured run ahead no more.
    pub(super) fn forget_measured(&mut self) {
        let unmeasured = self.paths.among(self.ahead).filter(|path| path.rtt.of_data().is_none());
        self.ahead = unmeasured.map(|path| path.id).collect();
    }

    /// Adds the chunk that ran ahead on another path, and what follows it there, to the packet, which goes over `path`.
    #[inline(never)]
    pub(super) fn push_back(
        &mut self,
        cx: &mut SendCx<'_>,
        (path, usable): (PathId, PathSet),
        tsn: Tsn,
        packet: &mut PacketBuilder<'_>,
    ) {
        let mut next = Some((tsn, path));
        while let Some((tsn, to)) = next
            && to == path
        {
            if !self.push_from_elsewhere(cx, path, tsn, packet) {
                break;
            }
            next = self.snapshot(cx, usable).chunk_to_take_back();
        }
    }
}
