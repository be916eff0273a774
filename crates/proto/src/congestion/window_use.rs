//! Whether a path uses its congestion window.
//!
//! A window that is not used says nothing about the path, and must not grow (RFC 9438 section 5.8, RFC 9406 section 4.3). One
//! that was full at any time of the last round trip is used: a sender that spaces its packets fills it only now and then.

use super::{Context, Parameters};
use crate::Instant;

/// When the window of a path was last full.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct WindowUse {
    full_at: Option<Instant>,
}

impl WindowUse {
    /// So many bytes are outstanding in a window of `cwnd`, or were just before now.
    pub(crate) fn note(&mut self, now: Instant, path: &Parameters, cwnd: u64, flight: u64) {
        if path.is_full(cwnd, flight) {
            self.full_at = Some(now);
        }
    }

    /// Whether it was full within the last round trip.
    pub(crate) fn is_used(&self, cx: &Context<'_>) -> bool {
        let round_trip = cx.srtt.unwrap_or(cx.rto);
        self.full_at.is_some_and(|full_at| cx.now.since(full_at) <= round_trip)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Duration;

    #[test]
    fn a_window_counts_as_used_for_a_round_trip() {
        let p = Parameters::plain(1500, 6000);
        let mut usage = WindowUse::default();
        let at = |ms| Context {
            srtt: Some(Duration::from_millis(100)),
            ..Context::new(Instant::ZERO + Duration::from_millis(ms), &p)
        };
        assert!(!usage.is_used(&at(0)));
        usage.note(at(10).now, &p, 30_000, 29_999);
        assert!(!usage.is_used(&at(10)));
        usage.note(at(20).now, &p, 30_000, 30_000);
        assert!(usage.is_used(&at(20)) && usage.is_used(&at(120)));
        usage.note(at(60).now, &p, 30_000, 0);
        assert!(usage.is_used(&at(120)), "that it is not full now takes nothing back");
        assert!(!usage.is_used(&at(121)));
    }
}
