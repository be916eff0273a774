//! Sans-IO, multi-homed SCTP (RFC 9260) with Concurrent Multipath Transfer (CMT).
//!
//! Its inputs are time, random numbers, packets and user calls; its outputs are packets, timer requests and events.
//! Nothing here reads a clock, opens a socket or starts a thread, so the same code runs in a simulator and on real
//! networks.
//!
//! * [`Endpoint`] routes packets to associations and answers INIT without keeping state; it owns no association.
//! * [`Association`] is one association with all its paths; its documentation has the polling contract.
//! * [`congestion`] has the trait of congestion controllers, for programs with their own.
//! * [`scheduling`] has the trait of path schedulers, likewise.
//! * [`config`] has all limits, timers, policies and presets.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod association;
pub mod config;
pub mod congestion;
mod endpoint;
mod error;
mod event;
mod event_kinds;
mod extension;
mod ids;
mod io;
mod mechanism;
mod message;
mod paths;
mod probe;
mod receive;
mod stats;
mod transmit;
mod types;

/// Path schedulers for your own: which path carries new data next.
pub mod scheduling {
    pub use crate::config::plug_in::{
        CustomScheduler, NewData, PathScheduler, PathView, Readiness,
    };
}

pub use association::{Association, Identity, Notice};
pub use endpoint::{Collision, DropReason, Endpoint, PortAddresses, PortConfig, Route};
pub use error::{
    AddressChangeError, ClaimError, ConnectError, KeyError, ReconfigurationError, SendError,
};
pub use event::{AddressChange, AssociationEnd, AuthenticationChange, Event, PathChange};
pub use event_kinds::EventKinds;
pub use ids::{AssociationId, Mid, PathId, Ssn, StreamClaim, Tsn};
pub use io::{
    Body, Cx, Ecn, Encapsulation, Envelope, Fragmentation, LocalAddressChange, PathError, Received,
    Transmit,
};
pub use message::{Delivery, OutgoingMessage, Piece, ReceivedMessage};
pub use polypath_units::{Duration, Instant};
pub use probe::{
    ChunkKinds, EarlyEvents, EndReason, LossDetection, NoProbe, Probe, ProbeEvent, TimerKind,
    TransmissionCause,
};
pub use stats::{
    AbandonedCount, AbandonedMessages, AssociationState, AssociationStats, BlockedCause,
    BlockedTime, PathEcn, PathStats, PathStatus, PotentiallyFailedTime,
};
pub use types::PeerAddress;
