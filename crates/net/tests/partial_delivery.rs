//! Messages that are larger than the receive buffer.
#![allow(missing_docs)]

mod common;

use common::{CLIENT, SERVER, client_on, pair_with, pattern, server_with};
use polypath::{AssociationConfig, Event, Message, Piece};

/// Bytes of the receive buffer.
const SMALL: u32 = 64 << 10;

fn config(partial_delivery_point: Option<u32>) -> AssociationConfig {
    AssociationConfig {
        receive_buffer_bytes: SMALL,
        partial_delivery_point,
        ..AssociationConfig::default()
    }
}

#[tokio::test]
async fn a_message_larger_than_the_receive_buffer_arrives_in_pieces() {
    let pair =
        pair_with(server_with(&SERVER, config(None)), client_on(&CLIENT), config(None)).await;
    let content = pattern(1_000_000);
    pair.near.send(Message::new(3, content.clone()).ppid(7)).await.unwrap();
    let near = pair.near.clone();
    let behind = tokio::spawn(async move { near.send(Message::new(4, "behind it")).await });
    let mut joined: Vec<u8> = Vec::new();
    let mut pieces = 0;
    loop {
        let message = pair.far.receive().await.unwrap().unwrap();
        assert_eq!((message.stream(), message.ppid(), message.ssn()), (3, 7, 0));
        assert_eq!(message.piece().begins(), joined.is_empty());
        joined.extend(message.fragments().flatten());
        pieces += 1;
        if message.piece().ends() {
            break;
        }
    }
    assert!(pieces as u32 >= 1_000_000 / (SMALL + 1500), "{pieces} pieces");
    assert!(joined == content);
    behind.await.unwrap().unwrap();
    let next = pair.far.receive().await.unwrap().unwrap();
    assert_eq!((next.piece(), next.stream()), (Piece::Whole, 4));
    assert_eq!(pair.far.stats().messages_received, 2);
}

#[tokio::test]
async fn a_message_in_pieces_can_be_larger_than_both_buffers() {
    let small = AssociationConfig { send_buffer_bytes: SMALL.into(), ..config(None) };
    let pair = pair_with(server_with(&SERVER, small.clone()), client_on(&CLIENT), small).await;
    let content = pattern(500_000);
    let (near, parts) = (pair.near.clone(), content.clone());
    let sending = tokio::spawn(async move {
        let last = (parts.len() - 1) / 10_000;
        for (number, part) in parts.chunks(10_000).enumerate() {
            let piece = match number {
                0 => Piece::First,
                _ if number == last => Piece::Last,
                _ => Piece::Middle,
            };
            near.send(Message::new(2, part.to_vec()).ppid(9).piece(piece)).await.unwrap();
        }
        near.shutdown().await.unwrap();
    });
    let (mut joined, mut ends) = (Vec::<u8>::new(), 0);
    while let Some(message) = pair.far.receive().await.unwrap() {
        assert_eq!((message.stream(), message.ppid()), (2, 9));
        joined.extend(message.fragments().flatten());
        ends += u32::from(message.piece().ends());
    }
    sending.await.unwrap();
    assert!(joined == content);
    assert_eq!(ends, 1);
}

#[tokio::test]
async fn the_end_of_the_association_aborts_a_message_that_was_begun() {
    let point = config(Some(10_000));
    let pair = pair_with(server_with(&SERVER, point.clone()), client_on(&CLIENT), point).await;
    let mut events = pair.far.events();
    pair.near.send(Message::new(3, pattern(1_000_000))).await.unwrap();
    let first = pair.far.receive().await.unwrap().unwrap();
    assert_eq!(first.piece(), Piece::First);
    pair.near.abort("enough");
    let mut heard = Vec::new();
    while let Some(event) = events.next().await {
        let is_last = matches!(event, Event::Ended(_));
        heard.push(event);
        if is_last {
            break;
        }
    }
    let aborted = |event: &&Event| matches!(event, Event::PartialDeliveryAborted { stream: 3, .. });
    assert_eq!(heard.iter().filter(aborted).count(), 1, "{heard:?}");
}
