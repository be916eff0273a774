//! Everything that belongs to one path: a pair of a local and a remote transport address.

pub(crate) mod failover;
pub(crate) mod first_contact;
pub(crate) mod heartbeat;
pub(crate) mod pairing;
pub(crate) mod plpmtu;
pub(crate) mod reach;
pub(crate) mod rtt;
pub(crate) mod stopwatch;
mod table;
pub(crate) mod tail_probe;

pub(crate) use table::Paths;

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use core::net::IpAddr;

use crate::config::{
    AssociationConfig, Burst, BytesCounted, IdleRule, PathFill, PmtuDiscovery, WindowUnit,
};
use crate::congestion::burst::{self, BurstView};
use crate::congestion::coupled::group::{Member, Standing};
use crate::congestion::rate_reduction::RateReduction;
use crate::congestion::recovery::FastRecovery;
use crate::congestion::{CongestionWindow, Family, Parameters, Pause, rfc9260};
use crate::mechanism::loss_rate::LossRate;
use crate::mechanism::reschedule::Ban;
use crate::mechanism::slow_path_rtt::Awaited;
use crate::mechanism::t3_policy::RetransmissionLog;
use crate::transmit::buffer_size::DeliveryRate;
use crate::transmit::outstanding::{OutstandingData, Repaired};
use crate::{Cx, Encapsulation, Instant, PathId, PathStats, PathStatus, ProbeEvent, Tsn};
use first_contact::InitTry;
use heartbeat::Heartbeat;
use plpmtu::{Limits, Plpmtu};
use reach::Reach;
use rtt::RttEstimator;
use stopwatch::Stopwatch;
use tail_probe::TailProbe;

const COMMON_HEADER: u32 = 12;
pub(crate) const DATA_HEADER: u32 = 16;
/// IPv6, UDP and what IP guarantees for any path.
const LEAST_MTU: u32 = 40 + 8 + 64;

/// One path of an association.
#[derive(Debug)]
pub(crate) struct Path {
    pub(crate) id: PathId,
    pub(crate) local: IpAddr,
    pub(crate) remote: IpAddr,
    pub(crate) encapsulation: Encapsulation,
    pub(crate) mtu: u32,
    pub(crate) reach: Reach,
    /// Consecutive timeouts and unanswered heartbeats.
    pub(crate) errors: u32,
    pub(crate) suspicion: Suspicion,
    pub(crate) rtt: RttEstimator,
    pub(crate) init: InitTry,
    /// Chunk whose round trip is being measured.
    pub(crate) timed: Option<Tsn>,
    /// Chunk acknowledged over another path, whose round trip a SACK over this one can still measure.
    pub(crate) awaited: Option<Awaited>,
    pub(crate) window: CongestionWindow,
    /// cwnd at the start.
    pub(crate) initial_cwnd: u64,
    pub(crate) recovery: FastRecovery,
    /// How fast it sends meanwhile, where the policy paces that.
    pub(crate) reduction: RateReduction,
    pub(crate) loss_rate: LossRate,
    /// Charged bytes outstanding.
    pub(crate) flight: u64,
    /// Deadline of T3-rtx.
    pub(crate) t3: Option<Instant>,
    pub(crate) heartbeat: Heartbeat,
    /// Time and rank of the last data packet.
    pub(crate) last_data_sent: Option<Instant>,
    /// When its host first said that it does not take SCTP, of the times since something was heard from it.
    pub(crate) denied_since: Option<Instant>,
    /// When the idle rule was last applied.
    pub(crate) decayed: Instant,
    pub(crate) transmission_rank: u64,
    /// Bursts that acknowledgements since the last flush are worth beyond one each.
    pub(crate) stretched_bursts: u64,
    /// Charged bytes that may be outstanding in the present flush; set when it begins.
    pub(crate) flush_limit: u64,
    /// One packet of retransmissions may ignore the window (RFC 9260 sections 6.3.3 E3, 7.2.4).
    pub(crate) free_retransmission: bool,
    /// Until then it takes no new data, because chunks left it (chunk rescheduling).
    pub(crate) banned_until: Option<Instant>,
    /// Until then it pays no more for having blocked the buffers (blocking estimation).
    pub(crate) spared_until: Instant,
    /// Probing when it is silent at the tail.
    pub(crate) tail_probe: TailProbe,
    /// Chunks sent again here because of drop reports, or moved here, in that order.
    pub(crate) repaired: VecDeque<Repaired>,
    /// The window before a SACK made it grow, and the number of packets received before that one.
    pub(crate) grown_from: (u64, u64),
    /// Rank of the last SACK among all.
    pub(crate) sack_rank: u64,
    /// SACKs sent here, counted for those whose blocks take turns.
    pub(crate) sack_turn: u8,
    /// Kept where the policy of T3-rtx looks at times.
    pub(crate) retransmissions: RetransmissionLog,
    /// What it delivers, where the send buffer follows that.
    pub(crate) delivery: DeliveryRate,
    /// Discovery of the MTU by probes, where that is on.
    pub(crate) plpmtu: Option<Box<Plpmtu>>,
    pub(crate) counters: Counters,
}

