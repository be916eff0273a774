//! Parameters of links.

use polypath_units::{BitRate, ByteCount, Duration, Fraction};

use crate::impair::Outage;
use crate::{NetworkId, QueueConfig};

/// Parameters of one direction of a link.
#[derive(Clone, PartialEq, Eq, Debug)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(deny_unknown_fields)
)]
pub struct ChannelConfig {
    /// Rate of the transmitter, counting framing; must not be zero.
    pub rate: BitRate,
    /// Propagation delay.
    pub delay: Duration,
    /// Bytes that the link layer adds to each IP packet on the wire: 7 for PPP as INET counts it, 38 for Ethernet with
    /// preamble, checksum and inter-frame gap.
    #[cfg_attr(feature = "serde", serde(default))]
    pub framing: ByteCount,
    /// What waits for the transmitter.
    #[cfg_attr(feature = "serde", serde(default))]
    pub queue: QueueConfig,
    /// Probability with which each packet is lost on the medium.
    #[cfg_attr(feature = "serde", serde(default))]
    pub uniform_loss: Fraction,
    /// When the channel is down, in order of time.
    #[cfg_attr(feature = "serde", serde(default))]
    pub outages: Vec<Outage>,
}

impl ChannelConfig {
    /// A channel without framing, losses and outages, and the default queue.
    pub fn new(rate: BitRate, delay: Duration) -> Self {
        Self {
            rate,
            delay,
            framing: ByteCount::ZERO,
            queue: QueueConfig::default(),
            uniform_loss: Fraction::ZERO,
            outages: Vec::new(),
        }
    }
}

/// Parameters of a full-duplex link.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LinkConfig {
    /// Its name, unique in the network; the random numbers of the link depend on it.
    pub name: String,
    /// Network that it belongs to.
    pub network: NetworkId,
    /// From the first end to the second.
    pub forward: ChannelConfig,
    /// From the second end to the first.
    pub backward: ChannelConfig,
}

impl LinkConfig {
    /// A link of all networks with equal directions.
    pub fn symmetric(name: impl Into<String>, both: ChannelConfig) -> Self {
        Self { name: name.into(), network: NetworkId::ANY, forward: both.clone(), backward: both }
    }

    /// A link of all networks.
    pub fn new(name: impl Into<String>, forward: ChannelConfig, backward: ChannelConfig) -> Self {
        Self { name: name.into(), network: NetworkId::ANY, forward, backward }
    }

    /// The same link in one network.
    #[must_use]
    pub fn in_network(self, network: NetworkId) -> Self {
        Self { network, ..self }
    }
}
