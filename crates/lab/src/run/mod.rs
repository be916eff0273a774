//! Runs: from a configuration and a seed to a row of results, on all cores.

mod canonical;
mod clock;
mod estimate;
mod flatten;
mod identity;
mod job;
mod journal;
mod measure;
mod names;
mod pattern;
mod plan;
mod pool;
mod remaining;
mod study;
mod test_bed;

pub use flatten::{Cell, FlatResult};
pub use identity::{Identity, RESULTS_VERSION, RunId};
pub use job::{Outcome, Status, run_once};
pub use journal::{Entry, Execution, Journal, JournalError, Program};
pub use measure::NoResult;
pub use names::check_names;
pub(crate) use names::no;
pub use pattern::matches;
pub use plan::{Cost, Shard};
pub use pool::{Progress, Silent};
pub use remaining::cost;
pub(crate) use remaining::count;
pub(crate) use study::merge;
pub use study::{Finish, Request, RunError, Summary, run_study};
pub use test_bed::TestBed;
