//! The formulas of RFC 9438, reckoned by hand, on a path with a unit of 1,000 bytes and a round trip of 100 ms.

use super::*;
use crate::congestion::testing::acked;
use crate::congestion::{Parameters, Pause};

const UNIT: u64 = 1000;
const P: Parameters = Parameters::plain(UNIT, 2 * UNIT);

fn at(ms: u64) -> Context<'static> {
    let round_trip = Some(Duration::from_millis(100));
    let now = Instant::ZERO + Duration::from_millis(ms);
    Context { srtt: round_trip, smallest_rtt: round_trip, ..Context::new(now, &P) }
}

/// A path with this window, at its start.
fn cubic(units: u64) -> Cubic {
    Cubic::new(&NewPath::new(P, units * UNIT, u64::MAX))
}

/// The same after a loss.
fn after_loss(units: u64) -> Cubic {
    let mut it = cubic(units);
    it.on_loss(&at(0), &Loss::default());
    it
}

/// Acknowledges bytes of a full window in order.
fn ack(it: &mut Cubic, ms: u64, bytes: u64) {
    let flight = it.cwnd();
    it.on_ack(&at(ms), &acked(bytes, flight, flight - bytes.min(flight), true));
}

#[test]
fn a_loss_leaves_seven_tenths_and_the_plateau_moves() {
    let mut it = after_loss(100);
    assert_eq!((it.cwnd(), it.ssthresh(), it.plateau), (70_000, Some(70_000), Some(100_000)));
    for (cwnd, left, plateau) in [
        // Below the plateau: 90 x 1.7 / 2, and 70 x 1.7 / 2.
        (90_000, 63_000, 76_500),
        (70_000, 49_000, 59_500),
        // Above it, and at it.
        (120_000, 84_000, 120_000),
        (120_000, 84_000, 120_000),
        // Not below two units.
        (2500, 2000, 2125),
    ] {
        it.window.cwnd = cwnd;
        it.on_loss(&at(0), &Loss::default());
        assert_eq!((it.cwnd(), it.ssthresh()), (left, Some(left)), "{cwnd}");
        assert_eq!((it.plateau, it.prior), (Some(plateau), cwnd), "{cwnd}");
    }
}

#[test]
fn one_reduction_per_recovery_and_none_for_damage() {
    let mut it = cubic(100);
    for loss in [
        Loss { in_recovery: true, ..Loss::default() },
        Loss { cause: LossCause::DropReport, ..Loss::default() },
    ] {
        it.on_loss(&at(0), &loss);
        assert_eq!(it.cwnd(), 100_000, "{loss:?}");
    }
    let mut recovering = cubic(100);
    recovering.on_ack(&at(0), &Acked { in_recovery: true, ..acked(2000, 100_000, 98_000, true) });
    assert_eq!(recovering.cwnd(), 100_000);
    let mut marks = cubic(100);
    for (packets, in_recovery, cwnd) in
        [(0, false, 100_000), (1, false, 70_000), (1, true, 70_000), (1, false, 49_000)]
    {
        marks.on_ecn(&at(0), &EcnMarks { packets, in_recovery });
        assert_eq!(marks.cwnd(), cwnd, "{packets} marks, recovery: {in_recovery}");
    }
    marks.on_spurious_loss(&at(1), &SpuriousLoss::default());
    assert_eq!(marks.cwnd(), 49_000, "a mark is never spurious");
}

/// W_cubic is 100 - 0.4 (4.217163 - t)^3 units.
#[test]
fn steps_on_the_curve() {
    let mut it = after_loss(100);
    // The curve begins with the first acknowledgement.
    ack(&mut it, 0, 1);
    assert_eq!(it.cwnd(), 70_000);
    // The target is W_cubic(1.1) = 87.8867; a tenth of the window is a tenth of the way.
    ack(&mut it, 1000, 7000);
    assert!(it.cwnd().abs_diff(71_789) <= 1, "{}", it.cwnd());
    // A second later all of the window is acknowledged: the window is the target, W_cubic(2.1) = 96.2041.
    let window = it.cwnd();
    ack(&mut it, 2000, window);
    assert!(it.cwnd().abs_diff(96_204) <= 2, "{}", it.cwnd());
    // Never more than half as much again in a round trip.
    let window = it.cwnd();
    ack(&mut it, 60_000, window);
    assert_eq!(it.cwnd(), window + window / 2);
}

