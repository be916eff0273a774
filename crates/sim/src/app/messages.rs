//! Which messages a flow consists of.

use polypath_units::Instant;
use polypath_workload::{Delivery, FlowError, FlowSpec, Generator, Source};

use crate::scenario::Flow;

/// The messages of a flow, numbered from 0.
///
/// The number that identifies a message in its association carries the flow in its upper 16 bits.
#[derive(Clone, Debug)]
pub(crate) struct MessagePlan {
    flow: u16,
    spec: FlowSpec,
    first_stream: u16,
    streams: u16,
}

/// Shortest message that is recognised by its bytes alone.
pub(crate) const RECOGNISABLE: usize = 8;

const FLOW_SHIFT: u32 = 48;

impl MessagePlan {
    /// The messages of `flow`, which is number `index` of its scenario.
    pub fn new(index: usize, flow: &Flow) -> Self {
        Self {
            flow: index as u16,
            spec: flow.spec(),
            first_stream: flow.first_stream,
            streams: flow.streams.max(1),
        }
    }

    /// Produces the messages.
    pub fn generator(&self) -> Result<Generator, FlowError> {
        Generator::new(self.spec.clone())
    }

    /// When the first message is offered.
    pub fn start(&self) -> Instant {
        Instant::ZERO + self.spec.start
    }

    /// Length of message `number`; 0 where there is no such message.
    pub fn len(&self, number: u64) -> usize {
        let size = self.spec.message_size.as_bytes();
        let len = match self.spec.source {
            Source::Saturated => size,
            Source::File(file) => {
                file.as_bytes().saturating_sub(number.saturating_mul(size)).min(size)
            }
        };
        len as usize
    }

    /// The last message of a file, if it is too short to be recognised by its bytes.
    pub fn unrecognisable(&self) -> Option<u64> {
        let Source::File(file) = self.spec.source else { return None };
        let last = file.as_bytes().checked_sub(1)? / self.spec.message_size.as_bytes().max(1);
        (self.len(last) < RECOGNISABLE).then_some(last)
    }

    /// Stream of message `number`.
    pub fn stream(&self, number: u64) -> u16 {
        self.first_stream.wrapping_add((number % u64::from(self.streams)) as u16)
    }

    /// Number of streams.
    pub fn streams(&self) -> u16 {
        self.streams
    }

    /// Whether messages of a stream wait for each other.
    pub fn delivery(&self) -> Delivery {
        self.spec.delivery
    }

    /// What identifies message `number` in its association.
    pub fn identity(&self, number: u64) -> u64 {
        u64::from(self.flow) << FLOW_SHIFT | number
    }

    /// The flow and the number that an identity stands for.
    pub fn of_identity(identity: u64) -> (usize, u64) {
        ((identity >> FLOW_SHIFT) as usize, identity & ((1 << FLOW_SHIFT) - 1))
    }
}

#[cfg(test)]
mod tests {
    use polypath_units::{ByteCount, Duration};

    use super::*;
    use crate::scenario::FlowEnds;

    fn plan(source: Source, size: u64) -> MessagePlan {
        let flow = Flow {
            name: "f".into(),
            pair: None,
            from: None,
            to: None,
            ends: FlowEnds::default(),
            start: Duration::ZERO,
            stop: None,
            source,
            message_size: ByteCount::from_bytes(size),
            delivery: Delivery::Ordered,
            streams: 3,
            first_stream: 5,
            reliability: None,
            stream_values: Vec::new(),
        };
        MessagePlan::new(2, &flow)
    }

    #[test]
    fn lengths_are_those_that_the_generator_produces() {
        for (bytes, size) in [(1, 100), (99, 100), (100, 100), (107, 100), (108, 100), (1_000, 7)] {
            let plan = plan(Source::File(ByteCount::from_bytes(bytes)), size);
            let mut generator = plan.generator().unwrap();
            let mut number = 0;
            while let Some(message) = generator.peek(Instant::ZERO) {
                assert_eq!((message.number, message.bytes as usize), (number, plan.len(number)));
                generator.taken(message);
                number += 1;
            }
            assert_eq!((plan.len(number), plan.len(u64::MAX)), (0, 0));
            let short = plan.len(number - 1) < RECOGNISABLE;
            assert_eq!(plan.unrecognisable(), short.then_some(number - 1));
        }
        let endless = plan(Source::Saturated, 1452);
        assert_eq!((endless.len(1 << 40), endless.unrecognisable()), (1452, None));
    }

    #[test]
    fn messages_go_round_the_streams_and_know_their_flow() {
        let plan = plan(Source::Saturated, 100);
        assert_eq!([0, 1, 2, 3].map(|number| plan.stream(number)), [5, 6, 7, 5]);
        assert_eq!(MessagePlan::of_identity(plan.identity(12_345)), (2, 12_345));
    }
}
