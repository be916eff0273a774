//! Runs a scenario.

use std::io;
use std::net::IpAddr;

use polypath_netsim::topology::{Disjoint, DisjointPaths, PathConfig};
use polypath_netsim::{BuildError, Event, NetworkBuilder, NoObserver, World};
use polypath_units::Instant;
use polypath_workload::FlowError;

use crate::frame::{Form, SctpFrame};
use crate::host::{Host, Outcome, Place};
use crate::meter::Meter;
use crate::result::RunResult;
use crate::scenario::{HostName, Network, Scenario};
use crate::wiring::{self, Oracle};

/// A scenario on the way.
#[derive(Debug)]
pub struct Simulation<'a> {
    scenario: &'a Scenario,
    seed: u64,
    form: Form,
    network: Disjoint,
    oracle: Oracle,
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

    /// Sets up a scenario with a seed and a form of packets. Where bit errors can be anywhere in a packet, packets travel
    /// as bytes in any case.
    ///
    /// # Errors
    /// The network cannot be built or a flow makes no sense; a scenario that was read from a document has neither.
    pub fn with(scenario: &'a Scenario, seed: u64, form: Form) -> Result<Self, SetupError> {
        let Network::Disjoint(plan) = &scenario.network;
        let mut builder = NetworkBuilder::new();
        let paths: Vec<PathConfig> =
            plan.paths.iter().map(|path| wiring::path(path, scenario)).collect();
        let plan = DisjointPaths { ip: plan.ip, paths };
        let network = plan.add_to(&mut builder)?;
        let oracle = Oracle::new(plan.paths);
        let form = if wiring::needs_bytes(scenario) { Form::Wire } else { form };
        let world = builder.build(seed, NoObserver)?;
        let host = |name: HostName| {
            let rng = world.stream(&format!("host/{}", name.name()));
            Host::new(scenario, &place(&network, name), form, rng)
        };
        let hosts = [host(HostName::A)?, host(HostName::B)?];
        let meter = Meter::new(scenario, &network);
        Ok(Self { scenario, seed, form, network, oracle, world, hosts, meter })
    }

    /// Tells the hosts how much the network loses now.
    fn tell_oracle(&mut self) {
        let now = self.world.now();
        for (host, name) in self.hosts.iter_mut().zip(HostName::ALL) {
            let mtu = self.scenario.sctp_of(name).mtu.as_bytes();
            let bytes = u32::try_from(mtu).unwrap_or(u32::MAX);
            host.set_oracle(self.oracle.losses(name.way(), bytes, now));
        }
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
        self.tell_oracle();
        for host in &mut self.hosts {
            host.start(&mut self.world);
        }
        self.meter.look(self.world.now(), &self.hosts, &self.network);
        while self.world.now() < end {
            let until = self.meter.next_look().min(self.oracle.next_change()).min(end);
            if self.run_until(until) {
                break;
            }
            if self.oracle.has_changed(self.world.now()) {
                self.tell_oracle();
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
