//! Local addresses that come and go, and addresses that the system refuses.
#![allow(missing_docs)]

mod common;

use std::net::IpAddr;

use common::{
    CLIENT, SERVER, addresses, client_on, impatient, pair, pair_with, peer_of, server_with,
};
use polypath::config::{AddressJoin, AddressReconfiguration};
use polypath::{
    AddressChange, AddressChangeError, Association, AssociationConfig, BindError, ConnectError,
    Duration, Endpoint, EndpointConfig, Event, Events, Message, PathChange, PathStats, PathStatus,
    Peer, PortAddresses, PortConfig,
};

fn ip(text: &str) -> IpAddr {
    text.parse().expect("an address")
}

fn path_from(association: &Association, local: IpAddr) -> PathStats {
    let paths = association.path_stats();
    paths.into_iter().find(|path| path.local == local).expect("a path from there")
}

/// Waits until a path is active.
async fn active(association: &Association, events: &mut Events, local: IpAddr) {
    while path_from(association, local).status != PathStatus::Active {
        events.next().await.expect("the association lives");
    }
}

/// Sends messages one way and reads them.
async fn exchange(from: &Association, to: &Association, count: u8) {
    for number in 0..count {
        from.send(Message::new(0, vec![number; 2000])).await.unwrap();
    }
    for number in 0..count {
        let message = to.receive().await.unwrap().expect("a message");
        assert_eq!(message.into_bytes(), vec![number; 2000]);
    }
}

#[tokio::test]
async fn an_address_goes_and_comes_back() {
    let pair = pair().await;
    let lost = ip(CLIENT[0]);
    let mut events = pair.near.events();
    active(&pair.near, &mut events, lost).await;
    active(&pair.near, &mut events, ip(CLIENT[1])).await;
    exchange(&pair.near, &pair.far, 50).await;

    pair.client.bind_remove(lost).await.unwrap();
    assert_eq!(pair.client.local_addresses(), [ip(CLIENT[1])]);
    let without = path_from(&pair.near, lost);
    assert_eq!(without.status, PathStatus::Inactive);
    assert!(without.packets_sent > 0, "counters are kept");
    let gone = PathChange::Unreachable;
    while events.next().await.expect("the association lives")
        != (Event::Path { path: without.path, change: gone })
    {}
    exchange(&pair.near, &pair.far, 50).await;
    assert_eq!(path_from(&pair.near, lost).packets_sent, without.packets_sent);

    pair.client.bind_add(lost).await.unwrap();
    assert_eq!(pair.client.local_addresses(), [ip(CLIENT[1]), lost]);
    active(&pair.near, &mut events, lost).await;
    let back = path_from(&pair.near, lost);
    assert_eq!(back.path, without.path);
    // The peer uses it as before: it may have more in flight than one path takes.
    for _ in 0..100 {
        exchange(&pair.near, &pair.far, 50).await;
        if path_from(&pair.near, lost).data_packets_sent > back.data_packets_sent {
            return;
        }
    }
    panic!("the path that came back carries no data");
}

#[tokio::test]
async fn a_new_address_serves_new_associations_and_disturbs_no_old_one() {
    let config = AssociationConfig::default();
    let server = server_with(&["127.0.0.1"], config.clone());
    let old = pair_with(server.clone(), client_on(&["127.0.0.3"]), config.clone()).await;
    let new = ip("127.0.0.51");
    let peer = Peer::new([new], server.port()).encapsulation_port(server.encapsulation_port());

    let before = client_on(&["127.0.0.4"]).connect(&peer, impatient()).await;
    assert!(matches!(before, Err(ConnectError::Ended(_))), "{before:?}");
    server.bind_add(new).await.unwrap();
    let other = client_on(&["127.0.0.4"]);
    let near = other.connect(&peer, config).await.unwrap();
    let far = server.accept().await.unwrap();
    assert_eq!(near.remote_addresses(), addresses(&["127.0.0.1", "127.0.0.51"]));
    exchange(&near, &far, 10).await;
    // The peer of the old one does not know the address: no answer, no data.
    assert_eq!(path_from(&old.far, new).data_packets_sent, 0);
    exchange(&old.near, &old.far, 10).await;
    exchange(&old.far, &old.near, 10).await;

    server.bind_remove(new).await.unwrap();
    let after = client_on(&["127.0.0.5"]).connect(&peer, impatient()).await;
    assert!(matches!(after, Err(ConnectError::Ended(_))), "{after:?}");
    exchange(&near, &far, 10).await;
}

