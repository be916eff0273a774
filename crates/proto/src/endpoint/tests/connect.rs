//! What is checked before an association begins as the client.

use super::*;
use crate::types::{AddressList, MAX_ADDRESSES, PeerAddress};

fn peers(addresses: &str) -> Vec<PeerAddress> {
    let encapsulation = Encapsulation::None;
    ips(addresses).into_iter().map(|address| PeerAddress { address, encapsulation }).collect()
}

type Prepared = Result<(Identity, AddressList), ConnectError>;

impl World {
    fn prepare(&mut self, config: &AssociationConfig, port: u16, peer: &[PeerAddress]) -> Prepared {
        let mut cx = Cx { now: self.now, rng: &mut self.rng, probe: &mut NoProbe };
        let ports = Ports { local: self.endpoint.local_port(), remote: port };
        let prepared = self.endpoint.prepare_connect(&mut cx, config, ports, peer);
        prepared.map(|(identity, peer)| (identity, peer.iter().map(|p| p.address).collect()))
    }

    fn prepare_default(&mut self, peer: &str) -> Prepared {
        self.prepare(&AssociationConfig::default(), PEER_PORT, &peers(peer))
    }
}

#[test]
fn the_identity_is_drawn() {
    let mut world = World::new(EndpointConfig::default());
    let (first, peer) = world.prepare_default("198.51.100.1 198.51.100.2 198.51.100.1").unwrap();
    assert_eq!(peer, ips("198.51.100.1 198.51.100.2"));
    assert_eq!((first.local_port, first.remote_port), (PORT, PEER_PORT));
    assert_eq!(first.local_addresses, ips("192.0.2.1 192.0.2.2"));
    let (second, _) = world.prepare_default("198.51.100.1").unwrap();
    assert_ne!(first.local_tag, second.local_tag);
    assert_ne!(first.initial_tsn, second.initial_tsn);
}

#[test]
fn only_addresses_that_can_be_paired_are_used() {
    let mut world = World::new(EndpointConfig::default());
    for unusable in ["", "2001:db8::1", "224.0.0.1", "0.0.0.0", "127.0.0.1", "169.254.0.9"] {
        assert_eq!(world.prepare_default(unusable).unwrap_err(), ConnectError::NoUsablePath);
    }
    let (_, peer) = world.prepare_default("2001:db8::1 198.51.100.1 127.0.0.1").unwrap();
    assert_eq!(peer, ips("198.51.100.1"));

    let mut cx = Cx { now: at(0), rng: &mut world.rng, probe: &mut NoProbe };
    let local = ips("127.0.0.1 192.0.2.1 2001:db8::1 192.0.2.255 0.0.0.0 ::1");
    world.endpoint = Endpoint::new(EndpointConfig::default(), PORT, &local, &mut cx);
    let (identity, _) = world.prepare_default("198.51.100.1").unwrap();
    assert_eq!(identity.local_addresses, ips("192.0.2.1 2001:db8::1 192.0.2.255"));
    let (identity, _) = world.prepare_default("127.0.0.1").unwrap();
    assert_eq!(identity.local_addresses, ips("127.0.0.1 ::1"));
}

#[test]
fn every_family_that_the_peer_may_use_is_offered() {
    let mut world = World::new(EndpointConfig::default());
    let mut cx = Cx { now: at(0), rng: &mut world.rng, probe: &mut NoProbe };
    let local = ips("192.0.2.1 2001:db8::1 fe80::1 ::1");
    world.endpoint = Endpoint::new(EndpointConfig::default(), PORT, &local, &mut cx);
    let config = AssociationConfig::default();
    let (_, mut client) =
        world.endpoint.connect(&mut cx, config, PEER_PORT, &peers("198.51.100.1")).unwrap();
    let init = client.poll_transmit(&mut cx).unwrap();
    assert_eq!((init.local, init.remote), (ip("192.0.2.1"), ip("198.51.100.1")));
    let Chunk::Init(init) = &init.packet.chunks[0] else { panic!("{init:?}") };
    assert_eq!(init.parameters.addresses().collect::<AddressList>(), ips("192.0.2.1 2001:db8::1"));
    // Both families: without the parameter, every type is supported.
    let types = |p: Parameter<'_>| matches!(p, Parameter::SupportedAddressTypes(_));
    assert!(!init.parameters.into_iter().any(types));
}

#[test]
fn the_peer_must_be_new_and_somebody_else() {
    let mut world = World::new(EndpointConfig { max_associations: 2, ..Default::default() });
    world.associate(5, "198.51.100.1");
    let taken = world.prepare_default("198.51.100.3 198.51.100.1");
    assert_eq!(taken.unwrap_err(), ConnectError::AlreadyConnected);
    let config = AssociationConfig::default();
    assert!(world.prepare(&config, PEER_PORT + 1, &peers("198.51.100.1")).is_ok());
    let own = world.prepare(&config, PORT, &peers("192.0.2.2"));
    assert_eq!(own.unwrap_err(), ConnectError::NoUsablePath);
    // The same host, but another port.
    assert!(world.prepare(&config, PORT + 1, &peers("192.0.2.2")).is_ok());
    world.associate(6, "198.51.100.2");
    let full = world.prepare_default("198.51.100.3");
    assert_eq!(full.unwrap_err(), ConnectError::TooManyAssociations);
}

#[test]
fn ports_and_paths_are_limited() {
    let mut world = World::new(EndpointConfig::default());
    let config = AssociationConfig { max_paths: 2, ..Default::default() };
    let zero = world.prepare(&config, 0, &peers("198.51.100.1"));
    assert_eq!(zero.unwrap_err(), ConnectError::InvalidPort);
    let many = peers("198.51.100.1 198.51.100.2 198.51.100.3");
    let (_, peer) = world.prepare(&config, PEER_PORT, &many).unwrap();
    assert_eq!(peer, ips("198.51.100.1 198.51.100.2"));
    let many: Vec<_> = (1..=40).map(|n| std::format!("198.51.100.{n}")).collect();
    for (max_paths, peers_used) in [(0, 1), (255, MAX_ADDRESSES)] {
        let config = AssociationConfig { max_paths, ..Default::default() };
        let (_, peer) = world.prepare(&config, PEER_PORT, &peers(&many.join(" "))).unwrap();
        assert_eq!(peer.len(), peers_used);
    }
}

#[test]
fn associations_begin_with_the_addresses_of_the_time() {
    let mut world = World::new(EndpointConfig::default());
    for wrong in ["224.0.0.1", "0.0.0.0", "192.0.2.2"] {
        world.endpoint.handle_local_address(LocalAddressChange::Added(ip(wrong)));
    }
    assert_eq!(world.endpoint.local_addresses(), ips("192.0.2.1 192.0.2.2").as_slice());
    world.endpoint.handle_local_address(LocalAddressChange::Added(ip("192.0.2.3")));
    world.endpoint.handle_local_address(LocalAddressChange::Removed(ip("192.0.2.1")));
    let (identity, _) = world.prepare_default("198.51.100.1").unwrap();
    assert_eq!(identity.local_addresses, ips("192.0.2.2 192.0.2.3"));
    // What was ours may be a peer's now.
    assert!(world.prepare(&AssociationConfig::default(), PORT, &peers("192.0.2.1")).is_ok());
    for gone in ["192.0.2.3", "192.0.2.2"] {
        world.endpoint.handle_local_address(LocalAddressChange::Removed(ip(gone)));
    }
    assert_eq!(world.endpoint.local_addresses(), [ip("192.0.2.2")], "the last one stays");
}
