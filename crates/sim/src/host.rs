//! A host: one SCTP endpoint, its associations and the applications that use them.

mod associations;
mod connect;
mod outlet;

use std::net::IpAddr;

use polypath_netsim::{LinkObserver, NodeId, Stream, World};
use polypath_proto::config::{EndpointConfig, PartialReliability};
use polypath_proto::{
    Association, AssociationEnd, AssociationId, Body, Collision, ConnectError, Cx, DropReason,
    Endpoint, Envelope, Event, NoProbe, PathStats, Received, Route, Transmit,
};
use polypath_units::{Fraction, Instant};
use polypath_workload::{Carrier, FlowError};

use crate::app::{Applications, Gaps, Ledger, MessagePlan, Receiver, Sender, Violations};
use crate::frame::{Form, RECOGNISABLE, SctpFrame, SimFrame, Spares};
use crate::place::Place;
use crate::probe::{Delivered, Observing, Watch};
use crate::scenario::{Flow, Reading, Scenario};

use associations::Associations;
use connect::Connect;
use outlet::{Outlet, Unsent};

/// A host in the network.
#[derive(Debug)]
pub(crate) struct Host {
    /// The node for its timers.
    alarm: NodeId,
    rng: Stream,
    endpoint: Endpoint,
    associations: Associations,
    /// The most recent association; outcome and results are those of this one.
    latest: Option<AssociationId>,
    connect: Option<Connect>,
    /// Local and remote address of the primary path of the scenario.
    primary: Option<[IpAddr; 2]>,
    apps: Applications,
    /// Streams on which this host sends, with their values for the stream scheduler.
    stream_values: Vec<(u16, u16)>,
    reads: Reading,
    outcome: Outcome,
    established: Option<Instant>,
    outlet: Outlet,
    watch: Watch,
    /// Local and remote address of each path, and its loss rate in the network.
    oracle: Vec<([IpAddr; 2], f64)>,
}

/// State of the association of a host.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) enum Outcome {
    /// No association yet.
    #[default]
    None,
    /// It could not be initiated.
    NotConnected(ConnectError),
    /// It is established.
    Established,
    /// It has ended.
    Ended(AssociationEnd),
}

/// The surroundings of all hosts.
#[derive(Debug)]
pub(crate) struct Surroundings<'a, O> {
    pub world: &'a mut World<SimFrame, O>,
    pub ledger: &'a mut Ledger,
    pub spares: &'a mut Spares,
}

/// Destination of a packet.
enum Routed {
    /// An association.
    Association(AssociationId),
    /// An association that the endpoint has already passed it to, and that may have output.
    Handled(AssociationId),
    /// An answer of the endpoint.
    Reply(Box<Transmit>),
    /// None.
    Nowhere,
}

impl Host {
    /// The host `place.name` of `scenario`, with its configuration.
    ///
    /// # Errors
    /// A flow is invalid.
    pub fn new(
        scenario: &Scenario,
        place: &Place,
        form: Form,
        config: EndpointConfig,
        streams: impl Fn(&str) -> Stream,
    ) -> Result<Self, FlowError> {
        let Place { name, pair, .. } = *place;
        let mut rng =
            streams(&match (&scenario.pairs[pair].name[..], scenario.host_name(pair, name)) {
                ("", host) => format!("host/{host}"),
                (pair, host) => format!("host/{pair}/{host}"),
            });
        let plans: Vec<MessagePlan> = scenario
            .traffic
            .iter()
            .enumerate()
            .map(|(index, flow)| {
                MessagePlan::new(index, flow, flow.spec(scenario.association.connect))
            })
            .collect();
        let receivers = scenario.traffic.iter().zip(&plans).map(|(flow, plan)| {
            let policy = scenario.sctp_of_flow(flow)[0].policies.partial_reliability;
            let gaps = match flow.reliability.unwrap_or(policy) {
                PartialReliability::None if !flow.has_unreliable_messages() => Gaps::Violation,
                _ => Gaps::Abandoned,
            };
            Receiver::new(plan.clone(), gaps)
        });
        let mut receivers: Vec<Receiver> = receivers.collect();
        if Watch::wants_deliveries(&scenario.record) {
            receivers.iter_mut().for_each(Receiver::keep_log);
        }
        let flows = scenario.traffic.iter().zip(&plans).enumerate();
        let senders = flows
            .filter(|(_, (flow, _))| flow.is_from(place.pair, place.name))
            .map(|(index, (flow, plan))| {
                let rng = streams(&format!("traffic/{}", flow.name));
                let generator = plan.generator(carrier(scenario, flow), rng)?;
                Ok(Sender::new(index, plan.clone(), generator, flow.reliability))
            })
            .collect::<Result<_, FlowError>>()?;
        let partners = (0..scenario.traffic.len()).map(|flow| scenario.partner_of(flow)).collect();
        let begins = scenario.pairs[place.pair].client == place.name;
        let plan = &scenario.association;
        let connect = (begins && scenario.has_association(place.pair))
            .then(|| Connect::of(plan, place, config.association.clone()));
        let primary = place.path(&plan.primary_path).filter(|_| begins);
        let only = place.path(&plan.local_address).filter(|_| begins);
        let local = only.map_or_else(|| place.addresses(), |[local, _]| vec![local]);
        let mut cx = Cx { now: Instant::ZERO, rng: &mut rng, probe: &mut NoProbe };
        let endpoint = Endpoint::new(config, place.port, &local, &mut cx);
        Ok(Self {
            alarm: place.alarm,
            rng,
            endpoint,
            associations: Associations::default(),
            latest: None,
            connect,
            primary,
            apps: Applications::new(senders, receivers, partners),
            stream_values: scenario
                .traffic
                .iter()
                .filter(|flow| flow.is_from(place.pair, place.name))
                .flat_map(Flow::valued_streams)
                .collect(),
            reads: plan.reads,
            outcome: Outcome::None,
            established: None,
            outlet: Outlet::new(place.node, form),
            watch: Watch::new(&scenario.record),
            oracle: place.paths.iter().map(|path| (*path, 0.0)).collect(),
        })
    }

