//! The end of what there is to send: chunks that arrive earlier if another path sends them again.

use super::decide::{Decision, What};
use super::outstanding::{History, OutstandingChunk};
use super::packet_builder::PacketBuilder;
use super::send_path::SendPath;
use super::tail::is_answered_at_once;
use super::{SendCx, Transmitter};
use crate::config::{AssociationConfig, DataCopies, Pacing, TailReinjection};
use crate::mechanism::blocking_estimation::expected_rtt;
use crate::mechanism::copies::{self, CopyAnswer};
use crate::mechanism::tail_reinjection::{self, LateChunk};
use crate::probe::TransmissionCause;
use crate::types::{Fate, PathSet};
use crate::{Duration, Instant, PathId, Tsn};

impl Transmitter {
    /// At the tail of what there is to send: the chunk that arrives earlier if another path sends it again, and that path.
    /// What is passed here is looked at again only when something is overdue: until then it comes closer to its answer.
    #[inline]
    pub(super) fn late_chunk(&mut self, cx: &SendCx<'_>, usable: PathSet) -> Option<(Tsn, PathId)> {
        match self.reinjects_at_tail(cx, usable) {
            true => self.search_late_chunk(cx, usable),
            false => None,
        }
    }

    #[inline(never)]
    fn search_late_chunk(&mut self, cx: &SendCx<'_>, usable: PathSet) -> Option<(Tsn, PathId)> {
        let fastest = self.fastest_path(usable, cx.now)?;
        let (fastest, new_rtt, cwnd_admits) =
            (fastest.id, self.answer_time(fastest, cx.now)?, fastest.cwnd_admits());
        if let Some(overdue) = self.lowest_overdue(cx, fastest) {
            self.tail_search.return_to(overdue);
        }
        if !cwnd_admits {
            // It will have, long before another one could help.
            return None;
        }
        // What was passed before data had measured a path may well arrive earlier there after that.
        let measured = self.paths.among(usable).filter(|path| path.rtt.of_data().is_some());
        let measured = u8::try_from(measured.count()).unwrap_or(u8::MAX);
        if measured > self.tail_measured {
            self.tail_search.return_to(self.outstanding.base());
        }
        self.tail_measured = measured;
        let outstanding = &self.outstanding;
        let end = outstanding.next_tsn();
        let mut from = self.tail_search.within(outstanding.base(), end);
        let mut found = None;
        while let Some(tsn) = outstanding.next_unacked(from, end) {
            let chunk = outstanding.get(tsn);
            from = tsn;
            if chunk.path != fastest
                && is_movable(chunk, cx.now)
                && (self.is_overdue(cx.config, cx.now, tsn)
                    || self.arrives_earlier(chunk, cx.now, fastest, new_rtt))
            {
                found = Some((tsn, fastest));
                break;
            }
            from = tsn.next();
        }
        self.tail_search.advance_to(if found.is_some() { from } else { end });
        found
    }

    /// Whether the chunk moves to the path of late chunks as soon as its pace, or a limit of bursts, admits that.
    pub(super) fn will_move(
        &self,
        config: &AssociationConfig,
        tsn: Tsn,
        usable: PathSet,
        now: Instant,
    ) -> bool {
        let Some(fastest) = self.fastest_path(usable, now) else { return false };
        let chunk = self.outstanding.get(tsn);
        let arrives_earlier = |rtt| self.arrives_earlier(chunk, now, fastest.id, rtt);
        fastest.id != chunk.path
            && fastest.is_limited_in_flush()
            && is_movable(chunk, now)
            && (self.is_overdue(config, now, tsn)
                || self.answer_time(fastest, now).is_some_and(arrives_earlier))
    }

    /// The lowest of the chunks that are the lowest of their paths, other than this one, and overdue.
    fn lowest_overdue(&self, cx: &SendCx<'_>, fastest: PathId) -> Option<Tsn> {
        let others = self.paths.ids().filter(|id| *id != fastest);
        let lowest = others.filter_map(|id| self.lowest_outstanding(id)).filter(|tsn| {
            let chunk = self.outstanding.get(*tsn);
            is_movable(chunk, cx.now) && self.is_overdue(cx.config, cx.now, *tsn)
        });
        lowest.reduce(|low, tsn| if tsn.is_before(low) { tsn } else { low })
    }

