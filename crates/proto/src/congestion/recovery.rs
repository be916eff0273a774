//! Fast recovery: when it begins and when it ends (RFC 9260 section 7.2.4; per path: CMT's FRC).

use crate::Tsn;

/// Fast recovery of one path, or of the association.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct FastRecovery {
    exit_point: Option<Tsn>,
}

/// What a SACK says about the in-order points of a path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct RecoveryView {
    /// The cumulative TSN ack.
    pub(crate) cumulative: Tsn,
    /// The path's own in-order point.
    pub(crate) pseudo_cumulative: PseudoCumulative,
}

/// Pseudo cumulative ack of the chunks that a path sent for the first time. Retransmissions do not count: those that
/// began the recovery are acknowledged while it lasts, those from other paths say nothing about this one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum PseudoCumulative {
    /// The policy does not follow it.
    Unused,
    /// It did not advance.
    Unchanged,
    /// It advanced to just before this TSN; `None`: nothing is left.
    Advanced(Option<Tsn>),
}

impl FastRecovery {
    /// Whether fast recovery is on.
    pub(crate) fn is_active(&self) -> bool {
        self.exit_point.is_some()
    }

    /// Begins it; it lasts until everything up to `highest_outstanding` is acknowledged.
    pub(crate) fn enter(&mut self, highest_outstanding: Tsn) {
        self.exit_point = Some(highest_outstanding);
    }

    /// Ends it, whatever is acknowledged. Returns whether it was on.
    pub(crate) fn leave(&mut self) -> bool {
        self.exit_point.take().is_some()
    }

    /// Ends it if its exit point is reached, by the cumulative ack or by a pseudo cumulative ack of the path.
    /// Returns whether that ended it.
    pub(crate) fn on_ack(&mut self, view: &RecoveryView) -> bool {
        let Some(exit) = self.exit_point else { return false };
        let passed = match view.pseudo_cumulative {
            PseudoCumulative::Unused | PseudoCumulative::Unchanged => false,
            PseudoCumulative::Advanced(lowest) => lowest.is_none_or(|lowest| lowest.is_after(exit)),
        };
        let is_over = passed || exit.is_at_or_before(view.cumulative);
        if is_over {
            self.exit_point = None;
        }
        is_over
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use PseudoCumulative::{Advanced, Unchanged, Unused};

    fn view(cumulative: u32, pseudo_cumulative: PseudoCumulative) -> RecoveryView {
        RecoveryView { cumulative: Tsn(cumulative), pseudo_cumulative }
    }

    #[test]
    fn ends_at_the_exit_point() {
        for (what, view, active) in [
            ("cumulative ack below", view(19, Unused), true),
            ("cumulative ack at the exit", view(20, Unused), false),
            ("pseudo cumulative ack just before the exit", view(5, Advanced(Some(Tsn(20)))), true),
            ("pseudo cumulative ack at the exit", view(5, Advanced(Some(Tsn(21)))), false),
            ("nothing left on the path", view(5, Advanced(None)), false),
            ("nothing advanced", view(5, Unchanged), true),
        ] {
            let mut recovery = FastRecovery::default();
            recovery.enter(Tsn(20));
            recovery.on_ack(&view);
            assert_eq!(recovery.is_active(), active, "{what}");
        }
    }

    #[test]
    fn is_left_whatever_is_acknowledged() {
        let mut recovery = FastRecovery::default();
        recovery.enter(Tsn(20));
        recovery.leave();
        assert_eq!(recovery, FastRecovery::default());
    }

    #[test]
    fn exit_point_compares_across_the_wrap() {
        let mut recovery = FastRecovery::default();
        recovery.enter(Tsn(2));
        recovery.on_ack(&view(u32::MAX, Unused));
        assert!(recovery.is_active());
        recovery.on_ack(&view(3, Unused));
        assert!(!recovery.is_active());
    }
}
