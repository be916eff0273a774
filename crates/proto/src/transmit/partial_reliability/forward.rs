//! The sender's side of FORWARD-TSN (RFC 3758 section 3.5): how far the peer may move its cumulative TSN ack over what was
//! abandoned, and when it must be told.
//!
//! Rule C2 moves the point over abandoned chunks only, and that is what we do: chunks in gap blocks stop it. Where many
//! holes alternate with what has arrived, each costs a round trip (what lies behind a hole joins the cumulative ack when the
//! receiver has passed it, and only then the next hole is told). Passing what was acknowledged would save that, but a
//! receiver may renege until it hears of the point, and then messages would be lost that are not reported, even those
//! that would not be retransmitted. A receiver that promised to keep a chunk (NR-SACK) cannot: such chunks are passed, as
//! usrsctp does.

use polypath_wire::{DataFlags, SkippedMessages, SkippedStream};
use smallvec::SmallVec;

use crate::transmit::outstanding::OutstandingData;
use crate::{Duration, Instant, PathId, Tsn};

/// Skipped streams of a FORWARD-TSN; those of more are told later.
pub(crate) type Skipped = SmallVec<[SkippedStream; 8]>;

/// Those of an I-FORWARD-TSN.
pub(crate) type SkippedByMid = SmallVec<[SkippedMessages; 8]>;

/// A FORWARD-TSN that the peer has not answered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Told {
    point: Tsn,
    path: PathId,
    /// It, or one before it that was not answered either, took another path too.
    moved: bool,
    at: Instant,
}

/// What an answer to a FORWARD-TSN proves alive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Proof {
    /// The peer.
    OfThePeer,
    /// Also the path.
    OfThePath,
}

/// Progress of the Advanced.Peer.Ack.Point.
#[derive(Debug)]
pub(crate) struct Forward {
    /// Advanced.Peer.Ack.Point.
    point: Tsn,
    /// Up to here nothing but chunks that the point may pass.
    looked: Tsn,
    told: Option<Told>,
    /// The peer must be told, for the first time or again.
    due: bool,
}

impl Forward {
    pub(crate) fn new(initial_tsn: Tsn) -> Self {
        let point = initial_tsn.previous();
        Self { point, looked: point, told: None, due: false }
    }

    /// Whether a FORWARD-TSN must go out.
    pub(crate) fn is_due(&self) -> bool {
        self.due
    }

    /// The path whose T3-rtx guards a FORWARD-TSN (rule C5).
    pub(crate) fn guarded_by(&self) -> Option<PathId> {
        self.told.map(|told| told.path)
    }

    /// Nothing may be passed any more.
    pub(crate) fn withdraw(&mut self, outstanding: &OutstandingData) {
        *self = Self::new(outstanding.base());
    }

    /// Moves the point on (rules C1 to C3) after an acknowledgement, a timeout, or when something was abandoned.
    pub(crate) fn advance(&mut self, outstanding: &OutstandingData) {
        let acknowledged = outstanding.base().previous();
        if self.point.is_before(acknowledged) {
            self.point = acknowledged;
        }
        if self.looked.is_before(self.point) {
            self.looked = self.point;
        }
        if outstanding.abandoned_count() > 0 {
            let mut next = self.looked.next();
            while outstanding.contains(next) && outstanding.may_be_passed(next) {
                self.looked = next;
                if outstanding.is_abandoned(next) {
                    self.point = next;
                }
                next = next.next();
            }
        }
        if self.point == acknowledged {
            self.told = None;
            self.due = false;
        } else if self.told.is_none_or(|told| told.point != self.point) {
            self.due = true;
        }
    }

    /// The last FORWARD-TSN: its end, its path, and whether that is the only one that it can have taken.
    pub(crate) fn told(&self) -> Option<(Tsn, PathId, Proof)> {
        let proof = |told: Told| if told.moved { Proof::OfThePeer } else { Proof::OfThePath };
        self.told.map(|told| (told.point, told.path, proof(told)))
    }

    /// A SACK came that does not answer the last FORWARD-TSN, which is repeated once a round trip (rule F2).
    pub(crate) fn on_sack(&mut self, now: Instant, round_trip: Duration) {
        self.due |= self.told.is_some_and(|told| told.at + round_trip <= now);
    }

    /// T3-rtx of a path expired, or it can no longer guard (rule A5).
    pub(crate) fn on_timeout(&mut self, path: PathId) {
        self.due |= self.guarded_by() == Some(path);
    }

    /// What to tell in a chunk with room for `most` streams: the new cumulative TSN, and the highest SSN skipped in each
    /// stream (rule C4). Streams for which there is no room end it early.
    pub(crate) fn content(&self, outstanding: &OutstandingData, most: usize) -> (Tsn, Skipped) {
        let mut skipped = Skipped::new();
        let mut tsn = outstanding.base();
        while !tsn.is_after(self.point) {
            let chunk = outstanding.get(tsn);
            if outstanding.is_abandoned(tsn) && !chunk.flags.contains(DataFlags::UNORDERED) {
                match skipped.iter().position(|skipped| skipped.stream == chunk.stream) {
                    Some(known) => skipped[known].ssn = chunk.number as u16,
                    None if skipped.len() == most => break,
                    None => {
                        let ssn = chunk.number as u16;
                        skipped.push(SkippedStream { stream: chunk.stream, ssn });
                    }
                }
            }
            tsn = tsn.next();
        }
        (tsn.previous(), skipped)
    }

    /// The same for an I-FORWARD-TSN: the highest MID skipped in each stream, of ordered and of unordered messages (RFC 8260
    /// section 2.3.1).
    pub(crate) fn content_by_mid(
        &self,
        outstanding: &OutstandingData,
        most: usize,
    ) -> (Tsn, SkippedByMid) {
        let mut skipped = SkippedByMid::new();
        let mut tsn = outstanding.base();
        while !tsn.is_after(self.point) {
            if outstanding.is_abandoned(tsn) {
                let (stream, unordered, mid) = outstanding.get(tsn).message();
                let flags = if unordered { SkippedMessages::UNORDERED } else { 0 };
                let is_known = |it: &SkippedMessages| it.stream == stream && it.flags == flags;
                match skipped.iter().position(is_known) {
                    Some(known) => skipped[known].mid = mid,
                    None if skipped.len() == most => break,
                    None => skipped.push(SkippedMessages { stream, flags, mid }),
                }
            }
            tsn = tsn.next();
        }
        (tsn.previous(), skipped)
    }

    /// A FORWARD-TSN up to `point` was sent.
    pub(crate) fn on_sent(&mut self, now: Instant, path: PathId, point: Tsn) {
        // What had no room follows when the peer has answered.
        let moved = self.told.is_some_and(|told| told.moved || told.path != path);
        self.told = Some(Told { point, path, moved, at: now });
        self.due = false;
    }
}

#[cfg(test)]
mod tests;
