//! Handshakes that ask all paths at once: slow, lossy and dead ones, strangers behind an address, and what comes late.

use std::net::IpAddr;

use polypath_proto::config::{AssociationConfig, EndpointConfig, HandshakePaths, Preset};
use polypath_proto::{
    AssociationEnd, Body, Duration, Ecn, Encapsulation, Event, Instant, OutgoingMessage, PathId,
    PathStats, PathStatus, Received, Transmit,
};
use polypath_testkit::{Faults, Host, Pair, PairConfig, PathModel, Side};
use polypath_wire::Chunk;

const CLIENT_PORT: u16 = 4000;
const SERVER_PORT: u16 = 5001;
const LOST: Faults = Faults { loss: 1000, duplication: 0, reordering: 0, damage: 0 };

fn config(handshake: HandshakePaths) -> AssociationConfig {
    let mut config = AssociationConfig::with_preset(Preset::Recommended);
    config.policies.handshake = handshake;
    config
}

/// Two hosts with a path of each of these delays in ms.
fn pair(handshake: HandshakePaths, delays: &[u64], form: polypath_testkit::Form) -> Pair {
    let mut setup = PairConfig::new(delays.len(), config(handshake));
    setup.form = form;
    for (path, delay) in setup.paths.iter_mut().zip(delays) {
        *path = PathModel { delay: Duration::from_millis(*delay), ..PathModel::default() };
    }
    Pair::new(setup)
}

/// Connects and says how long that took for the client, in ms.
fn time_to_connect(pair: &mut Pair) -> u64 {
    let begin = pair.now;
    pair.connect();
    let client_is_ready = |pair: &Pair| pair.slot(Side::Client).association.is_established();
    assert!(pair.run_until(Duration::from_secs(60), client_is_ready), "no association");
    pair.now.since(begin).as_nanos() / 1_000_000
}

fn stats(pair: &Pair, side: Side) -> Vec<PathStats> {
    pair.slot(side).association.path_stats()
}

fn primary(pair: &Pair, side: Side) -> IpAddr {
    stats(pair, side).iter().find(|path| path.primary).expect("a primary path").remote
}

#[test]
fn the_quickest_path_sets_the_pace() {
    use polypath_testkit::Form::{Encoded, Structured};
    for (what, handshake, delays, form, expected) in [
        ("the slow one is named first", HandshakePaths::AllPaths, &[200, 10][..], Structured, 40),
        ("on the wire too", HandshakePaths::AllPaths, &[200, 10], Encoded, 40),
        ("of three the last", HandshakePaths::AllPaths, &[200, 100, 10], Structured, 40),
        ("the first is the quickest", HandshakePaths::AllPaths, &[10, 200], Structured, 40),
        ("one path", HandshakePaths::AllPaths, &[200], Structured, 800),
        ("the first sets the pace", HandshakePaths::Primary, &[200, 10], Structured, 800),
    ] {
        let mut pair = pair(handshake, delays, form);
        assert_eq!(time_to_connect(&mut pair), expected, "{what}");
    }
}

#[test]
fn who_answers_first_is_the_primary_and_the_others_are_measured() {
    let mut pair = pair(HandshakePaths::AllPaths, &[200, 10], Default::default());
    time_to_connect(&mut pair);
    let (client, server) = (pair.addresses(Side::Client), pair.addresses(Side::Server));
    let srtt =
        |pair: &Pair| stats(pair, Side::Client)[..].iter().map(|p| p.srtt).collect::<Vec<_>>();
    let ms = |ms| Some(Duration::from_millis(ms));
    assert_eq!(srtt(&pair), [None, ms(20)]);
    // The COOKIE ECHO answers the INIT ACK.
    assert_eq!(stats(&pair, Side::Server)[0].srtt, ms(20));
    assert_eq!(primary(&pair, Side::Client), server[1]);
    // The INIT ACK over the slow path tells its round trip, and nothing else.
    pair.run_for(Duration::from_millis(370));
    assert_eq!(srtt(&pair), [ms(400), ms(20)]);
    assert_eq!(primary(&pair, Side::Client), server[1]);
    assert_eq!(primary(&pair, Side::Server), client[1]);
    assert_eq!(pair.hosts[1].slots.len(), 1, "the late INIT made no association");
    pair.run_for(Duration::from_secs(5));
    assert!(stats(&pair, Side::Client).iter().all(|path| path.timeouts == 0));
    assert_works(&mut pair);
}

