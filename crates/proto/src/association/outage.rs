//! Outages: while no path works and data waits, paths are probed more often; a path that works again is used at once.

use super::Association;
use crate::paths::reach::{Reach, Reason};
use crate::{Cx, Duration, Instant, PathId};

/// Data was sent so recently that more is to be expected.
const SENDING: Duration = Duration::from_secs(30);

/// Heartbeats on a failed path go out so often while its silence doubles.
const PER_SILENCE: u64 = 4;

/// A heartbeat is overdue after this many round trips, like a tail probe.
const ROUND_TRIPS: u64 = 2;

/// Minimum interval between heartbeats: with shorter round trips, more packets gain nothing.
const LEAST_PAUSE: Duration = Duration::from_millis(2);

impl Association {
    /// A packet on the path was not answered. Returns whether that counts against the association (RFC 9260 section 8.1):
    /// during an outage not more often than if one path backed off.
    pub(super) fn counts_in_outage(&mut self, now: Instant, id: PathId) -> bool {
        if self.config.policies.failover.outage_probe_interval.is_none() || self.some_path_works(id)
        {
            return true;
        }
        let rto = self.transmitter.paths[id].rtt.rto_without_backoff();
        self.outage.on_unanswered(now, rto, self.config.policies.rto.max)
    }

    /// INIT or COOKIE ECHO was not answered. Returns whether that counts as a retransmission: if they are repeated more
    /// often than their timer would, they count as if it backed off.
    pub(super) fn counts_handshake_timeout(&mut self, now: Instant) -> bool {
        let (policies, outage) = (&self.config.policies, &mut self.outage);
        policies.failover.outage_probe_interval.is_none()
            || outage.on_unanswered(now, policies.rto.initial, policies.rto.max)
    }

    /// How long INIT, COOKIE ECHO, SHUTDOWN, SHUTDOWN ACK and heartbeats on a failed path wait for an answer at most, where `rto` is the timeout without a
    /// back-off.
    pub(super) fn longest_pause(&self, rto: Duration) -> Duration {
        let (policies, longest) = (&self.config.policies, self.config.policies.rto.max);
        let interval = policies.failover.outage_probe_interval;
        interval.map_or(longest, |interval| interval.max(rto).min(longest))
    }

    /// Whether a path other than the one that has just not answered carries data without timeouts.
    fn some_path_works(&self, silent: PathId) -> bool {
        self.paths
            .iter()
            .any(|path| path.id != silent && path.reach().is_active() && path.errors == 0)
    }

    /// Whether heartbeats are to find out that a path works again.
    pub(super) fn waits_for_paths(&self) -> bool {
        self.outage.is_on() && !self.transmitter.is_dry() && self.state.may_send_data()
    }

    /// During an outage in which data waits, brings the next heartbeat of each path forward.
    pub(super) fn probe_in_outage(&mut self, now: Instant) {
        let Some(interval) = self.config.policies.failover.outage_probe_interval else { return };
        if !self.waits_for_paths() {
            return;
        }
        for (path, sending) in self.paths.iter_mut().zip(self.transmitter.paths.iter()) {
            let rto = sending.rtt.rto_without_backoff();
            if !path.reach().is_closed()
                && let Some(pause) = self.outage.pause(now, rto, interval)
            {
                path.heartbeat.not_after(now + pause);
            }
        }
    }

    /// While data is sent on other paths, advances the next heartbeat of a failed path: once it works again, all of
    /// that data benefits.
    pub(super) fn probe_failed_soon(&mut self, now: Instant, id: PathId) {
        let is_recent = |last: Instant| now.since(last) < SENDING;
        let sends =
            self.transmitter.paths.iter().any(|path| path.last_data_sent.is_some_and(is_recent));
        let has_failed = matches!(
            self.paths[id].reach(),
            Reach::PotentiallyFailed | Reach::Inactive(Reason::Timeouts)
        );
        if self.config.policies.failover.outage_probe_interval.is_some() && has_failed && sends {
            let sending = &self.transmitter.paths[id];
            let rto = sending.rtt.rto_without_backoff();
            let pause = self.longest_pause(rto);
            let pause = match self.outage.is_on() {
                true => pause,
                false => {
                    let silence = self.paths[id].suspicion.since.map(|since| now.since(since));
                    let answer = sending.rtt.expected().min(rto) * ROUND_TRIPS;
                    pause.min(failed_pause(answer, silence.unwrap_or(sending.rtt.rto())))
                }
            };
            self.paths[id].heartbeat.not_after(now + pause);
        }
    }

