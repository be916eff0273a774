//! The congestion controller of a path: the events that it gets, and what it allows.

use alloc::boxed::Box;

use super::{Sampled, SendPath};
use crate::config::AssociationConfig;
use crate::congestion::window::{CongestionWindow, Family};
use crate::congestion::{
    BuiltIn, Congestion, Context, Controller, Correction, CorrectionCause, Idle, MeasuredRate,
    NewPath, Parameters, Pause, Sent,
};
use crate::congestion::{GroupView, pacing};
use crate::mechanism::copies;
use crate::{Duration, Instant};

impl SendPath {
    /// Puts the congestion window back to its initial size, which `sharers` paths share, once the peer's receive window is known.
    pub(crate) fn reset_cwnd(
        &mut self,
        config: &AssociationConfig,
        peer_window: u64,
        sharers: u64,
    ) {
        (self.control, self.congestion) =
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
        self.congestion = self.control.window();
    }

    /// How fast packets leave, in bytes per second.
    pub(super) fn pace(&self) -> u64 {
        match self.control.pacing_rate() {
            Some(rate) => self.near_bottleneck(rate.as_bits_per_second() / 8),
            None => {
                pacing::pace_of(self.congestion.cwnd, self.congestion.ssthresh, self.rtt.srtt())
            }
        }
    }

    /// The pace of a controller that does not know yet what the path carries, once a train of packets has been measured.
    fn near_bottleneck(&self, pace: u64) -> u64 {
        let bottleneck = match self.delivery_rate() {
            Some(known) if !known.is_final => self.trains_pass_on(),
            _ => None,
        };
        bottleneck.map_or(pace, |rate| pacing::near(pace, rate))
    }

    /// Bytes per second that trains of packets have shown, and no less than the path has delivered: a train looks slow where the peer
    /// delayed a SACK, or another path brought the others.
    fn trains_pass_on(&self) -> Option<u64> {
        let trains = self.bottleneck_rate()?;
        let delivered = self.delivery_rate().map_or(0, |known| known.rate.as_bits_per_second() / 8);
        Some(trains.max(delivered))
    }

    /// Rate at which the path delivers, if its controller measures it.
    pub(crate) fn delivery_rate(&self) -> Option<MeasuredRate> {
        self.control.delivery_rate()
    }

    /// Bytes per second that its bottleneck passes on: what its controller found that it carries, or what trains of packets
    /// or round trips have shown.
    pub(crate) fn passes_on(&self) -> Option<u64> {
        let known = self.delivery_rate().filter(|known| known.is_final);
        known.map(|known| known.rate.as_bits_per_second() / 8).or_else(|| self.links_pass_on())
    }

    /// The same from trains and round trips only.
    pub(crate) fn links_pass_on(&self) -> Option<u64> {
        self.trains_pass_on().or_else(|| self.rtt.links_pass_on())
    }

    /// So many bytes are sent.
    #[inline]
    pub(crate) fn note_backlog(&mut self, now: Instant, bytes: u64) {
        if let Some(rate) = self.passes_on()
            && let Some(feedback) = &mut self.feedback
        {
            feedback.backlog.on_sent(now, bytes, rate);
        }
    }

    /// How long a packet that is sent now waits in front of the bottleneck, as far as that is known.
    pub(crate) fn backlog(&self, now: Instant) -> Duration {
        self.backlog_behind(now, self.passes_on())
    }

    /// The same, where it is known already what the bottleneck [passes on](Self::passes_on).
    pub(crate) fn backlog_behind(&self, now: Instant, passes_on: Option<u64>) -> Duration {
        let (Some(feedback), Some(rate)) = (&self.feedback, passes_on) else {
            return Duration::ZERO;
        };
        feedback.backlog.wait(now, self.on_the_way(now) + copies::BURST, rate)
    }

    /// Bytes that have to be outstanding so that the path is used: its congestion window, or what it delivers in a round trip
    /// and a quarter where its controller knows.
    pub(crate) fn needed_cwnd(&self) -> u64 {
        let cwnd = self.congestion.cwnd;
        self.full_flight().map_or(cwnd, |bytes| bytes.min(cwnd))
    }

    /// Bytes that it delivers in a round trip and a quarter, where its controller knows.
    pub(super) fn full_flight(&self) -> Option<u64> {
        let known = self.delivery_rate().filter(|known| known.is_final)?;
        let rtt = self.rtt.smallest()?;
        let bits = u128::from(known.rate.as_bits_per_second()) * u128::from(rtt.as_nanos());
        Some(u64::try_from(bits / (8 * 800_000_000)).unwrap_or(u64::MAX))
    }

    /// Another mechanism wants another congestion window.
    #[inline(never)]
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

    /// Gives the path another congestion window, for tests.
    #[cfg(test)]
    pub(crate) fn set_cwnd(&mut self, cwnd: u64, ssthresh: Option<u64>) {
        self.correct(Instant::ZERO, CorrectionCause::Burst, cwnd, ssthresh);
    }

    /// Whether its controller has a slow-start threshold.
    pub(crate) fn has_ssthresh(&self) -> bool {
        self.control.ssthresh().is_some()
    }

    /// Tells the controller of a pause of retransmission timeouts.
    #[inline]
    pub(super) fn note_idle(&mut self, now: Instant) {
        if let Some(last) = self.last_data_sent.filter(|_| self.flight == 0) {
            self.note_idle_since(last, now);
        }
    }

    #[inline(never)]
    fn note_idle_since(&mut self, last: Instant, now: Instant) {
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
    #[inline(always)]
    pub(crate) fn packet_sent(&mut self, now: Instant) {
        let sent = Sent { bytes: core::mem::take(&mut self.packet_bytes).into() };
        if let Some(spread) = &mut self.spread {
            spread.pacer.on_sent(sent.bytes);
        }
        if self.control.hears_of_packets() {
            self.tell_of_packet(now, sent);
        }
    }

    #[inline(never)]
    fn tell_of_packet(&mut self, now: Instant, sent: Sent) {
        let feedback = self.feedback.get_or_insert_with(Box::default);
        feedback.rates.on_sent(now, self.flight.saturating_sub(sent.bytes), self.flight);
        self.note_backlog(now, sent.bytes);
        self.control(now, &GroupView::ALONE, |it, cx| it.on_sent(cx, &sent));
    }

    /// The last sample of data, once: that of the present SACK, or of one that acknowledged nothing new of the path.
    pub(crate) fn take_rtt_sample(&mut self) -> Option<Duration> {
        match self.rtt_sample.take()? {
            Sampled::Data(sample) => Some(sample),
            Sampled::Control(_) => None,
        }
    }
}

/// The controller of a path that begins, and its congestion window, which `sharers` paths share.
pub(super) fn begin(
    path: &Parameters,
    family: Family,
    config: &AssociationConfig,
    peer_window: u64,
    sharers: u64,
) -> (Congestion, CongestionWindow) {
    let policies = &config.policies;
    let initial =
        CongestionWindow::initial(&policies.window, path.unit, family, peer_window, sharers);
    let new = NewPath::new(*path, initial.cwnd, initial.ssthresh);
    let control = match &config.custom_congestion {
        Some(custom) => Congestion::Custom(custom.controller(&new)),
        None => Congestion::BuiltIn(BuiltIn::new(policies.congestion, &new)),
    };
    let window = control.window();
    (control, window)
}
