//! Copies of data on a second path.
//!
//! Two uses, both so that a further path never reduces the performance:
//!
//! * A path that data has never measured carries no data of its own while there is another one: its data may arrive
//!   late or never. It carries one copy at a time of data sent on another path, until its answer measures the path
//!   (redundant mode until the characteristics of a path are known: draft-zuo-mptcp-scheduler-00).
//! * A thin flow, such as voice or requests, sends each message over two paths when that costs almost nothing: the
//!   first copy to arrive counts, so a loss on one path costs no round trip.
//!
//! A copy counts neither as in flight nor in a congestion window; a budget limits copies.

use crate::types::{NANOS_PER_SECOND, mul_div};
use crate::{Duration, Instant, Tsn};

/// Bytes per second that copies of thin flows may take of a path: some tens of small messages.
const LEAST_RATE: u64 = 20_000;

/// Largest burst in bytes.
pub(crate) const BURST: u64 = 8000;

/// Copies that may stay without an answer that measures the path before it is tried with data: the peer answers them
/// over other paths.
const MOST_UNANSWERED: u8 = 3;

/// Copies without an answer that are remembered beside the latest.
const EARLIER: usize = MOST_UNANSWERED as usize;

/// How many round trips of control chunks the answer to data may take on a path that data has not measured.
pub(crate) const LONGEST_ANSWER: u64 = 4;

/// A copy recovers a loss on the other path if it arrives within this many of that path's round trips: a tail probe is
/// sent after two, and its answer takes half of one.
const RECOVERY_ROUND_TRIPS: u64 = 5;

/// Paths with RTTs this low make no difference to the application.
const ALIKE: Duration = Duration::from_millis(20);

/// A path takes no copy behind packets that it needs longer than this to send: the next message would wait for them.
pub(crate) const LONGEST_BACKLOG: Duration = ALIKE;

/// What answers a copy, beside a report that it is a duplicate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum CopyAnswer {
    /// What the peer sends over the path, unless it sends data: nothing else of ours was on its way there.
    OverThePath,
    /// The SACK that acknowledges the chunk first.
    FirstAck,
    /// Nothing: data is on its way there, too, or the peer may not use the path of the first transmission yet, and answer that over this
    /// path.
    Nothing,
    /// Nothing, either: it is the first transmission of a chunk that has left a measured path.
    Left,
}

/// A copy without an answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Copy {
    tsn: Tsn,
    sent_at: Instant,
    bytes: u32,
    /// When a SACK acknowledged the chunk: the first transmission may be what arrived, and the copy is a duplicate then.
    acked_at: Option<Instant>,
    answer: CopyAnswer,
}

impl Copy {
    /// Whether a SACK over the path that has no report of it as a duplicate may be its answer, if a SACK takes at most `back` longer over
    /// this path than over others. What a SACK had acknowledged before is reported.
    fn may_be_first(&self, now: Instant, back: Duration, covers: impl Fn(Tsn) -> bool) -> bool {
        match self.acked_at {
            Some(at) => now < at + back,
            None => covers(self.tsn),
        }
    }
}

/// What copies of thin flows may take of a path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct CopyRoom {
    /// Bytes per second.
    pub(crate) rate: u64,
    /// Bytes that are free: beside data that was just sent, a burst of copies may overflow a queue.
    pub(crate) free: u64,
    /// Bytes of copies behind which another one may wait.
    pub(crate) backlog: u64,
}

impl CopyRoom {
    /// Of a path with this congestion window, flight size and smoothed round-trip time, of which the bottleneck passes on so many bytes
    /// per second, if that is known: data and copies together take a window per round trip. The round trip of a full packet contains the
    /// time to send it, so that a thin path is not overestimated.
    pub(crate) fn of(
        cwnd: u64,
        flight: u64,
        srtt: Option<Duration>,
        passes_on: Option<u64>,
    ) -> Self {
        let second = NANOS_PER_SECOND as u64;
        let window = srtt.map_or(0, |srtt| {
            let unused = cwnd.saturating_sub(flight);
            u64::try_from(mul_div(unused, second, srtt.as_nanos().max(1))).unwrap_or(u64::MAX)
        });
        let backlog = |rate: u64| {
            let bytes = mul_div(rate, LONGEST_BACKLOG.as_nanos(), second);
            u64::try_from(bytes).unwrap_or(u64::MAX)
        };
        Self {
            rate: window.max(LEAST_RATE).min(passes_on.unwrap_or(u64::MAX)),
            free: cwnd.max(BURST).saturating_sub(flight),
            backlog: passes_on.map_or(u64::MAX, backlog),
        }
    }
}

