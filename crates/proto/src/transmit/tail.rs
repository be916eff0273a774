//! Tail probes: sending them, and what their answers tell.

use polypath_wire::DataFlags;
use smallvec::SmallVec;

use super::flight::LossAccounting;
use super::packet_builder::PacketBuilder;
use super::send_path::SendPath;
use super::{SendCx, Transmitter};
use crate::config::{TailProbes, TailReinjection};
use crate::mechanism::tail_probe::{self, Answer, Tail, TailPhase};
use crate::mechanism::tail_reinjection;
use crate::probe::TransmissionCause;
use crate::transmit::outstanding::{History, OutstandingChunk};
use crate::types::{Fate, PathSet};
use crate::{Duration, Instant, LossDetection, PathId, Tsn};

/// How many chunks above one are looked at for one that left in the same flush, or has arrived.
const NEIGHBOURS: u32 = 4;

/// A chunk that had been sent as a probe was acknowledged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Answered {
    /// Path of its last transmission.
    pub(super) path: PathId,
    /// When that was.
    pub(super) sent_at: Instant,
}

/// A chunk that goes out again to find out what became of a silent path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct TailProbePacket {
    /// Path that the packet takes.
    pub(crate) path: PathId,
    silent: PathId,
    tsn: Tsn,
}

impl Transmitter {
    /// Nothing else can be sent: the probe for a path that is silent for too long.
    #[inline]
    pub(crate) fn next_probe(&mut self, cx: &SendCx<'_>) -> Option<TailProbePacket> {
        if self.may_probe(cx) { self.search_probe(cx) } else { None }
    }

    #[inline(never)]
    fn search_probe(&mut self, cx: &SendCx<'_>) -> Option<TailProbePacket> {
        for silent in self.paths.ids() {
            if self.paths[silent].tail_probe.due() > cx.now {
                continue;
            }
            if let Some((tsn, path)) = self.tail_probe_for(cx, silent) {
                return Some(TailProbePacket { path, silent, tsn });
            }
            self.paths[silent].tail_probe.give_up();
        }
        None
    }

    /// Nothing more can be sent now: paths on which something is outstanding wait for an answer.
    #[inline]
    pub(crate) fn watch_tail(&mut self, cx: &SendCx<'_>) {
        let policies = &cx.config.policies;
        if policies.tail_probe != TailProbes::Off
            || policies.tail_reinjection == TailReinjection::On
        {
            self.observe_tail(cx);
        }
    }

    #[inline(never)]
    fn observe_tail(&mut self, cx: &SendCx<'_>) {
        let moves =
            cx.config.policies.tail_reinjection == TailReinjection::On && self.is_all_sent();
        let (may_probe, is_at_tail) = (self.may_probe(cx), self.is_at_tail(cx));
        for path in self.paths.ids() {
            let tail = match (may_probe, is_at_tail) {
                (_, true) => self.tail_of(cx, path),
                (true, false) => self.silence_of(cx, path),
                (false, false) => Tail::No,
            };
            self.paths[path].tail_probe.observe(cx.now, tail);
            let overdue_at = if moves { self.overdue_aside(cx, path) } else { None };
            self.paths[path].tail_probe.leave_at(overdue_at);
        }
    }

    /// Whether what is retransmitted asks for its SACK at once (RFC 7053), since a lost one is missed the sooner.
    pub(super) fn hurries_at_tail(&self, cx: &SendCx<'_>) -> bool {
        cx.config.policies.tail_probe == TailProbes::TwoRtts && self.is_all_sent()
    }

    #[inline]
    fn may_probe(&self, cx: &SendCx<'_>) -> bool {
        cx.config.policies.tail_probe == TailProbes::TwoRtts
            && cx.may_send()
            && !self.outstanding.is_empty()
            && self.closed_window.is_none()
    }

    #[inline]
    fn is_at_tail(&self, cx: &SendCx<'_>) -> bool {
        self.may_probe(cx) && self.is_all_sent() && self.outstanding.lost_count() == 0
    }

    /// What a path waits for while there is more to send, and the path may not send it: all that it has in flight may be lost, and no
    /// later chunk would tell.
    fn silence_of(&self, cx: &SendCx<'_>, path: PathId) -> Tail {
        let own = &self.paths[path];
        if own.pace_holds() {
            return Tail::No;
        }
        let Some(lowest) = self.lowest_outstanding(path) else { return Tail::No };
        // What small control chunks met says too little of a whole flight.
        let srtt = own.rtt.of_data().map(|(srtt, _)| srtt + own.backlog(cx.now));
        let answer = self.answer_to(cx, path, lowest);
        tail_probe::timeout(srtt, own.rtt.rto(), answer).map_or(Tail::Nothing, Tail::Answer)
    }

