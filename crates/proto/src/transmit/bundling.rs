//! Messages that wait for others to share a packet with (`SCTP_NODELAY`).

use super::{SendCx, SendPhase, Transmitter};
use crate::config::SmallMessages;
use crate::mechanism::nagle;

impl Transmitter {
    /// Learns whether small messages wait in this flush. Nothing does that the end of the association waits for.
    pub(super) fn settle_small_messages(&mut self, cx: &SendCx<'_>) {
        self.small_messages = match cx.phase {
            SendPhase::Draining => SmallMessages::Immediate,
            SendPhase::Open | SendPhase::Closed => cx.config.small_messages,
        };
    }

    /// Whether what waits is too little for a packet, and more may come before the peer has acknowledged what was sent.
    #[inline]
    pub(super) fn gathers(&self) -> bool {
        self.small_messages == SmallMessages::Bundled && self.waits_for_more()
    }

    #[inline(never)]
    fn waits_for_more(&self) -> bool {
        let waiting = nagle::Waiting {
            messages: self.queue.len() as u64,
            bytes: self.queue.waiting(),
            has_begun: self.queue.has_begun(),
            unacknowledged: self.outstanding.in_flight_count() + self.outstanding.lost_count(),
        };
        nagle::waits(waiting, self.max_fragment, self.chunk.header_bytes())
    }
}
