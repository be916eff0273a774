//! The ends of associations in the network.

use std::net::IpAddr;

use polypath_netsim::topology::DisjointPath;
use polypath_netsim::{NetworkBuilder, NodeId};

use crate::scenario::{AssociationPlan, HostName};
use crate::wiring::Wired;

/// One end of an association in the network.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub name: HostName,
    /// Position of its pair among the pairs of the scenario.
    pub pair: usize,
    /// Its node.
    pub node: NodeId,
    /// The node for its timers: its own, or one without links if another end uses that already.
    pub alarm: NodeId,
    /// Its port; further associations of the same host have ports of their own.
    pub port: u16,
    /// Port of its peer.
    pub peer_port: u16,
    /// Local and remote address of each path.
    pub paths: Vec<[IpAddr; 2]>,
    /// Names of the paths.
    pub names: Vec<String>,
}

impl Place {
    /// Moves the path of this name to the front, if there is one.
    pub fn begin_with(&mut self, name: &str) {
        if let Some(index) = self.names.iter().position(|known| known == name) {
            self.names[..=index].rotate_right(1);
            self.paths[..=index].rotate_right(1);
        }
    }

    /// Its addresses, without duplicates.
    pub fn addresses(&self) -> Vec<IpAddr> {
        distinct(self.paths.iter().map(|[local, _]| *local))
    }

    /// The addresses of its peer.
    pub fn peer_addresses(&self) -> Vec<IpAddr> {
        distinct(self.paths.iter().map(|[_, remote]| *remote))
    }

    /// Addresses of the path of this name.
    pub fn path(&self, name: &str) -> Option<[IpAddr; 2]> {
        let index = self.names.iter().position(|known| known == name)?;
        self.paths.get(index).copied()
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

/// Places both ends of all pairs, and adds timer nodes for ends that share a host. `clients` are the initiating ends.
pub(crate) fn places(
    network: &Wired,
    plan: &AssociationPlan,
    clients: &[HostName],
    builder: &mut NetworkBuilder,
) -> Vec<[Place; 2]> {
    let mut all: Vec<[Place; 2]> = Vec::new();
    for (pair, paths) in network.pairs.iter().enumerate() {
        let nodes = [paths.a, paths.b];
        let ports = free_ports(&all, nodes, first_ports(plan, clients.get(pair).copied()));
        let place = |name: HostName| {
            let node = nodes[name.index()];
            let taken = all.iter().flatten().any(|place| place.node == node);
            let alarm = match taken {
                true => builder.add_host(format!("alarm {pair}/{}", name.index())),
                false => node,
            };
            let mut place = Place {
                name,
                pair,
                node,
                alarm,
                port: ports[name.index()],
                peer_port: ports[name.peer().index()],
                paths: paths.paths.iter().map(|path| sides(path, name)).collect(),
                names: paths.paths.iter().map(|path| path.name.clone()).collect(),
            };
            // Addresses are paired in their order, so that both ends agree.
            place.begin_with(&plan.local_address);
            place.begin_with(&plan.remote_address);
            place
        };
        all.push(HostName::ALL.map(place));
    }
    all
}

/// Ports of both ends of the first association of two hosts.
fn first_ports(plan: &AssociationPlan, client: Option<HostName>) -> [u16; 2] {
    let ports = [plan.local_port, plan.remote_port];
    match client {
        Some(HostName::B) => [ports[1], ports[0]],
        Some(HostName::A) | None => ports,
    }
}

/// The next ports at the same distance from the first ones that are free at these nodes.
fn free_ports(all: &[[Place; 2]], nodes: [NodeId; 2], first: [u16; 2]) -> [u16; 2] {
    let taken = |place: &&Place| nodes.contains(&place.node);
    let highest = all.iter().flatten().filter(taken).map(|place| place.port).max();
    let lowest = first[0].min(first[1]);
    let offset = highest.map_or(0, |port| (port + 1).saturating_sub(lowest));
    // After the last port, they start again; port 0 is invalid.
    first.map(|port| port.wrapping_add(offset).max(1))
}

/// The pair and end for packets and timers.
#[derive(Debug)]
pub(crate) struct Owners {
    /// By node: its ends, and those that it is the timer node of, by port.
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

    /// Pair and position of the end that a packet for `port` belongs to. A packet for an unknown port goes to the first
    /// end, whose stack handles it.
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

    /// Pair and position of the end with this timer node.
    #[inline]
    pub fn of_alarm(&self, node: NodeId) -> Option<[usize; 2]> {
        self.by_node.get(node.index())?.first().map(|(_, owner)| *owner)
    }
}

#[cfg(test)]
mod tests {
    use polypath_netsim::topology::Disjoint;

    use super::*;

    const PORT: u16 = 9000;

    #[test]
    fn the_client_has_the_local_port() {
        let plan = AssociationPlan { local_port: 7, remote_port: 9, ..AssociationPlan::default() };
        for (client, expected) in [(HostName::A, [7, 9]), (HostName::B, [9, 7])] {
            let mut builder = NetworkBuilder::new();
            let nodes = ["x", "y", "z"].map(|name| builder.add_host(name));
            let pairs = [[0, 1], [0, 2]];
            let pair =
                |[a, b]: [usize; 2]| Disjoint { a: nodes[a], b: nodes[b], paths: Vec::new() };
            let network = Wired { pairs: pairs.map(pair).to_vec(), ..Wired::default() };
            let places = places(&network, &plan, &[client, HostName::B], &mut builder);
            let ports = |pair: usize| places[pair].each_ref().map(|place| place.port);
            assert_eq!(ports(0), expected);
            assert_eq!(
                places[0].each_ref().map(|place| place.peer_port),
                [expected[1], expected[0]]
            );
            assert!(ports(1)[0] != ports(0)[0], "two associations of a host: {:?}", ports(1));
        }
    }

    #[test]
    fn ends_that_share_a_host_have_ports_and_alarms_of_their_own() {
        let mut builder = NetworkBuilder::new();
        let nodes = ["w", "x", "y", "z"].map(|name| builder.add_host(name));
        let pairs = [[0, 1], [1, 2], [2, 3], [0, 3]];
        let pairs = pairs.map(|[a, b]| Disjoint { a: nodes[a], b: nodes[b], paths: Vec::new() });
        let network = Wired { pairs: pairs.to_vec(), ..Wired::default() };
        let places = places(&network, &AssociationPlan::default(), &[], &mut builder);
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
