//! Fair queueing with controlled delay.

use std::collections::VecDeque;

use polypath_units::{ByteCount, Duration, Instant};
use rand_core::Rng;

use super::codel::{Codel, Law, Source, law_problem};
use super::managed::{QueueAct, Waiting};
use super::{EcnMarking, QueueLevel};
use crate::{DropCause, Streams};

/// Fair queueing with controlled delay (RFC 8290): flows are hashed to queues, which are served by deficit round robin,
/// new ones first, and controlled by CoDel. Beyond the limit, up to half of the longest queue is dropped from its head.
///
/// A flow is a pair of addresses, the protocol and a pair of ports. The hash depends on the seed of the run and the
/// name of the channel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FqCodelConfig {
    /// Acceptable queueing delay.
    pub target: Duration,
    /// Time within which an end point can react.
    pub interval: Duration,
    /// Maximum number of packets in all queues together.
    pub limit: u64,
    /// Number of queues.
    pub flows: u32,
    /// Bytes that a queue may send per turn.
    pub quantum: ByteCount,
    /// Maximum number of packets dropped at once when the limit is exceeded.
    pub drop_batch: u64,
    /// Whether ECN-capable packets are marked instead of dropped.
    pub ecn: EcnMarking,
}

/// The defaults of the RFC, but without ECN: 5 ms, 100 ms, 10240 packets, 1024 queues, 1514 B, 64 packets.
impl Default for FqCodelConfig {
    fn default() -> Self {
        Self {
            target: Duration::from_millis(5),
            interval: Duration::from_millis(100),
            limit: 10_240,
            flows: 1_024,
            quantum: ByteCount::from_bytes(1_514),
            drop_batch: 64,
            ecn: EcnMarking::default(),
        }
    }
}

/// Most queues: the RFC's limit of hashing to 16 bits.
const MOST_FLOWS: u32 = 1 << 16;
/// Turns of a few bytes would be many turns per packet.
const QUANTUM_RANGE: (u64, u64) = (64, 1 << 30);

impl FqCodelConfig {
    /// What makes no sense: the key and what is wrong there.
    pub(crate) fn problem(&self) -> Option<(&'static str, String)> {
        let (least, most) = QUANTUM_RANGE;
        if self.limit == 0 || self.limit > u64::from(u32::MAX / 2) {
            return Some(("limit", format!("must be from 1 to {} packets", u32::MAX / 2)));
        }
        if !(1..=MOST_FLOWS).contains(&self.flows) {
            return Some(("flows", format!("must be from 1 to {MOST_FLOWS}")));
        }
        if !(least..=most).contains(&self.quantum.as_bytes()) {
            return Some(("quantum", format!("{} is not from {least} B to 1 GiB", self.quantum)));
        }
        if self.drop_batch == 0 {
            return Some(("drop_batch", "must not be zero".into()));
        }
        law_problem(self.target, self.interval)
    }
}

/// No place in a table.
const NONE: u32 = u32::MAX;

/// The queues of one channel. Packets are links of chains in one pool, so that none is allocated once the pool is as large
/// as it has to be.
#[derive(Debug)]
pub(crate) struct FqCodel {
    pool: Pool,
    flows: Vec<FlowQueue>,
    /// Queues that began to send and have had no turn of their own yet.
    new: List,
    /// Those that send on.
    old: List,
    level: QueueLevel,
    law: Law,
    limit: u64,
    quantum: i64,
    drop_batch: u64,
    seed: u64,
}

/// The queue of the flows with one hash.
#[derive(Clone, Copy, Debug)]
struct FlowQueue {
    head: u32,
    tail: u32,
    packets: u64,
    bytes: u64,
    /// Bytes that it may still send in this turn.
    credit: i64,
    /// The queue behind it in its list.
    next: u32,
    place: Place,
    codel: Codel,
}

/// Which list a queue is in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Place {
    Nowhere,
    New,
    Old,
}

