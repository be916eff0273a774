//! Input: one packet, chunk by chunk.

use alloc::string::ToString;

use bytes::Bytes;
use polypath_wire::{Abort, Cause, Causes};
use polypath_wire::{ChecksumPolicy, Chunk, PacketView, UnknownAction, chunk_type};

use super::Association;
use super::asconf::reject_asconf;
use super::auth::Admission;
use super::newcomers::Stranger;
use super::observe;
use super::output::To;
use super::state::ConnectedPhase;
use crate::config::{ChunkTypes, ErrorDetection};
use crate::extension::auth::{Covered, Trust};
use crate::extension::packet_drop::flags;
use crate::extension::packet_drop::report::Why;
use crate::paths::newcomers::Location;
use crate::receive::{DataError, DataOutcome, Receiver};
use crate::transmit::AckOutcome;
use crate::transmit::sack::SackProblem;
use crate::types::Capabilities;
use crate::{
    AssociationEnd, Body, Cx, Duration, Ecn, Encapsulation, Event, PathId, ProbeEvent, Received,
    Tsn,
};

/// Answers to HEARTBEAT, and others, that may wait at a time; a flood of requests gets no more.
pub(super) const MAX_WAITING_ANSWERS: usize = 32;

/// Whether the rest of the packet is processed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Flow {
    Continue,
    Stop,
    /// This chunk must not be believed, nor what follows it.
    Refuse,
}

/// What is known of the packet being processed.
#[derive(Clone, Copy)]
pub(super) struct ArrivedPacket<'a> {
    pub(super) path: PathId,
    /// Borrowed: few chunks need their source.
    received: &'a Received<'a>,
    /// The source, if that is not the destination of the path.
    pub(super) stranger: Option<Stranger>,
    position: usize,
    tag: u32,
}

impl ArrivedPacket<'_> {
    /// The addresses between which it was sent, and its encapsulation.
    pub(super) fn place(&self) -> Location {
        let Received { local, remote, encapsulation, .. } = *self.received;
        Location { local, remote, encapsulation }
    }
}

impl Association {
    pub(super) fn handle_packet(&mut self, cx: &mut Cx<'_>, received: &Received<'_>, trust: Trust) {
        let Received { local, remote, encapsulation, .. } = received;
        let known = self.paths.find_place(local, remote, *encapsulation);
        let Some(path) = known.or_else(|| self.path_of(received)) else {
            self.stats.seldom.packets_discarded += 1;
            return;
        };
        observe::packet_received(cx, path, received);
        // On a path of its own, nearly always, a packet is no stranger's.
        let stranger = if known.is_some() { None } else { self.stranger(cx, received, path) };
        if let Some(Stranger::Unproved | Stranger::Adds) = stranger {
            return self.handle_foreign_packet(cx, received, trust, path, stranger);
        }
        if let Some(receiver) = self.state.receiver_mut() {
            receiver.begin_packet(path);
        }
        self.transmitter.begin_packet();
        let arrival = ArrivedPacket { path, received, stranger, position: 0, tag: 0 };
        let is_accepted = match trust {
            Trust::Unguarded => self.handle_chunks(cx, received, arrival, ChunkTypes::EMPTY),
            Trust::Unproved => self.handle_chunks(cx, received, arrival, self.guarded_chunks()),
            _ => self.handle_guarded_chunks(cx, received, arrival, trust),
        };
        if !is_accepted {
            return;
        }
        if received.ecn != Ecn::NotEct {
            self.note_codepoint(received, path);
        }
        self.transmitter.end_packet();
        self.stats.packets_received += 1;
        if self.config.error_detection != ErrorDetection::Crc32c
            && received.body.has_zero_checksum()
        {
            self.stats.seldom.zero_checksums_received += 1;
        }
        if let Some(path) = self.paths.get_mut(path) {
            path.counters.packets_received += 1;
            path.denied_since = None;
        }
        self.heard_over(cx, path);
        self.reports_allowed.refill();
        if self.state.receiver().is_some_and(Receiver::refuses_packet) {
            self.report_packet(received, Why::Refused);
        }
        self.end_packet(cx, path);
    }

