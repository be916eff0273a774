//! Additive increase, multiplicative decrease: slow start x window adjustment x coupling.

use alloc::boxed::Box;

use super::NewPath;
use super::coupled::Coupling;
use super::reno::{Growth, Reno};
use super::window::CongestionWindow;
use super::{
    Acked, Context, Controller, Correction, CorrectionCause, EcnMarks, Idle, Loss, LossCause,
    SpuriousLoss, Timeout,
};
use crate::config::{CongestionAlgorithm, RecoveryGrowth};

/// Window of one path by section 7.2 of RFC 9260, alone or coupled: the RFC decides when it grows; the coupling decides by
/// how much, and what a loss leaves.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Aimd {
    pub(super) window: CongestionWindow,
    pub(super) adjustment: Reno,
    pub(super) coupling: Coupling,
    initial_cwnd: u64,
    /// What a loss was answered from, until it is known that it was one. Apart, because idle paths have none.
    undo: Option<Box<Unreduced>>,
}

/// State before a reaction to a loss.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Unreduced {
    window: CongestionWindow,
    adjustment: Reno,
    coupling: Coupling,
}

impl Aimd {
    /// A controller for a path at its start. An algorithm that does more than this one is taken as uncoupled.
    pub(crate) fn new(algorithm: CongestionAlgorithm, path: &NewPath) -> Self {
        let window = CongestionWindow { cwnd: path.initial_cwnd, ssthresh: path.initial_ssthresh };
        Self {
            window,
            adjustment: Reno::default(),
            coupling: Coupling::new(algorithm),
            initial_cwnd: path.initial_cwnd,
            undo: None,
        }
    }

    /// What it allows now.
    pub(super) fn window(&self) -> CongestionWindow {
        self.window
    }

    /// Bytes that the path delivers between losses, as its group sees it.
    pub(super) fn between_losses(&self) -> u64 {
        self.coupling.intervals.longest()
    }

    /// Sets the threshold to the window after a loss; the previous values are kept until the loss is known to be
    /// genuine.
    fn reduce(&mut self, cx: &Context<'_>) {
        // Another timeout of the same data says nothing new.
        if self.window.cwnd > cx.path.unit || self.undo.is_none() {
            let (window, adjustment, coupling) = (self.window, self.adjustment, self.coupling);
            let before = Unreduced { window, adjustment, coupling };
            match &mut self.undo {
                Some(known) => **known = before,
                None => self.undo = Some(Box::new(before)),
            }
        }
        self.cut(cx);
    }

    /// Sets the threshold to the window after a loss; counting starts again.
    fn cut(&mut self, cx: &Context<'_>) {
        self.window.ssthresh = self.coupling.threshold(self.window.cwnd, cx.path, cx.group);
        self.adjustment.partial_bytes_acked = 0;
        self.coupling.intervals.on_loss();
    }
}

impl Controller for Aimd {
    fn on_ack(&mut self, cx: &Context<'_>, acked: &Acked) {
        self.coupling.intervals.on_acked(acked.acked_bytes);
        let rests = acked.in_recovery && cx.path.recovery_growth == RecoveryGrowth::Off;
        if acked.acked_bytes == 0 || rests {
            return;
        }
        let due = self.adjustment.due(&self.window, cx.path, acked);
        if due == Growth::None {
            return;
        }
        let window = &mut self.window;
        let step = self.coupling.step(due, window.cwnd, cx.group);
        // A step back never leads below the smallest window.
        let smallest = cx.path.unit.min(window.cwnd);
        window.cwnd = window.cwnd.saturating_add_signed(step).max(smallest);
    }

    /// Reduction when fast recovery begins (RFC 9260 section 7.2.4). What a report says was damaged is no congestion.
    fn on_loss(&mut self, cx: &Context<'_>, loss: &Loss) {
        if loss.cause != LossCause::DropReport && !loss.in_recovery {
            self.reduce(cx);
            self.window.cwnd = self.window.ssthresh;
        }
    }

