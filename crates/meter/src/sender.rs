//! Sends the flows of one side.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use polypath::{Association, Message};
use polypath_units::Instant as Moment;
use polypath_workload::{Delivery, Effort, Generator};
use tokio::task::{JoinSet, yield_now};
use tokio::time::{sleep, sleep_until, timeout_at};

use crate::clock::{self, WallClock};
use crate::error::SessionError;
use crate::flow::FlowPlan;
use crate::gate::Gate;
use crate::payload::{self, Header, Messages, Role};
use crate::proposal::Proposal;
use crate::tally::Tally;
use crate::traffic::{PartialReliability, Traffic};

/// Longest time that a sender without end may go on, for its generator.
const FOR_EVER: polypath_units::Duration = polypath_units::Duration::from_secs(1_000_000);
/// Messages before the transport, which may share the thread, has its turn.
const MESSAGES_PER_TURN: u64 = 128;
/// Messages that are made and handed over at a time, with one look at the clock.
const AT_A_TIME: usize = 16;
/// Longest sleep: the clock of the source may not keep up with that of the timer.
const LONGEST_SLEEP: Duration = Duration::from_secs(1);

/// What the senders of one side have in common.
#[derive(Debug)]
pub(crate) struct Senders {
    pub association: Association,
    pub plan: Arc<Proposal>,
    pub role: Role,
    pub tally: Arc<Tally>,
    /// When the measurement started.
    pub started: Instant,
}

impl Senders {
    /// Sends all that the plan says; ends when the transport has taken the last of it.
    pub async fn run(self) -> Result<(), SessionError> {
        let started_us = clock::now_us();
        let common = Arc::new(Common {
            gate: Gate::new(self.association.clone(), longest(&self.plan, self.role)),
            left: AtomicU64::new(self.plan.bytes().unwrap_or(u64::MAX)),
            started_us,
            senders: self,
        });
        let mut flows = JoinSet::new();
        let plan = Arc::clone(&common.senders.plan);
        for (place, flow) in plan.flows.iter().enumerate() {
            if let Some(traffic) = flow.sent_by(common.senders.role) {
                let seed = plan.seed
                    ^ (u64::from(flow.id) << 1 | u64::from(common.senders.role == Role::Server));
                let stop = plan.end().map_or(FOR_EVER, nanoseconds);
                let generator = traffic.generator(stop, seed)?;
                let flow = Flow::new(place, flow, traffic, generator, Arc::clone(&common));
                flows.spawn(flow.run());
            }
        }
        while let Some(ended) = flows.join_next().await {
            ended??;
        }
        Ok(())
    }
}

#[derive(Debug)]
struct Common {
    senders: Senders,
    gate: Gate,
    /// Bytes that may still be sent.
    left: AtomicU64,
    /// Microseconds since 1970 when it started.
    started_us: u64,
}

/// A flow that is sent.
#[derive(Debug)]
struct Flow {
    place: usize,
    header: Header,
    reliability: PartialReliability,
    is_saturated: bool,
    generator: Generator,
    messages: Messages,
    /// Messages on their way to the transport.
    made: VecDeque<Message>,
    clock: WallClock,
    common: Arc<Common>,
}

/// What came of making messages.
enum Made {
    /// At least one.
    Some,
    /// None: too much waits to be sent.
    Later,
    /// None: the source has none now.
    NoneDue,
    /// None: all that may be sent was sent.
    NoneLeft,
}

impl Flow {
    fn new(
        place: usize,
        plan: &FlowPlan,
        traffic: &Traffic,
        generator: Generator,
        common: Arc<Common>,
    ) -> Self {
        let header = Header {
            flow: plan.id,
            measurement: common.senders.plan.measurement,
            stream: plan.stream(),
            frame: 0,
            sequence: 0,
            byte_sequence: 0,
            time_us: 0,
        };
        Self {
            place,
            header,
            reliability: traffic.partial_reliability,
            is_saturated: traffic.is_saturated(),
            generator,
            messages: Messages::new(common.senders.role),
            made: VecDeque::with_capacity(AT_A_TIME),
            clock: WallClock::new(),
            common,
        }
    }

    async fn run(mut self) -> Result<(), SessionError> {
        let common = Arc::clone(&self.common);
        let deadline = common.senders.plan.end().map(|end| common.senders.started + end);
        match deadline {
            // What the transport does not take by then is never sent.
            Some(deadline) => timeout_at(deadline.into(), self.send_all()).await.unwrap_or(Ok(())),
            None => self.send_all().await,
        }
    }