    /// A packet from an address that is not the peer's: at most an ASCONF adds it (RFC 5061 section 5.3.2), and nothing else in it
    /// counts.
    #[cold]
    fn handle_foreign_packet(
        &mut self,
        cx: &mut Cx<'_>,
        received: &Received<'_>,
        trust: Trust,
        path: PathId,
        stranger: Option<Stranger>,
    ) {
        let arrival = ArrivedPacket { path, received, stranger, position: 0, tag: 0 };
        let adds = stranger == Some(Stranger::Adds);
        if adds && self.handle_guarded_chunks(cx, received, arrival, trust) {
            self.stats.packets_received += 1;
        } else if !adds {
            self.stats.seldom.packets_discarded += 1;
        }
    }

    /// Handles the chunks of a packet up to one that is rejected, or to one that is `guarded`, from which `handle_guarded_chunks` goes on.
    /// Returns whether the packet counts as received: not if that was the first.
    // Part of its caller: nearly every packet comes by here.
    #[inline(always)]
    fn handle_chunks(
        &mut self,
        cx: &mut Cx<'_>,
        received: &Received<'_>,
        mut arrival: ArrivedPacket<'_>,
        guarded: ChunkTypes,
    ) -> bool {
        match &received.body {
            Body::Datagram(bytes) | Body::Part { datagram: bytes, .. } => {
                let memory = match &received.body {
                    Body::Part { of, .. } => Some(*of),
                    _ => None,
                };
                // The endpoint has verified the checksum.
                let Ok(view) = PacketView::parse(bytes, ChecksumPolicy::Ignore) else {
                    return self.refuse(&arrival);
                };
                arrival.tag = view.verification_tag();
                for chunk in view.chunks() {
                    let Ok(mut chunk) = chunk else { return self.refuse(&arrival) };
                    if guarded.contains(chunk.chunk_type()) {
                        return self.handle_guarded_chunks(cx, received, arrival, Trust::Unproved);
                    }
                    if let Some(memory) = memory {
                        share_payload(&mut chunk, memory);
                    }
                    match self.handle_chunk(cx, &chunk, &arrival) {
                        Flow::Continue => arrival.position += 1,
                        Flow::Stop => break,
                        Flow::Refuse => return self.refuse(&arrival),
                    }
                }
            }
            Body::Structured(packet) => {
                arrival.tag = packet.verification_tag;
                for chunk in packet.chunks.iter() {
                    if guarded.contains(chunk.chunk_type()) {
                        return self.handle_guarded_chunks(cx, received, arrival, Trust::Unproved);
                    }
                    match self.handle_chunk(cx, chunk, &arrival) {
                        Flow::Continue => arrival.position += 1,
                        Flow::Stop => break,
                        Flow::Refuse => return self.refuse(&arrival),
                    }
                }
            }
            // The endpoint hands none over.
            Body::Damaged { .. } => return self.refuse(&arrival),
        }
        true
    }

    /// The same from the chunk at this position on where chunks may have to be authenticated. A packet of which no chunk was, does not
    /// count.
    #[inline(never)]
    fn handle_guarded_chunks(
        &mut self,
        cx: &mut Cx<'_>,
        received: &Received<'_>,
        mut arrival: ArrivedPacket<'_>,
        mut trust: Trust,
    ) -> bool {
        let mut denied = false;
        match &received.body {
            Body::Datagram(bytes) | Body::Part { datagram: bytes, .. } => {
                let Ok(view) = PacketView::parse(bytes, ChecksumPolicy::Ignore) else {
                    return self.refuse(&arrival);
                };
                arrival.tag = view.verification_tag();
                let mut chunks = view.chunks();
                // They were handled before.
                for _ in 0..arrival.position {
                    chunks.next();
                }
                let mut start = chunks.offset();
                while let Some(chunk) = chunks.next() {
                    let Ok(mut chunk) = chunk else { return self.refuse(&arrival) };
                    let covered = Covered::Bytes(bytes.get(start..).unwrap_or_default());
                    start = chunks.offset();
                    if let Body::Part { of, .. } = &received.body {
                        share_payload(&mut chunk, of);
                    }
                    match self.handle_if_admitted(cx, &chunk, covered, &mut trust, &arrival) {
                        (Admission::Denied, _) => denied = true,
                        (Admission::Proof, _) => {}
                        (Admission::Granted, Flow::Continue) => arrival.position += 1,
                        (Admission::Granted, Flow::Stop) => break,
                        _ => return self.refuse(&arrival),
                    }
                }
            }
            Body::Structured(packet) => {
                arrival.tag = packet.verification_tag;
                for (index, chunk) in packet.chunks.iter().enumerate().skip(arrival.position) {
                    let covered = Covered::Chunks(&packet.chunks[index + 1..]);
                    match self.handle_if_admitted(cx, chunk, covered, &mut trust, &arrival) {
                        (Admission::Denied, _) => denied = true,
                        (Admission::Proof, _) => {}
                        (Admission::Granted, Flow::Continue) => arrival.position += 1,
                        (Admission::Granted, Flow::Stop) => break,
                        _ => return self.refuse(&arrival),
                    }
                }
            }
            Body::Damaged { .. } => return self.refuse(&arrival),
        }
        if denied && arrival.position == 0 { self.refuse(&arrival) } else { true }
    }

