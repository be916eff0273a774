//! Graceful shutdown (RFC 9260 section 9.2).

use polypath_wire::Chunk;

use super::Association;
use super::output::To;
use super::state::{Closing, State};
use crate::{AssociationEnd, Cx, Event, PathId};

impl Association {
    /// The user asked for shutdown.
    pub(super) fn begin_shutdown(&mut self, cx: &mut Cx<'_>) {
        match self.state {
            State::CookieWait(_) | State::CookieEchoed { .. } => self.shutdown_wanted = true,
            State::Established => {
                self.state = State::ShutdownPending;
                self.start_shutdown_guard(cx);
            }
            _ => {}
        }
    }

    fn start_shutdown_guard(&mut self, cx: &mut Cx<'_>) {
        if self.config.shutdown_guard.is_some() {
            self.shutdown_guard = self.config.shutdown_guard.map(|guard| cx.now + guard);
        }
    }

    /// Sends SHUTDOWN, for the first time or again.
    pub(super) fn send_shutdown(&mut self, cx: &mut Cx<'_>, path: PathId) {
        if !matches!(self.state, State::ShutdownSent(_)) && self.shutdown_guard.is_none() {
            // T5-shutdown-guard; the recommended length.
            self.shutdown_guard = Some(cx.now + self.config.policies.rto.max * 5);
        }
        let due = cx.now + self.transmitter.paths[path].rtt.rto();
        self.state = State::ShutdownSent(Closing { due, path });
        self.repeat_shutdown(path);
    }

    /// Sends the SHUTDOWN of a shutdown that has begun; its timer goes on.
    pub(super) fn repeat_shutdown(&mut self, path: PathId) {
        let cumulative_tsn_ack =
            self.receiver.as_ref().map_or(0, |receiver| receiver.cumulative_tsn().0);
        self.queue_control(Chunk::Shutdown { cumulative_tsn_ack }, To::Path(path));
    }

    pub(super) fn send_shutdown_ack(&mut self, cx: &mut Cx<'_>, path: PathId) {
        let due = cx.now + self.transmitter.paths[path].rtt.rto();
        self.state = State::ShutdownAckSent(Closing { due, path });
        self.queue_control(Chunk::ShutdownAck, To::Path(path));
    }

    /// Timer T2-shutdown expired.
    pub(super) fn shutdown_timeout(&mut self, cx: &mut Cx<'_>) {
        let (State::ShutdownSent(Closing { path, .. })
        | State::ShutdownAckSent(Closing { path, .. })) = self.state
        else {
            return;
        };
        self.transmitter.paths[path].rtt.back_off();
        self.count_path_error(cx, path);
        match self.state {
            State::ShutdownSent(_) => self.send_shutdown(cx, self.paths.best()),
            State::ShutdownAckSent(_) => self.send_shutdown_ack(cx, self.paths.best()),
            _ => {}
        }
    }

    /// A SHUTDOWN arrived; its cumulative ack was applied.
    pub(super) fn peer_wants_shutdown(&mut self, cx: &mut Cx<'_>, came_on: PathId) {
        let answer = self.answer_path(came_on);
        match self.state {
            State::Established | State::ShutdownPending => {
                self.state = State::ShutdownReceived(came_on);
                self.events.push(Event::PeerShutdown);
            }
            State::ShutdownReceived(_) => self.state = State::ShutdownReceived(came_on),
            // Both sides shut down at the same time.
            State::ShutdownSent(_) => self.send_shutdown_ack(cx, answer),
            // The timer goes on: a peer that repeats itself must not put it off.
            State::ShutdownAckSent(_) if self.control.is_empty() => {
                self.queue_control(Chunk::ShutdownAck, To::Path(answer));
            }
            _ => {}
        }
    }

    pub(super) fn handle_shutdown_ack(&mut self, came_on: PathId) {
        if matches!(self.state, State::ShutdownSent(_) | State::ShutdownAckSent(_)) {
            let to = To::Path(self.answer_path(came_on));
            let complete = Chunk::ShutdownComplete { reflected_tag: false };
            self.end_with(Some((complete, to)), AssociationEnd::ShutdownComplete);
        }
    }

    pub(super) fn handle_shutdown_complete(&mut self) {
        if matches!(self.state, State::ShutdownAckSent(_)) {
            self.end(AssociationEnd::ShutdownComplete);
        }
    }
}
