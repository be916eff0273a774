//! The sender's part: the reaction to an echoed mark on its path (draft-stewart-tsvwg-sctpecn-05 section 5.2), and
//! whether the path carries ECN-capable packets at all.
//!
//! NOTE(deviation): step 3 of the draft compares the two TSNs the wrong way round: a window is reduced if the marked packet was
//! sent after the last reduction.
//! NOTE(deviation): CWR answers at most once per round trip of the path. The draft answers each echo, and an echo comes with every
//! SACK; it ends with the next answer.

use smallvec::SmallVec;

use crate::{Duration, Instant, PathId, Tsn};

/// Timeouts in a row, with no ECN-capable packet arriving in between, after which a path gets no more of them.
const MOST_FAILURES: u8 = 3;

/// State of marks on each path, if both sides have ECN.
#[derive(Debug, Default)]
pub(crate) struct Reactions {
    paths: SmallVec<[PathMarks; 2]>,
    /// The last answer to an echo whose path is no longer known.
    override_answer: LastAnswer,
}

/// ECN on one path.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct PathMarks {
    /// Last TSN that had been sent when a mark last reduced the window.
    reduced_at: Option<Tsn>,
    /// The newest echo: its TSN and number of packets.
    echoed: Option<(Tsn, u32)>,
    answer: LastAnswer,
    /// ECN-capable packets sent, and those of them that were reported as marked.
    sent: u64,
    marked: u64,
    passage: Passage,
}

/// When an echo was last answered by CWR.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct LastAnswer(Option<Instant>);

/// Whether ECN-capable packets arrive.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Passage {
    /// A chunk in an ECN-capable packet, sent since the last timeout, whose fate is unknown so far.
    awaited: Option<Tsn>,
    failures: u8,
}

/// Content of an echo, and state of its TSN, which is outstanding.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EchoView {
    pub(crate) tsn: Tsn,
    /// Packets marked since the last CWR that the peer has seen; `None` in the form of RFC 2960.
    pub(crate) packets: Option<u32>,
    /// The lowest outstanding TSN and the last one that was sent.
    pub(crate) outstanding: (Tsn, Tsn),
    /// The path, or the association, is in fast recovery.
    pub(crate) in_recovery: bool,
}

/// Reaction to an echo.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Marks {
    /// Packets that were newly reported.
    pub(crate) packets: u64,
    /// The path has reacted within the last round trip.
    pub(crate) in_recovery: bool,
}

impl Marks {
    /// Whether the window is reduced.
    pub(crate) fn reduce(self) -> bool {
        self.packets > 0 && !self.in_recovery
    }
}

impl EchoView {
    /// Whether this TSN is still outstanding and thus comparable.
    fn is_outstanding(&self, tsn: Tsn) -> bool {
        let (lowest, last) = self.outstanding;
        lowest.is_at_or_before(tsn) && tsn.is_at_or_before(last)
    }

    /// Number of newly reported packets, after an echo with this TSN and number.
    fn news_after(&self, echoed: Option<(Tsn, u32)>) -> u32 {
        let Some((last, before)) = echoed else { return self.packets.unwrap_or(1) };
        // A TSN that is no longer outstanding is older.
        let is_known = self.is_outstanding(last);
        if is_known && self.tsn.is_before(last) {
            return 0;
        }
        let is_newer = u32::from(!is_known || self.tsn.is_after(last));
        match self.packets {
            Some(now) if now >= before => (now - before).max(is_newer),
            // The peer has restarted its count since CWR arrived.
            Some(now) => now.max(is_newer),
            None => is_newer,
        }
    }
}

impl Reactions {
    /// The state of a path.
    #[inline]
    pub(crate) fn path(&mut self, path: PathId) -> &mut PathMarks {
        let index = path.index();
        if self.paths.len() <= index {
            self.extend_to(index);
        }
        &mut self.paths[index]
    }

    /// The state of a path that has sent something ECN-capable.
    pub(crate) fn known(&self, path: PathId) -> Option<&PathMarks> {
        self.paths.get(path.index())
    }

    #[cold]
    fn extend_to(&mut self, index: usize) {
        self.paths.resize(index + 1, PathMarks::default());
    }

