//! Which stream's message is sent next (RFC 8260 section 3; RFC 6458 `SCTP_PLUGGABLE_SS`).
//!
//! A scheduler is a rule that gives a stream its rank when it gets a message to send after a pause, and when one of its
//! messages was taken; the lowest rank is next. The file of each scheduler has nothing but that rule. Fragments of one
//! message have consecutive TSNs, so the choice is made once per message.

mod fair;
mod fcfs;
mod priority;
mod ready;
mod round_robin;
mod round_robin_per_packet;
mod weighted_fair;

use alloc::vec::Vec;

use self::ready::ReadyStreams;
use crate::config::StreamScheduler;

/// Place of a stream in the order; the lowest is next.
pub(crate) type StreamRank = u128;

/// A stream that gets a new place in the order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct StreamTurn {
    /// Counts the places given so far: later ones have higher numbers.
    count: u64,
    /// Rank that the stream has, or had last.
    rank: StreamRank,
    /// Rank of the stream that was served last.
    served: StreamRank,
    /// Length of the message that was taken, in bytes; 0 for a stream that gets a message after a pause.
    bytes: u64,
    /// What the user gave the stream: its priority or its weight; 0 if nothing.
    value: u16,
}

/// The order of the streams that have messages.
#[derive(Debug)]
pub(crate) struct Scheduler {
    policy: StreamScheduler,
    ready: ReadyStreams,
    count: u64,
    served: StreamRank,
    /// By stream, as far as the user has given any.
    values: Vec<u16>,
}

impl Scheduler {
    pub(crate) fn new(policy: StreamScheduler) -> Self {
        let (ready, values) = (ReadyStreams::default(), Vec::new());
        Self { policy, ready, count: 0, served: 0, values }
    }

    /// The queue that a message of `stream` waits in: one for all of them, or one per stream.
    pub(crate) fn lane(&self, stream: u16) -> u16 {
        match self.policy {
            StreamScheduler::Fcfs => fcfs::LANE,
            _ => stream,
        }
    }

    /// Gives a stream its priority or weight.
    pub(crate) fn set_value(&mut self, stream: u16, value: u16) {
        let index = usize::from(stream);
        if self.values.len() <= index {
            self.values.resize(index + 1, 0);
        }
        self.values[index] = value;
        if self.policy == StreamScheduler::Priority && self.ready.contains(stream) {
            self.place(stream, 0);
        }
    }

    /// Forgets the values, which are returned.
    pub(crate) fn take_values(&mut self) -> Vec<u16> {
        core::mem::take(&mut self.values)
    }

    /// A lane that was empty got a message.
    pub(crate) fn on_waiting(&mut self, lane: u16) {
        if self.policy != StreamScheduler::Fcfs {
            self.place(lane, 0);
        }
    }

    /// A message of `bytes` bytes was taken from a lane, into a packet whose other new messages are of stream `bundled`.
    pub(crate) fn on_taken(&mut self, lane: u16, bytes: u64, bundled: Option<u16>) {
        if self.policy == StreamScheduler::RoundRobinPerPacket && bundled.is_some() {
            return;
        }
        if self.policy != StreamScheduler::Fcfs {
            self.served = self.ready.rank(lane);
            self.place(lane, bytes);
        }
    }

    /// A lane has become empty.
    pub(crate) fn on_empty(&mut self, lane: u16) {
        self.ready.remove(lane);
    }

    /// The lane that is next for a packet whose other new messages are of stream `bundled`.
    #[inline]
    pub(crate) fn next(&self, bundled: Option<u16>) -> Option<u16> {
        match (self.policy, bundled) {
            (StreamScheduler::Fcfs, _) => Some(fcfs::LANE),
            (StreamScheduler::RoundRobinPerPacket, Some(stream)) => {
                round_robin_per_packet::goes_on(stream, self.ready.contains(stream))
            }
            _ => self.ready.first(),
        }
    }

    /// Visits the lanes in order until `found` has an answer.
    pub(crate) fn find<T>(
        &self,
        bundled: Option<u16>,
        mut found: impl FnMut(u16) -> Visit<T>,
    ) -> Option<T> {
        let only = match self.policy {
            StreamScheduler::Fcfs => true,
            StreamScheduler::RoundRobinPerPacket => bundled.is_some(),
            _ => false,
        };
        if only {
            return match found(self.next(bundled)?) {
                Visit::Found(answer) => Some(answer),
                Visit::GoOn | Visit::Stop => None,
            };
        }
        self.ready.find(found)
    }

    fn place(&mut self, lane: u16, bytes: u64) {
        self.count += 1;
        let turn = StreamTurn {
            count: self.count,
            rank: self.ready.rank(lane),
            served: self.served,
            bytes,
            value: self.values.get(usize::from(lane)).copied().unwrap_or(0),
        };
        let rank = match self.policy {
            StreamScheduler::Fcfs => return,
            StreamScheduler::RoundRobin => round_robin::rank(&turn),
            StreamScheduler::RoundRobinPerPacket => round_robin_per_packet::rank(&turn),
            StreamScheduler::Priority => priority::rank(&turn),
            StreamScheduler::Fair => fair::rank(&turn),
            StreamScheduler::WeightedFair => weighted_fair::rank(&turn),
        };
        self.ready.put(lane, rank);
    }
}

/// What a visit to a lane gave.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Visit<T> {
    /// This is it.
    Found(T),
    /// Try the next lane.
    GoOn,
    /// It is not worth trying more.
    Stop,
}

#[cfg(test)]
mod tests;
