//! Heartbeats: confirming addresses (RFC 9260 section 5.4) and watching idle paths (section 8.3).

use polypath_wire::{Chunk, Parameter, Parameters};

use super::Association;
use super::input::ArrivedPacket;
use super::newcomers::Stranger;
use super::output::To;
use crate::config::{HandshakePaths, SackPath};
use crate::paths::first_contact::InitTry;
use crate::paths::heartbeat::{Inflow, Info, Purpose, SentHeartbeat};
use crate::paths::newcomers::Location;
use crate::paths::reach::{Reach, Reason, Signal};
use crate::types::address_scope::is_private;
use crate::{Cx, Duration, Instant, PathId, ProbeEvent, TimerKind};

impl Association {
    /// Starts the heartbeats of every path when the association is established. Unconfirmed paths are probed at
    /// once, HB.Max.Burst of them at a time, an RTO apart.
    pub(super) fn start_heartbeats(&mut self, cx: &mut Cx<'_>) {
        let burst = u64::from(self.config.heartbeat_max_burst.max(1));
        let mut unconfirmed = 0;
        for path in self.paths.ids() {
            if self.paths[path].reach().is_closed() {
                continue;
            }
            if self.paths[path].reach() == Reach::Unconfirmed {
                let wait = self.config.policies.rto.initial * (unconfirmed / burst);
                self.paths[path].heartbeat.due = Some(cx.now + wait);
                unconfirmed += 1;
            } else {
                self.schedule_heartbeat(cx, path);
                // A side that only receives has no other way to measure; and where an INIT was not answered yet, data would
                // learn the hard way that the path is slow or dead.
                if self.join.is_some()
                    || self.config.policies.sack_path == SackPath::SmallestSrtt
                    || self.left_init_unanswered(path)
                {
                    self.paths[path].heartbeat.due = Some(cx.now);
                }
            }
        }
        self.expire_heartbeats(cx);
        self.start_autoclose(cx.now);
        self.start_mtu_discovery();
    }

    /// Handles the heartbeat timers that are due.
    pub(super) fn expire_heartbeats(&mut self, cx: &mut Cx<'_>) {
        for path in self.paths.ids() {
            // Once SHUTDOWN or SHUTDOWN ACK is sent, their own timer watches (RFC 9260 section 8.3).
            if self.state.may_send_data()
                && self.paths[path].heartbeat.due.is_some_and(|due| due <= cx.now)
            {
                self.heartbeat_expired(cx, path);
            }
        }
    }

    /// The heartbeat timer of a path expired: the last heartbeat counts as unanswered, and the next one is sent.
    pub(super) fn heartbeat_expired(&mut self, cx: &mut Cx<'_>, path: PathId) {
        if self.is_hopeless(path) {
            self.paths[path].heartbeat.due = None;
            return;
        }
        if let Some(until) = self.waits_for_trial(path)
            && self.is_trial_over(cx, path)
        {
            self.paths[path].heartbeat.due = Some(until);
            return;
        }
        let rto = self.transmitter.paths[path].rtt.rto();
        let flow = self.paths[path].heartbeat.take_flow(cx.now, rto);
        if let Inflow::GoesOn(until) = flow {
            self.paths[path].heartbeat.due = Some(until);
            return;
        }
        let expired = self.paths[path].heartbeat.expire();
        let unanswered = expired.is_some();
        if unanswered {
            let timer = TimerKind::Heartbeat;
            cx.probe.on(cx.now, ProbeEvent::TimerExpired { timer, path: Some(path) });
        }
        if unanswered && self.suspects_paths() && self.transmitter.paths[path].flight > 0 {
            // T3 judges what becomes of both (RFC 7829 section 3.2 rule 6).
        } else if unanswered {
            let before = self.paths[path].reach();
            let rtt = &mut self.transmitter.paths[path].rtt;
            let had_its_time = expired.is_some_and(|sent| cx.now.since(sent.at) >= rtt.rto());
            // A failed path is probed more often than by its timer while other paths work.
            let asks_often = self.config.policies.failover.outage_probe_interval.is_some();
            let is_error = !asks_often
                || self.outage.is_on()
                || before.is_active()
                || expired.is_none_or(|sent| {
                    self.paths[path].heartbeat.counts(cx.now, sent.at, rtt.rto())
                });
            if !is_error {
                return self.send_heartbeat(cx, path);
            }
            if had_its_time || !self.outage.is_on() {
                rtt.back_off();
            }
            if self.counts_for_association(path) && self.counts_in_outage(cx.now, path) {
                self.paths.errors += 1;
            }
            self.count_heartbeat_error(cx, path);
            if !self.state.is_connected() {
                return;
            }
            if before.is_potentially_failed() && !self.paths[path].reach().is_potentially_failed() {
                return self.schedule_heartbeat(cx, path);
            }
        } else if flow != Inflow::Silent && self.is_in_use(cx.now, path) && !self.waits_for_paths()
        {
            // Data watches the path; heartbeats are for idle ones.
            return self.schedule_heartbeat(cx, path);
        }
        if self.paths.ids().all(|other| !self.is_in_use(cx.now, other)) {
            self.release_memory();
        }
        self.send_heartbeat(cx, path);
    }

