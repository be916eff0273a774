//! Timers that expire.

use super::Association;
use super::state::State;
use crate::congestion::coupled::group::GroupViews;
use crate::transmit::zero_window::Expiry;
use crate::{Cx, Instant, PathId};

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
            consider(self.transmitter.abandon_deadline(self.state.send_phase()));
            if may_send_data {
                consider(self.transmitter.zero_window.deadline());
                consider(self.mtu_work.due());
            }
            for path in self.transmitter.paths.iter() {
                consider(path.t3);
                if may_send_data {
                    consider(path.banned_until);
                    consider(Some(path.tail_probe.due()));
                    consider(Some(path.tail_probe.overdue_at()));
                }
            }
            if may_send_data {
                self.paths.iter().for_each(|path| consider(path.heartbeat.due));
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
        self.transmitter.zero_window.expire(cx.now);
        for path in self.transmitter.paths.iter_mut() {
            if path.banned_until.is_some_and(|until| until <= cx.now) {
                path.banned_until = None;
            }
        }
        // Of timers that expire together each sees the windows of before.
        let (transmitter, send_cx) = self.sending(cx);
        let groups = transmitter.group_views(&send_cx);
        for path in self.paths.ids() {
            if self.transmitter.paths[path].t3.is_some_and(|due| due <= cx.now) {
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
        let (transmitter, mut send_cx) = self.sending(cx);
        let expiry = transmitter.on_timeout(&mut send_cx, id, groups);
        if expiry == Expiry::Loss {
            self.doubt_mtu(cx.now, id);
        }
        if expiry != Expiry::AnsweredProbe {
            self.count_path_error(cx, id);
        }
        self.probe_after_timeout(cx, id, before);
    }
}