    fn is_overdue(&self, config: &AssociationConfig, now: Instant, tsn: Tsn) -> bool {
        self.overdue_at(config, tsn).is_some_and(|at| at <= now)
    }

    fn overdue_at(&self, config: &AssociationConfig, tsn: Tsn) -> Option<Instant> {
        let chunk = self.outstanding.get(tsn);
        let path = &self.paths[chunk.path];
        let (srtt, reordering) = (path.rtt.srtt()?, path.reordering_window());
        let in_flight: u64 = self.paths.iter().map(|path| path.flight).sum();
        let is_alone = in_flight <= u64::from(chunk.flight_bytes);
        let is_delayed = is_alone && !is_answered_at_once(chunk) && !self.needs_no_delay(tsn);
        let delay = match is_delayed {
            true => config.policies.delayed_ack.delay,
            false => Duration::ZERO,
        };
        Some(tail_reinjection::overdue_at(chunk.sent_at, srtt, reordering, delay))
    }

    fn arrives_earlier(
        &self,
        chunk: &OutstandingChunk,
        now: Instant,
        fastest: PathId,
        new_rtt: Duration,
    ) -> bool {
        // Which of two paths is faster cannot be told before data has measured one of them.
        let is_known = |path: PathId| self.paths[path].rtt.of_data().is_some();
        if !is_known(fastest) && !is_known(chunk.path) {
            return false;
        }
        let (age, its_rtt) = (now.since(chunk.sent_at), self.shortest_round_trip_of(chunk.path));
        tail_reinjection::arrives_earlier(&LateChunk { age, its_rtt, new_rtt })
    }

    /// When the lowest chunk of the path is overdue and another path could take it, if that is later than now.
    pub(super) fn overdue_aside(&self, cx: &SendCx<'_>, id: PathId) -> Option<Instant> {
        let usable = cx.book.usable();
        if !self.reinjects_at_tail(cx, usable) {
            return None;
        }
        let tsn = self.lowest_outstanding(id)?;
        let answer_due = self.paths[id].tail_probe.answer_due();
        if answer_due > cx.now && answer_due != Instant::FAR_FUTURE {
            // Then another one is the fastest.
            return Some(answer_due);
        }
        let fastest = self.fastest_path(usable, cx.now)?;
        if fastest.id == id || !fastest.cwnd_admits() {
            return None;
        }
        let (lowest, at) = (self.outstanding.get(tsn), self.overdue_at(cx.config, tsn)?);
        (is_movable(lowest, cx.now) && at > cx.now).then_some(at)
    }

    #[inline]
    fn reinjects_at_tail(&self, cx: &SendCx<'_>, usable: PathSet) -> bool {
        self.reinjects(cx.config, usable)
    }

    pub(super) fn reinjects(&self, config: &AssociationConfig, usable: PathSet) -> bool {
        config.policies.tail_reinjection == TailReinjection::On
            && usable.is_several()
            && self.is_all_sent()
    }

    fn fastest_path(&self, usable: PathSet, now: Instant) -> Option<&SendPath> {
        let measured = self.paths.among(usable).filter(|path| path.rtt.srtt().is_some());
        // Of those that no data measured, one that delivered some: its SACKs returned over another path.
        let evidence = |path: &SendPath| match path.rtt.of_data() {
            Some(_) => 0,
            None if path.has_delivered => 1,
            None => 2,
        };
        // A path that did not answer its own probe may bring nothing at all.
        let rank = |path: &&SendPath| {
            let is_doubtful = path.tail_probe.is_doubtful(now);
            (is_doubtful, evidence(path), self.answer_time(path, now), path.id)
        };
        measured.min_by_key(rank)
    }

    /// Time until a chunk sent next on the path would be answered, as far as its round trip is known.
    pub(super) fn answer_time(&self, path: &SendPath, now: Instant) -> Option<Duration> {
        match self.measured(path, now) {
            Some(view) => Some(expected_rtt(&view, path.on_the_way(now), self.max_fragment.into())),
            None => path.rtt.srtt(),
        }
    }

    /// The same, where a path that data has not measured may take several times as long as for a control chunk, or as its timer.
    pub(super) fn latest_answer(&self, path: &SendPath, now: Instant) -> Duration {
        match path.rtt.of_data().and_then(|_| self.answer_time(path, now)) {
            Some(known) => known,
            None => longest_answer(path),
        }
    }

