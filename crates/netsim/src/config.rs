//! Parameters of links.

use std::sync::Arc;

use polypath_units::{BitRate, ByteCount, Duration, Fraction};

use crate::impair::{
    BitErrorConfig, GilbertElliottConfig, JitterConfig, Outage, PacketNumbers, RateTrace,
    ReorderingConfig, Step, hit_probability,
};
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
    /// Largest IP packet that it carries, in bytes; larger ones are dropped silently, as by a
    /// router behind which ICMP is filtered, unless they may be fragmented. Default: no limit.
    #[cfg_attr(feature = "serde", serde(default))]
    pub mtu: Option<ByteCount>,
    /// What waits for the transmitter.
    #[cfg_attr(feature = "serde", serde(default))]
    pub queue: QueueConfig,
    /// Probability with which each packet is lost on the medium.
    #[cfg_attr(feature = "serde", serde(default))]
    pub uniform_loss: Fraction,
    /// Packets that are lost, by their number among those that reach the far end, or would.
    #[cfg_attr(feature = "serde", serde(default))]
    pub lost_packets: PacketNumbers,
    /// Losses in bursts.
    #[cfg_attr(feature = "serde", serde(default))]
    pub gilbert_elliott: Option<GilbertElliottConfig>,
    /// Bit errors.
    #[cfg_attr(feature = "serde", serde(default))]
    pub bit_errors: Option<BitErrorConfig>,
    /// Delays that vary.
    #[cfg_attr(feature = "serde", serde(default))]
    pub jitter: Option<JitterConfig>,
    /// Packets that come late.
    #[cfg_attr(feature = "serde", serde(default))]
    pub reordering: Option<ReorderingConfig>,
    /// Probability with which a packet arrives twice; the copy comes right behind it.
    #[cfg_attr(feature = "serde", serde(default))]
    pub duplication: Fraction,
    /// When the channel is down, in order of time.
    #[cfg_attr(feature = "serde", serde(default))]
    pub outages: Vec<Outage>,
    /// When rate, delay, loss or MTU change, in order of time.
    #[cfg_attr(feature = "serde", serde(default))]
    pub steps: Vec<Step>,
    /// What the channel can carry over time; not part of the written form, since traces are files of their own.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub rate_trace: Option<Arc<RateTrace>>,
}

impl ChannelConfig {
    /// A channel without framing and impairments, and the default queue.
    pub fn new(rate: BitRate, delay: Duration) -> Self {
        Self {
            rate,
            delay,
            framing: ByteCount::ZERO,
            mtu: None,
            queue: QueueConfig::default(),
            uniform_loss: Fraction::ZERO,
            lost_packets: PacketNumbers::default(),
            gilbert_elliott: None,
            bit_errors: None,
            jitter: None,
            reordering: None,
            duplication: Fraction::ZERO,
            outages: Vec::new(),
            steps: Vec::new(),
            rate_trace: None,
        }
    }

    /// Part of the IP packets of `bytes` that is lost on the medium in the long run, or damaged, at the probabilities
    /// that the channel begins with, or has in the mean where a trace has them. Queues and outages are not in it.
    pub fn mean_loss(&self, bytes: u32) -> f64 {
        let bits = self.framing.as_bytes().saturating_add(bytes.into()).saturating_mul(8);
        let hit = self.bit_errors.map_or(0.0, |errors| hit_probability(errors.rate, bits));
        let bursts = self.gilbert_elliott.map_or(0.0, |bursts| bursts.mean_loss());
        let traced = self.rate_trace.as_ref().and_then(|trace| trace.mean_loss());
        let uniform = traced.unwrap_or(self.uniform_loss.as_f64());
        1.0 - (1.0 - uniform) * (1.0 - bursts) * (1.0 - hit)
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
