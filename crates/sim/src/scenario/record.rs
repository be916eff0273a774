//! What a run records beside its summary.

use polypath_units::Duration;
use serde::{Deserialize, Serialize};

/// What a run records beside its summary. Recording changes no run, and what is off costs nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Record {
    /// Interval of the time series of goodput and windows. Default: no time series.
    pub series: Option<Duration>,
    /// Whether time series include the queue at each bottleneck. Default: `off`.
    #[serde(skip_serializing_if = "Switch::is_off")]
    pub queues: Switch,
    /// Sampling interval of the mean buffer occupancy.
    pub occupancy: Duration,
    /// Every change of windows, round-trip times, path states, the peer's receive window and buffers, with its time.
    pub changes: Switch,
    /// The life of each TSN (sent, retransmitted, received, delivered, acknowledged), and delivery stalls.
    pub tsns: Detail,
    /// Times for which full buffers blocked the sender, with the TSN and the path that it waited for.
    pub blocking: Detail,
    /// Consecutive timeouts, and how outages were detected.
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
    /// The same without time series and lists, as the summaries of results need it.
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

    /// Whether anything needs a probe.
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
    /// Not recorded.
    #[default]
    Off,
    /// Recorded.
    On,
}

impl Switch {
    /// Whether nothing is recorded.
    pub fn is_off(&self) -> bool {
        *self == Self::Off
    }
}

/// Detail of a record.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Detail {
    /// Nothing.
    #[default]
    Off,
    /// Sums, means and other statistics.
    Summary,
    /// These, and the single events among the series.
    List,
}
