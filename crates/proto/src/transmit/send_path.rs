//! The sending half of a path: what is outstanding on it, and how much more may be.

mod arrivals;
mod control;
mod counters;
mod feedback;
mod record;
mod takeover;

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::num::NonZeroU64;
use core::ops::{Index, IndexMut};

use smallvec::SmallVec;

use crate::config::{
    AssociationConfig, Burst, BytesCounted, Pacing, PathFill, PathGroups, SackRequest,
    SharedConfig, T3Restart, WindowUnit,
};
use crate::congestion::buffer_pace::BufferPace;
use crate::congestion::burst::{self, BurstView};
use crate::congestion::coupled::group::{GroupViews, Member};
use crate::congestion::pacing::Pacer;
use crate::congestion::recovery::FastRecovery;
use crate::congestion::window::{CongestionWindow, Family};
use crate::congestion::{Congestion, CorrectionCause, Parameters};
use crate::mechanism::copies::Copies;
use crate::mechanism::reschedule::NewDataBan;
use crate::mechanism::tail_probe::TailProbe;
use crate::paths::PathBook;
use crate::paths::rtt::RttEstimator;
use crate::transmit::outstanding::OutstandingData;
use crate::types::{Lazy, PathSet, PathTimes, UserDataChunk};
use crate::{Duration, Instant, PathId, Probe, ProbeEvent, Tsn};
use arrivals::Arrivals;
use counters::SendCounters;
pub(crate) use feedback::AckOrigin;
use feedback::Feedback;
use record::SendRecord;

const COMMON_HEADER: u32 = 12;
/// IPv6, UDP and what IP guarantees for any path.
const LEAST_MTU: u32 = 40 + 8 + 64;

/// The sending half of one path.
#[derive(Debug)]
pub(crate) struct SendPath {
    pub(crate) id: PathId,
    family: Family,
    /// Bytes of IP and UDP headers before each SCTP packet.
    headers: u32,
    /// Path MTU in bytes, IP header included.
    mtu: u32,
    /// What carries user data.
    chunk: UserDataChunk,
    /// What the congestion control knows of it; follows the MTU.
    parameters: Parameters,
    pub(crate) rtt: RttEstimator,
    /// The last round trip that was measured, until the controller hears of an acknowledgement.
    rtt_sample: Option<Sampled>,
    /// Chunk whose round trip is being measured.
    pub(crate) timed: Option<Tsn>,
    /// Its congestion controller, told of events by [`control`](Self::control).
    control: Congestion,
    /// Congestion window and slow-start threshold that it allows, as of the last event.
    pub(crate) congestion: CongestionWindow,
    /// What it delivers and loses, for controllers that want to know.
    feedback: Option<Box<Feedback>>,
    /// In which order it delivers, where the policy looks at that.
    arrivals: Option<Box<Arrivals>>,
    pub(crate) recovery: FastRecovery,
    /// Counted bytes outstanding.
    pub(crate) flight: u64,
    /// Counted bytes found lost that the controller was not told of yet.
    lost_bytes: u32,
    /// Counted bytes put into the packet that is being filled.
    packet_bytes: u32,
    /// Deadline of T3-rtx.
    pub(crate) t3: Option<Instant>,
    /// The last chunk that was sent here asks for its SACK at once.
    pub(crate) last_asks_for_sack: bool,
    /// Time and rank of the last data packet.
    pub(crate) last_data_sent: Option<Instant>,
    pub(crate) transmission_rank: u64,
    /// When the idle rule was last applied.
    decayed: Instant,
    /// Bursts that acknowledgements since the last flush are worth beyond one each.
    pub(crate) extra_bursts: u32,
    /// Counted bytes that may be outstanding in the present flush; set when it begins.
    flush_limit: u64,
    /// Of a path that was paced or copied to since it was idle.
    spread: Option<Box<Spread>>,
    /// Data was acknowledged that went over this path only, whichever path its SACK took.
    pub(crate) has_delivered: bool,
    /// One packet of retransmissions may ignore the congestion window (RFC 9260 sections 6.3.3 E3, 7.2.4).
    pub(crate) free_retransmission: bool,
    /// Keeps new data off after a chunk left it (chunk rescheduling; tail reinjection, if it may have lost the chunk).
    pub(crate) new_data_ban: NewDataBan,
    /// Probing when it is silent at the tail.
    pub(crate) tail_probe: TailProbe,
    /// What its mechanisms remember while it carries data.
    pub(crate) record: Lazy<SendRecord>,
    pub(crate) counters: SendCounters,
}

