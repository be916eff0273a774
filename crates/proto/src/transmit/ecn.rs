//! Explicit congestion notification of the sender: which packets can be marked, and what echoes of marks do.

use alloc::boxed::Box;

use polypath_wire::{Cwr, Ecne};

use super::outstanding::History;
use super::{SendCx, Transmitter};
use crate::config::Reduction;
use crate::congestion::{Controller, EcnMarks};
use crate::extension::ecn::reaction::{EchoView, Marks, PathMarks};
use crate::{Ecn, PathId, ProbeEvent, Tsn};

/// CWR that answers an echo.
#[derive(Debug)]
pub(crate) struct EchoAnswer {
    pub(crate) cwr: Cwr,
    /// The path that it takes; any, if the path of the marked packet is not known or does not work.
    pub(crate) path: Option<PathId>,
}

impl Transmitter {
    /// Learns from the handshake whether both sides have ECN.
    pub(crate) fn settle_ecn(&mut self, is_agreed: bool) {
        self.reactions = is_agreed.then(Box::default);
    }

    /// With what codepoint a packet leaves: only new data can be marked (draft-stewart-tsvwg-sctpecn-05 sections 5.4 and 5.5).
    /// `new_data` is the first TSN of a packet that has nothing but new data.
    #[inline]
    pub(crate) fn codepoint(&mut self, path: PathId, new_data: Option<Tsn>) -> Ecn {
        let Self { reactions: Some(reactions), outstanding, stats, .. } = self else {
            return Ecn::NotEct;
        };
        let Some(first) = new_data else { return Ecn::NotEct };
        let marks = reactions.path(path);
        if !marks.may_be_capable() {
            return Ecn::NotEct;
        }
        stats.seldom.ecn_capable_packets_sent += 1;
        marks.on_sent(first, |tsn| !outstanding.contains(tsn) || outstanding.get(tsn).is_acked());
        Ecn::Ect0
    }

    /// What was learned on a path says nothing of another network.
    pub(crate) fn forget_marks(&mut self, path: PathId) {
        if let Some(reactions) = &mut self.reactions {
            *reactions.path(path) = PathMarks::default();
        }
    }

    /// Whether a path gets no ECN-capable packets, since they vanish there.
    pub(crate) fn drops_capable(&self, path: PathId) -> bool {
        let marks = self.reactions.as_ref().and_then(|reactions| reactions.known(path));
        marks.is_some_and(|marks| !marks.may_be_capable())
    }

    /// T3-rtx of a path expired: ECN-capable packets may be what the path drops.
    pub(super) fn doubt_codepoint(&mut self, path: PathId) {
        let Self { reactions: Some(reactions), outstanding, stats, .. } = self else { return };
        let is_acked = |tsn| !outstanding.contains(tsn) || outstanding.get(tsn).is_acked();
        if reactions.path(path).on_timeout(is_acked) {
            stats.seldom.ecn_paths_given_up += 1;
        }
    }

    /// The receiver echoes marks. Nothing is believed of TSNs that were not sent; where it cannot be told any more on which
    /// path the marked packet went, CWR only ends the echo.
    pub(crate) fn on_ecn_echo(&mut self, cx: &mut SendCx<'_>, echo: &Ecne) -> Option<EchoAnswer> {
        let tsn = Tsn(echo.lowest_tsn);
        let (base, next) = (self.outstanding.base(), self.outstanding.next_tsn());
        let Self { reactions: Some(reactions), outstanding, stats, .. } = self else { return None };
        if !tsn.is_before(next) {
            stats.seldom.ecn_echoes_refused += 1;
            return None;
        }
        stats.seldom.ecn_echoes_received += 1;
        let chunk = outstanding.contains(tsn).then(|| outstanding.get(tsn));
        // What has moved was marked where it went first.
        let chunk = chunk.filter(|chunk| !chunk.history.contains(History::MOVED));
        let Some(id) = chunk.map(|chunk| chunk.path).or_else(|| reactions.echoed_on(tsn)) else {
            let rtts = self.paths.iter().map(|path| path.rtt.expected());
            let answers = reactions.answers_unknown(cx.now, rtts.min().unwrap_or_default());
            return answers.then_some(answer(tsn, None));
        };
        let path = &self.paths[id];
        let marked = reactions.path(id);
        let pause = path.rtt.srtt().unwrap_or(path.rtt.rto());
        let answers = marked.answers(cx.now, pause);
        if chunk.is_some() {
            let marks = marked.on_echo(&EchoView {
                tsn,
                packets: echo.marked_packets,
                outstanding: (base, next.previous()),
                in_recovery: self.recovery.is_active() || path.recovery.is_active(),
            });
            self.react_to_marks(cx, id, marks);
        }
        let works = cx.book[id].reach().is_active();
        answers.then(|| answer(tsn, works.then_some(id)))
    }

    /// Tells the controller of marks. Where it reduces the window, fast recovery begins, though nothing is retransmitted: until what is
    /// outstanding now has arrived, neither losses nor marks reduce the window again, and it does not grow.
    fn react_to_marks(&mut self, cx: &mut SendCx<'_>, id: PathId, marks: Marks) {
        if marks.packets == 0 {
            return;
        }
        cx.probe.on(cx.now, ProbeEvent::PathMarked { path: id, packets: marks.packets });
        let groups = self.group_views(cx);
        let event = EcnMarks { packets: marks.packets, in_recovery: marks.in_recovery };
        if marks.reduce() {
            self.begin_recovery(cx, id);
            self.stats.seldom.ecn_reductions += 1;
        }
        let path = &mut self.paths[id];
        let old = path.congestion;
        path.control(cx.now, groups.view(id), |it, cx| it.on_ecn(cx, &event));
        if marks.reduce() {
            let proportional = cx.config.policies.window.reduction == Reduction::Proportional;
            // A window below the least threshold stays, and the threshold says nothing of it.
            let is_reduced = path.congestion.ssthresh <= path.congestion.cwnd;
            if proportional && path.has_ssthresh() && is_reduced {
                path.record.reduction.begin(path.flight);
            }
            cx.probe.on(cx.now, ProbeEvent::FastRecoveryEntered { path: id });
        }
        if marks.reduce() || path.congestion != old {
            cx.probe.on(cx.now, path.congestion_event());
        }
    }
}

/// CWR for an echo of this TSN.
fn answer(tsn: Tsn, path: Option<PathId>) -> EchoAnswer {
    EchoAnswer { cwr: Cwr { override_mark: path.is_none(), tsn: tsn.0 }, path }
}
