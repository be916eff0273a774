//! Measures what an association carries, over all of its paths.
//!
//! # The protocol
//!
//! A client proposes a measurement, the server agrees or refuses; the client may ask for the server's time; it starts.
//! Then each side sends its flows, in messages of NetPerfMeter's format ([`payload`]) on the streams from 1. When all of
//! them were acknowledged or given up it says how many there were, and when both have done so they tell each other their
//! results. All of that is said in the association itself, on stream 0 ([`control`]).

use std::time::Duration;

mod buffers;
mod calendar;
pub(crate) mod capture;
pub(crate) mod client;
mod clock;
mod control;
mod csv;
pub(crate) mod document;
mod ears;
mod flow_spec;
mod foreign;
pub(crate) mod gain;
mod gate;
pub(crate) mod hosts;
pub(crate) mod numbers;
pub(crate) mod options;
mod payload;
pub(crate) mod plan;
mod processor;
pub(crate) mod reporter;
mod results;
mod sender;
pub(crate) mod server;
mod session;
mod silence;
mod snapshot;
mod start;
mod tally;
mod text;
pub(crate) mod thresholds;
mod traffic;

/// How long the peer may take to agree to the end.
const FAREWELL: Duration = Duration::from_secs(3);
