//! What the system says of a path: packets too big for it, or pairs of addresses that it does not serve.

use super::Association;
use crate::path::Path;
use crate::path::reach::{Signal, Transition};
use crate::probe::TransmissionCause;
use crate::{Cx, PathError, PathId};

/// Least MTU that is believed: what every IPv4 host must be able to receive (RFC 9260 section 7.3), and every IPv6 link
/// must carry. Less is a forgery, or not worth fragments of a few bytes.
const fn least_mtu(path: &Path) -> u32 {
    if path.remote.is_ipv4() { 576 } else { 1280 }
}

impl Association {
    pub(super) fn apply_path_error(&mut self, cx: &mut Cx<'_>, id: PathId, error: PathError) {
        if self.paths.get(id).is_none() {
            return;
        }
        match error {
            PathError::PacketTooBig { mtu_bytes } => self.shrink_mtu(id, mtu_bytes),
            PathError::Refused if self.state.is_handshake() => self.handshake_refused(id),
            PathError::Refused => self.path_refused(cx, id),
        }
    }

    fn shrink_mtu(&mut self, id: PathId, mtu_bytes: u32) {
        let path = &mut self.paths[id];
        path.mtu = mtu_bytes.clamp(least_mtu(path), path.mtu.max(least_mtu(path)));
        self.max_fragment = self.paths.iter().map(Path::max_chunk_payload).min().unwrap_or(0);
    }

    pub(super) fn path_refused(&mut self, cx: &mut Cx<'_>, id: PathId) {
        if self.lose_path(id, Signal::Refused) == Transition::None {
            return;
        }
        self.abandon_flight(id);
        if self.state.is_synchronized() {
            self.schedule_heartbeat(cx, id);
        }
    }

    /// Nothing more comes back on the path: what is in flight there goes elsewhere.
    pub(super) fn abandon_flight(&mut self, id: PathId) {
        let path = &mut self.paths[id];
        path.t3 = None;
        path.timed = None;
        path.awaited = None;
        let window = &mut self.sender.window;
        let mut from = window.base();
        while let Some(tsn) = window.next_unacked_on(id, from) {
            if let Some((_, charge)) = window.mark_lost(tsn, TransmissionCause::TimerRetransmission)
            {
                path.flight = path.flight.saturating_sub(u64::from(charge));
            }
            from = tsn.next();
        }
    }
}
