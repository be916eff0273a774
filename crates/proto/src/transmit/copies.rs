//! Copies of data on a second path: which chunk, which path, and what the answer tells.

use polypath_wire::{DataFlags, DuplicateTsns};
use smallvec::SmallVec;

use super::ahead::is_better_known;
use super::decide::Snapshot;
use super::outstanding::{History, OutstandingChunk};
use super::packet_builder::PacketBuilder;
use super::sack::Report;
use super::send_path::SendPath;
use super::{AckOutcome, SendCx, Transmitter};
use crate::config::{DataCopies, PathOrder};
use crate::mechanism::copies::{self, Copies, CopyAnswer, CopyRoom, SackHere};
use crate::mechanism::loss_share::LossShare;
use crate::probe::TransmissionCause;
use crate::types::{Fate, PathSet};
use crate::{Instant, PathId, Tsn};

/// How many of the last chunks, and of the lowest of a path, are looked at: a message of a thin flow has few.
const LAST_CHUNKS: u32 = 16;

impl Snapshot<'_> {
    /// Nothing else can be sent: a chunk of which another path takes a copy, and that path.
    pub(super) fn copy(&self) -> Option<(Tsn, PathId)> {
        if !self.sends_copies() {
            return None;
        }
        // Nearly always no path takes any, whatever the chunk.
        let takers = self.takers_of_copies();
        if takers.is_empty() {
            return None;
        }
        self.endangered_to_copy(takers)
            .or_else(|| self.last_to_copy(takers))
            .or_else(|| self.straggler_to_copy(takers))
    }

    /// One of the last chunks, the highest one first: nothing that is sent later reports it missing.
    fn last_to_copy(&self, takers: PathSet) -> Option<(Tsn, PathId)> {
        self.first_to_copy(self.last_chunks(), takers)
    }

    /// The last chunks, the highest one first.
    fn last_chunks(&self) -> impl Iterator<Item = Tsn> {
        let outstanding = &self.tx.outstanding;
        let next = outstanding.next_tsn();
        (1..=outstanding.span().min(LAST_CHUNKS)).map(move |back| Tsn(next.0.wrapping_sub(back)))
    }

    /// The first of these that may have a copy, and the path that takes it.
    fn first_to_copy(
        &self,
        mut chunks: impl Iterator<Item = Tsn>,
        takers: PathSet,
    ) -> Option<(Tsn, PathId)> {
        chunks.find_map(|tsn| Some((tsn, self.taker_of(tsn, takers)?)))
    }

    /// At the tail: one of the last or lowest chunks of a path that loses chunks, beginning with the path that loses most. Few chunks get a
    /// copy, and these need it most.
    fn endangered_to_copy(&self, takers: PathSet) -> Option<(Tsn, PathId)> {
        if !self.tx.is_all_sent() {
            return None;
        }
        let mut lossy: SmallVec<[(&SendPath, &LossShare); 4]> = SmallVec::new();
        for path in self.tx.paths.iter().filter(|path| path.flight > 0) {
            let losses = path.record.used().map(|record| &record.loss_share);
            lossy.extend(losses.filter(|it| it.is_large()).map(|losses| (path, losses)));
        }
        lossy.sort_by(|(_, one), (_, other)| other.compare(one));
        lossy.into_iter().find_map(|(path, _)| {
            let last =
                self.last_chunks().filter(|tsn| self.tx.outstanding.get(*tsn).path == path.id);
            self.first_to_copy(last, takers).or_else(|| self.lowest_to_copy(path, takers))
        })
    }

    /// At the tail: one of the lowest chunks of a path, whose acknowledgement is what a transfer waits for in the end. When it comes is
    /// not known well on a path that carries little.
    fn straggler_to_copy(&self, takers: PathSet) -> Option<(Tsn, PathId)> {
        if !self.tx.is_all_sent() {
            return None;
        }
        self.tx.paths.iter().find_map(|path| self.lowest_to_copy(path, takers))
    }

    /// One of the lowest chunks of the path.
    fn lowest_to_copy(&self, path: &SendPath, takers: PathSet) -> Option<(Tsn, PathId)> {
        let outstanding = &self.tx.outstanding;
        let others = takers.without(PathSet::of(path.id));
        let mut next = (path.flight > 0 && !others.is_empty()).then_some(outstanding.base());
        let lowest = core::iter::from_fn(|| {
            let tsn = outstanding.next_unacked_on(path.id, next?)?;
            next = Some(tsn.next());
            Some(tsn)
        });
        self.first_to_copy(lowest.take(LAST_CHUNKS as usize), others)
    }

    /// The path that takes a copy of the chunk, if it may have one.
    fn taker_of(&self, tsn: Tsn, takers: PathSet) -> Option<PathId> {
        let chunk = self.tx.outstanding.get(tsn);
        let is_new = chunk.fate == Fate::InFlight
            && !is_copied(chunk)
            && chunk.may_be_retransmitted(self.now);
        is_new.then(|| self.path_for_copy(chunk, takers, self.moves_soon(tsn)))?
    }

    /// The paths that may take a copy of some chunk: they have room, and belong to a thin flow or were never measured.
    fn takers_of_copies(&self) -> PathSet {
        let is_all_sent = self.tx.is_all_sent();
        let takes = |path: &&SendPath| {
            path.on_the_way(self.now) < path.congestion.cwnd
                && (path.rtt.of_data().is_none() || is_all_sent && may_repeat(path, self.now, 0))
                && !path.new_data_ban.is_active(self.now)
        };
        self.tx.paths.among(self.usable).filter(takes).map(|path| path.id).collect()
    }

    fn sends_copies(&self) -> bool {
        self.policy_wants_copies() && self.usable.len() > 1 && !self.tx.outstanding.is_empty()
    }

    /// The lowest-RTT path of `takers` that takes a copy of the chunk; if that moves soon, only one that the copy measures.
    fn path_for_copy(
        &self,
        chunk: &OutstandingChunk,
        takers: PathSet,
        moves_soon: bool,
    ) -> Option<PathId> {
        // A peer that sends data, too, may answer over the path of that.
        let answers_within = |path: &SendPath| path.rtt.srtt().filter(|_| !self.tx.peer.sends_data);
        let takes = |path: &&SendPath| {
            path.id != chunk.path
                && (!moves_soon && self.is_thin(chunk, path)
                    || path.rtt.of_data().is_none()
                        && path.copies().may_measure(
                            self.now,
                            path.rtt.rto(),
                            answers_within(path),
                        ))
        };
        let takers = self.tx.paths.among(takers).filter(takes);
        takers.min_by_key(|path| (path.rtt.srtt().is_none(), path.rtt.srtt())).map(|path| path.id)
    }

    /// Whether the chunk moves to another path as soon as the pace there admits it, so that a copy would be one transmission too many.
    fn moves_soon(&self, tsn: Tsn) -> bool {
        self.tx.reinjects(self.config, self.usable)
            && self.tx.will_move(self.config, tsn, self.usable, self.now)
    }

    /// Whether the chunk belongs to a thin flow of which the path takes a copy in time.
    fn is_thin(&self, chunk: &OutstandingChunk, path: &SendPath) -> bool {
        let own = &self.tx.paths[chunk.path];
        self.tx.is_all_sent()
            && may_repeat(path, self.now, chunk.flight_bytes.into())
            && path.backlog(self.now) <= copies::LONGEST_BACKLOG
            && match (own.rtt.srtt(), path.rtt.srtt()) {
                (Some(rtt), Some(its_rtt)) => copies::is_useful(rtt, its_rtt),
                (None, _) => true,
                (_, None) => false,
            }
    }

    /// Whether new data keeps off the path, because it was never measured and another one is there: copies measure it.
    #[inline]
    pub(super) fn waits_for_copy(&self, path: PathId) -> bool {
        self.policy_wants_copies() && self.is_measured_by_copies(path)
    }

    #[inline(never)]
    fn is_measured_by_copies(&self, path: PathId) -> bool {
        let own = &self.tx.paths[path];
        let is_proven = own.rtt.of_data().is_some() || own.copies().is_given_up();
        // What names the path goes nowhere else: there may be nothing to copy until it has gone.
        if is_proven || self.tx.queue.names(path) {
            return false;
        }
        let mut others = self.tx.paths.among(self.usable).filter(|other| other.id != path);
        others.any(|it| is_better_known(it, own)) && !self.runs_ahead(path)
    }

    fn policy_wants_copies(&self) -> bool {
        let policies = &self.config.policies;
        policies.data_copies == DataCopies::On && policies.path_order != PathOrder::Primary
    }
}

