//! Peers that make way for others when all places of an endpoint are taken.
#![allow(missing_docs)]

mod common;

use std::time::Duration;

use common::{addresses, client_on, peer_of};
use polypath::config::NetworkLimit;
use polypath::{
    Association, AssociationConfig, AssociationError, ConnectError, Endpoint, EndpointConfig,
    MakeWay, Message,
};

/// Whoever moves anything within two seconds stays.
const RULE: MakeWay = MakeWay { after: Duration::from_secs(2), below_bytes_per_second: 1 };

fn server(config: EndpointConfig, rule: Option<MakeWay>) -> Endpoint {
    let builder = Endpoint::builder(addresses(&["127.0.0.1"])).encapsulation_port(0);
    builder.config(config).make_way(rule).listen(16).bind().unwrap()
}

fn places(max_associations: u32) -> EndpointConfig {
    EndpointConfig { max_associations, ..EndpointConfig::default() }
}

/// Associations of a client, and the server's ends.
struct Served {
    near: Association,
    far: Association,
    _client: Endpoint,
}

async fn connect(
    server: &Endpoint,
    from: &str,
    config: AssociationConfig,
) -> Result<Served, String> {
    let client = client_on(&[from]);
    let near = client.connect(&peer_of(server), config).await.map_err(|error| match error {
        ConnectError::Ended(error) => error.to_string(),
        other => panic!("{other}"),
    })?;
    let far = server.accept().await.unwrap();
    Ok(Served { near, far, _client: client })
}

/// Connects as soon as somebody makes way.
async fn connect_at_last(server: &Endpoint, from: &str) -> Served {
    loop {
        match connect(server, from, AssociationConfig::default()).await {
            Ok(served) => return served,
            Err(told) => assert!(told.contains("out of resource"), "{told}"),
        }
    }
}

fn made_way(ended: Result<(), AssociationError>) -> bool {
    ended.unwrap_err().to_string().contains("all places are taken")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_idle_make_way_and_who_works_or_is_not_to_blame_stays() {
    let server = server(places(3), Some(RULE));
    let works = connect(&server, "127.0.0.71", AssociationConfig::default()).await.unwrap();
    let (sender, reader) = (works.near.clone(), works.far.clone());
    let working = tokio::spawn(async move {
        while sender.send(Message::new(0, vec![1; 1000])).await.is_ok() {
            if reader.receive().await.is_err() {
                break;
            }
        }
    });
    let idle = connect(&server, "127.0.0.73", AssociationConfig::default()).await.unwrap();
    // Its message waits for this side, so it is not to blame.
    let waits = connect(&server, "127.0.0.74", AssociationConfig::default()).await.unwrap();
    waits.near.send(Message::new(0, "read me")).await.unwrap();

    let refused = connect(&server, "127.0.0.75", AssociationConfig::default()).await.err().unwrap();
    assert!(refused.contains("out of resource"), "{refused}");
    let first = connect_at_last(&server, "127.0.0.75").await;
    assert!(made_way(idle.near.closed().await));
    assert!(matches!(idle.far.closed().await, Err(AssociationError::Aborted)));
    assert_eq!(server.stats().associations_replaced, 1);
    // The newcomer is idle, too; and so is the other one once its message was read.
    let second = connect_at_last(&server, "127.0.0.76").await;
    assert!(made_way(first.near.closed().await));
    waits.far.receive().await.unwrap().unwrap();
    let _third = connect_at_last(&server, "127.0.0.77").await;
    let ended = tokio::select! {
        ended = waits.near.closed() => ended,
        ended = second.near.closed() => ended,
    };
    assert!(made_way(ended));
    assert_eq!(server.stats().associations_replaced, 3);

    assert!(!working.is_finished());
    working.abort();
}

#[tokio::test]
async fn a_network_gets_so_many_associations_and_others_are_served() {
    let network = Some(NetworkLimit::new(2));
    let config = EndpointConfig { max_associations_per_network: network, ..places(8) };
    let server = server(config, None);
    let connect = async |from| connect(&server, from, AssociationConfig::default()).await;
    let _first = connect("127.0.3.1").await.unwrap();
    let second = connect("127.0.3.2").await.unwrap();
    let told = connect("127.0.3.3").await.err().unwrap();
    assert!(told.contains("at most 2 associations at a time from one network"), "{told}");
    let _other = connect("127.0.4.1").await.unwrap();
    second.near.shutdown().await.unwrap();
    second.far.closed().await.unwrap();
    connect("127.0.3.3").await.unwrap();
}