fn assert_works(pair: &mut Pair) {
    for (from, to) in [(Side::Client, Side::Server), (Side::Server, Side::Client)] {
        pair.send(from, OutgoingMessage::new(0, vec![7; 50_000])).unwrap();
        pair.run_for(Duration::from_secs(3));
        assert_eq!(pair.slot(to).messages.last().map(|m| m.len()), Some(50_000));
        let ended = |event: &Event| matches!(event, Event::Ended(_));
        assert!(!pair.slot(from).events.iter().any(ended));
    }
}

#[test]
fn a_dead_first_path_costs_nothing() {
    for (handshake, expected) in [(HandshakePaths::AllPaths, 40), (HandshakePaths::Primary, 1040)] {
        let mut pair = pair(handshake, &[10, 10], Default::default());
        pair.paths[0].faults = LOST;
        assert_eq!(time_to_connect(&mut pair), expected, "{handshake:?}");
        assert_works(&mut pair);
    }
}

#[test]
fn a_path_that_loses_the_answers_costs_nothing() {
    let mut pair = pair(HandshakePaths::AllPaths, &[10, 30], Default::default());
    pair.paths[0].faults_back = Some(LOST);
    assert_eq!(time_to_connect(&mut pair), 120);
    // What one path lost comes back later; the handshake does not look back.
    pair.paths[0].faults_back = None;
    assert_works(&mut pair);
}

#[test]
fn a_lost_cookie_goes_again_over_the_next_path_that_answers() {
    let mut pair = pair(HandshakePaths::AllPaths, &[10, 30], Default::default());
    let begin = pair.now;
    pair.connect();
    // The INIT ACK is on its way; what answers it is lost.
    pair.run_for(Duration::from_millis(15));
    pair.paths[0].faults = LOST;
    let client_is_ready = |pair: &Pair| pair.slot(Side::Client).association.is_established();
    assert!(pair.run_until(Duration::from_secs(60), client_is_ready));
    let expected = Duration::from_millis(20 + 60);
    assert_eq!(pair.now.since(begin), expected, "it went over path 1 at the same time");
    pair.paths[0].faults = Faults::default();
    assert_eq!(primary(&pair, Side::Client), pair.addresses(Side::Server)[0]);
    assert_works(&mut pair);
}

#[test]
fn a_lost_init_does_not_hand_the_handshake_to_a_slow_path() {
    let mut pair = pair(HandshakePaths::AllPaths, &[300, 10], Default::default());
    pair.paths[1].faults = LOST;
    let begin = pair.now;
    pair.connect();
    pair.run_for(Duration::from_millis(100));
    pair.paths[1].faults = Faults::default();
    let client_is_ready = |pair: &Pair| pair.slot(Side::Client).association.is_established();
    assert!(pair.run_until(Duration::from_secs(60), client_is_ready));
    let expected = Duration::from_millis(600 + 20);
    assert_eq!(pair.now.since(begin), expected, "the cookie took both paths");
    assert_works(&mut pair);
}

/// The next path in turn has a round trip of 600 ms, and nothing came back there yet.
#[test]
fn a_lost_cookie_goes_again_where_the_first_answer_came_from_too() {
    let mut pair = pair(HandshakePaths::AllPaths, &[10, 300], Default::default());
    let begin = pair.now;
    pair.connect();
    pair.run_for(Duration::from_millis(15));
    pair.paths[0].faults = LOST;
    pair.run_for(Duration::from_millis(50));
    pair.paths[0].faults = Faults::default();
    let client_is_ready = |pair: &Pair| pair.slot(Side::Client).association.is_established();
    assert!(pair.run_until(Duration::from_secs(60), client_is_ready));
    assert_eq!(
        pair.now.since(begin),
        Duration::from_millis(260),
        "a timeout, and a round trip of path 0"
    );
    assert_works(&mut pair);
}

