//! The requests of this side (RFC 5061 sections 5.1 and 5.3).

use alloc::collections::VecDeque;
use core::net::IpAddr;

use polypath_wire::{Asconf, Cause, Causes, Parameter, Parameters};
use smallvec::SmallVec;

use super::{parameter, wildcard};
use crate::{AddressChange, Instant, PathId};

/// Maximum number of requests that wait for the chunk in flight; further ones of the user are rejected.
const MAX_WAITING: usize = 32;

/// Maximum number of requests in a chunk, so that it fits any path.
const MAX_IN_CHUNK: usize = 8;

/// A request of this side.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct AddressRequest {
    pub(crate) change: AddressChange,
    /// An address of this side. When deleting by the source: the remaining one.
    pub(crate) address: IpAddr,
    /// Send the wildcard address, in a packet from this address: behind an address translator the peer sees another one.
    pub(crate) by_source: bool,
}

/// How a request ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ChangeOutcome {
    /// The peer has performed it.
    Done,
    /// The peer has refused it with this error cause; `None` if it gave none.
    Refused(Option<u16>),
}

/// Meaning of an ASCONF-ACK.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum AsconfAcked {
    /// It answers a chunk that was answered before.
    Stale,
    /// It answers a chunk that was not sent yet: the association must be aborted (rule F0).
    Illegal,
    /// Outcomes of the requests in the chunk in flight, and the path that the chunk had taken.
    Ended(PathId, SmallVec<[(AddressRequest, ChangeOutcome); 2]>),
}

/// Allowed sources of the next chunk.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Origin {
    /// Only this address.
    pub(crate) only: Option<IpAddr>,
    /// Any but these (rule F6).
    pub(crate) never: SmallVec<[IpAddr; 2]>,
}

/// The chunk in flight, and the requests that wait.
#[derive(Debug)]
pub(crate) struct ChangeRequests {
    next_serial: u32,
    next_correlation: u32,
    waiting: VecDeque<AddressRequest>,
    flight: Option<AsconfInFlight>,
    refused: RefusedKinds,
}

/// Requests that the peer does not support (rules A9, F3a and F3b).
#[derive(Clone, Copy, Default, Debug)]
struct RefusedKinds {
    /// To add and to delete.
    changes: bool,
    /// To set the primary address.
    primary: bool,
}

#[derive(Debug)]
struct AsconfInFlight {
    serial: u32,
    parameters: Parameters<'static>,
    batch: SmallVec<[(u32, AddressRequest); 2]>,
    path: PathId,
    /// T-4.
    due: Instant,
}

impl AddressRequest {
    pub(crate) fn new(change: AddressChange, address: IpAddr) -> Self {
        Self { change, address, by_source: false }
    }

    fn undoes(&self, other: &Self) -> bool {
        use AddressChange::{Added, Removed};
        let opposite = matches!((self.change, other.change), (Added, Removed) | (Removed, Added));
        opposite && self.address == other.address && !self.by_source && !other.by_source
    }

    fn deletes(&self, address: IpAddr) -> bool {
        self.change == AddressChange::Removed && !self.by_source && self.address == address
    }
}

impl ChangeRequests {
    /// State of an association whose first TSN is `initial_tsn`, which is also the first serial number (rule A2).
    pub(crate) fn new(initial_tsn: u32) -> Self {
        Self {
            next_serial: initial_tsn,
            next_correlation: 1,
            waiting: VecDeque::new(),
            flight: None,
            refused: RefusedKinds::default(),
        }
    }

    /// Whether the peer is assumed to support the request.
    pub(crate) fn may_ask_for(&self, change: AddressChange) -> bool {
        match change {
            AddressChange::Added | AddressChange::Removed => !self.refused.changes,
            AddressChange::MadePrimary => !self.refused.primary,
        }
    }

    /// Queues a request. Returns whether there was room.
    pub(crate) fn push(&mut self, request: AddressRequest) -> bool {
        let fits = self.waiting.len() < MAX_WAITING && self.may_ask_for(request.change);
        if fits {
            self.waiting.push_back(request);
        }
        fits
    }

    /// Cancels the waiting request that `request` would undo. Returns whether there was one.
    pub(crate) fn take_back(&mut self, request: AddressRequest) -> bool {
        let undone = self.waiting.iter().rposition(|waiting| request.undoes(waiting));
        undone.and_then(|index| self.waiting.remove(index)).is_some()
    }

    /// Whether an address is about to be deleted (rule F4).
    pub(crate) fn is_deleting(&self, address: IpAddr) -> bool {
        let sent = self.flight.iter().flat_map(|flight| flight.batch.iter().map(|(_, it)| it));
        sent.chain(&self.waiting).any(|request| request.deletes(address))
    }

    /// Whether a chunk is to be sent now: one at a time (rule C1).
    #[inline]
    pub(crate) fn is_ready(&self) -> bool {
        self.flight.is_none() && !self.waiting.is_empty()
    }

    /// Allowed sources of the next chunk, or of the one in flight.
    pub(crate) fn origin(&self) -> Origin {
        match &self.flight {
            Some(flight) => origin_of(flight.batch.iter().map(|(_, request)| request)),
            None => origin_of(self.waiting.iter().take(self.batch_len())),
        }
    }

