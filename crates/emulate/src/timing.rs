//! How well the emulation kept up with the clock.

use polypath_units::{Duration, Instant};
use polypath_workload::DelayMeter;
use serde::Serialize;

/// What is later than this counts as lost time.
pub(crate) const BEHIND: Duration = Duration::from_millis(1);

/// Times by which things came too late, in short; without any, there are no values.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub struct Lateness {
    /// How many there were.
    pub count: u64,
    /// Median.
    pub p50_s: Option<f64>,
    /// 99th percentile.
    pub p99_s: Option<f64>,
    /// Longest.
    pub max_s: Option<f64>,
}

/// How well the emulation kept up with the clock.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub struct TimingOutcome {
    /// Packets to programs: from when a link delivered them, in virtual time, to when the system had them.
    pub deliveries: Lateness,
    /// Wake-ups by the alarm: from the time it was set for to when the emulation ran. A packet of a program that comes
    /// meanwhile waits as long.
    pub wakeups: Lateness,
    /// Packets of programs: how long they can have waited at most before they entered the network, beside a wake-up. It is
    /// the time since nothing waited at their interface.
    pub intake: Lateness,
    /// Real time in which the emulation did not sleep.
    pub busy_s: f64,
    /// Part of the whole time that this is.
    pub busy_share: f64,
    /// Real time in which something was due, or packets of programs waited, for more than 1 ms.
    pub behind_s: f64,
    /// Part of the whole time that this is.
    pub behind_share: f64,
}

/// Measures it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Timing {
    deliveries: DelayMeter,
    wakeups: DelayMeter,
    intake: DelayMeter,
    busy: Duration,
    behind: Duration,
    /// Time up to here was counted.
    counted: Instant,
}

impl Timing {
    /// A packet that was due at `due` was handed over at `now`.
    pub fn delivered(&mut self, due: Instant, now: Instant) {
        self.deliveries.record(now.since(due));
        self.note(due, now);
    }

    /// The alarm was set for `due`, and the emulation runs again at `now`; it may have been woken before.
    pub fn woken(&mut self, due: Instant, now: Instant) {
        if now >= due {
            self.wakeups.record(now.since(due));
            self.note(due, now);
        }
    }

    /// A packet of a program entered the network at `now`; at `empty` its interface had none.
    pub fn taken(&mut self, empty: Instant, now: Instant) {
        self.intake.record(now.since(empty));
        self.note(empty, now);
    }

    /// The emulation did not sleep for this time.
    pub fn worked(&mut self, time: Duration) {
        self.busy += time;
    }

    /// Counts each stretch of time once, however many things were due in it.
    fn note(&mut self, due: Instant, now: Instant) {
        if now.since(due) > BEHIND {
            self.behind += now.since(due.max(self.counted));
            self.counted = self.counted.max(now);
        }
    }

    /// Everything, at the end.
    pub fn outcome(&self, now: Instant) -> TimingOutcome {
        let whole = now.as_secs_f64();
        let (behind, busy) = (self.behind.as_secs_f64(), self.busy.as_secs_f64());
        let share = |time: f64| if whole > 0.0 { (time / whole).min(1.0) } else { 0.0 };
        TimingOutcome {
            deliveries: Lateness::of(&self.deliveries),
            wakeups: Lateness::of(&self.wakeups),
            behind_s: behind,
            behind_share: share(behind),
            intake: Lateness::of(&self.intake),
            busy_s: busy,
            busy_share: share(busy),
        }
    }
}

impl Lateness {
    fn of(meter: &DelayMeter) -> Self {
        let seconds = |time: Option<Duration>| time.map(Duration::as_secs_f64);
        Self {
            count: meter.count(),
            p50_s: seconds(meter.percentile(50)),
            p99_s: seconds(meter.percentile(99)),
            max_s: seconds(meter.max()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn us(us: u64) -> Instant {
        Instant::ZERO + Duration::from_micros(us)
    }

    #[test]
    fn a_stretch_of_time_counts_once() {
        let mut timing = Timing::default();
        timing.woken(us(1_000), us(1_900));
        timing.delivered(us(5_000), us(6_000));
        assert_eq!(timing.outcome(us(10_000)).behind_s, 0.0, "a millisecond is none");
        // Due at 10 ms, run at 13 ms; what was due meanwhile is handed over until 14 ms.
        timing.woken(us(10_000), us(13_000));
        timing.delivered(us(10_000), us(13_500));
        timing.delivered(us(12_000), us(14_000));
        timing.delivered(us(13_900), us(14_100));
        let outcome = timing.outcome(us(20_000));
        assert!((outcome.behind_s - 0.004).abs() < 1e-9, "{outcome:?}");
        assert!((outcome.behind_share - 0.2).abs() < 1e-9);
        assert_eq!((outcome.deliveries.count, outcome.wakeups.count), (4, 2));
        assert_eq!(outcome.deliveries.max_s, Some(0.0035));
    }

    #[test]
    fn packets_that_wait_are_time_behind() {
        let mut timing = Timing::default();
        timing.taken(us(500), us(1_500));
        assert_eq!(timing.outcome(us(10_000)).behind_s, 0.0, "a millisecond is none");
        // An interface that is never empty; what is due meanwhile counts once.
        timing.taken(us(2_000), us(3_500));
        timing.delivered(us(2_500), us(4_000));
        timing.taken(us(2_000), us(5_000));
        timing.worked(Duration::from_millis(4));
        let outcome = timing.outcome(us(10_000));
        assert!((outcome.behind_s - 0.003).abs() < 1e-9, "{outcome:?}");
        assert_eq!((outcome.intake.count, outcome.intake.max_s), (3, Some(0.003)));
        assert_eq!((outcome.busy_s, outcome.busy_share), (0.004, 0.4));
    }

    #[test]
    fn whoever_is_woken_early_was_not_late() {
        let mut timing = Timing::default();
        timing.woken(us(10_000), us(400));
        let outcome = timing.outcome(us(1_000));
        assert_eq!((outcome.wakeups.count, outcome.behind_s), (0, 0.0));
    }
}
