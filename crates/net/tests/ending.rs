//! Every way in which an association or an endpoint ends.
#![allow(missing_docs)]

mod common;

use common::{
    CLIENT, SERVER, addresses, client_on, impatient, pair, pair_with, peer_of, server_with,
};
use polypath::{
    Association, AssociationConfig, AssociationEnd, AssociationError, BindError, ConnectError,
    Endpoint, Event, Message, Peer, SendError, TryReceiveError,
};

#[tokio::test]
async fn shutdown_delivers_everything_first() {
    let pair = pair().await;
    let far = pair.far.clone();
    let reading = tokio::spawn(async move {
        let mut numbers = Vec::new();
        while let Some(message) = far.receive().await? {
            numbers.push(message.into_bytes()[0]);
        }
        Ok::<_, AssociationError>(numbers)
    });
    for number in 0..50_u8 {
        pair.near.send(Message::new(0, vec![number; 10_000])).await.unwrap();
    }
    pair.near.shutdown().await.unwrap();
    assert_eq!(reading.await.unwrap().unwrap(), (0..50).collect::<Vec<_>>());
    pair.far.closed().await.unwrap();
    assert!(matches!(pair.near.send(Message::new(0, "late")).await, Err(SendError::Refused(_))));
    assert!(pair.near.receive().await.unwrap().is_none());
}

#[tokio::test]
async fn what_arrived_can_be_read_after_the_end() {
    let pair = pair().await;
    pair.near.send(Message::new(0, "kept")).await.unwrap();
    pair.near.shutdown().await.unwrap();
    pair.far.closed().await.unwrap();
    assert_eq!(pair.far.receive().await.unwrap().unwrap().into_bytes(), "kept");
    assert!(pair.far.receive().await.unwrap().is_none());
}

#[tokio::test]
async fn the_side_that_was_shut_down_knows_that_after_the_end() {
    let pair = pair().await;
    assert!(!pair.near.is_shut_by_peer() && !pair.far.is_shut_by_peer());
    pair.near.shutdown().await.unwrap();
    pair.far.closed().await.unwrap();
    assert!(pair.far.is_shut_by_peer() && !pair.near.is_shut_by_peer());
}

#[tokio::test]
async fn abort_tells_the_peer_why() {
    let pair = pair().await;
    let mut events = pair.far.events();
    pair.near.abort("enough");
    let error = pair.far.receive().await.unwrap_err();
    assert_eq!(error.to_string(), "the peer aborted the association: \"enough\"");
    assert_eq!(pair.near.closed().await, Err(AssociationError::Aborted));
    assert_eq!(pair.near.receive().await.unwrap_err(), AssociationError::Aborted);
    assert!(matches!(pair.far.send(Message::new(0, "late")).await, Err(SendError::Ended(_))));
    assert!(matches!(pair.far.try_receive(), Err(TryReceiveError::Ended(_))));
    let mut last = None;
    while let Some(event) = events.next().await {
        last = Some(event);
    }
    assert!(matches!(last, Some(Event::Ended(AssociationEnd::AbortedByPeer(_)))), "{last:?}");
    assert!(pair.far.events().next().await.is_none());
}

#[tokio::test]
async fn who_sends_while_the_end_is_being_told_learns_its_cause() {
    let pair = pair().await;
    pair.near.abort("enough");
    // The driver had no turn since.
    let error = pair.near.send(Message::new(0, "late")).await.unwrap_err();
    assert_eq!(error, SendError::Ended(AssociationError::Aborted));
}

#[tokio::test]
async fn a_shutdown_that_takes_too_long_is_an_abort() {
    let pair = pair().await;
    let near = &pair.near;
    // The peer reads nothing: its receive buffer fills, then the send buffer.
    let short = std::time::Duration::from_millis(50);
    while tokio::time::timeout(short, near.send(Message::new(0, vec![0; 50_000]))).await.is_ok() {}
    assert!(near.progress_bytes() > 0);
    assert_eq!(near.shutdown_within(short).await, Err(AssociationError::Aborted));
    let error = pair.far.closed().await.unwrap_err();
    assert!(error.to_string().contains("the shutdown takes too long"), "{error}");
}

