//! The events that a congestion controller gets, and its answers.

use core::fmt::Debug;

use polypath_units::BitRate;

use super::view::{GroupView, Parameters};
use crate::{Duration, Instant};

/// Congestion control of one path: events in, a congestion window out.
///
/// Each path has its own controller. It gets the events of its path, and returns on request how many bytes may be outstanding
/// there. Loss detection, retransmission, timers, burst limits and the path scheduler are elsewhere. It reads no clock:
/// [`Context::now`] is the time.
///
/// All byte counts are *counted* bytes, according to `policies.window.bytes_counted`: with the chunk header and padding, or user
/// data alone.
///
/// For one SACK, the methods are called in this order: [`on_ack`](Self::on_ack) for every path on which it acknowledges
/// data, then [`on_loss`](Self::on_loss) for every path on which it proves a loss. After each call, the window and the other
/// results are read again.
///
/// ```
/// use polypath_proto::congestion::{Acked, Context, Controller, Loss, Timeout};
///
/// /// A window that never changes.
/// #[derive(Debug)]
/// struct Fixed(u64);
///
/// impl Controller for Fixed {
///     fn on_ack(&mut self, _: &Context<'_>, _: &Acked) {}
///     fn on_loss(&mut self, _: &Context<'_>, _: &Loss) {}
///     fn on_timeout(&mut self, _: &Context<'_>, _: &Timeout) {}
///     fn cwnd(&self) -> u64 {
///         self.0
///     }
/// }
/// ```
pub trait Controller: Debug + Send {
    /// A packet with DATA was sent: new data or a retransmission.
    fn on_sent(&mut self, cx: &Context<'_>, sent: &Sent) {
        let _ = (cx, sent);
    }

    /// A SACK acknowledges data whose last transmission was on this path.
    fn on_ack(&mut self, cx: &Context<'_>, acked: &Acked);

    /// Data that was outstanding on the path is lost, or declared lost.
    fn on_loss(&mut self, cx: &Context<'_>, loss: &Loss);

    /// The retransmission timer T3-rtx expired: everything outstanding on the path is declared lost. Not called if the peer's
    /// receive window is closed and nothing indicates a loss in the network.
    fn on_timeout(&mut self, cx: &Context<'_>, timeout: &Timeout);

    /// A loss or a timeout was spurious: everything declared lost then has arrived after all. A controller can undo its reaction.
    /// The default does nothing.
    ///
    /// A chunk counts as arrived if it is acknowledged before it is retransmitted, or so soon after its retransmission on the same path that
    /// the acknowledgement must be for the original: in less than half the shortest round-trip time. Called after [`on_ack`](Self::on_ack)
    /// for the same SACK.
    fn on_spurious_loss(&mut self, cx: &Context<'_>, spurious: &SpuriousLoss) {
        let _ = (cx, spurious);
    }

    /// The receiver reports congestion marks on packets of this path (`policies.explicit_congestion_notification`). Nothing was lost. Called
    /// before [`on_ack`](Self::on_ack) of the SACK in the same packet.
    fn on_ecn(&mut self, cx: &Context<'_>, marks: &EcnMarks) {
        let _ = (cx, marks);
    }

    /// Data is about to be sent on a path that has been idle for at least one retransmission timeout and has nothing
    /// outstanding.
    fn on_idle(&mut self, cx: &Context<'_>, idle: &Idle) {
        let _ = (cx, idle);
    }

    /// Another mechanism of the stack requests another window. A controller may ignore the request, as the default does.
    fn on_correction(&mut self, cx: &Context<'_>, correction: &Correction) {
        let _ = (cx, correction);
    }

    /// Congestion window: how many bytes may be outstanding. A packet may be sent while fewer are, so the window is exceeded by
    /// up to one packet (RFC 9260 section 6.1 B). 0 counts as 1: a path with nothing outstanding may send a packet.
    fn cwnd(&self) -> u64;

    /// Slow-start threshold in bytes, for observers and for policies that compare paths by it; `None` if the controller has
    /// none. Proportional rate reduction (`policies.window.reduction`) applies only to controllers with a threshold.
    fn ssthresh(&self) -> Option<u64> {
        None
    }

    /// Pacing rate, if `policies.pacing` is on. With `None`, the stack derives one from the window and the round-trip time.
    fn pacing_rate(&self) -> Option<BitRate> {
        None
    }

    /// Delivery rate that the path could reach, not its present one, if the controller measures it. Blocking estimation and buffer
    /// splitting use it instead of a congestion window per round trip.
    fn delivery_rate(&self) -> Option<MeasuredRate> {
        None
    }
}

/// Delivery rate of a path, as measured by its controller.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MeasuredRate {
    /// The highest measured rate.
    pub rate: BitRate,
    /// Whether this is the capacity of the path. Otherwise, as in slow start, the rate is a lower bound.
    pub is_final: bool,
}

/// State of the path, passed with every event.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Context<'a> {
    /// The current time.
    pub now: Instant,
    /// Sizes and policies of the path.
    pub path: &'a Parameters,
    /// The paths that may share a bottleneck with this one, as they were before the SACK or timeout; for coupled control.
    /// For other events, the path is alone.
    pub group: &'a GroupView,
    /// Smoothed round-trip time; `None` before the first sample.
    pub srtt: Option<Duration>,
    /// Smallest round-trip time so far; `None` before the first sample.
    pub smallest_rtt: Option<Duration>,
    /// Retransmission timeout.
    pub rto: Duration,
    /// Bytes outstanding on the path, after the event.
    pub flight: u64,
}

impl<'a> Context<'a> {
    /// A context for tests of controllers: an unmeasured, uncoupled path with nothing outstanding.
    pub fn new(now: Instant, path: &'a Parameters) -> Self {
        Self {
            now,
            path,
            group: &GroupView::ALONE,
            srtt: None,
            smallest_rtt: None,
            rto: Duration::from_secs(1),
            flight: 0,
        }
    }
}

/// A packet with DATA was sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Sent {
    /// Bytes of its chunks.
    pub bytes: u64,
}

