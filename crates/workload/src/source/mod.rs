//! Sources of flows: one file per kind of traffic.

mod cross_traffic;
mod netperfmeter;
mod on_off;
mod rate;
mod request;
mod trace;

use polypath_units::{ByteCount, Duration};

use crate::Delivery;

pub use cross_traffic::CrossTraffic;
pub use netperfmeter::{Direction, NetPerfMeter};
pub use on_off::ParetoOnOff;
pub use rate::SteadyRate;
pub use request::{RequestResponse, Responses};
pub use trace::{AfterEnd, MessageTrace, TraceError, TraceRow, TraceSource};

pub(crate) use netperfmeter::Frames;
pub(crate) use on_off::OnOffArrivals;
pub(crate) use rate::{ConstantArrivals, PoissonArrivals};
pub(crate) use trace::TraceArrivals;

/// Source of a flow.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(
        rename_all = "kebab-case",
        expecting = "a source, for example \"saturated\" or { file = \"64 MiB\" }"
    )
)]
pub enum Source {
    /// As much as the transport accepts, without end.
    Saturated,
    /// A file of this size, as fast as the transport accepts it.
    File(ByteCount),
    /// Messages at a constant rate.
    Constant(SteadyRate),
    /// Messages as a Poisson process.
    Poisson(SteadyRate),
    /// On/off sources with heavy-tailed times; together, long-range dependent traffic.
    ParetoOnOff(ParetoOnOff),
    /// Background packets up to a given load of the link.
    CrossTraffic(CrossTraffic),
    /// Requests, each sent after the response to the previous one.
    RequestResponse(RequestResponse),
    /// Responses to the requests of another flow; derived from that flow, not a value in files.
    #[cfg_attr(feature = "serde", serde(skip_deserializing))]
    Responses(Responses),
    /// Messages of a trace.
    Trace(TraceSource),
    /// The traffic of the measuring tool NetPerfMeter.
    Netperfmeter(NetPerfMeter),
}

impl Source {
    /// Its name in files.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Saturated => "saturated",
            Self::File(_) => "file",
            Self::Constant(_) => "constant",
            Self::Poisson(_) => "poisson",
            Self::ParetoOnOff(_) => "pareto-on-off",
            Self::CrossTraffic(_) => "cross-traffic",
            Self::RequestResponse(_) => "request-response",
            Self::Responses(_) => "responses",
            Self::Trace(_) => "trace",
            Self::Netperfmeter(_) => "netperfmeter",
        }
    }

    /// Whether it says itself how long messages are.
    pub fn has_own_sizes(&self) -> bool {
        matches!(
            self,
            Self::CrossTraffic(_) | Self::Responses(_) | Self::Trace(_) | Self::Netperfmeter(_)
        )
    }

    /// Whether it sends as much as the transport takes.
    pub fn is_greedy(&self) -> bool {
        match self {
            Self::Saturated => true,
            Self::Netperfmeter(meter) => meter.is_saturated(),
            _ => false,
        }
    }

    /// What makes no sense: the key below that of the source, with dots, and why.
    pub fn problem(&self) -> Option<(String, String)> {
        let (key, message) = match self {
            Self::Saturated => return None,
            Self::File(size) => {
                return size
                    .is_zero()
                    .then(|| (String::new(), "a file has at least one byte".to_owned()));
            }
            Self::Constant(rate) | Self::Poisson(rate) => rate.problem(),
            Self::ParetoOnOff(on_off) => on_off.problem(),
            Self::CrossTraffic(cross) => cross.problem(),
            Self::RequestResponse(plan) => plan.problem(),
            Self::Responses(_) | Self::Trace(_) => None,
            Self::Netperfmeter(meter) => meter.problem(),
        }?;
        Some((format!("{}.{key}", self.name()), message))
    }
}

/// A key, with dots, and what is wrong there.
pub(crate) type Problem = Option<(String, String)>;

pub(crate) fn problem(key: &str, message: impl Into<String>) -> Problem {
    Some((key.to_owned(), message.into()))
}

/// The problem of a part, under the key of that part.
pub(crate) fn under(key: &str, found: Option<(&'static str, String)>) -> Problem {
    found.map(|(inner, message)| (format!("{key}.{inner}"), message))
}

/// What a flow has to say at some time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Arrival {
    /// Since the start of the flow.
    pub after: Duration,
    /// Cut into several messages where it is longer than the longest.
    pub bytes: u64,
    /// Where it is another one than that of the flow.
    pub delivery: Option<Delivery>,
    /// Stream of the flow, from 0; in turn where it is not given.
    pub stream: Option<u16>,
}

impl Arrival {
    pub const fn new(after: Duration, bytes: u64) -> Self {
        Self { after, bytes, delivery: None, stream: None }
    }
}
