//! What a client wants to measure.

use std::time::Duration;

use polypath::AssociationConfig;
use polypath_units::BitRate;

use crate::buffers::Buffers;
use crate::flow::FlowPlan;
use crate::flow_spec::FlowSpec;
use crate::payload::{self, Role};
use crate::proposal::{Extent, LONGEST, PlanError, Proposal};
use crate::text::shown;
use crate::traffic::Traffic;

/// Longest default message in bytes; a whole number of packets is taken.
const DEFAULT_LENGTH: usize = 16 << 10;
/// User data of a packet, as long as no association is there to ask.
pub(crate) const LIKELY_PACKET: usize = 1400;

/// Which ends send.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum Direction {
    /// The client.
    #[default]
    ToServer,
    /// The server.
    ToClient,
    /// Both.
    Both,
}

/// A measurement that a client plans: which flows, for how long, in which direction.
///
/// ```
/// use std::time::Duration;
///
/// use polypath_meter::{Direction, Plan};
///
/// let plan = Plan::new()
///     .duration(Duration::from_secs(30))
///     .parallel(4)
///     .bit_rate("5 Mbit/s".parse()?, 1)
///     .direction(Direction::Both);
/// plan.check(&polypath::AssociationConfig::default())?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Debug)]
pub struct Plan {
    extent: PlannedExtent,
    omit: Duration,
    interval: Duration,
    parallel: u32,
    rate: BitRate,
    burst: u32,
    message_bytes: Option<u64>,
    direction: Direction,
    flows: Vec<FlowSpec>,
    seed: Option<u64>,
    title: Option<String>,
    server_output: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum PlannedExtent {
    Duration(Duration),
    Bytes(u64),
}

impl Default for Plan {
    fn default() -> Self {
        Self {
            extent: PlannedExtent::Duration(Duration::from_secs(10)),
            omit: Duration::ZERO,
            interval: Duration::from_secs(1),
            parallel: 1,
            rate: BitRate::ZERO,
            burst: 1,
            message_bytes: None,
            direction: Direction::default(),
            flows: Vec::new(),
            seed: None,
            title: None,
            server_output: false,
        }
    }
}

impl Plan {
    /// One flow to the server with as much data as the association carries, for 10 s with a report each second.
    pub fn new() -> Self {
        Self::default()
    }

    /// Time for which each end that sends does so, besides the [omitted](Self::omit) time. Default: 10 s. Replaces
    /// [`bytes`](Self::bytes).
    #[must_use]
    pub fn duration(mut self, duration: Duration) -> Self {
        self.extent = PlannedExtent::Duration(duration);
        self
    }

    /// Bytes that each end that sends has to send, all flows together. Replaces [`duration`](Self::duration).
    #[must_use]
    pub fn bytes(mut self, bytes: u64) -> Self {
        self.extent = PlannedExtent::Bytes(bytes);
        self
    }

    /// Time at the beginning that does not count. Default: 0 s.
    #[must_use]
    pub fn omit(mut self, omit: Duration) -> Self {
        self.omit = omit;
        self
    }

    /// Time between reports, at least [`MIN_INTERVAL`](crate::MIN_INTERVAL); zero for none before the end. Default: 1 s.
    #[must_use]
    pub fn interval(mut self, interval: Duration) -> Self {
        self.interval = interval;
        self
    }

    /// Number of flows, each on a stream of its own; at most [`MAX_FLOWS`](crate::MAX_FLOWS). Default: 1.
    #[must_use]
    pub fn parallel(mut self, flows: u32) -> Self {
        self.parallel = flows;
        self
    }

    /// Rate of each flow, sent as `burst` messages at a time; zero for as much as the association carries. Default: zero.
    #[must_use]
    pub fn bit_rate(mut self, rate: BitRate, burst: u32) -> Self {
        (self.rate, self.burst) = (rate, burst);
        self
    }

    /// Length of messages, 48 to 65,535 bytes. Default: as many whole packets as fit 16 KiB and half of the buffers, for a
    /// flow with a rate one packet.
    #[must_use]
    pub fn message_bytes(mut self, bytes: u64) -> Self {
        self.message_bytes = Some(bytes);
        self
    }

    /// Which ends send. Default: the client.
    #[must_use]
    pub fn direction(mut self, direction: Direction) -> Self {
        self.direction = direction;
        self
    }

