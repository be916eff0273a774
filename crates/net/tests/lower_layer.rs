//! Associations over a lower layer of the program's own (RFC 8261).

use std::task::{Context, Poll};

use bytes::Bytes;
use polypath::{
    Association, AssociationConfig, AssociationError, BindError, ChannelLayer, ConnectError,
    Endpoint, EndpointConfig, ErrorDetection, LowerLayer, Message, Peer,
};
use tokio::sync::mpsc;

const PORT: u16 = 5000;
const MTU: u16 = 1200;

fn config() -> AssociationConfig {
    let mut config = AssociationConfig::over_lower_layer(MTU);
    config.error_detection = ErrorDetection::LowerLayerDtls;
    config
}

fn endpoint(layer: impl LowerLayer) -> Endpoint {
    let config = EndpointConfig { association: config(), ..EndpointConfig::over_lower_layer(MTU) };
    Endpoint::over_lower_layer(MTU).config(config).port(PORT).start(layer).unwrap()
}

/// Drops every tenth packet, and does not carry what is too long.
#[derive(Debug)]
struct Lossy {
    layer: ChannelLayer,
    sent: usize,
}

impl LowerLayer for Lossy {
    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        self.layer.poll_ready(cx)
    }

    fn send(&mut self, packet: Bytes) {
        assert!(packet.len() <= usize::from(MTU), "{}", packet.len());
        self.sent += 1;
        if !self.sent.is_multiple_of(10) {
            self.layer.send(packet);
        }
    }

    fn poll_receive(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        self.layer.poll_receive(cx)
    }
}

/// Sends messages of these sizes, and reads as many of them from the peer.
async fn exchange(association: &Association, sizes: &[usize]) {
    let send = async {
        for &size in sizes {
            association.send(Message::new(1, vec![7; size])).await.unwrap();
        }
    };
    let receive = async {
        for &size in sizes {
            let message = association.receive().await.unwrap().unwrap();
            assert_eq!(message.into_bytes().len(), size);
        }
    };
    tokio::join!(send, receive);
}

async fn both(near: &Endpoint, far: &Endpoint) -> (Association, Association) {
    tokio::try_join!(
        near.connect_over_lower_layer(PORT, config()),
        far.connect_over_lower_layer(PORT, config()),
    )
    .unwrap()
}

#[tokio::test]
async fn messages_cross_a_layer_that_loses_packets() {
    let (near, far) = ChannelLayer::pair(8);
    let near = endpoint(Lossy { layer: near, sent: 0 });
    let far = endpoint(Lossy { layer: far, sent: 5 });
    let (a, b) = both(&near, &far).await;
    let sizes: Vec<usize> = (0..200).map(|n| 1 + n * 97).collect();
    tokio::join!(exchange(&a, &sizes), exchange(&b, &sizes));
    let built = [&a, &b].map(Association::stats);
    for (association, stats) in [&a, &b].into_iter().zip(&built) {
        assert!(stats.fast_retransmissions + stats.timeout_retransmissions > 0);
        // All but INIT and COOKIE ECHO.
        assert!(stats.zero_checksums_sent * 10 > stats.packets_sent * 9);
        assert_eq!(association.path_stats()[0].mtu_bytes, u32::from(MTU));
    }
    assert_eq!([&near, &far].map(|endpoint| endpoint.stats().packets_dropped), [0, 0]);
    let (left, none) = tokio::join!(a.shutdown(), b.receive());
    assert!(left.is_ok() && none.unwrap().is_none());
    // What was built then has left by now.
    for (endpoint, stats) in [&near, &far].into_iter().zip(&built) {
        assert!(endpoint.stats().packets_sent >= stats.packets_sent);
    }
}

