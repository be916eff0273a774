//! Congestion control, per path.
//!
//! A [`Controller`] receives the events of one path and determines its window. The built-in ones ([`BuiltIn`]) are
//! those of RFC 9260 and CMT (`aimd`), composed of slow start (`slow_start`), the window adjustment of RFC 9260 section
//! 7.2 (`reno`) and a coupling with the other paths of the group (`coupled`), CUBIC (`cubic`) and BBR (`bbr`). A
//! controller of a program is set by [`custom_congestion`](crate::config::AssociationConfig::custom_congestion).

mod aimd;
mod bbr;
pub(crate) mod buffer_pace;
mod built_in;
pub(crate) mod burst;
pub(crate) mod coupled;
pub(crate) mod cubic;
pub(crate) mod pacing;
mod parameters;
pub(crate) mod path_fill;
pub(crate) mod rate_reduction;
pub(crate) mod recovery;
pub(crate) mod reno;
mod slow_start;
pub(crate) mod window;
mod window_use;

pub use crate::config::plug_in::{
    Acked, Context, Controller, Correction, CorrectionCause, CustomCongestion, EcnMarks, GroupView,
    Idle, Loss, LossCause, LossSample, MeasuredRate, NewPath, Parameters, Pause, RateLimit,
    RateSample, Rates, Sent, SpuriousLoss, Timeout,
};
#[cfg(test)]
pub(crate) use aimd::Aimd;
pub use built_in::BuiltIn;

use alloc::boxed::Box;

use polypath_units::BitRate;

use window::CongestionWindow;

/// The controller of one path: a built-in one without indirection, or one from outside.
#[derive(Debug)]
pub(crate) enum Congestion {
    BuiltIn(BuiltIn),
    Custom(Box<dyn Controller>),
}

/// Calls the same method of whichever controller it is.
macro_rules! ask {
    ($self:ident, $method:ident($($argument:expr),*)) => {
        match $self {
            Self::BuiltIn(it) => it.$method($($argument),*),
            Self::Custom(it) => it.$method($($argument),*),
        }
    };
}

impl Congestion {
    /// What it allows now.
    #[inline]
    pub(crate) fn window(&self) -> CongestionWindow {
        match self {
            Self::BuiltIn(it) => it.window(),
            Self::Custom(it) => CongestionWindow {
                // A path on which nothing is outstanding may send, or nothing would ever happen there.
                cwnd: it.cwnd().max(1),
                ssthresh: it.ssthresh().unwrap_or(u64::MAX),
            },
        }
    }

    /// Forgets its model of a path that has long been idle. Returns whether it had one.
    pub(crate) fn forget(&mut self) -> bool {
        match self {
            Self::BuiltIn(it) => it.forget(),
            Self::Custom(_) => false,
        }
    }

    /// Whether it wants to know of each packet that is sent.
    #[inline]
    pub(crate) fn hears_of_packets(&self) -> bool {
        match self {
            Self::BuiltIn(it) => it.hears_of_packets(),
            Self::Custom(_) => true,
        }
    }

    /// Bytes that the path delivers between losses, as far as its controller knows.
    pub(crate) fn between_losses(&self) -> u64 {
        match self {
            Self::BuiltIn(it) => it.between_losses(),
            Self::Custom(_) => 0,
        }
    }
}

impl Controller for Congestion {
    #[inline]
    fn on_sent(&mut self, cx: &Context<'_>, sent: &Sent) {
        ask!(self, on_sent(cx, sent));
    }

    #[inline]
    fn on_ack(&mut self, cx: &Context<'_>, acked: &Acked) {
        ask!(self, on_ack(cx, acked));
    }

    fn on_loss(&mut self, cx: &Context<'_>, loss: &Loss) {
        ask!(self, on_loss(cx, loss));
    }

    fn on_timeout(&mut self, cx: &Context<'_>, timeout: &Timeout) {
        ask!(self, on_timeout(cx, timeout));
    }

    fn on_spurious_loss(&mut self, cx: &Context<'_>, spurious: &SpuriousLoss) {
        ask!(self, on_spurious_loss(cx, spurious));
    }

    fn on_ecn(&mut self, cx: &Context<'_>, marks: &EcnMarks) {
        ask!(self, on_ecn(cx, marks));
    }

    fn on_idle(&mut self, cx: &Context<'_>, idle: &Idle) {
        ask!(self, on_idle(cx, idle));
    }

    fn on_correction(&mut self, cx: &Context<'_>, correction: &Correction) {
        ask!(self, on_correction(cx, correction));
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

#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;