/// What a SACK acknowledges on one path.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Acked {
    /// Newly acknowledged bytes. Each chunk counts once; one that was rescheduled from another path does not count, nor one that was
    /// copied, if a SACK over another path acknowledges it.
    pub acked_bytes: u64,
    /// Those of them that gap ack blocks report.
    pub acked_in_gaps: u64,
    /// Bytes outstanding on the path before the SACK.
    pub flight_before: u64,
    /// Bytes outstanding on the path after the SACK.
    pub flight_after: u64,
    /// Whether the lowest outstanding data of the path arrived, according to `policies.cwnd_update`.
    pub advanced: bool,
    /// Whether the path is in fast recovery.
    pub in_recovery: bool,
    /// The round-trip time that was measured by this SACK, or by one since the last event of this kind that acknowledged no new data
    /// of the path: about one sample per round trip.
    pub rtt: Option<Duration>,
    /// A sample of the delivery rate; `None` if this SACK gives none, and for the built-in controllers of RFC 9260 and CMT, which
    /// do not use it.
    pub rate: Option<RateSample>,
}

/// Delivery rate of a path between the transmission of a chunk and its acknowledgement
/// (draft-cheng-iccrg-delivery-rate-estimation).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct RateSample {
    /// Bytes delivered in this time.
    pub delivered: u64,
    /// The time of sending these bytes, or of acknowledging them, whichever was longer.
    pub interval: Duration,
    /// Time since the transmission of the newest chunk that the SACK acknowledges. Unlike [`Acked::rtt`], every SACK has one; `None`
    /// if the SACK came over another path, whose return path may be shorter, and only SACKs over the path measure it
    /// (`rtt_sample`).
    pub round_trip: Option<Duration>,
    /// Bytes delivered on the path before that chunk was sent, which delimits round trips.
    pub delivered_before: u64,
    /// Bytes delivered on the path until now.
    pub delivered_total: u64,
    /// Bytes outstanding on the path just after that chunk was sent.
    pub flight_then: u64,
    /// Bytes declared lost on the path since then, without those of drop reports.
    pub lost: u64,
    /// What limited the rate.
    pub limit: RateLimit,
}

