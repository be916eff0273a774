//! Controlled delay.

use std::collections::VecDeque;

use polypath_units::{Duration, Instant};

use super::managed::{QueueAct, Waiting};
use super::{EcnMarking, Limit, QueueLevel};
use crate::DropCause;

/// Controlled delay (RFC 8289): packets are dropped when they leave the queue, once all packets of an interval were
/// delayed for longer than the target, and then at intervals that shrink with the square root of the number of drops.
///
/// Times are exact to the nanosecond. The check that at most one full-sized packet is queued uses the longest packet
/// seen so far.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CodelConfig {
    /// Acceptable queueing delay (RFC 8289 `TARGET`).
    pub target: Duration,
    /// Time within which an end point can react (RFC 8289 `INTERVAL`).
    pub interval: Duration,
    /// Limit of the queue.
    pub limit: Limit,
    /// Whether ECN-capable packets are marked instead of dropped.
    pub ecn: EcnMarking,
}

/// 5 ms, 100 ms, 1000 packets.
impl Default for CodelConfig {
    fn default() -> Self {
        Self {
            target: Duration::from_millis(5),
            interval: Duration::from_millis(100),
            limit: Limit::Packets(1_000),
            ecn: EcnMarking::default(),
        }
    }
}

impl CodelConfig {
    /// What makes no sense: the key and what is wrong there.
    pub(crate) fn problem(&self) -> Option<(&'static str, String)> {
        if self.limit.amount() == 0 {
            return Some(("limit", "must not be zero".into()));
        }
        law_problem(self.target, self.interval)
    }
}

pub(super) fn law_problem(target: Duration, interval: Duration) -> Option<(&'static str, String)> {
    if target.is_zero() {
        return Some(("target", "must not be zero: everything would be dropped".into()));
    }
    (interval < target).then(|| ("interval", format!("must not be shorter than target, {target}")))
}

/// What governs the drops.
#[derive(Clone, Copy, Debug)]
pub(super) struct Law {
    pub target: Duration,
    pub interval: Duration,
    pub ecn: EcnMarking,
    /// Longest packet that has come so far, in bytes.
    pub max_packet: u32,
}

impl Law {
    /// When the next drop is due after one at `at`: the control law of RFC 8289 section 5.
    fn next(&self, at: Instant, count: u64) -> Instant {
        // The square root is exact to the last bit on every machine.
        let nanos = self.interval.as_nanos() as f64 / libm::sqrt(count.max(1) as f64);
        at + Duration::from_nanos(nanos as u64)
    }
}

/// Where packets wait, in order of arrival.
pub(super) trait Source {
    /// Takes the one that has waited longest.
    fn pop(&mut self) -> Option<Waiting>;
    /// Bytes of all that wait.
    fn bytes(&self) -> u64;
}

/// The state of one queue under the law.
#[derive(Clone, Copy, Debug)]
pub(super) struct Codel {
    phase: Phase,
    /// From when on packets may be dropped, if waiting times stay above the target until then.
    first_above: Option<Instant>,
    /// When the next drop is due, or would have been.
    drop_next: Instant,
    /// Drops since dropping began.
    count: u64,
    /// The same right after it began the last time.
    last_count: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    Passing,
    Dropping,
}

/// A packet that left the queue, and whether it may be dropped.
#[derive(Clone, Copy)]
struct Candidate {
    waiting: Option<Waiting>,
    may_drop: bool,
}

impl Codel {
    /// Of a queue in which nothing has ever waited.
    pub const NEW: Self = Self {
        phase: Phase::Passing,
        first_above: None,
        drop_next: Instant::ZERO,
        count: 0,
        last_count: 0,
    };

    /// Takes the packet that is to be sent at `now`, and drops or marks what is due.
    pub fn dequeue(
        &mut self,
        now: Instant,
        law: &Law,
        source: &mut impl Source,
        acts: &mut VecDeque<QueueAct>,
    ) -> Option<Waiting> {
        let candidate = self.candidate(now, law, source);
        match self.phase {
            Phase::Dropping if !candidate.may_drop => {
                self.phase = Phase::Passing;
                candidate.waiting
            }
            Phase::Dropping => self.drop_due(candidate, now, law, source, acts),
            Phase::Passing if candidate.may_drop => {
                let waiting = candidate.waiting?;
                let next = match spare(law, waiting, acts) {
                    Some(marked) => Some(marked),
                    None => self.candidate(now, law, source).waiting,
                };
                self.begin(now, law);
                next
            }
            Phase::Passing => candidate.waiting,
        }
    }

