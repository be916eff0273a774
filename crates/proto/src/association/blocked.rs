//! How long the sender could not send, by cause.

use crate::{BlockedCause, BlockedTime, Instant};

/// Account of the time between one flush and the next, by what stopped the former.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Blocked {
    since: Option<(Instant, BlockedCause)>,
    total: BlockedTime,
}

impl Blocked {
    /// A flush ended at `now` because of `cause`.
    pub(super) fn enter(&mut self, now: Instant, cause: BlockedCause) {
        self.settle(now);
        self.since = Some((now, cause));
    }

    /// The account up to `now`.
    pub(super) fn total_at(&self, now: Instant) -> BlockedTime {
        let mut account = *self;
        account.settle(now);
        account.total
    }

    /// Enters the time since the last flush.
    fn settle(&mut self, now: Instant) {
        let Some((since, cause)) = self.since else { return };
        let total = match cause {
            BlockedCause::Application => &mut self.total.application,
            BlockedCause::SendBuffer => &mut self.total.send_buffer,
            BlockedCause::CongestionWindow => &mut self.total.congestion_window,
            BlockedCause::PeerWindow => &mut self.total.peer_window,
            BlockedCause::BufferShare => &mut self.total.buffer_share,
            BlockedCause::NoPath => &mut self.total.no_path,
        };
        *total += now.since(since);
    }

    /// Why the last flush ended.
    pub(super) fn cause(&self) -> Option<BlockedCause> {
        self.since.map(|(_, cause)| cause)
    }

    pub(super) fn total(&self) -> BlockedTime {
        self.total
    }
}