/// A copy that a SACK answers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct AnsweredCopy {
    pub(crate) sent_at: Instant,
    pub(crate) bytes: u32,
    /// No other copy is remembered that was sent before it, and would have arrived.
    pub(crate) is_next: bool,
}

/// A SACK over the path of copies.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SackHere {
    pub(crate) now: Instant,
    /// How long an answer takes at least.
    pub(crate) least: Duration,
    /// Data of the peer may have brought it over this path.
    pub(crate) carried: bool,
    /// It reports duplicates of chunks of which no copy is remembered: it answers one of these, which may be an earlier copy.
    pub(crate) reports_others: bool,
}

/// Copies on one path.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Copies {
    awaited: Option<Copy>,
    /// Those before it that were not answered, the latest first: a thin path may bring them one after the other, long after the
    /// next one was sent.
    earlier: [Option<Copy>; EARLIER],
    unanswered: u8,
    /// Bytes of copies that had not left at `owed_at`, at the rate that copies may take. Bytes, because that rate may grow a hundredfold
    /// once the path is measured.
    owed: u32,
    owed_at: Instant,
    /// When the path last sent data before the latest copy.
    data_sent_at: Option<Instant>,
}

impl Copies {
    /// Whether a path that was never measured may take a copy now. One that waits for its answer longer than `rto` waits no more, and
    /// where the chunk was acknowledged over another path, because the peer may not use this one yet, no longer than one and a half
    /// round trips of `rtt`.
    pub(crate) fn may_measure(&self, now: Instant, rto: Duration, rtt: Option<Duration>) -> bool {
        let wait = |copy: Copy| match rtt {
            Some(rtt) if copy.acked_at.is_some() => (rtt + rtt / 2).min(rto),
            _ => rto,
        };
        !self.is_given_up() && self.awaited.is_none_or(|copy| now.since(copy.sent_at) > wait(copy))
    }

    /// The chunk of the latest copy, if it is not answered.
    pub(crate) fn awaits(&self) -> Option<Tsn> {
        self.awaited.map(|copy| copy.tsn)
    }

    /// When the latest copy was sent, if it is not answered.
    pub(crate) fn awaits_since(&self) -> Option<Instant> {
        self.awaited.map(|copy| copy.sent_at)
    }

    /// When the path last sent data that was no copy, if it last sent anything at `last_sent`.
    pub(crate) fn last_data(&self, last_sent: Option<Instant>) -> Option<Instant> {
        let was_copy = self.owed > 0 && last_sent == Some(self.owed_at);
        if was_copy { self.data_sent_at } else { last_sent }
    }

    /// When the copy of the chunk was sent, if it is one of the last without an answer.
    pub(crate) fn sent_at(&self, tsn: Tsn) -> Option<Instant> {
        self.unanswered().find(|copy| copy.tsn == tsn).map(|copy| copy.sent_at)
    }

    fn unanswered(&self) -> impl Iterator<Item = Copy> {
        self.awaited.into_iter().chain(self.earlier.into_iter().flatten())
    }

    /// Whether copies could not measure the path.
    pub(crate) fn is_given_up(&self) -> bool {
        self.unanswered >= MOST_UNANSWERED
    }

    /// Whether more of them may be on their way than are remembered, if that takes no longer than `longest`.
    pub(crate) fn are_many(&self, now: Instant, longest: Duration) -> bool {
        self.earlier[EARLIER - 1].is_some_and(|copy| now.since(copy.sent_at) < longest)
    }

    /// Whether those without an answer, as far as they are remembered, have more than half a burst of bytes.
    pub(crate) fn are_large(&self) -> bool {
        self.unanswered().map(|copy| u64::from(copy.bytes)).sum::<u64>() > BURST / 2
    }

