//! The events that a congestion controller gets, and its answers.

use core::fmt::Debug;

use polypath_units::BitRate;

use super::view::{GroupView, Parameters};
use crate::{Duration, Instant};

/// Congestion control of one path: events in, a congestion window out.
///
/// Each path has a controller of its own. It hears what happens on its path and answers, whenever it is asked, how many
/// bytes may be outstanding there. Loss detection, retransmission, timers, burst limits and the choice of paths are not its
/// business. It reads no clock: [`Context::now`] is the time.
///
/// All byte counts are *counted* bytes, as `policies.window.bytes_counted` says: with the chunk header and padding, or user
/// data alone.
///
/// The methods are called in this order for one SACK: [`on_ack`](Self::on_ack) for every path on which it acknowledges
/// something, then [`on_loss`](Self::on_loss) for every path on which it proves a loss. After each call the answers are
/// read again.
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
    /// A packet with DATA was sent, new or again.
    fn on_sent(&mut self, cx: &Context<'_>, sent: &Sent) {
        let _ = (cx, sent);
    }

    /// A SACK acknowledges data whose last transmission was on this path.
    fn on_ack(&mut self, cx: &Context<'_>, acked: &Acked);

    /// Data that was outstanding on the path is lost, or counts as lost.
    fn on_loss(&mut self, cx: &Context<'_>, loss: &Loss);

    /// The retransmission timer T3-rtx expired: everything outstanding on the path is lost. Not called where the peer's
    /// receive window is closed and nothing says that the network lost anything.
    fn on_timeout(&mut self, cx: &Context<'_>, timeout: &Timeout);

    /// What a loss or a timeout began was spurious: everything that counted as lost then has arrived after all. A controller can
    /// take back what it did; this does nothing unless it is written otherwise.
    ///
    /// A chunk counts as arrived if it is acknowledged before it is retransmitted, or so soon after its retransmission on the same path that
    /// only the original can be meant: in less than half the shortest round trip there. Called after [`on_ack`](Self::on_ack)
    /// for the same SACK.
    fn on_spurious_loss(&mut self, cx: &Context<'_>, spurious: &SpuriousLoss) {
        let _ = (cx, spurious);
    }

    /// The receiver reports congestion marks on packets of this path (`policies.explicit_congestion_notification`). Nothing was lost. Called
    /// before [`on_ack`](Self::on_ack) of the SACK that comes with the report.
    fn on_ecn(&mut self, cx: &Context<'_>, marks: &EcnMarks) {
        let _ = (cx, marks);
    }

    /// Data is about to be sent on a path that sent none for one retransmission timeout or longer and on which nothing is
    /// outstanding.
    fn on_idle(&mut self, cx: &Context<'_>, idle: &Idle) {
        let _ = (cx, idle);
    }

    /// Another mechanism of the stack asks for another window. A controller may ignore that, which is what this does unless
    /// it is written otherwise.
    fn on_correction(&mut self, cx: &Context<'_>, correction: &Correction) {
        let _ = (cx, correction);
    }

    /// Congestion window: how many bytes may be outstanding. A packet may go as long as fewer are, so the window is overshot by
    /// part of one packet (RFC 9260 section 6.1 B). 0 counts as 1: a path with nothing outstanding may send a packet.
    fn cwnd(&self) -> u64;

    /// Slow-start threshold in bytes, for observers and for policies that compare paths by it; `None` where there is no such
    /// thing. Proportional rate reduction (`policies.window.reduction`) needs one, and leaves controllers without it alone.
    fn ssthresh(&self) -> Option<u64> {
        None
    }

    /// Rate at which packets should leave, where `policies.pacing` is on. With `None` the stack derives one from the window and
    /// the round-trip time.
    fn pacing_rate(&self) -> Option<BitRate> {
        None
    }

    /// Rate at which the path delivers, if the controller measures it: what the path would carry, not what it carries at the
    /// moment. Blocking estimation and buffer splitting use it in place of a congestion window per round trip.
    fn delivery_rate(&self) -> Option<MeasuredRate> {
        None
    }
}

/// How fast a path delivers, as a controller has measured it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MeasuredRate {
    /// The highest rate that was measured.
    pub rate: BitRate,
    /// Whether the path carries no more than that. Before, as in slow start, the rate is a lower limit.
    pub is_final: bool,
}

/// State of the path that goes with every event.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Context<'a> {
    /// The present.
    pub now: Instant,
    /// Sizes and policies of the path.
    pub path: &'a Parameters,
    /// The paths that may share a bottleneck with this one, as they were before the SACK or timeout; for coupled control.
    /// With events that are neither, the path is alone.
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
    /// A context for tests of controllers: a path with nothing outstanding, not measured and coupled with no other.
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

/// A packet with DATA went out.
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
    /// Bytes newly acknowledged. Each chunk counts once in its life; one that was rescheduled from another path not at all.
    pub acked_bytes: u64,
    /// Those of them that gap ack blocks report.
    pub acked_in_gaps: u64,
    /// Bytes outstanding on the path before the SACK.
    pub flight_before: u64,
    /// Bytes outstanding on the path after the SACK.
    pub flight_after: u64,
    /// Whether the lowest outstanding data of the path arrived, as `policies.cwnd_update` sees it.
    pub advanced: bool,
    /// Whether the path is in fast recovery.
    pub in_recovery: bool,
    /// The round-trip time that this SACK measured, or one since the last event of this kind that acknowledged nothing new of the
    /// path: about one sample per round trip.
    pub rtt: Option<Duration>,
    /// How fast the path delivers; `None` where this SACK says nothing of it, and for the built-in controllers of RFC 9260 and
    /// CMT, which do without.
    pub rate: Option<RateSample>,
}

