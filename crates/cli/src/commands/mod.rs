//! One file per command.

mod bmin;
mod caps;
mod check;
mod completions;
pub(crate) mod demo;
mod doctor;
#[cfg(target_os = "linux")]
mod emulate;
mod key;
mod man;
mod meter;
mod policies;
mod receive;
mod reproduce;
mod schema;
mod send;
mod sim;
#[cfg(target_os = "linux")]
mod sockets;
#[cfg(target_os = "linux")]
mod ss;
#[cfg(target_os = "linux")]
mod stack;
mod study;
#[cfg(target_os = "linux")]
mod with;

use clap::Subcommand;

use crate::failure::Outcome;

pub(crate) use completions::VARIABLE as COMPLETION;

/// Subcommands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Show one path, naive multipath and CMT side by side, with a picture
    Demo(demo::Args),
    /// Run a scenario in the simulator
    Sim(sim::Args),
    /// Run real programs across the links of a scenario, in network namespaces
    #[cfg(target_os = "linux")]
    Emulate(emulate::Args),
    /// Run a study: many runs on all cores, with tables of results
    Study(study::Args),
    /// Rebuild the figures of papers, and say which of their statements hold
    Reproduce(reproduce::Args),
    /// Check a scenario, study or file of statements without running it
    Check(check::Args),
    /// Print the JSON Schema of scenarios, studies, statements or measurements
    Schema(schema::Args),
    /// Receive files over all paths
    Receive(receive::Args),
    /// Send files over all paths
    Send(send::Args),
    /// Create keys for authentication
    Key(key::Args),
    /// Report what this machine supports, and how to fix what it does not
    Doctor(doctor::Args),
    /// Measure the throughput and delay of an association over all paths
    Meter(Box<meter::Args>),
    /// Run a program with the SCTP sockets of Polypath
    #[cfg(target_os = "linux")]
    With(with::Args),
    /// Show the SCTP sockets of programs, their associations and paths
    #[cfg(target_os = "linux")]
    Ss(ss::Args),
    /// Serve SCTP sockets to programs; `with` starts it
    #[cfg(target_os = "linux")]
    Stack(stack::Args),
    /// List every policy of the stack: keys, values, presets
    Policies(policies::Args),
    /// Compute the minimum size of buffers for given paths
    Bmin(bmin::Args),
    /// Print a completion script for a shell
    Completions(completions::Args),
    /// Write manual pages, or the page of the documentation about commands
    Man(man::Args),
}

impl Command {
    /// Runs the command.
    pub fn run(self) -> Outcome {
        match self {
            Self::Demo(args) => demo::run(&args),
            Self::Sim(args) => sim::run(&args),
            #[cfg(target_os = "linux")]
            Self::Emulate(args) => emulate::run(&args),
            Self::Study(args) => study::run(args),
            Self::Reproduce(args) => reproduce::run(args),
            Self::Check(args) => check::run(&args),
            Self::Schema(args) => schema::run(&args),
            Self::Receive(args) => receive::run(&args),
            Self::Send(args) => send::run(&args),
            Self::Key(args) => key::run(&args),
            Self::Doctor(args) => doctor::run(&args),
            Self::Meter(args) => meter::run(&args),
            #[cfg(target_os = "linux")]
            Self::With(args) => with::run(&args),
            #[cfg(target_os = "linux")]
            Self::Ss(args) => ss::run(&args),
            #[cfg(target_os = "linux")]
            Self::Stack(args) => stack::run(&args),
            Self::Policies(args) => policies::run(&args),
            Self::Bmin(args) => bmin::run(&args),
            Self::Completions(args) => completions::run(&args),
            Self::Man(args) => man::run(&args),
        }
    }
}
