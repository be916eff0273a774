//! A scenario with external hosts, driven by a caller with a clock and with interfaces of a system.
//!
//! The driver passes the present time, takes the packets that have arrived by then, and passes those that programs have
//! sent since. Time is virtual here; nothing in this module reads a clock.

use std::io;
use std::net::IpAddr;

use bytes::Bytes;
use polypath_netsim::{Arrival, Counters, Direction, DropCause, Event, IfaceId, NodeId};
use polypath_units::Instant;
use serde::Serialize;

use crate::error::SetupError;
use crate::frame::{Form, RawFrame, SimFrame};
use crate::result::RunResult;
use crate::scenario::Scenario;
use crate::simulation::Simulation;

/// A host for real programs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ExternalHost {
    /// Its name; `pair/a` in a network of pairs.
    pub name: String,
    /// Longest IP packet of its interfaces, in bytes.
    pub mtu: u32,
    /// Its interfaces.
    pub ports: Vec<ExternalPort>,
    node: NodeId,
}

/// An interface of an external host.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ExternalPort {
    /// Its address.
    pub address: IpAddr,
    /// Name of the path or network that it belongs to.
    pub network: String,
    /// Addresses of other hosts that it can reach and that can reach it.
    pub peers: Vec<IpAddr>,
}

/// A packet for an external host.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Delivery {
    /// Position of the host among the external ones.
    pub host: usize,
    /// Position of the interface among those of the host.
    pub port: usize,
    /// When it arrives.
    pub at: Instant,
    /// The packet.
    pub frame: RawFrame,
}

/// Why the network does not accept a packet of a program.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Refusal {
    /// It is not an IP packet.
    #[error("no IP packet")]
    Malformed,
    /// Its source is not an address of the host, its destination does not exist (multicast, for example), or there is
    /// no route.
    #[error("no way between its addresses")]
    NoWay,
}

/// Counters of one direction of a link.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct LinkCounts {
    /// Name of the link.
    pub link: String,
    /// Node at which packets enter.
    pub from: String,
    /// Node at which they leave.
    pub to: String,
    /// Packets passed to the link.
    pub offered_packets: u64,
    /// Bytes of these IP packets.
    pub offered_bytes: u64,
    /// Packets that arrived at the other end.
    pub delivered_packets: u64,
    /// Bytes of these IP packets.
    pub delivered_bytes: u64,
    /// Dropped packets, by cause; causes without packets are omitted.
    pub dropped: Vec<Drops>,
    /// Packets that the medium delivered twice.
    pub duplicated_packets: u64,
    /// Packets that were delivered with bit errors.
    pub damaged_packets: u64,
    /// Packets that the queue marked with "congestion experienced".
    pub marked_packets: u64,
    /// Maximum number of packets in the queue.
    pub queue_max_packets: u64,
    /// Maximum number of bytes in the queue.
    pub queue_max_bytes: u64,
}

/// Packets that a link dropped for one cause.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Drops {
    /// The cause: `queue-full`, `uniform-loss`, `outage` and so on.
    pub cause: String,
    /// Packets.
    pub packets: u64,
}

/// A running scenario with external hosts.
#[derive(Debug)]
pub struct Live<'a> {
    simulation: Simulation<'a>,
    hosts: Vec<ExternalHost>,
    unanswered: u64,
    is_started: bool,
}

impl<'a> Live<'a> {
    /// Sets up a scenario with a seed.
    ///
    /// # Errors
    /// Those of [`Simulation::with`].
    pub fn new(scenario: &'a Scenario, seed: u64) -> Result<Self, SetupError> {
        let simulation = Simulation::with(scenario, seed, Form::default())?;
        let hosts = external_hosts(&simulation);
        Ok(Self { simulation, hosts, unanswered: 0, is_started: false })
    }

    /// The external hosts.
    pub fn hosts(&self) -> &[ExternalHost] {
        &self.hosts
    }

    /// Captures the packets of an external host as pcapng, with an interface for each of its own.
    pub fn capture(&mut self, host: usize, out: Box<dyn io::Write + Send>) {
        let Some(host) = self.hosts.get(host) else { return };
        let names: Vec<String> = host.ports.iter().map(|port| port.network.clone()).collect();
        self.simulation.world.capture(host.node, &names, out);
    }

    /// The present time.
    pub fn now(&self) -> Instant {
        self.simulation.world.now()
    }

    /// The time of the next event, unless a packet is sent before.
    pub fn next_due(&self) -> Instant {
        if !self.is_started {
            return Instant::ZERO;
        }
        self.simulation.world.next_due().min(self.next_look())
    }

    /// Advances to the next packet for an external host that arrives up to and including `until`, and returns it. After
    /// `None`, the present time is `until`.
    pub fn next_delivery(&mut self, until: Instant) -> Option<Delivery> {
        if !self.is_started {
            self.is_started = true;
            self.simulation.start();
        }
        loop {
            let look = self.next_look();
            while let Some(event) = self.simulation.world.next_event(look.min(until)) {
                match event {
                    Event::Arrival(Arrival {
                        frame: SimFrame::Raw(frame), node, iface, ..
                    }) => match self.arrived(node, iface, frame) {
                        None => self.unanswered += 1,
                        delivery => return delivery,
                    },
                    event => {
                        self.simulation.on_event(event);
                    }
                }
            }
            if look > until || look == Instant::FAR_FUTURE {
                return None;
            }
            self.simulation.look_around();
        }
    }