/// Whether there is a copy of it: one of what was sent first, and one of what was retransmitted, since that may be lost as well. What a
/// chunk leaves on its way where it is moved is one.
fn is_copied(chunk: &OutstandingChunk) -> bool {
    let copied = match chunk.transmissions {
        1 => History::COPIED,
        2 => History::COPIED_AGAIN | History::RESCHEDULED,
        _ => History::COPIED_AGAIN,
    };
    chunk.history.intersects(copied)
}

/// Whether the path takes copies of so many bytes now. One that data has not measured may need much longer for them than for control chunks:
/// no more follow where so many are overdue that the answers of later ones would not be known, unless they are too small to fill a queue.
fn may_repeat(path: &SendPath, now: Instant, bytes: u64) -> bool {
    let copies = path.copies();
    let is_jammed = path.rtt.of_data().is_none()
        && copies.are_large()
        && copies.are_many(now, path.rtt.rto())
        && !copies.are_many(now, path.rtt.expected() * 2);
    !is_jammed && copies.may_repeat(now, bytes, &room_for_copies(path, now))
}

fn room_for_copies(path: &SendPath, now: Instant) -> CopyRoom {
    let flight = path.on_the_way(now);
    CopyRoom::of(path.congestion.cwnd, flight, path.rtt.srtt(), path.passes_on())
}