#[tokio::test]
async fn a_server_ends_when_it_does_not_listen_and_its_last_association_has_gone() {
    let server = server_with(&SERVER, AssociationConfig::default());
    let client = client_on(&CLIENT);
    let serving = server.clone();
    let served = tokio::spawn(async move {
        let count = async |association: Association| {
            let mut messages = 0;
            while let Ok(Some(_)) = association.receive().await {
                messages += 1;
            }
            messages
        };
        let mut counts = Vec::new();
        serving.serve(count, |messages| counts.push(messages)).await;
        counts
    });
    for messages in 1..=2 {
        let association =
            client.connect(&peer_of(&server), AssociationConfig::default()).await.unwrap();
        for _ in 0..messages {
            association.send(Message::new(0, "one more")).await.unwrap();
        }
        association.shutdown().await.unwrap();
    }
    server.stop_listening();
    let mut counts = served.await.unwrap();
    counts.sort_unstable();
    assert_eq!(counts, [1, 2]);
}

#[tokio::test]
async fn an_endpoint_listens_again_when_told_to() {
    let server = server_with(&SERVER, AssociationConfig::default());
    let client = client_on(&CLIENT);
    server.stop_listening();
    assert!(client.connect(&peer_of(&server), AssociationConfig::default()).await.is_err());
    assert!(matches!(server.accept().await, Err(ConnectError::NotListening)));
    server.resume_listening();
    let peer = peer_of(&server);
    let (near, far) =
        tokio::join!(client.connect(&peer, AssociationConfig::default()), server.accept());
    near.unwrap().send(Message::new(0, "again")).await.unwrap();
    assert_eq!(far.unwrap().receive().await.unwrap().unwrap().into_bytes(), "again");
    // Who never listened does not begin to.
    client.resume_listening();
    assert!(matches!(client.accept().await, Err(ConnectError::NotListening)));
}

#[tokio::test]
async fn a_dropped_association_shuts_down_in_the_background() {
    let pair = pair().await;
    let clone = pair.near.clone();
    drop(pair.near);
    clone.send(Message::new(0, "last words")).await.unwrap();
    drop(clone);
    assert_eq!(pair.far.receive().await.unwrap().unwrap().into_bytes(), "last words");
    assert!(pair.far.receive().await.unwrap().is_none());
    pair.client.idle().await;
}

#[tokio::test]
async fn what_arrives_for_a_dropped_association_does_not_hold_up_its_end() {
    let pair = pair().await;
    drop(pair.near);
    // More than the receive buffer that nobody reads any more.
    let mut refused = false;
    for _ in 0..100 {
        if pair.far.send(Message::new(0, vec![7; 50_000])).await.is_err() {
            refused = true;
            break;
        }
    }
    assert!(refused || pair.far.shutdown().await.is_ok());
    pair.client.idle().await;
}

#[tokio::test]
async fn an_endpoint_without_handles_ends_after_its_associations() {
    let pair = pair().await;
    drop(pair.client);
    pair.near.send(Message::new(0, "still here")).await.unwrap();
    assert_eq!(pair.far.receive().await.unwrap().unwrap().into_bytes(), "still here");
    pair.near.shutdown().await.unwrap();
}

#[tokio::test]
async fn a_peer_that_does_not_answer_is_an_error() {
    let silent = std::net::UdpSocket::bind("127.0.0.5:0").unwrap();
    let port = silent.local_addr().unwrap().port();
    let client = client_on(&CLIENT);
    let peer = Peer::new(addresses(&["127.0.0.5"]), 7).encapsulation_port(port);
    let error = client.connect(&peer, impatient()).await.unwrap_err();
    assert_eq!(error, ConnectError::Ended(AssociationError::CannotConnect));
    client.idle().await;
}

