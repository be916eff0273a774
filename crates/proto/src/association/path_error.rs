//! What the system says of a path: packets too big for it, or pairs of addresses that it does not serve.

use super::Association;
use crate::paths::reach::{Signal, Transition};
use crate::{Cx, PathError, PathId};

impl Association {
    pub(super) fn apply_path_error(&mut self, cx: &mut Cx<'_>, id: PathId, error: PathError) {
        if self.paths.get(id).is_none() {
            return;
        }
        match error {
            PathError::PacketTooBig { mtu_bytes } => self.packet_too_big(cx, id, mtu_bytes),
            PathError::Refused if self.state.is_handshake() => self.handshake_refused(cx.now, id),
            PathError::Refused => {
                self.path_refused(cx, id);
            }
        }
    }

    /// Nothing can be sent on the path. Returns what that changed.
    pub(super) fn path_refused(&mut self, cx: &mut Cx<'_>, id: PathId) -> Transition {
        let transition = self.lose_path(id, Signal::Refused);
        if transition != Transition::None {
            self.transmitter.on_path_lost(id);
            if self.state.is_connected() {
                self.schedule_heartbeat(cx, id);
            }
        }
        transition
    }
}