    /// Sets the first timer.
    pub fn start<O: LinkObserver>(&mut self, world: &mut World<SimFrame, O>) {
        self.set_timer(world);
    }

    /// Handles a packet; `received` is the part of its frame for the stack.
    pub fn on_arrival<O: LinkObserver>(
        &mut self,
        around: &mut Surroundings<'_, O>,
        frame: &SctpFrame,
        received: &Received<'_>,
    ) {
        let now = around.world.now();
        self.watch.on_packet(frame);
        // Nearly all packets belong to an association; the checksum of a structure is correct.
        let owner = match received.body {
            Body::Structured(_) => self.endpoint.owner_of(received),
            _ => None,
        };
        match owner.map_or_else(|| self.route(now, received), Routed::Association) {
            Routed::Association(id) => self.pump(around, id, Some(received)),
            Routed::Handled(id) => self.pump(around, id, None),
            Routed::Reply(reply) => {
                let Transmit { local, remote, ecn, fragmentation, packet, .. } = *reply;
                let frame =
                    SctpFrame::new(ecn, fragmentation, Box::new(packet), self.outlet.form());
                return self.outlet.send(around.world, None, [&local, &remote], frame);
            }
            Routed::Nowhere => return,
        }
        self.set_timer(around.world);
    }

    /// Handles the timer.
    pub fn on_timer<O: LinkObserver>(&mut self, around: &mut Surroundings<'_, O>) {
        let now = around.world.now();
        if self.connect.as_ref().is_some_and(|connect| connect.at <= now) {
            self.connect(around.world);
        }
        let mut place = 0;
        while let Some((id, association)) = self.associations.at(place) {
            place += 1;
            let probe = self.watch.probe_if(self.latest == Some(id));
            let mut cx = Cx { now, rng: &mut self.rng, probe };
            if association.poll_timeout().is_some_and(|at| at <= now) {
                association.handle_timeout(&mut cx);
            }
            if self.latest == Some(id) {
                self.apps.feed(&mut cx, association, around.ledger);
            }
            self.pump(around, id, None);
        }
        self.set_timer(around.world);
    }

    /// Ends the association gracefully.
    pub fn shutdown<O: LinkObserver>(&mut self, around: &mut Surroundings<'_, O>) {
        let mut place = 0;
        while let Some((id, association)) = self.associations.at(place) {
            place += 1;
            let probe = self.watch.probe_if(self.latest == Some(id));
            let mut cx = Cx { now: around.world.now(), rng: &mut self.rng, probe };
            association.shutdown(&mut cx);
            self.pump(around, id, None);
        }
        self.set_timer(around.world);
    }

    /// State of the association.
    pub fn outcome(&self) -> &Outcome {
        &self.outcome
    }

    /// Whether the association has ended.
    #[inline]
    pub fn has_ended(&self) -> bool {
        matches!(self.outcome, Outcome::Ended(_))
    }

    /// When the association was established.
    pub fn established(&self) -> Option<Instant> {
        self.established
    }

    /// The most recent association, also after its end; [`outcome`](Self::outcome) is its state.
    pub fn association(&self) -> Option<&Association> {
        self.associations.get(self.latest?)
    }

    /// Sets the loss rates of the network from now on, by path of the network.
    pub fn set_oracle(&mut self, losses: impl Iterator<Item = f64>) {
        for ((_, known), loss) in self.oracle.iter_mut().zip(losses) {
            *known = loss;
        }
        if let Some(association) = self.latest.and_then(|id| self.associations.get_mut(id)) {
            tell_oracle(&self.oracle, association);
        }
    }

