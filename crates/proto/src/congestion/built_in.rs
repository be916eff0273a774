//! The controllers that the stack brings.

use alloc::boxed::Box;

use polypath_units::BitRate;

use super::aimd::Aimd;
use super::bbr::Bbr;
use super::cubic::Cubic;
use super::window::Window;
use super::{
    Acked, Context, Controller, Correction, EcnMarks, Idle, Loss, NewPath, Sent, SpuriousLoss,
    Timeout,
};
use crate::config::CongestionAlgorithm;

/// A built-in controller of one path.
///
/// It is public so that a controller of your own can hold one and change only some of its answers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BuiltIn(Kind);

/// Which one it is. The large ones are apart, so that paths with the small ones stay small.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Kind {
    Aimd(Aimd),
    Cubic(Box<Cubic>),
    Bbr(Box<Bbr>),
}

/// Calls the same method of whichever controller it is.
macro_rules! ask {
    ($self:ident, $method:ident($($argument:expr),*)) => {
        match &$self.0 {
            Kind::Aimd(it) => it.$method($($argument),*),
            Kind::Cubic(it) => it.$method($($argument),*),
            Kind::Bbr(it) => it.$method($($argument),*),
        }
    };
    (mut $self:ident, $method:ident($($argument:expr),*)) => {
        match &mut $self.0 {
            Kind::Aimd(it) => it.$method($($argument),*),
            Kind::Cubic(it) => it.$method($($argument),*),
            Kind::Bbr(it) => it.$method($($argument),*),
        }
    };
}

impl BuiltIn {
    /// A controller for a path at its start.
    pub fn new(algorithm: CongestionAlgorithm, path: &NewPath) -> Self {
        Self(match algorithm {
            CongestionAlgorithm::Cubic => Kind::Cubic(Box::new(Cubic::new(path))),
            CongestionAlgorithm::Bbr => Kind::Bbr(Box::new(Bbr::new(path))),
            _ => Kind::Aimd(Aimd::new(algorithm, path)),
        })
    }

    /// What it allows now.
    #[inline]
    pub(super) fn window(&self) -> Window {
        match &self.0 {
            Kind::Aimd(it) => it.window(),
            Kind::Cubic(it) => it.window(),
            Kind::Bbr(it) => it.window(),
        }
    }

    /// Whether it looks at each packet that is sent.
    #[inline]
    pub(super) fn hears_of_packets(&self) -> bool {
        !matches!(self.0, Kind::Aimd(_))
    }

    /// Bytes that the path delivers between losses, as its group sees it.
    pub(super) fn between_losses(&self) -> u64 {
        match &self.0 {
            Kind::Aimd(it) => it.between_losses(),
            Kind::Cubic(_) | Kind::Bbr(_) => 0,
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
}
