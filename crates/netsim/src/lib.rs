//! A deterministic discrete-event network simulator.
//!
//! Nodes joined by full-duplex links; each direction of a link is a [`Channel`] with a rate, a delay, a queue and
//! impairments. The simulator knows no transport protocol: it moves anything that is a [`Frame`] in IP packets and
//! leaves the hosts to its driver, which owns them:
//!
//! ```
//! # use polypath_netsim::{Event, Frame, World, SendError};
//! # use polypath_units::Instant;
//! # struct Host;
//! # impl Host {
//! #     fn receive<F: Frame>(&mut self, _: &mut World<F>, _: polypath_netsim::Arrival<F>) {}
//! #     fn wake<F: Frame>(&mut self, _: &mut World<F>) {}
//! # }
//! fn run<F: Frame>(world: &mut World<F>, hosts: &mut [Host], end: Instant) {
//!     while let Some(event) = world.next_event(end) {
//!         match event {
//!             // A host answers with `World::send` and asks to be woken with `World::set_timer`.
//!             Event::Arrival(arrival) => hosts[arrival.node.index()].receive(world, arrival),
//!             Event::Timer { node } => hosts[node.index()].wake(world),
//!         }
//!     }
//! }
//! ```
//!
//! **Determinism.** Virtual time, a total order of events (time, then begin and end of outages, then the order in which
//! events were caused), and random numbers from streams named after the component that draws them. Equal network, seed and driver give equal runs;
//! [`World::trace_hash`] condenses a run to 64 bits that tell.
#![forbid(unsafe_code)]

mod builder;
mod capture;
mod config;
mod counters;
mod event;
mod frame;
mod iface;
pub mod impair;
mod link;
mod node;
mod observer;
pub mod pcapng;
mod queue;
pub mod queue_discipline;
mod ring;
mod rng;
mod routing;
mod ticket;
pub mod topology;
mod trace_hash;
mod world;

pub use builder::{BuildError, End, NetworkBuilder};
pub use config::{ChannelConfig, LinkConfig};
pub use counters::{Counters, DropCause, Tally};
pub use event::{Arrival, Event};
pub use frame::{Fields, Frame};
pub use iface::{ChannelId, Direction, IfaceId, LinkId, NetworkId, NodeId};
pub use link::{Channel, Departure, Verdict};
pub use observer::{LinkEvent, LinkEventKind, LinkObserver, NoObserver};
pub use queue_discipline::{Class, QueueAct, QueueConfig, QueueLevel};
pub use rng::{Chance, Stream, Streams};
pub use routing::{Metric, Routes, Way};
pub use ticket::{PacketId, Ticket};
pub use trace_hash::{NotATraceHash, TraceHash, TraceHasher};
pub use world::{Course, SendError, World};
