//! Time on the wall as time of the simulator.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use nix::sys::time::TimeSpec;
use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};
use nix::time::{ClockId as Clocks, clock_gettime};
use polypath_units::Instant;

/// Measures the time since the start.
pub(crate) trait Clock {
    /// The present; never earlier than the last one returned.
    fn now(&self) -> Instant;
}

/// The monotonic clock of the system.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WallClock {
    /// Reading at the start, in nanoseconds.
    start: u64,
}

impl WallClock {
    /// A clock that starts now.
    pub fn start() -> Self {
        Self { start: monotonic() }
    }
}

impl Clock for WallClock {
    fn now(&self) -> Instant {
        Instant::from_nanos(monotonic().saturating_sub(self.start))
    }
}

fn monotonic() -> u64 {
    // The system has this clock always.
    let now = clock_gettime(Clocks::CLOCK_MONOTONIC).unwrap_or(TimeSpec::new(0, 0));
    let (seconds, nanos) = (now.tv_sec() as u64, now.tv_nsec() as u64);
    seconds.saturating_mul(1_000_000_000).saturating_add(nanos)
}

/// An alarm of the system to the nanosecond, which `poll` waits for. The time limits of `poll` itself are rounded up by
/// the slack that the system gives threads.
#[derive(Debug)]
pub(crate) struct Alarm {
    timer: TimerFd,
    clock: WallClock,
    set: Option<Instant>,
}

impl Alarm {
    /// An alarm on this clock.
    pub fn new(clock: WallClock) -> io::Result<Self> {
        let timer = TimerFd::new(ClockId::CLOCK_MONOTONIC, TimerFlags::TFD_CLOEXEC)?;
        Ok(Self { timer, clock, set: None })
    }

    /// Goes off at `at`, and not at any time set before.
    pub fn set(&mut self, at: Instant) -> io::Result<()> {
        if self.set.replace(at) == Some(at) {
            return Ok(());
        }
        // A time of zero would switch it off.
        let nanos = self.clock.start.saturating_add(at.as_nanos()).max(1);
        let time = TimeSpec::new((nanos / 1_000_000_000) as _, (nanos % 1_000_000_000) as _);
        self.timer.set(Expiration::OneShot(time), TimerSetTimeFlags::TFD_TIMER_ABSTIME)?;
        Ok(())
    }
}

impl AsFd for Alarm {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.timer.as_fd()
    }
}