    /// The peer answered.
    #[inline]
    pub(super) fn peer_answered(&mut self, now: Instant) {
        self.paths.errors = 0;
        if let Some(hole) = &mut self.size_black_hole {
            hole.on_answer();
        }
        if self.outage.on_answer() {
            self.end_outage(now);
        }
    }

    /// What was sent into the outage is lost. Timers that have backed off must not hold up what can go on now; but a round trip may have
    /// become longer than it was.
    #[cold]
    fn end_outage(&mut self, now: Instant) {
        for sending in self.transmitter.paths.iter_mut() {
            let wait = sending
                .rtt
                .rto_without_backoff()
                .max(sending.last_sample().unwrap_or_default() * 2);
            sending.t3 = sending.t3.map(|due| due.min(now + wait));
        }
    }

    /// A packet arrived over the path. If the path had failed, a heartbeat tests at once whether it works in the other
    /// direction, too; not again before that can be answered.
    #[inline]
    pub(super) fn heard_over(&mut self, cx: &mut Cx<'_>, id: PathId) {
        if self.paths.get(id).is_some_and(|path| !path.reach().is_active()) {
            self.probe_revived(cx, id);
        }
    }

    #[cold]
    fn probe_revived(&mut self, cx: &mut Cx<'_>, id: PathId) {
        if self.config.policies.failover.outage_probe_interval.is_some() {
            self.ask_whether_there(cx, id);
        }
    }

    /// A heartbeat asks whether the path works, unless one that is under way may still be answered.
    pub(super) fn ask_whether_there(&mut self, cx: &mut Cx<'_>, id: PathId) {
        if self.state.may_send_data()
            && self.paths[id].reach().is_confirmed()
            && self.asked_until(cx.now, id).is_none()
        {
            self.probe_now(cx, id);
        }
    }

    /// Links, addresses or routes of this host have changed: a path that does not answer may work now, and is probed at once; if
    /// a heartbeat is under way, when that has had its time.
    pub(super) fn probe_silent_paths(&mut self, cx: &mut Cx<'_>) {
        if !self.state.may_send_data() {
            return;
        }
        for id in self.paths.ids() {
            let path = &self.paths[id];
            let is_silent = !path.reach().is_active() || path.errors > 0;
            if !is_silent || path.reach().is_closed() {
                continue;
            }
            match self.asked_until(cx.now, id) {
                Some(until) => self.paths[id].heartbeat.not_after(until),
                None => self.probe_now(cx, id),
            }
        }
        self.probe_in_outage(cx.now);
    }

    /// Until when the heartbeat that is under way on the path may be answered, if that is not over.
    fn asked_until(&self, now: Instant, id: PathId) -> Option<Instant> {
        let sent = self.paths[id].heartbeat.outstanding?;
        let until = sent.at + self.transmitter.paths[id].rtt.rto_without_backoff();
        (now < until).then_some(until)
    }

    fn probe_now(&mut self, cx: &mut Cx<'_>, id: PathId) {
        self.paths[id].heartbeat.expire();
        self.send_heartbeat(cx, id);
    }
}

/// How long a failed path waits for its next heartbeat while others work: a burst of losses ends soon, an outage may
/// not. `answer` is when the answer to the last one is overdue; the path failed `silence` ago.
fn failed_pause(answer: Duration, silence: Duration) -> Duration {
    answer.max(LEAST_PAUSE).max(silence / PER_SILENCE)
}