    #[inline]
    fn handle_if_admitted(
        &mut self,
        cx: &mut Cx<'_>,
        chunk: &Chunk<'_>,
        covered: Covered<'_>,
        trust: &mut Trust,
        arrival: &ArrivedPacket<'_>,
    ) -> (Admission, Flow) {
        let admission = self.admit(chunk, covered, trust, arrival.path);
        let is_ignored =
            arrival.stranger == Some(Stranger::Adds) && !matches!(chunk, Chunk::Asconf(_));
        let flow = match admission {
            Admission::Granted if is_ignored => Flow::Continue,
            Admission::Granted => self.handle_chunk(cx, chunk, arrival),
            Admission::Denied => {
                self.note_denied(cx, chunk, arrival);
                Flow::Continue
            }
            Admission::Proof | Admission::Broken => Flow::Continue,
        };
        (admission, flow)
    }

    /// A chunk was discarded since nothing proves that it is the peer's.
    #[cold]
    fn note_denied(&mut self, cx: &mut Cx<'_>, chunk: &Chunk<'_>, arrival: &ArrivedPacket<'_>) {
        let is_disowning = matches!(chunk, Chunk::Abort(abort) if abort.reflected_tag)
            && self.reflects_peer_tag(arrival);
        let Location { local, remote, encapsulation } = arrival.place();
        if is_disowning && self.paths.find_place(&local, &remote, encapsulation).is_some() {
            self.disowned(cx, arrival.path);
        }
    }

    /// The chunk at this position and those after it are rejected. Returns whether any before it was accepted.
    fn refuse(&mut self, at: &ArrivedPacket<'_>) -> bool {
        self.stats.seldom.packets_discarded += 1;
        at.position > 0
    }

    /// The path of a packet that came over none with all of its addresses and ports. A packet from an address without a path
    /// (its source was rewritten in the network, or the peer used another of its addresses) counts for the primary path.
    #[cold]
    fn path_of(&self, received: &Received<'_>) -> Option<PathId> {
        self.paths
            .find(received.local, received.remote)
            .or_else(|| (self.paths.len() > 0).then_some(self.paths.primary))
    }

    fn end_packet(&mut self, cx: &mut Cx<'_>, path: PathId) {
        let shutdown_sent = matches!(self.state.phase(), Some(ConnectedPhase::ShutdownSent(_)));
        if shutdown_sent {
            // RFC 9260 section 9.2: a peer that still sends data exists.
            self.peer_answered(cx.now);
        }
        let Some(receiver) = self.state.receiver_mut() else { return };
        receiver.simulate_reneging(cx.rng);
        let delay = self.tuning.used().and_then(|own| own.path_delay(path, &self.config));
        receiver.end_packet(cx.now, path, delay);
        if receiver.adapts_buffer() {
            receiver.adapt_buffer(cx.now, self.transmitter.paths.times(&self.paths));
        }
        if shutdown_sent && receiver.sack_is_pending() {
            // RFC 9260 section 9.2: DATA in SHUTDOWN-SENT is answered at once with a SACK and another SHUTDOWN.
            receiver.request_sack();
            self.send_shutdown(cx, self.answer_path(path));
        }
        self.announce_messages();
        if self.has_deferred_reset() {
            self.settle_deferred_reset();
        }
        self.report_aborted_deliveries();
    }

