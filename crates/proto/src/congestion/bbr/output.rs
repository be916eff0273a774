//! The rate and the window that follow from the model (section 5.6).

use polypath_units::BitRate;

use super::bandwidth::{Rate, bytes_in, percent, rate_of};
use super::bounds::NONE;
use super::{Bbr, Phase};
use crate::congestion::{Context, RateSample};

/// Packets of the smallest window, BBR.MinPipeCwnd: the receiver answers every second one.
const LEAST_PACKETS: u64 = 4;
/// BBR.StartupPacingGain in percent.
const STARTUP_GAIN: u64 = 277;
/// Gain while losses of Startup are tested, in percent.
const TEST_GAIN: u64 = 125;
/// What is left of a rate so that queues shrink, in percent (BBR.PacingMarginPercent).
const MARGIN: u64 = 99;
/// Window during a look for the round trip, in percent of the bandwidth-delay product.
const PROBE_RTT_GAIN: u64 = 50;

impl Bbr {
    /// Rate and window of the phase, in percent of the model's.
    pub(super) fn gains(&self) -> (u64, u64) {
        match self.phase {
            Phase::Startup if self.startup_loss.tests() => (TEST_GAIN, TEST_GAIN),
            Phase::Startup => (STARTUP_GAIN, 200),
            Phase::Drain => (50, 200),
            Phase::Down => (90, 200),
            Phase::Cruise | Phase::Refill => (100, 200),
            Phase::Up => (125, 225),
            Phase::ProbeRtt => (100, PROBE_RTT_GAIN),
        }
    }

    pub(super) fn least_window(&self) -> u64 {
        self.unit.saturating_mul(LEAST_PACKETS)
    }

    /// So much of the bandwidth-delay product.
    pub(super) fn bdp(&self, gain: u64) -> u64 {
        self.bdp_at(self.bw, gain)
    }

    fn bdp_at(&self, rate: Rate, gain: u64) -> u64 {
        match self.min_rtt.get().or(self.interval) {
            Some(round_trip) => percent(bytes_in(rate, round_trip), gain),
            None => self.initial_cwnd,
        }
    }

    /// Bytes in flight for this multiple of the path's capacity.
    pub(super) fn inflight(&self, gain: u64) -> u64 {
        self.inflight_at(self.bw, gain)
    }

    pub(super) fn inflight_at(&self, rate: Rate, gain: u64) -> u64 {
        self.at_least(self.bdp_at(rate, gain))
    }

    /// QuantizationBudget.
    fn at_least(&self, bytes: u64) -> u64 {
        let probe = if self.phase == Phase::Up { 2 * self.unit.min(u64::MAX / 4) } else { 0 };
        bytes.max(self.least_window()).saturating_add(probe)
    }

    /// Bytes in flight that fill the path without a queue, and two packets whose acknowledgement the receiver may delay.
    pub(super) fn full_path(&self) -> u64 {
        self.bdp(100).saturating_add(2 * self.unit.min(u64::MAX / 4))
    }

    pub(super) fn probe_rtt_window(&self) -> u64 {
        self.bdp(PROBE_RTT_GAIN).max(self.least_window())
    }

    /// The rate before anything is known of the path but its round trip.
    pub(super) fn begin_pacing(&mut self, cx: &Context<'_>, sample: &RateSample) {
        if self.pacing.is_none() {
            let round_trip = cx.srtt.or(sample.round_trip).unwrap_or(cx.rto);
            self.pacing = Some(percent(rate_of(self.initial_cwnd, round_trip), STARTUP_GAIN));
        }
    }

    /// The model's rate and the pacing rate.
    pub(super) fn update_rate(&mut self) {
        self.bw = self.max_bw.get().min(self.bounds.rate);
        self.pace_with(self.gains().0);
    }

    /// Until the path was full once, the rate only rises, but where losses are tested.
    pub(super) fn pace_with(&mut self, gain: u64) {
        let rate = percent(percent(self.bw, gain), MARGIN);
        if let Some(pacing) = &mut self.pacing
            && (self.pipe.was_full || self.startup_loss.tests() || rate > *pacing)
        {
            *pacing = rate;
        }
    }

    /// The window after this many bytes were acknowledged.
    pub(super) fn update_window(&mut self, acked: u64) {
        let extra = self.extra.get();
        let most = self.at_least(self.bdp(self.gains().1).saturating_add(extra));
        let grown = self.cwnd.saturating_add(acked);
        if self.pipe.was_full || self.startup_loss.tests() {
            self.cwnd = grown.min(most);
        } else if self.cwnd < most || self.delivered < self.initial_cwnd {
            self.cwnd = grown;
        }
        self.cwnd = self.cwnd.max(self.least_window());
        if self.phase == Phase::ProbeRtt {
            self.cwnd = self.cwnd.min(self.probe_rtt_window());
        }
        self.bound_window();
    }

    /// What loss leaves of the window.
    pub(super) fn bound_window(&mut self) {
        let long = match self.phase {
            Phase::Startup | Phase::Drain => NONE,
            Phase::Down | Phase::Refill | Phase::Up => self.bounds.long.max(self.full_path()),
            Phase::Cruise | Phase::ProbeRtt => {
                self.bounds.with_headroom(self.unit, self.least_window()).max(self.full_path())
            }
        };
        let short = match self.bounds.short {
            NONE => NONE,
            short => short.max(self.full_path()),
        };
        let most = long.min(short).max(self.least_window());
        self.cwnd = self.cwnd.min(most);
    }

    /// The pacing rate for the stack.
    pub(super) fn pacing(&self) -> Option<BitRate> {
        self.pacing.map(|rate| BitRate::from_bits_per_second(rate.saturating_mul(8).max(1)))
    }
}
