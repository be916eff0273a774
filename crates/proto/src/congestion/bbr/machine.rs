//! From phase to phase (section 5.3).

use super::bounds::{self, NONE};
use super::probe_bw::AckPhase;
use super::probe_rtt::Step;
use super::{Bbr, Phase, Sample};
use crate::congestion::{Acked, Context, RateLimit};

/// Rounds after which draining ends though the queue may not be empty.
const DRAIN_ROUNDS: u64 = 3;
/// BBRStartupFullLossCnt: losses of one round that end Startup.
const STARTUP_LOSSES: u32 = 6;

impl Bbr {
    /// Whether the rate may rise.
    pub(super) fn is_probing(&self) -> bool {
        matches!(self.phase, Phase::Startup | Phase::Refill | Phase::Up)
    }

    /// Whether it is one of the phases that follow each other for ever (ProbeBW).
    pub(super) fn is_in_cycle(&self) -> bool {
        matches!(self.phase, Phase::Down | Phase::Cruise | Phase::Refill | Phase::Up)
    }

    /// Whether too much was lost of what was in flight when the packet of a sample was sent (IsInflightTooHigh).
    pub(super) fn loses_much(&self, lost: u64, flight_then: u64) -> bool {
        bounds::is_too_much(lost, flight_then, self.unit)
            && lost > self.path_loss.tolerated(flight_then)
    }

    /// The phase after a sample.
    pub(super) fn advance(&mut self, cx: &Context<'_>, acked: &Acked, sample: &Sample) {
        self.leave_startup(sample, acked.flight_after);
        if self.phase == Phase::Drain
            && (acked.flight_after <= self.inflight(100)
                || self.rounds.count > self.drain_round + DRAIN_ROUNDS)
        {
            self.begin_down(cx);
        }
        if self.pipe.was_full {
            self.advance_cycle(cx, acked, sample);
        }
    }

    /// Startup ends when the path is full, or when a round of recovery has six losses that are too many. While the
    /// program or a buffer limits sending, no rate shows that the path is full, and each filled gap releases a burst at
    /// the pace of Startup that overflows a queue and is repaired within the round: then losses end Startup without a
    /// recovery. All of them may have been found before the next packet is sent, with which a round ends.
    fn leave_startup(&mut self, sample: &Sample, flight: u64) {
        if self.phase != Phase::Startup {
            return;
        }
        let is_told_by_loss = sample.is_limited && !self.recovery.is_after_timeout();
        let (lost, lost_of) = self.latest.lost_in_round();
        let loses_much = self.latest.round_ends
            && (self.recovery.is_fast() || is_told_by_loss)
            && self.latest.losses >= STARTUP_LOSSES
            && (self.loses_much(sample.of.lost, sample.of.flight_then)
                || is_told_by_loss && self.loses_much(lost, lost_of));
        self.startup_loss.on_ack(self.rounds.count);
        let is_doubtful =
            (sample.is_limited || self.pipe.grows()) && self.path_loss.is_queued() != Some(true);
        if loses_much && self.startup_loss.on_much_lost(self.rounds.count, is_doubtful) {
            self.recovery.left = Some(Phase::Startup);
            (self.pipe.is_full, self.pipe.was_full) = (true, true);
            self.bounds.long = self.bdp(100).max(self.latest.volume);
            self.startup_loss.end(self.path_loss.is_queued() == Some(true));
        }
        if self.pipe.was_full {
            self.phase = Phase::Drain;
            self.drain_round = self.rounds.count;
            self.latest.end_probe(self.delivered, flight);
        }
    }

    /// UpdateProbeBWCyclePhase.
    fn advance_cycle(&mut self, cx: &Context<'_>, acked: &Acked, sample: &Sample) {
        if self.adapt_long_term(cx, acked, sample) {
            return;
        }
        match self.phase {
            Phase::Down | Phase::Cruise if self.is_time_to_probe(cx) => self.begin_refill(),
            Phase::Down if self.is_drained(acked.flight_after) => self.phase = Phase::Cruise,
            Phase::Refill if self.rounds.starts => {
                self.probing.is_probe_sample = true;
                self.begin_up(sample);
            }
            Phase::Up => self.end_probe(cx, acked, sample),
            _ => {}
        }
    }

    /// What a probe brings the long-term bounds (AdaptLongTermModel). Whether another phase began.
    fn adapt_long_term(&mut self, cx: &Context<'_>, acked: &Acked, sample: &Sample) -> bool {
        if self.rounds.starts {
            match self.probing.acks {
                AckPhase::ProbeStarting => self.probing.acks = AckPhase::ProbeFeedback,
                AckPhase::ProbeStopping => {
                    self.probing.is_probe_sample = false;
                    self.probing.acks = AckPhase::Init;
                    if self.is_in_cycle() && !sample.is_limited {
                        self.max_bw.advance();
                    }
                    if self.is_in_cycle() && self.probing.was_cautious && !self.probing.was_too_high
                    {
                        self.begin_refill();
                        return true;
                    }
                }
                AckPhase::Init | AckPhase::Refilling | AckPhase::ProbeFeedback => {}
            }
        }
        if self.bounds.long == NONE || self.loses_much(sample.of.lost, sample.of.flight_then) {
            return false;
        }
        self.bounds.long = self.bounds.long.max(sample.of.flight_then);
        if self.phase == Phase::Up && self.usage.is_used(cx) && self.cwnd >= self.bounds.long {
            let (bytes, starts) = (acked.acked_bytes, self.rounds.starts);
            let growth = self.probing.growth(bytes, starts, self.cwnd, self.unit);
            self.bounds.long = self.bounds.long.saturating_add(growth);
        }
        false
    }