    /// Whether an unanswered heartbeat of the path counts against the association (RFC 9260 section 8.1): not while
    /// another path works. The fast probes of a doubtful path must not end the association sooner than slow ones would
    /// (RFC 7829 section 4), and an address that is not proved to be the peer's says nothing about it; but while data can
    /// go nowhere, no timer but these would ever show that the peer is gone.
    fn counts_for_association(&self, path: PathId) -> bool {
        let others_work =
            self.paths.iter().any(|other| other.id != path && other.reach().is_active());
        let reach = self.paths[path].reach();
        reach.is_confirmed() && !reach.is_potentially_failed() && !others_work
            || self.paths.usable().is_empty()
    }

    /// After a timeout of data a doubtful path is probed at once, and one that has just failed slowly. Where it had failed
    /// `before`, and carries data because no path works, its heartbeats go on: timeouts must not put them off.
    pub(super) fn probe_after_timeout(&mut self, cx: &mut Cx<'_>, path: PathId, before: Reach) {
        if !self.suspects_paths() || !self.state.may_send_data() {
            return;
        }
        match self.paths[path].reach() {
            Reach::PotentiallyFailed => self.send_heartbeat(cx, path),
            now @ Reach::Inactive(_) if now != before => {
                self.paths[path].heartbeat.outstanding = None;
                self.schedule_heartbeat(cx, path);
            }
            Reach::Inactive(_) | Reach::Unconfirmed | Reach::Active => {}
        }
    }

    /// Begins to probe paths that have just failed, if heartbeats do not do so anyway.
    pub(super) fn probe_failed_paths(&mut self, cx: &mut Cx<'_>) {
        if !self.state.may_send_data() {
            return;
        }
        for path in self.paths.inactive().iter() {
            let is_closed = self.paths[path].reach().is_closed();
            if !is_closed && self.paths[path].heartbeat.due.is_none() {
                self.schedule_heartbeat(cx, path);
            }
        }
    }

    /// Until when nothing may go to an address that the peer has added and that has not answered.
    fn waits_for_trial(&self, id: PathId) -> Option<Instant> {
        let path = &self.paths[id];
        if path.reach().is_confirmed() { None } else { self.trial_over_until(path.remote) }
    }

    /// An address that the peer has added has not answered. Whether nothing more is sent there for now.
    #[cold]
    fn is_trial_over(&mut self, cx: &mut Cx<'_>, id: PathId) -> bool {
        let is_last = self.paths.usable().is_empty();
        if !is_last && self.paths[id].reach() == Reach::Unconfirmed {
            self.lose_path(cx, id, Signal::Refused);
        }
        !self.retry_trial(cx.now, id, is_last)
    }

    /// Whether no heartbeat can ever reach the peer there: a private address, listed by a peer that is not in a private
    /// network of ours, that no heartbeat has confirmed. Any host with that address here is another one.
    fn is_hopeless(&self, id: PathId) -> bool {
        let path = &self.paths[id];
        path.reach() == Reach::Inactive(Reason::NeverConfirmed)
            && is_private(path.remote)
            && self.paths.iter().any(|it| it.reach().is_confirmed() && !is_private(it.remote))
    }

    /// Whether data went out on the path since the last heartbeat timer.
    fn is_in_use(&self, now: Instant, id: PathId) -> bool {
        let (path, sending) = (&self.paths[id], &self.transmitter.paths[id]);
        let rto = sending.rtt.rto();
        let interval = self.heartbeat_interval(id).unwrap_or(Duration::ZERO) + rto;
        path.reach().is_active() && sending.flight > 0
            || path.reach().is_active()
                && path.denied_since.is_none()
                && sending.last_data_sent.is_some_and(|last| now.since(last) < interval)
    }

    /// Whether an INIT was sent on the path, and its round-trip time is still unknown.
    fn left_init_unanswered(&self, path: PathId) -> bool {
        self.config.policies.handshake == HandshakePaths::AllPaths
            && self.paths[path].init != InitTry::None
            && self.transmitter.paths[path].rtt.srtt().is_none()
    }

    /// Sends a heartbeat on `path` and schedules the next.
    pub(super) fn send_heartbeat(&mut self, cx: &mut Cx<'_>, path: PathId) {
        let nonce = cx.rng.next_u64();
        let info = Info { path: path.0, nonce, purpose: Purpose::Reachability }.encode();
        self.paths[path].heartbeat.outstanding = Some(SentHeartbeat { nonce, at: cx.now });
        self.paths[path].counters.heartbeats_sent += 1;
        match self.join {
            None => {
                let parameters = Parameters::build([Parameter::HeartbeatInfo(&info)]);
                self.queue_control(Chunk::Heartbeat(parameters), To::Path(path));
            }
            Some(_) => self.queue_join_heartbeat(path, &info),
        }
        cx.probe.on(cx.now, ProbeEvent::HeartbeatSent { path });
        self.schedule_heartbeat(cx, path);
    }

