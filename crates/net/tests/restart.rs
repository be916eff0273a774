//! Peers that vanish without a word and come back.
#![allow(missing_docs)]

mod common;

use std::net::{Ipv4Addr, UdpSocket};

use common::{SERVER, addresses, peer_of, server_with};
use polypath::{
    Association, AssociationConfig, AssociationError, Duration, Endpoint, Event, Message,
    PathStatus,
};
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

/// Returns when the answers to an end's first HEARTBEATs are back. Once they are at both ends, nothing is under way
/// that could meet a peer's next life out of the blue.
async fn paths_confirmed(association: &Association) {
    let mut events = association.events();
    while association.path_stats().iter().any(|path| path.status != PathStatus::Active) {
        events.next().await.expect("the association lives");
    }
}

fn left_alone() -> Left {
    let here = host();
    let server = here.block_on(async { server_with(&SERVER, patient()) });
    let (life, client) = client((0, 0));
    let ports = (client.port(), client.encapsulation_port());
    let near = connect(&life, &client, &server);
    let far = here.block_on(server.accept()).unwrap();
    life.block_on(paths_confirmed(&near));
    here.block_on(paths_confirmed(&far));
    drop(life);
    drop((client, near));
    Left { here, server, far, ports }
}

/// Returns when a packet that begins with a SHUTDOWN has arrived.
fn await_shutdown(ear: &UdpSocket) {
    const COMMON_HEADER_LEN: usize = 12;
    const SHUTDOWN: u8 = 7;
    let mut packet = [0; 2048];
    loop {
        let len = ear.recv(&mut packet).unwrap();
        if packet[..len].get(COMMON_HEADER_LEN) == Some(&SHUTDOWN) {
            return;
        }
    }
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
        while !matches!(events.next().await, Some(Event::Restarted { .. })) {}
        // What was agreed with the old peer does not hold for the new one: its user must know.
        assert_eq!(far.send(Message::new(0, "too early")).await, restarted().map_err(Into::into));
        assert_eq!(far.sender_dry().await, restarted());
        assert_eq!(far.receive().await.unwrap_err(), AssociationError::PeerRestarted);
        far.accept_restart();
        far.sender_dry().await.unwrap();
        assert!(far.streams().is_some());
        far.send(Message::new(0, "welcome back")).await.unwrap();
    });
    let message = life.block_on(near.receive()).unwrap().unwrap();
    assert_eq!(message.into_bytes(), "welcome back");
    life.block_on(near.shutdown()).unwrap();
    assert!(here.block_on(far.receive()).unwrap().is_none());
}

fn restarted() -> Result<(), AssociationError> {
    Err(AssociationError::PeerRestarted)
}

#[test]
fn messages_of_before_a_restart_come_first_and_apart() {
    let here = host();
    let server = here.block_on(async { server_with(&SERVER, patient()) });
    let (life, first) = client((0, 0));
    let ports = (first.port(), first.encapsulation_port());
    let near = connect(&life, &first, &server);
    let far = here.block_on(server.accept()).unwrap();
    life.block_on(async {
        paths_confirmed(&near).await;
        near.send(Message::new(0, "before")).await.unwrap();
        near.sender_dry().await.unwrap();
    });
    here.block_on(paths_confirmed(&far));
    drop(life);
    drop((first, near));
    let mut events = far.events();
    let (life, second) = client(ports);
    let near = connect(&life, &second, &server);
    life.block_on(near.send(Message::new(0, "after"))).unwrap();
    here.block_on(async {
        while !matches!(events.next().await, Some(Event::Restarted { unread_messages: 1, .. })) {}
        assert_eq!(far.receive().await.unwrap().unwrap().into_bytes(), "before");
        assert_eq!(far.receive().await.unwrap_err(), AssociationError::PeerRestarted);
        far.accept_restart();
        assert_eq!(far.receive().await.unwrap().unwrap().into_bytes(), "after");
    });
}

#[test]
fn an_association_that_nobody_holds_ends_after_a_restart_too() {
    let Left { here, server, far, ports } = left_alone();
    // A SHUTDOWN that met the new peer before its INIT would end the association at once.
    let ear = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, ports.1)).unwrap();
    drop(far);
    await_shutdown(&ear);
    drop(ear);
    let (life, client) = client(ports);
    let near = connect(&life, &client, &server);
    assert!(life.block_on(near.receive()).unwrap().is_none());
    here.block_on(server.idle());
}
