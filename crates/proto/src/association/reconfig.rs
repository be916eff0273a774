//! Stream reconfiguration (RFC 6525): the requests of both sides, and what they do to streams.

use alloc::boxed::Box;

use polypath_wire::{Chunk, NextTsns, Parameter, Parameters};
use smallvec::SmallVec;

use super::Association;
use super::output::To;
use super::state::ConnectedPhase;
use crate::extension::reconfig::{
    Answers, Deferred, Outcome, OwnRequest, PeerRequest, Reaction, Requests, StreamList, Turn,
};
use crate::types::Capabilities;
use crate::{Cx, Duration, Event, Instant, PathId, ReconfigurationError, Tsn};

/// The requests of both sides.
#[derive(Debug)]
pub(super) struct Reconfiguration {
    pub(super) requests: Requests,
    pub(super) answers: Answers,
    /// When the user last requested a reset of everything.
    last_reset: Option<Instant>,
    /// TSNs were reset, or may be: earlier acknowledgements have no meaning.
    pub(super) renumbers: bool,
}

/// Minimum interval between two resets of everything at the user's request: the longest life of a packet according to
/// RFC 6525 section 5.1.4.
const RESET_INTERVAL: Duration = Duration::from_secs(30);

impl Association {
    /// Resets streams of this side to SSN 0; all of them if none is named (RFC 6525 section 5.1.2).
    ///
    /// Data sent on them is acknowledged first; meanwhile [`send`](Self::send) fails with
    /// [`WouldBlock`](crate::SendError::WouldBlock) on them. [`Event::OutgoingStreamsReset`] or
    /// [`Event::ReconfigurationRefused`] follows.
    ///
    /// # Errors
    ///
    /// One side lacks the extension, a stream does not exist, or too many requests are pending.
    pub fn reset_outgoing_streams(&mut self, streams: &[u16]) -> Result<(), ReconfigurationError> {
        let list = self.listed(streams, self.streams.outbound)?;
        self.ask(OwnRequest::ResetOutgoing { streams: list, answers: None })
    }

    /// Requests the peer to reset its streams; all of them if none is named (RFC 6525 section 5.1.3).
    /// [`Event::IncomingStreamsReset`] or [`Event::ReconfigurationRefused`] follows.
    ///
    /// # Errors
    ///
    /// As [`reset_outgoing_streams`](Self::reset_outgoing_streams).
    pub fn reset_incoming_streams(&mut self, streams: &[u16]) -> Result<(), ReconfigurationError> {
        let list = self.listed(streams, self.streams.inbound)?;
        self.ask(OwnRequest::ResetIncoming(list))
    }

    /// Adds streams on which this side may send (RFC 6525 section 5.1.5). [`Event::StreamsAdded`] follows, or
    /// [`Event::ReconfigurationRefused`].
    ///
    /// # Errors
    ///
    /// If one of both sides does not have it, there would be too many streams, or too many requests wait.
    pub fn add_outgoing_streams(&mut self, count: u16) -> Result<(), ReconfigurationError> {
        addable(count, self.streams.outbound)?;
        self.ask(OwnRequest::AddOutgoing(count))
    }

    /// Asks the peer to add streams on which it may send (RFC 6525 section 5.1.6). [`Event::StreamsAdded`] follows when it has,
    /// or [`Event::ReconfigurationRefused`].
    ///
    /// # Errors
    ///
    /// As [`add_outgoing_streams`](Self::add_outgoing_streams).
    pub fn add_incoming_streams(&mut self, count: u16) -> Result<(), ReconfigurationError> {
        addable(count, self.streams.inbound)?;
        self.ask(OwnRequest::AddIncoming(count))
    }

