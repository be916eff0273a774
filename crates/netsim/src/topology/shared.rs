//! Pairs of hosts whose paths share links in the middle.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::{Disjoint, DisjointPath, Duplex, IpVersion, PathConfig};
use crate::{BuildError, End, LinkConfig, LinkId, NetworkBuilder, NetworkId, NodeId};

/// Any number of routes, and pairs of hosts whose paths each lead over one of them (a dumbbell, where there is one route).
///
/// A route is one link or several in a row, with a router at either end of each. A path is an access link, a route, and
/// another access link; both access links of path *p* (from 1, counted over all pairs) are network *p*, so that packets
/// take the path to which their destination address belongs. Host a has the address `10.x.y.1` on it and host b `10.x.y.2`,
/// where x and y are the upper and lower octet of *p*, or `fd00:p::1` and `fd00:p::2`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SharedRoutes {
    /// Version of all addresses.
    pub ip: IpVersion,
    /// The routes; their `access` is not used.
    pub routes: Vec<PathConfig>,
    /// The pairs of hosts.
    pub pairs: Vec<HostPair>,
}

/// Two hosts and the paths between them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HostPair {
    /// Its name; the hosts are called after it.
    pub name: String,
    /// Its paths; path *i* is at interface *i* of both hosts.
    pub paths: Vec<SharedPath>,
}

/// A path over a route.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SharedPath {
    /// Its name.
    pub name: String,
    /// Position of its route among the routes.
    pub route: usize,
    /// The links between the hosts and the route, both alike.
    pub access: Duplex,
}

/// A network made by [`SharedRoutes::add_to`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Shared {
    /// The pairs, each as if its paths were its own.
    pub pairs: Vec<Disjoint>,
    /// The bottleneck of each route.
    pub bottlenecks: Vec<LinkId>,
}

/// Path numbers are two octets of an IPv4 address.
const MAX_PATHS: usize = 65_535;

/// A route that was made.
struct Route {
    /// The routers at host a's and at host b's end.
    ends: [NodeId; 2],
    links: Vec<LinkId>,
    bottleneck: LinkId,
}

impl SharedRoutes {
    /// Adds hosts, routers and links to a network.
    ///
    /// # Errors
    /// No pair, a pair without paths, more than 65535 paths, or a route that does not exist. Other mistakes are found
    /// when the network is built.
    pub fn add_to(&self, network: &mut NetworkBuilder) -> Result<Shared, BuildError> {
        self.check()?;
        let routes: Vec<Route> =
            self.routes.iter().map(|route| add_route(route, network)).collect();
        let mut number = 0;
        let mut pairs = Vec::with_capacity(self.pairs.len());
        for pair in &self.pairs {
            let a = network.add_host(format!("{}/a", pair.name));
            let b = network.add_host(format!("{}/b", pair.name));
            let mut paths = Vec::with_capacity(pair.paths.len());
            for path in &pair.paths {
                number += 1;
                let name = format!("{}/{}", pair.name, path.name);
                paths.push(self.add_path(
                    path,
                    &name,
                    number,
                    [a, b],
                    &routes[path.route],
                    network,
                ));
            }
            pairs.push(Disjoint { a, b, paths });
        }
        Ok(Shared { pairs, bottlenecks: routes.iter().map(|route| route.bottleneck).collect() })
    }

    fn check(&self) -> Result<(), BuildError> {
        let wrong =
            |message: String| Err(BuildError::Topology(format!("shared routes: {message}")));
        let count: usize = self.pairs.iter().map(|pair| pair.paths.len()).sum();
        if self.pairs.is_empty() || count > MAX_PATHS {
            return wrong(format!(
                "give at least one pair and at most {MAX_PATHS} paths, not {count}"
            ));
        }
        if let Some(pair) = self.pairs.iter().find(|pair| pair.paths.is_empty()) {
            return wrong(format!("the pair `{}` has no path", pair.name));
        }
        let mut paths = self.pairs.iter().flat_map(|pair| &pair.paths);
        match paths.find(|path| path.route >= self.routes.len()) {
            Some(path) => {
                wrong(format!("path `{}` leads over a route that is not there", path.name))
            }
            None => Ok(()),
        }
    }

