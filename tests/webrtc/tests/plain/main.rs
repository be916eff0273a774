//! SCTP stacks of others in UDP, without DTLS: set-up in both roles, order, streams, large messages, partial reliability under loss,
//! resets and both kinds of end.

mod program;
mod rtc_sctp;
mod sctp_proto;

use std::time::Duration;

use polypath::config::{Preset, StreamReconfiguration};
use polypath::{
    Association, AssociationConfig, Delivery, Endpoint, EndpointConfig, Event, Message, Peer,
};
use tokio::net::UdpSocket;
use tokio::task::JoinHandle;

use program::{End, HERE, LARGEST, Plan, Program, Seen, Stack, number};
use rtc_sctp::RtcSctp;
use sctp_proto::SctpProto;

const PORT: u16 = 5000;

/// A message that begins with a number.
fn numbered(stream: u16, number: u32, len: usize) -> Message {
    let mut bytes = vec![number as u8; len.max(4)];
    bytes[..4].copy_from_slice(&number.to_be_bytes());
    Message::new(stream, bytes).ppid(53)
}

fn config() -> AssociationConfig {
    let mut config = AssociationConfig::with_preset(Preset::Recommended);
    config.policies.stream_reconfiguration = StreamReconfiguration::On;
    (config.outbound_streams, config.max_inbound_streams) = (256, 256);
    config
}

/// An association with the peer's program, which runs.
async fn start<S: Stack>(
    mut plan: Plan,
    peer_begins: bool,
) -> (Endpoint, Association, JoinHandle<Seen>) {
    let socket = UdpSocket::bind((HERE, 0)).await.unwrap();
    let peer_port = socket.local_addr().unwrap().port();
    let builder = Endpoint::builder([HERE]).encapsulation_port(0);
    if !peer_begins {
        let program = tokio::spawn(Program::<S>::new(socket, plan).run());
        let endpoint = builder.bind().unwrap();
        let peer = Peer::new([HERE], PORT).encapsulation_port(peer_port);
        let association = endpoint.connect(&peer, config()).await.unwrap();
        return (endpoint, association, program);
    }
    let config = EndpointConfig { association: config(), ..EndpointConfig::default() };
    let endpoint = builder.port(PORT).listen(1).config(config).bind().unwrap();
    plan.connects = Some(endpoint.encapsulation_port());
    let program = tokio::spawn(Program::<S>::new(socket, plan).run());
    let association = endpoint.accept().await.unwrap();
    (endpoint, association, program)
}

async fn in_time<T>(what: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(60), what).await.expect("in time")
}

async fn messages_come_back_on_200_streams_whoever_begins<S: Stack>() {
    for peer_begins in [false, true] {
        let plan = Plan { echoes: true, ..Plan::default() };
        let (_endpoint, association, program) = start::<S>(plan, peer_begins).await;
        in_time(async {
            for stream in 0..200 {
                for n in 0..3 {
                    association.send(numbered(stream, n, 700 * n as usize)).await.unwrap();
                }
            }
            let mut next = [0; 200];
            for _ in 0..600 {
                let message = association.receive().await.unwrap().unwrap();
                let stream = usize::from(message.stream());
                assert_eq!((message.ppid(), message.delivery()), (53, Delivery::Ordered));
                assert_eq!(number(&message.into_bytes()), next[stream], "in order");
                next[stream] += 1;
            }
            association.shutdown().await.unwrap();
        })
        .await;
        let seen = in_time(program).await.unwrap();
        assert_eq!(seen.messages, 600);
        assert!(seen.numbers.values().all(|numbers| numbers == &[0, 1, 2]));
    }
}

async fn messages_of_256_kib_come_back_over_a_lossy_link<S: Stack>() {
    let plan = Plan { echoes: true, one_of: 50, ..Plan::default() };
    let (_endpoint, association, program) = start::<S>(plan, false).await;
    in_time(async {
        for n in 0..4 {
            let sent = numbered(7, n, LARGEST as usize);
            association.send(sent).await.unwrap();
            let message = association.receive().await.unwrap().unwrap().into_bytes();
            assert_eq!(message.len(), LARGEST as usize);
            assert!(message[4..].iter().all(|byte| u32::from(*byte) == n));
        }
        association.shutdown().await.unwrap();
    })
    .await;
    assert_eq!(in_time(program).await.unwrap().messages, 4);
}

#[derive(Clone, Copy)]
enum Limit {
    Retransmissions,
    Lifetime,
}