    /// Sends a heartbeat within an RTO to test the path, unless data does.
    pub(super) fn ask_soon(&mut self, now: Instant, id: PathId) {
        let path = &mut self.paths[id];
        if path.reach().is_active() {
            path.heartbeat.not_after(now + self.transmitter.paths[id].rtt.rto());
        }
    }

    /// Time of the next heartbeat: the RTO after the last one for a path that is unconfirmed, potentially failed,
    /// refused by the system or the host, that has fallen silent in the middle of a flow, or that has left an INIT unanswered; else HB.interval plus the RTO, plus or
    /// minus half of it. New data may wait for the answer, so a lost one must not cost an interval.
    ///
    /// Without heartbeats, a failed path is still probed, at its RTO, which backs off up to RTO.Max. The interval is
    /// for idle paths (RFC 9260 section 8.3); otherwise nothing would detect that a failed path works again, since data
    /// is sent elsewhere (section 8.2), and it would be lost for good.
    #[inline(never)]
    pub(super) fn schedule_heartbeat(&mut self, cx: &mut Cx<'_>, id: PathId) {
        if self.is_hopeless(id) {
            self.paths[id].heartbeat.due = None;
            return;
        }
        if let Some(until) = self.waits_for_trial(id) {
            self.paths[id].heartbeat.due = Some(until);
            return;
        }
        let waits = self.left_init_unanswered(id) && self.paths[id].reach().is_active();
        let rto = self.transmitter.paths[id].rtt.rto();
        let interval = self.heartbeat_interval(id);
        let path = &mut self.paths[id];
        let is_soon = waits
            || path.denied_since.is_some()
            || path.heartbeat.is_silent() && path.reach().is_active()
            || matches!(
                path.reach(),
                Reach::Unconfirmed | Reach::PotentiallyFailed | Reach::Inactive(Reason::Refused)
            );
        path.heartbeat.due = match interval {
            _ if is_soon => Some(cx.now + rto),
            // Jitter between -RTO/2 and +RTO/2 keeps associations from beating together.
            Some(interval) => {
                let span = rto.as_nanos().max(1);
                Some(cx.now + interval + rto / 2 + Duration::from_nanos(cx.rng.next_u64() % span))
            }
            None if path.heartbeat.outstanding.is_some() || !path.reach().is_active() => {
                Some(cx.now + rto)
            }
            None => None,
        };
        // Whatever else has become of the path meanwhile: data that flows is waited for.
        if let Some(at) = path.heartbeat.flow_checked_at(rto) {
            path.heartbeat.not_after(at);
        }
        self.probe_failed_soon(cx.now, id);
    }

    /// Answers a HEARTBEAT on the path and to the address from which it arrived.
    pub(super) fn handle_heartbeat(
        &mut self,
        cx: &mut Cx<'_>,
        info: &Parameters<'_>,
        arrival: &ArrivedPacket<'_>,
    ) {
        let came_on = arrival.path;
        if self.paths[came_on].reach().is_gone() {
            return;
        }
        let to = match arrival.stranger {
            None => To::Path(came_on),
            Some(Stranger::Asked(serial)) => To::Newcomer(came_on, serial),
            Some(Stranger::Ignored | Stranger::Unproved | Stranger::Adds) => return,
        };
        if self.address_changes.is_some() {
            self.renew_trial(cx.now, came_on);
        }
        if to == To::Path(came_on) {
            self.learn_from_heartbeat(cx, info, came_on);
        }
        self.queue_control(Chunk::HeartbeatAck(info.clone().into_owned()), to);
    }

    /// Accepts a HEARTBEAT ACK if it echoes the nonce of the last heartbeat on its path, or one that was sent to its
    /// source.
    pub(super) fn handle_heartbeat_ack(
        &mut self,
        cx: &mut Cx<'_>,
        parameters: &Parameters<'_>,
        came_from: Location,
    ) {
        let Some(Info { path, nonce, purpose }) =
            parameters.heartbeat_info().and_then(Info::decode)
        else {
            return;
        };
        if let Some(join) = &mut self.join {
            join.on_heartbeat_ack(parameters);
        }
        let id = PathId(path);
        if purpose != Purpose::Reachability {
            return self.mtu_probe_answered(cx, id, nonce);
        }
        if self.newcomers.knows(nonce) {
            return self.newcomer_answered(cx, came_from, nonce);
        }
        let Some(path) = self.paths.get(id) else { return };
        let Some(sent) = path.heartbeat.answered(nonce) else { return };
        let path = &mut self.paths[id];
        path.heartbeat.settle();
        path.denied_since = None;
        path.counters.heartbeat_acks_received += 1;
        let rtt = cx.now.since(sent.at);
        cx.probe.on(cx.now, ProbeEvent::HeartbeatAcked { path: id, rtt });
        self.transmitter.paths[id].sample_control_rtt(cx.now, cx.probe, sent.at);
        self.path_works(cx, id, Signal::HeartbeatAck);
        self.schedule_heartbeat(cx, id);
    }
}