    fn tail_of(&self, cx: &SendCx<'_>, path: PathId) -> Tail {
        match self.lowest_outstanding(path) {
            Some(tsn) => self.tail_timeout(cx, path, tsn).map_or(Tail::Nothing, Tail::Answer),
            None => Tail::Nothing,
        }
    }

    pub(super) fn lowest_outstanding(&self, path: PathId) -> Option<Tsn> {
        let outstanding = &self.outstanding;
        (self.paths[path].flight > 0)
            .then(|| outstanding.next_unacked_on(path, outstanding.base()))?
    }

    fn tail_timeout(&self, cx: &SendCx<'_>, path: PathId, lowest: Tsn) -> Option<Duration> {
        let own = &self.paths[path];
        let missing_reports = self.outstanding.get(lowest).missing_reports;
        let is_passed = missing_reports > 0 || own.late_due() != Instant::FAR_FUTURE;
        let answer = match is_passed {
            true => Answer::Passed { reordering: own.reordering_window() },
            false => self.answer_to(cx, path, lowest),
        };
        tail_probe::timeout(own.rtt.srtt(), own.rtt.rto(), answer)
    }

    /// Whether the peer may delay its SACK for what is in flight on the path.
    fn answer_to(&self, cx: &SendCx<'_>, path: PathId, lowest: Tsn) -> Answer {
        let in_flight = self.outstanding.in_flight_on(path).user_bytes;
        let one_packet = in_flight <= u64::from(self.max_fragment);
        let is_quick = is_answered_at_once(self.outstanding.get(lowest));
        match one_packet && !is_quick && !self.needs_no_delay(lowest) {
            true => Answer::Delayed(cx.config.policies.delayed_ack.delay),
            false => Answer::AtOnce,
        }
    }

    /// Whether the peer has no reason to delay the SACK for the chunk: more data, or a copy, was sent on its path after it, and
    /// the SACK for a second packet is not delayed; or a chunk above it has arrived, and the SACK for one that fills a gap is not
    /// (RFC 9260 section 6.7).
    pub(super) fn needs_no_delay(&self, tsn: Tsn) -> bool {
        let chunk = self.outstanding.get(tsn);
        let follows = |next: Tsn| {
            self.outstanding.contains(next) && {
                let next = self.outstanding.get(next);
                next.path == chunk.path && next.sent_at == chunk.sent_at
            }
        };
        let has_arrived =
            |next: Tsn| self.outstanding.contains(next) && self.outstanding.is_acked(next);
        let last = Tsn(self.outstanding.next_tsn().0.wrapping_sub(1));
        self.paths[chunk.path].last_data_sent > Some(chunk.sent_at)
            || (1..=NEIGHBOURS)
                .map(|ahead| tsn.plus(ahead))
                .any(|it| follows(it) || has_arrived(it))
            || has_arrived(last)
    }

    /// A SACK came over `arrival`. The peer sent it when what silent paths have in flight should have arrived: if it
    /// does not cover that, no delay of SACKs is the cause.
    pub(super) fn miss_at_tail(&mut self, cx: &SendCx<'_>, arrival: PathId) {
        if !self.is_at_tail(cx) {
            return;
        }
        let now = cx.now;
        let back = self.paths.get(arrival).map_or(Duration::MAX, |path| path.rtt.expected());
        for id in self.paths.ids() {
            if self.paths[id].tail_probe.phase() != TailPhase::Waiting {
                continue;
            }
            let Some(lowest) = self.lowest_outstanding(id) else { continue };
            let sent_at = self.outstanding.get(lowest).sent_at;
            let path = &mut self.paths[id];
            let timeout = tail_probe::timeout(path.rtt.srtt(), path.rtt.rto(), Answer::AtOnce);
            if let Some(timeout) = timeout
                && now >= sent_at + path.rtt.expected() + back
            {
                path.tail_probe.hurry((sent_at + timeout).max(now));
            }
        }
    }

