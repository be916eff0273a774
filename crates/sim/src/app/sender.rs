//! The sending side of a flow.

use polypath_proto::config::PartialReliability;
use polypath_proto::{Association, Cx, OutgoingMessage, SendError};
use polypath_units::Instant;
use polypath_wire::{Payload, VirtualPayload};
use polypath_workload::{Delivery, Effort, Generator, Message};

use super::{Ledger, MessagePlan};

/// Passes the messages of a flow to an association when they are generated, or as fast as its send buffer accepts them.
#[derive(Debug)]
pub(crate) struct Sender {
    /// Index of the flow in its scenario.
    flow: usize,
    plan: MessagePlan,
    generator: Generator,
    reliability: Option<PartialReliability>,
    abandoned: u64,
    /// Why the association will never accept the next message.
    refused: Option<SendError>,
}

/// The result of passing a message to an association.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Fed {
    /// The association accepted it.
    One,
    /// The flow has no message now.
    Dry,
    /// The send buffer is full, or the association accepts no more data.
    Full,
}

impl Sender {
    pub fn new(
        flow: usize,
        plan: MessagePlan,
        generator: Generator,
        reliability: Option<PartialReliability>,
    ) -> Self {
        Self { flow, plan, generator, reliability, abandoned: 0, refused: None }
    }

    /// Index of the flow in its scenario.
    pub fn flow(&self) -> usize {
        self.flow
    }

    /// The next instant at which the flow begins, has a message, or stops.
    #[inline]
    pub fn next_turn(&self, now: Instant) -> Option<Instant> {
        self.generator.next_turn(now)
    }

    /// The generator of its messages.
    pub fn generator(&self) -> &Generator {
        &self.generator
    }

    /// Notes a response, or a request that was generated at `since`.
    pub fn trigger(&mut self, now: Instant, since: Instant) {
        self.generator.trigger(now, since);
    }

    /// Messages passed to the association so far.
    pub fn messages(&self) -> u64 {
        self.generator.messages()
    }

    /// Whether messages were sent and none will follow after `now`.
    // A function of its own: rarely called, unlike the check before it, which runs for each packet.
    #[inline(never)]
    pub fn is_over(&self, now: Instant) -> bool {
        self.generator.is_finished(now) && self.generator.messages() > 0
    }

    /// Whether all messages of the flow were passed to the association.
    pub fn is_exhausted(&self, now: Instant) -> bool {
        self.generator.is_exhausted(now)
    }

    /// Whether the reliability of its messages differs from that of the host.
    pub fn has_own_reliability(&self) -> bool {
        self.reliability.is_some()
    }

    /// Notes an abandoned message.
    pub fn note_abandoned(&mut self) {
        self.abandoned += 1;
    }

    /// Number of abandoned messages. Some of them may have arrived.
    pub fn abandoned(&self) -> u64 {
        self.abandoned
    }

    /// Why the association will never accept the next message, if it will not.
    pub fn refused(&self) -> Option<SendError> {
        self.refused
    }

    /// Sends one message, if the flow has one and the association accepts it.
    pub fn feed(
        &mut self,
        cx: &mut Cx<'_>,
        association: &mut Association,
        ledger: &mut Ledger,
    ) -> Fed {
        if self.refused.is_some() {
            return Fed::Dry;
        }
        let Some(message) = self.generator.peek(cx.now) else { return Fed::Dry };
        let stream = self.plan.stream(&message);
        match association.send(cx, self.outgoing(&message, stream)) {
            Ok(()) => {
                if let Some(ledger) = ledger.flow_mut(self.flow) {
                    ledger.sent(&message, stream);
                }
                self.generator.taken(message);
                Fed::One
            }
            // Events of the association report its end.
            Err(SendError::WouldBlock | SendError::Closed) => Fed::Full,
            Err(error) => {
                self.refused = Some(error);
                Fed::Dry
            }
        }
    }

    fn outgoing(&self, message: &Message, stream: u16) -> OutgoingMessage {
        let identity = self.plan.identity(message.number);
        let payload = VirtualPayload { message: identity, offset: 0, len: message.bytes };
        let delivery = match message.delivery {
            Delivery::Ordered => polypath_proto::Delivery::Ordered,
            Delivery::Unordered => polypath_proto::Delivery::Unordered,
        };
        let reliability = match message.effort {
            Effort::AsFlow => self.reliability,
            Effort::SentOnce => Some(PartialReliability::LimitedRetransmissions(0)),
        };
        OutgoingMessage {
            delivery,
            reliability,
            context: self.flow as u32,
            ..OutgoingMessage::from_payload(stream, Payload::Virtual(payload))
        }
    }
}
