//! A sender and a receiver of the bottleneck model.

use std::boxed::Box;
use std::collections::BTreeMap;
use std::vec::Vec;

use crate::config::{ControlRtt, Preset};
use crate::congestion::{Acked, Context, Controller, Loss, Parameters, Sent, Timeout};
use crate::paths::rtt::RttEstimator;
use crate::transmit::rate_sampler::{RateSampler, SackArrival};
use crate::{Duration, Instant, PathId};

/// Bytes of a packet, and the unit of windows.
pub(super) const PACKET: u64 = 1500;
pub(super) const P: Parameters = Parameters::plain(PACKET, 2 * PACKET);
/// So much higher a packet must be that has arrived to make a missing one lost.
const REPORTS: u64 = 3;

/// What has arrived and was not acknowledged yet.
#[derive(Debug, Default)]
pub(super) struct Receiver {
    next: u64,
    waiting: Vec<u64>,
    answers: BTreeMap<u64, Vec<u64>>,
}

impl Receiver {
    /// A packet arrives; the number of the acknowledgement that it causes.
    pub(super) fn on_packet(&mut self, packet: u64) -> Option<u64> {
        self.waiting.push(packet);
        let in_order = packet == self.next;
        self.next = packet + 1;
        (!in_order || self.waiting.len() >= 2).then(|| self.answer())
    }

    /// A packet has waited long enough, if it still does.
    pub(super) fn on_delay(&mut self, packet: u64) -> Option<u64> {
        (self.waiting.first() == Some(&packet)).then(|| self.answer())
    }

    fn answer(&mut self) -> u64 {
        let number = *self.waiting.last().unwrap();
        self.answers.insert(number, core::mem::take(&mut self.waiting));
        number
    }
}

/// What the application hands over.
#[derive(Clone, Copy, Debug)]
struct Application {
    since: Instant,
    bytes_per_ms: u64,
    sent: u64,
}

/// One flow.
#[derive(Debug)]
pub(super) struct Flow {
    pub(super) controller: Box<dyn Controller>,
    pub(super) receiver: Receiver,
    pub(super) delivered: u64,
    sampler: RateSampler,
    rtt: RttEstimator,
    /// Packets under way and when they were sent.
    outstanding: BTreeMap<u64, Instant>,
    /// The highest packet that was acknowledged.
    highest: u64,
    next: u64,
    /// Recovery lasts until this packet.
    recovery: Option<u64>,
    next_send: Instant,
    wakes: Option<Instant>,
    answers: u64,
    armed: Option<u64>,
    application: Option<Application>,
}

impl Flow {
    pub(super) fn new(controller: Box<dyn Controller>) -> Self {
        Self {
            controller,
            receiver: Receiver::default(),
            delivered: 0,
            sampler: RateSampler::default(),
            rtt: RttEstimator::with_rules(Preset::Recommended.policies().rto, ControlRtt::Counts),
            outstanding: BTreeMap::new(),
            highest: 0,
            next: 0,
            recovery: None,
            next_send: Instant::ZERO,
            wakes: None,
            answers: 0,
            armed: None,
            application: None,
        }
    }

    pub(super) fn limit_application(&mut self, now: Instant, bytes_per_ms: Option<u64>) {
        self.application =
            bytes_per_ms.map(|rate| Application { since: now, bytes_per_ms: rate, sent: 0 });
    }

    fn flight(&self) -> u64 {
        self.outstanding.len() as u64 * PACKET
    }

