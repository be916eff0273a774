//! Probing a closed receive window (RFC 9260 section 6.1 A).
//!
//! Once the peer has announced that it has no room and everything sent is acknowledged, one chunk may go to find out
//! whether a window update was lost: the first after an RTO, further ones after twice the time each. While a probe is
//! outstanding, its T3-rtx does the same.

use crate::{Duration, Instant};

/// Where the probing stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum ZeroWindow {
    /// The receive window is open, or what was sent is not all acknowledged yet.
    #[default]
    Idle,
    /// The next probe goes at `due`.
    Waiting {
        /// When.
        due: Instant,
        /// Time since the window was found closed, or since the answer to the last probe.
        interval: Duration,
    },
    /// A probe may go.
    Due {
        /// What was waited for it.
        interval: Duration,
    },
    /// A probe is outstanding.
    Sent {
        /// What was waited for it.
        interval: Duration,
    },
}

/// What decides the next step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ZeroWindowView {
    /// Receive window that the peer announced last.
    pub(crate) advertised: u64,
    /// Whether anything is sent and not acknowledged.
    pub(crate) is_outstanding: bool,
    /// Retransmission timeout of the path that would carry the probe.
    pub(crate) rto: Duration,
    /// RTO.Max.
    pub(crate) longest: Duration,
}

/// The peer's receive window while it is closed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ClosedWindow {
    /// When the peer closed it. What was sent since then are probes.
    since: Instant,
    /// When the peer last said that it is closed and acknowledged nothing.
    answered: Option<Instant>,
}

/// What an expiry of T3-rtx means.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Expiry {
    /// Data was lost.
    Loss,
    /// A probe of the closed window was lost, or its answer. That is no statement about the path's capacity.
    SilentProbe,
    /// The peer has answered since the probe was sent, and still has no room: nothing was lost.
    AnsweredProbe,
}

impl ClosedWindow {
    /// The peer closed its window.
    pub(crate) fn new(now: Instant) -> Self {
        Self { since: now, answered: None }
    }

    /// The peer acknowledged nothing and has no room.
    pub(crate) fn on_answer(&mut self, now: Instant) {
        self.answered = Some(now);
    }

    /// Whether what was sent at `sent_at` probes the window.
    pub(crate) fn is_probe(&self, sent_at: Instant) -> bool {
        sent_at >= self.since
    }
}

/// What the expiry of T3-rtx of a path means, whose oldest transmission in flight was made at `oldest` (RFC 9260 section
/// 6.1 A). Who retransmits into a closed window probes it, whatever the chunk was when it was sent first.
pub(crate) fn expiry(closed: Option<ClosedWindow>, oldest: Option<Instant>) -> Expiry {
    match (closed, oldest) {
        (Some(closed), Some(sent_at)) if closed.is_probe(sent_at) => {
            match closed.answered.is_some_and(|answered| answered >= sent_at) {
                true => Expiry::AnsweredProbe,
                false => Expiry::SilentProbe,
            }
        }
        _ => Expiry::Loss,
    }
}

impl ZeroWindow {
    /// Looks at the window as it is now.
    pub(crate) fn observe(&mut self, now: Instant, view: &ZeroWindowView) {
        if view.advertised > 0 {
            *self = Self::Idle;
        } else if !view.is_outstanding {
            let interval = match *self {
                Self::Idle => view.rto,
                Self::Sent { interval } => (interval * 2).min(view.longest.max(view.rto)),
                Self::Waiting { .. } | Self::Due { .. } => return,
            };
            *self = Self::Waiting { due: now + interval, interval };
        }
    }

    /// Takes note of the time.
    pub(crate) fn expire(&mut self, now: Instant) {
        if let Self::Waiting { due, interval } = *self
            && due <= now
        {
            *self = Self::Due { interval };
        }
    }

    /// A new chunk was sent.
    pub(crate) fn on_sent(&mut self) {
        if let Self::Due { interval } = *self {
            *self = Self::Sent { interval };
        }
    }

    /// When to call [`expire`](Self::expire).
    pub(crate) fn deadline(&self) -> Option<Instant> {
        match self {
            Self::Waiting { due, .. } => Some(*due),
            _ => None,
        }
    }

    /// Whether a chunk may probe the window.
    pub(crate) fn may_probe(&self) -> bool {
        matches!(self, Self::Due { .. })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    fn view(advertised: u64, is_outstanding: bool) -> ZeroWindowView {
        let (rto, longest) = (Duration::from_millis(100), Duration::from_millis(700));
        ZeroWindowView { advertised, is_outstanding, rto, longest }
    }

    #[test]
    fn only_what_was_sent_into_a_closed_window_probes_it() {
        let closed = |answered: Option<u64>| {
            let mut closed = ClosedWindow::new(at(100));
            answered.into_iter().for_each(|ms| closed.on_answer(at(ms)));
            Some(closed)
        };
        // (what, the peer's window, oldest transmission in flight, meaning)
        for (what, window, oldest, expected) in [
            ("an open window", None, Some(50), Expiry::Loss),
            ("sent before the window closed", closed(Some(300)), Some(99), Expiry::Loss),
            ("no data at all, but a FORWARD-TSN", closed(Some(300)), None, Expiry::Loss),
            ("nobody answered", closed(None), Some(100), Expiry::SilentProbe),
            ("the answer was to one before", closed(Some(199)), Some(200), Expiry::SilentProbe),
            ("an answer since", closed(Some(210)), Some(200), Expiry::AnsweredProbe),
        ] {
            assert_eq!(expiry(window, oldest.map(at)), expected, "{what}");
        }
    }

    #[test]
    fn probes_follow_at_doubled_intervals() {
        let closed = view(0, false);
        let mut window = ZeroWindow::default();
        window.observe(at(0), &view(0, true));
        assert_eq!(window.deadline(), None, "what is outstanding asks the peer already");
        let mut now = 10;
        for interval in [100, 200, 400, 700, 700] {
            window.observe(at(now), &closed);
            // Looking again puts nothing off.
            window.observe(at(now + 50), &closed);
            assert_eq!(window.deadline(), Some(at(now + interval)));
            window.expire(at(now + interval - 1));
            assert!(!window.may_probe());
            now += interval;
            window.expire(at(now));
            assert!(window.may_probe());
            assert_eq!(window.deadline(), None, "waiting for the user wakes nobody");
            window.on_sent();
            window.observe(at(now), &view(0, true));
            assert!(!window.may_probe());
            now += 20;
        }
        window.observe(at(now), &view(1, false));
        assert_eq!(window, ZeroWindow::Idle);
        window.observe(at(now), &closed);
        assert_eq!(window.deadline(), Some(at(now + 100)), "the backoff begins anew");
    }
}
