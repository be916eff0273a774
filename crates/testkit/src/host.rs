//! One host: an endpoint, its associations and what its user saw.

use std::net::IpAddr;

use bytes::Bytes;
use polypath_proto::config::{AssociationConfig, EndpointConfig};
use polypath_proto::{
    Association, AssociationId, Body, Collision, ConnectError, Cx, DropReason, Duration, Ecn,
    Encapsulation, Endpoint, Event, Instant, NoProbe, OutgoingMessage, PeerAddress, Probe,
    ProbeEvent, Received, ReceivedMessage, Route, SendError, Transmit,
};
use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

/// More packets than the largest window has.
const MOST_PACKETS: usize = 200_000;

/// An association and what its user saw of it.
#[derive(Debug)]
pub struct Slot {
    /// Name of the association at its endpoint.
    pub id: AssociationId,
    /// The association.
    pub association: Box<Association>,
    /// Every event so far.
    pub events: Vec<Event>,
    /// Messages received, unless the host does not read.
    pub messages: Vec<ReceivedMessage>,
}

/// A host with one endpoint.
#[derive(Debug)]
pub struct Host {
    /// The endpoint.
    pub endpoint: Endpoint,
    /// Its associations, ended ones included.
    pub slots: Vec<Slot>,
    /// Packets that the endpoint dropped, by reason.
    pub drops: Vec<DropReason>,
    /// Whether messages are read as soon as they are complete.
    pub reads: bool,
    /// Granularity of the host's clock; zero: as exact as the network's. Deadlines are met at the next tick.
    pub tick: Duration,
    rng: Xoshiro256PlusPlus,
    out: Vec<Transmit>,
    trace: Trace,
}

/// Events of a host's associations, if they are kept.
#[derive(Debug, Default)]
struct Trace(Option<Vec<(Instant, ProbeEvent)>>);

impl Probe for Trace {
    fn on(&mut self, now: Instant, event: ProbeEvent) {
        if let Some(events) = &mut self.0 {
            events.push((now, event));
        }
    }

    fn wants_packets(&self) -> bool {
        self.0.is_some()
    }
}

impl Host {
    /// A host at `addresses`.
    pub fn new(
        seed: u64,
        config: EndpointConfig,
        port: u16,
        addresses: &[IpAddr],
        now: Instant,
    ) -> Self {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut cx = Cx { now, rng: &mut rng, probe: &mut NoProbe };
        let endpoint = Endpoint::new(config, port, addresses, &mut cx);
        Self::with(endpoint, rng)
    }

    /// A host with one port over a lower layer.
    pub fn over_lower_layer(seed: u64, config: EndpointConfig, port: u16, now: Instant) -> Self {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut cx = Cx { now, rng: &mut rng, probe: &mut NoProbe };
        let endpoint = Endpoint::over_lower_layer(config, port, &mut cx);
        Self::with(endpoint, rng)
    }

    fn with(endpoint: Endpoint, rng: Xoshiro256PlusPlus) -> Self {
        Self {
            endpoint,
            slots: Vec::new(),
            drops: Vec::new(),
            reads: true,
            tick: Duration::ZERO,
            rng,
            out: Vec::new(),
            trace: Trace::default(),
        }
    }

    /// Begins an association and returns its slot.
    ///
    /// # Errors
    ///
    /// As [`Endpoint::connect`].
    pub fn connect(
        &mut self,
        now: Instant,
        config: AssociationConfig,
        port: u16,
        peer: &[IpAddr],
    ) -> Result<usize, ConnectError> {
        let over_ip = |address: &IpAddr| PeerAddress {
            address: *address,
            encapsulation: Encapsulation::None,
        };
        let peer: Vec<PeerAddress> = peer.iter().map(over_ip).collect();
        self.connect_over(now, config, port, &peer)
    }

    /// The same over the lower layer.
    ///
    /// # Errors
    ///
    /// As [`Endpoint::connect`].
    pub fn connect_over_lower_layer(
        &mut self,
        now: Instant,
        config: AssociationConfig,
        port: u16,
    ) -> Result<usize, ConnectError> {
        self.begin(now, |endpoint, cx| endpoint.connect_over_lower_layer(cx, config, port))
    }

