//! Peers by their names.
#![allow(missing_docs)]

mod common;

use common::{addresses, client_on, server_with};
use polypath::{AssociationConfig, ConnectError, Endpoint, Message, Peer};

#[tokio::test]
async fn every_address_of_a_name_is_the_peers() {
    let peer = Peer::resolve("127.0.0.1:5001, 127.0.0.2:5001,127.0.0.1:5001").await.unwrap();
    assert_eq!(peer.addresses(), addresses(&["127.0.0.1", "127.0.0.2"]));
    assert_eq!(peer.port(), 5001);
}

#[tokio::test]
async fn a_name_leads_to_an_association() {
    let server = server_with(&["127.0.0.1"], AssociationConfig::default());
    let client = client_on(&["127.0.0.3"]);
    let name = format!("localhost:{}", server.port());
    let peer = Peer::resolve(&name).await.unwrap();
    let peer = peer.encapsulation_port(server.encapsulation_port());
    let near = client.connect(&peer, AssociationConfig::default()).await.unwrap();
    let far = server.accept().await.unwrap();
    near.send(Message::new(0, "by name")).await.unwrap();
    assert_eq!(far.receive().await.unwrap().unwrap().into_bytes(), "by name");
}

#[tokio::test]
async fn what_cannot_be_resolved_is_named() {
    let client: Endpoint = client_on(&["127.0.0.3"]);
    for (names, expected) in [
        ("127.0.0.1", "127.0.0.1"),
        ("127.0.0.1:5001,127.0.0.2:5002", "127.0.0.2:5002"),
        ("127.0.0.1:5001,", ""),
        ("", ""),
    ] {
        let error = client.connect_to(names, AssociationConfig::default()).await.unwrap_err();
        let ConnectError::Name { name, .. } = error else { panic!("{error}") };
        assert_eq!(name, expected, "{names:?}");
    }
}
