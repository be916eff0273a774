//! Many messages at a time, messages of two parts, and senders that keep little waiting.
#![allow(missing_docs)]

mod common;

use std::collections::VecDeque;
use std::future::Future;
use std::pin::pin;
use std::task::{Context, Waker};

use bytes::Bytes;
use common::{CLIENT, SERVER, client_on, pair, pair_with, pattern, server_with};
use polypath::{Association, AssociationConfig, AssociationError, Message, TryReceiveError};

fn small_buffers() -> AssociationConfig {
    AssociationConfig {
        send_buffer_bytes: 64 << 10,
        receive_buffer_bytes: 64 << 10,
        ..AssociationConfig::default()
    }
}

/// Sends until neither buffer takes more, and what is unsent does not fit into what is left of the receive buffer; gives the messages
/// that were taken.
async fn fill(pair: &common::Pair) -> usize {
    let mut sent = 0;
    let mut messages = VecDeque::new();
    let is_full = || {
        let (received, unsent) =
            (pair.far.stats().receive_buffer_bytes, pair.near.stats().unsent_bytes);
        received > 48 << 10 && received + unsent > 64 << 10
    };
    while !is_full() {
        messages.resize_with(8, || Message::new(0, vec![1; 8 << 10]));
        sent += pair.near.try_send_many(&mut messages).unwrap();
        tokio::task::yield_now().await;
    }
    sent
}

async fn read(association: &Association, count: usize) -> Vec<Bytes> {
    let mut read = Vec::new();
    while read.len() < count {
        read.push(association.receive().await.unwrap().unwrap());
        match association.try_receive_many(&mut read, count) {
            Ok(more) => assert!(more > 0),
            Err(error) => assert!(matches!(error, TryReceiveError::Empty), "{error}"),
        }
    }
    read.into_iter().map(polypath::ReceivedMessage::into_bytes).collect()
}

#[tokio::test]
async fn batches_arrive_in_order() {
    let pair = pair().await;
    let mut messages: VecDeque<_> =
        (0..500_u32).map(|number| Message::new(0, number.to_be_bytes().to_vec())).collect();
    let mut none = Vec::new();
    let error = pair.far.try_receive_many(&mut none, 10).unwrap_err();
    assert!(matches!(error, TryReceiveError::Empty), "{error}");
    assert_eq!(pair.near.try_send_many(&mut messages).unwrap(), 500);
    assert_eq!(pair.near.try_send_many(&mut messages).unwrap(), 0, "none was left");
    let expected: Vec<_> = (0..500_u32).map(|number| number.to_be_bytes().to_vec()).collect();
    assert_eq!(read(&pair.far, 500).await, expected);

    pair.near.try_send(Message::new(0, "last")).unwrap();
    let (_, last) = tokio::join!(pair.near.shutdown(), read(&pair.far, 1));
    assert_eq!(last, ["last"]);
    assert_eq!(pair.far.try_receive_many(&mut none, 10).unwrap(), 0, "nothing will come");
    assert!(none.is_empty());
}

#[tokio::test]
async fn a_batch_stops_where_there_is_no_room_or_no_sense() {
    let pair =
        pair_with(server_with(&SERVER, small_buffers()), client_on(&CLIENT), small_buffers()).await;
    let mut messages: VecDeque<_> = (0..20).map(|n| Message::new(0, vec![n; 8 << 10])).collect();
    let taken = pair.near.try_send_many(&mut messages).unwrap();
    assert!((1..20).contains(&taken), "{taken}");
    assert_eq!((messages.len(), usize::from(messages[0].payload[0])), (20 - taken, taken));
    let whole = read(&pair.far, taken).await;
    assert!(whole.iter().zip(0..).all(|(message, n)| *message == vec![n; 8 << 10]));

    pair.near.sender_dry().await.unwrap();
    let mut messages: VecDeque<_> =
        [Message::new(0, "a"), Message::new(999, "b"), Message::new(0, "c")].into();
    let error = pair.near.try_send_many(&mut messages).unwrap_err();
    assert!(error.to_string().contains("stream 999"), "{error}");
    assert_eq!((messages.len(), messages[0].stream), (2, 999), "the one before it was sent");
    assert_eq!(read(&pair.far, 1).await, ["a"]);
}

#[tokio::test]
async fn both_parts_of_a_message_arrive_as_one() {
    let pair = pair().await;
    let tail = Bytes::from(pattern(5000));
    // In one packet, and in several, of which the first ends before, at and behind the end of the first part.
    for (first, second) in
        [(48, 1000), (48, 5000), (2000, 5000), (1420, 1), (1424, 3000), (1, 4999)]
    {
        let head = Bytes::from(vec![0xA5; first]);
        let message = Message::new(0, head.clone()).tail(tail.slice(..second));
        pair.near.send(message).await.unwrap();
        let received = pair.far.receive().await.unwrap().unwrap();
        assert_eq!(received.len(), first + second);
        assert_eq!(received.into_bytes(), [&head[..], &tail[..second]].concat());
    }
}

#[tokio::test]
async fn a_sender_learns_when_little_is_unsent() {
    let pair =
        pair_with(server_with(&SERVER, small_buffers()), client_on(&CLIENT), small_buffers()).await;
    pair.near.unsent_below(0).await.unwrap();
    let sent = fill(&pair).await;
    let unsent = pair.near.stats().unsent_bytes;
    assert!(unsent > 0, "the peer's window is closed");
    pair.near.unsent_below(unsent + 1).await.unwrap();
    {
        let (mut some, mut none) =
            (pin!(pair.near.unsent_below(unsent)), pin!(pair.near.unsent_below(1)));
        let mut cx = Context::from_waker(Waker::noop());
        assert!(
            some.as_mut().poll(&mut cx).is_pending() && none.as_mut().poll(&mut cx).is_pending()
        );
        let (read, ..) = tokio::join!(read(&pair.far, sent), some, none);
        assert_eq!(read.len(), sent);
    }
    assert_eq!(pair.near.stats().unsent_bytes, 0);

    fill(&pair).await;
    let waits = pair.near.unsent_below(1);
    let ends = async {
        tokio::task::yield_now().await;
        pair.far.abort("enough");
    };
    let (waited, ()) = tokio::join!(waits, ends);
    assert!(matches!(waited, Err(AssociationError::AbortedByPeer(_))), "{waited:?}");
}