/// A round trip that was measured.
#[derive(Clone, Copy, Debug)]
enum Sampled {
    Data(Duration),
    Control(Duration),
}

/// What spreads packets over time and over paths. Apart from the rest, because idle paths need none of it.
#[derive(Debug, Default)]
pub(crate) struct Spread {
    pub(crate) pacer: Pacer,
    buffer_pace: BufferPace,
    /// Counted bytes that might be outstanding in the present flush without the pace.
    unpaced_limit: u64,
    pub(crate) copies: Copies,
}

impl SendPath {
    /// Forgets what is kept by TSN.
    pub(super) fn forget_tsns(&mut self) {
        self.timed = None;
        self.recovery = FastRecovery::default();
        self.arrivals = None;
        self.spread = None;
        if let Some(feedback) = &mut self.feedback {
            feedback.forget_tsns();
        }
        self.record.forget();
    }

    /// A path on which nothing was sent yet. `headers` is what IP and UDP take of each packet, in bytes.
    pub(crate) fn new(
        id: PathId,
        family: Family,
        headers: u32,
        chunk: UserDataChunk,
        config: &SharedConfig,
    ) -> Self {
        let mtu = u32::from(config.mtu_bytes).max(LEAST_MTU);
        let parameters = parameters(id, (mtu, headers), chunk, config);
        let (control, congestion) =
            control::begin(&parameters, family, config, u64::from(u32::MAX), 1);
        Self {
            id,
            family,
            headers,
            mtu,
            chunk,
            parameters,
            rtt: RttEstimator::new(config),
            rtt_sample: None,
            timed: None,
            control,
            congestion,
            feedback: None,
            arrivals: None,
            recovery: FastRecovery::default(),
            flight: 0,
            lost_bytes: 0,
            packet_bytes: 0,
            t3: None,
            last_asks_for_sack: false,
            last_data_sent: None,
            transmission_rank: 0,
            decayed: Instant::ZERO,
            extra_bursts: 0,
            flush_limit: 0,
            spread: None,
            has_delivered: false,
            free_retransmission: false,
            new_data_ban: NewDataBan::default(),
            tail_probe: TailProbe::default(),
            record: Lazy::default(),
            counters: SendCounters::default(),
        }
    }

    /// Path MTU in bytes, IP header included.
    pub(crate) fn mtu(&self) -> u32 {
        self.mtu
    }

    /// The MTU, or the headers before an SCTP packet, are other ones.
    pub(crate) fn resize(&mut self, mtu: u32, headers: u32, config: &AssociationConfig) {
        (self.mtu, self.headers) = (mtu, headers);
        self.parameters = parameters(self.id, (mtu, headers), self.chunk, config);
    }

    /// Bytes of an SCTP packet that fit into one IP packet on this path.
    pub(crate) fn packet_capacity(&self) -> u32 {
        self.capacity_of(self.mtu)
    }

    /// Bytes of an SCTP packet that fit into an IP packet of `mtu` bytes.
    pub(crate) fn capacity_of(&self, mtu: u32) -> u32 {
        capacity(mtu, self.headers)
    }

    /// Bytes of user data of the largest chunk on this path.
    pub(crate) fn max_chunk_payload(&self) -> u32 {
        self.chunk_payload_of(self.mtu)
    }

    /// Bytes of user data of the largest chunk in an IP packet of `mtu` bytes.
    pub(crate) fn chunk_payload_of(&self, mtu: u32) -> u32 {
        self.capacity_of(mtu) - COMMON_HEADER - self.chunk.header_bytes()
    }

