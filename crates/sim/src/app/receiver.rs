//! The receiving side of flows: counts what arrives and checks every byte of it.

use polypath_proto::ReceivedMessage;
use polypath_units::{ByteCount, Instant};
use polypath_wire::{Payload, VirtualPayload};
use polypath_workload::{Delivery, GoodputMeter};
use serde::Serialize;

use super::number_set::NumberSet;
use super::{MessagePlan, RECOGNISABLE};
use crate::frame::identity;
use crate::probe::Delivered;

/// What an application must never see; all zero in a correct run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Violations {
    /// Messages whose content, length or stream was not the sent one.
    pub damaged: u64,
    /// Messages that nobody sent.
    pub strange: u64,
    /// Messages delivered more than once.
    pub duplicated: u64,
    /// Ordered messages that overtook another one of their stream, or whose predecessor was missing.
    pub out_of_order: u64,
}

impl Violations {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Those of both.
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

/// What it means that an ordered message comes and one before it has not.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Gaps {
    /// The order is broken.
    Violation,
    /// The sender gave the other one up.
    Abandoned,
}

/// Receives the messages of one flow.
#[derive(Debug)]
pub(crate) struct Receiver {
    plan: MessagePlan,
    gaps: Gaps,
    /// Next message number per stream, for ordered flows; as long as the streams that were used make it.
    expected: Vec<u64>,
    /// Messages that came, for unordered flows.
    seen: NumberSet,
    meter: GoodputMeter,
    violations: Violations,
    /// What was delivered when, if somebody asks for that.
    log: Option<Vec<Delivered>>,
}

impl Receiver {
    /// `span` is how many messages the last one that came can be ahead of one that still may come.
    pub fn new(plan: MessagePlan, span: u64, gaps: Gaps) -> Self {
        let meter = GoodputMeter::starting_at(plan.start());
        Self {
            plan,
            gaps,
            expected: Vec::new(),
            seen: NumberSet::spanning(span),
            meter,
            violations: Violations::default(),
            log: None,
        }
    }

    /// Writes down when each message is delivered.
    pub fn keep_log(&mut self) {
        self.log.get_or_insert_default();
    }

    /// When each message was delivered, if that was asked for.
    pub fn log(&self) -> &[Delivered] {
        self.log.as_deref().unwrap_or_default()
    }

    /// What was delivered.
    pub fn meter(&self) -> &GoodputMeter {
        &self.meter
    }

    /// What went wrong.
    pub fn violations(&self) -> Violations {
        self.violations
    }

    /// Takes message `number` of this flow.
    pub fn take(&mut self, now: Instant, number: u64, message: &ReceivedMessage) {
        let len = message.len();
        let intact = len == self.plan.len(number)
            && message.stream == self.plan.stream(number)
            && is_intact(self.plan.identity(number), &message.fragments);
        if !intact {
            self.violations.damaged += 1;
            return;
        }
        let accepted = match self.plan.delivery() {
            Delivery::Ordered => self.in_order(number),
            Delivery::Unordered => self.once(number),
        };
        if accepted {
            self.meter.received(now, ByteCount::from_bytes(len as u64));
            if let Some(log) = &mut self.log {
                let message = self.plan.identity(number);
                log.push(Delivered { at: now, message, bytes: len as u64 });
            }
        }
    }

    fn in_order(&mut self, number: u64) -> bool {
        let streams = u64::from(self.plan.streams());
        let slot = (number % streams) as usize;
        let known = self.expected.len();
        self.expected.extend((known..=slot).map(|first| first as u64));
        let Some(expected) = self.expected.get_mut(slot) else { return false };
        let (was, is) = (*expected, number);
        if is < was {
            self.violations.duplicated += 1;
            return false;
        }
        self.violations.out_of_order += u64::from(is > was && self.gaps == Gaps::Violation);
        *expected = number + streams;
        true
    }

    fn once(&mut self, number: u64) -> bool {
        let new = self.seen.insert(number);
        self.violations.duplicated += u64::from(!new);
        new
    }
}

/// The flow and number of a message that arrived; `None` if it is none of those that were sent.
pub(crate) fn recognise(message: &ReceivedMessage, receivers: &[Receiver]) -> Option<(usize, u64)> {
    let found = match identity(message.fragments.first()?) {
        Some(identity) => MessagePlan::of_identity(identity),
        None => recognise_short(message, receivers)?,
    };
    (found.0 < receivers.len()).then_some(found)
}

/// A message too short to tell which one it is: one whose content it has.
fn recognise_short(message: &ReceivedMessage, receivers: &[Receiver]) -> Option<(usize, u64)> {
    let plans = receivers.iter().map(|receiver| &receiver.plan).enumerate();
    let shorts = plans.filter_map(|(flow, plan)| Some((flow, plan, plan.unrecognisable()?)));
    shorts
        .filter(|(_, plan, last)| plan.len(*last) == message.len() && message.len() < RECOGNISABLE)
        .find(|(_, plan, last)| is_intact(plan.identity(*last), &message.fragments))
        .map(|(flow, _, last)| (flow, last))
}

/// Whether `fragments` are all of a message in order.
fn is_intact(identity: u64, fragments: &[Payload<'_>]) -> bool {
    let mut at = 0;
    fragments.iter().all(|fragment| {
        let offset = at;
        at += fragment.len() as u32;
        match fragment {
            Payload::Virtual(payload) => payload.message == identity && payload.offset == offset,
            Payload::Borrowed(bytes) => VirtualPayload::verify(identity, offset, bytes),
            Payload::Shared(bytes) => VirtualPayload::verify(identity, offset, bytes),
        }
    })
}

#[cfg(test)]
mod tests;