/// A UDP port that nobody has.
#[cfg(target_os = "linux")]
fn closed_port(address: &str) -> u16 {
    let socket = std::net::UdpSocket::bind((address, 0)).unwrap();
    socket.local_addr().unwrap().port()
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_closed_port_is_known_at_once() {
    let port = closed_port("127.0.0.5");
    let client = client_on(&CLIENT);
    let peer = Peer::new(addresses(&["127.0.0.5"]), 7).encapsulation_port(port);
    // Timeouts would take minutes.
    let error = client.connect(&peer, AssociationConfig::default()).await.unwrap_err();
    assert_eq!(error, ConnectError::Ended(AssociationError::ProtocolUnreachable));
    client.idle().await;
    assert!(client.stats().unreachable_reports > 0);
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_closed_port_at_one_address_is_no_reason_to_give_up() {
    let server = server_with(&["127.0.0.1"], AssociationConfig::default());
    let client = client_on(&["127.0.0.3"]);
    let peer = Peer::new(addresses(&["127.0.0.6", "127.0.0.1"]), server.port())
        .encapsulation_port(server.encapsulation_port());
    let near = client.connect(&peer, AssociationConfig::default()).await.unwrap();
    near.shutdown().await.unwrap();
    assert!(client.stats().unreachable_reports > 0);
}

#[cfg(target_os = "linux")]
#[test]
fn an_association_ends_when_nobody_has_the_peers_port_any_more() {
    let life = |threads| {
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        builder.worker_threads(threads).enable_all().build().unwrap()
    };
    let (here, there) = (life(1), life(1));
    let server = there.block_on(async { server_with(&SERVER, AssociationConfig::default()) });
    let client = here.block_on(async { client_on(&CLIENT) });
    let near = here.block_on(client.connect(&peer_of(&server), AssociationConfig::default()));
    let near = near.unwrap();
    // The program is gone without a word.
    drop(there);
    drop(server);
    here.block_on(async {
        // A heartbeat that was under way may have told it already.
        let _ = near.send(Message::new(0, "is anybody there?")).await;
        assert_eq!(near.closed().await, Err(AssociationError::ProtocolUnreachable));
    });
}

#[tokio::test]
async fn an_endpoint_that_does_not_listen_refuses() {
    let (deaf, client) = (client_on(&SERVER), client_on(&CLIENT));
    let error = client.connect(&peer_of(&deaf), AssociationConfig::default()).await.unwrap_err();
    assert!(matches!(error, ConnectError::Ended(AssociationError::AbortedByPeer(_))), "{error}");
}

#[tokio::test]
async fn impossible_peers_are_refused_at_once() {
    let client = client_on(&["127.0.0.3"]);
    for (address, port) in [("::1", 7), ("127.0.0.1", 0)] {
        let error =
            client.connect(&Peer::new(addresses(&[address]), port), impatient()).await.unwrap_err();
        assert!(matches!(error, ConnectError::Invalid(_)), "{address}: {error}");
    }
    for address in ["0.0.0.0", "224.0.0.1", "::"] {
        let error =
            client.connect(&Peer::new(addresses(&[address]), 7), impatient()).await.unwrap_err();
        assert!(matches!(error, ConnectError::NotUnicast(_)), "{address}: {error}");
    }
    let none = client.connect(&Peer::new([], 7), impatient()).await.unwrap_err();
    assert!(matches!(none, ConnectError::Invalid(_)));
}

#[tokio::test]
async fn a_vanished_peer_becomes_unreachable() {
    let config = impatient();
    let pair = pair_with(server_with(&SERVER, config.clone()), client_on(&CLIENT), config).await;
    let other_runtime = std::thread::spawn(move || drop((pair.server, pair.far)));
    other_runtime.join().unwrap();
    // The server's end shuts down; what the client says afterwards nobody hears.
    pair.near.closed().await.unwrap();
}

#[test]
fn the_end_of_the_runtime_ends_associations() {
    let runtime = || tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (first, second) = (runtime(), runtime());
    let pair = first.block_on(pair());
    drop(first);
    second.block_on(async {
        assert_eq!(pair.near.receive().await.unwrap_err(), AssociationError::EndpointClosed);
        let error = pair.near.send(Message::new(0, "late")).await.unwrap_err();
        assert_eq!(error, SendError::Ended(AssociationError::EndpointClosed));
        assert_eq!(pair.near.shutdown().await, Err(AssociationError::EndpointClosed));
        assert_eq!(pair.server.accept().await.unwrap_err(), ConnectError::EndpointClosed);
        let error = pair
            .client
            .connect(&peer_of(&pair.server), AssociationConfig::default())
            .await
            .unwrap_err();
        assert_eq!(error, ConnectError::EndpointClosed);
        pair.client.idle().await;
    });
}

#[test]
fn a_runtime_is_needed() {
    let error = Endpoint::builder(addresses(&SERVER)).encapsulation_port(0).bind().unwrap_err();
    assert!(matches!(error, BindError::NoRuntime));
}

#[test]
fn a_runtime_without_io_or_time_does_not_suffice() {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    let bind = || Endpoint::builder(addresses(&SERVER)).encapsulation_port(0).bind();
    for runtime in [builder.build().unwrap(), builder.enable_io().build().unwrap()] {
        let error = runtime.block_on(async { bind().unwrap_err() });
        assert!(matches!(error, BindError::NoRuntime), "{error}");
    }
    builder.enable_all().build().unwrap().block_on(async { bind().unwrap() });
}

#[tokio::test]
async fn an_endpoint_that_stops_listening_keeps_what_it_accepted() {
    let pair = pair().await;
    let waiting_at = client_on(&CLIENT);
    let waiting = waiting_at.connect(&peer_of(&pair.server), impatient()).await.unwrap();
    pair.server.stop_listening();
    let error = waiting.closed().await.unwrap_err();
    assert!(error.to_string().contains("no associations are accepted"), "{error}");
    assert_eq!(pair.server.accept().await.unwrap_err(), ConnectError::NotListening);
    let late = client_on(&CLIENT);
    let error = late.connect(&peer_of(&pair.server), impatient()).await.unwrap_err();
    assert!(matches!(error, ConnectError::Ended(AssociationError::AbortedByPeer(_))), "{error}");
    pair.near.send(Message::new(0, "still here")).await.unwrap();
    assert_eq!(pair.far.receive().await.unwrap().unwrap().into_bytes(), "still here");
    pair.near.shutdown().await.unwrap();
    pair.server.idle().await;
}

#[tokio::test]
async fn closing_an_endpoint_aborts_what_lives() {
    let pair = pair().await;
    pair.server.close("maintenance");
    let error = pair.near.receive().await.unwrap_err();
    assert_eq!(error.to_string(), "the peer aborted the association: \"maintenance\"");
    pair.server.idle().await;
    assert_eq!(pair.far.receive().await.unwrap_err(), AssociationError::Aborted);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_association_can_be_used_and_dropped_as_soon_as_it_is_accepted() {
    let server = server_with(&SERVER, AssociationConfig::default());
    for _ in 0..50 {
        let (client, peer) = (client_on(&CLIENT), peer_of(&server));
        let connecting = client.connect(&peer, AssociationConfig::default());
        let (near, far) = tokio::join!(connecting, server.accept());
        let (near, far) = (near.unwrap(), far.unwrap());
        assert!(far.streams().is_some());
        far.send(Message::new(0, "hello")).await.unwrap();
        drop(far);
        assert_eq!(near.receive().await.unwrap().unwrap().into_bytes(), "hello");
        assert!(near.receive().await.unwrap().is_none(), "not aborted");
    }
}

#[tokio::test]
async fn addresses_of_other_hosts_and_taken_ports_are_errors() {
    let foreign =
        Endpoint::builder(addresses(&["192.0.2.1"])).encapsulation_port(0).bind().unwrap_err();
    assert!(foreign.to_string().contains("192.0.2.1"), "{foreign}");
    let first = client_on(&["127.0.0.1"]);
    let port = first.encapsulation_port();
    let taken =
        Endpoint::builder(addresses(&["127.0.0.1"])).encapsulation_port(port).bind().unwrap_err();
    assert!(taken.to_string().contains(&port.to_string()), "{taken}");
}
