//! Congestion windows: growth, reduction and fast recovery.

use super::acknowledge::AckedPath;
use super::rate_sampler::SackArrival;
use super::{SendCx, Transmitter};
use crate::config::{BeyondWindow, FastRecoveryScope, Reduction, RttSample};
use crate::congestion::coupled::group::GroupViews;
use crate::congestion::rate_reduction::LastSack;
use crate::congestion::recovery::{PseudoCumulative, RecoveryView};
use crate::congestion::{Acked, Controller, Loss, LossCause};
use crate::types::{PathDelta, PathSet};
use crate::{PathId, ProbeEvent, Tsn};

/// Paths that lost something, by how that is known.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Losses {
    /// By missing reports.
    pub(super) reported: PathSet,
    /// By the answer to a tail probe.
    pub(super) probed: PathSet,
    /// Nothing was lost, but the path pays as if.
    pub(super) rescheduled: PathSet,
}

impl Losses {
    pub(super) fn all(&self) -> PathSet {
        self.reported.union(self.probed).union(self.rescheduled)
    }

    fn cause(&self, path: PathId) -> LossCause {
        if self.reported.contains(path) {
            LossCause::MissingReports
        } else if self.probed.contains(path) {
            LossCause::TailProbe
        } else {
            LossCause::Rescheduling
        }
    }
}

impl Transmitter {
    /// What a coupled congestion control knows of each path's group; empty where nothing is coupled.
    #[inline]
    pub(crate) fn group_views(&self, cx: &SendCx<'_>) -> GroupViews {
        match cx.config.couples_windows() {
            false => GroupViews::default(),
            true => self.paths.group_views(&cx.config.policies.path_groups, cx.book.usable()),
        }
    }

    pub(super) fn leave_recovery(
        &mut self,
        cx: &mut SendCx<'_>,
        cumulative: Tsn,
        changes: &[AckedPath],
    ) {
        match cx.config.policies.fast_recovery {
            FastRecoveryScope::AssociationWide => {
                let pseudo_cumulative = PseudoCumulative::Unused;
                if self.recovery.on_ack(&RecoveryView { cumulative, pseudo_cumulative }) {
                    cx.probe.on(cx.now, ProbeEvent::FastRecoveryLeft { path: None });
                }
            }
            FastRecoveryScope::PerPath => {
                for (path, change) in self.paths.iter_mut().zip(changes) {
                    if !path.recovery.is_active() {
                        continue;
                    }
                    let pseudo_cumulative = change.order.pseudo_cumulative;
                    if path.recovery.on_ack(&RecoveryView { cumulative, pseudo_cumulative }) {
                        let path = Some(path.id);
                        cx.probe.on(cx.now, ProbeEvent::FastRecoveryLeft { path });
                    }
                }
            }
        }
    }

    /// Tells the paths that recover what was delivered (RFC 9937); where recovery is over, that it is.
    pub(super) fn reduce_rates(
        &mut self,
        cx: &SendCx<'_>,
        changes: &[AckedPath],
        news: &[PathDelta],
        lost_on: PathSet,
    ) {
        if cx.config.policies.window.reduction == Reduction::AtOnce {
            return;
        }
        let association_recovers = self.recovery.is_active();
        let paths = self.paths.iter_mut().zip(changes).zip(news);
        for ((path, AckedPath { order, .. }), news) in paths {
            let recovers = association_recovers || path.recovery.is_active();
            let Some(record) = path.record.if_used() else { continue };
            if !recovers {
                record.reduction.end();
                continue;
            }
            let last_sack = match order.advanced && !lost_on.contains(path.id) {
                true => LastSack::Safe,
                false => LastSack::Doubtful,
            };
            record.reduction.on_sack(news.flight_bytes, last_sack);
        }
    }

