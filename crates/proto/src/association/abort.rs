//! Ending an association without ceremony (RFC 9260 section 9.1).

use polypath_wire::{Abort, Cause, Causes, Chunk};

use super::Association;
use super::output::{Control, Tag, To};
use super::state::State;
use crate::{AssociationEnd, Cx, Event, Notice};

impl Association {
    /// Aborts because of something the peer did.
    pub(super) fn abort_with(&mut self, cx: &mut Cx<'_>, cause: Cause<'_>) {
        let causes = Causes::build([cause]);
        let end = AssociationEnd::ProtocolViolation(causes.as_slice().into());
        self.end_with(cx, self.abort_chunk(causes), end);
    }

    /// Aborts because the user wants it.
    pub(super) fn abort_by_user(&mut self, cx: &mut Cx<'_>, reason: &[u8]) {
        if self.state.is_closed() {
            return;
        }
        // The cause must fit one packet together with the headers.
        let space = self
            .transmitter
            .paths
            .iter()
            .map(|path| path.packet_capacity() as usize - 12 - 8)
            .min()
            .unwrap_or(0);
        let reason = &reason[..reason.len().min(space)];
        let abort = self.abort_chunk(Causes::build([Cause::UserInitiatedAbort(reason)]));
        self.end_with(cx, abort, AssociationEnd::Aborted);
    }

    /// The INIT ACK cannot be accepted. The ABORT carries the tag that it announced.
    pub(super) fn refuse_init_ack(&mut self, cx: &mut Cx<'_>, tag: u32, causes: Causes<'static>) {
        let end = AssociationEnd::HandshakeRefused(causes.as_slice().into());
        let abort = Chunk::Abort(Abort { reflected_tag: false, causes });
        let abort = Control { chunk: abort, to: To::Best, tag: Tag::Announced(tag) };
        // Without a tag there is no peer to answer (RFC 9260 section 3.3.3).
        self.end_with(cx, (tag != 0).then_some(abort), end);
    }

    /// T5-shutdown-guard expired (RFC 9260 section 9.2). The ABORT tells the peer, which may still exist.
    pub(super) fn give_up_shutdown(&mut self, cx: &mut Cx<'_>) {
        let causes = Causes::build([Cause::ProtocolViolation(b"shutdown took too long")]);
        self.end_with(cx, self.abort_chunk(causes), AssociationEnd::ShutdownTimeout);
    }

    /// The peer does not answer. An ABORT is sent in case that it still receives.
    pub(super) fn fail(&mut self, cx: &mut Cx<'_>, end: AssociationEnd) {
        self.end_with(cx, self.abort_chunk(Causes::empty()), end);
    }

    /// An ABORT, if the peer's tag is known.
    fn abort_chunk(&self, causes: Causes<'static>) -> Option<Control> {
        let abort = Chunk::Abort(Abort { reflected_tag: false, causes });
        self.state.peer().map(|_| Control::to_peer(abort, To::Best))
    }

    /// Ends the association without a word: the peer has ended it, or is not there.
    pub(super) fn end(&mut self, cx: &mut Cx<'_>, end: AssociationEnd) {
        self.end_with(cx, None, end);
    }

    /// Ends the association. Of what waits to be sent only `last_words` still go out.
    pub(super) fn end_with(
        &mut self,
        cx: &mut Cx<'_>,
        last_words: Option<Control>,
        end: AssociationEnd,
    ) {
        if self.state.is_closed() {
            return;
        }
        self.state = State::Closed(self.state.take_peer());
        self.control.clear();
        self.control.extend(last_words);
        self.report_undelivered();
        self.transmitter.paths.iter_mut().for_each(|path| path.t3 = None);
        self.paths.iter_mut().for_each(|path| path.heartbeat.due = None);
        self.finish_receiving();
        self.announce_messages();
        self.report_end(cx, &end);
        self.events.push(Event::Ended(end));
        self.notices.push_back(Notice::Closed);
    }

    pub(super) fn report_undelivered(&mut self) {
        for event in self.transmitter.take_undelivered() {
            self.events.push(event);
        }
    }
}
