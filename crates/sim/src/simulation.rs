//! Runs a scenario.

use std::io;
use std::sync::Arc;

use polypath_netsim::{Arrival, Event, Frame as _, NetworkBuilder, NoObserver, World};
use polypath_proto::config::AssociationConfig;
use polypath_units::Instant;

use crate::app::Ledger;
use crate::background::{self, Background};
use crate::error::SetupError;
use crate::frame::{Form, RECOGNISABLE, SimFrame, Spares};
use crate::host::{Host, Surroundings};
use crate::meter::{Meter, Seen};
use crate::place::{self, Owners, Place};
use crate::probe::{Observer, Observing};
use crate::result::{Execution, Measured, RunResult};
use crate::scenario::{Flow, HostName, Scenario};
use crate::wiring::{self, Oracle, Wired};

/// Events after which [`Simulation::run_while`] checks whether to continue: some ten milliseconds of work.
const EVENTS_TO_ASK: u32 = 1 << 14;

/// Why a simulation stopped.
enum Stop {
    /// It has reached the requested instant.
    Reached,
    /// Everything has ended.
    Over,
    /// The caller stopped it.
    Asked,
}

/// A running scenario.
#[derive(Debug)]
pub struct Simulation<'a> {
    pub(crate) scenario: &'a Scenario,
    seed: u64,
    form: Form,
    pub(crate) network: Wired,
    pub(crate) world: World<SimFrame, NoObserver>,
    /// Hosts a and b of each pair.
    pairs: Vec<[Host; 2]>,
    owners: Owners,
    background: Background,
    progress: Vec<Progress>,
    /// Undelivered messages of all flows.
    ledger: Ledger,
    spares: Spares,
    meter: Meter,
}

/// A host whose packets can be captured.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CapturedHost(usize);

impl<'a> Simulation<'a> {
    /// Sets up a scenario with its own seed.
    ///
    /// # Errors
    /// The network cannot be built or a flow is invalid; neither happens for a scenario read from a document.
    pub fn new(scenario: &'a Scenario) -> Result<Self, SetupError> {
        Self::with(scenario, scenario.run.seed, Form::default())
    }

    /// Sets up a scenario with a seed and a form of packets. If bit errors can be anywhere in a packet, packets travel
    /// as bytes in any case.
    ///
    /// # Errors
    /// The network cannot be built or a flow is invalid; neither happens for a scenario read from a document.
    pub fn with(scenario: &'a Scenario, seed: u64, form: Form) -> Result<Self, SetupError> {
        Self::customized(scenario, seed, form, |_, _| ())
    }

    /// The same, where `change` may change the configuration of each host's associations before they begin: for what a file
    /// cannot say, such as a congestion control or a path scheduler of your own. It is called once for each of the two hosts
    /// of every pair. What the scenario was checked for is not checked again.
    ///
    /// ```no_run
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use std::path::Path;
    ///
    /// use polypath_proto::config::CongestionAlgorithm;
    /// use polypath_proto::congestion::{BuiltIn, CustomCongestion};
    /// use polypath_sim::{Form, Scenario, Simulation};
    ///
    /// let mine = CustomCongestion::new("mine", |path| {
    ///     Box::new(BuiltIn::new(CongestionAlgorithm::Rfc9260, path))
    /// });
    /// let scenario = Scenario::read(Path::new("scenarios/two-100mbit.toml"), &[""; 0])?;
    /// let simulation = Simulation::customized(&scenario, 1, Form::default(), |_, config| {
    ///     config.custom_congestion = Some(mine.clone());
    /// })?;
    /// println!("{:.1} Mbit/s", simulation.run()?.goodput_bit_s / 1e6);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The network cannot be built or a flow makes no sense; a scenario that was read from a document has neither.
    pub fn customized(
        scenario: &'a Scenario,
        seed: u64,
        form: Form,
        change: impl Fn(HostName, &mut AssociationConfig),
    ) -> Result<Self, SetupError> {
        let mut builder = NetworkBuilder::new();
        let network = wiring::wire(scenario, seed, &mut builder)?;
        let clients: Vec<HostName> = scenario.pairs.iter().map(|pair| pair.client).collect();
        let places = place::places(&network, &scenario.association, &clients, &mut builder);
        let alarms = background::alarms(scenario, &mut builder);
        let form = if wiring::needs_bytes(scenario) { Form::Wire } else { form };
        let world = builder.build(seed, NoObserver)?;
        let host = |place: &Place| {
            let mut config = scenario.sctp_of(place.pair, place.name).endpoint_config();
            change(place.name, &mut config.association);
            Host::new(scenario, place, form, config, |name| world.stream(name))
        };
        let mut pairs = Vec::with_capacity(places.len());
        for [a, b] in &places {
            pairs.push([host(a)?, host(b)?]);
        }
        let meter = Meter::new(scenario, &network);
        let ledger = Ledger::new(scenario, |flow| span(scenario, flow));
        let begin = |pair| match scenario.has_association(pair) {
            true => Progress::Running,
            false => Progress::Without,
        };
        Ok(Self {
            scenario,
            seed,
            form,
            progress: (0..pairs.len()).map(begin).collect(),
            owners: Owners::new(&places),
            background: Background::new(scenario, &network, &alarms, |name| world.stream(name))?,
            network,
            world,
            pairs,
            ledger,
            spares: Spares::default(),
            meter,
        })
    }