    /// Reduction when T3-rtx expires (RFC 9260 section 7.2.3).
    fn on_timeout(&mut self, cx: &Context<'_>, _: &Timeout) {
        self.reduce(cx);
        self.window.cwnd = cx.path.unit;
    }

    /// Restores the window, unless it is larger by now.
    fn on_spurious_loss(&mut self, _: &Context<'_>, _: &SpuriousLoss) {
        let Some(undo) = self.undo.take() else { return };
        if self.window.cwnd < undo.window.cwnd {
            let Unreduced { window, adjustment, coupling } = *undo;
            (self.window, self.adjustment, self.coupling) = (window, adjustment, coupling);
        }
    }

    /// As a loss (draft-stewart-tsvwg-sctpecn section 5.2), but never spurious. A window below the least threshold stays.
    fn on_ecn(&mut self, cx: &Context<'_>, marks: &EcnMarks) {
        if marks.packets > 0 && !marks.in_recovery {
            self.undo = None;
            self.cut(cx);
            self.window.cwnd = self.window.cwnd.min(self.window.ssthresh);
        }
    }

    fn on_idle(&mut self, cx: &Context<'_>, idle: &Idle) {
        self.adjustment.on_idle(&mut self.window, cx.path, idle, self.initial_cwnd);
    }

    fn on_correction(&mut self, _: &Context<'_>, correction: &Correction) {
        self.window.cwnd = correction.cwnd;
        self.window.ssthresh = correction.ssthresh.unwrap_or(self.window.ssthresh);
        let begins_anew =
            matches!(correction.cause, CorrectionCause::Restart | CorrectionCause::BottleneckFull);
        if begins_anew {
            self.adjustment.partial_bytes_acked = 0;
        }
    }

    fn cwnd(&self) -> u64 {
        self.window.cwnd
    }

    fn ssthresh(&self) -> Option<u64> {
        Some(self.window.ssthresh)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::testing::{acked, controller, state};
    use crate::congestion::{Parameters, Pause};
    use crate::{Duration, Instant};

    const P: Parameters = Parameters::plain(1500, 6000);

    fn at(ms: u64) -> Context<'static> {
        Context::new(Instant::ZERO + Duration::from_millis(ms), &P)
    }

    #[test]
    fn nothing_grows_without_news_or_in_fast_recovery() {
        let news = acked(1500, 9000, 7500, true);
        for (what, acked, cwnd) in [
            ("news", news, 10_500),
            ("nothing acknowledged", Acked { acked_bytes: 0, ..news }, 9000),
            ("fast recovery", Acked { in_recovery: true, ..news }, 9000),
        ] {
            let mut it = controller(9000, 90_000, 7);
            it.on_ack(&at(0), &acked);
            assert_eq!(it.cwnd(), cwnd, "{what}");
        }
    }

    #[test]
    fn one_reduction_per_recovery_and_none_for_damage() {
        let loss = Loss::default();
        for (what, loss, after) in [
            ("a loss", loss, (20_000, 20_000, 0)),
            (
                "another one in the recovery",
                Loss { in_recovery: true, ..loss },
                (40_000, 99_000, 7),
            ),
            ("damage", Loss { cause: LossCause::DropReport, ..loss }, (40_000, 99_000, 7)),
        ] {
            let mut it = controller(40_000, 99_000, 7);
            it.on_loss(&at(0), &loss);
            assert_eq!(state(&it), after, "{what}");
            assert_eq!((it.cwnd(), it.ssthresh()), (after.0, Some(after.1)), "{what}");
        }
    }

