//! Slow readers, full buffers, abandoned futures, many associations.
#![allow(missing_docs)]

mod common;

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Waker};

use common::{CLIENT, SERVER, client_on, pair, pair_with, peer_of, server_with};
use polypath::{AssociationConfig, Endpoint, Event, Message, TryReceiveError};

fn small_buffers() -> AssociationConfig {
    AssociationConfig {
        send_buffer_bytes: 64 << 10,
        receive_buffer_bytes: 64 << 10,
        ..AssociationConfig::default()
    }
}

#[tokio::test]
async fn a_slow_reader_holds_up_the_sender() {
    let pair =
        pair_with(server_with(&SERVER, small_buffers()), client_on(&CLIENT), small_buffers()).await;
    let message = || Message::new(0, vec![1; 8 << 10]);
    // Nobody reads: the sender comes to a stop with both buffers full.
    let mut accepted = 0_u64;
    loop {
        match pair.near.try_send(message()) {
            Ok(()) => accepted += 1,
            Err(error) => {
                assert!(error.is_would_block(), "{error}");
                if pair.far.stats().receive_buffer_bytes > 48 << 10 {
                    break;
                }
                tokio::task::yield_now().await;
            }
        }
    }
    assert!(accepted <= 2 * 8, "{accepted} messages were accepted");
    assert!(pair.far.stats().receive_buffer_peak_bytes <= 72 << 10);
    // Now somebody reads: everything flows again, each message once.
    let near = pair.near.clone();
    let sending = tokio::spawn(async move {
        for _ in accepted..200 {
            near.send(message()).await.unwrap();
        }
        near.shutdown().await.unwrap();
    });
    let mut read = 0;
    while let Some(message) = pair.far.receive().await.unwrap() {
        assert_eq!(message.len(), 8 << 10);
        read += 1;
    }
    assert_eq!(read, 200);
    sending.await.unwrap();
}

#[tokio::test]
async fn a_message_larger_than_the_buffer_is_refused_at_once() {
    let pair =
        pair_with(server_with(&SERVER, small_buffers()), client_on(&CLIENT), small_buffers()).await;
    let error = pair.near.send(Message::new(0, vec![0; 65 << 10])).await.unwrap_err();
    assert!(error.to_string().contains("larger than the send buffer"), "{error}");
    let error = pair.near.send(Message::new(999, "x")).await.unwrap_err();
    assert!(error.to_string().contains("stream 999"), "{error}");
    let error = pair.near.send(Message::new(0, "")).await.unwrap_err();
    assert!(error.to_string().contains("at least one byte"), "{error}");
}

#[tokio::test]
async fn abandoned_futures_lose_nothing() {
    let pair =
        pair_with(server_with(&SERVER, small_buffers()), client_on(&CLIENT), small_buffers()).await;
    let mut cx = Context::from_waker(Waker::noop());
    // A receive that was polled and dropped has taken no message.
    assert!(pin!(pair.far.receive()).as_mut().poll(&mut cx).is_pending());
    let mut sent = 0_u32;
    loop {
        let payload = [sent.to_be_bytes().as_slice(), &[0; 16 << 10]].concat();
        // A send that did not complete at once is dropped: its message was not sent.
        if pin!(pair.near.send(Message::new(0, payload))).as_mut().poll(&mut cx).is_pending() {
            break;
        }
        sent += 1;
    }
    assert!(sent > 0);
    pair.near.send(Message::new(0, u32::MAX.to_be_bytes().to_vec())).await.unwrap();
    for expected in (0..sent).chain([u32::MAX]) {
        drop(pin!(pair.far.closed()).as_mut().poll(&mut cx));
        let message = pair.far.receive().await.unwrap().unwrap().into_bytes();
        assert_eq!(message[..4], expected.to_be_bytes());
    }
    assert!(matches!(pair.far.try_receive(), Err(TryReceiveError::Empty)));
}

