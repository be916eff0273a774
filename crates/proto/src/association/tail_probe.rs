//! Tail probes: sending them, and what their answers tell.

use polypath_wire::{DataFlags, Packet};
use smallvec::SmallVec;

use super::Association;
use super::output::Tag;
use crate::config::{TailProbes, TailReinjection};
use crate::paths::Path;
use crate::paths::tail_probe::{self, Answer, Phase, Tail};
use crate::probe::TransmissionCause;
use crate::transmit::outstanding::{History, OutstandingChunk};
use crate::types::{Fate, PathSet};
use crate::{Cx, Duration, Envelope, Instant, PathId, Tsn};

/// A chunk that had been sent as a probe was acknowledged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Answered {
    /// Path of its last transmission.
    pub(super) path: PathId,
    /// When that was.
    pub(super) sent_at: Instant,
}

impl Association {
    /// Nothing else can be sent: a packet with the lowest chunk of a path that is silent for too long.
    pub(super) fn tail_probe_packet(
        &mut self,
        cx: &mut Cx<'_>,
        packet: &mut Packet<'static>,
    ) -> Option<Envelope> {
        if !self.is_at_tail() {
            return None;
        }
        for silent in self.paths.ids() {
            if self.paths[silent].tail_probe.due() > cx.now {
                continue;
            }
            if let Some((tsn, to)) = self.tail_probe_for(silent, cx.now) {
                return self.send_tail_probe(cx, silent, tsn, to, packet);
            } else {
                self.paths[silent].tail_probe.end(Phase::Spent);
            }
        }
        None
    }

    /// Nothing more can be sent now: paths on which something is outstanding wait for an answer.
    pub(super) fn watch_tail(&mut self, now: Instant) {
        let policies = &self.config.policies;
        let moves = policies.tail_reinjection == TailReinjection::On;
        if policies.tail_probe == TailProbes::Off && !moves {
            return;
        }
        let is_at_tail = self.is_at_tail();
        for path in self.paths.ids() {
            let tail = if is_at_tail { self.tail_of(path) } else { Tail::No };
            let overdue_at = if moves { self.overdue_aside(path, now) } else { None };
            let probe = &mut self.paths[path].tail_probe;
            probe.observe(now, tail);
            probe.leave_at(overdue_at);
        }
    }

    /// Whether what is sent again asks for its SACK at once (RFC 7053), since a lost one is missed the sooner.
    pub(super) fn hurries_at_tail(&self) -> bool {
        self.config.policies.tail_probe == TailProbes::TwoRtts && self.sender.is_all_sent()
    }

    fn is_at_tail(&self) -> bool {
        let sender = &self.sender;
        self.config.policies.tail_probe == TailProbes::TwoRtts
            && self.state.may_send_data()
            && sender.queue.is_empty()
            && sender.window.lost_count() == 0
            && !sender.window.is_empty()
            && sender.closed_window.is_none()
    }

    fn tail_of(&self, path: PathId) -> Tail {
        match self.lowest_outstanding(path) {
            Some(tsn) => self.tail_timeout(path, tsn).map_or(Tail::Nothing, Tail::Answer),
            None => Tail::Nothing,
        }
    }

    pub(super) fn lowest_outstanding(&self, path: PathId) -> Option<Tsn> {
        let window = &self.sender.window;
        (self.paths[path].flight > 0).then(|| window.next_unacked_on(path, window.base()))?
    }

    fn tail_timeout(&self, path: PathId, lowest: Tsn) -> Option<Duration> {
        let window = &self.sender.window;
        let chunk = window.get(lowest);
        let is_quick = is_answered_at_once(chunk);
        let in_flight = window.in_flight_on(path).user_bytes;
        let one_packet = in_flight <= u64::from(self.max_fragment);
        let answer = if chunk.missing_reports > 0 {
            Answer::Passed
        } else if one_packet && !is_quick {
            Answer::Delayed(self.config.policies.delayed_ack.delay)
        } else {
            Answer::AtOnce
        };
        let rtt = &self.paths[path].rtt;
        tail_probe::timeout(rtt.srtt(), rtt.rto(), answer)
    }

    /// A SACK came over `arrival`. The peer sent it when what silent paths have in flight should have arrived: if it
    /// does not cover that, no delay of SACKs is the cause.
    pub(super) fn miss_at_tail(&mut self, now: Instant, arrival: PathId) {
        if !self.is_at_tail() {
            return;
        }
        let rtt = |path: &Path| path.rtt.srtt().unwrap_or_else(|| path.rtt.rto());
        let back = self.paths.get(arrival).map_or(Duration::MAX, rtt);
        for id in self.paths.ids() {
            if self.paths[id].tail_probe.phase() != Phase::Waiting {
                continue;
            }
            let Some(lowest) = self.lowest_outstanding(id) else { continue };
            let sent_at = self.sender.window.get(lowest).sent_at;
            let path = &mut self.paths[id];
            let timeout = tail_probe::timeout(path.rtt.srtt(), path.rtt.rto(), Answer::AtOnce);
            if let Some(timeout) = timeout
                && now >= sent_at + rtt(path) + back
            {
                path.tail_probe.hurry((sent_at + timeout).max(now));
            }
        }
    }