    /// The same, with packets carried as each address says.
    ///
    /// # Errors
    ///
    /// As [`Endpoint::connect`].
    pub fn connect_over(
        &mut self,
        now: Instant,
        config: AssociationConfig,
        port: u16,
        peer: &[PeerAddress],
    ) -> Result<usize, ConnectError> {
        self.begin(now, |endpoint, cx| endpoint.connect(cx, config, port, peer))
    }

    /// Begins a further association with the same peer, from an SCTP port of its own.
    ///
    /// # Errors
    ///
    /// As [`Endpoint::connect_from_another_port`].
    pub fn connect_from_another_port(
        &mut self,
        now: Instant,
        config: AssociationConfig,
        port: u16,
        peer: &[PeerAddress],
    ) -> Result<usize, ConnectError> {
        self.begin(now, |endpoint, cx| endpoint.connect_from_another_port(cx, config, port, peer))
    }

    fn begin(
        &mut self,
        now: Instant,
        connect: impl FnOnce(
            &mut Endpoint,
            &mut Cx<'_>,
        ) -> Result<(AssociationId, Box<Association>), ConnectError>,
    ) -> Result<usize, ConnectError> {
        let now = self.clock(now);
        let mut cx = Cx { now, rng: &mut self.rng, probe: &mut self.trace };
        let (id, association) = connect(&mut self.endpoint, &mut cx)?;
        self.slots.push(Slot { id, association, events: Vec::new(), messages: Vec::new() });
        self.settle(now, self.slots.len() - 1);
        Ok(self.slots.len() - 1)
    }

    /// Hands a packet to the endpoint and wherever it routes it.
    pub fn receive(&mut self, now: Instant, received: &Received<'_>) {
        let now = self.clock(now);
        let mut cx = Cx { now, rng: &mut self.rng, probe: &mut self.trace };
        match self.endpoint.handle(&mut cx, received) {
            Route::Association(id) => {
                if let Some(index) = position(&self.slots, id) {
                    self.slots[index].association.handle(&mut cx, received);
                    self.settle(now, index);
                }
            }
            Route::Damaged(id) => {
                self.drops.push(DropReason::WrongChecksum);
                if let Some(index) = position(&self.slots, id) {
                    self.slots[index].association.handle_damaged(&mut cx, received);
                    self.settle(now, index);
                }
            }
            Route::Collision(id) => {
                let Some(index) = position(&self.slots, id) else { return };
                let association = &mut self.slots[index].association;
                match self.endpoint.handle_collision(&mut cx, received, association) {
                    Collision::Reply(transmit) => self.out.push(*transmit),
                    Collision::Handled => {}
                    Collision::Drop(reason) => self.drops.push(reason),
                }
                self.settle(now, index);
            }
            Route::New(id, association) => {
                self.slots.push(Slot { id, association, events: Vec::new(), messages: Vec::new() });
                self.settle(now, self.slots.len() - 1);
            }
            Route::Reply(transmit) => self.out.push(*transmit),
            Route::Drop(reason) => self.drops.push(reason),
        }
    }

    /// Handles timers that are due.
    pub fn handle_timeout(&mut self, now: Instant) {
        let now = self.clock(now);
        for index in 0..self.slots.len() {
            if self.slots[index].association.poll_timeout().is_some_and(|due| due <= now) {
                let mut cx = Cx { now, rng: &mut self.rng, probe: &mut self.trace };
                self.slots[index].association.handle_timeout(&mut cx);
                self.settle(now, index);
            }
        }
    }

    /// Sends a message.
    ///
    /// # Errors
    ///
    /// As [`Association::send`].
    pub fn send(
        &mut self,
        now: Instant,
        slot: usize,
        message: OutgoingMessage,
    ) -> Result<(), SendError> {
        let result = self.command(now, slot, |association, cx| association.send(cx, message));
        self.settle(now, slot);
        result
    }

    /// Begins a graceful shutdown.
    pub fn shutdown(&mut self, now: Instant, slot: usize) {
        self.command(now, slot, |association, cx| association.shutdown(cx));
        self.settle(now, slot);
    }

    /// Aborts.
    pub fn abort(&mut self, now: Instant, slot: usize, reason: &'static str) {
        self.command(now, slot, |association, cx| {
            association.abort(cx, &Bytes::from_static(reason.as_bytes()))
        });
        self.settle(now, slot);
    }

