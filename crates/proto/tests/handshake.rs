//! Handshakes of two hosts with an attacker, or an accident, in between (RFC 9260 section 5, RFC 5062).

use std::net::IpAddr;

use polypath_proto::config::{AssociationConfig, EndpointConfig, Preset};
use polypath_proto::{
    AssociationEnd, Body, DropReason, Duration, Ecn, Encapsulation, Event, Instant,
    OutgoingMessage, Received, Transmit,
};
use polypath_testkit::Host;
use polypath_wire::{
    Abort, Cause, Causes, Chunk, Cwr, Data, DataFlags, Init, Packet, Parameter, Parameters,
    Payload, Raw, U16List,
};

const CLIENT_PORT: u16 = 4000;
const SERVER_PORT: u16 = 5001;

/// One INIT at a time, which these tests follow.
fn config() -> AssociationConfig {
    AssociationConfig::with_preset(Preset::Cmt)
}

fn client_address(n: u8) -> IpAddr {
    IpAddr::from([10, 0, n, 1])
}

fn server_address(n: u8) -> IpAddr {
    IpAddr::from([10, 0, n, 2])
}

/// A packet on its way; the addresses are those that its receiver sees.
#[derive(Clone, Debug)]
struct Flying {
    local: IpAddr,
    remote: IpAddr,
    encapsulation: Encapsulation,
    packet: Packet<'static>,
}

impl From<Transmit> for Flying {
    fn from(transmit: Transmit) -> Self {
        Self {
            local: transmit.remote,
            remote: transmit.local,
            encapsulation: transmit.encapsulation,
            packet: transmit.packet,
        }
    }
}

impl Flying {
    fn with_chunk(&self, chunk: Chunk<'static>) -> Self {
        let mut other = self.clone();
        other.packet.chunks = [chunk].into_iter().collect();
        other
    }

    fn init(&self) -> Init<'static> {
        match &self.packet.chunks[0] {
            Chunk::Init(init) | Chunk::InitAck(init) => init.clone(),
            other => panic!("INIT or INIT ACK was expected, not {other:?}"),
        }
    }
}

/// Two dual-homed hosts whose packets go through our hands.
struct Lab {
    now: Instant,
    client: Host,
    server: Host,
}

impl Lab {
    fn new() -> Self {
        let now = Instant::from_nanos(1_000_000);
        let listening =
            EndpointConfig { listening: true, association: config(), ..Default::default() };
        let addresses = [server_address(0), server_address(1)];
        let server = Host::new(2, listening, SERVER_PORT, &addresses, now);
        Self { now, client: Self::new_client(1, now), server }
    }

    fn new_client(seed: u64, now: Instant) -> Host {
        let addresses = [client_address(0), client_address(1)];
        Host::new(seed, EndpointConfig::default(), CLIENT_PORT, &addresses, now)
    }

    fn established() -> Self {
        let mut lab = Self::new();
        lab.connect();
        lab.settle();
        lab.later(Duration::from_secs(5));
        assert!(lab.client.slots[0].association.is_established());
        assert!(lab.server.slots[0].association.is_established());
        lab
    }

    /// The client's INIT.
    fn connect(&mut self) {
        let peer = [server_address(0), server_address(1)];
        self.client.connect(self.now, config(), SERVER_PORT, &peer).unwrap();
    }

    /// What the client sends.
    fn client_sends(&mut self) -> Vec<Flying> {
        self.client.take_output().into_iter().map(Flying::from).collect()
    }

    fn server_sends(&mut self) -> Vec<Flying> {
        self.server.take_output().into_iter().map(Flying::from).collect()
    }

    fn server_gets(&mut self, flying: &Flying) {
        deliver(&mut self.server, self.now, flying);
    }

    fn client_gets(&mut self, flying: &Flying) {
        deliver(&mut self.client, self.now, flying);
    }

