//! CUBIC (RFC 9438): after a loss the window first returns quickly to its previous size, stays near it, and then probes
//! beyond, as a cubic function of time and not of round trips. HyStart++ (RFC 9406) ends the first slow start.
//!
//! Acknowledged bytes count according to `policies.cwnd_update`: data beyond a gap lets the window grow when the gap
//! closes. RTT samples are those of [`RateSample`](super::RateSample): SACKs over another path, or delayed ones, are
//! longer, and the shortest of at least eight in a round counts.

mod curve;
mod hystart;
#[cfg(test)]
mod tests;

use polypath_units::{BitRate, ByteCount};

use super::reno::Reno;
use super::window::CongestionWindow;
use super::window_use::WindowUse;
use super::{
    Acked, Context, Controller, Correction, CorrectionCause, EcnMarks, Idle, Loss, LossCause,
    NewPath, Sent, SpuriousLoss, Timeout,
};
use crate::{Duration, Instant};
use curve::Curve;
use hystart::HyStart;

/// Part of the window that a loss leaves, beta_cubic, in tenths.
const BETA_TENTHS: u64 = 7;
/// alpha_cubic = 3 (1 - beta) / (1 + beta) = 9 / 17.
const ALPHA: (u128, u128) = (9, 17);
/// Fraction bits of the estimate of Reno's window.
const FRACTION: u32 = 16;

/// CUBIC on one path.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Cubic {
    window: CongestionWindow,
    initial_cwnd: u64,
    start: HyStart,
    /// The window at the last loss, W_max, in bytes; `None` before the first loss and after a timeout.
    plateau: Option<u64>,
    /// The window before the last reduction, cwnd_prior, in bytes.
    prior: u64,
    /// Congestion avoidance since the last loss or slow start.
    stage: Option<Stage>,
    usage: WindowUse,
    /// Bytes acknowledged beyond a gap.
    disordered: u64,
    /// What a spurious loss restores.
    undo: Option<Undo>,
    /// A timeout since which nothing was acknowledged.
    timed_out: bool,
    srtt: Option<Duration>,
}

/// A stage of congestion avoidance.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Stage {
    /// Its beginning, t_epoch; later by the time for which the window was not used.
    since: Instant,
    curve: Curve,
    /// The window that Reno would have, W_est, in parts of a byte.
    reno: u128,
    /// Since when the window is not used.
    unused_since: Option<Instant>,
    /// What is left of the last step: bytes x bytes of the window.
    rest: u128,
}

/// The state before a reduction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Undo {
    window: CongestionWindow,
    plateau: Option<u64>,
    prior: u64,
    stage: Option<Stage>,
}

impl Cubic {
    /// A controller for a path at its start.
    pub(crate) fn new(path: &NewPath) -> Self {
        Self {
            window: CongestionWindow { cwnd: path.initial_cwnd, ssthresh: path.initial_ssthresh },
            initial_cwnd: path.initial_cwnd,
            start: HyStart::new(),
            plateau: None,
            prior: 0,
            stage: None,
            usage: WindowUse::default(),
            disordered: 0,
            undo: None,
            timed_out: false,
            srtt: None,
        }
    }

    /// What it allows now.
    pub(super) fn window(&self) -> CongestionWindow {
        self.window
    }

    fn is_in_slow_start(&self) -> bool {
        self.window.cwnd < self.window.ssthresh
    }

    /// Slow start (RFC 9406 section 4.2), up to the threshold.
    fn start(&mut self, cx: &Context<'_>, bytes: u64, flight_before: u64) {
        let CongestionWindow { cwnd, ssthresh } = self.window;
        // A sender that spaces its packets has half a window outstanding while it doubles.
        if !self.usage.is_used(cx) && flight_before < cwnd / 2 {
            return;
        }
        let growth = self.start.growth(bytes, cx.path.unit);
        self.window.cwnd = cwnd.saturating_add(growth).min(ssthresh);
    }

