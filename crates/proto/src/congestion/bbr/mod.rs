//! BBR, version 3 (draft-ietf-ccwg-bbr): a model of the path, with its delivery rate and minimum round-trip time,
//! determines window and pacing rate. Loss bounds the model; it does not drive it.
//!
//! Each mechanism is a module: rounds (`rounds`), maximum rate (`bandwidth`), minimum round-trip time (`min_rtt`),
//! detection of a full path (`full_pipe`, `startup`), aggregation of acknowledgements (`aggregation`), bounds by loss
//! (`bounds`, `path_loss`), probes (`probe_bw`, `probe_rtt`), and what a recovery restores (`recovery`). `machine` has the
//! phases, and `output` computes window and rate from the model.
//!
//! Differences from TCP on one path:
//!
//! * Round trips and rates are those of [`RateSample`](super::RateSample), which nearly every SACK brings. A SACK may
//!   come over another path, and waits up to 200 ms for a second packet: both make round trips longer, never shorter
//!   than the fastest way back, and the filter takes the shortest of ten seconds. With four packets in flight or more,
//!   which is the smallest window here, every second packet is answered at once.
//! * Controllers have no randomness. The times between probes are drawn from the time and from what was delivered,
//!   which differ between flows and repeat with a run.
//! * The controller first hears what a SACK acknowledges, then what it shows to be lost; all losses of a SACK count as
//!   one.
//!
//! NOTE(deviation): loss that chance explains is no sign of congestion (`bounds::is_too_much`): 2 % of what was in
//! flight and three standard deviations. The draft takes any loss between probes for one, and more than 2 % in a probe:
//! a path of 85 packets that loses 2 % at random then carries little more than half of its rate, and less from probe to
//! probe. Nor is loss a sign that the path also has while nothing is probed and there is no queue (`path_loss`).
//!
//! NOTE(deviation): no bound on what is in flight is below a bandwidth-delay product of the model
//! (`Bbr::full_path`). Where a queue holds a hundredth of what the path does, a probe that is a quarter too fast loses
//! a fifth of what it sends, whatever is in flight; the draft then leaves 70 % of the product, less headroom, and needs
//! many probes to come back. The rate, which loss bounds as in the draft, is what makes room for others.
//!
//! NOTE(deviation): what a probe or Startup sent does not count for the rounds after it, in which most of it is found lost, if the program
//! or a buffer limits them (`bounds::Latest::counting`), nor as loss that the path also has without a queue.
//!
//! NOTE(deviation): losses of Startup without a queue are tested before they end it, and where only losses have ended it,
//! the path is probed after four rounds (`startup`).
//!
//! NOTE(deviation): the state that a spurious loss restores is that of the beginning of a recovery; the draft saves it
//! anew in each round of it. There is no offload budget: the window of four packets is the only floor.
//!
//! The draft leaves open what a congestion mark (RFC 3168) does, but that it counts as congestion. Here it does what
//! too much loss does, at most once in a round trip: it ends Startup or a probe, and bounds the rate between probes
//! (`Bbr::on_mark`).

mod aggregation;
mod bandwidth;
mod bounds;
mod full_pipe;
mod machine;
mod min_rtt;
mod output;
mod path_loss;
mod probe_bw;
mod probe_rtt;
mod recovery;
mod rounds;
mod startup;
#[cfg(test)]
mod tests;

use polypath_units::BitRate;

use super::window::CongestionWindow;
use super::window_use::WindowUse;
use super::{
    Acked, Context, Controller, Correction, CorrectionCause, EcnMarks, Loss, LossCause,
    MeasuredRate, NewPath, RateLimit, RateSample, Sent, SpuriousLoss, Timeout,
};
use crate::{Duration, PathId};
use aggregation::ExtraAcked;
use bandwidth::{MaxBandwidth, Rate, rate_of};
use bounds::{Bounds, Latest};
use full_pipe::FullPipe;
use min_rtt::MinRtt;
use path_loss::PathLoss;
use probe_bw::Probing;
use probe_rtt::ProbeRtt;
use recovery::LossRecovery;
use rounds::Rounds;
use startup::StartupLoss;

/// What the controller does at the moment (section 5.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Phase {
    /// Doubles the rate from round to round.
    Startup,
    /// Drains the queue that this left.
    Drain,
    /// Leaves headroom after a probe (ProbeBW_DOWN).
    Down,
    /// Sends at the rate of delivery.
    Cruise,
    /// Fills the path before a probe.
    Refill,
    /// Probes for a higher rate.
    Up,
    /// Looks for the shortest round trip.
    ProbeRtt,
}