/// New data may wait for the round trip of a path that has told nothing yet; but not for HB.interval.
#[test]
fn a_path_that_loses_the_first_questions_is_asked_again_soon() {
    let mut pair = pair(HandshakePaths::AllPaths, &[10, 20], Default::default());
    pair.paths[1].faults = LOST;
    assert_eq!(time_to_connect(&mut pair), 40);
    pair.run_for(Duration::from_millis(300));
    pair.paths[1].faults = Faults::default();
    assert_eq!(stats(&pair, Side::Client)[1].srtt, None);
    pair.run_for(Duration::from_secs(2));
    assert_eq!(stats(&pair, Side::Client)[1].srtt, Some(Duration::from_millis(40)));
    assert_eq!(stats(&pair, Side::Client)[1].status, PathStatus::Active);
    assert_works(&mut pair);
}

#[test]
fn each_path_takes_one_init_per_round() {
    let mut config = config(HandshakePaths::AllPaths);
    // The timer backs off.
    config.policies.failover.outage_probe_interval = None;
    let mut pair = Pair::new(PairConfig::new(3, config));
    for path in &mut pair.paths {
        path.faults = LOST;
    }
    pair.connect();
    assert_eq!(pair.packets, [1, 1, 1]);
    pair.run_for(Duration::from_millis(1500));
    assert_eq!(pair.packets, [2, 2, 2]);
    pair.run_for(Duration::from_secs(600));
    // Max.Init.Retransmits is 8.
    assert_eq!(pair.packets, [9, 9, 9]);
    let end = Event::Ended(AssociationEnd::CannotConnect);
    assert_eq!(pair.slot(Side::Client).events.last(), Some(&end));
}

/// Two hosts with two addresses each, whose packets go through our hands.
struct Lab {
    now: Instant,
    client: Host,
    server: Host,
}

fn client_address(n: u8) -> IpAddr {
    IpAddr::from([10, 0, n, 1])
}

fn server_address(n: u8) -> IpAddr {
    IpAddr::from([10, 0, n, 2])
}

impl Lab {
    /// The client's INITs are on their way.
    fn new() -> (Self, Vec<Transmit>) {
        let now = Instant::from_nanos(1_000_000);
        let association = config(HandshakePaths::AllPaths);
        let endpoint = |listening| EndpointConfig {
            listening,
            association: association.clone(),
            ..Default::default()
        };
        let (ours, theirs) = ([0, 1].map(client_address), [0, 1].map(server_address));
        let mut client = Host::new(1, endpoint(false), CLIENT_PORT, &ours, now);
        let server = Host::new(2, endpoint(true), SERVER_PORT, &theirs, now);
        client.connect(now, association.clone(), SERVER_PORT, &theirs).unwrap();
        let inits = client.take_output();
        assert_eq!(inits.len(), 2);
        let chunk = |n: usize| &inits[n].packet.chunks[0];
        assert!(matches!(chunk(0), Chunk::Init(_)));
        assert_eq!(chunk(0), chunk(1), "the same tag, TSN and addresses");
        (Self { now, client, server }, inits)
    }

    /// What the server says to a packet, which comes from `source` if something rewrote that.
    fn ask(&mut self, sent: &Transmit, source: Option<IpAddr>) -> Vec<Transmit> {
        let mut sent = copy(sent);
        sent.local = source.unwrap_or(sent.local);
        deliver(&mut self.server, self.now, &sent);
        self.server.take_output()
    }

    /// What the client says to an answer, which comes to `destination` if something rewrote it back.
    fn tell(&mut self, sent: &Transmit, destination: Option<IpAddr>) -> Vec<Transmit> {
        let mut sent = copy(sent);
        sent.remote = destination.unwrap_or(sent.remote);
        deliver(&mut self.client, self.now, &sent);
        self.client.take_output()
    }

    /// Lets all packets through until nobody has anything to say.
    fn settle(&mut self) {
        for _ in 0..100 {
            let sent = [self.client.take_output(), self.server.take_output()];
            if sent.iter().all(Vec::is_empty) {
                return;
            }
            sent[0].iter().for_each(|sent| deliver(&mut self.server, self.now, sent));
            sent[1].iter().for_each(|sent| deliver(&mut self.client, self.now, sent));
        }
        panic!("the hosts do not stop talking");
    }

    fn assert_established(&mut self) {
        for host in [&self.client, &self.server] {
            assert_eq!(host.slots.len(), 1);
            assert!(host.slots[0].association.is_established(), "{:?}", host.slots[0].events);
        }
        self.client.send(self.now, 0, OutgoingMessage::new(0, vec![7; 500])).unwrap();
        self.settle();
        assert_eq!(self.server.slots[0].messages.last().map(|m| m.len()), Some(500));
    }
}