    /// Congestion avoidance (RFC 9438 sections 4.2 to 4.5).
    fn avoid(&mut self, cx: &Context<'_>, bytes: u64) {
        let (cwnd, plateau) = (self.window.cwnd, self.plateau);
        let stage = self.stage.get_or_insert_with(|| Stage::new(cx, cwnd, plateau));
        if self.plateau.is_none() {
            // After slow start without a loss, and after a timeout, the plateau is here (sections 4.8 and 4.10).
            self.plateau = Some(cwnd);
            self.prior = self.prior.max(cwnd);
        }
        if self.usage.is_used(cx) {
            self.window.cwnd = stage.next_window(cx, cwnd, self.prior, bytes);
        } else {
            stage.unused_since = stage.unused_since.or(Some(cx.now));
        }
    }

    /// Remembers what a spurious loss restores (section 4.9).
    fn remember(&mut self) {
        let Self { window, plateau, prior, stage, .. } = *self;
        self.undo = Some(Undo { window, plateau, prior, stage });
    }

    /// Plateau and threshold after congestion (sections 4.6 and 4.7). Fast convergence: a flow that did not reach its
    /// plateau again releases capacity for others.
    fn reduce(&mut self, cx: &Context<'_>) {
        let cwnd = self.window.cwnd;
        let is_lower = self.plateau.is_some_and(|plateau| cwnd < plateau);
        let plateau = if is_lower { part(cwnd, 10 + BETA_TENTHS, 20) } else { cwnd };
        self.plateau = Some(plateau);
        self.prior = cwnd;
        self.window.ssthresh = part(cwnd, BETA_TENTHS, 10).max(cx.path.ssthresh_floor);
        self.begin_anew();
    }

    fn begin_anew(&mut self) {
        self.start.end();
        self.stage = None;
        self.disordered = 0;
    }
}

impl Stage {
    fn new(cx: &Context<'_>, cwnd: u64, plateau: Option<u64>) -> Self {
        Self {
            since: cx.now,
            curve: Curve::new(plateau.unwrap_or(cwnd), cwnd, cx.path.unit),
            reno: u128::from(cwnd) << FRACTION,
            unused_since: None,
            rest: 0,
        }
    }

    /// The window after `bytes` are acknowledged.
    fn next_window(&mut self, cx: &Context<'_>, cwnd: u64, prior: u64, bytes: u64) -> u64 {
        // Time in which the application sent too little does not count (section 5.8).
        if let Some(unused_since) = self.unused_since.take() {
            self.since += cx.now.since(unused_since);
        }
        let cwnd = cwnd.max(1);
        let reno = self.reno_window(cwnd, prior, bytes, cx.path.unit);
        let time = cx.now.since(self.since);
        if self.curve.window(time) < reno {
            return cwnd.max(reno);
        }
        let target = self.curve.window(time + cx.srtt.unwrap_or(Duration::ZERO));
        let target = target.clamp(cwnd, cwnd.saturating_add(cwnd / 2));
        let step = u128::from(target - cwnd) * u128::from(bytes) + self.rest;
        self.rest = step % u128::from(cwnd);
        let step = u64::try_from(step / u128::from(cwnd)).unwrap_or(u64::MAX);
        cwnd.saturating_add(step)
    }

    /// The window that Reno would have now in bytes (section 4.3).
    fn reno_window(&mut self, cwnd: u64, prior: u64, bytes: u64, unit: u64) -> u64 {
        let (above, below) = if self.reno >> FRACTION < u128::from(prior) { ALPHA } else { (1, 1) };
        let step = u128::from(bytes) * u128::from(unit.min(1 << 32));
        let step = (step << FRACTION) / u128::from(cwnd) * above / below;
        self.reno = self.reno.saturating_add(step);
        u64::try_from(self.reno >> FRACTION).unwrap_or(u64::MAX)
    }
}

impl Controller for Cubic {
    fn on_sent(&mut self, cx: &Context<'_>, _: &Sent) {
        self.usage.note(cx.now, cx.path, self.window.cwnd, cx.flight);
    }

