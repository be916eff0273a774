//! UDP and TCP flows beside SCTP, over the same network.
//!
//! Each flow has an alarm of its own, a node without links, so it shares only the links with the hosts of associations.

mod number_set;
mod tcp;
mod udp;

use std::net::IpAddr;

use polypath_netsim::{Arrival, BuildError, LinkObserver, NetworkBuilder, NodeId, Stream, World};
use polypath_units::{BitRate, Instant};
use polypath_workload::{Carrier, Generator, GoodputMeter};

use crate::app::Ledger;
use crate::error::SetupError;
use crate::frame::{SimFrame, UDP_HEADER};
use crate::scenario::{Flow, Scenario, Transport};
use crate::wiring::Wired;

pub use tcp::TcpResult;
pub use udp::UdpResult;

use tcp::TcpFlow;
use udp::UdpFlow;

/// Port of the first flow, at both ends.
const FIRST_PORT: u16 = 20_000;
const PORTS: usize = 40_000;

/// All UDP and TCP flows.
#[derive(Debug)]
pub(crate) struct Background {
    flows: Vec<Runner>,
    /// By flow of the scenario.
    by_flow: Vec<Option<usize>>,
}

#[derive(Debug)]
enum Runner {
    Udp(Box<UdpFlow>),
    Tcp(Box<TcpFlow>),
}

/// The ends of a flow.
#[derive(Clone, Debug)]
struct Ends {
    /// Position among the flows of the scenario.
    flow: usize,
    /// The node for its timers.
    alarm: NodeId,
    /// Sender and receiver.
    nodes: [NodeId; 2],
    addresses: [IpAddr; 2],
    ports: [u16; 2],
}

impl Ends {
    fn wake<O: LinkObserver>(&self, world: &mut World<SimFrame, O>, at: Option<Instant>) {
        match at {
            Some(at) => world.set_timer(self.alarm, at),
            None => world.clear_timer(self.alarm),
        }
    }
}

/// Alarms of the flows that need one, by flow of the scenario; to be added before the network is built.
pub(crate) fn alarms(scenario: &Scenario, builder: &mut NetworkBuilder) -> Vec<Option<NodeId>> {
    let alarm = |flow: &Flow| {
        let is_background = flow.transport != Transport::Sctp;
        is_background.then(|| builder.add_host(format!("alarm of {}", flow.name)))
    };
    scenario.traffic.iter().map(alarm).collect()
}

impl Background {
    /// The flows of a scenario in its network.
    ///
    /// # Errors
    /// A flow is invalid, or there is no route between its ends.
    pub fn new(
        scenario: &Scenario,
        network: &Wired,
        alarms: &[Option<NodeId>],
        streams: impl Fn(&str) -> Stream,
    ) -> Result<Self, SetupError> {
        let mut flows = Vec::new();
        let mut by_flow = vec![None; scenario.traffic.len()];
        for (index, (flow, alarm)) in scenario.traffic.iter().zip(alarms).enumerate() {
            let Some(alarm) = *alarm else { continue };
            let addresses = network.between(flow.ends.hosts, flow.path.as_deref());
            let addresses = addresses.ok_or_else(|| no_way(flow))?;
            let port = FIRST_PORT + (index % PORTS) as u16;
            let ends = Ends {
                flow: index,
                alarm,
                nodes: flow.ends.hosts.map(|host| network.hosts[host].node),
                addresses,
                ports: [port, port],
            };
            by_flow[index] = Some(flows.len());
            flows.push(Runner::new(scenario, flow, ends, &streams)?);
        }
        Ok(Self { flows, by_flow })
    }

    /// Sets the first timers.
    pub fn start<O: LinkObserver>(&self, world: &mut World<SimFrame, O>) {
        for runner in &self.flows {
            runner.ends().wake(world, Some(runner.generator().start()));
        }
    }

    /// Handles a timer, if the node is an alarm of a flow.
    pub fn on_timer<O: LinkObserver>(
        &mut self,
        world: &mut World<SimFrame, O>,
        ledger: &mut Ledger,
        node: NodeId,
    ) {
        // Alarms were added one after the other.
        let place = self.flows.binary_search_by_key(&node.index(), |r| r.ends().alarm.index());
        let Some(runner) = place.ok().and_then(|place| self.flows.get_mut(place)) else { return };
        let Some(ledger) = ledger.flow_mut(runner.ends().flow) else { return };
        match runner {
            Runner::Udp(flow) => flow.on_timer(world),
            Runner::Tcp(flow) => flow.run(world, ledger),
        }
    }

    /// A packet of a flow arrived.
    pub fn on_arrival<O: LinkObserver>(
        &mut self,
        world: &mut World<SimFrame, O>,
        ledger: &mut Ledger,
        arrival: Arrival<SimFrame>,
    ) {
        let flow = match &arrival.frame {
            SimFrame::Udp(frame) => frame.flow,
            SimFrame::Tcp(frame) => frame.flow,
            SimFrame::Sctp(_) | SimFrame::Raw(_) => return,
        } as usize;
        let place = self.by_flow.get(flow).copied().flatten();
        let Some(runner) = place.and_then(|place| self.flows.get_mut(place)) else { return };
        let Some(ledger) = ledger.flow_mut(flow) else { return };
        match (runner, arrival.frame) {
            (Runner::Udp(flow), SimFrame::Udp(frame)) => {
                flow.on_packet(world.now(), ledger, &frame)
            }
            (Runner::Tcp(flow), SimFrame::Tcp(frame)) => {
                flow.on_packet(world, ledger, (arrival.to, frame));
            }
            _ => {}
        }
    }

