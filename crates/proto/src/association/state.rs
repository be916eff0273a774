//! States of an association (RFC 9260 section 4); each owns what exists only in it.

use super::handshake::{Echoed, Handshake, HandshakeStep};
use crate::extension::ecn::echo::Echoes;
use crate::receive::Receiver;
use crate::transmit::SendPhase;
use crate::types::{Capabilities, Lazy};
use crate::{Instant, PathId};

/// State of an association.
///
/// Every step reads it. With a tag of its own, instead of one hidden in a value of a state, checking for several states
/// is one test; the same holds for [`Phase`].
#[derive(Debug)]
#[repr(u8)]
pub(crate) enum State {
    /// This side set out to connect: COOKIE-WAIT or COOKIE-ECHOED.
    Handshake(Handshake),
    /// ESTABLISHED, or shutting down.
    Connected(Connected),
    /// Over; only packets that were queued before may still be sent, and messages that arrived may be read. An association
    /// that ended before its peer answered has none.
    Closed(Option<Peer>),
}

/// An association with a known peer.
#[derive(Debug)]
pub(crate) struct Connected {
    pub(crate) peer: Peer,
    pub(crate) phase: ConnectedPhase,
    /// Deadline of T5-shutdown-guard, which runs from the first request for shutdown to the end.
    pub(crate) shutdown_guard: Option<Instant>,
}

/// Progress of the shutdown of a connected association.
#[derive(Clone, Copy, Debug)]
#[repr(u8)]
pub(crate) enum ConnectedPhase {
    /// Data flows.
    Established,
    /// The user has requested a shutdown; data is still outstanding.
    ShutdownPending,
    /// SHUTDOWN sent.
    ShutdownSent(T2),
    /// SHUTDOWN received, the last time on this path; the user may still hand over messages
    /// ([`ShutdownAnswer::OnRequest`](crate::config::ShutdownAnswer)).
    ShutdownHeld(PathId),
    /// SHUTDOWN received, the last time on this path; data is still outstanding.
    ShutdownReceived(PathId),
    /// SHUTDOWN ACK sent.
    ShutdownAckSent(T2),
}

/// The peer and its data, known from its INIT ACK or cookie on.
#[derive(Debug)]
pub(crate) struct Peer {
    /// Verification tag of packets to the peer, not 0.
    pub(crate) tag: u32,
    /// Extensions that both sides offered.
    pub(crate) extensions: Capabilities,
    pub(crate) receiver: Receiver,
    /// Congestion marks on received packets that the peer has not answered.
    pub(crate) echoes: Lazy<Echoes>,
}

/// Timer T2-shutdown.
#[derive(Clone, Copy, Debug)]
pub(crate) struct T2 {
    /// Deadline.
    pub(crate) due: Instant,
    /// Path that the chunk took, which an expiry counts against.
    pub(crate) path: PathId,
}

impl Connected {
    /// The handshake is done.
    pub(crate) fn established(peer: Peer) -> Self {
        Self { peer, phase: ConnectedPhase::Established, shutdown_guard: None }
    }

    /// Deadline of T2.
    #[inline]
    pub(crate) fn timer(&self) -> Option<Instant> {
        match self.phase {
            ConnectedPhase::ShutdownSent(timer) | ConnectedPhase::ShutdownAckSent(timer) => {
                Some(timer.due)
            }
            ConnectedPhase::Established
            | ConnectedPhase::ShutdownPending
            | ConnectedPhase::ShutdownHeld(_)
            | ConnectedPhase::ShutdownReceived(_) => None,
        }
    }
}

impl ConnectedPhase {
    #[inline]
    fn may_send_data(self) -> bool {
        matches!(
            self,
            Self::Established
                | Self::ShutdownPending
                | Self::ShutdownHeld(_)
                | Self::ShutdownReceived(_)
        )
    }

    #[inline]
    fn accepts_data(self) -> bool {
        matches!(self, Self::Established | Self::ShutdownPending | Self::ShutdownSent(_))
    }
}

/// Questions about several states.
impl State {
    /// Whether DATA may be sent for the first time or again.
    #[inline]
    pub(crate) fn may_send_data(&self) -> bool {
        matches!(self, Self::Connected(connected) if connected.phase.may_send_data())
    }

    /// Whether DATA may be sent, and the user may submit more.
    #[inline]
    pub(crate) fn send_phase(&self) -> SendPhase {
        // Called several times per packet: the phase is not moved.
        let Self::Connected(Connected { phase, .. }) = self else { return SendPhase::Closed };
        match phase {
            ConnectedPhase::ShutdownPending => SendPhase::Draining,
            ConnectedPhase::Established
            | ConnectedPhase::ShutdownHeld(_)
            | ConnectedPhase::ShutdownReceived(_) => SendPhase::Open,
            ConnectedPhase::ShutdownSent(_) | ConnectedPhase::ShutdownAckSent(_) => {
                SendPhase::Closed
            }
        }
    }

    /// Whether DATA is accepted.
    #[inline]
    pub(crate) fn accepts_data(&self) -> bool {
        matches!(self, Self::Connected(connected) if connected.phase.accepts_data())
    }

    /// Whether HEARTBEAT is answered (RFC 9260 section 8.3).
    pub(crate) fn answers_heartbeats(&self) -> bool {
        match self {
            Self::Handshake(handshake) => matches!(handshake.step, HandshakeStep::CookieEchoed(_)),
            Self::Connected(_) => true,
            Self::Closed(_) => false,
        }
    }