    /// Passes the present loss rates of the network to the hosts.
    fn tell_oracle(&mut self) {
        let now = self.world.now();
        let pairs = self.pairs.iter_mut().zip(&self.network.oracles);
        for (pair, (hosts, oracle)) in pairs.enumerate() {
            for (host, name) in hosts.iter_mut().zip(HostName::ALL) {
                let mtu = self.scenario.sctp_of(pair, name).mtu.as_bytes();
                let bytes = u32::try_from(mtu).unwrap_or(u32::MAX);
                host.set_oracle(oracle.losses(name.way(), bytes, now));
            }
        }
    }

    /// Hosts whose packets can be captured, each with a name: host a, without a name, if there are only two hosts, else
    /// all hosts of pairs.
    pub fn capturable(&self) -> Vec<(CapturedHost, String)> {
        let all = self.scenario.network.hosts();
        let mut found: Vec<(CapturedHost, String)> = Vec::new();
        for index in self.scenario.pairs.iter().flat_map(|pair| pair.hosts) {
            let host = CapturedHost(index);
            if found.iter().all(|(known, _)| *known != host) {
                let names = [all[index].pair, &all[index].name];
                let names: Vec<&str> = names.into_iter().filter(|name| !name.is_empty()).collect();
                found.push((host, names.join(" ")));
            }
        }
        if found.len() == 2 {
            found.truncate(1);
            found[0].1.clear();
        }
        found
    }

    /// Captures the packets of a host as pcapng, with an interface per path or link.
    pub fn capture(&mut self, CapturedHost(host): CapturedHost, out: Box<dyn io::Write + Send>) {
        let addresses = self.network.addresses_of(host, None);
        let names: Vec<String> = addresses.map(|own| own.link.clone()).collect();
        self.world.capture(self.network.hosts[host].node, &names, out);
    }

    /// Sets the observer, which chooses a probe for each new association. The probe receives the association's events
    /// in virtual time; it does not change the run.
    ///
    /// When an association replaces an earlier one at a host, the earlier one is no longer observed.
    pub fn observe(&mut self, observer: &Arc<dyn Observer>) {
        for (pair, hosts) in self.pairs.iter_mut().enumerate() {
            for (host, name) in hosts.iter_mut().zip(HostName::ALL) {
                host.observe(Observing {
                    observer: Arc::clone(observer),
                    host: self.scenario.host_name(pair, name).to_owned(),
                    pair: self.scenario.pairs[pair].name.clone(),
                    is_client: self.scenario.pairs[pair].client == name,
                });
            }
        }
    }

