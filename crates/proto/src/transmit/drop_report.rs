//! What packet drop reports (draft-stewart-sctp-pktdrprep-16) ask of the sender of the dropped packet.

use polypath_wire::PacketDrop;

use super::outstanding::MAX_SPAN;
use super::{SendCx, Transmitter};
use crate::config::Burst;
use crate::congestion::{Controller, Correction, Loss, LossCause};
use crate::extension::packet_drop::bottleneck::{self, BottleneckView};
use crate::extension::packet_drop::repair::{self, COMPARED_BYTES, Repair, RepairView};
use crate::{LossDetection, PathId, ProbeEvent, Tsn};

impl Transmitter {
    /// Marks a chunk for retransmission as missing reports do, but leaves the congestion window as it is.
    pub(crate) fn on_drop_report(
        &mut self,
        cx: &mut SendCx<'_>,
        tsn: Tsn,
        start: &[u8; COMPARED_BYTES],
        flags: u8,
    ) -> Repair {
        if !cx.may_send() || !self.outstanding.contains(tsn) {
            return Repair::Nothing;
        }
        let chunk = self.outstanding.get(tsn);
        let repair = repair::judge(&RepairView {
            flags,
            reported: start,
            sent: &chunk.payload,
            fate: chunk.fate,
            advertised_window: self.advertised_window,
            age: cx.now.since(chunk.sent_at),
            srtt: self.paths[chunk.path].rtt.srtt(),
        });
        if repair == Repair::Retransmit
            && let Some(path) = self.mark_lost(cx.now, tsn, LossDetection::DropReport.cause())
        {
            let detection = LossDetection::DropReport;
            cx.probe.on(cx.now, ProbeEvent::ChunkLost { path, tsn, detection });
            self.tell_of_drop(cx, path);
        }
        repair
    }

    /// A chunk of the path was dropped, which is no congestion to the built-in controllers.
    fn tell_of_drop(&mut self, cx: &SendCx<'_>, path: PathId) {
        let groups = self.group_views(cx);
        let recovers = self.recovery.is_active();
        let path = &mut self.paths[path];
        let (lost_bytes, sample) = path.take_losses(cx.now);
        let loss = Loss {
            cause: LossCause::DropReport,
            lost_bytes,
            sample,
            in_recovery: recovers || path.recovery.is_active(),
        };
        path.control(cx.now, groups.view(path.id), |it, cx| it.on_loss(cx, &loss));
    }

    /// Notes that `tsn` was just retransmitted on `path` because of a report, moved there, or sent there as a tail probe.
    pub(super) fn remember_repair(&mut self, tsn: Tsn, path: PathId) {
        let repaired = &mut self.paths[path].record.repaired;
        // What is forgotten is found by T3. Only a peer that reports without end comes so far.
        if repaired.len() < MAX_SPAN as usize {
            repaired.push_back(self.outstanding.repaired(tsn));
        }
    }

    /// A middlebox on the path says what its queue holds and carries.
    pub(crate) fn on_bottleneck(
        &mut self,
        cx: &mut SendCx<'_>,
        report: &PacketDrop<'_>,
        came_on: PathId,
    ) {
        let path = &mut self.paths[came_on];
        let (packet, cwnd) = path.record.grown_from;
        let grew = packet == self.packet;
        let view = BottleneckView {
            flags: report.flags,
            bandwidth: report.bandwidth_or_limit,
            queue: report.queued,
            rtt: path.rtt.srtt().zip(path.rtt.smallest()),
            errors: cx.book[came_on].errors,
            flight: path.flight,
            mtu: u64::from(path.mtu()),
            burst: match cx.config.policies.burst {
                Burst::MaxBurst(n)
                | Burst::MaxBurstAfterLoss(n)
                | Burst::MaxBurstOnce(n)
                | Burst::MaxBurstFromRetransmission(n)
                | Burst::UseItOrLoseIt(n)
                | Burst::CongestionWindowLimiting(n) => u64::from(n),
                Burst::Off => u64::MAX / u64::from(u32::MAX),
            },
            cwnd_before_packet: if grew { cwnd } else { path.congestion.cwnd },
        };
        if let Some(Correction { cause, cwnd, ssthresh }) =
            bottleneck::cwnd_after(&view, &path.congestion)
        {
            path.correct(cx.now, cause, cwnd, ssthresh);
            cx.probe.on(cx.now, path.congestion_event());
        }
    }
}
