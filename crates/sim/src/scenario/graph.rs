//! Any network: named nodes and links.

use polypath_netsim::Metric;
use polypath_netsim::impair::{
    BitErrorConfig, GilbertElliottConfig, JitterConfig, ReorderingConfig,
};
use polypath_netsim::topology::IpVersion;
use polypath_units::{BitRate, ByteCount, Duration, Fraction};
use serde::{Deserialize, Serialize};

use super::link::link_keys;
use super::{Link, LinkDirection, Loss, Queue, TraceFile};
use crate::document::Step;

use Step::{Index, Key};

/// Hosts and routers with any links between them. Each link belongs to a network or to all; addresses and routes are
/// computed for each network by itself (`dreibholz-model` section 4.3).
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct GraphNetwork {
    /// Version of the addresses.
    #[serde(default)]
    pub ip: IpVersion,
    /// How routes are chosen.
    #[serde(default)]
    pub metric: Metric,
    /// Names of the hosts, which send and receive. A host has an address for each of its links.
    pub hosts: Vec<String>,
    /// Names of the routers, which forward.
    #[serde(default)]
    pub routers: Vec<String>,
    /// The links.
    pub links: Vec<GraphLink>,
}

/// A link between two nodes. Faults, steps and results refer to it by name.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(from = "GraphLinkFile", into = "GraphLinkFile")]
pub struct GraphLink {
    /// Its name.
    pub name: String,
    /// The nodes that it connects; `forward` is from the first to the second.
    pub ends: [String; 2],
    /// The network that it belongs to; 0 belongs to all.
    pub network: u32,
    /// Its properties.
    pub link: Link,
}

link_keys! {
    /// A link between two nodes. Faults, steps and results refer to it by name.
    struct GraphLinkFile {
        /// Its name.
        name: String,
        /// The nodes that it connects; `forward` is from the first to the second.
        ends: [String; 2],
        /// The network that it belongs to. Default: 0, which belongs to all networks.
        #[serde(default)]
        network: u32,
    }
}

impl From<GraphLinkFile> for GraphLink {
    fn from(file: GraphLinkFile) -> Self {
        Self {
            name: file.name,
            ends: file.ends,
            network: file.network,
            link: Link {
                rate: file.rate,
                delay: file.delay,
                framing: file.framing,
                mtu: file.mtu,
                queue: file.queue,
                loss: file.loss,
                gilbert_elliott: file.gilbert_elliott,
                bit_errors: file.bit_errors,
                jitter: file.jitter,
                reordering: file.reordering,
                duplication: file.duplication,
                rate_trace: file.rate_trace,
                forward: file.forward,
                backward: file.backward,
            },
        }
    }
}

impl From<GraphLink> for GraphLinkFile {
    fn from(GraphLink { name, ends, network, link }: GraphLink) -> Self {
        Self {
            name,
            ends,
            network,
            rate: link.rate,
            delay: link.delay,
            framing: link.framing,
            mtu: link.mtu,
            queue: link.queue,
            loss: link.loss,
            gilbert_elliott: link.gilbert_elliott,
            bit_errors: link.bit_errors,
            jitter: link.jitter,
            reordering: link.reordering,
            duplication: link.duplication,
            rate_trace: link.rate_trace,
            forward: link.forward,
            backward: link.backward,
        }
    }
}

impl GraphNetwork {
    /// Names of all nodes: hosts, then routers.
    pub fn nodes(&self) -> impl Iterator<Item = &str> + Clone {
        self.hosts.iter().chain(&self.routers).map(String::as_str)
    }

    /// The links, with the keys that lead to them.
    pub(super) fn written_links(&mut self) -> Vec<(Vec<Step<'static>>, &mut Link)> {
        let links = self.links.iter_mut().enumerate();
        links.map(|(index, link)| (vec![Key("links"), Index(index)], &mut link.link)).collect()
    }
}
