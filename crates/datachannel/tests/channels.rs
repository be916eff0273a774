//! Data channels between two associations over a lower layer that loses packets.

use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use polypath::{AssociationConfig, ChannelLayer, Endpoint, EndpointConfig, LowerLayer};
use polypath_datachannel::{
    ChannelError, ChannelParameters, Content, DataChannel, DataChannels, OpenError, Reliability,
    Role, config,
};

const PORT: u16 = 5000;
const MTU: u16 = 1200;

/// Drops one packet of so many; of none with 0.
#[derive(Debug)]
struct Lossy {
    layer: ChannelLayer,
    one_of: usize,
    sent: usize,
}

impl LowerLayer for Lossy {
    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        self.layer.poll_ready(cx)
    }

    fn send(&mut self, packet: Bytes) {
        assert!(packet.len() <= usize::from(MTU));
        self.sent += 1;
        if self.one_of == 0 || !self.sent.is_multiple_of(self.one_of) {
            self.layer.send(packet);
        }
    }

    fn poll_receive(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        self.layer.poll_receive(cx)
    }
}

async fn pair(one_of: usize) -> (DataChannels, DataChannels) {
    pair_with(one_of, config(MTU)).await
}

async fn pair_with(one_of: usize, config: AssociationConfig) -> (DataChannels, DataChannels) {
    let (near, far) = ChannelLayer::pair(100);
    let start = |layer, sent| {
        let config =
            EndpointConfig { association: config.clone(), ..EndpointConfig::over_lower_layer(MTU) };
        let layer = Lossy { layer, one_of, sent };
        Endpoint::over_lower_layer(MTU).config(config).port(PORT).start(layer).unwrap()
    };
    let (near, far) = (start(near, 0), start(far, one_of / 2));
    let (near, far) = tokio::try_join!(
        near.connect_over_lower_layer(PORT, config.clone()),
        far.connect_over_lower_layer(PORT, config.clone()),
    )
    .unwrap();
    (DataChannels::new(near, Role::Client), DataChannels::new(far, Role::Server))
}

async fn open(
    from: &DataChannels,
    to: &DataChannels,
    parameters: ChannelParameters,
) -> (DataChannel, DataChannel) {
    let opened = from.open(parameters.clone()).await.unwrap();
    let accepted = to.accept().await.unwrap();
    assert_eq!((accepted.id(), accepted.parameters()), (opened.id(), &parameters));
    (opened, accepted)
}

#[tokio::test]
async fn messages_of_every_kind_cross_both_ways() {
    let (near, far) = pair(10).await;
    for (from, to) in [(&near, &far), (&far, &near)] {
        let parameters = ChannelParameters::new("é").protocol("test").priority(512);
        let (a, b) = open(from, to, parameters).await;
        assert!(a.confirmed().await);
        let contents = [
            Content::from("text"),
            Content::from(""),
            Content::from(vec![]),
            Content::from(vec![0]),
            Content::from(vec![7; 200_000]),
        ];
        for (sender, receiver) in [(&a, &b), (&b, &a)] {
            for content in &contents {
                sender.send(content.clone()).await.unwrap();
            }
            for content in &contents {
                assert_eq!(receiver.receive().await.as_ref(), Some(content));
            }
        }
    }
}

#[tokio::test]
async fn unordered_and_unreliable_channels_lose_what_they_may() {
    let (near, far) = pair(10).await;
    let parameters = ChannelParameters::new("positions")
        .unordered()
        .reliability(Reliability::MaxRetransmissions(0));
    let (positions, received) = open(&near, &far, parameters).await;
    let (log, logged) = open(&near, &far, ChannelParameters::new("log")).await;
    assert!(positions.confirmed().await && log.confirmed().await);
    for number in 0..500_u32 {
        // No two fit a packet.
        positions.send(vec![0; 1000]).await.unwrap();
        log.send(number.to_string()).await.unwrap();
    }
    for number in 0..500_u32 {
        assert_eq!(logged.receive().await, Some(number.to_string().into()));
    }
    positions.close();
    let mut count = 0;
    while received.receive().await.is_some() {
        count += 1;
    }
    assert!((100..500).contains(&count), "{count}");
    assert!(near.association().stats().abandoned.all().sent > 0);
}

#[tokio::test]
async fn streams_are_used_again_when_channels_are_closed() {
    let (near, far) = pair(7).await;
    for round in 0..20_u32 {
        // Whoever closes first.
        let (a, b) = open(&near, &far, ChannelParameters::new(round.to_string())).await;
        a.send("last words").await.unwrap();
        if round % 2 == 0 {
            a.close();
            assert_eq!(b.receive().await, Some("last words".into()));
            assert_eq!(b.receive().await, None);
            assert!(matches!(b.send("late").await, Err(ChannelError::Closed(_))));
        } else {
            assert_eq!(b.receive().await, Some("last words".into()));
            b.close();
            assert_eq!(a.receive().await, None);
            assert!(a.is_closed());
        }
    }
    // The resets of the last channels may be under way still.
    tokio::time::timeout(Duration::from_secs(20), async {
        loop {
            let (a, _b) = open(&near, &far, ChannelParameters::new("")).await;
            if a.id() == 0 {
                return;
            }
            tokio::task::yield_now().await;
        }
    })
    .await
    .unwrap();
    assert!(near.association().stats().outgoing_stream_resets > 0);
}