    fn shortest_round_trip_of(&self, path: PathId) -> Duration {
        let path = &self.paths[path];
        path.rtt.of_data().map_or_else(|| longest_answer(path), |(_, smallest)| smallest)
    }

    /// Adds chunks that arrive earlier on the path that was decided on.
    #[inline(never)]
    pub(super) fn push_late(
        &mut self,
        cx: &mut SendCx<'_>,
        decision: &Decision,
        packet: &mut PacketBuilder<'_>,
    ) {
        let path = decision.path;
        let mut decided = match decision.what {
            What::Late(tsn) => Some((tsn, path)),
            _ => None,
        };
        while let Some((tsn, to)) = decided.take().or_else(|| self.late_chunk(cx, decision.usable))
            && to == path
        {
            if !self.push_from_elsewhere(cx, path, tsn, packet) {
                break;
            }
        }
    }

    /// Moves a chunk from its path into the packet, which goes over `path`. Returns whether it fits.
    pub(super) fn push_from_elsewhere(
        &mut self,
        cx: &mut SendCx<'_>,
        path: PathId,
        tsn: Tsn,
        packet: &mut PacketBuilder<'_>,
    ) -> bool {
        let chunk = self.outstanding.get(tsn);
        if !packet.fits_data(self.chunk.as_data(chunk.user_bytes())) {
            return false;
        }
        self.withdraw(cx, tsn, path);
        self.push_moved(cx, path, tsn, TransmissionCause::Rescheduled, packet);
        self.paths[path].start_t3(cx.now, cx.config);
        true
    }

    /// A chunk leaves its path, for `new`, which is the same if it is a probe there. What it was sent in is still on its way.
    pub(super) fn leave_behind(&mut self, cx: &SendCx<'_>, old: PathId, tsn: Tsn, new: PathId) {
        let now = cx.now;
        let chunk = self.outstanding.get(tsn);
        let (sent_at, bytes) = (chunk.sent_at, chunk.flight_bytes);
        let path = &self.paths[old];
        let answer = self.answer_time(path, now).unwrap_or(path.rtt.rto());
        let path = &mut self.paths[old];
        path.leave_behind(now, sent_at, bytes, now + answer);
        if cx.config.policies.data_copies == DataCopies::Off {
            return;
        }
        // It may be late because the path has become slower: if what it leaves behind measured nothing, all that follows would be
        // late, too, and leave.
        let answer = match path.rtt.of_data() {
            None => CopyAnswer::FirstAck,
            Some(_) if path.timed == Some(tsn) && new != old => CopyAnswer::Left,
            Some(_) => return,
        };
        path.spread_mut().copies.on_left(tsn, sent_at, bytes, answer);
    }

    /// Takes a chunk out of what is outstanding on its path; it moves to `new`. The transmission is still on its way there, so nothing new follows
    /// for a round trip if the path may have lost it, or data has not measured the path; otherwise the pace keeps what follows from adding a
    /// burst to it. The congestion window stays.
    fn withdraw(&mut self, cx: &mut SendCx<'_>, tsn: Tsn, new: PathId) {
        let chunk = self.outstanding.get(tsn);
        let (old, flight_bytes) = (chunk.path, chunk.flight_bytes);
        let path = &self.paths[old];
        let is_doubtful = self.is_overdue(cx.config, cx.now, tsn)
            || path.tail_probe.is_doubtful(cx.now)
            || path.rtt.of_data().is_none();
        let bans = is_doubtful || cx.config.policies.pacing == Pacing::Off;
        self.leave_behind(cx, old, tsn, new);
        let path = &mut self.paths[old];
        path.tail_probe.begin_anew();
        path.take_out(tsn, flight_bytes);
        match path.rtt.srtt() {
            Some(_) if !bans => {}
            Some(round_trip) => path.new_data_ban.begin(cx.now, round_trip),
            None => path.new_data_ban.lift(),
        }
        self.settle_left(cx, old);
    }
}

/// How long the answer to data may take on a path that was measured by control chunks only.
fn longest_answer(path: &SendPath) -> Duration {
    (path.rtt.expected() * copies::LONGEST_ANSWER).min(path.rtt.rto())
}

fn is_movable(chunk: &OutstandingChunk, now: Instant) -> bool {
    chunk.fate == Fate::InFlight
        && !chunk.history.contains(History::RESCHEDULED)
        && chunk.may_be_retransmitted(now)
}
