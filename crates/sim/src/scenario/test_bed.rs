//! Scenarios that are run in real time, between hosts of a test bed.

use polypath_units::ByteCount;
use serde::{Deserialize, Serialize};

/// How a test bed runs a scenario: real programs, the network stack of a kernel, and links that it shapes by token
/// buckets. In virtual time the scenario is one as any other.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct TestBed {
    /// What SCTP packets travel in.
    pub carrier: Carrier,
    /// What the token bucket of a link lets pass at once after it was idle.
    pub burst: ByteCount,
}

/// What SCTP packets travel in.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Carrier {
    /// UDP (RFC 6951): packets are 8 bytes longer.
    #[default]
    Udp,
    /// IP itself, protocol 132.
    Ip,
}

impl Default for TestBed {
    fn default() -> Self {
        Self { carrier: Carrier::default(), burst: ByteCount::from_bytes(16_000) }
    }
}
