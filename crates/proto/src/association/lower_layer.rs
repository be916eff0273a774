//! What a lower layer says of the way below it (RFC 8261 section 6.1).

use super::Association;
use crate::{Cx, Encapsulation, PathId};

impl Association {
    /// The lower layer takes another way: nothing is known of it.
    pub(super) fn begin_on_another_way(&mut self, cx: &mut Cx<'_>) {
        let is_below = |id: &PathId| self.paths[*id].encapsulation == Encapsulation::LowerLayer;
        let Some(id) = self.paths.ids().find(is_below) else { return };
        if !self.state.is_connected() {
            return;
        }
        // What is under way on the old one may be lost, and tells nothing of the new one.
        let (transmitter, mut send_cx) = self.sending(cx);
        transmitter.on_path_lost(&mut send_cx, id);
        self.apply_effects(cx);
        self.begin_anew(id);
        self.follow_reachability(id);
        self.settle_mtus(cx);
        self.fit_fragments();
        // Its answer measures the way.
        self.send_heartbeat(cx, id);
    }
}
