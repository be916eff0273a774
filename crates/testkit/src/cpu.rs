//! Time that this program used, for benchmarks on machines that others use, too.

use std::time::Instant;

/// CPU time since a start; time of the wall where the system does not tell.
#[derive(Clone, Copy, Debug)]
pub struct CpuClock {
    wall: Instant,
    begin: Option<u64>,
}

impl CpuClock {
    /// Begins to measure.
    pub fn start() -> Self {
        Self { wall: Instant::now(), begin: run_time() }
    }

    /// Seconds that the main thread has run since.
    pub fn seconds(&self) -> f64 {
        match (self.begin, run_time()) {
            (Some(begin), Some(now)) => now.saturating_sub(begin) as f64 / 1e9,
            _ => self.wall.elapsed().as_secs_f64(),
        }
    }
}

/// Nanoseconds that the main thread has run.
fn run_time() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/schedstat").ok()?;
    text.split_whitespace().next()?.parse().ok()
}
