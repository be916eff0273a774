//! Measured values of a network.

use super::network::Network;
use super::ratio::Values;

/// Measured values of a network.
#[derive(Clone, PartialEq, Debug)]
pub struct Case {
    /// The network.
    pub network: Network,
    /// Values by measure, in the order of [`measures`](super::measures) of its kind.
    pub values: Vec<Values>,
}
