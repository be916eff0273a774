//! Authenticated chunks over sockets: the same keys on both sides, changed while messages flow.
#![allow(missing_docs)]

mod common;

use common::{
    CLIENT, Pair, SERVER, client_on, impatient, pair_with, pattern, peer_of, server_with,
};
use polypath::config::{AuthenticatedChunks, SharedKeys};
use polypath::{AssociationConfig, KeyError, Message};

fn with_key(base: AssociationConfig, key: &[u8]) -> AssociationConfig {
    let mut config = base;
    config.policies.authenticated_chunks = AuthenticatedChunks::All;
    config.shared_keys = SharedKeys::with_key(1, key).unwrap();
    config
}

async fn transfer(pair: &Pair, len: usize) {
    let content = pattern(len);
    let message = Message::new(0, content.clone());
    let (sent, received) = tokio::join!(pair.near.send(message), pair.far.receive());
    sent.unwrap();
    assert!(received.unwrap().unwrap().into_bytes() == content);
}

#[tokio::test]
async fn keys_change_while_messages_flow() {
    let config = with_key(AssociationConfig::default(), b"first");
    let server = server_with(&SERVER, config.clone());
    let pair = pair_with(server, client_on(&CLIENT), config).await;
    assert!(pair.near.is_authenticated() && pair.far.is_authenticated());
    transfer(&pair, 1_000_000).await;
    for side in [&pair.near, &pair.far] {
        side.set_shared_key(2, b"second").unwrap();
    }
    for side in [&pair.near, &pair.far] {
        side.activate_shared_key(2).unwrap();
    }
    transfer(&pair, 1_000_000).await;
    assert_eq!(pair.far.delete_shared_key(2), Err(KeyError::Active { id: 2 }));
    pair.near.shutdown().await.unwrap();
    let stats = pair.far.stats();
    assert!(stats.auth_chunks_accepted > 1000, "{stats:?}");
    assert_eq!((stats.auth_chunks_refused, stats.unauthenticated_chunks), (0, 0));
}

#[tokio::test]
async fn without_the_key_nobody_connects() {
    let server = server_with(&SERVER, with_key(AssociationConfig::default(), b"right"));
    let client = client_on(&CLIENT);
    for config in [with_key(impatient(), b"wrong"), impatient()] {
        assert!(client.connect(&peer_of(&server), config).await.is_err());
    }
    let right = with_key(impatient(), b"right");
    let near = client.connect(&peer_of(&server), right).await.unwrap();
    assert!(near.is_authenticated());
}