    #[test]
    fn one_reduction_per_round_trip_of_marks_and_none_is_taken_back() {
        let marks = EcnMarks { packets: 1, in_recovery: false };
        for (what, cwnd, marks, after) in [
            ("a mark", 40_000, marks, (20_000, 20_000, 0)),
            ("another one", 40_000, EcnMarks { in_recovery: true, ..marks }, (40_000, 99_000, 7)),
            ("no mark", 40_000, EcnMarks { packets: 0, ..marks }, (40_000, 99_000, 7)),
            ("in the smallest window", 3000, marks, (3000, 6000, 0)),
        ] {
            let mut it = controller(cwnd, 99_000, 7);
            it.on_ecn(&at(0), &marks);
            assert_eq!(state(&it), after, "{what}");
        }
        let mut it = controller(40_000, 99_000, 7);
        it.on_loss(&at(0), &Loss::default());
        it.on_ecn(&at(1), &marks);
        it.on_spurious_loss(&at(2), &SpuriousLoss::default());
        assert_eq!(
            state(&it),
            (10_000, 10_000, 0),
            "the mark was congestion, whatever the loss was"
        );
    }

    #[test]
    fn a_loss_that_was_none_is_taken_back_once() {
        let (loss, spurious) = (Loss::default(), SpuriousLoss::default());
        let mut it = controller(40_000, 99_000, 7);
        it.on_spurious_loss(&at(0), &spurious);
        assert_eq!(state(&it), (40_000, 99_000, 7), "nothing to take back");
        it.on_loss(&at(0), &loss);
        it.on_spurious_loss(&at(1), &spurious);
        assert_eq!(state(&it), (40_000, 99_000, 7));
        it.window.cwnd = 20_000;
        it.on_spurious_loss(&at(2), &spurious);
        assert_eq!(state(&it), (20_000, 99_000, 7), "once");

        it.on_loss(&at(3), &loss);
        it.window.cwnd = 30_000;
        it.on_spurious_loss(&at(4), &spurious);
        assert_eq!(state(&it).0, 30_000, "it has become larger since");

        let mut it = controller(40_000, 99_000, 7);
        (0..2).for_each(|ms| it.on_loss(&at(ms), &loss));
        it.on_spurious_loss(&at(2), &spurious);
        assert_eq!(state(&it), (20_000, 20_000, 0), "the first of two losses was one");

        let mut it = controller(40_000, 99_000, 7);
        (0..3).for_each(|_| it.on_timeout(&at(0), &Timeout { flight_before: 40_000 }));
        assert_eq!(it.cwnd(), P.unit);
        it.on_spurious_loss(&at(1), &spurious);
        assert_eq!(state(&it), (40_000, 99_000, 7), "the first of several timeouts counts");
    }

    #[test]
    fn a_pause_and_a_correction_change_the_window() {
        let mut it = controller(40_000, 10_000, 7);
        it.on_idle(&at(0), &Idle { periods: 1, pause: Pause::Begins });
        assert_eq!(state(&it), (20_000, 40_000, 0));
        for (cause, ssthresh, after) in [
            (CorrectionCause::Blocking, None, (8000, 30_000, 7)),
            (CorrectionCause::Burst, Some(5000), (8000, 5000, 7)),
            (CorrectionCause::Restart, Some(5000), (8000, 5000, 0)),
        ] {
            let mut it = controller(40_000, 30_000, 7);
            it.on_correction(&at(0), &Correction { cause, cwnd: 8000, ssthresh });
            assert_eq!(state(&it), after, "{cause:?}");
        }
    }

    #[test]
    fn bytes_between_losses_are_counted_for_the_group() {
        let mut it = Aimd::new(CongestionAlgorithm::Olia, &NewPath::new(P, 9000, 90_000));
        assert_eq!(it.between_losses(), 0);
        it.on_ack(&at(0), &acked(1500, 9000, 7500, true));
        it.on_ack(&at(0), &acked(3000, 9000, 6000, true));
        assert_eq!(it.between_losses(), 4500);
        it.on_loss(&at(0), &Loss::default());
        assert_eq!(it.between_losses(), 4500, "the longer one of the last two");
    }
}