    /// Drops as many as are due.
    fn drop_due(
        &mut self,
        mut candidate: Candidate,
        now: Instant,
        law: &Law,
        source: &mut impl Source,
        acts: &mut VecDeque<QueueAct>,
    ) -> Option<Waiting> {
        while self.phase == Phase::Dropping && now >= self.drop_next {
            self.count += 1;
            if let Some(marked) = spare(law, candidate.waiting?, acts) {
                self.drop_next = law.next(self.drop_next, self.count);
                return Some(marked);
            }
            candidate = self.candidate(now, law, source);
            if candidate.may_drop {
                self.drop_next = law.next(self.drop_next, self.count);
            } else {
                self.phase = Phase::Passing;
            }
        }
        candidate.waiting
    }

    /// The next packet, and what its waiting time says (`dodequeue` of the RFC).
    fn candidate(&mut self, now: Instant, law: &Law, source: &mut impl Source) -> Candidate {
        let Some(waiting) = source.pop() else {
            self.first_above = None;
            return Candidate { waiting: None, may_drop: false };
        };
        let below = now - waiting.since < law.target || source.bytes() <= u64::from(law.max_packet);
        let may_drop = match (below, self.first_above) {
            (true, _) => {
                self.first_above = None;
                false
            }
            (false, None) => {
                self.first_above = Some(now + law.interval);
                false
            }
            (false, Some(first)) => now >= first,
        };
        Candidate { waiting: Some(waiting), may_drop }
    }

    /// Begins to drop: at the rate that controlled the queue the last time, if that was not long ago.
    fn begin(&mut self, now: Instant, law: &Law) {
        self.phase = Phase::Dropping;
        let delta = self.count.saturating_sub(self.last_count);
        let recent = (now - self.drop_next).as_nanos() < law.interval.as_nanos().saturating_mul(16);
        self.count = if delta > 1 && recent { delta } else { 1 };
        self.drop_next = law.next(now, self.count);
        self.last_count = self.count;
    }
}

/// Marks a packet instead of dropping it, if that may be; drops it otherwise.
fn spare(law: &Law, waiting: Waiting, acts: &mut VecDeque<QueueAct>) -> Option<Waiting> {
    if law.ecn == EcnMarking::On && waiting.ect {
        acts.push_back(QueueAct::Marked(waiting.ticket));
        return Some(waiting);
    }
    acts.push_back(QueueAct::Dropped(waiting.ticket, DropCause::EarlyDrop));
    None
}

/// A first-in-first-out queue with controlled delay.
#[derive(Debug)]
pub(crate) struct CodelQueue {
    line: Line,
    codel: Codel,
    law: Law,
    limit: Limit,
}

#[derive(Debug, Default)]
struct Line {
    waiting: VecDeque<Waiting>,
    bytes: u64,
}

impl Source for Line {
    fn pop(&mut self) -> Option<Waiting> {
        let waiting = self.waiting.pop_front()?;
        self.bytes -= u64::from(waiting.ticket.bytes);
        Some(waiting)
    }

    fn bytes(&self) -> u64 {
        self.bytes
    }
}

impl CodelQueue {
    pub fn new(config: &CodelConfig) -> Self {
        let CodelConfig { target, interval, limit, ecn } = *config;
        Self {
            line: Line::default(),
            codel: Codel::NEW,
            law: Law { target, interval, ecn, max_packet: 0 },
            limit,
        }
    }

    /// Takes a packet, or not; `idle_since` is since when the transmitter has had nothing to do, if it has not.
    pub fn enqueue(
        &mut self,
        waiting: Waiting,
        idle_since: Option<Instant>,
    ) -> Result<(), DropCause> {
        let bytes = waiting.ticket.bytes;
        // What is sent at once does not wait, and counts towards no limit.
        if idle_since.is_none() && !self.limit.admits(self.level(), bytes) {
            return Err(DropCause::QueueFull);
        }
        self.law.max_packet = self.law.max_packet.max(bytes);
        self.line.bytes += u64::from(bytes);
        self.line.waiting.push_back(waiting);
        Ok(())
    }

    pub fn dequeue(&mut self, now: Instant, acts: &mut VecDeque<QueueAct>) -> Option<Waiting> {
        self.codel.dequeue(now, &self.law, &mut self.line, acts)
    }

    pub fn remove(&mut self) -> Option<Waiting> {
        self.line.pop()
    }

    #[inline]
    pub fn level(&self) -> QueueLevel {
        QueueLevel { packets: self.line.waiting.len() as u64, bytes: self.line.bytes }
    }
}

#[cfg(test)]
mod tests;