/// History of a path's failures, suspected and real.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Suspicion {
    /// How many times any path of the association had become doubtful when this one did the last time.
    pub(crate) rank: u64,
    /// How often this one did.
    pub(crate) times: u64,
    /// How long it was.
    pub(crate) time: Stopwatch,
    /// When timeouts made it inactive the last time.
    pub(crate) failed_at: Option<Instant>,
}

/// Whether a path can carry data now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Usable {
    Yes,
    No,
}

/// Counters of a path; kept after it has failed.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counters {
    pub(crate) packets_sent: u64,
    pub(crate) packets_received: u64,
    pub(crate) data_packets_sent: u64,
    pub(crate) data_chunks_sent: u64,
    pub(crate) data_bytes_sent: u64,
    pub(crate) data_bytes_acked: u64,
    pub(crate) data_bytes_received: u64,
    pub(crate) fast_retransmissions: u64,
    pub(crate) timeout_retransmissions: u64,
    pub(crate) reported_retransmissions: u64,
    pub(crate) rescheduled_chunks: u64,
    pub(crate) tail_probes: u64,
    pub(crate) timeouts: u64,
    pub(crate) fast_recoveries: u64,
    pub(crate) heartbeats_sent: u64,
    pub(crate) heartbeat_acks_received: u64,
}

impl Path {
    pub(crate) fn new(
        id: PathId,
        local: IpAddr,
        remote: IpAddr,
        encapsulation: Encapsulation,
        config: &AssociationConfig,
    ) -> Self {
        let mtu = u32::from(config.mtu_bytes).max(LEAST_MTU);
        let mut path = Self {
            id,
            local,
            remote,
            encapsulation,
            mtu,
            reach: Reach::Unconfirmed,
            errors: 0,
            suspicion: Suspicion::default(),
            rtt: RttEstimator::new(config.policies.rto),
            init: InitTry::None,
            timed: None,
            awaited: None,
            window: CongestionWindow::default(),
            initial_cwnd: 0,
            recovery: FastRecovery::default(),
            reduction: RateReduction::default(),
            loss_rate: LossRate::default(),
            flight: 0,
            t3: None,
            heartbeat: Heartbeat::default(),
            last_data_sent: None,
            denied_since: None,
            decayed: Instant::ZERO,
            transmission_rank: 0,
            stretched_bursts: 0,
            flush_limit: 0,
            free_retransmission: false,
            banned_until: None,
            spared_until: Instant::ZERO,
            tail_probe: TailProbe::default(),
            repaired: VecDeque::new(),
            grown_from: (u64::MAX, 0),
            sack_rank: 0,
            sack_turn: 0,
            retransmissions: RetransmissionLog::default(),
            delivery: DeliveryRate::default(),
            plpmtu: None,
            counters: Counters::default(),
        };
        if config.pmtu_discovery == Some(PmtuDiscovery::Probe) {
            let limits = Limits::new(path.headers(), path.least_mtu(), mtu);
            path.plpmtu = Some(Box::new(Plpmtu::new(limits)));
        }
        path.reset_window(config, u64::from(u32::MAX), 1);
        path
    }

