//! Timers that expire.

use super::Association;
use super::state::State;
use crate::congestion::{self, coupled::group::GroupViews};
use crate::probe::TransmissionCause;
use crate::transmit::zero_window::{self, Expiry};
use crate::{Cx, Instant, PathId, ProbeEvent};

impl Association {
    /// The earliest deadline.
    pub(super) fn next_deadline(&self) -> Option<Instant> {
        // The driver asks after every packet, and instants compare faster than options. At that one nothing happens.
        let never = Instant::FAR_FUTURE;
        let mut next = self.state.timer().unwrap_or(never);
        let mut consider = |deadline: Option<Instant>| next = next.min(deadline.unwrap_or(never));
        consider(self.shutdown_guard);
        if self.state.is_synchronized() {
            let may_send_data = self.state.may_send_data();
            consider(self.receiver.as_ref().and_then(|receiver| receiver.poll_timeout()));
            consider(self.abandon_deadline());
            if may_send_data {
                consider(self.sender.zero_window.deadline());
                consider(self.mtu_work.due());
            }
            for path in self.paths.iter() {
                consider(path.t3);
                if may_send_data {
                    consider(path.banned_until);
                    consider(path.heartbeat.due);
                    consider(Some(path.tail_probe.due()));
                    consider(Some(path.tail_probe.overdue_at()));
                }
            }
        }
        (next != never).then_some(next)
    }

    /// Handles every timer that is due.
    pub(super) fn expire_timers(&mut self, cx: &mut Cx<'_>) {
        if matches!(self.state, State::Closed) {
            return;
        }
        if self.shutdown_guard.is_some_and(|due| due <= cx.now) {
            return self.give_up_shutdown();
        }
        if self.state.timer().is_some_and(|due| due <= cx.now) {
            match self.state {
                State::CookieWait(_) | State::CookieEchoed { .. } => self.handshake_timeout(cx),
                _ => self.shutdown_timeout(cx),
            }
        }
        if !self.state.is_synchronized() {
            return;
        }
        if let Some(receiver) = &mut self.receiver {
            receiver.handle_timeout(cx.now);
        }
        self.sender.zero_window.expire(cx.now);
        for path in self.paths.iter_mut() {
            if path.banned_until.is_some_and(|until| until <= cx.now) {
                path.banned_until = None;
            }
        }
        // Of timers that expire together each sees the windows of before.
        let groups = self.group_views();
        for path in self.paths.ids() {
            if self.paths[path].t3.is_some_and(|due| due <= cx.now) {
                self.t3_expired(cx, path, &groups);
            }
            if !self.state.is_synchronized() {
                return;
            }
        }
        self.handle_heartbeat_timers(cx);
        self.expire_mtu_timers(cx.now);
    }

    /// T3-rtx expired (RFC 9260 section 6.3.3).
    fn t3_expired(&mut self, cx: &mut Cx<'_>, id: PathId, groups: &GroupViews) {
        let before = self.paths[id].reach;
        let oldest = self.sender.window.oldest_in_flight_on(id);
        let expiry = zero_window::expiry(self.sender.closed_window, oldest);
        let path = &mut self.paths[id];
        path.t3 = None;
        path.timed = None;
        path.awaited = None;
        path.counters.timeouts += 1;
        self.stats.timeouts += 1;
        if expiry == Expiry::Loss {
            let parameters = path.congestion_parameters(&self.config);
            let (coupling, group) = (self.config.policies.congestion.coupling(), groups.view(id));
            congestion::on_timeout(coupling, &mut path.window, &parameters, &group);
        }
        path.rtt.back_off();
        path.recovery.leave();
        path.reduction.end();
        path.free_retransmission = true;
        let window = &mut self.sender.window;
        let mut from = window.base();
        while let Some(tsn) = window.next_unacked_on(id, from) {
            if let Some((_, charge)) = window.mark_lost(tsn, TransmissionCause::TimerRetransmission)
            {
                path.take_out(tsn, charge);
                if expiry != Expiry::AnsweredProbe {
                    path.loss_rate.on_lost();
                }
            }
            from = tsn.next();
        }
        cx.probe.on(cx.now, path.window_event());
        let errors = path.errors + u32::from(expiry != Expiry::AnsweredProbe);
        self.sender.recovery.leave();
        self.sender.forward.on_timeout(id);
        cx.probe.on(cx.now, ProbeEvent::Timeout { path: id, errors });
        if expiry == Expiry::Loss {
            self.doubt_mtu(cx.now, id);
        }
        if expiry != Expiry::AnsweredProbe {
            self.count_path_error(cx, id);
        }
        self.probe_after_timeout(cx, id, before);
    }
}