    /// The path on which the newest echo had this TSN: an echo is repeated until CWR arrives, even after its TSN has been acknowledged.
    pub(crate) fn echoed_on(&self, tsn: Tsn) -> Option<PathId> {
        let is_it = |path: &PathMarks| path.echoed.is_some_and(|(echoed, _)| echoed == tsn);
        self.paths.iter().position(is_it).map(|index| PathId(index as u8))
    }

    /// Processes an echo whose path is no longer known. Returns whether CWR answers it.
    pub(crate) fn answers_unknown(&mut self, now: Instant, pause: Duration) -> bool {
        self.override_answer.is_due(now, pause)
    }
}

impl PathMarks {
    /// Whether new data may be sent as ECN-capable.
    pub(crate) fn may_be_capable(&self) -> bool {
        self.passage.failures < MOST_FAILURES
    }

    /// An ECN-capable packet goes out whose first chunk has this TSN; `is_acked` says whether a chunk that was sent before was
    /// acknowledged.
    pub(crate) fn on_sent(&mut self, tsn: Tsn, is_acked: impl Fn(Tsn) -> bool) {
        self.sent += 1;
        match self.passage.awaited {
            Some(awaited) if !is_acked(awaited) => {}
            before => {
                self.passage.awaited = Some(tsn);
                if before.is_some() {
                    self.passage.failures = 0;
                }
            }
        }
    }

    /// Counts an expiry of T3-rtx of the path. Returns whether the limit was reached.
    pub(crate) fn on_timeout(&mut self, is_acked: impl Fn(Tsn) -> bool) -> bool {
        let Some(awaited) = self.passage.awaited.take() else { return false };
        self.passage.failures = if is_acked(awaited) { 0 } else { self.passage.failures + 1 };
        !self.may_be_capable()
    }

    /// Processes an echo for a chunk that was sent on this path.
    pub(crate) fn on_echo(&mut self, view: &EchoView) -> Marks {
        let news = u64::from(view.news_after(self.echoed));
        // At most the sent packets can be marked.
        let packets = news.min(self.sent - self.marked);
        self.marked += packets;
        let is_older = self
            .echoed
            .is_some_and(|(last, _)| view.is_outstanding(last) && view.tsn.is_before(last));
        if !is_older {
            self.echoed = Some((view.tsn, view.packets.unwrap_or(0)));
        }
        let is_answered = self
            .reduced_at
            .is_some_and(|last| view.is_outstanding(last) && view.tsn.is_at_or_before(last));
        let marks = Marks { packets, in_recovery: view.in_recovery || is_answered };
        if marks.reduce() {
            self.reduced_at = Some(view.outstanding.1);
        }
        marks
    }

    /// Whether CWR answers an echo.
    pub(crate) fn answers(&mut self, now: Instant, pause: Duration) -> bool {
        self.answer.is_due(now, pause)
    }
}