    /// Loss rate of a path in the network.
    pub fn oracle_loss(&self, path: &PathStats) -> Option<f64> {
        oracle_loss(&self.oracle, path)
    }

    /// Packets that were built but not sent.
    pub fn unsent(&self) -> Unsent {
        self.outlet.unsent()
    }

    /// Packets that arrived with a wrong checksum.
    pub fn checksum_failures(&self) -> u64 {
        self.endpoint.dropped(DropReason::WrongChecksum)
    }

    /// The receiving side of a flow, by its index in the scenario.
    pub fn receiver(&self, flow: usize) -> Option<&Receiver> {
        self.apps.receivers.get(flow)
    }

    /// Number of flows of the scenario.
    pub fn flows(&self) -> usize {
        self.apps.receivers.len()
    }

    /// User bytes of a flow delivered at this host.
    pub fn delivered(&self, flow: usize) -> u64 {
        self.apps.receivers.get(flow).map_or(0, |receiver| receiver.meter().total().as_bytes())
    }

    /// Sets the observer of the associations of the host.
    pub fn observe(&mut self, observing: Observing) {
        self.watch.observe(observing);
    }

    /// The probes.
    pub fn watch(&self) -> &Watch {
        &self.watch
    }

    /// All messages delivered at this host, in order of time, if the scenario records them.
    pub fn deliveries(&self) -> Vec<Delivered> {
        let logs = self.apps.receivers.iter().map(Receiver::log);
        let mut all: Vec<Delivered> = logs.flatten().copied().collect();
        all.sort_by_key(|delivered| delivered.at);
        all
    }

    /// Number of messages of a flow delivered at this host.
    #[inline]
    pub fn delivered_messages(&self, flow: usize) -> u64 {
        self.apps.receivers.get(flow).map_or(0, |receiver| receiver.meter().messages())
    }

    /// Whether all messages of a flow of this host were delivered or abandoned; `delivered` is the number of delivered
    /// ones.
    #[inline]
    pub fn is_settled(&self, sender: &Sender, delivered: u64) -> bool {
        let abandoned = sender.abandoned();
        delivered == sender.messages()
            || abandoned > 0 && delivered + abandoned >= sender.messages() && self.holds_nothing()
    }

    /// Whether the send buffer of the association is empty.
    // A function of its own, to keep the check above cheap, which decides for nearly all packets.
    #[inline(never)]
    fn holds_nothing(&self) -> bool {
        self.association().is_none_or(|a| a.stats().send_buffer_bytes == 0)
    }

    /// Errors that the applications saw.
    pub fn violations(&self) -> Violations {
        self.apps.violations()
    }

    /// The sending sides of this host's flows, in the order of the scenario.
    pub fn senders(&self) -> &[Sender] {
        &self.apps.senders
    }

    /// Routes a packet, and handles packets that concern more than one association.
    #[inline(never)]
    fn route(&mut self, now: Instant, received: &Received<'_>) -> Routed {
        let mut cx = Cx { now, rng: &mut self.rng, probe: self.watch.early() };
        let route = self.endpoint.handle(&mut cx, received);
        let mut cx = Cx { now, rng: &mut self.rng, probe: &mut NoProbe };
        match route {
            Route::Association(id) => Routed::Association(id),
            Route::Damaged(id) => {
                let Some(association) = self.associations.get_mut(id) else {
                    return Routed::Nowhere;
                };
                cx.probe = self.watch.probe_if(self.latest == Some(id));
                association.handle_damaged(&mut cx, received);
                Routed::Handled(id)
            }
            Route::Collision(id) => {
                let Some(association) = self.associations.get_mut(id) else {
                    return Routed::Nowhere;
                };
                cx.probe = self.watch.probe_if(self.latest == Some(id));
                match self.endpoint.handle_collision(&mut cx, received, association) {
                    Collision::Reply(reply) => Routed::Reply(reply),
                    Collision::Handled => Routed::Handled(id),
                    Collision::Drop(_) => Routed::Nowhere,
                }
            }
            Route::New(id, association) => {
                self.begin(id, association);
                Routed::Handled(id)
            }
            Route::Reply(reply) => Routed::Reply(reply),
            Route::Drop(_) => Routed::Nowhere,
        }
    }

    fn connect<O: LinkObserver>(&mut self, world: &mut World<SimFrame, O>) {
        let Some(Connect { config, port, peer, .. }) = self.connect.take() else { return };
        let mut cx = Cx { now: world.now(), rng: &mut self.rng, probe: self.watch.early() };
        match self.endpoint.connect(&mut cx, config, port, &peer) {
            Ok((id, association)) => self.begin(id, association),
            Err(error) => self.outcome = Outcome::NotConnected(error),
        }
    }

