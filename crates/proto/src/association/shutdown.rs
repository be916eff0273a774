//! Graceful shutdown (RFC 9260 section 9.2).

use polypath_wire::Chunk;

use super::Association;
use super::output::{Control, To};
use super::state::{Phase, State, T2};
use crate::{AssociationEnd, Cx, Event, PathId, ProbeEvent, TimerKind};

impl Association {
    /// The user asked for shutdown.
    pub(super) fn begin_shutdown(&mut self, cx: &mut Cx<'_>) {
        match &mut self.state {
            State::Handshake(handshake) => handshake.shutdown_wanted = true,
            State::Connected(connected) if matches!(connected.phase, Phase::Established) => {
                connected.phase = Phase::ShutdownPending;
                connected.shutdown_guard = self.config.shutdown_guard.map(|guard| cx.now + guard);
            }
            State::Connected(_) | State::Closed(_) => {}
        }
        self.report_state(cx);
    }

    /// Sends SHUTDOWN, for the first time or again.
    pub(super) fn send_shutdown(&mut self, cx: &mut Cx<'_>, path: PathId) {
        let State::Connected(connected) = &mut self.state else { return };
        // The recommended length.
        connected.shutdown_guard.get_or_insert(cx.now + self.config.policies.rto.max * 5);
        let due = cx.now + self.transmitter.paths[path].rtt.rto();
        connected.phase = Phase::ShutdownSent(T2 { due, path });
        self.report_state(cx);
        self.repeat_shutdown(path);
    }

    /// Sends the SHUTDOWN of a shutdown that has begun; its timer goes on.
    pub(super) fn repeat_shutdown(&mut self, path: PathId) {
        let Some(receiver) = self.state.receiver() else { return };
        let cumulative_tsn_ack = receiver.cumulative_tsn().0;
        self.queue_control(Chunk::Shutdown { cumulative_tsn_ack }, To::Path(path));
    }

    pub(super) fn send_shutdown_ack(&mut self, cx: &mut Cx<'_>, path: PathId) {
        let due = cx.now + self.transmitter.paths[path].rtt.rto();
        self.state.enter(Phase::ShutdownAckSent(T2 { due, path }));
        self.report_state(cx);
        self.queue_control(Chunk::ShutdownAck, To::Path(path));
    }

    /// Timer T2-shutdown expired.
    pub(super) fn shutdown_timeout(&mut self, cx: &mut Cx<'_>) {
        let Some(Phase::ShutdownSent(timer) | Phase::ShutdownAckSent(timer)) = self.state.phase()
        else {
            return;
        };
        let path = timer.path;
        let expired = ProbeEvent::TimerExpired { timer: TimerKind::T2Shutdown, path: Some(path) };
        cx.probe.on(cx.now, expired);
        self.transmitter.paths[path].rtt.back_off();
        self.count_path_error(cx, path);
        // It may have ended.
        match self.state.phase() {
            Some(Phase::ShutdownSent(_)) => self.send_shutdown(cx, self.paths.best()),
            Some(Phase::ShutdownAckSent(_)) => self.send_shutdown_ack(cx, self.paths.best()),
            _ => {}
        }
    }

    /// A SHUTDOWN arrived; its cumulative ack was applied.
    pub(super) fn peer_wants_shutdown(&mut self, cx: &mut Cx<'_>, came_on: PathId) {
        let answer = self.answer_path(came_on);
        let Some(phase) = self.state.phase() else { return };
        match phase {
            Phase::Established | Phase::ShutdownPending => {
                self.state.enter(Phase::ShutdownReceived(came_on));
                self.report_state(cx);
                self.events.push(Event::PeerShutdown);
            }
            Phase::ShutdownReceived(_) => self.state.enter(Phase::ShutdownReceived(came_on)),
            // Both sides shut down at the same time.
            Phase::ShutdownSent(_) => self.send_shutdown_ack(cx, answer),
            // The timer goes on: a peer that repeats itself must not put it off.
            Phase::ShutdownAckSent(_) if self.control.is_empty() => {
                self.queue_control(Chunk::ShutdownAck, To::Path(answer));
            }
            Phase::ShutdownAckSent(_) => {}
        }
    }

    pub(super) fn handle_shutdown_ack(&mut self, cx: &mut Cx<'_>, came_on: PathId) {
        let phase = self.state.phase();
        if matches!(phase, Some(Phase::ShutdownSent(_) | Phase::ShutdownAckSent(_))) {
            let to = To::Path(self.answer_path(came_on));
            let complete = Chunk::ShutdownComplete { reflected_tag: false };
            let last = Some(Control::to_peer(complete, to));
            self.end_with(cx, last, AssociationEnd::ShutdownComplete);
        }
    }

    pub(super) fn handle_shutdown_complete(&mut self, cx: &mut Cx<'_>) {
        if matches!(self.state.phase(), Some(Phase::ShutdownAckSent(_))) {
            self.end(cx, AssociationEnd::ShutdownComplete);
        }
    }
}