#[tokio::test]
async fn a_reader_that_is_slow_holds_the_sender_up_and_loses_nothing() {
    let (near, far) = pair(0).await;
    let (slow, reader) = open(&near, &far, ChannelParameters::new("slow")).await;
    let (other, other_reader) = open(&near, &far, ChannelParameters::new("other")).await;
    let sender = tokio::spawn(async move {
        for number in 0..=255_u8 {
            slow.send(vec![number; 100_000]).await.unwrap();
        }
        slow
    });
    let behind = tokio::spawn(async move {
        other.send("behind some of that").await.unwrap();
        other.close();
    });
    // Until the memory for messages is used up.
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert!(!sender.is_finished());
    for number in 0..=255_u8 {
        assert_eq!(reader.receive().await, Some(vec![number; 100_000].into()));
    }
    assert_eq!(other_reader.receive().await, Some("behind some of that".into()));
    assert_eq!(other_reader.receive().await, None);
    behind.await.unwrap();
    drop(sender.await.unwrap());
    assert_eq!(reader.receive().await, None);
}

#[tokio::test]
async fn channels_agreed_on_otherwise_need_no_handshake() {
    let (near, far) = pair(0).await;
    let parameters = ChannelParameters::new("control").unordered();
    let a = near.negotiated(9, parameters.clone()).unwrap();
    let b = far.negotiated(9, parameters.clone()).unwrap();
    assert!(a.confirmed().await);
    a.send("x").await.unwrap();
    assert_eq!(b.receive().await, Some("x".into()));
    let taken = near.negotiated(9, parameters).unwrap_err();
    assert_eq!(taken, ChannelError::Open(OpenError::StreamTaken(9)));
}

#[tokio::test]
async fn the_end_of_the_association_ends_its_channels() {
    let (near, far) = pair(0).await;
    let (a, b) = open(&near, &far, ChannelParameters::new("x")).await;
    a.send("last words").await.unwrap();
    near.association().sender_dry().await.unwrap();
    near.association().abort("enough");
    assert_eq!(b.receive().await, Some("last words".into()));
    assert_eq!(b.receive().await, None);
    assert_eq!(a.receive().await, None);
    assert!(far.accept().await.is_none());
    assert!(far.open(ChannelParameters::new("y")).await.is_err());
}

#[tokio::test]
async fn an_association_of_which_nobody_has_anything_shuts_down() {
    let (near, far) = pair(0).await;
    let (a, b) = open(&near, &far, ChannelParameters::new("x")).await;
    a.send("last words").await.unwrap();
    drop((a, near));
    assert_eq!(b.receive().await, Some("last words".into()));
    assert_eq!(b.receive().await, None);
    assert!(far.accept().await.is_none());
    assert_eq!(far.association().closed().await, Ok(()));
}

#[tokio::test]
async fn thousands_of_channels_are_open_at_once() {
    let (near, far) = pair(0).await;
    let opening = async {
        let mut channels = vec![];
        for number in 0..3000_u32 {
            let channel = near.open(ChannelParameters::new(number.to_string())).await.unwrap();
            channel.send(number.to_string()).await.unwrap();
            channels.push(channel);
        }
        channels
    };
    let accepting = async {
        let mut channels = vec![];
        for number in 0..3000_u32 {
            let channel = far.accept().await.unwrap();
            assert_eq!(channel.parameters().label, number.to_string());
            assert_eq!(channel.receive().await, Some(number.to_string().into()));
            channels.push(channel);
        }
        channels
    };
    let (a, b) = tokio::join!(opening, accepting);
    drop(b);
    for channel in a {
        assert_eq!(channel.receive().await, None);
    }
}

#[tokio::test]
async fn a_message_larger_than_the_receive_buffer_is_the_end() {
    let small = AssociationConfig { receive_buffer_bytes: 64 << 10, ..config(MTU) };
    let (near, far) = pair_with(0, small).await;
    let (a, b) = open(&near, &far, ChannelParameters::new("large")).await;
    a.send(Content::from(vec![7; 60_000])).await.unwrap();
    assert_eq!(b.receive().await, Some(vec![7; 60_000].into()));
    a.send(Content::from(vec![7; 200_000])).await.unwrap();
    assert_eq!(b.receive().await, None, "no part of it is handed over");
}
