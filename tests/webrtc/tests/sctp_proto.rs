//! sctp-proto, the SCTP stack of str0m, in UDP: set-up in both roles, order, streams, large messages, partial reliability under loss,
//! resets and both kinds of end.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use polypath::config::{Preset, StreamReconfiguration};
use polypath::{
    Association, AssociationConfig, Delivery, Endpoint, EndpointConfig, Event, Message, Peer,
};
use sctp_proto::{
    ClientConfig, DatagramEvent, Event as PeerEvent, Payload, ReliabilityType, ServerConfig,
    StreamEvent, TransportConfig,
};
use tokio::net::UdpSocket;
use tokio::task::JoinHandle;

const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
const PORT: u16 = 5000;
const LARGEST: u32 = 256 << 10;
/// After so long a silence the program ends. Where SHUTDOWN COMPLETE was lost, a repeated SHUTDOWN ACK is answered with a reflected
/// tag (RFC 9260 section 8.5.1 C), which sctp-proto 0.10.8 ignores.
const SILENCE: Duration = Duration::from_secs(5);

/// What the peer's program does.
#[derive(Clone, Copy, Default)]
struct Plan {
    /// Drops one packet of so many in each direction; none with 0.
    one_of: usize,
    /// Sends every message back.
    echoes: bool,
    /// Begins the association, with this UDP port of ours.
    connects: Option<u16>,
    /// Ends the association after so many messages.
    ends_after: Option<(usize, End)>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Shutdown,
    Abort,
}

/// What it saw.
#[derive(Debug, Default)]
struct Seen {
    messages: usize,
    bytes: usize,
    /// Numbers at the beginning of ordered messages, by stream.
    numbers: BTreeMap<u16, Vec<u32>>,
    finished: usize,
}

/// A program over sctp-proto.
struct Program {
    socket: UdpSocket,
    endpoint: sctp_proto::Endpoint,
    association: Option<(sctp_proto::AssociationHandle, sctp_proto::Association)>,
    plan: Plan,
    packets: usize,
    seen: Seen,
    /// Before, an association is closed, too.
    is_connected: bool,
    is_over: bool,
}

impl Program {
    fn new(socket: UdpSocket, plan: Plan) -> Self {
        let transport = TransportConfig::default()
            .with_max_send_message_size(LARGEST)
            .with_max_receive_message_size(LARGEST);
        let transport = Arc::new(transport);
        let mut server = ServerConfig::new();
        server.transport = Arc::clone(&transport);
        let mut endpoint = sctp_proto::Endpoint::new(Arc::default(), Some(Arc::new(server)));
        let mut client = ClientConfig::new();
        client.transport = transport;
        let association = plan.connects.map(|port| {
            endpoint.connect(client, SocketAddr::new(HERE, port)).expect("a client can begin")
        });
        let seen = Seen::default();
        Self {
            socket,
            endpoint,
            association,
            plan,
            packets: 0,
            seen,
            is_connected: false,
            is_over: false,
        }
    }

    async fn run(mut self) -> Seen {
        let mut buffer = vec![0; 65_536];
        let mut heard = Instant::now();
        loop {
            self.drain().await;
            if self.is_over || heard.elapsed() >= SILENCE {
                return self.seen;
            }
            let due = self.association.as_ref().and_then(|(_, it)| it.poll_timeout());
            let wait = due.map_or(SILENCE, |due| due.saturating_duration_since(Instant::now()));
            tokio::select! {
                received = self.socket.recv_from(&mut buffer) => {
                    let (len, from) = received.unwrap();
                    heard = Instant::now();
                    if !self.is_lost() {
                        self.handle(Bytes::copy_from_slice(&buffer[..len]), from);
                    }
                }
                () = tokio::time::sleep(wait) => {
                    if let Some((_, association)) = &mut self.association {
                        association.handle_timeout(Instant::now());
                    }
                }
            }
        }
    }

    fn is_lost(&mut self) -> bool {
        self.packets += 1;
        self.plan.one_of > 0 && self.packets.is_multiple_of(self.plan.one_of)
    }

    fn handle(&mut self, packet: Bytes, from: SocketAddr) {
        match self.endpoint.handle(Instant::now(), from, None, None, packet) {
            Some((handle, DatagramEvent::NewAssociation(association))) => {
                self.association = Some((handle, association));
            }
            Some((_, DatagramEvent::AssociationEvent(event))) => {
                if let Some((_, association)) = &mut self.association {
                    association.handle_event(event);
                }
            }
            None => {}
        }
    }

    async fn drain(&mut self) {
        while let Some(transmit) = self.endpoint.poll_transmit() {
            self.send(transmit).await;
        }
        let Some((handle, mut association)) = self.association.take() else { return };
        loop {
            let mut is_dry = true;
            while let Some(event) = association.poll() {
                is_dry = false;
                self.on_event(&mut association, event);
            }
            while let Some(transmit) = association.poll_transmit(Instant::now()) {
                is_dry = false;
                self.send(transmit).await;
            }
            while let Some(event) = association.poll_endpoint_event() {
                is_dry = false;
                if let Some(event) = self.endpoint.handle_event(handle, event) {
                    association.handle_event(event);
                }
            }
            if is_dry {
                break;
            }
        }
        self.is_over |= self.is_connected && association.is_closed();
        self.association = Some((handle, association));
    }