    /// Puts the window back to its initial size, which `sharers` paths share, once the peer's receive window is known.
    pub(crate) fn reset_window(
        &mut self,
        config: &AssociationConfig,
        peer_window: u64,
        sharers: u64,
    ) {
        let family = if self.remote.is_ipv4() { Family::V4 } else { Family::V6 };
        let unit = self.congestion_parameters(config).unit;
        let policy = &config.policies.window;
        self.window = CongestionWindow::initial(policy, unit, family, peer_window, sharers);
        self.initial_cwnd = self.window.cwnd;
    }

    /// Bytes of an SCTP packet that fit into one IP packet on this path.
    pub(crate) fn packet_capacity(&self) -> u32 {
        self.capacity_of(self.mtu)
    }

    /// Bytes of an SCTP packet that fit into an IP packet of `mtu` bytes.
    pub(crate) fn capacity_of(&self, mtu: u32) -> u32 {
        // IP guarantees this much for any path (RFC 9260 section 3 fits an INIT and a DATA chunk of one byte).
        mtu.saturating_sub(self.headers()).max(64) & !3
    }

    /// Bytes of IP and UDP before each SCTP packet.
    fn headers(&self) -> u32 {
        let ip = if self.remote.is_ipv4() { 20 } else { 40 };
        let udp = match self.encapsulation {
            Encapsulation::None => 0,
            Encapsulation::Udp { .. } => 8,
        };
        ip + udp
    }

    /// Least MTU that is believed: what every IPv4 host must be able to receive (RFC 9260 section 7.3), and every IPv6
    /// link must carry. Less is a forgery, or not worth fragments of a few bytes.
    pub(crate) fn least_mtu(&self) -> u32 {
        if self.remote.is_ipv4() { 576 } else { 1280 }
    }

    /// Whether messages are cut to fit this path: where MTUs are probed, not before it works and not when it has failed.
    pub(crate) fn bounds_fragments(&self) -> bool {
        let has_failed = matches!(self.reach, Reach::Inactive(_));
        self.plpmtu.as_ref().is_none_or(|plpmtu| plpmtu.mtu().is_some() && !has_failed)
    }

    /// Bytes of user data of the largest DATA chunk on this path.
    pub(crate) fn max_chunk_payload(&self) -> u32 {
        self.packet_capacity() - COMMON_HEADER - DATA_HEADER
    }

    /// What the congestion controller needs to know.
    pub(crate) fn congestion_parameters(&self, config: &AssociationConfig) -> Parameters {
        let policy = &config.policies.window;
        let largest_chunk = u64::from(charge(policy.bytes_counted, self.max_chunk_payload()));
        let unit = match policy.unit {
            WindowUnit::Pmdcs => largest_chunk,
            WindowUnit::PathMtu => u64::from(self.mtu),
        };
        let ssthresh_floor = u64::from(policy.ssthresh_floor_mtu) * unit;
        Parameters {
            unit,
            largest_chunk,
            ssthresh_floor,
            slow_start: policy.slow_start,
            fill: config.policies.path_fill,
        }
    }

