//! What the peer says of its receive window (RFC 9260 sections 6.1 A, 6.2.1).

use super::effects::Effect;
use super::flight::LossAccounting;
use super::outstanding::History;
use super::zero_window::{ClosedWindow, ZeroWindow, ZeroWindowView};
use super::{SendCx, Transmitter};
use crate::transmit::sack::AckDelta;
use crate::{LossDetection, ProbeEvent};

impl Transmitter {
    /// The peer's receive window in a SACK with these news.
    pub(super) fn update_peer_window(
        &mut self,
        cx: &mut SendCx<'_>,
        a_rwnd: u32,
        delta: &AckDelta,
    ) {
        self.on_peer_window(cx, a_rwnd);
        // A receiver that answers probes of its closed window is alive (RFC 9260 section 6.1 A).
        if a_rwnd == 0 && !delta.anything_new() {
            cx.effects.push(Effect::PeerAnswered);
            self.note_closed_window(cx);
        }
    }

    /// The peer answered that its window is still closed, which speaks for the paths that probe it.
    #[cold]
    fn note_closed_window(&mut self, cx: &mut SendCx<'_>) {
        let Some(closed) = &mut self.closed_window else { return };
        closed.on_answer(cx.now);
        let outstanding = &self.outstanding;
        for path in cx.book.iter().filter(|path| path.reach().is_active()) {
            let lowest = outstanding.next_unacked_on(path.id, outstanding.base());
            if lowest.is_some_and(|tsn| closed.is_probe(outstanding.get(tsn).sent_at)) {
                cx.effects.push(Effect::WindowProbeAnswered(path.id));
            }
        }
    }

    /// The peer says how large its receive window is.
    pub(crate) fn on_peer_window(&mut self, cx: &mut SendCx<'_>, a_rwnd: u32) {
        let opened = self.advertised_window == 0 && a_rwnd > 0;
        self.closed_window = match (a_rwnd, self.closed_window) {
            (0, None) => Some(ClosedWindow::new(cx.now)),
            (0, closed) => closed,
            _ => None,
        };
        self.advertised_window = u64::from(a_rwnd);
        self.queue.note_peer_window(a_rwnd);
        if opened {
            self.repeat_refused(cx);
        }
        cx.probe.on(cx.now, ProbeEvent::PeerWindow { bytes: self.peer_window() });
    }

    /// The peer's window has opened. A receiver that had no room refused what arrived, probes of the closed window among
    /// it; that is retransmitted at once instead of after timeouts that have backed off. Only what has had time to arrive
    /// counts as refused, and each chunk once, so that a window that opens and closes cannot make us flood.
    #[cold]
    fn repeat_refused(&mut self, cx: &mut SendCx<'_>) {
        let now = cx.now;
        for id in self.paths.ids() {
            let rtt = &self.paths[id].rtt;
            let patience = rtt.expected();
            let detection = LossDetection::WindowClosed;
            self.mark_lost_on(cx, id, detection, LossAccounting::Unchanged, |chunk| {
                let is_refused =
                    !chunk.history.contains(History::REPEATED) && chunk.sent_at + patience <= now;
                if is_refused {
                    chunk.history |= History::REPEATED;
                }
                is_refused
            });
            self.settle(id);
        }
    }

    /// Whether the peer's window is closed, or was when packets were polled the last time.
    pub(crate) fn is_peer_window_closed(&self) -> bool {
        self.advertised_window == 0 || self.zero_window != ZeroWindow::Idle
    }

    /// Begins to wait for a probe of the peer's window when it is closed and everything sent is acknowledged.
    #[cold]
    pub(crate) fn watch_peer_window(&mut self, cx: &SendCx<'_>) {
        if !cx.may_send() {
            return;
        }
        let view = ZeroWindowView {
            advertised: self.advertised_window,
            is_outstanding: !self.outstanding.is_empty(),
            rto: self.paths[cx.book.best()].rtt.rto(),
            longest: cx.config.policies.rto.max,
        };
        self.zero_window.observe(cx.now, &view);
    }
}