impl RateSample {
    /// The rate.
    pub fn rate(&self) -> BitRate {
        BitRate::of(polypath_units::ByteCount::from_bytes(self.delivered), self.interval)
    }
}

/// What limited the rate of a path while a sample was taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum RateLimit {
    /// The congestion window: the rate is at most the capacity of the path.
    #[default]
    Cwnd,
    /// The application had nothing to send, or the peer's receive window or the send buffer limited it: the capacity may be
    /// higher.
    Application,
}

/// A loss of data.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Loss {
    /// How it was detected.
    pub cause: LossCause,
    /// Bytes declared lost on the path since the last loss or timeout.
    pub lost_bytes: u64,
    /// Whether the path is in fast recovery because of an earlier loss. Loss-based control reduces the window when it
    /// begins.
    pub in_recovery: bool,
    /// Losses of the path while the newest of these bytes was in flight; `None` if unknown, and for the built-in controllers of
    /// RFC 9260 and CMT, which do not use it.
    pub sample: Option<LossSample>,
}

/// Losses of a path since a lost packet was sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct LossSample {
    /// Bytes outstanding on the path just after the packet was sent.
    pub flight_then: u64,
    /// Bytes declared lost since then, including those of the packet.
    pub lost: u64,
    /// Bytes delivered on the path before the packet was sent.
    pub delivered_before: u64,
    /// Bytes delivered on the path until now.
    pub delivered_total: u64,
    /// What limited the rate then.
    pub limit: RateLimit,
}

/// How a loss was detected.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum LossCause {
    /// Enough missing reports (RFC 9260 section 7.2.4).
    #[default]
    MissingReports,
    /// The acknowledgement of a tail probe.
    TailProbe,
    /// A report that a packet was damaged, or dropped by a middlebox (PKTDROP). Fast recovery does not begin.
    DropReport,
    /// Nothing was lost: chunks were rescheduled because they blocked the buffers, and the policy demands the reaction to a loss.
    Rescheduling,
}

/// T3-rtx expired.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Timeout {
    /// Bytes that were outstanding.
    pub flight_before: u64,
}

/// Data that was declared lost has arrived.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct SpuriousLoss {
    /// Chunks that were declared lost.
    pub chunks: u32,
}

/// The receiver saw congestion marks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct EcnMarks {
    /// Packets marked since the last report, as the receiver counts them; no more than were sent ECN-capable.
    pub packets: u64,
    /// Whether the path has reacted to a loss or a mark within the last round trip: it is in fast recovery, or the marked packet was
    /// sent before the last reaction. The window is reduced if this is false.
    pub in_recovery: bool,
}

/// A path has been idle.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Idle {
    /// Whole retransmission timeouts since it sent, or since this was last called in the same pause; at least 1.
    pub periods: u64,
    /// Whether this is the first call in this pause.
    pub pause: Pause,
}

/// Another mechanism requests another window.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Correction {
    /// The mechanism.
    pub cause: CorrectionCause,
    /// The requested window.
    pub cwnd: u64,
    /// The requested slow-start threshold; `None` for no change.
    pub ssthresh: Option<u64>,
}

/// A mechanism that requests another window.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum CorrectionCause {
    /// A burst limit that cuts unused windows (`policies.burst`).
    Burst,
    /// Chunks were rescheduled, and their bytes are taken out of the window (`policies.reschedule`).
    Rescheduling,
    /// The path blocked a faster one (`policies.blocking_estimation`).
    Blocking,
    /// A potentially failed path works again (`policies.failover`).
    Restart,
    /// A middlebox reports that its queue is longer than a round trip (`policies.packet_drop_report`).
    BottleneckFull,
    /// A middlebox reports unused capacity.
    BottleneckFree,
    /// The controller replaces another one on a path that carries data, and continues with its window
    /// ([`AssociationOptions::congestion`](crate::config::AssociationOptions::congestion)). The threshold is unset if the other one
    /// had none.
    Takeover,
}

/// Whether an idle period was seen before.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Pause {
    /// The first event in this pause.
    #[default]
    Begins,
    /// A later event.
    GoesOn,
}