    pub(super) fn grow_cwnds(
        &mut self,
        cx: &mut SendCx<'_>,
        changes: &[AckedPath],
        news: &[PathDelta],
        arrival: PathId,
        groups: &GroupViews,
    ) {
        let association_recovers = self.recovery.is_active();
        let rtt_sample = cx.config.policies.rtt_sample;
        let took = self.way_back(arrival);
        let paths = self.paths.iter_mut().zip(changes).zip(news);
        for ((path, AckedPath { before, order }), news) in paths {
            if news.flight_bytes == 0 && news.credited_bytes == 0 {
                continue;
            }
            let recovers = association_recovers || path.recovery.is_active();
            let acked_bytes = news.credited_bytes.saturating_sub(path.take_credited_elsewhere());
            let acked = Acked {
                acked_bytes,
                acked_in_gaps: news.credited_in_gaps.min(acked_bytes),
                // What the pace holds back would be in flight by now.
                flight_before: match path.pace_holds() {
                    true => before.flight.max(path.congestion.cwnd),
                    false => before.flight,
                },
                flight_after: path.flight,
                advanced: order.advanced,
                in_recovery: recovers,
                rtt: path.take_rtt_sample(),
                rate: path.sample_rate(
                    SackArrival {
                        now: cx.now,
                        over: arrival,
                        took,
                        measures: rtt_sample == RttSample::Classic || arrival == path.id,
                    },
                    news.flight_bytes,
                ),
            };
            let old = path.congestion;
            path.control(cx.now, groups.view(path.id), |it, cx| it.on_ack(cx, &acked));
            path.judge_losses(cx.now, groups.view(path.id), acked.in_recovery);
            if acked.acked_bytes > 0 && !recovers {
                path.record.grown_from = (self.packet, old.cwnd);
                cx.probe.on(cx.now, path.congestion_event());
            } else if path.congestion != old {
                cx.probe.on(cx.now, path.congestion_event());
            }
        }
    }

    /// Tells the controllers of losses, which reduce the congestion windows where fast recovery begins. Of a path that is in both sets
    /// the missing reports count.
    #[inline]
    pub(super) fn reduce_cwnds(
        &mut self,
        cx: &mut SendCx<'_>,
        lost_on: Losses,
        groups: &GroupViews,
    ) {
        if !lost_on.all().is_empty() {
            self.reduce_each(cx, lost_on, groups);
        }
    }

    #[inline(never)]
    fn reduce_each(&mut self, cx: &mut SendCx<'_>, lost_on: Losses, groups: &GroupViews) {
        let all = lost_on.all();
        let already = self.recovery.is_active();
        for path in self.paths.ids() {
            if !all.contains(path) {
                continue;
            }
            let recovers = match cx.config.policies.fast_recovery {
                FastRecoveryScope::AssociationWide => already,
                FastRecoveryScope::PerPath => self.paths[path].recovery.is_active(),
            };
            let beyond = cx.config.policies.fast_retransmit.beyond_window;
            if !recovers || beyond == BeyondWindow::EveryLoss {
                self.paths[path].free_retransmission = true;
            }
            if !recovers {
                self.enter_recovery(cx, path);
            }
            let path = &mut self.paths[path];
            let (lost_bytes, sample) = path.take_losses(cx.now);
            let loss =
                Loss { cause: lost_on.cause(path.id), lost_bytes, sample, in_recovery: recovers };
            let old = path.congestion;
            path.control(cx.now, groups.view(path.id), |it, cx| it.on_loss(cx, &loss));
            if !recovers {
                let proportional = cx.config.policies.window.reduction == Reduction::Proportional;
                if proportional && path.has_ssthresh() {
                    path.record.reduction.begin(path.flight);
                }
                cx.probe.on(cx.now, ProbeEvent::FastRecoveryEntered { path: path.id });
            }
            if !recovers || path.congestion != old {
                cx.probe.on(cx.now, path.congestion_event());
            }
        }
    }

    /// Fast recovery begins on a path, or everywhere, because of a loss.
    fn enter_recovery(&mut self, cx: &SendCx<'_>, path: PathId) {
        self.begin_recovery(cx, path);
        self.paths[path].on_recovery();
        self.paths[path].counters.repairs.fast_recoveries += 1;
    }

    /// From now on until what is outstanding has arrived, the path, or all of them, have reacted to congestion.
    pub(super) fn begin_recovery(&mut self, cx: &SendCx<'_>, path: PathId) {
        let last_sent = self.outstanding.next_tsn().previous();
        match cx.config.policies.fast_recovery {
            FastRecoveryScope::AssociationWide => self.recovery.enter(last_sent),
            FastRecoveryScope::PerPath => {
                let exit = self.outstanding.highest_on(path).unwrap_or(last_sent);
                self.paths[path].recovery.enter(exit);
            }
        }
    }
}
