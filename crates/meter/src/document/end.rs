//! The results of a measurement.

use std::net::IpAddr;

use polypath::PathStats;
use serde::Serialize;

use super::{Blocked, CpuUtilization, Document, PathReport, StreamReport, Sum};

/// The results of a measurement.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct End {
    /// Each flow in each direction, as both sides report it.
    pub streams: Vec<BothSides>,
    /// What was sent: by the client, or by the server if only that sends.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sum_sent: Option<Sum>,
    /// What its receiver got of [`sum_sent`](Self::sum_sent).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sum_received: Option<Sum>,
    /// What the server sent, if both send.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sum_sent_bidir_reverse: Option<Sum>,
    /// What the client received of [`sum_sent_bidir_reverse`](Self::sum_sent_bidir_reverse).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sum_received_bidir_reverse: Option<Sum>,
    /// Each path, as this side reports it.
    pub paths: Vec<PathReport>,
    /// Each path, as the peer reports it.
    pub peer_paths: Vec<PathReport>,
    /// How long this side could not send, by cause.
    pub blocked: Blocked,
    /// How long the peer could not send, by cause.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peer_blocked: Option<Blocked>,
    /// How much of a processor each side took, in per cent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_utilization_percent: Option<CpuUtilization>,
    /// Number of received messages that do not belong to this measurement.
    pub malformed_messages: u64,
    /// The rate of all paths compared with each path alone, if these were measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gain: Option<Gain>,
    /// What was [required](crate::Requirements), and whether it was met.
    pub thresholds: Vec<Threshold>,
}

impl End {
    /// The rate of what was received, in bit/s; of both directions the lower one. `None` if one that was planned is unknown or
    /// does not count.
    pub fn received_rate(&self) -> Option<f64> {
        let reverse =
            self.sum_sent_bidir_reverse.as_ref().or(self.sum_received_bidir_reverse.as_ref());
        let rate = |sum: Option<Sum>| sum.filter(|sum| !sum.omitted).map(|sum| sum.bits_per_second);
        let first = rate(self.sum_received)?;
        match reverse {
            None => Some(first),
            Some(_) => Some(first.min(rate(self.sum_received_bidir_reverse)?)),
        }
    }

    /// The requirements that were not met.
    pub fn missed(&self) -> impl Iterator<Item = &Threshold> {
        self.thresholds.iter().filter(|threshold| !threshold.met)
    }
}

/// A flow in one direction.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct BothSides {
    /// Which way it goes.
    pub direction: FlowDirection,
    /// The report of its sender.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sender: Option<StreamReport>,
    /// The report of its receiver.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receiver: Option<StreamReport>,
}

/// Which way a flow goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum FlowDirection {
    /// The client sends.
    ToServer,
    /// The server sends.
    ToClient,
}

/// The rate of all paths together compared with each alone.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Gain {
    /// Rate of all together, divided by that of the best.
    pub ratio: f64,
    /// Rate of what was received over all paths together, in bit/s.
    pub bits_per_second: f64,
    /// Each path alone.
    pub alone: Vec<Alone>,
}

/// A path that was measured alone.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Alone {
    /// Name of the path.
    pub path: String,
    /// Address of the client.
    pub local_host: IpAddr,
    /// Address of the server.
    pub remote_host: IpAddr,
    /// Rate of what was received in bit/s; none if the measurement over this path was not completed or does not count.
    pub bits_per_second: Option<f64>,
}

impl Gain {
    /// Compares all paths together with the best of those alone; `None` if none of these has a rate, or all together have none.
    pub fn of(together: &Document, alone: Vec<Alone>) -> Option<Self> {
        let bits_per_second = together.rate()?;
        let best = alone.iter().filter_map(|alone| alone.bits_per_second).fold(0.0, f64::max);
        (best > 0.0).then(|| Self { ratio: bits_per_second / best, bits_per_second, alone })
    }
}

impl Alone {
    /// The result for a path, from the measurement over it alone.
    pub fn new(path: &PathStats, document: &Document) -> Self {
        Self {
            path: path.path.to_string(),
            local_host: path.local,
            remote_host: path.remote,
            bits_per_second: document.rate(),
        }
    }
}

/// A requirement and its result.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Threshold {
    /// `rate` in bit/s, `gain` as a ratio, `p99` in seconds.
    pub name: String,
    /// The required value: a lower limit for `rate` and `gain`, an upper limit for `p99`.
    pub required: f64,
    /// The measured value; none if it is unknown.
    pub measured: Option<f64>,
    /// Whether the requirement is met. What is unknown is not.
    pub met: bool,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::labels::Labels;
    use crate::start;

    #[test]
    fn the_best_path_alone_is_the_measure() {
        let alone = |rate| Alone {
            path: "path0".to_owned(),
            local_host: IpAddr::from([192, 0, 2, 1]),
            remote_host: IpAddr::from([192, 0, 2, 2]),
            bits_per_second: rate,
        };
        let mut document = start::document(&Labels::new());
        document.end.sum_received = Some(Sum { bits_per_second: 3e6, ..Sum::default() });
        let both = || vec![alone(Some(1e6)), alone(None), alone(Some(2e6))];
        assert_eq!(Gain::of(&document, both()), None, "it is not complete");
        document.complete = true;
        assert_eq!(Gain::of(&document, both()).map(|gain| gain.ratio), Some(1.5));
        assert_eq!(Gain::of(&document, vec![alone(None)]), None);
    }
}