    /// These flows, instead of what [`parallel`](Self::parallel), [`bit_rate`](Self::bit_rate),
    /// [`message_bytes`](Self::message_bytes) and [`direction`](Self::direction) say.
    #[must_use]
    pub fn flows(mut self, flows: impl IntoIterator<Item = FlowSpec>) -> Self {
        self.flows = flows.into_iter().collect();
        self
    }

    /// Seed of the random numbers of all flows. Default: a random one.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }

    /// Title of the measurement; what exceeds 200 bytes is cut off. Default: none.
    #[must_use]
    pub fn title(mut self, title: &str) -> Self {
        self.title = Some(shown(title));
        self
    }

    /// Whether the server sends what it shows to its user, so that the document has it. Default: no.
    #[must_use]
    pub fn server_output(mut self, wanted: bool) -> Self {
        self.server_output = wanted;
        self
    }

    /// Number of flows.
    pub fn flow_count(&self) -> usize {
        if self.flows.is_empty() { self.parallel as usize } else { self.flows.len() }
    }

    /// The title, as it can be shown.
    pub fn shown_title(&self) -> Option<&str> {
        self.title.as_deref()
    }

    /// Checks the numbers, and whether a client with this configuration can send and receive the messages.
    ///
    /// # Errors
    ///
    /// A number is out of range, or messages are larger than a buffer.
    pub fn check(&self, config: &AssociationConfig) -> Result<(), PlanError> {
        let buffers = Buffers::planned(config);
        let proposal = self.settle(LIKELY_PACKET, buffers.least(), 0, 0)?;
        proposal.check()?;
        buffers.check(&proposal, Role::Client)
    }

    /// What is proposed, for messages that fit whole packets of `packet` bytes of user data, and buffers of `buffer` bytes at
    /// both ends.
    pub(crate) fn settle(
        &self,
        packet: usize,
        buffer: u64,
        measurement: u64,
        seed: u64,
    ) -> Result<Proposal, PlanError> {
        let seed = self.seed.unwrap_or(seed);
        // A number of bytes may take as long as it likes.
        let (extent, time) = match self.extent {
            PlannedExtent::Bytes(bytes) => (Extent::Bytes(bytes), LONGEST),
            PlannedExtent::Duration(time) => (Extent::Seconds(time.as_secs_f64()), time),
        };
        let end = self.omit.saturating_add(time);
        let end =
            polypath_units::Duration::from_nanos(u64::try_from(end.as_nanos()).unwrap_or(u64::MAX));
        let flows: Vec<FlowPlan> = if self.flows.is_empty() {
            let traffic = self.traffic(packet, buffer)?;
            (1..=self.parallel).map(|id| self.flow(id, &traffic)).collect()
        } else {
            let specs = self.flows.iter().zip(1..);
            specs
                .map(|(spec, id)| spec.plan(id, end, seed ^ u64::from(id)))
                .collect::<Result<_, _>>()?
        };
        Ok(Proposal {
            measurement,
            extent,
            omit_s: self.omit.as_secs_f64(),
            interval_s: self.interval.as_secs_f64(),
            flows,
            seed,
            title: self.title.clone(),
            server_output: self.server_output,
        })
    }

    fn traffic(&self, packet: usize, buffer: u64) -> Result<Traffic, PlanError> {
        // Buffers have room for two such messages: one may go while the other is acknowledged.
        let longest = usize::try_from(buffer / 2).unwrap_or(usize::MAX);
        let longest = longest.clamp(payload::HEADER, DEFAULT_LENGTH);
        let packet = packet.clamp(payload::HEADER, longest);
        let default = (longest / packet * packet) as u64;
        let size = self.message_bytes.unwrap_or(default);
        let size = u16::try_from(size).map_err(|_| PlanError::MessageLength(size))?;
        Ok(match self.rate.as_bits_per_second() {
            0 => Traffic::saturated(size),
            rate => {
                // A flow that is slow sends a packet at a time unless told otherwise.
                let size = if self.message_bytes.is_none() { packet as u16 } else { size };
                Traffic::paced(size, rate, self.burst)
            }
        })
    }

