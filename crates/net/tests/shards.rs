//! Associations of one endpoint on several tasks.
#![allow(missing_docs)]

mod common;

use std::net::UdpSocket;
use std::sync::Arc;

use common::{addresses, pattern, peer_of};
use polypath::{Association, AssociationConfig, AssociationError, Endpoint, Message};
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinSet;

/// Endpoints at each side, and associations of each endpoint: as many as the most shards.
const ENDPOINTS: usize = 4;

fn threads() -> Runtime {
    Builder::new_multi_thread().worker_threads(3).enable_all().build().unwrap()
}

fn server(local: &[&str], shards: usize) -> Endpoint {
    let builder = Endpoint::builder(addresses(local)).encapsulation_port(0);
    builder.listen(1024).shards(shards).bind().unwrap()
}

fn client(local: &[&str], shards: usize) -> Endpoint {
    let builder = Endpoint::builder(addresses(local)).encapsulation_port(0);
    builder.shards(shards).bind().unwrap()
}

/// Connects each client with each server; gives both ends of each association.
async fn mesh(
    clients: &[Endpoint],
    servers: &[Endpoint],
    config: &AssociationConfig,
) -> Vec<(Association, Association)> {
    let mut pairs = Vec::new();
    for client in clients {
        for server in servers {
            let near = client.connect(&peer_of(server), config.clone()).await.unwrap();
            pairs.push((near, server.accept().await.unwrap()));
        }
    }
    pairs
}

/// Sends `count` numbered messages of many sizes on two streams, and checks them at the other end.
async fn transfer(from: &Association, to: &Association, count: usize) {
    let bytes = Arc::new(pattern(20_000));
    let len = |number: usize| 1 + number * 7919 % (bytes.len() - 1);
    let send = async {
        for number in 0..count {
            let message = bytes[..len(number)].to_vec();
            from.send(Message::new((number % 2) as u16, message).ppid(number as u32))
                .await
                .unwrap();
        }
    };
    let receive = async {
        let mut next = [0, 1];
        for _ in 0..count {
            let message = to.receive().await.unwrap().unwrap();
            let (stream, number) = (usize::from(message.stream()), message.ppid() as usize);
            assert_eq!(number, next[stream], "order within a stream");
            next[stream] += 2;
            assert_eq!(message.into_bytes(), bytes[..len(number)]);
        }
    };
    tokio::join!(send, receive);
}

async fn transfer_all(pairs: Vec<(Association, Association)>, count: usize) {
    let mut transfers = JoinSet::new();
    for (near, far) in pairs {
        transfers.spawn(async move {
            tokio::join!(transfer(&near, &far, count), transfer(&far, &near, count));
        });
    }
    while let Some(done) = transfers.join_next().await {
        done.unwrap();
    }
}

#[test]
fn messages_arrive_in_order_on_any_number_of_shards() {
    for shards in [1, 2, 4] {
        threads().block_on(async {
            let clients: Vec<_> =
                (0..ENDPOINTS).map(|_| client(&["127.0.0.51", "127.0.0.52"], shards)).collect();
            let servers: Vec<_> =
                (0..ENDPOINTS).map(|_| server(&["127.0.0.53", "127.0.0.54"], shards)).collect();
            let pairs = mesh(&clients, &servers, &AssociationConfig::default()).await;
            transfer_all(pairs.clone(), 25).await;
            for (near, far) in pairs {
                near.shutdown().await.unwrap();
                assert!(far.receive().await.unwrap().is_none());
            }
            for endpoint in clients.iter().chain(&servers) {
                endpoint.idle().await;
                assert_eq!(endpoint.stats().packets_unsendable, 0);
            }
        });
    }
}

#[test]
fn addresses_come_and_go_for_all_shards() {
    threads().block_on(async {
        let clients = [client(&["127.0.0.55", "127.0.0.56"], 4)];
        let servers: Vec<_> =
            (0..ENDPOINTS).map(|_| server(&["127.0.0.57", "127.0.0.58"], 4)).collect();
        let pairs = mesh(&clients, &servers, &AssociationConfig::default()).await;
        let port = clients[0].encapsulation_port();
        for _ in 0..2 {
            let transfers = tokio::spawn(transfer_all(pairs.clone(), 20));
            clients[0].bind_remove("127.0.0.55".parse().unwrap()).await.unwrap();
            // No shard holds the socket any more.
            drop(UdpSocket::bind(("127.0.0.55", port)).unwrap());
            clients[0].bind_add("127.0.0.55".parse().unwrap()).await.unwrap();
            transfers.await.unwrap();
        }
        clients[0].close("enough");
        for (near, far) in pairs {
            assert_eq!(near.closed().await, Err(AssociationError::Aborted));
            let end = far.closed().await;
            assert!(matches!(end, Err(AssociationError::AbortedByPeer(_))), "{end:?}");
        }
    });
}

#[test]
fn peers_of_all_shards_restart() {
    let here = threads();
    let server = here.block_on(async { server(&["127.0.0.61", "127.0.0.62"], 4) });
    let mut ports = vec![(0, 0); ENDPOINTS];
    let mut far = Vec::new();
    for life in 0..2 {
        let there = threads();
        let near: Vec<_> = there.block_on(async {
            let mut near = Vec::new();
            for ports in &mut ports {
                let builder = Endpoint::builder(addresses(&["127.0.0.63"]));
                let builder = builder.port(ports.0).encapsulation_port(ports.1);
                let endpoint = builder.bind().unwrap();
                *ports = (endpoint.port(), endpoint.encapsulation_port());
                let association = endpoint
                    .connect(&peer_of(&server), AssociationConfig::default())
                    .await
                    .unwrap();
                near.push((endpoint, association));
            }
            near
        });
        if life == 0 {
            for _ in 0..ENDPOINTS {
                far.push(here.block_on(server.accept()).unwrap());
            }
            // The next life has other tags; nothing of this one is under way that could meet it.
            there.block_on(async {
                for (_, association) in &near {
                    association.send(Message::new(0, "before")).await.unwrap();
                    association.sender_dry().await.unwrap();
                }
            });
            // It vanishes without a word.
            drop(there);
        } else {
            for association in &far {
                here.block_on(async {
                    let before = association.receive().await.unwrap().unwrap();
                    assert_eq!(before.into_bytes(), "before");
                    let told = association.receive().await.unwrap_err();
                    assert_eq!(told, AssociationError::PeerRestarted);
                    association.accept_restart();
                    association.send(Message::new(0, "after")).await.unwrap();
                });
            }
            there.block_on(async {
                for (_, association) in &near {
                    let after = association.receive().await.unwrap().unwrap();
                    assert_eq!(after.into_bytes(), "after");
                    association.shutdown().await.unwrap();
                }
            });
            here.block_on(server.idle());
        }
    }
}

#[test]
fn a_runtime_that_goes_ends_the_associations_of_all_shards() {
    let (here, there) = (threads(), threads());
    let server = here.block_on(async { server(&["127.0.0.64"], 2) });
    let (endpoint, pairs) = there.block_on(async {
        let endpoint = client(&["127.0.0.65"], 4);
        let servers = [server.clone()];
        let pairs =
            mesh(std::slice::from_ref(&endpoint), &servers, &AssociationConfig::default()).await;
        (endpoint, pairs)
    });
    drop(there);
    for (near, _) in &pairs {
        assert_eq!(here.block_on(near.closed()), Err(AssociationError::EndpointClosed));
    }
    assert!(here.block_on(endpoint.accept()).is_err());
}
