//! Endpoints with every address of the host.
#![allow(missing_docs)]
#![cfg(target_os = "linux")]

mod common;

use common::{client_on, peer_of, server_with};
use polypath::{AssociationConfig, Message};

#[tokio::test]
async fn a_wildcard_has_the_addresses_of_the_host() {
    let server = server_with(&["0.0.0.0"], AssociationConfig::default());
    let local = server.local_addresses();
    let loopback = "127.0.0.1".parse().unwrap();
    assert!(local.contains(&loopback), "{local:?}");
    assert!(local.iter().all(|address| address.is_ipv4() && !address.is_unspecified()));
    let client = client_on(&["127.0.0.3"]);
    let peer = peer_of(&server);
    let peer = polypath::Peer::new([loopback], peer.port())
        .encapsulation_port(server.encapsulation_port());
    let near = client.connect(&peer, AssociationConfig::default()).await.unwrap();
    let far = server.accept().await.unwrap();
    near.send(Message::new(0, "found")).await.unwrap();
    assert_eq!(far.receive().await.unwrap().unwrap().into_bytes(), "found");
    // Named ones go with it.
    let both = client_on(&["127.0.0.77", "0.0.0.0"]);
    assert_eq!(both.local_addresses().len(), local.len() + 1);
}
