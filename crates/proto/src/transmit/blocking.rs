//! What keeps a slow path from blocking the others: new data stays away from it, and it pays where that was not enough.

use super::decide::Snapshot;
use super::queue::Asking;
use super::send_path::SendPath;
use super::{SendCx, Transmitter};
use crate::config::{BlockingEstimation, PathOrder};
use crate::congestion::CorrectionCause;
use crate::mechanism::blocking_estimation::{self, MOST_TRIES, PathView, SlowPath, Waits};
use crate::types::PathSet;
use crate::{BlockedCause, PathId};

impl Snapshot<'_> {
    /// Whether new data has to wait for a faster path, because it would block the buffers on this one.
    pub(super) fn waits_for_faster(&self, path: PathId, user_bytes: u32) -> bool {
        let tx = self.tx;
        if !self.estimates_blocking() || tx.queue.names(path) {
            return false;
        }
        let own = &tx.paths[path];
        let others =
            || tx.paths.among(self.usable).filter(|it| it.id != path).filter_map(blocking_view);
        let Some(view) = blocking_view(own) else {
            // One packet, or an answer to come, tells how long its round trip is. If so many did not, for their
            // acknowledgements took another path, it has to be tried.
            let is_probed = own.flight > 0 || self.book[path].heartbeat.outstanding.is_some();
            let tries = own.counters.data_bytes_acked / u64::from(tx.max_fragment.max(1));
            return is_probed && tries < MOST_TRIES && others().next().is_some();
        };
        let rtt = blocking_estimation::expected_rtt(&view, own.flight, user_bytes.into());
        let in_flight = tx.outstanding.in_flight_on(path).user_bytes;
        let (buffer, waits) = (self.buffer_that_blocks(), self.waits_for_next(path));
        let slow = SlowPath { rtt, in_flight, chunk: user_bytes.into(), buffer, waits };
        blocking_estimation::would_block(&slow, others())
    }

    fn estimates_blocking(&self) -> bool {
        let policies = &self.config.policies;
        policies.blocking_estimation == BlockingEstimation::On
            && policies.path_order != PathOrder::Primary
            && self.usable.is_several()
    }

    /// The path whose window is to be reduced: if buffers are what stops the path that would carry most alone, and a slower
    /// one has filled them, that one.
    fn path_that_blocks(&self) -> Option<PathId> {
        let tx = self.tx;
        if !self.estimates_blocking() || tx.outstanding.is_empty() {
            return None;
        }
        let buffer = tx.queue.limit().min(tx.receive_buffer());
        let views = tx.paths.among(self.usable).filter_map(|it| Some((it, blocking_view(it)?)));
        let (best, view) = views.max_by_key(|(_, view)| view.alone(buffer))?;
        if view.is_full() || !best.has_window() || !self.is_held_up(best.id) {
            return None;
        }
        let lowest = tx.outstanding.get(tx.outstanding.base());
        let slow = &tx.paths[lowest.path];
        let is_slow = slow.rtt.srtt().is_some_and(|rtt| view.is_quicker_than(rtt));
        let pays = slow.id != best.id && is_slow && self.now >= slow.spared_until;
        pays.then_some(slow.id)
    }

    /// Whether a full buffer keeps the path from sending.
    fn is_held_up(&self, path: PathId) -> bool {
        if self.tx.queue.is_empty() {
            return self.tx.room_is_wanted();
        }
        let asking = Asking { path, usable: self.usable, bundled: None };
        let next = self.tx.queue.peek(asking, self.tx.max_fragment);
        next.is_some_and(|user_bytes| !self.admits_new(path, user_bytes))
    }

    /// Size of the buffer that a chunk on a slow path fills.
    fn buffer_that_blocks(&self) -> u64 {
        // Non-renegable acknowledgements empty the send buffer.
        let receiver = self.tx.receive_buffer();
        match self.tx.acks_are_final {
            true => receiver,
            false => receiver.min(self.tx.queue.limit()),
        }
    }

    /// What would wait for the next chunk on the path.
    fn waits_for_next(&self, path: PathId) -> Waits {
        let asking = Asking { path, usable: self.usable, bundled: None };
        match self.tx.queue.is_alone(asking, self.tx.max_fragment) {
            true => Waits::Nothing,
            false => Waits::Everything,
        }
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

    fn search_blocking_path(&mut self, cx: &mut SendCx<'_>) {
        let Some(slow) = self.snapshot(cx, cx.book.usable()).path_that_blocks() else { return };
        let slow = &mut self.paths[slow];
        slow.spared_until = cx.now + slow.rtt.srtt().unwrap_or_default();
        let unit = slow.parameters().unit;
        let cwnd = blocking_estimation::penalized(slow.window.cwnd, unit);
        slow.correct(cx.now, CorrectionCause::Blocking, cwnd, None);
        cx.probe.on(cx.now, slow.window_event());
    }

    /// Why nothing can be sent now, in an association that is established.
    pub(crate) fn why_blocked(&self, cx: &SendCx<'_>) -> BlockedCause {
        if self.queue.is_empty() && self.outstanding.lost_count() == 0 {
            return match self.room_is_wanted() {
                true => BlockedCause::SendBuffer,
                false => BlockedCause::Application,
            };
        }
        let usable = cx.book.usable();
        if usable.is_empty() {
            return BlockedCause::NoPath;
        }
        let asked = match cx.config.policies.path_order {
            PathOrder::Primary => PathSet::of(cx.book.primary_or_stand_in(usable)),
            _ => usable,
        };
        let snapshot = self.snapshot(cx, usable);
        let has_window = self
            .paths
            .among(asked)
            .any(|path| path.has_window() && !snapshot.waits_for_train(path));
        match has_window {
            true if self.peer_window_admits(self.max_fragment) => BlockedCause::BufferShare,
            true => BlockedCause::PeerWindow,
            false => BlockedCause::CongestionWindow,
        }
    }
}

/// What is known of a path, once data has measured it: what small control chunks meet says little.
fn blocking_view(path: &SendPath) -> Option<PathView> {
    let (srtt, smallest_rtt) = path.rtt.of_data()?;
    Some(PathView { cwnd: path.window.cwnd, ssthresh: path.window.ssthresh, srtt, smallest_rtt })
}
