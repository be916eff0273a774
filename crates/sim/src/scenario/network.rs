//! The network of a scenario and what goes wrong in it.

use std::fmt;

use polypath_netsim::QueueConfig;
use polypath_netsim::queue_discipline::Limit;
use polypath_netsim::topology::IpVersion;
use polypath_units::{BitRate, ByteCount, Duration, Fraction, Instant};
use serde::de::Visitor;
use serde::{Deserialize, Deserializer};

/// The network between the hosts.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Network {
    /// Paths that share nothing.
    Disjoint(DisjointNetwork),
}

impl Network {
    /// Its paths.
    pub fn paths(&self) -> &[WirePath] {
        match self {
            Self::Disjoint(network) => &network.paths,
        }
    }
}

/// Hosts a and b joined by paths that share nothing: each has its own interface at both hosts.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DisjointNetwork {
    /// Version of the addresses.
    #[serde(default)]
    pub ip: IpVersion,
    /// The paths; their number is that of the addresses of each host.
    pub paths: Vec<WirePath>,
}

/// One path through the network.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WirePath {
    /// Name in results and captures.
    pub name: String,
    /// Links from each host to a router of its own; without them the bottleneck joins the hosts directly.
    #[serde(default)]
    pub access: Option<Access>,
    /// The link in the middle.
    pub bottleneck: Link,
}

/// The links between the hosts and the routers, equal at both ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Access {
    /// Rate in each direction.
    pub rate: BitRate,
    /// Propagation delay, one way.
    #[serde(default)]
    pub delay: Duration,
    /// Bytes that the link layer adds to each packet.
    #[serde(default)]
    pub framing: ByteCount,
    /// What waits for the transmitter; 10,000 packets where it is missing.
    #[serde(default = "ample_queue")]
    pub queue: QueueConfig,
}

fn ample_queue() -> QueueConfig {
    QueueConfig::DropTail(Limit::Packets(10_000))
}

/// A link, equal in both directions but for losses.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// Rate in each direction.
    pub rate: BitRate,
    /// Propagation delay, one way.
    pub delay: Duration,
    /// Bytes that the link layer adds to each packet.
    #[serde(default)]
    pub framing: ByteCount,
    /// What waits for the transmitter; drop-tail with 100 packets where it is missing.
    #[serde(default)]
    pub queue: QueueConfig,
    /// Packets lost at random.
    #[serde(default)]
    pub loss: Loss,
}

/// Probability with which a packet is lost, the same for every packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Loss {
    /// From host a to host b.
    #[serde(deserialize_with = "per_cent")]
    pub forward: Fraction,
    /// From host b to host a.
    #[serde(deserialize_with = "per_cent")]
    pub backward: Fraction,
}

/// Reads a share that says its unit: `1` could be one per cent or all of it.
pub(super) fn per_cent<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Fraction, D::Error> {
    struct PerCent;
    impl Visitor<'_> for PerCent {
        type Value = Fraction;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a share in per cent as text, for example \"1 %\"")
        }

        fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Fraction, E> {
            let fraction = text.parse().map_err(E::custom)?;
            if text.contains('%') {
                return Ok(fraction);
            }
            Err(E::custom(format_args!(
                "the share `{text}` has no unit: write per cent, for example \"1 %\""
            )))
        }
    }
    deserializer.deserialize_str(PerCent)
}

/// Something that goes wrong.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fault {
    /// The bottleneck of a path carries nothing for a time.
    Outage(OutageFault),
}

/// A time in which the bottleneck of a path carries nothing.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OutageFault {
    /// Name of the path.
    pub path: String,
    /// When it begins.
    pub from: Instant,
    /// When it ends; missing where it does not.
    #[serde(default)]
    pub until: Option<Instant>,
    /// Which way nothing passes.
    #[serde(default)]
    pub way: Way,
}

/// Ways along a path.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Way {
    /// From host a to host b.
    Forward,
    /// From host b to host a.
    Backward,
    /// Both.
    #[default]
    Both,
}

impl Way {
    /// Whether both mean a common direction.
    pub(super) fn meets(self, other: Self) -> bool {
        self == other || self == Self::Both || other == Self::Both
    }
}
