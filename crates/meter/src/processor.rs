//! How much of a processor this process takes.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Time that all threads of this process have had of processors.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ProcessorTime {
    user: Duration,
    system: Duration,
}

/// Processor time of one end, in per cent of one processor; more than 100 if several are used.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct ProcessorShare {
    /// In the program itself.
    pub user: f64,
    /// In the system on its behalf.
    pub system: f64,
}

/// The shares of both ends, with the keys of iperf3. A server's is that of all its clients.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct CpuUtilization {
    /// This side.
    pub host_total: f64,
    /// This side, in the program itself.
    pub host_user: f64,
    /// This side, in the system.
    pub host_system: f64,
    /// The peer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remote_total: Option<f64>,
    /// The peer, in the program itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remote_user: Option<f64>,
    /// The peer, in the system.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remote_system: Option<f64>,
}

impl ProcessorTime {
    /// So far; `None` where the system does not report it.
    #[cfg(unix)]
    pub fn now() -> Option<Self> {
        use nix::sys::resource::{UsageWho, getrusage};
        use nix::sys::time::TimeVal;

        let whole = |time: TimeVal| {
            let seconds = u64::try_from(time.tv_sec()).ok()?;
            Some(
                Duration::from_secs(seconds)
                    + Duration::from_micros(u64::try_from(time.tv_usec()).ok()?),
            )
        };
        let usage = getrusage(UsageWho::RUSAGE_SELF).ok()?;
        Some(Self { user: whole(usage.user_time())?, system: whole(usage.system_time())? })
    }

    #[cfg(not(unix))]
    pub fn now() -> Option<Self> {
        None
    }

    /// The share since `before`, which is `wall` ago. Nothing if no time has passed.
    pub fn share_since(self, before: Self, wall: Duration) -> Option<ProcessorShare> {
        let percent = |now: Duration, before: Duration| {
            100.0 * now.saturating_sub(before).as_secs_f64() / wall.as_secs_f64()
        };
        (!wall.is_zero()).then(|| ProcessorShare {
            user: percent(self.user, before.user),
            system: percent(self.system, before.system),
        })
    }
}

impl ProcessorShare {
    /// Both together.
    pub fn total(self) -> f64 {
        self.user + self.system
    }
}

impl CpuUtilization {
    /// Of this side and, if it reported it, of the peer.
    pub(crate) fn new(host: ProcessorShare, remote: Option<ProcessorShare>) -> Self {
        Self {
            host_total: host.total(),
            host_user: host.user,
            host_system: host.system,
            remote_total: remote.map(ProcessorShare::total),
            remote_user: remote.map(|share| share.user),
            remote_system: remote.map(|share| share.system),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time(user_ms: u64, system_ms: u64) -> ProcessorTime {
        let [user, system] = [user_ms, system_ms].map(Duration::from_millis);
        ProcessorTime { user, system }
    }

    #[test]
    fn shares_are_of_one_processor() {
        let share =
            |wall_ms| time(1500, 700).share_since(time(500, 200), Duration::from_millis(wall_ms));
        assert_eq!(share(1000), Some(ProcessorShare { user: 100.0, system: 50.0 }));
        assert_eq!(share(2000).map(ProcessorShare::total), Some(75.0));
        assert_eq!(share(0), None);
    }

    #[cfg(unix)]
    #[test]
    fn work_is_seen() {
        let before = ProcessorTime::now().unwrap();
        // As much as it takes until the system's clock has ticked.
        while ProcessorTime::now().unwrap() == before {}
        assert!(
            ProcessorTime::now()
                .unwrap()
                .share_since(before, Duration::from_secs(1))
                .unwrap()
                .total()
                > 0.0
        );
    }
}