    fn flow(&self, id: u32, traffic: &Traffic) -> FlowPlan {
        FlowPlan {
            id,
            description: None,
            to_server: (self.direction != Direction::ToClient).then(|| traffic.clone()),
            to_client: (self.direction != Direction::ToServer).then(|| traffic.clone()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settled(plan: &Plan, buffer: u64) -> Proposal {
        plan.settle(1408, buffer, 1, 2).unwrap()
    }

    fn length(plan: &Plan, buffer: u64) -> u16 {
        settled(plan, buffer).flows[0].to_server.as_ref().unwrap().longest_message
    }

    fn paced(plan: Plan) -> Plan {
        plan.bit_rate(BitRate::from_bits_per_second(1_000_000), 1)
    }

    #[test]
    fn what_is_wanted_is_proposed() {
        let plan = Plan::new()
            .duration(Duration::from_secs(3))
            .interval(Duration::from_millis(500))
            .omit(Duration::from_secs(1))
            .parallel(2)
            .bit_rate(BitRate::from_bits_per_second(8_000_000), 4)
            .message_bytes(1024)
            .title("x\u{1b}y");
        let sent = settled(&plan, 1 << 20);
        sent.check().unwrap();
        assert_eq!((plan.flow_count(), sent.flows.len(), sent.seed), (2, 2, 2));
        assert_eq!(sent.extent, Extent::Seconds(3.0));
        assert_eq!((sent.omit_s, sent.interval_s), (1.0, 0.5));
        assert_eq!(sent.title.as_deref(), Some("x?y"));
        let traffic = sent.flows[1].to_server.as_ref().unwrap();
        assert_eq!(traffic.longest_message, 1024);
        assert!((traffic.mean_bit_s().unwrap() - 8e6).abs() < 10.0);
        let bytes = settled(&Plan::new().bytes(1 << 20).seed(9), 1 << 20);
        assert_eq!((bytes.extent, bytes.seed), (Extent::Bytes(1 << 20), 9));
        for (direction, ways) in [
            (Direction::ToServer, (true, false)),
            (Direction::ToClient, (false, true)),
            (Direction::Both, (true, true)),
        ] {
            let flow = &settled(&Plan::new().direction(direction), 1 << 20).flows[0];
            assert_eq!((flow.to_server.is_some(), flow.to_client.is_some()), ways);
        }
    }

    #[test]
    fn messages_fill_packets() {
        let plan = Plan::new();
        assert_eq!(length(&plan, 1 << 20), 11 * 1408);
        assert_eq!(length(&paced(plan.clone()), 1 << 20), 1408);
        assert_eq!(length(&paced(plan.clone().message_bytes(500)), 1 << 20), 500);
        // Whole packets, if one fits half of the buffers.
        for (buffer, saturated, slow) in
            [(8000, 2 * 1408, 1408), (4096, 1408, 1408), (2000, 1000, 1000), (0, 48, 48)]
        {
            let lengths = (length(&plan, buffer), length(&paced(plan.clone()), buffer));
            assert_eq!(lengths, (saturated, slow), "{buffer}");
        }
    }

    #[test]
    fn flows_of_netperfmeter_take_the_place_of_the_others() {
        let specs = ["const0:const1400:const0:const1400", "exp25:const1000"];
        let plan = Plan::new().parallel(7).flows(specs.map(|spec| spec.parse().unwrap()));
        let sent = settled(&plan, 1 << 20);
        sent.check().unwrap();
        assert_eq!((plan.flow_count(), sent.flows.len()), (2, 2));
    }

    #[test]
    fn what_cannot_be_is_named() {
        let config = AssociationConfig {
            send_buffer_bytes: 4096,
            receive_buffer_bytes: 8192,
            ..AssociationConfig::default()
        };
        let told = |plan: Plan| polypath::text::with_causes(&plan.check(&config).unwrap_err());
        for (plan, expected) in [
            (Plan::new().message_bytes(5000), "the client's send buffer of 4096 bytes"),
            (
                Plan::new().message_bytes(9000).direction(Direction::ToClient),
                "the client's receive buffer of 8192 bytes",
            ),
            (Plan::new().message_bytes(20), "at least 48 bytes, not 20"),
            (Plan::new().message_bytes(1 << 16), "messages of 65536 bytes"),
            (Plan::new().duration(Duration::ZERO), "the time is out of range"),
            (Plan::new().bytes(0), "no bytes"),
            (Plan::new().interval(Duration::from_millis(1)), "every 50 ms"),
            (Plan::new().parallel(0), "no flow"),
            (Plan::new().parallel(129), "129 flows: there are at most 128"),
            (
                Plan::new().message_bytes(48).bit_rate(BitRate::from_bits_per_second(1 << 40), 1),
                "messages per second",
            ),
            (
                Plan::new().bytes(9).flows(["const9:const9:onoff=+1,+1,repeat".parse().unwrap()]),
                "are not enough",
            ),
        ] {
            let told = told(plan);
            assert!(told.contains(expected), "{told}");
        }
        Plan::new().check(&config).unwrap();
    }
}