    fn add_path(
        &self,
        path: &SharedPath,
        name: &str,
        number: u16,
        [a, b]: [NodeId; 2],
        route: &Route,
        network: &mut NetworkBuilder,
    ) -> DisjointPath {
        let [a_address, b_address] = [1, 2].map(|host| self.address(number, host));
        let [near, far] = route.ends;
        let mut access = |word: &str, ends: [End; 2]| {
            let Duplex { forward, backward } = path.access.clone();
            let config = LinkConfig::new(format!("{name}/{word}"), forward, backward);
            let [first, second] = ends;
            network.connect(first, second, config.in_network(NetworkId(number.into())))
        };
        let first = access("access-a", [End::at(a).address(a_address), End::at(near)]);
        let last = access("access-b", [End::at(far), End::at(b).address(b_address)]);
        DisjointPath {
            name: path.name.clone(),
            a_address,
            b_address,
            links: [&[first], &route.links[..], &[last]].concat(),
            bottleneck: route.bottleneck,
        }
    }

    fn address(&self, number: u16, host: u8) -> IpAddr {
        let [high, low] = number.to_be_bytes();
        match self.ip {
            IpVersion::V4 => Ipv4Addr::new(10, high, low, host).into(),
            IpVersion::V6 => Ipv6Addr::new(0xfd00, number, 0, 0, 0, 0, 0, host.into()).into(),
        }
    }
}

/// Adds the links and routers of a route, which belong to all networks.
fn add_route(route: &PathConfig, network: &mut NetworkBuilder) -> Route {
    let links = PathConfig { access: None, ..route.clone() };
    let mut near = network.add_router(format!("{}/router-0", route.name));
    let first = near;
    let mut made = Vec::new();
    for (at, (name, config)) in links.links().into_iter().enumerate() {
        let far = network.add_router(format!("{}/router-{}", route.name, at + 1));
        let Duplex { forward, backward } = config.clone();
        let link = LinkConfig::new(name, forward, backward);
        made.push(network.connect(End::at(near), End::at(far), link));
        near = far;
    }
    Route { ends: [first, near], bottleneck: made[route.before.len()], links: made }
}

#[cfg(test)]
mod tests {
    use polypath_units::{BitRate, Duration};

    use super::*;
    use crate::ChannelConfig;

    fn link(mbit: u64) -> Duplex {
        ChannelConfig::new(BitRate::from_mbit(mbit), Duration::from_millis(1)).into()
    }

    fn shared() -> SharedRoutes {
        let path = |name: &str, route| SharedPath { name: name.into(), route, access: link(100) };
        let pair = |name: &str, paths| HostPair { name: name.into(), paths };
        SharedRoutes {
            ip: IpVersion::V4,
            routes: vec![
                PathConfig { after: vec![link(50)], ..PathConfig::direct("core", link(10)) },
                PathConfig::direct("side", link(20)),
            ],
            pairs: vec![
                pair("two", vec![path("one", 0), path("other", 0), path("third", 1)]),
                pair("single", vec![path("only", 0)]),
            ],
        }
    }

    #[test]
    fn paths_of_several_pairs_meet_at_their_route() {
        let network = shared().add_to(&mut NetworkBuilder::new()).unwrap();
        let [two, single] = &network.pairs[..] else { panic!("two pairs") };
        let bottlenecks: Vec<LinkId> = two.paths.iter().map(|path| path.bottleneck).collect();
        let [core, side] = network.bottlenecks[..] else { panic!("two routes") };
        assert_eq!(bottlenecks, [core, core, side]);
        assert_eq!(single.paths[0].bottleneck, core);
        assert_eq!(two.paths[0].links.len(), 4);
        assert_eq!(two.paths[2].links.len(), 3);
        let address = |text: &str| -> IpAddr { text.parse().unwrap() };
        assert_eq!(two.paths[1].b_address, address("10.0.2.2"));
        assert_eq!(single.paths[0].a_address, address("10.0.4.1"));
    }

    #[test]
    fn what_does_not_fit_together_is_refused() {
        let error = |change: fn(&mut SharedRoutes)| {
            let mut shared = shared();
            change(&mut shared);
            shared.add_to(&mut NetworkBuilder::new()).unwrap_err().to_string()
        };
        assert!(error(|s| s.pairs.clear()).contains("give at least one pair"));
        assert!(error(|s| s.pairs[1].paths.clear()).contains("`single` has no path"));
        let nowhere = error(|s| s.pairs[0].paths[2].route = 2);
        assert!(nowhere.contains("`third` leads over a route that is not there"), "{nowhere}");
    }
}
