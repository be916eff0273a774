//! Runs: from a configuration and a seed to a row of results, on all cores.

mod clock;
mod cost;
mod estimate;
mod job;
mod make_error;
mod names;
mod pool;
mod study;
mod test_bed;

pub use cost::{Cost, cost};
pub use job::run_once;
pub(crate) use job::timed;
pub use make_error::MakeError;
pub(crate) use make_error::from_causes;
pub use names::check_names;
pub(crate) use pool::make_runs;
pub use pool::{Progress, Silent};
pub use study::{Finish, Request, RunError, Summary, merge, run_study};
pub use test_bed::TestBed;

pub use crate::journal::{
    Cell, Entry, Execution, FlatResult, Identity, Journal, JournalError, NoResult, Outcome,
    Program, RESULTS_VERSION, RemainingError, RunId, Shard, Status,
};
pub use crate::study::matches;
