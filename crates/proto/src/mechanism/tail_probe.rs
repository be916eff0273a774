//! Tail probes: when a path is silent for two of its round trips and nothing more may be sent there, its last chunk is retransmitted.
//!
//! What is lost at the tail no later chunk reports missing, and T3-rtx waits for RTO.Min at least. RFC 8985 section 7 (TLP)
//! probes the path of a TCP connection then; here the probe takes whichever path answers first, with I bit (RFC 7053), and its
//! answer decides about the rest as in RFC 8985 section 6.2 (RACK): chunks that were overdue already when the probe was
//! sent are lost.

use crate::{Duration, Instant};

/// Least time to wait: timers and hosts are not more exact.
const LEAST: Duration = Duration::from_millis(2);

/// Longest time for which a peer is expected to delay a SACK (RFC 9260 section 6.2).
const LONGEST_SACK_DELAY: Duration = Duration::from_millis(200);

/// State of a path at the tail.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum TailPhase {
    /// There is nothing to wait for, or something was just sent or acknowledged.
    #[default]
    Idle,
    /// The path is silent.
    Waiting,
    /// It was silent for too long and a probe is out.
    Sent,
    /// Nothing of it may be probed; the rest is for T3-rtx.
    Spent,
}

/// The timer of a path.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TailProbe {
    phase: TailPhase,
    /// When the probe is due while the path waits for it, and its answer once it is out; else in the far future.
    due: Instant,
    /// When its lowest chunk is overdue and another path may take it; in the far future where none can.
    overdue_at: Instant,
}

/// What a path waits for when nothing more can be sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Tail {
    /// Something may be sent on the path, or nothing is outstanding there.
    No,
    /// Nothing is outstanding on this path, or its round trip is not known, or T3-rtx expires first.
    Nothing,
    /// What is outstanding is overdue after so long.
    Answer(Duration),
}

/// Whether the peer answers at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Answer {
    /// Another packet causes it, or a chunk requests it.
    AtOnce,
    /// It may delay its SACK so long.
    Delayed(Duration),
    /// It has passed: a chunk sent later on the path has arrived, so this one is lost or only reordered (RFC 8985
    /// section 6.2), within this window if the path's is known.
    Passed { reordering: Option<Duration> },
}

impl Default for TailProbe {
    fn default() -> Self {
        Self { phase: TailPhase::Idle, due: Instant::FAR_FUTURE, overdue_at: Instant::FAR_FUTURE }
    }
}

impl TailProbe {
    pub(crate) fn phase(&self) -> TailPhase {
        self.phase
    }

    /// When its lowest chunk is overdue and may leave for another path, or the far future.
    pub(crate) fn overdue_at(&self) -> Instant {
        self.overdue_at
    }

    /// Sets that time.
    pub(crate) fn leave_at(&mut self, overdue_at: Option<Instant>) {
        self.overdue_at = overdue_at.unwrap_or(Instant::FAR_FUTURE);
    }

    /// When the probe is due, or the far future.
    pub(crate) fn due(&self) -> Instant {
        if self.phase == TailPhase::Waiting { self.due } else { Instant::FAR_FUTURE }
    }

    /// When the answer to the probe that is out is due, or the far future: from then on the path is doubtful.
    pub(crate) fn answer_due(&self) -> Instant {
        if self.phase == TailPhase::Sent { self.due } else { Instant::FAR_FUTURE }
    }

    /// Whether its probe should have been answered.
    pub(crate) fn is_doubtful(&self, now: Instant) -> bool {
        self.answer_due() <= now
    }

    /// Data was sent on the path or acknowledged, or a probe has had its result: the wait starts again.
    pub(crate) fn rest(&mut self) {
        *self = Self::default();
    }

    /// A chunk left the path: unless a probe is in flight, the wait starts again.
    pub(crate) fn begin_anew(&mut self) {
        if self.phase != TailPhase::Sent {
            self.rest();
        }
    }

