//! What is written down beside the summary of a run.

use polypath_units::Duration;
use serde::{Deserialize, Serialize};

/// What is written down beside the summary. What is not asked for costs nothing, and nothing of it changes a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Record {
    /// Interval of the time series of goodput and windows. Default: no time series.
    pub series: Option<Duration>,
    /// Whether the series tell what waits at each bottleneck, too.
    #[serde(skip_serializing_if = "Switch::is_off")]
    pub queues: Switch,
    /// Interval at which the fill of the buffers is looked at for its mean.
    pub occupancy: Duration,
    /// Every change of windows, round-trip times and states of paths, of the peer's window and of the buffers, with the
    /// time at which it happened.
    pub changes: Switch,
    /// What becomes of each TSN: sent, retransmitted, received, delivered, acknowledged; and stalls of the delivery.
    pub tsns: Detail,
    /// Time in which buffers stop the sender, with the TSN and the path that it waits for.
    pub blocking: Detail,
    /// Timeouts in a row, and how failures of paths are noticed.
    pub timeouts: Detail,
}

impl Default for Record {
    fn default() -> Self {
        Self {
            series: None,
            queues: Switch::Off,
            occupancy: Duration::from_millis(10),
            changes: Switch::Off,
            tsns: Detail::Off,
            blocking: Detail::Off,
            timeouts: Detail::Off,
        }
    }
}

impl Record {
    /// The same without time series and lists: what the summaries of results need.
    #[must_use]
    pub fn without_lists(self) -> Self {
        let summary = |detail| if detail == Detail::List { Detail::Summary } else { detail };
        Self {
            series: None,
            queues: Switch::Off,
            occupancy: self.occupancy,
            changes: Switch::Off,
            tsns: summary(self.tsns),
            blocking: summary(self.blocking),
            timeouts: summary(self.timeouts),
        }
    }

    /// Whether there is something that only a probe sees.
    pub(crate) fn needs_probe(&self) -> bool {
        self.changes == Switch::On
            || [self.tsns, self.blocking, self.timeouts].iter().any(|detail| *detail != Detail::Off)
    }
}

/// Whether something is recorded.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Switch {
    /// No.
    #[default]
    Off,
    /// Yes.
    On,
}

impl Switch {
    /// Whether it is off.
    pub fn is_off(&self) -> bool {
        *self == Self::Off
    }
}

/// How much of something is recorded.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Detail {
    /// Nothing.
    #[default]
    Off,
    /// Sums, means and the like.
    Summary,
    /// These, and among the series the single events.
    List,
}
