//! What came out.

use std::net::IpAddr;

use polypath::PathStats;
use serde::Serialize;

use super::{Blocked, CpuUtilization, Document, PathReport, StreamReport, Sum};
use crate::snapshot::path_name;

/// What came out.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct End {
    /// Each flow in each direction, as both sides saw it.
    pub streams: Vec<BothSides>,
    /// What was sent: by the client, or by the server if only that sends.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sum_sent: Option<Sum>,
    /// What was received of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sum_received: Option<Sum>,
    /// What the server sent, if both send.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sum_sent_bidir_reverse: Option<Sum>,
    /// What the client received of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sum_received_bidir_reverse: Option<Sum>,
    /// Each path, as this side saw it.
    pub paths: Vec<PathReport>,
    /// Each path, as the peer saw it.
    pub peer_paths: Vec<PathReport>,
    /// How long this side could not send, by cause.
    pub blocked: Blocked,
    /// How long the peer could not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peer_blocked: Option<Blocked>,
    /// How much of a processor each side took, in per cent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_utilization_percent: Option<CpuUtilization>,
    /// Messages that were none of this measurement.
    pub malformed_messages: u64,
    /// The rate against that of each path alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gain: Option<Gain>,
    /// What was required, and whether it was met.
    pub thresholds: Vec<Threshold>,
}

/// A flow in one direction.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct BothSides {
    /// Which way it goes.
    pub direction: Way,
    /// As its sender saw it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sender: Option<StreamReport>,
    /// As its receiver saw it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receiver: Option<StreamReport>,
}

/// Which way a flow goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Way {
    /// The client sends.
    ToServer,
    /// The server sends.
    ToClient,
}

/// The rate of all paths together against that of each alone.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Gain {
    /// Rate of all together by that of the best.
    pub ratio: f64,
    /// What was received over all paths.
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
    /// What was received; nothing if it did not work alone, or nothing of it counts.
    pub bits_per_second: Option<f64>,
}

impl Gain {
    /// All paths together against the best of those alone; `None` if none worked alone, or all together did not.
    pub fn of(together: &Document, alone: Vec<Alone>) -> Option<Self> {
        let bits_per_second = together.rate()?;
        let best = alone.iter().filter_map(|alone| alone.bits_per_second).fold(0.0, f64::max);
        (best > 0.0).then(|| Self { ratio: bits_per_second / best, bits_per_second, alone })
    }
}

impl Alone {
    /// A path, and the measurement over it alone.
    pub fn new(path: &PathStats, document: &Document) -> Self {
        Self {
            path: path_name(path),
            local_host: path.local,
            remote_host: path.remote,
            bits_per_second: document.rate(),
        }
    }
}

/// A requirement.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Threshold {
    /// `rate` in bit/s, `gain` as a ratio, `p99` in seconds.
    pub name: String,
    /// What was asked for.
    pub required: f64,
    /// What came out; nothing where it could not be told.
    pub measured: Option<f64>,
    /// Whether that is enough.
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
