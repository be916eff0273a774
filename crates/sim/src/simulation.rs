//! Runs a scenario.

use std::io;
use std::net::IpAddr;

use polypath_netsim::topology::Disjoint;
use polypath_netsim::{BuildError, Event, NetworkBuilder, NoObserver, NodeId, World};
use polypath_units::Instant;
use polypath_workload::FlowError;

use crate::frame::{Form, SctpFrame};
use crate::host::{Host, Outcome, Place};
use crate::meter::Meter;
use crate::result::RunResult;
use crate::scenario::{HostName, Scenario};
use crate::wiring::{self, Oracle, Wired};

/// A scenario on the way.
#[derive(Debug)]
pub struct Simulation<'a> {
    scenario: &'a Scenario,
    seed: u64,
    form: Form,
    network: Wired,
    world: World<SctpFrame, NoObserver>,
    /// Hosts a and b of each pair.
    pairs: Vec<[Host; 2]>,
    progress: Vec<Progress>,
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
        let mut builder = NetworkBuilder::new();
        let network = wiring::wire(scenario, &mut builder)?;
        let form = if wiring::needs_bytes(scenario) { Form::Wire } else { form };
        let world = builder.build(seed, NoObserver)?;
        let names = scenario.network.pairs();
        let mut pairs = Vec::with_capacity(names.len());
        for (index, (wired, pair)) in network.pairs.iter().zip(names).enumerate() {
            let host = |name: HostName| {
                let rng = world.stream(&match pair {
                    "" => format!("host/{}", name.name()),
                    pair => format!("host/{pair}/{}", name.name()),
                });
                Host::new(scenario, &place(wired, index, name), form, rng)
            };
            pairs.push([host(HostName::A)?, host(HostName::B)?]);
        }
        let meter = Meter::new(scenario, &network.pairs, &network.bottlenecks);
        let over = vec![Progress::Running; pairs.len()];
        Ok(Self { scenario, seed, form, network, world, pairs, progress: over, meter })
    }

    /// Tells the hosts how much the network loses now.
    fn tell_oracle(&mut self) {
        let now = self.world.now();
        for (hosts, oracle) in self.pairs.iter_mut().zip(&self.network.oracles) {
            for (host, name) in hosts.iter_mut().zip(HostName::ALL) {
                let mtu = self.scenario.sctp_of(name).mtu.as_bytes();
                let bytes = u32::try_from(mtu).unwrap_or(u32::MAX);
                host.set_oracle(oracle.losses(name.way(), bytes, now));
            }
        }
    }

    /// Records what host a of the first pair sends and receives as pcapng, with an interface per path.
    pub fn capture(&mut self, out: Box<dyn io::Write + Send>) {
        let Some(pair) = self.network.pairs.first() else { return };
        let names: Vec<String> = pair.paths.iter().map(|path| path.name.clone()).collect();
        self.world.capture(pair.a, &names, out);
    }

    /// Runs to the end.
    ///
    /// # Errors
    /// A capture could not be written.
    pub fn run(mut self) -> io::Result<RunResult> {
        let end = Instant::ZERO + self.scenario.run.duration;
        self.tell_oracle();
        for host in self.pairs.iter_mut().flatten() {
            host.start(&mut self.world);
        }
        self.look();
        while self.world.now() < end {
            let oracles = self.network.oracles.iter().map(Oracle::next_change);
            let until = oracles.fold(self.meter.next_look().min(end), Instant::min);
            if self.run_until(until) {
                break;
            }
            let now = self.world.now();
            let changed = |changed, oracle: &mut Oracle| oracle.has_changed(now) | changed;
            if self.network.oracles.iter_mut().fold(false, changed) {
                self.tell_oracle();
            }
            self.look();
        }
        self.meter.close(self.world.now(), &self.pairs);
        self.world.finish_captures()?;
        let execution = Execution { seed: self.seed, form: self.form };
        Ok(RunResult::gather(
            self.scenario,
            execution,
            &mut self.world,
            &self.network,
            &self.pairs,
            &self.meter,
        ))
    }

    /// Lets the meter look at what is due.
    fn look(&mut self) {
        let now = self.world.now();
        self.meter.look_at_queues(now, |channel| self.world.queue_level(channel));
        self.meter.look(now, &self.pairs, &self.network.pairs);
    }

    /// Runs up to an instant; returns whether everything came to its end before.
    fn run_until(&mut self, until: Instant) -> bool {
        while let Some(event) = self.world.next_event(until) {
            let node = match &event {
                Event::Arrival(arrival) => arrival.node,
                Event::Timer { node } => *node,
            };
            let [pair, host] = self.owner(node);
            let hosts = &mut self.pairs[pair];
            match event {
                Event::Arrival(arrival) => hosts[host].on_arrival(&mut self.world, arrival),
                Event::Timer { .. } => hosts[host].on_timer(&mut self.world),
            }
            if self.finish(pair) {
                return true;
            }
        }
        false
    }

    /// Pair and position of the host at a node.
    fn owner(&self, node: NodeId) -> [usize; 2] {
        let pairs = &self.network.pairs;
        let pair = match pairs.len() {
            1 => 0,
            _ => pairs.iter().position(|pair| pair.a == node || pair.b == node).unwrap_or(0),
        };
        [pair, usize::from(pairs[pair].b == node)]
    }

    /// Shuts the association of a pair down once everything of it was delivered; returns whether all are over.
    fn finish(&mut self, pair: usize) -> bool {
        let hosts = &mut self.pairs[pair];
        if self.progress[pair] == Progress::Running
            && is_everything_delivered(hosts, self.world.now())
        {
            self.progress[pair] = Progress::Delivered;
            if self.progress.iter().all(|progress| *progress == Progress::Delivered) {
                self.meter.complete(self.world.now(), &self.pairs);
            }
            let client = self.scenario.association.client.index();
            self.pairs[pair][client].shutdown(&mut self.world);
        }
        let mut hosts = self.pairs.iter().flatten();
        hosts.all(|host| matches!(host.outcome(), Outcome::Ended(_)))
    }
}

/// How far the traffic of a pair has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Progress {
    Running,
    Delivered,
}

fn is_everything_delivered([a, b]: &[Host; 2], now: Instant) -> bool {
    [(a, b), (b, a)].iter().all(|(from, to)| {
        from.senders().iter().all(|sender| {
            let delivered = to.delivered_messages(sender.flow());
            sender.is_over(now) && from.is_settled(sender, delivered)
        })
    })
}

/// What tells one run of a scenario from another.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Execution {
    pub seed: u64,
    pub form: Form,
}

fn place(network: &Disjoint, pair: usize, name: HostName) -> Place {
    let a: Vec<IpAddr> = network.paths.iter().map(|path| path.a_address).collect();
    let b: Vec<IpAddr> = network.paths.iter().map(|path| path.b_address).collect();
    match name {
        HostName::A => Place { name, pair, node: network.a, addresses: a, peer_addresses: b },
        HostName::B => Place { name, pair, node: network.b, addresses: b, peer_addresses: a },
    }
}
