//! Making a network.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv6Addr};

use crate::config::LinkConfig;
use crate::impair::{OutageError, OutageSchedule, StepError, StepSchedule};
use crate::node::{Iface, Node, NodeKind, NodeTimer};
use crate::routing::{Address, Edge, Metric, Routes, Routing};
use crate::world::Wire;
use crate::{
    Channel, ChannelConfig, ChannelId, Direction, Frame, IfaceId, LinkId, LinkObserver, NodeId,
    Streams, World,
};

/// Collects nodes and links; [`build`](Self::build) makes a world of them.
#[derive(Debug, Default)]
pub struct NetworkBuilder {
    nodes: Vec<Node>,
    links: Vec<(LinkConfig, [End; 2])>,
    metric: Metric,
}

/// One end of a link: the node and the addresses of its interface there.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct End {
    node: NodeId,
    addresses: Vec<IpAddr>,
}

/// Why a network cannot be built.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// Two nodes of one name.
    #[error("two nodes are called `{0}`: give each its own name")]
    NodeName(String),
    /// Two links of one name.
    #[error("two links are called `{0}`: give each its own name")]
    LinkName(String),
    /// A link to a node of another builder.
    #[error("link `{0}` ends at a node that is not in this network")]
    NoSuchNode(String),
    /// Both ends at one node.
    #[error("both ends of link `{0}` are at node `{1}`: a link joins two nodes")]
    Loop(String, String),
    /// A rate of zero.
    #[error("link `{0}` has a direction with rate zero: to keep it down, give it an outage")]
    ZeroRate(String),
    /// Bad outages.
    #[error("link `{link}`: {error}")]
    Outages {
        /// The link.
        link: String,
        /// What is wrong.
        error: OutageError,
    },
    /// Bad parameters of a queue.
    #[error("link `{link}`: queue: {key}: {problem}")]
    Queue {
        /// The link.
        link: String,
        /// The parameter.
        key: &'static str,
        /// What is wrong there.
        problem: String,
    },
    /// Bad steps.
    #[error("link `{link}`: {error}")]
    Steps {
        /// The link.
        link: String,
        /// What is wrong.
        error: StepError,
    },
    /// An address twice.
    #[error("address {0} is given to two interfaces: every interface needs its own")]
    DuplicateAddress(IpAddr),
    /// An IPv4 address in the clothes of IPv6.
    #[error("address {0} is an IPv4-mapped one: give it as an IPv4 address")]
    MappedAddress(Ipv6Addr),
    /// A topology with parameters that do not fit.
    #[error("{0}")]
    Topology(String),
}

impl End {
    /// An end without addresses, as inside a network.
    pub const fn at(node: NodeId) -> Self {
        Self { node, addresses: Vec::new() }
    }

    /// One more address.
    #[must_use]
    pub fn address(mut self, address: impl Into<IpAddr>) -> Self {
        self.addresses.push(address.into());
        self
    }
}

impl NetworkBuilder {
    /// An empty network.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a host: it sends and receives, and its driver answers for it. A host without links can serve a driver as
    /// an alarm clock.
    pub fn add_host(&mut self, name: impl Into<String>) -> NodeId {
        self.add_node(name.into(), NodeKind::Host)
    }

    /// Adds a router: it forwards.
    pub fn add_router(&mut self, name: impl Into<String>) -> NodeId {
        self.add_node(name.into(), NodeKind::Router)
    }

    /// Adds a link; each end becomes the next interface of its node.
    pub fn connect(&mut self, first: End, second: End, config: LinkConfig) -> LinkId {
        let link = LinkId(self.links.len() as u32);
        for (end, direction) in [(&first, Direction::Forward), (&second, Direction::Backward)] {
            if let Some(node) = self.nodes.get_mut(end.node.index()) {
                node.ifaces.push(Iface {
                    addresses: end.addresses.clone(),
                    outgoing: link.channel(direction),
                });
            }
        }
        self.links.push((config, [first, second]));
        link
    }

    /// Says what makes a way short; few hops where nobody says it.
    pub fn set_metric(&mut self, metric: Metric) {
        self.metric = metric;
    }

    /// A link that was made.
    pub fn link(&self, link: LinkId) -> Option<&LinkConfig> {
        self.links.get(link.index()).map(|(config, _)| config)
    }

    /// All nodes in the order in which they were made: name, and whether it is a host.
    pub fn nodes(&self) -> impl Iterator<Item = (&str, bool)> {
        self.nodes.iter().map(|node| (&node.name[..], node.kind == NodeKind::Host))
    }

    /// All links in the order in which they were made, with the nodes at their ends.
    pub fn links(&self) -> impl Iterator<Item = (&LinkConfig, [NodeId; 2])> {
        self.links.iter().map(|(config, [first, second])| (config, [first.node, second.node]))
    }

    /// The routes of the network as it stands.
    ///
    /// # Errors
    /// A link ends nowhere, or addresses do not fit together.
    pub fn routes(&self) -> Result<Routes, BuildError> {
        for (config, ends) in &self.links {
            self.check_ends(config, ends)?;
        }
        Ok(Routes::new(self.routing()?, self.edges()))
    }

