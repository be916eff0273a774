//! The receiving side of flows: counts messages and checks every byte of them.

use polypath_proto::ReceivedMessage;
use polypath_units::{ByteCount, Instant};
use polypath_wire::{Payload, VirtualPayload};
use polypath_workload::{Delivery, GoodputMeter};
use serde::Serialize;

use super::{Arrived, FlowLedger, MessagePlan};
use crate::frame::identity;
use crate::probe::Delivered;

/// Errors that an application must never see; all zero in a correct run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Violations {
    /// Messages whose content, length or stream differs from what was sent.
    pub damaged: u64,
    /// Messages that were never sent.
    pub strange: u64,
    /// Messages delivered more than once.
    pub duplicated: u64,
    /// Ordered messages that arrived before an earlier one of their stream.
    pub out_of_order: u64,
}

impl Violations {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The sum of both.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            damaged: self.damaged + other.damaged,
            strange: self.strange + other.strange,
            duplicated: self.duplicated + other.duplicated,
            out_of_order: self.out_of_order + other.out_of_order,
        }
    }
}

/// The meaning of a gap before an ordered message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Gaps {
    /// The order is broken.
    Violation,
    /// The sender abandoned the missing message.
    Abandoned,
}

/// Receives the messages of one flow.
#[derive(Debug)]
pub(crate) struct Receiver {
    plan: MessagePlan,
    gaps: Gaps,
    /// Last ordered message received, by stream in use.
    ordered: Vec<Option<u64>>,
    meter: GoodputMeter,
    violations: Violations,
    /// Deliveries with their times, if they are recorded.
    log: Option<Vec<Delivered>>,
}

impl Receiver {
    pub fn new(plan: MessagePlan, gaps: Gaps) -> Self {
        let meter = GoodputMeter::starting_at(plan.start());
        let violations = Violations::default();
        Self { plan, gaps, ordered: Vec::new(), meter, violations, log: None }
    }

    /// Starts recording deliveries.
    pub fn keep_log(&mut self) {
        self.log.get_or_insert_default();
    }

    /// Deliveries with their times, if they are recorded.
    pub fn log(&self) -> &[Delivered] {
        self.log.as_deref().unwrap_or_default()
    }

    /// Bytes delivered.
    pub fn meter(&self) -> &GoodputMeter {
        &self.meter
    }

    /// Errors seen.
    pub fn violations(&self) -> Violations {
        self.violations
    }

    /// Takes message `number` of this flow. Returns when the source generated it, if the message is intact and new.
    #[inline]
    pub fn take(
        &mut self,
        now: Instant,
        number: u64,
        message: &ReceivedMessage,
        ledger: &mut FlowLedger,
    ) -> Option<Instant> {
        let intact = intact_length(self.plan.identity(number), &message.fragments);
        let sent = match ledger.find(number) {
            Arrived::First(sent) if intact == Some(sent.bytes) && message.stream == sent.stream => {
                sent
            }
            Arrived::Again if intact.is_some() => {
                self.violations.duplicated += 1;
                return None;
            }
            Arrived::First(_) | Arrived::Again | Arrived::Unknown => {
                self.violations.damaged += 1;
                return None;
            }
        };
        if sent.delivery == Delivery::Ordered && !self.is_next(number, sent.stream, sent.before) {
            self.violations.out_of_order += 1;
        }
        ledger.delivered(now, number, &sent);
        let bytes = u64::from(sent.bytes);
        self.meter.received(now, ByteCount::from_bytes(bytes));
        if let Some(log) = &mut self.log {
            let message = self.plan.identity(number);
            log.push(Delivered { at: now, message, bytes });
        }
        Some(sent.offered)
    }

    /// Whether an ordered message is in order on its stream, and no earlier message is missing that had to arrive.
    #[inline]
    fn is_next(&mut self, number: u64, stream: u16, before: Option<u64>) -> bool {
        let index = usize::from(stream);
        if index >= self.ordered.len() {
            self.ordered.resize(index + 1, None);
        }
        let last = self.ordered[index];
        self.ordered[index] = last.max(Some(number));
        match self.gaps {
            Gaps::Violation => last == before,
            Gaps::Abandoned => last < Some(number),
        }
    }
}

/// The flow and number of a message that arrived; `None` if it was never sent.
#[inline]
pub(crate) fn recognise(message: &ReceivedMessage, receivers: &[Receiver]) -> Option<(usize, u64)> {
    let found = match identity(message.fragments.first()?) {
        Some(identity) => MessagePlan::of_identity(identity),
        None => recognise_short(message, receivers)?,
    };
    (found.0 < receivers.len()).then_some(found)
}

/// A message too short to contain its identity: the message with the same content.
fn recognise_short(message: &ReceivedMessage, receivers: &[Receiver]) -> Option<(usize, u64)> {
    let plans = receivers.iter().map(|receiver| &receiver.plan).enumerate();
    let shorts = plans.filter_map(|(flow, plan)| Some((flow, plan, plan.unrecognisable()?)));
    shorts
        .filter(|(_, _, (_, len))| *len == message.len())
        .find(|(_, plan, (last, _))| {
            intact_length(plan.identity(*last), &message.fragments).is_some()
        })
        .map(|(flow, _, (last, _))| (flow, last))
}

/// Length of a message in bytes, if `fragments` are consecutive parts of it.
#[inline]
fn intact_length(identity: u64, fragments: &[Payload<'_>]) -> Option<u32> {
    let mut at = 0;
    for fragment in fragments {
        let is_next = match fragment {
            Payload::Virtual(payload) => payload.message == identity && payload.offset == at,
            Payload::Borrowed(bytes) => VirtualPayload::verify(identity, at, bytes),
            Payload::Shared(bytes) => VirtualPayload::verify(identity, at, bytes),
            // Receivers have each fragment in one part.
            Payload::Joined(_) => false,
        };
        if !is_next {
            return None;
        }
        at += fragment.len() as u32;
    }
    Some(at)
}

#[cfg(test)]
mod tests;
