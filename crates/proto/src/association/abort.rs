//! Ending an association without ceremony (RFC 9260 section 9.1).

use polypath_wire::{Abort, Cause, Causes, Chunk};

use super::Association;
use super::output::To;
use super::state::State;
use crate::send::window::Fate;
use crate::{AssociationEnd, Cx, Event, Notice};

impl Association {
    /// Aborts because of something the peer did.
    pub(super) fn abort_with(&mut self, _cx: &mut Cx<'_>, cause: Cause<'_>) {
        let causes = Causes::build([cause]);
        let end = AssociationEnd::ProtocolViolation(causes.as_slice().into());
        self.send_abort(causes);
        self.end(end);
    }

    /// Aborts because the user wants it.
    pub(super) fn abort_by_user(&mut self, reason: &[u8]) {
        if matches!(self.state, State::Closed) {
            return;
        }
        // The cause must fit one packet together with the headers.
        let room = self
            .paths
            .iter()
            .map(|path| path.packet_capacity() as usize - 12 - 8)
            .min()
            .unwrap_or(0);
        let reason = &reason[..reason.len().min(room)];
        self.send_abort(Causes::build([Cause::UserInitiatedAbort(reason)]));
        self.end(AssociationEnd::Aborted);
    }

    /// The INIT ACK cannot be accepted. The ABORT carries the tag that it announced.
    pub(super) fn refuse_init_ack(&mut self, tag: u32, causes: Causes<'static>) {
        let end = AssociationEnd::HandshakeRefused(causes.as_slice().into());
        self.peer_tag = tag;
        self.send_abort(causes);
        self.end(end);
    }

    /// Gives up: the peer does not answer. It is told, in case it still listens.
    pub(super) fn fail(&mut self, _cx: &mut Cx<'_>, end: AssociationEnd) {
        self.send_abort(Causes::empty());
        self.end(end);
    }

    fn send_abort(&mut self, causes: Causes<'static>) {
        self.control.clear();
        if self.peer_tag != 0 {
            self.queue_control(Chunk::Abort(Abort { reflected_tag: false, causes }), To::Best);
        }
    }

    /// Ends the association; packets already queued are still polled.
    pub(super) fn end(&mut self, end: AssociationEnd) {
        if matches!(self.state, State::Closed) {
            return;
        }
        self.state = State::Closed;
        self.shutdown_guard = None;
        self.report_undelivered();
        for path in self.paths.iter_mut() {
            path.t3 = None;
            path.heartbeat.due = None;
        }
        self.announce_messages();
        self.events.push(Event::Ended(end));
        self.notices.push_back(Notice::Closed);
    }

    pub(super) fn report_undelivered(&mut self) {
        let Self { sender, events, .. } = self;
        let window = &sender.window;
        let mut tsn = window.base();
        let mut unacked = false;
        while tsn != window.next_tsn() {
            let chunk = window.get(tsn);
            unacked |= !chunk.is_acked() && chunk.fate != Fate::Abandoned;
            if chunk.flags.contains(polypath_wire::DataFlags::END) {
                if unacked {
                    let (stream, context) = (chunk.stream, chunk.context);
                    events.push(Event::SendFailed { stream, context, transmitted: true });
                }
                unacked = false;
            }
            tsn = tsn.next();
        }
        for (stream, context, transmitted) in sender.queue.drain_unsent() {
            events.push(Event::SendFailed { stream, context, transmitted });
        }
    }
}