#[tokio::test]
async fn who_comes_late_gets_the_association_that_the_peer_began() {
    let (near, far) = ChannelLayer::pair(8);
    let (near, far) = (endpoint(near), endpoint(far));
    let a = near.connect_over_lower_layer(PORT, config()).await.unwrap();
    let b = far.connect_over_lower_layer(PORT, config()).await.unwrap();
    tokio::join!(exchange(&a, &[10, 100_000]), exchange(&b, &[10, 100_000]));
    // It is one, and there is no second one.
    let again = near.connect_over_lower_layer(PORT, config()).await;
    assert!(matches!(again, Err(ConnectError::Invalid(_))), "{again:?}");
    a.abort("done");
    assert!(matches!(b.closed().await, Err(AssociationError::AbortedByPeer(_))));
}

#[tokio::test]
async fn an_association_goes_on_over_another_way() {
    let (near, far) = ChannelLayer::pair(8);
    let (near, far) = (endpoint(near), endpoint(far));
    let (a, b) = both(&near, &far).await;
    tokio::join!(exchange(&a, &[100_000]), exchange(&b, &[100_000]));
    assert!(a.path_stats()[0].srtt.is_some());
    near.lower_layer_changed();
    assert_eq!(a.path_stats()[0].srtt, None);
    tokio::join!(exchange(&a, &[100_000]), exchange(&b, &[100_000]));
    assert!(a.path_stats()[0].srtt.is_some());
}

#[tokio::test]
async fn ports_that_nobody_has_are_refused() {
    let (near, far) = ChannelLayer::pair(8);
    let (near, _far) = (endpoint(near), endpoint(far));
    let refused = near.connect_over_lower_layer(PORT + 1, config()).await;
    assert!(matches!(refused, Err(ConnectError::Ended(AssociationError::AbortedByPeer(_)))));
}

#[tokio::test]
async fn a_layer_that_ends_ends_its_associations() {
    let (to_near, incoming) = mpsc::channel(8);
    let (outgoing, mut from_near) = mpsc::channel(8);
    let (far_layer, far_ends) = ChannelLayer::pair(8);
    let near = endpoint(ChannelLayer::new(outgoing, incoming));
    let far = endpoint(far_layer);
    // What a task between the layers of both does.
    let between = tokio::spawn(async move {
        let mut far_ends = far_ends;
        loop {
            tokio::select! {
                Some(packet) = from_near.recv() => {
                    std::future::poll_fn(|cx| far_ends.poll_ready(cx)).await;
                    far_ends.send(packet);
                }
                Some(packet) = std::future::poll_fn(|cx| far_ends.poll_receive(cx)) => {
                    let _ = to_near.send(packet).await;
                }
                else => return,
            }
        }
    });
    let (a, b) = both(&near, &far).await;
    exchange_once(&a, &b).await;
    between.abort();
    for association in [a, b] {
        assert_eq!(association.closed().await, Err(AssociationError::EndpointClosed));
    }
    let late = near.connect_over_lower_layer(PORT, config()).await;
    assert_eq!(late.unwrap_err(), ConnectError::EndpointClosed);
}

async fn exchange_once(a: &Association, b: &Association) {
    tokio::join!(exchange(a, &[1]), exchange(b, &[1]));
}

#[tokio::test]
async fn there_are_no_addresses() {
    let (near, far) = ChannelLayer::pair(8);
    let (near, far) = (endpoint(near), endpoint(far));
    let peer = Peer::new(["127.0.0.1".parse().unwrap()], PORT);
    let elsewhere = near.connect(&peer, AssociationConfig::default()).await;
    assert!(matches!(elsewhere, Err(ConnectError::Invalid(_))), "{elsewhere:?}");
    let added = near.bind_add("127.0.0.1".parse().unwrap()).await;
    assert!(matches!(added, Err(BindError::LowerLayer)));
    let (a, b) = both(&near, &far).await;
    assert_eq!(a.path_stats().len(), 1);
    exchange_once(&a, &b).await;
    // Endpoints and layers go when nobody has a handle any more.
    drop((a, near));
    assert!(b.receive().await.unwrap().is_none());
    far.idle().await;
}
