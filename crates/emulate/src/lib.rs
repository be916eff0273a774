//! Emulation: real programs on real interfaces, across the links of a scenario, as time goes by on the wall.
//!
//! Each external host of a scenario is a network namespace, and each of its interfaces a TUN device there. One thread moves
//! packets between the devices and the network of `polypath-sim`, which has virtual time as ever; here that time is made
//! to follow the clock. The rooms, from the inside out:
//!
//! * `driver`: one turn of the loop, which knows neither devices nor clocks but two traits; `timing` says how late it was;
//! * `clock`, `device`, `namespace`, `program`: what there is of the system;
//! * `guardian`: ends what is left where the emulation is killed;
//! * `emulation`: all of them together, and `outcome`: what they report;
//! * `test_bed`: namespaces joined by links that the kernel shapes, without a simulator.
#![forbid(unsafe_code)]
#![cfg(target_os = "linux")]

mod clock;
mod device;
mod driver;
mod emulation;
mod error;
mod guardian;
mod namespace;
mod outcome;
mod program;
mod test_bed;
mod timing;

pub use emulation::{Options, Watcher, run};
pub use error::Error;
pub use outcome::{HostOutcome, Outcome, PortOutcome, Verdict};
pub use program::{Program, ProgramError, ProgramOutcome, Stream};
pub use test_bed::{ETHERNET, MOST_LINKS, ShapedLink, Side, TestBed};
pub use timing::{Lateness, TimingOutcome};
