//! Streams that begin anew and streams that are added, over sockets.
#![allow(missing_docs)]

mod common;

use common::{CLIENT, SERVER, client_on, pair, pair_with, server_with};
use polypath::config::StreamReconfiguration;
use polypath::{AssociationConfig, Event, EventKinds, Message, ReconfigurationError};

fn config() -> AssociationConfig {
    let mut config = AssociationConfig::default();
    config.policies.stream_reconfiguration = StreamReconfiguration::On;
    config
}

#[tokio::test]
async fn a_stream_begins_anew_and_others_are_added() {
    let pair = pair_with(server_with(&SERVER, config()), client_on(&CLIENT), config()).await;
    for number in 0..3 {
        pair.near.send(Message::new(2, vec![number; 3000])).await.unwrap();
    }
    pair.near.reset_outgoing_streams(&[2]).unwrap();
    // It waits for the reset.
    pair.near.send(Message::new(2, vec![3; 3000])).await.unwrap();
    let mut ssns = vec![];
    for number in 0..4 {
        let message = pair.far.receive().await.unwrap().unwrap();
        ssns.push(message.ssn());
        assert_eq!(message.into_bytes()[0], number);
    }
    assert_eq!(ssns, [0, 1, 2, 0]);

    let mut events = pair.near.events();
    pair.near.add_outgoing_streams(3).unwrap();
    let count = loop {
        if let Some(Event::StreamsAdded { outbound_streams, .. }) = events.next().await {
            break outbound_streams;
        }
    };
    assert_eq!(count, 13);
    pair.near.send(Message::new(12, vec![9; 10])).await.unwrap();
    assert_eq!(pair.far.receive().await.unwrap().unwrap().stream(), 12);
}

#[tokio::test]
async fn everything_begins_anew() {
    let pair = pair_with(server_with(&SERVER, config()), client_on(&CLIENT), config()).await;
    let mut events =
        [&pair.near, &pair.far].map(|side| side.events_of(EventKinds::ASSOCIATION_RESET));
    let mut claimed = pair.far.stream(1).unwrap();
    for number in 0..3 {
        pair.near.send(Message::new(1, vec![number; 3000])).await.unwrap();
        pair.far.send(Message::new(2, vec![number; 3000])).await.unwrap();
    }
    pair.near.reset_association().unwrap();
    assert_eq!(pair.near.reset_association(), Err(ReconfigurationError::TooSoon));
    pair.near.send(Message::new(1, vec![3; 3000])).await.unwrap();
    for side in &mut events {
        assert!(matches!(side.next().await, Some(Event::AssociationReset { .. })));
    }
    for number in 0..3 {
        assert_eq!(claimed.receive().await.unwrap().unwrap().into_bytes()[0], number);
    }
    assert!(claimed.receive().await.unwrap().is_none(), "the stream has ended");
    let message = pair.far.receive().await.unwrap().unwrap();
    assert_eq!((message.ssn(), message.into_bytes()[0]), (0, 3));
    pair.far.send(Message::new(2, vec![3; 3000])).await.unwrap();
    let mut ssns = vec![];
    for _ in 0..4 {
        ssns.push(pair.near.receive().await.unwrap().unwrap().ssn());
    }
    assert_eq!(ssns, [0, 1, 2, 0]);
}

#[tokio::test]
async fn it_is_off_unless_it_is_wanted() {
    let pair = pair().await;
    let refused = pair.near.reset_outgoing_streams(&[]);
    assert_eq!(refused, Err(ReconfigurationError::Unsupported));
}