    /// The chunk that probes for a path, the highest in flight, so that its answer tells of all others; and the path that
    /// it takes: the quickest that has room. On its own path it needs none. No chunk probes twice, and none that T3-rtx
    /// found lost before.
    fn tail_probe_for(&self, silent: PathId, now: Instant) -> Option<(Tsn, PathId)> {
        let tsn = self.sender.window.highest_on(silent)?;
        let chunk = self.sender.window.get(tsn);
        let spent = History::PROBED | History::TIMER_RETRANSMITTED;
        if chunk.fate != Fate::InFlight
            || chunk.history.intersects(spent)
            || !chunk.may_be_sent_again(now)
        {
            return None;
        }
        let usable = self.usable_paths();
        let takes = |path: &&Path| {
            usable.contains(path.id)
                && path.rtt.srtt().is_some()
                && (path.has_window() || path.id == silent)
        };
        let quickest = self.paths.iter().filter(takes).min_by_key(|path| path.rtt.srtt())?;
        Some((tsn, quickest.id))
    }

    fn send_tail_probe(
        &mut self,
        cx: &mut Cx<'_>,
        silent: PathId,
        tsn: Tsn,
        to: PathId,
        packet: &mut Packet<'static>,
    ) -> Option<Envelope> {
        let mut packet = self.builder(to, packet);
        let chunk = self.sender.window.get(tsn);
        let (user_bytes, charge) = (chunk.user_bytes(), chunk.charge);
        if !packet.fits_data(user_bytes) {
            self.paths[silent].tail_probe.end(Phase::Spent);
            return None;
        }
        self.paths[silent].take_out(tsn, charge);
        self.push_moved(cx, to, tsn, TransmissionCause::TailProbe, &mut packet);
        self.sender.window.get_mut(tsn).history |= History::PROBED;
        let is_lowest = self.lowest_outstanding(to) == Some(tsn);
        match is_lowest {
            // RFC 9260 section 6.3.2, RFC 8985 section 7.3.
            true => self.paths[to].restart_t3(cx.now),
            false => self.paths[to].start_t3(cx.now),
        }
        if to != silent
            && self.paths[silent].flight == 0
            && self.sender.forward.guarded_by() != Some(silent)
        {
            self.paths[silent].t3 = None;
            self.watch_emptied_path(cx, silent);
        }
        // A path whose own probe is out goes on waiting for its answer.
        let own = self.paths[to].tail_probe;
        self.note_data_packet(cx, to);
        if own.phase() == Phase::Sent {
            self.paths[to].tail_probe = own;
        }
        self.paths[silent].tail_probe.end(Phase::Sent);
        Some(self.finish(packet, Tag::Peer))
    }

    /// A probe was answered, and its path was silent until then: what was overdue before is lost, the original too. Returns
    /// the paths that lost something.
    pub(super) fn lost_before_probe(&mut self, now: Instant, answered: Answered) -> PathSet {
        let Answered { path: probed, sent_at } = answered;
        if !tail_probe::is_answer(now.since(sent_at), self.paths[probed].rtt.smallest()) {
            return PathSet::EMPTY;
        }
        let is_probed = |id: &PathId| self.paths[*id].tail_probe.phase() == Phase::Sent;
        let probed: SmallVec<[PathId; 4]> = self.paths.ids().filter(is_probed).collect();
        let mut lost_on = PathSet::EMPTY;
        for &id in &probed {
            let is_overdue = self.mark_overdue_lost(id, sent_at);
            // The probe's own original is lost; where several paths are probed, nobody knows whose it was.
            if is_overdue || probed.len() == 1 {
                lost_on.insert(id);
            }
        }
        lost_on
    }

    /// Marks what was overdue on the path at `by`. Whether anything was.
    fn mark_overdue_lost(&mut self, id: PathId, by: Instant) -> bool {
        let Some(overdue) = self.paths[id].rtt.srtt().map(|srtt| srtt * 2) else { return false };
        let (window, path) = (&mut self.sender.window, &mut self.paths[id]);
        let (mut from, mut some) = (window.base(), false);
        while let Some(tsn) = window.next_unacked_on(id, from) {
            from = tsn.next();
            if window.get(tsn).sent_at + overdue > by {
                continue;
            }
            if let Some((_, charge)) = window.mark_lost(tsn, TransmissionCause::FastRetransmission)
            {
                some = true;
                path.take_out(tsn, charge);
                path.loss_rate.on_lost();
            }
        }
        some
    }

    /// Paths whose chunks were acknowledged are silent no more; after an answered probe none is.
    pub(super) fn end_silence(&mut self, heard_of: PathSet) {
        if self.config.policies.tail_probe == TailProbes::Off {
            return;
        }
        for path in self.paths.iter_mut() {
            if heard_of.contains(path.id) {
                path.tail_probe.rest();
            }
        }
    }
}

/// Whether the peer should not delay its SACK; where a path loses, a probe for nothing is cheaper than the wait, too.
pub(super) fn is_answered_at_once(chunk: &OutstandingChunk) -> bool {
    chunk.flags.contains(DataFlags::IMMEDIATE) || chunk.transmissions > 1
}
