//! States of an association (RFC 9260 section 4); each owns what exists only in it.

use bytes::Bytes;
use polypath_wire::Causes;

use crate::transmit::SendPhase;
use crate::types::PathSet;
use crate::{Duration, Instant, PathId};

/// State of an association.
///
/// Every step asks for it. With a tag of its own, instead of one hidden in a value that a state owns, a question about
/// several states is one test.
#[derive(Debug)]
#[repr(u8)]
pub(crate) enum State {
    /// INIT sent.
    CookieWait(Handshake),
    /// COOKIE ECHO sent.
    CookieEchoed {
        /// Timer T1-cookie.
        timer: Handshake,
        /// The cookie.
        cookie: Bytes,
        /// Report on the INIT ACK that goes with the cookie.
        report: Option<Causes<'static>>,
    },
    /// Data flows.
    Established,
    /// The user asked for shutdown; data is still outstanding.
    ShutdownPending,
    /// SHUTDOWN sent.
    ShutdownSent(Closing),
    /// SHUTDOWN received, the last time on this path; data is still outstanding.
    ShutdownReceived(PathId),
    /// SHUTDOWN ACK sent.
    ShutdownAckSent(Closing),
    /// Over; only packets that were queued before may still be sent.
    Closed,
}

/// Timer T1-init or T1-cookie.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Handshake {
    /// Deadline.
    pub(crate) due: Instant,
    /// Present length.
    pub(crate) timeout: Duration,
    /// Retransmissions so far.
    pub(crate) retransmissions: u32,
    /// Paths that took an INIT since the last expiry.
    pub(crate) asked: PathSet,
    /// Paths that the system has refused since the last expiry, or from which an INIT was refused.
    pub(crate) refused: PathSet,
    /// Path on which an ABORT refused an INIT while others could still be answered.
    pub(crate) aborted: Option<PathId>,
}

impl Handshake {
    /// The timer of the first try.
    pub(crate) fn first(now: Instant, timeout: Duration) -> Self {
        Self {
            due: now + timeout,
            timeout,
            retransmissions: 0,
            asked: PathSet::EMPTY,
            refused: PathSet::EMPTY,
            aborted: None,
        }
    }

    /// Begins a new round of tries at `now`.
    pub(crate) fn restart(&mut self, now: Instant) {
        self.due = now + self.timeout;
        (self.asked, self.refused, self.aborted) = (PathSet::EMPTY, PathSet::EMPTY, None);
    }
}

/// Timer T2-shutdown.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Closing {
    /// Deadline.
    pub(crate) due: Instant,
    /// Path that the chunk took, which an expiry counts against.
    pub(crate) path: PathId,
}

impl State {
    /// Whether DATA may be sent for the first time or again.
    pub(crate) fn may_send_data(&self) -> bool {
        matches!(self, Self::Established | Self::ShutdownPending | Self::ShutdownReceived(_))
    }

    /// Whether DATA may be sent, and more of it may come from the user.
    pub(crate) fn send_phase(&self) -> SendPhase {
        match self {
            Self::ShutdownPending => SendPhase::Draining,
            Self::Established | Self::ShutdownReceived(_) => SendPhase::Open,
            _ => SendPhase::Closed,
        }
    }

    /// Whether DATA is accepted.
    pub(crate) fn accepts_data(&self) -> bool {
        matches!(self, Self::Established | Self::ShutdownPending | Self::ShutdownSent(_))
    }

    /// Whether HEARTBEAT is answered (RFC 9260 section 8.3).
    pub(crate) fn answers_heartbeats(&self) -> bool {
        !matches!(self, Self::CookieWait(_) | Self::Closed)
    }

    /// Whether the user may hand over messages. They wait while the handshake lasts.
    pub(crate) fn accepts_messages(&self) -> bool {
        matches!(self, Self::CookieWait(_) | Self::CookieEchoed { .. } | Self::Established)
    }

    /// Whether INIT or COOKIE ECHO waits for its answer.
    pub(crate) fn is_handshake(&self) -> bool {
        matches!(self, Self::CookieWait(_) | Self::CookieEchoed { .. })
    }

    /// Whether the handshake is done and the association not over.
    pub(crate) fn is_synchronized(&self) -> bool {
        !matches!(self, Self::CookieWait(_) | Self::CookieEchoed { .. } | Self::Closed)
    }

    /// Deadline of the timer that the state owns.
    pub(crate) fn timer(&self) -> Option<Instant> {
        match self {
            Self::CookieWait(timer) | Self::CookieEchoed { timer, .. } => Some(timer.due),
            Self::ShutdownSent(closing) | Self::ShutdownAckSent(closing) => Some(closing.due),
            Self::Established
            | Self::ShutdownPending
            | Self::ShutdownReceived(_)
            | Self::Closed => None,
        }
    }
}
