//! What a client proposes to measure, settled to the last number: the server agrees or not.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::ensure::ensure;
use crate::flow::FlowPlan;
use crate::flow_spec::FlowSpecError;
use crate::payload::{HEADER, LONGEST as LONGEST_MESSAGE, Role};
use crate::text::MAX_TEXT_BYTES;
use crate::traffic::{MOST_PER_SECOND, Traffic, TrafficError};

/// Largest number of flows of a measurement, as in iperf3.
pub const MAX_FLOWS: usize = 128;
/// Longest measurement.
pub(crate) const LONGEST: Duration = Duration::from_secs(1_000_000);
/// Shortest time between reports.
pub const MIN_INTERVAL: Duration = Duration::from_millis(50);

/// Why a measurement cannot be planned like this.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum PlanError {
    /// There is nothing to send.
    #[error("there is no flow")]
    NoFlow,
    /// There are too many flows.
    #[error("{0} flows: there are at most {MAX_FLOWS}")]
    TooManyFlows(usize),
    /// A peer did not number its flows one after the other.
    #[error("flow {flow} is at position {place}")]
    Order {
        /// Number of the flow.
        flow: u32,
        /// Its place, from 1.
        place: u32,
    },
    /// The description of a flow is too long.
    #[error("a description is too long")]
    LongDescription,
    /// The title of the measurement is too long.
    #[error("the title is too long")]
    LongTitle,
    /// The length of messages is out of range.
    #[error("messages of {0} bytes: they have {HEADER} to {LONGEST_MESSAGE}")]
    MessageLength(u64),
    /// A flow is invalid.
    #[error("flow {flow}")]
    Flow {
        /// Number of the flow.
        flow: u32,
        /// What is wrong with it.
        source: TrafficError,
    },
    /// Flows as NetPerfMeter writes them do not fit the measurement.
    #[error(transparent)]
    Spec(#[from] FlowSpecError),
    /// All flows of one end together have too many messages per second.
    #[error("more than {MOST_PER_SECOND} messages per second")]
    TooManyMessages,
    /// The omitted time, or the one between reports, is too long.
    #[error("a time is out of range")]
    Time,
    /// The time between reports is too short.
    #[error("reports come every {} ms at most", MIN_INTERVAL.as_millis())]
    Interval,
    /// The duration is zero or too long.
    #[error("the time is out of range")]
    Duration,
    /// The number of bytes to send is zero.
    #[error("there are no bytes to send")]
    NoBytes,
    /// Messages are larger than a buffer of an end.
    #[error(
        "flow {flow}: messages of {bytes} bytes are larger than the {whose}'s {name} of {buffer} bytes; make them shorter or it \
         larger"
    )]
    Buffer {
        /// Number of the flow.
        flow: u32,
        /// Length of its longest message.
        bytes: u16,
        /// `client` or `server`.
        whose: &'static str,
        /// `send buffer` or `receive buffer`.
        name: &'static str,
        /// Size of that in bytes.
        buffer: u64,
    },
}

/// A measurement.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Proposal {
    /// Random name.
    pub measurement: u64,
    /// When senders end.
    pub extent: Extent,
    /// What comes in the first so many seconds does not count.
    pub omit_s: f64,
    /// Pause between reports; none during the measurement for zero.
    pub interval_s: f64,
    /// The flows.
    pub flows: Vec<FlowPlan>,
    /// Where random numbers begin.
    pub seed: u64,
    /// What the user calls it.
    pub title: Option<String>,
    /// Whether the server sends what it shows at the end, beside its results.
    pub server_output: bool,
}

/// When senders end.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Extent {
    /// After so many seconds, without those that are omitted.
    Seconds(f64),
    /// When each side that sends has sent so many bytes.
    Bytes(u64),
}

