//! Many associations between one pair of endpoints.

mod common;

use std::collections::BTreeSet;
use std::time::Duration;

use common::{CLIENT, SERVER, client_on, impatient, peer_of, server_with};
use polypath::{
    Association, AssociationConfig, AssociationError, ConnectError, Endpoint, Message, Peer,
};
use polypath_wire::{
    Abort, Cause, Causes, Checksum, ChecksumPolicy, Chunk, Packet, PacketView, Parameters,
};
use tokio::net::UdpSocket;

#[tokio::test]
async fn a_peer_can_be_connected_to_again_and_again() {
    let server = server_with(&SERVER, AssociationConfig::default());
    let client = client_on(&CLIENT);
    let mut associations = vec![];
    for number in 0..50 {
        let near = client.connect(&peer_of(&server), AssociationConfig::default()).await.unwrap();
        let far = server.accept().await.unwrap();
        assert_eq!(near.local_port(), far.remote_port());
        near.send(Message::new(0, number.to_string())).await.unwrap();
        associations.push((near, far));
    }
    assert_eq!(associations[0].0.local_port(), client.port());
    let ports: BTreeSet<u16> = associations.iter().map(|(near, _)| near.local_port()).collect();
    assert_eq!(ports.len(), 50);
    for (number, (near, far)) in associations.iter().enumerate() {
        let message = far.receive().await.unwrap().unwrap();
        assert_eq!(message.into_bytes(), number.to_string());
        far.send(Message::new(0, vec![number as u8; 10_000])).await.unwrap();
        let answer = near.receive().await.unwrap().unwrap();
        assert_eq!(answer.into_bytes(), vec![number as u8; 10_000]);
    }
    // They end one by one, in any order.
    for (near, far) in associations.into_iter().rev() {
        let (left, none) = tokio::join!(near.shutdown(), far.receive());
        assert!(left.is_ok() && none.unwrap().is_none());
    }
    // The port of the endpoint is free again.
    let near = client.connect(&peer_of(&server), AssociationConfig::default()).await.unwrap();
    assert_eq!(near.local_port(), client.port());
}

#[tokio::test]
async fn an_endpoint_may_have_several_ports() {
    let server = Endpoint::builder(common::addresses(&SERVER))
        .encapsulation_port(0)
        .port(5000)
        .further_ports([5001, 5002])
        .listen(16)
        .bind()
        .unwrap();
    let client = client_on(&CLIENT);
    let at = |port| {
        Peer::new(server.local_addresses(), port).encapsulation_port(server.encapsulation_port())
    };
    let mut pairs = vec![];
    for port in [5002, 5000, 5001, 5002] {
        let near = client.connect(&at(port), AssociationConfig::default()).await.unwrap();
        let far = server.accept().await.unwrap();
        assert_eq!((near.remote_port(), far.local_port()), (port, port));
        near.send(Message::new(0, port.to_string())).await.unwrap();
        pairs.push((port, near, far));
    }
    for (port, _, far) in &pairs {
        let message = far.receive().await.unwrap().unwrap();
        assert_eq!(message.into_bytes(), port.to_string());
    }
    // The same port of this side serves for different ports of the peer.
    let ports = [0, 1, 2].map(|n: usize| pairs[n].1.local_port());
    assert_eq!(ports, [client.port(); 3]);
    let refused = client.connect(&at(5003), AssociationConfig::default()).await;
    assert!(matches!(refused, Err(ConnectError::Ended(AssociationError::AbortedByPeer(_)))));
}

/// A peer that takes the first `refusals` INITs for those of a host that it knows, and never answers others. Gives the SCTP ports that
/// they came from.
async fn suspicious(refusals: usize) -> (UdpSocket, Vec<u16>, Result<Association, ConnectError>) {
    let socket = UdpSocket::bind("127.0.0.5:0").await.unwrap();
    let client = client_on(&["127.0.0.6"]);
    let peer = Peer::new(["127.0.0.5".parse().unwrap()], 5001)
        .encapsulation_port(socket.local_addr().unwrap().port());
    let (ports, connected) = {
        let connecting = connect(&client, &peer);
        tokio::pin!(connecting);
        let mut ports = vec![];
        let mut buffer = vec![0; 2000];
        let connected = loop {
            tokio::select! {
                received = socket.recv_from(&mut buffer) => {
                    let (length, from) = received.unwrap();
                    let view = PacketView::parse(&buffer[..length], ChecksumPolicy::Verify).unwrap();
                    let Some(Ok(Chunk::Init(init))) = view.chunks().next() else { continue };
                    if !ports.contains(&view.source_port()) {
                        ports.push(view.source_port());
                    }
                    if ports.len() > refusals {
                        continue;
                    }
                    let known = Parameters::empty();
                    let causes = Causes::build([Cause::RestartWithNewAddresses(known.as_slice())]);
                    let answer = Packet {
                        source_port: 5001,
                        destination_port: view.source_port(),
                        verification_tag: init.initiate_tag,
                        chunks: [Chunk::Abort(Abort { reflected_tag: false, causes })].into_iter().collect(),
                    };
                    let mut bytes = vec![];
                    answer.append_to(&mut bytes, Checksum::Crc32c).unwrap();
                    socket.send_to(&bytes, from).await.unwrap();
                }
                connected = &mut connecting => break connected,
            }
        };
        (ports, connected)
    };
    (socket, ports, connected)
}

async fn connect(client: &Endpoint, peer: &Peer) -> Result<Association, ConnectError> {
    client.connect(peer, impatient()).await
}

#[tokio::test]
async fn another_port_is_tried_where_the_peer_knows_the_first() {
    for (refusals, tried, end) in [(0, 1, false), (2, 3, false), (9, 4, true)] {
        let outcome = tokio::time::timeout(Duration::from_secs(20), suspicious(refusals)).await;
        let (_socket, ports, connected) = outcome.unwrap();
        assert_eq!(ports.len(), tried, "{ports:?}");
        assert!(ports[1..].iter().all(|port| *port >= 0xC000));
        match connected.unwrap_err() {
            ConnectError::Ended(AssociationError::AbortedByPeer(_)) => assert!(end),
            ConnectError::Ended(AssociationError::CannotConnect) => assert!(!end),
            other => panic!("{other}"),
        }
    }
}