    /// Whether the user may hand over messages. They wait while the handshake lasts.
    pub(crate) fn accepts_messages(&self) -> bool {
        match self {
            Self::Handshake(handshake) => !handshake.shutdown_wanted,
            Self::Connected(connected) => matches!(
                connected.phase,
                ConnectedPhase::Established | ConnectedPhase::ShutdownHeld(_)
            ),
            Self::Closed(_) => false,
        }
    }

    /// Whether INIT or COOKIE ECHO waits for its answer.
    pub(crate) fn is_handshake(&self) -> bool {
        matches!(self, Self::Handshake(_))
    }

    /// Whether INIT waits for its answer: the peer is unknown.
    pub(crate) fn is_cookie_wait(&self) -> bool {
        self.handshake()
            .is_some_and(|handshake| matches!(handshake.step, HandshakeStep::CookieWait))
    }

    /// Whether the handshake is done and the association not over.
    #[inline]
    pub(crate) fn is_connected(&self) -> bool {
        matches!(self, Self::Connected(_))
    }

    /// Whether the association is over.
    pub(crate) fn is_closed(&self) -> bool {
        matches!(self, Self::Closed(_))
    }

    /// Deadline of T1 or T2.
    pub(crate) fn timer(&self) -> Option<Instant> {
        match self {
            Self::Handshake(handshake) => Some(handshake.timer.due),
            Self::Connected(connected) => connected.timer(),
            Self::Closed(_) => None,
        }
    }
}

/// What the states own.
impl State {
    /// The handshake, while it lasts.
    pub(crate) fn handshake(&self) -> Option<&Handshake> {
        match self {
            Self::Handshake(handshake) => Some(handshake),
            Self::Connected(_) | Self::Closed(_) => None,
        }
    }

    /// The handshake, while it lasts.
    pub(crate) fn handshake_mut(&mut self) -> Option<&mut Handshake> {
        match self {
            Self::Handshake(handshake) => Some(handshake),
            Self::Connected(_) | Self::Closed(_) => None,
        }
    }

    /// What INIT ACK brought, until the cookie is acknowledged.
    pub(crate) fn echoed(&self) -> Option<&Echoed> {
        match &self.handshake()?.step {
            HandshakeStep::CookieWait => None,
            HandshakeStep::CookieEchoed(echoed) => Some(echoed),
        }
    }

    /// Progress of the shutdown; `None` unless connected.
    #[inline]
    pub(crate) fn phase(&self) -> Option<ConnectedPhase> {
        match self {
            Self::Connected(connected) => Some(connected.phase),
            Self::Handshake(_) | Self::Closed(_) => None,
        }
    }

    /// Enters the next phase of a connected association.
    pub(crate) fn enter(&mut self, phase: ConnectedPhase) {
        debug_assert!(self.is_connected(), "{phase:?} without a peer");
        if let Self::Connected(connected) = self {
            connected.phase = phase;
        }
    }

    /// The peer, once it has answered.
    #[inline]
    pub(crate) fn peer(&self) -> Option<&Peer> {
        match self {
            Self::Connected(connected) => Some(&connected.peer),
            Self::Handshake(_) | Self::Closed(_) => self.peer_apart(),
        }
    }

    /// The peer before and after a connection. A function of its own, since every packet needs the peer of a connection
    /// several times.
    #[cold]
    fn peer_apart(&self) -> Option<&Peer> {
        match self {
            Self::Closed(peer) => peer.as_ref(),
            _ => self.echoed().map(|echoed| &echoed.peer),
        }
    }

    /// The peer, once it has answered.
    #[inline]
    pub(crate) fn peer_mut(&mut self) -> Option<&mut Peer> {
        match self {
            Self::Connected(connected) => Some(&mut connected.peer),
            Self::Handshake(_) | Self::Closed(_) => self.peer_apart_mut(),
        }
    }

    #[cold]
    fn peer_apart_mut(&mut self) -> Option<&mut Peer> {
        match self {
            Self::Closed(peer) => peer.as_mut(),
            _ => match &mut self.handshake_mut()?.step {
                HandshakeStep::CookieWait => None,
                HandshakeStep::CookieEchoed(echoed) => Some(&mut echoed.peer),
            },
        }
    }

    /// Takes the peer out, for the next state to own it.
    pub(crate) fn take_peer(&mut self) -> Option<Peer> {
        match core::mem::replace(self, Self::Closed(None)) {
            Self::Connected(connected) => Some(connected.peer),
            Self::Handshake(mut handshake) => handshake.take_echoed().map(|echoed| echoed.peer),
            Self::Closed(peer) => peer,
        }
    }

    /// Verification tag of packets to the peer.
    #[inline]
    pub(crate) fn peer_tag(&self) -> Option<u32> {
        self.peer().map(|peer| peer.tag)
    }

    /// What takes in what the peer sends.
    #[inline]
    pub(crate) fn receiver(&self) -> Option<&Receiver> {
        self.peer().map(|peer| &peer.receiver)
    }

    /// What takes in what the peer sends.
    #[inline]
    pub(crate) fn receiver_mut(&mut self) -> Option<&mut Receiver> {
        self.peer_mut().map(|peer| &mut peer.receiver)
    }

    /// Whether both sides offered these extensions.
    pub(crate) fn has_agreed_on(&self, extensions: Capabilities) -> bool {
        self.peer().is_some_and(|peer| peer.extensions.contains(extensions))
    }
}

#[cfg(test)]
mod tests;