    /// One arm per chunk type, one call per arm.
    fn handle_chunk(
        &mut self,
        cx: &mut Cx<'_>,
        chunk: &Chunk<'_>,
        arrival: &ArrivedPacket<'_>,
    ) -> Flow {
        if !self.tag_is_right(chunk, arrival) || self.state.is_closed() {
            return Flow::Refuse;
        }
        match chunk {
            Chunk::Data(data) => return self.handle_data(cx, data, arrival.path),
            Chunk::Sack(sack) if self.state.may_send_data() => {
                let (transmitter, mut send_cx) = self.sending(cx);
                let acked = transmitter.on_sack(&mut send_cx, sack, arrival.path);
                self.acknowledged(cx, acked);
            }
            // Accepted even without negotiation; its meaning is clear.
            Chunk::NrSack(nr_sack) if self.state.may_send_data() => {
                let (transmitter, mut send_cx) = self.sending(cx);
                let acked = transmitter.on_nr_sack(&mut send_cx, nr_sack, arrival.path);
                self.acknowledged(cx, acked);
            }
            Chunk::InitAck(init) => {
                // It travels alone (RFC 9260 section 6.10), and the paths are others afterwards.
                if arrival.position == 0 {
                    self.handle_init_ack(cx, init, arrival.path);
                }
                return Flow::Stop;
            }
            Chunk::CookieAck => self.handle_cookie_ack(cx),
            Chunk::Heartbeat(info)
                if self.state.answers_heartbeats() && self.control.len() < MAX_WAITING_ANSWERS =>
            {
                self.handle_heartbeat(cx, info, arrival);
            }
            Chunk::HeartbeatAck(info) if self.state.is_connected() => {
                self.handle_heartbeat_ack(cx, info, arrival.place())
            }
            Chunk::Abort(_) if self.is_being_deleted(arrival.place().local) => {}
            Chunk::Abort(abort) => self.handle_abort(cx, abort, arrival.path),
            Chunk::Error(causes) => self.handle_error(cx, causes),
            Chunk::Shutdown { cumulative_tsn_ack } => {
                self.handle_shutdown(cx, Tsn(*cumulative_tsn_ack), arrival.path)
            }
            Chunk::ShutdownAck => self.handle_shutdown_ack(cx, arrival.path),
            Chunk::ShutdownComplete { .. } => self.handle_shutdown_complete(cx),
            Chunk::PacketDrop(report) if self.state.has_agreed_on(Capabilities::PACKET_DROP) => {
                self.handle_packet_drop(cx, report, arrival.path);
            }
            Chunk::Ecne(echo) => self.handle_ecn_echo(cx, echo),
            Chunk::Cwr(cwr) => self.handle_cwr(cwr, arrival.path),
            Chunk::ReConfig(parameters) if self.reconfig.is_some() => {
                self.handle_reconfig(cx, parameters, arrival.path);
            }
            Chunk::Asconf(chunk) if self.address_changes.is_some() => {
                self.handle_asconf(cx, chunk, arrival);
            }
            Chunk::AsconfAck(chunk) if self.address_changes.is_some() => {
                self.handle_asconf_ack(cx, chunk);
            }
            Chunk::ForwardTsn(forward) => return self.handle_forward_tsn(cx, forward),
            Chunk::IData(data) => return self.handle_i_data(cx, chunk, data, arrival.path),
            Chunk::IForwardTsn(forward) => {
                return self.handle_i_forward_tsn(cx, chunk, forward, arrival.path);
            }
            Chunk::Unknown(_)
            | Chunk::Auth(_)
            | Chunk::Asconf(_)
            | Chunk::AsconfAck(_)
            | Chunk::ReConfig(_) => return self.handle_unsupported(chunk, arrival.path),
            // INIT and COOKIE ECHO concern the endpoint, which resolves collisions. PAD has no content. The rest was
            // not negotiated, or arrives in a state in which it has no meaning.
            _ => {}
        }
        Flow::Continue
    }

    /// RFC 9260 section 8.5.1.
    fn tag_is_right(&self, chunk: &Chunk<'_>, arrival: &ArrivedPacket<'_>) -> bool {
        let own = arrival.tag == self.identity.local_tag;
        match chunk {
            Chunk::Abort(abort) if abort.reflected_tag => self.reflects_peer_tag(arrival),
            Chunk::ShutdownComplete { reflected_tag: true } => self.reflects_peer_tag(arrival),
            Chunk::Init(_) => arrival.tag == 0,
            // A middlebox need not know the tag of the direction that it reports to.
            Chunk::PacketDrop(report) if report.flags & flags::MIDDLEBOX != 0 => {
                own || self.reflects_peer_tag(arrival)
            }
            _ => own,
        }
    }

