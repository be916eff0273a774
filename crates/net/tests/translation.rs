//! An address translator between the peers, which forgets where packets came from (RFC 6951 section 5.4).
#![allow(missing_docs)]

mod common;

use std::net::SocketAddr;
use std::sync::Arc;

use common::{client_on, server_with};
use polypath::{AssociationConfig, Message, Peer};
use tokio::net::UdpSocket;
use tokio::task::JoinHandle;

const TRANSLATOR: &str = "127.0.0.53";

async fn socket() -> Arc<UdpSocket> {
    Arc::new(UdpSocket::bind((TRANSLATOR, 0)).await.expect("a loopback address"))
}

/// Carries packets between the client, which sends to `inside`, and the server by a port of the translator's own.
async fn translate(
    inside: Arc<UdpSocket>,
    client: SocketAddr,
    server: SocketAddr,
) -> JoinHandle<()> {
    let outside = socket().await;
    tokio::spawn(async move {
        let (mut out, mut back) = (vec![0; 1 << 16], vec![0; 1 << 16]);
        loop {
            let sent = tokio::select! {
                Ok((len, _)) = inside.recv_from(&mut out) => outside.send_to(&out[..len], server).await,
                Ok((len, _)) = outside.recv_from(&mut back) => inside.send_to(&back[..len], client).await,
            };
            sent.expect("loopback takes every packet");
        }
    })
}

#[tokio::test]
async fn an_association_survives_a_new_port_of_its_translator() {
    let config = AssociationConfig::default();
    let server = server_with(&["127.0.0.51"], config.clone());
    let client = client_on(&["127.0.0.52"]);
    let inside = socket().await;
    let [near_end, far_end] = [&client, &server].map(|endpoint| {
        SocketAddr::new(endpoint.local_addresses()[0], endpoint.encapsulation_port())
    });
    let peer = Peer::new([inside.local_addr().unwrap().ip()], server.port())
        .encapsulation_port(inside.local_addr().unwrap().port());
    let mut life = translate(Arc::clone(&inside), near_end, far_end).await;
    let near = client.connect(&peer, config).await.unwrap();
    let far = server.accept().await.unwrap();
    for round in 0..3u8 {
        near.send(Message::new(0, vec![round; 5000])).await.unwrap();
        assert_eq!(far.receive().await.unwrap().unwrap().into_bytes(), vec![round; 5000]);
        life.abort();
        let _ = life.await;
        life = translate(Arc::clone(&inside), near_end, far_end).await;
        near.send(Message::new(0, "here I am")).await.unwrap();
        assert!(far.receive().await.unwrap().is_some());
        far.send(Message::new(0, vec![round; 5000])).await.unwrap();
        assert_eq!(near.receive().await.unwrap().unwrap().into_bytes(), vec![round; 5000]);
    }
    life.abort();
}