    /// Checks everything, computes the routes and starts the run at time zero. `seed` determines all randomness;
    /// `observer` sees every link event ([`NoObserver`](crate::NoObserver) for none).
    ///
    /// # Errors
    /// What does not fit together.
    pub fn build<F: Frame, O: LinkObserver>(
        self,
        seed: u64,
        observer: O,
    ) -> Result<World<F, O>, BuildError> {
        self.check_names()?;
        let mut wires = Vec::with_capacity(self.links.len() * 2);
        let streams = Streams::new(seed);
        for (index, (config, ends)) in self.links.iter().enumerate() {
            let link = LinkId(index as u32);
            self.check_ends(config, ends)?;
            let directions =
                [(Direction::Forward, &config.forward), (Direction::Backward, &config.backward)];
            for (direction, channel) in directions {
                wires.push(self.wire(link, direction, channel, &streams)?);
            }
        }
        let routing = self.routing()?;
        let link_names = self.links.into_iter().map(|(config, _)| config.name).collect();
        Ok(World::new(self.nodes, wires, link_names, routing, streams, observer))
    }

    fn add_node(&mut self, name: String, kind: NodeKind) -> NodeId {
        let id = NodeId(self.nodes.len() as u32);
        self.nodes.push(Node { name, kind, ifaces: Vec::new(), timer: NodeTimer::default() });
        id
    }

    fn check_names(&self) -> Result<(), BuildError> {
        let mut nodes = BTreeSet::new();
        if let Some(node) = self.nodes.iter().find(|node| !nodes.insert(&node.name)) {
            return Err(BuildError::NodeName(node.name.clone()));
        }
        let mut links = BTreeSet::new();
        match self.links.iter().find(|(config, _)| !links.insert(&config.name)) {
            Some((config, _)) => Err(BuildError::LinkName(config.name.clone())),
            None => Ok(()),
        }
    }

    fn check_ends(&self, config: &LinkConfig, ends: &[End; 2]) -> Result<(), BuildError> {
        let name = |end: &End| self.nodes.get(end.node.index()).map(|node| node.name.clone());
        let (Some(first), Some(_)) = (name(&ends[0]), name(&ends[1])) else {
            return Err(BuildError::NoSuchNode(config.name.clone()));
        };
        if ends[0].node == ends[1].node {
            return Err(BuildError::Loop(config.name.clone(), first));
        }
        Ok(())
    }

    fn wire(
        &self,
        link: LinkId,
        direction: Direction,
        config: &ChannelConfig,
        streams: &Streams,
    ) -> Result<Wire, BuildError> {
        let (link_config, ends) = &self.links[link.index()];
        if config.rate.is_zero() {
            return Err(BuildError::ZeroRate(link_config.name.clone()));
        }
        let outages = OutageSchedule::new(&config.outages)
            .map_err(|error| BuildError::Outages { link: link_config.name.clone(), error })?;
        let steps = StepSchedule::new(&config.steps)
            .map_err(|error| BuildError::Steps { link: link_config.name.clone(), error })?;
        if let Some((key, problem)) = config.queue.problem() {
            return Err(BuildError::Queue { link: link_config.name.clone(), key, problem });
        }
        let (word, to) = match direction {
            Direction::Forward => ("forward", ends[1].node),
            Direction::Backward => ("backward", ends[0].node),
        };
        let channel = Channel::new(config, &format!("link/{}/{word}", link_config.name), streams);
        let arriving = link.channel(direction).reverse();
        let iface =
            self.nodes[to.index()].ifaces.iter().position(|iface| iface.outgoing == arriving);
        Ok(Wire {
            channel,
            armed: None,
            outages,
            steps,
            to,
            iface: IfaceId(iface.unwrap_or_default() as u32),
            last_step: None,
        })
    }

    fn routing(&self) -> Result<Routing, BuildError> {
        let network = |channel: ChannelId| self.links[channel.link().index()].0.network;
        let mut addresses = Vec::new();
        let mut seen = BTreeSet::new();
        for (index, node) in self.nodes.iter().enumerate() {
            for iface in &node.ifaces {
                for &ip in &iface.addresses {
                    if let IpAddr::V6(mapped) = ip
                        && mapped.to_ipv4_mapped().is_some()
                    {
                        return Err(BuildError::MappedAddress(mapped));
                    }
                    if !seen.insert(ip) {
                        return Err(BuildError::DuplicateAddress(ip));
                    }
                    let outgoing = iface.outgoing;
                    addresses.push(Address {
                        ip,
                        node: NodeId(index as u32),
                        outgoing,
                        network: network(outgoing),
                    });
                }
            }
        }
        Ok(Routing::new(addresses, &self.nodes, &self.edges(), self.metric))
    }

    fn edges(&self) -> Vec<Edge> {
        let edge = |(config, [first, second]): &(LinkConfig, [End; 2])| Edge {
            ends: [first.node, second.node],
            network: config.network,
            delays: [config.forward.delay, config.backward.delay],
        };
        self.links.iter().map(edge).collect()
    }
}
