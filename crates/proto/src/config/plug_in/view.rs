//! Properties of a path and its group, for controllers.

use crate::PathId;
use crate::config::{AvoidanceBytes, IdleRule, PathFill, RecoveryGrowth, SlowStart};

/// Sizes of a path and the policies for its window. They follow the path MTU.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Parameters {
    /// The path.
    pub id: PathId,
    /// Path MTU in bytes, including the IP header.
    pub mtu: u32,
    /// Unit of the formulas in bytes: the largest DATA chunk (PMDCS), or the MTU, according to `policies.window.unit`.
    pub unit: u64,
    /// Largest DATA chunk of the path, in counted bytes.
    pub largest_chunk: u64,
    /// Smallest slow-start threshold in bytes.
    pub ssthresh_floor: u64,
    /// Growth of the window per SACK in slow start.
    pub slow_start: SlowStart,
    /// Which bytes count in congestion avoidance.
    pub avoidance: AvoidanceBytes,
    /// Whether the window grows in fast recovery.
    pub recovery_growth: RecoveryGrowth,
    /// Effect of idle time on the window.
    pub idle: IdleRule,
    /// How much the path sends at a time.
    pub fill: PathFill,
}

/// A new path, for the creation of its controller.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct NewPath {
    /// Sizes and policies.
    pub path: Parameters,
    /// Initial window in bytes, from `policies.window.initial_cwnd`.
    pub initial_cwnd: u64,
    /// Initial slow-start threshold in bytes, from `policies.window.initial_ssthresh`; `u64::MAX` for none.
    pub initial_ssthresh: u64,
}

/// State of a path's group: the paths that may share a bottleneck with it (`policies.path_groups`).
#[derive(Clone, Copy, PartialEq, Debug)]
#[non_exhaustive]
pub struct GroupView {
    /// Active paths, this one included, n. An inactive path is not coupled: 1.
    pub members: u32,
    /// Sum of cwnd in bytes, C.
    pub cwnd: u64,
    /// Sum of ssthresh in bytes, S.
    pub ssthresh: u128,
    /// This path's part in that sum.
    pub own_ssthresh: u64,
    /// Values that depend on round-trip times; `None` until every path of the group has one.
    pub rates: Option<Rates>,
}

/// Rates of a group, in bytes per nanosecond.
#[derive(Clone, Copy, PartialEq, Debug)]
#[non_exhaustive]
pub struct Rates {
    /// Round-trip time of this path in nanoseconds, r.
    pub own_rtt: f64,
    /// c/r of this path.
    pub own: f64,
    /// Sum of c/r, B.
    pub total: f64,
    /// Largest c/r.
    pub fastest: f64,
    /// Largest c/r^2.
    pub steepest: f64,
    /// OLIA's a: the shift from the largest windows to the best paths, as a fraction of a segment.
    pub bonus: f64,
}

impl Parameters {
    /// Parameters for tests of controllers: path 0, packet by packet, with chunks of `unit` bytes.
    pub const fn plain(unit: u64, ssthresh_floor: u64) -> Self {
        Self {
            id: PathId(0),
            mtu: unit as u32,
            unit,
            largest_chunk: unit,
            ssthresh_floor,
            slow_start: SlowStart::PerSack,
            avoidance: AvoidanceBytes::All,
            recovery_growth: RecoveryGrowth::Off,
            idle: IdleRule::Rfc9260,
            fill: PathFill::PacketByPacket,
        }
    }
}

impl NewPath {
    /// A new path, for tests of controllers.
    pub const fn new(path: Parameters, initial_cwnd: u64, initial_ssthresh: u64) -> Self {
        Self { path, initial_cwnd, initial_ssthresh }
    }
}

impl GroupView {
    /// An uncoupled path.
    pub const ALONE: Self = Self { members: 1, cwnd: 0, ssthresh: 0, own_ssthresh: 0, rates: None };
}