    /// Runs to the end.
    ///
    /// # Errors
    /// A capture could not be written.
    pub fn run(self) -> io::Result<RunResult> {
        let result = self.run_while(|| true)?;
        result.ok_or_else(|| io::Error::other("the run was not finished"))
    }

    /// Runs to the end as long as `goes_on` returns true; it is called from time to time. Returns `None` for a run that
    /// was stopped.
    ///
    /// # Errors
    /// A capture could not be written.
    pub fn run_while(mut self, mut goes_on: impl FnMut() -> bool) -> io::Result<Option<RunResult>> {
        let end = Instant::ZERO + self.scenario.run.duration;
        self.start();
        let mut left = EVENTS_TO_ASK;
        while self.world.now() < end {
            let until = self.next_look().min(end);
            match self.run_until(until, &mut left, &mut goes_on) {
                Stop::Reached => self.look_around(),
                Stop::Over => break,
                Stop::Asked => return Ok(None),
            }
        }
        self.gather().map(Some)
    }

    /// Starts all hosts and flows.
    pub(crate) fn start(&mut self) {
        self.tell_oracle();
        for host in self.pairs.iter_mut().flatten() {
            host.start(&mut self.world);
        }
        self.background.start(&mut self.world);
        self.look();
    }

    /// The next time for [`look_around`](Self::look_around).
    pub(crate) fn next_look(&self) -> Instant {
        let oracles = self.network.oracles.iter().map(Oracle::next_change);
        oracles.fold(self.meter.next_look(), Instant::min)
    }

    /// Updates loss rates that have changed, and samples the meter; to be called at [`next_look`](Self::next_look).
    pub(crate) fn look_around(&mut self) {
        let now = self.world.now();
        let changed = |changed, oracle: &mut Oracle| oracle.has_changed(now) | changed;
        if self.network.oracles.iter_mut().fold(false, changed) {
            self.tell_oracle();
        }
        self.look();
    }

    /// Ends the measurements and returns the results.
    pub(crate) fn gather(mut self) -> io::Result<RunResult> {
        let seen = Seen { pairs: &self.pairs, background: &self.background };
        self.meter.close(self.world.now(), seen);
        self.world.finish_captures()?;
        self.background.settle(self.world.under_way());
        let execution = Execution { seed: self.seed, form: self.form };
        Ok(RunResult::gather(
            self.scenario,
            execution,
            &mut self.world,
            &self.network,
            &self.pairs,
            Measured { meter: &self.meter, ledger: &self.ledger, background: &self.background },
        ))
    }

    /// Takes the samples that are due.
    fn look(&mut self) {
        let now = self.world.now();
        self.meter.look_at_queues(now, |channel| self.world.queue_level(channel));
        let seen = Seen { pairs: &self.pairs, background: &self.background };
        self.meter.look(now, seen, &self.network.pairs);
    }

    /// Runs up to an instant, or until `goes_on` returns false.
    fn run_until(
        &mut self,
        until: Instant,
        left: &mut u32,
        mut goes_on: impl FnMut() -> bool,
    ) -> Stop {
        loop {
            let Some(event) = self.world.next_event(until) else { return Stop::Reached };
            if self.on_event(event) {
                return Stop::Over;
            }
            *left -= 1;
            if *left == 0 {
                *left = EVENTS_TO_ASK;
                if !goes_on() {
                    return Stop::Asked;
                }
            }
        }
    }

    /// Dispatches an event; returns whether that ended everything.
    // Inlined into the loop, so that packets, which are large, are not moved.
    #[inline(always)]
    pub(crate) fn on_event(&mut self, event: Event<SimFrame>) -> bool {
        let owner = match &event {
            Event::Arrival(arrival) => match arrival.frame {
                SimFrame::Sctp(_) => {
                    self.owners.of_packet(arrival.node, || arrival.frame.ports()[1])
                }
                SimFrame::Udp(_) | SimFrame::Tcp(_) | SimFrame::Raw(_) => None,
            },
            Event::Timer { node } => self.owners.of_alarm(*node),
        };
        let (world, ledger) = (&mut self.world, &mut self.ledger);
        let Some([pair, host]) = owner else {
            match event {
                Event::Arrival(arrival) => self.background.on_arrival(world, ledger, arrival),
                Event::Timer { node } => self.background.on_timer(world, ledger, node),
            }
            return self.is_over();
        };
        let host = &mut self.pairs[pair][host];
        let mut around = Surroundings { world, ledger, spares: &mut self.spares };
        match event {
            Event::Arrival(Arrival { from, to, frame: SimFrame::Sctp(frame), .. }) => {
                host.on_arrival(&mut around, &frame, &frame.received(from, to));
                self.spares.keep_frame(frame);
            }
            Event::Arrival(_) => {}
            Event::Timer { .. } => host.on_timer(&mut around),
        }
        self.finish(pair)
    }

