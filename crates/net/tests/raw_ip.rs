//! SCTP over IP itself, on the loopback interface. Needs raw sockets; without them each test says so and passes, unless
//! `POLYPATH_REQUIRE` names `net`.

mod common;

use polypath::{
    Association, AssociationConfig, BindError, Carriers, ConnectError, Endpoint, EndpointConfig,
    Message, Peer,
};

use common::{addresses, pattern};

/// Binds, or gives `None` where raw sockets are not to be had.
fn bind(local: &[&str], carriers: Carriers) -> Option<Endpoint> {
    let config =
        EndpointConfig { association: AssociationConfig::default(), ..EndpointConfig::default() };
    let builder = Endpoint::builder(addresses(local)).carriers(carriers);
    match builder.encapsulation_port(0).listen(8).config(config).bind() {
        Ok(endpoint) => Some(endpoint),
        Err(error @ (BindError::RawSocket { .. } | BindError::KernelSctp)) => {
            let required = std::env::var("POLYPATH_REQUIRE").unwrap_or_default();
            assert!(!required.split(',').any(|name| name == "net"), "{error}");
            eprintln!("SKIPPED: {error}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// Connects, sends messages of many sizes both ways, and shuts down.
async fn exchange(server: &Endpoint, client: &Endpoint, peer: &Peer) -> Association {
    let near = client.connect(peer, AssociationConfig::default()).await.expect("it answers");
    let far = server.accept().await.expect("it accepts");
    for len in [1, 1400, 16_384, 200_000] {
        let sent = pattern(len);
        for (from, to) in [(&near, &far), (&far, &near)] {
            from.send(Message::new(0, sent.clone())).await.expect("it is taken");
            let got = to.receive().await.expect("it arrives").expect("it is not the end");
            assert!(got.into_bytes() == sent, "{len}");
        }
    }
    let (left, end) = tokio::join!(near.shutdown(), far.receive());
    left.expect("it ends gracefully");
    assert!(end.expect("it ends gracefully").is_none());
    // Nothing is under way any more that could meet what comes next.
    server.idle().await;
    client.idle().await;
    near
}

#[tokio::test]
async fn both_families_and_two_paths() {
    for (there, here) in
        [(&["127.0.2.1", "127.0.2.2"][..], &["127.0.2.3", "127.0.2.4"][..]), (&["::1"], &["::1"])]
    {
        let Some(server) = bind(there, Carriers::RawIp) else { return };
        let Some(client) = bind(here, Carriers::RawIp) else { return };
        assert_eq!(server.encapsulation_port(), 0);
        // With all addresses named, the paths are the same whichever of them answers first.
        let peer = Peer::new(addresses(there), server.port()).raw_ip();
        let near = exchange(&server, &client, &peer).await;
        assert_eq!(near.path_stats().len(), there.len());
        let stats = client.stats();
        assert_eq!(stats.packets_unsendable + stats.packets_refused, 0, "{stats:?}");
    }
}

#[tokio::test]
async fn answers_go_the_way_the_packet_came() {
    let Some(server) = bind(&["127.0.2.11"], Carriers::Both) else { return };
    let Some(raw) = bind(&["127.0.2.12"], Carriers::RawIp) else { return };
    let Some(udp) = bind(&["127.0.2.13"], Carriers::Udp) else { return };
    let peer = Peer::new(addresses(&["127.0.2.11"]), server.port());
    let in_udp = peer.clone().encapsulation_port(server.encapsulation_port());
    exchange(&server, &raw, &peer.clone().raw_ip()).await;
    exchange(&server, &udp, &in_udp).await;
    let refused = udp.connect(&peer.raw_ip(), AssociationConfig::default()).await;
    assert_eq!(refused.err(), Some(ConnectError::Carrier));
    let refused = raw.connect(&in_udp, AssociationConfig::default()).await;
    assert_eq!(refused.err(), Some(ConnectError::Carrier));
}

#[tokio::test]
async fn ports_of_one_address_do_not_disturb_each_other() {
    let Some(one) = bind(&["127.0.2.21"], Carriers::RawIp) else { return };
    let Some(other) = bind(&["127.0.2.21"], Carriers::RawIp) else { return };
    let Some(client) = bind(&["127.0.2.22"], Carriers::RawIp) else { return };
    for server in [&one, &other] {
        let port = server.port();
        let before = [&one, &other].map(|endpoint| endpoint.stats().packets_received);
        let peer = Peer::new(addresses(&["127.0.2.21"]), port).raw_ip();
        exchange(server, &client, &peer).await;
        let after = [&one, &other].map(|endpoint| endpoint.stats().packets_received);
        let grown = [after[0] > before[0], after[1] > before[1]];
        assert_eq!(grown, [port == one.port(), port == other.port()]);
    }
}

#[tokio::test]
async fn addresses_come_and_go() {
    let Some(server) = bind(&["127.0.2.31"], Carriers::Both) else { return };
    let Some(client) = bind(&["127.0.2.32"], Carriers::RawIp) else { return };
    server.bind_add("127.0.2.33".parse().expect("an address")).await.expect("it can be added");
    exchange(&server, &client, &Peer::new(addresses(&["127.0.2.33"]), server.port()).raw_ip())
        .await;
    server.bind_remove("127.0.2.33".parse().expect("an address")).await.expect("it can go");
    let last = server.bind_remove("127.0.2.31".parse().expect("an address")).await;
    assert!(matches!(last, Err(BindError::LastAddress(_))), "{last:?}");
}
