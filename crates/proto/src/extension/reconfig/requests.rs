//! The requests of this side (RFC 6525 sections 5.1 and 5.2.7).

use alloc::collections::VecDeque;

use polypath_wire::{Parameter, Parameters, U16List};

use super::{Outcome, StreamList};
use crate::{Duration, Instant, PathId, Tsn};

/// Maximum number of requests that wait for the one in flight; further ones of the user are rejected.
const MAX_WAITING: usize = 16;
/// Maximum number of streams in a combined reset, so that it fits any path.
const MAX_JOINED: usize = 256;

/// A request of this side.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum OwnRequest {
    /// Its own streams restart.
    ResetOutgoing {
        /// The streams.
        streams: StreamList,
        /// The peer's request that asked for it.
        answers: Option<u32>,
    },
    /// The peer's streams restart.
    ResetIncoming(StreamList),
    /// TSNs and streams of both sides restart.
    ResetAll,
    /// A number of additional streams of its own.
    AddOutgoing(u16),
    /// A number of additional streams of the peer.
    AddIncoming(u16),
}

/// Meaning of a response.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Reaction {
    /// None: it answers no request in flight.
    None,
    /// The request is to be repeated later.
    Wait,
    /// The request has ended like this.
    Ended(OwnRequest, Outcome),
}

/// The request in flight, and those that wait.
#[derive(Debug)]
pub(crate) struct Requests {
    next_sequence: u32,
    waiting: VecDeque<OwnRequest>,
    flight: Option<InFlight>,
    /// First TSN after those of the streams to reset, once all their data has been sent.
    barrier: Option<Tsn>,
}

#[derive(Debug)]
struct InFlight {
    request: OwnRequest,
    sequence: u32,
    parameters: Parameters<'static>,
    path: PathId,
    due: Instant,
    timeout: Duration,
    /// Whether the peer has reported that it is in progress.
    is_in_progress: bool,
}

impl Requests {
    /// State of an association whose first TSN is `initial_tsn`, which is also the first sequence number.
    pub(crate) fn new(initial_tsn: u32) -> Self {
        Self { next_sequence: initial_tsn, waiting: VecDeque::new(), flight: None, barrier: None }
    }

    /// Queues a request. Returns whether there was room.
    pub(crate) fn push(&mut self, request: OwnRequest) -> bool {
        if self.join(&request) {
            return true;
        }
        let fits = self.waiting.len() < MAX_WAITING;
        if fits {
            self.waiting.push_back(request);
        }
        fits
    }

    /// Adds a reset of its own streams to the last waiting request, if that is such a reset as well.
    fn join(&mut self, request: &OwnRequest) -> bool {
        let OwnRequest::ResetOutgoing { streams: added, answers: None } = request else {
            return false;
        };
        let Some(OwnRequest::ResetOutgoing { streams, answers: None }) = self.waiting.back_mut()
        else {
            return false;
        };
        let joins = streams.join(added, MAX_JOINED);
        if joins {
            // The data of the added streams must be acknowledged, too.
            self.barrier = None;
        }
        joins
    }

    /// Whether the stream must not carry new data, because it is about to restart.
    #[inline]
    pub(crate) fn holds(&self, stream: u16) -> bool {
        let is_idle = self.flight.is_none() && self.waiting.is_empty();
        !is_idle && self.would_hold(stream)
    }

    #[inline(never)]
    fn would_hold(&self, stream: u16) -> bool {
        self.resets().any(|streams| streams.contains(stream)) || self.wants_reset_of_all()
    }

    /// Whether a full reset is requested or waits to be.
    pub(crate) fn wants_reset_of_all(&self) -> bool {
        self.waiting.contains(&OwnRequest::ResetAll) || self.is_resetting_all()
    }

    /// Whether a full reset is in flight.
    pub(crate) fn is_resetting_all(&self) -> bool {
        self.flight.as_ref().is_some_and(|flight| flight.request == OwnRequest::ResetAll)
    }

    /// Whether a request is in flight.
    pub(crate) fn has_flight(&self) -> bool {
        self.flight.is_some()
    }

    /// Whether a reset of its own streams that covers all of these is under way.
    pub(crate) fn covers(&self, streams: &StreamList) -> bool {
        self.resets().any(|own| own.covers(streams))
    }

