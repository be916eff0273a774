//! Where the ends of associations sit in the network.

use std::net::IpAddr;

use polypath_netsim::topology::DisjointPath;
use polypath_netsim::{NetworkBuilder, NodeId};

use crate::scenario::HostName;
use crate::wiring::Wired;

/// SCTP port of the first association of a host; further ones of the same host have ports of their own.
pub(crate) const PORT: u16 = 9000;

/// Where one end of an association sits.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub name: HostName,
    /// Position of its pair among the pairs of the scenario.
    pub pair: usize,
    /// The node that it sends from.
    pub node: NodeId,
    /// The node that wakes it: its own, or one without links where another end has that already.
    pub alarm: NodeId,
    /// Port of both ends.
    pub port: u16,
    /// Local and remote address of each path.
    pub paths: Vec<[IpAddr; 2]>,
}

impl Place {
    /// Its addresses, each once.
    pub fn addresses(&self) -> Vec<IpAddr> {
        distinct(self.paths.iter().map(|[local, _]| *local))
    }

    /// Those of its peer.
    pub fn peer_addresses(&self) -> Vec<IpAddr> {
        distinct(self.paths.iter().map(|[_, remote]| *remote))
    }
}

fn distinct(addresses: impl Iterator<Item = IpAddr>) -> Vec<IpAddr> {
    let mut all = Vec::new();
    for address in addresses {
        if !all.contains(&address) {
            all.push(address);
        }
    }
    all
}

fn sides(path: &DisjointPath, name: HostName) -> [IpAddr; 2] {
    match name {
        HostName::A => [path.a_address, path.b_address],
        HostName::B => [path.b_address, path.a_address],
    }
}

/// Finds places for both ends of all pairs; adds nodes that wake those that share a host.
pub(crate) fn places(network: &Wired, builder: &mut NetworkBuilder) -> Vec<[Place; 2]> {
    let mut all: Vec<[Place; 2]> = Vec::new();
    for (pair, paths) in network.pairs.iter().enumerate() {
        let nodes = [paths.a, paths.b];
        let shares = |place: &&Place| nodes.contains(&place.node);
        let port = all.iter().flatten().filter(shares).map(|place| place.port + 1).max();
        let place = |name: HostName| {
            let node = nodes[name.index()];
            let taken = all.iter().flatten().any(|place| place.node == node);
            let alarm = match taken {
                true => builder.add_host(format!("alarm {pair}/{}", name.index())),
                false => node,
            };
            Place {
                name,
                pair,
                node,
                alarm,
                port: port.unwrap_or(PORT),
                paths: paths.paths.iter().map(|path| sides(path, name)).collect(),
            }
        };
        all.push(HostName::ALL.map(place));
    }
    all
}

/// Which end of which pair packets and wake-up calls are for.
#[derive(Debug)]
pub(crate) struct Owners {
    /// By node: the ends that sit there or that it wakes, by port.
    by_node: Vec<Vec<(u16, [usize; 2])>>,
}

impl Owners {
    pub fn new(places: &[[Place; 2]]) -> Self {
        let ends = || places.iter().flatten();
        let nodes = ends().flat_map(|place| [place.node, place.alarm]);
        let count = nodes.map(|node| node.index() + 1).max().unwrap_or(0);
        let mut by_node = vec![Vec::new(); count];
        for place in ends() {
            let owner = (place.port, [place.pair, place.name.index()]);
            by_node[place.node.index()].push(owner);
            if place.alarm != place.node {
                by_node[place.alarm.index()].push(owner);
            }
        }
        Self { by_node }
    }

    /// Pair and position of the end that a packet for `port` is for; a packet for a port that nobody has goes to the
    /// first one, whose stack says what it thinks of it.
    #[inline]
    pub fn of_packet(&self, node: NodeId, port: impl FnOnce() -> u16) -> Option<[usize; 2]> {
        match &self.by_node.get(node.index())?[..] {
            [] => None,
            [(_, only)] => Some(*only),
            [(_, first), ..] => {
                let port = port();
                let mut all = self.by_node[node.index()].iter();
                Some(all.find(|(own, _)| *own == port).map_or(*first, |(_, owner)| *owner))
            }
        }
    }

    /// Pair and position of the end that a node wakes.
    #[inline]
    pub fn of_alarm(&self, node: NodeId) -> Option<[usize; 2]> {
        self.by_node.get(node.index())?.first().map(|(_, owner)| *owner)
    }
}

#[cfg(test)]
mod tests {
    use polypath_netsim::topology::Disjoint;

    use super::*;

    #[test]
    fn ends_that_share_a_host_have_ports_and_alarms_of_their_own() {
        let mut builder = NetworkBuilder::new();
        let nodes = ["w", "x", "y", "z"].map(|name| builder.add_host(name));
        let pairs = [[0, 1], [1, 2], [2, 3], [0, 3]];
        let pairs = pairs.map(|[a, b]| Disjoint { a: nodes[a], b: nodes[b], paths: Vec::new() });
        let network = Wired { pairs: pairs.to_vec(), ..Wired::default() };
        let places = places(&network, &mut builder);
        let ports: Vec<u16> = places.iter().map(|[a, _]| a.port - PORT).collect();
        assert_eq!(ports, [0, 1, 2, 3]);
        let own: Vec<[bool; 2]> =
            places.iter().map(|both| both.each_ref().map(|p| p.alarm == p.node)).collect();
        assert_eq!(own, [[true, true], [false, true], [false, true], [false, false]]);
        let owners = Owners::new(&places);
        for both in &places {
            for place in both {
                let expected = Some([place.pair, place.name.index()]);
                assert_eq!(owners.of_packet(place.node, || place.port), expected);
                assert_eq!(owners.of_alarm(place.alarm), expected);
            }
        }
        assert_eq!(owners.of_packet(nodes[1], || 1), Some([0, 1]), "nobody has that port");
        let stranger = builder.add_host("stranger");
        assert_eq!((owners.of_packet(stranger, || PORT), owners.of_alarm(stranger)), (None, None));
    }
}
