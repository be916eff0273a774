//! UDP flows: datagrams that no association sees.

use polypath_netsim::{LinkObserver, World};
use polypath_units::{ByteCount, Duration, Instant};
use polypath_workload::{Generator, GoodputMeter};
use serde::Serialize;

use super::Ends;
use super::number_set::NumberSet;
use crate::app::FlowLedger;
use crate::frame::{SimFrame, UdpFrame};

/// How far a datagram that comes can be behind the last one to be told from a copy.
const FARTHEST: u64 = 1 << 16;
/// How long datagrams are waited for after the last one.
const PATIENCE: Duration = Duration::from_secs(2);

/// What became of the datagrams of a flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct UdpResult {
    /// Datagrams sent.
    pub sent: u64,
    /// Datagrams received, each once.
    pub received: u64,
    /// Datagrams that neither came nor are under way at the end of the run.
    pub lost: u64,
    /// Datagrams that wait for a link or are on one at the end of the run.
    pub under_way: u64,
    /// Datagrams that arrived with a wrong checksum.
    pub damaged: u64,
    /// Copies of datagrams that were there already.
    pub duplicated: u64,
    /// Datagrams that came after one that was sent later.
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
    /// Number of the datagram that was sent last among those that came, plus one.
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

    /// Sends all that is due.
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
            // The scenario was checked: there is a way.
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

    /// Whether nothing will follow, and all that was sent has come or had time enough to.
    pub fn is_over(&self, now: Instant) -> bool {
        let is_settled =
            self.counts.received == self.counts.sent || now >= self.last_sent + PATIENCE;
        self.generator.is_finished(now) && is_settled
    }

    /// A datagram that is under way at the end; each counts once, and copies of what has come do not.
    pub fn note_under_way(&mut self, frame: &UdpFrame) {
        self.counts.under_way += u64::from(self.seen.insert(frame.number));
    }

    pub fn counts(&self) -> UdpResult {
        let UdpResult { sent, received, under_way, .. } = self.counts;
        UdpResult { lost: sent.saturating_sub(received + under_way), ..self.counts }
    }
}