    fn reflects_peer_tag(&self, arrival: &ArrivedPacket<'_>) -> bool {
        self.state.peer_tag() == Some(arrival.tag)
    }

    #[inline(always)]
    fn handle_data(
        &mut self,
        cx: &mut Cx<'_>,
        data: &polypath_wire::Data<'_>,
        path: PathId,
    ) -> Flow {
        let Some(receiver) = self.receiver_of_data() else { return Flow::Continue };
        let outcome = receiver.on_data(data);
        self.conclude_user_data(cx, (data.tsn, data.payload.len()), path, outcome)
    }

    /// What takes in user data that has just arrived, in the states in which it is accepted.
    #[inline]
    pub(super) fn receiver_of_data(&mut self) -> Option<&mut Receiver> {
        if !self.state.accepts_data() {
            return None;
        }
        self.transmitter.peer.sends_data = true;
        self.state.receiver_mut()
    }

    /// User data arrived in a chunk with this TSN and this many bytes, and the receiver has processed it.
    #[inline(always)]
    pub(super) fn conclude_user_data(
        &mut self,
        cx: &mut Cx<'_>,
        (tsn, bytes): (u32, usize),
        path: PathId,
        outcome: Result<DataOutcome, DataError>,
    ) -> Flow {
        match outcome {
            Ok(DataOutcome::New) => {
                let path_state = &mut self.paths[path];
                path_state.counters.data_bytes_received += bytes as u64;
                if path_state.encapsulation != Encapsulation::None {
                    path_state.heartbeat.heard_data(cx.now);
                }
                cx.probe.on(cx.now, ProbeEvent::ChunkReceived { path, tsn: Tsn(tsn) });
            }
            Ok(DataOutcome::Duplicate | DataOutcome::Refused) => {}
            Err(DataError::NoUserData { tsn }) => {
                self.abort_with(cx, Cause::NoUserData { tsn });
                return Flow::Stop;
            }
            Err(DataError::InvalidStream { stream }) => {
                let causes = Causes::build([Cause::InvalidStream { stream }]);
                if self.control.len() < MAX_WAITING_ANSWERS {
                    self.queue_control(Chunk::Error(causes), To::Path(path));
                }
            }
            Err(DataError::Violation(violation)) => {
                self.abort_with(cx, Cause::ProtocolViolation(violation.to_string().as_bytes()));
                return Flow::Stop;
            }
            Err(DataError::MessageTooLarge { .. }) => {
                self.abort_with(cx, Cause::OutOfResource);
                return Flow::Stop;
            }
        }
        Flow::Continue
    }

    /// What became of an acknowledgement.
    fn acknowledged(&mut self, cx: &mut Cx<'_>, acked: AckOutcome) {
        match acked {
            AckOutcome::Applied => self.apply_effects(cx),
            AckOutcome::Stale => {}
            // It may date from before the reset of the TSNs.
            AckOutcome::Refused(SackProblem::AcknowledgesUnsent(_)) if self.has_renumbered() => {
                self.stats.seldom.packets_discarded += 1;
            }
            AckOutcome::Refused(SackProblem::AcknowledgesUnsent(_)) => {
                let reason = b"SACK acknowledges a TSN that was not sent";
                self.abort_with(cx, Cause::ProtocolViolation(reason));
            }
            // It says nothing that can be relied on.
            AckOutcome::Refused(SackProblem::MalformedBlock) => {
                self.stats.seldom.packets_discarded += 1
            }
        }
    }

    fn handle_abort(&mut self, cx: &mut Cx<'_>, abort: &Abort<'_>, came_on: PathId) {
        if self.survives_abort(cx.now, &abort.causes, came_on) {
            return;
        }
        // A peer that has completed the shutdown answers what still arrives from a slower path with an ABORT that
        // reflects the tag; it may arrive before the SHUTDOWN COMPLETE. Nothing is outstanding then on either side.
        let completed = abort.reflected_tag
            && matches!(self.state.phase(), Some(ConnectedPhase::ShutdownAckSent(_)));
        let end = match completed {
            true => AssociationEnd::ShutdownComplete,
            false => AssociationEnd::AbortedByPeer(abort.causes.as_slice().into()),
        };
        self.end(cx, end);
    }