/// BBR on one path.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Bbr {
    phase: Phase,
    cwnd: u64,
    initial_cwnd: u64,
    /// Pacing rate, once a round-trip time is known.
    pacing: Option<Rate>,
    /// The rate of the model, BBR.bw.
    bw: Rate,
    max_bw: MaxBandwidth,
    min_rtt: MinRtt,
    /// The shortest interval of a sample: SACKs over other paths may bring many before one measures a round trip.
    interval: Option<Duration>,
    rounds: Rounds,
    pipe: FullPipe,
    startup_loss: StartupLoss,
    extra: ExtraAcked,
    latest: Latest,
    bounds: Bounds,
    path_loss: PathLoss,
    probing: Probing,
    probe_rtt: ProbeRtt,
    recovery: LossRecovery,
    usage: WindowUse,
    /// Round in which draining began.
    drain_round: u64,
    /// Bytes delivered so far.
    delivered: u64,
    /// The path was idle, and nothing has arrived since.
    restarts: bool,
    /// No round trip was measured since it last restarted: SACKs over other paths measure none.
    awaits_round_trip: bool,
    path: PathId,
    unit: u64,
}

/// A sample as the model sees it.
#[derive(Clone, Copy, Debug)]
struct Sample {
    rate: Rate,
    is_limited: bool,
    of: RateSample,
}

impl Bbr {
    /// A controller for a path at its start.
    pub(crate) fn new(path: &NewPath) -> Self {
        Self {
            phase: Phase::Startup,
            cwnd: path.initial_cwnd,
            initial_cwnd: path.initial_cwnd,
            pacing: None,
            bw: 0,
            max_bw: MaxBandwidth::default(),
            min_rtt: MinRtt::default(),
            interval: None,
            rounds: Rounds::default(),
            pipe: FullPipe::default(),
            startup_loss: StartupLoss::default(),
            extra: ExtraAcked::default(),
            latest: Latest::default(),
            bounds: Bounds::new(),
            path_loss: PathLoss::default(),
            probing: Probing::new(),
            probe_rtt: ProbeRtt::default(),
            recovery: LossRecovery::new(),
            usage: WindowUse::default(),
            drain_round: 0,
            delivered: 0,
            restarts: false,
            awaits_round_trip: false,
            path: path.path.id,
            unit: path.path.unit.max(1),
        }
    }

    pub(super) fn initial_cwnd(&self) -> u64 {
        self.initial_cwnd
    }

    /// What it allows now.
    pub(super) fn window(&self) -> CongestionWindow {
        CongestionWindow { cwnd: self.cwnd.max(1), ssthresh: u64::MAX }
    }

    /// A sample is limited by what the application sends, or by a look for the round trip.
    fn seen(&self, sample: &RateSample) -> Sample {
        // Less than a round trip: the first transmission of a retransmitted chunk was acknowledged. A SACK over another
        // path may arrive sooner than after a round trip.
        let is_sound = sample.round_trip.is_none()
            || self.min_rtt.get().is_none_or(|shortest| sample.interval >= shortest);
        Sample {
            rate: if is_sound { rate_of(sample.delivered, sample.interval) } else { 0 },
            is_limited: sample.limit == RateLimit::Application
                || sample.delivered_before < self.probe_rtt.low_until,
            of: *sample,
        }
    }

    /// The model learns from a sample (UpdateModelAndState).
    fn learn(&mut self, cx: &Context<'_>, acked: &Acked, sample: &Sample) {
        let RateSample { delivered, delivered_before, delivered_total, .. } = sample.of;
        self.delivered = delivered_total;
        if self.min_rtt.get().is_none() && delivered > 0 {
            self.interval = self.interval.into_iter().chain([sample.of.interval]).min();
        }
        self.latest.on_sample(sample.rate, delivered, delivered_before, delivered_total);
        self.rounds.on_sample(delivered_before, delivered_total);
        if self.rounds.starts {
            self.probing.on_round();
            self.extra.on_round(self.rounds.count, self.pipe.was_full);
        }
        self.max_bw.on_sample(sample.rate, sample.is_limited);
        if self.latest.round_ends {
            let lost = self.latest.counting(sample.of.lost, sample.is_limited);
            if self.latest.has_loss
                && !self.is_probing()
                && self.loses_much(lost, sample.of.flight_then)
            {
                self.bounds.on_lossy_round(&self.latest, self.max_bw.get(), self.cwnd);
            }
            self.latest.has_loss = false;
        }
        self.extra.on_acked(cx.now, acked.acked_bytes, self.bw, self.cwnd);
        if !sample.is_limited {
            self.pipe.on_sample(sample.rate, self.rounds.starts);
        }
        let round_trip = sample.of.round_trip.into_iter().chain(acked.rtt).min();
        self.learn_path_loss(&sample.of, round_trip);
        self.advance(cx, acked, sample);
        self.min_rtt.on_sample(cx.now, round_trip, self.awaits_round_trip);
        self.awaits_round_trip &= round_trip.is_none();
        self.look_for_round_trip(cx, acked);
        if delivered > 0 {
            self.restarts = false;
        }
        self.latest.after_sample(sample.rate, delivered);
    }

