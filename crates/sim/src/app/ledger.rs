//! The ledger of undelivered messages. From it receivers know which messages to expect, and their delays.

use std::collections::VecDeque;

use polypath_units::Instant;
use polypath_workload::{DelayMeter, Delivery, Message};

use crate::scenario::{Flow, Scenario};

/// The undelivered messages of all flows.
///
/// It exists outside the network: sender and receiver of a flow share it, as real hosts could not.
#[derive(Debug)]
pub(crate) struct Ledger {
    flows: Vec<FlowLedger>,
}

/// The undelivered messages of a flow.
#[derive(Debug)]
pub(crate) struct FlowLedger {
    /// Number of the first message that is kept.
    base: u64,
    sent: VecDeque<Sent>,
    /// Maximum number of messages that are kept.
    span: usize,
    /// Last ordered message of each stream in use.
    ordered: Vec<Option<u64>>,
    /// Start of the interval in which deliveries count.
    from: Instant,
    /// End of that interval.
    until: Instant,
    measured_bytes: u64,
    delays: DelayMeter,
    /// Times from a request to its response.
    response_times: DelayMeter,
}

/// A message that was sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Sent {
    /// When the source generated it.
    pub offered: Instant,
    /// For a response, when the request was generated.
    pub since: Option<Instant>,
    pub bytes: u32,
    /// Stream of the association.
    pub stream: u16,
    pub delivery: Delivery,
    /// For an ordered message, the one before it on its stream.
    pub before: Option<u64>,
    has_arrived: bool,
}

/// What a receiver finds out about a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Arrived {
    /// It was sent, and has not arrived before.
    First(Sent),
    /// It has arrived before.
    Again,
    /// It was never sent.
    Unknown,
}

impl Ledger {
    /// An empty ledger; `span` is the number of messages by which an arrived message can be ahead of one that is
    /// missing.
    pub fn new(scenario: &Scenario, span: impl Fn(&Flow) -> u64) -> Self {
        let flows = scenario.traffic.iter().map(|flow| {
            let (from, until) = flow.measured(scenario);
            FlowLedger::new(span(flow), from, until)
        });
        Self { flows: flows.collect() }
    }

    /// The messages of a flow, by its index in the scenario.
    pub fn flow(&self, flow: usize) -> Option<&FlowLedger> {
        self.flows.get(flow)
    }

    /// The messages of a flow, by its index in the scenario.
    pub fn flow_mut(&mut self, flow: usize) -> Option<&mut FlowLedger> {
        self.flows.get_mut(flow)
    }
}

impl FlowLedger {
    pub fn new(span: u64, from: Instant, until: Instant) -> Self {
        Self {
            base: 0,
            sent: VecDeque::new(),
            span: usize::try_from(span).unwrap_or(usize::MAX).max(1),
            ordered: Vec::new(),
            from,
            until,
            measured_bytes: 0,
            delays: DelayMeter::default(),
            response_times: DelayMeter::default(),
        }
    }

    /// Notes that the transport accepted the next message, on this stream.
    pub fn sent(&mut self, message: &Message, stream: u16) {
        let before = match message.delivery {
            Delivery::Unordered => None,
            Delivery::Ordered => {
                let index = usize::from(stream);
                if index >= self.ordered.len() {
                    self.ordered.resize(index + 1, None);
                }
                self.ordered[index].replace(message.number)
            }
        };
        if self.sent.len() >= self.span {
            self.sent.pop_front();
            self.base += 1;
        }
        self.sent.push_back(Sent {
            offered: message.offered,
            since: message.since,
            bytes: message.bytes,
            stream,
            delivery: message.delivery,
            before,
            has_arrived: false,
        });
    }

    /// Looks up message `number`, which has arrived.
    #[inline]
    pub fn find(&self, number: u64) -> Arrived {
        let Some(above) = number.checked_sub(self.base) else { return Arrived::Again };
        match usize::try_from(above).ok().and_then(|index| self.sent.get(index)) {
            Some(sent) if sent.has_arrived => Arrived::Again,
            Some(sent) => Arrived::First(*sent),
            None => Arrived::Unknown,
        }
    }

