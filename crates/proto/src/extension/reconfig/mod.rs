//! Stream reconfiguration (RE-CONFIG, RFC 6525): streams restart with SSN 0, and streams are added.
//!
//! One request of each side is in flight at a time ([`requests`]). The peer's requests are answered once; a repeated one
//! gets the same answer ([`answers`]).
//!
//! A reset of all TSNs and SSNs is a request, too. Both sides wait until everything sent is acknowledged, so that nothing is lost,
//! although RFC 6525 sections 5.1.4 and 5.2.4 allow them to abandon it.

pub(crate) mod answers;
pub(crate) mod requests;

use alloc::vec::Vec;

use polypath_wire::U16List;

pub(crate) use answers::{Answers, Deferred, PeerRequest, Turn};
pub(crate) use requests::{OwnRequest, Reaction, Requests};

/// Distance by which the peer's TSNs advance in a full reset.
///
/// NOTE(deviation): RFC 6525 section 5.2.4 (G1) advises 2^31, at which serial number arithmetic cannot distinguish an old SACK
/// from one that is ahead.
pub(crate) const TSN_LEAP: u32 = 1 << 30;

/// How a request ended (RFC 6525 section 4.4).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Outcome {
    /// Success: there was nothing to do.
    NothingToDo,
    /// Success: performed.
    Performed,
    /// Denied.
    Denied,
    /// Error: a stream does not exist.
    WrongSsn,
    /// Error: another request is in progress.
    Busy,
    /// Error: the sequence number is not the one that is next.
    BadSequence,
    /// In progress: repeat the request.
    InProgress,
}

impl Outcome {
    const CODES: [(Self, u32); 7] = [
        (Self::NothingToDo, 0),
        (Self::Performed, 1),
        (Self::Denied, 2),
        (Self::WrongSsn, 3),
        (Self::Busy, 4),
        (Self::BadSequence, 5),
        (Self::InProgress, 6),
    ];

    /// The number in the response.
    pub(crate) fn code(self) -> u32 {
        Self::CODES.iter().find(|(outcome, _)| *outcome == self).map_or(2, |(_, code)| *code)
    }

    /// Meaning of a number in a response; an unknown one is a refusal.
    pub(crate) fn of_code(code: u32) -> Self {
        let known = Self::CODES.iter().find(|(_, known)| *known == code);
        known.map_or(Self::Denied, |(outcome, _)| *outcome)
    }
}

/// Streams to reset; all of them if none is listed.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct StreamList(Vec<u16>);

impl StreamList {
    /// These, in order and each once.
    pub(crate) fn new(streams: &[u16]) -> Self {
        let mut list = streams.to_vec();
        list.sort_unstable();
        list.dedup();
        Self(list)
    }

    /// The streams of a parameter.
    pub(crate) fn of(list: &U16List<'_>) -> Self {
        Self::new(&list.iter().collect::<Vec<_>>())
    }

    /// Adds the streams of another list, unless that makes more than `most`, or one of the lists means all streams.
    pub(crate) fn join(&mut self, other: &Self, most: usize) -> bool {
        let joins =
            !self.0.is_empty() && !other.0.is_empty() && self.0.len() + other.0.len() <= most;
        if joins {
            self.0.extend_from_slice(&other.0);
            self.0.sort_unstable();
            self.0.dedup();
        }
        joins
    }

    /// Whether the stream is among them.
    pub(crate) fn contains(&self, stream: u16) -> bool {
        self.0.is_empty() || self.0.binary_search(&stream).is_ok()
    }

    /// Whether all of `other` are among them.
    pub(crate) fn covers(&self, other: &Self) -> bool {
        self.0.is_empty() || !other.0.is_empty() && other.0.iter().all(|it| self.contains(*it))
    }

    /// Whether all of them exist among `count` streams.
    pub(crate) fn exist(&self, count: u16) -> bool {
        self.0.last().is_none_or(|highest| *highest < count)
    }

    /// The streams that are listed.
    pub(crate) fn listed(&self) -> &[u16] {
        &self.0
    }
}

#[cfg(test)]
mod tests;
