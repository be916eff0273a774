//! INIT and COOKIE ECHO for an association that exists (RFC 9260 section 5.2).

use polypath_wire::{Abort, Cause, Causes, Raw};

use super::*;
use crate::association::handshake::cookie::{Cookie, TieTags};
use crate::association::handshake::init_parameters::Indications;
use crate::association::handshake::view::{HandshakePhase as Phase, HandshakeView};
use crate::config::AuthenticatedChunks;
use crate::endpoint::collision::{CookieAction, InitAction, judge_cookie};
use crate::types::{AddressList, PeerAddress};

/// Tags of the association in these tests, and of the restarted peer.
const OURS: u32 = 0x1111_1111;
const THEIRS: u32 = 0x2222_2222;
const NEW: u32 = 0x3333_3333;
const TIE_TAGS: TieTags = TieTags { local: 0x4444_4444, peer: 0x5555_5555 };

const PHASES: [Phase; 5] = [
    Phase::CookieWait,
    Phase::CookieEchoed,
    Phase::Established,
    Phase::ShutdownAckSent,
    Phase::Closed,
];

fn view(phase: Phase) -> HandshakeView {
    let peer = |address| PeerAddress { address, encapsulation: udp(1234) };
    HandshakeView {
        phase,
        local_tag: OURS,
        peer_tag: (phase != Phase::CookieWait).then_some(THEIRS),
        tie_tags: TIE_TAGS,
        initial_tsn: 4711,
        a_rwnd: 3000,
        outbound_streams: 4,
        max_inbound_streams: 6,
        offered: Default::default(),
        indications: Indications::default(),
        authentication: AuthenticatedChunks::Off.into(),
        auth: None,
        peer_addresses: ips("198.51.100.1 198.51.100.2").into_iter().map(peer).collect(),
    }
}

impl World {
    fn collide(
        &mut self,
        view: &HandshakeView,
        arrival: &Arrival,
    ) -> Result<InitAction, DropReason> {
        let received = &arrival.received();
        let packet = route::Incoming::open(received, ChecksumPolicy::Verify).unwrap();
        let mut cx = Cx { now: self.now, rng: &mut self.rng, probe: &mut NoProbe };
        self.endpoint.answer_colliding_init(&mut cx, received, &packet, view)
    }

    fn colliding_answer(&mut self, view: &HandshakeView, arrival: &Arrival) -> Box<Transmit> {
        match self.collide(view, arrival) {
            Ok(InitAction::Reply(transmit)) => transmit,
            other => panic!("{other:?}"),
        }
    }

    /// The INIT ACK, and the cookie in it.
    fn colliding_init_ack(
        &mut self,
        view: &HandshakeView,
        arrival: &Arrival,
    ) -> (Init<'static>, Cookie) {
        let mut transmit = self.colliding_answer(view, arrival);
        assert_eq!(transmit.packet.verification_tag, NEW);
        let Chunk::InitAck(init_ack) = transmit.packet.chunks.remove(0) else { panic!() };
        let cookie = init_ack.parameters.state_cookie().unwrap();
        let cookie = self.endpoint.secrets.open(cookie, self.now).unwrap();
        assert_eq!(cookie.local_tag, init_ack.initiate_tag);
        assert_eq!(cookie.local_initial_tsn, init_ack.initial_tsn);
        (init_ack, cookie)
    }
}

/// INIT of the restarted peer from an address, with other addresses in it.
fn init_from(source: &str, listed: &str) -> Arrival {
    let init = packet(0, [Chunk::Init(init(NEW, listed))]);
    Arrival { encapsulation: udp(1234), ..from(source, init) }
}

/// The addresses that an ABORT says are new.
fn refused_addresses(transmit: &Transmit) -> AddressList {
    assert_eq!(transmit.packet.verification_tag, NEW);
    let [Chunk::Abort(Abort { reflected_tag: false, causes })] = &transmit.packet.chunks[..] else {
        panic!("{transmit:?}")
    };
    let Some(Cause::RestartWithNewAddresses(list)) = causes.iter().next() else { panic!() };
    Parameters::parse(list).unwrap().addresses().collect()
}

#[test]
fn while_the_association_forms_the_same_init_is_told_again() {
    let mut world = World::new(EndpointConfig::default());
    for (phase, tie_tags) in
        [(Phase::CookieWait, TieTags::default()), (Phase::CookieEchoed, TIE_TAGS)]
    {
        let view = view(phase);
        let (init_ack, cookie) = world.colliding_init_ack(&view, &init_from("198.51.100.1", ""));
        assert_eq!((init_ack.initiate_tag, init_ack.initial_tsn), (OURS, 4711));
        assert_eq!((init_ack.outbound_streams, init_ack.inbound_streams), (4, 6));
        assert_eq!(init_ack.a_rwnd, 3000);
        assert_eq!(cookie.tie_tags, tie_tags);
        assert_eq!((cookie.outbound_streams, cookie.inbound_streams), (4, 6));
        assert_eq!(judge_cookie(&view, &cookie, world.now), Ok(CookieAction::Complete));
    }
}