    fn tell(&mut self, now: Instant, event: impl FnOnce(&mut dyn Controller, &Context<'_>)) {
        let cx = Context {
            srtt: self.rtt.srtt(),
            smallest_rtt: self.rtt.smallest(),
            rto: self.rtt.rto(),
            flight: self.flight(),
            ..Context::new(now, &P)
        };
        event(&mut *self.controller, &cx);
    }

    /// The next packet, if one may go.
    pub(super) fn next_packet(&mut self, now: Instant) -> Option<u64> {
        let before = self.flight();
        if before >= self.controller.cwnd().max(1) {
            return None;
        }
        if let Some(application) = &mut self.application {
            let allowed = application.bytes_per_ms * now.since(application.since).as_millis();
            if application.sent + PACKET > allowed {
                self.sampler.on_spare_cwnd(before);
                return None;
            }
            application.sent += PACKET;
        }
        if let Some(rate) = self.controller.pacing_rate() {
            if self.next_send > now {
                return None;
            }
            let time = rate.transmission_time(polypath_units::ByteCount::from_bytes(PACKET));
            self.next_send = self.next_send.max(now) + time;
        }
        let packet = self.next;
        self.next += 1;
        self.outstanding.insert(packet, now);
        self.sampler.on_sent(now, before, before + PACKET);
        self.tell(now, |it, cx| it.on_sent(cx, &Sent { bytes: PACKET }));
        Some(packet)
    }

    /// When the flow wants to send again though nothing happens, said once.
    pub(super) fn wakes_at(&mut self, now: Instant) -> Option<Instant> {
        if self.flight() >= self.controller.cwnd().max(1) {
            return None;
        }
        let next = match self.next_send > now {
            true => self.next_send,
            false => now + Duration::from_millis(1),
        };
        if self.wakes.is_some_and(|at| at > now && at <= next) {
            return None;
        }
        self.wakes = Some(next);
        self.wakes
    }

    /// When the retransmission timer expires if nothing is acknowledged any more.
    pub(super) fn arm(&mut self, now: Instant) -> Option<(Instant, u64)> {
        if self.armed == Some(self.answers) || self.outstanding.is_empty() {
            return None;
        }
        self.armed = Some(self.answers);
        Some((now + self.rtt.rto(), self.answers))
    }

    /// An acknowledgement arrives.
    pub(super) fn on_answer(&mut self, now: Instant, number: u64) {
        let packets = self.receiver.answers.remove(&number).unwrap();
        let (before, lowest) = (self.flight(), self.outstanding.keys().next().copied());
        self.answers += 1;
        let mut sample = None;
        for packet in packets {
            let Some(sent_at) = self.outstanding.remove(&packet) else { continue };
            self.highest = self.highest.max(packet);
            self.delivered += PACKET;
            self.sampler.on_chunk_acked(sent_at);
            sample = Some(now.since(sent_at));
        }
        let bytes = before - self.flight();
        if let Some(sample) = sample {
            self.rtt.on_data_sample(now, sample, 1468);
        }
        let first = self.outstanding.keys().next().copied();
        if self.recovery.is_some_and(|end| first.is_none_or(|first| first > end)) {
            self.recovery = None;
        }
        let lost = self.find_lost();
        let answer = SackArrival { now, over: PathId(0), took: None, measures: true };
        let acked = Acked {
            acked_bytes: bytes,
            acked_in_gaps: 0,
            flight_before: before,
            flight_after: self.flight(),
            advanced: first != lowest,
            in_recovery: self.recovery.is_some(),
            rtt: sample,
            rate: self.sampler.sample(answer, bytes, Duration::ZERO),
        };
        self.tell(now, |it, cx| it.on_ack(cx, &acked));
        if lost > 0 {
            let loss = Loss {
                lost_bytes: lost * PACKET,
                in_recovery: self.recovery.is_some(),
                sample: self.sampler.loss_sample(),
                ..Loss::default()
            };
            self.recovery = self.recovery.or(Some(self.next - 1));
            self.tell(now, |it, cx| it.on_loss(cx, &loss));
        }
    }

    /// Takes lost packets out; says how many.
    fn find_lost(&mut self) -> u64 {
        let mut lost = 0;
        while let Some((&packet, &sent_at)) = self.outstanding.first_key_value() {
            if packet + REPORTS > self.highest {
                break;
            }
            self.outstanding.remove(&packet);
            self.sampler.on_lost(sent_at, PACKET);
            lost += 1;
        }
        lost
    }

    /// The retransmission timer expires, unless something was acknowledged since it was armed.
    pub(super) fn on_timeout(&mut self, now: Instant, answers: u64) {
        if answers != self.answers || self.outstanding.is_empty() {
            return;
        }
        let timeout = Timeout { flight_before: self.flight() };
        self.tell(now, |it, cx| it.on_timeout(cx, &timeout));
        self.rtt.back_off();
        for (_, sent_at) in core::mem::take(&mut self.outstanding) {
            self.sampler.on_lost(sent_at, PACKET);
        }
        self.sampler.loss_sample();
        self.recovery = None;
        self.answers += 1;
    }
}
