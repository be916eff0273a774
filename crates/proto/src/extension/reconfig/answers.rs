//! The requests of the peer, and what they were answered (RFC 6525 section 5.2.1).

use polypath_wire::NextTsns;
use smallvec::SmallVec;

use super::{Outcome, StreamList};
use crate::Tsn;

/// Answers that are kept: a chunk has two requests at most (RFC 6525 section 3.1).
const KEPT: usize = 2;

/// What the peer asks for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum PeerRequest {
    /// Its streams begin anew behind this TSN, as this side may have asked with that number.
    ResetOutgoing { last_tsn: Tsn, streams: StreamList, answers: u32 },
    /// The streams of this side begin anew.
    ResetIncoming(StreamList),
    /// TSNs and streams of both sides begin anew.
    ResetAll,
    /// It wants so many more streams.
    AddOutgoing(u16),
    /// This side shall have so many more.
    AddIncoming(u16),
}

/// Whose turn a request is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Turn {
    /// It is new.
    Next,
    /// It was answered with this before.
    Again(Outcome),
    /// It is neither.
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
    /// Number of a reset of everything that waits for this side's data.
    all_deferred: Option<u32>,
    /// Number of the last reset of everything, and the TSNs that its answer names.
    numbering: Option<(u32, NextTsns)>,
}

impl Answers {
    /// Of a peer whose first TSN is `initial_tsn`, which is its first sequence number, too.
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

    /// Whose turn the request with this number is.
    pub(crate) fn turn(&self, sequence: u32) -> Turn {
        if sequence == self.next_sequence {
            return Turn::Next;
        }
        let kept = self.kept.iter().find(|(known, _)| *known == sequence);
        kept.map_or(Turn::Wrong, |(_, outcome)| Turn::Again(*outcome))
    }

    /// Keeps the answer to the request whose turn it is.
    pub(crate) fn keep(&mut self, outcome: Outcome) {
        if self.kept.len() == KEPT {
            self.kept.remove(0);
        }
        self.kept.push((self.next_sequence, outcome));
        self.next_sequence = self.next_sequence.wrapping_add(1);
    }

    /// Puts another answer in the place of the one to this request.
    pub(crate) fn replace(&mut self, sequence: u32, outcome: Outcome) {
        if let Some((_, kept)) = self.kept.iter_mut().find(|(known, _)| *known == sequence) {
            *kept = outcome;
        }
    }

    /// Lets a reset wait for data.
    pub(crate) fn defer(&mut self, deferred: Deferred) {
        self.deferred = Some(deferred);
    }

    /// Whether a reset waits for data.
    pub(crate) fn is_deferring(&self) -> bool {
        self.deferred.is_some() || self.all_deferred.is_some()
    }

    /// Lets a reset of everything wait.
    pub(crate) fn defer_all(&mut self, sequence: u32) {
        self.all_deferred = Some(sequence);
    }

    /// The number of a reset of everything that waits for this side's data.
    pub(crate) fn all_deferred(&self) -> Option<u32> {
        self.all_deferred
    }

    /// A reset of everything was performed: keeps the TSNs that its answer names, which are those of each repetition.
    pub(crate) fn performed_all(&mut self, sequence: u32, tsns: NextTsns) {
        self.all_deferred = None;
        self.numbering = Some((sequence, tsns));
    }

    /// The TSNs that the answer to this request names.
    pub(crate) fn tsns_of(&self, sequence: u32) -> Option<NextTsns> {
        self.numbering.filter(|(known, _)| *known == sequence).map(|(_, tsns)| tsns)
    }

    /// The reset that waited for data up to `cumulative`.
    pub(crate) fn take_due(&mut self, cumulative: Tsn) -> Option<Deferred> {
        let due = |it: &Deferred| it.last_tsn.is_at_or_before(cumulative);
        if self.deferred.as_ref().is_some_and(due) { self.deferred.take() } else { None }
    }
}
