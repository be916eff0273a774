//! UDP flows.

use polypath_netsim::{LinkObserver, World};
use polypath_units::{ByteCount, Duration, Instant};
use polypath_workload::{Generator, GoodputMeter};
use serde::Serialize;

use super::Ends;
use super::number_set::NumberSet;
use crate::app::FlowLedger;
use crate::frame::{SimFrame, UdpFrame};

/// Distance behind the latest datagram within which duplicates are recognised.
const FARTHEST: u64 = 1 << 16;
/// How long the end of a flow waits for datagrams in transit.
const PATIENCE: Duration = Duration::from_secs(2);

/// Results of a UDP flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct UdpResult {
    /// Datagrams sent.
    pub sent: u64,
    /// Datagrams received, without duplicates.
    pub received: u64,
    /// Datagrams that have not arrived and are not in transit at the end of the run.
    pub lost: u64,
    /// Datagrams in transit at the end of the run: queued or on a link.
    pub under_way: u64,
    /// Datagrams received with a wrong checksum.
    pub damaged: u64,
    /// Duplicates received.
    pub duplicated: u64,
    /// Datagrams that arrived after a later one.
    pub overtaken: u64,
}

/// A UDP flow.
#[derive(Debug)]
pub(super) struct UdpFlow {
    pub ends: Ends,
    pub generator: Generator,
    pub meter: GoodputMeter,
    counts: UdpResult,
    seen: NumberSet,
    /// Highest number received, plus one.
    highest: u64,
    last_sent: Instant,
}

impl UdpFlow {
    pub fn new(ends: Ends, generator: Generator) -> Self {
        let meter = GoodputMeter::starting_at(generator.start());
        let seen = NumberSet::spanning(FARTHEST);
        Self {
            ends,
            generator,
            meter,
            counts: UdpResult::default(),
            seen,
            highest: 0,
            last_sent: Instant::ZERO,
        }
    }

    /// Sends all datagrams that are due.
    pub fn on_timer<O: LinkObserver>(&mut self, world: &mut World<SimFrame, O>) {
        let now = world.now();
        while let Some(message) = self.generator.peek(now) {
            self.generator.taken(message);
            self.counts.sent += 1;
            self.last_sent = now;
            let frame = UdpFrame {
                flow: self.ends.flow as u32,
                ports: self.ends.ports,
                number: message.number,
                bytes: message.bytes,
                offered: message.offered,
                class: 0,
                flips: Vec::new(),
            };
            let [from, to] = self.ends.addresses;
            // The scenario was checked: there is a route.
            let _ = world.send(self.ends.nodes[0], from, to, SimFrame::Udp(frame));
        }
        let end = self.generator.is_finished(now).then_some(self.last_sent + PATIENCE);
        let turns = [self.generator.next_turn(now), end.filter(|end| *end > now)];
        self.ends.wake(world, turns.into_iter().flatten().min());
    }

    pub fn on_packet(&mut self, now: Instant, ledger: &mut FlowLedger, frame: &UdpFrame) {
        if !frame.flips.is_empty() {
            self.counts.damaged += 1;
        } else if !self.seen.insert(frame.number) {
            self.counts.duplicated += 1;
        } else {
            self.counts.received += 1;
            self.counts.overtaken += u64::from(frame.number < self.highest);
            self.highest = self.highest.max(frame.number + 1);
            self.meter.received(now, ByteCount::from_bytes(frame.bytes.into()));
            ledger.record(now, frame.offered, frame.bytes);
        }
    }

    /// Whether nothing will follow, and all datagrams have arrived or have had time to.
    pub fn is_over(&self, now: Instant) -> bool {
        let is_settled =
            self.counts.received == self.counts.sent || now >= self.last_sent + PATIENCE;
        self.generator.is_finished(now) && is_settled
    }

    /// Notes a datagram in transit at the end. Each counts once, and duplicates of arrived datagrams do not count.
    pub fn note_under_way(&mut self, frame: &UdpFrame) {
        self.counts.under_way += u64::from(self.seen.insert(frame.number));
    }

    pub fn counts(&self) -> UdpResult {
        let UdpResult { sent, received, under_way, .. } = self.counts;
        UdpResult { lost: sent.saturating_sub(received + under_way), ..self.counts }
    }
}