    /// The chunk that probes for a path, the highest in flight, so that its answer tells of all others; and the path that
    /// it takes: the lowest-RTT path whose congestion window admits it. On its own path it needs none. No chunk probes twice, and none that T3-rtx
    /// found lost before.
    fn tail_probe_for(&self, cx: &SendCx<'_>, silent: PathId) -> Option<(Tsn, PathId)> {
        let tsn = self.outstanding.highest_on(silent)?;
        let chunk = self.outstanding.get(tsn);
        let spent = History::PROBED | History::TIMER_RETRANSMITTED;
        if chunk.fate != Fate::InFlight
            || chunk.history.intersects(spent)
            || !chunk.may_be_retransmitted(cx.now)
        {
            return None;
        }
        let takes = |path: &&SendPath| {
            path.rtt.srtt().is_some() && (path.cwnd_admits() || path.id == silent)
        };
        let usable = self.paths.among(cx.book.usable());
        let fastest = usable
            .filter(takes)
            .min_by_key(|path| (path.tail_probe.is_doubtful(cx.now), path.rtt.srtt()))?;
        Some((tsn, fastest.id))
    }

    /// Puts a probe into an empty packet.
    pub(crate) fn fill_probe(
        &mut self,
        cx: &mut SendCx<'_>,
        probe: TailProbePacket,
        packet: &mut PacketBuilder<'_>,
    ) {
        let TailProbePacket { path: to, silent, tsn } = probe;
        let flight_bytes = self.outstanding.get(tsn).flight_bytes;
        self.leave_behind(cx, silent, tsn, to);
        self.paths[silent].take_out(tsn, flight_bytes);
        let may_still_move =
            to == silent && !self.outstanding.get(tsn).history.contains(History::RESCHEDULED);
        self.push_moved(cx, to, tsn, TransmissionCause::TailProbe, packet);
        let history = &mut self.outstanding.get_mut(tsn).history;
        *history |= History::PROBED;
        if may_still_move {
            *history -= History::RESCHEDULED;
        }
        let is_lowest = self.lowest_outstanding(to) == Some(tsn);
        match is_lowest {
            // RFC 9260 section 6.3.2, RFC 8985 section 7.3.
            true => self.paths[to].restart_t3(cx.now, cx.config),
            false => self.paths[to].start_t3(cx.now, cx.config),
        }
        if to != silent {
            self.settle_left(cx, silent);
        }
        // A path whose own probe is out goes on waiting for its answer.
        let own = self.paths[to].tail_probe;
        self.note_data_packet(cx, to);
        if own.phase() == TailPhase::Sent {
            self.paths[to].tail_probe = own;
        }
        let srtt = self.paths[to].rtt.expected();
        let window = self.paths[to].reordering_window();
        let answer_due = tail_reinjection::overdue_at(cx.now, srtt, window, Duration::ZERO);
        self.paths[silent].tail_probe.sent(answer_due);
    }

    /// A probe was answered, and its path was silent until then: what was overdue before is lost, the original too. Returns
    /// the paths that lost something.
    #[inline(never)]
    pub(super) fn lost_before_probe(&mut self, cx: &mut SendCx<'_>, answered: Answered) -> PathSet {
        let Answered { path: probed, sent_at } = answered;
        if !tail_probe::is_answer(cx.now.since(sent_at), self.paths[probed].rtt.smallest()) {
            return PathSet::EMPTY;
        }
        let is_probed = |id: &PathId| self.paths[*id].tail_probe.phase() == TailPhase::Sent;
        let probed: SmallVec<[PathId; 4]> = self.paths.ids().filter(is_probed).collect();
        let mut lost_on = PathSet::EMPTY;
        for &id in &probed {
            let is_overdue = self.mark_overdue_lost(cx, id, sent_at);
            // The probe's own original is lost; where several paths are probed, it is unknown on which.
            if is_overdue || probed.len() == 1 {
                lost_on.insert(id);
            }
        }
        lost_on
    }

    /// Marks what was overdue on the path at `by`. Whether anything was.
    fn mark_overdue_lost(&mut self, cx: &mut SendCx<'_>, id: PathId, by: Instant) -> bool {
        let Some(overdue) = self.paths[id].rtt.srtt().map(|srtt| srtt * 2) else { return false };
        let detection = LossDetection::TailProbe;
        self.mark_lost_on(cx, id, detection, LossAccounting::Counts, |chunk| {
            chunk.sent_at + overdue <= by
        })
    }

    /// Paths whose chunks were acknowledged are silent no more; after an answered probe none is.
    pub(super) fn end_silence(&mut self, cx: &SendCx<'_>, heard_of: PathSet) {
        if cx.config.policies.tail_probe == TailProbes::Off {
            return;
        }
        for path in self.paths.iter_mut() {
            if heard_of.contains(path.id) {
                path.tail_probe.rest();
            }
        }
    }
}

/// Whether the peer should not delay its SACK; where a path loses, a spurious probe is cheaper than the wait, too.
pub(super) fn is_answered_at_once(chunk: &OutstandingChunk) -> bool {
    chunk.flags.contains(DataFlags::IMMEDIATE) || chunk.transmissions > 1
}