fn copy(sent: &Transmit) -> Transmit {
    let Transmit {
        path,
        local,
        remote,
        encapsulation,
        ecn,
        traffic,
        fragmentation,
        checksum,
        ref packet,
    } = *sent;
    let packet = packet.clone();
    Transmit { path, local, remote, encapsulation, ecn, traffic, fragmentation, checksum, packet }
}

fn deliver(host: &mut Host, now: Instant, sent: &Transmit) {
    let received = Received {
        local: sent.remote,
        remote: sent.local,
        encapsulation: Encapsulation::None,
        ecn: Ecn::NotEct,
        body: Body::Structured(&sent.packet),
    };
    host.receive(now, &received);
}

/// An ABORT without a word, from where `to` went, with its tag.
fn refusal(init: &Transmit) -> Transmit {
    let Chunk::Init(sent) = &init.packet.chunks[0] else { panic!("{init:?}") };
    let mut abort = copy(init);
    (abort.local, abort.remote) = (init.remote, init.local);
    abort.packet.verification_tag = sent.initiate_tag;
    (abort.packet.source_port, abort.packet.destination_port) = (SERVER_PORT, CLIENT_PORT);
    let causes = polypath_wire::Causes::empty();
    let chunk = Chunk::Abort(polypath_wire::Abort { reflected_tag: false, causes });
    abort.packet.chunks = [chunk].into_iter().collect();
    abort
}

#[test]
fn the_cookie_goes_where_the_first_answer_came_from() {
    let (mut lab, inits) = Lab::new();
    let second = lab.ask(&inits[1], None).remove(0);
    let first = lab.ask(&inits[0], None).remove(0);
    assert_eq!(lab.server.slots.len(), 0, "nothing is kept");
    let echo = lab.tell(&second, None).remove(0);
    assert_eq!((echo.local, echo.remote), (client_address(1), server_address(1)));
    let again = lab.tell(&first, None).remove(0);
    assert_eq!((again.local, again.remote), (client_address(0), server_address(0)));
    assert_eq!(again.packet.chunks, echo.packet.chunks, "the first one may be lost");
    for answer in lab.ask(&echo, None) {
        lab.tell(&answer, None);
    }
    lab.settle();
    lab.assert_established();
}

#[test]
fn a_server_that_answers_from_another_address_is_followed() {
    let (mut lab, inits) = Lab::new();
    let mut answer = lab.ask(&inits[1], None).remove(0);
    (answer.local, answer.remote) = (server_address(0), client_address(0));
    let echo = lab.tell(&answer, None).remove(0);
    assert_eq!((echo.local, echo.remote), (client_address(0), server_address(0)));
    for answer in lab.ask(&echo, None) {
        lab.tell(&answer, None);
    }
    lab.settle();
    lab.assert_established();
}

#[test]
fn what_comes_late_through_a_translator_ends_nothing() {
    let (mut lab, inits) = Lab::new();
    let answer = lab.ask(&inits[0], None).remove(0);
    let echo = lab.tell(&answer, None).remove(0);
    for answer in lab.ask(&echo, None) {
        lab.tell(&answer, None);
    }
    lab.settle();
    // The other INIT comes from an address that the server does not know: a restart that adds addresses is refused.
    let translated = IpAddr::from([203, 0, 113, 9]);
    let refused = lab.ask(&inits[1], Some(translated)).remove(0);
    assert!(matches!(refused.packet.chunks[0], Chunk::Abort(_)));
    lab.tell(&refused, Some(client_address(1)));
    lab.assert_established();
}

#[test]
fn a_stranger_behind_one_address_does_not_answer_for_the_others() {
    // The first address answers later.
    let (mut lab, inits) = Lab::new();
    assert!(lab.tell(&refusal(&inits[1]), None).is_empty());
    let answer = lab.ask(&inits[0], None).remove(0);
    let echo = lab.tell(&answer, None).remove(0);
    assert_eq!(echo.remote, server_address(0));

    // The first address is the one that counts.
    let (mut lab, inits) = Lab::new();
    lab.tell(&refusal(&inits[0]), None);
    let end = Event::Ended(AssociationEnd::AbortedByPeer(Vec::new()));
    assert_eq!(lab.client.slots[0].events.last(), Some(&end));

    // But it has to answer within T1.
    let (mut lab, inits) = Lab::new();
    lab.tell(&refusal(&inits[1]), None);
    lab.now = lab.client.next_timeout().unwrap();
    lab.client.handle_timeout(lab.now);
    let again = lab.client.take_output();
    assert_eq!(
        again.iter().map(|init| init.remote).collect::<Vec<_>>(),
        [1, 0].map(server_address)
    );
    lab.tell(&refusal(&again[0]), None);
    assert_eq!(lab.client.slots[0].events.last(), Some(&end));
}