    /// What the congestion controller needs to know.
    #[inline]
    pub(crate) fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    /// Begins a flush at `now`: applies the idle rule and the limit of bursts that is in force after `sacks` packets with
    /// acknowledgements.
    pub(crate) fn begin_flush(&mut self, now: Instant, pacing: Pacing, burst: Burst, sacks: u64) {
        self.note_idle(now);
        let (ssthresh, unit) = (self.congestion.ssthresh, self.parameters.unit);
        let flight = self.flight;
        let reduced =
            self.record.if_used().and_then(|it| it.reduction.limit(flight, ssthresh, unit));
        let view = BurstView {
            cwnd: reduced.unwrap_or(self.congestion.cwnd),
            ssthresh,
            flight: self.flight,
            unit,
            sacks,
            extra_bursts: core::mem::take(&mut self.extra_bursts).into(),
        };
        let limit = burst::limit(burst, &view);
        self.flush_limit = limit.flush;
        let wanted = CongestionWindow { cwnd: limit.cwnd, ssthresh: limit.ssthresh };
        if reduced.is_none() && wanted != self.congestion {
            self.correct(now, CorrectionCause::Burst, wanted.cwnd, Some(wanted.ssthresh));
        }
        if self.parameters.one_packet(self.congestion.cwnd) {
            self.flush_limit = self.flush_limit.min(1);
        }
        // While the congestion window is being reduced, what arrives sets the pace.
        if pacing == Pacing::On && reduced.is_none() {
            let pace = self.pace();
            let (flight, limit) = (self.flight, self.flush_limit);
            let spread = self.spread_mut();
            let pace = spread.buffer_pace.bound(now, pace);
            let paced = flight.saturating_add(spread.pacer.begin_flush(now, pace, unit));
            spread.unpaced_limit = limit;
            self.flush_limit = limit.min(paced);
        } else if let Some(spread) = &mut self.spread {
            spread.pacer.begin_flush(now, 0, unit);
        }
    }

    /// Whether this flush has a limit below the congestion window, and has reached it.
    pub(crate) fn is_limited_in_flush(&self) -> bool {
        self.flight >= self.flush_limit && self.flight < self.congestion.cwnd
    }

    /// Nothing more can be sent in this flush; `waits` if something would be. A train has `train` bytes beside those of its first
    /// packet. `full` is what a buffer admits in a round trip that admits nothing more now.
    pub(crate) fn end_flush(&mut self, now: Instant, waits: bool, train: u64, full: Option<u64>) {
        if let (Some(bytes), Some(spread)) = (full, &mut self.spread) {
            spread.buffer_pace.on_full(now, bytes);
        }
        if let Some(spread) = &mut self.spread {
            let is_limit = self.flight >= self.flush_limit && self.flight < spread.unpaced_limit;
            spread.pacer.end_flush(waits && is_limit);
        }
        self.note_spare_cwnd(train);
    }

    /// The pace of its packets.
    #[cfg(test)]
    pub(crate) fn pacer(&self) -> Pacer {
        self.spread.as_ref().map_or_else(Pacer::default, |spread| spread.pacer)
    }

    /// Bytes per second at which its packets leave, if they are paced.
    pub(crate) fn present_pace(&self) -> Option<NonZeroU64> {
        self.spread.as_ref().and_then(|spread| NonZeroU64::new(spread.pacer.rate()))
    }

    /// Whether the pace, and not the window, kept it from sending more.
    pub(crate) fn pace_holds(&self) -> bool {
        self.spread.as_ref().is_some_and(|spread| spread.pacer.holds())
    }

    /// When the pace admits the next packet that waits for it, or the far future.
    pub(crate) fn pace_due(&self) -> Instant {
        let due = self.spread.as_ref().and_then(|spread| spread.pacer.due());
        due.unwrap_or(Instant::FAR_FUTURE)
    }

    /// Copies of what went over other paths.
    pub(crate) fn copies(&self) -> Copies {
        self.spread.as_ref().map_or_else(Copies::default, |spread| spread.copies)
    }

    /// A chunk is sent here again.
    pub(crate) fn note_returned(&mut self, tsn: Tsn) {
        if let Some(spread) = &mut self.spread {
            spread.copies.on_returned(tsn);
        }
    }

    /// What spreads packets over time and over paths.
    pub(crate) fn spread_mut(&mut self) -> &mut Spread {
        self.spread.get_or_insert_with(Box::default)
    }

    /// The path as its congestion group sees it. What is outstanding is a claim on the capacity even where nothing new
    /// may follow.
    pub(crate) fn as_member(&self, usable: bool) -> Member {
        Member {
            is_active: usable || self.flight > 0,
            cwnd: self.congestion.cwnd,
            ssthresh: self.congestion.ssthresh,
            srtt: self.rtt.srtt(),
            between_losses: self.control.between_losses(),
        }
    }

    /// Whether the congestion window, the burst limit and the pace admit another packet of data. The last packet may exceed the window
    /// (RFC 9260 section 6.1 B).
    pub(crate) fn cwnd_admits(&self) -> bool {
        self.flight < self.flush_limit
    }

