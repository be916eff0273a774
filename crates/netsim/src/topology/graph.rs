//! Any network: hosts, routers and links between them.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::{Duplex, IpVersion};
use crate::{BuildError, End, LinkConfig, LinkId, NetworkBuilder, NetworkId, NodeId};

/// Hosts and routers with any links between them, each of one network or of all.
///
/// A host has an address for each of its links, in the network of that link: `10.n.x.y` in network *n*, where x and y are
/// the upper and lower octet of its number among the addresses of that network (from 1, in the order of the links), or
/// `fd00:n:k::1` where k is that number. Routers have none. Routes follow from the networks (the idea of "netID",
/// `dreibholz-model` section 4.3).
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Graph {
    /// Version of all addresses.
    pub ip: IpVersion,
    /// Names of the hosts.
    pub hosts: Vec<String>,
    /// Names of the routers; among the nodes they follow the hosts.
    pub routers: Vec<String>,
    /// The links.
    pub links: Vec<GraphLink>,
}

/// A link between two nodes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GraphLink {
    /// Its name.
    pub name: String,
    /// Positions of its ends among the nodes; `forward` is from the first to the second.
    pub ends: [usize; 2],
    /// The network that it belongs to.
    pub network: NetworkId,
    /// Both directions.
    pub config: Duplex,
}

/// A network made by [`Graph::add_to`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GraphNetwork {
    /// The nodes: hosts, then routers.
    pub nodes: Vec<NodeId>,
    /// The links.
    pub links: Vec<LinkId>,
    /// The addresses of each host, in the order of the links.
    pub addresses: Vec<Vec<GraphAddress>>,
}

/// An address of a host.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GraphAddress {
    /// The address.
    pub ip: IpAddr,
    /// Position of its link.
    pub link: usize,
    /// Network of that link.
    pub network: NetworkId,
}

/// Networks are numbered in one octet of an IPv4 address.
pub const MAX_NETWORK: u32 = 254;

impl Graph {
    /// Adds hosts, routers and links to a network.
    ///
    /// # Errors
    /// No host, a link to a node that is not there, a network with a number above [`MAX_NETWORK`] or with more than
    /// 65535 addresses. Other mistakes are found when the network is built.
    pub fn add_to(&self, network: &mut NetworkBuilder) -> Result<GraphNetwork, BuildError> {
        self.check()?;
        let hosts: Vec<NodeId> =
            self.hosts.iter().map(|name| network.add_host(name.clone())).collect();
        let routers = self.routers.iter().map(|name| network.add_router(name.clone()));
        let nodes: Vec<NodeId> = hosts.iter().copied().chain(routers.collect::<Vec<_>>()).collect();
        let mut addresses = vec![Vec::new(); hosts.len()];
        let mut counts = vec![0_u16; MAX_NETWORK as usize + 1];
        let mut links = Vec::with_capacity(self.links.len());
        for (link, config) in self.links.iter().enumerate() {
            let ends = config.ends.map(|node| {
                let end = End::at(nodes[node]);
                let Some(own) = addresses.get_mut(node) else { return Ok(end) };
                let count = &mut counts[config.network.0 as usize];
                *count = count.checked_add(1).ok_or_else(|| full(config.network))?;
                let ip = self.address(config.network, *count);
                own.push(GraphAddress { ip, link, network: config.network });
                Ok(end.address(ip))
            });
            let [first, second] = ends;
            let Duplex { forward, backward } = config.config.clone();
            let made = LinkConfig::new(config.name.clone(), forward, backward);
            links.push(network.connect(first?, second?, made.in_network(config.network)));
        }
        Ok(GraphNetwork { nodes, links, addresses })
    }

    fn check(&self) -> Result<(), BuildError> {
        let wrong = |message: String| Err(BuildError::Topology(message));
        if self.hosts.is_empty() {
            return wrong("a network has at least one host".into());
        }
        let nodes = self.hosts.len() + self.routers.len();
        let mut links = self.links.iter();
        if let Some(link) = links.find(|link| link.ends.iter().any(|end| *end >= nodes)) {
            return wrong(format!("link `{}` ends at a node that is not there", link.name));
        }
        let mut links = self.links.iter();
        match links.find(|link| link.network.0 > MAX_NETWORK) {
            Some(link) => wrong(format!(
                "link `{}` is in network {}, above {MAX_NETWORK}",
                link.name, link.network.0
            )),
            None => Ok(()),
        }
    }