#[test]
fn both_sides_may_begin_at_once() {
    let now = Instant::from_nanos(1_000_000);
    // In which order the packets of each flight arrive.
    for order in 0..4u8 {
        let association = config(HandshakePaths::AllPaths);
        let (ours, theirs) = ([0, 1].map(client_address), [0, 1].map(server_address));
        let mut hosts = [
            Host::new(1, EndpointConfig::default(), CLIENT_PORT, &ours, now),
            Host::new(2, EndpointConfig::default(), SERVER_PORT, &theirs, now),
        ];
        hosts[0].connect(now, association.clone(), SERVER_PORT, &theirs).unwrap();
        hosts[1].connect(now, association, CLIENT_PORT, &ours).unwrap();
        for _ in 0..100 {
            let mut sent = [hosts[0].take_output(), hosts[1].take_output()];
            for (side, sent) in sent.iter_mut().enumerate() {
                if order >> side & 1 == 1 {
                    sent.reverse();
                }
                sent.iter().for_each(|sent| deliver(&mut hosts[1 - side], now, sent));
            }
        }
        for host in &mut hosts {
            assert_eq!(host.slots.len(), 1, "{order}");
            assert!(host.slots[0].association.is_established(), "{order}");
            host.send(now, 0, OutgoingMessage::new(0, vec![7; 500])).unwrap();
        }
        for _ in 0..100 {
            for side in 0..2 {
                let sent = hosts[side].take_output();
                sent.iter().for_each(|sent| deliver(&mut hosts[1 - side], now, sent));
            }
        }
        assert!(hosts.iter().all(|host| host.slots[0].messages.len() == 1), "{order}");
    }
}

#[test]
fn a_path_that_the_user_chose_stays_the_primary() {
    let mut pair = pair(HandshakePaths::AllPaths, &[50, 10], Default::default());
    time_to_connect(&mut pair);
    let (now, hosts) = (pair.now, &mut pair.hosts);
    hosts[0].command(now, 0, |association, _| association.set_primary(PathId(0))).unwrap();
    pair.run_for(Duration::from_secs(1));
    assert_eq!(primary(&pair, Side::Client), server_address(0));
}

/// The network may deliver a COOKIE ECHO twice, and the second time after the end.
#[test]
fn a_cookie_that_arrives_again_after_the_end_makes_nothing() {
    let now = Instant::from_nanos(1_000_000);
    let listening = EndpointConfig { listening: true, ..EndpointConfig::default() };
    let (ours, theirs) = ([0, 1].map(client_address), [0, 1].map(server_address));
    let mut hosts = [
        Host::new(1, EndpointConfig::default(), CLIENT_PORT, &ours, now),
        Host::new(2, listening, SERVER_PORT, &theirs, now),
    ];
    hosts[0].connect(now, config(HandshakePaths::AllPaths), SERVER_PORT, &theirs).unwrap();
    let mut echo = None;
    let mut exchange = |hosts: &mut [Host; 2]| {
        for side in [0, 1].repeat(10) {
            for sent in hosts[side].take_output() {
                if matches!(sent.packet.chunks.first(), Some(Chunk::CookieEcho(_))) {
                    echo = Some(copy(&sent));
                }
                deliver(&mut hosts[1 - side], now, &sent);
            }
        }
    };
    exchange(&mut hosts);
    hosts[0].shutdown(now, 0);
    exchange(&mut hosts);
    let complete = Event::Ended(AssociationEnd::ShutdownComplete);
    for host in &hosts {
        assert_eq!(host.slots[0].events.last(), Some(&complete));
    }
    deliver(&mut hosts[1], now, &echo.expect("a COOKIE ECHO"));
    assert_eq!((hosts[1].slots.len(), hosts[1].take_output().len()), (1, 0));
}
