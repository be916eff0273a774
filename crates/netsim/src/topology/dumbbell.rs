//! Dumbbells side by side: two multi-homed hosts, and hosts of cross traffic at the routers on their way.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use polypath_units::Duration;
use rand_core::Rng;

use super::{Disjoint, DisjointPath, Duplex, IpVersion};
use crate::{BuildError, End, LinkConfig, LinkId, NetworkBuilder, NetworkId, NodeId, Streams};

/// Hosts A and B with an interface in each of several dumbbells (two of them: `natarajan` fig. 7).
///
/// A dumbbell is a core link between two routers, with A at the first of them and B at the second, and any number of
/// single-homed hosts at each, in pairs that send cross traffic to each other through the core. Dumbbell *p* (from 1) is
/// network *p*. A has the address `10.p.0.1` there and B `10.p.0.2`; the hosts of pair *k* (from 1) have `10.p.k.1` and
/// `10.p.k.2`. With IPv6 they are `fd00:p:k::1` and `fd00:p:k::2`, where k is 0 for A and B.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Dumbbells {
    /// Version of all addresses.
    pub ip: IpVersion,
    /// The dumbbells; each is a path between A and B.
    pub dumbbells: Vec<DumbbellConfig>,
}

/// A dumbbell. All its links are given from A's side to B's.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DumbbellConfig {
    /// Its name; links, routers and hosts are named after it.
    pub name: String,
    /// The link between the routers.
    pub core: Duplex,
    /// The last hops of A and B.
    pub access: [Duplex; 2],
    /// The last hops of each pair of single-homed hosts.
    pub cross: Vec<[Duplex; 2]>,
}

/// A network made by [`Dumbbells::add_to`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DumbbellNetwork {
    /// A and B, whose paths lead through the cores.
    pub multihomed: Disjoint,
    /// The pairs of single-homed hosts, by dumbbell.
    pub cross: Vec<Vec<CrossPair>>,
}

/// Two single-homed hosts on either side of a core.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CrossPair {
    /// The hosts, on A's side and on B's.
    pub hosts: [NodeId; 2],
    /// Their addresses.
    pub addresses: [IpAddr; 2],
}

/// Dumbbells are numbered in one octet of an IPv4 address.
const MAX_DUMBBELLS: usize = 254;

/// So are their pairs.
const MAX_PAIRS: usize = 254;

/// Propagation delay of the last hop of a single-homed host, from the shortest to the longest: each has a stream of its
/// own. Pairs count from 1, sides are "a" and "b".
pub fn draw_delay(
    name: &str,
    pair: u8,
    side: &str,
    range: [Duration; 2],
    streams: &Streams,
) -> Duration {
    let mut stream = streams.stream(&format!("{name}/cross-{pair}/{side}/delay"));
    uniform(range, &mut stream)
}

/// A time from one to another, in whole nanoseconds.
fn uniform([from, to]: [Duration; 2], rng: &mut impl Rng) -> Duration {
    let values = u128::from(to.as_nanos().saturating_sub(from.as_nanos())) + 1;
    let drawn = (u128::from(rng.next_u64()) * values) >> 64;
    Duration::from_nanos(from.as_nanos().saturating_add(drawn as u64))
}

impl Dumbbells {
    /// Adds hosts, routers and links to a network.
    ///
    /// # Errors
    /// No dumbbell, more than 254, or more than 254 pairs in one. Other mistakes are found when the network is built.
    pub fn add_to(&self, network: &mut NetworkBuilder) -> Result<DumbbellNetwork, BuildError> {
        self.check()?;
        let (a, b) = (network.add_host("A"), network.add_host("B"));
        let (mut paths, mut cross) = (Vec::new(), Vec::new());
        for (config, number) in self.dumbbells.iter().zip(1..) {
            let mut making = Making { config, number, ip: self.ip, network };
            let (path, pairs) = making.add([a, b]);
            paths.push(path);
            cross.push(pairs);
        }
        Ok(DumbbellNetwork { multihomed: Disjoint { a, b, paths }, cross })
    }

