//! The congestion controller of a path: the events that it gets, and what it allows.

use super::SendPath;
use crate::config::AssociationConfig;
use crate::congestion::window::{Family, Window};
use crate::congestion::{
    BuiltIn, Congestion, Context, Controller, Correction, CorrectionCause, Idle, NewPath,
    Parameters, Pause, Sent,
};
use crate::congestion::{GroupView, pacing};
use crate::{Duration, Instant};

impl SendPath {
    /// Puts the window back to its initial size, which `sharers` paths share, once the peer's receive window is known.
    pub(crate) fn reset_window(
        &mut self,
        config: &AssociationConfig,
        peer_window: u64,
        sharers: u64,
    ) {
        (self.control, self.window) =
            begin(&self.parameters, self.family, config, peer_window, sharers);
    }

    /// Tells the congestion controller of an event, and takes over what it allows now.
    #[inline]
    pub(crate) fn control(
        &mut self,
        now: Instant,
        group: &GroupView,
        event: impl FnOnce(&mut Congestion, &Context<'_>),
    ) {
        let cx = Context {
            now,
            path: &self.parameters,
            group,
            srtt: self.rtt.srtt(),
            smallest_rtt: self.rtt.smallest(),
            rto: self.rtt.rto(),
            flight: self.flight,
        };
        event(&mut self.control, &cx);
        self.window = self.control.window();
    }

    /// How fast packets leave, in bytes per second.
    pub(super) fn pace(&self) -> u64 {
        match self.control.pacing_rate() {
            Some(rate) => rate.as_bits_per_second() / 8,
            None => pacing::pace_of(self.window.cwnd, self.window.ssthresh, self.rtt.srtt()),
        }
    }

    /// Another mechanism wants another window.
    pub(crate) fn correct(
        &mut self,
        now: Instant,
        cause: CorrectionCause,
        cwnd: u64,
        ssthresh: Option<u64>,
    ) {
        let correction = Correction { cause, cwnd, ssthresh };
        self.control(now, &GroupView::ALONE, |it, cx| it.on_correction(cx, &correction));
    }

    /// Gives the path another window, for tests.
    #[cfg(test)]
    pub(crate) fn set_window(&mut self, cwnd: u64, ssthresh: Option<u64>) {
        self.correct(Instant::ZERO, CorrectionCause::Burst, cwnd, ssthresh);
    }

    /// Whether its controller has a slow-start threshold.
    pub(crate) fn has_ssthresh(&self) -> bool {
        self.control.ssthresh().is_some()
    }

    /// Tells the controller of a pause of retransmission timeouts.
    pub(super) fn note_idle(&mut self, now: Instant) {
        let Some(last) = self.last_data_sent.filter(|_| self.flight == 0) else { return };
        let applied = Some(self.decayed).filter(|decayed| *decayed > last);
        let periods =
            now.since(applied.unwrap_or(last)).as_nanos() / self.rtt.rto().as_nanos().max(1);
        if periods == 0 {
            return;
        }
        let pause = if applied.is_some() { Pause::GoesOn } else { Pause::Begins };
        let idle = Idle { periods, pause };
        self.control(now, &GroupView::ALONE, |it, cx| it.on_idle(cx, &idle));
        self.decayed = now;
    }

    /// The packet with what was put out goes.
    #[inline]
    pub(crate) fn packet_sent(&mut self, now: Instant) {
        let sent = Sent { bytes: core::mem::take(&mut self.packet_bytes) };
        if let Some(spread) = &mut self.spread {
            spread.pacer.on_sent(sent.bytes);
        }
        if !self.control.hears_of_packets() {
            return;
        }
        if let Some(feedback) = &mut self.feedback {
            feedback.rates.on_sent(now, self.flight.saturating_sub(sent.bytes), self.flight);
        }
        self.control(now, &GroupView::ALONE, |it, cx| it.on_sent(cx, &sent));
    }

    /// The sample that was taken at this moment, once.
    pub(crate) fn take_rtt_sample(&mut self, now: Instant) -> Option<Duration> {
        let (at, sample) = self.rtt_sample.take()?;
        (at == now).then_some(sample)
    }
}

/// The controller of a path that begins, and its window, which `sharers` paths share.
pub(super) fn begin(
    path: &Parameters,
    family: Family,
    config: &AssociationConfig,
    peer_window: u64,
    sharers: u64,
) -> (Congestion, Window) {
    let policies = &config.policies;
    let initial = Window::initial(&policies.window, path.unit, family, peer_window, sharers);
    let new = NewPath::new(*path, initial.cwnd, initial.ssthresh);
    let control = match &config.custom_congestion {
        Some(custom) => Congestion::Custom(custom.controller(&new)),
        None => Congestion::BuiltIn(BuiltIn::new(policies.congestion, &new)),
    };
    let window = control.window();
    (control, window)
}
