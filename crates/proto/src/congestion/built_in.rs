//! The controllers that the stack brings.

use alloc::boxed::Box;

use polypath_units::BitRate;

use super::aimd::Aimd;
use super::bbr::Bbr;
use super::cubic::Cubic;
use super::window::CongestionWindow;
use super::{
    Acked, Context, Controller, Correction, EcnMarks, Idle, Loss, MeasuredRate, NewPath, Sent,
    SpuriousLoss, Timeout,
};
use crate::config::CongestionAlgorithm;

/// A built-in controller of one path.
///
/// It is public so that a controller of your own can hold one and change only some of its answers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BuiltIn(BuiltInKind);

/// Which one it is. The large ones are apart and begin with the first event, so that idle paths stay small.
#[derive(Clone, PartialEq, Eq, Debug)]
enum BuiltInKind {
    Fresh(Fresh),
    Aimd(Aimd),
    Cubic(Box<Cubic>),
    Bbr(Box<Bbr>),
}

/// A large controller before its first event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Fresh {
    model: Model,
    cwnd: u64,
    ssthresh: u64,
}

/// The large controllers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Model {
    Cubic,
    Bbr,
}

/// Calls the same method of whichever controller it is.
macro_rules! ask {
    ($self:ident, $method:ident($($argument:expr),*)) => {
        match &$self.0 {
            BuiltInKind::Fresh(it) => it.$method($($argument),*),
            BuiltInKind::Aimd(it) => it.$method($($argument),*),
            BuiltInKind::Cubic(it) => it.$method($($argument),*),
            BuiltInKind::Bbr(it) => it.$method($($argument),*),
        }
    };
    (mut $self:ident, $method:ident($cx:expr, $event:expr)) => {{
        $self.begin($cx);
        match &mut $self.0 {
            BuiltInKind::Fresh(_) => {}
            BuiltInKind::Aimd(it) => it.$method($cx, $event),
            BuiltInKind::Cubic(it) => it.$method($cx, $event),
            BuiltInKind::Bbr(it) => it.$method($cx, $event),
        }
    }};
}

impl Fresh {
    fn cwnd(&self) -> u64 {
        self.cwnd
    }

    fn ssthresh(&self) -> Option<u64> {
        (self.model == Model::Cubic).then_some(self.ssthresh)
    }

    fn pacing_rate(&self) -> Option<BitRate> {
        None
    }

    fn delivery_rate(&self) -> Option<MeasuredRate> {
        None
    }

    #[cold]
    fn controller(self, cx: &Context<'_>) -> BuiltInKind {
        let path = NewPath::new(*cx.path, self.cwnd, self.ssthresh);
        match self.model {
            Model::Cubic => BuiltInKind::Cubic(Box::new(Cubic::new(&path))),
            Model::Bbr => BuiltInKind::Bbr(Box::new(Bbr::new(&path))),
        }
    }

    fn window(&self) -> CongestionWindow {
        let ssthresh = self.ssthresh().unwrap_or(u64::MAX);
        CongestionWindow { cwnd: self.cwnd.max(1), ssthresh }
    }
}

impl BuiltIn {
    /// A controller for a path at its start.
    pub fn new(algorithm: CongestionAlgorithm, path: &NewPath) -> Self {
        let fresh = |model| {
            let (cwnd, ssthresh) = (path.initial_cwnd, path.initial_ssthresh);
            BuiltInKind::Fresh(Fresh { model, cwnd, ssthresh })
        };
        Self(match algorithm {
            CongestionAlgorithm::Cubic => fresh(Model::Cubic),
            CongestionAlgorithm::Bbr => fresh(Model::Bbr),
            _ => BuiltInKind::Aimd(Aimd::new(algorithm, path)),
        })
    }

    /// The first event: a large controller takes the place of what only had its window.
    #[inline]
    fn begin(&mut self, cx: &Context<'_>) {
        if let BuiltInKind::Fresh(fresh) = self.0 {
            self.0 = fresh.controller(cx);
        }
    }

    /// Forgets the model of a path that was idle for long, and frees its memory. Returns whether there was one.
    pub(super) fn forget(&mut self) -> bool {
        let BuiltInKind::Bbr(bbr) = &self.0 else { return false };
        let cwnd = bbr.initial_cwnd();
        self.0 = BuiltInKind::Fresh(Fresh { model: Model::Bbr, cwnd, ssthresh: u64::MAX });
        true
    }

    /// What it allows now.
    #[inline]
    pub(super) fn window(&self) -> CongestionWindow {
        match &self.0 {
            BuiltInKind::Fresh(it) => it.window(),
            BuiltInKind::Aimd(it) => it.window(),
            BuiltInKind::Cubic(it) => it.window(),
            BuiltInKind::Bbr(it) => it.window(),
        }
    }

    /// Whether it needs every sent packet.
    #[inline]
    pub(super) fn hears_of_packets(&self) -> bool {
        !matches!(self.0, BuiltInKind::Aimd(_))
    }

    /// Bytes that the path delivers between losses, as its group sees it.
    pub(super) fn between_losses(&self) -> u64 {
        match &self.0 {
            BuiltInKind::Aimd(it) => it.between_losses(),
            BuiltInKind::Fresh(_) | BuiltInKind::Cubic(_) | BuiltInKind::Bbr(_) => 0,
        }
    }
}

impl Controller for BuiltIn {
    #[inline]
    fn on_sent(&mut self, cx: &Context<'_>, sent: &Sent) {
        ask!(mut self, on_sent(cx, sent));
    }

    #[inline]
    fn on_ack(&mut self, cx: &Context<'_>, acked: &Acked) {
        ask!(mut self, on_ack(cx, acked));
    }

    fn on_loss(&mut self, cx: &Context<'_>, loss: &Loss) {
        ask!(mut self, on_loss(cx, loss));
    }

    fn on_timeout(&mut self, cx: &Context<'_>, timeout: &Timeout) {
        ask!(mut self, on_timeout(cx, timeout));
    }

    fn on_spurious_loss(&mut self, cx: &Context<'_>, spurious: &SpuriousLoss) {
        ask!(mut self, on_spurious_loss(cx, spurious));
    }

    fn on_ecn(&mut self, cx: &Context<'_>, marks: &EcnMarks) {
        ask!(mut self, on_ecn(cx, marks));
    }

    fn on_idle(&mut self, cx: &Context<'_>, idle: &Idle) {
        ask!(mut self, on_idle(cx, idle));
    }

    fn on_correction(&mut self, cx: &Context<'_>, correction: &Correction) {
        ask!(mut self, on_correction(cx, correction));
    }

    fn cwnd(&self) -> u64 {
        ask!(self, cwnd())
    }

    fn ssthresh(&self) -> Option<u64> {
        ask!(self, ssthresh())
    }

    fn pacing_rate(&self) -> Option<BitRate> {
        ask!(self, pacing_rate())
    }

    fn delivery_rate(&self) -> Option<MeasuredRate> {
        ask!(self, delivery_rate())
    }
}
