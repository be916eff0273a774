//! Requests of a client and responses of a server.

use polypath_units::{ByteCount, Duration};

use super::{Problem, problem, under};
use crate::Distribution;

/// A client. Requests have the message size of the flow.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(deny_unknown_fields)
)]
pub struct RequestResponse {
    /// Length of a response.
    pub response: Distribution<ByteCount>,
    /// Time from a response to the next request.
    #[cfg_attr(feature = "serde", serde(default = "no_time"))]
    pub think: Distribution<Duration>,
    /// Service time of the server.
    #[cfg_attr(feature = "serde", serde(default = "no_time"))]
    pub service: Distribution<Duration>,
    /// Maximum number of outstanding requests.
    #[cfg_attr(feature = "serde", serde(default = "one"))]
    pub concurrent: u32,
    /// Total number of requests. Default: unlimited.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    pub requests: Option<u64>,
}

#[cfg(feature = "serde")]
fn no_time() -> Distribution<Duration> {
    Duration::ZERO.into()
}

#[cfg(feature = "serde")]
fn one() -> u32 {
    1
}

/// A server.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Responses {
    /// Length of a response.
    pub size: Distribution<ByteCount>,
    /// Service time.
    pub service: Distribution<Duration>,
}

const MOST_CONCURRENT: u32 = 100_000;

impl RequestResponse {
    /// What the server does.
    pub fn responses(&self) -> Responses {
        Responses { size: self.response.clone(), service: self.service.clone() }
    }

    pub(super) fn problem(&self) -> Problem {
        if !(1..=MOST_CONCURRENT).contains(&self.concurrent) {
            let message = format!("{} is not from 1 to {MOST_CONCURRENT}", self.concurrent);
            return problem("concurrent", message);
        }
        if self.requests == Some(0) {
            return problem("requests", "must be at least 1");
        }
        under("response", self.response.problem())
            .or_else(|| under("think", self.think.problem()))
            .or_else(|| under("service", self.service.problem()))
    }
}