/// alpha is 9/17 until Reno's window is as large as it was at the loss, and 1 from then on.
#[test]
fn small_windows_grow_as_those_of_reno() {
    let mut it = after_loss(10);
    ack(&mut it, 0, 1000);
    // 7 + 9/17 x 1/7 units.
    assert_eq!(it.cwnd(), 7075);
    let mut stage = Stage::new(&at(0), 9_990, Some(10_000));
    // 9/17 of 0.1001 units, to 10.043; then 0.1 units.
    assert_eq!(stage.reno_window(9990, 10_000, 1000, UNIT), 10_042);
    assert_eq!(stage.reno_window(10_000, 10_000, 1000, UNIT), 10_142);
}

#[test]
fn a_window_grows_by_what_is_acknowledged_in_however_many_sacks() {
    let grown = |sacks: u64| {
        let mut it = after_loss(100);
        ack(&mut it, 0, 1);
        (0..sacks).for_each(|_| ack(&mut it, 2000, 1000 / sacks));
        it.cwnd() - 70_000
    };
    // 26.2 units below where the curve is a round trip later: each byte adds three eighths of one.
    assert!((370..380).contains(&grown(1)), "{}", grown(1));
    assert!(grown(1).abs_diff(grown(1000)) <= 10, "{}", grown(1000));
}

/// Section 4.3: 9 / 17 of a unit per window, and a whole one from the window before the last loss on.
#[test]
fn the_window_of_reno_grows_faster_where_it_has_been_before() {
    for (prior, grows_by) in [(100_001, 529), (100_000, 1000), (99_999, 1000)] {
        let mut stage = Stage::new(&at(0), 100_000, None);
        assert_eq!(stage.reno_window(100_000, prior, 100_000, UNIT), 100_000 + grows_by, "{prior}");
    }
}

#[test]
fn a_window_that_is_not_used_does_not_grow_and_time_stands_still() {
    let mut used = after_loss(100);
    let mut paused = used.clone();
    for ms in [0, 1000] {
        ack(&mut used, ms, 10_000);
    }
    ack(&mut paused, 0, 10_000);
    let before = paused.cwnd();
    // From 1.0 to 3.0 s a tenth of the window is outstanding.
    for ms in [1000, 2000] {
        paused.on_ack(&at(ms), &acked(1000, 7000, 6000, true));
        assert_eq!(paused.cwnd(), before);
    }
    ack(&mut paused, 3000, 10_000);
    let late = Stage { since: at(2000).now, ..used.stage.unwrap() };
    assert_eq!(paused.stage.unwrap().since, late.since);
    let target = late.curve.window(Duration::from_millis(1100));
    assert!(paused.cwnd() > before && paused.cwnd() < target);
}

#[test]
fn what_arrives_beyond_a_gap_counts_when_the_gap_closes() {
    let mut it = cubic(10);
    it.on_ack(&at(0), &acked(2000, 10_000, 8000, false));
    assert_eq!(it.cwnd(), 10_000);
    it.on_ack(&at(0), &acked(1000, 10_000, 9000, true));
    assert_eq!(it.cwnd(), 13_000);
    it.on_ack(&at(0), &acked(2000, 13_000, 11_000, false));
    it.on_loss(&at(0), &Loss::default());
    ack(&mut it, 0, 910);
    // Seven tenths, and Reno's step: nothing of what came before the loss.
    assert_eq!(it.cwnd(), 9100 + 52);
}

#[test]
fn slow_start_needs_half_a_window() {
    for (flight, cwnd) in [(10_000, 12_000), (5000, 12_000), (4999, 10_000)] {
        let mut it = cubic(10);
        it.on_ack(&at(0), &acked(2000, flight, flight - 2000, true));
        assert_eq!(it.cwnd(), cwnd, "{flight}");
    }
}

#[test]
fn a_timeout_starts_anew_and_the_plateau_is_where_slow_start_ends() {
    let mut it = after_loss(100);
    it.window.cwnd = 80_000;
    it.on_timeout(&at(0), &Timeout::default());
    assert_eq!((it.cwnd(), it.ssthresh(), it.plateau), (1000, Some(56_000), None));
    it.on_timeout(&at(1000), &Timeout::default());
    assert_eq!((it.cwnd(), it.ssthresh()), (1000, Some(56_000)), "the same loss");
    while it.is_in_slow_start() {
        let window = it.cwnd();
        ack(&mut it, 2000, window.min(8000));
    }
    assert_eq!(it.cwnd(), 56_000);
    ack(&mut it, 3000, 1000);
    assert_eq!((it.plateau, it.stage.unwrap().curve.k()), (Some(56_000), Duration::ZERO));
}

