//! Streams as objects: each is read and written apart from the others.
#![allow(missing_docs)]

mod common;

use std::io::ErrorKind;

use common::{CLIENT, Pair, SERVER, client_on, pair, pair_with, pattern, server_with};
use futures_util::{FutureExt, TryStreamExt};
use polypath::config::{MessageInterleaving, StreamReconfiguration};
use polypath::{
    AssociationConfig, AssociationError, ClaimError, Message, Piece, ReconfigurationError,
    SctpStream, SendError, StreamError, TryReceiveError,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

async fn with(change: impl FnOnce(&mut AssociationConfig)) -> Pair {
    let mut config = AssociationConfig::default();
    config.policies.stream_reconfiguration = StreamReconfiguration::On;
    config.policies.message_interleaving = MessageInterleaving::On;
    change(&mut config);
    pair_with(server_with(&SERVER, config.clone()), client_on(&CLIENT), config).await
}

async fn accept(pair: &Pair) -> SctpStream {
    pair.far.accept_stream().await.unwrap().expect("a stream")
}

async fn read_numbers(stream: &mut SctpStream, count: u8) -> Vec<u8> {
    let mut numbers = vec![];
    for _ in 0..count {
        numbers.push(stream.receive().await.unwrap().expect("a message").into_bytes()[0]);
    }
    numbers
}

#[tokio::test]
async fn a_slow_reader_of_one_stream_does_not_delay_another() {
    let pair = pair().await;
    let mut slow = pair.far.stream(1).unwrap();
    let mut quick = pair.far.stream(2).unwrap();
    let expected: Vec<u8> = (0..50).collect();
    let send = async {
        for number in 0..50 {
            for stream in [1, 2, 3] {
                pair.near.send(Message::new(stream, vec![number; 1000])).await.unwrap();
            }
        }
    };
    let rest = async {
        for number in 0..50 {
            let message = pair.far.receive().await.unwrap().unwrap();
            assert_eq!((message.stream(), message.into_bytes()[0]), (3, number));
        }
    };
    let ((), numbers, ()) = tokio::join!(send, read_numbers(&mut quick, 50), rest);
    assert_eq!(numbers, expected);
    assert_eq!(read_numbers(&mut slow, 50).await, expected);
    assert_eq!(slow.try_receive().unwrap_err(), TryReceiveError::Empty);
    pair.near.shutdown().now_or_never();
    assert!(slow.receive().await.unwrap().is_none());
    assert!(pair.far.accept_stream().await.unwrap().is_none());
}

#[tokio::test]
async fn streams_are_accepted_in_the_order_of_their_first_messages() {
    let pair = pair().await;
    for (stream, number) in [(7, 0), (3, 0), (7, 1), (0, 0)] {
        pair.near.send(Message::new(stream, vec![number; 10])).await.unwrap();
        // Over two paths they could arrive in another order.
        pair.near.sender_dry().await.unwrap();
    }
    let mut streams = vec![accept(&pair).await, accept(&pair).await, accept(&pair).await];
    assert_eq!(streams.iter().map(SctpStream::id).collect::<Vec<_>>(), [7, 3, 0]);
    assert_eq!(read_numbers(&mut streams[0], 2).await, [0, 1]);
    assert!(pair.far.accept_stream().now_or_never().is_none());
    // Answers go back on the same stream.
    streams[1].send("answer").await.unwrap();
    let answer = pair.near.receive().await.unwrap().unwrap();
    assert_eq!((answer.stream(), answer.into_bytes()), (3, "answer".into()));
    // A stream has one reader at a time, and what it has not read is the next one's.
    let refused = StreamError::Refused(ClaimError::InUse { stream: 3 });
    assert_eq!(pair.far.stream(3).unwrap_err(), refused);
    assert!(pair.far.stream(1000).is_err());
    drop(streams);
    assert_eq!(accept(&pair).await.id(), 3);
}

#[tokio::test]
async fn bytes_cross_the_bounds_of_messages_and_end_with_the_stream() {
    let pair = with(|_| {}).await;
    let contents = [pattern(300_000), pattern(20_001)];
    let write = async {
        for (id, content) in [5, 6].into_iter().zip(&contents) {
            let mut stream = pair.near.stream(id).unwrap();
            stream.send_half().set_max_write_bytes(7_000);
            stream.write_all(content).await.unwrap();
            stream.shutdown().await.unwrap();
            assert_eq!(stream.write(b"more").await.unwrap_err().kind(), ErrorKind::BrokenPipe);
        }
    };
    let read = async {
        let mut whole = [vec![], vec![]];
        for _ in 0..2 {
            let mut stream = accept(&pair).await;
            let place = usize::from(stream.id() - 5);
            stream.read_to_end(&mut whole[place]).await.unwrap();
        }
        whole
    };
    let ((), whole) = tokio::join!(write, read);
    assert!(whole == contents);
    // The stream began anew: it is another object's.
    pair.near.send_stream(5).send("again").await.unwrap();
    let mut again = accept(&pair).await;
    let message = again.receive().await.unwrap().unwrap();
    assert_eq!((message.stream(), message.ssn(), message.into_bytes()), (5, 0, "again".into()));
}

#[tokio::test]
async fn a_write_becomes_messages_of_bounded_size() {
    let pair = pair().await;
    let mut stream = pair.near.stream(1).unwrap();
    let mut sizes = vec![];
    for (most, len) in [(None, 40_000), (Some(1000), 2500), (Some(0), 2), (None, 1)] {
        if let Some(most) = most {
            stream.send_half().set_max_write_bytes(most);
        }
        stream.write_all(&vec![0; len]).await.unwrap();
        let mut left = len;
        while left > 0 {
            let message = pair.far.receive().await.unwrap().unwrap();
            left -= message.len();
            sizes.push(message.len());
        }
    }
    assert_eq!(sizes, [16_384, 16_384, 7232, 1000, 1000, 500, 1, 1, 1]);
}

#[tokio::test]
async fn a_full_buffer_holds_a_writer_up_and_loses_nothing() {
    let pair = with(|config| {
        config.send_buffer_bytes = 4000;
        config.receive_buffer_bytes = 4000;
    })
    .await;
    let (mut send, mut recv) = (pair.near.send_stream(1), pair.far.recv_stream(1).unwrap());
    let content = pattern(200_000);
    let mut written = 0;
    // Nobody reads: the buffers fill.
    while let Some(done) = send.write(&content[written..]).now_or_never() {
        written += done.unwrap();
        tokio::task::yield_now().await;
    }
    assert!((4000..100_000).contains(&written), "{written}");
    let rest = content[written..].to_vec();
    let write = async {
        send.write_all(&rest).await.unwrap();
        send.shutdown().await.unwrap();
    };
    let read = async {
        let mut whole = vec![];
        recv.read_to_end(&mut whole).await.unwrap();
        whole
    };
    let ((), whole) = tokio::join!(write, read);
    assert!(whole == content);
}

#[tokio::test]
async fn a_bounded_stream_cannot_hold_up_the_others() {
    let pair = with(|config| config.receive_buffer_bytes = 60_000).await;
    let mut news = pair.far.recv_stream(1).unwrap();
    news.keep_newest(Some(5000));
    for number in 0..200 {
        pair.near.send(Message::new(1, vec![number; 1000])).await.unwrap();
    }
    pair.near.send(Message::new(2, "not held up")).await.unwrap();
    let message = pair.far.receive().await.unwrap().unwrap();
    assert_eq!((message.stream(), message.into_bytes()), (2, "not held up".into()));
    pair.near.sender_dry().await.unwrap();
    let mut numbers = vec![];
    while let Ok(Some(message)) = news.try_receive() {
        numbers.push(message.into_bytes()[0]);
    }
    assert_eq!(numbers, (195..200).collect::<Vec<u8>>());
    assert_eq!(news.missed(), 195);
    // Bytes say once that some are missing.
    for number in 0..10 {
        pair.near.send(Message::new(1, vec![number; 1000])).await.unwrap();
    }
    pair.near.sender_dry().await.unwrap();
    let mut bytes = [0; 5000];
    assert_eq!(news.read_u8().await.unwrap_err().kind(), ErrorKind::InvalidData);
    news.read_exact(&mut bytes).await.unwrap();
    assert_eq!((bytes[0], bytes[4999]), (5, 9));
}

#[tokio::test]
async fn a_message_can_be_read_before_its_end_is_sent() {
    let pair = with(|config| config.partial_delivery_point = Some(2000)).await;
    let mut stream = pair.far.recv_stream(1).unwrap();
    for number in 0..2 {
        let part = |piece| Message::new(1, vec![number; 5000]).piece(piece);
        pair.near.send(part(Piece::First)).await.unwrap();
        let mut bytes = [9; 5000];
        stream.read_exact(&mut bytes).await.unwrap();
        pair.near.send(part(Piece::Middle)).await.unwrap();
        let mut len = 0;
        while len < 5000 {
            let piece = stream.receive().await.unwrap().expect("a piece");
            assert_eq!(piece.piece(), Piece::Middle);
            len += piece.len();
        }
        pair.near.send(part(Piece::Last)).await.unwrap();
        pair.near.send(Message::new(1, "behind it")).await.unwrap();
        stream.read_exact(&mut bytes).await.unwrap();
        assert_eq!(bytes, [number; 5000]);
        let mut behind = [0; 9];
        stream.read_exact(&mut behind).await.unwrap();
        assert_eq!(&behind, b"behind it");
    }
}

#[tokio::test]
async fn a_stream_that_is_given_up_is_discarded_until_it_begins_anew() {
    let pair = with(|config| config.receive_buffer_bytes = 60_000).await;
    let mut events = pair.near.events();
    pair.near.send(Message::new(1, "for nobody")).await.unwrap();
    accept(&pair).await.into_split().1.stop();
    loop {
        let event = events.next().await.expect("the association lives");
        if let polypath::Event::OutgoingStreamsReset { streams } = event {
            assert_eq!(streams, [1]);
            break;
        }
    }
    pair.near.send(Message::new(1, "for a new one")).await.unwrap();
    let message = accept(&pair).await.receive().await.unwrap().unwrap();
    assert_eq!(message.into_bytes(), "for a new one");
}

#[tokio::test]
async fn without_reconfiguration_a_stream_ends_with_the_association() {
    let pair = pair().await;
    let mut stream = pair.near.stream(1).unwrap();
    stream.write_all(b"all").await.unwrap();
    assert_eq!(stream.finish(), Err(ReconfigurationError::Unsupported));
    stream.shutdown().await.unwrap();
    let mut far = accept(&pair).await;
    let mut whole = vec![];
    let (ended, read) = tokio::join!(pair.near.shutdown(), far.read_to_end(&mut whole));
    ended.unwrap();
    assert_eq!((read.unwrap(), &whole[..]), (3, &b"all"[..]));
}

#[tokio::test]
async fn errors_of_the_association_reach_its_streams() {
    let pair = pair().await;
    let mut stream = pair.far.stream(1).unwrap();
    let mut other = pair.far.stream(2).unwrap();
    let waiting = tokio::spawn(async move { stream.receive().await });
    pair.near.abort("enough");
    let error = waiting.await.unwrap().unwrap_err();
    assert!(matches!(error, AssociationError::AbortedByPeer(_)));
    assert_eq!(other.read_u8().await.unwrap_err().kind(), ErrorKind::ConnectionReset);
    assert_eq!(other.write(b"x").await.unwrap_err().kind(), ErrorKind::ConnectionReset);
    assert!(matches!(other.send("x").await, Err(SendError::Ended(_))));
    assert!(pair.far.accept_stream().await.is_err());
}

#[tokio::test]
async fn many_streams_echo_side_by_side() {
    let pair = with(|_| {}).await;
    let far = pair.far.clone();
    let echo = tokio::spawn(async move {
        let each = |stream| async move {
            let (mut recv, mut send) = tokio::io::split(stream);
            tokio::io::copy(&mut recv, &mut send).await.unwrap();
            send.shutdown().await.unwrap();
            Ok(())
        };
        far.incoming_streams().try_for_each_concurrent(None, each).await
    });
    let clients = (0..10).map(|id| {
        let (mut send, mut recv) = pair.near.stream(id).unwrap().into_split();
        async move {
            let content = pattern(50_000 + usize::from(id));
            let mut back = vec![];
            let write = async {
                send.write_all(&content).await.unwrap();
                send.shutdown().await.unwrap();
            };
            let ((), read) = tokio::join!(write, recv.read_to_end(&mut back));
            read.unwrap();
            assert!(back == content, "stream {id}");
        }
    });
    futures_util::future::join_all(clients).await;
    pair.near.shutdown().await.unwrap();
    echo.await.unwrap().unwrap();
}
