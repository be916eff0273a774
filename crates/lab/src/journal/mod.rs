//! The journal, and what stands in it: runs by their names, and what came out of them as flat lists.

mod canonical;
mod file;
mod flatten;
mod identity;
mod kind;
mod measure;
mod outcome;
mod plan;
mod remaining;
mod sealed;

pub(crate) use file::advice;
pub use file::{Entry, Execution, Journal, JournalError, Program};
pub use flatten::{Cell, FlatResult};
pub use identity::{Identity, RESULTS_VERSION, RunId};
pub use kind::Kind;
pub use measure::NoResult;
pub use outcome::{Outcome, Status};
pub use plan::Shard;
pub(crate) use plan::{Plan, first_target, is_recorded, keys, record};
pub use remaining::RemainingError;
pub(crate) use remaining::{Remaining, remaining};