    /// Resets the TSNs and all streams of both sides (RFC 6525 section 5.1.4). Data of either side is acknowledged
    /// first; meanwhile [`send`](Self::send) fails with [`WouldBlock`](crate::SendError::WouldBlock).
    /// [`Event::AssociationReset`] follows, or [`Event::ReconfigurationRefused`], for example if both sides request it
    /// at once.
    ///
    /// # Errors
    ///
    /// One side lacks the extension, too many requests are pending, or the last such request is less than 30 s ago.
    pub fn reset_association(&mut self, cx: &mut Cx<'_>) -> Result<(), ReconfigurationError> {
        let own = self.reconfig.as_ref().ok_or(ReconfigurationError::Unsupported)?;
        if own.last_reset.is_some_and(|last| cx.now.since(last) < RESET_INTERVAL) {
            return Err(ReconfigurationError::TooSoon);
        }
        self.ask(OwnRequest::ResetAll)?;
        if let Some(own) = &mut self.reconfig {
            own.last_reset = Some(cx.now);
        }
        Ok(())
    }

    fn listed(&self, streams: &[u16], count: u16) -> Result<StreamList, ReconfigurationError> {
        match streams.iter().find(|stream| **stream >= count) {
            Some(&stream) => Err(ReconfigurationError::InvalidStream { stream, count }),
            None => Ok(StreamList::new(streams)),
        }
    }

    fn ask(&mut self, request: OwnRequest) -> Result<(), ReconfigurationError> {
        if !matches!(self.state.phase(), Some(ConnectedPhase::Established)) {
            return Err(ReconfigurationError::NotEstablished);
        }
        let own = self.reconfig.as_mut().ok_or(ReconfigurationError::Unsupported)?;
        if !own.requests.push(request) {
            return Err(ReconfigurationError::Busy);
        }
        self.stir();
        Ok(())
    }

    /// Starts with a peer whose first TSN is `peer_tsn`, if both sides have the extension.
    pub(super) fn settle_reconfiguration(&mut self, extensions: Capabilities, peer_tsn: u32) {
        let has_it = extensions.contains(Capabilities::RE_CONFIG);
        self.reconfig = has_it.then(|| {
            Box::new(Reconfiguration {
                requests: Requests::new(self.identity.initial_tsn),
                answers: Answers::new(peer_tsn),
                last_reset: None,
                renumbers: false,
            })
        });
    }

    /// Whether the stream is being reset: until then, nothing can be sent on it.
    #[inline]
    pub fn is_resetting(&self, stream: u16) -> bool {
        let holds = |own: &Reconfiguration| {
            own.requests.holds(stream) || own.answers.all_deferred().is_some()
        };
        self.reconfig.as_deref().is_some_and(holds)
    }

    /// Whether the peer was requested to reset everything, and has not answered yet.
    pub(super) fn is_resetting_all(&self) -> bool {
        self.reconfig.as_ref().is_some_and(|own| own.requests.is_resetting_all())
    }

    /// Whether the peer may still acknowledge TSNs of before a reset.
    pub(super) fn has_renumbered(&self) -> bool {
        self.reconfig.as_ref().is_some_and(|own| own.renumbers)
    }

    /// When the request in flight is repeated.
    #[inline]
    pub(super) fn reconfiguration_due(&self) -> Option<Instant> {
        self.reconfig.as_ref()?.requests.due()
    }

    /// Sends the next request, once the data that it concerns is acknowledged.
    pub(super) fn send_next_request(&mut self, now: Instant) {
        let Some(own) = &mut self.reconfig else { return };
        let Some(request) = own.requests.next() else { return };
        if !self.state.may_send_data() {
            return;
        }
        let resets_all = *request == OwnRequest::ResetAll;
        let outstanding = &self.transmitter.outstanding;
        let (base, next_tsn) = (outstanding.base(), outstanding.next_tsn());
        if let OwnRequest::ResetOutgoing { streams, .. } = request {
            let waits = self.transmitter.queue.has_any_of(|stream| streams.contains(stream));
            if waits || !own.requests.is_past(base, next_tsn) {
                return;
            }
        }
        if resets_all {
            let is_drained = self.transmitter.queue.is_drained() && outstanding.is_empty();
            if !is_drained || own.answers.is_deferring() {
                return;
            }
            own.renumbers = true;
            if let Some(receiver) = self.state.receiver_mut() {
                receiver.set_aside();
            }
        }
        let path = self.paths.best();
        let timeout = self.transmitter.paths[path].rtt.rto();
        let (last_tsn, peer) = (next_tsn.previous(), own.answers.last_sequence());
        if let Some(parameters) = own.requests.send(now, timeout, path, last_tsn, peer) {
            self.queue_control(Chunk::ReConfig(parameters), To::Path(path));
        }
    }

