//! Which way packets go.
//!
//! Routes are shortest paths in hops or in propagation delay ([`Metric`]), computed once, per destination address and network (the idea of "netID" routing):
//!
//! * A packet belongs to the network of its destination address; if that belongs to all, to the network of its source
//!   address. It uses links of that network and links of all networks only.
//! * An address belongs to the link of its interface, and the last hop is always that link: a host with two interfaces
//!   is never reached through the one at the address of the other.
//! * Hosts do not forward.
//! * Among equally short ways the link made first is taken; among ways of equal delay, those with fewer hops.
//! * A sending host prefers the interface that owns the source address, if the destination can be reached through it
//!   at all; else it takes the shortest way from any interface. That is what a host with routing rules per source
//!   address and a main table behind them does.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::net::IpAddr;

use polypath_units::Duration;

use crate::node::{Node, NodeKind};
use crate::{ChannelId, Direction, NetworkId, NodeId};

/// Number of an address.
pub(crate) type AddressId = u32;

/// An address of the network and where it is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Address {
    pub ip: IpAddr,
    pub node: NodeId,
    /// Channel from the node over the link that the address belongs to.
    pub outgoing: ChannelId,
    /// Network of that link.
    pub network: NetworkId,
}

/// What routing has to know of a link.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Edge {
    pub ends: [NodeId; 2],
    pub network: NetworkId,
    /// Propagation delay, forward and backward.
    pub delays: [Duration; 2],
}

/// How routes are chosen.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "kebab-case")
)]
pub enum Metric {
    /// Smallest number of links.
    #[default]
    Hops,
    /// Lowest propagation delay at the start of the run.
    Delay,
}

/// Length of a way: delay in nanoseconds where that counts, then links.
type Length = (u64, u32);

/// The routes of a network that is not built yet.
#[derive(Debug)]
pub struct Routes {
    routing: Routing,
    edges: Vec<Edge>,
}

/// The way of packets from one address to another.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Way {
    /// The directions of links that it leads over, in their order.
    pub channels: Vec<ChannelId>,
    /// Whether it begins at the interface that the source address belongs to.
    pub from_own_interface: bool,
}

/// All routing tables.
#[derive(Debug)]
pub(crate) struct Routing {
    /// Sorted by [`search_key`].
    addresses: Vec<Address>,
    /// Keys of the addresses: looking up two of them is part of every packet.
    keys: Vec<u128>,
    /// Sorted.
    networks: Vec<NetworkId>,
    /// By destination, network and node; an address of one network has a row of nodes for that network only.
    next_hop: Vec<Option<ChannelId>>,
    /// Where the rows of each destination begin.
    rows: Vec<usize>,
    /// By source and destination.
    first_hop: Vec<Option<ChannelId>>,
    nodes: usize,
}

impl Routing {
    /// `addresses` in any order, without duplicates.
    pub fn new(
        mut addresses: Vec<Address>,
        nodes: &[Node],
        edges: &[Edge],
        metric: Metric,
    ) -> Self {
        addresses.sort_by_key(|a| search_key(a.ip));
        let keys = addresses.iter().map(|a| search_key(a.ip)).collect();
        let mut networks: Vec<NetworkId> =
            edges.iter().map(|e| e.network).chain([NetworkId::ANY]).collect();
        networks.sort_unstable();
        networks.dedup();
        let mut routing = Self {
            addresses,
            keys,
            networks,
            next_hop: Vec::new(),
            rows: Vec::new(),
            first_hop: Vec::new(),
            nodes: nodes.len(),
        };
        routing.fill_next_hops(nodes, edges, metric);
        routing.fill_first_hops(nodes, edges);
        routing
    }

    /// The number of an address, if a node has it.
    #[inline]
    pub fn find(&self, ip: IpAddr) -> Option<AddressId> {
        self.keys.binary_search(&search_key(ip)).ok().map(|i| i as AddressId)
    }

    /// What is known of an address.
    #[inline]
    pub fn address(&self, id: AddressId) -> &Address {
        &self.addresses[id as usize]
    }

    /// The channel by which a sender with this source address reaches the destination.
    #[inline]
    pub fn first_hop(&self, from: AddressId, to: AddressId) -> Option<ChannelId> {
        self.first_hop[from as usize * self.addresses.len() + to as usize]
    }

    /// The channel by which `node` forwards a packet.
    #[inline]
    pub fn next_hop(&self, node: NodeId, from: AddressId, to: AddressId) -> Option<ChannelId> {
        let row = match self.address(to).network {
            NetworkId::ANY => self.networks.binary_search(&self.address(from).network).ok()?,
            _ => 0,
        };
        self.next_hop[self.rows[to as usize] + row * self.nodes + node.index()]
    }

    fn packet_network(&self, from: AddressId, to: AddressId) -> NetworkId {
        match self.address(to).network {
            NetworkId::ANY => self.address(from).network,
            network => network,
        }
    }

    fn fill_next_hops(&mut self, nodes: &[Node], edges: &[Edge], metric: Metric) {
        for destination in &self.addresses {
            self.rows.push(self.next_hop.len());
            let own = [destination.network];
            let networks = match destination.network {
                NetworkId::ANY => &self.networks[..],
                _ => &own,
            };
            for network in networks {
                self.next_hop.extend(shortest_ways(destination, *network, nodes, edges, metric));
            }
        }
    }