#[tokio::test]
async fn wishes_that_cannot_be_are_refused() {
    let endpoint = client_on(&["127.0.0.3"]);
    let here = ip("127.0.0.3");
    let wrong = |result: Result<(), BindError>| result.expect_err("it is impossible");
    assert!(matches!(wrong(endpoint.bind_add(here).await), BindError::AlreadyBound(_)));
    assert!(matches!(wrong(endpoint.bind_add(ip("0.0.0.0")).await), BindError::NotUnicast(_)));
    assert!(matches!(wrong(endpoint.bind_add(ip("fe80::1")).await), BindError::LinkLocal(_)));
    // An address that this host does not have (RFC 5737).
    assert!(matches!(wrong(endpoint.bind_add(ip("192.0.2.1")).await), BindError::Socket { .. }));
    assert!(matches!(wrong(endpoint.bind_remove(here).await), BindError::LastAddress(_)));
    let other = ip("127.0.0.52");
    assert!(matches!(wrong(endpoint.bind_remove(other).await), BindError::NotBound(_)));
    endpoint.bind_add(other).await.unwrap();
    endpoint.bind_remove(here).await.unwrap();
    assert_eq!(endpoint.local_addresses(), [other]);
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn addresses_are_bound_to_their_interface() {
    let (first, later) = (ip("127.0.0.56"), ip("127.0.0.57"));
    let bind = |device: &str| {
        let builder = Endpoint::builder([first]).encapsulation_port(0);
        builder.bind_to_device(first, device).bind()
    };
    assert!(matches!(bind("none-such"), Err(BindError::NoDevice { .. })));
    let server = server_with(&["127.0.0.58"], AssociationConfig::default());
    let client = match bind("lo") {
        // Only before Linux 5.7.
        Err(BindError::Device { .. }) => return,
        bound => bound.unwrap(),
    };
    assert!(matches!(
        client.bind_add_to_device(ip("192.0.2.1"), "lo").await,
        Err(BindError::NotOnDevice { .. })
    ));
    client.bind_add_to_device(later, "lo").await.unwrap();
    let near = client.connect(&peer_of(&server), impatient()).await.unwrap();
    let far = server.accept().await.unwrap();
    exchange(&near, &far, 10).await;
    exchange(&far, &near, 10).await;
    client.bind_remove(first).await.unwrap();
    client.bind_add(first).await.unwrap();
    exchange(&near, &far, 10).await;
}

#[test]
fn nothing_is_bound_when_the_runtime_is_gone() {
    let runtime = || tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let endpoint = runtime().block_on(async { client_on(&["127.0.0.3"]) });
    let result = runtime().block_on(endpoint.bind_add(ip("127.0.0.4")));
    assert!(matches!(result, Err(BindError::EndpointClosed)), "{result:?}");
}

/// Timers that never expire while a test runs.
fn patient() -> AssociationConfig {
    let mut config = AssociationConfig::default();
    config.policies.rto.initial = Duration::from_secs(36_000);
    config.policies.rto.max = Duration::from_secs(36_000);
    config
}

/// An address that the system does not send to: the broadcast address of the loopback network.
const REFUSED: &str = "127.255.255.255";

#[cfg(target_os = "linux")]
#[tokio::test]
async fn an_address_that_the_system_refuses_costs_a_handshake_no_time() {
    let server = server_with(&["127.0.0.1", "127.0.0.2"], AssociationConfig::default());
    let client = client_on(&["127.0.0.3", "127.0.0.4"]);
    let peer = Peer::new(addresses(&[REFUSED, "127.0.0.2"]), server.port())
        .encapsulation_port(server.encapsulation_port());
    let near = client.connect(&peer, patient()).await.unwrap();
    assert_eq!(near.remote_addresses(), addresses(&["127.0.0.1", "127.0.0.2"]));
    assert_eq!(client.stats().packets_refused, 1);
}

fn reconfigurable() -> AssociationConfig {
    let mut config =
        AssociationConfig { address_join: AddressJoin::Off, ..AssociationConfig::default() };
    config.policies.address_reconfiguration = AddressReconfiguration::Authenticated;
    config
}

/// The next event about an address.
async fn change_of(events: &mut Events, address: IpAddr) -> Event {
    loop {
        let event = events.next().await.expect("the association lives");
        match event {
            Event::PeerAddress { address: named, .. }
            | Event::LocalAddress { address: named, .. }
                if named == address =>
            {
                return event;
            }
            _ => {}
        }
    }
}

/// The client moves from one address to another, which no handshake has named (RFC 5061).
#[tokio::test]
async fn the_peer_is_told_of_addresses_that_come_and_go() {
    for shards in [1, 2] {
        let config = reconfigurable();
        let accepting = EndpointConfig { association: config.clone(), ..Default::default() };
        let builder = Endpoint::builder(addresses(&SERVER)).encapsulation_port(0).shards(shards);
        let server = builder.listen(1024).config(accepting);
        let pair = pair_with(server.bind().unwrap(), client_on(&CLIENT[..1]), config).await;
        let [old, new] = [ip(CLIENT[0]), ip(CLIENT[1])];
        let (mut near, mut far) = (pair.near.events(), pair.far.events());
        assert!(pair.near.can_change_addresses() && pair.far.can_change_addresses());
        exchange(&pair.near, &pair.far, 20).await;
        for (address, change) in [(new, AddressChange::Added), (old, AddressChange::Removed)] {
            match change {
                AddressChange::Added => pair.client.bind_add(address).await.unwrap(),
                _ => pair.client.bind_remove(address).await.unwrap(),
            }
            let told = change_of(&mut far, address).await;
            assert_eq!(told, Event::PeerAddress { address, change });
            let done = change_of(&mut near, address).await;
            assert_eq!(done, Event::LocalAddress { address, change });
            exchange(&pair.near, &pair.far, 20).await;
            exchange(&pair.far, &pair.near, 20).await;
        }
        pair.near.set_peer_primary(new).unwrap();
        let change = AddressChange::MadePrimary;
        let told = change_of(&mut far, new).await;
        assert_eq!(told, Event::PeerAddress { address: new, change });
    }
}

/// Two sockets of a program that share an endpoint: one of them is bound to another address, too, and then to that alone.
#[tokio::test]
async fn one_association_gets_and_loses_an_address_and_no_other_does() {
    let server = server_with(&SERVER, reconfigurable());
    let client = client_on(&CLIENT);
    let [old, new] = [ip(CLIENT[0]), ip(CLIENT[1])];
    let port = || PortConfig {
        local_addresses: PortAddresses::Listed(vec![old]),
        listening: false,
        association: reconfigurable(),
    };
    let (one, other) = (client.bind_port(0, port(), 0), client.bind_port(0, port(), 0));
    let (one, other) = (one.unwrap(), other.unwrap());
    let near = one.connect(&peer_of(&server), reconfigurable()).await.unwrap();
    let far = server.accept().await.unwrap();
    let unchanged = other.connect(&peer_of(&server), reconfigurable()).await.unwrap();
    let elsewhere = server.accept().await.unwrap();
    assert_eq!(near.local_addresses(), [old]);

    let unknown = Err(AddressChangeError::UnknownAddress);
    assert_eq!(client.bind_add_for(&near, ip("127.0.0.9")), unknown, "not of the endpoint");
    assert_eq!(client.bind_remove_for(&near, old), unknown, "the last one");
    let (mut events, mut far_events) = (near.events(), far.events());
    for (address, change) in [(new, AddressChange::Added), (old, AddressChange::Removed)] {
        let done = match change {
            AddressChange::Added => client.bind_add_for(&near, address),
            _ => client.bind_remove_for(&near, address),
        };
        assert_eq!(done, Ok(()));
        let told = change_of(&mut far_events, address).await;
        assert_eq!(told, Event::PeerAddress { address, change });
        let done = change_of(&mut events, address).await;
        assert_eq!(done, Event::LocalAddress { address, change });
        exchange(&near, &far, 20).await;
        exchange(&far, &near, 20).await;
    }
    assert_eq!(near.local_addresses(), [new]);
    assert_eq!(unchanged.local_addresses(), [old]);
    exchange(&unchanged, &elsewhere, 5).await;
    assert_eq!(elsewhere.remote_addresses(), [old]);

    let plain = client.connect(&peer_of(&server), AssociationConfig::default()).await.unwrap();
    let unsupported = Err(AddressChangeError::Unsupported);
    assert_eq!(client.bind_remove_for(&plain, new), unsupported, "its peer could not be told");
}
