//! What an acknowledgement does to T3-rtx of a path.
//!
//! RFC 9260 section 6.3.2 rules R2 to R4, per path; `smart`: INET `cmtSmartT3Reset` (parameter of its SCTP module, on
//! by default). The rule of the RFC uses TSNs: the timer is restarted when the lowest outstanding one was acknowledged.
//! A retransmission moved from another path is often the lowest TSN of its new path, but was sent after most of the
//! outstanding chunks there; while it waits in the queue of a slow path, acknowledgements of earlier chunks restart
//! nothing, and the timer expires although there is progress. The smart rule uses times: the timer is restarted when
//! the oldest unacknowledged transmission has changed. INET looks at it before and after each SACK. On a lossy path, the
//! oldest one is nearly always a lost chunk, and changes when that is retransmitted, between two SACKs: no SACK would
//! restart the timer, whatever it acknowledges. Here the oldest transmission is compared with that after the last SACK that
//! acknowledged a chunk of the path, or that for which the timer was started. In
//! both, a retransmission of the lowest TSN restarts the timer when it is sent.

use alloc::collections::VecDeque;

use crate::config::T3Restart;
use crate::{Instant, Tsn};

/// What a SACK did to a path that still has data in flight or not.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct T3View {
    /// Counted bytes in flight.
    pub(crate) flight: u64,
    /// The lowest outstanding TSN of the path was acknowledged.
    pub(crate) lowest_acked: bool,
    /// The cumulative ack newly acknowledged a chunk of the path; or gap ack blocks did, and the oldest unacknowledged transmission there is
    /// another one than after the last SACK that acknowledged a chunk of the path.
    pub(crate) has_progress: bool,
    /// The peer took an acknowledgement back.
    pub(crate) reneged: bool,
}

/// What happens to the timer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum T3Action {
    Stop,
    Restart,
    /// Starts it unless it runs.
    Start,
    Keep,
}

/// Decides.
pub(crate) fn on_ack(policy: T3Restart, view: &T3View) -> T3Action {
    let restarts = match policy {
        T3Restart::Rfc => view.lowest_acked,
        T3Restart::Smart => view.has_progress,
    };
    match (view.flight, restarts, view.reneged) {
        (0, _, _) => T3Action::Stop,
        (_, true, _) => T3Action::Restart,
        (_, false, true) => T3Action::Start,
        (_, false, false) => T3Action::Keep,
    }
}

/// Retransmissions on a path in the order in which they were sent, which is not that of their TSNs. Those that are no
/// longer outstanding are removed when they reach the front, so that each has the same cost once.
#[derive(Debug)]
pub(crate) struct RetransmissionLog {
    sent: VecDeque<(Tsn, Instant)>,
    /// When the oldest transmission was made, of all on the path, that the last SACK with news of the path left unacknowledged.
    oldest: Option<Instant>,
}

impl RetransmissionLog {
    /// Nothing was retransmitted.
    pub(crate) const fn new() -> Self {
        Self { sent: VecDeque::new(), oldest: None }
    }

    /// Gives memory back that nothing needs now.
    pub(crate) fn release_memory(&mut self) {
        self.sent.shrink_to_fit();
    }

    #[cfg(test)]
    pub(crate) fn is_empty(&self) -> bool {
        self.sent.is_empty()
    }

    /// Notes a retransmission.
    pub(crate) fn push(&mut self, tsn: Tsn, at: Instant) {
        self.sent.push_back((tsn, at));
    }

    /// `oldest` is the oldest unacknowledged transmission on the path. Returns whether it was another one at the previous call.
    pub(crate) fn notes_new_oldest(&mut self, oldest: Option<Instant>) -> bool {
        core::mem::replace(&mut self.oldest, oldest) != oldest
    }

    /// When the oldest one was sent that still waits for its acknowledgement.
    pub(crate) fn oldest(&mut self, waits: impl Fn(Tsn, Instant) -> bool) -> Option<Instant> {
        while let Some(&(tsn, at)) = self.sent.front() {
            if waits(tsn, at) {
                return Some(at);
            }
            self.sent.pop_front();
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Duration;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    #[test]
    fn actions() {
        use T3Action::{Keep, Restart, Start, Stop};
        let quiet =
            T3View { flight: 1500, lowest_acked: false, has_progress: false, reneged: false };
        let older_acked = T3View { has_progress: true, ..quiet };
        for (what, view, rfc, smart) in [
            ("nothing of the path", quiet, Keep, Keep),
            ("all acknowledged", T3View { flight: 0, ..older_acked }, Stop, Stop),
            ("in order", T3View { lowest_acked: true, ..older_acked }, Restart, Restart),
            // The lowest TSN was moved from another path after the others.
            ("an older one, the lowest waits", older_acked, Keep, Restart),
            (
                "the lowest, an older one waits",
                T3View { lowest_acked: true, ..quiet },
                Restart,
                Keep,
            ),
            ("taken back", T3View { reneged: true, ..quiet }, Start, Start),
        ] {
            assert_eq!(on_ack(T3Restart::Rfc, &view), rfc, "{what}");
            assert_eq!(on_ack(T3Restart::Smart, &view), smart, "{what}");
        }
    }

    #[test]
    fn the_oldest_is_new_once_whatever_made_it_so() {
        let mut log = RetransmissionLog::new();
        for (oldest, is_new) in
            [(Some(5), true), (Some(5), false), (Some(9), true), (None, true), (None, false)]
        {
            assert_eq!(log.notes_new_oldest(oldest.map(at)), is_new, "{oldest:?}");
        }
    }

    #[test]
    fn the_log_forgets_what_was_acknowledged_or_sent_again() {
        let mut log = RetransmissionLog::new();
        let sent = [(u32::MAX, 10), (3, 20), (0, 30), (u32::MAX, 40)];
        sent.iter().for_each(|&(tsn, ms)| log.push(Tsn(tsn), at(ms)));
        let mut outstanding = sent.to_vec();
        let mut oldest = |outstanding: &[(u32, u64)]| {
            log.oldest(|tsn, time| {
                outstanding.iter().any(|&(t, ms)| (Tsn(t), at(ms)) == (tsn, time))
            })
        };
        // The highest serial number before the wrap was retransmitted at 40 ms.
        outstanding.remove(0);
        assert_eq!(oldest(&outstanding), Some(at(20)));
        // TSN 0 is acknowledged behind the front, then the front.
        outstanding.remove(1);
        assert_eq!(oldest(&outstanding), Some(at(20)));
        outstanding.remove(0);
        assert_eq!(oldest(&outstanding), Some(at(40)));
        assert_eq!(oldest(&[]), None);
        log.release_memory();
        assert_eq!(log.sent.capacity(), 0);
    }
}