    fn fill_first_hops(&mut self, nodes: &[Node], edges: &[Edge]) {
        let count = self.addresses.len() as AddressId;
        self.first_hop = vec![None; (count as usize).pow(2)];
        for from in 0..count {
            for to in 0..count {
                let (source, destination) = (*self.address(from), *self.address(to));
                if source.node == destination.node
                    || source.ip.is_ipv4() != destination.ip.is_ipv4()
                {
                    continue;
                }
                let hop = self
                    .reaches(from, to, nodes, edges)
                    .then_some(source.outgoing)
                    .or_else(|| self.next_hop(source.node, from, to));
                self.first_hop[from as usize * count as usize + to as usize] = hop;
            }
        }
    }

    /// Whether the destination can be reached over the link of the source address.
    fn reaches(&self, from: AddressId, to: AddressId, nodes: &[Node], edges: &[Edge]) -> bool {
        let first = self.address(from).outgoing;
        let last = self.address(to).outgoing;
        let edge = &edges[first.link().index()];
        if !edge.network.carries(self.packet_network(from, to)) {
            return false;
        }
        let neighbour = edge.far_end(first.direction());
        if first.link() == last.link() {
            return neighbour == self.address(to).node;
        }
        // No router on the way sends the packet back here, because hosts do not forward.
        nodes[neighbour.index()].kind == NodeKind::Router
            && self.next_hop(neighbour, from, to).is_some_and(|hop| hop.link() != first.link())
    }
}

impl Routes {
    pub(crate) fn new(routing: Routing, edges: Vec<Edge>) -> Self {
        Self { routing, edges }
    }

    /// The way that packets take from an address to another, if there is one.
    pub fn way(&self, from: IpAddr, to: IpAddr) -> Option<Way> {
        let (from, to) = (self.routing.find(from)?, self.routing.find(to)?);
        let destination = self.routing.address(to).node;
        let mut channels = vec![self.routing.first_hop(from, to)?];
        let from_own_interface = channels[0] == self.routing.address(from).outgoing;
        loop {
            let last = *channels.last()?;
            let node = self.edges[last.link().index()].far_end(last.direction());
            if node == destination {
                return Some(Way { channels, from_own_interface });
            }
            if channels.len() > self.edges.len() {
                return None;
            }
            channels.push(self.routing.next_hop(node, from, to)?);
        }
    }
}

impl Metric {
    fn length(self, edge: &Edge, direction: Direction) -> Length {
        match self {
            Self::Hops => (0, 1),
            Self::Delay => (edge.delays[direction as usize].as_nanos(), 1),
        }
    }
}

impl Edge {
    pub fn far_end(&self, direction: Direction) -> NodeId {
        match direction {
            Direction::Forward => self.ends[1],
            Direction::Backward => self.ends[0],
        }
    }
}

/// IPv6 addresses as they are and IPv4 addresses where IPv6 maps them.
fn search_key(ip: IpAddr) -> u128 {
    match ip {
        IpAddr::V4(ip) => ip.to_ipv6_mapped().to_bits(),
        IpAddr::V6(ip) => ip.to_bits(),
    }
}

/// Per node the channel on a shortest way to `destination`, searched from there (Dijkstra).
fn shortest_ways(
    destination: &Address,
    network: NetworkId,
    nodes: &[Node],
    edges: &[Edge],
    metric: Metric,
) -> Vec<Option<ChannelId>> {
    let mut ways: Vec<Option<(Length, ChannelId)>> = vec![None; nodes.len()];
    let last = destination.outgoing.reverse();
    let edge = &edges[last.link().index()];
    let last_router = edge.far_end(destination.outgoing.direction());
    let length = metric.length(edge, last.direction());
    ways[last_router.index()] = Some((length, last));
    let mut reached = BinaryHeap::from([Reverse((length, last_router))]);
    while let Some(Reverse((length, node))) = reached.pop() {
        let is_overtaken = ways[node.index()].is_some_and(|(known, _)| known < length);
        if nodes[node.index()].kind == NodeKind::Host || is_overtaken {
            continue;
        }
        for iface in &nodes[node.index()].ifaces {
            let edge = &edges[iface.outgoing.link().index()];
            let neighbour = edge.far_end(iface.outgoing.direction());
            if !edge.network.carries(network) || neighbour == destination.node {
                continue;
            }
            let back = iface.outgoing.reverse();
            let (delay, hops) = metric.length(edge, back.direction());
            let own = (length.0.saturating_add(delay), length.1 + hops);
            let known = &mut ways[neighbour.index()];
            match known {
                Some((other, _)) if *other < own => {}
                Some((other, way)) if *other == own => {
                    if back.link() < way.link() {
                        *way = back;
                    }
                }
                _ => {
                    *known = Some((own, back));
                    reached.push(Reverse((own, neighbour)));
                }
            }
        }
    }
    ways.into_iter().map(|way| way.map(|(_, channel)| channel)).collect()
}

#[cfg(test)]
mod tests;
