//! The journal and its content: runs by name, and their results as flat lists.

mod canonical;
mod file;
mod flatten;
mod identity;
mod index;
mod kind;
mod line;
mod measure;
mod numbered;
mod outcome;
mod part;
mod plan;
mod remaining;
mod sealed;

pub(crate) use file::advice;
pub use file::{Entry, Journal, JournalError};
pub use flatten::{Cell, FlatResult};
pub use identity::{Identity, RESULTS_VERSION, RunId};
pub(crate) use index::Note;
pub use kind::Kind;
pub use line::{Execution, Program};
pub use measure::NoResult;
pub use outcome::{Outcome, Status};
pub use plan::Shard;
pub(crate) use plan::{Plan, first_target, is_recorded, keys, points_of, record};
pub use remaining::RemainingError;
pub(crate) use remaining::{Remaining, remaining};
