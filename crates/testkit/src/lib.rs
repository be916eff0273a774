//! An in-memory pair of SCTP hosts in virtual time.
//!
//! [`Pair`] runs two hosts with any number of paths between them; each path has a delay, a rate and faults. Whole-stack
//! tests drive it by hand; property tests run a [`Script`] of random operations on it and check that every message
//! arrives exactly once, in order and intact, or that the association ends with one defined error.
//!
//! For benchmarks there are [`WirePair`], one association as fast as it goes, and [`Crowd`], one endpoint with many.
#![forbid(unsafe_code)]

mod cpu;
mod crowd;
mod handshake;
mod host;
mod mutation;
mod network;
mod pair;
mod pieces;
mod script;
mod wire_pair;

pub use cpu::CpuClock;
pub use crowd::{Crowd, Part};
pub use handshake::run_handshake;
pub use host::{Host, Slot};
pub use mutation::run_mutations;
pub use network::{Capable, Faults, Form, PathModel};
pub use pair::{Pair, PairConfig, Side};
pub use script::{
    Extension, Op, Outcome, Script, ScriptFailure, extension_strategy, mtu_strategy, run_script,
    script_strategy, shutdown_strategy,
};
pub use wire_pair::{WireHost, WirePair};