/// A list of queues, first and last.
#[derive(Clone, Copy, Debug)]
struct List {
    head: u32,
    tail: u32,
}

#[derive(Debug)]
struct Pool {
    nodes: Vec<Node>,
    /// The first node that is free.
    free: u32,
}

#[derive(Clone, Copy, Debug)]
struct Node {
    waiting: Waiting,
    next: u32,
}

/// One queue and the pool, as CoDel sees them.
struct OneQueue<'a> {
    flow: &'a mut FlowQueue,
    pool: &'a mut Pool,
    level: &'a mut QueueLevel,
}

impl FqCodel {
    /// The queues of the channel `name`.
    pub fn new(config: &FqCodelConfig, name: &str, streams: &Streams) -> Self {
        let FqCodelConfig { target, interval, limit, flows, quantum, drop_batch, ecn } = *config;
        Self {
            pool: Pool { nodes: Vec::new(), free: NONE },
            flows: vec![FlowQueue::EMPTY; flows as usize],
            new: List::EMPTY,
            old: List::EMPTY,
            level: QueueLevel::default(),
            law: Law { target, interval, ecn, max_packet: 0 },
            limit,
            quantum: i64::try_from(quantum.as_bytes()).unwrap_or(i64::MAX),
            drop_batch,
            seed: streams.stream(&format!("{name}/flows")).next_u64(),
        }
    }

    /// Takes a packet in any case; where that makes too many, others go.
    pub fn enqueue(&mut self, waiting: Waiting, flow: u64, acts: &mut VecDeque<QueueAct>) {
        let index = self.index(flow);
        let bytes = u64::from(waiting.ticket.bytes);
        self.law.max_packet = self.law.max_packet.max(waiting.ticket.bytes);
        let node = self.pool.insert(waiting);
        let queue = &mut self.flows[index as usize];
        match queue.tail {
            NONE => queue.head = node,
            tail => self.pool.nodes[tail as usize].next = node,
        }
        queue.tail = node;
        queue.packets += 1;
        queue.bytes += bytes;
        self.level.packets += 1;
        self.level.bytes += bytes;
        if queue.place == Place::Nowhere {
            queue.credit = self.quantum;
            self.append(index, Place::New);
        }
        if self.level.packets > self.limit {
            self.drop_from_longest(acts);
        }
    }

    /// Takes the packet that is to be sent at `now`.
    pub fn dequeue(&mut self, now: Instant, acts: &mut VecDeque<QueueAct>) -> Option<Waiting> {
        loop {
            let place = if self.new.head == NONE { Place::Old } else { Place::New };
            let index = self.list(place).head;
            let flow = self.flows.get_mut(index as usize)?;
            if flow.credit <= 0 {
                flow.credit += self.quantum;
                self.move_first(place, Place::Old);
                continue;
            }
            // Borrowed apart from the table while CoDel looks.
            let mut codel = flow.codel;
            let mut source =
                OneQueue { flow: &mut *flow, pool: &mut self.pool, level: &mut self.level };
            let next = codel.dequeue(now, &self.law, &mut source, acts);
            flow.codel = codel;
            match next {
                Some(waiting) => {
                    flow.credit -= i64::from(waiting.ticket.bytes);
                    return Some(waiting);
                }
                // An empty queue goes through the old ones once, so that it cannot become new again at once.
                None if place == Place::New => self.move_first(place, Place::Old),
                None => self.move_first(place, Place::Nowhere),
            }
        }
    }

    /// Takes any packet out.
    pub fn remove(&mut self) -> Option<Waiting> {
        loop {
            let place = if self.new.head == NONE { Place::Old } else { Place::New };
            let index = self.list(place).head;
            let flow = self.flows.get_mut(index as usize)?;
            let mut source = OneQueue { flow, pool: &mut self.pool, level: &mut self.level };
            match source.pop() {
                Some(waiting) => return Some(waiting),
                None => self.move_first(place, Place::Nowhere),
            }
        }
    }

