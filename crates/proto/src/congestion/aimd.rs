//! Additive increase, multiplicative decrease: slow start x window adjustment x coupling.

use super::NewPath;
use super::coupled::Coupling;
use super::reno::{Growth, Reno};
use super::window::Window;
use super::{
    Acked, Context, Controller, Correction, CorrectionCause, Idle, Loss, LossCause, Recovery,
    Timeout,
};
use crate::config::CongestionAlgorithm;

/// Window of one path by section 7.2 of RFC 9260, alone or coupled: the RFC decides when it grows; the coupling decides by
/// how much, and what a loss leaves.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Aimd {
    pub(super) window: Window,
    pub(super) adjustment: Reno,
    pub(super) coupling: Coupling,
    initial_cwnd: u64,
}

impl Aimd {
    /// A controller for a path at its start. An algorithm that does more than this one is taken as uncoupled.
    pub(crate) fn new(algorithm: CongestionAlgorithm, path: &NewPath) -> Self {
        let window = Window { cwnd: path.initial_cwnd, ssthresh: path.initial_ssthresh };
        Self {
            window,
            adjustment: Reno::default(),
            coupling: Coupling::new(algorithm),
            initial_cwnd: path.initial_cwnd,
        }
    }

    /// What it allows now.
    pub(super) fn window(&self) -> Window {
        self.window
    }

    /// Bytes that the path delivers between losses, as its group sees it.
    pub(super) fn between_losses(&self) -> u64 {
        self.coupling.intervals.longest()
    }

    /// The threshold takes what a loss leaves; counting begins anew.
    fn reduce(&mut self, cx: &Context<'_>) {
        self.window.ssthresh = self.coupling.threshold(self.window.cwnd, cx.path, cx.group);
        self.adjustment.partial_bytes_acked = 0;
        self.coupling.intervals.on_loss();
    }
}

impl Controller for Aimd {
    fn on_ack(&mut self, cx: &Context<'_>, acked: &Acked) {
        self.coupling.intervals.on_acked(acked.acked_bytes);
        if acked.acked_bytes == 0 || acked.recovery == Recovery::On {
            return;
        }
        let due = self.adjustment.due(&self.window, cx.path, acked);
        if due == Growth::None {
            return;
        }
        let window = &mut self.window;
        let step = self.coupling.step(due, window.cwnd, cx.group);
        // A step back never leads below the smallest window.
        let smallest = cx.path.unit.min(window.cwnd);
        window.cwnd = window.cwnd.saturating_add_signed(step).max(smallest);
    }

    /// Reduction when fast recovery begins (RFC 9260 section 7.2.4). What a report says was damaged is no congestion.
    fn on_loss(&mut self, cx: &Context<'_>, loss: &Loss) {
        if loss.cause != LossCause::DropReport && loss.recovery == Recovery::Off {
            self.reduce(cx);
            self.window.cwnd = self.window.ssthresh;
        }
    }

    /// Reduction when T3-rtx expires (RFC 9260 section 7.2.3).
    fn on_timeout(&mut self, cx: &Context<'_>, _: &Timeout) {
        self.reduce(cx);
        self.window.cwnd = cx.path.unit;
    }

    fn on_idle(&mut self, cx: &Context<'_>, idle: &Idle) {
        self.adjustment.on_idle(&mut self.window, cx.path, idle, self.initial_cwnd);
    }

    fn on_correction(&mut self, _: &Context<'_>, correction: &Correction) {
        self.window.cwnd = correction.cwnd;
        self.window.ssthresh = correction.ssthresh.unwrap_or(self.window.ssthresh);
        let begins_anew =
            matches!(correction.cause, CorrectionCause::Restart | CorrectionCause::BottleneckFull);
        if begins_anew {
            self.adjustment.partial_bytes_acked = 0;
        }
    }

    fn cwnd(&self) -> u64 {
        self.window.cwnd
    }

    fn ssthresh(&self) -> Option<u64> {
        Some(self.window.ssthresh)
    }
}
