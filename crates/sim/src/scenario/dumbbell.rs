//! Dumbbells side by side, with single-homed hosts for cross traffic.

use polypath_netsim::topology::IpVersion;
use polypath_units::{BitRate, ByteCount, Duration};
use serde::{Deserialize, Serialize};

use super::link::ample_queue;
use super::{Access, Link, Queue};
use crate::document::Step;

use Step::{Index, Key};

/// Hosts a and b with a path through each of several dumbbells (two of them: `natarajan` fig. 7), and single-homed
/// hosts at the routers for cross traffic.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct DumbbellNetwork {
    /// Version of the addresses.
    #[serde(default)]
    pub ip: IpVersion,
    /// The dumbbells; each is a path between a and b.
    pub paths: Vec<DumbbellPath>,
}

/// A dumbbell.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct DumbbellPath {
    /// Name of the path between a and b.
    pub name: String,
    /// Links of a and b to the routers.
    pub access: Access,
    /// The core link between the routers: faults, steps and results refer to it.
    pub bottleneck: Link,
    /// Single-homed hosts at the routers. Default: none.
    #[serde(default)]
    pub cross: Option<CrossPlan>,
}

/// Pairs of single-homed hosts, one on each side of the core link. Those of pair k (from 1) are `PATH/cross-k/a` and
/// `PATH/cross-k/b`.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(
    deny_unknown_fields,
    expecting = "a table, for example { pairs = 10, rate = \"100 Mbit/s\" }"
)]
pub struct CrossPlan {
    /// Number of pairs.
    pub pairs: u8,
    /// Rate of their links in each direction.
    pub rate: BitRate,
    /// Propagation delay of their links, one way.
    #[serde(default)]
    pub delay: Duration,
    /// If set, the propagation delay of each link is drawn once per run, uniformly from `delay` to this value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay_max: Option<Duration>,
    /// Bytes that the link layer adds to each packet.
    #[serde(default)]
    pub framing: ByteCount,
    /// Queue of the transmitter. Default: drop-tail with 10,000 packets.
    #[serde(default = "ample_queue")]
    pub queue: Queue,
}

impl CrossPlan {
    /// Shortest and longest propagation delay.
    pub fn delays(&self) -> [Duration; 2] {
        [self.delay, self.delay_max.unwrap_or(self.delay)]
    }

    /// A link with a delay of its own.
    pub fn link(&self, delay: Duration) -> Access {
        let Self { rate, framing, queue, .. } = *self;
        Access { rate, delay, framing, queue }
    }
}

impl DumbbellPath {
    /// Round-trip propagation delay from a to b.
    pub fn round_trip(&self) -> Duration {
        self.access.delay * 4 + self.bottleneck.round_trip()
    }

    /// Names of the hosts of a pair.
    pub fn cross_names(&self, pair: u8) -> [String; 2] {
        ["a", "b"].map(|side| format!("{}/cross-{pair}/{side}", self.name))
    }
}

impl DumbbellNetwork {
    /// The core links, with the keys that lead to them.
    pub(super) fn written_links(&mut self) -> Vec<(Vec<Step<'static>>, &mut Link)> {
        let paths = self.paths.iter_mut().enumerate();
        let keys = |index| vec![Key("paths"), Index(index), Key("bottleneck")];
        paths.map(|(index, path)| (keys(index), &mut path.bottleneck)).collect()
    }
}
