//! Messages over loopback paths arrive intact.
#![allow(missing_docs)]

mod common;

use bytes::Bytes;
use common::{CLIENT, SERVER, client_on, pair, pair_with, pattern, server_with};
use polypath::config::{BlockingEstimation, BufferSize};
use polypath::{
    Association, AssociationConfig, Delivery, Message, PathPairing, PathStatus, Preset,
    source_address,
};
use sha2::{Digest, Sha256};

/// Sends `data` in messages of the given sizes, in turn, then shuts down.
async fn send_all(association: Association, data: Bytes, sizes: &[usize]) {
    let mut rest = data;
    for size in sizes.iter().cycle() {
        if rest.is_empty() {
            break;
        }
        let payload = rest.split_to((*size).min(rest.len()));
        association.send(Message::new(0, payload)).await.expect("the association is open");
    }
    association.shutdown().await.expect("a graceful end");
}

async fn receive_digest(association: &Association) -> (usize, [u8; 32]) {
    let (mut len, mut digest) = (0, Sha256::new());
    while let Some(message) = association.receive().await.expect("a graceful end") {
        for fragment in message.fragments() {
            digest.update(fragment);
            len += fragment.len();
        }
    }
    (len, digest.finalize().into())
}

async fn transfer(
    pair: common::Pair,
    len: usize,
    sizes: &'static [usize],
) -> Vec<polypath::PathStats> {
    let data = Bytes::from(pattern(len));
    let expected: [u8; 32] = Sha256::digest(&data).into();
    let near = pair.near.clone();
    let sending = tokio::spawn(send_all(pair.near, data, sizes));
    assert_eq!(receive_digest(&pair.far).await, (len, expected));
    sending.await.expect("the sender does not panic");
    near.path_stats()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_large_transfer_uses_both_paths_and_arrives_intact() {
    // Buffers that hold what both paths carry. Those that grow follow the path that is faster at first, and on the loopback
    // interface that is a matter of chance.
    let mut config = AssociationConfig {
        send_buffer_bytes: 1 << 20,
        receive_buffer_bytes: 1 << 20,
        ..AssociationConfig::default()
    };
    config.policies.send_buffer = BufferSize::Bytes;
    config.policies.receive_buffer = BufferSize::Bytes;
    // For the same reason the slower one would be left free.
    config.policies.blocking_estimation = BlockingEstimation::Off;
    let server = server_with(&["127.0.0.1", "127.0.0.2"], config.clone());
    let pair = pair_with(server, client_on(&["127.0.0.3", "127.0.0.4"]), config).await;
    let paths = transfer(pair, 16 << 20, &[16 << 10]).await;
    // The handshake asks on every path to the address that is known. If it is answered on the second one first, that pair
    // becomes a third path.
    assert!((2..=3).contains(&paths.len()), "{paths:?}");
    for path in paths {
        assert!(path.data_bytes_sent > 1 << 20, "{path:?}");
    }
}

#[tokio::test]
async fn one_thread_suffices() {
    transfer(pair().await, 4 << 20, &[1, 1000, 1444, 1445, 9000, 100_000]).await;
}

#[tokio::test]
async fn ipv6_works_alone() {
    let config = AssociationConfig::default();
    let pair = pair_with(server_with(&["::1"], config.clone()), client_on(&["::1"]), config).await;
    let paths = transfer(pair, 1 << 20, &[5000]).await;
    assert_eq!(paths.len(), 1);
    assert!(paths[0].remote.is_ipv6());
}

#[tokio::test]
async fn the_primary_path_alone_carries_data_with_preset_rfc9260() {
    let config = AssociationConfig::with_preset(Preset::Rfc9260);
    let pair = pair_with(server_with(&SERVER, config.clone()), client_on(&CLIENT), config).await;
    let paths = transfer(pair, 1 << 20, &[10_000]).await;
    let carried: Vec<_> = paths.iter().map(|path| path.data_bytes_sent > 0).collect();
    assert_eq!(carried, [true, false]);
}

#[tokio::test]
async fn what_describes_a_message_arrives_with_it() {
    let pair = pair().await;
    let path = pair
        .near
        .path_stats()
        .into_iter()
        .find(|path| path.status == PathStatus::Active)
        .expect("one works");
    let message = Message::new(7, "described").ppid(0xDEAD_BEEF).unordered().on_path(path.path);
    pair.near.send(message).await.unwrap();
    pair.near.send(Message::new(9, "ordered")).await.unwrap();
    let mut messages =
        [pair.far.receive().await.unwrap().unwrap(), pair.far.receive().await.unwrap().unwrap()];
    messages.sort_by_key(|message| message.stream());
    let [first, second] = messages;
    assert_eq!(
        (first.stream(), first.ppid(), first.delivery()),
        (7, 0xDEAD_BEEF, Delivery::Unordered)
    );
    assert_eq!((second.stream(), second.ppid(), second.delivery()), (9, 0, Delivery::Ordered));
    assert_eq!((second.ssn(), second.into_bytes().as_ref()), (0, b"ordered".as_ref()));
}

#[tokio::test]
async fn order_holds_within_each_stream() {
    let pair = pair().await;
    for number in 0..500_u32 {
        let message = Message::new((number % 10) as u16, number.to_be_bytes().to_vec());
        pair.near.send(message).await.unwrap();
    }
    let mut next: [u32; 10] = std::array::from_fn(|stream| stream as u32);
    for _ in 0..500 {
        let message = pair.far.receive().await.unwrap().unwrap();
        let stream = usize::from(message.stream());
        let number = u32::from_be_bytes(message.into_bytes().as_ref().try_into().unwrap());
        assert_eq!(number, next[stream]);
        next[stream] += 10;
    }
}

#[tokio::test]
async fn counters_tell_what_happened() {
    let pair = pair().await;
    pair.near.send(Message::new(0, vec![1; 100_000])).await.unwrap();
    let received = pair.far.receive().await.unwrap().unwrap();
    assert_eq!(received.len(), 100_000);
    let (near, far) = (pair.near.stats(), pair.far.stats());
    assert_eq!((near.messages_sent, far.messages_received, far.bytes_received), (1, 1, 100_000));
    let sockets = pair.client.stats();
    assert!(sockets.packets_sent >= near.data_chunks_sent, "{sockets:?}");
    assert!(sockets.bytes_sent > 100_000 && pair.server.stats().bytes_received > 100_000);
    assert_eq!(
        (sockets.packets_refused, sockets.packets_unsendable, sockets.packets_overflowed),
        (0, 0, 0)
    );
    assert_eq!(pair.near.remote_addresses(), common::addresses(&SERVER));
    assert_eq!(pair.near.remote_port(), pair.server.port());
    assert_eq!(pair.far.remote_port(), pair.near.local_port());
}

#[tokio::test]
async fn paths_by_route_begin_where_the_system_would_send_from() {
    let config =
        AssociationConfig { path_pairing: PathPairing::ByRoute, ..AssociationConfig::default() };
    let source = source_address(SERVER[1].parse().unwrap()).expect("loopback has a route");
    let server = server_with(&SERVER[1..], config.clone());
    let pair = pair_with(server, client_on(&[CLIENT[0], &source.to_string()]), config).await;
    let locals: Vec<_> = pair.near.path_stats().iter().map(|path| path.local).collect();
    assert_eq!(locals, [source], "{source} is the second address of the client");
}
