//! The handshake (RFC 9260 section 5): its state, the procedures of either side, and the content of its chunks.

mod agreed;
mod client;
mod server;

pub(crate) mod cookie;
pub(crate) mod init_parameters;
pub(crate) mod view;

pub(crate) use self::cookie::{Cookie, TieTags};

use alloc::boxed::Box;

use bytes::Bytes;
use polypath_wire::Causes;
use smallvec::SmallVec;

use super::Association;
use super::state::{Connected, Peer, State};
use crate::types::{PathSet, PeerAddress};
use crate::{Cx, Duration, Event, Instant, PathChange, PathId};

/// The client's half of the handshake.
#[derive(Debug)]
pub(crate) struct Handshake {
    pub(crate) step: HandshakeStep,
    /// Timer T1-init or T1-cookie.
    pub(crate) timer: T1,
    /// Path of the chunk that was sent last.
    pub(crate) path: PathId,
    /// Addresses of the peer that the user named.
    pub(crate) named: SmallVec<[PeerAddress; 2]>,
    /// Cookies that the peer found stale.
    pub(crate) stale_cookies: u32,
    /// Longer life to ask for after a cookie that was stale.
    pub(crate) life_extension: Option<Duration>,
    /// The user has requested a shutdown, which begins when the handshake is done.
    pub(crate) shutdown_wanted: bool,
}

/// The last chunk sent, and the results of the answer to the one before.
#[derive(Debug)]
pub(crate) enum HandshakeStep {
    /// INIT sent.
    CookieWait,
    /// COOKIE ECHO sent.
    CookieEchoed(Box<Echoed>),
}

/// What INIT ACK brought.
#[derive(Debug)]
pub(crate) struct Echoed {
    pub(crate) cookie: Bytes,
    /// Report on the INIT ACK, sent with the cookie.
    pub(crate) report: Option<Causes<'static>>,
    pub(crate) peer: Peer,
}

/// Timer T1-init or T1-cookie.
#[derive(Clone, Copy, Debug)]
pub(crate) struct T1 {
    /// Deadline.
    pub(crate) due: Instant,
    /// Present length.
    pub(crate) timeout: Duration,
    /// Retransmissions so far.
    pub(crate) retransmissions: u32,
    pub(crate) tries: Tries,
}

/// What was tried since T1 was started or expired.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tries {
    /// Paths on which an INIT was sent.
    pub(crate) asked: PathSet,
    /// Paths that the system has refused, or from which an INIT was refused.
    pub(crate) refused: PathSet,
    /// Path on which an ABORT refused an INIT while others could still be answered.
    pub(crate) aborted: Option<PathId>,
}

impl T1 {
    /// The timer of the first try.
    pub(crate) fn first(now: Instant, timeout: Duration) -> Self {
        Self { due: now + timeout, timeout, retransmissions: 0, tries: Tries::default() }
    }

    /// Begins a new round of tries at `now`.
    pub(crate) fn restart(&mut self, now: Instant) {
        self.due = now + self.timeout;
        self.tries = Tries::default();
    }
}

impl Handshake {
    /// INIT is to be sent to the addresses that the user named.
    pub(crate) fn new(timer: T1, named: &[PeerAddress]) -> Self {
        Self {
            step: HandshakeStep::CookieWait,
            timer,
            path: PathId(0),
            named: named.into(),
            stale_cookies: 0,
            life_extension: None,
            shutdown_wanted: false,
        }
    }

    /// Returns to COOKIE-WAIT and returns the results of the INIT ACK, if one has arrived.
    pub(crate) fn take_echoed(&mut self) -> Option<Echoed> {
        match core::mem::replace(&mut self.step, HandshakeStep::CookieWait) {
            HandshakeStep::CookieWait => None,
            HandshakeStep::CookieEchoed(echoed) => Some(*echoed),
        }
    }
}

impl Association {
    /// Enters ESTABLISHED from a state of the handshake.
    fn become_established(&mut self, cx: &mut Cx<'_>, peer: Peer) {
        let shutdown_wanted = self.state.handshake().is_some_and(|it| it.shutdown_wanted);
        self.outage.on_answer();
        self.state = State::Connected(Connected::established(peer));
        self.report_state(cx);
        self.begin_transfer(cx);
        if shutdown_wanted {
            self.begin_shutdown(cx);
        }
    }

    /// The association has just been established: notifies the user, and starts data transfer and heartbeats.
    fn begin_transfer(&mut self, cx: &mut Cx<'_>) {
        self.events.push(Event::Established {
            outbound_streams: self.streams.outbound,
            inbound_streams: self.streams.inbound,
        });
        if let Some(code) = self.peer_adaptation() {
            self.events.push(Event::AdaptationIndication(code));
        }
        for path in self.paths.iter().skip(1) {
            self.events.push(Event::Path { path: path.id, change: PathChange::Added });
        }
        self.obey_preference();
        for (stream, context) in self.transmitter.queue.remove_streams_from(self.streams.outbound) {
            self.events.push(Event::SendFailed { stream, context, transmitted: false });
        }
        let (transmitter, mut send_cx) = self.sending(cx);
        transmitter.after_acknowledgement(&mut send_cx);
        self.apply_effects(cx);
        self.start_heartbeats(cx);
    }
}
