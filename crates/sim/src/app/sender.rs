//! The sending side of a flow.

use polypath_proto::config::PartialReliability;
use polypath_proto::{Association, Cx, OutgoingMessage, SendError};
use polypath_units::Instant;
use polypath_wire::{Payload, VirtualPayload};
use polypath_workload::{Delivery, Effort, Generator, Message};

use super::{Ledger, MessagePlan};

/// Hands the messages of a flow to an association as they come, or as fast as its send buffer takes them.
#[derive(Debug)]
pub(crate) struct Sender {
    /// Number of the flow in its scenario.
    flow: usize,
    plan: MessagePlan,
    generator: Generator,
    reliability: Option<PartialReliability>,
    abandoned: u64,
    /// Why the association never takes the next message.
    refused: Option<SendError>,
}

/// What came of offering a message to an association.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Fed {
    /// It took one.
    One,
    /// There is nothing to send now.
    Dry,
    /// The send buffer is full, or the association takes no more.
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

    /// Number of the flow in its scenario.
    pub fn flow(&self) -> usize {
        self.flow
    }

    /// When it begins, has a message or stops next.
    #[inline]
    pub fn next_turn(&self, now: Instant) -> Option<Instant> {
        self.generator.next_turn(now)
    }

    /// What it sends.
    pub fn generator(&self) -> &Generator {
        &self.generator
    }

    /// A response came, or a request that was offered at `since`.
    pub fn trigger(&mut self, now: Instant, since: Instant) {
        self.generator.trigger(now, since);
    }

    /// Messages handed over so far.
    pub fn messages(&self) -> u64 {
        self.generator.messages()
    }

    /// Whether something was sent and nothing will follow after `now`.
    // Apart: it is asked for hardly a packet, but the question before it for every one.
    #[inline(never)]
    pub fn is_over(&self, now: Instant) -> bool {
        self.generator.is_finished(now) && self.generator.messages() > 0
    }

    /// Whether all that the flow is to carry was handed over.
    pub fn is_exhausted(&self, now: Instant) -> bool {
        self.generator.is_exhausted(now)
    }

    /// Whether its messages are not as reliable as those of the host in general.
    pub fn has_own_reliability(&self) -> bool {
        self.reliability.is_some()
    }

    /// A message was given up.
    pub fn note_abandoned(&mut self) {
        self.abandoned += 1;
    }

    /// Messages that were given up. Some of them may have arrived all the same.
    pub fn abandoned(&self) -> u64 {
        self.abandoned
    }

    /// Why the association never takes the next message, if that is so.
    pub fn refused(&self) -> Option<SendError> {
        self.refused
    }

    /// Sends one message, if there is one and it goes.
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
            // What became of the association its events tell.
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
