//! TCP flows: the stack of the smoltcp library at both ends, in virtual time.

mod device;

use std::collections::VecDeque;
use std::net::IpAddr;

use polypath_netsim::{LinkObserver, World};
use polypath_units::{ByteCount, Duration, Instant};
use polypath_workload::{Generator, GoodputMeter, Message, Stream};
use serde::Serialize;
use smoltcp::socket::tcp::State;

use super::Ends;
use crate::app::FlowLedger;
use crate::frame::{SimFrame, TcpFrame};
use crate::scenario::TcpSettings;

use device::{End, Role};

/// Results of a TCP flow.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct TcpResult {
    /// State of the sending end, named as in RFC 9293.
    pub state: String,
    /// Segments sent with user data, including retransmissions.
    pub segments_sent: u64,
    /// Retransmitted segments with user data.
    pub retransmissions: u64,
    /// Retransmitted user bytes.
    pub bytes_retransmitted: u64,
    /// Segments without user data sent by the receiving end.
    pub acks_sent: u64,
}

/// A TCP flow: the client sends, the server receives.
#[derive(Debug)]
pub(super) struct TcpFlow {
    pub ends: Ends,
    pub generator: Generator,
    pub meter: GoodputMeter,
    client: End,
    server: End,
    /// Messages in the byte stream that have not arrived completely, with the positions of their ends.
    under_way: VecDeque<(u64, Message)>,
    written: u64,
    read: u64,
    sent: SentData,
    acks_sent: u64,
}

/// Sent user data, by sequence numbers.
#[derive(Debug, Default)]
struct SentData {
    /// Sequence number after the last byte sent, if any.
    next: Option<u32>,
    segments: u64,
    again: u64,
    bytes_again: u64,
}

impl SentData {
    /// Notes a segment with user data.
    fn note(&mut self, sequence: u32, len: u32) {
        self.segments += 1;
        let end = sequence.wrapping_add(len);
        let next = *self.next.get_or_insert(sequence);
        // RFC 9293 section 3.4: comparison modulo 2³².
        let new = (end.wrapping_sub(next) as i32).max(0) as u32;
        let again = len - new.min(len);
        self.again += u64::from(again > 0);
        self.bytes_again += u64::from(again);
        if new > 0 {
            self.next = Some(end);
        }
    }
}

impl TcpFlow {
    pub fn new(
        ends: Ends,
        generator: Generator,
        settings: &TcpSettings,
        mtu: usize,
        rng: &mut Stream,
    ) -> Self {
        let [from, to] = ends.addresses;
        let [client_port, server_port] = ends.ports;
        let client = End::new(Role::Client, (from, client_port), settings, mtu, rng);
        let server = End::new(Role::Server, (to, server_port), settings, mtu, rng);
        let meter = GoodputMeter::starting_at(generator.start());
        Self {
            ends,
            generator,
            meter,
            client,
            server,
            under_way: VecDeque::new(),
            written: 0,
            read: 0,
            sent: SentData::default(),
            acks_sent: 0,
        }
    }

    /// Handles a segment that arrived at `node`.
    pub fn on_packet<O: LinkObserver>(
        &mut self,
        world: &mut World<SimFrame, O>,
        ledger: &mut FlowLedger,
        (to, frame): (IpAddr, TcpFrame),
    ) {
        let [client, server] = self.ends.addresses;
        if to == server {
            self.server.arrived(client, &frame.bytes);
        } else {
            self.client.arrived(server, &frame.bytes);
        }
        self.run(world, ledger);
    }

    /// Handles the timer.
    pub fn run<O: LinkObserver>(
        &mut self,
        world: &mut World<SimFrame, O>,
        ledger: &mut FlowLedger,
    ) {
        let now = world.now();
        if now >= self.generator.start()
            && self.client.state() == State::Closed
            && self.written == 0
        {
            self.client.connect((self.ends.addresses[1], self.ends.ports[1]), self.ends.ports[0]);
        }
        self.client.poll(now);
        self.write(now);
        self.client.poll(now);
        self.server.poll(now);
        self.read(now, ledger);
        self.server.poll(now);
        self.carry(world);
        let turns = [self.client.next_poll(now), self.server.next_poll(now)];
        // Immediate work is done; a stack that has more runs again a microsecond later.
        let soonest = now + Duration::from_micros(1);
        let turns = turns.into_iter().flatten().map(|at| at.max(soonest));
        self.ends.wake(world, turns.chain(self.generator.next_turn(now)).min());
    }

    /// Whether everything arrived and nothing will follow.
    pub fn is_over(&self, now: Instant) -> bool {
        self.generator.is_finished(now)
            && self.under_way.is_empty()
            && self.generator.messages() > 0
    }

    pub fn result(&self) -> TcpResult {
        TcpResult {
            state: self.client.state().to_string(),
            segments_sent: self.sent.segments,
            retransmissions: self.sent.again,
            bytes_retransmitted: self.sent.bytes_again,
            acks_sent: self.acks_sent,
        }
    }

    /// Passes complete messages to the stack as long as they fit.
    fn write(&mut self, now: Instant) {
        while self.client.may_send()
            && let Some(message) = self.generator.peek(now)
            && self.client.room() >= message.bytes as usize
        {
            self.client.write(message.bytes as usize);
            self.written += u64::from(message.bytes);
            self.under_way.push_back((self.written, message));
            self.generator.taken(message);
        }
        if self.written > 0 && self.generator.is_finished(now) {
            self.client.close();
        }
    }

    fn read(&mut self, now: Instant, ledger: &mut FlowLedger) {
        self.read += self.server.read() as u64;
        while let Some((_, message)) = self.under_way.front().filter(|(end, _)| *end <= self.read) {
            self.meter.received(now, ByteCount::from_bytes(message.bytes.into()));
            ledger.record(now, message.offered, message.bytes);
            self.under_way.pop_front();
        }
        if self.server.state() == State::CloseWait {
            self.server.close();
        }
    }

    /// Passes segments of both ends to the network.
    fn carry<O: LinkObserver>(&mut self, world: &mut World<SimFrame, O>) {
        let flow = self.ends.flow as u32;
        let [from, to] = self.ends.addresses;
        while let Some(segment) = self.client.take_sent() {
            if segment.data > 0 {
                self.sent.note(segment.sequence, segment.data);
            }
            let frame = TcpFrame { flow, bytes: segment.bytes, class: 0 };
            // The scenario was checked: there is a route.
            let _ = world.send(self.ends.nodes[0], from, to, SimFrame::Tcp(frame));
        }
        while let Some(segment) = self.server.take_sent() {
            self.acks_sent += u64::from(segment.data == 0);
            let frame = TcpFrame { flow, bytes: segment.bytes, class: 0 };
            let _ = world.send(self.ends.nodes[1], to, from, SimFrame::Tcp(frame));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_that_was_sent_before_is_a_retransmission() {
        let mut sent = SentData::default();
        let start = u32::MAX - 1_500;
        for (offset, len) in [(0, 1_000), (1_000, 1_000), (0, 1_000), (1_000, 2_000), (3_000, 10)] {
            sent.note(start.wrapping_add(offset), len);
        }
        assert_eq!((sent.segments, sent.again, sent.bytes_again), (5, 2, 2_000));
        assert_eq!(sent.next, Some(start.wrapping_add(3_010)));
    }
}