    /// A chunk of data of this size, sent at `sent_at`, was answered.
    #[inline(never)]
    pub(crate) fn sample_rtt(
        &mut self,
        now: Instant,
        probe: &mut dyn Probe,
        sent_at: Instant,
        flight_bytes: u32,
    ) {
        if let Some(spread) = &mut self.spread {
            spread.copies.on_measured(sent_at);
        }
        self.rtt.on_data_sample(now, now.since(sent_at), flight_bytes);
        self.note_sample(now, probe, Sampled::Data(now.since(sent_at)));
    }

    /// A control chunk sent at `sent_at` was answered.
    pub(crate) fn sample_control_rtt(
        &mut self,
        now: Instant,
        probe: &mut dyn Probe,
        sent_at: Instant,
    ) {
        self.rtt.on_control_sample(now, now.since(sent_at));
        self.note_sample(now, probe, Sampled::Control(now.since(sent_at)));
    }

    /// A chunk of data of this size was answered after this time by a SACK that took so long over another path. That is an estimate of the
    /// round trip.
    pub(crate) fn estimate_rtt(
        &mut self,
        now: Instant,
        probe: &mut dyn Probe,
        (answered, took): (Duration, Duration),
        flight_bytes: u32,
    ) {
        let round_trip = self.rtt.estimate(now, answered, took, flight_bytes);
        self.note_sample(now, probe, Sampled::Data(round_trip));
    }

    fn note_sample(&mut self, now: Instant, probe: &mut dyn Probe, sampled: Sampled) {
        self.rtt_sample = Some(sampled);
        let (Sampled::Data(sample) | Sampled::Control(sample)) = sampled;
        let (srtt, rto) = (self.rtt.srtt().unwrap_or(sample), self.rtt.rto());
        probe.on(now, ProbeEvent::Rtt { path: self.id, sample, srtt, rto });
    }

    /// The round trip that was measured last, unless the controller has taken it already.
    pub(crate) fn last_sample(&self) -> Option<Duration> {
        self.rtt_sample.map(|(Sampled::Data(sample) | Sampled::Control(sample))| sample)
    }

    /// Missing reports count again for chunks that were retransmitted here because of a drop report, moved here, or probed
    /// for a tail, once `acked`, which was sent later on this path, has arrived. Each such chunk is looked at once.
    pub(crate) fn count_repaired_again(&mut self, outstanding: &mut OutstandingData, acked: Tsn) {
        let Some(record) = self.record.if_used() else { return };
        while let Some(repaired) = record.repaired.front().filter(|r| r.is_older_than(acked)) {
            outstanding.count_again(repaired);
            record.repaired.pop_front();
        }
    }

    /// Gives memory back that nothing needs now.
    pub(crate) fn release_memory(&mut self) {
        if self.flight == 0 {
            if self.record.loss_rate.oracle.is_none() {
                self.record.forget();
            }
            self.spread = None;
            self.arrivals = None;
            if let Some(feedback) = &mut self.feedback {
                feedback.forget_tsns();
            }
            if self.control.forget() {
                self.feedback = None;
                self.congestion = self.control.window();
            }
        }
        if let Some(record) = self.record.if_used() {
            record.repaired.shrink_to_fit();
            record.retransmissions.release_memory();
        }
    }

    /// No SACK measures the round trip any more of what was acknowledged over another path.
    pub(crate) fn await_no_sample(&mut self) {
        if let Some(record) = self.record.if_used() {
            record.awaited = None;
        }
    }

    /// Starts T3-rtx unless it runs.
    pub(crate) fn start_t3(&mut self, now: Instant, config: &AssociationConfig) {
        if self.t3.is_none() {
            if config.policies.t3_restart == T3Restart::Smart {
                self.record.retransmissions.notes_new_oldest(Some(now));
            }
            self.restart_t3(now, config);
        }
    }

    /// A chunk was sent here.
    pub(crate) fn put_out(&mut self, flight_bytes: u32) {
        self.flight += u64::from(flight_bytes);
        self.packet_bytes += flight_bytes;
        self.record.reduction.on_sent(u64::from(flight_bytes));
    }