#[tokio::test]
async fn an_abandoned_attempt_to_connect_leaves_nothing() {
    let (server, client) = (server_with(&SERVER, AssociationConfig::default()), client_on(&CLIENT));
    let mut cx = Context::from_waker(Waker::noop());
    let peer = peer_of(&server);
    let attempt = client.connect(&peer, AssociationConfig::default());
    assert!(Box::pin(attempt).as_mut().poll(&mut cx).is_pending());
    client.idle().await;
    // The same peer can be connected to again.
    let near = client.connect(&peer_of(&server), AssociationConfig::default()).await.unwrap();
    near.shutdown().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_senders_share_an_association() {
    let pair = pair().await;
    let senders: Vec<_> = (0..20_u16)
        .map(|sender| {
            let near = pair.near.clone();
            tokio::spawn(async move {
                for number in 0..100_u16 {
                    let payload = [sender.to_be_bytes(), number.to_be_bytes()].concat();
                    near.send(Message::new(sender % 10, payload)).await.unwrap();
                }
            })
        })
        .collect();
    let mut seen = std::collections::BTreeSet::new();
    for _ in 0..2000 {
        assert!(seen.insert(pair.far.receive().await.unwrap().unwrap().into_bytes()));
    }
    for sender in senders {
        sender.await.unwrap();
    }
    assert!(matches!(pair.far.try_receive(), Err(TryReceiveError::Empty)));
}

async fn echo(server: Endpoint) {
    while let Ok(association) = server.accept().await {
        tokio::spawn(async move {
            while let Ok(Some(message)) = association.receive().await {
                let (stream, payload) = (message.stream(), message.into_bytes());
                association.send(Message::new(stream, payload)).await.unwrap();
            }
        });
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_associations_share_an_endpoint() {
    let server = server_with(&SERVER, AssociationConfig::default());
    let peer = peer_of(&server);
    tokio::spawn(echo(server));
    let clients: Vec<_> = (0..100_u32)
        .map(|number| {
            let peer = peer.clone();
            tokio::spawn(async move {
                let client = client_on(&CLIENT);
                let association =
                    client.connect(&peer, AssociationConfig::default()).await.unwrap();
                for round in 0..10 {
                    let payload = [number.to_be_bytes(), u32::to_be_bytes(round)].concat();
                    association.send(Message::new(0, payload.clone())).await.unwrap();
                    let answer = association.receive().await.unwrap().unwrap();
                    assert_eq!(answer.into_bytes(), payload);
                }
                association.shutdown().await.unwrap();
            })
        })
        .collect();
    for client in clients {
        client.await.unwrap();
    }
}

#[tokio::test]
async fn associations_beyond_the_backlog_are_refused() {
    let server = Endpoint::builder(common::addresses(&SERVER))
        .encapsulation_port(0)
        .listen(2)
        .bind()
        .unwrap();
    let mut clients = Vec::new();
    for _ in 0..2 {
        let client = client_on(&CLIENT);
        let association =
            client.connect(&peer_of(&server), AssociationConfig::default()).await.unwrap();
        clients.push((client, association));
    }
    let third = client_on(&CLIENT);
    let refused = third.connect(&peer_of(&server), AssociationConfig::default()).await.unwrap_err();
    assert!(refused.to_string().contains("wait to be accepted"), "{refused}");
    assert_eq!(server.stats().associations_refused, 1);
    assert_eq!(server.accept().await.unwrap().remote_port(), clients[0].1.local_port());
}

#[tokio::test]
async fn events_tell_of_paths_and_of_a_dry_sender() {
    let pair = pair().await;
    let mut events = pair.near.events();
    pair.near.send(Message::new(0, "one")).await.unwrap();
    pair.near.sender_dry().await.unwrap();
    assert_eq!(pair.near.stats().send_buffer_bytes, 0);
    assert_eq!(pair.far.stats().data_chunks_received, 1);
    while !matches!(events.next().await.expect("the association is open"), Event::SenderDry) {}
    assert_eq!(events.missed(), 0);
}