    /// Lets all packets through until nobody has anything to say.
    fn settle(&mut self) {
        for _ in 0..1000 {
            let (to_server, to_client) = (self.client_sends(), self.server_sends());
            if to_server.is_empty() && to_client.is_empty() {
                return;
            }
            to_server.iter().for_each(|flying| self.server_gets(flying));
            to_client.iter().for_each(|flying| self.client_gets(flying));
        }
        panic!("the hosts do not stop talking");
    }

    /// Lets time pass, timers run and packets through.
    fn later(&mut self, span: Duration) {
        let end = self.now + span;
        loop {
            let next =
                [&self.client, &self.server].into_iter().filter_map(Host::next_timeout).min();
            match next.filter(|at| *at <= end) {
                Some(at) => self.now = self.now.max(at),
                None => break,
            }
            self.client.handle_timeout(self.now);
            self.server.handle_timeout(self.now);
            self.settle();
        }
        self.now = end;
    }

    /// Runs the handshake up to the INIT ACK, which does not arrive yet.
    fn up_to_init_ack(&mut self) -> Flying {
        self.connect();
        let init = only(self.client_sends());
        self.server_gets(&init);
        only(self.server_sends())
    }

    /// Runs the handshake up to the COOKIE ECHO, which does not arrive yet.
    fn up_to_cookie_echo(&mut self) -> Flying {
        let init_ack = self.up_to_init_ack();
        self.client_gets(&init_ack);
        only(self.client_sends())
    }

    /// Sends messages both ways and checks that they arrive.
    fn assert_working(&mut self) {
        for from_client in [true, false] {
            let (sender, receiver) = match from_client {
                true => (&mut self.client, &mut self.server),
                false => (&mut self.server, &mut self.client),
            };
            let slot = receiver.slots.len() - 1;
            receiver.slots[slot].messages.clear();
            let message = OutgoingMessage::new(0, vec![7; 5000]);
            sender.send(self.now, sender.slots.len() - 1, message).unwrap();
            self.settle();
            self.later(Duration::from_secs(2));
            let receiver = if from_client { &mut self.server } else { &mut self.client };
            let messages = &mut receiver.slots[slot].messages;
            assert_eq!(messages.len(), 1);
            assert_eq!(messages.remove(0).into_bytes(), vec![7; 5000]);
        }
    }
}

fn deliver(host: &mut Host, now: Instant, flying: &Flying) {
    let Flying { local, remote, encapsulation, ref packet } = *flying;
    let body = Body::Structured(packet);
    host.receive(now, &Received { local, remote, encapsulation, ecn: Ecn::NotEct, body });
}

fn only(packets: Vec<Flying>) -> Flying {
    assert_eq!(packets.len(), 1, "{packets:?}");
    packets.into_iter().next().unwrap()
}

