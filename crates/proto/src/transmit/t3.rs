//! T3-rtx: when it expires, and what an acknowledgement does to it.

use super::flight::LossAccounting;
use super::zero_window::{self, Expiry};
use super::{SendCx, Transmitter};
use crate::config::T3Restart;
use crate::congestion::coupled::group::GroupViews;
use crate::congestion::{Controller, Timeout};
use crate::mechanism::t3_policy::{self, T3Action, T3View};
use crate::types::{Fate, PathDelta};
use crate::{Instant, LossDetection, PathId, ProbeEvent, Tsn};

impl Transmitter {
    /// T3-rtx of a path expired (RFC 9260 section 6.3.3): what is outstanding on it is lost. `groups` are from before all
    /// timers that expire now. What is left is to count the error against the path, unless the peer answered.
    pub(crate) fn on_timeout(
        &mut self,
        cx: &mut SendCx<'_>,
        id: PathId,
        groups: &GroupViews,
    ) -> Expiry {
        let oldest = self.outstanding.oldest_in_flight_on(id);
        let expiry = zero_window::expiry(self.closed_window, oldest);
        let path = &mut self.paths[id];
        path.t3 = None;
        path.timed = None;
        path.await_no_sample();
        path.counters.repairs.timeouts += 1;
        self.stats.seldom.timeouts += 1;
        if expiry == Expiry::Loss {
            let timeout = Timeout { flight_before: path.flight };
            path.control(cx.now, groups.view(id), |it, cx| it.on_timeout(cx, &timeout));
        }
        path.rtt.back_off();
        let leaves_recovery = path.recovery.leave();
        path.record.reduction.end();
        path.free_retransmission = true;
        let rate = match expiry {
            Expiry::AnsweredProbe => LossAccounting::Unchanged,
            Expiry::Loss | Expiry::SilentProbe => LossAccounting::Counts,
        };
        self.doubt_codepoint(id);
        self.mark_lost_on(cx, id, LossDetection::Timeout, rate, |_| true);
        self.paths[id].take_losses(cx.now);
        cx.probe.on(cx.now, self.paths[id].congestion_event());
        if leaves_recovery {
            cx.probe.on(cx.now, ProbeEvent::FastRecoveryLeft { path: Some(id) });
        }
        if self.recovery.leave() {
            cx.probe.on(cx.now, ProbeEvent::FastRecoveryLeft { path: None });
        }
        self.forward.on_timeout(id);
        let errors = cx.book[id].errors + u32::from(expiry != Expiry::AnsweredProbe);
        cx.probe.on(cx.now, ProbeEvent::Timeout { path: id, errors });
        expiry
    }

    /// The lowest outstanding chunk and its user data in bytes, if it is in flight on the path.
    pub(crate) fn lowest_on(&self, path: PathId) -> Option<(Tsn, u32)> {
        let outstanding = &self.outstanding;
        let tsn = outstanding.base();
        let chunk = (!outstanding.is_empty()).then(|| outstanding.get(tsn))?;
        let is_here = chunk.path == path && chunk.fate == Fate::InFlight;
        is_here.then(|| (tsn, chunk.user_bytes()))
    }

    /// Whether the oldest unacknowledged transmission on the path is another one than at the previous call; always false unless the policy
    /// is `smart`.
    #[inline]
    fn has_new_oldest(&mut self, policy: T3Restart, id: PathId) -> bool {
        policy == T3Restart::Smart && self.notes_new_oldest(id)
    }

    #[inline(never)]
    fn notes_new_oldest(&mut self, id: PathId) -> bool {
        let oldest = self.oldest_transmission(id);
        let log = &mut self.paths[id].record.retransmissions;
        log.notes_new_oldest(oldest)
    }

    /// When that transmission was made. First transmissions are in the order of their TSNs, retransmissions in that of the log.
    pub(super) fn oldest_transmission(&mut self, id: PathId) -> Option<Instant> {
        let outstanding = &mut self.outstanding;
        let first = outstanding.lowest_on(id).0.map(|tsn| outstanding.get(tsn).sent_at);
        let record = self.paths[id].record.if_used();
        let again = record.and_then(|record| {
            record.retransmissions.oldest(|tsn, at| {
                outstanding.contains(tsn) && {
                    let chunk = outstanding.get(tsn);
                    chunk.path == id && chunk.sent_at == at && !chunk.is_acked()
                }
            })
        });
        first.into_iter().chain(again).min()
    }

    /// RFC 9260 section 6.3.2, rules R2 to R4.
    pub(super) fn adjust_t3(
        &mut self,
        cx: &SendCx<'_>,
        lowest_acked: impl Iterator<Item = bool>,
        news: &[PathDelta],
        reneged: u32,
    ) {
        let policy = cx.config.policies.t3_restart;
        for ((id, lowest_acked), news) in self.paths.ids().zip(lowest_acked).zip(news) {
            let is_new = news.chunks > 0 && self.has_new_oldest(policy, id);
            let view = T3View {
                flight: self.paths[id].flight,
                lowest_acked,
                has_progress: is_new || news.by_cumulative_ack,
                reneged: reneged > 0,
            };
            match t3_policy::on_ack(policy, &view) {
                T3Action::Stop => {
                    self.settle(id);
                }
                T3Action::Restart => self.paths[id].restart_t3(cx.now, cx.config),
                T3Action::Start => self.paths[id].start_t3(cx.now, cx.config),
                T3Action::Keep => {}
            }
        }
    }
}
