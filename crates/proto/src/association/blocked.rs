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
        self.total = self.total_at(now);
        self.since = Some((now, cause));
    }

    /// The account up to `now`.
    pub(super) fn total_at(&self, now: Instant) -> BlockedTime {
        let mut total = self.total;
        if let Some((since, cause)) = self.since {
            let elapsed = now.since(since);
            match cause {
                BlockedCause::Application => total.application += elapsed,
                BlockedCause::SendBuffer => total.send_buffer += elapsed,
                BlockedCause::CongestionWindow => total.congestion_window += elapsed,
                BlockedCause::PeerWindow => total.peer_window += elapsed,
                BlockedCause::BufferShare => total.buffer_share += elapsed,
                BlockedCause::NoPath => total.no_path += elapsed,
            }
        }
        total
    }

    /// Why the last flush ended.
    pub(super) fn cause(&self) -> Option<BlockedCause> {
        self.since.map(|(_, cause)| cause)
    }

    pub(super) fn total(&self) -> BlockedTime {
        self.total
    }
}
