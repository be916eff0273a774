//! Hosts around routers: each host has a link to the router of each network.

use super::{Duplex, Graph, GraphLink, IpVersion};
use crate::NetworkId;

/// *n* hosts with an interface in each of *m* networks, each of which is a star around its router (`dreibholz-model`
/// fig. 6).
///
/// Network *p* (from 1) has the router `NAME/router`, and the link `NAME/HOST` from each host to it. Host *h* (from 1) has
/// the address `10.p.x.y` there, where x and y are the upper and lower octet of *h*, or `fd00:p:h::1`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Star {
    /// Version of all addresses.
    pub ip: IpVersion,
    /// Names of the hosts.
    pub hosts: Vec<String>,
    /// The networks.
    pub networks: Vec<StarNetwork>,
}

/// A router with the links to it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StarNetwork {
    /// Its name.
    pub name: String,
    /// The link of each host, in the order of the hosts; `forward` is towards the router.
    pub links: Vec<Duplex>,
}

impl Star {
    /// The same as a graph. Its links are those of the first network, then those of the second, and so on.
    pub fn graph(&self) -> Graph {
        let mut graph = Graph { ip: self.ip, hosts: self.hosts.clone(), ..Graph::default() };
        for (index, network) in self.networks.iter().enumerate() {
            let router = self.hosts.len() + index;
            graph.routers.push(format!("{}/router", network.name));
            let links = self.hosts.iter().zip(&network.links).enumerate();
            graph.links.extend(links.map(|(host, (name, config))| GraphLink {
                name: format!("{}/{name}", network.name),
                ends: [host, router],
                network: NetworkId(index as u32 + 1),
                config: config.clone(),
            }));
        }
        graph
    }
}

#[cfg(test)]
mod tests {
    use polypath_units::{BitRate, Duration};

    use super::*;
    use crate::{ChannelConfig, NetworkBuilder};

    #[test]
    fn hosts_reach_each_other_in_each_network() {
        let link: Duplex =
            ChannelConfig::new(BitRate::from_gbit(1), Duration::from_millis(1)).into();
        let network = |name: &str| StarNetwork { name: name.into(), links: vec![link.clone(); 3] };
        let star = Star {
            ip: IpVersion::V4,
            hosts: ["x", "y", "z"].map(str::to_owned).to_vec(),
            networks: vec![network("left"), network("right")],
        };
        let mut builder = NetworkBuilder::new();
        let made = star.graph().add_to(&mut builder).unwrap();
        let addresses: Vec<String> =
            made.addresses.iter().flatten().map(|own| own.ip.to_string()).collect();
        assert_eq!(
            addresses,
            ["10.1.0.1", "10.2.0.1", "10.1.0.2", "10.2.0.2", "10.1.0.3", "10.2.0.3"]
        );
        let routes = builder.routes().unwrap();
        for (from, to) in [(0, 1), (1, 2), (2, 0)] {
            for (network, first_link) in [(0, 0), (1, 3)] {
                let ends = [from, to].map(|host| made.addresses[host][network].ip);
                let way = routes.way(ends[0], ends[1]).unwrap();
                let links: Vec<_> = way.channels.iter().map(|c| c.link()).collect();
                assert!(way.from_own_interface);
                assert_eq!(links, [from, to].map(|host| made.links[first_link + host]));
            }
        }
    }
}
