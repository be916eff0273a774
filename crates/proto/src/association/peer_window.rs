//! What the peer says of its receive window (RFC 9260 sections 6.1 A, 6.2.1).

use super::Association;
use crate::probe::TransmissionCause;
use crate::transmit::outstanding::History;
use crate::transmit::sack::AckDelta;
use crate::transmit::zero_window::ClosedWindow;
use crate::{Cx, Instant, ProbeEvent};

impl Association {
    /// The peer's window in a SACK with these news.
    pub(super) fn update_peer_window(&mut self, cx: &mut Cx<'_>, a_rwnd: u32, delta: &AckDelta) {
        self.take_peer_window(cx, a_rwnd);
        // A receiver that answers probes of its closed window is alive (RFC 9260 section 6.1 A).
        if a_rwnd == 0 && !delta.anything_new() {
            self.errors = 0;
            self.note_closed_window(cx.now);
        }
    }

    /// The peer answered that its window is still closed, which speaks for the paths that probe it.
    fn note_closed_window(&mut self, now: Instant) {
        let Some(closed) = &mut self.sender.closed_window else { return };
        closed.on_answer(now);
        let window = &self.sender.window;
        for path in self.paths.iter_mut().filter(|path| path.reach.is_active()) {
            let lowest = window.next_unacked_on(path.id, window.base());
            if lowest.is_some_and(|tsn| closed.is_probe(window.get(tsn).sent_at)) {
                path.errors = 0;
            }
        }
    }

    /// The peer told its receive window.
    pub(super) fn take_peer_window(&mut self, cx: &mut Cx<'_>, a_rwnd: u32) {
        let opened = self.sender.advertised_window == 0 && a_rwnd > 0;
        self.sender.closed_window = match (a_rwnd, self.sender.closed_window) {
            (0, None) => Some(ClosedWindow::new(cx.now)),
            (0, closed) => closed,
            _ => None,
        };
        self.sender.advertised_window = u64::from(a_rwnd);
        if opened {
            self.repeat_refused(cx.now);
        }
        cx.probe.on(cx.now, ProbeEvent::PeerWindow { bytes: self.sender.peer_window() });
    }

    /// The peer's window has opened. A receiver that had no room refused what arrived, probes of the closed window among
    /// it; that is sent again at once instead of after timeouts that have backed off. Only what has had time to arrive
    /// counts as refused, and each chunk once, so that a window that opens and closes cannot make us flood.
    fn repeat_refused(&mut self, now: Instant) {
        for path in self.paths.iter_mut() {
            let patience = path.rtt.srtt().unwrap_or_else(|| path.rtt.rto());
            let window = &mut self.sender.window;
            let mut from = window.base();
            while let Some(tsn) = window.next_unacked_on(path.id, from) {
                from = tsn.next();
                let chunk = window.get_mut(tsn);
                if chunk.history.contains(History::REPEATED) || chunk.sent_at + patience > now {
                    continue;
                }
                chunk.history |= History::REPEATED;
                if let Some((_, charge)) = window.mark_lost(tsn, TransmissionCause::WindowProbe) {
                    path.take_out(tsn, charge);
                }
            }
            if path.flight == 0 {
                path.t3 = None;
            }
        }
    }
}
