//! Ending an association without ceremony (RFC 9260 section 9.1).

use polypath_wire::{Abort, Cause, Causes, Chunk};

use super::Association;
use super::output::To;
use super::state::State;
use crate::{AssociationEnd, Cx, Event, Notice};

impl Association {
    /// Aborts because of something the peer did.
    pub(super) fn abort_with(&mut self, _cx: &mut Cx<'_>, cause: Cause<'_>) {
        let causes = Causes::build([cause]);
        let end = AssociationEnd::ProtocolViolation(causes.as_slice().into());
        self.end_with(self.abort_chunk(causes), end);
    }

    /// Aborts because the user wants it.
    pub(super) fn abort_by_user(&mut self, reason: &[u8]) {
        if matches!(self.state, State::Closed) {
            return;
        }
        // The cause must fit one packet together with the headers.
        let room = self
            .transmitter
            .paths
            .iter()
            .map(|path| path.packet_capacity() as usize - 12 - 8)
            .min()
            .unwrap_or(0);
        let reason = &reason[..reason.len().min(room)];
        let abort = self.abort_chunk(Causes::build([Cause::UserInitiatedAbort(reason)]));
        self.end_with(abort, AssociationEnd::Aborted);
    }

    /// The INIT ACK cannot be accepted. The ABORT carries the tag that it announced.
    pub(super) fn refuse_init_ack(&mut self, tag: u32, causes: Causes<'static>) {
        let end = AssociationEnd::HandshakeRefused(causes.as_slice().into());
        self.peer_tag = tag;
        self.end_with(self.abort_chunk(causes), end);
    }

    /// T5-shutdown-guard expired (RFC 9260 section 9.2). The peer is told why, since it may still be there.
    pub(super) fn give_up_shutdown(&mut self) {
        let causes = Causes::build([Cause::ProtocolViolation(b"shutdown took too long")]);
        self.end_with(self.abort_chunk(causes), AssociationEnd::ShutdownTimeout);
    }

    /// Gives up: the peer does not answer. It is told, in case it still listens.
    pub(super) fn fail(&mut self, _cx: &mut Cx<'_>, end: AssociationEnd) {
        self.end_with(self.abort_chunk(Causes::empty()), end);
    }

    /// An ABORT, if the peer has told its tag.
    fn abort_chunk(&self, causes: Causes<'static>) -> Option<(Chunk<'static>, To)> {
        let abort = Chunk::Abort(Abort { reflected_tag: false, causes });
        (self.peer_tag != 0).then_some((abort, To::Best))
    }

    /// Ends the association without a word: the peer has ended it, or is not there.
    pub(super) fn end(&mut self, end: AssociationEnd) {
        self.end_with(None, end);
    }

    /// Ends the association. Of what waits to be sent only `last_words` still go out.
    pub(super) fn end_with(
        &mut self,
        last_words: Option<(Chunk<'static>, To)>,
        end: AssociationEnd,
    ) {
        if matches!(self.state, State::Closed) {
            return;
        }
        self.state = State::Closed;
        self.control.clear();
        if let Some((chunk, to)) = last_words {
            self.queue_control(chunk, to);
        }
        self.shutdown_guard = None;
        self.report_undelivered();
        self.transmitter.paths.iter_mut().for_each(|path| path.t3 = None);
        self.paths.iter_mut().for_each(|path| path.heartbeat.due = None);
        self.announce_messages();
        self.events.push(Event::Ended(end));
        self.notices.push_back(Notice::Closed);
    }

    pub(super) fn report_undelivered(&mut self) {
        for event in self.transmitter.take_undelivered() {
            self.events.push(event);
        }
    }
}