    /// No response arrived in time (RFC 6525 section 5.1.1).
    pub(super) fn repeat_request(&mut self, cx: &mut Cx<'_>) {
        let path = self.paths.best();
        let longest = self.longest_pause(self.config.policies.rto.max);
        let Some(own) = &mut self.reconfig else { return };
        let Some((parameters, failed)) = own.requests.expire(cx.now, path, longest) else { return };
        if let Some(failed) = failed.filter(|failed| self.paths.get(*failed).is_some()) {
            self.count_path_error(cx, failed);
        }
        if self.state.is_connected() {
            self.queue_control(Chunk::ReConfig(parameters), To::Path(path));
        }
    }

    /// A RE-CONFIG chunk arrived. All its answers go into one.
    pub(super) fn handle_reconfig(
        &mut self,
        cx: &mut Cx<'_>,
        parameters: &Parameters<'_>,
        came_on: PathId,
    ) {
        if !self.state.is_connected() {
            return;
        }
        let mut responses: SmallVec<[(u32, Outcome); 2]> = SmallVec::new();
        // A chunk has two parameters at most (RFC 6525 section 3.1).
        for parameter in parameters.into_iter().take(2) {
            if let Parameter::ReConfigResponse { response_sequence, result, next_tsns } = parameter
            {
                let outcome = Outcome::of_code(result);
                self.handle_response(cx, response_sequence, (outcome, result), next_tsns);
            } else if let Some((sequence, request)) = peer_request(&parameter) {
                let answer = self.answer_to(sequence, request);
                responses.extend(answer.map(|outcome| (sequence, outcome)));
            }
        }
        self.send_responses(&responses, self.answer_path(came_on));
    }

    fn send_responses(&mut self, responses: &[(u32, Outcome)], path: PathId) {
        if responses.is_empty() || self.control.len() >= super::input::MAX_WAITING_ANSWERS {
            return;
        }
        let tsns_of =
            |sequence| self.reconfig.as_ref().and_then(|own| own.answers.tsns_of(sequence));
        let list = responses.iter().map(|(sequence, outcome)| Parameter::ReConfigResponse {
            response_sequence: *sequence,
            result: outcome.code(),
            next_tsns: tsns_of(*sequence).filter(|_| *outcome == Outcome::Performed),
        });
        self.queue_control(Chunk::ReConfig(Parameters::build(list)), To::Path(path));
    }

    /// What a request of the peer is answered.
    fn answer_to(&mut self, sequence: u32, request: PeerRequest) -> Option<Outcome> {
        let own = self.reconfig.as_mut()?;
        match own.answers.turn(sequence) {
            Turn::Wrong => Some(Outcome::BadSequence),
            Turn::Again(outcome) => Some(outcome),
            Turn::Next => {
                // Then the request for its own streams is the answer (RFC 6525 section 5.2.3), if the peer does not ask again
                // before it can go. usrsctp takes "In progress" for a failure.
                let is_followed = matches!(request, PeerRequest::ResetIncoming(_));
                let outcome = self.perform(sequence, request);
                if let Some(own) = &mut self.reconfig {
                    own.answers.keep(outcome);
                }
                let follows = is_followed && outcome == Outcome::InProgress;
                (!follows).then_some(outcome)
            }
        }
    }

