//! Peers that vanish without a word and come back.
#![allow(missing_docs)]

mod common;

use std::net::UdpSocket;

use common::{SERVER, addresses, peer_of, server_with};
use polypath::{
    Association, AssociationConfig, AssociationError, Duration, Endpoint, Event, Events, Message,
    PathStatus, PmtuDiscovery,
};
use tokio::runtime::{Builder, Runtime};

/// Addresses that no other test uses, so that the client's ports stay free for its next life.
const CLIENT: [&str; 2] = ["127.0.0.41", "127.0.0.42"];

/// A host: when it is dropped, what runs there vanishes.
fn host() -> Runtime {
    Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap()
}

/// A host with a client.
fn client(ports: (u16, u16)) -> (Runtime, Endpoint) {
    let life = host();
    let builder = Endpoint::builder(addresses(&CLIENT)).port(ports.0).encapsulation_port(ports.1);
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
    life.block_on(client.connect(&peer_of(server), quiet())).unwrap()
}

/// A configuration without probes of path MTUs, which may be under way when a peer vanishes.
fn quiet() -> AssociationConfig {
    AssociationConfig { pmtu_discovery: Some(PmtuDiscovery::Icmp), ..AssociationConfig::default() }
}

/// A configuration that repeats nothing while a test lasts: data that meets the new peer before its INIT would be
/// answered with an ABORT, as RFC 9260 section 8.4 wants.
fn patient() -> AssociationConfig {
    let mut config = quiet();
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

/// Messages that are left from before the restart that is told next.
async fn restart_told(events: &mut Events) -> usize {
    loop {
        if let Event::Restarted { unread_messages, .. } =
            events.next().await.expect("the association lives")
        {
            return unread_messages;
        }
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

/// Chunk types.
const DATA: u8 = 0;
const SHUTDOWN: u8 = 7;

/// Hears what is sent to the addresses of the client while no client is there, as a host does that is starting. Where nobody
/// has the ports, ICMP says so and the association ends.
struct Ears([UdpSocket; 2]);

impl Ears {
    fn open(port: u16) -> Self {
        Self(CLIENT.map(|address| {
            let ear = UdpSocket::bind((address, port)).unwrap();
            ear.set_read_timeout(Some(std::time::Duration::from_millis(50))).unwrap();
            ear
        }))
    }

    /// Returns when a packet that begins with such a chunk has arrived, which takes no minute.
    fn await_chunk(&self, kind: u8) {
        const COMMON_HEADER_LEN: usize = 12;
        let mut packet = [0; 2048];
        for ear in self.0.iter().cycle().take(1200) {
            while let Ok(len) = ear.recv(&mut packet) {
                if packet[..len].get(COMMON_HEADER_LEN) == Some(&kind) {
                    return;
                }
            }
        }
        panic!("no such chunk came");
    }

    /// Returns when nothing more arrives for a while: after a tail probe it takes until T3-rtx expires. What arrives while the new client is
    /// there and has not sent INIT yet would be answered with ABORT.
    fn await_silence(self) {
        let mut packet = [0; 2048];
        self.0.iter().for_each(|ear| ear.set_nonblocking(true).unwrap());
        let mut is_silent = false;
        while !is_silent {
            std::thread::sleep(std::time::Duration::from_millis(40));
            is_silent = true;
            for ear in &self.0 {
                while ear.recv(&mut packet).is_ok() {
                    is_silent = false;
                }
            }
        }
    }
}

#[test]
fn an_association_survives_the_restart_of_its_peer() {
    let Left { here, server, far, ports } = left_alone();
    let mut events = far.events();
    let ears = Ears::open(ports.1);
    here.block_on(far.send(Message::new(0, "nobody hears this"))).unwrap();
    ears.await_chunk(DATA);
    ears.await_silence();
    let (life, client) = client(ports);
    let near = connect(&life, &client, &server);
    here.block_on(async {
        // What was agreed with the old peer does not hold for the new one: its user must know, even if it was not told yet.
        assert_eq!(far.send(Message::new(0, "too early")).await, restarted().map_err(Into::into));
        restart_told(&mut events).await;
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

/// The client sends "before" on the stream and ends without ABORT or SHUTDOWN; another client at its ports sends "after". Returns the
/// events that `far` reports from then on.
fn restart(
    (life, first, near): (Runtime, Endpoint, Association),
    (here, server, far): (&Runtime, &Endpoint, &Association),
    stream: u16,
) -> (Runtime, (Endpoint, Association), Events) {
    life.block_on(async {
        paths_confirmed(&near).await;
        near.send(Message::new(stream, "before")).await.unwrap();
        near.sender_dry().await.unwrap();
    });
    here.block_on(paths_confirmed(far));
    let ports = (first.port(), first.encapsulation_port());
    drop(life);
    drop((first, near));
    let events = far.events();
    let (life, second) = client(ports);
    let near = connect(&life, &second, server);
    life.block_on(near.send(Message::new(stream, "after"))).unwrap();
    (life, (second, near), events)
}

#[test]
fn messages_of_before_a_restart_come_first_and_apart() {
    let here = host();
    let server = here.block_on(async { server_with(&SERVER, patient()) });
    let (life, first) = client((0, 0));
    let near = connect(&life, &first, &server);
    let far = here.block_on(server.accept()).unwrap();
    let (_life, _near, mut events) = restart((life, first, near), (&here, &server, &far), 0);
    here.block_on(async {
        assert_eq!(restart_told(&mut events).await, 1);
        assert_eq!(far.receive().await.unwrap().unwrap().into_bytes(), "before");
        assert_eq!(far.receive().await.unwrap_err(), AssociationError::PeerRestarted);
        far.accept_restart();
        assert_eq!(far.receive().await.unwrap().unwrap().into_bytes(), "after");
    });
}

#[test]
fn streams_keep_what_came_before_a_restart_apart() {
    let here = host();
    let server = here.block_on(async { server_with(&SERVER, patient()) });
    let (life, first) = client((0, 0));
    let near = connect(&life, &first, &server);
    let far = here.block_on(server.accept()).unwrap();
    let (mut stream, mut other) = (far.stream(1).unwrap(), far.stream(2).unwrap());
    let (_life, _near, mut events) = restart((life, first, near), (&here, &server, &far), 1);
    here.block_on(async {
        assert_eq!(restart_told(&mut events).await, 0, "those of streams are apart");
        assert_eq!(stream.receive().await.unwrap().unwrap().into_bytes(), "before");
        assert_eq!(stream.receive().await.unwrap_err(), AssociationError::PeerRestarted);
        assert_eq!(other.receive().await.unwrap_err(), AssociationError::PeerRestarted);
        assert_eq!(far.accept_stream().await.unwrap_err(), AssociationError::PeerRestarted);
        assert!(far.stream(3).is_err());
        far.accept_restart();
        assert_eq!(stream.receive().await.unwrap().unwrap().into_bytes(), "after");
    });
}

#[test]
fn an_association_that_nobody_holds_ends_after_a_restart_too() {
    let Left { here, server, far, ports } = left_alone();
    // A SHUTDOWN that met the new peer before its INIT would end the association at once.
    let ears = Ears::open(ports.1);
    drop(far);
    ears.await_chunk(SHUTDOWN);
    drop(ears);
    let (life, client) = client(ports);
    let near = connect(&life, &client, &server);
    assert!(life.block_on(near.receive()).unwrap().is_none());
    here.block_on(server.idle());
}