    fn handle_error(&mut self, cx: &mut Cx<'_>, causes: &Causes<'_>) {
        let staleness = causes.iter().find_map(|cause| match cause {
            Cause::StaleCookie { staleness_us } => Some(Duration::from_micros(staleness_us.into())),
            _ => None,
        });
        if let (Some(_), Some(staleness)) = (self.state.echoed(), staleness) {
            return self.handle_stale_cookie(cx, staleness);
        }
        if causes.iter().any(rejects_forward_tsn) && self.state.may_send_data() {
            self.forward_tsn_rejected(cx);
        }
        if self.address_changes.is_some() && reject_asconf(causes) {
            self.asconf_rejected(cx);
        }
        self.events.push_if_few(Event::RemoteError(causes.as_slice().into()));
    }

    /// The peer has offered FORWARD-TSN and does not support the chunk: data that it would have skipped is sent, if
    /// still available.
    #[cold]
    fn forward_tsn_rejected(&mut self, cx: &mut Cx<'_>) {
        let (transmitter, mut send_cx) = self.sending(cx);
        let withdrawn = transmitter.withdraw_partial_reliability(&mut send_cx);
        self.apply_effects(cx);
        if withdrawn.is_err() {
            let reason = b"FORWARD-TSN was offered and is rejected";
            self.abort_with(cx, Cause::ProtocolViolation(reason));
        }
    }

    fn handle_shutdown(&mut self, cx: &mut Cx<'_>, cumulative: Tsn, came_on: PathId) {
        if !self.state.is_connected() {
            return;
        }
        if self.state.may_send_data() {
            let (transmitter, mut send_cx) = self.sending(cx);
            let acked = transmitter.on_shutdown(&mut send_cx, cumulative, came_on);
            // NOTE(deviation): sctp-proto and rtc-sctp put their own TSN there. It acknowledges nothing then; SACKs do.
            if !matches!(acked, AckOutcome::Refused(_)) {
                self.acknowledged(cx, acked);
            }
        }
        self.peer_wants_shutdown(cx, came_on);
    }

    /// A chunk of a type that is unknown, or of an extension that this side does not have.
    pub(super) fn handle_unsupported(&mut self, chunk: &Chunk<'_>, path: PathId) -> Flow {
        let action = UnknownAction::of_chunk(chunk.chunk_type());
        if action.reports() && self.state.is_connected() && self.control.len() < MAX_WAITING_ANSWERS
        {
            self.report_unsupported(chunk, path);
        }
        if action.continues() { Flow::Continue } else { Flow::Stop }
    }

    /// Reports a chunk, cut to what fits a packet (RFC 9260 section 3.3.10.6).
    fn report_unsupported(&mut self, chunk: &Chunk<'_>, path: PathId) {
        let mut bytes = alloc::vec![0; chunk.padded_len()];
        if chunk.encode_into(&mut bytes).is_err() {
            return;
        }
        let space = self.transmitter.paths[path].packet_capacity() as usize - 12 - 8;
        bytes.truncate(chunk.encoded_len().min(space & !3));
        let causes = Causes::build([Cause::UnrecognizedChunk(&bytes)]);
        self.queue_control(Chunk::Error(causes), To::Path(path));
    }
}

/// Keeps the user data of a chunk by sharing the memory of its datagram.
#[inline(always)]
fn share_payload(chunk: &mut Chunk<'_>, memory: &Bytes) {
    if let Chunk::Data(polypath_wire::Data { payload, .. })
    | Chunk::IData(polypath_wire::IData { payload, .. }) = chunk
    {
        *payload = core::mem::take(payload).shared_with(memory);
    }
}

/// Whether a cause says that FORWARD-TSN or I-FORWARD-TSN is a chunk which the peer does not know.
fn rejects_forward_tsn(cause: Cause<'_>) -> bool {
    let forwards = [chunk_type::FORWARD_TSN, chunk_type::I_FORWARD_TSN];
    matches!(cause, Cause::UnrecognizedChunk([first, ..]) if forwards.contains(first))
}
