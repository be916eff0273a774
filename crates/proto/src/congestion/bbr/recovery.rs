//! What is restored after a recovery: the window, and the whole model if the loss was spurious (sections 5.5.11 and
//! 5.6.4.4).

use super::Phase;
use super::bounds::Bounds;

/// The recovery in progress.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum RecoveryKind {
    #[default]
    None,
    Fast,
    /// After a timeout, until data is acknowledged that was sent after this much was delivered.
    Timeout {
        delivered: u64,
    },
}

/// State of one path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct LossRecovery {
    kind: RecoveryKind,
    /// The last window that neither a loss nor a look for the round trip made smaller.
    prior_cwnd: u64,
    bounds: Bounds,
    /// The phase that a loss ended.
    pub(super) left: Option<Phase>,
}

impl LossRecovery {
    pub(super) fn new() -> Self {
        Self { kind: RecoveryKind::None, prior_cwnd: 0, bounds: Bounds::new(), left: None }
    }

    pub(super) fn is_fast(&self) -> bool {
        self.kind == RecoveryKind::Fast
    }

    pub(super) fn is_after_timeout(&self) -> bool {
        matches!(self.kind, RecoveryKind::Timeout { .. })
    }

    /// Remembers the window (SaveCwnd).
    pub(super) fn save_cwnd(&mut self, cwnd: u64, phase: Phase) {
        let is_modulated = self.kind != RecoveryKind::None || phase == Phase::ProbeRtt;
        self.prior_cwnd = if is_modulated { self.prior_cwnd.max(cwnd) } else { cwnd };
    }

    /// The window as it was, if it is smaller now (RestoreCwnd).
    pub(super) fn restored(&self, cwnd: u64) -> u64 {
        cwnd.max(self.prior_cwnd)
    }

    pub(super) fn begin_fast(&mut self, cwnd: u64, phase: Phase, bounds: &Bounds) {
        self.begin(cwnd, phase, bounds);
        self.kind = RecoveryKind::Fast;
    }

    pub(super) fn begin_after_timeout(
        &mut self,
        cwnd: u64,
        phase: Phase,
        bounds: &Bounds,
        delivered: u64,
    ) {
        // Another timeout belongs to the same recovery.
        if !self.is_after_timeout() {
            self.begin(cwnd, phase, bounds);
        }
        self.kind = RecoveryKind::Timeout { delivered };
    }

    fn begin(&mut self, cwnd: u64, phase: Phase, bounds: &Bounds) {
        self.save_cwnd(cwnd, phase);
        (self.bounds, self.left) = (*bounds, None);
    }

    /// Notes an acknowledgement of data sent when `before` bytes had been delivered, if known, in fast recovery or not;
    /// returns whether that ends the recovery.
    pub(super) fn on_ack(&mut self, is_fast: bool, before: Option<u64>) -> bool {
        let is_over = match self.kind {
            RecoveryKind::None => false,
            RecoveryKind::Fast => !is_fast,
            RecoveryKind::Timeout { delivered } => before.is_some_and(|before| before > delivered),
        };
        if is_over {
            self.kind = RecoveryKind::None;
        }
        is_over
    }

    /// The losses were none: restores the bounds; the phase that they ended.
    pub(super) fn undo(&mut self, bounds: &mut Bounds) -> Option<Phase> {
        self.kind = RecoveryKind::None;
        bounds.long = bounds.long.max(self.bounds.long);
        bounds.short = bounds.short.max(self.bounds.short);
        bounds.rate = bounds.rate.max(self.bounds.rate);
        self.left.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_window_comes_back_when_recovery_is_over() {
        let mut recovery = LossRecovery::new();
        recovery.begin_fast(50_000, Phase::Cruise, &Bounds::new());
        recovery.save_cwnd(20_000, Phase::Cruise);
        assert!(!recovery.on_ack(true, Some(0)));
        assert!(recovery.on_ack(false, Some(0)) && !recovery.on_ack(false, Some(0)));
        assert_eq!((recovery.restored(30_000), recovery.restored(60_000)), (50_000, 60_000));
    }

    #[test]
    fn a_timeout_lasts_for_a_round_trip() {
        let mut recovery = LossRecovery::new();
        recovery.begin_after_timeout(50_000, Phase::Cruise, &Bounds::new(), 1000);
        recovery.begin_after_timeout(1500, Phase::Cruise, &Bounds::new(), 1000);
        assert!(!recovery.on_ack(false, None) && !recovery.on_ack(false, Some(1000)));
        assert!(recovery.on_ack(false, Some(1001)));
        assert_eq!(recovery.restored(0), 50_000);
    }

    #[test]
    fn a_window_that_nothing_made_smaller_replaces_the_one_before() {
        for (phase, expected) in [(Phase::Cruise, 20_000), (Phase::ProbeRtt, 50_000)] {
            let mut recovery = LossRecovery::new();
            recovery.save_cwnd(50_000, Phase::Cruise);
            recovery.save_cwnd(20_000, phase);
            assert_eq!(recovery.restored(0), expected, "{phase:?}");
        }
    }

    #[test]
    fn a_second_timeout_keeps_the_bounds_of_the_first() {
        let (mut recovery, before) = (LossRecovery::new(), Bounds::new());
        let mut bounds = Bounds { long: 1, short: 2, rate: 3 };
        recovery.begin_after_timeout(50_000, Phase::Cruise, &before, 1000);
        recovery.begin_after_timeout(1500, Phase::Cruise, &bounds, 1000);
        recovery.undo(&mut bounds);
        assert_eq!(bounds, before);
    }

    #[test]
    fn a_spurious_loss_leaves_no_trace_in_the_bounds() {
        let (mut recovery, before) = (LossRecovery::new(), Bounds::new());
        recovery.begin_fast(50_000, Phase::Up, &before);
        recovery.left = Some(Phase::Up);
        let mut bounds = Bounds { long: 1, short: 2, rate: 3 };
        assert_eq!(recovery.undo(&mut bounds), Some(Phase::Up));
        assert_eq!(bounds, before);
        assert_eq!(recovery.undo(&mut bounds), None);
    }
}