    /// Number of waiting requests that fit the next chunk, which has one source.
    fn batch_len(&self) -> usize {
        let mut len = 0;
        for request in self.waiting.iter().take(MAX_IN_CHUNK) {
            let before = origin_of(self.waiting.iter().take(len));
            let fits = match request.by_source {
                true => {
                    before.only.is_none_or(|only| only == request.address)
                        && !before.never.contains(&request.address)
                }
                false => before.only.is_none_or(|only| !request.deletes(only)),
            };
            if !fits {
                break;
            }
            len += 1;
        }
        len
    }

    /// The next chunk, for `path`, with an answer expected by `due`. `known` is an address of this side that the peer knows.
    pub(crate) fn send(
        &mut self,
        path: PathId,
        due: Instant,
        known: IpAddr,
    ) -> Option<Asconf<'static>> {
        if !self.is_ready() {
            return None;
        }
        let len = self.batch_len();
        let mut batch = SmallVec::new();
        for request in self.waiting.drain(..len) {
            batch.push((self.next_correlation, request));
            self.next_correlation = self.next_correlation.wrapping_add(1);
        }
        let serial = self.next_serial;
        self.next_serial = serial.wrapping_add(1);
        let asked = batch.iter().map(|&(correlation_id, request)| {
            let AddressRequest { change, address, by_source } = request;
            let address = if by_source { wildcard(address) } else { address };
            parameter(change, correlation_id, address)
        });
        let parameters = Parameters::build(core::iter::once(Parameter::from(known)).chain(asked));
        let chunk = Asconf { serial, parameters: parameters.clone() };
        self.flight = Some(AsconfInFlight { serial, parameters, batch, path, due });
        Some(chunk)
    }

    /// When the chunk in flight is repeated.
    #[inline]
    pub(crate) fn due(&self) -> Option<Instant> {
        self.flight.as_ref().map(|flight| flight.due)
    }

    /// The path that the chunk in flight has taken.
    pub(crate) fn path(&self) -> Option<PathId> {
        self.flight.as_ref().map(|flight| flight.path)
    }

    /// Repeats the chunk on `path` when T-4 has expired (rules B4 and B5).
    pub(crate) fn repeat(&mut self, path: PathId, due: Instant) -> Option<Asconf<'static>> {
        let flight = self.flight.as_mut()?;
        (flight.path, flight.due) = (path, due);
        Some(Asconf { serial: flight.serial, parameters: flight.parameters.clone() })
    }

    /// The chunk waits for a path.
    pub(crate) fn put_off(&mut self, due: Instant) {
        if let Some(flight) = &mut self.flight {
            flight.due = due;
        }
    }

    /// Processes an ASCONF-ACK (rules A5 to A8).
    pub(crate) fn on_ack(&mut self, serial: u32, answers: &Parameters<'_>) -> AsconfAcked {
        if serial.wrapping_sub(self.next_serial) < 1 << 31 {
            return AsconfAcked::Illegal;
        }
        let Some(flight) = self.flight.take_if(|flight| flight.serial == serial) else {
            return AsconfAcked::Stale;
        };
        let mut has_failed = false;
        let ended = flight.batch.into_iter().map(|(id, request)| {
            let answer = answers.into_iter().find_map(|answer| outcome_in(&answer, id));
            // Requests without an answer succeeded before the first failure, and failed after it.
            let unsaid =
                if has_failed { ChangeOutcome::Refused(None) } else { ChangeOutcome::Done };
            let outcome = answer.unwrap_or(unsaid);
            has_failed |= outcome != ChangeOutcome::Done;
            if outcome == ChangeOutcome::Refused(Some(UNRECOGNIZED)) {
                match request.change {
                    AddressChange::MadePrimary => self.refused.primary = true,
                    _ => self.refused.changes = true,
                }
            }
            (request, outcome)
        });
        AsconfAcked::Ended(flight.path, ended.collect())
    }

    /// Handles a peer that does not know the chunk (rule A9). Returns the requests.
    pub(crate) fn on_unknown_chunk(&mut self) -> SmallVec<[AddressRequest; 4]> {
        self.refused = RefusedKinds { changes: true, primary: true };
        let sent = self.flight.take().map(|flight| flight.batch).unwrap_or_default();
        sent.into_iter().map(|(_, request)| request).chain(self.waiting.drain(..)).collect()
    }
}

/// Cause code of parameters that were not recognized.
const UNRECOGNIZED: u16 = polypath_wire::cause_code::UNRECOGNIZED_PARAMETERS;

fn origin_of<'a>(requests: impl Iterator<Item = &'a AddressRequest>) -> Origin {
    let mut origin = Origin::default();
    for request in requests {
        if request.by_source {
            origin.only = Some(request.address);
        } else if request.change == AddressChange::Removed {
            origin.never.push(request.address);
        }
    }
    origin
}

/// The answer to the request with this correlation identifier.
fn outcome_in(answer: &Parameter<'_>, id: u32) -> Option<ChangeOutcome> {
    match answer {
        Parameter::SuccessIndication { correlation_id } if *correlation_id == id => {
            Some(ChangeOutcome::Done)
        }
        Parameter::ErrorCauseIndication { correlation_id, causes } if *correlation_id == id => {
            Some(ChangeOutcome::Refused(first_code(causes)))
        }
        _ => None,
    }
}

fn first_code(causes: &Causes<'_>) -> Option<u16> {
    causes.iter().next().map(|cause: Cause<'_>| cause.code())
}

#[cfg(test)]
mod tests;
