//! What is counted while a measurement goes on.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use polypath_workload::DelayMeter;

use crate::clock::{ClockRelation, WallClock};
use crate::payload::{Header, Role};
use crate::proposal::Proposal;

/// Counters of all flows of one side.
#[derive(Debug)]
pub(crate) struct Tally {
    role: Role,
    measurement: u64,
    /// By flow.
    sent: Vec<SentCounters>,
    counts: Mutex<Counts>,
}

/// What was sent of a flow, as its sender counts it.
#[derive(Debug, Default)]
struct SentCounters {
    messages: AtomicU64,
    bytes: AtomicU64,
    dropped: AtomicU64,
}

/// What was received.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counts {
    /// By flow.
    pub received: Vec<ReceivedCount>,
    /// Messages that were none of this measurement.
    pub malformed: u64,
    /// When the last message came.
    pub last_arrival: Option<Instant>,
    clock: Option<ClockRelation>,
    wall: Option<WallClock>,
}

/// What was sent of a flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct SentCount {
    pub messages: u64,
    pub bytes: u64,
    /// Messages that the source had no room for.
    pub dropped: u64,
}

/// What was received of a flow.
#[derive(Clone, Debug, Default)]
pub(crate) struct ReceivedCount {
    pub messages: u64,
    pub bytes: u64,
    pub out_of_order: u64,
    /// Sequence number that is expected next.
    expected: u64,
    /// Delays since the part began that counts.
    pub delays: DelayMeter,
    /// Delays since the last report.
    pub recent: DelayMeter,
}

impl Tally {
    /// Counters for what `role` sends and receives.
    pub fn new(plan: &Proposal, role: Role) -> Self {
        let flows = plan.flows.len();
        let counts =
            Counts { received: vec![ReceivedCount::default(); flows], ..Counts::default() };
        let sent = (0..flows).map(|_| SentCounters::default()).collect();
        Self { role, measurement: plan.measurement, sent, counts: Mutex::new(counts) }
    }

    /// What was sent so far, by flow.
    pub fn sent_counts(&self) -> Vec<SentCount> {
        let read = |counters: &SentCounters| SentCount {
            messages: counters.messages.load(Ordering::Relaxed),
            bytes: counters.bytes.load(Ordering::Relaxed),
            dropped: counters.dropped.load(Ordering::Relaxed),
        };
        self.sent.iter().map(read).collect()
    }

    /// What was received so far.
    pub fn lock(&self) -> MutexGuard<'_, Counts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// From now on delays are known.
    pub fn set_clock(&self, clock: ClockRelation) {
        self.lock().clock = Some(clock);
    }

    /// Messages of so many bytes together were handed to the transport.
    pub fn sent(&self, flow: usize, messages: u64, bytes: u64, dropped: u64) {
        if let Some(count) = self.sent.get(flow) {
            count.messages.fetch_add(messages, Ordering::Relaxed);
            count.bytes.fetch_add(bytes, Ordering::Relaxed);
            count.dropped.store(dropped, Ordering::Relaxed);
        }
    }

    /// Begins to count what comes now.
    pub fn receive(&self) -> Arrivals<'_> {
        let now = Instant::now();
        let mut counts = self.lock();
        let now_us = counts.wall.get_or_insert_with(WallClock::new).us_at(now);
        Arrivals { role: self.role, measurement: self.measurement, counts, now, now_us }
    }
    /// What came so far does not count as delay.
    pub fn forget_delays(&self) {
        for count in &mut self.lock().received {
            count.delays = DelayMeter::default();
            count.recent = DelayMeter::default();
        }
    }
}

/// Messages that come at a time.
#[derive(Debug)]
pub(crate) struct Arrivals<'a> {
    role: Role,
    measurement: u64,
    counts: MutexGuard<'a, Counts>,
    now: Instant,
    now_us: u64,
}

impl Arrivals<'_> {
    /// A message of so many bytes came.
    pub fn count(&mut self, header: Option<Header>, bytes: usize) {
        let Self { role, measurement, counts, now, now_us } = self;
        let delay = header.and_then(|header| counts.delay_us(*role, header.time_us, *now_us));
        let header = header.filter(|header| header.measurement == *measurement);
        let place = header.and_then(|header| header.flow.checked_sub(1));
        let count = place.and_then(|place| counts.received.get_mut(place as usize));
        let (Some(header), Some(count)) = (header, count) else {
            counts.malformed += 1;
            return;
        };
        count.messages += 1;
        count.bytes += bytes as u64;
        if header.sequence < count.expected {
            count.out_of_order += 1;
        } else {
            count.expected = header.sequence.saturating_add(1);
        }
        if let Some(delay) = delay {
            let delay = polypath_units::Duration::from_micros(delay);
            count.delays.record(delay);
            count.recent.record(delay);
        }
        counts.last_arrival = Some(*now);
    }
}

impl Counts {
    /// How long a message was under way by both clocks, as far as they are known; never less than nothing.
    fn delay_us(&self, receiver: Role, sent_us: u64, now_us: u64) -> Option<u64> {
        let offset = i128::from(self.clock?.offset_us);
        let by_server = match receiver {
            Role::Server => i128::from(now_us) - offset - i128::from(sent_us),
            Role::Client => i128::from(now_us) + offset - i128::from(sent_us),
        };
        Some(u64::try_from(by_server.max(0)).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::{self, ClockSource};
    use crate::proposal::tests::proposal;

    fn header(sequence: u64) -> Option<Header> {
        let time_us = clock::now_us();
        Some(Header {
            flow: 1,
            measurement: 7,
            stream: 1,
            frame: 0,
            sequence,
            byte_sequence: 0,
            time_us,
        })
    }

    #[test]
    fn messages_are_counted_by_flow_and_garbage_apart() {
        let tally = Tally::new(&proposal(2), Role::Server);
        for sequence in [0, 1, 5, 3] {
            tally.receive().count(header(sequence), 100);
        }
        tally.receive().count(None, 10);
        tally.receive().count(header(0).map(|header| Header { flow: 3, ..header }), 10);
        tally.receive().count(header(0).map(|header| Header { flow: 0, ..header }), 10);
        tally.receive().count(header(0).map(|header| Header { measurement: 8, ..header }), 10);
        let counts = tally.lock();
        assert_eq!(counts.malformed, 4);
        let first = &counts.received[0];
        assert_eq!((first.messages, first.bytes, first.out_of_order), (4, 400, 1));
        assert_eq!(first.delays.count(), 0, "the clocks are not known");
        assert_eq!(counts.received[1].messages, 0);
    }

    #[test]
    fn delays_take_the_difference_of_the_clocks() {
        let tally = Tally::new(&proposal(1), Role::Server);
        let clock =
            ClockRelation { offset_us: 1000, ..ClockRelation::equal(ClockSource::Estimated) };
        tally.set_clock(clock);
        let counts = tally.lock();
        // The server's clock is 1 ms ahead.
        assert_eq!(counts.delay_us(Role::Server, 5_000, 8_000), Some(2_000));
        assert_eq!(counts.delay_us(Role::Client, 8_000, 9_000), Some(2_000));
        assert_eq!(counts.delay_us(Role::Server, 5_000, 5_500), Some(0), "not before it was sent");
        assert!(counts.delay_us(Role::Client, 0, u64::MAX).is_some());
    }
}