impl Transmitter {
    /// Adds a copy of the chunk to the packet, which goes over `path`.
    #[inline(never)]
    pub(super) fn push_copy(
        &mut self,
        cx: &mut SendCx<'_>,
        path: PathId,
        tsn: Tsn,
        packet: &mut PacketBuilder<'_>,
    ) {
        let chunk = self.outstanding.get_mut(tsn);
        chunk.history |= History::COPIED;
        if chunk.transmissions > 1 {
            chunk.history |= History::COPIED_AGAIN;
        }
        let (user_bytes, flight_bytes, first_path) =
            (chunk.user_bytes(), chunk.flight_bytes, chunk.path);
        // The answer measures the path.
        let data = chunk.to_chunk(self.chunk, tsn, DataFlags::IMMEDIATE);
        packet.push_data(data, self.chunk.as_data(user_bytes));
        self.note_chunk_sent(cx, path, tsn, user_bytes, TransmissionCause::Copy);
        let is_used = self.paths[first_path].rtt.of_data().is_some();
        let path = &mut self.paths[path];
        let rate = room_for_copies(path, cx.now).rate;
        // What else is on its way there, or has left it just now, is answered, too. Before data has measured the path, that may take
        // several times as long as for a control chunk.
        let expected = path.rtt.expected() * copies::LONGEST_ANSWER;
        let last_data = path.copies().last_data(path.last_data_sent);
        let may_answer_data = path.rtt.of_data().is_none()
            && path.transmission_rank > 0
            && last_data.is_some_and(|last| cx.now.since(last) < expected);
        let is_quiet = path.on_the_way(cx.now) == 0
            && !path.new_data_ban.is_active(cx.now)
            && !may_answer_data;
        let are_many = path.copies().are_many(cx.now, path.rtt.rto());
        let answer = if !is_used || !is_quiet {
            CopyAnswer::Nothing
        } else if are_many {
            CopyAnswer::FirstAck
        } else {
            CopyAnswer::OverThePath
        };
        let copies = &mut path.spread_mut().copies;
        copies.on_data_before(last_data);
        copies.on_sent(cx.now, tsn, flight_bytes, rate, answer);
        path.note_backlog(cx.now, flight_bytes.into());
        path.last_data_sent = Some(cx.now);
        path.counters.data_packets_sent += 1;
    }

    /// A SACK came over `arrival`: it may be the answer to the copy there.
    #[inline]
    pub(super) fn measure_by_copy(
        &mut self,
        cx: &mut SendCx<'_>,
        acked: &AckOutcome,
        report: &Report<'_>,
        duplicates: &DuplicateTsns<'_>,
    ) {
        let sends_copies = cx.config.policies.data_copies == DataCopies::On;
        if sends_copies && !matches!(acked, AckOutcome::Refused(_)) {
            self.hear_of_copy(cx, report, duplicates);
        }
    }

    #[inline(never)]
    fn hear_of_copy(
        &mut self,
        cx: &mut SendCx<'_>,
        report: &Report<'_>,
        duplicates: &DuplicateTsns<'_>,
    ) {
        for path in self.paths.iter_mut().filter(|path| path.id != report.arrival) {
            if path.copies() != Copies::default() {
                if path.rtt.of_data().is_some() {
                    path.spread_mut().copies.on_acked_elsewhere(cx.now, |tsn| report.covers(tsn));
                    continue;
                }
                let rtt = path.rtt.smallest().unwrap_or_else(|| path.rtt.rto());
                let answers = path.rtt.srtt().is_some();
                let copies = &mut path.spread_mut().copies;
                let arrived = copies.on_other_sack(cx.now, rtt, |tsn| report.covers(tsn));
                path.has_delivered |= arrived && answers;
            }
        }
        let Some(path) = self.paths.get_mut(report.arrival) else { return };
        path.note_reported_originals(cx.now, duplicates.iter().map(Tsn));
        // A SACK that covers the chunk because the first transmission arrived may come too soon to be the answer. What is known of the
        // path comes from larger packets, maybe.
        let smallest = path.rtt.smallest().unwrap_or_default();
        let least = smallest - smallest / 4;
        if path.copies() == Copies::default() {
            return;
        }
        let is_duplicate = |tsn: Tsn| duplicates.iter().any(|duplicate| duplicate == tsn.0);
        let copies = &mut path.spread_mut().copies;
        let sack = SackHere {
            now: cx.now,
            least,
            carried: self.peer.sends_data,
            reports_others: duplicates.iter().any(|tsn| copies.sent_at(Tsn(tsn)).is_none()),
        };
        let answered = copies.on_sack(sack, is_duplicate, |tsn| report.covers(tsn));
        if let Some(copy) = answered {
            path.note_copy_answered(cx.now.since(copy.sent_at), copy.bytes);
            path.sample_rtt(cx.now, cx.probe, copy.sent_at, copy.bytes);
            path.note_copy_delivered(cx.now, &copy);
        }
    }
}
