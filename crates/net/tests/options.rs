//! Parameters that are changed while associations live.
#![allow(missing_docs)]

mod common;

use common::{CLIENT, SERVER, addresses, client_on, pair, pair_with, server_with};
use polypath::config::{CongestionAlgorithm, ErrorDetection};
use polypath::{
    AssociationConfig, AssociationOptions, Delivery, Duration, Endpoint, Event, Heartbeats,
    Initiator, LongMessages, Message, PathId, PathOptions, SendError, SendRefusal,
};

fn default() -> AssociationOptions {
    AssociationOptions::default()
}

#[tokio::test]
async fn options_are_set_and_read() {
    let pair = pair().await;
    let options = AssociationOptions {
        sack_delay: Some(Duration::from_millis(20)),
        long_messages: Some(LongMessages::Refuse),
        ..default()
    };
    pair.near.set_options(&options).unwrap();
    let read = pair.near.options();
    assert_eq!((read.sack_delay, read.long_messages), (options.sack_delay, options.long_messages));
    let error = pair.near.send(Message::new(0, vec![0; 10_000])).await.unwrap_err();
    let SendError::Refused(SendRefusal::NeedsFragments { size: 10_000, .. }) = error else {
        panic!("{error}")
    };
    let slow = AssociationOptions { sack_delay: Some(Duration::from_secs(9)), ..default() };
    let error = pair.near.set_options(&slow).unwrap_err();
    assert!(error.to_string().starts_with("policies.delayed_ack.delay"), "{error}");

    let path = PathOptions { heartbeats: Some(Heartbeats::Off), ..PathOptions::default() };
    pair.near.set_path_options(PathId(0), &path).unwrap();
    assert_eq!(pair.near.path_options(PathId(0)).unwrap().heartbeats, path.heartbeats);
    assert!(pair.near.set_path_options(PathId(77), &path).is_err());
    let before = pair.near.path_stats()[0].heartbeats_sent;
    pair.near.request_heartbeat(PathId(0)).unwrap();
    assert_eq!(pair.near.path_stats()[0].heartbeats_sent, before + 1);
}

#[tokio::test]
async fn messages_without_parameters_of_their_own_have_the_default_ones() {
    let pair = pair().await;
    assert_eq!(pair.near.default_message(), Message::new(0, ""));
    pair.near.send_bytes("before").await.unwrap();
    let other_handle = pair.near.clone();
    other_handle.set_default_message(Message::new(3, "no content").ppid(46).unordered().context(9));
    assert_eq!(pair.near.default_message(), Message::new(3, "").ppid(46).unordered().context(9));
    pair.near.send_bytes("after").await.unwrap();
    pair.near.try_send_bytes("at once").unwrap();
    let mut got = Vec::new();
    for _ in 0..3 {
        let message = pair.far.receive().await.unwrap().unwrap();
        let facts = (message.stream(), message.ppid(), message.delivery());
        got.push((message.into_bytes(), facts));
    }
    // Over two paths they arrive in any order.
    got.sort_by(|one, other| one.0.cmp(&other.0));
    let set = (3, 46, Delivery::Unordered);
    let expected = [("after", set), ("at once", set), ("before", (0, 0, Delivery::Ordered))];
    assert_eq!(got, expected.map(|(content, facts)| (content.into(), facts)));
    assert_eq!(pair.near.send_bytes("").await, Err(SendError::Refused(SendRefusal::Empty)));
}

#[tokio::test]
async fn accepted_associations_get_their_own_parameters_before_they_answer() {
    let server = Endpoint::builder(addresses(&SERVER))
        .encapsulation_port(0)
        .listen(16)
        .accept_options(|peer| {
            assert_eq!(peer.initiator, Initiator::Peer);
            assert_eq!(peer.remote_addresses.len(), CLIENT.len());
            AssociationOptions {
                association_max_retrans: Some(3),
                congestion: Some(CongestionAlgorithm::Cubic),
                ..default()
            }
        })
        .bind()
        .unwrap();
    let pair = pair_with(server, client_on(&CLIENT), AssociationConfig::default()).await;
    assert_eq!(pair.far.options().association_max_retrans, Some(3));
    assert_eq!(pair.far.options().congestion, Some(CongestionAlgorithm::Cubic));
    assert_ne!(pair.near.options().association_max_retrans, Some(3));
}

#[tokio::test]
async fn an_association_whose_parameters_cannot_be_used_is_refused() {
    let server = Endpoint::builder(addresses(&SERVER))
        .encapsulation_port(0)
        .listen(16)
        .accept_options(|_| AssociationOptions { sack_packets: Some(0), ..default() })
        .bind()
        .unwrap();
    let client = client_on(&CLIENT);
    let near = client.connect(&common::peer_of(&server), AssociationConfig::default()).await;
    if let Ok(near) = near {
        near.closed().await.unwrap_err();
    }
    assert_eq!(server.stats().associations_refused, 1);
}

#[tokio::test]
async fn an_idle_association_closes_itself() {
    let config = AssociationConfig {
        autoclose: Some(Duration::from_millis(100)),
        ..AssociationConfig::default()
    };
    let pair =
        pair_with(server_with(&SERVER, config), client_on(&CLIENT), AssociationConfig::default())
            .await;
    let mut events = pair.near.events();
    pair.near.send(Message::new(0, "the last")).await.unwrap();
    assert_eq!(pair.far.receive().await.unwrap().unwrap().into_bytes(), "the last");
    assert!(pair.near.receive().await.unwrap().is_none());
    pair.far.closed().await.unwrap();
    pair.near.closed().await.unwrap();
    while let Some(event) = events.next().await {
        if event == Event::PeerShutdown {
            return;
        }
    }
    panic!("the server shut down");
}

#[tokio::test]
async fn packets_on_sockets_always_have_a_checksum() {
    let error_detection = ErrorDetection::LowerLayerDtls;
    let config = AssociationConfig { error_detection, ..AssociationConfig::default() };
    let pair = pair_with(server_with(&SERVER, config.clone()), client_on(&CLIENT), config).await;
    pair.near.send(Message::new(0, vec![0; 10_000])).await.unwrap();
    pair.far.receive().await.unwrap();
    for stats in [pair.near.stats(), pair.far.stats()] {
        assert!(stats.packets_received > 0);
        assert_eq!((stats.zero_checksums_sent, stats.zero_checksums_received), (0, 0));
    }
}