    /// Carries out a request of the peer.
    fn perform(&mut self, sequence: u32, request: PeerRequest) -> Outcome {
        let Some(own) = &mut self.reconfig else { return Outcome::Denied };
        match request {
            PeerRequest::ResetOutgoing { last_tsn, streams, answers } => {
                own.requests.on_followed(answers);
                let Some(receiver) = self.state.receiver_mut() else { return Outcome::Denied };
                receiver.request_sack();
                if !streams.exist(self.streams.inbound) {
                    return Outcome::WrongSsn;
                }
                // Earlier messages may be set aside until it is known whether everything was reset, which resets these,
                // too.
                if own.requests.is_resetting_all() {
                    return Outcome::Busy;
                }
                if last_tsn.is_after(receiver.cumulative_tsn()) {
                    if own.answers.is_deferring() {
                        return Outcome::Busy;
                    }
                    own.answers.defer(Deferred { sequence, last_tsn, streams });
                    return Outcome::InProgress;
                }
                self.reset_inbound(&streams);
                Outcome::Performed
            }
            PeerRequest::ResetIncoming(streams) => {
                if !streams.exist(self.streams.outbound) {
                    return Outcome::WrongSsn;
                }
                // The peer answers a reset of all once its own request has ended, which would wait behind that reset here.
                if own.requests.wants_reset_of_all() {
                    return Outcome::Busy;
                }
                // Both sides had the same wish (RFC 6525 section 5.2.3).
                if own.requests.covers(&streams) {
                    return Outcome::NothingToDo;
                }
                let asked = OwnRequest::ResetOutgoing { streams, answers: Some(sequence) };
                match own.requests.push(asked) {
                    true => Outcome::InProgress,
                    false => Outcome::Busy,
                }
            }
            PeerRequest::ResetAll => self.answer_reset_of_all(sequence),
            PeerRequest::AddOutgoing(count) => {
                let total = self.streams.inbound.checked_add(count).filter(|_| count > 0);
                let most = self.config.max_inbound_streams;
                let Some(total) = total.filter(|total| *total <= most) else {
                    return Outcome::Denied;
                };
                self.streams.inbound = total;
                if let Some(receiver) = self.state.receiver_mut() {
                    receiver.set_inbound_streams(total);
                }
                self.report_streams();
                Outcome::Performed
            }
            PeerRequest::AddIncoming(count) => {
                // The limit of streams that the peer may add is that of streams that it may make this side add.
                let total = self.streams.outbound.checked_add(count).filter(|_| count > 0);
                let most = self.config.max_inbound_streams.max(self.config.outbound_streams);
                match total.is_some_and(|total| total <= most)
                    && own.requests.push(OwnRequest::AddOutgoing(count))
                {
                    true => Outcome::Performed,
                    false => Outcome::Denied,
                }
            }
        }
    }

    /// The peer's response to a request of this side (RFC 6525 section 5.2.7).
    fn handle_response(
        &mut self,
        cx: &mut Cx<'_>,
        sequence: u32,
        (outcome, result): (Outcome, u32),
        tsns: Option<NextTsns>,
    ) {
        let Some(own) = &mut self.reconfig else { return };
        let Reaction::Ended(request, outcome) = own.requests.on_response(cx.now, sequence, outcome)
        else {
            return;
        };
        let is_done = match request {
            OwnRequest::ResetAll => outcome == Outcome::Performed && tsns.is_some(),
            _ => matches!(outcome, Outcome::Performed | Outcome::NothingToDo),
        };
        match request {
            OwnRequest::ResetOutgoing { streams, answers } => {
                if let Some(asked) = answers {
                    let told = if is_done { Outcome::Performed } else { Outcome::Denied };
                    own.answers.replace(asked, told);
                }
                if is_done {
                    self.transmitter.queue.reset_streams(streams.listed());
                    self.stats.seldom.outgoing_stream_resets += 1;
                    let streams = streams.listed().into();
                    self.events.push(Event::OutgoingStreamsReset { streams });
                }
                // What was held may be sent.
                self.events.push(Event::Writable);
            }
            OwnRequest::ResetAll => {
                self.finish_reset_of_all(cx, tsns.filter(|_| is_done));
                self.events.push(Event::Writable);
            }
            OwnRequest::AddOutgoing(count) if outcome == Outcome::Performed => {
                self.streams.outbound = self.streams.outbound.saturating_add(count);
                self.report_streams();
            }
            // What the peer does follows in a request of its own.
            OwnRequest::AddOutgoing(_)
            | OwnRequest::AddIncoming(_)
            | OwnRequest::ResetIncoming(_) => {}
        }
        if !is_done {
            self.events.push(Event::ReconfigurationRefused { result });
        }
    }

