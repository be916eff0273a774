//! Requests of the peer, and their answers (RFC 6525 section 5.2.1).

use polypath_wire::NextTsns;
use smallvec::SmallVec;

use super::{Outcome, StreamList};
use crate::Tsn;

/// Number of answers that are kept: a chunk has at most two requests (RFC 6525 section 3.1).
const KEPT: usize = 2;

/// A request of the peer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum PeerRequest {
    /// Its streams restart after this TSN; the number is that of the request of this side that asked for it, if any.
    ResetOutgoing { last_tsn: Tsn, streams: StreamList, answers: u32 },
    /// The streams of this side restart.
    ResetIncoming(StreamList),
    /// TSNs and streams of both sides restart.
    ResetAll,
    /// A number of additional streams of the peer.
    AddOutgoing(u16),
    /// A number of additional streams of this side.
    AddIncoming(u16),
}

/// Position of a request in the sequence.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Turn {
    /// It is new.
    Next,
    /// It was answered with this before.
    Again(Outcome),
    /// It is out of sequence.
    Wrong,
}

/// A reset of the peer's streams that waits for data.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Deferred {
    pub(crate) sequence: u32,
    pub(crate) last_tsn: Tsn,
    pub(crate) streams: StreamList,
}

/// The last requests of the peer.
#[derive(Debug)]
pub(crate) struct Answers {
    next_sequence: u32,
    kept: SmallVec<[(u32, Outcome); KEPT]>,
    deferred: Option<Deferred>,
    /// Number of a full reset that waits for this side's data.
    all_deferred: Option<u32>,
    /// Number of the last full reset, and the TSNs in its answer.
    numbering: Option<(u32, NextTsns)>,
}

impl Answers {
    /// State for a peer whose first TSN is `initial_tsn`, which is also its first sequence number.
    pub(crate) fn new(initial_tsn: u32) -> Self {
        Self {
            next_sequence: initial_tsn,
            kept: SmallVec::new(),
            deferred: None,
            all_deferred: None,
            numbering: None,
        }
    }

    /// The last number that the peer used.
    pub(crate) fn last_sequence(&self) -> u32 {
        self.next_sequence.wrapping_sub(1)
    }

    /// Position of the request with this number.
    pub(crate) fn turn(&self, sequence: u32) -> Turn {
        if sequence == self.next_sequence {
            return Turn::Next;
        }
        let kept = self.kept.iter().find(|(known, _)| *known == sequence);
        kept.map_or(Turn::Wrong, |(_, outcome)| Turn::Again(*outcome))
    }

    /// Records the answer to the next request.
    pub(crate) fn keep(&mut self, outcome: Outcome) {
        if self.kept.len() == KEPT {
            self.kept.remove(0);
        }
        self.kept.push((self.next_sequence, outcome));
        self.next_sequence = self.next_sequence.wrapping_add(1);
    }

    /// Replaces the answer to this request.
    pub(crate) fn replace(&mut self, sequence: u32, outcome: Outcome) {
        if let Some((_, kept)) = self.kept.iter_mut().find(|(known, _)| *known == sequence) {
            *kept = outcome;
        }
    }

    /// Makes a reset wait for data.
    pub(crate) fn defer(&mut self, deferred: Deferred) {
        self.deferred = Some(deferred);
    }

    /// Whether a reset waits for data.
    pub(crate) fn is_deferring(&self) -> bool {
        self.deferred.is_some() || self.all_deferred.is_some()
    }

    /// Makes a full reset wait.
    pub(crate) fn defer_all(&mut self, sequence: u32) {
        self.all_deferred = Some(sequence);
    }

    /// The number of a full reset that waits for this side's data.
    pub(crate) fn all_deferred(&self) -> Option<u32> {
        self.all_deferred
    }

    /// Records a completed full reset, with the TSNs of its answer, which repetitions get as well.
    pub(crate) fn performed_all(&mut self, sequence: u32, tsns: NextTsns) {
        self.all_deferred = None;
        self.numbering = Some((sequence, tsns));
    }

    /// The TSNs in the answer to this request.
    pub(crate) fn tsns_of(&self, sequence: u32) -> Option<NextTsns> {
        self.numbering.filter(|(known, _)| *known == sequence).map(|(_, tsns)| tsns)
    }

    /// The reset that waited for data up to `cumulative`.
    pub(crate) fn take_due(&mut self, cumulative: Tsn) -> Option<Deferred> {
        let due = |it: &Deferred| it.last_tsn.is_at_or_before(cumulative);
        if self.deferred.as_ref().is_some_and(due) { self.deferred.take() } else { None }
    }
}
