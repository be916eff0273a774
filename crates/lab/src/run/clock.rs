//! Processor time of a thread.

/// Measures the processor time of the calling thread, which does not depend on other programs on the machine.
pub(super) struct Clock(f64);

impl Clock {
    /// Starts counting.
    pub fn start() -> Self {
        Self(now_s())
    }

    /// Seconds since the start.
    pub fn elapsed_s(&self) -> f64 {
        now_s() - self.0
    }
}

#[cfg(unix)]
fn now_s() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

/// On systems without such a clock, wall-clock time counts.
#[cfg(not(unix))]
fn now_s() -> f64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    now.unwrap_or_default().as_secs_f64()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares processor times only, so the load of the machine does not matter.
    #[test]
    #[cfg(unix)]
    fn what_another_thread_computes_costs_nothing() {
        let clock = Clock::start();
        let elsewhere = std::thread::spawn(|| {
            let clock = Clock::start();
            while clock.elapsed_s() < 0.2 {
                std::hint::spin_loop();
            }
            clock.elapsed_s()
        });
        let elsewhere = elsewhere.join().expect("a thread that ends");
        assert!(clock.elapsed_s() < elsewhere, "{elsewhere} s elsewhere");
        assert!(clock.elapsed_s() >= 0.0);
    }
}
