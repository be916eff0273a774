//! The messages of a flow.

use polypath_units::{ByteCount, Instant};
use polypath_workload::{Carrier, FlowError, FlowSpec, Generator, Message, Source, Stream};

use crate::frame::RECOGNISABLE;
use crate::scenario::Flow;

/// The messages of a flow, numbered from 0.
///
/// The identity of a message in its association contains the index of the flow in the upper 16 bits.
#[derive(Clone, Debug)]
pub(crate) struct MessagePlan {
    flow: u16,
    spec: FlowSpec,
    first_stream: u16,
    streams: u16,
}

const FLOW_SHIFT: u32 = 48;

impl MessagePlan {
    /// The messages of `flow`, whose index in the scenario is `index`.
    pub fn new(index: usize, flow: &Flow, spec: FlowSpec) -> Self {
        Self {
            flow: index as u16,
            spec,
            first_stream: flow.first_stream,
            streams: flow.streams.max(1),
        }
    }

    /// The generator of the messages.
    pub fn generator(&self, carrier: Carrier, rng: Stream) -> Result<Generator, FlowError> {
        Generator::new(self.spec.clone(), carrier, rng)
    }

    /// When the first message is generated.
    pub fn start(&self) -> Instant {
        Instant::ZERO + self.spec.start
    }

    /// Number and length of the last message of a file, if it is too short to identify by its bytes.
    pub fn unrecognisable(&self) -> Option<(u64, usize)> {
        let Source::File(file) = self.spec.source else { return None };
        let size = self.spec.sizes().constant().map_or(1, ByteCount::as_bytes).max(1);
        let last = file.as_bytes().checked_sub(1)? / size;
        let len = (file.as_bytes() - last * size).min(size) as usize;
        (len < RECOGNISABLE).then_some((last, len))
    }

    /// Stream of a message.
    pub fn stream(&self, message: &Message) -> u16 {
        let streams = u64::from(self.streams);
        if streams == 1 {
            return self.first_stream;
        }
        let of_flow = message.stream.map_or(message.number % streams, |s| u64::from(s) % streams);
        self.first_stream.wrapping_add(of_flow as u16)
    }

    /// The identity of message `number` in its association.
    pub fn identity(&self, number: u64) -> u64 {
        u64::from(self.flow) << FLOW_SHIFT | number
    }

    /// The flow and number of an identity.
    pub fn of_identity(identity: u64) -> (usize, u64) {
        ((identity >> FLOW_SHIFT) as usize, identity & ((1 << FLOW_SHIFT) - 1))
    }
}

#[cfg(test)]
mod tests {
    use polypath_workload::{Delivery, Effort};

    use super::*;

    fn plan(source: Source, size: u64) -> MessagePlan {
        let spec = FlowSpec::new(source, ByteCount::from_bytes(size));
        MessagePlan { flow: 2, spec, first_stream: 5, streams: 3 }
    }

    fn message(number: u64, stream: Option<u16>) -> Message {
        Message {
            number,
            bytes: 100,
            delivery: Delivery::Ordered,
            effort: Effort::AsFlow,
            stream,
            offered: Instant::ZERO,
            since: None,
        }
    }

    #[test]
    fn short_ends_of_files_are_known() {
        for (bytes, size, end) in [
            (1, 100, Some((0, 1))),
            (99, 100, None),
            (100, 100, None),
            (107, 100, Some((1, 7))),
            (108, 100, None),
            (1_000, 7, Some((142, 6))),
        ] {
            let plan = plan(Source::File(ByteCount::from_bytes(bytes)), size);
            assert_eq!(plan.unrecognisable(), end, "{bytes} in {size}");
        }
        assert_eq!(plan(Source::Saturated, 1_452).unrecognisable(), None);
    }

    #[test]
    fn messages_go_round_the_streams_and_know_their_flow() {
        let plan = plan(Source::Saturated, 100);
        assert_eq!([0, 1, 2, 3].map(|number| plan.stream(&message(number, None))), [5, 6, 7, 5]);
        assert_eq!([0, 2].map(|stream| plan.stream(&message(1, Some(stream)))), [5, 7]);
        assert_eq!(MessagePlan::of_identity(plan.identity(12_345)), (2, 12_345));
    }
}