    /// What is lost in a round in which nothing is probed, and not because of the probe before it.
    fn learn_path_loss(&mut self, sample: &RateSample, round_trip: Option<Duration>) {
        self.path_loss.on_round_trip(round_trip);
        if self.rounds.starts {
            self.path_loss.end_round(self.min_rtt.get());
            let is_past = self.latest.is_past_probe(sample.delivered_before);
            if self.phase == Phase::Cruise && is_past {
                self.path_loss.on_round(sample.lost, sample.flight_then, self.unit);
            }
        }
    }

    /// The path was idle (HandleRestartFromIdle).
    fn restart(&mut self, cx: &Context<'_>) {
        (self.restarts, self.awaits_round_trip) = (true, true);
        self.extra.restart(cx.now);
        match self.phase {
            Phase::Down | Phase::Cruise | Phase::Refill | Phase::Up => self.pace_with(100),
            Phase::ProbeRtt if self.probe_rtt.is_done(cx.now) => self.end_probe_rtt(cx),
            Phase::ProbeRtt | Phase::Startup | Phase::Drain => {}
        }
    }
}

impl Controller for Bbr {
    fn on_sent(&mut self, cx: &Context<'_>, sent: &Sent) {
        if cx.flight <= sent.bytes && self.delivered > 0 && !self.recovery.is_after_timeout() {
            self.restart(cx);
        }
        self.usage.note(cx.now, cx.path, self.cwnd, cx.flight);
    }

    #[inline(never)]
    fn on_ack(&mut self, cx: &Context<'_>, acked: &Acked) {
        self.unit = cx.path.unit.max(1);
        self.usage.note(cx.now, cx.path, self.cwnd, acked.flight_before);
        let before = acked.rate.map(|sample| sample.delivered_before);
        if self.recovery.on_ack(acked.in_recovery, before) {
            self.cwnd = self.recovery.restored(self.cwnd);
        }
        if let Some(sample) = &acked.rate {
            self.begin_pacing(cx, sample);
            let sample = self.seen(sample);
            self.learn(cx, acked, &sample);
        }
        self.update_rate();
        self.update_window(acked.acked_bytes);
    }

    fn on_loss(&mut self, cx: &Context<'_>, loss: &Loss) {
        if matches!(loss.cause, LossCause::DropReport | LossCause::Rescheduling) {
            return;
        }
        if !loss.in_recovery {
            self.recovery.begin_fast(self.cwnd, self.phase, &self.bounds);
        }
        let delivered = loss.sample.map_or(self.delivered, |sample| sample.delivered_total);
        let before = loss.sample.map_or(self.delivered, |sample| sample.delivered_before);
        let flight = loss.sample.map_or(cx.flight, |sample| sample.flight_then);
        self.latest.on_loss(delivered, before, flight, loss.lost_bytes);
        if let Some(sample) = &loss.sample
            && self.probing.is_probe_sample
            && self.loses_much(sample.lost, sample.flight_then)
        {
            let flight = bounds::flight_at_loss(sample.flight_then, sample.lost, loss.lost_bytes);
            self.end_failed_probe(cx, flight, sample.limit);
        }
        self.update_rate();
        self.bound_window();
    }

    /// One packet may be sent; then the window grows with acknowledged data, and is restored after a round trip. The
    /// rate of this small window says nothing about whether the path is full.
    fn on_timeout(&mut self, cx: &Context<'_>, _: &Timeout) {
        self.recovery.begin_after_timeout(self.cwnd, self.phase, &self.bounds, self.delivered);
        self.latest.on_loss(self.delivered, self.delivered, cx.flight, u64::MAX);
        self.pipe.restart(0);
        self.cwnd = cx.path.unit;
    }

    fn on_spurious_loss(&mut self, _: &Context<'_>, _: &SpuriousLoss) {
        self.cwnd = self.recovery.restored(self.cwnd);
        self.latest.has_loss = false;
        self.pipe.restart(0);
        let left = self.recovery.undo(&mut self.bounds);
        self.resume(left);
        self.update_rate();
        self.bound_window();
    }

    fn on_ecn(&mut self, cx: &Context<'_>, marks: &EcnMarks) {
        if marks.packets > 0 && !marks.in_recovery {
            self.on_mark(cx);
            self.update_rate();
            self.bound_window();
        }
    }

    /// The model knows more than most that request another window; but a path that did not work at all is used with
    /// care.
    fn on_correction(&mut self, _: &Context<'_>, correction: &Correction) {
        if matches!(correction.cause, CorrectionCause::Restart | CorrectionCause::Takeover) {
            self.cwnd = correction.cwnd.max(self.unit);
            self.pipe.restart(0);
        }
    }

    fn cwnd(&self) -> u64 {
        self.cwnd
    }

    fn pacing_rate(&self) -> Option<BitRate> {
        self.pacing()
    }

    fn delivery_rate(&self) -> Option<MeasuredRate> {
        let rate = BitRate::from_bits_per_second(self.bw.saturating_mul(8));
        (self.bw > 0).then_some(MeasuredRate { rate, is_final: self.pipe.was_full })
    }
}