    /// Notes that message `number`, found by [`find`](Self::find), was delivered to the application.
    #[inline]
    pub fn delivered(&mut self, now: Instant, number: u64, sent: &Sent) {
        self.record(now, sent.offered, sent.bytes);
        if let Some(since) = sent.since.filter(|_| self.counts(now)) {
            self.response_times.record(now.since(since));
        }
        if number == self.base {
            self.forget_first();
            while self.sent.front().is_some_and(|sent| sent.has_arrived) {
                self.forget_first();
            }
        } else if let Some(above) = number.checked_sub(self.base)
            && let Some(sent) = usize::try_from(above).ok().and_then(|at| self.sent.get_mut(at))
        {
            sent.has_arrived = true;
        }
    }

    #[inline]
    fn forget_first(&mut self) {
        self.sent.pop_front();
        self.base += 1;
    }

    /// Notes that a message generated at `offered` was delivered to the application; for transports that identify each
    /// message themselves.
    #[inline]
    pub fn record(&mut self, now: Instant, offered: Instant, bytes: u32) {
        if self.counts(now) {
            self.delays.record(now.since(offered));
            self.measured_bytes += u64::from(bytes);
        }
    }

    fn counts(&self, now: Instant) -> bool {
        self.from <= now && now < self.until
    }

    /// The interval in which deliveries count.
    pub fn measured(&self) -> (Instant, Instant) {
        (self.from, self.until)
    }

    /// Bytes delivered in that interval.
    pub fn measured_bytes(&self) -> u64 {
        self.measured_bytes
    }

    /// Delays from generation to delivery, of messages delivered in that interval.
    pub fn delays(&self) -> &DelayMeter {
        &self.delays
    }

    /// Times from the generation of a request to the delivery of the response, in that interval.
    pub fn response_times(&self) -> &DelayMeter {
        &self.response_times
    }
}

#[cfg(test)]
mod tests {
    use polypath_units::Duration;
    use polypath_workload::Effort;

    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    fn message(number: u64, delivery: Delivery) -> Message {
        Message {
            number,
            bytes: 100,
            delivery,
            effort: Effort::AsFlow,
            stream: None,
            offered: at(number),
            since: None,
        }
    }

    #[test]
    fn messages_arrive_once() {
        let mut ledger = FlowLedger::new(10, at(0), at(1_000));
        (0..3).for_each(|number| ledger.sent(&message(number, Delivery::Unordered), 0));
        for number in [2, 0, 1] {
            let Arrived::First(sent) = ledger.find(number) else { panic!("{number} is new") };
            assert_eq!(sent.before, None);
            ledger.delivered(at(10), number, &sent);
            assert_eq!(ledger.find(number), Arrived::Again);
        }
        assert_eq!(ledger.find(3), Arrived::Unknown);
        assert_eq!(ledger.find(u64::MAX), Arrived::Unknown);
        assert!(ledger.sent.is_empty());
        assert_eq!(ledger.delays().mean(), Some(Duration::from_millis(9)));
        assert_eq!(ledger.measured_bytes(), 300);
    }

    #[test]
    fn ordered_messages_know_the_one_before() {
        let mut ledger = FlowLedger::new(10, at(0), at(1_000));
        let kinds = [Delivery::Ordered, Delivery::Ordered, Delivery::Unordered, Delivery::Ordered];
        for (number, (delivery, stream)) in (0..).zip(kinds.into_iter().zip([3, 0, 3, 3])) {
            ledger.sent(&message(number, delivery), stream);
        }
        let before = |number| match ledger.find(number) {
            Arrived::First(sent) => sent.before,
            other => panic!("{other:?}"),
        };
        assert_eq!([0, 1, 2, 3].map(before), [None, None, None, Some(0)]);
    }

    #[test]
    fn what_never_comes_costs_no_more_than_the_span() {
        let mut ledger = FlowLedger::new(10, at(0), at(1_000));
        for number in 0..100 {
            ledger.sent(&message(number, Delivery::Unordered), 0);
            if let (Arrived::First(sent), 1..) = (ledger.find(number), number) {
                ledger.delivered(at(number), number, &sent);
            }
        }
        assert!(ledger.sent.len() <= 10);
        assert_eq!(ledger.find(0), Arrived::Again);
    }

    #[test]
    fn only_the_measured_time_counts() {
        let mut ledger = FlowLedger::new(10, at(10), at(20));
        for (number, ms) in [(0, 9), (1, 10), (2, 19), (3, 20)] {
            ledger.sent(&message(number, Delivery::Ordered), 0);
            let Arrived::First(sent) = ledger.find(number) else { panic!("{number} is new") };
            ledger.delivered(at(ms), number, &sent);
        }
        assert_eq!((ledger.delays().count(), ledger.measured_bytes()), (2, 200));
    }
}