#[test]
fn a_spurious_loss_is_taken_back() {
    let mut it = after_loss(100);
    ack(&mut it, 1000, 10_000);
    let before = it.clone();
    for reduce in [
        (|it: &mut Cubic| it.on_loss(&at(2000), &Loss::default())) as fn(&mut Cubic),
        |it| it.on_timeout(&at(2000), &Timeout::default()),
        |it| {
            it.on_timeout(&at(2000), &Timeout::default());
            it.on_timeout(&at(4000), &Timeout::default());
        },
    ] {
        let mut it = before.clone();
        reduce(&mut it);
        assert!(it.cwnd() < before.cwnd());
        it.on_spurious_loss(&at(4100), &SpuriousLoss::default());
        assert_eq!(
            (it.window, it.plateau, it.prior),
            (before.window, before.plateau, before.prior)
        );
        assert_eq!(it.stage, before.stage);
        it.window.cwnd = 1;
        it.on_spurious_loss(&at(4200), &SpuriousLoss::default());
        assert_eq!(it.cwnd(), 1, "once");
    }
    // Where the window has grown beyond what it was, it stays.
    let mut it = before.clone();
    it.on_loss(&at(2000), &Loss::default());
    it.window.cwnd = 200_000;
    it.on_spurious_loss(&at(2100), &SpuriousLoss::default());
    assert_eq!(it.cwnd(), 200_000);
}

#[test]
fn a_pause_ends_the_stage_where_it_changes_the_window() {
    let mut it = after_loss(100);
    ack(&mut it, 0, 1000);
    it.on_idle(&at(3000), &Idle { periods: 1, pause: Pause::Begins });
    assert_eq!((it.cwnd(), it.stage), (35_003, None), "halved, as RFC 9260 says");
    assert_eq!(it.ssthresh(), Some(70_007));
}

#[test]
fn a_correction_sets_the_window_and_may_begin_anew() {
    for (cause, ssthresh, keeps_curve) in [
        (CorrectionCause::Blocking, None, true),
        (CorrectionCause::Burst, Some(9000), true),
        (CorrectionCause::Restart, Some(9000), false),
        (CorrectionCause::BottleneckFull, Some(9000), false),
    ] {
        let mut it = after_loss(100);
        ack(&mut it, 1, 1000);
        let before = it.cwnd();
        assert!(it.stage.is_some() && before > 70_000);
        it.on_correction(&at(0), &Correction { cause, cwnd: 8000, ssthresh });
        assert_eq!(
            (it.cwnd(), it.ssthresh()),
            (8000, Some(ssthresh.unwrap_or(70_000))),
            "{cause:?}"
        );
        assert_eq!(it.stage.is_some(), keeps_curve, "{cause:?}");
    }
}

#[test]
fn a_window_that_has_grown_back_is_not_restored() {
    for (cwnd, ssthresh) in [(99_999, u64::MAX), (100_000, 70_000)] {
        let mut it = after_loss(100);
        it.window.cwnd = cwnd;
        it.on_spurious_loss(&at(0), &SpuriousLoss { chunks: 1 });
        assert_eq!((it.cwnd(), it.ssthresh()), (100_000, Some(ssthresh)), "{cwnd}");
    }
}

#[test]
fn rates() {
    let mut it = cubic(10);
    assert_eq!(it.pacing_rate(), None, "without a round trip");
    // Two windows of 10,000 bytes in 100 ms, then five quarters of 7,000 bytes.
    it.on_ack(&at(0), &acked(0, 10_000, 10_000, false));
    assert_eq!(it.pacing_rate().unwrap().as_bits_per_second(), 1_600_000);
    it.on_loss(&at(0), &Loss::default());
    assert_eq!(it.pacing_rate().unwrap().as_bits_per_second(), 700_000);
}

#[test]
fn the_largest_numbers_do_no_harm() {
    let path = NewPath::new(Parameters::plain(u64::MAX, 0), u64::MAX, u64::MAX);
    let cx = Context { path: &path.path, ..at(u64::MAX / 2_000_000) };
    let mut it = Cubic::new(&path);
    let everything = acked(u64::MAX, u64::MAX, 0, true);
    for _ in 0..3 {
        it.on_ack(&cx, &everything);
        it.on_loss(&cx, &Loss::default());
        it.on_ack(&cx, &everything);
        it.on_timeout(&cx, &Timeout::default());
        it.on_sent(&cx, &Sent::default());
    }
    assert!(it.pacing_rate().is_some());
}