    #[inline]
    pub fn level(&self) -> QueueLevel {
        self.level
    }

    /// The queue of a flow: a hash with the seed, scaled to the number of queues.
    fn index(&self, flow: u64) -> u32 {
        let hash = scramble(flow ^ self.seed);
        ((u128::from(hash) * self.flows.len() as u128) >> 64) as u32
    }

    fn drop_from_longest(&mut self, acts: &mut VecDeque<QueueAct>) {
        // Of several that are equally long the first of the table.
        let Some(longest) = self.flows.iter_mut().rev().max_by_key(|flow| flow.bytes) else {
            return;
        };
        let count = longest.packets.div_ceil(2).min(self.drop_batch);
        let mut source = OneQueue { flow: longest, pool: &mut self.pool, level: &mut self.level };
        let dropped = std::iter::from_fn(|| source.pop()).take(count as usize);
        acts.extend(dropped.map(|it| QueueAct::Dropped(it.ticket, DropCause::QueueFull)));
    }

    fn list(&mut self, place: Place) -> &mut List {
        match place {
            Place::New => &mut self.new,
            Place::Old | Place::Nowhere => &mut self.old,
        }
    }

    /// Takes the first queue of a list and appends it to another.
    fn move_first(&mut self, from: Place, to: Place) {
        let index = self.list(from).head;
        let Some(flow) = self.flows.get_mut(index as usize) else { return };
        let next = std::mem::replace(&mut flow.next, NONE);
        flow.place = Place::Nowhere;
        let list = self.list(from);
        list.head = next;
        if next == NONE {
            list.tail = NONE;
        }
        if to != Place::Nowhere {
            self.append(index, to);
        }
    }

    fn append(&mut self, index: u32, place: Place) {
        let list = self.list(place);
        let last = std::mem::replace(&mut list.tail, index);
        if last == NONE {
            list.head = index;
        } else {
            self.flows[last as usize].next = index;
        }
        self.flows[index as usize].place = place;
    }
}

impl FlowQueue {
    const EMPTY: Self = Self {
        head: NONE,
        tail: NONE,
        packets: 0,
        bytes: 0,
        credit: 0,
        next: NONE,
        place: Place::Nowhere,
        codel: Codel::NEW,
    };
}

impl List {
    const EMPTY: Self = Self { head: NONE, tail: NONE };
}

impl Pool {
    fn insert(&mut self, waiting: Waiting) -> u32 {
        let node = Node { waiting, next: NONE };
        match self.nodes.get_mut(self.free as usize) {
            Some(place) => {
                let index = std::mem::replace(&mut self.free, place.next);
                *place = node;
                index
            }
            None => {
                self.nodes.push(node);
                (self.nodes.len() - 1) as u32
            }
        }
    }
}

impl Source for OneQueue<'_> {
    fn pop(&mut self) -> Option<Waiting> {
        let index = self.flow.head;
        let node = self.pool.nodes.get_mut(index as usize)?;
        self.flow.head = std::mem::replace(&mut node.next, self.pool.free);
        self.pool.free = index;
        if self.flow.head == NONE {
            self.flow.tail = NONE;
        }
        let bytes = u64::from(node.waiting.ticket.bytes);
        self.flow.packets -= 1;
        self.flow.bytes -= bytes;
        self.level.packets -= 1;
        self.level.bytes -= bytes;
        Some(node.waiting)
    }

    fn bytes(&self) -> u64 {
        self.flow.bytes
    }
}

/// The finaliser of SplitMix64 (Steele, Lea, Flood 2014): every bit of the input moves half of those of the output.
pub(crate) const fn scramble(mut value: u64) -> u64 {
    value = (value ^ (value >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    value = (value ^ (value >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    value ^ (value >> 31)
}

#[cfg(test)]
mod tests;