    fn address(&self, network: NetworkId, number: u16) -> IpAddr {
        let [high, low] = number.to_be_bytes();
        // Checked: networks fit an octet.
        let network = network.0 as u8;
        match self.ip {
            IpVersion::V4 => Ipv4Addr::new(10, network, high, low).into(),
            IpVersion::V6 => Ipv6Addr::new(0xfd00, network.into(), number, 0, 0, 0, 0, 1).into(),
        }
    }
}

fn full(network: NetworkId) -> BuildError {
    BuildError::Topology(format!("network {} has more than {} addresses", network.0, u16::MAX))
}

#[cfg(test)]
mod tests {
    use polypath_units::{BitRate, Duration};

    use super::*;
    use crate::{ChannelConfig, Metric};

    fn link(name: &str, ends: [usize; 2], network: u32, delay_ms: u64) -> GraphLink {
        let channel = ChannelConfig::new(BitRate::from_mbit(10), Duration::from_millis(delay_ms));
        GraphLink { name: name.into(), ends, network: NetworkId(network), config: channel.into() }
    }

    /// A client with two uplinks to a server with one address, over a core with a slow short cut.
    fn graph() -> Graph {
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        Graph {
            ip: IpVersion::V4,
            hosts: names(&["client", "server"]),
            routers: names(&["dsl", "lte", "core"]),
            links: vec![
                link("client-dsl", [0, 2], 1, 5),
                link("client-lte", [0, 3], 2, 20),
                link("dsl-core", [2, 4], 0, 5),
                link("lte-core", [3, 4], 0, 30),
                link("lte-dsl", [3, 2], 0, 1),
                link("core-server", [4, 1], 0, 1),
            ],
        }
    }

    fn ways(metric: Metric) -> Vec<(Vec<usize>, bool)> {
        let mut builder = NetworkBuilder::new();
        builder.set_metric(metric);
        let made = graph().add_to(&mut builder).unwrap();
        let routes = builder.routes().unwrap();
        let server = made.addresses[1][0].ip;
        let both = made.addresses[0].iter().flat_map(|own| [(own.ip, server), (server, own.ip)]);
        both.map(|(from, to)| {
            let way = routes.way(from, to).unwrap();
            let links = way.channels.iter().map(|channel| channel.link().index()).collect();
            (links, way.from_own_interface)
        })
        .collect()
    }

    #[test]
    fn addresses_belong_to_the_networks_of_links() {
        for (ip, expected) in [
            (IpVersion::V4, [["10.1.0.1", "10.2.0.1"], ["10.0.0.1", ""]]),
            (IpVersion::V6, [["fd00:1:1::1", "fd00:2:1::1"], ["fd00:0:1::1", ""]]),
        ] {
            let made = Graph { ip, ..graph() }.add_to(&mut NetworkBuilder::new()).unwrap();
            for (own, expected) in made.addresses.iter().zip(expected) {
                let own: Vec<String> = own.iter().map(|address| address.ip.to_string()).collect();
                assert_eq!(own, expected.into_iter().filter(|a| !a.is_empty()).collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn ways_are_short_in_hops_or_in_delay() {
        // Both uplinks lead to the one address of the server, each on its own way.
        let (dsl, back) = (vec![0, 2, 5], vec![5, 2, 0]);
        assert_eq!(
            ways(Metric::Hops),
            [
                (dsl.clone(), true),
                (back.clone(), true),
                (vec![1, 3, 5], true),
                (vec![5, 3, 1], true)
            ]
        );
        // Over the short cut there is one more link and 24 ms less.
        assert_eq!(
            ways(Metric::Delay),
            [(dsl, true), (back, true), (vec![1, 4, 2, 5], true), (vec![5, 2, 4, 1], true)]
        );
    }

    #[test]
    fn what_does_not_fit_together_is_refused() {
        let error = |change: fn(&mut Graph)| {
            let mut graph = graph();
            change(&mut graph);
            graph.add_to(&mut NetworkBuilder::new()).unwrap_err().to_string()
        };
        assert!(error(|g| g.hosts.clear()).contains("at least one host"));
        assert!(error(|g| g.links[2].ends[1] = 5).contains("`dsl-core` ends at a node"));
        assert!(error(|g| g.links[2].network.0 = 255).contains("network 255, above 254"));
    }
}
