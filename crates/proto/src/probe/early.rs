//! Events from before their observer is known.

use alloc::vec::Vec;

use super::{Probe, ProbeEvent};
use crate::Instant;

/// Keeps events until the probe exists that they are for.
///
/// [`Endpoint::connect`](crate::Endpoint::connect) and [`Endpoint::handle`](crate::Endpoint::handle) begin associations, which
/// have events before the caller has seen them. A driver that chooses a probe for each association hands these calls this
/// one, and then calls [`hand_over`](Self::hand_over).
#[derive(Clone, Debug, Default)]
pub struct EarlyEvents(Vec<(Instant, ProbeEvent)>);

impl EarlyEvents {
    /// Hands the events to `probe`, in their order, and forgets them.
    pub fn hand_over(&mut self, probe: &mut dyn Probe) {
        for (at, event) in core::mem::take(&mut self.0) {
            probe.on(at, event);
        }
    }
}

impl Probe for EarlyEvents {
    fn on(&mut self, now: Instant, event: ProbeEvent) {
        self.0.push((now, event));
    }
}