    /// Sends a packet of a program of an external host, now.
    ///
    /// # Errors
    /// The network does not accept the packet.
    pub fn send(&mut self, host: usize, packet: Bytes) -> Result<(), Refusal> {
        let node = self.hosts.get(host).map(|host| host.node).ok_or(Refusal::NoWay)?;
        let (from, to, frame) = RawFrame::parse(packet).ok_or(Refusal::Malformed)?;
        let sent = self.simulation.world.send(node, from, to, SimFrame::Raw(frame));
        sent.map_err(|_| Refusal::NoWay)
    }

    /// Packets of programs that reached simulated hosts, which do not answer them.
    pub fn unanswered(&self) -> u64 {
        self.unanswered
    }

    /// Counters of each link, forward and backward, so far.
    pub fn links(&mut self) -> Vec<LinkCounts> {
        let world = &mut self.simulation.world;
        let mut all = Vec::new();
        for link in world.links() {
            for direction in [Direction::Forward, Direction::Backward] {
                let channel = link.channel(direction);
                let counters = world.counters(channel);
                let name =
                    |node: Option<NodeId>| node.map_or("", |node| world.node_name(node)).to_owned();
                let [from, to] = [channel.reverse(), channel].map(|way| name(world.far_end(way)));
                all.push(LinkCounts::of(world.link_name(link), [from, to], &counters));
            }
        }
        all
    }

    /// Ends the run, and returns the results of the scenario's flows.
    ///
    /// # Errors
    /// A capture could not be written.
    pub fn finish(self) -> io::Result<RunResult> {
        self.simulation.gather()
    }

    /// When the meters sample next; not after the measured interval.
    fn next_look(&self) -> Instant {
        let end = Instant::ZERO + self.simulation.scenario.run.duration;
        Some(self.simulation.next_look()).filter(|look| *look <= end).unwrap_or(Instant::FAR_FUTURE)
    }

    fn arrived(&self, node: NodeId, iface: IfaceId, frame: RawFrame) -> Option<Delivery> {
        let host = self.hosts.iter().position(|host| host.node == node)?;
        Some(Delivery { host, port: iface.index(), at: self.now(), frame })
    }
}

impl LinkCounts {
    fn of(link: &str, [from, to]: [String; 2], counters: &Counters) -> Self {
        let drops = DropCause::ALL.into_iter().map(|cause| Drops {
            cause: cause.name().to_owned(),
            packets: counters.dropped(cause).packets,
        });
        Self {
            link: link.to_owned(),
            from,
            to,
            offered_packets: counters.offered.packets,
            offered_bytes: counters.offered.bytes,
            delivered_packets: counters.delivered.packets,
            delivered_bytes: counters.delivered.bytes,
            dropped: drops.filter(|drops| drops.packets > 0).collect(),
            duplicated_packets: counters.duplicated.packets,
            damaged_packets: counters.damaged.packets,
            marked_packets: counters.marked.packets,
            queue_max_packets: counters.peak_queue_packets,
            queue_max_bytes: counters.peak_queue_bytes,
        }
    }
}

fn external_hosts(simulation: &Simulation<'_>) -> Vec<ExternalHost> {
    let Simulation { scenario, network, world, .. } = simulation;
    let all = |other: usize| network.hosts.get(other).map_or(&[][..], |host| &host.addresses);
    // Over the interface with the address, in both directions, like paths.
    let is_way = |node: NodeId, from: IpAddr, to: IpAddr| {
        let own = world.addresses(node).find(|(_, ip)| *ip == from).map(|(iface, _)| iface);
        own.is_some() && world.route(node, from, to) == own
    };
    let host = |external: &crate::scenario::External| {
        let own = network.hosts.get(external.host)?;
        let peers = |address: IpAddr| {
            let others = (0..network.hosts.len()).filter(|other| *other != external.host);
            let theirs = others.flat_map(|other| {
                let node = network.hosts[other].node;
                all(other).iter().map(move |address| (node, address.ip))
            });
            let reached = theirs
                .filter(|(node, ip)| is_way(own.node, address, *ip) && is_way(*node, *ip, address));
            reached.map(|(_, ip)| ip).collect()
        };
        let ports = own.addresses.iter().map(|address| ExternalPort {
            address: address.ip,
            network: address.network.clone(),
            peers: peers(address.ip),
        });
        Some(ExternalHost {
            name: external.name.clone(),
            mtu: u32::try_from(external.mtu.as_bytes()).unwrap_or(u32::MAX),
            ports: ports.collect(),
            node: own.node,
        })
    };
    scenario.external.iter().filter_map(host).collect()
}
