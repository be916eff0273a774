//! What a controller knows of its path beside what happens on it.

use super::path_fill;
use crate::PathId;
use crate::config::{IdleRule, PathFill, SlowStart};

/// Sizes of a path and the policies for its window. They follow the path MTU.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Parameters {
    /// Which path.
    pub id: PathId,
    /// Path MTU in bytes, IP header included.
    pub mtu: u32,
    /// Unit of the formulas in bytes: the largest DATA chunk (PMDCS), or the MTU, as `policies.window.unit` says.
    pub unit: u64,
    /// Largest DATA chunk of the path, as its bytes are counted.
    pub largest_chunk: u64,
    /// Smallest slow-start threshold in bytes.
    pub ssthresh_floor: u64,
    /// How much a SACK lets the window grow in slow start.
    pub slow_start: SlowStart,
    /// What idling does to the window.
    pub idle: IdleRule,
    /// How much the path takes at a time.
    pub fill: PathFill,
}

/// A path at its start, for whoever makes its controller.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct NewPath {
    /// Sizes and policies.
    pub path: Parameters,
    /// The window to begin with in bytes, as `policies.window.initial_cwnd` says.
    pub initial_cwnd: u64,
    /// The slow-start threshold to begin with in bytes, as `policies.window.initial_ssthresh` says; `u64::MAX` for none.
    pub initial_ssthresh: u64,
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
            idle: IdleRule::Rfc9260,
            fill: PathFill::PacketByPacket,
        }
    }

    /// Whether a window of `cwnd` admits no more than one packet, whatever it holds (RFC 9260 section 7.2.3).
    pub(crate) fn one_packet(&self, cwnd: u64) -> bool {
        cwnd <= self.largest_chunk
    }

    /// Whether `flight` uses up a window of `cwnd`, so that more could have been sent with a larger one. A path that waits until
    /// it can send several packets in a row counts as full.
    pub fn is_full(&self, cwnd: u64, flight: u64) -> bool {
        let gathered = path_fill::gathered(self.fill, flight, self.unit);
        flight.saturating_add(gathered) >= cwnd || (flight > 0 && self.one_packet(cwnd))
    }
}

impl NewPath {
    /// A path at its start, for tests of controllers.
    pub const fn new(path: Parameters, initial_cwnd: u64, initial_ssthresh: u64) -> Self {
        Self { path, initial_cwnd, initial_ssthresh }
    }
}
