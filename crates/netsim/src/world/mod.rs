//! A running network.

mod forward;
mod packets;
mod record;

use std::io;
use std::net::IpAddr;

use polypath_units::Instant;

use self::packets::Packets;
use crate::capture::Captures;
use crate::event::{Key, Target};
use crate::impair::{OutageSchedule, StepSchedule, Turn};
use crate::node::{Firing, Node};
use crate::queue::{EventQueue, turn_key};
use crate::routing::{AddressId, Routing};
use crate::trace_hash::Trace;
use crate::{
    Channel, ChannelId, Counters, Event, Frame, IfaceId, LinkEventKind, LinkId, LinkObserver,
    NoObserver, NodeId, QueueLevel, Stream, Streams, TraceHash, TraceHasher,
};

/// A network in virtual time.
///
/// The driver calls [`next_event`](Self::next_event) in a loop, acts upon what it is told with [`send`](Self::send) and
/// [`set_timer`](Self::set_timer), and so moves the run on. The world owns the network and the time; the driver owns
/// the hosts.
#[derive(Debug)]
pub struct World<F, O = NoObserver> {
    now: Instant,
    events: EventQueue,
    /// Events that came to pass: packets at the end of a link, wake-up calls, turns of outages.
    processed: u64,
    nodes: Vec<Node>,
    wires: Vec<Wire>,
    link_names: Vec<String>,
    pub(crate) routing: Routing,
    packets: Packets<F>,
    sent: u64,
    trace: Trace,
    packet_hasher: TraceHasher,
    captures: Captures,
    streams: Streams,
    observer: O,
}

/// Links that a packet may cross: the time to live that most systems send with.
const MAX_HOPS: u8 = 64;

/// What is due later is due never, as on a link whose trace ends with a rate of zero.
const LAST_INSTANT: Instant = Instant::from_nanos(Instant::FAR_FUTURE.as_nanos() - 1);

/// A channel in its place.
#[derive(Debug)]
pub(crate) struct Wire {
    pub channel: Channel,
    /// The pending event for its next departure; one that differs is stale.
    pub armed: Option<Key>,
    pub outages: OutageSchedule,
    pub steps: StepSchedule,
    /// Node at its far end.
    pub to: NodeId,
    /// Interface of that node.
    pub iface: IfaceId,
    /// Where the last packet went that came over it.
    pub last_step: Option<Step>,
}

/// Where the packets between two addresses go from the far end of a channel.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step {
    pub from: AddressId,
    pub to: AddressId,
    /// The next channel; `None` for the host there.
    pub next: Option<ChannelId>,
}

/// What records say of a packet.
#[derive(Clone, Copy, Debug)]
struct Label {
    /// Version of IP.
    version: u8,
    /// Hash of all else.
    hash: TraceHash,
}

/// Where packets of a node go, as a world found it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Course {
    source: AddressId,
    destination: AddressId,
    first_hop: ChannelId,
    /// The addresses as they are hashed, over IPv4.
    v4: Option<[u8; 8]>,
}

/// Why a packet could not be sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum SendError {
    /// The source address is not the node's.
    #[error("{0} is not an address of the sending node")]
    NotMyAddress(IpAddr),
    /// There is no way.
    #[error("there is no route from {from} to {to}")]
    NoRoute {
        /// Source.
        from: IpAddr,
        /// Destination.
        to: IpAddr,
    },
}

impl<F: Frame, O: LinkObserver> World<F, O> {
    pub(crate) fn new(
        nodes: Vec<Node>,
        wires: Vec<Wire>,
        link_names: Vec<String>,
        routing: Routing,
        streams: Streams,
        observer: O,
    ) -> Self {
        let mut events = EventQueue::default();
        for (index, wire) in wires.iter().enumerate() {
            let index = index as u32;
            if let Some(at) = wire.outages.next() {
                events.push(turn_key(at, outage_turn(index)), Target::Outage(index));
            }
            if let Some(at) = wire.steps.next() {
                events.push(turn_key(at, step_turn(index)), Target::Step(index));
            }
        }
        Self {
            now: Instant::ZERO,
            events,
            processed: 0,
            nodes,
            wires,
            link_names,
            routing,
            packets: Packets::new(),
            sent: 0,
            trace: Trace::new(),
            packet_hasher: TraceHasher::new(),
            captures: Captures::default(),
            streams,
            observer,
        }
    }