#[test]
fn a_restarted_peer_gets_new_numbers_and_tie_tags_that_tell_nothing() {
    let mut world = World::new(EndpointConfig::default());
    let view = view(Phase::Established);
    let init = init_from("198.51.100.2", "198.51.100.1");
    let (init_ack, cookie) = world.colliding_init_ack(&view, &init);
    assert_ne!(init_ack.initiate_tag, OURS);
    assert_ne!(init_ack.initial_tsn, 4711);
    assert_eq!((init_ack.outbound_streams, init_ack.inbound_streams), (4, 6));
    assert_eq!(cookie.tie_tags, TIE_TAGS);
    let sealed = init_ack.parameters.state_cookie().unwrap();
    for tag in [OURS, THEIRS] {
        assert!(sealed.windows(4).all(|bytes| bytes != tag.to_be_bytes()));
    }
    assert_eq!(judge_cookie(&view, &cookie, world.now), Ok(CookieAction::Restart));
}

#[test]
fn a_restart_with_new_addresses_is_refused() {
    let mut world = World::new(EndpointConfig::default());
    let table = [
        ("198.51.100.1", "198.51.100.3", "198.51.100.3"),
        ("198.51.100.2", "198.51.100.3 198.51.100.1 198.51.100.4", "198.51.100.3 198.51.100.4"),
        // Found by an address of the association, but sent from elsewhere.
        ("198.51.100.9", "198.51.100.1", "198.51.100.9"),
    ];
    for phase in [Phase::CookieEchoed, Phase::Established] {
        for (source, listed, added) in table {
            let answer = world.colliding_answer(&view(phase), &init_from(source, listed));
            assert_eq!(refused_addresses(&answer), ips(added));
            assert_eq!(answer.remote, ip(source));
        }
        // A known address, but another UDP port, or none: somebody else behind an address translator.
        for encapsulation in [udp(1235), Encapsulation::None] {
            let init = Arrival { encapsulation, ..init_from("198.51.100.1", "") };
            let answer = world.colliding_answer(&view(phase), &init);
            assert_eq!(refused_addresses(&answer), ips("198.51.100.1"));
            assert_eq!(answer.encapsulation, encapsulation);
        }
        // Fewer addresses are no matter.
        world.colliding_init_ack(&view(phase), &init_from("198.51.100.2", ""));
    }
}

#[test]
fn in_cookie_wait_only_addresses_of_the_user_are_answered() {
    let mut world = World::new(EndpointConfig::default());
    let view = view(Phase::CookieWait);
    let to = |world: &mut World, source, listed| {
        let answer = world.colliding_answer(&view, &init_from(source, listed));
        (answer.remote, answer.encapsulation)
    };
    // New addresses are welcome, but the answer goes to one that the user named.
    assert_eq!(to(&mut world, "198.51.100.2", "203.0.113.1"), (ip("198.51.100.2"), udp(1234)));
    assert_eq!(to(&mut world, "203.0.113.1", "198.51.100.2"), (ip("198.51.100.2"), udp(1234)));
    let elsewhere = Arrival { encapsulation: udp(9), ..init_from("198.51.100.1", "") };
    let answer = world.colliding_answer(&view, &elsewhere);
    assert_eq!((answer.remote, answer.encapsulation), (ip("198.51.100.1"), udp(1234)));
    let unknown = world.collide(&view, &init_from("203.0.113.1", "203.0.113.2"));
    assert_eq!(unknown.unwrap_err(), DropReason::UnrequestedAddress);
    // The first address of the cookie is the one that the INIT ACK went to.
    let (_, cookie) = world.colliding_init_ack(&view, &init_from("203.0.113.1", "198.51.100.2"));
    assert_eq!(cookie.peer_addresses, ips("198.51.100.2 203.0.113.1"));
}

#[test]
fn phases_without_answer() {
    let mut world = World::new(EndpointConfig::default());
    let init = init_from("198.51.100.1", "");
    let sent = world.collide(&view(Phase::ShutdownAckSent), &init);
    assert!(matches!(sent, Ok(InitAction::ResendShutdownAck)), "{sent:?}");
    let closed = world.collide(&view(Phase::Closed), &init);
    assert_eq!(closed.unwrap_err(), DropReason::NoAssociation);
}

