//! Scenarios that test beds run in real time.

use polypath_units::ByteCount;
use serde::{Deserialize, Serialize};

/// How a test bed runs a scenario: with real programs, the kernel's network stack, and links shaped by token buckets.
/// Simulations ignore it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct TestBed {
    /// Carrier of SCTP packets.
    pub carrier: Carrier,
    /// Size of the token bucket of a link: the burst that passes after an idle time.
    pub burst: ByteCount,
}

/// Carrier of SCTP packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Carrier {
    /// UDP (RFC 6951), which makes packets 8 bytes longer.
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
