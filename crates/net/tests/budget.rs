//! Memory that all associations of an endpoint share.
#![allow(missing_docs)]

mod common;

use std::time::Duration;

use common::{CLIENT, SERVER, addresses, client_on, peer_of};
use polypath::{Association, AssociationConfig, Endpoint, EndpointConfig, Message, Preset};

const BUDGET: u64 = 4 << 20;
const MESSAGE: usize = 16 << 10;

/// The receive buffers do not adapt themselves: unread messages fill them.
fn config() -> AssociationConfig {
    AssociationConfig {
        receive_buffer_bytes: 2 << 20,
        ..AssociationConfig::with_preset(Preset::Cmt)
    }
}

/// A server, a client, and both ends of twelve associations between them.
struct Setup {
    server: Endpoint,
    client: Endpoint,
    near: Vec<Association>,
    far: Vec<Association>,
}

async fn setup(max_buffered_bytes: Option<u64>) -> Setup {
    let config_of_server =
        EndpointConfig { max_buffered_bytes, association: config(), ..EndpointConfig::default() };
    let builder = Endpoint::builder(addresses(&SERVER)).encapsulation_port(0);
    let server = builder.config(config_of_server).listen(64).bind().unwrap();
    let client = client_on(&CLIENT);
    let (mut near, mut far) = (Vec::new(), Vec::new());
    for _ in 0..12 {
        near.push(client.connect(&peer_of(&server), config()).await.unwrap());
        far.push(server.accept().await.unwrap());
    }
    Setup { server, client, near, far }
}

/// Sends until the peer takes no more for a while.
async fn flood(association: Association) {
    loop {
        let sending = association.send(Message::new(0, vec![1; MESSAGE]));
        match tokio::time::timeout(Duration::from_millis(500), sending).await {
            Ok(Ok(())) => {}
            _ => return,
        }
    }
}

async fn flood_all(near: &[Association]) {
    let floods: Vec<_> = near.iter().cloned().map(|it| tokio::spawn(flood(it))).collect();
    for flood in floods {
        flood.await.unwrap();
    }
}

fn held(far: &[Association]) -> u64 {
    far.iter().map(|association| association.stats().receive_buffer_bytes).sum()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn senders_that_nobody_reads_share_a_budget_and_one_that_is_read_goes_on() {
    let unlimited = setup(None).await;
    flood_all(&unlimited.near[1..]).await;
    assert!(held(&unlimited.far) > BUDGET, "without a budget they hold more");
    drop(unlimited);

    let Setup { server, client, near, mut far } = setup(Some(BUDGET)).await;
    flood_all(&near[1..]).await;
    let all = held(&far);
    assert!((BUDGET / 8..=BUDGET).contains(&all), "{all} bytes");
    // The first one has a reader, and the floor is enough for it.
    let sender = near[0].clone();
    let sending = tokio::spawn(async move {
        for _ in 0..100 {
            sender.send(Message::new(0, vec![2; MESSAGE])).await.unwrap();
        }
    });
    let mut read = 0;
    while read < 100 * MESSAGE {
        read += far[0].receive().await.unwrap().unwrap().len();
    }
    sending.await.unwrap();
    assert!(held(&far) <= BUDGET);
    // What ends gives its memory back.
    near[1..].iter().for_each(|association| association.abort("enough"));
    for association in far.drain(1..) {
        while association.receive().await.is_ok_and(|message| message.is_some()) {}
    }
    let again = client.connect(&peer_of(&server), config()).await.unwrap();
    let accepted = server.accept().await.unwrap();
    flood(again).await;
    assert!(held(&[accepted]) >= BUDGET / 8, "the newcomer gets as much as the first one");
}