    fn resets(&self) -> impl Iterator<Item = &StreamList> {
        let own = self.flight.iter().map(|flight| &flight.request).chain(&self.waiting);
        own.filter_map(|request| match request {
            OwnRequest::ResetOutgoing { streams, .. } => Some(streams),
            _ => None,
        })
    }

    /// The request that is next, if none is in flight.
    pub(crate) fn next(&self) -> Option<&OwnRequest> {
        self.waiting.front().filter(|_| self.flight.is_none())
    }

    /// Whether all data of the streams of the next reset is acknowledged, if none of it waits to be sent. `next` is the first TSN
    /// that was not sent, and `base` the first that is not acknowledged.
    pub(crate) fn is_past(&mut self, base: Tsn, next: Tsn) -> bool {
        let barrier = *self.barrier.get_or_insert(next);
        !base.is_before(barrier)
    }

    /// Sends the next request on `path`: the parameters of its chunk. `last_tsn` is the last that was sent, `peer_sequence` the
    /// last number of the peer.
    pub(crate) fn send(
        &mut self,
        now: Instant,
        timeout: Duration,
        path: PathId,
        last_tsn: Tsn,
        peer_sequence: u32,
    ) -> Option<Parameters<'static>> {
        let request = self.waiting.pop_front()?;
        let request_sequence = self.next_sequence;
        self.next_sequence = request_sequence.wrapping_add(1);
        self.barrier = None;
        let parameter = match &request {
            OwnRequest::ResetOutgoing { streams, answers } => Parameter::OutgoingSsnReset {
                request_sequence,
                response_sequence: answers.unwrap_or(peer_sequence),
                last_tsn: last_tsn.0,
                streams: U16List::Numbers(streams.listed()),
            },
            OwnRequest::ResetIncoming(streams) => Parameter::IncomingSsnReset {
                request_sequence,
                streams: U16List::Numbers(streams.listed()),
            },
            OwnRequest::ResetAll => Parameter::SsnTsnReset { request_sequence },
            OwnRequest::AddOutgoing(new_streams) => {
                Parameter::AddOutgoingStreams { request_sequence, new_streams: *new_streams }
            }
            OwnRequest::AddIncoming(new_streams) => {
                Parameter::AddIncomingStreams { request_sequence, new_streams: *new_streams }
            }
        };
        let parameters = Parameters::build([parameter]);
        self.flight = Some(InFlight {
            request,
            sequence: request_sequence,
            parameters: parameters.clone(),
            path,
            due: now + timeout,
            timeout,
            is_in_progress: false,
        });
        Some(parameters)
    }

    /// When the request in flight is repeated.
    #[inline]
    pub(crate) fn due(&self) -> Option<Instant> {
        self.flight.as_ref().map(|flight| flight.due)
    }

    /// The timer expired: the chunk to repeat on `path`, and the path whose error count grows, unless the peer has reported that it
    /// is in progress. `longest` bounds the back-off.
    pub(crate) fn expire(
        &mut self,
        now: Instant,
        path: PathId,
        longest: Duration,
    ) -> Option<(Parameters<'static>, Option<PathId>)> {
        let flight = self.flight.as_mut()?;
        let failed = (!flight.is_in_progress).then_some(flight.path);
        flight.timeout = (flight.timeout * 2).min(longest);
        flight.due = now + flight.timeout;
        flight.path = path;
        Some((flight.parameters.clone(), failed))
    }

    /// Processes a response to the request with this number.
    pub(crate) fn on_response(
        &mut self,
        now: Instant,
        sequence: u32,
        outcome: Outcome,
    ) -> Reaction {
        let Some(flight) = self.flight.as_mut().filter(|it| it.sequence == sequence) else {
            return Reaction::None;
        };
        match outcome {
            Outcome::InProgress => {
                flight.is_in_progress = true;
                flight.due = now + flight.timeout;
                Reaction::Wait
            }
            ended => match self.flight.take() {
                Some(flight) => Reaction::Ended(flight.request, ended),
                None => Reaction::None,
            },
        }
    }

    /// Notes that the peer fulfils the request with this number by a request of its own.
    pub(crate) fn on_followed(&mut self, sequence: u32) {
        let is_asked = |flight: &InFlight| {
            flight.sequence == sequence && matches!(flight.request, OwnRequest::ResetIncoming(_))
        };
        if self.flight.as_ref().is_some_and(is_asked) {
            self.flight = None;
        }
    }
}