    /// Replaces the association by a new one.
    fn begin(&mut self, id: AssociationId, mut association: Box<Association>) {
        for &(stream, value) in &self.stream_values {
            // The scenario was checked: both sides have these streams.
            let _ = association.set_stream_value(stream, value);
        }
        self.watch.begin(&association);
        self.associations.insert(id, association);
        self.latest = Some(id);
        self.outcome = Outcome::None;
        self.established = None;
    }

    /// Passes an arrived packet, if any, to an association, and polls its output in the order of its contract.
    fn pump<O: LinkObserver>(
        &mut self,
        around: &mut Surroundings<'_, O>,
        id: AssociationId,
        arrived: Option<&Received<'_>>,
    ) {
        let Surroundings { world, ledger, spares } = around;
        let Some(association) = self.associations.get_mut(id) else { return };
        let probe = self.watch.probe_if(self.latest == Some(id));
        let mut cx = Cx { now: world.now(), rng: &mut self.rng, probe };
        if let Some(received) = arrived {
            association.handle(&mut cx, received);
        }
        let (apps, outlet) = (&mut self.apps, &mut self.outlet);
        let is_latest = self.latest == Some(id);
        if arrived.is_some() && self.reads == Reading::BeforeSack {
            apps.read(&mut cx, association, ledger, is_latest);
        }
        loop {
            while let Some(envelope) = association.poll_transmit_into(&mut cx, &mut spares.next) {
                let Envelope { path, local, remote, ecn, fragmentation, .. } = &envelope;
                let frame = SctpFrame::new(*ecn, *fragmentation, spares.take(), outlet.form());
                let (path, ends) = (*path, [local, remote]);
                outlet.send(world, Some(path), ends, frame);
            }
            let Some(event) = association.poll_event() else { break };
            match event {
                Event::Established { .. } if is_latest => {
                    self.outcome = Outcome::Established;
                    self.established = Some(cx.now);
                    connect::choose_primary(self.primary, association);
                    tell_oracle(&self.oracle, association);
                    apps.feed(&mut cx, association, ledger);
                }
                Event::Writable if is_latest => apps.feed(&mut cx, association, ledger),
                Event::Readable => apps.read(&mut cx, association, ledger, is_latest),
                Event::Abandoned { context, .. } if is_latest => apps.note_abandoned(context),
                Event::Ended(end) if is_latest => self.outcome = Outcome::Ended(end),
                _ => {}
            }
        }
        while let Some(notice) = association.poll_notice() {
            self.endpoint.on_notice(id, notice);
        }
        if self.latest == Some(id) {
            self.watch.look(world.now(), association);
        }
    }

    #[inline(always)]
    fn set_timer<O: LinkObserver>(&self, world: &mut World<SimFrame, O>) {
        let now = world.now();
        // Plain loops, since this runs for every packet. `FAR_FUTURE` means no timer.
        let mut next = self.connect.as_ref().map_or(Instant::FAR_FUTURE, |connect| connect.at);
        for association in self.associations.iter() {
            next = next.min(association.poll_timeout().unwrap_or(Instant::FAR_FUTURE));
        }
        for sender in &self.apps.senders {
            next = next.min(sender.next_turn(now).unwrap_or(Instant::FAR_FUTURE));
        }
        world.set_timer(self.alarm, next);
    }
}

/// Passes the loss rates of the network to the association (`retransmission.loss_rate = "oracle"`).
fn tell_oracle(oracle: &[([IpAddr; 2], f64)], association: &mut Association) {
    for path in association.path_stats() {
        let known = oracle_loss(oracle, &path);
        if let Some(rate) = known.and_then(|loss| Fraction::from_f64(loss).ok()) {
            // A path that has been removed meanwhile needs none.
            let _ = association.set_oracle_loss_rate(path.path, rate);
        }
    }
}

/// The loss rate of a path. If no path of the network has both addresses, the remote one decides.
fn oracle_loss(oracle: &[([IpAddr; 2], f64)], path: &PathStats) -> Option<f64> {
    let same = oracle.iter().find(|(known, _)| *known == [path.local, path.remote]);
    let alike = || oracle.iter().find(|([_, remote], _)| *remote == path.remote);
    same.or_else(alike).map(|(_, loss)| *loss)
}

/// What the generator of a flow needs to know.
fn carrier(scenario: &Scenario, flow: &Flow) -> Carrier {
    let [sender, receiver] = scenario.sctp_of_flow(flow);
    let longest = sender.send_buffer.min(receiver.receive_buffer).as_bytes();
    Carrier {
        shortest: RECOGNISABLE as u32,
        longest: u32::try_from(longest).unwrap_or(u32::MAX),
        ..Carrier::default()
    }
}
