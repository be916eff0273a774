//! Runs: from a configuration and a seed to a row of results, on all cores.

mod clock;
mod cost;
mod estimate;
mod job;
mod laboratory;
mod limits;
mod make_error;
mod merge;
mod names;
mod pool;
mod study;
mod survey;
mod test_bed;
mod until;

pub use cost::{Cost, cost};
pub use job::run_once;
pub(crate) use job::timed;
pub use limits::{Budget, Limits};
pub use make_error::MakeError;
pub(crate) use make_error::from_causes;
pub use merge::{gather, merge};
pub use names::check_names;
pub(crate) use pool::make_runs;
pub use pool::{Progress, Silent};
pub use study::{Finish, Request, RunError, Sharing, Summary, run_study};
pub use survey::{Survey, survey};
pub use test_bed::TestBed;

pub use crate::journal::{
    Cell, Entry, Execution, FlatResult, Identity, Journal, JournalError, NoResult, Outcome,
    Program, RESULTS_VERSION, RemainingError, RunId, Shard, Status,
};
pub use crate::study::matches;