    /// A chunk is outstanding here no more, though nothing acknowledged it: it was lost, abandoned, or leaves for another
    /// path.
    pub(crate) fn take_out(&mut self, tsn: Tsn, flight_bytes: u32) {
        self.flight = self.flight.saturating_sub(u64::from(flight_bytes));
        self.timed = self.timed.filter(|timed| *timed != tsn);
    }

    /// Starts T3-rtx anew. The receiver may delay the SACK for a single packet that does not ask for it: where the timeout is
    /// not much longer than that delay anyway, it is added.
    pub(crate) fn restart_t3(&mut self, now: Instant, config: &AssociationConfig) {
        let policies = &config.policies;
        let is_delayed = policies.sack_request == SackRequest::WhenNeeded
            && self.flight <= self.parameters.largest_chunk
            && !self.last_asks_for_sack;
        let delay = if is_delayed { policies.delayed_ack.delay } else { Duration::ZERO };
        self.t3 = Some(now + self.rtt.rto() + delay);
    }

    /// When the path last sent data, for comparison between paths. Where each path sends one packet at a time, those
    /// of one instant have an order, or one path would get them all; where each fills its congestion window, they are equal.
    pub(crate) fn last_transmission(&self, fill: PathFill) -> u64 {
        match fill {
            PathFill::PacketByPacket | PathFill::Runs => self.transmission_rank,
            PathFill::FillWindow => self.last_data_sent.map_or(0, Instant::as_nanos),
        }
    }

    /// The congestion state, for observers.
    pub(crate) fn congestion_event(&self) -> ProbeEvent {
        let CongestionWindow { cwnd, ssthresh } = self.congestion;
        ProbeEvent::Window { path: self.id, cwnd, ssthresh, flight: self.flight }
    }
}

/// The sending halves of all paths, by id.
///
/// A plain vector: nearly every step looks up a path, and asking each time where the list is costs more than the place
/// apart saves.
#[derive(Debug, Default)]
pub(crate) struct SendPaths(Vec<SendPath>);

impl SendPaths {
    /// Adds a path. Takes memory for no more than that: few associations ever get another.
    pub(crate) fn push(&mut self, path: SendPath) {
        debug_assert_eq!(path.id.index(), self.0.len());
        self.0.reserve_exact(1);
        self.0.push(path);
    }

    /// Empties the table, for `count` paths.
    pub(crate) fn clear(&mut self, count: usize) {
        self.0.clear();
        self.0.reserve_exact(count);
    }

    /// Whether there is more than one.
    #[inline]
    pub(crate) fn is_several(&self) -> bool {
        self.0.len() > 1
    }

    pub(crate) fn get(&self, id: PathId) -> Option<&SendPath> {
        self.0.get(id.index())
    }

    pub(crate) fn get_mut(&mut self, id: PathId) -> Option<&mut SendPath> {
        self.0.get_mut(id.index())
    }

    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = &SendPath> + Clone {
        self.0.iter()
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut SendPath> {
        self.0.iter_mut()
    }

    /// The paths of a set.
    pub(crate) fn among(&self, set: PathSet) -> impl Iterator<Item = &SendPath> {
        // A set may have paths that there are not yet; these are the last ones.
        set.iter().map_while(move |id| self.0.get(id.index()))
    }

    pub(crate) fn ids(&self) -> impl Iterator<Item = PathId> + use<> {
        (0..self.0.len()).map(|index| PathId(index as u8))
    }
}

impl SendPaths {
    /// Puts all congestion windows back to their initial size, once the peer's receive window is known.
    pub(crate) fn reset_cwnds(
        &mut self,
        config: &AssociationConfig,
        book: &PathBook,
        peer_window: u64,
    ) {
        for path in self.iter_mut() {
            let sharers = book.sharers(&config.policies, path.id);
            path.reset_cwnd(config, peer_window, sharers);
        }
    }

    /// All paths get the congestion control of `config`, and go on with what they have.
    pub(crate) fn change_controllers(
        &mut self,
        now: Instant,
        config: &AssociationConfig,
        book: &PathBook,
        peer_window: u64,
    ) {
        for path in self.iter_mut() {
            let sharers = book.sharers(&config.policies, path.id);
            path.change_controller(now, config, peer_window, sharers);
        }
    }

