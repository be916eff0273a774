//! Runs a scenario.

use std::io;
use std::net::IpAddr;

use polypath_netsim::impair::Outage;
use polypath_netsim::topology::{Disjoint, DisjointPaths, Duplex, PathConfig};
use polypath_netsim::{BuildError, ChannelConfig, Event, NetworkBuilder, NoObserver, World};
use polypath_units::Instant;
use polypath_workload::FlowError;

use crate::frame::{Form, SctpFrame};
use crate::host::{Host, Outcome, Place};
use crate::meter::Meter;
use crate::result::RunResult;
use crate::scenario::{
    Access, DisjointNetwork, Fault, HostName, Link, Network, Scenario, Way, WirePath,
};

/// A scenario on the way.
#[derive(Debug)]
pub struct Simulation<'a> {
    scenario: &'a Scenario,
    seed: u64,
    form: Form,
    network: Disjoint,
    world: World<SctpFrame, NoObserver>,
    hosts: [Host; 2],
    meter: Meter,
}

/// Why a scenario cannot be run.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// The network does not fit together.
    #[error(transparent)]
    Network(#[from] BuildError),
    /// A flow makes no sense.
    #[error(transparent)]
    Flow(#[from] FlowError),
}

impl<'a> Simulation<'a> {
    /// Sets up a scenario with the seed that it names.
    ///
    /// # Errors
    /// The network cannot be built or a flow makes no sense; a scenario that was read from a document has neither.
    pub fn new(scenario: &'a Scenario) -> Result<Self, SetupError> {
        Self::with(scenario, scenario.run.seed, Form::default())
    }

    /// Sets up a scenario with a seed and a form of packets.
    ///
    /// # Errors
    /// The network cannot be built or a flow makes no sense; a scenario that was read from a document has neither.
    pub fn with(scenario: &'a Scenario, seed: u64, form: Form) -> Result<Self, SetupError> {
        let Network::Disjoint(plan) = &scenario.network;
        let mut builder = NetworkBuilder::new();
        let network = topology(plan, &scenario.faults).add_to(&mut builder)?;
        let world = builder.build(seed, NoObserver)?;
        let host = |name: HostName| {
            let rng = world.stream(&format!("host/{}", name.name()));
            Host::new(scenario, &place(&network, name), form, rng)
        };
        let hosts = [host(HostName::A)?, host(HostName::B)?];
        let meter = Meter::new(scenario, &network);
        Ok(Self { scenario, seed, form, network, world, hosts, meter })
    }

    /// Records what host a sends and receives as pcapng, with an interface per path.
    pub fn capture(&mut self, out: Box<dyn io::Write + Send>) {
        let names: Vec<String> = self.network.paths.iter().map(|path| path.name.clone()).collect();
        self.world.capture(self.network.a, &names, out);
    }

    /// Runs to the end.
    ///
    /// # Errors
    /// A capture could not be written.
    pub fn run(mut self) -> io::Result<RunResult> {
        let end = Instant::ZERO + self.scenario.run.duration;
        for host in &mut self.hosts {
            host.start(&mut self.world);
        }
        self.meter.look(self.world.now(), &self.hosts, &self.network);
        while self.world.now() < end {
            let until = self.meter.next_look().min(end);
            if self.run_until(until) {
                break;
            }
            self.meter.look(self.world.now(), &self.hosts, &self.network);
        }
        self.meter.close(self.world.now(), &self.hosts);
        self.world.finish_captures()?;
        let execution = Execution { seed: self.seed, form: self.form };
        Ok(RunResult::gather(
            self.scenario,
            execution,
            &mut self.world,
            &self.network,
            &self.hosts,
            &self.meter,
        ))
    }

    /// Runs up to an instant; returns whether everything came to its end before.
    fn run_until(&mut self, until: Instant) -> bool {
        while let Some(event) = self.world.next_event(until) {
            match event {
                Event::Arrival(arrival) => {
                    let host = usize::from(arrival.node == self.network.b);
                    self.hosts[host].on_arrival(&mut self.world, arrival);
                }
                Event::Timer { node } => {
                    let host = usize::from(node == self.network.b);
                    self.hosts[host].on_timer(&mut self.world);
                }
            }
            if self.finish() {
                return true;
            }
        }
        false
    }

    /// Shuts the association down once everything was delivered; returns whether it is over at both hosts.
    fn finish(&mut self) -> bool {
        if self.meter.completed().is_none() && self.is_everything_delivered() {
            self.meter.complete(self.world.now(), &self.hosts);
            let client = self.scenario.association.client.index();
            self.hosts[client].shutdown(&mut self.world);
        }
        self.hosts.iter().all(|host| matches!(host.outcome(), Outcome::Ended(_)))
    }

    fn is_everything_delivered(&self) -> bool {
        let now = self.world.now();
        let [a, b] = &self.hosts;
        [(a, b), (b, a)].iter().all(|(from, to)| {
            from.senders().iter().all(|sender| {
                sender.is_over(now) && to.delivered_messages(sender.flow()) == sender.messages()
            })
        })
    }
}

/// What tells one run of a scenario from another.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Execution {
    pub seed: u64,
    pub form: Form,
}

fn place(network: &Disjoint, name: HostName) -> Place {
    let a: Vec<IpAddr> = network.paths.iter().map(|path| path.a_address).collect();
    let b: Vec<IpAddr> = network.paths.iter().map(|path| path.b_address).collect();
    match name {
        HostName::A => Place { name, node: network.a, addresses: a, peer_addresses: b },
        HostName::B => Place { name, node: network.b, addresses: b, peer_addresses: a },
    }
}

fn topology(plan: &DisjointNetwork, faults: &[Fault]) -> DisjointPaths {
    let paths = plan.paths.iter().map(|path| path_config(path, faults)).collect();
    DisjointPaths { ip: plan.ip, paths }
}

fn path_config(path: &WirePath, faults: &[Fault]) -> PathConfig {
    let Link { rate, delay, framing, queue, loss } = path.bottleneck;
    let channel = |uniform_loss, direction| ChannelConfig {
        framing,
        queue,
        uniform_loss,
        outages: outages(&path.name, direction, faults),
        ..ChannelConfig::new(rate, delay)
    };
    let bottleneck = Duplex {
        forward: channel(loss.forward, Way::Forward),
        backward: channel(loss.backward, Way::Backward),
    };
    match path.access {
        None => PathConfig::direct(&path.name, bottleneck),
        Some(Access { rate, delay, framing, queue }) => {
            let access = ChannelConfig { framing, queue, ..ChannelConfig::new(rate, delay) };
            PathConfig::routed(&path.name, access, bottleneck)
        }
    }
}

/// The outages of one direction of a path, in order of time.
fn outages(path: &str, direction: Way, faults: &[Fault]) -> Vec<Outage> {
    let mut outages: Vec<Outage> = faults
        .iter()
        .filter_map(|Fault::Outage(outage)| {
            let meant = outage.way == Way::Both || outage.way == direction;
            (outage.path == path && meant)
                .then_some(Outage { from: outage.from, until: outage.until })
        })
        .collect();
    outages.sort_by_key(|outage| outage.from);
    outages
}
