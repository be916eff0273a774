//! Endpoints on the loopback interface. UDP ports are left to the system, so that tests do not meet.
#![allow(dead_code, missing_docs)]

use std::net::IpAddr;

use polypath::{Association, AssociationConfig, Duration, Endpoint, EndpointConfig, Peer};

pub const SERVER: [&str; 2] = ["127.0.0.1", "127.0.0.2"];
pub const CLIENT: [&str; 2] = ["127.0.0.3", "127.0.0.4"];

pub fn addresses(texts: &[&str]) -> Vec<IpAddr> {
    texts.iter().map(|text| text.parse().expect("an address")).collect()
}

/// A listening endpoint whose accepted associations have the configuration `config`.
pub fn server_with(local: &[&str], config: AssociationConfig) -> Endpoint {
    let config = EndpointConfig { association: config, ..EndpointConfig::default() };
    let builder = Endpoint::builder(addresses(local)).encapsulation_port(0);
    builder.listen(1024).config(config).bind().expect("loopback addresses can be bound")
}

pub fn client_on(local: &[&str]) -> Endpoint {
    let builder = Endpoint::builder(addresses(local)).encapsulation_port(0);
    builder.bind().expect("loopback addresses can be bound")
}

/// How to reach `server` at its first address; it names the others in the handshake.
pub fn peer_of(server: &Endpoint) -> Peer {
    let first = server.local_addresses()[0];
    Peer::new([first], server.port()).encapsulation_port(server.encapsulation_port())
}

/// Two ends of one association.
pub struct Pair {
    pub server: Endpoint,
    pub client: Endpoint,
    /// The client's end.
    pub near: Association,
    /// The server's end.
    pub far: Association,
}

pub async fn pair_with(server: Endpoint, client: Endpoint, config: AssociationConfig) -> Pair {
    let near = client.connect(&peer_of(&server), config).await.expect("the server answers");
    let far = server.accept().await.expect("the server accepts");
    Pair { server, client, near, far }
}

/// An association over two paths.
pub async fn pair() -> Pair {
    let config = AssociationConfig::default();
    pair_with(server_with(&SERVER, config.clone()), client_on(&CLIENT), config).await
}

/// A configuration that gives up soon: 4 attempts within a second.
pub fn impatient() -> AssociationConfig {
    let mut config = AssociationConfig { max_init_retransmits: 3, ..AssociationConfig::default() };
    config.association_max_retrans = 3;
    config.policies.rto.initial = Duration::from_millis(20);
    config.policies.rto.min = Duration::from_millis(20);
    config.policies.rto.max = Duration::from_millis(40);
    config
}

/// `len` bytes that differ from place to place.
pub fn pattern(len: usize) -> Vec<u8> {
    let mut state = 0x2545_F491_4F6C_DD1D_u64;
    let mut bytes = Vec::with_capacity(len + 8);
    while bytes.len() < len {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        bytes.extend_from_slice(&state.to_le_bytes());
    }
    bytes.truncate(len);
    bytes
}