    fn check(&self) -> Result<(), BuildError> {
        let wrong = |message: String| Err(BuildError::Topology(format!("dumbbells: {message}")));
        let count = self.dumbbells.len();
        if count == 0 || count > MAX_DUMBBELLS {
            return wrong(format!("give 1 to {MAX_DUMBBELLS}, not {count}"));
        }
        match self.dumbbells.iter().find(|dumbbell| dumbbell.cross.len() > MAX_PAIRS) {
            Some(large) => wrong(format!(
                "`{}`: give at most {MAX_PAIRS} pairs of hosts, not {}",
                large.name,
                large.cross.len()
            )),
            None => Ok(()),
        }
    }
}

/// A dumbbell in the making.
struct Making<'a> {
    config: &'a DumbbellConfig,
    number: u8,
    ip: IpVersion,
    network: &'a mut NetworkBuilder,
}

impl Making<'_> {
    fn add(&mut self, multihomed: [NodeId; 2]) -> (DisjointPath, Vec<CrossPair>) {
        let name = &self.config.name;
        let routers = [1, 2].map(|side| self.network.add_router(format!("{name}/router-{side}")));
        let [near, far] = routers.map(End::at);
        let core = self.link(format!("{name}/core"), near, far, &self.config.core);
        let names = ["a", "b"].map(|side| format!("{name}/access-{side}"));
        let [first, last] = self.last_hops(names, multihomed, routers, 0, &self.config.access);
        let [a_address, b_address] = self.addresses(0);
        let path = DisjointPath {
            name: name.clone(),
            a_address,
            b_address,
            links: vec![first, core, last],
            bottleneck: core,
        };
        let pairs = self.config.cross.iter().zip(1..);
        let cross = pairs.map(|(links, pair)| self.add_pair(routers, pair, links)).collect();
        (path, cross)
    }

    fn add_pair(&mut self, routers: [NodeId; 2], pair: u8, links: &[Duplex; 2]) -> CrossPair {
        let name = format!("{}/cross-{pair}", self.config.name);
        let names = ["a", "b"].map(|side| format!("{name}/{side}"));
        let hosts = [&names[0], &names[1]].map(|name| self.network.add_host(name.clone()));
        self.last_hops(names, hosts, routers, pair, links);
        CrossPair { hosts, addresses: self.addresses(pair) }
    }

    /// Links from a host to the router on A's side, and from the router on B's side to a host.
    fn last_hops(
        &mut self,
        [name_a, name_b]: [String; 2],
        [a, b]: [NodeId; 2],
        [near, far]: [NodeId; 2],
        pair: u8,
        [first, last]: &[Duplex; 2],
    ) -> [LinkId; 2] {
        let [a_address, b_address] = self.addresses(pair);
        [
            self.link(name_a, End::at(a).address(a_address), End::at(near), first),
            self.link(name_b, End::at(far), End::at(b).address(b_address), last),
        ]
    }

    fn link(&mut self, name: String, from: End, to: End, config: &Duplex) -> LinkId {
        let link = LinkConfig::new(name, config.forward.clone(), config.backward.clone());
        self.network.connect(from, to, link.in_network(NetworkId(self.number.into())))
    }

    /// Addresses of A and B (pair 0), or of a pair of single-homed hosts.
    fn addresses(&self, pair: u8) -> [IpAddr; 2] {
        [1, 2].map(|host| match self.ip {
            IpVersion::V4 => Ipv4Addr::new(10, self.number, pair, host).into(),
            IpVersion::V6 => {
                Ipv6Addr::new(0xfd00, self.number.into(), pair.into(), 0, 0, 0, 0, host.into())
                    .into()
            }
        })
    }
}

#[cfg(test)]
mod tests;