    fn on_event(&mut self, association: &mut sctp_proto::Association, event: PeerEvent) {
        match event {
            PeerEvent::Stream(StreamEvent::Readable { id }) => self.read(association, id),
            PeerEvent::Stream(StreamEvent::Finished { .. }) => self.seen.finished += 1,
            PeerEvent::Connected => self.is_connected = true,
            PeerEvent::AssociationLost { .. } => self.is_over = true,
            PeerEvent::HandshakeFailed { reason } => panic!("{reason}"),
            _ => while association.accept_stream().is_some() {},
        }
    }

    fn read(&mut self, association: &mut sctp_proto::Association, id: u16) {
        loop {
            let Ok(mut stream) = association.stream(id) else { return };
            let Ok(Some(chunks)) = stream.read_sctp() else { return };
            let (ppid, mut bytes) = (chunks.ppi, vec![0; chunks.len()]);
            chunks.read(&mut bytes).unwrap();
            self.seen.messages += 1;
            self.seen.bytes += bytes.len();
            self.seen.numbers.entry(id).or_default().push(number(&bytes));
            if self.plan.echoes {
                stream.set_reliability_params(false, ReliabilityType::Reliable, 0).unwrap();
                stream.write_with_ppi(&bytes, ppid).unwrap();
            }
            match self.plan.ends_after {
                Some((after, End::Shutdown)) if after == self.seen.messages => {
                    association.shutdown().unwrap();
                }
                Some((after, End::Abort)) if after == self.seen.messages => {
                    association.close().unwrap();
                }
                _ => {}
            }
        }
    }

    async fn send(&mut self, transmit: sctp_proto::Transmit) {
        let Payload::RawEncode(packets) = transmit.payload else { return };
        for packet in packets {
            if !self.is_lost() {
                self.socket.send_to(&packet, transmit.remote).await.unwrap();
            }
        }
    }
}

fn number(bytes: &[u8]) -> u32 {
    bytes.first_chunk().copied().map_or(0, u32::from_be_bytes)
}

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
async fn start(mut plan: Plan, peer_begins: bool) -> (Endpoint, Association, JoinHandle<Seen>) {
    let socket = UdpSocket::bind((HERE, 0)).await.unwrap();
    let peer_port = socket.local_addr().unwrap().port();
    let builder = Endpoint::builder([HERE]).encapsulation_port(0);
    if !peer_begins {
        let program = tokio::spawn(Program::new(socket, plan).run());
        let endpoint = builder.bind().unwrap();
        let peer = Peer::new([HERE], PORT).encapsulation_port(peer_port);
        let association = endpoint.connect(&peer, config()).await.unwrap();
        return (endpoint, association, program);
    }
    let config = EndpointConfig { association: config(), ..EndpointConfig::default() };
    let endpoint = builder.port(PORT).listen(1).config(config).bind().unwrap();
    plan.connects = Some(endpoint.encapsulation_port());
    let program = tokio::spawn(Program::new(socket, plan).run());
    let association = endpoint.accept().await.unwrap();
    (endpoint, association, program)
}

async fn in_time<T>(what: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(60), what).await.expect("in time")
}

#[tokio::test]
async fn messages_come_back_on_200_streams_whoever_begins() {
    for peer_begins in [false, true] {
        let plan = Plan { echoes: true, ..Plan::default() };
        let (_endpoint, association, program) = start(plan, peer_begins).await;
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

#[tokio::test]
async fn messages_of_256_kib_come_back_over_a_lossy_link() {
    let plan = Plan { echoes: true, one_of: 50, ..Plan::default() };
    let (_endpoint, association, program) = start(plan, false).await;
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

#[tokio::test]
async fn what_is_lost_may_be_abandoned_with_and_without_order() {
    const MESSAGES: u32 = 1000;
    for unordered in [false, true] {
        let plan = Plan { one_of: 20, ..Plan::default() };
        let (_endpoint, association, program) = start(plan, false).await;
        let abandoned = in_time(async {
            for n in 0..MESSAGES {
                let message = numbered(n as u16 % 4, n, 1000).max_retransmissions(0);
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

#[tokio::test]
async fn streams_are_reset() {
    let plan = Plan { echoes: true, ..Plan::default() };
    let (_endpoint, association, program) = start(plan, false).await;
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

#[tokio::test]
async fn the_peer_ends_the_association() {
    for end in [End::Shutdown, End::Abort] {
        let plan = Plan { ends_after: Some((5, end)), ..Plan::default() };
        let (_endpoint, association, program) = start(plan, true).await;
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