    /// Nothing more can be sent at `now`.
    pub(crate) fn observe(&mut self, now: Instant, tail: Tail) {
        match (self.phase, tail) {
            (_, Tail::No) | (TailPhase::Idle | TailPhase::Waiting, Tail::Nothing) => self.rest(),
            (TailPhase::Idle, Tail::Answer(timeout)) => {
                *self = Self { phase: TailPhase::Waiting, due: now + timeout, ..Self::default() };
            }
            (TailPhase::Waiting, Tail::Answer(_)) | (TailPhase::Sent | TailPhase::Spent, _) => {}
        }
    }

    /// The answer to what the path waits for is due earlier than it seemed.
    pub(crate) fn hurry(&mut self, due: Instant) {
        if self.phase == TailPhase::Waiting {
            self.due = self.due.min(due);
        }
    }

    /// The wait ended with a probe that should be answered at `answer_due`.
    pub(crate) fn sent(&mut self, answer_due: Instant) {
        *self = Self { phase: TailPhase::Sent, due: answer_due, ..Self::default() };
    }

    /// The wait ended without a probe.
    pub(crate) fn give_up(&mut self) {
        *self = Self { phase: TailPhase::Spent, ..Self::default() };
    }
}

/// How long after the last transmission or acknowledgement a path is silent for too long (RFC 8985 section 7.2); nothing if
/// the RTT is unknown or T3-rtx expires before.
pub(crate) fn timeout(srtt: Option<Duration>, rto: Duration, answer: Answer) -> Option<Duration> {
    let srtt = srtt?;
    let timeout = match answer {
        Answer::Passed { reordering } => reordering.unwrap_or_default().max(srtt / 4).max(LEAST),
        // A round trip and the reordering window, which is one at most.
        Answer::AtOnce => (srtt * 2).max(LEAST),
        Answer::Delayed(delay) => (srtt * 2).max(LEAST) + delay.min(LONGEST_SACK_DELAY),
    };
    Some(timeout).filter(|timeout| *timeout < rto)
}