    /// Reads what has arrived although [`reads`](Self::reads) is off.
    pub fn read(&mut self, now: Instant, slot: usize) {
        while let Some(message) = self.command(now, slot, |association, cx| association.receive(cx))
        {
            self.slots[slot].messages.push(message);
        }
        self.settle(now, slot);
    }

    /// Calls `f` with the association of `slot` and a context, without polling afterwards.
    pub fn command<T>(
        &mut self,
        now: Instant,
        slot: usize,
        f: impl FnOnce(&mut Association, &mut Cx<'_>) -> T,
    ) -> T {
        let now = self.clock(now);
        let mut cx = Cx { now, rng: &mut self.rng, probe: &mut self.trace };
        f(&mut self.slots[slot].association, &mut cx)
    }

    /// The earliest deadline of any association.
    pub fn next_timeout(&self) -> Option<Instant> {
        let due = self.slots.iter().filter_map(|slot| slot.association.poll_timeout()).min()?;
        let before = self.clock(due);
        Some(if before < due { before + self.tick } else { due })
    }

    /// What the host's clock shows.
    fn clock(&self, now: Instant) -> Instant {
        match self.tick.as_nanos() {
            0 => now,
            tick => Instant::from_nanos(now.as_nanos() / tick * tick),
        }
    }

    /// Keeps the events of all associations from now on, in memory; [`take_trace`](Self::take_trace) gives them.
    pub fn keep_trace(&mut self) {
        self.trace.0.get_or_insert_default();
    }

    /// Takes the events so far.
    pub fn take_trace(&mut self) -> Vec<(Instant, ProbeEvent)> {
        self.trace.0.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Takes the packets that wait to be sent.
    pub fn take_output(&mut self) -> Vec<Transmit> {
        std::mem::take(&mut self.out)
    }

    /// Polls everything as the contract of [`Association`] says.
    ///
    /// # Panics
    ///
    /// If the association has more packets at one instant than any window allows.
    pub fn settle(&mut self, now: Instant, index: usize) {
        let now = self.clock(now);
        let mut packets = 0;
        let mut cx = Cx { now, rng: &mut self.rng, probe: &mut self.trace };
        let slot = &mut self.slots[index];
        loop {
            while let Some(transmit) = slot.association.poll_transmit(&mut cx) {
                self.out.push(transmit);
                packets += 1;
                assert!(packets < MOST_PACKETS, "a flush without end");
            }
            while let Some(event) = slot.association.poll_event() {
                slot.events.push(event);
            }
            let before = slot.messages.len();
            if self.reads {
                while let Some(message) = slot.association.receive(&mut cx) {
                    slot.messages.push(message);
                }
            }
            while let Some(notice) = slot.association.poll_notice() {
                self.endpoint.on_notice(slot.id, notice);
            }
            if slot.messages.len() == before {
                break;
            }
        }
    }
}

/// The latest association of that name.
fn position(slots: &[Slot], id: AssociationId) -> Option<usize> {
    slots.iter().rposition(|slot| slot.id == id)
}

/// What arrives at a host, owned.
#[derive(Debug)]
pub(crate) struct Arrival {
    pub(crate) local: IpAddr,
    pub(crate) remote: IpAddr,
    pub(crate) ecn: Ecn,
    pub(crate) body: ArrivalBody,
}

#[derive(Clone, Debug)]
pub(crate) enum ArrivalBody {
    Structured(Box<polypath_wire::Packet<'static>>),
    Damaged(Box<polypath_wire::Packet<'static>>),
    Encoded(Vec<u8>),
}

impl Arrival {
    pub(crate) fn with<T>(&self, f: impl FnOnce(&Received<'_>) -> T) -> T {
        f(&Received {
            local: self.local,
            remote: self.remote,
            encapsulation: Encapsulation::None,
            ecn: self.ecn,
            body: match &self.body {
                ArrivalBody::Structured(packet) => Body::Structured(packet),
                ArrivalBody::Damaged(packet) => Body::Damaged { packet, checksum_flips: 1 },
                ArrivalBody::Encoded(bytes) => Body::Datagram(bytes),
            },
        })
    }
}