    /// Begins a flush at `now`: applies the idle rule and the limit of bursts that is in force after `sacks` packets with
    /// acknowledgements.
    pub(crate) fn begin_flush(
        &mut self,
        now: Instant,
        config: &AssociationConfig,
        burst: Burst,
        sacks: u64,
    ) {
        self.apply_idle_rule(now, config);
        let parameters = self.congestion_parameters(config);
        let (ssthresh, unit) = (self.window.ssthresh, parameters.unit);
        let reduced = self.reduction.limit(self.flight, ssthresh, unit);
        let view = BurstView {
            cwnd: reduced.unwrap_or(self.window.cwnd),
            ssthresh,
            flight: self.flight,
            unit,
            sacks,
            stretched: core::mem::take(&mut self.stretched_bursts),
        };
        let limit = burst::limit(burst, &view);
        self.flush_limit = limit.flush;
        if reduced.is_none() {
            self.window.cwnd = limit.cwnd;
            self.window.ssthresh = limit.ssthresh;
        }
        if parameters.one_packet(self.window.cwnd) {
            self.flush_limit = self.flush_limit.min(1);
        }
    }

    /// What a pause of retransmission timeouts does to the window.
    fn apply_idle_rule(&mut self, now: Instant, config: &AssociationConfig) {
        let rule = config.policies.window.idle;
        let Some(last) = self.last_data_sent.filter(|_| self.flight == 0) else { return };
        if rule == IdleRule::Keep {
            return;
        }
        let applied = Some(self.decayed).filter(|decayed| *decayed > last);
        let periods =
            now.since(applied.unwrap_or(last)).as_nanos() / self.rtt.rto().as_nanos().max(1);
        if periods == 0 {
            return;
        }
        if rule == IdleRule::Reset {
            rfc9260::reset_idle(&mut self.window, self.initial_cwnd, periods);
        } else {
            let parameters = self.congestion_parameters(config);
            let pause = if applied.is_some() { Pause::GoesOn } else { Pause::Begins };
            rfc9260::on_idle(&mut self.window, &parameters, periods, pause);
        }
        self.decayed = now;
    }

    /// The path as its congestion group sees it. What is outstanding is a claim on the capacity even where nothing new
    /// may follow.
    pub(crate) fn as_member(&self, usable: Usable) -> Member {
        let standing = match usable {
            Usable::No if self.flight == 0 => Standing::Inactive,
            _ => Standing::Active,
        };
        Member {
            standing,
            cwnd: self.window.cwnd,
            ssthresh: self.window.ssthresh,
            srtt: self.rtt.srtt(),
            between_losses: self.window.intervals.longest(),
        }
    }

    /// Whether new data has to keep away.
    pub(crate) fn ban_at(&self, now: Instant) -> Ban {
        match self.banned_until > Some(now) {
            true => Ban::On,
            false => Ban::Off,
        }
    }

    /// Whether the window lets another packet of data go (RFC 9260 section 6.1 B: it may overshoot by part of one).
    pub(crate) fn has_window(&self) -> bool {
        self.flight < self.flush_limit
    }

    /// Something sent at `sent_at` was answered.
    pub(crate) fn sample_rtt(&mut self, cx: &mut Cx<'_>, sent_at: Instant) {
        let sample = cx.now.since(sent_at);
        self.rtt.on_sample(sample);
        let (srtt, rto) = (self.rtt.srtt().unwrap_or(sample), self.rtt.rto());
        cx.probe.on(cx.now, ProbeEvent::Rtt { path: self.id, sample, srtt, rto });
    }

    /// Missing reports count again for chunks that drop reports repaired, once `acked`, which was sent later on this
    /// path, has arrived. Each such chunk is looked at once.
    pub(crate) fn count_repaired_again(&mut self, window: &mut OutstandingData, acked: Tsn) {
        while let Some(repaired) = self.repaired.front().filter(|r| r.is_older_than(acked)) {
            window.count_again(repaired);
            self.repaired.pop_front();
        }
    }

    /// Gives memory back that nothing needs now.
    pub(crate) fn release_memory(&mut self) {
        self.repaired.shrink_to_fit();
        self.retransmissions.release_memory();
    }