    /// What is known of the paths that are confirmed.
    pub(crate) fn times(&self, book: &PathBook) -> PathTimes {
        let confirmed = || self.iter().filter(|path| book[path.id].reach().is_confirmed());
        PathTimes {
            shortest_rtt: confirmed().filter_map(|path| path.rtt.srtt()).min(),
            longest_rtt: confirmed().filter_map(|path| path.rtt.srtt()).max(),
            longest_rto: confirmed().map(|path| path.rtt.rto()).max().unwrap_or(Duration::ZERO),
        }
    }

    /// What a coupled congestion control knows of each path's group; `usable` are the paths that can carry data.
    pub(crate) fn group_views(&self, groups: &PathGroups, usable: PathSet) -> GroupViews {
        let members: SmallVec<[_; 4]> =
            self.iter().map(|path| path.as_member(usable.contains(path.id))).collect();
        GroupViews::of(groups, &members)
    }
}

impl Index<PathId> for SendPaths {
    type Output = SendPath;
    fn index(&self, id: PathId) -> &SendPath {
        &self.0[id.index()]
    }
}

impl IndexMut<PathId> for SendPaths {
    fn index_mut(&mut self, id: PathId) -> &mut SendPath {
        &mut self.0[id.index()]
    }
}

/// Bytes that a chunk with `user_bytes` counts in the congestion window.
#[inline]
pub(crate) fn flight_bytes(counted: BytesCounted, chunk: UserDataChunk, user_bytes: u32) -> u32 {
    match counted {
        BytesCounted::WithHeader => chunk.header_bytes() + user_bytes.next_multiple_of(4),
        BytesCounted::Payload => user_bytes,
    }
}

/// Bytes of an SCTP packet that fit into an IP packet of `mtu` bytes.
fn capacity(mtu: u32, headers: u32) -> u32 {
    // IP guarantees this much for any path (RFC 9260 section 3 fits an INIT and a DATA chunk of one byte).
    mtu.saturating_sub(headers).max(64) & !3
}

/// What the congestion control of a path needs to know.
fn parameters(
    id: PathId,
    (mtu, headers): (u32, u32),
    chunk: UserDataChunk,
    config: &AssociationConfig,
) -> Parameters {
    let policy = &config.policies.window;
    let largest_payload = capacity(mtu, headers) - COMMON_HEADER - chunk.header_bytes();
    let largest_chunk = u64::from(flight_bytes(policy.bytes_counted, chunk, largest_payload));
    let unit = match policy.unit {
        WindowUnit::Pmdcs => largest_chunk,
        WindowUnit::PathMtu => u64::from(mtu),
    };
    let ssthresh_floor = u64::from(policy.ssthresh_floor_mtu) * unit;
    Parameters {
        id,
        mtu,
        unit,
        largest_chunk,
        ssthresh_floor,
        slow_start: policy.slow_start,
        avoidance: policy.avoidance,
        recovery_growth: policy.recovery_growth,
        idle: policy.idle,
        fill: config.policies.path_fill,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Preset;
    use crate::congestion::GroupView;

    /// A doubtful path that carries data because no other can belongs to its group, and so does one on which something is
    /// still outstanding; one that carries nothing does not.
    #[test]
    fn what_carries_data_is_a_member_whatever_its_state() {
        let config = AssociationConfig::with_preset(Preset::Lia).shared();
        let mut paths = SendPaths::default();
        for (id, ms) in [(0, 10), (1, 20)] {
            let mut path = SendPath::new(PathId(id), Family::V4, 20, UserDataChunk::Data, &config);
            path.set_cwnd(30_000, None);
            path.rtt.on_data_sample(Instant::ZERO, Duration::from_millis(ms), 1468);
            path.t3 = Some(Instant::ZERO);
            paths.push(path);
        }
        let groups = config.policies.path_groups;
        let views = |paths: &SendPaths, usable: &[u8]| {
            let usable = usable.iter().map(|id| PathId(*id)).collect();
            let views = paths.group_views(&groups, usable);
            [0, 1].map(|id| *views.view(PathId(id)))
        };
        let [first, second] = views(&paths, &[1]);
        assert_eq!(first, GroupView::ALONE);
        assert_eq!((second.members, second.cwnd), (1, 30_000));
        assert!(second.rates.is_some());
        paths[PathId(0)].flight = 1500;
        for view in views(&paths, &[1]) {
            assert_eq!((view.members, view.cwnd), (2, 60_000), "what is outstanding counts");
        }
        assert_eq!(views(&paths, &[])[1], GroupView::ALONE);
    }
}