impl Proposal {
    /// Checks that it makes sense.
    pub fn check(&self) -> Result<(), PlanError> {
        let fits =
            |text: &Option<String>| text.as_ref().is_none_or(|it| it.len() <= MAX_TEXT_BYTES);
        ensure(!self.flows.is_empty(), PlanError::NoFlow)?;
        ensure(self.flows.len() <= MAX_FLOWS, PlanError::TooManyFlows(self.flows.len()))?;
        for (flow, place) in self.flows.iter().zip(1..) {
            ensure(flow.id == place, PlanError::Order { flow: flow.id, place })?;
            ensure(fits(&flow.description), PlanError::LongDescription)?;
            for traffic in flow.to_server.iter().chain(&flow.to_client) {
                traffic.check().map_err(|source| PlanError::Flow { flow: place, source })?;
            }
        }
        for role in [Role::Client, Role::Server] {
            let sides = self.flows.iter().filter_map(|flow| flow.sent_by(role));
            let rate: f64 = sides.map(Traffic::messages_per_second).sum();
            ensure(rate <= MOST_PER_SECOND, PlanError::TooManyMessages)?;
        }
        let seconds = |seconds: f64| (0.0..=LONGEST.as_secs_f64()).contains(&seconds);
        ensure(seconds(self.omit_s) && seconds(self.interval_s), PlanError::Time)?;
        let shortest = MIN_INTERVAL.as_secs_f64();
        ensure(self.interval_s == 0.0 || self.interval_s >= shortest, PlanError::Interval)?;
        match self.extent {
            Extent::Seconds(time) => ensure(seconds(time) && time > 0.0, PlanError::Duration)?,
            Extent::Bytes(bytes) => ensure(bytes > 0, PlanError::NoBytes)?,
        }
        ensure(fits(&self.title), PlanError::LongTitle)
    }

    /// What does not count at the beginning.
    pub fn omit(&self) -> Duration {
        Duration::from_secs_f64(self.omit_s)
    }

    /// Pause between reports.
    pub fn interval(&self) -> Option<Duration> {
        (self.interval_s > 0.0).then(|| Duration::from_secs_f64(self.interval_s))
    }

    /// When senders end by the clock, counted from the start.
    pub fn end(&self) -> Option<Duration> {
        match self.extent {
            Extent::Seconds(seconds) => Some(self.omit() + Duration::from_secs_f64(seconds)),
            Extent::Bytes(_) => None,
        }
    }

    /// How long flows may be silent by themselves, where the peer has a timeout of `idle`. Up to a planned end: nothing if one of
    /// them always sends, otherwise all of it. With a number of bytes, which one side may have sent before the other: the
    /// longest pause of any of them.
    pub fn longest_pause(&self, idle: Duration) -> Duration {
        let sides =
            || self.flows.iter().flat_map(|flow| flow.to_server.iter().chain(&flow.to_client));
        match self.end() {
            Some(_) if sides().any(|traffic| traffic.is_steady(idle)) => Duration::ZERO,
            Some(end) => end,
            None => {
                let longest = sides().map(|traffic| traffic.longest_pause(idle)).max();
                longest.unwrap_or_default().min(LONGEST)
            }
        }
    }

    /// Bytes that each side sends.
    pub fn bytes(&self) -> Option<u64> {
        match self.extent {
            Extent::Seconds(_) => None,
            Extent::Bytes(bytes) => Some(bytes),
        }
    }

