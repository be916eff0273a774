//! Congestion controllers alone over a bottleneck: a queue with a rate, a delay, a buffer and random loss.
//!
//! Packets have a number, and lost ones are not repeated: what a controller sees is the same. A receiver acknowledges every
//! second packet, one out of order at once, and a single one after 200 ms. Packets leave as the window and the rate of
//! the controller allow. All flows have the same controller or one each, and nothing else that is random but the loss.

mod bbr;
mod cubic;
mod flow;

use std::collections::BinaryHeap;
use std::vec::Vec;
use std::{boxed::Box, cmp::Reverse};

use crate::congestion::Controller;
use crate::{Duration, Instant};
use flow::{Flow, PACKET};

/// A link, and the path behind it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Link {
    pub(super) mbit: u64,
    /// Round trip without a queue.
    pub(super) round_trip: Duration,
    /// Bytes of the buffer.
    pub(super) buffer: u64,
    /// Packets in ten thousand that are lost behind the queue.
    pub(super) loss: u64,
}

impl Link {
    /// A link whose buffer holds so many tenths of a bandwidth-delay product.
    pub(super) fn new(mbit: u64, ms: u64, buffer_tenths: u64) -> Self {
        let buffer = mbit * 125 * ms * buffer_tenths / 10;
        Self { mbit, round_trip: Duration::from_millis(ms), buffer, loss: 0 }
    }
}

/// What happens, and when; the number keeps the order of things at one time.
type Event = Reverse<(Instant, u64, usize, What)>;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum What {
    /// The flow begins.
    Begin,
    /// A packet arrives at the receiver.
    Arrive(u64),
    /// The receiver has waited long enough for a second packet, if this is still the one that waits.
    Delayed(u64),
    /// An acknowledgement arrives at the sender.
    Answer(u64),
    /// The rate allows another packet.
    Paced,
    /// Nothing was acknowledged for a retransmission timeout after this many acknowledgements.
    Timeout(u64),
}

/// What a flow and the queue did in a part of the time.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Seen {
    pub(super) mbit: f64,
    /// Packets that the full buffer dropped.
    pub(super) dropped: u64,
    /// Mean and largest length of the queue that packets met, in bytes.
    pub(super) queue: u64,
    pub(super) longest_queue: u64,
}

/// A link and its flows.
pub(super) struct Model {
    link: Link,
    now: Instant,
    events: BinaryHeap<Event>,
    count: u64,
    flows: Vec<Flow>,
    /// When the queue is empty.
    free_at: Instant,
    random: u64,
    dropped: u64,
    /// Lengths of the queue that packets met, together, how many they were, and the largest.
    queued: (u64, u64, u64),
}

impl Model {
    pub(super) fn new(link: Link) -> Self {
        Self {
            link,
            now: Instant::ZERO,
            events: BinaryHeap::new(),
            count: 0,
            flows: Vec::new(),
            free_at: Instant::ZERO,
            random: 0x9E37_79B9_7F4A_7C15,
            dropped: 0,
            queued: (0, 0, 0),
        }
    }

    /// Changes the rate of the link from now on.
    pub(super) fn set_rate(&mut self, mbit: u64) {
        self.link.mbit = mbit;
    }

    /// A flow that begins after so long.
    pub(super) fn add(&mut self, controller: Box<dyn Controller>, after: Duration) {
        self.flows.push(Flow::new(controller));
        self.at(Instant::ZERO + after, self.flows.len() - 1, What::Begin);
    }

    /// Lets the application of a flow send so much a second, or as much as it can.
    pub(super) fn limit(&mut self, flow: usize, bytes_per_ms: Option<u64>) {
        self.flows[flow].limit_application(self.now, bytes_per_ms);
    }

    /// The controller of a flow.
    pub(super) fn controller(&self, flow: usize) -> &dyn Controller {
        &*self.flows[flow].controller
    }

    /// Runs for so long; what each flow did meanwhile.
    pub(super) fn run(&mut self, time: Duration) -> Vec<Seen> {
        let (begin, end) = (self.now, self.now + time);
        let delivered: Vec<u64> = self.flows.iter().map(|flow| flow.delivered).collect();
        let dropped = self.dropped;
        self.queued = (0, 0, 0);
        while let Some(Reverse((at, _, flow, what))) = self.events.peek().copied()
            && at <= end
        {
            self.events.pop();
            self.now = at;
            self.handle(flow, what);
        }
        self.now = end;
        let seconds = end.since(begin).as_secs_f64();
        let seen = |(flow, before): (&Flow, u64)| Seen {
            mbit: (flow.delivered - before) as f64 * 8e-6 / seconds,
            dropped: self.dropped - dropped,
            queue: self.queued.0 / self.queued.1.max(1),
            longest_queue: self.queued.2,
        };
        self.flows.iter().zip(delivered).map(seen).collect()
    }

    fn at(&mut self, at: Instant, flow: usize, what: What) {
        self.count += 1;
        self.events.push(Reverse((at, self.count, flow, what)));
    }

    fn handle(&mut self, id: usize, what: What) {
        let (now, one_way) = (self.now, self.link.round_trip / 2);
        let flow = &mut self.flows[id];
        match what {
            What::Begin | What::Paced => {}
            What::Arrive(packet) => {
                if let Some(answer) = flow.receiver.on_packet(packet) {
                    self.at(now + one_way, id, What::Answer(answer));
                } else {
                    self.at(now + Duration::from_millis(200), id, What::Delayed(packet));
                }
                return;
            }
            What::Delayed(packet) => {
                if let Some(answer) = flow.receiver.on_delay(packet) {
                    self.at(now + one_way, id, What::Answer(answer));
                }
                return;
            }
            What::Answer(answer) => flow.on_answer(now, answer),
            What::Timeout(answers) => flow.on_timeout(now, answers),
        }
        self.send(id);
    }

    fn send(&mut self, id: usize) {
        let now = self.now;
        while let Some(packet) = self.flows[id].next_packet(now) {
            self.transmit(id, packet);
        }
        let flow = &mut self.flows[id];
        if let Some(at) = flow.wakes_at(now) {
            self.at(at, id, What::Paced);
        }
        let flow = &mut self.flows[id];
        if let Some((at, answers)) = flow.arm(now) {
            self.at(at, id, What::Timeout(answers));
        }
    }

    /// A packet enters the queue, if there is room.
    fn transmit(&mut self, id: usize, packet: u64) {
        let wait = self.free_at.since(self.now);
        let queued = wait.as_nanos() * self.link.mbit / 8000;
        if queued + PACKET > self.link.buffer {
            self.dropped += 1;
            return;
        }
        let (sum, packets, longest) = self.queued;
        self.queued = (sum + queued, packets + 1, longest.max(queued));
        let time = Duration::from_nanos(PACKET * 8000 / self.link.mbit);
        self.free_at = self.free_at.max(self.now) + time;
        // xorshift64.
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        if self.random % 10_000 >= self.link.loss {
            self.at(self.free_at + self.link.round_trip / 2, id, What::Arrive(packet));
        }
    }
}