    /// Whether a reset that the peer wants waits for data.
    #[inline]
    pub(super) fn has_deferred_reset(&self) -> bool {
        self.reconfig.as_ref().is_some_and(|own| own.answers.is_deferring())
    }

    /// A reset of the peer's streams that waited for data is carried out when the data has arrived.
    pub(super) fn settle_deferred_reset(&mut self) {
        // The packet may have ended the association.
        if !self.state.is_connected() {
            return;
        }
        if let Some(sequence) = self.perform_reset_of_all() {
            if let Some(own) = &mut self.reconfig {
                own.answers.replace(sequence, Outcome::Performed);
            }
            self.send_responses(&[(sequence, Outcome::Performed)], self.paths.best());
        }
        let Some(receiver) = self.state.receiver() else { return };
        let cumulative = receiver.cumulative_tsn();
        let Some(own) = &mut self.reconfig else { return };
        let Some(Deferred { sequence, streams, .. }) = own.answers.take_due(cumulative) else {
            return;
        };
        own.answers.replace(sequence, Outcome::Performed);
        self.reset_inbound(&streams);
        self.send_responses(&[(sequence, Outcome::Performed)], self.paths.best());
    }

    fn reset_inbound(&mut self, streams: &StreamList) {
        if let Some(receiver) = self.state.receiver_mut() {
            receiver.reset_streams(streams.listed());
        }
        self.stats.seldom.incoming_stream_resets += 1;
        // A peer that resets all the time must not fill the memory.
        self.events.push_if_few(Event::IncomingStreamsReset { streams: streams.listed().into() });
        // Who has claimed one of them reads to its end.
        self.announce_messages();
    }

    fn report_streams(&mut self) {
        self.events.push(Event::StreamsAdded {
            outbound_streams: self.streams.outbound,
            inbound_streams: self.streams.inbound,
        });
    }
}

fn addable(added: u16, count: u16) -> Result<(), ReconfigurationError> {
    match added > 0 && count.checked_add(added).is_some() {
        true => Ok(()),
        false => Err(ReconfigurationError::InvalidCount { added, count }),
    }
}

/// The request in a parameter, and its number.
fn peer_request(parameter: &Parameter<'_>) -> Option<(u32, PeerRequest)> {
    Some(match parameter {
        Parameter::OutgoingSsnReset { request_sequence, response_sequence, last_tsn, streams } => {
            let (last_tsn, streams) = (Tsn(*last_tsn), StreamList::of(streams));
            let answers = *response_sequence;
            (*request_sequence, PeerRequest::ResetOutgoing { last_tsn, streams, answers })
        }
        Parameter::IncomingSsnReset { request_sequence, streams } => {
            (*request_sequence, PeerRequest::ResetIncoming(StreamList::of(streams)))
        }
        Parameter::SsnTsnReset { request_sequence } => (*request_sequence, PeerRequest::ResetAll),
        Parameter::AddOutgoingStreams { request_sequence, new_streams } => {
            (*request_sequence, PeerRequest::AddOutgoing(*new_streams))
        }
        Parameter::AddIncomingStreams { request_sequence, new_streams } => {
            (*request_sequence, PeerRequest::AddIncoming(*new_streams))
        }
        _ => return None,
    })
}