/// How fast a path delivered data between the sending of a chunk and its acknowledgement
/// (draft-cheng-iccrg-delivery-rate-estimation).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct RateSample {
    /// Bytes that were delivered meanwhile.
    pub delivered: u64,
    /// How long it took: the time of sending or of acknowledging them, whichever was longer.
    pub interval: Duration,
    /// From the sending of the newest chunk that the SACK acknowledges until now. Unlike [`Acked::rtt`] there is one for each
    /// SACK; `None` if the SACK came over another path, whose way back may be shorter, and only SACKs over the path
    /// measure it (`rtt_sample`).
    pub round_trip: Option<Duration>,
    /// Bytes delivered on the path before that chunk was sent, which tells one round trip from the next.
    pub delivered_before: u64,
    /// Bytes delivered on the path until now.
    pub delivered_total: u64,
    /// Bytes outstanding on the path just after that chunk was sent.
    pub flight_then: u64,
    /// Bytes found lost on the path since then; those that a drop report named are not counted.
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
    /// The congestion window: the rate is what the path carries, or less.
    #[default]
    Cwnd,
    /// The application had nothing to send, or the peer's receive window or the send buffer held it back: the path may carry
    /// more.
    Application,
}

/// Data is lost.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Loss {
    /// How that is known.
    pub cause: LossCause,
    /// Bytes that were found lost on the path since the last loss or timeout.
    pub lost_bytes: u64,
    /// Whether the path is in fast recovery because of an earlier loss. Loss-based control reduces the window where it
    /// begins.
    pub in_recovery: bool,
    /// How much the path lost while the newest of these bytes was under way; `None` where that is not known, and for the built-in
    /// controllers of RFC 9260 and CMT, which do without.
    pub sample: Option<LossSample>,
}

/// What a path lost since a lost packet was sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct LossSample {
    /// Bytes outstanding on the path just after the packet was sent.
    pub flight_then: u64,
    /// Bytes found lost since then, the packet's included.
    pub lost: u64,
    /// Bytes delivered on the path until now.
    pub delivered_total: u64,
    /// What limited the rate then.
    pub limit: RateLimit,
}

/// How it is known that data is lost.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum LossCause {
    /// Enough missing reports (RFC 9260 section 7.2.4).
    #[default]
    MissingReports,
    /// The answer to a tail probe.
    TailProbe,
    /// A report that a packet was damaged, or dropped by a middlebox (PKTDROP). Fast recovery does not begin.
    DropReport,
    /// Nothing was lost: chunks left the path because they blocked the buffers, and the policy wants it to pay as for a loss.
    Rescheduling,
}

/// T3-rtx expired.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Timeout {
    /// Bytes that were outstanding.
    pub flight_before: u64,
}

/// What counted as lost has arrived.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct SpuriousLoss {
    /// Chunks that counted as lost.
    pub chunks: u32,
}

/// The receiver saw congestion marks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct EcnMarks {
    /// Packets marked since the last report, as the receiver counts them; no more than were sent ECN-capable.
    pub packets: u64,
    /// Whether the path has reacted to a loss or a mark within the last round trip: fast recovery goes on, or the marked packet was
    /// sent before the last reaction. The window is reduced where this is false.
    pub in_recovery: bool,
}

/// A path paused.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Idle {
    /// Whole retransmission timeouts since it sent, or since this was last called in the same pause; at least 1.
    pub periods: u64,
    /// Whether it is the first call in this pause.
    pub pause: Pause,
}

/// Another mechanism asks for another window.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Correction {
    /// Who asks.
    pub cause: CorrectionCause,
    /// The window it asks for.
    pub cwnd: u64,
    /// The slow-start threshold it asks for; `None` leaves it.
    pub ssthresh: Option<u64>,
}

/// A mechanism that asks for another window.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum CorrectionCause {
    /// A limit on bursts that cuts windows that are not used (`policies.burst`).
    Burst,
    /// Chunks left the path and take their bytes out of the window (`policies.reschedule`).
    Rescheduling,
    /// The path blocked a faster one (`policies.blocking_estimation`).
    Blocking,
    /// A potentially failed path works again (`policies.failover`).
    Restart,
    /// A middlebox says that its queue is longer than a round trip takes (`policies.packet_drop_report`).
    BottleneckFull,
    /// A middlebox says that it carries more.
    BottleneckFree,
    /// The controller takes the place of another one of a path that carries data, and goes on with its window
    /// ([`AssociationOptions::congestion`](crate::config::AssociationOptions::congestion)). The threshold is unset if the other one
    /// had none.
    Takeover,
}

/// Whether a path has just become idle, or was before.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Pause {
    /// The first look at this pause.
    #[default]
    Begins,
    /// A later one.
    GoesOn,
}