    async fn send_all(&mut self) -> Result<(), SessionError> {
        let common = Arc::clone(&self.common);
        let mut since_turn = 0;
        loop {
            let now = Instant::now();
            match self.make(now) {
                Made::Some => {}
                Made::Later => {
                    common.gate.opened().await;
                    continue;
                }
                Made::NoneDue => {
                    // Other flows may have sent all that was to be sent.
                    if common.left.load(Ordering::Relaxed) == 0 {
                        return Ok(());
                    }
                    match self.generator.next_turn(self.moment(now)) {
                        Some(turn) => self.sleep_until(turn).await,
                        None => return Ok(()),
                    }
                    continue;
                }
                Made::NoneLeft => return Ok(()),
            }
            since_turn += self.hand_over().await?;
            if since_turn >= MESSAGES_PER_TURN {
                since_turn = 0;
                yield_now().await;
            }
        }
    }

    /// Makes the messages that are due and may go, up to [`AT_A_TIME`].
    fn make(&mut self, now: Instant) -> Made {
        let common = Arc::clone(&self.common);
        let moment = self.moment(now);
        let why = loop {
            if self.made.len() == AT_A_TIME {
                break Made::Some;
            }
            let Some(message) = self.generator.peek(moment) else { break Made::NoneDue };
            if !common.gate.try_pass(message.bytes.into()) {
                break Made::Later;
            }
            let Some(length) = common.claim(message.bytes) else { break Made::NoneLeft };
            let outgoing = self.message(&message, length, now);
            self.made.push_back(outgoing);
            self.generator.taken(message);
            self.header.sequence += 1;
            self.header.frame = self.header.frame.wrapping_add(1);
            self.header.byte_sequence += length as u64;
        };
        if self.made.is_empty() { why } else { Made::Some }
    }

    /// Hands what was made to the transport, and gives how many messages that were.
    async fn hand_over(&mut self) -> Result<u64, SessionError> {
        let common = Arc::clone(&self.common);
        let (tally, association) = (&common.senders.tally, &common.senders.association);
        let made = self.made.len() as u64;
        let bytes =
            |made: &VecDeque<Message>| made.iter().map(|message| message.len() as u64).sum();
        while !self.made.is_empty() {
            let (before, bytes_before): (usize, u64) = (self.made.len(), bytes(&self.made));
            // Mostly there is room; `send` waits for it, and finds out the cause where there is none to come.
            let _ = association.try_send_many(&mut self.made);
            if self.made.len() == before
                && let Some(message) = self.made.front().cloned()
            {
                association.send(message).await?;
                self.made.pop_front();
            }
            let (taken, left): (usize, u64) = (before - self.made.len(), bytes(&self.made));
            tally.sent(self.place, taken as u64, bytes_before - left, self.generator.dropped());
        }
        Ok(made)
    }

    fn message(
        &mut self,
        message: &polypath_workload::Message,
        length: usize,
        now: Instant,
    ) -> Message {
        self.header.time_us = match self.is_saturated {
            true => self.clock.us_at(now),
            false => self.common.started_us + message.offered.as_nanos() / 1000,
        };
        let (header, tail) = self.messages.encode(&self.header, length);
        let outgoing = Message::new(self.header.stream, header).tail(tail).ppid(payload::PPID);
        let outgoing = match message.delivery {
            Delivery::Ordered => outgoing,
            Delivery::Unordered => outgoing.unordered(),
        };
        match (message.effort, self.reliability) {
            (Effort::AsFlow, _) => outgoing,
            (Effort::SentOnce, PartialReliability::Retransmissions(limit)) => {
                outgoing.max_retransmissions(limit)
            }
            (Effort::SentOnce, PartialReliability::Lifetime(time)) => {
                outgoing.lifetime(Duration::from_nanos(time.as_nanos()))
            }
        }
    }

    /// The time of the generator.
    fn moment(&self, now: Instant) -> Moment {
        Moment::ZERO + nanoseconds(now.saturating_duration_since(self.common.senders.started))
    }

    async fn sleep_until(&self, turn: Moment) {
        let wait = Duration::from_nanos(turn.since(self.moment(Instant::now())).as_nanos());
        if wait > LONGEST_SLEEP {
            return sleep(LONGEST_SLEEP).await;
        }
        sleep_until((Instant::now() + wait).into()).await;
    }
}

impl Common {
    /// The part of a message that may still be sent; nothing when all was sent.
    fn claim(&self, bytes: u32) -> Option<usize> {
        if self.left.load(Ordering::Relaxed) == u64::MAX {
            return Some((bytes as usize).max(payload::HEADER));
        }
        let take = |left: u64| (left > 0).then(|| left - left.min(bytes.into()));
        let left = self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).ok()?;
        Some(left.min(bytes.into()) as usize).map(|length| length.max(payload::HEADER))
    }
}

/// The longest message that a side sends.
fn longest(plan: &Proposal, role: Role) -> u64 {
    let sizes = plan.flows.iter().filter_map(|flow| flow.sent_by(role));
    sizes.map(|traffic| u64::from(traffic.longest_message)).max().unwrap_or(0)
}

fn nanoseconds(time: Duration) -> polypath_units::Duration {
    polypath_units::Duration::from_nanos(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX))
}
