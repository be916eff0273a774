//! Ports that are bound beside that of the endpoint.

use super::*;

/// A further port of the endpoint.
const OTHER: u16 = 6001;

fn bound(addresses: &str, listening: bool, streams: u16) -> PortConfig {
    PortConfig {
        local_addresses: match addresses {
            "" => PortAddresses::All,
            listed => PortAddresses::Listed(ips(listed).to_vec()),
        },
        listening,
        association: AssociationConfig {
            outbound_streams: streams,
            ..AssociationConfig::with_preset(Preset::Rfc9260)
        },
    }
}

impl World {
    /// What the INIT ACK says that answers an INIT to a port of 192.0.2.1; `None` if the answer is ABORT.
    fn offer_at(&mut self, port: u16) -> Option<Init<'static>> {
        let init = Chunk::Init(init(7, ""));
        let packet = Packet { destination_port: port, ..packet(0, [init]) };
        match self.answer_chunk(&over_udp(packet)) {
            (_, Chunk::InitAck(init)) => Some(init),
            (_, Chunk::Abort(_)) => None,
            (_, other) => panic!("neither INIT ACK nor ABORT, but {other:?}"),
        }
    }

    fn connect(&mut self, ports: [u16; 2], peer: &str) -> Result<Identity, ConnectError> {
        let peer = [PeerAddress { address: ip(peer), encapsulation: udp(9899) }];
        let config = AssociationConfig::with_preset(Preset::Rfc9260);
        let mut cx = Cx { now: self.now, rng: &mut self.rng, probe: &mut NoProbe };
        let (_, association) = self.endpoint.connect_from_port(&mut cx, config, ports, &peer)?;
        Ok(association.identity().clone())
    }
}

fn over_udp(packet: Packet<'static>) -> Arrival {
    Arrival { encapsulation: udp(9899), ..arrival(packet) }
}

#[test]
fn a_port_has_its_own_addresses_and_configuration() {
    let mut world = World::listening();
    assert!(world.offer_at(OTHER).is_none(), "nobody has bound it");

    world.endpoint.bind_port(OTHER, bound("192.0.2.1", true, 3));
    let ours = world.offer_at(OTHER).expect("INIT ACK");
    assert_eq!(ours.outbound_streams, 3);
    assert!(ours.parameters.addresses().all(|address| address == ip("192.0.2.1")));
    let all = world.offer_at(PORT).expect("INIT ACK");
    assert!(all.parameters.addresses().any(|address| address == ip("192.0.2.2")));

    world.endpoint.bind_port(OTHER, bound("192.0.2.2", true, 3));
    assert!(world.offer_at(OTHER).is_none(), "not at this address");
    world.endpoint.bind_port(OTHER, bound("192.0.2.1", false, 3));
    assert!(world.offer_at(OTHER).is_none(), "does not listen");
    world.endpoint.unbind_port(OTHER);
    assert!(!world.endpoint.is_port_bound(OTHER));
}

#[test]
fn a_port_where_no_more_may_wait_refuses_peers() {
    let mut world = World::listening();
    world.endpoint.set_port_full(OTHER, true);
    world.endpoint.bind_port(OTHER, bound("", true, 1));
    assert!(world.offer_at(OTHER).is_some(), "it was not bound then");
    world.endpoint.set_port_full(OTHER, true);
    assert!(world.offer_at(OTHER).is_none());
    world.endpoint.bind_port(OTHER, bound("", true, 2));
    assert!(world.offer_at(OTHER).is_none(), "another configuration makes no room");
    world.endpoint.set_port_full(OTHER, false);
    assert!(world.offer_at(OTHER).is_some());
}

#[test]
fn an_association_begins_from_a_bound_port_with_its_addresses() {
    let mut world = World::listening();
    let ports = [OTHER, PEER_PORT];
    assert_eq!(world.connect(ports, "198.51.100.1").unwrap_err(), ConnectError::InvalidPort);

    world.endpoint.bind_port(OTHER, bound("192.0.2.2", false, 1));
    let identity = world.connect(ports, "198.51.100.1").unwrap();
    assert_eq!(identity.local_port, OTHER);
    assert_eq!(identity.local_addresses, ips("192.0.2.2"));
}

#[test]
fn two_ports_of_one_endpoint_may_be_connected() {
    let mut world = World::listening();
    world.endpoint.bind_port(OTHER, bound("", false, 1));
    let itself = world.connect([OTHER, OTHER], "192.0.2.1");
    assert_eq!(itself.unwrap_err(), ConnectError::NoUsablePath);
    assert!(world.connect([OTHER, PORT], "192.0.2.1").is_ok());
}

#[test]
fn addresses_that_come_and_go_are_those_of_the_ports_that_take_them() {
    let mut world = World::listening();
    let [new, lost] = ["192.0.2.9", "192.0.2.1"].map(ip);
    world.endpoint.handle_local_address(LocalAddressChange::Added(new));
    world.endpoint.handle_local_address(LocalAddressChange::Removed(lost));
    let listed = |addresses: &[IpAddr]| PortAddresses::Listed(addresses.to_vec());
    for (addresses, expected) in [
        (PortAddresses::All, "192.0.2.2 192.0.2.9"),
        (PortAddresses::Ipv4, "192.0.2.2 192.0.2.9"),
        (PortAddresses::Ipv6, ""),
        (listed(&[new]), "192.0.2.9"),
        (listed(&[lost, ip("192.0.2.2")]), "192.0.2.2"),
    ] {
        let config = PortConfig { local_addresses: addresses.clone(), ..bound("", true, 1) };
        world.endpoint.bind_port(OTHER, config);
        let connected = world.connect([OTHER, PEER_PORT], "198.51.100.1");
        match expected {
            "" => assert_eq!(connected.unwrap_err(), ConnectError::NoUsablePath),
            all => assert_eq!(connected.unwrap().local_addresses, ips(all), "{addresses:?}"),
        }
        world.endpoint = World::listening().endpoint;
        world.endpoint.handle_local_address(LocalAddressChange::Added(new));
        world.endpoint.handle_local_address(LocalAddressChange::Removed(lost));
    }
}
