//! Observation of an association from outside.

mod chunk_kinds;
mod early;
mod event;

pub use chunk_kinds::ChunkKinds;
pub use early::EarlyEvents;
pub use event::{EndReason, LossDetection, ProbeEvent, TimerKind, TransmissionCause};

use crate::Instant;

/// Receives protocol events; handed in with each call like the time.
pub trait Probe {
    /// Called at the moment of the event.
    fn on(&mut self, now: Instant, event: ProbeEvent);

    /// Whether the events of single packets are wanted: [`PacketSent`](ProbeEvent::PacketSent),
    /// [`PacketReceived`](ProbeEvent::PacketReceived), [`SackSent`](ProbeEvent::SackSent) and
    /// [`SackReceived`](ProbeEvent::SackReceived). They take a look at every chunk of every packet. A probe that declines them
    /// may get them nevertheless. Default: true.
    fn wants_packets(&self) -> bool {
        true
    }
}

/// Ignores everything.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoProbe;

impl Probe for NoProbe {
    fn on(&mut self, _now: Instant, _event: ProbeEvent) {}

    fn wants_packets(&self) -> bool {
        false
    }
}
