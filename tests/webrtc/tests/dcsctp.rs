//! Data channels over DTLS, with dcSCTP, the SCTP stack of Chromium, at the other end (its version in Rust).

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::time::Instant;

use dcsctp::api::{
    DcSctpSocket, Message, Options, PpId, SendOptions, SocketEvent, SocketTime, StreamId,
    ZERO_CHECKSUM_ALTERNATE_ERROR_DETECTION_METHOD_LOWER_LAYER_DTLS,
};
use polypath::{AssociationError, ChannelLayer, LowerLayer};
use polypath_datachannel::dcep::{self, DcepMessage};
use polypath_datachannel::{ChannelParameters, Content, DataChannels, Reliability};
use polypath_webrtc::dtls::{self, Role};
use polypath_webrtc::{Begin, Lossy, SCTP_PORT, associate, channels, check, config};
use tokio::net::UdpSocket;
use tokio::task::JoinHandle;

/// What the peer saw.
#[derive(Debug, Default)]
struct Seen {
    zero_checksum: bool,
    interleaves: bool,
    resets: usize,
    restarts: usize,
}

/// A program over dcSCTP: it accepts every channel, sends every message back, and closes what its peer closes.
struct Echo {
    socket: Box<dyn DcSctpSocket>,
    layer: ChannelLayer,
    begun: Instant,
    channels: BTreeMap<u16, ChannelParameters>,
    /// Resets that must wait for the one before.
    closing: Vec<StreamId>,
    seen: Seen,
    /// Label of the channel that the program opens itself, on this stream.
    opens: Option<(u16, &'static str)>,
    /// How the peer has asked this program to end the association.
    end: Option<&'static str>,
}

/// Messages that tell the program to end the association.
const SHUT_DOWN: &str = "shut down";
const ABORT: &str = "abort";

impl Echo {
    fn new(
        layer: ChannelLayer,
        opens: Option<(u16, &'static str)>,
        interleaves: bool,
        begin: Begin,
    ) -> Self {
        let options = Options {
            local_port: SCTP_PORT,
            remote_port: SCTP_PORT,
            enable_message_interleaving: interleaves,
            zero_checksum_alternate_error_detection_method:
                ZERO_CHECKSUM_ALTERNATE_ERROR_DETECTION_METHOD_LOWER_LAYER_DTLS,
            ..Options::default()
        };
        let mut socket = dcsctp::new_socket("peer", &options);
        if begin != Begin::Ours {
            socket.connect();
        }
        Self {
            socket,
            layer,
            begun: Instant::now(),
            channels: BTreeMap::new(),
            closing: Vec::new(),
            seen: Seen::default(),
            opens,
            end: None,
        }
    }

    async fn run(mut self) -> Seen {
        loop {
            self.drain().await;
            let due = self.socket.poll_timeout();
            let wait = match due == SocketTime::infinite_future() {
                true => std::time::Duration::from_secs(3600),
                false => due - self.now(),
            };
            tokio::select! {
                packet = poll_fn(|cx| self.layer.poll_receive(cx)) => match packet {
                    Some(packet) => {
                        self.socket.advance_time(self.now());
                        self.socket.handle_input(&packet);
                    }
                    None => return self.seen,
                },
                () = tokio::time::sleep(wait) => self.socket.advance_time(self.now()),
            }
        }
    }

    fn now(&self) -> SocketTime {
        SocketTime::zero() + self.begun.elapsed()
    }

    async fn drain(&mut self) {
        loop {
            while let Some(message) = self.socket.get_next_message() {
                self.answer(message);
            }
            match self.socket.poll_event() {
                Some(SocketEvent::SendPacket(packet)) => {
                    poll_fn(|cx| self.layer.poll_ready(cx)).await;
                    self.layer.send(packet.into());
                }
                Some(SocketEvent::OnConnected()) => {
                    if let Some((stream, label)) = self.opens {
                        let parameters = ChannelParameters::new(label);
                        let open = DcepMessage::Open(parameters.clone()).encode().unwrap();
                        self.channels.insert(stream, parameters);
                        self.send(stream, dcep::PPID, open);
                        self.send(stream, 51, b"greeting".to_vec());
                    }
                }
                Some(SocketEvent::OnConnectionRestarted()) => self.seen.restarts += 1,
                Some(SocketEvent::OnIncomingStreamReset(streams)) => {
                    self.seen.resets += streams.len();
                    self.channels.retain(|stream, _| !streams.contains(&StreamId(*stream)));
                    self.socket.reset_streams(&streams).unwrap();
                }
                Some(SocketEvent::OnStreamsResetFailed(streams)) => self.closing.extend(streams),
                Some(SocketEvent::OnClosed() | SocketEvent::OnAborted(..))
                    if self.end.is_some() => {}
                Some(SocketEvent::OnAborted(kind, text)) => panic!("aborted: {kind:?} {text}"),
                Some(SocketEvent::OnError(kind, text)) => panic!("{kind:?}: {text}"),
                Some(_) => {}
                None => break,
            }
        }
        if let Some(metrics) = self.socket.get_metrics() {
            self.seen.zero_checksum |= metrics.uses_zero_checksum;
            self.seen.interleaves |= metrics.uses_message_interleaving;
        }
        if !self.closing.is_empty() {
            let streams = std::mem::take(&mut self.closing);
            self.socket.reset_streams(&streams).unwrap();
        }
    }

    fn answer(&mut self, message: Message) {
        let Message { stream_id: StreamId(stream), ppid: PpId(ppid), payload } = message;
        if payload == SHUT_DOWN.as_bytes() {
            self.end = Some(SHUT_DOWN);
            return self.socket.shutdown();
        }
        if payload == ABORT.as_bytes() {
            self.end = Some(ABORT);
            return self.socket.close();
        }
        if ppid != dcep::PPID {
            return self.send(stream, ppid, payload);
        }
        match DcepMessage::parse(&payload).unwrap() {
            DcepMessage::Open(parameters) => {
                let before = self.channels.insert(stream, parameters);
                assert_eq!(before, None, "the stream was free");
                self.send(stream, dcep::PPID, DcepMessage::Ack.encode().unwrap());
            }
            DcepMessage::Ack => {}
        }
    }

    fn send(&mut self, stream: u16, ppid: u32, payload: Vec<u8>) {
        let Some(parameters) = self.channels.get(&stream) else { return };
        let unordered = !parameters.ordered && ppid != dcep::PPID;
        let mut options = SendOptions { unordered, ..SendOptions::default() };
        if ppid != dcep::PPID {
            match parameters.reliability {
                Reliability::MaxRetransmissions(most) => {
                    options.max_retransmissions = Some(most as u16);
                }
                Reliability::MaxLifetimeMs(most) => {
                    options.lifetime = Some(std::time::Duration::from_millis(most.into()));
                }
                _ => {}
            }
        }
        self.socket.send(Message::new(StreamId(stream), PpId(ppid), payload), &options).unwrap();
    }
}

/// Two DTLS connections over the loopback interface, joined; the first one has this role.
async fn connect(role: Role) -> (ChannelLayer, ChannelLayer) {
    let here = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let there = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    here.connect(there.local_addr().unwrap()).await.unwrap();
    there.connect(here.local_addr().unwrap()).await.unwrap();
    let other = match role {
        Role::Client => Role::Server,
        Role::Server => Role::Client,
    };
    let certificates =
        [(); 2].map(|()| dimpl::certificate::generate_self_signed_certificate().unwrap());
    let fingerprints = certificates.each_ref().map(dimpl::DtlsCertificate::fingerprint_str);
    let [ours, theirs] = certificates;
    let (here, there) =
        tokio::try_join!(dtls::connect(here, role, ours), dtls::connect(there, other, theirs))
            .unwrap();
    assert_eq!([&there.peer_fingerprint, &here.peer_fingerprint], fingerprints.each_ref());
    (here.layer, there.layer)
}

/// Our channels, and the peer's program.
async fn start(
    role: Role,
    one_of: usize,
    opens: Option<(u16, &'static str)>,
    begin: Begin,
) -> (DataChannels, JoinHandle<Seen>) {
    let (ours, theirs) = connect(role).await;
    // It cannot move between threads.
    let peer = tokio::task::spawn_blocking(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime
            .block_on(async { Echo::new(theirs, opens, role == Role::Client, begin).run().await })
    });
    let association = associate(Lossy::new(ours, one_of), begin, config()).await.unwrap();
    (channels(association, role), peer)
}

fn kinds() -> Vec<ChannelParameters> {
    let new = ChannelParameters::new;
    vec![
        new("ordered").protocol("test"),
        new("unordered").unordered().priority(1024),
        new("limited").reliability(Reliability::MaxRetransmissions(1000)),
        new("timed").unordered().reliability(Reliability::MaxLifetimeMs(60_000)).priority(128),
    ]
}

/// Text and bytes, empty ones among them, up to 100 kB.
fn contents() -> Vec<Content> {
    let sizes = [0, 1, 3, 1000, 1100, 1200, 5000, 100_000];
    let of = |n: usize| {
        let size = sizes[n % sizes.len()];
        match n % 2 {
            0 => Content::from(vec![n as u8; size]),
            _ => Content::from("x".repeat(size)),
        }
    };
    (0..48).map(of).collect()
}

async fn echo_everything(channels: &DataChannels) {
    for parameters in kinds() {
        let is_ordered = parameters.ordered;
        let channel = channels.open(parameters).await.unwrap();
        assert!(channel.confirmed().await);
        let contents = contents();
        let send = async {
            for content in &contents {
                channel.send(content.clone()).await.unwrap();
            }
        };
        let receive = async {
            let mut echoes = vec![];
            for _ in &contents {
                echoes.push(channel.receive().await.unwrap());
            }
            echoes
        };
        let ((), mut echoes) = tokio::join!(send, receive);
        if is_ordered {
            assert_eq!(echoes, contents);
        } else {
            for content in &contents {
                let place = echoes.iter().position(|echo| echo == content).unwrap();
                echoes.swap_remove(place);
            }
        }
        channel.close();
    }
}

#[tokio::test]
async fn every_kind_of_channel_carries_messages_both_ways() {
    for (role, one_of) in
        [(Role::Client, 0), (Role::Server, 0), (Role::Client, 20), (Role::Server, 20)]
    {
        let (channels, peer) = start(role, one_of, None, Begin::Both).await;
        echo_everything(&channels).await;
        // Streams are used again once both sides have reset them.
        tokio::time::timeout(std::time::Duration::from_secs(30), async {
            let first = u16::from(role == Role::Server);
            while channels.open(ChannelParameters::new("again")).await.unwrap().id() != first {
                tokio::time::sleep(std::time::Duration::from_millis(20)).await;
            }
        })
        .await
        .unwrap();
        let stats = channels.association().stats();
        assert!(stats.zero_checksums_sent > 0 && stats.zero_checksums_received > 0);
        assert_eq!(stats.packets_discarded, 0);
        let association = channels.association().clone();
        drop(channels);
        association.shutdown().await.unwrap();
        drop(association);
        let seen = peer.await.unwrap();
        // The peer offers it in half of the runs.
        assert_eq!(seen.interleaves, role == Role::Client);
        assert!(seen.zero_checksum && seen.resets > 0 && seen.restarts == 0, "{seen:?}");
    }
}

#[tokio::test]
async fn either_side_begins_and_much_of_everything_comes_back() {
    for (begin, one_of) in [(Begin::Ours, 0), (Begin::Peer, 20), (Begin::Both, 20)] {
        let role = if begin == Begin::Peer { Role::Server } else { Role::Client };
        let (channels, peer) = start(role, one_of, None, begin).await;
        check::everything(&channels, one_of > 0).await.unwrap();
        let association = channels.association().clone();
        assert_eq!(association.interleaves_messages(), role == Role::Client);
        assert_eq!(association.stats().forward_tsns_received > 0, one_of > 0, "it abandons, too");
        drop(channels);
        association.shutdown().await.unwrap();
        drop(association);
        assert_eq!(peer.await.unwrap().restarts, 0);
    }
}

#[tokio::test]
async fn either_side_ends_the_association_with_and_without_order() {
    for told in [SHUT_DOWN, ABORT] {
        let (channels, peer) = start(Role::Client, 0, None, Begin::Both).await;
        let channel = channels.open(ChannelParameters::new("end")).await.unwrap();
        channel.send(told).await.unwrap();
        let end = channels.association().closed().await;
        assert_eq!(matches!(end, Ok(())), told == SHUT_DOWN, "{end:?}");
        let is_abort = matches!(end, Err(AssociationError::AbortedByPeer(_)));
        assert_eq!(is_abort, told == ABORT, "{end:?}");
        drop((channel, channels));
        peer.await.unwrap();
    }
    let (channels, peer) = start(Role::Client, 0, None, Begin::Both).await;
    let channel = channels.open(ChannelParameters::new("end")).await.unwrap();
    channel.send("something").await.unwrap();
    assert_eq!(channel.receive().await, Some("something".into()));
    channels.association().abort("enough");
    drop((channel, channels));
    let failure = peer.await.unwrap_err().into_panic();
    let failure = failure.downcast_ref::<String>().cloned().unwrap_or_default();
    assert!(failure.contains("aborted") && failure.contains("enough"), "{failure}");
}

#[tokio::test]
async fn a_channel_of_the_peer_is_accepted() {
    for role in [Role::Client, Role::Server] {
        // The peer has the other role.
        let stream = 100 + u16::from(role == Role::Client);
        let (channels, _peer) = start(role, 0, Some((stream, "theirs")), Begin::Both).await;
        let channel = channels.accept().await.unwrap();
        assert_eq!((channel.id(), &channel.parameters().label[..]), (stream, "theirs"));
        assert_eq!(channel.receive().await, Some("greeting".into()));
        channel.send("answer").await.unwrap();
        assert_eq!(channel.receive().await, Some("answer".into()), "it sends everything back");
    }
}