    /// Passes packets in transit at the end of the run to flows over UDP, which do not count them as lost.
    pub fn settle<'a>(&mut self, under_way: impl Iterator<Item = &'a SimFrame>) {
        for frame in under_way {
            let SimFrame::Udp(frame) = frame else { continue };
            let place = self.by_flow.get(frame.flow as usize).copied().flatten();
            let runner = place.and_then(|place| self.flows.get_mut(place));
            if let Some(Runner::Udp(flow)) = runner {
                flow.note_under_way(frame);
            }
        }
    }

    /// Whether all finite flows have ended.
    pub fn is_over(&self, now: Instant) -> bool {
        let mut with_end = self.flows.iter().filter(|runner| runner.generator().has_end());
        with_end.all(|runner| runner.is_over(now))
    }

    /// Whether there are no such flows.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.flows.is_empty()
    }

    /// Whether a flow is finite.
    pub fn has_end(&self) -> bool {
        self.flows.iter().any(|runner| runner.generator().has_end())
    }

    /// Bytes delivered by a flow, by its index in the scenario; 0 for flows of associations.
    pub fn delivered(&self, flow: usize) -> u64 {
        let runner = self.by_flow.get(flow).copied().flatten().and_then(|at| self.flows.get(at));
        runner.map_or(0, |runner| runner.meter().total().as_bytes())
    }

    /// The state of a flow, by its index in the scenario.
    pub fn view(&self, flow: usize, now: Instant) -> Option<View<'_>> {
        let runner = self.flows.get(self.by_flow.get(flow).copied().flatten()?)?;
        Some(View {
            generator: runner.generator(),
            meter: runner.meter(),
            is_complete: runner.generator().has_end() && runner.is_over(now),
            udp: match runner {
                Runner::Udp(flow) => Some(flow.counts()),
                Runner::Tcp(_) => None,
            },
            tcp: match runner {
                Runner::Udp(_) => None,
                Runner::Tcp(flow) => Some(flow.result()),
            },
        })
    }
}

/// The state of a flow.
pub(crate) struct View<'a> {
    pub generator: &'a Generator,
    pub meter: &'a GoodputMeter,
    pub is_complete: bool,
    pub udp: Option<UdpResult>,
    pub tcp: Option<TcpResult>,
}

fn no_way(flow: &Flow) -> SetupError {
    let problem = format!("flow `{}`: there is no way between its hosts", flow.name);
    BuildError::Topology(problem).into()
}

impl Runner {
    fn new(
        scenario: &Scenario,
        flow: &Flow,
        ends: Ends,
        streams: impl Fn(&str) -> Stream,
    ) -> Result<Self, SetupError> {
        let rng = streams(&format!("traffic/{}", flow.name));
        let spec = flow.spec(scenario.association.connect);
        let mtu = scenario.mtu_of(flow);
        let ip = if ends.addresses[0].is_ipv4() { 20 } else { 40 };
        let link = scenario.bottleneck_of(flow).unwrap_or(BitRate::ZERO);
        match flow.transport {
            Transport::Tcp => {
                let settings = flow.tcp.unwrap_or_default();
                let longest = settings.send_buffer.as_bytes();
                let longest = u32::try_from(longest).unwrap_or(u32::MAX);
                let carrier = Carrier { link, headers: 0, shortest: 1, longest };
                let generator = Generator::new(spec, carrier, rng)?;
                let mut rng = streams(&format!("tcp/{}", flow.name));
                let tcp = TcpFlow::new(ends, generator, &settings, mtu as usize, &mut rng);
                Ok(Self::Tcp(Box::new(tcp)))
            }
            Transport::Udp | Transport::Sctp => {
                let headers = ip + UDP_HEADER as u32;
                let longest = mtu.saturating_sub(headers).max(1);
                let carrier = Carrier { link, headers, shortest: 1, longest };
                let generator = Generator::new(spec, carrier, rng)?;
                Ok(Self::Udp(Box::new(UdpFlow::new(ends, generator))))
            }
        }
    }

    fn ends(&self) -> &Ends {
        match self {
            Self::Udp(flow) => &flow.ends,
            Self::Tcp(flow) => &flow.ends,
        }
    }

    fn generator(&self) -> &Generator {
        match self {
            Self::Udp(flow) => &flow.generator,
            Self::Tcp(flow) => &flow.generator,
        }
    }

    fn meter(&self) -> &GoodputMeter {
        match self {
            Self::Udp(flow) => &flow.meter,
            Self::Tcp(flow) => &flow.meter,
        }
    }

    fn is_over(&self, now: Instant) -> bool {
        match self {
            Self::Udp(flow) => flow.is_over(now),
            Self::Tcp(flow) => flow.is_over(now),
        }
    }
}