    /// Starts T3-rtx unless it runs.
    pub(crate) fn start_t3(&mut self, now: Instant) {
        if self.t3.is_none() {
            self.restart_t3(now);
        }
    }

    /// A chunk was sent here.
    pub(crate) fn put_out(&mut self, charge: u32) {
        self.flight += u64::from(charge);
        self.reduction.on_sent(u64::from(charge));
    }

    /// A chunk is outstanding here no more, though nothing acknowledged it: it was lost, given up, or leaves for another
    /// path.
    pub(crate) fn take_out(&mut self, tsn: Tsn, charge: u32) {
        self.flight = self.flight.saturating_sub(u64::from(charge));
        self.timed = self.timed.filter(|timed| *timed != tsn);
    }

    /// Starts T3-rtx anew.
    pub(crate) fn restart_t3(&mut self, now: Instant) {
        self.t3 = Some(now + self.rtt.rto());
    }

    /// When the path last sent data, for comparison between paths. Where each path sends one packet at a time, those
    /// of one instant have an order, or one path would get them all; where each fills its window, they are equal.
    pub(crate) fn last_transmission(&self, fill: PathFill) -> u64 {
        match fill {
            PathFill::PacketByPacket | PathFill::Runs => self.transmission_rank,
            PathFill::FillWindow => self.last_data_sent.map_or(0, Instant::as_nanos),
        }
    }

    /// The congestion state, for observers.
    pub(crate) fn window_event(&self) -> ProbeEvent {
        let CongestionWindow { cwnd, ssthresh, .. } = self.window;
        ProbeEvent::Window { path: self.id, cwnd, ssthresh, flight: self.flight }
    }

    pub(crate) fn status(&self) -> PathStatus {
        self.reach.status()
    }

    pub(crate) fn stats(&self, primary: PathId) -> PathStats {
        let c = self.counters;
        let probes = self.plpmtu.as_ref().map_or_else(Default::default, |plpmtu| plpmtu.counts);
        PathStats {
            path: self.id,
            local: self.local,
            remote: self.remote,
            status: self.status(),
            primary: self.id == primary,
            cwnd_bytes: self.window.cwnd,
            ssthresh_bytes: self.window.ssthresh,
            flight_bytes: self.flight,
            srtt: self.rtt.srtt(),
            rto: self.rtt.rto(),
            mtu_bytes: self.mtu,
            mtu_sought_bytes: self.plpmtu.as_ref().map_or(self.mtu, |plpmtu| plpmtu.sought()),
            packets_sent: c.packets_sent,
            packets_received: c.packets_received,
            data_packets_sent: c.data_packets_sent,
            data_chunks_sent: c.data_chunks_sent,
            data_bytes_sent: c.data_bytes_sent,
            data_bytes_acked: c.data_bytes_acked,
            data_bytes_received: c.data_bytes_received,
            fast_retransmissions: c.fast_retransmissions,
            timeout_retransmissions: c.timeout_retransmissions,
            reported_retransmissions: c.reported_retransmissions,
            rescheduled_chunks: c.rescheduled_chunks,
            tail_probes: c.tail_probes,
            timeouts: c.timeouts,
            fast_recoveries: c.fast_recoveries,
            heartbeats_sent: c.heartbeats_sent,
            heartbeat_acks_received: c.heartbeat_acks_received,
            mtu_probes_sent: probes.sent,
            mtu_probes_lost: probes.lost,
            black_holes: probes.black_holes,
            failed_at: self.suspicion.failed_at,
            potentially_failed: self.suspicion.times,
            potentially_failed_time: self.suspicion.time.total(),
        }
    }
}

/// Bytes that a DATA chunk with `user_bytes` counts in windows.
pub(crate) fn charge(counted: BytesCounted, user_bytes: u32) -> u32 {
    match counted {
        BytesCounted::WithHeader => DATA_HEADER + user_bytes.next_multiple_of(4),
        BytesCounted::Payload => user_bytes,
    }
}