    /// Moves on to the next thing that concerns the driver and returns it; forwards packets on the way there.
    ///
    /// `None` when nothing is left to happen up to and including `until`; the time then stands at `until`, or at the
    /// last event if `until` is [`Instant::FAR_FUTURE`], at which nothing happens.
    pub fn next_event(&mut self, until: Instant) -> Option<Event<F>> {
        let last = until.min(LAST_INSTANT);
        while let Some((key, target)) = self.events.first(last) {
            if let Target::Channel(index) = target {
                if let Some(packet) = self.on_channel(index as usize, key) {
                    return self.hand_over(index as usize, packet);
                }
            } else if let Some(node) = self.on_other(key, target) {
                return Some(Event::Timer { node });
            }
        }
        if until != Instant::FAR_FUTURE {
            self.now = self.now.max(until);
        }
        None
    }

    /// No event comes before this instant; nothing is under way and no timer is set where it is
    /// [`Instant::FAR_FUTURE`]. For drivers that follow a clock of their own and sleep until then.
    pub fn next_due(&self) -> Instant {
        self.events.next_time().unwrap_or(Instant::FAR_FUTURE)
    }

    /// Sends a packet from a node.
    ///
    /// The way follows from the addresses: over the interface that owns `from` if `to` can be reached through it, else
    /// the shortest. A packet that the first link drops at once counts as sent.
    ///
    /// # Errors
    /// `from` is not the node's, or no way leads to `to`; nothing is sent then.
    pub fn send(
        &mut self,
        node: NodeId,
        from: IpAddr,
        to: IpAddr,
        frame: F,
    ) -> Result<(), SendError> {
        let course = self.course(node, from, to)?;
        self.send_on(course, frame);
        Ok(())
    }

    /// Finds the addresses for [`send_on`](Self::send_on), for callers that send often between the
    /// same two. Addresses do not change within a run.
    ///
    /// # Errors
    /// `from` is not the node's, or no way leads to `to`.
    pub fn course(&self, node: NodeId, from: IpAddr, to: IpAddr) -> Result<Course, SendError> {
        let source = self.routing.find(from).filter(|id| self.routing.address(*id).node == node);
        let source = source.ok_or(SendError::NotMyAddress(from))?;
        let no_route = SendError::NoRoute { from, to };
        let destination = self.routing.find(to).ok_or(no_route)?;
        let first_hop = self.routing.first_hop(source, destination).ok_or(no_route)?;
        let v4 = record::v4_fields([&from, &to]);
        Ok(Course { source, destination, first_hop, v4 })
    }

    /// Sends a packet as [`send`](Self::send) does, between addresses that were found before.
    pub fn send_on(&mut self, course: Course, frame: F) {
        self.inject(course, frame);
    }

    /// Whether [`send`](Self::send) would find a way, and over which interface of the node it begins.
    pub fn route(&self, node: NodeId, from: IpAddr, to: IpAddr) -> Option<IfaceId> {
        let source = self.routing.find(from).filter(|id| self.routing.address(*id).node == node)?;
        let first_hop = self.routing.first_hop(source, self.routing.find(to)?)?;
        let index =
            self.nodes[node.index()].ifaces.iter().position(|iface| iface.outgoing == first_hop)?;
        Some(IfaceId(index as u32))
    }

    /// Asks for a node to be woken at `at`, once, instead of at any time asked for before. A time that has passed means
    /// now. Cheap to call after every packet: moving the deadline later makes no event.
    pub fn set_timer(&mut self, node: NodeId, at: Instant) {
        let at = at.max(self.now);
        let Some(owner) = self.nodes.get_mut(node.index()) else { return };
        if owner.timer.wanted().is_some_and(|key| key.time == at) {
            return;
        }
        if at == Instant::FAR_FUTURE {
            owner.timer.clear();
            return;
        }
        let key = self.events.key(at);
        owner.timer.set(key, node.0, &mut self.events);
    }

    /// Takes back what [`set_timer`](Self::set_timer) asked for.
    pub fn clear_timer(&mut self, node: NodeId) {
        if let Some(owner) = self.nodes.get_mut(node.index()) {
            owner.timer.clear();
        }
    }

    /// Records the packets that `node` sends and receives as a pcapng file in `out`, one interface per interface of
    /// the node, named as given (missing names are filled in). What a packet that was sent met with later stands in
    /// its comment. Call it before the first packet; [`finish_captures`](Self::finish_captures) ends the file.
    pub fn capture(
        &mut self,
        node: NodeId,
        iface_names: &[String],
        out: Box<dyn io::Write + Send>,
    ) {
        let Some(owner) = self.nodes.get(node.index()) else { return };
        let names: Vec<String> = (0..owner.ifaces.len())
            .map(|i| iface_names.get(i).cloned().unwrap_or_else(|| format!("{}-{i}", owner.name)))
            .collect();
        self.captures.start(node, &names, out);
    }

    /// Writes what captures still hold back and ends them.
    ///
    /// # Errors
    /// The first error of any of the writers.
    pub fn finish_captures(&mut self) -> io::Result<()> {
        self.captures.finish()
    }

