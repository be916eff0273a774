//! How long the sender could not send, by cause.

use crate::{BlockedTime, Instant};

/// Why nothing could be sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Cause {
    Application,
    SendBuffer,
    CongestionWindow,
    PeerWindow,
    BufferShare,
    NoPath,
}

/// Account of the time between one flush and the next, by what stopped the former.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Blocked {
    since: Option<(Instant, Cause)>,
    total: BlockedTime,
}

impl Blocked {
    /// A flush ended at `now` because of `cause`.
    pub(super) fn enter(&mut self, now: Instant, cause: Cause) {
        self.total = self.total_at(now);
        self.since = Some((now, cause));
    }

    /// The account up to `now`.
    pub(super) fn total_at(&self, now: Instant) -> BlockedTime {
        let mut total = self.total;
        if let Some((since, cause)) = self.since {
            let elapsed = now.since(since);
            match cause {
                Cause::Application => total.application += elapsed,
                Cause::SendBuffer => total.send_buffer += elapsed,
                Cause::CongestionWindow => total.congestion_window += elapsed,
                Cause::PeerWindow => total.peer_window += elapsed,
                Cause::BufferShare => total.buffer_share += elapsed,
                Cause::NoPath => total.no_path += elapsed,
            }
        }
        total
    }

    pub(super) fn total(&self) -> BlockedTime {
        self.total
    }
}