fn data(tsn: u32, content: &'static [u8]) -> Chunk<'static> {
    Chunk::Data(Data {
        flags: DataFlags::BEGIN | DataFlags::END,
        tsn,
        stream: 0,
        ssn: 0,
        ppid: 0,
        payload: Payload::Shared(content.into()),
    })
}

#[test]
fn the_server_keeps_nothing_until_the_cookie_returns() {
    let mut lab = Lab::new();
    let init_ack = lab.up_to_init_ack();
    assert_eq!(lab.server.endpoint.association_count(), 0);
    lab.client_gets(&init_ack);
    let echo = only(lab.client_sends());
    assert_eq!(echo.packet.verification_tag, init_ack.init().initiate_tag);
    assert!(matches!(echo.packet.chunks[0], Chunk::CookieEcho(_)));
    lab.server_gets(&echo);
    assert_eq!(lab.server.endpoint.association_count(), 1);
    let answers = lab.server_sends();
    assert!(matches!(answers[0].packet.chunks[0], Chunk::CookieAck));
    answers.iter().for_each(|answer| lab.client_gets(answer));
    lab.settle();
    lab.assert_working();
}

#[test]
fn data_may_follow_the_cookie_in_its_packet() {
    let mut lab = Lab::new();
    lab.connect();
    let init = only(lab.client_sends());
    lab.server_gets(&init);
    let init_ack = only(lab.server_sends());
    lab.client_gets(&init_ack);
    let mut echo = only(lab.client_sends());
    echo.packet.chunks.push(data(init.init().initial_tsn, b"early"));
    lab.server_gets(&echo);
    assert_eq!(lab.server.slots[0].messages.len(), 1);
    let first = &lab.server_sends()[0].packet.chunks;
    assert!(matches!(first[0], Chunk::CookieAck));
    // A repeated COOKIE ECHO delivers nothing twice, but what is new in its packet.
    let next = init.init().initial_tsn.wrapping_add(1);
    let Chunk::Data(more) = data(next, b"more") else { unreachable!() };
    echo.packet.chunks.push(Chunk::Data(Data { ssn: 1, ..more }));
    lab.server_gets(&echo);
    assert_eq!(lab.server.slots.len(), 1);
    let messages = lab.server.slots[0].messages.drain(..);
    let contents: Vec<_> = messages.map(|message| message.into_bytes()).collect();
    assert_eq!(contents, [&b"early"[..], b"more"]);
}

#[test]
fn a_replayed_cookie_makes_no_association_and_no_noise() {
    let mut lab = Lab::new();
    let echo = lab.up_to_cookie_echo();
    lab.server_gets(&echo);
    lab.settle();
    lab.later(Duration::from_secs(5));
    let events = lab.server.slots[0].events.len();
    for source in [0, 1] {
        for _ in 0..500 {
            let replay = Flying { remote: client_address(source), ..echo.clone() };
            lab.server_gets(&replay);
            let answer = only(lab.server_sends());
            let chunks: Vec<_> = answer.packet.chunks.iter().collect();
            assert_eq!(chunks, [&Chunk::CookieAck]);
        }
    }
    assert_eq!(lab.server.endpoint.association_count(), 1);
    assert_eq!(lab.server.slots[0].events.len(), events);
    lab.assert_working();
}

#[test]
fn a_forged_cookie_makes_no_association() {
    let mut lab = Lab::new();
    let echo = lab.up_to_cookie_echo();
    let Chunk::CookieEcho(Raw::Shared(cookie)) = &echo.packet.chunks[0] else { panic!() };
    for bit in 0..cookie.len() * 8 {
        let mut forged = cookie.to_vec();
        forged[bit / 8] ^= 1 << (bit % 8);
        lab.server_gets(&echo.with_chunk(Chunk::CookieEcho(Raw::Shared(forged.into()))));
    }
    for len in 0..cookie.len() {
        lab.server_gets(&echo.with_chunk(Chunk::CookieEcho(Raw::Shared(cookie.slice(..len)))));
    }
    assert!(lab.server_sends().is_empty());
    assert!(lab.server.drops.iter().all(|reason| *reason == DropReason::InvalidCookie));
    assert_eq!(lab.server.drops.len(), cookie.len() * 9);
    assert_eq!(lab.server.endpoint.association_count(), 0);
    lab.server_gets(&echo);
    assert_eq!(lab.server.endpoint.association_count(), 1);
}

#[test]
fn cookie_ack_to_an_unconfirmed_address_carries_a_heartbeat() {
    let mut lab = Lab::new();
    let echo = lab.up_to_cookie_echo();
    // The client uses another of its addresses, as it does when the first try was lost.
    lab.server_gets(&Flying { local: server_address(1), remote: client_address(1), ..echo });
    let answers = lab.server_sends();
    let chunks = &answers[0].packet.chunks;
    assert_eq!(answers[0].local, client_address(1));
    assert!(matches!(chunks[..], [Chunk::CookieAck, Chunk::Heartbeat(_)]), "{chunks:?}");
    answers.iter().for_each(|answer| lab.client_gets(answer));
    lab.settle();
    lab.later(Duration::from_secs(5));
    lab.assert_working();
}

#[test]
fn an_expired_cookie_begins_the_handshake_anew() {
    let mut lab = Lab::new();
    let echo = lab.up_to_cookie_echo();
    lab.now += Duration::from_millis(60_250);
    lab.server_gets(&echo);
    assert_eq!(lab.server.endpoint.association_count(), 0);
    let error = only(lab.server_sends());
    let causes = Causes::build([Cause::StaleCookie { staleness_us: 250_000 }]);
    assert_eq!(error.packet.chunks[..], [Chunk::Error(causes)]);
    lab.client_gets(&error);
    let init = only(lab.client_sends());
    let wish = init.init().parameters.iter().any(|p| matches!(p, Parameter::CookiePreservative(_)));
    assert!(wish, "{init:?}");
    lab.server_gets(&init);
    lab.settle();
    lab.assert_working();
}

/// Makes an INIT ACK unacceptable.
type Spoil = fn(&mut Init<'static>);

#[test]
fn an_init_ack_that_cannot_be_accepted_ends_the_attempt() {
    let missing = U16List::Numbers(&[7]);
    let host_name = Parameters::build([Parameter::HostName(b"host\0")]);
    let cases: [(Spoil, Causes<'static>); 4] = [
        (|init| init.outbound_streams = 0, Causes::build([Cause::InvalidParameter])),
        (|init| init.inbound_streams = 0, Causes::build([Cause::InvalidParameter])),
        (
            |init| init.parameters = Parameters::empty(),
            Causes::build([Cause::MissingParameters(missing)]),
        ),
        (
            |init| init.parameters = Parameters::build([Parameter::HostName(b"host\0")]),
            Causes::build([Cause::UnresolvableAddress(host_name.as_slice())]),
        ),
    ];
    for (spoil, causes) in cases {
        let mut lab = Lab::new();
        let init_ack = lab.up_to_init_ack();
        let mut init = init_ack.init();
        spoil(&mut init);
        lab.client_gets(&init_ack.with_chunk(Chunk::InitAck(init.clone())));
        let refusal = only(lab.client_sends());
        assert_eq!(refusal.packet.verification_tag, init.initiate_tag);
        let end = AssociationEnd::HandshakeRefused(causes.as_slice().into());
        assert_eq!(
            refusal.packet.chunks[..],
            [Chunk::Abort(Abort { reflected_tag: false, causes })]
        );
        assert_eq!(lab.client.slots[0].events, [Event::Ended(end)]);
        assert_eq!(lab.client.endpoint.association_count(), 0);
    }
}

/// RFC 9260 section 3.3.3.
#[test]
fn an_init_ack_with_too_small_a_window_is_answered_and_changes_nothing() {
    let mut lab = Lab::new();
    let init_ack = lab.up_to_init_ack();
    let small = Init { a_rwnd: 1499, ..init_ack.init() };
    lab.client_gets(&init_ack.with_chunk(Chunk::InitAck(small)));
    let refusal = only(lab.client_sends());
    assert_eq!(refusal.packet.verification_tag, init_ack.init().initiate_tag);
    let causes = Causes::build([Cause::InvalidParameter]);
    assert_eq!(refusal.packet.chunks[..], [Chunk::Abort(Abort { reflected_tag: false, causes })]);
    assert_eq!(refusal.local, init_ack.remote);
    assert!(lab.client.slots[0].events.is_empty());
    lab.client_gets(&init_ack);
    lab.settle();
    lab.assert_working();
}

#[test]
fn what_an_init_ack_holds_beyond_our_knowledge_is_reported_with_the_cookie() {
    let mut lab = Lab::new();
    let init_ack = lab.up_to_init_ack();
    let unknown = Parameter::Unknown { parameter_type: 0xCF00, value: b"new" };
    let mut init = init_ack.init();
    let old = init.parameters.clone();
    init.parameters = Parameters::build(old.iter().chain([unknown.clone()]));
    lab.client_gets(&init_ack.with_chunk(Chunk::InitAck(init)));
    let echo = only(lab.client_sends());
    let quoted = Parameters::build([unknown]);
    let causes = Causes::build([Cause::UnrecognizedParameters(quoted.as_slice())]);
    assert!(matches!(echo.packet.chunks[0], Chunk::CookieEcho(_)));
    assert_eq!(echo.packet.chunks[1..], [Chunk::Error(causes)]);
    lab.server_gets(&echo);
    lab.settle();
    lab.assert_working();
}

#[test]
fn handshake_chunks_mean_nothing_at_the_wrong_time() {
    let mut lab = Lab::new();
    let init_ack = lab.up_to_init_ack();
    let cookie_ack = init_ack.with_chunk(Chunk::CookieAck);
    let to_client = |lab: &Lab, flying: &Flying| {
        let tag = lab.client.slots[0].association.identity().local_tag;
        let mut flying = flying.clone();
        flying.packet.verification_tag = tag;
        flying
    };
    // COOKIE-WAIT.
    let early = to_client(&lab, &cookie_ack);
    lab.client_gets(&early);
    assert!(lab.client_sends().is_empty());
    assert!(!lab.client.slots[0].association.is_established());
    // COOKIE-ECHOED: another INIT ACK.
    lab.client_gets(&init_ack);
    let echo = only(lab.client_sends());
    lab.client_gets(&init_ack);
    assert!(lab.client_sends().is_empty());
    lab.server_gets(&echo);
    lab.settle();
    // ESTABLISHED: both again.
    let events = lab.client.slots[0].events.len();
    for late in [&init_ack, &to_client(&lab, &cookie_ack)] {
        lab.client_gets(late);
        assert!(lab.client_sends().is_empty());
    }
    assert_eq!(lab.client.slots[0].events.len(), events);
    lab.assert_working();
}

/// One packet of each kind that might do harm, from the client's address with a guessed tag.
fn blind_packets(tag: u32) -> Vec<Packet<'static>> {
    let list = Parameters::empty;
    [
        data(tag, b"evil"),
        Chunk::Abort(Abort { reflected_tag: false, causes: Causes::empty() }),
        Chunk::Abort(Abort { reflected_tag: true, causes: Causes::empty() }),
        Chunk::Shutdown { cumulative_tsn_ack: tag },
        Chunk::ShutdownAck,
        Chunk::ShutdownComplete { reflected_tag: false },
        Chunk::ShutdownComplete { reflected_tag: true },
        Chunk::Error(Causes::build([Cause::StaleCookie { staleness_us: 1 }])),
        Chunk::CookieEcho(Raw::Shared(vec![7; 101].into())),
        Chunk::CookieAck,
        Chunk::Heartbeat(list()),
        Chunk::HeartbeatAck(list()),
        Chunk::Cwr(Cwr { override_mark: true, tsn: tag }),
        Chunk::ReConfig(list()),
    ]
    .map(|chunk| Packet {
        source_port: CLIENT_PORT,
        destination_port: SERVER_PORT,
        verification_tag: tag,
        chunks: [chunk].into_iter().collect(),
    })
    .into()
}

#[test]
fn blind_packets_do_no_harm_and_get_no_answer() {
    let mut lab = Lab::established();
    let events = lab.server.slots[0].events.len();
    let tag = lab.server.slots[0].association.identity().local_tag;
    let mut guess = 1_u32;
    for _ in 0..2_000 {
        guess = guess.wrapping_mul(0x9E37_79B1).wrapping_add(1);
        if guess == tag || guess == lab.client.slots[0].association.identity().local_tag {
            continue;
        }
        for packet in blind_packets(guess) {
            let (local, remote) = (server_address(0), client_address(0));
            lab.server_gets(&Flying { local, remote, encapsulation: Encapsulation::None, packet });
        }
    }
    assert!(lab.server_sends().is_empty());
    assert_eq!(lab.server.slots[0].events.len(), events);
    // Nor does anybody get through from elsewhere, even with the right tag.
    for packet in blind_packets(tag) {
        let (local, remote) = (server_address(0), IpAddr::from([203, 0, 113, 1]));
        lab.server_gets(&Flying { local, remote, encapsulation: Encapsulation::None, packet });
    }
    assert!(lab.server_sends().is_empty());
    assert_eq!(lab.server.slots[0].events.len(), events);
    lab.assert_working();
}

#[test]
fn blind_inits_change_nothing() {
    let mut lab = Lab::established();
    let events = lab.server.slots[0].events.len();
    let mut fresh = Lab::new_client(77, lab.now);
    for n in 0..200 {
        fresh = Lab::new_client(77 + n, lab.now);
        let peer = [server_address(0)];
        fresh.connect(lab.now, config(), SERVER_PORT, &peer).unwrap();
        let init = Flying::from(fresh.take_output().remove(0));
        lab.server_gets(&init);
        // One packet in, one out, and it goes to where the attacker does not see it.
        assert_eq!(only(lab.server_sends()).local, client_address(0));
    }
    assert_eq!(fresh.slots.len(), 1);
    assert_eq!(lab.server.slots[0].events.len(), events);
    lab.assert_working();
}

#[test]
fn a_restart_mixes_nothing_of_before_and_after() {
    let mut lab = Lab::established();
    let identity = lab.client.slots[0].association.identity().clone();
    let server_tag = lab.server.slots[0].association.identity().local_tag;
    let old = |chunk| Flying {
        local: server_address(0),
        remote: client_address(0),
        encapsulation: Encapsulation::None,
        packet: Packet {
            source_port: CLIENT_PORT,
            destination_port: SERVER_PORT,
            verification_tag: server_tag,
            chunks: [chunk].into_iter().collect(),
        },
    };
    // A message of the old association waits for the one before it.
    let held = Chunk::Data(Data {
        flags: DataFlags::BEGIN | DataFlags::END,
        tsn: identity.initial_tsn.wrapping_add(1),
        stream: 0,
        ssn: 1,
        ppid: 0,
        payload: Payload::Shared((&b"old"[..]).into()),
    });
    lab.server_gets(&old(held));
    lab.server_sends();
    assert!(lab.server.slots[0].messages.is_empty());

    lab.client = Lab::new_client(33, lab.now);
    lab.connect();
    lab.settle();
    lab.later(Duration::from_secs(5));
    assert!(lab.client.slots[0].association.is_established());
    assert_eq!(lab.server.slots.len(), 1);
    let restarted = |event: &&Event| matches!(event, Event::Restarted { .. });
    assert_eq!(lab.server.slots[0].events.iter().filter(restarted).count(), 1);
    assert_ne!(lab.server.slots[0].association.identity().local_tag, server_tag);

    // What the old client still says is not heard, and the old message does not come out.
    let drops = lab.server.drops.len();
    lab.server_gets(&old(data(identity.initial_tsn, b"older")));
    assert!(lab.server_sends().is_empty());
    assert_eq!(lab.server.drops[drops..], [DropReason::WrongTag]);
    lab.assert_working();
    assert!(lab.server.slots[0].messages.is_empty());
}

/// Section 5.2.4: tie-tags stand for the tags that the restart replaced, so a cookie with the old ones means nothing more.
#[test]
fn a_cookie_of_before_a_restart_does_not_undo_it() {
    let mut lab = Lab::established();
    let mut echoes = Vec::new();
    for seed in [33, 34] {
        lab.client = Lab::new_client(seed, lab.now);
        lab.connect();
        let init = only(lab.client_sends());
        lab.server_gets(&init);
        let init_ack = only(lab.server_sends());
        lab.client_gets(&init_ack);
        let echo = only(lab.client_sends());
        lab.server_gets(&echo);
        echoes.push(echo);
        lab.settle();
        lab.later(Duration::from_secs(5));
    }
    let tag = lab.server.slots[0].association.identity().local_tag;
    // That of the first restart is a duplicate that the network kept back.
    let drops = lab.server.drops.len();
    lab.server_gets(&echoes[0]);
    assert!(lab.server_sends().is_empty());
    assert_eq!(lab.server.drops[drops..], [DropReason::CookieSuperseded]);
    assert_eq!(lab.server.slots[0].association.identity().local_tag, tag);
    lab.assert_working();
}

/// What the user has not read takes its room, whoever sent it.
#[test]
fn peers_that_restart_do_not_fill_the_memory() {
    const BUFFER: usize = 1 << 20;
    let mut lab = Lab::new();
    lab.server.reads = false;
    for seed in 1..=6 {
        lab.client = Lab::new_client(seed, lab.now);
        lab.connect();
        lab.settle();
        for _ in 0..10 {
            lab.client.send(lab.now, 0, OutgoingMessage::new(0, vec![7; 50_000])).unwrap();
        }
        lab.later(Duration::from_secs(10));
    }
    assert_eq!(lab.server.slots.len(), 1);
    let held = lab.server.slots[0].association.stats().receive_buffer_bytes;
    lab.server.read(lab.now, 0);
    let read: usize = lab.server.slots[0].messages.iter().map(|message| message.len()).sum();
    assert!(read > BUFFER / 2 && read <= BUFFER, "{read}");
    assert!(held >= read as u64 && held <= BUFFER as u64 + 1500, "{held}");
    // Once it has read, there is room for the present peer's data.
    lab.server.reads = true;
    lab.later(Duration::from_secs(120));
    lab.assert_working();
}

#[test]
fn a_restart_with_new_addresses_is_refused_and_harmless() {
    let mut lab = Lab::established();
    let events = lab.server.slots[0].events.len();
    let other = IpAddr::from([203, 0, 113, 1]);
    let now = lab.now;
    let mut intruder = Host::new(
        44,
        EndpointConfig::default(),
        CLIENT_PORT,
        &[other, client_address(0), client_address(1)],
        now,
    );
    intruder.connect(now, config(), SERVER_PORT, &[server_address(0)]).unwrap();
    let init = Flying::from(intruder.take_output().remove(0));
    assert_eq!(init.remote, other);
    lab.server_gets(&init);
    let refusal = only(lab.server_sends());
    assert_eq!(refusal.local, other);
    deliver(&mut intruder, now, &refusal);
    let added = Parameters::build([Parameter::from(other)]);
    let causes = Causes::build([Cause::RestartWithNewAddresses(added.as_slice())]);
    let end = AssociationEnd::AbortedByPeer(causes.as_slice().into());
    assert_eq!(intruder.slots[0].events.last(), Some(&Event::Ended(end)));
    assert_eq!(lab.server.slots[0].events.len(), events);
    lab.assert_working();
}

#[test]
fn a_peer_that_restarts_while_the_association_shuts_down_has_to_wait() {
    let mut lab = Lab::established();
    // The client goes silent after it asked for shutdown.
    lab.client.shutdown(lab.now, 0);
    for shutdown in lab.client_sends() {
        lab.server_gets(&shutdown);
    }
    let lost = lab.server_sends();
    assert!(lost.iter().any(|flying| flying.packet.chunks.contains(&Chunk::ShutdownAck)));

    lab.client = Lab::new_client(33, lab.now);
    lab.connect();
    let init = only(lab.client_sends());
    lab.server_gets(&init);
    let again = only(lab.server_sends());
    assert_eq!(again.packet.chunks[..], [Chunk::ShutdownAck]);
    // The new client knows nothing of it, and says so with the tag that it sees.
    lab.client_gets(&again);
    let complete = only(lab.client_sends());
    assert_eq!(complete.packet.verification_tag, again.packet.verification_tag);
    assert_eq!(complete.packet.chunks[..], [Chunk::ShutdownComplete { reflected_tag: true }]);
    lab.server_gets(&complete);
    let end = Event::Ended(AssociationEnd::ShutdownComplete);
    assert_eq!(lab.server.slots[0].events.last(), Some(&end));
    assert_eq!(lab.server.endpoint.association_count(), 0);
    // The next INIT finds the way free.
    lab.later(Duration::from_secs(10));
    assert_eq!(lab.server.slots.len(), 2);
    lab.assert_working();
}

#[test]
fn two_clients_behind_one_address_do_not_disturb_each_other() {
    let mut lab = Lab::new();
    // An address translator gives both the same address, and the same SCTP port, but UDP ports of their own.
    let translated = |mut flying: Flying, port| {
        flying.encapsulation = Encapsulation::Udp { local_port: 9899, remote_port: port };
        flying.packet.chunks[0] = match flying.packet.chunks[0].clone() {
            Chunk::Init(init) => Chunk::Init(Init { parameters: Parameters::empty(), ..init }),
            other => other,
        };
        flying
    };
    lab.connect();
    let init = translated(only(lab.client_sends()), 1000);
    lab.server_gets(&init);
    let init_ack = only(lab.server_sends());
    lab.client_gets(&init_ack);
    let echo = translated(only(lab.client_sends()), 1000);
    lab.server_gets(&echo);
    assert_eq!(lab.server.slots.len(), 1);
    let events = lab.server.slots[0].events.len();
    lab.server_sends();

    let mut second = Lab::new_client(55, lab.now);
    second.connect(lab.now, config(), SERVER_PORT, &[server_address(0)]).unwrap();
    let init = translated(Flying::from(second.take_output().remove(0)), 2000);
    lab.server_gets(&init);
    let init_ack = only(lab.server_sends());
    assert_eq!(init_ack.encapsulation, init.encapsulation);
    // The first one's cookie does not help the second.
    lab.server_gets(&translated(echo, 2000));
    assert!(lab.server_sends().is_empty());
    assert_eq!(lab.server.drops, [DropReason::CookieMismatch]);
    assert_eq!(lab.server.slots.len(), 1);
    // Its own does.
    deliver(&mut second, lab.now, &init_ack);
    lab.server_gets(&translated(Flying::from(second.take_output().remove(0)), 2000));
    assert_eq!(lab.server.slots.len(), 2);
    assert!(lab.server.slots.iter().all(|slot| slot.association.is_established()));
    assert_eq!(lab.server.slots[0].events.len(), events);
}

#[test]
fn a_cookie_replayed_after_the_end_makes_nothing() {
    let mut lab = Lab::new();
    let echo = lab.up_to_cookie_echo();
    lab.server_gets(&echo);
    lab.settle();
    lab.later(Duration::from_secs(5));
    lab.client.abort(lab.now, 0, "enough");
    lab.settle();
    assert_eq!(lab.server.endpoint.association_count(), 0);
    let before = lab.server.drops.len();
    for _ in 0..50 {
        lab.server_gets(&echo);
        assert!(lab.server_sends().is_empty());
    }
    assert_eq!(lab.server.slots.len(), 1);
    assert_eq!(lab.server.drops[before..], [DropReason::TagTaken; 50]);
}

#[test]
fn a_session_replayed_after_its_end_gets_no_more_than_it_gives() {
    let mut lab = Lab::new();
    lab.connect();
    let mut session = Vec::new();
    let mut shutting_down = false;
    for _ in 0..200 {
        let packets = lab.client_sends();
        packets.iter().for_each(|flying| lab.server_gets(flying));
        session.extend(packets);
        lab.server_sends().iter().for_each(|flying| lab.client_gets(flying));
        if lab.client.slots[0].association.is_established() && !shutting_down {
            shutting_down = true;
            lab.client.send(lab.now, 0, OutgoingMessage::new(0, vec![1; 9000])).unwrap();
            lab.client.shutdown(lab.now, 0);
        }
        lab.now += Duration::from_millis(100);
        lab.client.handle_timeout(lab.now);
        lab.server.handle_timeout(lab.now);
    }
    assert!(session.len() >= 8);
    assert_eq!(lab.server.endpoint.association_count(), 0);

    // The cookie has expired: nothing comes of it.
    lab.now += Duration::from_secs(120);
    for flying in &session {
        lab.server_gets(flying);
        let answers = lab.server_sends();
        assert!(answers.len() <= 1);
        assert!(answers.iter().all(|answer| answer.local == flying.remote));
    }
    assert_eq!(lab.server.endpoint.association_count(), 0);
    assert_eq!(lab.server.slots.len(), 1);
}