/// Whether an arrival this long after a probe can be its answer, and not only the late answer to the original.
pub(crate) fn is_answer(after: Duration, smallest_rtt: Option<Duration>) -> bool {
    smallest_rtt.is_some_and(|smallest| after >= smallest / 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn the_wait_is_two_round_trips_and_less_than_an_rto() {
        let late = Answer::Delayed(ms(200));
        let passed = |window: Option<u64>| Answer::Passed { reordering: window.map(ms) };
        for (what, srtt, rto, answer, expected) in [
            ("several packets in flight", Some(100), 1000, Answer::AtOnce, Some(200)),
            ("one: its SACK may be delayed", Some(100), 1000, late, Some(400)),
            ("a configured delay", Some(100), 1000, Answer::Delayed(ms(20)), Some(220)),
            ("more than peers wait", Some(100), 1000, Answer::Delayed(ms(900)), Some(400)),
            ("what was sent later has arrived", Some(100), 1000, passed(None), Some(25)),
            ("on a path that reorders", Some(100), 1000, passed(Some(60)), Some(60)),
            ("on one that does not", Some(100), 1000, passed(Some(2)), Some(25)),
            ("very near", Some(0), 1000, Answer::AtOnce, Some(2)),
            ("very near, one packet", Some(0), 1000, late, Some(202)),
            ("the timer is as quick", Some(500), 1000, Answer::AtOnce, None),
            ("the timer is quicker", Some(450), 1000, late, None),
            ("a round trip that nobody knows", None, 1000, Answer::AtOnce, None),
        ] {
            assert_eq!(timeout(srtt.map(ms), ms(rto), answer), expected.map(ms), "{what}");
        }
    }

    #[test]
    fn a_path_is_probed_once_until_it_is_heard_of() {
        let at = |time| Instant::ZERO + ms(time);
        let (never, answer) = (Instant::FAR_FUTURE, Tail::Answer(ms(40)));
        let mut probe = TailProbe::default();
        for (what, now, tail, phase, due) in [
            ("new data waits", 0, Tail::No, TailPhase::Idle, never),
            ("nothing outstanding", 1, Tail::Nothing, TailPhase::Idle, never),
            ("the wait begins", 2, answer, TailPhase::Waiting, at(42)),
            ("other paths send; this one is silent", 20, answer, TailPhase::Waiting, at(42)),
            ("new data after all", 30, Tail::No, TailPhase::Idle, never),
            ("it begins anew", 31, answer, TailPhase::Waiting, at(71)),
            ("all is acknowledged", 35, Tail::Nothing, TailPhase::Idle, never),
        ] {
            probe.observe(at(now), tail);
            assert_eq!((probe.phase(), probe.due()), (phase, due), "{what}");
        }
        let ends = |probe: &mut TailProbe, phase| match phase {
            TailPhase::Sent => probe.sent(at(65)),
            _ => probe.give_up(),
        };
        for end in [TailPhase::Sent, TailPhase::Spent] {
            probe.observe(at(20), answer);
            probe.hurry(at(70));
            assert_eq!(probe.due(), at(60));
            probe.hurry(at(50));
            assert_eq!(probe.due(), at(50));
            ends(&mut probe, end);
            for tail in [answer, Tail::Nothing] {
                probe.hurry(at(50));
                probe.observe(at(70), tail);
                assert_eq!((probe.phase(), probe.due()), (end, never), "once");
            }
            probe.rest();
            probe.observe(at(80), answer);
            assert_eq!((probe.phase(), probe.due()), (TailPhase::Waiting, at(120)), "heard of");
            ends(&mut probe, end);
            probe.observe(at(90), Tail::No);
            assert_eq!(probe.phase(), TailPhase::Idle, "the tail is over");
        }
    }

    #[test]
    fn a_path_that_does_not_answer_its_probe_is_doubtful_until_it_is_heard_of() {
        let at = |time| Instant::ZERO + ms(time);
        let mut probe = TailProbe::default();
        probe.observe(at(0), Tail::Answer(ms(40)));
        assert!(!probe.is_doubtful(at(50)), "a probe is due, not its answer");
        probe.sent(at(65));
        assert_eq!((probe.due(), probe.answer_due()), (Instant::FAR_FUTURE, at(65)));
        assert!(!probe.is_doubtful(at(64)) && probe.is_doubtful(at(65)));
        probe.begin_anew();
        assert!(probe.is_doubtful(at(65)), "chunks leave it");
        probe.rest();
        assert!(!probe.is_doubtful(at(65)));
    }

    #[test]
    fn a_chunk_that_leaves_ends_the_wait_but_not_a_probe() {
        let at = |time| Instant::ZERO + ms(time);
        for (phase, after) in [
            (TailPhase::Idle, TailPhase::Idle),
            (TailPhase::Waiting, TailPhase::Idle),
            (TailPhase::Sent, TailPhase::Sent),
            (TailPhase::Spent, TailPhase::Idle),
        ] {
            let mut probe = TailProbe { phase, due: at(40), overdue_at: at(50) };
            probe.begin_anew();
            assert_eq!(probe.phase(), after, "{phase:?}");
        }
    }

    #[test]
    fn the_time_at_which_a_chunk_may_leave_lasts_until_something_is_sent() {
        let at = Instant::ZERO + ms(50);
        let mut probe = TailProbe::default();
        assert_eq!(probe.overdue_at(), Instant::FAR_FUTURE);
        probe.leave_at(Some(at));
        assert_eq!((probe.overdue_at(), probe.due()), (at, Instant::FAR_FUTURE));
        probe.leave_at(None);
        assert_eq!(probe.overdue_at(), Instant::FAR_FUTURE);
        probe.leave_at(Some(at));
        probe.rest();
        assert_eq!(probe.overdue_at(), Instant::FAR_FUTURE);
    }

    #[test]
    fn what_comes_too_soon_answers_the_original() {
        for (after, smallest, expected) in
            [(20, Some(20), true), (10, Some(20), true), (9, Some(20), false), (9, None, false)]
        {
            assert_eq!(is_answer(ms(after), smallest.map(ms)), expected, "{after} {smallest:?}");
        }
    }
}
