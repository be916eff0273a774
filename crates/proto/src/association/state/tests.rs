use alloc::boxed::Box;

use super::*;
use crate::association::handshake::T1;
use crate::config::{BufferBounds, BufferSize, NrSack, Preset, Reneging};
use crate::receive::{Incomplete, ReceiverConfig};
use crate::{Duration, Tsn};

const TAG: u32 = 99;
const T1_DUE: Duration = Duration::from_secs(1);
const T2_DUE: Instant = Instant::from_nanos(7);

fn peer() -> Peer {
    let receiver = Receiver::new(ReceiverConfig {
        initial_peer_tsn: Tsn(1),
        buffer: BufferBounds { first: 10_000, most: 10_000 },
        sizing: BufferSize::Bytes,
        incomplete: Incomplete::Violation,
        chunk: crate::types::UserDataChunk::Data,
        inbound_streams: 1,
        mtu: 1500,
        policy: Preset::Rfc9260.policies().delayed_ack,
        advertised_window: Preset::Rfc9260.policies().advertised_window,
        nr_sack: NrSack::Off,
        reneging: Reneging::Never,
        reorder_limit: None,
        partial_delivery_point: None,
    });
    let echoes = Default::default();
    Peer { tag: TAG, extensions: Capabilities::NR_SACK, receiver, echoes }
}

fn handshake(step: HandshakeStep) -> State {
    let timer = T1::first(Instant::ZERO, T1_DUE);
    State::Handshake(Handshake { step, ..Handshake::new(timer, &[]) })
}

fn echoed() -> State {
    let echoed = Echoed { cookie: Default::default(), report: None, peer: peer() };
    handshake(HandshakeStep::CookieEchoed(Box::new(echoed)))
}

fn connected(phase: ConnectedPhase) -> State {
    State::Connected(Connected { phase, ..Connected::established(peer()) })
}

#[test]
fn what_each_state_allows() {
    let t2 = T2 { due: T2_DUE, path: PathId(0) };
    let (t1_due, t2_due) = (Some(Instant::ZERO + T1_DUE), Some(T2_DUE));
    // sends DATA, takes DATA, takes messages of the user, answers HEARTBEAT, T1 or T2
    for (state, allows, timer) in [
        (handshake(HandshakeStep::CookieWait), [false, false, true, false], t1_due),
        (echoed(), [false, false, true, true], t1_due),
        (connected(ConnectedPhase::Established), [true, true, true, true], None),
        (connected(ConnectedPhase::ShutdownPending), [true, true, false, true], None),
        (connected(ConnectedPhase::ShutdownSent(t2)), [false, true, false, true], t2_due),
        (connected(ConnectedPhase::ShutdownHeld(PathId(0))), [true, false, true, true], None),
        (connected(ConnectedPhase::ShutdownReceived(PathId(0))), [true, false, false, true], None),
        (connected(ConnectedPhase::ShutdownAckSent(t2)), [false, false, false, true], t2_due),
        (State::Closed(Some(peer())), [false; 4], None),
        (State::Closed(None), [false; 4], None),
    ] {
        let found = [
            state.may_send_data(),
            state.accepts_data(),
            state.accepts_messages(),
            state.answers_heartbeats(),
        ];
        assert_eq!((found, state.timer()), (allows, timer), "{state:?}");
        assert_eq!(state.send_phase() != SendPhase::Closed, state.may_send_data(), "{state:?}");
        let is_one = [state.is_handshake(), state.is_connected(), state.is_closed()];
        assert_eq!(is_one.iter().filter(|is| **is).count(), 1, "{state:?}");
    }
}

#[test]
fn a_user_who_wants_to_shut_down_sends_nothing_more() {
    let mut state = handshake(HandshakeStep::CookieWait);
    state.handshake_mut().unwrap().shutdown_wanted = true;
    assert!(!state.accepts_messages());
}

#[test]
fn the_peer_is_known_from_init_ack_to_beyond_the_end() {
    assert!(handshake(HandshakeStep::CookieWait).take_peer().is_none());
    assert!(State::Closed(None).take_peer().is_none());
    for mut state in [echoed(), connected(ConnectedPhase::Established), State::Closed(Some(peer()))]
    {
        assert_eq!(state.peer_tag(), Some(TAG));
        assert!(state.receiver().is_some() && state.receiver_mut().is_some());
        assert!(state.has_agreed_on(Capabilities::NR_SACK));
        assert!(!state.has_agreed_on(Capabilities::NR_SACK | Capabilities::PACKET_DROP));
        assert_eq!(state.take_peer().map(|peer| peer.tag), Some(TAG));
        assert!(state.is_closed() && state.peer().is_none());
    }
}

#[test]
fn a_stale_cookie_makes_the_peer_unknown_again() {
    let mut state = echoed();
    assert!(state.echoed().is_some() && !state.is_cookie_wait());
    assert!(state.handshake_mut().and_then(Handshake::take_echoed).is_some());
    assert!(state.is_cookie_wait() && state.peer_tag().is_none());
    assert!(state.handshake_mut().and_then(Handshake::take_echoed).is_none());
}