    /// Whether the side sends anything.
    pub fn sends(&self, role: Role) -> bool {
        self.flows.iter().any(|flow| flow.sent_by(role).is_some())
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use polypath_units::Frequency;
    use polypath_workload::Distribution;
    use polypath_workload::distribution::{Drawn, Exponential};

    use super::*;

    /// So many flows that do what they can both ways for a second.
    pub(crate) fn proposal(flows: u32) -> Proposal {
        let flow = |id| FlowPlan {
            id,
            description: None,
            to_server: Some(Traffic::saturated(1000)),
            to_client: Some(Traffic::paced(1000, 80_000, 1)),
        };
        Proposal {
            measurement: 7,
            extent: Extent::Seconds(1.0),
            omit_s: 0.0,
            interval_s: 0.5,
            flows: (1..=flows).map(flow).collect(),
            seed: 1,
            title: None,
            server_output: false,
        }
    }

    #[test]
    fn plans_survive_the_wire() {
        let sent = proposal(3);
        let text = serde_json::to_string(&sent).unwrap();
        assert_eq!(serde_json::from_str::<Proposal>(&text).unwrap(), sent);
    }

    #[test]
    fn flows_that_always_send_have_no_pause() {
        let pause = |traffic: &[Traffic]| {
            let mut plan = proposal(traffic.len() as u32);
            for (flow, traffic) in plan.flows.iter_mut().zip(traffic) {
                (flow.to_server, flow.to_client) = (None, Some(traffic.clone()));
            }
            plan.longest_pause(Duration::from_secs(5))
        };
        let on_off = vec![polypath_units::Duration::ZERO, polypath_units::Duration::from_secs(1)];
        let at_times = Traffic { on_off, ..Traffic::saturated(1000) };
        // A message every 8 s, and one per second.
        let (seldom, often) = (Traffic::paced(1000, 1000, 1), Traffic::paced(1000, 8000, 1));
        let (always, whole) = (Traffic::saturated(1000), Duration::from_secs(1));
        assert_eq!(pause(&[at_times.clone(), seldom.clone()]), whole);
        assert_eq!(pause(&[at_times, seldom, always]), Duration::ZERO);
        assert_eq!(pause(&[often]), Duration::ZERO);
    }

    #[test]
    fn a_number_of_bytes_grants_the_pauses_of_its_flows() {
        let pause = |to_server: &Traffic, to_client: &Traffic| {
            let mut plan = Proposal { extent: Extent::Bytes(1000), ..proposal(1) };
            plan.flows[0].to_server = Some(to_server.clone());
            plan.flows[0].to_client = Some(to_client.clone());
            plan.longest_pause(Duration::from_secs(5)).as_secs_f64()
        };
        let turns = |seconds: &[u64], traffic: Traffic| Traffic {
            on_off: seconds.iter().copied().map(polypath_units::Duration::from_secs).collect(),
            ..traffic
        };
        let drawn = |mean| {
            let mean = Frequency::from_microhertz(mean);
            let frame_rate = Distribution::Drawn(Drawn::Exponential(Exponential { mean }));
            Traffic { frame_rate, ..Traffic::saturated(1000) }
        };
        // A message every 8 s, and one per second.
        let (seldom, often) = (Traffic::paced(1000, 1000, 1), Traffic::paced(1000, 8000, 1));
        let always = Traffic::saturated(1000);
        for (traffic, expected) in [
            (always.clone(), 0.0),
            (often.clone(), 0.0),
            (seldom.clone(), 8.0),
            (turns(&[3, 10, 40, 50], always.clone()), 30.0),
            (turns(&[20, 30], often), 20.0),
            (turns(&[3, 10, 40], seldom), 38.0),
            (drawn(10_000_000), 0.0),
            (drawn(100_000), LONGEST.as_secs_f64()),
        ] {
            assert_eq!(pause(&traffic, &always), expected, "{traffic:?}");
            assert_eq!(pause(&always, &traffic), expected, "{traffic:?}");
        }
    }

    #[test]
    fn what_a_peer_must_not_ask_for_is_refused() {
        proposal(MAX_FLOWS as u32).check().unwrap();
        let fast = |flows| {
            let mut plan = proposal(flows);
            for flow in &mut plan.flows {
                flow.to_client = Some(Traffic::paced(1000, 800_000_000, 1));
            }
            plan
        };
        let wrong = [
            proposal(0),
            proposal(MAX_FLOWS as u32 + 1),
            Proposal { extent: Extent::Seconds(0.0), ..proposal(1) },
            Proposal { extent: Extent::Seconds(1e9), ..proposal(1) },
            Proposal { extent: Extent::Seconds(f64::NAN), ..proposal(1) },
            Proposal { extent: Extent::Bytes(0), ..proposal(1) },
            Proposal { omit_s: -1.0, ..proposal(1) },
            Proposal { interval_s: 0.001, ..proposal(1) },
            Proposal { title: Some("x".repeat(201)), ..proposal(1) },
            Proposal {
                flows: vec![FlowPlan { id: 2, ..proposal(1).flows[0].clone() }],
                ..proposal(1)
            },
            fast(128),
        ];
        fast(1).check().unwrap();
        for plan in wrong {
            assert!(plan.check().is_err(), "{plan:?}");
        }
    }
}