    #[inline(never)]
    fn on_ack(&mut self, cx: &Context<'_>, acked: &Acked) {
        self.srtt = cx.srtt;
        self.usage.note(cx.now, cx.path, self.window.cwnd, acked.flight_before);
        if acked.acked_bytes == 0 || acked.in_recovery {
            return;
        }
        self.timed_out = false;
        if self.is_in_slow_start()
            && let Some(sample) = &acked.rate
            && self.start.on_sample(sample)
        {
            self.window.ssthresh = self.window.cwnd;
        }
        self.disordered = self.disordered.saturating_add(acked.acked_bytes);
        if !acked.advanced {
            return;
        }
        let bytes = core::mem::take(&mut self.disordered);
        if self.is_in_slow_start() {
            self.start(cx, bytes, acked.flight_before);
        } else {
            self.avoid(cx, bytes);
        }
    }

    /// What a report says was damaged is no congestion.
    fn on_loss(&mut self, cx: &Context<'_>, loss: &Loss) {
        if loss.cause != LossCause::DropReport && !loss.in_recovery {
            self.remember();
            self.reduce(cx);
            self.window.cwnd = self.window.ssthresh;
        }
    }

    /// Section 4.8. Slow start leads back to the threshold, and from there a curve begins at its plateau.
    fn on_timeout(&mut self, cx: &Context<'_>, _: &Timeout) {
        // Another timeout of the same data says nothing new.
        if !self.timed_out {
            self.remember();
            self.reduce(cx);
        }
        self.timed_out = true;
        self.plateau = None;
        self.window.cwnd = cx.path.unit;
    }

    fn on_spurious_loss(&mut self, _: &Context<'_>, _: &SpuriousLoss) {
        let Some(undo) = self.undo.take() else { return };
        if self.window.cwnd < self.prior {
            self.window = undo.window;
            self.plateau = undo.plateau;
            self.prior = undo.prior;
            self.stage = undo.stage;
        }
    }

    /// As a loss, but never spurious. A window below the least threshold stays.
    fn on_ecn(&mut self, cx: &Context<'_>, marks: &EcnMarks) {
        if marks.packets > 0 && !marks.in_recovery {
            self.undo = None;
            self.reduce(cx);
            self.window.cwnd = self.window.cwnd.min(self.window.ssthresh);
        }
    }

    fn on_idle(&mut self, cx: &Context<'_>, idle: &Idle) {
        let before = self.window;
        Reno::default().on_idle(&mut self.window, cx.path, idle, self.initial_cwnd);
        if self.window != before {
            self.begin_anew();
        }
    }

    fn on_correction(&mut self, _: &Context<'_>, correction: &Correction) {
        self.window.cwnd = correction.cwnd;
        self.window.ssthresh = correction.ssthresh.unwrap_or(self.window.ssthresh);
        let begins_anew =
            matches!(correction.cause, CorrectionCause::Restart | CorrectionCause::BottleneckFull);
        if begins_anew {
            self.begin_anew();
        }
    }

    fn cwnd(&self) -> u64 {
        self.window.cwnd
    }

    fn ssthresh(&self) -> Option<u64> {
        Some(self.window.ssthresh)
    }

    /// Two windows per round trip in slow start, and five quarters after it, so that the window is what limits.
    fn pacing_rate(&self) -> Option<BitRate> {
        let round_trip = self.srtt.filter(|srtt| !srtt.is_zero())?;
        let (above, below) = if self.is_in_slow_start() { (2, 1) } else { (5, 4) };
        let bytes = part(self.window.cwnd, above, below);
        Some(BitRate::of(ByteCount::from_bytes(bytes), round_trip))
    }
}

/// `bytes` x `above` / `below`.
fn part(bytes: u64, above: u64, below: u64) -> u64 {
    let part = u128::from(bytes) * u128::from(above) / u128::from(below);
    u64::try_from(part).unwrap_or(u64::MAX)
}
