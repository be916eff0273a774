//! What the buffers admit: the peer's receive window, each path's share, and how large the send buffer is.

use smallvec::SmallVec;

use super::buffer_size::{self, SizedPath};
use super::decide::Snapshot;
use super::send_path::SendPath;
use super::{SendCx, Transmitter};
use crate::PathId;
use crate::config::{BufferSize, BufferSplit, BufferSplitShares, PathOrder};
use crate::mechanism::buffer_split::{self, Speed, SplitView};
use crate::transmit::sack::AckDelta;

impl Snapshot<'_> {
    /// Whether the peer's window and the path's share of the buffers admit a new chunk of `user_bytes` on `path`.
    #[inline]
    pub(super) fn admits_new(&self, path: PathId, user_bytes: u32) -> bool {
        let policies = &self.config.policies;
        // What is dear to find out comes last.
        self.tx.peer_window_admits(user_bytes)
            && self.tx.peer_keeps(self.tx.outstanding.next_tsn())
            && !self.waits_for_copy(path)
            && (policies.buffer_split == BufferSplit::None || self.share_admits(path))
            && !self.waits_for_faster(path, user_bytes)
    }

    /// Whether the path's share of the buffers admits a new chunk.
    #[inline(never)]
    fn share_admits(&self, path: PathId) -> bool {
        let (policies, outstanding) = (&self.config.policies, &self.tx.outstanding);
        let paths = self.sharing_paths();
        let by_need = policies.buffer_split_shares == BufferSplitShares::ByNeed;
        if by_need && paths == 1 {
            return true; // the buffers themselves are its limit
        }
        let view = SplitView {
            send_buffer: self.tx.queue.limit(),
            peer_window: self.tx.peer_window(),
            outstanding: outstanding.in_flight_user_bytes(),
            paths,
            unreleased: outstanding.unreleased_on(path),
            in_flight: outstanding.in_flight_on(path),
            mtu: self.tx.paths[path].mtu().into(),
            needs: None,
        };
        let admits =
            |view: &_| buffer_split::admits(policies.buffer_split, policies.buffer_split_by, view);
        // No share is less than an equal one.
        admits(&view)
            || by_need
                && self
                    .needs_beside(path)
                    .is_some_and(|needs| admits(&SplitView { needs: Some(needs), ..view }))
    }

    /// What the other paths that carry new data could use of the buffers: a congestion window, and a packet by which it grows; what
    /// they have, where new data stays away from them. `None` if this is not the fastest one.
    fn needs_beside(&self, path: PathId) -> Option<SmallVec<[u64; 4]>> {
        let speed = |path: &SendPath| Speed { cwnd: path.needed_cwnd(), srtt: path.rtt.srtt() };
        let own = speed(&self.tx.paths[path]);
        let others = self.tx.paths.among(self.usable).filter(|other| other.id != path);
        others
            .map(|other| {
                // Whoever lets others go first takes no more than it has, however large its window became.
                if self.tx.rests(other.id, self.usable)
                    || self.waits_for_faster(other.id, other.mtu())
                {
                    return Some(self.tx.outstanding.in_flight_on(other.id).user_bytes);
                }
                let is_slower = own.exceeds(&speed(other));
                is_slower.then(|| other.needed_cwnd().saturating_add(other.mtu().into()))
            })
            .collect()
    }

    /// Paths that carry new data, among which the buffers are split.
    pub(super) fn sharing_paths(&self) -> u32 {
        match self.config.policies.path_order {
            PathOrder::Primary => 1,
            _ => self.usable.len(),
        }
    }
}

impl Transmitter {
    /// Size of the peer's receive buffer, as far as its window tells.
    pub(super) fn receive_buffer(&self) -> u64 {
        let outstanding = &self.outstanding;
        let held =
            |path| outstanding.unreleased_on(path).user_bytes + outstanding.released_early_on(path);
        self.peer_window().saturating_add(self.paths.ids().map(held).sum())
    }

    /// Lets the send buffer grow to what the paths deliver, where its size is not configured.
    #[inline]
    pub(super) fn adapt_send_buffer(&mut self, cx: &SendCx<'_>, delta: &AckDelta) {
        let policy = cx.config.policies.send_buffer;
        if matches!(policy, BufferSize::AutoFast | BufferSize::AutoTimeout) {
            self.follow_delivery(cx, policy, delta);
        }
    }

    #[inline(never)]
    fn follow_delivery(&mut self, cx: &SendCx<'_>, policy: BufferSize, delta: &AckDelta) {
        let mut measured = false;
        for (path, news) in self.paths.iter_mut().zip(&delta.paths) {
            if let Some(rtt) = path.rtt.srtt().filter(|_| news.user_bytes > 0) {
                measured |= path.record.delivery.on_acked(cx.now, news.user_bytes, rtt);
            }
        }
        if !measured {
            return;
        }
        let paths = self.paths.iter().filter_map(|path| {
            let in_slow_start = path.congestion.cwnd <= path.congestion.ssthresh;
            let (rtt, rto) = (path.rtt.srtt()?, path.rtt.rto());
            Some(SizedPath { rtt, rto, rate: path.record.delivery.rate(), in_slow_start })
        });
        self.enlarge_buffer(buffer_size::needed(policy, paths));
    }
}