    /// Shuts down the association of a pair once all of its flows are complete; returns whether all associations have
    /// ended.
    #[inline(always)]
    fn finish(&mut self, pair: usize) -> bool {
        if self.progress[pair] == Progress::Running {
            let hosts = &self.pairs[pair];
            if is_everything_delivered(hosts, self.world.now()) {
                self.shut_down(pair);
            } else if self.background.is_empty() && !hosts.iter().any(Host::has_ended) {
                // This runs for every packet: while this association continues, the others need not be checked.
                return false;
            }
        }
        self.is_over()
    }

    #[cold]
    fn shut_down(&mut self, pair: usize) {
        self.progress[pair] = Progress::Delivered;
        self.note_completion();
        let client = self.scenario.pairs[pair].client.index();
        let (world, ledger, spares) = (&mut self.world, &mut self.ledger, &mut self.spares);
        self.pairs[pair][client].shutdown(&mut Surroundings { world, ledger, spares });
    }

    /// Notes, once, that all finite flows are complete.
    fn note_completion(&mut self) {
        let now = self.world.now();
        let is_running = self.progress.contains(&Progress::Running);
        if !is_running && self.meter.completed().is_none() && self.background.is_over(now) {
            let seen = Seen { pairs: &self.pairs, background: &self.background };
            self.meter.complete(now, seen);
        }
    }

    /// Whether all associations and all other finite flows have ended.
    #[inline(never)]
    fn is_over(&mut self) -> bool {
        let mut is_alone = true;
        for (hosts, progress) in self.pairs.iter().zip(&self.progress) {
            if *progress == Progress::Without {
                continue;
            }
            is_alone = false;
            if hosts.iter().any(|host| !host.has_ended()) {
                // The end of this flow may be the end of the run.
                if self.background.has_end() {
                    self.note_completion();
                }
                return false;
            }
        }
        let is_over = self.background.is_over(self.world.now());
        if is_alone && is_over && self.background.has_end() {
            self.note_completion();
        }
        is_over && (!is_alone || self.background.has_end())
    }
}

/// Progress of the traffic of a pair.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Progress {
    Running,
    Delivered,
    /// There is no association.
    Without,
}

#[inline]
fn is_everything_delivered([a, b]: &[Host; 2], now: Instant) -> bool {
    let is_delivered = |from: &Host, to: &Host| {
        from.senders().iter().all(|sender| {
            // Undelivered messages decide this for nearly all packets.
            from.is_settled(sender, to.delivered_messages(sender.flow())) && sender.is_over(now)
        })
    };
    is_delivered(a, b) && is_delivered(b, a)
}

/// Maximum number of messages by which a missing message can be behind one that arrived, whatever the buffer sizes: the
/// number of TSNs that gap ack blocks cover.
const FARTHEST: u64 = 1 << 16;

/// Maximum number of messages of a flow that can be undelivered, or have arrived before a missing one: those that gap
/// ack blocks cover, and those in buffers, since with NR-SACK arrived data leaves the send buffer.
fn span(scenario: &Scenario, flow: &Flow) -> u64 {
    let [sender, receiver] = scenario.sctp_of_flow(flow);
    let bytes = sender.send_buffer + receiver.receive_buffer;
    FARTHEST + bytes.as_bytes() / flow.sizes().smallest().as_bytes().max(RECOGNISABLE as u64)
}