impl LastAnswer {
    /// Whether an answer is due. Echoes that arrive earlier are answered by the next one.
    fn is_due(&mut self, now: Instant, pause: Duration) -> bool {
        let is_due = self.0.is_none_or(|before| before + pause <= now);
        if is_due {
            self.0 = Some(now);
        }
        is_due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAUSE: Duration = Duration::from_millis(100);

    fn ms(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    fn echo(tsn: u32, packets: Option<u32>, (lowest, last): (u32, u32)) -> EchoView {
        let outstanding = (Tsn(lowest), Tsn(last));
        EchoView { tsn: Tsn(tsn), packets, outstanding, in_recovery: false }
    }

    /// A path that has sent so many ECN-capable packets.
    fn path(sent: u32) -> PathMarks {
        let mut path = PathMarks::default();
        (0..sent).for_each(|tsn| path.on_sent(Tsn(tsn), |_| false));
        path
    }

    #[test]
    fn a_window_is_reduced_once_for_what_was_sent_before() {
        let mut path = path(100);
        for (what, view, packets, reduces) in [
            ("the first", echo(10, Some(1), (5, 20)), 1, true),
            ("again", echo(10, Some(1), (5, 20)), 0, false),
            ("more of the same window", echo(15, Some(3), (8, 30)), 2, false),
            ("one that arrives after a later one", echo(12, Some(2), (8, 30)), 0, false),
            ("the last of that window", echo(20, Some(4), (16, 40)), 1, false),
            ("sent later", echo(21, Some(5), (18, 50)), 1, true),
            ("counted anew", echo(51, Some(1), (22, 60)), 1, true),
            ("of the old form", echo(61, None, (55, 70)), 1, true),
            ("of the old form, again", echo(61, None, (55, 70)), 0, false),
        ] {
            let marks = path.on_echo(&view);
            assert_eq!((marks.packets, marks.reduce()), (packets, reduces), "{what}");
        }
    }

    #[test]
    fn fast_recovery_is_a_reaction() {
        let mut path = path(9);
        let view = EchoView { in_recovery: true, ..echo(10, Some(2), (5, 20)) };
        assert_eq!(path.on_echo(&view), Marks { packets: 2, in_recovery: true });
        assert!(path.on_echo(&echo(12, Some(3), (5, 20))).reduce(), "it is over");
    }

    #[test]
    fn what_is_no_longer_outstanding_is_not_compared_with() {
        let mut path = path(9);
        assert!(path.on_echo(&echo(10, Some(5), (5, 20))).reduce());
        // Half of all TSNs later, 10 and 20 seem to be in the future.
        let later = 1 << 31;
        assert!(path.on_echo(&echo(later, Some(1), (later - 5, later + 5))).reduce());
    }

    #[test]
    fn no_more_is_marked_than_was_sent() {
        let mut path = path(3);
        assert_eq!(path.on_echo(&echo(10, Some(u32::MAX), (5, 20))).packets, 3);
        assert_eq!(path.on_echo(&echo(30, Some(1), (25, 40))).packets, 0);
    }

    #[test]
    fn echoes_are_answered_once_per_round_trip() {
        let mut path = PathMarks::default();
        for (at, expected) in [(0, true), (99, false), (100, true), (150, false), (201, true)] {
            assert_eq!(path.answers(ms(at), PAUSE), expected, "{at}");
        }
        let mut all = Reactions::default();
        assert!(all.answers_unknown(ms(0), PAUSE) && !all.answers_unknown(ms(1), PAUSE));
        assert!(all.path(PathId(1)).answers(ms(1), PAUSE), "apart from those of a path");
    }

    #[test]
    fn a_repeated_echo_is_known_by_its_tsn() {
        let mut all = Reactions::default();
        assert_eq!(all.echoed_on(Tsn(10)), None);
        all.path(PathId(1)).on_echo(&echo(10, Some(1), (5, 20)));
        assert_eq!(all.echoed_on(Tsn(10)), Some(PathId(1)));
        all.path(PathId(1)).on_echo(&echo(12, Some(2), (11, 20)));
        assert_eq!(all.echoed_on(Tsn(10)), None);
    }

    #[test]
    fn a_path_on_which_capable_packets_vanish_gets_none() {
        let mut path = PathMarks::default();
        for (tsn, is_over) in [(1, false), (2, false), (3, true)] {
            assert!(path.may_be_capable());
            path.on_sent(Tsn(tsn), |_| false);
            assert_eq!(path.on_timeout(|_| false), is_over);
            assert!(!path.on_timeout(|_| false), "of what was not capable says nothing");
        }
        assert!(!path.may_be_capable());
    }

    #[test]
    fn one_that_arrives_makes_good_for_timeouts() {
        // Seen when the next packet goes out, or when the timer expires.
        for seen_by_sending in [true, false] {
            let mut path = PathMarks::default();
            for tsn in [1, 2] {
                path.on_sent(Tsn(tsn), |_| false);
                path.on_timeout(|_| false);
            }
            path.on_sent(Tsn(3), |_| false);
            if seen_by_sending {
                path.on_sent(Tsn(4), |tsn| tsn == Tsn(3));
            }
            assert!(!path.on_timeout(|tsn| tsn == Tsn(3)));
            path.on_sent(Tsn(5), |_| false);
            assert!(!path.on_timeout(|_| false));
            assert!(path.may_be_capable());
        }
    }
}