#[test]
fn an_impossible_init_is_refused_in_every_phase() {
    let mut world = World::new(EndpointConfig::default());
    let small = Init { a_rwnd: 1, ..init(NEW, "") };
    for phase in PHASES {
        let init = arrival(packet(0, [Chunk::Init(small.clone())]));
        let answer = world.colliding_answer(&view(phase), &init);
        let causes = Causes::build([Cause::InvalidParameter]);
        let expected = [Chunk::Abort(Abort { reflected_tag: false, causes })];
        assert_eq!(answer.packet.chunks[..], expected);
        let zero = init_arrival(0, "");
        let dropped = world.collide(&view(phase), &zero);
        assert_eq!(dropped.unwrap_err(), DropReason::InitiateTagZero);
    }
}

fn cookie(local_tag: u32, peer_tag: u32, tie_tags: TieTags) -> Cookie {
    Cookie {
        created: at(0),
        life: Duration::from_secs(60),
        local_tag,
        peer_tag,
        tie_tags,
        local_initial_tsn: 1,
        peer_initial_tsn: 2,
        a_rwnd: 3000,
        outbound_streams: 1,
        inbound_streams: 1,
        local_port: PORT,
        remote_port: PEER_PORT,
        capabilities: Default::default(),
        adaptation: None,
        preferred: None,
        auth: None,
        encapsulation: udp(1234),
        local_address: ip("192.0.2.1"),
        peer_addresses: ips("198.51.100.1 198.51.100.2"),
    }
}

/// How a tag of the cookie relates to that of the association, as the table of RFC 9260 section 5.2.4 writes it.
const SIGNS: [char; 3] = ['M', 'X', '0'];

/// The table of RFC 9260 section 5.2.4: `None` where the cookie is dropped.
fn table_12(local: char, peer: char, local_tie: char, peer_tie: char) -> Option<char> {
    match (local, peer, local_tie, peer_tie) {
        ('X', 'X', 'M', 'M') => Some('A'),
        ('M', 'X' | '0', _, _) => Some('B'),
        ('M', 'M', _, _) => Some('D'),
        // Action C is to drop, like every row that is not in the table.
        _ => None,
    }
}

#[test]
fn all_rows_of_the_tie_tag_table() {
    let number = |sign, matching| match sign {
        'M' => matching,
        'X' => NEW,
        _ => 0,
    };
    let mut rows = 0;
    for phase in
        [Phase::CookieWait, Phase::CookieEchoed, Phase::Established, Phase::ShutdownAckSent]
    {
        let view = view(phase);
        for (local, local_tag) in [('M', OURS), ('X', NEW)] {
            // In COOKIE-WAIT the tag of the peer is not known yet.
            let peers: &[_] = match phase {
                Phase::CookieWait => &[('0', THEIRS)],
                _ => &[('M', THEIRS), ('X', NEW)],
            };
            for (peer, peer_tag) in peers {
                for (local_tie, peer_tie) in SIGNS.iter().flat_map(|a| SIGNS.map(|b| (*a, b))) {
                    let tie_tags = TieTags {
                        local: number(local_tie, TIE_TAGS.local),
                        peer: number(peer_tie, TIE_TAGS.peer),
                    };
                    // With no peer's tag known, X means as much as 0 does.
                    let seen = if local == 'X' && *peer == '0' { 'X' } else { *peer };
                    let expected = match table_12(local, seen, local_tie, peer_tie) {
                        Some('A') if phase == Phase::ShutdownAckSent => {
                            Ok(CookieAction::RefuseWhileShuttingDown)
                        }
                        Some('A') => Ok(CookieAction::Restart),
                        Some(_) => Ok(CookieAction::Complete),
                        None => Err(DropReason::CookieSuperseded),
                    };
                    let cookie = cookie(local_tag, *peer_tag, tie_tags);
                    let row = (phase, local, peer, local_tie, peer_tie);
                    assert_eq!(judge_cookie(&view, &cookie, at(0)), expected, "{row:?}");
                    rows += 1;
                }
            }
        }
    }
    assert_eq!(rows, (1 + 2 + 2 + 2) * 2 * 9);
}

#[test]
fn tie_tags_of_zero_never_match() {
    let untied = HandshakeView { tie_tags: TieTags::default(), ..view(Phase::Established) };
    let cookie = cookie(NEW, NEW, TieTags::default());
    assert_eq!(judge_cookie(&untied, &cookie, at(0)), Err(DropReason::CookieSuperseded));
}

