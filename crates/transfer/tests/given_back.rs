//! What a receiver keeps of peers that flooded it. A test program of its own with one test, because it counts what the whole program
//! allocates.

#[path = "common/frames.rs"]
mod frames;

use std::alloc::System;
use std::net::IpAddr;
use std::time::Duration;

use frames::{EAGER, FILE, data, end, offer, second_offer};
use polypath::{Association, Endpoint, EndpointConfig, Peer};
use polypath_transfer::{Inbox, ReceiveError, association_config};
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};
use tokio::task::JoinSet;
use tokio::time::sleep;

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// Peers that flood at a time.
const PEERS: usize = 16;
/// Content of small files with names that are refused.
static CONTENT: [u8; 60_000] = [7; 60_000];

/// Bytes that may stay: empty tables that have grown, and a thread of the runtime.
const MOST_KEPT: usize = 1 << 20;
/// How often is looked whether all has been given back, and how long is waited between: buffers are kept for a second or two.
const LOOKS: usize = 300;
const LOOK: Duration = Duration::from_millis(100);

fn heap() -> usize {
    let stats = ALLOCATOR.stats();
    stats.bytes_allocated - stats.bytes_deallocated
}

/// Offers without end, until the receiver has enough of them.
async fn annoy(association: &Association) {
    for following in (1000..100_000).rev() {
        let sent = match following % 3 {
            0 => association.send(offer(following, 1, &[b'/'; 255])).await,
            1 => association.send(offer(following, 1, &[b'/'; 20_000])).await,
            _ => {
                let name = &[b'/'; 255];
                let offered = second_offer(following, 60_000, (FILE, EAGER), name);
                let sent = async {
                    association.send(offered).await?;
                    association.send(data(&CONTENT)).await?;
                    association.send(end(&CONTENT)).await
                };
                sent.await
            }
        };
        if sent.is_err() {
            break;
        }
    }
    // What was answered meanwhile is nothing to them.
    while let Ok(Some(_)) = association.receive().await {}
}

/// Peers flood the receiver at a time, until it has refused enough from each of them.
async fn flood(endpoint: &Endpoint, inbox: &Inbox, peer: &Peer) {
    let own = Endpoint::builder([IpAddr::from([127, 0, 13, 12])]);
    let own = own.encapsulation_port(0).bind().unwrap();
    let config = association_config(polypath::Preset::Recommended);
    let (mut flooding, mut receiving) = (JoinSet::new(), JoinSet::new());
    for _ in 0..PEERS {
        let association = own.connect(peer, config.clone()).await.unwrap();
        let mut receiver = inbox.accept(endpoint).await.unwrap();
        flooding.spawn(async move { annoy(&association).await });
        receiving.spawn(async move { receiver.run().await });
    }
    while let Some(received) = receiving.join_next().await {
        let received = received.unwrap();
        assert!(matches!(received, Err(ReceiveError::Refused(100))), "{received:?}");
    }
    while flooding.join_next().await.is_some() {}
    tokio::join!(endpoint.idle(), own.idle());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_flood_took_is_given_back() {
    let local = [IpAddr::from([127, 0, 13, 11])];
    let association = association_config(polypath::Preset::Recommended);
    let config = EndpointConfig { association, ..EndpointConfig::default() };
    let endpoint = Endpoint::builder(local).encapsulation_port(0).config(config);
    let endpoint = endpoint.listen(16).bind().unwrap();
    let peer = Peer::new(local, endpoint.port()).encapsulation_port(endpoint.encapsulation_port());
    let place = tempfile::tempdir().unwrap();
    let inbox = Inbox::new(place.path());
    let before = heap();
    for _ in 0..5 {
        flood(&endpoint, &inbox, &peer).await;
    }
    assert!(ALLOCATOR.stats().bytes_allocated > 100 * MOST_KEPT, "that was no flood");
    let mut kept = 0;
    for _ in 0..LOOKS {
        kept = heap().saturating_sub(before);
        if kept <= MOST_KEPT {
            return;
        }
        sleep(LOOK).await;
    }
    panic!("{kept} bytes are kept");
}