    /// The present.
    pub fn now(&self) -> Instant {
        self.now
    }

    /// Events that came to pass so far: packets at the end of a link, wake-up calls, turns of outages.
    pub fn events(&self) -> u64 {
        self.processed
    }

    /// The hash of everything that happened on links so far.
    pub fn trace_hash(&self) -> TraceHash {
        self.trace.hash()
    }

    /// The random number stream of a component of the driver. Names that begin with `link/` belong to links.
    pub fn stream(&self, name: &str) -> Stream {
        self.streams.stream(name)
    }

    /// What happened on a channel until now.
    pub fn counters(&mut self, channel: ChannelId) -> Counters {
        let now = self.now;
        self.wires
            .get_mut(channel.index())
            .map_or_else(Counters::default, |wire| wire.channel.counters(now))
    }

    /// What waits at a channel now.
    pub fn queue_level(&mut self, channel: ChannelId) -> QueueLevel {
        let now = self.now;
        self.wires
            .get_mut(channel.index())
            .map_or_else(QueueLevel::default, |wire| wire.channel.queue_level(now))
    }

    /// Name of a node.
    pub fn node_name(&self, node: NodeId) -> &str {
        self.nodes.get(node.index()).map_or("", |node| &node.name)
    }

    /// Name of a link.
    pub fn link_name(&self, link: LinkId) -> &str {
        self.link_names.get(link.index()).map_or("", |name| name)
    }

    /// All links.
    pub fn links(&self) -> impl Iterator<Item = LinkId> + use<F, O> {
        (0..self.link_names.len() as u32).map(LinkId)
    }

    /// The node to which a channel leads.
    pub fn far_end(&self, channel: ChannelId) -> Option<NodeId> {
        self.wires.get(channel.index()).map(|wire| wire.to)
    }

    /// Addresses of a node, by interface.
    pub fn addresses(&self, node: NodeId) -> impl Iterator<Item = (IfaceId, IpAddr)> {
        let ifaces = self.nodes.get(node.index()).map_or(&[][..], |node| &node.ifaces);
        ifaces
            .iter()
            .zip(0..)
            .flat_map(|(iface, i)| iface.addresses.iter().map(move |ip| (IfaceId(i), *ip)))
    }

    /// The packets that are under way: those that wait for a link or are on one.
    pub fn under_way(&self) -> impl Iterator<Item = &F> {
        self.packets.frames()
    }

    /// The observer.
    pub fn observer(&self) -> &O {
        &self.observer
    }

    /// An event has come that is not of a channel. Returns the node to be woken, if any.
    #[inline(never)]
    fn on_other(&mut self, key: Key, target: Target) -> Option<NodeId> {
        self.events.remove_first();
        match target {
            Target::Timer(node) => return self.on_timer(node, key).then_some(NodeId(node)),
            Target::Outage(index) => self.on_outage(index, key),
            Target::Step(index) => self.on_step(index, key),
            Target::Channel(_) => {}
        }
        None
    }

    /// An event of a node has come; whether the node is to be woken.
    fn on_timer(&mut self, node: u32, key: Key) -> bool {
        match self.nodes[node as usize].timer.fire(key) {
            Firing::Due => {
                self.now = key.time;
                self.processed += 1;
                true
            }
            Firing::Stale(next) => {
                if let Some(key) = next {
                    self.events.push(key, Target::Timer(node));
                }
                false
            }
        }
    }

    fn on_outage(&mut self, number: u32, key: Key) {
        let index = number as usize;
        self.now = key.time;
        self.processed += 1;
        let turn = self.wires[index].outages.turn();
        if let Some(at) = self.wires[index].outages.next() {
            self.events.push(turn_key(at, outage_turn(number)), Target::Outage(number));
        }
        match turn {
            Turn::Down => self.cut(index),
            Turn::Up => {
                self.wires[index].channel.restore();
                self.record_turn(index, LinkEventKind::CameUp);
            }
        }
    }

    fn on_step(&mut self, number: u32, key: Key) {
        let index = number as usize;
        self.now = key.time;
        self.processed += 1;
        let wire = &mut self.wires[index];
        if let Some(step) = wire.steps.take() {
            wire.channel.step(key.time, &step);
        }
        if let Some(at) = wire.steps.next() {
            self.events.push(turn_key(at, step_turn(number)), Target::Step(number));
        }
        self.arm(index);
        self.settle_acts(index);
        self.record_turn(index, LinkEventKind::Changed);
    }
}

/// Place among the turns of an instant: the outages of all channels, then their steps.
const fn outage_turn(channel: u32) -> u64 {
    channel as u64
}

const fn step_turn(channel: u32) -> u64 {
    (1 << 32) + channel as u64
}
