//! Graceful shutdown (RFC 9260 section 9.2).

use polypath_wire::Chunk;

use super::Association;
use super::output::{Control, To};
use super::state::{ConnectedPhase, State, T2};
use crate::config::ShutdownAnswer;
use crate::{AssociationEnd, Cx, Event, Instant, PathId, ProbeEvent, TimerKind};

impl Association {
    /// The user requests a shutdown.
    pub(super) fn begin_shutdown(&mut self, cx: &mut Cx<'_>) {
        self.transmitter.end_input();
        match &mut self.state {
            State::Handshake(handshake) => handshake.shutdown_wanted = true,
            State::Connected(connected)
                if matches!(connected.phase, ConnectedPhase::Established) =>
            {
                connected.phase = ConnectedPhase::ShutdownPending;
                connected.shutdown_guard = self.config.shutdown_guard.map(|guard| cx.now + guard);
            }
            State::Connected(connected) => {
                if let ConnectedPhase::ShutdownHeld(came_on) = connected.phase {
                    connected.phase = ConnectedPhase::ShutdownReceived(came_on);
                }
            }
            State::Closed(_) => {}
        }
        self.report_state(cx);
    }

    /// Sends SHUTDOWN, for the first time or again.
    #[inline(never)]
    pub(super) fn send_shutdown(&mut self, cx: &mut Cx<'_>, path: PathId) {
        let due = self.shutdown_due(cx.now, path);
        let State::Connected(connected) = &mut self.state else { return };
        // The recommended length.
        connected.shutdown_guard.get_or_insert(cx.now + self.config.policies.rto.max * 5);
        connected.phase = ConnectedPhase::ShutdownSent(T2 { due, path });
        self.report_state(cx);
        self.repeat_shutdown(path);
    }

    /// Sends the SHUTDOWN of a shutdown in progress again; its timer continues.
    pub(super) fn repeat_shutdown(&mut self, path: PathId) {
        let Some(receiver) = self.state.receiver() else { return };
        let cumulative_tsn_ack = receiver.cumulative_tsn().0;
        self.queue_control(Chunk::Shutdown { cumulative_tsn_ack }, To::Path(path));
    }

    #[inline(never)]
    pub(super) fn send_shutdown_ack(&mut self, cx: &mut Cx<'_>, path: PathId) {
        let due = self.shutdown_due(cx.now, path);
        self.state.enter(ConnectedPhase::ShutdownAckSent(T2 { due, path }));
        self.report_state(cx);
        self.queue_control(Chunk::ShutdownAck, To::Path(path));
    }

    /// When T2-shutdown expires that is started now.
    fn shutdown_due(&self, now: Instant, path: PathId) -> Instant {
        let rtt = &self.transmitter.paths[path].rtt;
        now + rtt.rto().min(self.longest_pause(rtt.rto_without_backoff()))
    }

    /// Timer T2-shutdown expired.
    pub(super) fn shutdown_timeout(&mut self, cx: &mut Cx<'_>) {
        let Some(ConnectedPhase::ShutdownSent(timer) | ConnectedPhase::ShutdownAckSent(timer)) =
            self.state.phase()
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
            Some(ConnectedPhase::ShutdownSent(_)) => self.send_shutdown(cx, self.paths.best()),
            Some(ConnectedPhase::ShutdownAckSent(_)) => {
                self.send_shutdown_ack(cx, self.paths.best())
            }
            _ => {}
        }
    }

    /// A SHUTDOWN arrived; its cumulative ack was applied.
    pub(super) fn peer_wants_shutdown(&mut self, cx: &mut Cx<'_>, came_on: PathId) {
        let answer = self.answer_path(came_on);
        let Some(phase) = self.state.phase() else { return };
        match phase {
            ConnectedPhase::Established
                if self.config.shutdown_answer == ShutdownAnswer::OnRequest =>
            {
                self.state.enter(ConnectedPhase::ShutdownHeld(came_on));
                self.report_state(cx);
                self.events.push(Event::PeerShutdown);
            }
            ConnectedPhase::ShutdownHeld(_) => {
                self.state.enter(ConnectedPhase::ShutdownHeld(came_on));
            }
            ConnectedPhase::Established | ConnectedPhase::ShutdownPending => {
                self.state.enter(ConnectedPhase::ShutdownReceived(came_on));
                self.report_state(cx);
                self.events.push(Event::PeerShutdown);
                if self.transmitter.queue.has_open_message() {
                    // Nothing more can be handed over, so it will never end.
                    self.abort_by_user(cx, b"a message has not ended");
                }
            }
            ConnectedPhase::ShutdownReceived(_) => {
                self.state.enter(ConnectedPhase::ShutdownReceived(came_on))
            }
            // Both sides shut down at the same time.
            ConnectedPhase::ShutdownSent(_) => self.send_shutdown_ack(cx, answer),
            // The timer continues: repeated chunks of a peer must not postpone it.
            ConnectedPhase::ShutdownAckSent(_) if self.control.is_empty() => {
                self.queue_control(Chunk::ShutdownAck, To::Path(answer));
            }
            ConnectedPhase::ShutdownAckSent(_) => {}
        }
    }

    pub(super) fn handle_shutdown_ack(&mut self, cx: &mut Cx<'_>, came_on: PathId) {
        let phase = self.state.phase();
        if matches!(
            phase,
            Some(ConnectedPhase::ShutdownSent(_) | ConnectedPhase::ShutdownAckSent(_))
        ) {
            let to = To::Path(self.answer_path(came_on));
            let complete = Chunk::ShutdownComplete { reflected_tag: false };
            let last = Some(Control::to_peer(complete, to));
            self.end_with(cx, last, AssociationEnd::ShutdownComplete);
        }
    }

    pub(super) fn handle_shutdown_complete(&mut self, cx: &mut Cx<'_>) {
        if matches!(self.state.phase(), Some(ConnectedPhase::ShutdownAckSent(_))) {
            self.end(cx, AssociationEnd::ShutdownComplete);
        }
    }
}