#[test]
fn an_expired_cookie_is_good_only_with_both_tags() {
    let late = at(60) + Duration::from_micros(5);
    let stale = Ok(CookieAction::Stale(Duration::from_micros(5)));
    let established = view(Phase::Established);
    let judge = |local, peer| judge_cookie(&established, &cookie(local, peer, TIE_TAGS), late);
    assert_eq!(judge(OURS, THEIRS), Ok(CookieAction::Complete));
    assert_eq!(judge(OURS, NEW), stale);
    assert_eq!(judge(NEW, THEIRS), stale);
    assert_eq!(judge(NEW, NEW), stale);
}

#[test]
fn a_restart_does_not_bring_back_addresses_given_up_since() {
    let mut fewer = view(Phase::Established);
    fewer.peer_addresses.truncate(1);
    let cookie = cookie(NEW, NEW, TIE_TAGS);
    assert_eq!(judge_cookie(&fewer, &cookie, at(0)), Err(DropReason::CookieSuperseded));
}

#[test]
fn nothing_befalls_an_association_that_has_ended() {
    let closed = view(Phase::Closed);
    for (local, peer) in [(OURS, THEIRS), (OURS, NEW), (NEW, NEW)] {
        let verdict = judge_cookie(&closed, &cookie(local, peer, TIE_TAGS), at(0));
        assert_eq!(verdict, Err(DropReason::NoAssociation));
    }
}

#[test]
fn shutdown_ack_of_a_former_association_is_answered_while_the_new_one_forms() {
    let mut world = World::new(EndpointConfig::default());
    let answer_to = |world: &mut World, phase, tag, chunk| {
        let arrival = arrival(packet(tag, [chunk]));
        let received = arrival.received();
        let packet = route::Incoming::open(&received, ChecksumPolicy::Verify).unwrap();
        let cx = Cx { now: world.now, rng: &mut world.rng, probe: &mut NoProbe };
        world.endpoint.answer_shutdown_ack(&cx, &received, &packet, &view(phase))
    };
    for phase in PHASES {
        let forming = matches!(phase, Phase::CookieWait | Phase::CookieEchoed);
        match answer_to(&mut world, phase, NEW, Chunk::ShutdownAck) {
            Ok(Collision::Reply(transmit)) if forming => {
                assert_eq!(transmit.packet.verification_tag, NEW);
                let complete = Chunk::ShutdownComplete { reflected_tag: true };
                assert_eq!(transmit.packet.chunks[..], [complete]);
            }
            Err(DropReason::WrongTag) if !forming => {}
            other => panic!("{phase:?}: {other:?}"),
        }
        let other = answer_to(&mut world, phase, NEW, Chunk::Pad(Raw::Borrowed(b"")));
        assert_eq!(other.unwrap_err(), DropReason::WrongTag);
        let untagged = answer_to(&mut world, phase, 0, Chunk::ShutdownAck);
        assert_eq!(untagged.unwrap_err(), DropReason::WrongTag);
    }
}

#[test]
fn a_restart_cannot_take_the_tag_of_another_association() {
    let mut world = World::listening();
    let echo_of = |world: &mut World, tag| {
        let (init_ack, cookie) = world.init_ack(&init_arrival(tag, ""));
        let echo = Chunk::CookieEcho(Raw::Borrowed(&cookie).into_owned());
        arrival(packet(init_ack.initiate_tag, [echo]))
    };
    let first = echo_of(&mut world, THEIRS);
    let Route::New(id, mut association) = world.handle(&first) else { panic!() };

    let mut collide = |world: &mut World, arrival: &Arrival| {
        assert!(matches!(world.handle(arrival), Route::Collision(found) if found == id));
        let mut cx = Cx { now: world.now, rng: &mut world.rng, probe: &mut NoProbe };
        world.endpoint.handle_collision(&mut cx, &arrival.received(), &mut association)
    };
    let Collision::Reply(init_ack) = collide(&mut world, &init_arrival(NEW, "")) else { panic!() };
    let Chunk::InitAck(init_ack) = &init_ack.packet.chunks[0] else { panic!() };
    let cookie = Raw::Borrowed(init_ack.parameters.state_cookie().unwrap()).into_owned();
    let echo = arrival(packet(init_ack.initiate_tag, [Chunk::CookieEcho(cookie)]));
    let other = world.associate(init_ack.initiate_tag, "203.0.113.1");
    let taken = collide(&mut world, &echo);
    assert!(matches!(taken, Collision::Drop(DropReason::TagTaken)), "{taken:?}");
    assert_eq!(world.endpoint.dropped(DropReason::TagTaken), 1);
    world.endpoint.on_notice(other, Notice::Closed);
    assert!(matches!(collide(&mut world, &echo), Collision::Handled));
}
