//! Copies of data on a second path.
//!
//! Two uses, both for the promise that a further path never hurts:
//!
//! * A path on which data was never measured carries no data of its own while another one is there: what it gets may arrive
//!   late or never. It carries one copy at a time of what went over another path, until its answer measures the path (redundant
//!   mode until the characteristics of a path are known: draft-zuo-mptcp-scheduler-00).
//! * A thin flow, such as voice or requests, sends each message over two paths when that costs next to nothing: it arrives
//!   when the first of both does, so that a loss on one costs no round trip.
//!
//! A copy counts neither as in flight nor in a congestion window; a budget limits them.

use crate::{Duration, Instant, Tsn};

/// Bytes per second that copies of thin flows may take of a path: some tens of small messages.
const MOST_RATE: u64 = 20_000;

/// What may leave in one go, as time at that rate.
const BURST: Duration = Duration::from_millis(200);

/// Copies that may stay without an answer that measures the path before it is tried with data: the peer answers them
/// over other paths.
const MOST_UNANSWERED: u8 = 3;

/// A copy recovers a loss on the other path if it arrives within so many of that path's round trips: a probe is sent after
/// two, and its answer takes half of one.
const RECOVERY_ROUND_TRIPS: u64 = 5;

/// Paths with RTTs this low make no difference to the application.
const ALIKE: Duration = Duration::from_millis(20);

/// The copy of which the answer measures its path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Copy {
    tsn: Tsn,
    sent_at: Instant,
}

/// Copies on one path.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Copies {
    awaited: Option<Copy>,
    unanswered: u8,
    /// At the rate that copies may take, all of them have left by then.
    paid_until: Instant,
}

impl Copies {
    /// Whether a path that was never measured may take a copy now; one that waits for its answer longer than `rto` waits no more.
    pub(crate) fn may_measure(&self, now: Instant, rto: Duration) -> bool {
        !self.is_given_up() && self.awaited.is_none_or(|copy| now.since(copy.sent_at) > rto)
    }

    /// Whether copies could not measure the path.
    pub(crate) fn is_given_up(&self) -> bool {
        self.unanswered >= MOST_UNANSWERED
    }

    /// Whether a copy of so many bytes is in the budget for thin flows.
    pub(crate) fn may_repeat(&self, now: Instant, bytes: u64) -> bool {
        self.paid_until + cost(bytes) <= now + BURST
    }

    /// A copy was sent.
    pub(crate) fn on_sent(&mut self, now: Instant, tsn: Tsn, bytes: u64) {
        if self.awaited.replace(Copy { tsn, sent_at: now }).is_some() {
            self.unanswered = self.unanswered.saturating_add(1);
        }
        self.paid_until = self.paid_until.max(now) + cost(bytes);
    }

    /// A SACK came over another path. Where it acknowledges the copy long after its answer was due, `rtt` being the least that a
    /// round trip takes, the peer answers over other paths. Returns whether it acknowledges the copy, and so late that the copy
    /// may be what arrived.
    pub(crate) fn on_other_sack(
        &mut self,
        now: Instant,
        rtt: Duration,
        covers: impl FnOnce(Tsn) -> bool,
    ) -> bool {
        let Some(copy) = self.awaited.filter(|copy| covers(copy.tsn)) else { return false };
        let age = now.since(copy.sent_at);
        if age > rtt * 4 {
            self.unanswered = MOST_UNANSWERED;
        }
        age >= rtt / 2
    }

    /// A SACK came over the path, which may answer the copy with this TSN that was sent at this time. Returns when it was sent, if
    /// so.
    pub(crate) fn on_sack(
        &mut self,
        is_answer: impl FnOnce(Tsn, Instant) -> bool,
    ) -> Option<Instant> {
        let copy = self.awaited.filter(|copy| is_answer(copy.tsn, copy.sent_at))?;
        (self.awaited, self.unanswered) = (None, 0);
        Some(copy.sent_at)
    }
}

fn cost(bytes: u64) -> Duration {
    Duration::from_nanos(bytes.saturating_mul(1_000_000_000 / MOST_RATE))
}

/// Whether a copy on a path with a round trip of `its_rtt` arrives before a loss on one of `rtt` is mended.
pub(crate) fn is_useful(rtt: Duration, its_rtt: Duration) -> bool {
    its_rtt <= (rtt * RECOVERY_ROUND_TRIPS).max(ALIKE)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    #[test]
    fn one_copy_at_a_time_measures_a_path() {
        let mut copies = Copies::default();
        let rto = Duration::from_millis(300);
        assert!(copies.may_measure(at(0), rto));
        copies.on_sent(at(0), Tsn(7), 1000);
        assert!(!copies.may_measure(at(300), rto));
        assert_eq!(copies.on_sack(|tsn, _| tsn == Tsn(6)), None);
        assert_eq!(copies.on_sack(|tsn, _| tsn == Tsn(7)), Some(at(0)));
        assert_eq!(copies.on_sack(|_, _| true), None, "once");
        assert!(copies.may_measure(at(300), rto));
    }

    #[test]
    fn a_peer_that_answers_elsewhere_is_not_asked_for_ever() {
        let mut copies = Copies::default();
        let rto = Duration::from_millis(300);
        for n in 0..4 {
            assert!(copies.may_measure(at(1000 * n), rto), "{n}");
            copies.on_sent(at(1000 * n), Tsn(n as u32), 1000);
        }
        assert!(copies.is_given_up() && !copies.may_measure(at(9000), rto));
        copies.on_sack(|_, _| true);
        assert!(!copies.is_given_up());
    }

    #[test]
    fn an_answer_over_another_path_ends_the_wait() {
        let rtt = Duration::from_millis(10);
        for (at_ms, covers, given_up) in [
            (4, true, false),
            (5, true, false),
            (40, true, false),
            (41, false, false),
            (41, true, true),
        ] {
            let mut copies = Copies::default();
            copies.on_sent(at(0), Tsn(7), 1000);
            let arrived = copies.on_other_sack(at(at_ms), rtt, |_| covers);
            assert_eq!(arrived, covers && at_ms >= 5, "{at_ms} {covers}");
            assert_eq!(copies.is_given_up(), given_up, "{at_ms} {covers}");
        }
    }

    #[test]
    fn the_budget_is_that_of_a_thin_flow() {
        let mut copies = Copies::default();
        let sent = |copies: &mut Copies, ms: u64| {
            let may = copies.may_repeat(at(ms), 200);
            if may {
                copies.on_sent(at(ms), Tsn(0), 200);
            }
            usize::from(may)
        };
        // 64 kbit/s in packets of 20 ms: 200 bytes each.
        let voice: usize = (0..500).map(|n| sent(&mut copies, 20 * n)).sum();
        assert_eq!(voice, 500);
        for (bytes, may) in [(4000, true), (4001, false)] {
            assert_eq!(Copies::default().may_repeat(at(0), bytes), may, "200 ms at 20 kB/s");
        }
        // A message of 200 bytes each millisecond gets a tenth.
        let bulk: usize = (0..1000).map(|n| sent(&mut copies, 20_000 + n)).sum();
        assert_eq!(bulk, 119);
    }

    #[test]
    fn a_copy_that_comes_too_late_is_none() {
        let ms = Duration::from_millis;
        for (rtt, its_rtt, useful) in
            [(40, 200, true), (40, 201, false), (1, 20, true), (1, 21, false), (300, 10, true)]
        {
            assert_eq!(is_useful(ms(rtt), ms(its_rtt)), useful, "{rtt} {its_rtt}");
        }
    }
}
