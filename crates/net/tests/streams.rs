//! Associations as streams and sinks.
#![allow(missing_docs)]

mod common;

use common::{client_on, pair, pair_with, peer_of, server_with};
use futures_util::{FutureExt, Sink, SinkExt, StreamExt, TryStreamExt, stream};
use polypath::{AssociationConfig, AssociationError, Event, Message, SendError};
use std::pin::pin;

fn message(number: u8) -> Message {
    Message::new(0, vec![number; 1000])
}

#[tokio::test]
async fn messages_go_into_a_sink_and_come_out_of_a_stream() {
    let pair = pair().await;
    let numbers = stream::iter((0..100).map(|number| Ok(message(number))));
    numbers.forward(pair.near.sink()).await.unwrap();
    let (ended, received) =
        tokio::join!(pair.near.shutdown(), pair.far.messages().try_collect::<Vec<_>>());
    ended.unwrap();
    let received: Vec<_> = received.unwrap().into_iter().map(|m| m.into_bytes()[0]).collect();
    assert_eq!(received, (0..100).collect::<Vec<u8>>());
}

#[tokio::test]
async fn a_full_buffer_holds_up_the_sink_and_loses_nothing() {
    let config = AssociationConfig {
        send_buffer_bytes: 4000,
        receive_buffer_bytes: 4000,
        ..Default::default()
    };
    let server = server_with(&["127.0.0.1"], config.clone());
    let pair = pair_with(server, client_on(&["127.0.0.3"]), config).await;
    let mut sink = pair.near.sink();
    let mut count = 0;
    // Nobody reads: the buffers fill, and one message waits in the sink.
    loop {
        if pin!(sink.feed(message(count))).now_or_never().is_none() {
            break;
        }
        count += 1;
        tokio::task::yield_now().await;
    }
    assert!(sink.flush().now_or_never().is_none());
    let read = pair.far.messages().take(usize::from(count)).try_collect::<Vec<_>>();
    let (flushed, received) = tokio::join!(sink.flush(), read);
    flushed.unwrap();
    let received: Vec<_> = received.unwrap().into_iter().map(|m| m.into_bytes()[0]).collect();
    assert_eq!(received, (0..count).collect::<Vec<u8>>());
    sink.close().await.unwrap();
}

#[tokio::test]
async fn a_sink_that_is_not_asked_first_sends_in_order_nevertheless() {
    let pair = pair().await;
    let mut sink = pair.near.sink();
    for number in 0..200 {
        pin!(&mut sink).start_send(Message::new(0, vec![number; 60_000])).unwrap();
    }
    let (flushed, received) =
        tokio::join!(sink.flush(), pair.far.messages().take(200).try_collect::<Vec<_>>());
    flushed.unwrap();
    let received: Vec<_> = received.unwrap().into_iter().map(|m| m.into_bytes()[0]).collect();
    assert_eq!(received, (0..200).collect::<Vec<u8>>());
}

#[tokio::test]
async fn errors_end_streams_and_sinks_survive_them() {
    let pair = pair().await;
    let (mut messages, mut sink) = (pair.far.messages(), pair.far.sink());
    assert!(matches!(sink.send(Message::new(0, "")).await, Err(SendError::Refused(_))));
    sink.send(message(1)).await.unwrap();
    pair.near.abort("enough");
    assert!(matches!(messages.next().await, Some(Err(AssociationError::AbortedByPeer(_)))));
    assert!(messages.next().await.is_none());
    for _ in 0..2 {
        let error = sink.send(message(2)).await.unwrap_err();
        assert!(matches!(error, SendError::Ended(AssociationError::AbortedByPeer(_))));
    }
}

#[tokio::test]
async fn associations_and_events_are_streams_too() {
    let server = server_with(&["127.0.0.1"], AssociationConfig::default());
    let client = client_on(&["127.0.0.3"]);
    let mut incoming = server.incoming();
    let near = client.connect(&peer_of(&server), AssociationConfig::default()).await.unwrap();
    let far = incoming.next().await.unwrap();
    let events = far.events().into_stream();
    let (ended, events) = tokio::join!(near.shutdown(), events.collect::<Vec<_>>());
    ended.unwrap();
    assert!(matches!(events.last(), Some(Event::Ended(_))));
    server.stop_listening();
    assert!(incoming.next().await.is_none());
}