    /// Whether a copy of this size is in the budget for thin flows.
    pub(crate) fn may_repeat(&self, now: Instant, bytes: u64, room: &CopyRoom) -> bool {
        let owed = self.owes(now, room.rate);
        let sum = owed.saturating_add(bytes);
        sum <= BURST && owed <= room.backlog && (sum <= room.free || owed == 0)
    }

    /// Bytes of copies that have not left.
    fn owes(&self, now: Instant, rate: u64) -> u64 {
        let left = mul_div(rate, now.since(self.owed_at).as_nanos(), NANOS_PER_SECOND as u64);
        u64::from(self.owed).saturating_sub(u64::try_from(left).unwrap_or(u64::MAX))
    }

    /// A copy is sent on a path that last sent data at `data_sent_at`.
    pub(crate) fn on_data_before(&mut self, data_sent_at: Option<Instant>) {
        self.data_sent_at = data_sent_at;
    }

    /// A copy was sent.
    pub(crate) fn on_sent(
        &mut self,
        now: Instant,
        tsn: Tsn,
        bytes: u32,
        rate: u64,
        answer: CopyAnswer,
    ) {
        let copy = Copy { tsn, sent_at: now, bytes, acked_at: None, answer };
        if let Some(last) = self.awaited.replace(copy) {
            self.unanswered = self.unanswered.saturating_add(1);
            self.earlier.rotate_right(1);
            self.earlier[0] = Some(last);
        }
        let owed = self.owes(now, rate).saturating_add(bytes.into());
        (self.owed, self.owed_at) = (u32::try_from(owed).unwrap_or(u32::MAX), now);
    }

    /// A chunk left the path for another one: what stays on its way is a copy, sent before the other transmission.
    pub(crate) fn on_left(&mut self, tsn: Tsn, sent_at: Instant, bytes: u32, answer: CopyAnswer) {
        let copy = Copy { tsn, sent_at, bytes, acked_at: None, answer };
        let earlier = match self.awaited {
            None => return self.awaited = Some(copy),
            Some(awaited) if awaited.sent_at > sent_at => copy,
            Some(awaited) => {
                self.awaited = Some(copy);
                awaited
            }
        };
        self.earlier.rotate_right(1);
        self.earlier[0] = Some(earlier);
    }

    /// The path measured data that was sent at `sent_at`: what had left it before has arrived, or is lost.
    pub(crate) fn on_measured(&mut self, sent_at: Instant) {
        self.forget_left(|copy| copy.sent_at <= sent_at);
    }

    /// A chunk that has left the path is sent there again: of its transmissions, it is unknown which a report is about.
    pub(crate) fn on_returned(&mut self, tsn: Tsn) {
        self.forget_left(|copy| copy.tsn == tsn);
    }

    fn forget_left(&mut self, is_over: impl Fn(&Copy) -> bool) {
        for entry in self.earlier.iter_mut().chain([&mut self.awaited]) {
            if entry.as_ref().is_some_and(|copy| copy.answer == CopyAnswer::Left && is_over(copy)) {
                *entry = None;
            }
        }
        if self.awaited.is_none() {
            self.earlier.sort_by_key(Option::is_none);
            self.awaited = self.earlier[0].take();
            self.earlier.rotate_left(1);
        }
    }

    /// A SACK arrived over another path. If it acknowledges the copy, the first transmission may have arrived.
    pub(crate) fn on_acked_elsewhere(&mut self, now: Instant, covers: impl Fn(Tsn) -> bool) {
        for copy in self.awaited.iter_mut().chain(self.earlier.iter_mut().flatten()) {
            if copy.acked_at.is_none() && covers(copy.tsn) {
                copy.acked_at = Some(now);
            }
        }
    }

