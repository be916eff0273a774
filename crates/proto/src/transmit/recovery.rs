//! Congestion windows: growth, reduction and fast recovery.

use super::acknowledge::Change;
use super::{SendCx, Transmitter};
use crate::config::{BeyondWindow, Coupling, FastRecoveryScope, Reduction};
use crate::congestion::rate_reduction::LastSack;
use crate::congestion::recovery::{PseudoCumulative, RecoveryView};
use crate::congestion::{self, AckView, Advanced, coupled::group::GroupViews};
use crate::transmit::sack::AckDelta;
use crate::types::PathSet;
use crate::{ProbeEvent, Tsn};

impl Transmitter {
    /// What a coupled congestion control knows of each path's group; empty where nothing is coupled.
    pub(crate) fn group_views(&self, cx: &SendCx<'_>) -> GroupViews {
        let policies = &cx.config.policies;
        match policies.congestion.coupling() {
            Coupling::None => GroupViews::default(),
            _ => self.paths.group_views(&policies.path_groups, cx.book.usable()),
        }
    }

    pub(super) fn leave_recovery(&mut self, cx: &SendCx<'_>, cumulative: Tsn, changes: &[Change]) {
        match cx.config.policies.fast_recovery {
            FastRecoveryScope::AssociationWide => {
                self.recovery.on_ack(&RecoveryView {
                    cumulative,
                    pseudo_cumulative: PseudoCumulative::Unused,
                });
            }
            FastRecoveryScope::PerPath => {
                for (path, change) in self.paths.iter_mut().zip(changes) {
                    path.recovery.on_ack(&change.order.recovery);
                }
            }
        }
    }

    /// Tells the paths that recover what was delivered (RFC 9937); where recovery is over, that it is.
    pub(super) fn reduce_rates(
        &mut self,
        cx: &SendCx<'_>,
        changes: &[Change],
        delta: &AckDelta,
        lost_on: PathSet,
    ) {
        if cx.config.policies.window.reduction == Reduction::AtOnce {
            return;
        }
        let association_recovers = self.recovery.is_active();
        let paths = self.paths.iter_mut().zip(changes).zip(&delta.paths);
        for ((path, Change { order, .. }), news) in paths {
            if !association_recovers && !path.recovery.is_active() {
                path.reduction.end();
                continue;
            }
            let last_sack = match order.advanced {
                Advanced::Yes if !lost_on.contains(path.id) => LastSack::Safe,
                _ => LastSack::Doubtful,
            };
            path.reduction.on_sack(news.flight_bytes, last_sack);
        }
    }

    pub(super) fn grow_windows(
        &mut self,
        cx: &mut SendCx<'_>,
        changes: &[Change],
        delta: &AckDelta,
        groups: &GroupViews,
    ) {
        let coupling = cx.config.policies.congestion.coupling();
        let association_recovers = self.recovery.is_active();
        let paths = self.paths.iter_mut().zip(changes).zip(&delta.paths);
        for ((path, Change { before, order }), news) in paths {
            path.window.intervals.on_acked(news.credited_bytes);
            if news.credited_bytes == 0 || association_recovers || path.recovery.is_active() {
                continue;
            }
            let parameters = *path.parameters();
            let ack = AckView {
                acked_bytes: news.credited_bytes,
                flight_before: before.flight,
                flight_after: path.flight,
                advanced: order.advanced,
            };
            path.grown_from = (self.packet, path.window.cwnd);
            let group = groups.view(path.id);
            congestion::on_ack(coupling, &mut path.window, &parameters, &ack, &group);
            cx.probe.on(cx.now, path.window_event());
        }
    }

    /// Reduces the windows of paths that lost something.
    pub(super) fn reduce_windows(
        &mut self,
        cx: &mut SendCx<'_>,
        lost_on: PathSet,
        groups: &GroupViews,
    ) {
        if lost_on.is_empty() {
            return;
        }
        let coupling = cx.config.policies.congestion.coupling();
        let scope = cx.config.policies.fast_recovery;
        let already = self.recovery.is_active();
        for path in self.paths.ids() {
            if !lost_on.contains(path) {
                continue;
            }
            let recovers = match scope {
                FastRecoveryScope::AssociationWide => already,
                FastRecoveryScope::PerPath => self.paths[path].recovery.is_active(),
            };
            let beyond = cx.config.policies.fast_retransmit.beyond_window;
            if !recovers || beyond == BeyondWindow::EveryLoss {
                self.paths[path].free_retransmission = true;
            }
            if recovers {
                continue;
            }
            let last_sent = self.outstanding.next_tsn().previous();
            match scope {
                FastRecoveryScope::AssociationWide => self.recovery.enter(last_sent),
                FastRecoveryScope::PerPath => {
                    let exit = self.outstanding.highest_on(path).unwrap_or(last_sent);
                    self.paths[path].recovery.enter(exit);
                }
            }
            let path = &mut self.paths[path];
            path.counters.fast_recoveries += 1;
            let parameters = *path.parameters();
            let group = groups.view(path.id);
            congestion::on_fast_retransmit(coupling, &mut path.window, &parameters, &group);
            if cx.config.policies.window.reduction == Reduction::Proportional {
                path.reduction.begin(path.flight);
            }
            cx.probe.on(cx.now, ProbeEvent::FastRecoveryEntered { path: path.id });
            cx.probe.on(cx.now, path.window_event());
        }
    }
}
