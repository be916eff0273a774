//! What timeouts and signs of life mean for paths and for the association (RFC 9260 sections 8.1, 8.2; RFC 7829).

use super::Association;
use crate::config::{AllPf, Failover, FailureDetection};
use crate::congestion::CorrectionCause;
use crate::paths::failover;
use crate::paths::reach::{Signal, Thresholds, Transition};
use crate::paths::stopwatch::Condition;
use crate::{AssociationEnd, Cx, Event, Instant, Notice, PathChange, PathId, ProbeEvent};

impl Association {
    fn thresholds(&self, id: PathId) -> Thresholds {
        let policy =
            Failover { pf_threshold: self.pf_threshold(id), ..self.config.policies.failover };
        failover::thresholds(&policy, self.path_max_retrans(id))
    }

    /// Whether there is a state between active and failed.
    pub(super) fn suspects_paths(&self) -> bool {
        self.config.policies.failover.detection != FailureDetection::Rfc9260
    }

    /// Counts a timeout against the path and the association.
    pub(super) fn count_path_error(&mut self, cx: &mut Cx<'_>, id: PathId) {
        if self.counts_in_outage(cx.now, id) {
            self.paths.errors += 1;
        }
        self.count_heartbeat_error(cx, id);
    }

    /// Counts a timeout or an unanswered heartbeat against the path only, and ends an association that has too many.
    pub(super) fn count_heartbeat_error(&mut self, cx: &mut Cx<'_>, id: PathId) {
        let thresholds = self.thresholds(id);
        self.paths[id].errors += 1;
        let timeouts = Signal::Timeout(self.paths[id].errors);
        let transition = self.paths.signal(id, timeouts, thresholds);
        if transition == Transition::Failed {
            self.paths[id].suspicion.failed_at = Some(cx.now);
        }
        self.path_changed(cx, id, transition);
        self.give_up_primary(id);
        if self.paths.errors > self.config.association_max_retrans {
            self.fail(cx, AssociationEnd::Unreachable);
        }
    }

    /// A heartbeat was answered over the path, or data that took no other path.
    pub(super) fn path_works(&mut self, cx: &mut Cx<'_>, id: PathId, sign: Signal) {
        let thresholds = self.thresholds(id);
        self.peer_answered(cx.now);
        let path = &mut self.paths[id];
        path.errors = 0;
        path.heartbeat.expired = None;
        let remote = path.remote;
        let transition = self.paths.signal(id, sign, thresholds);
        if transition == Transition::None {
            return;
        }
        if transition == Transition::Confirmed {
            self.trial_passed(remote);
            self.notices.push_back(Notice::PeerAddressConfirmed(remote));
        }
        if transition == Transition::Cleared && sign == Signal::HeartbeatAck {
            let sending = &mut self.transmitter.paths[id];
            let unit = sending.parameters().unit;
            let detection = self.config.policies.failover.detection;
            if let Some(cwnd) = failover::restart_cwnd(detection, unit) {
                sending.correct(cx.now, CorrectionCause::Restart, cwnd, None);
            }
            cx.probe.on(cx.now, sending.congestion_event());
        }
        self.path_changed(cx, id, transition);
    }

    /// The system cannot send on the path any more.
    pub(super) fn lose_path(&mut self, cx: &mut Cx<'_>, id: PathId, why: Signal) -> Transition {
        let thresholds = self.thresholds(id);
        let transition = self.paths.signal(id, why, thresholds);
        self.path_changed(cx, id, transition);
        transition
    }

    /// Tells the user of a change and sees to it that some path is active, if the policy wants that.
    fn path_changed(&mut self, cx: &mut Cx<'_>, id: PathId, transition: Transition) {
        let change = match transition {
            Transition::None => return,
            Transition::Confirmed => PathChange::Confirmed,
            Transition::Suspected => PathChange::PotentiallyFailed,
            Transition::Failed => PathChange::Unreachable,
            Transition::Cleared | Transition::Restored => PathChange::Available,
        };
        self.events.push(Event::Path { path: id, change });
        self.report_reachability(cx, id);
        self.follow_reachability(id);
        if transition == Transition::Suspected {
            self.suspicions.count += 1;
            let suspicion = &mut self.paths[id].suspicion;
            suspicion.rank = self.suspicions.count;
            suspicion.times += 1;
            suspicion.since = Some(cx.now);
        }
        if self.config.policies.failover.all_pf == AllPf::MakeActive
            && self.paths.active().is_empty()
            && let Some(chosen) = self.paths.least_suspect()
        {
            let thresholds = self.thresholds(id);
            self.paths[chosen].errors = 0;
            self.paths.signal(chosen, Signal::Chosen, thresholds);
            let change = PathChange::Available;
            self.events.push(Event::Path { path: chosen, change });
            self.report_reachability(cx, chosen);
            self.follow_reachability(chosen);
        }
    }

    fn report_reachability(&self, cx: &mut Cx<'_>, id: PathId) {
        let status = self.paths[id].status();
        cx.probe.on(cx.now, ProbeEvent::Reachability { path: id, status });
    }

    /// Primary Path Switchover (RFC 7829 section 5): the path that carries its data becomes the primary one.
    fn give_up_primary(&mut self, id: PathId) {
        let Some(limit) = self.config.policies.failover.primary_switchover else { return };
        if id != self.paths.primary || self.paths[id].errors <= limit {
            return;
        }
        let path = self.paths.primary_or_stand_in(self.paths.usable());
        if path != self.paths.primary {
            self.paths.primary = path;
            self.events.push(Event::Path { path, change: PathChange::MadePrimary });
        }
    }

    /// Takes note of how long paths have been potentially failed.
    #[inline]
    pub(super) fn account_suspicion(&mut self, now: Instant) {
        if self.suspects_paths() {
            self.account_each_suspicion(now);
        }
    }

    #[inline(never)]
    fn account_each_suspicion(&mut self, now: Instant) {
        let (mut active, mut suspected) = (false, false);
        for path in self.paths.iter_mut() {
            let is_suspect = path.reach().is_potentially_failed();
            active |= path.reach().is_active();
            suspected |= is_suspect;
            if is_suspect {
                path.suspicion.time.look(now, Condition::Holds);
            } else if let Some(suspicion) = path.suspicion.if_used() {
                suspicion.time.look(now, Condition::Not);
            }
        }
        if let Some(suspicions) = self.suspicions.if_used() {
            suspicions.all.look(now, (suspected && !active).into());
        }
    }
}
