//! Authenticated chunks over sockets: the same keys on both sides, changed while messages flow.
#![allow(missing_docs)]

mod common;

use common::{
    CLIENT, Pair, SERVER, client_on, impatient, pair_with, pattern, peer_of, server_with,
};
use polypath::config::{AuthenticatedChunks, SharedKeys};
use polypath::{AssociationConfig, AssociationError, ConnectError, KeyError, KeyRing, Message};

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

/// What `polypath key new` writes, for these.
fn ring(names: &[&str]) -> KeyRing {
    let line = |name: &&str| format!("{name} {:02x}{}\n", name.len(), "5a".repeat(31));
    KeyRing::parse(&names.iter().map(line).collect::<String>()).unwrap()
}

fn accepting(names: &[&str]) -> AssociationConfig {
    let mut config = impatient();
    ring(names).authenticate_peers(&mut config);
    config
}

fn holder(name: &str) -> AssociationConfig {
    let mut config = impatient();
    ring(&[name]).authenticate_with_first(&mut config);
    config
}

#[tokio::test]
async fn only_holders_of_keys_get_in_and_the_server_goes_on_serving_them() {
    let keys = ring(&["al", "bob", "carol"]);
    let server = server_with(&SERVER, accepting(&["al", "bob", "carol"]));
    let connects = async |config: AssociationConfig| {
        let client = client_on(&CLIENT);
        let near = client.connect(&peer_of(&server), config).await?;
        let far = server.accept().await?;
        assert!(near.is_authenticated() && far.is_authenticated());
        transfer(&Pair { server: server.clone(), client, near, far: far.clone() }, 300_000).await;
        let stats = far.stats();
        assert_eq!((stats.auth_chunks_refused, stats.unauthenticated_chunks), (0, 0));
        let id = far.peer_key().expect("the peer has used its key");
        Ok::<_, ConnectError>(keys.name(id).expect("one of the keys").to_owned())
    };
    assert_eq!(connects(holder("bob")).await.unwrap(), "bob");

    let refused = connects(impatient()).await.unwrap_err();
    let ConnectError::Ended(AssociationError::AbortedByPeer(causes)) = &refused else {
        panic!("{refused:?}")
    };
    assert!(causes.starts_with(&[0, 2]), "a mandatory parameter is missing: {causes:?}");
    // Another key, a name that is right with a key that is wrong, and the empty key.
    let mut empty = impatient();
    empty.policies.authenticated_chunks = AuthenticatedChunks::All;
    for config in [holder("someone"), with_key(impatient(), b"bob"), empty] {
        let refused = connects(config).await.unwrap_err();
        assert!(
            matches!(refused, ConnectError::Ended(AssociationError::CannotConnect)),
            "{refused:?}"
        );
    }
    assert_eq!(connects(holder("carol")).await.unwrap(), "carol");

    // The key of bob is taken out: his associations go on, and he begins no other.
    let client = client_on(&CLIENT);
    let near = client.connect(&peer_of(&server), holder("bob")).await.unwrap();
    let far = server.accept().await.unwrap();
    server.set_shared_keys(ring(&["al", "carol"]).shared_keys());
    assert!(connects(holder("bob")).await.is_err());
    assert_eq!(connects(holder("al")).await.unwrap(), "al");
    let pair = Pair { server: server.clone(), client, near, far };
    transfer(&pair, 300_000).await;

    // Unless it is said that they end. Those of others go on, and so do those that this side has begun.
    let [other, to_bob] = [client_on(&CLIENT), server_with(&["127.0.0.5"], accepting(&["bob"]))];
    let near = other.connect(&peer_of(&server), holder("al")).await.unwrap();
    let far = server.accept().await.unwrap();
    let others = Pair { server: server.clone(), client: other, near, far };
    let ours = server.connect(&peer_of(&to_bob), holder("bob")).await.unwrap();
    let left = ring(&["al"]).shared_keys();
    assert_eq!(server.revoke_other_keys(&left, "the key was revoked"), 1);
    let Err(AssociationError::AbortedByPeer(causes)) = pair.near.closed().await else { panic!() };
    assert!(causes.ends_with(b"the key was revoked"), "{causes:?}");
    assert!(matches!(pair.far.closed().await, Err(AssociationError::Aborted)));
    assert!(connects(holder("bob")).await.is_err() && connects(holder("carol")).await.is_err());
    transfer(&others, 300_000).await;
    assert!(ours.try_send(Message::new(0, "still there")).is_ok());
    assert_eq!(server.revoke_other_keys(&left, "again"), 0);
}

#[tokio::test]
async fn a_side_with_a_key_talks_to_nobody_without() {
    let server = server_with(&SERVER, impatient());
    let refused = client_on(&CLIENT).connect(&peer_of(&server), holder("bob")).await.unwrap_err();
    let ConnectError::Ended(AssociationError::HandshakeRefused(causes)) = &refused else {
        panic!("{refused:?}")
    };
    assert!(causes.starts_with(&[0, 2]), "{causes:?}");
}