    /// The same on a path that data has not measured. Where it acknowledges the copy long after its answer was due, `rtt` being the least that a
    /// round trip takes, the peer answers over other paths. Returns whether it acknowledges the copy, and so late that the copy
    /// may be what arrived.
    pub(crate) fn on_other_sack(
        &mut self,
        now: Instant,
        rtt: Duration,
        covers: impl Fn(Tsn) -> bool,
    ) -> bool {
        self.on_acked_elsewhere(now, &covers);
        let Some(copy) = self.awaited.filter(|copy| covers(copy.tsn)) else {
            return false;
        };
        let age = now.since(copy.sent_at);
        if age > rtt * 4 {
            self.unanswered = MOST_UNANSWERED;
        }
        age >= rtt / 2
    }

    /// A SACK arrived over the path. From the least time on, it answers the copy if it reports it as a duplicate, or
    /// acknowledges it: one that no other SACK has acknowledged, or if nothing else was in flight, and nothing else brought it over
    /// this path. A report of an earlier copy answers that one. Returns when the copy was sent, if so, and its size.
    pub(crate) fn on_sack(
        &mut self,
        sack: SackHere,
        is_duplicate: impl Fn(Tsn) -> bool,
        covers: impl Fn(Tsn) -> bool,
    ) -> Option<AnsweredCopy> {
        let SackHere { now, least, carried, reports_others } = sack;
        let latest = self.awaited?;
        // What a SACK over the path may be the first to acknowledge: two of them leave open which one it answers.
        let may_be_first = |copy: &Copy| copy.may_be_first(now, least, &covers);
        let firsts = self.earlier.iter().flatten().filter(|copy| may_be_first(copy)).count();
        let is_ambiguous = firsts > 0 || reports_others;
        let may_answer = match latest.answer {
            CopyAnswer::OverThePath => !carried || latest.acked_at.is_none(),
            CopyAnswer::FirstAck => latest.acked_at.is_none(),
            CopyAnswer::Nothing | CopyAnswer::Left => false,
        };
        // An earlier one reports a previous transmission of the chunk, which may have been copied here before.
        let is_due = |copy: &Copy| now.since(copy.sent_at) >= least;
        let is_reported = |copy: &Copy| is_duplicate(copy.tsn) && is_due(copy);
        // Of several of one chunk, the one that was sent first arrives first.
        let is_first_of = |copy: &Copy| {
            let mut others = self.earlier.iter().flatten();
            !others.any(|other| other.tsn == copy.tsn && other.sent_at < copy.sent_at)
        };
        let is_reported = |copy: &Copy| is_reported(copy) && is_first_of(copy);
        let was_reported = self.earlier.iter().position(|it| it.as_ref().is_some_and(is_reported));
        let is_answer = may_answer
            && !is_ambiguous
            && was_reported.is_none()
            && is_due(&latest)
            && covers(latest.tsn);
        if is_reported(&latest) || is_answer {
            let is_next = self.earlier[0].is_none();
            (self.awaited, self.unanswered) = (None, 0);
            self.earlier = [None; EARLIER];
            return Some(AnsweredCopy { sent_at: latest.sent_at, bytes: latest.bytes, is_next });
        }
        let is_first = |copy: &Copy| {
            let is_only = firsts == 1 && !may_be_first(&latest) && !reports_others;
            is_only && copy.acked_at.is_none() && covers(copy.tsn) && is_due(copy)
        };
        let was_first = self.earlier.iter().position(|it| {
            it.as_ref().is_some_and(|copy| copy.answer == CopyAnswer::FirstAck && is_first(copy))
        });
        let answered = was_reported.or(was_first);
        self.on_acked_elsewhere(now, covers);
        let reported = answered?;
        let copy = self.earlier[reported]?;
        // What was sent before it has arrived, or is lost.
        let is_next = self.earlier.get(reported + 1).is_none_or(Option::is_none);
        self.earlier[reported..].fill(None);
        self.unanswered = 0;
        Some(AnsweredCopy { sent_at: copy.sent_at, bytes: copy.bytes, is_next })
    }
}

/// Whether a copy on a path with a round trip of `its_rtt` arrives before a loss on one of `rtt` is mended.
pub(crate) fn is_useful(rtt: Duration, its_rtt: Duration) -> bool {
    its_rtt <= (rtt * RECOVERY_ROUND_TRIPS).max(ALIKE)
}

#[cfg(test)]
mod tests;
