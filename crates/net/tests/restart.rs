//! Peers that vanish without a word and come back.
#![allow(missing_docs)]

mod common;

use common::{SERVER, addresses, peer_of, server_with};
use polypath::{Association, AssociationConfig, Duration, Endpoint, Event, Message};
use tokio::runtime::{Builder, Runtime};

/// A host: when it is dropped, what runs there vanishes.
fn host() -> Runtime {
    Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap()
}

/// A host with a client at addresses that no other test uses, so that its ports stay free for its next life.
fn client(ports: (u16, u16)) -> (Runtime, Endpoint) {
    let life = host();
    let builder = Endpoint::builder(addresses(&["127.0.0.41", "127.0.0.42"]))
        .port(ports.0)
        .encapsulation_port(ports.1);
    let endpoint = life.block_on(async { builder.bind().unwrap() });
    (life, endpoint)
}

/// A server with an association whose peer has vanished, and the ports of that.
struct Left {
    here: Runtime,
    server: Endpoint,
    far: Association,
    ports: (u16, u16),
}

fn connect(life: &Runtime, client: &Endpoint, server: &Endpoint) -> Association {
    life.block_on(client.connect(&peer_of(server), AssociationConfig::default())).unwrap()
}

/// A configuration that repeats nothing while a test lasts: data that meets the new peer before its INIT would be
/// answered with an ABORT, as RFC 9260 section 8.4 wants.
fn patient() -> AssociationConfig {
    let mut config = AssociationConfig::default();
    config.policies.rto.initial = Duration::from_secs(60);
    config.policies.rto.min = Duration::from_secs(60);
    config
}

fn left_alone() -> Left {
    let here = host();
    let server = here.block_on(async { server_with(&SERVER, patient()) });
    let (life, client) = client((0, 0));
    let ports = (client.port(), client.encapsulation_port());
    let near = connect(&life, &client, &server);
    let far = here.block_on(server.accept()).unwrap();
    drop(life);
    drop((client, near));
    Left { here, server, far, ports }
}

#[test]
fn an_association_survives_the_restart_of_its_peer() {
    let Left { here, server, far, ports } = left_alone();
    let mut events = far.events();
    here.block_on(async {
        far.send(Message::new(0, "nobody hears this")).await.unwrap();
        let data_packets =
            || far.path_stats().iter().map(|path| path.data_packets_sent).sum::<u64>();
        // The endpoint has sent an INIT ACK beside what the association has.
        while data_packets() == 0 || server.stats().packets_sent <= far.stats().packets_sent {
            tokio::task::yield_now().await;
        }
    });
    let (life, client) = client(ports);
    let near = connect(&life, &client, &server);
    here.block_on(async {
        while events.next().await.expect("the association lives") != Event::Restarted {}
        far.sender_dry().await.unwrap();
        assert!(far.streams().is_some());
        far.send(Message::new(0, "welcome back")).await.unwrap();
    });
    let message = life.block_on(near.receive()).unwrap().unwrap();
    assert_eq!(message.into_bytes(), "welcome back");
    life.block_on(near.shutdown()).unwrap();
    assert!(here.block_on(far.receive()).unwrap().is_none());
}

#[test]
fn an_association_that_nobody_holds_ends_after_a_restart_too() {
    let Left { here, server, far, ports } = left_alone();
    drop(far);
    let (life, client) = client(ports);
    let near = connect(&life, &client, &server);
    assert!(life.block_on(near.receive()).unwrap().is_none());
    here.block_on(server.idle());
}
