//! The transmitter without a handshake, an endpoint or an association.

mod abandon;
mod acknowledge;
mod ahead;
mod answers;
mod blocking;
mod bottleneck;
mod bundling;
mod chunks;
mod controller;
mod copies;
mod custom_scheduler;
mod decide;
mod ends;
mod evidence;
mod flight;
mod flush;
mod guard;
mod interleaving;
mod knowledge;
mod messages;
mod observation;
mod pacing;
mod peer_limit;
mod peer_window;
mod reordering;
mod retransmission;
mod sending;
mod shares;
mod spurious;
mod tail;
mod timeouts;

use super::testing::{Answer, Bench, CHUNK, FULL, preset, tsn};