    fn is_time_to_probe(&self, cx: &Context<'_>) -> bool {
        let packets = self.bdp(100).min(self.cwnd) / self.unit;
        self.probing.is_due(cx.now, packets.max(1))
            || self.startup_loss.is_probe_due(self.probing.rounds())
    }

    /// Whether the queue is empty and other flows have headroom.
    fn is_drained(&self, flight: u64) -> bool {
        let space = self.bounds.with_headroom(self.unit, self.least_window());
        flight <= space && flight <= self.inflight_at(self.max_bw.get(), 100)
    }

    /// A probe ends where the path is full, or where the last one lost too much (IsTimeToGoDown).
    fn end_probe(&mut self, cx: &Context<'_>, acked: &Acked, sample: &Sample) {
        if self.probing.was_too_high && acked.flight_after >= self.bounds.long {
            self.probing.was_cautious = true;
        } else if self.usage.is_used(cx) && self.cwnd >= self.bounds.long {
            // The bound limits the rate, not the path.
            self.pipe.restart(sample.rate);
            return;
        } else if !self.pipe.is_full {
            return;
        } else {
            self.startup_loss.on_proof();
        }
        self.probing.was_too_high = false;
        self.begin_down(cx);
    }

    pub(super) fn begin_down(&mut self, cx: &Context<'_>) {
        self.latest.reset();
        if self.is_probing() {
            self.latest.end_probe(self.delivered, cx.flight);
        }
        self.probing.begin_wait(cx.now, self.path, self.delivered);
        self.rounds.restart(self.delivered);
        self.phase = Phase::Down;
    }

    fn begin_refill(&mut self) {
        self.bounds.reset_short_term();
        self.probing.begin_refill();
        self.rounds.restart(self.delivered);
        self.phase = Phase::Refill;
    }

    fn begin_up(&mut self, sample: &Sample) {
        self.probing.begin_probe(self.cwnd, self.unit);
        self.rounds.restart(self.delivered);
        self.pipe.restart(sample.rate);
        self.phase = Phase::Up;
    }

    /// A probe lost too much, with this much in flight (HandleInflightTooHigh).
    pub(super) fn end_failed_probe(&mut self, cx: &Context<'_>, flight: u64, limit: RateLimit) {
        self.probing.was_too_high = true;
        self.probing.is_probe_sample = false;
        self.startup_loss.on_proof();
        if limit == RateLimit::Cwnd {
            self.bounds.on_failed_probe(flight, self.full_path());
        }
        if self.phase == Phase::Up {
            self.recovery.left = Some(Phase::Up);
            self.begin_down(cx);
        }
    }

    /// A queue marked a packet instead of dropping it.
    pub(super) fn on_mark(&mut self, cx: &Context<'_>) {
        match self.phase {
            Phase::Startup => {
                (self.pipe.is_full, self.pipe.was_full) = (true, true);
                self.bounds.long = self.bdp(100).max(self.latest.volume);
            }
            Phase::Up => self.end_failed_probe(cx, cx.flight, RateLimit::Cwnd),
            Phase::Refill => {
                self.probing.was_too_high = true;
                self.begin_down(cx);
            }
            Phase::Drain | Phase::Down | Phase::Cruise | Phase::ProbeRtt => {
                let (max_bw, full) = (self.max_bw.get(), self.full_path());
                self.bounds.on_mark(&self.latest, max_bw, cx.flight, full);
            }
        }
    }

    /// Starts, continues or ends ProbeRTT (CheckProbeRTT).
    pub(super) fn look_for_round_trip(&mut self, cx: &Context<'_>, acked: &Acked) {
        if self.phase != Phase::ProbeRtt && self.min_rtt.is_due && !self.restarts {
            self.recovery.save_cwnd(self.cwnd, self.phase);
            if self.is_probing() {
                self.latest.end_probe(self.delivered, cx.flight);
            }
            self.phase = Phase::ProbeRtt;
            self.probe_rtt.begin();
            self.probing.acks = AckPhase::ProbeStopping;
            self.rounds.restart(self.delivered);
        }
        if self.phase != Phase::ProbeRtt {
            return;
        }
        let (starts, flight) = (self.rounds.starts, acked.flight_after);
        self.probe_rtt.low_until = self.delivered.saturating_add(flight).max(1);
        match self.probe_rtt.on_ack(cx.now, starts, flight, self.probe_rtt_window()) {
            Step::Begins => self.rounds.restart(self.delivered),
            Step::GoesOn => {}
            Step::Ends => self.end_probe_rtt(cx),
        }
    }

    pub(super) fn end_probe_rtt(&mut self, cx: &Context<'_>) {
        self.min_rtt.put_off(cx.now);
        self.cwnd = self.recovery.restored(self.cwnd);
        self.bounds.reset_short_term();
        if self.pipe.was_full {
            self.begin_down(cx);
            self.phase = Phase::Cruise;
        } else {
            self.phase = Phase::Startup;
        }
    }

    /// Goes back to the phase that a spurious loss ended.
    pub(super) fn resume(&mut self, left: Option<Phase>) {
        match left {
            Some(Phase::Startup) => {
                self.pipe.was_full = false;
                self.latest.probed = 0;
                if self.phase != Phase::ProbeRtt {
                    self.phase = Phase::Startup;
                }
            }
            Some(Phase::Up) if !matches!(self.phase, Phase::Up | Phase::ProbeRtt) => {
                self.begin_refill();
            }
            _ => {}
        }
    }
}