async fn what_is_lost_may_be_abandoned_with_and_without_order<S: Stack>() {
    const MESSAGES: u32 = 1000;
    for (unordered, limit) in
        [(false, Limit::Retransmissions), (true, Limit::Retransmissions), (false, Limit::Lifetime)]
    {
        let plan = Plan { one_of: 20, ..Plan::default() };
        let (_endpoint, association, program) = start::<S>(plan, false).await;
        let abandoned = in_time(async {
            for n in 0..MESSAGES {
                let message = numbered(n as u16 % 4, n, 1000);
                let message = match limit {
                    Limit::Retransmissions => message.max_retransmissions(0),
                    Limit::Lifetime => message.lifetime(Duration::from_millis(1)),
                };
                let message = if unordered { message.unordered() } else { message };
                association.send(message).await.unwrap();
            }
            association.shutdown().await.unwrap();
            let all = association.stats().abandoned.all();
            (all.sent + all.unsent) as usize
        })
        .await;
        let seen = in_time(program).await.unwrap();
        assert!(abandoned > 0, "one of twenty is lost");
        assert!(seen.messages + abandoned >= MESSAGES as usize, "{} {abandoned}", seen.messages);
        assert!(seen.messages <= MESSAGES as usize);
        if !unordered {
            assert!(seen.numbers.values().all(|numbers| numbers.is_sorted()));
        }
    }
}

async fn streams_are_reset<S: Stack>() {
    let plan = Plan { echoes: true, ..Plan::default() };
    let (_endpoint, association, program) = start::<S>(plan, false).await;
    let mut events = association.events();
    in_time(async {
        association.send(numbered(3, 1, 10)).await.unwrap();
        association.receive().await.unwrap().unwrap();
        association.reset_outgoing_streams(&[3]).unwrap();
        loop {
            if let Event::OutgoingStreamsReset { .. } = events.next().await.unwrap() {
                break;
            }
        }
        association.send(numbered(3, 2, 10)).await.unwrap();
        let message = association.receive().await.unwrap().unwrap();
        assert_eq!(number(&message.into_bytes()), 2);
        association.shutdown().await.unwrap();
    })
    .await;
    let seen = in_time(program).await.unwrap();
    assert_eq!((seen.messages, seen.finished > 0), (2, true));
}

async fn the_peer_ends_the_association<S: Stack>() {
    for end in [End::Shutdown, End::Abort] {
        let plan = Plan { ends_after: Some((5, end)), ..Plan::default() };
        let (_endpoint, association, program) = start::<S>(plan, true).await;
        let outcome = in_time(async {
            for n in 0..5 {
                association.send(numbered(0, n, 100)).await.unwrap();
            }
            association.receive().await
        })
        .await;
        match end {
            End::Shutdown => {
                assert!(matches!(outcome, Ok(None)), "{outcome:?}");
                program.abort();
            }
            // Without an ABORT: its port is closed.
            End::Abort => {
                assert!(outcome.is_err(), "{outcome:?}");
                assert_eq!(in_time(program).await.unwrap().messages, 5);
            }
        }
    }
}

async fn we_abort_the_association<S: Stack>() {
    let plan = Plan { echoes: true, ..Plan::default() };
    let (_endpoint, association, program) = start::<S>(plan, false).await;
    in_time(async {
        association.send(numbered(0, 1, 100)).await.unwrap();
        association.receive().await.unwrap().unwrap();
    })
    .await;
    association.abort("enough");
    let seen = in_time(program).await.unwrap();
    // rtc-sctp reports the ABORT as it does the reset of a stream.
    assert_eq!((seen.messages, seen.is_lost || seen.finished > 0), (1, true));
}

macro_rules! tests_of {
    ($module:ident, $stack:ident: $($test:ident),+ $(,)?) => {
        mod $module {
            $(
                #[tokio::test]
                async fn $test() {
                    super::$test::<super::$stack>().await;
                }
            )+
        }
    };
}

tests_of! {
    with_sctp_proto, SctpProto:
    messages_come_back_on_200_streams_whoever_begins,
    messages_of_256_kib_come_back_over_a_lossy_link,
    what_is_lost_may_be_abandoned_with_and_without_order,
    streams_are_reset,
    the_peer_ends_the_association,
    we_abort_the_association,
}

tests_of! {
    with_rtc_sctp, RtcSctp:
    messages_come_back_on_200_streams_whoever_begins,
    messages_of_256_kib_come_back_over_a_lossy_link,
    what_is_lost_may_be_abandoned_with_and_without_order,
    streams_are_reset,
    the_peer_ends_the_association,
    we_abort_the_association,
}
