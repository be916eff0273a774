//! A client that asks and a server that answers.

use polypath_units::{ByteCount, Duration};

use super::{Problem, problem, under};
use crate::Distribution;

/// The client's side. Requests have the message size of the flow.
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
    /// Time that the server takes.
    #[cfg_attr(feature = "serde", serde(default = "no_time"))]
    pub service: Distribution<Duration>,
    /// Requests that can be under way at once.
    #[cfg_attr(feature = "serde", serde(default = "one"))]
    pub concurrent: u32,
    /// Requests altogether; default: without end.
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

/// The server's side.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Responses {
    /// Length of a response.
    pub size: Distribution<ByteCount>,
    /// Time that the server takes.
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
